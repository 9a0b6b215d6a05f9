"""What `contrast_consistency` adds to the contract: every way in gives one result."""

import pickle

import numpy as np
import pytest

import rightreasons
from rightreasons.difficulty.contrast import contrast_consistency

COLUMNS = {
    "predictions": [0, 1, 1, 0, 1, 2, 1],
    "references": [0, 1, 1, 0, 0, 2, 2],
    "groups": ["a", "a", "b", "b", "b", "c", "c"],
    "is_original": [False, True, True, False, False, True, False],
}


@pytest.mark.parametrize("without", [(), ("is_original",)])
@pytest.mark.parametrize(
    ("changes", "options"),
    [({}, {"confidence_level": 0.9}), ({"groups": [1, 1, 7, 7, 7, 3, 3]}, {})],
)
def test_every_way_in(changes, options, without):
    columns = {
        name: column for name, column in {**COLUMNS, **changes}.items() if name not in without
    }
    expected = contrast_consistency(**columns, **options).to_dict()
    metric = rightreasons.load("contrast_consistency", **options)
    assert metric.compute(**columns) == expected
    assert (
        metric.compute(**{name: np.array(column) for name, column in columns.items()}) == expected
    )
    metric.add_batch(**{name: column[:5] for name, column in columns.items()})
    for row in (5, 6):
        metric.add(**{name: column[row] for name, column in columns.items()})
    assert metric.compute() == expected
    assert pickle.loads(pickle.dumps(metric)).compute(**columns) == expected


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"predictions": [0.5, 1, 1, 0, 1, 2, 1]}, ValueError, "whole numbers"),
        ({"is_original": ["yes"] * 7}, TypeError, "True or False"),
        ({"groups": None}, ValueError, "`groups` in contrast_consistency"),
        ({"groups": list("aabbbcd")}, ValueError, "set 'c' has one item"),
    ],
)
def test_bad_input_at_once_and_added(changes, error, message):
    metric = rightreasons.load("contrast_consistency")
    columns = {
        name: column for name, column in {**COLUMNS, **changes}.items() if column is not None
    }
    with pytest.raises(error, match=message):
        metric.compute(**columns)
    with pytest.raises(error, match=message):  # noqa: PT012 - a value is wrong when added, or when computed
        metric.add_batch(**columns)
        metric.compute()
    assert metric.compute(**COLUMNS)["n_sets"] == 3
