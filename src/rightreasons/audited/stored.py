"""Stored predictions instead of a model.

`open_stored` reads a file of predictions, and returns a `StoredModel` with the items that the
predictions belong to. `rightreasons.audited.stored_items` makes or matches these items, and
`rightreasons.audited.choice_logs` opens logs of generated answers.
"""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.choice_logs import is_choice_log, open_choice_log
from rightreasons.audited.judged_logs import judge_unread
from rightreasons.audited.logged_arms import LoggedArms
from rightreasons.audited.stored_items import (
    Task,
    get_class_names,
    get_ids,
    make_items,
    match_ids,
)
from rightreasons.audited.stored_model import StoredModel
from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import OptionError, attach_options
from rightreasons.core.options import parse_names
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.validation import check_logits, check_ragged, check_scores
from rightreasons.io.options import AuditOptions, StoredOptions

if TYPE_CHECKING:
    import datasets
    import pyarrow as pa

    from rightreasons.io.columns import Columns
    from rightreasons.io.options import PredictionOptions
    from rightreasons.io.scores.results import Predictions

FILE_SPLIT = "data"
"""Name of the split of a file of predictions that contains its items."""


@dataclasses.dataclass(frozen=True)
class _Items:
    """The items that stored predictions belong to.

    Attributes:
        task: Task of the predictions.
        split: Name of the split of the items.
        rows: The items in the common schema.
        ids: (N,) id of the item of each prediction.
    """

    task: Task
    split: str
    rows: datasets.Dataset
    ids: LazyArrowColumn


def open_stored(
    stored: StoredOptions,
    settings: AuditOptions,
    dataset: Any = None,
    data_name: str = "",
    table: Any = None,
) -> tuple[StoredModel, str, datasets.Dataset]:
    """Open a file of predictions, and the items that they belong to.

    Args:
        stored: Path of the file and names of its columns.
        settings: Names of the columns of texts, choices and labels, and the split of the dataset.
        dataset: Dataset with the items; None if the file of predictions contains them.
        data_name: Name of the dataset, for error messages.
        table: Predictions in memory, whose name is `stored.predictions`; None to read the file.

    Returns:
        The predictions, the name of their split, and its items.

    Raises:
        FileNotFoundError: If the file does not exist.
        ValueError: If a column is missing, or predictions and items do not belong together.
    """
    from rightreasons.io.arrow_tables import make_table
    from rightreasons.io.logs import ARMS, ARMS_COMMAND, UNREAD_REPLY

    path = str(stored.predictions)
    has_items = dataset is None
    _check_unused_options(settings, path, has_items=has_items)
    # Messages name a table in memory by `path`, too.
    source = path if table is None else table
    all_columns, options, file_name = _read_columns(source, stored, settings)
    # These columns of a log are not part of the predictions: they have the answers to changed
    # versions of the items (arms), and the texts of unread answers.
    arm_records = all_columns.get(ARMS)
    arm_commands = all_columns.get(ARMS_COMMAND)
    unread_replies = all_columns.get(UNREAD_REPLY)
    columns = {}
    for name in all_columns:
        if name not in (ARMS, ARMS_COMMAND, UNREAD_REPLY):
            columns[name] = all_columns[name]

    # A log of generated answers to items with choices has no scores.
    if has_items and is_choice_log(columns, options):
        read_answers, judged = judge_unread(columns, unread_replies, stored, settings)
        model, rows = open_choice_log(read_answers, path, settings, judged)
        return _add_arms(model, arm_records, arm_commands), FILE_SPLIT, rows
    if stored.judge is not None:
        raise OptionError(
            f"Expected a log of answers to items with choices for `judge`, but {path} has no "
            "choices to read answers from.",
            option="judge",
        )
    predictions = _find_predictions(columns, options, file_name, settings, with_labels=has_items)
    arrow_table = make_table(predictions.columns, path)
    if has_items:
        task, rows = make_items(predictions, arrow_table, path, settings)
        items = _Items(task, FILE_SPLIT, rows, get_ids(rows))
    else:
        items = _open_items(predictions, dataset, settings, path, data_name)
    model = _make_model(predictions, items, arrow_table, path, has_items=has_items)
    return _add_arms(model, arm_records, arm_commands), items.split, items.rows


def _make_model(
    predictions: Predictions, items: _Items, table: pa.Table, path: str, *, has_items: bool
) -> StoredModel:
    """Return stored predictions, which are scores or confidences, in the form of a model.

    Args:
        predictions: The predictions.
        items: The items that they belong to.
        table: All columns of the file, whose digest is the fingerprint of the model.
        path: Path of the file.
        has_items: Whether the items are from the file itself, and not from a dataset.
    """
    from rightreasons.io.arrow_tables import digest_table
    from rightreasons.io.logs import find_model_and_task

    logits, probabilities = _parse_scores(predictions, path)
    # Only a classification has names of classes.
    label_names = None
    if items.task == "classification":
        label_names = get_class_names(predictions)
    used = predictions.used
    if predictions.label_match:
        used += f"; labels matched {predictions.label_match}"
    return StoredModel(
        name=path,
        task=items.task,
        label_names=label_names,
        ids=items.ids,
        logits=logits,
        probabilities=probabilities,
        fingerprint=digest_table(table),
        used=used,
        answers_once=predictions.answers_once,
        label_match=predictions.match_in_words if has_items else "",
        unscored=items.task == "confidence" and "choices" in predictions.columns,
        logged=find_model_and_task(path, predictions.columns),
        columns_used=tuple(itertools.chain.from_iterable(predictions.taken.values())),
        order_doubt=predictions.doubt,
    )


def _add_arms(model: StoredModel, records: Any, commands: Any) -> StoredModel:
    """Return stored predictions with the answers to changed versions of their items.

    Args:
        model: The stored predictions.
        records: Answers to each item as JSON; None if the file has none.
        commands: Command by which a harness asks for such answers, the same in each row. None if the
            harness has no such command.
    """
    arms = None
    if records is not None:
        arms = LoggedArms.read(list(model.ids), records)
    command = ""
    if commands is not None:
        command = str(commands[0])
    elif model.task == "multiple_choice":
        # The items can be exported as a task of another harness, which asks for the answers.
        command = write_export_command(model.name)
    return dataclasses.replace(model, arms=arms, arms_command=command)


def write_export_command(path: str) -> str:
    """Return the command that writes the items of a file, and their changed versions, as a task.

    Example:
        >>> write_export_command("details/m/2026/details_piqa|0_2026-11-27T23-38-56.16.parquet")
        "rightreasons data export 'details/m/2026/details_piqa|0_2026-11-27T23-38-56.16.parquet' --to lighteval"
        >>> write_export_command("samples.jsonl")
        'rightreasons data export samples.jsonl --to lm-eval'
    """
    from rightreasons.io.logs import SAMPLE_FILES

    file = Path(path)
    # Only lighteval writes its logs ("details") as tables.
    is_lighteval = file.suffix == ".parquet" and SAMPLE_FILES.fullmatch(file.name)
    harness = "lighteval" if is_lighteval else "lm-eval"
    return shlex.join(["rightreasons", "data", "export", path, "--to", harness])


def _check_unused_options(settings: AuditOptions, path: str, *, has_items: bool) -> None:
    """Raise an OptionError if an option is set that has no effect on stored predictions.

    Args:
        settings: Options of the audit.
        path: Path of the predictions, for the message.
        has_items: Whether the file contains its items, so that there is no dataset.
    """
    unused = ["revision"]
    remark = ""
    if has_items:
        # These options select a part of a dataset.
        unused += ["split", "config", "data_dir"]
        remark = " alone"
    for name in unused:
        value = getattr(settings, name)
        if value is not None:
            raise OptionError(
                f"Expected no `{name}` for {path}{remark}, but got {value!r}.", option=name
            )


def _read_columns(
    source: Any, stored: StoredOptions, settings: AuditOptions
) -> tuple[Columns, PredictionOptions, str]:
    """Read the columns of a file or a table of predictions.

    Args:
        source: The file or the table.
        stored: Names of the columns of predictions.
        settings: Name of the column of labels, and names of the labels.

    Returns:
        The columns, the options by which predictions are found among them, and the name of the file.
    """
    from rightreasons.io.opened_columns import read_columns

    options = stored.of_predictions(
        label_column=settings.label_column,
        first_label=settings.first_label,
        label_names=parse_names(settings.label_names),
    )
    return read_columns(source, options)


def _find_predictions(
    columns: Columns,
    options: PredictionOptions,
    file_name: str,
    settings: AuditOptions,
    *,
    with_labels: bool,
) -> Predictions:
    """Find predictions among the columns of a file.

    Args:
        columns: Name -> column.
        options: Names of the columns of predictions, where the user named them.
        file_name: Name of the file, for error messages.
        settings: Names of the columns of choices and labels.
        with_labels: Whether the labels are in the file, and not in a dataset.
    """
    from rightreasons.io.predictions import find_predictions

    if not with_labels:
        # These are names of the labels of the dataset, which is read elsewhere.
        options = options.replace(label_names=None)
    return find_predictions(
        columns,
        file_name,
        # The labels of items with choices are read together with the choices.
        with_labels=with_labels and not _has_choices(columns, settings),
        answers_alone=with_labels,
        options=options,
    )


def _has_choices(columns: Mapping[str, Any], settings: AuditOptions) -> bool:
    """Return whether a file contains the choices of its items.

    Args:
        columns: Name -> column of the file.
        settings: Options of the audit, which may name the task or the columns.
    """
    from rightreasons.io.choices.forms import find_known_form

    # A user who names columns of choices or prompts has items with choices.
    if settings.choices_column is not None or settings.prompt_column is not None:
        return True
    if settings.task == "classification":
        return False
    # The columns of well-known datasets have other names than "choices".
    return "choices" in columns or find_known_form(columns, settings.label_column) is not None


def _open_items(
    predictions: Predictions, dataset: Any, settings: AuditOptions, path: str, data_name: str
) -> _Items:
    """Open the dataset of predictions, and match its items with them.

    Args:
        predictions: The predictions, which may contain ids or texts of the items.
        dataset: Anything that `open_splits` opens.
        settings: Options of the audit, such as the split and the task.
        path: Path of the predictions, for error messages.
        data_name: Name of the dataset, for error messages.
    """
    from rightreasons.io.samples import choose_split
    from rightreasons.io.tables import open_task_items

    if predictions.kind == "confidence":
        raise ValueError(
            f"Expected {path} to contain class scores for {data_name}, but it contains only the "
            "confidence in each answer. Audit the confidence without a data set."
        )
    task = settings.task
    if task is None and predictions.label_names:
        task = "classification"
    # Scores are a list, and not an array, only if items have different numbers of choices.
    if task is None and isinstance(predictions.predictions, list):
        task = "multiple_choice"
    opened_task, splits = open_task_items(dataset, settings, task)
    split = choose_split(splits, settings.split, source_name=data_name)
    return _Items(
        task="classification" if opened_task == "classification" else "multiple_choice",
        split=split,
        rows=splits[split],
        ids=match_ids(predictions, splits[split], path, data_name),
    )


@attach_options("score_columns")
def _parse_scores(
    predictions: Predictions, path: str
) -> tuple[NDArray[np.float64] | Ragged, NDArray[np.float64] | Ragged | None]:
    """Return the logits of stored scores, and their probabilities.

    Args:
        predictions: The scores: probabilities, log-probabilities or logits of classes or choices, or
            the confidence in each answer.
        path: Path of the predictions, for error messages.

    Returns:
        Logits and probabilities, as arrays or as `Ragged`. The probabilities are None if the file
        contains logits.
    """
    scores = predictions.scores or "probabilities"
    if predictions.kind == "confidence" and scores == "logits":
        raise ValueError(
            f"Expected probabilities or log_probabilities as the confidence in {path}, but got "
            "logits."
        )
    logits = check_logits(predictions.predictions, scores=scores)
    # Given probabilities are returned exactly: computed from the logits, they would be rounded.
    if scores == "logits":
        return logits, None
    if isinstance(logits, Ragged):
        return logits, check_ragged(predictions.predictions, scores=scores)
    probabilities = check_scores(predictions.predictions, scores=scores)
    if predictions.kind == "confidence":
        # `check_scores` returns P(incorrect) and P(correct); the latter is the confidence.
        return logits, probabilities[:, 1].copy()
    return logits, probabilities
