"""Training without the premise finds the items that their choices give away, and resumes without repeating a run."""

import numpy as np
import pytest
import transformers

from choice_items import told_items
from killing import killed_at
from rightreasons.models.classes import Classifier
from rightreasons.training.premise_oblivious import (
    hide_premise,
    premise_oblivious_split,
    train_and_score,
)
from tiny_models import save_tiny_encoder

QUICK = {
    "epochs": 6,
    "learning_rate": 5e-3,
    "batch_size": 16,
    "max_length": 24,
    "checkpoint_steps": 0,
    "warmup": 0.0,
}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder"))


class TestSplit:
    def test_items_that_a_cue_gives_away_are_easy(self, encoder, tmp_path):
        train = told_items(120)
        test = told_items(60, seed=1, told=lambda i: i < 30)
        split = premise_oblivious_split(encoder, test, train, out=tmp_path, n_runs=3, **QUICK)
        easy = np.array(split.easy)
        assert easy[:30].all()
        # The others were a coin's throw for the first run, and a coin's throw again for each next one.
        assert easy[30:].mean() < 0.75
        assert split.ids[:2] == ("i0", "i1")
        assert (split.n_easy + split.n_hard, split.n_runs) == (60, 3)
        assert split.mean_accuracy == pytest.approx(np.mean(split.accuracy))
        assert (split.chance, split.easy_by_chance) == (0.5, 0.125)
        assert tuple(n == 3 for n in split.n_correct) == split.easy
        # A second call trains nothing.
        assert (
            premise_oblivious_split(encoder, test, train, out=tmp_path, n_runs=3, **QUICK) == split
        )

    def test_bad_input(self, encoder, tmp_path):
        train = told_items(4)
        unlabeled = [{"prompt": "a", "choices": ["b", "c"], "label": label} for label in (0, -1)]
        with pytest.raises(ValueError, match=r"`test\['label'\]` to"):
            premise_oblivious_split(encoder, unlabeled, train, out=tmp_path)
        with pytest.raises(ValueError, match="columns prompt, choices, label"):
            premise_oblivious_split(encoder, [{"text": "a", "label": 0}], train, out=tmp_path)
        assert not list(tmp_path.iterdir())


def test_hidden_premise():
    blind = hide_premise(told_items(3))
    assert blind["prompt"][:] == ["", "", ""]
    assert sorted(blind.column_names) == ["choices", "label", "prompt"]


class TestScoredRun:
    def test_a_finished_run_is_read_back(self, encoder, tmp_path, monkeypatch):
        train, test = told_items(32), told_items(8, seed=2)
        options = {**QUICK, "epochs": 1, "metrics": ("accuracy",)}
        first = train_and_score(encoder, train, {"test": test}, out=tmp_path / "r", **options)[
            "test"
        ]
        assert first.ids[:2] == ("i0", "i1")
        monkeypatch.setattr(transformers.Trainer, "train", None)
        again = train_and_score(encoder, train, {"test": test}, out=tmp_path / "r", **options)[
            "test"
        ]
        assert (first.predicted == again.predicted).all()
        assert (first.logits == again.logits).all()

    def test_a_killed_run_goes_on(self, encoder, tmp_path, monkeypatch):
        train, test = told_items(32), told_items(8, seed=2)
        options = {**QUICK, "epochs": 1, "metrics": ("accuracy",)}
        whole = train_and_score(encoder, train, {"test": test}, out=tmp_path / "whole", **options)[
            "test"
        ]
        with monkeypatch.context() as patch:
            patch.setattr(Classifier, "choose", killed_at(Classifier.choose))
            with pytest.raises(KeyboardInterrupt):
                train_and_score(encoder, train, {"test": test}, out=tmp_path / "killed", **options)
        again = train_and_score(encoder, train, {"test": test}, out=tmp_path / "killed", **options)[
            "test"
        ]
        assert (again.logits == whole.logits).all()
