"""Finds columns by their usual names, and reports the ones that are missing."""

from __future__ import annotations

from collections.abc import Sequence

import datasets

from rightreasons.data.opening.nested import nested_names
from rightreasons.foundations.sentences import did_you_mean

TEXT_COLUMNS = (
    "text",
    "sentence",
    "content",
    "tweet",
    "review",
    "comment",
    "question",
    "document",
    "message",
    "body",
    "title",
    "query",
    "utterance",
    "prompt",
)
PAIR_COLUMNS = (
    ("text", "text_pair"),
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("text1", "text2"),
    ("text_a", "text_b"),
)
LABEL_COLUMNS = ("label", "labels", "class", "category", "target", "sentiment", "gold_label", "topic", "intent", "y")
ID_COLUMNS = ("id", "idx", "guid", "uid", "example_id", "qid", "ind")


def named_column(data: datasets.Dataset, column: str, option: str, name: str) -> str:
    """Check that a column named by the user exists."""
    if not isinstance(column, str):
        raise TypeError(f"Expected `{option}` to be the name of a column, but got {column!r}.")
    if column not in data.column_names:
        hint = did_you_mean(column, [*data.column_names, *nested_names(data)])
        raise ValueError(
            f"Expected the column {column!r} that `{option}` names in {name}, but its columns are "
            f"{', '.join(data.column_names)}.{hint}"
        )
    return column


def usual_column(data: datasets.Dataset, usual: Sequence[str]) -> str | None:
    """Find the first of the usual names, ignoring case."""
    by_lower = {column.lower(): column for column in reversed(data.column_names)}
    return next((by_lower[name] for name in usual if name in by_lower), None)


def no_column(data: datasets.Dataset, what: str, usual: Sequence[str], option: str, name: str) -> ValueError:
    """Build the error for a column that has none of the usual names."""
    return ValueError(
        f"Expected a column with the {what} in {name} (one of {', '.join(usual)}), but its columns are "
        f"{', '.join(data.column_names)}; name it with {option}=."
    )
