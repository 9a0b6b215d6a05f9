"""Writes a data set in its data-only form: parquet files and a card.

`datasets.load_dataset(folder)` opens this form without any code, so it is the form to put on the hub.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import yaml
from huggingface_hub import DatasetCardData

from rightreasons.core.choices import LETTERS
from rightreasons.core.store import check_folder, write_text
from rightreasons.datasets.builder import Builder, get_builder_class, load_builder

_HUB_LICENSES = {
    "Apache-2.0": "apache-2.0",
    "MIT": "mit",
    "CC-BY-4.0": "cc-by-4.0",
    "AFL-3.0": "afl-3.0",
}


def publish(
    name: str,
    folder: str | os.PathLike[str],
    *,
    configs: Sequence[str] | None = None,
    card: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Path:
    """Write a data set of the catalog as `<config>/<split>.parquet` with a card that lists the files.

    Args:
        name: One of `available_datasets()`.
        folder: The folder to write; created if it does not exist.
        configs: The configurations to write; None for all.
        card: A README.md whose text is written into the card, under new front matter. None for a short card made from
            the description of the data set.
        data_dir: The folder of local copies of the sources.
        **options: Further options of `load_dataset`.

    Returns:
        The folder.

    Raises:
        FileNotFoundError: If the card or a source is missing.
        ValueError: If the folder is not empty, or a name or an option is unknown.

    Example:
        >>> import tempfile
        >>> datasets.disable_progress_bars()
        >>> sizes = {"train_size": 8, "validation_size": 4, "test_size": 4}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = publish("planted_shortcuts", folder, configs=["function"], cache_dir=folder + "/c", **sizes)
        ...     datasets.load_dataset(str(written), "function", split="test_absent", cache_dir=folder + "/c").num_rows
        4
    """
    builder_type = get_builder_class(name)
    root = _check_empty(folder)
    if card is not None and not Path(card).is_file():
        raise FileNotFoundError(
            f"Expected the text of the card at {os.fspath(card)}, but there is no such file."
        )
    if configs is None:
        configs = [config.name for config in builder_type.BUILDER_CONFIGS]
    prepared: dict[str, datasets.DatasetDict] = {}
    task = "text-classification"
    for config in configs:
        builder = load_builder(name, config, data_dir=data_dir, **options)
        builder.download_and_prepare()
        prepared[config] = builder.as_dataset()
        # COPA has columns choice1 and choice2; other multiple-choice data has a column choices.
        columns = set(builder.info.features)
        if "choices" in columns or "choice1" in columns:
            task = "multiple-choice"
    body = None
    if card is not None:
        body = get_card_body(Path(card).read_text("utf-8"))
    return _write_data_set(root, prepared, task, builder=builder_type, body=body)


def write_benchmark(
    tasks: Mapping[str, Sequence[Mapping[str, Any]]],
    folder: str | os.PathLike[str],
    *,
    name: str,
    builder: type[Builder] | None = None,
) -> Path:
    """Write multiple-choice items as a data set that the Hub may list as a benchmark, and inspect_ai can evaluate.

    The folder contains `<task>/test.parquet`, a card, and `eval.yaml` by the "Eval.yaml specification" in
    docs/hub/eval-results.md of huggingface/hub-docs (August 2026). Once it is pushed, `inspect eval hf/OWNER/NAME` runs
    every task.

    Args:
        tasks: Task -> items {id, prompt, choices, label} and further columns; every label is the position of a choice.
        folder: The folder to write; created if it does not exist.
        name: Name of the benchmark.
        builder: The builder of the data set, whose license, description and citation are written into the card; None
            for a user's own data.

    Returns:
        The folder.

    Raises:
        ValueError: If there is no item, an item has no correct choice or more than 26, or the folder is not empty.

    Example:
        >>> import tempfile
        >>> datasets.disable_progress_bars()
        >>> item = {"id": "a", "prompt": "Why cook?", "choices": ["To eat.", "To run."], "label": 0}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = write_benchmark({"items": [item]}, folder + "/cooking", name="Cooking")
        ...     (written / "eval.yaml").read_text("utf-8").splitlines()[0]
        'name: Cooking'
    """
    if not tasks:
        raise ValueError(
            "Expected at least one item with a correct choice to write, but got no such items."
        )
    tables = {}
    for task, items in tasks.items():
        rows = [dict(row) for row in items]
        for row in rows:
            _check_choices(row)
        tables[task] = {"test": datasets.Dataset.from_list(rows)}
    root = _check_empty(folder)
    _write_data_set(root, tables, "multiple-choice", builder=builder, name=name)

    description = f"Multiple-choice items of {name}."
    if builder is not None and builder.DESCRIPTION:
        description = builder.DESCRIPTION
    # The specification of eval.yaml prescribes these keys.
    evaluation_tasks = []
    for task in tasks:
        evaluation_tasks.append(
            {
                "id": task,
                "config": task,
                "split": "test",
                "field_spec": {"input": "prompt", "target": "label", "choices": "choices"},
                "solvers": [{"name": "multiple_choice"}],
                "scorers": [{"name": "choice"}],
            }
        )
    evaluation = {
        "name": name,
        "description": description,
        "evaluation_framework": "inspect-ai",
        "tasks": evaluation_tasks,
    }
    content = yaml.safe_dump(evaluation, sort_keys=False, allow_unicode=True)
    write_text(root / "eval.yaml", content)
    return root


def _check_choices(row: Mapping[str, Any]) -> None:
    """Check that one choice of an item is correct, and that there is a letter for every choice.

    Args:
        row: Item with id, choices and label.

    Raises:
        ValueError: If the label is not the position of a choice, or there are more than 26 choices.
    """
    n_choices = len(row["choices"])
    # inspect_ai would read the label -1 of an unlabeled item as the last letter, Z.
    has_correct_choice = 0 <= row["label"] < n_choices
    has_letters = n_choices <= len(LETTERS)
    if not has_correct_choice or not has_letters:
        raise ValueError(
            f"Expected up to {len(LETTERS)} choices, one of them correct, but item {row['id']!r} has "
            f"{n_choices} and the label {row['label']}."
        )


def _check_empty(folder: str | os.PathLike[str]) -> Path:
    """Check that a folder is empty or new, and return its path.

    Raises:
        ValueError: If the folder contains files.
    """
    # Files of an earlier data set would be published together with the new one.
    root = check_folder(folder)
    if root.is_dir() and any(root.iterdir()):
        raise ValueError(f"Expected an empty folder to write to, but {root} is not empty.")
    return root


def _write_data_set(
    root: Path,
    tables: Mapping[str, Mapping[str, datasets.Dataset]],
    task: str,
    *,
    builder: type[Builder] | None,
    name: str = "",
    body: str | None = None,
) -> Path:
    """Write tables as parquet files, with a card by which `datasets` and the hub's page open them.

    Args:
        root: The folder to write into.
        tables: Configuration -> split -> rows. The first configuration becomes the default.
        task: The hub's name of the task, such as "text-classification".
        builder: The builder of the data set; None for a user's own data.
        name: Name of a user's own data.
        body: The text of the card; None to make it from the attributes of the builder.

    Returns:
        The folder.
    """
    # One folder per configuration, as the hub's viewer expects.
    for config, splits in tables.items():
        config_folder = root / config
        config_folder.mkdir(parents=True, exist_ok=True)
        for split, rows in splits.items():
            rows.to_parquet(os.fspath(config_folder / f"{split}.parquet"))

    # Front matter of the card, which the hub reads.
    fields: dict[str, Any] = {"pretty_name": name, "task_categories": [task]}
    if builder is not None:
        fields["pretty_name"] = builder.NAME
        fields["language"] = "en"
        fields["license"] = _HUB_LICENSES.get(builder.LICENSE, "unknown")
        fields["tags"] = ["rightreasons"]
    configs = _list_config_files(tables, is_own=builder is None)
    front_matter = DatasetCardData(**fields, configs=configs).to_yaml()
    if body is None:
        body = _make_card_body(tables, builder, name)
    write_text(root / "README.md", f"---\n{front_matter}\n---\n\n{body}")
    return root


def _list_config_files(
    tables: Mapping[str, Mapping[str, datasets.Dataset]], *, is_own: bool
) -> list[dict[str, Any]]:
    """Return the files of each configuration, for the field `configs` of a card.

    Args:
        tables: Configuration -> split -> rows. The first configuration becomes the default.
        is_own: Whether the data is a user's own, and not a data set of the catalog.

    Returns:
        One entry per configuration, such as `{"config_name": "all", "default": True, "data_files":
        [{"split": "test", "path": "all/test.parquet"}]}`.
    """
    configs: list[dict[str, Any]] = []
    for config, splits in tables.items():
        entry: dict[str, Any] = {"config_name": config}
        is_first = not configs
        # The hub takes a configuration with the name "default" as the default anyway.
        is_default_by_name = config == "default" and is_own
        if is_first and not is_default_by_name:
            entry["default"] = True
        data_files = []
        for split in splits:
            data_files.append({"split": split, "path": f"{config}/{split}.parquet"})
        entry["data_files"] = data_files
        configs.append(entry)
    return configs


def _make_card_body(
    tables: Mapping[str, Mapping[str, datasets.Dataset]],
    builder: type[Builder] | None,
    name: str,
) -> str:
    """Return the text of a card: the numbers of items, and the facts that a builder declares.

    Args:
        tables: Configuration -> split -> rows.
        builder: The builder of the data set; None for a user's own data, whose card has only the numbers.
        name: Name of a user's own data.
    """
    # A table in Markdown.
    counts = ["| configuration | split | items |", "|---|---|---|"]
    for config, splits in tables.items():
        for split, rows in splits.items():
            counts.append(f"| {config} | {split} | {len(rows):,} |")
    if builder is None:
        return "\n".join([f"# {name}\n", *counts, ""])
    home_page = builder.HOMEPAGE or "-"
    license_name = builder.LICENSE or "not stated"
    return "\n".join(
        [
            f"# {builder.NAME}\n",
            f"{builder.DESCRIPTION}\n",
            *counts,
            f"\nHome page: {home_page}\n\nLicense: {license_name}\n",
            f"## Citation\n\n{builder.CITATION}\n",
        ]
    )


def get_card_body(text: str) -> str:
    r"""Return the text of a card without its front matter.

    Example:
        >>> get_card_body("---\nlicense: mit\n---\n\nA data set.")
        'A data set.'
    """
    if not text.startswith("---\n"):
        return text
    # Front matter ends at the second line of three dashes.
    end = text.index("\n---\n", 4)
    return text[end + len("\n---\n") :].lstrip("\n")
