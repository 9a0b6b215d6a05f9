"""CoLA: sentences from the linguistics literature, acceptable or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from rightreasons.data.builders.builder import ClassificationBuilder, Hub, read_table
from rightreasons.data.builders.sources import Source

_URL = "https://raw.githubusercontent.com/nyu-mll/CoLA-baselines/master/acceptability_corpus/raw/"


class CoLA(ClassificationBuilder):
    """CoLA 1.1: 8,551 training sentences, and two development splits with labels.

    `validation` holds 527 sentences from the sources of the training split and `validation_out_of_domain` 516 from
    others. The hub's copy (GLUE) joins both in one `validation` of 1,043. No test labels are public.
    """

    NAME = "cola"
    FOLDER = "cola"
    DESCRIPTION = "The Corpus of Linguistic Acceptability, version 1.1."
    CITATION = "Warstadt, Singh, Bowman (2019). Neural Network Acceptability Judgments. TACL 7."
    LICENSE = "none stated; the sentences are the authors' of the cited literature"
    LABELS = ("unacceptable", "acceptable")
    HUB_TEXT = "sentence"
    SPLITS: ClassVar = {
        "train": ("in_domain_train.tsv",),
        "validation": ("in_domain_dev.tsv",),
        "validation_out_of_domain": ("out_of_domain_dev.tsv",),
    }
    HOMEPAGE = "https://nyu-mll.github.io/CoLA/"
    SOURCES = (
        Source("in_domain_train.tsv", _URL, 428578, "f320a10f92d3bce6b29152fde322a362eac39238e50d8de0c8815457fdf4fc12"),
        Source("in_domain_dev.tsv", _URL, 25957, "77176f6a03faa5a1c4f23c69971fc1bff565931112fb65af47b2d6e24b7f42f7"),
        Source(
            "out_of_domain_dev.tsv", _URL, 27754, "201b9c57b2a20f1282242eec0ed8995729e3be19c29a46c047b3727338836c05"
        ),
    )
    HUB = Hub(
        "nyu-mll/glue",
        revision="bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c",
        files={
            "default": {
                "train": ("cola/train-00000-of-00001.parquet",),
                "validation": ("cola/validation-00000-of-00001.parquet",),
            }
        },
    )

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield one example per line: source, label, the author's mark, sentence."""
        (file,) = files.values()
        for number, (_, label, _, text) in enumerate(read_table(file, columns=4)):
            yield {"id": f"{split}-{number}", "text": text.strip(), "label": int(label)}
