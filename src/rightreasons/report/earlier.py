"""What an earlier audit tested, so that a later one tests it again.

Questions record what they tested under `tested` in their data. `read_earlier` collects these
records from a report, and audit.yaml carries them: the report may be gone when it is repeated.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Collection, Mapping
from typing import Any

from rightreasons.core.errors import OptionError
from rightreasons.core.sentences import format_value
from rightreasons.report.schema import read_audit

TESTED = "tested"
"""Key of the record in the data of a question."""


@dataclasses.dataclass(frozen=True)
class EarlierReport:
    """What an earlier report tested.

    Attributes:
        path: The report, as it was named.
        tested: Question -> the record of what it tested.
    """

    path: str
    tested: Mapping[str, Mapping[str, Any]]

    def to_plain(self) -> dict[str, Any]:
        """Return plain values for audit.yaml, which `read_earlier` also accepts."""
        return {"report": self.path, **self.tested}

    def check_questions(self, questions: Collection[str]) -> None:
        """Check that an audit asks a question whose tests the earlier report has recorded.

        Args:
            questions: Names of the questions of the audit.

        Raises:
            OptionError: If it asks none of these questions.
        """
        repeated = self.tested.keys() & set(questions)
        if repeated:
            return
        raise OptionError(
            f"Expected a question whose tests {self.path} recorded "
            f"({', '.join(self.tested)}), because `after` is given, but got {', '.join(questions)}.",
            option="after",
        )


def read_earlier(after: str | os.PathLike[str] | Mapping[str, Any]) -> EarlierReport:
    """Read the record of what each question of an earlier audit tested.

    Args:
        after: The folder of its report, or the result of `EarlierReport.to_plain`: a mapping from
            "report" to the path, and from each question to its record, as values or as JSON.

    Returns:
        The path of the report, and the records of its questions.

    Raises:
        FileNotFoundError: If there is no report.
        ValueError: If the report has no such record, because an earlier version wrote it.
    """
    # audit.yaml stores the mapping, so that the report itself may be gone.
    if isinstance(after, Mapping):
        record_by_question = dict(after)
        path = str(record_by_question.pop("report", ""))
        return EarlierReport(path, record_by_question)
    path = os.fspath(after)
    # On the command line, the mapping of an audit.yaml is passed as JSON.
    if path.startswith("{"):
        return read_earlier(_parse_json(path))

    tested = {}
    for answer in read_audit(path)["questions"]:
        result = answer["result"]
        # Only questions that choose words from the training texts record which ones they tested.
        if result is not None and TESTED in result["data"]:
            tested[answer["question"]] = result["data"][TESTED]
    if not tested:
        raise OptionError(
            f"Expected a report in `after` that records which words were tested, but {path} does "
            "not. Repeat its audit with this version, including the question about shortcuts.",
            option="after",
        )
    return EarlierReport(path, tested)


def _parse_json(text: str) -> dict[str, Any]:
    """Parse a value of the option `after` that is JSON, such as '{"report": "old", "shortcuts": {…}}'.

    Raises:
        OptionError: If it is invalid JSON.
    """
    try:
        values: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError as error:
        raise OptionError(
            "Expected a report in `after`, or the entry that audit.yaml has for a report, but "
            f"got {format_value(text)}.",
            option="after",
        ) from error
    return values
