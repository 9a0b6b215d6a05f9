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
    """Compare the failures that CheckList released with its reading suite with our scores of its answers.

    Args:
        work: The step, with the folder of local copies of the data sets (`data_dir`).

    Returns:
        `rows`: number of failed cases of each test, as released and by our expectations; and `facts`: the
        number of tests with equal numbers, and the number of all tests.
    """
    suite = open_suite(SUITE, data_dir=work.data_dir, known_issues=False)
    test_by_name = read_released_answers(work.data_dir)
    answers = []
    for functionality in suite.functionalities:
        for case in functionality.cases:
            answers += test_by_name[functionality.name].answers[case.id]

    # Count the failed cases by our expectations, and by the released outcomes.
    rows = []
    n_equal = 0
    for result in pass_rates(answers, suite.table(), outputs="texts").functionalities:
        n_failed = result.n_cases - result.n_passed
        n_released = test_by_name[result.functionality].n_failed
        n_equal += n_failed == n_released
        key = {"test": result.functionality, "type": result.test_type, "cases": result.n_cases}
        rows.append({"key": key, "figures": {"released": n_released, "ours": n_failed}})
    return {"rows": rows, "facts": {"n_equal": n_equal, "n_tests": len(rows)}}


@dataclasses.dataclass(frozen=True)
class ReleasedTest:
    """Answers of a model to one test, as CheckList released them.

    Attributes:
        answers: Answers to the examples of each case, by the id of the case in `Suite`.
        n_failed: Number of cases that failed, according to the released outcomes.
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
    # The type is Any, because only the builders of suites have the method `release`.
    builder: Any = load_builder(SUITE, data_dir=data_dir, known_issues=False)
    test_by_name = {}
    for test in read_pickled_tests(builder.release()):
        results = test.get("results")
        passed = results["passed"]
        test_by_name[test.name] = ReleasedTest(
            answers=_list_answers(results["preds"]),
            n_failed=len(passed) - sum(passed),
        )
    return test_by_name


def _list_answers(predictions: Sequence[Any]) -> dict[str, list[str]]:
    """Return id of a case -> the released answers to its examples.

    Args:
        predictions: One entry per case: the answers to its examples, or the answer to its only example.
    """
    answers = {}
    # In a `Suite`, the id of a released case is its number.
    for number, case_answers in enumerate(predictions):
        if isinstance(case_answers, str):
            case_answers = [case_answers]
        answers[str(number)] = list(case_answers)
    return answers
