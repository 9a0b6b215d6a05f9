"""`rightreasons behavior MODEL SUITE`: test models, or stored answers, on a behavioral suite."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import BatchSize, ConfidenceLevel, DataDir, Resamples, Seed, SuiteName
from rightreasons.cli.asking.audit import ASKED
from rightreasons.data.opening.options import LOG_FILTER_HELP
from rightreasons.measuring.options import SuiteOptions

app = command_line()

EXAMPLES = (
    "rightreasons behavior my-model my_suite.jsonl --out behavior",
    "rightreasons behavior HuggingFaceTB/SmolLM2-135M-Instruct my_suite.jsonl --scoring generated",
    "rightreasons behavior suite.pkl --predictions preds.txt",
)


@declared_command(app, "behavior", {**ASKED, "options": SuiteOptions})
def behavior(
    *,
    models: Annotated[
        list[str] | None,
        typer.Argument(help="Folder or hub id of a model; repeatable.", metavar="MODEL", show_default=False),
    ] = None,
    suite: SuiteName,
    options: SuiteOptions,
    prompt: Any,
    server: Any,
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            help="File of predictions in the suite's order, instead of a model: a table with headings, or lines as "
            "CheckList reads them; repeatable."
        ),
    ] = None,
    predictions_format: Annotated[
        str | None,
        typer.Option(
            help="What a line without headings holds, as CheckList names it: pred_only, softmax, binary_conf, "
            "pred_and_conf or pred_and_softmax; found out by default."
        ),
    ] = None,
    log_filter: Annotated[str | None, typer.Option(help=LOG_FILTER_HELP)] = None,
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("behavior"),
    data_dir: DataDir = None,
    batch_size: BatchSize = 32,
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
) -> None:
    """Test models on a behavioral suite: which share of the cases passes, by functionality."""
    from rightreasons.auditing.asking import is_asked, prompted_model
    from rightreasons.auditing.questions.behavior.report import check_report_folder, write_behavior_report
    from rightreasons.cli._shared.show import show_pass_rates
    from rightreasons.data.opening.suite_answers import read_suite_answers
    from rightreasons.data.suites.opening import open_suite
    from rightreasons.foundations.resampling import Resampling
    from rightreasons.measuring.behavior import label_words, measure_behavior, score_stored
    from rightreasons.measuring.behavior_spans import is_reading, measure_reading
    from rightreasons.models.loading import load_classifier, load_question_answering

    if not models and not predictions:
        raise ValueError("Expected a model and a suite, or a suite and --predictions, but got only one argument.")
    check_report_folder(out)
    opened = open_suite(suite, data_dir=data_dir, seed=seed, **options.opening())
    resampling = Resampling(confidence_level, n_resamples, seed)
    tested = []
    for file in predictions or ():
        stored = read_suite_answers(file, opened, file_format=predictions_format, log_filter=log_filter)
        tested.append(score_stored(file.stem, opened, stored, resampling=resampling))
    for number, model in enumerate(models or (), start=1):
        answers = out / "predictions" / (str(number) if len(models or ()) > 1 else "")
        if is_reading(opened):
            reader = load_question_answering(model)
            answered = measure_reading(reader, opened, batch_size=batch_size, out=answers, resampling=resampling)
        else:
            if is_asked(model):
                classifier: Any = prompted_model(model, prompt, server, label_words(opened), seed=seed)
            else:
                classifier = load_classifier(model)
            answered = measure_behavior(classifier, opened, batch_size=batch_size, out=answers, resampling=resampling)
        tested.append(answered)
    page = write_behavior_report(tested, out, resampling=resampling, examples=options.examples, command=_typed())
    show_pass_rates(tested)
    typer.echo(f"Pass rates: {page.parent / 'pass_rates.json'}")
    typer.echo(f"Report: {page}")


def _typed() -> str:
    """The command line as it was typed; "" where it was called from Python."""
    return shlex.join(["rightreasons", *sys.argv[1:]]) if sys.argv[1:2] == ["behavior"] else ""
