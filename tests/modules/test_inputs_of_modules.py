"""Inputs of single modules: closed forms, several runs, confidence, tokens, and what is refused."""

import numpy as np
import pytest

import rightreasons

CHOICES = [
    ["The dog ran.", "A dog sat."],
    ["He was in.", "The man was out."],
    ["It rained.", "Fog."],
]


def add_then_compute(module, columns):
    module.add_batch(**columns)
    return module.compute()


def compute(module, columns):
    return module.compute(**columns)


in_every_way = pytest.mark.parametrize("run", [compute, add_then_compute])


def test_ece_of_confidence():
    confidence = [0.0, 0.3, 0.3, 0.45, 0.9, 0.9, 1.0]
    ece = rightreasons.load("ece", kind="confidence", n_bins=2)
    results = ece.compute(predictions=confidence, references=[0, 1, 0, 1, 1, 0, 1])
    # Up to 0.5: confidence 1.05/4, correct 2/4; above: 2.8/3 and 2/3. Weights 4/7 and 3/7.
    assert results["ece"] == pytest.approx((0.95 + 0.8) / 7)
    assert results["mean_confidence"] == pytest.approx(3.85 / 7)


@in_every_way
@pytest.mark.parametrize("classes", [[0, 1, 1, 0, 1], np.array([0, 2, 1, 2, 0])])
def test_predicted_classes_are_not_confidence(run, classes):
    columns = {"predictions": classes, "references": [0, 1, 0, 0, 1]}
    with pytest.raises(ValueError, match="predicted classes") as error:
        run(rightreasons.load("ece"), columns)
    assert error.value.option == ("kind",)


def test_certain_probabilities_are_accepted():
    results = rightreasons.load("ece").compute(predictions=[0.0, 1.0, 1.0], references=[0, 1, 0])
    assert results["ece"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("runs", "n_runs"), [([0, 1, 1, 0], 1), ([[0, 0], [1, 0], [1, 1], [0, 1]], 2)]
)
def test_easy_hard_gap_of_one_and_of_several_runs(runs, n_runs):
    metric = rightreasons.load("easy_hard_gap", n_permutations=20, n_resamples=20)
    columns = {"references": [0, 1, 0, 0], "easy": [True, False, True, False]}
    expected = metric.compute(predictions=runs, **columns)
    assert expected["n_runs"] == n_runs
    metric.add_batch(predictions=np.array(runs), **columns)
    assert metric.compute() == expected


def test_sets_may_have_numbers_as_names():
    metric = rightreasons.load("contrast_consistency")
    columns = {"predictions": [0, 1, 1, 0], "references": [0, 1, 0, 0]}
    named = metric.compute(groups=["1", "1", "7", "7"], **columns)
    assert metric.compute(groups=[1, 1, 7, 7], **columns) == named


def test_empty_prompts_and_groups_are_none():
    measurement = rightreasons.load("cue_statistics")
    columns = {"data": CHOICES, "labels": [0, 1, 0]}
    expected = measurement.compute(**columns)
    assert measurement.compute(**columns, prompts=[""] * 3, groups=[""] * 3) == expected
    assert list(expected["cues"][0])[:4] == ["cue", "applicability", "productivity", "coverage"]


@in_every_way
@pytest.mark.parametrize(
    ("name", "columns", "kind", "word"),
    [
        ("easy_hard_gap", {"predictions": [0.5, 1]}, ValueError, "predictions"),
        ("easy_hard_gap", {"predictions": [[0, 1.5], [1, 1]]}, ValueError, "predictions"),
        ("easy_hard_gap", {"easy": ["yes", "no"]}, TypeError, "easy"),
        ("easy_hard_gap", {"easy": None}, ValueError, "easy"),
        ("easy_hard_gap", {"easy": [True, True]}, ValueError, "both Easy"),
        ("contrast_consistency", {"predictions": [0.5, 1]}, ValueError, "predictions"),
        ("contrast_consistency", {"is_original": ["yes"] * 2}, TypeError, "is_original"),
        ("contrast_consistency", {"groups": None}, ValueError, "groups"),
        ("contrast_consistency", {"groups": ["a", "b"]}, ValueError, "one item"),
        ("cue_statistics", {"data": [["a", "b"], ["a"]]}, ValueError, "item 1"),
        ("cue_statistics", {"data": [["a", 3], ["a", "b"]]}, TypeError, "item 1"),
        ("cue_statistics", {"data": ["ab", "ab"]}, TypeError, "item 0"),
        ("cue_statistics", {"labels": [0, 2]}, ValueError, "item 1"),
        ("cue_statistics", {"labels": ["0", "1"]}, TypeError, "labels"),
        ("lmi", {"labels": None}, ValueError, "labels"),
        ("lmi", {"data": None}, ValueError, "data"),
        ("lmi", {"data": "text"}, TypeError, "sequence of texts"),
        ("lmi", {"data": []}, ValueError, "at least one"),
        ("deciding_share", {"swapped": [1]}, ValueError, "one length"),
        ("deciding_share", {"control": [0, -2]}, ValueError, "control"),
        ("deciding_share", {"predictions": [-1, 1]}, ValueError, "predictions"),
        ("shortcut_tradeoff", {"cued": [1, 0.7]}, TypeError, "cued"),
        ("shortcut_reliance", {"attributions": [[0.5], [0.5]]}, ValueError, "item 0"),
        ("shortcut_reliance", {"predictions": [1, 4]}, ValueError, "item 1"),
    ],
)
def test_inputs_that_are_refused(run, name, columns, kind, word):
    accepted, options = ACCEPTED[name]
    module = rightreasons.load(name, **options)
    changed = {
        column: value for column, value in {**accepted, **columns}.items() if value is not None
    }
    with pytest.raises(kind, match=word):
        run(module, changed)
    # A refused input leaves the module as it was.
    assert len(module) == 0
    module.compute(**accepted)


ACCEPTED = {
    "easy_hard_gap": (
        {"predictions": [0, 1], "references": [0, 0], "easy": [True, False]},
        {"n_permutations": 10, "n_resamples": 10},
    ),
    "contrast_consistency": (
        {
            "predictions": [0, 1],
            "references": [0, 0],
            "groups": ["a", "a"],
            "is_original": [True, False],
        },
        {},
    ),
    "cue_statistics": ({"data": CHOICES[:2], "labels": [0, 1]}, {}),
    "lmi": ({"data": ["good movie", "bad plot"], "labels": [0, 1]}, {}),
    "deciding_share": (
        {"predictions": [0, 1], "swapped": [1, 0], "control": [0, 1]},
        {},
    ),
    "shortcut_tradeoff": (
        {"predictions": [1, 0], "references": [1, 0], "cued": [True, False]},
        {"n_resamples": 10},
    ),
    "shortcut_reliance": (
        {
            "tokens": [["the", "good"], ["a", "film"]],
            "attributions": [[0.1, 0.7], [0.5, 0.2]],
            "predictions": [1, 0],
        },
        {"heads": {0: ["bad"], 1: ["good"]}, "n_resamples": 10},
    ),
}


@pytest.mark.parametrize(
    ("name", "options", "option"),
    [
        ("lmi", {"top_k": 0}, "top_k"),
        ("lmi", {"label_names": ["a"]}, "label_names"),
        ("lmi", {"label_names": ["x", "x"]}, "label_names"),
        ("cue_statistics", {"features": ["overlap"]}, "prompts"),
        ("shortcut_reliance", {"heads": None}, "heads"),
        ("generalization_score", {"iid_score": None}, "iid_score"),
        ("behavioral_pass_rate", {"suite": None}, "suite"),
        ("fim_difficulty", {"model": None}, "model"),
    ],
)
def test_options_that_are_refused(name, options, option):
    columns = {
        "generalization_score": {"seen": [0.5]},
        "behavioral_pass_rate": {"predictions": [0.5]},
        "fim_difficulty": {"data": ["a film"]},
    }
    inputs = columns[name] if name in columns else ACCEPTED[name][0]
    with pytest.raises(ValueError, match=option):
        rightreasons.load(name).compute(**inputs, **options)
