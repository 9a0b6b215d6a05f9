"""The items of an audit, split by split, with their labels in the model's numbering; and its predictions for them."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Cells, Ragged
from rightreasons.core.errors import OptionError, unknown_name
from rightreasons.core.label_names import MatchTerms, match_labels
from rightreasons.core.scores import Scores
from rightreasons.core.store import write_with
from rightreasons.core.tokens import WORD_PATTERN
from rightreasons.core.validation import as_ragged, is_ragged
from rightreasons.io.options import AuditOptions

if TYPE_CHECKING:
    import datasets


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

    @property
    def named(self) -> list[tuple[str, str]]:
        """The id and the text of each item: reports that share both are about the same item."""
        return list(zip(self.ids, self.texts, strict=True))


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
    label = datasets.ClassLabel(names=names) if is_named else datasets.Value("int64")
    logits = scores.logits if isinstance(scores.logits, Ragged) else Ragged.of_table(scores.logits)
    features = datasets.Features(
        {
            "id": datasets.Value("string"),
            "text": datasets.Value("string"),
            "label": label,
            "prediction": label,
            "logits": datasets.List(datasets.Value("float64")),
        }
    )
    columns = {
        "id": split.ids.arrow,
        "text": arrow_of(split.data, split.text_column),
        "label": split.labels,
        "prediction": scores.predicted,
        "logits": pa.ListArray.from_arrays(pa.array(logits.offsets, pa.int32()), logits.values),
    }
    table = pa.table(columns, schema=features.arrow_schema)
    write_with(path, lambda temporary: pyarrow.parquet.write_table(table, os.fspath(temporary)))


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


Role = Literal["primary", "comparison", "validation", "train"]


PAIRS = "pair_id"
"""The column of what belongs together where none is named, before `source_id`."""


VALIDATION_SPLITS = ("validation", "dev", "valid", "val")
"""The splits that may be used to fit a temperature."""


@dataclasses.dataclass(frozen=True, eq=False)
class AuditSplit:
    """The items of one split that the audit looks at.

    Attributes:
        name: The name of the split.
        role: "primary" (what the headlines are about), "comparison", "validation" or "train".
        data: The rows in the common schema, with all further columns.
        labels: (N,) labels in the model's numbering; -1 where there is none.
        data_label_names: The names of the labels as the data has them; () for multiple choice.
        label_mapping: How labels and classes were matched, in words.
        class_of: The model's class of each of the data's labels, and -1 at the end for none; None for multiple choice.
        n_available: How many items the split has.
        fingerprint: A digest of ids, texts and labels.
        groups_column: The column of the sets or pairs of items; None where none was named.
        left_out: (id, reason) of the items that the model could not score; they are not among the N.
    """

    name: str
    role: Role
    data: datasets.Dataset
    labels: NDArray[np.int64]
    data_label_names: tuple[str, ...]
    label_mapping: str
    class_of: NDArray[np.int64] | None
    n_available: int
    fingerprint: str
    groups_column: str | None = None
    left_out: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.labels)

    @functools.cached_property
    def ids(self) -> Cells:
        """N unique ids."""
        from rightreasons.io.columns import arrow_of

        return Cells(arrow_of(self.data, "id"))

    @property
    def text_column(self) -> str:
        """The column of the texts, or prompts."""
        return "text" if self.choices is None else "prompt"

    @functools.cached_property
    def texts(self) -> list[str]:
        """N texts, or prompts."""
        texts: list[str] = self.data[self.text_column][:]
        return texts

    @functools.cached_property
    def text_pairs(self) -> list[str] | None:
        """N second texts; None where there are none."""
        return self.column("text_pair")

    @functools.cached_property
    def choices(self) -> list[list[str]] | None:
        """N lists of choices; None for classification."""
        return self.column("choices") if self.class_of is None else None

    @property
    def fields(self) -> dict[str, list[Any]]:
        """The columns that a prompt is made of: `prompt` and `choices`, or `text` and perhaps `text_pair`."""
        if self.choices is not None:
            return {"prompt": self.texts, "choices": self.choices}
        return {"text": self.texts} | ({} if self.text_pairs is None else {"text_pair": self.text_pairs})

    @functools.cached_property
    def planted(self) -> list[list[dict[str, Any]]] | None:
        """N lists of planted tokens {token, start, end}, of data that tells them; else None."""
        return self.column("planted")

    @functools.cached_property
    def cue_labels(self) -> NDArray[np.int64] | None:
        """(N,) the class that the planted cue stands for, -1 for none, in the model's numbering; None where unknown."""
        raw = self.column("cue_label")
        return None if raw is None or self.class_of is None else self.class_of[np.array(raw, dtype=np.int64)]

    @functools.cached_property
    def pair_ids(self) -> list[str] | None:
        """N names that items of several splits share when they are forms of one item; None where there are none."""
        return self.column(self.groups_column or PAIRS)

    @functools.cached_property
    def clusters(self) -> NDArray[np.str_] | None:
        """(N,) what each item belongs to: a group, a source, a pair; None where every item stands alone."""
        names = self.column(self.groups_column or "source_id") or self.column(PAIRS)
        if names is None or len(set(names)) == len(names):
            return None
        grouped = zip(names, self.ids, strict=True)
        return np.array([f"item {name}" if group in (None, "") else f"group {group}" for group, name in grouped])

    @functools.cached_property
    def mislabeled(self) -> NDArray[np.bool_]:
        """(N,) which labels contradict what the text says, as far as the data tells; such items are no examples."""
        content = self.column("content_label")
        if content is None or "label" not in self.data.column_names:
            return np.zeros(len(self), dtype=np.bool_)
        return np.asarray(np.array(content) != np.array(self.data["label"][:]))

    def label_classes(self, model_names: Sequence[str] | None) -> dict[str, str]:
        """Return the name of the model's class of each of the data's labels that has one; {} for multiple choice."""
        if self.class_of is None or model_names is None:
            return {}
        pairs = zip(self.data_label_names, self.class_of.tolist(), strict=False)
        return {name: model_names[label] for name, label in pairs if label >= 0}

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """(N,) which items have a label."""
        return np.asarray(self.labels >= 0)

    @property
    def mean_words(self) -> float:
        """The mean number of words of a text."""
        return float(np.mean([len(WORD_PATTERN.findall(text)) for text in self.texts]))

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> AuditSplit:
        """Return the split with some of its rows alone; the fingerprint stays that of the whole."""
        return dataclasses.replace(self, data=self.data.select(rows), labels=self.labels[rows])

    def without(self, reasons: Mapping[str, str]) -> AuditSplit:
        """Return the split without the items that the model could not score, by their ids with the reasons."""
        if not reasons:
            return self
        left_out = tuple((name, reasons[name]) for name in self.ids if name in reasons)
        rows = [row for row, name in enumerate(self.ids) if name not in reasons]
        return dataclasses.replace(self.take(rows), left_out=left_out)

    def column(self, name: str) -> list[Any] | None:
        """Return a column of the data, or None where there is none of that name."""
        return self.data[name][:] if name in self.data.column_names else None


def take_splits(
    data: Mapping[str, datasets.Dataset],
    roles: Mapping[str, Role],
    settings: AuditOptions,
    model_names: Sequence[str] | None,
    where: str,
    label_match: str = "",
) -> list[AuditSplit]:
    """Take the items that the audit will look at, their labels in the model's numbering.

    With a limit, the items of a split are chosen by (seed, id): the same ones whatever the order of the rows. Items
    that share a set or a pair are chosen together, so that no set loses an item.

    Args:
        data: The rows of each split in the common schema: id, text (text_pair), label; or id, prompt, choices, label.
        roles: Name of a split -> its part in the audit; other splits are not taken.
        settings: The limit and its seed, the column of sets or pairs, and the number of the first label.
        model_names: The names of the model's classes; None for multiple choice.
        where: What the data is called, for errors.
        label_match: How labels met classes where that was told before, in words.

    Returns:
        The splits, in the order of `roles`.

    Raises:
        ValueError: If there is no such column, or labels and classes do not match.
    """
    chosen = {name: limited(data[name], settings, where) for name in roles}
    labels = {name: _labels(rows) for name, rows in chosen.items()}
    labeled = [name for name, rows in chosen.items() if "label" in rows.column_names]
    names: tuple[str, ...] = ()
    class_of, how = None, "the index of the right choice"
    if labeled and model_names is not None:
        names = tuple(chosen[labeled[0]].features["label"].names)
        # A label that occurs in one split tells where the numbers of all of them begin.
        used, seen = (
            {label for each in split for label in np.unique(each).tolist() if label >= 0}
            for split in (labels.values(), map(_labels, data.values()))
        )
        match = match_labels(
            names,
            model_names,
            used=used,
            seen=seen,
            first=settings.first_label,
            terms=MatchTerms(where, remedy="first_label says which", rename="label_names"),
        )
        class_of = np.append(match.class_of, -1)  # an index of -1 reads the last entry
        how = label_match or match.in_words
    splits = []
    for name, rows in chosen.items():
        known = class_of if name in labeled else None
        numbers = labels[name] if known is None else known[labels[name]]
        splits.append(
            AuditSplit(
                name=name,
                role=roles[name],
                data=rows,
                labels=numbers,
                data_label_names=names if name in labeled else (),
                label_mapping=how if name in labeled else "the data has no labels",
                class_of=known,
                n_available=len(data[name]),
                fingerprint=_fingerprint(rows, numbers),
                groups_column=settings.groups_column,
            )
        )
    return splits


def with_train(data: Mapping[str, datasets.Dataset], task: str, given: AuditOptions) -> Mapping[str, datasets.Dataset]:
    """Return the splits with the training texts, if they are named apart; their labels are numbered as the data's.

    Raises:
        ValueError: If the training texts have a label that the data has not, or several splits and none named train.
    """
    if given.train is None:
        return data
    import datasets

    from rightreasons.io.tables import open_splits

    opened = open_splits(given.train, require_labels=True, **given.source(task))
    if "train" not in opened and len(opened) > 1:
        raise OptionError(f"Expected one split, or one named train, but got {', '.join(opened)}.", option="train")
    rows = opened.get("train", next(iter(opened.values())))
    label = next((part.features["label"] for part in data.values() if "label" in part.column_names), None)
    if isinstance(label, datasets.ClassLabel) and label.names != rows.features["label"].names:
        names = rows.features["label"].names
        other = next((name for name in names if name not in label.names), None)
        if other is not None:
            where = given.train if isinstance(given.train, str) else "the training texts"
            raise OptionError(
                f"Expected the labels of the data ({', '.join(label.names)}) in {where}, but got {other!r}; "
                "label_names gives labels new names.",
                option="train",
            )
        numbers = [label.str2int(names[number]) if number >= 0 else -1 for number in rows["label"][:]]
        rows = rows.remove_columns("label").add_column("label", numbers).cast_column("label", label)
    return {**data, "train": rows}


def choose_splits(
    available: Mapping[str, datasets.Dataset], split: str | Sequence[str] | None, where: str
) -> list[str]:
    """Choose which splits are audited, the primary one first.

    Named splits are taken as they are named. Else it is the first of test, validation and dev that has labels, with the
    splits whose names begin with its name and an underscore (test, test_absent, test_flipped); a dataset with one split
    is audited on that.
    """
    if split is not None:
        names = [name.strip() for name in split.split(",")] if isinstance(split, str) else list(split)
        for name in names:
            if name not in available:
                raise unknown_name(f"split of {where}", name, available)
        return list(dict.fromkeys(names))
    from rightreasons.io.tables import choose_split

    primary = choose_split(available, where=where)
    return [primary, *(other for other in available if other.startswith(f"{primary}_"))]


def limited(data: datasets.Dataset, settings: AuditOptions, where: str) -> datasets.Dataset:
    """Choose the rows that the limit of an audit leaves: whole sets or pairs, by the seed and their ids."""
    from rightreasons.io.columns import named_column
    from rightreasons.io.tables import chosen_rows

    if settings.groups_column is not None:
        named_column(data, settings.groups_column, "groups_column", where)
    if settings.limit is None or settings.limit >= len(data):
        return data
    usual = next((name for name in (PAIRS, "source_id") if name in data.column_names), None)
    groups = settings.groups_column or usual
    rows = chosen_rows(data["id"][:], settings.limit, seed=settings.seed, groups=groups and data[groups][:])
    return data.select(rows)


def _labels(data: datasets.Dataset) -> NDArray[np.int64]:
    from rightreasons.io.columns import arrow_of

    if "label" not in data.column_names:
        return np.full(len(data), -1, dtype=np.int64)
    return np.asarray(arrow_of(data, "label").to_numpy(), dtype=np.int64)


def _fingerprint(data: datasets.Dataset, labels: NDArray[np.int64]) -> str:
    from rightreasons.io.files import content_of

    kept = [name for name in ("id", "text", "text_pair", "prompt", "choices") if name in data.column_names]
    content = content_of(data.select_columns(kept).with_format("arrow")[:])
    return hashlib.blake2b(labels.tobytes() + content, digest_size=16).hexdigest()
