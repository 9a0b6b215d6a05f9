"""The four confusion probes: multiple-choice items perturbed so that a sound model changes its mind.

| probe | change | correct choice afterwards |
|---|---|---|
| no_question | removes the prompt | none; the old one is pseudo-correct |
| wrong_question | replaces the prompt with that of another item | none; the old one is pseudo-correct |
| no_right_answer | replaces the correct choice with a choice of another item | none |
| extra_choices | adds choices of other items | the old one, at a random position |

Choices are borrowed only from items with another prompt: a choice of an item with the same prompt
may answer it. If there are too few, the item is left out, and `perturb` says how many were.

Every draw depends on (seed, item id) and on the pool to borrow from, in the order of its ids. So
another order, a subset (with the whole set as its pool), or another number of workers gives the same
perturbed item.
"""

from __future__ import annotations

import contextlib
import hashlib
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import datasets

from rightreasons.core.validation import check_count, check_ids, check_one_of, check_seed
from rightreasons.datasets.files import make_multiple_choice_features

ORIGINAL = "original"

PROBES = ("no_question", "wrong_question", "no_right_answer", "extra_choices")
"""Names of the probes: the first three as in the data of Shen and Kejriwal, the fourth our own."""

AUTO = "auto"
"""`duplicates`: leave out the items with equal choices that the probe cannot use."""

DOUBLE = "double"
"""`k` of extra_choices: add as many choices as the item has."""

FEATURES = make_multiple_choice_features(
    source_id=datasets.Value("string"),
    probe=datasets.Value("string"),
    pseudo_label=datasets.Value("int64"),
    prompt_source=datasets.Value("string"),
    choice_sources=datasets.List(datasets.Value("string")),
    original_positions=datasets.List(datasets.Value("int64")),
)
"""Columns of a perturbed item.

`label` is -1 if no choice is correct. `pseudo_label` is the position of the choice that used to be
correct, -1 if it is gone or still correct. `prompt_source` and `choice_sources` are the ids of the
items that the prompt and each choice come from (`prompt_source` is empty without a prompt).
`original_positions` has the new position of each of the item's own choices, -1 for a replaced one.
"""

MIN_ITEMS_OF_BAR = 10_000
"""Minimum number of items whose perturbation shows a progress bar: about a thousand take a second."""

N_RANDOM_TRIES = 64
"""Number of random draws before the pool is searched in order."""

Row = dict[str, Any]


class Pool:
    """The items to borrow texts from, in the order of their ids.

    Args:
        items: A multiple-choice dataset, or its rows.

    Raises:
        ValueError: If it is empty or an id occurs twice.
    """

    def __init__(self, items: datasets.Dataset | Iterable[Mapping[str, Any]]) -> None:
        """Copy the ids, prompts and choices of the items, sorted by id."""
        if isinstance(items, datasets.Dataset):
            # Do not read further columns, such as images, which would take long.
            items = items.select_columns(["id", "prompt", "choices"])
        # Sort the items, so that draws do not depend on their order.
        rows = sorted(items, key=operator.itemgetter("id"))
        if not rows:
            raise ValueError(
                "Expected at least one item in the pool to borrow from, but it is empty."
            )
        check_ids(row["id"] for row in rows)
        self.ids: list[str] = []
        self.prompts: list[Any] = []
        self.choices: list[Any] = []
        self.prompt_keys: list[str] = []
        for row in rows:
            self.ids.append(str(row["id"]))
            self.prompts.append(row["prompt"])
            self.choices.append(row["choices"])
            # A prompt may be missing (None) in a user's file. Its key is "".
            self.prompt_keys.append(_fold(row["prompt"] or ""))

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
        k: For extra_choices, how many choices to add, or "double" (default) for as many as the item
            has.
        pool: The items to borrow from. None (default) for the dataset. If `dataset` is a part of a
            larger set, pass the larger set to perturb each item as in it.
        seed: Seed of the draws; default 0.
        duplicates: Treatment of an item that has the same choice twice: "drop" leaves it out, "error"
            raises an error, and "auto" (default) leaves it out unless the probe is no_question, and
            warns of the number of items that were left out.

    Returns:
        The perturbed items, with the columns of `FEATURES`. An item is also left out if other prompts
        do not have enough choices to borrow.

    Raises:
        ValueError: If an item has fewer than two choices, an empty prompt or a label outside its
            choices, or equal choices with `duplicates="error"`; if the pool is too small to borrow
            from; or if an option is invalid.

    References:
        Shen and Kejriwal (2022), "Understanding Prior Bias and Choice Paralysis in Transformer-based
        Language Representation Models through Four Experimental Probes", section 3.

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
    if not isinstance(pool, Pool):
        pool = Pool(dataset if pool is None else pool)
    perturber = Perturber(probe, k=k, pool=pool, seed=seed, duplicates=duplicates)
    # Draws depend on the id of an item, so that ids must be unique.
    check_ids(dataset["id"])
    with _hide_short_bar(len(dataset)):
        perturbed = dataset.map(
            perturber.batch,
            batched=True,
            features=FEATURES,
            remove_columns=dataset.column_names,
            desc=probe,
        )
    if duplicates == AUTO:
        _warn_of_excluded_items(dataset, perturbed, probe)
    return perturbed


@contextlib.contextmanager
def _hide_short_bar(n_items: int) -> Iterator[None]:
    """Hide the progress bars of `datasets` in the block if the work takes less than a few seconds.

    An audit perturbs its items several times, and its own progress would be lost among the bars.

    Args:
        n_items: Number of items of the work.
    """
    if n_items >= MIN_ITEMS_OF_BAR or datasets.are_progress_bars_disabled():
        yield
        return
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.enable_progress_bars()


def _warn_of_excluded_items(
    dataset: datasets.Dataset, perturbed: datasets.Dataset, probe: str
) -> None:
    """Warn of the items that a probe left out, with their number and the reason.

    Args:
        dataset: Original items.
        perturbed: Perturbed items, without those that were left out.
        probe: Name of the probe.
    """
    n_excluded = len(dataset) - len(perturbed)
    if n_excluded == 0:
        return
    # Items with equal choices are left out, unless the probe only removes the question.
    n_equal = 0
    if probe != "no_question":
        n_equal = sum(_has_equal_choices(choices) for choices in dataset["choices"])
    # All other items were left out because there were too few choices to borrow.
    n_without_choices = n_excluded - n_equal
    reasons = []
    if n_equal:
        reasons.append(
            f"Left out {n_equal:,} of {len(dataset):,} items because they have the same choice twice."
        )
    if n_without_choices > 0:
        reasons.append(
            f"Left out {n_without_choices:,} of {len(dataset):,} items because the pool has too "
            "few choices to borrow from items with another prompt."
        )
    # At stack level 3, the warning shows the line of the user that calls `perturb`.
    warnings.warn(" ".join(reasons), stacklevel=3)


class Perturber:
    """One probe with its options, which is applied to one item at a time.

    Args:
        probe: One of `PROBES`.
        k: Number of choices that extra_choices adds, or "double" for as many as the item has.
        pool: The items to borrow from.
        seed: Seed of the draws.
        duplicates: Treatment of items with equal choices: "auto", "drop" or "error", as in `perturb`.
    """

    def __init__(
        self,
        probe: str,
        *,
        k: int | str = DOUBLE,
        pool: Pool,
        seed: int = 0,
        duplicates: str = AUTO,
    ) -> None:
        """Check the options, which are described in the docstring of the class.

        Raises:
            ValueError: If an option is unknown or out of its range.
        """
        self.probe = check_one_of(probe, PROBES, "probe")
        self.k = k
        if k != DOUBLE:
            self.k = check_count(k, "k")
        self.pool = pool
        self.seed = check_seed(seed)
        self.duplicates = check_one_of(duplicates, (AUTO, "drop", "error"), "duplicates")

    def batch(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Perturb a batch of items, for `datasets.Dataset.map`.

        Args:
            batch: Column -> values of b items, with the columns id, prompt, choices and label.

        Returns:
            Column of `FEATURES` -> values of the perturbed items, of which there may be fewer than b.
        """
        perturbed: list[Row] = []
        items = zip(batch["id"], batch["prompt"], batch["choices"], batch["label"], strict=True)
        for item_id, prompt, choices, label in items:
            perturbed.extend(self.rows(item_id, prompt, choices, label))
        # `map` needs all columns, even if all items of the batch were left out.
        columns = {}
        for name in FEATURES:
            columns[name] = [row[name] for row in perturbed]
        return columns

    def rows(self, item_id: str, prompt: str, choices: Sequence[str], label: int) -> Iterator[Row]:
        """Perturb one item. Yield one row, or no row if the item is left out.

        Args:
            item_id: Id of the item.
            prompt: Prompt.
            choices: Choices.
            label: Position of the correct choice; -1 if it is unknown, which no_question and
                wrong_question accept.

        Yields:
            Column of `FEATURES` -> value.

        Raises:
            ValueError: If the item is malformed, or the pool is too small.
        """
        if choices is None or any(choice is None for choice in choices):
            raise ValueError(
                f"Expected texts as the choices of item {item_id!r}, but one is missing."
            )
        if _has_equal_choices(choices):
            if self.duplicates == "error":
                raise ValueError(
                    f"Expected the choices of item {item_id!r} to differ, "
                    f"but they are {list(choices)}."
                )
            # With "auto", the probe that only removes the question keeps such an item.
            if self.duplicates == "drop" or self.probe != "no_question":
                return
        self._check_item(item_id, prompt, choices, label)
        perturb_by_probe: dict[str, Callable[[str, str, list[str], int], Row | None]] = {
            "no_question": self._no_question,
            "wrong_question": self._wrong_question,
            "no_right_answer": self._no_right_answer,
            "extra_choices": self._extra_choices,
        }
        row = perturb_by_probe[self.probe](str(item_id), prompt, list(choices), label)
        if row is not None:
            yield row

    def _check_item(self, item_id: str, prompt: str, choices: Sequence[str], label: int) -> None:
        """Check that an item has two choices or more, a prompt, and a label if the probe needs one.

        Args:
            item_id: Id of the item, for error messages.
            prompt: Prompt.
            choices: Choices.
            label: Position of the correct choice; -1 if it is not public, as in a test split.

        Raises:
            ValueError: If a part is missing or invalid.
        """
        if len(choices) < 2:
            raise ValueError(
                f"Expected at least two choices in item {item_id!r}, but it has {len(choices)}."
            )
        if not prompt or not prompt.strip():
            raise ValueError(f"Expected a prompt in item {item_id!r}, but it is empty.")
        # The first two probes do not use the label.
        min_label = -1 if self.probe in ("no_question", "wrong_question") else 0
        if label is None or not min_label <= label < len(choices):
            raise ValueError(
                f"Expected the label of item {item_id!r} to be a choice "
                f"(0 to {len(choices) - 1}), but it is {label}."
            )

    # ------------------------------------------------------------------------------ the probes

    def _no_question(self, item_id: str, prompt: str, choices: list[str], label: int) -> Row:
        return self._make_row(item_id, "", choices, prompt_source="", pseudo_label=label)

    def _wrong_question(self, item_id: str, prompt: str, choices: list[str], label: int) -> Row:
        """Return an item with the prompt of another item.

        Args:
            item_id: Id of the item.
            prompt: Prompt of the item, which is replaced.
            choices: Choices of the item.
            label: Position of the correct choice; -1 if it is unknown.

        Raises:
            ValueError: If no item of the pool has another prompt.
        """
        pool = self.pool
        prompt_key = _fold(prompt)
        for index, _ in self._draw_candidates(item_id):
            # Prompts that differ only in letter case have the same key. The key of a missing prompt is "".
            candidate_key = pool.prompt_keys[index]
            is_other_question = candidate_key not in (prompt_key, "")
            if pool.ids[index] != item_id and is_other_question:
                return self._make_row(
                    item_id,
                    pool.prompts[index],
                    choices,
                    prompt_source=pool.ids[index],
                    pseudo_label=label,
                )
        raise ValueError(
            f"Expected another prompt to borrow for item {item_id!r}, but no item of the pool of "
            f"{len(pool)} has a different prompt."
        )

    def _no_right_answer(
        self, item_id: str, prompt: str, choices: list[str], label: int
    ) -> Row | None:
        """Return an item whose correct choice is replaced by a choice of another item.

        Args:
            item_id: Id of the item.
            prompt: Prompt of the item.
            choices: Choices of the item.
            label: Position of the correct choice, which is replaced.

        Returns:
            The item; None if only items with the same prompt have further choices.
        """
        borrowed_choices = self._borrow_choices(item_id, prompt, choices, 1)
        if borrowed_choices is None:
            return None
        ((text, source),) = borrowed_choices
        new_choices = list(choices)
        new_choices[label] = text
        sources = [item_id] * len(choices)
        sources[label] = source
        # -1 means that the original choice was replaced.
        positions = list(range(len(choices)))
        positions[label] = -1
        return self._make_row(
            item_id, prompt, new_choices, choice_sources=sources, original_positions=positions
        )

    def _extra_choices(
        self, item_id: str, prompt: str, choices: list[str], label: int
    ) -> Row | None:
        """Return an item with k choices of other items, and the correct choice at a random position.

        The incorrect choices keep their order, and the borrowed choices follow.

        Args:
            item_id: Id of the item.
            prompt: Prompt of the item.
            choices: Choices of the item.
            label: Position of the correct choice.

        Returns:
            The item; None if items with other prompts have too few choices.
        """
        k = len(choices) if self.k == DOUBLE else int(self.k)
        borrowed_choices = self._borrow_choices(item_id, prompt, choices, k)
        if borrowed_choices is None:
            return None
        # A separate stream of numbers, so that the position does not depend on the number of draws for
        # borrowing.
        position_draws = _Draws(self.seed, "extra_choices", item_id, "place")
        new_label = position_draws.next() % (len(choices) + k)

        # Insert the correct choice among the incorrect and the borrowed ones.
        incorrect_choices = [choice for index, choice in enumerate(choices) if index != label]
        texts = list(incorrect_choices)
        sources = [item_id] * len(incorrect_choices)
        for text, source in borrowed_choices:
            texts.append(text)
            sources.append(source)
        texts.insert(new_label, choices[label])
        sources.insert(new_label, item_id)

        # New position of each original choice. The incorrect choices fill the positions 0, 1, … in their
        # order, except that of the correct choice.
        free_positions = (index for index in range(len(texts)) if index != new_label)
        positions = []
        for index in range(len(choices)):
            if index == label:
                positions.append(new_label)
            else:
                positions.append(next(free_positions))
        return self._make_row(
            item_id,
            prompt,
            texts,
            label=new_label,
            choice_sources=sources,
            original_positions=positions,
        )

    # --------------------------------------------------------------------------------- private

    def _make_row(self, item_id: str, prompt: str, choices: list[str], **columns: Any) -> Row:
        """Make a perturbed item with the columns of `FEATURES`.

        Args:
            item_id: Id of the original item.
            prompt: Prompt of the perturbed item.
            choices: Choices of the perturbed item.
            **columns: Columns that differ from their defaults. By default, no choice is correct, and the
                prompt and all choices are those of the original item.
        """
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

    def _draw_candidates(self, item_id: str) -> Iterator[tuple[int, int]]:
        """Yield items of the pool to borrow from: first some at random, then all in order.

        Args:
            item_id: Id of the item that borrows. With the seed and the probe, it determines the draws.

        Yields:
            Index of an item in the pool, and a random number by which the caller selects one of its choices.
        """
        draws = _Draws(self.seed, self.probe, item_id)
        size = len(self.pool)
        index = 0
        for _ in range(N_RANDOM_TRIES):
            index = draws.next() % size
            yield index, draws.next()
        # A small pool may not have been drawn completely. Continue with every item after the last one.
        for step in range(1, size + 1):
            yield (index + step) % size, draws.next()

    def _draw_choices(self, item_id: str) -> Iterator[tuple[int, str]]:
        """Yield choices of the pool to borrow: first some at random, then all in order.

        Args:
            item_id: Id of the item that borrows, which determines the draws.

        Yields:
            Index of an item in the pool, and one of its choices.
        """
        pool = self.pool
        for index, number in self._draw_candidates(item_id):
            texts = pool.choices[index]
            yield index, texts[number % len(texts)]
        # In a small pool, one choice per item may not suffice.
        for index, texts in enumerate(pool.choices):
            for text in texts:
                yield index, text

    def _borrow_choices(
        self, item_id: str, prompt: str, choices: Sequence[str], k: int
    ) -> list[tuple[str, str]] | None:
        """Draw k choices of other items, different from the item's own and from one another.

        Args:
            item_id: Id of the item that borrows.
            prompt: Prompt of this item. A choice of an item with the same prompt is not borrowed, because it
                may be a correct answer.
            choices: Choices of this item.
            k: Number of choices to borrow.

        Returns:
            k pairs (choice, id of its item). None if the pool has enough choices, but too few of items with
            other prompts.

        Raises:
            ValueError: If the pool has too few choices, including those of items with the same prompt.
        """
        pool = self.pool
        prompt_key = _fold(prompt)
        # Choices that differ only in letter case or outer spaces have the same key.
        used_keys = {_fold(choice) for choice in choices}
        same_prompt_keys = set()
        borrowed: list[tuple[str, str]] = []
        for index, text in self._draw_choices(item_id):
            key = _fold(text)
            if key in used_keys or pool.ids[index] == item_id:
                continue
            if pool.prompt_keys[index] == prompt_key:
                same_prompt_keys.add(key)
                continue
            used_keys.add(key)
            borrowed.append((text, pool.ids[index]))
            if len(borrowed) == k:
                return borrowed

        # The pool is exhausted. Only if it is too small as a whole, the user should pass a larger one.
        n_unusable = len(same_prompt_keys - used_keys)
        if len(borrowed) + n_unusable >= k:
            return None
        raise ValueError(
            f"Expected {k} choices of other items to borrow for item {item_id!r}, but the pool of "
            f"{len(pool)} items has only {len(borrowed)} that differ."
        )


class _Draws:
    """A stream of random 64-bit numbers, which is determined by a key of several parts.

    Each item needs its own stream. This one is much faster to create than a generator of numpy.
    """

    def __init__(self, *parts: object) -> None:
        self._hash = hashlib.blake2b("\x1f".join(map(str, parts)).encode(), digest_size=64)
        self._numbers: list[int] = []

    def next(self) -> int:
        """Return the next number of the stream, from 0 to 2^64 - 1."""
        if not self._numbers:
            # A digest of 64 bytes gives eight numbers of 8 bytes. They are stored in reverse, so that `pop`
            # returns the first one first.
            digest = self._hash.digest()
            for start in (56, 48, 40, 32, 24, 16, 8, 0):
                number_bytes = digest[start : start + 8]
                self._numbers.append(int.from_bytes(number_bytes, "little"))
            # One more byte of input changes the digest, for the next eight numbers.
            self._hash.update(b"\x1f")
        return self._numbers.pop()


def _has_equal_choices(choices: Sequence[str]) -> bool:
    """Return whether two choices are equal, apart from letter case and outer spaces."""
    return len({_fold(choice) for choice in choices}) < len(choices)


def _fold(text: str) -> str:
    return text.strip().casefold()
