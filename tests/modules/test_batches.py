"""Batches of a module: copied, held in memory, and after a refusal neither too many nor too few.

That batches give the figures of one call is a check of `test_every_measure.py`.
"""

import evaluate
import numpy as np
import pytest

import rightreasons
from rightreasons.shortcuts import tradeoff

ROWS = [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]]
ANSWERS = [0, 1, 1]


def test_after_a_refused_result_the_next_batch_begins_anew():
    ece = rightreasons.load("ece")
    ece.add_batch(predictions=ROWS, references=[0, 1, 7])
    with pytest.raises(ValueError, match="item 2"):
        ece.compute()

    with pytest.raises(ValueError, match="got nothing"):
        ece.compute()
    ece.add(prediction=ROWS[0], reference=0)
    # |0.75 - 1|, the only item
    assert ece.compute()["ece"] == 0.25


def test_inputs_that_are_refused_change_nothing():
    ece = rightreasons.load("ece")
    expected = ece.compute(predictions=ROWS, references=ANSWERS)
    ece.add_batch(predictions=ROWS[:2], references=ANSWERS[:2])

    for references in ([0.5], [0, 1]):
        with pytest.raises(ValueError, match="references"):
            ece.compute(predictions=ROWS[2:], references=references)
    with pytest.raises(ValueError, match="n_bin"):
        ece.compute(n_bin=3)

    assert ece.compute(predictions=ROWS[2:], references=ANSWERS[2:]) == expected


def test_batches_are_copied():
    ece = rightreasons.load("ece")
    buffer = np.empty((1, 2))
    for row, label in zip(ROWS, ANSWERS, strict=True):
        buffer[:] = row
        ece.add_batch(predictions=buffer, references=[label])
    assert ece.compute() == ece.compute(predictions=ROWS, references=ANSWERS)

    lmi = rightreasons.load("lmi", tokenizer="none")
    tokens = ["good"]
    for token, label in (("good", 0), ("bad", 1)):
        tokens[:] = [token]
        lmi.add_batch(data=[tokens], labels=[label])
    assert lmi.compute() == lmi.compute(data=[["good"], ["bad"]], labels=[0, 1])


def test_batches_of_other_types_and_lengths_join():
    ece = rightreasons.load("ece")
    expected = ece.compute(predictions=[ROWS[0], [0.25, 0.25, 0.5]], references=[0, 2])

    ece.add_batch(predictions=np.array(ROWS[:1], dtype=np.float32), references=[0])
    ece.add_batch(predictions=[[0.25, 0.25, 0.5]], references=np.array([2], dtype=np.int8))

    assert ece.compute() == expected


def test_whole_numbers_are_predicted_classes_only_if_all_batches_have_them():
    ece = rightreasons.load("ece")
    expected = ece.compute(predictions=[1, 0.5], references=[1, 0], kind="positive")
    for value, label in ((1, 1), (0.5, 0)):
        ece.add(prediction=value, reference=label)
    assert ece.compute(kind="positive") == expected

    for value in (0, 1):
        ece.add(prediction=value, reference=1)
    with pytest.raises(ValueError, match="predicted classes") as error:
        ece.compute(kind="positive")
    assert error.value.option == ("kind",)


def test_an_optional_input_is_in_all_batches_or_in_none():
    prior_bias = rightreasons.load("prior_bias")
    prior_bias.add_batch(predictions=ROWS, references=ANSWERS)
    with pytest.raises(ValueError, match="nothing and numbers"):
        prior_bias.add_batch(predictions=ROWS)
    assert prior_bias.compute() == prior_bias.compute(predictions=ROWS, references=ANSWERS)


def test_another_form_than_before_is_refused():
    ece = rightreasons.load("ece", kind="positive")
    # |0.75 - 1| and |0.5 - 0| in bins of their own: (0.25 + 0.5) / 2
    ece.add_batch(predictions=[0.75, 0.5], references=[1, 0])
    with pytest.raises(ValueError, match="numbers and rows"):
        ece.add_batch(predictions=ROWS, references=ANSWERS)
    assert ece.compute()["ece"] == 0.375


def test_booleans_and_numbers_do_not_join():
    ece = rightreasons.load("ece", kind="confidence")
    ece.add_batch(predictions=[0.75], references=[True])
    with pytest.raises(TypeError, match="booleans or numbers"):
        ece.add_batch(predictions=[0.5], references=[1])
    # |0.75 - 1|
    assert ece.compute()["ece"] == 0.25


def test_batches_leave_no_file(tmp_path):
    ece = rightreasons.load("ece", cache_dir=str(tmp_path))
    ece.add_batch(predictions=ROWS, references=ANSWERS)
    ece.compute()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_several_processes_are_refused():
    with pytest.raises(ValueError, match="num_process"):
        rightreasons.load("ece", num_process=2)


def test_combined_modules_get_the_optional_inputs_that_they_have():
    inputs = {"predictions": ROWS, "references": ANSWERS}
    modules = [rightreasons.load("prior_bias"), rightreasons.load("ece")]
    combined = evaluate.combine(modules, force_prefix=True)
    combined.add_batch(inputs["predictions"], inputs["references"])
    assert combined.compute() == combined.compute(**inputs)


def test_labels_and_classes_beyond_memory(monkeypatch):
    inputs = {"references": [0, 1, 1], "cued": [True, False, True]}
    module = rightreasons.load("shortcut_tradeoff")
    with pytest.raises(ValueError, match="between 0 and"):
        module.compute(predictions=[0, 1, 2**31], **inputs)
    for number in (10**30, 10**400):
        with pytest.raises(ValueError, match="n_classes") as error:
            module.compute(predictions=[0, 1, 1], n_classes=number, **inputs)
        assert error.value.option == ("n_classes",)

    expected = module.compute(predictions=[0, 0, 1], **inputs)
    # 2 x 2 x 2 counts: 3 resamples at a time
    monkeypatch.setattr(tradeoff, "MAX_CELLS_PER_BLOCK", 24)
    assert module.compute(predictions=[0, 0, 1], **inputs) == expected


def test_a_module_needs_no_arguments():
    module = type(rightreasons.load("ece"))()

    assert len(module) == 0
    assert module.compute(predictions=[0.8, 0.6], references=[1, 1])["ece"] == pytest.approx(0.3)
