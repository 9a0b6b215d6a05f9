"""From a report to what the page shows: the grid of pass rates, tables of them, and cases with their answers."""

import dataclasses
import html
import itertools
from collections.abc import Iterator

from behavior_report import Report

from rightreasons.audited.examples import list_differences
from rightreasons.behavior.cases import JudgedCase, JudgedExample, judge_cases
from rightreasons.behavior.measure import SuiteAnswers
from rightreasons.behavior.plots import rate_colors, whole_percent
from rightreasons.behavior.question import BEHAVIOR, BehaviorMeasurement
from rightreasons.behavior.words import (
    TYPES,
    describe_expectation,
    describe_expected_answer,
    describe_movement,
)
from rightreasons.core.intervals import Interval
from rightreasons.core.sentences import pluralize
from rightreasons.datasets.suites.suite import Suite
from rightreasons.widget.pages import tiles, verdict

PAGE = 6
LONGEST = 8
"""Examples of a case that are written out."""

SHOWN = ("failing", "passing", "not asked", "all")
MEANINGS = {kind: f"{name}: {what}" for kind, (name, what) in TYPES.items()}


# ------------------------------------------------------------------------------------------------------------ the grid


def grid(report: Report) -> str:
    """Write the heat map: one row per model, one column per functionality; every cell is a button."""
    suite = report.suite
    starts = _class_starts(suite)
    groups = [(name, len(list(group))) for name, group in itertools.groupby(_classes(suite))]
    classes = "".join(
        f'<th colspan="{size}" class="br-start" scope="colgroup">{_text(name)}</th>'
        for name, size in groups
    )
    heads = "".join(
        f'<th class="{"br-start" if number in starts else ""}" scope="col" title="{_text(f.name)}">'
        f'<div class="br-head"><span class="br-name">{_text(f.name)}</span>{_chip(f.test_type)}</div></th>'
        for number, f in enumerate(suite.functionalities)
    )
    rows = "".join(_row(report, place, starts) for place in range(len(report.models)))
    return (
        '<div class="br-scroll" tabindex="0"><table class="br-grid"><thead>'
        f'<tr><td></td>{classes}<th class="br-start"></th></tr>'
        f'<tr><td></td>{heads}<th class="br-start" scope="col"><div class="br-head"><b class="br-name">mean</b></div>'
        f"</th></tr></thead><tbody>{rows}</tbody></table></div>{_legend(suite)}"
    )


def _row(report: Report, place: int, starts: set[int]) -> str:
    model = report.models[place]
    cells = []
    for number, found in enumerate(model.result.functionalities):
        said = _said(found.pass_rate, found.n_passed, found.n_cases)
        title = f"{model.name}: {found.functionality}: {said}"
        cells.append(
            f'<td class="{"br-start" if number in starts else ""}"><button type="button" class="br-cell" '
            f'data-cell="{place}-{number}" aria-label="{_text(title)}" title="{_text(title)}" '
            f'style="{_colors(found.pass_rate)}">{_number(found.pass_rate)}</button></td>'
        )
    mean = model.result.behavioral_pass_rate
    cells.append(
        f'<td class="br-start"><span class="br-cell br-mean" style="{_colors(mean)}">{_number(mean)}</span></td>'
    )
    return f'<tr><th scope="row" title="{_text(model.name)}"><span>{_text(model.name)}</span></th>{"".join(cells)}</tr>'


def mark(model: int, functionality: int) -> str:
    """Outline the chosen cell without rewriting the grid, which keeps its scroll position and its focus."""
    chosen = f'[data-cell="{model}-{functionality}"]'
    return f"<style>{chosen} {{ outline: 3px solid var(--plot-ink); outline-offset: -1px; z-index: 1; }}</style>"


def weakest(report: Report) -> tuple[int, int]:
    """Return the index of the first model and of the functionality with its lowest pass rate."""
    return 0, report.models[0].weakest[0][0]


def _legend(suite: Suite) -> str:
    used = {functionality.test_type for functionality in suite.functionalities}
    types = " ".join(
        f"<span>{_chip(kind)} {words}</span>" for kind, words in MEANINGS.items() if kind in used
    )
    steps = "".join(f'<i style="{_colors(step / 10)}"></i>' for step in range(11))
    return f'<p class="br-legend"><span>0% <span class="br-ramp">{steps}</span> 100% of cases pass</span> {types}</p>'


# ---------------------------------------------------------------------------------------------------------- the tables


def headline(report: Report) -> str:
    """Write the mean pass rate of each model, or what is missing where there is none."""
    suite = report.suite
    size = ", ".join(
        (
            pluralize(len(suite.functionalities), "functionality", "functionalities"),
            pluralize(suite.n_cases, "case"),
            pluralize(suite.n_examples, "example"),
        )
    )
    line = f'<p class="rr-small br-suite">Suite <b>{_text(suite.name)}</b>: {size}.</p>'
    if not report.models:
        return line + (
            '<p class="rr-waiting">Now add predictions: a file with one row for each of the '
            f"{suite.n_examples:,} examples, in the order of “Examples in order”.</p>"
        )
    shown = tiles(
        (m.name, _percent(m.result.behavioral_pass_rate), _between(m.result.interval))
        for m in report.models
    )
    lines = [
        (model.name, line) for model, line in zip(report.models, report.about, strict=True) if line
    ]
    about = "".join(f"<li><b>{_text(name)}</b>: {_text(line)}.</li>" for name, line in lines)
    head = verdict(*_verdict(report)) + line + shown
    return head + (f'<ul class="rr-small br-about">{about}</ul>' if about else "")


def _verdict(report: Report) -> tuple[str, str]:
    """Say in one sentence what the audit concludes of the first model; returns it and its tone."""
    m = BehaviorMeasurement(report.models[0])
    claim = BEHAVIOR.prose.of(m=m)("claim.rate" if m.defined else "claim.nothing")
    return f"{m.answers.name} {claim}.", BEHAVIOR.find_rule(m).tone


@dataclasses.dataclass(frozen=True, eq=False)
class Page:
    """A report and what the page shows of it, as HTML.

    Attributes:
        report: The report.
        headline: The verdict and the mean pass rates.
        grid: The heat map.
        rates: All functionalities.
        groups: Means by class and type.
        place: The model whose cases are open; None without one.
        number: The functionality whose cases are open; None without one.
        cases: Those cases.
    """

    report: Report
    headline: str
    grid: str
    rates: str
    groups: str
    place: int | None
    number: int | None
    cases: str


def write_page(report: Report, shown: str) -> Page:
    """Write the page of a report, with the cases of the weakest cell."""
    head, rates = headline(report), functionality_table(report)
    if not report.models:
        return Page(report, head, "", rates, "", None, None, "")
    place, number = weakest(report)
    listed = cases(report, place, number, shown, 1)
    return Page(report, head, grid(report), rates, group_table(report), place, number, listed)


def functionality_table(report: Report) -> str:
    """Write all functionalities, one per row, with the rates of all models as buttons."""
    heads = "".join(f'<th class="rr-number">{_text(model.name)}</th>' for model in report.models)
    rows = []
    for number, functionality in enumerate(report.suite.functionalities):
        cells = []
        for place, model in enumerate(report.models):
            found = model.result.functionalities[number]
            title = f"{model.name}: {_said(found.pass_rate, found.n_passed, found.n_cases)}; {_between(found.interval)}"
            cells.append(
                f'<td class="rr-number"><button type="button" class="br-rate" data-cell="{place}-{number}" '
                f'title="{_text(title)}" style="{_colors(found.pass_rate)}">{_percent(found.pass_rate)}</button></td>'
            )
        rows.append(
            f"<tr><td>{_chip(functionality.test_type)} {_text(functionality.name)}<br>"
            f'<span class="rr-small">{_text(functionality.functionality_class)}, {len(functionality.cases):,} cases'
            f"</span></td>{''.join(cells)}</tr>"
        )
    return (
        f'<div class="rr-table br-table" tabindex="0"><table><thead><tr><th>functionality</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def group_table(report: Report) -> str:
    """Write the means by class and by type, with their intervals."""
    if not report.models:
        return ""
    heads = "".join(f'<th class="rr-number">{_text(model.name)}</th>' for model in report.models)
    first = report.models[0].result
    parts = []
    for title, groups in (("by class", "classes"), ("by type", "test_types")):
        rows = []
        for name in getattr(first, groups):
            found = [getattr(model.result, groups)[name] for model in report.models]
            cells = "".join(
                f'<td class="rr-number"><b>{_percent(group.pass_rate)}</b><br><span class="rr-small">'
                f"{_ends(group.interval)}</span></td>"
                for group in found
            )
            rows.append(f"<tr><td>{_chip(name) if name in TYPES else _text(name)}</td>{cells}</tr>")
        parts.append(
            f'<div class="rr-table" tabindex="0"><table><caption>Mean pass rates {title}, 95% intervals</caption>'
            f"<thead><tr><th></th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        )
    return "".join(parts)


# ----------------------------------------------------------------------------------------------------------- the cases


def cases(report: Report, place: int, number: int, shown: str, page: int) -> str:
    """Write a page of the cases of one functionality, with what the model answered and what was expected."""
    model, functionality = report.models[place], report.suite.functionalities[number]
    judged = judge_cases(model, number)
    verdicts = {
        "failing": (False,),
        "passing": (True,),
        "not asked": (None,),
        "all": (True, False, None),
    }[shown]
    chosen = [case for case in judged if case.passed in verdicts]
    pages = max(1, -(-len(chosen) // PAGE))
    page = min(max(page, 1), pages)
    first = (page - 1) * PAGE
    found = model.result.functionalities[number]
    about = (
        f"<p>{_chip(functionality.test_type)} <b>{_text(functionality.name)}</b> "
        f"({_text(functionality.functionality_class)}), {_text(model.name)}: "
        f"{_said(found.pass_rate, found.n_passed, found.n_cases)}</p>"
        f'<p class="rr-small">{_text(describe_expectation(model, number))}</p>'
    )
    noun = "case" if len(chosen) == 1 else "cases"
    what = {"all": noun, "not asked": f"{noun} not asked"}.get(shown, f"{shown} {noun}")
    count = f'<p class="rr-small">{len(chosen):,} {what}; page {page:,} of {pages:,}.</p>'
    written = [_case(report, model, number, case) for case in chosen[first : first + PAGE]]
    return f'<div class="br-about-cell">{about}</div>{count}{"".join(written)}'


def _case(report: Report, model: SuiteAnswers, number: int, case: JudgedCase) -> str:
    origin = case.examples[0]
    state = {True: "br-pass", False: "br-fail", None: "br-none"}[case.passed]
    items = []
    # For a long case, show the failing examples first.
    rest = sorted(case.examples[1:], key=lambda example: example.passed is not False)[: LONGEST - 1]
    for example in (origin, *sorted(rest, key=lambda example: example.row)):
        original = origin if case.has_original and example is not origin else None
        items.append(
            f'<li class="{_STATES[example.passed]}"><div class="br-texts">{_texts(report.suite, example, original)}</div>'
            f'<div class="br-said">{_answer(model, example)}'
            f'<span class="rr-small">{_text(_expected(model, number, case, example))}</span>'
            "</div></li>"
        )
    hidden = len(case.examples) - len(items)
    if hidden:
        items.append(
            f'<li class="br-unasked rr-small">and {pluralize(hidden, "more example")}</li>'
        )
    title = f'<p class="br-id">Case {_text(case.id)}</p>'
    return f'<article class="br-case {state}">{title}<ol>{"".join(items)}</ol></article>'


def _expected(model: SuiteAnswers, number: int, case: JudgedCase, example: JudgedExample) -> str:
    answer = describe_expected_answer(model, number, example)
    if answer or example is case.examples[0] or not case.has_original:
        return f"expected {answer}" if answer else ""
    return describe_movement(model, number, case, example)


_STATES = {True: "br-held", False: "br-broken", None: "br-unasked"}


def _answer(model: SuiteAnswers, example: JudgedExample) -> str:
    said = f"<b>{_text(model.describe_answer(model.answers[example.row]))}</b>"
    confidence = model.get_confidence(example.row)
    if confidence is not None:
        said += f" {_percent(confidence)}"
    return f'<span class="br-answer">{said}</span>'


def _texts(suite: Suite, example: JudgedExample, original: JudgedExample | None) -> str:
    """Write the texts of an example, with the words that the original does not have."""
    parts = []
    for place, (column, text) in enumerate(zip(suite.text_columns, example.texts, strict=True)):
        heading = (
            f'<span class="rr-small">{_text(column)}</span> ' if len(suite.text_columns) > 1 else ""
        )
        shown = _text(text) if original is None else _changed(original.texts[place], text)
        parts.append(f"<p>{heading}{shown}</p>")
    return "".join(parts)


def _changed(before: str, after: str) -> str:
    parts, end = [], 0
    for mark in list_differences(before, after):
        parts += [
            _text(after[end : mark.start]),
            f"<mark>{_text(after[mark.start : mark.end])}</mark>",
        ]
        end = mark.end
    return "".join([*parts, _text(after[end:])])


# ------------------------------------------------------------------------------------------------------------- private


def _classes(suite: Suite) -> Iterator[str]:
    return (functionality.functionality_class for functionality in suite.functionalities)


def _class_starts(suite: Suite) -> set[int]:
    names = list(_classes(suite))
    return {
        number for number in range(len(names)) if number == 0 or names[number] != names[number - 1]
    }


def _chip(kind: str) -> str:
    return f'<span class="br-type br-{_text(kind.lower())}" title="{MEANINGS.get(kind, "")}">{_text(kind)}</span>'


def _colors(rate: float | None) -> str:
    if rate is None:
        return ""
    ground, ink = rate_colors(rate)
    return f"background:{ground};color:{ink}"


def _number(rate: float | None) -> str:
    return "–" if rate is None else whole_percent(rate)


def _percent(rate: float | None) -> str:
    return "–" if rate is None else f"{whole_percent(rate)}%"


def _said(rate: float | None, passed: int, n_cases: int) -> str:
    if rate is None:
        return "no case is asked"
    return f"{passed:,} of {pluralize(n_cases, 'case')} {'passes' if passed == 1 else 'pass'} ({_percent(rate)})"


def _ends(interval: Interval | None) -> str:
    return "" if interval is None else f"{100 * interval.low:.0f} – {100 * interval.high:.0f}"


def _between(interval: Interval | None) -> str:
    return (
        "" if interval is None else f"{interval.confidence_level:.0%} interval {_ends(interval)}%"
    )


def _text(value: str) -> str:
    return html.escape(value)
