"""Pieces of sentences for messages: counts with their nouns, names, quoted values and suggestions.

Whatever comes from a user is quoted in one line of bounded length, without invisible characters:
`escape_name` quotes a name, and `format_value` any other value.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path, PureWindowsPath

PLAIN_NAMES = ("model", "output", "out", "best", "final", "latest", "data")
"""Names of folders that do not distinguish one model, or one data set, from another."""

_MIN_SIMILARITY = 0.5
"""Minimum `difflib` ratio of a name that is suggested in place of an unknown one."""

_MAX_LISTED = 12
"""Number of names that a list in a sentence shows."""

_MAX_LISTED_CHARS = 60
"""Number of characters of a name in a list."""


def pluralize(count: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun.

    Args:
        count: The count.
        singular: Text after the count 1: a noun, perhaps with its verb.
        plural: Text after any other count. If empty, `singular` with an s.

    Example:
        >>> pluralize(1, "item"), pluralize(2_000, "item"), pluralize(0, "text was", "texts were")
        ('1 item', '2,000 items', '0 texts were')
    """
    noun = singular
    if count != 1:
        noun = plural or f"{singular}s"
    return f"{count:,} {noun}"


def join_parts(parts: Sequence[str]) -> str:
    """Join parts of a sentence by commas, and the last one by "and".

    Args:
        parts: Words or phrases, in the order of the sentence. No parts give an empty text.

    Example:
        >>> join_parts(["a"]), join_parts(["a", "b"]), join_parts(["a", "b", "c"])
        ('a', 'a and b', 'a, b and c')
    """
    if len(parts) < 2:
        return "".join(parts)
    beginning = ", ".join(parts[:-1])
    return f"{beginning} and {parts[-1]}"


def format_list(names: Sequence[object]) -> str:
    """Join names for a sentence, at most twelve, with their number if there are more.

    Args:
        names: Names or numbers in the order of the sentence. Long names are shortened, and their line
            breaks are escaped.

    Example:
        >>> format_list(["a", 2]), format_list(list("abcdefghijklmn"))
        ('a, 2', 'a, b, c, d, e, f, g, h, i, j, k, l, … (14 in all)')
    """
    texts = []
    for name in names[:_MAX_LISTED]:
        texts.append(escape_name(name, max_chars=_MAX_LISTED_CHARS))
    if len(names) > _MAX_LISTED:
        texts.append(f"… ({len(names):,} in all)")
    return ", ".join(texts)


def suggest_similar_names(name: object, known_names: Iterable[str], n: int = 1) -> str:
    """Return a closing sentence that suggests the most similar names, or "" if none is similar.

    Args:
        name: The unknown name.
        known_names: The known names.
        n: Maximum number of suggestions.

    Example:
        >>> suggest_similar_names("eec", ["ece", "lmi"])
        " Did you mean 'ece'?"
    """
    matches = difflib.get_close_matches(
        str(name),
        list(known_names),
        n=n,
        cutoff=_MIN_SIMILARITY,
    )
    if not matches:
        return ""
    suggestions = " or ".join(map(repr, matches))
    return f" Did you mean {suggestions}?"


def escape_name(text: object, max_chars: int = 80) -> str:
    r"""Return a name in one line of bounded length, with invisible characters escaped.

    Args:
        text: The name; anything but a text is converted by `str`.
        max_chars: Maximum number of characters, before characters are escaped.

    Example:
        >>> escape_name("a\nb"), escape_name("x" * 99, max_chars=4)
        ('a\\nb', 'xxx…')
    """
    name = _truncate(str(text), max_chars)
    # Most names are printable: they need no loop.
    if name.isprintable():
        return name
    return "".join(map(_escape_character, name))


def _escape_character(character: str) -> str:
    if character.isprintable():
        return character
    # Without the quotes.
    return repr(character)[1:-1]


def _truncate(text: str, max_chars: int) -> str:
    if len(text) <= max_chars:
        return text
    beginning = text[: max_chars - 1]
    return f"{beginning}…"


def format_value(value: object, max_chars: int = 80) -> str:
    r"""Return a value for a message: its `repr` in one line of bounded length.

    Args:
        value: Any value. A long table is described by its type and shape.
        max_chars: Maximum number of characters.

    Example:
        >>> import numpy as np
        >>> format_value("a\nb"), format_value([1] * 99, max_chars=20), format_value(np.ones((50, 2)))
        ("'a\\nb'", '[1, 1, 1, 1, 1, 1, …', 'an ndarray of 50 × 2')
    """
    type_name = type(value).__name__
    try:
        text = " ".join(repr(value).split())
    except Exception:
        # The value of a user may have a broken `__repr__`, which must not hide the real error.
        text = f"an object of {type_name}"
    if len(text) <= max_chars:
        return text

    # For a table, the shape shows a mistake better than its first numbers.
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and len(shape) > 1:
        subject = add_article(type_name)
        sizes = []
        for size in shape:
            sizes.append(f"{size:,}")
        dimensions = " × ".join(sizes)
        return f"{subject} of {dimensions}"
    return _truncate(text, max_chars)


def find_paragraph(text: str, heading: str) -> str:
    """Return a text from a heading to its end.

    Args:
        text: The text.
        heading: The words with which the paragraph begins.

    Returns:
        The end of the text; "" if the heading does not occur.

    Example:
        >>> find_paragraph("About films. Note: one is left out.", "Note:")
        'Note: one is left out.'
    """
    start = text.find(heading)
    if start < 0:
        return ""
    paragraph = text[start:]
    return paragraph.rstrip()


def capitalize_first(words: str) -> str:
    """Return words with a capital first letter; unlike in `str.capitalize`, the others stay.

    Example:
        >>> capitalize_first("the DIR tests"), capitalize_first("")
        ('The DIR tests', '')
    """
    initial = words[:1].upper()
    return initial + words[1:]


def add_article(noun: str) -> str:
    """Return a noun, or the name of a type, with its indefinite article.

    Args:
        noun: Noun in the singular, without an article.

    Example:
        >>> add_article("list"), add_article("option"), add_article("ndarray")
        ('a list', 'an option', 'an ndarray')
    """
    first_letter = noun[:1].lower()
    starts_with_vowel = first_letter in ("a", "e", "i", "o", "u")
    # The "nd" of ndarray is spelled out: "an en-dee array".
    if starts_with_vowel or noun.startswith("nd"):
        return f"an {noun}"
    return f"a {noun}"


def short_name(model: str) -> str:
    """Shorten the path of a model or of data to a name for a report.

    The name is the last part of the path, or the last two parts if the last one is a common word such
    as "best". A hub id and an address are not shortened.

    Args:
        model: A path, perhaps of another computer, a hub id, or an address.

    Example:
        >>> short_name("google-bert/bert-base-uncased"), short_name("/home/ann/runs/tone")
        ('google-bert/bert-base-uncased', 'tone')
        >>> short_name("/a/b/best"), short_name("../ann/reviews.csv"), short_name("a/b/reviews.csv")
        ('b/best', 'reviews.csv', 'reviews.csv')
        >>> short_name("http://127.0.0.1:8000/v1")
        'http://127.0.0.1:8000/v1'
    """
    if "://" in model:
        return model
    path: Path | PureWindowsPath = Path(model)
    if not path.is_absolute() and PureWindowsPath(model).is_absolute():
        path = PureWindowsPath(model)
    if isinstance(path, Path) and path.exists():
        path = path.resolve()
    elif not path.is_absolute() and not model.startswith((".", "~")):
        # A hub id has at most two parts, and a path that does not exist here may have as many.
        n_parts = len(path.parts)
        if n_parts < 3:
            return model
    # Many folders are called "best" or "checkpoint-500", so the name of the parent is added.
    is_plain = path.name.lower() in PLAIN_NAMES
    is_checkpoint = path.name.startswith("checkpoint")
    if is_plain or is_checkpoint:
        return "/".join(path.parts[-2:])
    return path.name
