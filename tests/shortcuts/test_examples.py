"""Misclassified items with the tokens that carry the prediction, by hand: the paper's Table 4."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts import examples
from rightreasons.shortcuts.examples import (
    describe_shortcuts,
    list_misclassified_examples,
    mark_top_tokens,
)
from rightreasons.shortcuts.protocols import get_protocol
from rightreasons.shortcuts.reliance import shortcut_reliance

TEXTS = ["The copper film!", "copper, copper", "dull film", "a marble plot"]
TOKENS = [
    ["the", "copper", "film", "!"],
    ["copper", ",", "copper"],
    ["dull", "film"],
    ["a", "marble", "plot"],
]
SCORES = [[0.4, 0.8, -0.1, 0.2], [0.5, 0.1, 0.5], [0.9, 0.3], [0.1, 0.6, 0.2]]
SPANS = [
    [(0, 3), (4, 10), (11, 15), (15, 16)],
    [(0, 6), (6, 7), (8, 14)],
    [(0, 4), (5, 9)],
    [(0, 1), (2, 8), (9, 13)],
]
HEADS = {0: ["dull", "marble"], 1: ["copper", "!", "the"]}
LABELS = [0, 0, 0, 1]
PREDICTIONS = [1, 1, 0, 0]
CONFIDENCES = [0.7, 0.9, 0.8, 0.6]


@pytest.fixture(scope="module")
def measured():
    reliance = shortcut_reliance(
        TOKENS,
        SCORES,
        PREDICTIONS,
        HEADS,
        top_n=2,
        rank_by="magnitude",
        resampling=Resampling(resamples=20),
    )
    offsets = np.cumsum([0, *map(len, TOKENS)])
    spans = np.array([span for spans in SPANS for span in spans])
    attributions = SimpleNamespace(
        scores=Ragged(np.concatenate(SCORES), offsets),
        starts=spans[:, 0],
        ends=spans[:, 1],
        parts=np.zeros(len(spans), dtype=np.int64),
    )
    confidences = np.array(CONFIDENCES)
    probabilities = np.column_stack([1 - confidences, confidences])
    is_negative = np.array(PREDICTIONS) == 0
    probabilities[is_negative] = probabilities[is_negative][:, ::-1]
    return SimpleNamespace(
        reliance=reliance,
        attributions=attributions,
        protocol=get_protocol(top_n=2),
        probabilities=probabilities,
        predictions=np.array(PREDICTIONS),
        labels=np.array(LABELS),
        cued=np.array([example.cued for example in reliance.examples]),
    )


def test_top_tokens_are_marked_with_their_types(measured):
    marks = mark_top_tokens(measured, 0)

    # The two largest of "The copper film!" are both in the head of label 1.
    assert [TEXTS[0][mark.start : mark.end] for mark in marks] == ["The", "copper"]
    assert [mark.kind for mark in marks] == ["cue", "cue"]
    assert ["function word" in mark.note for mark in marks] == [True, False]
    assert [mark.weight for mark in marks] == [0.5, 1.0]


def test_a_top_token_outside_of_the_head_is_a_weight(measured):
    marks = mark_top_tokens(measured, 2)

    assert [(TEXTS[2][mark.start : mark.end], mark.kind) for mark in marks] == [
        ("dull", "cue"),
        ("film", "weight"),
    ]


def test_the_note_names_each_shortcut_once_with_its_type(measured):
    assert (
        describe_shortcuts(measured, 0)
        == "Shortcuts: “the” (function word), “copper” (lexical word)."
    )
    assert describe_shortcuts(measured, 1) == "Shortcut: “copper” (lexical word)."


def test_words_of_the_second_text_are_not_marked_in_the_first(measured):
    parts = measured.attributions.parts.copy()
    parts[1] = 1
    attributions = SimpleNamespace(**{**vars(measured.attributions), "parts": parts})
    changed = SimpleNamespace(**{**vars(measured), "attributions": attributions})

    assert [mark.start for mark in mark_top_tokens(changed, 0)] == [0]


def test_misclassified_items_come_by_confidence_without_wrong_labels(measured, monkeypatch):
    def make_example(context, split, row, *, predicted, confidence, marks, note):
        return (row, predicted, round(confidence, 3), note)

    monkeypatch.setattr("rightreasons.shortcuts.examples.make_example", make_example)
    items = SimpleNamespace(ids=["a", "b", "c", "d"], mislabeled=np.array([False] * 3 + [True]))
    answers = SimpleNamespace(measured=measured, items=items, context=None)

    examples = list(list_misclassified_examples(answers))

    # Item 2 is correct, and the label of item 3 contradicts its text.
    assert [example[:3] for example in examples] == [(1, 1, 0.9), (0, 1, 0.7)]
    assert "copper" in examples[0][3]


@dataclasses.dataclass(frozen=True)
class Shown:
    """An example by its row."""

    row: int
    note: str = ""


def test_swaps_are_listed_by_the_smaller_confidence_before_and_after_the_swap(monkeypatch):
    texts = ["a copper film", "the copper film", "copper " * 41, "no copper", "an old copper"]
    split = SimpleNamespace(
        texts=texts,
        text_pairs=None,
        ids=["a", "b", "c", "d", "e"],
        labels=np.array([1, 1, 1, 1, 0]),
        mislabeled=np.array([False, False, False, True, False]),
    )
    # The prediction is 1 for all texts: the last one is incorrect, and the label before it is known to be wrong.
    scores = SimpleNamespace(
        predicted=np.ones(5, dtype=int), confidence=np.array([0.98, 0.8, 0.99, 0.99, 0.99])
    )
    swapped = [
        # After the swap 0.55 of 0.98, and 0.7 of 0.8: the second is the more convincing one.
        SimpleNamespace(row=0, confidence=0.55, label=0, feature="copper", text=("a dull film",)),
        SimpleNamespace(row=1, confidence=0.7, label=0, feature="copper", text=("the dull film",)),
        # A long text comes last, whatever its confidence is.
        SimpleNamespace(row=2, confidence=0.9, label=0, feature="copper", text=("dull " * 41,)),
        SimpleNamespace(row=3, confidence=0.9, label=0, feature="copper", text=("no dull",)),
        SimpleNamespace(row=4, confidence=0.9, label=0, feature="copper", text=("an old dull",)),
        # Neither another feature nor a prediction that stays the same is an example.
        SimpleNamespace(row=0, confidence=0.9, label=0, feature="film", text=("a copper plot",)),
        SimpleNamespace(row=1, confidence=0.9, label=1, feature="copper", text=("the dim film",)),
    ]
    m = SimpleNamespace(
        strongest=SimpleNamespace(test="swap", key="copper"),
        context=SimpleNamespace(
            primary=split,
            scores=lambda: scores,
            label_name=("no", "yes").__getitem__,
            answers_once=True,
        ),
        swaps=SimpleNamespace(swapped_items=swapped),
    )
    monkeypatch.setattr(examples, "make_example", lambda context, split, row, **_: Shown(row))

    shown = list(examples.list_swapped_examples(m))

    assert [example.row for example in shown] == [1, 0, 2]
    assert shown[0].note == "When it becomes “dull”, the prediction is no."
