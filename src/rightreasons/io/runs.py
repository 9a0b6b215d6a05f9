"""Predictions of several runs, such as seeds of a model, in the order of the items.

`read_runs` reads a file per run, and matches its rows with the items by their ids.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.validation import check_all, check_ids, check_kind
from rightreasons.io.predictions import read_answers

Integers = NDArray[np.int64]


def read_runs(files: Sequence[str | os.PathLike[str]], ids: Sequence[object]) -> Integers:
    r"""Read the choices of several runs in the order of the items.

    Args:
        files: A file of answers or scores for each of R runs, which `read_answers` accepts. A file without
            a column `id` has a row for each item, in the order of the items.
        ids: N ids of the items.

    Returns:
        (N, R) index of the choice that each run predicts for each item.

    Raises:
        FileNotFoundError: If a file does not exist.
        ValueError: If there are no files, or if an item is missing in a file, or repeats, or if an answer
            is not the index of a choice.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     answers, scores = Path(folder, "1.csv"), Path(folder, "2.csv")
        ...     _ = answers.write_text("id,prediction\nb,1\na,0\n")
        ...     _ = scores.write_text("id,p_0,p_1\na,0.2,0.8\nb,0.7,0.3\n")
        ...     read_runs([answers, scores], ["a", "b"]).tolist()
        [[0, 1], [1, 0]]
    """
    check_kind(files, "files", Iterable)
    for file in files:
        check_kind(file, "files", str | os.PathLike)
    if not files:
        raise ValueError("Expected at least one file of answers, but got none.")
    names = check_ids(ids, "ids")
    runs = []
    for file in files:
        runs.append(_read_choices(Path(file), names))
    return np.stack(runs, axis=1)


def _read_choices(file: Path, names: Sequence[str]) -> Integers:
    """Return (N,) the index of the choice that one run predicts for each item.

    Args:
        file: A file of answers or scores. With a column of ids, the rows may be in any order, and there may
            be further items; without one, there is a row for each item.
        names: N ids of the items.

    Raises:
        ValueError: If an item is missing, or if an answer is not the index of a choice.
    """
    stored = read_answers(file)
    choices = stored.answers
    # In a file of scores, the choice with the highest score is the prediction.
    if stored.scores is not None:
        choices = _select_highest(stored.scores, file.name)
    # Texts cannot be matched with the choices of the items, which are not known here.
    if not isinstance(choices, np.ndarray):
        raise ValueError(
            f"Expected the number of the predicted choice of each item in {file.name}, but got texts."
        )
    check_all(
        choices.tolist(),
        lambda choice: choice >= 0,
        f"the number of a choice in each row of {file.name}",
    )
    if stored.ids is None:
        if len(choices) != len(names):
            raise ValueError(
                f"Expected one row for each of the {len(names):,} items in {file.name}, or a "
                f"column `id`, but got {len(choices):,} rows."
            )
        return choices

    # The file may list the items in another order.
    ids = check_ids(stored.ids, f"id of {file.name}")
    choice_by_id = dict(zip(ids, choices, strict=True))
    missing = [name for name in names if name not in choice_by_id]
    if missing:
        raise ValueError(
            f"Expected an answer to each item in {file.name}, but found none for {len(missing):,} "
            f"of {len(names):,} items, such as {missing[0]!r}."
        )
    return np.array([choice_by_id[name] for name in names], dtype=np.int64)


def _select_highest(scores: NDArray[np.float64], file_name: str) -> Integers:
    """Return (N,) the choice with the highest score of each row.

    Args:
        scores: (N, K) scores, or (N,) probabilities of the second of two choices.
        file_name: Name of the file, for error messages.

    Raises:
        ValueError: If a score is missing.
    """
    table = scores
    if scores.ndim == 1:
        table = np.stack((1 - scores, scores), axis=1)
    check_all(
        table.tolist(),
        lambda row: not np.isnan(row).any(),
        f"a score for each choice in {file_name}",
    )
    return np.asarray(table.argmax(axis=1), dtype=np.int64)
