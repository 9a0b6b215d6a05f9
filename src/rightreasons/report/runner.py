"""The audit of a model on a dataset: `audit` answers questions, and writes a report."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightreasons.audited.context import AuditContext
from rightreasons.audited.recorded_logs import open_recorded_log
from rightreasons.audited.scoring import score_audit
from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.options import QuestionOptions
from rightreasons.core.signals import is_progress_visible
from rightreasons.core.store import check_folder
from rightreasons.core.validation import check_kind
from rightreasons.models.runs.processes import processes
from rightreasons.models.runs.progress import begin_step, show_total
from rightreasons.report.answering import (
    AuditQuestion,
    answer_questions,
    check_some_apply,
    select_questions,
    select_requested,
    sort_for_report,
)
from rightreasons.report.answers import AnswerFigures
from rightreasons.report.audit_page import render_audit
from rightreasons.report.figures import AuditFigure, audit_figures
from rightreasons.report.folder import OWN, digest_subject, write_report
from rightreasons.report.messages import (
    describe_answers,
    describe_labels,
    describe_missing_classes,
    describe_requests,
    describe_run,
    ignore_message,
)
from rightreasons.report.opening import get_sources, open_context
from rightreasons.report.outcomes import Outcome
from rightreasons.report.plan import ITEMS, forecast_audit, plan_audit
from rightreasons.report.questions import list_default_questions, load_sections
from rightreasons.report.record import make_record
from rightreasons.report.render import PAGE
from rightreasons.report.reproduction import list_arguments, make_audit_command
from rightreasons.report.request import AuditRequest, parse_request
from rightreasons.report.row_doubts import AuditedRows, check_audited_rows
from rightreasons.report.schema import check_audit

if TYPE_CHECKING:
    import datasets

    from rightreasons.models.servers.usage import Forecast
    from rightreasons.page.question import Question

Say = Callable[[str], object]


@dataclasses.dataclass(frozen=True, eq=False)
class AuditResult:
    """Result of an audit.

    `result["shortcuts"]` is the outcome of a question, and `result["calibration.ece"]` a figure.
    `print` shows the verdicts, and a notebook the first screen of the report.

    Attributes:
        out: The report folder, with index.html, audit.json, figures/ and predictions/.
        audit: Content of audit.json (docs/audit_schema.md), with the answers of earlier audits. For
            a plan, `plan`: question -> requests, tokens and price.
        outcomes: Outcomes of the requested questions.
        written: Whether this process wrote the report. If there are several, only the main one does.
    """

    out: Path
    audit: dict[str, Any] = dataclasses.field(repr=False)
    outcomes: tuple[Outcome, ...] = dataclasses.field(repr=False)
    written: bool = True

    @property
    def page(self) -> Path:
        """The report."""
        return self.out / PAGE

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The questions that could not be answered because of an error."""
        return tuple(outcome for outcome in self.outcomes if outcome.status == "failed")

    @property
    def figures(self) -> dict[str, AuditFigure]:
        """The figures of all questions by their paths, such as calibration.ece."""
        return audit_figures(self.audit)

    def __getitem__(self, name: str) -> Any:
        """Return the outcome of a question, or a figure by its path, such as calibration.ece."""
        # Only the path of a figure contains a dot.
        values: dict[str, Any] = {outcome.question: outcome for outcome in self.outcomes}
        kind = "question"
        if "." in name:
            kind = "figure"
            values |= self.figures
        if name not in values:
            raise KeyError(str(make_unknown_name_error(kind, name, values)))
        return values[name]

    def to_frame(self) -> Any:
        """Return a pandas table with a row per figure: path, value, interval, split and items."""
        import pandas as pd

        rows = []
        for figure in self.figures.values():
            estimate = figure.estimate
            row = {
                "figure": figure.path,
                "name": figure.name,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "level": estimate.level,
                "unit": figure.unit,
                "better": figure.better,
                "split": figure.split,
                "n": figure.n,
            }
            rows.append(row)
        return pd.DataFrame(rows).set_index("figure")

    def items(self) -> Any:
        """Return a pandas table with a row per item, indexed by split and id.

        Its columns are the text, label, prediction and confidence; whether the prediction is
        correct; whether the label is disputed; and each figure that a finding is about, such as
        whether swapping two words flips the prediction. See `make_item_frame`.

        Example:
            >>> result.items().query("findings != ''")  # doctest: +SKIP
        """
        from rightreasons.report.items.frame import make_item_frame

        return make_item_frame(self.audit, self.out)

    def assert_that(self, *conditions: str) -> None:
        """Raise an AssertionError with the figures if a condition is not met, for tests of a model.

        Args:
            *conditions: Each a path, one of `< <= > >= == !=` and a number, as in `gate`:
                `calibration.ece.high < 0.05`. A figure that the audit lacks does not meet it.
        """
        from rightreasons.report.gates import check

        failures = []
        for condition in conditions:
            # A gate states what must not be, so that its check "fails" if the condition is met.
            gate_check = check(self.audit, condition)
            is_met = gate_check.outcome == "fail"
            if not is_met:
                failures.append(f"Expected {condition}, but got {gate_check.told.rstrip('.')}.")
        if failures:
            raise AssertionError("\n".join(failures))

    def __str__(self) -> str:
        from rightreasons.report.views import describe_verdicts

        if "questions" not in self.audit:
            return repr(self)
        return describe_verdicts(self.audit, self.out)

    def _repr_html_(self) -> str:
        from rightreasons.report.views import render_summary

        return render_summary(self.audit, self.out)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of audit.json."""
        return self.audit


def audit(
    model: Any = None,
    dataset: str
    | os.PathLike[str]
    | datasets.Dataset
    | Mapping[str, datasets.Dataset]
    | None = None,
    *,
    out: str | os.PathLike[str] = "report",
    questions: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    progress: bool = True,
    raise_errors: bool = False,
    command: str | None = None,
    repair_command: str = "",
    tell: Say | None = None,
    **settings: Any,
) -> AuditResult:
    """Audit a model on a dataset, and write the report.

    The model reads each item once. Its predictions are stored in the report folder: later questions
    reuse them, and an interrupted audit resumes. Questions that are asked later about the same
    model, items and settings are added to the report; a report on anything else is replaced. All
    files of a report are replaced together or not at all.

    Args:
        model: A local folder or hub id of a sequence classifier, a multiple-choice model or a
            language model, or anything that `as_scorer` accepts, such as a loaded model or a
            scikit-learn pipeline. None if `predictions` is given. A file of predictions may also
            stand here, as the only argument.
        dataset: A dataset name for `load_dataset`, a hub id, a local file or folder, or loaded
            data. None if the file of predictions contains its items.
        out: The report folder.
        questions: Names from `available_questions()`. If None, all that apply.
        options: Question -> its options (`rightreasons.QUESTION.options`).
        name: Name of the data in the report. If None, its own name or path.
        progress: Whether to show progress bars.
        raise_errors: Whether to raise an error inside a question. By default, the report states it
            in one sentence, and the other questions are still answered.
        command: Command that repeats the audit, for the report. If None, it is composed.
        repair_command: Command that repairs the model, for the advice of the report. If "", it is
            composed.
        tell: Called with messages before the model reads anything, such as the mapping of labels to
            classes. If None, only the report has them.
        **settings: Fields of `AuditOptions`; `after`, the folder of an earlier report, whose words
            are tested again whatever `train` offers; fields of `Prompt` and `ServerOptions`, for
            language models; and fields of `StoredOptions`, to audit stored predictions instead of a
            model. `predictions` and `train` may be files or anything that `as_table` accepts, such as
            a DataFrame. Questions that need new predictions are skipped for stored ones.

    Returns:
        An `AuditResult`: the folder, the audit as plain values, and the outcomes.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If an option is unknown, the model cannot be audited, a column is missing, the
            labels do not match the classes of the model, no requested question applies, or every
            question fails. An earlier report is then kept.
        FileNotFoundError: If the data does not exist.
    """
    # Invalid arguments raise an error before a model is loaded.
    check_kind(options, "options", Mapping | None)
    log = None
    if dataset is None:
        path = model
        if path is None:
            path = settings.get("predictions")
        # A log of the tasks of `rightreasons` contains the answers to the edited items of all
        # questions. Any other source gives None.
        log = open_recorded_log(path)
    if log is not None:
        # The log is audited as a model that gives the recorded answers. The seed of the log makes
        # the same edits again, to which these are the answers.
        settings.pop("predictions", None)
        settings["seed"] = log.settings.seed
        names = log.choose_questions(questions, list_default_questions())
        return audit(
            log.scorer,
            log.items,
            out=out,
            questions=names,
            options=log.choose_options(names, options),
            name=name or log.path,
            progress=progress,
            raise_errors=raise_errors,
            command=command or shlex.join(["rightreasons", "audit", log.path]),
            repair_command=repair_command,
            tell=tell,
            **settings,
        )
    request = parse_request(model, dataset, load_sections(questions), options, settings)
    folder = check_folder(out, own=OWN)
    is_main = processes().is_main
    # If several processes share the audit, only the main one prints messages and writes the report.
    say: Say = ignore_message
    if tell is not None and is_main:
        say = tell

    context = open_context(
        request,
        folder,
        name or request.data_name,
        progress=progress,
        repair_command=repair_command,
    )
    _say_all(describe_labels(context), say)
    subject = digest_subject(context, request.to_dict())
    selected = select_questions(request, context, subject)
    if questions is not None:
        check_some_apply(selected, context)
    if request.general.plan:
        return _plan(context, selected, say)

    forecasts: dict[str, Forecast] = {}
    # Counting the requests takes time, and is only done if a person can see the total.
    is_watched = progress and is_progress_visible() and processes().count == 1
    if tell is not None or is_watched:
        forecasts = forecast_audit(context, *_map_questions(selected))
    _say_all(describe_requests(forecasts, context.prompted), say)
    n_requests_by_step = {name: cost.at_most.requests for name, cost in forecasts.items()}
    with show_total(n_requests_by_step):
        begin_step(ITEMS)
        scored, rows = _score(context, selected, say)
        outcomes, answers = answer_questions(
            context, scored, selected, rows=rows, raise_errors=raise_errors
        )
    # If every question failed, an error is raised here, before an older report is replaced.
    requested = select_requested(outcomes, selected)
    _say_all(describe_answers(scored, answers), say)

    report = _Report(
        request=request,
        context=scored,
        questions=selected,
        outcomes=sort_for_report(outcomes),
        answers=answers,
        rows=rows,
        subject=subject,
    )
    record = report.make_record()
    if is_main:
        # Questions are named only if they are not the default ones.
        is_default = questions is None and len(requested) == len(outcomes)
        record = report.write(record, command, is_default=is_default)
    return AuditResult(folder, record, tuple(requested), is_main)


def _say_all(lines: Iterable[str], say: Say) -> None:
    for line in lines:
        say(line)


def _plan(context: AuditContext, questions: Sequence[AuditQuestion], say: Say) -> AuditResult:
    """Return what an audit would cost, without running it, and print its lines.

    Args:
        context: The audit, not scored.
        questions: The questions.
        say: Called with each line of the plan.
    """
    plan = plan_audit(context, *_map_questions(questions))
    _say_all(plan.lines, say)
    return AuditResult(context.out, {"plan": plan.costs}, (), written=False)


def _map_questions(
    questions: Sequence[AuditQuestion],
) -> tuple[dict[str, Question], dict[str, QuestionOptions], dict[str, str]]:
    """Return three mappings from the name of a question.

    Args:
        questions: The questions of an audit.

    Returns:
        Name -> the question itself, name -> its options, and name -> why it does not apply, "" if it
        does.
    """
    sections = {question.name: question.section for question in questions}
    options = {question.name: question.options for question in questions}
    skip_reasons = {question.name: question.skip_reason for question in questions}
    return sections, options, skip_reasons


def _score(
    context: AuditContext, questions: Sequence[AuditQuestion], say: Say
) -> tuple[AuditContext, AuditedRows]:
    """Score the splits that questions read, check the rows, and print what was found.

    Args:
        context: The audit, not scored.
        questions: The questions, also those that do not apply.
        say: Called with each message.

    Returns:
        The audit with its scores, and the findings about its rows.
    """
    reads = [question.section.reads for question in questions]
    scored = score_audit(context, reads)
    rows = check_audited_rows(scored)
    mapping_doubt = rows.class_order
    if not mapping_doubt:
        mapping_doubt = describe_missing_classes(scored)
        # `rows.lines` contains the doubt about the order of classes, but not this one.
        if mapping_doubt:
            say(mapping_doubt)
    # The report shows the doubt after the mapping of labels to classes.
    if mapping_doubt:
        mapping = f"{scored.primary.label_mapping}. {mapping_doubt}"
        primary = dataclasses.replace(scored.primary, label_mapping=mapping)
        scored = dataclasses.replace(scored, primary=primary)
    applicable = [question for question in questions if not question.skip_reason]
    _say_all(describe_run(scored, applicable), say)
    _say_all(rows.lines, say)
    return scored, rows


@dataclasses.dataclass(frozen=True, eq=False)
class _Report:
    """Everything that a report is made of.

    Attributes:
        request: The inputs and options.
        context: The audit with its scores.
        questions: The questions.
        outcomes: Their outcomes, in the order of the report.
        answers: Figures of the answers of the model; None if they are not known.
        rows: Findings about the rows.
        subject: Digest of model, items and options.
    """

    request: AuditRequest
    context: AuditContext
    questions: Sequence[AuditQuestion]
    outcomes: Sequence[Outcome]
    answers: AnswerFigures | None
    rows: AuditedRows
    subject: str

    @property
    def options_by_question(self) -> dict[str, Any]:
        """Question -> its options, in the order of the report."""
        options = {question.name: question.options for question in self.questions}
        return {outcome.question: options[outcome.question] for outcome in self.outcomes}

    def make_record(self) -> dict[str, Any]:
        """Return the content of audit.json, checked against its schema, without digests of files."""
        record = make_record(
            self.context,
            self.outcomes,
            self.request.to_dict(),
            self.options_by_question,
            self.subject,
            self.answers,
        )
        record["dataset"]["rows"] = self.rows.to_record()
        # Unless the model is an object in memory, a later command can load it from its path.
        model = self.request.model
        if isinstance(model, (str, os.PathLike)):
            record["model"]["path"] = os.fspath(model)
        check_audit(record)
        return record

    def write(
        self, record: dict[str, Any], command: str | None, *, is_default: bool
    ) -> dict[str, Any]:
        """Write all files of the report.

        Args:
            record: The content of audit.json.
            command: Command that repeats the audit. If None, it is composed.
            is_default: Whether the questions are the default ones, so that `audit` needs no names.

        Returns:
            The record with the digests of the files.
        """
        # audit.yaml stores the arguments from which the command is composed. It is not written with
        # a given command, such as that of the demo, which makes the data or the model in memory.
        arguments: dict[str, Any] = {}
        if command is None:
            arguments = self._list_arguments(is_default=is_default)
            command = make_audit_command(arguments)
        page = render_audit(self.context, record, self.outcomes, command, self.answers, self.rows)
        previous = self.request.previous
        if arguments and previous is not None:
            # The file stores what was tested, because this report may replace the earlier one.
            arguments["after"] = previous.to_plain()
        return write_report(self.context, record, self.outcomes, page, arguments)

    def _list_arguments(self, *, is_default: bool) -> dict[str, Any]:
        """Return the arguments that repeat the audit, for audit.yaml and the command of the page.

        Args:
            is_default: Whether the questions are the default ones, which need not be named.
        """
        options = self.options_by_question
        questions = list(options)
        if is_default:
            questions = []
        return list_arguments(
            get_sources(self.request, self.context.source),
            self.request.reproducing_options,
            questions,
            options,
        )
