"""Checks of scores, rows, labels and their softmax: what is accepted, in which form it comes back, what is refused."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from rightreasons.core.arrays import Ragged, is_ragged, is_tensor
from rightreasons.core.validation import (
    ROW_SUM_TOLERANCE,
    as_ragged,
    check_all,
    check_kind,
    check_labels,
    check_logits,
    check_ragged,
    check_scores,
    softmax,
)


class TestSoftmax:
    @pytest.mark.parametrize("shape", [(1, 2), (9000, 3), (5, 32), (5, 33), (4, 2, 3), (7,)])
    def test_torch(self, shape):
        logits = np.random.default_rng(0).normal(size=shape) * 10
        expected = torch.softmax(torch.tensor(logits), dim=-1).numpy()
        assert softmax(logits) == pytest.approx(expected, abs=1e-15)

    def test_neither_overflows_nor_changes_its_input(self):
        logits = np.array([[1e4, 0.0, -np.inf], [-1e4, -1e4, -1e4]])
        before = logits.copy()
        assert softmax(logits) == pytest.approx(np.array([[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]]))
        assert np.array_equal(logits, before)


class TestScores:
    def test_row_sums_have_a_tolerance(self):
        inside, outside = 1 + 0.99 * ROW_SUM_TOLERANCE, 1 + 1.01 * ROW_SUM_TOLERANCE
        assert check_scores([[inside - 0.5, 0.5]]).sum() == pytest.approx(
            inside
        )  # accepted, and left as it is
        for total in (outside, 2 - outside):
            with pytest.raises(ValueError, match="row 1 sums to"):
                check_scores([[0.5, 0.5], [total - 0.5, 0.5]])

    def test_rounding_outside_the_range_is_clipped(self):
        assert check_scores([[1.0 + 1e-9, -1e-9]]).tolist() == [[1.0, 0.0]]

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("scores", ["probabilities", "logits", "log_probabilities"])
    def test_what_is_not_finite(self, value, scores):
        if value == -np.inf and scores == "logits":
            assert check_scores([[value, 0.0]], scores=scores).tolist() == [
                [0.0, 1.0]
            ]  # a masked choice
        elif value == -np.inf and scores == "log_probabilities":
            assert check_scores([[value, 0.0]], scores=scores).tolist() == [[0.0, 1.0]]
        else:
            with pytest.raises(ValueError, match="row 1 holds"):
                check_scores([[0.5, 0.5], [value, 0.0]], scores=scores)

    def test_a_row_without_a_finite_logit(self):
        with pytest.raises(ValueError, match="row 1 has none"):
            check_scores([[0.0, 1.0], [-np.inf, -np.inf]], scores="logits")
        with pytest.raises(ValueError, match="row 1 has none"):
            check_ragged([[0.0, 1.0], [-np.inf, -np.inf, -np.inf]], scores="logits")


class TestLogits:
    def test_softmax_of_the_logits_is_the_scores(self):
        rows = np.array([[0.25, 0.75], [1.0, 0.0]])
        assert softmax(np.asarray(check_logits(rows, scores="probabilities"))) == pytest.approx(
            rows
        )
        with np.errstate(divide="ignore"):
            logs = np.log(rows)
        assert softmax(np.asarray(check_logits(logs, scores="log_probabilities"))) == pytest.approx(
            rows
        )
        assert softmax(
            np.asarray(check_logits([0.75, 0.0], scores="probabilities"))
        ) == pytest.approx(np.array([[0.25, 0.75], [1.0, 0.0]]))
        assert softmax(
            np.asarray(check_logits(np.log([0.75, 1.0]), scores="log_probabilities"))
        ) == pytest.approx(np.array([[0.25, 0.75], [0.0, 1.0]]))

    def test_ragged(self):
        rows = check_logits([[0.5, 0.5], [0.2, 0.3, 0.5]], scores="probabilities")
        assert isinstance(rows, Ragged)
        assert np.exp(rows[1]) == pytest.approx([0.2, 0.3, 0.5])
        assert check_logits([[1, 2], [1, 2, 3]]).values.tolist() == [1, 2, 1, 2, 3]
        none = as_ragged([], "rows")
        assert (len(none), none.values.size) == (0, 0)
        assert is_ragged(rows)
        assert not any(
            map(is_ragged, (none, as_ragged([[1, 2]], "rows"), as_ragged([[1, 2], [3, 4]], "rows")))
        )

    def test_checks_like_the_others(self):
        with pytest.raises(ValueError, match="row 0 sums to"):
            check_logits([[0.5, 0.2]], scores="probabilities")
        with pytest.raises(ValueError, match="NaN"):
            check_logits([[np.nan, 0.2]])


class TestLabels:
    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
    def test_integers_of_every_width(self, dtype):
        labels = check_labels(np.array([0, 1], dtype=dtype), 2)
        assert labels.dtype == np.int64

    def test_tensors(self):
        assert check_labels(torch.tensor([0, 1]), 2).tolist() == [0, 1]

    def test_one_bound_an_item(self):
        assert check_labels([1, 2], np.array([2, 3])).tolist() == [1, 2]
        with pytest.raises(ValueError, match="between 0 and 1, but item 0 is 2"):
            check_labels([2, 2], np.array([2, 3]))

    def test_booleans_are_no_labels(self):
        with pytest.raises(TypeError, match="item 0 is "):
            check_labels([True, False], 2)
        with pytest.raises(TypeError, match="item 1 is 1.0, a float"):
            check_labels([0, 1.0])


def test_the_first_row_may_have_another_number():
    with pytest.raises(ValueError, match=r"Expected a name, but row 3 holds ''\."):  # 2 + 1
        check_all(["a", ""], str.strip, "a name", first=2)


def test_a_file_that_can_be_detached_is_no_tensor():
    assert is_tensor(torch.ones(2))
    assert not is_tensor(io.TextIOWrapper(io.BytesIO()))


@pytest.mark.parametrize(
    ("value", "kind"),
    [("a", str), (None, str | None), (Path("a"), str | os.PathLike), (5, int | None)],
)
def test_a_value_of_the_right_kind_passes(value, kind):
    check_kind(value, "name", kind)


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (5, str | os.PathLike[str], r"`name` to be a text or a path, but got 5 \(int\)"),
        ([1], dict[str, int] | None, r"`name` to be a mapping, but got \[1\] \(list\)"),
    ],
)
def test_a_value_of_another_kind_is_refused(value, kind, words):
    with pytest.raises(TypeError, match=words):
        check_kind(value, "name", kind)
