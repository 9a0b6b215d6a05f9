"""Tables of confidence: several columns, and what is refused."""

import pytest

from rightreasons.calibration import read_confidence


def test_wide():
    table = read_confidence(
        {
            "confidence_p": [0.5, 0.75],
            "confidence_said": ["0.9", "n/a"],
            "label": ["x", "y"],
            "answer": ["x", "x"],
        }
    )
    assert list(table.confidence) == ["p", "said"]
    assert table.correct.tolist() == [1, 0]
    renamed = read_confidence(
        {"mine": [0.5], "theirs": [0.25], "ok": [1]},
        confidence_column="mine,theirs",
        correct_column="ok",
    )
    assert renamed.confidence["theirs"].tolist() == [0.25]


def test_source_names_do_not_depend_on_the_case_of_the_prefix():
    table = read_confidence({"Confidence_P": [0.5], "confidence_said": [0.25], "correct": [1]})

    assert list(table.confidence) == ["P", "said"]


def test_a_single_source_needs_no_name():
    table = read_confidence({"confidence_p": [0.0, 1.0], "correct": [1, 0]})

    # 0 and 1 are confidences.
    assert table.confidence["confidence"].tolist() == [0.0, 1.0]
    assert table.used == "confidence: confidence_p; correct: correct"


def test_a_silent_source_does_not_prevent_the_others_from_being_read():
    table = read_confidence(
        {"confidence_p": [0.5, 0.75], "confidence_said": [None, None], "correct": [1, 0]}
    )

    assert table.confidence["p"].tolist() == [0.5, 0.75]
    assert all(value != value for value in table.confidence["said"].tolist())


def test_rows_with_unique_ids_are_read():
    table = read_confidence({"id": ["a", "b"], "confidence": [0.5, 0.25], "correct": [1, 0]})

    assert table.confidence["confidence"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("rows", "options", "words", "option"),
    [
        ({"confidence": [0.5, 85], "correct": [1, 0]}, {}, "row 1", None),
        ({"confidence": [0.5, -0.1], "correct": [1, 0]}, {}, "row 1", None),
        ({"confidence": ["", None], "correct": [1, 0]}, {}, "rows are empty", None),
        ({"confidence": [0.5, "high"], "correct": [1, 0]}, {}, "item 1 holds", None),
        (
            {"confidence": [0.5, 0.5], "correct": [1, 0], "id": [1, 1]},
            {},
            "contains duplicates",
            None,
        ),
        (
            {"confidence": [0.5], "correct": [1]},
            {"confidence_column": "conf"},
            "Did you mean",
            ("confidence_column",),
        ),
        (
            {"sure": [0.5], "correct": [1]},
            {"correct_column": "correct"},
            "column of confidence",
            ("confidence_column",),
        ),
        (
            {"confidence": [0.5], "answer": ["x"]},
            {},
            "each answer",
            ("correct_column",),
        ),
    ],
)
def test_invalid_tables_are_refused(rows, options, words, option):
    with pytest.raises(ValueError, match=words) as error:
        read_confidence({name: list(column) for name, column in rows.items()}, **options)

    assert getattr(error.value, "option", None) == option
