"""Tables of confidence: several columns, and what is refused."""

import numpy as np
import pytest

from rightreasons.calibration import read_confidence


def test_wide():
    table = read_confidence(
        {"confidence_p": [0.5, 0.75], "confidence_said": ["0.9", "n/a"], "label": ["x", "y"], "answer": ["x", "x"]}
    )
    assert list(table.confidence) == ["p", "said"]
    assert table.correct.tolist() == [True, False]
    renamed = read_confidence(
        {"mine": [0.5], "theirs": [0.25], "ok": [1]}, confidence_column="mine,theirs", correct_column="ok"
    )
    assert renamed.confidence["theirs"].tolist() == [0.25]


def test_what_a_model_says_is_read():
    said = ["85%", "8/10", "0,85", "ninety percent", "Probability: 0.4", "high", None]
    table = read_confidence({"confidence": said, "correct": [1] * 7})
    assert table.confidence["confidence"][:5].tolist() == [0.85, 0.8, 0.85, 0.9, 0.4]
    assert np.isnan(table.confidence["confidence"][5:]).all()


@pytest.mark.parametrize(
    ("rows", "options", "sentence"),
    [
        ({"confidence": [0.5, 85], "correct": [1, 0]}, {}, "or nothing, .* row 1 holds 85."),
        ({"confidence": ["", None], "correct": [1, 0]}, {}, "no row has one"),
        ({"confidence": ["low", "high"], "correct": [1, 0]}, {}, "no row has one"),
        ({"confidence": [0.5, 0.5], "correct": [1, 0], "id": [1, 1]}, {}, "some come twice in its column 'id'"),
        ({"confidence": [0.5], "correct": [1]}, {"confidence_column": "conf"}, "Did you mean 'confidence'"),
        ({"sure": [0.5], "correct": [1]}, {"correct_column": "correct"}, "correct; name it with `confidence_column`"),
        ({"confidence": [0.5], "answer": ["x"]}, {}, "says whether each answer was right"),
    ],
)  # fmt: skip
def test_bad_input(rows, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_confidence({name: list(column) for name, column in rows.items()}, **options)
