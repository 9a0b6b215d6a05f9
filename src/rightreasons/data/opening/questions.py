"""Opens a data set of extractive question answering in the common schema: id, question, context, answers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import datasets
import numpy as np

from rightreasons.data.benchmarks.squad import question_features, read_squad
from rightreasons.data.opening.splits import read_splits
from rightreasons.foundations.randomness import item_rng
from rightreasons.foundations.schemas import EXTRACTIVE_ANSWERS
from rightreasons.foundations.validation import check_count, check_ids, check_seed, unknown_name


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
        split: A split; a file or a Dataset has none, and any name of a split gives all of it.
        data_dir: Where local copies of the catalog's data sets are.
        limit: How many questions to keep at most; which ones depends on `seed` and their ids alone.
        seed: Decides which.

    Returns:
        The questions; those without an answer (SQuAD 2.0 has them) are left out.

    Raises:
        ValueError: If a column or a split is not there, an id comes twice, or no question has an answer.
    """
    path = Path(os.fspath(name_or_path)) if isinstance(name_or_path, (str, os.PathLike)) else None
    name = str(path) if path is not None else "the data set"
    found: Any
    if path is not None and path.suffix == ".json" and path.is_file() and _is_squad(path):
        found = datasets.Dataset.from_list(list(read_squad(path)), features=question_features())
    else:
        found = read_splits(name_or_path, data_dir=data_dir)
    if isinstance(found, datasets.DatasetDict):
        if split is None and len(found) > 1:
            raise ValueError(f"Expected `split` for {name}, which has the splits {', '.join(found)}.")
        if split is not None and split not in found:
            raise unknown_name(f"split of {name}", split, found)
        found = found[split or next(iter(found))]
    missing = [column for column in EXTRACTIVE_ANSWERS if column not in found.column_names]
    if missing:
        raise ValueError(
            f"Expected the columns {', '.join(EXTRACTIVE_ANSWERS)} in {name}, but {', '.join(missing)} is missing; it "
            f"has {', '.join(found.column_names)}."
        )
    check_ids(found["id"][:], f"id of {name}")
    answered = [row for row, answers in enumerate(found["answers"][:]) if answers["text"]]
    if not answered:
        raise ValueError(f"Expected questions with answers in {name}, but there is none.")
    if limit is not None and check_count(limit, "limit") < len(answered):
        ids = found["id"][:]
        drawn = np.array([item_rng(check_seed(seed), ids[row]).random() for row in answered])
        answered = sorted(np.array(answered)[np.argsort(drawn, kind="stable")[:limit]].tolist())
    return found.select(answered)


def _is_squad(path: Path) -> bool:
    try:
        whole = json.loads(path.read_text("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError):
        return False  # what is wrong with it, the reader of files says
    data = whole.get("data") if isinstance(whole, dict) else None
    return isinstance(data, list) and bool(data) and isinstance(data[0], dict) and "paragraphs" in data[0]
