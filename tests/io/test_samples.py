"""The order of rows and the names of groups, which decide neither on positions nor on samples."""

import datasets
import pytest

from rightreasons.io import samples
from rightreasons.io.samples import name_groups, sort_by_id


def make_rows(ids):
    return datasets.Dataset.from_dict({"id": ids, "row": list(range(len(ids)))})


@pytest.mark.parametrize(
    ("ids", "ordered"),
    [
        (["q2", "q10", "q1", "é", "z"], ["z", "q1", "q2", "é", "q10"]),
        ([10, 9, 100, 1], [1, 9, 10, 100]),
        (["test-1"], ["test-1"]),
        ([], []),
    ],
)
def test_ids_of_one_length_are_in_the_order_of_their_characters(ids, ordered):
    data = make_rows(ids)

    rows = sort_by_id(data)

    # The letter "é" has two bytes, of which the first one is larger than those of ASCII.
    assert rows["id"][:] == ordered
    assert rows["row"][:] == [ids.index(item_id) for item_id in ordered]
    assert rows.features == data.features


def test_numbered_rows_stay_as_they_are():
    data = make_rows([f"test-{row}" for row in range(120)])

    assert sort_by_id(data) is data


def test_selected_rows_and_large_tables_are_sorted_too(monkeypatch):
    selected = make_rows([f"i{row}" for row in range(30)]).select([20, 3, 11, 7])
    expected = ["i3", "i7", "i11", "i20"]
    assert sort_by_id(selected)["id"][:] == expected

    monkeypatch.setattr(samples, "MAX_SORTED_BYTES", 10)

    assert sort_by_id(selected)["id"][:] == expected


def test_groups_are_named_by_the_first_split_that_has_them():
    columns = {"id": ["10", "9", "8", "7"], "page": ["b", "b", "a", None]}
    changed = {"id": ["0", "1", "2"], "page": ["a", "c", ""]}
    tables = [
        datasets.Dataset.from_dict(columns),
        make_rows(["x"]),
        datasets.Dataset.from_dict(changed),
    ]

    assert name_groups(tables, "page") == {"b": "9", "a": "8", "c": "1"}
