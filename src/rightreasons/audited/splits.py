"""Items of an audit, split by split.

`choose_splits` decides which splits of the data are audited, and `take_splits` makes an `AuditSplit`
of each. Its items are in the order of their ids, whatever the order of the file, and its labels are in
the numbering of the model, whatever the numbering of the data.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.clusters import number_clusters_by_item
from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.labels.matching import LabelMatch, MatchTerms, match_labels
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.sentences import short_name
from rightreasons.io.options import AuditOptions
from rightreasons.io.row_codes import COPIED_ROW, REPEATED_ID

if TYPE_CHECKING:
    import datasets


Role = Literal["primary", "comparison", "train"]

PAIRS = "pair_id"
"""Default column of items that belong together."""

TEXT_COLUMNS = ("text", "text_pair")
"""Columns of the texts of a classifier."""

SOURCES = "source_id"
"""Default column of the source of an item, such as its paragraph."""

CONTENT_COLUMNS = ("id", "text", "text_pair", "prompt", "choices")
"""Columns that determine what a model reads, and thus the fingerprint of a split."""


@dataclasses.dataclass(frozen=True, eq=False)
class AuditSplit:
    """The audited items of one split.

    Attributes:
        name: Name of the split.
        role: "primary" for the split of the headlines, "comparison" or "train".
        data: Rows in the common schema, with all further columns, sorted by id.
        labels: (N,) labels in the model's numbering, -1 for unlabeled items.
        data_label_names: Names of the labels in the data; empty for multiple choice.
        label_mapping: Description of how labels and classes were matched.
        class_of: The model's class of each label of the data, with a final -1 for unlabeled items;
            None for multiple choice.
        n_available: Number of items of the split before the limit.
        fingerprint: Digest of ids, texts and labels.
        groups_column: Column of the sets or pairs of items; None for the default columns.
        group_names: Group -> its name by `name_groups`, which is equal in all splits.
        left_out: (id, reason) of items that the model could not score. They are not among the N.
        before_exclusion: The split with these items; None if there are none.
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
    group_names: Mapping[Any, str] = dataclasses.field(default_factory=dict)
    left_out: tuple[tuple[str, str], ...] = ()
    before_exclusion: AuditSplit | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @functools.cached_property
    def ids(self) -> LazyArrowColumn:
        """N unique ids."""
        from rightreasons.io.columns import get_arrow_column

        return LazyArrowColumn(get_arrow_column(self.data, "id"))

    @property
    def text_column(self) -> str:
        """Column of the texts, or of the prompts of multiple choice."""
        return "text" if self.choices is None else "prompt"

    @functools.cached_property
    def texts(self) -> list[str]:
        """N texts, or prompts of multiple choice."""
        texts: list[str] = self.data[self.text_column][:]
        return texts

    @functools.cached_property
    def text_pairs(self) -> list[str] | None:
        """N second texts; None for single texts."""
        return self.column("text_pair")

    @functools.cached_property
    def choices(self) -> list[list[str]] | None:
        """N lists of choices; None for classification."""
        # A classifier does not read a column of this name.
        if self.class_of is not None:
            return None
        return self.column("choices")

    @property
    def fields(self) -> dict[str, list[Any]]:
        """Name -> the N values of each column from which the prompt of an item is made.

        They are "prompt" and "choices", or "text" and, for pairs of texts, "text_pair".
        """
        if self.choices is not None:
            return {"prompt": self.texts, "choices": self.choices}
        fields: dict[str, list[Any]] = {"text": self.texts}
        if self.text_pairs is not None:
            fields["text_pair"] = self.text_pairs
        return fields

    @functools.cached_property
    def planted(self) -> list[list[dict[str, Any]]] | None:
        """N lists of planted tokens {token, start, end}; None if the data does not record them."""
        return self.column("planted")

    @functools.cached_property
    def pair_ids(self) -> list[str] | None:
        """N names that are equal for the forms of one item in several splits; None without them."""
        return self.column(self.groups_column or PAIRS)

    @property
    def sampling_names(self) -> list[str]:
        """N names by which items are sampled: those of their pairs, or their ids without pairs."""
        ids = list(self.ids)
        if self.pair_ids is None:
            return ids
        return _rename_groups(self.pair_ids, ids, self.group_names)

    @functools.cached_property
    def clusters(self) -> NDArray[np.int64] | None:
        """(N,) number of the group, source or pair of each item; None if the items are independent.

        The groups are those of the column that the user named, or of the first default column that
        the data has. An item without a group is a separate cluster. Clusters are numbered by their
        first items, so that their names do not matter.
        """
        groups = None
        if self.groups_column is not None:
            groups = self.column(self.groups_column)
        else:
            # Items of one source, such as questions on a paragraph, are not independent.
            for name in (SOURCES, REPEATED_ID, COPIED_ROW, PAIRS):
                groups = self.column(name)
                if groups:
                    break
        # If each group has one item, the items are independent.
        if not groups or len(set(groups)) == len(groups):
            return None
        return number_clusters_by_item(groups)

    @functools.cached_property
    def mislabeled(self) -> NDArray[np.bool_]:
        """(N,) whether the label contradicts the text according to the data."""
        if not self.records_mislabeled:
            return np.zeros(len(self), dtype=np.bool_)
        # The columns are compared in the numbering of the data, not in that of the model.
        content_labels = np.array(self.column("content_label"))
        return np.asarray(content_labels != np.array(self.column("label")))

    @property
    def records_mislabeled(self) -> bool:
        """Whether the data records which labels contradict their texts, as planted data does."""
        # Only the label that the text expresses shows whether the given one is incorrect.
        return {"content_label", "label"} <= {*self.data.column_names}

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """(N,) whether each item has a label."""
        return np.asarray(self.labels >= 0)

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> AuditSplit:
        """Return the split with the given rows; the fingerprint stays that of all rows."""
        return dataclasses.replace(self, data=self.data.select(rows), labels=self.labels[rows])

    def exclude_items(self, reason_by_id: Mapping[str, str]) -> AuditSplit:
        """Return the split without the items that the model could not score.

        Args:
            reason_by_id: Id -> reason, for these items. The result records them in `left_out`.
        """
        if not reason_by_id:
            return self
        rows = []
        left_out = []
        for row, item_id in enumerate(self.ids):
            if item_id in reason_by_id:
                left_out.append((item_id, reason_by_id[item_id]))
            else:
                rows.append(row)
        return dataclasses.replace(self.take(rows), left_out=tuple(left_out), before_exclusion=self)

    def column(self, name: str) -> list[Any] | None:
        """Return a column of the data; None if there is no such column."""
        if name not in self.data.column_names:
            return None
        values: list[Any] = self.data[name][:]
        return values


def take_splits(
    data: Mapping[str, datasets.Dataset],
    roles: Mapping[str, Role],
    settings: AuditOptions,
    model_names: Sequence[str] | None,
    data_name: str,
    label_match: str = "",
) -> list[AuditSplit]:
    """Make the audited splits, with labels in the numbering of the model.

    The items of a split are sorted by their ids, so that the order of the rows of the file does not
    matter; without ids, it is the order of the file. With a limit, items are selected by the seed
    and their ids. Items of one group or pair are selected together.

    Args:
        data: Split -> rows in the common schema: id, text (text_pair), label; or id, prompt,
            choices, label.
        roles: Split -> its role; other splits are not audited.
        settings: Limit, seed, column of groups, and number of the first label.
        model_names: Names of the model's classes; None for multiple choice.
        data_name: Name of the data, for error messages.
        label_match: Description of how labels and classes were matched before; "" if they were not.

    Returns:
        The splits, in the order of `roles`.

    Raises:
        ValueError: If a column is missing, or labels and classes do not match.
    """
    from rightreasons.io.samples import name_groups, sort_by_id

    tables = [data[name] for name in roles]
    group_names: dict[Any, str] = {}
    column = _find_groups_column(tables[0], settings.groups_column)
    if column is not None:
        group_names = name_groups(tables, column)
    rows_by_split = {}
    for name in roles:
        selected = limit_rows(data[name], settings, data_name, group_names)
        # Kernels draw resamples, folds and ties by position. This is the only place that decides on
        # positions, so that no figure depends on the order of the file.
        rows_by_split[name] = sort_by_id(selected)
    labeled_splits = []
    for name, rows in rows_by_split.items():
        if "label" in rows.column_names:
            labeled_splits.append(name)

    # All splits number their labels in the same way, so that one match with the classes is enough.
    class_of = None
    data_label_names: tuple[str, ...] = ()
    label_mapping = "the index of the correct choice"
    if labeled_splits and model_names is not None:
        label_feature = rows_by_split[labeled_splits[0]].features["label"]
        data_label_names = tuple(label_feature.names)
        match = match_labels(
            data_label_names,
            model_names,
            used=_collect_labels(rows_by_split.values()),
            # Whether labels are numbered from 0 or from 1 follows from the labels of all splits.
            used_anywhere=_collect_labels(data.values()),
            first=settings.first_label,
            # The page shows how labels were matched, and no folder of the user.
            terms=MatchTerms(
                short_name(data_name), remedy="Set `first_label` to 0 or 1", rename="label_names"
            ),
        )
        class_of = _make_class_table(match)
        label_mapping = label_match or match.in_words

    splits = []
    for name, rows in rows_by_split.items():
        labels = _read_labels(rows)
        if name in labeled_splits and class_of is not None:
            labels = class_of[labels]
        split = AuditSplit(
            name=name,
            role=roles[name],
            data=rows,
            labels=labels,
            data_label_names=data_label_names,
            label_mapping=label_mapping,
            class_of=class_of,
            n_available=len(data[name]),
            fingerprint=_digest_content(rows, labels),
            groups_column=_resolve_groups_column(rows, settings.groups_column),
            group_names=group_names,
        )
        # Splits without labels may be compared with labeled ones.
        if name not in labeled_splits:
            split = dataclasses.replace(
                split,
                data_label_names=(),
                label_mapping="the data has no labels",
                class_of=None,
            )
        splits.append(split)
    return splits


def _collect_labels(splits: Iterable[datasets.Dataset]) -> set[int]:
    """Return the labels that occur in any of the splits."""
    labels: set[int] = set()
    for rows in splits:
        numbers = np.unique(_read_labels(rows))
        labels.update(numbers[numbers >= 0].tolist())
    return labels


def _make_class_table(match: LabelMatch) -> NDArray[np.int64]:
    """Return the class of each label, with a final -1 that the label -1 of unlabeled items reads."""
    return np.append(match.class_of, -1)


def _digest_content(rows: datasets.Dataset, labels: NDArray[np.int64]) -> str:
    """Return the digest of the ids, texts and labels of rows."""
    from rightreasons.io.arrow_tables import digest_table

    # Further columns may change without changing what the model reads.
    columns = [name for name in CONTENT_COLUMNS if name in rows.column_names]
    content = rows.select_columns(columns).with_format("arrow")[:]
    return digest_table(content, prefix=labels.tobytes())


def digest_texts(rows: datasets.Dataset) -> str:
    """Return the digest of the texts of rows, whatever their ids and labels are called."""
    from rightreasons.io.arrow_tables import digest_table

    columns = [name for name in TEXT_COLUMNS if name in rows.column_names]
    return digest_table(rows.select_columns(columns).with_format("arrow")[:])


def choose_splits(
    available: Mapping[str, datasets.Dataset], split: str | Sequence[str] | None, data_name: str
) -> list[str]:
    """Return the names of the splits to audit, the primary one first.

    By default, the primary split is the first of test, validation and dev that has labels, or the
    only split. Splits whose names continue its name after an underscore (test_absent, test_flipped)
    are compared with it.

    Args:
        available: The splits of the data.
        split: Names of splits, as a list or separated by commas; None for the default.
        data_name: Name of the data, for errors.

    Raises:
        ValueError: If there is no split of a name.
    """
    if split is None:
        from rightreasons.io.samples import choose_split

        primary = choose_split(available, source_name=data_name)
        return [primary, *(name for name in available if name.startswith(f"{primary}_"))]

    names = split
    if isinstance(split, str):
        names = [name.strip() for name in split.split(",")]
    for name in names:
        if name not in available:
            raise make_unknown_name_error(f"split of {data_name}", name, available)
    # A split that is named twice is audited once.
    return list(dict.fromkeys(names))


def limit_rows(
    data: datasets.Dataset,
    settings: AuditOptions,
    data_name: str,
    group_names: Mapping[Any, str] | None = None,
) -> datasets.Dataset:
    """Return at most as many rows as the limit of an audit allows, selected by the seed and the ids.

    Rows of one group are selected together. The groups are the values of the column that the user
    named, or of the first default column that the data has, such as "pair_id".

    Args:
        data: Rows with a column "id".
        settings: The limit, None for no limit; the seed; and the column of groups, None for the
            default columns.
        data_name: Name of the data, for error messages.
        group_names: Group -> its name by `name_groups`. If None, that of these rows.
    """
    from rightreasons.io.columns import check_column_name
    from rightreasons.io.samples import choose_rows, name_groups

    named_column = _resolve_groups_column(data, settings.groups_column)
    if named_column is not None:
        check_column_name(data, named_column, "groups_column", data_name)
    if settings.limit is None or settings.limit >= len(data):
        return data
    groups = None
    ids = data["id"][:]
    column = _find_groups_column(data, settings.groups_column)
    if column is not None:
        if group_names is None:
            group_names = name_groups([data], column)
        groups = _rename_groups(data[column][:], ids, group_names)
    rows = choose_rows(ids, settings.limit, seed=settings.seed, groups=groups)
    return data.select(rows)


def _rename_groups(
    groups: Iterable[Any], ids: Iterable[Any], group_names: Mapping[Any, str]
) -> list[str]:
    """Return the names of the groups of N items; an item without a group has its id as the name.

    Args:
        groups: N groups.
        ids: N ids.
        group_names: Group -> its name by `name_groups`.
    """
    return [
        group_names.get(group, str(item_id)) for group, item_id in zip(groups, ids, strict=True)
    ]


def _find_groups_column(data: datasets.Dataset, groups_column: str | None) -> str | None:
    """Return the column of the groups that are selected together; None without any.

    Args:
        data: The rows.
        groups_column: Column that the user named; if None, the first default column that the data have.
    """
    if groups_column is not None:
        return _resolve_groups_column(data, groups_column)
    for default in (PAIRS, SOURCES, REPEATED_ID, COPIED_ROW):
        if default in data.column_names:
            return default
    return None


def _resolve_groups_column(data: datasets.Dataset, groups_column: str | None) -> str | None:
    """Return the column that a user names; `id` is the column of the file, whose ids may repeat."""
    if groups_column == "id" and REPEATED_ID in data.column_names:
        return REPEATED_ID
    return groups_column


def _read_labels(data: datasets.Dataset) -> NDArray[np.int64]:
    """Return (N,) labels in the numbering of the data, -1 for unlabeled items."""
    from rightreasons.io.columns import get_arrow_column

    # Without labels, questions about texts alone still apply.
    if "label" not in data.column_names:
        return np.full(len(data), -1, dtype=np.int64)
    return np.asarray(get_arrow_column(data, "label").to_numpy(), dtype=np.int64)


def safe_name(name: str) -> str:
    """Turn the name of a split into the name of a file.

    Example:
        >>> safe_name("../test[:10%]")
        '___test__10__'
    """
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in name) or "split"
