"""Binned calibration errors: does a model's confidence match its accuracy?

`calibration_error` is the entry point. It parses the input into top labels (`confidences.py`),
selects the scores and events that the kind compares, sums them in bins (`core/binning.py`), and
combines the gaps of the bins by the norm (`norms.py`). An interval resamples the bins
(`error_interval.py`). `find_mistake` recognizes inputs that were mixed up.

A new kind is an entry of `KINDS` in `confidences.py`, a new norm one of `NORMS` in `norms.py`, and
a new strategy one of `STRATEGIES` in `core/binning.py`. The options here take their names from
these.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from rightreasons.calibration.confidences import (
    KINDS,
    TopLabel,
    parse_top_label,
)
from rightreasons.calibration.error_interval import Draws, make_error_interval
from rightreasons.calibration.norms import (
    NORMS,
    compute_binned_error,
    list_debiased_norms,
    split_error,
)
from rightreasons.core.arrays import Ragged
from rightreasons.core.binning import STRATEGIES, BinnedPairs, Bins, BinSums
from rightreasons.core.clusters import number_clusters
from rightreasons.core.errors import OptionError
from rightreasons.core.intervals import Interval
from rightreasons.core.options import Options, accept_options_as_keywords, option
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import MAX_BINS, SCORE_KINDS


class CalibrationErrorOptions(Options):
    """The options of `calibration_error`, checked."""

    n_bins: int = option(15, "Number of bins.", minimum=1, maximum=MAX_BINS)
    strategy: str = option(
        "uniform",
        "Bins of equal width (uniform) or of equal mass (quantile).",
        choices=tuple(STRATEGIES),
    )
    kind: str = option(
        "top_label",
        "What is compared: top_label, positive, classwise or confidence.",
        choices=tuple(KINDS),
    )
    norm: str = option("l1", "How gaps are summed: l1, l2 or max.", choices=tuple(NORMS))
    scores: str = option("probabilities", "What the predictions are.", choices=SCORE_KINDS)
    debias: bool = option(False, "Remove the noise of the accuracies from l1 or l2.")
    threshold: float = option(
        0.0, "Compare only scores above it, unless it is 0.", minimum=0.0, maximum=1.0
    )

    def _check(self) -> None:
        if self.debias and not self.has_debiased_form:
            raise ValueError(
                f"Expected {list_debiased_norms()} with debias=True, but got norm={self.norm!r}."
            )

    @property
    def has_debiased_form(self) -> bool:
        """Whether the error can be debiased, on which its interval rests."""
        return NORMS[self.norm].debias is not None

    def describe(self, *, is_vector: bool = False) -> str:
        """Return the definition of the error in words, with everything that changes its value.

        For example, "Top-label ECE: mean over the items of |accuracy - mean confidence| of their
        bin; 15 bins of equal width."

        Args:
            is_vector: Whether the predictions are one number per item.
        """
        kind = KINDS[self.kind]
        formula = NORMS[self.norm].description.format(
            units="items and the classes" if kind.is_classwise else "items",
            gap=f"|{kind.rate} - {kind.mean}|",
        )
        n_bins = "1 bin" if self.n_bins == 1 else f"{self.n_bins} bins"
        bins = f"{n_bins} of equal {STRATEGIES[self.strategy].quantity}"
        if kind.is_classwise:
            bins += " a class"

        # Options that change the error are named, because only errors of equal definition can be
        # compared.
        details = [bins]
        if self.threshold > 0:
            details.append(f"scores above {self.threshold:g} only")
        if self.debias:
            details.append("debiased (Kumar et al. 2019)")
        if is_vector and self.kind == "top_label":
            details.append("each prediction is P(class 1)")
        return f"{kind.error_name}: {formula}; {'; '.join(details)}."


@dataclasses.dataclass(frozen=True)
class CalibrationBin(Result):
    """One bin (lower, upper] of the table behind a reliability diagram.

    Attributes:
        lower: Lower edge, which does not belong to the bin (except to the first one).
        upper: Upper edge, which belongs to it.
        count: Number of scores.
        confidence: Mean score. None if the bin is empty.
        accuracy: Rate of events: of correct top labels, or of labels that are the class. None if
            the bin is empty.
        class_index: Class of the scores, for kind="classwise" and kind="positive". None for the
            other kinds.
    """

    lower: float
    upper: float
    count: int
    confidence: float | None
    accuracy: float | None
    class_index: int | None = None


@dataclasses.dataclass(frozen=True)
class CalibrationResult(Result):
    """A calibration error, its parts and the bins behind it. Fractions in [0, 1].

    Attributes:
        ece: Calibration error as in `definition`; 0 is best.
        mce: Largest gap between the mean score and the rate of events of a bin.
        accuracy: Share of items whose largest score is that of the label, among all items, whatever
            the kind and the threshold.
        mean_confidence: Mean of the largest probability of all items.
        overconfidence: Part of the plain l1 error from bins with confidence above accuracy.
        underconfidence: Part of the plain l1 error from bins with accuracy above confidence.
        n_items: Number of items.
        n_bins: Number of bins requested (for each class).
        definition: Definition of the error in words.
        bins: Bin table, with empty bins.
        interval: Confidence interval of the true error. None if it was not requested.
        warning: Sentence about a mistake that the input looks like. None if it looks right.
    """

    ece: float
    mce: float
    accuracy: float
    mean_confidence: float
    overconfidence: float
    underconfidence: float
    n_items: int
    n_bins: int
    definition: str
    bins: tuple[CalibrationBin, ...]
    interval: Interval | None = None
    warning: str | None = None


@accept_options_as_keywords(CalibrationErrorOptions)
def calibration_error(
    predictions: Any,
    references: Any,
    *,
    options: CalibrationErrorOptions,
    resampling: Resampling | None = None,
    clusters: Any = None,
) -> CalibrationResult:
    r"""Measure how far confidence is from accuracy, in bins of confidence.

    \[ ECE = \sum_{m=1}^{M} \frac{|B_m|}{n} \left| acc(B_m) - conf(B_m) \right|, \quad
       B_m = \{ i : \hat p_i \in (e_{m-1}, e_m] \} \]

    Confidence 0 belongs to the first bin and 1 to the last. The error lies in [0, 1]; lower is
    better.
    It is biased upward, more so with fewer items per bin: even a perfectly calibrated model scores
    above 0. `debias` corrects for most of the bias.

    **Interval.** It is a seeded bootstrap for the true error. With the plain error θ̂, the debiased
    error θ̃ and the debiased errors θ̃* of the resamples, its ends are θ̃ + θ̂ - θ̃* at the two
    quantiles, truncated to [0, 1]: the sample is the truth of its resamples, so θ̃* - θ̂ has the
    law of θ̃ - θ. For norm="l2" the same is done with the squares. norm="max" has no interval. It
    does not depend on `debias`, and is corrected in four cases:

    - For norm="l1" the low end is lower by the bias that θ̃ may have left (`bound_residual_bias`).
    - The low end is 0 if a calibrated model with the same scores would have so large an error in
      more than a share (1 - confidence_level) / 2 of samples. This does not apply to
      kind="classwise", because the labels of the classes are dependent.
    - The high end is at least the plain error, and at least the largest gap between mean confidence
      and a rate of events within its Wilson interval, below which no calibration error is (not for
      kind="classwise").
    - If the plain error is 0, or if all resamples are equal, a sample of this size may miss a share
      of all items (the rule of three), whose gap may be -1 or 1.

    Resamples are drawn from the bins, not from the rows. The counts of correct and incorrect items
    in the bins follow exactly the multinomial law of a bootstrap over rows with fixed edges. The
    sum of the confidences in a cell, given its count, follows a normal law with the bootstrap's
    mean and variance. On 1,000 items the ends agree with those of a row bootstrap within its Monte
    Carlo error. For kind="classwise", where an item is in one bin of every class, rows are
    resampled, and for clusters whole clusters; in 2,000 random groups if there are more.
    docs/calibration.md has the measured coverage: for l1 and 15 bins 92 to 100 % at a level of 95 %.

    Args:
        predictions: (N, K) class scores; (N,) P(class 1) of a binary task; or, for
            kind="top_label", N rows of different lengths (multiple choice). float16, bfloat16 and
            float32 are accepted: a row of probabilities may sum to 1 ± 0.01, and is not
            renormalized. For kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels from 0 to K - 1. For kind="confidence": (N,) whether the answer was
            correct (0 and 1 or booleans).
        n_bins: Number of bins M. Default 15.
        strategy: "uniform" (bins of equal width, the default) or "quantile" (bins of equal mass;
            equal scores share a bin).
        kind: Scores and events that are compared. "top_label" (default): the largest probability,
            with whether its class is the label (the first class among equals). "positive": P(class
            1) of a binary task, with whether the label is 1. "classwise": for each class, its
            probability, with whether it is the label, averaged over the classes. "confidence": the
            confidence in a given answer, in [0, 1], with whether it was correct. For two classes
            the first three are different figures: state which one you report.
        norm: "l1" (the formula above, the default), "l2" (root of the weighted mean square of the
            gaps) or "max" (the largest gap).
        scores: Scale of the predictions: "probabilities" (default), "logits" or
            "log_probabilities".
        debias: Whether to remove the noise of the accuracies from l1 or l2 (Kumar et al. 2019).
            Default False.
        threshold: Bound above which scores are compared; 0 (default) compares all. With
            kind="classwise" and strategy="quantile" the figure is ACE (Nixon et al. 2019, eq. 4),
            and with threshold=0.01 as well it is TACE (section 3.4).
        options: A `CalibrationErrorOptions` in place of these keywords.
        resampling: Level, number of resamples and seed of the interval. If None (default), there is
            none.
        clusters: (N,) names of the clusters that the items belong to, which are resampled as a
            whole. If None (default), the items are independent.

    Returns:
        A `CalibrationResult`: `ece` first, then mce, accuracy, mean confidence, the two parts,
        counts, the definition in words, the bin table, the interval and the warning.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value is wrong: rows that do not sum to 1, NaN, labels out of range,
            unequal lengths, empty input, unknown options, a kind that does not fit the input.

    Warns:
        PositiveVersusCorrectnessWarning: If a binary input looks like P(class 1), compared with
            whether the prediction was correct.
        ConfidenceVersusLabelWarning: If one number per item looks like confidence in the predicted
            class, compared with labels.

    References:
        Naeini, Cooper, Hauskrecht (2015), Obtaining Well Calibrated Probabilities Using Bayesian
        Binning. Guo, Pleiss, Sun, Weinberger (2017), On Calibration of Modern Neural Networks, eq.
        3 and 5. Nixon, Dusenberry, Zhang, Jerfel, Tran (2019), Measuring Calibration in Deep
        Learning, eq. 3-5. Kumar, Liang, Ma (2019), Verified Uncertainty Calibration, section 5.

    Example:
        >>> confidence = [0.95, 0.91, 0.85, 0.65, 0.62, 0.55]
        >>> labels = [1, 0, 1, 1, 0, 1]
        >>> result = calibration_error(confidence, labels, n_bins=10)
        >>> round(result.ece, 6), round(result.overconfidence, 6), round(result.underconfidence, 6)
        (0.288333, 0.188333, 0.1)
        >>> result.definition.split("; ")[1:]
        ['10 bins of equal width', 'each prediction is P(class 1).']
    """
    # Checked before the input, because reading the input may take long.
    if resampling is not None and not options.has_debiased_form:
        raise OptionError(
            f"Expected {list_debiased_norms()} for an interval, but got norm={options.norm!r}.",
            option="norm",
        )
    top = parse_top_label(predictions, references, scores=options.scores, kind=options.kind)
    sample = bin_pairs(top, options, clusters)
    mistake = find_mistake(top, is_vector=top.is_vector)
    result = make_calibration_result(
        top, sample, options, resampling, mistake=mistake, is_vector=top.is_vector
    )
    # Only this function warns. Callers of `compute_calibration` read the sentence from the result.
    if mistake is not None:
        # Level 3 attributes the warning to the caller, past the decorator of this function.
        warnings.warn(MISTAKES[mistake], mistake, stacklevel=3)
    return result


def compute_calibration(top: TopLabel, options: CalibrationErrorOptions) -> CalibrationResult:
    """Compute a calibration error from top labels, without an interval and without warnings.

    A suspected mistake in the input is described in the result's `warning` only.

    Args:
        top: Top labels of N items.
        options: Options of the error.
    """
    sample = bin_pairs(top, options)
    mistake = find_mistake(top, is_vector=False)
    return make_calibration_result(top, sample, options, mistake=mistake)


def make_calibration_result(
    top: TopLabel,
    sample: BinnedPairs,
    options: CalibrationErrorOptions,
    resampling: Resampling | None = None,
    *,
    draws: Draws | None = None,
    mistake: type[UserWarning] | None = None,
    is_vector: bool = False,
) -> CalibrationResult:
    """Compute the calibration error, its parts and its bin table from binned scores.

    Args:
        top: Top labels of N items.
        sample: The scores and events of the items in bins, from `bin_pairs`.
        options: Options of the error.
        resampling: Level and seed of the interval. If None, or if the norm has no interval, the
            result has none.
        draws: `draw_resamples` of the sample, if they have been drawn already. An audit uses them
            for several norms and levels.
        mistake: `find_mistake` of the items, for the `warning` of the result.
        is_vector: Whether the predictions were one number per item, for the `definition` of the
            result.
    """
    bins = sample.sums.bins
    # Empty input was refused when it was parsed, so the threshold excludes all scores.
    if not bins.count.any():
        raise ValueError(
            f"Expected at least one score above threshold={options.threshold:g} in `predictions`, "
            "but there is none."
        )
    overconfidence, underconfidence = split_error(bins)
    table = _make_table(sample.sums, options.kind)
    # The largest gap (norm="max") has no interval. An audit asks for it together with other norms.
    interval = None
    if resampling is not None and options.has_debiased_form:
        interval = make_error_interval(sample, options.norm, resampling, draws)
    return CalibrationResult(
        ece=float(compute_binned_error(bins, norm=options.norm, debias=options.debias)),
        mce=float(compute_binned_error(bins, norm="max")),
        accuracy=int(np.count_nonzero(top.correct)) / len(top),
        # Rounding may carry the mean of confidences of 1 above 1.
        mean_confidence=min(float(top.confidence.sum()) / len(top), 1.0),
        overconfidence=float(overconfidence),
        underconfidence=float(underconfidence),
        n_items=len(top),
        n_bins=options.n_bins,
        definition=options.describe(is_vector=is_vector),
        bins=table,
        interval=interval,
        warning=None if mistake is None else MISTAKES[mistake],
    )


def bin_pairs(top: TopLabel, options: CalibrationErrorOptions, clusters: Any = None) -> BinnedPairs:
    """Assign the scores and events that the options compare to bins.

    Args:
        top: Top labels of N items.
        options: Kind, bins and threshold; the norm does not matter.
        clusters: (N,) names of the clusters that the items belong to. If None, they are
            independent.
    """
    codes = None
    if clusters is not None:
        codes = number_clusters(clusters, len(top))
    return BinnedPairs(
        pairs=KINDS[options.kind].select_pairs(top),
        n_bins=options.n_bins,
        strategy=options.strategy,
        threshold=options.threshold,
        clusters=codes,
    )


def _make_table(sums: BinSums, kind: str) -> tuple[CalibrationBin, ...]:
    """Return the table of bins: all bins of each class, from low to high scores.

    Args:
        sums: The bins of C classes.
        kind: One of `KINDS`. It determines the field `class_index` of the rows.
    """
    rule = KINDS[kind]
    bins = sums.bins
    # Rounding of a long sum may carry the mean of equal scores above 1.
    confidence = np.clip(bins.score / bins.divisor, 0.0, 1.0)
    accuracy = bins.rate
    n_classes, n_bins = bins.count.shape
    table = []
    for k in range(n_classes):
        for m in range(n_bins):
            # An empty bin has no means.
            is_empty = bins.count[k, m] == 0
            row = CalibrationBin(
                lower=float(sums.edges[k, m]),
                upper=float(sums.edges[k, m + 1]),
                count=int(bins.count[k, m]),
                confidence=None if is_empty else float(confidence[k, m]),
                accuracy=None if is_empty else float(accuracy[k, m]),
                class_index=k if rule.is_classwise else rule.class_index,
            )
            table.append(row)
    return tuple(table)


ece = calibration_error
"""Short alias."""


# --- Inputs that look like a mistake

N_CHECK_BINS = 20
"""Bins of P(class 1) in the check for mistakes: an even number, so that one half mirrors the other.
"""

MIN_ITEMS_PER_SIDE = 10
"""Minimum number of items on each side of 0.5 for a warning; twice as many if all are on one side.
"""

MIN_Z_SCORE = 3.09
"""Standard errors that chance exceeds, to one side, in 0.1 % of cases."""


class PositiveVersusCorrectnessWarning(UserWarning):
    """P(class 1) seems to be compared with the correctness of the prediction, not with the label."""


class ConfidenceVersusLabelWarning(UserWarning):
    """Confidence in the predicted class seems to be compared with the label, not with correctness."""


MISTAKES: Mapping[type[UserWarning], str] = {
    PositiveVersusCorrectnessWarning: (
        "The predictions look like P(class 1), and the references like correctness. In this case, "
        "the result is not a calibration error: pass the labels as references, or, with "
        "kind='confidence', the larger of P(class 1) and 1 - P(class 1)."
    ),
    ConfidenceVersusLabelWarning: (
        "The predictions look like the confidence in the predicted class, and the references like "
        "class labels: no prediction is below 0.5, and they do not agree with the references. In "
        "this case, the result is not a calibration error: pass class scores with labels, or, with "
        "kind='confidence', whether each prediction is correct."
    ),
}
"""Sentence about each mistake, by its warning."""


def find_mistake(top: TopLabel, *, is_vector: bool) -> type[UserWarning] | None:
    """Check whether binary inputs look mixed up, such as confidence in place of P(class 1).

    Args:
        top: The top labels, computed from inputs that may be mixed up.
        is_vector: Whether the predictions were one number per item.

    Returns:
        The class of the warning about the mistake. None if the inputs look right.
    """
    rows = top.probabilities
    # P(class 1), confidence and correctness can be mixed up only if there are two classes.
    if isinstance(rows, Ragged) or rows.shape[1] != 2:
        return None
    sums = BinSums.from_pairs([(rows[:, 1], top.labels == 1)], N_CHECK_BINS)
    if _looks_like_correctness(sums.bins):
        return PositiveVersusCorrectnessWarning
    if is_vector and _looks_like_confidence(sums):
        return ConfidenceVersusLabelWarning
    return None


def _looks_like_correctness(bins: Bins) -> bool:
    """Return whether the references look like "was the prediction correct" instead of labels.

    Labels become more frequent as P(class 1) grows. Correctness does not: it is frequent at both
    ends. The references look like correctness if

    - there are at least ten items on each side of 0.5, and not all references are 1;
    - below 0.5, more than half of the references are 1, by over 3.09 standard errors (a one-sided
      probability of 0.1 %), and above 0.5 more than half are 1 as well;
    - max(p, 1 - p) has at most half the calibration error of p.

    Args:
        bins: (1, N_CHECK_BINS) bins of P(class 1) of equal width, with references as events.
    """
    half = N_CHECK_BINS // 2
    count = bins.count
    score = bins.score
    event = bins.event
    n_below = count[0, :half].sum()
    n_above = count[0, half:].sum()
    if min(n_below, n_above) < MIN_ITEMS_PER_SIDE or event.sum() == count.sum():
        return False
    # With labels, at most half of the references below 0.5 would be 1. The standard error of the
    # number of references 1 is sqrt(n) / 2 if half of them are.
    excess_below = event[0, :half].sum() - n_below / 2
    if excess_below <= MIN_Z_SCORE * np.sqrt(n_below) / 2:
        return False
    # Above 0.5 no test is needed: labels are frequent there, too.
    if event[0, half:].sum() <= n_above / 2:
        return False

    # Bins of max(p, 1 - p): the lower half, mirrored, is added to the upper half. An item with
    # score p in the lower half contributes the score 1 - p.
    mirrored = slice(half - 1, None, -1)
    folded = Bins(
        count=count[:, half:] + count[:, mirrored],
        score=score[:, half:] + (count - score)[:, mirrored],
        event=event[:, half:] + event[:, mirrored],
    )
    return bool(compute_binned_error(folded) <= compute_binned_error(bins) / 2)


def _looks_like_confidence(sums: BinSums) -> bool:
    """Return whether one number per item looks like confidence, compared with labels 0 and 1.

    Confidence in the predicted class of a binary task is never below 0.5. Read as P(class 1), it
    predicts many labels 1, and more of them where it is higher. The numbers look like confidence if

    - there are at least twenty items with both labels, and no prediction is below 0.5;
    - labels 1 are less frequent than predicted, by over 3.09 standard errors;
    - the predicted rise of the labels is significant, and the actual rise is at most a quarter of
    it.

    A model that is overconfident, and whose confidence is unrelated to correctness, looks the same.

    Args:
        sums: `N_CHECK_BINS` bins of the numbers of equal width, with labels as events.
    """
    half = N_CHECK_BINS // 2
    bins = sums.bins
    count = bins.count[0]
    score = bins.score[0]
    event = bins.event[0]
    n_items = count.sum()
    n_events = event.sum()
    if n_items < 2 * MIN_ITEMS_PER_SIDE or n_events in (0, n_items):
        return False
    # The last bin of the lower half contains 0.5 itself, so its mean is compared with 0.5 as well.
    if score[:half].sum() < count[:half].sum() / 2:
        return False
    # The variance of a label 1 with probability p is p - p².
    variance = max(score.sum() - sums.square[0].sum(), 0.0)
    if score.sum() - n_events <= MIN_Z_SCORE * np.sqrt(variance):
        return False

    # (M,) mean score of each bin minus the overall mean score; 0 for an empty bin.
    score_deviation = score - count * (score.sum() / n_items)
    is_filled = count > 0
    center = np.divide(score_deviation, count, out=np.zeros_like(score_deviation), where=is_filled)
    # How much the labels increase with the score, as a sum of products: first for calibrated labels,
    # then for the actual ones.
    predicted_rise = (count * center**2).sum()
    actual_rise = (event * center).sum()
    rate = n_events / n_items
    noise = np.sqrt(rate * (1 - rate) * predicted_rise)
    is_significant = predicted_rise > MIN_Z_SCORE * noise
    return bool(is_significant and actual_rise <= predicted_rise / 4)
