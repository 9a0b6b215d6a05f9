"""Sources of confidence, measured on the items that all of them have, and on the command line."""

import json
import re

import numpy as np
import pytest

from command_line import run
from rightreasons.calibration.compare import compare_confidence
from rightreasons.calibration.confidence_table import read_confidence
from rightreasons.calibration.measure_sources import measure_confidence
from rightreasons.calibration.recalibration import calibration_summary
from rightreasons.core.resampling import Resampling


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(3)
    p = rng.random(120)
    said = [None if row % 8 == 0 else 0.9 if value > 0.3 else 0.8 for row, value in enumerate(p)]
    return {
        "item": [f"q{row}" for row in range(120)],
        "confidence_p": p.tolist(),
        "confidence_said": said,
        "correct": (rng.random(120) < p).astype(int).tolist(),
    }


def test_figures_are_about_the_shared_items(columns):
    few = Resampling(resamples=200)
    measured = measure_confidence(read_confidence(columns), resampling=few)
    shared = [row for row in range(120) if row % 8]
    p, right = np.array(columns["confidence_p"])[shared], np.array(columns["correct"])[shared]
    assert (measured.n_items, measured.n_shared) == (120, 105)
    one, said = measured.sources
    # 15 of 120 answers have no number.
    assert (one.confident.value, said.confident.value, said.n_confident) == (1.0, 0.875, 105)
    summary = calibration_summary(p, right, kind="confidence")
    for key in (
        "accuracy",
        "mean_confidence",
        "ece",
        "smooth_ece",
        "adaptive_ece",
        "ece_sweep",
        "auroc",
        "aurc",
    ):
        assert one.figures[key].value == pytest.approx(summary[key])
    assert one.figures["brier_of_answers"].value == pytest.approx(summary["brier"])
    without = {
        key for key, each in one.figures.items() if each.value is not None and not each.has_interval
    }
    assert without == {"mce"}
    said_of = [columns["confidence_said"][row] for row in shared]
    assert measured.pairs == compare_confidence({"p": p, "said": said_of}, right, resampling=few)


def test_a_source_that_says_nothing_is_told_and_not_compared(capsys, tmp_path, columns):
    silent = {**columns, "confidence_true": [None] * 120}
    few = Resampling(resamples=50)
    measured = measure_confidence(read_confidence(silent), resampling=few)
    alone = measure_confidence(read_confidence(columns), resampling=few)
    assert [(one.name, one.n_confident) for one in measured.sources] == [
        ("p", 120),
        ("said", 105),
        ("true", 0),
    ]
    assert measured.sources[2].figures == {}
    assert (measured.sources[:2], measured.pairs, measured.n_shared) == (
        alone.sources,
        alone.pairs,
        105,
    )
    (tmp_path / "said.json").write_text(
        json.dumps(
            [dict(zip(silent, row, strict=True)) for row in zip(*silent.values(), strict=True)]
        )
    )
    code, out, _ = run(capsys, "confidence", tmp_path / "said.json", "--n-resamples", 50)
    assert code == 0
    assert "confidence (0.0%)" in out


def test_nothing_in_common():
    columns = {
        "confidence_p": [0.5, None] * 10,
        "confidence_said": [None, 0.5] * 10,
        "correct": [1, 0] * 10,
    }
    with pytest.raises(ValueError, match="10 of p"):
        measure_confidence(read_confidence(columns))


def test_command(columns, tmp_path, capsys):
    file = tmp_path / "answers.json"
    file.write_text(json.dumps(columns))
    done = json.loads(run(capsys, "confidence", file, "--n-resamples", "100", "--json").out)
    printed = "\n".join(done["printed"])
    assert "105 items with a confidence from each source" in printed
    assert "confidence (87.5%)" in printed
    assert re.search(r"p - said +Confidence gap +−?\d", printed)
    assert done["result"]["n_shared"] == 105


def test_the_log_loss_of_a_source_is_that_of_the_outcome():
    confidence = [0.8, 0.6, 0.9, 0.7] * 5
    correct = [1, 0, 1, 0] * 5
    table = read_confidence({"confidence": confidence, "correct": correct})

    measured = measure_confidence(table, resampling=Resampling(resamples=20))

    # Correct answers have the probability p, incorrect ones 1 - p.
    expected = -np.log([0.8, 0.4, 0.9, 0.3]).mean()
    assert measured.sources[0].figures["nll"].value == pytest.approx(expected)


@pytest.mark.parametrize(("n_confident", "is_compared"), [(9, False), (10, True)])
def test_a_source_is_compared_from_ten_confidences_on(n_confident, is_compared):
    rare = [0.5] * n_confident + [None] * (20 - n_confident)
    columns = {"confidence_p": [0.5] * 20, "confidence_rare": rare, "correct": [1, 0] * 10}

    measured = measure_confidence(read_confidence(columns), resampling=Resampling(resamples=20))

    assert bool(measured.sources[1].figures) is is_compared
    assert len(measured.pairs) == int(is_compared)
    assert measured.n_shared == (n_confident if is_compared else 20)
    assert measured.n_answered == 20


def test_items_without_an_answer_are_no_part_of_the_shares():
    table = read_confidence({"confidence": [0.5] * 12, "correct": [1] * 6 + [0] * 6})
    table.correct[:2] = -1

    measured = measure_confidence(table, resampling=Resampling(resamples=20))

    assert (measured.n_items, measured.n_answered, measured.n_shared) == (12, 10, 10)
    assert measured.sources[0].confident.value == 1.0
