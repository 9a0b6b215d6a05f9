"""The report as one self-contained HTML file: no script, no font, no image from elsewhere.

Whatever comes from a user (texts, labels, names) is escaped by the template; what is marked as safe is made here: the
style sheet, the drawings of `plots` (whose texts matplotlib escapes) and the `<mark>` around escaped text. A content
security policy in the page forbids everything else in any case.
"""

from __future__ import annotations

import base64
import csv
import dataclasses
import functools
import io
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any, Literal

import rightreasons
from rightreasons.auditing.page.asked import Asked
from rightreasons.auditing.page.first_screen import finding_of, first_screen, plot_of, worst_first
from rightreasons.auditing.page.glossary import TERMS, anchor, find_term
from rightreasons.auditing.page.items import Items
from rightreasons.auditing.page.parts import Amount, Example, ExampleList, Headline, SectionResult, Table
from rightreasons.auditing.page.sources import linked
from rightreasons.auditing.page.words import level_percent, number, p_value, written
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.estimates import Estimate

LONGEST_TEXT = 700
"""Characters of an example that the page shows; audit.json holds all."""

# Characters that HTML does not allow, a NUL among them, as the pictures that Unicode has of them.
_CONTROLS = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\f\r"},
    **dict.fromkeys(range(0x7F, 0xA0), 0xFFFD),
    **{plane + low: 0xFFFD for plane in range(0, 0x110000, 0x10000) for low in (0xFFFE, 0xFFFF)},
    **dict.fromkeys(range(0xFDD0, 0xFDF0), 0xFFFD),
}

N_EXAMPLES = 3
"""Examples of a section that are not folded."""

_SCALES = (0.05, 0.1, 0.25, 0.5, 1.0)


@dataclasses.dataclass(frozen=True)
class Outcome(Result):
    """What became of one question.

    Attributes:
        question: Its name.
        title: The question as a reader would ask it.
        status: "answered", "skipped" (it does not apply) or "failed".
        reason: Why it was skipped or how it failed.
        result: The answer, where there is one.
    """

    question: str
    title: str
    status: Literal["answered", "skipped", "failed"]
    reason: str = ""
    result: SectionResult | None = None


def render_page(
    *,
    title: str,
    heading: str,
    facts: Sequence[tuple[str, str]],
    outcomes: Sequence[Outcome],
    made: Sequence[tuple[str, str]],
    made_tables: Sequence[Table] = (),
    command: str = "",
    answers_title: str = "The answers",
    made_title: str = "Method and provenance",
    subject: str = "",
    items: Items | None = None,
    files: Sequence[tuple[str, str]] = (),
    asked: Sequence[Asked] = (),
) -> str:
    """Render a page.

    Args:
        title: The title of the browser's tab.
        heading: The headline of the page.
        facts: (name, value) pairs below it.
        outcomes: The questions in the order of the page.
        made: (name, value) pairs about how the page came to be.
        made_tables: Tables about the same.
        command: The command that makes it again; "" where there is none.
        answers_title: The title of the overview.
        made_title: The title of the last section.
        asked: How each language model was asked; none for other models.
        subject: What the finding of the first screen begins with, and the heading is the finding; "" for a page
            without a first screen, whose sections are in the given order and not folded.
        items: The items of the first screen's data; None for none.
        files: (address, name) of the files beside the page.

    Returns:
        The HTML.
    """
    first = first_screen(subject, outcomes) if subject else None
    answered = worst_first(outcomes) if first else [outcome for outcome in outcomes if outcome.result is not None]
    page: str = _template().render(
        title=title,
        heading=first.claim if first else heading,
        first=first,
        items=items,
        files=list(files),
        terms=TERMS,
        works=_works(outcomes),
        facts=list(facts),
        answered=answered,
        unanswered=[outcome for outcome in outcomes if outcome.result is None],
        made=list(made),
        made_tables=list(made_tables),
        command=command,
        answers_title=answers_title,
        made_title=made_title,
        asked=list(asked),
        version=rightreasons.__version__,
        footer=f"Made by rightreasons {rightreasons.__version__}. This page loads nothing from elsewhere.",
    )
    return page.translate(_CONTROLS)


def scale_of(headline: Headline) -> dict[str, Any] | None:
    """Place a figure and its interval on a scale from 0 to a round number; None where that makes no sense."""
    estimate = headline.estimate
    if headline.unit != "fraction" or estimate.value is None or estimate.low is None or estimate.high is None:
        return None
    if min(estimate.low, estimate.value) < 0:
        bound = next((s for s in _SCALES if s >= max(-estimate.low, abs(estimate.high), abs(estimate.value))), None)
        start = None if bound is None else -bound
    else:
        # Shares such as accuracy are read against 1; errors against the next round number.
        scales = (1.0,) if headline.better == "higher" else _SCALES
        bound = next((s for s in scales if s >= max(estimate.high, estimate.value)), None)
        start = 0.0
    if bound is None or start is None:
        return None
    span = bound - start
    low, high, dot = (100 * (x - start) / span for x in (estimate.low, estimate.high, estimate.value))
    return {
        "low": round(low, 2),
        "width": round(max(high - low, 0.4), 2),
        "dot": round(min(max(dot - 0.5, 0.0), 99.0), 2),
        "from": f"{100 * start:g}%".replace("-", "\N{MINUS SIGN}"),
        "to": f"{100 * bound:g}%",
    }


@functools.cache
def _template() -> Any:
    import jinja2
    import markupsafe as markup

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rightreasons.auditing.page", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=False,
    )
    environment.filters.update(
        amount=lambda value, unit="fraction": "undefined" if value is None else number(value, unit),
        p_value=p_value,
        whole=lambda value: f"{int(value):,}",
        counted=counted,
        level=level_percent,
        scale=scale_of,
        base64=lambda content: base64.b64encode(content).decode(),
        drawing=lambda svg: markup.Markup(svg),  # noqa: S704 - matplotlib escapes its texts
        csv=_csv,
        sourced=lambda source: _sourced(source, markup),
        termed=lambda text: _termed(text, markup),
        anchor=anchor,
        lead_plot=plot_of,
        finding=finding_of,
        lead_examples=_lead_examples,
        written=lambda headline: written(headline.estimate, headline.unit),
        paragraphs=lambda text: [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()],
        shortened=_shortened,
        marked=lambda example: _marked(example, markup),
    )
    environment.tests["estimate"] = lambda value: isinstance(value, Estimate)
    environment.tests["with_unit"] = lambda value: isinstance(value, Amount)
    css = (resources.files("rightreasons.auditing.page") / "templates" / "report.css").read_text("utf-8")
    environment.globals["css"] = markup.Markup(css)  # noqa: S704 - our own file
    return environment.get_template("report.html.j2")


def _lead_examples(result: SectionResult) -> ExampleList | None:
    """Return the first list of examples that is not folded, cut to what a reader takes in at a glance."""
    lists = (each for part in result.parts for each in part.examples if not each.folded and each.examples)
    first = next(lists, None)
    return None if first is None else dataclasses.replace(first, examples=first.examples[:N_EXAMPLES])


def _works(outcomes: Sequence[Outcome]) -> list[tuple[str, str]]:
    """Return the works that a page cites, with their addresses."""
    sources = str([outcome.to_dict() for outcome in outcomes])
    return sorted({(name, address) for name, address in linked(sources) if address})


def _sourced(source: str, markup: Any) -> Any:
    """Return a source with its works linked."""
    link = markup.Markup('<a href="{}">{}</a>')
    return markup.Markup("").join(
        link.format(url, name) if url else markup.escape(name) for name, url in linked(source)
    )


def _termed(text: str, markup: Any) -> Any:
    """Return a text with its first term linked to the glossary."""
    found = find_term(text)
    if found is None:
        return markup.escape(text)
    start, end, term = found
    link = markup.Markup('<a class="term" href="#{}" title="{}">{}</a>')
    return markup.escape(text[:start]) + link.format(anchor(term), TERMS[term], text[start:end]) + text[end:]


def _csv(table: Table) -> str:
    """Return a table as comma-separated values, base64-encoded, with the ends of intervals in columns of their own."""
    rows = table.to_dict()["rows"]
    keys = [column.key for column in table.columns]
    ends = {key for key in keys if any(isinstance(row[key], dict) for row in rows)}
    names = [name for key in keys for name in ([key, f"{key}_low", f"{key}_high"] if key in ends else [key])]
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        flat: dict[str, Any] = {}
        for key, value in row.items():
            if isinstance(value, dict):
                flat |= {key: value["value"], f"{key}_low": value["low"], f"{key}_high": value["high"]}
            else:
                flat[key] = value
        writer.writerow(flat)
    return base64.b64encode(stream.getvalue().encode()).decode()


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT].rstrip()} … ({len(text) - LONGEST_TEXT:,} more characters)"


def _marked(example: Example, markup: Any) -> Any:
    """Return the text of an example, escaped, with its marks."""
    pieces: list[Any] = []
    end = 0
    for mark in example.marks:
        if mark.end > LONGEST_TEXT:
            break
        pieces.append(markup.escape(example.text[end : mark.start]))
        style = f"--w:{abs(mark.weight):.2f}" if mark.kind == "weight" else ""
        name = f"{mark.kind} against" if mark.kind == "weight" and mark.weight < 0 else mark.kind
        pieces.append(
            markup.Markup('<mark class="{}"{}{}>{}</mark>').format(
                name,
                markup.Markup(' style="{}"').format(style) if style else "",
                markup.Markup(' title="{}"').format(mark.note) if mark.note else "",
                example.text[mark.start : mark.end],
            )
        )
        end = mark.end
    rest = example.text[end:] if end > LONGEST_TEXT else _shortened(example.text)[end:]
    pieces.append(markup.escape(rest))
    return markup.Markup("").join(pieces)
