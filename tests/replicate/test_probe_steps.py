"""Probes: what a model trains on where one split alone has labels, and the figures of a row."""

from types import SimpleNamespace

import datasets
import pytest

from rightreasons.core.intervals import Interval
from rightreasons.replicate import probe_steps
from rightreasons.replicate.work import Work

INTERVAL = Interval(0.1, 0.3, 0.95, "bootstrap")


def make_split(name, n_items):
    return datasets.Dataset.from_dict({"id": [f"{name}{row}" for row in range(n_items)]})


@pytest.fixture
def work(tmp_path, monkeypatch):
    splits = {"train": make_split("train", 5), "test": make_split("test", 9)}
    monkeypatch.setattr(Work, "load", lambda self, name, config, split: splits[split])
    return Work(tmp_path, None, {"n_test": 4, "n_train": 20}, {})


def test_a_model_trains_on_the_other_items_of_the_only_labeled_split(work):
    train, test, pool = probe_steps._split_benchmark(
        work, "piqa", {"train": "test", "test": "test"}
    )

    # 4 of 9 items are asked about, and the model learns from the 5 others.
    assert (len(test), len(train), len(pool)) == (4, 5, 9)
    assert set(train["id"][:]).isdisjoint(test["id"][:])


def test_a_model_trains_on_the_training_split_if_there_is_one(work):
    train, test, _ = probe_steps._split_benchmark(work, "piqa", {"train": "train", "test": "test"})

    assert sorted(train["id"][:]) == [f"train{row}" for row in range(5)]
    assert len(test) == 4


def make_paralysis(share, mean, interval):
    drop = SimpleNamespace(mean=mean, interval=interval)
    return SimpleNamespace(choice_paralysis=share, null_drop=share / 2, restricted_drop=drop)


def make_figures(interval):
    bias = SimpleNamespace(normalized_prior_bias=0.25, pseudo_correct=SimpleNamespace(rate=0.625))
    return SimpleNamespace(
        accuracy=0.75,
        accuracy_interval=INTERVAL,
        original=SimpleNamespace(normalized_prior_bias=0.125),
        prior_bias={"no_question": bias},
        pseudo_correct_intervals={"no_question": INTERVAL},
        paralysis={
            1: make_paralysis(0.1, 0.2, interval),
            4: make_paralysis(0.5, 0.375, interval),
            2: make_paralysis(0.3, 0.25, interval),
        },
    )


def test_the_restricted_drop_is_that_of_the_most_choices():
    cells = probe_steps._describe_language_model(make_figures(INTERVAL))

    assert cells["restricted"]["value"] == 0.375
    assert (cells["original"], cells["no_question"]) == (0.125, 0.25)
    assert cells["no_question_pseudo"]["value"] == 0.625
    assert (cells["paralysis_4"], cells["dilution_4"]) == (0.5, 0.25)


def test_a_drop_without_an_interval_is_left_out():
    assert "restricted" not in probe_steps._describe_language_model(make_figures(None))
