"""aNLI, HellaSwag, PIQA and SocialIQA in the common multiple-choice schema.

The prompt is what a model reads before the choices: the two observations, the activity and the beginning of a scene,
the goal, or the context and the question. `prompt_parts` has its parts.
"""

from __future__ import annotations

import bz2
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.data.builders.builder import Builder, Hub, multiple_choice_features
from rightreasons.data.builders.sources import Source, members

Row = dict[str, Any]

_PIQA = "https://raw.githubusercontent.com/ybisk/ybisk.github.io/21edab43/piqa/data/"


class MultipleChoiceBuilder(Builder):
    """The common part of the four sets: their columns, and a check of every item."""

    N_CHOICES: ClassVar[int]

    def features(self) -> datasets.Features:
        return multiple_choice_features(prompt_parts=datasets.List(datasets.Value("string")))

    def item(self, item_id: str, parts: Sequence[str], choices: Sequence[str], label: int) -> Row:
        """Build one item and check it."""
        parts = [part.strip() for part in parts]
        choices = [choice.strip() for choice in choices]
        if not all(choices) or len(choices) != self.N_CHOICES:
            raise ValueError(
                f"Expected {self.N_CHOICES} choices with words in item {item_id!r} of {self.NAME!r}, but got {choices}."
            )
        if not -1 <= label < self.N_CHOICES:
            raise ValueError(
                f"Expected the label of item {item_id!r} of {self.NAME!r} to be a choice (0 to {self.N_CHOICES - 1}), "
                f"but it is {label}."
            )
        return {
            "id": item_id,
            "prompt": " ".join(part for part in parts if part),
            "choices": choices,
            "label": label,
            "prompt_parts": parts,
        }

    def json_lines(self, file: Path) -> Iterator[Row]:
        """Read a JSON-lines file."""
        yield from (json.loads(line) for line in file.read_text("utf-8").split("\n") if line.strip())

    def labels(self, text: str, items: Sequence[Row], first: int) -> list[int]:
        """Read one label per line, counted from `first`, and check that there is one per item."""
        labels = [int(line) - first for line in text.split()]
        if len(labels) != len(items):
            raise ValueError(
                f"Expected one label for each of the {len(items)} items of {self.NAME!r}, but the file holds "
                f"{len(labels)}."
            )
        return labels


class Anli(MultipleChoiceBuilder):
    """Abductive NLI: which hypothesis explains what happened between two observations?"""

    NAME = "anli"
    FOLDER = "anli"
    N_CHOICES = 2
    DESCRIPTION = "Abductive NLI: two observations and two hypotheses of what happened between them."
    CITATION = "Bhagavatula et al. (2020). Abductive Commonsense Reasoning. ICLR."
    LICENSE = "CC-BY-NC-4.0"
    HOMEPAGE = "https://leaderboard.allenai.org/anli"
    HUB = Hub(
        "allenai/art",
        "refs/convert/parquet",
        {"default": {"validation": ("anli/validation/0000.parquet",), "train": ("anli/train/0000.parquet",)}},
    )
    _URL = "https://storage.googleapis.com/ai2-mosaic/public/abductive-commonsense-reasoning-iclr2020/anli.zip"

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        official = tuple(Source(name, cls._URL) for name in ("dev.jsonl", "dev-labels.lst"))
        recast = Source(
            "anli_dev.jsonl",
            "https://raw.githubusercontent.com/Mayer123/HyKAS-CSKG/fa72d01b/tasks/anli_dev.jsonl",
            1094066,
            "2865962ae79e400187bb45089a001e256c6b01de33cd7525b9d0974a4e782c33",
        )
        return ((recast,), official)

    def splits(self) -> Mapping[str, Sequence[str]]:
        return {"validation": tuple(self.files) or ("anli_dev.jsonl",)}

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        if "anli_dev.jsonl" in files:
            for row in self.json_lines(files["anli_dev.jsonl"]):
                choices = row["question"]["choices"]
                label = [choice["label"] for choice in choices].index(row["answerKey"])
                parts = (row["context"], row["question"]["stem"])
                yield self.item(row["id"], parts, [choice["text"] for choice in choices], label)
            return
        rows = list(self.json_lines(files["dev.jsonl"]))
        labels = self.labels(files["dev-labels.lst"].read_text("utf-8"), rows, first=1)
        for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
            # Story ids repeat, once per pair of hypotheses.
            yield self.item(
                f"{row['story_id']}-{number}", (row["obs1"], row["obs2"]), (row["hyp1"], row["hyp2"]), label
            )

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        parts = (row["observation_1"], row["observation_2"])
        return self.item(f"{split}-{number}", parts, (row["hypothesis_1"], row["hypothesis_2"]), int(row["label"]) - 1)


class HellaSwag(MultipleChoiceBuilder):
    """HellaSwag: which ending continues the text?"""

    NAME = "hellaswag"
    FOLDER = "hellaswag"
    N_CHOICES = 4
    DESCRIPTION = "HellaSwag: a situation that breaks off, and four endings."
    CITATION = "Zellers et al. (2019). HellaSwag: Can a Machine Really Finish Your Sentence? ACL."
    LICENSE = "MIT"
    HOMEPAGE = "https://rowanzellers.com/hellaswag"
    HUB = Hub(
        "Rowan/hellaswag",
        "refs/convert/parquet",
        {"default": {"validation": ("default/validation/0000.parquet",), "train": ("default/train/0000.parquet",)}},
    )

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        official = Source(
            "hellaswag_val.jsonl",
            "https://raw.githubusercontent.com/rowanz/hellaswag/master/data/hellaswag_val.jsonl",
        )
        as_text = Source(
            "hellaswag_val_full.txt.bz2",
            "https://raw.githubusercontent.com/klosax/hellaswag_text_data/1105d370/hellaswag_val_full.txt.bz2",
            1964544,
            "50b637899e4263c2bc456c2dc726c95d2c8cd8e2a552ea5bd7719ce3cb03fe5b",
        )
        return ((as_text,), (official,))

    def splits(self) -> Mapping[str, Sequence[str]]:
        return {"validation": tuple(self.files) or ("hellaswag_val_full.txt.bz2",)}

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        if "hellaswag_val.jsonl" in files:
            for number, row in enumerate(self.json_lines(files["hellaswag_val.jsonl"])):
                yield self.from_hub(split, row, number)
            return
        with bz2.open(files["hellaswag_val_full.txt.bz2"], "rt", encoding="utf-8") as stream:
            lines = [line.rstrip("\n") for line in stream]
        if len(lines) % 6:
            raise ValueError(
                f"Expected six lines per item (context, label, four endings) in {self.NAME!r}, but the file has "
                f"{len(lines)} lines."
            )
        for number in range(len(lines) // 6):
            context, label, *endings = lines[6 * number : 6 * number + 6]
            activity, _, scene = context.partition(": ")
            yield self.item(f"validation-{number}", (f"{activity}:", scene), endings, int(label))

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        label = int(row["label"]) if str(row["label"]).strip() else -1  # the test split has none
        return self.item(f"{split}-{number}", (f"{row['activity_label']}:", row["ctx"]), row["endings"], label)


class Piqa(MultipleChoiceBuilder):
    """PIQA: which way reaches the goal?"""

    NAME = "piqa"
    FOLDER = "piqa"
    N_CHOICES = 2
    DESCRIPTION = "Physical interaction QA: a goal and two ways to reach it."
    CITATION = "Bisk et al. (2020). PIQA: Reasoning about Physical Commonsense in Natural Language. AAAI."
    LICENSE = "AFL-3.0"
    HOMEPAGE = "https://yonatanbisk.com/piqa"
    HUB = Hub(
        "ybisk/piqa",
        "refs/convert/parquet",
        {
            "default": {
                "validation": ("plain_text/validation/0000.parquet",),
                "train": ("plain_text/train/0000.parquet",),
                "test": ("plain_text/test/0000.parquet",),
            }
        },
    )
    SOURCES = (
        Source("valid.jsonl", _PIQA, 495929, "93503cc97c679e459b065c3d13e848282e44b2a25213985bed3e5d458abef72d"),
        Source("valid-labels.lst", _PIQA, 3676, "b4192dc3a2a0363d9d60ccf79800cbbe2f32ebb17726efdde6970e0b8131bceb"),
        Source("tests.jsonl", _PIQA, 814616, "402f1e2e61347db773e6e5e0a6b24f97396b59f6fd046dcdcbc12f483ac8553b"),
    )
    SPLITS: ClassVar = {"validation": ("valid.jsonl", "valid-labels.lst"), "test": ("tests.jsonl",)}

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        return (cls.SOURCES, cls.SOURCES[:2])

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        rows = list(self.json_lines(files["tests.jsonl" if split == "test" else "valid.jsonl"]))
        labels = [-1] * len(rows)
        if split == "validation":
            labels = self.labels(files["valid-labels.lst"].read_text("utf-8"), rows, first=0)
        for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
            yield self.from_hub(split, {**row, "label": label}, number)

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        return self.item(f"{split}-{number}", (row["goal"],), (row["sol1"], row["sol2"]), int(row["label"]))


class SocialIqa(MultipleChoiceBuilder):
    """SocialIQA: what do people want, feel and do?"""

    NAME = "socialiqa"
    FOLDER = "socialiqa"
    N_CHOICES = 3
    DESCRIPTION = "Social interaction QA: a situation, a question about it, and three answers."
    CITATION = "Sap et al. (2019). Social IQa: Commonsense Reasoning about Social Interactions. EMNLP."
    LICENSE = "CC-BY-4.0"
    HOMEPAGE = "https://leaderboard.allenai.org/socialiqa"
    HUB = Hub(
        "allenai/social_i_qa",
        "refs/convert/parquet",
        {"default": {"validation": ("default/validation/0000.parquet",), "train": ("default/train/0000.parquet",)}},
    )
    ARCHIVE = "socialiqa-train-dev.zip"
    _URL = f"https://storage.googleapis.com/ai2-mosaic/public/socialiqa/{ARCHIVE}"

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        archive, items, labels = (
            Source(name, cls._URL, size, sha256)
            for name, size, sha256 in (
                (cls.ARCHIVE, 2198056, "ee073914a0fc33265cfbcfc50ec20df9b2e07809c3f420f599138d1f394ef5c3"),
                ("dev.jsonl", 474440, "d8128dfe60783a9971b954ca82dd57b87b05d5d40468876d51a8e1ad2c557465"),
                ("dev-labels.lst", 3908, "2d882ff71969d3980d37dd07aecdf9093c6e63e27c670f3a203bcf3b9b74bc05"),
            )
        )
        return ((archive,), (items, labels))

    def splits(self) -> Mapping[str, Sequence[str]]:
        if "dev.jsonl" in self.files:
            return {"validation": ("dev.jsonl", "dev-labels.lst")}
        return {"train": (self.ARCHIVE,), "validation": (self.ARCHIVE,)}

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        part = "train" if split == "train" else "dev"
        if self.ARCHIVE in files:
            texts = {Path(name).name: content.decode("utf-8") for name, content in members(files[self.ARCHIVE])}
        else:
            texts = {name: file.read_text("utf-8") for name, file in files.items()}
        rows = [json.loads(line) for line in texts[f"{part}.jsonl"].splitlines() if line.strip()]
        labels = self.labels(texts[f"{part}-labels.lst"], rows, first=1)
        for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
            yield self.from_hub(split, {**row, "label": label + 1}, number)

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        choices = (row["answerA"], row["answerB"], row["answerC"])
        return self.item(f"{split}-{number}", (row["context"], row["question"]), choices, int(row["label"]) - 1)
