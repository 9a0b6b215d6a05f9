"""Items and answers in two files, joined by the ids of the items.

`join_files` opens the two files of a `JoinedFiles` as one table: a row per answer, with the columns
of its item. The outputs of batch interfaces are recognized with `batch_forms.yaml`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc

from rightreasons.core.errors import OptionError
from rightreasons.core.sentences import format_list, pluralize
from rightreasons.core.yaml_files import read_yaml
from rightreasons.io.arrow_tables import Splits, make_dataset, only_part
from rightreasons.io.columns import (
    add_nested_columns,
    check_column_name,
    get_arrow_column,
    get_nested_features,
    get_values,
)
from rightreasons.io.headings import LABEL_HEADINGS, make_heading_key
from rightreasons.io.joined_files import JoinedFiles, name_file
from rightreasons.io.logs import UNREAD
from rightreasons.io.options import FileForm

PREDICTION = "prediction"
"""Column of the answers in the joined table."""

MIN_SHARED = 0.5
"""Minimum share of the answers with an item at which two columns count as the ids of items and answers."""

N_NAMED = 3
"""Maximum number of unmatched ids that a warning names."""


def join_files(files: JoinedFiles, form: FileForm, read: Callable[..., Splits]) -> datasets.Dataset:
    """Join items and answers by their ids: a row per answer, with the columns of its item.

    Items without an answer, and answers without an item, are left out with a warning.

    Args:
        files: The two files, with the columns of the ids if the user named them.
        form: Options on how the files are read.
        read: The function that opens a file, such as `as_table`, with the argument `form`.

    Raises:
        ValueError: If the files have no columns with the same ids, or if ids of items repeat.

    Example:
        >>> items = [{"id": "a", "label": "up"}, {"id": "b", "label": "down"}]
        >>> answers = [{"custom_id": "b", "answer": "up"}, {"custom_id": "a", "answer": "up"}]
        >>> from rightreasons.io.reading import as_table
        >>> join_files(JoinedFiles(items, answers), FileForm(), as_table)[0]
        {'id': 'b', 'label': 'down', 'answer': 'up'}
    """
    # A condition on rows may need columns of both files, so the caller applies it to the joined table.
    form = form.replace(where=None)
    items = only_part(read(files.items, form=form), name_file(files.items))
    answers = only_part(read(files.answers, form=form), name_file(files.answers))
    answers = read_batch(answers)
    item_column, answer_column = _choose_id_columns(items, answers, files)
    item_ids = _get_ids(items, item_column)
    answer_ids = _get_ids(answers, answer_column)
    if len(item_ids.unique()) < len(item_ids):
        raise OptionError(
            f"Expected distinct ids in the column {item_column!r} of the items, but an id occurs "
            "twice. Name the columns of the ids with `join`, as in id=custom_id.",
            option="join",
        )
    # Arrow joins the ids, which is fast for large files. For each answer, the row of its item; null if there is no such item.
    item_rows = pc.index_in(answer_ids, value_set=item_ids)
    _warn_of_unmatched(item_ids, answer_ids, item_rows)
    answer_rows = pc.indices_nonzero(pc.is_valid(item_rows))
    matched_answers = answers.select(answer_rows.to_pylist())
    # The row of an item repeats if it has several answers.
    matched_items = items.select(pc.drop_null(item_rows).to_pylist())
    return _combine(matched_items, matched_answers.remove_columns(answer_column))


def read_batch(answers: datasets.Dataset) -> datasets.Dataset:
    """Return the output of a batch interface, such as that of OpenAI, as a table of ids and answers.

    Args:
        answers: The output, or another table of answers, which is returned unchanged.

    Returns:
        A table of three columns: the ids, `prediction` with the texts of the answers, and `answer_unread`,
        which is true for a request that failed, so that its text is "".

    Example:
        >>> reply = {"body": {"choices": [{"message": {"content": "up"}}]}}
        >>> rows = datasets.Dataset.from_list([{"custom_id": "a", "response": reply}])
        >>> read_batch(rows)[0]
        {'custom_id': 'a', 'prediction': 'up', 'answer_unread': False}
    """
    fields = get_nested_features(answers.features)
    for form in read_yaml(Path(__file__).with_name("batch_forms.yaml")):
        if form["id"] not in answers.column_names:
            continue
        for field in form["answer"]:
            if field not in fields:
                continue
            cells = get_values(add_nested_columns(answers, [field]), field)
            # A failed request has no text, or only an empty one.
            texts = [_find_text(cell) for cell in cells]
            columns = {
                form["id"]: get_arrow_column(answers, form["id"]),
                PREDICTION: texts,
                UNREAD: [not text for text in texts],
            }
            return make_dataset(pa.table(columns), "the answers")
    return answers


# ------------------------------------------------------------------------------- private


def _find_text(cell: Any) -> str:
    """Return the first string that is not blank in nested lists, such as "up" in [[""], ["up"]].

    The result is "" if there is no such string.

    Args:
        cell: A string, a list, or any other value, which contains no string.
    """
    if isinstance(cell, str):
        return cell.strip()
    if not isinstance(cell, list):
        return ""
    for member in cell:
        text = _find_text(member)
        if text:
            return text
    return ""


def _choose_id_columns(
    items: datasets.Dataset, answers: datasets.Dataset, files: JoinedFiles
) -> tuple[str, str]:
    """Return the columns of the ids of items and answers: those that the user named, or the best match.

    Args:
        items: The table of items.
        answers: The table of answers.
        files: The two files, with the option `join`: "id" for both columns, or "id=custom_id".

    Returns:
        The column of the items, and the column of the answers.

    Raises:
        OptionError: If a named column is missing, or if no columns match at least half of the answers.
    """
    if files.join is not None:
        item_column, _, answer_column = files.join.partition("=")
        # A single name applies to both columns.
        answer_column = answer_column or item_column
        check_column_name(items, item_column, "join", name_file(files.items))
        check_column_name(answers, answer_column, "join", name_file(files.answers))
        return item_column, answer_column
    best_columns = _find_matching_columns(items, answers)
    if best_columns is None:
        raise OptionError(
            f"Expected a shared column of ids in {name_file(files.items)} and "
            f"{name_file(files.answers)}, but their columns are "
            f"{format_list(items.column_names)} and {format_list(answers.column_names)}. Name "
            "the column of ids in both files with `join`, as in id=custom_id.",
            option="join",
        )
    return best_columns


def _find_matching_columns(
    items: datasets.Dataset, answers: datasets.Dataset
) -> tuple[str, str] | None:
    """Return the pair of columns for which the largest share of the answers has an item.

    Of equally good pairs, one with equal headings is preferred.

    Args:
        items: The table of items.
        answers: The table of answers.

    Returns:
        The column of the items, and the column of the answers; None if no pair matches at least the share
        `MIN_SHARED` of the answers.
    """
    best_columns: tuple[str, str] | None = None
    # A score is the share of the answers with an item, and whether headings are equal.
    best_score = (MIN_SHARED, False)
    for item_column in _list_code_columns(items):
        item_ids = _get_ids(items, item_column)
        # A column with repeated values identifies groups of items, and not single items.
        if len(item_ids.unique()) < len(item_ids):
            continue
        for answer_column in _list_code_columns(answers):
            has_equal_headings = make_heading_key(item_column) == make_heading_key(answer_column)
            is_numbered = pa.types.is_integer(get_arrow_column(answers, answer_column).type)
            # Row numbers match in any two files, so numbers also need the same heading.
            if is_numbered and not has_equal_headings:
                continue
            has_item = pc.is_in(_get_ids(answers, answer_column), value_set=item_ids)
            score = (pc.mean(has_item).as_py() or 0.0, has_equal_headings)
            if score > best_score:
                best_columns = (item_column, answer_column)
                best_score = score
    return best_columns


def _list_code_columns(data: datasets.Dataset) -> list[str]:
    """Return the columns of a table that may contain ids: strings or integers."""
    names = []
    for name in data.column_names:
        arrow_type = get_arrow_column(data, name).type
        is_string = pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type)
        if is_string or pa.types.is_integer(arrow_type):
            names.append(name)
    return names


def _get_ids(data: datasets.Dataset, name: str) -> pa.Array:
    column = get_arrow_column(data, name).cast(pa.string()).combine_chunks()
    return pc.utf8_trim_whitespace(column)


def _warn_of_unmatched(item_ids: pa.Array, answer_ids: pa.Array, item_rows: pa.Array) -> None:
    """Warn of items without an answer, and of answers without an item, with a few of their ids.

    Args:
        item_ids: (N,) ids of the items.
        answer_ids: (M,) ids of the items that the answers name.
        item_rows: (M,) row of the item of each answer; null if there is no such item.
    """
    is_answered = pc.is_in(item_ids, value_set=answer_ids)
    unanswered = item_ids.filter(pc.invert(is_answered))
    unmatched = answer_ids.filter(pc.is_null(item_rows))
    phrases = []
    if len(unanswered):
        count = pluralize(len(unanswered), "item has no answer", "items have no answer")
        phrases.append(f"{count} ({_list_examples(unanswered)})")
    if len(unmatched):
        count = pluralize(len(unmatched), "answer has no item", "answers have no item")
        phrases.append(f"{count} ({_list_examples(unmatched)})")
    if phrases:
        warnings.warn(
            f"{', and '.join(phrases)}. Items and answers without a match are left out.",
            stacklevel=3,
        )


def _list_examples(ids: pa.Array) -> str:
    """Return up to `N_NAMED` ids as a phrase, which ends in "…" if there are more."""
    examples = format_list(ids[:N_NAMED].to_pylist())
    return f"{examples}, …" if len(ids) > N_NAMED else examples


def _combine(items: datasets.Dataset, answers: datasets.Dataset) -> datasets.Dataset:
    """Return a table with the columns of items and of their answers, with distinct names.

    A column of the answers is renamed if the items have one of the same name: to `prediction` if its
    heading is one of labels, as in a submission to a leaderboard, or else to "NAME (answers)".

    Args:
        items: The item of each answer.
        answers: The answers.
    """
    new_names: dict[str, str] = {}
    for name in answers.column_names:
        if name not in items.column_names:
            continue
        has_label_heading = make_heading_key(name) in LABEL_HEADINGS
        if has_label_heading and PREDICTION not in answers.column_names:
            new_names[name] = PREDICTION
        else:
            new_names[name] = f"{name} (answers)"
    answers = answers.rename_columns(new_names)
    return datasets.concatenate_datasets([items, answers], axis=1)
