"""Answers of a model to a behavioral suite, and the cases that it passes.

`measure_behavior` asks a classifier, and `measure_reading` a question-answering model.
`score_stored` scores answers from a file, which `read_suite_answers` reads. All return
`SuiteAnswers`, whose `result` has the pass rates.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.behavior.matching import Classification, classify, match_classes
from rightreasons.behavior.predictions import ClassesOrTexts, SuitePredictions, number_answers
from rightreasons.behavior.rates import (
    BehavioralPassRate,
    FunctionalityResult,
    GroupResult,
    compute_pass_rates,
)
from rightreasons.core.labels.names import parse_label_numbers
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.resampling import Resampling
from rightreasons.core.scores import Scores
from rightreasons.core.sentences import format_list, format_value
from rightreasons.core.suites import TEST_TYPES, SuiteTable
from rightreasons.core.validation import SCORE_KINDS, check_scores, softmax
from rightreasons.datasets.suites.suite import Suite
from rightreasons.io.options import ScoreOptions
from rightreasons.io.predictions import read_answers
from rightreasons.io.scores.results import ModelAnswers

if TYPE_CHECKING:
    from rightreasons.models.classes import Classifier
    from rightreasons.models.protocol import Scorer

MAX_SHARE_OF_ONE_ANSWER = 0.95
"""A model that gives one answer at least this often passes invariance tests without reading."""

MIN_EXAMPLES_FOR_ONE_ANSWER = 10
"""Fewer examples may well have one answer by chance."""

READING_COLUMNS = ("question", "context")
"""Text columns of a suite of reading comprehension, in any order."""


@dataclasses.dataclass(frozen=True, eq=False)
class SuiteAnswers:
    """Answers of a model to a suite, and its pass rates.

    Attributes:
        name: Name of the model.
        suite: The suite.
        answers: n answers, class numbers or texts, in the suite's order.
        probabilities: (n, K) probabilities of the classes; None if they are unknown.
        class_names: K names; None if they are unknown.
        spread: Whether probabilities of two sentiments were turned into probabilities of three.
        matched: Description of how classes, or stored answers, were matched with the suite's labels;
            "" if the answers are texts.
        failures: Reason by the id of each example that the model could not answer. Such an example
            counts as an incorrect answer.
        prompt: How a language model was prompted (`Prompted.describe`); None for other models.
        server: Server of the model (`Prompted.server`); None for a local model.
        level: Level of the intervals.
        result: Pass rates.

    Raises:
        ValueError: If a functionality has no cases, or its expectation needs probabilities that are
            missing.
    """

    name: str
    suite: Suite
    answers: ClassesOrTexts
    probabilities: NDArray[np.float64] | None = None
    class_names: tuple[str, ...] | None = None
    spread: bool = False
    matched: str = ""
    failures: Mapping[str, str] = dataclasses.field(default_factory=dict)
    prompt: Mapping[str, Any] | None = None
    server: Mapping[str, Any] | None = None
    level: float = 0.95
    result: BehavioralPassRate = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        """Compute the pass rates, `result`, from the answers."""
        predictions = SuitePredictions(self.answers, self.probabilities)
        result = compute_pass_rates(predictions, self.table, self.level)
        # The fields of a frozen dataclass cannot be assigned directly.
        object.__setattr__(self, "result", result)

    @classmethod
    def from_classification(
        cls, name: str, suite: Suite, classification: Classification, **fields: Any
    ) -> SuiteAnswers:
        """Compute the pass rates of answers that are numbers of the suite's labels.

        Args:
            name: Name of the model.
            suite: The suite.
            classification: Answers of the model, with their probabilities and the names of the classes.
            **fields: Further fields of `SuiteAnswers`, such as `level`.
        """
        return cls(
            name=name,
            suite=suite,
            answers=classification.answers,
            probabilities=classification.probabilities,
            class_names=classification.class_names,
            spread=classification.is_spread,
            matched=classification.method,
            **fields,
        )

    @functools.cached_property
    def table(self) -> SuiteTable:
        """The suite without its texts."""
        return self.suite.table()

    @property
    def test_types(self) -> list[tuple[str, GroupResult]]:
        """Name and mean pass rate of each test type of the suite, in the order MFT, INV, DIR."""
        groups = self.result.test_types
        return [(name, groups[name]) for name in TEST_TYPES if name in groups]

    @property
    def weakest(self) -> list[tuple[int, FunctionalityResult]]:
        """Pairs (index in the suite, result) of all functionalities, by rising pass rate.

        Functionalities without a pass rate come last.
        """

        def get_rank(entry: tuple[int, FunctionalityResult]) -> tuple[bool, float, int]:
            index, result = entry
            if result.pass_rate is None:
                return True, 0.0, index
            # Equal pass rates keep the order of the suite.
            return False, result.pass_rate, index

        return sorted(enumerate(self.result.functionalities), key=get_rank)

    @property
    def one_answer(self) -> str:
        """A warning that nearly all examples have the same class, such as "96 of 100 examples …".

        A model that always predicts one class passes all invariance tests. The warning is "" if less
        than 95 % of the examples have the same class, if there are fewer than 10 examples, if the
        answers are texts, or if all examples have the same label.
        """
        n_examples = len(self.answers)
        labels = self.table.labels
        if isinstance(self.answers, list) or n_examples < MIN_EXAMPLES_FOR_ONE_ANSWER:
            return ""
        # In a small suite, one class may be correct for all examples.
        expects_one_class = len(set(labels)) == 1 and labels[0] is not None
        if expects_one_class:
            return ""

        values, counts = np.unique(self.answers, return_counts=True)
        most_frequent = counts.argmax()
        count = counts[most_frequent]
        if count < MAX_SHARE_OF_ONE_ANSWER * n_examples:
            return ""
        answer = self.describe_answer(values[most_frequent])
        return f"{count:,} of {n_examples:,} examples have the same answer, “{answer}”"

    def describe_answer(self, answer: Any) -> str:
        """Return the name of a class, such as "positive", or the answer itself if it is a string.

        Args:
            answer: Number of a class, or the text of an answer.
        """
        if isinstance(answer, str):
            return answer
        number = int(answer)
        names = self.class_names or ()
        if 0 <= number < len(names):
            return names[number]
        return f"class {number}"

    def get_confidence(self, row: int) -> float | None:
        """Return the probability of the answer to an example; None if it is unknown."""
        if self.probabilities is None:
            return None
        probability = self.probabilities[row, int(self.answers[row])]
        # Rounding may leave it slightly outside.
        return float(np.clip(probability, 0.0, 1.0))


# ---------------------------------------------------------------------------------- models


def measure_behavior(
    classifier: Classifier | Scorer,
    suite: Suite,
    *,
    resampling: Resampling = Resampling(),
    **running: Any,
) -> SuiteAnswers:
    """Predict the class of every example of a suite, and compute the pass rates.

    The classes of the model are matched with the labels of the suite by name if both have names,
    and by number otherwise. The probabilities of a model of two sentiments are turned into three if
    the suite has the label neutral (`neutral_probabilities`).

    Args:
        classifier: A model from `load_classifier`, or another `Scorer` of classes, such as a
            `Prompted`. A missing answer counts as a further class, which is not a label of the suite.
        suite: A suite with one or two texts per example.
        resampling: Level of the intervals.
        **running: Options of `predict`: batch_size, progress, out, fail_fast. Unless `fail_fast` is
            true, an example that the model cannot read counts as an incorrect answer, and `failures`
            has its id and the reason.

    Returns:
        The model's answers in the suite's order, and its pass rates.

    Raises:
        ValueError: If the suite asks for texts, has more than two texts per example, or has a label
            that is not a class of the model.
    """
    from rightreasons.models.classes import predict
    from rightreasons.models.prompted import find_prompted

    # Labels are checked before the model runs, because inference may take long.
    _check_can_classify(classifier, suite)
    match = match_classes(suite, classifier.label_names or (), classifier.name)
    ids = _list_example_ids(suite)
    # An example has one or two texts.
    examples = suite.texts()
    first_texts = [texts[0] for texts in examples]
    text_pairs = None
    if len(suite.text_columns) == 2:
        text_pairs = [texts[1] for texts in examples]
    scores = predict(
        classifier,
        first_texts,
        text_pairs=text_pairs,
        ids=ids,
        **running,
    )

    # Add the examples that the model could not answer, which the scores do not contain.
    probabilities, missing = _complete_probabilities(scores, ids)
    classification = classify(suite, probabilities, match, missing)

    # The report describes the prompt and the server of a language model.
    prompt = None
    server = None
    prompted = find_prompted(classifier)
    if prompted is not None:
        prompt = prompted.describe()
        server = prompted.server(running.get("out"))
    return SuiteAnswers.from_classification(
        classifier.name,
        suite,
        classification,
        failures=scores.failures,
        prompt=prompt,
        server=server,
        level=resampling.level,
    )


def _check_can_classify(classifier: Any, suite: Suite) -> None:
    """Check that an object is a classifier, and that a suite can be answered by class labels.

    Args:
        classifier: The object that the user passed as the classifier.
        suite: The suite.

    Raises:
        TypeError: If the object is not a classifier.
        ValueError: If the suite asks for texts, or has more than two texts per example.
    """
    is_classifier = hasattr(classifier, "label_names") and hasattr(classifier, "predict")
    if not is_classifier:
        raise TypeError(
            "Expected `classifier` to be a Classifier or a Scorer, "
            f"but got {format_value(classifier)}."
        )
    if suite.table().asks_for_texts or len(suite.text_columns) > 2:
        raise ValueError(
            f"Expected a suite for a classifier, but {suite.name!r} expects answers that are "
            "texts. Use a question-answering model, or score stored answers with `score_stored`."
        )


def _complete_probabilities(
    scores: Scores, ids: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Return the probabilities of every example, also of those that the model could not answer.

    Args:
        scores: Scores of the examples that were answered, with their ids.
        ids: Ids of all n examples, in the suite's order.

    Returns:
        (n, K) probabilities, which are 1 / K for an example without an answer; and (n,) whether an
        example has no answer, or None if all examples have one.
    """
    probabilities = softmax(np.asarray(scores.logits, dtype=np.float64))
    if not scores.failures:
        return probabilities, None

    # The scores contain only the answered examples, so that rows are found by id.
    row_by_id = {id_: row for row, id_ in enumerate(scores.ids)}
    n_classes = probabilities.shape[1]
    completed = np.full((len(ids), n_classes), 1 / n_classes)
    missing = np.ones(len(ids), dtype=np.bool_)
    for position, id_ in enumerate(ids):
        if id_ in row_by_id:
            completed[position] = probabilities[row_by_id[id_]]
            missing[position] = False
    return completed, missing


def label_words(suite: Suite) -> tuple[str, ...]:
    """Return the names of a suite's labels, from which a language model chooses.

    Raises:
        ValueError: If the labels have no names.
    """
    if suite.label_names is not None:
        return suite.label_names
    raise ValueError(
        f"Expected `label_names` in the first line of the suite {suite.name!r}, because a "
        "language model chooses from these names, but got none."
    )


# --------------------------------------------------------------------------------- reading


def is_reading(suite: Suite) -> bool:
    """Return whether a suite is about reading: its texts are questions and contexts."""
    return set(suite.text_columns) == set(READING_COLUMNS)


def reading_texts(suite: Suite) -> tuple[list[str], list[str]]:
    """Return the questions and the contexts of all examples, in the suite's order.

    Args:
        suite: A suite with the text columns question and context.

    Raises:
        ValueError: If the suite has other text columns.
    """
    if not is_reading(suite):
        raise ValueError(
            "Expected a suite of reading, with the text columns question and context, "
            f"but {suite.name!r} has {', '.join(suite.text_columns)}."
        )
    # The columns may be in any order: in CheckList's suite, the context comes first.
    question_column = suite.text_columns.index("question")
    context_column = suite.text_columns.index("context")
    questions = []
    contexts = []
    for texts in suite.texts():
        questions.append(texts[question_column])
        contexts.append(texts[context_column])
    return questions, contexts


def measure_reading(
    classifier: Classifier, suite: Suite, *, resampling: Resampling = Resampling(), **running: Any
) -> SuiteAnswers:
    """Answer every example of a suite of reading by a question-answering model, and score the answers.

    Args:
        classifier: A model from `load_question_answering`.
        suite: A suite with the text columns question and context, such as checklist_reading.
        resampling: Level of the intervals.
        **running: Options of `predict_answers`: max_length, batch_size, progress, out.

    Returns:
        The model's answers in the suite's order, and its pass rates.

    Raises:
        ValueError: If the suite has other text columns, or the model does not answer questions.
    """
    from rightreasons.models.spans import predict_answers

    questions, contexts = reading_texts(suite)
    ids = _list_example_ids(suite)
    answers = predict_answers(classifier, questions, contexts, ids=ids, **running)
    texts = list(answers.texts)
    return SuiteAnswers(classifier.name, suite, texts, level=resampling.level)


# -------------------------------------------------------------------------- stored answers


def score_stored(
    name: str, suite: Suite, answers: ModelAnswers, *, resampling: Resampling = Resampling()
) -> SuiteAnswers:
    """Score stored answers in the suite's order, without a model.

    Args:
        name: Name of the model.
        suite: The suite.
        answers: Scores, labels or texts from `rightreasons.io.predictions.read_answers`. Columns of
            scores, and answers that are words, are matched with the suite's labels by name. Two
            scores per example are turned into three if the suite has the label neutral. Answers
            with the ids of `Suite.examples()` may be in any order. An unreadable answer counts as a
            further class, which is not a label of the suite.
        resampling: Level of the intervals.

    Returns:
        The model's answers, and its pass rates.

    Raises:
        ValueError: If the numbers of answers and examples differ, an example has no answer, there
            are scores for too few classes, or answers or columns have names that the suite's labels
            do not have.
    """
    # Sorting drops rows of other suites, so that the number of answers is checked afterwards.
    answers = _sort_by_examples(answers, suite)
    n_examples = len(suite.table())
    if len(answers) != n_examples:
        raise ValueError(
            f"Expected one prediction for each of the {n_examples:,} examples of the suite "
            f"{suite.name!r}, in its order, but got {len(answers):,}."
        )
    source = f"the predictions of {name}"
    if answers.scores is None:
        return _score_answers(name, suite, answers, source, resampling)

    probabilities = check_scores(
        answers.scores, scores=answers.kind or SCORE_KINDS[0], name="predictions"
    )
    classes = answers.label_names or probabilities.shape[1]
    match = match_classes(suite, classes, source)
    classification = classify(suite, probabilities, match)
    return SuiteAnswers.from_classification(name, suite, classification, level=resampling.level)


def _score_answers(
    name: str, suite: Suite, answers: ModelAnswers, source: str, resampling: Resampling
) -> SuiteAnswers:
    """Score stored answers that are labels or texts, without scores.

    Args:
        name: Name of the model.
        suite: The suite.
        answers: One answer per example, in the suite's order. `unread` marks answers of a language model
            in which no label was found.
        source: Description of the answers, such as "the predictions of bert", for error messages.
        resampling: Level of the intervals.

    Raises:
        ValueError: If an answer is not a label of the suite, or if some answers are unreadable and none
            of the others is a label.
    """
    column = answers.answers if answers.answers is not None else []
    is_unreadable = np.zeros(len(column), dtype=np.bool_)
    # A suite of reading compares texts, all of which are readable.
    if answers.unread is not None and not suite.table().asks_for_texts:
        is_unreadable = answers.unread

    # Convert the readable answers to numbers of labels.
    readable = column
    if is_unreadable.any():
        readable = [column[row] for row in np.flatnonzero(~is_unreadable)]
    numbered = None
    if len(readable):
        numbered = number_answers(readable, suite.table(), source=source)
    if numbered is None:
        # The answers are compared as texts.
        if is_unreadable.any():
            raise ValueError(
                f"Expected answers that are labels of the suite {suite.name!r} in {source}, but "
                f"{is_unreadable.sum():,} of {len(column):,} answers have no label that can be "
                "read."
            )
        texts = column
        if not isinstance(column, list):
            # A column in which every answer is a whole number was read as an array.
            texts = [str(answer) for answer in column.tolist()]
        return SuiteAnswers(name, suite, texts, level=resampling.level)

    # Unreadable answers get the number 0 here, and below a number that is not a label.
    numbers = np.zeros(len(column), dtype=np.int64)
    numbers[~is_unreadable] = numbered.numbers
    classification = Classification(
        answers=numbers,
        probabilities=None,
        class_names=suite.label_names,
        method=numbered.method,
    )
    if is_unreadable.any():
        n_classes = int(numbered.numbers.max()) + 1
        classification = classification.mark_missing(is_unreadable, n_classes)
    return SuiteAnswers.from_classification(name, suite, classification, level=resampling.level)


@accept_options_as_keywords(ScoreOptions, exclude=("confidence_column", "correct_column"))
def read_suite_answers(path: Any, suite: Suite, *, options: ScoreOptions) -> ModelAnswers:
    """Read stored answers to a suite.

    Args:
        path: A table as in `read_answers`. A table whose ids include those of `Suite.examples()`
            may be in any order.
        suite: The suite, whose labels are used to read the table.
        options: score_columns, scores and log_filter, as in `read_predictions`.

    Returns:
        The answers, one per example.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the table has no answers, or columns of scores with names that the suite does
            not number.
    """
    answers = _sort_by_examples(read_answers(path, options=options), suite)
    return _sort_by_numbers(answers, suite)


def _list_example_ids(suite: Suite) -> list[str]:
    """Return the ids of all examples, in the suite's order."""
    return [row["id"] for row in suite.examples()]


def _sort_by_examples(answers: ModelAnswers, suite: Suite) -> ModelAnswers:
    """Sort stored answers into the order of a suite, by the ids of its examples.

    Args:
        answers: Stored answers. Without ids, or if the ids are repeated or not those of the suite, they
            are returned unchanged: they have to be in the suite's order.
        suite: The suite.

    Returns:
        The answers to the examples of the suite. Answers with other ids are left out.

    Raises:
        ValueError: If some examples have an answer, and others do not.
    """
    ids = _list_example_ids(suite)
    row_by_id = {id_: row for row, id_ in enumerate(answers.ids or ())}
    has_other_ids = row_by_id.keys().isdisjoint(ids)
    has_repeated_ids = len(row_by_id) < len(answers)
    if has_other_ids or has_repeated_ids:
        return answers
    for id_ in ids:
        if id_ not in row_by_id:
            raise ValueError(
                f"Expected a prediction for each example of the suite {suite.name!r}, "
                f"but there is none for {id_}."
            )
    return answers.take([row_by_id[id_] for id_ in ids])


def _sort_by_numbers(answers: ModelAnswers, suite: Suite) -> ModelAnswers:
    """Sort the columns of stored scores by the numbers in their names.

    If the suite does not name its labels, the columns are matched by number: the first column is label
    0. A file may have them in another order, such as "1", "0". Other answers are returned unchanged.

    Args:
        answers: Stored answers; `label_names` are the names of the columns of `scores`.
        suite: The suite.

    Raises:
        ValueError: If the names of the columns are not the numbers 0, 1, ….
    """
    names = answers.label_names
    scores = answers.scores
    if suite.label_names is not None:
        return answers
    # Labels, or one score per example, have no columns to sort.
    if names is None or scores is None or scores.ndim < 2:
        return answers
    # With any other names, it would be unknown which column is which label.
    numbers = parse_label_numbers(names)
    if numbers is None or sorted(numbers) != list(range(len(names))):
        raise ValueError(
            f"Expected score columns with the numbers of the labels of the suite {suite.name!r}, "
            f"whose first line has no `label_names`, but got {format_list(names)}."
        )
    order = np.argsort(numbers)
    sorted_names = tuple(names[column] for column in order)
    return dataclasses.replace(answers, scores=scores[:, order], label_names=sorted_names)
