"""The cases of a behavioral suite with the outcome of each of their examples.

`failing_cases` samples cases that a model fails; `judge_cases` judges any cases of a functionality.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from rightreasons.behavior.expectations import evaluate_cases
from rightreasons.behavior.measure import SuiteAnswers
from rightreasons.behavior.rates import get_case_slice, select_answers
from rightreasons.core.resampling import item_rng
from rightreasons.core.suites import is_original_first


@dataclasses.dataclass(frozen=True)
class JudgedExample:
    """One example of a case.

    Attributes:
        texts: Texts of the example.
        row: Position in the suite.
        passed: Whether the example passes; None if the expectation does not apply to it.
    """

    texts: tuple[str, ...]
    row: int
    passed: bool | None


@dataclasses.dataclass(frozen=True)
class JudgedCase:
    """One case with the outcome of its examples.

    Attributes:
        id: Id of the case in its functionality.
        passed: Whether the case passes; None if the expectation does not apply to it.
        has_original: Whether the first example is the original with which the others are compared.
        examples: Examples of the case.
    """

    id: str
    passed: bool | None
    has_original: bool
    examples: tuple[JudgedExample, ...]


def failing_cases(
    tested: SuiteAnswers, number: int, *, limit: int | None = None, seed: int = 0
) -> list[JudgedCase]:
    """Return failing cases of a functionality, each with the outcomes of its examples.

    Args:
        tested: Answers of a model to the suite.
        number: Index of the functionality in the suite.
        limit: Maximum number of cases, sampled by (seed, name of the functionality); None for all.
        seed: Seed of the sample.

    Returns:
        The cases, in the suite's order.
    """
    passed = tested.result.passed[get_case_slice(tested.table, number)]
    indices = [index for index, outcome in enumerate(passed) if outcome is False]
    if limit is not None and len(indices) > limit:
        # The name is part of the seed, so that the functionalities of a suite are sampled separately.
        rng = item_rng(seed, tested.table.functionalities[number])
        sample = np.sort(rng.permutation(len(indices))[:limit])
        indices = [indices[index] for index in sample]
    return judge_cases(tested, number, indices)


def judge_cases(
    tested: SuiteAnswers, number: int, indices: Iterable[int] | None = None
) -> list[JudgedCase]:
    """Evaluate the expectation of a functionality, and return the outcome of each case and example.

    Args:
        tested: Answers of a model to the suite.
        number: Index of the functionality in the suite.
        indices: Indices of the cases in the functionality; None for all.

    Returns:
        The cases, in the order of `indices`, or of the suite.
    """
    functionality = tested.suite.functionalities[number]
    answers = select_answers(tested.answers, tested.probabilities, tested.table, number)
    example_results, case_results = evaluate_cases(functionality.expectation, answers)
    cases = get_case_slice(tested.table, number)
    # Position in the suite of the first example of the functionality.
    start = int(tested.table.case_offsets[cases.start])
    has_original = is_original_first(functionality.expectation)
    if indices is None:
        indices = range(len(functionality.cases))

    judged = []
    for index in indices:
        case = functionality.cases[index]
        # Rows count from the first example of the functionality.
        first_row = int(answers.offsets[index])
        examples = []
        for row, texts in enumerate(case.examples, first_row):
            passed = to_verdict(example_results[row])
            if has_original and row == first_row:
                # The original is not judged: it would be compared with itself.
                passed = None
            examples.append(JudgedExample(texts=texts, row=start + row, passed=passed))
        judged.append(
            JudgedCase(
                id=case.id,
                passed=to_verdict(case_results[index]),
                has_original=has_original,
                examples=tuple(examples),
            )
        )
    return judged


def to_verdict(result: float) -> bool | None:
    """Return True for a result of 1, False for 0 and None for NaN."""
    return None if np.isnan(result) else bool(result)
