"""A report on a suite as HTML: verdict, heat map, and tables of pass rates.

`write_page` writes all of it, with the cases of the weakest functionality from `case_view`.
"""

from __future__ import annotations

import dataclasses
import html
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from behavior_report import Report
from behavior_words import (
    describe_rate,
    explain_type,
    write_chip,
    write_colors,
    write_ends,
    write_interval,
    write_number,
    write_percent,
)
from case_view import write_cases

from rightreasons.behavior.question import BEHAVIOR, BehaviorMeasurement
from rightreasons.behavior.words import TYPES
from rightreasons.core.sentences import pluralize
from rightreasons.datasets.suites.suite import Suite
from rightreasons.page.formats import number
from rightreasons.widget.pages import tiles, verdict


@dataclasses.dataclass(frozen=True, eq=False)
class Page:
    """What the page shows of a report, as HTML.

    Attributes:
        report: The report.
        headline: The verdict and the mean pass rates.
        grid: The heat map.
        rates: All functionalities.
        groups: Means by class and type.
        model_index: Index of the model whose cases are open. None without a model.
        functionality_index: Index of the functionality whose cases are open. None without a model.
        cases: Those cases.
    """

    report: Report
    headline: str
    grid: str
    rates: str
    groups: str
    model_index: int | None
    functionality_index: int | None
    cases: str


def write_page(report: Report, outcome: str) -> Page:
    """Write the page of a report, with the cases of the weakest functionality.

    Args:
        report: The report.
        outcome: Which cases are shown; see `write_cases`.
    """
    head = write_headline(report)
    rates = write_rates(report)
    if not report.models:
        return Page(report, head, "", rates, "", None, None, "")
    # The page opens with the failures of the first model.
    weakest = report.models[0].weakest[0][0]
    return Page(
        report=report,
        headline=head,
        grid=write_grid(report),
        rates=rates,
        groups=write_groups(report),
        model_index=0,
        functionality_index=weakest,
        cases=write_cases(report, 0, weakest, outcome, 1),
    )


# ------------------------------------------------------------------------------- heat map


def write_grid(report: Report) -> str:
    """Write the heat map: a row per model, a column per functionality, a button per cell."""
    suite = report.suite
    class_names = [functionality.functionality_class for functionality in suite.functionalities]
    classes = []
    # Functionalities of a class are next to each other, under one heading.
    for name, members in itertools.groupby(class_names):
        classes.append(
            f'<th colspan="{len(list(members))}" class="br-start" scope="colgroup">'
            f"{html.escape(name)}</th>"
        )
    heads = []
    # Long names are turned by the style sheet, and complete in the tooltip.
    for index, functionality in enumerate(suite.functionalities):
        name = html.escape(functionality.name)
        heads.append(
            f'<th class="{_get_cell_class(suite, index)}" scope="col" title="{name}">'
            f'<div class="br-head"><span class="br-name">{name}</span>'
            f"{write_chip(functionality.test_type)}</div></th>"
        )
    rows = [_write_grid_row(report, index) for index in range(len(report.models))]
    return (
        '<div class="br-scroll" tabindex="0"><table class="br-grid"><thead>'
        f'<tr><td></td>{"".join(classes)}<th class="br-start"></th></tr>'
        f'<tr><td></td>{"".join(heads)}<th class="br-start" scope="col"><div class="br-head">'
        f'<b class="br-name">mean</b></div></th></tr></thead><tbody>{"".join(rows)}</tbody>'
        f"</table></div>{_write_legend(suite)}"
    )


def _write_grid_row(report: Report, model_index: int) -> str:
    """Write the pass rates of a model as cells."""
    model = report.models[model_index]
    name = html.escape(model.name)
    cells = []
    for index, functionality in enumerate(model.result.functionalities):
        rate = functionality.pass_rate
        # A screen reader gets the sentence, as the cell shows a bare number.
        words = f"{model.name}: {functionality.functionality}: {describe_rate(functionality)}"
        title = html.escape(words)
        cells.append(
            f'<td class="{_get_cell_class(report.suite, index)}">'
            f'<button type="button" class="br-cell" data-cell="{model_index}-{index}" '
            f'aria-label="{title}" title="{title}" style="{write_colors(rate)}">'
            f"{write_number(rate)}</button></td>"
        )
    # The last column is the mean over functionalities, each with the same weight.
    mean = model.result.behavioral_pass_rate
    cells.append(
        f'<td class="br-start"><span class="br-cell br-mean" style="{write_colors(mean)}">'
        f"{write_number(mean)}</span></td>"
    )
    return f'<tr><th scope="row" title="{name}"><span>{name}</span></th>{"".join(cells)}</tr>'


def _get_cell_class(suite: Suite, index: int) -> str:
    """Return the CSS class of a column, which has a line where a class of functionalities begins."""
    functionalities = suite.functionalities
    if index == 0:
        return "br-start"
    previous = functionalities[index - 1].functionality_class
    return "" if functionalities[index].functionality_class == previous else "br-start"


def outline_cell(model_index: int, functionality_index: int) -> str:
    """Write a style that outlines a cell of the heat map.

    The grid is not written again, so that it keeps its scroll position and its focus.
    """
    selector = f'[data-cell="{model_index}-{functionality_index}"]'
    return (
        f"<style>{selector} {{ outline: 3px solid var(--plot-ink); outline-offset: -1px; "
        "z-index: 1; }</style>"
    )


def _write_legend(suite: Suite) -> str:
    """Write the scale of colors, and the types of tests in the suite."""
    test_types = {functionality.test_type for functionality in suite.functionalities}
    types = []
    # In the order of CheckList, whatever the order of the suite.
    for test_type in TYPES:
        if test_type in test_types:
            types.append(f"<span>{write_chip(test_type)} {explain_type(test_type)}</span>")
    steps = []
    # Eleven steps show the scale from 0% to 100%.
    for step in range(11):
        steps.append(f'<i style="{write_colors(step / 10)}"></i>')
    return (
        f'<p class="br-legend"><span>0% <span class="br-ramp">{"".join(steps)}</span> 100% of cases '
        f"pass</span> {' '.join(types)}</p>"
    )


# ---------------------------------------------------------------------------------- tables


def write_headline(report: Report) -> str:
    """Write the verdict and the mean pass rate of each model, or what is missing."""
    suite = report.suite
    sizes = [
        pluralize(len(suite.functionalities), "functionality", "functionalities"),
        pluralize(suite.n_cases, "case"),
        pluralize(suite.n_examples, "example"),
    ]
    size = (
        f'<p class="rr-small br-suite">Suite <b>{html.escape(suite.name)}</b>: '
        f"{', '.join(sizes)}.</p>"
    )
    # A suite without predictions has no figures yet.
    if not report.models:
        return (
            f'{size}<p class="rr-waiting">Now add predictions: a file with one row for each of the '
            f"{suite.n_examples:,} examples, in the order of “Examples in order”.</p>"
        )
    entries = []
    for model in report.models:
        rate = number(model.result.behavioral_pass_rate)
        entries.append((model.name, rate, write_interval(model.result.interval)))
    sentence, tone = judge_first_model(report)
    return f"{verdict(sentence, tone)}{size}{tiles(entries)}{_write_remarks(report)}"


def _write_remarks(report: Report) -> str:
    """Write what was remarked about the predictions of each model; "" for nothing."""
    items = []
    # Uploaded predictions have no remark.
    for model, remark in zip(report.models, report.descriptions, strict=True):
        if remark:
            items.append(f"<li><b>{html.escape(model.name)}</b>: {html.escape(remark)}.</li>")
    if not items:
        return ""
    return f'<ul class="rr-small br-about">{"".join(items)}</ul>'


def judge_first_model(report: Report) -> tuple[str, str]:
    """Return the conclusion of an audit of the first model in one sentence, and its tone."""
    measurement = BehaviorMeasurement(report.models[0])
    # A suite whose cases are all undefined has no rate to claim.
    claim = "claim.rate" if measurement.defined else "claim.nothing"
    prose = BEHAVIOR.prose.of(m=measurement)
    return f"{measurement.answers.name} {prose(claim)}.", BEHAVIOR.find_rule(measurement).tone


def write_rates(report: Report) -> str:
    """Write all functionalities, one per row, with the pass rates of all models as buttons."""
    rows = []
    for index, functionality in enumerate(report.suite.functionalities):
        name = html.escape(functionality.name)
        cases = f"{len(functionality.cases):,} cases"
        rows.append(
            f"<tr><td>{write_chip(functionality.test_type)} {name}<br>"
            f'<span class="rr-small">{html.escape(functionality.functionality_class)}, {cases}'
            f"</span></td>{_write_rate_cells(report, index)}</tr>"
        )
    return (
        '<div class="rr-table br-table" tabindex="0"><table><thead><tr><th>functionality</th>'
        f"{_write_model_heads(report)}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _write_rate_cells(report: Report, functionality_index: int) -> str:
    """Write the pass rates of all models on a functionality."""
    cells = []
    for model_index, model in enumerate(report.models):
        functionality = model.result.functionalities[functionality_index]
        rate = functionality.pass_rate
        # The interval is in the tooltip: the table has a column per model.
        interval = write_interval(functionality.interval)
        title = html.escape(f"{model.name}: {describe_rate(functionality)}; {interval}")
        cells.append(
            '<td class="rr-number"><button type="button" class="br-rate" '
            f'data-cell="{model_index}-{functionality_index}" title="{title}" '
            f'style="{write_colors(rate)}">{write_percent(rate)}</button></td>'
        )
    return "".join(cells)


def _write_model_heads(report: Report) -> str:
    """Write the names of the models as headings of columns."""
    return "".join(
        f'<th class="rr-number">{html.escape(model.name)}</th>' for model in report.models
    )


def write_groups(report: Report) -> str:
    """Write the mean pass rates by class and by type, with their intervals; "" without models."""
    if not report.models:
        return ""
    # All models have the groups of the suite, in one order.
    results = [model.result for model in report.models]
    heads = _write_model_heads(report)
    by_class = _write_group_table("by class", heads, [result.classes for result in results])
    by_type = _write_group_table("by type", heads, [result.test_types for result in results])
    return by_class + by_type


def _write_group_table(title: str, heads: str, groups: Sequence[Mapping[str, Any]]) -> str:
    """Write the pass rates of groups of functionalities.

    Args:
        title: How the functionalities are grouped.
        heads: Headings of the columns.
        groups: For each model, name of a group -> its pass rate.
    """
    rows = []
    for name in groups[0]:
        cells = []
        for group in groups:
            rate = write_percent(group[name].pass_rate)
            ends = write_ends(group[name].interval)
            cells.append(
                f'<td class="rr-number"><b>{rate}</b><br><span class="rr-small">{ends}</span></td>'
            )
        # Types are marked as in the heat map.
        label = write_chip(name) if name in TYPES else html.escape(name)
        rows.append(f"<tr><td>{label}</td>{''.join(cells)}</tr>")
    return (
        '<div class="rr-table" tabindex="0"><table><caption>Mean pass rates '
        f"{title}, 95% intervals</caption><thead><tr><th></th>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
