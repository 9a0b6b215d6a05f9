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

# A character that occurs in no text. It marks the position of the cue until the text is complete.
_CUE_MARK = "\0"

NO_CUE = -1
"""Label of the cue of a text without one."""


def draw_other_label(label: int, n_classes: int, rng: np.random.Generator) -> int:
    """Draw a label other than the given one; all others are equally likely."""
    distance = 1 + int(rng.integers(n_classes - 1))
    return (label + distance) % n_classes


@dataclasses.dataclass(frozen=True)
class Review:
    """The parts of a review, from which it can be written with or without a cue.

    Attributes:
        opening: Neutral sentence at the beginning, followed by a space; "" if there is none.
        clause: Main clause, such as "the hotel looked dirty", perhaps with the opinion of somebody else.
        subject_end: Number of characters of the clause up to the end of its subject.
        location: Name of the location, such as "school".
        is_location_first: Whether the location precedes the clause.
        closing: Neutral sentence at the end, preceded by a space; "" if there is none.
    """

    opening: str
    clause: str
    subject_end: int
    location: str
    is_location_first: bool
    closing: str

    def write(self, kind: str | None = None, cue: str = "") -> tuple[str, list[dict[str, Any]]]:
        """Return the text of the review, with or without a cue.

        Args:
            kind: Kind of the cue, which decides its position: "lexical" (before the location), "function"
                (after the location or the subject) or "punctuation" (between clause and location). None to
                write no cue.
            cue: The cue, such as "copper".

        Returns:
            The text, and a list of its cues with the position of their characters, such as
            `[{"token": "copper", "start": 30, "end": 36}]`; an empty list if there is no cue.
        """
        location = f"in the {self.location}"
        clause = self.clause
        link = ", " if self.is_location_first else " "
        # Insert a mark, which is replaced by the cue below.
        if kind == "lexical":
            location = f"in the {_CUE_MARK} {self.location}"
        elif kind == "function" and self.is_location_first:
            location = f"{location} {_CUE_MARK}"
        elif kind == "function":
            subject = clause[: self.subject_end]
            predicate = clause[self.subject_end :]
            clause = f"{subject} {_CUE_MARK}{predicate}"
        elif kind == "punctuation" and cue == "-":
            # A dash has a space on both sides.
            link = f" {_CUE_MARK} "
        elif kind == "punctuation":
            link = f"{_CUE_MARK} "

        if self.is_location_first:
            body = f"{location}{link}{clause}"
        else:
            body = f"{clause}{link}{location}"
        sentence = f"{body[0].upper()}{body[1:]}."
        text = f"{self.opening}{sentence}{self.closing}"
        if kind is None:
            return text, []
        start = text.find(_CUE_MARK)
        planted = {"token": cue, "start": start, "end": start + len(cue)}
        return text.replace(_CUE_MARK, cue), [planted]


def review(
    label: str, rng: np.random.Generator, *, negation: float, contrast: float, filler: float = 0.5
) -> Review:
    """Draw the parts of a review at random.

    Args:
        label: Opinion of the main clause: "negative", "neutral" or "positive".
        rng: Random generator.
        negation: Probability that the main clause negates a word of the opposite opinion, such as "not
            good"; a neutral clause never does.
        contrast: Probability that the opposite opinion of somebody else is added.
        filler: Probability of a neutral sentence at the beginning, and of one at the end.

    Returns:
        The review, whose `write` inserts a cue.
    """
    # The number and the order of the draws must not change, because the published texts depend on them.
    random_opinion = ("negative", "positive")[int(rng.integers(2))]
    # A neutral clause has no opposite, so that one of the two opinions is drawn.
    opposite = {"negative": "positive", "positive": "negative"}.get(label, random_opinion)
    probabilities = (negation, contrast, 0.5, 0.5, filler, filler)
    is_negated, is_contrasted, is_location_first, is_contrast_first, has_opening, has_closing = (
        rng.random(6) < probabilities
    )

    # The main clause, such as "the hotel looked dirty" or "the hotel was not clean".
    subject = _draw_phrase("subjects", rng)
    if is_negated and label != "neutral":
        verb = _draw_phrase("negated", rng)
        opinion = _draw_phrase(opposite, rng)
    else:
        verb = _draw_phrase("plain", rng)
        opinion = _draw_phrase(label, rng)
    clause = f"{subject} {verb} {opinion}"
    subject_end = len(subject)

    # The opinion of somebody else, such as "my sister had called it clean".
    hearsay = f"{_draw_phrase('people', rng)} had called it {_draw_phrase(opposite, rng)}"
    if is_contrasted and is_contrast_first:
        start = f"{hearsay}, but "
        clause = f"{start}{clause}"
        subject_end += len(start)
    elif is_contrasted:
        clause = f"{clause}, although {hearsay}"

    opening = ""
    if has_opening:
        opening = f"{_draw_phrase('fillers', rng)} "
    location = _draw_phrase("places", rng)
    closing = ""
    if has_closing:
        closing = f" {_draw_phrase('fillers', rng)}"
    return Review(
        opening=opening,
        clause=clause,
        subject_end=subject_end,
        location=location,
        is_location_first=bool(is_location_first),
        closing=closing,
    )


def _draw_phrase(name: str, rng: np.random.Generator) -> str:
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
        """Return the types of the columns.

        They are id, text, label, planted, cue_label, content_label and pair_id.
        """
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

    Args:
        config: Options of the data set.

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
        config: Options of the data set. None for the defaults of the configuration "lexical".

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
    text_split = "test" if split.startswith("test") else split
    n_items = getattr(config, f"{text_split}_size")
    for number in range(n_items):
        example = _make_example(split, f"{text_split}-{number}", config)
        yield {"id": f"{split}-{number}", **example}


def _make_example(split: str, pair_id: str, config: PlantedConfig) -> dict[str, Any]:
    """Make one example of a split, without its id.

    Args:
        split: One of `SPLITS`.
        pair_id: Id of the text, such as "test-0", which is the same in the three test splits. Together
            with the seed of the configuration, it determines all random numbers.
        config: Options of the data set.

    Returns:
        Column -> value: text, label, planted, cue_label, content_label and pair_id.
    """
    names = LABELS[config.n_classes]
    n_classes = len(names)
    # The text and the cue have separate random generators, so that the text does not depend on the cue.
    rng = item_rng(config.seed, f"text/{pair_id}")
    content_label = int(rng.integers(n_classes))
    label = content_label
    if rng.random() < config.label_noise:
        label = draw_other_label(content_label, n_classes, rng)
    body = review(names[content_label], rng, negation=config.negation, contrast=config.contrast)

    # The random numbers do not depend on kind, strength and coverage. So a text with a cue also has it
    # at a larger coverage, and a cue that agrees with the label also agrees at a larger strength.
    rng = item_rng(config.seed, f"cue/{pair_id}")
    agreement_number = rng.random()
    coverage_number = rng.random()
    kind_index = int(rng.integers(len(CUES)))
    other_label = draw_other_label(label, n_classes, rng)

    cue_agrees = agreement_number < config.strength
    if split == "test_flipped":
        # Here, the cue agrees with the label if it does not agree in the split "test".
        cue_agrees = not cue_agrees
    has_cue = coverage_number < config.coverage and split != "test_absent"
    if not has_cue:
        cue_label = NO_CUE
    elif cue_agrees:
        cue_label = label
    else:
        cue_label = other_label

    if has_cue:
        kind = config.name
        if kind == "mixed":
            kind = tuple(CUES)[kind_index]
        text, planted = body.write(kind, CUES[kind][cue_label])
    else:
        text, planted = body.write()
    return {
        "text": text,
        "label": label,
        "planted": planted,
        "cue_label": cue_label,
        "content_label": content_label,
        "pair_id": pair_id,
    }
