"""The accuracy that a judge of answers reports, corrected by human labels of some of them.

`correct_judged_accuracy` corrects the accuracy of one judge, and `measure_judged_accuracy` that of
each judge of a table from `read_graded_answers`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats, to_floats
from rightreasons.core.errors import OptionError
from rightreasons.core.estimates import (
    AdjustedRates,
    Estimate,
    JudgeRate,
    estimate_rate,
    estimate_true_share,
    make_estimate,
    make_rate_interval,
)
from rightreasons.core.intervals import Interval, bounded_mean_interval, get_normal_quantile
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.validation import check_same_length
from rightreasons.io.columns import check_column_name
from rightreasons.io.headings import USUAL_HEADINGS
from rightreasons.io.opened_columns import read_columns
from rightreasons.probes.options import JudgmentOptions

MIN_LABELS = 10
"""Smallest number of human labels; 50 to 200 give useful intervals."""

CORRECT_WORDS = frozenset(("1", "1.0", "true", "yes", "c", "correct", "right"))
INCORRECT_WORDS = frozenset(("0", "0.0", "false", "no", "i", "n", "incorrect", "wrong"))
UNLABELED_WORDS = frozenset(("", "none", "null", "nan", "n/a"))


@dataclasses.dataclass(frozen=True)
class JudgedAccuracy(Result):
    """Accuracy of a model by a judge, corrected by human labels; from `correct_judged_accuracy`.

    Attributes:
        n_items: Number of judged answers.
        n_labeled: Number of these with a human label.
        judged: Share of answers that the judge calls correct.
        human: Share of correct answers among the labeled ones, by the human labels alone.
        sensitivity: Share of the correct answers that the judge calls correct. None without any.
        specificity: Share of the incorrect answers that the judge calls incorrect. None without any.
        rogan_gladen: Accuracy corrected by the two error rates of the judge. None if the judge is no
            better than chance on the labeled answers.
        prediction_powered: Accuracy corrected by the mean difference between human and judge.
        weight: Weight of the judge in `prediction_powered`, in [0, 1]; 0 leaves the human labels
            alone.
    """

    n_items: int
    n_labeled: int
    judged: Estimate
    human: Estimate
    sensitivity: Estimate | None
    specificity: Estimate | None
    rogan_gladen: Estimate | None
    prediction_powered: Estimate
    weight: float


def correct_judged_accuracy(
    judged: Any, human: Any, *, resampling: Resampling = Resampling()
) -> JudgedAccuracy:
    r"""Correct the accuracy that a judge reports by human labels of some answers.

    With f whether the judge calls an answer correct, y whether it is correct, n labeled answers and
    N further ones, the prediction-powered accuracy is

    \[ \hat\theta = \lambda \bar f_N + \overline{(y - \lambda f)}_n, \quad
       \lambda = \frac{\mathrm{cov}_n(y, f)}{(1 + n / N) \, \mathrm{var}(f)} \text{ in } [0, 1]. \]

    It is unbiased whatever the judge does, if the labeled answers are a random sample. Its interval
    joins those of the two means (Zou and Donner 2008); that of the second one has an item at each
    bound, since a judge that agrees with all labels would have no variance. Rogan and Gladen's
    estimate is

    \[ \hat\theta = (\bar f + s_- - 1) / (s_+ + s_- - 1) \]

    with the sensitivity \(s_+\) and the specificity \(s_-\) on the labeled answers. It also holds if
    the labeled answers have another share of correct ones than the others, as long as the judge
    makes the same errors on them. Its interval is that of Lang and Reiczigel (2014) with two changes.
    The labeled answers are among those that the judge calls correct or not, so that the errors of
    the three rates have covariances, which make the interval narrower; and its center moves less. In
    simulations with 50 to 200 labels of 500 or 2,000 answers, sensitivity and specificity from .6 to
    .99 and accuracy from .05 to .95 (480 cases of 5,000 runs), its level of 95 % covers 96.4 % on
    average, at least 93.5 % in each case, with a width of 0.27. Theirs covers 98.0 % with 0.30.

    Args:
        judged: (M,) whether the judge calls each answer correct: 1 or 0.
        human: (M,) whether each answer is correct by a human label: 1 or 0; NaN for an answer without
            a label.
        resampling: Its level is that of the intervals.

    Returns:
        A `JudgedAccuracy`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value is neither 1 nor 0, fewer than `MIN_LABELS` answers are labeled, or all
            are.

    References:
        Rogan and Gladen (1978), Estimating Prevalence from the Results of a Screening Test. Lang and
        Reiczigel (2014), Confidence Limits for Prevalence of Disease Adjusted for Estimated
        Sensitivity and Specificity. Angelopoulos et al. (2023), Prediction-Powered Inference, and
        PPI++: Efficient Prediction-Powered Inference (the weight). Zou and Donner (2008),
        Construction of Confidence Limits about Effect Measures.

    Example:
        The judge calls 80 of 100 answers correct. Of the labeled ones, it calls all 8 correct ones so, and
        4 of 6 incorrect ones incorrect: (0.8 - 1/3) / (1 - 1/3) = 0.7.

        >>> judged = [1] * 80 + [0] * 20
        >>> human = [1] * 8 + [0] * 2 + [float("nan")] * 70 + [0] * 4 + [float("nan")] * 16
        >>> result = correct_judged_accuracy(judged, human)
        >>> round(result.rogan_gladen.value, 3), round(result.prediction_powered.value, 3)
        (0.7, 0.658)
    """
    verdicts = _check_flags(judged, "judged")
    labels = _check_flags(human, "human", allow_nan=True)
    check_same_length(judged=verdicts, human=labels)
    is_labeled = np.isfinite(labels)
    n_labeled = int(is_labeled.sum())
    if n_labeled < MIN_LABELS or is_labeled.all():
        raise OptionError(
            f"Expected human labels of at least {MIN_LABELS} answers, but {n_labeled} of "
            f"{len(labels)} have one.",
            option="human_column",
        )
    # Error rates are those of the judge on the answers that a person labeled.
    known_verdicts = verdicts[is_labeled]
    known_labels = labels[is_labeled].astype(bool)
    weight = _tune_weight(verdicts, is_labeled, known_labels)
    return JudgedAccuracy(
        n_items=len(verdicts),
        n_labeled=n_labeled,
        judged=_estimate_share(verdicts == 1, resampling),
        human=_estimate_share(known_labels, resampling),
        sensitivity=estimate_rate(known_verdicts[known_labels] == 1, resampling),
        specificity=estimate_rate(known_verdicts[~known_labels] == 0, resampling),
        rogan_gladen=_estimate_rogan_gladen(verdicts, known_verdicts, known_labels, resampling),
        prediction_powered=_estimate_prediction_powered(
            verdicts[~is_labeled], known_verdicts, known_labels, weight, resampling
        ),
        weight=weight,
    )


def _check_flags(values: Any, name: str, *, allow_nan: bool = False) -> Floats:
    """Return a vector of 1 and 0, and of NaN if that is allowed."""
    flags = to_floats(values, name)
    is_valid = np.isin(flags, (0, 1))
    # Most answers have no human label.
    if allow_nan:
        is_valid |= np.isnan(flags)
    if flags.ndim != 1 or not is_valid.all():
        raise ValueError(f"Expected 1 and 0 in `{name}`, of shape (N,), but got {values!r:.60}.")
    return flags


def _estimate_share(flags: NDArray[np.bool_], resampling: Resampling) -> Estimate:
    interval = make_rate_interval(flags, resampling)
    return make_estimate(float(flags.mean()), interval)


def _tune_weight(
    verdicts: Floats, is_labeled: NDArray[np.bool_], known_labels: NDArray[np.bool_]
) -> float:
    r"""Return the weight of the judge that minimizes the variance of the prediction-powered accuracy.

    \[ \lambda = \mathrm{cov}_n(y, f) / ((1 + n / N) \, \mathrm{var}(f)), \text{ limited to } [0, 1] \]

    Args:
        verdicts: (M,) 1 if the judge calls an answer correct, otherwise 0.
        is_labeled: (M,) whether each answer has a human label.
        known_labels: (n,) human labels of the labeled answers.
    """
    variance = float(np.var(verdicts, ddof=1))
    # A judge that calls all answers the same says nothing.
    if variance == 0:
        return 0.0
    known_verdicts = verdicts[is_labeled]
    covariance = float(np.cov(known_labels.astype(float), known_verdicts, bias=True)[0, 1])
    n_labeled = is_labeled.sum()
    n_unlabeled = (~is_labeled).sum()
    return float(np.clip(covariance / ((1 + n_labeled / n_unlabeled) * variance), 0.0, 1.0))


def _estimate_prediction_powered(
    further_verdicts: Floats,
    known_verdicts: Floats,
    known_labels: NDArray[np.bool_],
    weight: float,
    resampling: Resampling,
) -> Estimate:
    """Return the prediction-powered accuracy with an interval of the sum of two means.

    Args:
        further_verdicts: (N,) verdicts of the judge on the unlabeled answers, 1 or 0.
        known_verdicts: (n,) verdicts on the labeled answers.
        known_labels: (n,) human labels of these answers.
        weight: Weight of the judge, from `_tune_weight`.
        resampling: Its level is that of the interval.
    """
    # The first mean is the judge's accuracy, and the second one its correction by the labels.
    judged = _estimate_share(further_verdicts == 1, resampling)
    differences = known_labels - weight * known_verdicts
    correction = float(differences.mean())
    correction_interval = bounded_mean_interval(
        differences, low=-weight, high=1.0, confidence_level=resampling.level
    )
    # Without an interval, a share is 0 or 1, and the answers leave no doubt about it.
    judged_share = judged.value or 0.0
    judged_low = judged.low or 0.0
    judged_high = judged.high or 0.0
    value = weight * judged_share + correction
    # Zou and Donner: the distances of the ends of two intervals from their means add up in squares.
    low_distance = np.hypot(
        weight * (judged_share - judged_low), correction - correction_interval.low
    )
    high_distance = np.hypot(
        weight * (judged_high - judged_share), correction_interval.high - correction
    )
    interval = Interval(
        low=max(0.0, value - float(low_distance)),
        high=min(1.0, value + float(high_distance)),
        confidence_level=resampling.level,
        method="PPI++, by the intervals of its two means",
    )
    return make_estimate(float(np.clip(value, 0.0, 1.0)), interval)


def _estimate_rogan_gladen(
    verdicts: Floats,
    known_verdicts: Floats,
    known_labels: NDArray[np.bool_],
    resampling: Resampling,
) -> Estimate | None:
    """Return the accuracy corrected by the error rates of the judge.

    Args:
        verdicts: (M,) verdicts of the judge on all answers, 1 or 0.
        known_verdicts: (n,) verdicts on the labeled answers, which are among all.
        known_labels: (n,) human labels of these answers.
        resampling: Its level is that of the interval.

    Returns:
        The accuracy. None if no labeled answer is correct or none incorrect, or if the judge is no
        better than chance on them.
    """
    # Without answers of both kinds, one of the two error rates is unknown.
    n_correct = int(known_labels.sum())
    n_incorrect = len(known_labels) - n_correct
    if n_correct == 0 or n_incorrect == 0:
        return None
    sensitivity = JudgeRate(float(known_verdicts[known_labels].mean()), n_correct)
    specificity = JudgeRate(float(1 - known_verdicts[~known_labels].mean()), n_incorrect)
    # The share is that of all answers, labeled or not.
    share = float(verdicts.mean())
    n_answers = len(verdicts)
    corrected = estimate_true_share(
        share, n_answers, sensitivity, specificity, level=resampling.level
    )
    if corrected is None:
        return None
    interval = _make_rogan_gladen_interval(
        share, n_answers, sensitivity, specificity, resampling.level
    )
    return make_estimate(corrected.value, interval)


def _make_rogan_gladen_interval(
    share: float, n_answers: int, sensitivity: JudgeRate, specificity: JudgeRate, level: float
) -> Interval:
    r"""Return the interval of Rogan and Gladen's estimate, if the labeled answers are among all.

    With the estimate \(\theta\) of adjusted rates and \(J = s_+ + s_- - 1\), its variance is
    \(V(\theta) / J^2\) with

    \[ V(\theta) = \mathrm{var}(f) + \theta^2 \mathrm{var}(s_+) + (1 - \theta)^2 \mathrm{var}(s_-)
       - \frac{2}{N} (\theta s_+ (1 - s_+) + (1 - \theta) s_- (1 - s_-)). \]

    The last term is due to the covariances \(s_+ (1 - s_+) / N\) of f and \(s_+\), and
    \(-s_- (1 - s_-) / N\) of f and \(s_-\): each labeled answer on which the judge errs changes
    both. As in Lang and Reiczigel's interval, rates have added counts, and the center moves in the
    direction in which V grows, here by \(z^2 V'(\theta) / (2 J)\). That factor is ours, and found by
    the simulations of `correct_judged_accuracy`.

    Args:
        share: Share f of the answers that the judge calls correct.
        n_answers: Number N of all answers.
        sensitivity: Share of labeled correct answers that the judge calls correct.
        specificity: Share of labeled incorrect answers that the judge calls incorrect.
        level: Confidence level.
    """
    method = "Lang and Reiczigel, with covariances"
    z = get_normal_quantile(level)
    rates = AdjustedRates.add_counts(share, n_answers, sensitivity, specificity, z)
    # A judge that may be at chance leaves every accuracy possible.
    if rates.informedness <= 0:
        return Interval(0.0, 1.0, level, method)

    center = rates.true_share
    sensitivity_covariance = rates.sensitivity.value * (1 - rates.sensitivity.value) / rates.n_items
    specificity_covariance = rates.specificity.value * (1 - rates.specificity.value) / rates.n_items
    variance = (
        rates.share_variance
        + center**2 * rates.sensitivity.variance
        + (1 - center) ** 2 * rates.specificity.variance
        - 2 * (center * sensitivity_covariance + (1 - center) * specificity_covariance)
    )
    half_derivative = (
        center * rates.sensitivity.variance
        - (1 - center) * rates.specificity.variance
        - (sensitivity_covariance - specificity_covariance)
    )
    # With nearly all answers labeled, the added counts may carry a small variance below 0.
    half_width = z * float(np.sqrt(max(variance, 0.0))) / rates.informedness
    center += z**2 * half_derivative / rates.informedness
    low = float(np.clip(center - half_width, 0.0, 1.0))
    high = float(np.clip(center + half_width, 0.0, 1.0))
    return Interval(low, high, level, method)


# ---------------------------------------------------------------------------------- tables


@dataclasses.dataclass(frozen=True, eq=False)
class GradedAnswers:
    """Answers that judges call correct or incorrect, some with a human label.

    Attributes:
        judges: Judge -> (verdicts, human labels), each (N,); NaN for an answer without a label.
        n_rows: Number of rows of the table.
        n_without: Number of rows without a verdict.
    """

    judges: Mapping[str, tuple[Floats, Floats]]
    n_rows: int
    n_without: int


@accept_options_as_keywords(JudgmentOptions)
def read_graded_answers(source: Any, *, options: JudgmentOptions) -> GradedAnswers:
    """Read which answers judges call correct, and which are by a human label.

    Args:
        source: A file as `read_predictions` takes it, or a table.
        options: `human_column`, the column of the human labels, empty for an answer without one;
            `verdict_column` of the judge, and `judge_column`, if there are several.

    Returns:
        The answers of each judge.

    Raises:
        ValueError: If a column is missing, or a cell is neither correct nor incorrect.

    Example:
        >>> rows = {"verdict": [1, 0, 1], "human": ["yes", "", "no"]}
        >>> graded = read_graded_answers(rows, human_column="human", verdict_column="verdict")
        >>> [column.tolist() for column in graded.judges["judge"]]
        [[1.0, 0.0, 1.0], [1.0, nan, 0.0]]
    """
    columns, options, file_name = read_columns(source, options)
    human_name = check_column_name(columns, str(options.human_column), "human_column", file_name)
    verdict_name = _find_verdict_column(columns, options, file_name)
    verdicts = _parse_cells(columns[verdict_name], verdict_name, file_name)
    labels = _parse_cells(columns[human_name], human_name, file_name)
    # Without a column of judges, the table is about one.
    names = np.full(len(verdicts), "judge", dtype=object)
    if options.judge_column is not None:
        judge_name = check_column_name(columns, options.judge_column, "judge_column", file_name)
        names = np.array([str(value) for value in columns[judge_name]], dtype=object)
    has_verdict = np.isfinite(verdicts)
    judges = {}
    for name in dict.fromkeys(names.tolist()):
        rows = has_verdict & (names == name)
        judges[name] = (verdicts[rows], labels[rows])
    return GradedAnswers(judges, len(verdicts), int((~has_verdict).sum()))


def _find_verdict_column(columns: Any, options: JudgmentOptions, file_name: str) -> str:
    """Return the name of the column with the verdicts of the judge.

    Args:
        columns: Name -> column of the table.
        options: Its `verdict_column`, if it is named; and `human_column`, which is no verdict.
        file_name: Name of the file, for errors.

    Raises:
        OptionError: If none is named, and none or several have a usual name of a verdict.
    """
    if options.verdict_column is not None:
        return check_column_name(columns, options.verdict_column, "verdict_column", file_name)
    usual_names = {
        *USUAL_HEADINGS["judgments"]["verdict"],
        *USUAL_HEADINGS["predictions"]["correct"],
    }
    # The labels of people may have the name of a verdict.
    found_names = []
    for name in columns:
        if name.lower() in usual_names and name != options.human_column:
            found_names.append(name)
    if len(found_names) != 1:
        raise OptionError(
            f"Expected one column with the verdict of the judge in {file_name}, but its columns "
            f"are {', '.join(columns)}. Name the column with `verdict_column`.",
            option="verdict_column",
        )
    return str(found_names[0])


def _parse_cells(cells: Any, name: str, file_name: str) -> Floats:
    """Return (N,) 1 for a cell that says correct, 0 for incorrect, and NaN for an empty cell.

    Args:
        cells: N cells, such as 1, "true", "yes" or "correct".
        name: Name of the column, for errors.
        file_name: Name of the file, for errors.

    Raises:
        ValueError: If a cell says something else.
    """
    values = []
    for row, cell in enumerate(cells):
        word = "" if cell is None else str(cell).strip().lower()
        if word in UNLABELED_WORDS:
            values.append(np.nan)
        elif word in CORRECT_WORDS | INCORRECT_WORDS:
            values.append(float(word in CORRECT_WORDS))
        else:
            raise ValueError(
                f"Expected 1 and 0, true and false, or correct and incorrect in column {name!r} of "
                f"{file_name}, but row {row} has {str(cell)[:40]!r}."
            )
    return np.array(values)


@dataclasses.dataclass(frozen=True)
class JudgedAccuracies(Result):
    """Corrected accuracy by each judge.

    Attributes:
        judges: Judge -> its accuracy.
        n_rows: Number of rows of the table.
        n_without: Number of rows without a verdict, which count nowhere.
    """

    judges: Mapping[str, JudgedAccuracy]
    n_rows: int
    n_without: int


def measure_judged_accuracy(
    graded: GradedAnswers, *, resampling: Resampling = Resampling()
) -> JudgedAccuracies:
    """Correct the accuracy that each judge reports; see `correct_judged_accuracy`."""
    # Judges share the human labels, and are corrected one by one.
    judges = {}
    for name, (verdicts, labels) in graded.judges.items():
        judges[name] = correct_judged_accuracy(verdicts, labels, resampling=resampling)
    return JudgedAccuracies(judges, graded.n_rows, graded.n_without)
