"""Predictions that are matched with the items of a dataset, by id or by their order."""

from __future__ import annotations

import datasets
import pytest

from rightreasons.audited.stored_items import match_ids
from rightreasons.io.predictions import read_predictions

TEXTS = ["a fine film", "a dull film", "so it goes", "word"]


def match(ids=None, texts=None, n_rows=4):
    """Return the ids of the items of predictions, which may have ids and texts."""
    columns = {"label": ([0, 1] * n_rows)[:n_rows], "p_0": [0.75] * n_rows, "p_1": [0.25] * n_rows}
    if ids is not None:
        columns["id"] = ids
    if texts is not None:
        columns["text"] = texts
    items = datasets.Dataset.from_dict({"id": [*"abcd"], "text": TEXTS})
    return list(match_ids(read_predictions(columns), items, "the file", "the data"))


def test_predictions_are_matched_by_id_or_by_their_order():
    assert match(ids=[*"dcba"]) == [*"dcba"]
    assert match(ids=["c"], n_rows=1) == ["c"]
    # Ids that do not occur in the data, and none.
    assert match(ids=[*"wxyz"]) == [*"abcd"]
    assert match() == [*"abcd"]


@pytest.mark.parametrize("n_rows", [3, 5])
def test_another_number_of_predictions_is_refused(n_rows):
    with pytest.raises(ValueError, match=f"got {n_rows} predictions"):
        match(n_rows=n_rows)


def test_texts_of_other_items_are_refused():
    assert match(texts=[f"Review: {text}!" for text in TEXTS]) == [*"abcd"]
    # A harness may change a text, but not those of more than half of the items. The text of a
    # single word is not compared.
    assert match(texts=["other", *TEXTS[1:]]) == [*"abcd"]
    with pytest.raises(ValueError, match="the file"):
        match(texts=["other", "another", *TEXTS[2:]])
