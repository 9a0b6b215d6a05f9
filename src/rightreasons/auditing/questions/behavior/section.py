"""Does it pass basic behavioral tests? Pass rates of a behavioral suite, and cases that fail."""

from __future__ import annotations

from collections.abc import Mapping

from rightreasons.analysis.behavior.pass_rates import BehavioralPassRate, GroupResult
from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.examples import changes
from rightreasons.auditing.page.words import level_percent, not_scored_told, percent, short_name, written
from rightreasons.auditing.questions.behavior.finding import finding
from rightreasons.auditing.questions.behavior.plots import behavior_heat_map, columns_of
from rightreasons.auditing.questions.behavior.words import TYPES, expected_answer, movement, rule
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.behavior import JudgedCase, JudgedExample, SuiteAnswers, failing_cases, measure_behavior
from rightreasons.measuring.estimates import Estimate, estimate_of
from rightreasons.measuring.options import BehaviorOptions

RIBEIRO = "Ribeiro et al. 2020"
WEAK, POOR = 0.9, 0.5
"""A functionality is called weak, or poor, where the whole interval of its pass rate lies below."""

MIN_CASES = 20
"""With fewer cases than this, nothing is said of the mean."""

UNDEFINED = "undefined: the expectation applies to no case"


class Behavior:
    """Pass rates of a suite by functionality, class and test type; asked where a suite is named."""

    question = "behavior"
    title = "Does it pass basic behavioral tests?"
    order = 6
    needs_labels = False
    without_model = (
        "A suite asks the model about other texts; "
        "stored answers to a suite are scored by `rightreasons behavior SUITE --predictions FILE`."
    )
    reads: p.Reads = "primary"

    def applies(self, context: AuditContext, options: BehaviorOptions) -> p.Applicability:
        """Ask for a classifier and a suite of texts to classify."""
        suite = context.suite(options)
        if suite is None:
            return p.applies_not(
                "No behavioral suite was named: give one with `--behavior-suite`, such as checklist_sentiment."
            )
        if context.task != "classification":
            return p.applies_not("Behavioral suites are put to classifiers.")
        if any(isinstance(label, str) for label in suite.table().labels):
            return p.applies_not(f"The suite {suite.name!r} asks for answers that are texts, and this is a classifier.")
        return p.APPLIES

    def run(self, context: AuditContext, options: BehaviorOptions) -> p.SectionResult:
        """Answer the question."""
        suite = context.suite(options)
        if suite is None:
            raise ValueError("Expected a behavioral suite, but none was named.")
        answers = measure_behavior(
            context.scorer,
            suite,
            batch_size=context.batch_size,
            resampling=context.resampling,
            progress=context.progress,
            out=context.folder("behavior", _digest(suite)),
            fail_fast=context.fail_fast,
        )
        return behavior_result(answers, resampling=context.resampling, examples=options.examples)


SECTION = Behavior()


def _by_item(answers: SuiteAnswers) -> tuple[p.ItemFigure, ...]:
    """Return which cases pass, by functionality."""
    table = answers.table
    names = [one.functionality for one in answers.result.functionalities]
    rows = [row for row, passed in enumerate(answers.result.passed) if passed is not None]
    if not rows:
        return ()
    groups = tuple(names[int(table.case_functionality[row])] for row in rows)
    ids = [f"{row}/{table.case_ids[row]}" for row in rows]
    passed = [bool(answers.result.passed[row]) for row in rows]
    name = "Mean pass rate over functionalities"
    return (p.ItemFigure.of("pass_rate", name, "higher", ids, passed, groups=groups),)


def behavior_result(
    answers: SuiteAnswers,
    *,
    resampling: Resampling = Resampling(),
    examples: int = BehaviorOptions().examples,
    key: str = "behavior",
) -> p.SectionResult:
    """Report what a model passes of a suite.

    Args:
        answers: The model's answers.
        resampling: How the intervals were made; its seed decides which failing cases are shown.
        examples: Failing cases shown per functionality.
        key: The beginning of the pictures' keys, so that a page can hold several results.

    Returns:
        The section.
    """
    level = level_percent(resampling.level)
    return p.SectionResult(
        verdict=verdict(answers),
        headlines=_headlines(answers),
        parts=(
            _overview_part(answers, level, key),
            _functionalities_part(answers, level),
            _failures_part(answers, resampling.seed, examples),
        ),
        limits=_limits(answers),
        by_item=_by_item(answers),
        data={
            "suite": {
                "name": answers.suite.name,
                "text_columns": list(answers.suite.text_columns),
                "n_cases": answers.suite.n_cases,
                "n_examples": answers.suite.n_examples,
            },
            "labels": answers.matched,
            "two_sentiments_spread_over_three": answers.spread,
            "not_answered": [{"id": name, "reason": reason} for name, reason in answers.failures.items()],
            # Which of tens of thousands of cases pass is left to pass_rates.json of `rightreasons behavior`.
            "pass_rates": {name: value for name, value in answers.result.to_dict().items() if name != "passed"},
        },
        finding=finding(answers, answers.n_clearly_below(WEAK), WEAK),
    )


def verdict(answers: SuiteAnswers) -> p.Verdict:
    """Judge by exact tests of each functionality, and by the interval of the mean."""
    result = answers.result
    asked = [each for _, each in answers.weakest if each.pass_rate is not None]
    if not asked:
        return p.Verdict("neutral", "Nothing asked", "The expectations of the suite apply to none of its cases.")
    weak, poor = answers.n_clearly_below(WEAK), answers.n_clearly_below(POOR)
    summary = (
        f"On average {written(estimate_of(result.behavioral_pass_rate, result.interval))} of the cases of a "
        f"functionality pass ({counted(len(asked), 'functionality', 'functionalities')} of {answers.suite.name})."
    )
    if answers.one_answer:
        summary += (
            f" But {answers.one_answer}: tests that an answer must not change are passed without reading, and say "
            "nothing here."
        )
    interval = result.interval
    if not weak:
        summary += f" No functionality by itself surely passes fewer than {WEAK:.0%}"
        if answers.one_answer:
            told = f"{summary}, but a model that gives one answer is not tested by this suite."
            return p.Verdict("neutral", "Cannot tell", told)
        if interval is not None and interval.low >= WEAK:
            return p.Verdict("good", "Passes", f"{summary}.")
        if interval is not None and interval.high < WEAK and sum(each.n_cases for each in asked) >= MIN_CASES:
            return p.Verdict("warn", "Falls short on average", f"{summary}, but on average they surely do.")
        return p.Verdict("neutral", "Cannot tell", f"{summary}; too few cases were asked to say so of the mean.")
    weakest = ", ".join(
        f"“{each.functionality}” ({percent(each.pass_rate)})"
        for each in asked[:3]
        if each.pass_rate is not None and each.pass_rate < WEAK
    )
    label = f"Fails {poor}" if poor else f"Falls short in {weak}"
    return p.Verdict(
        "bad" if poor else "warn",
        f"{label} of {counted(len(asked), 'test')}",
        f"{summary} Functionalities that surely pass fewer than {WEAK:.0%} (exact binomial tests, Holm): {weak}; fewer "
        f"than half: {poor}. Weakest: {weakest}.",
    )


def heat_map(key: str, models: Mapping[str, BehavioralPassRate], *, caption: str, alt: str) -> p.Plot:
    """Draw the pass rates of one model or several, one row per model."""
    columns = columns_of(next(iter(models.values())))
    return behavior_heat_map(key, rows=models, functionalities=columns).plot(
        title="Pass rate of each functionality, in percent",
        caption=f"{caption} Dark cells fail. Rules separate the classes; the color of a label and the letter above it "
        "are the test type; the last column is the mean. Intervals are in the table below.",
        alt=alt,
        source=f"{RIBEIRO}; drawn as Luz de Araujo & Roth 2023, figure 1",
        wide=True,
    )


def pass_rate_headline(key: str, name: str, estimate: Estimate, which: str, suite: Suite) -> p.Headline:
    """Make the headline of a mean pass rate."""
    text = p.FigureText(
        name,
        f"Unweighted mean over {which} of the share of their cases that pass; a case passes when all its examples that "
        "are asked do.",
        RIBEIRO,
        better="higher",
    )
    reason = "" if estimate.has_interval else UNDEFINED
    return p.Headline.of(key, text, estimate, split=suite.name, n=suite.n_examples, no_interval=reason)


def _digest(suite: Suite) -> str:
    from rightreasons.models.running.fingerprint import fingerprint_texts

    return fingerprint_texts(["\0".join(texts) for texts in suite.texts()])


# ------------------------------------------------------------------------------------------------------------- telling


def _headlines(answers: SuiteAnswers) -> tuple[p.Headline, ...]:
    mean = estimate_of(answers.result.behavioral_pass_rate, answers.result.interval)
    types = (
        pass_rate_headline(
            f"pass_rate_{kind.lower()}",
            f"{kind}: pass rate",
            _estimate(group),
            f"the {kind} functionalities",
            answers.suite,
        )
        for kind, group in answers.test_types
    )
    return (pass_rate_headline("pass_rate", "Mean pass rate", mean, "the functionalities", answers.suite), *types)


def _estimate(group: GroupResult) -> Estimate:
    return estimate_of(group.pass_rate, group.interval)


def _overview_part(answers: SuiteAnswers, level: str, key: str) -> p.Part:
    suite, result = answers.suite, answers.result
    types = "; ".join(f"{kind} ({TYPES[kind][0]}): {TYPES[kind][1]}" for kind, _ in answers.test_types)
    text = (
        f"The suite {suite.name} has {counted(len(suite.functionalities), 'functionality', 'functionalities')} in "
        f"{counted(len(result.classes), 'class', 'classes')}: {counted(suite.n_cases, 'case')} with "
        f"{counted(suite.n_examples, 'example')} in all. Test types by what they ask of the answer: {types}."
    )
    if result.n_filtered:
        text += (
            f"\n\nThe expectation does not apply to {counted(result.n_filtered, 'case')} (a confidence at its end "
            "cannot rise), which no pass rate counts."
        )
    if answers.matched:
        text += f"\n\nThe model's classes and the suite's labels were matched {answers.matched}."
    if answers.spread:
        text += (
            "\n\nThe model knows two sentiments and the suite three: probabilities of positive between ⅓ and ⅔ are "
            "read as neutral (Luz de Araujo & Roth 2023)."
        )
    groups = [("type", name, group) for name, group in answers.test_types]
    groups += [("class", name, group) for name, group in result.classes.items()]
    by_class = ", ".join(
        f"{name} {'undefined' if group.pass_rate is None else percent(group.pass_rate)}"
        for name, group in result.classes.items()
    )
    table = p.Table(
        key="pass_rates_by_group",
        title="Pass rates by test type and by class",
        columns=(
            p.Column("group", "Group", "text"),
            p.Column("kind", "Kind", "text"),
            p.Column("pass_rate", f"Mean pass rate [{level}]", "share", "Unweighted mean over functionalities."),
            p.Column("n_functionalities", "Functionalities", "count", "Those with a case that applies."),
        ),
        rows=tuple((name, kind, _estimate(group), group.n_functionalities) for kind, name, group in groups),
        note="Intervals: Wilson, by the effective number of cases of the functionalities.",
        source=RIBEIRO,
    )
    plot = heat_map(
        f"{key}_heat_map",
        {short_name(answers.name): result},
        caption="Columns are numbered in the order of the suite.",
        alt=f"Mean pass rates by class: {by_class}.",
    )
    return p.Part("Pass rates", text, plots=(plot,), tables=(table,))


def _functionalities_part(answers: SuiteAnswers, level: str) -> p.Part:
    table = p.Table(
        key="functionalities",
        title=f"{counted(len(answers.result.functionalities), 'functionality', 'functionalities')}, the weakest first",
        columns=(
            p.Column("functionality", "Functionality", "text", "With its number in the picture."),
            p.Column("functionality_class", "Class", "text"),
            p.Column("test_type", "Type", "text"),
            p.Column("pass_rate", f"Pass rate [{level}]", "share", "Wilson intervals."),
            p.Column("n_cases", "Cases", "count", "Those that are asked."),
            p.Column("n_failed", "Fail", "count"),
            p.Column("n_filtered", "Not asked", "count", "Cases to which the expectation does not apply."),
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
            for number, each in answers.weakest
        ),
        source=RIBEIRO,
    )
    return p.Part("Functionalities", tables=(table,))


def _failures_part(answers: SuiteAnswers, seed: int, examples: int) -> p.Part:
    lists = []
    for number, each in answers.weakest:
        n_failed = each.n_cases - each.n_passed
        if not n_failed or not examples:
            continue
        cases = failing_cases(answers, number, limit=examples, seed=seed)
        sampled = f"{len(cases)} of them, sampled by the seed. " if len(cases) < n_failed else ""
        lists.append(
            p.ExampleList(
                key=f"failing_{number + 1}",
                title=f"{number + 1}. {each.functionality} ({each.functionality_class}, {each.test_type}): "
                f"{n_failed:,} of {counted(each.n_cases, 'case')} {'fails' if n_failed == 1 else 'fail'}",
                note=f"{sampled}{rule(answers, number)}",
                examples=tuple(_example(answers, number, case) for case in cases),
                folded=True,
            )
        )
    text = "No case fails." if examples else "None are shown."
    if lists:
        text = (
            "The texts of a suite are shown unchanged. Some name groups of people, and some may be abusive: suites "
            "test for that."
        )
    return p.Part("Cases that fail", text, examples=tuple(lists))


def _limits(answers: SuiteAnswers) -> tuple[str, ...]:
    limits = [
        "A test that fails says more than one that passes: a functionality is a few templates, not an ability.",
        "Cases of one template resemble one another: intervals are about other cases of the same templates.",
    ]
    if {"INV", "DIR"} & set(answers.result.test_types):
        limits.append(
            "A model that gives one answer to everything with full confidence passes every invariance and directional "
            "test; read them together with those that have a known answer."
        )
    if answers.spread:
        limits.append("A model of two sentiments was never taught what neutral is; expect it to fail there.")
    n_answered = answers.suite.n_examples - len(answers.failures)
    told = not_scored_told("example", n_answered, tuple(answers.failures.items()))
    return (*limits, *(f"{line} What is not scored counts as failed." for line in told))


def _example(answers: SuiteAnswers, number: int, case: JudgedCase) -> p.Example:
    """Show the first example of a case that fails; if it was compared, with the original."""
    shown = next((example for example in case.examples if example.held is False), case.examples[-1])
    transitive = answers.suite.functionalities[number].expectation["name"] == "transitive"
    notes: list[str] = []
    marks: tuple[p.Mark, ...] = ()
    if case.compared:
        original = case.examples[0]
        marks = changes(original.texts[0], shown.texts[0])
        notes.append(f"Original: “{_joined(original)}”, answered {_answer(answers, original)}.")
        moved = movement(answers, number, case, shown)
        notes += [f"{moved}."] if moved else []
        change = None if answers.table.meta is None else answers.table.meta[shown.row]
        notes += [f"“{change[0]}” is “{change[1]}” here."] if change else []
    asked = [example for example in case.examples if example.held is not None]
    failed = sum(example.held is False for example in asked)
    if transitive:
        others = (example for example in case.examples if example is not shown)
        notes += [f"With “{_joined(other)}”, answered {_answer(answers, other)}." for other in others]
    elif len(asked) > 1:
        notes.append(f"{failed} of the {len(asked)} examples of this case {'fails' if failed == 1 else 'fail'}.")
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
    confidence, answer = answers.confidence(example.row), answers.called(answers.answers[example.row])
    return answer if confidence is None else f"{answer} ({percent(confidence)})"


def _joined(example: JudgedExample) -> str:
    return " | ".join(example.texts)
