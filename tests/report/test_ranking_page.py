"""Properties of the page of a comparison that need no reports."""

from __future__ import annotations

import types

import numpy as np
import pytest

from rightreasons.report.ranking.page import ComparisonView


def make_view(n_items=10, sizes=(10, 10), predicted=((0, 1), (1, -1))):
    models = [types.SimpleNamespace(n_items=size, name=str(size)) for size in sizes]
    answers = [types.SimpleNamespace(predicted=np.array(row)) for row in predicted]
    group = types.SimpleNamespace(answers=answers, reports=[])
    ranking = types.SimpleNamespace(n_items=n_items, models=models, group=group)
    return ComparisonView(types.SimpleNamespace(ranking=ranking))


@pytest.mark.parametrize(
    ("n_items", "sizes", "is_partial"),
    [
        (10, (10, 10), False),
        (10, (10, 11), True),
        (1, (10, 10), True),
        # Without common items, nothing is a part of them.
        (0, (10, 10), False),
        (0, (), False),
    ],
)
def test_a_comparison_is_partial_if_a_report_has_further_items(n_items, sizes, is_partial):
    view = make_view(n_items, sizes)

    assert view.is_partial is is_partial
    assert view.max_items == max([0, *sizes])


@pytest.mark.parametrize(
    ("predicted", "expected"),
    [(((0, -1), (1, -1)), True), (((0, -1), (-1, -1)), False)],
)
def test_predictions_are_stored_if_each_report_has_some(predicted, expected):
    assert make_view(predicted=predicted).has_predictions is expected
