"""Rating sheets: items without labels, in random order, for people to answer, and their answers, read back."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from rightreasons.core.arrays import Result
from rightreasons.core.resampling import item_rng
from rightreasons.core.store import check_folder, write_text
from rightreasons.core.validation import check_columns, check_count, check_each, check_ids, check_seed
from rightreasons.datasets.perturbing.planting import choices_of
from rightreasons.io.columns import read_columns
from rightreasons.io.options import ScoreOptions

if TYPE_CHECKING:
    import datasets

ANSWER, ITEM, CHOICE = "answer", "item", "choice "
"""The columns of a sheet beside the texts; choices are numbered from 1."""


@dataclasses.dataclass(frozen=True)
class Ratings(Result):
    """The answers of several people, as `human_performance` takes them.

    Attributes:
        ids: N ids of the items, in the order of the data.
        ratings: N rows, the choice of each rater, counted from 0.
        references: N right choices.
        n_choices: The largest number of choices of an item.
    """

    ids: tuple[str, ...]
    ratings: tuple[tuple[int, ...], ...]
    references: tuple[int, ...]
    n_choices: int


def write_rating_sheets(
    dataset: datasets.Dataset, out: str | os.PathLike[str], *, n_raters: int = 3, seed: int = 0
) -> list[Path]:
    """Write a sheet of multiple-choice items for each rater, without labels.

    Each rater has the items in a random order of their own, so that mirrored items seldom stand together. Items are
    named by a code, as an id may tell which item is the mirrored one. The column `answer` is to be filled with the
    number of the right choice.

    Args:
        dataset: Items with `id` and either `prompt` and `choices`, or `premise`, `choice1` and `choice2`; a column
            `question` is shown too.
        out: The folder of the sheets.
        n_raters: Number of raters; default 3.
        seed: Decides the orders.

    Returns:
        The files, `rater-1.csv` and so on.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If columns are missing or there are no items.

    References:
        Kavumba et al. (2019), When Choosing Plausible Alternatives, Clever Hans can be Clever, §3 and Table 3.

    Example:
        >>> import datasets, tempfile
        >>> row = {"id": "a", "prompt": "The man broke his toe.", "choices": ["A hammer fell.", "His sock tore."]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = write_rating_sheets(datasets.Dataset.from_list([{**row, "label": 0}]), folder, n_raters=2)
        ...     print([file.name for file in files])
        ...     print(files[0].read_text("utf-8-sig"), end="")
        ['rater-1.csv', 'rater-2.csv']
        item,prompt,choice 1,choice 2,answer
        433911c6eb0d,The man broke his toe.,A hammer fell.,His sock tore.,
    """
    check_count(n_raters, "n_raters")
    table = pd.DataFrame(_rows(dataset).values()).assign(**{ANSWER: ""}).fillna("")
    names = [f"rater-{rater}" for rater in range(1, n_raters + 1)]
    folder = check_folder(out, own=[f"{name}.csv" for name in names])
    files = []
    for name in names:
        shuffled = table.iloc[item_rng(check_seed(seed), name).permutation(len(table))]
        # Spreadsheets take a file for UTF-8 by its first character.
        files.append(write_text(folder / f"{name}.csv", "\ufeff" + shuffled.to_csv(index=False, lineterminator="\n")))
    return files


def read_rating_sheets(dataset: datasets.Dataset, files: Sequence[str | os.PathLike[str]]) -> Ratings:
    """Read the sheets that raters have filled.

    Args:
        dataset: The items that the sheets were written from, with `label`.
        files: The csv file of each rater, at least 2, in any order of rows; comma- or semicolon-separated.

    Returns:
        `Ratings`, for `rightreasons.cues.agreement.human_performance`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a sheet lacks an item or an answer, has an item twice or one that is not in the data, or an
            answer is not the number of a choice.

    Example:
        >>> import datasets, tempfile
        >>> from pathlib import Path
        >>> row = {"id": "a", "prompt": "The man broke his toe.", "choices": ["A hammer fell.", "His sock tore."]}
        >>> data = datasets.Dataset.from_list([{**row, "label": 0}])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = write_rating_sheets(data, folder, n_raters=2)
        ...     for file, answer in zip(files, "12"):
        ...         _ = file.write_text(file.read_text("utf-8-sig").rstrip() + answer, "utf-8")
        ...     read_rating_sheets(data, files).ratings
        ((0, 1),)
    """
    if len(files) < 2:
        raise ValueError(f"Expected the sheets of at least 2 raters in `files`, but got {len(files)}.")
    check_columns(dataset.column_names, ["label"], "the items, to compare the answers with")
    sizes = {code: sum(column.startswith(CHOICE) for column in row) for code, row in _rows(dataset).items()}
    sheets = [_answers(Path(file), sizes) for file in files]
    ids, labels = tuple(map(str, dataset["id"][:])), dataset["label"][:]
    for name, size, label in zip(ids, sizes.values(), labels, strict=True):
        if not isinstance(label, int) or not 0 <= label < size:
            raise ValueError(f"Expected the label of item {name!r} to be one of its choices, but it is {label}.")
    return Ratings(
        ids=ids,
        ratings=tuple(tuple(sheet[code] for sheet in sheets) for code in sizes),
        references=tuple(labels),
        n_choices=max(sizes.values()),
    )


def _rows(dataset: datasets.Dataset) -> dict[str, dict[str, str]]:
    """Return what a sheet shows of each item, by its code."""
    prompt = "prompt" if "prompt" in dataset.column_names else "premise"
    choices = ("choices",) if "choices" in dataset.column_names else ("choice1", "choice2")
    check_columns(dataset.column_names, ("id", prompt, *choices), "the items to rate")
    if len(dataset) == 0:
        raise ValueError("Expected at least one item to rate, but the data set is empty.")
    shown = [column for column in (prompt, "question") if column in dataset.column_names]
    rows = {}
    for name, row in zip(check_ids(dataset["id"][:], "id"), dataset, strict=True):
        code = hashlib.blake2b(name.encode(), digest_size=6).hexdigest()
        texts = {column: str(row[column]) for column in shown}
        rows[code] = {ITEM: code, **texts, **{f"{CHOICE}{k}": text for k, text in enumerate(choices_of(row), 1)}}
    return rows


def _answers(file: Path, sizes: dict[str, int]) -> dict[str, int]:
    """Return the choice of each item by its code."""
    columns = read_columns(file, ScoreOptions())[0]
    check_columns([*columns], (ITEM, ANSWER), file.name)
    codes, answers = ([str(cell).strip() for cell in columns[name]] for name in (ITEM, ANSWER))
    check_ids(codes, f"item of {file.name}")
    check_each(codes, sizes.__contains__, f"items of the data in {file.name}", first=2)
    if len(codes) < len(sizes):
        raise ValueError(f"Expected answers to {len(sizes)} items in {file.name}, but got {len(codes)}.")
    for line, (code, answer) in enumerate(zip(codes, answers, strict=True), 2):
        numbers = list(map(str, range(1, sizes[code] + 1)))
        check_each([answer], numbers.__contains__, f"an answer from 1 to {sizes[code]} in {file.name}", first=line)
    return {code: int(answer) - 1 for code, answer in zip(codes, answers, strict=True)}
