"""Runs an audit and keeps what the page shows of it; `rightreasons audit` does the same."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import html
import io
import json
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rightreasons.core.estimates import Estimate
from rightreasons.core.validation import check_count, check_one_of
from rightreasons.page.formats import format_estimate
from rightreasons.page.plots import Drawing
from rightreasons.report.figures import sort_answers
from rightreasons.report.questions import QUESTIONS
from rightreasons.report.runner import AuditResult, audit
from rightreasons.widget.pages import (
    FILTER,
    by_name,
    check_upload,
    tiles,
    typed_hub_id,
    typed_text,
    verdict,
)

BUNDLED = Path(__file__).resolve().parent / "bundled"
EXAMPLES = {"A planted word": "example.json.gz", "A hint in silence": "reasons.json.gz"}
"""Finished audits: the page opens with the first."""

MOST_ITEMS = 500
SECONDS, GIGABYTES = 900.0, 12.0


@dataclasses.dataclass(frozen=True)
class Source:
    """What is audited.

    Attributes:
        model: The id of a model on the hub; "" with predictions.
        dataset: The name of a known data set, or the id of one on the hub; "" with a file or without items.
        data_file: A file of items instead of `dataset`; None without one.
        predictions: A file of stored predictions instead of a model; None without one.
        split: The split; "" for the first that is for tests.
        log_filter: The filter or scorer of a log; "" where it has one.
    """

    model: str = ""
    dataset: str = ""
    data_file: str | None = None
    predictions: str | None = None
    split: str = ""
    log_filter: str = ""


@dataclasses.dataclass(frozen=True)
class Finished:
    """A finished audit.

    Attributes:
        title: What was audited, in words.
        record: What audit.json holds.
        page: The report, one HTML file.
        sections: Question -> its verdict, figures and pictures, as HTML.
        archive: The folder of the report as a zip file, in base64.
    """

    title: str
    record: dict[str, Any]
    page: str
    sections: dict[str, str]
    archive: str


def run(source: Source, questions: Sequence[str], limit: int) -> Finished:
    """Audit a model, or stored predictions."""
    limit = check_count(limit, "limit", minimum=1, maximum=MOST_ITEMS)
    for question in questions:
        check_one_of(question, tuple(QUESTIONS), "questions")
    settings: dict[str, Any] = {}
    if source.split.strip():
        settings["split"] = typed_text(source.split, "Split").strip()
    if source.log_filter.strip():
        settings["log_filter"] = typed_text(source.log_filter, FILTER).strip()
    model, data, names = None, None, {}
    if source.predictions is not None:
        file = check_upload(source.predictions)
        settings["predictions"], names = str(file), {str(file): file.name}
    else:
        model = typed_hub_id(source.model, "Model")
    if source.data_file is not None:
        file = check_upload(source.data_file)
        data, names = str(file), {**names, str(file): file.name}
    elif source.dataset.strip():
        data = typed_hub_id(source.dataset, "Data")
    elif source.predictions is None:
        raise ValueError("Expected a data set: its id on the hub, or a file of items.")
    title = names.get(settings.get("predictions", ""), "") or model or ""
    with tempfile.TemporaryDirectory(prefix="audit-") as folder, by_name(*names):
        result = audit(
            model,
            data,
            out=Path(folder) / "report",
            questions=list(questions) or None,
            name=names.get(data, data) if data else title,
            limit=limit,
            **settings,
        )
        return finished(result, f"{title} on {names.get(data, data)}" if data else title)


def finished(result: AuditResult, title: str, files: Sequence[str] | None = None) -> Finished:
    """Keep what the page shows of an audit, and the files of its report; None for all, but for work under way."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(path for path in result.out.rglob("*") if path.is_file()):
            name = file.relative_to(result.out)
            if name.parts[0][0] != "." and (files is None or str(name) in files):
                archive.write(file, name)
    return Finished(
        title=title,
        record=result.to_dict(),
        page=result.page.read_text(encoding="utf-8"),
        sections={outcome.title: _section(outcome) for outcome in result.outcomes},
        archive=base64.b64encode(out.getvalue()).decode(),
    )


def example(name: str = "A planted word") -> Finished:
    """Read a finished audit; `make_example.py` makes it."""
    return Finished(**json.loads(gzip.decompress((BUNDLED / EXAMPLES[name]).read_bytes())))


def write_example(done: Finished, name: str) -> None:
    """Keep a finished audit."""
    BUNDLED.mkdir(exist_ok=True)
    (BUNDLED / EXAMPLES[name]).write_bytes(
        gzip.compress(json.dumps(dataclasses.asdict(done)).encode(), mtime=0)
    )


# ------------------------------------------------------------------------------------------------------------ the page


def headline(done: Finished) -> str:
    """Write what was audited, in the tone of the worst verdict, and a line for each question.

    The finding in one sentence is the headline of the report below.
    """
    answered = sort_answers(done.record)
    if not answered:
        return verdict("No question applies to these data.")
    rows = "".join(
        f'<li class="rr-{each["result"]["verdict"]["tone"]}"><b>{html.escape(each["title"])}</b> '
        f"{html.escape(each['result']['verdict']['label'])}</li>"
        for each in answered
    )
    skipped = [each["title"] for each in done.record["questions"] if each["result"] is None]
    left = (
        f'<p class="rr-small">Not answered: {html.escape(" · ".join(skipped))}</p>'
        if skipped
        else ""
    )
    return f'{verdict(done.title, answered[0]["result"]["verdict"]["tone"])}<ul class="au-rows">{rows}</ul>{left}'


def frame(done: Finished) -> str:
    """Write the report into a frame of its own, in which no script runs."""
    page = html.escape(done.page, quote=True)
    return f'<iframe class="au-report" title="The report" sandbox="allow-scripts" srcdoc="{page}"></iframe>'


def explored(done: Finished, question: str | None) -> str:
    """Write the verdict, the figures and the pictures of a question."""
    return done.sections.get(question or "", "")


def _section(outcome: Any) -> str:
    if outcome.result is None:
        return f'<p class="rr-waiting">{html.escape(outcome.reason)}</p>'
    result = outcome.result
    entries = [
        (
            headline.name,
            format_estimate(
                Estimate(headline.estimate.value, headline.estimate.low, headline.estimate.high),
                headline.unit,
            ),
            headline.split,
        )
        for headline in result.headlines
    ]
    pictures = "".join(
        f'<figure class="rr-figure">{Drawing(plot.key, plot.spec).svg}'
        f"<figcaption>{html.escape(plot.caption)}</figcaption></figure>"
        for plot in result.plots[:6]
    )
    label = result.verdict.label
    head = verdict(label if label.endswith(".") else f"{label}.", result.verdict.tone)
    return f'{head}{tiles(entries) if entries else ""}<div class="au-plots">{pictures}</div>'
