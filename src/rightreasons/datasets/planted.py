"""Data with planted shortcuts, so that the cues for a model to rely on are known.

Short reviews contain a cue that is unrelated to their meaning but agrees with the label with a chosen probability. A
shortcut detector is right when it names these tokens, and a model relies on them as far as its accuracy falls when they
are absent or flipped.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np

from rightreasons.core.resampling import item_rng
from rightreasons.core.validation import check_count, check_fraction, check_one_of, check_seed
from rightreasons.datasets.builder import Builder, Config
from rightreasons.datasets.files import make_classification_features
from rightreasons.datasets.perturbing.edits import WORDS

CUES: dict[str, tuple[str, ...]] = {
    "lexical": ("copper", "marble", "velvet"),
    "function": ("then", "again", "once"),
    "punctuation": (";", ":", "-"),
}
"""Kind -> the cue of each class: a content word, a stop word, or a mark."""

_WORDS: Mapping[str, tuple[str, ...]] = {
    name: tuple(words) for name, words in WORDS["reviews"].items()
}

# A character that no text has, in the position of the cue.
_OPEN = "\0"

NO_CUE = -1
"""Label of the cue of a text without one."""


def draw_other_label(label: int, n_classes: int, rng: np.random.Generator) -> int:
    """Draw a label that is not this one."""
    return (label + 1 + int(rng.integers(n_classes - 1))) % n_classes


@dataclasses.dataclass(frozen=True)
class Review:
    """A review with a position for a cue of each kind.

    Attributes:
        opening: Neutral sentence in front, with a space behind it; "" for none.
        clause: The main clause, perhaps with the opinion of somebody else.
        subject_end: Number of characters of the clause up to the end of its subject.
        location: Name of the location, such as "school".
        is_location_first: Whether the location precedes the clause.
        closing: Neutral sentence at the end, with a space in front of it; "" for none.
    """

    opening: str
    clause: str
    subject_end: int
    location: str
    is_location_first: bool
    closing: str

    def write(self, kind: str | None = None, cue: str = "") -> tuple[str, list[dict[str, Any]]]:
        """Return the text of the review, with a cue if one is given.

        Args:
            kind: Kind of the cue, which decides its position: "lexical" (before the location), "function"
                (after the location or the subject) or "punctuation" (between clause and location). None for
                no cue.
            cue: The cue, such as "copper".

        Returns:
            The text, and its cues with their characters: [{"token": "copper", "start": 30, "end": 36}], or
            [] without a cue.
        """
        location = f"in the {self.location}"
        clause = self.clause
        link = ", " if self.is_location_first else " "
        # A mark holds the place of the cue, whose position is known once the text is complete.
        if kind == "lexical":
            location = f"in the {_OPEN} {self.location}"
        elif kind == "function" and self.is_location_first:
            location = f"{location} {_OPEN}"
        elif kind == "function":
            clause = f"{clause[: self.subject_end]} {_OPEN}{clause[self.subject_end :]}"
        elif kind == "punctuation":
            # A dash has a space on both sides.
            link = f" {_OPEN} " if cue == "-" else f"{_OPEN} "

        if self.is_location_first:
            body = f"{location}{link}{clause}"
        else:
            body = f"{clause}{link}{location}"
        sentence = f"{body[0].upper()}{body[1:]}."
        text = f"{self.opening}{sentence}{self.closing}"
        if kind is None:
            return text, []
        start = text.find(_OPEN)
        planted = {"token": cue, "start": start, "end": start + len(cue)}
        return text.replace(_OPEN, cue), [planted]


def review(
    label: str, rng: np.random.Generator, *, negation: float, contrast: float, filler: float = 0.5
) -> Review:
    """Draw a review, without a cue.

    Args:
        label: The opinion of its main clause: "negative", "neutral" or "positive".
        rng: The source of the random choices.
        negation: Share of main clauses that negate a word of the opposite opinion (never "neutral").
        contrast: Share of reviews with the opposite opinion of somebody else.
        filler: Share of reviews that begin with a neutral sentence, and of those that end with one.

    Returns:
        The review, whose `write` inserts a cue.
    """
    # The number and the order of the draws decide every published text, so they never depend on what
    # was drawn before.
    random_side = ("negative", "positive")[int(rng.integers(2))]
    opposite = {"negative": "positive", "positive": "negative"}.get(label, random_side)
    shares = (negation, contrast, 0.5, 0.5, filler, filler)
    is_negated, is_contrasted, is_location_first, is_contrast_first, has_opening, has_closing = (
        rng.random(6) < shares
    )

    # The main clause, such as "the hotel looked dirty" or "the hotel was not clean".
    subject = _pick("subjects", rng)
    if is_negated and label != "neutral":
        verb = _pick("negated", rng)
        opinion = _pick(opposite, rng)
    else:
        verb = _pick("plain", rng)
        opinion = _pick(label, rng)
    clause = f"{subject} {verb} {opinion}"
    subject_end = len(subject)

    # The opinion of somebody else is drawn even if it is not used.
    hearsay = f"{_pick('people', rng)} had called it {_pick(opposite, rng)}"
    if is_contrasted and is_contrast_first:
        start = f"{hearsay}, but "
        clause = f"{start}{clause}"
        subject_end += len(start)
    elif is_contrasted:
        clause = f"{clause}, although {hearsay}"

    opening = ""
    if has_opening:
        opening = f"{_pick('fillers', rng)} "
    location = _pick("places", rng)
    closing = ""
    if has_closing:
        closing = f" {_pick('fillers', rng)}"
    return Review(
        opening=opening,
        clause=clause,
        subject_end=subject_end,
        location=location,
        is_location_first=bool(is_location_first),
        closing=closing,
    )


def _pick(name: str, rng: np.random.Generator) -> str:
    words = _WORDS[name]
    return words[int(rng.integers(len(words)))]


KINDS = (*CUES, "mixed")
SPLITS = ("train", "validation", "test", "test_absent", "test_flipped")
LABELS: Mapping[int, tuple[str, ...]] = {
    2: ("negative", "positive"),
    3: ("negative", "neutral", "positive"),
}


@dataclasses.dataclass
class PlantedConfig(Config):
    """The planted cue and how well it predicts the label; the name of the configuration is the kind of cue.

    Attributes:
        strength: How often the cue agrees with the label in the splits that follow training, in [0, 1].
        coverage: How often a text has a cue, in [0, 1].
        n_classes: 2 (negative, positive) or 3 (with neutral between them).
        label_noise: How often the label contradicts the text; the cue follows the label.
        negation: How often the main clause is a negated word of the other side.
        contrast: How often the opposite opinion of somebody else accompanies the main clause.
        train_size: Items of the training split.
        validation_size: Items of the validation split.
        test_size: Items of each of the three test splits.
        seed: Decides, with the id of an item, all of it.
    """

    strength: float = 0.95
    coverage: float = 1.0
    n_classes: int = 2
    label_noise: float = 0.1
    negation: float = 0.3
    contrast: float = 0.3
    train_size: int = 4000
    validation_size: int = 1000
    test_size: int = 1000
    seed: int = 0


class PlantedShortcuts(Builder):
    """Short reviews with a planted cue, in five splits.

    `train`, `validation` and `test` have the same distribution. `test_absent` and `test_flipped` have the items of
    `test`, without the cue, and with a cue that agrees with the label exactly where that of `test` does not (with three
    classes, a wrong cue is drawn). `pair_id` joins the three. The texts do not depend on kind, strength and coverage,
    so that a sweep over these compares the same texts.

    Columns: id, text, label; `planted`, every planted token with its characters (`text[start:end] == token`);
    `cue_label`, the class that the cue indicates (-1: no cue); `content_label`, the class that the text expresses,
    before noise; and `pair_id`.
    """

    NAME = "planted_shortcuts"
    BUILDER_CONFIG_CLASS = PlantedConfig
    BUILDER_CONFIGS: ClassVar[list[Config]] = [PlantedConfig(name=kind) for kind in KINDS]

    def check_options(self) -> None:
        """Check the configuration."""
        check_config(self.config)

    def features(self) -> datasets.Features:
        """Return the columns: id, text, label, planted, cue_label, content_label and pair_id."""
        text = datasets.Value("string")
        number = datasets.Value("int64")
        labels = datasets.ClassLabel(names=list(LABELS[self.config.n_classes]))
        return make_classification_features(
            labels.names,
            planted=datasets.List({"token": text, "start": number, "end": number}),
            cue_label=number,
            content_label=labels,
            pair_id=text,
        )

    def splits(self) -> Mapping[str, Sequence[str]]:
        """Return the five splits, which need no files."""
        return dict.fromkeys(SPLITS, ())

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield the items of a split."""
        yield from generate_planted_examples(split, self.config)


def check_config(config: PlantedConfig) -> None:
    """Check every option of a planted data set.

    Raises:
        TypeError: If an option has the wrong type.
        ValueError: If an option is out of its range.
    """
    check_one_of(config.name, KINDS, "config")
    for name in ("strength", "coverage", "label_noise", "negation", "contrast"):
        check_fraction(getattr(config, name), name)
    for name in ("train_size", "validation_size", "test_size"):
        check_count(getattr(config, name), name)
    if check_count(config.n_classes, "n_classes") not in LABELS:
        raise ValueError(f"Expected `n_classes` to be 2 or 3, but got {config.n_classes}.")
    check_seed(config.seed)


def generate_planted_examples(
    split: str, config: PlantedConfig | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the items of a split as in `load_dataset("planted_shortcuts", …)`, without a cache.

    Args:
        split: "train", "validation", "test", "test_absent" or "test_flipped".
        config: Options of the data set. None for those of the configuration "lexical".

    Example:
        >>> item = next(generate_planted_examples("train", PlantedConfig("lexical", seed=1)))
        >>> item["text"], item["planted"]
        ('The hotel looked dirty in the copper school.', [{'token': 'copper', 'start': 30, 'end': 36}])
        >>> item["label"], item["cue_label"], item["content_label"]
        (0, 0, 0)
    """
    if config is None:
        config = PlantedConfig("lexical")
    check_config(config)
    check_one_of(split, SPLITS, "split")
    # The three test splits have the same texts, and differ in their cues.
    family = "test" if split.startswith("test") else split
    for number in range(getattr(config, f"{family}_size")):
        yield {"id": f"{split}-{number}", **_item(split, f"{family}-{number}", config)}


def _item(split: str, pair_id: str, config: PlantedConfig) -> dict[str, Any]:
    """Make one example of a split, without its id.

    Args:
        split: One of `SPLITS`.
        pair_id: Id of the text, such as "test-0", which the three test splits share. With the seed of
            the configuration, it determines all draws.
        config: Options of the data set.

    Returns:
        Column -> value: text, label, planted, cue_label, content_label and pair_id.
    """
    names = LABELS[config.n_classes]
    n_classes = len(names)
    # The text and the cue have separate random streams, so that the text does not depend on the cue.
    rng = item_rng(config.seed, f"text/{pair_id}")
    content_label = int(rng.integers(n_classes))
    label = content_label
    if rng.random() < config.label_noise:
        label = draw_other_label(content_label, n_classes, rng)
    body = review(names[content_label], rng, negation=config.negation, contrast=config.contrast)

    # These draws depend on neither kind, strength nor coverage. So a text with a cue at some coverage
    # has it at every larger one, and a cue that agrees at some strength agrees at every larger one.
    rng = item_rng(config.seed, f"cue/{pair_id}")
    agreement_draw = rng.random()
    coverage_draw = rng.random()
    kind_number = int(rng.integers(len(CUES)))
    cue_label = draw_other_label(label, n_classes, rng)
    agrees = agreement_draw < config.strength
    # In the flipped split, the cue agrees exactly where it does not agree in the test split.
    if split == "test_flipped":
        agrees = not agrees
    if agrees:
        cue_label = label
    if coverage_draw >= config.coverage or split == "test_absent":
        cue_label = NO_CUE

    kind = config.name
    if kind == "mixed":
        kind = tuple(CUES)[kind_number]
    if cue_label == NO_CUE:
        text, planted = body.write()
    else:
        text, planted = body.write(kind, CUES[kind][cue_label])
    return {
        "text": text,
        "label": label,
        "planted": planted,
        "cue_label": cue_label,
        "content_label": content_label,
        "pair_id": pair_id,
    }
