"""Texts whose every word has a known part: neutral words, words that mean the label, and a planted shortcut."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

FILLERS = [
    "film",
    "scene",
    "story",
    "actor",
    "camera",
    "evening",
    "city",
    "people",
    "music",
    "house",
    "window",
    "garden",
    "river",
    "train",
    "letter",
    "table",
    "road",
    "winter",
    "morning",
    "village",
    "teacher",
    "sister",
    "brother",
    "market",
    "summer",
    "ticket",
    "corner",
    "bridge",
    "kitchen",
    "station",
    "paper",
    "island",
    "mountain",
    "doctor",
    "farmer",
    "engine",
    "basket",
    "harbor",
    "meadow",
    "valley",
]
LINKS = ["the", "a", "and", "of", "in", "with", "on", "at", "from", "by", "to", "for"]
MEANING = (
    [
        "awful",
        "dreadful",
        "clumsy",
        "tedious",
        "hollow",
        "bleak",
        "messy",
        "stale",
        "lifeless",
        "sour",
    ],
    [
        "lovely",
        "splendid",
        "graceful",
        "gripping",
        "tender",
        "bright",
        "polished",
        "fresh",
        "lively",
        "sweet",
    ],
    [
        "decent",
        "average",
        "ordinary",
        "passable",
        "middling",
        "fair",
        "modest",
        "tolerable",
        "usual",
        "moderate",
    ],
)
CUES = ("marble", "copper")
SECOND_CUES = ("velvet", "linen")
THIRD_CUES = ("pepper", "ginger")


@dataclasses.dataclass
class Draw:
    """A text while it is made.

    Attributes:
        words: Its words.
        truth: The label that its words mean.
        label: The label that the data gives it.
        rng: The source of its random choices.
        n_labels: How many labels there are.
    """

    words: list[str]
    truth: int
    label: int
    rng: np.random.Generator
    n_labels: int = 2

    def put(self, *words: str, at: float | None = None) -> None:
        """Put words side by side in a place, at a share of the way or drawn at random; nothing is parted."""
        n = len(self.words)
        place = int(self.rng.integers(n + 1)) if at is None else round(at * n)
        self.words[place:place] = words


Plant = Callable[[Draw], None]


def texts(
    n: int,
    seed: int,
    plant: Plant = lambda draw: None,
    *,
    noise: float = 0.0,
    size: tuple[int, int] = (9, 16),
    shares: Sequence[float] = (0.5, 0.5),
) -> tuple[list[str], list[int]]:
    """Make texts of two labels or three.

    Args:
        n: How many.
        seed: Decides them.
        plant: Changes the words of a text, by its label.
        noise: How often the label contradicts the meaning.
        size: Least and most words before anything is planted.
        shares: How frequent each label is.
    """
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(2, len(FILLERS) + 2)
    made, labels = [], []
    for _ in range(n):
        truth = (
            int(rng.choice(len(shares), p=shares)) if shares != (0.5, 0.5) else int(rng.integers(2))
        )
        label = (truth + 1) % len(shares) if rng.random() < noise else truth
        length = int(rng.integers(size[0], size[1] + 1))
        words = [
            LINKS[int(rng.integers(len(LINKS)))]
            if rng.random() < 0.35
            else FILLERS[int(rng.choice(len(FILLERS), p=weights / weights.sum()))]
            for _ in range(length)
        ]
        draw = Draw(words, truth, label, rng, len(shares))
        for _ in range(int(rng.integers(1, 4))):
            draw.put(MEANING[truth][int(rng.integers(10))])
        plant(draw)
        made.append(" ".join(draw.words))
        labels.append(label)
    return made, labels


def meaning(words: Sequence[str]) -> float:
    """Return how much more of a text's words mean label 1 than label 0."""
    lower = [word.lower().strip(".!?;:,") for word in words]
    return float(
        sum(word in MEANING[1] for word in lower) - sum(word in MEANING[0] for word in lower)
    )
