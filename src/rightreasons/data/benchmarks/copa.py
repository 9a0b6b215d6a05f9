"""The COPA family: Balanced COPA, COPA Easy and Hard, BCOPA-CE.

An item is a premise, a question (for its cause or its effect), and two alternatives, one of them more plausible.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import datasets

from rightreasons.data.benchmarks.copa_files import Row, read_items
from rightreasons.data.builders.builder import Builder, Config, Hub
from rightreasons.data.builders.sources import Source
from rightreasons.data.perturbing.mirror import check_mirrored, choices_of
from rightreasons.foundations.bounds import read_json
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.sentences import checks_kinds, one_line
from rightreasons.foundations.validation import check_seed

_COPA = "Roemmele, Bejan and Gordon (2011). Choice of Plausible Alternatives. AAAI Spring Symposium."
_BALANCED = (
    "Kavumba, Inoue, Heinzerling, Singh, Reisert and Inui (2019). "
    "When Choosing Plausible Alternatives, Clever Hans can be Clever. COIN. arXiv:1911.00225."
)
_CE = "Han and Wang (2021). Doing Good or Doing Right? ACL. arXiv:2107.01791."
_SITE = "https://raw.githubusercontent.com/Balanced-COPA/Balanced-COPA.github.io/6e031959/downloads/"
_COPA_ARCHIVE_URL = "https://people.ict.usc.edu/~gordon/downloads/COPA-resources.tgz"

TRAIN_XML = "balacopa-dev-all.xml"
TEST_XML = "copa-test.xml"

BALANCED_XML = Source(
    TRAIN_XML,
    f"{_SITE}balanced_copa.tar.bz2",
    208323,
    "2091dce8a2923b8530804644780ebe01fd1ae30342eb2562a3821786274b5b25",
    license="MIT",
)
BALANCED_ARCHIVE = Source(
    "balanced_copa.tar.bz2",
    _SITE,
    27908,
    "b27bbec0950b4bd8e76155c2297c045b03de059222ae08f794e61f1444c50ceb",
    license="MIT",
)
EASY_HARD_IDS = Source(
    "easy_hard_subsets.json",
    _SITE,
    6543,
    "f9f1bb7bf0266ad9f2175d0f5b8da638af89475c693e54a78b7ca7f262a2d1bb",
    license="MIT",
)
COPA_TEST_XML = Source(
    TEST_XML,
    _COPA_ARCHIVE_URL,
    101972,
    "640824681bde78a7592726504d7d9bab294e5de26072d973307fa80d34919d92",
    license="BSD-2-Clause",
)
# We had no copy of these to take a checksum from; their content is checked instead, item by item.
COPA_ARCHIVE = Source("COPA-resources.tgz", _COPA_ARCHIVE_URL, license="BSD-2-Clause")
_HUB_PAGE = "https://huggingface.co/datasets/pkavumba/balanced-copa"
HUB_TRAIN = Source("train.csv", _HUB_PAGE, license="CC-BY-4.0")
HUB_TEST = Source("test.csv", _HUB_PAGE, license="CC-BY-4.0")
BCOPA_CE_XML = Source(
    "BCOPA-CE.xml",
    "https://raw.githubusercontent.com/badbadcode/weakCOPA/HEAD/data/BCOPA-CE.xml",
)

ORIGINALS = range(1, 501)
MIRROR_OFFSET = 1000
TEST_ITEMS = range(501, 1001)
CE_ITEMS = range(1501, 2501)

KNOWN_ANSWERS: Mapping[int, str] = {1: "The sun was rising.", 501: "It was fragile."}
"""One answer of each part, to detect labels that count from the wrong number."""

_SAME_FILE = ((BALANCED_ARCHIVE.path, TRAIN_XML, "train.csv"), (COPA_ARCHIVE.path, TEST_XML, "test.csv"))


@dataclasses.dataclass
class BalancedCopaConfig(Config):
    """A configuration of Balanced COPA.

    Attributes:
        seed: The seed of the half that `balanced_50` takes.
    """

    seed: int = 0


class CopaBuilder(Builder):
    """The common part of the family: the columns, the formats of the files, and the checks of the items."""

    LICENSE = "BSD-2-Clause (COPA), MIT and CC-BY-4.0 (Balanced COPA)"
    HOMEPAGE = "https://balanced-copa.github.io"

    def features(self) -> datasets.Features:
        return datasets.Features(
            {
                "id": datasets.Value("int64"),
                "premise": datasets.Value("string"),
                "question": datasets.Value("string"),
                "choice1": datasets.Value("string"),
                "choice2": datasets.Value("string"),
                "label": datasets.Value("int64"),
                "mirrored": datasets.Value("bool"),
                "source_id": datasets.Value("int64"),
            }
        )

    def splits(self) -> Mapping[str, Sequence[str]]:
        return {"test": tuple(self.files) or tuple(source.path for source in self.forms(self.config.name)[0])}

    def _raw_examples(self, split: str, files: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        # An item is checked against its mirror, so the rows of the hub are read together too.
        yield from self.rows(files)

    def rows(self, files: Mapping[str, str]) -> list[Row]:
        """Read and check the items of the configuration; `files` maps the path of a source to its location."""
        raise NotImplementedError

    def _missing(self, sources: Sequence[Source], where: str | os.PathLike[str] | None) -> FileNotFoundError:
        name = PurePosixPath(sources[0].path).name
        same = next((names for names in _SAME_FILE if name in names), (name,))
        others = " or ".join(repr(other) for other in same if other != name)
        error = super()._missing(sources, where)
        return FileNotFoundError(f"{str(error).removesuffix('.')}; {others} will do too.") if others else error


class BalancedCopa(CopaBuilder):
    """COPA's 500 training items and a mirrored item for each; the test set of COPA beside it."""

    NAME = "balanced_copa"
    DESCRIPTION = (
        "Balanced COPA: the 500 items of COPA's development set, used for training, and a mirrored item for each, with "
        "the same alternatives and a new premise that makes the other one right, so that no cue in the alternatives "
        "predicts the answer."
    )
    CITATION = f"{_BALANCED}\n{_COPA}"
    BUILDER_CONFIG_CLASS = BalancedCopaConfig
    BUILDER_CONFIGS: ClassVar[list[Config]] = [
        BalancedCopaConfig(name="balanced", description="500 originals and 500 mirrored items"),
        BalancedCopaConfig(name="original", description="500 originals"),
        BalancedCopaConfig(name="balanced_50", description="250 originals and their mirrored items"),
        BalancedCopaConfig(name="test", description="the 500 items of COPA's test set"),
    ]
    HUB = Hub(
        "pkavumba/balanced-copa",
        "813bd03cd6e07d9bd8d7333896ad5d40abb95ea9",
        {
            "balanced": {"train": ("train.csv",)},
            "original": {"train": ("train.csv",)},
            "balanced_50": {"train": ("train.csv",)},
            "test": {"test": ("test.csv",)},
        },
    )

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        if config_name == "test":
            return (
                *_places(("copa", COPA_ARCHIVE))[:1],
                *_places(("copa", COPA_TEST_XML)),
                *_places(("copa", COPA_ARCHIVE))[1:],
                *_places(("balanced_copa", HUB_TEST)),
            )
        return (
            *_places(("balanced_copa", BALANCED_ARCHIVE)),
            *_places(("balanced_copa", BALANCED_XML)),
            *_places(("balanced_copa", HUB_TRAIN)),
        )

    def check_options(self) -> None:
        check_seed(self.config.seed)

    def splits(self) -> Mapping[str, Sequence[str]]:
        ((test, files),) = super().splits().items()
        return {test if self.config.name == "test" else "train": files}

    def rows(self, files: Mapping[str, str]) -> list[Row]:
        (file,) = files.values()
        if self.config.name == "test":
            return copa_test(file)
        rows = balanced_items(file)
        if self.config.name == "original":
            return [row for row in rows if not row["mirrored"]]
        if self.config.name == "balanced_50":
            half = half_of(ORIGINALS, self.config.seed)
            return [row for row in rows if row["source_id"] in half]
        return rows


class CopaEasyHard(CopaBuilder):
    """COPA's test set, split by whether a model that sees only the alternatives solves an item."""

    NAME = "copa_easy_hard"
    DESCRIPTION = (
        "The 500 test items of COPA as Easy (190) and Hard (310): a model that was trained without the premises "
        "solves the Easy items without them."
    )
    CITATION = f"{_BALANCED}\n{_COPA}"
    BUILDER_CONFIGS: ClassVar[list[Config]] = [
        Config(name="all", description="all 500 items, with a column `easy`"),
        Config(name="easy", description="the 190 Easy items"),
        Config(name="hard", description="the 310 Hard items"),
    ]

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        ids = ("balanced_copa", EASY_HARD_IDS)
        return tuple(
            form for copa in (COPA_ARCHIVE, COPA_TEST_XML, HUB_TEST) for form in _places(ids, ("copa", copa))
        ) + _places(ids, ("balanced_copa", HUB_TEST))

    def features(self) -> datasets.Features:
        return datasets.Features({**super().features(), "easy": datasets.Value("bool")})

    def rows(self, files: Mapping[str, str]) -> list[Row]:
        by_name = {PurePosixPath(path).name: file for path, file in files.items()}
        easy = easy_ids(by_name.pop(EASY_HARD_IDS.path))
        (test,) = by_name.values()
        rows = [{**row, "easy": row["id"] in easy} for row in copa_test(test)]
        wanted = {"all": (True, False), "easy": (True,), "hard": (False,)}[self.config.name]
        return [row for row in rows if row["easy"] in wanted]


class BcopaCe(CopaBuilder):
    """BCOPA-CE: each premise with a cause and an effect, once asking for each."""

    NAME = "bcopa_ce"
    DESCRIPTION = (
        "BCOPA-CE: 1,000 test items in which a premise comes with a plausible cause and a plausible effect; one "
        "item asks for the cause and one for the effect, so a model must read the question."
    )
    CITATION = f"{_CE}\n{_COPA}"
    LICENSE = "none stated"
    HOMEPAGE = "https://github.com/badbadcode/weakCOPA"
    SOURCES = (BCOPA_CE_XML,)

    @classmethod
    def forms(cls, config_name: str) -> Sequence[tuple[Source, ...]]:
        # The last one is its place in the repository that publishes it.
        return (
            *_places(("bcopa_ce", BCOPA_CE_XML)),
            (dataclasses.replace(BCOPA_CE_XML, path=f"data/{BCOPA_CE_XML.path}"),),
        )

    def rows(self, files: Mapping[str, str]) -> list[Row]:
        (file,) = files.values()
        return cause_effect_items(file)


# --------------------------------------------------------------------------------------------- the content of the files


def balanced_items(file: str) -> list[Row]:
    """Read Balanced COPA's 1,000 items and check their balance.

    Raises:
        ValueError: If an item is missing or occurs twice, a mirrored item differs from its original in its alternatives
            or its question, both have the same answer, or labels count from the wrong number.
    """
    rows = read_items(file, TRAIN_XML)
    _check_items(rows, [*ORIGINALS, *(key + MIRROR_OFFSET for key in ORIGINALS)], file)
    rows = [_placed(row, row["id"] % MIRROR_OFFSET if row["id"] > MIRROR_OFFSET else row["id"]) for row in rows]
    try:
        check_mirrored(rows)
    except ValueError as error:
        raise ValueError(f"{str(error).removesuffix('.')} (in {file}).") from None
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
    rows = read_items(file, BCOPA_CE_XML.path)
    _check_items(rows, CE_ITEMS, file)
    pairs: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: int(row["id"])):
        pairs.setdefault((row["premise"], *sorted(choices_of(row))), []).append(row)
    source: dict[int, int] = {}
    for pair in pairs.values():
        ids = [row["id"] for row in pair]
        if len(pair) != 2:
            raise ValueError(
                f"Expected each premise of {file} twice with the same alternatives, but item {ids[0]} has "
                f"{len(pair) - 1} partners."
            )
        answers = {choices_of(row)[row["label"]] for row in pair}
        if {row["question"] for row in pair} != {"cause", "effect"} or len(answers) != 2:
            raise ValueError(
                f"Expected the items {ids[0]} and {ids[1]} of {file} to ask for a cause and an effect with opposite "
                "answers, but they do not."
            )
        source.update(dict.fromkeys(ids, ids[0]))
    return [_placed(row, source[row["id"]]) for row in rows]


@checks_kinds
def easy_ids(file: str) -> frozenset[int]:
    """Read the ids of COPA's Easy test items, and check that the two subsets partition the test set."""
    subsets = read_json(Path(file))
    wanted = f"Expected lists of the ids 'easy' and 'hard' in {file}"
    if not isinstance(subsets, dict):
        raise ValueError(f"{wanted}, but got {one_line(subsets)}.")
    parts = []
    for name in ("easy", "hard"):
        ids = subsets.get(name)
        if not isinstance(ids, list) or any(isinstance(key, bool) or not isinstance(key, int) for key in ids):
            raise ValueError(f"{wanted}, but {name!r} is {one_line(ids)}.")
        parts.append(frozenset(ids))
    easy, hard = parts
    if easy & hard:
        raise ValueError(f"Expected each item of {file} in one subset, but {min(easy & hard)} is in both.")
    if easy | hard != frozenset(TEST_ITEMS):
        wrong = min((easy | hard) ^ frozenset(TEST_ITEMS))
        raise ValueError(
            f"Expected the subsets of {file} to partition the items 501 to 1000, but item {wrong} is wrong."
        )
    return easy


def half_of(ids: Sequence[int], seed: int) -> frozenset[int]:
    """Choose half of the ids by a draw for each id, which depends on neither the order nor the other ids.

    Example:
        >>> len(half_of(range(1, 501), seed=0)), half_of(range(1, 501), 0) == half_of(range(1, 501), 1)
        (250, False)
    """
    order = sorted(ids, key=lambda key: (item_rng(seed, key).random(), key))
    return frozenset(order[: len(order) // 2])


# ------------------------------------------------------------------------------------------------------------- private


def _places(*files: tuple[str, Source]) -> tuple[tuple[Source, ...], ...]:
    """Return the possible places of files from one or two folders: below the named folder, in it, or beside it.

    So `data_dir` may be the folder of all data sets, a folder with the files themselves, or one of the folders.
    """
    below = tuple(dataclasses.replace(source, path=f"{folder}/{source.path}") for folder, source in files)
    flat = tuple(source for _, source in files)
    beside = tuple(
        tuple(
            source if folder == home else dataclasses.replace(source, path=f"../{folder}/{source.path}")
            for folder, source in files
        )
        for home in dict.fromkeys(("balanced_copa", *(folder for folder, _ in files)))
    )
    return tuple(dict.fromkeys((below, flat, *beside)))


def _placed(row: Row, source_id: int) -> Row:
    return {**row, "mirrored": source_id != row["id"], "source_id": source_id}


def _check_items(rows: Sequence[Row], expected: Sequence[int], file: str) -> None:
    ids, wanted = {row["id"] for row in rows}, set(expected)
    if wanted - ids:
        raise ValueError(
            f"Expected {len(wanted)} items in {file}, but {len(wanted - ids)} are missing, the first of them "
            f"{min(wanted - ids)}."
        )
    if ids - wanted:
        raise ValueError(f"Expected {len(wanted)} items in {file}, but item {min(ids - wanted)} is not one of them.")
    for row in rows:
        answer = KNOWN_ANSWERS.get(row["id"])
        if answer is not None and choices_of(row)[row["label"]] != answer:
            raise ValueError(
                f"Expected the answer of item {row['id']} in {file} to be {answer!r}, but its label names "
                f"{choices_of(row)[row['label']]!r}: the labels seem to count from another number."
            )
