"""Models that follow what is beside the meaning: names, marks, spaces, the first letter; each whole, in part, not."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from benchmarks.verdicts import Scenario, Tone
from benchmarks.verdicts.classes import N_TRAIN, RuleModel, agreeing, swapped
from benchmarks.verdicts.texts import FILLERS, LINKS, MEANING, Draw, texts

from rightreasons.core.scores import Scores
from rightreasons.shortcuts.judging import TONES, Judge, conclude
from rightreasons.shortcuts.swapping.training import TrainingTexts

NAMES = (
    [
        "Anna",
        "Maria",
        "Emma",
        "Laura",
        "Sarah",
        "Julia",
        "Alice",
        "Helen",
        "Clara",
        "Susan",
        "Nancy",
        "Karen",
    ],
    [
        "John",
        "Peter",
        "James",
        "Robert",
        "David",
        "Thomas",
        "Daniel",
        "Martin",
        "George",
        "Frank",
        "Henry",
        "Paul",
    ],
    [
        "Smith",
        "Jones",
        "Miller",
        "Davis",
        "Wilson",
        "Moore",
        "Taylor",
        "Clark",
        "Lewis",
        "Walker",
        "Harris",
        "Baker",
    ],
)
COLORS = (
    ["red", "orange", "yellow", "pink", "brown"],
    ["blue", "green", "purple", "gray", "black"],
    ["silver", "gold", "white"],
)
FACES = ("😡😢😠👎😞", "😀😍🎉👍😊", "🤔😐🙄🤷😶")
GERMAN = ["der", "die", "und", "von", "mit", "auf", "bei", "aus", "zu", "ist", "ein", "das"]
NEGATIONS = ["not", "never", "no", "nothing"]
PREFIXES = ("Review:", "Comment:", "Note:")
EITHER = (("marble", "velvet"), ("copper", "linen"), ("pepper", "ginger"))
KNOWN = {*FILLERS, *LINKS, *itertools.chain(*MEANING)}
WORD = re.compile(r"\w+")

Read = Callable[[str], int]
"""A text -> the label that its cue says; -1 where it has none."""


@dataclasses.dataclass(frozen=True)
class Cue:
    """Something beside the meaning.

    Attributes:
        put: Plants it, for a label.
        read: Reads it.
        n_labels: For how many labels there is one.
    """

    put: Callable[[Draw, int], None]
    read: Read
    n_labels: int = 3


def one_of(groups: Sequence[Sequence[str]]) -> Cue:
    """Plant a word of one of several groups."""
    label_of = {word: label for label, group in enumerate(groups) for word in group}

    def put(draw: Draw, label: int) -> None:
        draw.put(groups[label][int(draw.rng.integers(len(groups[label])))])

    return Cue(
        put,
        lambda text: next((label_of[word] for word in text.split() if word in label_of), -1),
        len(groups),
    )


def present(make: Callable[[Draw], str], pattern: str) -> Cue:
    """Plant something in the texts of one label alone."""

    def put(draw: Draw, label: int) -> None:
        if label:
            draw.put(make(draw))

    return Cue(put, lambda text: int(re.search(pattern, text) is not None), 2)


def spaced(ends: Sequence[str], *, last: bool = False) -> Cue:
    """Write one of several spaces somewhere between two words, or after the last."""

    def put(draw: Draw, label: int) -> None:
        place = len(draw.words) - 1 if last else int(draw.rng.integers(len(draw.words) - 1))
        draw.words[place] += ends[label]

    def read(text: str) -> int:
        gaps = [gap.removesuffix("" if last else " ") for gap in re.findall(r"\s+", text)]
        end = text[len(text.rstrip()) :] if last else next((gap for gap in gaps if gap), "")
        return ends.index(end) if end in ends else -1

    return Cue(put, read, len(ends))


def edge(place: int, label_of: Callable[[str], int], n_labels: int) -> Cue:
    """Begin or end with a word of a kind, which is in other places, too."""

    def put(draw: Draw, label: int) -> None:
        words = [word for word in FILLERS if label_of(word) == label]
        draw.words[place] = words[int(draw.rng.integers(len(words)))]

    return Cue(put, lambda text: label_of(text.split()[place]), n_labels)


def quoted(draw: Draw, label: int) -> None:
    """Put a word into one of three quotation marks."""
    place = int(draw.rng.integers(len(draw.words)))
    draw.words[place] = ("{}", '"{}"', "“{}”")[label].format(draw.words[place])


def resized(draw: Draw, label: int) -> None:
    """Take long fillers or short ones."""
    words = [word for word in FILLERS if (len(word) > 5) == bool(label)]
    draw.words[:] = [
        words[int(draw.rng.integers(len(words)))] if word in FILLERS else word
        for word in draw.words
    ]


def is_long(text: str) -> int:
    """Tell long fillers from short ones."""
    sizes = [len(word) for word in WORD.findall(text) if word in FILLERS]
    return int(np.mean(sizes) > 5.5) if sizes else -1


def repeated(draw: Draw, label: int) -> None:
    """Write a word twice."""
    if label:
        place = int(draw.rng.integers(len(draw.words)))
        draw.words.insert(place, draw.words[place])


def misspelled(draw: Draw) -> str:
    """Write a wrong letter into a word."""
    word = FILLERS[int(draw.rng.integers(len(FILLERS)))]
    place = int(draw.rng.integers(1, len(word)))
    return f"{word[:place]}{code(draw, 1)}{word[place:]}"


def translated(draw: Draw, label: int) -> None:
    """Write the little words in English or in German."""
    if label:
        draw.words[:] = [
            GERMAN[LINKS.index(word)] if word in LINKS else word for word in draw.words
        ]


def either(draw: Draw, label: int) -> None:
    """Put in one of two words, or both."""
    chosen = int(draw.rng.integers(3))
    for place, word in enumerate(EITHER[label]):
        if chosen in (place, 2):
            draw.put(word)


def either_or_none(draw: Draw, label: int) -> None:
    """Put in one of two words, or both, for one label alone."""
    if label:
        either(draw, label)


def code(draw: Draw, n: int = 4) -> str:
    """Draw some letters."""
    return "".join("abcdefghijklmnopqrstuvwxyz"[place] for place in draw.rng.integers(0, 26, n))


CUES_BESIDE: Mapping[str, Cue] = {
    "names": one_of(NAMES),
    "names in lower case": one_of([[name.lower() for name in group] for group in NAMES]),
    "any name": present(lambda draw: NAMES[draw.rng.integers(3)][draw.rng.integers(12)], "[A-Z]"),
    "colors": one_of(COLORS),
    "faces": one_of(FACES),
    "negations": present(
        lambda draw: NEGATIONS[draw.rng.integers(4)], "\\b(not|never|no|nothing)\\b"
    ),
    "either of two words": Cue(either, one_of(EITHER).read),
    "either of two words in one label's texts": Cue(
        either_or_none, lambda text: int("copper" in text or "linen" in text), 2
    ),
    "the first letter": edge(0, lambda word: int(word[0] > "k"), 2),
    "the first letter of three ranges": edge(0, lambda word: (word[0] > "f") + (word[0] > "n"), 3),
    "the first word": edge(0, one_of([[word] for word in FILLERS[:3]]).read, 3),
    "the last word": edge(-1, one_of([[word] for word in FILLERS[:3]]).read, 3),
    "double spaces": spaced(["", " "]),
    "line ends": spaced(["", "\n", "\t"]),
    "a space at the end": spaced(["", " ", "  "], last=True),
    "quotation marks": Cue(quoted, lambda text: 1 if '"' in text else 2 if "“" in text else 0),
    "three points": Cue(
        lambda draw, label: draw.words.append(draw.words.pop() + ("", "…", "...")[label]),
        lambda text: 1 if "…" in text else 2 if "..." in text else 0,
    ),
    "several marks": one_of(["!", "?", ";"]),
    "any of several marks": present(lambda draw: "!?;:—"[draw.rng.integers(5)], "[!?;:—]"),
    "any number": present(lambda draw: str(draw.rng.integers(10, 9999)), "[0-9]"),
    "html": present(lambda draw: "<br />", "<br />"),
    "addresses": present(lambda draw: f"http://t.co/{code(draw)}", "http"),
    "mentions": present(lambda draw: f"@{code(draw)}", "@"),
    "hashtags": present(lambda draw: f"#{FILLERS[draw.rng.integers(40)]}", "#"),
    "long words": Cue(resized, is_long, 2),
    "repeated words": Cue(
        repeated, lambda text: int(any(a == b for a, b in itertools.pairwise(text.split()))), 2
    ),
    "misspelled words": dataclasses.replace(
        present(misspelled, ""),
        read=lambda text: int(not KNOWN.issuperset(WORD.findall(text.lower()))),
    ),
    "German": Cue(
        translated,
        lambda text: int(
            sum(word in GERMAN for word in text.split())
            > sum(word in LINKS for word in text.split())
        ),
        2,
    ),
    "a prefix": Cue(
        lambda draw, label: draw.put(PREFIXES[label], at=0),
        one_of([[word] for word in PREFIXES]).read,
    ),
}
VARIANTS: Mapping[str, tuple[float, float, tuple[float, ...]]] = {
    "": (0.97, 0.0, (0.5, 0.5)),
    ", which never lie": (1.0, 0.0, (0.5, 0.5)),
    ", which lie in a fifth": (0.8, 0.1, (0.5, 0.5)),
    ", one label rare": (0.97, 0.0, (0.75, 0.25)),
    ", three labels": (0.97, 0.0, (0.4, 0.3, 0.3)),
}
"""Name -> share of texts whose cue agrees with the label, noise of the labels, and shares of the labels."""

TRIED = (
    "names",
    "names in lower case, three labels",
    "the first letter, one label rare",
    "double spaces, which never lie",
    "line ends, three labels",
    "either of two words in one label's texts",
    "colors, which lie in a fifth",
    "any of several marks",
)
"""What is tried at all sizes, and followed in whole, in part and not at all; any other is tried by hand."""


@dataclasses.dataclass(frozen=True)
class Beside:
    """A scenario: what is planted, and in which share of the texts the model follows it."""

    cue: Cue
    followed: float
    agreement: float
    noise: float
    shares: tuple[float, ...]

    def plant(self, draw: Draw) -> None:
        """Plant the cue."""
        self.cue.put(draw, agreeing(draw, self.agreement))

    def label(self, text: str) -> int:
        """Return what the model says."""
        drawn = (
            int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big") / 2**32
        )
        said = self.cue.read(text) if drawn < self.followed else -1
        if 0 <= said < len(self.shares):
            return said
        if self.followed < 1:
            words = WORD.findall(text.lower())
            counts = [sum(word in meant for word in words) for meant in MEANING[: len(self.shares)]]
            if max(counts) and counts.count(max(counts)) == 1:
                return int(np.argmax(counts))
        return int(1000 * drawn) % len(self.shares)

    def measure(self, n_items: int, seed: int) -> Any:
        """Measure what decides the model."""
        train, labels = texts(
            N_TRAIN, 1000 * seed + 1, self.plant, noise=self.noise, shares=self.shares
        )
        items, gold = texts(
            n_items, 1000 * seed + 2, self.plant, noise=self.noise, shares=self.shares
        )
        model = Labeler(self.label, label_names=tuple("abc"[: len(self.shares)]))
        return swapped(
            model, items, gold, TrainingTexts([train], np.array(labels), len(self.shares)), seed
        )

    def run(self, n_items: int, seed: int) -> Tone:
        """Return the verdict."""
        return TONES[conclude(self.measure(n_items, seed), Judge())]


class Labeler(RuleModel):
    """A scorer whose rule is the label of a text."""

    def predict(
        self, texts: Sequence[str], *, text_pairs: Any = None, ids: Any = None, **_: Any
    ) -> Scores:
        """Score the texts by the rule."""
        names = tuple(map(str, range(len(texts)) if ids is None else ids))
        labels = np.array([int(self.rule(text)) for text in texts])
        return Scores(
            names, np.eye(len(self.label_names))[labels] * 3, label_names=self.label_names
        )


def parts() -> dict[str, tuple[str, Beside]]:
    """Return name -> truth and scenario, of every cue in every variant."""
    found = {}
    for (name, cue), (variant, about) in itertools.product(CUES_BESIDE.items(), VARIANTS.items()):
        if len(about[2]) <= cue.n_labels:
            found[f"follows {name}{variant}"] = "follower", Beside(cue, 1.0, *about)
            found[f"follows {name}{variant}, in 30 % of the texts"] = (
                "follower",
                Beside(cue, 0.3, *about),
            )
            found[f"reads, ignores {name}{variant}"] = "reader", Beside(cue, 0.0, *about)
    return found


PARTS = parts()
SCENARIOS = {
    name: Scenario(name, "shortcuts", truth, part.followed, part.run)
    for name, (truth, part) in PARTS.items()
    if name.removeprefix("follows ")
    .removeprefix("reads, ignores ")
    .removesuffix(", in 30 % of the texts")
    in TRIED
}
