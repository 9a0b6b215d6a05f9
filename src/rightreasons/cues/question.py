"""Do the answer options give the answer away? Cues in the choices, and whether the model is better where they help."""

from __future__ import annotations

import dataclasses
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
    # The column that the user names comes before the one that the data declares.
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
    """Return the labeled multiple-choice items of the training split, or None if it has none."""
    if context.train is None:
        return None
    # A training split may be in another form, such as plain texts.
    if not {"choices", "prompt", "label"} <= set(context.train.column_names):
        return None
    items = ChoiceItems.from_table(context.train)
    return items if len(items) else None


def list_cue_rows(m: Any) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of the table of cues.

    A row consists of the cue, its applicability, productivity, coverage, p-value, and p-value after
    Holm's correction.
    """
    level = m.cues.statistics.confidence_level
    for cue in m.cues.select_cues(m.shown):
        # The interval is exact, and not corrected for the number of cues; the last p-value is.
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
        # The drawing has two series, and each cue has a value in one of them.
        estimates = [Estimate(None), productivity]
        if cue.p_holm < alpha:
            estimates.reverse()
        rows.append((f"{cue.cue} ({cue.applicability:,})", estimates))
    return dot_rows(
        key,
        rows=rows,
        series=("beyond chance", "may be chance"),
        xlabel="productivity",
        line=chance,
    )


def draw_cues(key: str, m: CuesMeasurement) -> Drawing:
    """Draw the first cues of the table."""
    # A drawing has room for half as many rows as a table.
    cues = m.cues.select_cues(m.shown // 2)
    return draw_productivity(key, cues, m.cues.chance, m.cues.alpha)


def get_accuracy(m: CuesMeasurement, key: str) -> Estimate:
    """Return an accuracy of the gap with its interval."""
    return make_estimate(getattr(m.gap, key), getattr(m.gap, f"{key}_interval"))


def draw_gap(key: str, m: CuesMeasurement) -> Drawing:
    """Draw the accuracy on all, on Easy and on Hard items, with chance as a line.

    Args:
        key: Key of the drawing.
        m: The measurement, with a comparison of Easy and Hard items.
    """
    label_by_figure = {"accuracy": "all items", "easy_accuracy": "Easy", "hard_accuracy": "Hard"}
    rows = []
    for figure, label in label_by_figure.items():
        rows.append((label, [get_accuracy(m, figure)]))
    return dot_rows(key, rows=rows, series=("accuracy",), xlabel="accuracy", line=m.cues.chance)


def list_hard_errors(m: CuesMeasurement) -> Iterator[Example]:
    """Show the `N_EXAMPLES` Hard items that the model answers incorrectly with most confidence."""
    scores = m.context.scores()
    is_hard = ~np.asarray(m.cues.easy, dtype=bool)
    errors = np.flatnonzero(is_hard & (m.cues.predicted != m.items.labels))
    # Rows of the data, which also has unlabeled items.
    rows = m.items.rows[errors]

    # Ties are ordered by prompt, so that the order of the file does not decide which are displayed.
    prompts = [m.items.prompts[item] for item in errors.tolist()]
    order = argsort_descending(scores.confidence[rows], prompts)
    for row in rows[order[:N_EXAMPLES]].tolist():
        predicted = int(scores.predicted[row])
        confidence = float(scores.confidence[row])
        yield make_example(m.context, m.context.primary, row, predicted, confidence, marks=())


def list_item_figures(m: CuesMeasurement) -> Iterator[ItemFigure]:
    """Return whether the model answers each item correctly, for Easy and for Hard items.

    A kind of which there are no items is left out.
    """
    is_easy = np.asarray(m.cues.easy, dtype=bool)
    is_correct = np.asarray(m.cues.predicted == m.items.labels)
    kinds = (
        ("easy_accuracy", "Accuracy on Easy items, which cues alone solve", is_easy),
        ("hard_accuracy", "Accuracy on Hard items, which cues alone do not solve", ~is_easy),
    )
    for key, name, mask in kinds:
        # A figure without items would be undefined.
        if mask.any():
            ids = [m.context.primary.ids[row] for row in m.items.rows[mask]]
            yield ItemFigure.from_arrays(key, name, "higher", ids, is_correct[mask])


def _make_accuracy_figure(kind: str) -> Figure:
    """Return the figure of the accuracy on the items of one kind, "easy" or "hard".

    It has no value if all items are of one kind.
    """
    key = f"{kind}_accuracy"

    def get_estimate(m: CuesMeasurement) -> Estimate | None:
        return None if m.gap is None else get_accuracy(m, key)

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
    # The first rule that holds decides, so that the order is from the gravest to the mildest.
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
            (Plot("easy_hard", draw_gap, GAP), Examples("hard_errors", list_hard_errors)),
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
            contrast=lambda m: (m.gap.easy_accuracy, m.gap.hard_accuracy),
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
