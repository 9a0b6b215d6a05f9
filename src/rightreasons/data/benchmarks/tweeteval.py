"""TweetEval: four ways to classify a tweet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.data.builders.builder import Builder, Hub, classification_features, read_lines
from rightreasons.data.builders.sources import Source

_SPLITS = {"train": "train", "validation": "val", "test": "test"}
_LICENCE = "none beyond that of each task; the tweets are their authors'"
_CITATION = (
    "Barbieri, Camacho-Collados, Espinosa-Anke, Neves (2020). TweetEval: Unified Benchmark and Comparative Evaluation "
    "for Tweet Classification. Findings of EMNLP."
)


def _source(task: str, name: str, size: int | None = None, sha256: str | None = None) -> Source:
    url = f"https://raw.githubusercontent.com/cardiffnlp/tweeteval/main/datasets/{task}/{name}"
    return Source(name, url, size, sha256, _LICENCE, _CITATION)


def _hub(task: str) -> Hub:
    files = {split: (f"{task}/{split}-00000-of-00001.parquet",) for split in _SPLITS}
    return Hub("cardiffnlp/tweet_eval", "b3a375baf0f409c77e6bc7aa35102b7b3534f8be", {"default": files})


class TweetEval(Builder):
    """One task of TweetEval: a tweet and a label a line, in two files.

    Tweets that are empty once spaces are taken off (seven in the training and one in the validation split of `hate`)
    are left out; the ids keep the numbers of the lines.
    """

    LABELS: ClassVar[tuple[str, ...]]
    CITATION = _CITATION
    LICENSE = _LICENCE
    HOMEPAGE = "https://github.com/cardiffnlp/tweeteval"

    def features(self) -> datasets.Features:
        """Return the columns."""
        return classification_features(self.LABELS)

    def splits(self) -> Mapping[str, Sequence[str]]:
        """Return the two files of each split."""
        return {split: (f"{stem}_text.txt", f"{stem}_labels.txt") for split, stem in _SPLITS.items()}

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield one example a line."""
        texts, labels = (read_lines(file) for file in files.values())
        if len(texts) != len(labels):
            raise ValueError(
                f"Expected as many labels as tweets in split {split!r} of {self.NAME!r}, but got {len(labels)} and "
                f"{len(texts)}."
            )
        for number, (text, label) in enumerate(zip(texts, labels, strict=True)):
            if text.strip():
                yield {"id": f"{split}-{number}", "text": text.strip(), "label": int(label)}

    def from_hub(self, split: str, row: dict[str, Any], number: int) -> dict[str, Any] | None:
        """Turn a row of the hub into an example."""
        text = row["text"].strip()
        return {"id": f"{split}-{number}", "text": text, "label": row["label"]} if text else None


class TweetEvalEmotion(TweetEval):
    """The emotion of a tweet (SemEval-2018 task 1): 3,257, 374 and 1,421 tweets."""

    NAME = "tweeteval_emotion"
    FOLDER = "tweeteval/emotion"
    DESCRIPTION = "TweetEval: emotion."
    LABELS = ("anger", "joy", "optimism", "sadness")
    HUB = _hub("emotion")
    SOURCES = (
        _source(
            "emotion", "train_text.txt", 306630, "2c62f67aeb3eac1aea0e5a9c3d0f4bc337992581f3f858061786a1fb4d79d95e"
        ),
        _source(
            "emotion", "train_labels.txt", 6514, "987e767d8679e18abdf7de37a6d2bcd0a40a296ddd704e8d515cf0e3033c8d9c"
        ),
        _source("emotion", "val_text.txt", 34556, "e2e30c86b8cbb97944d6543aedc06eace3bb275cb2f381aba787b838b4f23ca5"),
        _source("emotion", "val_labels.txt", 748, "313730630160b7e0a6b4235b800c76683f4aeeb72d094eb69646630cd5cfe338"),
        _source("emotion", "test_text.txt", 132523, "7e1070f5d3e3fcece5bc73680bff9981e90d8f7b2f1009bfe7a01d059d1c6091"),
        _source("emotion", "test_labels.txt", 2842, "245072348c711961785be6d395997f97cf7fcda3effeae7805664171dc75f913"),
    )


class TweetEvalHate(TweetEval):
    """Hateful or not, against women and immigrants (SemEval-2019 task 5): 8,993, 999 and 2,970 tweets."""

    NAME = "tweeteval_hate"
    FOLDER = "tweeteval/hate"
    DESCRIPTION = "TweetEval: hate."
    LABELS = ("not-hate", "hate")
    HUB = _hub("hate")
    SOURCES = (
        _source("hate", "train_text.txt", 1133852, "6572bb3a42143128a5dfa99af8debeb0668e637c34b2d1e3140dac47316fe2c2"),
        _source("hate", "train_labels.txt", 18000, "4e8fde025a453a25c94632794254131dedeac4e57228ad64157c41571cc88f71"),
        _source("hate", "val_text.txt", 144174, "1ff78b1ed4c5ce43284b9eba32eb7d60c6d45d0d1b3b4d6df456ae01640764f1"),
        _source("hate", "val_labels.txt", 2000, "5092badf1a0e70036ea6264bcd0b78afc07d0f4a512fa6af34c2c4973600656b"),
        _source("hate", "test_text.txt", 399242, "bc4762876a8dd8baa55c3cd7b03108e3231a5d691e80b8b1ef97c5be31b9da9a"),
        _source("hate", "test_labels.txt", 5940, "c14adca6b3627616a835c5ccea8a1cceb0235cd79417257f093eb0e16a69c62f"),
    )


class TweetEvalIrony(TweetEval):
    """Ironic or not (SemEval-2018 task 3): 2,862, 955 and 784 tweets."""

    NAME = "tweeteval_irony"
    FOLDER = "tweeteval/irony"
    DESCRIPTION = "TweetEval: irony."
    LABELS = ("non_irony", "irony")
    HUB = _hub("irony")
    SOURCES = (
        _source("irony", "train_text.txt", 231594, "a888125a44f7dfaa25b026318748d0e62cc9a300d20f66eafd62011a19eaea23"),
        _source("irony", "train_labels.txt", 5724, "fc69e6106c0f1f433a91536e08f83c71a391d7b219f7684d42f243a8089af77d"),
        _source("irony", "val_text.txt", 76760, "8806cf3793e300a485cfae34892fc3a0a2f9a183deb06c750c6531515c83051e"),
        _source("irony", "val_labels.txt", 1910, "ccf429f63b4e8d0e7f425ca09445f7c31f7cea8a1b7c283b015b117c4002fd07"),
        _source("irony", "test_text.txt", 68057, "53103da934a7308eee82f05f2a9781a8ea3e88604fdc1e02d3101108505c64be"),
        _source("irony", "test_labels.txt", 1568, "08e2095e1725e74907a380614c220204e356bb46e3e8c93deb74e83e5b15ab38"),
    )


class TweetEvalSentiment(TweetEval):
    """The sentiment of a tweet (SemEval-2017 task 4): 45,615, 2,000 and 12,284 tweets.

    A local folder without the big training files gives the other two splits.
    """

    NAME = "tweeteval_sentiment"
    FOLDER = "tweeteval/sentiment"
    DESCRIPTION = "TweetEval: sentiment."
    LABELS = ("negative", "neutral", "positive")
    HUB = _hub("sentiment")
    SOURCES = (
        _source("sentiment", "train_text.txt"),
        _source("sentiment", "train_labels.txt"),
        _source(
            "sentiment", "val_text.txt", 219137, "e5b021e6fc45064c260b09814b803d8f56cada519c4d952d72f43d48a350a964"
        ),
        _source(
            "sentiment", "val_labels.txt", 4000, "b4566926c72e2e4e2916c864def94e76c4cdde52446af2c7ba4fc2006e057e51"
        ),
        _source(
            "sentiment", "test_text.txt", 1156877, "09a93a55c63fd93f97485ef7302889d7edb4091cd49733aa37da094f0bfa0675"
        ),
        _source(
            "sentiment", "test_labels.txt", 24568, "6afb4afe9374d1f983bcf9a7c79b108d0f37fdf020a83f30488309bed215db9d"
        ),
    )

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        """Return the files with and without those of the training split."""
        return (cls.SOURCES, cls.SOURCES[2:])
