"""What the pages of all corrections share: the conditions under which one is accepted, and how a page is written.

`Criterion` is a condition. `make_decision_figure` and `make_condition_part` show the decision and its conditions, and
`write_proof` writes the page with the audit.json that `gate` reads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.estimates import Estimate
from rightreasons.core.results import Result
from rightreasons.core.store import digest_files, format_json, write_text
from rightreasons.page.formats import percent
from rightreasons.page.parts import Cell
from rightreasons.page.question import Figure, Part, Table
from rightreasons.report.render import PAGE, Page, write_page
from rightreasons.report.schema import AUDIT_FILE, add_digest

MAX_ACCURACY_LOSS = 0.02
"""Accuracy that a correction may cost."""

MIN_ITEMS = 100
"""Smallest number of items by which a correction is judged."""

# A value that equals its bound meets the condition, in spite of rounding errors.
ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Criterion(Result):
    """A condition of the acceptance rule.

    Attributes:
        name: Key of the figure, such as "accuracy".
        value: Measured value.
        bound: Largest or smallest allowed value.
        is_met: Whether the condition is met.
    """

    name: str
    value: float
    bound: float
    is_met: bool


def require_at_least(name: str, value: float, bound: float) -> Criterion:
    """Return the condition that a value is not below a bound.

    Example:
        >>> require_at_least("accuracy", 0.81 - 0.83, -0.02).is_met
        True
    """
    return Criterion(name, value, bound, value >= bound - ROUNDING)


def require_at_most(name: str, value: float, bound: float) -> Criterion:
    """Return the condition that a value is not above a bound."""
    return Criterion(name, value, bound, value <= bound + ROUNDING)


def require_below(name: str, value: float, bound: float) -> Criterion:
    """Return the condition that a value is below a bound."""
    return Criterion(name, value, bound, value < bound)


def require_above(name: str, value: float, bound: float) -> Criterion:
    """Return the condition that a value is above a bound."""
    return Criterion(name, value, bound, value > bound)


def find_failed(criteria: Sequence[Criterion]) -> Criterion | None:
    """Return the first condition that is not met; None if all are met."""
    # A sentence explains one condition; the table lists all.
    for criterion in criteria:
        if not criterion.is_met:
            return criterion
    return None


def get_failed_name(criteria: Sequence[Criterion]) -> str:
    """Return the name of the first condition that is not met; "" if all are met."""
    failed = find_failed(criteria)
    if failed is None:
        return ""
    return failed.name


def describe_failed_condition(criteria: Sequence[Criterion], names: Mapping[str, str]) -> str:
    """Describe the first condition that is not met; "" if all are met.

    Example: "accuracy without the words, at least 80.0% (measured: 71.2%)".

    Args:
        criteria: Conditions, each with its name, bound, measured value, and whether it is met.
        names: Name of a condition in audit.json -> its name for readers, after which the bound is
            written.
    """
    failed = find_failed(criteria)
    if failed is None:
        return ""
    return f"{names[failed.name]} {percent(failed.bound)} (measured: {percent(failed.value)})"


def list_condition_rows(
    criteria: Sequence[Criterion], names: Mapping[str, str]
) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of a table of conditions: name, measured value, bound, and result.

    Args:
        criteria: Conditions, each with its name, bound, measured value, and whether it is met.
        names: Name of a condition in audit.json -> its name for readers.
    """
    for criterion in criteria:
        result = "met" if criterion.is_met else "not met"
        yield names[criterion.name], criterion.value, criterion.bound, result


def make_decision_figure(key: str, decide: Callable[[Any], bool | None], source: str) -> Figure:
    """Declare the figure of a decision: 1 for an accepted correction, otherwise 0.

    Args:
        key: Key of the figure.
        decide: Function of a measurement that returns whether the correction is accepted.
        source: Source of the acceptance rule.
    """

    def estimate(measurement: Any) -> Estimate:
        return Estimate(float(bool(decide(measurement))))

    # The decision is a number, because `gate` compares numbers.
    return Figure(
        key,
        estimate,
        source,
        unit="count",
        better="higher",
        no_interval="A decision has no interval.",
    )


def make_condition_part(
    key: str,
    list_criteria: Callable[[Any], Sequence[Criterion]],
    names: Mapping[str, str],
    figures: tuple[str, ...],
) -> Part:
    """Declare the part of a page that lists the conditions of the acceptance rule.

    Args:
        key: Key of the part, and of its table, in the prose.
        list_criteria: Function of a measurement that returns its conditions.
        names: Name of a condition in audit.json -> its name for readers.
        figures: Keys of the figures of the part.
    """

    def list_rows(measurement: Any) -> Iterator[tuple[Cell, ...]]:
        return list_condition_rows(list_criteria(measurement), names)

    return Part(key, (Table(key, list_rows, "This package"),), figures=figures)


def write_proof(folder: Path, page: Page, record: Mapping[str, Any]) -> Path:
    """Write a page and its audit.json into a folder, and return the page.

    Args:
        folder: The folder.
        page: The page.
        record: Content of audit.json, without the digests of files.
    """
    write_page(folder, page, {})
    # The digests of its files let `compare` and `gate` find a changed file.
    content = {**record, "files": digest_files(folder)}
    write_text(folder / AUDIT_FILE, format_json(add_digest(content)))
    return folder / PAGE
