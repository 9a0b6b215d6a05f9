"""The step about CheckList's released answers to its reading suite."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.behavior.rates import pass_rates
from rightreasons.datasets.builder import load_builder
from rightreasons.datasets.suites.pickled_suites import read_pickled_tests
from rightreasons.datasets.suites.suite import open_suite
from rightreasons.replicate.work import Work

SUITE = "checklist_reading"
"""CheckList's reading suite, whose release has the answers of a model of the authors."""


def score_released_answers(work: Work) -> dict[str, Any]:
    """Score the answers that CheckList released with its reading suite, test by test."""
    # The answers are scored by our own rules; the released flags are what they are compared with.
    suite = open_suite(SUITE, data_dir=work.data_dir, known_issues=False)
    released = read_released_answers(work.data_dir)
    answers = []
    for functionality in suite.functionalities:
        for case in functionality.cases:
            answers += released[functionality.name].answers[case.id]

    rows = []
    n_equal = 0
    for result in pass_rates(answers, suite.table(), outputs="texts").functionalities:
        n_failed = result.n_cases - result.n_passed
        n_released = released[result.functionality].n_failed
        n_equal += n_failed == n_released
        key = {"test": result.functionality, "type": result.test_type, "cases": result.n_cases}
        rows.append({"key": key, "figures": {"released": n_released, "ours": n_failed}})
    return {"rows": rows, "facts": {"n_equal": n_equal, "n_tests": len(rows)}}


@dataclasses.dataclass(frozen=True)
class ReleasedTest:
    """Answers of a model to one test, as CheckList released them.

    Attributes:
        answers: Answers to the examples of each case, by the id of the case in `Suite`.
        n_failed: Number of cases that the released flags call failed.
    """

    answers: Mapping[str, list[str]]
    n_failed: int


def read_released_answers(
    data_dir: str | os.PathLike[str] | None = None,
) -> dict[str, ReleasedTest]:
    """Read the answers that were released with CheckList's reading suite.

    Args:
        data_dir: Folder with local copies of the data sets. If None, the release is downloaded.

    Returns:
        The answers by the name of the test.
    """
    # `release` is a method of the builders of suites alone.
    builder: Any = load_builder(SUITE, data_dir=data_dir, known_issues=False)
    released = {}
    for test in read_pickled_tests(builder.release()):
        results = test.get("results")
        n_failed = len(results["passed"]) - sum(results["passed"])
        released[test.name] = ReleasedTest(_list_answers(results["preds"]), n_failed)
    return released


def _list_answers(predictions: Sequence[Any]) -> dict[str, list[str]]:
    """Return the answers to each case of a test by the id of the case."""
    answers = {}
    # Cases are numbered in their order, as the ids of `Suite` are.
    for number, row in enumerate(predictions):
        # A test whose cases have one example has its answers in a flat list.
        if isinstance(row, str):
            row = [row]
        answers[str(number)] = list(row)
    return answers
