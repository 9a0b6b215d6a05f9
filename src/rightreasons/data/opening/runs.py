"""The answers of several runs of a model to the items of a data set, one file per run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rightreasons.data.opening.predictions import read_answers
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_ids


@checks_kinds
def read_runs(files: Sequence[str | os.PathLike[str]], ids: Sequence[object]) -> NDArray[np.int64]:
    r"""Read the choices of several runs, matched to items by their ids.

    Args:
        files: A file of answers or scores per run, as `read_answers` takes them, with a column `id`; or, without one,
            as many rows as there are items, in their order.
        ids: N ids of the items.

    Returns:
        (N, R) the chosen index of each item by each run.

    Raises:
        FileNotFoundError: If a file is missing.
        ValueError: If there is no file, or one has no answer to an item, has an item twice, has texts as answers, or a
            number that is none of a choice.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     one, two = Path(folder, "1.csv"), Path(folder, "2.csv")
        ...     _ = one.write_text("id,prediction\nb,1\na,0\n")
        ...     _ = two.write_text("id,p_0,p_1\na,0.2,0.8\nb,0.7,0.3\n")
        ...     read_runs([one, two], ["a", "b"]).tolist()
        [[0, 1], [1, 0]]
    """
    for file in files:
        if not isinstance(file, (str, os.PathLike)):
            raise TypeError(f"Expected each of `files` to be a path, but got {file!r} ({type(file).__name__}).")
    if not files:
        raise ValueError("Expected at least one file of answers, but got none.")
    names = check_ids(ids, "ids")
    return np.stack([_choices(Path(file), names) for file in files], axis=1)


def _choices(file: Path, names: Sequence[str]) -> NDArray[np.int64]:
    stored = read_answers(file)
    choices: NDArray[np.int64]
    if stored.scores is not None:
        table = stored.scores if stored.scores.ndim > 1 else np.stack((1 - stored.scores, stored.scores), 1)
        if (odd := np.isnan(table).any(axis=1)).any():
            raise ValueError(f"Expected a score for each choice in {file.name}, but row {int(odd.argmax())} holds NaN.")
        choices = table.argmax(axis=1).astype(np.int64)
    elif isinstance(stored.answers, np.ndarray):
        choices = stored.answers
        if (choices < 0).any():
            row = int((choices < 0).argmax())
            raise ValueError(
                f"Expected the number of a choice in each row of {file.name}, but row {row} has {choices[row]}."
            )
    else:
        raise ValueError(f"Expected the number of the chosen answer of each item in {file.name}, but got texts.")
    if stored.ids is None:
        if len(choices) != len(names):
            raise ValueError(
                f"Expected a row per item in {file.name}, {len(names):,}, or a column `id`, but got {len(choices):,} "
                "rows."
            )
        return choices
    of_item = dict(zip(stored.ids, choices.tolist(), strict=True))
    if len(of_item) < len(choices):
        twice = next(name for name in stored.ids if stored.ids.count(name) > 1)
        raise ValueError(f"Expected each item once in {file.name}, but {twice!r} comes more than once.")
    missing = [name for name in names if name not in of_item]
    if missing:
        raise ValueError(
            f"Expected an answer to each item in {file.name}, but {len(missing):,} of {len(names):,} have none, such "
            f"as {missing[0]!r}."
        )
    return np.array([of_item[name] for name in names], dtype=np.int64)
