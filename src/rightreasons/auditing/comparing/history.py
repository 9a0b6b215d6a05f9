"""Reports side by side: the figures of all questions over models or checkpoints, and which is better at what."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rightreasons.auditing.comparing.items import n_shared
from rightreasons.auditing.figures import AuditFigure, audit_figures
from rightreasons.auditing.page.words import short_name
from rightreasons.auditing.schema import AUDIT_FILE, read_audit
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.estimates import Estimate

Better = Literal["first", "last", "open", ""]


@dataclasses.dataclass(frozen=True)
class FigureHistory(Result):
    """One figure over several reports.

    Attributes:
        path: Its path, as of a gate.
        question: The question that it answers.
        name: Its name for readers.
        unit: "fraction", "nats", "ratio" or "count".
        estimates: Its value and interval in each report; None where a report lacks it.
        change: The last minus the first, with an interval; None where one of the two or an interval is missing.
        better: Which of the two is better: "first", "last", "open" where the interval of the change holds 0 or there is
            none, "" where neither direction is better.
    """

    path: str
    question: str
    name: str
    unit: str
    estimates: tuple[Estimate | None, ...]
    change: Estimate | None
    better: Better


@dataclasses.dataclass(frozen=True)
class History(Result):
    """Several reports side by side.

    Attributes:
        models: The model of each report.
        dataset: The data of the first; where each report is of its own file of answers, they share items.
        figures: Every figure that at least two of the reports have.
    """

    models: tuple[str, ...]
    dataset: str
    figures: tuple[FigureHistory, ...]

    def better_at(self, which: Literal["first", "last"]) -> list[FigureHistory]:
        """Return the figures at which the first, or the last, report is better beyond the intervals."""
        return [figure for figure in self.figures if figure.better == which]


@checks_kinds
def history(reports: Sequence[str | os.PathLike[str]]) -> History:
    """Put the figures of all questions of several reports side by side, in the given order.

    The change from the first to the last report has an interval from the intervals of the two (Zou & Donner 2008): with
    figures a and b, l and u the ends of their intervals, and d = b − a, it reaches from
    d − √((b − l_b)² + (u_a − a)²) to d + √((u_b − b)² + (a − l_a)²). The two are taken as independent. Where they are
    about the same items, they rise and fall together as a rule, and the interval is then too wide; `compare` pairs the
    items for the figures of calibration.

    Args:
        reports: At least two folders of reports, such as those of checkpoints in the order of training.

    Returns:
        The models and the figures.

    Raises:
        ValueError: If there are fewer than two reports, or their data, splits or tasks differ.
        FileNotFoundError: If one is not a report.
    """
    return history_of(reports, read_reports(reports))


def read_reports(reports: Sequence[str | os.PathLike[str]]) -> list[dict[str, Any]]:
    """Read the audits of at least two reports."""
    if len(reports) < 2:
        raise ValueError(f"Expected at least two reports, but got {len(reports)}.")
    return [read_audit(report) for report in reports]


def history_of(reports: Sequence[str | os.PathLike[str]], audits: Sequence[dict[str, Any]]) -> History:
    """Put the figures of reports side by side whose audits have been read; see `history`."""
    for report, audit in zip(reports, audits, strict=True):
        for what, one, first in (
            ("split", audit["dataset"]["primary"], audits[0]["dataset"]["primary"]),
            ("task", audit["model"]["task"], audits[0]["model"]["task"]),
        ):
            if one != first:
                raise ValueError(f"Expected reports of the same {what}, {first}, but {os.fspath(report)} is of {one}.")
        # Stored answers are named by their file, and each model has its own.
        one, first = audit["dataset"]["name"], audits[0]["dataset"]["name"]
        if one != first and not n_shared([report_folder(reports[0]), report_folder(report)], [audits[0], audit]):
            raise ValueError(
                f"Expected reports of the same data, {first}, but {os.fspath(report)} is of {one}, and they share no "
                "item."
            )
    tables = [audit_figures(audit) for audit in audits]
    paths = dict.fromkeys(path for table in tables for path in table)
    shared = [path for path in paths if sum(path in table for table in tables) > 1]
    return History(
        models=_names(audits, reports),
        dataset=short_name(audits[0]["dataset"]["name"]),
        figures=tuple(_over(path, [table.get(path) for table in tables]) for path in shared),
    )


def change_of(first: Estimate, last: Estimate) -> Estimate | None:
    """Return last minus first with an interval from those of the two; None where there is no value or interval.

    Example:
        >>> change = change_of(Estimate(0.5, 0.4, 0.6), Estimate(0.9, 0.87, 0.92))
        >>> [round(each, 4) for each in (change.value, change.low, change.high)]
        [0.4, 0.2956, 0.502]
    """
    ends = (first.value, first.low, first.high, last.value, last.low, last.high)
    if any(end is None for end in ends) or first.level != last.level:
        return None
    a, low_a, high_a, b, low_b, high_b = (float(end) for end in ends if end is not None)
    below, above = math.hypot(b - low_b, high_a - a), math.hypot(high_b - b, a - low_a)
    # An interval that corrects for bias may lie to one side of its figure.
    return Estimate(
        b - a, b - a - below, b - a + above, first.level, "from the intervals of the two (Zou & Donner 2008)"
    )


def report_folder(report: str | os.PathLike[str]) -> Path:
    """Return the folder of a report, which may be named by its audit.json."""
    path = Path(report)
    return path.parent if path.name == AUDIT_FILE else path


def _names(audits: Sequence[Mapping[str, Any]], reports: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Name the models; those of one name by their reports too."""
    names = [short_name(audit["model"]["name"]) for audit in audits]
    told = [f"{name} ({os.fspath(report)})" for name, report in zip(names, reports, strict=True)]
    return tuple(names if len(set(names)) == len(names) else told)


def _over(path: str, figures: Sequence[AuditFigure | None]) -> FigureHistory:
    known = next(figure for figure in figures if figure is not None)
    first, last = figures[0], figures[-1]
    change = None if first is None or last is None else change_of(first.estimate, last.estimate)
    return FigureHistory(
        path=path,
        question=known.question,
        name=known.name,
        unit=known.unit,
        estimates=tuple(None if figure is None else figure.estimate for figure in figures),
        change=change,
        better=_better(known.better, change),
    )


def _better(direction: str | None, change: Estimate | None) -> Better:
    if direction is None:
        return ""
    if change is None or change.low is None or change.high is None or change.low <= 0 <= change.high:
        return "open"
    return "last" if (change.low > 0) == (direction == "higher") else "first"
