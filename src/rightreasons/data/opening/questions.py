"""Opens a data set of extractive question answering in the common schema: id, question, context, answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import datasets

from rightreasons.data.benchmarks.squad import question_features, read_squad
from rightreasons.data.opening.compressed import data_type, unpacked
from rightreasons.data.opening.datasets import read_tables
from rightreasons.data.opening.splits import choose_split, limited
from rightreasons.foundations.bounds import read_json
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_ids

EXTRACTIVE_ANSWERS = ("id", "question", "context", "answers")
"""The columns of a question on a context, with the spans that answer it: {text, answer_start}, a list each."""


@checks_kinds
def open_questions(
    name_or_path: Any,
    *,
    split: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> datasets.Dataset:
    """Open a data set of questions whose answers are spans of a context.

    Args:
        name_or_path: "squad", a JSON file in the form of SQuAD 1.1, any other file or hub id with the columns `id`,
            `question`, `context` and `answers` ({text, answer_start}, a list each), or a Dataset with them.
        split: A split; a file or a Dataset has none, and any name gives all of it.
        data_dir: The folder of local copies of the catalog's sources.
        limit: The maximum number of questions, chosen as in `open_dataset`.
        seed: The seed of that choice.

    Returns:
        The questions; those without an answer (SQuAD 2.0 has them) are left out.

    Raises:
        ValueError: If a column or a split is not there, an id comes twice, or no question has an answer.
    """
    path = Path(os.fspath(name_or_path)) if isinstance(name_or_path, (str, os.PathLike)) else None
    name = str(path) if path is not None else "the data set"
    tables: Any
    rows_of_squad = None if path is None or data_type(path) != ".json" or not path.is_file() else _squad(path)
    if rows_of_squad is not None:
        tables = datasets.Dataset.from_list(rows_of_squad, features=question_features())
    else:
        tables = read_tables(name_or_path, data_dir=data_dir)
    if isinstance(tables, datasets.Dataset):
        rows = tables
    elif split is None and len(tables) > 1:
        raise ValueError(f"Expected `split` for {name}, which has the splits {', '.join(tables)}.")
    else:
        rows = tables[choose_split(tables, split, where=name, others=True)]
    missing = [column for column in EXTRACTIVE_ANSWERS if column not in rows.column_names]
    if missing:
        raise ValueError(
            f"Expected the columns {', '.join(EXTRACTIVE_ANSWERS)} in {name}, but {', '.join(missing)} is missing; it "
            f"has {', '.join(rows.column_names)}."
        )
    check_ids(rows["id"][:], f"id of {name}")
    answered = [row for row, answers in enumerate(rows["answers"][:]) if _has_answer(answers, row, name)]
    if not answered:
        raise ValueError(f"Expected questions with answers in {name}, but there is none.")
    return limited(rows.select(answered), limit, seed)


def _has_answer(answers: Any, row: int, name: str) -> bool:
    if answers is None:
        return False
    lists = answers if isinstance(answers, dict) else {}
    texts, starts = lists.get("text"), lists.get("answer_start")
    if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
        raise ValueError(
            f"Expected `answers` in {name} to be objects of two lists, `text` and `answer_start`, but row {row} holds "
            f"{str(answers)[:60]!r}."
        )
    return bool(texts)


def _squad(path: Path) -> list[dict[str, Any]] | None:
    """Return the questions of a file in the form of SQuAD, or None for another file."""
    with unpacked(path) as file:
        try:
            whole = read_json(file)
        except ValueError:
            return None  # what is wrong with it, the reader of files says
        data = whole.get("data") if isinstance(whole, dict) else None
        if isinstance(data, list) and data and isinstance(data[0], dict) and "paragraphs" in data[0]:
            return list(read_squad(file))
    return None
