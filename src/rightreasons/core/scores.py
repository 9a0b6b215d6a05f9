"""What a model said about the items of a dataset, its accuracy and F1, and labels that it contradicts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from rightreasons.core.arrays import LazyArrowColumn, Ragged, take_rows
from rightreasons.core.clusters import MAX_UNITS, number_clusters
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import (
    check_count,
    check_labels,
    check_one_of,
    check_ragged,
    check_same_length,
    check_scores,
    softmax,
)


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """What a model said about the items of a dataset, in the dataset's order.

    Attributes:
        ids: N item ids, unique: a tuple, or a column of Arrow where they are stored.
        logits: (N, K) array, or `Ragged` where the number of choices differs. For kind="confidence" (N, 2), the
            log-probabilities of wrong and right.
        labels: (N,) gold labels, -1 where there is none; None when the data has no labels.
        label_names: K names of the classes; None for multiple choice.
        truncated: How many texts were longer than the model takes and were cut.
        probabilities: The probabilities as they are stored, of which `logits` are the logarithms: (N, K) or `Ragged`,
            and (N,) for kind="confidence"; None where the logits are what is known.
        kind: "top_label", or "confidence" where the confidence in the given answer is all that is known.
        way: How the model's inputs were batched, and why not faster, as its trial found; "" for stored predictions.
        failures: Id of an item that has no score -> why, in one sentence; such items are not among `ids`.
    """

    ids: Sequence[str]
    logits: NDArray[np.float64] | Ragged
    labels: NDArray[np.int64] | None = None
    label_names: tuple[str, ...] | None = None
    truncated: int = 0
    probabilities: NDArray[np.float64] | Ragged | None = None
    kind: str = "top_label"
    way: str = ""
    failures: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: NDArray[np.intp]) -> Scores:
        """Return what was said about some of the items."""
        return dataclasses.replace(
            self,
            ids=self.ids[rows]
            if isinstance(self.ids, LazyArrowColumn)
            else tuple(self.ids[row] for row in rows.tolist()),
            logits=take_rows(self.logits, rows),
            labels=None if self.labels is None else self.labels[rows],
            probabilities=None
            if self.probabilities is None
            else take_rows(self.probabilities, rows),
        )

    @functools.cached_property
    def predicted(self) -> NDArray[np.int64]:
        """(N,) predicted classes, or choices: the first of the largest scores."""
        logits = self.logits
        return (
            logits.argmax()
            if isinstance(logits, Ragged)
            else np.asarray(logits.argmax(axis=1), dtype=np.int64)
        )

    def answers(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Return (M,) the predicted classes, or choices, of items by their ids; -1 where one has no score."""
        known = dict(zip(self.ids, self.predicted.tolist(), strict=True)) if len(self) else {}
        return np.array([known.get(name, -1) for name in ids], dtype=np.int64)

    @functools.cached_property
    def confidence(self) -> NDArray[np.float64]:
        """(N,) their probabilities."""
        if isinstance(self.logits, Ragged):
            return check_ragged(self.logits, scores="logits").reduce(np.maximum)
        return np.asarray(softmax(self.logits).max(axis=1))


AVERAGES = ("binary", "macro", "micro", "weighted")

MOST_CLASSES = 10_000
"""How many classes are counted at most where their number is that of the largest label."""


@dataclasses.dataclass(frozen=True)
class ClassificationResult(Result):
    """Accuracy and F1. Fractions in [0, 1], higher is better.

    Attributes:
        accuracy: Share of the items whose prediction is the label.
        f1: F1 in the requested average; None where no class that it averages is present.
        average: "binary" (of class 1), "macro", "micro" or "weighted".
        n_items: Number of items.
        class_f1: K F1s; 0 where a class has items or predictions but no hit, None where it has neither.
    """

    accuracy: float
    f1: float | None
    average: str
    n_items: int
    class_f1: tuple[float | None, ...]


def classification_scores(
    predictions: Any, references: Any, *, n_classes: int | None = None, average: str = "macro"
) -> ClassificationResult:
    r"""Compute accuracy and F1 of predicted classes.

    \[ F1_k = \frac{2\,TP_k}{2\,TP_k + FP_k + FN_k} \]

    Args:
        predictions: (N,) predicted classes.
        references: (N,) labels.
        n_classes: Number of classes K; the largest class present, plus one and at least two, when None.
        average: "binary" (F1 of class 1), "macro" (mean over the classes that occur among labels or predictions),
            "micro" (equal to accuracy for one label per item) or "weighted" (mean weighted by the number of items).

    Returns:
        A `ClassificationResult`: accuracy, f1, the average, number of items and the F1 of each class.

    Raises:
        TypeError: If something is not whole numbers.
        ValueError: If a label is out of range, lengths differ, the input is empty or the average does not fit.

    References:
        van Rijsbergen (1979), Information Retrieval, chapter 7.

    Example:
        >>> result = classification_scores([0, 1, 1, 1], [0, 0, 1, 1], average="binary")
        >>> result.accuracy, result.f1
        (0.75, 0.8)
    """
    check_one_of(average, AVERAGES, "average")
    most = MOST_CLASSES if n_classes is None else check_count(n_classes, "n_classes", minimum=2)
    predicted = check_labels(predictions, most, name="predictions")
    labels = check_labels(references, most, name="references")
    check_same_length(predictions=predicted, references=labels)
    if n_classes is None:
        n_classes = max(int(predicted.max()), int(labels.max()), 1) + 1
    if average == "binary" and n_classes != 2:
        raise ValueError(f"Expected two classes for average='binary', but got {n_classes}.")
    right = predicted == labels
    hits, support, chosen = (
        np.bincount(part, minlength=n_classes) for part in (labels[right], labels, predicted)
    )
    present = support + chosen > 0
    f1 = 2 * hits / np.maximum(support + chosen, 1)
    share = float(right.mean())
    averaged: Mapping[str, float | None] = {
        "binary": float(f1[1]) if present[1] else None,
        "macro": float(f1[present].mean()),
        "micro": share,  # one prediction per item: every error is one miss and one false alarm
        "weighted": float((f1 * support).sum() / len(labels)),
    }
    of_classes = tuple(
        float(each) if there else None for each, there in zip(f1, present, strict=True)
    )
    return ClassificationResult(share, averaged[average], average, len(labels), of_classes)


def accuracy(predictions: Any, references: Any) -> float:
    """Compute the share of the items whose predicted class is the label; in [0, 1], higher is better.

    Args:
        predictions: (N,) predicted classes.
        references: (N,) labels.

    Returns:
        The accuracy.

    Example:
        >>> accuracy([0, 1, 1, 1], [0, 0, 1, 1])
        0.75
    """
    predicted = check_labels(predictions, name="predictions")
    labels = check_labels(references, name="references")
    check_same_length(predictions=predicted, references=labels)
    return float(np.mean(predicted == labels))


_CELLS_AT_ONCE = 2_000_000
"""Maximum number of drawn cells that are held in memory."""


def compute_macro_f1(
    predicted: NDArray[Any], labels: NDArray[Any], resampling: Resampling, clusters: Any = None
) -> tuple[float, Interval]:
    r"""Compute the macro F1 of the classes that occur among labels or predictions, and its interval.

    The interval joins two, as each fails where the other holds. The bias-corrected bootstrap draws tables from the
    counts \(n_{ij}\) and takes off the bias of the mean F1 of many small classes; but a class with two items, both
    right, is right in every resample. The posterior of the cells under a prior of one item per class, half of it right
    and half a miss, which is Jeffreys' prior of a share, lets that class err; but it is pulled towards its prior where
    there are many classes. The classes averaged are those of the data, also where a resample lacks one, whose F1 is
    then 0.

    Args:
        predicted: (N,) predicted classes, whole numbers from 0.
        labels: (N,) labels.
        resampling: Level, number of resamples and seed.
        clusters: (N,) names of clusters, of which whole ones are drawn, and the posterior is that of as many items as
            there are clusters; None for independent items.

    Returns:
        The macro F1, and its interval inside [0, 1], which holds it.

    References:
        Efron (1981), Nonparametric Standard Errors and Confidence Intervals; Goutte, Gaussier (2005), A Probabilistic
        Interpretation of Precision, Recall and F-Score.

    Example:
        >>> labels = np.array([0] * 40 + [1, 1])
        >>> _, interval = compute_macro_f1(labels, labels, Resampling())  # all right, class 1 twice
        >>> interval.low < 0.8, interval.high
        (True, 1.0)
    """
    n_items, codes = len(labels), number_clusters(clusters, len(labels))
    n_units = n_items if codes is None else int(codes.max()) + 1
    present, numbers = np.unique(np.concatenate((labels, predicted)), return_inverse=True)
    # Cells with items, and for the prior a hit and a miss of each class; one class alone may be taken for another.
    classes, size = np.arange(len(present)), max(len(present), 2)
    items = numbers[:n_items] * size + numbers[n_items:]
    of_prior = np.concatenate((classes * size + classes, classes * size + (classes + 1) % size))
    cells, places = np.unique(np.concatenate((items, of_prior)), return_inverse=True)
    observed = np.bincount(places[:n_items], minlength=len(cells))
    prior = np.bincount(places[n_items:], minlength=len(cells)) / 2
    hits = np.searchsorted(cells, classes * (size + 1))
    sides = np.concatenate(np.divmod(cells, size))
    touched = sparse.csr_array((np.ones(len(sides)), (np.tile(np.arange(len(cells)), 2), sides)))[
        :, : len(present)
    ]

    def mean_f1(draws: NDArray[Any]) -> NDArray[np.float64]:
        either = draws @ touched
        return np.asarray((2 * draws[:, hits] / np.where(either > 0, either, 1)).mean(axis=1))

    value = float(mean_f1(observed[None, :])[0])
    rng, parts = (
        np.random.default_rng(resampling.seed),
        resampling.parts(len(cells), at_once=_CELLS_AT_ONCE),
    )
    shares: NDArray[np.float64] = observed / n_items
    units: Any = None
    n_drawn = n_units
    if codes is not None:
        if n_units > MAX_UNITS:  # random groups of clusters, as in the bootstrap of a mean
            codes, n_drawn = rng.integers(MAX_UNITS, size=n_units)[codes], MAX_UNITS
        shares = np.full(n_drawn, 1 / n_drawn)
        units = sparse.csr_array(
            (np.ones(n_items), (codes, places[:n_items])), shape=(n_drawn, len(cells))
        )

    def drawn(n: int) -> NDArray[Any]:
        draws = rng.multinomial(n_drawn, shares, size=n)
        return draws if codes is None else np.asarray(draws @ units)

    resamples = np.concatenate([mean_f1(drawn(n)) for n in parts])
    shape = observed * n_units / n_items + prior
    posterior = np.concatenate(
        [mean_f1(rng.standard_gamma(shape, size=(n, len(cells)))) for n in parts]
    )
    tails = np.array([1.0 - resampling.level, 1.0 + resampling.level]) / 2
    below = np.mean(resamples < value - 1e-12) / 2 + np.mean(resamples <= value + 1e-12) / 2
    least = 1 / (len(resamples) + 1)
    shift = 2 * special.ndtri(np.clip(below, least, 1 - least))
    corrected = np.quantile(resamples, special.ndtr(shift + special.ndtri(tails)))
    likely = np.quantile(posterior, tails)
    return value, Interval(
        low=float(min(value, corrected[0], likely[0])),
        high=float(max(value, corrected[1], likely[1])),
        confidence_level=resampling.level,
        method="bias-corrected bootstrap, joined with the posterior under Jeffreys' prior",
        n_resamples=len(resamples),
    )


def label_errors(probabilities: Any, labels: Any) -> NDArray[np.int64]:
    r"""Find the labels that a model contradicts, by confident learning.

    The usual confidence in class j is its mean probability over the items labeled j,
    \(t_j = |X_j|^{-1} \sum_{x \in X_j} p_j(x)\). An item is confidently of the class of largest probability among those
    with \(p_j(x) \ge t_j\), and its label is contradicted where that is another class. These are the items off the
    diagonal of the confident joint. The model must not have been trained on the items. What it contradicts is a wrong
    label or a wrong model: a model that follows a shortcut contradicts right labels where the shortcut fails.

    Args:
        probabilities: (N, K) probabilities, rows summing to 1.
        labels: (N,) class indices in 0..K-1.

    Returns:
        The rows whose label is contradicted, the smallest probability of the label first.

    Raises:
        ValueError: If the shapes do not fit, or rows are no probabilities.

    References:
        Northcutt, Jiang & Chuang (2021), Confident learning: estimating uncertainty in dataset labels, equations 1-2.

    Example:
        >>> label_errors([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.95, 0.05]], [0, 0, 1, 1])
        array([3])
    """
    p = check_scores(probabilities, name="probabilities", allow_vector=False)
    y = check_labels(labels, p.shape[1], name="labels")
    check_same_length(probabilities=p, labels=y)
    of_label = p[np.arange(len(y)), y]
    counts = np.bincount(y, minlength=p.shape[1])
    with np.errstate(invalid="ignore"):  # of a class without items, which no item is confidently of
        usual = np.bincount(y, of_label, minlength=p.shape[1]) / counts
    confident = np.where(p >= usual, p, -1.0)
    found = np.flatnonzero((confident.max(axis=1) >= 0) & (confident.argmax(axis=1) != y))
    return np.asarray(found[np.argsort(of_label[found], kind="stable")])
