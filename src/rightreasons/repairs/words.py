"""Words that are no reasons for a label: find them in texts, exchange them, remove them, or put one in.

Every change keeps the rest of a text as it is. `SpuriousWords` is the entry point. The edits of training texts and the
verification of a repaired model both use it, so that they change the same words.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import numpy as np

from rightreasons.shortcuts.swapping.capitals import WrittenForms
from rightreasons.shortcuts.swapping.segments import (
    Segmenter,
    Text,
    Token,
    delete_token,
    get_kind,
    replace_tokens,
)

NO_LABEL = -1
"""Predicted label of an item without any of the words."""


@dataclasses.dataclass(frozen=True, eq=False)
class SpuriousWords:
    """Spurious words, which are no reasons for a label, each with the label that it predicts.

    Attributes:
        labels: Lower-case word -> label that it predicts in the training texts.
        n_classes: Number of labels.
        segmenter: Splits texts into tokens, among which the words are found.
        forms: How the words are written in the training texts, such as "AP" for "ap".

    Example:
        >>> words = SpuriousWords({"copper": 0, "marble": 1}, 2)
        >>> item = ("The Copper pot, by copper",)
        >>> words.exchange(item, goal=1), words.remove(item), words.predict_label(item)
        (('The Marble pot, by marble',), ('The pot, by',), 0)
    """

    labels: Mapping[str, int]
    n_classes: int
    segmenter: Segmenter = dataclasses.field(default_factory=Segmenter)
    forms: WrittenForms = dataclasses.field(default_factory=WrittenForms)

    @functools.cached_property
    def by_label(self) -> tuple[tuple[str, ...], ...]:
        """The words of each label, in the order in which they were named."""
        groups: list[tuple[str, ...]] = [()] * self.n_classes
        for word, label in self.labels.items():
            groups[label] += (word,)
        return tuple(groups)

    @property
    def goals(self) -> list[int]:
        """The labels that have a word."""
        sizes = [len(words) for words in self.by_label]
        return np.flatnonzero(sizes).tolist()

    @property
    def have_counterparts(self) -> bool:
        """Whether every label has a word, so that the words can be exchanged for each other."""
        # If a label has no word, the presence of any word still shows that the label is another one.
        return len(self.goals) == self.n_classes

    def find(self, item: Text) -> list[Token]:
        """Return the tokens of an item that are among the words."""
        tokens = self.segmenter.split(item)
        return [token for token in tokens if token.word in self.labels]

    def predict_label(self, item: Text) -> int:
        """Return the label that most spurious words of an item predict; -1 if it has none.

        Ties are broken by the smallest label.
        """
        counts = np.zeros(self.n_classes, dtype=np.int64)
        for token in self.find(item):
            counts[self.labels[token.word]] += 1
        if not counts.any():
            return NO_LABEL
        return int(counts.argmax())

    def exchange(self, item: Text, goal: int) -> Text:
        """Exchange the item's words of other labels for words of a given label.

        The n-th word of a label becomes the n-th word of the goal, counted from the first again if
        the goal has fewer words. So a word is always exchanged for the same word, in both texts of
        a pair.

        Args:
            item: One or two texts.
            goal: Label whose words the item gets.
        """
        goal_words = self.by_label[goal]
        replacements = []
        for token in self.find(item):
            label = self.labels[token.word]
            if label == goal or not goal_words:
                continue
            # The same word always has the same partner, so that the exchange is consistent.
            index = self.by_label[label].index(token.word)
            partner = goal_words[index % len(goal_words)]
            replacements.append((token, partner))
        return replace_tokens(item, replacements, self.forms)

    def remove(self, item: Text) -> Text:
        """Remove every spurious word of an item, with the space before it."""
        # In reverse order, because a removed word moves all later ones.
        for token in reversed(self.find(item)):
            item = delete_token(item, token)
        return item

    def insert(self, item: Text, label: int, rng: np.random.Generator) -> Text:
        """Insert a random word of a label before a random word of the first text.

        A text without words, such as "!!", is not changed.

        Args:
            item: A tuple of one text, or of two texts for a task of pairs.
            label: Label whose words are inserted.
            rng: Generator of the choices.
        """
        tokens = self.segmenter.split(item)
        starts = []
        for token in tokens:
            if token.column == 0 and get_kind(token.word) == "word":
                starts.append(token.start)
        if not starts:
            return item
        words = self.by_label[label]
        word = words[int(rng.integers(len(words)))]
        start = starts[int(rng.integers(len(starts)))]
        text = item[0]
        written_word = self.forms.get_inner_form(word)
        edited = f"{text[:start]}{written_word} {text[start:]}"
        return (edited, *item[1:])

    def swap(self, item: Text, rng: np.random.Generator) -> Text:
        """Change an item so that its spurious words no longer predict the same label.

        If every label has a word, the words of the item become those of a random other label.
        Otherwise, the absence of words may predict a label, too: words are removed from an item
        that has some, and a random word is inserted into an item without any.

        Args:
            item: One or two texts.
            rng: Generator of the choices.
        """
        label = self.predict_label(item)
        has_words = label != NO_LABEL
        if self.have_counterparts:
            if not has_words:
                return item
            # Any label other than the predicted one may be the goal.
            goals = self.goals
            goals.remove(label)
            goal = int(rng.choice(goals))
            return self.exchange(item, goal)
        if has_words:
            return self.remove(item)
        goal = int(rng.choice(self.goals))
        return self.insert(item, goal, rng)


def find_longer_forms(words: SpuriousWords, items: Sequence[Text]) -> dict[str, int]:
    """Return other words that begin with one of the words, such as "immigrants" for "immigrant".

    They may be forms of the word that should be edited, too, which a person has to decide.

    Args:
        words: Spurious words: they predict a label, but are no reasons for it.
        items: Texts to search.

    Returns:
        Word -> number of texts that have it, the most frequent first.
    """
    # A word of one or two letters begins words of any meaning.
    stems = []
    for word in words.labels:
        if len(word) > 2 and get_kind(word) == "word":
            stems.append(word)
    counts: dict[str, int] = {}
    for item in items:
        distinct_words = {token.word for token in words.segmenter.split(item)}
        for word in distinct_words:
            if word not in words.labels and word.startswith(tuple(stems)):
                counts[word] = counts.get(word, 0) + 1
    # Words of the same count are in alphabetical order.
    ordered = sorted(
        counts.items(), key=lambda word_and_count: (-word_and_count[1], word_and_count[0])
    )
    return dict(ordered)
