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
from rightreasons.io.descriptions import add_row_options
from rightreasons.io.samples import sort_by_id
from rightreasons.report.answering import judge_scores
from rightreasons.report.reproduction import list_arguments, make_audit_command
from rightreasons.report.request import AuditRequest

if TYPE_CHECKING:
    import datasets

    from rightreasons.models.protocol import Scorer


def open_context(
    request: AuditRequest,
    folder: Path,
    data_name: str,
    *,
    progress: bool,
    repair_command: str = "",
) -> AuditContext:
    """Open the model and the data of an audit, and select the splits to audit.

    Args:
        request: The inputs and options.
        folder: The report folder.
        data_name: Name of the data in the report.
        progress: Whether to show progress bars.
        repair_command: Command that repairs the model; "" for the command `repair`.

    Returns:
        The audit, not yet scored. Its primary split is the first selected one, and the others are
        compared with it.

    Raises:
        ValueError: If the model or the data cannot be used, or do not belong together.
    """
    source: Scorer | StoredModel
    if request.predictions is None:
        source, data, split_names = _open_model(request, folder, data_name)
    else:
        source, data, split_names = _open_predictions(request, data_name)

    roles: dict[str, Role] = dict.fromkeys(split_names, "comparison")
    roles[split_names[0]] = "primary"
    # A scorer may declare how its classes are matched with the labels of the data.
    label_match = getattr(source, "label_match", "")
    splits = take_splits(data, roles, request.general, source.label_names, data_name, label_match)
    # Questions take words from the training texts, which must not be the audited items themselves.
    train = None
    if "train" in data and "train" not in split_names:
        train = sort_by_id(data["train"])
    previous: Mapping[str, Mapping[str, Any]] = {}
    if request.previous is not None:
        previous = request.previous.tested
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
        repair_command=repair_command,
        previous=previous,
        judge_scores=judge_scores,
    )


def _open_model(
    request: AuditRequest, folder: Path, data_name: str
) -> tuple[Scorer, Mapping[str, datasets.Dataset], list[str]]:
    """Open the model of a request and its data.

    Args:
        request: The inputs and options, without stored predictions.
        folder: The report folder.
        data_name: Name of the data in messages.

    Returns:
        The model; the splits by name, with the training texts as "train" if there are any; and the
        names of the splits to audit, the primary one first.
    """
    needs_labels = any(section.needs_labels for section in request.sections)
    # The folder records the costs of earlier runs of this report, which count for a price limit.
    asking = AskingOptions(request.prompt, request.server, folder / WORK)
    data, scorer = open_inputs(
        request.model,
        add_row_options(request.dataset, request.general),
        request.get_opening_options(),
        asking,
        require_labels=needs_labels,
        scores=request.stored.scores,
    )
    candidates = dict(data)
    # Training texts from another source are not a split to audit.
    if request.train is not None:
        candidates.pop("train", None)
    split_names = choose_splits(candidates, request.general.split, data_name)
    return scorer, data, split_names


def _open_predictions(
    request: AuditRequest, data_name: str
) -> tuple[StoredModel, Mapping[str, datasets.Dataset], list[str]]:
    """Open the stored predictions of a request and their items.

    Args:
        request: The inputs and options, with stored predictions.
        data_name: Name of the data in messages.

    Returns:
        The predictions as a model; the splits by name: the items, and the training texts if there
        are any; and the name of the only split to audit.
    """
    table = request.predictions
    # The options contain a path, too, from which `open_stored` reads all rows. It only needs the
    # source itself to select rows by a condition (`where`).
    if isinstance(table, str) and request.general.where is None:
        table = None
    source, split_name, items = open_stored(
        request.get_stored_options(),
        request.general,
        request.dataset,
        data_name,
        add_row_options(table, request.general),
    )
    data = add_training_split({split_name: items}, source.task, request.get_opening_options())
    return source, data, [split_name]


def get_sources(request: AuditRequest, source: Scorer | StoredModel) -> tuple[Any, Any]:
    """Return the model and the data of a request, from which `list_arguments` makes its command.

    Args:
        request: The inputs and options.
        source: The opened model. It is returned instead of its path if a command cannot repeat the
            audit.
    """
    # A command cannot name a table in memory. `list_arguments` makes no command for an object.
    if request.has_table:
        return source, request.dataset
    return request.model, request.dataset
