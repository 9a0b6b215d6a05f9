"""The controls of a cue in the causal test, worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.models.loading import Classifier
from rightreasons.shortcuts import measure_causal as causal_shortcuts
from rightreasons.shortcuts.measure import Cue, ShortcutMeasurement
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.protocols import PROTOCOLS

TEXTS = ["good ~ film", "a ~ plot !", "~"]
"""A cue that is a mark: in a text without another mark, in one with another, and alone."""


def measurement(texts, scores):
    """The attributions of texts of which all are predicted as label 0."""
    tokens = [text.split() for text in texts]
    spans = [
        (text.index(token), text.index(token) + len(token))
        for text, row in zip(texts, tokens, strict=True)
        for token in row
    ]
    attributions = SimpleNamespace(
        ids=[str(row) for row in range(len(texts))],
        tokens=tokens,
        scores=Ragged(np.concatenate(scores), np.cumsum([0, *map(len, tokens)])),
        starts=np.array([start for start, _ in spans]),
        ends=np.array([end for _, end in spans]),
        parts=np.zeros(len(spans), dtype=np.int64),
    )
    return ShortcutMeasurement(
        attributions=attributions,
        probabilities=np.array([[0.9, 0.1]] * len(texts)),
        labels=np.zeros(len(texts), dtype=np.int64),
        reliance=None,
        tradeoff=None,
        calibration=None,
        protocol=PROTOCOLS["rightreasons"],
        rows=np.arange(len(texts)),
        left_out="",
        n_left_out=0,
    )


@pytest.fixture
def measured():
    return measurement(TEXTS, [[0.1, 0.9, 0.2], [0.0, 0.8, 0.3, 0.1], [0.7]])


def named(*words):
    """Cues of label 0."""
    return [Cue(0, word, 3, 1.0, 3, 1.0, 0.1, None, 0.01) for word in words]


@pytest.fixture
def treated(monkeypatch):
    """What is done to texts by the causal test."""

    def predict(classifier, texts, **options):
        return SimpleNamespace(logits=np.array([[0.0, 1.0]] * len(texts)), failures={})

    def run(texts, scores, heads, cues):
        classifier = Classifier(None, SimpleNamespace(mask_token=None), ("down", "up"), "stub")
        measured = measurement(texts, scores)
        return causal_shortcuts.measure_causal_shortcuts(classifier, texts, measured, heads, cues, progress=False).items

    monkeypatch.setattr(causal_shortcuts, "predict", predict)
    return run


@pytest.mark.parametrize(
    ("scores", "cue"),
    [
        ([0.5, 0.0, 0.9, 0.1], "copper"),
        ([0.9, 0.0, 0.5, 0.1], "marble"),
        ([0.5, 0.0, -0.9, 0.1], "copper"),  # by magnitude
        ([0.5, 0.0, 0.5, 0.1], "marble"),  # of equal ones the first in the text
    ],
)
def test_the_cue_of_the_largest_attribution_is_taken_out(treated, scores, cue):
    heads = lmi(["marble copper marble copper", "film a plot the", "film a plot the"], [0, 0, 1], head_fraction=0.2)
    (item,) = treated(["marble film copper a"], [scores], heads, named("marble", "copper"))
    assert item.cue == cue


def test_a_control_word_is_in_no_head(treated):
    # "velvet" is as frequent as the cue, but in the head of the other label; "film" is rarer, and in none.
    heads = lmi(["copper copper copper film a", "velvet velvet velvet film the"], [0, 1], head_size=1)
    assert heads.heads == {0: ("copper",), 1: ("velvet",)}
    (item,) = treated(["copper velvet film"], [[0.9, 0.1, 0.1]], heads, named("copper"))
    assert item.control == "film"


def test_cue_and_control_are_replaced_by_different_words_of_no_head(treated):
    heads = lmi(["copper copper copper film one two", "velvet velvet velvet film one two"], [0, 1], head_size=1)
    items = treated(["copper film"] * 30, [[0.9, 0.1]] * 30, heads, named("copper"))
    assert {(item.replacement, item.control_replacement) for item in items} == {("one", "two"), ("two", "one")}
    # Where one word alone is left, there is none for the control.
    heads = lmi(["copper copper copper film one", "velvet velvet velvet film one"], [0, 1], head_size=1)
    assert treated(["copper film"], [[0.9, 0.1]], heads, named("copper")) == ()


def test_the_control_of_a_mark_is_a_mark_or_else_a_word(measured, monkeypatch):
    heads = lmi(
        ["~ good film ; ?", "~ plot a", "~ plot !", "film set ! ? ;", "a set film plot", "good a ; ?"],
        [0, 0, 0, 1, 1, 1],
    )
    assert heads.heads[0] == ("~",)
    seen = []

    def predict(classifier, texts, **options):
        seen.append(list(texts))
        return SimpleNamespace(logits=np.array([[0.0, 1.0]] * len(texts)), failures={})

    monkeypatch.setattr(causal_shortcuts, "predict", predict)
    classifier = Classifier(None, SimpleNamespace(mask_token=None), ("down", "up"), "stub")
    tested = causal_shortcuts.measure_causal_shortcuts(classifier, TEXTS, measured, heads, named("~"), progress=False)
    controls = {item.row: item.control for item in tested.items}
    # "film" and "good" are the words of the first text; the second has a mark; the third has the cue alone.
    assert set(controls) == {0, 1}
    assert controls[0] in ("film", "good")
    assert controls[1] == "!"
    assert tested.n_with_cue == 3
    assert seen[0] == ["good film", "a plot !"]
    # The texts without their control words come after those without their cues.
    assert "!" not in seen[2][1]
    assert "~" in seen[2][1]


def test_an_item_with_a_changed_text_that_fails_is_left_out(measured, monkeypatch):
    heads = lmi(
        ["~ good film ; ?", "~ plot a", "~ plot !", "film set ! ? ;", "a set film plot", "good a ; ?"],
        [0, 0, 0, 1, 1, 1],
    )

    def predict(classifier, texts, ids, fail_fast, **options):
        assert not fail_fast
        failures = {name: "It fails." for name, text in zip(ids, texts, strict=True) if text == "a plot !"}
        return SimpleNamespace(logits=np.array([[0.0, 1.0]] * (len(texts) - len(failures))), failures=failures)

    monkeypatch.setattr(causal_shortcuts, "predict", predict)
    classifier = Classifier(None, SimpleNamespace(mask_token=None), ("down", "up"), "stub")
    tested = causal_shortcuts.measure_causal_shortcuts(
        classifier, TEXTS, measured, heads, named("~"), fail_fast=False, progress=False
    )
    assert ([item.row for item in tested.items], tested.n_failed) == ([0], 1)
    assert tested.shortcuts.removal.n_items == 1
    assert all(table.shape == (1, 2) for table in tested.without_cue.values())


def test_texts_that_were_left_out_are_no_texts_that_were_measured(measured):
    classifier = Classifier(None, SimpleNamespace(mask_token=None), ("down", "up"), "stub")
    heads = lmi(["~ good", "plot a"], [0, 1])
    with pytest.raises(ValueError, match="Expected the 3 `texts` that were measured .* but got 4"):
        causal_shortcuts.measure_causal_shortcuts(classifier, [*TEXTS, "more"], measured, heads, [], progress=False)
    with pytest.raises(ValueError, match="Expected the 3 `text_pairs`"):
        causal_shortcuts.measure_causal_shortcuts(
            classifier, TEXTS, measured, heads, [], text_pairs=["one"], progress=False
        )
