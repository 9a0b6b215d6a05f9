"""A behavioral suite: functionalities, their cases and what is expected of them, and the files that hold one.

A suite is JSON lines (`.jsonl`, `.jsonl.gz`). The first line is a header:

    {"format": "rightreasons.suite", "version": 1, "name": "mine", "text_columns": ["text"],
     "label_names": ["negative", "positive"]}

and every other line is one functionality:

    {"functionality": "negation", "functionality_class": "Negation", "test_type": "MFT",
     "expectation": {"name": "equal"},
     "cases": [{"examples": ["This is not good."], "labels": [0]}, …]}

An example is a text, or a list of texts where there are several columns. `labels` holds one expected answer per
example; a case may have an `id` (by default its number) and `meta`, one (old, new) replacement or null per example.
`label_names` names the labels 0, 1, ….
"""

from __future__ import annotations

import dataclasses
import functools
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

import datasets
import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field, Strict, TypeAdapter, ValidationError

from rightreasons.core.arrays import compute_offsets, describe_kind
from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.json_files import parse_json
from rightreasons.core.label_names import check_label_names, fold_name
from rightreasons.core.options import check_options
from rightreasons.core.resampling import item_rng
from rightreasons.core.sentences import format_value
from rightreasons.core.store import format_json_lines, write_bytes
from rightreasons.core.suites import TEST_TYPES, SuiteTable, check_expectation, is_original_first
from rightreasons.core.validation import check_count, check_ids, check_kind, check_one_of
from rightreasons.datasets.builder import available_datasets, load_builder

MAX_LABEL = 2**31 - 1
"""The largest numeric label."""


Text = Annotated[str, Field(pattern=r"\S")]
Texts = Annotated[
    tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)
]
"""The texts of an example; a file may have a single one as it is."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One test case, whose examples pass or fail together.

    Attributes:
        id: Unique in its functionality.
        examples: One tuple of texts per example.
        labels: One expected answer per example, None where there is none; None for cases without labels.
        meta: One replaced pair (old, new) or None per example; None where nothing was replaced.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    id: Annotated[str, Field(coerce_numbers_to_str=True)]
    examples: tuple[Texts, ...]
    labels: tuple[Annotated[int, Strict()] | str | None, ...] | None = None
    meta: tuple[tuple[str, str] | None, ...] | None = None


@dataclasses.dataclass(frozen=True)
class Functionality:
    """One functionality with its cases.

    Attributes:
        name: Unique in the suite.
        functionality_class: The capability that it tests.
        test_type: "MFT", "INV" or "DIR".
        expectation: `name` and parameters; see `rightreasons.core.suites`.
        cases: Its cases.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: Text
    functionality_class: Text
    test_type: Text
    expectation: Mapping[str, Any]
    cases: tuple[Case, ...]

    @property
    def n_examples(self) -> int:
        """The number of examples of its cases."""
        return sum(len(case.examples) for case in self.cases)


def check_name(name: object, of: str) -> None:
    """Check that the name of a part of a suite is a text with characters in it.

    Example:
        >>> check_name(None, "functionality")
        Traceback (most recent call last):
        ...
        TypeError: Expected the name of a functionality to be a text, but got None.
    """
    if not isinstance(name, str):
        raise TypeError(f"Expected the name of a {of} to be a text, but got {describe_kind(name)}.")
    if not name.strip():
        raise ValueError(f"Expected the name of a {of} to hold characters, but got {name!r}.")


def check_functionality(
    functionality: Functionality, n_texts: int, label_names: Sequence[str] | None = None
) -> None:
    """Check a functionality.

    Args:
        functionality: The functionality.
        n_texts: The number of texts per example.
        label_names: The names of the suite's labels; None where they have none.

    Raises:
        TypeError: If a name is no text, a label is neither a whole number nor a text, or an option of the expectation
            has the wrong type.
        ValueError: If a value is missing, unknown, or does not match another.
    """
    check_name(functionality.name, "functionality")
    where = f"the functionality {functionality.name!r}"
    check_name(functionality.functionality_class, f"class of {where}")
    check_one_of(functionality.test_type, TEST_TYPES, f"test_type of {where}")
    if not functionality.cases:
        raise ValueError(f"Expected at least one case in {where}, but it has none.")
    check_ids([case.id for case in functionality.cases], f"case of {where}")
    if (
        not isinstance(functionality.expectation, Mapping)
        or "name" not in functionality.expectation
    ):
        raise ValueError(f"Expected the expectation of {where} to have a name, but it has none.")
    try:
        check_expectation(functionality.expectation)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} ({where})") from error
    for case in functionality.cases:
        _check_case(case, where, n_texts, label_names)
    spec = functionality.expectation
    # Nothing is asked of a single case of one example, which would be compared with itself.
    if is_original_first(spec) and max(len(case.examples) for case in functionality.cases) < 2:
        raise ValueError(
            f"Expected at least 2 examples in a case of {where} ({functionality.test_type}), whose first is compared "
            "with the others, but each has 1."
        )
    labels = (label for case in functionality.cases for label in case.labels or ())
    asks_for_labels = (
        functionality.test_type == "MFT" and spec["name"] == "equal" and spec.get("value") is None
    )
    if asks_for_labels and all(label is None for label in labels):
        raise ValueError(
            f"Expected labels in {where}, or a `value` in its expectation 'equal', but there is neither."
        )


def _check_case(case: Case, where: str, n_texts: int, label_names: Sequence[str] | None) -> None:
    where = f"case {case.id!r} of {where}"
    sizes = {
        len(column) for column in (case.examples, case.labels, case.meta) if column is not None
    }
    if (
        sizes != {len(case.examples)}
        or 0 in sizes
        or any(len(texts) != n_texts for texts in case.examples)
    ):
        raise ValueError(
            f"Expected examples of {n_texts} texts in {where}, each with one entry in `labels` and in `meta` where "
            f"there are any, but got {format_value(case)}."
        )
    for label in case.labels or ():
        if label is not None and (not isinstance(label, (int, str)) or isinstance(label, bool)):
            raise TypeError(
                f"Expected whole numbers or texts as labels, but {where} has {format_value(label)}."
            )
        if isinstance(label, int) and not -1 <= label <= MAX_LABEL:
            raise ValueError(f"Expected labels from -1 to {MAX_LABEL}, but {where} has one beyond.")
        if (
            label_names is not None
            and label is not None
            and not (isinstance(label, int) and label < len(label_names))
        ):
            raise ValueError(
                f"Expected a number of one of the labels {', '.join(label_names)}, which count from 0, but {where} has "
                f"{label!r}."
            )


FORMAT = "rightreasons.suite"
VERSION = 1

_HEADER = ("format", "version", "name", "text_columns", "label_names")

_READER = TypeAdapter(Functionality)


# ------------------------------------------------------------------------------------------------------------- private


def _json_lines(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        # Editors may write a mark before the first line.
        opened: Any = gzip.open if file.suffix == ".gz" else open
        with opened(file, "rt", encoding="utf-8-sig") as stream:
            lines = stream.readlines()
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile):
        kind = "compressed text" if file.suffix == ".gz" else "text"
        raise ValueError(
            f"Expected {kind} in UTF-8 in {file}, but it holds other bytes (`rightreasons suite convert` reads what "
            "CheckList has saved)."
        ) from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"line {number}", parse_json(line, str(file), line=number)


def _check_header(header: Any, file: Path) -> tuple[str, tuple[str, ...], Any]:
    said = (header.get("format"), repr(header.get("version"))) if isinstance(header, dict) else None
    if said != (FORMAT, repr(VERSION)):
        raise ValueError(
            f'Expected the first line of {file} to say "format": "{FORMAT}", "version": {VERSION}, but it does not.'
        )
    check_options(header, _HEADER, f"the first line of {file}")
    columns = header.get("text_columns", ["text"])
    if not isinstance(columns, list):
        raise ValueError(
            f"Expected `text_columns` of {file} to be a list of names, but got {columns!r}."
        )
    return header.get("name", file.stem), tuple(columns), header.get("label_names")


def _functionality(row: Any, where: str) -> Functionality:
    entry = "cases"
    try:
        cases = [{"id": str(number), **case} for number, case in enumerate(row["cases"])]
        named = {"name" if key == "functionality" else key: value for key, value in row.items()}
        return _READER.validate_python({**named, "cases": cases})
    except ValidationError as error:
        entry = ".".join(
            "functionality" if part == "name" else str(part) for part in error.errors()[-1]["loc"]
        )
    except (LookupError, TypeError, AttributeError):
        pass
    raise ValueError(
        f"Expected a functionality in {where}, but {entry!r} is missing, wrong or unknown."
    )


def _row(functionality: Functionality) -> dict[str, Any]:
    cases = [
        {
            "id": case.id,
            "examples": [texts[0] if len(texts) == 1 else texts for texts in case.examples],
            **{
                name: held
                for name, held in (("labels", case.labels), ("meta", case.meta))
                if held is not None
            },
        }
        for case in functionality.cases
    ]
    return {
        "functionality": functionality.name,
        "functionality_class": functionality.functionality_class,
        "test_type": functionality.test_type,
        "expectation": dict(functionality.expectation),
        "cases": cases,
    }


SPLITS = ("train", "validation", "test")

RESERVED_COLUMNS = (
    "id",
    "functionality",
    "functionality_class",
    "test_type",
    "case_id",
    "label",
    "answer",
)
"""The columns of a suite as a dataset beside its texts."""


@dataclasses.dataclass(frozen=True)
class Suite:
    """A behavioral suite.

    Args:
        name: Its name.
        text_columns: The names of the texts of an example, such as ("text",) or ("question", "context").
        functionalities: The functionalities.
        label_names: The names of the labels 0, 1, …, by which the answers of models and files are matched; None where
            the labels have none, or are texts.

    Raises:
        TypeError: If a name is not a text, or a label is neither a whole number nor a text.
        ValueError: If a functionality has no cases, a case has no examples (or only one where they are compared with
            the first), an example has the wrong number of texts, labels do not match examples or are out of range, or
            a label has no name.

    Example:
        >>> case = Case("0", (("Not good.",), ("Not bad.",)), labels=(0, 1))
        >>> negation = Functionality("negation", "Negation", "MFT", {"name": "equal"}, (case,))
        >>> suite = Suite("mine", ("text",), (negation,))
        >>> suite.to_dataset()["label"][:]
        [0, 1]
    """

    name: str
    text_columns: tuple[str, ...]
    functionalities: tuple[Functionality, ...]
    label_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "suite")
        if not self.functionalities or not self.text_columns:
            raise ValueError(
                f"Expected a functionality and a text column in the suite {self.name!r}, but got none."
            )
        for column in self.text_columns:
            check_name(column, "text column")
            if column in RESERVED_COLUMNS:
                raise ValueError(
                    f"Expected text columns other than {', '.join(RESERVED_COLUMNS)} in the suite {self.name!r}, which "
                    f"its dataset has already, but got {column!r}."
                )
        check_ids(self.text_columns, "text column")
        if self.label_names is not None:
            names = check_label_names(self.label_names)
            if len(names) < 2 or len({*map(fold_name, names)}) < len(names):
                raise ValueError(
                    f"Expected two or more different names of labels in the suite {self.name!r}, but got "
                    f"{', '.join(names)}."
                )
            object.__setattr__(self, "label_names", names)
        for functionality in self.functionalities:
            check_functionality(functionality, len(self.text_columns), self.label_names)
        check_ids([functionality.name for functionality in self.functionalities], "functionality")

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        return sum(functionality.n_examples for functionality in self.functionalities)

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return sum(len(functionality.cases) for functionality in self.functionalities)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Suite:
        """Read a suite from a file of `write`, or one written by hand in the form that is described above.

        Args:
            path: JSON lines (`.jsonl`, `.jsonl.gz`).

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file is no suite of this version; the message names the line.
        """
        file = Path(path)
        if not file.is_file():
            raise FileNotFoundError(f"Expected a suite at {file}, but there is no such file.")
        rows = _json_lines(file)
        header: Any = next(rows, ("", None))[1]
        name, columns, label_names = _check_header(header, file)
        return cls(
            name,
            columns,
            tuple(_functionality(row, f"{place} of {file}") for place, row in rows),
            label_names,
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the suite as JSON lines, compressed where the name ends in .gz."""
        file = Path(path)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "text_columns": list(self.text_columns),
        }
        if self.label_names is not None:
            header["label_names"] = list(self.label_names)
        content = format_json_lines((header, *map(_row, self.functionalities))).encode()
        return write_bytes(
            file, gzip.compress(content, mtime=0) if file.suffix == ".gz" else content
        )

    def texts(self) -> list[tuple[str, ...]]:
        """Return the texts of every example, in the suite's order."""
        return [texts for f in self.functionalities for case in f.cases for texts in case.examples]

    def examples(self) -> Iterator[dict[str, Any]]:
        """Yield one row per example, in the suite's order."""
        for number, functionality in enumerate(self.functionalities):
            for case in functionality.cases:
                for index, texts in enumerate(case.examples):
                    label = None if case.labels is None else case.labels[index]
                    yield {
                        "id": f"{number}-{case.id}-{index}",
                        "functionality": functionality.name,
                        "functionality_class": functionality.functionality_class,
                        "test_type": functionality.test_type,
                        "case_id": f"{number}-{case.id}",
                        **dict(zip(self.text_columns, texts, strict=True)),
                        "label": label if isinstance(label, int) else -1,
                        "answer": label if isinstance(label, str) else "",
                    }

    def to_dataset(self) -> datasets.Dataset:
        """Turn the suite into a dataset: one row per example, `label` -1 and `answer` empty where there is none."""
        return datasets.Dataset.from_list(
            list(self.examples()), features=example_features(self.text_columns, self.label_names)
        )

    def table(self) -> SuiteTable:
        """Return the table to score predictions in the suite's order with."""
        return self._table

    @functools.cached_property
    def _table(self) -> SuiteTable:
        cases = [case for functionality in self.functionalities for case in functionality.cases]
        sizes = [len(case.examples) for case in cases]
        owner = np.repeat(
            np.arange(len(self.functionalities)), [len(f.cases) for f in self.functionalities]
        )
        offsets = compute_offsets(sizes)
        meta = [pair for case in cases for pair in (case.meta or [None] * len(case.examples))]
        return SuiteTable(
            functionalities=tuple(f.name for f in self.functionalities),
            classes=tuple(f.functionality_class for f in self.functionalities),
            test_types=tuple(f.test_type for f in self.functionalities),
            expectations=tuple(f.expectation for f in self.functionalities),
            case_ids=tuple(
                f"{number}-{case.id}" for number, case in zip(owner.tolist(), cases, strict=True)
            ),
            case_functionality=owner,
            case_offsets=offsets,
            labels=tuple(
                label for case in cases for label in (case.labels or [None] * len(case.examples))
            ),
            meta=tuple(meta) if any(pair is not None for pair in meta) else None,
            label_names=self.label_names,
            case_clusters=_number_repeated_cases(owner.tolist(), cases),
        )

    def split(self, part: str, *, seed: int = 123) -> Suite:
        """Return one part of BeLUGA's split of every functionality: one half for training and a quarter for each other.

        The split is that of scikit-learn's `train_test_split` with `random_state=seed`, first into halves, then of the
        second half. Functionalities with no case in this part are left out.

        References:
            Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral Learning", TACL.
        """
        check_one_of(part, SPLITS, "part")

        def rows(functionality: Functionality) -> Any:
            train, rest = _halves(np.arange(len(functionality.cases)), seed)
            return dict(zip(SPLITS, (train, *_halves(rest, seed)), strict=True))[part]

        return self.choose_cases(rows)

    def choose_cases(self, rows: Callable[[Functionality], Any]) -> Suite:
        """Return the suite with some cases of each functionality, in their order; functionalities without any go.

        Args:
            rows: Gives the numbers of the cases to keep.
        """
        chosen = [
            dataclasses.replace(
                functionality, cases=tuple(functionality.cases[row] for row in np.sort(numbers))
            )
            for functionality in self.functionalities
            if len(numbers := rows(functionality))
        ]
        return dataclasses.replace(self, functionalities=tuple(chosen))


def _number_repeated_cases(functionality_numbers: Sequence[int], cases: Sequence[Case]) -> Any:
    """Return the number of the cluster of each case, (C,); None if all cases are independent.

    Cases of a functionality with the same texts are one cluster: a model gives them one answer.
    """
    clusters: dict[Any, int] = {}
    codes = []
    for functionality, case in zip(functionality_numbers, cases, strict=True):
        codes.append(clusters.setdefault((functionality, case.examples), len(clusters)))
    return np.array(codes) if len(clusters) < len(cases) else None


def example_features(
    text_columns: Sequence[str], label_names: Sequence[str] | None = None
) -> datasets.Features:
    """Return the columns of a suite's examples as a dataset; labels are classes where they have names."""
    text = datasets.Value("string")
    texts = ("id", "functionality", "functionality_class", "test_type", "case_id", *text_columns)
    label = (
        datasets.Value("int64")
        if label_names is None
        else datasets.ClassLabel(names=list(label_names))
    )
    return datasets.Features({**dict.fromkeys(texts, text), "label": label, "answer": text})


def _halves(items: Any, seed: int) -> tuple[Any, Any]:
    # As in train_test_split(items, test_size=0.5), the first of the permuted items are the test part, rounded up.
    order = np.random.RandomState(seed).permutation(
        len(items)
    )  # the generator of the published split
    n_test = -(-len(items) // 2)
    return items[order[n_test:]], items[order[:n_test]]


def open_suite(
    name_or_path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    paper_labels: bool = False,
    max_cases: int | None = None,
    seed: int = 0,
) -> Suite:
    """Open a suite: a file of `Suite.write`, or a released suite of CheckList.

    Args:
        name_or_path: A .jsonl or .jsonl.gz file, or one of CheckList's released suites by name:
            checklist_sentiment, checklist_paraphrase, checklist_reading. `rightreasons suite convert` makes a file of
            another suite that CheckList has saved.
        data_dir: The folder of local copies of the catalog's sources.
        paper_labels: Whether two labels of CheckList's suites are corrected as in BeLUGA.
        max_cases: The maximum number of cases per functionality; None for all.
        seed: The seed of their choice.

    Returns:
        The suite.

    Raises:
        TypeError: If the argument is neither a name nor a path.
        FileNotFoundError: If there is no such file.
        ValueError: If the file is no suite, or there is no suite of this name.
    """
    check_kind(name_or_path, "name_or_path", str | os.PathLike)
    file = Path(name_or_path)
    known = [name for name in available_datasets() if name.startswith("checklist_")]
    if os.path.isfile(file):  # False for a name that no file can have
        suite = Suite.read(file)
    elif str(name_or_path) in known:
        # `suite` is a method of these builders alone.
        builder: Any = load_builder(str(name_or_path), data_dir=data_dir, paper_labels=paper_labels)
        suite = builder.suite()
    elif file.suffix or len(file.parts) > 1:
        raise FileNotFoundError(f"Expected a suite at {file}, but there is no such file.")
    else:
        raise make_unknown_name_error("suite", name_or_path, known)
    if max_cases is None:
        return suite
    most = check_count(max_cases, "max_cases")
    return suite.choose_cases(
        lambda each: item_rng(seed, each.name).permutation(len(each.cases))[:most]
    )
