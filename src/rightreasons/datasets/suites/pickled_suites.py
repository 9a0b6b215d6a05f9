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
        """Its cases as plain values: each a list of examples, or a single example.

        Raises:
            TypeError: If the pickle has no list of cases.
        """
        cases = self.get("data")
        if not isinstance(cases, list):
            raise TypeError(f"Expected a list of cases, but got {type(cases).__name__}.")
        return cases

    def read_texts(self) -> Texts:
        """Return the texts of each case by its number, such as {0: (("A text.",), ("A changed text.",))}.

        Cases without examples are left out.

        Raises:
            TypeError: If an example is neither a text nor a tuple of texts.
        """
        # Either every case is a list of examples, or every case is one example.
        is_nested = bool(self.cases) and isinstance(self.cases[0], list)
        texts = {}
        for row, case in enumerate(self.cases):
            examples = case if is_nested else [case]
            if examples:
                texts[row] = tuple(_parse_example(example) for example in examples)
        return texts

    def read_labels(self, sizes: Mapping[int, Sequence[Any]]) -> dict[int, tuple[Any, ...]]:
        """Return the labels of the examples of each case.

        CheckList allows one label for a test, one for a case, and one for an example.

        Args:
            sizes: Number of a case -> a sequence with one entry per example.

        Returns:
            Number of a case -> a label per example, None for an example without one; {} for a test without
            labels.

        Raises:
            TypeError: If a label is neither a whole number nor a text.
            ValueError: If a case has another number of labels than examples.
        """
        labels = self.get("labels")
        if labels is None:
            return {}
        n_cases = len(self.cases)
        labels_by_case = labels
        if not isinstance(labels, list):
            # One label for all cases.
            labels_by_case = [labels] * n_cases
        result = {}
        for row, examples in sizes.items():
            # A list of another length belongs to no case, and fails below.
            case_labels: Any = []
            if len(labels_by_case) == n_cases:
                case_labels = labels_by_case[row]
            if not isinstance(case_labels, list):
                # One label for all examples of the case.
                case_labels = [case_labels] * len(examples)
            if len(case_labels) != len(examples):
                raise ValueError(
                    f"Expected a label for each case or example, but got {format_value(labels)}."
                )
            result[row] = tuple(_parse_label(label) for label in case_labels)
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
            # Errors of this package explain themselves. Others come from unexpected values.
            reason = str(error)
            if not reason.startswith("Expected"):
                reason = f"Expected a test of CheckList, but got {error!r}."
            raise ValueError(f"{reason[:300]} (test {test.name[:80]!r} of {path})") from error

    if not text_columns:
        n_texts = 1
        if functionalities:
            n_texts = len(functionalities[0].cases[0].examples[0])
        text_columns = _name_text_columns(n_texts)
    file_name = path.name.removesuffix("".join(path.suffixes)) or path.name
    return Suite(
        name=name or file_name,
        text_columns=tuple(text_columns),
        functionalities=tuple(functionalities),
        label_names=label_names,
    )


def _name_text_columns(n_texts: int) -> list[str]:
    """Return n names for the texts of an example: "text", "text_pair", "text_2", "text_3" and so on."""
    names = ["text", "text_pair"]
    for number in range(2, n_texts):
        names.append(f"text_{number}")
    return names[:n_texts]


def read_pickled_tests(path: Path) -> list[PickledTest]:
    """Read the tests of a pickled suite, in the order of the file that CheckList writes for a model.

    Args:
        path: A .pkl or .pkl.gz file, or a .tar.gz archive that holds one.

    Raises:
        ValueError: If the file holds no suite.
    """
    content = _read_content(path)
    state = _get_state(load_plain(content))
    test_by_name = get_entries(state.get("tests"))
    if not test_by_name:
        raise ValueError(
            f"Expected a CheckList suite in {path}, but its pickle holds something else."
        )
    range_by_name = get_entries(state.get("test_ranges"))
    info_by_name = get_entries(state.get("info"))
    # Lists of a pickle may share their parts, so that few bytes make any number of values.
    plain = Plain(max_values=MAX_REPETITIONS * len(content))

    def get_start(name: Any) -> int:
        """Return the first line of a test in the file for a model."""
        span: Any = range_by_name.get(name)
        is_range = isinstance(span, (list, tuple)) and len(span) == 2
        if is_range and isinstance(span[0], int):
            return int(span[0])
        # Tests without a range come last: no file has as many lines as the pickle has bytes.
        return len(content)

    tests = []
    for name in sorted(test_by_name, key=get_start):
        info = get_entries(info_by_name.get(name))
        tests.append(_parse_test(name, test_by_name[name], info, plain, path))
    return tests


def _get_state(record: Any) -> Mapping[str, Any]:
    if isinstance(record, Inert) and isinstance(record.state, dict):
        return record.state
    return {}


def _parse_test(
    name: Any, test: Any, info: Mapping[Any, Any], plain: Plain, path: Path
) -> PickledTest:
    """Check the record of a test in the pickle of a suite, and return it with its name and type.

    Args:
        name: Name of the test in the suite.
        test: Record of the test, an `Inert`.
        info: What the suite says about the test: {"type": "MFT", "capability": "Negation"}.
        plain: Function that turns values of the pickle into plain ones.
        path: File of the suite, for the error message.

    Raises:
        ValueError: If it is no test of CheckList.
    """
    state = _get_state(test)
    # The qualified name is "MODULE CLASS", such as "checklist.test_types MFT".
    class_name = str(getattr(test, "qualified_name", "")).split(" ")[-1]
    # A test may be used in several suites, so that the suite's own record of it comes first.
    kind = info.get("type") or class_name
    capability = info.get("capability") or state.get("capability") or "none"
    has_names = isinstance(name, str) and isinstance(capability, str)
    if not state or kind not in TEST_TYPES or not has_names:
        raise ValueError(
            f"Expected the tests of the suite in {path} to be CheckList's, an MFT, INV or DIR "
            f"with texts as name and capability, but {format_value(name)} is not such a test."
        )
    return PickledTest(name=name, kind=kind, capability=capability, state=state, plain=plain)


def _read_content(path: Path) -> bytes:
    """Return the bytes of a pickle: a file, a compressed file, or the only pickle of an archive.

    Raises:
        ValueError: If an archive has no pickle or several, or a compressed file is damaged.
    """
    has_archive_suffix = path.name.endswith((".tar.gz", ".tgz"))
    # A downloaded archive has no suffix.
    is_archive = has_archive_suffix or (not path.suffix and tarfile.is_tarfile(path))
    if is_archive:
        pickles = []
        for name, content in read_members(path):
            if name.endswith(_PICKLE_SUFFIXES):
                pickles.append(content)
        if len(pickles) != 1:
            raise ValueError(f"Expected one pickle in {path}, but it holds {len(pickles)}.")
        return pickles[0]

    open_binary: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with open_binary(path, "rb") as stream:
            # One byte more than allowed shows that the limit is exceeded.
            pickled: bytes = stream.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"Expected a compressed pickle in {path}, but it is damaged: {error}."
        ) from None
    return pickled


# --------------------------------------------------------------------------------------- one test


def _make_functionality(test: PickledTest, texts: Texts) -> Functionality:
    """Convert a pickled test to a functionality with the expectation that the pickle states.

    An expectation that cannot be applied becomes "unknown", with the reason.

    Args:
        test: The test.
        texts: Number of a case -> the texts of its examples.
    """
    spec = _parse_expectation(test.state.get("expect"), test.state.get("agg_fn", "all"), test.plain)
    labels_by_case: dict[int, tuple[Any, ...]] = {}
    # Labels of another form, such as probabilities, count as no labels.
    with contextlib.suppress(TypeError, ValueError):
        labels_by_case = test.read_labels(texts)

    has_labels = False
    for labels in labels_by_case.values():
        if any(label is not None for label in labels):
            has_labels = True
    if spec == {"name": "equal"} and not has_labels:
        spec = _make_unknown("it has no labels, or others than one number or text for each example")
    max_examples = max(len(examples) for examples in texts.values())
    if spec["name"] != "unknown" and is_original_first(spec) and max_examples < 2:
        spec = _make_unknown("every case has one example, which would be compared with itself")

    cases = []
    for row, examples in texts.items():
        cases.append(Case(id=str(row), examples=examples, labels=labels_by_case.get(row)))
    return Functionality(
        name=test.name,
        functionality_class=test.capability,
        test_type=test.kind,
        expectation=spec,
        cases=tuple(cases),
    )


def parse_replacements(meta: Any, n_examples: int) -> tuple[Any, ...] | None:
    """Parse which words each example of a case replaces.

    Args:
        meta: What the pickle says about the case; if it is no sequence with an entry per example, the
            case has no replacements.
        n_examples: Number of examples of the case.

    Returns:
        One pair (old words, new words) per example, None for an example without one, such as the
        original: (None, ("John", "Mark")). None instead of the tuple if no example has a pair.
    """
    if not isinstance(meta, (list, tuple)) or len(meta) != n_examples:
        return None
    pairs: list[Any] = []
    for entry in meta:
        is_pair = isinstance(entry, (list, tuple)) and [type(word) for word in entry] == [str, str]
        if is_pair:
            pairs.append(tuple(entry))
        else:
            pairs.append(None)
    return tuple(pairs) if any(pairs) else None


def _parse_example(value: Any) -> tuple[str, ...]:
    """Return the texts of an example, which is stored as a text or as a sequence of texts.

    Raises:
        TypeError: If it is anything else.
    """
    if isinstance(value, str):
        return (value,)
    is_sequence = isinstance(value, (list, tuple)) and len(value) > 0
    if not is_sequence or not all(isinstance(text, str) for text in value):
        raise TypeError(
            f"Expected each example to be a text, or a tuple of texts, but got "
            f"{add_article(type(value).__name__)}."
        )
    return tuple(value)


def _parse_label(value: Any) -> int | str | None:
    """Return a label as a whole number or a text; None if there is none.

    Raises:
        TypeError: If it is anything else, such as a fraction.
    """
    if value is None or isinstance(value, str):
        return value
    # True is 1, as CheckList compares them.
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    raise TypeError(f"{type(value).__name__} in the place of a label")


# ----------------------------------------------------------------------------------- expectations


def _make_unknown(reason: str) -> dict[str, Any]:
    return {"name": "unknown", "why": reason}


def _parse_expectation(record: Any, aggregate: Any, plain: Plain) -> dict[str, Any]:
    """Convert a pickled function of CheckList to the expectation that it stands for.

    CheckList's own functions are recognized by their name and the variables of their closure, such as
    `tolerance`. The code of any other function is not read.

    Args:
        record: Record of the function.
        aggregate: How CheckList joins the examples of a case: "all" or "all_except_first".
        plain: Function that turns values of the pickle into plain ones.

    Returns:
        The name of the expectation with its parameters, such as {"name": "invariant", "tolerance": 0.1};
        "unknown" with the reason for any other function.
    """
    name, variables = _find_stock_function(record)
    # CheckList wraps a function of one prediction, or of a pair, into one of all examples of a case:
    # `expect` has the wrapped function as its variable `fn`, and `expect_fn` may be a second wrapper.
    if _is_wrapper(name, variables, "expect"):
        name, variables = _find_stock_function(variables["fn"])
        if _is_wrapper(name, variables, "expect_fn"):
            name, variables = _find_stock_function(variables["fn"])
    spec: dict[str, Any] | None = None
    # A variable of another type makes the function one of those that are not known.
    with contextlib.suppress(TypeError, ValueError):
        plain_variables = {key: plain(value) for key, value in variables.items()}
        spec = _parse_stock_values(name, plain_variables)
    if spec is None or aggregate not in ("all", "all_except_first"):
        return _make_unknown(
            f"the expectation is the function {name[:80]!r}, whose code is not read"
        )

    # Parameters that equal the default of their expectation are left out.
    spec = {key: value for key, value in spec.items() if value is not None}
    skips_first = aggregate == "all_except_first"
    if skips_first != is_original_first(spec):
        spec["skip_first"] = skips_first
    return spec


def _is_wrapper(name: str, variables: Mapping[str, Any], wrapper: str) -> bool:
    """Return whether a function is a wrapper of CheckList, whose only variable is the wrapped `fn`."""
    return name == wrapper and list(variables) == ["fn"]


def _parse_stock_values(function: str, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the expectation that a function of `checklist.expect` stands for; None if it is unknown.

    Args:
        function: Name of the function, which several functions share.
        values: Variables of its closure by name; their names tell the functions apart.

    Returns:
        The name of the expectation with its parameters.

    Raises:
        TypeError, ValueError: If a variable has another type.
    """
    variable_names = list(values)
    # Expect.eq(val): the prediction equals one value.
    if function == "ret_fn" and variable_names == ["val"]:
        return {"name": "equal", "value": _parse_label(values["val"])}
    # Expect.inv(tolerance): the prediction equals that of the first example.
    if function == "expect" and variable_names == ["tolerance"]:
        return {"name": "invariant", "tolerance": float(values["tolerance"])}
    # Expect.monotonic(label, increasing, tolerance): the confidence moves in one direction.
    if function == "expect" and set(variable_names) == {"increasing", "keep_label", "tolerance"}:
        return {
            "name": "monotonic",
            "increasing": bool(values["increasing"]),
            "tolerance": float(values["tolerance"]),
            "label": _parse_label(values["keep_label"]),
        }
    return None


def _find_stock_function(record: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of a pickled function, and its variables if it is from `checklist/expect.py`.

    dill stores a function as a call with the function's code, and the code as a call with its fields:
    …, file name, function name, …, names of the closure's variables, names of its cell variables.

    Args:
        record: Record of the function.

    Returns:
        The name, and the variables of its closure by name; {} for a function of any other file.
    """
    code_fields: tuple[Any, ...] = ()
    if isinstance(record, Inert) and record.made_of and isinstance(record.made_of[0], Inert):
        code_fields = record.made_of[0].made_of
    # The position of the file name depends on the version of Python: it is the first of two texts.
    for file, name in itertools.pairwise(code_fields):
        if not isinstance(file, str) or not isinstance(name, str):
            continue
        if not file.replace("\\", "/").endswith("checklist/expect.py"):
            return name, {}
        variable_names: tuple[Any, ...] = ()
        if isinstance(code_fields[-2], tuple):
            variable_names = code_fields[-2]
        values = _get_cells(record, len(variable_names))
        variables = {}
        for variable, value in zip(variable_names, values, strict=False):
            variables[str(variable)] = value
        return name, variables
    # A function of a module is stored by its name, and an object of another kind by its class.
    return str(getattr(record, "qualified_name", "")) or "of another kind", {}


def _get_cells(record: Inert, n_cells: int) -> list[Any]:
    """Return the values of the variables that a pickled function has in its closure.

    Args:
        record: Record of the function.
        n_cells: Number of these variables.

    Returns:
        A value per variable, None if the pickle does not fill it; [] if there is no closure.
    """
    # The closure is the tuple of cells among the function's arguments.
    for argument in record.made_of[1:]:
        has_length = isinstance(argument, tuple) and len(argument) == n_cells
        if not has_length or not all(isinstance(cell, Inert) for cell in argument):
            continue
        values = []
        for cell in argument:
            # A cell is made with its content, or filled later by a call of setattr.
            content = None
            if cell.made_of:
                content = cell.made_of[0]
            values.append(cell.attributes.get("cell_contents", content))
        return values
    return []
