"""What `easy_hard_gap` and `cue_statistics` add to the contract: every way in gives one result."""

import pickle

import evaluate
import numpy as np
import pytest

import rightreasons

CHOICES = [
    ["The dog ran.", "A dog sat."],
    ["He was in.", "The man was out."],
    ["It rained.", "The sun shone.", "Fog."],
]
LABELS = [0, 1, 2]
PROMPTS = ["A dog!", "Where was he?", "The weather?"]


class TestEasyHardGap:
    EASY = (True, False, True, False)

    @pytest.mark.parametrize("predictions", [[0, 1, 1, 0], [[0, 0], [1, 0], [1, 1], [0, 1]]])
    def test_every_way_in(self, predictions):
        metric = rightreasons.load("easy_hard_gap", n_permutations=50, n_resamples=50)
        columns = {"predictions": predictions, "references": [0, 1, 0, 0], "easy": list(self.EASY)}
        at_once = metric.compute(**columns)
        assert at_once["n_runs"] == np.array(predictions).reshape(4, -1).shape[1]
        arrays = metric.compute(**{name: np.array(column) for name, column in columns.items()})
        metric.add_batch(**{name: column[:3] for name, column in columns.items()})
        metric.add(prediction=predictions[3], reference=0, easy=False)
        assert arrays == at_once == metric.compute()
        assert pickle.loads(pickle.dumps(metric)).compute(**columns) == at_once

    def test_options_at_compute_win(self):
        metric = evaluate.load(rightreasons.module_path("easy_hard_gap"), n_permutations=10)
        columns = {"predictions": [0, 1], "references": [0, 0], "easy": [True, False]}
        assert metric.compute(**columns)["n_permutations"] == 10
        assert metric.compute(**columns, n_permutations=20)["n_permutations"] == 20

    @pytest.mark.parametrize(
        ("columns", "error", "message"),
        [
            (
                {"predictions": [0.5, 1], "references": [0, 1], "easy": [True, False]},
                ValueError,
                "whole numbers",
            ),
            (
                {"predictions": [[0, 1.5], [1, 1]], "references": [0, 1], "easy": [True, False]},
                ValueError,
                "whole",
            ),
            (
                {"predictions": [0, 1], "references": [0, 1], "easy": ["yes", "no"]},
                TypeError,
                "True or False",
            ),
            ({"predictions": [0, 1], "references": [0, 1]}, ValueError, "`easy` in easy_hard_gap"),
            (
                {"predictions": [0, 1], "references": [0, 1], "easy": [True, True]},
                ValueError,
                "both Easy and Hard",
            ),
        ],
    )
    def test_bad_input_at_once_and_added(self, columns, error, message):
        metric = rightreasons.load("easy_hard_gap")
        with pytest.raises(error, match=message):
            metric.compute(**columns)
        with pytest.raises(error, match=message):  # noqa: PT012 - a value is wrong when added, or when computed
            metric.add_batch(**columns)
            metric.compute()


class TestCueStatistics:
    def test_every_way_in(self):
        measurement = rightreasons.load(
            "cue_statistics", features=["unigram", "overlap"], classifier=True, n_folds=2
        )
        columns = {"data": CHOICES, "labels": LABELS, "prompts": PROMPTS, "groups": ["a", "a", "b"]}
        at_once = measurement.compute(**columns)
        assert at_once["cue_classifier"]["n_groups"] == 2
        measurement.add_batch(**{name: column[:2] for name, column in columns.items()})
        measurement.add(data=CHOICES[2], labels=2, prompts=PROMPTS[2], groups="b")
        assert measurement.compute() == at_once

    def test_optional_inputs(self):
        measurement = rightreasons.load("cue_statistics")
        at_once = measurement.compute(data=CHOICES, labels=LABELS)
        measurement.add_batch(data=CHOICES, labels=LABELS)
        assert measurement.compute() == at_once
        assert at_once["cue_classifier"] is None
        assert list(at_once["cues"][0])[:4] == ["cue", "applicability", "productivity", "coverage"]

    @pytest.mark.parametrize(
        ("columns", "error", "message"),
        [
            ({"data": [["a", "b"], ["a"]], "labels": [0, 0]}, ValueError, "item 1 has 1"),
            (
                {"data": [["a", 3]], "labels": [0]},
                TypeError,
                r"each item of `data\[0\]` to be a text, but item 1 is 3",
            ),
            ({"data": ["ab"], "labels": [0]}, TypeError, "item 0 is 'ab'"),
            ({"data": [["a", "b"]], "labels": [2]}, ValueError, "between 0 and 1, but item 0 is 2"),
            ({"data": [["a", "b"]], "labels": ["0"]}, TypeError, "labels"),
            (
                {"data": [["a", "b"]], "labels": [0], "features": ["overlap"]},
                ValueError,
                "`prompts`",
            ),
            (
                {"data": [["a", "b"]], "labels": [0], "feature": ["unigram"]},
                ValueError,
                "Did you mean 'features'",
            ),
        ],
    )
    def test_bad_input(self, columns, error, message):
        with pytest.raises(error, match=message):
            rightreasons.load("cue_statistics").compute(**columns)
