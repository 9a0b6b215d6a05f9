"""Items for classifiers: the cases of a suite and independent labeled texts, with class probabilities as targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.data.suites.suite import Case, Functionality, Suite
from rightreasons.foundations.validation import check_one_of, check_same_length, unknown_name
from rightreasons.training.behavior.items import IID, TYPES, Items
from rightreasons.training.behavior.losses import RULES

LABEL_TREATMENTS = ("sentiment", "classes")
"""How a suite's labels become targets: "sentiment" (0, 1, 2 for a model of two classes), or the model's own classes."""

SENTIMENT_TARGETS: Mapping[Any, tuple[float, float]] = {
    0: (1.0, 0.0),
    1: (0.5, 0.5),
    2: (0.0, 1.0),
    "not negative": (1 / 3, 2 / 3),
}
"""Three sentiments for a model of two classes."""


def sentiment_targets(labels: Sequence[Any]) -> NDArray[np.float64]:
    """Turn labels of a sentiment suite into targets of a model of two classes.

    Args:
        labels: N labels: 0 negative, 1 neutral, 2 positive, or "not negative".

    Returns:
        (N, 2) soft labels.

    Raises:
        ValueError: If a label is unknown.

    Example:
        >>> sentiment_targets([0, 1, 2, "not negative"]).round(3).tolist()
        [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [0.333, 0.667]]
    """
    for label in labels:
        if label not in SENTIMENT_TARGETS:
            raise unknown_name("sentiment", label, [str(key) for key in SENTIMENT_TARGETS])
    return np.array([SENTIMENT_TARGETS[label] for label in labels], dtype=np.float64).reshape(-1, 2)


def one_hot_targets(labels: Sequence[int], n_classes: int) -> NDArray[np.float64]:
    """Turn class labels into (N, `n_classes`) one-hot rows.

    Raises:
        ValueError: If a label is not one of the classes.
    """
    for label in labels:
        if not 0 <= label < n_classes:
            raise ValueError(f"Expected labels from 0 to {n_classes - 1}, the model's classes, but got {label}.")
    return np.eye(n_classes)[np.asarray(labels, dtype=np.int64)]


def suite_items(suite: Suite, *, labels: str = "sentiment", n_classes: int = 2) -> Items:
    """Turn a suite's cases into items.

    Minimum functionality tests, and directional tests that expect a label (such as those of paraphrases), become
    labeled items. Invariance tests become pairs of an original and one changed text; directional tests of confidence
    become pairs with the direction that their expectation names.

    Args:
        suite: A suite with one or two texts per example.
        labels: "sentiment" or "classes"; see `LABEL_TREATMENTS`.
        n_classes: Classes of the model; default 2.

    Returns:
        The items; `environments` are the functionalities.

    Raises:
        ValueError: If no loss is known for an expectation, or a label fits no class.
    """
    check_one_of(labels, LABEL_TREATMENTS, "labels")
    if len(suite.text_columns) > 2:
        raise ValueError(
            f"Expected one or two texts per example, but the suite {suite.name!r} has {suite.text_columns}."
        )
    texts: list[tuple[str, ...]] = []
    rows: list[tuple[int, int, int, int, int, int]] = []
    targets: list[Any] = []
    for number, functionality in enumerate(suite.functionalities):
        rule, kind = _rule(functionality), TYPES.index(functionality.test_type)
        for case in functionality.cases:
            start = len(texts)
            texts.extend(case.examples)
            if rule:
                if len(case.examples) > 1:
                    rows.append((start, start + 1, len(case.examples) - 1, rule, kind, number))
                continue
            for place, label in enumerate(_labels(functionality, case)):
                if label is not None:
                    rows.append((start + place, start + place, 0, rule, TYPES.index("MFT"), number))
                    targets.append(label)
    table = np.array(rows, dtype=np.int64).reshape(-1, 6)
    matrix = np.zeros((len(rows), n_classes))
    if targets:
        matrix[table[:, 3] == 0] = _targets(targets, labels, n_classes, suite.name)
    pairs = [row[1] for row in texts] if len(suite.text_columns) == 2 else None
    return Items.of_rows([row[0] for row in texts], pairs, table, matrix, tuple(f.name for f in suite.functionalities))


def iid_items(
    texts: Sequence[str], labels: Sequence[int], *, text_pairs: Sequence[str] | None = None, n_classes: int = 2
) -> Items:
    """Turn independent labeled data into items of one environment.

    Raises:
        ValueError: If texts and labels differ in number, or a label is not one of the classes.
    """
    n = check_same_length(texts=texts, labels=labels)
    rows = np.zeros((n, 6), dtype=np.int64)
    rows[:, 0] = rows[:, 1] = np.arange(n)
    pairs = None if text_pairs is None else list(text_pairs)
    return Items.of_rows(list(texts), pairs, rows, one_hot_targets(labels, n_classes), (IID,))


def _rule(functionality: Functionality) -> int:
    expectation = functionality.expectation
    name = expectation["name"]
    if expectation.get("label") is not None:
        name = f"{name} of one label"
    if name == "invariant":
        return RULES.index("invariant")
    if name == "monotonic":
        return RULES.index("not_less_conf" if expectation["increasing"] else "not_more_conf")
    if name == "sentiment_shift":
        return RULES.index("not_less_2" if expectation["positive"] else "not_less_0")
    if name in ("equal", "not_equal", "transitive"):
        return RULES.index("labeled")
    raise ValueError(
        f"Expected an expectation with a known loss for {functionality.name!r}, but got {name!r}, which has none."
    )


def _labels(functionality: Functionality, case: Case) -> tuple[Any, ...]:
    expectation = functionality.expectation
    if expectation["name"] == "not_equal":
        return ("not negative" if expectation.get("value") == 0 else None,) * len(case.examples)
    if expectation.get("value") is not None:
        # The first example is the original, of which nothing is asked.
        head = (None,) if expectation.get("skip_first") else (expectation["value"],)
        return head + (expectation["value"],) * (len(case.examples) - 1)
    labels = case.labels or (None,) * len(case.examples)
    return tuple(None if label is None or label == -1 else label for label in labels)


def _targets(labels: list[Any], treatment: str, n_classes: int, suite: str) -> NDArray[np.float64]:
    strange = next((label for label in labels if isinstance(label, str) and label != "not negative"), None)
    if strange is not None:
        raise ValueError(
            f"Expected class labels in the suite {suite!r}, but got the text {strange[:40]!r}, an answer of a "
            "question-answering model."
        )
    if treatment == "sentiment":
        if n_classes != 2:
            raise ValueError(f"Expected a model of two classes for the sentiment treatment, but it has {n_classes}.")
        return sentiment_targets(labels)
    # "Not the first class" shares the weight among the others.
    rows = one_hot_targets([0 if label == "not negative" else label for label in labels], n_classes)
    others = np.array([label == "not negative" for label in labels])
    rows[others] = np.concatenate(([0.0], np.full(n_classes - 1, 1 / (n_classes - 1))))
    return rows
