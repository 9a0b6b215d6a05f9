"""The experiment on Balanced COPA: its training protocol, and the pictures that it alone draws."""

import datasets
import numpy as np
import pytest
from plots import embedding_panels, sensitivity_difference
from protocol import copa_protocol
from styles import as_multiple_choice

from tiny_models import save_tiny_encoder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return save_tiny_encoder(tmp_path_factory.mktemp("encoder"))


def test_pictures_of_sensitivity_and_embeddings():
    rng = np.random.default_rng(0)
    picture = sensitivity_difference(
        "sensitivity",
        productivity=rng.random(30),
        difference=rng.normal(0, 0.01, 30),
        applicability=rng.integers(1, 50, 30),
        named={3: "$went$"},
    )
    assert picture.png.startswith(b"\x89PNG")
    panels = {
        (subset, model): (rng.uniform(-1, 1, (20, 2)), rng.normal(size=20))
        for subset in ("Easy", "Hard")
        for model in ("pre-trained", "COPA")
    }
    picture = embedding_panels("embeddings", columns=("pre-trained", "COPA"), panels=panels)
    assert picture.png.startswith(b"\x89PNG")


@pytest.mark.real_data
def test_copa_protocol(encoder, tmp_path, real_data, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    short = {"training_arguments": {"max_steps": 3}, "checkpoint_steps": 0, "data_dir": real_data}
    (row,) = copa_protocol(
        encoder, out=tmp_path / "runs", training_sets=("balanced_50",), n_runs=2, **short
    )
    assert (row.training_set, row.seeds, row.frozen_encoder) == ("balanced_50", (0, 1), False)
    assert (row.gap.n_easy, row.gap.n_hard, row.gap.n_runs) == (190, 310, 2)
    assert 0 < row.train_accuracy < 1
    # Each seed takes its own half of the pairs.
    runs = tmp_path / "runs" / "balanced_50"
    manifests = [(runs / f"seed-{seed}" / "model" / "manifest.json").read_text() for seed in (0, 1)]
    assert manifests[0] != manifests[1]
    assert copa_protocol(
        encoder, out=tmp_path / "runs", training_sets=("balanced_50",), n_runs=2, **short
    ) == (row,)
    (frozen,) = copa_protocol(
        encoder,
        out=tmp_path / "frozen",
        training_sets=("original",),
        n_runs=1,
        freeze_encoder=True,
        **short,
    )
    assert (frozen.training_set, frozen.frozen_encoder) == ("original", True)
    with pytest.raises(ValueError, match="Did you mean 'balanced'"):
        copa_protocol(encoder, out=tmp_path / "no", training_sets=("balance",), **short)


ROW = {
    "id": 3,
    "premise": "The man broke his toe.",
    "question": "cause",
    "choice1": "He fell.",
    "choice2": "I fell.",
    "label": 0,
    "mirrored": False,
    "source_id": 3,
}


def convert(**options):
    return as_multiple_choice(datasets.Dataset.from_list([ROW]), **options)[0]


def test_styles_of_questions():
    assert convert()["prompt"] == "The man broke his toe. What was the cause?"
    row = convert(style="connective")
    assert (row["prompt"], row["choices"]) == (
        "The man broke his toe because",
        ["he fell.", "I fell."],
    )
    assert convert(style="premise")["prompt"] == "The man broke his toe."


def test_columns_of_questions():
    row = convert()
    assert row["id"] == "3"
    assert list(row) == ["id", "prompt", "choices", "label", "question", "mirrored", "source_id"]


def test_bad_questions():
    with pytest.raises(ValueError, match="Did you mean 'question'"):
        convert(style="questions")
    with pytest.raises(ValueError, match="column `premise` of COPA"):
        as_multiple_choice(datasets.Dataset.from_list([{"id": 1}]))
