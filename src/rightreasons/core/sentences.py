"""Parts of sentences for messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_MESSAGE_CHARS = 1000
"""Characters of an error; of a longer one, the middle is left out."""


def pluralize(number: int, one: str, many: str = "") -> str:
    """Write a number with its noun.

    Args:
        number: The number.
        one: The noun, perhaps with its verb, behind 1.
        many: The same behind other numbers; by default `one` with an s.

    Example:
        >>> pluralize(1, "item"), pluralize(2_000, "item"), pluralize(0, "text was", "texts were")
        ('1 item', '2,000 items', '0 texts were')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def suggest_similar_names(name: object, known: Iterable[str], n: int = 1) -> str:
    """Name the nearest of the known names, at the end of a sentence; "" where none is near.

    Example:
        >>> suggest_similar_names("eec", ["ece", "lmi"])
        " Did you mean 'ece'?"
    """
    near = difflib.get_close_matches(str(name), list(known), n=n, cutoff=0.5)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def escape_name(text: object, longest: int = 80) -> str:
    r"""Write a name of somebody else for a sentence: in one line, without marks that nobody sees, and not endless.

    Example:
        >>> escape_name("a\nb"), escape_name("x" * 99, longest=4)
        ('a\\nb', 'xxx…')
    """
    name = str(text)
    if len(name) > longest:
        name = f"{name[: longest - 1]}…"
    return (
        name
        if name.isprintable()
        else "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in name)
    )


def format_value(value: object, longest: int = 80) -> str:
    r"""Write a value for an error: in one line, and not endless; a large table by its kind and size.

    Example:
        >>> import numpy as np
        >>> format_value("a\nb"), format_value([1] * 99, longest=20), format_value(np.ones((50, 2)))
        ("'a\\nb'", '[1, 1, 1, 1, 1, 1, …', 'an ndarray of 50 × 2')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"an object of {type(value).__name__}"
    if len(text) <= longest:
        return text
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and len(shape) > 1:
        return f"{add_article(type(value).__name__)} of {' × '.join(f'{size:,}' for size in shape)}"
    return f"{text[: longest - 1]}…"


def add_article(noun: str) -> str:
    """Write a noun, or the name of a type, behind its article.

    Example:
        >>> add_article("list"), add_article("option"), add_article("ndarray")
        ('a list', 'an option', 'an ndarray')
    """
    return f"{'an' if noun[:1].lower() in ('a', 'e', 'i', 'o', 'u') or noun.startswith('nd') else 'a'} {noun}"
