"""Does it pass basic behavioral tests? Pass rates of a behavioral suite, and cases that fail."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator
from typing import Any

from rightreasons.audited.context import AuditContext, changes
from rightreasons.behavior.measure import (
    JudgedCase,
    JudgedExample,
    SuiteAnswers,
    failing_cases,
    measure_behavior,
)
from rightreasons.behavior.options import BehaviorOptions
from rightreasons.behavior.plots import (
    HOW_TO_READ,
    SOURCE,
    TYPES,
    behavior_heat_map,
    columns_of,
    expected_answer,
    movement,
    rule,
)
from rightreasons.behavior.rates import FunctionalityResult, clearly_below
from rightreasons.core.decisions import Decision, Margin, decide
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.core.resampling import Resampling
from rightreasons.core.sentences import pluralize
from rightreasons.core.suites import TEST_TYPES
from rightreasons.models.running import fingerprint_texts
from rightreasons.page import parts as p
from rightreasons.page.plots import Drawing
from rightreasons.page.prose import not_scored_told, percent, prose, short_name
from rightreasons.page.question import Figure, Lead, Need, Part, Plot, Question, Rule, Table, Tables

RIBEIRO = "Ribeiro et al. 2020"
WEAK, POOR = 0.9, 0.5
"""A functionality is called weak, or poor, where the whole interval of its pass rate lies below."""

SHORTFALL = Margin(small=1 - WEAK, large=1 - POOR)
"""What the mean pass rate may lack of 1."""


@dataclasses.dataclass(frozen=True, eq=False)
class BehaviorMeasurement:
    """What a model passes of a suite, and what of it is shown.

    Attributes:
        answers: The model's answers.
        resampling: How the intervals were made; its seed decides which failing cases are shown.
        examples: Failing cases shown per functionality.
    """

    answers: SuiteAnswers
    resampling: Resampling = Resampling()
    examples: int = 3

    @property
    def n_items(self) -> int:
        """The number of examples of the suite."""
        return self.answers.suite.n_examples

    @property
    def mean(self) -> Estimate:
        """The mean pass rate over functionalities."""
        return make_estimate(self.answers.result.behavioral_pass_rate, self.answers.result.interval)

    @property
    def defined(self) -> list[FunctionalityResult]:
        """The functionalities with a case that applies, the weakest first."""
        return [each for _, each in self.answers.weakest if each.pass_rate is not None]

    @property
    def n_cases(self) -> int:
        """The number of cases that apply."""
        return sum(each.n_cases for each in self.defined)

    @property
    def n_failed(self) -> int:
        """The number of cases that fail."""
        return self.answers.result.passed.count(False)

    @property
    def weak(self) -> int:
        """How many functionalities surely pass fewer than `WEAK` of their cases."""
        return len(clearly_below(self.answers.result.functionalities, WEAK))

    @property
    def poor(self) -> int:
        """How many functionalities surely pass fewer than `POOR` of their cases."""
        return len(clearly_below(self.answers.result.functionalities, POOR))

    @property
    def shortfall(self) -> Decision:
        """What the mean pass rate surely lacks of 1."""
        if self.mean.value is None or self.mean.low is None or self.mean.high is None:
            return Decision("unknown", self.n_cases)
        return decide(
            Estimate(1 - self.mean.value, 1 - self.mean.high, 1 - self.mean.low),
            SHORTFALL,
            self.n_cases,
        )

    @property
    def not_scored(self) -> tuple[str, ...]:
        """Which examples the model could not answer, in words."""
        failures = self.answers.failures
        return not_scored_told("example", self.n_items - len(failures), tuple(failures.items()))

    def of_type(self, kind: str) -> Estimate | None:
        """Return the mean pass rate of a test type; None where the suite has none of it."""
        group = self.answers.result.test_types.get(kind)
        return None if group is None else make_estimate(group.pass_rate, group.interval)


def measure(context: AuditContext, options: BehaviorOptions) -> BehaviorMeasurement:
    """Ask the model every example of the suite."""
    suite = context.suite(options)
    if suite is None:
        raise ValueError("Expected a behavioral suite, but none was named.")
    answers = measure_behavior(
        context.scorer,
        suite,
        resampling=context.resampling,
        **context.running(
            context.folder(
                "behavior", fingerprint_texts(["\0".join(texts) for texts in suite.texts()])
            )
        ),
    )
    return BehaviorMeasurement(answers, context.resampling)


def asks_a_classifier(context: AuditContext, options: BehaviorOptions) -> bool:
    """Tell whether the answers to a suite are labels."""
    suite = context.suite(options)
    return suite is not None and not any(isinstance(label, str) for label in suite.table().labels)


def draw_rates(_: str, m: BehaviorMeasurement) -> Drawing:
    """Draw the pass rates of the functionalities."""
    rows = {short_name(m.answers.name): m.answers.result}
    return behavior_heat_map(
        "behavior_heat_map", rows=rows, functionalities=columns_of(m.answers.result)
    )


def group_rows(m: BehaviorMeasurement) -> Iterator[tuple[p.Cell, ...]]:
    """Return the means by test type and by class."""
    groups = [("type", *pair) for pair in m.answers.test_types]
    groups += [("class", *pair) for pair in m.answers.result.classes.items()]
    for kind, name, group in groups:
        yield name, kind, make_estimate(group.pass_rate, group.interval), group.n_functionalities


def functionality_rows(m: BehaviorMeasurement) -> Iterator[tuple[p.Cell, ...]]:
    """Return the functionalities, the weakest first."""
    for number, each in m.answers.weakest:
        rate = make_estimate(each.pass_rate, each.interval)
        name = f"{number + 1}. {each.functionality}"
        failed = each.n_cases - each.n_passed
        yield (
            name,
            each.functionality_class,
            each.test_type,
            rate,
            each.n_cases,
            failed,
            each.n_filtered,
        )


def failing(m: BehaviorMeasurement) -> Iterator[p.ExampleList]:
    """Show failing cases of each functionality, the weakest first."""
    for number, each in m.answers.weakest if m.examples else ():
        n_failed = each.n_cases - each.n_passed
        if not n_failed:
            continue
        cases = failing_cases(m.answers, number, limit=m.examples, seed=m.resampling.seed)
        sampled = f"{len(cases)} of them, sampled by the seed. " if len(cases) < n_failed else ""
        yield p.ExampleList(
            key=f"failing_{number + 1}",
            title=f"{number + 1}. {each.functionality} ({each.functionality_class}, {each.test_type}): "
            f"{n_failed:,} of {pluralize(each.n_cases, 'case')} {'fails' if n_failed == 1 else 'fail'}",
            note=f"{sampled}{rule(m.answers, number)}",
            examples=tuple(_example(m.answers, number, case) for case in cases),
            folded=True,
        )


def _example(answers: SuiteAnswers, number: int, case: JudgedCase) -> p.Example:
    """Show the first example of a case that fails; if it was compared, with the original."""
    shown = next((example for example in case.examples if example.held is False), case.examples[-1])
    notes: list[str] = []
    marks: tuple[p.Mark, ...] = ()
    if case.compared:
        original = case.examples[0]
        marks = changes(original.texts[0], shown.texts[0])
        moved = movement(answers, number, case, shown)
        pair = None if answers.table.meta is None else answers.table.meta[shown.row]
        notes += [
            f"Original: “{' | '.join(original.texts)}”, answered {_answer(answers, original)}.",
            *([f"{moved}."] if moved else []),
            *([f"“{pair[0]}” is “{pair[1]}” here."] if pair else []),
        ]
    judged = [example.held for example in case.examples if example.held is not None]
    if len(judged) > 1:
        failed = judged.count(False)
        notes.append(
            f"{failed} of the {len(judged)} examples of this case {'fails' if failed == 1 else 'fail'}."
        )
    return p.Example(
        id=f"{number + 1}/{case.id}",
        text=shown.texts[0],
        text_pair=" | ".join(shown.texts[1:]),
        label=expected_answer(answers, number, shown),
        prediction=answers.called(answers.answers[shown.row]),
        confidence=answers.confidence(shown.row),
        marks=marks,
        note=" ".join(notes),
    )


def _answer(answers: SuiteAnswers, example: JudgedExample) -> str:
    confidence, answer = (
        answers.confidence(example.row),
        answers.called(answers.answers[example.row]),
    )
    return answer if confidence is None else f"{answer} ({percent(confidence)})"


def by_item(m: BehaviorMeasurement) -> Iterator[p.ItemFigure]:
    """Say which cases pass, by functionality."""
    table, passed = m.answers.table, m.answers.result.passed
    rows = [row for row, each in enumerate(passed) if each is not None]
    if rows:
        yield p.ItemFigure.of(
            "pass_rate",
            "Mean pass rate over functionalities",
            "higher",
            [f"{row}/{table.case_ids[row]}" for row in rows],
            [bool(passed[row]) for row in rows],
            groups=tuple(table.functionalities[int(table.case_functionality[row])] for row in rows),
        )


def data(m: BehaviorMeasurement) -> dict[str, Any]:
    """Return the suite and all pass rates; which of tens of thousands of cases pass is left to pass_rates.json."""
    suite = m.answers.suite
    return {
        "suite": {
            "name": suite.name,
            "text_columns": list(suite.text_columns),
            "n_cases": suite.n_cases,
            "n_examples": suite.n_examples,
        },
        "labels": m.answers.matched,
        "two_sentiments_spread_over_three": m.answers.spread,
        "not_answered": [
            {"id": name, "reason": reason} for name, reason in m.answers.failures.items()
        ],
        "pass_rates": {
            name: value for name, value in m.answers.result.to_dict().items() if name != "passed"
        },
    }


_BY_TYPE = {
    f"pass_rate_{kind.lower()}": operator.methodcaller("of_type", kind) for kind in TEST_TYPES
}
RATES: dict[str, Any] = {"pass_rate": operator.attrgetter("mean"), **_BY_TYPE}

BEHAVIOR = Question(
    name="behavior",
    title="Does it pass basic behavioral tests?",
    prose=prose(__file__, WEAK=WEAK, TYPES=TYPES, HOW_TO_READ=HOW_TO_READ),
    needs_labels=False,
    without_model="A suite asks the model about other texts; "
    "stored answers to a suite are scored by `rightreasons behavior SUITE --predictions FILE`.",
    needs=(
        Need("suite", lambda context, options: context.suite(options) is not None),
        Need("classifier", lambda context, options: context.task == "classification"),
        Need("labels", asks_a_classifier),
    ),
    measure=measure,
    figures=tuple(
        Figure(name, value, RIBEIRO, better="higher", split=lambda m: m.answers.suite.name)
        for name, value in RATES.items()
    ),
    headlines=tuple(RATES),
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
                Table("pass_rates_by_group", group_rows, RIBEIRO),
            ),
        ),
        Part("functionalities", (Table("functionalities", functionality_rows, RIBEIRO),)),
        Part("failing", (Tables("failing", failing),), when=lambda m: m.examples),
    ),
    leads=(
        Lead("nothing", when=lambda m: not m.defined),
        Lead(
            "rate",
            figure="pass_rate",
            size=lambda m: 1 - m.mean.value,
            pair=lambda m: next((each.examples[:1] for each in failing(m)), ()),
        ),
    ),
    data=data,
    by_item=by_item,
)
