"""The commands that write sheets of items for people, and read the filled sheets.

`data ratings` has people rate the items, `data mirror` has a person write prompts that balance the choices.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from rightreasons.cli import command_line, hand_over
from rightreasons.cli.data_group import DATA, open_items
from rightreasons.cli.declared import Dataset, Declared, Split, declared_command
from rightreasons.cli.item_subsets import list_easy_flags
from rightreasons.core.sentences import pluralize
from rightreasons.io.options import AuditOptions, SourceOptions

MIRRORS = command_line()
RATINGS = command_line()
DATA.add_typer(MIRRORS, name="mirror")
DATA.add_typer(RATINGS, name="ratings")

SAMPLE = ("limit", "seed")
"""Names of the options that select the items to rate or mirror."""


@RATINGS.callback()
def ratings() -> None:
    """Write rating sheets of multiple-choice items for people, and read the answers."""


@declared_command(RATINGS, "write", {"source": SourceOptions, "settings": (AuditOptions, SAMPLE)})
def write(
    dataset: Dataset,
    source: SourceOptions,
    settings: AuditOptions,
    split: Split = None,
    out: Annotated[Path, typer.Option(help="Folder of the sheets.")] = Path("sheets"),
    raters: Annotated[int, typer.Option(help="Number of raters.", min=1)] = 3,
) -> None:
    """Write a sheet for each rater, with the items in a different order and without labels and ids."""
    from rightreasons.cues.rating_sheets import write_rating_sheets

    items, split_name = open_items(dataset, source, split, limit=settings.limit, seed=settings.seed)
    files = write_rating_sheets(items, out, n_raters=raters, seed=settings.seed)
    typer.echo(
        f"{dataset}, {split_name}: {pluralize(len(items), 'item')}\nSheets: {', '.join(map(str, files))}"
    )


@declared_command(
    RATINGS,
    "read",
    {"source": SourceOptions, "settings": (AuditOptions, (*SAMPLE, "confidence_level"))},
)
def read(
    dataset: Dataset,
    sheets: Annotated[
        list[Path],
        typer.Argument(help="Sheets of the raters, at least two.", metavar="SHEETS"),
    ],
    source: SourceOptions,
    settings: AuditOptions,
    split: Split = None,
) -> None:
    """Read the filled sheets, and report the accuracy of the raters and Fleiss' kappa.

    The items must be those of the sheets, so pass the same options as when writing them.
    """
    from rightreasons.cues.rating_sheets import read_rating_sheets
    from rightreasons.cues.ratings import human_performance

    items, split_name = open_items(dataset, source, split, limit=settings.limit, seed=settings.seed)
    # Sheets are matched with the items by their codes, in whatever order they come back.
    answers = read_rating_sheets(items, sheets)
    figures = human_performance(**answers, confidence_level=settings.confidence_level)
    kappa = figures.kappa.fleiss_kappa
    ends = figures.interval
    interval = figures.kappa.interval
    # Kappa is undefined if all answers are equal, because they would then agree by chance as well.
    agreement = "no kappa, as all answers are the same choice"
    if interval is not None:
        agreement = f"Fleiss' kappa {kappa:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
    typer.secho(
        f"{dataset}, {split_name}: {pluralize(len(items), 'item')}, {pluralize(len(sheets), 'rater')}",
        bold=True,
    )
    typer.echo(f"accuracy {figures.accuracy:.3f} [{ends.low:.3f}, {ends.high:.3f}]; {agreement}")
    hand_over(figures)


SELECTED: Mapping[str, Declared] = {
    "source": SourceOptions,
    "settings": (AuditOptions, SAMPLE),
}
"""Options that select the items to mirror."""


@MIRRORS.callback()
def mirror() -> None:
    """Balance the choices: write a worksheet of items whose cues give the answer away, and read the new prompts."""


@declared_command(MIRRORS, "write", SELECTED)
def write_mirrors(
    dataset: Dataset,
    source: SourceOptions,
    settings: AuditOptions,
    split: Split = None,
    subsets: Annotated[
        Path | None,
        typer.Option(
            help=(
                "easy_hard_subsets.json; by default the column `easy`, or else a cue-only "
                "classifier, selects the items."
            )
        ),
    ] = None,
    all_items: Annotated[
        bool,
        typer.Option(
            "--all", help="Write all items, not only those whose cues give the answer away."
        ),
    ] = False,
    out: Annotated[Path, typer.Option(help="Path of the .csv file to write.")] = Path(
        "to-mirror.csv"
    ),
) -> None:
    """Write a worksheet of the items whose choices give the answer away, for new prompts.

    A new prompt must make the incorrect choice correct, so that no cue in the choices helps.
    """
    from rightreasons.core.resampling import Resampling
    from rightreasons.core.store import check_file
    from rightreasons.cues.mirror_sheets import select_solved_items, write_mirror_sheet

    check_file(out)
    items, split_name = open_items(dataset, source, split, limit=settings.limit, seed=settings.seed)
    # Without a file of Easy items, a classifier of cues selects the items that it solves.
    if all_items:
        rows = list(range(len(items)))
    elif subsets is not None:
        flags = list_easy_flags(items, subsets)
        rows = [row for row, is_easy in enumerate(flags) if is_easy]
    else:
        rows = select_solved_items(items, resampling=Resampling(seed=settings.seed)).tolist()
    file = write_mirror_sheet(items, out, rows=rows)

    hand_over({"items": len(items), "written": len(rows), "file": str(file)})
    typer.echo(
        f"{dataset}, {split_name}: {len(rows):,} of {pluralize(len(items), 'item')} to mirror\nWorksheet: {file}"
    )
    # The printed command has the same options, because the sheet must be read with the same items.
    command = ["rightreasons", "data", "mirror", "read", dataset, str(file)]
    command += [*source.to_flags(), *settings.to_flags()]
    if split is not None:
        command += ["--split", split]
    typer.echo(f"Fill in the column “new prompt”. Next: {shlex.join(command)}")


@declared_command(MIRRORS, "read", SELECTED)
def read_mirrors(
    dataset: Dataset,
    sheet: Annotated[Path, typer.Argument(help="The filled worksheet.", metavar="SHEET")],
    source: SourceOptions,
    settings: AuditOptions,
    split: Split = None,
    out: Annotated[Path, typer.Option(help="Path of the .jsonl file to write.")] = Path(
        "balanced.jsonl"
    ),
) -> None:
    """Read the new prompts, and write each item with its mirror.

    Items without a new prompt are excluded, so that the result is balanced.
    """
    from rightreasons.core.store import check_file, format_json_lines, write_text
    from rightreasons.cues.mirror_sheets import read_mirror_sheet
    from rightreasons.datasets.perturbing.mirroring import mirror_dataset

    # A file that cannot be written is reported before the sheet is read.
    check_file(out)
    items, split_name = open_items(dataset, source, split, limit=settings.limit, seed=settings.seed)
    balanced = mirror_dataset(items, read_mirror_sheet(items, sheet))
    file = write_text(out, format_json_lines(balanced))

    # Half of the balanced items are mirrors.
    n_mirrored = len(balanced) // 2
    hand_over({"items": len(items), "mirrored": n_mirrored, "file": str(file)})
    typer.echo(
        f"{dataset}, {split_name}: {pluralize(n_mirrored, 'item')} with a mirror, {len(items) - n_mirrored:,} left "
        f"out\nBalanced items: {file}"
    )
    # Cues do not help with these items by construction. Whether a model learns less from cues has to
    # be tested by training.
    typer.echo(
        "Next: train on them and on the original items, and compare both on test items that have no mirror: "
        "rightreasons data gaps … --page proof"
    )
