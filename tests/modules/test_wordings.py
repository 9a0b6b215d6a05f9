"""The wordings of errors of the evaluate modules and of Trainer's metrics, complete.

All other tests match a few words.
"""

import numpy as np
import pandas as pd
import pytest

import rightreasons
from rightreasons.training.metrics import compute_metrics

ROWS = [[0.75, 0.25], [0.5, 0.5]]


def compute(name, **arguments):
    return lambda: rightreasons.load(name).compute(**arguments)


def add(name, *batches):
    def call():
        module = rightreasons.load(name)
        for batch in batches:
            module.add_batch(**batch)

    return call


WORDINGS = [
    (
        compute("ece", predictions=ROWS),
        "Expected `references` in ece, but got `predictions`.",
    ),
    (
        compute("generalization_score", iid_score=0.5),
        (
            "Expected `standard` and `seen` and `held_out_functionality` and `held_out_class` and "
            "`held_out_type` in generalization_score, but got nothing."
        ),
    ),
    (
        compute("ece", predictions=[], references=[]),
        "Expected at least one item in `predictions`, but it is empty.",
    ),
    (
        compute("ece", predictions=ROWS, references=[0]),
        "Expected `predictions` and `references` of one length, but got 2 and 1.",
    ),
    (
        compute("ece", predictions=ROWS, references=[0, 1], n_bin=3),
        (
            "Expected an option of ece.compute, but got 'n_bin'. Did you mean 'n_bins'? Known: "
            "confidence_level, debias, kind, label_names, n_bins, n_resamples, norm, predictions, "
            "references, scores, seed, strategy, threshold."
        ),
    ),
    (
        compute("prior_bias", predictions=[0.5, 0.5]),
        "Expected rows of numbers in `predictions`, but item 0 is 0.5 (float).",
    ),
    (
        add(
            "ece",
            {"predictions": [0.5], "references": [0]},
            {"predictions": ROWS, "references": [0, 1]},
        ),
        (
            "Expected one form of `predictions` in every batch of ece, but got numbers and rows of "
            "numbers."
        ),
    ),
    (
        add(
            "ece",
            {"predictions": [0.5], "references": [True]},
            {"predictions": [0.5], "references": [1]},
        ),
        "Expected booleans or numbers in all batches of `references`, but got both.",
    ),
    (
        compute("ece", predictions=ROWS, references=["no", "yes"]),
        (
            "Expected whole numbers in `references` (`label_names`, or scores in columns with the "
            "names of the classes, say what words mean), but item 0 is 'no' (str)."
        ),
    ),
    (
        compute("ece", predictions=ROWS, references=["a", "b"], label_names=["a", "b", "c"]),
        "Expected 2 names of classes, one per column of `predictions`, but got a, b, c.",
    ),
    (
        compute(
            "ece",
            predictions=pd.DataFrame(ROWS, columns=["no", "yes"]),
            references=["no", ""],
        ),
        "Expected a label in each item of `references`, but item 1 is ''.",
    ),
    (
        lambda: rightreasons.load("ece", num_process=2),
        "Expected `num_process` to be 1, but got 2.",
    ),
    (
        lambda: rightreasons.load("eec"),
        (
            "Expected the name of a module, but got 'eec'. Did you mean 'ece'? Known: "
            f"{', '.join(rightreasons.available_modules())}."
        ),
    ),
    (
        lambda: compute_metrics(3),
        "Expected the names of metrics, but got 3 (int).",
    ),
    (
        lambda: compute_metrics("ece")((np.zeros((1, 2)), np.array([-100]))),
        "Expected at least one item with a label in the evaluation, but there is none.",
    ),
]


@pytest.mark.parametrize(("call", "wording"), WORDINGS)
def test_wordings_of_errors(call, wording):
    with pytest.raises((TypeError, ValueError)) as error:
        call()
    assert str(error.value) == wording
