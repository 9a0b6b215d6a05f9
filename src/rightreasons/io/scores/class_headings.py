"""Labels in the headings of scores, such as "good" in "P(good)".

`list_words` returns the labels to search for, and `match_headings` finds a label in each of several headings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rightreasons.core.labels.names import fold_name
from rightreasons.io.cells import is_number
from rightreasons.io.scores.typed_values import iterate_distinct

# Characters between a label and other words, as in "P(good)", "good_prob" or "P (rating=good)".
_WORD_BORDERS = " _.:-()="


def list_words(labels: Iterable[Any]) -> dict[str, str]:
    """Return the distinct labels that are strings or booleans, by their folded spelling.

    Args:
        labels: The cells of a column; numbers, lists and missing labels are skipped.

    Returns:
        Folded spelling -> the label in its original spelling, such as {"very good": "Very good"}.
    """
    distinct_labels: dict[str | bool, None] = {}
    for label in iterate_distinct(labels):
        if isinstance(label, (str, bool)):
            distinct_labels[label] = None
    label_by_word = {}
    for label in distinct_labels:
        text = str(label)
        # Of two labels with the same folded spelling, the later one is used.
        label_by_word[fold_name(text)] = text.strip()
    return label_by_word


def find_label_in_heading(name: str, words: Mapping[str, str]) -> str:
    """Return the label that a heading equals, ends in or begins with; "" if there is none.

    Args:
        name: The heading, such as "P(good)".
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
    # The longest parts come first, so that "not good" is found rather than "good".
    beginnings.reverse()
    for part_of_name in (name, *endings, *beginnings):
        key = fold_name(part_of_name)
        if key in words:
            return words[key]
    return ""


def match_headings(names: Sequence[str], words: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the label in each of several headings; None unless all have one and the labels are distinct.

    The label is at the beginning or the end of a heading, at the border of a word. If not all headings
    have such a label, it may be anywhere: scripts without spaces have no borders between words.

    Args:
        names: The headings, such as ["P(good)", "P(bad)"].
        words: Folded spelling of a label -> the label.

    Example:
        >>> match_headings(["良いの確率", "悪いの確率"], {"良い": "良い", "悪い": "悪い"})
        ('良い', '悪い')
    """
    # The same rule has to apply to all headings.
    for find_label in (find_label_in_heading, _find_contained_label):
        labels = tuple(find_label(name, words) for name in names)
        if all(labels):
            has_repeats = len(set(labels)) < len(labels)
            return None if has_repeats else labels
    return None


def _find_contained_label(name: str, words: Mapping[str, str]) -> str:
    """Return the label that a heading contains anywhere; "" if it contains none, or several.

    Args:
        name: The heading.
        words: Folded spelling of a label -> the label. Numbers are skipped, because headings contain them
            by accident.
    """
    heading = fold_name(name)
    matches = []
    for word in words:
        if word in heading and not is_number(word):
            matches.append(word)
    longest = max(matches, key=len, default="")
    # A heading with "not good" contains "good" as well. Other labels have to be parts of the longest.
    for word in matches:
        if word not in longest:
            return ""
    return words.get(longest, "")
