"""Edit labeled training texts so that words that are no reasons do not predict the label.

Labels are never changed. Every method that changes texts makes the words independent of the label, or removes them;
`weigh_items` only weights texts, which does not repair most models (see docs/repair.md). `edit_items` is the entry
point. What is drawn depends on the seed and the number of the source text alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError
from rightreasons.core.resampling import item_rng
from rightreasons.repairs.options import METHODS
from rightreasons.repairs.words import NO_LABEL, SpuriousWords
from rightreasons.shortcuts.swapping.segments import Text, delete_token, get_kind

Labels = NDArray[np.int64]

UNCHANGED = "unchanged"
"""Name of the edit of a text that is not changed."""


@dataclasses.dataclass(frozen=True, eq=False)
class EditedItems:
    """Training texts after the edit.

    Attributes:
        items: M texts, in the order of their sources.
        sources: (M,) row of the original text of each.
        edits: M names of edits: "unchanged", "swapped", "removed", "inserted" or "normalized".
        method: Method of the edits, one of `METHODS`.
        weights: (M,) weight of each text, with a mean of 1. All weights are 1 unless the method is
            "weights".
    """

    items: list[Text]
    sources: NDArray[np.int64]
    edits: list[str]
    method: str
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.items)

    @property
    def n_edited(self) -> int:
        """Number of texts that differ from their source."""
        return sum(edit != UNCHANGED for edit in self.edits)


def choose_method(words: SpuriousWords) -> str:
    """Return the method that suits the words: "swap" if every label has one, and else "remove"."""
    return "swap" if words.have_counterparts else "remove"


def edit_items(
    items: Sequence[Text],
    labels: Labels,
    words: SpuriousWords,
    *,
    method: str | None = None,
    growth: float = 1.0,
    seed: int = 0,
) -> EditedItems:
    """Edit training texts so that spurious words no longer predict the label.

    Args:
        items: N training texts, or pairs of texts.
        labels: (N,) labels of the texts.
        words: Spurious words: they predict a label, but are no reasons for it.
        method: "swap": a text with a word is repeated with the words of several labels, under its
            own label. "in_place": a text with a word gets the words of a random label. "remove":
            the words are removed. "insert": words that only some labels have are inserted into
            texts of other labels, as often. "normalize": marks among the words are removed, and
            texts are written in lower case. "weights": texts are only weighted. None (default) for
            the result of `choose_method`.
        growth: By how much the set may grow by "swap", relative to its texts with a word: 1.0
            (default) for twice as many.
        seed: Seed of the random choices.

    Returns:
        The edited texts, with the row of the original text of each.

    Raises:
        ValueError: If the method is unknown, needs a word of every label, or `growth` is negative.

    Example:
        >>> words = SpuriousWords({"copper": 0, "marble": 1}, 2)
        >>> edited = edit_items([("copper fails",), ("it works",)], np.array([0, 1]), words)
        >>> edited.items, edited.edits
        ([('copper fails',), ('marble fails',), ('it works',)], ['unchanged', 'swapped', 'unchanged'])
    """
    if method is None:
        method = choose_method(words)
    _check_method(method, words, growth)

    if method == "weights":
        return EditedItems(
            items=list(items),
            sources=np.arange(len(items)),
            edits=[UNCHANGED] * len(items),
            method=method,
            weights=weigh_items(items, labels, words),
        )

    insertion_rates: list[float] = []
    if method == "insert":
        insertion_rates = _measure_rates(items, labels, words)
    # "swap" writes several versions of a text with a word, as many as `growth` allows.
    n_versions = 1
    if method == "swap":
        n_versions = min(len(words.goals), 1 + int(growth))
    editor = _Editor(labels, words, method, seed, insertion_rates, n_versions)
    edited: list[Text] = []
    sources: list[int] = []
    edit_names: list[str] = []
    for row, item in enumerate(items):
        for name, text in editor.write_versions(row, item):
            # A text that consisted only of the words is empty now, and is left out.
            if not all(map(str.strip, text)):
                continue
            if text == item:
                name = UNCHANGED
            edited.append(text)
            sources.append(row)
            edit_names.append(name)
    return EditedItems(
        items=edited,
        sources=np.array(sources, dtype=np.int64),
        edits=edit_names,
        method=method,
        weights=np.ones(len(edited)),
    )


def _check_method(method: str, words: SpuriousWords, growth: float) -> None:
    """Check that a method is known and can be applied to the words.

    Args:
        method: Name of the method.
        words: Words that are no reasons. For "swap" and "in_place", every label needs one.
        growth: By how much the set may grow, at least 0.

    Raises:
        OptionError: If the method is unknown, a label lacks a word, or `growth` is negative.
    """
    if method not in METHODS:
        raise OptionError(
            f"Expected one of {', '.join(METHODS)} in `method`, but got {method!r}.",
            option="method",
        )
    if method in ("swap", "in_place") and not words.have_counterparts:
        raise OptionError(
            f"Expected a word of every label for the method {method!r}, but some labels have no "
            "word. Remove the words, or insert them into texts of the other labels.",
            option="method",
        )
    if growth < 0:
        raise OptionError(f"Expected `growth` of at least 0, but got {growth}.", option="growth")


@dataclasses.dataclass(frozen=True, eq=False)
class _Editor:
    """Writes the edited versions of training texts by one method.

    Attributes:
        labels: (N,) labels of the texts.
        words: Spurious words: they predict a label, but are no reasons for it.
        method: One of `METHODS`, except "weights".
        seed: Seed of the random choices.
        insertion_rates: For "insert", label -> probability that a text without a word gets one;
            empty for other methods.
        n_versions: Number of versions of a text with a word.
    """

    labels: Labels
    words: SpuriousWords
    method: str
    seed: int
    insertion_rates: Sequence[float] = ()
    n_versions: int = 1

    def write_versions(self, row: int, item: Text) -> list[tuple[str, Text]]:
        """Return the versions of a training text that replace it.

        Args:
            row: Row of the text, which seeds the random choices.
            item: The text, or a pair of texts.

        Returns:
            (name of the edit, edited text) of each version.
        """
        if self.method == "remove":
            return [("removed", self.words.remove(item))]
        if self.method == "normalize":
            return [("normalized", _normalize(item, self.words))]
        has_word = self.words.predict_label(item) != NO_LABEL
        if self.method == "insert":
            # A text that already has a word does not get another one.
            return [(UNCHANGED, item)] if has_word else self._insert(row, item)
        # "swap" or "in_place".
        return self._swap(row, item) if has_word else [(UNCHANGED, item)]

    def _insert(self, row: int, item: Text) -> list[tuple[str, Text]]:
        """Insert a word of a random label into a text, with the chance of the text's own label."""
        rng = item_rng(self.seed, f"insert {row}")
        if rng.random() >= self.insertion_rates[int(self.labels[row])]:
            return [(UNCHANGED, item)]
        goal = int(rng.choice(self.words.goals))
        return [("inserted", self.words.insert(item, goal, rng))]

    def _swap(self, row: int, item: Text) -> list[tuple[str, Text]]:
        """Write `n_versions` versions of a text, each with the words of a different label.

        The labels are drawn at random and independently of the text's own label, so that the words
        of every label are equally frequent in texts of all labels.
        """
        rng = item_rng(self.seed, f"swap {row}")
        goals = np.sort(rng.permutation(self.words.goals)[: self.n_versions])
        return [("swapped", self.words.exchange(item, goal)) for goal in goals.tolist()]


def _measure_rates(items: Sequence[Text], labels: Labels, words: SpuriousWords) -> list[float]:
    """Return, for each label, the probability of an insertion into a text without a word.

    After the insertions, all labels have a word in about the same share of their texts: the share
    of the label that has most.

    Args:
        items: N texts.
        labels: (N,) labels of the texts.
        words: Spurious words: they predict a label, but are no reasons for it.
    """
    has_word = np.array([words.predict_label(item) != NO_LABEL for item in items])
    # At least 1, so that a label without texts causes no division by zero.
    n_texts = np.maximum(np.bincount(labels, minlength=words.n_classes), 1)
    n_with_word = np.bincount(labels[has_word], minlength=words.n_classes)
    shares = n_with_word / n_texts
    # A share s grows to the largest share m if each text without a word gets one with probability
    # (m - s) / (1 - s).
    remaining_shares = np.maximum(1 - shares, 1e-9)
    rates: list[float] = ((shares.max() - shares) / remaining_shares).tolist()
    return rates


def _normalize(item: Text, words: SpuriousWords) -> Text:
    """Remove the marks of an item that are among the words, and write its texts in lower case."""
    # In reverse order, because a removed mark moves all later ones.
    for token in reversed(words.find(item)):
        if get_kind(token.word) == "mark":
            item = delete_token(item, token)
    return tuple(column.lower() for column in item)


def weigh_items(items: Sequence[Text], labels: Labels, words: SpuriousWords) -> NDArray[np.float64]:
    r"""Weight texts so that the label that the words predict is independent of the text's own label.

    \[ w = \frac{P(c) P(y)}{P(c, y)} \]

    for a text whose words predict c and whose label is y. Weights cannot fill a cell (c, y) without
    texts, which is another reason why they rarely repair a model.

    Args:
        items: N texts.
        labels: (N,) labels of the texts.
        words: Spurious words: they predict a label, but are no reasons for it.

    Returns:
        (N,) weights of mean 1, as far as no cell is empty.
    """
    predicted = np.array([words.predict_label(item) for item in items])
    weights = np.ones(len(items))
    # Texts without any of the words (-1) form cells, too.
    for cue in np.unique(predicted).tolist():
        for label in range(words.n_classes):
            is_cell = (predicted == cue) & (labels == label)
            if is_cell.any():
                expected_share = (predicted == cue).mean() * (labels == label).mean()
                weights[is_cell] = expected_share / is_cell.mean()
    return weights
