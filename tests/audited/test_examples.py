"""Examples of items on the page of a report."""

from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.audited.examples import make_example


def test_an_example_lists_its_choices_and_the_remark_on_its_label():
    names = ("first", "second", "third")
    context = SimpleNamespace(
        stored=None,
        answers_once=False,
        task="multiple_choice",
        label_name=names.__getitem__,
        scores=lambda split: SimpleNamespace(logits=np.log([[1, 2, 1]])),
    )
    split = SimpleNamespace(
        ids=["a"],
        data=[{"prompt": "What flies?"}],
        text_column="prompt",
        text_pairs=None,
        planted=None,
        labels=np.array([2]),
        choices=[("a stone", "a tree", "a bird")],
        mislabeled=np.array([True]),
    )

    example = make_example(context, split, 0, predicted=1, confidence=1.0 + 1e-12, note="Marked.")

    assert (example.label, example.prediction, example.confidence) == ("third", "second", 1.0)
    assert [choice.text for choice in example.choices] == ["a stone", "a tree", "a bird"]
    assert [choice.is_correct for choice in example.choices] == [False, False, True]
    answers = [choice.answers[0] for choice in example.choices]
    assert [answer.is_picked for answer in answers] == [False, True, False]
    # The logits are logarithms of 1, 2 and 1.
    assert [answer.confidence for answer in answers] == pytest.approx([0.25, 0.5, 0.25])
    assert example.note.startswith("Marked. ")
    assert "label contradicts" in example.note.partition("Marked.")[2]
