"""Corrections of answer priors: what is fitted, kept in a file, and applied to scores."""

import json
import subprocess
import sys

import numpy as np
import pytest

from rightreasons.core.errors import OptionError
from rightreasons.core.scores import Scores
from rightreasons.probes.corrected import CorrectedScorer
from rightreasons.probes.corrections import (
    PriorCorrection,
    fit_content_free_prior,
    fit_position_prior,
    fit_prior_correction,
    load_prior_correction,
)

LOG3 = np.log(3)


def make_groups(differences, frequencies):
    """Items of two choices, four per group, whose first choice is correct as often as a group says.

    Args:
        differences: Group -> score of the first choice minus that of the second, with and without the question.
        frequencies: Group -> in how many of four items the first choice is correct.
    """
    scores = []
    without = []
    labels = []
    for (difference, prior), n_first in zip(differences, frequencies, strict=True):
        for number in range(4):
            row = [difference + 5.0, 5.0]
            prior_row = [prior - 2.0, -2.0]
            label = int(number >= n_first)
            # Every other item has its choices in the other order, which changes nothing.
            if number % 2:
                row.reverse()
                prior_row.reverse()
                label = 1 - label
            scores.append(row)
            without.append(prior_row)
            labels.append(label)
    return scores, without, labels


def test_the_fit_is_the_strength_and_temperature_of_the_frequencies():
    # Two groups and two parameters: the best fit has the log odds of each group, log 3 of 3:1 and 0 of 2:2.
    # (3 log 3 - λ 2 log 3) / T = log 3 and (log 3 - λ 2 log 3) / T = 0 give λ = 1/2 and T = 2.
    scores, without, labels = make_groups([(3 * LOG3, 2 * LOG3), (LOG3, 2 * LOG3)], [3, 2])

    correction = fit_prior_correction(scores, without, labels)

    assert correction.strength == pytest.approx(0.5, abs=1e-5)
    assert correction.temperature == pytest.approx(2.0, abs=1e-4)
    assert correction.n_fit == 8


def test_a_prior_that_carries_the_accuracy_is_kept():
    # (0.2 - λ log 3) / T = log 3 and (-0.1 + λ 2 log 3) / T = -log 3 give λ / T = -1/3: the prior should count
    # more, not less. The nearest allowed strength is 0.
    scores, without, labels = make_groups([(0.2, LOG3), (-0.1, -2 * LOG3)], [3, 1])

    correction = fit_prior_correction(scores, without, labels)

    assert correction.strength == 0
    assert not correction.needs_second_request


def test_scores_that_say_nothing_keep_their_order():
    # Both choices are correct equally often at every score.
    scores, without, labels = make_groups([(LOG3, 0.3), (2.0, -0.4)], [2, 2])

    correction = fit_prior_correction(scores, without, labels)

    assert (correction.strength, correction.temperature) == (0.0, 100.0)
    assert correction([[1.0, 0.0]], [[0.0, 0.0]])[0, 0] > 0.5


def test_rows_of_different_lengths_are_corrected_one_by_one():
    correction = PriorCorrection("per_item", strength=0.5, temperature=2.0, n_fit=8)

    first, second = correction(
        [[4 * LOG3, 0.0], [0.0, 0.0, 2 * LOG3]], [[4 * LOG3, 0.0], [0.0, 0.0, 0.0]]
    )

    # (4 log 3 - 2 log 3) / 2 = log 3: 3/4. Without a prior, 2 log 3 / 2: 1/5, 1/5 and 3/5.
    assert first.tolist() == pytest.approx([0.75, 0.25])
    assert second.tolist() == pytest.approx([0.2, 0.2, 0.6])


def test_a_choice_that_is_impossible_without_the_question_is_not_infinitely_likely():
    correction = PriorCorrection("per_item", strength=1.0, temperature=1.0, n_fit=8)

    probabilities = correction([[0.0, 0.0]], [[0.0, -np.inf]])

    # The smallest prior is 1e-12 of the largest.
    assert probabilities[0].tolist() == pytest.approx([1e-12 / (1 + 1e-12), 1 / (1 + 1e-12)])


def test_contextual_calibration_divides_by_the_mean_over_questions_and_items():
    content_free = [[[0.9, 0.1], [0.7, 0.3]], [[0.8, 0.2], [0.4, 0.6]]]

    correction = fit_content_free_prior(content_free)

    # The mean of the first column is 2.8 / 4; 0.7 and 0.3 are then equally likely.
    assert correction.prior == pytest.approx([0.7, 0.3])
    assert correction([[0.7, 0.3]], scores="probabilities")[0].tolist() == pytest.approx([0.5, 0.5])


def test_a_prior_over_positions_needs_as_many_choices():
    correction = fit_position_prior([[[0.6, 0.4], [0.7, 0.3]]])

    with pytest.raises(ValueError, match="2 choices"):
        correction([[0.2, 0.3, 0.5]], scores="probabilities")


@pytest.mark.parametrize(
    ("scores", "without", "labels", "match"),
    [
        ([[1.0, 0.0]], [[1.0, 0.0, 0.0]], [0], "as many choices"),
        ([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [0], "one length"),
        ([[1.0, 0.0]], [[1.0, 0.0]], [2], "references"),
    ],
)
def test_scores_that_do_not_fit_are_refused(scores, without, labels, match):
    with pytest.raises(ValueError, match=match):
        fit_prior_correction(scores, without, labels)


def test_scores_without_the_question_are_required():
    correction = PriorCorrection("per_item", strength=0.5, temperature=1.0, n_fit=8)

    with pytest.raises(ValueError, match="without the question"):
        correction([[1.0, 0.0]])


def test_a_saved_correction_is_the_same_function(tmp_path):
    scores, without, labels = make_groups([(3 * LOG3, 2 * LOG3), (LOG3, 2 * LOG3)], [3, 2])
    correction = fit_prior_correction(scores, without, labels)

    loaded = load_prior_correction(correction.save(tmp_path / "correction.json"))

    assert loaded == correction
    assert np.array_equal(loaded(scores, without), correction(scores, without))


@pytest.mark.parametrize(
    "changes",
    [
        {"method": "magic"},
        {"strength": 1.5},
        {"temperature": 0.0},
        {"method": "positions", "prior": [0.5, 0.6]},
        {"format": "rightreasons recalibrator 1"},
    ],
)
def test_a_file_with_something_else_is_refused(tmp_path, changes):
    file = PriorCorrection("per_item", 0.5, 1.0, 8).save(tmp_path / "correction.json")
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))

    with pytest.raises((ValueError, OptionError)):
        load_prior_correction(file)


def test_a_correction_is_loaded_and_applied_without_torch(tmp_path):
    file = PriorCorrection("per_item", 1.0, 1.0, 8).save(tmp_path / "correction.json")
    code = (
        "import sys, rightreasons\n"
        f"correction = rightreasons.load_prior_correction({str(file)!r})\n"
        "print(correction([[0.0, 0.0]], [[0.0, 0.0]]).tolist(), 'torch' in sys.modules)"
    )

    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout

    assert printed == "[[0.5, 0.5]] False\n"


class ScriptedScorer:
    """A scorer of choices that prefers the first one, and fails at one item without its question."""

    name = "scripted"
    label_names = None
    abilities = frozenset()
    fingerprint = "scripted"
    joint = False

    def describe(self):
        return {}

    def predict(self, texts, **keeping):
        raise NotImplementedError

    def choose(self, prompts, choices, *, ids, labels=None, progress=True, out=None):
        rows = [row for row, prompt in enumerate(prompts) if prompt or ids[row] != "b"]
        logits = [[2.0 if prompts[row] else 1.5, 0.0] for row in rows]
        failures = {name: "empty" for row, name in enumerate(ids) if row not in rows}
        return Scores(tuple(ids[row] for row in rows), np.array(logits), failures=failures)


def test_a_wrapped_model_answers_what_the_correction_leaves():
    correction = PriorCorrection("per_item", strength=1.0, temperature=0.5, n_fit=8)

    scores = CorrectedScorer(ScriptedScorer(), correction).choose(
        ["Why?", "Who?", "How?"], [["x", "y"]] * 3, ids=["a", "b", "c"]
    )

    # (2.0 - 1.5) / 0.5 = 1; "b" has no score without its question.
    assert scores.ids == ("a", "c")
    assert (scores.logits[:, 0] - scores.logits[:, 1]).tolist() == pytest.approx([1.0, 1.0])
    assert scores.failures == {"b": "empty"}


def test_a_scorer_of_classes_is_refused():
    scorer = ScriptedScorer()
    scorer.label_names = ("no", "yes")

    with pytest.raises(ValueError, match="scorer of choices"):
        CorrectedScorer(scorer, PriorCorrection("per_item", 1.0, 1.0, 8))


def test_a_corrected_scorer_says_what_was_corrected_and_scores_no_texts():
    correction = PriorCorrection("per_item", 1.0, 1.0, 8)
    scorer = CorrectedScorer(ScriptedScorer(), correction)

    assert scorer.describe()["correction"] == correction.to_dict()
    with pytest.raises(ValueError, match="choose"):
        scorer.predict(["a text"])
