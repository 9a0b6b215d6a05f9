"""Suites that CheckList has saved: pickles of dill, of which nothing is run.

The tests come in the order of the file that CheckList writes for a model (`TestSuite.to_raw_file`), that of
`test_ranges`. A plain `Expect.eq`, `Expect.inv` or `Expect.monotonic` is known by its name and its parameters. Every
other expectation is code, which is not read: it is `unknown`, its cases stay, and nothing is asked of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gzip
import io
import itertools
import json
import pickle
import pickletools
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import datasets
import numpy as np

from rightreasons.core.sentences import add_article, format_value
from rightreasons.core.suites import TEST_TYPES, is_original_first
from rightreasons.datasets.builder import Builder, Config, members
from rightreasons.datasets.suites.suite import Case, Functionality, Suite, example_features

Texts: TypeAlias = "dict[int, tuple[tuple[str, ...], ...]]"
"""Number of a case -> the texts of its examples."""

MAX_BYTES = 256 << 20
"""The maximum size of a pickle."""

MAX_INSTRUCTIONS = 3_000_000
"""The maximum number of instructions, each of which builds at most one value; CheckList's suites have 1.9 million."""

# The instructions that do more than build or name values: persistent ids, extension registries, buffers that are held
# elsewhere, and two old ways to make an object. `find_class` makes whatever is named inert.
_REFUSED = frozenset(
    ("PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4", "NEXT_BUFFER", "READONLY_BUFFER", "INST", "OBJ")
)


class Inert:
    """Stands for an object of a pickle: its class by name, its arguments and its state.

    Attributes:
        made_of: The arguments of its constructor.
        state: The state that the pickle sets; None where it sets none.
        items: The items that the pickle sets.
        attributes: The attributes that a call in the pickle would set.
    """

    qualified_name = ""
    made_of: tuple[Any, ...]
    state: Any
    items: dict[Any, Any]
    attributes: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Inert:
        # A pickle may make an object without calling `__init__`.
        made = super().__new__(cls)
        made.made_of, made.state, made.items, made.attributes = args, None, {}, {}
        return made

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __setitem__(self, key: Any, value: Any) -> None:
        self.items[key] = value

    def append(self, values: Any) -> None:
        """Leave out what the pickle appends or adds, which nothing asks for."""

    extend = add = append

    def __call__(self, *args: Any, **kwargs: Any) -> Inert:
        # dill fills the cells of a closure by calling setattr, which it names in several ways.
        if len(args) == 3 and isinstance(args[0], Inert) and isinstance(args[1], str):
            args[0].attributes[args[1]] = args[2]
        return Inert(self, *args)

    def __hash__(self) -> int:
        return id(self)


class _Made(Inert):
    """Stands for the call by which dill makes a class that it has stored by its content: a class for its instances."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        name = next((each for each in args if isinstance(each, str)), "")
        return type("Inert", (Inert,), {"qualified_name": f"made {name}"})


def load_plain(content: bytes, *, max_bytes: int = MAX_BYTES) -> Any:
    r"""Read a pickle as plain data and `Inert` objects.

    Args:
        content: The pickle.
        max_bytes: The maximum size of the pickle.

    Returns:
        The content of the pickle.

    Raises:
        ValueError: If the pickle uses an instruction that could do more than build values, is larger or asks for more
            than allowed, or is no pickle.

    Example:
        >>> load_plain(pickle.dumps([1, "a"]))
        [1, 'a']
        >>> nothing_done = load_plain(b"cos\nsystem\n(S'true'\ntR.")
        >>> nothing_done.qualified_name, nothing_done.made_of
        ('os system', ('true',))
    """
    if len(content) > max_bytes:
        raise ValueError(
            f"Expected a pickle of at most {max_bytes} bytes, but it has {len(content)}."
        )
    try:
        _check_opcodes(content)
        return _Reader(io.BytesIO(content)).load()
    except Exception as error:
        sentence = str(error)
        if not sentence.startswith("Expected"):
            sentence = f"Expected a pickle of plain data, but it cannot be read: {sentence[:200]}"
        raise ValueError(sentence) from error


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> type[Inert]:
        base = _Made if name == "_create_type" else Inert
        return type("Inert", (base,), {"qualified_name": f"{module} {name}"})


def _check_opcodes(content: bytes) -> None:
    """Check all instructions before any is executed."""
    for count, (opcode, argument, _) in enumerate(pickletools.genops(content), start=1):
        if opcode.name in _REFUSED:
            raise ValueError(
                f"Expected a pickle of plain data, but it uses the instruction {opcode.name}."
            )
        # A memo index far beyond the last entry would make the reader reserve that much memory.
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and int(str(argument)) > count:
            raise ValueError("Expected a pickle of plain data, but its memo has holes.")
        if count > MAX_INSTRUCTIONS:
            raise ValueError(
                "Expected a pickle of a suite's size, but it asks for too many values."
            )


_REPETITIONS = 10  # a value may stand for this number of bytes of the pickle
_DAMAGED = (AttributeError, LookupError, RecursionError, TypeError, ValueError, OverflowError)


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
        if isinstance(value, dict) or (
            isinstance(value, Inert) and value.items
        ):  # also a dict of another class
            return {key: self(part) for key, part in self._counted(_entries(value)).items()}
        if not isinstance(value, Inert):
            return value
        array = next(
            (
                part
                for part in (value.state, *value.made_of)
                if isinstance(part, tuple) and len(part) == 5
            ),
            (),
        )
        if array and isinstance(array[4], list):
            return self(array[4])
        if array:
            _, shape, dtype, by_columns, content = array
            values = self._counted(_from_bytes(dtype, content))
            return values.reshape(shape, order="F" if by_columns else "C").tolist()
        if len(value.made_of) in (2, 3) and isinstance(
            value.made_of[-1], bytes
        ):  # a scalar: (maker,) dtype, bytes
            return _from_bytes(*value.made_of[-2:]).tolist()[0]
        raise ValueError(
            "Expected numpy's scalars and arrays in the suite's pickle, but it holds another object."
        )

    def _counted(self, values: Any) -> Any:
        self._left -= len(values)
        if self._left < 0:
            raise ValueError(
                "Expected the lists of the suite's pickle to be distinct, but they repeat one another."
            )
        return values


@dataclasses.dataclass(frozen=True)
class PickledTest:
    """One test of a pickled suite.

    Attributes:
        name: Its name.
        kind: "MFT", "INV" or "DIR".
        capability: What it tests.
        state: Its attributes, as the pickle has them.
        plain: What turns them into plain values.
    """

    name: str
    kind: str
    capability: str
    state: Mapping[str, Any]
    plain: Plain

    def value(self, attribute: str) -> Any:
        """Return an attribute as a plain value; None where there is none."""
        return self.plain(self.state.get(attribute))

    @functools.cached_property
    def cases(self) -> list[Any]:
        """Its cases, as plain values."""
        cases = self.value("data")
        if not isinstance(cases, list):
            raise TypeError(f"Expected a list of cases, but got {type(cases).__name__}.")
        return cases

    def texts(self) -> Texts:
        """Return the texts of the examples of each case."""
        nested = bool(self.cases) and isinstance(self.cases[0], list)
        cases = ((row, case if nested else [case]) for row, case in enumerate(self.cases))
        return {row: tuple(map(_example, examples)) for row, examples in cases if examples}

    def labels(self, sizes: Mapping[int, Sequence[Any]]) -> dict[int, tuple[Any, ...]]:
        """Return the labels of the examples of each case, which has as many as `sizes` has entries for it."""
        labels, n_cases = self.value("labels"), len(self.cases)
        if labels is None:
            return {}
        by_case = labels if isinstance(labels, list) else [labels] * n_cases
        read = {}
        for row, examples in sizes.items():
            of_case = by_case[row] if len(by_case) == n_cases else []
            each = of_case if isinstance(of_case, list) else [of_case] * len(examples)
            if len(each) != len(examples):
                raise ValueError(
                    f"Expected a label for each case or example, but got {format_value(labels)}."
                )
            read[row] = tuple(map(_as_label, each))
        return read


def read_pickled_suite(
    path: Path,
    *,
    text_columns: Sequence[str] | None = None,
    name: str = "",
    label_names: tuple[str, ...] | None = None,
    made: Callable[[PickledTest, Texts], Functionality] | None = None,
) -> Suite:
    """Read a suite that CheckList has saved.

    Args:
        path: A .pkl or .pkl.gz file, or a .tar.gz archive that holds one.
        text_columns: The names of the texts of an example; by default "text", and "text_pair" where there are two.
        name: The name of the suite; "" for that of the file.
        label_names: The names of the labels 0, 1, …; None where they have none, or are texts.
        made: Makes a functionality of a test and the texts of its cases; None to say what the pickle itself expects.

    Returns:
        The suite.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is no suite, or an example is no text and no tuple of texts.
    """
    read: list[Functionality] = []
    for test in pickled_tests(path):
        try:
            if texts := test.texts():
                read.append((made or _functionality)(test, texts))
        except _DAMAGED as error:
            reason = str(error)
            reason = (
                reason
                if reason.startswith("Expected")
                else f"Expected a test of CheckList, but got {error!r}."
            )
            raise ValueError(f"{reason[:300]} (test {test.name[:80]!r} of {path})") from error
    n_texts = len(read[0].cases[0].examples[0]) if read else 1
    usual = ("text", "text_pair", *(f"text_{number}" for number in range(2, n_texts)))[:n_texts]
    name = name or path.name.removesuffix("".join(path.suffixes)) or path.name
    return Suite(name, tuple(text_columns or usual), tuple(read), label_names)


def pickled_tests(path: Path) -> list[PickledTest]:
    """Read the tests of a pickled suite, in the order of the file that CheckList writes for a model.

    Raises:
        ValueError: If the file holds no suite.
    """
    content = _content(path)
    suite = load_plain(content)
    state = suite.state if isinstance(suite, Inert) and isinstance(suite.state, dict) else {}
    if not (tests := _entries(state.get("tests"))):
        raise ValueError(
            f"Expected a CheckList suite in {path}, but its pickle holds something else."
        )
    ranges, infos = _entries(state.get("test_ranges")), _entries(state.get("info"))
    plain = Plain(_REPETITIONS * len(content))
    read = []
    for name in sorted(tests, key=lambda name: _start(ranges.get(name), len(content))):
        test = tests[name]
        info = _entries(infos.get(name))
        held = test.state if isinstance(test, Inert) and isinstance(test.state, dict) else {}
        kind = info.get("type") or str(getattr(test, "qualified_name", "")).split(" ")[-1]
        capability = info.get("capability") or held.get("capability") or "none"
        if (
            not held
            or kind not in TEST_TYPES
            or not isinstance(name, str)
            or not isinstance(capability, str)
        ):
            raise ValueError(
                f"Expected the tests of the suite in {path} to be CheckList's, an MFT, INV or DIR with texts as name "
                f"and capability, but {format_value(name)} is none."
            )
        read.append(PickledTest(name, kind, capability, held, plain))
    return read


def replacements(meta: Any, n_examples: int) -> tuple[Any, ...] | None:
    """Return the replaced pair of each example of a case, None where there is none; None where there is no pair."""
    if not isinstance(meta, (list, tuple)) or len(meta) != n_examples:
        return None
    pairs = [
        tuple(each)
        if isinstance(each, (list, tuple)) and [*map(type, each)] == [str, str]
        else None
        for each in meta
    ]
    return tuple(pairs) if any(pairs) else None


def _content(path: Path) -> bytes:
    # A downloaded archive has no suffix.
    if path.name.endswith((".tar.gz", ".tgz")) or (not path.suffix and tarfile.is_tarfile(path)):
        pickles = [
            content
            for name, content in members(path)
            if name.endswith((".pkl", ".pickle", ".dill"))
        ]
        if len(pickles) != 1:
            raise ValueError(f"Expected one pickle in {path}, but it holds {len(pickles)}.")
        return pickles[0]
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"Expected a compressed pickle in {path}, but it is damaged: {error}."
        ) from None


def _entries(value: Any) -> Mapping[Any, Any]:
    """Return the entries of a dictionary, or of one of another class; none of anything else."""
    if isinstance(value, dict):
        return value
    return value.items if isinstance(value, Inert) else {}


def _start(span: Any, beyond: int) -> int:
    whole = isinstance(span, (list, tuple)) and len(span) == 2 and isinstance(span[0], int)
    return int(span[0]) if whole else beyond


def _from_bytes(dtype: Any, content: Any) -> Any:
    kind = dtype.made_of[0] if isinstance(dtype, Inert) and dtype.made_of else ""
    if (
        not isinstance(kind, str)
        or not re.fullmatch(r"[biufU][1-9]\d{0,6}", kind)
        or not isinstance(content, bytes)
    ):
        raise ValueError(
            f"Expected numbers or texts of numpy in the suite's pickle, but got {type(content).__name__}."
        )
    order = dtype.state[1] if isinstance(dtype.state, tuple) and len(dtype.state) > 1 else "<"
    return np.frombuffer(content, dtype=f"{'>' if order == '>' else '<'}{kind}")


# ------------------------------------------------------------------------------------------------------------ one test


def _functionality(test: PickledTest, texts: Texts) -> Functionality:
    spec = _expectation(test.state.get("expect"), test.state.get("agg_fn", "all"), test.plain)
    labels: dict[int, tuple[Any, ...]] = {}
    with contextlib.suppress(TypeError, ValueError):
        labels = test.labels(texts)
    if spec == {"name": "equal"} and all(
        label is None for case in labels.values() for label in case
    ):
        spec = _unknown("it has no labels, or others than one number or text for each example")
    if spec["name"] != "unknown" and is_original_first(spec) and max(map(len, texts.values())) < 2:
        spec = _unknown("every case has one example, which would be compared with itself")
    cases = tuple(Case(str(row), examples, labels.get(row)) for row, examples in texts.items())
    return Functionality(test.name, test.capability, test.kind, spec, cases)


def _example(value: Any) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else value
    if (
        not isinstance(texts, (list, tuple))
        or not texts
        or not all(isinstance(text, str) for text in texts)
    ):
        raise TypeError(
            f"Expected each example to be a text, or a tuple of texts, but got {add_article(type(value).__name__)}."
        )
    return tuple(texts)


def _as_label(value: Any) -> int | str | None:
    """Return a label or an answer as a whole number or a text; None where there is none."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return int(value)  # True is 1, as CheckList compares them
    raise TypeError(f"{type(value).__name__} in the place of a label")


# -------------------------------------------------------------------------------------------------------- expectations


def _unknown(why: str) -> dict[str, Any]:
    return {"name": "unknown", "why": why}


def _expectation(record: Any, aggregate: Any, plain: Plain) -> dict[str, Any]:
    """Return what a stored function of CheckList expects; `unknown` of every other one."""
    function, values = _stock(record)
    if (function, *values) == (
        "expect",
        "fn",
    ):  # over a case, made of one over an example or a pair
        function, values = _stock(values["fn"])
        if (function, *values) == ("expect_fn", "fn"):
            function, values = _stock(values["fn"])
    spec: dict[str, Any] | None = None
    try:
        values = {name: plain(value) for name, value in values.items()}
        if (function, *values) == ("ret_fn", "val"):
            spec = {"name": "equal", "value": _as_label(values["val"])}
        elif (function, *values) == ("expect", "tolerance"):
            spec = {"name": "invariant", "tolerance": float(values["tolerance"])}
        elif function == "expect" and values.keys() == {"increasing", "keep_label", "tolerance"}:
            direction, least = bool(values["increasing"]), float(values["tolerance"])
            label = _as_label(values["keep_label"])
            spec = {
                "name": "monotonic",
                "increasing": direction,
                "tolerance": least,
                "label": label,
            }
    except (TypeError, ValueError):
        pass
    if spec is None or aggregate not in ("all", "all_except_first"):
        return _unknown(
            f"the expectation is the function {function[:80]!r}, whose code is not read"
        )
    skips = aggregate == "all_except_first"
    known = {key: value for key, value in spec.items() if value is not None}
    return known if skips == is_original_first(spec) else {**known, "skip_first": skips}


def _stock(record: Any) -> tuple[str, dict[str, Any]]:
    """Return the name of a stored function, and the variables around it where it is from `checklist.expect`."""
    code = record.made_of[0] if isinstance(record, Inert) and record.made_of else None
    parts = code.made_of if isinstance(code, Inert) else ()
    for file, name in itertools.pairwise(parts):
        if isinstance(file, str) and isinstance(name, str):
            names = parts[-2] if isinstance(parts[-2], tuple) else ()
            if file.replace("\\", "/").endswith("checklist/expect.py"):
                return name, dict(zip(map(str, names), _cells(record, len(names)), strict=False))
            return name, {}
    return str(getattr(record, "qualified_name", "")) or "of another kind", {}


def _cells(record: Inert, n: int) -> list[Any]:
    for cells in record.made_of[1:]:
        if (
            isinstance(cells, tuple)
            and len(cells) == n
            and all(isinstance(cell, Inert) for cell in cells)
        ):
            return [
                cell.attributes.get("cell_contents", (*cell.made_of, None)[0]) for cell in cells
            ]
    return []


# --------------------------------------------------------------------------------- the suites that its authors released


Row = dict[str, Any]

_TESTS = json.loads(Path(__file__).with_name("checklist.json").read_text("utf-8"))

PAPER_LABELS: Mapping[str, int] = _TESTS["paper_labels"]
"""Labels that BeLUGA corrects: the first is the opposite of the released one, the second makes an INV test an MFT."""

EXPECTATIONS: Mapping[str, Row] = _TESTS["expectations"]
"""What the released tests expect beyond the label of an MFT and the invariance of an INV, by their names.

A synonym of a question is released as an invariance of one example: a question and itself reworded. Of "Q & A: no",
whose released function takes a positive answer for a neutral one, the label is asked.
"""

SPLITS = {
    "test": None,
    "paper_train": "train",
    "paper_validation": "validation",
    "paper_test": "test",
}
"""Split of the data set -> part of BeLUGA's split; "test" is the whole suite."""


@dataclasses.dataclass
class SuiteConfig(Config):
    """A suite, as released or with two labels corrected as in BeLUGA."""

    paper_labels: bool = False


class CheckList(Builder):
    """The common part of the three suites."""

    BUILDER_CONFIG_CLASS = SuiteConfig
    BUILDER_CONFIGS: ClassVar[list[Config]] = [SuiteConfig(name="default")]

    TEXT_COLUMNS: ClassVar[tuple[str, ...]]
    LABEL_NAMES: ClassVar[tuple[str, ...] | None] = None

    _kept: tuple[Path, Suite] | None = None

    def features(self) -> datasets.Features:
        return example_features(self.TEXT_COLUMNS, self.LABEL_NAMES)

    def splits(self) -> Mapping[str, Sequence[str]]:
        return dict.fromkeys(SPLITS, (self.SOURCES[0].path,))

    def examples(self, split: str, files: Mapping[str, Path]) -> Iterator[Row]:
        suite = self._read(next(iter(files.values())))
        part = SPLITS[split]
        yield from (suite if part is None else suite.split(part)).examples()

    def suite(self) -> Suite:
        """Return the whole suite, with its expectations, from the local files or else the publisher's."""
        if not self.files:
            config = datasets.DownloadConfig(cache_dir=self._cache_downloaded_dir, use_etag=False)
            # Download and verify the files of the data set; this sets `self.files`.
            self._split_generators(
                datasets.DownloadManager(dataset_name=self.NAME, download_config=config)
            )
        return self._read(Path(next(iter(self.files.values()))))

    def _read(self, path: Path) -> Suite:
        # Every split is a part of the one file, which takes seconds to read: it is kept for the others.
        if self._kept is None or self._kept[0] != path:
            made = functools.partial(released, paper_labels=self.config.paper_labels)
            names: dict[str, Any] = {
                "name": self.NAME,
                "text_columns": self.TEXT_COLUMNS,
                "label_names": self.LABEL_NAMES,
            }
            self._kept = path, read_pickled_suite(path, made=made, **names)
        return self._kept[1]


class CheckListSentiment(CheckList):
    """Sentiment: 38 functionalities over tweets about airlines; labels 0 negative, 1 neutral, 2 positive."""

    NAME = "checklist_sentiment"
    TEXT_COLUMNS = ("text",)
    LABEL_NAMES = ("negative", "neutral", "positive")


class CheckListParaphrase(CheckList):
    """Paraphrase detection: 53 functionalities over Quora questions; labels 0 not_duplicate, 1 duplicate."""

    NAME = "checklist_paraphrase"
    TEXT_COLUMNS = ("text", "text_pair")
    LABEL_NAMES = ("not_duplicate", "duplicate")


class CheckListReading(CheckList):
    """Reading comprehension: 24 functionalities over SQuAD; the expected answer is a text."""

    NAME = "checklist_reading"
    TEXT_COLUMNS = ("context", "question")


def released(test: PickledTest, texts: Texts, paper_labels: bool = False) -> Functionality:
    """Make a functionality of a released test; two labels may be corrected as in BeLUGA (`PAPER_LABELS`)."""
    corrected = PAPER_LABELS.get(test.name) if paper_labels else None
    kind = test.kind if corrected is None else "MFT"
    if corrected is None:
        labels = test.labels(texts)
    else:
        labels = {row: (corrected,) * len(examples) for row, examples in texts.items()}
    meta = test.value("meta") if kind == "INV" else None
    cases = tuple(
        Case(
            str(row),
            examples,
            labels.get(row),
            replacements(meta[row], len(examples)) if meta else None,
        )
        for row, examples in texts.items()
    )
    return Functionality(
        test.name, test.capability, kind, _asked_by_name(test.name, kind, cases), cases
    )


def _asked_by_name(name: str, test_type: str, cases: Sequence[Case]) -> Row:
    """Return what a test expects: by its name, or else by its type."""
    if test_type == "MFT" and cases and any(label is not None for label in cases[0].labels or ()):
        texts = any(isinstance(label, str) for label in cases[0].labels or ())
        return {"name": "equal", "clean": "article"} if texts else {"name": "equal"}
    if name in EXPECTATIONS:
        return dict(EXPECTATIONS[name])
    return (
        {"name": "invariant", "tolerance": 0.1}
        if test_type == "INV"
        else {"name": "unknown", "why": "not released"}
    )
