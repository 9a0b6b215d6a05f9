"""Texts of others in Markdown: nothing in them ends a cell, starts a tag or mentions anybody."""

from __future__ import annotations

import re


def text(value: str) -> str:
    r"""Write a text so that Markdown shows it as it is, on one line.

    Example:
        >>> print(text("a|b <img> *x* @who\nline"))
        a\|b &lt;img&gt; \*x\* &#64;who line
    """
    line = " ".join(value.split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", line).replace("@", "&#64;")


def code(value: str) -> str:
    r"""Write a text as code, inside a table or not.

    Example:
        >>> print(code("a > 1"), code("tick`s|"))
        `a > 1` ``tick`s\|``
    """
    line = " ".join(value.split()).replace("|", "\\|")
    longest = max((len(ticks) for ticks in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def row(*cells: str) -> str:
    """Write a row of a table.

    Example:
        >>> row("a", "b")
        '| a | b |'
    """
    return f"| {' | '.join(cells)} |"
