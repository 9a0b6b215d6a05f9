"""Multiple-choice sets of the page: bundled, uploaded or pasted ones, and the cues in them."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.cues.classifier import CueClassifier
from rightreasons.cues.extraction import CueTable, extract_cues
from rightreasons.cues.measure import ChoiceItems, CueFigures, measure_cues
from rightreasons.cues.options import CuesOptions
from rightreasons.cues.statistics import CueStatistics
from rightreasons.io.tables import open_multiple_choice
from rightreasons.widget.pages import by_name, check_upload, typed_text

ITEMS = Path(__file__).resolve().parent / "items.csv"

COPA_ITEMS = Path(__file__).resolve().parent / "copa.csv"
"""COPA's training items and their mirrors. `make_copa.py` writes them; a checkout has none."""

ORIGINALS = "Originals, with a planted cue"
"""Name of the set with which the page opens."""

OWN_SOURCE = (
    "Written for this page, with the word “was” inserted into the correct choice more often than "
    "into the incorrect one."
)

COPA_SOURCE = (
    "COPA's training items (Roemmele et al. 2011, BSD-2-Clause) and the mirrors of Balanced COPA "
    "(Kavumba et al. 2019, MIT on its site, CC BY 4.0 on the Hub)."
)

MAX_ITEMS = 20_000
"""Largest number of items of a visitor's set; of a larger one, a random sample is kept."""

TRUE_WORDS = ("true", "1", "yes")
"""Cells of a column “mirrored” that mark a mirror."""


@dataclasses.dataclass(frozen=True, eq=False)
class ChoiceSet:
    """A multiple-choice set.

    Attributes:
        prompts: N prompts.
        choices: N lists of choices.
        labels: (N,) positions of the correct choices.
        source_ids: N names of groups, such as an item and its mirror. None without such a column.
        is_mirrored: (N,) whether each item is a mirror. None without such a column.
    """

    prompts: list[str]
    choices: list[list[str]]
    labels: NDArray[np.int64]
    source_ids: list[str] | None
    is_mirrored: NDArray[np.bool_] | None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def has_mirrors(self) -> bool:
        """Whether the set has originals and mirrors, and tells which belong together."""
        if self.is_mirrored is None or self.source_ids is None:
            return False
        return bool(self.is_mirrored.any() and not self.is_mirrored.all())

    def select(self, mask: NDArray[np.bool_]) -> ChoiceSet:
        """Return the items of a mask."""
        # Lists take no masks.
        rows = np.flatnonzero(mask).tolist()
        source_ids = None
        if self.source_ids is not None:
            source_ids = [self.source_ids[row] for row in rows]
        is_mirrored = None
        if self.is_mirrored is not None:
            is_mirrored = self.is_mirrored[rows]
        return ChoiceSet(
            prompts=[self.prompts[row] for row in rows],
            choices=[self.choices[row] for row in rows],
            labels=self.labels[rows],
            source_ids=source_ids,
            is_mirrored=is_mirrored,
        )

    def get_prompts(self, features: Sequence[str]) -> list[str] | None:
        """Return the prompts if a family of cues reads them; None otherwise."""
        return self.prompts if "overlap" in features else None


@dataclasses.dataclass(frozen=True, eq=False)
class Analysis:
    """Cues of a set.

    Attributes:
        items: The set.
        features: Families of cues.
        figures: Statistics of the cues, and accuracy of a classifier that sees nothing else.
        entries: Items and choices with each cue.
    """

    items: ChoiceSet
    features: tuple[str, ...]
    figures: CueFigures
    entries: CueTable

    @property
    def cues(self) -> CueStatistics:
        """Statistics of the cues, by applicability."""
        return self.figures.statistics

    @property
    def classifier(self) -> CueClassifier:
        """The cross-validated classifier that sees only cues."""
        return self.figures.classifier


@dataclasses.dataclass(frozen=True)
class BundledSet:
    """A set that comes with the page.

    Attributes:
        file: File with originals and mirrors.
        has_mirrors: Whether the set includes the mirrors.
        source: Origin of the items, in one line.
    """

    file: Path
    has_mirrors: bool
    source: str


def list_sets() -> dict[str, BundledSet]:
    """Return the bundled sets by their names."""
    sets = {
        ORIGINALS: BundledSet(ITEMS, False, OWN_SOURCE),
        "Originals and their mirrors": BundledSet(ITEMS, True, OWN_SOURCE),
    }
    # COPA is not part of the repository; the published page has it.
    if COPA_ITEMS.is_file():
        sets["COPA"] = BundledSet(COPA_ITEMS, False, COPA_SOURCE)
        sets["Balanced COPA"] = BundledSet(COPA_ITEMS, True, COPA_SOURCE)
    return sets


@functools.cache
def read_bundled(name: str) -> ChoiceSet:
    """Read a bundled set."""
    bundled_set = list_sets()[name]
    items = read_items(bundled_set.file)
    if bundled_set.has_mirrors:
        return items
    return items.select(~items.is_mirrored)


def read_upload(path: str) -> ChoiceSet:
    """Read an uploaded set."""
    return read_items(check_upload(path))


def read_items(path: str | Path) -> ChoiceSet:
    """Read a file of multiple-choice items.

    Raises:
        ValueError: If it has fewer than two items, or is refused by `open_multiple_choice`.
    """
    path = Path(path)
    # A visitor knows the file by its name, not by its path on the server.
    with by_name(path):
        table = open_multiple_choice(path, limit=MAX_ITEMS)
    if len(table) < 2:
        raise ValueError(f"Expected at least two items in {path.name}, but it has {len(table)}.")
    # Headings of a visitor may have capitals.
    columns = {name.lower(): name for name in table.column_names}
    source_ids = None
    if "source_id" in columns:
        source_ids = list(map(str, table[columns["source_id"]]))
    is_mirrored = None
    if "mirrored" in columns:
        cells = [str(cell).lower() for cell in table[columns["mirrored"]]]
        is_mirrored = np.isin(cells, TRUE_WORDS)
    return ChoiceSet(
        prompts=table["prompt"][:],
        choices=table["choices"][:],
        labels=np.array(table["label"][:], dtype=np.int64),
        source_ids=source_ids,
        is_mirrored=is_mirrored,
    )


def parse_items(text: str) -> ChoiceSet:
    """Parse pasted items: JSON, JSON lines, or comma- or tab-separated values."""
    text = typed_text(text, "Items").strip()
    if not text:
        raise ValueError("Expected items with their choices, but the text is empty.")
    with tempfile.TemporaryDirectory() as folder:
        # The reader decides by the suffix.
        path = Path(folder) / f"pasted{_find_suffix(text)}"
        path.write_text(text, encoding="utf-8")
        return read_items(path)


def _find_suffix(text: str) -> str:
    """Return the suffix of a file with a text."""
    # JSON begins with a bracket, JSON lines with a brace.
    if text[0] == "[":
        return ".json"
    if text[0] == "{":
        return ".jsonl"
    first_line = text.split("\n", 1)[0]
    return ".tsv" if "\t" in first_line else ".csv"


def analyze(items: ChoiceSet, features: Sequence[str], min_applicability: int) -> Analysis:
    """Measure the cues of a set.

    Args:
        items: The set.
        features: Families of cues; none for no cues.
        min_applicability: Smallest number of items that a cue applies to.
    """
    families = tuple(features or ())
    figures = measure_cues(
        ChoiceItems(items.prompts, items.choices, items.labels, items.source_ids),
        options=CuesOptions(features=families, min_applicability=min_applicability),
    )
    # The figures count cues; the page also shows in which choices they are.
    entries = extract_cues(items.choices, prompts=items.get_prompts(families), features=families)
    return Analysis(items, families, figures, entries)


def find_cue_items(analysis: Analysis, cue: str, items: ChoiceSet | None = None) -> dict[int, Any]:
    """Return the items that a cue applies to, with the position of the choice that alone has it.

    Args:
        analysis: The cues of a set.
        cue: The cue.
        items: Part of the set. None for all of it.
    """
    entries = analysis.entries
    if items is not None:
        prompts = items.get_prompts(analysis.features)
        entries = extract_cues(items.choices, prompts=prompts, features=analysis.features)
    if cue not in entries.names:
        return {}
    # An item is listed once: the cue is in one of its choices only.
    is_cue = entries.cue == entries.names.index(cue)
    rows = entries.item[is_cue].tolist()
    positions = entries.choice[is_cue].tolist()
    return dict(zip(rows, positions, strict=True))
