"""What the question about the probes measures: the changed items and the orders of the choices."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext
from rightreasons.core.clusters import count_units, select_clusters
from rightreasons.core.decisions import MARGINS, Decision, decide_above
from rightreasons.core.estimates import Estimate, estimate_rate, make_estimate
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.page.prose import not_scored_told
from rightreasons.probes.measure import (
    WITHOUT_QUESTION,
    OrderFigures,
    ProbeFigures,
    ProbeTables,
    Score,
    ask_in_orders,
    measure_option_order,
    measure_probes,
    orders_in_words,
    probe_tables,
    spare_choices,
    steady_picks,
)
from rightreasons.probes.options import ProbesOptions
from rightreasons.probes.paralysis import ChoiceParalysis, Drop
from rightreasons.probes.reading import Reading

Hits = tuple[NDArray[np.bool_], Any]

NAMES = {
    ORIGINAL: "Unchanged",
    "no_question": "No question",
    "wrong_question": "Wrong question",
    "no_right_answer": "No right answer",
}
"""The tables of the probes, for readers."""


def decisions(
    tables: ProbeTables,
    picked: Mapping[str, NDArray[np.int64]],
    *,
    steady: Hits | None = None,
    joint: bool = False,
    resampling: Resampling,
) -> dict[str, Decision]:
    """Decide what the probes say, at one level for all of them together.

    Args:
        tables: The items under every probe, with their scores where choices are scored.
        picked: Name of the table -> (N,) picked choices, -1 for no answer.
        steady: Which items keep their answer under every order of the choices, and their clusters; None where no orders
            were asked.
        joint: Whether choices are scored together, so that added ones may change the scores of the others.
        resampling: The level of the verdict.

    Returns:
        "kept" with the name of each probe that takes the question away, "unasked", "lost", "paralysis" and "order",
        where they can be: whether the share of answers that stay beyond chance, the accuracy without the question above
        guessing, the accuracy lost without it, the confidence lost to added choices, and the share of answers that
        change with the order are small or large.
    """
    # What is lost only tells two kinds of knowing the answer apart, and so is no test of its own.
    wide = resampling.correct_for_tests(len(WITHOUT_QUESTION) + 1 + joint + (steady is not None))
    found = {}
    for name, read in tables.reading(picked, wide).items():
        sizes = read.n_items, read.n_units
        found[f"kept_{name}"] = decide_above(read.beyond_chance, MARGINS["kept"], *sizes)
        if name == "no_question":
            found["unasked"] = decide_above(read.excess, MARGINS["accuracy"], *sizes)
            found["lost"] = decide_above(read.lost, MARGINS["accuracy"], *sizes)
    if joint:
        drop = tables.paralysis(max(tables.ks), wide).restricted_drop
        found["paralysis"] = decide_above(
            drop.estimate, MARGINS["paralysis"], len(tables), tables.n_units
        )
    if steady is not None:
        hits, units = steady
        changed = estimate_rate(~hits, wide, units)
        found["order"] = decide_above(
            changed, MARGINS["order"], len(hits), count_units(units, len(hits))
        )
    return found


@dataclasses.dataclass(frozen=True, eq=False)
class ProbesMeasurement:
    """The probed items of an audit, and what they say.

    Attributes:
        context: The audit.
        tables: The items under every probe, with the scores where the model gives them.
        picked: Name of the table -> (N,) picked choices, -1 for no answer.
        decided: What they say, by `decisions`.
        reading: Probe that takes the question away -> what becomes of the answers; none where no item has one.
        scored: Prior bias and choice paralysis; None where answers are generated.
        orders: The effect of the order of scored choices; None for a scorer that sees one choice at a time.
        steady: Which of the items with an answer under every order keep it, and their clusters; None where no orders
            were asked.
        joint: Whether choices are scored together.
        left_out: Numbers of added choices for which the data has too few.
    """

    context: AuditContext
    tables: ProbeTables
    picked: Mapping[str, NDArray[np.int64]]
    decided: Mapping[str, Decision]
    reading: Mapping[str, Reading]
    scored: ProbeFigures | None = None
    orders: OrderFigures | None = None
    steady: Hits | None = None
    joint: bool = False
    left_out: tuple[int, ...] = ()

    @property
    def n_items(self) -> int:
        """The number of probed items."""
        return len(self.tables)

    @property
    def k(self) -> int:
        """The largest number of added choices."""
        return 0 if self.scored is None else max(self.scored.paralysis)

    @property
    def effect(self) -> ChoiceParalysis:
        """What the most added choices do to the confidence."""
        if self.scored is None:
            raise ValueError("Expected the scores of choices, but there are none.")
        return self.scored.paralysis[self.k]

    @property
    def spread(self) -> Estimate | None:
        """How far recall spreads over the position of the right choice."""
        bias = None if self.scored is None else self.scored.position_bias
        return None if bias is None else make_estimate(bias.rstd, bias.interval)

    @property
    def prior(self) -> list[Estimate]:
        """The share of each position in PriDe's prior."""
        orders = self.orders
        return (
            [] if orders is None else list(map(make_estimate, orders.prior, orders.prior_intervals))
        )

    @property
    def drop(self) -> Drop | None:
        """The drop beyond dilution with the most added choices, of choices that are scored together."""
        return self.effect.restricted_drop if self.joint else None

    @property
    def probe(self) -> str:
        """The probe that the first screen is about: the one under which most answers surely stay."""
        order = ("large", "some", "unknown", "small")
        found = [name for name in WITHOUT_QUESTION if name in self.reading]
        return min(
            found,
            key=lambda name: order.index(self.decided[f"kept_{name}"].level),
            default=WITHOUT_QUESTION[0],
        )

    @property
    def read(self) -> Reading | None:
        """What becomes of the answers under this probe."""
        return self.reading.get(self.probe)

    def says(self, test: str, *levels: str) -> bool:
        """Whether a test, of whatever probe, comes out at one of some levels."""
        return any(
            name.startswith(test) and each.level in levels for name, each in self.decided.items()
        )

    @property
    def is_as_good_without(self) -> bool:
        """Whether it knows answers without the question, and surely none more with it, for all that is known."""
        kept = self.decided.get("kept_no_question")
        is_read = kept is not None and kept.level == "small"
        return self.says("unasked", "large") and self.says("lost", "small") and not is_read

    @property
    def consistency(self) -> Estimate | None:
        """Share of the items that keep their answer under every order; None where no orders were asked."""
        return (
            None
            if self.steady is None
            else estimate_rate(self.steady[0], self.context.resampling, self.steady[1])
        )

    @property
    def moves(self) -> bool:
        """Whether surely more than a few answers change with the order of the choices."""
        high = None if self.consistency is None else self.consistency.high
        return high is not None and high < 1 - MARGINS["order"].small

    @property
    def in_words(self) -> str:
        """Which orders were asked."""
        return orders_in_words(len(self.tables.column(ORIGINAL, "choices")[0]))

    @property
    def n_ordered(self) -> int:
        """The number of items with an answer under every order."""
        return 0 if self.steady is None else len(self.steady[0])

    @property
    def open_questions(self) -> dict[str, Decision | None]:
        """What the items leave open -> its decision; None where it was not measured."""
        found: dict[str, Decision | None] = {
            f"kept_{n}": None for n in WITHOUT_QUESTION if n not in self.reading
        }
        if (self.joint or self.scored is None) and "order" not in self.decided:
            found["order"] = None
        # Only what is surely better with the question reads it.
        settled = {"lost": ("large",)}
        tests = self.decided.items()
        return found | {
            name: each for name, each in tests if each.level not in settled.get(name, ("small",))
        }

    @property
    def open_kinds(self) -> list[str]:
        """What is open by the first words of the names, as of all that is kept without the question."""
        return list(dict.fromkeys(name.split("_")[0] for name in self.open_questions))

    @property
    def n_needed(self) -> int | None:
        """About how many items would tell all that is open; None where no number of items is known to."""
        needed = [None if each is None else each.n_needed for each in self.open_questions.values()]
        known = [n for n in needed if n is not None]
        return max(known) if known and len(known) == len(needed) else None

    @property
    def mean_unanswered(self) -> float:
        """The mean share of the items without an answer, over all probes."""
        return float(np.mean([(picked < 0).mean() for picked in self.picked.values()]))

    @property
    def not_scored(self) -> str:
        """Which items the model could not score, in a sentence; "" where it scored all."""
        return " ".join(not_scored_told("item", self.n_items, self.tables.left_out))


def measure(context: AuditContext, options: ProbesOptions) -> ProbesMeasurement:
    """Put the probes to the model."""
    items, score = context.primary.data, _scorer(context)
    is_generated = (
        context.prompted is not None and context.prompted.rendering.scoring == "generated"
    )
    spare = spare_choices(items["choices"][:])
    ks = tuple(k for k in dict.fromkeys(options.ks) if k <= spare) or (1,)
    tables = probe_tables(
        items, ks=ks, groups_column=context.primary.groups_column, seed=context.seed
    )
    how: dict[str, Any] = {"resampling": context.resampling}
    depends, scored, orders, steady = str(ks), None, None, None
    joint = context.scorer.joint and not is_generated
    if is_generated:
        # Of a variance or a drop of confidences, picks say nothing: what they show is whether the question is read.
        kept = {name: tables.tables[name] for name in (ORIGINAL, *WITHOUT_QUESTION)}
        tables = dataclasses.replace(tables, tables=kept)
        prompts, choices, names = tables.requests()
        answers = (
            score("probes", depends)(prompts, choices, names)
            .answers(names)
            .reshape(-1, len(tables))
        )
        picked = dict(zip(kept, answers, strict=True))
        if len(set(tables.sizes().tolist())) == 1:
            places, names, said = ask_in_orders(kept[ORIGINAL], score("orders", depends))
            known, flags = steady_picks(places, said.answers(names).reshape(-1, len(tables)))
            steady = flags, select_clusters(tables.units, known)
    else:
        tables = tables.scored_by(score("probes", depends))
        picked = {name: rows.argmax() for name, rows in (tables.logits or {}).items()}
        scored = measure_probes(tables, **how)
        if joint and len(set(tables.sizes().tolist())) == 1:
            orders = measure_option_order(
                tables.tables[ORIGINAL], score("orders"), clusters=tables.units, **how
            )
            steady = np.array(orders.steady), tables.units
    return ProbesMeasurement(
        context,
        tables,
        picked,
        decisions(tables, picked, steady=steady, joint=joint, **how),
        reading=scored.reading if scored else tables.reading(picked, context.resampling),
        scored=scored,
        orders=orders,
        steady=steady,
        joint=joint,
        left_out=() if is_generated else tuple(k for k in dict.fromkeys(options.ks) if k not in ks),
    )


def _scorer(context: AuditContext) -> Any:
    """Return (what is asked, what it depends on) -> the model as a function that stores its answers."""
    from rightreasons.models.classes import choose

    model, method = context.scorer, str(getattr(context.scorer, "method", ""))

    def scorer(part: str, *depends: str) -> Score:
        folder = context.folder(
            part, context.primary.fingerprint, str(context.seed), method, *depends
        )
        return lambda prompts, choices, ids: choose(
            model, prompts, choices, ids=ids, **context.running(folder)
        )

    return scorer
