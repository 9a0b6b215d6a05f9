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
from rightreasons.datasets.files import classification_features
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

_OPEN = "\0"  # the place of a cue


def another_label(label: int, n_classes: int, rng: np.random.Generator) -> int:
    """Draw a label that is not this one."""
    return (label + 1 + int(rng.integers(n_classes - 1))) % n_classes


@dataclasses.dataclass(frozen=True)
class Review:
    """A review with a place for a cue of each kind."""

    before: str
    clause: str
    subject_end: int
    place: str
    place_first: bool
    after: str

    def write(self, kind: str | None = None, cue: str = "") -> tuple[str, list[dict[str, Any]]]:
        """Return the text with the cue in the place of its kind, and its characters; None for no cue."""
        place, clause, link = f"in the {self.place}", self.clause, ", " if self.place_first else " "
        if kind == "lexical":
            place = f"in the {_OPEN} {self.place}"
        elif kind == "function" and self.place_first:
            place = f"{place} {_OPEN}"
        elif kind == "function":
            clause = f"{clause[: self.subject_end]} {_OPEN}{clause[self.subject_end :]}"
        elif kind == "punctuation":
            link = f" {_OPEN} " if cue == "-" else f"{_OPEN} "
        body = place + link + clause if self.place_first else clause + link + place
        text = f"{self.before}{body[0].upper()}{body[1:]}.{self.after}"
        start = text.find(_OPEN)
        planted = [] if kind is None else [{"token": cue, "start": start, "end": start + len(cue)}]
        return text.replace(_OPEN, cue), planted


def review(
    label: str, rng: np.random.Generator, *, negation: float, contrast: float, filler: float = 0.5
) -> Review:
    """Draw a review.

    Args:
        label: The opinion of its main clause: "negative", "neutral" or "positive".
        rng: The source of the random choices.
        negation: How often the main clause is a negated word of the other side (never for "neutral").
        contrast: How often the opposite opinion of somebody else accompanies it.
        filler: How often a neutral sentence precedes it, and how often one follows it.
    """
    either = ("negative", "positive")[int(rng.integers(2))]
    opposite = {"negative": "positive", "positive": "negative"}.get(label, either)
    shares = (negation, contrast, 0.5, 0.5, filler, filler)
    negated, contrasted, place_first, contrast_first, leading, trailing = rng.random(6) < shares
    subject = _pick("subjects", rng)
    if negated and label != "neutral":
        predicate = f"{_pick('negated', rng)} {_pick(opposite, rng)}"
    else:
        predicate = f"{_pick('plain', rng)} {_pick(label, rng)}"
    clause = f"{subject} {predicate}"
    subject_end = len(subject)
    hearsay = f"{_pick('people', rng)} had called it {_pick(opposite, rng)}"
    if contrasted and contrast_first:
        clause, subject_end = f"{hearsay}, but {clause}", len(hearsay) + len(", but ") + subject_end
    elif contrasted:
        clause = f"{clause}, although {hearsay}"
    return Review(
        before=f"{_pick('fillers', rng)} " if leading else "",
        clause=clause,
        subject_end=subject_end,
        place=_pick("places", rng),
        place_first=bool(place_first),
        after=f" {_pick('fillers', rng)}" if trailing else "",
    )


def _pick(name: str, rng: np.random.Generator) -> str:
    return _WORDS[name][int(rng.integers(len(_WORDS[name])))]


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
        """Return the columns."""
        text, number = datasets.Value("string"), datasets.Value("int64")
        labels = datasets.ClassLabel(names=list(LABELS[self.config.n_classes]))
        return classification_features(
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
        yield from planted_examples(split, self.config)


def check_config(config: PlantedConfig) -> None:
    """Check every option of a planted data set."""
    check_one_of(config.name, KINDS, "config")
    for name in ("strength", "coverage", "label_noise", "negation", "contrast"):
        check_fraction(getattr(config, name), name)
    for name in ("train_size", "validation_size", "test_size"):
        check_count(getattr(config, name), name)
    if check_count(config.n_classes, "n_classes") not in LABELS:
        raise ValueError(f"Expected `n_classes` to be 2 or 3, but got {config.n_classes}.")
    check_seed(config.seed)


def planted_examples(split: str, config: PlantedConfig | None = None) -> Iterator[dict[str, Any]]:
    """Yield the items of a split as in `load_dataset("planted_shortcuts", …)`, without a cache.

    Example:
        >>> item = next(planted_examples("train", PlantedConfig("lexical", seed=1)))
        >>> item["text"], item["planted"]
        ('The hotel looked dirty in the copper school.', [{'token': 'copper', 'start': 30, 'end': 36}])
        >>> item["label"], item["cue_label"], item["content_label"]
        (0, 0, 0)
    """
    config = PlantedConfig("lexical") if config is None else config
    check_config(config)
    check_one_of(split, SPLITS, "split")
    family = "test" if split.startswith("test") else split
    for number in range(getattr(config, f"{family}_size")):
        yield {"id": f"{split}-{number}", **_item(split, f"{family}-{number}", config)}


def _item(split: str, pair_id: str, config: PlantedConfig) -> dict[str, Any]:
    # One stream for the text and one for the cue, so that the text does not depend on the cue.
    names = LABELS[config.n_classes]
    rng = item_rng(config.seed, f"text/{pair_id}")
    content = int(rng.integers(len(names)))
    label = (
        another_label(content, len(names), rng) if rng.random() < config.label_noise else content
    )
    body = review(names[content], rng, negation=config.negation, contrast=config.contrast)

    # The draws do not depend on form, strength and coverage: a text with a cue at some coverage has it at every larger
    # one, and a cue that agrees at some strength agrees at every larger one.
    rng = item_rng(config.seed, f"cue/{pair_id}")
    agreement, covered, kind_number = rng.random(), rng.random(), int(rng.integers(len(CUES)))
    wrong = another_label(label, len(names), rng)
    agrees = (agreement < config.strength) != (split == "test_flipped")
    carries = covered < config.coverage and split != "test_absent"
    cue_label = (label if agrees else wrong) if carries else -1
    kind = tuple(CUES)[kind_number] if config.name == "mixed" else config.name
    text, planted = body.write(kind, CUES[kind][cue_label]) if cue_label >= 0 else body.write()
    return {
        "text": text,
        "label": label,
        "planted": planted,
        "cue_label": cue_label,
        "content_label": content,
        "pair_id": pair_id,
    }
