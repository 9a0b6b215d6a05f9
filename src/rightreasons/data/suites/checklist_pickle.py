"""Reads a suite that CheckList has saved: a pickle of dill, of which nothing is run.

The cases come in the order of the file that CheckList writes for a model (`TestSuite.to_raw_file`), so that predictions
made for that file can be scored: the tests in the order of `test_ranges`, and of a test that was sampled the cases of
its `run_idxs`. A test whose expectation is a function that is not understood (`checklist_functions`) keeps its cases;
nothing is asked of them.
"""

from __future__ import annotations

import dataclasses
import gzip
import re
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.data.builders.sources import members
from rightreasons.data.suites.cases import Case, Functionality
from rightreasons.data.suites.checklist_functions import UnknownFunctionError, as_label, expectation_of
from rightreasons.data.suites.plain_pickle import MAX_BYTES, Inert, load_plain
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.suites import every_part, skips_first

SUFFIXES = (".pkl", ".pickle", ".dill", ".pkl.gz", ".tar.gz", ".tgz")
"""The suffixes of suites that CheckList has saved, as they are or compressed."""

_TYPES = ("MFT", "INV", "DIR")
_REPETITIONS = 10  # a value may stand for this number of bytes of the pickle

_DAMAGED = (AttributeError, LookupError, RecursionError, TypeError, ValueError, OverflowError)


@dataclasses.dataclass(frozen=True)
class PickledTest:
    """One test of a pickled suite.

    Attributes:
        name: Its name.
        kind: "MFT", "INV" or "DIR".
        capability: What it tests.
        state: Its attributes, as the pickle has them.
    """

    name: str
    kind: str
    capability: str
    state: Mapping[str, Any]


class Plain:
    """Turns the scalars and arrays of numpy whose bytes a pickle holds into Python values, up to a number of them.

    A small pickle whose lists share their parts can hold any number of values.
    """

    def __init__(self, at_most: int) -> None:
        self._left = at_most

    def __call__(self, value: Any) -> Any:
        """Return a value with lists and tuples of plain values.

        Raises:
            ValueError: If it holds another object, or too many values.
        """
        if isinstance(value, (list, tuple)):
            return type(value)(map(self, self._counted(value)))
        if isinstance(value, dict):
            return {key: self(part) for key, part in self._counted(value).items()}
        if not isinstance(value, Inert):
            return value
        if value.items:  # a dict of another class
            return {key: self(part) for key, part in self._counted(value.items).items()}
        state = next((part for part in (value.state, *value.made_of) if _is_array(part)), None)
        if state is not None:
            _, shape, dtype, by_columns, content = state
            if isinstance(content, list):
                return self(content)
            array = self._counted(_from_bytes(dtype, content))
            return array.reshape(shape, order="F" if by_columns else "C").tolist()
        if len(value.made_of) in (2, 3) and isinstance(value.made_of[-1], bytes):  # a scalar: (maker,) dtype, bytes
            return _from_bytes(*value.made_of[-2:]).tolist()[0]
        raise ValueError("Expected numpy's scalars and arrays in the suite's pickle, but it holds another object.")

    def _counted(self, values: Any) -> Any:
        self._left -= len(values)
        if self._left < 0:
            raise ValueError("Expected the lists of the suite's pickle to be distinct, but they repeat one another.")
        return values


def read_pickled_suite(path: Path, *, name: str = "", text_columns: Sequence[str] | None = None) -> Suite:
    """Read a suite that CheckList has saved.

    Args:
        path: A .pkl or .pkl.gz file, or a .tar.gz archive that holds one.
        name: The name of the suite; by default that of the file.
        text_columns: The names of the texts of an example; by default "text", and "text_pair" where there are two, or
            the keys where an example is a dictionary.

    Returns:
        The suite, with the cases that were run, in CheckList's order. Of a test whose expectation is a function that is
        not understood nothing is asked, and a warning names it.

    Raises:
        ValueError: If the file is no suite, or an example is no text and no tuple or dictionary of texts.
    """
    tests, plain = pickled_tests(path)
    read, columns, first = [], tuple(text_columns or ()), ""
    for test in tests:
        try:
            own, functionality = _functionality(test, plain)
        except _DAMAGED as error:
            told = (
                str(error) if str(error).startswith("Expected") else f"Expected a test of CheckList, but got {error!r}."
            )
            raise ValueError(f"{told[:300]} (test {test.name[:80]!r} of {path})") from error
        if functionality is None:
            continue
        if text_columns is not None and len(own) == len(columns):
            own = columns
        if own != (columns := columns or own):
            raise ValueError(
                f"Expected the texts {', '.join(columns)} in all examples of {path}, as in the test {first!r}, but "
                f"those of {test.name!r} have {', '.join(own)}."
            )
        first = first or test.name
        read.append(functionality)
    silent = [part.name for part in read if part.expectation["name"] == "unknown"]
    if silent:
        shown = ", ".join(map(repr, silent[:5])) + (", …" if len(silent) > 5 else "")
        warnings.warn(
            f"Nothing is asked in {len(silent)} of the {len(read)} tests of {path}, whose expectations are not known: "
            f"{shown}; `rightreasons suite show` says why, and the file that `rightreasons suite write` makes can say "
            "what each expects.",
            stacklevel=3,
        )
    return Suite(name or path.name.removesuffix("".join(path.suffixes)) or path.name, columns, tuple(read))


def pickled_tests(path: Path) -> tuple[list[PickledTest], Plain]:
    """Read the tests of a pickled suite, in the order of the file that CheckList writes for a model.

    Returns:
        The tests, and what turns their values into plain ones.

    Raises:
        ValueError: If the file holds no suite.
    """
    content = _content(path)
    suite = load_plain(content)
    state = suite.state if isinstance(suite, Inert) else None
    tests = _entries(state.get("tests")) if isinstance(state, dict) else None
    if isinstance(state, dict) and {"data", "expect"} <= state.keys():  # a test that was saved alone
        own = state.get("name")
        tests = {own if isinstance(own, str) and own else path.stem: suite}
    if not tests:
        raise ValueError(f"Expected a CheckList suite in {path}, but its pickle holds something else.")
    ranges = _entries(state.get("test_ranges")) if isinstance(state, dict) else {}
    order = sorted(tests, key=lambda name: _start(ranges.get(name), len(content)))
    infos = _entries(state.get("info")) if isinstance(state, dict) else {}
    read = []
    for name in order:
        test = tests[name]
        if not isinstance(test, Inert) or not isinstance(test.state, dict) or not isinstance(name, str):
            raise ValueError(f"Expected the tests of the suite in {path} to be CheckList's, but one is something else.")
        info = _entries(infos.get(name))
        kind = info.get("type") or test.qualified_name.split(" ")[-1]
        if kind not in _TYPES:
            raise ValueError(f"Expected the test {name[:80]!r} of {path} to be an MFT, INV or DIR, but it is another.")
        capability = info.get("capability") or test.state.get("capability") or "none"
        if not isinstance(capability, str):
            kind_of_it = type(capability).__name__
            raise ValueError(
                f"Expected the capability of {name[:80]!r} of {path} to be a text, but got a {kind_of_it}."
            )
        read.append(PickledTest(name, kind, capability, test.state))
    return read, Plain(_REPETITIONS * len(content))


def _content(path: Path) -> bytes:
    if path.name.endswith((".tar.gz", ".tgz")):
        return pickle_of_archive(path)
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"Expected a compressed pickle in {path}, but it is damaged: {error}.") from None
    return content


def pickle_of_archive(path: Path) -> bytes:
    """Return the one pickle of an archive.

    Raises:
        ValueError: If it holds none, or several, or is damaged.
    """
    pickles = [content for name, content in members(path) if name.endswith((".pkl", ".pickle", ".dill"))]
    if len(pickles) != 1:
        raise ValueError(f"Expected one pickle in {path}, but it holds {len(pickles)}.")
    return pickles[0]


def _entries(value: Any) -> Mapping[Any, Any]:
    """Return the entries of a dictionary, or of one of another class; none of anything else."""
    if isinstance(value, dict):
        return value
    return value.items if isinstance(value, Inert) else {}


def _start(span: Any, beyond: int) -> int:
    whole = isinstance(span, (list, tuple)) and len(span) == 2 and isinstance(span[0], int)
    return int(span[0]) if whole else beyond


# ------------------------------------------------------------------------------------------------------------ one test


def _functionality(test: PickledTest, plain: Plain) -> tuple[tuple[str, ...], Functionality | None]:
    """Return the columns and the functionality of a test; None where no case of it was run."""
    cases, nested = _cases(plain(test.state.get("data")))
    rows = _rows(plain(test.state.get("run_idxs")), len(cases))
    columns: tuple[str, ...] = ()
    texts: dict[int, tuple[tuple[str, ...], ...]] = {}
    for row in rows:
        pairs = [_example(example) for example in cases[row]]
        for own, _ in pairs:
            if own != (columns := columns or own):
                raise ValueError(f"Expected the same texts in all examples, but got {', '.join(own)} in case {row}.")
        if pairs:
            texts[row] = tuple(each for _, each in pairs)
    if not texts:
        return columns, None
    spec, labels = _asked(test, plain, {row: len(examples) for row, examples in texts.items()}, nested, len(cases))
    meta = plain(test.state.get("meta")) if spec.pop("replaced", False) else None
    made = tuple(
        Case(str(row), examples, labels.get(row), replacements(meta[row] if meta else None, len(examples)))
        for row, examples in texts.items()
    )
    return columns, Functionality(test.name, test.capability, test.kind, spec, made)


def _cases(data: Any) -> tuple[list[Any], bool]:
    """Return lists of examples, and whether the cases were such lists."""
    if not isinstance(data, list):
        raise TypeError(f"Expected a list of cases, but got {type(data).__name__}.")
    nested = bool(data) and isinstance(data[0], list)
    return [case if nested else [case] for case in data], nested


def _rows(chosen: Any, n: int) -> Sequence[int]:
    if chosen is None:
        return range(n)
    rows = [as_label(row) for row in chosen]
    if len(set(rows)) != len(rows) or not all(isinstance(row, int) and 0 <= row < n for row in rows):
        raise ValueError(f"Expected different cases below {n} in `run_idxs`, but got others.")
    return [row for row in rows if isinstance(row, int)]


def _example(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns and the texts of an example."""
    if isinstance(value, dict):
        texts = {str(key): text for key, text in value.items() if isinstance(text, str)}
        if texts:
            return tuple(texts), tuple(texts.values())
    texts_of = (value,) if isinstance(value, str) else value
    if not isinstance(texts_of, (list, tuple)) or not texts_of or not all(isinstance(text, str) for text in texts_of):
        kind = type(value).__name__
        raise TypeError(f"Expected each example to be a text, or a tuple or dictionary of texts, but got a {kind}.")
    names = ("text", "text_pair") if len(texts_of) <= 2 else tuple(f"text_{n}" for n in range(len(texts_of)))
    return names[: len(texts_of)], tuple(texts_of)


def _asked(
    test: PickledTest, plain: Plain, sizes: Mapping[int, int], nested: bool, n_cases: int
) -> tuple[dict[str, Any], dict[int, tuple[Any, ...]]]:
    """Return the expectation, and the labels by case; an expectation that is not understood is `unknown`."""
    try:
        spec = expectation_of(test.state.get("expect"), test.state.get("agg_fn", "all"), plain)
    except (UnknownFunctionError, RecursionError) as error:
        function = str(error) if isinstance(error, UnknownFunctionError) else "nested too deeply"
        spec = {"name": "unknown", "why": f"the expectation is the function {function[:80]!r}, whose code is not run"}
    try:
        labels = dict(_labels(plain(test.state.get("labels")), sizes, nested, n_cases))
    except (TypeError, ValueError) as error:
        labels = {}
        if _needs_labels(spec):
            spec = {"name": "unknown", "why": f"its labels are no numbers or texts: {str(error)[:80]}"}
    if _needs_labels(spec) and not any(label is not None for case in labels.values() for label in case):
        spec = {"name": "unknown", "why": "there are no labels"}
    if spec["name"] != "unknown" and skips_first(spec) and max(sizes.values()) < 2:
        spec = {"name": "unknown", "why": "every case has one example, which would be compared with itself"}
    return spec, labels


def _needs_labels(spec: Mapping[str, Any]) -> bool:
    return any(part["name"] == "equal" and part.get("value") is None for part in every_part(spec))


def _labels(labels: Any, sizes: Mapping[int, int], nested: bool, n_cases: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
    if labels is None:
        return
    if isinstance(labels, list) and len(labels) != n_cases:
        raise ValueError(f"{len(labels)} labels of {n_cases} cases")
    for row, size in sizes.items():
        own = labels[row] if isinstance(labels, list) else labels
        if nested and isinstance(own, list):
            if len(own) != size:
                raise ValueError(f"{len(own)} labels of {size} examples")
            yield row, tuple(map(as_label, own))
        else:
            yield row, (as_label(own),) * size


def replacements(meta: Any, n_examples: int) -> tuple[Any, ...] | None:
    """Return the replaced pair of each example of a case, None where there is none; None where there is no pair."""
    if not isinstance(meta, (list, tuple)) or len(meta) != n_examples:
        return None
    pairs = [tuple(m) if _is_pair(m) else None for m in meta]
    return tuple(pairs) if any(pairs) else None


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(isinstance(part, str) for part in value)


def _is_array(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 5
        and isinstance(value[1], tuple)
        and isinstance(value[4], (bytes, list))
    )


def _from_bytes(dtype: Any, content: Any) -> Any:
    kind = dtype.made_of[0] if isinstance(dtype, Inert) and dtype.made_of else ""
    if not isinstance(kind, str) or not re.fullmatch(r"[biufU][1-9]\d{0,6}", kind) or not isinstance(content, bytes):
        raise ValueError(f"Expected numbers or texts of numpy in the suite's pickle, but got {type(content).__name__}.")
    order = dtype.state[1] if isinstance(dtype.state, tuple) and len(dtype.state) > 1 else "<"
    return np.frombuffer(content, dtype=f"{'>' if order == '>' else '<'}{kind}")
