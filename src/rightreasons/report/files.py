"""The folder of a report: its files change together, and questions that are asked later are added to it.

Also what its audit.json records, and the facts on its page.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import operator
import platform
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

import rightreasons
from rightreasons.audited.context import AuditContext
from rightreasons.audited.predictions_file import get_predictions_path, save_predictions
from rightreasons.core.errors import warn_stored_results
from rightreasons.core.estimates import Estimate
from rightreasons.core.options import Options
from rightreasons.core.results import Result
from rightreasons.core.sentences import pluralize
from rightreasons.core.store import (
    SET_ASIDE,
    digest_files,
    digest_value,
    format_csv,
    format_json,
    format_json_lines,
    get_installed_version,
    replace_files_on_success,
    write_bytes,
    write_text,
)
from rightreasons.page.parts import Column, ItemFigure, Table
from rightreasons.page.prose import badness, short_name, written
from rightreasons.report.answers import AnswerFigures, failed_of
from rightreasons.report.outcomes import Outcome, sort_worst_first
from rightreasons.report.page_items import collect_items
from rightreasons.report.questions import QUESTIONS
from rightreasons.report.render import PAGE, Page, render_page, sentences
from rightreasons.report.row_doubts import AuditedRows
from rightreasons.report.schema import AUDIT_FILE, SCHEMA_VERSION, check_audit, read_audit, signed

COLUMNS = ("figure", "id", "group", "value")

CLUSTER = "cluster"
"""A further column of figures whose items are not independent."""


def items_file(question: str) -> str:
    """Return the file of a question's items, relative to the report."""
    return f"items/{question}.csv"


def items_table(figures: Sequence[ItemFigure]) -> str:
    """Write figures as a table for a spreadsheet: a row per figure and item.

    Example:
        >>> print(items_table([ItemFigure.of("pass_rate", "Pass rate", "higher", ["a", "b"], [1, 0])]))
        figure,id,group,value
        pass_rate,a,,1
        pass_rate,b,,0
        <BLANKLINE>
    """
    has_clusters = any(map(operator.attrgetter("clusters"), figures))
    rows: list[tuple[str, ...]] = [COLUMNS]
    if has_clusters:
        rows = [(*COLUMNS, CLUSTER)]
    for figure in figures:
        keys = [figure.key] * len(figure.ids)
        empty = ("",) * len(figure.ids)
        values = map("{:.17g}".format, figure.values)
        columns: list[Iterable[str]] = [keys, figure.ids, figure.groups or empty, values]
        if has_clusters:
            columns.append(figure.clusters or empty)
        rows += zip(*columns, strict=True)
    return format_csv(rows)


def read_items(report: Path, question: str, result: Mapping[str, Any]) -> dict[str, ItemFigure]:
    """Read the figures of a question with their items.

    Args:
        report: The folder of a report.
        question: The question.
        result: Its result in audit.json.

    Returns:
        Key -> figure; {} where the report has none.
    """
    import pandas as pd

    file = report / items_file(question)
    if not result.get("by_item") or not file.is_file():
        return {}
    rows = pd.read_csv(
        file,
        dtype={"id": str, "group": str, CLUSTER: str},
        keep_default_na=False,
        float_precision="round_trip",
    )
    found = {}
    for each in result["by_item"]:
        its = rows[rows["figure"] == each["key"]]
        about = {name: each[name] for name in ("low", "high", "unit")}
        groups = tuple(its["group"]) if any(its["group"]) else ()
        # Figures of independent items have no such column, and reports of earlier versions neither.
        clusters: tuple[str, ...] = ()
        if CLUSTER in its and any(its[CLUSTER]):
            clusters = tuple(its[CLUSTER])
        found[each["key"]] = ItemFigure.of(
            each["key"],
            each["name"],
            each["better"],
            its["id"],
            its["value"],
            groups=groups,
            clusters=clusters,
            # Reports of earlier versions are about all figures that they have.
            is_finding=each.get("is_finding", True),
            **about,
        )
    return found


# -------------- The figures of an audit by a path, such as `calibration.ece`: what a gate checks and a model card lists


ENDS = ("value", "low", "high", "n")
"""What may follow the path of a figure; alone it is the value."""


@dataclasses.dataclass(frozen=True)
class AuditFigure(Result):
    """A figure of an audit.

    Attributes:
        path: The question and the figure, as in `calibration.ece`; of another split, `calibration.test_flipped.ece`.
        question: The question that it answers.
        key: The figure in audit.json.
        name: Its name for readers.
        estimate: The figure and its interval.
        unit: "fraction" (0 to 1), "nats", "ratio" or "count".
        better: "higher", "lower" or None.
        split: The split on which it was computed.
        n: Number of items; None where the audit does not say.
    """

    path: str
    question: str
    key: str
    name: str
    estimate: Estimate
    unit: str
    better: str | None
    split: str
    n: int | None

    @property
    def in_words(self) -> str:
        """The figure, its interval, and on what it was computed."""
        items = "" if self.n is None else f" on {pluralize(self.n, 'item')}"
        return (
            f"{written(self.estimate, self.unit)}{items}{f' of {self.split}' if self.split else ''}"
        )


def audit_figures(audit: Mapping[str, Any]) -> dict[str, AuditFigure]:
    """Return the figures of an audit by their paths, in the order of the report.

    A path is the question and the key of the figure in audit.json, without the word "shortcut" where the question says
    it: `shortcuts.rate`. A figure of another split has the split in the middle.

    Args:
        audit: What `read_audit` returns.

    Returns:
        Path -> figure.
    """
    check_audit(audit)
    figures: dict[str, AuditFigure] = {}
    for answer in audit["questions"]:
        question, result = answer["question"], answer["result"]
        if result is None:
            continue
        texts = {text["key"]: text for text in _headlines(result)}
        found = [
            (key, text, text["estimate"], text["split"], text["n"]) for key, text in texts.items()
        ]
        found += [
            (f"{'_'.join(split.split())}.{key}", texts[key], estimate, split, None)
            for split, estimates in (result["data"].get("splits") or {}).items()
            for key, estimate in estimates.items()
            if key in texts
            and isinstance(estimate, dict)
            and "value" in estimate
            and split != texts[key]["split"]
        ]
        for key, text, estimate, split, n in found:
            path = short_path(f"{question}.{key}")
            about = text["key"], text["name"], Estimate(**estimate), text["unit"], text["better"]
            figure = AuditFigure(path, question, *about, split, n)
            figures.setdefault(path, figure)
    return figures


def answers_worst_first(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the questions of an audit that were answered, in the order of the report, as `sort_worst_first`."""
    answers = [answer for answer in audit.get("questions", ()) if answer["result"] is not None]

    def key(answer: Mapping[str, Any]) -> tuple[int, float]:
        result = answer["result"]
        return badness(result["verdict"]["tone"], (result.get("finding") or {}).get("size", 0.0))

    return sorted(answers, key=key)


def short_path(path: str) -> str:
    """Return a path without what its key repeats of the question, so that the keys of audit.json may be typed too.

    Example:
        >>> short_path("shortcuts.shortcut_rate.low"), short_path("shortcuts.deciding_share")
        ('shortcuts.rate.low', 'shortcuts.deciding_share')
    """
    question, dot, rest = path.partition(".")
    if question not in QUESTIONS:
        return path
    return question + dot + rest.replace(QUESTIONS[question].options.redundant_key_part, "")


def _headlines(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from result["headlines"]
    for part in result["parts"]:
        yield from part["headlines"]
    figures = result["data"].get("figures")
    for figure in figures.values() if isinstance(figures, dict) else ():
        if isinstance(figure, dict) and {"key", "estimate", "unit"} <= figure.keys():
            yield figure


REPLIES_FILE = "predictions/replies.jsonl"
"""What a prompted model wrote to each request: text, thinking, refusal, finish and usage."""

AGAIN_FILE = "audit.yaml"
"""What makes the report again: `rightreasons audit audit.yaml`."""

OWN = (AUDIT_FILE, PAGE, AGAIN_FILE, "figures", "predictions", "items", "ranking.csv")
"""What an audit writes into the folder of a report."""

WAYS = "ways.json"
"""What `rightreasons ways` writes beside it, or before it."""

# What has no part in any figure.
_BESIDE = ("batch_size", "fail_fast")


def subject_of(context: AuditContext, settings: Mapping[str, Any]) -> str:
    """Return a digest of what a report is about: model, items and the options of the audit as a whole, no questions."""
    items = [[split.name, split.role, split.fingerprint] for split in context.splits]
    about = {name: value for name, value in settings.items() if name not in _BESIDE}
    return digest_value(
        [digest_value([context.model_fingerprint, context.dataset_name, items]), about]
    )


def earlier_options(context: AuditContext, subject: str) -> dict[str, dict[str, Any]]:
    """Return the questions that a report of the same subject in the folder answers, with their options."""
    with contextlib.suppress(OSError, ValueError):
        earlier = read_audit(context.out)
        if earlier.get("subject") == subject:
            options = earlier["settings"]["options"]
            return {
                each["question"]: options[each["question"]]
                for each in earlier["questions"]
                if each["result"]
            }
    return {}


def write_report(
    context: AuditContext,
    record: dict[str, Any],
    outcomes: Sequence[Outcome],
    page: str,
    again: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the files of a report in place of those that the folder holds.

    A report about something else, or a damaged one, is set aside first.

    Args:
        context: What is audited, scored.
        record: What audit.json holds.
        outcomes: The questions with their answers.
        page: The page.
        again: What makes the report again, for audit.yaml; {} where a file cannot say it.

    Returns:
        The record with the digests of the files beside it.
    """
    context.out.mkdir(parents=True, exist_ok=True)
    from rightreasons.page.plots import Drawing

    with replace_files_on_success(context.out, lambda: _files(context.out)) as new:
        for split in context.splits:
            if context.has_scores(split):
                save_predictions(
                    new / get_predictions_path(split.name), split, context.scores(split)
                )
        replies = {} if context.prompted is None else context.prompted.replies
        if replies:
            rows = (
                {"id": name, "replies": [reply.to_dict() for reply in of_item]}
                for name, of_item in replies.items()
            )
            write_text(new / REPLIES_FILE, format_json_lines(rows))
        for outcome in outcomes:
            result = outcome.result
            if result is None:
                continue
            for plot in result.plots:
                write_bytes(new / "figures" / f"{plot.key}.png", Drawing(plot.key, plot.spec).png)
            for name, text in result.files.items():
                write_text(new / name, text)
            if result.by_item:
                write_text(new / items_file(outcome.question), items_table(result.by_item))
        write_text(new / PAGE, page)
        if again:
            write_text(
                new / AGAIN_FILE, yaml.safe_dump(dict(again), sort_keys=False, allow_unicode=True)
            )
        record = signed({**record, "files": digest_files(new)})
        write_text(new / AUDIT_FILE, format_json(record))
        _set_aside(context.out, record["subject"])
    return record


def _set_aside(folder: Path, subject: str) -> None:
    """Copy the files of a report, unless it is about the same, to where the new one does not replace them."""
    files, why = _files(folder), "is damaged"
    with contextlib.suppress(OSError, ValueError):
        if read_audit(folder).get("subject") == subject:
            return
        why = "is about another model, data or settings"
    place = folder / SET_ASIDE / digest_value(digest_files(folder, files))[:16]
    if not files or place.exists():
        return
    half = place.with_name(f".{place.name}.part")
    shutil.rmtree(half, ignore_errors=True)
    for name in files:
        (half / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / name, half / name)
    half.rename(place)
    warn_stored_results(f"The earlier report in {folder} {why}: it is set aside in {place}.")


def _files(folder: Path) -> list[str]:
    """Name the files of the report that a folder holds."""
    paths = [path for name in OWN for path in (folder / name, *(folder / name).glob("**/*"))]
    return [path.relative_to(folder).as_posix() for path in paths if path.is_file()]


LEFT_OUT = (
    Column("split", "Split", "text"),
    Column("id", "Item", "text"),
    Column("reason", "Reason", "text"),
)
FAILED = (
    Column("reason", "Reason", "text"),
    Column("n", "Requests", "count"),
    Column("first", "Such as", "text"),
)

WORDS = sentences("audit", items_file=items_file)
"""What the page of an audit says beside its answers."""

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
    scorer: Any = (
        context.source
        if context.prompted is None
        else getattr(context.prompted.engine, "scorer", None)
    )
    description = scorer.describe() if hasattr(scorer, "describe") else {}
    # A server batches by itself, and what is said of answers that cannot be read is told elsewhere.
    way = (
        context.scores().way
        if context.server is None and context.has_scores(context.primary)
        else ""
    )
    prompted = context.prompted
    if prompted is not None and prompted.rendering.scoring == "generated":
        way = way.partition("; ")[0]
    split, names = context.primary, context.label_names
    classes = {}
    if split.class_of is not None and names is not None:
        pairs = zip(split.data_label_names, split.class_of.tolist(), strict=False)
        classes = {label: names[number] for label, number in pairs if number >= 0}
    failed = [
        {column.key: cell for column, cell in zip(FAILED, row, strict=True)}
        for row in failed_of(context)
    ]
    versions = {
        package: version
        for package in _PACKAGES
        if (version := get_installed_version(package)) is not None
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "rightreasons": rightreasons.__version__,
        "created": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "model": {
            "name": context.source.name,
            "task": context.task,
            "path": None,
            "logged": None if context.stored is None else list(context.stored.logged),
            "label_names": list(context.label_names or ()),
            "has_confidence": not context.answers_once,
            "fingerprint": context.model_fingerprint,
            "n_parameters": getattr(context.source, "n_parameters", None),
            "weights": description.get("weights") or None,
            "batching": way or None,
            # Where no question reads scores, nothing was asked in this way.
            "prompt": prompted.describe() | {"failed": failed}
            if prompted is not None and context.answers
            else None,
            "server": context.server,
        },
        "dataset": {
            "name": context.dataset_name,
            "label_names": list(context.primary.data_label_names),
            "label_mapping": context.primary.label_mapping,
            "label_classes": classes,
            "primary": context.primary.name,
            "known_issues": context.list_corrections(),
            "splits": [
                {
                    "name": split.name,
                    "role": split.role,
                    "n_items": len(split),
                    "n_available": split.n_available,
                    "n_truncated": int(context.scores(split).truncated)
                    if scored and not context.stored
                    else None,
                    "fingerprint": split.fingerprint,
                    "predictions": get_predictions_path(split.name) if scored else None,
                    "left_out": [{"id": name, "reason": reason} for name, reason in split.left_out],
                }
                for split in context.splits
                for scored in [context.has_scores(split)]
            ],
        },
        "settings": {
            **settings,
            "questions": list(options),
            "options": {question: its.to_dict() for question, its in options.items()},
        },
        "environment": {"python": platform.python_version(), **versions},
        "subject": subject,
        "answers": None if answers is None else answers.to_dict(),
        "questions": [outcome.to_dict() for outcome in outcomes],
    }


def _divide_answer_tables(
    context: AuditContext, answers: AnswerFigures | None
) -> tuple[list[Table], list[Table]]:
    """Return the tables about the answers: those of the provenance, and those of a place of their own."""
    if answers is None:
        return [], []
    # A log of drawn answers shows most by its answers.
    if context.stored is not None and context.answers_once:
        return [], answers.list_tables()
    return answers.list_tables(), []


def page_of(
    context: AuditContext,
    record: dict[str, Any],
    outcomes: Sequence[Outcome],
    command: str,
    answers: AnswerFigures | None,
    audited_rows: AuditedRows | None = None,
) -> str:
    """Render the page of an audit by its record.

    Args:
        context: What is audited, scored.
        record: What audit.json holds.
        outcomes: The questions with their answers.
        command: The command that makes the page again.
        answers: From `measure_answers`.
        audited_rows: From `check_audited_rows`; None to show no doubts.
    """
    shown = short_name(
        (context.stored is not None and context.stored.logged[0]) or context.source.name
    )
    left_out = [
        (split.name, name, reason) for split in context.splits for name, reason in split.left_out
    ]
    tables, answer_tables = _divide_answer_tables(context, answers)
    for key, title, columns, rows in (
        (
            "left_out",
            "Items that the model could not score, which no figure counts",
            LEFT_OUT,
            left_out,
        ),
        ("failed", "Requests of the questions that have no answer", FAILED, failed_of(context)),
    ):
        if rows:
            tables.append(Table(key, title, columns, tuple(rows)))
    say = WORDS.of(
        context=context, record=record, outcomes=outcomes, command=command, answers=answers
    )
    prompt = None
    if context.prompted is not None and record["model"]["prompt"] is not None:
        # No section says how many generated answers are right, as they have no confidence.
        right = answers.sentence if answers is not None and context.answers_once else ""
        prompt = {"told": context.prompted.describe(), "right": right, "server": context.server}
    figures = [figure for _, result in sort_worst_first(outcomes) for figure in result.by_item]
    return render_page(
        Page(
            title=f"Audit of {shown} on {context.dataset_name}",
            heading=f"Is {shown} right for the right reasons?",
            facts=say.pairs("facts"),
            outcomes=outcomes,
            prompt=prompt,
            made=say.pairs("made"),
            made_tables=tables,
            answer_tables=answer_tables,
            command=command,
            subject=shown,
            items=collect_items(context, figures),
            files=say.pairs("files"),
            rows=audited_rows,
        )
    )
