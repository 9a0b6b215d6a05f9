"""`rightreasons audit MODEL DATASET`, or `rightreasons audit --predictions FILE`; and the command of each question."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.auditing.options import AuditOptions, StoredOptions
from rightreasons.cli import command_line, wants_traceback
from rightreasons.cli._shared.declared import completes, declared_command
from rightreasons.cli._shared.options import Dataset, Model, Open, OptionalDataset, OptionalModel, Out
from rightreasons.foundations.options import Options, listed
from rightreasons.measuring.options import QUESTIONS
from rightreasons.models.prompting.prompt import Prompt
from rightreasons.models.servers.options import ServerOptions

if TYPE_CHECKING:
    from rightreasons.auditing.runner import AuditResult

app = command_line()

ASKED: Mapping[str, type[Options]] = {"prompt": Prompt, "server": ServerOptions}
"""What can be set about the way in which a language model is asked."""

EXAMPLES = (
    "rightreasons audit my-model my_reviews.csv --text-column review --label-column stars",
    "rightreasons audit my-model sst2 --limit 500 --questions calibration,shortcuts --open",
    "rightreasons audit HuggingFaceTB/SmolLM2-135M-Instruct sst2 --label-words negative,positive --shots 4",
    "rightreasons audit http://localhost:8000/v1 piqa --limit 200 --style letters",
    "rightreasons audit --predictions samples_piqa.jsonl --out report",
)


@declared_command(app, "audit", {"settings": AuditOptions, "stored": StoredOptions, **ASKED, **QUESTIONS})
def audit(
    *,
    model: OptionalModel = None,
    dataset: OptionalDataset = None,
    settings: Any,
    stored: Any,
    prompt: Any,
    server: Any,
    questions: Annotated[
        str | None,
        typer.Option(
            help=f"Comma-separated questions, of {', '.join(QUESTIONS)}; by default all that apply.",
            autocompletion=completes(tuple(QUESTIONS)),
        ),
    ] = None,
    out: Out = Path("report"),
    open_page: Open = False,
    **options: Any,
) -> None:
    """Ask whether a model is right for the right reasons, and write the report.

    Stored predictions can be audited in the place of a model: questions that a model would have to answer anew say so.
    """
    asked = listed(questions)
    model, dataset, files = sources(model, dataset, stored)
    run_audit(
        model,
        dataset,
        out,
        asked,
        {**settings.changed(), **files, **prompt.changed(), **server.changed()},
        {name: options[name] for name in QUESTIONS if asked is None or name in asked or options[name].changed()},
        open_page=open_page,
    )


def question_app(question: str, *, stored: bool = False, **fixed: Any) -> typer.Typer:
    """Return the command that asks one question of a model, and writes the report.

    Args:
        question: The question: a name of `measuring.options.QUESTIONS`.
        stored: Whether it can be asked of a file of predictions in the place of a model.
        **fixed: Settings of the audit that the question implies, where the command line leaves them open.
    """
    app = command_line()

    def ask(
        model: Model,
        dataset: Dataset,
        settings: Any,
        prompt: Any,
        server: Any,
        options: Any,
        out: Out = Path("report"),
        open_page: Open = False,
    ) -> None:
        asked = {**fixed, **settings.changed(), **prompt.changed(), **server.changed()}
        run_audit(model, dataset, out, [question], asked, {question: options}, open_page=open_page)

    def ask_either(
        *,
        model: OptionalModel = None,
        dataset: OptionalDataset = None,
        settings: Any,
        stored: Any,
        prompt: Any,
        server: Any,
        options: Any,
        out: Out = Path("report"),
        open_page: Open = False,
    ) -> None:
        model, dataset, files = sources(model, dataset, stored)
        asked = {**fixed, **settings.changed(), **files, **prompt.changed(), **server.changed()}
        run_audit(model, dataset, out, [question], asked, {question: options}, open_page=open_page)

    declared = {
        "settings": AuditOptions,
        **({"stored": StoredOptions} if stored else {}),
        **ASKED,
        "options": QUESTIONS[question],
    }
    command = ask_either if stored else ask
    command.__doc__ = QUESTIONS[question].__doc__
    declared_command(app, question, declared)(command)
    return app


def sources(
    model: str | None, dataset: str | None, stored: StoredOptions
) -> tuple[str | None, str | None, dict[str, Any]]:
    """Tell models from data sets and files of predictions among the arguments of a command.

    A file of predictions may come alone, in the place of a model; with `--predictions`, the only argument is data.

    Returns:
        The model, the data set, and the options about stored predictions that are set.
    """
    from rightreasons.data.opening.compressed import data_type
    from rightreasons.data.opening.stored_columns import SUFFIXES

    files = stored.changed()
    if dataset is None and model is not None:
        if stored.predictions is not None:
            return None, model, files
        if data_type(Path(model)) in SUFFIXES:
            return None, None, {**files, "predictions": model}
    return model, dataset, files


def run_audit(
    model: str | None,
    dataset: str | None,
    out: Path,
    questions: list[str] | None,
    settings: Mapping[str, Any],
    options: Mapping[str, Options],
    show: Callable[[AuditResult], None] | None = None,
    *,
    open_page: bool = False,
) -> None:
    """Audit, and print the verdicts; `show` prints more before them.

    With --traceback, an error inside a question ends the audit where it arose.
    """
    from rightreasons.auditing.runner import audit
    from rightreasons.cli._shared.show import show_audit

    tell = functools.partial(typer.echo, err=True)
    with warnings.catch_warnings():
        # What failed is printed in the place of its answer.
        warnings.filterwarnings("ignore", message="The question '")
        result = audit(
            model,
            dataset,
            out=out,
            questions=questions,
            options=options,
            tell=tell,
            raise_errors=wants_traceback(),
            **settings,
        )
    if show is not None:
        show(result)
    show_audit(result, open_page=open_page)
