"""Items of stored predictions: those of the file itself, or of the dataset that it belongs to.

`make_items` makes items of the columns of a file, `match_ids` finds the item of each prediction in
a dataset.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rightreasons.core.options import parse_name_or_names, parse_names
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.sentences import format_value, pluralize
from rightreasons.core.validation import check_ids
from rightreasons.io.options import AuditOptions

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

    from rightreasons.io.scores.results import Predictions

Task = Literal["classification", "multiple_choice", "confidence"]

MAX_COMPARED_TEXTS = 1000
"""Maximum number of rows whose texts are compared with those of the items."""


# ---------------------------------------------------------------- items of a file


def get_ids(items: datasets.Dataset) -> LazyArrowColumn:
    """Return the ids of items."""
    from rightreasons.io.columns import get_arrow_column

    return LazyArrowColumn(get_arrow_column(items, "id"))


def get_class_names(predictions: Predictions) -> tuple[str, ...]:
    """Return the names of the classes; if the file has no names, their numbers "0", "1" and so on."""
    if predictions.label_names:
        return tuple(predictions.label_names)
    scores = predictions.predictions
    # A single column has the probability of class 1 of two classes.
    n_classes = 2
    if isinstance(scores, np.ndarray) and scores.ndim == 2:
        n_classes = scores.shape[1]
    return tuple(str(number) for number in range(n_classes))


def make_items(
    predictions: Predictions, columns: pa.Table, path: str, settings: AuditOptions
) -> tuple[Task, datasets.Dataset]:
    """Make items in the common schema of the columns of a file of predictions.

    Args:
        predictions: The predictions.
        columns: All columns of the file.
        path: Path of the file, for error messages.
        settings: Names of the columns of texts, choices and labels.

    Returns:
        The task, and the items with all further columns of the file.
    """
    from rightreasons.io.arrow_tables import make_dataset

    table = make_dataset(columns, path)
    if predictions.references is None:
        return "multiple_choice", make_choice_items(table, settings)
    task = _find_task(predictions, settings)
    items = _make_labeled_items(predictions, table, task, path, settings)
    return task, _append_columns(items, table)


def make_choice_items(table: datasets.Dataset, settings: AuditOptions) -> datasets.Dataset:
    """Make items with choices from a table; their labels are positions of choices.

    Args:
        table: All columns of the file.
        settings: Names of the columns of prompts, choices and labels.
    """
    from rightreasons.io.tables import open_multiple_choice

    return open_multiple_choice(
        table,
        prompt_column=parse_names(settings.prompt_column),
        choices_column=parse_name_or_names(settings.choices_column),
        label_column=settings.label_column,
        first_label=settings.first_label,
    )


def _find_task(predictions: Predictions, settings: AuditOptions) -> Task:
    """Return the task of labeled predictions."""
    if predictions.kind == "confidence":
        return "confidence"
    # Scores are a list, and not an array, only if items have different numbers of choices.
    is_ragged = isinstance(predictions.predictions, list)
    if is_ragged or settings.task == "multiple_choice":
        return "multiple_choice"
    return "classification"


def _make_labeled_items(
    predictions: Predictions,
    table: datasets.Dataset,
    task: Task,
    path: str,
    settings: AuditOptions,
) -> datasets.Dataset:
    """Make items of the ids, texts and labels of a file of predictions.

    Args:
        predictions: N predictions with labels.
        table: All columns of the file.
        task: Task of the predictions.
        path: Path of the file, for error messages.
        settings: Names of the columns of texts; None for a usual name, such as "sentence".

    Returns:
        Items with "id", "text", "label" and, for pairs of texts, "text_pair". If the file has no
        unique ids, rows are numbered, and a further column shows which rows repeat an item.
    """
    import datasets
    import pyarrow as pa

    from rightreasons.io.arrow_tables import make_dataset
    from rightreasons.io.columns import find_column
    from rightreasons.io.headings import PREDICTION_HEADINGS, TEXT_HEADINGS
    from rightreasons.io.row_codes import find_repeats

    text_name = find_column(table, settings.text_column, TEXT_HEADINGS, "text_column", path)
    ids = _find_unique_ids(predictions)
    columns: dict[str, Any] = {"id": _number_rows(len(table)) if ids is None else ids}
    columns |= _make_text_columns(table, text_name, path, settings)
    # Rows that repeat an item are not independent, which the intervals take into account.
    if ids is None:
        text_names = () if text_name is None else (text_name,)
        columns |= find_repeats(table, PREDICTION_HEADINGS["id"], text_names)
    features: dict[str, Any] = dict.fromkeys(columns, datasets.Value("string"))
    columns["label"] = np.asarray(predictions.references, dtype=np.int64)
    features["label"] = datasets.Value("int64")
    if task == "classification":
        class_names = get_class_names(predictions)
        features["label"] = datasets.ClassLabel(names=list(class_names))
    # An Arrow table is fast to make. `Dataset.from_dict` would encode each label separately.
    schema = datasets.Features(features).arrow_schema
    return make_dataset(pa.table(columns, schema=schema), path)


def _make_text_columns(
    table: datasets.Dataset, text_name: str | None, path: str, settings: AuditOptions
) -> dict[str, Any]:
    """Return the columns "text" and, if the settings name one, "text_pair".

    Args:
        table: All columns of the file.
        text_name: Name of the column of texts; None if there is none, which gives empty texts.
        path: Path of the file, for error messages.
        settings: Name of the column of second texts, None for single texts.
    """
    import pyarrow as pa

    from rightreasons.io.columns import check_column_name, get_arrow_column

    columns: dict[str, Any] = {"text": pa.repeat("", len(table))}
    if text_name is not None:
        columns["text"] = _to_texts(get_arrow_column(table, text_name))
    if settings.text_pair_column is not None:
        pair_name = check_column_name(table, settings.text_pair_column, "text_pair_column", path)
        columns["text_pair"] = _to_texts(get_arrow_column(table, pair_name))
    return columns


def _find_unique_ids(predictions: Predictions) -> pa.Array | pa.ChunkedArray | None:
    """Return the ids of the file; None if rows have none, or several rows have the same one."""
    if predictions.ids is None:
        return None
    ids = predictions.ids.arrow
    # A log may have several rows with the same id, one for each answer to the item.
    return ids if len(ids.unique()) == len(predictions) else None


def _number_rows(n_rows: int) -> pa.Array:
    """Return the numbers of the rows as strings, which replace ids."""
    import pyarrow as pa

    return pa.array(np.arange(n_rows)).cast("string")


def _to_texts(column: Any) -> Any:
    """Return a column in which each value is a string."""
    import pyarrow as pa

    if pa.types.is_string(column.type) and not column.null_count:
        return column
    return pa.array([str(value) for value in column.to_pylist()], pa.string())


def _append_columns(items: datasets.Dataset, table: datasets.Dataset) -> datasets.Dataset:
    """Return the items with the further columns of their file, except for prompts and choices.

    Args:
        items: N items, with columns such as "id" and "text".
        table: All columns of the file, with N rows.
    """
    import datasets

    # With these columns, the items would be read as multiple-choice items.
    excluded = {*items.column_names, "prompt", "choices"}
    further = [name for name in table.column_names if name not in excluded]
    if not further:
        return items
    return datasets.concatenate_datasets([items, table.select_columns(further)], axis=1)


# ---------------------------------------------------------------- items of a dataset


def match_ids(
    predictions: Predictions, items: datasets.Dataset, path: str, data_name: str
) -> LazyArrowColumn:
    """Return the id of the item of each prediction.

    Predictions whose ids do not occur in the dataset are matched with its items by their order.

    Args:
        predictions: The predictions.
        items: Items of the dataset.
        path: Path of the predictions, for error messages.
        data_name: Name of the dataset, for error messages.

    Raises:
        ValueError: If the ids do not match and the numbers of predictions and items differ, or if
            the predictions contain texts of other items.
    """
    import pyarrow.compute as pc

    ids = get_ids(items)
    own_ids = predictions.ids
    if own_ids is not None and pc.any(pc.is_in(own_ids.arrow, value_set=ids.arrow)).as_py():
        check_ids(own_ids, f"id of {path}")
        _check_texts(predictions, own_ids, items, path, data_name)
        return own_ids
    if len(predictions) != len(ids):
        raise ValueError(
            f"Expected one prediction per item of {data_name} in {path} ({len(ids):,} "
            "predictions), or ids of these items, but got "
            f"{pluralize(len(predictions), 'prediction')}."
        )
    _check_texts(predictions, ids, items, path, data_name)
    return ids


def _check_texts(
    predictions: Predictions, ids: Sequence[str], items: datasets.Dataset, path: str, data_name: str
) -> None:
    """Check by their texts that predictions are about the items that they are matched with.

    The text of an item must be part of the text or the prompt in the row of its prediction. Because
    a harness may change a text, this is required for half of the items only.

    Args:
        predictions: N predictions, with all columns of their file.
        ids: N ids of the items that they are matched with.
        items: Items of the dataset.
        path: Path of the predictions, for error messages.
        data_name: Name of the dataset, for error messages.

    Raises:
        ValueError: If the texts of more than half of the compared items are missing.
    """
    # Most files contain only ids and scores, and have nothing to compare.
    text_columns = _find_text_columns(predictions)
    if not text_columns:
        return
    item_column = "text" if "text" in items.column_names else "prompt"
    text_by_id = dict(zip(items["id"][:], items[item_column][:], strict=True))
    # A text of a single word is not compared: it is also part of many other texts.
    compared_rows = []
    for row, item_id in enumerate(ids):
        if " " in text_by_id.get(item_id, "").strip():
            compared_rows.append(row)
    # For large files, evenly spaced rows are enough.
    step = max(1, len(compared_rows) // MAX_COMPARED_TEXTS)
    compared_rows = compared_rows[::step]
    mismatches = []
    for row in compared_rows:
        text = _join_words(text_by_id[ids[row]])
        if not any(text in _join_words(column[row]) for column in text_columns):
            mismatches.append(row)
    if len(mismatches) <= len(compared_rows) / 2:
        return
    # The message quotes the longest text, which is most likely the prompt.
    row = mismatches[0]
    longest = max((str(column[row]) for column in text_columns), key=len)
    raise ValueError(
        f"Expected answers to the items of {data_name} in {path}, but row {row} has the text "
        f"{format_value(longest)}, while the item {ids[row]!r} has "
        f"{format_value(text_by_id[ids[row]])}."
    )


def _find_text_columns(predictions: Predictions) -> list[Any]:
    """Return the columns of predictions that contain the texts or prompts of their items.

    They are recognized by their names, such as "text", and have only strings.
    """
    from rightreasons.io.headings import TEXT_HEADINGS

    columns = []
    for name, column in predictions.columns.items():
        # Logs of lm-evaluation-harness store the fields of an item as doc.NAME.
        may_have_texts = name in (*TEXT_HEADINGS, "prompt") or name.startswith("doc.")
        if may_have_texts and all(isinstance(value, str) for value in column):
            columns.append(column)
    return columns


def _join_words(text: str) -> str:
    """Return a text with single spaces."""
    return " ".join(text.split())
