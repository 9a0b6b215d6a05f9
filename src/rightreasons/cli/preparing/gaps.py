"""`rightreasons gaps DATASET`: do models of two training sets differ in their Easy/Hard gap?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import ConfidenceLevel, Dataset, FiguresFile, Seed, Split
from rightreasons.data.opening.options import SourceOptions

app = command_line()

EXAMPLES = ("rightreasons gaps copa_easy_hard --first copa-1.csv,copa-2.csv --second balanced-1.csv,balanced-2.csv",)


@declared_command(app, "gaps", {"source": SourceOptions})
def gaps(
    dataset: Dataset,
    first: Annotated[
        str, typer.Option(help="Comma-separated files of answers or scores: the runs of the first training set.")
    ],
    second: Annotated[str, typer.Option(help="The same for the second training set.")],
    source: SourceOptions,
    subsets: Annotated[
        Path | None,
        typer.Option(help="easy_hard_subsets.json of `rightreasons split`; by default the column `easy` says it."),
    ] = None,
    split: Split = None,
    n_permutations: Annotated[int, typer.Option(help="Permutations of the p-value over items.")] = 10_000,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    out: FiguresFile = None,
) -> None:
    """Test whether models of two training sets differ in their Easy/Hard gap, over items and over runs."""
    from rightreasons.analysis.cues.compare_gaps import compare_gaps
    from rightreasons.cli._shared.choices import easy_flags, open_items
    from rightreasons.cli._shared.show import write_figures
    from rightreasons.data.opening.runs import read_runs
    from rightreasons.foundations.options import listed

    items, taken = open_items(dataset, source, split)
    easy = easy_flags(items, subsets)
    rows = [row for row, flag in enumerate(easy) if flag is not None]
    items = items.select(rows)
    one, two = (read_runs(listed(files) or [], items["id"][:]) for files in (first, second))
    compared = compare_gaps(
        one,
        two,
        items["label"][:],
        [easy[row] for row in rows],
        n_permutations=n_permutations,
        confidence_level=confidence_level,
        seed=seed,
    )
    typer.secho(f"{dataset}, {taken}: {compared.n_easy:,} Easy and {compared.n_hard:,} Hard items", bold=True)
    for name, gap, runs in (
        ("first", compared.first, compared.first_runs),
        ("second", compared.second, compared.second_runs),
    ):
        typer.echo(f"Gap of the {name}: {gap:+.3f} (runs: {', '.join(f'{value:+.3f}' for value in runs)})")
    p_value = "none with one run" if compared.p_value is None else f"{compared.p_value:.3g}"
    typer.echo(
        f"Difference: {compared.difference:+.3f} [{compared.interval.low:+.3f}, {compared.interval.high:+.3f}]; "
        f"p = {compared.item_p_value:.3g} over items for these runs; over items and runs: {p_value}"
    )
    write_figures(out, compared)
