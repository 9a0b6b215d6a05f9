"""Test a classifier on a behavioral suite: its answers to every example, and what share of cases passes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rightreasons.analysis.behavior.pass_rates import BehavioralPassRate, asks_for_neutral, pass_rates
from rightreasons.data.suites.opening import open_suite
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.scores import Scores
from rightreasons.measuring.behavior_answers import SuiteAnswers, check_sentiment_order, classified
from rightreasons.models.loading import Classifier
from rightreasons.models.scoring.classes import predict

__all__ = ["ask", "open_suite", "run_suite"]


def run_suite(
    classifier: Classifier,
    suite: Suite,
    *,
    outputs: str | None = None,
    batch_size: int = 32,
    resampling: Resampling = Resampling(),
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> tuple[BehavioralPassRate, Scores]:
    """Ask a classifier every example of a suite and score its answers.

    Args:
        classifier: From `load_classifier`; its classes are in the order of the suite's labels.
        suite: A suite of one or two texts an example.
        outputs: "probabilities" or "binary_sentiment" (a model of two sentiments on a suite of three); None takes the
            latter where the model has two classes and `asks_for_neutral` says that the suite is one of three.
        batch_size: The most items of a batch.
        resampling: Level of the intervals, and how those of the means are resampled.
        progress: Whether to show a bar.
        out: A folder for the answers, from which a killed run goes on.

    Returns:
        The pass rates, and the answers in the suite's order.

    Raises:
        ValueError: If the suite is one of reading comprehension, or has a label that the model has no class for.
    """
    rows = list(suite.examples())
    if any(row["answer"] for row in rows) or len(suite.text_columns) > 2:
        raise ValueError(
            f"Expected a suite for a classifier, but {suite.name!r} asks for answers that are texts: ask a "
            "question-answering model by `run_reading_suite`, or score stored answers with `pass_rates(answers, "
            "suite.table(), outputs='texts')`."
        )
    table = suite.table()
    n_classes = len(classifier.label_names or ())
    highest = max((row["label"] for row in rows), default=-1)
    if outputs is None:
        outputs = "binary_sentiment" if n_classes == 2 and asks_for_neutral(table) else "probabilities"
    if highest >= (3 if outputs == "binary_sentiment" else n_classes):
        raise ValueError(
            f"Expected a model with a class for every label of the suite {suite.name!r}, 0 to {highest}, but "
            f"{classifier.name} has {n_classes}."
        )
    columns = suite.text_columns
    scores = predict(
        classifier,
        [row[columns[0]] for row in rows],
        text_pairs=[row[columns[1]] for row in rows] if len(columns) == 2 else None,
        ids=[row["id"] for row in rows],
        batch_size=batch_size,
        progress=progress,
        out=out,
    )
    result = pass_rates(
        softmax(np.asarray(scores.logits, dtype=np.float64)),
        table,
        outputs=outputs,
        resampling=resampling,
    )
    return result, scores


def ask(
    classifier: Classifier,
    suite: Suite,
    *,
    batch_size: int = 32,
    resampling: Resampling = Resampling(),
    progress: bool = True,
    out: Any = None,
) -> SuiteAnswers:
    """Ask a classifier every example of a suite; the arguments are those of `run_suite`.

    Raises:
        ValueError: As `run_suite`, and if a suite of sentiments is put to a model whose classes are in another order.
    """
    check_sentiment_order(classifier.name, classifier.label_names, suite)
    result, scores = run_suite(
        classifier,
        suite,
        batch_size=batch_size,
        resampling=resampling,
        progress=progress,
        out=out,
    )
    probabilities = softmax(np.asarray(scores.logits, dtype=np.float64))
    return classified(classifier.name, suite, result, probabilities, classifier.label_names)
