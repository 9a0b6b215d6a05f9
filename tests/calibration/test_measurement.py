"""Which properties of the figures decide a verdict on calibration, on both sides of each threshold."""

from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.calibration.measurement import (
    CalibrationAnswers,
    _excludes_confidence,
    _find_extreme,
)
from rightreasons.core.decisions import Decision
from rightreasons.core.estimates import Estimate


def make_answers(gap=(0.0, -0.01, 0.01), error=0.0, p_value=1.0, level=0.95, n_items=700):
    """Return answers with a confidence gap, a calibration error and a p-value of the latter."""
    measured = SimpleNamespace(
        decided={
            "confidence_gap": Estimate(*gap),
            "ece_debiased": Estimate(error, error - 0.001, error + 0.001),
        },
        figures={"confidence_gap": Estimate(*gap), "accuracy": Estimate(0.7)},
        consistency=SimpleNamespace(p_value=p_value, confidence_level=level),
        items=[None] * n_items,
    )
    measured.items = SizedItems(n_items)
    return CalibrationAnswers(SimpleNamespace(), None, measured)


class SizedItems:
    """Independent items, of which only the number matters."""

    n_units = None

    def __init__(self, n_items):
        self.n_items = n_items

    def __len__(self):
        return self.n_items


def set_decisions(answers, **decisions):
    """Return the answers with these decisions instead of computed ones."""
    vars(answers)["decisions"] = decisions
    return answers


@pytest.mark.parametrize(
    ("p_value", "level", "is_significant"),
    [
        # Two tests share the error: 0.05 / 2 = 0.025, and 0.5 / 2 = 0.25, which has no rounding.
        (0.024, 0.95, True),
        (0.026, 0.95, False),
        (0.249, 0.5, True),
        (0.25, 0.5, False),
    ],
)
def test_each_of_two_tests_takes_half_of_the_error(p_value, level, is_significant):
    answers = make_answers(p_value=p_value, level=level)

    assert answers.has_significant_error is is_significant


@pytest.mark.parametrize(
    ("error", "p_value", "is_miscalibrated"),
    [(0.051, 0.001, True), (0.05, 0.001, False), (0.051, 0.03, False), (0.049, 0.001, False)],
)
def test_a_large_error_is_significant_and_above_the_margin(error, p_value, is_miscalibrated):
    answers = make_answers(error=error, p_value=p_value)

    assert answers.is_miscalibrated_in_bins is is_miscalibrated


@pytest.mark.parametrize(
    ("gap", "is_significant"),
    [
        ((0.02, 0.01, 0.03), True),
        ((-0.02, -0.03, -0.01), True),
        ((0.02, -0.01, 0.05), False),
        # An end at 0 does not exclude 0.
        ((0.02, 0.0, 0.04), False),
        ((-0.02, -0.04, 0.0), False),
        ((0.02,), False),
    ],
)
def test_a_significant_gap_has_both_ends_on_one_side(gap, is_significant):
    assert make_answers(gap=gap).has_significant_gap is is_significant


@pytest.mark.parametrize(("gap", "is_overconfident"), [(0.001, True), (0.0, False), (-0.1, False)])
def test_overconfidence_is_a_gap_above_zero(gap, is_overconfident):
    assert make_answers(gap=(gap,)).is_overconfident is is_overconfident


@pytest.mark.parametrize(
    ("gap", "is_large"),
    # The margin is 0.05 on both sides of 0.
    [
        ((0.07, 0.051, 0.09), True),
        ((-0.07, -0.09, -0.051), True),
        ((0.07, 0.05, 0.09), False),
        ((0.07, 0.049, 0.09), False),
    ],
)
def test_a_large_gap_is_surely_beyond_the_margin(gap, is_large):
    assert make_answers(gap=gap).is_gap_large is is_large


def test_a_green_verdict_needs_two_small_figures():
    assert make_answers(gap=(0.01, -0.03, 0.049), error=0.02).is_calibrated
    assert not make_answers(gap=(0.01, -0.03, 0.05), error=0.02).is_calibrated
    # The end of the interval of the error is 0.0495 + 0.001, which is above the margin.
    assert not make_answers(gap=(0.01, -0.03, 0.049), error=0.0495).is_calibrated
    assert not set_decisions(make_answers()).is_calibrated


def test_a_verdict_is_inconclusive_if_nothing_is_shown_or_ruled_out():
    unknown = {"confidence_gap": Decision("unknown", 40), "ece_debiased": Decision("small", 40)}
    large = {**unknown, "confidence_gap": Decision("large", 40)}

    assert set_decisions(make_answers(), **unknown).is_inconclusive
    assert not set_decisions(make_answers(), **large).is_inconclusive
    assert not set_decisions(make_answers(error=0.2, p_value=0.001), **unknown).is_inconclusive
    assert not make_answers(gap=(0.01, -0.03, 0.049), error=0.02).is_inconclusive


@pytest.mark.parametrize(
    ("gap", "error", "n_needed"),
    [
        (Decision("unknown", 40, 510), Decision("unknown", 40, 390), 510),
        (Decision("unknown", 40, 390), Decision("unknown", 40, 510), 510),
        (Decision("small", 40, 510), Decision("unknown", 40, 390), 390),
        (Decision("unknown", 40), Decision("unknown", 40, 390), 390),
        (Decision("unknown", 40), Decision("small", 40), None),
        (Decision("large", 40, 510), Decision("small", 40, 390), None),
    ],
)
def test_the_undecided_figure_that_needs_the_most_items_decides(gap, error, n_needed):
    answers = set_decisions(make_answers(), confidence_gap=gap, ece_debiased=error)

    assert answers.n_needed == n_needed


def test_without_class_scores_nothing_is_significant():
    answers = CalibrationAnswers(SimpleNamespace(), None)

    assert answers.decisions == {}
    assert answers.estimates == {}
    assert answers.n_items == 0
    assert answers.worst is None
    assert answers.worst_bin is None
    assert answers.pick_example() == ()
    assert answers.label_errors.tolist() == []
    assert answers.incorrect_share is None
    for name in ("is_gap_large", "has_significant_error", "has_significant_gap", "is_calibrated"):
        assert getattr(answers, name) is False
    assert answers.is_inconclusive is True


def test_the_first_elicited_source_stands_in_for_class_scores():
    figures = {"ece": Estimate(0.3), "mean_confidence": Estimate(0.9), "accuracy": Estimate(0.6)}
    sources = [SimpleNamespace(figures=figures), SimpleNamespace(figures={})]
    answers = CalibrationAnswers(SimpleNamespace(), SimpleNamespace(sources=sources, n_shared=23))

    # The figures have a fixed order, and the error is not one of them.
    assert list(answers.estimates.items()) == [
        ("accuracy", Estimate(0.6)),
        ("mean_confidence", Estimate(0.9)),
    ]
    assert answers.n_items == 23


@pytest.mark.parametrize(
    ("accuracy", "keeps"), [(0.7, True), (0.71, True), (0.69, False), (None, False)]
)
def test_a_split_keeps_the_accuracy_if_it_is_not_lower(accuracy, keeps):
    answers = make_answers()
    answers.compared["shifted"] = {"accuracy": Estimate(accuracy)}
    vars(answers)["worst"] = "shifted"

    assert answers.keeps_accuracy is keeps


@pytest.mark.parametrize(
    ("accuracy", "gap", "is_excluded"),
    [
        # An accuracy of 1/2 in [1/4, 3/4] excludes a mean confidence above 3/4 or below 1/4.
        (Estimate(0.5, 0.25, 0.75), 0.25, False),
        (Estimate(0.5, 0.25, 0.75), 0.375, True),
        (Estimate(0.5, 0.25, 0.75), -0.25, False),
        (Estimate(0.5, 0.25, 0.75), -0.375, True),
        (Estimate(0.5), 0.5, False),
        (Estimate(None), 0.5, False),
        (None, 0.5, False),
    ],
)
def test_a_bin_is_off_if_its_interval_excludes_its_confidence(accuracy, gap, is_excluded):
    assert _excludes_confidence(accuracy, gap) is is_excluded


@pytest.mark.parametrize(
    ("is_largest", "row"),
    # The largest of rows 1, 3, 4 and 5 is 0.8 in the rows 3 and 5, whose ids are "d" and "b". The
    # smallest is 0.3 in the rows 1 and 4, whose ids are "e" and "c".
    [(True, 5), (False, 4)],
)
def test_of_equal_confidences_the_first_id_is_shown(is_largest, row):
    confidences = np.array([0.99, 0.3, 0.01, 0.8 + 2e-11, 0.3 + 2e-11, 0.8])
    ids = ["a", "e", "f", "d", "c", "b"]

    assert _find_extreme(confidences, np.array([1, 3, 4, 5]), ids, largest=is_largest) == row


def make_binned_answers(rows, accuracies, gap):
    """Return answers with bins (count, mean confidence, accuracy), in tenths from 0.5 upwards."""
    answers = make_answers(gap=gap)
    bins = []
    for index, (count, confidence, accuracy) in enumerate(rows):
        lower = (5 + index) / 10
        upper = (6 + index) / 10
        bins.append(
            SimpleNamespace(
                count=count, confidence=confidence, accuracy=accuracy, lower=lower, upper=upper
            )
        )
    answers.measured.bins = SimpleNamespace(bins=bins)
    answers.measured.accuracies = accuracies
    # Items at 0.5 and 0.6 are in the first bin; one at 0.6 is not in the second.
    answers.measured.items.top = SimpleNamespace(
        confidence=np.array([0.5, 0.6, 0.65, 0.7, 0.75, 0.8]),
        correct=np.array([1, 0, 1, 0, 0, 1]),
    )
    return answers


# Gaps of 0.05, 0.3 and 0.2 with intervals of a half width of 0.1: the last two are significant.
OVERCONFIDENT = [(2, 0.55, 0.5), (2, 0.68, 0.38), (2, 0.78, 0.58)]
# Gaps of -0.3, -0.2 and 0.25, all of which are significant.
MIXED = [(2, 0.55, 0.85), (2, 0.65, 0.85), (2, 0.75, 0.5)]
LARGE_GAP = (0.2, 0.1, 0.3)


def make_intervals(rows, half_width=0.1):
    return [Estimate(row[2], row[2] - half_width, row[2] + half_width) for row in rows]


def test_the_most_confident_overconfident_bin_is_shown():
    answers = make_binned_answers(OVERCONFIDENT, make_intervals(OVERCONFIDENT), LARGE_GAP)

    # The third bin, from above 0.7 to 0.8, has two items, the first of which is incorrect.
    shown = answers.worst_bin
    assert shown.row.lower == 0.7
    assert shown.rows.tolist() == [4, 5]
    assert shown.shows.tolist() == [True, False]
    assert shown.is_overconfident is True


def test_the_least_confident_underconfident_bin_is_shown():
    answers = make_binned_answers(MIXED, make_intervals(MIXED), (-0.2, -0.3, -0.1))

    # The first bin includes its lower edge, 0.5, and its upper edge, 0.6.
    shown = answers.worst_bin
    assert shown.rows.tolist() == [0, 1]
    assert shown.shows.tolist() == [True, False]
    assert shown.is_overconfident is False


@pytest.mark.parametrize(
    ("counts", "rows"),
    [
        # With equal counts, the first bin contributes the most: 2 * 0.3 against 2 * 0.25.
        ((2, 2, 2), [0, 1]),
        # 3 * 0.25 = 0.75 is more than 2 * 0.3 = 0.6 and 3 * 0.2.
        ((2, 3, 3), [4, 5]),
    ],
)
def test_with_a_small_gap_the_largest_contribution_gives_the_direction(counts, rows):
    bins = [(count, *row[1:]) for count, row in zip(counts, MIXED, strict=True)]
    answers = make_binned_answers(bins, make_intervals(bins), (0.0, -0.01, 0.01))
    answers.measured.consistency.p_value = 0.001
    answers.measured.decided["ece_debiased"] = Estimate(0.2, 0.1, 0.3)

    assert answers.worst_bin.rows.tolist() == rows


def test_no_bin_is_shown_if_none_is_significant():
    wide = make_binned_answers(OVERCONFIDENT, make_intervals(OVERCONFIDENT, 0.35), LARGE_GAP)
    assert wide.worst_bin is None

    calibrated = make_binned_answers(
        OVERCONFIDENT, make_intervals(OVERCONFIDENT), (0.0, -0.01, 0.01)
    )
    assert calibrated.worst_bin is None
