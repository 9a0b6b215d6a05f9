"""Choices in columns of their own, which a column of labels names or repeats.

A label such as "opt2" next to the columns opt1, opt2 and opt3, or a label that is the text of one of these columns in
each row, shows what the choices are without any heading. `propose_pointed_columns` is the entry point.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from rightreasons.io.columns import quote_column, write_expression
from rightreasons.io.contents import MIN_ROWS, Contents
from rightreasons.io.proposals.choices import (
    MIN_SHARE_OF_DISTINCT,
    ChoiceProposal,
    may_be_choice,
)

MIN_SHARE_OF_CHOICE = 0.02
"""Minimum share of rows whose label is the text of one column, so that the column counts as a choice."""


def propose_pointed_columns(contents: Contents) -> ChoiceProposal | None:
    """Choose the columns of choices to which the values of another column point.

    Args:
        contents: Column, or field of objects -> the summary of its cells.

    Returns:
        The columns; None if no column points to others, if several do, because one may be the answers of a
        model, or if no column of texts is left for the question.

    Example:
        >>> from rightreasons.io.contents import describe_contents
        >>> rows = {
        ...     "frage": [f"Welche Zahl folgt auf die Zahl {number}?" for number in range(12)],
        ...     "wahl_x": [f"Es ist {number + 1}." for number in range(12)],
        ...     "wahl_y": [f"Es ist {number + 7}." for number in range(12)],
        ...     "lösung": ["wahl_x", "wahl_y"] * 6,
        ... }
        >>> proposal = propose_pointed_columns(describe_contents(rows))
        >>> proposal.prompt, proposal.choices
        (('frage',), ('wahl_x', 'wahl_y'))
    """
    text_columns = []
    for name in contents:
        # Fields of objects, such as "meta.source", are not considered.
        if "." not in name and contents[name].kind == "text":
            text_columns.append(name)
    questions = contents.list_texts(text_columns)

    proposals = []
    for label_column in text_columns:
        pointers = _find_pointers(contents, label_column, text_columns)
        if pointers is None:
            continue
        used_columns = (label_column, *pointers.choices)
        prompt = tuple(sorted(set(questions) - set(used_columns), key=questions.index))
        # Without a question, the columns are texts to compare.
        if prompt:
            proposals.append(dataclasses.replace(pointers, prompt=prompt))
    if len(proposals) != 1:
        return None
    return proposals[0]


def _find_pointers(
    contents: Contents, label_column: str, text_columns: Sequence[str]
) -> ChoiceProposal | None:
    """Return the choices to which a column of labels points, without a question; None if there are none.

    Args:
        contents: Column -> the summary of its cells.
        label_column: The column of labels.
        text_columns: The columns that may be choices, in the order of the table.
    """
    candidates = []
    for name in text_columns:
        # Classes and answers of models repeat from row to row, and choices do not.
        if name != label_column and may_be_choice(contents, name):
            candidates.append(name)

    choices = _find_named_columns(contents, label_column, candidates)
    if choices:
        label = _write_position(label_column, choices)
        reason = f"the values of {label_column!r} are names of columns"
        return ChoiceProposal((), choices, label, reason)
    choices = _find_repeated_columns(contents, label_column, candidates)
    if choices:
        reason = f"each value of {label_column!r} is the text of one of them"
        return ChoiceProposal((), choices, label_column, reason)
    return None


def _find_named_columns(
    contents: Contents, label_column: str, candidates: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns between the first and the last one that the labels name, or an empty tuple.

    Args:
        contents: Column -> the summary of its cells.
        label_column: The column whose values may be names of columns.
        candidates: The columns of texts that may be choices, in the order of the table.
    """
    names = set(map(str, contents.get_cells(label_column)))
    if len(names) < 2 or not names <= set(candidates):
        return ()
    # A choice that is never correct in the data is named by no label.
    return _select_choices(contents, candidates, names)


def _find_repeated_columns(
    contents: Contents, label_column: str, candidates: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns of which the label of each row repeats one, or an empty tuple.

    Args:
        contents: Column -> the summary of its cells.
        label_column: The column whose values may be texts of other columns.
        candidates: The columns of texts that may be choices, in the order of the table.
    """
    labels = np.array(contents.get_cells(label_column), dtype=object)
    n_rows = len(labels)
    if n_rows < MIN_ROWS:
        return ()
    n_matches = np.zeros(n_rows, dtype=np.int64)
    equal_rows_by_name = {}
    for name in candidates:
        is_equal = np.array(contents.get_cells(name), dtype=object) == labels
        equal_rows_by_name[name] = is_equal
        n_matches += is_equal
    if not n_matches.all():
        return ()
    # A cleaned copy of a text equals the text in some rows, but is never the only column that does.
    named = set()
    for name, is_equal in equal_rows_by_name.items():
        n_only = np.count_nonzero(is_equal & (n_matches == 1))
        if n_only >= max(2, MIN_SHARE_OF_CHOICE * n_rows):
            named.add(name)
    if len(named) < 2:
        return ()
    return _select_choices(contents, candidates, named)


def _select_choices(
    contents: Contents, candidates: Sequence[str], names: set[str]
) -> tuple[str, ...]:
    """Return the columns from the first to the last of some names, if their texts differ as choices do.

    Args:
        contents: Column -> the summary of its cells.
        candidates: The columns of texts that may be choices, in the order of the table.
        names: At least two of the candidates.
    """
    positions = sorted(candidates.index(name) for name in names)
    choices = tuple(candidates[positions[0] : positions[-1] + 1])
    columns = [contents.get_cells(name) for name in choices]
    rows = list(zip(*columns, strict=True))
    n_distinct = 0
    for texts in rows:
        n_distinct += len(set(texts)) == len(texts)
    # Some items repeat a choice by mistake.
    if n_distinct < MIN_SHARE_OF_DISTINCT * len(rows):
        return ()
    return choices


def _write_position(label_column: str, choices: Sequence[str]) -> str:
    """Return an expression for the position of the choice whose column a label names."""
    names = ", ".join(repr(name) for name in choices)
    return write_expression(f"[{names}].index({quote_column(label_column)})")
