"""How figures are written, and the prose of a question.

The prose is the sentences of its `question.md.j2`, each under the name of what it is about.

An entry begins with a heading, `## verdict.good: No sign of cues`: its name and, after the colon, its title. The text
below it is a jinja template. Line breaks are spaces, an empty line ends a paragraph, and a line that begins with "- "
begins an item of a list. Those of a table are its columns, `- key (kind): name — definition`: numbers where no kind is
given. Macros before the first heading serve all entries. An entry `advice` is that of each `advice.KEY` that has none
of its own.

Templates have the measurement `m`, `figures` by their keys, `context`, `options`, the folder of the `report`, the name
of the primary `split` and the `level` of intervals, and the filters below. A value can neither end a paragraph nor
begin an item.
"""

from __future__ import annotations

import copy
import functools
import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path, PureWindowsPath
from typing import Any

from rightreasons.core.estimates import Estimate
from rightreasons.core.sentences import pluralize
from rightreasons.page.parts import Action, Amount, Cell, Column, Headline

PLAIN_NAMES = ("model", "output", "out", "best", "final", "latest", "data")
"""Names of folders that do not tell one model, or one data set, from another."""


TONES = ("bad", "warn", "neutral", "good")
"""What a verdict is, the worst first."""

NONE = "–"
"""What stands for a figure that is not defined, or not there."""


def badness(tone: str, size: float | None) -> tuple[int, float]:
    """Return what orders the answers of an audit, the worst first: the tone, then the share that the finding is about.

    What judges nothing has no size, and comes last: a model without a fault is not introduced by its most fragile
    items.

    Example:
        >>> answers = [("neutral", None), ("good", 0.0), ("bad", 0.1), ("bad", 0.4)]
        >>> sorted(answers, key=lambda answer: badness(*answer))
        [('bad', 0.4), ('bad', 0.1), ('good', 0.0), ('neutral', None)]
    """
    return (len(TONES), 0.0) if size is None else (TONES.index(tone), -size)


def capitalized(words: str) -> str:
    """Begin a sentence with words; unlike `str.capitalize`, the other letters stay as they are.

    Example:
        >>> capitalized("the DIR tests"), capitalized("")
        ('The DIR tests', '')
    """
    return words[:1].upper() + words[1:]


def decimal(value: float) -> str:
    """Write a figure with three decimals, or with more where it would read as zero.

    Example:
        >>> decimal(0.8349), decimal(0.00012), decimal(-0.0), decimal(-0.25)
        ('0.835', '0.00012', '0.000', '−0.250')
    """
    text = f"{round(value, 3) + 0.0:.3f}"  # no sign before 0
    if 1e-12 < abs(value) < 0.0005:  # what is less is how numbers are rounded
        text = f"{value:.2g}" if abs(value) >= 1e-4 else f"{value:.0e}"
    return text.replace("-", "\N{MINUS SIGN}")


def percent(value: float) -> str:
    """Write a fraction in percent with one decimal, or with more where it would read as zero.

    Example:
        >>> percent(0.8349), percent(0.00012), percent(-4e-17), percent(-0.25)
        ('83.5%', '0.012%', '0.0%', '−25.0%')
    """
    text = f"{round(100 * value, 1) + 0.0:.1f}"
    if 1e-9 < abs(value) < 0.0005:
        text = f"{100 * value:.2g}" if abs(value) >= 1e-6 else f"{100 * value:.0e}"
    return f"{text}%".replace("-", "\N{MINUS SIGN}")


def number(value: float | None, unit: str = "fraction") -> str:
    """Write a figure of a unit: a fraction in percent, a count whole, any other with three decimals; a dash for none.

    Example:
        >>> number(0.5), number(0.25, "nats"), number(1200, "count"), number(None)
        ('50.0%', '0.250', '1,200', '–')
    """
    if value is None:
        return NONE
    if unit == "count":
        return f"{value:,.0f}"
    return percent(value) if unit == "fraction" else decimal(value)


def written(estimate: Estimate, unit: str = "fraction") -> str:
    """Write a figure with its interval.

    Example:
        >>> written(Estimate(0.5, 0.4, 0.6)), written(Estimate(0.25, 0.1, 0.4), "nats"), written(Estimate(None))
        ('50.0% [40.0, 60.0]', '0.250 [0.100, 0.400]', '–')
    """
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return number(estimate.value, unit)
    ends = (number(end, unit).removesuffix("%") for end in (estimate.low, estimate.high))
    return f"{number(estimate.value, unit)} [{', '.join(ends)}]"


def p_value(value: float) -> str:
    """Write a p-value.

    Example:
        >>> p_value(0.0421), p_value(0.0000003)
        ('0.042', '< 0.001')
    """
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def p_equals(value: float) -> str:
    """Write what follows "p".

    Example:
        >>> p_equals(0.0421), p_equals(0.0)
        ('= 0.042', '< 0.001')
    """
    text = p_value(value)
    return text if text.startswith("<") else f"= {text}"


def cell(value: Cell, column: Column) -> str:
    """Write a cell of a table.

    Example:
        >>> share, count = Column("rate", "Rate", "share"), Column("n", "Items", "count")
        >>> cell(Estimate(0.5, 0.4, 0.6), share), cell(0.5, share), cell(1200, count), cell(None, count)
        ('50.0% [40.0, 60.0]', '50.0%', '1,200', '–')
    """
    unit = {"share": "fraction", "count": "count"}.get(column.kind, "ratio")
    if isinstance(value, Amount | Estimate):
        return (
            written(value.estimate, value.unit)
            if isinstance(value, Amount)
            else written(value, unit)
        )
    if value is None or (column.kind != "text" and not isinstance(value, str)):
        return (
            p_value(value)
            if column.kind == "p_value" and value is not None
            else number(value, unit)
        )
    return str(value)


def aligned(rows: Sequence[Sequence[str]], texts: Collection[int] = (0,)) -> list[str]:
    """Write rows of texts as lines with columns: those of `texts` to the left, figures to the right.

    Example:
        >>> aligned([("model", "right"), ("a", "5%")])
        ['model  right', 'a         5%']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = ["<" if place in texts else ">" for place in range(len(widths))]
    return ["  ".join(map("{:{}{}}".format, row, sides, widths)).rstrip() for row in rows]


def level_percent(level: float) -> str:
    """Write a confidence level.

    Example:
        >>> level_percent(0.95), level_percent(0.999)
        ('95%', '99.9%')
    """
    return f"{100 * level:g}%"


def short_name(model: str) -> str:
    """Shorten the path of a model or of data, here or on another machine, to what tells it from others.

    A hub id stays whole.

    Example:
        >>> short_name("google-bert/bert-base-uncased"), short_name("/home/ann/runs/tone"), short_name("/a/b/best")
        ('google-bert/bert-base-uncased', 'tone', 'b/best')
    """
    paths = (Path(model), PureWindowsPath(model))
    path = next((path for path in paths if path.is_absolute()), paths[0])
    if isinstance(path, Path) and path.exists():
        path = path.resolve()
    elif not path.is_absolute():
        return model
    plain = path.name.lower() in PLAIN_NAMES or path.name.startswith("checkpoint")
    return "/".join(path.parts[-2:]) if plain else path.name


def first_of(shown: int, among: int, noun: str, order: str) -> str:
    """Say which of some things are shown, as the beginning of a note.

    Args:
        shown: How many are shown.
        among: How many there are.
        noun: What each of them is.
        order: Which of them come first.

    Example:
        >>> first_of(5, 12, "wrong prediction", "surest")
        '5 of 12 wrong predictions, the surest first'
        >>> first_of(3, 3, "wrong prediction", "surest"), first_of(1, 1, "wrong prediction", "surest")
        ('All 3 wrong predictions, the surest first', 'The only wrong prediction')
    """
    if among == 1:
        return f"The only {noun}"
    return f"{'All' if shown == among else f'{shown:,} of'} {pluralize(among, noun)}, the {order} first"


def not_scored_told(
    what: str, n_scored: int, left_out: Sequence[tuple[str, str]], most: int = 3
) -> tuple[str, ...]:
    """Say in one sentence which items the model could not score, or nothing where it scored all; `what` names one.

    Example:
        >>> not_scored_told("item", 9, [("7", "it is NaN.")]), not_scored_told("item", 9, [])
        (('The model could not score 1 of 10 items (7: it is NaN).',), ())
    """
    if not left_out:
        return ()
    named = "; ".join(f"{name}: {reason.rstrip('.')}" for name, reason in left_out[:most])
    named += f"; and {len(left_out) - most:,} more" if len(left_out) > most else ""
    return (
        f"The model could not score {len(left_out):,} of {pluralize(n_scored + len(left_out), what)} ({named}).",
    )


def ask(context: Any, question: str, *, all_items: bool = False, **options: str) -> str:
    """Return what asks one question again as the audit did, with further options of the question.

    Args:
        context: The audit; it is asked in Python where its model or data are objects, which no command can name.
        question: The question.
        all_items: Whether to leave out the limit of the audit.
        **options: Options of the question.
    """
    if not context.command:
        values = {
            name: int(value) if value.isdigit() else value.split(",")
            for name, value in options.items()
        }
        given = [
            "predictions=table" if context.stored else "model, data",
            f"questions={[question]}",
        ]
        given += [f"options={ {question: values} }"] if values else []
        return f"rightreasons.audit({', '.join(given)})"
    command = shlex.split(context.command)
    if all_items and "--limit" in command:
        limit = command.index("--limit")
        del command[limit : limit + 2]
    flags = [
        word
        for name, value in options.items()
        for word in (f"--{question}-{name.replace('_', '-')}", value)
    ]
    return shlex.join([*command, "--questions", question, *flags])


def repair(context: Any, report: str, words: Sequence[str], text: str) -> str:
    """Advise a repair of the words that decide, by the command or the call that makes it.

    Args:
        context: The audit; it is repaired in Python where its model is an object, which no command can name.
        report: Folder of the report.
        words: Words that are no reasons.
        text: The advice.
    """
    # A command can name neither a model nor a table that is in memory.
    if not context.command:
        call = f"rightreasons.repair({report!r}, train, model, not_reasons={list(words)})"
        return f"{text} `{call}`"
    # Without a file of training texts there is no set to edit: the name is to be filled in.
    train = context.settings.train or "train.csv"
    command = [
        "rightreasons",
        "repair",
        report,
        "--train",
        train,
        "--not-reasons",
        ",".join(words),
    ]
    return f"{text} `{shlex.join(command)}`"


def gate(report: str, condition: str, what: str) -> str:
    """Advise a gate on a report, so that a build fails if the same is found again."""
    command = shlex.join(["rightreasons", "gate", report, "--fail-if", condition])
    return f"Fail the build when {what}. `{command}`"


def compare(report: str, text: str) -> str:
    """Advise a change, and to compare the report of the changed model with a report."""
    command = ["rightreasons", "compare", report, "new-report", "--out", "comparison"]
    return f"{text} `{shlex.join(command)}`"


_HEADING = re.compile(r"^## ([a-z_]+(?:\.[a-z0-9_]+)?)(?:: (.+))?$", re.MULTILINE)
_LINK = re.compile(r"\[(.+)\]\((#[a-z0-9_-]+)\)")

# What the whitespace of a value cannot be.
_ITEM, _PARAGRAPH, _DEFINITION = "\x1e", "\x1d", "\x1f"
_DASH = re.compile(r"\s—\s")

TO_LOG = (
    "lm-evaluation-harness logs the scores of choices where the task has `output_type: multiple_choice`, inspect_ai "
    "those of letters with `--logprobs --top-logprobs 20`; of rows of your own `--confidence-column` names the "
    "confidence in the answer."
)
"""What must be logged, where a log has answers without scores."""


class Prose:
    """The entries of a file, written with some values.

    Args:
        path: The file.
        **values: What the templates may name.
    """

    def __init__(self, path: Path, **values: Any) -> None:
        self._values = values
        self._macros, *found = _HEADING.split(path.read_text("utf-8"))
        self._titles = dict(zip(found[::3], found[1::3], strict=True))
        self._bodies = dict(zip(found[::3], found[2::3], strict=True))
        self._compiled = functools.cache(self._compile)

    def of(self, **values: Any) -> Prose:
        """Return the same entries, written with more values."""
        said = copy.copy(self)
        said._values = {**self._values, **values}
        return said

    def names(self, prefix: str) -> list[str]:
        """Name the entries whose names begin with a prefix."""
        return [name for name in self._bodies if name.startswith(prefix)]

    def __call__(self, name: str) -> str:
        """Return the paragraphs of an entry, those before its items, with an empty line between them."""
        paragraphs = map(
            _folded, self._filled(self._body(name)).partition(_ITEM)[0].split(_PARAGRAPH)
        )
        return "\n\n".join(filter(None, paragraphs))

    def title(self, name: str) -> str:
        """Return the title of an entry."""
        return self.line(self._titles[self._entry(name)] or "")

    def items(self, name: str) -> tuple[str, ...]:
        """Return the items of an entry that is a list."""
        return tuple(map(_folded, self._filled(self._body(name)).split(_ITEM)[1:]))

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """Return the items of an entry that is a list of names with values, `- name: value`."""
        return [(item.partition(": ")[0], item.partition(": ")[2]) for item in self.items(name)]

    def columns(self, name: str) -> Iterator[Column]:
        """Return the columns of a table, which are the items of its entry."""
        for item in self._filled(_DASH.sub(_DEFINITION, self._body(name))).split(_ITEM)[1:]:
            head, _, definition = item.partition(_DEFINITION)
            key, _, called = _folded(head).partition(": ")
            key, _, kind = key.removesuffix(")").partition(" (")
            definition = _folded(definition.replace(_DEFINITION, " — "))
            yield Column(key, called, kind or "number", definition)  # type: ignore[arg-type]

    def line(self, text: str) -> str:
        """Return a short text filled in, where it is a template."""
        return _folded(self._filled(text)) if "{" in text else text

    def _entry(self, name: str) -> str:
        kind, _, key = name.partition(".")
        return kind if key and name not in self._bodies and kind in self._bodies else name

    def _body(self, name: str) -> str:
        """Return the text of an entry, with its items and paragraphs marked."""
        body = re.sub(r"^- ", _ITEM, self._bodies[self._entry(name)].strip(), flags=re.MULTILINE)
        return re.sub(r"\n\s*\n", _PARAGRAPH, body)

    def _filled(self, text: str) -> str:
        return str(self._compiled(text).render(self._values))

    def _compile(self, text: str) -> Any:
        # Macros are compiled with each text: only where it calls one.
        calls = any(f"{name}(" in text for name in re.findall(r"macro (\w+)", self._macros))
        return _environment().from_string(self._macros + text if calls else text)


def prose(module: str, **constants: Any) -> Prose:
    """Read the prose beside a module, by its `__file__`: `question.md.j2` beside `question.py`."""
    return Prose(Path(module).with_suffix(".md.j2"), **constants)


def action(item: str) -> Action:
    """Read an item of a list of advice: a text with its command in backticks at the end, or one that is a link.

    Example:
        >>> action("[Read the items.](#items)").link, action("Fail the build. `rightreasons gate report`").command
        ('#items', 'rightreasons gate report')
    """
    link = _LINK.fullmatch(item)
    if link:
        return Action(link[1], link=link[2])
    text, _, command = item.removesuffix("`").rpartition(" `")
    return Action(text, command) if item.endswith("`") else Action(item)


def _folded(text: str) -> str:
    return " ".join(text.split())


def _interval(value: Headline | Estimate, unit: str = "fraction") -> str:
    return (
        written(value.estimate, value.unit) if isinstance(value, Headline) else written(value, unit)
    )


@functools.cache
def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(  # noqa: S701 - the page escapes what it shows
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: _folded(value) if isinstance(value, str) else value,
    )
    environment.filters.update(
        percent=percent,
        decimal=decimal,
        whole=lambda value: f"{value:,}",
        counted=pluralize,
        interval=_interval,
        p=p_equals,
        level=level_percent,
        capitalized=lambda text: capitalized(_folded(text)),
    )
    environment.globals.update(
        ask=ask, first_of=first_of, compare=compare, gate=gate, repair=repair, to_log=TO_LOG
    )
    return environment
