"""How well a classifier does that sees only superficial cues: does the data give its answers away?"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core import validation
from rightreasons.core.errors import OptionError
from rightreasons.core.intervals import cluster_wilson
from rightreasons.core.results import Result
from rightreasons.cues.extraction import CueTable, extract_cues
from rightreasons.cues.labels import number_groups, parse_correct_choices


@dataclasses.dataclass(frozen=True)
class CueClassifier(Result):
    """What a cue-only classifier reaches in cross-validation.

    Attributes:
        accuracy: Share of items that it gets right, in [0, 1]; a tie among t choices that holds the right one is 1/t.
        low: Lower end of the interval of accuracy, of `cluster_wilson` over groups.
        high: Upper end of it.
        chance: Mean of 1/m, what guessing gets.
        n_items: How many items.
        n_groups: Number of groups, none of which is split across folds.
        n_folds: Folds of the cross-validation.
        confidence_level: The level of the interval.
        credits: (N,) what each item counts for in `accuracy`.
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


def cue_classifier(
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

    Each cue votes for the choice that alone has it, with its smoothed log odds of being right against chance, as in
    naive Bayes; with \alpha_k and c_k the cue's applicability and hits in the training folds and m choices,

        s(a) = \sum_{k \in a} \log \frac{c_k + 1}{\alpha_k - c_k + m - 1} + \log(m - 1).

    A cue never seen in training, or at chance, votes zero. Accuracy well above `chance` means that the data gives
    answers away; accuracy well below it, that items belong together which `groups` leaves apart: each then teaches the
    wrong answer to the other.

    Args:
        data: N items, each a list of at least two choices.
        labels: (N,) the index of the right choice, from 0.
        prompts: N prompts; needed by the feature "overlap" alone.
        groups: N keys of what belongs together, such as the `source_id` of a mirrored pair. A group is never split
            between training and test; without it a mirrored pair would teach the classifier the wrong answer.
        features: Families of cues, as in `cue_statistics`.
        n_folds: Folds, at least 2 and at most the number of groups.
        confidence_level: Of the interval, `cluster_wilson` over groups.
        seed: Seed of the folds.

    Returns:
        `CueClassifier`.

    Raises:
        ValueError: If an argument is out of range or lengths differ.

    References:
        Gururangan et al. (2018), Annotation Artifacts in Natural Language Inference Data; Kavumba et al. (2019),
        Table 4 (row "word frequency").

    Example:
        >>> items = [["a true one", "a false one"]] * 20
        >>> result = cue_classifier(items, [0] * 20, n_folds=5)
        >>> result.accuracy, result.chance
        (1.0, 0.5)
    """
    table = extract_cues(data, prompts=prompts, features=features)
    right = parse_correct_choices(labels, table.n_choices)
    n_items = len(table.n_choices)
    group = number_groups(groups, n_items)
    n_groups = int(group.max()) + 1
    folds = validation.check_count(n_folds, "n_folds", minimum=2)
    if folds > n_groups:
        raise OptionError(
            f"Expected `n_folds` to be at most the number of groups, {n_groups}, but got {folds}.",
            option="n_folds",
        )
    rng = np.random.default_rng([validation.check_seed(seed), 0])
    fold = (rng.permutation(n_groups) % folds)[group]

    credit = _cross_validate(table, right, fold, folds)
    sums, sizes = np.bincount(group, weights=credit), np.bincount(group)
    interval = cluster_wilson(sums, sizes, confidence_level=confidence_level)
    return CueClassifier(
        accuracy=float(credit.mean()),
        low=interval.low,
        high=interval.high,
        chance=float((1.0 / table.n_choices).mean()),
        n_items=n_items,
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
) -> NDArray[np.float64]:
    """Score each item of a test set by the cues of a training set; (N,) as in `CueClassifier.credits`.

    Args:
        train: The choices of each training item.
        train_labels: The index of the right choice of each.
        test: The choices of each of N test items.
        test_labels: (N,) the index of the right choice of each.
        train_prompts: The prompts of the training items, for the feature "overlap".
        test_prompts: Those of the test items.
        features: Families of cues, as in `cue_statistics`.

    Returns:
        (N,) 1 for a right choice, 0 for a wrong one, and a share for a tie.

    Example:
        >>> cue_transfer([["yes", "no"]], [0], [["yes", "no"], ["no", "maybe"], ["left", "right"]], [0, 0, 0])
        array([1. , 0. , 0.5])
    """
    data = [*train, *test]
    answers = {"train_labels": train_labels, "test_labels": test_labels}
    labels = np.concatenate(
        [validation.check_labels(right, name=name) for name, right in answers.items()]
    )
    prompts = (
        [*train_prompts, *test_prompts]
        if train_prompts is not None and test_prompts is not None
        else None
    )
    table = extract_cues(data, prompts=prompts, features=features)
    right = parse_correct_choices(labels, table.n_choices)
    # Fold 1 is tested on what fold 0, the training set, has counted.
    fold = (np.arange(len(data)) >= len(train)).astype(np.int64)
    return _cross_validate(table, right, fold, 2)[len(train) :]


# ------------------------------------------------------------------------------------------------------------- private


def _cross_validate(
    table: CueTable, right: NDArray[np.int64], fold: NDArray[np.int64], n_folds: int
) -> NDArray[np.float64]:
    """Return the credit of each item."""
    n_cues = max(len(table.names), 1)
    entry_fold = fold[table.item]
    hit = table.choice == right[table.item]
    others = (table.n_choices - 1)[table.item]
    cell = entry_fold * n_cues + table.cue

    def outside(weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each entry, the cue's total over the folds other than the entry's own."""
        inside = np.bincount(cell, weights=weights, minlength=n_folds * n_cues)
        return np.asarray(inside.reshape(n_folds, n_cues).sum(axis=0)[table.cue] - inside[cell])

    hits = outside(hit.astype(np.float64))
    misses = outside((~hit).astype(np.float64))
    # The mean of m - 1 over the cue's own training items stands for m - 1 where items differ in their choices.
    seen = hits + misses
    spread = np.where(seen > 0, outside(others.astype(np.float64)) / np.maximum(seen, 1), 1.0)
    # log((c + 1) / (misses + m - 1)) - log(1 / (m - 1)), which is 0 for an unseen cue.
    vote = np.log((hits + 1) * spread / (misses + spread))

    width = int(table.n_choices.max())
    n_items = len(table.n_choices)
    # Where no choice has a cue, NumPy counts in integers, weights or not.
    flat = np.bincount(table.item * width + table.choice, weights=vote, minlength=n_items * width)
    scores = flat.astype(np.float64).reshape(n_items, width)
    scores[np.arange(width) >= table.n_choices[:, None]] = -np.inf
    # Votes that cancel exactly in theory leave rounding behind; that must not break a tie.
    best = scores >= scores.max(axis=1, keepdims=True) - 1e-9
    return np.asarray(best[np.arange(n_items), right] / best.sum(axis=1))
