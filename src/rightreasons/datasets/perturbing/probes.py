"""The four confusion probes: multiple-choice items perturbed so that a sound model should change its mind.

| probe | change | right choice afterwards |
|---|---|---|
| no_question | removes the prompt | none; the old one is pseudo-correct |
| wrong_question | replaces the prompt with that of another item | none; the old one is pseudo-correct |
| no_right_answer | replaces the right choice with a choice of another item | none |
| extra_choices | adds choices of other items | the same one, at a random position |

Every draw depends on (seed, item id) and on the pool to borrow from, in the order of its ids. So another order, a
subset (with the whole set as its pool), or another number of workers gives the same perturbed item.
"""

from __future__ import annotations

import hashlib
import itertools
import operator
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import datasets

from rightreasons.core.validation import check_count, check_ids, check_one_of, check_seed
from rightreasons.datasets.builder import multiple_choice_features

ORIGINAL = "original"

PROBES = ("no_question", "wrong_question", "no_right_answer", "extra_choices")
"""The names of the probes: the first three as in the data of Shen and Kejriwal, the fourth our own."""

AUTO = "auto"
"""`duplicates`: leave out the items with equal choices that the probe cannot use."""

DOUBLE = "double"
"""`k` of extra_choices: add as many choices as the item has."""

FEATURES = multiple_choice_features(
    source_id=datasets.Value("string"),
    probe=datasets.Value("string"),
    pseudo_label=datasets.Value("int64"),
    prompt_source=datasets.Value("string"),
    choice_sources=datasets.List(datasets.Value("string")),
    original_positions=datasets.List(datasets.Value("int64")),
)
"""The columns of a perturbed item.

`label` is -1 where no choice is right; `pseudo_label` is the position of the choice that used to be right, -1 where it
is gone or still right. `prompt_source` and `choice_sources` are the ids of the items that the prompt and each choice
come from (the prompt's is empty where there is none). `original_positions` has the new position of each of the item's
own choices, -1 for one that was replaced.
"""

_TRIES = 64  # random draws before the pool is searched in order

Row = dict[str, Any]


class Pool:
    """The items to borrow texts from, in the order of their ids.

    Args:
        items: A multiple-choice dataset, or its rows.

    Raises:
        ValueError: If it is empty or an id occurs twice.
    """

    def __init__(self, items: datasets.Dataset | Iterable[Mapping[str, Any]]) -> None:
        if isinstance(items, datasets.Dataset):
            items = items.select_columns(["id", "prompt", "choices"])
        rows = sorted(
            ((row["id"], row["prompt"], row["choices"]) for row in items),
            key=operator.itemgetter(0),
        )
        if not rows:
            raise ValueError(
                "Expected at least one item in the pool to borrow from, but it is empty."
            )
        check_ids(key for key, *_ in rows)
        self.ids, self.prompts, self.choices = (
            [str(row[0]) for row in rows],
            *zip(*(row[1:] for row in rows), strict=True),
        )

    def __len__(self) -> int:
        return len(self.ids)


def perturb(
    dataset: datasets.Dataset,
    probe: str,
    *,
    k: int | str = DOUBLE,
    pool: Pool | datasets.Dataset | Iterable[Mapping[str, Any]] | None = None,
    seed: int = 0,
    duplicates: str = AUTO,
) -> datasets.Dataset:
    """Apply one confusion probe to every item of a multiple-choice dataset.

    Args:
        dataset: Items with the columns id, prompt, choices and label (0-based).
        probe: One of `PROBES`.
        k: For extra_choices, how many choices to add, or "double" (default) for as many as the item has.
        pool: The items to borrow from; None (default) for the dataset itself. Where `dataset` is part of a set, pass
            the whole set: each item is then perturbed as in it.
        seed: Seed of the draws; default 0.
        duplicates: What to do with an item that has the same choice twice: "drop" (leave it out), "error", or "auto"
            (default): drop it, except for no_question, which such an item does not disturb, and warn of how many items
            of a dataset were left out.

    Returns:
        The perturbed items, with the columns of `FEATURES`.

    Raises:
        ValueError: If an item has fewer than two choices, an empty prompt or a label outside its choices, or equal
            choices with `duplicates="error"`, the pool is too small to borrow from, or an option is wrong.

    References:
        Shen and Kejriwal (2022), "Understanding Prior Bias and Choice Paralysis in Transformer-based Language
        Representation Models through Four Experimental Probes", section 3.

    Example:
        >>> items = [
        ...     {"id": "a", "prompt": "Why cook?", "choices": ["To eat.", "To fly."], "label": 0},
        ...     {"id": "b", "prompt": "Why run?", "choices": ["To hurry.", "To sleep."], "label": 0},
        ... ]
        >>> perturbed = perturb(datasets.Dataset.from_list(items), "no_question")
        >>> perturbed[0]["prompt"], perturbed[0]["label"], perturbed[0]["pseudo_label"]
        ('', -1, 0)
    """
    check_one_of(probe, PROBES, "probe")
    perturber = Perturber(
        probe,
        k=k,
        pool=pool if isinstance(pool, Pool) else Pool(dataset if pool is None else pool),
        seed=seed,
        duplicates=duplicates,
    )
    check_ids(dataset["id"])
    how = {
        "batched": True,
        "features": FEATURES,
        "remove_columns": dataset.column_names,
        "desc": probe,
    }
    perturbed = dataset.map(perturber.batch, **how)
    if duplicates == AUTO and len(perturbed) < len(dataset):
        warnings.warn(
            f"Left out {len(dataset) - len(perturbed):,} of {len(dataset):,} items, which have the same choice twice.",
            stacklevel=2,
        )
    return perturbed


class Perturber:
    """One probe with its options, applied item by item; see `perturb`."""

    def __init__(
        self,
        probe: str,
        *,
        k: int | str = DOUBLE,
        pool: Pool,
        seed: int = 0,
        duplicates: str = AUTO,
    ) -> None:
        self.probe = check_one_of(probe, PROBES, "probe")
        self.k = k if k == DOUBLE else check_count(k, "k")
        self.pool = pool
        self.seed = check_seed(seed)
        self.duplicates = check_one_of(duplicates, (AUTO, "drop", "error"), "duplicates")

    def batch(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Perturb a batch of columns."""
        items = zip(batch["id"], batch["prompt"], batch["choices"], batch["label"], strict=True)
        rows = [row for item in items for row in self.rows(*item)]
        return {name: [row[name] for row in rows] for name in FEATURES}

    def rows(self, item_id: str, prompt: str, choices: Sequence[str], label: int) -> Iterator[Row]:
        """Perturb one item; yields nothing for an item that is dropped."""
        if choices is None or any(choice is None for choice in choices):
            raise ValueError(
                f"Expected texts as the choices of item {item_id!r}, but one is missing."
            )
        if len({*map(_key, choices)}) < len(choices):
            if self.duplicates == "error":
                raise ValueError(
                    f"Expected the choices of item {item_id!r} to differ, but they are {list(choices)}."
                )
            if self.duplicates == "drop" or self.probe != "no_question":
                return
        if len(choices) < 2:
            raise ValueError(
                f"Expected at least two choices in item {item_id!r}, but it has {len(choices)}."
            )
        if not prompt or not prompt.strip():
            raise ValueError(f"Expected a prompt in item {item_id!r}, but it is empty.")
        needs_label = self.probe not in ("no_question", "wrong_question")
        if label is None or not (0 if needs_label else -1) <= label < len(choices):
            raise ValueError(
                f"Expected the label of item {item_id!r} to be a choice (0 to {len(choices) - 1}), but it is {label}."
            )
        yield getattr(self, f"_{self.probe}")(str(item_id), prompt, list(choices), label)

    # ------------------------------------------------------------------------------------------------------ the probes

    def _no_question(self, item_id: str, prompt: str, choices: list[str], label: int) -> Row:
        return self._row(item_id, "", choices, prompt_source="", pseudo_label=label)

    def _wrong_question(self, item_id: str, prompt: str, choices: list[str], label: int) -> Row:
        pool, key = self.pool, _key(prompt)
        for item, _ in self._candidates(item_id):
            other = pool.prompts[item] or ""
            if pool.ids[item] != item_id and _key(other) != key and other.strip():
                return self._row(
                    item_id, other, choices, prompt_source=pool.ids[item], pseudo_label=label
                )
        raise ValueError(
            f"Expected another prompt to borrow for item {item_id!r}, but no item of the pool of {len(pool)} has one."
        )

    def _no_right_answer(self, item_id: str, prompt: str, choices: list[str], label: int) -> Row:
        (borrowed,) = self._borrow(item_id, choices, 1)
        sources = [item_id] * len(choices)
        choices[label], sources[label] = borrowed
        positions = [-1 if place == label else place for place in range(len(choices))]
        return self._row(
            item_id, prompt, choices, choice_sources=sources, original_positions=positions
        )

    def _extra_choices(self, item_id: str, prompt: str, choices: list[str], label: int) -> Row:
        k = len(choices) if self.k == DOUBLE else int(self.k)
        extra = self._borrow(item_id, choices, k)
        place = _Draws(self.seed, "extra_choices", item_id, "place").next() % (len(choices) + k)
        # The wrong choices first, in their order, then the borrowed ones; the right one goes to its new position.
        texts = [(text, item_id) for index, text in enumerate(choices) if index != label] + extra
        texts.insert(place, (choices[label], item_id))
        rank = [index - (index > label) for index in range(len(choices))]
        positions = [place if index == label else r + (r >= place) for index, r in enumerate(rank)]
        changed = {
            "choice_sources": [source for _, source in texts],
            "original_positions": positions,
        }
        return self._row(item_id, prompt, [text for text, _ in texts], label=place, **changed)

    # --------------------------------------------------------------------------------------------------------- private

    def _row(self, item_id: str, prompt: str, choices: list[str], **columns: Any) -> Row:
        """Return an item with its own prompt and choices, and no right one, but for what `columns` say."""
        return {
            "id": f"{item_id}/{self.probe}",
            "prompt": prompt,
            "choices": choices,
            "label": -1,
            "source_id": item_id,
            "probe": self.probe,
            "pseudo_label": -1,
            "prompt_source": item_id,
            "choice_sources": [item_id] * len(choices),
            "original_positions": list(range(len(choices))),
            **columns,
        }

    def _candidates(self, item_id: str) -> Iterator[tuple[int, int]]:
        """Yield items of the pool to try, each with a number to choose by: first at random, then all in order."""
        draws, size = _Draws(self.seed, self.probe, item_id), len(self.pool)
        last = 0
        for _ in range(_TRIES):
            last = draws.next() % size
            yield last, draws.next()
        for step in range(1, size + 1):
            yield (last + step) % size, draws.next()

    def _borrow(self, item_id: str, choices: Sequence[str], k: int) -> list[tuple[str, str]]:
        """Draw k choices of other items, each different from the item's own choices and from one another."""
        pool = self.pool
        taken = {_key(choice) for choice in choices}
        borrowed: list[tuple[str, str]] = []
        candidates = ((item, pool.choices[item], draw) for item, draw in self._candidates(item_id))
        drawn = ((item, texts[draw % len(texts)]) for item, texts, draw in candidates)
        every = (
            (item, text) for item in range(len(pool)) for text in pool.choices[item]
        )  # where the pool is small
        for item, text in itertools.chain(drawn, every):
            if _key(text) not in taken and pool.ids[item] != item_id:
                taken.add(_key(text))
                borrowed.append((text, pool.ids[item]))
                if len(borrowed) == k:
                    return borrowed
        raise ValueError(
            f"Expected {k} choices of other items to borrow for item {item_id!r}, but the pool of {len(pool)} items "
            f"has only {len(borrowed)} that differ."
        )


class _Draws:
    """A stream of 64-bit numbers that depends on its parts alone; much faster to create than a numpy generator."""

    def __init__(self, *parts: object) -> None:
        self._hash = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=64)
        self._words: list[int] = []

    def next(self) -> int:
        if not self._words:
            block = self._hash.digest()
            self._words = [int.from_bytes(block[i : i + 8], "little") for i in range(56, -1, -8)]
            self._hash.update(b"\x1f")
        return self._words.pop()


def _key(text: str) -> str:
    return text.strip().casefold()
