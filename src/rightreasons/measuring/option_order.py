"""What a scorer that sees all choices together does under the orders of them: the cyclic ones, random ones, or all."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.intervals import Interval, bounded_mean, wilson
from rightreasons.analysis.probes.option_order import (
    contextual_calibration,
    permutation_consistency,
    position_bias,
    pride_debias,
    pride_prior,
    pride_prior_intervals,
)
from rightreasons.foundations.choices import ORDERS
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import (
    check_fraction,
    check_labels,
    check_one_of,
    check_ragged,
    check_same_length,
    check_texts,
)
from rightreasons.measuring.probes import Score

CONTENT_FREE = ("N/A", "[MASK]", "")
"""The inputs without content of Zhao et al. (2021)."""

FEW, MOST = 3, 5
"""Of so many choices, all orders are asked unless the option says otherwise, and at most."""


@dataclasses.dataclass(frozen=True, eq=False)
class ChoiceOrders:
    """Orders of the choices of some items; the first is the original one.

    Attributes:
        kind: "cyclic", "random" or "all".
        places: (R, N, n) the choice at each position, of each item under each order.
    """

    kind: str
    places: NDArray[np.int64]

    @classmethod
    def of(cls, ids: Sequence[str], n: int, orders: str = "auto", *, seed: int = 0) -> ChoiceOrders:
        """Choose the orders of items with n choices each.

        Args:
            ids: The items.
            n: How many choices each has.
            orders: One of `ORDERS`, see `measure_option_order`.
            seed: With the id of an item, decides its random orders.

        Raises:
            ValueError: If all orders of more than five choices are asked for.

        Example:
            >>> ChoiceOrders.of(["a"], 3, "cyclic").places[:, 0].tolist()
            [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
        """
        check_one_of(orders, ORDERS, "orders")
        circle = np.arange(n)
        cyclic = (circle[:, None] + circle) % n
        if orders == "random" and n > FEW:  # of fewer, every circle has the cyclic orders
            circles = np.array([item_rng(seed, f"{name}/orders").permutation(n) for name in ids])
            turned = (circles.argsort(axis=1) + circle[:, None, None]) % n
            return cls("random", np.take_along_axis(np.broadcast_to(circles, turned.shape), turned, axis=2))
        if orders == "all" or (orders == "auto" and n <= FEW):
            if n > MOST:
                raise ValueError(
                    f"Expected at most {MOST} choices with orders='all', but got {n}, of which there are "
                    f"{math.factorial(n):,} orders: 'cyclic' asks {n}."
                )
            first = [tuple(order) for order in cyclic.tolist()]
            rest = [order for order in itertools.permutations(range(n)) if order not in first]
            cyclic = np.array([*first, *rest])
        kind = "all" if len(cyclic) == math.factorial(n) else "cyclic"
        return cls(kind, np.broadcast_to(cyclic[:, None], (len(cyclic), len(ids), n)))

    @classmethod
    def of_items(
        cls, ids: Sequence[str], choices: Sequence[Sequence[str]], orders: str = "auto", *, seed: int = 0
    ) -> ChoiceOrders:
        """Choose the orders of some items, as `of`.

        Raises:
            ValueError: If there are fewer than two items, or the number of choices differs between items.
        """
        sizes = sorted({len(row) for row in choices})
        if len(sizes) > 1 or len(ids) < 2:
            raise ValueError(
                "Expected at least two items with one number of choices to turn, but got "
                f"{len(ids)} with {', '.join(map(str, sizes))}."
            )
        return cls.of(ids, sizes[0], orders, seed=seed)

    @property
    def in_words(self) -> str:
        """Say which orders these are: "both orders", "all 6 orders", "all 4 cyclic orders" or "4 random orders"."""
        return orders_in_words(self.kind, len(self.places))

    def names(self, ids: Sequence[str]) -> list[str]:
        """Return the ids of the items under each order, one order after another."""
        return [_name(item, r, self.kind) for r in range(len(self.places)) for item in ids]

    def turned(self, rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return the choices under each order, one order after another."""
        return [
            [row[place] for place in order]
            for orders in self.places.tolist()
            for row, order in zip(rows, orders, strict=True)
        ]

    def requests(
        self, prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]
    ) -> tuple[list[str], list[list[str]], list[str]]:
        """Return the prompts, choices and ids to ask: each order of the items, and last the inputs without content."""
        n_orders, n = self.places.shape[0], self.places.shape[2]
        return (
            [*list(prompts) * n_orders, *CONTENT_FREE],
            [*self.turned(choices), *([["N/A"] * n] * len(CONTENT_FREE))],
            [*self.names(ids), *(f"content-free {index}" for index in range(len(CONTENT_FREE)))],
        )

    def original(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return which choices are at some positions.

        Args:
            positions: (R, N) a position under each order, of each item.
        """
        choices: NDArray[np.int64] = np.take_along_axis(self.places, positions[..., None], axis=2)[..., 0]
        return choices


def orders_in_words(kind: str, n_orders: int) -> str:
    """Say which orders were asked.

    Example:
        >>> orders_in_words("all", 2), orders_in_words("all", 6), orders_in_words("cyclic", 4)
        ('both orders', 'all 6 orders', 'all 4 cyclic orders')
    """
    if n_orders == 2:
        return "both orders"
    return {"all": f"all {n_orders} orders", "cyclic": f"all {n_orders} cyclic orders"}.get(
        kind, f"{n_orders} random orders"
    )


def stored_orders(stored: Container[str], item: str, n: int, orders: str = "auto") -> str | None:
    """Return which orders of the choices a store of answers has; None for none.

    Args:
        stored: The ids of the answers.
        item: The id of an item.
        n: How many choices it has.
        orders: Which are wanted; "auto" (default) for those that are there.
    """
    kinds = (("random", 1), ("all", n), ("cyclic", 1))
    known = next((kind for kind, r in kinds if _name(item, r, kind) in stored), None)
    return known if known is None or orders == "auto" else orders


def _name(item: str, r: int, kind: str) -> str:
    return f"{item}/{'random ' if kind == 'random' and r else ''}order {r}"


@dataclasses.dataclass(frozen=True)
class OrderAccuracy(Result):
    """A scorer on the held-out items, with or without a correction.

    Attributes:
        accuracy: Accuracy in [0, 1].
        interval: Its interval (Wilson).
        rstd: Spread of the recalls over the position of the right choice (`position_bias`).
        rstd_interval: Its interval; None where one position holds every right choice.
        gain: Accuracy minus that without correction, in [-1, 1]; 0 where there is none.
        gain_interval: Its interval over items (`bounded_mean`); None without correction.
        picked: How often each position is picked.
    """

    accuracy: float
    interval: Interval
    rstd: float
    rstd_interval: Interval | None
    gain: float
    gain_interval: Interval | None
    picked: list[int]


@dataclasses.dataclass(frozen=True)
class OrderFigures(Result):
    """The effect of the order of the choices; see `measure_option_order`.

    Attributes:
        n_items: Number of items.
        n_choices: Number of choices of each.
        orders: "cyclic", "random" or "all".
        n_orders: Number of orders: n! where they are all, else as many as choices.
        consistency: Share of items whose picked content is the same under every order.
        consistency_interval: Its interval (Wilson).
        prior: The scorer's prior over positions (PriDe), from the estimation items.
        prior_intervals: The interval of each position's share over these items.
        content_free: Its mean confidence in each position for inputs without content, which are three fixed ones: it
            has no interval.
        n_estimation: Number of items on which the prior was estimated; the corrections are tested on the others.
        uncorrected: The held-out items without correction.
        pride: The same with the prior divided out.
        calibrated: The same by contextual calibration.
    """

    n_items: int
    n_choices: int
    orders: str
    n_orders: int
    consistency: float
    consistency_interval: Interval
    prior: list[float]
    prior_intervals: list[Interval]
    content_free: list[float]
    n_estimation: int
    uncorrected: OrderAccuracy
    pride: OrderAccuracy
    calibrated: OrderAccuracy

    @property
    def in_words(self) -> str:
        """Say which orders these are; see `orders_in_words`."""
        return orders_in_words(self.orders, self.n_orders)

    @property
    def n_held_out(self) -> int:
        """Number of items on which the corrections are tested."""
        return self.n_items - self.n_estimation


@checks_kinds
def measure_option_order(
    prompts: Sequence[str],
    choices: Sequence[Sequence[str]],
    labels: Sequence[int] | NDArray[np.int64],
    ids: Sequence[str],
    score: Score,
    *,
    orders: str = "auto",
    share: float = 0.25,
    seed: int = 0,
    resampling: Resampling = Resampling(),
) -> OrderFigures:
    """Score several orders of the choices, and take the preference for positions out.

    In the cyclic order r, position j holds choice (j + r) mod n. Random orders are cyclic too, but in a circle that is
    drawn for each item, so that the neighbors of a choice differ between items; circles of up to three choices have
    the cyclic orders. All n! orders change all neighbors. Of each kind, every choice is equally often at every
    position, and the first order is the original one.

    Args:
        prompts: N prompts.
        choices: N lists of n choices, n the same for all.
        labels: (N,) the right choices.
        ids: N ids.
        score: (prompts, choices, ids) -> logits, of a scorer that sees the choices together; one that sees one choice
            at a time gives the same scores in every order.
        orders: "cyclic", "random", "all", or "auto" (default): all of up to three choices, which are six, else the
            cyclic ones.
        share: Share of the items, the first ones, on which PriDe's prior is estimated; default 0.25, and at least one.
        seed: Decides random orders; default 0.
        resampling: Its level is that of the intervals.

    Returns:
        An `OrderFigures`.

    Raises:
        ValueError: If there are fewer than two items, the number of choices differs between items, or all orders of
            more than five choices are asked for.

    References:
        Zheng et al. (2024), "Large Language Models Are Not Robust Multiple Choice Selectors", ICLR; Zhao et al. (2021),
        "Calibrate Before Use", ICML.
    """
    texts = check_texts(prompts, "prompts", allow_empty=True)
    check_same_length(prompts=texts, choices=choices, labels=labels, ids=ids)
    asked = ChoiceOrders.of_items(ids, choices, orders, seed=seed)
    n_orders, size, n = asked.places.shape
    gold = check_labels(labels, n)
    n_estimation = min(max(1, math.ceil(check_fraction(share, "share") * size)), size - 1)
    logits = score(*asked.requests(texts, choices, ids))
    table = check_ragged(logits, scores="logits", name="scores").values.reshape(-1, n)
    observed = table[: n_orders * size].reshape(n_orders, size, n).transpose(1, 0, 2)  # item, order, position
    content_free = table[n_orders * size :]
    picks = asked.original(observed.argmax(axis=2).T).T
    prior = pride_prior(observed[:n_estimation])
    held_out, answers = observed[n_estimation:, 0], gold[n_estimation:]

    level, uncorrected = resampling.level, held_out.argmax(axis=1) == answers

    def tested(probabilities: NDArray[np.float64], *, corrected: bool = True) -> OrderAccuracy:
        picked = probabilities.argmax(axis=1)
        right = picked == answers
        spread = position_bias(picked, answers, n, confidence_level=level)
        change = right.astype(np.float64) - uncorrected
        return OrderAccuracy(
            accuracy=float(right.mean()),
            interval=wilson(int(right.sum()), len(answers), confidence_level=level),
            rstd=spread.rstd,
            rstd_interval=spread.interval,
            gain=float(change.mean()),
            gain_interval=bounded_mean(change, low=-1.0, high=1.0, confidence_level=level) if corrected else None,
            picked=spread.picked,
        )

    consistency = permutation_consistency(picks)
    return OrderFigures(
        n_items=size,
        n_choices=n,
        orders=asked.kind,
        n_orders=n_orders,
        consistency=consistency,
        consistency_interval=wilson(round(consistency * size), size, confidence_level=level),
        prior=prior.tolist(),
        prior_intervals=pride_prior_intervals(observed[:n_estimation], confidence_level=level),
        content_free=content_free.mean(axis=0).tolist(),
        n_estimation=n_estimation,
        uncorrected=tested(held_out, corrected=False),
        pride=tested(pride_debias(held_out, prior)),
        calibrated=tested(contextual_calibration(held_out, content_free)),
    )
