"""Match the classes of a model, or the columns of stored scores, with the labels of a suite.

Classes and labels are matched by name if both have names, and by number otherwise. A model of two
sentiments on a suite of three is spread over three. `classify` returns the answers that follow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rightreasons.behavior.predictions import asks_for_neutral, spread_over_neutral
from rightreasons.core.errors import OptionError
from rightreasons.core.labels.matching import MatchTerms, match_labels
from rightreasons.core.labels.names import BY_NUMBER
from rightreasons.core.sentences import format_list
from rightreasons.datasets.suites.suite import Suite

NO_ANSWER = "no answer"
"""Name of the class of examples without an answer, such as an unreadable reply."""


class ClassMatch(NamedTuple):
    """Classes of a model in the order of a suite's labels.

    Attributes:
        order: Numbers of the classes: first the class of each label of the suite, then the classes
            that match no label.
        class_names: Names of the classes in this order; None if they are unknown.
        method: Description of the match, such as "by name".
    """

    order: tuple[int, ...]
    class_names: tuple[str, ...] | None
    method: str


def match_classes(suite: Suite, classes: Sequence[str] | int, source: str) -> ClassMatch:
    """Match the classes of a model with the labels of a suite.

    They are matched by name if both have names, and by number otherwise. The classes of a model of two
    sentiments are matched with the first and the last label of a suite of three.

    Args:
        suite: The suite.
        classes: Names of the classes, or their number if they have no names.
        source: Name of the model, or of the stored scores, for error messages.

    Returns:
        The order of the classes, and their names.

    Raises:
        ValueError: If a label has no class, or several classes match it.
    """
    labels = suite.label_names
    class_names = None
    if isinstance(classes, int):
        n_classes = classes
    else:
        n_classes = len(classes)
        class_names = tuple(classes)
    if labels is not None and n_classes == 2 and asks_for_neutral(suite.table()):
        # A model of two sentiments has no class for the label neutral.
        negative, _, positive = labels
        labels = (negative, positive)
    if labels is not None and class_names is not None:
        return _match_names(suite, labels, class_names, source)

    # Either the labels or the classes have no names, so that they are matched by number.
    _check_number_of_classes(suite, labels, n_classes, source)
    order = tuple(range(n_classes))
    if labels is None:
        method = f"{BY_NUMBER}, as the suite does not name its labels"
        return ClassMatch(order, class_names, method)
    extra_names = tuple(f"class {number}" for number in order[len(labels) :])
    method = f"{BY_NUMBER}, as the classes of {source} have no names"
    return ClassMatch(order, labels + extra_names, method)


def _match_names(
    suite: Suite, labels: tuple[str, ...], classes: tuple[str, ...], source: str
) -> ClassMatch:
    """Match the classes of a model with labels by their names.

    Args:
        suite: The suite, whose name is used in error messages.
        labels: Names of the labels to match, such as ("negative", "positive").
        classes: Names of the classes; there may be more classes than labels.
        source: Name of the model, or of the stored scores, for error messages.

    Returns:
        The classes in the order of the labels, followed by those that match no label.

    Raises:
        ValueError: If a label has no class, or several classes match it.
    """
    match = match_labels(labels, classes, terms=MatchTerms(f"the suite {suite.name!r}", source))
    # Number of the class of each label.
    matched_classes = tuple(match.class_of.tolist())
    # Classes that match no label follow, because they may be predicted, too.
    unmatched_classes = []
    extra_names = []
    for number, name in enumerate(classes):
        if number not in matched_classes:
            unmatched_classes.append(number)
            extra_names.append(name)
    return ClassMatch(
        order=(*matched_classes, *unmatched_classes),
        class_names=(*labels, *extra_names),
        method=match.in_words,
    )


def _check_number_of_classes(
    suite: Suite, labels: tuple[str, ...] | None, n_classes: int, source: str
) -> None:
    """Check that a model has a class for every label of a suite.

    Args:
        suite: The suite.
        labels: Names of the labels; None if labels have no names, but are numbered from 0.
        n_classes: Number of classes of the model.
        source: Name of the model, or of the stored scores, for the error message.

    Raises:
        ValueError: If there are fewer classes than labels.
    """
    max_label = suite.table().max_label
    if labels is None:
        n_labels = max_label + 1
        names = f"0 to {max_label}"
    else:
        n_labels = len(labels)
        names = format_list(labels)
    if n_classes < n_labels:
        raise ValueError(
            f"Expected a class for every label of the suite {suite.name!r}, {names}, "
            f"but there are {n_classes} in {source}."
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Classification:
    """Answers of a model as numbers of the suite's labels.

    Attributes:
        answers: (n,) numbers of the suite's labels, or of further classes.
        probabilities: (n, K) probabilities in the order of `class_names`; None if they are unknown.
        class_names: K names; None if they are unknown.
        method: Description of how classes and labels were matched, such as "by name".
        is_spread: Whether probabilities of two sentiments were turned into probabilities of three.
    """

    answers: NDArray[np.int64]
    probabilities: NDArray[np.float64] | None
    class_names: tuple[str, ...] | None
    method: str
    is_spread: bool = False

    def mark_missing(self, missing: NDArray[np.bool_], n_classes: int) -> Classification:
        """Assign the examples without an answer to an additional class, "no answer".

        The class is not one of the suite's labels, so that such an example fails every test of a label.

        Args:
            missing: (n,) whether an example has no answer.
            n_classes: Number of classes, used if the classes have no names.
        """
        names: Sequence[object] = self.class_names or range(n_classes)
        new_class = len(names)
        probabilities = self.probabilities
        if probabilities is not None:
            # An example without an answer has the probability 1 in the new column, and 0 in the others.
            scores = np.where(missing[:, None], 0.0, probabilities)
            probabilities = np.column_stack([scores, missing])
        n_missing = int(missing.sum())
        return dataclasses.replace(
            self,
            answers=np.where(missing, new_class, self.answers),
            probabilities=probabilities,
            class_names=(*map(str, names), NO_ANSWER),
            method=(
                f"{self.method}; {n_missing} of {len(missing)} examples have no answer and "
                "match no label"
            ),
        )


def classify(
    suite: Suite,
    probabilities: NDArray[np.float64],
    match: ClassMatch,
    missing: NDArray[np.bool_] | None = None,
) -> Classification:
    """Return the most probable label of each example of a suite.

    If the suite has the labels negative, neutral and positive, and the model two classes, the
    probabilities are first turned into three (`spread_over_neutral`).

    Args:
        suite: The suite.
        probabilities: (n, K) checked probabilities in the order of the model's classes.
        match: Classes of the model in the order of the suite's labels.
        missing: (n,) whether an example has no answer; None if all examples have one.

    Returns:
        The answers, with their probabilities in the order of the suite's labels.

    Raises:
        OptionError: If an answer is missing on a suite that compares probabilities of sentiments.
    """
    has_neutral_label = asks_for_neutral(suite.table())
    probabilities = probabilities[:, match.order]
    class_names = match.class_names
    is_spread = has_neutral_label and len(match.order) == 2
    if is_spread:
        _, positive = probabilities.T
        probabilities = spread_over_neutral(positive)
        class_names = suite.label_names

    classification = Classification(
        answers=probabilities.argmax(axis=1).astype(np.int64),
        probabilities=probabilities,
        class_names=class_names,
        method=match.method,
        is_spread=is_spread,
    )
    if missing is None:
        return classification
    # The expectations of such a suite compare the probabilities of three classes, so that there
    # cannot be a fourth class for missing answers.
    if has_neutral_label:
        raise OptionError(
            f"Expected an answer to every example of {suite.name!r}, which compares the "
            f"probabilities of three sentiments, but {int(missing.sum())} of {len(missing)} "
            "examples have no answer. Use scoring='sum' to score every label.",
            option="scoring",
        )
    return classification.mark_missing(missing, probabilities.shape[1])
