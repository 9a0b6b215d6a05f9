"""The folder of a report: its files change together, and questions that are asked later are added to it.

Also what its audit.json records, and the facts on its page.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import datetime
import json
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

import rightreasons
from rightreasons.audited.context import AuditContext, AuditSplit, predictions_file, save_predictions
from rightreasons.core.arrays import Result, plain
from rightreasons.core.errors import counted, tell
from rightreasons.core.intervals import Estimate
from rightreasons.core.options import Options, QuestionOptions
from rightreasons.core.store import (
    SET_ASIDE,
    WORK,
    csv_text,
    digest_of_files,
    digest_of_value,
    installed_version,
    json_lines,
    json_text,
    package_code,
    read_record,
    swapped_in,
    write_bytes,
    write_record,
    write_text,
)
from rightreasons.page.parts import Column, ItemFigure, Section, Table
from rightreasons.page.prose import badness, short_name, written
from rightreasons.report.answers import AnswerFigures, failed_of
from rightreasons.report.questions import available_questions, load_sections, question_options
from rightreasons.report.render import PAGE, Asked, Outcome, Page, items_of, render_page, sentences
from rightreasons.report.schema import AUDIT_FILE, SCHEMA_VERSION, check_audit, read_audit, signed

COLUMNS = ("figure", "id", "group", "value")


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
    rows: list[tuple[str, ...]] = [COLUMNS]
    for figure in figures:
        groups = figure.groups or ("",) * len(figure.ids)
        values = (f"{value:.17g}" for value in figure.values)
        rows += zip([figure.key] * len(figure.ids), figure.ids, groups, values, strict=True)
    return csv_text(rows)


def read_items(report: Path, question: str, result: Mapping[str, Any]) -> dict[str, ItemFigure]:
    """Read the figures of a question with their items.

    Args:
        report: The folder of a report.
        question: The question.
        result: Its result in audit.json.

    Returns:
        Key -> figure; {} where the report has none.
    """
    about = {each["key"]: each for each in result.get("by_item", ())}
    file = report / items_file(question)
    if not about or not file.is_file():
        return {}
    rows: dict[str, list[dict[str, str]]] = {key: [] for key in about}
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            rows[row["figure"]].append(row)
    return {
        key: ItemFigure.of(
            key,
            each["name"],
            each["better"],
            [row["id"] for row in rows[key]],
            [float(row["value"]) for row in rows[key]],
            low=each["low"],
            high=each["high"],
            unit=each["unit"],
            groups=tuple(row["group"] for row in rows[key]) if any(row["group"] for row in rows[key]) else (),
        )
        for key, each in about.items()
    }


# -------------------- The answers of an audit on disk, so that a report keeps them when other questions are asked later


FOLDER = "answers"
"""The folder, in that of work, of the answers."""

_ANSWER = TypeAdapter(Outcome)


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
        items = "" if self.n is None else f" on {counted(self.n, 'item')}"
        return f"{written(self.estimate, self.unit)}{items}{f' of {self.split}' if self.split else ''}"


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
        if answer["result"] is None:
            continue
        for path, figure in _figures(answer["question"], answer["result"]):
            figures.setdefault(path, figure)
    return figures


def figures_table(audit: Mapping[str, Any]) -> str:
    """Write the figures of an audit as a table for a spreadsheet: a row per figure, with the path that `gate` takes.

    Args:
        audit: What `read_audit` returns.

    Returns:
        Comma-separated values, the first row with the names of the columns.
    """
    rows: list[tuple[Any, ...]] = [("figure", "name", "value", "low", "high", "level", "unit", "better", "split", "n")]
    for figure in audit_figures(audit).values():
        it = figure.estimate
        cells = (figure.path, figure.name, it.value, it.low, it.high, it.level)
        rows.append((*cells, figure.unit, figure.better, figure.split, figure.n))
    return csv_text(rows)


def answers_worst_first(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the questions of an audit that were answered, in the order of the report, `first_screen.worst_first`."""
    answers = [answer for answer in audit.get("questions", ()) if answer["result"] is not None]

    def key(answer: Mapping[str, Any]) -> tuple[int, float]:
        result = answer["result"]
        return badness(result["verdict"]["tone"], (result.get("finding") or {}).get("size", 0.0))

    return sorted(answers, key=key)


def short_path(path: str) -> str:
    """Return a path without the word "shortcut" in the key, so that the keys of audit.json may be typed too.

    Example:
        >>> short_path("shortcuts.shortcut_rate.low"), short_path("shortcuts.deciding_share")
        ('shortcuts.rate.low', 'shortcuts.deciding_share')
    """
    question, dot, rest = path.partition(".")
    return question + dot + (rest.replace("shortcut_", "") if question == "shortcuts" else rest)


def _figures(question: str, result: Mapping[str, Any]) -> Iterator[tuple[str, AuditFigure]]:
    texts = {}
    for headline in _headlines(result):
        path = short_path(f"{question}.{headline['key']}")
        texts[headline["key"]] = headline
        yield path, _figure(path, question, headline, headline["estimate"], headline["split"], headline["n"])
    for split, estimates in (result["data"].get("splits") or {}).items():
        for key, estimate in estimates.items():
            if key in texts and isinstance(estimate, dict) and "value" in estimate and split != texts[key]["split"]:
                path = short_path(f"{question}.{'_'.join(split.split())}.{key}")
                yield path, _figure(path, question, texts[key], estimate, split, None)


def _headlines(result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield from result["headlines"]
    for part in result["parts"]:
        yield from part["headlines"]
    figures = result["data"].get("figures")
    for figure in figures.values() if isinstance(figures, dict) else ():
        if isinstance(figure, dict) and {"key", "estimate", "unit"} <= figure.keys():
            yield figure


def _figure(
    path: str, question: str, text: Mapping[str, Any], estimate: Mapping[str, Any], split: str, n: int | None
) -> AuditFigure:
    found = Estimate(**estimate)
    return AuditFigure(path, question, text["key"], text["name"], found, text["unit"], text["better"], split, n)


REPLIES_FILE = "predictions/replies.jsonl"
"""What a prompted model wrote to each request: text, thinking, refusal, finish and usage."""

FIGURES_FILE = "figures.csv"

AGAIN_FILE = "audit.yaml"
"""What makes the report again: `rightreasons audit audit.yaml`."""

OWN = (AUDIT_FILE, PAGE, FIGURES_FILE, AGAIN_FILE, "figures", "predictions", "items", "ranking.csv")
"""What an audit writes into the folder of a report."""

WAYS = "ways.json"
"""What `rightreasons ways` writes beside it, or before it."""

# What has no part in any figure.
_BESIDE = ("batch_size", "fail_fast")


@dataclasses.dataclass(frozen=True)
class Report:
    """The report that an audit writes, and the one that is there already.

    Attributes:
        context: What is audited.
        subject: A digest of what the report is about: model, items and settings, but not questions. Questions about the
            same subject are joined in one report.
    """

    context: AuditContext
    subject: str

    @classmethod
    def of(cls, context: AuditContext, settings: Mapping[str, Any]) -> Report:
        """Return the report of an audit with the options of the audit as a whole."""
        about = {name: value for name, value in settings.items() if name not in _BESIDE}
        return cls(context, digest_of_value([context.digest, about]))

    def sections(self, questions: Sequence[str]) -> list[Section]:
        """Return the sections of the questions that are asked and of those that the report has."""
        return load_sections([*questions, *self._earlier(questions)])

    def to_ask_again(self, questions: Sequence[str]) -> list[tuple[Section, QuestionOptions]]:
        """Return the questions of the earlier report whose answers are gone or of other code, with their options."""
        kept = {outcome.question for outcome, _ in self._kept(questions)}
        return [
            (section, options)
            for question, options in self._earlier(questions).items()
            if question not in kept
            for section in load_sections([question])
        ]

    @contextlib.contextmanager
    def joined(
        self, outcomes: Sequence[Outcome], options: Mapping[str, Options]
    ) -> Iterator[tuple[list[Outcome], dict[str, Options]]]:
        """Join the answers with those that the report has, while no other command writes it.

        Args:
            outcomes: The questions with their answers.
            options: Question -> its options.

        Yields:
            All outcomes in the order of the page, and question -> its options.
        """
        self.context.out.mkdir(parents=True, exist_ok=True)
        (self.context.out / WORK).mkdir(exist_ok=True)
        for outcome in outcomes:
            if outcome.status == "answered":
                value = _ANSWER.dump_python(outcome, mode="json", fallback=plain, warnings=False)
                inputs = self._inputs(outcome.question, options[outcome.question])
                write_record(self._kept_in(outcome.question), value, inputs)
        kept = self._kept(list(options))
        place = {question: number for number, question in enumerate(available_questions())}
        whole = sorted([*outcomes, *(each for each, _ in kept)], key=lambda each: place[each.question])
        its = {**options, **{each.question: options for each, options in kept}}
        yield whole, {each.question: its[each.question] for each in whole}

    def write(
        self, record: dict[str, Any], outcomes: Sequence[Outcome], page: str, again: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Write the files of the report, all or none; a report about another subject is set aside.

        Args:
            record: What audit.json holds.
            outcomes: The questions with their answers.
            page: The page.
            again: What makes the report again, for audit.yaml; {} where a file cannot say it.

        Returns:
            The record with the digests of the files beside it.
        """
        earlier = self._read()
        with swapped_in(self.context.out, self._files) as new:
            for split in self.context.splits:
                if self.context.has_scores(split):
                    save_predictions(new / predictions_file(split.name), split, self.context.scores(split))
            replies = {} if self.context.prompted is None else self.context.prompted.replies
            if replies:
                rows = (
                    {"id": name, "replies": [reply.to_dict() for reply in of_item]} for name, of_item in replies.items()
                )
                write_text(new / REPLIES_FILE, json_lines(rows))
            for outcome in outcomes:
                for plot in outcome.result.plots if outcome.result else ():
                    write_bytes(new / "figures" / f"{plot.key}.png", plot.png)
                for name, text in outcome.result.files.items() if outcome.result else ():
                    write_text(new / name, text)
                if outcome.result and outcome.result.by_item:
                    write_text(new / items_file(outcome.question), items_table(outcome.result.by_item))
            write_text(new / PAGE, page)
            if again:
                write_text(new / AGAIN_FILE, yaml.safe_dump(dict(again), sort_keys=False, allow_unicode=True))
            write_text(new / FIGURES_FILE, figures_table(record))
            record = signed({**record, "files": digest_of_files(new)})
            write_text(new / AUDIT_FILE, json_text(record))
            if earlier is None or earlier.get("subject") != self.subject:
                self._set_aside(earlier)
        return record

    def _inputs(self, question: str, options: Options) -> str:
        (section,) = load_sections([question])
        left_out = [[split.name, list(split.left_out)] for split in self.context.read(section.reads)]
        return digest_of_value([self.subject, left_out, question, options.to_dict(), package_code()])

    def _read(self) -> dict[str, Any] | None:
        """Read the audit.json that is there; None where there is none that can be read."""
        with contextlib.suppress(OSError, ValueError):
            return read_audit(self.context.out)
        return None

    def _earlier(self, questions: Sequence[str]) -> dict[str, QuestionOptions]:
        """Return the options of the questions of the report that is there, if it is about the same subject."""
        audit = self._read()
        if audit is None or audit.get("subject") != self.subject:
            return {}
        others = {name: its for name, its in audit["settings"]["options"].items() if name not in questions}
        with contextlib.suppress(TypeError, ValueError):
            return question_options(others, others)
        return {}  # of a version with other options

    def _kept(self, questions: Sequence[str]) -> list[tuple[Outcome, Options]]:
        """Return the outcomes of other questions that the report has, where they still hold."""
        kept: list[tuple[Outcome, Options]] = []
        for question, options in self._earlier(questions).items():
            stored = read_record(self._kept_in(question), self._inputs(question, options))
            with contextlib.suppress(ValidationError):  # of another version of these parts
                kept += [] if stored is None else [(_ANSWER.validate_json(json.dumps(stored)), options)]
        return kept

    def _kept_in(self, question: str) -> Path:
        return self.context.out / WORK / FOLDER / f"{question}.json"

    def _files(self) -> list[str]:
        """Name the files of the report that is there."""
        paths = [path for name in OWN for path in (self.context.out / name, *(self.context.out / name).glob("**/*"))]
        return [path.relative_to(self.context.out).as_posix() for path in paths if path.is_file()]

    def _set_aside(self, earlier: Mapping[str, Any] | None) -> None:
        """Keep the files of another report; they also stay in their places until the new ones are there."""
        files = self._files()
        content = earlier if earlier is not None else digest_of_files(self.context.out, files)
        place = self.context.out / SET_ASIDE / digest_of_value(content)[:16]
        if not files or place.exists():
            return
        half = place.with_name(f".{place.name}.part")
        shutil.rmtree(half, ignore_errors=True)
        for name in files:
            (half / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(self.context.out / name, half / name)
        half.rename(place)
        why = "is damaged" if earlier is None else "is about another model, data or settings"
        tell(f"The earlier report in {self.context.out} {why}: it is set aside in {place}.")


SPLITS = (
    Column("name", "Split", "text"),
    Column("role", "Part", "text"),
    Column("n_items", "Items audited", "count"),
    Column("n_available", "Items in the split", "count"),
    Column("n_truncated", "Cut to the model's length", "count"),
    Column("fingerprint", "Fingerprint", "text"),
)
LEFT_OUT = (Column("split", "Split", "text"), Column("id", "Item", "text"), Column("reason", "Reason", "text"))
FAILED = (Column("reason", "Reason", "text"), Column("n", "Requests", "count"), Column("first", "Such as", "text"))

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
    scorer: Any = context.source if context.prompted is None else getattr(context.prompted.engine, "scorer", None)
    description = scorer.describe() if hasattr(scorer, "describe") else {}
    # A server batches by itself, and what is said of answers that cannot be read is told elsewhere.
    way = context.scores().way if context.server is None and context.has_scores(context.primary) else ""
    prompted = context.prompted
    if prompted is not None and prompted.rendering.scoring == "generated":
        way = way.partition("; ")[0]
    failed = [{column.key: cell for column, cell in zip(FAILED, row, strict=True)} for row in failed_of(context)]
    versions = {package: version for package in _PACKAGES if (version := installed_version(package)) is not None}
    return {
        "schema_version": SCHEMA_VERSION,
        "rightreasons": rightreasons.__version__,
        "created": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "model": {
            "name": context.model_name,
            "task": context.task,
            "logged": None if context.stored is None else list(context.stored.logged),
            "label_names": list(context.label_names or ()),
            "fingerprint": context.model_fingerprint,
            "n_parameters": context.n_parameters,
            "weights": description.get("weights") or None,
            "batching": way or None,
            # Where no question reads scores, nothing was asked in this way.
            "prompt": prompted.describe() | {"failed": failed} if prompted is not None and context.answers else None,
            "server": context.server,
        },
        "dataset": {
            "name": context.dataset_name,
            "label_names": list(context.primary.data_label_names),
            "label_mapping": context.primary.label_mapping,
            "label_classes": context.primary.label_classes(context.label_names),
            "primary": context.primary.name,
            "splits": [_split_record(context, split) for split in context.splits],
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


def page_of(
    context: AuditContext,
    record: dict[str, Any],
    outcomes: Sequence[Outcome],
    command: str,
    answers: AnswerFigures | None,
) -> str:
    """Render the page of an audit by its record; `command` makes it again, and `answers` are of `measure_answers`."""
    model = context.model_name
    shown = short_name((context.stored is not None and context.stored.logged[0]) or model)
    splits = [{**split, "fingerprint": split["fingerprint"][:12]} for split in record["dataset"]["splits"]]
    left_out = [(split.name, name, reason) for split in context.splits for name, reason in split.left_out]
    tables = [] if answers is None else [answers.table()]
    for key, title, columns, rows in (
        ("splits", "Splits", SPLITS, [tuple(each[column.key] for column in SPLITS) for each in splits]),
        ("left_out", "Items that the model could not score, which no figure counts", LEFT_OUT, left_out),
        ("failed", "Requests of the questions that have no answer", FAILED, failed_of(context)),
    ):
        if rows:
            tables.append(Table(key, title, columns, tuple(rows)))
    say = WORDS.of(context=context, record=record, outcomes=outcomes, command=command, answers=answers)
    prompts = []
    if context.prompted is not None and record["model"]["prompt"] is not None:
        # No section says how many generated answers are right, as they have no confidence.
        right = answers.sentence if answers is not None and context.answers_once else ""
        prompts = [Asked(context.prompted.describe(), right, context.server)]
    return render_page(
        Page(
            title=f"Audit of {shown} on {context.dataset_name}",
            heading=f"Is {shown} right for the right reasons?",
            facts=say.pairs("facts"),
            outcomes=outcomes,
            asked=prompts,
            made=say.pairs("made"),
            made_tables=tables,
            command=command,
            subject=shown,
            items=items_of(context),
            files=say.pairs("files"),
        )
    )
