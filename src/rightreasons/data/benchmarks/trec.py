"""TREC: what kind of answer a question asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.data.builders.builder import Builder, Config, Hub, classification_features, read_lines
from rightreasons.data.builders.sources import Source

# The order of the hub's copy, so that models trained on either have the same classes.
COARSE = ("ABBR", "ENTY", "DESC", "HUM", "LOC", "NUM")
_FINE = {
    "ABBR": "abb exp",
    "ENTY": "animal body color cremat currency dismed event food instru lang letter other plant product religion "
    "sport substance symbol techmeth termeq veh word",
    "DESC": "def desc manner reason",
    "HUM": "gr ind title desc",
    "LOC": "city country mount other state",
    "NUM": "code count date dist money ord other period perc speed temp volsize weight",
}
FINE = tuple(f"{coarse}:{fine}" for coarse in COARSE for fine in _FINE[coarse].split())

_URL = "https://raw.githubusercontent.com/FreedomIntelligence/qnn/"
_FILES = {"train": ("default/train/0000.parquet",), "test": ("default/test/0000.parquet",)}


class TREC(Builder):
    """5,452 training and 500 test questions: six coarse classes, or with the configuration "fine" fifty.

    The training file is Latin-1; its one byte beyond ASCII, between two words, is read as a space.
    """

    NAME = "trec"
    FOLDER = "trec"
    DESCRIPTION = "TREC question classification."
    CITATION = "Li, Roth (2002). Learning Question Classifiers. COLING."
    LICENSE = "none stated"
    SPLITS: ClassVar = {"train": ("train_5500.label",), "test": ("TREC_10.label",)}
    HOMEPAGE = "https://cogcomp.seas.upenn.edu/Data/QA/QC/"
    BUILDER_CONFIGS: ClassVar[list[Config]] = [Config(name="coarse"), Config(name="fine")]
    SOURCES = (
        Source(
            "train_5500.label",
            f"{_URL}b47a07f232fee6b71a38efaa50a3f467a2cc7885/data/TREC/",
            333379,
            "8bd6e79493f43bbd22c364587366a1dced54e1e31259eaa92721a0f526031116",
        ),
        Source(
            "TREC_10.label",
            f"{_URL}a45c6ae2535d12a191858907ead860eefd499f16/data/TREC/",
            23269,
            "86ad53c8fc9d397ab2f4be7c967d8efb470b260140557d3e57afad69d1b88b76",
        ),
    )
    # The repository itself holds a loading script; this commit is the hub's own conversion of it to parquet.
    HUB = Hub(
        "CogComp/trec",
        revision="65752bf53af25bc935a0dce92fb5b6c930728450",
        files={"coarse": _FILES, "fine": _FILES},
    )

    def features(self) -> datasets.Features:
        """Return the columns."""
        return classification_features(COARSE if self.config.name == "coarse" else FINE)

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield one example per line: `COARSE:fine question`."""
        (file,) = files.values()
        for number, line in enumerate(read_lines(file, "latin-1")):
            fine, _, text = line.replace("\xf0", " ").partition(" ")
            label = fine if self.config.name == "fine" else fine.partition(":")[0]
            yield {"id": f"{split}-{number}", "text": text.strip(), "label": label}

    def from_hub(self, split: str, row: dict[str, Any], number: int) -> dict[str, Any]:
        """Turn a row of the hub into an example."""
        return {"id": f"{split}-{number}", "text": row["text"].strip(), "label": row[f"{self.config.name}_label"]}
