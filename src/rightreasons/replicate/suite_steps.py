"""The step about CheckList's released answers to its reading suite."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from rightreasons.behavior.rates import pass_rates
from rightreasons.core.errors import OptionError
from rightreasons.datasets.suites.suite import open_suite
from rightreasons.replicate.work import Work

RELEASED = "checklist/suites/squad_suite.jsonl.gz"
"""CheckList's reading suite with the answers of the authors' model, below the folder of the data."""


def score_released_answers(work: Work) -> dict[str, Any]:
    """Score the answers that CheckList released with its reading suite, test by test."""
    file = Path(work.data_dir or "") / RELEASED
    if not file.is_file():
        raise OptionError(
            f"Expected CheckList's released suite at {RELEASED} in `data_dir`, but there is none.",
            option="data_dir",
        )
    # The answers are scored by our own rules; the released flags are what they are compared with.
    suite = open_suite("checklist_reading", data_dir=work.data_dir, known_issues=False)
    released = _read_released(file)
    answers = []
    for functionality in suite.functionalities:
        for case in functionality.cases:
            answers += released[functionality.name]["answers"][case.id]

    rows = []
    n_equal = 0
    for result in pass_rates(answers, suite.table(), outputs="texts").functionalities:
        passed = released[result.functionality]["passed"]
        n_failed = result.n_cases - result.n_passed
        n_released = len(passed) - sum(passed)
        n_equal += n_failed == n_released
        key = {"test": result.functionality, "type": result.test_type, "cases": result.n_cases}
        rows.append({"key": key, "figures": {"released": n_released, "ours": n_failed}})
    return {"rows": rows, "facts": {"n_equal": n_equal, "n_tests": len(rows)}}


def _read_released(file: Path) -> dict[str, dict[str, Any]]:
    """Return the released answers and flags of each test by its name."""
    released = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            test = json.loads(line)
            released[test["name"]] = {
                "answers": _list_answers(test),
                "passed": test["results"]["passed"],
            }
    return released


def _list_answers(test: dict[str, Any]) -> dict[str, list[str]]:
    """Return the answers to each case of a test by the id of the case."""
    answers = {}
    # Cases are numbered in their order, as the ids of `Suite` are.
    for number, predictions in enumerate(test["results"]["preds"]):
        # A test whose cases have one example has its answers in a flat list.
        if isinstance(predictions, str):
            predictions = [predictions]
        answers[str(number)] = list(predictions)
    return answers
