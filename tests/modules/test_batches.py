"""What a module holds between batches: copies, in memory, and after a refusal neither too much nor too little."""

import pickle

import evaluate
import numpy as np
import pytest

import rightreasons
from rightreasons.shortcuts import reliance

ROWS = [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]]
ANSWERS = [0, 1, 1]


def test_after_a_refused_compute_the_next_batch_begins_anew():
    ece = rightreasons.load("ece")
    ece.add_batch(predictions=ROWS, references=[0, 1, 7])
    with pytest.raises(ValueError, match="between 0 and 1, but item 2 is 7"):
        ece.compute()
    with pytest.raises(ValueError, match="but got nothing"):
        ece.compute()
    ece.add(prediction=ROWS[0], reference=0)
    # |0.75 - 1|, the one item
    assert ece.compute()["ece"] == 0.25


def test_inputs_that_are_refused_change_nothing():
    ece = rightreasons.load("ece")
    whole = ece.compute(predictions=ROWS, references=ANSWERS)
    ece.add_batch(predictions=ROWS[:2], references=ANSWERS[:2])
    for references, message in (([0.5], "item 0 is 0.5"), ([0, 1], "one length, but got 1 and 2")):
        with pytest.raises(ValueError, match=message):
            ece.compute(predictions=ROWS[2:], references=references)
    with pytest.raises(ValueError, match="an option of ece.compute, but got 'n_bin'"):
        ece.compute(n_bin=3)
    assert ece.compute(predictions=ROWS[2:], references=ANSWERS[2:]) == whole


def test_batches_are_copied():
    ece, lmi = rightreasons.load("ece"), rightreasons.load("lmi", tokenizer="none")
    buffer, tokens = np.empty((1, 2)), ["good"]
    for row, label in zip(ROWS, ANSWERS, strict=True):
        buffer[:] = row
        ece.add_batch(predictions=buffer, references=[label])
    assert ece.compute() == ece.compute(predictions=ROWS, references=ANSWERS)
    for token, label in (("good", 0), ("bad", 1)):
        tokens[:] = [token]
        lmi.add_batch(data=[tokens], labels=[label])
    assert lmi.compute() == lmi.compute(data=[["good"], ["bad"]], labels=[0, 1])


def test_batches_of_other_types_and_lengths_join():
    ece = rightreasons.load("ece")
    ece.add_batch(predictions=np.array(ROWS[:1], dtype=np.float32), references=[0])
    ece.add_batch(predictions=[[0.25, 0.25, 0.5]], references=np.array([2], dtype=np.int8))
    assert ece.compute() == ece.compute(predictions=[ROWS[0], [0.25, 0.25, 0.5]], references=[0, 2])
    # One whole number says nothing; all of them are classes.
    for value, label in ((1, 1), (0.5, 0)):
        ece.add(prediction=value, reference=label)
    assert ece.compute(kind="positive") == ece.compute(
        predictions=[1, 0.5], references=[1, 0], kind="positive"
    )
    for value in (0, 1):
        ece.add(prediction=value, reference=1)
    with pytest.raises(ValueError, match="as if they were predicted classes"):
        ece.compute(kind="positive")


def test_an_optional_input_is_in_all_batches_or_in_none():
    prior_bias = rightreasons.load("prior_bias")
    prior_bias.add_batch(predictions=ROWS, references=ANSWERS)
    message = "Expected one form of `references` in every batch of prior_bias, but got nothing and numbers"
    with pytest.raises(ValueError, match=message):
        prior_bias.add_batch(predictions=ROWS)
    assert prior_bias.compute() == prior_bias.compute(predictions=ROWS, references=ANSWERS)


def test_batches_survive_a_pickle_and_leave_no_file(tmp_path):
    ece = rightreasons.load("ece", cache_dir=str(tmp_path))
    ece.add_batch(predictions=ROWS, references=ANSWERS)
    again = pickle.loads(pickle.dumps(ece))
    assert again.compute() == ece.compute()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


COMBINED = {
    "deciding_share": {"predictions": ANSWERS, "swapped": ANSWERS[::-1], "control": ANSWERS},
    "choice_paralysis": {
        "predictions": ROWS,
        "perturbed_predictions": [[*row, 0.0] for row in ROWS],
        "references": ANSWERS,
        "perturbed_references": ANSWERS,
    },
    "contrast_consistency": {
        "predictions": [0, 1, 1],
        "references": [0, 1, 0],
        "groups": ["a", "a", "a"],
    },
    "cue_statistics": {"data": [["a b", "c"], ["a", "d e"], ["b", "c"]], "labels": ANSWERS},
    "generalization_score": {"standard": [0.5, 0.25], "held_out_class": [0.25, 0.25]},
    "prior_bias": {"predictions": ROWS},
    "shortcut_reliance": {
        "tokens": [["good"], ["bad"]],
        "attributions": [[0.5], [0.25]],
        "predictions": [0, 1],
    },
}


@pytest.mark.parametrize("name", COMBINED)
def test_combined_modules_need_no_optional_input(name):
    options = {
        "generalization_score": {"iid_score": 0.5},
        "shortcut_reliance": {"heads": {0: ["good"], 1: ["bad"]}},
    }.get(name, {})
    inputs = COMBINED[name]
    module = rightreasons.load(name, **options)
    whole = module.compute(**inputs)
    combined = evaluate.combine([module])
    combined.add_batch(**inputs)
    assert combined.compute() == whole
    singular = {"predictions": "prediction", "references": "reference"}
    for row in range(len(next(iter(inputs.values())))):
        combined.add(
            **{singular.get(column, column): values[row] for column, values in inputs.items()}
        )
    assert combined.compute() == whole


def test_combined_modules_get_the_optional_inputs_that_they_have():
    inputs = {**COMBINED["prior_bias"], "references": ANSWERS}
    combined = evaluate.combine(
        [rightreasons.load("prior_bias"), rightreasons.load("ece")], force_prefix=True
    )
    combined.add_batch(inputs["predictions"], inputs["references"])
    assert combined.compute() == combined.compute(**inputs)
    positions = {"original_positions": [[0, 1]] * 3, **COMBINED["choice_paralysis"]}
    paralysis = rightreasons.load("choice_paralysis")
    combined = evaluate.combine([paralysis])
    combined.add_batch(**positions)
    assert combined.compute() == paralysis.compute(**positions)


def test_labels_and_classes_beyond_memory(monkeypatch):
    inputs = {"references": [0, 1, 1], "cued": [True, False, True]}
    module = rightreasons.load("shortcut_tradeoff")
    with pytest.raises(
        ValueError, match="`predictions` to be between 0 and 9999, but item 2 is 2147483648"
    ):
        module.compute(predictions=[0, 1, 2**31], **inputs)
    for number, message in (
        (10**30, "at most 10000, but got 1000000"),
        (10**400, "but got one of 1329 bits"),
    ):
        with pytest.raises(ValueError, match=message):
            module.compute(predictions=[0, 1, 1], n_classes=number, **inputs)
    whole = module.compute(predictions=[0, 0, 1], **inputs)
    # 2 x 2 x 2 counts: 3 resamples at a time
    monkeypatch.setattr(reliance, "_CELLS_AT_ONCE", 24)
    assert module.compute(predictions=[0, 0, 1], **inputs) == whole
