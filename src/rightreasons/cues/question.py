"""Do the answer options give the answer away? Cues in the choices, and whether the model is better where they help."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rightreasons.audited.context import AuditContext, example_of
from rightreasons.core.arrays import argsort_descending
from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.decisions import Power
from rightreasons.core.estimates import Estimate, make_estimate
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

SHOWN = 30
"""Cues in the table; half of them, at most, are drawn."""

N_EXAMPLES = 6

NIVEN = "Niven & Kao 2019; Kavumba et al. 2019"
GAP = "Kavumba et al. 2019; approximate randomization: Noreen 1989"


@dataclasses.dataclass(frozen=True, eq=False)
class CuesMeasurement:
    """The cues of the audited items, and how the model does on them."""

    context: AuditContext
    items: ChoiceItems
    cues: CueFigures
    shown: int = SHOWN

    @property
    def n_items(self) -> int:
        """The number of labeled items."""
        return len(self.items)

    @property
    def gap(self) -> EasyHardGap | None:
        """Easy against Hard items; None where all are of one kind."""
        return self.cues.gap

    @property
    def is_better(self) -> bool:
        """Whether the model is surely better on Easy items, by more than the margin."""
        return self.cues.decided is not None and self.cues.decided.level == "large"

    @property
    def is_open(self) -> bool:
        """Whether the items leave open what cues do, to the data or to the model."""
        decided = self.cues.decided
        return self.cues.conclusion == "cannot tell" or decided is None or decided.level != "small"


def measure(context: AuditContext, options: CuesOptions) -> CuesMeasurement:
    """Count the cues of the training split, or of the items, and compare the model on Easy and Hard items."""
    groups = options.groups_column or context.primary.groups_column
    items = ChoiceItems.of(context.primary.data, groups)
    train, logits = None, context.scores().logits
    if context.train is not None and {"choices", "prompt", "label"} <= set(
        context.train.column_names
    ):
        train = ChoiceItems.of(context.train) or None
    cues = measure_cues(
        items,
        train=train,
        logits=[logits[int(row)] for row in items.rows],
        options=options,
        resampling=context.resampling,
    )
    return CuesMeasurement(context, items, cues)


def cue_rows(m: Any) -> Iterator[tuple[Cell, ...]]:
    """Return the rows of the table of cues."""
    level = m.cues.statistics.confidence_level
    for cue in m.cues.telling(m.shown):
        productivity = Estimate(cue.productivity, cue.low, cue.high, level, "Clopper-Pearson")
        yield cue.cue, cue.applicability, productivity, cue.coverage, cue.p_value, cue.p_holm


def cue_productivity(key: str, cues: Sequence[Any], chance: float, alpha: float = 0.05) -> Drawing:
    """Draw the productivity of each cue beside chance, apart where the p-value is below `alpha`."""
    rows = []
    for cue in cues:
        shares = [Estimate(cue.productivity, cue.low, cue.high), Estimate(None)]
        rows.append(
            (f"{cue.cue} ({cue.applicability:,})", shares if cue.p_holm < alpha else shares[::-1])
        )
    return dot_rows(
        key,
        rows=rows,
        series=("beyond chance", "may be chance"),
        xlabel="productivity",
        line=chance,
    )


def draw_cues(key: str, m: CuesMeasurement) -> Drawing:
    """Draw the first cues of the table."""
    return cue_productivity(key, m.cues.telling(m.shown // 2), m.cues.chance, m.cues.alpha)


def accuracy_on(m: CuesMeasurement, key: str) -> Estimate:
    """Return an accuracy of the gap with its interval."""
    return make_estimate(getattr(m.gap, key), getattr(m.gap, f"{key}_interval"))


def draw_gap(key: str, m: CuesMeasurement) -> Drawing:
    """Draw the accuracy on all, on Easy and on Hard items."""
    names = {"accuracy": "all items", "easy_accuracy": "Easy", "hard_accuracy": "Hard"}
    rows = [(name, [accuracy_on(m, key)]) for key, name in names.items()]
    return dot_rows(key, rows=rows, series=("accuracy",), xlabel="accuracy", line=m.cues.chance)


def hard_errors(m: CuesMeasurement) -> Iterator[Example]:
    """Show the most confident errors on Hard items."""
    rows, scores = m.items.rows, m.context.scores()
    errors = np.flatnonzero(
        ~np.asarray(m.cues.easy, dtype=bool) & (m.cues.predicted != m.items.labels)
    )
    prompts = [m.items.prompts[place] for place in errors.tolist()]
    for row in rows[errors[argsort_descending(scores.confidence[rows[errors]], prompts)]][
        :N_EXAMPLES
    ].tolist():
        predicted, confidence = int(scores.predicted[row]), float(scores.confidence[row])
        yield example_of(m.context, m.context.primary, row, predicted, confidence, marks=())


def by_item(m: CuesMeasurement) -> Iterator[ItemFigure]:
    """Say whether each of the Easy and of the Hard items is right."""
    easy = np.asarray(m.cues.easy, dtype=bool)
    right = np.asarray(m.cues.predicted == m.items.labels)
    for key, name, chosen in (
        ("easy_accuracy", "Accuracy on Easy items, which cues alone solve", easy),
        ("hard_accuracy", "Accuracy on Hard items, which cues alone do not solve", ~easy),
    ):
        if chosen.any():
            ids = [m.context.primary.ids[row] for row in m.items.rows[chosen]]
            yield ItemFigure.of(key, name, "higher", ids, right[chosen])


CUE_TABLE = Table("cues", cue_rows, NIVEN)

CUES = Question(
    name="cues",
    title="Do the answer options give the answer away?",
    prose=prose(__file__, MIN_ITEMS=MIN_ITEMS),
    needs=(
        Need("scored", lambda context, options: not context.unscored),
        Need("choices", lambda context, options: context.primary.choices is not None),
        Need("labels", lambda context, options: context.primary.labeled.sum() >= MIN_ITEMS),
    ),
    measure=measure,
    power=Power("accuracy"),
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
        *(
            Figure(
                f"{kind}_accuracy",
                lambda m, kind=kind: m.gap and accuracy_on(m, f"{kind}_accuracy"),  # type: ignore[misc]
                GAP,
                better="higher",
                n=lambda m, kind=kind: getattr(m.gap, f"n_{kind}"),  # type: ignore[misc]
            )
            for kind in ("easy", "hard")
        ),
    ),
    headlines=("easy_hard_gap", "cue_only_accuracy", "easy_accuracy", "hard_accuracy"),
    verdict=(
        Rule("bad", "misled", lambda m: m.is_better and m.cues.is_misled),
        Rule("warn", "better", lambda m: m.is_better),
        Rule("warn", "cues_alone", lambda m: m.cues.conclusion == "gives answers away"),
        Rule("neutral", "one_kind", lambda m: m.gap is None),
        Rule("neutral", "misleading", lambda m: m.cues.conclusion == "misleads"),
        Rule("neutral", "too_few", lambda m: m.is_open),
        Rule("good", "no_sign"),
    ),
    parts=(
        Part("cues", (Plot("cue_productivity", draw_cues, NIVEN), CUE_TABLE)),
        Part("alone", figures=("cue_only_accuracy",)),
        Part(
            "gap",
            (Plot("easy_hard", draw_gap, GAP), Examples("hard_errors", hard_errors)),
            figures=("easy_hard_gap", "easy_accuracy", "hard_accuracy"),
            when=lambda m: m.gap,
        ),
    ),
    leads=(
        Lead(
            "gap",
            figure="easy_hard_gap",
            plot="easy_hard",
            size=lambda m: max(m.gap.easy_hard_gap, 0.0),
            contrast=lambda m: (m.gap.easy_accuracy, m.gap.hard_accuracy),
            when=lambda m: m.gap,
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
    by_item=by_item,
)
