"""From a set to what the page shows: its cues, the accuracy of a classifier that sees only them, and mirrored items."""

import dataclasses
import functools
import html
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.core.sentences import pluralize
from rightreasons.cues.classifier import CueClassifier, cue_transfer
from rightreasons.cues.extraction import CueTable, extract_cues
from rightreasons.cues.measure import DEFAULT_GROUPS_COLUMN, ChoiceItems, CueFigures, measure_cues
from rightreasons.cues.options import CuesOptions
from rightreasons.cues.question import draw_productivity
from rightreasons.cues.statistics import CueStatistics
from rightreasons.io.tables import open_multiple_choice
from rightreasons.page.formats import percent
from rightreasons.widget.pages import (
    by_name,
    check_upload,
    figure,
    table,
    tiles,
    typed_text,
    verdict,
)

ITEMS = Path(__file__).resolve().parent / "items.csv"

COPA_ITEMS = Path(__file__).resolve().parent / "copa.csv"
"""COPA's training items and their mirrors. `make_copa.py` writes them; a checkout has none."""

ORIGINALS = "Originals, with a planted cue"

OWN_SOURCE = (
    "Written for this page, with the word “was” put into the right choice more often than into the "
    "wrong one."
)
COPA_SOURCE = (
    "COPA's training items (Roemmele et al. 2011, BSD-2-Clause) and the mirrors of Balanced COPA "
    "(Kavumba et al. 2019, MIT on its site, CC BY 4.0 on the Hub)."
)
LEVEL, ALPHA = 0.95, 0.05
MAX_ITEMS = 20_000
DRAWN = 15
LISTED = 100
PAGE = 12
TRUE = ("true", "1", "yes")


@dataclasses.dataclass(frozen=True, eq=False)
class Items:
    """A multiple-choice set.

    Attributes:
        prompts: N prompts.
        choices: N lists of choices.
        labels: (N,) index of the right choice.
        source: N keys of what belongs together, such as an item and its mirror; None where no column says so.
        mirrored: (N,) whether each item is a mirror; None where no column says so.
    """

    prompts: list[str]
    choices: list[list[str]]
    labels: np.ndarray
    source: list[str] | None
    mirrored: np.ndarray | None

    def __len__(self) -> int:
        return len(self.labels)

    def where(self, mask: np.ndarray) -> "Items":
        """Return some of the items."""
        rows = np.flatnonzero(mask).tolist()
        return Items(
            [self.prompts[i] for i in rows],
            [self.choices[i] for i in rows],
            self.labels[rows],
            None if self.source is None else [self.source[i] for i in rows],
            None if self.mirrored is None else self.mirrored[rows],
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Analysis:
    """The analysis of a set.

    Attributes:
        items: The set.
        features: The families of cues.
        figures: Its cues, by applicability, and the accuracy of a classifier that sees nothing else.
        entries: Where each cue points.
    """

    items: Items
    features: tuple[str, ...]
    figures: CueFigures
    entries: CueTable

    @property
    def cues(self) -> CueStatistics:
        """The cues, by applicability."""
        return self.figures.statistics

    @property
    def classifier(self) -> CueClassifier:
        """The cross-validated classifier that sees nothing but cues."""
        return self.figures.classifier


def open_file(path: str) -> Items:
    """Read an uploaded set."""
    return read_items(check_upload(path))


@dataclasses.dataclass(frozen=True)
class BundledSet:
    """A set that comes with the page.

    Attributes:
        file: The file with originals and mirrors.
        has_mirrors: Whether the set has the mirrors, too.
        source: One line on where the items come from.
    """

    file: Path
    has_mirrors: bool
    source: str


def list_sets() -> dict[str, BundledSet]:
    """Return the sets that come with the page, by their names."""
    sets = {
        ORIGINALS: BundledSet(ITEMS, False, OWN_SOURCE),
        "Originals and their mirrors": BundledSet(ITEMS, True, OWN_SOURCE),
    }
    if COPA_ITEMS.is_file():
        sets["COPA"] = BundledSet(COPA_ITEMS, False, COPA_SOURCE)
        sets["Balanced COPA"] = BundledSet(COPA_ITEMS, True, COPA_SOURCE)
    return sets


@functools.cache
def bundled(name: str) -> Items:
    """Read a bundled set."""
    bundled_set = list_sets()[name]
    items = read_items(bundled_set.file)
    return items if bundled_set.has_mirrors else items.where(~items.mirrored)


def read_items(path: str | Path, **named: Any) -> Items:
    """Read a file with items; at most `MAX_ITEMS` are kept, drawn at random."""
    path = Path(path)
    with by_name(path):
        rows = open_multiple_choice(path, limit=MAX_ITEMS, **named)
    if len(rows) < 2:
        raise ValueError(f"Expected at least two items in {path.name}, but it has {len(rows)}.")
    columns = {name.lower(): name for name in rows.column_names}
    source, mirrored = (columns.get(name) for name in ("source_id", "mirrored"))
    return Items(
        rows["prompt"][:],
        rows["choices"][:],
        np.array(rows["label"][:], dtype=np.int64),
        None if source is None else [str(value) for value in rows[source]],
        None
        if mirrored is None
        else np.array([str(value).lower() in TRUE for value in rows[mirrored]]),
    )


def parse_items(text: str) -> Items:
    """Read pasted items: JSON, JSON lines, or comma- or tab-separated values."""
    text = typed_text(text, "Items").strip()
    if not text:
        raise ValueError("Expected items with their choices, but the text is empty.")
    first = text.split("\n", 1)[0]
    if text[0] in "[{":
        suffix = ".json" if text[0] == "[" else ".jsonl"
    else:
        suffix = ".tsv" if "\t" in first else ".csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"pasted{suffix}"
        path.write_text(text, encoding="utf-8")
        return read_items(path)


def analyze(items: Items, features: Sequence[str], min_applicability: int) -> Analysis:
    """Find the cues of a set, and the accuracy of a classifier that sees nothing else."""
    families = tuple(features or ())
    figures = measure_cues(
        ChoiceItems(items.prompts, items.choices, items.labels, items.source),
        options=CuesOptions(features=families, min_applicability=min_applicability),
    )
    prompts = items.prompts if "overlap" in families else None
    return Analysis(
        items, families, figures, extract_cues(items.choices, prompts=prompts, features=families)
    )


# ------------------------------------------------------------------------------------------------------------ the page


@dataclasses.dataclass(frozen=True, eq=False)
class Page:
    """A set and what the page shows of it, as HTML.

    Attributes:
        found: The analysis.
        figures: The verdict and the headline figures.
        diagram: The most common cues.
        table: All cues.
        names: The cues to choose from.
        first: The most telling of them, whose items are shown; None without one.
        pointed: Those items.
        mirrors: Originals and mirrored items.
    """

    found: Analysis
    figures: str
    diagram: str
    table: str
    names: list[str]
    first: str | None
    pointed: str
    mirrors: str


def write_page(items: Items, features: Sequence[str], minimum: int) -> Page:
    """Analyze a set and write its page."""
    found = analyze(items, features, minimum)
    names = cue_names(found)
    first = max(
        found.cues.cues,
        key=lambda cue: abs(cue.n_correct - cue.chance * cue.applicability),
        default=None,
    )
    shown = None if first is None or first.cue not in names else first.cue
    return Page(
        found,
        figures(found),
        diagram(found),
        cue_table(found),
        names,
        shown,
        items_with(found, shown),
        mirrors(found),
    )


def figures(found: Analysis) -> str:
    """Write the headline figures and the verdict in words."""
    cues, reached = found.cues, found.classifier
    best = max(
        found.figures.significant, key=lambda cue: abs(cue.productivity - cue.chance), default=None
    )
    interval = f"{LEVEL:.0%} interval {reached.low:.3f} to {reached.high:.3f}"
    strongest = "none" if best is None else f"“{best.cue}”"
    productivity = (
        "" if best is None else f"right in {best.n_correct} of {best.applicability} items"
    )
    entries = [
        ("Cue-only classifier", figure(reached.accuracy), interval),
        ("Chance", figure(reached.chance), pluralize(len(found.items), "item")),
        ("Telling cues", f"{cues.n_significant} of {cues.n_cues}", "after Holm's correction"),
        ("Most telling cue", strongest, productivity),
    ]
    how = f"{found.classifier.n_folds}-fold cross-validation, {reached.n_groups:,} groups."
    return f'{verdict(*_verdict(found))}{tiles(entries)}<p class="rr-small">{how}</p>'


def _verdict(found: Analysis) -> tuple[str, str]:
    """Say in one sentence what the figures show; returns it and its tone."""
    reached = found.classifier
    rates = f"{percent(reached.accuracy)} right without the prompt, where chance is {percent(reached.chance)}"
    conclusion = found.figures.conclusion
    if conclusion == "misleads":
        words = f"Cues alone do worse than chance ({rates}), as they do where items that belong together are apart"
        return f"{words}: a column {DEFAULT_GROUPS_COLUMN} says which do.", "neutral"
    if conclusion == "cannot tell":
        too_few = found.figures.too_few
        return (
            f"Too few items to tell whether they give answers away: {too_few} ({rates}).",
            "neutral",
        )
    if conclusion == "no sign":
        return (
            "Nothing here shows that the items give answers away: cues alone do no better than chance.",
            "good",
        )
    best = max(
        found.figures.significant, key=lambda cue: abs(cue.productivity - cue.chance), default=None
    )
    word = (
        ""
        if best is None
        else f"; “{best.cue}” is right in {best.n_correct} of {best.applicability}"
    )
    return f"These items give answers away: {rates}{word}.", "bad"


def diagram(found: Analysis) -> str:
    """Draw the most common cues with their productivity."""
    shown = found.cues.cues[:DRAWN]
    if not shown:
        return '<p class="rr-waiting">No cue is that often applicable: lower “Minimum applicability”.</p>'
    drawing = draw_productivity("cues", shown, found.classifier.chance, ALPHA)
    caption = "How often the choice that alone has the cue is right, with its interval; the dashed line is chance."
    return f'<figure class="rr-figure">{drawing.svg}<figcaption>{caption}</figcaption></figure>'


def cue_table(found: Analysis) -> str:
    """Write the cue table."""
    rows = [
        {**cue.to_dict(), "between": f"{cue.low:.2f} – {cue.high:.2f}"}
        for cue in found.cues.cues[:LISTED]
    ]
    columns = {
        "cue": "cue",
        "applicability": "applicability",
        "productivity": "productivity",
        "between": f"{LEVEL:.0%} interval",
        "coverage": "coverage",
        "p_value": "p",
        "p_holm": "p (Holm)",
    }
    more = f", the {LISTED} most common" if found.cues.n_cues > LISTED else ""
    return table(
        rows,
        columns,
        caption=f"Cues applicable to at least {found.cues.min_applicability} items{more}",
    )


def cue_names(found: Analysis) -> list[str]:
    """List the cues to choose from."""
    return [cue.cue for cue in found.cues.cues[:LISTED]]


def items_with(found: Analysis, cue: str | None) -> str:
    """Write the items that a cue is applicable to, with the choice that it points to."""
    entries, items = found.entries, found.items
    if cue is None or cue not in entries.names:
        return '<p class="rr-waiting">Choose a cue to see the items that it points at.</p>'
    chosen = entries.cue == entries.names.index(cue)
    pointed = dict(zip(entries.item[chosen].tolist(), entries.choice[chosen].tolist(), strict=True))
    right = sum(items.labels[item] == choice for item, choice in pointed.items())
    written = [_item(items, item, cue, choice) for item, choice in list(pointed.items())[:PAGE]]
    more = f"; the first {PAGE} are shown" if len(pointed) > PAGE else ""
    points = f"points to one choice in {pluralize(len(pointed), 'item')}, and to the right one in {right} of them"
    head = f"“{cue}” {points}{more}."
    return f'<p class="rr-small">{html.escape(head)}</p>{"".join(written)}'


def mirrors(found: Analysis) -> str:
    """Compare originals with mirrored items: cues and the cue-only classifier on each, and the first pairs."""
    items = found.items
    if (
        items.mirrored is None
        or items.source is None
        or not items.mirrored.any()
        or items.mirrored.all()
    ):
        return (
            '<p class="rr-waiting">This set has no mirrored items. A mirrored item has the choices of an original '
            "under a new prompt that makes the other choice right; columns “mirrored” (true, false) and “source_id” "
            "tell which is which. The bundled set “Originals and their mirrors” shows how that balances every cue.</p>"
        )
    original, mirror = items.where(~items.mirrored), items.where(items.mirrored)
    rows = []
    for cue in found.cues.cues[:DRAWN]:
        row: dict[str, Any] = {"cue": cue.cue, "all": cue.productivity}
        for name, part in (("original", original), ("mirrored", mirror)):
            row[name] = _productivity(found, part, cue.cue)
        rows.append(row)
    prompts = (original.prompts, mirror.prompts) if "overlap" in found.features else (None, None)
    moved = cue_transfer(
        original.choices,
        original.labels,
        mirror.choices,
        mirror.labels,
        train_prompts=prompts[0],
        test_prompts=prompts[1],
        features=found.features,
    )
    entries = [
        (
            "Learned on originals, asked mirrors",
            figure(float(np.mean(moved))),
            "what worked there misleads here",
        ),
        (
            "Both together",
            figure(found.classifier.accuracy),
            "cross-validated, pairs kept together",
        ),
    ]
    columns = {"cue": "cue", "original": "in originals", "mirrored": "in mirrors", "all": "in both"}
    pairs = _pairs(items)
    return f"{tiles(entries)}{table(rows, columns, caption='Productivity')}{pairs}"


def _productivity(found: Analysis, part: Items, cue: str) -> float | None:
    prompts = part.prompts if "overlap" in found.features else None
    entries = extract_cues(part.choices, prompts=prompts, features=found.features)
    if cue not in entries.names:
        return None
    chosen = entries.cue == entries.names.index(cue)
    hits = part.labels[entries.item[chosen]] == entries.choice[chosen]
    return float(hits.mean())


def _pairs(items: Items) -> str:
    mirrored, source = items.mirrored, items.source
    originals = {
        key: i for i, key in enumerate(source or []) if mirrored is not None and not mirrored[i]
    }
    written = []
    for i, key in enumerate(source or []):
        if mirrored is not None and mirrored[i] and key in originals and len(written) < PAGE:
            both = _item(items, originals[key]) + _item(items, i)
            written.append(f'<div class="cx-pair">{both}</div>')
    return "".join(written)


def _item(items: Items, item: int, cue: str | None = None, pointed: int | None = None) -> str:
    choices = []
    for number, choice in enumerate(items.choices[item]):
        is_right = number == items.labels[item]
        text = _mark(choice, cue) if cue is not None and number == pointed else html.escape(choice)
        mark = ' <span class="rr-small">right</span>' if is_right else ""
        choices.append(f'<li class="{"cx-right" if is_right else "cx-wrong"}">{text}{mark}</li>')
    note = ""
    if items.mirrored is not None:
        note = (
            f' <span class="rr-small">{"mirrored" if items.mirrored[item] else "original"}</span>'
        )
    prompt = html.escape(items.prompts[item])
    return f'<article class="cx-item"><p>{prompt}{note}</p><ul>{"".join(choices)}</ul></article>'


def _mark(choice: str, cue: str) -> str:
    """Mark a word or n-gram in a choice; a cue such as its length marks all of it."""
    if re.fullmatch("<.*>", cue):
        return f"<mark>{html.escape(choice)}</mark>"
    words = r"\W*?".join(re.escape(word) for word in cue.split(" "))
    parts, last = [], 0
    for match in re.finditer(
        rf"(?<!\w){words}(?!\w)" if cue[0].isalnum() else words, choice, re.IGNORECASE
    ):
        parts += [
            html.escape(choice[last : match.start()]),
            f"<mark>{html.escape(match.group())}</mark>",
        ]
        last = match.end()
    return "".join([*parts, html.escape(choice[last:])])
