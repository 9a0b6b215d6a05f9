"""Opening of what an audit is about: `open_context` opens the model and the audited splits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightreasons.audited.context import AuditContext
from rightreasons.audited.opening import AskingOptions, open_inputs
from rightreasons.audited.splits import Role, choose_splits, take_splits
from rightreasons.audited.stored import open_stored
from rightreasons.audited.stored_model import StoredModel
from rightreasons.audited.task_data import add_training_split
from rightreasons.core.store import WORK
from rightreasons.io.row_sources import add_row_options
from rightreasons.report.answering import judge_scores
from rightreasons.report.reproduction import list_arguments, make_audit_command
from rightreasons.report.request import AuditRequest

if TYPE_CHECKING:
    import datasets

    from rightreasons.models.protocol import Scorer


def open_context(
    request: AuditRequest, folder: Path, data_name: str, *, progress: bool
) -> AuditContext:
    """Open the model and the data of an audit, and select the splits to audit.

    Args:
        request: The inputs and options.
        folder: The report folder.
        data_name: Name of the data in the report.
        progress: Whether to show progress bars.

    Raises:
        ValueError: If the model or the data cannot be used, or do not belong together.
    """
    source: Scorer | StoredModel
    if request.predictions is None:
        source, data, split_names = _open_model(request, folder, data_name)
    else:
        source, data, split_names = _open_predictions(request, data_name)
    # A scorer whose classes have names of their own is matched with the labels below.
    label_match = getattr(source, "label_match", "")

    roles: dict[str, Role] = dict.fromkeys(split_names, "comparison")
    roles[split_names[0]] = "primary"
    splits = take_splits(data, roles, request.general, source.label_names, data_name, label_match)
    # A training split that is audited itself is no source of examples.
    train = None
    if "train" not in split_names:
        train = data.get("train")
    arguments = list_arguments(get_sources(request, source), request.reproducing_options)
    return AuditContext(
        source=source,
        dataset_name=data_name,
        primary=splits[0],
        comparisons=tuple(splits[1:]),
        train=train,
        out=folder,
        settings=request.general,
        progress=progress,
        command=make_audit_command(arguments),
        previous={} if request.previous is None else request.previous.tested,
        judge_scores=judge_scores,
    )


def _open_model(
    request: AuditRequest, folder: Path, data_name: str
) -> tuple[Scorer, Mapping[str, datasets.Dataset], list[str]]:
    """Return the model, the splits of the data, and the names of those to audit."""
    data, scorer = open_inputs(
        request.model,
        add_row_options(request.dataset, request.general),
        request.get_opening_options(),
        # What earlier runs of this report spent counts for a bound of the price.
        AskingOptions(request.prompt, request.server, folder / WORK),
        require_labels=any(section.needs_labels for section in request.sections),
        scores=request.stored.scores,
    )
    candidates = dict(data)
    # Training texts that are stored separately are not a split to audit.
    if request.train is not None:
        candidates.pop("train", None)
    return scorer, data, choose_splits(candidates, request.general.split, data_name)


def _open_predictions(
    request: AuditRequest, data_name: str
) -> tuple[StoredModel, Mapping[str, datasets.Dataset], list[str]]:
    """Return the stored predictions, their items with the training texts, and their split."""
    table = request.predictions
    # A path without further options is that of the options, which the reader knows.
    if isinstance(table, str) and request.general.where is None:
        table = None
    source, split, items = open_stored(
        request.get_stored_options(),
        request.general,
        request.dataset,
        data_name,
        add_row_options(table, request.general),
    )
    data = add_training_split({split: items}, source.task, request.get_opening_options())
    return source, data, [split]


def get_sources(request: AuditRequest, source: Scorer | StoredModel) -> tuple[Any, Any]:
    """Return the model and the data for `list_arguments`."""
    # No file can name a table in memory; the opened model is an object, which says so.
    if request.has_table:
        return source, request.dataset
    return request.model, request.dataset
