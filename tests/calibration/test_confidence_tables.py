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


@pytest.mark.parametrize(
    ("rows", "options", "sentence"),
    [
        ({"confidence": [0.5, 85], "correct": [1, 0]}, {}, "or nothing, .* row 1 holds 85."),
        ({"confidence": ["", None], "correct": [1, 0]}, {}, "no row has one"),
        ({"confidence": [0.5, "high"], "correct": [1, 0]}, {}, "item 1 holds 'high'"),
        ({"confidence": [0.5, 0.5], "correct": [1, 0], "id": [1, 1]}, {}, "some come twice in its column 'id'"),
        ({"confidence": [0.5], "correct": [1]}, {"confidence_column": "conf"}, "Did you mean 'confidence'"),
        ({"sure": [0.5], "correct": [1]}, {"correct_column": "correct"}, "correct; name it with `confidence_column`"),
        ({"confidence": [0.5], "answer": ["x"]}, {}, "says whether each answer was right"),
    ],
)  # fmt: skip
def test_bad_input(rows, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_confidence({name: list(column) for name, column in rows.items()}, **options)
