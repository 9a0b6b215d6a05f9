"""The section about shortcuts on a model that has learned a planted cue: it must name the cue."""

import collections
import dataclasses
import json
from types import SimpleNamespace

import datasets
import pytest
import torch
import transformers

from rightreasons.datasets.perturbing.planting import plant
from rightreasons.datasets.planted import CUES
from rightreasons.report.runner import audit
from rightreasons.shortcuts import measure_causal as causal_shortcuts
from rightreasons.shortcuts.causal import CausalShortcuts, worst_group_accuracy
from rightreasons.shortcuts.measure import Cue, ShortcutRecord
from rightreasons.shortcuts.measurement import ShortcutAnswers
from rightreasons.shortcuts.question import SHORTCUTS

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
        "Over fine-tuning",
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
    deleted = {mark.note for item in lists if item.key == "decided_by_a_word" for mark in _marks(item)}
    assert deleted == {"the cue that is deleted"}
    assert all(
        "of the attribution" in mark.note for item in lists if item.key != "decided_by_a_word" for mark in _marks(item)
    )


def test_cues_planted_into_data_of_a_user(planted, planted_model, tmp_path):
    texts = planted["test_absent"].select_columns(["id", "text", "label"])  # stand for a user's
    data = plant({"train": texts, "test": texts}, strength=0.7, coverage=0.8)
    result = audit(planted_model, data, out=tmp_path, **{**OPTIONS, "questions": ["calibration", "shortcuts"]})
    calibration, shortcuts = (found.result for found in result.outcomes)
    follows = next(t for part in calibration.parts for t in part.tables if t.key == "cues")
    assert {row[0] for row in follows.rows} == {"test", "test_absent", "test_flipped"}
    # The groups are those of the planted cues, whatever words the detector names.
    pairs = collections.Counter(zip(data["test"]["cue_label"], data["test"]["label"], strict=True))
    groups = {(row["cue_label"], row["label"]): row["n_items"] for row in shortcuts.data["groups"]["groups"]}
    assert groups == {(None if cue < 0 else cue, label): count for (cue, label), count in pairs.items()}
    assert shortcuts.data["groups"]["group"]["cue_label"] != shortcuts.data["groups"]["group"]["label"]
    assert "planted in each text" in (tmp_path / "index.html").read_text("utf-8")


def _marks(item):
    return [mark for example in item.examples for mark in example.marks]


def test_cues_decide(outcome):
    found = outcome[0].result
    figures = found.data["causal"]
    assert figures["conclusion"] == "cues decide"
    assert found.headlines[0].key == "causal_shortcut_rate"
    assert found.headlines[0].estimate.value == figures["removal"]["rate"]
    assert figures["removal"]["excess_interval"]["low"] > 0
    assert set(figures["removals"]) == {"delete", "mask", "swap"}
    assert f"150 of 150 predictions have a named cue. {figures['reason']}" in found.verdict.summary
    # The two planted words are among the cues that were tested, and the texts with and without cues add up.
    assert {"copper", "marble"} & {cue["cue"] for cue in figures["cues"]}
    groups = found.data["groups"]["groups"]
    assert {group["cue_label"] for group in groups} >= {0, 1}
    assert all(cue["p_value"] < 0.05 for cue in found.data["cues"])


@pytest.mark.parametrize(
    ("conclusion", "excess_low", "removal_low", "planted", "follows", "tone", "label"),
    [
        ("cues decide", 0.1, 0.02, None, None, "warn", "Single words decide some"),
        ("cues decide", 0.1, 0.02, True, None, "bad", "Follows single words"),
        ("cues decide", 0.1, 0.02, False, None, "warn", "Single words decide some"),
        ("cues decide", 0.1, 0.6, False, None, "warn", "Single words decide"),
        ("cues decide", 0.1, 0.02, None, 0.4, "warn", "Single words decide some"),  # the group is worse, but not led
        ("cues decide", 0.1, 0.02, None, 0.6, "warn", "Single words decide some"),  # perhaps not even half of it is led
        ("cues decide", 0.1, 0.02, None, 0.9, "bad", "Follows single words"),
        ("cues decide", 0.1, -0.02, None, 0.9, "warn", "Single words can sway it"),  # by cues that are put in alone
        ("cues do not decide", 0.1, 0.02, True, 0.9, "good", "Words alone do not decide"),
        ("cannot tell", 0.1, 0.02, None, None, "warn", "Looks at single words"),
        ("cannot tell", -0.1, 0.02, None, None, "neutral", "Cannot tell"),
    ],
)
def test_verdicts(conclusion, excess_low, removal_low, planted, follows, tone, label):
    interval = SimpleNamespace(low=excess_low, high=0.5, confidence_level=0.95, method="", n_resamples=None)
    null = SimpleNamespace(excess=0.2, interval=interval)
    measured = SimpleNamespace(reliance=SimpleNamespace(null={"frequency": null}))
    cue = Cue(
        label=1, token="copper", found=9, expected=1.0, texts=9, p_label=0.9, lmi=0.1, planted=planted, p_value=0.01
    )
    effect = SimpleNamespace(excess=0.3, n_items=30)
    ends = SimpleNamespace(low=removal_low, high=0.7)
    removal = SimpleNamespace(excess_interval=ends, interval=ends)
    shortcuts = CausalShortcuts(
        causal_shortcut_rate=0.3,
        removal=removal,
        removals={},
        insertion=None,
        cues=(SimpleNamespace(cue="copper", effect=effect),),
        conclusion=conclusion,
        reason="The test.",
    )
    # Forty texts of label 0 with a cue of label 1, a share of which follows the cue.
    gold = [0] * 40 + [1] * 160
    predicted = [int(item < 40 * (follows or 0.0)) for item in range(40)] + [1] * 160
    groups = worst_group_accuracy(predicted, gold, {1: [True] * 100 + [False] * 100})
    context = SimpleNamespace(label_name=lambda label: ("no", "yes")[label])
    tested = SimpleNamespace(shortcuts=shortcuts, n_with_cue=30, n_items=120)
    split = SimpleNamespace(measured=measured)
    answers = ShortcutAnswers(context, None, [split], cues=[cue], tested=tested, groups=groups)
    rule = SHORTCUTS.rule(answers)
    say = SHORTCUTS.prose.of(m=answers)
    summary = say(f"verdict.{rule.key}")
    assert (rule.tone, say.title(f"verdict.{rule.key}")) == (tone, label)
    assert "The test." in summary
    assert ("“copper” (yes)" in summary) == (tone in ("bad", "warn"))
    assert ("10.0% [" in summary) == (tone == "bad" and follows is not None)


def answers_of(groups=None, excess=0.3):
    """Answers where removing a planted cue surely changes predictions."""
    cue = Cue(label=1, token="copper", found=9, expected=1.0, texts=9, p_label=0.9, lmi=0.1, planted=True, p_value=0.01)
    effect = SimpleNamespace(cue="copper", effect=SimpleNamespace(excess=excess, n_items=30))
    effects = SimpleNamespace(removal=SimpleNamespace(excess_interval=SimpleNamespace(low=0.02)), cues=(effect,))
    tested = SimpleNamespace(shortcuts=effects)
    return ShortcutAnswers(None, None, [None], cues=[cue], tested=tested, groups=groups)


def test_a_model_is_misled_where_cues_point_elsewhere_and_it_does_worse_there():
    # Of 40 texts of label 0 with a cue of label 1, 36 are predicted as the cue says.
    gold, against = [0] * 40 + [1] * 160, [1] * 36 + [0] * 4
    has_cue = {1: [True] * 100 + [False] * 100}
    assert answers_of(worst_group_accuracy(against + [1] * 160, gold, has_cue)).is_misled
    # No worse than elsewhere, where 12% are right.
    others = ([1] * 7 + [0] * 53) + ([1] * 12 + [0] * 88)
    alike = worst_group_accuracy(against + others, gold, has_cue)
    assert (alike.group.cue_label, alike.group.label) == (1, 0)
    assert not answers_of(alike).is_misled
    # Worst where the cue points at the label itself.
    right = worst_group_accuracy(
        [1] * 240 + [0] * 160 + [0] * 2000, [1] * 400 + [0] * 2000, {1: [True] * 400 + [False] * 2000}
    )
    assert (right.group.cue_label, right.follows_interval.low > 0.5) == (1, True)
    assert not answers_of(right).is_misled


def test_planted_cues_are_evidence_where_they_change_predictions():
    assert answers_of().planted_cues == ["“copper”"]
    assert answers_of(excess=-0.1).planted_cues == []


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


def test_a_killed_audit_resumes_the_test_of_suspected_words(planted, planted_model, tmp_path, scored, monkeypatch):
    data = datasets.DatasetDict({name: planted[name] for name in ("train", "test")})
    options = {**OPTIONS, "options": {"shortcuts": {"items": 40, "words": ["sad", "COPPER"]}}, "name": "planted"}
    whole = audit(planted_model, data, out=tmp_path / "whole", **options).outcomes[0].result
    all_texts, predict, calls = sum(scored), causal_shortcuts.predict, []
    # The predictions of the split itself, and of each attributed item one per intervention and one with a control word.
    assert len(planted["test"]) < all_texts <= len(planted["test"]) + 5 * 40
    tested = whole.data["causal"]
    assert all_texts == len(planted["test"]) + 4 * tested["removal"]["n_items"] + 2 * tested["insertion"]["n_items"]
    assert sum(effect["n_items"] for effect in tested["removals"].values()) == tested["removal"]["n_items"]

    def killed(*arguments, **keywords):
        calls.append(keywords["out"])
        if len(calls) == 4:
            raise KeyboardInterrupt
        return predict(*arguments, **keywords)

    scored.clear()
    monkeypatch.setattr(causal_shortcuts, "predict", killed)
    with pytest.raises(KeyboardInterrupt):
        audit(planted_model, data, out=tmp_path / "killed", **options)
    before = sum(scored)
    resumed = audit(planted_model, data, out=tmp_path / "killed", **options).outcomes[0].result
    assert 0 < before < sum(scored) == all_texts
    assert resumed.data == whole.data
    # "copper" is named or suspected, never both; "sad" is in no head, so the detector never names it.
    named, suspected = ([(cue["label"], cue["token"]) for cue in whole.data[key]] for key in ("cues", "suspected"))
    assert not set(named) & set(suspected)
    assert {"copper", "sad"} <= {token for _, token in [*named, *suspected]}
    assert "sad" in {token for _, token in suspected}
    assert whole.data["causal"]["removal"]["n_items"] == whole.data["splits"]["test"]["causal_n_items"]
    assert "and the suspected “" in (tmp_path / "whole" / "index.html").read_text("utf-8")


def test_suspected_words_that_the_training_data_lacks(planted, planted_model, tmp_path, monkeypatch):
    from rightreasons.shortcuts import measurement

    monkeypatch.delattr(measurement, "measure_shortcuts")  # refused before anything is attributed
    options = {**OPTIONS, "options": {"shortcuts": {"words": ["zeppelin"]}}, "name": "planted"}
    with pytest.raises(ValueError, match="none of its texts has 'zeppelin'"):
        audit(planted_model, planted, out=tmp_path / "report", **options)


def test_a_second_audit_computes_nothing_again(outcome, planted, planted_model, scored, monkeypatch):
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


def test_figures_are_withheld_where_attributions_do_not_add_up(planted, planted_model, tmp_path):
    data = datasets.DatasetDict({"train": planted["train"], "test": planted["test"]})
    options = {"shortcuts": {"integration": "riemann_right", "steps": 1, "items": 20}}
    result = audit(planted_model, data, out=tmp_path / "report", **{**OPTIONS, "options": options, "name": "planted"})
    (outcome,) = result.outcomes
    assert (outcome.result.verdict.tone, outcome.result.verdict.label) == ("neutral", "Cannot tell")
    assert "of 20 items are left out, because their attributions miss more than 5 %" in outcome.result.verdict.summary
    assert [(line.key, line.estimate.value) for line in outcome.result.headlines] == [
        ("shortcut_rate", None),
        ("shortcut_excess", None),
    ]
    assert "Withheld" in (tmp_path / "report" / "index.html").read_text("utf-8")
