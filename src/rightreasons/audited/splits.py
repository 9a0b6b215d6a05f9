"""The items of an audit, split by split: `take_splits` makes each `AuditSplit` from the rows of the data.

Labels are in the numbering of the model.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.label_names import MatchTerms, match_labels
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.io.options import AuditOptions

if TYPE_CHECKING:
    import datasets


Role = Literal["primary", "comparison", "train"]


PAIRS = "pair_id"
"""The column of what belongs together where none is named, before `source_id`."""


@dataclasses.dataclass(frozen=True, eq=False)
class AuditSplit:
    """The items of one split that the audit looks at.

    Attributes:
        name: The name of the split.
        role: "primary" (what the headlines are about), "comparison" or "train".
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
    def ids(self) -> LazyArrowColumn:
        """N unique ids."""
        from rightreasons.io.columns import arrow_of

        return LazyArrowColumn(arrow_of(self.data, "id"))

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
        return {"text": self.texts} | (
            {} if self.text_pairs is None else {"text_pair": self.text_pairs}
        )

    @functools.cached_property
    def planted(self) -> list[list[dict[str, Any]]] | None:
        """N lists of planted tokens {token, start, end}, of data that tells them; else None."""
        return self.column("planted")

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
        return np.array(
            [f"item {name}" if group in (None, "") else f"group {group}" for group, name in grouped]
        )

    @functools.cached_property
    def mislabeled(self) -> NDArray[np.bool_]:
        """(N,) which labels contradict what the text says, as far as the data tells; such items are no examples."""
        content = self.column("content_label")
        if content is None or "label" not in self.data.column_names:
            return np.zeros(len(self), dtype=np.bool_)
        return np.asarray(np.array(content) != np.array(self.data["label"][:]))

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """(N,) which items have a label."""
        return np.asarray(self.labels >= 0)

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
    from rightreasons.io.reading import digest_table

    splits = []
    for name, rows in chosen.items():
        known = class_of if name in labeled else None
        numbers = labels[name] if known is None else known[labels[name]]
        kept = [
            column
            for column in ("id", "text", "text_pair", "prompt", "choices")
            if column in rows.column_names
        ]
        content = rows.select_columns(kept).with_format("arrow")[:]
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
                fingerprint=digest_table(content, prefix=numbers.tobytes()),
                groups_column=settings.groups_column,
            )
        )
    return splits


def choose_splits(
    available: Mapping[str, datasets.Dataset], split: str | Sequence[str] | None, where: str
) -> list[str]:
    """Choose which splits are audited, the primary one first.

    Named splits are taken as they are named. Else it is the first of test, validation and dev that has labels, with the
    splits whose names begin with its name and an underscore (test, test_absent, test_flipped); a dataset with one split
    is audited on that.
    """
    if split is not None:
        names = (
            [name.strip() for name in split.split(",")] if isinstance(split, str) else list(split)
        )
        for name in names:
            if name not in available:
                raise make_unknown_name_error(f"split of {where}", name, available)
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
    rows = chosen_rows(
        data["id"][:], settings.limit, seed=settings.seed, groups=groups and data[groups][:]
    )
    return data.select(rows)


def _labels(data: datasets.Dataset) -> NDArray[np.int64]:
    from rightreasons.io.columns import arrow_of

    if "label" not in data.column_names:
        return np.full(len(data), -1, dtype=np.int64)
    return np.asarray(arrow_of(data, "label").to_numpy(), dtype=np.int64)


def safe_name(name: str) -> str:
    """Turn the name of a split into the name of a file.

    Example:
        >>> safe_name("../test[:10%]")
        '___test__10__'
    """
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in name) or "split"
