"""Suites that CheckList has saved: pickles of dill, of which nothing is run.

The tests come in the order of the file that CheckList writes for a model (`TestSuite.to_raw_file`),
that of `test_ranges`. A plain `Expect.eq`, `Expect.inv` or `Expect.monotonic` is known by its name
and its parameters. Every other expectation is code, which is not read: it is `unknown`, its cases
stay, and nothing is asked of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gzip
import itertools
import tarfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from rightreasons.core.sentences import add_article, format_value
from rightreasons.core.suites import TEST_TYPES, is_original_first
from rightreasons.datasets.sources import read_members
from rightreasons.datasets.suites.pickles import MAX_BYTES, Inert, Plain, get_entries, load_plain
from rightreasons.datasets.suites.suite import Case, Functionality, Suite

Texts: TypeAlias = "dict[int, tuple[tuple[str, ...], ...]]"
"""Number of a case -> the texts of its examples."""

MAX_REPETITIONS = 10
"""Number of values of a suite per byte of its pickle, at most."""

_DAMAGE_ERRORS = (AttributeError, LookupError, RecursionError, TypeError, ValueError, OverflowError)

_PICKLE_SUFFIXES = (".pkl", ".pickle", ".dill")


@dataclasses.dataclass(frozen=True)
class PickledTest:
    """One test of a pickled suite.

    Attributes:
        name: Its name.
        kind: "MFT", "INV" or "DIR".
        capability: The capability that it tests.
        state: Its attributes, as the pickle has them.
        plain: Function that turns them into plain values.
    """

    name: str
    kind: str
    capability: str
    state: Mapping[str, Any]
    plain: Plain

    def get(self, attribute: str) -> Any:
        """Return an attribute as a plain value; None if there is none."""
        return self.plain(self.state.get(attribute))

    @functools.cached_property
    def cases(self) -> list[Any]:
        """Its cases, as plain values."""
        cases = self.get("data")
        if not isinstance(cases, list):
            raise TypeError(f"Expected a list of cases, but got {type(cases).__name__}.")
        return cases

    def read_texts(self) -> Texts:
        """Return the texts of the examples of each case. Cases without examples are left out."""
        # Either every case is a list of examples, or every case is one example.
        is_nested = bool(self.cases) and isinstance(self.cases[0], list)
        texts = {}
        for row, case in enumerate(self.cases):
            examples = case if is_nested else [case]
            if examples:
                texts[row] = tuple(map(_parse_example, examples))
        return texts

    def read_labels(self, sizes: Mapping[int, Sequence[Any]]) -> dict[int, tuple[Any, ...]]:
        """Return the labels of the examples of each case.

        Args:
            sizes: Number of a case -> a sequence with one entry per example.

        Raises:
            ValueError: If a case has another number of labels than examples.
        """
        labels = self.get("labels")
        if labels is None:
            return {}
        n_cases = len(self.cases)
        # CheckList allows one label for a test, one for a case, and one for an example.
        labels_by_case = [labels] * n_cases
        if isinstance(labels, list):
            labels_by_case = labels
        result = {}
        for row, examples in sizes.items():
            case_labels: Any = []
            if len(labels_by_case) == n_cases:
                case_labels = labels_by_case[row]
            if not isinstance(case_labels, list):
                # One label stands for all examples of the case.
                case_labels = [case_labels] * len(examples)
            if len(case_labels) != len(examples):
                raise ValueError(
                    f"Expected a label for each case or example, but got {format_value(labels)}."
                )
            result[row] = tuple(map(_parse_label, case_labels))
        return result


# ----------------------------------------------------------------------------------------- suites


def read_pickled_suite(
    path: Path,
    *,
    text_columns: Sequence[str] | None = None,
    name: str = "",
    label_names: tuple[str, ...] | None = None,
    make_functionality: Callable[[PickledTest, Texts], Functionality] | None = None,
) -> Suite:
    """Read a suite that CheckList has saved.

    Args:
        path: A .pkl or .pkl.gz file, or a .tar.gz archive that holds one.
        text_columns: The names of the texts of an example; by default "text", and "text_pair" for
            the second.
        name: The name of the suite. "" for that of the file.
        label_names: The names of the labels 0, 1, …. None if they have none, or are texts.
        make_functionality: Function that makes a functionality of a test and the texts of its cases.
            None for the expectations that the pickle states.

    Returns:
        The suite.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is no suite, or an example is no text and no tuple of texts.
    """
    make = make_functionality or _make_functionality
    functionalities: list[Functionality] = []
    for test in read_pickled_tests(path):
        try:
            texts = test.read_texts()
            if texts:
                functionalities.append(make(test, texts))
        except _DAMAGE_ERRORS as error:
            reason = str(error)
            if not reason.startswith("Expected"):
                reason = f"Expected a test of CheckList, but got {error!r}."
            raise ValueError(f"{reason[:300]} (test {test.name[:80]!r} of {path})") from error

    n_texts = 1
    if functionalities:
        n_texts = len(functionalities[0].cases[0].examples[0])
    default_columns = ["text", "text_pair", *(f"text_{number}" for number in range(2, n_texts))]
    file_name = path.name.removesuffix("".join(path.suffixes)) or path.name
    return Suite(
        name=name or file_name,
        text_columns=tuple(text_columns or default_columns[:n_texts]),
        functionalities=tuple(functionalities),
        label_names=label_names,
    )


def read_pickled_tests(path: Path) -> list[PickledTest]:
    """Read the tests of a pickled suite, in the order of the file that CheckList writes for a model.

    Raises:
        ValueError: If the file holds no suite.
    """
    content = _read_content(path)
    suite = load_plain(content)
    state = _get_state(suite)
    tests = get_entries(state.get("tests"))
    if not tests:
        raise ValueError(
            f"Expected a CheckList suite in {path}, but its pickle holds something else."
        )
    ranges = get_entries(state.get("test_ranges"))
    infos = get_entries(state.get("info"))
    plain = Plain(MAX_REPETITIONS * len(content))

    def get_start(name: Any) -> int:
        # Tests without a range come last.
        span: Any = ranges.get(name)
        is_range = isinstance(span, (list, tuple)) and len(span) == 2
        if is_range and isinstance(span[0], int):
            return int(span[0])
        return len(content)

    pickled_tests = []
    for name in sorted(tests, key=get_start):
        pickled_tests.append(
            _parse_test(name, tests[name], get_entries(infos.get(name)), plain, path)
        )
    return pickled_tests


def _get_state(record: Any) -> Mapping[str, Any]:
    if isinstance(record, Inert) and isinstance(record.state, dict):
        return record.state
    return {}


def _parse_test(
    name: Any, test: Any, info: Mapping[Any, Any], plain: Plain, path: Path
) -> PickledTest:
    state = _get_state(test)
    class_name = str(getattr(test, "qualified_name", "")).split(" ")[-1]
    # The suite has a test's type and capability too, since a test may be used in several suites.
    kind = info.get("type") or class_name
    capability = info.get("capability") or state.get("capability") or "none"
    has_names = isinstance(name, str) and isinstance(capability, str)
    if not state or kind not in TEST_TYPES or not has_names:
        raise ValueError(
            f"Expected the tests of the suite in {path} to be CheckList's, an MFT, INV or DIR with "
            f"texts as name and capability, but {format_value(name)} is none."
        )
    return PickledTest(name, kind, capability, state, plain)


def _read_content(path: Path) -> bytes:
    # A downloaded archive has no suffix.
    is_archive = path.name.endswith((".tar.gz", ".tgz"))
    if is_archive or (not path.suffix and tarfile.is_tarfile(path)):
        pickles = []
        for name, content in read_members(path):
            if name.endswith(_PICKLE_SUFFIXES):
                pickles.append(content)
        if len(pickles) != 1:
            raise ValueError(f"Expected one pickle in {path}, but it holds {len(pickles)}.")
        return pickles[0]
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            # One byte more than allowed shows that the limit is exceeded.
            return stream.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"Expected a compressed pickle in {path}, but it is damaged: {error}."
        ) from None


# --------------------------------------------------------------------------------------- one test


def _make_functionality(test: PickledTest, texts: Texts) -> Functionality:
    """Make a functionality with the expectation that the pickle states."""
    spec = _parse_expectation(test.state.get("expect"), test.state.get("agg_fn", "all"), test.plain)
    labels: dict[int, tuple[Any, ...]] = {}
    # Labels of another form ask for nothing, which the expectation says.
    with contextlib.suppress(TypeError, ValueError):
        labels = test.read_labels(texts)
    all_labels = [label for case in labels.values() for label in case]
    if spec == {"name": "equal"} and all(label is None for label in all_labels):
        spec = _make_unknown("it has no labels, or others than one number or text for each example")
    max_examples = max(len(examples) for examples in texts.values())
    if spec["name"] != "unknown" and is_original_first(spec) and max_examples < 2:
        spec = _make_unknown("every case has one example, which would be compared with itself")
    cases = []
    for row, examples in texts.items():
        cases.append(Case(str(row), examples, labels.get(row)))
    return Functionality(test.name, test.capability, test.kind, spec, tuple(cases))


def parse_replacements(meta: Any, n_examples: int) -> tuple[Any, ...] | None:
    """Return the replaced pair of each example of a case, None for one without a pair.

    Args:
        meta: What the pickle says about the case.
        n_examples: Number of examples of the case.

    Returns:
        One entry per example. None instead of the tuple if no example has a pair.
    """
    if not isinstance(meta, (list, tuple)) or len(meta) != n_examples:
        return None
    pairs: list[Any] = []
    for pair in meta:
        is_pair = isinstance(pair, (list, tuple)) and list(map(type, pair)) == [str, str]
        # The original of a case was not changed, and has no pair.
        if is_pair:
            pairs.append(tuple(pair))
        else:
            pairs.append(None)
    return tuple(pairs) if any(pairs) else None


def _parse_example(value: Any) -> tuple[str, ...]:
    texts: Any = value
    if isinstance(value, str):
        texts = (value,)
    is_tuple = isinstance(texts, (list, tuple)) and len(texts) > 0
    if not is_tuple or not all(isinstance(text, str) for text in texts):
        raise TypeError(
            f"Expected each example to be a text, or a tuple of texts, but got "
            f"{add_article(type(value).__name__)}."
        )
    return tuple(texts)


def _parse_label(value: Any) -> int | str | None:
    """Return a label or an answer as a whole number or a text; None if there is none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        # True is 1, as CheckList compares them.
        return int(value)
    raise TypeError(f"{type(value).__name__} in the place of a label")


# ----------------------------------------------------------------------------------- expectations


def _make_unknown(reason: str) -> dict[str, Any]:
    return {"name": "unknown", "why": reason}


def _parse_expectation(record: Any, aggregate: Any, plain: Plain) -> dict[str, Any]:
    """Return what a stored function of CheckList expects; `unknown` for every other one."""
    function, values = _find_stock_function(record)
    # An expectation over a case may be made of one over an example or a pair.
    if (function, *values) == ("expect", "fn"):
        function, values = _find_stock_function(values["fn"])
        if (function, *values) == ("expect_fn", "fn"):
            function, values = _find_stock_function(values["fn"])
    spec: dict[str, Any] | None = None
    with contextlib.suppress(TypeError, ValueError):
        spec = _parse_stock_values(function, {name: plain(value) for name, value in values.items()})
    if spec is None or aggregate not in ("all", "all_except_first"):
        return _make_unknown(
            f"the expectation is the function {function[:80]!r}, whose code is not read"
        )
    # A field that equals the default of its expectation is not written.
    skips_first = aggregate == "all_except_first"
    spec = {key: value for key, value in spec.items() if value is not None}
    if skips_first != is_original_first(spec):
        spec["skip_first"] = skips_first
    return spec


def _parse_stock_values(function: str, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the expectation of a function of `checklist.expect` with its variables, if known."""
    if (function, *values) == ("ret_fn", "val"):
        return {"name": "equal", "value": _parse_label(values["val"])}
    if (function, *values) == ("expect", "tolerance"):
        return {"name": "invariant", "tolerance": float(values["tolerance"])}
    if function == "expect" and values.keys() == {"increasing", "keep_label", "tolerance"}:
        return {
            "name": "monotonic",
            "increasing": bool(values["increasing"]),
            "tolerance": float(values["tolerance"]),
            "label": _parse_label(values["keep_label"]),
        }
    return None


def _find_stock_function(record: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of a stored function, and its variables if it is from `checklist.expect`."""
    # A function of dill is made of its code, and the code of names, files and numbers.
    parts: tuple[Any, ...] = ()
    if isinstance(record, Inert) and record.made_of and isinstance(record.made_of[0], Inert):
        parts = record.made_of[0].made_of
    for file, name in itertools.pairwise(parts):
        if not isinstance(file, str) or not isinstance(name, str):
            continue
        if not file.replace("\\", "/").endswith("checklist/expect.py"):
            return name, {}
        # A code object has the names of its closure next to last.
        variables: tuple[Any, ...] = ()
        if isinstance(parts[-2], tuple):
            variables = parts[-2]
        cells = _get_cells(record, len(variables))
        return name, dict(zip(map(str, variables), cells, strict=False))
    return str(getattr(record, "qualified_name", "")) or "of another kind", {}


def _get_cells(record: Inert, n_cells: int) -> list[Any]:
    """Return the values of the closure of a stored function."""
    for cells in record.made_of[1:]:
        is_tuple = isinstance(cells, tuple) and len(cells) == n_cells
        if not is_tuple or not all(isinstance(cell, Inert) for cell in cells):
            continue
        values = []
        for cell in cells:
            # A cell is made with its content, or filled later by a call of setattr.
            content = None
            if cell.made_of:
                content = cell.made_of[0]
            values.append(cell.attributes.get("cell_contents", content))
        return values
    return []
