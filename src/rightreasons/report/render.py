"""The report as one self-contained HTML file: no font, image or script from elsewhere.

Whatever comes from a user (texts, labels, names) is escaped by the template. What is marked as safe
is made here: the style sheet, the script, its data, the drawings of `plots` (whose texts Vega
escapes), and the `<mark>` around escaped text. A content security policy in the page forbids
everything else, and other scripts by the digest of ours. The script browses the items and writes
what a reader ticks into a command; without it, the page can still be read.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

import rightreasons
from rightreasons.core.estimates import Estimate
from rightreasons.core.sentences import pluralize
from rightreasons.core.store import replace_files_on_success, write_bytes, write_json, write_text
from rightreasons.page.formats import NONE, cell, format_estimate, level_percent, number
from rightreasons.page.parts import (
    Amount,
    Cell,
    ChoiceAnswer,
    Example,
    Headline,
    Link,
    Mark,
    Plot,
    Table,
)
from rightreasons.page.prose import Prose
from rightreasons.report.items.changes import select_changes
from rightreasons.report.items.listing import PageItems, shorten
from rightreasons.report.items.script_data import to_script_data
from rightreasons.report.outcomes import (
    LIGHTS,
    Outcome,
    compose_first_screen,
    find_examples,
    find_figure,
    find_plot,
    get_finding,
    list_answered,
    place_bar,
)

if TYPE_CHECKING:
    from rightreasons.report.row_doubts import AuditedRows

PAGE = "index.html"

MAX_TEXT = 700
"""Longest text of an example on the page; audit.json has whole texts."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")
"""Characters that HTML does not allow."""

_TEMPLATES = resources.files("rightreasons.report") / "templates"


def sentences(name: str, **constants: Any) -> Prose:
    """Read the sentences of a page, or of a section that is about no single question."""
    return Prose(Path(str(_TEMPLATES / f"{name}.md.j2")), **constants)


TERMS: Mapping[str, str] = json.loads((_TEMPLATES / "terms.json").read_text("utf-8"))
"""Term of the report -> what it means, in one or two sentences."""

WORKS: Mapping[str, str] = json.loads((_TEMPLATES / "works.json").read_text("utf-8"))
"""Authors and year as the report cites them -> address."""

# A longer name may begin with a shorter one.
_WORK = re.compile("|".join(re.escape(work) for work in sorted(WORKS, key=len, reverse=True)))


def split_citations(source: str) -> Iterator[tuple[str, str]]:
    """Divide a source into its citations, with their addresses, and the text between them.

    Args:
        source: Text that cites works as they are written in `WORKS`.

    Yields:
        (text, address) pairs, whose texts together are the source. The address is "" for text that
        is not a citation.

    Example:
        >>> list(split_citations("LMI: Schuster et al. 2019, section 3"))
        [('LMI: ', ''), ('Schuster et al. 2019', 'https://arxiv.org/abs/1908.05267'), (', section 3', '')]
    """
    # End of the last piece that was yielded.
    end = 0
    for match in _WORK.finditer(source):
        if match.start() > end:
            yield source[end : match.start()], ""
        yield match.group(), WORKS[match.group()]
        end = match.end()
    if end < len(source):
        yield source[end:], ""


@dataclasses.dataclass(frozen=True, eq=False)
class Front:
    """What a page about several models shows below its heading.

    Attributes:
        table: Table of the models.
        example_title: Title of the single item that shows the finding.
        links: (address, text) of places that show the finding.
        anchors: Id of an item -> address of its row on the page.
    """

    table: Table
    example_title: str
    links: Sequence[tuple[str, str]]
    anchors: Mapping[str, str]


@dataclasses.dataclass(frozen=True, eq=False)
class Page:
    """What a page shows.

    Attributes:
        title: Title of the browser's tab.
        heading: Headline of the page.
        facts: (name, value) pairs below it.
        outcomes: The questions in the order of the page.
        made: (name, value) pairs about how the page was made.
        made_tables: Tables about the same.
        answer_tables: Tables of what the answers of a log show without any question.
        command: Command that makes the page again; "" if there is none.
        subject: Name of the model, with which the finding of the first screen begins; "" for a page
            about several models, whose sections keep their order.
        items: Items that a reader can browse; None for none.
        files: (address, name) of the files in the folder of the page.
        prompt: The prompt of a language model: `told`, from `Prompted.describe`; `right`, a paragraph
            about the accuracy of the answers if no section has it; and the `server`. None for other
            models.
        rows: Findings of the checks of the rows; None if they were not checked.
        is_correction: Whether the page is about a correction of a model.
        front: What a page about several models shows below its heading; None for other pages.
    """

    title: str
    heading: str
    facts: Sequence[tuple[str, str]]
    outcomes: Sequence[Outcome]
    made: Sequence[tuple[str, str]]
    made_tables: Sequence[Table] = ()
    answer_tables: Sequence[Table] = ()
    command: str = ""
    subject: str = ""
    items: PageItems | None = None
    files: Sequence[tuple[str, str]] = ()
    prompt: Mapping[str, Any] | None = None
    rows: AuditedRows | None = None
    is_correction: bool = False
    front: Front | None = None


def render_page(page: Page) -> str:
    """Render a page as HTML.

    Args:
        page: The contents of the page. Its fields are variables of the template.
    """
    first_screen = compose_first_screen(
        page.outcomes, page.subject, page.heading, is_correction=page.is_correction
    )
    # A page without an answered question has its own heading.
    heading = page.heading
    answered = []
    if first_screen is not None:
        heading = first_screen["claim"]
        answered = first_screen["rows"]
    # If not all changed texts fit on the page, those of the worst finding are selected first.
    all_changes = []
    for _, result in answered:
        all_changes += result.changes
    changes = select_changes(all_changes)
    # A page without items and changed texts, such as a comparison, needs no data for the script.
    script_data = None
    if page.items is not None or changes:
        script_data = to_script_data(page.items, changes)
    variables = {
        **vars(page),
        "heading": heading,
        "first": first_screen,
        "terms": TERMS,
        "script_data": script_data,
        "version": rightreasons.__version__,
    }
    html: str = _load_template().render(**variables)
    # Browsers drop or misread control characters, and a reader should see that there were some.
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", html)


def write_page(out: Path, page: Page, results: Mapping[str, object]) -> None:
    """Write a page with its pictures and files of results, and remove an earlier page.

    Args:
        out: The folder.
        page: The page.
        results: Name of a file -> its content, which is written as JSON.
    """
    from rightreasons.page.plots import Drawing

    # A page that cannot be rendered must not replace an earlier one.
    html = render_page(page)
    with replace_files_on_success(out) as folder:
        for _, result in list_answered(page.outcomes):
            for plot in result.plots:
                drawing = Drawing(plot.key, plot.spec)
                write_bytes(folder / "figures" / f"{plot.key}.png", drawing.png)
        for name, content in results.items():
            write_json(folder / name, content)
        write_text(folder / PAGE, html)


# -------------------------------------------------------------------------------- the template


@functools.cache
def _load_template() -> Any:
    """Load the template with its filters, the style sheet, the script and its digest."""
    import jinja2

    # A name that a page does not set is a mistake in the template.
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rightreasons.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=False,
    )
    environment.filters.update(
        amount=number,
        answered=_write_answer,
        bar=place_bar,
        cell=cell,
        coded=mark_code,
        counted=pluralize,
        drawing=_draw,
        figure=find_figure,
        finding=get_finding,
        lead_examples=find_examples,
        lead_plot=find_plot,
        level=level_percent,
        marked=mark_text,
        paragraphs=_split_paragraphs,
        place=get_address,
        repr=repr,
        shortened=lambda text: shorten(text, MAX_TEXT),
        sourced=_link_citations,
        whole=lambda value: f"{int(value):,}",
        written=_write_headline,
    )
    environment.tests["estimate"] = lambda value: isinstance(value, Estimate)
    environment.tests["link"] = lambda value: isinstance(value, Link)
    environment.tests["with_unit"] = lambda value: isinstance(value, Amount)
    environment.tests["missing"] = _is_missing
    # The policy of the page allows this one script, by its digest.
    css = (_TEMPLATES / "report.css").read_text("utf-8")
    script = (_TEMPLATES / "report.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    environment.globals["lights"] = LIGHTS
    environment.globals["css"] = Markup(css)  # noqa: S704 - our own file
    environment.globals["script"] = Markup(script)  # noqa: S704 - our own file
    environment.globals["script_hash"] = f"sha256-{digest}"
    return environment.get_template("report.html.j2")


def get_address(item_id: str) -> str:
    """Return the name by which a link finds an item; spaces are not allowed in it."""
    return "item-" + "_".join(item_id.split())


def _draw(plot: Plot) -> Markup:
    """Draw a picture as SVG."""
    from rightreasons.page.plots import Drawing

    return Markup(Drawing(plot.key, plot.spec).svg)  # noqa: S704 - Vega escapes its texts


def _is_missing(value: Cell) -> bool:
    """Return whether a table shows a dash for a cell, because it has no value."""
    if isinstance(value, Amount):
        value = value.estimate
    if isinstance(value, Estimate):
        value = value.value
    return value is None


def _write_headline(headline: Headline) -> str:
    """Write a figure with its interval."""
    return format_estimate(headline.estimate, headline.unit)


def _write_answer(answer: ChoiceAnswer) -> str:
    """Write the position of a choice and the confidence in it, such as "B 61.0%".

    Generated answers have no confidence, and only the picked choice has a mark.
    """
    parts = [answer.letter]
    if answer.confidence is not None:
        parts.append(number(answer.confidence))
    text = " ".join(filter(None, parts))
    if not text and not answer.is_picked:
        return NONE
    return text


def _split_paragraphs(text: str) -> list[str]:
    """Divide a text at its blank lines."""
    paragraphs = map(str.strip, re.split(r"\n\s*\n", text))
    return list(filter(None, paragraphs))


def mark_code(text: str) -> Markup:
    """Return a text as HTML, with the pieces in backticks as code.

    Example:
        >>> mark_code("Pass `--items 9` & wait.")
        Markup('Pass <code>--items 9</code> &amp; wait.')
    """
    pieces = []
    # The odd pieces are those of the group, between two backticks.
    for index, piece in enumerate(re.split(r"`([^`]+)`", text)):
        if index % 2 == 1:
            pieces.append(Markup("<code>{}</code>").format(piece))
        else:
            pieces.append(escape(piece))
    return Markup("").join(pieces)


def _link_citations(source: str) -> Markup:
    """Return a source as HTML in which the works that it cites are links.

    Args:
        source: Text such as "Schuster et al. 2019, section 3".
    """
    pieces = []
    for name, address in split_citations(source):
        piece = escape(name)
        if address:
            piece = Markup('<a href="{}">{}</a>').format(address, name)
        pieces.append(piece)
    return Markup("").join(pieces)


def mark_text(example: Example) -> Markup:
    """Return the text of an example as HTML, shortened to `MAX_TEXT` characters.

    Args:
        example: A text, with marks from a start to an end in the order of the text, such as the
            words that an attribution highlights.
    """
    pieces = []
    end = 0
    for mark in example.marks:
        # Marks that are not entirely within the shown text are omitted.
        if mark.end > MAX_TEXT:
            break
        pieces.append(escape(example.text[end : mark.start]))
        pieces.append(_write_mark(mark, example.text[mark.start : mark.end]))
        end = mark.end
    remaining_text = shorten(example.text, MAX_TEXT)[end:]
    pieces.append(escape(remaining_text))
    return Markup("").join(pieces)


def _write_mark(mark: Mark, text: str) -> Markup:
    """Write a marked piece of a text as a `<mark>` element.

    Args:
        mark: The mark. Its kind is the class of the element. Its weight, such as an attribution, sets
            the strength of the color by the variable `--w`, and adds the class "against" if it is
            negative. Its note is shown when the mouse is over the element.
        text: The marked piece.
    """
    css_class: str = mark.kind
    style = Markup("")
    if mark.kind == "weight":
        style = Markup(' style="--w:{:.2f}"').format(abs(mark.weight))
        if mark.weight < 0:
            css_class = "weight against"
    title = Markup("")
    if mark.note:
        title = Markup(' title="{}"').format(mark.note)
    # `Markup.format` escapes its arguments.
    return Markup('<mark class="{}"{}{}>{}</mark>').format(css_class, style, title, text)
