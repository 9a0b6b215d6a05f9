"""Splits from the names of files, folders and keys: train, validation and test.

`find_split` finds the split in one name, and `assign_files` assigns all files of a folder to splits.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from rightreasons.core.sentences import format_list
from rightreasons.io.files.compressed import get_data_type, strip_compression

NAMES_OF_SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
"""Split -> the words for it in names."""

PREFERRED_TYPES = (
    ".parquet",
    ".csv",
    ".tsv",
    ".jsonl",
    ".json",
    ".npz",
    ".npy",
    ".xlsx",
    ".eval",
)
"""Types of files of data, preferred ones first, among equally common types in a folder without names of splits."""

# Characters around the word for a split in a name.
_BORDER = "[-._ 0-9]"
_SPLIT_PATTERNS = {
    split: re.compile(f"(?:.*{_BORDER})?(?:{'|'.join(words)})(?:{_BORDER}.*)?", re.IGNORECASE)
    for split, words in NAMES_OF_SPLITS.items()
}
# The path of a file of a split on the hub, such as "data/train-00000-of-00002.parquet".
_SHARD = re.compile(r"^data/([^/]+)-[0-9]{5}-of-[0-9]{5}[^/]*\.[^/]*$")
# The end of the names of the parts of one file, such as "-1" or "_2of3".
_PART_NUMBER = re.compile(r"[-._ ]*\d+([-._ ]*of[-._ ]*\d+)?$")

FilesBySplit = dict[str, list[str]]
Value = TypeVar("Value")


def find_split(name: str) -> str:
    """Return the split that a name contains as a word: "train", "validation" or "test".

    Args:
        name: The name of a folder, of a file without its suffix, or a key of an object.

    Returns:
        The split; "" if the name does not contain the word for a split.

    Raises:
        ValueError: If the name contains words for two splits.

    Example:
        >>> find_split("my_Dev-2"), find_split("contested")
        ('validation', '')
    """
    splits = []
    for split, pattern in _SPLIT_PATTERNS.items():
        if pattern.fullmatch(name):
            splits.append(split)
    if len(splits) > 1:
        raise ValueError(
            f"Expected one split in the name of each file, but {name} contains "
            f"{' and '.join(splits)}."
        )
    return splits[0] if splits else ""


def assign_files(files: Sequence[str], path: Path) -> FilesBySplit:
    """Return the files of each split of a folder, according to their names.

    Names of shards of the hub are used first, then names of folders, then names of files. If no name
    contains a split, all files of the most common type belong to `train`.

    Args:
        files: The data files of a folder, relative to it.
        path: The folder, for error messages.

    Raises:
        ValueError: If a split is in several folders, such as those of languages.

    Warns:
        UserWarning: If some files belong to no split, and are not read.
    """
    for find_splits, has_variants in _RULES:
        files_by_split = _group_by_split(files, find_splits)
        splits: FilesBySplit = {}
        for split, names in files_by_split.items():
            _check_one_version(split, names, path)
            if has_variants:
                splits |= _separate_variants(split, names)
            else:
                splits[split] = names
        # The first rule that finds a split applies to the whole folder.
        if splits:
            _warn_of_unread_files(files, splits, path)
            return sort_splits(splits)
    kind = _find_main_type(files)
    return {"train": [file for file in files if get_data_type(file) == kind]}


# ------------------------------------------------------------------------------- rules


def _find_split_of_shard(file: str) -> list[str]:
    return _SHARD.findall(file)


def _find_splits_of_folders(file: str) -> set[str]:
    return {find_split(name) for name in Path(file).parent.parts}


def _find_split_of_file(file: str) -> list[str]:
    return [find_split(strip_compression(file).stem)]


_RULES: Sequence[tuple[Callable[[str], Iterable[str]], bool]] = (
    (_find_split_of_shard, False),
    (_find_splits_of_folders, False),
    (_find_split_of_file, True),
)
"""Rules in their order: a function that finds the splits of a file, and whether names may contain variants of splits."""


def _group_by_split(
    files: Sequence[str], find_splits: Callable[[str], Iterable[str]]
) -> FilesBySplit:
    """Group files by the splits that a rule finds in their names.

    Args:
        files: The files. A file without a split is not in any group.
        find_splits: The rule: a function that returns the splits in a name, with "" for a part of the name
            without a split.
    """
    files_by_split: FilesBySplit = {}
    for file in files:
        for split in find_splits(file):
            if split:
                files_by_split.setdefault(split, []).append(file)
    return files_by_split


def _check_one_version(split: str, files: Sequence[str], path: Path) -> None:
    """Check that files of a split with the same name are in one folder, and not in folders of languages.

    Args:
        split: The split.
        files: The files of the split, relative to the folder of data.
        path: The folder of data, for error messages.

    Raises:
        ValueError: If files with the same name are in several folders.
    """
    folder_by_name: dict[str, str] = {}
    for file in files:
        # Only the folders above that of the split are compared: subfolders may contain its shards.
        folders = itertools.takewhile(lambda name: not find_split(name), Path(file).parent.parts)
        folder = "/".join(folders)
        name = Path(file).name
        earlier_folder = folder_by_name.setdefault(name, folder)
        if earlier_folder != folder:
            raise ValueError(
                f"Expected each split once in {path}, but {split} is in {earlier_folder or '.'} "
                f"and in {folder or '.'}. Choose one of these folders."
            )


def _separate_variants(split: str, files: Sequence[str]) -> FilesBySplit:
    """Divide the files of a split into its variants, such as test and test_hard, which become splits.

    Files whose names differ only in a number, such as test-1 and test-2, are parts of the same split.

    Args:
        split: The split.
        files: The files of the split and its variants.

    Returns:
        Name of the split, or of a variant -> its files.
    """
    files_by_stem: FilesBySplit = {}
    for file in files:
        # The parts of a file have the same name without their number.
        stem = _PART_NUMBER.sub("", strip_compression(file).stem)
        files_by_stem.setdefault(stem, []).append(file)
    # If there is only one variant, it is the split, whatever its name.
    if len(files_by_stem) == 1:
        return {split: list(files)}
    plain_stems = [stem for stem in files_by_stem if stem.lower() in NAMES_OF_SPLITS[split]]
    if len(plain_stems) == 1:
        # For example, test.csv is the split "test", and test_hard.csv remains a variant.
        files_by_stem[split] = files_by_stem.pop(plain_stems[0])
    return files_by_stem


def _warn_of_unread_files(
    files: Sequence[str], splits: Mapping[str, Sequence[str]], path: Path
) -> None:
    """Warn of files that have the type of the data, but whose names contain no split.

    Args:
        files: All data files of a folder.
        splits: Name of a split -> the files that are read.
        path: The folder, for the message.
    """
    read_files = set(itertools.chain.from_iterable(splits.values()))
    read_types = set(map(get_data_type, read_files))
    unread_files = []
    for file in files:
        if file not in read_files and get_data_type(file) in read_types:
            unread_files.append(file)
    if unread_files:
        warnings.warn(
            f"{format_list(unread_files)} of {path} has no split in its name, and is not read.",
            stacklevel=3,
        )


def sort_splits(splits: Mapping[str, Value]) -> dict[str, Value]:
    """Sort splits: train, validation, test, and then all others in their original order."""
    order = dict.fromkeys(("train", "validation", "test", *splits))
    sorted_splits = {}
    for split in order:
        if split in splits:
            sorted_splits[split] = splits[split]
    return sorted_splits


def _find_main_type(files: Sequence[str]) -> str:
    """Return the most common type of files; of equally common types, the preferred one."""
    counts = Counter(map(get_data_type, files))
    # `max` returns the first of equal types.
    return max(PREFERRED_TYPES, key=lambda file_type: counts[file_type])
