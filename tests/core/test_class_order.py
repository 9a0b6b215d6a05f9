"""The doubt about numbered classes whose labels would fit another order."""

import numpy as np

from rightreasons.core.labels.class_order import suggest_class_order


def test_items_of_both_labels_are_counted():
    # Label 0: 27 of 30 are answered 1. Label 1: 16 of 20 are answered 0. So 3 + 4 of 50 are
    # correct, and 43 in the other order. Items without a label of a class do not count.
    labels = np.repeat([0, 0, 1, 1, -1, 2], [27, 3, 16, 4, 9, 5])
    answers = np.repeat([1, 0, 0, 1, 0, 1], [27, 3, 16, 4, 9, 5])

    sentence = suggest_class_order(np.where(answers == 1, 0.8, 0.5), labels, None)

    assert "14.0%" in sentence
    assert "would match 86.0% in the other order (0 is 1, 1 is 0)" in sentence


def test_one_of_several_orders_is_named():
    # Each label is answered by the next class, but for two items of each: 6 and 54 of 60.
    labels = np.repeat([0, 1, 2], 20)
    answers = (labels + 1) % 3
    answers[[0, 1, 20, 21, 40, 41]] = (0, 0, 1, 1, 2, 2)

    sentence = suggest_class_order(np.eye(3)[answers], labels, ["low", "mid", "high"])

    assert "10.0%" in sentence
    assert "would match 90.0% in another order (0 is mid, 1 is high, 2 is low)" in sentence


def test_answers_at_chance_raise_no_doubt():
    labels = np.tile([0, 1], 20)
    scores = np.repeat([[0.9, 0.1], [0.2, 0.8]], 20, axis=0)

    assert suggest_class_order(scores, labels, None) == ""
    assert suggest_class_order(scores, np.full(40, -1), None) == ""


def test_exchanged_names_of_scores_are_named():
    # The scores of "low" and "high" are exchanged, and 300 of 400 items of "mid" are predicted to
    # be "low", whose column has the largest score.
    labels = np.repeat([0, 1, 2], 400)
    scores = np.eye(3)[2 - labels]
    scores[np.flatnonzero(labels == 1)[:300]] = [1.0, 0.0, 0.0]

    sentence = suggest_class_order(scores, labels, ["low", "mid", "high"], is_by_name=True)

    # 100 of 1,200 are correct, and 800 more if the two names are exchanged.
    assert "match 8.3% of the answers" in sentence
    assert "would match 75.0% if the scores had other names" in sentence
    assert "(“low” for “high”, “high” for “low”)" in sentence
