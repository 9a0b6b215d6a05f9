"""How sure a model says that it is of its answers: by hand with an engine that is told."""

import math

import numpy as np
import pytest

from rightreasons.calibration.elicit import _append_turn, elicit_confidence
from rightreasons.calibration.measure_sources import measure_confidence
from rightreasons.core.arrays import Ragged
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Answers, Likelihoods, Request
from rightreasons.models.wording import Prompt

ROWS = {
    "id": ["one", "two", "three"],
    "text": ["good film", "bad film", "odd film"],
    "label": [1, 1, 0],
}
LABELS = ("negative", "positive")
# Log-likelihoods of " negative" and " positive": the answers are positive, negative, negative.
LIKELIHOODS = {"good": (0.0, math.log(4)), "bad": (math.log(3), 0.0), "odd": (math.log(1.5), 0.0)}
SAID = {"good": "0.9", "bad": "No idea.", "odd": "Probability: 25%\n\nFor example: 0.1"}


class Told:
    """An engine that answers as the tables above say."""

    name, fingerprint, has_template, thinks, budget = "told", "f", False, False, 32
    abilities = frozenset(("likelihoods", "text"))

    def __init__(self, *, chat=False):
        self.asked, self.has_template = [], chat

    def render(self, prompt):
        return (
            prompt
            if isinstance(prompt, str)
            else "".join(f"<{turn['role']}>{turn['content']}" for turn in prompt)
        )

    def word(self, request):
        return next(word for word in SAID if word in self.render(request.prompt))

    def likelihoods(self, requests, *, progress=True, out=None):
        self.asked += [self.render(request.prompt) for request in requests]
        rows = [LIKELIHOODS[self.word(request)] for request in requests]
        return Likelihoods(
            Ragged.of(np.concatenate(rows), [2] * len(rows)),
            Ragged.of(np.ones(2 * len(rows)), [2] * len(rows)),
        )

    def generate(self, requests, *, options, progress=True, out=None):
        self.asked += [self.render(request.prompt) for request in requests]
        return Answers.of([[SAID[self.word(r)]] for r in requests])


def test_both_sources_by_hand():
    engine = Told()
    table = elicit_confidence(Prompted(Prompt(scoring="sum"), engine, LABELS), ROWS)
    assert table.correct.tolist() == [1, 0, 1]
    # 4 / (4 + 1), 3 / (3 + 1), 1.5 / (1.5 + 1)
    assert table.confidence["probability"] == pytest.approx([0.8, 0.75, 0.6])
    np.testing.assert_array_equal(table.confidence["verbalized"], [0.9, np.nan, 0.25])
    measured = measure_confidence(table)
    assert {one.name: one.n_confident for one in measured.sources}["verbalized"] == 2
    assert not any(one.figures for one in measured.sources)  # too few to compare


def test_questions_follow_the_answer():
    engine = Told()
    elicit_confidence(Prompted(Prompt(scoring="sum"), engine, LABELS), ROWS)
    assert engine.asked[-1].startswith(engine.asked[2] + " negative\n\nProvide the probability")
    assert (
        _append_turn(Request("one", "A film:\n"), "good", "Sure?").prompt
        == "A film:\ngood\n\nSure?"
    )  # no space more
    engine = Told(chat=True)
    elicit_confidence(Prompted(Prompt(scoring="sum"), engine, LABELS), ROWS)
    asked = engine.asked[-1]
    assert asked.index("<user>") < asked.index("<assistant>negative<user>Provide the probability")


def test_items_without_an_answer_have_no_confidence():
    scorer = Prompted(Prompt(scoring="generated", pattern="(positive|negative)"), Told(), LABELS)
    scorer.engine.generate = lambda requests, **more: Answers.of(
        [
            ["0.9"]
            if "Provide the probability" in r.prompt
            else ["none"]
            if "bad" in r.prompt
            else ["positive"]
            for r in requests
        ]
    )
    table = elicit_confidence(scorer, ROWS)
    assert list(table.confidence) == ["verbalized"]  # one generated answer has no probability
    assert table.correct.tolist() == [1, -1, 0]
    assert np.isnan(table.confidence["verbalized"][1])


def test_what_cannot_be_asked():
    engine = Told()
    engine.abilities = frozenset(("likelihoods",))
    with pytest.raises(
        ValueError,
        match="model that generates",
    ):
        elicit_confidence(Prompted(Prompt(scoring="sum"), engine, LABELS), ROWS)
    assert not engine.asked  # it is known before anything is asked
    with pytest.raises(ValueError, match="label for each"):
        elicit_confidence(Prompted(Prompt(), Told(), LABELS), {**ROWS, "label": [1, -1, 0]})
