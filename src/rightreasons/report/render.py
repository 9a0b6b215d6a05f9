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
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import rightreasons
from rightreasons.core.errors import counted
from rightreasons.core.intervals import Estimate
from rightreasons.core.results import Result
from rightreasons.page.parts import Action, Amount, Example, ExampleList, Finding, Headline, Plot, SectionResult, Table
from rightreasons.page.words import badness, level_percent, number, p_value, written

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext

_TEMPLATES = resources.files("rightreasons.report") / "templates"


def _read(name: str) -> dict[str, str]:
    texts: dict[str, str] = json.loads((_TEMPLATES / name).read_text("utf-8"))
    return texts


WORKS: Mapping[str, str] = _read("works.json")
"""Authors and year as the report cites them -> address."""

_WORK = re.compile("|".join(re.escape(work) for work in sorted(WORKS, key=len, reverse=True)))


def linked(source: str) -> Iterator[tuple[str, str]]:
    """Divide a source into texts and the addresses that they link to, "" for none.

    Example:
        >>> list(linked("LMI: Schuster et al. 2019, section 3"))
        [('LMI: ', ''), ('Schuster et al. 2019', 'https://arxiv.org/abs/1908.05267'), (', section 3', '')]
    """
    end = 0
    for match in _WORK.finditer(source):
        if match.start() > end:
            yield source[end : match.start()], ""
        yield match.group(), WORKS[match.group()]
        end = match.end()
    if end < len(source):
        yield source[end:], ""


# ------------------------------------ The terms of the report, each in a sentence, for readers who meet them first here


TERMS: Mapping[str, str] = _read("terms.json")
"""Term -> what it means, in one or two sentences."""

_TERM = re.compile(rf"\b({'|'.join(sorted(map(re.escape, TERMS), key=len, reverse=True))})(?=s?\b)", re.IGNORECASE)
_BY_NAME = {term.lower(): term for term in TERMS}


def find_term(text: str) -> tuple[int, int, str] | None:
    """Return where the first term of a text stands, and which it is; None where there is none.

    Example:
        >>> find_term("The control words change it")
        (4, 16, 'control word')
    """
    match = _TERM.search(text)
    return None if match is None else (match.start(), match.end(), _BY_NAME[match[1].lower()])


def anchor(term: str) -> str:
    """Return the id of a term on the page.

    Example:
        >>> anchor("control word")
        'term-control-word'
    """
    return f"term-{re.sub('[^a-z]+', '-', term.lower())}"


# -------------------------------------------------------------- How a language model was asked, for the top of a report


_SCORINGS = {
    "sum": "by the log-likelihood of their tokens",
    "mean": "by the mean log-likelihood of their tokens",
    "unconditional": "by their log-likelihood beyond that without the item (Holtzman et al. 2021)",
    "calibrated": "by their probability over that of inputs without content (Zhao et al. 2021)",
    "next_words": "by the log-probability of their first token",
    "generated": "by what the model writes",
}
_STYLES = {"words": "in words", "letters": "as letters", "numbers": "as numbers"}


@dataclasses.dataclass(frozen=True)
class Asked:
    """What the top of a report says about a prompt.

    Attributes:
        summary: How it was asked, in a few sentences.
        template: The template.
        system: The system prompt; "" for none.
        example: One item, as the model reads it.
        answers: The answers of that item, in words.
        server: The server that was asked, what its trial found, and what it cost; none for a model that is here.
        name: The model, on a page about several; "" on one about a single model.
    """

    summary: str
    template: str
    system: str
    example: str
    answers: str
    server: tuple[str, ...] = ()
    name: str = ""


def asked_of(
    told: Mapping[str, Any], right: str = "", server: Mapping[str, Any] | None = None, name: str = ""
) -> Asked:
    """Put what `Prompted.describe` returns into sentences.

    Args:
        told: The description.
        right: How many answers are right, in a sentence; "" where a section says it.
        server: What `ServerEngine.describe` returns; None for a model that is here.
        name: The model, on a page about several.
    """
    chat = "through its chat template" if told["chat"] else "without a chat template"
    shots = told["shots"]
    examples = "without examples"
    if shots:
        drawn = "the same for all items" if told["draw"] == "run" else "drawn for each item"
        examples = f"after {counted(shots, 'example')} of the training split, {drawn}"
    sentences = [
        f"Items are asked {chat}, {examples}.",
        f"Answers are given {_STYLES[told['style']]} and scored {_SCORINGS[told['scoring']]}.",
    ]
    if told["label_words"]:
        sentences.append(f"The labels are called {', '.join(told['label_words'])}.")
    if told["scoring"] == "generated":
        if told["samples"] > 1:
            sentences.append(f"Each item is answered {told['samples']} times; its scores are the shares of answers.")
        if told["pattern"]:
            sentences.append(f"Answers are found by the regular expression {told['pattern']}.")
        sentences.append(f"{told['way'][:1].upper()}{told['way'][1:]}.")
    sentences += [right] if right else []
    answers = ", ".join(repr(answer) for answer in told["answers"])
    return Asked(
        summary=" ".join(sentences),
        template=told["template"],
        system=told["system"] or "",
        example=told["example"],
        answers=f"Its answers are {answers}, exactly as they follow.",
        server=() if server is None else _lines(server),
        name=name,
    )


def _lines(server: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a report says about a server, a sentence each."""
    able = ", ".join(ability.replace("_", " ") for ability in server["abilities"])
    usage = server["usage"]
    cost = "" if usage["price"] is None else f", at a price of {usage['price']:,.4f}"
    spent = (
        f"{counted(usage['requests'], 'request was', 'requests were')} answered, with "
        f"{counted(usage['prompt_tokens'], 'prompt token')} and {counted(usage['answer_tokens'], 'generated token')}"
        f"{cost}."
    )
    return (
        f"{server['server']} with the model {server['model']}; its trial found that it can be asked for {able}.",
        *(f"{'Yes' if one['passed'] else 'No'}: {one['part']}. {one['words']}" for one in server["trial"]),
        *filter(None, [server["changes"]]),
        spent,
    )


# ---------------------------------- The items of a split on the page, in a table that a reader filters without a script


MOST_ITEMS = 300
"""Items on the page; predictions/ has all."""

LONGEST = 160
"""Characters of a text in the table."""


@dataclasses.dataclass(frozen=True)
class Item:
    """One row: the item, and what the model says about it."""

    id: str
    text: str
    label: str
    prediction: str
    confidence: float
    right: bool


@dataclasses.dataclass(frozen=True)
class Items:
    """Labeled items of a split: the wrong ones, the surest first, and then the right ones, the least sure first.

    Attributes:
        split: The name of the split.
        rows: Up to `MOST_ITEMS` of them.
        n_items: How many labeled items the split has.
        n_wrong: How many of these the model gets wrong.
    """

    split: str
    rows: tuple[Item, ...]
    n_items: int
    n_wrong: int


def items_of(context: AuditContext) -> Items | None:
    """Take the items of the split that the model does worst on; None where no item has a label and an answer."""
    if context.task == "confidence":  # whether an answer was right is known, and not which it was
        return None
    best: Items | None = None
    for split in context.splits:
        if not split.labeled.any() or not context.has_scores(split):
            continue
        scores = context.scores(split)
        predicted, confidence = scores.predicted, scores.confidence
        rows = np.flatnonzero(split.labeled)
        right = predicted[rows] == split.labels[rows]
        order = np.lexsort((np.where(right, confidence[rows], -confidence[rows]), right))
        n_wrong = int((~right).sum())
        if best is not None and n_wrong / len(rows) <= best.n_wrong / best.n_items:
            continue
        shown = tuple(
            Item(
                id=split.ids[row],
                text=_shortened(split.texts[row]),
                label=context.label_name(int(split.labels[row])),
                prediction=context.label_name(int(predicted[row])),
                confidence=min(float(confidence[row]), 1.0),
                right=bool(predicted[row] == split.labels[row]),
            )
            for row in rows[order][:MOST_ITEMS].tolist()
        )
        best = Items(split.name, shown, len(rows), n_wrong)
    return best


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST].rstrip()} …"


# -------------------------- What a reader sees first: one finding, a row per question on one scale, and what to do next


LIGHTS = {"bad": "Problem", "warn": "Look closer", "neutral": "No verdict", "good": "No problem found"}
"""What the tones of a verdict say."""

MOST_ACTIONS = 2
"""Actions shown for each question but the first, which shows all."""


@dataclasses.dataclass(frozen=True, eq=False)
class Row:
    """One question on the first screen.

    Attributes:
        question: Its name.
        title: The question as a reader would ask it.
        tone: That of its verdict.
        light: What the tone says.
        answer: The verdict in a few words.
        figure: The share that shows it, where there is one.
        bar: Its place on the common scale from 0 to 100 %; None where it is no share from 0 to 1.
    """

    question: str
    title: str
    tone: str
    light: str
    answer: str
    figure: Headline | None
    bar: dict[str, float] | None


@dataclasses.dataclass(frozen=True, eq=False)
class FirstScreen:
    """What a reader sees first.

    Attributes:
        claim: The finding in one sentence.
        tone: That of its verdict.
        light: What the tone says.
        evidence: What the finding rests on.
        question: The question that found it.
        plot: The picture that shows it, if any.
        pair: One example, or an item before and after a change.
        rows: The answered questions, the worst first.
        skipped: (question, title, reason) of the questions that do not apply.
        failed: (title, reason) of those that failed.
        actions: (question, what to do), the worst finding first.
    """

    claim: str
    tone: str
    light: str
    evidence: str
    question: str
    plot: Plot | None
    pair: tuple[Example, ...]
    rows: tuple[Row, ...]
    skipped: tuple[tuple[str, str, str], ...]
    failed: tuple[tuple[str, str], ...]
    actions: tuple[tuple[str, Action], ...]


def worst_first(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Order the answered questions by their tone, those of one tone by the share of predictions that they are about."""
    answered = [
        (badness(outcome.result.verdict.tone, finding_of(outcome.result).size), outcome)
        for outcome in outcomes
        if outcome.result is not None
    ]
    return [outcome for _, outcome in sorted(answered, key=lambda pair: pair[0])]


def finding_of(result: SectionResult) -> Finding:
    """Return the finding of a section; where it has none, its verdict."""
    verdict = result.verdict
    return result.finding or Finding(claim=f"— {verdict.label[:1].lower()}{verdict.label[1:]}", evidence="")


def first_screen(subject: str, outcomes: Sequence[Outcome]) -> FirstScreen | None:
    """Gather what a reader sees first.

    Args:
        subject: What the sentence begins with: the name of the model.
        outcomes: The questions.

    Returns:
        The first screen; None where no question is answered.
    """
    answered = worst_first(outcomes)
    if not answered or answered[0].result is None:
        return None
    first = answered[0].result
    lead = finding_of(first)
    asked = {outcome.question for outcome in answered}
    actions = [
        (outcome.question, _here(action, asked - {outcome.question}))
        for place, outcome in enumerate(answered)
        if outcome.result is not None and outcome.result.verdict.tone != "good"
        for action in finding_of(outcome.result).actions[: None if place == 0 else MOST_ACTIONS]
    ]
    unanswered = [outcome for outcome in outcomes if outcome.result is None]
    return FirstScreen(
        claim=f"{subject} {lead.claim}".rstrip(".") + ".",
        tone=first.verdict.tone,
        light=LIGHTS[first.verdict.tone],
        evidence=lead.evidence,
        question=answered[0].question,
        plot=plot_of(first),
        pair=lead.pair,
        rows=tuple(_row(outcome, outcome.result) for outcome in answered if outcome.result is not None),
        skipped=tuple((each.question, each.title, each.reason) for each in unanswered if each.status == "skipped"),
        failed=tuple((each.title, each.reason) for each in unanswered if each.status == "failed"),
        actions=tuple(actions),
    )


def plot_of(result: SectionResult) -> Plot | None:
    """Return the picture that shows a finding, or the first of the section."""
    wanted = finding_of(result).plot
    plots = result.plots
    return next((plot for plot in plots if plot.key == wanted), plots[0] if plots else None)


def _here(action: Action, asked: set[str]) -> Action:
    """Point to the section of a question that the page answers, in the place of the command that asks it."""
    _, _, question = action.command.rpartition(" --questions ")
    return Action(action.text, link=f"#{question}") if question in asked else action


def _row(outcome: Outcome, result: SectionResult) -> Row:
    figures = {headline.key: headline for part in result.parts for headline in part.headlines}
    figures |= {headline.key: headline for headline in result.headlines}
    shares = [headline for headline in result.headlines if headline.unit == "fraction"]
    figure = figures.get(finding_of(result).figure) or next(iter(shares), None)
    verdict = result.verdict
    return Row(outcome.question, outcome.title, verdict.tone, LIGHTS[verdict.tone], verdict.label, figure, _bar(figure))


def _bar(figure: Headline | None) -> dict[str, float] | None:
    if figure is None or figure.unit != "fraction" or figure.estimate.value is None:
        return None
    value = figure.estimate.value
    low, high = figure.estimate.low, figure.estimate.high
    low, high = (value if low is None else low), (value if high is None else high)
    if value < 0 or low < -1 or max(value, high) > 1:  # a difference that is negative has no place on this scale
        return None
    low, high, value = (100 * max(each, 0.0) for each in (low, high, value))
    return {
        "low": round(low, 2),
        "width": round(max(high - low, 0.6), 2),
        "dot": round(min(max(value - 0.4, 0.0), 99.2), 2),
    }


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


@dataclasses.dataclass(frozen=True, eq=False)
class Page:
    """What a page shows.

    Attributes:
        title: The title of the browser's tab.
        heading: The headline of the page.
        facts: (name, value) pairs below it.
        outcomes: The questions in the order of the page.
        made: (name, value) pairs about how the page came to be.
        made_tables: Tables about the same.
        command: The command that makes it again; "" where there is none.
        subject: What the finding of the first screen begins with, and the heading is the finding; "" for a page
            without a first screen, whose sections are in the given order and not folded.
        items: The items of the first screen's data; None for none.
        files: (address, name) of the files beside the page.
        asked: How each language model was asked; none for other models.
    """

    title: str
    heading: str
    facts: Sequence[tuple[str, str]]
    outcomes: Sequence[Outcome]
    made: Sequence[tuple[str, str]]
    made_tables: Sequence[Table] = ()
    command: str = ""
    subject: str = ""
    items: Items | None = None
    files: Sequence[tuple[str, str]] = ()
    asked: Sequence[Asked] = ()


def render_page(page: Page) -> str:
    """Render a page as HTML."""
    first = first_screen(page.subject, page.outcomes) if page.subject else None
    answered = [outcome for outcome in page.outcomes if outcome.result is not None]
    html: str = _template().render(
        **vars(page) | {"heading": first.claim if first else page.heading},
        first=first,
        answered=worst_first(page.outcomes) if first else answered,
        terms=TERMS,
        works=_works(page.outcomes),
        version=rightreasons.__version__,
    )
    return html.translate(_CONTROLS)


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
        loader=jinja2.PackageLoader("rightreasons.report", "templates"),
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
        shortened=_shortened_report,
        marked=lambda example: _marked(example, markup),
    )
    environment.tests["estimate"] = lambda value: isinstance(value, Estimate)
    environment.tests["with_unit"] = lambda value: isinstance(value, Amount)
    css = (_TEMPLATES / "report.css").read_text("utf-8")
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


def _shortened_report(text: str) -> str:
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
    rest = example.text[end:] if end > LONGEST_TEXT else _shortened_report(example.text)[end:]
    pieces.append(markup.escape(rest))
    return markup.Markup("").join(pieces)
