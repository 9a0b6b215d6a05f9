"""The section about shortcuts on a model that has learned a planted cue: it must name the cue."""

import dataclasses
import json

import datasets
import pytest

from rightreasons.auditing.runner import audit
from rightreasons.data.benchmarks.planted_reviews import CUES
from rightreasons.measuring.shortcuts import ShortcutRecord

OPTIONS = {"n_resamples": 100, "progress": False, "raise_errors": True, "questions": ["shortcuts"]}


@pytest.fixture(scope="module")
def outcome(planted, planted_model, tmp_path_factory):
    out = tmp_path_factory.mktemp("shortcuts") / "report"
    before = ShortcutRecord(
        step=0,
        epoch=0.0,
        n_items=50,
        shortcut_rate=0.3,
        shortcut_rate_interval=(0.2, 0.4),
        null_rate=0.3,
        excess=0.0,
        excess_interval=(-0.1, 0.1),
        lexicon_cued=0.2,
        grammar_cued=0.1,
        f1=0.5,
        accuracy=0.5,
        shortcut_tradeoff=1.7,
        shortcut_tradeoff_interval=(1.0, 2.0),
        ece=0.1,
        ece_interval=(0.0, 0.2),
        special_share=0.4,
        largest_gap=0.01,
    )
    records = [before, dataclasses.replace(before, step=52, epoch=4.0, shortcut_rate=0.9, lexicon_cued=0.8)]
    file = planted_model / "shortcuts.json"
    file.write_text(json.dumps([record.to_dict() for record in records]), "utf-8")
    result = audit(planted_model, planted, out=out, **OPTIONS)
    file.unlink()
    return result.outcomes[0], out


def test_it_names_the_planted_cues(outcome, planted):
    found = outcome[0].result
    cues = {token.lower() for row in planted["train"]["planted"] for token in (entry["token"] for entry in row)}
    for label in (0, 1):
        rows = [row for row in found.data["cues"] if row["label"] == label]
        assert rows[0]["token"] in cues  # the first of the list is planted
        assert rows[0]["planted"]
        assert rows[0]["found"] > 2 * rows[0]["expected"]
        assert rows[0]["p_label"] > 0.9
    assert found.verdict.tone == "bad"
    assert any(f"“{cue}”" in found.verdict.summary for cue in cues)
    assert found.data["detection"]["recall"] > 0.8
    assert cues == set(CUES["lexical"][:2])  # one for each class


def test_figures_and_splits(outcome):
    found, out = outcome
    figures = {headline.key: headline for headline in found.result.headlines}
    rate = figures["shortcut_rate"].estimate
    assert rate.low <= rate.value <= rate.high
    splits = found.result.data["splits"]
    assert set(splits) == {"test", "test_absent", "test_flipped"}
    # Without the cue there are fewer shortcuts, on the same items.
    assert splits["test_absent"]["shortcut_rate"] < splits["test"]["shortcut_rate"]
    assert splits["test_flipped"]["accuracy"] < splits["test_absent"]["accuracy"] < splits["test"]["accuracy"]
    page = (out / "index.html").read_text("utf-8")
    for text in (
        "Does it decide by shortcuts?",
        "Cues of each label",
        "Before and after fine-tuning",
        "Types of shortcuts",
    ):
        assert text in page
    for name in ("shortcut_types", "shortcuts_by_confidence", "shortcuts_over_training"):
        assert (out / "figures" / f"{name}.png").stat().st_size > 5_000
    data = json.loads((out / "audit.json").read_text("utf-8"))
    assert len(json.dumps(data)) > 1000


def test_examples_mark_shortcuts_and_weights(outcome):
    lists = [item for part in outcome[0].result.parts for item in part.examples]
    assert {item.key for item in lists} >= {"cued_and_right"}
    marks = [mark for item in lists for example in item.examples for mark in example.marks]
    assert {mark.kind for mark in marks} == {"cue", "weight"}
    assert all(0 <= mark.weight <= 1 for mark in marks)
    assert all("of the attribution" in mark.note for mark in marks)


def test_a_second_audit_computes_nothing_again(outcome, planted, planted_model, monkeypatch):
    from rightreasons.models.gradients import attribution

    def refuse(*args, **kwargs):
        raise AssertionError("computed again")

    monkeypatch.setattr(attribution, "integrate", refuse)
    again = audit(planted_model, planted, out=outcome[1], **OPTIONS)
    assert again.outcomes[0].result.data["splits"] == outcome[0].result.data["splits"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: {"test": data["test"]}, "There is no training split"),
        (
            lambda data: {"train": data["train"].filter(lambda row: row["label"] == 0), "test": data["test"]},
            "The training split has no text of the class 'positive'",
        ),
        (lambda data: {"train": data["train"], "test": data["test"].select(range(5))}, "at least 20 items"),
    ],
)
def test_where_it_does_not_apply(planted, planted_model, tmp_path, change, reason):
    data = datasets.DatasetDict(change(planted))
    result = audit(planted_model, data, out=tmp_path / "report", name="planted", **OPTIONS)
    (outcome,) = result.outcomes
    assert outcome.result is None
    assert reason in outcome.reason
