"""Stored scores by the ids of a split: in another order, of a part of the items, and of items without an answer."""

import numpy as np
import pyarrow as pa
import pytest

from rightreasons.audited.stored_model import StoredModel
from rightreasons.core.ordering import LazyArrowColumn

LOGITS = np.log([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5], [0.2, 0.8]])


def make_ids(*names):
    return LazyArrowColumn(pa.array(names))


def make_model(**options):
    return StoredModel(
        name="scores.csv",
        task="classification",
        label_names=("no", "yes"),
        ids=make_ids("a", "b", "c", "d"),
        logits=LOGITS,
        probabilities=None,
        fingerprint="",
        used="",
        **options,
    )


class Split:
    """A split as far as stored scores need it."""

    name = "test"

    def __init__(self, *names):
        self.ids = make_ids(*names)
        self.labels = np.ones(len(names), dtype=int)

    def __len__(self):
        return len(self.ids)


def test_scores_follow_the_order_of_the_split():
    scores = make_model().get_scores(Split("d", "a", "b"))

    assert list(scores.ids) == ["d", "a", "b"]
    assert scores.logits == pytest.approx(LOGITS[[3, 0, 1]])


def test_the_first_item_without_a_prediction_is_named():
    with pytest.raises(ValueError, match="2 of 5 have none, such as the id 'x'"):
        make_model().get_scores(Split("a", "d", "x", "b", "y"))


def test_items_whose_answer_cannot_be_read_have_no_score():
    model = make_model(failures={"b": "no letter", "z": "not in the split"})

    scores = model.get_scores(Split("a", "b", "c"))

    assert list(scores.ids) == ["a", "c"]
    assert scores.logits == pytest.approx(LOGITS[[0, 2]])
    assert scores.failures == {"b": "no letter"}
