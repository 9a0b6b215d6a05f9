"""Files of a report with the predictions of the model, one per split.

`save_predictions` writes such a file, and `read_predictions` reads it.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.splits import AuditSplit, safe_name
from rightreasons.core.arrays import Ragged, is_ragged
from rightreasons.core.scores import Scores
from rightreasons.core.store import write_atomically
from rightreasons.core.validation import as_ragged

FOLDER = "predictions"
"""Folder of these files in a report."""

COLUMNS = ("id", "text", "label", "prediction", "logits")
"""Columns of every file."""

PAIR_COLUMN = "text_pair"
"""Further column of a file of text pairs: the second texts."""


@dataclasses.dataclass(frozen=True, eq=False)
class Predictions:
    """A model's predictions for the items of a split.

    Attributes:
        ids: N ids.
        texts: N texts.
        labels: (N,) labels in the model's numbering; -1 for unlabeled items.
        logits: (N, K) or `Ragged`.
        text_pairs: N second texts; None for single texts.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    labels: NDArray[np.int64]
    logits: NDArray[np.float64] | Ragged
    text_pairs: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def items(self) -> list[tuple[str, ...]]:
        """N items of one text, or of two."""
        if self.text_pairs is None:
            return [(text,) for text in self.texts]
        return list(zip(self.texts, self.text_pairs, strict=True))


def get_predictions_path(split: str) -> str:
    """Return the file of the predictions of a split, relative to the report folder."""
    return f"{FOLDER}/{safe_name(split)}.parquet"


def save_predictions(path: Path, split: AuditSplit, scores: Scores) -> None:
    """Write the predictions of a split into a Parquet file.

    `datasets.load_dataset("parquet", …)` opens the file with the names of the classes.

    Args:
        path: Path of the file.
        split: N items with their ids, texts and labels.
        scores: Their predictions and logits.
    """
    import datasets
    import pyarrow as pa
    import pyarrow.parquet

    from rightreasons.io.columns import get_arrow_column

    label = _make_label_feature(scores)
    # Rows of logits are written as lists, whether or not they have the same length.
    logits = scores.logits
    if not isinstance(logits, Ragged):
        logits = Ragged.of_table(logits)
    features: dict[str, Any] = {
        "id": datasets.Value("string"),
        "text": datasets.Value("string"),
        "label": label,
        "prediction": label,
        "logits": datasets.List(datasets.Value("float64")),
    }
    columns: dict[str, Any] = {
        "id": split.ids.arrow,
        "text": get_arrow_column(split.data, split.text_column),
        "label": split.labels,
        "prediction": scores.predicted,
        "logits": pa.ListArray.from_arrays(pa.array(logits.offsets, pa.int32()), logits.values),
    }
    if split.text_pairs is not None:
        features[PAIR_COLUMN] = datasets.Value("string")
        columns[PAIR_COLUMN] = list(split.text_pairs)
    table = pa.table(columns, schema=datasets.Features(features).arrow_schema)
    write_atomically(
        path, lambda temporary: pyarrow.parquet.write_table(table, os.fspath(temporary))
    )


def _make_label_feature(scores: Scores) -> Any:
    """Return the type of the columns of labels: class names if the scores have any, or else integers."""
    import datasets

    names = scores.label_names
    # A ClassLabel requires distinct names; those of a model may be equal.
    if names is None or len(set(names)) != len(names):
        return datasets.Value("int64")
    return datasets.ClassLabel(names=list(names))


def read_predictions(path: Path) -> Predictions:
    """Read a file of predictions that `save_predictions` has written.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file contains something else.
    """
    import pyarrow
    import pyarrow.parquet

    if not path.is_file():
        raise FileNotFoundError(
            f"Expected the predictions of an audit in {path}, but there is no such file."
        )
    try:
        table = pyarrow.parquet.read_table(os.fspath(path))
        # The schema of the file is checked by its columns: a missing one raises an error.
        columns = {name: table.column(name).to_pylist() for name in COLUMNS}
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"Expected the predictions of an audit in {path}, but it contains something else."
        ) from error
    # Reports of single texts have no such column.
    pairs = None
    if PAIR_COLUMN in table.column_names:
        pairs = tuple(table.column(PAIR_COLUMN).to_pylist())
    # If items have different numbers of choices, their logits are no rectangular array.
    rows = columns["logits"]
    logits: NDArray[np.float64] | Ragged
    if is_ragged(rows):
        logits = as_ragged(rows, "logits")
    else:
        logits = np.array(rows, dtype=np.float64)
    return Predictions(
        ids=tuple(columns["id"]),
        texts=tuple(columns["text"]),
        labels=np.array(columns["label"], dtype=np.int64),
        logits=logits,
        text_pairs=pairs,
    )
