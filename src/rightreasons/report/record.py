"""The content of audit.json, the record of an audit."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import rightreasons
from rightreasons.audited.context import AuditContext
from rightreasons.audited.predictions_file import get_predictions_path
from rightreasons.audited.splits import AuditSplit
from rightreasons.core.options import Options
from rightreasons.core.store import get_installed_version
from rightreasons.report.answers import AnswerFigures
from rightreasons.report.outcomes import Outcome
from rightreasons.report.schema import SCHEMA_VERSION
from rightreasons.report.unread import list_failed_requests

_PACKAGES = ("rightreasons", "torch", "transformers", "datasets", "numpy", "scipy")
"""Packages whose versions are recorded."""


def make_record(
    context: AuditContext,
    outcomes: Sequence[Outcome],
    settings: Mapping[str, Any],
    options: Mapping[str, Options],
    subject: str,
    answers: AnswerFigures | None,
) -> dict[str, Any]:
    """Return the content of audit.json, without the digests of the other files of the report.

    Args:
        context: The audit, scored.
        outcomes: The questions with their answers.
        settings: Options of the audit as a whole, by name.
        options: Question -> its options.
        subject: Digest of model, items and settings, from `digest_subject`.
        answers: The accuracy of the answers, from `measure_answers`; None if it is not known.
    """
    now = datetime.datetime.now().astimezone()
    return {
        "schema_version": SCHEMA_VERSION,
        "rightreasons": rightreasons.__version__,
        "created": now.isoformat(timespec="seconds"),
        "model": _describe_model(context),
        "dataset": _describe_data(context),
        "settings": {
            **settings,
            "questions": list(options),
            "options": {question: values.to_dict() for question, values in options.items()},
        },
        "environment": _describe_environment(),
        "subject": subject,
        "answers": None if answers is None else answers.to_dict(),
        "questions": [outcome.to_dict() for outcome in outcomes],
    }


def _describe_model(context: AuditContext) -> dict[str, Any]:
    """Return the description of the model in audit.json.

    Args:
        context: The audit, scored, with the model or stored predictions as its `source`.

    Returns:
        The fields of "model". "path" is None, and set by the caller for a model with a folder or a
        hub id.
    """
    logged = None
    if context.stored is not None:
        logged = list(context.stored.logged)
    return {
        "name": context.source.name,
        "task": context.task,
        "path": None,
        "logged": logged,
        "label_names": list(context.label_names or ()),
        "has_confidence": not context.answers_once,
        "fingerprint": context.model_fingerprint,
        "n_parameters": getattr(context.source, "n_parameters", None),
        "weights": _describe_weights(context),
        "batching": _describe_batching(context),
        "prompt": _describe_prompt(context),
        "server": context.server,
    }


def _describe_weights(context: AuditContext) -> str | None:
    """Return how the weights of a local model are stored, such as "quantized (bitsandbytes)".

    Args:
        context: The audit.

    Returns:
        The description; None if nothing is known, as for a model on a server.
    """
    scorer: Any = context.source
    # The scorer of a language model is inside the engine that answers its prompts.
    if context.prompted is not None:
        scorer = getattr(context.prompted.engine, "scorer", None)
    # An estimator or a function has no stored weights.
    if not hasattr(scorer, "describe"):
        return None
    return scorer.describe().get("weights") or None


def _describe_batching(context: AuditContext) -> str | None:
    """Return a description of how the items were batched; None if that is unknown."""
    # A server makes its own batches.
    if context.server is not None or not context.has_scores(context.primary):
        return None
    batching = context.scores().way
    prompted = context.prompted
    # For generated answers, a note on unreadable ones follows after "; ". Other fields count these.
    if prompted is not None and prompted.rendering.scoring == "generated":
        batching, _, _ = batching.partition("; ")
    return batching or None


def _describe_prompt(context: AuditContext) -> dict[str, Any] | None:
    """Return the description of the prompt in audit.json, with the failed requests of questions.

    None if no request was made with this prompt: the model is not prompted, or no question reads
    its scores.
    """
    if context.prompted is None or not context.answers:
        return None
    failed = []
    for reason, n_failed, example in list_failed_requests(context):
        failed.append({"reason": reason, "n": n_failed, "first": example})
    return {**context.prompted.describe(), "failed": failed}


def _describe_data(context: AuditContext) -> dict[str, Any]:
    """Return the description of the data in audit.json: its labels, known issues and splits."""
    primary = context.primary
    class_name_by_label = {}
    if primary.class_of is not None and context.label_names is not None:
        class_numbers = primary.class_of.tolist()
        for label, number in zip(primary.data_label_names, class_numbers, strict=False):
            # The number is -1 for a label that matches no class of the model.
            if number >= 0:
                class_name_by_label[label] = context.label_names[number]
    return {
        "name": context.dataset_name,
        "label_names": list(primary.data_label_names),
        "label_mapping": primary.label_mapping,
        "label_classes": class_name_by_label,
        "primary": primary.name,
        "known_issues": context.list_corrections(),
        "splits": [_describe_split(context, split) for split in context.splits],
    }


def _describe_split(context: AuditContext, split: AuditSplit) -> dict[str, Any]:
    """Return the description of a split in audit.json: its numbers of items, and its predictions.

    Args:
        context: The audit, scored.
        split: One of its splits.
    """
    predictions_path = None
    n_truncated = None
    # A split that no question reads has no scores.
    if context.has_scores(split):
        predictions_path = get_predictions_path(split.name)
        # It is unknown whether the text of a stored prediction was truncated.
        if context.stored is None:
            n_truncated = int(context.scores(split).truncated)
    return {
        "name": split.name,
        "role": split.role,
        "n_items": len(split),
        "n_available": split.n_available,
        "n_truncated": n_truncated,
        "fingerprint": split.fingerprint,
        "predictions": predictions_path,
        "left_out": [{"id": item_id, "reason": reason} for item_id, reason in split.left_out],
    }


def _describe_environment() -> dict[str, str]:
    """Return the versions of Python and of the installed packages."""
    environment = {"python": platform.python_version()}
    for package in _PACKAGES:
        version = get_installed_version(package)
        if version is not None:
            environment[package] = version
    return environment
