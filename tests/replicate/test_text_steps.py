"""Released and corrected data side by side."""

import datasets
import pytest

from rightreasons.replicate import text_steps
from rightreasons.replicate.work import Work


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A step on two tweets, of which one names its label."""
    table = datasets.Dataset.from_dict(
        {"id": ["1", "2"], "text": ["So happy #Irony", "good #notes"], "label": [1, 0]}
    )
    calls = []

    def load(self, name, config, split, **options):
        calls.append((name, config, split, options))
        return table

    monkeypatch.setattr(Work, "load", load)
    task = Work(tmp_path, None, {}, {})
    return task, calls


def test_hashtags_are_removed_as_words(work):
    task, calls = work
    source = {"name": "tweets", "test": "validation", "removed": r"#(irony|not)\b"}

    data = text_steps._load_texts(task, source, "test")

    # "#notes" is another hashtag, and upper case makes none.
    assert data["text"][:] == ["So happy ", "good #notes"]
    assert data["label"][:] == [1, 0]
    assert calls == [("tweets", None, "validation", {"known_issues": False})]


def test_known_issues_are_corrected_on_demand(work):
    task, calls = work

    data = text_steps._load_texts(
        task, {"name": "tweets", "train": "train", "known_issues": True}, "train"
    )

    assert data["text"][:] == ["So happy #Irony", "good #notes"]
    assert calls[0][-1] == {"known_issues": True}


def test_corrected_figures_of_the_first_model_stand_beside_the_released_ones(tmp_path, monkeypatch):
    def make_figures(f1):
        return {"f1": {"value": f1}, "shortcut_rate": {"value": 80.0}}

    def make_row(task, model, f1):
        return {"key": {"task": task, "model": model}, "figures": make_figures(f1)}

    released = [
        make_row("Hate", "tiny", 40.0),
        make_row("Irony", "tiny", 85.0),
        make_row("Irony", "large", 90.0),
    ]
    calls = []

    def measure(work, task, source, model_name, path):
        calls.append((task, model_name, path))
        return {"f1": {"value": 62.5}, "shortcut_rate": {"value": 50.0}}

    monkeypatch.setattr(text_steps, "_measure_model", measure)
    settings = {
        "released": "models",
        "corrected_tasks": {"Irony": {}},
        "models": {"tiny": "tiny-folder", "large": "large-folder"},
    }
    results = {"models": {"rows": released}}

    result = text_steps.measure_corrections(Work(tmp_path, None, settings, results))

    assert calls == [("Irony", "tiny", "tiny-folder")]
    assert [row["key"]["data"] for row in result["rows"]] == ["as released", "corrected"]
    assert [row["figures"]["f1"]["value"] for row in result["rows"]] == [85.0, 62.5]
    facts = result["facts"]
    assert (facts["Irony_f1"], facts["Irony_f1_corrected"]) == (85.0, 62.5)
    assert (
        "on Irony, F1 is 62.5 % instead of 85.0 % and P_sc is 50.0 % instead of 80.0 %"
        in facts["answer"]
    )
    # A figure that no seed has cannot be quoted.
    assert "Irony_ece" not in facts
