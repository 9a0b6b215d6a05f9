"""The figures of an audit by a path, such as `calibration.ece`: what a gate checks and a model card lists."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterator, Mapping
from typing import Any

from rightreasons.auditing.page.words import badness, written
from rightreasons.auditing.schema import check_audit
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds, counted
from rightreasons.measuring.estimates import Estimate

ENDS = ("value", "low", "high", "n")
"""What may follow the path of a figure; alone it is the value."""


@dataclasses.dataclass(frozen=True)
class AuditFigure(Result):
    """A figure of an audit.

    Attributes:
        path: The question and the figure, as in `calibration.ece`; of another split, `calibration.test_flipped.ece`.
        question: The question that it answers.
        key: The figure in audit.json.
        name: Its name for readers.
        estimate: The figure and its interval.
        unit: "fraction" (0 to 1), "nats", "ratio" or "count".
        better: "higher", "lower" or None.
        split: The split on which it was computed.
        n: Number of items; None where the audit does not say.
    """

    path: str
    question: str
    key: str
    name: str
    estimate: Estimate
    unit: str
    better: str | None
    split: str
    n: int | None

    @property
    def in_words(self) -> str:
        """The figure, its interval, and on what it was computed."""
        items = "" if self.n is None else f" on {counted(self.n, 'item')}"
        return f"{written(self.estimate, self.unit)}{items}{f' of {self.split}' if self.split else ''}"


@checks_kinds
def audit_figures(audit: Mapping[str, Any]) -> dict[str, AuditFigure]:
    """Return the figures of an audit by their paths, in the order of the report.

    A path is the question and the key of the figure in audit.json, without the word "shortcut" where the question says
    it: `shortcuts.causal_rate`. A figure of another split has the split in the middle.

    Args:
        audit: What `read_audit` returns.

    Returns:
        Path -> figure.
    """
    check_audit(audit)
    figures: dict[str, AuditFigure] = {}
    for answer in audit["questions"]:
        if answer["result"] is None:
            continue
        for path, figure in _figures(answer["question"], answer["result"]):
            figures.setdefault(path, figure)
    return figures


def figures_table(audit: Mapping[str, Any]) -> str:
    """Write the figures of an audit as a table for a spreadsheet: a row per figure, with the path that `gate` takes.

    Args:
        audit: What `read_audit` returns.

    Returns:
        Comma-separated values, the first row with the names of the columns.
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("figure", "name", "value", "low", "high", "level", "unit", "better", "split", "n"))
    for figure in audit_figures(audit).values():
        it = figure.estimate
        cells = (figure.path, figure.name, it.value, it.low, it.high, it.level)
        writer.writerow((*cells, figure.unit, figure.better, figure.split, figure.n))
    return stream.getvalue()


def answers_worst_first(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the questions of an audit that were answered, in the order of the report, `first_screen.worst_first`."""
    answers = [answer for answer in audit["questions"] if answer["result"] is not None]

    def key(answer: Mapping[str, Any]) -> tuple[int, float]:
        result = answer["result"]
        return badness(result["verdict"]["tone"], (result.get("finding") or {}).get("size", 0.0))

    return sorted(answers, key=key)


def short_path(path: str) -> str:
    """Return a path without the word "shortcut" in the key, so that the keys of audit.json may be typed too.

    Example:
        >>> short_path("shortcuts.causal_shortcut_rate.low"), short_path("shortcuts.shortcut_rate")
        ('shortcuts.causal_rate.low', 'shortcuts.rate')
    """
    question, dot, rest = path.partition(".")
    return question + dot + (rest.replace("shortcut_", "") if question == "shortcuts" else rest)


def _figures(question: str, result: Mapping[str, Any]) -> Iterator[tuple[str, AuditFigure]]:
    texts = {}
    for headline in _headlines(result):
        path = short_path(f"{question}.{headline['key']}")
        texts[headline["key"]] = headline
        yield path, _figure(path, question, headline, headline["estimate"], headline["split"], headline["n"])
    for split, estimates in (result["data"].get("splits") or {}).items():
        for key, estimate in estimates.items():
            if key in texts and isinstance(estimate, dict) and "value" in estimate and split != texts[key]["split"]:
                path = short_path(f"{question}.{'_'.join(split.split())}.{key}")
                yield path, _figure(path, question, texts[key], estimate, split, None)


def _headlines(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from result["headlines"]
    for part in result["parts"]:
        yield from part["headlines"]
    figures = result["data"].get("figures")
    for figure in figures.values() if isinstance(figures, dict) else ():
        if isinstance(figure, dict) and {"key", "estimate", "unit"} <= figure.keys():
            yield figure


def _figure(
    path: str, question: str, text: Mapping[str, Any], estimate: Mapping[str, Any], split: str, n: int | None
) -> AuditFigure:
    found = Estimate(**estimate)
    return AuditFigure(path, question, text["key"], text["name"], found, text["unit"], text["better"], split, n)
