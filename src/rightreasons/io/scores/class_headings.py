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
    """Return the labels that are texts or booleans, for a search in headings.

    Args:
        labels: The cells of a column; numbers, lists and missing labels are skipped.

    Returns:
        Folded spelling -> the label as it is written, as in `{"very good": "Very good"}`.
    """
    distinct_labels: dict[str | bool, None] = {}
    for label in iterate_distinct(labels):
        if isinstance(label, (str, bool)):
            distinct_labels[label] = None
    label_by_word = {}
    for label in distinct_labels:
        text = str(label)
        # If two spellings have one folded form, the one that first occurs later counts.
        label_by_word[fold_name(text)] = text.strip()
    return label_by_word


def find_label_in_heading(name: str, words: Mapping[str, str]) -> str:
    """Return the label that a heading equals, ends in or begins with; "" for none.

    Args:
        name: The heading.
        words: Folded spelling of a label -> the label.

    Example:
        >>> words = {"good": "Good"}
        >>> find_label_in_heading("P(good)", words), find_label_in_heading("goods", words)
        ('Good', '')
    """
    endings = []
    beginnings = []
    for position, sign in enumerate(name):
        if sign in _WORD_BORDERS:
            beginnings.append(name[:position])
            ending = name[position + 1 :]
            endings.append(ending.rstrip(")"))
    # The longest parts come first: "not good" counts more than "good".
    beginnings.reverse()
    for part_of_name in (name, *endings, *beginnings):
        key = fold_name(part_of_name)
        if key in words:
            return words[key]
    return ""


def match_headings(names: Sequence[str], words: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the label that each of several headings names; None unless these are distinct labels.

    A label is a word of the heading, or else a part of it: scripts without spaces have no borders
    between words.

    Args:
        names: The headings.
        words: Folded spelling of a label -> the label.

    Example:
        >>> match_headings(["良いの確率", "悪いの確率"], {"良い": "良い", "悪い": "悪い"})
        ('良い', '悪い')
    """
    # All headings are read by the same rule.
    for find_label in (find_label_in_heading, _find_contained_label):
        labels = tuple(find_label(name, words) for name in names)
        if all(labels):
            has_repeats = len(set(labels)) < len(labels)
            return None if has_repeats else labels
    return None


def _find_contained_label(name: str, words: Mapping[str, str]) -> str:
    """Return the label that a heading contains anywhere; "" for none, or for several.

    Args:
        name: The heading.
        words: Folded spelling of a label -> the label; numbers are skipped, because they occur in
            headings by accident.
    """
    heading = fold_name(name)
    matches = []
    for word in words:
        if word in heading and not is_number(word):
            matches.append(word)
    longest = max(matches, key=len, default="")
    # "not good" contains "good" as well: the longest label counts if it contains all others.
    for word in matches:
        if word not in longest:
            return ""
    return words.get(longest, "")
