"""A question of the audit as data, and the engine that makes its answer.

A question declares what it needs, how it is measured, its figures, the rules of its verdict, and the
parts of its section. Its prose is in `question.md.j2` beside it (see `page.prose`), under the keys of
what it declares.

Functions of a question get its measurement `m`: whatever `measure` returns, with `n_items`, the number
of its items.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rightreasons.core.decisions import Power
from rightreasons.core.estimates import Estimate, FigureText
from rightreasons.page import parts as p
from rightreasons.page.formats import level_percent
from rightreasons.page.prose import Prose, action

if TYPE_CHECKING:
    from rightreasons.page.plots import Drawing


When = Callable[[Any], object] | None
"""Function of a measurement that returns whether something is shown; None for always."""


@dataclasses.dataclass(frozen=True)
class Need:
    """A condition for a question to apply; the prose `need.KEY` says what is missing.

    Attributes:
        key: Its key in the prose.
        met: Function of context and options that returns whether the condition holds.
    """

    key: str
    met: Callable[[Any, Any], object]


@dataclasses.dataclass(frozen=True)
class Figure:
    """A figure; the prose `figure.KEY` has its name as the title, and its definition.

    Attributes:
        key: Its key in the prose, and in audit.json.
        of: Function of a measurement that returns its estimate; None if there is none.
        source: Where its definition comes from.
        unit: Its unit; "fraction" is 0 to 1.
        better: Whether higher or lower values are better; None for neither.
        n: Function of a measurement that returns the number of items.
        split: Function of a measurement that returns the split. If None, the primary one.
        text: Function of a measurement that returns name and definition, for figures that other
            pages have as well. If None, the prose has them.
        suffix: Function of a measurement that returns the end of its key, if the measurement decides
            what it is about: "drop" of 8 choices is "drop_8".
        no_interval: Why it has no interval, for those without one.
    """

    key: str
    of: Callable[[Any], Estimate | None]
    source: str = ""
    unit: Literal["fraction", "nats", "ratio", "count"] = "fraction"
    better: Literal["higher", "lower"] | None = None
    n: Callable[[Any], int] = lambda m: m.n_items
    split: Callable[[Any], str] | None = None
    text: Callable[[Any], FigureText] | None = None
    suffix: Callable[[Any], object] | None = None
    no_interval: str = ""

    def headline(self, m: Any, say: Prose, split: str) -> p.Headline | None:
        """Return the figure with its text, as the page and audit.json have it."""
        estimate = self.of(m)
        if estimate is None:
            return None
        key = self.key
        if self.suffix is not None:
            key = f"{key}_{self.suffix(m)}"
        if self.split is not None:
            split = self.split(m)
        # A figure with an interval needs no reason.
        reason = ""
        if not estimate.has_interval:
            reason = self.no_interval
        return p.Headline.of(
            key,
            self._write_text(m, say),
            estimate,
            split=split,
            n=self.n(m),
            no_interval=reason,
        )

    def _write_text(self, m: Any, say: Prose) -> FigureText:
        """Return the name and the definition of the figure."""
        if self.text is not None:
            return self.text(m)
        name = f"figure.{self.key}"
        return FigureText(say.title(name), say(name), self.source, self.unit, self.better)


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule of the verdict; the prose `verdict.KEY` has its label as the title, and the summary.

    The first rule that holds decides.
    """

    tone: Literal["good", "warn", "bad", "neutral"]
    key: str
    when: When = None


@dataclasses.dataclass(frozen=True)
class Table:
    """A table; the prose `table.KEY` has its title, how to read it, and the list of its columns.

    The source may be a template.
    """

    key: str
    rows: Callable[[Any], Iterable[tuple[p.Cell, ...]]]
    source: str = ""
    folded: bool = False
    when: When = None

    def fill(self, m: Any, say: Prose) -> p.Table:
        """Return the table of a measurement."""
        name = f"table.{self.key}"
        return p.Table(
            self.key,
            say.title(name),
            tuple(say.columns(name)),
            tuple(self.rows(m)),
            say(name),
            say.line(self.source),
            self.folded,
        )


@dataclasses.dataclass(frozen=True)
class Tables:
    """Tables, pictures or lists of examples whose number the measurement decides.

    They have their titles and notes themselves.
    """

    key: str
    make: Callable[[Any], Iterable[p.Table | p.Plot | p.ExampleList]]
    when: When = None


@dataclasses.dataclass(frozen=True)
class Plot:
    """A picture; the prose `plot.KEY` has its title and caption, and `alt.KEY` describes it in words."""

    key: str
    draw: Callable[[str, Any], Drawing]
    source: str
    wide: bool = False
    when: When = None

    def fill(self, m: Any, say: Prose) -> p.Plot:
        """Return the picture of a measurement."""
        name = f"plot.{self.key}"
        texts = {
            "title": say.title(name),
            "caption": say(name),
            "alt": say(f"alt.{self.key}"),
            "source": self.source,
        }
        drawing = self.draw(self.key, m)
        # At the width of the page, a picture that is higher than wide would not fit the window.
        is_tall = drawing.spec.get("height", 0) > drawing.spec.get("width", 0)
        return p.Plot(drawing.key, **texts, spec=drawing.spec, wide=self.wide and not is_tall)


@dataclasses.dataclass(frozen=True)
class Examples:
    """A list of examples; the prose `examples.KEY` has its title and how they were chosen.

    It is absent if `pick` returns none.
    """

    key: str
    pick: Callable[[Any], Iterable[p.Example]]
    folded: bool = False
    when: When = None

    def fill(self, m: Any, say: Prose) -> p.ExampleList | None:
        """Return the examples of a measurement."""
        examples = tuple(self.pick(m))
        if not examples:
            return None
        name = f"examples.{self.key}"
        return p.ExampleList(self.key, say.title(name), say(name), examples, self.folded)


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of the section; the prose `part.KEY` has its title and text.

    Attributes:
        key: Its key in the prose.
        shows: What it shows, in reading order.
        figures: Keys of its figures.
        when: Whether it is shown.
    """

    key: str
    shows: tuple[Table | Tables | Plot | Examples, ...] = ()
    figures: tuple[str, ...] = ()
    when: When = None

    def fill(self, m: Any, say: Prose, figures: Mapping[str, p.Headline]) -> p.Part:
        """Return the part of a measurement."""
        views: list[object] = []
        for declared in self.shows:
            if not _holds(declared, m):
                continue
            if isinstance(declared, Tables):
                views += declared.make(m)
            else:
                views.append(declared.fill(m, say))
        headlines = [figures[key] for key in self.figures if key in figures]
        # A page has pictures before tables, and examples at the end.
        return p.Part(
            say.title(f"part.{self.key}"),
            say(f"part.{self.key}"),
            tuple(headlines),
            tuple(view for view in views if isinstance(view, p.Plot)),
            tuple(view for view in views if isinstance(view, p.Table)),
            tuple(view for view in views if isinstance(view, p.ExampleList)),
        )


@dataclasses.dataclass(frozen=True)
class Lead:
    """A text of the first screen. The first lead that holds is shown.

    The prose `claim.KEY` ends the sentence that begins with the name of the model, `evidence.KEY` says
    what it rests on, and `advice.KEY` lists what to do; without a key, they are for all leads. The
    title of `contrast.KEY` says what the shares are of, and its list names each.

    Attributes:
        key: Its key in the prose.
        figure: Key of the figure that shows it.
        plot: Key of the picture that shows it.
        size: Function of a measurement that returns the share that it is about, by which questions
            are sorted; None if it judges nothing.
        pair: Function of a measurement that returns the examples.
        contrast: Function of a measurement that returns shares to be shown side by side, with None
            for a missing one.
        when: Whether it holds.
    """

    key: str
    figure: str = ""
    plot: str = ""
    size: Callable[[Any], float | None] = lambda m: 0.0
    pair: Callable[[Any], tuple[p.Example, ...]] = lambda m: ()
    contrast: Callable[[Any], Sequence[Estimate | float | None]] | None = None
    when: When = None

    def contrasted(self, m: Any, say: Prose) -> p.Contrast | None:
        """Return the shares of a measurement; None where fewer than two are defined."""
        if self.contrast is None:
            return None
        name = f"contrast.{self.key}"
        shares = []
        for label, value in zip(say.items(name), self.contrast(m), strict=True):
            estimate = value if isinstance(value, Estimate) else Estimate(value)
            # An undefined share has no bar.
            if estimate.value is not None:
                shares.append(p.Share(label, estimate))
        # A single share has nothing to be compared with.
        if len(shares) < 2:
            return None
        return p.Contrast(say.title(name), tuple(shares))

    def write_finding(
        self, m: Any, say: Prose, figures: Mapping[str, p.Headline], parts: Sequence[p.Part]
    ) -> p.Finding:
        """Return what the first screen shows of a measurement."""
        # A figure or a picture may be absent for this measurement.
        figure = self.figure
        if figure in figures:
            figure = figures[figure].key
        plots = {plot.key for part in parts for plot in part.plots}
        return p.Finding(
            claim=say(f"claim.{self.key}"),
            evidence=say(f"evidence.{self.key}"),
            figure=figure,
            size=self.size(m),
            plot=self.plot if self.plot in plots else "",
            pair=self.pair(m),
            actions=tuple(map(action, say.items(f"advice.{self.key}"))),
            contrast=self.contrasted(m, say),
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Question:
    """One question of the audit, which the engine answers; or a section of another page.

    Attributes:
        name: Its name on the command line, that of its folder.
        prose: Its sentences.
        verdict: Its rules; the last holds always.
        parts: Its section, in reading order.
        title: The question as a reader would ask it.
        measure: Function of context and options that returns its measurement. A section of another
            page is given one.
        figures: Its figures.
        headlines: Keys of the figures of the overview, or a function of a measurement that returns
            them.
        leads: Texts of the first screen; none if the verdict says everything.
        needs: Conditions for it to apply. The first that does not hold is reported.
        data: Function of a measurement that returns more plain values for audit.json, which the
            entries `data.KEY` of the prose join.
        by_item: Function of a measurement that returns the figures that are compared item by item.
        files: Function of a measurement that returns further files of the report, name -> text.
        changes: Function of a measurement that returns (text of an item, change of it) for the
            changes that the model was asked about, of which a reader chooses.
        needs_labels: Whether it needs labels. Data without any is refused if the question is asked.
        doubt: Function of a context that returns the verdict in place of the one by the rules, if the
            data leave open which figures are right; None if they do not.
        without_model: Why it cannot be asked of stored predictions, in one sentence; "" if it can.
        reads: Splits whose scores it may ask for, see `Reads`.
        most: Maximum number of figures in the overview.
        power: What a number of items can detect; None if it gives no verdict by a margin.
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
    most: int = 4
    power: Power | None = None

    def __post_init__(self) -> None:
        # A later rule would never hold, and without such a rule there might be no verdict.
        always = [rule.when is None for rule in self.verdict]
        if True not in always or always.index(True) < len(always) - 1:
            raise ValueError(
                f"Expected the last rule of {self.name!r}, and no other, to hold always."
            )

    def why_not(self, context: Any, options: Any) -> str:
        """Return why the question cannot be asked of this model and data; "" if it can."""
        say = self.prose.of(context=context, options=options)
        for need in self.needs:
            if not need.met(context, options):
                return say(f"need.{need.key}")
        return ""

    def run(self, context: Any, options: Any) -> p.SectionResult:
        """Measure, and answer the question."""
        m = self.measure(context, options)
        # A report in a temporary folder, such as an app's, is moved elsewhere.
        out = Path(context.out)
        report = str(out)
        if out.is_relative_to(tempfile.gettempdir()):
            report = out.name
        return self.answer(
            m,
            context.resampling.level,
            split=context.primary.name,
            context=context,
            options=options,
            report=report,
        )

    def rule(self, m: Any) -> Rule:
        """Return the rule that decides the verdict of a measurement."""
        return next(rule for rule in self.verdict if _holds(rule, m))

    def answer(
        self, m: Any, level: float = 0.95, *, split: str = "", **values: Any
    ) -> p.SectionResult:
        """Answer the question by a measurement.

        Args:
            m: The measurement.
            level: Level of its intervals.
            split: The primary split; "" if there is none.
            **values: Further values that the templates may name.
        """
        # The templates see each figure as soon as it is there: a definition may name an earlier one.
        figures: dict[str, p.Headline] = {}
        values = {"report": "report", **values}
        say = self.prose.of(m=m, figures=figures, split=split, level=level_percent(level), **values)
        for figure in self.figures:
            headline = figure.headline(m, say, split)
            if headline is not None:
                figures[figure.key] = headline
        parts = tuple(part.fill(m, say, figures) for part in self.parts if _holds(part, m))
        finding = None
        lead = self._find_lead(m)
        if lead is not None:
            finding = lead.write_finding(m, say, figures, parts)
        rule = self.rule(m)
        name = f"verdict.{rule.key}"
        return p.SectionResult(
            verdict=p.Verdict(rule.tone, say.title(name), say(name)),
            headlines=self._list_headlines(m, figures),
            parts=parts,
            limits=say.items("limits") if self.prose.names("limits") else (),
            data=self._list_data(m, say),
            finding=finding,
            files=self.files(m),
            by_item=tuple(self.by_item(m)),
            changes=tuple(self.changes(m)),
        )

    def _find_lead(self, m: Any) -> Lead | None:
        """Return the first lead that holds; None if none does."""
        for lead in self.leads:
            if _holds(lead, m):
                return lead
        return None

    def _list_headlines(self, m: Any, figures: Mapping[str, p.Headline]) -> tuple[p.Headline, ...]:
        """Return the figures of the overview."""
        keys = self.headlines
        if callable(keys):
            keys = keys(m)
        headlines = [figures[key] for key in keys if key in figures]
        return tuple(headlines[: self.most])

    def _list_data(self, m: Any, say: Prose) -> dict[str, Any]:
        """Return the further values for audit.json."""
        data = dict(self.data(m))
        for name in self.prose.names("data."):
            data[name.removeprefix("data.")] = say(name)
        return data


def _holds(declared: Any, m: Any) -> bool:
    """Return whether something with a condition is shown."""
    return declared.when is None or bool(declared.when(m))
