"""The prose of a question: the sentences of its `question.md.j2`, each under a name.

An entry begins with a heading, `## verdict.good: No sign of cues`: its name and, after the colon, its
title. The text below it is a jinja template. Line breaks are spaces, an empty line ends a paragraph,
and a line that begins with "- " begins an item of a list. The items of a table are its columns,
`- key (kind): name — definition`, which hold numbers if no kind is given. Macros before the first
heading serve all entries. An entry `advice` serves as `advice.KEY` for each key without an entry.

Templates have the measurement `m`, `figures` by their keys, `context`, `options`, the folder of the
`report`, the name of the primary `split`, the `level` of intervals, and the filters below. A value
can neither end a paragraph nor begin an item.
"""

from __future__ import annotations

import copy
import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rightreasons.core.estimates import Estimate
from rightreasons.core.sentences import capitalize_first, join_parts, pluralize
from rightreasons.page.advice import TO_LOG, ask, compare, debias, gate, mirror, repair
from rightreasons.page.formats import (
    decimal,
    describe_selection,
    format_estimate,
    level_percent,
    p_equals,
    percent,
    short_name,
)
from rightreasons.page.parts import Action, Column, Headline

_HEADING = re.compile(r"^## ([a-z_]+(?:\.[a-z0-9_]+)?)(?:: (.+))?$", re.MULTILINE)
_LINK = re.compile(r"\[(.+)\]\((#[a-z0-9_-]+)\)")
_DASH = re.compile(r"\s—\s")

# Control characters mark the structure of an entry, because the whitespace of a value may be any
# other character.
_ITEM = "\x1e"
_PARAGRAPH = "\x1d"
_DEFINITION = "\x1f"


class Prose:
    """The entries of a file, filled in with values.

    Args:
        path: The file.
        **values: What the templates may name.
    """

    def __init__(self, path: Path, **values: Any) -> None:
        """Read the entries of a file."""
        self._values = values
        # The pattern of a heading has two groups. So `split` returns the text before the first heading,
        # and then the name, the title and the body of each entry, one after the other.
        self._macros, *fields = _HEADING.split(path.read_text("utf-8"))
        names = fields[0::3]
        titles = fields[1::3]
        bodies = fields[2::3]
        self._titles = dict(zip(names, titles, strict=True))
        self._bodies = dict(zip(names, bodies, strict=True))
        # Templates are compiled only once, because they are filled in for many measurements.
        self._compiled = functools.cache(self._compile)

    def of(self, **values: Any) -> Prose:
        """Return the same entries, filled in with more values."""
        filled = copy.copy(self)
        filled._values = {**self._values, **values}
        return filled

    def names(self, prefix: str) -> list[str]:
        """Return the names of entries that begin with a prefix."""
        return [name for name in self._bodies if name.startswith(prefix)]

    def __call__(self, name: str) -> str:
        """Return the paragraphs of an entry, filled in, with an empty line between them.

        Items of a list are not among them; see `items`.
        """
        text, _, _ = self._fill(self._mark_body(name)).partition(_ITEM)
        paragraphs = map(_fold, text.split(_PARAGRAPH))
        return "\n\n".join(filter(None, paragraphs))

    def title(self, name: str) -> str:
        """Return the title of an entry."""
        return self.line(self._titles[self._find_entry(name)] or "")

    def items(self, name: str) -> tuple[str, ...]:
        """Return the items of an entry that is a list."""
        return tuple(map(_fold, self._split_items(self._mark_body(name))))

    def pairs(self, name: str) -> list[tuple[str, str]]:
        """Return the items of an entry that is a list of names with values, `- name: value`."""
        pairs = []
        for item in self.items(name):
            key, _, value = item.partition(": ")
            pairs.append((key, value))
        return pairs

    def columns(self, name: str) -> Iterator[Column]:
        """Yield the columns of a table, from the list in its entry.

        An item of the list is `key: title`, `key (kind): title`, or one of them with ` — definition`
        at the end. The default kind is "number".

        Args:
            name: Name of the entry, such as "table.splits".
        """
        # Dashes are marked before the templates are filled in, because values may contain dashes.
        body = _DASH.sub(_DEFINITION, self._mark_body(name))
        for item in self._split_items(body):
            head, _, definition = item.partition(_DEFINITION)
            key_and_kind, _, title = _fold(head).partition(": ")
            key, _, kind = key_and_kind.removesuffix(")").partition(" (")
            # Further dashes are part of the definition, and become dashes again.
            definition = _fold(definition.replace(_DEFINITION, " — "))
            yield Column(key, title, kind or "number", definition)  # type: ignore[arg-type]

    def line(self, text: str) -> str:
        """Return a short text, filled in if it is a template."""
        if "{" not in text:
            return text
        return _fold(self._fill(text))

    def _find_entry(self, name: str) -> str:
        """Return the name of the entry in the file that an entry is read from.

        It is the name itself or, if there is no such entry, its first part: "figure" serves
        "figure.ece" if the file has no entry of that name.
        """
        kind, _, key = name.partition(".")
        if key and name not in self._bodies and kind in self._bodies:
            return kind
        return name

    def _mark_body(self, name: str) -> str:
        """Return the template of an entry, with control characters before items and paragraphs.

        The structure is marked before values are filled in, so that a value with line breaks cannot
        end a paragraph or begin an item.
        """
        body = self._bodies[self._find_entry(name)].strip()
        body = re.sub(r"^- ", _ITEM, body, flags=re.MULTILINE)
        return re.sub(r"\n\s*\n", _PARAGRAPH, body)

    def _split_items(self, body: str) -> list[str]:
        """Fill in the marked template of an entry, and return its items."""
        # The first piece is the text before the items.
        return self._fill(body).split(_ITEM)[1:]

    def _fill(self, text: str) -> str:
        return str(self._compiled(text).render(self._values))

    def _compile(self, text: str) -> Any:
        """Compile a template, with the macros of the file if it calls one of them.

        Compiling the macros takes longer than compiling most entries.
        """
        macro_names = re.findall(r"macro (\w+)", self._macros)
        if any(f"{name}(" in text for name in macro_names):
            text = self._macros + text
        return _make_environment().from_string(text)


def prose(module: str, **constants: Any) -> Prose:
    """Read the prose of a module, by its `__file__`: `question.md.j2` for `question.py`."""
    return Prose(Path(module).with_suffix(".md.j2"), **constants)


def action(item: str) -> Action:
    """Parse an item of a list of advice: a text with or without a command at its end, or a link.

    Args:
        item: A string such as "Fail the build. `rightreasons gate report`" or "[Read on.](#items)".

    Example:
        >>> action("[Read the items.](#items)").link
        '#items'
        >>> action("Fail the build. `rightreasons gate report`").command
        'rightreasons gate report'
        >>> action("Pass the texts with `--train`: without them no verdict is green.").command
        ''
    """
    link = _LINK.fullmatch(item)
    if link:
        return Action(link[1], link=link[2])
    # Backticks within the text enclose names, not a command.
    if not item.endswith("`"):
        return Action(item)
    text, _, command = item.removesuffix("`").rpartition(" `")
    return Action(text, command)


def _fold(text: str) -> str:
    """Return a text in one line."""
    return " ".join(text.split())


def _write_interval(value: Headline | Estimate, unit: str = "fraction") -> str:
    """Write a figure with its interval; a headline has its own unit."""
    if isinstance(value, Headline):
        return format_estimate(value.estimate, value.unit)
    return format_estimate(value, unit)


def _write_whole(value: int) -> str:
    return f"{value:,}"


def _capitalize(text: str) -> str:
    return capitalize_first(_fold(text))


def _fold_value(value: Any) -> Any:
    """Return what a template shows for a value: texts in one line, and others as they are."""
    if isinstance(value, str):
        return _fold(value)
    return value


@functools.cache
def _make_environment() -> Any:
    """Return the environment of all templates, with their filters and functions."""
    import jinja2

    environment = jinja2.Environment(  # noqa: S701 - the page escapes what it shows
        undefined=jinja2.StrictUndefined, finalize=_fold_value
    )
    environment.filters.update(
        percent=percent,
        decimal=decimal,
        whole=_write_whole,
        counted=pluralize,
        interval=_write_interval,
        listed=join_parts,
        p=p_equals,
        quote=shlex.quote,
        short=short_name,
        level=level_percent,
        capitalize_first=_capitalize,
    )
    environment.globals.update(
        ask=ask,
        describe_selection=describe_selection,
        compare=compare,
        debias=debias,
        gate=gate,
        mirror=mirror,
        repair=repair,
        to_log=TO_LOG,
    )
    return environment
