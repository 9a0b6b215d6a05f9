"""Stored predictions in the place of a model: the items and the scores of an audit, from files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, take_rows
from rightreasons.core.errors import OptionError, attach_options
from rightreasons.core.options import parse_name_or_names
from rightreasons.core.options import parse_names as listed_names
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.scores import Scores
from rightreasons.core.sentences import format_value, pluralize
from rightreasons.core.validation import check_ids, check_logits, check_ragged, check_scores
from rightreasons.io.options import AuditOptions, StoredOptions

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

    from rightreasons.audited.splits import AuditSplit
    from rightreasons.io.predictions import Predictions

Task = Literal["classification", "multiple_choice", "confidence"]

MOST_TEXTS = 1000
"""Maximum number of rows whose texts are compared with those of the items."""

ONLY_SPLIT = "data"
"""The name of the items of a file that stands alone."""


@dataclasses.dataclass(frozen=True, eq=False)
class StoredModel:
    """Stored predictions of the items of a split, in the place of the model that made them.

    Attributes:
        name: The file of predictions.
        task: "classification", "multiple_choice", or "confidence" where there is only the confidence in given answers.
        label_names: K names of the classes; None unless the task is classification.
        ids: The ids of the items.
        logits: As in `Scores`.
        probabilities: As in `Scores`.
        fingerprint: A digest of their columns.
        used: In words, which columns were taken for what.
        answers_once: Whether there is one answer per item and no confidence, as in a log of generated answers.
        label_match: How the labels in the file met its columns, in words; "" where they are those of a data set.
        unscored: Whether the items have choices, of which the file has no scores.
        logged: The names of the model and of its task, "" for what the file does not tell.
    """

    name: str
    task: Task
    label_names: tuple[str, ...] | None
    ids: LazyArrowColumn
    logits: NDArray[np.float64] | Ragged
    probabilities: NDArray[np.float64] | Ragged | None
    fingerprint: str
    used: str
    answers_once: bool = False
    label_match: str = ""
    unscored: bool = False
    logged: tuple[str, str] = ("", "")

    def scores(self, split: AuditSplit) -> Scores:
        """Return the stored scores of the items of a split, found by their ids."""
        logits, probabilities = self.logits, self.probabilities
        if split.ids != self.ids:
            import pyarrow.compute as pc

            found = pc.index_in(split.ids.arrow, value_set=self.ids.arrow)
            if found.null_count:
                missing = split.ids[pc.index(pc.is_null(found), True).as_py()]
                raise ValueError(
                    f"Expected a prediction for each item of {split.name} in {self.name}, but {found.null_count:,} of "
                    f"{len(split):,} have none, such as the id {missing!r}."
                )
            rows = np.asarray(found.to_numpy(), dtype=np.intp)
            logits = take_rows(logits, rows)
            probabilities = None if probabilities is None else take_rows(probabilities, rows)
        return Scores(
            ids=split.ids,
            logits=logits,
            labels=split.labels,
            label_names=self.label_names,
            probabilities=probabilities,
            kind="confidence" if self.task == "confidence" else "top_label",
        )


def open_stored(
    stored: StoredOptions,
    settings: AuditOptions,
    dataset: Any = None,
    where: str = "",
    loaded: Any = None,
) -> tuple[StoredModel, str, datasets.Dataset]:
    """Open a file of predictions, and the items that they are about.

    Args:
        stored: The file and its columns.
        settings: The columns of texts, choices and labels, and the split of the data set.
        dataset: The data set that the items come from; None where the file itself has what is asked about them.
        where: What the data set is called, for errors.
        loaded: The predictions where they are no file: a table in memory, which `stored.predictions` is the name of.

    Returns:
        The predictions, the name of their split, and its items.

    Raises:
        FileNotFoundError: If the file is not there.
        ValueError: If a column is missing, or predictions and items do not go together.
    """
    from rightreasons.io.logs import logged
    from rightreasons.io.reading import digest_table, table_of
    from rightreasons.io.tables import choose_split, open_task_items

    path = str(stored.predictions)
    unread = ("revision", *(("split", "config", "data_dir") if dataset is None else ()))
    odd = next((name for name in unread if getattr(settings, name) is not None), None)
    if odd is not None:
        alone = " alone" if dataset is None else ""
        raise OptionError(
            f"Expected no `{odd}` for {path}{alone}, but got {getattr(settings, odd)!r}.",
            option=odd,
        )
    table = path if loaded is None else loaded
    read = _read(table, stored, settings, with_labels=dataset is None)
    columns = table_of(read.columns, path)
    if dataset is None:
        task, items = _own_items(read, columns, path, settings)
        name, ids = ONLY_SPLIT, _ids(items)
    elif read.kind == "confidence":
        raise ValueError(
            f"Expected class scores in {path} to go with {where}, but it has the confidence in given answers, which is "
            "audited alone."
        )
    else:
        chosen_task = settings.task or ("classification" if read.label_names else None)
        if chosen_task is None and isinstance(read.predictions, list):
            chosen_task = "multiple_choice"
        opened, splits = open_task_items(dataset, settings, chosen_task)
        task = "classification" if opened == "classification" else "multiple_choice"
        name = choose_split(splits, settings.split, where=where)
        items = splits[name]
        ids = _matched_ids(read, items, path, where)
    names = None if task != "classification" else read.label_names or _numbered(read)
    logits, probabilities = _scores(read, path)
    model = StoredModel(
        name=path,
        task=task,
        label_names=names,
        ids=ids,
        logits=logits,
        probabilities=probabilities,
        fingerprint=digest_table(columns),
        used=read.used + (f"; labels matched {read.label_match}" if read.label_match else ""),
        answers_once=read.answers_once,
        label_match=read.match_in_words if dataset is None else "",
        unscored=task == "confidence" and "choices" in read.columns,
        logged=logged(path, read.columns),
    )
    return model, name, items


# ------------------------------------------------------------------------------------------------------------- private


def _ids(items: datasets.Dataset) -> LazyArrowColumn:
    from rightreasons.io.columns import arrow_of

    return LazyArrowColumn(arrow_of(items, "id"))


def _read(
    table: Any, stored: StoredOptions, settings: AuditOptions, *, with_labels: bool
) -> Predictions:
    from rightreasons.io.columns import read_columns
    from rightreasons.io.predictions import find_predictions

    labels = {"label_column": settings.label_column, "first_label": settings.first_label}
    options = stored.of_predictions(**labels, label_names=listed_names(settings.label_names))
    columns, options, where = read_columns(table, options)
    options = options if with_labels else options.replace(label_names=None)
    alone, with_labels = (
        with_labels,
        with_labels and not _has_choices(columns, settings),
    )  # whose labels go with them
    return find_predictions(
        columns, where, with_labels=with_labels, answers_alone=alone, options=options
    )


def _has_choices(columns: Mapping[str, Any], settings: AuditOptions) -> bool:
    """Tell whether a file has the choices of its items."""
    from rightreasons.io.tables import known_form

    if settings.choices_column is not None or settings.prompt_column is not None:
        return True
    known = "choices" in columns or known_form(columns, settings.label_column) is not None
    return known and settings.task != "classification"


def _own_items(
    read: Predictions, columns_of_file: pa.Table, path: str, settings: AuditOptions
) -> tuple[Task, datasets.Dataset]:
    """Make items in the common schema of the columns of a file of predictions."""
    import datasets
    import pyarrow as pa

    from rightreasons.io.columns import TEXT_COLUMNS, arrow_of, find_column, named_column
    from rightreasons.io.reading import dataset_of
    from rightreasons.io.tables import open_multiple_choice

    table = dataset_of(columns_of_file, path)
    if read.references is None:
        items = open_multiple_choice(
            table,
            prompt_column=listed_names(settings.prompt_column),
            choices_column=parse_name_or_names(settings.choices_column),
            label_column=settings.label_column,
            first_label=settings.first_label,
        )
        return "multiple_choice", items
    text = find_column(table, settings.text_column, TEXT_COLUMNS, "text_column", path)
    if read.ids is not None and len(read.ids.arrow.unique()) == len(read):
        ids = read.ids.arrow
    else:
        ids = pa.array(np.arange(len(read))).cast("string")
    columns: dict[str, Any] = {
        "id": ids,
        "text": pa.repeat("", len(read)) if text is None else _as_texts(arrow_of(table, text)),
    }
    if settings.text_pair_column is not None:
        pair = named_column(table, settings.text_pair_column, "text_pair_column", path)
        columns["text_pair"] = _as_texts(arrow_of(table, pair))
    task: Task = "confidence" if read.kind == "confidence" else "classification"
    if task == "classification" and (
        isinstance(read.predictions, list) or settings.task == "multiple_choice"
    ):
        task = "multiple_choice"
    label: Any = datasets.Value("int64")
    if task == "classification":
        label = datasets.ClassLabel(names=list(read.label_names or _numbered(read)))
    kinds = datasets.Features({**dict.fromkeys(columns, datasets.Value("string")), "label": label})
    # `from_dict` and `add_column` would encode or digest each label separately.
    labeled = pa.table(
        {**columns, "label": np.asarray(read.references, dtype=np.int64)},
        schema=kinds.arrow_schema,
    )
    items = dataset_of(labeled, path)
    further = [
        name
        for name in table.column_names
        if name not in (*items.column_names, "prompt", "choices")
    ]
    return task, datasets.concatenate_datasets(
        [items, table.select_columns(further)], axis=1
    ) if further else items


def _as_texts(column: Any) -> Any:
    """Return a column of texts; what is none becomes one."""
    import pyarrow as pa

    are_texts = pa.types.is_string(column.type) and not column.null_count
    return column if are_texts else pa.array(list(map(str, column.to_pylist())), pa.string())


def _matched_ids(
    read: Predictions, items: datasets.Dataset, path: str, where: str
) -> LazyArrowColumn:
    """Return the id of each prediction: its own where the items have it, or else that of the item in its place."""
    import pyarrow.compute as pc

    ids, names = _ids(items), read.ids
    if names is not None and pc.any(pc.is_in(names.arrow, value_set=ids.arrow)).as_py():
        check_ids(names, f"id of {path}")
        _check_texts(read, names, items, path, where)
        return names
    if len(read) != len(ids):
        raise ValueError(
            f"Expected one prediction per item of {where} in {path}, {len(ids):,}, or ids of these items, but got "
            f"{pluralize(len(read), 'prediction')}."
        )
    _check_texts(read, ids, items, path, where)
    return ids


def _check_texts(
    read: Predictions, ids: Sequence[str], items: datasets.Dataset, path: str, where: str
) -> None:
    """Check that predictions which tell their texts are about the items of their ids.

    A prompt holds more than the text, and a harness may prepare a text, so that it is enough if half of them agree.
    """
    from rightreasons.io.columns import TEXT_COLUMNS

    texts = dict(
        zip(
            items["id"][:],
            items["text" if "text" in items.column_names else "prompt"][:],
            strict=True,
        )
    )
    named = [
        name
        for name in read.columns
        if name in (*TEXT_COLUMNS, "prompt") or name.startswith("doc.")
    ]
    columns = [
        read.columns[name]
        for name in named
        if all(isinstance(value, str) for value in read.columns[name])
    ]
    rows = [row for row, name in enumerate(ids) if " " in texts.get(name, "").strip()]
    rows = rows[:: max(1, len(rows) // MOST_TEXTS)] if columns else []
    strange = [
        row
        for row in rows
        if not any(
            _single_spaced(texts[ids[row]]) in _single_spaced(column[row]) for column in columns
        )
    ]
    if len(strange) > len(rows) / 2:
        row = strange[0]
        text = max((str(column[row]) for column in columns), key=len)
        raise ValueError(
            f"Expected answers to the items of {where} in {path}, but row {row} is about {format_value(text)}, where the "
            f"item {ids[row]!r} is {format_value(texts[ids[row]])}."
        )


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def _numbered(read: Predictions) -> tuple[str, ...]:
    table = read.predictions
    n_classes = table.shape[1] if isinstance(table, np.ndarray) and table.ndim == 2 else 2
    return tuple(str(number) for number in range(n_classes))


@attach_options("score_columns")
def _scores(
    read: Predictions, path: str
) -> tuple[NDArray[np.float64] | Ragged, NDArray[np.float64] | Ragged | None]:
    """Bring scores of any kind to logits; also returns the exact probabilities, where they are given."""
    scores = read.scores or "probabilities"
    if read.kind == "confidence" and scores == "logits":
        raise ValueError(
            f"Expected probabilities or log_probabilities as the confidence in {path}, but got logits."
        )
    logits = check_logits(read.predictions, scores=scores)
    if scores == "logits":
        return logits, None
    if isinstance(logits, Ragged):
        return logits, check_ragged(read.predictions, scores=scores)
    table = check_scores(read.predictions, scores=scores)
    return logits, table[:, 1].copy() if read.kind == "confidence" else table
