"""COPA: each training has its folder, and the fall of sensitivities is counted by productivity."""

import io
import tarfile
from types import SimpleNamespace

import datasets
import numpy as np
import pytest

from rightreasons.core.errors import OptionError
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

    above, middle = copa_steps._summarize_changes("tiny", SimpleNamespace(cues=cues), changes)

    assert above["key"] == {"model": "tiny", "productivity": "above 0.6"}
    assert above["figures"] == {"n_cues": 1, "mean": -2.0, "falls": 100.0}
    assert middle["figures"] == {"n_cues": 2, "mean": -0.25, "falls": 50.0}


def test_files_of_a_release_are_found_in_its_archive(tmp_path, monkeypatch):
    """Without local copies, the answers of COPA's baselines are read from its downloaded archive."""
    archive = tmp_path / "COPA-resources.tgz"
    content = b"502 0 1\n501 1 0\n"
    entry = tarfile.TarInfo("COPA-resources/results/gold.test")
    entry.size = len(content)
    with tarfile.open(archive, "w:gz") as bundle:
        bundle.addfile(entry, io.BytesIO(content))
    addresses = []

    def download(_, url):
        addresses.append(url)
        return str(archive)

    monkeypatch.setattr(datasets.DownloadManager, "download", download)
    work = Work(tmp_path, None, {}, {})

    # Item 501 has the first alternative, 502 the second.
    assert copa_steps._read_answer_key(work, "gold.test") == [0, 1]
    assert addresses == [copa_steps.COPA_RELEASE]
    with pytest.raises(OptionError, match="copa/results") as error:
        copa_steps._read_answer_key(work, "baselineFirst.test")
    assert error.value.option == ("data_dir",)


def test_local_files_are_preferred(tmp_path):
    folder = tmp_path / "copa" / "results"
    folder.mkdir(parents=True)
    (folder / "gold.test").write_text("501 0 1\n", "utf-8")

    assert copa_steps._read_answer_key(Work(tmp_path, tmp_path, {}, {}), "gold.test") == [1]


def test_the_change_of_the_gap_is_in_percent_and_quoted_for_all_of_balanced_copa(tmp_path):
    easy = [True, True, False, False]
    answers = {
        # Both Easy and one of two Hard items are correct: a gap of 50 points.
        "tiny/original": [1, 1, 1, 0],
        # One of two Easy and one of two Hard items: no gap.
        "tiny/balanced_50": [1, 0, 1, 0],
        # One of two Easy and both Hard items: -50 points.
        "tiny/balanced": [0, 1, 0, 0],
    }
    trained = {"answers": answers, "labels": [1, 1, 0, 0], "easy": easy}
    settings = {"models": {"tiny": "folder"}, "trained": "training", "n_permutations": 20}
    work = Work(tmp_path, None, settings, {"training": trained})

    result = copa_steps.compare_training_sets(work)

    figures = [row["figures"] for row in result["rows"]]
    assert [row["original"] for row in figures] == [50, 50]
    assert [row["balanced"] for row in figures] == [0, -50]
    assert [row["difference"]["value"] for row in figures] == [50, 100]
    assert result["facts"]["value"] == 100
