"""The controls of a cue in the causal test, worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.analysis.shortcuts.lmi import lmi
from rightreasons.foundations.ragged import Ragged
from rightreasons.measuring import causal_shortcuts
from rightreasons.measuring.protocols import PROTOCOLS
from rightreasons.measuring.shortcuts import Cue, ShortcutMeasurement
from rightreasons.models.loading import Classifier

TEXTS = ["good ~ film", "a ~ plot !", "~"]
"""A cue that is a mark: in a text without another mark, in one with another, and alone."""


@pytest.fixture
def measured():
    tokens = [text.split() for text in TEXTS]
    spans = [
        (text.index(token), text.index(token) + len(token))
        for text, row in zip(TEXTS, tokens, strict=True)
        for token in row
    ]
    attributions = SimpleNamespace(
        ids=["one", "two", "three"],
        tokens=tokens,
        scores=Ragged(np.array([0.1, 0.9, 0.2, 0.0, 0.8, 0.3, 0.1, 0.7]), np.array([0, 3, 7, 8])),
        starts=np.array([start for start, _ in spans]),
        ends=np.array([end for _, end in spans]),
        parts=np.zeros(8, dtype=np.int64),
    )
    return ShortcutMeasurement(
        attributions=attributions,
        probabilities=np.array([[0.9, 0.1]] * 3),
        labels=np.zeros(3, dtype=np.int64),
        reliance=None,
        tradeoff=None,
        calibration=None,
        protocol=PROTOCOLS["rightreasons"],
        rows=np.arange(3),
        left_out="",
        n_left_out=0,
    )


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
    cue = Cue(0, "~", 3, 1.0, 3, 1.0, 0.1, None, 0.01)
    classifier = Classifier(None, SimpleNamespace(mask_token=None), ("down", "up"), "stub")
    tested = causal_shortcuts.measure_causal_shortcuts(classifier, TEXTS, measured, heads, [cue], progress=False)
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
    cue = Cue(0, "~", 3, 1.0, 3, 1.0, 0.1, None, 0.01)
    classifier = Classifier(None, SimpleNamespace(mask_token=None), ("down", "up"), "stub")
    tested = causal_shortcuts.measure_causal_shortcuts(
        classifier, TEXTS, measured, heads, [cue], fail_fast=False, progress=False
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
