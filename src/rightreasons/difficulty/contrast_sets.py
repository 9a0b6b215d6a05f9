"""Contrast sets of a data set, and how a model does on them: right on an item and on its small revisions?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Result
from rightreasons.core.errors import OptionError
from rightreasons.core.intervals import Estimate, estimate_of, share
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import check_same_length
from rightreasons.difficulty.contrast import ContrastConsistency, contrast_consistency

if TYPE_CHECKING:
    import datasets


USUAL = (("pair_id", "role"), ("pair_id", "is_original"), ("source_id", "mirrored"))
"""The columns of sets and of their originals that are looked for where none is named."""

ORIGINAL = "original"
"""What a column of texts says of an original."""

OUTCOMES = ("all right", "only the original right", "only the revisions right", "neither right")
"""How a set can come out, where its revisions are right if all of them are."""

FLAGS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


@dataclasses.dataclass(frozen=True, eq=False)
class ContrastItems:
    """The contrast sets of a table: originals with their revisions.

    Attributes:
        rows: (n,) rows of the table that belong to a set, ascending.
        groups: (n,) names of the sets.
        is_original: (n,) True for the one original of each set.
        n_left_out: Sets that are left out, as an item of theirs has no label, or the original or all revisions are
            missing.
    """

    rows: NDArray[np.int64]
    groups: NDArray[np.str_]
    is_original: NDArray[np.bool_]
    n_left_out: int = 0

    @classmethod
    def of(
        cls,
        table: datasets.Dataset,
        labels: NDArray[np.int64],
        groups_column: str | None = None,
        original_column: str | None = None,
    ) -> ContrastItems | None:
        """Find the contrast sets of a table.

        Args:
            table: N rows.
            labels: (N,) their labels, -1 for none.
            groups_column: The column that names the set of each item, empty for items of none; None for `pair_id` or
                `source_id`.
            original_column: The column that marks the original of each set, by flags or by the text "original"; None
                for `role`, `is_original` or `mirrored`, or, where `groups_column` is named, the first item of each set.

        Returns:
            The sets; None where no column is named and none of the usual ones are there, or they hold no set.

        Raises:
            ValueError: If a column is missing, marks no originals, or marks two of a set, or if a named column holds
                no set.

        Example:
            >>> import datasets
            >>> table = datasets.Dataset.from_dict(
            ...     {"pair_id": ["a", "a", "b", "b", "c"], "role": ["perturbed", "original"] * 2 + ["original"]}
            ... )
            >>> items = ContrastItems.of(table, np.array([0, 1, 1, -1, 0]))
            >>> items.rows.tolist(), items.groups.tolist(), items.is_original.tolist(), items.n_left_out
            ([0, 1], ['a', 'a'], [False, True], 2)
        """
        for column in filter(None, (groups_column, original_column)):
            if column not in table.column_names:
                raise ValueError(f"Expected a column {column!r}, but the data has {', '.join(table.column_names)}.")
        names, marks, named = groups_column, original_column, bool(groups_column or original_column)
        for usual, flag in USUAL:
            if {usual, flag} <= set(table.column_names) and names in (None, usual):
                names, marks = usual, marks or flag
        if original_column is not None and names is None:
            raise OptionError(
                f"Expected the column of the contrast sets beside {original_column!r}, the column of their originals: "
                "name it with `groups_column`.",
                option="groups_column",
            )
        if names is None or (groups_column is None and marks is None):
            return None
        groups = np.array(["" if name is None else str(name) for name in table[names][:]], dtype=np.str_)
        check_same_length(labels=labels, groups=groups)
        _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
        in_set = groups != ""
        is_first = np.isin(np.arange(len(groups)), first)
        original = is_first if marks is None else _flags(table[marks][:], marks, named)
        if original is None:
            return None
        counts = np.bincount(codes, weights=original & in_set)
        if named and (counts > 1).any():
            name = str(groups[first[int(np.argmax(counts))]])
            raise ValueError(
                f"Expected one original in each contrast set of the column {names!r}, but {marks!r} marks "
                f"{int(counts.max())} of the set {name!r}."
            )
        whole = (counts == 1) & (np.bincount(codes) > 1) & (np.bincount(codes, weights=labels < 0) == 0)
        if not whole.any() and not named:
            return None
        if not whole.any():
            raise ValueError(
                f"Expected contrast sets in the column {names!r}, an original and at least one revision with "
                f"labels each, but none of its {len(first):,} values names one."
            )
        rows = np.flatnonzero(whole[codes])
        n_sets = int(np.count_nonzero(np.bincount(codes, weights=in_set)))
        return cls(rows, groups[rows], original[rows], n_sets - int(np.count_nonzero(whole)))


@dataclasses.dataclass(frozen=True)
class ContrastOutcome(Result):
    """The contrast sets on which a model does alike.

    Attributes:
        name: One of `OUTCOMES`.
        n_sets: Number of sets.
        share: Their share of all sets, with its Wilson interval.
        n_same_answer: Sets of these in which the model gives one answer to every item.
    """

    name: str
    n_sets: int
    share: Estimate
    n_same_answer: int


@dataclasses.dataclass(frozen=True, eq=False)
class ContrastMeasurement:
    """How a model does on contrast sets.

    Attributes:
        items: The sets.
        result: What the kernel says of them.
        figures: The figures with their intervals, by key in the order of the report.
        outcomes: The four ways in which a set can come out; every set is in one of them.
        broken: Rows of the table, (original, revision), where the original is predicted right and the revision is not.
    """

    items: ContrastItems
    result: ContrastConsistency
    figures: Mapping[str, Estimate]
    outcomes: tuple[ContrastOutcome, ...]
    broken: tuple[tuple[int, int], ...]

    @property
    def counts(self) -> dict[str, int]:
        """Number of items or sets that each figure is a share of."""
        counts = dict.fromkeys(self.figures, self.result.n_sets)
        n_right = sum(outcome.n_sets for outcome in self.outcomes[:2])
        return {**counts, "contrast_accuracy": self.result.n_contrasts, "contrast_followed": n_right}

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the rows as plain values."""
        return {
            **self.result.to_dict(),
            "n_left_out": self.items.n_left_out,
            "outcomes": [outcome.to_dict() for outcome in self.outcomes],
        }


def measure_contrast_sets(
    items: ContrastItems, predicted: NDArray[Any], labels: NDArray[np.int64], *, resampling: Resampling = Resampling()
) -> ContrastMeasurement:
    """Measure whether a model is right on items and on their small revisions.

    Args:
        items: The contrast sets of a table of N rows.
        predicted: (N,) predicted classes, or choices.
        labels: (N,) labels.
        resampling: Level of the intervals, which are closed forms with sets as units.

    Returns:
        The figures of `contrast_consistency` with their intervals, and how the sets come out.

    References:
        Gardner et al. (2020), "Evaluating Models' Local Decision Boundaries via Contrast Sets".

    Example:
        Of two pairs, the first is right throughout, and the second is answered 1 twice where 1 and 0 are right.

        >>> pairs = ContrastItems(np.arange(4), np.array(["a", "a", "b", "b"]), np.array([True, False] * 2))
        >>> measured = measure_contrast_sets(pairs, np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]))
        >>> {key: estimate.value for key, estimate in measured.figures.items()}
        {'original_accuracy': 1.0, 'contrast_accuracy': 0.5, 'contrast_consistency': 0.5, 'contrast_followed': 0.5}
        >>> [(outcome.name, outcome.n_sets, outcome.n_same_answer) for outcome in measured.outcomes[:2]]
        [('all right', 1, 0), ('only the original right', 1, 1)]
        >>> measured.broken
        ((2, 3),)
    """
    answers, truth, original = predicted[items.rows], labels[items.rows], items.is_original
    result = contrast_consistency(answers, truth, items.groups, original, confidence_level=resampling.level)
    codes = np.unique(items.groups, return_inverse=True)[1]
    right = answers == truth
    of_set = np.flatnonzero(original)[np.argsort(codes[original])]  # the original of each set
    first = right[of_set]
    others = np.bincount(codes, weights=~right & ~original) == 0
    same = np.bincount(codes, weights=answers != answers[of_set][codes]) == 0
    masks = (first & others, first & ~others, ~first & others, ~first & ~others)
    outcomes = [
        ContrastOutcome(name, int(mask.sum()), _share(mask.sum(), len(first), resampling), int((mask & same).sum()))
        for name, mask in zip(OUTCOMES, masks, strict=True)
    ]
    wrong = np.flatnonzero(~right & ~original & first[codes])
    return ContrastMeasurement(
        items=items,
        result=result,
        figures={
            "original_accuracy": estimate_of(result.original_accuracy, result.original_interval),
            "contrast_accuracy": estimate_of(result.contrast_accuracy, result.contrast_interval),
            "contrast_consistency": estimate_of(result.contrast_consistency, result.interval),
            "contrast_followed": _share(outcomes[0].n_sets, first.sum(), resampling),
        },
        outcomes=tuple(outcomes),
        broken=tuple((int(items.rows[of_set[codes[place]]]), int(items.rows[place])) for place in wrong.tolist()),
    )


def _share(hits: int, n_items: int, resampling: Resampling) -> Estimate:
    return share(int(hits), int(n_items), resampling) or Estimate(None)


def _flags(values: list[Any], column: str, named: bool) -> NDArray[np.bool_] | None:
    """Read which items a column marks as originals (`mirrored` marks the others); None where it says another thing."""
    words = ["" if value is None else str(value).strip().lower() for value in values]
    if ORIGINAL in words:
        return np.array([word == ORIGINAL for word in words])
    unknown = next((value for value, word in zip(values, words, strict=True) if word not in FLAGS), None)
    if unknown is not None:
        if not named:
            return None
        raise ValueError(
            f"Expected the column {column!r} to mark originals by true and false, or by the text {ORIGINAL!r}, but it "
            f"holds {unknown!r}."
        )
    flags = np.array([FLAGS[word] for word in words])
    return ~flags if column == "mirrored" else flags
