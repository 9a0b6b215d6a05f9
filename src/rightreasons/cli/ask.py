"""The commands that ask a model: `rightreasons audit MODEL DATASET`, and one question of it alone."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

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
from rightreasons.io.options import AuditOptions, ScoreOptions, StoredOptions
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.wording import Prompt
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.report.options import EarlierOptions
from rightreasons.report.questions import QUESTIONS, get_question_name

COMMANDS = make_command_lines("ask")

ASKED: Mapping[str, type[Options]] = {"prompt": Prompt, "server": ServerOptions}
"""What can be set about the way in which a language model is asked."""

BEHAVIOR_FOLDER = Path(get_question_name(BehaviorOptions))
"""Default folder of the report on behavior alone."""

OF_QUESTIONS = {name: question.options for name, question in QUESTIONS.items()}
"""What can be set about each question."""


@declared_command(
    COMMANDS["audit"],
    "audit",
    {
        "settings": AuditOptions,
        "earlier": EarlierOptions,
        "stored": StoredOptions,
        **ASKED,
        **OF_QUESTIONS,
    },
)
def audit(
    *,
    model: OptionalModel = None,
    dataset: OptionalDataset = None,
    questions: Annotated[
        str | None,
        typer.Option(
            help=f"Comma-separated questions, of {', '.join(QUESTIONS)}; by default all that apply but "
            f"{', '.join(name for name, question in QUESTIONS.items() if not question.is_default)}.",
        ),
    ] = None,
    out: Out = Path("report"),
    open_page: Open = False,
    **declared: Options,
) -> None:
    """Audit a model on a dataset, and write the report.

    Stored predictions can be audited in the place of a model: questions that a model would have to answer anew say so.
    """
    names = parse_names(questions)
    given = {name: declared.pop(name) for name in QUESTIONS}
    by_default = [name for name in given if QUESTIONS[name].is_default] if names is None else names
    chosen = {name: its for name, its in given.items() if name in by_default or its.get_changes()}
    run_audit((model, dataset), out, names, declared, chosen, open_page=open_page)


def question_command(
    question: str, *, stored: bool = False, has_record: bool = False, **implied: Any
) -> None:
    """Declare the command that asks one question of a model, and writes the report.

    Args:
        question: The question: a name of `report.questions.QUESTIONS`.
        stored: Whether it can be asked of a file of predictions in the place of a model.
        has_record: Whether it records what it tested, so that a later audit can test it again.
        **implied: Settings of the audit that the question implies, where the command line leaves them open.
    """

    def command(
        model: OptionalModel = None,
        dataset: OptionalDataset = None,
        out: Out = Path("report"),
        open_page: Open = False,
        **declared: Options,
    ) -> None:
        answers = {question: declared.pop("options")}
        usual = {"usual": AuditOptions(**implied)}  # what is declared comes after it
        run_audit((model, dataset), out, [question], usual | declared, answers, open_page=open_page)

    command.__doc__ = OF_QUESTIONS[question].__doc__
    declared: dict[str, type[Options]] = {
        "settings": AuditOptions,
        **({"earlier": EarlierOptions} if has_record else {}),
        **({"stored": StoredOptions} if stored else {}),
    }
    declared_command(
        COMMANDS[question], question, {**declared, **ASKED, "options": OF_QUESTIONS[question]}
    )(command)


def run_audit(
    arguments: tuple[str | None, str | None],
    out: Path,
    questions: list[str] | None,
    declared: Mapping[str, Options],
    options: Mapping[str, Options],
    *,
    open_page: bool = False,
) -> None:
    """Audit, and print what was found: of one label, or of each of several labels that an item may have.

    With --traceback, an error inside a question ends the audit where it arose.

    Args:
        arguments: The model and the data, or the file of predictions, as they were typed.
        out: The folder of the report.
        questions: The questions; None for all that apply.
        declared: The settings of the audit.
        options: Question -> its options.
        open_page: Whether the report is opened in a browser.
    """
    from rightreasons.report.arms import audit_arms
    from rightreasons.report.labels import ALL, audit_labels, has_several_labels
    from rightreasons.report.runner import audit

    settings = dict[str, Any]()
    for each in declared.values():
        settings |= each.get_changes()
    model, dataset = arguments
    settings |= {"out": out, "questions": questions, "options": options, "tell": tell}
    settings["raise_errors"] = wants_traceback.get()
    with warnings.catch_warnings():
        # What failed is printed in the place of its answer.
        warnings.filterwarnings("ignore", message="The question '")
        several = parse_names(settings.get("target")) or []
        # Of stored predictions one label is chosen as several are; a model answers one by itself.
        apart = (
            len(several) > 1
            or several == [ALL]
            or (several and (dataset is None or "predictions" in settings))
        )
        if apart or (several and has_several_labels(dataset, settings)):
            show_labels(audit_labels(model, dataset, **settings), open_page=open_page)
            return
        if settings.get("by") is not None:
            show_arms(audit_arms(model, dataset, **settings), open_page=open_page)
            return
        result = audit(model, dataset, **settings)
    show_audit(result, open_page=open_page)


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
            help="One model: a folder, a hub id or the address of a server.",
            metavar="MODEL",
            show_default=False,
        ),
    ] = None,
    suite: SuiteName,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Table of predictions in the suite's order, instead of a model."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = BEHAVIOR_FOLDER,
    **declared: Any,
) -> None:
    """Test a model on a behavioral suite: which share of the cases passes, by functionality."""
    from rightreasons.audited.opening import is_prompted
    from rightreasons.behavior.measure import (
        is_reading,
        label_words,
        measure_behavior,
        measure_reading,
        read_suite_answers,
        score_stored,
    )
    from rightreasons.behavior.question import BEHAVIOR, BehaviorMeasurement
    from rightreasons.core.json_files import read_json
    from rightreasons.datasets.suites.suite import open_suite
    from rightreasons.models.prompted import Prompted, prompted_of
    from rightreasons.models.running import default_batch_size
    from rightreasons.models.scorers import open_engine
    from rightreasons.report.behavior_page import RATES, write_behavior_report
    from rightreasons.report.plan import plan_command
    from rightreasons.report.schema import prepare_page_folder

    names = models or []
    if len(names) + (predictions is not None) != 1:
        got = "more" if names else "only one argument"
        raise ValueError(
            f"Expected a model and a suite, or a suite and --predictions, but got {got}."
        )
    prepare_page_folder(out, RATES, "predictions")
    options, settings = declared["options"], declared["settings"]
    opened = open_suite(
        suite,
        data_dir=settings.data_dir,
        known_issues=settings.known_issues,
        seed=settings.seed,
        max_cases=options.max_cases,
    )
    corrections = opened.describe_corrections()
    if corrections:
        typer.echo(corrections)
    resampling = settings.resampling
    if predictions is not None:
        stored = read_suite_answers(predictions, opened, options=declared["stored"])
        tested = score_stored(predictions.stem, opened, stored, resampling=resampling)
    else:
        model = names[0]
        scorer: Any
        if is_reading(opened):
            from rightreasons.models.loading import load_question_answering

            scorer = load_question_answering(model)
        elif is_prompted(model):
            # A plan asks nothing, and leaves no file.
            answers = None if settings.plan else out / "predictions"
            engine = open_engine(model, declared["prompt"], declared["server"], out=answers)
            scorer = Prompted(declared["prompt"], engine, label_words(opened), seed=settings.seed)
        else:
            from rightreasons.models.loading import load_classifier

            scorer = load_classifier(model)
        if settings.plan:
            few = functools.partial(
                measure_behavior,
                suite=opened,
                resampling=resampling.limit_resamples(2),
                progress=False,
            )
            show_plan(plan_command(model, prompted_of(scorer), few))
            return
        tested = (measure_reading if is_reading(opened) else measure_behavior)(
            scorer,
            opened,
            batch_size=settings.batch_size or default_batch_size(scorer),
            resampling=resampling,
            out=out / "predictions",
        )
    # From Python, no command was typed.
    is_typed = sys.argv[1:2] == [BEHAVIOR.name]
    typed = shlex.join(["rightreasons", *sys.argv[1:]]) if is_typed else ""
    learning = None
    # A language model cannot be trained here, and of stored predictions the model is unknown.
    if predictions is None and tested.prompt is None:
        used = {"data_dir": settings.data_dir, "known_issues": settings.known_issues}
        learning = LearningSource(
            names[0], suite, settings={**used, "max_cases": options.max_cases}
        )
    page = write_behavior_report(
        tested, out, resampling=resampling, command=typed, learning=learning
    )
    hand_over(functools.partial(read_json, page.parent / RATES))
    measured = BehaviorMeasurement(tested, resampling, 0)
    show_section(BEHAVIOR.title, BEHAVIOR.answer(measured, resampling.level))
    typer.echo(f"\nPass rates: {page.parent / RATES}")
    typer.echo(f"Report: {page}")


def describe_program() -> str:
    """Return the words by which a shell finds this program."""
    if shutil.which("rightreasons"):
        return "rightreasons"
    # As after `make audit`, whose environment is not on the path.
    return f"{shlex.quote(os.path.relpath(sys.executable))} -m rightreasons"


@COMMANDS["demo"].command()
def demo(
    out: Out = Path("report"),
    seed: Annotated[int, typer.Option(help="Seed of the data and of every random choice.")] = 0,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair the model too, and prove it, in OUT-repaired.")
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Then show the report with a box that takes any text.")
    ] = False,
    open_page: Open = False,
) -> None:
    """Train a bag of words on data with a planted shortcut, and audit it: half a minute, without torch."""
    from rightreasons.report.demo import audit_demo, serve_demo

    show_audit(audit_demo(out, seed=seed, say=tell), open_page=open_page and not repair)
    if repair:
        from rightreasons.cli.repairing import show_repair
        from rightreasons.repairs.run import repair_demo

        show_repair(repair_demo(out, out.with_name(f"{out.name}-repaired"), seed=seed, say=tell))
    else:
        typer.echo(f"Repair it: {describe_program()} demo --repair")
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
    """Does it say its reasons? Of a model and data, or of a file of answers in the arms plain, neutral and hint."""
    from rightreasons.audited.recorded_logs import open_recorded_log

    options, settings = declared.pop("options"), declared["settings"]
    # A log in which a harness asked this question stands for the model and its data.
    if dataset is not None or model is None or open_recorded_log(model) is not None:
        given = {"settings": settings, **declared}
        name = get_question_name(ReasonsOptions)
        run_audit((model, dataset), out, [name], given, {name: options}, open_page=open_page)
        return
    from rightreasons.io.arrow_tables import only_part
    from rightreasons.io.reading import as_table
    from rightreasons.reasons.measure import measure_reasons
    from rightreasons.reasons.question import REASONS
    from rightreasons.reasons.rows import read_traces

    rows = only_part(as_table(model), model)
    judge = None
    if options.judge is not None:
        from rightreasons.models.judges import open_judge
        from rightreasons.models.replies.repair import SecondReader

        # A log cannot be asked again: the judge reads what its texts chose.
        engine = open_judge(options.judge, options.judge_model)
        judge = SecondReader(engine, seed=settings.seed)
    traces = read_traces(rows, model, judge=judge)
    m = measure_reasons(traces, resampling=settings.resampling)
    answer = REASONS.answer(m, settings.confidence_level)
    hand_over(answer)
    show_section(REASONS.title, answer)
