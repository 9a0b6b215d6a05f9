"""Worksheets for mirrored items: people write new prompts for the items that the choices give away.

Balanced COPA was made in this way. `select_solved_items` finds the items that cues in the choices solve,
`write_mirror_sheet` writes them as a csv file with an empty column for the new prompts, and
`read_mirror_sheet` checks the filled file for `mirror_dataset`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.resampling import Resampling
from rightreasons.core.sentences import format_value
from rightreasons.core.store import check_file
from rightreasons.core.validation import check_columns, check_ids
from rightreasons.cues.measure import ChoiceItems, measure_cues
from rightreasons.cues.options import CuesOptions
from rightreasons.datasets.perturbing.mirroring import get_choices
from rightreasons.io.samples import argsort_by_id
from rightreasons.io.sheets import FIRST_LINE, ITEM_COLUMN, read_sheet, write_sheet

if TYPE_CHECKING:
    import datasets

# Columns of a sheet besides the item.
PROMPT_COLUMN = "prompt"
CORRECT_COLUMN = "correct choice"
INCORRECT_COLUMN = "incorrect choice"
NEW_PROMPT_COLUMN = "new prompt"

SHEET_COLUMNS = (ITEM_COLUMN, PROMPT_COLUMN, CORRECT_COLUMN, INCORRECT_COLUMN, NEW_PROMPT_COLUMN)

COPIED_COLUMNS = (PROMPT_COLUMN, CORRECT_COLUMN, INCORRECT_COLUMN)
"""Columns that a person must not change."""


def select_solved_items(
    items: datasets.Dataset,
    *,
    options: CuesOptions | None = None,
    resampling: Resampling = Resampling(),
) -> NDArray[np.intp]:
    """Select the items that a classifier solves by the cues of the choices alone.

    Args:
        items: Labeled items with `id`, `prompt`, `choices` and `label`. With a column `easy`, the
            items for which it is true are selected instead.
        options: Families of cues, and number of folds of the classifier.
        resampling: Seed of the folds.

    Returns:
        Rows of the items, in the order of the data.

    Example:
        >>> import datasets
        >>> rows = [{"id": str(n), "prompt": f"Why {n}?", "choices": ["so", "why"], "label": 0} for n in range(30)]
        >>> len(select_solved_items(datasets.Dataset.from_list(rows)))
        30
    """
    # The folds of the classifier follow the order of the items, which is not to be that of the file.
    order = argsort_by_id(items)
    labeled = ChoiceItems.from_table(items.select(order))
    if len(labeled) == 0:
        raise ValueError("Expected items with a label to mirror, but there are none.")
    figures = measure_cues(labeled, options=options, resampling=resampling)
    solved_rows = order[labeled.rows[figures.easy]]
    return np.sort(solved_rows)


def write_mirror_sheet(
    items: datasets.Dataset,
    file: str | os.PathLike[str],
    *,
    rows: Sequence[int] | NDArray[np.intp] | None = None,
) -> Path:
    """Write a sheet of items, for which a person writes new prompts.

    The new prompt makes the incorrect choice the correct one, and vice versa. Then the cues of the
    choices cannot distinguish the two items.

    Args:
        items: Items of two choices with `id`, `prompt`, `choices` and `label`.
        file: The csv file.
        rows: Rows of the items to write, such as those of `select_solved_items`. None (default) for
            all items.

    Returns:
        The file, whose column `new prompt` is empty.

    Raises:
        ValueError: If there are no items, or an item does not have two choices and a label.

    References:
        Kavumba et al. (2019), "When Choosing Plausible Alternatives, Clever Hans can be Clever",
        section 3.

    Example:
        >>> import datasets, tempfile
        >>> row = {"id": "a", "prompt": "The man broke his toe.", "choices": ["A hammer fell.", "His sock tore."]}
        >>> data = datasets.Dataset.from_list([{**row, "label": 0}])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_mirror_sheet(data, f"{folder}/sheet.csv").read_text("utf-8-sig"), end="")
        item,prompt,correct choice,incorrect choice,new prompt
        a,The man broke his toe.,A hammer fell.,His sock tore.,
    """
    # Balanced COPA has a mirror of every item; the most useful ones are those that cues solve.
    selected = items if rows is None else items.select(rows)
    if len(selected) == 0:
        raise ValueError("Expected at least one item to mirror, but there are none.")
    rows_by_id = _make_sheet_rows(selected)
    cells = []
    for row in rows_by_id.values():
        cells.append([row[name] for name in SHEET_COLUMNS])
    return write_sheet(check_file(file), SHEET_COLUMNS, cells)


def read_mirror_sheet(items: datasets.Dataset, file: str | os.PathLike[str]) -> dict[str, str]:
    """Read the new prompts of a filled sheet.

    Args:
        items: The items that the sheet was written from.
        file: The csv file; rows may be in any order or missing.

    Returns:
        Id of an item -> its new prompt, for `mirror_dataset`; items without a new prompt are left
        out.

    Raises:
        ValueError: If a column is missing, an item is unknown or repeated, a copied text differs
            from the data, a new prompt is the old one or that of another item, or there is no new
            prompt at all. The message names the line.

    Example:
        >>> import datasets, tempfile
        >>> row = {"id": "a", "prompt": "The man broke his toe.", "choices": ["A hammer fell.", "His sock tore."]}
        >>> data = datasets.Dataset.from_list([{**row, "label": 0}])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = write_mirror_sheet(data, f"{folder}/sheet.csv")
        ...     _ = file.write_text(file.read_text("utf-8-sig").rstrip() + "The man hid his feet.", "utf-8")
        ...     read_mirror_sheet(data, file)
        {'a': 'The man hid his feet.'}
    """
    path = Path(file)
    # The copied columns are read, too: they show that the sheet belongs to these items.
    sheet = read_sheet(path, SHEET_COLUMNS)
    row_by_id = _make_sheet_rows(items)
    prompts: dict[str, str] = {}
    id_by_prompt: dict[str, str] = {}
    for number, cells in enumerate(sheet, FIRST_LINE):
        line = f"line {number} of {path.name}"
        item_id = cells[ITEM_COLUMN]
        new_prompt = cells[NEW_PROMPT_COLUMN]
        _check_sheet_row(cells, row_by_id.get(item_id), line)
        # The sheet may be unfinished.
        if not new_prompt:
            continue
        # A prompt that was copied down the column cannot fit several items.
        if new_prompt in id_by_prompt:
            raise ValueError(
                f"Expected a distinct new prompt in {line}, but item {id_by_prompt[new_prompt]!r} "
                f"has the same prompt: {format_value(new_prompt)}."
            )
        id_by_prompt[new_prompt] = item_id
        prompts[item_id] = new_prompt
    if not prompts:
        raise ValueError(
            f"Expected new prompts in the column “{NEW_PROMPT_COLUMN}” of {path.name}, but it is empty."
        )
    return prompts


def _check_sheet_row(
    cells: Mapping[str, str], expected: Mapping[str, str] | None, line: str
) -> None:
    """Check that a row of a filled sheet has the texts of the data, and not the old prompt again.

    Args:
        cells: Cells of the row by column.
        expected: The row that was written for this item; None if the data does not have the item.
        line: Description of the line, such as "line 2 of sheet.csv", for error messages.

    Raises:
        ValueError: If the item is unknown, a copied text was changed, or the new prompt is the old
            one.
    """
    if expected is None:
        raise ValueError(
            f"Expected an item of the data in {line}, but got {format_value(cells[ITEM_COLUMN])}."
        )
    for name in COPIED_COLUMNS:
        # Spreadsheets may change line ends and the spaces around a text.
        if cells[name].split() != expected[name].split():
            raise ValueError(
                f"Expected the {name} of the data in {line}, {format_value(expected[name])}, but "
                f"got {format_value(cells[name])}. Change only the column “{NEW_PROMPT_COLUMN}”."
            )
    if cells[NEW_PROMPT_COLUMN].split() == expected[PROMPT_COLUMN].split():
        raise ValueError(
            f"Expected a new prompt in {line}, but got the original prompt: "
            f"{format_value(expected[PROMPT_COLUMN])}."
        )


def _make_sheet_rows(items: datasets.Dataset) -> dict[str, dict[str, str]]:
    """Make the row of each item for a sheet, with an empty cell for the new prompt.

    Args:
        items: Items of two choices with `id`, `prompt`, `choices` and `label`.

    Returns:
        Id of the item -> its cells by column.

    Raises:
        ValueError: If an item does not have two different choices and a label.
    """
    check_columns(items.column_names, ("id", "prompt", "choices", "label"), "the items to mirror")
    ids = check_ids(items["id"][:], "id")
    rows = {}
    for item_id, item in zip(ids, items, strict=True):
        choices = get_choices(item)
        if len(set(choices)) != 2 or len(choices) != 2 or item["label"] not in (0, 1):
            raise ValueError(
                f"Expected two different choices and a label of 0 or 1 for item {item_id!r}, but "
                f"got {format_value(_describe_item(item))}. Only items with two choices can be "
                "mirrored."
            )
        rows[item_id] = {
            ITEM_COLUMN: item_id,
            PROMPT_COLUMN: str(item["prompt"]),
            CORRECT_COLUMN: choices[item["label"]],
            INCORRECT_COLUMN: choices[1 - item["label"]],
            NEW_PROMPT_COLUMN: "",
        }
    return rows


def _describe_item(item: Mapping[str, Any]) -> dict[str, Any]:
    return {"choices": item["choices"], "label": item["label"]}
