"""Take words out of texts, put others in their places, and put words in."""

from __future__ import annotations

from collections.abc import Sequence

from rightreasons.data.perturbing.text import cased_like

Span = tuple[int, int]


def delete_words(text: str, spans: Sequence[Span]) -> str:
    """Return a text without some of its words, and without the spaces that they leave.

    Args:
        text: The text.
        spans: (first character, one past the last) of each word; they do not overlap.

    Example:
        >>> delete_words("Who wrote Hamlet, who?", [(0, 3), (18, 21)])
        'wrote Hamlet,?'
    """
    for start, end in sorted(spans, reverse=True):
        before, after = text[:start], text[end:]
        if after[:1].isspace() and (not before or before[-1].isspace()):
            after = after[1:]
        elif before[-1:].isspace() and not after[:1].isalnum():
            before = before[:-1]
        text = before + after
    return text


def replace_words(text: str, spans: Sequence[Span], new: str, *, cased: bool = True) -> str:
    """Return a text with another word in the place of some of its words.

    Args:
        text: The text.
        spans: (first character, one past the last) of each word.
        new: The other word.
        cased: Whether it takes the capitals of the word that it replaces; a mask token does not.

    Example:
        >>> replace_words("Who wrote Hamlet?", [(0, 3)], "red")
        'Red wrote Hamlet?'
    """
    for start, end in sorted(spans, reverse=True):
        word = cased_like(text[start:end], new) if cased else new
        text = text[:start] + word + text[end:]
    return text


def insert_word(text: str, place: int, word: str) -> str:
    """Return a text with a word put in front of the character at a place.

    Example:
        >>> insert_word("a good film", 2, "copper")
        'a copper good film'
    """
    return f"{text[:place]}{word} {text[place:]}"
