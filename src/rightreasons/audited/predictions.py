"""A model's predictions for each item, as parquet in the report: written by an audit, read by a comparison."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.scores import Scores
from rightreasons.core.store import write_with
from rightreasons.core.validation import as_ragged, is_ragged

if TYPE_CHECKING:
    from rightreasons.audited.splits import AuditSplit


FOLDER = "predictions"
"""The folder of a report that holds them."""

COLUMNS = ("id", "text", "label", "prediction", "logits")


@dataclasses.dataclass(frozen=True, eq=False)
class Predictions:
    """A model's predictions for the items of a split.

    Attributes:
        ids: N ids.
        texts: N texts.
        labels: (N,) labels in the model's numbering; -1 where there is none.
        logits: (N, K) or `Ragged`.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    labels: NDArray[np.int64]
    logits: NDArray[np.float64] | Ragged

    def __len__(self) -> int:
        return len(self.ids)


def predictions_file(split: str) -> str:
    """Return the file of the predictions of a split, relative to the folder of the report."""
    return f"{FOLDER}/{safe_name(split)}.parquet"


def save_predictions(path: Path, split: AuditSplit, scores: Scores) -> None:
    """Write the predictions of a split; `datasets.load_dataset("parquet", …)` opens them, with the class names."""
    import datasets
    import pyarrow.parquet

    rows = list(scores.logits)
    label = _label_feature(datasets, scores.label_names)
    table = datasets.Dataset.from_dict(
        {
            "id": list(split.ids),
            "text": split.texts,
            "label": split.labels.tolist(),
            "prediction": scores.predicted.tolist(),
            "logits": [row.tolist() for row in rows],
        },
        features=datasets.Features(
            {
                "id": datasets.Value("string"),
                "text": datasets.Value("string"),
                "label": label,
                "prediction": label,
                "logits": datasets.List(datasets.Value("float64")),
            }
        ),
    )
    write_with(path, lambda temporary: pyarrow.parquet.write_table(table.data.table, os.fspath(temporary)))


def read_predictions(path: Path) -> Predictions:
    """Read the predictions of a split.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: If the file holds something else.
    """
    import pyarrow
    import pyarrow.parquet

    if not path.is_file():
        raise FileNotFoundError(f"Expected the predictions of an audit in {path}, but there is no such file.")
    try:
        table = pyarrow.parquet.read_table(os.fspath(path), columns=list(COLUMNS))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"Expected the predictions of an audit in {path}, but it holds something else.") from error
    columns = {name: table.column(name).to_pylist() for name in COLUMNS}
    rows = columns["logits"]
    return Predictions(
        ids=tuple(columns["id"]),
        texts=tuple(columns["text"]),
        labels=np.array(columns["label"], dtype=np.int64),
        logits=as_ragged(rows, "logits") if is_ragged(rows) else np.array(rows, dtype=np.float64),
    )


def safe_name(name: str) -> str:
    """Turn the name of a split into the name of a file.

    Example:
        >>> safe_name("../test[:10%]")
        '___test__10__'
    """
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in name) or "split"


def _label_feature(datasets: Any, names: Sequence[str] | None) -> Any:
    # A ClassLabel requires distinct names; those of a model may be equal.
    if names is None or len(set(names)) < len(names):
        return datasets.Value("int64")
    return datasets.ClassLabel(names=list(names))
