"""What a section of the report is, and what it returns.

A section is the `question.py` in the folder of a question. It turns what `measure.py` beside it returns into words,
tables and pictures; it neither computes nor writes files nor knows HTML. Its result is made of a few kinds of parts.
Each says what it shows, how that is defined and where it comes from.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from rightreasons.core.estimates import Estimate, FigureText
from rightreasons.core.results import NOT_SERIALIZED, Result


@dataclasses.dataclass(frozen=True)
class Headline(Result):
    """A figure that the report shows large; one without interval, definition or source is refused.

    Attributes:
        key: Its stable name in audit.json, `[a-z0-9_]+`.
        name: Its name for readers.
        estimate: The figure and its interval.
        definition: What it is, in one sentence a reader can recompute it from.
        source: Where the definition comes from (authors, year), or "Counted".
        unit: "fraction" (0 to 1), "nats", "ratio" or "count".
        better: Whether "higher" or "lower" is better; None where neither is.
        split: The split on which it was computed.
        n: Number of items.
        no_interval: Why there is no interval; "" where there is one.
    """

    key: str
    name: str
    estimate: Estimate
    definition: str
    source: str
    unit: Literal["fraction", "nats", "ratio", "count"] = "fraction"
    better: Literal["higher", "lower"] | None = None
    split: str = ""
    n: int = 0
    no_interval: str = ""

    def __post_init__(self) -> None:
        if not (
            self.definition and self.source and (self.estimate.has_interval or self.no_interval)
        ):
            raise ValueError(
                f"Expected figure {self.key!r} to have a definition, a source, and an interval or why it has none."
            )

    @classmethod
    def of(
        cls,
        key: str,
        text: FigureText,
        estimate: Estimate,
        *,
        split: str = "",
        n: int = 0,
        no_interval: str = "",
    ) -> Headline:
        """Join an estimate with the text of its figure; where the interval is undefined, the headline says so."""
        reason = no_interval
        if not estimate.has_interval:
            reason = reason or estimate.method or "undefined for these items, so without interval"
        return cls(
            key,
            text.name,
            estimate,
            text.definition,
            text.source,
            text.unit,
            text.better,
            split,
            n,
            reason,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Plot(Result):
    """A picture, kept beside the report as PNG and inside it as SVG.

    Attributes:
        key: The name of its file, `[a-z0-9_]+`.
        title: What it is.
        caption: How to read it, and what the intervals in it are.
        alt: What it shows, in words and numbers, for readers who cannot see it.
        source: Where the kind of figure comes from.
        spec: Its specification in Vega-Lite, which `plots.Drawing` draws.
        wide: Whether it takes the whole width of the page.
    """

    key: str
    title: str
    caption: str
    alt: str
    source: str
    spec: Mapping[str, Any] = dataclasses.field(repr=False, metadata=NOT_SERIALIZED)
    wide: bool = dataclasses.field(default=False, metadata=NOT_SERIALIZED)

    def to_dict(self) -> dict[str, Any]:
        """Return the texts and the file of the picture."""
        return {**super().to_dict(), "file": f"figures/{self.key}.png"}


@dataclasses.dataclass(frozen=True)
class Column(Result):
    """A column of a table.

    Attributes:
        key: Its name in audit.json.
        name: Its heading.
        kind: "text", "share" (a fraction, in percent), "number" (three decimals), "count" or "p_value".
        definition: What it holds, shown under the table; "" where the heading says it.
    """

    key: str
    name: str
    kind: Literal["text", "share", "number", "count", "p_value"] = "number"
    definition: str = ""


@dataclasses.dataclass(frozen=True)
class Amount(Result):
    """A figure in a column of figures of several units.

    Attributes:
        estimate: The figure and its interval.
        unit: As of a `Headline`.
    """

    estimate: Estimate
    unit: str

    def to_dict(self) -> dict[str, Any]:
        """Return the figure; its unit is that of the headline of the same name."""
        return self.estimate.to_dict()


Cell = str | int | float | Estimate | Amount | None


@dataclasses.dataclass(frozen=True)
class Table(Result):
    """A table of texts, numbers and estimates.

    Attributes:
        key: Its name in audit.json.
        title: Its caption.
        columns: Its columns.
        rows: Its rows, one cell per column.
        note: How to read it.
        source: Where its definitions come from.
        folded: Whether it is collapsed until a reader opens it.
    """

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    source: str = ""
    folded: bool = dataclasses.field(default=False, metadata=NOT_SERIALIZED)

    def to_dict(self) -> dict[str, Any]:
        """Return the table with each row as a mapping from column key to cell."""
        keys = [column.key for column in self.columns]
        plain = super().to_dict()
        return {**plain, "rows": [dict(zip(keys, row, strict=True)) for row in plain["rows"]]}


@dataclasses.dataclass(frozen=True)
class Mark(Result):
    """A marked part of an example's text, such as an attributed token or a planted cue.

    Attributes:
        start: First character.
        end: One past the last character.
        kind: "cue" for a known or detected shortcut, "weight" for an attribution, "change" for an edit.
        weight: How strong it is, in [-1, 1].
        note: Shown when a reader points at it.
    """

    start: int
    end: int
    kind: Literal["cue", "weight", "change"] = "cue"
    weight: float = 1.0
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Example(Result):
    """One item with the prediction of the model.

    Attributes:
        id: Its id in the data.
        text: Its text, verbatim: the report escapes it.
        label: The name of its gold label; "" where there is none.
        prediction: The name of the predicted label.
        confidence: The model's confidence in its prediction; None where it gives none.
        text_pair: Its second text; "" where there is none.
        marks: Marked parts of `text`, in order and without overlap.
        note: Anything else about it.
    """

    id: str
    text: str
    label: str
    prediction: str
    confidence: float | None
    text_pair: str = ""
    marks: tuple[Mark, ...] = ()
    note: str = ""


@dataclasses.dataclass(frozen=True)
class ExampleList(Result):
    """Examples that show one thing.

    Attributes:
        key: Its name in audit.json.
        title: What they show.
        note: How they were chosen.
        examples: The examples.
        folded: Whether they are collapsed until a reader opens them.
    """

    key: str
    title: str
    note: str
    examples: tuple[Example, ...]
    folded: bool = dataclasses.field(default=False, metadata=NOT_SERIALIZED)


@dataclasses.dataclass(frozen=True)
class Part(Result):
    """One sub-heading of a section: text, then figures, plots, tables and examples.

    Attributes:
        title: Its heading.
        text: A paragraph or two, plain text; an empty line separates paragraphs.
        headlines: Its figures.
        plots: Its pictures.
        tables: Its tables.
        examples: Its lists of examples.
    """

    title: str
    text: str = ""
    headlines: tuple[Headline, ...] = ()
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()
    examples: tuple[ExampleList, ...] = ()


@dataclasses.dataclass(frozen=True)
class Verdict(Result):
    """The answer in one line.

    Attributes:
        tone: "good", "warn", "bad" or "neutral".
        label: Two or three words, such as "Overconfident".
        summary: One or two sentences with the figures behind it.
    """

    tone: Literal["good", "warn", "bad", "neutral"]
    label: str
    summary: str


@dataclasses.dataclass(frozen=True)
class Action(Result):
    """What a reader can do about a finding.

    Attributes:
        text: What to do, and why, in a sentence or two.
        command: The command that does it; "" where there is none. MODEL and DATASET stand for those of the audit.
        link: The part of the page to read, such as "#items"; "" for none.
    """

    text: str
    command: str = ""
    link: str = ""


@dataclasses.dataclass(frozen=True)
class Share(Result):
    """A share of a contrast.

    Attributes:
        name: What it is of.
        estimate: The share, from 0 to 1.
    """

    unit: ClassVar[Literal["fraction"]] = "fraction"

    name: str
    estimate: Estimate


@dataclasses.dataclass(frozen=True)
class Contrast(Result):
    """Shares that show a finding side by side, such as what a change does and what its control does.

    Attributes:
        title: What they are shares of.
        shares: The shares, that of the finding first.
    """

    title: str
    shares: tuple[Share, ...]


@dataclasses.dataclass(frozen=True)
class Finding(Result):
    """What the first screen of the report says about a question.

    Attributes:
        claim: What the model does, as the rest of a sentence that begins with its name.
        evidence: What the claim rests on: the test that decided it and the number of items.
        figure: The key of the headline that shows it on the common scale; "" where none is a share.
        size: The share of predictions that it is about, which orders findings of the same tone; None where it
            judges nothing, or is no reason to open the page with.
        plot: The key of the picture that shows it; "" for the first of the section.
        pair: One example that shows it, or an item before and after a change.
        actions: What to do, the most useful first.
        contrast: Shares that show it in place of the picture; None where there are none.
    """

    claim: str
    evidence: str
    figure: str = ""
    size: float | None = 0.0
    plot: str = ""
    pair: tuple[Example, ...] = ()
    actions: tuple[Action, ...] = ()
    contrast: Contrast | None = None


@dataclasses.dataclass(frozen=True)
class ItemFigure(Result):
    """A figure that is the mean of one value per item, kept so that two models can be compared item by item.

    Attributes:
        key: The figure; that of a headline where it is one.
        name: Its name for readers.
        better: Which values are better.
        ids: Names of the items; of the cases of a suite for a behavioral figure.
        values: The value of each.
        low: Smallest possible value.
        high: Largest possible value.
        groups: The group of each item where the figure is the mean over groups of their means; () where it is not.
        unit: "fraction" or "ratio".
        clusters: The cluster of each item, such as the cases of a suite with the same text; () for independent items.
        is_finding: Whether the report is about the figure. Reports are compared by figures that at least one is about.
    """

    key: str
    name: str
    better: str
    ids: tuple[str, ...] = dataclasses.field(metadata=NOT_SERIALIZED)
    values: tuple[float, ...] = dataclasses.field(metadata=NOT_SERIALIZED)
    low: float = 0.0
    high: float = 1.0
    groups: tuple[str, ...] = dataclasses.field(default=(), metadata=NOT_SERIALIZED)
    unit: str = "fraction"
    clusters: tuple[str, ...] = dataclasses.field(default=(), metadata=NOT_SERIALIZED)
    is_finding: bool = True

    @classmethod
    def of(
        cls,
        key: str,
        name: str,
        better: Literal["higher", "lower"],
        ids: Any,
        values: Any,
        **more: Any,
    ) -> ItemFigure:
        """Make a figure from sequences or arrays."""
        return cls(key, name, better, tuple(map(str, ids)), tuple(map(float, values)), **more)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the items, which have a file of their own."""
        return {**super().to_dict(), "n_items": len(self.ids)}


@dataclasses.dataclass(frozen=True)
class Change(Result):
    """A changed text that the model was asked about.

    Attributes:
        name: What becomes of which word, such as "“good” → “bad”".
        text: The changed text.
        prediction: The name of the label that it gets.
        confidence: The model's confidence in this label; None where it gives none.
    """

    name: str
    text: str
    prediction: str
    confidence: float | None = None


@dataclasses.dataclass(frozen=True)
class SectionResult(Result):
    """The answer to one question.

    Attributes:
        verdict: The answer in one line.
        headlines: The few figures of the overview at the top of the report (up to four).
        parts: The section itself, in reading order.
        limits: What the reader should not conclude.
        data: More plain values for audit.json, such as tables of bins.
        finding: What the first screen says; None where the verdict says all.
        files: Name -> text of further files of the report, such as a table for a spreadsheet.
        by_item: The figures that another model's can be compared with item by item.
        changes: (text of an item, a change of it that the model was asked about), of which a reader chooses.
    """

    verdict: Verdict
    headlines: tuple[Headline, ...]
    parts: tuple[Part, ...]
    limits: tuple[str, ...] = ()
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    finding: Finding | None = None
    files: Mapping[str, str] = dataclasses.field(default_factory=dict, metadata=NOT_SERIALIZED)
    by_item: tuple[ItemFigure, ...] = ()
    changes: tuple[tuple[str, Change], ...] = dataclasses.field(default=(), metadata=NOT_SERIALIZED)

    @property
    def plots(self) -> tuple[Plot, ...]:
        """All pictures of the section."""
        return tuple(plot for part in self.parts for plot in part.plots)


Reads: TypeAlias = Literal["none", "primary", "audited"]
"""Splits of an audit whose scores are read: none, the primary one, or the audited ones."""
