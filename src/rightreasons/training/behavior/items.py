"""What behavioral learning trains on: items with a rule each, and the steps in which a training takes them.

An item is a labeled text, or a text with its changed versions, one of which is drawn each time the item comes up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.validation import check_count

TYPES = ("iid", "MFT", "INV", "DIR")
"""Where an item comes from; `Items.type` numbers them. Batches of the plain methods have one type each."""

IID = "i.i.d. data"
"""The environment of independent data."""

Step = list[tuple[int, int]]
"""The items of a batch, each with the text that it shows."""


@dataclasses.dataclass(frozen=True, eq=False)
class Items:
    """n items over N texts.

    Attributes:
        texts: N texts.
        text_pairs: N second texts, or None.
        first: (n,) the text of each item; the original of a pair.
        changed: (n,) the first changed version; the versions of an item follow one another.
        n_changed: (n,) number of changed versions; 0 for a labeled item.
        targets: (n, C) target probabilities; 0 for pairs.
        rule: (n,) number in `losses.RULES`.
        type: (n,) number in `TYPES`.
        environment: (n,) number in `environments`.
        environments: Names of the functionalities, and `IID`.
    """

    texts: list[str]
    text_pairs: list[str] | None
    first: NDArray[np.int64]
    changed: NDArray[np.int64]
    n_changed: NDArray[np.int64]
    targets: NDArray[np.float64]
    rule: NDArray[np.int64]
    type: NDArray[np.int64]
    environment: NDArray[np.int64]
    environments: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.first)

    @classmethod
    def of_rows(
        cls,
        texts: list[str],
        text_pairs: list[str] | None,
        rows: NDArray[np.int64],
        targets: NDArray[np.float64],
        environments: tuple[str, ...],
    ) -> Items:
        """Make items of (n, 6) rows: first, changed, n_changed, rule, type and environment of each item."""
        columns = dict(zip(("first", "changed", "n_changed", "rule", "type", "environment"), rows.T, strict=True))
        return cls(texts=texts, text_pairs=text_pairs, targets=targets, environments=environments, **columns)

    def holds_out(self, names: Collection[str]) -> NDArray[np.bool_]:
        """Return which items belong to the named functionalities, (n,)."""
        return np.array([name in names for name in self.environments], dtype=bool)[self.environment]

    def select(self, keep: NDArray[np.bool_]) -> Items:
        """Return some of the items, over the same texts."""
        columns = ("first", "changed", "n_changed", "targets", "rule", "type", "environment")
        return dataclasses.replace(self, **{name: getattr(self, name)[keep] for name in columns})


def join_items(first: Items, second: Items) -> Items:
    """Concatenate the items of two sources; their environments stay separate.

    Raises:
        ValueError: If one source has pairs of texts and the other has not.
    """
    if (first.text_pairs is None) != (second.text_pairs is None):
        raise ValueError("Expected one text per item in both sources or two in both, but they differ.")
    shift, environments = len(first.texts), len(first.environments)
    moved = dataclasses.replace(
        second,
        first=second.first + shift,
        changed=second.changed + shift,
        environment=second.environment + environments,
    )
    columns = ("first", "changed", "n_changed", "targets", "rule", "type", "environment")
    return Items(
        texts=first.texts + second.texts,
        text_pairs=None if first.text_pairs is None else first.text_pairs + (second.text_pairs or []),
        environments=first.environments + second.environments,
        **{name: np.concatenate((getattr(first, name), getattr(moved, name))) for name in columns},
    )


def plan_steps(items: Items, *, objective: str, batch_size: int, epochs: float, seed: int) -> list[Step]:
    """Lay out a training: for each step, its items and the changed text that each pair shows.

    "mean" takes batches of one type in random order, each item once per epoch; pairs count as two, so their batches
    are half as large. "dro" takes a batch of one random environment per step, "fish" one of each of five different
    environments in turn, and "irm" takes one batch of every environment. All see about the same number of items per
    epoch.

    Args:
        items: The items.
        objective: As in `methods.Method`.
        batch_size: Texts per batch.
        epochs: Passes over the items; may be fractional.
        seed: Seed of the order and the changed texts.

    Returns:
        Steps of (item, text) pairs; the text of a labeled item is its own.

    Raises:
        ValueError: If there are no items.
    """
    check_count(batch_size, "batch_size")
    if not len(items):
        raise ValueError("Expected items to train on, but everything is held out.")
    rng = np.random.default_rng([seed, 7])
    by = items.type if objective == "mean" else items.environment
    sources = [_Source(np.flatnonzero(by == number), items, batch_size, rng) for number in np.unique(by)]
    per_step = len(sources) if objective == "irm" else 1
    n_steps = max(1, int(np.ceil(sum(source.n_batches for source in sources) * epochs / per_step)))
    batches: list[NDArray[np.int64]] = []
    if objective == "irm":
        batches = [np.concatenate([source.next() for source in sources]) for _ in range(n_steps)]
    elif objective == "mean":
        while len(batches) < n_steps:
            epoch = [batch for source in sources for batch in source.epoch()]
            batches.extend(epoch[place] for place in rng.permutation(len(epoch)))
    else:
        size = min(5, len(sources)) if objective == "fish" else 1
        order: list[int] = []
        while len(order) < n_steps:
            order.extend(rng.choice(len(sources), size=size, replace=False).tolist())
        batches = [sources[place].next() for place in order[:n_steps]]
    return [_draw_texts(items, batch, rng) for batch in batches[:n_steps]]


class _Source:
    """Items that come in shuffled batches, epoch after epoch."""

    def __init__(self, members: NDArray[np.intp], items: Items, batch_size: int, rng: np.random.Generator) -> None:
        pairs = bool((items.n_changed[members] > 0).any())
        self.members, self.rng = members, rng
        self.size = max(1, batch_size // 2) if pairs else batch_size
        self.n_batches = -(-len(members) // self.size)
        self._left: list[NDArray[np.int64]] = []

    def epoch(self) -> list[NDArray[np.int64]]:
        order = self.rng.permutation(self.members).astype(np.int64)
        return [order[start : start + self.size] for start in range(0, len(order), self.size)]

    def next(self) -> NDArray[np.int64]:
        if not self._left:
            self._left = self.epoch()[::-1]
        return self._left.pop()


def _draw_texts(items: Items, batch: NDArray[np.int64], rng: np.random.Generator) -> Step:
    counts = items.n_changed[batch]
    versions = items.changed[batch] + rng.integers(0, np.maximum(counts, 1))
    return list(zip(batch.tolist(), np.where(counts > 0, versions, items.first[batch]).tolist(), strict=True))
