"""The files of a report that hold the predictions of the model, one per split."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.splits import AuditSplit, safe_name
from rightreasons.core.arrays import Ragged, is_ragged
from rightreasons.core.scores import Scores
from rightreasons.core.store import write_atomically
from rightreasons.core.validation import as_ragged

FOLDER = "predictions"
"""The folder of a report that holds them."""


COLUMNS = ("id", "text", "label", "prediction", "logits")

PAIR_COLUMN = "text_pair"
"""Column of the second texts, which a file of pairs has besides."""


@dataclasses.dataclass(frozen=True, eq=False)
class Predictions:
    """A model's predictions for the items of a split.

    Attributes:
        ids: N ids.
        texts: N texts.
        labels: (N,) labels in the model's numbering; -1 where there is none.
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


def predictions_file(split: str) -> str:
    """Return the file of the predictions of a split, relative to the folder of the report."""
    return f"{FOLDER}/{safe_name(split)}.parquet"


def save_predictions(path: Path, split: AuditSplit, scores: Scores) -> None:
    """Write the predictions of a split; `datasets.load_dataset("parquet", …)` opens them, with the class names."""
    import datasets
    import pyarrow as pa
    import pyarrow.parquet

    from rightreasons.io.columns import arrow_of

    # A ClassLabel requires distinct names; those of a model may be equal.
    names = list(scores.label_names or ())
    is_named = scores.label_names is not None and len(set(names)) == len(names)
    label = datasets.Value("int64")
    if is_named:
        label = datasets.ClassLabel(names=names)
    # Rows of one length and of several are written alike.
    logits = scores.logits
    if not isinstance(logits, Ragged):
        logits = Ragged.of_table(logits)
    kinds = dict.fromkeys(("id", "text"), datasets.Value("string")) | dict.fromkeys(
        ("label", "prediction"), label
    )
    if split.text_pairs is not None:
        kinds[PAIR_COLUMN] = datasets.Value("string")
    features = datasets.Features({**kinds, "logits": datasets.List(datasets.Value("float64"))})
    columns = {
        "id": split.ids.arrow,
        "text": arrow_of(split.data, split.text_column),
        "label": split.labels,
        "prediction": scores.predicted,
        "logits": pa.ListArray.from_arrays(pa.array(logits.offsets, pa.int32()), logits.values),
    }
    if split.text_pairs is not None:
        columns[PAIR_COLUMN] = list(split.text_pairs)
    table = pa.table(columns, schema=features.arrow_schema)
    write_atomically(
        path, lambda temporary: pyarrow.parquet.write_table(table, os.fspath(temporary))
    )


def read_predictions(path: Path) -> Predictions:
    """Read the predictions of a split.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: If the file holds something else.
    """
    import pyarrow
    import pyarrow.parquet

    if not path.is_file():
        raise FileNotFoundError(
            f"Expected the predictions of an audit in {path}, but there is no such file."
        )
    try:
        table = pyarrow.parquet.read_table(os.fspath(path))
        # Only files of pairs have second texts; any other column is not ours.
        columns = {name: table.column(name).to_pylist() for name in COLUMNS}
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"Expected the predictions of an audit in {path}, but it holds something else."
        ) from error
    pairs = None
    if PAIR_COLUMN in table.column_names:
        pairs = tuple(table.column(PAIR_COLUMN).to_pylist())
    rows = columns["logits"]
    return Predictions(
        ids=tuple(columns["id"]),
        texts=tuple(columns["text"]),
        labels=np.array(columns["label"], dtype=np.int64),
        logits=as_ragged(rows, "logits") if is_ragged(rows) else np.array(rows, dtype=np.float64),
        text_pairs=pairs,
    )
