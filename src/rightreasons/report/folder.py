"""The folder of a report: its files change together, and questions can be added to it later."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rightreasons.audited.context import AuditContext
from rightreasons.audited.predictions_file import get_predictions_path, save_predictions
from rightreasons.core.errors import warn_stored_results
from rightreasons.core.store import (
    SET_ASIDE,
    digest_files,
    digest_value,
    format_json,
    format_json_lines,
    replace_files_on_success,
    write_bytes,
    write_text,
)
from rightreasons.page.parts import SectionResult
from rightreasons.report.items.values import format_item_values, get_items_path
from rightreasons.report.outcomes import Outcome, list_answered
from rightreasons.report.render import PAGE
from rightreasons.report.schema import AUDIT_FILE, add_digest, read_audit

REPLIES_FILE = "predictions/replies.jsonl"
"""What a prompted model wrote to each request: text, thinking, refusal, finish and usage."""

SETTINGS_FILE = "audit.yaml"
"""What makes the report again: `rightreasons audit audit.yaml`."""

OWN = (AUDIT_FILE, PAGE, SETTINGS_FILE, "figures", "predictions", "items", "ranking.csv")
"""Files and folders that an audit writes into the folder of its report."""

_IRRELEVANT = ("batch_size", "fail_fast")
"""Settings that change no figure."""

_IRRELEVANT_OF_SERVER = (
    "in_flight",
    "timeout",
    "retries",
    "prompt_price",
    "answer_price",
    "max_requests",
    "max_price",
)
"""Settings of a server that change no figure, such as the bounds on a run, which a later one raises."""


def digest_subject(context: AuditContext, settings: Mapping[str, Any]) -> str:
    """Return a digest of the model, the items and the settings of an audit.

    Reports with the same digest are about the same subject, so that the answers to questions of one
    can be added to the other.

    Args:
        context: The audit, not yet scored.
        settings: Name -> value of its options, with those of a server in the mapping "server".
    """
    items = [[split.name, split.role, split.fingerprint] for split in context.splits]
    relevant = dict(settings)
    for name in _IRRELEVANT:
        relevant.pop(name, None)
    server_options = dict(relevant.get("server", {}))
    for name in _IRRELEVANT_OF_SERVER:
        server_options.pop(name, None)
    relevant["server"] = server_options
    audited = digest_value([context.model_fingerprint, context.dataset_name, items])
    return digest_value([audited, relevant])


def read_earlier_options(context: AuditContext, subject: str) -> dict[str, dict[str, Any]]:
    """Return the questions that an earlier report on the same subject answers, with their options.

    Args:
        context: The audit, whose folder `context.out` may contain an earlier report.
        subject: Digest of the subject of the audit, from `digest_subject`.

    Returns:
        Question -> its options; empty if the folder has no report, or one on another subject.
    """
    # A damaged report is replaced, as if there were none.
    try:
        stored = read_audit(context.out)
    except (OSError, ValueError):
        return {}
    if stored.get("subject") != subject:
        return {}
    options = stored["settings"]["options"]
    earlier_options = {}
    for answer in stored["questions"]:
        # A question that could not be answered is not repeated.
        if answer["result"]:
            question = answer["question"]
            earlier_options[question] = options[question]
    return earlier_options


def write_report(
    context: AuditContext,
    record: dict[str, Any],
    outcomes: Sequence[Outcome],
    page: str,
    arguments: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the files of a report, which replace those of an earlier report in the folder.

    A report about something else, or a damaged one, is set aside first.

    Args:
        context: The audit, scored.
        record: Content of audit.json.
        outcomes: The questions with their answers.
        page: The page.
        arguments: Content of audit.yaml; empty if an input is an object that no file can store.

    Returns:
        The record with the digests of its files.
    """
    context.out.mkdir(parents=True, exist_ok=True)
    with replace_files_on_success(context.out, lambda: _list_files(context.out)) as staging:
        # All files appear in the folder at once, or none does.
        _write_predictions(context, staging)
        for outcome, result in list_answered(outcomes):
            _write_result(outcome.question, result, staging)
        write_text(staging / PAGE, page)
        if arguments:
            settings = yaml.safe_dump(dict(arguments), sort_keys=False, allow_unicode=True)
            write_text(staging / SETTINGS_FILE, settings)
        # The digests of all other files are in audit.json, which is written last.
        record = add_digest({**record, "files": digest_files(staging)})
        write_text(staging / AUDIT_FILE, format_json(record))
        _set_report_aside(context.out, record["subject"])
    return record


def _write_predictions(context: AuditContext, folder: Path) -> None:
    """Write the scores of each split, and the replies of a prompted model, into a folder.

    Args:
        context: The audit, scored.
        folder: The folder, which gets files in its subfolder "predictions".
    """
    for split in context.splits:
        # A split that no question reads has no scores.
        if context.has_scores(split):
            path = folder / get_predictions_path(split.name)
            save_predictions(path, split, context.scores(split))
    if context.prompted is None or not context.prompted.replies:
        return
    # An item has several replies if its answer was sampled several times.
    rows = []
    for item_id, replies in context.prompted.replies.items():
        rows.append({"id": item_id, "replies": [reply.to_dict() for reply in replies]})
    write_text(folder / REPLIES_FILE, format_json_lines(rows))


def _write_result(question: str, result: SectionResult, folder: Path) -> None:
    """Write the files of a question into the folder of a report.

    Its pictures are written into figures/, and its values by item into items/.

    Args:
        question: Name of the question.
        result: Its answer, with the data of its pictures and the contents of its other files.
        folder: Folder of the report.
    """
    # The drawing library is slow to import, and needed only here.
    from rightreasons.page.plots import Drawing

    for plot in result.plots:
        drawing = Drawing(plot.key, plot.spec)
        write_bytes(folder / "figures" / f"{plot.key}.png", drawing.png)
    for name, content in result.files.items():
        write_text(folder / name, content)
    if result.by_item:
        write_text(folder / get_items_path(question), format_item_values(result.by_item))


def _set_report_aside(folder: Path, subject: str) -> None:
    """Copy the report in a folder to a subfolder, unless it is about the same subject.

    Args:
        folder: The folder, whose report is about to be replaced.
        subject: Digest of the subject of the new report.
    """
    reason = "is damaged"
    with contextlib.suppress(OSError, ValueError):
        stored_audit = read_audit(folder)
        # The new report has the answers of the earlier one, which is not worth a copy.
        if stored_audit.get("subject") == subject:
            return
        reason = "is about another model, data or settings"
    files = _list_files(folder)
    # The copy is named after a digest of the files, so that the same report is copied only once.
    name = digest_value(digest_files(folder, files))[:16]
    copy = folder / SET_ASIDE / name
    if not files or copy.exists():
        return
    # The copy gets its final name when it is complete, so that an interrupted copy is recognized.
    draft = copy.with_name(f".{copy.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    for file in files:
        (draft / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / file, draft / file)
    draft.rename(copy)
    warn_stored_results(f"The earlier report in {folder} {reason}: it is set aside in {copy}.")


def _list_files(folder: Path) -> list[str]:
    """Return the files of the report in a folder, relative to it."""
    paths = []
    for name in OWN:
        paths += [folder / name, *(folder / name).glob("**/*")]
    return [path.relative_to(folder).as_posix() for path in paths if path.is_file()]
