"""TweetEval: four ways to classify a tweet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from rightreasons.data.builders.builder import ClassificationBuilder, Hub, read_lines
from rightreasons.data.builders.sources import Source

_STEMS = {"train": "train", "validation": "val", "test": "test"}


def _sources(task: str, *checks: tuple[int, str] | None) -> tuple[Source, ...]:
    """Declare texts and labels of each split, with their sizes and checksums (None: not known)."""
    url = f"https://raw.githubusercontent.com/cardiffnlp/tweeteval/main/datasets/{task}/"
    names = [f"{stem}_{part}.txt" for stem in _STEMS.values() for part in ("text", "labels")]
    return tuple(Source(name, url, *(check or ())) for name, check in zip(names, checks, strict=True))


def _hub(task: str) -> Hub:
    files = {split: (f"{task}/{split}-00000-of-00001.parquet",) for split in _STEMS}
    return Hub("cardiffnlp/tweet_eval", "b3a375baf0f409c77e6bc7aa35102b7b3534f8be", {"default": files})


class TweetEval(ClassificationBuilder):
    """One task of TweetEval: one file with a tweet per line and one with a label per line.

    Tweets that are empty without their spaces (seven in the training and one in the validation split of `hate`) are
    left out; the ids keep the numbers of the lines.
    """

    CITATION = (
        "Barbieri, Camacho-Collados, Espinosa-Anke, Neves (2020). TweetEval: Unified Benchmark and Comparative "
        "Evaluation for Tweet Classification. Findings of EMNLP."
    )
    LICENSE = "none beyond that of each task; the tweets are their authors'"
    SPLITS: ClassVar = {split: (f"{stem}_text.txt", f"{stem}_labels.txt") for split, stem in _STEMS.items()}
    HOMEPAGE = "https://github.com/cardiffnlp/tweeteval"

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
        """Yield one example per line."""
        texts, labels = (read_lines(file) for file in files.values())
        if len(texts) != len(labels):
            raise ValueError(
                f"Expected as many labels as tweets in split {split!r} of {self.NAME!r}, but got {len(labels)} and "
                f"{len(texts)}."
            )
        for number, (text, label) in enumerate(zip(texts, labels, strict=True)):
            if text.strip():
                yield {"id": f"{split}-{number}", "text": text.strip(), "label": int(label)}


class TweetEvalEmotion(TweetEval):
    """The emotion of a tweet (SemEval-2018 task 1): 3,257, 374 and 1,421 tweets."""

    NAME = "tweeteval_emotion"
    FOLDER = "tweeteval/emotion"
    DESCRIPTION = "TweetEval: emotion."
    LABELS = ("anger", "joy", "optimism", "sadness")
    HUB = _hub("emotion")
    SOURCES = _sources(
        "emotion",
        (306630, "2c62f67aeb3eac1aea0e5a9c3d0f4bc337992581f3f858061786a1fb4d79d95e"),
        (6514, "987e767d8679e18abdf7de37a6d2bcd0a40a296ddd704e8d515cf0e3033c8d9c"),
        (34556, "e2e30c86b8cbb97944d6543aedc06eace3bb275cb2f381aba787b838b4f23ca5"),
        (748, "313730630160b7e0a6b4235b800c76683f4aeeb72d094eb69646630cd5cfe338"),
        (132523, "7e1070f5d3e3fcece5bc73680bff9981e90d8f7b2f1009bfe7a01d059d1c6091"),
        (2842, "245072348c711961785be6d395997f97cf7fcda3effeae7805664171dc75f913"),
    )


class TweetEvalHate(TweetEval):
    """Hateful or not, against women and immigrants (SemEval-2019 task 5): 8,993, 999 and 2,970 tweets."""

    NAME = "tweeteval_hate"
    FOLDER = "tweeteval/hate"
    DESCRIPTION = "TweetEval: hate."
    LABELS = ("not-hate", "hate")
    HUB = _hub("hate")
    SOURCES = _sources(
        "hate",
        (1133852, "6572bb3a42143128a5dfa99af8debeb0668e637c34b2d1e3140dac47316fe2c2"),
        (18000, "4e8fde025a453a25c94632794254131dedeac4e57228ad64157c41571cc88f71"),
        (144174, "1ff78b1ed4c5ce43284b9eba32eb7d60c6d45d0d1b3b4d6df456ae01640764f1"),
        (2000, "5092badf1a0e70036ea6264bcd0b78afc07d0f4a512fa6af34c2c4973600656b"),
        (399242, "bc4762876a8dd8baa55c3cd7b03108e3231a5d691e80b8b1ef97c5be31b9da9a"),
        (5940, "c14adca6b3627616a835c5ccea8a1cceb0235cd79417257f093eb0e16a69c62f"),
    )


class TweetEvalIrony(TweetEval):
    """Ironic or not (SemEval-2018 task 3): 2,862, 955 and 784 tweets."""

    NAME = "tweeteval_irony"
    FOLDER = "tweeteval/irony"
    DESCRIPTION = "TweetEval: irony."
    LABELS = ("non_irony", "irony")
    HUB = _hub("irony")
    SOURCES = _sources(
        "irony",
        (231594, "a888125a44f7dfaa25b026318748d0e62cc9a300d20f66eafd62011a19eaea23"),
        (5724, "fc69e6106c0f1f433a91536e08f83c71a391d7b219f7684d42f243a8089af77d"),
        (76760, "8806cf3793e300a485cfae34892fc3a0a2f9a183deb06c750c6531515c83051e"),
        (1910, "ccf429f63b4e8d0e7f425ca09445f7c31f7cea8a1b7c283b015b117c4002fd07"),
        (68057, "53103da934a7308eee82f05f2a9781a8ea3e88604fdc1e02d3101108505c64be"),
        (1568, "08e2095e1725e74907a380614c220204e356bb46e3e8c93deb74e83e5b15ab38"),
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
    SOURCES = _sources(
        "sentiment",
        None,
        None,
        (219137, "e5b021e6fc45064c260b09814b803d8f56cada519c4d952d72f43d48a350a964"),
        (4000, "b4566926c72e2e4e2916c864def94e76c4cdde52446af2c7ba4fc2006e057e51"),
        (1156877, "09a93a55c63fd93f97485ef7302889d7edb4091cd49733aa37da094f0bfa0675"),
        (24568, "6afb4afe9374d1f983bcf9a7c79b108d0f37fdf020a83f30488309bed215db9d"),
    )

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        """Return the files with and without those of the training split."""
        return (cls.SOURCES, cls.SOURCES[2:])
