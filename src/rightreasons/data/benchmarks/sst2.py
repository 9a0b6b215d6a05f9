"""SST-2: sentences of movie reviews, negative or positive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from rightreasons.data.builders.builder import ClassificationBuilder, Hub, read_table
from rightreasons.data.builders.sources import Source

_URL = (
    "https://raw.githubusercontent.com/clairett/pytorch-sentiment-classification/"
    "457ffd83de90a9d6d472d8ffc31bbffe40a8b236/data/SST2/"
)


class SST2(ClassificationBuilder):
    """The whole sentences of SST-2 with labels on all three splits: 6,920, 872 and 1,821.

    The publisher's copy lacks most punctuation; the hub's (SetFit/sst2) has the same sentences with the treebank's
    tokens. GLUE's SST-2 differs: it has 67,349 training phrases and no labels on the test split.
    """

    NAME = "sst2"
    FOLDER = "sst2"
    DESCRIPTION = "Stanford Sentiment Treebank, whole sentences, negative or positive."
    CITATION = (
        "Socher, Perelygin, Wu, Chuang, Manning, Ng, Potts (2013). Recursive Deep Models for Semantic Compositionality "
        "Over a Sentiment Treebank. EMNLP."
    )
    LICENSE = "none stated"
    LABELS = ("negative", "positive")
    SPLITS: ClassVar = {"train": ("train.tsv",), "validation": ("dev.tsv",), "test": ("test.tsv",)}
    HOMEPAGE = "https://nlp.stanford.edu/sentiment/"
    SOURCES = (
        Source("train.tsv", _URL, 720259, "ec192f833a64da08f475488a77b0d0b47db47acd0f458bd18433fc793b569920"),
        Source("dev.tsv", _URL, 92057, "eddea6b39e601dd4e7a672b53cc40fdf6019fa80522f351206c24340ca5d9359"),
        Source("test.tsv", _URL, 188749, "831169c7e2e429d6026e1bdbb542f33b636e3e596caad9602ebc953c205928b7"),
    )
    HUB = Hub(
        "SetFit/sst2",
        revision="main",
        files={"default": {"train": ("train.jsonl",), "validation": ("dev.jsonl",), "test": ("test.jsonl",)}},
    )

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield one example per line."""
        (file,) = files.values()
        for number, (text, label) in enumerate(read_table(file, columns=2)):
            yield {"id": f"{split}-{number}", "text": text.strip(), "label": int(label)}
