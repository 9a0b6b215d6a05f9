"""The accuracy that a judge reports, corrected by human labels."""

import json

import numpy as np
import pytest

from command_line import run
from rightreasons.probes import correct_judged_accuracy
from rightreasons.probes.judged_accuracy import read_graded_answers

NAN = float("nan")


def draw_answers(rng, n_items, n_labeled, accuracy, sensitivity, specificity):
    is_correct = rng.random(n_items) < accuracy
    false_positives = rng.random(n_items) >= specificity
    judged = np.where(is_correct, rng.random(n_items) < sensitivity, false_positives)
    human = np.full(n_items, NAN)
    human[:n_labeled] = is_correct[:n_labeled]
    return judged.astype(float), human


def test_corrections_in_closed_form():
    judged = [1] * 80 + [0] * 20
    human = [1] * 8 + [0] * 2 + [NAN] * 70 + [0] * 4 + [NAN] * 16

    result = correct_judged_accuracy(judged, human)

    # Of the labeled answers, all 8 correct ones and 4 of 6 incorrect ones are recognized.
    assert (result.sensitivity.value, result.specificity.value) == (1.0, pytest.approx(4 / 6))
    assert result.rogan_gladen.value == pytest.approx((0.8 + 4 / 6 - 1) / (1 + 4 / 6 - 1))
    # Covariance of human and judge: 8/14 - 8/14 * 10/14; variance of all verdicts: 100/99 * 0.16.
    weight = (8 / 14 - 8 / 14 * 10 / 14) / ((1 + 14 / 86) * 0.16 * 100 / 99)
    assert result.weight == pytest.approx(weight)
    expected = weight * 70 / 86 + 8 / 14 - weight * 10 / 14
    assert result.prediction_powered.value == pytest.approx(expected)
    assert result.judged.value == 0.8
    assert result.human.value == pytest.approx(8 / 14)


def test_a_perfect_judge_leaves_its_accuracy_and_an_interval():
    human = [1, 0] * 20 + [NAN] * 100
    judged = [1, 0] * 20 + [1] * 70 + [0] * 30

    result = correct_judged_accuracy(judged, human)

    assert result.rogan_gladen.value == pytest.approx(90 / 140)
    # All labels agree, but a few of the others may not.
    estimate = result.prediction_powered
    assert estimate.high - estimate.low > 0.15


def test_a_judge_that_says_nothing_leaves_the_human_labels():
    human = [1] * 12 + [0] * 8 + [NAN] * 50

    result = correct_judged_accuracy([1] * 70, human)

    assert result.weight == 0.0
    assert result.rogan_gladen is None
    assert result.prediction_powered.value == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("accuracy", "sensitivity", "specificity", "n_labeled"),
    [(0.7, 0.95, 0.8, 50), (0.9, 0.97, 0.7, 200), (0.5, 0.8, 0.8, 100)],
)
def test_intervals_cover_the_truth_and_the_judge_alone_does_not(
    accuracy, sensitivity, specificity, n_labeled
):
    rng = np.random.default_rng(4)
    n_runs = 150
    n_covered = {"prediction_powered": 0, "rogan_gladen": 0}
    widths = {"prediction_powered": [], "human": []}
    for _ in range(n_runs):
        drawn = draw_answers(rng, 1000, n_labeled, accuracy, sensitivity, specificity)
        result = correct_judged_accuracy(*drawn)
        for name in n_covered:
            estimate = getattr(result, name)
            n_covered[name] += estimate.low <= accuracy <= estimate.high
        for name, values in widths.items():
            estimate = getattr(result, name)
            values.append(estimate.high - estimate.low)

    # 95 % of 150 are 142.5; 136 is 2.4 standard errors below.
    assert min(n_covered.values()) >= 136
    assert np.mean(widths["prediction_powered"]) < np.mean(widths["human"])


@pytest.mark.parametrize(
    ("accuracy", "sensitivity", "specificity"), [(0.5, 0.8, 0.8), (0.7, 0.9, 0.6), (0.2, 0.75, 0.9)]
)
def test_rogan_gladen_intervals_allow_for_labeled_answers_among_all(
    accuracy, sensitivity, specificity
):
    # With half of the answers labeled, the covariances of the rates matter most. Without them,
    # 99.6 % of these intervals would cover the accuracy.
    rng = np.random.default_rng(5)
    n_runs = 400
    n_covered = 0
    for _ in range(n_runs):
        judged, human = draw_answers(rng, 200, 100, accuracy, sensitivity, specificity)
        estimate = correct_judged_accuracy(judged, human).rogan_gladen
        n_covered += estimate.low <= accuracy <= estimate.high

    # Four standard errors around 96 %, each 0.0098.
    assert 0.92 < n_covered / n_runs < 0.99


def test_rogan_gladen_intervals_end_at_that_of_the_human_labels():
    # With nearly all answers labeled, the errors of the judge hardly matter.
    rng = np.random.default_rng(6)
    judged, human = draw_answers(rng, 2000, 1990, 0.6, 0.8, 0.8)

    result = correct_judged_accuracy(judged, human)

    width = result.rogan_gladen.high - result.rogan_gladen.low
    assert width == pytest.approx(result.human.high - result.human.low, rel=0.05)


def test_unlabeled_answers_that_the_judge_rejects_count_as_zero():
    human = [1] * 8 + [0] * 8 + [NAN] * 20
    judged = [1] * 8 + [0] * 8 + [0] * 20

    result = correct_judged_accuracy(judged, human)

    # The judge accepts none of the unlabeled answers and half of the labeled ones: w 0 + (1 - w) / 2.
    assert 0.0 < result.weight < 1.0
    assert result.prediction_powered.value == pytest.approx((1 - result.weight) / 2)


def test_intervals_of_a_perfect_judge_stay_in_range():
    human = [1] * 30 + [0] * 2 + [NAN] * 200
    judged = [1] * 30 + [0] * 2 + [1] * 200

    result = correct_judged_accuracy(judged, human)

    assert result.rogan_gladen.value == pytest.approx(230 / 232)
    assert 0.9 < result.rogan_gladen.low < result.rogan_gladen.high <= 1.0


@pytest.mark.parametrize(
    ("judged", "human", "words"),
    [
        ([1, 0] * 20, [1] * 9 + [NAN] * 31, "human labels"),
        ([1, 0] * 20, [1] * 40, "human labels"),
        ([0.5] * 20, [1] * 10 + [NAN] * 10, "1 and 0"),
        ([1] * 20, [NAN] * 10, "one length"),
    ],
)
def test_what_cannot_be_corrected_is_refused(judged, human, words):
    with pytest.raises(ValueError, match=words):
        correct_judged_accuracy(judged, human)


def test_the_command_prints_both_corrections_of_each_judge(tmp_path, capsys):
    rng = np.random.default_rng(1)
    rows = []
    for judge in ("strict", "lenient"):
        specificity = 0.95 if judge == "strict" else 0.6
        judged, human = draw_answers(rng, 300, 80, 0.7, 0.95, specificity)
        for verdict, label in zip(judged.tolist(), human.tolist(), strict=True):
            cell = "" if np.isnan(label) else str(int(label))
            rows.append({"judge": judge, "verdict": int(verdict), "human": cell})
    path = tmp_path / "graded.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    words = ("--human-column", "human", "--judge-column", "judge")
    done = run(capsys, "judges", path, *words)

    assert done.code == 0, done.err
    assert "600 answers" in done.out
    assert done.out.count("prediction-powered") >= 2
    assert "lenient" in done.out


def test_cells_are_words_or_numbers():
    rows = {"grade": ["C", "I", "yes"], "human": [True, None, "0"]}

    graded = read_graded_answers(rows, human_column="human", verdict_column="grade")

    verdicts, labels = graded.judges["judge"]
    assert verdicts.tolist() == [1.0, 0.0, 1.0]
    assert labels[[0, 2]].tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="row 1"):
        read_graded_answers({"verdict": [1, 7], "human": [1, 0]}, human_column="human")
