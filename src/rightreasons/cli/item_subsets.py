"""The commands on Easy and Hard items: which items are solved without their premises, and what the gap does.

`data split` divides the items, `data gaps` compares runs on both subsets.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rightreasons.cli import hand_over
from rightreasons.cli.data_group import DATA, open_items
from rightreasons.cli.declared import Dataset, Split, declared_command
from rightreasons.cli.loops import PageFolder, check_page, show_loop
from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, option
from rightreasons.core.sentences import pluralize
from rightreasons.io.options import AuditOptions, SourceOptions
from rightreasons.training.options import SplitOptions

if TYPE_CHECKING:
    import datasets

    from rightreasons.cues.gap_change import GapComparison
    from rightreasons.training.premise_oblivious import EasyHardSplit


def list_easy_flags(items: datasets.Dataset, subsets: Path | None) -> list[bool | None]:
    """Return whether each item is Easy; None for an item of neither subset.

    Args:
        items: The items.
        subsets: Path of easy_hard_subsets.json, which `rightreasons data split` writes, with the ids
            as `{"easy": […], "hard": […]}`. None to read the column "easy" of the items.

    Raises:
        OptionError: If there is neither a file nor a column, or the file is about other items.
    """
    from rightreasons.core.json_files import read_json

    if subsets is None:
        if "easy" not in items.column_names:
            raise OptionError(
                "Expected a column `easy` that states whether an item is Easy, or --subsets, but "
                f"got the columns {', '.join(items.column_names)}.",
                option="subsets",
            )
        return [bool(flag) for flag in items["easy"][:]]

    stored = read_json(subsets)
    ids_by_subset = stored if isinstance(stored, dict) else {}
    easy_ids = ids_by_subset.get("easy")
    hard_ids = ids_by_subset.get("hard")
    if not isinstance(easy_ids, list) or not isinstance(hard_ids, list):
        raise OptionError(
            f"Expected the lists `easy` and `hard` in {subsets.name}, as `rightreasons data split` "
            "writes them.",
            option="subsets",
        )
    # Ids are compared as strings, because JSON may contain numbers as ids.
    flag_by_id: dict[str, bool] = {}
    for item_id in easy_ids:
        flag_by_id[str(item_id)] = True
    for item_id in hard_ids:
        flag_by_id[str(item_id)] = False
    flags = [flag_by_id.get(str(item_id)) for item_id in items["id"][:]]
    # If no id is known, the file is about another data set.
    if all(flag is None for flag in flags):
        raise OptionError(
            f"Expected ids of the items in {subsets.name}, but found no id of these items.",
            option="subsets",
        )
    return flags


class GapOptions(Options):
    """Runs to compare, and their test."""

    original: tuple[str, ...] | None = option(
        None, "Comma-separated files of predictions, one per run trained on the original items."
    )
    balanced: tuple[str, ...] | None = option(
        None, "Comma-separated files of predictions, one per run trained on the balanced items."
    )
    subsets: str | None = option(
        None, "easy_hard_subsets.json; by default the column `easy` is read."
    )
    n_permutations: int = option(
        10_000, "Number of permutations of the test over items.", minimum=1
    )

    def _check(self) -> None:
        for name in ("original", "balanced"):
            if not getattr(self, name):
                raise OptionError(f"Expected files of predictions in `{name}`.", option=name)


@declared_command(
    DATA,
    "gaps",
    {
        "source": SourceOptions,
        "options": GapOptions,
        "settings": (AuditOptions, ("seed", "confidence_level")),
    },
)
def gaps(
    dataset: Dataset,
    source: SourceOptions,
    options: GapOptions,
    settings: AuditOptions,
    split: Split = None,
    page: PageFolder = None,
) -> None:
    """Test whether the Easy/Hard gap changes with the training set, on the same test items."""
    from rightreasons.core.resampling import Resampling
    from rightreasons.cues.gap_change import compare_gaps
    from rightreasons.io.runs import read_runs

    # A folder that cannot be written is reported before files are read.
    check_page(page)
    items, split_name = open_items(dataset, source, split)
    flags = list_easy_flags(items, None if options.subsets is None else Path(options.subsets))
    # Items that are in neither subset are excluded.
    rows = [row for row, flag in enumerate(flags) if flag is not None]
    items = items.select(rows)
    ids = items["id"][:]
    # `read_runs` sorts the predictions of each run by these ids.
    original = read_runs(options.original or (), ids)
    balanced = read_runs(options.balanced or (), ids)
    labels = items["label"][:]
    easy = [flags[row] for row in rows]
    resampling = Resampling(level=settings.confidence_level, seed=settings.seed)
    # All runs answer the same items, so that the gaps can be compared in pairs.
    comparison = compare_gaps(
        original,
        balanced,
        labels,
        easy,
        n_permutations=options.n_permutations,
        resampling=resampling,
    )

    hand_over(comparison)
    _show_gaps(comparison, f"{dataset}, {split_name}")
    if page is not None:
        from rightreasons.page.formats import short_name
        from rightreasons.repairs.loops import judge_balancing

        name = f"{short_name(dataset)}, {split_name}"
        loop = judge_balancing(
            comparison, original, balanced, labels, easy, data=name, resampling=resampling
        )
        files = {
            "original": list(options.original or ()),
            "balanced": list(options.balanced or ()),
        }
        show_loop(loop, page, settings=files, level=settings.confidence_level)


def _show_gaps(comparison: GapComparison, title: str) -> None:
    """Print the Easy/Hard gaps after both training sets, and the tests of their difference.

    Args:
        comparison: The comparison.
        title: Name of the data and the split.
    """
    typer.secho(
        f"{title}: {comparison.n_easy:,} Easy and {comparison.n_hard:,} Hard items", bold=True
    )
    for name in ("original", "balanced"):
        gap = getattr(comparison, name)
        run_gaps = ", ".join(f"{run_gap:+.3f}" for run_gap in getattr(comparison, f"{name}_runs"))
        typer.echo(f"Gap, {name} training set: {gap:+.3f} (runs: {run_gaps})")
    # A p-value over runs needs several runs of each training set.
    p_value = "none for a single run"
    if comparison.p_value is not None:
        p_value = f"{comparison.p_value:.3g}"
    interval = comparison.interval
    # The first p-value is about these trained models, and the second about further trainings.
    typer.echo(
        f"Difference: {comparison.difference:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]; p over "
        f"items for these runs: {comparison.item_p_value:.3g}; p over items and runs: {p_value}"
    )
    typer.echo(comparison.verdict)


class DividedOptions(Options):
    """Items to divide, and items to train on."""

    test_split: str | None = option(None, "Split to divide; by default test or validation.")
    train_split: str | None = option(None, "Split to train on; by default train.")
    limit: int | None = option(None, "Maximum number of items per split.", minimum=1)


@declared_command(
    DATA, "split", {"source": SourceOptions, "items": DividedOptions, "options": SplitOptions}
)
def split(
    dataset: Dataset,
    source: SourceOptions,
    items: DividedOptions,
    options: SplitOptions,
    model: Annotated[
        str | None,
        typer.Option(help="Encoder to train; by default the encoder of the extra [encoder]."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Folder of the result, from which a second call resumes.")
    ] = Path("split"),
) -> None:
    """Train without the premises, and divide the items into Easy (solved without premises in every run) and Hard."""
    from rightreasons.core.store import check_folder, write_json
    from rightreasons.io.samples import choose_split
    from rightreasons.models.scorers import demo_encoder
    from rightreasons.training.premise_oblivious import premise_oblivious_split

    check_folder(out, own=("split.json", "easy_hard_subsets.json", "runs"))
    labeled = _open_labeled_splits(dataset, source, items, options.seed)
    source_name = f"{dataset} with labels"
    test_name = choose_split(labeled, items.test_split, source_name=source_name, takes_any=True)
    train_name = items.train_split or "train"
    # A classifier may solve the items on which it was trained by memory.
    if train_name == test_name:
        raise ValueError(
            "Expected different splits to train on and to divide, but both splits are "
            f"{test_name!r}."
        )
    train = labeled[choose_split(labeled, train_name, source_name=source_name)]
    result = premise_oblivious_split(
        demo_encoder() if model is None else model,
        labeled[test_name],
        train,
        out=out / "runs",
        progress=True,
        **options.to_dict(),
    )
    # Ids are stored, and not rows, whose order may change in another version of the data.
    subsets: dict[str, list[str]] = {"easy": [], "hard": []}
    for item_id, is_easy in zip(result.ids, result.easy, strict=True):
        subsets["easy" if is_easy else "hard"].append(item_id)
    write_json(out / "easy_hard_subsets.json", subsets)
    write_json(out / "split.json", result.to_dict())
    hand_over(result)
    _show_subsets(result, f"{dataset}, {test_name}", train_name)
    typer.echo(f"Ids: {out / 'easy_hard_subsets.json'}")


def _open_labeled_splits(
    dataset: str, source: SourceOptions, items: DividedOptions, seed: int
) -> dict[str, datasets.Dataset]:
    """Open the labeled items of each split that has some.

    Args:
        dataset: Name, hub id or path of the data set.
        source: Names of its columns, and other options that open it.
        items: Options with the maximum number of items per split.
        seed: Seed by which items are selected if there are more.

    Returns:
        Split -> its labeled items.

    Raises:
        OptionError: If no item has a label.
    """
    from rightreasons.io.samples import select_labeled_items
    from rightreasons.io.tables import open_splits

    opened = open_splits(dataset, **source.source("multiple_choice"), limit=items.limit, seed=seed)
    labeled = {}
    for name, rows in opened.items():
        selected = select_labeled_items(rows)
        if len(selected):
            labeled[name] = selected
    if not labeled:
        raise OptionError(
            f"Expected items with a label in {dataset}, but there are none.", option="label_column"
        )
    return labeled


def _show_subsets(result: EasyHardSplit, title: str, train_name: str) -> None:
    """Print the accuracy without the premises, and the sizes of the Easy and the Hard subset.

    Args:
        result: The subsets.
        title: Name of the data and the split.
        train_name: Name of the split that was trained on.
    """
    n_items = len(result.ids)
    typer.secho(f"{title}: {pluralize(n_items, 'item')}, trained on {train_name!r}", bold=True)
    accuracies = ", ".join(f"{accuracy:.3f}" for accuracy in result.accuracy)
    typer.echo(
        f"Without the premises: accuracy {result.mean_accuracy:.3f} (runs: {accuracies}); "
        f"guessing {result.chance:.3f}, the most frequent label {result.majority:.3f}."
    )
    # The share of Easy items is printed with that by chance, because guessing solves some items in
    # every run.
    share = result.n_easy / n_items
    n_easy = pluralize(result.n_easy, "item")
    typer.echo(
        f"Easy: {n_easy} ({share:.1%}; by chance, {result.easy_by_chance:.1%}), correct in all "
        f"{pluralize(result.n_runs, 'run')}. Hard: {result.n_hard:,}."
    )
