"""Scores of an audit that its questions share."""

from types import SimpleNamespace

import datasets
import numpy as np

from rightreasons.audited.scoring import reuse_scores
from rightreasons.core.arrays import Ragged
from rightreasons.core.scores import Scores

ITEMS = {
    "id": ["a", "b", "c"],
    "prompt": ["Why?", "How?", "Who?"],
    "choices": [["x", "y"], ["x", "z", "w"], ["x", "y"]],
}


def test_only_items_without_scores_are_scored_and_the_order_stays():
    items = SimpleNamespace(data=datasets.Dataset.from_dict(ITEMS))
    # Item b has no scores.
    known = Scores(ids=("a", "c"), logits=np.array([[1.0, 2.0], [3.0, 4.0]]))
    asked = []

    def score(prompts, choices, ids):
        asked.append((list(prompts), list(ids)))
        rows = [np.full(len(row), -1.0) for row in choices]
        values = Ragged.of(np.concatenate(rows), [len(row) for row in rows])
        return Scores(ids=tuple(ids), logits=values, failures={})

    answers = reuse_scores(known, items, score)(
        ["Who?", "", "How?", "Why?"],
        [["x", "y"], ["x", "y"], ["x", "z", "w"], ["y", "x"]],
        ["c/original", "a/no_question", "b/original", "a/order 1"],
    )

    # Another order of the choices is another request.
    assert asked == [(["", "How?", "Why?"], ["a/no_question", "b/original", "a/order 1"])]
    assert answers.ids == ("c/original", "a/no_question", "b/original", "a/order 1")
    rows = [row.tolist() for row in answers.logits]
    assert rows == [[3.0, 4.0], [-1.0, -1.0], [-1.0, -1.0, -1.0], [-1.0, -1.0]]


def test_nothing_is_scored_if_all_items_have_scores():
    items = SimpleNamespace(data=datasets.Dataset.from_dict(ITEMS))
    known = Scores(ids=("a", "c"), logits=np.array([[1.0, 2.0], [3.0, 4.0]]))

    answers = reuse_scores(known, items, score=None)(["Why?"], [["x", "y"]], ["a/original"])

    assert answers.logits.tolist() == [[1.0, 2.0]]
