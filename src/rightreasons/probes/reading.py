"""Use of the question: do the answers of a model change without its question?

`measure_reading` compares the answers to items with the answers to the same choices without the
question, or after a different one, and corrects the agreement for chance.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.arrays import Floats
from rightreasons.core.clusters import count_units, number_clusters, select_clusters
from rightreasons.core.estimates import Estimate, estimate_mean, estimate_rate, subtract_reference
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_labels, check_same_length

CHANGED_PSEUDO_ITEMS = 2.0
"""Changed answers added to the error of the agreement, so that it is never 0."""


@dataclasses.dataclass(frozen=True)
class Reading(Result):
    """Answers with and without the question, from `measure_reading`.

    Attributes:
        kept: Share of the items whose answer stays the same.
        by_chance: Share that would stay if the two answers to an item were unrelated.
        beyond_chance: (kept - by_chance) / (1 - by_chance). None if all would stay by chance.
        accuracy: Accuracy with the question.
        accuracy_without: Accuracy without the question.
        guessing: Expected accuracy of guessing, the mean of 1/n.
        accuracy_loss: Accuracy with the question minus accuracy without it, paired.
        n_items: Number of items with an answer to the question.
        n_units: Number of clusters of these items; without clusters, the number of items.
        n_unanswered: Number of these items without an answer without the question, which counts
            as changed and incorrect.
    """

    kept: Estimate
    by_chance: float
    beyond_chance: Estimate
    accuracy: Estimate
    accuracy_without: Estimate
    guessing: float
    accuracy_loss: Estimate
    n_items: int
    n_units: int
    n_unanswered: int

    @property
    def is_informative(self) -> bool:
        """Whether the agreement beyond chance is known at all.

        If a model nearly always gives the same answer, any agreement may be due to chance.
        """
        agreement = self.beyond_chance
        if agreement.value is None:
            return False
        if agreement.low is None or agreement.high is None:
            return True
        return agreement.low > -1 or agreement.high < 1

    @property
    def excess(self) -> Estimate:
        """Accuracy without the question above that of guessing."""
        return subtract_reference(self.accuracy_without, self.guessing)


def measure_reading(
    answers: Any,
    answers_without: Any,
    references: Any = None,
    *,
    n_choices: Any,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> Reading | None:
    r"""Compare the answers to items with the answers to the same choices without the question.

    Instead of no question, the second answers may follow another one. With \(x_i\) the answer to
    item i and \(y_i\) the answer without its question, the share that stays is the mean of
    \(1[x_i = y_i]\). Two answers may also agree by chance: both prefer one position, or both are
    often correct. So chance is the agreement of answers to *different* items of one stratum, which
    have the same number of choices and the correct choice in the same position,

    \[ c_i = \#\{j \in S_i: y_j = x_i\} / \#S_i, \quad k_i = 1[x_i = y_i], \quad
       \kappa = \frac{\bar k - \bar c}{1 - \bar c} \]

    with \(S_i\) the items of the stratum of i that are not of its cluster.

    It is \(\sum_k p_k q_k\) of the positions within a stratum, without the agreement of an item
    with itself: the expected agreement after a random exchange of questions. κ is Cohen's, over
    strata: 1 if no answer depends on the question, 0 if the answers with it are unrelated to those
    without it, and s for a model that keeps its answer in a share s of the items and reads in the
    others. A model that answers all questions correctly, and without them infers most answers from
    the choices, has 0.

    The error of κ is linearized, over clusters, with Student's t. An item without an answer y
    counts as changed; the upper end of κ assumes that each of them stays.

    Args:
        answers: (N,) selected choices; -1 for no answer, which excludes an item.
        answers_without: (N,) selected choices of the same items without their question; -1 for no answer.
        references: (N,) correct choices. If None (default), chance is over all items with the same
            number of choices, and the accuracies have no meaning.
        n_choices: (N,) number of choices of each item.
        clusters: (N,) names of clusters of items. None (default) for independent items.
        resampling: Confidence level of the intervals.

    Returns:
        A `Reading`; None if no item has an answer.

    Raises:
        TypeError: If something is not whole numbers.
        ValueError: If lengths differ, or an answer is not one of the choices of its item.

    References:
        Cohen (1960), A Coefficient of Agreement for Nominal Scales; Balepur et al. (2024),
        Artifacts or Abduction: How Do LLMs Answer Multiple-Choice Questions Without the Question?

    Example:
        Of four items two keep the first choice. The answers to different items agree as often.

        >>> reading = measure_reading([0, 0, 1, 1], [0, 0, 0, 0], n_choices=[2] * 4)
        >>> reading.kept.value, reading.by_chance, reading.beyond_chance.value
        (0.5, 0.5, 0.0)
    """
    sizes = check_labels(n_choices, minimum=1, name="n_choices")
    columns = {"answers": answers, "answers_without": answers_without}
    if references is not None:
        columns["references"] = references
    check_same_length(n_choices=sizes, **columns)
    with_question = check_labels(answers, sizes, minimum=-1, name="answers")
    without_question = check_labels(answers_without, sizes, minimum=-1, name="answers_without")
    labels = np.zeros_like(with_question)
    if references is not None:
        labels = check_labels(references, sizes)
    codes = number_clusters(clusters, len(with_question))

    is_answered = with_question >= 0
    if not is_answered.any():
        return None
    with_question = with_question[is_answered]
    without_question = without_question[is_answered]
    labels = labels[is_answered]
    sizes = sizes[is_answered]
    units = select_clusters(codes, is_answered)

    # Items of one stratum have as many choices, and the correct one in the same position. Both
    # numbers are joined to one, which is unique as a size is below sizes.max() + 1.
    strata = labels * (sizes.max() + 1) + sizes
    by_chance, kappa = _measure_agreement(
        with_question, without_question, strata, units, resampling
    )
    is_correct = with_question == labels
    is_correct_without = without_question == labels
    loss = is_correct.astype(np.float64) - is_correct_without
    accuracy_loss = estimate_mean(loss, resampling, bounds=(-1.0, 1.0), clusters=units)
    return Reading(
        kept=_estimate_share(with_question == without_question, resampling, units),
        by_chance=by_chance,
        beyond_chance=kappa,
        accuracy=_estimate_share(is_correct, resampling, units),
        accuracy_without=_estimate_share(is_correct_without, resampling, units),
        guessing=float((1 / sizes).mean()),
        accuracy_loss=accuracy_loss or Estimate(None),
        n_items=len(with_question),
        n_units=count_units(units, len(with_question)),
        n_unanswered=int((without_question < 0).sum()),
    )


def _estimate_share(flags: NDArray[np.bool_], resampling: Resampling, units: Any) -> Estimate:
    """Return the share of (N,) flags with its interval over clusters; undefined without flags."""
    return estimate_rate(flags, resampling, units) or Estimate(None)


def _measure_agreement(
    with_question: NDArray[np.int64],
    without_question: NDArray[np.int64],
    strata: NDArray[np.int64],
    units: Any,
    resampling: Resampling,
) -> tuple[float, Estimate]:
    """Measure the agreement of two answers to each item beyond the agreement by chance.

    Args:
        with_question: (N,) selected choices.
        without_question: (N,) selected choices without the question; -1 if there is none.
        strata: (N,) stratum of each item. Chance is the agreement of answers to different items of
            one stratum.
        units: (N,) cluster numbers. None for independent items.
        resampling: Confidence level of the interval.

    Returns:
        The agreement by chance, and Cohen's κ = (agreement - chance) / (1 - chance) with its
        interval. If κ is undefined, 1 and an estimate without a value, whose method is the reason.
    """
    items = _compare_with_others(with_question, without_question, strata, units)
    n_items = len(items.stays)
    if n_items == 0:
        reason = "No two items have the same number of choices and position of the correct one."
        return 1.0, Estimate(None, method=reason)
    chance = float(items.chance_with.mean())
    # κ is divided by 1 - chance.
    if chance > 1 - 1e-9:
        return 1.0, Estimate(None, method="All answers stay by chance.")
    kappa = (float(items.stays.mean()) - chance) / (1 - chance)

    # The error of (1 - chance) κ is that of a sum of influences, which clusters share. The factor
    # C / (C - 1) corrects the variance between C clusters for the estimated mean.
    n_units = len(np.unique(items.unit))
    n_degrees = max(n_units - 1, 1)
    unit_influence = np.bincount(items.unit, _compute_influence(items, kappa))
    variance = n_units / n_degrees * float((unit_influence**2).sum())
    # If no answer changes, all influences are 0, but an answer to a further item may change.
    variance += (CHANGED_PSEUDO_ITEMS * n_items / n_units) ** 2
    standard_error = np.sqrt(variance) / (n_items * (1 - chance))
    quantile = special.stdtrit(n_degrees, 0.5 + resampling.level / 2)
    half_width = float(quantile * standard_error)
    # Missing answers count as changed, but may have stayed, which raises the upper end.
    missing_share = float((without_question < 0).mean())
    return chance, Estimate(
        value=kappa,
        low=max(-1.0, kappa - half_width),
        high=min(1.0, kappa + half_width + missing_share / (1 - chance)),
        level=resampling.level,
        method="Student's t of the linearized kappa",
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _ComparedItems:
    """Items whose stratum has other items.

    Attributes:
        stays: (N,) 1 if the answer stays without the question, otherwise 0.
        chance_with: (N,) share of other items that have the item's answer without their question.
        chance_without: (N,) share of other items whose answer is that of the item without its
            question.
        stratum: (N,) number of the stratum of each item.
        unit: (N,) number of the cluster of each item.
    """

    stays: Floats
    chance_with: Floats
    chance_without: Floats
    stratum: NDArray[np.intp]
    unit: NDArray[np.intp]


def _compare_with_others(
    with_question: NDArray[np.int64],
    without_question: NDArray[np.int64],
    strata: NDArray[np.int64],
    units: Any,
) -> _ComparedItems:
    """Compare the two answers to each item, and each of them with the answers to other items.

    Args:
        with_question: (N,) selected choices.
        without_question: (N,) selected choices without the question; -1 if there is none.
        strata: (N,) stratum of each item. Only items of one stratum are compared.
        units: (N,) cluster numbers. Items of one cluster are not compared. None for independent
            items.

    Returns:
        The comparisons of the items that have others to compare with.
    """
    if units is None:
        units = np.arange(len(with_question))
    distinct_strata, stratum = np.unique(strata, return_inverse=True)
    _, unit = np.unique(units, return_inverse=True)
    # A group is the items of one cluster within one stratum.
    _, group = np.unique(units * len(distinct_strata) + stratum, return_inverse=True)

    # Choices are shifted by 1, so that a missing answer becomes 0. Only `without_question` has
    # missing answers, so that 0 never equals an answer with the question.
    choice_with = with_question + 1
    choice_without = without_question + 1
    chance_with = _compute_share_among_others(choice_with, choice_without, stratum, group)
    chance_without = _compute_share_among_others(choice_without, choice_with, stratum, group)
    stays = (with_question == without_question).astype(np.float64)
    # Items without others in their stratum have no agreement by chance, and are left out.
    has_others = np.isfinite(chance_with)
    return _ComparedItems(
        stays=stays[has_others],
        chance_with=chance_with[has_others],
        chance_without=chance_without[has_others],
        stratum=stratum[has_others],
        unit=unit[has_others],
    )


def _compute_influence(items: _ComparedItems, kappa: float) -> Floats:
    """Compute the influence of each item on κ, multiplied by N (1 - chance).

    With the agreement k and the chance c, κ = (k - c) / (1 - c). To first order, item i changes it
    by ((k_i - k) - (1 - κ) (c_i - c)) / (N (1 - c)). It changes the chance twice: its answer with
    the question is compared with the others, and they with its answer without the question.

    Args:
        items: For each item, whether its answer stays, and its chance agreements k_i and c_i.
        kappa: κ of all items.

    Returns:
        (N,) influences, whose sum is about 0.
    """
    # At least 1, to avoid 0 / 0 for a stratum without items, whose mean is not used.
    n_by_stratum = np.maximum(np.bincount(items.stratum), 1)
    mean_by_stratum = np.bincount(items.stratum, items.chance_with) / n_by_stratum
    stratum_chance = mean_by_stratum[items.stratum]
    chance = float(items.chance_with.mean())
    chance_deviation = items.chance_with + items.chance_without - stratum_chance - chance
    agreement_deviation = items.stays - items.stays.mean()
    return np.asarray(agreement_deviation - (1 - kappa) * chance_deviation)


def _compute_share_among_others(
    answers: NDArray[np.int64],
    other_answers: NDArray[np.int64],
    stratum: NDArray[np.int64],
    group: NDArray[np.int64],
) -> Floats:
    """Return the share of other items of its stratum whose second answer equals an item's answer.

    Args:
        answers: (N,) answer to each item, such as that with the question.
        other_answers: (N,) second answer to each item, such as that without the question.
        stratum: (N,) stratum number of each item.
        group: (N,) group number of each item. The items of its group, which is a part of its
            stratum, do not count as others.

    Returns:
        (N,) shares; NaN for an item without others.
    """
    n_choices = int(max(answers.max(), other_answers.max())) + 1
    n_equal, n_items = _count_equal_answers(answers, other_answers, stratum, n_choices)
    n_own_equal, n_own_items = _count_equal_answers(answers, other_answers, group, n_choices)
    # Dividing by NaN instead of 0 gives NaN without a warning.
    n_others = np.where(n_items > n_own_items, n_items - n_own_items, np.nan)
    return np.asarray((n_equal - n_own_equal) / n_others, dtype=np.float64)


def _count_equal_answers(
    answers: NDArray[np.int64],
    other_answers: NDArray[np.int64],
    group: NDArray[np.int64],
    n_choices: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count, for each item, the items of its group whose second answer equals its answer.

    Args:
        answers: (N,) answer to each item, from 0.
        other_answers: (N,) second answer to each item, from 0.
        group: (N,) group number of each item, from 0.
        n_choices: Number of possible answers.

    Returns:
        (N,) number of these items, and (N,) number of all items of the group.
    """
    # The (groups, choices) table of second answers is flat: entry group * n_choices + answer.
    n_entries = (int(group.max()) + 1) * n_choices
    table = np.bincount(group * n_choices + other_answers, minlength=n_entries)
    n_equal = table[group * n_choices + answers]
    n_items = np.bincount(group)[group]
    return n_equal, n_items
