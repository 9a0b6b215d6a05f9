"""Sheets of multiple-choice items for people to rate, written as csv files and read back."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from rightreasons.core.resampling import item_rng
from rightreasons.core.store import check_folder
from rightreasons.core.validation import (
    check_all,
    check_columns,
    check_count,
    check_ids,
    check_seed,
)
from rightreasons.datasets.perturbing.mirroring import get_choices
from rightreasons.io.sheets import FIRST_LINE, ITEM_COLUMN, read_sheet, write_sheet

if TYPE_CHECKING:
    import datasets


ANSWER_COLUMN = "answer"
"""Column that a rater fills in."""

CHOICE_PREFIX = "choice "
"""Prefix of the columns of choices, which are numbered from 1."""


def write_rating_sheets(
    dataset: datasets.Dataset,
    out: str | os.PathLike[str],
    *,
    n_raters: int = 3,
    seed: int = 0,
) -> list[Path]:
    """Write a sheet of multiple-choice items for each rater, without labels.

    Each rater gets the items in their own random order, so that mirrored items are rarely
    neighbors. Items are named by a code, because an id may reveal which item is the mirrored one.
    The column `answer` is to be filled with the number of the correct choice.

    Args:
        dataset: Items with `id` and either `prompt` and `choices`, or `premise`, `choice1` and
            `choice2`; a column `question` is displayed too.
        out: Folder of the sheets.
        n_raters: Number of raters; default 3.
        seed: Seed of the orders.

    Returns:
        The files, `rater-1.csv` and so on.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If columns are missing or there are no items.

    References:
        Kavumba et al. (2019), When Choosing Plausible Alternatives, Clever Hans can be Clever, §3
        and Table 3.

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
    rows = _make_sheet_rows(dataset)
    table = pd.DataFrame(rows.values()).assign(**{ANSWER_COLUMN: ""})
    # Items with fewer choices than others have empty cells.
    table = table.fillna("")

    raters = range(1, n_raters + 1)
    folder = check_folder(out, own=[f"rater-{rater}.csv" for rater in raters])
    files = []
    for rater in raters:
        # The name of the rater is part of the seed, so that each has another order.
        name = f"rater-{rater}"
        rng = item_rng(check_seed(seed), name)
        shuffled = table.iloc[rng.permutation(len(table))]
        rows_of_rater = shuffled.to_numpy().tolist()
        files.append(write_sheet(folder / f"{name}.csv", list(table.columns), rows_of_rater))
    return files


def read_rating_sheets(
    dataset: datasets.Dataset,
    files: Sequence[str | os.PathLike[str]],
) -> dict[str, Any]:
    """Read the sheets that raters have filled.

    Args:
        dataset: The items that the sheets were written from, with `label`.
        files: The csv file of each rater, at least 2, in any order of rows; comma- or
            semicolon-separated.

    Returns:
        The arguments of `human_performance`: "ratings", the choice of each rater, counted from 0;
        "references", the correct choices; and "n_choices", the largest number of choices of an
        item.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a sheet lacks an item or an answer, repeats an item or has one that is not in
            the data, or an answer is not the number of a choice.

    Example:
        >>> import datasets, tempfile
        >>> from pathlib import Path
        >>> row = {"id": "a", "prompt": "The man broke his toe.", "choices": ["A hammer fell.", "His sock tore."]}
        >>> data = datasets.Dataset.from_list([{**row, "label": 0}])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = write_rating_sheets(data, folder, n_raters=2)
        ...     for file, answer in zip(files, "12"):
        ...         _ = file.write_text(file.read_text("utf-8-sig").rstrip() + answer, "utf-8")
        ...     read_rating_sheets(data, files)["ratings"]
        [[0, 1]]
    """
    if len(files) < 2:
        raise ValueError(
            f"Expected the sheets of at least 2 raters in `files`, but got {len(files)}."
        )
    check_columns(dataset.column_names, ["label"], "the items, to compare the answers with")
    n_choices_by_code = {}
    for code, row in _make_sheet_rows(dataset).items():
        n_choices_by_code[code] = _count_choices(row)
    sheets = []
    for file in files:
        sheets.append(_read_answers(Path(file), n_choices_by_code))

    # With a label that is not a choice, every answer to the item would count as a mistake.
    labels = list(dataset["label"][:])
    columns = (dataset["id"][:], n_choices_by_code.values(), labels)
    for name, n_choices, label in zip(*columns, strict=True):
        if not isinstance(label, int) or not 0 <= label < n_choices:
            raise ValueError(
                f"Expected the label of item '{name}' to be one of its choices, but got {label}."
            )

    # Each sheet is shuffled differently, so that the answers are matched by the codes of items.
    ratings = []
    for code in n_choices_by_code:
        ratings.append([sheet[code] for sheet in sheets])
    return {
        "ratings": ratings,
        "references": labels,
        "n_choices": max(n_choices_by_code.values()),
    }


def _make_sheet_rows(dataset: datasets.Dataset) -> dict[str, dict[str, str]]:
    """Make the row of each item for a sheet, without its label and its id.

    Args:
        dataset: Items with `id` and either `prompt` and `choices`, or `premise`, `choice1` and
            `choice2`, and optionally `question`.

    Returns:
        Code of the item -> its cells by column: "item" (the code), its texts, and "choice 1",
        "choice 2" and so on.
    """
    prompt = "prompt" if "prompt" in dataset.column_names else "premise"
    choice_columns = ["choice1", "choice2"]
    if "choices" in dataset.column_names:
        choice_columns = ["choices"]
    check_columns(dataset.column_names, ("id", prompt, *choice_columns), "the items to rate")
    if len(dataset) == 0:
        raise ValueError("Expected at least one item to rate, but the data set is empty.")

    text_columns = [prompt]
    if "question" in dataset.column_names:
        text_columns.append("question")
    rows = {}
    for name, item in zip(check_ids(dataset["id"][:], "id"), dataset, strict=True):
        # A hash of the id is the same in all sheets, and does not reveal the id.
        code = hashlib.blake2b(name.encode(), digest_size=6).hexdigest()
        row = {ITEM_COLUMN: code}
        for column in text_columns:
            row[column] = str(item[column])
        for number, text in enumerate(get_choices(item), 1):
            row[f"{CHOICE_PREFIX}{number}"] = text
        rows[code] = row
    return rows


def _count_choices(row: dict[str, str]) -> int:
    """Return the number of choices in a row of a sheet."""
    return sum(column.startswith(CHOICE_PREFIX) for column in row)


def _read_answers(file: Path, n_choices_by_code: dict[str, int]) -> dict[str, int]:
    """Read the answers in a sheet that a rater has filled.

    Args:
        file: The csv file.
        n_choices_by_code: Code of each item -> its number of choices.

    Returns:
        Code of each item -> its chosen choice, counted from 0.

    Raises:
        ValueError: If an item is unknown or missing, or an answer is not the number of a choice.
    """
    rows = read_sheet(file, (ITEM_COLUMN, ANSWER_COLUMN))
    codes = [row[ITEM_COLUMN] for row in rows]
    check_all(
        codes,
        n_choices_by_code.__contains__,
        f"items of the data in {file.name}",
        first=FIRST_LINE,
    )
    # `read_sheet` refuses repeated items, so that their number shows whether one is missing.
    n_items = len(n_choices_by_code)
    if len(codes) < n_items:
        raise ValueError(
            f"Expected answers to {n_items} items in {file.name}, but got {len(codes)}."
        )

    choices = {}
    for line, row in enumerate(rows, FIRST_LINE):
        code = row[ITEM_COLUMN]
        answer = row[ANSWER_COLUMN]
        n_choices = n_choices_by_code[code]
        numbers = list(map(str, range(1, n_choices + 1)))
        # The answer is compared as text, because int() would also accept "+1" or "１".
        check_all(
            [answer],
            numbers.__contains__,
            f"an answer from 1 to {n_choices} in {file.name}",
            first=line,
        )
        choices[code] = int(answer) - 1
    return choices
