"""`rightreasons split DATASET`: which items are solved without their premises?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.cli import command_line
from rightreasons.cli._shared.options import (
    BatchSize,
    ChoicesColumn,
    ConfigName,
    DataDir,
    Dataset,
    LabelColumn,
    LimitEach,
    PromptColumn,
)

if TYPE_CHECKING:
    import datasets

app = command_line()


@app.command()
def split(
    dataset: Dataset,
    model: Annotated[
        str | None, typer.Option(help="Encoder to train; by default the packaged one of the extra [demo].")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the result; a second call resumes from it.")] = Path("split"),
    task: Annotated[
        str, typer.Option(help="multiple_choice, or classification for pairs of texts (hypothesis only).")
    ] = "multiple_choice",
    config: ConfigName = None,
    test_split: Annotated[str | None, typer.Option(help="Split to divide; by default test or validation.")] = None,
    train_split: Annotated[
        str | None, typer.Option(help="Split to train on; by default train or the other folds of the test split.")
    ] = None,
    prompt_column: PromptColumn = None,
    choices_column: ChoicesColumn = None,
    label_column: LabelColumn = None,
    data_dir: DataDir = None,
    limit: LimitEach = None,
    runs: Annotated[int, typer.Option(help="Number of models to train, each with its own seed.")] = 3,
    n_folds: Annotated[int, typer.Option(help="Number of folds where there is no training split.")] = 5,
    epochs: Annotated[float, typer.Option(help="Passes over the training set.")] = 3.0,
    learning_rate: Annotated[float, typer.Option(help="Peak learning rate.")] = 5e-5,
    batch_size: BatchSize = 16,
    max_length: Annotated[int, typer.Option(help="Maximum number of tokens per choice.")] = 64,
    seed: Annotated[int, typer.Option(help="Seed of the first model.")] = 0,
) -> None:
    """Train without the premises, and divide the items into Easy (solved anyway in every run) and Hard."""
    from rightreasons.foundations.atomic_write import check_folder, write_json
    from rightreasons.foundations.choices import TASKS
    from rightreasons.foundations.options import listed, one_or_more
    from rightreasons.foundations.validation import check_one_of
    from rightreasons.models.encoder import demo_encoder
    from rightreasons.training.tuning.premise_oblivious import premise_oblivious_split

    check_folder(out, own=("split.json", "easy_hard_subsets.json", "runs"))
    columns: dict[str, Any] = {"label_column": label_column}
    if task == "multiple_choice":
        columns |= {"prompt_column": listed(prompt_column), "choices_column": one_or_more(choices_column)}
    check_one_of(task, TASKS, "--task")
    found = _open(dataset, config, task=task, data_dir=data_dir, limit=limit, seed=seed, **columns)
    test_name, test = _test(found, test_split, dataset)
    train_name, train = _train(found, train_split, test_name, dataset)
    result = premise_oblivious_split(
        demo_encoder() if model is None else model,
        test,
        train,
        out=out / "runs",
        task=task,
        n_runs=runs,
        n_folds=n_folds,
        seed=seed,
        progress=True,
        epochs=epochs,
        learning_rate=learning_rate,
        batch_size=batch_size,
        max_length=max_length,
    )
    parted = list(zip(result.ids, result.easy, strict=True))
    subsets = {
        "easy": [key for key, easy in parted if easy],
        "hard": [key for key, easy in parted if not easy],
    }
    write_json(out / "easy_hard_subsets.json", subsets)
    write_json(out / "split.json", result.to_dict())
    each = ", ".join(f"{accuracy:.3f}" for accuracy in result.accuracy)
    trained = f"trained on {train_name!r}" if train_name else f"trained on the other of {n_folds} folds"
    share = result.n_easy / len(result.ids)
    typer.secho(f"{dataset}, {test_name}: {len(result.ids):,} items, {trained}", bold=True)
    typer.echo(
        f"Without the premises: accuracy {result.mean_accuracy:.3f} (runs: {each}); guessing {result.chance:.3f}, the "
        f"most frequent label {result.majority:.3f}."
    )
    typer.echo(
        f"Easy: {result.n_easy:,} items ({share:.1%}), right in all {result.n_runs} runs; {result.easy_by_chance:.1%} "
        f"would be by luck. Hard: {result.n_hard:,}."
    )
    typer.echo(f"Ids: {out / 'easy_hard_subsets.json'}")


def _open(dataset: str, config: str | None, **options: Any) -> dict[str, datasets.Dataset]:
    """Open the labeled items of each split that has some."""
    from rightreasons.data.opening.splits import labeled_items, open_splits

    labeled = {name: labeled_items(items) for name, items in open_splits(dataset, config, **options).items()}
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
