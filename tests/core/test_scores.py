"""Scores of a model on the items of a dataset."""

import numpy as np
import pyarrow
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.scores import Scores

LOGITS = np.log([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]])


@pytest.fixture
def scores():
    return Scores(
        ids=("a", "b", "c"),
        logits=LOGITS,
        labels=np.array([1, 0, -1]),
        label_names=("no", "yes"),
        probabilities=np.exp(LOGITS),
    )


@pytest.fixture
def ragged_scores():
    logits = Ragged.of(np.log([0.2, 0.8, 0.3, 0.1, 0.6]), [2, 3])
    return Scores(ids=("a", "b"), logits=logits)


def test_the_prediction_is_the_first_of_the_largest_scores(scores, ragged_scores):
    assert len(scores) == 3
    assert scores.predicted.tolist() == [1, 0, 0]
    assert ragged_scores.predicted.tolist() == [1, 2]


def test_the_confidence_is_the_largest_probability(scores, ragged_scores):
    assert scores.confidence == pytest.approx([0.8, 0.5, 0.9])
    assert ragged_scores.confidence == pytest.approx([0.8, 0.6])


def test_answers_are_found_by_id(scores):
    assert scores.answers(["c", "a", "x"]).tolist() == [0, 1, -1]


def test_no_scores_have_no_answers():
    empty = Scores(ids=(), logits=np.empty((0, 2)))

    assert empty.answers(["a"]).tolist() == [-1]


def test_items_are_selected(scores):
    selected = scores.take(np.array([2, 0]))

    assert selected.ids == ("c", "a")
    assert selected.predicted.tolist() == [0, 1]
    assert selected.labels.tolist() == [-1, 1]
    assert selected.probabilities == pytest.approx(np.array([[0.9, 0.1], [0.2, 0.8]]))
    assert selected.label_names == ("no", "yes")


def test_items_of_stored_predictions_are_selected(ragged_scores):
    ids = LazyArrowColumn(pyarrow.chunked_array([["a", "b"]]))
    stored = Scores(ids=ids, logits=ragged_scores.logits)

    selected = stored.take(np.array([1]))

    assert list(selected.ids) == ["b"]
    assert (selected.labels, selected.probabilities) == (None, None)
    assert selected.predicted.tolist() == [2]
