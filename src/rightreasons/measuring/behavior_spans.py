"""Test a question-answering model on a behavioral suite of reading."""

from __future__ import annotations

import os

from rightreasons.analysis.behavior.pass_rates import pass_rates
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.behavior import SuiteAnswers
from rightreasons.models.loading import Classifier
from rightreasons.models.scoring.spans import predict_answers

COLUMNS = ("question", "context")
"""The text columns of a suite of reading, in any order."""


def is_reading(suite: Suite) -> bool:
    """Return whether a suite asks for spans: its texts are questions and contexts."""
    return set(suite.text_columns) == set(COLUMNS)


def reading_texts(suite: Suite) -> tuple[list[str], list[str]]:
    """Return the questions and the contexts of all examples, in the suite's order.

    Raises:
        ValueError: If the suite has other texts.
    """
    if not is_reading(suite):
        raise ValueError(
            f"Expected a suite of reading, with the text columns question and context, but {suite.name!r} has "
            f"{', '.join(suite.text_columns)}."
        )
    places = [suite.text_columns.index(name) for name in COLUMNS]
    rows = suite.texts()
    questions, contexts = ([row[place] for row in rows] for place in places)
    return questions, contexts


@checks_kinds
def measure_reading(
    classifier: Classifier,
    suite: Suite,
    *,
    batch_size: int = 32,
    max_length: int | None = None,
    resampling: Resampling = Resampling(),
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> SuiteAnswers:
    """Ask a question-answering model every example of a suite of reading and score its answers.

    Args:
        classifier: From `load_question_answering`.
        suite: A suite with the text columns question and context, such as checklist_reading.
        batch_size: Maximum number of windows per batch.
        max_length: As in `predict_answers`.
        resampling: Level of the intervals.
        progress: Whether to show a bar.
        out: A folder for the answers, from which a killed run resumes.

    Returns:
        The model's answers in the suite's order, and its pass rates.

    Raises:
        ValueError: If the suite has other texts, or the model is of another kind.
    """
    questions, contexts = reading_texts(suite)
    answers = predict_answers(
        classifier,
        questions,
        contexts,
        ids=[row["id"] for row in suite.examples()],
        max_length=max_length,
        batch_size=batch_size,
        progress=progress,
        out=out,
    )
    texts = list(answers.texts)
    return SuiteAnswers(
        classifier.name,
        suite,
        pass_rates(texts, suite.table(), outputs="texts", confidence_level=resampling.level),
        texts,
    )
