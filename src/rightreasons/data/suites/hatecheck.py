"""Suites in HateCheck's format: a CSV with one text per case."""

from __future__ import annotations

import csv
import os

from rightreasons.data.suites.cases import Case, Functionality
from rightreasons.data.suites.suite import Suite
from rightreasons.foundations.bounds import MAX_CELL_CHARACTERS
from rightreasons.foundations.sentences import checks_kinds

COLUMNS = ("functionality", "test_case", "label_gold")
LABEL_NAMES = ("non-hateful", "hateful")
"""The words of `label_gold`, in the order of the numbers 0 and 1 that other releases of this format have."""


@checks_kinds
def read_hatecheck(path: str | os.PathLike[str], *, name: str = "hatecheck") -> Suite:
    """Read a suite in HateCheck's format: a CSV with functionality, test_case and label_gold, one text per case.

    Args:
        path: The CSV file. `label_gold` is "hateful" or "non-hateful" in every row, which become the names of the
            labels 1 and 0 of the suite, or a whole number in every row.
        name: The name of the suite.

    Returns:
        The suite.

    Raises:
        ValueError: If a column is missing, there is no row, or a row lacks a value.
    """
    limit = csv.field_size_limit(MAX_CELL_CHARACTERS)
    try:
        # Spreadsheets write a mark before the first column.
        with open(path, encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream)
            columns, rows = reader.fieldnames or (), list(reader)
    except UnicodeDecodeError:
        raise ValueError(f"Expected a table in UTF-8 in {path}, but it holds other bytes.") from None
    except csv.Error as error:
        raise ValueError(f"Expected a table in {path}, but it cannot be read as such: {error}.") from None
    finally:
        csv.field_size_limit(limit)
    missing = [column for column in COLUMNS if column not in columns]
    if missing:
        raise ValueError(f"Expected the columns {', '.join(COLUMNS)} in {path}, but it lacks {', '.join(missing)}.")
    if not rows:
        raise ValueError(f"Expected at least one row in {path}, but it has only column names.")
    words = (rows[0]["label_gold"] or "").strip() in LABEL_NAMES
    groups: dict[str, list[Case]] = {}
    for number, row in enumerate(rows, start=1):
        if None in row:
            raise ValueError(f"Expected {len(columns)} cells in each row of {path}, but row {number} has more.")
        for column in ("functionality", "test_case"):
            if not (row[column] or "").strip():
                raise ValueError(f"Expected a {column} in each row of {path}, but row {number} has none.")
        gold = (row["label_gold"] or "").strip()
        if not (gold in LABEL_NAMES if words else gold.isdecimal() and len(gold) <= 10):
            raise ValueError(
                f"Expected `label_gold` to be hateful or non-hateful, or a whole number, in every row of {path}, but "
                f"row {number} has {gold[:40]!r}."
            )
        label = LABEL_NAMES.index(gold) if words else int(gold)
        cases = groups.setdefault(row["functionality"], [])
        cases.append(Case(str(row.get("case_id") or len(cases)), ((row["test_case"],),), (label,)))
    # HateCheck's names begin with their class: "derog_neg_emote_h" is derogation.
    functionalities = tuple(
        Functionality(key, key.split("_")[0] or key, "MFT", {"name": "equal"}, tuple(cases))
        for key, cases in groups.items()
    )
    return Suite(name, ("text",), functionalities, LABEL_NAMES if words else None)
