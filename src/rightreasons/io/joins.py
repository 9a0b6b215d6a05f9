"""Items and answers in two files, joined by the ids of the items.

`join_files` opens the two files of a `JoinedFiles` as one table: a row per answer, with the columns
of its item. Outputs of batch interfaces are recognized by batch_forms.yaml.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
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
"""Share of the answers whose ids the items must have."""

N_NAMED = 3
"""Ids without a partner that a message names."""


def join_files(files: JoinedFiles, form: FileForm, read: Callable[..., Splits]) -> datasets.Dataset:
    """Open items and answers as one table: a row per answer, with the columns of its item.

    Ids without a partner are counted and named in a warning.

    Args:
        files: The two files.
        form: How they are read.
        read: Opens one of them, as `as_table` does.

    Raises:
        ValueError: If no columns share their ids, or items have an id twice.

    Example:
        >>> items = [{"id": "a", "label": "up"}, {"id": "b", "label": "down"}]
        >>> answers = [{"custom_id": "b", "answer": "up"}, {"custom_id": "a", "answer": "up"}]
        >>> from rightreasons.io.reading import as_table
        >>> join_files(JoinedFiles(items, answers), FileForm(), as_table)[0]
        {'id': 'b', 'label': 'down', 'answer': 'up'}
    """
    # Rows are chosen in the joined table, whose condition may read both files.
    form = form.replace(where=None)
    items = only_part(read(files.items, form=form), name_file(files.items))
    answers = only_part(read(files.answers, form=form), name_file(files.answers))
    answers = read_batch(answers)
    item_column, answer_column = _choose_id_columns(items, answers, files)
    item_ids = _get_ids(items, item_column)
    answer_ids = _get_ids(answers, answer_column)
    if len(item_ids.unique()) < len(item_ids):
        raise OptionError(
            f"Expected each id once in the column {item_column!r} of the items, but one occurs twice: "
            "`join` names the columns of the ids, as in id=custom_id.",
            option="join",
        )
    # The row of the item of each answer, null if it has none.
    rows = pc.index_in(answer_ids, value_set=item_ids)
    _warn_of_unmatched(item_ids, answer_ids, rows)
    has_item = pc.is_valid(rows)
    # A row per answer: several samples of an item repeat its columns.
    matched_answers = answers.select(pc.indices_nonzero(has_item).to_pylist())
    matched_items = items.select(pc.drop_null(rows).to_pylist())
    return _combine(matched_items, matched_answers.remove_columns(answer_column))


def read_batch(answers: datasets.Dataset) -> datasets.Dataset:
    """Return the output of a batch interface as ids and answers; another table as it is.

    Example:
        >>> reply = {"body": {"choices": [{"message": {"content": "up"}}]}}
        >>> rows = datasets.Dataset.from_list([{"custom_id": "a", "response": reply}])
        >>> read_batch(rows)[0]
        {'custom_id': 'a', 'prediction': 'up', 'answer_unread': False}
    """
    for form in read_yaml(Path(__file__).with_name("batch_forms.yaml")):
        if form["id"] not in answers.column_names:
            continue
        fields = get_nested_features(answers.features)
        for field in form["answer"]:
            if field not in fields:
                continue
            cells = get_values(add_nested_columns(answers, [field]), field)
            texts = [_find_text(cell) for cell in cells]
            # A request that failed has no answer, and counts as one that cannot be read.
            columns = {
                form["id"]: get_arrow_column(answers, form["id"]),
                PREDICTION: texts,
                UNREAD: [not text for text in texts],
            }
            return make_dataset(pa.table(columns), "the answers")
    return answers


# ------------------------------------------------------------------------------- private


def _find_text(cell: Any) -> str:
    """Return the first text in nested lists; "" for none."""
    if isinstance(cell, str):
        return cell.strip()
    members = cell if isinstance(cell, list) else []
    for member in members:
        text = _find_text(member)
        if text:
            return text
    return ""


def _choose_id_columns(
    items: datasets.Dataset, answers: datasets.Dataset, files: JoinedFiles
) -> tuple[str, str]:
    """Return the columns of the ids: those that are named, or the pair that shares the most values."""
    if files.join is not None:
        item_column, _, answer_column = files.join.partition("=")
        answer_column = answer_column or item_column
        check_column_name(items, item_column, "join", name_file(files.items))
        check_column_name(answers, answer_column, "join", name_file(files.answers))
        return item_column, answer_column
    best = ("", "")
    best_score = (MIN_SHARED, False)
    for item_column in _list_code_columns(items):
        # A column that repeats values names groups of items, not items.
        item_ids = _get_ids(items, item_column)
        if len(item_ids.unique()) < len(item_ids):
            continue
        for answer_column in _list_code_columns(answers):
            # Row numbers of two files are equal by accident, unless both are called ids.
            is_equally_named = make_heading_key(item_column) == make_heading_key(answer_column)
            is_numbered = pa.types.is_integer(get_arrow_column(answers, answer_column).type)
            if is_numbered and not is_equally_named:
                continue
            is_shared = pc.is_in(_get_ids(answers, answer_column), value_set=item_ids)
            score = (pc.mean(is_shared).as_py() or 0.0, is_equally_named)
            if score > best_score:
                best = (item_column, answer_column)
                best_score = score
    if not best[0]:
        raise OptionError(
            f"Expected a column of ids that {name_file(files.items)} and "
            f"{name_file(files.answers)} share, but their columns are "
            f"{format_list(items.column_names)} and {format_list(answers.column_names)}: `join` "
            "names it in both, as in id=custom_id.",
            option="join",
        )
    return best


def _list_code_columns(data: datasets.Dataset) -> list[str]:
    """Return the columns whose values may be ids: texts and whole numbers."""
    names = []
    for name in data.column_names:
        kind = get_arrow_column(data, name).type
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind):
            names.append(name)
    return names


def _get_ids(data: datasets.Dataset, name: str) -> pa.Array:
    column = get_arrow_column(data, name).cast(pa.string()).combine_chunks()
    return pc.utf8_trim_whitespace(column)


def _warn_of_unmatched(item_ids: pa.Array, answer_ids: pa.Array, rows: pa.Array) -> None:
    """Warn of items without an answer, and of answers without an item."""
    is_answered = pc.is_in(item_ids, value_set=answer_ids)
    unmatched = {
        "item has no answer|items have no answer": item_ids.filter(pc.invert(is_answered)),
        "answer has no item|answers have no item": answer_ids.filter(pc.is_null(rows)),
    }
    parts = []
    for words, ids in unmatched.items():
        if len(ids):
            singular, plural = words.split("|")
            # Three ids are enough to look them up.
            examples = format_list(ids[:N_NAMED].to_pylist())
            parts.append(f"{pluralize(len(ids), singular, plural)} ({examples}{_mark_more(ids)})")
    if parts:
        warnings.warn(f"{', and '.join(parts)}: they are left out.", stacklevel=3)


def _mark_more(ids: Sequence[Any]) -> str:
    return ", …" if len(ids) > N_NAMED else ""


def _combine(items: datasets.Dataset, answers: datasets.Dataset) -> datasets.Dataset:
    """Put the columns of items and answers side by side; a column of both is the answers' own."""
    renamed: Mapping[str, str] = {}
    for name in answers.column_names:
        if name not in items.column_names:
            continue
        # A submission calls its answers as the solution calls the labels.
        is_answer = (
            make_heading_key(name) in LABEL_HEADINGS and PREDICTION not in answers.column_names
        )
        renamed = {**renamed, name: PREDICTION if is_answer else f"{name} (answers)"}
    answers = answers.rename_columns(dict(renamed))
    return datasets.concatenate_datasets([items, answers], axis=1)
