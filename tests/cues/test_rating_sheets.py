"""Rating sheets: what raters see, and what is read back."""

import csv

import datasets
import pytest

from rightreasons.cues.rating_sheets import read_rating_sheets, write_rating_sheets
from rightreasons.cues.ratings import human_performance
from rightreasons.datasets.perturbing.mirroring import mirror_dataset

ITEMS = [
    {
        "id": number,
        "premise": f"Premise <{number}>, so",
        "question": "effect",
        "choice1": f"a {number}",
        "choice2": f"b {number}",
        "label": number % 2,
    }
    for number in range(8)
]


@pytest.fixture
def data():
    return mirror_dataset(
        datasets.Dataset.from_list(ITEMS),
        {row["id"]: f"New {number}" for number, row in enumerate(ITEMS)},
    )


def rows_of(file):
    with file.open(encoding="utf-8-sig", newline="") as opened:
        return list(csv.DictReader(opened))


def fill(file, answer, delimiter=","):
    rows = rows_of(file)
    for row in rows:
        row["answer"] = answer(row)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)


def right(row):
    """The answer of the data: new premises turn the label."""
    number = int(row["choice 1"].split()[1])
    return str(1 + (number % 2 if row["premise"].startswith("Premise") else 1 - number % 2))


def test_sheets_have_no_labels_and_orders_of_their_own(data, tmp_path):
    files = write_rating_sheets(data, tmp_path, seed=4)
    assert [file.name for file in files] == ["rater-1.csv", "rater-2.csv", "rater-3.csv"]
    tables = [rows_of(file) for file in files]
    assert list(tables[0][0]) == ["item", "premise", "question", "choice 1", "choice 2", "answer"]
    orders = [[row["item"] for row in table] for table in tables]
    assert len({tuple(order) for order in orders}) == 3
    assert len({tuple(sorted(order)) for order in orders}) == 1
    assert len(set(orders[0])) == 16
    assert {row["answer"] for table in tables for row in table} == {""}
    again = write_rating_sheets(data.remove_columns("label"), tmp_path / "again", seed=4)
    assert [file.read_bytes() for file in again] == [file.read_bytes() for file in files]


def test_filled_sheets_give_accuracy_and_kappa(data, tmp_path):
    files = write_rating_sheets(data, tmp_path)
    fill(files[0], right)
    fill(files[1], right, delimiter=";")
    fill(files[2], lambda row: right(row) if row["choice 1"] != "a 3" else str(3 - int(right(row))))
    read = read_rating_sheets(data, files)
    assert read["references"] == list(data["label"])
    result = human_performance(**read)
    # The third rater errs on the item 3 and on its mirror: 46 of 48; of two items, one pair of three agrees.
    assert result.accuracy == pytest.approx(46 / 48)
    agreement = (14 + 2 / 3) / 16
    # Each category has half of the ratings: the errors on an item and on its mirror cancel.
    assert result.kappa.fleiss_kappa == pytest.approx((agreement - 0.5) / 0.5)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            lambda text: text.replace("\n", "3\n").replace("answer3", "answer"),
            "row 2 holds '3'",
        ),
        (lambda text: text, "but row 2 holds ''"),
        (
            lambda text: text.replace("answer", "reply", 1),
            "lacks answer",
        ),
        (lambda text: text.partition("\n")[0], "at least one row in rater-1.csv"),
        (
            lambda text: "item,answer\nffff,1\n",
            "holds 'ffff'",
        ),
        (
            lambda text: text.replace("\n", "9" * 5000 + "\n").replace(
                "answer" + "9" * 5000, "answer"
            ),
            "row 2 holds '99",
        ),
        (
            lambda text: text + '"' + "x" * 200_000,
            "every quotation",
        ),
    ],
)
def test_sheets_that_are_not_filled_right(data, tmp_path, answer, message):
    files = write_rating_sheets(data, tmp_path, n_raters=2)
    files[0].write_text(answer(files[0].read_text("utf-8-sig")), "utf-8")
    with pytest.raises(ValueError, match=message):
        read_rating_sheets(data, files)


def test_items_that_are_missing_or_there_twice(data, tmp_path):
    files = write_rating_sheets(data, tmp_path, n_raters=2)
    for file in files:
        fill(file, right)
    lines = files[1].read_text("utf-8").splitlines(keepends=True)
    files[1].write_text("".join(lines[:-1]), "utf-8")
    with pytest.raises(ValueError, match=r"16 items in rater-2.csv, but got 15"):
        read_rating_sheets(data, files)
    files[1].write_text("".join([*lines, lines[3]]), "utf-8")
    with pytest.raises(ValueError, match="each item of rater-2.csv once"):
        read_rating_sheets(data, files)
    with pytest.raises(ValueError, match="at least 2 raters"):
        read_rating_sheets(data, files[:1])
    with pytest.raises(ValueError, match="it lacks choice1; it has"):
        write_rating_sheets(data.remove_columns("choice1"), tmp_path)


def test_an_item_without_a_label_is_told(tmp_path):
    rows = {"id": ["a"], "prompt": ["Why?"], "choices": [["So.", "No."]], "label": [None]}
    data = datasets.Dataset.from_dict(rows)
    files = write_rating_sheets(data, tmp_path, n_raters=2)
    for file in files:
        file.write_text(file.read_text("utf-8-sig").rstrip() + "1", "utf-8")
    with pytest.raises(ValueError, match="choices, but got None"):
        read_rating_sheets(data, files)
