"""The COPA family: Balanced COPA, COPA's test set by difficulty, and BCOPA-CE.

An item of COPA is a premise, a question (for its cause or its effect), and two alternatives, one of
them more plausible. `read_items` reads the files in all their published formats. The functions below
it check the ids of each set, and the pairs of its items.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

import datasets
from datasets.utils.file_utils import xopen
from defusedxml.ElementTree import fromstring

from rightreasons.core.json_files import read_json
from rightreasons.core.resampling import item_rng
from rightreasons.core.sentences import format_list, format_value
from rightreasons.core.validation import check_seed
from rightreasons.datasets.builder import Builder, Config, Splits
from rightreasons.datasets.perturbing.mirroring import check_mirrored, get_choices
from rightreasons.datasets.sources import get_sources, read_members

Row = dict[str, Any]

QUESTIONS = ("cause", "effect")

_ARCHIVE_STARTS = (b"BZh", b"\x1f\x8b", b"PK\x03\x04")
_COLUMNS = ("id", "premise", "question", "choice1", "choice2", "label")
_ID = re.compile("[0-9]{1,18}")

TRAIN_XML = "balacopa-dev-all.xml"
TEST_XML = "copa-test.xml"
CE_XML = "BCOPA-CE.xml"
TRAIN_FILES = ("balanced_copa.tar.bz2", TRAIN_XML, "train.csv")
TEST_FILES = ("COPA-resources.tgz", TEST_XML, "test.csv")

ORIGINALS = range(1, 501)
MIRROR_OFFSET = 1000
TEST_ITEMS = range(501, 1001)
CE_ITEMS = range(1501, 2501)

KNOWN_ANSWERS: Mapping[int, str] = {1: "The sun was rising.", 501: "It was fragile."}
"""One answer of each part, to detect labels that count from the wrong number."""


# -------------------------------------------------------------- files: XML, an archive of it, or CSV


def read_items(file: str, member: str) -> list[Row]:
    """Read the items of one file of the COPA family. Its first bytes determine its format.

    The published XML files name their grammar (`<!DOCTYPE copa-corpus SYSTEM "copa.dtd">`), which is
    never resolved; no entity is declared or resolved, and no other file is read.

    Args:
        file: A path, or an address on the hub: an XML file, an archive that contains it, or a CSV file.
        member: The name of the XML file in `file` if that is an archive.

    Returns:
        Items in the file's order: id, premise, question ("cause" or "effect"), choice1, choice2, and
        label (0 or 1).

    Raises:
        ValueError: If an item is invalid. A damaged file raises the errors of the readers of XML, archives
            or CSV.
    """
    with xopen(file, "rb") as stream:
        # Some editors write a byte order mark, which does not belong to the name of the first column.
        content = stream.read().removeprefix(b"\xef\xbb\xbf")
    if content.startswith(_ARCHIVE_STARTS):
        content = _read_member(file, member)
    if content.lstrip().startswith(b"<"):
        rows = _parse_xml(content)
    else:
        rows = list(csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")))
    return [_parse_item(row, file) for row in rows]


def _read_member(archive: str, member: str) -> bytes:
    """Return the content of a file in an archive.

    Args:
        archive: Path of the archive.
        member: Name of the file, in any folder of the archive.

    Raises:
        ValueError: If the archive has no file of this name, or several.
    """
    contents = []
    for path, content in read_members(archive):
        # Compare the whole name, because Apple's archiver adds a file "._NAME" for each file NAME.
        if PurePosixPath(path).name == member:
            contents.append(content)
    (xml,) = contents
    return xml


def _parse_xml(content: bytes) -> list[Row]:
    """Parse COPA's XML form.

    Args:
        content: Content of an XML file with elements such as `<item id="1" asks-for="cause"
            most-plausible-alternative="1"><p>…</p><a1>…</a1><a2>…</a2></item>`.

    Returns:
        One row per item with the columns of COPA's CSV form, whose values are strings: id, question,
        label ("0" or "1"), premise, choice1 and choice2. A value that the XML lacks is None.
    """
    # The CSV form counts alternatives from 0, and the XML from 1.
    label_by_alternative = {"1": "0", "2": "1"}
    rows = []
    # The released files have a DOCTYPE. The parser loads no grammar, and refuses all entities.
    for item in fromstring(content, forbid_dtd=False).iter("item"):
        alternative = item.get("most-plausible-alternative", "")
        rows.append(
            {
                "id": item.get("id"),
                "question": item.get("asks-for"),
                "label": label_by_alternative.get(alternative),
                "premise": item.findtext("p"),
                "choice1": item.findtext("a1"),
                "choice2": item.findtext("a2"),
            }
        )
    return rows


def _parse_item(row: Row, file: str) -> Row:
    """Check the strings of an item, and convert its id and its label to numbers.

    Args:
        row: id, premise, question ("cause" or "effect"), choice1, choice2 and label ("0" or "1"), all as
            strings, or None if missing.
        file: Name of the file, for the error message.

    Raises:
        ValueError: If a value is missing, the id is not a number, or the alternatives are equal.
    """
    texts = {}
    for name in _COLUMNS:
        # Item 1129 has spaces around a text, and a missing element of XML is None.
        texts[name] = (row[name] or "").strip()
    has_valid_id = _ID.fullmatch(texts["id"]) is not None
    is_valid = (
        has_valid_id
        and texts["question"] in QUESTIONS
        and texts["label"] in ("0", "1")
        and all(texts.values())
        and texts["choice1"] != texts["choice2"]
    )
    if not is_valid:
        raise ValueError(
            "Expected items with an id of digits, a premise, a question about its cause or "
            "effect, two different alternatives, and the number of the correct alternative in "
            f"{file}, but got {format_value(texts)}."
        )
    return {**texts, "id": int(texts["id"]), "label": int(texts["label"])}


# --------------------------------------------------------------------------------------- builders


@dataclasses.dataclass
class BalancedCopaConfig(Config):
    """A configuration of Balanced COPA.

    Attributes:
        seed: Seed of the half that `balanced_50` takes.
    """

    seed: int = 0


class CopaBuilder(Builder):
    """The common part of the family: the columns, the folders, and how rows are read."""

    # Some files have no checksum, as no copy was at hand. Their content is checked item by item.
    SOURCES = get_sources("copa")
    FOLDERS: ClassVar[tuple[str, ...]] = ("balanced_copa", "copa")

    def features(self) -> datasets.Features:
        """Return the types of the columns.

        They are id, premise, question, choice1, choice2, label, mirrored and source_id.
        """
        text = datasets.Value("string")
        number = datasets.Value("int64")
        return datasets.Features(
            {
                "id": number,
                "premise": text,
                "question": text,
                "choice1": text,
                "choice2": text,
                "label": number,
                "mirrored": datasets.Value("bool"),
                "source_id": number,
            }
        )

    def _list_folders(self, root: Path) -> Sequence[Sequence[Path]]:
        """Return the folders in which to look for the files, as a single group.

        Args:
            root: Folder that the user passed: one of `FOLDERS`, their parent, or a folder with the files.
        """
        # The data set copa_easy_hard needs files of both folders, so that their parent is searched even if
        # the user passed one of them.
        parent = root
        if root.name in self.FOLDERS:
            parent = root.parent
        folders = list(map(root.joinpath, self.FOLDERS))
        folders.append(root)
        folders.extend(map(parent.joinpath, self.FOLDERS))
        return [folders]

    def _read_split(self, split: str, files: Mapping[str, str]) -> Iterator[Row]:
        # An item is compared with its mirror, so that all rows are read together, also those of the hub.
        yield from self.rows(*files.values())

    def rows(self, *files: str) -> list[Row]:
        """Read and check the items of the configuration from its files."""
        raise NotImplementedError


class BalancedCopa(CopaBuilder):
    """COPA's 500 training items with a mirrored item for each, and COPA's test set.

    The mirror of item 381 was never written. So the pair is left out, unless `known_issues=False`.
    """

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

    _TRAIN_FORMS: ClassVar[Sequence[Splits]] = [{"train": (file,)} for file in TRAIN_FILES]
    FORMS: ClassVar[Mapping[str, Sequence[Splits]]] = {
        "balanced": _TRAIN_FORMS,
        "original": _TRAIN_FORMS,
        "balanced_50": _TRAIN_FORMS,
        "test": [{"test": (file,)} for file in TEST_FILES],
    }

    def check_options(self) -> None:
        check_seed(self.config.seed)

    def rows(self, *files: str) -> list[Row]:
        """Read and check the items of the configuration.

        The configurations are "balanced" (pairs of an original and its mirrored item), "balanced_50"
        (half of the pairs), "original" and "test".
        """
        if self.config.name == "test":
            return read_test_items(*files)
        rows = read_balanced_items(*files)
        if self.config.name == "original":
            return [row for row in rows if not row["mirrored"]]
        if self.config.name == "balanced_50":
            # With half of the pairs, the set has as many items as COPA's training set.
            original_ids = draw_half(ORIGINALS, self.config.seed)
            return [row for row in rows if row["source_id"] in original_ids]
        return rows


class CopaEasyHard(CopaBuilder):
    """COPA's test set, split by whether a model that sees only the alternatives solves an item."""

    NAME = "copa_easy_hard"
    BUILDER_CONFIGS: ClassVar[list[Config]] = [
        Config(name="all", description="all 500 items, with a column `easy`"),
        Config(name="easy", description="the 190 Easy items"),
        Config(name="hard", description="the 310 Hard items"),
    ]

    # The order of the files is that of the arguments of `rows`.
    FORMS = tuple({"test": ("easy_hard_subsets.json", file)} for file in TEST_FILES)

    def features(self) -> datasets.Features:
        return datasets.Features({**super().features(), "easy": datasets.Value("bool")})

    def rows(self, *files: str) -> list[Row]:
        """Read the test items of the configuration, with a column `easy`.

        Args:
            *files: The file with the ids of both subsets, and the file with the test items.
        """
        subsets_file, items_file = files
        easy_ids = read_easy_ids(subsets_file)
        rows = []
        for row in read_test_items(items_file):
            is_easy = row["id"] in easy_ids
            subset = "easy" if is_easy else "hard"
            if self.config.name in ("all", subset):
                rows.append({**row, "easy": is_easy})
        return rows


class BcopaCe(CopaBuilder):
    """BCOPA-CE: each premise with a cause and an effect, once asking for each."""

    NAME = "bcopa_ce"

    FORMS = ({"test": (CE_XML,)},)
    # The last one is its place in the repository that publishes it.
    FOLDERS = ("bcopa_ce", "data")

    def rows(self, *files: str) -> list[Row]:
        return read_cause_effect_items(*files)


# ------------------------------------------------------------------------- content of the files


def read_balanced_items(file: str) -> list[Row]:
    """Read Balanced COPA's 1,000 items and check their balance.

    Args:
        file: A file of `TRAIN_FILES`: XML, an archive of it, or CSV.

    Returns:
        500 originals with ids 1 to 500, and their mirrored items with 1,000 added to the id, with two
        more columns: `mirrored`, and `source_id`, the id of the original.

    Raises:
        ValueError: If an item is missing or occurs twice, a mirrored item differs from its original
            in its alternatives or its question, both have the same answer, or labels do not count
            from 0.
    """
    rows = read_items(file, TRAIN_XML)
    mirrored_ids = range(ORIGINALS.start + MIRROR_OFFSET, ORIGINALS.stop + MIRROR_OFFSET)
    _check_items(rows, [*ORIGINALS, *mirrored_ids], file)
    linked_rows = []
    for row in rows:
        source_id = row["id"]
        if source_id > MIRROR_OFFSET:
            source_id -= MIRROR_OFFSET
        linked_rows.append(_add_source(row, source_id))
    check_mirrored(linked_rows)
    return linked_rows


def read_test_items(file: str) -> list[Row]:
    """Read the 500 items of COPA's test set."""
    rows = read_items(file, TEST_XML)
    _check_items(rows, TEST_ITEMS, file)
    # No item of the test set has a mirror.
    return [_add_source(row, row["id"]) for row in rows]


def read_cause_effect_items(file: str) -> list[Row]:
    """Read BCOPA-CE and pair its items by their texts. Of a pair, the item with the larger id is mirrored.

    Args:
        file: The XML file.

    Returns:
        The items in the file's order, with two more columns: `mirrored`, and `source_id`, the id of the
        original.

    Raises:
        ValueError: If an item is missing, has no partner with the same premise and alternatives, or
            a pair does not ask for a cause and for an effect with opposite answers.
    """
    rows = read_items(file, CE_XML)
    _check_items(rows, CE_ITEMS, file)
    # The file does not list the pairs. The items of a pair have the same premise and alternatives.
    # Sorted by id, the original of each pair comes first.
    pairs: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: int(row["id"])):
        shared_texts = (row["premise"], *sorted(get_choices(row)))
        pairs.setdefault(shared_texts, []).append(row)

    source_id_by_id = {}
    for pair in pairs.values():
        if not _is_cause_and_effect(pair):
            raise ValueError(
                f"Expected each premise of {file} twice, asking for a cause and for an effect with "
                f"opposite answers, but got the items {format_list([row['id'] for row in pair])}."
            )
        original_id = pair[0]["id"]
        for row in pair:
            source_id_by_id[row["id"]] = original_id
    return [_add_source(row, source_id_by_id[row["id"]]) for row in rows]


def _is_cause_and_effect(pair: Sequence[Row]) -> bool:
    """Return whether two items ask for a cause and for an effect, and have different answers.

    Args:
        pair: Items with the same premise and alternatives. With more or fewer than two, return False.
    """
    if len(pair) != 2:
        return False
    original, mirror = pair
    # The alternatives may be in another order, so that answers are compared by their texts.
    answer = get_choices(original)[original["label"]]
    mirror_answer = get_choices(mirror)[mirror["label"]]
    questions = {original["question"], mirror["question"]}
    return questions == set(QUESTIONS) and answer != mirror_answer


def read_easy_ids(file: str) -> frozenset[int]:
    """Read the ids of COPA's Easy test items, and check that each test item is Easy or Hard.

    Args:
        file: JSON file such as {"easy": [501, …], "hard": [502, …]}.

    Raises:
        ValueError: If an id is missing or repeated.
    """
    subsets = read_json(Path(file))
    ids = sorted([*subsets["easy"], *subsets["hard"]])
    if ids != list(TEST_ITEMS):
        raise ValueError(
            f"Expected each of the ids 501 to 1000 once in 'easy' or 'hard' of {file}, but some "
            "ids are missing or repeated."
        )
    return frozenset(subsets["easy"])


def draw_half(ids: Sequence[int], seed: int) -> frozenset[int]:
    """Draw half of the ids at random.

    Each id gets a random number that depends only on the seed and the id, and the half with the smallest
    numbers is drawn. So the result does not depend on the order of the ids.

    Example:
        >>> half = draw_half(range(1, 501), seed=0)
        >>> len(half), half == draw_half(range(1, 501), seed=1)
        (250, False)
    """

    def draw_number(item_id: int) -> tuple[float, int]:
        return item_rng(seed, item_id).random(), item_id

    order = sorted(ids, key=draw_number)
    return frozenset(order[: len(order) // 2])


def _add_source(row: Row, source_id: int) -> Row:
    return {**row, "mirrored": source_id != row["id"], "source_id": source_id}


def _check_items(rows: Sequence[Row], expected: Sequence[int], file: str) -> None:
    """Check that a file has the expected ids, each once, and labels that count from 0.

    Args:
        rows: Items of the file.
        expected: Ids that the file should have.
        file: Name of the file, for error messages.

    Raises:
        ValueError: If an id is missing, unknown or repeated, or a label names the wrong alternative.
    """
    # Count the ids, because a set would not show an item that occurs twice.
    counts = Counter(row["id"] for row in rows)
    expected_counts = Counter(expected)
    surplus = counts - expected_counts
    missing = expected_counts - counts
    differing_ids = sorted(surplus + missing)
    if differing_ids:
        raise ValueError(
            f"Expected {len(expected)} items in {file}, each once, but item {differing_ids[0]} is "
            "missing, comes again or is not one of them."
        )
    for row in rows:
        # The known answers of two items show whether all labels are shifted by one.
        if row["id"] not in KNOWN_ANSWERS:
            continue
        answer = get_choices(row)[row["label"]]
        expected_answer = KNOWN_ANSWERS[row["id"]]
        if answer != expected_answer:
            raise ValueError(
                f"Expected the answer of item {row['id']} in {file} to be {expected_answer!r}, "
                f"but its label names {answer!r}. The labels may count from another number."
            )
