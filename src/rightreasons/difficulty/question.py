"""Which predictions are fragile?

`DIFFICULTY` joins the answers of two questions: the Fisher eigenvalue, which needs gradients, and contrast sets,
which the data must have. The ranking has no verdict, because it only shows where to look; contrast sets have one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from rightreasons.audited.context import AuditContext
from rightreasons.difficulty.options import DifficultyOptions
from rightreasons.difficulty.page_contrast import CONTRAST
from rightreasons.difficulty.page_rankings import EIGENVALUE
from rightreasons.page import parts as p

ASPECTS = (EIGENVALUE, CONTRAST)
"""Questions whose answers are joined."""


class Difficulty:
    """Fragility of each prediction, the words that matter, and the replacements that flip it.

    Attributes:
        name: Name of the question.
        title: Its title in the report.
        needs_labels: Whether it needs labels.
        without_model: Reason why it does not apply to stored predictions; "" because contrast sets do.
        reads: Splits that it reads.
    """

    name = "difficulty"
    title = "Which predictions are fragile?"
    needs_labels = False
    without_model = ""
    reads: p.Reads = "audited"

    def doubt(self, context: AuditContext) -> p.Verdict | None:
        """Return None, because an eigenvalue or a flip has a single definition."""
        # A `Question` has this field; this class joins two of them.
        return None

    def why_not(self, context: AuditContext, options: DifficultyOptions) -> str:
        """Return why the question does not apply; "" if one of its two aspects does.

        Args:
            context: The audit.
            options: Options of the question.
        """
        ranking_reason = EIGENVALUE.why_not(context, options)
        if not ranking_reason or not CONTRAST.why_not(context, options):
            return ""
        # Most data has no contrast sets, so that the other reason is the useful one.
        return ranking_reason

    def run(self, context: AuditContext, options: DifficultyOptions) -> p.SectionResult:
        """Answer the question by those of its two aspects that apply.

        Args:
            context: The audit.
            options: Options of the question.

        Raises:
            ValueError: If neither aspect applies.
        """
        answers = []
        for aspect in ASPECTS:
            if not aspect.why_not(context, options):
                answers.append(aspect.run(context, options))
        # Items without a prediction are excluded after the question was found to apply.
        if not answers:
            raise ValueError(self.why_not(context, options))
        return join_answers(answers)


DIFFICULTY = Difficulty()


def join_answers(answers: Sequence[p.SectionResult]) -> p.SectionResult:
    """Join the answers of both aspects of the question into one section.

    Args:
        answers: The answer about eigenvalues and the answer about contrast sets, in this order. A single
            answer is returned unchanged.

    Returns:
        The section. The verdict of the eigenvalues leads, unless it is neutral and the other is not.
    """
    if len(answers) == 1:
        return answers[0]
    ranking, sets = answers
    # False sorts before True: an answer with a verdict comes first.
    ordered = sorted(answers, key=lambda answer: answer.verdict.tone == "neutral")
    summaries = [answer.verdict.summary for answer in ordered if answer.verdict.summary]

    # Contrast sets have the headlines accuracy on originals, accuracy on revisions, and consistency.
    # The section leads with consistency, and the accuracy on originals is left out.
    contrast_headlines = reversed(sets.headlines[1:3])
    headlines = (*ranking.headlines[:2], *contrast_headlines)
    return p.SectionResult(
        verdict=dataclasses.replace(ordered[0].verdict, summary=" ".join(summaries)),
        headlines=headlines,
        parts=ranking.parts + sets.parts,
        limits=tuple(dict.fromkeys(ranking.limits + sets.limits)),
        data={**ranking.data, **sets.data},
        finding=ordered[0].finding,
        by_item=ranking.by_item + sets.by_item,
        changes=ranking.changes + sets.changes,
        files={**ranking.files, **sets.files},
    )
