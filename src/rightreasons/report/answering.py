"""Questions of an audit and their answers.

`select_questions` returns the questions with their options, and `answer_questions` answers them.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rightreasons.audited.context import AuditContext
from rightreasons.audited.scoring import score_audit
from rightreasons.core.errors import OptionError, format_error, is_fatal_disk_error
from rightreasons.core.options import QuestionOptions
from rightreasons.core.scores import Scores
from rightreasons.core.signals import stop_if_signaled
from rightreasons.models.runs.progress import begin_step, prefix_bar_titles
from rightreasons.report.answers import AnswerFigures, measure_answers
from rightreasons.report.folder import read_earlier_options
from rightreasons.report.outcomes import Outcome
from rightreasons.report.questions import QUESTIONS, load_sections, parse_question_options
from rightreasons.report.request import AuditRequest
from rightreasons.report.row_doubts import AuditedRows, withhold_by_rows
from rightreasons.report.unread import compute_bound_verdicts, withhold_unread

if TYPE_CHECKING:
    from rightreasons.page.question import Question


@dataclasses.dataclass(frozen=True, eq=False)
class AuditQuestion:
    """A question of an audit.

    Attributes:
        section: The question.
        options: Its options.
        skip_reason: Why the question does not apply; "" if it does.
        is_requested: Whether it is asked now; otherwise an earlier report answered it.
    """

    section: Question
    options: QuestionOptions
    skip_reason: str
    is_requested: bool = True

    @property
    def name(self) -> str:
        """Name of the question."""
        return self.section.name


def select_questions(
    request: AuditRequest, context: AuditContext, subject: str
) -> list[AuditQuestion]:
    """Return the requested questions, then those that an earlier report has answered.

    Questions of an earlier report on the same subject are answered again, from the stored
    predictions: a question that is asked later is added to the report.

    Args:
        request: The inputs and options of the audit.
        context: The opened model and data, not yet scored.
        subject: Digest of the model, the items and the options, from `digest_subject`.

    Returns:
        The questions, each with its options and with the reason to skip it, if there is one.
    """
    # Everything a question needs is checked here: a bad suite must fail before any computation.
    questions = []
    for section in request.sections:
        options = request.question_options[section.name]
        questions.append(_make_question(section, context, options))

    earlier_options = read_earlier_options(context, subject)
    # The new options of a question that is asked again replace the earlier ones.
    for question in questions:
        earlier_options.pop(question.name, None)
    if not earlier_options:
        return questions
    earlier_names = list(earlier_options)
    options_by_name = parse_question_options(earlier_names, earlier_options)
    for section in load_sections(earlier_names):
        question = _make_question(section, context, options_by_name[section.name])
        questions.append(dataclasses.replace(question, is_requested=False))
    return questions


def _make_question(
    section: Question, context: AuditContext, options: QuestionOptions
) -> AuditQuestion:
    """Return a question of an audit with the reason why it does not apply, "" if it applies.

    Args:
        section: The question itself.
        context: The audit, which a question asks about its model and data.
        options: Options of the question.
    """
    skip_reason = ""
    # Some questions query the model again, which stored predictions cannot answer.
    if context.stored is not None:
        skip_reason = section.without_model
    if not skip_reason:
        skip_reason = section.why_not(context, options)
    return AuditQuestion(section, options, skip_reason)


def check_some_apply(questions: Iterable[AuditQuestion], context: AuditContext) -> None:
    """Raise a ValueError if no requested question applies, with the reason of each.

    Nothing is raised for a model that only generates answers, without confidences: the accuracy of
    its answers is worth a report.

    Args:
        questions: The questions. Those that are not requested are ignored.
        context: The audit, not yet scored.
    """
    if context.answers_once:
        return
    reasons = []
    for question in questions:
        if not question.is_requested:
            continue
        if not question.skip_reason:
            return
        reasons.append(f"{question.name}: {question.skip_reason}")
    raise ValueError(
        f"Expected a question that applies, but got {' '.join(reasons)} Omit `questions` to answer all "
        "that apply."
    )


def answer_questions(
    unscored: AuditContext,
    scored: AuditContext,
    questions: Sequence[AuditQuestion],
    *,
    rows: AuditedRows | None = None,
    raise_errors: bool = False,
) -> tuple[list[Outcome], AnswerFigures | None]:
    """Answer the questions of an audit, and withhold verdicts that doubtful data could change.

    A verdict is withheld if answers of the model that could not be read might change it, or if
    the checks of the rows left a doubt open.

    Args:
        unscored: The audit without scores, from which the bounds of a verdict are computed.
        scored: The audit with scores.
        questions: The questions. One with a `skip_reason` is not answered.
        rows: Findings of the checks of the rows; None without checks.
        raise_errors: Whether to raise the error of a question, instead of a warning.

    Returns:
        The outcomes in the order of the questions, and the accuracy of the model's answers; None if
        the model gives no answers, or no label is known.
    """
    n_applicable = sum(not question.skip_reason for question in questions)
    n_answered = 0
    outcomes: list[Outcome] = []
    for question in questions:
        stop_if_signaled()
        if question.skip_reason:
            skipped = Outcome(
                question.name, question.section.title, "skipped", question.skip_reason
            )
            outcomes.append(skipped)
            continue
        n_answered += 1
        bar_name = f"{n_answered}/{n_applicable} {question.name}"
        outcomes.append(_answer_question(question, scored, bar_name, raise_errors))

    # The answers of the model are complete only after all questions have queried it.
    answers = measure_answers(scored)
    for index, question in enumerate(questions):
        result = outcomes[index].result
        if result is None:
            continue
        if answers is not None:
            # The verdicts if all unread answers were incorrect, or correct, take two more runs.
            # They are computed only if needed.
            compute_bounds = functools.partial(
                compute_bound_verdicts, unscored, question.section, question.options
            )
            doubt = question.section.doubt(scored)
            result = withhold_unread(result, answers, compute_bounds, doubt)
        if rows is not None:
            result = withhold_by_rows(result, rows)
        outcomes[index] = dataclasses.replace(outcomes[index], result=result)
    return outcomes, answers


def _answer_question(
    question: AuditQuestion, context: AuditContext, bar_name: str, raise_errors: bool
) -> Outcome:
    """Answer one question; if it raises an error, warn and return an outcome with its message.

    Args:
        question: The question, which applies.
        context: The audit, scored.
        bar_name: Name of the progress bar, such as "2/6 shortcuts".
        raise_errors: Whether to raise the error instead.
    """
    title = question.section.title
    begin_step(question.name)
    try:
        with prefix_bar_titles(bar_name):
            result = question.section.run(context, question.options)
    except Exception as error:
        # Without space on the disk, the report could not be written either.
        if raise_errors or is_fatal_disk_error(error):
            raise
        # A failing question must not lose the predictions, nor the answers to other questions.
        reason = format_error(error)
        message = f"The question {question.name!r} could not be answered. {reason}"
        # The warning points at the caller of `audit`, four frames up.
        warnings.warn(message, stacklevel=4)
        # An `OptionError` names the options that cause it.
        options = tuple(getattr(error, "option", ()))
        return Outcome(question.name, title, "failed", reason, options=options)
    return Outcome(question.name, title, "answered", result=result)


def select_requested(
    outcomes: Iterable[Outcome], questions: Iterable[AuditQuestion]
) -> list[Outcome]:
    """Return the outcomes of the requested questions, without those of an earlier report.

    Args:
        outcomes: Outcomes of all questions.
        questions: All questions, each with whether it is requested.

    Raises:
        OptionError: If a requested question failed, and none is answered.
    """
    requested_names = {question.name for question in questions if question.is_requested}
    selected = []
    for outcome in outcomes:
        if outcome.question in requested_names:
            selected.append(outcome)
    _check_some_answered(selected)
    return selected


def _check_some_answered(outcomes: Sequence[Outcome]) -> None:
    """Raise an OptionError if questions failed and none is answered.

    The message is the error that all of them share, or else a list of the errors by question. The
    options of the error are those of all failed questions.
    """
    if any(outcome.status == "answered" for outcome in outcomes):
        return
    reasons = {}
    # A dictionary keeps the order of the options, and each of them once.
    options: dict[str, None] = {}
    for outcome in outcomes:
        if outcome.status == "failed":
            reasons[outcome.question] = outcome.reason
            options.update(dict.fromkeys(outcome.options))
    # Questions that do not apply are no errors.
    if not reasons:
        return
    # An error that all questions share is reported once.
    if len(set(reasons.values())) == 1:
        message = next(iter(reasons.values()))
    else:
        listing = " ".join(f"{question}: {reason}" for question, reason in reasons.items())
        message = f"Expected an answer to at least one question, but each failed. {listing}"
    raise OptionError(message, option=tuple(options))


def sort_for_report(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Return outcomes in the order of the report, which is that of `QUESTIONS`."""
    positions = {name: index for index, name in enumerate(QUESTIONS)}
    return sorted(outcomes, key=lambda outcome: positions[outcome.question])


def judge_scores(
    context: AuditContext, scores: Scores, questions: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Return the verdicts that questions would have if the model had given certain scores.

    Each question is answered with its default options.

    Args:
        context: The audit, not yet scored, whose only split is the primary one.
        scores: Scores of the items of that split.
        questions: Names of the questions.

    Returns:
        Question -> (label of its verdict, reason why it has none), such as
        `{"calibration": ("Overconfident", "")}`. The label is "" for a question that does not
        apply or cannot be answered.
    """
    sections = load_sections(questions)
    names = [section.name for section in sections]
    options_by_name = parse_question_options(names, options=None)
    scored = score_audit(context, ("primary",), {context.primary.name: scores})
    audit_questions = []
    for section in sections:
        audit_questions.append(_make_question(section, scored, options_by_name[section.name]))
    outcomes, _ = answer_questions(context, scored, audit_questions)

    verdicts: dict[str, tuple[str, str]] = {}
    for outcome in outcomes:
        label = ""
        if outcome.result is not None:
            label = outcome.result.verdict.label
        verdicts[outcome.question] = (label, outcome.reason)
    return verdicts
