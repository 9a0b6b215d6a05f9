"""Tables of confidence: several columns, several files, and what is refused."""

import pytest

from rightreasons.calibration.confidence_tables import read_confidence


def test_wide():
    table = read_confidence(
        {"confidence_p": [0.5, 0.75], "confidence_said": ["0.9", "n/a"], "label": ["x", "y"], "answer": ["x", "x"]}
    )
    assert list(table.confidence) == ["p", "said"]
    assert table.items == ("0", "1")
    assert table.correct["said"].tolist() == [1, 0]
    renamed = read_confidence(
        {"mine": [0.5], "theirs": [0.25], "ok": [1]}, confidence_column="mine,theirs", correct_column="ok"
    )
    assert renamed.confidence["theirs"].tolist() == [0.25]


def test_files_are_sources_matched_by_items(tmp_path):
    (tmp_path / "one.csv").write_text("id,confidence,correct\na,0.5,1\nb,0.25,0\n")
    (tmp_path / "two.jsonl").write_text('{"id": "b", "confidence": 0.75, "correct": 1}\n')
    table = read_confidence([tmp_path / "one.csv", tmp_path / "two.jsonl"])
    assert table.items == ("a", "b")
    assert table.correct["two"].tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("rows", "options", "sentence"),
    [
        ({"confidence": [0.5, 85], "correct": [1, 0]}, {}, "or nothing, .* row 1 holds 85."),
        ({"confidence": ["", None], "correct": [1, 0]}, {}, "no row has one"),
        ({"confidence": [0.5, "high"], "correct": [1, 0]}, {}, "item 1 holds 'high'"),
        ({"confidence": [0.5, 0.5], "correct": [1, 0], "id": [1, 1]}, {}, "has '1' twice"),
        ({"confidence": [0.5], "correct": [1]}, {"item_column": "from"}, "'from' that `item_column` names"),
        ({"confidence": [0.5], "correct": [1]}, {"confidence_column": "conf"}, "Did you mean 'confidence'"),
        ({"sure": [0.5], "correct": [1]}, {"correct_column": "correct"}, "correct; name it with `confidence_column`"),
        ({"confidence": [0.5], "answer": ["x"]}, {}, "says whether each answer was right"),
    ],
)  # fmt: skip
def test_bad_input(rows, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_confidence({name: list(column) for name, column in rows.items()}, **options)


def test_files_without_items_are_as_long_as_one_another(tmp_path):
    (tmp_path / "one.csv").write_text("confidence,correct\n0.5,1\n0.25,0\n")
    (tmp_path / "two.csv").write_text("confidence,correct\n0.5,1\n")
    with pytest.raises(ValueError, match="have different numbers of rows"):
        read_confidence([tmp_path / "one.csv", tmp_path / "two.csv"])
    with pytest.raises(ValueError, match="at least one file"):
        read_confidence([])
