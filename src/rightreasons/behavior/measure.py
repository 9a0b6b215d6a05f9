"""What a model passes of a behavioral suite, case by case: of a model that is asked, or of stored answers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.behavior.expectations import evaluate_cases, neutral_probabilities
from rightreasons.behavior.rates import (
    BehavioralPassRate,
    FunctionalityResult,
    GroupResult,
    answered_pass_rates,
    answers_of,
    asks_for_neutral,
    cases_of,
    label_answers,
)
from rightreasons.core.errors import OptionError
from rightreasons.core.label_names import (
    BY_NUMBER,
    MatchTerms,
    format_list,
    match_labels,
    parse_label_numbers,
)
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.resampling import Resampling, item_rng
from rightreasons.core.scores import Scores
from rightreasons.core.sentences import format_value
from rightreasons.core.suites import TEST_TYPES, SuiteTable, is_original_first
from rightreasons.core.validation import SCORE_KINDS, check_scores, softmax
from rightreasons.datasets.suites.suite import Suite
from rightreasons.io.options import ScoreOptions
from rightreasons.io.predictions import ModelAnswers, read_answers

if TYPE_CHECKING:
    from rightreasons.models.classes import Classifier
    from rightreasons.models.protocol import Scorer

USUAL, FEWEST = 0.95, 10
"""A model that gives this share of at least so many examples one answer passes invariance tests without reading."""

NO_ANSWER = "no answer"
"""The class of what a language model wrote where no answer can be read."""


@dataclasses.dataclass(frozen=True, eq=False)
class SuiteAnswers:
    """A model's answers to a suite, and what it passes.

    Attributes:
        name: The name of the model.
        suite: The suite.
        answers: n answers, class numbers or texts, in the suite's order.
        probabilities: (n, K) probabilities as they were scored; None where there are answers alone.
        class_names: K names; None where they are unknown.
        spread: Whether a model of two sentiments was spread over three.
        matched: How the model's classes, or the stored answers, were matched with the suite's labels, in words; ""
            where the answers are texts.
        failures: Id of an example that the model could not answer -> why; it counts as a wrong answer.
        prompt: How a language model was asked (`Prompted.describe`); None for other models.
        server: The server that was asked (`Prompted.server`); None for a model that is here.
        level: Level of the intervals.
        result: Its pass rates.

    Raises:
        ValueError: If a functionality has no cases, or asks for probabilities that are not there.
    """

    name: str
    suite: Suite
    answers: NDArray[np.int64] | list[str]
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
        how: dict[str, Any] = {"probabilities": self.probabilities, "confidence_level": self.level}
        object.__setattr__(self, "result", answered_pass_rates(self.answers, self.table, **how))

    @functools.cached_property
    def table(self) -> SuiteTable:
        """The suite without its texts."""
        return self.suite.table()

    @property
    def test_types(self) -> list[tuple[str, GroupResult]]:
        """The means of the test types that the suite has, in their usual order."""
        return [
            (kind, self.result.test_types[kind])
            for kind in TEST_TYPES
            if kind in self.result.test_types
        ]

    @property
    def weakest(self) -> list[tuple[int, FunctionalityResult]]:
        """The functionalities with their places in the suite, the weakest first, undefined ones last."""
        places = enumerate(self.result.functionalities)
        return sorted(
            places, key=lambda each: (each[1].pass_rate is None, each[1].pass_rate or 0.0, each[0])
        )

    @property
    def one_answer(self) -> str:
        """How many examples get the same class, in words, where that is 95% of at least ten; "" where it is not.

        It is not told where the suite expects one class of every example.
        """
        size, labels = len(self.answers), self.table.labels
        if (
            isinstance(self.answers, list)
            or size < FEWEST
            or (len(set(labels)) == 1 and labels[0] is not None)
        ):
            return ""
        values, counts = np.unique(self.answers, return_counts=True)
        if counts.max() < USUAL * size:
            return ""
        return f"{counts.max():,} of {size:,} examples get one answer, “{self.called(values[counts.argmax()])}”"

    def called(self, answer: Any) -> str:
        """Name an answer: a class, or the text itself."""
        if isinstance(answer, str):
            return answer
        known = self.class_names is not None and 0 <= int(answer) < len(self.class_names)
        return (
            self.class_names[int(answer)] if known and self.class_names else f"class {int(answer)}"
        )

    def confidence(self, row: int) -> float | None:
        """Return the confidence in the answer to an example; None where it is unknown."""
        if self.probabilities is None:
            return None
        return float(np.clip(self.probabilities[row, int(self.answers[row])], 0.0, 1.0))


@dataclasses.dataclass(frozen=True)
class JudgedExample:
    """One example of a case.

    Attributes:
        texts: Its texts.
        row: Its place in the suite.
        held: Whether it holds what is expected; None where nothing was asked of it.
    """

    texts: tuple[str, ...]
    row: int
    held: bool | None


@dataclasses.dataclass(frozen=True)
class JudgedCase:
    """One case with the outcome of its examples.

    Attributes:
        id: Its id in the functionality.
        passed: Whether it passes; None where the expectation does not apply.
        compared: Whether its first example is the original that the others are compared with.
        examples: Its examples.
    """

    id: str
    passed: bool | None
    compared: bool
    examples: tuple[JudgedExample, ...]


def measure_behavior(
    classifier: Classifier | Scorer,
    suite: Suite,
    *,
    resampling: Resampling = Resampling(),
    **running: Any,
) -> SuiteAnswers:
    """Ask a classifier every example of a suite and score its answers.

    The model's classes are matched with the suite's labels by name where both have names, and by number where one side
    only numbers them. A model of two sentiments on a suite of three is spread over three (`neutral_probabilities`).

    Args:
        classifier: From `load_classifier`, or any other `Scorer` of classes, such as a `Prompted`. No answer is
            an answer of its own, which no label is.
        suite: A suite with one or two texts per example.
        resampling: Level of the intervals.
        **running: As in `predict`: batch_size, progress, out, fail_fast. Unless it fails fast, an example that the
            model cannot read counts as a wrong answer, and `failures` has its id and the reason.

    Returns:
        The model's answers in the suite's order, and its pass rates.

    Raises:
        ValueError: If the suite asks for texts or has more than two per example, or has a label that the model has no
            class for.
    """
    from rightreasons.models.classes import predict
    from rightreasons.models.prompted import prompted_of

    if not (hasattr(classifier, "label_names") and hasattr(classifier, "predict")):
        raise TypeError(
            f"Expected `classifier` to be a Classifier or a Scorer, but got {format_value(classifier)}."
        )
    if suite.table().asks_for_texts or len(suite.text_columns) > 2:
        raise ValueError(
            f"Expected a suite for a classifier, but {suite.name!r} asks for answers that are texts: ask a "
            "question-answering model, or score stored answers with `score_stored`."
        )
    match = match_classes(suite, classifier.label_names or (), classifier.name)
    ids, texts = [row["id"] for row in suite.examples()], suite.texts()
    scores = predict(
        classifier,
        [row[0] for row in texts],
        text_pairs=[row[1] for row in texts] if len(suite.text_columns) == 2 else None,
        ids=ids,
        **running,
    )
    probabilities, missing = _completed(scores, ids)
    known = _classified(suite, probabilities, match, missing)
    if (prompted := prompted_of(classifier)) is not None:
        known |= {"prompt": prompted.describe(), "server": prompted.server()}
    return SuiteAnswers(
        classifier.name, suite, **known, failures=scores.failures, level=resampling.level
    )


def label_words(suite: Suite) -> tuple[str, ...]:
    """Return the words that a language model chooses from where it is asked a suite: the names of its labels.

    Raises:
        ValueError: If the labels have no names.
    """
    if suite.label_names is not None:
        return suite.label_names
    raise ValueError(
        f"Expected `label_names` in the first line of the suite {suite.name!r}, which a language model chooses from, "
        "but there are none."
    )


def score_stored(
    name: str, suite: Suite, answers: ModelAnswers, *, resampling: Resampling = Resampling()
) -> SuiteAnswers:
    """Score stored answers in the suite's order, without a model.

    Args:
        name: The name of the model.
        suite: The suite.
        answers: From `rightreasons.io.predictions.read_answers`: scores, labels or texts. Columns of scores
            and answers that are words are matched with the suite's labels by name. Two scores per example are spread
            over three sentiments where the suite is one of three. Answers with the ids of `Suite.examples()` may be in
            any order. What holds no answer that can be read is an answer of its own, which no label is.
        resampling: Level of the intervals.

    Returns:
        The model's answers, and its pass rates.

    Raises:
        ValueError: If the numbers of answers and examples differ, the answers are in another order, there are scores
            for too few classes, or answers or columns have names that the suite's labels do not have.
    """
    table, answers = suite.table(), _in_order(answers, suite)
    if len(answers) != len(table):
        raise ValueError(
            f"Expected one prediction for each of the {len(table):,} examples of the suite {suite.name!r}, in its "
            f"order, but got {len(answers):,}."
        )
    where = f"the predictions of {name}"
    if answers.scores is not None:
        probabilities = check_scores(
            answers.scores, scores=answers.kind or SCORE_KINDS[0], name="predictions"
        )
        match = match_classes(suite, answers.label_names or probabilities.shape[1], where)
        known = _classified(suite, probabilities, match)
        return SuiteAnswers(name, suite, **known, level=resampling.level)
    column = answers.answers if answers.answers is not None else []
    unread = np.zeros(len(column), dtype=np.bool_)
    if answers.unread is not None and not table.asks_for_texts:
        unread = answers.unread
    read = (
        [answer for answer, missing in zip(column, unread, strict=True) if not missing]
        if unread.any()
        else column
    )
    labels = label_answers(read, table, where=where) if len(read) else None
    if labels is None and unread.any():
        raise ValueError(
            f"Expected answers that are labels of the suite {suite.name!r} in {where}, but {unread.sum():,} of "
            f"{len(column):,} hold none that can be read."
        )
    if labels is None:
        # A file in which every answer is a whole number is read as numbers.
        texts = column if isinstance(column, list) else [str(answer) for answer in column.tolist()]
        return SuiteAnswers(name, suite, texts, level=resampling.level)
    numbers = np.zeros(len(column), dtype=np.int64)
    numbers[~unread] = labels[0]
    known = {"answers": numbers, "class_names": suite.label_names, "matched": labels[1]}
    if unread.any():
        known |= _missing(
            unread, numbers, suite.label_names or range(int(labels[0].max()) + 1), labels[1]
        )
    return SuiteAnswers(name, suite, **known, level=resampling.level)


def failing_cases(
    tested: SuiteAnswers, number: int, *, limit: int | None = None, seed: int = 0
) -> list[JudgedCase]:
    """Return failing cases of a functionality, with the outcome of each example.

    Args:
        tested: A model's answers.
        number: The place of the functionality in the suite.
        limit: Maximum number of cases, sampled by (seed, name of the functionality); None for all.
        seed: Seed of the sample.

    Returns:
        The cases, in the suite's order.
    """
    passed = tested.result.passed[cases_of(tested.table, number)]
    failed = [place for place, verdict in enumerate(passed) if verdict is False]
    if limit is not None and len(failed) > limit:
        sample = item_rng(seed, tested.table.functionalities[number]).permutation(len(failed))[
            :limit
        ]
        failed = [failed[place] for place in np.sort(sample)]
    return judged_cases(tested, number, failed)


def judged_cases(
    tested: SuiteAnswers, number: int, places: Sequence[int] | None = None
) -> list[JudgedCase]:
    """Compare the answers to cases of a functionality with what is expected of them.

    Args:
        tested: A model's answers.
        number: The place of the functionality in the suite.
        places: The places of the cases in the functionality; None for all.

    Returns:
        The cases, in the order of `places`, or of the suite.
    """
    functionality = tested.suite.functionalities[number]
    answers = answers_of(tested.table, number, tested.answers, tested.probabilities)
    held, passed = evaluate_cases(functionality.expectation, answers)
    begin = int(tested.table.case_offsets[cases_of(tested.table, number).start])
    compared = is_original_first(functionality.expectation)
    judged = []
    for place in range(len(functionality.cases)) if places is None else places:
        case, first = functionality.cases[place], int(answers.offsets[place])
        verdicts = [_verdict(value) for value in held[first : first + len(case.examples)]]
        if compared:
            verdicts[0] = None
        examples = tuple(
            JudgedExample(texts, begin + row, verdict)
            for row, (texts, verdict) in enumerate(
                zip(case.examples, verdicts, strict=True), start=first
            )
        )
        judged.append(JudgedCase(case.id, _verdict(passed[place]), compared, examples))
    return judged


# ------------------------------------------------------------------------------------------------------------- private


def match_classes(
    suite: Suite, classes: Sequence[str] | int, where: str
) -> tuple[tuple[int, ...], tuple[str, ...] | None, str]:
    """Match classes, by their names or as many as a number says, with a suite's labels.

    Returns:
        The numbers of the classes, in the order of the suite's labels, then those that the suite lacks; their names in
        this order, None where they are unknown; and how they were found, in words.

    Raises:
        ValueError: If a label has no class, or it is in doubt which.
    """
    names = None if isinstance(classes, int) else tuple(classes)
    n_classes = classes if isinstance(classes, int) else len(classes)
    order = tuple(range(n_classes))
    wanted = suite.label_names
    if wanted is not None and n_classes == 2 and asks_for_neutral(suite.table()):
        wanted = (wanted[0], wanted[2])
    if wanted is not None and names is not None:
        match = match_labels(wanted, names, terms=MatchTerms(f"the suite {suite.name!r}", where))
        first = tuple(match.class_of.tolist())
        rest = tuple(number for number in order if number not in first)
        named = wanted + tuple(names[number] for number in rest)
        return first + rest, named, match.in_words
    highest = suite.table().max_label
    n_labels = len(wanted) if wanted is not None else highest + 1
    if n_classes < n_labels:
        raise ValueError(
            f"Expected a class for every label of the suite {suite.name!r}, "
            f"{format_list(wanted) if wanted is not None else f'0 to {highest}'}, but there are {n_classes} in {where}."
        )
    if wanted is not None:
        more = tuple(f"class {number}" for number in order[n_labels:])
        return order, wanted + more, f"{BY_NUMBER}, as the classes of {where} have no names"
    return order, names, f"{BY_NUMBER}, as the suite does not name its labels"


def _classified(
    suite: Suite,
    probabilities: NDArray[np.float64],
    match: tuple[tuple[int, ...], tuple[str, ...] | None, str],
    missing: NDArray[np.bool_] | None = None,
) -> dict[str, Any]:
    """Return the most probable classes, as fields; two sentiments may be spread over three.

    An answer that is missing is a class of its own.
    """
    order, class_names, matched = match
    probabilities = probabilities[:, order]
    spread = len(order) == 2 and asks_for_neutral(suite.table())
    if spread:
        probabilities, class_names = neutral_probabilities(probabilities[:, 1]), suite.label_names
    numbers = probabilities.argmax(axis=1).astype(np.int64)
    known = {
        "answers": numbers,
        "probabilities": probabilities,
        "class_names": class_names,
        "matched": matched,
    }
    if missing is not None:
        if asks_for_neutral(suite.table()):
            raise OptionError(
                f"Expected an answer to every example of {suite.name!r}, which compares the probabilities of three "
                f"sentiments, but {int(missing.sum())} of {len(numbers)} have none: scoring='sum' scores every label.",
                option="scoring",
            )
        known |= _missing(missing, numbers, class_names or range(probabilities.shape[1]), matched)
        known["probabilities"] = np.column_stack(
            [np.where(missing[:, None], 0.0, probabilities), missing]
        )
    return {**known, "spread": spread}


def _missing(
    missing: NDArray[np.bool_],
    numbers: NDArray[np.int64],
    class_names: Sequence[object],
    matched: str,
) -> dict[str, Any]:
    """Make a class of its own, which no label is, of what has no answer."""
    said = f"; {int(missing.sum())} of {len(numbers)} examples have no answer, which is no label"
    return {
        "answers": np.where(missing, len(class_names), numbers),
        "class_names": (*map(str, class_names), NO_ANSWER),
        "matched": matched + said,
    }


def _completed(
    scores: Scores, ids: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
    """Return the probabilities of every example, even where it has no answer, and which have none."""
    probabilities = softmax(np.asarray(scores.logits, dtype=np.float64))
    if not scores.failures:
        return probabilities, None
    answered = {each: row for row, each in enumerate(scores.ids)}
    missing = np.array([each not in answered for each in ids])
    completed = np.full((len(ids), probabilities.shape[1]), 1 / probabilities.shape[1])
    completed[~missing] = probabilities[[answered[each] for each in ids if each in answered]]
    return completed, missing


def _verdict(value: float) -> bool | None:
    return None if np.isnan(value) else bool(value)


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


def measure_reading(
    classifier: Classifier, suite: Suite, *, resampling: Resampling = Resampling(), **running: Any
) -> SuiteAnswers:
    """Ask a question-answering model every example of a suite of reading and score its answers.

    Args:
        classifier: From `load_question_answering`.
        suite: A suite with the text columns question and context, such as checklist_reading.
        resampling: Level of the intervals.
        **running: As in `predict_answers`: max_length, batch_size, progress, out.

    Returns:
        The model's answers in the suite's order, and its pass rates.

    Raises:
        ValueError: If the suite has other texts, or the model is of another kind.
    """
    from rightreasons.models.spans import predict_answers

    questions, contexts = reading_texts(suite)
    answers = predict_answers(
        classifier, questions, contexts, ids=[row["id"] for row in suite.examples()], **running
    )
    return SuiteAnswers(classifier.name, suite, list(answers.texts), level=resampling.level)


@accept_options_as_keywords(ScoreOptions, exclude=("confidence_column", "correct_column"))
def read_suite_answers(path: Any, suite: Suite, *, options: ScoreOptions) -> ModelAnswers:
    """Read stored answers to a suite.

    Args:
        path: A table as in `read_answers`. One whose ids are those of `Suite.examples()`, and perhaps more, may be in
            any order.
        suite: The suite, whose labels the table is read by.
        options: score_columns, scores and log_filter, as in `read_predictions`.

    Returns:
        The answers, one per example.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the table has no answers, or columns of scores with names that the suite does not number.
    """
    return _by_number(_in_order(read_answers(path, options=options), suite), suite)


def _in_order(answers: ModelAnswers, suite: Suite) -> ModelAnswers:
    """Bring answers whose ids are those of the suite into its order; others are left as they are."""
    ids = [row["id"] for row in suite.examples()]
    row_of = {name: row for row, name in enumerate(answers.ids or ())}
    if row_of.keys().isdisjoint(ids) or len(row_of) < len(answers):
        return answers
    missing = next((name for name in ids if name not in row_of), None)
    if missing is not None:
        raise ValueError(
            f"Expected a prediction for each example of the suite {suite.name!r}, but there is none for {missing}."
        )
    return answers.take([row_of[name] for name in ids])


def _by_number(answers: ModelAnswers, suite: Suite) -> ModelAnswers:
    """Bring scores whose columns have names into the order of the numbers of a suite that does not name its labels."""
    names = answers.label_names
    if (
        suite.label_names is not None
        or names is None
        or answers.scores is None
        or answers.scores.ndim < 2
    ):
        return answers
    said = parse_label_numbers(names)
    if said is None or sorted(said) != [*range(len(names))]:
        raise ValueError(
            f"Expected columns of scores that are numbered as the labels of the suite {suite.name!r}, whose first line "
            f"has no `label_names`, but they are {format_list(names)}."
        )
    order = np.argsort(said)
    named = tuple(names[place] for place in order)
    return dataclasses.replace(answers, scores=answers.scores[:, order], label_names=named)
