"""Edit labeled training texts so that words that are no reasons tell nothing about the label.

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
"""The edit of a text that stays as it is."""


@dataclasses.dataclass(frozen=True, eq=False)
class EditedItems:
    """Training texts after the edit.

    Attributes:
        items: M texts, in the order of their sources.
        sources: (M,) row of the text that each was made of.
        edits: M names of what was done to each: "unchanged", "swapped", "removed", "inserted" or "normalized".
        method: How the texts were edited, a member of `METHODS`.
        weights: (M,) weight of each text, of mean 1; all 1 but for the method "weights".
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
    """Edit training texts so that the words tell nothing about the label.

    Args:
        items: N training texts, or pairs of texts.
        labels: (N,) label of each.
        words: Words that are no reasons.
        method: "swap": a text with a word appears with the words of several labels, under its own label. "in_place":
            it appears once, with the words of a label that is drawn at random. "remove": without the words. "insert":
            words that only some labels have are put into texts of the others, as often. "normalize": marks among the
            words are removed and letters become lower-case, so that a spelling tells nothing and the words stay.
            "weights": texts are only weighted. None for `choose_method`.
        growth: By how much the set may grow, relative to its texts with a word; 1.0 (default) for twice as many. With
            "swap", a text appears with as many labels' words as this allows.
        seed: Seed of what is drawn.

    Returns:
        The edited texts.

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
    # "in_place" writes one version, and "swap" as many as the set may grow by.
    n_versions = 1
    if method == "swap":
        n_versions = min(len(words.goals), 1 + int(growth))
    editor = _Editor(labels, words, method, seed, insertion_rates, n_versions)
    edited: list[Text] = []
    sources: list[int] = []
    edit_names: list[str] = []
    for row, item in enumerate(items):
        for name, text in editor.write_versions(row, item):
            # If a text consists of the words only, nothing is left that a model could read.
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
    """Raise an OptionError if a method cannot be applied.

    Args:
        method: How the texts are edited.
        words: Words that are no reasons. For "swap" and "in_place", every label needs one.
        growth: By how much the set may grow, at least 0.
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
        words: Words that are no reasons.
        method: Any method of `METHODS` but "weights".
        seed: Seed of what is drawn.
        insertion_rates: For "insert", the chance of each label with which a text without a word gets
            one; () for other methods.
        n_versions: Number of versions of a text with a word.
    """

    labels: Labels
    words: SpuriousWords
    method: str
    seed: int
    insertion_rates: Sequence[float] = ()
    n_versions: int = 1

    def write_versions(self, row: int, item: Text) -> list[tuple[str, Text]]:
        """Return (name of the edit, edited text) of each version of a text, given its row."""
        if self.method == "remove":
            return [("removed", self.words.remove(item))]
        if self.method == "normalize":
            return [("normalized", _normalize(item, self.words))]
        has_word = self.words.predict_label(item) != NO_LABEL
        if self.method == "insert":
            # A text that has a word already gets no other one.
            return [(UNCHANGED, item)] if has_word else self._insert(row, item)
        return self._swap(row, item) if has_word else [(UNCHANGED, item)]

    def _insert(self, row: int, item: Text) -> list[tuple[str, Text]]:
        """Insert a word of a random label into a text, with the chance of the text's own label."""
        rng = item_rng(self.seed, f"insert {row}")
        if rng.random() >= self.insertion_rates[int(self.labels[row])]:
            return [(UNCHANGED, item)]
        goal = int(rng.choice(self.words.goals))
        return [("inserted", self.words.insert(item, goal, rng))]

    def _swap(self, row: int, item: Text) -> list[tuple[str, Text]]:
        """Write versions of a text, each with the words of another label.

        These labels are drawn without regard to the text's own. So the words of every label are in
        texts of all labels equally often, however few versions there are.
        """
        rng = item_rng(self.seed, f"swap {row}")
        goals = np.sort(rng.permutation(self.words.goals)[: self.n_versions])
        return [("swapped", self.words.exchange(item, goal)) for goal in goals.tolist()]


def _measure_rates(items: Sequence[Text], labels: Labels, words: SpuriousWords) -> list[float]:
    """Return, for each label, the chance with which a text without a word gets one.

    Afterwards, all labels have a word in about the same share of their texts: the largest share that
    a label has now.

    Args:
        items: N texts.
        labels: (N,) labels of the texts.
        words: Words that are no reasons.
    """
    has_word = np.array([words.predict_label(item) != NO_LABEL for item in items])
    # A label without texts must not divide by zero.
    n_texts = np.maximum(np.bincount(labels, minlength=words.n_classes), 1)
    n_with_word = np.bincount(labels[has_word], minlength=words.n_classes)
    shares = n_with_word / n_texts
    # A share s becomes the largest share m if a text without a word gets one with the chance
    # (m - s) / (1 - s).
    remaining_shares = np.maximum(1 - shares, 1e-9)
    rates: list[float] = ((shares.max() - shares) / remaining_shares).tolist()
    return rates


def _normalize(item: Text, words: SpuriousWords) -> Text:
    """Remove the marks that are among the words, and write in lower case."""
    # From the last to the first, so that the places of those that are left stay right.
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
        words: Words that are no reasons.

    Returns:
        (N,) weights of mean 1, as far as no cell is empty.
    """
    predicted = np.array([words.predict_label(item) for item in items])
    weights = np.ones(len(items))
    # Texts without a word are a cell as well.
    for cue in np.unique(predicted).tolist():
        for label in range(words.n_classes):
            is_cell = (predicted == cue) & (labels == label)
            if is_cell.any():
                expected_share = (predicted == cue).mean() * (labels == label).mean()
                weights[is_cell] = expected_share / is_cell.mean()
    return weights
