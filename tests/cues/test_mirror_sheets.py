"""Worksheets of items to mirror: which items are written, and what of a filled sheet is refused."""

import csv

import datasets
import numpy as np
import pytest

from rightreasons.cues.mirror_sheets import (
    read_mirror_sheet,
    select_solved_items,
    write_mirror_sheet,
)
from rightreasons.datasets.perturbing.mirroring import mirror_dataset


def make_items(n=40):
    """Items of which "was" marks the correct choice in four of five, and the incorrect one in the others."""
    rng = np.random.default_rng(2)
    rows = []
    for number in range(n):
        label = int(rng.integers(2))
        marked = label if number % 5 else 1 - label
        choices = [f"It rained {number}.", f"It snowed {number}."]
        choices[marked] = choices[marked].replace("It", "It was said that it")
        rows.append(
            {"id": f"0{number}", "prompt": f"Why, {number}?", "choices": choices, "label": label}
        )
    return rows


@pytest.fixture
def items():
    return datasets.Dataset.from_list(make_items())


def read_rows(file):
    with file.open(encoding="utf-8-sig", newline="") as opened:
        return list(csv.DictReader(opened))


def write_rows(file, rows, delimiter=","):
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def test_the_items_that_the_choices_give_away_are_written(items, tmp_path):
    rows = select_solved_items(items)

    # A classifier of cues follows "was", which misleads it in every fifth item.
    assert rows.tolist() == [row for row in range(40) if row % 5]
    sheet = read_rows(write_mirror_sheet(items, tmp_path / "sheet.csv", rows=rows))
    assert len(sheet) == 32
    assert list(sheet[0]) == ["item", "prompt", "correct choice", "incorrect choice", "new prompt"]
    assert all("was said" in row["correct choice"] for row in sheet)
    assert {row["new prompt"] for row in sheet} == {""}


def test_the_selected_items_do_not_depend_on_the_order_of_the_rows():
    rng = np.random.default_rng(0)
    rows = []
    for number in range(60):
        # No word predicts the label, so that other folds solve other items.
        choices = [" ".join(rng.choice(list("abcdefgh"), 3)) for _ in range(2)]
        label = int(rng.integers(2))
        item_id = f"q{number * 7 % 61}"
        rows.append({"id": item_id, "prompt": "why", "choices": choices, "label": label})
    data = datasets.Dataset.from_list(rows)
    shuffled = data.shuffle(seed=2)

    ids = set(data.select(select_solved_items(data))["id"])

    assert set(shuffled.select(select_solved_items(shuffled))["id"]) == ids


def test_a_column_says_which_items_are_easy(items):
    easy = [number < 3 for number in range(40)]

    assert select_solved_items(items.add_column("easy", easy)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_filled_sheet_makes_a_balanced_set(items, tmp_path, delimiter):
    file = write_mirror_sheet(items, tmp_path / "sheet.csv", rows=[3, 7, 9])
    sheet = read_rows(file)
    sheet[0]["new prompt"] = " The sky fell. "
    sheet[2]["new prompt"] = "The sun rose."
    write_rows(file, sheet[::-1], delimiter)

    prompts = read_mirror_sheet(items, file)
    balanced = mirror_dataset(items, prompts)

    assert prompts == {"09": "The sun rose.", "03": "The sky fell."}
    assert balanced["source_id"][:] == ["03", "03", "09", "09"]
    # Each choice is once correct and once incorrect.
    labels = balanced["label"][:]
    assert labels[0] != labels[1]
    assert labels[2] != labels[3]


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"item": "99"}, "item of the data"),
        ({"correct choice": "It hailed."}, "correct choice"),
        ({"prompt": "Who?"}, "the prompt of"),
        ({"new prompt": "Why,  7?"}, "the original prompt"),
        ({"new prompt": "The sky fell."}, "has the same"),
        ({"item": "03"}, "repeated|unique|again"),
    ],
)
def test_a_row_that_does_not_fit_is_named(items, tmp_path, changes, match):
    file = write_mirror_sheet(items, tmp_path / "sheet.csv", rows=[3, 7])
    sheet = read_rows(file)
    sheet[0]["new prompt"] = "The sky fell."
    sheet[1].update(changes)
    write_rows(file, sheet)

    with pytest.raises(ValueError, match=match) as error:
        read_mirror_sheet(items, file)

    assert "sheet.csv" in str(error.value)


def test_an_empty_sheet_is_refused(items, tmp_path):
    file = write_mirror_sheet(items, tmp_path / "sheet.csv")

    with pytest.raises(ValueError, match="it is empty"):
        read_mirror_sheet(items, file)


def test_items_of_three_choices_have_no_mirror(tmp_path):
    item = {"id": "a", "prompt": "Why?", "choices": ["x", "y", "z"], "label": 0}

    with pytest.raises(ValueError, match="two different choices"):
        write_mirror_sheet(datasets.Dataset.from_list([item]), tmp_path / "sheet.csv")
