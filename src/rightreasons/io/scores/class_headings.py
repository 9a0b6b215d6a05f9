"""Labels in headings: columns named after the classes whose scores they hold, as in "P(good)".

`list_words` makes the words to look for, and `match_headings` finds a label in each of several headings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rightreasons.core.labels.names import fold_name
from rightreasons.io.cells import is_number
from rightreasons.io.scores.typed_values import iterate_distinct

# Between a label and the words around it, as in "P(good)", "good_prob" or "P (rating=good)".
_WORD_BORDERS = " _.:-()="


def list_words(labels: Iterable[Any]) -> dict[str, str]:
    """Return the labels that are texts or flags: folded name -> the label as it is written."""
    texts = filter(_is_word, iterate_distinct(labels))
    words = {}
    for label in dict.fromkeys(texts):
        text = str(label)
        # Of two spellings, the one that comes later counts.
        words[fold_name(text)] = text.strip()
    return words


def _is_word(label: Any) -> bool:
    # Numbers, lists and missing labels are no words.
    return isinstance(label, (str, bool))


def find_label_in_heading(name: str, words: Mapping[str, str]) -> str:
    """Return the label that a heading is, ends in or begins with; "" for none.

    Example:
        >>> words = {"good": "Good"}
        >>> find_label_in_heading("P(good)", words), find_label_in_heading("goods", words)
        ('Good', '')
    """
    ends = []
    beginnings = []
    for position, sign in enumerate(name):
        if sign in _WORD_BORDERS:
            beginnings.append(name[:position])
            end = name[position + 1 :]
            ends.append(end.rstrip(")"))
    # The longest ends come first, and then the longest beginnings.
    beginnings.reverse()
    for segment in (name, *ends, *beginnings):
        key = fold_name(segment)
        if key in words:
            return words[key]
    return ""


def match_headings(names: Sequence[str], words: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the label that each heading names, or else contains; None unless these are distinct labels.

    Scripts without spaces have no borders between a label and the words around it.

    Example:
        >>> match_headings(["良いの確率", "悪いの確率"], {"良い": "良い", "悪い": "悪い"})
        ('良い', '悪い')
    """
    # One rule reads all headings.
    for find_label in (find_label_in_heading, _find_contained_label):
        labels = [find_label(name, words) for name in names]
        if not all(labels):
            continue
        is_distinct = len(set(labels)) == len(labels)
        return tuple(labels) if is_distinct else None
    return None


def _find_contained_label(name: str, words: Mapping[str, str]) -> str:
    """Return the only label that a heading contains; "" for none or several."""
    heading = fold_name(name)
    # Numbers occur in headings by accident.
    matches = []
    for word in words:
        if word in heading and not is_number(word):
            matches.append(word)
    longest = max(matches, key=len, default="")
    # "not good" contains "good", so that the longest label counts if it contains all others.
    for word in matches:
        if word not in longest:
            return ""
    return words.get(longest, "")
