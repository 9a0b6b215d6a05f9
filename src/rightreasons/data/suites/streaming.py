"""Suites beyond memory: one functionality after another, in parts of so many cases."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

from rightreasons.data.suites.cases import Case, Functionality
from rightreasons.data.suites.files import open_file
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_count

CASES = 50_000
"""Cases per part."""


@dataclasses.dataclass(frozen=True)
class SuiteStream:
    """A suite in a file, part by part; iterating over it reads the file again.

    Attributes:
        outline: The suite with a few cases of each functionality, among them those with the highest label and with a
            text for a label, so that it has the labels of the whole.
        n_cases: The number of cases of the whole.
        n_examples: The number of examples.
        path: The file.
        size: Maximum cases per part.
    """

    outline: Suite
    n_cases: int
    n_examples: int
    path: Path
    size: int

    def __len__(self) -> int:
        return self.n_examples

    def __iter__(self) -> Iterator[tuple[int, Suite]]:
        """Yield parts of at most `size` cases, each with the number of its first functionality in the whole."""
        name, columns, label_names, functionalities = open_file(self.path)
        first, room, pieces = 0, self.size, list[Functionality]()
        for number, functionality in enumerate(functionalities):
            start = 0
            while start < len(functionality.cases):
                cases = functionality.cases[start : start + room]
                first = first if pieces else number
                pieces.append(dataclasses.replace(functionality, cases=cases))
                start, room = start + len(cases), room - len(cases)
                if not room:
                    yield first, Suite(name, columns, tuple(pieces), label_names)
                    room, pieces = self.size, []
        if pieces:
            yield first, Suite(name, columns, tuple(pieces), label_names)


@checks_kinds
def stream_suite(path: str | os.PathLike[str], *, batch_size: int = CASES) -> SuiteStream:
    """Open a suite that need not fit into memory: a functionality at a time has to.

    The file is read once before, for the labels that the whole suite has.

    Args:
        path: JSON lines or parquet, as `Suite.read` takes them.
        batch_size: Maximum cases per part; default 50,000.

    Returns:
        A `SuiteStream`.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: As `Suite.read`.
    """
    file, size = Path(path).expanduser(), check_count(batch_size, "batch_size")
    name, columns, label_names, functionalities = open_file(file)
    outlines, n_cases, n_examples = list[Functionality](), 0, 0
    for functionality in functionalities:
        Suite(name, columns, (functionality,), label_names)  # says what is wrong with it
        outlines.append(dataclasses.replace(functionality, cases=_telling(functionality.cases)))
        n_cases += len(functionality.cases)
        n_examples += functionality.n_examples
    return SuiteStream(Suite(name, columns, tuple(outlines), label_names), n_cases, n_examples, file, size)


def _telling(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    """Return the first case, the one with the highest label, and one with a text for a label."""
    highest, place, text = -1, 0, 0
    for row, case in enumerate(cases):
        for label in case.labels or ():
            if isinstance(label, str):
                text = row
            elif label is not None and label > highest:
                highest, place = label, row
    return tuple(cases[row] for row in sorted({0, place, text}))
