"""Choice paralysis: does confidence in the right choice drop when wrong choices are added?"""

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
    "Choice paralysis: confidence in the right choice before minus after wrong choices were added, averaged over items "
    "(Shen & Kejriwal); positive where confidence drops."
)


ROUNDING = 1e-6
"""Drops below this are rounding of scores in float32, which ranks would take for a finding: tests count them as 0."""


@dataclasses.dataclass(frozen=True)
class Drop(Result):
    """A mean paired drop with its tests.

    Attributes:
        mean: Mean drop over items, in [-1, 1].
        t_p_value: Two-sided paired t-test; None with fewer than two items or where all drops are equal.
        wilcoxon_p_value: Two-sided Wilcoxon signed-rank test; None where all drops are 0.
        interval: Interval of the mean over items (`bootstrap_mean`); None unless requested.
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
    """What added choices do to a model; see `choice_paralysis`.

    Attributes:
        choice_paralysis: Mean confidence drop in the right choice, in [-1, 1].
        drop: The same with its tests and interval.
        restricted_drop: The drop that is left when only the item's own choices share the confidence: free of dilution,
            and 0 for every model that scores each choice by itself.
        mechanical_drop: `choice_paralysis` minus `restricted_drop.mean`: the dilution by the added choices.
        null_drop: The drop if every added choice had the mean exponentiated score of the item's own choices,
            mean of c * k / (n + k).
        confidence: Mean confidence in the right choice before.
        perturbed_confidence: The same after.
        restricted_confidence: The same after, among the item's own choices.
        accuracy: Accuracy before.
        perturbed_accuracy: Accuracy after.
        restricted_accuracy: Accuracy after, among the item's own choices.
        n_items: How many items.
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
    r"""Measure what wrong choices that are added to an item do to the confidence in the right one.

        CP_i = c_i - c'_i = (c_i - r_i) + (r_i - c'_i),   r_i = c'_i / sum of c' over the item's own choices

    with c and c' the confidence in the right choice before and after. A model that scores each choice by itself leaves
    its scores unchanged, so that c' < c for every item and r = c: its whole drop is dilution by the softmax. Only c - r
    can show that a model decides otherwise because of the added choices.

    Args:
        predictions: N rows of choice scores of the items as they were.
        perturbed_predictions: N rows of the same items with added choices, in the same order.
        references: (N,) index of the right choice in the rows of `predictions`.
        perturbed_references: (N,) its index in the rows of `perturbed_predictions`.
        original_positions: N rows with the position of each of the item's own choices in the perturbed row. None
            (default): the other own choices come first, in order, among the choices that are not the right one, as the
            probe `extra_choices` writes them.
        scores: "probabilities" (default), "logits" or "log_probabilities".
        clusters: (N,) names of the items that belong together, each of which counts once in tests and intervals; None
            (default) where each item is on its own.
        resampling: How the bootstrap intervals are resampled; None (default) gives none.

    Returns:
        A `ChoiceParalysis`. Where the item's own choices get no confidence at all, r is 1/n.

    Raises:
        TypeError: If the input is of the wrong kind.
        ValueError: If rows, labels or positions do not fit; the first bad one is named.

    References:
        Shen and Kejriwal (2022), "Understanding Prior Bias and Choice Paralysis in Transformer-based Language
        Representation Models through Four Experimental Probes", section 3.

    Example:
        The scores 2 and 1 stay and a third choice with score 1 comes: 2/3 becomes 2/4, all by dilution.

        >>> result = choice_paralysis([[2 / 3, 1 / 3]], [[0.5, 0.25, 0.25]], [0], [0])
        >>> round(result.choice_paralysis, 6), round(result.restricted_drop.mean, 6)
        (0.166667, 0.0)
    """
    before = check_ragged(predictions, scores=scores)
    after = check_ragged(perturbed_predictions, scores=scores, name="perturbed_predictions")
    check_same_length(
        predictions=before,
        perturbed_predictions=after,
        references=references,
        perturbed_references=perturbed_references,
    )
    labels = check_labels(references, before.lengths)
    moved = check_labels(perturbed_references, after.lengths, name="perturbed_references")
    added = after.lengths - before.lengths
    if (added < 1).any():
        item = int(np.flatnonzero(added < 1)[0])
        raise ValueError(
            "Expected each row of `perturbed_predictions` to have more choices than its original, but row "
            f"{item} has {after.lengths[item]} and the original {before.lengths[item]}."
        )
    units = number_clusters(clusters, len(before))
    places = _own_choices(before, after, labels, moved, original_positions)
    confidence = before.at(labels)
    perturbed = after.at(moved)
    kept = Ragged(after.values[places], before.offsets)
    mass = kept.reduce(np.add)
    restricted = np.where(mass > 0, perturbed / np.where(mass > 0, mass, 1.0), 1.0 / before.lengths)
    best = places[before.starts + kept.argmax()]
    drop, restricted_drop = confidence - perturbed, confidence - restricted
    null = confidence * added / after.lengths
    accuracy = float((before.argmax() == labels).mean())
    perturbed_accuracy = float((after.argmax() == moved).mean())
    return ChoiceParalysis(
        choice_paralysis=float(drop.mean()),
        drop=_drop(drop, units, resampling),
        restricted_drop=_drop(restricted_drop, units, resampling),
        mechanical_drop=float(drop.mean() - restricted_drop.mean()),
        null_drop=float(null.mean()),
        confidence=float(confidence.mean()),
        perturbed_confidence=float(perturbed.mean()),
        restricted_confidence=float(restricted.mean()),
        accuracy=accuracy,
        perturbed_accuracy=perturbed_accuracy,
        restricted_accuracy=float((best - after.starts == moved).mean()),
        n_items=len(before),
    )


def _own_choices(
    before: Ragged,
    after: Ragged,
    labels: NDArray[np.int64],
    moved: NDArray[np.int64],
    positions: object,
) -> NDArray[np.int64]:
    """Return the flat index into the perturbed rows of every own choice, laid out as the original rows."""
    if positions is None:
        slot = np.arange(len(before.values)) - np.repeat(before.starts, before.lengths)
        label, place = (np.repeat(values, before.lengths) for values in (labels, moved))
        # The j-th other choice is at the j-th position that is not the right choice's.
        rank = slot - (slot > label)
        inside = np.where(slot == label, place, rank + (rank >= place))
    else:
        rows = as_ragged(positions, "original_positions")
        check_same_length(predictions=before, original_positions=rows)
        for row, places in enumerate(rows):
            held, n = places.tolist(), int(after.lengths[row])
            fits = len(held) == before.lengths[row] == len({*held} & {*range(n)})
            if not fits or held[labels[row]] != moved[row]:
                raise ValueError(
                    "Expected `original_positions` to say where each own choice is in the perturbed row, each once and "
                    f"the right one as `perturbed_references` has it, but row {row} holds "
                    f"{', '.join(f'{place:g}' for place in held)} of {n} choices."
                )
        inside = rows.values.astype(np.int64)
    return np.asarray(inside + np.repeat(after.starts, before.lengths), dtype=np.int64)


def _drop(
    values: NDArray[np.float64], units: NDArray[np.intp] | None, resampling: Resampling | None
) -> Drop:
    values, interval = (
        values.round(12) + 0.0,
        None,
    )  # without the rounding of a softmax, and no negative zero
    if resampling is not None:
        interval = bootstrap_mean(values, bounds=(-1.0, 1.0), clusters=units, resampling=resampling)
    changes = average_units(np.where(np.abs(values) < ROUNDING, 0.0, values), units)
    return Drop(float(values.mean()), t_p_value(changes), wilcoxon_p_value(changes), interval)
