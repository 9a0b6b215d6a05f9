"""Every module takes the same forms of input by compute, add_batch and add: the same figure or the same sentence."""

import doctest
import json
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from module_inputs import MODULES, ROWS, loaded
from rightreasons.core.arrays import to_array_or_list, to_numpy
from rightreasons.core.validation import as_ragged, check_flags, check_labels, check_scores

FORMS = {
    "tuple": tuple,
    "generator": lambda values: (value for value in values),
    "iterator": iter,
    "numpy": np.array,
    "numpy rows": lambda values: [np.array(value) for value in values],
    "objects": lambda values: np.array(values, dtype=object),
    "torch": lambda values: torch.tensor(values),
    "torch rows": lambda values: [torch.tensor(value) for value in values],
    "bfloat16": lambda values: torch.tensor(values, dtype=torch.bfloat16, requires_grad=True),
    "float32": lambda values: np.array(values, dtype=np.float32),
    "longdouble": lambda values: np.array(values, dtype=np.longdouble),
    "__array__": lambda values: type(
        "Holder", (), {"__array__": lambda _, **__: np.array(values)}
    )(),
    "Series": lambda values: pd.Series(values, index=range(7, 7 + len(values))),
    "DataFrame": pd.DataFrame,
    "pyarrow": pa.array,
    "chunked": lambda values: pa.chunked_array([values[:1], values[1:]]),
    "Table": lambda values: pa.table(
        {f"p_{index}": list(column) for index, column in enumerate(zip(*values, strict=True))}
    ),
    "Column": lambda values: datasets.Dataset.from_dict({"values": values})["values"],
    "Column of arrow": lambda values: datasets.Dataset.from_dict({"values": values}).with_format(
        "arrow"
    )["values"],
    "Dataset": lambda values: datasets.Dataset.from_pandas(pd.DataFrame(values)),
    "set": lambda values: set(map(str, values)),
    "dictionary": lambda values: dict(enumerate(values)),
    "text": str,
    "bytes": lambda values: str(values).encode(),
    "one value": lambda values: 5,
    "0-d": lambda values: np.array(0.5),
    "masked": lambda values: np.ma.masked_array(values, mask=False),
    "None inside": lambda values: [*values[:-1], None],
    "NaN inside": lambda values: [*values[:-1], float("nan")],
    "NA inside": lambda values: [*values[:-1], pd.NA],
    "null inside": lambda values: pa.array([*values[:-1], None]),
    "set inside": lambda values: [*values[:-1], {1}],
    "fewer": lambda values: values[:-1],
    "empty": lambda values: [],
    "surrogate": lambda values: [*values[:-1], "\ud800"],
    "huge": lambda values: [*values[:-1], 10**400],
    "negative": lambda values: [*values[:-1], -3],
}
FLOATS_ALONE = {"bfloat16", "float32", "longdouble"}
TABLES = {"DataFrame", "Table", "Dataset"}


def outcome(compute):
    """Return what a way of computing gives: a result, or the kind and the sentence of its error."""
    try:
        return json.dumps(compute())
    except (TypeError, ValueError) as error:
        sentence = str(error)
        assert sentence.startswith("Expected "), sentence
        assert "\n" not in sentence, sentence
        return type(error).__name__, sentence


def ways(module, inputs, options):
    """Yield each way to hand in inputs, made anew, as a generator can be read only once."""

    def added():
        module.add_batch(**inputs())
        return module.compute(**options)

    yield lambda: module.compute(**inputs(), **options)
    yield added


def make(form, values):
    """Build a form, or return None where its own library cannot hold the values."""
    try:
        return FORMS[form](values)
    except Exception:
        return None


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_all_ways_give_the_same_figure_or_the_same_sentence(data):
    name = data.draw(st.sampled_from(sorted(MODULES)), label="module")
    inputs, options = MODULES[name]
    column = data.draw(st.sampled_from(sorted(inputs)), label="input")
    form = data.draw(st.sampled_from(sorted(FORMS)), label="form")
    if make(form, inputs[column]) is None:
        return

    def formed():
        return {**inputs, column: make(form, inputs[column])}

    module = loaded(name)
    direct, added = (outcome(way) for way in ways(module, formed, options))
    assert direct == added
    # Whatever happened, the next batch begins anew.
    good = outcome(lambda: module.compute(**inputs, **options))
    assert not isinstance(good, tuple), good
    if isinstance(direct, tuple):
        module.add_batch(**inputs)
        with pytest.raises((TypeError, ValueError)):
            module.compute(**formed(), **options)
        # Refused inputs leave the items that were added; a refused figure forgets them.
        kept = outcome(lambda: module.compute(**options))
        assert kept == good or kept[1].endswith("but got nothing.")


ACCEPTED = [form for form in FORMS if list(FORMS).index(form) < list(FORMS).index("set")]


@pytest.mark.parametrize("form", ACCEPTED)
def test_each_accepted_form_gives_the_figure_of_the_lists(form):
    for name, (inputs, options) in MODULES.items():
        module = loaded(name)
        want = module.compute(**inputs, **options)
        for column, values in inputs.items():
            rows = isinstance(values[0], list)
            texts = isinstance(values[0][0] if rows else values[0], str)
            whole = isinstance(values[0][0] if rows else values[0], (int, bool))
            if (
                (form in TABLES and (not rows or texts))
                or (form in FLOATS_ALONE and (whole or texts))
                or (texts and form in {"torch", "torch rows"})
                or (rows and form == "chunked" and texts)
                or (form == "numpy rows" and not rows)
            ):
                continue
            got = module.compute(**{**inputs, column: FORMS[form](values)}, **options)
            assert got == want, (name, column)


def test_an_item_of_torch_and_a_masked_one():
    ece = loaded("ece")
    ece.add(
        prediction=torch.tensor(ROWS[0], dtype=torch.bfloat16, requires_grad=True),
        reference=torch.tensor(0),
    )
    with pytest.raises(TypeError, match="without a mask"):
        ece.add(prediction=np.ma.masked_array(ROWS[1], mask=[0, 1]), reference=1)
    with pytest.raises(TypeError, match="value 0"):
        ece.add(prediction={0.5}, reference=1)
    # 1 - 0.75, the one item that was taken
    assert ece.compute()["ece"] == 0.25


def test_columns_of_a_table_are_classes():
    frame = pd.DataFrame({"joy": [0.9, 0.8], "anger": [0.1, 0.2]})
    # A frame that is read as its column names gives 0.5.
    names = {"label_names": ["joy", "anger"]}
    assert loaded("ece").compute(predictions=frame, references=[0, 0], **names)[
        "ece"
    ] == pytest.approx(0.15)
    frame = frame[["anger", "joy"]]
    assert loaded("ece").compute(predictions=frame, references=[0, 0], **names)[
        "ece"
    ] == pytest.approx(0.15)
    twice = pd.DataFrame([[0.9, 0.1], [0.8, 0.2]], columns=["p", "p"])
    assert check_scores(twice).tolist() == [[0.9, 0.1], [0.8, 0.2]]
    for by_number in (
        pd.DataFrame({1: [0.1, 0.2], 0: [0.9, 0.8]}),
        pa.table({"p_1": [0.1, 0.2], "p_0": [0.9, 0.8]}),
    ):
        assert check_scores(by_number).tolist() == [[0.9, 0.1], [0.8, 0.2]]
    for frame, message in (
        (
            pd.DataFrame({2: [0.1], 1: [0.9]}),
            "but got 2, 1",
        ),
        (
            pa.table({"p_2": [0.1], "p_1": [0.9]}),
            "but got 2, 1",
        ),
        (
            pd.DataFrame({"a": [0.5], "text": ["x"]}),
            "column 'text' holds",
        ),
        (pd.DataFrame({"a": pd.Series([0.5], dtype=object)}), "holds objects"),
        (pa.table({"a": [[0.5]]}), "column 'a' holds"),
        (pa.table({"a": [0.5, None]}), "item 1 is"),
        (pd.DataFrame({"a": [0.5, 0.5], "b": [0.5, np.nan]}), "row 1 holds"),
        (pd.DataFrame(), "at least one"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            check_scores(frame)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, None], "item 1 is None"),
        ([0, float("nan")], "item 1 is nan"),
        (pd.Series([0, None, 1]), "item 1 is nan"),
        (pd.Series([0, None, 1], dtype="Int64"), "item 1 is None"),
        (pa.array([0, None]), "item 1 is None"),
        (pd.array([0, pd.NA], dtype="Int64"), "item 1 is None"),
        ([0, True], "item 1 is True"),
        ([0, "1"], "item 1 is '1'"),
        ([0, {}], "item 1 is {}"),
        ([0, 10**30], "at most 64"),
        ([0, 2**63], "at most 64"),
        (np.array([0, 2**63], dtype=np.uint64), "at most 64"),
        (np.array(3), "single value 3"),
        ({0: 1}.keys(), "got dict_keys"),
        (b"01", "got b'01'"),
    ],
)
def test_labels_name_the_row(labels, message):
    with pytest.raises((TypeError, ValueError), match=message):
        check_labels(labels)


def test_values_of_a_dictionary_have_an_order():
    assert check_labels({"a": 0, "b": 2}.values()).tolist() == [0, 2]


def test_flags_are_true_and_false_or_0_and_1():
    assert check_flags([0, True, 1], "easy").tolist() == [False, True, True]
    assert check_flags(pd.array([True, False], dtype="boolean"), "easy").tolist() == [True, False]
    with pytest.raises(ValueError, match="item 1 is None"):
        check_flags([True, pd.NA], "easy")
    with pytest.raises(TypeError, match="item 1 is 2"):
        check_flags([True, 2], "easy")


def test_tensors_of_other_kinds():
    eye = torch.eye(2)
    assert to_numpy(eye.to(torch.float8_e4m3fn), "x").tolist() == [[1, 0], [0, 1]]
    with pytest.raises(TypeError, match="on meta"):
        to_numpy(eye.to("meta"), "x")


def test_nested_and_long_values():
    nested = []
    for _ in range(3000):
        nested = [nested]
    with pytest.raises(ValueError, match="nested deeper"):
        to_array_or_list(nested, "x")
    with pytest.raises(ValueError, match="too large"):
        check_scores([0.5, 10**400])
    assert as_ragged(pa.array([[0.5], [0.25, 0.75]]), "x").lengths.tolist() == [1, 2]


def test_a_form_that_cannot_be_read_is_one_sentence():
    broken = type("Holder", (), {"__array__": lambda _, **__: 1 / 0})()
    with pytest.raises(TypeError, match="ZeroDivisionError"):
        to_array_or_list(broken, "data")
    with pytest.raises(TypeError, match="on cpu"):
        to_numpy(torch.eye(2).to_sparse(), "x")


def test_examples_of_the_document():
    results = doctest.testfile(
        str(Path(__file__).parents[2] / "docs" / "data.md"), module_relative=False
    )
    assert results.failed == 0
    assert results.attempted > 5


def test_polars():
    polars = pytest.importorskip("polars", reason="polars is not a dependency")
    assert check_scores(polars.DataFrame({"a": [0.75, 0.5], "b": [0.25, 0.5]})).tolist() == [
        [0.75, 0.25],
        [0.5, 0.5],
    ]
    assert check_labels(polars.Series([0, 2])).tolist() == [0, 2]
    with pytest.raises(ValueError, match="item 1 is None"):
        check_labels(polars.Series([0, None]))
