"""Which examples is it fragile on?

The answer joins those of up to three measures, each a question of its own: the eigenvalue, which needs gradients;
left-out words, which any model can be asked; and contrast sets, which need data that has them. Rankings are neutral:
they show where to look. Contrast sets alone have a verdict.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.audited.context import AuditContext
from rightreasons.difficulty.options import MEASURES, DifficultyOptions
from rightreasons.difficulty.page_contrast import CONTRAST
from rightreasons.difficulty.page_rankings import EIGENVALUE, LEFT_OUT
from rightreasons.page import parts as p

RANKING = "ranking.csv"
"""The file of a report with the items, the hardest first."""

OF_MEASURES = dict(zip(MEASURES, (EIGENVALUE, LEFT_OUT, CONTRAST), strict=True))
"""Measure -> its question."""


class Difficulty:
    """How fragile each prediction is, in which words, and what flips the most fragile ones."""

    question = "difficulty"
    title = "Which examples is it fragile on?"
    order = 5
    needs_labels = False
    without_model = ""  # contrast sets need none
    reads: p.Reads = "audited"

    def why_not(self, context: AuditContext, options: DifficultyOptions) -> str:
        """Ask for contrast sets, or for some items and a model that can be asked or whose embeddings can be moved."""
        if applying_measures(context, options):
            return ""
        first = next(name for name in MEASURES if name in (options.measures or MEASURES))
        return OF_MEASURES[first].why_not(context, options)

    def run(self, context: AuditContext, options: DifficultyOptions) -> p.SectionResult:
        """Answer the question."""
        answers = [OF_MEASURES[name].run(context, options) for name in applying_measures(context, options)]
        if not answers:  # items without an answer were left out since it was asked whether the question applies
            raise ValueError(self.why_not(context, options))
        return with_ranking(joined(answers))


DIFFICULTY = Difficulty()


def applying_measures(context: AuditContext, options: DifficultyOptions) -> list[str]:
    """Return the measures that are asked for and apply; unasked, words are left out only where gradients are not."""
    asked = [name for name in MEASURES if name in (options.measures or MEASURES)]
    applying = [name for name in asked if not OF_MEASURES[name].why_not(context, options)]
    if not options.measures and "eigenvalue" in applying:
        return [name for name in applying if name != "left_out_words"]
    return applying


def with_ranking(answer: p.SectionResult) -> p.SectionResult:
    """Add the ranking of the question, that of its first measure with one, and its file for a spreadsheet."""
    rows = answer.data.get("ranking") or answer.data.get("left_out_words", {}).get("ranking")
    if not rows:
        return answer
    return dataclasses.replace(answer, data={**answer.data, "ranking": rows}, files={RANKING: as_csv(rows)})


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows of a ranking."""
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows({**row, "words": " ".join(row["words"])} for row in rows)
    return stream.getvalue()


def joined(answers: Sequence[p.SectionResult]) -> p.SectionResult:
    """Join what the measures say; a verdict that is not neutral leads, and figures of each other join the first's."""
    if len(answers) == 1:
        return answers[0]
    ordered = sorted(answers, key=lambda answer: answer.verdict.tone == "neutral")
    further = [main_figures(answer)[: 2 if len(answers) == 2 else 1] for answer in answers[1:]]
    return p.SectionResult(
        verdict=dataclasses.replace(
            ordered[0].verdict, summary=" ".join(answer.verdict.summary for answer in ordered if answer.verdict.summary)
        ),
        headlines=sum(further, answers[0].headlines[:2])[:4],
        parts=sum((answer.parts for answer in answers), ()),
        limits=tuple(dict.fromkeys(limit for answer in answers for limit in answer.limits)),
        data={key: value for answer in answers for key, value in answer.data.items()},
        finding=ordered[0].finding,
        by_item=sum((answer.by_item for answer in answers), ()),
    )


def main_figures(answer: p.SectionResult) -> tuple[p.Headline, ...]:
    """Return the figures of a further measure; of contrast sets the consistency and the accuracy of revisions."""
    return answer.headlines[2:0:-1] if "contrast_sets" in answer.data else answer.headlines
