"""Contrast sets, whose revisions should change an answer, and substitutions, which should not, by a model's answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import describe_kind
from rightreasons.core.errors import OptionError
from rightreasons.core.estimates import Estimate, estimate_share, make_estimate
from rightreasons.core.intervals import Interval, cluster_wilson, wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_flags, check_labels, check_same_length, check_texts

if TYPE_CHECKING:
    import datasets


@dataclasses.dataclass(frozen=True)
class ContrastConsistency(Result):
    """How a model does on contrast sets; see `contrast_consistency`. Fractions in [0, 1], higher is better.

    Attributes:
        contrast_consistency: Share of the contrast sets whose items, the original included, are all predicted right.
        interval: Wilson interval of it over sets.
        original_accuracy: Share of the originals that are predicted right.
        original_interval: Wilson interval of it over originals, of which each set has one.
        contrast_accuracy: Share of the perturbed items that are predicted right.
        contrast_interval: Interval of it with sets as clusters; see `rightreasons.core.intervals.cluster_wilson`.
        n_sets: Number of contrast sets.
        n_contrasts: Number of perturbed items.
        sets: The names of the sets, in the order of their first items.
        consistent: For each of them, whether all of its items are right; `mcnemar` compares two models by it.
    """

    contrast_consistency: float
    interval: Interval
    original_accuracy: float
    original_interval: Interval
    contrast_accuracy: float
    contrast_interval: Interval
    n_sets: int
    n_contrasts: int
    sets: list[str]
    consistent: list[bool]


def contrast_consistency(
    predictions: Any,
    references: Any,
    groups: Any,
    is_original: Any = None,
    *,
    confidence_level: float = 0.95,
) -> ContrastConsistency:
    r"""Measure whether a model is right throughout contrast sets, and on their originals and perturbed items.

    A contrast set is an original item with revisions of it that are small and usually change its label. With
    \(r_{gj} = 1\) where item j of set g is predicted right, item 0 being the original, \(m_g\) perturbed items in
    set g, and G sets,

    \[ \text{consistency} = \frac1G \sum_g \prod_{j=0}^{m_g} r_{gj}, \quad
       \text{accuracy} = \frac1G \sum_g r_{g0}, \quad
       \text{contrast accuracy} = \frac{\sum_g \sum_{j=1}^{m_g} r_{gj}}{\sum_g m_g}. \]

    Sets are the units of all intervals, and none has width zero. They are closed forms, so nothing is resampled. In
    simulations with 25 to 150 sets of 1, 2 or 4 perturbed items, the interval of the contrast accuracy covered 0.90 to
    0.97 at 0.95, from independent items to a correlation of 0.8 within sets.

    Args:
        predictions: (N,) predicted classes.
        references: (N,) labels.
        groups: (N,) names of the contrast sets, texts or whole numbers; the items of a set need not be neighbors.
        is_original: (N,) True for the one original of each set. By default it is the first item of each set.
        confidence_level: Level of the intervals; default 0.95.

    Returns:
        A `ContrastConsistency`.

    Raises:
        TypeError: If a column is of the wrong kind, such as predicted classes that are texts.
        ValueError: If columns differ in length, a label is no class, or a set has one item only, no original or two.

    References:
        Gardner et al. (2020), "Evaluating Models' Local Decision Boundaries via Contrast Sets", Findings of
        EMNLP.

    Example:
        Set "a" is right throughout; "b" has one of its two perturbed items wrong: consistency 1/2, accuracy 2/2,
        contrast accuracy 2/3.

        >>> result = contrast_consistency([0, 1, 1, 0, 1], [0, 1, 1, 0, 0], ["a", "a", "b", "b", "b"])
        >>> result.contrast_consistency, result.original_accuracy, round(result.contrast_accuracy, 4)
        (0.5, 1.0, 0.6667)
        >>> result.sets, result.consistent
        (['a', 'b'], [True, False])
    """
    predicted, labels = check_labels(predictions, name="predictions"), check_labels(references)
    check_same_length(predictions=predicted, references=labels)
    right, names = np.asarray(predicted == labels), set_names(groups)
    check_same_length(predictions=right, groups=names)
    codes: dict[str, int] = {}
    rows = np.array([codes.setdefault(name, len(codes)) for name in names], dtype=np.int64)
    sets = list(codes)
    sizes = np.bincount(rows)
    if sizes.min() < 2:
        raise ValueError(
            "Expected an original and at least one perturbed item in each contrast set, but set "
            f"{sets[int(sizes.argmin())]!r} has one item."
        )
    original = _originals(is_original, rows, sets)
    right_originals = int(np.count_nonzero(right & original))
    right_contrasts = np.bincount(rows, weights=right & ~original)
    consistent = np.bincount(rows, weights=right) == sizes
    n_consistent, n_contrasts = int(np.count_nonzero(consistent)), len(rows) - len(sets)
    if (sizes == 2).all():  # one perturbed item in each set: the items are independent
        contrast_interval = wilson(
            int(right_contrasts.sum()), n_contrasts, confidence_level=confidence_level
        )
    else:
        contrast_interval = cluster_wilson(
            right_contrasts, sizes - 1, confidence_level=confidence_level
        )
    return ContrastConsistency(
        contrast_consistency=n_consistent / len(sets),
        interval=wilson(n_consistent, len(sets), confidence_level=confidence_level),
        original_accuracy=right_originals / len(sets),
        original_interval=wilson(right_originals, len(sets), confidence_level=confidence_level),
        contrast_accuracy=float(right_contrasts.sum() / n_contrasts),
        contrast_interval=contrast_interval,
        n_sets=len(sets),
        n_contrasts=n_contrasts,
        sets=sets,
        consistent=consistent.tolist(),
    )


def set_names(groups: Any) -> list[str]:
    """Check the names of the contrast sets, (N,) texts or whole numbers, and return them as texts.

    Example:
        >>> set_names([7, 7, 12])
        ['7', '7', '12']
    """
    if isinstance(groups, (str, bytes, Mapping, Set)) or not isinstance(groups, Iterable):
        raise TypeError(
            f"Expected `groups` to be a sequence of names, but got {describe_kind(groups)}."
        )
    names = groups.tolist() if hasattr(groups, "tolist") else list(groups)
    if names and all(
        isinstance(name, (int, np.integer)) and not isinstance(name, bool) for name in names
    ):
        return [str(name) for name in names]
    return check_texts(names, "groups")


def _originals(is_original: Any, rows: NDArray[np.int64], sets: list[str]) -> NDArray[np.bool_]:
    """Return which items are originals: the flags, of which each set must have one, or the first item of each set."""
    if is_original is None:
        flags = np.zeros(len(rows), dtype=np.bool_)
        flags[np.unique(rows, return_index=True)[1]] = True
        return flags
    flags = check_flags(is_original, "is_original")
    check_same_length(predictions=rows, is_original=flags)
    counts = np.bincount(rows, weights=flags)
    wrong = np.flatnonzero(counts != 1)
    if wrong.size:
        first = int(wrong[0])
        raise ValueError(
            f"Expected one original in each contrast set, but set {sets[first]!r} has {int(counts[first]) or 'none'}."
        )
    return flags


# ------------------------------------------------- The contrast sets of a data set, and how a model does on them

USUAL = (("pair_id", "role"), ("pair_id", "is_original"), ("source_id", "mirrored"))
"""The columns of sets and of their originals that are looked for where none is named."""

ORIGINAL = "original"
"""What a column of texts says of an original."""

FLAGS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


@dataclasses.dataclass(frozen=True, eq=False)
class ContrastItems:
    """The contrast sets of a table: originals with their revisions.

    Attributes:
        rows: (n,) rows of the table that belong to a set, ascending.
        groups: (n,) names of the sets.
        is_original: (n,) True for the one original of each set.
        n_left_out: Sets that are left out, as an item of theirs has no label, or they have no one original, or no
            revision.
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
            ValueError: If a column is missing or marks no originals, or if a named column holds no set.

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
                raise ValueError(
                    f"Expected a column {column!r}, but the data has {', '.join(table.column_names)}."
                )
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
        groups = np.array(
            ["" if name is None else str(name) for name in table[names][:]], dtype=np.str_
        )
        check_same_length(labels=labels, groups=groups)
        _, first, codes = np.unique(groups, return_index=True, return_inverse=True)
        in_set = groups != ""
        is_first = np.isin(np.arange(len(groups)), first)
        original = is_first if marks is None else _flags(table[marks][:], marks, named)
        if original is None:
            return None
        counts = np.bincount(codes, weights=original & in_set)
        whole = (
            (counts == 1) & (np.bincount(codes) > 1) & (np.bincount(codes, weights=labels < 0) == 0)
        )
        if not whole.any() and not named:
            return None
        if not whole.any():
            raise ValueError(
                f"Expected contrast sets in the column {names!r}, one original and at least one revision with "
                f"labels each, but none of its {len(first):,} values names one."
            )
        rows = np.flatnonzero(whole[codes])
        n_sets = int(np.count_nonzero(np.bincount(codes, weights=in_set)))
        return cls(rows, groups[rows], original[rows], n_sets - int(np.count_nonzero(whole)))


@dataclasses.dataclass(frozen=True, eq=False)
class ContrastMeasurement:
    """How a model does on contrast sets.

    Attributes:
        items: The sets.
        result: What the kernel says of them.
        figures: The figures with their intervals, by key in the order of the report.
        counts: Number of items or sets that each figure is a share of.
        broken: Rows of the table, (original, revision), where the original is predicted right and the revision is not.
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
    """Measure whether a model is right on items and on their small revisions.

    Args:
        items: The contrast sets of a table of N rows.
        predicted: (N,) predicted classes, or choices.
        labels: (N,) labels.
        resampling: Level of the intervals, which are closed forms with sets as units.

    Returns:
        The figures of `contrast_consistency` with their intervals.

    References:
        Gardner et al. (2020), "Evaluating Models' Local Decision Boundaries via Contrast Sets".

    Example:
        Of two pairs, the first is right throughout, and the second is answered 1 twice where 1 and 0 are right.

        >>> pairs = ContrastItems(np.arange(4), np.array(["a", "a", "b", "b"]), np.array([True, False] * 2))
        >>> measured = measure_contrast_sets(pairs, np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]))
        >>> {key: estimate.value for key, estimate in measured.figures.items()}
        {'original_accuracy': 1.0, 'contrast_accuracy': 0.5, 'contrast_consistency': 0.5, 'contrast_followed': 0.5}
        >>> measured.broken
        ((2, 3),)
    """
    answers, truth, original = predicted[items.rows], labels[items.rows], items.is_original
    result = contrast_consistency(
        answers, truth, items.groups, original, confidence_level=resampling.level
    )
    codes = np.unique(items.groups, return_inverse=True)[1]
    right = answers == truth
    of_set = np.flatnonzero(original)[np.argsort(codes[original])]  # the original of each set
    first = right[of_set]
    n_followed = int((first & (np.bincount(codes, weights=~right) == 0)).sum())
    wrong = np.flatnonzero(~right & ~original & first[codes])
    counts = dict.fromkeys(
        ("original_accuracy", "contrast_accuracy", "contrast_consistency"), result.n_sets
    )
    counts |= {"contrast_accuracy": result.n_contrasts, "contrast_followed": int(first.sum())}
    followed = estimate_share(n_followed, counts["contrast_followed"], resampling)
    return ContrastMeasurement(
        items=items,
        result=result,
        figures={
            "original_accuracy": make_estimate(result.original_accuracy, result.original_interval),
            "contrast_accuracy": make_estimate(result.contrast_accuracy, result.contrast_interval),
            "contrast_consistency": make_estimate(result.contrast_consistency, result.interval),
            "contrast_followed": followed or Estimate(None),
        },
        counts=counts,
        broken=tuple(
            (int(items.rows[of_set[codes[place]]]), int(items.rows[place]))
            for place in wrong.tolist()
        ),
    )


def _flags(values: list[Any], column: str, named: bool) -> NDArray[np.bool_] | None:
    """Read which items a column marks as originals (`mirrored` marks the others); None where it says another thing."""
    words = ["" if value is None else str(value).strip().lower() for value in values]
    if ORIGINAL in words:
        return np.array([word == ORIGINAL for word in words])
    unknown = next(
        (value for value, word in zip(values, words, strict=True) if word not in FLAGS), None
    )
    if unknown is not None:
        if not named:
            return None
        raise ValueError(
            f"Expected the column {column!r} to mark originals by true and false, or by the text {ORIGINAL!r}, but it "
            f"holds {unknown!r}."
        )
    flags = np.array([FLAGS[word] for word in words])
    return ~flags if column == "mirrored" else flags
