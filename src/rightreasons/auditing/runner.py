"""The audit: one model, one dataset, the questions, and a report."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import platform
import shlex
import traceback
import warnings
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import rightreasons
from rightreasons.auditing.context import (
    VALIDATION_SPLITS,
    AuditContext,
    AuditSplit,
    choose_splits,
    take_split,
)
from rightreasons.auditing.page.parts import Applicability, Column, Section, Table
from rightreasons.auditing.page.report import Outcome, render_page
from rightreasons.auditing.predictions import predictions_file, save_predictions
from rightreasons.auditing.questions import load_sections
from rightreasons.auditing.schema import AUDIT_FILE, SCHEMA_VERSION, check_audit
from rightreasons.foundations.atomic_write import write_bytes, write_json, write_text
from rightreasons.foundations.results import plain
from rightreasons.foundations.validation import check_count, check_fraction, check_one_of, check_seed

if TYPE_CHECKING:
    import datasets

    from rightreasons.models.loading import Classifier
    from rightreasons.models.scoring.choices import Scorer

PAGE = "index.html"

TASKS = ("classification", "multiple_choice")

_PLAIN_NAMES = ("model", "output", "out", "best", "final", "latest")

_PACKAGES = ("rightreasons", "torch", "transformers", "datasets", "numpy", "scipy")


@dataclasses.dataclass(frozen=True, eq=False)
class AuditResult:
    """What an audit found.

    Attributes:
        out: The folder of the report: index.html, audit.json, figures/ and predictions/.
        audit: What audit.json holds (docs/audit_schema.md).
        outcomes: The questions with their answers.
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


def audit(
    model: str | os.PathLike[str] | Scorer,
    dataset: str | os.PathLike[str] | datasets.Dataset | Mapping[str, datasets.Dataset],
    *,
    out: str | os.PathLike[str] = "report",
    questions: Sequence[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    split: str | Sequence[str] | None = None,
    config: str | None = None,
    task: str | None = None,
    text_column: str | None = None,
    text_pair_column: str | None = None,
    label_column: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    revision: str | None = None,
    batch_size: int = 32,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    options: Mapping[str, Any] | None = None,
    progress: bool = True,
    raise_errors: bool = False,
    command: str | None = None,
    name: str | None = None,
) -> AuditResult:
    """Ask the questions of one model on one dataset, and write the report.

    The model reads each item once. What it said is kept in the folder of the report, so that further questions reuse it
    and an audit that was killed goes on where it stopped.

    Args:
        model: A folder or a hub id of a sequence classifier or a multiple-choice model, or a loaded `Classifier`,
            or a scorer of choices from `load_chooser`.
        dataset: A name of `rightreasons.data`, a hub id, a local file or folder, or loaded data.
        out: The folder of the report; an earlier report in it is replaced.
        questions: Names from `available_questions()`; None for all that apply.
        limit: At most so many items of each split, chosen by (seed, id); None for all.
        seed: Decides every random choice.
        split: The split or splits to audit, the first being what the headlines are about; None for the first of test,
            validation and dev that has labels, with the splits that are its variants.
        config: The configuration of the dataset.
        task: "classification" or "multiple_choice"; None to see what the model is.
        text_column: The column of texts (or prompts); None to look for a usual name.
        text_pair_column: The column of second texts.
        label_column: The column of labels; None to look for a usual name.
        data_dir: A folder of local copies of known datasets.
        revision: The revision of a model on the hub.
        batch_size: Items a batch.
        confidence_level: The level of every interval.
        n_resamples: The resamples of every bootstrap.
        options: Options of single questions by name.
        progress: Whether to show progress bars.
        raise_errors: Whether an error inside a question is raised; else the report says so and the others go on.
        command: What the report names as the command that makes it again; None to compose it.
        name: What the report calls the data; None for its name or path.

    Returns:
        An `AuditResult`: the folder, the audit as plain values, and the outcomes.

    Raises:
        TypeError: If an argument is of the wrong kind.
        ValueError: If the model is no classifier, a column is missing, or the data's labels are not the model's.
        FileNotFoundError: If the data is not there.
    """
    sections = load_sections(questions)
    seed = check_seed(seed)
    limit = None if limit is None else check_count(limit, "limit")
    check_count(batch_size, "batch_size")
    check_count(n_resamples, "n_resamples")
    check_fraction(confidence_level, "confidence_level", open_ends=True)
    folder = _check_out(out)
    given_task, task = task, _task(model, task)
    if name is None:
        name = os.fspath(dataset) if isinstance(dataset, (str, os.PathLike)) else "the data"
    columns = {"text_column": text_column, "text_pair_column": text_pair_column, "label_column": label_column}
    needs_labels = any(section.needs_labels for section in sections)
    data = _open(dataset, config, data_dir, task, columns, needs_labels)
    chosen = choose_splits(data, split, name)
    classifier = _load(model, task, revision)
    context = _context(
        classifier,
        name,
        data,
        chosen,
        limit=limit,
        out=folder,
        seed=seed,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        batch_size=batch_size,
        options={question: _as_texts(given) for question, given in (options or {}).items()},
        progress=progress,
    )
    # All are asked first whether they apply, so that an option that is wrong is told before anything is computed.
    applicable = [(section, section.applies(context)) for section in sections]
    outcomes = tuple(_ask(section, applies, context, raise_errors) for section, applies in applicable)
    if command is None:
        flags = {
            "config": config,
            "task": given_task,
            "split": split if split is None or isinstance(split, str) else ",".join(split),
            "questions": ",".join(questions) if questions else None,
            "limit": limit,
            "suite": context.options.get("behavior", {}).get("suite"),
            "max-cases": context.options.get("behavior", {}).get("max_cases"),
            "seed": seed or None,
            "text-column": text_column,
            "text-pair-column": text_pair_column,
            "label-column": label_column,
            "revision": revision,
        }
        command = _command(model, dataset, flags)
    record = _record(context, outcomes, limit=limit, questions=[section.question for section in sections])
    check_audit(record)
    is_main = _is_main()
    if is_main:
        _write(context, record, outcomes, command)
    return AuditResult(folder, record, outcomes, is_main)


# ------------------------------------------------------------------------------------------------------------- private


def _check_out(out: str | os.PathLike[str]) -> Path:
    if not isinstance(out, (str, os.PathLike)):
        raise TypeError(f"Expected `out` to be a folder, but got {out!r} ({type(out).__name__}).")
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"Expected `out` to be a folder, but {folder} is a file.")
    return folder


def _as_texts(options: Mapping[str, Any]) -> dict[str, Any]:
    """Turn paths among the options of a question into texts, which audit.json can hold."""
    return {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options.items()}


def _task(model: Any, task: str | None) -> str:
    if task is not None:
        return check_one_of(task, TASKS, "task")
    if hasattr(model, "label_names"):
        return "multiple_choice" if model.label_names is None else "classification"
    config = Path(model) / "config.json" if isinstance(model, (str, os.PathLike)) else None
    if config is not None and config.is_file():
        try:
            architectures = json.loads(config.read_text("utf-8")).get("architectures") or []
        except (ValueError, AttributeError):  # whatever is wrong with it, the loader says it better
            architectures = []
        if any(str(name).endswith("ForMultipleChoice") for name in architectures):
            return "multiple_choice"
    return "classification"


def _open(
    dataset: Any,
    config: str | None,
    data_dir: str | os.PathLike[str] | None,
    task: str,
    columns: Mapping[str, str | None],
    needs_labels: bool,
) -> dict[str, datasets.Dataset]:
    """Open every split of the data in the common schema."""
    from rightreasons.data.opening.splits import open_splits

    if task == "multiple_choice":
        columns = {"prompt_column": columns["text_column"], "label_column": columns["label_column"]}
    return open_splits(dataset, config, task=task, data_dir=data_dir, require_labels=needs_labels, **columns)


def _load(model: Any, task: str, revision: str | None) -> Classifier:
    from rightreasons.models.loading import Classifier, load_classifier, load_multiple_choice

    # A scorer of choices from `load_chooser` has what the audit asks of a classifier: model, name and no classes.
    if isinstance(model, Classifier) or hasattr(model, "label_names"):
        return cast("Classifier", model)
    return (load_multiple_choice if task == "multiple_choice" else load_classifier)(model, revision=revision)


def _context(
    classifier: Classifier,
    name: str,
    data: Mapping[str, datasets.Dataset],
    chosen: Sequence[str],
    *,
    limit: int | None,
    seed: int,
    **settings: Any,
) -> AuditContext:
    def take(split: str, role: Any) -> AuditSplit:
        return take_split(
            data[split],
            name=split,
            role=role,
            model_names=classifier.label_names,
            where=name,
            limit=limit,
            seed=seed,
        )

    splits = [take(split, "primary" if position == 0 else "comparison") for position, split in enumerate(chosen)]
    spare = next((s for s in VALIDATION_SPLITS if s in data and s not in chosen and len(data[s])), None)
    validation = None if spare is None else take(spare, "validation")
    if validation is not None and not validation.labelled.any():
        validation = None
    return AuditContext(
        classifier=classifier,
        dataset_name=name,
        splits=splits,
        validation=validation,
        train=data.get("train") if "train" not in chosen else None,
        seed=seed,
        **settings,
    )


def _ask(section: Section, applicability: Applicability, context: AuditContext, raise_errors: bool) -> Outcome:
    if not applicability:
        return Outcome(section.question, section.title, "skipped", applicability.reason)
    try:
        return Outcome(section.question, section.title, "answered", "", section.run(context))
    except Exception as error:
        if raise_errors:
            raise
        # One question that fails must not lose what the model said, nor the answers to the others.
        warnings.warn(f"{section.question} failed:\n{traceback.format_exc()}", stacklevel=2)
        return Outcome(section.question, section.title, "failed", f"Failed: {type(error).__name__}: {error}")


def _record(
    context: AuditContext, outcomes: Sequence[Outcome], *, limit: int | None, questions: Sequence[str]
) -> dict[str, Any]:
    classifier = context.classifier
    return {
        "schema_version": SCHEMA_VERSION,
        "rightreasons": rightreasons.__version__,
        "created": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "model": {
            "name": classifier.name,
            "task": context.task,
            "label_names": list(context.label_names or ()),
            "fingerprint": context.model_fingerprint,
            "n_parameters": int(classifier.model.num_parameters()),
        },
        "dataset": {
            "name": context.dataset_name,
            "label_names": list(context.primary.data_label_names),
            "label_mapping": context.primary.label_mapping,
            "primary": context.primary.name,
            "splits": [_split_record(context, split) for split in _all_splits(context)],
        },
        "settings": {
            "seed": context.seed,
            "limit": limit,
            "questions": list(questions),
            "confidence_level": context.confidence_level,
            "n_resamples": context.n_resamples,
            "options": plain(context.options),
        },
        "environment": _environment(),
        "questions": [outcome.to_dict() for outcome in outcomes],
    }


def _all_splits(context: AuditContext) -> tuple[AuditSplit, ...]:
    return (*context.splits, *([context.validation] if context.validation else []))


def _split_record(context: AuditContext, split: AuditSplit) -> dict[str, Any]:
    return {
        "name": split.name,
        "role": split.role,
        "n_items": len(split),
        "n_available": split.n_available,
        "n_truncated": int(context.scores(split).truncated),
        "fingerprint": split.fingerprint,
        "predictions": predictions_file(split.name),
    }


def _environment() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _write(context: AuditContext, record: dict[str, Any], outcomes: Sequence[Outcome], command: str) -> None:
    out = context.out
    for split in _all_splits(context):
        save_predictions(out / predictions_file(split.name), split, context.scores(split))
    drawn = set()
    for outcome in outcomes:
        for plot in outcome.result.plots if outcome.result else ():
            drawn.add(write_bytes(out / "figures" / f"{plot.key}.png", plot.png).name)
    for stale in (out / "figures").glob("*.png"):
        if stale.name not in drawn:
            stale.unlink()
    write_text(out / PAGE, _page(context, record, outcomes, command))
    # Last, as it says that the report is whole.
    write_json(out / AUDIT_FILE, record)
    context.forget_others()


def _page(context: AuditContext, record: dict[str, Any], outcomes: Sequence[Outcome], command: str) -> str:
    model, data = context.classifier.name, context.dataset_name
    primary = context.primary
    shown = short_name(model)
    items = f"{len(primary):,}" + (f" of {primary.n_available:,}" if len(primary) < primary.n_available else "")
    environment = ", ".join(f"{package} {version}" for package, version in record["environment"].items())
    made = [
        ("Model", f"{model} ({record['model']['n_parameters']:,} parameters)"),
        ("Fingerprint of the model", record["model"]["fingerprint"]),
        ("Dataset", data),
        ("Labels", _labels_in_words(context)),
        ("Intervals", f"{100 * context.confidence_level:g} %, {context.n_resamples:,} resamples where bootstrapped"),
        ("Seed", str(context.seed)),
        ("Software", environment),
        ("Made", record["created"]),
        ("Beside this page", "audit.json (all figures), figures/ (PNG), predictions/ (parquet, one row an item)"),
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
            (s["name"], s["role"], s["n_items"], s["n_available"], s["n_truncated"], s["fingerprint"][:12])
            for s in record["dataset"]["splits"]
        ),
    )
    return render_page(
        title=f"Audit of {shown} on {data}",
        heading=f"Is {shown} right for the right reasons?",
        facts=[
            ("on", data),
            ("split", primary.name),
            ("items", items),
            ("classes", str(len(context.label_names)) if context.label_names else "choices"),
            ("made", record["created"][:10]),
        ],
        outcomes=outcomes,
        made=made,
        made_tables=(splits,),
        command=command,
    )


def short_name(model: str) -> str:
    """Shorten the path of a model to what tells it from others; a hub id stays as it is."""
    path = Path(model)
    if not path.is_dir():
        return model
    parts = path.resolve().parts
    return (
        "/".join(parts[-2:]) if path.name.lower() in _PLAIN_NAMES or path.name.startswith("checkpoint") else path.name
    )


def _labels_in_words(context: AuditContext) -> str:
    names = context.label_names
    said = f"{', '.join(names[:20])}{', …' if len(names) > 20 else ''}" if names else "the index of the right choice"
    return f"{said} (matched with the data's {context.primary.label_mapping})" if names else said


def _command(model: Any, dataset: Any, flags: Mapping[str, Any]) -> str:
    """Compose the command line that makes the report again; "" where model or data were handed in as objects."""
    if not all(isinstance(value, (str, os.PathLike)) for value in (model, dataset)):
        return ""
    words = ["rightreasons", "audit", os.fspath(model), os.fspath(dataset)]
    for flag, value in flags.items():
        if value is not None:
            words += [f"--{flag}", str(value)]
    return shlex.join(words)


def _is_main() -> bool:
    from rightreasons.models.running.processes import processes

    return processes().is_main
