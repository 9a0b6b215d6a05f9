"""What the sections say at the edges: one item, none, no difference, a tie, nothing tested."""

from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.behavior.measure import score_stored
from rightreasons.behavior.question import BEHAVIOR, BehaviorMeasurement
from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.measure import find_worst_split, measure_figures
from rightreasons.calibration.measurement import CalibrationAnswers
from rightreasons.calibration.question import CALIBRATION
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.core.intervals import wilson
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from rightreasons.difficulty.contrast_sets import ContrastItems, measure_contrast_sets
from rightreasons.difficulty.page_contrast import CONTRAST, ContrastAnswers
from rightreasons.io.scores.results import ModelAnswers
from rightreasons.page.formats import decimal, percent

RESAMPLING = Resampling(resamples=50)


def rate(hits, n):
    ends = wilson(hits, n)
    return make_estimate(hits / n, ends)


class TestCalibration:
    def gaps(self, **splits):
        """Split -> its gap, of items that are all answered 0 with a probability of 0.98."""
        return {
            name: measure_figures(
                JudgedItems.of(
                    np.tile([[4.0, 0.0]], (n, 1)), np.array([0] * right + [1] * (n - right))
                ),
                ("accuracy", "mean_confidence", "confidence_gap"),
                resampling=RESAMPLING,
            )
            for name, (right, n) in splits.items()
        }

    @pytest.mark.parametrize("right", [0, 1])
    def test_one_item_of_another_split_tells_nothing(self, right):
        # The interval of one item's gap is [-1, 1]: both its ends are far from 0, and 0 is between them.
        assert find_worst_split("test", self.gaps(test=(490, 500), other=(right, 1))) is None

    def test_a_clear_split_is_named_beside_a_small_one_with_a_larger_gap(self):
        assert (
            find_worst_split("test", self.gaps(test=(490, 500), small=(0, 2), flipped=(100, 500)))
            == "flipped"
        )

    @pytest.mark.parametrize(
        ("low", "high", "named"), [(-0.5, -0.3, True), (0.3, 0.5, True), (-0.3, 0.5, False)]
    )
    def test_a_gap_counts_on_either_side_of_0(self, low, high, named):
        gaps = {"a": {"confidence_gap": Estimate(0.0, -0.02, 0.02)}}
        found = find_worst_split(
            "a", {**gaps, "b": {"confidence_gap": Estimate((low + high) / 2, low, high)}}
        )
        assert found == ("b" if named else None)

    def test_a_split_where_it_is_as_often_right_is_about_confidence(self):
        split = SimpleNamespace(name="new data", pair_ids=None, labeled=np.ones(1, bool))
        context = SimpleNamespace(splits=[split], primary=SimpleNamespace(pair_ids=None))
        compared = {"new data": {"accuracy": Estimate(0.9), "mean_confidence": Estimate(0.4)}}
        answers = CalibrationAnswers(
            context,
            None,
            SimpleNamespace(figures={"accuracy": Estimate(0.8)}),
            {"new data": compared["new data"]},
        )
        vars(answers)["worst"] = "new data"
        assert answers.keeps_accuracy
        say = CALIBRATION.prose.of(m=answers, report="a report")
        assert say("claim.sure_there") == (
            "has a mean confidence of 40.0% on “new data”, but an accuracy of 90.0%"
        )
        assert say("evidence.sure_there") == "The split “new data” has 1 labeled item."
        assert "'calibration.new_data.ece > 0.05'" in say.items("advice.sure_there")[0]

    @pytest.mark.parametrize(
        ("has_gap", "is_overconfident", "read"),
        [(True, True, 1), (True, False, 0), (False, False, 1)],
    )
    def test_an_under_confident_model_has_no_errors_that_it_is_too_sure_of(
        self, has_gap, is_overconfident, read
    ):
        accuracy = {"accuracy": Estimate(0.8)}
        m = SimpleNamespace(
            estimates=accuracy,
            has_significant_gap=has_gap,
            is_overconfident=is_overconfident,
            is_gap_large=has_gap,
            is_miscalibrated_in_bins=False,
            n_needed=None,
            label_errors=[],
            predictions_file="predictions/data.parquet",
        )
        for task, fit in (
            ("classification", "Fit a temperature"),
            ("confidence", "Store the scores of all"),
        ):
            context = SimpleNamespace(task=task)
            advice = CALIBRATION.prose.of(m=m, context=context, report="report").items(
                "advice.here"
            )
            assert [said.startswith("[Read the most confident") for said in advice].count(
                True
            ) == read
            assert advice[0].startswith("[Read the most confident" if read else fit)
            assert any(said.startswith(fit) for said in advice) == has_gap

    @pytest.mark.parametrize(
        ("n_available", "said"),
        [
            (10, "Label more items: about 2,300 items would settle the question."),
            (
                976,
                "Evaluate more of the 976 items: about 2,300 items would settle the question. `rightreasons audit --questions calibration`",
            ),
        ],
    )
    def test_more_items_are_asked_about_before_more_are_labeled(self, n_available, said):
        split = type("Split", (list,), {"n_available": n_available})(range(10))
        context = SimpleNamespace(primary=split, task="", command="rightreasons audit --limit 10")
        states = dict.fromkeys(
            ("has_significant_gap", "is_overconfident", "is_gap_large", "is_miscalibrated_in_bins"),
            False,
        )
        m = SimpleNamespace(
            estimates={"accuracy": Estimate(1.0)}, label_errors=[], n_needed=2300, **states
        )
        assert (
            CALIBRATION.prose.of(m=m, context=context, report="report").items("advice.here")[0]
            == said
        )


class TestBehavior:
    def measurement(self, *passed, n_cases, one_answer=None):
        """Functionalities that pass a number of their cases, as a suite of which none is shared."""
        suite = Suite(
            "a suite",
            ("text",),
            tuple(
                Functionality(
                    f"f{number}",
                    "class",
                    "MFT",
                    {"name": "equal"},
                    tuple(
                        Case(str(place), ((f"{number} {place}",),), (0,))
                        for place in range(n_cases)
                    ),
                )
                for number in range(len(passed))
            ),
            ("no", "yes"),
        )
        answers = [int(place >= right) for right in passed for place in range(n_cases)]
        answered = score_stored(
            "model", suite, ModelAnswers(np.array(answers)), resampling=RESAMPLING
        )
        if one_answer:
            answered = SimpleNamespace(
                suite=suite, result=answered.result, weakest=answered.weakest, one_answer=one_answer,
            )  # fmt: skip
        return BehaviorMeasurement(answered)

    @pytest.mark.parametrize(
        ("passed", "n_cases", "tone", "label"),
        [
            ([20] * 10, 20, "good", "Passes"),
            # 16 of 20 are no test's fewer than 90%, and 160 of 200 are surely fewer on average.
            ([16] * 10, 20, "warn", "Falls short on average"),
            ([18] * 10, 20, "neutral", "Inconclusive"),
            ([1], 1, "neutral", "Inconclusive"),
            ([0], 1, "neutral", "Inconclusive"),
            ([0], 30, "bad", "Fails 1 of 1 test"),
            ([0, 30], 30, "bad", "Fails 1 of 2 tests"),
            ([20, 30], 30, "warn", "Falls short in 1 of 2 tests"),
        ],
    )
    def test_the_mean_and_each_functionality_are_judged(self, passed, n_cases, tone, label):
        m = self.measurement(*passed, n_cases=n_cases)
        rule, say = BEHAVIOR.find_rule(m), BEHAVIOR.prose.of(m=m)
        assert (rule.tone, say.title(f"verdict.{rule.key}")) == (tone, label)
        claim, evidence = say("claim.rate"), say("evidence.rate")
        assert ("of the cases of “" in claim) == (
            label[:5] in ("Fails", "Falls") and "1 of" in label
        )
        weak = (
            sum(right < 0.9 * n_cases for right in passed)
            if tone == "bad" or "1 of" in label
            else 0
        )
        assert (
            f"{weak} of {len(passed)} pass{'es' * (weak == 1)} significantly fewer than 90%"
            in evidence
        )

    def test_one_answer_to_everything_passes_nothing(self):
        rule = BEHAVIOR.find_rule(
            self.measurement(*[20] * 10, n_cases=20, one_answer="it answers no to all")
        )
        assert (rule.tone, rule.key) == ("neutral", "one_answer")


class TestContrastSets:
    def measured(self, right):
        """Sets of an original and one revision -> whether each is right."""
        flat = np.array(right).ravel()
        items = ContrastItems(
            np.arange(len(flat)),
            np.repeat([f"s{number}" for number in range(len(right))], 2),
            np.tile([True, False], len(right)),
        )
        labels = np.zeros(len(flat), dtype=np.int64)
        return measure_contrast_sets(items, np.where(flat, 0, 1), labels, resampling=RESAMPLING)

    @pytest.mark.parametrize(
        ("right", "tone", "label"),
        [
            ([(True, True)], "neutral", "Too few contrast sets for a verdict"),
            ([(False, True)] * 30, "neutral", "Correct on no original"),
            ([(True, False)] * 30, "bad", "Fails on most small revisions"),
            ([(True, True)] * 30, "neutral", "Inconclusive"),
            ([(True, True)] * 60, "good", "Correct on revisions, too"),
        ],
    )
    def test_verdict(self, right, tone, label):
        answers = ContrastAnswers(None, {"test": self.measured(right)})
        rule, say = CONTRAST.find_rule(answers), CONTRAST.prose.of(m=answers)
        assert (rule.tone, say.title(f"verdict.{rule.key}")) == (tone, label)
        summary = say(f"verdict.{rule.key}")
        assert summary.startswith(
            f"Of {len(right)} contrast set{'s' * (len(right) > 1)}, the model is correct"
        )
        assert "undefined" not in summary
        assert ("fewer than 90% are" in summary) == (label == "Inconclusive")


def test_zero_has_no_sign():
    assert (percent(-0.0), decimal(-0.0)) == ("0.0%", "0.000")
    assert (percent(-0.0004), decimal(-0.0004)) == ("−0.04%", "−0.0004")
