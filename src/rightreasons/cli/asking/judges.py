"""`rightreasons judges FILE`: what a judge of pairs prefers beside quality; with --ask, a model judges them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import (
    ConfidenceLevel,
    Limit,
    Resamples,
    Seed,
    answers_beside,
    asked_file,
    check_unread,
)
from rightreasons.data.opening.options import JudgmentOptions
from rightreasons.foundations.sentences import counted
from rightreasons.models.prompting.prompt import Prompt
from rightreasons.models.servers.options import ServerOptions

if TYPE_CHECKING:
    from rightreasons.analysis.probes.judges import Preference
    from rightreasons.data.opening.judged.judgments import Judgments

FIGURES = {
    "consistency": "Same winner in both orders",
    "position": "First place over second",
    "length": "Longer over shorter",
    "length_beyond": "Longer, beyond the reference",
    "own": "Its own over the other",
    "own_beyond": "Its own, beyond the reference",
}

app = command_line()

EXAMPLES = (
    "rightreasons judges judgments.csv --out figures.json",
    "rightreasons judges judgments.jsonl --reference-column human --verdict-column winner",
    "rightreasons judges pairs.csv --ask MODEL --reference-column winner --out figures.json",
)


@declared_command(app, "judges", {"options": JudgmentOptions, "prompt": Prompt, "server": ServerOptions})
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
            "orders.",
        ),
    ] = None,
    judge_name: Annotated[
        str | None, typer.Option(help="With --ask, its name among the authors; by default the model's.")
    ] = None,
    limit: Limit = None,
    n_resamples: Resamples = 1000,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    out: Annotated[Path | None, asked_file("ask")] = None,
    *,
    options: JudgmentOptions,
    prompt: Prompt,
    server: ServerOptions,
) -> None:
    """Measure what judges of pairs prefer beside quality: position, length, their own answers."""
    from rightreasons.cli._shared.show import write_figures
    from rightreasons.data.opening.judged.judgments import read_judgments
    from rightreasons.foundations.resampling import Resampling
    from rightreasons.measuring.judges.bias import measure_judges

    if ask is None:
        alone = {"judge_name": judge_name, "limit": limit, **prompt.changed(), **server.changed()}
        check_unread("ask", "names a model", alone)
        judgments = read_judgments(file, options=options)
    else:
        kept = answers_beside(out)
        judgments = _asked(file, ask, judge_name, options, prompt, server, limit=limit, seed=seed, out=kept)
    measured = measure_judges(judgments, resampling=Resampling(confidence_level, n_resamples, seed))
    without = f", {measured.n_without:,} without a verdict" if measured.n_without else ""
    typer.secho(f"{file}: {counted(measured.n_rows, 'judgment')}{without}", bold=True)
    nulls: dict[str, str] = {}
    for name, bias in measured.judges.items():
        typer.echo(f"\n{name} ({counted(bias.n_pairs, 'pair')})")
        for key, words in FIGURES.items():
            figure: Preference | None = getattr(bias, key)
            if figure is not None:
                typer.echo(f"  {words:<30} {_figure(figure)}")
                nulls |= {words: figure.null} if figure.null else {}
    typer.echo("\nTested:" if nulls else "")
    for words, null in nulls.items():
        typer.echo(f"  {words}: {null}")
    write_figures(out, measured)


def _asked(
    file: Path,
    model: str,
    name: str | None,
    options: JudgmentOptions,
    prompt: Prompt,
    server: ServerOptions,
    *,
    limit: int | None,
    seed: int,
    out: Path | None,
) -> Judgments:
    """Have a model judge the pairs of a file in both orders; what it answers is kept in the folder `out`."""
    from rightreasons.auditing.asking import prompted_model
    from rightreasons.data.opening.judged.judgments import read_judgments, read_pairs
    from rightreasons.data.opening.splits import chosen_rows
    from rightreasons.foundations.atomic_write import json_lines, write_text
    from rightreasons.foundations.validation import check_count
    from rightreasons.measuring.judges.bias import judge_pairs

    pairs = read_pairs(file, options=options)
    n_pairs = len(pairs["item"])
    if limit is not None and check_count(limit, "limit") < n_pairs:
        # The pairs of an item stay together.
        chosen = chosen_rows([str(row) for row in range(n_pairs)], limit, seed=seed, groups=pairs["item"])
        pairs = {column: [values[row] for row in chosen] for column, values in pairs.items()}
    # A judge sees both answers at once, as it does where they have letters.
    lettered = prompt if "style" in prompt.changed() else dataclasses.replace(prompt, style="letters")
    judge = prompted_model(model, lettered, server, None, seed=seed)
    columns = judge_pairs(judge, pairs, judge=name, out=None if out is None else out / "answers")
    if out is not None:
        judged = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        typer.echo(f"Judgments: {write_text(out / 'judgments.jsonl', json_lines(judged))}")
    return read_judgments(columns)


def _figure(figure: Preference) -> str:
    from rightreasons.auditing.page.words import p_equals

    tested = "" if figure.p_value is None else f"  p {p_equals(figure.p_value)}"
    ends = f"[{figure.interval.low:+.3f}, {figure.interval.high:+.3f}]"
    about = f"{counted(figure.n_pairs, 'pair')} of {counted(figure.n_items, 'item')}"
    return f"{figure.value:+.3f} {ends}{tested}  ({about})"
