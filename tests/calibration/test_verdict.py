"""The verdict on models of known truth: calibrated ones are not amber, and what is off in parts is found."""

from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.measure import measure_calibration
from rightreasons.calibration.measurement import CalibrationAnswers
from rightreasons.calibration.question import CALIBRATION
from rightreasons.core.decisions import Decision
from rightreasons.core.estimates import Estimate
from rightreasons.core.resampling import Resampling


def verdict(confidence, chance, rng, seed, copies=1):
    """Judge answers that are right with a chance each; copies of an item are answered alike."""
    rows = np.repeat(np.arange(len(confidence)), copies)
    right = (rng.random(len(confidence)) < chance)[rows]
    table = np.column_stack((confidence, 1 - confidence))[rows]
    items = JudgedItems.of(
        np.log(table), np.where(right, 0, 1), clusters=rows if copies > 1 else None
    )
    measured = measure_calibration(
        items, keys=["confidence_gap"], resampling=Resampling(resamples=200, seed=seed)
    )
    context = SimpleNamespace(primary=SimpleNamespace(name="test"))
    answers = CalibrationAnswers(context, None, measured, {"test": measured.figures})
    return CALIBRATION.find_rule(answers), answers


def shares(draw, n_draws=40, **options):
    """Return the share of each tone over draws."""
    tones = []
    for seed in range(n_draws):
        rng = np.random.default_rng([11, seed])
        tones.append(verdict(*draw(rng), rng, seed, **options)[0].tone)
    return {tone: tones.count(tone) / n_draws for tone in ("good", "neutral", "warn", "bad")}


def spread(rng, n, over=0.0, s_shape=0.0):
    p = 0.5 + 0.5 * rng.beta(3, 2, n)
    return p, np.clip(p - over + np.where(p < 0.8, s_shape, -s_shape), 0, 1)


@pytest.mark.parametrize("n_items", [100, 400])
def test_calibrated_models_are_neither_red_nor_amber(n_items):
    found = shares(lambda rng: spread(rng, n_items))
    assert found["bad"] + found["warn"] <= 0.05


def test_copies_of_the_items_of_a_calibrated_model_make_it_no_amber():
    found = shares(lambda rng: spread(rng, 80), copies=5)
    assert found["bad"] + found["warn"] <= 0.05


def test_a_thousand_items_tell_a_calibrated_model_from_one_that_is_off():
    assert shares(lambda rng: spread(rng, 1000), 20)["good"] >= 0.7
    assert shares(lambda rng: spread(rng, 1000, over=0.1), 20)["bad"] >= 0.9
    # Off by 15 points in both halves of the confidence, and by nothing on average.
    found = shares(lambda rng: spread(rng, 1000, s_shape=0.15), 20)
    assert found["warn"] + found["bad"] >= 0.9
    assert found["good"] == 0


def test_surely_off_by_less_than_the_margin_is_green():
    # All right at 98.6 % sure: a gap of -1.4 points, that surely differs from 0.
    rule, answers = verdict(np.full(500, 0.986), 1.0, np.random.default_rng(0), 0)
    assert (rule.tone, answers.measured.consistency.p_value < 0.025) == ("good", True)
    assert answers.estimates["confidence_gap"].high < 0


def test_a_gray_verdict_says_how_many_items_would_tell():
    rule, answers = verdict(*spread(np.random.default_rng(1), 100), np.random.default_rng(2), 0)
    assert rule.tone == "neutral"
    assert answers.n_needed == CALIBRATION.power.n_planned == 510


@pytest.mark.parametrize(
    ("gap", "gap_level", "error_level", "p_value", "label"),
    [
        (0.03, "unknown", "unknown", 0.5, "Overconfident, perhaps by 5 points or more"),
        (-0.02, "small", "unknown", 0.5, "Underconfident, by less than 5 points on average"),
        (
            0.0,
            "small",
            "unknown",
            0.001,
            "Miscalibrated at some confidence levels, perhaps by 5 points or more",
        ),
        (0.0, "unknown", "unknown", 0.5, "Miscalibration neither shown nor ruled out"),
    ],
)
def test_a_gray_label_says_what_is_shown_and_what_is_open(
    gap, gap_level, error_level, p_value, label
):
    # A gap of 0 is not significant, any other one is.
    estimate = Estimate(gap, gap - abs(gap) / 2, gap + abs(gap) / 2)
    if not gap:
        estimate = Estimate(0.0, -0.03, 0.03)
    measured = SimpleNamespace(
        figures={"confidence_gap": estimate},
        decided={"confidence_gap": estimate, "ece_debiased": Estimate(0.04)},
        consistency=SimpleNamespace(p_value=p_value, confidence_level=0.95),
    )
    answers = CalibrationAnswers(None, None, measured)
    vars(answers)["decisions"] = {
        "confidence_gap": Decision(gap_level, 900),
        "ece_debiased": Decision(error_level, 900),
    }

    assert CALIBRATION.prose.of(m=answers).title("verdict.open") == label


def test_enough_items_that_settle_nothing_are_not_called_hopeless():
    rng = np.random.default_rng(4)
    # Off by 4 points of 5, which 600 items neither show nor rule out.
    rule, answers = verdict(*spread(rng, 600, over=0.04), rng, 0)
    assert (rule.key, answers.n_needed) == ("open", None)

    figures = dict.fromkeys(("accuracy", "mean_confidence", "confidence_gap"), Estimate(0.5))
    summary = CALIBRATION.prose.of(m=answers, figures=figures, split="test")("verdict.open")

    assert "So many items usually settle the question" in summary
    assert "More items would narrow its interval." in summary


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.01, 0.03, True), (-0.03, -0.01, True), (-0.01, 0.01, False), (None, None, False)],
)
def test_a_gap_is_significant_if_its_interval_is_on_one_side_of_0(low, high, expected):
    measured = SimpleNamespace(decided={"confidence_gap": Estimate(0.0, low, high)})

    answers = CalibrationAnswers(None, None, measured)

    assert answers.has_significant_gap is expected


# Two figures are tested, so that p must be below 0.05 / 2; the margin is 0.05.
@pytest.mark.parametrize(
    ("p_value", "error", "significant", "in_bins"),
    [(0.024, 0.049, True, False), (0.024, 0.051, True, True), (0.026, 0.2, False, False)],
)
def test_a_small_error_may_be_significant(p_value, error, significant, in_bins):
    measured = SimpleNamespace(
        consistency=SimpleNamespace(p_value=p_value, confidence_level=0.95),
        decided={"ece_debiased": Estimate(error)},
    )

    answers = CalibrationAnswers(None, None, measured)

    assert answers.has_significant_error is significant
    assert answers.is_miscalibrated_in_bins is in_bins


def test_without_class_scores_the_first_elicited_source_stands_in():
    figures = {"accuracy": Estimate(0.5), "nll": Estimate(0.7), "mean_confidence": Estimate(0.6)}
    elicited = SimpleNamespace(sources=[SimpleNamespace(figures=figures)], n_shared=12)

    answers = CalibrationAnswers(None, elicited)

    assert list(answers.estimates) == ["accuracy", "mean_confidence"]
    assert answers.n_items == 12
    assert answers.decisions == {}
    assert not answers.is_calibrated
    assert not answers.is_gap_large
    assert not answers.is_miscalibrated_in_bins
    assert not answers.has_significant_gap
    assert answers.n_needed is None
    assert answers.label_errors.size == 0
    assert CalibrationAnswers(None, None).n_items == 0
    assert CalibrationAnswers(None, None).estimates == {}


def test_the_verdict_needs_both_figures():
    decisions = {"confidence_gap": Decision("small", 9), "ece_debiased": Decision("unknown", 9, 70)}
    answers = CalibrationAnswers(None, None)
    vars(answers)["decisions"] = decisions

    assert not answers.is_calibrated
    assert answers.is_inconclusive
    assert answers.n_needed == 70
    decisions["confidence_gap"] = Decision("unknown", 9, 90)
    assert answers.n_needed == 90


def test_a_lower_accuracy_is_not_kept():
    measured = SimpleNamespace(figures={"accuracy": Estimate(0.8)})
    for accuracy, expected in ((0.7, False), (0.8, True), (0.9, True)):
        answers = CalibrationAnswers(None, None, measured, {"b": {"accuracy": Estimate(accuracy)}})
        vars(answers)["worst"] = "b"

        assert answers.keeps_accuracy is expected


def make_disputed_answers(**split):
    """Return answers on five items, of which a confident model contradicts the last two."""
    table = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.95, 0.05], [0.9, 0.1]])
    labels = np.array([0, 0, 1, 1, 1])
    items = SimpleNamespace(table=table, top=SimpleNamespace(labels=labels), n_units=5)
    context = SimpleNamespace(
        primary=SimpleNamespace(labeled=np.ones(5, dtype=bool), **split), resampling=Resampling()
    )
    return CalibrationAnswers(context, None, SimpleNamespace(items=items), classes=[])


def test_disputed_labels_have_an_expected_share_of_incorrect_ones():
    answers = make_disputed_answers(records_mislabeled=False)

    assert answers.label_errors.tolist() == [3, 4]
    assert 0 <= answers.incorrect_share.low <= answers.incorrect_share.high <= 1


def test_a_label_that_the_data_confirms_is_not_disputed():
    mislabeled = np.array([False, False, False, False, True])

    answers = make_disputed_answers(records_mislabeled=True, mislabeled=mislabeled)

    assert answers.label_errors.tolist() == [4]
    # The data records it: nothing is left to estimate.
    assert answers.incorrect_share is None


def make_answers(probabilities, labels, task="classification"):
    """Measure class scores, as the audit of a split with texts does."""
    n_items = len(labels)
    texts = [f"text {row}" for row in range(n_items)]
    split = SimpleNamespace(
        name="test",
        ids=[f"item {row}" for row in range(n_items)],
        labels=np.array(labels),
        labeled=np.ones(n_items, dtype=bool),
        mislabeled=np.zeros(n_items, dtype=bool),
        planted=None,
        text_pairs=None,
        choices=None,
        text_column="text",
        data=[{"text": text} for text in texts],
    )
    context = SimpleNamespace(
        primary=split,
        task=task,
        answers_once=False,
        stored=None,
        label_name=["no", "yes"].__getitem__,
    )
    table = np.array(probabilities)
    measured = measure_calibration(
        JudgedItems.of(np.log(table), split.labels), resampling=Resampling(resamples=50)
    )
    return CalibrationAnswers(context, None, measured, {"test": measured.figures})


@pytest.mark.parametrize("is_over", [True, False])
def test_the_item_and_its_bin_show_the_miscalibration(monkeypatch, is_over):
    # Bins of 15 are 1/15 wide. At confidences of 0.95 to 0.98, 30 of 60 answers are correct; at
    # 0.64, 39 of 60. If underconfident, all answers at 0.55 to 0.58 are correct, and at 0.95, too.
    if is_over:
        confidences = [*np.linspace(0.95, 0.98, 60), *[0.64] * 60]
        labels = [0, 1] * 30 + [0] * 39 + [1] * 21
    else:
        confidences = [*np.linspace(0.55, 0.58, 60), *[0.95] * 60]
        labels = [0] * 120
    answers = make_answers([(value, 1 - value) for value in confidences], labels)
    monkeypatch.setattr("rightreasons.audited.examples._compose_note", lambda split, item, note: "")

    (example,) = answers.pick_example()
    (figure,) = CALIBRATION.by_item(answers)

    worst_bin = answers.worst_bin
    assert answers.is_gap_large
    assert worst_bin.is_overconfident is is_over
    # Row 59 is the last one, and incorrect; row 0 is correct.
    assert (example.id, example.label) == (("item 59", "yes") if is_over else ("item 0", "no"))
    assert example.prediction == "no"
    assert worst_bin.row.count == len(figure.ids) == 60 if is_over else len(figure.ids) > 10
    assert figure.values == tuple(map(float, worst_bin.shows))
    if is_over:
        assert sum(figure.values) == 30
        assert figure.name == "Incorrect at a confidence of 93.3% to 100%"
    else:
        assert set(figure.values) == {1.0}
        assert figure.name.startswith("Correct at a confidence of 53.3%")


def test_without_a_shown_miscalibration_no_item_is_shown():
    # The mean confidence is 0.8, and 80 of 100 answers are correct.
    answers = make_answers([(0.8, 0.2)] * 100, [0] * 80 + [1] * 20)

    assert answers.worst_bin is None
    assert answers.pick_example() == ()
    assert list(CALIBRATION.by_item(answers)) == []
