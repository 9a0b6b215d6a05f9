"""Multiple choice: aNLI, HellaSwag, PIQA and SocialIQA, as they are and under the confusion probes; the COPA family.

The prompt of the four is what a model reads before the choices: the two observations, the activity and the beginning of
a scene, the goal, or the context and the question; `prompt_parts` has its parts. An item of COPA is a premise, a
question (for its cause or its effect), and two alternatives, one of them more plausible.
"""

from __future__ import annotations

import bz2
import csv
import dataclasses
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import datasets
from datasets.utils.file_utils import xopen
from defusedxml.ElementTree import fromstring

from rightreasons.core.json_files import read_json
from rightreasons.core.label_names import format_list
from rightreasons.core.resampling import item_rng
from rightreasons.core.sentences import format_value
from rightreasons.core.validation import check_count, check_seed
from rightreasons.datasets.builder import (
    Builder,
    Config,
    Splits,
    members,
    multiple_choice_features,
    read_rows,
    sources_of,
)
from rightreasons.datasets.perturbing.mirroring import check_mirrored, choices_of
from rightreasons.datasets.perturbing.probes import DOUBLE, FEATURES, PROBES, Perturber, Pool, Row


class MultipleChoiceBuilder(Builder):
    """The common part of the four sets: their columns, and a check of every item."""

    N_CHOICES: ClassVar[int]

    def features(self) -> datasets.Features:
        return multiple_choice_features(prompt_parts=datasets.List(datasets.Value("string")))

    def item(self, item_id: str, parts: Sequence[str], choices: Sequence[str], label: int) -> Row:
        """Build one item and check it."""
        parts = [part.strip() for part in parts]
        choices = [choice.strip() for choice in choices]
        if not all(choices) or len(choices) != self.N_CHOICES or not -1 <= label < self.N_CHOICES:
            raise ValueError(
                f"Expected {self.N_CHOICES} choices with words in item {item_id!r} of {self.NAME!r}, and the place of "
                f"the right one or -1, but got {choices} and {label}."
            )
        return {
            "id": item_id,
            "prompt": " ".join(part for part in parts if part),
            "choices": choices,
            "label": label,
            "prompt_parts": parts,
        }


class Anli(MultipleChoiceBuilder):
    """Abductive NLI: which hypothesis explains what happened between two observations?"""

    NAME = "anli"
    N_CHOICES = 2

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        (file,) = files.values()
        for row in read_rows(str(file)):
            choices = row["question"]["choices"]
            label = [choice["label"] for choice in choices].index(row["answerKey"])
            parts = (row["context"], row["question"]["stem"])
            yield self.item(row["id"], parts, [choice["text"] for choice in choices], label)

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        parts = (row["observation_1"], row["observation_2"])
        return self.item(
            f"{split}-{number}",
            parts,
            (row["hypothesis_1"], row["hypothesis_2"]),
            int(row["label"]) - 1,
        )


class HellaSwag(MultipleChoiceBuilder):
    """HellaSwag: which ending continues the text?"""

    NAME = "hellaswag"
    N_CHOICES = 4

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        with bz2.open(files["hellaswag_val_full.txt.bz2"], "rt", encoding="utf-8") as stream:
            lines = (line.rstrip("\n") for line in stream)
            # Six lines per item: context, label, four endings.
            items = list(zip(*[lines] * 6, strict=True))
        for number, (context, label, *endings) in enumerate(items):
            activity, _, scene = context.partition(": ")
            yield self.item(f"validation-{number}", (f"{activity}:", scene), endings, int(label))

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        label = int(row["label"]) if str(row["label"]).strip() else -1  # the test split has none
        return self.item(
            f"{split}-{number}", (f"{row['activity_label']}:", row["ctx"]), row["endings"], label
        )


class Piqa(MultipleChoiceBuilder):
    """PIQA: which way reaches the goal?"""

    NAME = "piqa"
    N_CHOICES = 2

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        rows = list(read_rows(str(files["tests.jsonl" if split == "test" else "valid.jsonl"])))
        labels = (
            files["valid-labels.lst"].read_text("utf-8").split()
            if split == "validation"
            else ["-1"] * len(rows)
        )
        for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
            yield self.from_hub(split, {**row, "label": label}, number)

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        return self.item(
            f"{split}-{number}", (row["goal"],), (row["sol1"], row["sol2"]), int(row["label"])
        )


class SocialIqa(MultipleChoiceBuilder):
    """SocialIQA: what do people want, feel and do?"""

    NAME = "socialiqa"
    N_CHOICES = 3

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        part = "train" if split == "train" else "dev"
        (file,) = files.values()
        texts = {Path(name).name: content.decode("utf-8") for name, content in members(file)}
        rows = [json.loads(line) for line in texts[f"{part}.jsonl"].splitlines() if line.strip()]
        for number, (row, label) in enumerate(
            zip(rows, texts[f"{part}-labels.lst"].split(), strict=True)
        ):
            yield self.from_hub(split, {**row, "label": label}, number)

    def from_hub(self, split: str, row: Row, number: int) -> Row:
        choices = (row["answerA"], row["answerB"], row["answerC"])
        return self.item(
            f"{split}-{number}", (row["context"], row["question"]), choices, int(row["label"]) - 1
        )


@dataclasses.dataclass
class ProbeConfig(Config):
    """A probe, with its seed and the number of added choices."""

    seed: int = 0
    k: int | str = DOUBLE


class PerturbedBuilder(Builder):
    """A data set with the four probes as configurations; items with equal choices are left out.

    PIQA's test split, which has no labels, can only lose or change its question.
    """

    BUILDER_CONFIG_CLASS = ProbeConfig
    BUILDER_CONFIGS: ClassVar[list[Config]] = [ProbeConfig(name=probe) for probe in PROBES]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.NAME, cls.DESCRIPTION = (
            f"perturbed_{cls.NAME}",
            f"{cls.DESCRIPTION} Under the four confusion probes.",
        )
        if cls.HUB is not None:  # it has the unperturbed items, for every probe
            cls.HUB = dataclasses.replace(
                cls.HUB, files=dict.fromkeys(PROBES, cls.HUB.files["default"])
            )

    def features(self) -> datasets.Features:
        return FEATURES

    def splits(self) -> Splits:
        unlabeled = ("test",) if self.config.name in ("no_right_answer", "extra_choices") else ()
        return {split: paths for split, paths in super().splits().items() if split not in unlabeled}

    def check_options(self) -> None:
        check_seed(self.config.seed)
        if self.config.k != DOUBLE:
            check_count(self.config.k, "k")

    def _raw_examples(self, split: str, files: Mapping[str, str]) -> Iterator[Row]:
        rows = list(super()._raw_examples(split, files))
        perturber = Perturber(
            self.config.name,
            k=self.config.k,
            pool=Pool(rows),
            seed=self.config.seed,
            duplicates="drop",
        )
        for row in rows:
            yield from perturber.rows(row["id"], row["prompt"], row["choices"], row["label"])


class PerturbedAnli(PerturbedBuilder, Anli):
    """aNLI under the four probes."""


class PerturbedHellaSwag(PerturbedBuilder, HellaSwag):
    """HellaSwag under the four probes."""


class PerturbedPiqa(PerturbedBuilder, Piqa):
    """PIQA under the four probes."""


class PerturbedSocialIqa(PerturbedBuilder, SocialIqa):
    """SocialIQA under the four probes."""


# --------------------------------------------------------------------------------- files: XML, an archive of it, or CSV


QUESTIONS = ("cause", "effect")

_ARCHIVES = (b"BZh", b"\x1f\x8b", b"PK\x03\x04")
_COLUMNS = ("id", "premise", "question", "choice1", "choice2", "label")


def read_items(file: str, member: str) -> list[Row]:
    """Read the items of one file; its first bytes determine its format.

    The published XML files name their grammar (`<!DOCTYPE copa-corpus SYSTEM "copa.dtd">`), which is never resolved; no
    entity is declared or resolved, and no other file is read.

    Args:
        file: A path, or an address on the hub.
        member: The name of the XML file in `file` where that is an archive.

    Returns:
        Items in the file's order: id, premise, question ("cause" or "effect"), choice1, choice2, and label (0 or 1).

    Raises:
        ValueError: If an item is something else; what the readers of hostile or damaged files raise is theirs.
    """
    with xopen(file, "rb") as stream:
        content = stream.read().removeprefix(b"\xef\xbb\xbf")
    if content.startswith(_ARCHIVES):
        # Apple's archiver leaves a shadow "._name" beside each file, so the whole name must match.
        (content,) = (body for name, body in members(file) if PurePosixPath(name).name == member)
    if content.lstrip().startswith(b"<"):
        # COPA's own form, whose alternatives count from 1.
        rows = [
            {
                "id": item.get("id"),
                "question": item.get("asks-for"),
                "label": {"1": "0", "2": "1"}.get(item.get("most-plausible-alternative", "")),
                **{
                    name: item.findtext(tag)
                    for name, tag in (("premise", "p"), ("choice1", "a1"), ("choice2", "a2"))
                },
            }
            for item in fromstring(content, forbid_dtd=False).iter("item")
        ]
    else:
        rows = list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))
    return [_item(row, file) for row in rows]


def _item(row: Row, where: str) -> Row:
    """Return an item with numbers for its id and its label, and no spaces around its texts (item 1129 has one)."""
    row = {name: (row[name] or "").strip() for name in _COLUMNS}
    in_form = (
        re.fullmatch("[0-9]{1,18}", row["id"])
        and row["question"] in QUESTIONS
        and row["label"] in ("0", "1")
    )
    if not in_form or not all(row.values()) or row["choice1"] == row["choice2"]:
        raise ValueError(
            f"Expected items with an id of digits, a premise, a question for its cause or effect, two different "
            f"alternatives, and which of them is right, in {where}, but one is {format_value(row)}."
        )
    return {**row, "id": int(row["id"]), "label": int(row["label"])}


TRAIN_XML, TEST_XML, CE_XML = "balacopa-dev-all.xml", "copa-test.xml", "BCOPA-CE.xml"
TRAIN_FILES = ("balanced_copa.tar.bz2", TRAIN_XML, "train.csv")
TEST_FILES = ("COPA-resources.tgz", TEST_XML, "test.csv")

ORIGINALS = range(1, 501)
MIRROR_OFFSET = 1000
TEST_ITEMS = range(501, 1001)
CE_ITEMS = range(1501, 2501)

KNOWN_ANSWERS: Mapping[int, str] = {1: "The sun was rising.", 501: "It was fragile."}
"""One answer of each part, to detect labels that count from the wrong number."""


@dataclasses.dataclass
class BalancedCopaConfig(Config):
    """A configuration of Balanced COPA.

    Attributes:
        seed: The seed of the half that `balanced_50` takes.
    """

    seed: int = 0


class CopaBuilder(Builder):
    """The common part of the family: the columns, the formats of the files, and the checks of the items."""

    # Of those without a checksum we had no copy to take one from; their content is checked instead, item by item.
    SOURCES = sources_of("copa")
    FOLDERS: ClassVar[tuple[str, ...]] = ("balanced_copa", "copa")

    def features(self) -> datasets.Features:
        text, number = datasets.Value("string"), datasets.Value("int64")
        texts = dict.fromkeys(("premise", "question", "choice1", "choice2"), text)
        mirror = {"mirrored": datasets.Value("bool"), "source_id": number}
        return datasets.Features({"id": number, **texts, "label": number, **mirror})

    def _places(self, root: Path) -> Sequence[Sequence[Path]]:
        """`data_dir` may be the folder of all data sets, a folder with the files themselves, or one of the folders."""
        beside = root.parent if root.name in self.FOLDERS else root
        return [
            [
                *(root / folder for folder in self.FOLDERS),
                root,
                *(beside / folder for folder in self.FOLDERS),
            ]
        ]

    def _raw_examples(self, split: str, files: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        # An item is checked against its mirror, so the rows of the hub are read together too.
        yield from self.rows(*files.values())

    def rows(self, *files: str) -> list[Row]:
        """Read and check the items of the configuration from its files."""
        raise NotImplementedError


class BalancedCopa(CopaBuilder):
    """COPA's 500 training items and a mirrored item for each; the test set of COPA beside it."""

    NAME = "balanced_copa"
    BUILDER_CONFIG_CLASS = BalancedCopaConfig
    BUILDER_CONFIGS: ClassVar[list[Config]] = [
        BalancedCopaConfig(name="balanced", description="500 originals and 500 mirrored items"),
        BalancedCopaConfig(name="original", description="500 originals"),
        BalancedCopaConfig(
            name="balanced_50", description="250 originals and their mirrored items"
        ),
        BalancedCopaConfig(name="test", description="the 500 items of COPA's test set"),
    ]

    FORMS: ClassVar[Mapping[str, Sequence[Splits]]] = {
        **{
            name: [{"train": (file,)} for file in TRAIN_FILES]
            for name in ("balanced", "original", "balanced_50")
        },
        "test": [{"test": (file,)} for file in TEST_FILES],
    }

    def check_options(self) -> None:
        check_seed(self.config.seed)

    def rows(self, *files: str) -> list[Row]:
        if self.config.name == "test":
            return copa_test(*files)
        rows = balanced_items(*files)
        if self.config.name == "original":
            return [row for row in rows if not row["mirrored"]]
        if self.config.name == "balanced_50":
            half = half_of(ORIGINALS, self.config.seed)
            return [row for row in rows if row["source_id"] in half]
        return rows


class CopaEasyHard(CopaBuilder):
    """COPA's test set, split by whether a model that sees only the alternatives solves an item."""

    NAME = "copa_easy_hard"
    BUILDER_CONFIGS: ClassVar[list[Config]] = [
        Config(name="all", description="all 500 items, with a column `easy`"),
        Config(name="easy", description="the 190 Easy items"),
        Config(name="hard", description="the 310 Hard items"),
    ]

    FORMS = tuple({"test": ("easy_hard_subsets.json", file)} for file in TEST_FILES)

    def features(self) -> datasets.Features:
        return datasets.Features({**super().features(), "easy": datasets.Value("bool")})

    def rows(self, *files: str) -> list[Row]:
        subsets, test = files
        easy = easy_ids(subsets)
        rows = [{**row, "easy": row["id"] in easy} for row in copa_test(test)]
        wanted = {"all": (True, False), "easy": (True,), "hard": (False,)}[self.config.name]
        return [row for row in rows if row["easy"] in wanted]


class BcopaCe(CopaBuilder):
    """BCOPA-CE: each premise with a cause and an effect, once asking for each."""

    NAME = "bcopa_ce"

    FORMS = ({"test": (CE_XML,)},)
    FOLDERS = ("bcopa_ce", "data")  # the last one is its place in the repository that publishes it

    def rows(self, *files: str) -> list[Row]:
        return cause_effect_items(*files)


# --------------------------------------------------------------------------------------------- the content of the files


def balanced_items(file: str) -> list[Row]:
    """Read Balanced COPA's 1,000 items and check their balance.

    Raises:
        ValueError: If an item is missing or occurs twice, a mirrored item differs from its original in its alternatives
            or its question, both have the same answer, or labels count from the wrong number.
    """
    rows = read_items(file, TRAIN_XML)
    _check_items(rows, [*ORIGINALS, *(key + MIRROR_OFFSET for key in ORIGINALS)], file)
    rows = [
        _placed(row, row["id"] % MIRROR_OFFSET if row["id"] > MIRROR_OFFSET else row["id"])
        for row in rows
    ]
    check_mirrored(rows)
    return rows


def copa_test(file: str) -> list[Row]:
    """Read the 500 items of COPA's test set."""
    rows = read_items(file, TEST_XML)
    _check_items(rows, TEST_ITEMS, file)
    return [_placed(row, row["id"]) for row in rows]


def cause_effect_items(file: str) -> list[Row]:
    """Read BCOPA-CE and pair its items by their texts: `mirrored` is the one with the larger id.

    Raises:
        ValueError: If an item is missing, has no partner with the same premise and alternatives, or a pair does not ask
            for a cause and for an effect with opposite answers.
    """
    rows = read_items(file, CE_XML)
    _check_items(rows, CE_ITEMS, file)
    pairs: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: int(row["id"])):
        pairs.setdefault((row["premise"], *sorted(choices_of(row))), []).append(row)
    for pair in pairs.values():
        answers = {choices_of(row)[row["label"]] for row in pair}
        if len(pair) != 2 or {row["question"] for row in pair} != {*QUESTIONS} or len(answers) != 2:
            raise ValueError(
                f"Expected each premise of {file} twice, asking for a cause and for an effect with opposite answers, "
                f"but got the items {format_list([row['id'] for row in pair])}."
            )
    source = {row["id"]: pair[0]["id"] for pair in pairs.values() for row in pair}
    return [_placed(row, source[row["id"]]) for row in rows]


def easy_ids(file: str) -> frozenset[int]:
    """Read the ids of COPA's Easy test items, and check that the two subsets partition the test set."""
    subsets = read_json(Path(file))
    if sorted([*subsets["easy"], *subsets["hard"]]) != [*TEST_ITEMS]:
        raise ValueError(
            f"Expected each of the ids 501 to 1000 in 'easy' or 'hard' of {file}, but some are not."
        )
    return frozenset(subsets["easy"])


def half_of(ids: Sequence[int], seed: int) -> frozenset[int]:
    """Choose half of the ids by a draw for each id, which depends on neither the order nor the other ids.

    Example:
        >>> len(half_of(range(1, 501), seed=0)), half_of(range(1, 501), 0) == half_of(range(1, 501), 1)
        (250, False)
    """
    order = sorted(ids, key=lambda key: (item_rng(seed, key).random(), key))
    return frozenset(order[: len(order) // 2])


# ------------------------------------------------------------------------------------------------------------- private


def _placed(row: Row, source_id: int) -> Row:
    return {**row, "mirrored": source_id != row["id"], "source_id": source_id}


def _check_items(rows: Sequence[Row], expected: Sequence[int], file: str) -> None:
    ids, wanted = Counter(row["id"] for row in rows), Counter(expected)
    if odd := sorted((ids - wanted) + (wanted - ids)):
        raise ValueError(
            f"Expected {len(expected)} items in {file}, each once, but item {odd[0]} is missing, comes again or is not "
            "one of them."
        )
    for row in rows:
        if (answer := choices_of(row)[row["label"]]) != KNOWN_ANSWERS.get(row["id"], answer):
            raise ValueError(
                f"Expected the answer of item {row['id']} in {file} to be {KNOWN_ANSWERS[row['id']]!r}, but its label "
                f"names {answer!r}: the labels seem to count from another number."
            )
