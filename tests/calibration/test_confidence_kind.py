"""kind="confidence": confidence in given answers beside whether they were right, for every measure of the family."""

import math

import numpy as np
import pytest

from rightreasons.calibration.errors import calibration_error
from rightreasons.calibration.macro_error import macro_ce
from rightreasons.calibration.proper_scores import (
    brier_score,
    negative_log_likelihood,
    selective_scores,
)
from rightreasons.calibration.recalibration import calibration_summary
from rightreasons.calibration.smooth import consistency, ece_sweep, smooth_ece
from rightreasons.core.resampling import Resampling

CONFIDENCE = [0.0, 0.3, 0.3, 0.45, 0.9, 0.9, 1.0]
"""Both ends, ties, values below one half; in two bins: four items up to 0.5, three above."""

RIGHT = [0, 1, 0, 1, 1, 0, 1]

FAMILY = [
    *(
        pytest.param(
            calibration_error, {"strategy": strategy, "norm": norm}, id=f"ece-{strategy}-{norm}"
        )
        for strategy in ("uniform", "quantile")
        for norm in ("l1", "l2", "max")
    ),
    pytest.param(calibration_error, {"debias": True}, id="ece-debiased"),
    pytest.param(calibration_error, {"resampling": Resampling(resamples=40)}, id="ece-interval"),
    pytest.param(smooth_ece, {}, id="smooth"),
    pytest.param(ece_sweep, {}, id="sweep"),
    pytest.param(macro_ce, {}, id="macro"),
    pytest.param(selective_scores, {}, id="selective"),
    pytest.param(brier_score, {}, id="brier"),
]


def table_of(n=311, k=4, seed=1):
    """Class scores with ties, a row that is certain, and labels that are right more often where the score is high."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(k, 0.4), n)
    rows[5] = rows[6]
    rows[7] = np.eye(k)[k - 1]
    labels = np.where(rng.random(n) < 0.6, rows.argmax(axis=1), rng.integers(0, k, n))
    labels[7] = k - 1
    return rows, labels


def figures(result):
    return {
        name: value
        for name, value in result.to_dict().items()
        if name not in ("definition", "warning")
    }


@pytest.mark.parametrize(("measure", "options"), FAMILY)
@pytest.mark.parametrize("k", [3, 4])
def test_top_label_of_a_table_is_confidence_of_its_largest_probability_and_correctness(
    measure, options, k
):
    rows, labels = table_of(k=k)
    confidence, right = rows.max(axis=1), rows.argmax(axis=1) == labels
    of_table = measure(rows, labels, kind="top_label", **options)
    of_answers = measure(confidence, right, kind="confidence", **options)
    assert figures(of_answers) == figures(of_table)


def test_the_summary_of_answers_is_that_of_the_top_labels():
    rows, labels = table_of()
    confidence, right = rows.max(axis=1), rows.argmax(axis=1) == labels
    whole, answers = (
        calibration_summary(rows, labels),
        calibration_summary(confidence, right, kind="confidence"),
    )
    by_class = {"classwise_ece", "ace", "tace", "brier", "nll"}
    for name, value in whole.items():
        if name not in by_class:
            assert answers[name] == value, name
    assert (answers["classwise_ece"], answers["ace"], answers["tace"]) == (None, None, None)
    assert answers["brier"] == brier_score(confidence, right, kind="confidence").brier
    assert answers["nll"] == negative_log_likelihood(confidence, right, kind="confidence").nll


def test_consistency_is_the_same():
    rows, labels = table_of()
    confidence, right = rows.max(axis=1), rows.argmax(axis=1) == labels
    of_table, of_answers = (
        calibration_error(rows, labels),
        calibration_error(confidence, right, kind="confidence"),
    )
    assert consistency(of_answers) == consistency(of_table)


class TestByHand:
    def test_calibration_error(self):
        # Up to 0.5: confidence 1.05/4, right 2/4; above: 2.8/3 and 2/3. Weights 4/7 and 3/7.
        result = calibration_error(CONFIDENCE, RIGHT, kind="confidence", n_bins=2)
        assert result.ece == pytest.approx((abs(1.05 - 2) + abs(2.8 - 2)) / 7)
        assert (result.underconfidence, result.overconfidence) == pytest.approx((0.95 / 7, 0.8 / 7))
        assert (result.accuracy, result.mean_confidence) == pytest.approx((4 / 7, 3.85 / 7))
        assert [row.class_index for row in result.bins] == [None, None]
        assert "confidence" in result.definition

    def test_macro_ce(self):
        # right at 0.3, 0.45, 0.9, 1; wrong at 0, 0.3, 0.9
        result = macro_ce(CONFIDENCE, RIGHT, kind="confidence")
        assert result.ice_correct == pytest.approx((0.7 + 0.55 + 0.1 + 0) / 4)
        assert result.ice_wrong == pytest.approx((0 + 0.3 + 0.9) / 3)

    def test_auroc(self):
        # of 12 pairs: 0.3 beats 0 and ties 0.3; 0.45 beats 0 and 0.3; 0.9 beats those and ties 0.9; 1 beats all three
        expected = (1.5 + 2 + 2.5 + 3) / 12
        assert selective_scores(CONFIDENCE, RIGHT, kind="confidence").auroc == pytest.approx(
            expected
        )

    def test_brier_and_log_loss(self):
        squares = 0 + 0.49 + 0.09 + 0.3025 + 0.01 + 0.81 + 0
        assert brier_score(CONFIDENCE, RIGHT, kind="confidence").brier == pytest.approx(squares / 7)
        logs = sum(map(math.log, (1, 0.3, 0.7, 0.45, 0.9, 0.1, 1)))
        assert negative_log_likelihood(CONFIDENCE, RIGHT, kind="confidence").nll == pytest.approx(
            -logs / 7
        )

    def test_a_sure_answer_that_is_wrong_has_no_finite_log_loss(self):
        result = negative_log_likelihood([1.0, 0.2, 0.0], [0, 1, 1], kind="confidence")
        assert (result.nll, result.n_impossible) == (None, 2)

    def test_smooth_error_of_one_confidence_is_the_gap(self):
        assert smooth_ece(
            [0.3] * 5, [1, 1, 1, 1, 0], kind="confidence"
        ).smooth_ece == pytest.approx(0.5, abs=1e-3)

    def test_it_is_not_read_as_probability_of_class_1(self):
        # As P(class 1) a confidence of 0.3 becomes 0.7 in class 0.
        assert calibration_error(CONFIDENCE, RIGHT, n_bins=2).mean_confidence != pytest.approx(
            3.85 / 7
        )


def test_booleans_and_logarithms_give_the_same():
    whole = calibration_error(CONFIDENCE, RIGHT, kind="confidence", n_bins=5)
    assert calibration_error(
        np.float32(CONFIDENCE), np.array(RIGHT, bool), kind="confidence", n_bins=5
    ).ece == (pytest.approx(whole.ece, abs=1e-6))
    logs = [math.log(p) if p else -math.inf for p in CONFIDENCE]
    of_logs = calibration_error(
        logs, RIGHT, kind="confidence", scores="log_probabilities", n_bins=5
    )
    assert of_logs.ece == pytest.approx(whole.ece)


@pytest.mark.parametrize(
    ("predictions", "references", "options", "sentence"),
    [
        ([[0.7, 0.3]], [1], {}, r"shape \(N,\)"),
        ([[0.7, 0.3], [0.2, 0.3, 0.5]], [1, 0], {}, "got rows"),
        ([0.7, 1.3], [1, 0], {}, "1.3"),
        ([0.7, 0.3], [1, 2], {}, "between 0 and 1, but item 1 is 2"),
        ([0.7, 0.3], [1], {}, "2 and 1"),
        ([0.7, 0.3], [1, 0], {"scores": "logits"}, "scores='logits'"),
        ([1, 0], [1, 0], {}, "were predicted"),
    ],
)
def test_bad_input_has_its_sentence(predictions, references, options, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        calibration_error(predictions, references, kind="confidence", **options)
    assert str(caught.value).startswith("Expected ")


@pytest.mark.parametrize(
    "predictions",
    [[0, 1, 0], [2, 0, 1], np.array([0, 1, 1]), np.array([3, 1, 0], np.uint8)],
    ids=str,
)
def test_predicted_classes_are_refused(predictions):
    for measure in (
        calibration_error,
        macro_ce,
        selective_scores,
        brier_score,
        smooth_ece,
        calibration_summary,
    ):
        with pytest.raises(ValueError, match=r"\(N,\) P\(class 1\)"):
            measure(predictions, [0, 1, 1])


def test_certain_probabilities_are_not_predicted_classes():
    assert calibration_error([0.0, 1.0, 1.0], [0, 1, 0]).ece == pytest.approx(1 / 3)
    assert calibration_error([[0, 1], [1, 0]], [1, 0]).ece == 0
