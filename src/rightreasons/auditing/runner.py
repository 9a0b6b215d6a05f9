"""The audit: one model, one dataset, the questions, and a report."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import os
import platform
import shlex
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rightreasons
from rightreasons.auditing.asking import open_asked
from rightreasons.auditing.context import (
    VALIDATION_SPLITS,
    AuditContext,
    AuditSplit,
    choose_splits,
    take_split,
)
from rightreasons.auditing.items import items_file
from rightreasons.auditing.options import AuditOptions, StoredOptions, question_options
from rightreasons.auditing.page.asked import asked_of
from rightreasons.auditing.page.items import items_of
from rightreasons.auditing.page.parts import Applicability, Column, Section, Table, applies_not
from rightreasons.auditing.page.report import Outcome, render_page
from rightreasons.auditing.page.words import not_scored_told, percent, short_name
from rightreasons.auditing.plan import plan_lines
from rightreasons.auditing.predictions import predictions_file
from rightreasons.auditing.questions import load_sections
from rightreasons.auditing.reports import FIGURES_FILE, OWN, PAGE, Report
from rightreasons.auditing.schema import AUDIT_FILE, SCHEMA_VERSION, check_audit
from rightreasons.auditing.stored import StoredModel, open_stored
from rightreasons.data.opening.logs.models import logged_model
from rightreasons.foundations.atomic_write import check_folder
from rightreasons.foundations.options import Options
from rightreasons.foundations.sentences import checks_kinds, counted, ends_all, in_one_sentence
from rightreasons.foundations.validation import check_options
from rightreasons.models.prompting.prompt import Prompt
from rightreasons.models.prompting.prompted import Prompted
from rightreasons.models.running.bars import bars_about
from rightreasons.models.servers.options import ServerOptions

if TYPE_CHECKING:
    import datasets

    from rightreasons.auditing.asking import Asked
    from rightreasons.models.scoring.choices import AnyScorer

_TASKS = {"multiple_choice": "multiple choice", "confidence": "answers and their confidence"}

_PACKAGES = ("rightreasons", "torch", "transformers", "datasets", "numpy", "scipy")


@dataclasses.dataclass(frozen=True, eq=False)
class AuditResult:
    """What an audit found.

    Attributes:
        out: The folder of the report: index.html, audit.json, figures/ and predictions/.
        audit: What audit.json holds (docs/audit_schema.md): also the questions that an earlier audit answered.
        outcomes: The questions that were asked now, with their answers.
        written: Whether this process wrote the report: of several, the main one does.
    """

    out: Path
    audit: dict[str, Any]
    outcomes: tuple[Outcome, ...]
    written: bool = True

    @property
    def page(self) -> Path:
        """The report."""
        return self.out / PAGE

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The questions that could not be answered because of an error."""
        return tuple(outcome for outcome in self.outcomes if outcome.status == "failed")

    def __getitem__(self, question: str) -> Outcome:
        for outcome in self.outcomes:
            if outcome.question == question:
                return outcome
        raise KeyError(question)

    def to_dict(self) -> dict[str, Any]:
        """Return what audit.json holds."""
        return self.audit


@checks_kinds
def audit(
    model: str | os.PathLike[str] | AnyScorer | None = None,
    dataset: str | os.PathLike[str] | datasets.Dataset | Mapping[str, datasets.Dataset] | None = None,
    *,
    out: str | os.PathLike[str] = "report",
    questions: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    progress: bool = True,
    raise_errors: bool = False,
    command: str | None = None,
    tell: Callable[[str], object] | None = None,
    **settings: Any,
) -> AuditResult:
    """Ask the questions of one model on one dataset, and write the report.

    The model reads each item once. What it said is kept in the folder of the report, so that further questions reuse it
    and an audit that was killed resumes. Questions that are asked later about the same model, items and settings are
    added to the report; a report about others is set aside. All files of a report change together, or none does.

    Args:
        model: A folder or a hub id of a sequence classifier, a multiple-choice model or a causal language model, or a
            loaded `Classifier`, a scorer of choices from `load_chooser`, or a `Prompted`; None with `predictions`.
        dataset: A name of `rightreasons.data`, a hub id, a local file or folder, or loaded data; None where a file of
            predictions has all that is asked about its items.
        out: The folder of the report.
        questions: Names from `available_questions()`; None for all that apply.
        options: Question -> its options (`rightreasons.measuring.options`).
        name: What the report calls the data; None for its name or path.
        progress: Whether to show progress bars.
        raise_errors: Whether an error inside a question is raised; else the report says so in one sentence and the
            others go on.
        command: What the report names as the command that makes it again; None to compose it.
        tell: Called before the model reads anything with what a person should know then, such as which label is which
            class; None to leave it to the report.
        **settings: The fields of `AuditOptions`; those of `Prompt` and of `ServerOptions`, which say how a language
            model is asked; and
            those of `StoredOptions`, to audit stored predictions instead of a model. Questions that a model would have
            to answer anew then say so.

    Returns:
        An `AuditResult`: the folder, the audit as plain values, and the outcomes.

    Raises:
        TypeError: If an argument is of the wrong kind.
        ValueError: If an option is unknown, the model is no classifier, a column is missing, the data's labels are not
            the model's, or no question could be answered because of errors; an earlier report is then as it was.
        FileNotFoundError: If the data is not there.
    """
    sections = load_sections(questions)
    asked = [section.question for section in sections]
    if not isinstance(settings.get("split", ""), (str, type(None))):  # a list, as code names splits
        settings["split"] = ",".join(settings["split"])
    check_options(
        settings, (*AuditOptions.names(), *StoredOptions.names(), *Prompt.names(), *ServerOptions.names()), "audit"
    )
    stored = StoredOptions.read({key: settings.pop(key) for key in StoredOptions.names() if key in settings}, "audit")
    prompt = Prompt.read({key: settings.pop(key) for key in Prompt.names() if key in settings}, "audit")
    server = ServerOptions.read({key: settings.pop(key) for key in ServerOptions.names() if key in settings}, "audit")
    given = AuditOptions.read(settings, "audit")
    chosen = question_options(asked, options)
    _check_source(model, dataset, stored)
    folder = check_folder(out, own=OWN)
    if name is None:
        own = stored.predictions if dataset is None else dataset
        name = os.fspath(own) if isinstance(own, (str, os.PathLike)) else "the data"
    classifier: Asked | StoredModel
    if stored.predictions is not None:
        if prompt.changed():
            raise ValueError(
                f"Expected no `{next(iter(prompt.changed()))}` for {stored.predictions}, which is answered."
            )
        opened = open_stored(stored, given, dataset, name)
        classifier, data, splits, spare = opened.model, opened.data, [opened.chosen], opened.spare
    else:
        needs_labels = any(section.needs_labels for section in sections)
        data, classifier = open_asked(model, dataset, given, prompt, server, require_labels=needs_labels)
        splits = choose_splits(data, given.split, name)
        spare = next((s for s in VALIDATION_SPLITS if s in data and s not in splits and len(data[s])), None)
    again = audit_command(model, dataset, given, None, {}, stored, prompt, server)
    how: dict[str, Any] = {"out": folder, "progress": progress, "fail_fast": given.fail_fast, "command": again}
    context = _context(classifier, name, data, splits, spare, given, **how)
    if tell is not None and _is_main():
        for line in (*_labels_told(context), *_padding_told(classifier)):
            tell(line)
    # Check every question's applicability first, so that a bad suite or folder fails before any computation.
    applicable = [(section, _applies(section, context, chosen[section.question])) for section in sections]
    everything = {**given.to_dict(), **stored.to_dict(), "prompt": prompt.to_dict(), "server": server.to_dict()}
    report = Report(context, everything)
    if tell is not None and _is_main():
        for line in plan_lines(context, applicable, chosen):
            tell(line)
    context.score_all(section.reads for section in report.sections(asked))
    if tell is not None and _is_main():
        for line in _left_out_told(context):
            tell(line)
    for section, its in report.to_ask_again(asked):
        applicable.append((section, _applies(section, context, its)))
        chosen[section.question] = its
    outcomes: list[Outcome] = []
    n_applicable = sum(map(bool, (applies for _, applies in applicable)))
    for section, applies in applicable:
        place = sum(one.status != "skipped" for one in outcomes) + 1
        with bars_about(f"{place}/{n_applicable} {section.question}"):
            outcomes.append(_ask(section, applies, context, chosen[section.question], raise_errors))
    _check_answered(outcomes)
    is_main = _is_main()
    with report.joined(outcomes, chosen) if is_main else contextlib.nullcontext((outcomes, chosen)) as joined:
        whole, options_of = joined
        record = _record(context, whole, everything, options_of, report.subject)
        check_audit(record)
        if is_main:
            if command is None:
                names = list(options_of) if questions or len(options_of) > len(chosen) else None
                command = audit_command(model, dataset, given, names, options_of, stored, prompt, server)
            record = report.write(record, whole, _page(context, record, whole, command))
    return AuditResult(folder, record, tuple(one for one in outcomes if one.question in asked), is_main)


def audit_command(
    model: Any,
    dataset: Any,
    settings: AuditOptions,
    questions: Sequence[str] | None,
    options: Mapping[str, Options],
    stored: StoredOptions | None = None,
    *asked: Options,
) -> str:
    """Compose the command line that makes a report again; "" where model or data are objects."""
    sources = [value for value in (model, dataset) if value is not None]
    if not all(isinstance(value, (str, os.PathLike)) for value in sources):
        return ""
    words = ["rightreasons", "audit", *map(os.fspath, sources)]
    words += stored.flags() if stored is not None else []
    words += ["--questions", ",".join(questions)] if questions else []
    words += settings.flags()
    words += [word for each in asked for word in each.flags()]
    for question, its in options.items():
        words += its.flags(f"{question}-")
    return shlex.join(words)


# ------------------------------------------------------------------------------------------------------------- private


def _context(
    classifier: Asked | StoredModel,
    name: str,
    data: Mapping[str, datasets.Dataset],
    chosen: Sequence[str],
    spare: str | None,
    given: AuditOptions,
    **settings: Any,
) -> AuditContext:
    # A label that occurs in one split tells where the numbers of all of them begin.
    seen = {
        int(label)
        for rows in data.values()
        if classifier.label_names is not None and "label" in rows.column_names
        for label in np.unique(rows["label"][:])
        if label >= 0
    }

    def take(split: str, role: Any) -> AuditSplit:
        return take_split(
            data[split],
            name=split,
            role=role,
            model_names=classifier.label_names,
            where=name,
            seen=seen,
            first_label=given.first_label,
            limit=given.limit,
            seed=given.seed,
            groups_column=given.groups_column,
        )

    splits = [take(split, "primary" if position == 0 else "comparison") for position, split in enumerate(chosen)]
    validation = None if spare is None else take(spare, "validation")
    if validation is not None and not validation.labeled.any():
        validation = None
    return AuditContext(
        classifier=classifier,
        dataset_name=name,
        splits=splits,
        validation=validation,
        train=data.get("train") if "train" not in chosen else None,
        seed=given.seed,
        confidence_level=given.confidence_level,
        n_resamples=given.n_resamples,
        batch_size=given.batch_size,
        data_dir=given.data_dir,
        **settings,
    )


def _check_source(model: Any, dataset: Any, stored: StoredOptions) -> None:
    """Check that there is a model with data, or stored predictions."""
    odd = next(iter(stored.changed()), None) if stored.predictions is None else None
    if odd is not None:
        raise ValueError(f"Expected `predictions`, a file, where `{odd}` is given, but there is none.")
    if stored.predictions is None and (model is None or dataset is None):
        raise ValueError("Expected a model and a data set, or `predictions`, a file of stored ones.")
    if stored.predictions is not None and model is not None:
        raise ValueError(f"Expected a model or `predictions`, but got both: {model} and {stored.predictions}.")


def _applies(section: Section, context: AuditContext, options: Options) -> Applicability:
    if context.stored is not None and section.without_model:
        return applies_not(section.without_model)
    return section.applies(context, options)


def _ask(
    section: Section, applicability: Applicability, context: AuditContext, options: Options, raise_errors: bool
) -> Outcome:
    if not applicability:
        return Outcome(section.question, section.title, "skipped", applicability.reason)
    try:
        return Outcome(section.question, section.title, "answered", "", section.run(context, options))
    except Exception as error:
        if raise_errors or ends_all(error):
            raise
        # One question that fails must not lose what the model said, nor the answers to the others.
        sentence = in_one_sentence(error)
        warnings.warn(f"The question {section.question!r} could not be answered. {sentence}", stacklevel=3)
        return Outcome(section.question, section.title, "failed", sentence)


def _check_answered(outcomes: Sequence[Outcome]) -> None:
    """Refuse to write a report in which errors left no answer; an error that all have in common is reported once."""
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    if not failed or any(outcome.status == "answered" for outcome in outcomes):
        return
    reasons = dict.fromkeys(outcome.reason for outcome in failed)
    if len(reasons) == 1:
        raise ValueError(next(iter(reasons)))
    told = " ".join(f"{outcome.question}: {outcome.reason}" for outcome in failed)
    raise ValueError(f"Expected an answer to at least one question, but each failed. {told}")


def _record(
    context: AuditContext,
    outcomes: Sequence[Outcome],
    settings: Mapping[str, Any],
    options: Mapping[str, Options],
    subject: str,
) -> dict[str, Any]:
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
            "batching": (context.scores().way or None) if context.has_scores(context.primary) else None,
            "prompt": None if context.prompted is None else context.prompted.describe(),
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


def _page(context: AuditContext, record: dict[str, Any], outcomes: Sequence[Outcome], command: str) -> str:
    model, data = context.model_name, context.dataset_name
    primary = context.primary
    shown = short_name((context.stored is not None and logged_model(model)) or model)
    items = f"{len(primary):,}" + (f" of {primary.n_available:,}" if len(primary) < primary.n_available else "")
    environment = ", ".join(f"{package} {version}" for package, version in record["environment"].items())
    if context.stored is not None:
        source = [("Stored predictions", model), ("Columns", context.stored.used)]
    else:
        n_parameters = record["model"]["n_parameters"]
        source = [("Model", model if n_parameters is None else f"{model} ({n_parameters:,} parameters)")]
        if batching := record["model"]["batching"]:
            source.append(("Batches, as a trial of the model found exact", batching))
    made = [
        *source,
        ("Fingerprint of the model", record["model"]["fingerprint"]),
        ("Dataset", data),
        ("Labels", _labels_in_words(context)),
        ("Intervals", f"{100 * context.confidence_level:g}%, {context.n_resamples:,} resamples where bootstrapped"),
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
            (
                *(s[name] for name in ("name", "role", "n_items", "n_available", "n_truncated")),
                s["fingerprint"][:12],
            )
            for s in record["dataset"]["splits"]
        ),
    )
    tables = (splits, *_left_out_table(context))
    return render_page(
        title=f"Audit of {shown} on {data}",
        heading=f"Is {shown} right for the right reasons?",
        facts=[
            ("on", data),
            ("split", primary.name),
            ("items", items),
            *([("right", f"{int(primary.labels.sum()):,} of {len(primary):,}")] if _only_right(context) else []),
            *([("left out", f"{len(primary.left_out):,}, named below")] if primary.left_out else []),
            ("classes", str(len(context.label_names)))
            if context.label_names
            else ("task", "generated answers" if _only_right(context) else _TASKS[context.task]),
            ("made", record["created"][:10]),
        ],
        outcomes=outcomes,
        asked=[]
        if context.prompted is None
        else [asked_of(context.prompted.describe(), _right(context), context.server)],
        made=made,
        made_tables=tables,
        command=command,
        subject=shown,
        items=items_of(context),
        files=[
            (AUDIT_FILE, "all figures (audit.json)"),
            (FIGURES_FILE, "figures as a table (CSV)"),
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


def _left_out_table(context: AuditContext) -> tuple[Table, ...]:
    """Name the items that the model could not score, in no table or one."""
    rows = tuple((split.name, name, reason) for split in context.all_splits for name, reason in split.left_out)
    columns = (Column("split", "Split", "text"), Column("id", "Item", "text"), Column("reason", "Reason", "text"))
    title = "Items that the model could not score, which no figure counts"
    return (Table(key="left_out", title=title, columns=columns, rows=rows),) if rows else ()


def _labels_told(context: AuditContext) -> list[str]:
    """Say which label is which class, and how many items have no label."""
    lines = []
    if context.primary.class_of is not None:
        lines.append(f"Labels of {context.dataset_name} matched with the model's {context.primary.label_mapping}.")
    for split in context.splits:
        n_unlabeled = len(split) - int(split.labeled.sum())
        if n_unlabeled:
            has = "has" if n_unlabeled == 1 else "have"
            lines.append(f"{n_unlabeled:,} of {counted(len(split), 'item')} of the split {split.name} {has} no label.")
    return lines


def _left_out_told(context: AuditContext) -> list[str]:
    """Name the items that the model could not score."""
    return [
        f"{split.name}: {line}"
        for split in context.all_splits
        for line in not_scored_told("item", len(split), split.left_out)
    ]


def _padding_told(classifier: Asked | StoredModel) -> list[str]:
    """Say what pads the texts of a model without a padding token."""
    if isinstance(classifier, (StoredModel, Prompted)):
        return []
    tokenizer, config = classifier.tokenizer, classifier.model.config
    if tokenizer.pad_token_id is not None or getattr(config, "pad_token_id", None) is not None:
        return []
    token = "its first token" if tokenizer.eos_token is None else f"its end token {tokenizer.eos_token!r}"
    return [f"{classifier.name} has no padding token: texts are padded with {token}, which it does not attend to."]


def _right(context: AuditContext) -> str:
    """Say how many generated answers are right, where no section does, as they have no confidence."""
    split = context.primary
    if not context.answers_once or not context.has_scores(split) or not split.labeled.any():
        return ""
    right = (context.scores(split).predicted == split.labels)[split.labeled]
    total = len(right) + len(split.left_out)
    return (
        f"The model answers {len(right):,} of {counted(total, 'item')} of “{split.name}”, {int(right.sum()):,} of them "
        f"rightly: {percent(right.sum() / total)} of all, {percent(right.mean())} of those answered."
    )


def _only_right(context: AuditContext) -> bool:
    """Say whether all that is known of stored answers is which of them are right."""
    return context.stored is not None and context.answers_once


def _labels_in_words(context: AuditContext) -> str:
    names = context.label_names
    if context.task == "confidence":
        return "whether each given answer was right"
    said = f"{', '.join(names[:20])}{', …' if len(names) > 20 else ''}" if names else "the index of the right choice"
    return f"{said} (matched with the data's {context.primary.label_mapping})" if names else said


def _is_main() -> bool:
    from rightreasons.models.running.processes import processes

    return processes().is_main
