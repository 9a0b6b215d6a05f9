"""AG News: the topic of a news item."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rightreasons.data.builders.builder import ClassificationBuilder, Config, Hub
from rightreasons.data.builders.sources import Source

_URL = "https://raw.githubusercontent.com/mhjabreel/CharCnn_Keras/master/data/ag_news_csv/"
_TRAIN = Source("train.csv", _URL)
_TEST = Source("test.csv", _URL, 1857427, "521465c2428ed7f02f8d6db6ffdd4b5447c1c701962353eb2c40d548c3c85699")
_SAMPLE = Source(
    "alps_train.tsv",
    "https://raw.githubusercontent.com/forest-snow/alps/43232f234087cdbb4b06cd0e3997460610a0dbfd/data/agnews/dev.tsv",
    2030410,
    "7a0811e0006080bf4de17752c5466450ff3db778be71bc5bcf3c4e99b5f0803d",
    citation="Yuan, Lin, Boyd-Graber (2020). Cold-start Active Learning through Self-supervised Language Modeling.",
)


class AGNews(ClassificationBuilder):
    """News items of four topics.

    `default` is the usual data set: title and description in one text, 120,000 training and 7,600
    test items; a local folder without the big `train.csv` gives the test items alone. `descriptions` has the
    description alone and works with a small local copy: its `train` holds 9,991 items (a published sample of 10,001
    without the ten whose description is also in the test split), its `test` the 7,600.
    """

    NAME = "ag_news"
    FOLDER = "ag_news"
    DESCRIPTION = "AG's corpus of news articles, four topics."
    CITATION = "Zhang, Zhao, LeCun (2015). Character-level Convolutional Networks for Text Classification. NeurIPS."
    LICENSE = "research, non-commercial"
    LABELS = ("World", "Sports", "Business", "Sci/Tech")
    HOMEPAGE = "http://groups.di.unipi.it/~gulli/AG_corpus_of_news_articles.html"
    BUILDER_CONFIGS: ClassVar[list[Config]] = [Config(name="default"), Config(name="descriptions")]
    SOURCES = (_TRAIN, _TEST, _SAMPLE)
    HUB = Hub(
        "fancyzhx/ag_news",
        revision="eb185aade064a813bc0b7f42de02595523103ca4",
        files={
            "default": {
                "train": ("data/train-00000-of-00001.parquet",),
                "test": ("data/test-00000-of-00001.parquet",),
            }
        },
    )

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        """Return the files of a configuration; the training file may be absent."""
        return ((_TRAIN, _TEST), (_TEST,)) if config_name == "default" else ((_SAMPLE, _TEST),)

    def splits(self) -> Mapping[str, Sequence[str]]:
        """Return the files of each split; the sample needs the test items, which it must not contain."""
        train = (_TRAIN.path,) if self.config.name == "default" else (_SAMPLE.path, _TEST.path)
        return {"train": train, "test": (_TEST.path,)}

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield one example per row of a published file (class from 1, title, description) or of the sample."""
        if _SAMPLE.path in files:
            held_out = {description.strip() for _, _, description in _rows(files[_TEST.path], ",", columns=3)}
            for number, (text, topic) in enumerate(_rows(files[_SAMPLE.path], "\t", columns=2)):
                if text.strip() not in held_out:
                    yield {"id": f"{split}-{number}", "text": text.strip(), "label": topic}
            return
        (file,) = files.values()
        for number, (label, title, description) in enumerate(_rows(file, ",", columns=3)):
            text = description if self.config.name == "descriptions" else f"{title} {description}"
            yield {"id": f"{split}-{number}", "text": text.strip(), "label": int(label) - 1}


def _rows(file: Path, delimiter: str, *, columns: int) -> Iterator[list[str]]:
    with open(file, encoding="utf-8", newline="") as stream:
        for number, row in enumerate(csv.reader(stream, delimiter=delimiter), start=1):
            if len(row) != columns:
                raise ValueError(f"Expected {columns} columns in {file}, but row {number} has {len(row)}.")
            yield row
