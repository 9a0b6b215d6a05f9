"""Verdicts that are withheld because answers cannot be read, and failed requests.

A verdict is given only if it would be the same with every unread answer incorrect, and with every
one correct: `compute_bound_verdicts` measures both, and `withhold_unread` compares them.
"""

from __future__ import annotations

import dataclasses
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rightreasons.audited.scoring import score_audit
from rightreasons.io.logs import NO_READABLE_ANSWER
from rightreasons.models.replies.gates import MAX_UNREAD_FOR_VERDICT
from rightreasons.page.formats import percent
from rightreasons.page.parts import SectionResult, Verdict
from rightreasons.report.answers import AnswerFigures

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext
    from rightreasons.core.options import Options
    from rightreasons.page.question import Question


def withhold_unread(
    result: SectionResult,
    figures: AnswerFigures,
    compute_bounds: Callable[[], Sequence[Verdict]] = tuple,
    doubt: Verdict | None = None,
) -> SectionResult:
    """Replace a verdict by a neutral one if answers that cannot be read might change it.

    Args:
        result: The answer to a question, with its verdict on the readable answers.
        figures: How many answers cannot be read.
        compute_bounds: Returns the verdicts with all unread answers incorrect, and with all correct;
            see `compute_bound_verdicts`. It is slow, and called only if the result depends on it.
        doubt: A verdict to show instead because the data are doubtful; see `Question.doubt`. None
            if they are not.
    """
    # Doubtful data come before unread answers: bounds of invalid figures mean nothing.
    if doubt is not None:
        return dataclasses.replace(result, verdict=doubt, finding=None)
    if not figures.n_unread or result.verdict.tone == "neutral":
        return result
    reason = _explain_withholding(result, figures, compute_bounds)
    if not reason:
        return result
    summary = f"{reason} Based on the other answers, it would be: {result.verdict.label}."
    verdict = Verdict("neutral", "Inconclusive", summary)
    return dataclasses.replace(result, verdict=verdict, finding=None)


def _explain_withholding(
    result: SectionResult,
    figures: AnswerFigures,
    compute_bounds: Callable[[], Sequence[Verdict]],
) -> str:
    """Return why unread answers make a verdict uncertain; "" if they could not change it.

    Args:
        result: The answer to a question, with its verdict on the read answers.
        figures: How many answers cannot be read, and whether that depends on the correct answer.
        compute_bounds: Returns the verdicts with all unread answers incorrect, and with all correct;
            an empty list if they are unknown. It is called only if few answers cannot be read.
    """
    share = percent(figures.n_unread / figures.n_items)
    unread = f"{share} of the answers cannot be read ({figures.describe_unread()})"
    # The read answers are no random sample if reading depends on the correct answer.
    if figures.is_unread_by_answer:
        dependence = figures.describe_dependence()
        return f"{unread}. {dependence}: the other answers are not a representative sample."
    if figures.n_unread > MAX_UNREAD_FOR_VERDICT * figures.n_items:
        limit = percent(MAX_UNREAD_FOR_VERDICT)
        return f"{unread}, more than {limit}: the other answers may be unrepresentative."
    bounds = compute_bounds()
    if all(verdict.label == result.verdict.label for verdict in bounds):
        return ""
    verdict_if_incorrect, verdict_if_correct = bounds
    return (
        f"{unread}. If all of them were incorrect, the verdict would be "
        f"“{verdict_if_incorrect.label}”; if all were correct, “{verdict_if_correct.label}”."
    )


def compute_bound_verdicts(
    context: AuditContext, section: Question, options: Options
) -> list[Verdict]:
    """Return the verdicts with every unread answer counted as incorrect, and as correct.

    No further request is sent: a question that would query an item whose answer could not be read
    excludes it.

    Args:
        context: The audit, not scored, with a model that was queried.
        section: The question.
        options: Its options.

    Returns:
        Two verdicts; [] if they cannot be computed.
    """
    if context.prompted is None:
        return []
    verdicts = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # Warnings would be about the assumed answers, which the user does not see.
        warnings.simplefilter("ignore")
        for assumption in ("wrong", "right"):
            bounded = dataclasses.replace(
                context,
                source=context.prompted.assuming(assumption),
                out=Path(folder) / assumption,
                progress=False,
            )
            try:
                result = section.run(score_audit(bounded, [section.reads]), options)
            except ValueError:
                # The question needs further answers of the model, which are not requested here.
                return []
            verdicts.append(result.verdict)
    return verdicts


def list_failed_requests(context: AuditContext) -> list[tuple[str, int, str]]:
    """Return the reasons why requests of questions failed, with the number of requests for each.

    Requests for items that have no scores at all are not counted.

    Args:
        context: The audit, after its questions were answered.

    Returns:
        (reason, number of requests, name of the first one) for each reason; empty for a model that
        is not prompted.
    """
    if context.prompted is None:
        return []
    # Items without scores are listed in another table.
    excluded_ids = set()
    for split in context.splits:
        for item_id, _ in split.left_out:
            excluded_ids.add(item_id)
    requests_by_reason: dict[str, list[str]] = {}
    for request, reason in context.prompted.failures.items():
        if request in excluded_ids:
            continue
        # The reason of an unread reply quotes the reply, which differs from request to request.
        if request in context.prompted.unread:
            reason = NO_READABLE_ANSWER
        requests_by_reason.setdefault(reason, []).append(request)
    failures = []
    for reason, requests in requests_by_reason.items():
        failures.append((reason, len(requests), requests[0]))
    return failures
