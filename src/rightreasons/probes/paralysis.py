"""Choice paralysis: does confidence in the correct choice drop when incorrect choices are added?

`choice_paralysis` compares the scores of items before and after, and separates the dilution by the
softmax from a change of the scores themselves.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.bootstrap import bootstrap_mean
from rightreasons.core.clusters import average_units, number_clusters
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import as_ragged, check_labels, check_ragged, check_same_length
from rightreasons.probes.bias import t_p_value, wilcoxon_p_value

DEFINITION = (
    "Choice paralysis: confidence in the correct choice before minus after incorrect choices were added, averaged "
    "over items (Shen & Kejriwal); positive if confidence drops."
)


ROUNDING_DECIMALS = 6
"""Decimals of a drop that scores in float32 determine. Further ones are rounding noise, which tests of
ranks and signs would count as differences."""


@dataclasses.dataclass(frozen=True)
class Drop(Result):
    """A mean paired drop with its tests.

    Attributes:
        mean: Mean drop over items, in [-1, 1].
        t_p_value: Two-sided paired t-test. None for fewer than two items, or if all drops are equal.
        wilcoxon_p_value: Two-sided Wilcoxon signed-rank test. None if all drops are 0.
        interval: Interval of the mean over items (`bootstrap_mean`). None if it is not requested.
    """

    mean: float
    t_p_value: float | None
    wilcoxon_p_value: float | None
    interval: Interval | None

    @property
    def estimate(self) -> Estimate:
        """The mean with its interval."""
        return make_estimate(self.mean, self.interval)


@dataclasses.dataclass(frozen=True)
class ChoiceParalysis(Result):
    """Effect of added choices on a model, from `choice_paralysis`.

    Attributes:
        choice_paralysis: Mean confidence drop in the correct choice, in [-1, 1].
        drop: This drop with its tests and interval.
        restricted_drop: Drop that remains if only the item's own choices share the confidence: free
            of dilution, and 0 for every model that scores each choice alone.
        mechanical_drop: `choice_paralysis` minus `restricted_drop.mean`: dilution by added choices.
        null_drop: Drop if every added choice had the mean exponentiated score of the item's own
            choices, mean of c * k / (n + k).
        confidence: Mean confidence in the correct choice before.
        perturbed_confidence: Mean confidence in the correct choice after.
        restricted_confidence: Mean confidence after, among the item's own choices.
        accuracy: Accuracy before.
        perturbed_accuracy: Accuracy after.
        restricted_accuracy: Accuracy after, among the item's own choices.
        n_items: Number of items.
        definition: The measure in words.
    """

    choice_paralysis: float
    drop: Drop
    restricted_drop: Drop
    mechanical_drop: float
    null_drop: float
    confidence: float
    perturbed_confidence: float
    restricted_confidence: float
    accuracy: float
    perturbed_accuracy: float
    restricted_accuracy: float
    n_items: int
    definition: str = DEFINITION


def choice_paralysis(
    predictions: object,
    perturbed_predictions: object,
    references: object,
    perturbed_references: object,
    original_positions: object = None,
    *,
    scores: str = "probabilities",
    clusters: object = None,
    resampling: Resampling | None = None,
) -> ChoiceParalysis:
    r"""Measure what incorrect choices that are added to an item do to the confidence in the correct one.

        CP_i = c_i - c'_i = (c_i - r_i) + (r_i - c'_i),   r_i = c'_i / sum of c' over the item's own choices

    with c and c' the confidence in the correct choice before and after. A model that scores each
    choice alone leaves its scores unchanged, so that c' < c for every item and r = c: its whole drop
    is dilution by the softmax. Only c - r can show that a model decides otherwise because of the added
    choices.

    Args:
        predictions: N rows of choice scores of the original items.
        perturbed_predictions: N rows of the same items with added choices, in the same order.
        references: (N,) index of the correct choice in the rows of `predictions`.
        perturbed_references: (N,) index of the correct choice in the rows of `perturbed_predictions`.
        original_positions: N rows with the position of each of the item's own choices in the perturbed
            row. None (default): the other own choices come first, in order, among the choices that are
            not the correct one, as the probe `extra_choices` writes them.
        scores: "probabilities" (default), "logits" or "log_probabilities".
        clusters: (N,) names of clusters of items, each of which counts once in tests and intervals.
            None (default) for independent items.
        resampling: Resampling of the bootstrap intervals. None (default) for no intervals.

    Returns:
        A `ChoiceParalysis`. If the item's own choices get no confidence at all, r is 1/n.

    Raises:
        TypeError: If an input has the wrong type.
        ValueError: If rows, labels or positions do not fit; the first invalid one is named.

    References:
        Shen and Kejriwal (2022), "Understanding Prior Bias and Choice Paralysis in Transformer-based
        Language Representation Models through Four Experimental Probes", section 3.

    Example:
        The scores 2 and 1 stay and a third choice with score 1 comes: 2/3 becomes 2/4, all by
        dilution.

        >>> result = choice_paralysis([[2 / 3, 1 / 3]], [[0.5, 0.25, 0.25]], [0], [0])
        >>> round(result.choice_paralysis, 6), round(result.restricted_drop.mean, 6)
        (0.166667, 0.0)
    """
    # The inputs are converted and checked here; the functions below take checked rows.
    items = _Items.parse(
        predictions,
        perturbed_predictions,
        references,
        perturbed_references,
        original_positions,
        scores,
    )
    # Tests and intervals are over clusters; means are over items.
    units = number_clusters(clusters, len(items.original))
    # (N,) confidence in the correct choice: before, after, and after among the own choices.
    confidence = items.original.at(items.labels)
    perturbed = items.perturbed.at(items.perturbed_labels)
    own_rows = Ragged(items.perturbed.values[items.own_positions], items.original.offsets)
    restricted = _restrict_confidence(perturbed, own_rows)
    # The own choice with the largest confidence, first as an index into the flat array of all
    # perturbed rows, then as a position in its row.
    best_index = items.own_positions[items.original.starts + own_rows.argmax()]
    restricted_picks = best_index - items.perturbed.starts

    # The two drops differ by the share that added choices take.
    drop = confidence - perturbed
    restricted_drop = confidence - restricted
    # The drop c k / (n + k) that k choices of average score would cause by dilution alone.
    null = confidence * items.n_added / items.perturbed.lengths
    return ChoiceParalysis(
        choice_paralysis=float(drop.mean()),
        drop=_measure_drop(drop, units, resampling),
        restricted_drop=_measure_drop(restricted_drop, units, resampling),
        mechanical_drop=float(drop.mean() - restricted_drop.mean()),
        null_drop=float(null.mean()),
        confidence=float(confidence.mean()),
        perturbed_confidence=float(perturbed.mean()),
        restricted_confidence=float(restricted.mean()),
        accuracy=float((items.original.argmax() == items.labels).mean()),
        perturbed_accuracy=float((items.perturbed.argmax() == items.perturbed_labels).mean()),
        restricted_accuracy=float((restricted_picks == items.perturbed_labels).mean()),
        n_items=len(items.original),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _Items:
    """N items before and after choices were added.

    Attributes:
        original: N rows of confidences before.
        perturbed: N rows of confidences after.
        labels: (N,) index of the correct choice before.
        perturbed_labels: (N,) index of the correct choice after.
        n_added: (N,) number of added choices.
        own_positions: Flat index into the perturbed rows of every own choice, in the layout of the
            original rows.
    """

    original: Ragged
    perturbed: Ragged
    labels: NDArray[np.int64]
    perturbed_labels: NDArray[np.int64]
    n_added: NDArray[np.int64]
    own_positions: NDArray[np.int64]

    @classmethod
    def parse(
        cls,
        predictions: object,
        perturbed_predictions: object,
        references: object,
        perturbed_references: object,
        original_positions: object,
        scores: str,
    ) -> _Items:
        """Check the arguments of `choice_paralysis`, and find each own choice in its perturbed row.

        The arguments, and their descriptions, are those of `choice_paralysis`.

        Raises:
            TypeError: If an input has the wrong type.
            ValueError: If rows, labels or positions do not fit; the first invalid one is named.
        """
        original = check_ragged(predictions, scores=scores)
        perturbed = check_ragged(perturbed_predictions, scores=scores, name="perturbed_predictions")
        check_same_length(
            predictions=original,
            perturbed_predictions=perturbed,
            references=references,
            perturbed_references=perturbed_references,
        )
        # A label is the position of the correct choice in its own row.
        labels = check_labels(references, original.lengths)
        perturbed_labels = check_labels(
            perturbed_references, perturbed.lengths, name="perturbed_references"
        )
        n_added = perturbed.lengths - original.lengths
        if (n_added < 1).any():
            item = int(np.flatnonzero(n_added < 1)[0])
            raise ValueError(
                "Expected each row of `perturbed_predictions` to have more choices than its original, "
                f"but row {item} has {perturbed.lengths[item]} and the original "
                f"{original.lengths[item]}."
            )
        if original_positions is None:
            positions = _assume_positions(original, labels, perturbed_labels)
        else:
            positions = _check_positions(
                original_positions, original, perturbed, labels, perturbed_labels
            )
        # A position in a row becomes an index into the flat array of all perturbed rows.
        starts = np.repeat(perturbed.starts, original.lengths)
        return cls(
            original=original,
            perturbed=perturbed,
            labels=labels,
            perturbed_labels=perturbed_labels,
            n_added=n_added,
            own_positions=np.asarray(positions + starts, dtype=np.int64),
        )


def _assume_positions(
    original: Ragged, labels: NDArray[np.int64], perturbed_labels: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the position of every own choice in its perturbed row, as `extra_choices` writes it.

    The correct choice is at its perturbed label, and the other own choices keep their order at the
    first further positions. With the label 1 of 3 choices and the perturbed label 0, the own choices
    0, 1, 2 are at 1, 0, 2.

    Args:
        original: N rows of confidences before choices were added.
        labels: (N,) position of the correct choice in each original row.
        perturbed_labels: (N,) position of the correct choice in each perturbed row.

    Returns:
        (number of own choices of all items,) positions, in the flat layout of `original`.
    """
    # Position of every choice in its original row, and the two labels of its item.
    position = np.arange(len(original.values)) - np.repeat(original.starts, original.lengths)
    label = np.repeat(labels, original.lengths)
    perturbed_label = np.repeat(perturbed_labels, original.lengths)
    # The rank among the incorrect own choices skips the correct choice of the original row, and the
    # new position skips that of the perturbed row.
    rank = position - (position > label)
    other_position = rank + (rank >= perturbed_label)
    return np.where(position == label, perturbed_label, other_position)


def _check_positions(
    positions: object,
    original: Ragged,
    perturbed: Ragged,
    labels: NDArray[np.int64],
    perturbed_labels: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Check the argument `original_positions` of `choice_paralysis`.

    Args:
        positions: N rows with the position of each own choice in the perturbed row.
        original: N rows of confidences before choices were added.
        perturbed: N rows of confidences after.
        labels: (N,) position of the correct choice in each original row.
        perturbed_labels: (N,) position of the correct choice in each perturbed row.

    Returns:
        The positions as a flat array.

    Raises:
        ValueError: If a row does not have one distinct position of the perturbed row for each own
            choice, or the perturbed label for the correct one.
    """
    rows = as_ragged(positions, "original_positions")
    check_same_length(predictions=original, original_positions=rows)
    for number, row in enumerate(rows):
        n_choices = int(perturbed.lengths[number])
        n_own_choices = original.lengths[number]
        values = row.tolist()
        valid_positions = set(values) & set(range(n_choices))
        has_all = len(values) == n_own_choices and len(valid_positions) == n_own_choices
        if not has_all or values[labels[number]] != perturbed_labels[number]:
            raise ValueError(
                "Expected `original_positions` to list the position of each original choice in "
                "the perturbed row once, with the correct choice at its position in "
                f"`perturbed_references`, but row {number} holds "
                f"{', '.join(f'{value:g}' for value in values)} of {n_choices} choices."
            )
    return rows.values.astype(np.int64)


def _restrict_confidence(perturbed: NDArray[np.float64], own_rows: Ragged) -> NDArray[np.float64]:
    """Return (N,) the confidence in the correct choice relative to the item's own choices.

    Args:
        perturbed: (N,) confidence in the correct choice after choices were added.
        own_rows: N rows of the confidences in the item's own choices after the addition.
    """
    mass = own_rows.reduce(np.add)
    has_mass = mass > 0
    divisor = np.where(has_mass, mass, 1.0)
    # Without any confidence in the own choices, none of them is preferred.
    return np.where(has_mass, perturbed / divisor, 1.0 / own_rows.lengths)


def _measure_drop(
    values: NDArray[np.float64], units: NDArray[np.intp] | None, resampling: Resampling | None
) -> Drop:
    """Return the mean drop of N items with its tests and interval.

    Args:
        values: (N,) confidence before minus confidence after.
        units: (N,) cluster number of each item, each of which the tests count once. None for
            independent items.
        resampling: Resampling of the interval. None for no interval.
    """
    # Rounding removes the error of the softmax, and adding 0 turns -0.0 into 0.0.
    drops = values.round(12) + 0.0
    interval = None
    if resampling is not None:
        interval = bootstrap_mean(drops, bounds=(-1.0, 1.0), clusters=units, resampling=resampling)
    # In the tests, equal drops must be exactly equal, and drops of a cluster that cancel exactly 0.
    # The mean of a cluster is rounded again, because it may have further decimals.
    unit_drops = average_units(_remove_rounding_noise(drops), units)
    tested_drops = _remove_rounding_noise(unit_drops)
    # The mean and its interval are computed without this rounding.
    return Drop(
        mean=float(drops.mean()),
        t_p_value=t_p_value(tested_drops),
        wilcoxon_p_value=wilcoxon_p_value(tested_drops),
        interval=interval,
    )


def _remove_rounding_noise(drops: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return drops without the decimals that float32 does not determine; one of 1e-6 is 0."""
    smallest = 10.0**-ROUNDING_DECIMALS
    return np.where(np.abs(drops) < smallest, 0.0, drops.round(ROUNDING_DECIMALS))
