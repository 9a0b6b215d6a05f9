"""Every way in which a user's code can load and use a module."""

import json
import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path

import evaluate
import numpy as np
import pytest

import rightreasons

ROOT = Path(__file__).resolve().parents[2]
PREDICTIONS = np.array(
    [[0.95, 0.05], [0.91, 0.09], [0.85, 0.15], [0.35, 0.65], [0.62, 0.38], [0.55, 0.45]]
)
REFERENCES = np.array([0, 1, 0, 1, 1, 0])
# conf = .95 .91 .85 .65 .62 .55, correct = 1 0 1 1 0 1, ten bins: [.9, 1] holds .95 and .91 (mean .93, accuracy .5,
# gap .43), (.8, .9] holds .85 (gap .15), (.6, .7] holds .65 and .62 (mean .635, accuracy .5, gap .135), (.5, .6] holds
# .55 (gap .45): (2 * .43 + .15 + 2 * .135 + .45) / 6 = 1.73 / 6.
ECE_10 = 1.73 / 6


def test_import_is_light():
    code = (
        "import sys, rightreasons; rightreasons.available_modules;"
        "heavy = {'scipy', 'pyarrow', 'torch', 'evaluate', 'datasets', 'transformers', 'gradio', 'vl_convert'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_audit_of_calibration_does_not_need_scipy_stats():
    # It takes a third of a second to import, as long as the audit of a small file.
    code = (
        "import sys, rightreasons.report.runner, rightreasons.calibration.question;"
        "assert 'scipy.stats' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_load_by_name():
    assert rightreasons.load("ece", n_bins=10).compute(
        predictions=PREDICTIONS, references=REFERENCES
    )["ece"] == pytest.approx(ECE_10)


def test_load_from_the_checkout(monkeypatch):
    monkeypatch.chdir(ROOT)
    ece = evaluate.load("metrics/ece")
    assert ece.compute(predictions=PREDICTIONS, references=REFERENCES, n_bins=10)[
        "ece"
    ] == pytest.approx(ECE_10)


def test_load_by_path():
    ece = evaluate.load(rightreasons.module_path("ece"), n_bins=10)
    assert ece.compute(predictions=PREDICTIONS, references=REFERENCES)["ece"] == pytest.approx(
        ECE_10
    )


def test_options_at_compute_win():
    ece = rightreasons.load("ece", n_bins=3)
    assert ece.compute(predictions=PREDICTIONS, references=REFERENCES, n_bins=10)["n_bins"] == 10
    assert ece.compute(predictions=PREDICTIONS, references=REFERENCES)["n_bins"] == 3


def test_add_and_add_batch_give_what_compute_gives():
    ece = rightreasons.load("ece", n_bins=10)
    whole = ece.compute(predictions=PREDICTIONS, references=REFERENCES)
    ece.add_batch(predictions=PREDICTIONS[:4], references=REFERENCES[:4])
    for row, label in zip(PREDICTIONS[4:], REFERENCES[4:], strict=True):
        ece.add(prediction=row, reference=label)
    assert ece.compute() == whole
    # And the module can be used again.
    assert ece.compute(predictions=PREDICTIONS, references=REFERENCES) == whole


def test_vectors_and_ragged_rows_go_both_ways():
    ece = rightreasons.load("ece")
    ragged = [[0.7, 0.3], [0.2, 0.3, 0.5]]
    for predictions, references, options in (
        ([0.9, 0.2], [1, 0], {"kind": "positive"}),
        (ragged, [0, 2], {}),
    ):
        whole = ece.compute(predictions=predictions, references=references, **options)
        ece.add_batch(predictions=predictions, references=references)
        assert ece.compute(**options) == whole


def add_then_compute(ece, predictions, references):
    ece.add_batch(predictions=predictions, references=references)
    return ece.compute()


@pytest.mark.parametrize(
    ("predictions", "references"),
    [
        ([[0.5, 0.33]], [0]),
        ([[0.5, 0.5]], [1.5]),
        ([[0.5, 0.5]], [2]),
        ([[0.5, 0.5]], ["1"]),
        ([[0.5, 0.5]], [True]),
        ([[0.5, float("nan")]], [0]),
        ([[0.5, 0.5]], [0, 1]),
        ([[0.5, None]], [0]),
        ([None], [0]),
        ([], []),
        ([[1.5, -0.5]], [0]),
        ([[[0.5, 0.5]]], [0]),
    ],
)
def test_both_ways_refuse_with_the_same_sentence(predictions, references):
    ece = rightreasons.load("ece")
    with pytest.raises((ValueError, TypeError)) as direct:
        ece.compute(predictions=predictions, references=references)
    with pytest.raises((ValueError, TypeError)) as added:
        add_then_compute(ece, predictions, references)
    assert str(direct.value) == str(added.value)
    assert str(direct.value).startswith("Expected ")


def test_combine():
    other = rightreasons.load("ece", n_bins=1)
    both = evaluate.combine([rightreasons.load("ece", n_bins=10), other], force_prefix=True)
    results = both.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert results["ece_0_ece"] == pytest.approx(ECE_10)
    assert results["ece_1_ece"] == pytest.approx(0.53 / 6)


def test_save(tmp_path):
    results = rightreasons.load("ece").compute(
        predictions=PREDICTIONS.astype(np.float32), references=REFERENCES
    )
    path = evaluate.save(tmp_path, **results)
    assert json.loads(Path(path).read_text())["ece"] == results["ece"]


def test_pickle_before_and_after_use():
    ece = rightreasons.load("ece", n_bins=10)
    ece.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    again = pickle.loads(pickle.dumps(ece))
    assert len(again) == len(REFERENCES)
    assert again.compute()["ece"] == ece.compute()["ece"] == pytest.approx(ECE_10)
    assert pickle.loads(pickle.dumps(ece)).compute(predictions=PREDICTIONS, references=REFERENCES)[
        "ece"
    ] == pytest.approx(ECE_10)


def _in_child(ece):
    return ece.compute(predictions=PREDICTIONS, references=REFERENCES)["ece"]


def test_spawned_processes():
    ece = rightreasons.load("ece", n_bins=10)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_in_child, [ece, ece]) == pytest.approx([ECE_10, ECE_10])


def test_unknown_module_names_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'ece'"):
        rightreasons.load("eec")
