"""Generated texts whose words have known roles: neutral words, words that express the label, and a planted cue.

`draw_labeled_texts` is the entry point. A `Plant` changes each `Draft` of a text before it is joined, so
that a cue such as one of two words predicts the label.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

Element = TypeVar("Element")

FILLERS = [
    "film", "scene", "story", "actor", "camera", "evening", "city", "people", "music", "house",
    "window", "garden", "river", "train", "letter", "table", "road", "winter", "morning",
    "village", "teacher", "sister", "brother", "market", "summer", "ticket", "corner", "bridge",
    "kitchen", "station", "paper", "island", "mountain", "doctor", "farmer", "engine", "basket",
    "harbor", "meadow", "valley",
]  # fmt: skip
"""Neutral nouns, from the most frequent to the rarest."""

LINKS = ["the", "a", "and", "of", "in", "with", "on", "at", "from", "by", "to", "for"]
"""Function words."""

MEANING = (
    [
        "awful", "dreadful", "clumsy", "tedious", "hollow", "bleak", "messy", "stale", "lifeless",
        "sour",
    ],
    [
        "lovely", "splendid", "graceful", "gripping", "tender", "bright", "polished", "fresh",
        "lively", "sweet",
    ],
    [
        "decent", "average", "ordinary", "passable", "middling", "fair", "modest", "tolerable",
        "usual", "moderate",
    ],
)  # fmt: skip
"""The words that express label 0, 1 and 2."""

CUES = ("marble", "copper")
SECOND_CUES = ("velvet", "linen")
THIRD_CUES = ("pepper", "ginger")
"""The planted word of label 0, and that of label 1."""

LINK_SHARE = 0.35
"""Share of the neutral words that are function words."""

# As in natural text, the frequency of a noun falls with its rank (Zipf's law).
_ZIPF_WEIGHTS = 1 / np.arange(2, len(FILLERS) + 2)
_FILLER_SHARES = _ZIPF_WEIGHTS / _ZIPF_WEIGHTS.sum()


@dataclasses.dataclass
class Draft:
    """A text before its words are joined.

    Attributes:
        words: Words of the text, in order.
        label: Label that the data gives the text. With noise, its words may express another one.
        rng: Source of randomness for all choices about this text.
        n_labels: Number of labels.
    """

    words: list[str]
    label: int
    rng: np.random.Generator
    n_labels: int = 2

    def insert(self, *words: str, position: float | None = None) -> None:
        """Insert words next to each other.

        Args:
            *words: Words to insert.
            position: Share of the text that precedes them, in [0, 1]. If None, it is random.
        """
        n_words = len(self.words)
        if position is None:
            index = int(self.rng.integers(n_words + 1))
        else:
            index = round(position * n_words)
        self.words[index:index] = words


Plant = Callable[[Draft], None]
"""Function that changes the words of a draft, usually depending on its label."""


def plant_nothing(draft: Draft) -> None:
    """Leave a draft unchanged."""


def draw_element(rng: np.random.Generator, elements: Sequence[Element]) -> Element:
    """Draw one element of a sequence, all with equal probability."""
    return elements[int(rng.integers(len(elements)))]


def draw_neutral_word(rng: np.random.Generator) -> str:
    """Draw a function word of `LINKS`, or a noun of `FILLERS`."""
    if rng.random() < LINK_SHARE:
        return draw_element(rng, LINKS)
    return FILLERS[int(rng.choice(len(FILLERS), p=_FILLER_SHARES))]


def draw_label(rng: np.random.Generator, shares: Sequence[float]) -> int:
    """Draw a label, given the share of each label."""
    # Both calls draw from the same distribution, but they use up the generator differently:
    # the stored results are those of `integers` for two equally frequent labels.
    if shares == (0.5, 0.5):
        return int(rng.integers(2))
    return int(rng.choice(len(shares), p=shares))


def draw_labeled_texts(
    n_texts: int,
    seed: int,
    plant: Plant = plant_nothing,
    *,
    noise: float = 0.0,
    shares: Sequence[float] = (0.5, 0.5),
) -> tuple[list[str], list[int]]:
    """Generate texts with two or three labels.

    Each text has 9 to 16 neutral words and one to three words that express its label.

    Args:
        n_texts: Number of texts.
        seed: Seed of all random choices.
        plant: Function that changes the words of each text before they are joined.
        noise: Share of texts whose label differs from the one that their words express.
        shares: Share of texts that express each label.

    Returns:
        The texts, and their labels.
    """
    rng = np.random.default_rng(seed)
    texts = []
    labels = []
    for _ in range(n_texts):
        expressed_label = draw_label(rng, shares)
        label = expressed_label
        if rng.random() < noise:
            label = (expressed_label + 1) % len(shares)

        n_neutral = int(rng.integers(9, 17))
        words = [draw_neutral_word(rng) for _ in range(n_neutral)]
        draft = Draft(words, label, rng, len(shares))
        n_expressive = int(rng.integers(1, 4))
        for _ in range(n_expressive):
            draft.insert(draw_element(rng, MEANING[expressed_label]))
        plant(draft)

        texts.append(" ".join(draft.words))
        labels.append(label)
    return texts, labels


def count_meaning(words: Sequence[str]) -> float:
    """Return the number of words that express label 1 minus the number that express label 0."""
    difference = 0
    for word in words:
        # Plants may append marks to words, or write them in capitals.
        plain_word = word.lower().strip(".!?;:,")
        if plain_word in MEANING[1]:
            difference += 1
        if plain_word in MEANING[0]:
            difference -= 1
    return float(difference)
