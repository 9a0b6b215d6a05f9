"""Before reading: does a model prefer choices where nothing makes one right, and do its answers need the question?"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from rightreasons.core.arrays import Ragged
from rightreasons.core.bootstrap import bootstrap_mean
from rightreasons.core.clusters import average_units, count_units, number_clusters, select_clusters
from rightreasons.core.estimates import Estimate, estimate_mean, estimate_rate, subtract_reference
from rightreasons.core.intervals import Interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import chances_p_value
from rightreasons.core.validation import check_labels, check_ragged, check_same_length

Alternative = Literal["two-sided", "less", "greater"]

DEFINITION = (
    "Prior bias: the population variance of the confidences over the choices of an item that has no right choice, "
    "averaged over items (Shen & Kejriwal)."
)


@dataclasses.dataclass(frozen=True)
class PseudoCorrect(Result):
    """How often a model still picks the choice that was right before the item was perturbed.

    Attributes:
        rate: Share of items whose pick is the pseudo-correct choice, in [0, 1].
        chance: The rate that picking at random would give, mean of 1/n.
        p_value: Two-sided test of the rate against chance (`chances_p_value`).
        test: "binomial" where all items have the same number of choices, "poisson_binomial", or "clusters".
        confidence_excess: Mean of (confidence in the pseudo-correct choice - 1/n).
        confidence_p_value: Two-sided one-sample t-test of that mean against 0; None with fewer than two items or
            where all excesses are equal.
    """

    rate: float
    chance: float
    p_value: float
    test: str
    confidence_excess: float
    confidence_p_value: float | None


@dataclasses.dataclass(frozen=True)
class PriorBias(Result):
    """The preference of a model on items without a right choice; see `prior_bias`.

    Attributes:
        prior_bias: Mean within-item population variance, from 0 (no preference) to (n-1)/n^2 (all on one choice).
        normalized_prior_bias: The same with each variance divided by its largest value, in [0, 1].
        divergence_from_uniform: Mean KL(C || uniform) in nats, from 0 to log n.
        normalized_divergence: The same with each divergence divided by log n, in [0, 1].
        mean_top_confidence: Mean of the largest confidence.
        n_items: How many items.
        t_p_value: One-sided one-sample t-test of mean variance > 0. A variance is never negative, so a small value says
            little by itself; the effect size and the pseudo-correct rate say more. None where undefined (fewer than two
            items, or all variances equal).
        wilcoxon_p_value: One-sided Wilcoxon signed-rank test of the same; None where all variances are 0.
        pseudo_correct: Preference for the choice that used to be right; None without references.
        interval: Interval of `prior_bias` over items (`bootstrap_mean`); None unless
            requested.
        definition: The measure in words.
    """

    prior_bias: float
    normalized_prior_bias: float
    divergence_from_uniform: float
    normalized_divergence: float
    mean_top_confidence: float
    n_items: int
    t_p_value: float | None
    wilcoxon_p_value: float | None
    pseudo_correct: PseudoCorrect | None
    interval: Interval | None
    definition: str = DEFINITION


def prior_bias(
    predictions: object,
    references: object = None,
    *,
    scores: str = "probabilities",
    clusters: object = None,
    resampling: Resampling | None = None,
) -> PriorBias:
    r"""Measure how far a model prefers some choices on items where none is right.

    For confidences C = (c_1, ..., c_n) of one item

        Var(C) = 1/n * sum_i (c_i - 1/n)^2,   normalized: Var(C) * n^2 / (n - 1),   KL(C || U) = log n - H(C)

    and the benchmark's figure is the mean over items. 0 is no preference; lower is better.

    Args:
        predictions: N rows of choice scores, of equal or different lengths (at least two choices per row).
        references: (N,) index of the pseudo-correct choice: the one that was right before the perturbation, where it
            is still there. None where no item has one; -1 for single items without one.
        scores: "probabilities" (default), "logits" or "log_probabilities"; softmax is taken within each row.
            Log-likelihoods of language models, which need not sum to 1, are "logits".
        clusters: (N,) names of the items that belong together, such as one template's: each counts once in the tests
            and in the interval. None (default) where each item is on its own.
        resampling: How the bootstrap interval is resampled; None (default) gives none.

    Returns:
        A `PriorBias`.

    Raises:
        TypeError: If the input is of the wrong kind.
        ValueError: If a row, a label or an option is wrong; the first bad one is named.

    References:
        Shen and Kejriwal (2022), "Understanding Prior Bias and Choice Paralysis in Transformer-based Language
        Representation Models through Four Experimental Probes", section 3.

    Example:
        >>> result = prior_bias([[0.7, 0.2, 0.1]])
        >>> round(result.prior_bias, 6), round(result.normalized_prior_bias, 6)
        (0.068889, 0.31)
    """
    rows = check_ragged(predictions, scores=scores)
    n, units = rows.lengths.astype(np.float64), number_clusters(clusters, len(rows))
    deviation = rows.values - np.repeat(1.0 / rows.lengths, rows.lengths)
    variance = Ragged(deviation**2, rows.offsets).reduce(np.add) / n
    divergence = np.log(n) - Ragged(special.entr(rows.values), rows.offsets).reduce(np.add)
    largest = (n - 1) / n**2
    return PriorBias(
        prior_bias=float(variance.mean()),
        normalized_prior_bias=float((variance / largest).mean()),
        divergence_from_uniform=float(divergence.mean()),
        normalized_divergence=float((divergence / np.log(n)).mean()),
        mean_top_confidence=float(rows.reduce(np.maximum).mean()),
        n_items=len(rows),
        t_p_value=t_p_value(average_units(variance, units), "greater"),
        wilcoxon_p_value=wilcoxon_p_value(average_units(variance, units), "greater"),
        pseudo_correct=None if references is None else _pseudo_correct(rows, references, units),
        interval=None
        if resampling is None
        else bootstrap_mean(
            variance, bounds=(0.0, float(largest.max())), clusters=units, resampling=resampling
        ),
    )


def t_p_value(values: NDArray[np.float64], alternative: Alternative = "two-sided") -> float | None:
    """Test a mean against 0 by the one-sample t-test; None with fewer than two values or none that differ."""
    if len(values) < 2 or np.ptp(values) <= 1e-12:  # differences of that size are rounding
        return None
    return float(stats.ttest_1samp(values, 0.0, alternative=alternative).pvalue)


def wilcoxon_p_value(
    values: NDArray[np.float64], alternative: Alternative = "two-sided"
) -> float | None:
    """Test symmetry around 0 by the Wilcoxon signed-rank test; None where all values are 0."""
    if not values.any():
        return None
    return float(stats.wilcoxon(values, alternative=alternative).pvalue)


def _pseudo_correct(
    rows: Ragged, references: object, units: NDArray[np.intp] | None
) -> PseudoCorrect | None:
    check_same_length(predictions=rows, references=references)
    labels = check_labels(references, rows.lengths, minimum=-1)
    known = labels >= 0
    if not known.any():
        return None
    chances, units = 1.0 / rows.lengths[known], select_clusters(units, known)
    test = "binomial" if (chances == chances[0]).all() else "poisson_binomial"
    hits = (rows.argmax() == labels)[known]
    excess = rows.at(np.maximum(labels, 0))[known] - chances
    return PseudoCorrect(
        rate=float(hits.mean()),
        chance=float(chances.mean()),
        p_value=chances_p_value(hits, chances, clusters=units),
        test=test if units is None else "clusters",
        confidence_excess=float(excess.mean()),
        confidence_p_value=t_p_value(average_units(excess, units)),
    )


DISSENT = 2.0
"""So many items more, whose answer changes, are in the error of the answers that stay, so that it is never zero."""


@dataclasses.dataclass(frozen=True)
class Reading(Result):
    """What becomes of the answers without the question; see `measure_reading`.

    Attributes:
        kept: Share of the items whose answer stays the same.
        by_chance: The share that would stay if the two answers to an item had nothing to do with each other.
        beyond_chance: (kept - by_chance) / (1 - by_chance); None where all would stay by chance.
        accuracy: Accuracy with the question.
        accuracy_without: Accuracy without it: the share of items whose right choice is picked all the same.
        guessing: The accuracy of guessing, mean of 1/n.
        lost: Accuracy with the question minus that without it, paired.
        n_items: Items with an answer to the question.
        n_units: The clusters that they belong to; without clusters, the items.
        n_unanswered: Items of these that have no answer without it, which counts as a changed and wrong one.
    """

    kept: Estimate
    by_chance: float
    beyond_chance: Estimate
    accuracy: Estimate
    accuracy_without: Estimate
    guessing: float
    lost: Estimate
    n_items: int
    n_units: int
    n_unanswered: int

    @property
    def excess(self) -> Estimate:
        """Accuracy without the question above that of guessing."""
        return subtract_reference(self.accuracy_without, self.guessing)


def measure_reading(
    answers: Any,
    without: Any,
    references: Any = None,
    *,
    n_choices: Any,
    clusters: Any = None,
    resampling: Resampling = Resampling(),
) -> Reading | None:
    r"""Compare the answers to some items with those to the same choices without, or after another, question.

    With \(x_i\) the answer to item i and \(y_i\) that without its question, the share that stays is the mean of
    \(1[x_i = y_i]\). Two answers may also agree by chance: both lean to one position, or both are often right. So
    chance is the agreement of answers to *different* items of one stratum, those with the same number of choices and
    the right choice in the same position,

    \[ c_i = \#\{j \in S_i: y_j = x_i\} / \#S_i, \quad k_i = 1[x_i = y_i], \quad
       \kappa = \frac{\bar k - \bar c}{1 - \bar c} \]

    with \(S_i\) the items of the stratum of i that are not of its cluster.

    It is \(\sum_k p_k q_k\) of the positions within a stratum, without an item's agreement with itself: what a random
    exchange of questions leaves on average. κ is Cohen's, over strata: 1 where no answer depends on the question, 0
    where the answers with it have nothing to do with those without, and s for a model that keeps its answer in a share
    s of the items and reads in the others. A model that answers all questions right, and without them knows most
    answers from the choices, has 0.

    The error of κ is linearized, over clusters, with Student's t. An item without an answer y counts as changed; the
    upper end of κ is where each of them stays.

    Args:
        answers: (N,) picked choices; -1 for no answer, which leaves an item out.
        without: (N,) picked choices of the same items without their question; -1 for no answer.
        references: (N,) right choices. None (default): chance is over all items of one number of choices, and the
            accuracies are those of no item.
        n_choices: (N,) number of choices of each item.
        clusters: (N,) names of what belongs together; None where each item is on its own.
        resampling: Its level is that of the intervals.

    Returns:
        A `Reading`; None where no item has an answer, or no two of a stratum do.

    Raises:
        TypeError: If something is no whole numbers.
        ValueError: If lengths differ, or an answer is none of its item's choices.

    References:
        Cohen (1960), A Coefficient of Agreement for Nominal Scales; Balepur et al. (2024), Artifacts or Abduction: How
        Do LLMs Answer Multiple-Choice Questions Without the Question?

    Example:
        Of four items two keep the first choice, and of the answers to different items half agree too.

        >>> reading = measure_reading([0, 0, 1, 1], [0, 0, 0, 0], n_choices=[2] * 4)
        >>> reading.kept.value, reading.by_chance, reading.beyond_chance.value
        (0.5, 0.5, 0.0)
    """
    sizes = check_labels(n_choices, minimum=1, name="n_choices")
    columns = {"answers": answers, "without": without} | (
        {} if references is None else {"references": references}
    )
    check_same_length(n_choices=sizes, **columns)
    before, after = (
        check_labels(columns[name], sizes, minimum=-1, name=name) for name in ("answers", "without")
    )
    right = np.zeros_like(before) if references is None else check_labels(references, sizes)
    known = before >= 0
    units = select_clusters(number_clusters(clusters, len(before)), known)
    before, after, right, sizes = (column[known] for column in (before, after, right, sizes))
    if not len(before):
        return None
    hits = [before == right, after == right]
    lost = hits[0].astype(np.float64) - hits[1]
    kept, n_unanswered = before == after, int((after < 0).sum())
    by_chance, kappa = _beyond_chance(
        before, after, right * (sizes.max() + 1) + sizes, units, resampling
    )
    shares = [estimate_rate(each, resampling, units) or Estimate(None) for each in (kept, *hits)]
    return Reading(
        kept=shares[0],
        by_chance=by_chance,
        beyond_chance=kappa,
        accuracy=shares[1],
        accuracy_without=shares[2],
        guessing=float((1 / sizes).mean()),
        lost=estimate_mean(lost, resampling, bounds=(-1.0, 1.0), clusters=units) or Estimate(None),
        n_items=len(before),
        n_units=count_units(units, len(before)),
        n_unanswered=n_unanswered,
    )


def _beyond_chance(
    before: NDArray[np.int64],
    after: NDArray[np.int64],
    stratum: NDArray[np.int64],
    units: Any,
    resampling: Resampling,
) -> tuple[float, Estimate]:
    """Return the agreement by chance, and κ with its interval; without an interval where all agree by chance."""
    unit = np.arange(len(before)) if units is None else units
    strata, stratum = np.unique(stratum, return_inverse=True)
    unit, group = (
        np.unique(codes, return_inverse=True)[1] for codes in (unit, unit * len(strata) + stratum)
    )
    x, y, n_answers = before + 1, after + 1, int(max(before.max(), after.max())) + 2

    def others(answer: NDArray[np.int64], of: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the share of the items of other clusters of the stratum whose `of` is an item's own answer."""
        counts = []
        for part in (stratum, group):
            table = np.bincount(part * n_answers + of, minlength=(int(part.max()) + 1) * n_answers)
            counts.append((table[part * n_answers + answer], np.bincount(part)[part]))
        (hits, n), (own_hits, own_n) = counts
        return np.asarray(
            (hits - own_hits) / np.where(n > own_n, n - own_n, np.nan), dtype=np.float64
        )

    by_other_y, by_other_x = others(x, y), others(y, x)
    fits = np.isfinite(by_other_y)
    if not fits.any():
        return 1.0, Estimate(
            None, method="No two items have the same number of choices and place of the right one."
        )
    stays = (before == after).astype(np.float64)[fits]
    by_other_y, by_other_x, stratum, unit = (
        by_other_y[fits],
        by_other_x[fits],
        stratum[fits],
        unit[fits],
    )
    n, chance = len(stays), float(by_other_y.mean())
    if chance > 1 - 1e-9:
        return 1.0, Estimate(None, method="All answers stay by chance.")
    kappa = (float(stays.mean()) - chance) / (1 - chance)
    of_stratum = (np.bincount(stratum, by_other_y) / np.maximum(np.bincount(stratum), 1))[stratum]
    error = stays - stays.mean() - (1 - kappa) * (by_other_y + by_other_x - of_stratum - chance)
    n_groups = len(np.unique(unit))
    square = n_groups / max(n_groups - 1, 1) * float((np.bincount(unit, error) ** 2).sum())
    deviation = np.sqrt(square + (DISSENT * n / n_groups) ** 2) / (n * (1 - chance))
    half = float(special.stdtrit(max(n_groups - 1, 1), 0.5 + resampling.level / 2) * deviation)
    high = min(1.0, kappa + half + float((after < 0).mean()) / (1 - chance))
    return chance, Estimate(
        kappa,
        max(-1.0, kappa - half),
        high,
        resampling.level,
        "Student's t of the linearized kappa",
    )
