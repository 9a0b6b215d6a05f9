"""Do the answer options give the answer away? Cues in the choices, and whether the model is better where they help."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rightreasons.audited.context import AuditContext
from rightreasons.audited.examples import make_example
from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.decisions import Power
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.core.ordering import argsort_descending
from rightreasons.cues.easy_hard import EasyHardGap
from rightreasons.cues.measure import ChoiceItems, CueFigures, measure_cues
from rightreasons.cues.options import CuesOptions
from rightreasons.page.parts import Cell, Example, ItemFigure
from rightreasons.page.plots import Drawing, dot_rows
from rightreasons.page.prose import prose
from rightreasons.page.question import (
    Examples,
    Figure,
    Lead,
    Need,
    Part,
    Plot,
    Question,
    Rule,
    Table,
)

N_TABLE_CUES = 30
"""Number of cues in the table; at most half of them are drawn."""

N_EXAMPLES = 6

NIVEN = "Niven & Kao 2019; Kavumba et al. 2019"
GAP = "Kavumba et al. 2019; approximate randomization: Noreen 1989"


@dataclasses.dataclass(frozen=True, eq=False)
class CuesMeasurement:
    """The cues of the audited items, and the accuracy of the model on them.

    Attributes:
        context: The audit.
        items: The labeled items.
        cues: Figures of the items.
        shown: Number of cues in the table.
    """

    context: AuditContext
    items: ChoiceItems
    cues: CueFigures
    shown: int = N_TABLE_CUES

    @property
    def n_items(self) -> int:
        """Number of labeled items."""
        return len(self.items)

    @property
    def gap(self) -> EasyHardGap | None:
        """Comparison of Easy and Hard items; None if all are of one kind."""
        return self.cues.gap

    @property
    def is_better(self) -> bool:
        """Whether the model is significantly better on Easy items, by more than the margin."""
        return self.cues.decided is not None and self.cues.decided.level == "large"

    @property
    def is_open(self) -> bool:
        """Whether the items do not decide if cues give answers away, or if the model uses them."""
        decided = self.cues.decided
        return self.cues.conclusion == "cannot tell" or decided is None or decided.level != "small"


def measure(context: AuditContext, options: CuesOptions) -> CuesMeasurement:
    """Measure the cues of the audited items, and how much better a model is where they help.

    Args:
        context: The audit. The cues of its training split are counted if it has one, otherwise
            those of the audited items.
        options: Families of cues, and the column of groups.
    """
    # A column that the user names takes precedence over the one that the data declares.
    groups_column = options.groups_column or context.primary.groups_column
    items = ChoiceItems.from_table(context.primary.data, groups_column)
    logits = context.scores().logits
    cues = measure_cues(
        items,
        train=_select_training_items(context),
        logits=[logits[int(row)] for row in items.rows],
        options=options,
        resampling=context.resampling,
    )
    return CuesMeasurement(context, items, cues)


def _select_training_items(context: AuditContext) -> ChoiceItems | None:
    """Return the labeled multiple-choice items of the training split; None if it has none."""
    if context.train is None:
        return None
    # A training split may be in another form, such as plain texts.
    if not {"choices", "prompt", "label"} <= set(context.train.column_names):
        return None
    items = ChoiceItems.from_table(context.train)
    return items if len(items) else None


def list_cue_rows(measurement: Any) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of the table of cues.

    A row has: the cue, its applicability, productivity, coverage, p-value, and p-value after Holm's
    correction.

    Args:
        measurement: A `CuesMeasurement`, or another object with `cues` (`CueFigures`) and `shown`
            (number of rows).
    """
    level = measurement.cues.statistics.confidence_level
    for cue in measurement.cues.select_cues(measurement.shown):
        # Only the last p-value, and not the interval, is corrected for the number of cues.
        productivity = Estimate(cue.productivity, cue.low, cue.high, level, "Clopper-Pearson")
        yield cue.cue, cue.applicability, productivity, cue.coverage, cue.p_value, cue.p_holm


def draw_productivity(
    key: str,
    cues: Sequence[Any],
    chance: float,
    alpha: float = 0.05,
) -> Drawing:
    """Draw the productivity of each cue with its interval, and chance as a line.

    Args:
        key: Key of the drawing.
        cues: The cues, one row each.
        chance: Productivity of an uninformative cue.
        alpha: Significance level; cues with a smaller corrected p-value have another color.
    """
    rows = []
    for cue in cues:
        productivity = Estimate(cue.productivity, cue.low, cue.high)
        # The drawing has two series of different color, and each cue is in one of them.
        estimates = [Estimate(None), productivity]
        if cue.p_holm < alpha:
            estimates = [productivity, Estimate(None)]
        rows.append((f"{cue.cue} ({cue.applicability:,})", estimates))
    return dot_rows(
        key,
        rows=rows,
        series=("beyond chance", "may be chance"),
        xlabel="productivity",
        line=chance,
    )


def draw_cues(key: str, measurement: CuesMeasurement) -> Drawing:
    """Draw the first cues of the table."""
    # A drawing has room for half as many rows as a table.
    cues = measurement.cues.select_cues(measurement.shown // 2)
    return draw_productivity(key, cues, measurement.cues.chance, measurement.cues.alpha)


def get_accuracy(measurement: CuesMeasurement, key: str) -> Estimate:
    """Return a field of the gap, such as "hard_accuracy", with its interval."""
    return make_estimate(getattr(measurement.gap, key), getattr(measurement.gap, f"{key}_interval"))


def draw_gap(key: str, measurement: CuesMeasurement) -> Drawing:
    """Draw the accuracy on all, on Easy and on Hard items, with chance as a line.

    Args:
        key: Key of the drawing.
        measurement: The measurement, with a comparison of Easy and Hard items.
    """
    label_by_figure = {"accuracy": "all items", "easy_accuracy": "Easy", "hard_accuracy": "Hard"}
    rows = []
    for figure, label in label_by_figure.items():
        rows.append((label, [get_accuracy(measurement, figure)]))
    return dot_rows(
        key, rows=rows, series=("accuracy",), xlabel="accuracy", line=measurement.cues.chance
    )


def list_hard_errors(measurement: CuesMeasurement) -> Iterator[Example]:
    """Yield the `N_EXAMPLES` Hard items that the model answers incorrectly with most confidence."""
    scores = measurement.context.scores()
    is_hard = ~np.asarray(measurement.cues.easy, dtype=bool)
    errors = np.flatnonzero(is_hard & (measurement.cues.predicted != measurement.items.labels))
    # `errors` counts labeled items only, and the scores also have the unlabeled ones.
    rows = measurement.items.rows[errors]

    # Ties are sorted by prompt, so that the examples do not depend on the order of the file.
    prompts = [measurement.items.prompts[item] for item in errors.tolist()]
    order = argsort_descending(scores.confidence[rows], prompts)
    for row in rows[order[:N_EXAMPLES]].tolist():
        predicted = int(scores.predicted[row])
        confidence = float(scores.confidence[row])
        yield make_example(
            measurement.context, measurement.context.primary, row, predicted, confidence, marks=()
        )


def list_item_figures(measurement: CuesMeasurement) -> Iterator[ItemFigure]:
    """Yield two figures per item: whether Easy items, and whether Hard ones, are answered correctly.

    A figure is left out if there are no items of its kind.
    """
    is_easy = np.asarray(measurement.cues.easy, dtype=bool)
    is_correct = np.asarray(measurement.cues.predicted == measurement.items.labels)
    kinds = (
        ("easy_accuracy", "Accuracy on Easy items, which cues alone solve", is_easy),
        ("hard_accuracy", "Accuracy on Hard items, which cues alone do not solve", ~is_easy),
    )
    for key, name, mask in kinds:
        if mask.any():
            ids = [measurement.context.primary.ids[row] for row in measurement.items.rows[mask]]
            yield ItemFigure.from_arrays(key, name, "higher", ids, is_correct[mask])


def _make_accuracy_figure(kind: str) -> Figure:
    """Return the figure of the accuracy on the items of one kind, "easy" or "hard".

    It has no value if all items are of one kind.
    """
    key = f"{kind}_accuracy"

    def get_estimate(measurement: CuesMeasurement) -> Estimate | None:
        return None if measurement.gap is None else get_accuracy(measurement, key)

    return Figure(
        key,
        get_estimate,
        GAP,
        better="higher",
        n=lambda m: getattr(m.gap, f"n_{kind}"),
    )


CUE_TABLE = Table("cues", list_cue_rows, NIVEN)

CUES = Question(
    # The name of the question on the command line and in audit.json.
    name="cues",
    title="Do the answer options give the answer away?",
    prose=prose(__file__, MIN_ITEMS=MIN_ITEMS),
    needs=(
        Need("scored", lambda context, options: not context.unscored),
        Need("choices", lambda context, options: context.primary.choices is not None),
        Need("labels", lambda context, options: context.primary.labeled.sum() >= MIN_ITEMS),
    ),
    measure=measure,
    power=Power("accuracy", n_tests=3),
    figures=(
        Figure(
            "easy_hard_gap",
            lambda m: m.gap and make_estimate(m.gap.easy_hard_gap, m.gap.interval),
            GAP,
        ),
        Figure(
            "cue_only_accuracy",
            lambda m: m.cues.accuracy,
            "Kavumba et al. 2019, Table 4 (word frequency)",
        ),
        _make_accuracy_figure("easy"),
        _make_accuracy_figure("hard"),
    ),
    headlines=("easy_hard_gap", "cue_only_accuracy", "easy_accuracy", "hard_accuracy"),
    # The first rule that applies decides, so that the gravest comes first and the mildest last.
    verdict=(
        Rule("bad", "misled", lambda m: m.is_better and m.cues.is_misled),
        Rule("warn", "better", lambda m: m.is_better),
        Rule("warn", "cues_alone", lambda m: m.cues.conclusion == "gives answers away"),
        Rule("neutral", "one_kind", lambda m: m.gap is None),
        Rule("neutral", "misleading", lambda m: m.cues.conclusion == "misleads"),
        Rule("neutral", "too_few", lambda m: m.is_open),
        Rule("good", "no_sign"),
    ),
    # The sections of the page, in order; a section without its condition is left out.
    parts=(
        Part("cues", (Plot("cue_productivity", draw_cues, NIVEN), CUE_TABLE)),
        Part("alone", figures=("cue_only_accuracy",)),
        Part(
            "gap",
            (
                Plot("easy_hard", draw_gap, GAP),
                Examples("hard_errors", list_hard_errors, lambda m: "hard_accuracy"),
            ),
            figures=("easy_hard_gap", "easy_accuracy", "hard_accuracy"),
            condition=lambda m: m.gap,
        ),
    ),
    # Candidates for the headline of the report.
    leads=(
        Lead(
            "gap",
            figure="easy_hard_gap",
            plot="easy_hard",
            size=lambda m: max(m.gap.easy_hard_gap, 0.0),
            pair=lambda m: tuple(itertools.islice(list_hard_errors(m), 1)),
            contrast=lambda m: (get_accuracy(m, "easy_accuracy"), get_accuracy(m, "hard_accuracy")),
            item_figure=lambda m: "hard_accuracy",
            condition=lambda m: m.gap,
        ),
        Lead(
            "alone", figure="cue_only_accuracy", contrast=lambda m: (m.cues.accuracy, m.cues.chance)
        ),
    ),
    data=lambda m: {
        "cues": m.cues.statistics.to_dict(),
        "easy_hard_gap": m.gap and m.gap.to_dict(),
        "easy_ids": [m.context.primary.ids[row] for row in m.items.rows[m.cues.easy]],
    },
    by_item=list_item_figures,
)
