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
        name: Name of the test.
        kind: "MFT", "INV" or "DIR".
        capability: The capability that it tests.
        state: Attribute of the test -> its value in the pickle.
        plain: Function that converts values of the pickle to plain Python values.
    """

    name: str
    kind: str
    capability: str
    state: Mapping[str, Any]
    plain: Plain

    def get(self, attribute: str) -> Any:
        """Return an attribute of the test as a plain value; None if the test does not have it."""
        return self.plain(self.state.get(attribute))

    @functools.cached_property
    def cases(self) -> list[Any]:
        """The cases of the test as plain values: each is a list of examples, or a single example.

        Raises:
            TypeError: If the pickle has no list of cases.
        """
        cases = self.get("data")
        if not isinstance(cases, list):
            raise TypeError(f"Expected a list of cases, but got {type(cases).__name__}.")
        return cases

    def read_texts(self) -> Texts:
        """Return number of a case -> the texts of its examples, without cases that have no examples.

        For a case with an original and a changed text, the entry is such as
        `{0: (("A text.",), ("A changed text.",))}`.

        Raises:
            TypeError: If an example is neither a string nor a tuple of strings.
        """
        # Either every case is a list of examples, or every case is a single example.
        is_nested = bool(self.cases) and isinstance(self.cases[0], list)
        texts_by_case = {}
        for number, case in enumerate(self.cases):
            examples = case if is_nested else [case]
            if examples:
                texts_by_case[number] = tuple(map(_parse_example, examples))
        return texts_by_case

    def read_labels(self, sizes: Mapping[int, Sequence[Any]]) -> dict[int, tuple[Any, ...]]:
        """Return the labels of the examples of each case.

        CheckList allows one label for a test, one for a case, and one for an example.

        Args:
            sizes: Number of a case -> a sequence with one entry per example, such as its texts.

        Returns:
            Number of a case -> one label per example, None for an example without a label; an empty
            dictionary for a test without labels.

        Raises:
            TypeError: If a label is neither a whole number nor a string.
            ValueError: If the number of labels is neither that of the cases nor that of the examples.
        """
        labels = self.get("labels")
        if labels is None:
            return {}
        n_cases = len(self.cases)
        if isinstance(labels, list):
            case_entries = labels
        else:
            # One label for all cases.
            case_entries = [labels] * n_cases
        labels_by_case = {}
        for number, examples in sizes.items():
            n_examples = len(examples)
            case_labels: Any = []
            if len(case_entries) == n_cases:
                case_labels = case_entries[number]
            if not isinstance(case_labels, list):
                # One label for all examples of the case.
                case_labels = [case_labels] * n_examples
            # This also fails if the number of entries is not that of the cases.
            if len(case_labels) != n_examples:
                raise ValueError(
                    f"Expected a label for each case or example, but got {format_value(labels)}."
                )
            labels_by_case[number] = tuple(map(_parse_label, case_labels))
        return labels_by_case


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
        path: A .pkl or .pkl.gz file, or a .tar.gz archive that contains one.
        text_columns: Names of the texts of an example; None for "text", and "text_pair" for the second.
        name: Name of the suite; "" for the name of the file.
        label_names: Names of the labels 0, 1, …; None if the labels have no names, or are strings.
        make_functionality: Function that makes a functionality of a test and the texts of its cases;
            None to use the expectations that the pickle contains.

    Returns:
        The suite.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not a suite, or an example is neither a string nor a tuple of strings.
    """
    if make_functionality is None:
        make_functionality = _make_functionality
    functionalities: list[Functionality] = []
    for test in read_pickled_tests(path):
        try:
            texts = test.read_texts()
            if texts:
                functionalities.append(make_functionality(test, texts))
        except _DAMAGE_ERRORS as error:
            # Messages of this package begin with "Expected". Other errors come from unexpected values.
            reason = str(error)
            if not reason.startswith("Expected"):
                reason = f"Expected a test of CheckList, but got {error!r}."
            raise ValueError(f"{reason[:300]} (test {test.name[:80]!r} of {path})") from error

    if not text_columns:
        n_texts = 1
        if functionalities:
            first_case = functionalities[0].cases[0]
            n_texts = len(first_case.examples[0])
        text_columns = _name_text_columns(n_texts)
    if not name:
        all_suffixes = "".join(path.suffixes)
        name = path.name.removesuffix(all_suffixes) or path.name
    return Suite(
        name=name,
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
        path: A .pkl or .pkl.gz file, or a .tar.gz archive that contains one.

    Raises:
        ValueError: If the file does not contain a suite.
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
    # The number of values is limited, because a small pickle may contain the same list many times.
    plain = Plain(max_values=MAX_REPETITIONS * len(content))

    def get_start(name: Any) -> int:
        """Return the first line of a test in the file that CheckList writes for a model."""
        line_range: Any = range_by_name.get(name)
        is_range = isinstance(line_range, (list, tuple)) and len(line_range) == 2
        if is_range:
            start, _ = line_range
            if isinstance(start, int):
                return int(start)
        # Sort tests without a range to the end: there are fewer lines than bytes of the pickle.
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
        info: Properties of the test in the suite, such as {"type": "MFT", "capability": "Negation"}.
        plain: Function that converts values of the pickle to plain Python values.
        path: File of the suite, for the error message.

    Raises:
        ValueError: If the record is not a test of CheckList.
    """
    state = _get_state(test)
    # The qualified name is "MODULE CLASS", such as "checklist.test_types MFT".
    qualified_name = str(getattr(test, "qualified_name", ""))
    class_name = qualified_name.split(" ")[-1]
    # The properties in the suite have priority, because a test may be used in several suites.
    kind = info.get("type") or class_name
    capability = info.get("capability") or state.get("capability") or "none"
    has_names = isinstance(name, str) and isinstance(capability, str)
    is_test = bool(state) and kind in TEST_TYPES
    if not is_test or not has_names:
        raise ValueError(
            f"Expected the tests of the suite in {path} to be CheckList's, an MFT, INV or DIR "
            f"with texts as name and capability, but {format_value(name)} is not such a test."
        )
    return PickledTest(name=name, kind=kind, capability=capability, state=state, plain=plain)


def _read_content(path: Path) -> bytes:
    """Return the bytes of a pickle, which is a file, a compressed file, or in an archive.

    Args:
        path: A .pkl file, a compressed .pkl.gz file, or a .tar.gz archive with one pickle.

    Raises:
        ValueError: If an archive has no pickle or several, or a compressed file is damaged.
    """
    is_archive = path.name.endswith((".tar.gz", ".tgz"))
    if not is_archive and not path.suffix:
        # A downloaded archive has no suffix.
        is_archive = tarfile.is_tarfile(path)
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
            # Reading one byte more than allowed shows whether the limit is exceeded.
            pickled: bytes = stream.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"Expected a compressed pickle in {path}, but it is damaged: {error}."
        ) from None
    return pickled


# --------------------------------------------------------------------------------------- one test


def _make_functionality(test: PickledTest, texts: Texts) -> Functionality:
    """Convert a pickled test to a functionality with the expectation that the pickle contains.

    An expectation that cannot be applied becomes "unknown", with the reason.

    Args:
        test: The test.
        texts: Number of a case -> the texts of its examples.
    """
    record = test.state.get("expect")
    aggregate = test.state.get("agg_fn", "all")
    spec = _parse_expectation(record, aggregate, test.plain)
    labels_by_case: dict[int, tuple[Any, ...]] = {}
    # Labels of other types, such as probabilities, are treated as missing.
    with contextlib.suppress(TypeError, ValueError):
        labels_by_case = test.read_labels(texts)

    all_labels = itertools.chain.from_iterable(labels_by_case.values())
    has_labels = any(label is not None for label in all_labels)
    if spec == {"name": "equal"} and not has_labels:
        spec = _make_unknown("it has no labels, or others than one number or text for each example")
    max_examples = max(map(len, texts.values()))
    is_known = spec["name"] != "unknown"
    if is_known and is_original_first(spec) and max_examples < 2:
        spec = _make_unknown("every case has one example, which would be compared with itself")

    cases = []
    for number, examples in texts.items():
        case = Case(
            id=str(number),
            examples=examples,
            labels=labels_by_case.get(number),
        )
        cases.append(case)
    return Functionality(
        name=test.name,
        functionality_class=test.capability,
        test_type=test.kind,
        expectation=spec,
        cases=tuple(cases),
    )


def parse_replacements(meta: Any, n_examples: int) -> tuple[Any, ...] | None:
    """Return the words that each example of a case replaces.

    Args:
        meta: Metadata of the case in the pickle, which may have any type. Only a sequence with one entry
            per example, in which some entries are pairs of strings, has replacements.
        n_examples: Number of examples of the case.

    Returns:
        One pair (old words, new words) per example, None for an example without a replacement, such as
        the original: (None, ("John", "Mark")). None instead of the tuple if there are no pairs.
    """
    if not isinstance(meta, (list, tuple)) or len(meta) != n_examples:
        return None
    pairs: list[Any] = []
    for entry in meta:
        pair = None
        if isinstance(entry, (list, tuple)) and list(map(type, entry)) == [str, str]:
            pair = tuple(entry)
        pairs.append(pair)
    if not any(pairs):
        return None
    return tuple(pairs)


def _parse_example(value: Any) -> tuple[str, ...]:
    """Return the texts of an example, which is stored as a string or as a sequence of strings.

    Args:
        value: An example in the pickle of a suite.

    Raises:
        TypeError: If the value has another type.
    """
    if isinstance(value, str):
        return (value,)
    is_sequence = isinstance(value, (list, tuple)) and len(value) > 0
    if not is_sequence or not all(isinstance(text, str) for text in value):
        type_name = add_article(type(value).__name__)
        raise TypeError(
            f"Expected each example to be a text, or a tuple of texts, but got {type_name}."
        )
    return tuple(value)


def _parse_label(value: Any) -> int | str | None:
    """Return a label as a whole number or a string; None if the example has no label.

    Args:
        value: A label in the pickle of a suite.

    Raises:
        TypeError: If the value has another type, or is a fraction.
    """
    if value is None or isinstance(value, str):
        return value
    is_whole_float = isinstance(value, float) and value.is_integer()
    # As in CheckList, the label True is 1.
    if isinstance(value, int) or is_whole_float:
        return int(value)
    raise TypeError(f"{type(value).__name__} in the place of a label")


# ----------------------------------------------------------------------------------- expectations


def _make_unknown(reason: str) -> dict[str, Any]:
    return {"name": "unknown", "why": reason}


def _parse_expectation(record: Any, aggregate: Any, plain: Plain) -> dict[str, Any]:
    """Convert a pickled function of CheckList to an expectation of this package.

    CheckList's own functions are recognized by their name and the variables of their closure, such as
    `tolerance`. The code of any other function is not read.

    Args:
        record: Record of the function.
        aggregate: Name of the examples that must pass for a case to pass: "all" or "all_except_first".
        plain: Function that converts values of the pickle to plain Python values.

    Returns:
        The name of the expectation with its parameters, such as {"name": "invariant", "tolerance": 0.1};
        for any other function, {"name": "unknown", "why": …}.
    """
    name, variables = _find_stock_function(record)
    # CheckList wraps a function of one prediction, or of a pair, by a function of all examples of a
    # case: `expect` has the wrapped function as its variable `fn`. There may be a second wrapper,
    # `expect_fn`.
    if _is_wrapper(name, variables, "expect"):
        name, variables = _find_stock_function(variables["fn"])
        if _is_wrapper(name, variables, "expect_fn"):
            name, variables = _find_stock_function(variables["fn"])
    spec: dict[str, Any] | None = None
    # If a variable has an unexpected type, the function is unknown.
    with contextlib.suppress(TypeError, ValueError):
        plain_variables = {key: plain(value) for key, value in variables.items()}
        spec = _match_stock_function(name, plain_variables)
    if spec is None or aggregate not in ("all", "all_except_first"):
        return _make_unknown(
            f"the expectation is the function {name[:80]!r}, whose code is not read"
        )

    # A parameter of None is omitted, so that the default of the expectation applies.
    spec = {key: value for key, value in spec.items() if value is not None}
    skips_first = aggregate == "all_except_first"
    if skips_first != is_original_first(spec):
        spec["skip_first"] = skips_first
    return spec


def _is_wrapper(name: str, variables: Mapping[str, Any], wrapper: str) -> bool:
    """Return whether a function is a wrapper of CheckList, whose only variable is the wrapped `fn`."""
    return name == wrapper and list(variables) == ["fn"]


def _match_stock_function(function: str, values: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the expectation that corresponds to a function of `checklist.expect`.

    Args:
        function: Name of the function. Several functions have the same name.
        values: Variables of its closure by name. Functions of the same name differ in these names.

    Returns:
        The name of the expectation with its parameters; None if no expectation corresponds to it.

    Raises:
        TypeError, ValueError: If a variable has an unexpected type.
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

    Args:
        record: Record of the function.

    Returns:
        The name, and the variables of its closure by name, which are empty for a function of any other
        file.
    """
    # dill stores a function as a call whose first argument is the record of its code. The arguments of
    # the code are: …, file name, function name, …, names of the closure's variables, names of its cell
    # variables.
    code_fields: tuple[Any, ...] = ()
    if isinstance(record, Inert) and record.made_of:
        code = record.made_of[0]
        if isinstance(code, Inert):
            code_fields = code.made_of
    # The position of the file name depends on the version of Python, so that the first two adjacent
    # strings are taken.
    for file, name in itertools.pairwise(code_fields):
        if not isinstance(file, str) or not isinstance(name, str):
            continue
        is_from_checklist = file.replace("\\", "/").endswith("checklist/expect.py")
        if not is_from_checklist:
            return name, {}
        variable_names: tuple[Any, ...] = ()
        if isinstance(code_fields[-2], tuple):
            variable_names = code_fields[-2]
        values = _get_closure_values(record, len(variable_names))
        variables = {}
        for variable, value in zip(variable_names, values, strict=False):
            variables[str(variable)] = value
        return name, variables
    # A function of a module is stored by its name, and an instance of a class by the name of the class.
    qualified_name = str(getattr(record, "qualified_name", ""))
    return qualified_name or "of another kind", {}


def _get_closure_values(record: Inert, n_variables: int) -> list[Any]:
    """Return the values of the variables that a pickled function has in its closure.

    Args:
        record: Record of the function.
        n_variables: Number of these variables.

    Returns:
        One value per variable, None if the pickle does not set it; an empty list if there is no closure.
    """
    # The closure is the argument that is a tuple of cells, one for each variable.
    for argument in record.made_of[1:]:
        if not isinstance(argument, tuple) or len(argument) != n_variables:
            continue
        if not all(isinstance(cell, Inert) for cell in argument):
            continue
        values = []
        for cell in argument:
            # A cell is made with its content, or filled later by a call of setattr.
            content = None
            if cell.made_of:
                content = cell.made_of[0]
            value = cell.attributes.get("cell_contents", content)
            values.append(value)
        return values
    return []
