"""A behavioral suite, with its functionalities, cases and expectations; and files of suites.

A suite is JSON lines (`.jsonl`, `.jsonl.gz`). The first line is a header:

    {"format": "rightreasons.suite", "version": 1, "name": "mine", "text_columns": ["text"],
     "label_names": ["negative", "positive"]}

and every other line is one functionality:

    {"functionality": "negation", "functionality_class": "Negation", "test_type": "MFT",
     "expectation": {"name": "equal"},
     "cases": [{"examples": ["This is not good."], "labels": [0]}, …]}

An example is a text, or a list of texts if there are several columns. `labels` holds one expected
answer per example. A case may have an `id` (by default its number) and `meta`, one (old, new)
replacement or null per example. `label_names` names the labels 0, 1, …. `excluded` has the positions
of cases that known issues left out, so that a published split stays that of the whole suite.
"""

from __future__ import annotations

import dataclasses
import functools
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from rightreasons.core.arrays import compute_offsets
from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.json_files import parse_json
from rightreasons.core.labels.names import check_label_names, fold_name
from rightreasons.core.options import check_options
from rightreasons.core.resampling import item_rng
from rightreasons.core.store import format_json_lines, write_bytes
from rightreasons.core.suites import SuiteTable
from rightreasons.core.validation import check_count, check_ids, check_kind, check_one_of
from rightreasons.datasets.builder import available_datasets, load_builder
from rightreasons.datasets.issues.correcting import IssueCount
from rightreasons.datasets.issues.table import Issue, KnownIssues, select_issues
from rightreasons.datasets.suites.cases import Case as Case
from rightreasons.datasets.suites.cases import Functionality as Functionality
from rightreasons.datasets.suites.checking import check_functionality, check_name
from rightreasons.datasets.suites.correcting import correct_functionality, describe_changes

FORMAT = "rightreasons.suite"
VERSION = 1

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
"""Columns of a suite as a dataset, next to its texts."""

_HEADER_FIELDS = ("format", "version", "name", "text_columns", "label_names")


# ----------------------------------------------------------------------------------------- files


_READER = TypeAdapter(Functionality)


def _read_json_lines(file: Path) -> Iterator[tuple[str, Any]]:
    """Parse the lines of a JSON-lines file that are not blank.

    Args:
        file: The file, compressed if its name ends in .gz.

    Yields:
        Location of the line for error messages, such as "line 2 of suite.jsonl", and its value.

    Raises:
        ValueError: If the file is not encoded in UTF-8, or a line is not valid JSON.
    """
    try:
        open_text: Any = gzip.open if file.suffix == ".gz" else open
        # The encoding utf-8-sig skips the byte order mark that some editors write.
        with open_text(file, "rt", encoding="utf-8-sig") as stream:
            lines = stream.readlines()
    except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile):
        kind = "compressed text" if file.suffix == ".gz" else "text"
        raise ValueError(
            f"Expected {kind} in UTF-8 in {file}, but some bytes are invalid. Convert a suite "
            "saved by CheckList with `rightreasons suite convert`."
        ) from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield f"line {number} of {file}", parse_json(line, str(file), line=number)


def _parse_header(header: Any, file: Path) -> tuple[str, tuple[str, ...], Any]:
    """Check the first line of a suite file, and return the name, the text columns and the label names.

    Args:
        header: Value of the line: {"format": …, "version": 1, "name": …, "text_columns": […],
            "label_names": […]}; only the first two are required.
        file: The file, for error messages. Its name is the default name of the suite.

    Returns:
        The three values. Label names are None if the header does not have them; they are checked by
        `Suite`.

    Raises:
        ValueError: If the line is not a header of this version, or a key is unknown.
    """
    # The version is compared as a string, because True and 1.0 are equal to 1.
    is_suite = (
        isinstance(header, dict)
        and header.get("format") == FORMAT
        and repr(header.get("version")) == repr(VERSION)
    )
    if not is_suite:
        raise ValueError(
            f'Expected the first line of {file} to say "format": "{FORMAT}", "version": {VERSION}, '
            "but it does not."
        )
    check_options(header, _HEADER_FIELDS, f"the first line of {file}")
    # By default, an example has one text.
    columns = header.get("text_columns", ["text"])
    if not isinstance(columns, list):
        raise ValueError(
            f"Expected `text_columns` of {file} to be a list of names, but got {columns!r}."
        )
    return header.get("name", file.stem), tuple(columns), header.get("label_names")


def _parse_functionality(row: Any, location: str) -> Functionality:
    """Check a line of a suite file, and convert it to a functionality.

    Args:
        row: Value of the line, such as {"functionality": …, "functionality_class": …, "test_type":
            "MFT", "expectation": {"name": "equal"}, "cases": […]}.
        location: Description of the line, for the error message.

    Raises:
        ValueError: If the line is not a functionality; the message names the invalid entry.
    """
    invalid_entry = "cases"
    try:
        # The default id of a case is its number.
        cases = [{"id": str(number), **case} for number, case in enumerate(row["cases"])]
        fields: dict[str, Any] = {}
        for key, value in row.items():
            # The field `name` has the key "functionality" in a file.
            field = "name" if key == "functionality" else key
            fields[field] = value
        fields["cases"] = cases
        return _READER.validate_python(fields)
    except ValidationError as error:
        keys = list(map(str, error.errors()[-1]["loc"]))
        if keys[0] == "name":
            keys[0] = "functionality"
        invalid_entry = ".".join(keys)
    except (LookupError, TypeError, AttributeError):
        # The line is not a mapping, or has no list of cases.
        pass
    raise ValueError(
        f"Expected a functionality in {location}, but {invalid_entry!r} is missing, invalid or "
        "unknown."
    )


def _make_row(functionality: Functionality) -> dict[str, Any]:
    """Return a functionality as a line of a suite file, from which `_parse_functionality` makes it.

    Args:
        functionality: The functionality.
    """
    row: dict[str, Any] = {
        "functionality": functionality.name,
        "functionality_class": functionality.functionality_class,
        "test_type": functionality.test_type,
        "expectation": dict(functionality.expectation),
        "cases": [_make_case_row(case) for case in functionality.cases],
    }
    # Cases are excluded only from suites whose known issues were corrected.
    if functionality.excluded:
        row["excluded"] = list(functionality.excluded)
    return row


def _make_case_row(case: Case) -> dict[str, Any]:
    """Return a case as an entry of a suite file.

    It is such as `{"id": "0", "examples": ["Not good."], "labels": [0]}`, or, with several texts per
    example, `{"id": "0", "examples": [["Is it?", "Is it so?"]]}`.

    Args:
        case: The case. A single text is written without a list.
    """
    examples: list[Any] = []
    for texts in case.examples:
        is_single = len(texts) == 1
        examples.append(texts[0] if is_single else texts)
    row: dict[str, Any] = {"id": case.id, "examples": examples}
    if case.labels is not None:
        row["labels"] = case.labels
    if case.meta is not None:
        row["meta"] = case.meta
    return row


# ----------------------------------------------------------------------------------------- suite


@dataclasses.dataclass(frozen=True)
class Suite:
    """A behavioral suite.

    Args:
        name: Name of the suite.
        text_columns: The names of the texts of an example, such as ("text",) or ("question",
            "context").
        functionalities: The functionalities.
        label_names: The names of the labels 0, 1, …, by which the answers of models and files are
            matched. None if the labels have none, or are texts.
        changes: What known issues changed in the released suite; empty for other suites.

    Raises:
        TypeError: If a name is not a text, or a label is neither a whole number nor a text.
        ValueError: If a functionality has no cases, a case has no examples (or only one if they are
            compared with the first), an example has the wrong number of texts, labels do not match
            examples or are out of range, or a label has no name.

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
    changes: tuple[IssueCount, ...] = dataclasses.field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Check the names, the labels and every functionality.

        Raises:
            TypeError, ValueError: As the docstring of the class describes.
        """
        check_name(self.name, "suite")
        if not self.functionalities or not self.text_columns:
            raise ValueError(
                f"Expected a functionality and a text column in the suite {self.name!r}, "
                "but got none."
            )
        for column in self.text_columns:
            check_name(column, "text column")
            if column in RESERVED_COLUMNS:
                raise ValueError(
                    f"Expected text columns other than {', '.join(RESERVED_COLUMNS)} in the suite "
                    f"{self.name!r}, which its dataset has already, but got {column!r}."
                )
        check_ids(self.text_columns, "text column")
        if self.label_names is not None:
            names = self._parse_label_names(self.label_names)
            # The fields of a frozen dataclass cannot be assigned directly.
            object.__setattr__(self, "label_names", names)
        for functionality in self.functionalities:
            check_functionality(functionality, len(self.text_columns), self.label_names)
        check_ids([functionality.name for functionality in self.functionalities], "functionality")

    def _parse_label_names(self, label_names: Sequence[str]) -> tuple[str, ...]:
        """Check the names of the labels, and return them as a tuple.

        Args:
            label_names: Names of the labels 0, 1, ….

        Raises:
            ValueError: If there are fewer than two names, or two names differ only in case or spaces.
        """
        names = check_label_names(label_names)
        folded_names = {fold_name(name) for name in names}
        if len(names) < 2 or len(folded_names) < len(names):
            raise ValueError(
                f"Expected two or more different names of labels in the suite {self.name!r}, "
                f"but got {', '.join(names)}."
            )
        return names

    @property
    def n_examples(self) -> int:
        """Number of examples."""
        return sum(functionality.n_examples for functionality in self.functionalities)

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return sum(len(functionality.cases) for functionality in self.functionalities)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Suite:
        """Read a suite from a file that `write` or a user has written.

        Args:
            path: JSON lines (`.jsonl`, `.jsonl.gz`), in the form that the docstring of the module describes.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file is not a suite of this version. The message names the line.
        """
        file = Path(path)
        if not file.is_file():
            raise FileNotFoundError(f"Expected a suite at {file}, but there is no such file.")
        rows = _read_json_lines(file)
        # The first line is the header. For an empty file, it is None, and `_parse_header` raises an error.
        _, header = next(rows, ("", None))
        name, columns, label_names = _parse_header(header, file)
        functionalities = []
        for location, row in rows:
            functionalities.append(_parse_functionality(row, location))
        return cls(name, columns, tuple(functionalities), label_names)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the suite as JSON lines, compressed if the name ends in .gz.

        Args:
            path: File to write, with the ending .jsonl or .jsonl.gz.
        """
        file = Path(path)
        header = {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "text_columns": list(self.text_columns),
        }
        if self.label_names is not None:
            header["label_names"] = list(self.label_names)
        content = format_json_lines((header, *map(_make_row, self.functionalities))).encode()
        if file.suffix == ".gz":
            # Do not store the time, so that the same suite gives the same bytes.
            content = gzip.compress(content, mtime=0)
        return write_bytes(file, content)

    def cases(self) -> list[Case]:
        """Return all cases, in the suite's order."""
        cases: list[Case] = []
        for functionality in self.functionalities:
            cases.extend(functionality.cases)
        return cases

    def texts(self) -> list[tuple[str, ...]]:
        """Return the texts of every example, in the suite's order."""
        texts: list[tuple[str, ...]] = []
        for case in self.cases():
            texts.extend(case.examples)
        return texts

    def examples(self) -> Iterator[dict[str, Any]]:
        """Yield one row per example, in the suite's order.

        Yields:
            Column -> value: the text columns, id, case_id, functionality, functionality_class, test_type,
            label (-1 unless the label is a number) and answer ("" unless the label is a string).
        """
        for number, functionality in enumerate(self.functionalities):
            for case in functionality.cases:
                labels = case.labels or [None] * len(case.examples)
                for index, (texts, label) in enumerate(zip(case.examples, labels, strict=True)):
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
        """Turn the suite into a dataset with one row per example.

        For an example without a label, `label` is -1 and `answer` is "".
        """
        return datasets.Dataset.from_list(
            list(self.examples()),
            features=make_example_features(self.text_columns, self.label_names),
        )

    def table(self) -> SuiteTable:
        """Return the table against which predictions in the suite's order are scored."""
        return self._table

    @functools.cached_property
    def _table(self) -> SuiteTable:
        """The result of `table`, which is computed once."""
        cases = self.cases()
        names = []
        classes = []
        test_types = []
        expectations = []
        n_cases = []
        for functionality in self.functionalities:
            names.append(functionality.name)
            classes.append(functionality.functionality_class)
            test_types.append(functionality.test_type)
            expectations.append(functionality.expectation)
            n_cases.append(len(functionality.cases))
        # (C,) index of the functionality of each case.
        functionality_of_case = np.repeat(np.arange(len(self.functionalities)), n_cases)
        case_ids = []
        labels: list[Any] = []
        meta: list[Any] = []
        for number, case in zip(functionality_of_case.tolist(), cases, strict=True):
            case_ids.append(f"{number}-{case.id}")
            # Labels and replacements have one entry per example.
            labels.extend(case.labels or [None] * len(case.examples))
            meta.extend(case.meta or [None] * len(case.examples))
        # Scoring is faster without a column of replacements.
        has_meta = any(pair is not None for pair in meta)
        return SuiteTable(
            functionalities=tuple(names),
            classes=tuple(classes),
            test_types=tuple(test_types),
            expectations=tuple(expectations),
            case_ids=tuple(case_ids),
            case_functionality=functionality_of_case,
            case_offsets=compute_offsets([len(case.examples) for case in cases]),
            labels=tuple(labels),
            meta=tuple(meta) if has_meta else None,
            label_names=self.label_names,
            case_clusters=_number_repeated_cases(functionality_of_case.tolist(), cases),
        )

    def split(self, part: str, *, seed: int = 123) -> Suite:
        """Return one part of BeLUGA's split: a half for training and a quarter for each other part.

        Every functionality is split as by scikit-learn's `train_test_split` with
        `random_state=seed`, first into halves, then the second half again. Functionalities without
        a case in this part are left out. The split is drawn over all released cases, including those
        that known issues have dropped, so that each case is in its published part.

        Args:
            part: "train", "validation" or "test".
            seed: Seed of the split; default 123, the seed of the published split.

        References:
            Luz de Araujo and Roth (2023), "Cross-functional Analysis of Generalization in Behavioral
            Learning", TACL.
        """
        check_one_of(part, SPLITS, "part")

        def select_rows(functionality: Functionality) -> NDArray[np.int64]:
            """Return the indices of the cases of a functionality that are in the part."""
            # The split is drawn over the released cases, including dropped ones.
            n_released = len(functionality.cases) + len(functionality.excluded)
            train, held_out = _split_halves(np.arange(n_released), seed)
            validation, test = _split_halves(held_out, seed)
            selection = {"train": train, "validation": validation, "test": test}[part]
            return np.flatnonzero(np.isin(functionality.released_positions, selection))

        return self.choose_cases(select_rows)

    def correct(self, issues: Sequence[Issue], *, is_published: bool = False) -> Suite:
        """Return the suite with known issues corrected. Its field `changes` counts the corrections.

        Args:
            issues: Entries of a table. An entry is ignored if its `test` is not a functionality of the
                suite.
            is_published: Whether this is the released suite, for which an entry states the exact number
                of cases.

        Raises:
            ValueError: If an entry finds another number of cases than it states.
        """
        functionalities = []
        changes = list(self.changes)
        for functionality in self.functionalities:
            own_issues = [issue for issue in issues if issue.test == functionality.name]
            corrected, counts = correct_functionality(
                functionality, own_issues, is_published=is_published
            )
            functionalities.append(corrected)
            changes.extend(counts)
        return dataclasses.replace(
            self, functionalities=tuple(functionalities), changes=tuple(changes)
        )

    def describe_corrections(self) -> str:
        """Describe the corrections of known issues in the suite, in one sentence; "" if there are none."""
        return describe_changes(self.name, self.changes)

    def choose_cases(self, rows: Callable[[Functionality], Any]) -> Suite:
        """Return the suite with a selection of the cases of each functionality, in their order.

        Args:
            rows: Function from a functionality to the indices of the cases to keep, in any order. If there
                are none, the functionality is left out.
        """
        functionalities = []
        for functionality in self.functionalities:
            indices = rows(functionality)
            if len(indices) == 0:
                continue
            cases = tuple(functionality.cases[index] for index in np.sort(indices))
            # `excluded` has positions among all released cases, which are not those of a selection.
            functionalities.append(dataclasses.replace(functionality, cases=cases, excluded=()))
        return dataclasses.replace(self, functionalities=tuple(functionalities))


def _number_repeated_cases(
    functionality_numbers: Sequence[int], cases: Sequence[Case]
) -> NDArray[np.int64] | None:
    """Number the clusters of cases with the same texts.

    A model gives the same answer to all cases of a cluster, so that they are not independent.

    Args:
        functionality_numbers: C indices: the functionality of each case.
        cases: C cases. Only cases of one functionality form a cluster.

    Returns:
        (C,) number of the cluster of each case; None if no case is repeated.
    """
    cluster_by_texts: dict[Any, int] = {}
    clusters = []
    for number, case in zip(functionality_numbers, cases, strict=True):
        # New texts get the next number.
        key = (number, case.examples)
        clusters.append(cluster_by_texts.setdefault(key, len(cluster_by_texts)))
    has_repetitions = len(cluster_by_texts) < len(cases)
    return np.array(clusters) if has_repetitions else None


def make_example_features(
    text_columns: Sequence[str], label_names: Sequence[str] | None = None
) -> datasets.Features:
    """Return the columns of the rows of `Suite.examples`.

    Args:
        text_columns: Names of the texts of an example.
        label_names: Names of the labels; None if the labels have no names.
    """
    text = datasets.Value("string")
    columns = ("id", "functionality", "functionality_class", "test_type", "case_id", *text_columns)
    label: Any = datasets.Value("int64")
    if label_names is not None:
        label = datasets.ClassLabel(names=list(label_names))
    return datasets.Features({**dict.fromkeys(columns, text), "label": label, "answer": text})


def _split_halves(
    items: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the two halves of `train_test_split(items, test_size=0.5, random_state=seed)`.

    Args:
        items: (N,) items.
        seed: Seed of numpy's legacy generator, with which the published split was drawn.

    Returns:
        The first half, rounded down, and the second half, rounded up.
    """
    order = np.random.RandomState(seed).permutation(len(items))
    # scikit-learn takes the test part from the beginning of the permutation.
    n_test = (len(items) + 1) // 2
    return items[order[n_test:]], items[order[:n_test]]


def open_suite(
    name_or_path: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    known_issues: KnownIssues = True,
    paper_labels: bool | None = None,
    max_cases: int | None = None,
    seed: int = 0,
) -> Suite:
    """Open a suite: a file of `Suite.write`, or a released suite of CheckList.

    Known issues of the released suites are corrected by default: wrong labels, a rule that is
    stricter than its authors described, cases that contradict themselves, and cases that cannot fail.
    `changes` of the suite counts the corrections.

    Args:
        name_or_path: A .jsonl or .jsonl.gz file, or one of CheckList's released suites by name:
            checklist_sentiment, checklist_paraphrase, checklist_reading. `rightreasons suite
            convert` makes a file of another suite that CheckList has saved.
        data_dir: The folder of local copies of the catalog's sources; not used for a file.
        known_issues: True corrects the known issues of a released suite, False opens it as released,
            and a file adds a user's own table.
        paper_labels: Whether two labels are corrected as in BeLUGA. None (default) to decide by
            `known_issues`. True with `known_issues=False` gives the suites of that paper. For a file,
            False ignores the entries of a user's own table that name a paper.
        max_cases: Maximum number of cases per functionality, drawn at random; None for all.
        seed: Seed of the draw.

    Returns:
        The suite.

    Raises:
        TypeError: If the argument is neither a name nor a path.
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not a suite, or there is no suite of this name.
    """
    check_kind(name_or_path, "name_or_path", str | os.PathLike)
    file = Path(name_or_path)
    known_names = [name for name in available_datasets() if name.startswith("checklist_")]
    # Unlike `Path.is_file`, `os.path.isfile` raises no error for a name that is too long for a file.
    if os.path.isfile(file):
        issues = select_issues(known_issues)
        if paper_labels is False:
            issues = tuple(issue for issue in issues if not issue.paper)
        suite = Suite.read(file).correct(issues)
    elif str(name_or_path) in known_names:
        # The type is Any, because only the builders of suites have the method `suite`.
        builder: Any = load_builder(
            str(name_or_path),
            data_dir=data_dir,
            known_issues=known_issues,
            paper_labels=paper_labels,
        )
        suite = builder.suite()
    elif file.suffix or len(file.parts) > 1:
        raise FileNotFoundError(f"Expected a suite at {file}, but there is no such file.")
    else:
        raise make_unknown_name_error("suite", name_or_path, known_names)
    if max_cases is None:
        return suite
    # Cases are drawn after the correction, so that no drawn case is dropped.
    n_max = check_count(max_cases, "max_cases")

    def draw_cases(functionality: Functionality) -> Any:
        """Return the indices of at most `n_max` cases, drawn at random."""
        # The name is part of the seed, so that the draw does not depend on other functionalities.
        rng = item_rng(seed, functionality.name)
        return rng.permutation(len(functionality.cases))[:n_max]

    return suite.choose_cases(draw_cases)
