"""How sure a model is of its answers: every way by hand with an engine that is told, and with a real small model."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from rightreasons.calibration.elicit import _followed, elicit_confidence, measure_confidence
from rightreasons.calibration.measurement import CalibrationAnswers
from rightreasons.calibration.options import SOURCES, ElicitOptions
from rightreasons.core.arrays import Ragged
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Answers, Likelihoods, Request
from rightreasons.models.wording import Prompt

ROWS = {
    "id": ["one", "two", "three"],
    "text": ["good film", "bad film", "odd film"],
    "label": [1, 1, 0],
    "group": ["a", "a", "b"],
}
LABELS = ("negative", "positive")
# Log-likelihoods of " negative" and " positive": the answers are positive, negative, negative.
LIKELIHOODS = {"good": (0.0, math.log(4)), "bad": (math.log(3), 0.0), "odd": (math.log(1.5), 0.0)}
TRUE = {"good": math.log(9), "bad": 0.0, "odd": -math.log(3)}
SAID = {"good": "0.9", "bad": "No idea.", "odd": "Probability: 25%\n\nFor example: 0.1"}
DRAWN = {
    "good": ["positive", "Positive.", "negative", "who knows"],
    "bad": ["negative", "negative", "", "negative"],
    "odd": ["fine", "good", "great", "positive"],
}


class Told:
    """An engine that answers as the tables above say."""

    name, fingerprint, has_template, thinks, budget = "told", "f", False, False, 32
    abilities = frozenset(("likelihoods", "text"))

    def __init__(self, *, chat=False):
        self.asked, self.has_template = [], chat

    def render(self, prompt):
        return prompt if isinstance(prompt, str) else "".join(f"<{turn['role']}>{turn['content']}" for turn in prompt)

    def word(self, request):
        return next(word for word in TRUE if word in self.render(request.prompt))

    def likelihoods(self, requests, *, progress=True, out=None):
        self.asked += [self.render(request.prompt) for request in requests]
        rows = []
        for request in requests:
            word = self.word(request)
            rows.append((TRUE[word], 0.0) if request.continuations == ("A", "B") else LIKELIHOODS[word])
        return Likelihoods(
            Ragged.of(np.concatenate(rows), [2] * len(rows)), Ragged.of(np.ones(2 * len(rows)), [2] * len(rows))
        )

    next_words = likelihoods

    def generate(self, requests, *, options, progress=True, out=None):
        self.asked += [self.render(request.prompt) for request in requests]
        return Answers.of([(DRAWN[self.word(r)] if options.n > 1 else [SAID[self.word(r)]]) for r in requests])


@pytest.fixture
def every():
    scorer = Prompted(Prompt(scoring="sum"), Told(), LABELS)
    return elicit_confidence(scorer, ROWS, options=ElicitOptions(SOURCES, n_samples=4))


def test_every_source_by_hand(every):
    table = every.table
    assert every.answers.tolist() == [1, 0, 0]
    assert {tuple(right) for right in table.correct.values()} == {(1, 0, 1)}
    assert table.groups == ("a", "a", "b")
    # 4 / (4 + 1), 3 / (3 + 1), 1.5 / (1.5 + 1)
    assert table.confidence["probability"] == pytest.approx([0.8, 0.75, 0.6])
    # 9 / (9 + 1), 1 / (1 + 1), 1 / (1 + 3)
    assert table.confidence["p_true"] == pytest.approx([0.9, 0.5, 0.25])
    np.testing.assert_array_equal(table.confidence["verbalized"], [0.9, np.nan, 0.25])
    # Of 3 answers that can be read 2 are positive; 3 of 3 are negative; of "odd" one is read, and is positive.
    assert table.confidence["samples"] == pytest.approx([2 / 3, 1, 0])
    assert every.said["verbalized"]["two"] == "No idea."
    measured = measure_confidence(table)
    assert {one.name: one.n_confident for one in measured.sources}["verbalized"] == 2


def test_questions_follow_the_answer(every):
    assert "Proposed answer: positive\nIs the proposed answer:\n (A) True\n (B) False" in every.prompts["p_true"]
    assert every.prompts["p_true"].startswith(every.prompts["probability"] + " positive\n\n")
    assert _followed(Request("one", "A film:\n"), "good", "Sure?").prompt == "A film:\ngood\n\nSure?"  # no space more
    m = SimpleNamespace(asked=SimpleNamespace(elicited=every), context=SimpleNamespace(label_name=LABELS.__getitem__))
    quoted = [(one.note, one.prediction, one.confidence) for one in CalibrationAnswers.prompts(m)]
    assert quoted[:2] == [("P(True)", "positive", pytest.approx(0.9)), ("Verbalized", "positive", pytest.approx(0.9))]
    assert [note for note, _, _ in quoted[2:]] == ["Agreement of drawn answers"]
    engine = Told(chat=True)
    elicit_confidence(Prompted(Prompt(scoring="sum"), engine, LABELS), ROWS, options=ElicitOptions(("verbalized",)))
    asked = engine.asked[-1]
    assert asked.index("<user>") < asked.index("<assistant>negative<user>Provide the probability")


def test_items_without_an_answer_have_no_confidence():
    scorer = Prompted(Prompt(scoring="generated", pattern="(positive|negative)"), Told(), LABELS)
    scorer.engine.generate = lambda requests, **more: Answers.of(
        [["none"] if "bad" in r.prompt else ["positive"] for r in requests]
    )
    found = elicit_confidence(scorer, ROWS, options=ElicitOptions(("p_true",)))
    assert found.table.correct["p_true"].tolist() == [1, -1, 0]
    assert np.isnan(found.table.confidence["p_true"][1])
    assert found.answers.tolist() == [1, -1, 1]


@pytest.mark.parametrize(
    ("sources", "change", "sentence"),
    [
        (("verbalized",), {"abilities": frozenset(("likelihoods",))}, "verbalized needs text, which told cannot give"),
        (("p_true",), {"abilities": frozenset(("text",))}, "p_true needs next words"),
        (("probability",), {"abilities": frozenset(("text",))}, "this model's are generated"),
        (("verbalized", "samples"), {"draws": False}, "a server that draws answers for samples, but told repeats one"),
    ],
)
def test_what_cannot_be_asked(sources, change, sentence):
    engine = Told()
    for name, value in change.items():
        setattr(engine, name, value)
    engine.generate = lambda requests, **more: Answers.of([["positive"] for _ in requests])
    scorer = Prompted(Prompt(), engine, LABELS)
    with pytest.raises(ValueError, match=sentence):
        elicit_confidence(scorer, ROWS, options=ElicitOptions(sources))
    assert not engine.asked  # it is known before anything is asked


def test_an_item_that_failed_is_named():
    engine = Told()
    engine.generate = lambda requests, **more: Answers.of([["0.9"], [], ["0.2"]], {"two": "refused"})
    found = elicit_confidence(
        Prompted(Prompt(scoring="sum"), engine, LABELS), ROWS, options=ElicitOptions(("verbalized",))
    )
    assert found.failures == {"verbalized": {"two": "refused"}}


def test_options_and_labels():
    with pytest.raises(ValueError, match="`sources` to be one of"):
        ElicitOptions(("logprobs",))
    with pytest.raises(ValueError, match="at least one of"):
        ElicitOptions(())
    with pytest.raises(ValueError, match="`temperature` above 0"):
        ElicitOptions(temperature=0)
    with pytest.raises(ValueError, match="a label of each item"):
        elicit_confidence(Prompted(Prompt(), Told(), LABELS), {**ROWS, "label": [1, -1, 0]})
    with pytest.raises(TypeError, match="Expected a scorer, but got str"):
        elicit_confidence("gpt", ROWS)
