"""Multiple choice: aNLI, HellaSwag, PIQA and SocialIQA, original and under the confusion probes.

The prompt is the text before the choices: the two observations, the activity and the
beginning of a scene, the goal, or the context and the question. `prompt_parts` has its parts. The
official files of each set open, and so do the copies that are pinned in `declared.json`.
"""

from __future__ import annotations

import bz2
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import datasets

from rightreasons.core.validation import check_count, check_seed
from rightreasons.datasets.builder import Builder, Config, Splits
from rightreasons.datasets.files import make_multiple_choice_features, read_rows
from rightreasons.datasets.perturbing.probes import DOUBLE, FEATURES, PROBES, Perturber, Pool, Row
from rightreasons.datasets.sources import read_members

UNLABELED = -1
"""Label of an item whose answer is not public."""

LABEL_SUFFIX = "-labels.lst"
"""End of the name of a label file: `dev-labels.lst` belongs to `dev.jsonl`, line by line."""

HELLASWAG_LINES = 6
"""Lines of an item in the text form of HellaSwag: context, label, four endings."""


class MultipleChoiceBuilder(Builder):
    """The common part of the four sets: their columns, and a check of every item."""

    N_CHOICES: ClassVar[int]

    def features(self) -> datasets.Features:
        return make_multiple_choice_features(prompt_parts=datasets.List(datasets.Value("string")))

    def item(self, item_id: str, parts: Sequence[str], choices: Sequence[str], label: int) -> Row:
        """Make one item of the data set and check it.

        Args:
            item_id: Id of the item.
            parts: Parts of the prompt, such as the context and the question.
            choices: Choices.
            label: Position of the correct choice; -1 if it is not public.

        Returns:
            Column -> value: id, prompt (the parts joined by spaces), choices, label and prompt_parts.

        Raises:
            ValueError: If the number of choices is not that of the data set, a choice is empty, or the
                label is not the position of a choice or -1.
        """
        parts = [text.strip() for text in parts]
        choices = [choice.strip() for choice in choices]
        has_valid_choices = len(choices) == self.N_CHOICES and all(choices)
        has_valid_label = UNLABELED <= label < self.N_CHOICES
        if not has_valid_choices or not has_valid_label:
            raise ValueError(
                f"Expected {self.N_CHOICES} choices with words in item {item_id!r} of "
                f"{self.NAME!r}, and the position of the correct choice or -1, but got {choices} "
                f"and {label}."
            )
        # `filter` drops empty parts, such as a missing context, so that they leave no extra space.
        prompt = " ".join(filter(None, parts))
        return {
            "id": item_id,
            "prompt": prompt,
            "choices": choices,
            "label": label,
            "prompt_parts": parts,
        }

    def read_labeled_lines(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        """Yield the items of a JSON-lines file whose labels are in a separate file.

        Args:
            split: Name of the split.
            files: Path of a source -> its file: `NAME.jsonl` with an item per line, and, if the labels are
                public, `NAME-labels.lst` with a label per line. Without labels, all are -1.
        """
        (items_path,) = [path for path in files if path.endswith(".jsonl")]
        rows = list(read_rows(str(files[items_path])))
        stem = items_path.removesuffix(".jsonl")
        labels_path = f"{stem}{LABEL_SUFFIX}"
        labels = [str(UNLABELED)] * len(rows)
        if labels_path in files:
            labels = files[labels_path].read_text("utf-8").split()
        # With its label, a line has the same fields as a row on the hub.
        for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
            example = self.from_hub(split, {**row, "label": label}, number)
            if example is not None:
                yield example


class Anli(MultipleChoiceBuilder):
    """Abductive NLI: which hypothesis explains what happened between two observations?

    Opens the official `dev.jsonl` with `dev-labels.lst` (and the same of train), or a copy of the
    development set in the form of CommonsenseQA. The ids of the copy are those of the stories.
    """

    NAME = "anli"
    N_CHOICES = 2

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        """Yield the items of the official files, or of a copy in the form of CommonsenseQA.

        A line of the copy is such as `{"id": …, "context": …, "question": {"stem": …, "choices":
        [{"label": "A", "text": …}, …]}, "answerKey": "A"}`.

        Args:
            split: Name of the split.
            files: Path of a source -> its file.
        """
        has_copy = "anli_dev.jsonl" in files
        if not has_copy:
            yield from self.read_labeled_lines(split, files)
            return
        for row in read_rows(str(files["anli_dev.jsonl"])):
            question = row["question"]
            letters = []
            choices = []
            for choice in question["choices"]:
                letters.append(choice["label"])
                choices.append(choice["text"])
            yield self.item(
                row["id"],
                parts=(row["context"], question["stem"]),
                choices=choices,
                label=letters.index(row["answerKey"]),
            )

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        """Make an item of two observations and two hypotheses.

        Args:
            split: Name of the split.
            row: A line of an official file (obs1, obs2, hyp1, hyp2, label), or a row of the hub
                (observation_1, …, hypothesis_2, label).
            number: Number of the row in its split, for the id.
        """
        is_official = "obs1" in row
        if is_official:
            observations = (row["obs1"], row["obs2"])
            hypotheses = (row["hyp1"], row["hyp2"])
        else:
            observations = (row["observation_1"], row["observation_2"])
            hypotheses = (row["hypothesis_1"], row["hypothesis_2"])
        # Both label the hypotheses 1 and 2.
        label = int(row["label"]) - 1
        return self.item(f"{split}-{number}", observations, hypotheses, label)


class HellaSwag(MultipleChoiceBuilder):
    """HellaSwag: which ending continues the text?

    Opens the official `hellaswag_val.jsonl` (and `hellaswag_train.jsonl`), or a copy of the
    validation items as text. Both give the same items.
    """

    NAME = "hellaswag"
    N_CHOICES = 4

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        """Yield the items of the official JSON-lines file, or of a compressed text file.

        In the text file, an item has six lines: "ACTIVITY: SCENE", the label, and four endings.

        Args:
            split: Name of the split.
            files: Path of the only source -> its file.
        """
        ((path, file),) = files.items()
        if path.endswith(".jsonl"):
            for number, row in enumerate(read_rows(str(file))):
                yield self.from_hub(split, row, number)
            return
        with bz2.open(file, "rt", encoding="utf-8") as stream:
            lines = [line.rstrip("\n") for line in stream]
        for number, start in enumerate(range(0, len(lines), HELLASWAG_LINES)):
            context, label, *endings = lines[start : start + HELLASWAG_LINES]
            activity, _, scene = context.partition(": ")
            # The text file has only items of the validation split.
            yield self.item(
                f"validation-{number}",
                parts=(f"{activity}:", scene),
                choices=endings,
                label=int(label),
            )

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        """Make an item of an activity, the beginning of a scene, and four endings.

        Args:
            split: Name of the split.
            row: Row of the hub or line of an official file: activity_label, ctx, endings and label.
            number: Number of the row in its split, for the id.
        """
        # In the test split, labels are empty or missing.
        label = str(row.get("label", "")).strip() or str(UNLABELED)
        return self.item(
            f"{split}-{number}",
            parts=(f"{row['activity_label']}:", row["ctx"]),
            choices=row["endings"],
            label=int(label),
        )


class Piqa(MultipleChoiceBuilder):
    """PIQA: which solution reaches the goal?"""

    NAME = "piqa"
    N_CHOICES = 2

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        yield from self.read_labeled_lines(split, files)

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        """Make an item of a goal and two solutions."""
        return self.item(
            f"{split}-{number}",
            parts=(row["goal"],),
            choices=(row["sol1"], row["sol2"]),
            label=int(row["label"]),
        )


class SocialIqa(MultipleChoiceBuilder):
    """SocialIQA: what do people want, feel and do?

    Opens the official zip archive, or its unpacked files with a label file for each.
    """

    NAME = "socialiqa"
    N_CHOICES = 3

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        """Yield the items of the official zip archive, or of its unpacked files.

        Args:
            split: "train" or "validation".
            files: Path of a source -> its file: only the archive, or a file of items and a file of labels.
        """
        is_unpacked = len(files) > 1
        if is_unpacked:
            yield from self.read_labeled_lines(split, files)
            return
        (archive,) = files.values()
        # The files are in a folder of the archive, so that their paths are reduced to their names.
        text_by_name = {}
        for path, content in read_members(archive):
            text_by_name[Path(path).name] = content.decode("utf-8")
        # The archive calls the validation split "dev".
        stem = "train" if split == "train" else "dev"
        lines = [line for line in text_by_name[f"{stem}.jsonl"].splitlines() if line.strip()]
        labels = text_by_name[f"{stem}{LABEL_SUFFIX}"].split()
        for number, (line, label) in enumerate(zip(lines, labels, strict=True)):
            yield self.from_hub(split, {**json.loads(line), "label": label}, number)

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        """Make an item of a context with a question and three answers, whose labels count from 1."""
        return self.item(
            f"{split}-{number}",
            parts=(row["context"], row["question"]),
            choices=(row["answerA"], row["answerB"], row["answerC"]),
            label=int(row["label"]) - 1,
        )


# ----------------------------------------------------------------------------- under the probes


@dataclasses.dataclass
class ProbeConfig(Config):
    """A probe, with its seed and the number of added choices."""

    seed: int = 0
    k: int | str = DOUBLE


class PerturbedBuilder(Builder):
    """A data set with the four probes as configurations.

    Known issues of the data set are corrected first. Items with equal choices are left out. PIQA's
    test split, which has no labels, can only lose or change its question.
    """

    BUILDER_CONFIG_CLASS = ProbeConfig
    BUILDER_CONFIGS: ClassVar[list[Config]] = [ProbeConfig(name=probe) for probe in PROBES]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Derive the attributes of a perturbed data set from those of the unperturbed data set.

        A subclass inherits from this class and from the builder of the unperturbed data set.
        """
        super().__init_subclass__(**kwargs)
        # ISSUE_TABLE keeps the inherited name, so that the known issues of the unperturbed set apply.
        cls.NAME = f"perturbed_{cls.NAME}"
        cls.DESCRIPTION = f"{cls.DESCRIPTION} Under the four confusion probes."
        if cls.HUB is not None:
            # The hub has the unperturbed items, and every probe (configuration) is applied to them here.
            files = dict.fromkeys(PROBES, cls.HUB.files["default"])
            cls.HUB = dataclasses.replace(cls.HUB, files=files)

    def features(self) -> datasets.Features:
        return FEATURES

    def splits(self) -> Splits:
        """Return split -> paths of its sources, without the test split if the probe needs labels."""
        splits = dict(super().splits())
        # These two probes need the correct choice, which is not public for test items.
        if self.config.name in ("no_right_answer", "extra_choices"):
            splits.pop("test", None)
        return splits

    def check_options(self) -> None:
        check_seed(self.config.seed)
        if self.config.k != DOUBLE:
            check_count(self.config.k, "k")

    def transform(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the items of a split under the probe of the configuration.

        Args:
            rows: Items of the split with their known issues corrected: id, prompt, choices and label.
        """
        # All items are needed at once, because a probe inserts texts of other items.
        rows = list(rows)
        perturber = Perturber(
            self.config.name,
            k=self.config.k,
            pool=Pool(rows),
            seed=self.config.seed,
            duplicates="drop",
        )
        for row in rows:
            yield from perturber.rows(
                item_id=row["id"],
                prompt=row["prompt"],
                choices=row["choices"],
                label=row["label"],
            )


class PerturbedAnli(PerturbedBuilder, Anli):
    """aNLI under the four probes."""


class PerturbedHellaSwag(PerturbedBuilder, HellaSwag):
    """HellaSwag under the four probes."""


class PerturbedPiqa(PerturbedBuilder, Piqa):
    """PIQA under the four probes."""


class PerturbedSocialIqa(PerturbedBuilder, SocialIqa):
    """SocialIQA under the four probes."""
