"""A behavioral suite: functionalities, their cases and what is expected of them."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from rightreasons.core.arrays import offsets_of
from rightreasons.core.suites import SuiteTable, every_part
from rightreasons.core.validation import check_ids, check_one_of
from rightreasons.datasets.suites.cases import (
    Functionality,
    by_number,
    check_functionality,
    check_label_names,
    check_name,
)
from rightreasons.datasets.suites.formats import read_file, write_file

SPLITS = ("train", "validation", "test")

RESERVED_COLUMNS = ("id", "functionality", "functionality_class", "test_type", "case_id", "label", "answer")
"""The columns of a suite as a dataset beside its texts."""


@dataclasses.dataclass(frozen=True)
class Suite:
    """A behavioral suite.

    Args:
        name: Its name.
        text_columns: The names of the texts of an example, such as ("text",) or ("question", "context").
        functionalities: The functionalities.
        label_names: The names of the labels 0, 1, …, by which the answers of models and files are matched; None where
            the labels have none, or are texts. Where there are names, a label may be given by its name, in a case and
            in an expectation, and becomes its number.

    Raises:
        TypeError: If a name is not a text, or a label is neither a whole number nor a text.
        ValueError: If a functionality has no cases, a case has no examples (or only one where they are compared with
            the first), an example has the wrong number of texts, labels do not match examples or are out of range, or
            a label has no name.

    Example:
        >>> from rightreasons.datasets.suites.cases import Case
        >>> case = Case("0", (("Not good.",), ("Not bad.",)), labels=(0, 1))
        >>> negation = Functionality("negation", "Negation", "MFT", {"name": "equal"}, (case,))
        >>> suite = Suite("mine", ("text",), (negation,))
        >>> suite.to_dataset()["label"][:]
        [0, 1]
        >>> by_name = (Case("0", (("Not good.",), ("Not bad.",)), labels=("bad", "good")),)
        >>> suite = Suite("mine", ("text",), (dataclasses.replace(negation, cases=by_name),), ("bad", "good"))
        >>> suite.functionalities[0].cases[0].labels, suite.to_dataset().features["label"].names
        ((0, 1), ['bad', 'good'])
    """

    name: str
    text_columns: tuple[str, ...]
    functionalities: tuple[Functionality, ...]
    label_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_name(self.name, "suite")
        if not self.functionalities:
            raise ValueError(f"Expected at least one functionality in the suite {self.name!r}, but it has none.")
        if not self.text_columns:
            raise ValueError(f"Expected at least one text column in the suite {self.name!r}, but it has none.")
        for column in self.text_columns:
            check_name(column, "text column")
            if column in RESERVED_COLUMNS:
                raise ValueError(
                    f"Expected text columns other than {', '.join(RESERVED_COLUMNS)} in the suite {self.name!r}, which "
                    f"its dataset has already, but got {column!r}."
                )
        check_ids(self.text_columns, "text column")
        for functionality in self.functionalities:
            check_name(functionality.name, "functionality")
        check_ids([functionality.name for functionality in self.functionalities], "functionality")
        if self.label_names is not None:
            check_label_names(self.label_names, self.name)
            numbered = tuple(by_number(functionality, self.label_names) for functionality in self.functionalities)
            object.__setattr__(self, "functionalities", numbered)
        for functionality in self.functionalities:
            check_functionality(functionality, len(self.text_columns), self.label_names)

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
        """Read a suite from a file of `write`, or one written by hand in the form that `formats.py` describes.

        Args:
            path: JSON lines (`.jsonl`, `.jsonl.gz`).

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the file is no suite of this version; the message names the line.
        """
        return cls(*read_file(Path(path)))

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the suite as JSON lines, compressed where the name ends in .gz."""
        file = Path(path)
        write_file(file, self.name, self.text_columns, self.functionalities, self.label_names)
        return file

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
            np.arange(len(self.functionalities), dtype=np.int64), [len(f.cases) for f in self.functionalities]
        )
        offsets = offsets_of(sizes)
        for array in (owner, offsets):
            array.setflags(write=False)
        meta = [pair for case in cases for pair in (case.meta or [None] * len(case.examples))]
        return SuiteTable(
            functionalities=tuple(f.name for f in self.functionalities),
            classes=tuple(f.functionality_class for f in self.functionalities),
            test_types=tuple(f.test_type for f in self.functionalities),
            expectations=tuple(f.expectation for f in self.functionalities),
            case_ids=tuple(f"{number}-{case.id}" for number, case in zip(owner.tolist(), cases, strict=True)),
            case_functionality=owner,
            case_offsets=offsets,
            labels=tuple(label for case in cases for label in (case.labels or [None] * len(case.examples))),
            meta=tuple(meta) if any(pair is not None for pair in meta) else None,
            label_names=self.label_names,
            texts=tuple(self.texts()) if self._has_functions else None,
        )

    @property
    def _has_functions(self) -> bool:
        parts = (part for functionality in self.functionalities for part in every_part(functionality.expectation))
        return any(part["name"] == "python" for part in parts)

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
            validation, test = _halves(rest, seed)
            return {"train": train, "validation": validation, "test": test}[part]

        return self.choose_cases(rows)

    def choose_cases(self, rows: Callable[[Functionality], Any]) -> Suite:
        """Return the suite with some cases of each functionality, in their order; functionalities without any go.

        Args:
            rows: Gives the numbers of the cases to keep.
        """
        chosen = [
            dataclasses.replace(functionality, cases=tuple(functionality.cases[row] for row in np.sort(numbers)))
            for functionality in self.functionalities
            if len(numbers := rows(functionality))
        ]
        return dataclasses.replace(self, functionalities=tuple(chosen))


def example_features(text_columns: Sequence[str], label_names: Sequence[str] | None = None) -> datasets.Features:
    """Return the columns of a suite's examples as a dataset; labels are classes where they have names."""
    text = datasets.Value("string")
    texts = ("id", "functionality", "functionality_class", "test_type", "case_id", *text_columns)
    label = datasets.Value("int64") if label_names is None else datasets.ClassLabel(names=list(label_names))
    return datasets.Features({**dict.fromkeys(texts, text), "label": label, "answer": text})


def _halves(items: Any, seed: int) -> tuple[Any, Any]:
    # As in train_test_split(items, test_size=0.5), the first of the permuted items are the test part, rounded up.
    order = np.random.RandomState(seed).permutation(len(items))  # the generator of the published split
    n_test = -(-len(items) // 2)
    return items[order[n_test:]], items[order[:n_test]]
