"""Does it do what it is asked, one ability at a time? Pass rates of a behavioral suite, and cases that fail."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.analysis.behavior.pass_rates import FunctionalityResult, GroupResult
from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.parts import (
    APPLIES,
    Applicability,
    Column,
    Example,
    ExampleList,
    Headline,
    Mark,
    Part,
    Plot,
    SectionResult,
    Table,
    Verdict,
    applies_not,
)
from rightreasons.auditing.page.words import fraction, percent, with_interval
from rightreasons.auditing.questions.behavior.plots import behavior_heat_map, columns_of
from rightreasons.data.suites.suite import Suite
from rightreasons.measuring.behavior import ask
from rightreasons.measuring.behavior_answers import JudgedCase, JudgedExample, SuiteAnswers, failing_cases
from rightreasons.measuring.estimates import estimate_of
from rightreasons.measuring.options import BehaviorOptions

RIBEIRO = "Ribeiro et al. 2020"
WEAK, POOR = 0.9, 0.5
"""A functionality is called weak, or poor, where the whole interval of its pass rate lies below."""

EXAMPLES = 3
"""Failing cases that the report shows of a functionality."""

TYPES = {
    "MFT": "minimum functionality tests (MFT) have a known answer",
    "INV": "invariance tests (INV) change what should not matter, and the answer must stay",
    "DIR": "directional tests (DIR) change what should matter, and the answer must not move the wrong way",
}

OFFENSIVE = (
    "The texts of a suite stand here as they are. Some name groups of people, and some may be abusive: suites test for "
    "that."
)


class Behavior:
    """Pass rates of a suite by functionality, class and test type.

    It is asked where a suite is named: the options of this question are `suite` (a name or a file), `data_dir`,
    `max_cases` (of each functionality) and `examples` (failing cases shown of each; default 3).
    """

    question = "behavior"
    title = "Does it do what it is asked, one ability at a time?"
    order = 6
    needs_labels = False

    def applies(self, context: AuditContext, options: BehaviorOptions) -> Applicability:
        """Ask for a classifier and a suite of texts to classify."""
        suite = context.suite(options)
        if suite is None:
            return applies_not(
                "No behavioral suite was named; name one with `--behavior-suite`, such as checklist_sentiment."
            )
        if context.task != "classification":
            return applies_not("Behavioral suites are put to classifiers.")
        if any(isinstance(label, str) for label in suite.table().labels):
            return applies_not(f"The suite {suite.name!r} asks for answers that are texts, and this is a classifier.")
        return APPLIES

    def run(self, context: AuditContext, options: BehaviorOptions) -> SectionResult:
        """Answer the question."""
        suite = context.suite(options)
        if suite is None:
            raise ValueError("Expected a behavioral suite, but none was named.")
        tested = ask(
            context.classifier,
            suite,
            batch_size=context.batch_size,
            resampling=context.resampling,
            progress=context.progress,
            out=context.folder("behavior", _digest(suite)),
        )
        return behavior_result(
            tested,
            confidence_level=context.confidence_level,
            seed=context.seed,
            examples=options.examples,
        )


SECTION = Behavior()


def behavior_result(
    tested: SuiteAnswers,
    *,
    confidence_level: float = 0.95,
    seed: int = 0,
    examples: int = EXAMPLES,
    key: str = "behavior",
) -> SectionResult:
    """Tell what a model passes of a suite.

    Args:
        tested: What it answered.
        confidence_level: The level of the intervals.
        seed: Decides which failing cases are shown.
        examples: How many of each functionality.
        key: What the keys of the pictures begin with, so that several results can stand on one page.

    Returns:
        The section.
    """
    return SectionResult(
        verdict=_verdict(tested),
        headlines=_headlines(tested),
        parts=(
            _overview_part(tested, confidence_level, key),
            _functionalities_part(tested, confidence_level),
            _failures_part(tested, seed, examples),
        ),
        limits=_limits(tested),
        data={
            "suite": {
                "name": tested.suite.name,
                "text_columns": list(tested.suite.text_columns),
                "n_cases": tested.suite.n_cases,
                "n_examples": tested.suite.n_examples,
            },
            "two_sentiments_spread_over_three": tested.spread,
            # Which of tens of thousands of cases pass is not for this file; `rightreasons behavior` writes it.
            "pass_rates": {name: value for name, value in tested.result.to_dict().items() if name != "passed"},
        },
    )


def short_name(model: str) -> str:
    """Shorten the path of a model to its folder; a hub id stays as it is."""
    return Path(model).resolve().name if Path(model).is_dir() else model


def _digest(suite: Suite) -> str:
    from rightreasons.models.running.fingerprint import fingerprint_texts

    return fingerprint_texts(["\0".join(texts) for texts in suite.texts()])


# ------------------------------------------------------------------------------------------------------------- figures


def _headlines(tested: SuiteAnswers) -> tuple[Headline, ...]:
    result = tested.result
    whole = GroupResult(result.behavioral_pass_rate, len(result.functionalities), result.interval)
    groups = [("pass_rate", "Mean pass rate", "the functionalities", whole)]
    groups += [
        (f"pass_rate_{kind.lower()}", f"{kind}: pass rate", f"the {kind} functionalities", group)
        for kind, group in _types(tested)
    ]
    return tuple(
        Headline(
            key=key,
            name=name,
            estimate=estimate_of(group.pass_rate, group.interval),
            definition=f"Unweighted mean over {which} of the share of their cases that pass; a case passes when all of "
            "its examples that are asked do.",
            source=RIBEIRO,
            better="higher",
            split=tested.suite.name,
            n=tested.suite.n_examples,
            no_interval="" if group.pass_rate is not None else "undefined: to no case does the expectation apply",
        )
        for key, name, which, group in groups
    )


def _types(tested: SuiteAnswers) -> list[tuple[str, GroupResult]]:
    """The test types in their usual order."""
    return [(kind, tested.result.test_types[kind]) for kind in TYPES if kind in tested.result.test_types]


def _weakest(tested: SuiteAnswers) -> list[tuple[int, FunctionalityResult]]:
    """The functionalities with their places in the suite, the weakest first, undefined ones last."""
    found = enumerate(tested.result.functionalities)
    return sorted(found, key=lambda each: (each[1].pass_rate is None, each[1].pass_rate or 0.0, each[0]))


def _below(tested: SuiteAnswers, bound: float) -> list[FunctionalityResult]:
    return [each for each in tested.result.functionalities if each.interval is not None and each.interval.high < bound]


def _verdict(tested: SuiteAnswers) -> Verdict:
    result = tested.result
    known = [each for _, each in _weakest(tested) if each.pass_rate is not None]
    if not known:
        return Verdict("neutral", "Nothing asked", "The expectations of the suite apply to none of its cases.")
    weak, poor = len(_below(tested, WEAK)), len(_below(tested, POOR))
    summary = (
        f"On average {with_interval(estimate_of(result.behavioral_pass_rate, result.interval))} of the cases of a "
        f"functionality pass ({len(known)} functionalities of {tested.suite.name})."
    )
    if not weak:
        return Verdict("good", "Passes", f"{summary} Of none is it clear that fewer than {WEAK:.0%} do.")
    summary += f" Of {weak} it is clear that fewer than {WEAK:.0%} do, of {poor} that fewer than half do."
    lowest = ", ".join(f"“{each.functionality}” ({fraction(each.pass_rate or 0.0)})" for each in known[:3])
    label = "Fails many" if poor else "Fails some"
    return Verdict("bad" if poor else "warn", label, f"{summary} Weakest: {lowest}.")


# --------------------------------------------------------------------------------------------------------------- parts


def _overview_part(tested: SuiteAnswers, level: float, key: str) -> Part:
    suite, result = tested.suite, tested.result
    kinds = "; ".join(TYPES[kind] for kind, _ in _types(tested))
    text = (
        f"The suite {suite.name} has {len(suite.functionalities)} functionalities in "
        f"{len(result.classes)} {'class' if len(result.classes) == 1 else 'classes'}, with {suite.n_cases:,} cases of "
        f"{suite.n_examples:,} examples. Of its tests, {kinds}."
    )
    if result.n_filtered:
        text += (
            f"\n\nTo {result.n_filtered:,} cases the expectation does not apply (a confidence at its end cannot "
            "rise); they are in no pass rate."
        )
    if tested.spread:
        text += (
            "\n\nThe model knows two sentiments and the suite three: probabilities of positive between ⅓ and ⅔ are "
            "read as neutral (Luz de Araujo & Roth 2023)."
        )
    intervals = f"[{percent(level)}]"
    rows = [("type", name, group) for name, group in _types(tested)]
    rows += [("class", name, group) for name, group in result.classes.items()]
    table = Table(
        key="pass_rates_by_group",
        title="Pass rates by test type and by class",
        columns=(
            Column("group", "Group", "text"),
            Column("kind", "Kind", "text"),
            Column("pass_rate", f"Mean pass rate {intervals}", "number", "Unweighted mean over functionalities."),
            Column("n_functionalities", "Functionalities", "count", "Those with a case that applies."),
        ),
        rows=tuple(
            (name, kind, estimate_of(group.pass_rate, group.interval), group.n_functionalities)
            for kind, name, group in rows
        ),
        note="Intervals: bootstrap of cases within functionalities.",
        source=RIBEIRO,
    )
    return Part("Pass rates", text, plots=(_heat_map(tested, f"{key}_heat_map"),), tables=(table,))


def _heat_map(tested: SuiteAnswers, key: str) -> Plot:
    result = tested.result
    by_class = ", ".join(
        f"{name} {'undefined' if group.pass_rate is None else fraction(group.pass_rate)}"
        for name, group in result.classes.items()
    )
    drawing = behavior_heat_map(key, rows={short_name(tested.name): result}, functionalities=columns_of(result))
    return drawing.plot(
        key=key,
        title="Pass rate of each functionality, in percent",
        caption="Dark cells fail. Columns are numbered in the order of the suite; rules part the classes; the color of "
        "a label and the letter above it tell the test type. The last cell is the mean. Intervals are in the "
        "table below.",
        alt=f"Mean pass rates by class: {by_class}.",
        source=f"{RIBEIRO}; drawn as Luz de Araujo & Roth 2023, figure 1",
        wide=True,
    )


def _functionalities_part(tested: SuiteAnswers, level: float) -> Part:
    table = Table(
        key="functionalities",
        title=f"{len(tested.result.functionalities)} functionalities, the weakest first",
        columns=(
            Column("functionality", "Functionality", "text", "With its number in the picture."),
            Column("functionality_class", "Class", "text"),
            Column("test_type", "Type", "text"),
            Column("pass_rate", f"Pass rate [{percent(level)}]", "number", "Wilson intervals."),
            Column("n_cases", "Cases", "count", "Those that are asked."),
            Column("n_failed", "Fail", "count"),
            Column("n_filtered", "Not asked", "count", "Cases to which the expectation does not apply."),
        ),
        rows=tuple(
            (
                f"{number + 1}. {each.functionality}",
                each.functionality_class,
                each.test_type,
                estimate_of(each.pass_rate, each.interval),
                each.n_cases,
                each.n_cases - each.n_passed,
                each.n_filtered,
            )
            for number, each in _weakest(tested)
        ),
        source=RIBEIRO,
    )
    return Part("Functionalities", tables=(table,))


def _failures_part(tested: SuiteAnswers, seed: int, examples: int) -> Part:
    lists = []
    for number, each in _weakest(tested):
        n_failed = each.n_cases - each.n_passed
        if not n_failed or not examples:
            continue
        cases = failing_cases(tested, number, limit=examples, seed=seed)
        lists.append(
            ExampleList(
                key=f"failing_{number + 1}",
                title=f"{number + 1}. {each.functionality} ({each.functionality_class}, {each.test_type}): "
                f"{n_failed:,} of {each.n_cases:,} {'case' if each.n_cases == 1 else 'cases'} "
                f"{'fails' if n_failed == 1 else 'fail'}",
                note=(f"{len(cases)} of them, drawn by the seed. " if len(cases) < n_failed else "")
                + _expected_of_all(tested.suite.functionalities[number].expectation, tested),
                examples=tuple(_example(tested, number, case) for case in cases),
                folded=True,
            )
        )
    text = OFFENSIVE if lists else "No case fails." if examples else "None are shown."
    return Part("Cases that fail", text, examples=tuple(lists))


def _limits(tested: SuiteAnswers) -> tuple[str, ...]:
    limits = [
        "A test that fails says more than one that passes: a functionality is a few templates, not an ability.",
        "Cases of one template resemble one another: intervals are about other cases of the same templates.",
    ]
    if {"INV", "DIR"} & set(tested.result.test_types):
        limits.append(
            "A model that gives one answer to everything, surely, passes every invariance and directional test; read "
            "them together with those that have a known answer."
        )
    if tested.spread:
        limits.append(
            "A model of two sentiments was never taught what neutral is; its failures there are to be expected."
        )
    return tuple(limits)


# ------------------------------------------------------------------------------------------------------------ examples


def _example(tested: SuiteAnswers, number: int, case: JudgedCase) -> Example:
    """Show the first example of a case that does not hold; if it was compared, with the original."""
    shown = next((example for example in case.examples if example.held is False), case.examples[-1])
    spec = tested.suite.functionalities[number].expectation
    notes: list[str] = []
    marks: tuple[Mark, ...] = ()
    if case.compared:
        original = case.examples[0]
        marks = changed(original.texts[0], shown.texts[0])
        notes.append(f"Original: “{_joined(original.texts)}”, answered {_sure(tested, original)}.")
        if tested.probabilities is not None:
            answer = int(tested.answers[original.row])
            before, now = (float(tested.probabilities[example.row, answer]) for example in (original, shown))
            notes.append(f"Confidence in {tested.called(answer)}: {fraction(before)} there, {fraction(now)} here.")
        change = None if tested.table.meta is None else tested.table.meta[shown.row]
        if change:
            notes.append(f"“{change[0]}” is “{change[1]}” here.")
    if spec["name"] == "transitive":
        others = (example for example in case.examples if example is not shown)
        notes += [f"With “{_joined(other.texts)}”, answered {_sure(tested, other)}." for other in others]
    asked = [example for example in case.examples if example.held is not None]
    failed = sum(example.held is False for example in asked)
    if len(asked) > 1 and spec["name"] != "transitive":
        notes.append(f"{failed} of the {len(asked)} examples of this case {'fails' if failed == 1 else 'fail'}.")
    return Example(
        id=f"{number + 1}/{case.id}",
        text=shown.texts[0],
        text_pair=" | ".join(shown.texts[1:]),
        label=_label(tested, spec, shown.row),
        prediction=tested.called(tested.answers[shown.row]),
        confidence=_confidence(tested, shown),
        marks=marks,
        note=" ".join(notes),
    )


def _label(tested: SuiteAnswers, spec: Mapping[str, Any], row: int) -> str:
    """Name the answer that is expected whatever the others are; "" where there is none."""
    if spec["name"] == "not_equal":
        return f"not {tested.called(spec['value'])}"
    gold = spec.get("value", tested.table.labels[row]) if spec["name"] == "equal" else None
    return "" if gold is None else tested.called(gold)


def changed(before: str, after: str) -> tuple[Mark, ...]:
    """Mark the words of a text that another text has not.

    Example:
        >>> [after[m.start : m.end] for after in ["Ali liked it a lot"] for m in changed("Ann liked it", after)]
        ['Ali', 'a lot']
    """
    old, new = (
        [(m.group(), m.start(), m.end()) for m in re.finditer(r"\w+|[^\w\s]", text)] for text in (before, after)
    )
    matcher = difflib.SequenceMatcher(a=[word for word, _, _ in old], b=[word for word, _, _ in new], autojunk=False)
    return tuple(
        Mark(new[begin][1], new[end - 1][2], "change", note="changed")
        for kind, _, _, begin, end in matcher.get_opcodes()
        if kind in ("replace", "insert")
    )


def _expected_of_all(spec: Mapping[str, Any], tested: SuiteAnswers) -> str:
    """What an expectation asks, in a sentence."""
    within = f"by more than {spec.get('tolerance', 0.1):g}"
    name = spec["name"]
    if name == "invariant":
        if tested.probabilities is None:
            return "Expected: the answer to the original."
        return f"Expected: the answer to the original, or a confidence in it that does not move {within}."
    if name == "monotonic":
        way = "fall" if spec["increasing"] else "rise"
        return f"Expected: the confidence in the answer to the original does not {way} {within}."
    if name == "sentiment_shift":
        way = "negative" if spec["positive"] else "positive"
        return f"Expected: P(positive) − P(negative) does not move to the {way} {within}."
    if name == "transitive":
        return "Expected: where two of three pairs are answered class 1, so is the third."
    return "Expected: the label." if name == "equal" else "Expected: any other class."


def _sure(tested: SuiteAnswers, example: JudgedExample) -> str:
    confidence = _confidence(tested, example)
    said = tested.called(tested.answers[example.row])
    return said if confidence is None else f"{said} ({fraction(confidence)})"


def _confidence(tested: SuiteAnswers, example: JudgedExample) -> float | None:
    if tested.probabilities is None:
        return None
    return float(np.clip(tested.probabilities[example.row].max(), 0.0, 1.0))


def _joined(texts: Sequence[str]) -> str:
    return " | ".join(texts)
