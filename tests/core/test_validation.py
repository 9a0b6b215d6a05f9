"""Checks of scores, rows, labels and their softmax: what is accepted, in which form it comes back, what is refused."""

import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from rightreasons.core.arrays import Ragged, is_ragged, is_tensor, parse_rows
from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.validation import (
    ROW_SUM_TOLERANCE,
    as_ragged,
    check_all,
    check_at_most,
    check_bool,
    check_choice_lists,
    check_columns,
    check_count,
    check_flags,
    check_fraction,
    check_ids,
    check_kind,
    check_labels,
    check_labels_of_rows,
    check_logits,
    check_number,
    check_one_of,
    check_ragged,
    check_same_length,
    check_scores,
    check_seed,
    check_texts,
    check_token_lists,
    check_vector,
    softmax,
    to_probabilities,
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

    def test_either_end_of_the_range_is_checked(self):
        assert check_scores([1 + 1e-9, 0.5]).tolist() == [[0, 1], [0.5, 0.5]]
        with pytest.raises(ValueError, match="row 0 holds 50"):
            check_scores([[50.0, 50.0]])
        with pytest.raises(ValueError, match="row 1 holds -0.25"):
            check_scores([0.5, -0.25])

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
        (5, str | os.PathLike[str], "`name` to be"),
        ([1], dict[str, int] | None, r"\[1\] \(list\)"),
    ],
)
def test_a_value_of_another_kind_is_refused(value, kind, words):
    with pytest.raises(TypeError, match=words):
        check_kind(value, "name", kind)


class TestProbabilitiesOfParsedRows:
    def test_a_vector_is_the_probability_of_class_1(self):
        rows = parse_rows([0.25, 1.0], "predictions")
        assert to_probabilities(rows).tolist() == [[0.75, 0.25], [0, 1]]

    def test_tables_and_ragged_rows(self):
        assert to_probabilities(parse_rows([[0.5, 0.5]], "x")).tolist() == [[0.5, 0.5]]
        rows = to_probabilities(parse_rows([[0.5, 0.5], [0.2, 0.3, 0.5]], "x"))
        assert isinstance(rows, Ragged)

    def test_the_meaning_of_the_numbers_is_checked(self):
        with pytest.raises(OptionError) as error:
            to_probabilities(parse_rows([[0.5, 0.5]], "x"), scores="logit")
        assert error.value.option == ("scores",)
        for scores in ("probabilities", "logits"):
            with pytest.raises(ValueError, match="shape"):
                to_probabilities(parse_rows([[[1.0]]], "x"), scores=scores)
        with pytest.raises(ValueError, match="shape"):
            to_probabilities(parse_rows([0.0, 1.0], "x"), scores="logits")

    @pytest.mark.parametrize(
        ("rows", "match"),
        [
            ([[0.5, 0.5], [1.0]], "row 1 has 1"),
            ([[0.5, 0.5], [0.2, 0.3, 0.4]], "row 1 sums"),
            ([[0.5, 0.5], [0.2, 0.3, np.nan]], "row 1 holds NaN"),
            ([[0.5, 0.5], [0.2, 1.3, -0.5]], "row 1 holds 1.3"),
            ([[0.5, 0.5], [0.2, np.inf, 0.5]], "row 1 holds inf"),
        ],
    )
    def test_the_first_bad_row_is_named(self, rows, match):
        with pytest.raises(ValueError, match=match):
            to_probabilities(parse_rows(rows, "x"))


class TestLabelsOfRows:
    def test_the_bound_is_the_number_of_classes_or_of_choices(self):
        rows = Ragged.of(np.full(5, 0.5), [2, 3])
        assert check_labels_of_rows([1, 2], rows).tolist() == [1, 2]
        assert check_labels_of_rows([-1, 1], np.eye(2), minimum=-1).tolist() == [-1, 1]
        with pytest.raises(ValueError, match="between 0 and 1, but item 0 is 2"):
            check_labels_of_rows([2, 2], rows)
        with pytest.raises(ValueError, match="between 0 and 1, but item 1 is -1"):
            check_labels_of_rows([0, -1], np.eye(2))

    def test_the_length_comes_before_the_range(self):
        with pytest.raises(ValueError, match="`rows` and `labels`"):
            check_labels_of_rows([9], np.eye(2), name="labels", rows_name="rows")


class TestNumbersOfItems:
    def test_a_vector_within_bounds(self):
        assert check_vector([0, 1], "x", minimum=0, maximum=1).dtype == np.float64
        with pytest.raises(ValueError, match="at least 0, but item 1 is -1"):
            check_vector([0, -1, -2], "x", minimum=0)
        with pytest.raises(ValueError, match="at most 1, but item 1 is 2"):
            check_vector([1, 2, 3], "x", maximum=1)
        for values in ([[1.0]], [], [np.nan], [np.inf]):
            with pytest.raises(ValueError, match="`x`"):
                check_vector(values, "x")

    def test_flags_are_booleans_or_0_and_1(self):
        for values in ([True, False], [1, 0], np.array([True, False]), [True, 0]):
            assert check_flags(values, "x").tolist() == [True, False]
        for values in ([1.0, 0.0], [0, 2], [True, 2], ["a"]):
            with pytest.raises(TypeError, match="True or False"):
                check_flags(values, "x")
        with pytest.raises(TypeError, match="item 1 is 2"):
            check_flags([1, 2], "x")

    @pytest.mark.parametrize(
        ("values", "error", "match"),
        [
            ([0.5, 1], ValueError, "item 0 is 0.5"),
            ([0, np.nan], ValueError, "item 1 is nan"),
            (np.array([0.0, 1.0]), TypeError, "item 0 is 0.0"),
            ([0, 2**63], ValueError, "item 1 is larger"),
            ([0, -(2**63)], ValueError, "at least 0|item 1"),
            (np.array([2**63], dtype=np.uint64), ValueError, "item 0 is larger"),
            ([[0]], ValueError, "shape"),
            ([], ValueError, "at least one label"),
            (["a"], TypeError, "item 0 is 'a'"),
        ],
    )
    def test_what_is_no_label(self, values, error, match):
        with pytest.raises(error, match=match):
            check_labels(values)

    def test_the_largest_label_has_63_bits(self):
        assert check_labels([2**63 - 1]).tolist() == [2**63 - 1]
        assert check_labels([-5], minimum=None).tolist() == [-5]


class TestTexts:
    def test_texts(self):
        assert check_texts(("a", "b")) == ["a", "b"]
        assert check_texts(["a", " "], allow_empty=True) == ["a", " "]
        with pytest.raises(ValueError, match="item 1 is empty"):
            check_texts(["a", " "])
        with pytest.raises(ValueError, match="at least one text"):
            check_texts([])
        with pytest.raises(TypeError, match="item 1 is 3"):
            check_texts(["a", 3])

    def test_the_list_of_a_caller_is_copied(self):
        texts = ["a"]
        assert check_texts(texts) is not texts

    def test_choices(self):
        assert check_choice_lists([("a", ""), ["b", "c"]]) == [["a", ""], ["b", "c"]]
        with pytest.raises(ValueError, match=r"`choices\[1\]`"):
            check_choice_lists([["a", "b"], ["c", ""]], allow_empty=False)
        with pytest.raises(ValueError, match="item 1 has 1"):
            check_choice_lists([["a", "b"], ["c"]])
        with pytest.raises(ValueError, match="at least one item"):
            check_choice_lists([])

    def test_tokens(self):
        assert check_token_lists([["a"], []], allow_empty=True) == [["a"], []]
        with pytest.raises(ValueError, match="item 1 has none"):
            check_token_lists([["a"], []])
        with pytest.raises(TypeError, match="item 1 holds 3"):
            check_token_lists([["a"], ["b", 3]])

    def test_ids(self):
        assert check_ids([1, "b"]) == ["1", "b"]
        with pytest.raises(ValueError, match="'a' is repeated at item 2"):
            check_ids(["a", "b", "a", "b"])
        column = LazyArrowColumn(pa.array(["a", "b"]))
        assert check_ids(column) is column
        with pytest.raises(ValueError, match="item 1"):
            check_ids(LazyArrowColumn(pa.array(["a", "a"])))


class TestOptions:
    def test_counts(self):
        assert check_count(np.int8(5), "x", minimum=5, maximum=5) == 5
        for value in (True, 2.0, "2", None):
            with pytest.raises(OptionTypeError):
                check_count(value, "x")
        for value in (0, 10, 10**400, -(10**400)):
            with pytest.raises(OptionError) as error:
                check_count(value, "x", maximum=9)
            assert error.value.option == ("x",)

    def test_numbers(self):
        assert check_number(1, "x", minimum=1, maximum=1) == 1.0
        for value in (True, "1", 1j, None):
            with pytest.raises(OptionTypeError):
                check_number(value, "x")
        for value in (np.nan, np.inf, 10**400, 0.5, 2.5):
            with pytest.raises(OptionError):
                check_number(value, "x", minimum=1, maximum=2)
        with pytest.raises(OptionError, match="at most 2"):
            check_number(3, "x", maximum=2)

    def test_fractions(self):
        assert check_fraction(0, "x") == 0
        assert check_fraction(1, "x") == 1
        for value in (0, 1):
            with pytest.raises(OptionError):
                check_fraction(value, "x", open_ends=True)
        for value in (-0.1, 1.1):
            with pytest.raises(OptionError):
                check_fraction(value, "x")
        assert check_fraction(0.5, "x", open_ends=True) == 0.5

    def test_flags(self):
        assert check_bool(np.True_, "x") is True
        for value in (1, "yes", None):
            with pytest.raises(OptionTypeError):
                check_bool(value, "x")

    def test_seeds_begin_at_0(self):
        assert check_seed(0) == 0
        with pytest.raises(OptionError):
            check_seed(-1)

    def test_words(self):
        with pytest.raises(OptionError, match="'a', 'b' or 'c'"):
            check_one_of("d", ("a", "b", "c"), "x")
        with pytest.raises(OptionError, match="one of 'a', but"):
            check_one_of("d", ("a",), "x")
        with pytest.raises(OptionTypeError):
            check_one_of(1, ("a",), "x")

    def test_limits_are_inclusive(self):
        check_at_most(3, 3, "rows", "x.csv")
        with pytest.raises(ValueError, match="it has 4"):
            check_at_most(4, 3, "rows", "x.csv")
        assert check_same_length(a=[1], b=(2,)) == 1
        with pytest.raises(ValueError, match="`a`, `b` and `c`"):
            check_same_length(a=[1], b=[1], c=[1, 2])
        check_columns(["a", "b"], ["b"], "x.csv")
        with pytest.raises(ValueError, match="lacks c"):
            check_columns(["a"], ["a", "c"], "x.csv")
