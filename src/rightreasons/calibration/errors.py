"""Binned calibration errors: does a model's confidence match its accuracy?"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.calibration.confidences import (
    ANSWER_KINDS,
    MISTAKES,
    ConfidenceVersusLabelWarning,
    PositiveVersusCorrectnessWarning,
    TopLabel,
    is_confidence_beside_labels,
    is_suspect,
    is_vector,
    parse_top_label,
    positive_sums,
)
from rightreasons.core.arrays import Floats
from rightreasons.core.binning import (
    BinSums,
    assign_bins,
    bound_residual_bias,
    compute_binned_error,
    compute_raw_error,
    draw_calibrated_clusters,
    finish_error,
    resample_rows,
    split_error,
)
from rightreasons.core.clusters import number_clusters, select_clusters
from rightreasons.core.errors import OptionError
from rightreasons.core.estimates import make_rate_interval
from rightreasons.core.extras import require_package
from rightreasons.core.intervals import Interval, wilson
from rightreasons.core.options import Options, accept_options_as_keywords, option
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import MAX_BINS, SCORE_KINDS, check_one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TABLE_KINDS = ("top_label", "positive", "classwise")
"""Kinds that need class scores and labels."""

KINDS = (*TABLE_KINDS, "confidence")
STRATEGIES = ("uniform", "quantile")

NORMS = ("l1", "l2", "max")

Pair = tuple[Floats, NDArray[np.bool_]]
"""(N,) scores, and whether each came true."""


class CalibrationErrorOptions(Options):
    """The options of `calibration_error`, checked."""

    n_bins: int = option(15, "Number of bins.", minimum=1, maximum=MAX_BINS)
    strategy: str = option(
        "uniform", "Bins of equal width (uniform) or of equal mass (quantile).", choices=STRATEGIES
    )
    kind: str = option(
        "top_label",
        "What is compared: top_label, positive, classwise or confidence.",
        choices=KINDS,
    )
    norm: str = option("l1", "How gaps are summed: l1, l2 or max.", choices=NORMS)
    scores: str = option("probabilities", "What the predictions are.", choices=SCORE_KINDS)
    debias: bool = option(False, "Remove the noise of the accuracies from l1 or l2.")
    threshold: float = option(
        0.0, "Compare only scores above it, unless it is 0.", minimum=0.0, maximum=1.0
    )

    def _check(self) -> None:
        if self.debias and self.norm == "max":
            raise ValueError(
                "Expected norm='l1' or norm='l2' with debias=True, but got norm='max'."
            )

    def words(self, *, vector: bool = False) -> str:
        """Say in words what is computed; `vector` where the predictions are one number per item."""
        what, rate, mean = {
            "top_label": ("Top-label ECE", "accuracy", "mean confidence"),
            "positive": ("ECE of P(class 1)", "frequency of class 1", "mean P(class 1)"),
            "classwise": ("Classwise ECE", "frequency of the class", "its mean probability"),
            "confidence": ("ECE of the given confidences", "accuracy", "mean confidence"),
        }[self.kind]
        gap = f"|{rate} - {mean}|"
        over = "items" if self.kind != "classwise" else "items and the classes"
        how = {
            "l1": f"mean over the {over} of {gap} of their bin",
            "l2": f"root mean square over the {over} of {gap} of their bin",
            "max": f"largest {gap} of a bin",
        }[self.norm]
        bins = "1 bin" if self.n_bins == 1 else f"{self.n_bins} bins"
        width = "width" if self.strategy == "uniform" else "mass"
        tail = f"; {bins} of equal {width}" + (" a class" if self.kind == "classwise" else "")
        if self.threshold > 0:
            tail += f"; scores above {self.threshold:g} only"
        if self.debias:
            tail += "; debiased (Kumar et al. 2019)"
        if vector and self.kind == "top_label":
            tail += "; each prediction is P(class 1)"
        return f"{what}: {how}{tail}."


ROUNDING = 1e-6
"""Errors of resamples that differ by no more are equal: the spread of equal scores is the root of a rounding error."""


@dataclasses.dataclass(frozen=True)
class CalibrationBin(Result):
    """One bin (lower, upper] of the table behind a reliability diagram.

    Attributes:
        lower: Its lower edge, which does not belong to it (except in the first bin).
        upper: Its upper edge, which does.
        count: How many scores it holds.
        confidence: Their mean; None where it is empty.
        accuracy: How often the event came true: the top label is right, or the label is the class; None where empty.
        class_index: The class, for kind="classwise" and 1 for kind="positive"; None otherwise.
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
        ece: The calibration error that `definition` describes; 0 is best.
        mce: The largest gap between mean confidence and accuracy of a bin that is not empty.
        accuracy: How often the largest score is that of the label, over all items whatever the kind and the threshold.
        mean_confidence: Mean of the largest probability of all items.
        overconfidence: What bins with confidence above accuracy contribute to the plain l1 error.
        underconfidence: What bins with accuracy above confidence contribute; the two add up to the plain l1 error.
        n_items: Number of items.
        n_bins: Number of bins requested (for each class).
        definition: The definition used, in words.
        bins: The bin table, empty bins included.
        interval: Confidence interval of `ece`, or None when not requested.
        warning: One sentence when the input looks like a known mistake, else None.
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

    A bin holds (lower, upper]; confidence 0 belongs to the first bin and 1 to the last. The figure lies in [0, 1] and
    lower is better. It is biased upward, more so with fewer items per bin: even a perfectly calibrated model
    scores above 0; `debias` corrects for most of it.

    The interval is a seeded bootstrap over items. With the plain error θ̂, the debiased error θ̃ (as of `debias`) and
    the debiased errors θ̃* of the resamples, its ends are θ̃ + θ̂ - θ̃* at the two quantiles, cut to [0, 1]: the sample
    is the truth of its resamples, so θ̃* - θ̂ has the law of θ̃ - θ. For norm="l1" the low end is less by the bias that
    θ̃ may have left (`bound_residual_bias`). The interval does not depend on `debias`. Its high end is at
    least the plain error, and the largest gap between mean confidence and a rate of events within its Wilson interval,
    below which no calibration error is (not for kind="classwise"). Where the plain error is 0, or no resample differs,
    as where all items are alike, the share of items that so many may well show none of may have a gap of -1 or 1. The
    low end is 0 also where a calibrated model with the same scores would have so large an error in more than a share (1
    - confidence_level) / 2 of samples (not for kind="classwise", where the labels of the classes are dependent). For
    norm="l2" the same is done with the squares; norm="max" has no interval.
    docs/calibration.md has the measured coverage: for l1 and 15 bins 92 to 100 % at a level of 95 %. Resamples are
    drawn from the bins, not from the rows: the counts of right and wrong items in the bins follow exactly the
    multinomial law of a bootstrap over rows (with the edges of the bins held fixed), and the sum of the confidences in
    a cell, given its count, a normal law with the bootstrap's mean and variance; on 1,000 items the ends agree with
    those of a row bootstrap to within its own Monte Carlo error. For kind="classwise", where an item is in one bin of
    every class, rows are resampled, in 2,000 random groups of rows when there are more rows than that.

    Args:
        predictions: (N, K) class scores; (N,) P(class 1) of a binary task; or, for kind="top_label", N rows of
            different lengths (multiple choice). float16, bfloat16 and float32 are accepted: a row of probabilities may
            sum to 1 ± 0.01, and is not renormalized. For kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels from 0 to K - 1. For kind="confidence": (N,) whether the answer was right (0 and 1 or
            booleans).
        n_bins: Number of bins M.
        strategy: "uniform" (bins of equal width) or "quantile" (bins of equal mass; equal scores share a bin).
        kind: What is compared. "top_label": the largest probability with whether its class is the label (the first
            class among equals). "positive": P(class 1) of a binary task with whether the label is 1. "classwise": for
            each class, its probability with whether it is the label, averaged over the classes. "confidence": the
            confidence in a given answer, in [0, 1], with whether it was right. For two classes the first three are
            different figures: say which one you report.
        norm: "l1" (the formula above), "l2" (root of the weighted mean square of the gaps) or "max" (the largest gap).
        scores: What the predictions are: "probabilities", "logits" or "log_probabilities".
        debias: Whether to remove the noise of the accuracies from l1 or l2 (Kumar et al. 2019).
        threshold: Only scores above it are compared, unless it is 0. With kind="classwise" and strategy="quantile" the
            figure is ACE (Nixon et al. 2019, eq. 4), and with threshold=0.01 as well it is TACE (section 3.4).
        options: A `CalibrationErrorOptions` in place of these keywords.
        resampling: How the interval is resampled; None (default) gives none.
        clusters: (N,) names of the clusters that items belong to, which are resampled whole; None for independent ones.

    Returns:
        A `CalibrationResult`: `ece` first, then mce, accuracy, mean confidence, the two parts, counts, the definition
        in words, the bin table, the interval and the warning.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value is wrong: rows that do not sum to 1, NaN, labels out of range, unequal lengths, empty
            input, unknown options, a kind that does not fit the input.

    Warns:
        PositiveVersusCorrectnessWarning: If a binary input looks like P(class 1) beside "was the prediction right".
        ConfidenceVersusLabelWarning: If one number per item looks like confidence in the predicted class beside labels.

    References:
        Naeini, Cooper, Hauskrecht (2015), Obtaining Well Calibrated Probabilities Using Bayesian Binning.
        Guo, Pleiss, Sun, Weinberger (2017), On Calibration of Modern Neural Networks, eq. 3 and 5.
        Nixon, Dusenberry, Zhang, Jerfel, Tran (2019), Measuring Calibration in Deep Learning, eq. 3 to 5.
        Kumar, Liang, Ma (2019), Verified Uncertainty Calibration, section 5.

    Example:
        >>> confidence = [0.95, 0.91, 0.85, 0.65, 0.62, 0.55]
        >>> labels = [1, 0, 1, 1, 0, 1]
        >>> result = calibration_error(confidence, labels, n_bins=10)
        >>> round(result.ece, 6), round(result.overconfidence, 6), round(result.underconfidence, 6)
        (0.288333, 0.188333, 0.1)
        >>> result.definition.split("; ")[1:]
        ['10 bins of equal width', 'each prediction is P(class 1).']
    """
    if resampling is not None and options.norm == "max":
        raise OptionError(
            "Expected norm='l1' or norm='l2' for an interval, but got norm='max'.", option="norm"
        )
    top = parse_top_label(predictions, references, scores=options.scores, kind=options.kind)
    result = compute_calibration(
        top, options, resampling, vector=is_vector(predictions), clusters=clusters
    )
    if result.warning is not None:
        kind = next(kind for kind, sentence in MISTAKES.items() if sentence == result.warning)
        warnings.warn(result.warning, kind, stacklevel=3)
    return result


def compute_calibration(
    top: TopLabel,
    options: CalibrationErrorOptions,
    resampling: Resampling | None = None,
    *,
    vector: bool = False,
    clusters: Any = None,
    draws: Draws | None = None,
) -> CalibrationResult:
    """Compute `calibration_error` from precomputed top labels; it does not warn, but `warning` of the result is set.

    With `vector`, the predictions were one number per item, and may be confidence by mistake. `draws` are those of
    `draw_resamples` for these items and options, where they are at hand.
    """
    codes = number_clusters(clusters, len(top))
    kept, pairs = _kept(top.pairs(options.kind), options.threshold)
    sums = BinSums.of(pairs, options.n_bins, options.strategy)
    parts = sums.parts
    if not parts[0].any():
        raise ValueError(
            f"Expected at least one score above threshold={options.threshold:g} in `predictions`, but there is none."
        )
    interval = None
    if resampling is not None and options.norm != "max":
        draws = draws or draw_resamples(top, options, resampling, codes)
        units = select_clusters(codes, kept[0])
        gap = bound_mean_gap(*pairs[0], units, resampling) if draws.calibrated is not None else 0.0
        interval = _interval(parts, options, resampling, draws, gap)
    over, under = split_error(*parts)
    positive = positive_sums(top)
    warning = None
    if positive is not None and is_suspect(positive):
        warning = MISTAKES[PositiveVersusCorrectnessWarning]
    elif positive is not None and vector and is_confidence_beside_labels(positive):
        warning = MISTAKES[ConfidenceVersusLabelWarning]
    return CalibrationResult(
        ece=float(compute_binned_error(*parts, norm=options.norm, debias=options.debias)),
        mce=float(compute_binned_error(*parts, norm="max")),
        accuracy=int(np.count_nonzero(top.correct)) / len(top),
        mean_confidence=min(float(top.confidence.sum()) / len(top), 1.0),
        overconfidence=float(over),
        underconfidence=float(under),
        n_items=len(top),
        n_bins=options.n_bins,
        definition=options.words(vector=vector),
        bins=_table(sums, options),
        interval=interval,
        warning=warning,
    )


def bound_mean_gap(
    scores: Floats, events: NDArray[np.bool_], clusters: Any, resampling: Resampling
) -> float:
    """Return how far the mean of (N,) scores may be from the rate of events, which lies in its Wilson interval.

    Example:
        >>> events = np.arange(10) < 8  # Wilson's interval of 8 of 10 is [0.490, 0.943]
        >>> round(bound_mean_gap(np.full(10, 0.9), events, None, Resampling()), 3)
        0.41
    """
    right = make_rate_interval(events, resampling, clusters)
    return max(abs(float(scores.mean()) - end) for end in (right.low, right.high))


# ------------------------------------------------------------------------------------------------------------- private


@dataclasses.dataclass(frozen=True, eq=False)
class Draws:
    """What the interval of an error rests on, whatever its norm and its level.

    Attributes:
        sums: (R, C, M) counts, sums of scores and counts of events of resamples.
        calibrated: (R, C, M) counts of events of a calibrated model; None for classes, which share their labels.
        units: Clusters per item: the fewer, the more noise.
    """

    sums: tuple[Floats, ...]
    calibrated: Floats | None
    units: float


def draw_resamples(
    top: TopLabel,
    options: CalibrationErrorOptions,
    resampling: Resampling,
    clusters: NDArray[np.intp] | None = None,
) -> Draws:
    """Draw resamples, and what a calibrated model would show, in the bins of the options.

    Args:
        top: The top labels.
        options: Kind, bins and threshold; the norm changes nothing.
        resampling: Number of draws and seed; the level changes nothing.
        clusters: (N,) the numbers of the clusters that are resampled whole; None for independent items.
    """
    pairs, uniform = top.pairs(options.kind), options.strategy == "uniform"
    kept, counted = _kept(pairs, options.threshold)
    sums = BinSums.of(counted, options.n_bins, options.strategy)
    if clusters is None and options.kind != "classwise":
        rng = np.random.default_rng(resampling.seed)
        return Draws(
            sums.resample(resampling.resamples, rng),
            sums.calibrated_events(resampling.resamples, rng),
            1.0,
        )
    how: dict[str, Any] = {"uniform": uniform, "threshold": options.threshold, "clusters": clusters}
    drawn = resample_rows(pairs, sums.edges, resampling, **how)
    stacked = tuple(np.stack(parts, axis=1) for parts in zip(*drawn, strict=True))
    units = 1.0 if clusters is None else (int(clusters.max()) + 1) / len(clusters)
    if clusters is None or options.kind == "classwise":
        return Draws(stacked, None, units)
    scores = counted[0][0]
    cells = assign_bins(scores, sums.edges[0], uniform=uniform)
    calibrated = draw_calibrated_clusters(
        scores, cells, options.n_bins, clusters[kept[0]], resampling
    )
    return Draws(stacked, calibrated[:, None], units)


def _kept(pairs: Sequence[Pair], threshold: float) -> tuple[list[Any], list[Pair]]:
    """Return for each class the rows whose scores are above the threshold, and their scores and events."""
    rows = [scores > threshold if threshold > 0 else slice(None) for scores, _ in pairs]
    return rows, [
        (scores[kept], events[kept]) for (scores, events), kept in zip(pairs, rows, strict=True)
    ]


def _table(sums: BinSums, options: CalibrationErrorOptions) -> tuple[CalibrationBin, ...]:
    count, score, event = sums.parts
    sizes = np.maximum(count, 1.0)
    # Rounding of a long sum may carry the mean of equal scores past 1.
    confidence, accuracy = np.clip(score / sizes, 0.0, 1.0), event / sizes
    rows = []
    for c, m in np.ndindex(*count.shape):
        lower, upper = sums.edges[c, m : m + 2].tolist()
        mean, rate = (
            (float(confidence[c, m]), float(accuracy[c, m])) if count[c, m] > 0 else (None, None)
        )
        class_index = (
            c if options.kind == "classwise" else 1 if options.kind == "positive" else None
        )
        rows.append(CalibrationBin(lower, upper, int(count[c, m]), mean, rate, class_index))
    return tuple(rows)


def _interval(
    parts: tuple[Floats, Floats, Floats],
    options: CalibrationErrorOptions,
    resampling: Resampling,
    draws: Draws,
    gap: float,
) -> Interval:
    """Bound the true error by how far resampled debiased errors fall from the sample's plain error.

    The sample is the truth of its resamples, and its plain error is their true error. So the debiased error of a
    resample less the plain error of the sample has the law of the debiased error of the sample less the true error.
    `gap` is how far the mean score may be from the rate of events.
    """
    tail = (1.0 - resampling.level) / 2.0
    plain = compute_raw_error(*parts, norm=options.norm)
    center = plain + compute_raw_error(*parts, norm=options.norm, debias=True)
    drawn = compute_raw_error(*draws.sums, norm=options.norm, debias=True)
    low, high = np.quantile(drawn, (tail, 1.0 - tail))
    bias = (
        float(bound_residual_bias(*parts, float(-special.ndtri(tail))))
        if options.norm == "l1"
        else 0.0
    )
    bias /= np.sqrt(draws.units)
    ends = finish_error(np.array([center - high - bias, center - low]), norm=options.norm)
    if draws.calibrated is not None:
        # The debiased error has some bias left near 0, where the gaps change their signs. Whether 0 is possible is
        # decided by a test instead: it is, unless so large an error is rare for a calibrated model.
        errors = compute_raw_error(parts[0], parts[1], draws.calibrated, norm=options.norm)
        if plain <= np.quantile(errors, 1.0 - tail):
            ends[0] = 0.0
        # Resamples of items that are all but always right show no more errors than these few. No calibration error is
        # below the gap between mean confidence and accuracy, of which Wilson's interval tells how large it may be.
        ends[1] = max(ends[1], gap)
    # A sample that fits better than chance does would end below its own error, down to a width of zero.
    shown = float(finish_error(np.asarray(plain), norm=options.norm))
    ends[1] = max(ends[1], shown)
    if shown == 0 or np.ptp(drawn) <= ROUNDING:
        # In `tail` of the samples, so many items show none of this share of items (the rule of three).
        unseen = 1.0 - tail ** (1.0 / (float(parts[0].sum(axis=1).max()) * draws.units))
        ends = np.array(
            [min(ends[0], shown - unseen * (1 + shown)), max(ends[1], shown + unseen * (1 - shown))]
        )
    low, high = np.clip(ends, 0.0, 1.0).tolist()
    return Interval(
        low, high, resampling.level, "debiased basic bootstrap over items", resampling.resamples
    )


# --------------------------------------- MacroCE: calibration of the right and of the wrong predictions, each by itself


@dataclasses.dataclass(frozen=True)
class MacroCalibrationResult(Result):
    """Instance-level calibration errors. Fractions in [0, 1], lower is better.

    Attributes:
        macro_ce: Mean of the two errors below; None unless there are both right and wrong predictions.
        ice_correct: Mean of 1 - confidence over the right predictions; None where there is none.
        ice_wrong: Mean confidence over the wrong predictions; None where there is none.
        ice: Mean of |confidence - correct| over all items.
        n_items: Number of items.
    """

    macro_ce: float | None
    ice_correct: float | None
    ice_wrong: float | None
    ice: float
    n_items: int


def macro_ce(
    predictions: Any,
    references: Any = None,
    *,
    kind: str = "top_label",
    scores: str = "probabilities",
) -> MacroCalibrationResult:
    r"""Measure whether single predictions are confident when right and unsure when wrong.

    \[ MacroCE = \tfrac12 \left( \frac{1}{n_+} \sum_{correct} (1 - \hat p_i)
       + \frac{1}{n_-} \sum_{wrong} \hat p_i \right) \]

    A binned error can be 0 for a model that gives every item the same confidence; this one cannot: over- and
    underconfidence do not cancel, and the rarer group counts as much as the other.

    Args:
        predictions: (N, K) class scores, (N,) P(class 1) of a binary task, or N rows of different lengths. For
            kind="confidence": (N,) confidence in the given answer.
        references: (N,) labels. For kind="confidence": (N,) whether the answer was right (0 and 1 or booleans).
        kind: "top_label" (the predictions are class scores) or "confidence".
        scores: "probabilities", "logits" or "log_probabilities".

    Returns:
        A `MacroCalibrationResult`: macro_ce, its two parts, the mean over all items and their number.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If a value, a shape or a length is wrong.

    References:
        Si, Zhao, Min, Boyd-Graber (2022), Re-Examining Calibration: The Case of Question Answering, section 4.

    Example:
        Right with 0.9 and 0.7, wrong with 0.6: (0.2 + 0.6) / 2.

        >>> round(macro_ce([[0.1, 0.9], [0.7, 0.3], [0.6, 0.4]], [1, 0, 1]).macro_ce, 6)
        0.4
    """
    check_one_of(kind, ANSWER_KINDS, "kind")
    top = parse_top_label(predictions, references, scores=scores, kind=kind)
    right = 1.0 - top.confidence[top.correct]
    wrong = top.confidence[~top.correct]
    ice_correct = float(right.mean()) if right.size else None
    ice_wrong = float(wrong.mean()) if wrong.size else None
    macro = None if ice_correct is None or ice_wrong is None else (ice_correct + ice_wrong) / 2
    ice = float(np.abs(top.confidence - top.correct).mean())
    return MacroCalibrationResult(macro, ice_correct, ice_wrong, ice, len(top))


# ------------------------------------------------------------------------------ the reliability diagram, for a notebook


def reliability_diagram(
    predictions: Any, references: Any, *, axes: Axes | None = None, **options: Any
) -> Axes:
    """Draw accuracy against confidence by bin, with the bins' 95 % intervals (Wilson) and the error in the title.

    Args:
        predictions: (N, K) class scores, or what else `calibration_error` takes.
        references: (N,) labels.
        axes: Where to draw; a new figure of matplotlib by default.
        **options: Those of `calibration_error`, such as `n_bins`, `strategy` and `scores`.

    Returns:
        The axes.

    Raises:
        TypeError: If an input is of the wrong kind.
        ValueError: If a value is wrong; the message names the first bad row.

    References:
        Niculescu-Mizil, Caruana (2005), Predicting Good Probabilities With Supervised Learning.

    Example:
        >>> axes = reliability_diagram([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1], n_bins=2)
        >>> axes.get_xlabel(), axes.get_title()
        ('confidence', 'ECE 0.100')
    """
    require_package("matplotlib")
    from matplotlib import pyplot
    from matplotlib.ticker import PercentFormatter

    result = calibration_error(predictions, references, **options)
    rows = [row for row in result.bins if row.count and not row.class_index]
    ends = [wilson(round((row.accuracy or 0.0) * row.count), row.count) for row in rows]
    sure, accuracy = np.array([(row.confidence, row.accuracy) for row in rows], dtype=np.float64).T
    whiskers = np.abs([[end.low for end in ends], [end.high for end in ends]] - accuracy)
    axes = pyplot.subplots()[1] if axes is None else axes
    axes.plot([0, 1], [0, 1], "--", color="gray")
    axes.bar(
        [row.lower for row in rows],
        accuracy,
        [row.upper - row.lower for row in rows],
        align="edge",
        alpha=0.4,
    )
    axes.errorbar(sure, accuracy, yerr=whiskers, fmt="ko", capsize=2.5)
    axes.set(
        xlim=(0, 1),
        ylim=(0, 1.02),
        xlabel="confidence",
        ylabel="accuracy",
        title=f"ECE {result.ece:.3f}",
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    return axes


ece = calibration_error
"""The name by which people look for it."""
