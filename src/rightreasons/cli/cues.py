"""`rightreasons cues DATASET`: does a multiple-choice data set give its answers away?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli._declared import declared_command
from rightreasons.cli._options import (
    ChoicesColumn,
    ConfidenceLevel,
    ConfigName,
    DataDir,
    Dataset,
    Limit,
    PromptColumn,
    RightChoiceColumn,
    Seed,
)
from rightreasons.measuring.options import CuesOptions

if TYPE_CHECKING:
    from rightreasons.analysis.cues.classifier import CueClassifier
    from rightreasons.analysis.cues.statistics import CueStatistics

app = command_line()


@declared_command(app, "cues", {"options": CuesOptions})
def cues(
    dataset: Dataset,
    options: Any,
    config: ConfigName = None,
    split: Annotated[str | None, typer.Option(help="The split; by default train or the first with labels.")] = None,
    top: Annotated[int, typer.Option(help="Number of cues to print.")] = 20,
    prompt_column: PromptColumn = None,
    choices_column: ChoicesColumn = None,
    label_column: RightChoiceColumn = None,
    first_label: Annotated[int | None, typer.Option(help="Whether labels count from 0 or from 1.")] = None,
    data_dir: DataDir = None,
    limit: Limit = None,
    n_permutations: Annotated[int, typer.Option(help="Permutations of the cue-only classifier's p-value.")] = 200,
    confidence_level: ConfidenceLevel = 0.95,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option(help="File for all figures, as JSON.")] = None,
) -> None:
    """Count superficial cues in the choices, and see how far a classifier gets by them alone."""
    from rightreasons.analysis.cues.classifier import cue_classifier
    from rightreasons.analysis.cues.statistics import cue_statistics
    from rightreasons.cli._choices import open_items
    from rightreasons.foundations.resampling import Resampling

    data, taken = open_items(
        dataset,
        config,
        split=split,
        prompt_column=prompt_column,
        choices_column=choices_column,
        label_column=label_column,
        first_label=first_label,
        data_dir=data_dir,
        limit=limit,
        seed=seed,
    )
    if options.groups_column is not None and options.groups_column not in data.column_names:
        raise ValueError(
            f"Expected a column {options.groups_column!r} in {dataset}, but it has {', '.join(data.column_names)}."
        )
    column = options.groups_column or ("source_id" if "source_id" in data.column_names else None)
    items, labels = data["choices"][:], data["label"][:]
    prompts = data["prompt"][:] if "overlap" in options.features else None
    table = cue_statistics(
        items,
        labels,
        prompts=prompts,
        features=options.features,
        min_applicability=options.min_applicability,
        confidence_level=confidence_level,
    )
    reached = cue_classifier(
        items,
        labels,
        prompts=prompts,
        groups=data[column][:] if column else None,
        features=options.features,
        n_folds=options.n_folds,
        n_permutations=n_permutations,
        resampling=Resampling(confidence_level, seed=seed),
    )
    typer.secho(f"{dataset}{f' ({config})' if config else ''}, {taken}: {table.n_items:,} items", bold=True)
    _show_table(table, top)
    _show_classifier(reached, column)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        figures = {"cue_statistics": table.to_dict(), "cue_classifier": reached.to_dict()}
        out.write_text(json.dumps(figures, ensure_ascii=False, indent=1), "utf-8")
        typer.echo(f"\nFigures: {out}")


def _show_table(table: CueStatistics, top: int) -> None:
    level = f"{100 * table.confidence_level:g} %"
    width = max((len(row.cue) for row in table.cues[:top]), default=3)
    interval = f"[{level}]"
    typer.echo(f"\n{'cue':<{width}}  applicable  productivity {interval:<15} chance  coverage  p (Holm)")
    for row in table.cues[:top]:
        ends = f"[{row.low:.3f}, {row.high:.3f}]"
        typer.echo(
            f"{row.cue:<{width}}  {row.applicability:>10,}  {row.productivity:>12.3f} {ends:<15} {row.chance:>6.3f}  "
            f"{row.coverage:>8.3f}  {row.p_holm:.3g}"
        )
    significant = [row for row in table.cues if row.p_holm < 1 - table.confidence_level]
    named = ", ".join(f"{row.cue!r} ({row.productivity:.2f})" for row in significant[:10])
    typer.echo(
        f"\n{len(significant):,} of {table.n_cues:,} cues differ from chance after Holm's correction"
        f"{f': {named}' if named else ''}."
    )


def _show_classifier(reached: CueClassifier, column: str | None) -> None:
    verdict = "gives answers away" if reached.low > reached.chance else "is not seen to give answers away"
    p_value = "" if reached.p_value is None else f", p = {reached.p_value:.3g}"
    grouped = f", groups of {column!r} kept together" if column else ""
    typer.echo(
        f"By cues alone a classifier is right on {reached.accuracy:.3f} [{reached.low:.3f}, {reached.high:.3f}] of the "
        f"items where guessing gets {reached.chance:.3f} ({reached.n_folds} folds{grouped}{p_value}): "
        f"the data {verdict}."
    )
