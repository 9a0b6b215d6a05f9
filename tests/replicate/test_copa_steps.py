"""COPA: each training has its folder, and the fall of sensitivities is counted by productivity."""

from types import SimpleNamespace

import datasets
import numpy as np
import pytest

from rightreasons.replicate import copa_steps
from rightreasons.replicate.work import Work


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A step on two test items, of which the first is Easy."""
    row = {"premise": "It rained.", "question": "effect", "choice1": "wet", "choice2": "dry"}
    test = datasets.Dataset.from_list(
        [{**row, "id": 1, "label": 0, "easy": True}, {**row, "id": 2, "label": 1, "easy": False}]
    )
    monkeypatch.setattr(Work, "load", lambda *_, **__: test)
    return Work(tmp_path, None, {"models": {"tiny": "folder"}, "n_runs": 2}, {})


def test_each_seed_of_each_training_set_is_a_run_of_its_own(work, monkeypatch):
    folders = []

    def train_and_answer(work, path, training_set, items, seed, folder):
        folders.append(folder.relative_to(work.folder).as_posix())
        # The first choice with seed 0, the second with seed 1: one of two items each.
        return np.array([seed, seed])

    monkeypatch.setattr(copa_steps, "_train_and_answer", train_and_answer)

    result = copa_steps.train_on_copa(work)

    assert folders == [
        f"tiny/{name}/seed-{seed}"
        for name in ("original", "balanced_50", "balanced")
        for seed in (0, 1)
    ]
    assert result["answers"]["tiny/original"] == [[0, 1], [0, 1]]
    figures = result["rows"][0]["figures"]
    assert figures["accuracy"] == {"value": 50.0, "std": 0.0}
    # Seed 0 has the Easy item and seed 1 the Hard one.
    assert figures["easy_accuracy"] == {"value": 50.0, "std": 50.0}
    assert "sensitivities" not in result


def test_falls_are_counted_by_productivity():
    cues = [
        SimpleNamespace(cue="was", applicability=9, productivity=0.8),
        SimpleNamespace(cue="the", applicability=9, productivity=0.5),
        SimpleNamespace(cue="a", applicability=9, productivity=0.6),
        # Too rare, and without a sensitivity.
        SimpleNamespace(cue="toe", applicability=3, productivity=0.5),
        SimpleNamespace(cue="it", applicability=9, productivity=0.5),
    ]
    changes = {"was": -2.0, "the": -1.0, "a": 0.5, "toe": -1.0}

    above, middle = copa_steps._count_falls("tiny", SimpleNamespace(cues=cues), changes)

    assert above["key"] == {"model": "tiny", "productivity": "above 0.6"}
    assert above["figures"] == {"n_cues": 1, "mean": -2.0, "falls": 100.0}
    assert middle["figures"] == {"n_cues": 2, "mean": -0.25, "falls": 50.0}
