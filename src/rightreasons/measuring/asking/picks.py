"""The probes of a model whose answers are generated: what it picks, and where it gives no answer; no confidences."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.intervals import mcnemar, poisson_binomial_p_value
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.scores import Scores
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.estimates import Estimate, share
from rightreasons.measuring.option_order import ChoiceOrders, orders_in_words
from rightreasons.measuring.probes import NONE, ORIGINAL, WITHOUT_QUESTION, ProbeTables

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
        p_value: Exact test of no difference from the reference: of the binomial kind without the question, else
            McNemar's; None likewise.
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
    """

    n_items: int
    probes: Mapping[str, Picked]
    orders: str = ""
    n_orders: int = 0
    consistency: Estimate | None = None
    n_ordered: int = 0

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


def ask_for_picks(tables: ProbeTables, ask: Ask) -> dict[str, NDArray[np.int64]]:
    """Ask about all tables at once.

    Args:
        tables: From `probe_tables`.
        ask: (prompts, choices, ids) -> scores; items without an answer are among its `failures`.

    Returns:
        Name of the table -> (N,) picked choices, -1 where there is no answer.
    """
    source = tables.tables[ORIGINAL]["id"][:]
    prompts, choices, ids = [], [], []
    for name, table in tables.tables.items():
        prompts += table["prompt"][:]
        choices += table["choices"][:]
        ids += [f"{item}/{name}" for item in source]
    picked = _picks(ask(prompts, choices, ids), ids)
    size = len(source)
    return {name: picked[place * size : (place + 1) * size] for place, name in enumerate(tables.tables)}


def ask_for_orders(tables: ProbeTables, ask: Ask, orders: str = "auto", *, seed: int = 0) -> OrderPicks | None:
    """Ask about several orders of the choices; None where the number of choices differs between items.

    Args:
        tables: From `probe_tables`.
        ask: As in `ask_for_picks`.
        orders: Which, see `measure_option_order`.
        seed: Decides random ones.
    """
    table = tables.tables[ORIGINAL]
    rows, ids = table["choices"][:], table["id"][:]
    n = len(rows[0])
    if any(len(row) != n for row in rows):
        return None
    asked = ChoiceOrders.of(ids, n, orders, seed=seed)
    names = asked.names(ids)
    picked = _picks(ask(table["prompt"][:] * len(asked.places), asked.turned(rows), names), names).reshape(-1, len(ids))
    return OrderPicks(asked, np.where(picked < 0, -1, asked.original(picked)).T)


@checks_kinds
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
    labels = {name: np.asarray(table["label"][:], dtype=np.int64) for name, table in tables.tables.items()}
    before, figures = picked[ORIGINAL], {}
    right_before = before == labels[ORIGINAL]
    for name, table in tables.tables.items():
        picks = picked[name]
        answered = picks >= 0
        n, unanswered = int(answered.sum()), int((~answered).sum())
        if name in WITHOUT_QUESTION:
            old = np.asarray(table["pseudo_label"][:], dtype=np.int64)
            chances = np.array([1 / len(row) for row in table["choices"][:]])[answered]
            hits = int((picks == old)[answered].sum())
            figures[name] = Picked(
                n,
                unanswered,
                share(hits, n, resampling),
                float(chances.mean()) if n else None,
                poisson_binomial_p_value(hits, chances) if n else None,
            )
        elif name == "no_right_answer":
            figures[name] = Picked(n, unanswered, None)
        elif name in (ORIGINAL, NONE[0]):
            hit = right_before if name == ORIGINAL else picks == _last(table)
            figures[name] = Picked(n, unanswered, share(int(hit.sum()), n, resampling))
        else:
            base = picked[NONE[0]] == _last(tables.tables[NONE[0]]) if name == NONE[1] else right_before
            both = answered & ((picked[NONE[0]] if name == NONE[1] else before) >= 0)
            hit, base = (picks == labels[name])[both], base[both]
            n = int(both.sum())
            figures[name] = Picked(
                n,
                unanswered,
                share(int(hit.sum()), n, resampling),
                float(base.mean()) if n else None,
                mcnemar(hit, base).p_value if n else None,
            )
    known = None if orders is None else (orders.picked >= 0).all(axis=1)
    steady = None if orders is None or known is None else (orders.picked == orders.picked[:, :1]).all(axis=1) & known
    return PickFigures(
        n_items=len(tables),
        probes=figures,
        orders="" if orders is None else orders.orders.kind,
        n_orders=0 if orders is None else len(orders.orders.places),
        consistency=None if steady is None or known is None else share(int(steady.sum()), int(known.sum()), resampling),
        n_ordered=0 if known is None else int(known.sum()),
    )


def _last(table: Any) -> NDArray[np.int64]:
    return np.array([len(row) - 1 for row in table["choices"][:]], dtype=np.int64)


def _picks(scores: Scores, ids: Sequence[str]) -> NDArray[np.int64]:
    known = dict(zip(scores.ids, scores.predicted.tolist(), strict=True)) if len(scores) else {}
    return np.array([known.get(name, -1) for name in ids], dtype=np.int64)
