"""Hostile values in every input of every module, and in every option: a figure or one sentence, and no harm after it.

RIGHTREASONS_LONG=1 tries every value in every input and every option; otherwise each is tried in a few of them.
"""

import collections
import datetime
import decimal
import fractions
import json
import os
import pathlib
import random
import warnings

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from module_inputs import MODULES, loaded

LONG = os.environ.get("RIGHTREASONS_LONG") == "1"

NESTED = []
for _ in range(3000):
    NESTED = [NESTED]
CYCLE = []
CYCLE.append(CYCLE)


class NoRepr:
    def __repr__(self):
        raise RuntimeError("no\nwords")


class NoArray:
    def __array__(self, *_, **__):
        raise RuntimeError("no\narray")


class Breaks:
    def __iter__(self):
        yield 0.5
        raise RuntimeError("broken\noff")


VALUES = {
    "None": None,
    "NaN": float("nan"),
    "infinity": -float("inf"),
    "NA": pd.NA,
    "NaT": np.datetime64("NaT"),
    "True": True,
    "numpy's True": np.True_,
    "1.5": 1.5,
    "-1": -1,
    "-100": -100,
    "7": 7,
    "2**31": 2**31,
    "2**63": 2**63,
    "-2**63 - 1": -(2**63) - 1,
    "10**400": 10**400,
    "1e308": 1e308,
    "long double": np.longdouble("1e400"),
    "decimal": decimal.Decimal("sNaN"),
    "fraction": fractions.Fraction(1, 3),
    "complex": np.complex64(1j),
    "text": "x",
    "digit": "1",
    "blank": " ",
    "surrogate": "\ud800",
    "NUL": "a\0b",
    "numpy's text": np.str_("good"),
    "bytes": b"x",
    "bytearray": bytearray(b"x"),
    "memoryview": memoryview(b"xx"),
    "set": {1},
    "dictionary": {"a": 1},
    "empty list": [],
    "list": [1],
    "rows": [[1], [2, 3]],
    "tuple": (1, 2),
    "object": object(),
    "no repr": NoRepr(),
    "function": len,
    "type": int,
    "date": datetime.date(2020, 1, 1),
    "0-d": np.array(1),
    "0-d object": np.array(None, dtype=object),
    "1-d": np.array([0.5, 0.5]),
    "2-d": np.eye(2),
    "empty array": np.array([]),
    "masked": np.ma.masked,
    "masked array": np.ma.masked_array([0.5, 0.5], mask=[0, 1]),
    "record": np.zeros(1, dtype=[("a", int)])[0],
    "records": np.zeros(1, dtype=[("a", int)]),
    "0-d tensor": torch.tensor(1),
    "tensor": torch.tensor([0.5, 0.5]),
    "meta": torch.ones(2, device="meta"),
    "0-d meta": torch.ones((), device="meta"),
    "sparse": torch.tensor([0.5, 0.5]).to_sparse(),
    "complex tensor": torch.tensor([1j, 1j]),
    "float8": torch.tensor([0.5, 0.5]).to(torch.float8_e5m2),
    "nested tensor": torch.nested.nested_tensor(
        [torch.ones(1), torch.ones(2)], layout=torch.jagged
    ),
    "scalar of pyarrow": pa.scalar("good"),
    "null of pyarrow": pa.scalar(None),
    "array of pyarrow": pa.array([0.5, None]),
    "Series": pd.Series([0.5, None]),
    "DataFrame": pd.DataFrame([[0.5, 0.5]]),
    "no array": NoArray(),
    "breaks": Breaks(),
    "cycle": CYCLE,
    "nested": NESTED,
    "range": range(2),
    "path": pathlib.Path("x"),
    "ellipsis": ...,
}
"""Values to try in place of an item, of a value in a row, of a column, and of an option."""

COLUMNS = {
    "records": lambda values: np.rec.fromarrays([values]),
    "long doubles": lambda values: np.array(values, dtype=np.longdouble) * np.longdouble("1e400"),
    "dates": lambda values: np.array(values, dtype="datetime64[s]"),
    "complex": lambda values: np.array(values, dtype=complex),
    "booleans": lambda values: np.array(values, dtype=bool),
    "bytes": lambda values: np.array(values, dtype="S"),
    "digits": lambda values: [str(value) for value in values],
    "floats": lambda values: [float(value) for value in values],
    "three dimensions": lambda values: np.array([values, values]),
    "one column": lambda values: [[value] for value in values],
    "no columns": lambda values: np.zeros((3, 0)),
    "no rows": lambda values: np.zeros((0, 2)),
    "ragged": lambda values: [*values[:-1], [*values[-1], values[-1][-1]]],
    "an empty row": lambda values: [*values[:-1], []],
    "more": lambda values: [*values, values[-1]],
    "nothing but None": lambda values: [None] * 3,
    "nothing but blanks": lambda values: [""] * 3,
    "ordered dictionary": lambda values: collections.OrderedDict(enumerate(values)),
    "categories": lambda values: pd.Series(values, dtype="category"),
    "objects": lambda values: pd.DataFrame(values, dtype=object),
    "groups": lambda values: pd.DataFrame({"a": values, "b": values}).groupby("b"),
    "union": lambda values: pa.UnionArray.from_sparse(
        pa.array([0, 0, 0], pa.int8()), [pa.array(values)]
    ),
    "structs": lambda values: pa.array([{"a": value} for value in values]),
    "nulls": lambda values: pa.nulls(3),
    "no chunks": lambda values: pa.chunked_array([], type=pa.float64()),
    "no data": lambda values: datasets.Dataset.from_dict({}),
    "stream": lambda values: datasets.Dataset.from_dict({"x": values}).to_iterable_dataset()["x"],
    "splits": lambda values: datasets.DatasetDict(
        {"train": datasets.Dataset.from_dict({"x": values})}
    ),
    "meta": lambda values: torch.tensor(values, device="meta"),
    "nested tensor": lambda values: torch.nested.nested_tensor(
        [torch.tensor(value) for value in values]
    ),
}
"""Forms to try in place of a column, with the same values."""


def in_row(value):
    return lambda values: [*values[:-1], [*values[-1][:-1], value]]


def hostile_columns():
    yield from COLUMNS.items()
    for name, value in VALUES.items():
        yield f"{name} last", lambda values, value=value: [*values[:-1], value]
        yield f"{name} first", lambda values, value=value: [value, *values[1:]]
        yield f"{name} in a row", in_row(value)
        if value is not None:
            yield f"{name} for all", lambda values, value=value: value


def outcome(compute):
    """Return the figures, or the kind and the sentence of the error; any other error or a warning is a failure."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            return json.dumps(compute(), allow_nan=False)
    except (TypeError, ValueError) as error:
        sentence = str(error)
        assert sentence.startswith("Expected "), sentence
        assert "\n" not in sentence, sentence
        assert len(sentence) < 600, sentence
        return type(error).__name__, sentence


def added(module, inputs, options):
    module.add_batch(**inputs)
    return module.compute(**options)


def added_one_by_one(module, inputs, options):
    try:
        for row in range(3):
            module.add(**{column: values[row] for column, values in inputs.items()})
    except (TypeError, ValueError):
        if len(module):  # the items before: the next batch begins anew
            outcome(lambda: module.compute(**options))
        raise
    return module.compute(**options)


def try_column(name, column, make):
    inputs, options = MODULES[name]
    module = loaded(name)
    try:
        make(inputs[column])
    except Exception:  # the library that makes it cannot hold these values
        return
    good = outcome(lambda: module.compute(**inputs, **options))
    assert not isinstance(good, tuple), good

    def hostile():
        return {**inputs, column: make(inputs[column])}

    direct = outcome(lambda: module.compute(**hostile(), **options))
    assert len(module) == 0
    assert outcome(lambda: added(module, hostile(), options)) == direct
    items = hostile()[column]
    if isinstance(items, list) and len(items) == 3 and not isinstance(direct, tuple):
        assert outcome(lambda: added_one_by_one(module, hostile(), options)) == direct
    elif isinstance(items, list) and len(items) == 3 and column not in module.OPTIONAL_INPUTS:
        assert isinstance(outcome(lambda: added_one_by_one(module, hostile(), options)), tuple)
    # The module works, whatever it has refused: with earlier batches and without.
    module.add_batch(**inputs)
    assert outcome(lambda: module.compute(**options)) == good


CASES = [
    (name, column, label, make)
    for name, (inputs, _) in MODULES.items()
    for column in inputs
    for label, make in hostile_columns()
]


def some(cases, key):
    """Choose the cases of this run: all, or for each kind of value a few, always the same."""
    if LONG:
        return cases
    groups = collections.defaultdict(list)
    for case in cases:
        groups[key(case)].append(case)
    return [
        case
        for name, group in sorted(groups.items())
        for case in random.Random(name).sample(group, 2)
    ]


@pytest.mark.parametrize("chunk", range(8))
def test_hostile_columns_give_a_figure_or_a_sentence_in_every_way(chunk):
    for name, column, label, make in some(CASES, lambda case: case[2])[chunk::8]:
        try:
            try_column(name, column, make)
        except Exception as error:
            raise AssertionError(
                f"{name}, {column}, {label}: {type(error).__name__}: {error}"
            ) from error


# Whatever can be called is a tokenizer or a score of the user's, and what it does is not caught.
USERS_OWN = {("lmi", "tokenizer"), ("fim_difficulty", "tokenizer")}
OPTIONS = [
    (name, option, label, value)
    for name in MODULES
    if name.split()[0] == name
    for option in loaded(name).option_names()
    for label, value in {
        **VALUES,
        "twice": ["x", "x"],
        "negative counts": {"x": -1},
        "10**30": 10**30,
    }.items()
    if not (callable(value) and (name, option) in USERS_OWN)
]


def try_option(name, option, value):
    inputs, options = MODULES[name]
    outcome(lambda: loaded(name).compute(**inputs, **{**options, option: value}))
    assert len(loaded(name)) == 0


@pytest.mark.parametrize("chunk", range(4))
def test_hostile_options_give_a_figure_or_a_sentence(chunk):
    for name, option, label, value in some(OPTIONS, lambda case: case[2])[chunk::4]:
        try:
            try_option(name, option, value)
        except Exception as error:
            raise AssertionError(
                f"{name}, {option}, {label}: {type(error).__name__}: {error}"
            ) from error
