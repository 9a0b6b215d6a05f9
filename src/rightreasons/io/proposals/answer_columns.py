"""Unused columns that a user may miss: answers of other systems or annotators, texts, and numbers.

`describe_answer_columns` reports those that agree with the labels, `describe_confidence_columns` those next to a
correctness, and `describe_unread_columns` all that hold texts or numbers.
"""

from __future__ import annotations

from rightreasons.core.sentences import format_list, join_parts
from rightreasons.io.columns import is_expression, quote_column, write_expression
from rightreasons.io.contents import Contents, describe_contents, make_key
from rightreasons.io.proposals.agreement import find_agreeing_columns
from rightreasons.io.row_checks import RowTable

MAX_ANSWER_COLUMNS = 5
"""Maximum number of columns whose agreement with the labels is displayed."""


def describe_answer_columns(table: RowTable) -> str:
    """Return a sentence on unused columns that agree with the labels, as answers of other systems do.

    Args:
        table: The rows of a table, and the roles of its columns.

    Returns:
        A sentence with the columns and the option that reads them; "" if there are none.

    Example:
        >>> import datasets
        >>> from rightreasons.io.row_checks import RowRoles
        >>> gold, answers = ["a", "b", "c", "a"] * 6, ["a", "b", "c", "b"] * 6
        >>> rows = datasets.Dataset.from_dict({"gold": gold, "bert": answers})
        >>> describe_answer_columns(RowTable(rows, RowRoles((), label="gold")))
        "'bert' holds the values of 'gold' and agrees with it in 75% of the rows, as the answers of a system or an \
annotator do. Read these answers with `correct_column`, as in '{{ bert == gold }}'."
    """
    label = table.roles.label
    candidates = list(table.unused)
    if not label or not candidates:
        return ""
    answer = table.roles.answer
    # If the answers that are read agree with the labels, a column of a poor system is listed as well.
    if answer:
        candidates.append(answer)
    contents = describe_contents(table.data)
    agreeing = find_agreeing_columns(contents, label, candidates)
    columns = [name for name in agreeing if name != answer]
    if not columns:
        return ""
    # The table of a leaderboard may have dozens of systems.
    displayed = columns[:MAX_ANSWER_COLUMNS]
    names = format_list(list(map(repr, displayed)))
    shares = []
    for name in displayed:
        share = _measure_share(contents, name, label)
        shares.append(f"{share:.0%}")
    expression = write_expression(f"{quote_column(columns[0])} == {quote_column(label)}")
    if len(columns) == 1:
        return (
            f"{names} holds the values of {label!r} and agrees with it in {shares[0]} of the "
            "rows, as the answers of a system or an annotator do. Read these answers with "
            f"`correct_column`, as in '{expression}'."
        )
    return (
        f"{names} hold the values of {label!r} and agree with it in {join_parts(shares)} of the "
        "rows, as the answers of several systems or annotators do. Read the answers of one "
        f"system with `correct_column`, as in '{expression}'."
    )


def describe_confidence_columns(table: RowTable) -> str:
    """Return a sentence on a column that may be the confidence in answers, with labels as their correctness.

    Args:
        table: The rows of a table whose labels have no usual heading, so that they may be correctness.

    Returns:
        A sentence with the column and the options that read it; "" unless the labels have two values and
        exactly one column contains fractions.

    Example:
        >>> import datasets
        >>> from rightreasons.io.row_checks import RowRoles
        >>> columns = {"y": ["ja", "nein"] * 9, "s": [number / 20 for number in range(1, 19)]}
        >>> describe_confidence_columns(RowTable(datasets.Dataset.from_dict(columns), RowRoles((), label="y")))
        "'s' holds fractions from 0 to 1. If these are confidences in answers, and 'y' shows whether the answers are \
correct, name the columns with `confidence_column` and `correct_column`."
    """
    label = table.roles.label
    contents = describe_contents(table.data)
    # Correctness is either true or false, so that a column of it has two values.
    if label not in contents or contents[label].n_values != 2:
        return ""
    names = []
    for name in contents:
        if name != label and contents[name].has_fractions:
            names.append(name)
    # If there are several columns of fractions, most of them measure something else.
    if len(names) != 1:
        return ""
    return (
        f"{names[0]!r} holds fractions from 0 to 1. If these are confidences in answers, and "
        f"{label!r} shows whether the answers are correct, name the columns with "
        "`confidence_column` and `correct_column`."
    )


def describe_unread_columns(table: RowTable) -> str:
    """Return a sentence on unused columns of texts, of fractions, and of lists; "" if there are none.

    Such a column may be a second text, a confidence, or scores. Ids, links and counts are not reported.

    Args:
        table: The rows of a table, and the roles of its columns.

    Example:
        >>> import datasets
        >>> from rightreasons.io.row_checks import RowRoles
        >>> columns = {"q": ["Is it so?"] * 12, "passage": [f"Part {row} of it." for row in range(12)]}
        >>> describe_unread_columns(RowTable(datasets.Dataset.from_dict(columns), RowRoles(("q",))))
        'Not read: passage (texts).'
    """
    contents = describe_contents(table.data)
    # Expressions and fields that are read were added as columns, and read others.
    derived_names = []
    for name in (*table.roles.used, *table.data.column_names):
        if is_expression(name) or "." in name:
            derived_names.append(name)
    phrases = []
    for name in table.data.column_names:
        # Columns of few values are listed with their counts.
        if name in table.roles.used or name in table.unused:
            continue
        if any(name in derived_name for derived_name in derived_names):
            continue
        content = contents[name]
        if content.has_texts:
            phrases.append(f"{name} (texts)")
        elif content.has_fractions or content.has_log_fractions:
            phrases.append(f"{name} (numbers)")
        elif content.kind in ("list", "marks", "shares", "mixed"):
            phrases.append(f"{name} (lists or objects)")
    return f"Not read: {format_list(phrases)}." if phrases else ""


def _measure_share(contents: Contents, name: str, label: str) -> float:
    """Return the share of sampled rows in which two columns have the same value.

    The case of letters and the type of numbers do not matter: "Yes" equals "yes", and 1 equals "1.0".

    Args:
        contents: Column -> the summary of its cells.
        name: One column.
        label: The other column.
    """
    keys = list(map(make_key, contents.get_cells(name)))
    label_keys = list(map(make_key, contents.get_cells(label)))
    n_equal = 0
    for key, label_key in zip(keys, label_keys, strict=True):
        n_equal += key == label_key
    return n_equal / len(label_keys)
