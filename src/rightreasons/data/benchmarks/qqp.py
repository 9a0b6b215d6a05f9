"""QQP: pairs of questions from Quora, with the same meaning or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.data.builders.builder import Builder, Hub, classification_features
from rightreasons.data.builders.sources import Source
from rightreasons.foundations.bounds import read_json

LABELS = ("not_duplicate", "duplicate")

_URL = "https://raw.githubusercontent.com/ZhengxiangShi/PowerfulPromptFT/b4ecdea0/data/glue_pretrain/QQP/"


class QQP(Builder):
    """Quora question pairs with labels 0 (not duplicate) and 1 (duplicate).

    The local files are a sample that was published with another paper's code: 8,999 training and 1,000 validation
    pairs, 36 % and 38 % of them duplicates. The hub's copy (GLUE) is complete: about 364,000 and 40,000 pairs; a pair
    of which one question is empty is left out, and so is the test split, whose labels are not public.
    """

    NAME = "qqp"
    FOLDER = "qqp"
    DESCRIPTION = "Quora question pairs, duplicates or not."
    CITATION = "Iyer, Dandekar, Csernai (2017). First Quora Dataset Release: Question Pairs."
    LICENSE = "Quora's terms of service; for non-commercial use"
    SPLITS: ClassVar = {"train": ("train.json",), "validation": ("dev.json",)}
    HOMEPAGE = "https://quoradata.quora.com/First-Quora-Dataset-Release-Question-Pairs"
    SOURCES = (
        Source("train.json", _URL, 1861637, "90d61eea319216f1968490fe1fcd3d3e3aba6003ad0b1792dba235c2909042c2"),
        Source("dev.json", _URL, 203372, "d3f19553e7842d0bf6369dcb4972a1a093a9ab95cb4de9eda1dd2101daa6a04d"),
    )
    HUB = Hub(
        "nyu-mll/glue",
        revision="bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c",
        files={
            "default": {
                "train": ("qqp/train-00000-of-00001.parquet",),
                "validation": ("qqp/validation-00000-of-00001.parquet",),
            }
        },
    )

    def features(self) -> datasets.Features:
        """Return the columns."""
        return classification_features(LABELS, text_pair=datasets.Value("string"))

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield one example per entry: number -> text_a, text_b, and the label as a digit."""
        (file,) = files.values()
        for number, entry in _entries(file).items():
            texts = [entry.get(name) if isinstance(entry, dict) else None for name in ("text_a", "text_b")]
            if not all(isinstance(text, str) and text.strip() for text in texts):
                raise ValueError(f"Expected two questions, text_a and text_b, in entry {number!r} of {file}.")
            if str(entry.get("label")) not in ("0", "1"):
                raise ValueError(
                    f"Expected the label 0 or 1 in entry {number!r} of {file}, but got {entry.get('label')!r}."
                )
            first, second = (str(text).strip() for text in texts)
            yield {"id": f"{split}-{number}", "text": first, "text_pair": second, "label": int(entry["label"])}

    def from_hub(self, split: str, row: dict[str, Any], number: int) -> dict[str, Any] | None:
        """Turn a row of the hub into an example."""
        first, second = row["question1"].strip(), row["question2"].strip()
        if not (first and second):
            return None
        return {"id": f"{split}-{number}", "text": first, "text_pair": second, "label": row["label"]}


def _entries(file: Path) -> dict[str, Any]:
    entries = read_json(file)
    if not isinstance(entries, dict):
        raise ValueError(f"Expected an object of numbered entries in {file}, but got {type(entries).__name__}.")
    return entries
