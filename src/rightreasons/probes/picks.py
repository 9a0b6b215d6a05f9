"""The probes as picks without confidences, of generated answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Result
from rightreasons.core.intervals import Estimate, chances_p_value, clusters_of, paired_means, rate
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.probes.bias import Reading
from rightreasons.probes.measure import NONE, WITHOUT_QUESTION, ChoiceOrders, ProbeTables, orders_in_words

Ask = Callable[[Sequence[str], Sequence[Sequence[str]], Sequence[str]], Scores]
"""(prompts, choices, ids) -> the scores of the items that have an answer."""


@dataclasses.dataclass(frozen=True)
class Picked(Result):
    """What is picked under one probe.

    Attributes:
        n_items: Items with an answer, under the probe and as they are.
        n_unanswered: Items without an answer under the probe.
        rate: Share of the items on which what the probe asks about is picked: the right choice; without the question
            the one that was right; and "none of the above" under "none_added" and "none_right". None where nothing can
            be picked rightly.
        reference: What to compare it with: 1 / n without the question; the accuracy on the same items as they are; the
            share of "none of the above" beside the right choice. None where there is nothing.
        p_value: Test of no difference from the reference: exact, of the binomial kind without the question, else
            McNemar's; of clusters `chances_p_value`, or sign flips; None likewise.
    """

    n_items: int
    n_unanswered: int
    rate: Estimate | None
    reference: float | None = None
    p_value: float | None = None


@dataclasses.dataclass(frozen=True)
class PickFigures(Result):
    """The picks under every probe; see `measure_picks`.

    Attributes:
        n_items: Number of items.
        probes: Name of the table of `probe_tables` -> what is picked.
        orders: Which orders of the choices were asked: "cyclic", "random" or "all"; "" for none.
        n_orders: How many.
        consistency: Share of the items with an answer under every order whose picked choice is always the same.
        n_ordered: The number of these items.
        reading: "no_question" and "wrong_question" -> what becomes of the answers without their question.
    """

    n_items: int
    probes: Mapping[str, Picked]
    orders: str = ""
    n_orders: int = 0
    consistency: Estimate | None = None
    n_ordered: int = 0
    reading: Mapping[str, Reading] = dataclasses.field(default_factory=dict)

    @property
    def in_words(self) -> str:
        """Say which orders these are; see `orders_in_words`."""
        return orders_in_words(self.orders, self.n_orders)


@dataclasses.dataclass(frozen=True, eq=False)
class OrderPicks:
    """What is picked under some orders of the choices.

    Attributes:
        orders: The orders.
        picked: (N, R) the picked choices, of the original order; -1 for no answer.
    """

    orders: ChoiceOrders
    picked: NDArray[np.int64]

    @property
    def known(self) -> NDArray[np.bool_]:
        """(N,) which items have an answer under every order."""
        return np.asarray((self.picked >= 0).all(axis=1))

    @property
    def steady(self) -> NDArray[np.bool_]:
        """Which of these keep their answer."""
        return np.asarray((self.picked == self.picked[:, :1]).all(axis=1)[self.known])


def ask_for_picks(tables: ProbeTables, ask: Ask) -> dict[str, NDArray[np.int64]]:
    """Ask about all tables at once.

    Args:
        tables: From `probe_tables`.
        ask: (prompts, choices, ids) -> scores; items without an answer are among its `failures`.

    Returns:
        Name of the table -> (N,) picked choices, -1 where there is no answer.
    """
    prompts, choices, ids = tables.requests()
    picked = ask(prompts, choices, ids).answers(ids).reshape(-1, len(tables))
    return dict(zip(tables.tables, picked, strict=True))


def ask_for_orders(tables: ProbeTables, ask: Ask, orders: str = "auto", *, seed: int = 0) -> OrderPicks | None:
    """Ask about several orders of the choices; None where the number of choices differs between items.

    Args:
        tables: From `probe_tables`.
        ask: As in `ask_for_picks`.
        orders: Which, see `measure_option_order`.
        seed: Decides random ones.
    """
    prompts, choices, ids = (tables.column(ORIGINAL, name) for name in ("prompt", "choices", "id"))
    n = len(choices[0])
    if any(len(row) != n for row in choices):
        return None
    turned = ChoiceOrders.of(ids, n, orders, seed=seed)
    names = turned.names(ids)
    picked = ask(prompts * len(turned.places), turned.turned(choices), names).answers(names).reshape(-1, len(ids))
    return OrderPicks(turned, np.where(picked < 0, -1, turned.original(picked)).T)


def measure_picks(
    tables: ProbeTables,
    picked: Mapping[str, NDArray[np.int64]],
    *,
    orders: OrderPicks | None = None,
    resampling: Resampling = Resampling(),
) -> PickFigures:
    """Turn picks into figures: those of the probes that need no confidence.

    Of generated answers a prior bias, which is a variance of confidences, and a drop of confidence are not known. What
    is picked without the question, among more choices, and under another order of them, is.

    Args:
        tables: From `probe_tables`.
        picked: Name of the table -> (N,) picked choices, -1 for no answer.
        orders: From `ask_for_orders`; None for none.
        resampling: Level of the intervals.

    Returns:
        A `PickFigures`.

    References:
        Shen and Kejriwal (2022), section 3, for the probes; Zheng et al. (2024) for the orders.
    """
    before, last = picked[ORIGINAL], tables.sizes()
    right = before == tables.labels()
    figures = {}
    for name in tables.tables:
        wanted, both, base = tables.labels(name), picked[name] >= 0, None
        if name in WITHOUT_QUESTION:
            wanted = tables.labels(name, "pseudo_label")
        elif name == NONE[0]:
            wanted = last
        elif name == NONE[1]:
            both, base = both & (picked[NONE[0]] >= 0), picked[NONE[0]] == last
        elif name != ORIGINAL:
            both, base = both & (before >= 0), right
        n_unanswered = int((picked[name] < 0).sum())
        if name == "no_right_answer":
            figures[name] = Picked(len(tables) - n_unanswered, n_unanswered, None)
            continue
        hits, n = (picked[name] == wanted)[both], int(both.sum())
        reference = p_value = None
        units = clusters_of(tables.units, both)
        if n and name in WITHOUT_QUESTION:
            chances = 1 / tables.sizes()[both]
            reference, p_value = float(chances.mean()), chances_p_value(hits, chances, clusters=units)
        elif n and base is not None:
            reference, p_value = (
                float(base[both].mean()),
                paired_means(hits, base[both], clusters=units, resampling=resampling).p_value,
            )
        figures[name] = Picked(n, n_unanswered, rate(hits, resampling, units), reference, p_value)
    found = PickFigures(len(tables), figures, reading=tables.reading(picked, resampling))
    if orders is None:
        return found
    return dataclasses.replace(
        found,
        orders=orders.orders.kind,
        n_orders=len(orders.orders.places),
        consistency=rate(orders.steady, resampling, clusters_of(tables.units, orders.known)),
        n_ordered=int(orders.known.sum()),
    )
