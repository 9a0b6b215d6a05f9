"""Changed texts on the page of a report. A reader selects one to see its prediction."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Sequence

from rightreasons.page.parts import Change

MAX_CHANGES = 12
"""Number of changes of a text that the page offers."""

MAX_CHANGE_BYTES = 600_000
"""Size of all changes on the page."""

CHANGE_OVERHEAD = 30
"""Approximate number of bytes of a change in addition to its name."""

_PIECE = re.compile(r"\w+|\W")
"""Words, and what stands between them; together they are the text."""


def select_changes(
    changes: Iterable[tuple[str, Change]], *, max_bytes: int = MAX_CHANGE_BYTES
) -> dict[str, list[Change]]:
    """Select the changes that a page offers: first one of each text, then a second one, and so on.

    Args:
        changes: (text of an item, change of it) in the order of their importance.
        max_bytes: Approximate size of all selected changes. The selection ends at the first change
            that does not fit.

    Returns:
        Text without surplus spaces -> its changes.

    Example:
        >>> change = Change("“good” → “bad”", "a bad film", "negative", 0.9)
        >>> select_changes([("a  good film", change), ("a good film", change)])
        {'a good film': [Change(name='“good” → “bad”', text='a bad film', prediction='negative', confidence=0.9)]}
    """
    # The page does not show surplus spaces. If two swaps give the same text, it is offered once.
    changes_by_text: dict[str, dict[str, Change]] = {}
    for text, change in changes:
        shown_text = " ".join(text.split())
        change_by_new_text = changes_by_text.setdefault(shown_text, {})
        change_by_new_text.setdefault(change.text, change)

    selected: dict[str, list[Change]] = {}
    n_bytes = 0
    for index in range(MAX_CHANGES):
        for text, change_by_new_text in changes_by_text.items():
            if index >= len(change_by_new_text):
                continue
            change = list(change_by_new_text.values())[index]
            # The page stores the name, and the edits instead of the new text: these are about as
            # long as the name, which consists of the word and its replacement.
            n_bytes += 2 * len(change.name.encode()) + CHANGE_OVERHEAD
            if text not in selected:
                n_bytes += len(text.encode())
            if n_bytes > max_bytes:
                return selected
            selected.setdefault(text, []).append(change)
    return selected


def list_edits(before: str, after: str) -> list[tuple[int, int, str]]:
    """List the edits that turn a text into another, word by word.

    Args:
        before: The text.
        after: The changed text; its surplus spaces do not count.

    Returns:
        (start, end, replacement) of each edit, in order: the characters of `before` from start to
        end are replaced.

    Example:
        >>> list_edits("a dull film", "a fine film!")
        [(2, 6, 'fine'), (11, 11, '!')]
    """
    old_pieces = _PIECE.findall(before)
    new_pieces = _PIECE.findall(" ".join(after.split()))
    # Piece -> its first character; the last entry is the end of the text.
    starts = [0, *itertools.accumulate(map(len, old_pieces))]

    # Most edits replace one word; the equal pieces around it need no search.
    n_equal = count_equal(old_pieces, new_pieces)
    old_pieces = old_pieces[n_equal:]
    new_pieces = new_pieces[n_equal:]
    n_equal_at_end = count_equal(old_pieces[::-1], new_pieces[::-1])
    if n_equal_at_end:
        old_pieces = old_pieces[:-n_equal_at_end]
        new_pieces = new_pieces[:-n_equal_at_end]

    edits = []
    # `autojunk` would ignore frequent pieces, such as spaces.
    matcher = difflib.SequenceMatcher(a=old_pieces, b=new_pieces, autojunk=False)
    for operation, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if operation == "equal":
            continue
        start = starts[n_equal + old_start]
        end = starts[n_equal + old_end]
        replacement = "".join(new_pieces[new_start:new_end])
        edits.append((start, end, replacement))
    return edits


def count_equal(pieces: Sequence[str], other_pieces: Sequence[str]) -> int:
    """Return how many pieces at the beginning of two lists are equal.

    Example:
        >>> count_equal(["a", "b", "c"], ["a", "b", "d", "c"])
        2
    """
    count = 0
    for piece, other_piece in zip(pieces, other_pieces, strict=False):
        if piece != other_piece:
            break
        count += 1
    return count
