"""What behavioral learning trains on: the cases of a suite and independent data as items with a rule each.

An item is a labeled text, or a text with its changed versions, of which one is drawn each time that the item comes up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.data.suites.suite import Case, Functionality, Suite
from rightreasons.foundations.validation import check_count, check_one_of, check_same_length
from rightreasons.training.behavior.losses import DIRECTIONS, one_hot_targets, sentiment_targets

RULES = ("labeled", "invariant", *DIRECTIONS)
"""What is asked of an item; `Items.rule` numbers them."""

TYPES = ("iid", "MFT", "INV", "DIR")
"""Where an item is from; `Items.type` numbers them. Batches of the plain methods are of one type."""

LABEL_TREATMENTS = ("sentiment", "classes")
"""How a suite's labels become targets: "sentiment" (0, 1, 2 for a model of two classes), or the model's own classes."""

IID = "i.i.d. data"
"""The environment of independent data."""

Step = list[tuple[int, int]]


@dataclasses.dataclass(frozen=True, eq=False)
class Items:
    """n items over N texts.

    Attributes:
        texts: N texts.
        text_pairs: N second texts, or None.
        first: (n,) the text of each item; the original of a pair.
        changed: (n,) the first changed version; they stand together.
        n_changed: (n,) how many there are; 0 for a labeled item.
        targets: (n, C) rows of target probabilities; 0 for pairs.
        rule: (n,) number in `RULES`.
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

    def holds_out(self, names: Collection[str]) -> NDArray[np.bool_]:
        """Say which items belong to some functionalities."""
        return np.array([name in names for name in self.environments], dtype=bool)[self.environment]

    def select(self, keep: NDArray[np.bool_]) -> Items:
        """Return some of the items, with the same texts."""
        columns = ("first", "changed", "n_changed", "targets", "rule", "type", "environment")
        return dataclasses.replace(self, **{name: getattr(self, name)[keep] for name in columns})


def suite_items(suite: Suite, *, labels: str = "sentiment", n_classes: int = 2) -> Items:
    """Turn a suite's cases into items.

    Minimum functionality tests, and directional tests that expect a label (such as those of paraphrases), become
    labeled items. Invariance tests become pairs of an original and one changed text; directional tests of confidence
    become pairs with the direction that their expectation names.

    Args:
        suite: A suite of one or two texts an example.
        labels: "sentiment" or "classes"; see `LABEL_TREATMENTS`.
        n_classes: Classes of the model; default 2.

    Returns:
        The items; `environments` are the functionalities.

    Raises:
        ValueError: If a functionality expects what no loss is known for, or a label fits no class.
    """
    check_one_of(labels, LABEL_TREATMENTS, "labels")
    if len(suite.text_columns) > 2:
        raise ValueError(
            f"Expected one or two texts an example, but the suite {suite.name!r} has {suite.text_columns}."
        )
    rows: list[tuple[str, ...]] = []
    about: list[tuple[int, int, int, int, int, int]] = []
    targets: list[Any] = []
    for number, functionality in enumerate(suite.functionalities):
        rule, kind = _rule(functionality), TYPES.index(functionality.test_type)
        for case in functionality.cases:
            start = len(rows)
            rows.extend(case.examples)
            if rule:
                if len(case.examples) > 1:
                    about.append((start, start + 1, len(case.examples) - 1, rule, kind, number))
                    targets.append(None)
                continue
            for place, label in enumerate(_labels(functionality, case)):
                if label is not None:
                    about.append((start + place, start + place, 0, rule, TYPES.index("MFT"), number))
                    targets.append(label)
    table = np.array(about, dtype=np.int64).reshape(-1, 6)
    known = [label for label in targets if label is not None]
    matrix = np.zeros((len(about), n_classes))
    if known:
        matrix[table[:, 3] == 0] = _targets(known, labels, n_classes, suite.name)
    return Items(
        texts=[texts[0] for texts in rows],
        text_pairs=[texts[1] for texts in rows] if len(suite.text_columns) == 2 else None,
        first=table[:, 0],
        changed=table[:, 1],
        n_changed=table[:, 2],
        targets=matrix,
        rule=table[:, 3],
        type=table[:, 4],
        environment=table[:, 5],
        environments=tuple(f.name for f in suite.functionalities),
    )


def iid_items(
    texts: Sequence[str], labels: Sequence[int], *, text_pairs: Sequence[str] | None = None, n_classes: int = 2
) -> Items:
    """Turn independent labeled data into items of one environment.

    Raises:
        ValueError: If there are more or fewer labels than texts, or a label is not one of the classes.
    """
    n = check_same_length(texts=texts, labels=labels)
    zeros, place = np.zeros(n, dtype=np.int64), np.arange(n, dtype=np.int64)
    return Items(
        texts=list(texts),
        text_pairs=None if text_pairs is None else list(text_pairs),
        first=place,
        changed=place.copy(),
        n_changed=zeros,
        targets=one_hot_targets(labels, n_classes),
        rule=zeros.copy(),
        type=zeros.copy(),
        environment=zeros.copy(),
        environments=(IID,),
    )


def join_items(first: Items, second: Items) -> Items:
    """Put the items of two sources together; their environments stay apart."""
    if (first.text_pairs is None) != (second.text_pairs is None):
        raise ValueError("Expected both sources to have one text an item or both to have two, but they differ.")
    shift, environments = len(first.texts), len(first.environments)
    both = {
        name: np.concatenate((getattr(first, name), getattr(second, name))) for name in ("n_changed", "rule", "type")
    }
    pairs = None if first.text_pairs is None or second.text_pairs is None else first.text_pairs + second.text_pairs
    return Items(
        texts=first.texts + second.texts,
        text_pairs=pairs,
        first=np.concatenate((first.first, second.first + shift)),
        changed=np.concatenate((first.changed, second.changed + shift)),
        targets=np.concatenate((first.targets, second.targets)),
        environment=np.concatenate((first.environment, second.environment + environments)),
        environments=first.environments + second.environments,
        **both,
    )


def plan_steps(items: Items, *, objective: str, batch_size: int, epochs: float, seed: int) -> list[Step]:
    """Lay out a training: for each step, its items and the changed text that each pair shows.

    "mean" takes batches of one type in random order, each item once an epoch; pairs count as two, so they come in
    batches of half the size. "dro" takes a batch of one random environment a step, "fish" goes through five different
    ones in turn, and "irm" takes one batch of every environment. All see about the same number of items an epoch.

    Args:
        items: The items.
        objective: As in `behavior_methods.Method`.
        batch_size: Texts of a batch.
        epochs: Passes over the items; may be broken.
        seed: Seed of the order and the changed texts.

    Returns:
        Steps of (item, text) pairs; the text is the item's own where it is labeled.

    Raises:
        ValueError: If there are no items.
    """
    check_count(batch_size, "batch_size")
    if not len(items):
        raise ValueError("Expected items to train on, but everything is held out.")
    rng = np.random.default_rng([seed, 7])
    by = items.type if objective == "mean" else items.environment
    sources = [_Source(np.flatnonzero(by == number), items, batch_size, rng) for number in np.unique(by)]
    n_batches = sum(source.n_batches for source in sources)
    if objective == "mean":
        steps: list[NDArray[np.int64]] = []
        wanted = max(1, int(np.ceil(n_batches * epochs)))
        while len(steps) < wanted:
            epoch = [batch for source in sources for batch in source.epoch()]
            steps.extend(epoch[place] for place in rng.permutation(len(epoch)))
        chosen = steps[:wanted]
    elif objective == "irm":
        wanted = max(1, int(np.ceil(n_batches * epochs / len(sources))))
        chosen = [np.concatenate([source.next() for source in sources]) for _ in range(wanted)]
    else:
        wanted = max(1, int(np.ceil(n_batches * epochs)))
        size = min(5, len(sources)) if objective == "fish" else 1
        order: list[int] = []
        while len(order) < wanted:
            order.extend(rng.choice(len(sources), size=size, replace=False).tolist())
        chosen = [sources[place].next() for place in order[:wanted]]
    return [_show(items, batch, rng) for batch in chosen]


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


def _show(items: Items, batch: NDArray[np.int64], rng: np.random.Generator) -> Step:
    counts = items.n_changed[batch]
    drawn = items.changed[batch] + rng.integers(0, np.maximum(counts, 1))
    return list(zip(batch.tolist(), np.where(counts > 0, drawn, items.first[batch]).tolist(), strict=True))


def _rule(functionality: Functionality) -> int:
    expectation = functionality.expectation
    name = expectation["name"]
    if name == "invariant":
        return RULES.index("invariant")
    if name == "monotonic":
        return RULES.index("not_less_conf" if expectation["increasing"] else "not_more_conf")
    if name == "sentiment_shift":
        return RULES.index("not_less_2" if expectation["positive"] else "not_less_0")
    if name in ("equal", "not_equal", "transitive"):
        return RULES.index("labeled")
    raise ValueError(
        f"Expected an expectation that can be learned from for {functionality.name!r}, but got {name!r}, for which no "
        "loss is known."
    )


def _labels(functionality: Functionality, case: Case) -> tuple[Any, ...]:
    expectation = functionality.expectation
    if expectation["name"] == "not_equal":
        return ("not negative" if expectation.get("value") == 0 else None,) * len(case.examples)
    if expectation.get("value") is not None:
        # The first example is the original, of which nothing is asked.
        head = (None,) if expectation.get("skip_first") else (expectation["value"],)
        return head + (expectation["value"],) * (len(case.examples) - 1)
    found = case.labels or (None,) * len(case.examples)
    return tuple(None if label is None or label == -1 else label for label in found)


def _targets(labels: list[Any], treatment: str, n_classes: int, suite: str) -> NDArray[np.float64]:
    strange = next((label for label in labels if isinstance(label, str) and label != "not negative"), None)
    if strange is not None:
        raise ValueError(
            f"Expected class labels in the suite {suite!r}, but got the text {strange[:40]!r}: only classifiers are "
            "trained on suites."
        )
    if treatment == "sentiment":
        if n_classes != 2:
            raise ValueError(f"Expected a model of two classes for the sentiment treatment, but it has {n_classes}.")
        return sentiment_targets(labels)
    # "Not the first class" shares the weight among the others.
    rows = one_hot_targets([0 if label == "not negative" else label for label in labels], n_classes)
    others = np.array([label == "not negative" for label in labels])
    rows[others] = np.concatenate(([0.0], np.full(n_classes - 1, 1 / (n_classes - 1))))
    return rows
