"""Conversion of foreign arrays, rows of numbers, and the order of items."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from rightreasons.core.arrays import (
    NumericRows,
    Ragged,
    describe_kind,
    find_column_classes,
    is_ragged,
    parse_class_column,
    parse_rows,
    take_rows,
    to_array_or_list,
    to_floats,
    to_numpy,
)

ROWS = [[0.1, 0.9], [0.5], [0.2, 0.3, 0.5]]


def make_ragged():
    return Ragged.of(np.concatenate([np.array(row) for row in ROWS]), [2, 1, 3])


class TestConversion:
    @pytest.mark.parametrize(
        "values",
        [
            [1, 2],
            (1, 2),
            iter([1, 2]),
            np.array([1, 2], dtype=np.uint8),
            np.array([1, 2], dtype=object),
            torch.tensor([1, 2]),
            [torch.tensor(1), torch.tensor(2)],
            torch.tensor([1.0, 2.0], requires_grad=True).bfloat16(),
            pd.Series([1, 2]),
            pd.Series([1, 2], dtype="Int64"),
            pa.array([1, 2]),
            pa.chunked_array([[1], [2]]),
            [pa.scalar(1), pa.scalar(2)],
            np.array([1, 2], dtype=np.longdouble),
        ],
        ids=lambda values: type(values).__name__,
    )
    def test_every_form_of_a_column(self, values):
        array = to_numpy(values, "x")

        assert array.tolist() == [1, 2]
        assert array.dtype.kind in "iuf"

    @pytest.mark.parametrize(
        "values",
        [None, "ab", b"ab", {0, 1}, {"a": 1}, 3, np.array(3), list, object()],
        ids=lambda values: type(values).__name__,
    )
    def test_single_values_and_what_has_no_order_are_refused(self, values):
        with pytest.raises(TypeError, match="Expected `x`"):
            to_array_or_list(values, "x")

    def test_masks_and_records_are_refused(self):
        with pytest.raises(TypeError, match="mask"):
            to_array_or_list(np.ma.masked_array([1, 2], mask=[0, 1]), "x")
        with pytest.raises(TypeError, match="records"):
            to_array_or_list(np.zeros(2, dtype=[("a", int)]), "x")

    def test_missing_values_become_none(self):
        assert to_array_or_list([pd.NA, 1], "x") == [None, 1]
        assert to_array_or_list(pd.Series([1, None], dtype="Int64"), "x") == [1, None]
        assert to_array_or_list(pa.array([1, None]), "x") == [1, None]
        with pytest.raises(ValueError, match="item 1 is None"):
            to_numpy([1, None], "x")

    def test_a_list_of_plain_values_is_not_copied(self):
        values = [[1, 2], [3, 4]]
        assert to_array_or_list(values, "x") is values

    def test_lists_may_be_nested_to_a_limit(self):
        nested = [1, "a"]
        for _ in range(8):
            nested = [nested, "a"]
        to_array_or_list(nested, "x")
        with pytest.raises(ValueError, match="deeper than 8"):
            to_array_or_list([nested, "a"], "x")

    def test_nothing_is_lost_between_types(self):
        assert to_numpy([1, True], "x").tolist() == [1, True]
        assert to_numpy([1, True], "x").dtype == object
        assert to_numpy([1, "a"], "x").tolist() == [1, "a"]
        assert to_numpy([2**63, -1], "x").tolist() == [2**63, -1]
        assert to_numpy([10**30], "x").tolist() == [10**30]

    def test_rows_have_one_length_and_no_values_among_them(self):
        with pytest.raises(ValueError, match="row 0 has 1 and row 2 has 2"):
            to_numpy([[1], [2], [3, 4]], "x")
        with pytest.raises(ValueError, match="depths"):
            to_numpy([[1, [2]], [3, 4]], "x")
        with pytest.raises(ValueError, match="item 1 is 3"):
            to_numpy([[1, 2], 3], "x")

    def test_only_numbers_become_floats(self):
        assert to_floats([10**18, 0.5], "x").dtype == np.float64
        for values in (["a"], [True, 0.5], [True, False], [1j]):
            with pytest.raises(TypeError, match="numbers in `x`"):
                to_floats(values, "x")
        with pytest.raises(ValueError, match="too large"):
            to_floats([10**400], "x")

    def test_an_error_of_foreign_code_is_one_sentence(self):
        class Broken:
            def __array__(self):
                raise RuntimeError("first line\nsecond line" + "!" * 999)

        with pytest.raises(TypeError, match="RuntimeError: first line second") as error:
            to_array_or_list(Broken(), "x")
        assert len(str(error.value)) < 400


class TestTables:
    def test_numbered_columns_are_put_in_the_order_of_their_numbers(self):
        table = pd.DataFrame({"p_1": [0.75], "p_0": [0.25]})
        assert to_numpy(table, "x").tolist() == [[0.25, 0.75]]
        assert to_numpy(pa.table({"b": [1], "a": [2]}), "x").tolist() == [[1, 2]]

    def test_numbers_that_are_no_classes_must_be_in_order(self):
        assert to_numpy(pd.DataFrame({"p_1": [1], "p_2": [2]}), "x").tolist() == [[1, 2]]
        with pytest.raises(ValueError, match="2, 1"):
            to_numpy(pd.DataFrame({"p_2": [1], "p_1": [2]}), "x")

    def test_other_columns_than_numbers_are_refused(self):
        with pytest.raises(TypeError, match="column 'b'"):
            to_numpy(pa.table({"a": [1], "b": ["x"]}), "x")
        with pytest.raises(TypeError, match="objects"):
            to_numpy(pd.DataFrame({"a": [1]}, dtype=object), "x")
        with pytest.raises(ValueError, match="at least one column"):
            to_numpy(pa.table({}), "x")

    def test_columns_may_name_classes(self):
        assert parse_class_column("p[up]") == ("p", "up")
        assert parse_class_column("p") == (None, "p")
        assert find_column_classes(pa.table({"p_a": [1], "p_b": [1]})) == ("a", "b")
        for names in (["p_0", "p_1"], ["p_a", "q", "p_a"], []):
            table = pd.DataFrame([[1] * len(names)], columns=names)
            assert find_column_classes(table) is None
        assert find_column_classes({"p_a": [1]}) is None
        assert find_column_classes(torch.ones(2, 2)) is None


class TestRagged:
    def test_rows(self):
        rows = make_ragged()

        assert len(rows) == 3
        assert [row.tolist() for row in rows] == ROWS
        assert rows.offsets.tolist() == [0, 2, 3, 6]
        assert rows.starts.tolist() == [0, 2, 3]
        assert rows.lengths.tolist() == [2, 1, 3]
        assert [rows.find_row(position) for position in range(6)] == [0, 0, 1, 2, 2, 2]

    def test_reductions(self):
        rows = Ragged.of(np.array([1.0, 3.0, 3.0, -2.0, -1.0]), [3, 2])

        assert rows.reduce(np.add).tolist() == [7, -3]
        assert rows.argmax().tolist() == [1, 1]
        assert rows.at(np.array([2, 0])).tolist() == [3, -2]

    def test_softmax_of_each_row(self):
        rows = Ragged.of(np.array([1000.0, 1000.0, 0.0, np.log(4.0)]), [2, 2])

        assert rows.softmax().values == pytest.approx([0.5, 0.5, 0.2, 0.8])
        # At half the inverse temperature, the odds of 4 become their root.
        assert rows.softmax(0.5).values == pytest.approx([0.5, 0.5, 1 / 3, 2 / 3])
        empty = Ragged.of(np.empty(0), [])
        assert empty.softmax() is empty

    def test_rows_of_one_length_are_a_table(self):
        rows = make_ragged()

        assert rows.table() is rows
        assert take_rows(rows, np.array([2, 2])).tolist() == [ROWS[2]] * 2
        taken = take_rows(rows, np.array([2, 0]))
        assert [row.tolist() for row in taken] == [ROWS[2], ROWS[0]]
        assert take_rows(np.eye(2), np.array([1])).tolist() == [[0, 1]]
        assert Ragged.of_table(np.eye(2)).table().tolist() == np.eye(2).tolist()

    def test_which_rows_are_ragged(self):
        assert is_ragged(ROWS)
        assert is_ragged(np.array([*ROWS, None], dtype=object)[:-1])
        for rows in ([[1, 2], [3, 4]], [1, 2], [], "ab", np.eye(2), 3, [[1], 2]):
            assert not is_ragged(rows)


class TestNumericRows:
    def test_a_vector_a_table_or_ragged_rows(self):
        vector = parse_rows([0.5, 1.0], "x")
        assert vector.is_vector
        assert not vector.is_whole
        assert len(vector) == 2

        table = parse_rows(np.eye(3, dtype=np.int8), "x")
        assert not table.is_vector
        assert table.is_whole
        assert table.values.dtype == np.float64

        rows = parse_rows(ROWS, "x")
        assert not rows.is_vector
        assert not rows.is_whole
        assert len(rows) == 3
        assert rows.values.lengths.tolist() == [2, 1, 3]

    def test_parsed_rows_are_not_converted_again(self):
        rows = parse_rows(ROWS, "x")
        assert parse_rows(rows, "x") is rows
        assert isinstance(parse_rows(make_ragged(), "x").values, Ragged)
        assert isinstance(parse_rows(Ragged.of_table(np.eye(2)), "x"), NumericRows)
        assert parse_rows(Ragged.of_table(np.eye(2)), "x").values.shape == (2, 2)

    @pytest.mark.parametrize("values", [["a", "b"], [["a"], [1, 2]], [[1], [None, 2]]])
    def test_other_things_than_numbers_are_refused(self, values):
        with pytest.raises((TypeError, ValueError), match="`x"):
            parse_rows(values, "x")

    def test_rows_of_rows_are_refused(self):
        with pytest.raises(ValueError, match="row 1 has 2 dimensions"):
            parse_rows([[1, 2, 3], [[1], [2]]], "x")


def test_a_value_in_a_message_is_short_and_has_no_address():
    assert describe_kind("x" * 99) == f"'{'x' * 59}... (str)"
    assert describe_kind("x" * 58) == f"'{'x' * 58}' (str)"
    assert "0x" not in describe_kind(object())

    class Silent:
        def __repr__(self):
            raise ValueError

    assert describe_kind(Silent()) == "a value of type Silent"
