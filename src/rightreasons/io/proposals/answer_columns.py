"""Unused columns that agree with the labels: the answers of other systems, or of annotators.

`describe_answer_columns` is the entry point.
"""

from __future__ import annotations

import operator

from rightreasons.core.sentences import format_list, join_parts
from rightreasons.io.columns import quote_column
from rightreasons.io.contents import Contents, describe_contents, make_key
from rightreasons.io.proposals.agreement import find_agreeing_columns
from rightreasons.io.row_checks import RowTable

MAX_ANSWER_COLUMNS = 5
"""Number of columns whose agreement is shown."""


def describe_answer_columns(table: RowTable) -> str:
    """Return which unused columns agree with the labels, and the option that reads them; "" for none.

    Args:
        table: The rows of a table, and the roles of its columns.

    Example:
        >>> import datasets
        >>> from rightreasons.io.row_checks import RowRoles
        >>> gold, answers = ["a", "b", "c", "a"] * 6, ["a", "b", "c", "b"] * 6
        >>> rows = datasets.Dataset.from_dict({"gold": gold, "bert": answers})
        >>> describe_answer_columns(RowTable(rows, RowRoles((), label="gold")))
        "'bert' holds the values of 'gold' and agrees with it in 75% of the rows, as the answers of a system or an \
annotator do: `correct_column` reads them, as in '{{ bert == gold }}'."
    """
    label = table.roles.label
    candidates = list(table.unused)
    if not label or not candidates:
        return ""
    # Next to answers that are read, those of a poor system are known by their values alone.
    answer = table.roles.answer
    if answer:
        candidates.append(answer)
    contents = describe_contents(table.data)
    agreeing = find_agreeing_columns(contents, label, candidates)
    columns = [name for name in agreeing if name != answer]
    if not columns:
        return ""
    names = format_list(list(map(repr, columns[:MAX_ANSWER_COLUMNS])))
    shares = []
    # A table of a leaderboard may have dozens of systems.
    for name in columns[:MAX_ANSWER_COLUMNS]:
        share = _measure_share(contents, name, label)
        shares.append(f"{share:.0%}")
    comparison = f"'{{{{ {quote_column(columns[0])} == {quote_column(label)} }}}}'"
    if len(columns) == 1:
        return (
            f"{names} holds the values of {label!r} and agrees with it in {shares[0]} of the rows, "
            "as the answers of a system or an annotator do: `correct_column` reads them, as in "
            f"{comparison}."
        )
    return (
        f"{names} hold the values of {label!r} and agree with it in {join_parts(shares)} of the "
        "rows, as the answers of several systems or annotators do: `correct_column` reads those of "
        f"one, as in {comparison}."
    )


def describe_confidence_columns(table: RowTable) -> str:
    """Return which unused columns may be confidences next to labels of two values, and the options that read them.

    The labels may then say which answers are correct. "" is returned if no column may be a confidence.

    Args:
        table: The rows of a table whose labels only their cells propose.

    Example:
        >>> import datasets
        >>> from rightreasons.io.row_checks import RowRoles
        >>> columns = {"y": ["ja", "nein"] * 9, "s": [number / 20 for number in range(1, 19)]}
        >>> describe_confidence_columns(RowTable(datasets.Dataset.from_dict(columns), RowRoles((), label="y")))
        "'s' holds fractions from 0 to 1: if that is the confidence in answers, of which 'y' says whether they are \
correct, `confidence_column` and `correct_column` read them."
    """
    label = table.roles.label
    contents = describe_contents(table.data)
    if label not in contents or contents[label].n_values != 2:
        return ""
    names = []
    for name in contents:
        if name != label and contents[name].has_fractions:
            names.append(name)
    # Of several columns of fractions, most are measures of something else.
    if len(names) != 1:
        return ""
    return (
        f"{names[0]!r} holds fractions from 0 to 1: if that is the confidence in answers, of which "
        f"{label!r} says whether they are correct, `confidence_column` and `correct_column` read them."
    )


def _measure_share(contents: Contents, name: str, label: str) -> float:
    """Return the share of rows in which two columns hold the same value."""
    # 1 and 1.0 are one value, and so are Yes and yes.
    keys = list(map(make_key, contents.get_cells(name)))
    labels = list(map(make_key, contents.get_cells(label)))
    n_equal = sum(map(operator.eq, keys, labels))
    return float(n_equal / len(labels))
