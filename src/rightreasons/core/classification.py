"""Measures of classification: accuracy, F1, and labels that a model contradicts.

`classification_scores` computes accuracy and F1 in any of four averages, `compute_macro_f1` the
macro F1 with its confidence interval, and `accuracy` the accuracy only. `label_errors` finds items
whose label is probably incorrect, by confident learning.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from rightreasons.core.arrays import Floats
from rightreasons.core.clusters import MAX_UNITS, count_numbered_units, number_clusters
from rightreasons.core.errors import OptionError
from rightreasons.core.intervals import ROUNDING_TOLERANCE, Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_count,
    check_labels,
    check_one_of,
    check_same_length,
    check_scores,
)

AVERAGES = ("binary", "macro", "micro", "weighted")

MAX_CLASSES = 10_000
"""Largest number of classes if it is inferred from the largest label."""

_MAX_DRAWN_CELLS = 2_000_000
"""Largest number of drawn cells that are held in memory at a time."""


# ------------------------------------------------------------------------------ accuracy and F1


@dataclasses.dataclass(frozen=True)
class ClassificationResult(Result):
    """Accuracy and F1. Fractions in [0, 1], higher is better.

    Attributes:
        accuracy: Share of correct predictions.
        f1: F1 in the requested average. None if no class that it averages occurs.
        average: "binary" (F1 of class 1), "macro", "micro" or "weighted".
        n_items: Number of items.
        class_f1: K values of F1. 0 for a class with items or predictions, but without a correct
            prediction. None for a class without items and predictions.
    """

    accuracy: float
    f1: float | None
    average: str
    n_items: int
    class_f1: tuple[float | None, ...]


def classification_scores(
    predictions: Any,
    references: Any,
    *,
    n_classes: int | None = None,
    average: str = "macro",
) -> ClassificationResult:
    r"""Compute accuracy and F1 of predicted classes.

    \[ F1_k = \frac{2\,TP_k}{2\,TP_k + FP_k + FN_k} \]

    Args:
        predictions: (N,) predicted classes.
        references: (N,) labels.
        n_classes: Number of classes K. Macro F1 is then the mean over all K classes, and a class
            that is neither a label nor predicted counts as 0, as with `labels=range(K)` in
            scikit-learn. If None (default), the mean is over the classes that occur among labels or
            predictions, as in scikit-learn without `labels`. K is then the largest of them plus
            one, and at least two.
        average: "binary" (F1 of class 1), "macro" (mean over the classes), "micro" (equal to
            accuracy, as each item has one label) or "weighted" (mean weighted by the number of
            items).

    Returns:
        Accuracy, F1, and the F1 of each class.

    Raises:
        TypeError: If classes are not whole numbers.
        ValueError: If a label is out of range, lengths differ, the input is empty, or the average
            does not apply.

    References:
        van Rijsbergen (1979), Information Retrieval, chapter 7.

    Example:
        >>> result = classification_scores([0, 1, 1, 1], [0, 0, 1, 1], average="binary")
        >>> result.accuracy, result.f1
        (0.75, 0.8)
    """
    check_one_of(average, AVERAGES, "average")
    pairs = _LabeledPredictions.parse(predictions, references, n_classes)
    if average == "binary" and pairs.n_classes != 2:
        raise OptionError(
            f"Expected two classes for average='binary', but got {pairs.n_classes}.",
            option="average",
        )

    is_correct = pairs.predictions == pairs.labels
    hits = pairs.count(pairs.labels[is_correct])
    n_labeled = pairs.count(pairs.labels)
    n_predicted = pairs.count(pairs.predictions)

    # 2 TP + FP + FN is the number of labels and predictions of a class. If it is 0, F1 is undefined;
    # the divisor 1 only avoids a division by 0.
    totals = n_labeled + n_predicted
    occurs = totals > 0
    f1 = 2 * hits / np.maximum(totals, 1)
    accuracy_of_items = float(is_correct.mean())

    averaged: float | None
    if average == "binary":
        averaged = float(f1[1]) if occurs[1] else None
    elif average == "macro":
        # A class that does not occur is averaged only if the user has counted it.
        is_averaged = occurs if n_classes is None else np.ones_like(occurs)
        averaged = float(f1[is_averaged].mean())
    elif average == "micro":
        # Each incorrect prediction is one false positive and one false negative.
        averaged = accuracy_of_items
    else:
        averaged = float((f1 * n_labeled).sum() / len(pairs.labels))
    class_f1: list[float | None] = f1.tolist()
    for k in np.flatnonzero(~occurs):
        class_f1[k] = None
    return ClassificationResult(
        accuracy=accuracy_of_items,
        f1=averaged,
        average=average,
        n_items=len(pairs.labels),
        class_f1=tuple(class_f1),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _LabeledPredictions:
    """Predicted classes and labels of N items.

    Attributes:
        predictions: (N,) predicted classes, below `n_classes`.
        labels: (N,) labels, below `n_classes`.
        n_classes: Number of classes K.
    """

    predictions: NDArray[np.int64]
    labels: NDArray[np.int64]
    n_classes: int

    @classmethod
    def parse(
        cls,
        predictions: Any,
        references: Any,
        n_classes: int | None = None,
    ) -> _LabeledPredictions:
        """Check predicted classes and labels.

        Args:
            predictions: (N,) predicted classes.
            references: (N,) labels.
            n_classes: Number of classes K. If None, the largest class that occurs determines it, at
                least 2 and at most `MAX_CLASSES`.
        """
        # Without a limit, one label of a billion would take gigabytes of counts.
        max_classes = MAX_CLASSES
        if n_classes is not None:
            max_classes = check_count(n_classes, "n_classes", minimum=2)
        predicted = check_labels(predictions, max_classes, name="predictions")
        labels = check_labels(references, max_classes, name="references")
        check_same_length(predictions=predicted, references=labels)

        if n_classes is None:
            largest_class = max(int(predicted.max()), int(labels.max()), 1)
            n_classes = largest_class + 1
        return cls(predictions=predicted, labels=labels, n_classes=n_classes)

    def count(self, classes: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return (K,) how often each class occurs."""
        return np.bincount(classes, minlength=self.n_classes)


def accuracy(predictions: Any, references: Any) -> float:
    """Compute the share of items whose predicted class is the label.

    Args:
        predictions: (N,) predicted classes.
        references: (N,) labels.

    Returns:
        The accuracy, in [0, 1]; higher is better.

    Raises:
        TypeError: If classes are not whole numbers.
        ValueError: If a label is negative, lengths differ, or the input is empty.

    Example:
        >>> accuracy([0, 1, 1, 1], [0, 0, 1, 1])
        0.75
    """
    predicted = check_labels(predictions, name="predictions")
    labels = check_labels(references, name="references")
    check_same_length(predictions=predicted, references=labels)
    return float(np.mean(predicted == labels))


# ----------------------------------------------------------------------- interval of the macro F1


def compute_macro_f1(
    predicted: NDArray[Any],
    labels: NDArray[Any],
    resampling: Resampling,
    clusters: Any = None,
) -> tuple[float, Interval]:
    r"""Compute the macro F1 and its confidence interval.

    The interval is the union of two intervals that are too narrow in different cases. The
    bias-corrected bootstrap draws tables from the counts \(n_{ij}\) of labels and predictions, and
    removes the bias that the mean F1 of many small classes has. But a class with two items, both
    correct, is correct in every resample. In draws from the posterior, that class may be incorrect:
    the prior is one item per class, half of it correct and half incorrect, which is Jeffreys' prior
    of a share. But with many classes, the posterior is pulled towards the prior.

    The F1 is averaged over the classes that occur in the data. If a resample lacks one of them, its
    F1 is 0 there.

    Args:
        predicted: (N,) predicted classes, whole numbers from 0.
        labels: (N,) labels.
        resampling: Confidence level, number of resamples, and seed.
        clusters: (N,) cluster names. Whole clusters are resampled, and the posterior is that of as
            many items as there are clusters. If None, the items are independent.

    Returns:
        The macro F1, and its interval inside [0, 1], which includes it.

    References:
        Efron (1981), Nonparametric Standard Errors and Confidence Intervals; Goutte, Gaussier
        (2005), A Probabilistic Interpretation of Precision, Recall and F-Score.

    Example:
        Class 1 has two items, and all predictions are correct.

        >>> labels = np.array([0] * 40 + [1, 1])
        >>> _, interval = compute_macro_f1(labels, labels, Resampling())
        >>> interval.low < 0.8, interval.high
        (True, 1.0)
    """
    n_items = len(labels)
    codes = number_clusters(clusters, n_items)
    n_units = count_numbered_units(codes, n_items)
    cells = _ConfusionCells.from_items(predicted, labels)
    value = float(cells.compute_mean_f1(cells.counts[None, :])[0])

    # The order of the two simulations is fixed, because they share a generator.
    rng = np.random.default_rng(resampling.seed)
    blocks = resampling.split_into_blocks(len(cells.counts), max_numbers=_MAX_DRAWN_CELLS)
    resamples = _resample_macro_f1(cells, codes, n_units, rng, blocks)
    # With clusters, the posterior is that of as many items as there are clusters.
    weights = cells.counts * n_units / n_items + cells.prior
    posterior = _draw_posterior_macro_f1(cells, weights, rng, blocks)

    tails = np.array([1.0 - resampling.level, 1.0 + resampling.level]) / 2
    corrected_low, corrected_high = _correct_for_bias(value, resamples, tails)
    posterior_low, posterior_high = np.quantile(posterior, tails)
    interval = Interval(
        low=float(min(value, corrected_low, posterior_low)),
        high=float(max(value, corrected_high, posterior_high)),
        confidence_level=resampling.level,
        method="bias-corrected bootstrap, joined with the posterior under Jeffreys' prior",
        n_resamples=len(resamples),
    )
    return value, interval


@dataclasses.dataclass(frozen=True, eq=False)
class _ConfusionCells:
    """The cells of a confusion matrix that hold items, or weight of the prior.

    Of many classes, nearly all cells are empty: they are left out.

    Attributes:
        cell_of_item: (N,) cell of each item.
        counts: (C,) number of items in each cell.
        prior: (C,) weight of the prior in each cell.
        hits: (K,) cell of the correct predictions of each class that occurs.
        membership: (C, K) sparse matrix of how often a cell counts for a class: once as its label
            and once as its prediction.
    """

    cell_of_item: NDArray[np.intp]
    counts: NDArray[np.intp]
    prior: Floats
    hits: NDArray[np.intp]
    membership: sparse.csr_array

    @classmethod
    def from_items(cls, predicted: NDArray[Any], labels: NDArray[Any]) -> _ConfusionCells:
        """Count the items in the cells of the confusion matrix of the classes that occur.

        Args:
            predicted: (N,) predicted classes, whole numbers from 0.
            labels: (N,) labels.
        """
        n_items = len(labels)
        occurring, class_of_value = _number_values(np.concatenate((labels, predicted)))
        label_class = class_of_value[:n_items]
        predicted_class = class_of_value[n_items:]
        n_classes = len(occurring)
        # If only one class occurs, a second one is added, because the prior needs an incorrect class.
        size = max(n_classes, 2)
        # The cells (label, prediction) of the matrix are numbered row by row.
        item_cells = label_class * size + predicted_class

        # The prior of a class adds half an item to its diagonal cell, and half an item to the next
        # cell of its row.
        classes = np.arange(n_classes)
        hit_cells = classes * size + classes
        miss_cells = classes * size + (classes + 1) % size
        all_cells = np.concatenate((item_cells, hit_cells, miss_cells))
        cells, positions = _number_values(all_cells)
        n_cells = len(cells)
        counts = np.bincount(positions[:n_items], minlength=n_cells)
        prior = np.bincount(positions[n_items:], minlength=n_cells) / 2

        # Each cell counts for the class of its row and for that of its column. A diagonal cell
        # counts twice for its class, because equal entries of a sparse matrix add up.
        row_classes, column_classes = np.divmod(cells, size)
        entry_classes = np.concatenate((row_classes, column_classes))
        entry_cells = np.tile(np.arange(n_cells), 2)
        ones = np.ones(2 * n_cells)
        membership = sparse.csr_array((ones, (entry_cells, entry_classes)))
        return cls(
            cell_of_item=positions[:n_items],
            counts=counts,
            prior=prior,
            hits=np.searchsorted(cells, hit_cells),
            membership=membership[:, :n_classes],
        )

    def compute_mean_f1(self, tables: NDArray[Any]) -> Floats:
        """Compute the macro F1 of several confusion matrices.

        Args:
            tables: (R, C) counts of the C cells in R confusion matrices; they need not be whole.

        Returns:
            (R,) mean F1 over the classes. A class without counts has the F1 0.
        """
        # 2 TP + FP + FN of each class: the counts of its row and of its column.
        totals = tables @ self.membership
        divisors = np.where(totals > 0, totals, 1)
        f1 = 2 * tables[:, self.hits] / divisors
        return np.asarray(f1.mean(axis=1))


def _number_values(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted distinct values, and the rank of each value among them.

    The result is that of `np.unique(values, return_inverse=True)`.

    Args:
        values: (N,) values.

    Returns:
        (D,) distinct values, and (N,) ranks from 0 to D - 1.
    """
    is_small = values.dtype.kind in "iu" and len(values) and values.min() >= 0
    if not is_small or values.max() > len(values):
        return np.unique(values, return_inverse=True)
    # For small whole numbers, counting is far faster than sorting.
    is_present = np.bincount(values) > 0
    rank_by_value = np.cumsum(is_present) - 1
    return np.flatnonzero(is_present), rank_by_value[values]


def _resample_macro_f1(
    cells: _ConfusionCells,
    codes: NDArray[np.intp] | None,
    n_units: int,
    rng: np.random.Generator,
    blocks: list[int],
) -> Floats:
    """Return the macro F1 of bootstrap resamples of items or clusters.

    Args:
        cells: Confusion matrix of the items.
        codes: (N,) number of the cluster of each item; None to resample single items.
        n_units: Number of clusters, or of items.
        rng: Generator of the resamples.
        blocks: Numbers of resamples that are made at once, whose sum is R.

    Returns:
        (R,) macro F1.
    """
    if codes is None:
        return _resample_items(cells, n_units, rng, blocks)
    return _resample_clusters(cells, codes, n_units, rng, blocks)


def _resample_items(
    cells: _ConfusionCells, n_items: int, rng: np.random.Generator, blocks: list[int]
) -> Floats:
    """Return the macro F1 of bootstrap resamples of independent items.

    Args:
        cells: Confusion matrix of the items.
        n_items: Number of items.
        rng: Generator of the resamples.
        blocks: Numbers of resamples that are made at once, whose sum is R.

    Returns:
        (R,) macro F1.
    """
    # Drawing items with replacement is a multinomial draw of their cells.
    shares = cells.counts / n_items
    figures = []
    for n_resamples in blocks:
        counts = rng.multinomial(n_items, shares, size=n_resamples)
        figures.append(cells.compute_mean_f1(counts))
    return np.concatenate(figures)


def _resample_clusters(
    cells: _ConfusionCells,
    codes: NDArray[np.intp],
    n_units: int,
    rng: np.random.Generator,
    blocks: list[int],
) -> Floats:
    """Return the macro F1 of bootstrap resamples of whole clusters.

    Args:
        cells: Confusion matrix of the items.
        codes: (N,) number of the cluster of each item.
        n_units: Number of clusters. More than `MAX_UNITS` are put into random groups first.
        rng: Generator of the resamples.
        blocks: Numbers of resamples that are made at once, whose sum is R.

    Returns:
        (R,) macro F1.
    """
    n_drawn = n_units
    if n_units > MAX_UNITS:
        codes = rng.integers(MAX_UNITS, size=n_units)[codes]
        n_drawn = MAX_UNITS
    # Entry (u, c) is the number of items of cluster u in cell c: a one per item, which add up.
    ones = np.ones(len(codes))
    counts_by_unit = sparse.csr_array(
        (ones, (codes, cells.cell_of_item)), shape=(n_drawn, len(cells.counts))
    )
    shares = np.full(n_drawn, 1 / n_drawn)
    figures = []
    for n_resamples in blocks:
        # (n_resamples, n_drawn) how often each cluster is drawn.
        copies = rng.multinomial(n_drawn, shares, size=n_resamples)
        counts = np.asarray(copies @ counts_by_unit)
        figures.append(cells.compute_mean_f1(counts))
    return np.concatenate(figures)


def _draw_posterior_macro_f1(
    cells: _ConfusionCells,
    weights: Floats,
    rng: np.random.Generator,
    blocks: list[int],
) -> Floats:
    """Return the macro F1 of confusion matrices drawn from a Dirichlet posterior.

    Args:
        cells: The C cells of the confusion matrix.
        weights: (C,) parameters of the Dirichlet distribution: counts plus prior.
        rng: Generator of the draws.
        blocks: Numbers of draws that are made at once, whose sum is R.

    Returns:
        (R,) macro F1.
    """
    figures = []
    for n_draws in blocks:
        # A Dirichlet draw is a set of gamma draws divided by their sum, which cancels in F1.
        table = rng.standard_gamma(weights, size=(n_draws, len(weights)))
        figures.append(cells.compute_mean_f1(table))
    return np.concatenate(figures)


def _correct_for_bias(
    value: float,
    resamples: Floats,
    tails: Floats,
) -> Floats:
    """Compute the ends of a bias-corrected percentile interval (Efron 1981).

    Args:
        value: The figure.
        resamples: (R,) values of the figure in resamples.
        tails: (2,) levels of the ends without a bias, such as 0.025 and 0.975.

    Returns:
        (2,) lower and upper end.
    """
    # The share of resamples below the figure; ties, also by rounding, count by half.
    share_below = np.mean(resamples < value - ROUNDING_TOLERANCE)
    share_up_to = np.mean(resamples <= value + ROUNDING_TOLERANCE)
    share = share_below / 2 + share_up_to / 2

    # A share of 0 or 1 would have an infinite quantile.
    margin = 1 / (len(resamples) + 1)
    shift = 2 * special.ndtri(np.clip(share, margin, 1 - margin))
    shifted_tails = special.ndtr(shift + special.ndtri(tails))
    return np.asarray(np.quantile(resamples, shifted_tails))


# ------------------------------------------------------------------------------ label errors


def label_errors(probabilities: Any, labels: Any) -> NDArray[np.int64]:
    r"""Find the labels that a model contradicts, by confident learning.

    The usual confidence in class j is its mean probability over the items labeled j,
    \(t_j = |X_j|^{-1} \sum_{x \in X_j} p_j(x)\). Among the classes with \(p_j(x) \ge t_j\), an item
    is confidently of the class with the largest probability. If that class is not its label, the
    label is contradicted: these are the items off the diagonal of the confident joint.

    The model must not have been trained on the items. A contradicted label is either incorrect
    itself, or the model is: a model that relies on a shortcut contradicts correct labels of items
    on which the shortcut fails.

    Args:
        probabilities: (N, K) probabilities, with rows that sum to 1.
        labels: (N,) labels from 0 to K - 1.

    Returns:
        Rows of the contradicted labels, sorted by the probability of the label, lowest first.

    Raises:
        ValueError: If the shapes do not fit, or the rows are not probabilities.

    References:
        Northcutt, Jiang & Chuang (2021), Confident learning: estimating uncertainty in dataset
        labels, equations 1-2.

    Example:
        >>> label_errors([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.95, 0.05]], [0, 0, 1, 1])
        array([3])
    """
    table = check_scores(probabilities, name="probabilities", allow_vector=False)
    n_classes = table.shape[1]
    classes = check_labels(labels, n_classes, name="labels")
    check_same_length(probabilities=table, labels=classes)

    probability_of_label = table[np.arange(len(classes)), classes]
    sums = np.bincount(classes, probability_of_label, minlength=n_classes)
    counts = np.bincount(classes, minlength=n_classes)
    # A class without items has the threshold NaN, which no probability reaches.
    with np.errstate(invalid="ignore"):
        thresholds = sums / counts

    # Classes below their threshold get -1, which is less than every probability.
    confident = np.where(table >= thresholds, table, -1.0)
    has_class = confident.max(axis=1) >= 0
    is_contradicted = has_class & (confident.argmax(axis=1) != classes)
    rows = np.flatnonzero(is_contradicted)
    order = np.argsort(probability_of_label[rows], kind="stable")
    return np.asarray(rows[order])


def find_disputed_labels(probabilities: Floats, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the labels that confident learning contradicts, and that the model does not predict.

    Args:
        probabilities: (N, K) probabilities.
        labels: (N,) labels from 0 to K - 1.

    Returns:
        Rows of the labels, sorted by the probability of the label, lowest first.
    """
    rows = label_errors(probabilities, labels)
    # A label that the model predicts is not in dispute, even if another class seems likely.
    is_error = probabilities.argmax(axis=1)[rows] != labels[rows]
    return np.asarray(rows[is_error])
