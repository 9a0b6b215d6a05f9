"""Parts of a section of the report: figures, pictures, tables, examples and a verdict.

The `question.py` of a question turns its measurement into a `SectionResult`. It neither computes, nor
writes files, nor knows HTML. Each part has a title, a definition and a source.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from rightreasons.core.estimates import Estimate, FigureText
from rightreasons.core.results import NOT_SERIALIZED, Result


@dataclasses.dataclass(frozen=True)
class Headline(Result):
    """A figure that the report shows large.

    Attributes:
        key: Stable name in audit.json, `[a-z0-9_]+`.
        name: Name for readers.
        estimate: The figure and its interval.
        definition: One sentence from which a reader can recompute it.
        source: Authors and year of the definition, or "Counted".
        unit: "fraction" (0 to 1), "nats", "ratio" or "count".
        better: Whether "higher" or "lower" values are better; None for neither.
        split: Name of the split on which it was computed; "" for none.
        n: Number of items.
        no_interval: Reason for a missing interval; "" if there is an interval.

    Raises:
        ValueError: If definition or source is missing, or both the interval and its reason are.
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
        """Check that a reader can recompute and judge the figure.

        Raises:
            ValueError: If the definition or the source is empty, or if the figure has neither an
                interval nor the reason why it has none.
        """
        # The source is the paper with the definition, or "Counted".
        is_defined = self.definition and self.source
        is_judgeable = self.estimate.has_interval or self.no_interval
        if not (is_defined and is_judgeable):
            raise ValueError(
                f"Expected figure {self.key!r} to have a definition, a source, and an interval or "
                "why it has none."
            )

    @classmethod
    def from_text(
        cls,
        key: str,
        text: FigureText,
        estimate: Estimate,
        *,
        split: str = "",
        n: int = 0,
        no_interval: str = "",
    ) -> Headline:
        """Make a headline from an estimate and the name, definition, source and unit of its figure.

        Args:
            key: Stable name in audit.json.
            text: Name, definition, source, unit and better direction of the figure.
            estimate: The figure and its interval.
            split: Name of the split; "" for none.
            n: Number of items.
            no_interval: Reason for a missing interval. If it is "", the method of the estimate is
                the reason.
        """
        # If an estimate has no interval, its `method` is usually the reason.
        reason = no_interval
        if not estimate.has_interval and not reason:
            reason = estimate.method or "undefined for these items, so without interval"
        return cls(
            key=key,
            name=text.name,
            estimate=estimate,
            definition=text.definition,
            source=text.source,
            unit=text.unit,
            better=text.better,
            split=split,
            n=n,
            no_interval=reason,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Plot(Result):
    """A picture, stored as PNG in the folder of the report and as SVG in the page.

    Attributes:
        key: Name of its file, `[a-z0-9_]+`.
        title: Title.
        caption: Instructions for reading it, and the meaning of its intervals.
        alt: Description in words and numbers, for readers who cannot see it.
        source: Authors and year of this kind of picture.
        spec: Specification in Vega-Lite, which `plots.Drawing` draws.
        wide: Whether it takes the whole width of the page.
    """

    key: str
    title: str
    caption: str
    alt: str
    source: str
    # audit.json has the name of the file instead, and the width is a matter of the page.
    spec: Mapping[str, Any] = dataclasses.field(repr=False, metadata=NOT_SERIALIZED)
    wide: bool = dataclasses.field(default=False, metadata=NOT_SERIALIZED)

    def to_dict(self) -> dict[str, Any]:
        """Return the texts and the file of the picture."""
        return {**super().to_dict(), "file": f"figures/{self.key}.png"}


@dataclasses.dataclass(frozen=True)
class Column(Result):
    """A column of a table.

    Attributes:
        key: Name in audit.json.
        name: Heading.
        kind: "text", "share" (a fraction, in percent), "number" (three decimals), "count" or
            "p_value".
        definition: Definition below the table; "" if the heading is enough.
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
        unit: "fraction" (0 to 1), "nats", "ratio" or "count".
    """

    estimate: Estimate
    unit: str

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate; the headline of the same name has its unit."""
        return self.estimate.to_dict()


@dataclasses.dataclass(frozen=True)
class Link(Result):
    """A text in a table that leads to another place, such as an item of another page.

    Attributes:
        text: The text.
        address: Address of the place; "" for a text that leads nowhere.
        anchor: Name by which other links find this cell; "" for none.
        light: Name of the light of a verdict, which precedes the text; "" for none.
        tone: Tone of that verdict; "" for none.
    """

    text: str
    # Addresses depend on the folder of the page.
    address: str = dataclasses.field(default="", metadata=NOT_SERIALIZED)
    anchor: str = dataclasses.field(default="", metadata=NOT_SERIALIZED)
    light: str = ""
    tone: str = ""

    def __str__(self) -> str:
        # A verdict without a figure has its light only.
        return ": ".join(filter(None, (self.light, self.text)))


# A column of numbers may have a word for a missing one.
Cell = str | int | float | Estimate | Amount | Link | None


@dataclasses.dataclass(frozen=True)
class Table(Result):
    """A table of texts, numbers and estimates.

    Attributes:
        key: Name in audit.json.
        title: Caption.
        columns: Columns.
        rows: Rows, with one cell per column.
        note: Instructions for reading it.
        source: Authors and year of its definitions.
        folded: Whether it is collapsed until a reader opens it.
    """

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    source: str = ""
    # Whether it is open is a matter of the page.
    folded: bool = dataclasses.field(default=False, metadata=NOT_SERIALIZED)

    def to_dict(self) -> dict[str, Any]:
        """Return the table with each row as a mapping from column key to cell."""
        keys = [column.key for column in self.columns]
        record = super().to_dict()
        record["rows"] = [dict(zip(keys, row, strict=True)) for row in record["rows"]]
        return record


@dataclasses.dataclass(frozen=True)
class Mark(Result):
    """A marked part of an example's text, such as an attributed token or a planted cue.

    Attributes:
        start: Index of its first character.
        end: Index after its last character.
        kind: "cue" for a known or detected shortcut, "weight" for an attribution, "change" for an
            edit.
        weight: Strength, in [-1, 1].
        note: Text that is shown when a reader points at it.
    """

    start: int
    end: int
    kind: Literal["cue", "weight", "change"] = "cue"
    weight: float = 1.0
    note: str = ""


@dataclasses.dataclass(frozen=True)
class ChoiceAnswer(Result):
    """What a model makes of a choice under one condition, such as another order of the choices.

    Attributes:
        letter: Letter of the position at which the model saw the choice; "" if the position is the
            same under all conditions.
        confidence: The model's confidence in the choice. None if it gives none, or if the model did
            not see the choice.
        is_picked: Whether the choice is the model's answer.
    """

    letter: str
    confidence: float | None
    is_picked: bool


@dataclasses.dataclass(frozen=True)
class Choice(Result):
    """A choice of a multiple-choice item, with the answers of the model.

    Attributes:
        text: Text, verbatim: the report escapes it.
        is_correct: Whether it is the correct choice of the unchanged item.
        answers: One for each of `Example.conditions`.
    """

    text: str
    is_correct: bool
    answers: tuple[ChoiceAnswer, ...]


@dataclasses.dataclass(frozen=True)
class Example(Result):
    """One item with the prediction of the model.

    Attributes:
        id: Id in the data.
        text: Text, verbatim: the report escapes it.
        label: Name of the gold label; "" for an unlabeled item.
        prediction: Name of the predicted label.
        confidence: The model's confidence in its prediction. None if it has none.
        text_pair: Second text; "" for none.
        marks: Marked parts of `text`, in order and without overlap.
        note: Further remark.
        conditions: Conditions under which the model chose, such as "Original order" and "Another
            order"; () for an item without choices.
        choices: Choices of the item, with the answers under each condition; () for none.
    """

    id: str
    text: str
    label: str
    prediction: str
    confidence: float | None
    text_pair: str = ""
    marks: tuple[Mark, ...] = ()
    note: str = ""
    # An item with choices has its answers here, under each of the conditions.
    conditions: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()


@dataclasses.dataclass(frozen=True)
class ExampleList(Result):
    """Examples that show one thing.

    Attributes:
        key: Name in audit.json.
        title: Subject of the examples.
        note: How they were selected.
        examples: The examples.
        item_figure: Key of the figure by item that they show, by which a reader filters the items
            of the page; "" for none.
        folded: Whether they are collapsed until a reader opens them.
    """

    key: str
    title: str
    note: str
    examples: tuple[Example, ...]
    item_figure: str = ""
    # Whether they are open is a matter of the page.
    folded: bool = dataclasses.field(default=False, metadata=NOT_SERIALIZED)


@dataclasses.dataclass(frozen=True)
class Part(Result):
    """One sub-heading of a section: text, then figures, plots, tables and examples.

    Attributes:
        title: Heading.
        text: A paragraph or two of plain text, separated by an empty line.
        headlines: Figures.
        plots: Pictures.
        tables: Tables.
        examples: Lists of examples.
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
    """Advice for a reader of a finding.

    Attributes:
        text: The advice and its reason, in a sentence or two.
        command: Command that follows the advice; "" for none. MODEL and DATASET represent those of
            the audit.
        link: Part of the page to read, such as "#items"; "" for none.
    """

    text: str
    command: str = ""
    link: str = ""


@dataclasses.dataclass(frozen=True)
class Share(Result):
    """A share of a contrast.

    Attributes:
        name: Items or changes that it is a share of.
        estimate: The share, from 0 to 1.
    """

    # The page formats it as it formats a headline, which has a unit.
    unit: ClassVar[Literal["fraction"]] = "fraction"

    name: str
    estimate: Estimate


@dataclasses.dataclass(frozen=True)
class Contrast(Result):
    """Shares that show a finding side by side, such as the effects of a change and of its control.

    Attributes:
        title: Items or changes that they are shares of.
        shares: The shares, that of the finding first.
    """

    title: str
    shares: tuple[Share, ...]


@dataclasses.dataclass(frozen=True)
class Finding(Result):
    """Summary of a question on the first screen of the report.

    Attributes:
        claim: End of a sentence about the model, which begins with its name.
        evidence: The test that decided the claim, and the number of items.
        figure: Key of the headline that shows it on the common scale; "" if none is a share.
        size: Share of predictions that it is about, which orders findings of the same tone. None if
            it judges nothing, or is no reason to open the page with.
        plot: Key of the picture that shows it; "" for the first of the section.
        pair: One example that shows it, or an item before and after a change.
        actions: Advice, the most useful first.
        contrast: Shares that show it instead of the picture. None for the picture.
        item_figure: Key of the figure by item that it is about, by which a reader filters the items
            of the page; "" if it is about no single items.
    """

    claim: str
    evidence: str
    figure: str = ""
    size: float | None = 0.0
    plot: str = ""
    pair: tuple[Example, ...] = ()
    actions: tuple[Action, ...] = ()
    contrast: Contrast | None = None
    item_figure: str = ""


@dataclasses.dataclass(frozen=True)
class ItemFigure(Result):
    """A figure that is the mean of one value per item, by which two models are compared.

    Attributes:
        key: Name of the figure; that of its headline, if it has one.
        name: Name for readers.
        better: "higher" or "lower".
        ids: (N,) ids of the items, or of the cases of a suite.
        values: (N,) values.
        low: Smallest possible value.
        high: Largest possible value.
        groups: (N,) groups of a figure that is the mean of the groups' means; () for a plain mean.
        unit: "fraction" or "ratio".
        clusters: (N,) clusters, such as the cases of a suite with equal texts; () for independent
            items.
        is_finding: Whether the report is about the figure. Two reports are compared by the figures
            that at least one of them is about.
    """

    key: str
    name: str
    better: str
    # Items have their own file, as there may be a million.
    ids: tuple[str, ...] = dataclasses.field(metadata=NOT_SERIALIZED)
    values: tuple[float, ...] = dataclasses.field(metadata=NOT_SERIALIZED)
    low: float = 0.0
    high: float = 1.0
    groups: tuple[str, ...] = dataclasses.field(default=(), metadata=NOT_SERIALIZED)
    unit: str = "fraction"
    clusters: tuple[str, ...] = dataclasses.field(default=(), metadata=NOT_SERIALIZED)
    is_finding: bool = True

    @classmethod
    def from_arrays(
        cls,
        key: str,
        name: str,
        better: Literal["higher", "lower"],
        ids: Any,
        values: Any,
        **fields: Any,
    ) -> ItemFigure:
        """Make a figure from sequences or arrays, whose values become plain ones, as JSON requires.

        Args:
            key: Name of the figure.
            name: Name for readers.
            better: "higher" or "lower".
            ids: N ids.
            values: N values.
            **fields: Further fields, such as `low` and `high`.
        """
        # Values of numpy are no JSON.
        plain_ids = tuple(map(str, ids))
        plain_values = tuple(map(float, values))
        return cls(key, name, better, plain_ids, plain_values, **fields)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields but the items, which have a separate file."""
        return {**super().to_dict(), "n_items": len(self.ids)}


@dataclasses.dataclass(frozen=True)
class Change(Result):
    """A changed text with the prediction of the model.

    Attributes:
        name: The replaced word and its replacement, such as "“good” → “bad”".
        text: The changed text.
        prediction: Name of the predicted label.
        confidence: The model's confidence in this label. None if it has none.
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
        headlines: Figures of the overview at the top of the report.
        parts: The section in reading order.
        limits: Conclusions that the reader should not draw.
        data: Further plain values for audit.json, such as tables of bins.
        finding: Summary for the first screen. None if the verdict is enough.
        files: Name -> text of further files of the report, such as a table for a spreadsheet.
        by_item: Figures by which two models are compared item by item.
        changes: (text of an item, change of it) for each change with a prediction, from which a
            reader chooses.
    """

    verdict: Verdict
    headlines: tuple[Headline, ...]
    parts: tuple[Part, ...]
    limits: tuple[str, ...] = ()
    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    finding: Finding | None = None
    # Files are named in audit.json by their digests, and changes are in the data of the page.
    files: Mapping[str, str] = dataclasses.field(default_factory=dict, metadata=NOT_SERIALIZED)
    by_item: tuple[ItemFigure, ...] = ()
    changes: tuple[tuple[str, Change], ...] = dataclasses.field(default=(), metadata=NOT_SERIALIZED)

    @property
    def plots(self) -> tuple[Plot, ...]:
        """All pictures of the section."""
        return tuple(plot for part in self.parts for plot in part.plots)


Reads: TypeAlias = Literal["none", "primary", "audited"]
"""Splits of an audit whose scores a question needs: none, the primary one, or all audited ones."""
