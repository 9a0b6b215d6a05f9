"""The section about shortcuts on a model that has learned a planted cue: it must name the cue."""

import json
import re

import datasets
import pytest
import torch
import transformers

from rightreasons.datasets.planted import CUES
from rightreasons.models.classes import predict
from rightreasons.models.loading import load_classifier
from rightreasons.report.runner import audit
from rightreasons.shortcuts import measure_deciding, measurement
from rightreasons.shortcuts.examples import describe_swap
from rightreasons.shortcuts.protocols import get_protocol

OPTIONS = {"n_resamples": 100, "progress": False, "raise_errors": True, "questions": ["shortcuts"]}


@pytest.fixture(scope="module")
def outcome(planted, planted_model, tmp_path_factory):
    out = tmp_path_factory.mktemp("shortcuts") / "report"
    before = {
        "step": 0,
        "epoch": 0.0,
        "n_items": 50,
        "shortcut_rate": 0.3,
        "shortcut_rate_interval": (0.2, 0.4),
        "null_rate": 0.3,
        "excess": 0.0,
        "lexicon_cued": 0.2,
        "grammar_cued": 0.1,
        "f1": 0.5,
        "accuracy": 0.5,
        "shortcut_tradeoff": 1.7,
        "ece": 0.1,
        "ece_interval": (0.0, 0.2),
        "n_bins": 10,
    }
    records = [
        before,
        before | {"step": 52, "epoch": 4.0, "shortcut_rate": 0.9, "lexicon_cued": 0.8},
    ]
    file = planted_model / "shortcuts.json"
    file.write_text(json.dumps(records), "utf-8")
    result = audit(planted_model, planted, out=out, **OPTIONS)
    file.unlink()
    return result.outcomes[0], out


def test_it_names_the_planted_cues(outcome, planted):
    found = outcome[0].result
    cues = {
        token.lower()
        for row in planted["train"]["planted"]
        for token in (entry["token"] for entry in row)
    }
    # Two words decide nearly everything, and the data calls them planted.
    assert (found.verdict.tone, found.verdict.label) == ("bad", "Relies on a shortcut")
    assert all(f"“{cue}”" in found.verdict.summary for cue in cues)
    assert "declares this shortcut as planted" in found.verdict.summary
    assert cues == set(CUES["lexical"][:2])  # one for each class


def test_figures_and_splits(outcome):
    found, out = outcome
    figures = {headline.key: headline for part in found.result.parts for headline in part.headlines}
    rate = figures["shortcut_rate"].estimate
    assert rate.low <= rate.value <= rate.high
    page = (out / "index.html").read_text("utf-8")
    for text in (
        "Does it rely on shortcuts?",
        "During fine-tuning",
        "Types of shortcuts",
    ):
        assert text in page
    for name in ("shortcut_types", "shortcuts_by_confidence", "shortcuts_over_training"):
        assert (out / "figures" / f"{name}.png").stat().st_size > 5_000
    data = json.loads((out / "audit.json").read_text("utf-8"))
    assert len(json.dumps(data)) > 1000


def test_examples_mark_what_is_swapped(outcome):
    lists = [item for part in outcome[0].result.parts for item in part.examples]
    swapped = {mark.note for item in lists if item.key == "swapped" for mark in _marks(item)}
    assert swapped
    assert swapped <= {"becomes “copper”", "becomes “marble”"}


def test_no_example_is_an_item_whose_label_contradicts_its_text(outcome, report, planted):
    """One label in ten is noise, and follows the cue: a follower is surest, and "right", on just these."""
    true = {
        row["id"]: row["label"] == row["content_label"]
        for split in planted.values()
        for row in split
    }
    calibration = next(found.result for found in report.outcomes)
    kinds = ("swapped",)
    lists = [
        item
        for found in (outcome[0].result, calibration)
        for part in found.parts
        for item in part.examples
    ]
    ids = [example.id for item in lists if item.key in kinds for example in item.examples]
    assert len(ids) > 2
    assert all(true[name] for name in ids)
    # Of the labels that the model disputes, those that the data confirms are not listed. Whether any noise is
    # left depends on the model, and on the machine that trained it.
    for part in calibration.parts:
        for item in part.examples:
            if item.key == "labels":
                assert not any(true[example.id] for example in item.examples)


def _marks(item):
    return [mark for example in item.examples for mark in example.marks]


def test_what_decides(outcome, planted_model):
    found = outcome[0].result
    swaps = found.data["swaps"]
    figures = {headline.key: headline for headline in found.headlines}
    share, follow = figures["deciding_share"].estimate, figures["follow_rate"].estimate
    assert (found.headlines[0].key, swaps["conclusion"]) == ("deciding_share", "followed")
    assert 0.25 < share.low < share.value
    assert follow.low < follow.value
    first = next(row for row in swaps["tests"] if row["test"] == "words")
    assert set(first["words"]) == set(CUES["lexical"][:2])
    assert share.value == first["effect"]["deciding_share"]
    assert (
        figures["accuracy_without_cues"].estimate.value < found.data["splits"]["test"]["accuracy"]
    )
    # What the model was asked about may be chosen on the page: a pair of words changes, and what it says is its answer.
    first, second = CUES["lexical"][:2]
    text, change = next((text, each) for text, each in found.changes if second in each.name)
    assert {first, second} <= {*re.findall(r"\w+", change.name)}
    assert sorted(set(text.split()) ^ set(change.text.split())) == sorted((first, second))
    assert all(text != each.text for text, each in found.changes)
    classifier = load_classifier(planted_model)
    texts = [(each.text, each.prediction) for _, each in found.changes[:40]]
    predicted = predict(classifier, [text for text, _ in texts]).predicted
    assert [classifier.label_names[label] for label in predicted.tolist()] == [
        label for _, label in texts
    ]
    # What is compared item by item has the name of its feature; the report is about this one.
    decided = next(item for item in found.by_item if item.key.startswith("deciding_share."))
    assert decided.key == f"deciding_share.{'/'.join(sorted(CUES['lexical'][:2]))}"
    assert len(decided.values) == swaps["n_items"]
    assert decided.is_finding


@pytest.mark.parametrize(
    ("before", "after", "marked", "said"),
    [
        (("A fine Film",), ("A dull Film",), ["fine"], ["it becomes “dull”"]),
        # Of several words, each is named once, and those after the third are counted.
        (
            ("Bad plot, bad cast, a poor film, an odd end by us",),
            ("Good plot, good cast, a fine film, an even start by us",),
            ["Bad", "bad", "poor", "odd", "end"],
            [
                "“Bad” becomes “Good”",
                "“poor” becomes “fine”",
                "“odd” becomes “even”",
                "1 more word is swapped",
            ],
        ),
        # Another text, and words that come or go: the whole text.
        (
            ("one two three four",),
            ("five six seven four",),
            ["one two three"],
            ["it becomes “five six seven four”"],
        ),
        (("It is so, so fine",), ("It is so fine",), [", so"], ["it becomes “It is so fine”"]),
        # Spaces and line ends are shown, as a page shows neither.
        (("A  film\nhere",), ("A film here",), [], ["it becomes “A film here”"]),
        # Of pairs the text that changes; words of the second are not marked in the first.
        (("one", "a b c"), ("one", "a b d"), [], ["the second text becomes “a b d”"]),
    ],
)
def test_what_becomes_of_a_text_is_said(before, after, marked, said):
    marks, becomes = describe_swap(before, after)
    assert ([before[0][mark.start : mark.end] for mark in marks], becomes) == (marked, said)


@pytest.fixture
def scored(monkeypatch):
    """The sizes of the batches that are predicted, as they go through the model."""
    sizes, forward = [], transformers.BertForSequenceClassification.forward

    def counted(self, *arguments, **inputs):
        if torch.is_inference_mode_enabled():
            sizes.append(len(inputs["input_ids"]))
        return forward(self, *arguments, **inputs)

    monkeypatch.setattr(transformers.BertForSequenceClassification, "forward", counted)
    return sizes


def test_a_killed_audit_asks_nothing_again(planted, planted_model, tmp_path, scored, monkeypatch):
    data = datasets.DatasetDict({name: planted[name] for name in ("train", "test")})
    options = {
        **OPTIONS,
        "options": {"shortcuts": {"items": 100, "words": ["sad", "COPPER"]}},
        "name": "planted",
    }
    whole = audit(planted_model, data, out=tmp_path / "whole", **options).outcomes[0].result
    all_texts, predict, calls = sum(scored), measure_deciding.predict, []
    assert all_texts >= len(planted["test"]) + whole.data["swaps"]["n_passes"]

    def killed(*arguments, **keywords):
        calls.append(keywords["out"])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return predict(*arguments, **keywords)

    scored.clear()
    monkeypatch.setattr(measure_deciding, "predict", killed)
    with pytest.raises(KeyboardInterrupt):
        audit(planted_model, data, out=tmp_path / "killed", **options)
    before = sum(scored)
    resumed = audit(planted_model, data, out=tmp_path / "killed", **options).outcomes[0].result
    # What was said before the kill is not asked again.
    assert 0 < before < sum(scored) < before + all_texts - len(planted["test"])
    assert resumed.data == whole.data
    # A suspected word is swapped, whatever its association.
    assert any("sad" in row["words"] for row in whole.data["swaps"]["pairs"])


def test_suspected_words_that_the_training_data_lacks(
    planted, planted_model, tmp_path, monkeypatch
):
    monkeypatch.delattr(measurement, "measure_shortcuts")  # refused before anything is attributed
    options = {**OPTIONS, "options": {"shortcuts": {"words": ["zeppelin"]}}, "name": "planted"}
    with pytest.raises(ValueError, match="no training text contains 'zeppelin'"):
        audit(planted_model, planted, out=tmp_path / "report", **options)


def test_a_second_audit_computes_nothing_again(
    outcome, planted, planted_model, scored, monkeypatch
):
    from rightreasons.models.gradients import attribution

    def refuse(*args, **kwargs):
        raise AssertionError("computed again")

    monkeypatch.setattr(attribution, "integrate", refuse)
    again = audit(planted_model, planted, out=outcome[1], **OPTIONS)
    assert again.outcomes[0].result.data["splits"] == outcome[0].result.data["splits"]
    assert scored == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda data: {"test": data["test"].select(range(60))},
            "There are no labeled training texts",
        ),
        (
            lambda data: {
                "train": data["train"].filter(lambda row: row["label"] == 0),
                "test": data["test"],
            },
            "The training split has no text of the class 'positive'",
        ),
        (
            lambda data: {"train": data["train"], "test": data["test"].select(range(5))},
            "at least 20 labeled items",
        ),
    ],
)
def test_where_it_does_not_apply(planted, planted_model, tmp_path, change, reason):
    data = datasets.DatasetDict(change(planted))
    with pytest.raises(
        ValueError, match=f"Expected a question that applies, but got shortcuts: .*{reason}"
    ):
        audit(planted_model, data, out=tmp_path / "report", name="planted", **OPTIONS)


def test_figures_are_withheld_where_attributions_do_not_add_up(
    planted, planted_model, tmp_path, monkeypatch
):
    data = datasets.DatasetDict({"train": planted["train"], "test": planted["test"]})
    monkeypatch.setattr(
        measurement, "get_protocol", lambda name: get_protocol(method="riemann_right", steps=1)
    )
    options = {"shortcuts": {"items": 20}}
    result = audit(
        planted_model,
        data,
        out=tmp_path / "report",
        **{**OPTIONS, "options": options, "name": "planted"},
    )
    (outcome,) = result.outcomes
    # What decides is known all the same: swaps take no attributions.
    assert outcome.result.verdict.tone == "bad"
    figures = {
        line.key: line.estimate.value for part in outcome.result.parts for line in part.headlines
    }
    assert figures["deciding_share"] > 0.25
    assert "shortcut_rate" not in figures
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "excluded, because" in page
