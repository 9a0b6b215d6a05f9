"""Accuracy of a classifier that only sees superficial cues: does the data give its answers away?

`cue_classifier` cross-validates such a classifier; `cue_transfer` trains it on one set of items and
tests it on another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.errors import OptionError
from rightreasons.core.intervals import cluster_wilson
from rightreasons.core.results import Result
from rightreasons.core.validation import check_count, check_labels, check_seed
from rightreasons.cues.extraction import CueTable, find_cues, parse_answered_choices
from rightreasons.cues.labels import number_groups

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

TIE_TOLERANCE = 1e-9
"""Largest difference between two scores that count as equal, because sums of votes have rounding errors."""


@dataclasses.dataclass(frozen=True)
class CueClassifier(Result):
    """Accuracy of a cue-only classifier in cross-validation.

    Attributes:
        accuracy: Share of items that it classifies correctly, in [0, 1]; a tie among t choices that
            includes the correct one counts 1/t.
        low: Lower end of the interval of accuracy, of `cluster_wilson` over groups.
        high: Upper end of that interval.
        chance: Mean of 1/m, the accuracy of guessing.
        n_items: Number of items.
        n_groups: Number of groups, none of which is split across folds.
        n_folds: Number of folds of the cross-validation.
        confidence_level: Confidence level of the interval.
        credits: (N,) contribution of each item to `accuracy`.
    """

    accuracy: float
    low: float
    high: float
    chance: float
    n_items: int
    n_groups: int
    n_folds: int
    confidence_level: float
    credits: tuple[float, ...]


def cue_classifier(  # noqa: PLR0913
    data: Sequence[Sequence[str]],
    labels: object,
    *,
    prompts: Sequence[str] | None = None,
    groups: Sequence[Hashable] | None = None,
    features: Sequence[str] = ("unigram", "bigram", "length", "negation"),
    n_folds: int = 10,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> CueClassifier:
    r"""Cross-validate a classifier that scores each choice by its cues alone.

    Each cue votes for the only choice that has it, with its smoothed log odds of being correct
    against chance, as in naive Bayes; with \alpha_k and c_k the cue's applicability and hits in the
    training folds and m choices,

        s(a) = \sum_{k \in a} \log \frac{c_k + 1}{\alpha_k - c_k + m - 1} + \log(m - 1).

    A cue never seen in training, or at chance, votes zero. Accuracy well above `chance` means that
    the data gives answers away; accuracy well below it means that items that belong together are in
    different folds, so that each teaches the incorrect answer to the other: name them by `groups`.

    Args:
        data: N items, each a list of at least two choices.
        labels: (N,) index of the correct choice, from 0.
        prompts: N prompts; needed by the feature "overlap" only.
        groups: N names of groups of items that belong together, such as the `source_id` of a
            mirrored pair. A group is never split between training and test; without it a mirrored
            pair would teach the classifier the incorrect answer. If None (default), each item is a
            group.
        features: Families of cues, as in `cue_statistics`.
        n_folds: Number of folds, at least 2 and at most the number of groups.
        confidence_level: Confidence level of the interval, `cluster_wilson` over groups.
        seed: Seed of the folds.

    Returns:
        `CueClassifier`.

    Raises:
        ValueError: If an argument is out of range or lengths differ.

    References:
        Gururangan et al. (2018), Annotation Artifacts in Natural Language Inference Data; Kavumba
        et al. (2019), Table 4 (row "word frequency").

    Example:
        >>> items = [["a true one", "a false one"]] * 20
        >>> result = cue_classifier(items, [0] * 20, n_folds=5)
        >>> result.accuracy, result.chance
        (1.0, 0.5)
    """
    texts, correct = parse_answered_choices(data, labels, prompts, features)
    table = find_cues(texts)
    group = number_groups(groups, len(correct))
    n_groups = int(group.max()) + 1
    folds = check_count(n_folds, "n_folds", minimum=2)
    if folds > n_groups:
        raise OptionError(
            f"Expected `n_folds` to be at most the number of groups, {n_groups}, but got {folds}.",
            option="n_folds",
        )

    # Folds are as equal as possible in groups, and thus not always in items.
    rng = np.random.default_rng([check_seed(seed), 0])
    fold_of_group = rng.permutation(n_groups) % folds
    credit = _cross_validate(table, correct, fold_of_group[group], folds)

    # Items of a group have their folds in common, so that groups are the units of the interval.
    interval = cluster_wilson(
        np.bincount(group, weights=credit),
        np.bincount(group),
        confidence_level=confidence_level,
    )
    return CueClassifier(
        accuracy=float(credit.mean()),
        low=interval.low,
        high=interval.high,
        chance=float((1.0 / table.n_choices).mean()),
        n_items=len(correct),
        n_groups=n_groups,
        n_folds=folds,
        confidence_level=interval.confidence_level,
        credits=tuple(credit.tolist()),
    )


def cue_transfer(
    train: Sequence[Sequence[str]],
    train_labels: object,
    test: Sequence[Sequence[str]],
    test_labels: object,
    *,
    train_prompts: Sequence[str] | None = None,
    test_prompts: Sequence[str] | None = None,
    features: Sequence[str] = ("unigram",),
) -> Floats:
    """Score each item of a test set by the cues of a training set.

    Args:
        train: Choices of each training item.
        train_labels: Index of the correct choice of each training item.
        test: Choices of each of N test items.
        test_labels: (N,) index of the correct choice of each test item.
        train_prompts: Prompts of the training items, for the feature "overlap".
        test_prompts: Prompts of the test items.
        features: Families of cues, as in `cue_statistics`.

    Returns:
        (N,) 1 for a correct choice, 0 for an incorrect one, and a share for a tie, as in
        `CueClassifier.credits`.

    Example:
        >>> cue_transfer([["yes", "no"]], [0], [["yes", "no"], ["no", "maybe"], ["left", "right"]], [0, 0, 0])
        array([1. , 0. , 0.5])
    """
    data = [*train, *test]
    labels = np.concatenate(
        [
            check_labels(train_labels, name="train_labels"),
            check_labels(test_labels, name="test_labels"),
        ]
    )
    prompts = None
    if train_prompts is not None and test_prompts is not None:
        prompts = [*train_prompts, *test_prompts]

    texts, correct = parse_answered_choices(data, labels, prompts, features)
    table = find_cues(texts)
    # Fold 1, the test set, is scored by the counts of fold 0, the training set.
    is_test = np.arange(len(data)) >= len(train)
    credit = _cross_validate(table, correct, is_test.astype(np.int64), 2)
    return credit[len(train) :]


def _cross_validate(table: CueTable, correct: Numbers, fold: Numbers, n_folds: int) -> Floats:
    """Classify each item by cues that were counted in the other folds only.

    Args:
        table: The applicable cues of N items.
        correct: (N,) correct choice of each item.
        fold: (N,) fold of each item.
        n_folds: Number of folds.

    Returns:
        (N,) 1 for a correct choice, 0 for an incorrect one, and 1/t for a tie among t choices that
        includes the correct one.
    """
    # The score of a choice is the sum of the votes of its cues: (N, K) for K choices at most.
    votes = _compute_votes(table, correct, fold, n_folds)
    n_items = len(table.n_choices)
    width = int(table.n_choices.max())
    cells = table.item * np.int64(width) + table.choice
    # Without any cue, NumPy counts in integers, even with weights.
    sums = np.bincount(cells, weights=votes, minlength=n_items * width).astype(np.float64)
    scores = sums.reshape(n_items, width)

    # An item with fewer than K choices must not select one that it does not have.
    scores[np.arange(width) >= table.n_choices[:, None]] = -np.inf
    is_best = scores >= scores.max(axis=1, keepdims=True) - TIE_TOLERANCE
    is_correct_best = is_best[np.arange(n_items), correct]
    return np.asarray(is_correct_best / is_best.sum(axis=1))


def _compute_votes(table: CueTable, correct: Numbers, fold: Numbers, n_folds: int) -> Floats:
    r"""Compute the vote of each cue for the choice that has it, from the other folds.

    The vote is the smoothed log odds that a choice with this cue is correct, against chance:
    \(\log \frac{c + 1}{w + m - 1} + \log(m - 1)\) for c correct and w incorrect choices with the
    cue, among m choices.

    Args:
        table: The applicable cues of N items: E entries, one for each item and cue.
        correct: (N,) correct choice of each item.
        fold: (N,) fold of each item.
        n_folds: Number of folds.

    Returns:
        (E,) votes.
    """
    n_cues = max(len(table.names), 1)
    # A cell is a cue in a fold.
    cells = fold[table.item] * n_cues + table.cue
    is_hit = table.choice == correct[table.item]
    n_other_choices = (table.n_choices - 1)[table.item]

    def sum_other_folds(weights: NDArray[np.generic]) -> Floats:
        """Return (E,) the sum over the entries of the same cue in other folds."""
        sums = np.bincount(cells, weights=weights, minlength=n_folds * n_cues)
        totals = sums.reshape(n_folds, n_cues).sum(axis=0)
        return np.asarray(totals[table.cue] - sums[cells])

    hits = sum_other_folds(is_hit)
    misses = sum_other_folds(~is_hit)
    # Items may differ in their number of choices m, so that m - 1 is a mean over the items with the
    # cue. If the other folds have no such item, the vote is 0 whatever m is.
    n_items_with_cue = hits + misses
    mean_others = sum_other_folds(n_other_choices) / np.maximum(n_items_with_cue, 1)
    n_others = np.where(n_items_with_cue > 0, mean_others, 1.0)
    return np.log((hits + 1) * n_others / (misses + n_others))
