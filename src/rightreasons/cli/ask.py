"""The commands that ask a model: `rightreasons audit MODEL DATASET`, and one question of it alone."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.behavior.options import BehaviorOptions, LearningSource, SuiteOptions
from rightreasons.cli import hand_over, make_command_lines, tell, wants_traceback
from rightreasons.cli.declared import (
    Open,
    OptionalDataset,
    OptionalModel,
    Out,
    SuiteName,
    declared_command,
)
from rightreasons.cli.show import show_arms, show_audit, show_labels, show_plan, show_section
from rightreasons.core.options import Options, parse_names
from rightreasons.core.sentences import join_parts
from rightreasons.io.options import AuditOptions, ScoreOptions, StoredOptions
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.wording import Prompt
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.report.options import EarlierOptions
from rightreasons.report.questions import QUESTIONS, get_question_name

if TYPE_CHECKING:
    from rightreasons.behavior.measure import SuiteAnswers
    from rightreasons.datasets.suites.suite import Suite

COMMANDS = make_command_lines("ask")

ASKED: Mapping[str, type[Options]] = {"prompt": Prompt, "server": ServerOptions}
"""What can be set about the way in which a language model is asked."""

BEHAVIOR_FOLDER = Path(get_question_name(BehaviorOptions))
"""Default folder of the report on behavior alone."""

OPTIONS_BY_QUESTION = {name: question.options for name, question in QUESTIONS.items()}
"""What can be set about each question."""


@declared_command(
    COMMANDS["audit"],
    "audit",
    {
        "settings": AuditOptions,
        "earlier": EarlierOptions,
        "stored": StoredOptions,
        **ASKED,
        **OPTIONS_BY_QUESTION,
    },
)
def audit(
    *,
    model: OptionalModel = None,
    dataset: OptionalDataset = None,
    questions: Annotated[
        str | None,
        typer.Option(
            help=f"Comma-separated questions: {', '.join(QUESTIONS)}; by default all that apply except "
            f"{join_parts([name for name in QUESTIONS if not QUESTIONS[name].is_default])}.",
        ),
    ] = None,
    out: Out = Path("report"),
    open_page: Open = False,
    **declared: Options,
) -> None:
    """Audit a model on a dataset, and write the report.

    You can audit stored predictions instead of a model. Questions that need new predictions are
    then skipped.
    """
    names = parse_names(questions)
    options = {name: declared.pop(name) for name in QUESTIONS}
    selection = select_options(options, names)
    run_audit((model, dataset), out, names, declared, selection, open_page=open_page)


def select_options(
    options: Mapping[str, Options], names: Sequence[str] | None
) -> dict[str, Options]:
    """Return the options of the questions that are asked, and of any other with changed options.

    Args:
        options: Question -> its options.
        names: Questions that the user named; None for the default questions.
    """
    selection = {}
    for question, group in options.items():
        is_asked = QUESTIONS[question].is_default
        if names is not None:
            is_asked = question in names
        # Options of a question that is not asked are passed on, too: the audit reports this mistake.
        if is_asked or group.get_changes():
            selection[question] = group
    return selection


def question_command(
    question: str, *, stored: bool = False, has_record: bool = False, **implied: Any
) -> None:
    """Register the command that audits a model with one question, and writes the report.

    Args:
        question: A name of `report.questions.QUESTIONS`, which is also that of the command.
        stored: Whether the question can be answered from a file of predictions instead of a model.
        has_record: Whether the question records what it tested, so that a later audit can test it
            again (`--after`).
        **implied: Default values of settings for this question, such as `task="multiple_choice"`.
    """

    def command(
        model: OptionalModel = None,
        dataset: OptionalDataset = None,
        out: Out = Path("report"),
        open_page: Open = False,
        **declared: Options,
    ) -> None:
        options = {question: declared.pop("options")}
        # Later groups override earlier ones: typed options override the implied values.
        groups = {"implied": AuditOptions(**implied), **declared}
        run_audit((model, dataset), out, [question], groups, options, open_page=open_page)

    # The docstring of a command is its help.
    command.__doc__ = OPTIONS_BY_QUESTION[question].__doc__
    # The help lists the groups of options in this order.
    declared: dict[str, type[Options]] = {"settings": AuditOptions}
    if has_record:
        declared["earlier"] = EarlierOptions
    if stored:
        declared["stored"] = StoredOptions
    declared.update(ASKED)
    declared["options"] = OPTIONS_BY_QUESTION[question]
    register = declared_command(COMMANDS[question], question, declared)
    register(command)


def run_audit(
    arguments: tuple[str | None, str | None],
    out: Path,
    questions: list[str] | None,
    declared: Mapping[str, Options],
    options: Mapping[str, Options],
    *,
    open_page: bool = False,
) -> None:
    """Run an audit, and print its verdicts.

    If the items have several labels each, or if the option `by` names a column, there is an audit of
    each label or of each value. With --traceback, an error inside a question ends the audit.

    Args:
        arguments: The model and the data, as typed; None if one is missing. A file of predictions
            may be typed instead of the model.
        out: The folder of the report.
        questions: The questions; None for all that apply.
        declared: Groups of options of the audit as a whole, by any name.
        options: Question -> its options.
        open_page: Whether to open the report in a browser.
    """
    settings = dict[str, Any]()
    for group in declared.values():
        settings |= group.get_changes()
    tell_subject(arguments, settings)
    # These imports take seconds, and come after the first printed line.
    from rightreasons.report.arms import audit_arms
    from rightreasons.report.labels import audit_labels
    from rightreasons.report.runner import audit

    model, dataset = arguments
    settings |= {"out": out, "questions": questions, "options": options, "tell": tell}
    settings["raise_errors"] = wants_traceback.get()
    with warnings.catch_warnings():
        # The warning about a failed question is not needed: its error is printed with the verdicts.
        warnings.filterwarnings("ignore", message="The question '")
        if is_about_labels(dataset, settings):
            show_labels(audit_labels(model, dataset, **settings), open_page=open_page)
            return
        # `by` names a column, such as that of the seed, for each value of which there is an audit.
        if settings.get("by") is not None:
            show_arms(audit_arms(model, dataset, **settings), open_page=open_page)
            return
        result = audit(model, dataset, **settings)
    show_audit(result, open_page=open_page)


def tell_subject(arguments: tuple[str | None, str | None], settings: Mapping[str, Any]) -> None:
    """Print which model is audited, before anything slow is imported or opened.

    Nothing is printed for stored predictions, which are read within a second or two.

    Args:
        arguments: The model and the data, as typed; None if one is missing.
        settings: The settings of the audit, by name.
    """
    model, dataset = arguments
    if model is not None and dataset is not None and settings.get("predictions") is None:
        tell(f"Auditing {model} on {dataset} …")


def is_about_labels(dataset: str | None, settings: Mapping[str, Any]) -> bool:
    """Return whether an audit is about each of several labels that an item may have at once.

    Args:
        dataset: The data; None if only predictions were typed.
        settings: The settings of the audit, by name; `target` names the labels.
    """
    from rightreasons.report.labels import ALL, has_several_labels

    targets = parse_names(settings.get("target")) or []
    if not targets:
        return False
    if len(targets) > 1 or targets == [ALL]:
        return True
    # With stored predictions, a single target is handled in the same way as several ones.
    if dataset is None or "predictions" in settings:
        return True
    return has_several_labels(dataset, settings)


@declared_command(
    COMMANDS["behavior"],
    "behavior",
    {
        "options": SuiteOptions,
        "settings": (
            AuditOptions,
            (
                "data_dir",
                "known_issues",
                "batch_size",
                "n_resamples",
                "confidence_level",
                "seed",
                "plan",
            ),
        ),
        "stored": (ScoreOptions, ("scores", "log_filter")),
        **ASKED,
    },
)
def behavior(
    *,
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="A model: a folder, a hub id or the address of a server.", metavar="MODEL"
        ),
    ] = None,
    suite: SuiteName,
    predictions: Annotated[
        Path | None,
        typer.Option(
            help="Table of predictions in the order of the suite, to test instead of a model."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = BEHAVIOR_FOLDER,
    **declared: Any,
) -> None:
    """Test a model on a behavioral suite, and show the pass rate of each functionality."""
    names = models or []
    if len(names) + (predictions is not None) != 1:
        received = "more" if names else "only one argument"
        raise ValueError(
            f"Expected a model and a suite, or a suite and --predictions, but got {received}."
        )
    if names:
        tell(f"Testing {names[0]} on {suite} …")
    # These imports take seconds, and come after the first printed line.
    from rightreasons.datasets.suites.suite import open_suite
    from rightreasons.report.behavior_page import RATES
    from rightreasons.report.schema import prepare_page_folder

    prepare_page_folder(out, RATES, "predictions")
    settings = declared["settings"]
    max_cases = declared["options"].max_cases
    # Corrections of the suite are printed before the pass rates, which depend on them.
    opened = open_suite(
        suite,
        data_dir=settings.data_dir,
        known_issues=settings.known_issues,
        seed=settings.seed,
        max_cases=max_cases,
    )
    corrections = opened.describe_corrections()
    if corrections:
        typer.echo(corrections)
    if predictions is not None:
        show_behavior(score_predictions(predictions, opened, declared), out, settings)
        return

    scorer = open_suite_model(names[0], opened, declared, out)
    if settings.plan:
        show_suite_plan(names[0], scorer, opened, settings)
        return
    answers = measure_suite(scorer, opened, settings, out)
    learning = None
    # The page advises to train the model on the suite, which is not possible for a language model.
    if answers.prompt is None:
        used = {"data_dir": settings.data_dir, "known_issues": settings.known_issues}
        learning = LearningSource(names[0], suite, settings={**used, "max_cases": max_cases})
    show_behavior(answers, out, settings, learning)


def score_predictions(predictions: Path, suite: Suite, declared: Mapping[str, Any]) -> SuiteAnswers:
    """Return which cases of a suite stored predictions pass.

    Args:
        predictions: Table of predictions. The name of the file is used as that of the model.
        suite: The suite.
        declared: Groups of options of the command: "stored" with the columns, and "settings".
    """
    from rightreasons.behavior.measure import read_suite_answers, score_stored

    stored = read_suite_answers(predictions, suite, options=declared["stored"])
    return score_stored(predictions.stem, suite, stored, resampling=declared["settings"].resampling)


def open_suite_model(model: str, suite: Suite, declared: Mapping[str, Any], out: Path) -> Any:
    """Open a model as a classifier, a question-answering model, or a language model for a suite.

    Args:
        model: Folder, hub id, or address of a server.
        suite: The suite, which needs a question-answering model if its answers are spans of text.
        declared: Groups of options of the command: "settings", "prompt" and "server".
        out: Folder of the report, in which the replies of a language model are stored.
    """
    from rightreasons.audited.opening import is_prompted
    from rightreasons.behavior.measure import is_reading, label_words
    from rightreasons.models.prompted import Prompted
    from rightreasons.models.scorers import open_engine

    # The loaders of local models import torch, which a model on a server does not need.
    if is_reading(suite):
        from rightreasons.models.loading import load_question_answering

        return load_question_answering(model)
    if not is_prompted(model):
        from rightreasons.models.loading import load_classifier

        return load_classifier(model)
    settings = declared["settings"]
    # A plan only counts the requests, and writes no files.
    replies = None if settings.plan else out / "predictions"
    engine = open_engine(model, declared["prompt"], declared["server"], out=replies)
    return Prompted(declared["prompt"], engine, label_words(suite), seed=settings.seed)


def show_suite_plan(model: str, scorer: Any, suite: Suite, settings: AuditOptions) -> None:
    """Print which requests the command would send to a model for a suite, and what they would cost.

    Args:
        model: Folder, hub id, or address of a server.
        scorer: The scorer of the model.
        suite: The suite.
        settings: Settings of the command.
    """
    from rightreasons.behavior.measure import measure_behavior
    from rightreasons.models.prompted import find_prompted
    from rightreasons.report.plan import plan_command

    # A plan discards the figures, so that two bootstrap resamples are enough for their intervals.
    measure = functools.partial(
        measure_behavior,
        suite=suite,
        resampling=settings.resampling.limit_resamples(2),
        progress=False,
    )
    show_plan(plan_command(model, find_prompted(scorer), measure))


def measure_suite(scorer: Any, suite: Suite, settings: AuditOptions, out: Path) -> SuiteAnswers:
    """Run a model on all examples of a suite, and return which cases it passes.

    Args:
        scorer: The scorer of the model.
        suite: The suite. A suite of reading comprehension is answered by spans of its contexts.
        settings: Settings of the command, such as the batch size.
        out: Folder of the report, in which the predictions are stored.
    """
    from rightreasons.behavior.measure import is_reading, measure_behavior, measure_reading
    from rightreasons.models.runs.processes import default_batch_size

    measure = measure_reading if is_reading(suite) else measure_behavior
    return measure(
        scorer,
        suite,
        batch_size=settings.batch_size or default_batch_size(scorer),
        resampling=settings.resampling,
        out=out / "predictions",
    )


def show_behavior(
    answers: SuiteAnswers,
    out: Path,
    settings: AuditOptions,
    learning: LearningSource | None = None,
) -> None:
    """Write the report on a suite, and print its section.

    Args:
        answers: Which cases the model passes.
        out: Folder of the report.
        settings: Settings of the command, such as the level of the intervals.
        learning: Source of a training on the suite, for the advice of the page; None for no advice.
    """
    from rightreasons.behavior.question import BEHAVIOR, BehaviorMeasurement
    from rightreasons.core.json_files import read_json
    from rightreasons.report.behavior_page import RATES, write_behavior_report

    # The page shows the typed command, unless the function was called from Python.
    typed = ""
    if sys.argv[1:2] == [BEHAVIOR.name]:
        typed = shlex.join(["rightreasons", *sys.argv[1:]])
    resampling = settings.resampling
    page = write_behavior_report(
        answers, out, resampling=resampling, command=typed, learning=learning
    )
    rates = page.parent / RATES
    hand_over(functools.partial(read_json, rates))
    measurement = BehaviorMeasurement(answers, resampling, 0)
    show_section(BEHAVIOR.title, BEHAVIOR.answer(measurement, resampling.level))
    typer.echo(f"\nPass rates: {rates}")
    typer.echo(f"Report: {page}")


def describe_program() -> str:
    """Return the command that starts this program in a shell."""
    if shutil.which("rightreasons"):
        return "rightreasons"
    # The environment of the program may not be on the path, as after `make audit`.
    return f"{shlex.quote(os.path.relpath(sys.executable))} -m rightreasons"


@COMMANDS["demo"].command()
def demo(
    out: Out = Path("report"),
    seed: Annotated[int, typer.Option(help="Seed of the data and of every random choice.")] = 0,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Also repair the model and verify the repair, in OUT-repaired."
        ),
    ] = False,
    live: Annotated[
        bool,
        typer.Option("--live", help="Then serve the report with a text box for your own texts."),
    ] = False,
    open_page: Open = False,
) -> None:
    """Train a bag-of-words model on data with a planted shortcut, and audit it in half a minute, without torch."""
    from rightreasons.report.demo import audit_demo, format_repair_command, serve_demo

    show_audit(audit_demo(out, seed=seed, say=tell), open_page=open_page and not repair)
    if repair:
        from rightreasons.cli.repairing import show_repair
        from rightreasons.repairs.run import repair_demo

        show_repair(repair_demo(out, out.with_name(f"{out.name}-repaired"), seed=seed, say=tell))
    else:
        typer.echo(f"Repair it: {format_repair_command(out, seed, describe_program())}")
    if live:
        serve_demo(out, seed=seed, say=typer.echo)


question_command("calibration", stored=True)
question_command("difficulty")
question_command("probes", task="multiple_choice")
question_command("shortcuts", has_record=True)
question_command("ways")


@declared_command(
    COMMANDS["reasons"], "reasons", {"settings": AuditOptions, **ASKED, "options": ReasonsOptions}
)
def reasons(
    model: OptionalModel = None,
    dataset: OptionalDataset = None,
    out: Out = Path("report"),
    open_page: Open = False,
    **declared: Any,
) -> None:
    """Does it say its reasons? Audits a model on data, or a file of answers in the arms plain, neutral and hint."""
    from rightreasons.audited.recorded_logs import open_recorded_log

    options = declared.pop("options")
    # A log in which a harness asked this question replaces the model and the data.
    if dataset is not None or model is None or open_recorded_log(model) is not None:
        name = get_question_name(ReasonsOptions)
        run_audit((model, dataset), out, [name], declared, {name: options}, open_page=open_page)
        return
    show_traces(model, options, declared["settings"])


def show_traces(file: str, options: ReasonsOptions, settings: AuditOptions) -> None:
    """Measure a file of answers, and print whether explanations mention the hints that changed them.

    Args:
        file: Table of the answers with their explanations: plain, after a neutral sentence, and
            after a hint.
        options: Options of the question, which may name a judge of the explanations.
        settings: Settings of the command, such as the level of the intervals.
    """
    from rightreasons.io.arrow_tables import only_part
    from rightreasons.io.reading import as_table
    from rightreasons.reasons.measure import measure_reasons
    from rightreasons.reasons.question import REASONS
    from rightreasons.reasons.rows import read_traces

    rows = only_part(as_table(file), file)
    judge = None
    if options.judge is not None:
        from rightreasons.models.judges import open_judge
        from rightreasons.models.replies.repair import SecondReader

        # The judge, another model, reads the answers that cannot be read otherwise.
        engine = open_judge(options.judge, options.judge_model)
        judge = SecondReader(engine, seed=settings.seed)
    traces = read_traces(rows, file, judge=judge)
    measurement = measure_reasons(traces, resampling=settings.resampling)
    answer = REASONS.answer(measurement, settings.confidence_level)
    hand_over(answer)
    show_section(REASONS.title, answer)
