"""The order of numbered classes: whether predictions fit the labels far better in another order.

`suggest_class_order` is the entry point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

MAX_ORDER_ERROR = 0.001
"""Error of each one-sided test: below chance in the given order, above it in the other one."""

_MAX_SHOWN_CLASSES = 6


def suggest_class_order(
    scores: NDArray[np.float64],
    labels: NDArray[np.int64],
    names: Sequence[str] | None,
    *,
    is_by_name: bool = False,
) -> str:
    """Warn about labels that would match the predictions better with another order of the classes.

    There is a warning if the accuracy is significantly below chance (99.9 %, one-sided), and would be
    significantly above chance in the best order.

    Args:
        scores: (N, K) scores, the largest being the answer, or (N,) P(class 1).
        labels: (N,) labels, -1 for unlabeled items.
        names: K names of the classes. If None, they are called "0" to "K - 1".
        is_by_name: Whether the scores have the names of the classes, as columns of a table do.
            Then the names may be exchanged, instead of the numbers.

    Returns:
        A sentence; "" if there is no reason for a warning.

    Example:
        >>> scores = np.array([[0.9, 0.1], [0.2, 0.8]] * 20)
        >>> suggest_class_order(scores, np.array([1, 0] * 20), ["bad", "good"])
        'The labels match 0.0% of the answers in the current order of the classes (0 is bad, 1 is good), but would \
match 100.0% in the other order (0 is good, 1 is bad). Check the order of the classes.'
    """
    from scipy.special import bdtr, bdtrc

    # A wrong order permutes whole classes, so the confusion matrix shows it.
    counts = _count_answers_by_label(scores, labels)
    n_classes = len(counts)
    n_items = int(counts.sum())
    chance = 1 / n_classes
    n_correct = int(np.trace(counts))
    if not n_items:
        return ""
    # The binomial probability of at most as many correct answers by guessing.
    if bdtr(n_correct, n_items, chance) > MAX_ORDER_ERROR:
        return ""

    # Imported here, because the module is slow to import and rarely needed.
    from scipy.optimize import linear_sum_assignment

    # Column `order[k]` has the predictions that label k matches best.
    _, order = linear_sum_assignment(counts, maximize=True)
    n_correct_reordered = int(counts[:, order].trace())
    # The probability of at least as many correct answers by guessing.
    if bdtrc(n_correct_reordered - 1, n_items, chance) > MAX_ORDER_ERROR:
        return ""
    class_names = names or list(map(str, range(n_classes)))
    beginning = f"The labels match {n_correct / n_items:.1%} of the answers"
    reordered = f"but would match {n_correct_reordered / n_items:.1%}"
    if is_by_name:
        return (
            f"{beginning}, {reordered} if the scores had other names "
            f"({_describe_renaming(class_names, order.tolist())}). Check the names of the scores."
        )
    given_order = _describe_order(class_names, range(n_classes))
    best_order = _describe_order(class_names, order.tolist())
    alternative = "the other order" if n_classes == 2 else "another order"
    return (
        f"{beginning} in the current order of the classes ({given_order}), {reordered} in "
        f"{alternative} ({best_order}). Check the order of the classes."
    )


def _count_answers_by_label(
    scores: NDArray[np.float64], labels: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the labeled items by their label and their predicted class.

    Args:
        scores: (N, K) scores, or (N,) P(class 1).
        labels: (N,) labels; items with labels outside 0 to K - 1 are not counted.

    Returns:
        (K, K) confusion matrix: rows are labels, columns are predictions.
    """
    if scores.ndim == 1:
        n_classes = 2
        answers = (scores > 0.5).astype(np.int64)
    else:
        n_classes = scores.shape[1]
        answers = scores.argmax(axis=1)
    is_labeled = (labels >= 0) & (labels < n_classes)
    # Count in a flat matrix whose cells are numbered row by row. This is much faster for a million
    # items than indexing by row and column.
    cells = labels[is_labeled] * n_classes
    cells += answers[is_labeled]
    counts = np.bincount(cells, minlength=n_classes**2)
    return counts.reshape(n_classes, n_classes)


def _describe_order(class_names: Sequence[str], order: Iterable[int]) -> str:
    """Return the class of each number in words: "0 is bad, 1 is good".

    Args:
        class_names: Names of the classes.
        order: Position in `class_names` of the class of each number, from 0.
    """
    descriptions = []
    for number, position in enumerate(order):
        label = class_names[position]
        descriptions.append(f"{number} is {label}")
    # A task of many classes would fill the screen.
    return ", ".join(descriptions[:_MAX_SHOWN_CLASSES])


def _describe_renaming(class_names: Sequence[str], order: Sequence[int]) -> str:
    """Return the classes that fit the scores of other classes: "“good” for “bad”, “bad” for “good”".

    Args:
        class_names: Names of the classes.
        order: For each class, the position of the class whose scores fit its labels best.
    """
    descriptions = []
    for name, position in zip(class_names, order, strict=True):
        score_name = class_names[position]
        if score_name != name:
            descriptions.append(f"“{name}” for “{score_name}”")
    return ", ".join(descriptions[:_MAX_SHOWN_CLASSES])
