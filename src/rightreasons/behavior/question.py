"""Does a model pass basic behavioral tests? Pass rates of a suite, and cases that fail.

`BEHAVIOR` is the question: its figures, its verdict and the parts of its page. The sentences are in
question.md.j2.
"""

from __future__ import annotations

import dataclasses
import operator
import shlex
from collections.abc import Iterator
from typing import Any

from rightreasons.audited.context import AuditContext
from rightreasons.audited.examples import list_differences
from rightreasons.behavior.cases import JudgedCase, JudgedExample, failing_cases
from rightreasons.behavior.measure import SuiteAnswers, measure_behavior
from rightreasons.behavior.options import BehaviorOptions, LearningSource
from rightreasons.behavior.plots import HOW_TO_READ, SOURCE, behavior_heat_map, list_columns
from rightreasons.behavior.rates import FunctionalityResult, find_low_pass_rates
from rightreasons.behavior.words import (
    TYPES,
    describe_expectation,
    describe_expected_answer,
    describe_movement,
)
from rightreasons.core.decisions import Decision, Margin, decide
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.core.resampling import Resampling
from rightreasons.core.sentences import pluralize
from rightreasons.core.suites import TEST_TYPES
from rightreasons.models.fingerprints import fingerprint_texts
from rightreasons.page import parts as p
from rightreasons.page.formats import describe_unscored_items, percent, short_name
from rightreasons.page.plots import Drawing
from rightreasons.page.prose import prose
from rightreasons.page.question import Figure, Lead, Need, Part, Plot, Question, Rule, Table, Tables

RIBEIRO = "Ribeiro et al. 2020"

WEAK = 0.9
"""Pass rate below which a functionality is weak."""

POOR = 0.5
"""Pass rate below which a functionality is poor."""

MAX_WEAKEST = 12
"""Number of functionalities that the first screen shows if the suite has many."""

SHORTFALL = Margin(small=1 - WEAK, large=1 - POOR)
"""Margins of the distance of the mean pass rate from 1."""


@dataclasses.dataclass(frozen=True, eq=False)
class BehaviorMeasurement:
    """Pass rates of a model on a suite, and the figures that the report derives from them.

    Attributes:
        answers: Answers of the model.
        resampling: Level of the intervals, and seed of the sample of failing cases.
        examples: Maximum number of failing cases shown per functionality.
        learning: Names of the model, the suite and the data for the command that plans training on the
            suite. None if the model cannot be trained here, or its name is unknown.
    """

    answers: SuiteAnswers
    resampling: Resampling = Resampling()
    examples: int = 3
    learning: LearningSource | None = None

    @property
    def n_items(self) -> int:
        """The number of examples of the suite."""
        return self.answers.suite.n_examples

    @property
    def mean(self) -> Estimate:
        """The mean pass rate over functionalities."""
        result = self.answers.result
        return make_estimate(result.behavioral_pass_rate, result.interval)

    @property
    def defined(self) -> list[FunctionalityResult]:
        """The functionalities with an applicable case, the weakest first."""
        return [result for _, result in self.answers.weakest if result.pass_rate is not None]

    @property
    def n_cases(self) -> int:
        """The number of applicable cases."""
        return sum(result.n_cases for result in self.defined)

    @property
    def n_repeated(self) -> int:
        """The number of applicable cases that repeat an earlier text of their functionality."""
        return self.answers.result.n_repeated

    @property
    def n_failed(self) -> int:
        """The number of cases that fail."""
        return self.answers.result.passed.count(False)

    @property
    def weak(self) -> int:
        """The number of functionalities with a pass rate significantly below `WEAK`."""
        return len(find_low_pass_rates(self.answers.result.functionalities, WEAK))

    @property
    def poor(self) -> int:
        """The number of functionalities with a pass rate significantly below `POOR`."""
        return len(find_low_pass_rates(self.answers.result.functionalities, POOR))

    @property
    def shortfall(self) -> Decision:
        """The decision whether 1 minus the mean pass rate is small or large."""
        mean = self.mean
        if mean.value is None or mean.low is None or mean.high is None:
            return Decision("unknown", self.n_cases)
        # The upper limit of the pass rate is the lower limit of its distance from 1.
        distance = Estimate(1 - mean.value, low=1 - mean.high, high=1 - mean.low)
        return decide(distance, SHORTFALL, self.n_cases)

    @property
    def not_scored(self) -> tuple[str, ...]:
        """Sentences about the examples that the model could not answer, which count as failed."""
        failures = self.answers.failures
        n_scored = self.n_items - len(failures)
        return describe_unscored_items("example", n_scored, tuple(failures.items()))

    def get_type_rate(self, test_type: str) -> Estimate | None:
        """Return the mean pass rate of a test type; None if the suite has no test of this type."""
        group = self.answers.result.test_types.get(test_type)
        if group is None:
            return None
        return make_estimate(group.pass_rate, group.interval)


def measure(context: AuditContext, options: BehaviorOptions) -> BehaviorMeasurement:
    """Predict every example of the suite with the audited model, and compute the pass rates.

    Args:
        context: The audit: the model, and the folder of stored answers.
        options: Options of the question, with the name of the suite.

    Raises:
        ValueError: If no suite is named.
    """
    suite = context.suite(options)
    if suite is None:
        raise ValueError("Expected a behavioral suite, but got none.")
    # The name of the folder depends on the texts, so that stored answers are reused only for the same
    # suite.
    fingerprint = fingerprint_texts(["\0".join(texts) for texts in suite.texts()])
    folder = context.folder("behavior", fingerprint)
    answers = measure_behavior(
        context.scorer,
        suite,
        resampling=context.resampling,
        **context.get_run_arguments(folder),
    )
    return BehaviorMeasurement(
        answers, context.resampling, learning=_find_learning_source(context, options)
    )


def _find_learning_source(context: AuditContext, options: BehaviorOptions) -> LearningSource | None:
    """Return the names of the model, the suite and the data for a plan of training on the suite.

    Args:
        context: The audit. `command` is the command line that repeats it; "" if its model or data is
            an object in memory.
        options: Options of the question, with the name of the suite.

    Returns:
        The names; None if the model is a language model, or if the model, the data or the suite is an
        object in memory.
    """
    is_language_model = context.prompted is not None
    if is_language_model or not context.command or not isinstance(options.suite, str):
        return None
    # The command is "rightreasons audit MODEL DATASET …".
    _, _, model, dataset, *_ = shlex.split(context.command)
    settings: dict[str, Any] = {
        "max_cases": options.max_cases,
        "data_dir": context.settings.data_dir,
        "known_issues": context.settings.known_issues,
    }
    # Training needs other data than the test. Without it, the reader has to replace the word DATA.
    data = "DATA"
    if context.train is not None:
        data = dataset
        settings["test_split"] = context.primary.name
    return LearningSource(model=model, suite=options.suite, data=data, settings=settings)


def asks_a_classifier(context: AuditContext, options: BehaviorOptions) -> bool:
    """Return whether the suite of the audit can be answered by a classifier.

    Args:
        context: The audit, which opens the suite.
        options: Options of the question, with the name of the suite.
    """
    suite = context.suite(options)
    if suite is None:
        return False
    # In a suite of reading, the labels are texts, which are not classes.
    return not any(isinstance(label, str) for label in suite.table().labels)


# --------------------------------------------------------------------- picture and tables


def draw_rates(_: str, measurement: BehaviorMeasurement) -> Drawing:
    """Draw the heat map of the pass rates of all functionalities.

    Args:
        _: Key of the picture, which is always "behavior_heat_map".
        measurement: Pass rates of the model, from `measure`.
    """
    result = measurement.answers.result
    return behavior_heat_map(
        "behavior_heat_map",
        rows={short_name(measurement.answers.name): result},
        functionalities=list_columns(result),
    )


def draw_weakest(key: str, measurement: BehaviorMeasurement) -> Drawing:
    """Draw the heat map of the weakest functionalities, with their numbers in the suite.

    Args:
        key: Key of the picture in the report.
        measurement: Pass rates of the model, from `measure`.
    """
    columns = list_columns(measurement.answers.result)
    rates = {}
    functionalities = []
    numbers = []
    for index, result in measurement.answers.weakest[:MAX_WEAKEST]:
        rates[result.functionality] = result.pass_rate
        functionalities.append(columns[index])
        numbers.append(index + 1)
    return behavior_heat_map(
        key,
        rows={short_name(measurement.answers.name): rates},
        functionalities=functionalities,
        numbers=numbers,
    )


def list_group_rows(measurement: BehaviorMeasurement) -> Iterator[tuple[p.Cell, ...]]:
    """Yield (name, "type" or "class", mean pass rate, number of functionalities) of each group."""
    # Every functionality is in one group of each kind; the table has both.
    groups = [("type", name, group) for name, group in measurement.answers.test_types]
    for name, group in measurement.answers.result.classes.items():
        groups.append(("class", name, group))
    for kind, name, group in groups:
        estimate = make_estimate(group.pass_rate, group.interval)
        yield name, kind, estimate, group.n_functionalities


def list_functionality_rows(measurement: BehaviorMeasurement) -> Iterator[tuple[p.Cell, ...]]:
    """Yield the cells of the table of functionalities, the weakest first.

    Args:
        measurement: Pass rates of the model, from `measure`.

    Yields:
        Number and name, class, test type, pass rate with its interval, and numbers of applicable, failed
        and filtered cases.
    """
    for index, result in measurement.answers.weakest:
        yield (
            # Functionalities have the same numbers in the heat map.
            f"{index + 1}. {result.functionality}",
            result.functionality_class,
            result.test_type,
            make_estimate(result.pass_rate, result.interval),
            result.n_cases,
            result.n_cases - result.n_passed,
            result.n_filtered,
        )


# -------------------------------------------------------------------------- failing cases


def list_failing_cases(measurement: BehaviorMeasurement) -> Iterator[p.ExampleList]:
    """Yield a list of failing cases for each functionality that has some, the weakest first."""
    if not measurement.examples:
        return
    for index, result in measurement.answers.weakest:
        n_failed = result.n_cases - result.n_passed
        if n_failed > 0:
            yield _make_example_list(measurement, index, result, n_failed)


def _make_example_list(
    measurement: BehaviorMeasurement, index: int, result: FunctionalityResult, n_failed: int
) -> p.ExampleList:
    """Return a titled list of failing cases of one functionality.

    Args:
        measurement: Pass rates of the model, from `measure`; `examples` limits the number of
            cases.
        index: Index of the functionality in the suite.
        result: Pass rate of the functionality.
        n_failed: Number of its cases that fail, at least 1.
    """
    # With the same seed, the page shows the same cases whenever it is written.
    cases = failing_cases(
        measurement.answers, index, limit=measurement.examples, seed=measurement.resampling.seed
    )
    note = describe_expectation(measurement.answers, index)
    if len(cases) < n_failed:
        note = f"{len(cases)} of them, sampled by the seed. {note}"
    verb = "fails" if n_failed == 1 else "fail"
    return p.ExampleList(
        key=f"failing_{index + 1}",
        title=(
            f"{index + 1}. {result.functionality} "
            f"({result.functionality_class}, {result.test_type}): "
            f"{n_failed:,} of {pluralize(result.n_cases, 'case')} {verb}"
        ),
        note=note,
        examples=tuple(_make_example(measurement.answers, index, case) for case in cases),
        folded=True,
    )


def _make_example(answers: SuiteAnswers, index: int, case: JudgedCase) -> p.Example:
    """Return the first failing example of a case for the page, compared with the original of the case.

    Args:
        answers: Answers of the model.
        index: Index of the functionality in the suite.
        case: A failing case.
    """
    example = _find_failing_example(case)
    text, *other_texts = example.texts
    notes: list[str] = []
    marks: tuple[p.Mark, ...] = ()
    if case.has_original:
        # Mark the words that differ from the original.
        original_text = case.examples[0].texts[0]
        marks = list_differences(original_text, text)
        notes += _describe_change(answers, index, case, example)

    # The number of failing examples is of interest if several were judged.
    outcomes = [judged.passed for judged in case.examples if judged.passed is not None]
    if len(outcomes) > 1:
        n_failed = outcomes.count(False)
        verb = "fails" if n_failed == 1 else "fail"
        notes.append(f"{n_failed} of the {len(outcomes)} examples of this case {verb}.")
    return p.Example(
        id=f"{index + 1}/{case.id}",
        text=text,
        text_pair=" | ".join(other_texts),
        label=describe_expected_answer(answers, index, example),
        prediction=answers.describe_answer(answers.answers[example.row]),
        confidence=answers.get_confidence(example.row),
        marks=marks,
        note=" ".join(notes),
    )


def _find_failing_example(case: JudgedCase) -> JudgedExample:
    """Return the first example of a case that fails; the last example if none does."""
    for example in case.examples:
        if example.passed is False:
            return example
    return case.examples[-1]


def _describe_change(
    answers: SuiteAnswers, index: int, case: JudgedCase, example: JudgedExample
) -> list[str]:
    """Describe how an example and its answer differ from the original of its case.

    Args:
        answers: Answers of the model.
        index: Index of the functionality in the suite.
        case: The case, whose first example is the original.
        example: Another example of it.

    Returns:
        Sentences: the original text with its answer, the change of the confidence if probabilities are
        known, and the words that were replaced if the suite lists them.
    """
    original = case.examples[0]
    original_text = " | ".join(original.texts)
    notes = [f"Original: “{original_text}”, answered {_describe_answer(answers, original)}."]
    movement = describe_movement(answers, index, case, example)
    if movement:
        notes.append(f"{movement}.")
    # In a suite of reading, replaced words may be part of the expected answer.
    replacements = answers.table.meta
    if replacements is not None and replacements[example.row]:
        words, replacement = replacements[example.row]
        notes.append(f"“{words}” is “{replacement}” here.")
    return notes


def _describe_answer(answers: SuiteAnswers, example: JudgedExample) -> str:
    """Describe the answer to an example, such as "positive (93%)".

    Args:
        answers: Answers of the model.
        example: The example. If the model gives no probabilities, the percentage is omitted.
    """
    answer = answers.describe_answer(answers.answers[example.row])
    confidence = answers.get_confidence(example.row)
    if confidence is None:
        return answer
    return f"{answer} ({percent(confidence)})"


# ----------------------------------------------------------------------------------- data


def list_item_figures(measurement: BehaviorMeasurement) -> Iterator[p.ItemFigure]:
    """Yield the outcome of each case, by which the reports of two models can be compared.

    Args:
        measurement: Pass rates of the model, from `measure`.

    Yields:
        One figure with the outcomes, functionalities and clusters of the applicable cases; nothing if
        there are none.
    """
    table = measurement.answers.table
    ids = []
    outcomes = []
    functionalities = []
    clusters = []
    for row, passed in enumerate(measurement.answers.result.passed):
        # Skip a case to which the expectation does not apply.
        if passed is None:
            continue
        number = int(table.case_functionality[row])
        ids.append(f"{row}/{table.case_ids[row]}")
        outcomes.append(passed)
        functionalities.append(table.functionalities[number])
        if table.case_clusters is not None:
            clusters.append(str(table.case_clusters[row]))
    if ids:
        yield p.ItemFigure.from_arrays(
            "pass_rate",
            "Mean pass rate over functionalities",
            "higher",
            ids,
            outcomes,
            groups=tuple(functionalities),
            clusters=tuple(clusters),
        )


def describe_data(measurement: BehaviorMeasurement) -> dict[str, Any]:
    """Return the suite and all pass rates for audit.json.

    Args:
        measurement: Pass rates of the model, from `measure`.
    """
    suite = measurement.answers.suite
    failures = measurement.answers.failures.items()
    pass_rates = measurement.answers.result.to_dict()
    # Omit the outcomes of the single cases, of which there may be tens of thousands. They are in
    # pass_rates.json.
    del pass_rates["passed"]
    return {
        "suite": {
            "name": suite.name,
            "text_columns": list(suite.text_columns),
            "n_cases": suite.n_cases,
            "n_examples": suite.n_examples,
        },
        "labels": measurement.answers.matched,
        "two_sentiments_spread_over_three": measurement.answers.spread,
        "not_answered": [{"id": id_, "reason": reason} for id_, reason in failures],
        "pass_rates": pass_rates,
    }


def _list_figures() -> dict[str, Any]:
    """Return name of a headline figure -> function that gets it from a measurement.

    The figures are `pass_rate`, and one for each test type, such as `pass_rate_mft`, because a model
    may pass all tests of one type and fail the others: always the same answer passes invariance tests.
    """
    getters: dict[str, Any] = {"pass_rate": operator.attrgetter("mean")}
    for test_type in TEST_TYPES:
        name = f"pass_rate_{test_type.lower()}"
        getters[name] = operator.methodcaller("get_type_rate", test_type)
    return getters


RATES = _list_figures()


def _make_figure(name: str, value: Any) -> Figure:
    """Return a headline figure."""
    return Figure(name, value, RIBEIRO, better="higher", split=lambda m: m.answers.suite.name)


def _find_weakest_example(measurement: BehaviorMeasurement) -> Any:
    """Return a failing case of the weakest functionality that has one, to lead the page."""
    # Functionalities come weakest first, and only those with a failing case.
    for examples in list_failing_cases(measurement):
        return examples.examples[:1]
    return ()


def _has_many_functionalities(measurement: BehaviorMeasurement) -> bool:
    """Return whether a picture of all functionalities is too high for the first screen."""
    return len(measurement.answers.suite.functionalities) > 2 * MAX_WEAKEST


BEHAVIOR = Question(
    name="behavior",
    title="Does it pass basic behavioral tests?",
    prose=prose(__file__, WEAK=WEAK, TYPES=TYPES, HOW_TO_READ=HOW_TO_READ, MAX_WEAKEST=MAX_WEAKEST),
    needs_labels=False,
    without_model=(
        "A suite asks the model about other texts. To score stored answers to a suite, use "
        "`rightreasons behavior SUITE --predictions FILE`."
    ),
    needs=(
        Need("suite", lambda context, options: context.suite(options) is not None),
        Need("classifier", lambda context, options: context.task == "classification"),
        Need("labels", asks_a_classifier),
    ),
    measure=measure,
    figures=tuple(_make_figure(name, value) for name, value in RATES.items()),
    headlines=tuple(RATES),
    # The first rule that holds decides.
    verdict=(
        Rule("neutral", "nothing", lambda m: not m.defined),
        Rule("neutral", "one_answer", lambda m: m.answers.one_answer and not m.weak),
        Rule("good", "passes", lambda m: m.shortfall.level == "small" and not m.weak),
        Rule("warn", "on_average", lambda m: m.shortfall.level in ("some", "large") and not m.weak),
        Rule("neutral", "too_few", lambda m: not m.weak),
        Rule("bad", "poor", lambda m: m.poor),
        Rule("warn", "weak"),
    ),
    parts=(
        Part(
            "rates",
            (
                Plot("heat_map", draw_rates, SOURCE, wide=True),
                Plot("weakest", draw_weakest, SOURCE, condition=_has_many_functionalities),
                Table("pass_rates_by_group", list_group_rows, RIBEIRO),
            ),
        ),
        Part("functionalities", (Table("functionalities", list_functionality_rows, RIBEIRO),)),
        Part("failing", (Tables("failing", list_failing_cases),), condition=lambda m: m.examples),
    ),
    leads=(
        Lead("nothing", condition=lambda m: not m.defined),
        Lead(
            "rate",
            figure="pass_rate",
            # Without this picture, the page shows that of all functionalities.
            plot="weakest",
            size=lambda m: 1 - m.mean.value,
            pair=_find_weakest_example,
        ),
    ),
    data=describe_data,
    by_item=list_item_figures,
)
