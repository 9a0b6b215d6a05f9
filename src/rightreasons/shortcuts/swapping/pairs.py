"""Edits of items with two texts: what the texts share, and one text without the other."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from rightreasons.shortcuts.swapping.edits import NO_EDIT, Edit, Rng
from rightreasons.shortcuts.swapping.segments import Text, Token, kind_of, replace_tokens
from rightreasons.shortcuts.swapping.training import TrainingTexts


def measure_overlap(training: TrainingTexts, item: Text) -> float:
    """Return the share of the words of the second text that the first text has."""
    first, second = _split_columns(training, item)
    if not second:
        return 0.0
    words = {token.word for token in first}
    return sum(token.word in words for token in second) / len(second)


def swap_overlap(
    training: TrainingTexts,
    item: Text,
    donor: Text,
    control_donor: Text | None,
    goal: int,
    rng: Rng,
) -> Edit:
    """Let the two texts of an item share as many words as those of a donor of another label.

    The control lets them share as many as those of a donor of its own label, or else replaces as many words by neutral
    ones.
    """
    if len(item) < 2:
        return NO_EDIT
    write = functools.partial(_take_overlap, training, item, rng=rng)
    treated = write(measure_overlap(training, donor))
    if treated is None or treated == item:
        return NO_EDIT
    control = None if control_donor is None else write(measure_overlap(training, control_donor))
    return Edit(treated, control, goal)


def _take_overlap(training: TrainingTexts, item: Text, share: float, *, rng: Rng) -> Text | None:
    """Replace words of the second text until it shares as many with the first; None if that cannot be."""
    first, second = _split_columns(training, item)
    words = list(dict.fromkeys(token.word for token in first))
    if not words or not second:
        return None
    known = set(words)
    shared = [token for token in second if token.word in known]
    foreign = [token for token in second if token.word not in known]
    n_extra = round(share * len(second)) - len(shared)
    source = foreign if n_extra > 0 else shared
    replacements = []
    for index in sorted(rng.permutation(len(source))[: abs(n_extra)].tolist()):
        token = source[index]
        if n_extra > 0:
            new: str | None = words[int(rng.integers(len(words)))]
        else:
            new = training.draw_neutral(1, training.get_frequency(token.key), rng)
        if new is not None:
            replacements.append((token, new))
    return replace_tokens(item, replacements)


def _split_columns(training: TrainingTexts, item: Text) -> tuple[list[Token], list[Token]]:
    """Return the words and numbers of the first and of the second text."""
    columns: Mapping[int, list[Token]] = {0: [], 1: []}
    for token in training.segmenter.split(item):
        if kind_of(token.word) != "mark":
            columns[token.column].append(token)
    return columns[0], columns[1]


def exchange_text(item: Text, column: int, donor: Text) -> Edit:
    """Replace one text of an item by that of any other item: a prediction that stays rests on the other text."""
    if donor[column] == item[column]:
        return NO_EDIT
    columns = list(item)
    columns[column] = donor[column]
    return Edit(tuple(columns))


def draw_row(n_items: int, row: int, rng: Rng) -> int:
    """Return a random row other than the given one.

    Example:
        >>> import numpy as np
        >>> draw_row(2, 0, np.random.default_rng(0))
        1
    """
    return (row + 1 + int(rng.integers(n_items - 1))) % n_items
