"""Audits for the page: `run` makes one as `rightreasons audit` does, and the rest writes it as HTML."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import html
import io
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from what_if import Subject, choose_subject

from rightreasons.core.validation import check_count, check_one_of
from rightreasons.report.questions import QUESTIONS
from rightreasons.report.runner import AuditResult, audit
from rightreasons.widget.pages import (
    FILTER,
    by_name,
    check_upload,
    typed_hub_id,
    typed_text,
)

BUNDLED = Path(__file__).resolve().parent / "bundled"

EXAMPLES = {"A planted word": "example.json.gz", "A colleague's hint": "reasons.json.gz"}
"""Name -> file of a finished audit; the page opens with the first."""

MAX_ITEMS = 500
"""Largest number of items of an audit on the page."""

MAX_SECONDS = 900.0
"""Longest time of an audit on the page."""

MAX_GIGABYTES = 12.0
"""Largest memory of an audit on the page, in 10^9 bytes."""

WITH_SUBJECT = "Edit a text under “What if?”: the model reads it again while you type."

NO_SUBJECT = (
    "Its texts cannot be edited: the predictions were stored, or the model is no classifier."
)


@dataclasses.dataclass(frozen=True)
class Source:
    """Model and data of an audit.

    Attributes:
        model: Id of a model on the hub; "" with predictions.
        dataset: Name of a known data set, or id of one on the hub; "" with a file or without items.
        data_file: File of items instead of `dataset`. None for no file.
        predictions: File of stored predictions instead of a model. None for a model.
        split: Name of the split; "" for the first that is for tests.
        log_filter: Filter or scorer of a log; "" if it has only one.
    """

    model: str = ""
    dataset: str = ""
    data_file: str | None = None
    predictions: str | None = None
    split: str = ""
    log_filter: str = ""


@dataclasses.dataclass(frozen=True)
class FinishedAudit:
    """A finished audit.

    Attributes:
        title: Names of the model and the data.
        record: Content of audit.json.
        page: The report, one HTML file.
        archive: Folder of the report as a zip file, in base64.
        subject: The model, for edits of a text. None if the page cannot query it.
    """

    title: str
    record: dict[str, Any]
    page: str
    archive: str
    subject: Subject | None = None


def run(source: Source, questions: Sequence[str], limit: int) -> FinishedAudit:
    """Audit a model, or stored predictions.

    Raises:
        ValueError: If the source lacks something, or the audit is refused.
    """
    # A request may come from a script, beyond the limits of the fields.
    limit = check_count(limit, "limit", minimum=1, maximum=MAX_ITEMS)
    for question in questions:
        check_one_of(question, tuple(QUESTIONS), "questions")
    settings: dict[str, Any] = {}
    if source.split.strip():
        settings["split"] = typed_text(source.split, "Split").strip()
    if source.log_filter.strip():
        settings["log_filter"] = typed_text(source.log_filter, FILTER).strip()

    # Path of an upload -> its name, by which a visitor knows it.
    file_names: dict[str, str] = {}
    model = None
    if source.predictions is not None:
        settings["predictions"] = _accept_upload(source.predictions, file_names)
    else:
        model = typed_hub_id(source.model, "Model")
    data = None
    if source.data_file is not None:
        data = _accept_upload(source.data_file, file_names)
    elif source.dataset.strip():
        data = typed_hub_id(source.dataset, "Data")
    elif source.predictions is None:
        raise ValueError("Expected a data set: its id on the hub, or a file of items.")

    # Stored predictions are called by their file.
    title = model or file_names[settings["predictions"]]
    data_name = title
    if data is not None:
        data_name = file_names.get(data, data)
        title = f"{title} on {data_name}"
    # Errors name an upload as the visitor does, not by its path on the server.
    with tempfile.TemporaryDirectory(prefix="audit-") as folder, by_name(*file_names):
        result = audit(
            model,
            data,
            out=Path(folder) / "report",
            questions=list(questions) or None,
            name=data_name,
            limit=limit,
            **settings,
        )
        return finish(result, title, model=model)


def _accept_upload(upload: str, file_names: dict[str, str]) -> str:
    """Check an upload, note its name, and return its path."""
    file = check_upload(upload)
    file_names[str(file)] = file.name
    return str(file)


def finish(
    result: AuditResult,
    title: str,
    *,
    model: str | None = None,
) -> FinishedAudit:
    """Collect what the page shows of an audit, and the files of its report.

    Args:
        result: The audit, whose folder may be deleted afterwards.
        title: Names of the model and the data.
        model: Name of the model, for edits of a text. None for no edits.
    """
    files = {}
    # The folder of the report is deleted with the audit, so its files are kept in memory.
    for name in _list_files(result.out):
        files[name] = (result.out / name).read_bytes()
    return FinishedAudit(
        title=title,
        record=result.to_dict(),
        page=result.page.read_text(encoding="utf-8"),
        archive=pack_files(files),
        subject=choose_subject(result, model),
    )


def _list_files(folder: Path) -> Iterator[str]:
    """Yield the names of the files of a report, without those of unfinished work."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        # Names that begin with a dot belong to interrupted work.
        if path.is_file() and not name.parts[0].startswith("."):
            yield str(name)


def pack_files(files: Mapping[str, bytes]) -> str:
    """Return files as a zip file in base64."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return base64.b64encode(buffer.getvalue()).decode()


def read_example(name: str = "A planted word") -> FinishedAudit:
    """Read a finished audit that `make_example.py` made."""
    values = json.loads(gzip.decompress((BUNDLED / EXAMPLES[name]).read_bytes()))
    # Tuples become lists in JSON.
    subject = values["subject"]
    if subject is not None:
        subject["labels"] = tuple(subject["labels"])
        values["subject"] = Subject(**subject)
    files = {
        "index.html": values["page"].encode(),
        "audit.json": json.dumps(values["record"]).encode(),
    }
    return FinishedAudit(**values, archive=pack_files(files))


def write_example(finished: FinishedAudit, name: str) -> None:
    """Store a finished audit in the repository, without the files of its report.

    Its page and audit.json are there anyway, and the others would be most of the repository.
    """
    BUNDLED.mkdir(exist_ok=True)
    values = dataclasses.asdict(finished)
    del values["archive"]
    content = json.dumps(values).encode()
    # Without the time, the same audit makes the same file.
    (BUNDLED / EXAMPLES[name]).write_bytes(gzip.compress(content, mtime=0))


# --------------------------------------------------------------------------------- pages


def write_title(finished: FinishedAudit) -> str:
    """Write the names of the model and the data, and whether the model answers to edits."""
    note = NO_SUBJECT if finished.subject is None else WITH_SUBJECT
    return (
        f'<p class="rr-definition"><b>{html.escape(finished.title)}.</b></p>'
        f'<p class="rr-small">{html.escape(note)}</p>'
    )


def get_report(finished: FinishedAudit) -> dict[str, Any]:
    """Return the value of the component that shows the report."""
    live = None if finished.subject is None else finished.subject.describe()
    return {"page": finished.page, "live": live}
