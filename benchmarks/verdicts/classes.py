"""Rule models of two classes: followers of one shortcut of each family, readers, and models that do neither."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from benchmarks.verdicts import Scenario, Tone
from benchmarks.verdicts.texts import (
    CUES,
    LINKS,
    SECOND_CUES,
    THIRD_CUES,
    Draw,
    Plant,
    meaning,
    texts,
)

from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.shortcuts.judging import TONES, Judge, conclude
from rightreasons.shortcuts.measure_deciding import measure_swaps
from rightreasons.shortcuts.swapping.training import TrainingTexts

Rule = Callable[[str], float]
"""A text -> the score of label 1 beyond that of label 0."""

N_TRAIN = 2000


@dataclasses.dataclass(eq=False)
class RuleModel:
    """A scorer of two classes that follows a rule."""

    rule: Callable[..., float]
    name: str = "rule"
    label_names: tuple[str, ...] = ("negative", "positive")
    abilities: frozenset[str] = frozenset()
    fingerprint: str = "rule"
    joint: bool = False

    def describe(self) -> dict[str, Any]:
        """Say what the model is."""
        return {"rule": self.name}

    def predict(
        self, texts: Sequence[str], *, text_pairs: Any = None, ids: Any = None, **_: Any
    ) -> Scores:
        """Score the texts by the rule."""
        columns = [texts] if text_pairs is None else [texts, text_pairs]
        scores = np.clip([self.rule(*row) for row in zip(*columns, strict=True)], -3, 3)
        names = tuple(map(str, range(len(texts)) if ids is None else ids))
        return Scores(names, np.stack((-scores, scores), axis=1) / 2, label_names=self.label_names)

    def choose(self, prompts: Sequence[str], choices: Sequence[Sequence[str]], **_: Any) -> Scores:
        """It has classes alone."""
        raise NotImplementedError


def by_chance(text: str) -> float:
    """Break a tie by the text alone."""
    return 0.1 if hashlib.blake2b(text.encode(), digest_size=1).digest()[0] % 2 else -0.1


def reads(text: str) -> float:
    """Decide by the words that mean a label."""
    return meaning(text.split()) or by_chance(text)


def says(text: str, first: str, second: str) -> float:
    """Return 1 where a text has the second word, -1 where it has the first, 0 where it has both or neither."""
    words = text.lower().split()
    return float((second in words) - (first in words))


def agreeing(draw: Draw, share: float) -> int:
    """Return the label of a cue that agrees with the label of a text in a share of cases."""
    return draw.label if draw.rng.random() < share else (draw.label + 1) % draw.n_labels


def word(agreement: float, coverage: float = 1.0) -> Plant:
    """Plant one of two words."""

    def plant(draw: Draw) -> None:
        cue = agreeing(draw, agreement)
        if draw.rng.random() < coverage:
            draw.put(CUES[cue])

    return plant


def two_words(draw: Draw) -> None:
    """Plant two words that say the same."""
    draw.put(CUES[draw.label])
    draw.put(SECOND_CUES[draw.label])


def one_sided(draw: Draw) -> None:
    """Plant a word in the texts of one label."""
    if draw.label and draw.rng.random() < 0.95:
        draw.put("copper")


def mark(draw: Draw) -> None:
    """End with one of two marks."""
    draw.words[-1] += ".!"[agreeing(draw, 0.97)]


def in_order(draw: Draw) -> None:
    """Put two words in one of two orders."""
    first, second = ("copper", "marble") if agreeing(draw, 0.97) else ("marble", "copper")
    draw.put(first, at=0.3)
    draw.put(second, at=0.8)


def side_by_side(draw: Draw) -> None:
    """Put two words side by side, of which only the combination tells."""
    cue, either = agreeing(draw, 0.97), int(draw.rng.integers(2))
    draw.put("copper" if either else "marble", "velvet" if either == cue else "linen")


def apart(draw: Draw) -> None:
    """Put two words anywhere, of which only the combination tells."""
    cue, either = agreeing(draw, 0.97), int(draw.rng.integers(2))
    draw.put("copper" if either else "marble")
    draw.put("velvet" if either == cue else "linen")


def one_bigram(draw: Draw) -> None:
    """Put two words side by side for one label, and apart for the other."""
    if agreeing(draw, 0.97):
        draw.put("copper", "linen")
    else:
        draw.put("copper", at=0.1)
        draw.put("linen", at=0.9)


def in_place(draw: Draw) -> None:
    """Put a word near one of the two ends."""
    draw.put("copper", at=float(draw.rng.uniform(0, 0.3)) + 0.7 * agreeing(draw, 0.97))


def in_capitals(draw: Draw) -> None:
    """Put a word into capitals or not."""
    draw.put("COPPER" if agreeing(draw, 0.97) else "copper")


def any_capitals(draw: Draw) -> None:
    """Put some word into capitals or not."""
    if agreeing(draw, 0.97):
        place = int(draw.rng.integers(1, len(draw.words)))
        draw.words[place] = draw.words[place].upper()


def all_capitals(draw: Draw) -> None:
    """Put a whole text into capitals or not."""
    if agreeing(draw, 0.97):
        draw.words[:] = [word.upper() for word in draw.words]


def number(draw: Draw) -> None:
    """Put in a number of two or of four digits."""
    draw.put(
        str(draw.rng.integers(1000, 9999) if agreeing(draw, 0.97) else draw.rng.integers(10, 99))
    )


def often(draw: Draw) -> None:
    """Put in a word once or twice."""
    for _ in range(1 + agreeing(draw, 0.97)):
        draw.put("also")


def long(draw: Draw) -> None:
    """Lengthen the texts of one label."""
    if agreeing(draw, 0.97):
        for _ in range(10):
            draw.put(
                LINKS[int(draw.rng.integers(len(LINKS)))] if draw.rng.random() < 0.5 else "house"
            )


def bigram_rule(text: str) -> float:
    """Follow the combination of two words side by side."""
    words = text.lower().split()
    for first, second in itertools.pairwise(words):
        if first in ("copper", "marble") and second in ("velvet", "linen"):
            return 1.0 if (first == "copper") == (second == "velvet") else -1.0
    return by_chance(text)


def apart_rule(text: str) -> float:
    """Follow the combination of two words anywhere."""
    words = set(text.lower().split())
    if not words & {"copper", "marble"} or not words & {"velvet", "linen"}:
        return by_chance(text)
    return 1.0 if ("copper" in words) == ("velvet" in words) else -1.0


def place_of(text: str, cue: str) -> float | None:
    """Return how far into a text a word stands; None where it does not."""
    words = text.lower().split()
    return words.index(cue) / max(len(words) - 1, 1) if cue in words else None


def position_rule(text: str) -> float:
    """Follow the half that a word stands in."""
    place = place_of(text, "copper")
    return by_chance(text) if place is None else (1.0 if place > 0.5 else -1.0)


def order_rule(text: str) -> float:
    """Follow the order of two words."""
    first, second = place_of(text, "copper"), place_of(text, "marble")
    return by_chance(text) if first is None or second is None else (1.0 if first < second else -1.0)


def digits_rule(text: str) -> float:
    """Follow the kind of a number."""
    numbers = [word for word in text.split() if word.isdigit()]
    return (1.0 if len(numbers[0]) > 2 else -1.0) if numbers else by_chance(text)


def mixed(share: float) -> Rule:
    """Follow the cue in a share of the texts, drawn by their words without it, and read the others."""

    def rule(text: str) -> float:
        rest = " ".join(sorted(word for word in text.lower().split() if word not in CUES))
        followed = hashlib.blake2b(rest.encode(), digest_size=2).digest()
        if int.from_bytes(followed, "big") / 65536 < share and says(text, *CUES):
            return says(text, *CUES)
        return reads(text)

    return rule


@dataclasses.dataclass(frozen=True)
class Classes:
    """A scenario of two classes: what is planted, and the rule of the model."""

    plant: Plant
    rule: Rule
    noise: float = 0.0
    size: tuple[int, int] = (9, 16)

    def measure(self, n_items: int, seed: int) -> Any:
        """Measure what decides the model."""
        train, labels = texts(
            N_TRAIN, 1000 * seed + 1, self.plant, noise=self.noise, size=self.size
        )
        items, gold = texts(n_items, 1000 * seed + 2, self.plant, noise=self.noise, size=self.size)
        model = RuleModel(self.rule)
        return swapped(model, items, gold, TrainingTexts([train], np.array(labels), 2), seed)

    def run(self, n_items: int, seed: int) -> Tone:
        """Return the verdict."""
        return TONES[conclude(self.measure(n_items, seed), Judge())]


def swapped(
    model: RuleModel, items: Sequence[str], gold: Sequence[int], training: TrainingTexts, seed: int
) -> Any:
    """Measure what decides a rule on some items."""
    return measure_swaps(
        model,
        [items],
        model.predict(items).predicted,
        training,
        ids=[str(row) for row in range(len(items))],
        labels=np.array(gold),
        resampling=Resampling(seed=seed),
    )


def follows_word(text: str) -> float:
    """Follow the planted word, and chance without it."""
    return says(text, *CUES) or by_chance(text)


def one_of_three(draw: Draw) -> None:
    """Plant a word of one of three pairs, each in a third of the texts."""
    draw.put((CUES, SECOND_CUES, THIRD_CUES)[int(draw.rng.integers(3))][draw.label])


def follows_three(text: str) -> float:
    """Follow whichever of the three is there."""
    return says(text, *CUES) + says(text, *SECOND_CUES) + says(text, *THIRD_CUES) or by_chance(text)


def follows_two(text: str) -> float:
    """Follow the two planted words together, and the meaning where they contradict each other."""
    return says(text, *CUES) + says(text, *SECOND_CUES) or reads(text)


PARTS: dict[str, tuple[str, float, Classes]] = {
    "reads, nothing planted": ("reader", 0.0, Classes(lambda draw: None, reads)),
    "reads, labels with noise": ("reader", 0.0, Classes(lambda draw: None, reads, noise=0.1)),
    "reads, ignores a word of .95": ("reader", 0.0, Classes(word(0.95), reads)),
    "reads, ignores a word of .8": ("reader", 0.0, Classes(word(0.8), reads)),
    "reads, ignores a mark": ("reader", 0.0, Classes(mark, reads)),
    "reads, ignores the length": ("reader", 0.0, Classes(long, reads)),
    "follows a word of 1.0": ("follower", 1.0, Classes(word(1.0), follows_word)),
    "follows a word of .95": ("follower", 1.0, Classes(word(0.95), follows_word)),
    "follows a word of .9": ("follower", 1.0, Classes(word(0.9), follows_word)),
    "follows a word of .8, labels with noise": (
        "follower",
        1.0,
        Classes(word(0.8), follows_word, noise=0.1),
    ),
    "follows a word in one label's texts": (
        "follower",
        0.5,
        Classes(one_sided, lambda text: 1.0 if "copper" in text.lower().split() else -1.0),
    ),
    "follows two words that say the same": ("follower", 1.0, Classes(two_words, follows_two)),
    "follows three words, each in a third of the texts": (
        "follower",
        1.0,
        Classes(one_of_three, follows_three),
    ),
    "follows a bigram": ("follower", 1.0, Classes(side_by_side, bigram_rule)),
    "follows a combination of two words anywhere": ("follower", 1.0, Classes(apart, apart_rule)),
    "reads, ignores a combination of two words anywhere": ("reader", 0.0, Classes(apart, reads)),
    "follows a bigram in one label's texts": (
        "follower",
        0.5,
        Classes(one_bigram, lambda text: 1.0 if "copper linen" in text.lower() else -1.0),
    ),
    "follows the order of two words": ("follower", 1.0, Classes(in_order, order_rule)),
    "follows the position of a word": ("follower", 1.0, Classes(in_place, position_rule)),
    "follows the capitals of a word": (
        "follower",
        1.0,
        Classes(in_capitals, lambda text: 1.0 if "COPPER" in text.split() else -1.0),
    ),
    "follows any capitals": (
        "follower",
        1.0,
        Classes(
            any_capitals,
            lambda text: 1.0 if any(w.isupper() and len(w) > 1 for w in text.split()) else -1.0,
        ),
    ),
    "follows a text in capitals": (
        "follower",
        1.0,
        Classes(all_capitals, lambda text: 1.0 if text.isupper() else -1.0),
    ),
    "follows a mark": (
        "follower",
        1.0,
        Classes(
            mark,
            lambda text: (
                (1.0 if "!" in text else -1.0) if set(".!") & set(text) else by_chance(text)
            ),
        ),
    ),
    "follows the digits of a number": ("follower", 1.0, Classes(number, digits_rule)),
    "follows the length": (
        "follower",
        1.0,
        Classes(long, lambda text: 1.0 if len(text.split()) > 20 else -1.0),
    ),
    "follows how often a word is there": (
        "follower",
        1.0,
        Classes(often, lambda text: 1.0 if text.lower().split().count("also") > 1 else -1.0),
    ),
    "follows a word in 30 % of the texts": ("follower", 0.3, Classes(word(0.95), mixed(0.3))),
    "follows a word in 60 % of the texts": ("follower", 0.6, Classes(word(0.95), mixed(0.6))),
    "hash of the text": ("none", 0.0, Classes(word(0.95), by_chance)),
    "constant": ("none", 0.0, Classes(word(0.95), lambda text: 1.0)),
}

SCENARIOS = {
    name: Scenario(name, "shortcuts", truth, strength, part.run)
    for name, (truth, strength, part) in PARTS.items()
}
