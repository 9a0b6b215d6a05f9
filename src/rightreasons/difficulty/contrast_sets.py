"""The contrast sets of a table, and the accuracy of a model on them.

`ContrastItems.from_table` finds the sets, and `measure_contrast_sets` computes the figures of the report.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError
from rightreasons.core.estimates import Estimate, estimate_share, make_estimate
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import check_same_length
from rightreasons.difficulty.contrast import ContrastConsistency, contrast_consistency

if TYPE_CHECKING:
    import datasets

USUAL_COLUMNS = (("pair_id", "role"), ("pair_id", "is_original"), ("source_id", "mirrored"))
"""Columns of sets and of their originals that are used if none is named."""

ORIGINAL = "original"
"""Text that marks an original."""

FLAGS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


@dataclasses.dataclass(frozen=True, eq=False)
class ContrastItems:
    """The contrast sets of a table: originals with their revisions.

    Attributes:
        rows: (n,) rows of the table that belong to a set, ascending.
        groups: (n,) names of the sets.
        is_original: (n,) True for the original of each set, which has exactly one.
        n_left_out: Number of excluded sets. They have an unlabeled item, not exactly one original, or no
            revision.
    """

    rows: NDArray[np.int64]
    groups: NDArray[np.str_]
    is_original: NDArray[np.bool_]
    n_left_out: int = 0

    @classmethod
    def from_table(
        cls,
        table: datasets.Dataset,
        labels: NDArray[np.int64],
        groups_column: str | None = None,
        original_column: str | None = None,
    ) -> ContrastItems | None:
        """Find the contrast sets of a table.

        Args:
            table: N rows.
            labels: (N,) labels, -1 for unlabeled rows.
            groups_column: Column with the name of the set of each item, empty for items without a set.
                If None, `pair_id` or `source_id`.
            original_column: Column that marks the original of each set, by flags or by the text
                "original". If None, `role`, `is_original` or `mirrored`; or the first item of each set, if
                `groups_column` is named.

        Returns:
            The sets. None if no column is named and the usual ones are missing or contain no set.

        Raises:
            ValueError: If a column is missing or marks no originals, or if a named column contains no set.

        Example:
            >>> import datasets
            >>> table = datasets.Dataset.from_dict(
            ...     {"pair_id": ["a", "a", "b", "b", "c"], "role": ["perturbed", "original"] * 2 + ["original"]}
            ... )
            >>> items = ContrastItems.from_table(table, np.array([0, 1, 1, -1, 0]))
            >>> items.rows.tolist(), items.groups.tolist(), items.is_original.tolist(), items.n_left_out
            ([0, 1], ['a', 'a'], [False, True], 2)
        """
        is_named = bool(groups_column or original_column)
        columns = _choose_columns(table.column_names, groups_column, original_column)
        if columns is None:
            return None
        set_column, mark_column = columns
        names = ["" if value is None else str(value) for value in table[set_column][:]]
        groups = np.array(names, dtype=np.str_)
        check_same_length(labels=labels, groups=groups)
        # The sets are numbered; `set_by_row` has the number of the set of each row.
        _, first_rows, set_by_row = np.unique(groups, return_index=True, return_inverse=True)

        if mark_column is None:
            is_original = np.zeros(len(groups), dtype=np.bool_)
            is_original[first_rows] = True
        else:
            # A usual column that the user did not name may contain anything. Then there are no sets.
            marks = _read_marks(table[mark_column][:], mark_column, must_be_marks=is_named)
            if marks is None:
                return None
            is_original = marks

        # A set counts only as a whole: one missing label would make its consistency unknown. The empty
        # name belongs to rows without a set; their originals are not counted, so it is never complete.
        is_in_set = groups != ""
        has_one_original = np.bincount(set_by_row, weights=is_original & is_in_set) == 1
        has_revision = np.bincount(set_by_row) > 1
        has_all_labels = np.bincount(set_by_row, weights=labels < 0) == 0
        is_complete = has_one_original & has_revision & has_all_labels
        if not is_complete.any():
            if not is_named:
                return None
            raise ValueError(
                f"Expected contrast sets in the column {set_column!r}, each with one original, at "
                f"least one revision, and labels, but none of its {len(first_rows):,} values "
                "names such a set."
            )

        rows = np.flatnonzero(is_complete[set_by_row])
        n_sets = int(np.count_nonzero(np.bincount(set_by_row, weights=is_in_set)))
        n_complete_sets = int(np.count_nonzero(is_complete))
        return cls(
            rows=rows,
            groups=groups[rows],
            is_original=is_original[rows],
            n_left_out=n_sets - n_complete_sets,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class ContrastMeasurement:
    """Accuracy of a model on contrast sets.

    Attributes:
        items: The sets.
        result: Result of `contrast_consistency`.
        figures: The figures with their intervals, by key in the order of the report.
        counts: Number of items or sets of which each figure is a share.
        broken: Rows of the table, (original, revision), with a correct original and an incorrect revision.
    """

    items: ContrastItems
    result: ContrastConsistency
    figures: Mapping[str, Estimate]
    counts: Mapping[str, int]
    broken: tuple[tuple[int, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows as plain values."""
        return {**self.result.to_dict(), "n_left_out": self.items.n_left_out}


def measure_contrast_sets(
    items: ContrastItems,
    predicted: NDArray[Any],
    labels: NDArray[np.int64],
    *,
    resampling: Resampling = Resampling(),
) -> ContrastMeasurement:
    """Measure whether a model is correct on items and on their small revisions.

    Args:
        items: The contrast sets of a table of N rows: for each of the n items that belong to a set, its
            row, the name of its set (`groups`), and the flag `is_original`.
        predicted: (N,) predicted classes, or choices.
        labels: (N,) labels.
        resampling: Level of the intervals, which are closed forms with sets as units.

    Returns:
        The figures of `contrast_consistency` with their intervals, and `contrast_followed`: the share of
        the sets with a correct original that are correct throughout.

    References:
        Gardner et al. (2020), "Evaluating Models' Local Decision Boundaries via Contrast Sets".

    Example:
        All items of the first pair are correct. The second pair gets the answer 1 twice, but its labels
        are 1 and 0.

        >>> pairs = ContrastItems(np.arange(4), np.array(["a", "a", "b", "b"]), np.array([True, False] * 2))
        >>> measured = measure_contrast_sets(pairs, np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]))
        >>> {key: estimate.value for key, estimate in measured.figures.items()}
        {'original_accuracy': 1.0, 'contrast_accuracy': 0.5, 'contrast_consistency': 0.5, 'contrast_followed': 0.5}
        >>> measured.broken
        ((2, 3),)
    """
    item_predictions = predicted[items.rows]
    item_labels = labels[items.rows]
    result = contrast_consistency(
        item_predictions,
        item_labels,
        items.groups,
        items.is_original,
        confidence_level=resampling.level,
    )

    is_correct = item_predictions == item_labels
    # (n,) number of the set of each item; sets are numbered in the order of their names.
    _, set_by_item = np.unique(items.groups, return_inverse=True)
    # The index of the original of each set, in the order of the numbers of the sets.
    originals = np.flatnonzero(items.is_original)
    original_by_set = originals[np.argsort(set_by_item[originals])]
    has_correct_original = is_correct[original_by_set]
    # Revisions can be followed only from a correct original.
    has_no_error = np.bincount(set_by_item, weights=~is_correct) == 0
    n_followed = int((has_correct_original & has_no_error).sum())
    n_correct_originals = int(has_correct_original.sum())
    followed = estimate_share(n_followed, n_correct_originals, resampling)

    # A revision is broken if its prediction is incorrect although that of the original is correct.
    is_broken = ~is_correct & ~items.is_original & has_correct_original[set_by_item]
    broken = []
    for revision in np.flatnonzero(is_broken).tolist():
        original = original_by_set[set_by_item[revision]]
        broken.append((int(items.rows[original]), int(items.rows[revision])))
    return ContrastMeasurement(
        items=items,
        result=result,
        figures={
            "original_accuracy": make_estimate(result.original_accuracy, result.original_interval),
            "contrast_accuracy": make_estimate(result.contrast_accuracy, result.contrast_interval),
            "contrast_consistency": make_estimate(result.contrast_consistency, result.interval),
            "contrast_followed": followed or Estimate(None),
        },
        counts={
            "original_accuracy": result.n_sets,
            "contrast_accuracy": result.n_contrasts,
            "contrast_consistency": result.n_sets,
            "contrast_followed": n_correct_originals,
        },
        broken=tuple(broken),
    )


def _choose_columns(
    columns: Sequence[str], groups_column: str | None, original_column: str | None
) -> tuple[str, str | None] | None:
    """Choose the column of the contrast sets of a table, and the column that marks their originals.

    Args:
        columns: Names of the columns of the table.
        groups_column: Column of the sets that the user named. If None, a usual one such as "pair_id".
        original_column: Column of the originals that the user named. If None, a usual one such as "role".

    Returns:
        Both columns, the second one None if the first item of each set is its original. None if the
        table has no contrast sets.

    Raises:
        ValueError: If a named column is missing, or if only the column of the originals is named and
            the table has no usual column of sets.
    """
    for column in (groups_column, original_column):
        if column and column not in columns:
            raise ValueError(
                f"Expected a column {column!r}, but the data has {', '.join(columns)}."
            )
    set_column = groups_column
    mark_column = original_column
    # The usual columns come in pairs, and complete what the user named.
    for usual_sets, usual_marks in USUAL_COLUMNS:
        has_pair = usual_sets in columns and usual_marks in columns
        # A later pair completes an earlier one, but does not change the column of the sets.
        if has_pair and set_column in (None, usual_sets):
            set_column = usual_sets
            mark_column = mark_column or usual_marks
    if original_column is not None and set_column is None:
        raise OptionError(
            f"Expected a column of contrast sets in addition to {original_column!r}, the column "
            "that marks the originals. Name the column of contrast sets with `groups_column`.",
            option="groups_column",
        )
    # The first item of each set is its original only if the user names the sets.
    if set_column is None or (groups_column is None and mark_column is None):
        return None
    return set_column, mark_column


def _read_marks(
    values: Sequence[Any], column: str, *, must_be_marks: bool
) -> NDArray[np.bool_] | None:
    """Parse a column that marks the originals of contrast sets.

    Args:
        values: N values: flags such as True, "no" or 1; or strings, one of which is "original".
        column: Name of the column. Flags of the column "mirrored" mark the revisions.
        must_be_marks: Whether other values are an error, because the user named the column.

    Returns:
        (N,) True for the originals. None if there are other values, and they are not an error.

    Raises:
        ValueError: If there are other values, and `must_be_marks`.
    """
    words = ["" if value is None else str(value).strip().lower() for value in values]
    # If "original" occurs, every other string marks a revision, such as "perturbed" or "negated".
    if ORIGINAL in words:
        return np.array([word == ORIGINAL for word in words])
    for value, word in zip(values, words, strict=True):
        if word not in FLAGS:
            if not must_be_marks:
                return None
            raise ValueError(
                f"Expected the column {column!r} to mark originals by true and false, or by the text "
                f"{ORIGINAL!r}, but it holds {value!r}."
            )
    flags = np.array([FLAGS[word] for word in words])
    if column == "mirrored":
        return ~flags
    return flags
