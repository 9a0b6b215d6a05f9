"""Lists of records in documents: by a path, or the only long one."""

from __future__ import annotations

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.io.files.record_paths import (
    find_records,
    iterate_records,
    name_classes,
    select_records,
    unwrap_records,
)

ROWS = [{"a": number} for number in range(8)]


@pytest.mark.parametrize(
    ("path", "records"),
    [("run.rows", ROWS), ("runs.1", ROWS), ("run", {"rows": ROWS}), ("runs.0", [])],
)
def test_a_path_of_keys_and_positions_selects_records(path, records):
    document = {"run": {"rows": ROWS}, "runs": [[], ROWS]}

    assert select_records(document, path, "the file") == records


@pytest.mark.parametrize("path", ["run.lines", "runs.2", "runs.x", "run.rows.0.a", ""])
def test_a_path_without_records_is_refused(path):
    document = {"run": {"rows": ROWS}, "runs": [[], ROWS]}

    with pytest.raises(OptionError) as error:
        select_records(document, path, "the file")
    assert error.value.option == ("rows",)


@pytest.mark.parametrize(("n_other", "is_clear"), [(4, True), (5, False)])
def test_another_list_is_at_most_half_as_long(n_other, is_clear):
    document = {"schema": ROWS[:n_other], "rows": ROWS}

    if is_clear:
        assert find_records(document, "the file") == ROWS
        return
    with pytest.raises(OptionError, match="rows") as error:
        find_records(document, "the file")
    # The longest list is named first.
    assert "rows (8)" in str(error.value)
    assert "schema (5)" in str(error.value)


def test_two_records_in_at_most_seven_levels_are_a_list():
    def nest(depth, rows):
        for _ in range(depth):
            rows = {"k": rows}
        return dict(iterate_records(rows))

    assert nest(6, ROWS) == {"k.k.k.k.k.k": ROWS}
    assert nest(7, ROWS) == {}
    assert nest(1, ROWS[:2]) == {"k": ROWS[:2]}
    assert nest(1, ROWS[:1]) == {}
    assert nest(1, [*ROWS, 1]) == {}
    assert find_records({"a": 1}, "the file") is None


@pytest.mark.parametrize(
    ("record", "unwrapped"),
    [
        ({"i": 0, "row": {"x": 1}, "cut": [], "note": None}, {"x": 1}),
        ({"i": "0", "row": {"x": 1}}, {"i": "0", "row": {"x": 1}}),
        ({"row": {"x": 1}, "other": {}}, {"row": {"x": 1}, "other": {}}),
        ({"i": 0}, {"i": 0}),
        ({"row": {"x": 1}, "cut": [1]}, {"row": {"x": 1}, "cut": [1]}),
    ],
)
def test_a_record_with_one_object_is_unwrapped(record, unwrapped):
    assert unwrap_records([record, record]) == [unwrapped, unwrapped]


def test_records_are_unwrapped_at_one_key():
    records = [{"row": {"x": 1}}, {"line": {"x": 1}}]

    assert unwrap_records(records) == records


def test_numbers_of_classes_become_names():
    features = [
        {"name": "mood", "type": {"_type": "ClassLabel", "names": ["calm", "sad"]}},
        {"name": "text", "type": {"_type": "Value"}},
        {"name": "other"},
        "x",
    ]
    records = [{"mood": 0, "text": 0}, {"mood": 2, "text": 1}, {"mood": "x", "text": 2}]

    named = name_classes(records, features)

    assert named == [
        {"mood": "calm", "text": 0},
        {"mood": None, "text": 1},
        {"mood": None, "text": 2},
    ]
    assert name_classes(records, {"mood": 1}) == records
