"""`rightreasons split DATASET`: which items are solved without their premises?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.declared import declared_command
from rightreasons.cli._shared.options import Dataset, LimitEach
from rightreasons.data.opening.options import SourceOptions
from rightreasons.foundations.sentences import counted
from rightreasons.training.tuning.options import SplitOptions

if TYPE_CHECKING:
    import datasets

app = command_line()

EXAMPLES = ("rightreasons split socialiqa --n-runs 3 --limit 1000 --out split",)


@declared_command(app, "split", {"source": SourceOptions, "options": SplitOptions})
def split(
    dataset: Dataset,
    source: SourceOptions,
    options: SplitOptions,
    model: Annotated[
        str | None, typer.Option(help="Encoder to train; by default the packaged one of the extra [demo].")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the result; a second call resumes from it.")] = Path("split"),
    test_split: Annotated[str | None, typer.Option(help="Split to divide; by default test or validation.")] = None,
    train_split: Annotated[
        str | None, typer.Option(help="Split to train on; by default train or the other folds of the test split.")
    ] = None,
    limit: LimitEach = None,
) -> None:
    """Train without the premises, and divide the items into Easy (solved anyway in every run) and Hard."""
    from rightreasons.foundations.atomic_write import check_folder, write_json
    from rightreasons.models.packaged import demo_encoder
    from rightreasons.training.tuning.premise_oblivious import premise_oblivious_split

    check_folder(out, own=("split.json", "easy_hard_subsets.json", "runs"))
    labeled = _open(dataset, **source.source(options.task), limit=limit, seed=options.seed)
    test_name, test = _test(labeled, test_split, dataset)
    train_name, train = _train(labeled, train_split, test_name, dataset)
    result = premise_oblivious_split(
        demo_encoder() if model is None else model,
        test,
        train,
        out=out / "runs",
        progress=True,
        **options.to_dict(),
    )
    parted = list(zip(result.ids, result.easy, strict=True))
    subsets = {
        "easy": [key for key, easy in parted if easy],
        "hard": [key for key, easy in parted if not easy],
    }
    write_json(out / "easy_hard_subsets.json", subsets)
    write_json(out / "split.json", result.to_dict())
    each = ", ".join(f"{accuracy:.3f}" for accuracy in result.accuracy)
    trained = f"trained on {train_name!r}" if train_name else f"trained on the other of {options.n_folds} folds"
    share = result.n_easy / len(result.ids)
    typer.secho(f"{dataset}, {test_name}: {counted(len(result.ids), 'item')}, {trained}", bold=True)
    typer.echo(
        f"Without the premises: accuracy {result.mean_accuracy:.3f} (runs: {each}); guessing {result.chance:.3f}, the "
        f"most frequent label {result.majority:.3f}."
    )
    typer.echo(
        f"Easy: {counted(result.n_easy, 'item')} ({share:.1%}), right in every run ({result.n_runs}); "
        f"{result.easy_by_chance:.1%} would be by luck. Hard: {result.n_hard:,}."
    )
    typer.echo(f"Ids: {out / 'easy_hard_subsets.json'}")


def _open(dataset: str, **options: Any) -> dict[str, datasets.Dataset]:
    """Open the labeled items of each split that has some."""
    from rightreasons.data.opening.datasets import open_splits
    from rightreasons.data.opening.splits import labeled_items

    labeled = {name: labeled_items(items) for name, items in open_splits(dataset, **options).items()}
    return {name: items for name, items in labeled.items() if len(items)}


def _test(splits: dict[str, datasets.Dataset], name: str | None, where: str) -> tuple[str, datasets.Dataset]:
    from rightreasons.data.opening.splits import choose_split

    if not splits:
        raise ValueError(f"Expected items with a label in {where}, but there are none.")
    chosen = choose_split(splits, name, where=f"{where} with labels", others=True)
    return chosen, splits[chosen]


def _train(
    found: dict[str, datasets.Dataset], name: str | None, test_name: str, where: str
) -> tuple[str | None, datasets.Dataset | None]:
    from rightreasons.foundations.validation import unknown_name

    if name is not None and name not in found:
        raise unknown_name(f"split of {where} with labels", name, found)
    if name is not None and name == test_name:
        raise ValueError(f"Expected another split to train on than the one to part, but both are {name!r}.")
    chosen = name or ("train" if "train" in found and test_name != "train" else None)
    return chosen, found[chosen] if chosen is not None else None
