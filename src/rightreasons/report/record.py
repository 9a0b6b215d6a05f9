"""The record of an audit, audit.json, and the facts on its page."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

import rightreasons
from rightreasons.audited.context import AuditContext
from rightreasons.audited.splits import AuditSplit, predictions_file
from rightreasons.core.options import Options
from rightreasons.io.logs import logged
from rightreasons.page.parts import Column, Table
from rightreasons.page.prose import level_percent, percent, short_name
from rightreasons.report.answers import AnswerFigures, failed_of
from rightreasons.report.files import AGAIN_FILE, FIGURES_FILE, items_file
from rightreasons.report.render import Asked, Outcome, Page, items_of, render_page
from rightreasons.report.schema import AUDIT_FILE, SCHEMA_VERSION

_TASKS = {"multiple_choice": "multiple choice", "confidence": "answers and their confidence"}

_PACKAGES = ("rightreasons", "torch", "transformers", "datasets", "numpy", "scipy")


def record_of(
    context: AuditContext,
    outcomes: Sequence[Outcome],
    settings: Mapping[str, Any],
    options: Mapping[str, Options],
    subject: str,
    answers: AnswerFigures | None,
) -> dict[str, Any]:
    """Return what audit.json holds, but for the digests of the files beside it.

    Args:
        context: What is audited, scored.
        outcomes: The questions with their answers.
        settings: The options of the audit as a whole.
        options: Question -> its options.
        subject: A digest of model, items and settings.
        answers: From `measure_answers`.
    """
    asked: Any = context.source if context.prompted is None else getattr(context.prompted.engine, "scorer", None)
    told = asked.describe() if hasattr(asked, "describe") else {}
    # A server batches by itself, and what is said of answers that cannot be read is told elsewhere.
    way = context.scores().way if context.server is None and context.has_scores(context.primary) else ""
    if context.prompted is not None and context.prompted.rendering.scoring == "generated":
        way = way.partition("; ")[0]
    return {
        "schema_version": SCHEMA_VERSION,
        "rightreasons": rightreasons.__version__,
        "created": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "model": {
            "name": context.model_name,
            "task": context.task,
            "label_names": list(context.label_names or ()),
            "fingerprint": context.model_fingerprint,
            "n_parameters": context.n_parameters,
            "weights": told.get("weights") or None,
            "batching": way or None,
            # Where no question reads scores, nothing was asked in this way.
            "prompt": context.prompted.describe() if context.prompted is not None and context.answers else None,
            "server": context.server,
        },
        "dataset": {
            "name": context.dataset_name,
            "label_names": list(context.primary.data_label_names),
            "label_mapping": context.primary.label_mapping,
            "label_classes": context.primary.label_classes(context.label_names),
            "primary": context.primary.name,
            "splits": [_split_record(context, split) for split in context.all_splits],
        },
        "settings": {
            **settings,
            "questions": list(options),
            "options": {question: its.to_dict() for question, its in options.items()},
        },
        "environment": _environment(),
        "subject": subject,
        "answers": None if answers is None else answers.to_dict(),
        "questions": [outcome.to_dict() for outcome in outcomes],
    }


def _split_record(context: AuditContext, split: AuditSplit) -> dict[str, Any]:
    scored = context.has_scores(split)
    return {
        "name": split.name,
        "role": split.role,
        "n_items": len(split),
        "n_available": split.n_available,
        "n_truncated": int(context.scores(split).truncated) if scored and not context.stored else None,
        "fingerprint": split.fingerprint,
        "predictions": predictions_file(split.name) if scored else None,
        "left_out": [{"id": name, "reason": reason} for name, reason in split.left_out],
    }


def _environment() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def page_of(
    context: AuditContext,
    record: dict[str, Any],
    outcomes: Sequence[Outcome],
    command: str,
    answers: AnswerFigures | None,
) -> str:
    """Render the page of an audit by its record; `command` makes it again, and `answers` are of `measure_answers`."""
    model, data = context.model_name, context.dataset_name
    primary, how = context.primary, context.resampling
    shown = short_name((context.stored is not None and logged(model)[0]) or model)
    items = f"{len(primary):,}" + (f" of {primary.n_available:,}" if len(primary) < primary.n_available else "")
    environment = ", ".join(f"{package} {version}" for package, version in record["environment"].items())
    if context.stored is not None:
        source = [("Stored predictions", model), ("Columns", context.stored.used)]
        source += [] if answers is None else [("Answers", answers.sentence)]
    else:
        n_parameters, weights = record["model"]["n_parameters"], record["model"]["weights"]
        source = [("Model", model if n_parameters is None else f"{model} ({n_parameters:,} parameters)")]
        source += [("Its weights", weights)] if weights else []
        if batching := record["model"]["batching"]:
            source.append(("Batches, as a trial of the model found exact", batching))
    made = [
        *source,
        ("Fingerprint of the model", record["model"]["fingerprint"]),
        ("Dataset", data),
        ("Labels", _labels_in_words(context)),
        ("Intervals", f"{level_percent(how.level)}, {how.resamples:,} resamples where bootstrapped"),
        ("Seed", str(context.seed)),
        ("Software", environment),
        ("Made", record["created"]),
    ]
    splits = Table(
        key="splits",
        title="Splits",
        columns=(
            Column("name", "Split", "text"),
            Column("role", "Part", "text"),
            Column("n_items", "Items audited", "count"),
            Column("n_available", "Items in the split", "count"),
            Column("n_truncated", "Cut to the model's length", "count"),
            Column("fingerprint", "Fingerprint", "text"),
        ),
        rows=tuple(
            (*(s[name] for name in ("name", "role", "n_items", "n_available", "n_truncated")), s["fingerprint"][:12])
            for s in record["dataset"]["splits"]
        ),
    )
    tables = (
        *([] if answers is None else [answers.table()]),
        splits,
        *_told_of(
            "left_out",
            "Items that the model could not score, which no figure counts",
            (Column("split", "Split", "text"), Column("id", "Item", "text"), Column("reason", "Reason", "text")),
            ((split.name, name, reason) for split in context.all_splits for name, reason in split.left_out),
        ),
        *_told_of(
            "failed",
            "Requests of the questions that have no answer",
            (Column("reason", "Reason", "text"), Column("n", "Requests", "count"), Column("first", "Such as", "text")),
            failed_of(context) if context.prompted is not None else (),
        ),
    )
    return render_page(
        Page(
            title=f"Audit of {shown} on {data}",
            heading=f"Is {shown} right for the right reasons?",
            facts=[
                ("on", data),
                ("split", primary.name),
                ("items", items),
                *([] if answers is None else [("right", percent(answers.low))]),
                *([] if answers is None or not answers.worst else [("least right", answers.worst)]),
                *([] if answers is None or not answers.n_unread else [("unread", f"{answers.n_unread:,}")]),
                *([("left out", f"{len(primary.left_out):,}, named below")] if primary.left_out else []),
                ("classes", str(len(context.label_names)))
                if context.label_names
                else ("task", "generated answers" if _only_right(context) else _TASKS[context.task]),
                ("made", record["created"][:10]),
            ],
            outcomes=outcomes,
            # No section says how many generated answers are right, as they have no confidence.
            asked=[]
            if context.prompted is None or record["model"]["prompt"] is None
            else [
                Asked(
                    context.prompted.describe(),
                    answers.sentence if answers is not None and context.answers_once else "",
                    context.server,
                )
            ],
            made=made,
            made_tables=tables,
            command=command,
            subject=shown,
            items=items_of(context),
            files=[
                (AUDIT_FILE, "all figures (audit.json)"),
                (FIGURES_FILE, "figures as a table (CSV)"),
                *([(AGAIN_FILE, "options (YAML)")] if command.startswith("rightreasons audit ") else []),
                ("figures/", "pictures (PNG)"),
                *(
                    (s["predictions"], f"predictions of {s['name']}")
                    for s in record["dataset"]["splits"]
                    if s["predictions"]
                ),
                *(
                    (items_file(outcome.question), f"values by item, {outcome.question} (CSV)")
                    for outcome in outcomes
                    if outcome.result and outcome.result.by_item
                ),
            ],
        )
    )


def _told_of(key: str, title: str, columns: tuple[Column, ...], rows: Iterable[tuple[Any, ...]]) -> tuple[Table, ...]:
    """Return a table of what is to be told; none where there is nothing."""
    listed = tuple(rows)
    return (Table(key=key, title=title, columns=columns, rows=listed),) if listed else ()


def _only_right(context: AuditContext) -> bool:
    """Say whether all that is known of stored answers is which of them are right."""
    return context.stored is not None and context.answers_once


def _labels_in_words(context: AuditContext) -> str:
    names = context.label_names
    if context.task == "confidence":
        return "whether each given answer was right"
    said = f"{', '.join(names[:20])}{', …' if len(names) > 20 else ''}" if names else "the index of the right choice"
    return f"{said} (matched with the data's {context.primary.label_mapping})" if names else said
