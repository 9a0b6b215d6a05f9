"""Splits from names of files and folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from rightreasons.io.files.splits import assign_files, find_split, sort_splits

FOLDER = Path("data")


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("train", "train"),
        ("my-valid.2", "validation"),
        ("Test set", "test"),
        ("evaluation", "test"),
        ("latest", ""),
        ("trained", ""),
        ("", ""),
    ],
)
def test_a_split_is_a_word_of_a_name(name, split):
    assert find_split(name) == split


def test_two_splits_in_a_name_are_refused():
    with pytest.raises(ValueError, match="train and test"):
        find_split("train_test")


@pytest.mark.parametrize(
    ("files", "splits"),
    [
        (
            ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"],
            {"train": [0, 1]},
        ),
        (["test/a.csv", "train/a.csv", "train/b.csv"], {"train": [1, 2], "test": [0]}),
        (["test.csv", "dev.csv", "train.csv"], {"train": [2], "validation": [1], "test": [0]}),
        # Files that differ in a number are parts; others are variants.
        (["test-1.csv", "test-2.csv"], {"test": [0, 1]}),
        (["test_1of2.csv", "test_2of2.csv"], {"test": [0, 1]}),
        (["test.csv", "test_hard.csv"], {"test": [0], "test_hard": [1]}),
        (["test_easy.csv", "test_hard.csv"], {"test_easy": [0], "test_hard": [1]}),
        (["test_hard.csv"], {"test": [0]}),
        (["testing.csv", "test.csv"], {"test": [1], "testing": [0]}),
        # Without splits, the files of the most common type are read; of equal ones, the preferred.
        (["a.csv", "b.json", "c.json"], {"train": [1, 2]}),
        (["a.json", "b.csv"], {"train": [1]}),
        (["a.csv", "b.csv.gz"], {"train": [0, 1]}),
    ],
)
def test_files_of_a_folder_are_assigned_to_splits(files, splits):
    assigned = assign_files(files, FOLDER)

    expected = {name: [files[index] for index in indices] for name, indices in splits.items()}
    assert list(assigned.items()) == list(expected.items())


def test_a_file_of_the_same_type_without_a_split_is_a_warning():
    with pytest.warns(UserWarning, match="b.csv"):
        splits = assign_files(["a_test.csv", "b.csv", "c.json"], FOLDER)

    assert splits == {"test": ["a_test.csv"]}


@pytest.mark.filterwarnings("error")
def test_files_of_other_types_are_no_warning():
    assert assign_files(["a_test.csv", "c.json"], FOLDER) == {"test": ["a_test.csv"]}


def test_a_split_in_folders_of_two_languages_is_refused():
    with pytest.raises(ValueError, match="en and in fr"):
        assign_files(["en/test/a.csv", "fr/test/a.csv"], FOLDER)
    # The subfolders of a split may have its shards.
    assert list(assign_files(["test/1/a.csv", "test/2/a.csv"], FOLDER)) == ["test"]


def test_splits_are_in_the_usual_order():
    assert list(sort_splits(dict.fromkeys(("hard", "test", "train", "easy")))) == [
        "train",
        "test",
        "hard",
        "easy",
    ]
