"""`rightreasons confidence FILE …`: which source of confidence knows best when the answers are right."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.auditing.options import AuditOptions
from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import completes, declared_command
from rightreasons.cli._shared.options import (
    ConfidenceLevel,
    Limit,
    Resamples,
    Seed,
    Split,
    answers_beside,
    asked_file,
    check_unread,
)
from rightreasons.data.opening.options import ConfidenceOptions, SourceOptions
from rightreasons.foundations.choices import TASKS
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.confidence.options import SOURCES
from rightreasons.models.prompting.prompt import Prompt
from rightreasons.models.servers.options import ServerOptions

if TYPE_CHECKING:
    from rightreasons.measuring.confidence.elicitors import Elicited
    from rightreasons.measuring.confidence.options import ElicitOptions
    from rightreasons.measuring.confidence.sources import ConfidenceMeasurement

COLUMNS = ("accuracy", "mean_confidence", "ece", "smooth_ece", "brier_of_answers", "auroc", "aurc")
PAIRED = ("accuracy", "confidence_gap", "ece", "brier", "auroc", "aurc")

app = command_line()

EXAMPLES = (
    "rightreasons confidence answers.csv --source-column method --item-column question_id",
    "rightreasons confidence probability.jsonl verbalized.jsonl --out figures.json",
    "rightreasons confidence MODEL piqa --elicit probability,p_true,verbalized,samples --limit 200",
)


@declared_command(
    app,
    "confidence",
    {"options": ConfidenceOptions, "source": SourceOptions, "prompt": Prompt, "server": ServerOptions},
)
def confidence(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Tables with a confidence and whether the answer was right; of several, each is a source. With "
            "--elicit: a causal language model (folder, hub id or URL of a server) and a dataset.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    elicit: Annotated[
        str | None,
        typer.Option(help=f"Ask a model how sure it is, comma-separated: {', '.join(SOURCES)}."),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            help="With --elicit, what the dataset is: classification or multiple_choice; by default multiple_choice "
            "where it has choices.",
            autocompletion=completes(TASKS),
        ),
    ] = None,
    nli: Annotated[str | None, typer.Option(help="Classifier of inference, for --elicit meaning.")] = None,
    n_samples: Annotated[int, typer.Option(help="Drawn answers per item, for --elicit samples.", min=1)] = 10,
    temperature: Annotated[float, typer.Option(help="Temperature of drawn answers.")] = 1.0,
    split: Split = None,
    limit: Limit = None,
    n_bins: Annotated[int, typer.Option(help="Number of confidence bins.", min=1)] = 15,
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    out: Annotated[Path | None, asked_file("elicit")] = None,
    *,
    options: ConfidenceOptions,
    source: SourceOptions,
    prompt: Prompt,
    server: ServerOptions,
) -> None:
    """Compare sources of confidence on the same items: calibration, ranking of right above wrong answers, tests."""
    from rightreasons.cli._shared.show import write_figures
    from rightreasons.data.opening.judged.confidence import read_confidence
    from rightreasons.foundations.atomic_write import json_lines, write_text
    from rightreasons.foundations.options import listed
    from rightreasons.foundations.resampling import Resampling
    from rightreasons.measuring.confidence.options import ElicitOptions
    from rightreasons.measuring.confidence.sources import measure_confidence
    from rightreasons.measuring.options import CalibrationOptions

    resampling = Resampling(confidence_level, n_resamples, seed)
    figures: dict[str, Any] = {}
    sources = SOURCES[:1] if elicit is None else tuple(listed(elicit) or ())
    asked = ElicitOptions(sources, n_samples, temperature, max_new_tokens=prompt.max_new_tokens, seed=seed)
    if elicit is None:
        alone = {"nli": nli, "split": split, "limit": limit, "task": task, **prompt.changed(), **server.changed()}
        check_unread("elicit", "asks a model", alone)
        table = read_confidence(list(files), options=options)
    else:
        if len(files) != 2:
            raise ValueError(f"Expected a model and a dataset with --elicit, but got {len(files)} arguments.")
        given = {"task": task, "split": split, "limit": limit, "seed": seed}
        known = {name: value for name, value in given.items() if value is not None}
        settings = AuditOptions.read({**source.changed(), **known}, "an audit")
        kept = answers_beside(out)
        elicited = _elicited(files[0], files[1], settings, prompt, server, nli=nli, options=asked, out=kept)
        table, figures["prompts"] = elicited.table, dict(elicited.prompts)
        if kept is not None:
            typer.echo(f"Answers: {write_text(kept / 'answers.jsonl', json_lines(elicited.rows()))}")
        for what, failures in elicited.failures.items():
            item, reason = next(iter(failures.items()))
            typer.echo(f"{what}: {counted(len(failures), 'item')} without, such as {item}: {reason}")
    measured = measure_confidence(table, options=CalibrationOptions(n_bins=n_bins), resampling=resampling)
    typer.secho(f"{', '.join(files)}: {counted(measured.n_items, 'item')} ({table.used})", bold=True)
    show(measured)
    write_figures(out, {**measured.to_dict(), **figures})


def _elicited(
    model: str,
    dataset: str,
    settings: AuditOptions,
    prompt: Prompt,
    server: ServerOptions,
    *,
    nli: str | None,
    options: ElicitOptions,
    out: Path | None,
) -> Elicited:
    """Ask a language model how sure it is of its answers to the labeled items of a split, as an audit asks it.

    What it answers is kept in the folder `out`, so that the same command goes on from there.
    """
    from rightreasons.auditing.asking import is_asked, open_asked
    from rightreasons.data import choose_split, labeled_items
    from rightreasons.data.opening.splits import TEST_SPLITS, limited
    from rightreasons.measuring.confidence.elicitors import elicit_confidence
    from rightreasons.models import load_classifier

    if not is_asked(model):
        raise ValueError(f"Expected a causal language model or a server with --elicit, but got {model}.")
    splits, scorer = open_asked(model, dataset, settings, prompt, server, require_labels=True)
    name = choose_split(splits, settings.split, where=dataset, preferred=TEST_SPLITS, others=True)
    items = limited(labeled_items(splits[name]), settings.limit, options.seed)
    rows = {column: items[column][:] for column in items.column_names}
    inference = None if nli is None else load_classifier(nli)
    return elicit_confidence(scorer, rows, options=options, nli=inference, out=out)


def show(measured: ConfidenceMeasurement) -> None:
    """Print the figures of each source, the tests between each two, and the figures by group."""
    from rightreasons.auditing.page.words import p_equals, p_value
    from rightreasons.cli._shared.show import figure_cell
    from rightreasons.measuring.calibration import FIGURES

    compared = [one for one in measured.sources if one.figures]
    if len(compared) > 1:
        typer.echo(f"Figures are about {counted(measured.n_shared, 'item')} with a confidence from each source.")
    for one in measured.sources:
        if one.n_answered < measured.n_items:
            typer.echo(f"{one.name}: {one.n_answered:,} of {counted(measured.n_items, 'item')} have an answer")
        if one.n_confident < one.n_answered:
            share = 0.0 if one.confident is None else one.confident.value or 0.0
            told = "" if one.figures else ": not compared"
            typer.echo(
                f"{one.name}: {one.n_confident:,} of {one.n_answered:,} answers have a confidence ({share:.1%}){told}"
            )
    width = max(len(one.name) for one in compared) + 2
    typer.echo(f"\n{'':<{width}}" + "".join(f"{_short(FIGURES[key].name):>24}" for key in COLUMNS))
    for one in compared:
        typer.echo(f"{one.name:<{width}}" + "".join(f"{figure_cell(one.figures[key]):>24}" for key in COLUMNS))
    for pair in measured.pairs:
        typer.echo(f"\n{pair.first} - {pair.second}:")
        for key in PAIRED:
            test = pair.differences.get(key)
            if test is None or test.interval is None:
                continue
            name = FIGURES["brier_of_answers" if key == "brier" else key].name
            typer.echo(
                f"  {_short(name):<18} {test.difference:+.3f} [{test.interval.low:+.3f}, {test.interval.high:+.3f}]  "
                f"p {p_equals(test.p_value)}, corrected for all pairs {p_value(pair.p_holm[key])}"
            )
    for group, (n_items, figures) in measured.groups.items():
        typer.echo(f"\n{group or '(no group)'} ({counted(n_items, 'item')})")
        for name, estimates in figures.items():
            said = ", ".join(f"{_short(FIGURES[key].name)} {figure_cell(each)}" for key, each in estimates.items())
            typer.echo(f"  {name}: {said}")


def _short(name: str) -> str:
    """Return the short form that a name has in brackets, or its beginning."""
    if name.endswith(")"):
        return name[name.index("(") + 1 : -1]
    return name.split(" of ")[0]
