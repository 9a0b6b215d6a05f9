"""Cases of a functionality as HTML: their texts, what the model answered, and what was expected."""

from __future__ import annotations

import html

from behavior_report import Report
from behavior_words import describe_rate, write_chip, write_percent

from rightreasons.audited.examples import list_differences
from rightreasons.behavior.cases import JudgedCase, JudgedExample, judge_cases
from rightreasons.behavior.measure import SuiteAnswers
from rightreasons.behavior.words import (
    describe_expectation,
    describe_expected_answer,
    describe_movement,
)
from rightreasons.core.sentences import pluralize
from rightreasons.datasets.suites.suite import Suite

N_CASES_OF_PAGE = 6

MAX_EXAMPLES = 8
"""Largest number of examples of a case that are written out."""

OUTCOMES: dict[str, tuple[bool | None, ...]] = {
    "failing": (False,),
    "passing": (True,),
    "not asked": (None,),
    "all": (True, False, None),
}
"""Choice of a visitor -> outcomes of the cases that are shown."""

CASE_CLASSES = {True: "br-pass", False: "br-fail", None: "br-none"}
"""Outcome of a case -> its CSS class."""

EXAMPLE_CLASSES = {True: "br-held", False: "br-broken", None: "br-unasked"}
"""Outcome of an example -> its CSS class."""


def write_cases(
    report: Report, model_index: int, functionality_index: int, outcome: str, page: int
) -> str:
    """Write a page of the cases of one functionality.

    Args:
        report: The report.
        model_index: Index of the model.
        functionality_index: Index of the functionality.
        outcome: Which cases are shown, a key of `OUTCOMES`.
        page: Number of the page, from 1; the nearest one if there is no such page.
    """
    model = report.models[model_index]
    selected = []
    for case in judge_cases(model, functionality_index):
        if case.passed in OUTCOMES[outcome]:
            selected.append(case)
    # Rounded up; a page without cases is still a page.
    n_pages = max(1, -(-len(selected) // N_CASES_OF_PAGE))
    page = min(max(page, 1), n_pages)
    start = (page - 1) * N_CASES_OF_PAGE
    articles = []
    for case in selected[start : start + N_CASES_OF_PAGE]:
        articles.append(_write_case(report.suite, model, functionality_index, case))
    count = _describe_count(len(selected), outcome)
    return (
        f"{_write_head(report, model_index, functionality_index)}"
        f'<p class="rr-small">{count}; page {page:,} of {n_pages:,}.</p>{"".join(articles)}'
    )


def _describe_count(count: int, outcome: str) -> str:
    """Return how many cases of an outcome there are."""
    cases = pluralize(count, "case")
    if outcome == "all":
        return cases
    if outcome == "not asked":
        return f"{cases} not asked"
    # The word stands between the number and the noun: "3 failing cases".
    number, noun = cases.split(" ")
    return f"{number} {outcome} {noun}"


def _write_head(report: Report, model_index: int, functionality_index: int) -> str:
    """Write the name of a functionality, the model's pass rate on it, and what its cases expect."""
    model = report.models[model_index]
    functionality = report.suite.functionalities[functionality_index]
    rate = describe_rate(model.result.functionalities[functionality_index])
    # What counts as a pass is the same for all cases of a functionality.
    expectation = html.escape(describe_expectation(model, functionality_index))
    return (
        f'<div class="br-about-cell"><p>{write_chip(functionality.test_type)} '
        f"<b>{html.escape(functionality.name)}</b> "
        f"({html.escape(functionality.functionality_class)}), {html.escape(model.name)}: {rate}</p>"
        f'<p class="rr-small">{expectation}</p></div>'
    )


def _write_case(
    suite: Suite, model: SuiteAnswers, functionality_index: int, case: JudgedCase
) -> str:
    """Write a case with its examples, the original one first."""
    original = case.examples[0]
    items = []
    for example in _select_examples(case):
        # Only further examples are changed versions of the original one.
        source = None
        if case.has_original and example is not original:
            source = original
        expectation = _describe_expectation(model, functionality_index, case, example)
        items.append(
            f'<li class="{EXAMPLE_CLASSES[example.passed]}">'
            f'<div class="br-texts">{_write_texts(suite, example, source)}</div>'
            f'<div class="br-said">{_write_answer(model, example)}'
            f'<span class="rr-small">{html.escape(expectation)}</span></div></li>'
        )
    n_hidden = len(case.examples) - len(items)
    if n_hidden:
        hidden = pluralize(n_hidden, "more example")
        items.append(f'<li class="br-unasked rr-small">and {hidden}</li>')
    return (
        f'<article class="br-case {CASE_CLASSES[case.passed]}">'
        f'<p class="br-id">Case {html.escape(case.id)}</p><ol>{"".join(items)}</ol></article>'
    )


def _select_examples(case: JudgedCase) -> list[JudgedExample]:
    """Return the examples of a case that are shown, in their order."""
    # Of a long case, the failing examples say more than the others.
    changed = sorted(case.examples[1:], key=lambda example: example.passed is not False)
    selected = sorted(changed[: MAX_EXAMPLES - 1], key=lambda example: example.row)
    return [case.examples[0], *selected]


def _describe_expectation(
    model: SuiteAnswers, functionality_index: int, case: JudgedCase, example: JudgedExample
) -> str:
    """Return what was expected of an example: an answer, or a movement from the original one."""
    answer = describe_expected_answer(model, functionality_index, example)
    if answer:
        return f"expected {answer}"
    # Movements start at the original text.
    if example is case.examples[0] or not case.has_original:
        return ""
    return describe_movement(model, functionality_index, case, example)


def _write_answer(model: SuiteAnswers, example: JudgedExample) -> str:
    """Write the model's answer to an example, with its confidence."""
    answer = html.escape(model.describe_answer(model.answers[example.row]))
    confidence = model.get_confidence(example.row)
    share = ""
    if confidence is not None:
        share = f" {write_percent(confidence)}"
    return f'<span class="br-answer"><b>{answer}</b>{share}</span>'


def _write_texts(suite: Suite, example: JudgedExample, source: JudgedExample | None) -> str:
    """Write the texts of an example, with marks on what its source does not have."""
    paragraphs = []
    for position, column in enumerate(suite.text_columns):
        text = example.texts[position]
        # A single text needs no heading.
        heading = ""
        if len(suite.text_columns) > 1:
            heading = f'<span class="rr-small">{html.escape(column)}</span> '
        content = html.escape(text)
        if source is not None:
            content = _mark_differences(source.texts[position], text)
        paragraphs.append(f"<p>{heading}{content}</p>")
    return "".join(paragraphs)


def _mark_differences(original: str, text: str) -> str:
    """Write a text with marks on what the original does not have."""
    pieces = []
    position = 0
    for mark in list_differences(original, text):
        pieces.append(html.escape(text[position : mark.start]))
        pieces.append(f"<mark>{html.escape(text[mark.start : mark.end])}</mark>")
        position = mark.end
    pieces.append(html.escape(text[position:]))
    return "".join(pieces)
