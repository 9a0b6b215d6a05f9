"""The commands that measure confidences, judges and cues, and print the figures."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.calibration.options import CalibrationOptions, ConfidenceOptions
from rightreasons.cli import command_line
from rightreasons.cli.declared import (
    Dataset,
    FiguresFile,
    answers_beside,
    declared_command,
    refuse,
)
from rightreasons.cli.show import say, show_plan, show_section, show_table, write_figures
from rightreasons.core.errors import counted
from rightreasons.cues.options import CuesOptions
from rightreasons.io.options import RESAMPLED, AuditOptions, SourceOptions
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.wording import Prompt
from rightreasons.probes.options import JudgmentOptions

if TYPE_CHECKING:
    from rightreasons.cues.measure import CueFigures
    from rightreasons.probes.judges import Judgments


COMMANDS = {name: command_line() for name in ("confidence", "judges", "cues")}


@declared_command(
    COMMANDS["confidence"],
    "confidence",
    {
        "options": ConfidenceOptions,
        "settings": (AuditOptions, RESAMPLED),
        "bins": (CalibrationOptions, ("n_bins",)),
    },
)
def confidence(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Tables with a confidence and whether the answer was right; of several, each is a source.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    out: FiguresFile = None,
    **declared: Any,
) -> None:
    """Compare sources of confidence on the same items: calibration, ranking of right above wrong answers, tests."""
    from rightreasons.calibration.confidence_tables import read_confidence
    from rightreasons.calibration.elicit import measure_confidence
    from rightreasons.calibration.question import SOURCES

    settings: AuditOptions = declared["settings"]
    table = read_confidence(list(files), options=declared["options"])
    measured = measure_confidence(table, options=declared["bins"], resampling=settings.resampling)
    answer = SOURCES.answer(measured, settings.confidence_level, drawn=False)
    show_section(f"{', '.join(files)} ({table.used})", answer)
    write_figures(out, measured)


@declared_command(
    COMMANDS["judges"],
    "judges",
    {
        "options": JudgmentOptions,
        "settings": (AuditOptions, ("limit", "plan", *RESAMPLED)),
        "prompt": Prompt,
        "server": ServerOptions,
    },
)
def judges(
    file: Annotated[
        Path,
        typer.Argument(
            help="Judgments: item, judge, candidate shown first and second, verdict; swapped orders as further rows. "
            "With --ask, pairs: prompt and two answers, perhaps item, authors and a reference.",
            metavar="FILE",
            show_default=False,
        ),
    ],
    ask: Annotated[
        str | None,
        typer.Option(
            help="Causal language model (folder, hub id, GGUF file or URL of a server) that judges each pair in both "
            "orders."
        ),
    ] = None,
    judge_name: Annotated[
        str | None, typer.Option(help="With --ask, its name among the authors; by default the model's.")
    ] = None,
    out: FiguresFile = None,
    **declared: Any,
) -> None:
    """Measure what judges of pairs prefer beside quality: position, length, their own answers.

    With --ask and --out, what the model answers is kept beside the figures, and the same command goes on from there.
    """
    from rightreasons.probes.judges import measure_judges, read_judgments
    from rightreasons.probes.question import JUDGES

    settings, prompt = declared["settings"], declared["prompt"]
    if ask is None:
        alone = {"judge_name": judge_name, "limit": settings.limit, "plan": settings.plan or None}
        refuse({**alone, **prompt.changed(), **declared["server"].changed()}, "without --ask")
        judgments = read_judgments(file, options=declared["options"])
    else:
        judged = _judged(file, ask, declared, judge_name, *answers_beside(out))
        if judged is None:
            return
        judgments = judged
    measured = measure_judges(judgments, resampling=settings.resampling)
    show_section(str(file), JUDGES.answer(measured, settings.confidence_level, drawn=False))
    write_figures(out, measured)


def _judged(
    file: Path, model: str, declared: Mapping[str, Any], name: str | None, out: Path | None, work: Path | None
) -> Judgments | None:
    """Have a model judge the pairs of a file in both orders; its judgments are written into the folder `out`.

    What it answers is kept in `work`, to go on from. None of a plan.
    """
    from rightreasons.audited.context import prompted_model
    from rightreasons.core.store import json_lines, write_text
    from rightreasons.core.validation import check_count
    from rightreasons.io.tables import chosen_rows
    from rightreasons.probes.judges import judge_pairs, read_judgments, read_pairs
    from rightreasons.report.plan import plan_of_one

    prompt, (limit, seed) = declared["prompt"], (declared["settings"].limit, declared["settings"].seed)
    # A judge sees both answers at once, as it does where they have letters.
    lettered = prompt if "style" in prompt.changed() else prompt.replaced(style="letters")
    judge = prompted_model(model, lettered, declared["server"], None, seed=seed)
    pairs = read_pairs(file, options=declared["options"])
    n_pairs = len(pairs["item"])
    if limit is not None and check_count(limit, "limit") < n_pairs:
        # The pairs of an item stay together.
        chosen = chosen_rows([str(row) for row in range(n_pairs)], limit, seed=seed, groups=pairs["item"])
        pairs = {column: [values[row] for row in chosen] for column, values in pairs.items()}
    ask = functools.partial(judge_pairs, rows=pairs, judge=name)
    if declared["settings"].plan:
        show_plan(plan_of_one("judges", judge, functools.partial(ask, progress=False)))
        return None
    columns = ask(judge, out=work)
    if out is not None:
        judged = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        typer.echo(f"Judgments: {write_text(out / 'judgments.jsonl', json_lines(judged))}")
    return read_judgments(columns)


@declared_command(
    COMMANDS["cues"],
    "cues",
    {
        "source": SourceOptions,
        "options": CuesOptions,
        "settings": (AuditOptions, ("limit", "confidence_level", "seed")),
    },
)
def cues(
    dataset: Dataset,
    split: Annotated[str | None, typer.Option(help="The split; by default train or the first with labels.")] = None,
    top: Annotated[int, typer.Option(help="Number of cues to print.", min=0)] = 20,
    n_permutations: Annotated[int, typer.Option(help="Permutations of the cue-only classifier's p-value.")] = 200,
    out: FiguresFile = None,
    **declared: Any,
) -> None:
    """Count superficial cues in the choices, and see how far a classifier gets by them alone."""
    from rightreasons.cli.data import open_items
    from rightreasons.cues.measure import GROUPS, ChoiceItems, measure_cues

    source, options, settings = declared["source"], declared["options"], declared["settings"]
    data, taken = open_items(dataset, source, split, train_first=True, limit=settings.limit, seed=settings.seed)
    items = ChoiceItems.of(data, options.groups_column)
    figures = measure_cues(items, options=options, resampling=settings.resampling, n_permutations=n_permutations)
    typer.secho(
        f"{dataset}{f' ({source.config})' if source.config else ''}, {taken}: {counted(len(items), 'item')}", bold=True
    )
    _show_cues(figures, top)
    column = options.groups_column or GROUPS
    _show_classifier(figures, None if items.groups is None else column)
    write_figures(out, {"cue_statistics": figures.statistics, "cue_classifier": figures.classifier})


def _show_cues(figures: CueFigures, top: int) -> None:
    """Print the first cues as the page of an audit has them, and how many tell."""
    from rightreasons.cues.question import CUE_TABLE, CUES
    from rightreasons.page.prose import level_percent

    m, level = SimpleNamespace(cues=figures, shown=top), level_percent(figures.statistics.confidence_level)
    show_table(CUE_TABLE.shown(m, CUES.prose.of(m=m, level=level)))
    n_telling, n_cues = len(figures.significant), counted(figures.statistics.n_cues, "cue")
    differ = "differs" if n_telling == 1 else "differ"
    typer.echo(f"\n{n_telling:,} of {n_cues} {differ} from chance after Holm's correction.")


def _show_classifier(figures: CueFigures, column: str | None) -> None:
    """Print how far a classifier of cues alone gets, as the page does, and how that was tested."""
    from rightreasons.cues.question import CUES
    from rightreasons.page.prose import p_equals

    tested = figures.classifier
    if tested is None:
        return
    grouped = f", groups of {column!r} kept together" if column else ""
    p_value = "" if tested.p_value is None else f", p {p_equals(tested.p_value)}"
    luck = tested.p_value is not None and tested.p_value >= figures.alpha and figures.conclusion == "gives answers away"
    more = f", which {tested.n_permutations} permutations cannot tell from luck" if luck else ""
    say(CUES.prose.of(m=SimpleNamespace(cues=figures))("part.alone"))
    say(f"{tested.n_folds} folds{grouped}{p_value}{more}.")
