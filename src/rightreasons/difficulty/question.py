"""Which examples is it fragile on?

The answer joins those of two questions: the eigenvalue, which needs gradients, and contrast sets, which need data that
has them. The ranking is neutral: it shows where to look. Contrast sets alone have a verdict.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rightreasons.audited.context import AuditContext, changes, example_of
from rightreasons.audited.splits import AuditSplit
from rightreasons.core.estimates import Estimate
from rightreasons.difficulty.contrast import (
    ContrastItems,
    ContrastMeasurement,
    measure_contrast_sets,
)
from rightreasons.difficulty.options import DifficultyOptions
from rightreasons.difficulty.page_rankings import EIGENVALUE
from rightreasons.page import parts as p
from rightreasons.page.parts import Example, ItemFigure
from rightreasons.page.plots import Drawing, dot_rows
from rightreasons.page.prose import percent, prose
from rightreasons.page.question import Examples, Figure, Need, Part, Plot, Question, Rule

MIN_SETS = 20
"""With fewer sets than this, there is no verdict on them."""

WEAK, POOR = 0.9, 0.5
"""Of the sets whose original is right, fewer that are right throughout than this count as failing some, or most."""

N_BROKEN = 6
"""Sets shown."""

GARDNER = "Gardner et al. 2020"

NAMES = {
    "original_accuracy": "Accuracy on originals",
    "contrast_accuracy": "Contrast accuracy",
    "contrast_consistency": "Contrast consistency",
    "contrast_followed": "Holds under revision",
}
"""Names of the figures by their keys, in the order of the report."""


@dataclasses.dataclass(frozen=True, eq=False)
class ContrastAnswers:
    """The contrast sets of the audited splits that have some, by name, the primary one first."""

    context: AuditContext
    splits: Mapping[str, ContrastMeasurement]

    @property
    def primary(self) -> ContrastMeasurement:
        """The sets of the primary split."""
        return next(iter(self.splits.values()))

    @property
    def n_items(self) -> int:
        """The number of sets."""
        return self.primary.result.n_sets

    @property
    def followed(self) -> Estimate:
        """How many sets are right throughout, of those whose original is right."""
        return self.primary.figures["contrast_followed"]

    @property
    def falls(self) -> bool:
        """Whether it is surely less often right on revisions than on originals."""
        figures = self.primary.figures
        return (figures["contrast_accuracy"].high or 0.0) < (
            figures["original_accuracy"].low or 0.0
        )


def sets_of(
    context: AuditContext, split: AuditSplit, options: DifficultyOptions
) -> ContrastItems | None:
    """Return the contrast sets of a split; None where there are none."""
    if (
        context.task == "confidence" and not context.answers_once
    ):  # a sure answer may be the less likely one
        return None
    return ContrastItems.of(split.data, split.labels, split.groups_column, options.original_column)


def measure(context: AuditContext, options: DifficultyOptions) -> ContrastAnswers:
    """Measure the contrast sets of every audited split that has some."""
    splits = {}
    for split in context.splits:
        sets = sets_of(context, split, options)
        if sets is not None:
            predicted = context.scores(split).predicted
            splits[split.name] = measure_contrast_sets(
                sets, predicted, split.labels, resampling=context.resampling
            )
    return ContrastAnswers(context, splits)


def draw_sets(key: str, m: ContrastAnswers) -> Drawing:
    """Draw the figures of each split."""
    rows = [
        (name, [each.figures[figure] for each in m.splits.values()])
        for figure, name in NAMES.items()
    ]
    return dot_rows(key, rows=rows, series=tuple(m.splits), xlabel="share")


def broken_sets(m: ContrastAnswers) -> Iterator[Example]:
    """Show the surest wrong revisions of originals that are right."""
    context, split, scores = m.context, m.context.primary, m.context.scores()
    surest = sorted(
        m.primary.broken, key=lambda pair: (-scores.confidence[pair[1]], split.ids[pair[1]])
    )
    for original, row in surest[:N_BROKEN]:
        marks = changes(split.texts[original], split.texts[row])
        label, sure = (
            context.label_name(int(split.labels[original])),
            percent(float(scores.confidence[original])),
        )
        note = f"The original is {label} and answered so (confidence {sure})."
        if context.answers_once:
            note = "The original is answered rightly."
        yield example_of(context, split, row, marks=marks, note=note)


def by_item(m: ContrastAnswers) -> Iterator[ItemFigure]:
    """Say whether each set is right throughout; it goes by the name of its original."""
    items, split = m.primary.items, m.context.primary
    right = m.context.scores().predicted[items.rows] == split.labels[items.rows]
    originals = np.flatnonzero(items.is_original)
    throughout = [bool(right[items.groups == items.groups[place]].all()) for place in originals]
    ids = [split.ids[items.rows[place]] for place in originals]
    yield ItemFigure.of(
        "contrast_consistency", NAMES["contrast_consistency"], "higher", ids, throughout
    )


CONTRAST = Question(
    name="contrast",
    title="Is it right on items and on their small revisions?",
    prose=prose(__file__, NAMES=NAMES, N_BROKEN=N_BROKEN, WEAK=WEAK),
    reads="audited",
    needs=(Need("sets", lambda context, options: sets_of(context, context.primary, options)),),
    measure=measure,
    figures=tuple(
        Figure(
            key,
            lambda m, key=key: m.primary.figures[key],  # type: ignore[misc]
            "Counted" if key == "contrast_followed" else GARDNER,
            better="higher",
            n=lambda m, key=key: m.primary.counts[key],  # type: ignore[misc]
        )
        for key in NAMES
    ),
    headlines=tuple(NAMES),
    verdict=(
        Rule("neutral", "few", lambda m: m.n_items < MIN_SETS),
        Rule("neutral", "none_right", lambda m: m.followed.low is None),
        Rule("bad", "fails_most", lambda m: m.followed.high < POOR),
        Rule("bad", "falls", lambda m: m.falls),
        Rule("warn", "fails_some", lambda m: m.followed.high < WEAK),
        Rule("neutral", "open", lambda m: m.followed.low < WEAK),
        Rule("good", "right"),
    ),
    parts=(
        Part(
            "sets",
            (
                Plot(
                    "contrast_sets",
                    draw_sets,
                    f"{GARDNER}; intervals: Wilson 1927, Korn & Graubard 1998",
                ),
                Examples("broken_sets", broken_sets),
            ),
            figures=tuple(NAMES),
        ),
    ),
    data=lambda m: {
        "contrast_sets": {name: measured.to_dict() for name, measured in m.splits.items()}
    },
    by_item=by_item,
)


ASPECTS = (EIGENVALUE, CONTRAST)
"""The questions whose answers are joined."""


class Difficulty:
    """How fragile each prediction is, in which words, and what flips the most fragile ones."""

    name = "difficulty"
    title = "Which examples is it fragile on?"
    needs_labels = False
    without_model = ""  # contrast sets need none
    reads: p.Reads = "audited"

    def doubt(self, context: AuditContext) -> p.Verdict | None:
        """Return None, since an eigenvalue or a flip has one definition."""
        # A `Question` has this field; this class joins two of them.
        return None

    def why_not(self, context: AuditContext, options: DifficultyOptions) -> str:
        """Ask for contrast sets, or for some items and a model whose embeddings can be moved."""
        reasons = [each.why_not(context, options) for each in ASPECTS]
        return reasons[0] if all(reasons) else ""

    def run(self, context: AuditContext, options: DifficultyOptions) -> p.SectionResult:
        """Answer the question."""
        answers = [
            each.run(context, options) for each in ASPECTS if not each.why_not(context, options)
        ]
        if (
            not answers
        ):  # items without an answer were left out since it was asked whether the question applies
            raise ValueError(self.why_not(context, options))
        return joined(answers)


DIFFICULTY = Difficulty()


def joined(answers: Sequence[p.SectionResult]) -> p.SectionResult:
    """Join what the two questions say; a verdict that is not neutral leads, and figures of each join."""
    if len(answers) == 1:
        return answers[0]
    ordered = sorted(answers, key=lambda answer: answer.verdict.tone == "neutral")
    ranking, sets = answers
    return p.SectionResult(
        verdict=dataclasses.replace(
            ordered[0].verdict,
            summary=" ".join(
                answer.verdict.summary for answer in ordered if answer.verdict.summary
            ),
        ),
        headlines=(
            *ranking.headlines[:2],
            *sets.headlines[2:0:-1],
        ),  # the consistency, and the accuracy of revisions
        parts=ranking.parts + sets.parts,
        limits=tuple(dict.fromkeys(ranking.limits + sets.limits)),
        data={**ranking.data, **sets.data},
        finding=ordered[0].finding,
        by_item=ranking.by_item + sets.by_item,
        changes=ranking.changes + sets.changes,
        files={**ranking.files, **sets.files},
    )
