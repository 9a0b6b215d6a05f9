"""Pairs of film reviews: an original and a minimal revision of the opposite sentiment, by experts or crowd workers."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.data.builders.builder import Builder, classification_features
from rightreasons.data.builders.sources import Source

Row = dict[str, Any]
LABELS = ("Negative", "Positive")
ROLES = ("original", "perturbed")
_BREAK = re.compile(r"<br\s*/?>?")  # some revisions broke a tag


_CONTRAST = "https://raw.githubusercontent.com/allenai/contrast-sets/e2b87316/IMDb/data/"
_PAIRED = "https://raw.githubusercontent.com/acmi-lab/counterfactually-augmented-data/6f232a1d/sentiment/"


class PairedReviews(Builder):
    """The common part of both sets: the columns, and how a review becomes a row."""

    HOMEPAGE = "https://ai.stanford.edu/~amaas/data/sentiment/"

    def features(self) -> datasets.Features:
        return classification_features(
            ["negative", "positive"], pair_id=datasets.Value("string"), role=datasets.Value("string")
        )

    def review(self, split: str, pair: object, role: str, sentiment: str, text: str) -> Row:
        """Build one row; line breaks of the web page become spaces."""
        if sentiment not in LABELS:
            raise ValueError(
                f"Expected the sentiment of pair {pair} of {self.NAME!r} to be Negative or Positive, but it is "
                f"{sentiment!r}."
            )
        return {
            "id": f"{split}-{pair}-{role}",
            "text": " ".join(_BREAK.sub(" ", text).split()),
            "label": LABELS.index(sentiment),
            "pair_id": f"{split}-{pair}",
            "role": role,
        }

    def opposed(self, split: str, pair: object, first: Sequence[str], second: Sequence[str]) -> Iterator[Row]:
        """Yield an original and its perturbed twin, whose sentiments must differ."""
        if first[0] == second[0]:
            raise ValueError(
                f"Expected the two reviews of pair {pair} of {self.NAME!r} to differ in sentiment, but both are "
                f"{first[0]!r}."
            )
        for role, (sentiment, text) in zip(ROLES, (first[:2], second[:2]), strict=True):
            yield self.review(split, pair, role, sentiment, text)


class ImdbContrast(PairedReviews):
    """Contrast sets: IMDb reviews that experts revised to reverse the sentiment."""

    NAME = "imdb_contrast"
    FOLDER = "imdb_contrast"
    DESCRIPTION = "IMDb reviews and their contrast sets: revised by experts to reverse the sentiment."
    CITATION = (
        "Gardner et al. (2020). Evaluating Models' Local Decision Boundaries via Contrast Sets. Findings of EMNLP."
    )
    LICENSE = "none stated"
    SOURCES = (
        Source(
            "dev_original.tsv", _CONTRAST, 92558, "349a8821bb8932d7ad236e4a6d3ed01fd9b99fdae1c7c6a1a9f3d442de4a4304"
        ),
        Source(
            "dev_contrast.tsv", _CONTRAST, 95036, "ec5c984b43c045613dc00c4fd044f362e78351eef82bf07e4429583decaa0e92"
        ),
        Source(
            "test_original.tsv", _CONTRAST, 452024, "9dc78ddeb5cb6ff6060d24df33a83b6d29f9828994f4b1a5e0086f7e774713bd"
        ),
        Source(
            "test_contrast.tsv", _CONTRAST, 453717, "3bcb3bd41218b6a5d7bef7fe020a243919f3df0f12f55291b25ef8bbdbe04173"
        ),
    )
    SPLITS: ClassVar = {
        "validation": ("dev_original.tsv", "dev_contrast.tsv"),
        "test": ("test_original.tsv", "test_contrast.tsv"),
    }

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        originals, contrasts = (_rows(file) for file in files.values())
        if len(originals) != len(contrasts):
            raise ValueError(
                f"Expected as many contrasts as originals in {self.NAME!r}, but got {len(contrasts)} and "
                f"{len(originals)}."
            )
        for number, (first, second) in enumerate(zip(originals, contrasts, strict=True)):
            yield from self.opposed(split, number, first, second)


class ImdbCounterfactual(PairedReviews):
    """Counterfactually augmented IMDb: reviews that crowd workers revised to reverse the sentiment."""

    NAME = "imdb_counterfactual"
    FOLDER = "imdb_counterfactual"
    DESCRIPTION = "IMDb reviews and their revisions by crowd workers, which reverse the sentiment."
    CITATION = (
        "Kaushik, Hovy, Lipton (2020). Learning the Difference that Makes a Difference with Counterfactually-Augmented "
        "Data. ICLR."
    )
    LICENSE = "Apache-2.0"
    SOURCES = (
        Source(
            "combined/paired/train_paired.tsv",
            _PAIRED,
            3179425,
            "7ac50ca3d70890f80e11ee59955cdbfc43f26b5078d0603717817ab224d2af18",
        ),
        Source(
            "combined/paired/dev_paired.tsv",
            _PAIRED,
            466175,
            "4c2d8a70cbce23eba27fb1f0bb5043cf044811912435cf8d10c3ea6fc7a51363",
        ),
        Source(
            "combined/paired/test_paired.tsv",
            _PAIRED,
            907811,
            "9534b20850205c59015b313983cae7afb31c54c04ffcbd19cea7f1bce5011275",
        ),
    )
    SPLITS: ClassVar = {
        split: (f"combined/paired/{stem}_paired.tsv",)
        for split, stem in (("train", "train"), ("validation", "dev"), ("test", "test"))
    }

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        pairs: dict[str, list[list[str]]] = {}
        for row in _rows(next(iter(files.values()))):
            pairs.setdefault(row[2], []).append(row)
        for pair, rows in pairs.items():
            if len(rows) != 2:
                raise ValueError(f"Expected two reviews of pair {pair} of {self.NAME!r}, but got {len(rows)}.")
            # The original comes first, as the separate files of originals and revisions show where their texts agree.
            yield from self.opposed(split, pair, *rows)


def _rows(file: Path) -> list[list[str]]:
    """Read the rows of a tab-separated file with quotes, without its header."""
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream, delimiter="\t"))[1:]
