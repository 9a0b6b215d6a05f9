"""`rightreasons cues DATASET`: does a multiple-choice data set give its answers away?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import ConfidenceLevel, Dataset, FiguresFile, Limit, Seed
from rightreasons.data.opening.options import SourceOptions
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.options import CuesOptions

if TYPE_CHECKING:
    from rightreasons.measuring.cues import CueFigures

app = command_line()

EXAMPLES = (
    "rightreasons cues copa --top 10",
    "rightreasons cues items.jsonl --prompt-column stem --choices-column one,two",
)


@declared_command(app, "cues", {"source": SourceOptions, "options": CuesOptions})
def cues(
    dataset: Dataset,
    source: SourceOptions,
    options: Any,
    split: Annotated[str | None, typer.Option(help="The split; by default train or the first with labels.")] = None,
    top: Annotated[int, typer.Option(help="Number of cues to print.", min=0)] = 20,
    limit: Limit = None,
    n_permutations: Annotated[int, typer.Option(help="Permutations of the cue-only classifier's p-value.")] = 200,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    out: FiguresFile = None,
) -> None:
    """Count superficial cues in the choices, and see how far a classifier gets by them alone."""
    from rightreasons.cli._shared.choices import open_items
    from rightreasons.cli._shared.show import write_figures
    from rightreasons.foundations.resampling import Resampling
    from rightreasons.measuring.cues import GROUPS, ChoiceItems, measure_cues

    data, taken = open_items(dataset, source, split, train_first=True, limit=limit, seed=seed)
    items = ChoiceItems.of(data, options.groups_column)
    figures = measure_cues(
        items, options=options, resampling=Resampling(confidence_level, seed=seed), n_permutations=n_permutations
    )
    typer.secho(
        f"{dataset}{f' ({source.config})' if source.config else ''}, {taken}: {counted(len(items), 'item')}", bold=True
    )
    _show_table(figures, top)
    column = options.groups_column or GROUPS
    _show_classifier(figures, None if items.groups is None else column)
    write_figures(out, {"cue_statistics": figures.statistics, "cue_classifier": figures.classifier})


def _show_table(figures: CueFigures, top: int) -> None:
    table = figures.statistics
    interval = f"[{100 * table.confidence_level:g}%]"
    width = max((len(row.cue) for row in table.cues[:top]), default=3)
    typer.echo(f"\n{'cue':<{width}}  applicable  productivity {interval:<15} chance  coverage  p (Holm)")
    for row in table.cues[:top]:
        ends = f"[{row.low:.3f}, {row.high:.3f}]"
        typer.echo(
            f"{row.cue:<{width}}  {row.applicability:>10,}  {row.productivity:>12.3f} {ends:<15} {row.chance:>6.3f}  "
            f"{row.coverage:>8.3f}  {row.p_holm:.3g}"
        )
    n_telling = len(figures.significant)
    names = ", ".join(f"{row.cue!r} ({row.productivity:.2f})" for row in figures.significant[:10])
    typer.echo(
        f"\n{n_telling:,} of {counted(table.n_cues, 'cue')} {'differs' if n_telling == 1 else 'differ'} from chance "
        f"after Holm's correction{f': {names}' if names else ''}."
    )


def _show_classifier(figures: CueFigures, column: str | None) -> None:
    tested = figures.classifier
    if tested is None:
        return
    no_sign = "shows no sign of giving answers away"
    verdict = {
        "gives answers away": "gives answers away",
        "misleads": "misleads the classifier, so this says nothing of cues",
        "cannot tell": f"{no_sign}, but {figures.too_few}",
        "no sign": no_sign,
    }[figures.conclusion]
    p_value = "" if tested.p_value is None else f", p = {tested.p_value:.3g}"
    grouped = f", groups of {column!r} kept together" if column else ""
    typer.echo(
        f"By cues alone a classifier is right on {tested.accuracy:.3f} [{tested.low:.3f}, {tested.high:.3f}] of the "
        f"items where guessing gets {tested.chance:.3f} ({tested.n_folds} folds{grouped}{p_value}): the data {verdict}."
    )
    if figures.conclusion == "misleads":
        typer.secho(
            "Warning: that is below guessing, as it is where items that belong together are in different folds; "
            f"{counted(figures.n_twins, 'item offers', 'items offer')} the same choices as another item. Name the "
            "column that says which items belong together with --groups-column.",
            err=True,
            fg="yellow",
        )
