"""The part of the report about contrast sets: is the model correct on items and on their small revisions?

`CONTRAST` is the question, and `find_contrast_sets` finds the sets of a split.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np

from rightreasons.audited.context import AuditContext
from rightreasons.audited.examples import list_differences, make_example
from rightreasons.audited.splits import AuditSplit
from rightreasons.core.estimates import Estimate
from rightreasons.difficulty.contrast_sets import (
    ContrastItems,
    ContrastMeasurement,
    measure_contrast_sets,
)
from rightreasons.difficulty.options import DifficultyOptions
from rightreasons.page.formats import percent
from rightreasons.page.parts import Example, ItemFigure
from rightreasons.page.plots import Drawing, dot_rows
from rightreasons.page.prose import prose
from rightreasons.page.question import Examples, Figure, Need, Part, Plot, Question, Rule

MIN_SETS = 20
"""Minimum number of sets for a verdict."""

MAX_WEAK, MAX_POOR = 0.9, 0.5
"""Shares of the sets with a correct original that are correct throughout. Significantly below the larger one, the
model fails on some revisions, and below the smaller one on most."""

N_EXAMPLES = 6
"""Maximum number of revisions that are displayed."""

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
    """The contrast sets of the audited splits that have some.

    Attributes:
        context: The audit.
        splits: Measurement of each split by its name, the primary one first.
    """

    context: AuditContext
    splits: Mapping[str, ContrastMeasurement]

    @property
    def primary(self) -> ContrastMeasurement:
        """Measurement of the primary split."""
        return next(iter(self.splits.values()))

    @property
    def n_items(self) -> int:
        """Number of sets."""
        return self.primary.result.n_sets

    @property
    def followed(self) -> Estimate:
        """Share of the sets with a correct original that are correct throughout."""
        return self.primary.figures["contrast_followed"]

    @property
    def falls(self) -> bool:
        """Whether accuracy is significantly lower on revisions than on originals."""
        revisions = self.primary.figures["contrast_accuracy"]
        originals = self.primary.figures["original_accuracy"]
        # Intervals that do not overlap are a stricter test than that of the difference.
        return (revisions.high or 0.0) < (originals.low or 0.0)


def find_contrast_sets(
    context: AuditContext, split: AuditSplit, options: DifficultyOptions
) -> ContrastItems | None:
    """Find the contrast sets of a split of the audited data; None if it has none.

    Args:
        context: The audit.
        split: The split.
        options: Options of the question, which may name the column of the originals.
    """
    # Without class scores, a prediction need not be the likelier answer.
    if context.task == "confidence" and not context.answers_once:
        return None
    return ContrastItems.from_table(
        split.data, split.labels, split.groups_column, options.original_column
    )


def measure(context: AuditContext, options: DifficultyOptions) -> ContrastAnswers:
    """Measure the contrast sets of every audited split that has some.

    Args:
        context: The audit, whose primary split has contrast sets.
        options: Options of the question.
    """
    measurements = {}
    for split in context.splits:
        items = find_contrast_sets(context, split, options)
        # A split for comparison may have no sets.
        if items is None:
            continue
        measurements[split.name] = measure_contrast_sets(
            items,
            context.scores(split).predicted,
            split.labels,
            resampling=context.resampling,
        )
    return ContrastAnswers(context, measurements)


def draw_sets(key: str, measurement: ContrastAnswers) -> Drawing:
    """Draw a row of dots for each figure, with a dot and its interval for each split.

    Args:
        key: Key of the picture.
        measurement: The measurement.
    """
    rows = []
    for figure, name in NAMES.items():
        estimates = [measured.figures[figure] for measured in measurement.splits.values()]
        rows.append((name, estimates))
    # The series are the splits, in the order of the estimates.
    return dot_rows(key, rows=rows, series=tuple(measurement.splits), xlabel="share")


def list_broken_sets(measurement: ContrastAnswers) -> Iterator[Example]:
    """Yield the most confident errors on revisions whose original is predicted correctly.

    Args:
        measurement: The measured contrast sets. `primary.broken` has a pair for each such error:
            the row of the original and the row of the revision in the primary split.

    Yields:
        At most `N_EXAMPLES` revisions, with their changed words marked and a note on the original.
    """
    context = measurement.context
    split = context.primary
    scores = context.scores()

    def rank_pair(pair: tuple[int, int]) -> tuple[float, str]:
        _, revision = pair
        # Ties are ordered by id, so that the order of the file does not decide which are displayed.
        return -float(scores.confidence[revision]), split.ids[revision]

    for original, revision in sorted(measurement.primary.broken, key=rank_pair)[:N_EXAMPLES]:
        marks = list_differences(split.texts[original], split.texts[revision])
        note = "The original is answered correctly."
        # A model that generates a single answer has no label and no confidence to display.
        if not context.answers_once:
            label = context.label_name(int(split.labels[original]))
            confidence = percent(float(scores.confidence[original]))
            note = f"The original is {label}, and so is its prediction (confidence {confidence})."
        yield make_example(context, split, revision, marks=marks, note=note)


def list_item_figures(measurement: ContrastAnswers) -> Iterator[ItemFigure]:
    """Yield one item figure: whether all items of each contrast set are correct.

    Two reports are compared by it. A set is identified by the id of its original, because another
    version of the data may have other revisions of it.

    Args:
        measurement: The measured contrast sets. `primary.items` has the row, the name of the set
            (`groups`), and the flag `is_original` of each item that belongs to a set.
    """
    items = measurement.primary.items
    split = measurement.context.primary
    is_correct = measurement.context.scores().predicted[items.rows] == split.labels[items.rows]
    ids = []
    is_consistent = []
    for original in np.flatnonzero(items.is_original):
        is_in_set = items.groups == items.groups[original]
        ids.append(split.ids[items.rows[original]])
        is_consistent.append(bool(is_correct[is_in_set].all()))
    yield ItemFigure.from_arrays(
        "contrast_consistency", NAMES["contrast_consistency"], "higher", ids, is_consistent
    )


def _make_figure(key: str) -> Figure:
    """Return the definition of a figure of the report.

    Args:
        key: Key of the figure in `NAMES`, such as "contrast_consistency".
    """
    # The share of followed revisions is our own figure; the paper defines the other ones.
    source = "Counted" if key == "contrast_followed" else GARDNER
    return Figure(
        key,
        lambda m: m.primary.figures[key],
        source,
        better="higher",
        n=lambda m: m.primary.counts[key],
    )


def _has_sets(context: AuditContext, options: DifficultyOptions) -> bool:
    return find_contrast_sets(context, context.primary, options) is not None


def _list_data(measurement: ContrastAnswers) -> dict[str, object]:
    """Return the contents of audit.json in addition to the figures."""
    return {
        "contrast_sets": {name: measured.to_dict() for name, measured in measurement.splits.items()}
    }


CONTRAST = Question(
    name="contrast",
    title="Is it correct on items and on their small revisions?",
    prose=prose(__file__, NAMES=NAMES, N_EXAMPLES=N_EXAMPLES, MAX_WEAK=MAX_WEAK),
    reads="audited",
    needs=(Need("sets", _has_sets),),
    measure=measure,
    figures=tuple(_make_figure(key) for key in NAMES),
    headlines=tuple(NAMES),
    # The first rule that holds is the verdict.
    verdict=(
        Rule("neutral", "few", lambda m: m.n_items < MIN_SETS),
        Rule("neutral", "none_right", lambda m: m.followed.low is None),
        Rule("bad", "fails_most", lambda m: m.followed.high < MAX_POOR),
        Rule("bad", "falls", lambda m: m.falls),
        Rule("warn", "fails_some", lambda m: m.followed.high < MAX_WEAK),
        Rule("neutral", "open", lambda m: m.followed.low < MAX_WEAK),
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
                Examples("broken_sets", list_broken_sets),
            ),
            figures=tuple(NAMES),
        ),
    ),
    data=_list_data,
    by_item=list_item_figures,
)
