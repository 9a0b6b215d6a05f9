"""A question of the audit as data, and the engine that answers it.

A question declares its needs, its measurement, its figures, the rules of its verdict, and the parts
of its section. Its prose is in `question.md.j2` in the same folder (see `page.prose`), with an entry
for each key. `Question.answer` fills both with a measurement.

Functions of a question get its measurement `m`: the value of `measure`, with `n_items`, the number of
its items.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rightreasons.core.decisions import Power
from rightreasons.core.estimates import Estimate, FigureText
from rightreasons.page import parts as p
from rightreasons.page.advice import format_report_folder
from rightreasons.page.formats import level_percent
from rightreasons.page.prose import Prose, action

if TYPE_CHECKING:
    from rightreasons.page.plots import Drawing


Condition = Callable[[Any], object] | None
"""Function of a measurement that returns whether something is shown; None for always."""


@dataclasses.dataclass(frozen=True)
class Need:
    """A condition for a question to apply; the prose `need.KEY` explains why it does not.

    Attributes:
        key: Key of its prose.
        is_met: Function of context and options that returns whether the condition holds.
    """

    key: str
    is_met: Callable[[Any, Any], object]


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure; the prose `figure.KEY` has its name as the title, and its definition.

    Attributes:
        key: Key of its prose, and of the figure in audit.json.
        get_estimate: Function of a measurement that returns the estimate; None for no figure.
        source: Authors and year of its definition.
        unit: Unit; "fraction" is 0 to 1.
        better: Whether higher or lower values are better; None for neither.
        n: Function of a measurement that returns the number of items.
        split: Function of a measurement that returns the split. If None, the primary one.
        text: Function of a measurement that returns name and definition, for figures that other
            pages have as well. If None, the prose has them.
        suffix: Function of a measurement that returns the end of the key, for figures that depend on
            it: "drop" of 8 choices is "drop_8".
        no_interval: Reason for a missing interval.
    """

    key: str
    get_estimate: Callable[[Any], Estimate | None]
    source: str = ""
    unit: Literal["fraction", "nats", "ratio", "count"] = "fraction"
    better: Literal["higher", "lower"] | None = None
    n: Callable[[Any], int] = lambda m: m.n_items
    split: Callable[[Any], str] | None = None
    text: Callable[[Any], FigureText] | None = None
    suffix: Callable[[Any], object] | None = None
    no_interval: str = ""

    def make_headline(self, measurement: Any, prose: Prose, split: str) -> p.Headline | None:
        """Return the figure for the report: its estimate with name and definition.

        Args:
            measurement: The measurement, the result of `Question.measure`.
            prose: The sentences of the question, filled in with the measurement.
            split: Name of the primary split, on which most figures are computed.

        Returns:
            The figure. None if the measurement does not have it.
        """
        estimate = self.get_estimate(measurement)
        if estimate is None:
            return None
        key = self.key
        if self.suffix is not None:
            key = f"{key}_{self.suffix(measurement)}"
        if self.split is not None:
            split = self.split(measurement)
        reason = ""
        if not estimate.has_interval:
            reason = self.no_interval
        return p.Headline.from_text(
            key,
            self._write_text(measurement, prose),
            estimate,
            split=split,
            n=self.n(measurement),
            no_interval=reason,
        )

    def _write_text(self, measurement: Any, prose: Prose) -> FigureText:
        """Return the name and the definition of the figure."""
        # Figures of modules have their texts in code, as `evaluate` shows them too.
        if self.text is not None:
            return self.text(measurement)
        name = f"figure.{self.key}"
        return FigureText(prose.title(name), prose(name), self.source, self.unit, self.better)


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule of the verdict; the prose `verdict.KEY` has its label as the title, and its summary.

    The first rule that holds decides.

    Attributes:
        tone: Tone of the verdict.
        key: Key of its prose.
        condition: Whether it holds.
    """

    tone: Literal["good", "warn", "bad", "neutral"]
    key: str
    condition: Condition = None


@dataclasses.dataclass(frozen=True)
class Table:
    """A table; the prose `table.KEY` has its title, how to read it, and the list of its columns.

    Attributes:
        key: Key of its prose.
        rows: Function of a measurement that returns its rows.
        source: Authors and year of its definitions; it may be a template.
        folded: Whether it is collapsed until a reader opens it.
        condition: Whether it is shown.
    """

    key: str
    rows: Callable[[Any], Iterable[tuple[p.Cell, ...]]]
    source: str = ""
    folded: bool = False
    condition: Condition = None

    def fill(self, measurement: Any, prose: Prose) -> p.Table:
        """Return the table of a measurement, with title, columns and note from the prose.

        Args:
            measurement: The measurement, the result of `Question.measure`.
            prose: The entries of the question's .md.j2 file, filled in with the measurement. The
                entry `table.KEY` has the title, the list of the columns, and the note.
        """
        name = f"table.{self.key}"
        return p.Table(
            key=self.key,
            title=prose.title(name),
            columns=tuple(prose.columns(name)),
            rows=tuple(self.rows(measurement)),
            note=prose(name),
            # The source is a template: it may contain the name of a suite, for example.
            source=prose.line(self.source),
            folded=self.folded,
        )


@dataclasses.dataclass(frozen=True)
class Tables:
    """Tables, pictures or lists of examples whose number depends on the measurement.

    Attributes:
        key: Name of them.
        make: Function of a measurement that returns them, with their titles and notes.
        condition: Whether they are shown.
    """

    key: str
    make: Callable[[Any], Iterable[p.Table | p.Plot | p.ExampleList]]
    condition: Condition = None


@dataclasses.dataclass(frozen=True)
class Plot:
    """A picture; the prose `plot.KEY` has its title and caption, and `alt.KEY` its description.

    Attributes:
        key: Key of its prose.
        draw: Function of key and measurement that returns the drawing.
        source: Authors and year of this kind of picture.
        wide: Whether it may take the whole width of the page.
        condition: Whether it is shown.
    """

    key: str
    draw: Callable[[str, Any], Drawing]
    source: str
    wide: bool = False
    condition: Condition = None

    def fill(self, measurement: Any, prose: Prose) -> p.Plot:
        """Return the picture of a measurement, with title, caption and description from the prose.

        Args:
            measurement: The measurement, the result of `Question.measure`.
            prose: The entries of the question's .md.j2 file, filled in with the measurement. The
                entry `plot.KEY` has the title and the caption, and `alt.KEY` a description for
                readers who do not see the picture.
        """
        name = f"plot.{self.key}"
        drawing = self.draw(self.key, measurement)
        # A picture that is higher than wide would not fit into the window at the width of the page.
        is_tall = drawing.spec.get("height", 0) > drawing.spec.get("width", 0)
        return p.Plot(
            key=drawing.key,
            title=prose.title(name),
            caption=prose(name),
            alt=prose(f"alt.{self.key}"),
            source=self.source,
            spec=drawing.spec,
            wide=self.wide and not is_tall,
        )


@dataclasses.dataclass(frozen=True)
class Examples:
    """A list of examples; the prose `examples.KEY` has its title and how they were selected.

    Attributes:
        key: Key of its prose.
        pick: Function of a measurement that returns the examples; the list is absent without any.
        item_figure: Function of a measurement that returns the key of the figure by item that they
            show, by which the page filters its items; "" for none.
        folded: Whether they are collapsed until a reader opens them.
        condition: Whether they are shown.
    """

    key: str
    pick: Callable[[Any], Iterable[p.Example]]
    item_figure: Callable[[Any], str] = lambda m: ""
    folded: bool = False
    condition: Condition = None

    def fill(self, measurement: Any, prose: Prose) -> p.ExampleList | None:
        """Return the list of examples of a measurement, with title and note from the prose.

        Args:
            measurement: The measurement, the result of `Question.measure`.
            prose: The sentences of the question, filled in with the measurement.

        Returns:
            The list. None if there are no examples.
        """
        examples = tuple(self.pick(measurement))
        if not examples:
            return None
        name = f"examples.{self.key}"
        return p.ExampleList(
            key=self.key,
            title=prose.title(name),
            note=prose(name),
            examples=examples,
            item_figure=self.item_figure(measurement),
            folded=self.folded,
        )


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the section; the prose `part.KEY` has its title and text.

    Attributes:
        key: Key of its prose.
        views: Tables, pictures and examples, in reading order.
        figures: Keys of its figures.
        condition: Whether it is shown.
    """

    key: str
    views: tuple[Table | Tables | Plot | Examples, ...] = ()
    figures: tuple[str, ...] = ()
    condition: Condition = None

    def fill(self, measurement: Any, prose: Prose, figures: Mapping[str, p.Headline]) -> p.Part:
        """Return the part of a section for a measurement: figures, pictures, tables and examples.

        Args:
            measurement: The measurement, the result of `Question.measure`.
            prose: The sentences of the question, filled in with the measurement.
            figures: Key of each defined figure -> the figure.
        """
        plots: list[p.Plot] = []
        tables: list[p.Table] = []
        examples: list[p.ExampleList] = []
        for view in self._fill_views(measurement, prose):
            # Sorted by type, because a page shows pictures before tables, and examples at the end.
            if isinstance(view, p.Plot):
                plots.append(view)
            elif isinstance(view, p.Table):
                tables.append(view)
            else:
                examples.append(view)
        name = f"part.{self.key}"
        # Figures that are undefined for this measurement are skipped.
        headlines = [figures[key] for key in self.figures if key in figures]
        return p.Part(
            title=prose.title(name),
            text=prose(name),
            headlines=tuple(headlines),
            plots=tuple(plots),
            tables=tuple(tables),
            examples=tuple(examples),
        )

    def _fill_views(
        self, measurement: Any, prose: Prose
    ) -> Iterator[p.Plot | p.Table | p.ExampleList]:
        """Yield the pictures, tables and examples of a measurement whose conditions hold.

        Args:
            measurement: The measurement, the result of `Question.measure`.
            prose: The sentences of the question, filled in with the measurement.
        """
        for declared in self.views:
            if not _is_condition_met(declared, measurement):
                continue
            if isinstance(declared, Tables):
                yield from declared.make(measurement)
                continue
            view = declared.fill(measurement, prose)
            # A list without examples is None.
            if view is not None:
                yield view


@dataclasses.dataclass(frozen=True)
class Lead:
    """A text of the first screen. The first lead that holds is shown.

    The prose `claim.KEY` ends the sentence that begins with the name of the model, `evidence.KEY`
    gives its evidence, and `advice.KEY` lists advice; without a key, they are for all leads. The
    title of `contrast.KEY` is that of the contrast, and its list names the shares.

    Attributes:
        key: Key of its prose.
        figure: Key of the figure that shows it.
        plot: Key of the picture that shows it.
        size: Function of a measurement that returns the share that it is about, by which questions
            are sorted; None if it judges nothing.
        pair: Function of a measurement that returns the examples.
        contrast: Function of a measurement that returns shares to be shown side by side, with None
            for a missing one.
        item_figure: Function of a measurement that returns the key of the figure by item that it is
            about, by which the page filters its items; "" for none.
        condition: Whether it holds.
    """

    key: str
    figure: str = ""
    plot: str = ""
    size: Callable[[Any], float | None] = lambda m: 0.0
    pair: Callable[[Any], tuple[p.Example, ...]] = lambda m: ()
    contrast: Callable[[Any], Sequence[Estimate | float | None]] | None = None
    item_figure: Callable[[Any], str] = lambda m: ""
    condition: Condition = None

    def make_contrast(self, measurement: Any, prose: Prose) -> p.Contrast | None:
        """Return shares for a bar chart on the first screen, such as with and without a cue.

        Args:
            measurement: The measurement, the result of `Question.measure`.
            prose: The sentences of the question. The entry `contrast.KEY` has the title and the names of
                the shares.

        Returns:
            The shares with their names. None if fewer than two are defined.
        """
        if self.contrast is None:
            return None
        name = f"contrast.{self.key}"
        shares = []
        for label, value in zip(prose.items(name), self.contrast(measurement), strict=True):
            estimate = value if isinstance(value, Estimate) else Estimate(value)
            # An undefined share has no bar.
            if estimate.value is not None:
                shares.append(p.Share(label, estimate))
        if len(shares) < 2:
            return None
        return p.Contrast(prose.title(name), tuple(shares))

    def write_finding(
        self,
        measurement: Any,
        prose: Prose,
        figures: Mapping[str, p.Headline],
        parts: Sequence[p.Part],
    ) -> p.Finding:
        """Return the finding of a measurement for the first screen: claim, evidence and advice.

        Args:
            measurement: The measurement, the result of `Question.measure`.
            prose: The sentences of the question, filled in with the measurement.
            figures: Key of each defined figure, as declared -> the figure.
            parts: The displayed parts of the section.
        """
        # In audit.json, the key of a figure may have a suffix, such as "drop_8" for "drop".
        figure_key = self.figure
        if self.figure in figures:
            figure_key = figures[self.figure].key
        # The finding refers to its picture only if the picture is displayed for this measurement.
        shown_plots: set[str] = set()
        for section_part in parts:
            shown_plots.update(plot.key for plot in section_part.plots)
        plot_key = ""
        if self.plot in shown_plots:
            plot_key = self.plot
        return p.Finding(
            claim=prose(f"claim.{self.key}"),
            evidence=prose(f"evidence.{self.key}"),
            figure=figure_key,
            size=self.size(measurement),
            plot=plot_key,
            pair=self.pair(measurement),
            actions=tuple(map(action, prose.items(f"advice.{self.key}"))),
            contrast=self.make_contrast(measurement, prose),
            item_figure=self.item_figure(measurement),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Question:
    """A question of the audit, or a section of another page.

    Attributes:
        name: Name on the command line, equal to that of its folder.
        prose: Its sentences.
        verdict: Rules of its verdict; the last holds always.
        parts: Its section, in reading order.
        title: The question as a reader would ask it.
        measure: Function of context and options that returns its measurement. A section of another
            page is given one.
        figures: Its figures.
        headlines: Keys of the figures of the overview, or a function of a measurement that returns
            them.
        leads: Texts of the first screen; none if the verdict is enough.
        needs: Conditions for it to apply. The first that does not hold is reported.
        data: Function of a measurement that returns more plain values for audit.json, in addition
            to the entries `data.KEY` of the prose.
        by_item: Function of a measurement that returns the figures that are compared item by item.
        files: Function of a measurement that returns further files of the report, name -> text.
        changes: Function of a measurement that returns (text of an item, change of it) for the
            changes with a prediction, from which a reader chooses.
        needs_labels: Whether it needs labels. Data without any is refused if the question is asked.
        doubt: Function of a context that returns the verdict instead of the one by the rules, if the
            data leave open which figures are valid; None if they do not.
        without_model: Why stored predictions cannot answer it, in one sentence; "" if they can.
        reads: Splits whose scores it needs, see `Reads`.
        max_headlines: Maximum number of figures in the overview.
        power: Effects that a number of items can detect. None for a verdict without a margin.
    """

    name: str
    prose: Prose
    verdict: Sequence[Rule]
    parts: Sequence[Part]
    title: str = ""
    measure: Callable[[Any, Any], Any] = lambda context, options: context
    figures: Sequence[Figure] = ()
    headlines: Sequence[str] | Callable[[Any], Sequence[str]] = ()
    leads: Sequence[Lead] = ()
    needs: Sequence[Need] = ()
    data: Callable[[Any], Mapping[str, Any]] = lambda m: {}
    by_item: Callable[[Any], Iterable[p.ItemFigure]] = lambda m: ()
    files: Callable[[Any], Mapping[str, str]] = lambda m: {}
    changes: Callable[[Any], Iterable[tuple[str, p.Change]]] = lambda m: ()
    needs_labels: bool = True
    doubt: Callable[[Any], p.Verdict | None] = lambda context: None
    without_model: str = ""
    reads: p.Reads = "primary"
    max_headlines: int = 4
    power: Power | None = None

    def __post_init__(self) -> None:
        """Check that only the last rule of the verdict has no condition, and thus always holds.

        Raises:
            ValueError: If the last rule has a condition, or another rule has none.
        """
        # Without such a rule, there might be no verdict. Rules after it would never be used.
        unconditional = [rule for rule in self.verdict if rule.condition is None]
        if len(unconditional) != 1 or self.verdict[-1].condition is not None:
            raise ValueError(
                f"Expected the last rule of {self.name!r}, and no other, to hold always."
            )

    def why_not(self, context: Any, options: Any) -> str:
        """Return why the question cannot be asked of this model and data; "" if it can."""
        prose = self.prose.of(context=context, options=options)
        for need in self.needs:
            if not need.is_met(context, options):
                return prose(f"need.{need.key}")
        return ""

    def run(self, context: Any, options: Any) -> p.SectionResult:
        """Measure, and answer the question.

        Args:
            context: The audit, with the scores of the items.
            options: Options of the question.

        Returns:
            The section of the report.
        """
        m = self.measure(context, options)
        # The sentences end in commands, which name the report.
        return self.answer(
            m,
            context.resampling.level,
            split=context.primary.name,
            context=context,
            options=options,
            report=format_report_folder(context.out),
        )

    def find_rule(self, measurement: Any) -> Rule:
        """Return the rule that decides the verdict of a measurement."""
        for rule in self.verdict[:-1]:
            if _is_condition_met(rule, measurement):
                return rule
        # The last rule holds always.
        return self.verdict[-1]

    def answer(
        self, measurement: Any, level: float = 0.95, *, split: str = "", **values: Any
    ) -> p.SectionResult:
        """Answer the question from a measurement.

        Args:
            measurement: The measurement, the result of `Question.measure`.
            level: Confidence level of its intervals.
            split: Name of the primary split; "" if there is none.
            **values: Further values for the templates.

        Returns:
            The section of the report: verdict, figures, parts, and entries of audit.json.
        """
        # The templates have this mapping while it is being filled, so that the definition of a figure
        # can contain earlier figures.
        figures: dict[str, p.Headline] = {}
        values = {"report": "report", **values}
        prose = self.prose.of(
            m=measurement, figures=figures, split=split, level=level_percent(level), **values
        )
        for figure in self.figures:
            headline = figure.make_headline(measurement, prose, split)
            if headline is not None:
                figures[figure.key] = headline
        parts = []
        for declared_part in self.parts:
            if _is_condition_met(declared_part, measurement):
                parts.append(declared_part.fill(measurement, prose, figures))
        finding = None
        lead = self._find_lead(measurement)
        if lead is not None:
            finding = lead.write_finding(measurement, prose, figures, parts)
        # The prose of other pages than reports has no entry "limits".
        limits: tuple[str, ...] = ()
        if self.prose.names("limits"):
            limits = prose.items("limits")
        rule = self.find_rule(measurement)
        verdict_entry = f"verdict.{rule.key}"
        return p.SectionResult(
            verdict=p.Verdict(rule.tone, prose.title(verdict_entry), prose(verdict_entry)),
            headlines=self._list_headlines(measurement, figures),
            parts=tuple(parts),
            limits=limits,
            data=self._list_data(measurement, prose),
            finding=finding,
            files=self.files(measurement),
            by_item=tuple(self.by_item(measurement)),
            changes=tuple(self.changes(measurement)),
        )

    def _find_lead(self, measurement: Any) -> Lead | None:
        """Return the first lead that holds; None if none does."""
        for lead in self.leads:
            if _is_condition_met(lead, measurement):
                return lead
        return None

    def _list_headlines(
        self, measurement: Any, figures: Mapping[str, p.Headline]
    ) -> tuple[p.Headline, ...]:
        """Return the figures of the overview."""
        # Some questions lead with the figure that decided.
        keys = self.headlines
        if callable(keys):
            keys = keys(measurement)
        headlines = [figures[key] for key in keys if key in figures]
        return tuple(headlines[: self.max_headlines])

    def _list_data(self, measurement: Any, prose: Prose) -> dict[str, Any]:
        """Return the further values for audit.json."""
        data = dict(self.data(measurement))
        for name in self.prose.names("data."):
            data[name.removeprefix("data.")] = prose(name)
        return data


def _is_condition_met(declared: Any, measurement: Any) -> bool:
    """Return whether something with a condition is shown."""
    return declared.condition is None or bool(declared.condition(measurement))
