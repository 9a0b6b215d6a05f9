"""The cues of a multiple-choice set as HTML: verdict, picture, table, items, and mirrors.

`write_page` analyzes a set and writes all of it.
"""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from choice_sets import Analysis, ChoiceSet, analyze, find_cue_items

from rightreasons.core.sentences import pluralize
from rightreasons.cues.classifier import cue_transfer
from rightreasons.cues.measure import DEFAULT_GROUPS_COLUMN
from rightreasons.cues.question import draw_productivity
from rightreasons.cues.statistics import Cue
from rightreasons.page.formats import number, percent
from rightreasons.widget.pages import table, tiles, verdict

LEVEL = 0.95
"""Confidence level of the intervals."""

ALPHA = 0.05
"""Level of the tests after Holm's correction."""

MAX_DRAWN = 15
"""Largest number of cues in the picture."""

MAX_LISTED = 100
"""Largest number of cues in the table."""

MAX_SHOWN_ITEMS = 12
"""Largest number of items, or of pairs, that are written out."""


@dataclasses.dataclass(frozen=True, eq=False)
class Page:
    """What the page shows of a set, as HTML.

    Attributes:
        analysis: The cues of the set.
        figures: The verdict and the headline figures.
        diagram: Picture of the most common cues.
        table: Table of the cues.
        names: Cues that a visitor can choose.
        cue: The strongest of them, whose items are shown. None without cues.
        items: Those items.
        mirrors: Originals and mirrors.
    """

    analysis: Analysis
    figures: str
    diagram: str
    table: str
    names: list[str]
    cue: str | None
    items: str
    mirrors: str


def write_page(items: ChoiceSet, features: Sequence[str], min_applicability: int) -> Page:
    """Analyze a set, and write its page."""
    analysis = analyze(items, features, min_applicability)
    # A visitor chooses among the cues of the table.
    names = [cue.cue for cue in analysis.cues.cues[:MAX_LISTED]]
    strongest = find_strongest_cue(analysis)
    # The strongest cue may be a rare one, beyond the table.
    if strongest not in names:
        strongest = None
    return Page(
        analysis=analysis,
        figures=write_figures(analysis),
        diagram=draw_cues(analysis),
        table=write_cue_table(analysis),
        names=names,
        cue=strongest,
        items=write_cue_items(analysis, strongest),
        mirrors=write_mirrors(analysis),
    )


def find_strongest_cue(analysis: Analysis) -> str | None:
    """Return the cue whose correct items differ most from chance; None without cues."""
    strongest = max(
        analysis.cues.cues,
        key=lambda cue: abs(cue.n_correct - cue.chance * cue.applicability),
        default=None,
    )
    return None if strongest is None else strongest.cue


def find_clearest_cue(analysis: Analysis) -> Cue | None:
    """Return the significant cue whose productivity differs most from chance; None without any."""
    return max(
        analysis.figures.significant,
        key=lambda cue: abs(cue.productivity - cue.chance),
        default=None,
    )


def write_figures(analysis: Analysis) -> str:
    """Write the verdict and the headline figures."""
    cues = analysis.cues
    classifier = analysis.classifier
    # Without a significant cue, none is called the strongest.
    clearest = find_clearest_cue(analysis)
    name = "none"
    productivity = ""
    if clearest is not None:
        name = f"“{clearest.cue}”"
        productivity = f"correct in {clearest.n_correct} of {clearest.applicability} items"
    interval = f"{LEVEL:.0%} interval {number(classifier.low)} to {number(classifier.high)}"
    entries = [
        ("Cue-only classifier", number(classifier.accuracy), interval),
        ("Chance", number(classifier.chance), pluralize(len(analysis.items), "item")),
        ("Significant cues", f"{cues.n_significant} of {cues.n_cues}", "after Holm's correction"),
        ("Strongest cue", name, productivity),
    ]
    method = f"{classifier.n_folds}-fold cross-validation, {classifier.n_groups:,} groups."
    return (
        f'{verdict(*describe_conclusion(analysis))}{tiles(entries)}<p class="rr-small">{method}</p>'
    )


def describe_conclusion(analysis: Analysis) -> tuple[str, str]:
    """Return the conclusion about a set in one sentence, and its tone."""
    accuracy = percent(analysis.classifier.accuracy)
    chance = percent(analysis.classifier.chance)
    rates = f"{accuracy} are solved by cues in the choices alone, and {chance} by chance"
    conclusion = analysis.figures.conclusion
    # Worse than chance is no finding about the data, but about its groups.
    if conclusion == "misleads":
        sentence = (
            f"Cues alone do worse than chance ({rates}), which happens if related items are in "
            f"different folds. Name their groups in a column {DEFAULT_GROUPS_COLUMN}."
        )
        return sentence, "neutral"
    if conclusion == "cannot tell":
        reason = analysis.figures.too_few
        sentence = f"Too few items to decide whether they give answers away: {reason} ({rates})."
        return sentence, "neutral"
    if conclusion == "no sign":
        sentence = (
            "Nothing here shows that the items give answers away: cues alone do no better than "
            "chance."
        )
        return sentence, "good"
    clearest = find_clearest_cue(analysis)
    example = ""
    if clearest is not None:
        counts = f"{clearest.n_correct} of {clearest.applicability}"
        example = f"; the choice with “{clearest.cue}” is correct in {counts}"
    return f"These items give answers away: {rates}{example}.", "bad"


def draw_cues(analysis: Analysis) -> str:
    """Draw the most common cues with their productivity."""
    # The cues are sorted by applicability, the most common first.
    cues = analysis.cues.cues[:MAX_DRAWN]
    if not cues:
        return (
            '<p class="rr-waiting">No cue applies to so many items: lower “Minimum applicability”.'
            "</p>"
        )
    drawing = draw_productivity("cues", cues, analysis.classifier.chance, ALPHA)
    caption = (
        "Share of the applicable items in which the choice with the cue is correct, with its interval. "
        "The dashed line is chance."
    )
    return f'<figure class="rr-figure">{drawing.svg}<figcaption>{caption}</figcaption></figure>'


def write_cue_table(analysis: Analysis) -> str:
    """Write the table of cues."""
    rows = []
    for cue in analysis.cues.cues[:MAX_LISTED]:
        rows.append({**cue.to_dict(), "interval": f"{number(cue.low)} to {number(cue.high)}"})
    columns = {
        "cue": "cue",
        "applicability": "applicability",
        "productivity": "productivity",
        "interval": f"{LEVEL:.0%} interval",
        "coverage": "coverage",
        "p_value": "p",
        "p_holm": "p (Holm)",
    }
    caption = f"Cues applicable to at least {analysis.cues.min_applicability} items"
    if analysis.cues.n_cues > MAX_LISTED:
        caption += f", the {MAX_LISTED} most common"
    units = {
        "productivity": "fraction",
        "coverage": "fraction",
        "p_value": "p_value",
        "p_holm": "p_value",
    }
    return table(rows, columns, caption=caption, units=units)


# ----------------------------------------------------------------------------------- items


def write_cue_items(analysis: Analysis, cue: str | None) -> str:
    """Write the items that a cue applies to, with the choice that alone has it."""
    # A cue of an earlier set may not occur in this one.
    positions = {} if cue is None else find_cue_items(analysis, cue)
    if cue is None or not positions:
        return '<p class="rr-waiting">Choose a cue to see the items to which it applies.</p>'
    items = analysis.items
    n_correct = sum(items.labels[row] == position for row, position in positions.items())
    n_items = pluralize(len(positions), "item")
    head = f"In {n_items}, exactly one choice has “{cue}”; this choice is correct in {n_correct} of them"
    if len(positions) > MAX_SHOWN_ITEMS:
        head += f"; the first {MAX_SHOWN_ITEMS} are shown"
    articles = []
    # A common cue has thousands of items.
    for row, position in list(positions.items())[:MAX_SHOWN_ITEMS]:
        articles.append(_write_item(items, row, cue, position))
    return f'<p class="rr-small">{html.escape(head)}.</p>{"".join(articles)}'


def _write_item(
    items: ChoiceSet, row: int, cue: str | None = None, position: int | None = None
) -> str:
    """Write an item; the choice at a position has the cue marked."""
    choices = []
    for choice_position, choice in enumerate(items.choices[row]):
        text = html.escape(choice)
        if cue is not None and choice_position == position:
            text = _mark_cue(choice, cue)
        # The correct choice is marked by a word as well as by its color.
        if choice_position == items.labels[row]:
            choices.append(
                f'<li class="cx-right">{text} <span class="rr-small">correct</span></li>'
            )
        else:
            choices.append(f'<li class="cx-wrong">{text}</li>')
    note = ""
    if items.is_mirrored is not None:
        kind = "mirrored" if items.is_mirrored[row] else "original"
        note = f' <span class="rr-small">{kind}</span>'
    prompt = html.escape(items.prompts[row])
    return f'<article class="cx-item"><p>{prompt}{note}</p><ul>{"".join(choices)}</ul></article>'


def _mark_cue(choice: str, cue: str) -> str:
    """Mark a word or an n-gram in a choice; of another cue, such as its length, the whole choice."""
    if re.fullmatch("<.*>", cue):
        return f"<mark>{html.escape(choice)}</mark>"
    # Cues are words without the punctuation between them.
    pattern = r"\W*?".join(re.escape(word) for word in cue.split(" "))
    # A word must not match within a longer one; punctuation may.
    if cue[0].isalnum():
        pattern = rf"(?<!\w){pattern}(?!\w)"
    pieces = []
    end = 0
    for match in re.finditer(pattern, choice, re.IGNORECASE):
        pieces.append(html.escape(choice[end : match.start()]))
        pieces.append(f"<mark>{html.escape(match.group())}</mark>")
        end = match.end()
    pieces.append(html.escape(choice[end:]))
    return "".join(pieces)


# --------------------------------------------------------------------------------- mirrors


def write_mirrors(analysis: Analysis) -> str:
    """Compare originals with mirrors: the cues in each, a classifier, and the first pairs."""
    items = analysis.items
    if not items.has_mirrors:
        return (
            '<p class="rr-waiting">This set has no mirrored items. A mirrored item has the choices of '
            "an original under a new prompt that makes the other choice correct; columns “mirrored” "
            "(true, false) and “source_id” distinguish them. The bundled set “Originals and their "
            "mirrors” shows how that balances every cue.</p>"
        )
    # A cue that works in the originals misleads in their mirrors.
    originals = items.select(~items.is_mirrored)
    mirrors = items.select(items.is_mirrored)
    rows = []
    for cue in analysis.cues.cues[:MAX_DRAWN]:
        row: dict[str, Any] = {
            "cue": cue.cue,
            "original": _measure_productivity(analysis, originals, cue.cue),
            "mirrored": _measure_productivity(analysis, mirrors, cue.cue),
            "all": cue.productivity,
        }
        rows.append(row)
    is_correct = cue_transfer(
        originals.choices,
        originals.labels,
        mirrors.choices,
        mirrors.labels,
        train_prompts=originals.get_prompts(analysis.features),
        test_prompts=mirrors.get_prompts(analysis.features),
        features=analysis.features,
    )
    entries = [
        (
            "Trained on originals, tested on mirrors",
            number(float(np.mean(is_correct))),
            "cues of the originals mislead here",
        ),
        (
            "Both together",
            number(analysis.classifier.accuracy),
            "cross-validated, pairs kept together",
        ),
    ]
    columns = {"cue": "cue", "original": "in originals", "mirrored": "in mirrors", "all": "in both"}
    units = dict.fromkeys(("original", "mirrored", "all"), "fraction")
    cue_rows = table(rows, columns, caption="Productivity", units=units)
    return f"{tiles(entries)}{cue_rows}{_write_pairs(items)}"


def _measure_productivity(analysis: Analysis, items: ChoiceSet, cue: str) -> float | None:
    """Return how often the choice with a cue is correct in part of a set; None without items."""
    positions = find_cue_items(analysis, cue, items)
    if not positions:
        return None
    is_correct = [items.labels[row] == position for row, position in positions.items()]
    return float(np.mean(is_correct))


def _write_pairs(items: ChoiceSet) -> str:
    """Write the first pairs of an original and its mirror."""
    # The originals first, so that each mirror finds its own.
    row_by_source = {}
    for row, source_id in enumerate(items.source_ids or []):
        if not items.is_mirrored[row]:
            row_by_source[source_id] = row
    pairs = []
    for row, source_id in enumerate(items.source_ids or []):
        # A mirror may have lost its original to the limit of items.
        if not items.is_mirrored[row] or source_id not in row_by_source:
            continue
        original = _write_item(items, row_by_source[source_id])
        mirror = _write_item(items, row)
        pairs.append(f'<div class="cx-pair">{original}{mirror}</div>')
        if len(pairs) == MAX_SHOWN_ITEMS:
            break
    return "".join(pairs)
