"""Tables for the checks of rows: the split, the roles of columns, and which answers are correct."""

from __future__ import annotations

import datasets
import numpy as np
import pytest

from rightreasons.io.predictions import read_predictions
from rightreasons.io.row_tables import (
    assign_roles,
    judge_predictions,
    make_row_table,
    predict_classes,
)


def make_part(*texts):
    return datasets.Dataset.from_dict({"text": list(texts), "label": [0] * len(texts)})


def test_the_test_split_is_checked_against_the_training_split():
    parts = {"train": make_part("a"), "test": make_part("b", "c")}

    table = make_row_table(parts, {"text": ("text",), "label": ("label",)})

    assert (len(table), len(table.train)) == (2, 1)
    alone = make_row_table({"train": parts["train"]}, {"text": ("text",)})
    assert (len(alone), alone.train) == (1, None)
    other = make_row_table({"dev": parts["test"]}, {"text": ("text",)})
    assert (len(other), other.train) == (2, None)


@pytest.mark.parametrize(
    ("columns", "text", "label", "answer", "further"),
    [
        ({"text": ("text",), "label": ("gold",)}, ("text",), "gold", "", ()),
        # Without a role, the text is found by its heading.
        ({"labels": ("gold",)}, ("text",), "gold", "", ()),
        ({"prompt": ("gold",), "label": ("missing",)}, ("gold",), "", "", ()),
        ({"right": ("out", "gold")}, ("text",), "gold", "out", ()),
        ({"right": ("{{ out == gold }}",)}, ("text",), "gold", "out", ("{{ out == gold }}",)),
        ({"right": ("ok",)}, ("text",), "", "", ("ok",)),
        ({"right": ("{{ out == 'x' }}",)}, ("text",), "", "", ("{{ out == 'x' }}",)),
        (
            {"scores": ("p_0", "p_1"), "confidence": ("c",), "label": ("gold",)},
            ("text",),
            "gold",
            "",
            ("p_0", "p_1", "c"),
        ),
    ],
)
def test_columns_have_roles(columns, text, label, answer, further):
    data = datasets.Dataset.from_dict(
        {"text": ["x"], "gold": ["a"], "out": ["a"], "ok": [1], "ID": ["q"]}
    )

    roles = assign_roles(columns, data)

    assert (roles.text, roles.label, roles.answer, roles.id) == (text, label, answer, "ID")
    # The first column marks answers that cannot be read.
    assert roles.further[1:] == further


def test_predictions_of_classes_have_outcomes():
    predictions = read_predictions(
        {"label": [0, 1, -1, 1], "p_0": [0.9, 0.6, 0.5, 0.2], "p_1": [0.1, 0.4, 0.5, 0.8]}
    )

    outcomes = judge_predictions(predictions)

    assert outcomes.is_correct.tolist() == [True, False, True]
    assert outcomes.rows.tolist() == [0, 1, 3]
    assert (outcomes.answers.tolist(), outcomes.gold.tolist()) == ([0, 0, 1], [0, 1, 1])
    assert (outcomes.n_classes, outcomes.is_stored) == (2, True)


@pytest.mark.parametrize(
    ("columns", "n_classes"),
    [
        ({"p_0": [0.9, 0.2], "p_1": [0.05, 0.5], "p_2": [0.05, 0.3]}, 3),
        # P(class 1) is that of two classes, and lists of choices have none.
        ({"probs": [0.25, 0.75]}, 2),
        ({"scores": [[0.5, 0.5], [0.25, 0.5, 0.25]]}, 0),
    ],
)
def test_classes_are_counted_by_the_scores(columns, n_classes):
    outcomes = judge_predictions(read_predictions({"label": [0, 1], **columns}))

    assert outcomes.n_classes == n_classes
    assert outcomes.is_correct.tolist() == [True, True]


def test_answers_are_codes_of_the_labels():
    columns = {
        "label": ["b", "a", "b"],
        "prediction": ["b", "c", "a"],
        "confidence": [0.9, 0.5, 0.7],
    }

    outcomes = judge_predictions(read_predictions(columns))

    assert outcomes.is_correct.tolist() == [True, False, False]
    labels = outcomes.labels.tolist()
    assert labels[0] == labels[2] != labels[1]
    # "c" is not a label.
    assert outcomes.answers.tolist() == [labels[0], -1, labels[1]]
    flags = {"correct": [1, 0, 1], "confidence": [0.9, 0.5, 0.7]}
    outcomes = judge_predictions(read_predictions(flags))
    assert (outcomes.labels, outcomes.answers) == (None, None)


@pytest.mark.parametrize(
    ("scores", "classes"),
    [
        (np.array([[0.1, 0.9], [0.6, 0.4]]), [1, 0]),
        (np.array([0.5, 0.51, 0.2]), [0, 1, 0]),
        ([[0.1, 0.9], [0.2, 0.3, 0.5]], [1, 2]),
    ],
)
def test_the_largest_score_is_predicted(scores, classes):
    assert predict_classes(scores).tolist() == classes
