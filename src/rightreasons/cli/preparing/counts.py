"""`rightreasons counts words | cues SOURCE`: figures of data beyond memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import FiguresFile, LabelColumn
from rightreasons.foundations.choices import FEATURES
from rightreasons.foundations.engines.options import EngineOptions
from rightreasons.foundations.sentences import counted

app = command_line()

EXAMPLES = (
    "rightreasons counts words reviews/ --jobs 4",
    "rightreasons counts cues items/ --engine dask://scheduler:8786 --work counts",
)

Source = Annotated[
    str, typer.Argument(help="A file, or a folder of parquet, csv or JSON lines.", metavar="SOURCE", show_default=False)
]
Split = Annotated[str | None, typer.Option(help="Split of a folder that has several.")]
Work = Annotated[
    Path | None,
    typer.Option(help="Folder for the counts of each file, from which a stopped command goes on."),
]
Top = Annotated[int, typer.Option(help="Number of rows to print.", min=0)]


@app.callback()
def counts() -> None:
    """Count the words or the cues of data that need not fit into memory: file by file, at the same time, merged."""


@declared_command(app, "words", {"options": EngineOptions})
def words(
    source: Source,
    options: EngineOptions,
    split: Split = None,
    work: Work = None,
    top: Top = 10,
    text_column: Annotated[str | None, typer.Option(help="Column of the texts.")] = None,
    label_column: LabelColumn = None,
    count: Annotated[str, typer.Option(help="occurrence, or presence: once per text.")] = "occurrence",
    out: FiguresFile = None,
) -> None:
    """Rank the words of each label by local mutual information."""
    from rightreasons.cli._shared.show import write_figures
    from rightreasons.measuring.streams.counting import count_words

    _check_out(out, source)
    named = {"text_column": text_column, "label_column": label_column}
    result = count_words(source, split=split, count=count, engine=options, out=work, **_given(named)).result()
    typer.secho(
        f"{source}: {counted(result.n_documents, 'text')}, {result.vocabulary_size:,} distinct words", bold=True
    )
    for table in result.by_label:
        shown = ", ".join(f"{token} ({value:.2g})" for token, value in zip(table.tokens[:top], table.lmi, strict=False))
        typer.echo(f"label {table.label}: {shown}")
    write_figures(out, {"lmi": result})


@declared_command(app, "cues", {"options": EngineOptions})
def cues(
    source: Source,
    options: EngineOptions,
    split: Split = None,
    work: Work = None,
    top: Top = 20,
    features: Annotated[
        str, typer.Option(help=f"Comma-separated families of cues: {', '.join(FEATURES)}.")
    ] = "unigram",
    min_applicability: Annotated[int, typer.Option(help="Minimum applicability of a cue.", min=1)] = 20,
    first_label: Annotated[int | None, typer.Option(help="Number of the first choice, 0 or 1.")] = None,
    out: FiguresFile = None,
) -> None:
    """Count how often each cue is applicable, and how often it points at the right choice."""
    from rightreasons.cli._shared.show import write_figures
    from rightreasons.foundations.options import listed
    from rightreasons.measuring.streams.counting import count_cues

    _check_out(out, source)
    families = tuple(listed(features) or ())
    counts = count_cues(
        source, split=split, features=families, engine=options, out=work, **_given({"first_label": first_label})
    )
    table = counts.result(min_applicability=min_applicability)
    typer.secho(f"{source}: {counted(table.n_items, 'item')}, {table.n_cues:,} cues", bold=True)
    for row in table.cues[:top]:
        typer.echo(
            f"{row.cue:<20} {row.applicability:>10,}  {row.productivity:.3f} [{row.low:.3f}, {row.high:.3f}]  "
            f"p (Holm) {row.p_holm:.3g}"
        )
    write_figures(out, {"cue_statistics": table})


def _check_out(out: Path | None, source: str) -> None:
    if out is not None and out.resolve() == Path(source).resolve():
        raise ValueError(f"Expected another file for `out` than the data, but both are {str(out)!r}.")


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
