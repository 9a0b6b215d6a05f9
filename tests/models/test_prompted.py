"""Prompted language models as scorers: every kind of scores is compared with numbers worked out by hand."""

import numpy as np
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.models.classes import choose, predict
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Examples
from rightreasons.models.protocol import Answers, Likelihoods, Scorer
from rightreasons.models.wording import Prompt


class ScriptedEngine:
    """An engine whose likelihoods are a function of prompt and continuation, and whose answers are a list."""

    name = "told"
    fingerprint = "f"
    thinks = False
    budget = 32

    def __init__(
        self,
        score=None,
        answers=None,
        *,
        has_template=False,
        abilities=("likelihoods", "next_words", "text"),
    ):
        self.score = score
        self.answers = answers
        self.has_template = has_template
        self.abilities = frozenset(abilities)
        self.requests = []

    def render(self, prompt):
        if isinstance(prompt, str):
            return prompt
        return "".join(f"<{turn['role']}>{turn['content']}" for turn in prompt)

    def likelihoods(self, requests, *, progress=True, out=None):
        assert len({request.name for request in requests}) == len(requests)
        self.requests += requests
        values = []
        lengths = []
        failures = {}
        for request in requests:
            prompt = self.render(request.prompt)
            for text in request.continuations:
                values.append(self.score(prompt, text))
                lengths.append(float(len(text.split())))
            if "broken" in prompt:
                failures[request.name] = "it broke"
        counts = [len(request.continuations) for request in requests]
        return Likelihoods(
            Ragged.of(np.array(values), counts), Ragged.of(np.array(lengths), counts), failures
        )

    next_words = likelihoods

    def generate(self, requests, *, options, progress=True, out=None):
        rows = np.reshape(self.answers, (len(requests), options.n))
        return Answers.of(rows.tolist())


def score_by_length(prompt, text):
    """The shorter both are, the more likely."""
    return -float(len(text)) - len(prompt) / 100


def test_an_item_with_an_empty_choice_is_excluded():
    engine = ScriptedEngine(score_by_length)
    prompted = Prompted(Prompt(), engine)

    scores = prompted.choose(
        ["Why?", "How?"], [["", "no"], ["to", "no"]], ids=["a", "b"], labels=[1, 0]
    )

    assert scores.ids == ("b",)
    assert scores.labels.tolist() == [0]
    assert [request.name for request in engine.requests] == ["b"]
    assert scores.failures == {"a": "Expected answers with words, but answer 0 of item 'a' is ' '."}
    with pytest.raises(ValueError, match="answer 1 of item '0' is"):
        prompted.choose(["Why?"], [["no", " "]])
    with pytest.raises(ValueError, match="to choose from"):
        Prompted(Prompt(), engine, ["good"])


def test_likelihoods_of_choices_are_means_sums_or_differences():
    engine = ScriptedEngine(score_by_length)
    prompts = ["Why?", "", "Why?"]
    choices = [["to eat", "to"], ["a b c", "x", "yy"], ["to", "no"]]

    means = Prompted(Prompt(), engine).choose(prompts, choices, labels=[1, 0, -1])
    # " to eat" has 7 characters and two words, the prompt 4: -7.04 / 2.
    assert means.logits[0] == pytest.approx([-3.52, -3.04])
    assert means.logits[1] == pytest.approx([-6 / 3, -2, -3])
    assert means.labels.tolist() == [1, 0, -1]
    # An equal question is sent once, with each distinct choice.
    assert [(request.prompt, request.continuations) for request in engine.requests] == [
        ("Why?", (" to eat", " to", " no")),
        ("", (" a b c", " x", " yy")),
    ]

    sums = Prompted(Prompt(scoring="sum"), engine).choose(prompts, choices)
    assert sums.logits[2] == pytest.approx([-3.04, -3.04])

    # The difference from the likelihoods without the prompt is the prompt's part, -4 / 100.
    differences = Prompted(Prompt(scoring="unconditional"), engine).choose(prompts, choices)
    assert differences.logits[0] == pytest.approx([-0.04, -0.04])


def test_generated_texts_without_an_answer_are_counted():
    engine = ScriptedEngine(answers=["B", "I do not know", "The answer is A."])
    prompted = Prompted(Prompt(scoring="generated"), engine)

    scores = prompted.choose(["p", "q", "r"], [["x", "y"]] * 3, labels=[1, 0, 1])

    assert scores.ids == ("0", "2")
    assert prompted.unread == {"1"}
    assert scores.predicted.tolist() == [1, 0]
    assert scores.labels.tolist() == [1, 1]
    assert scores.failures == {"1": "no answer in 'I do not know'"}
    assert scores.way == (
        "1 of 3 generated answers give no answer; read: 1 by a last line “ANSWER: X”, 1 by another requested form"
    )
    assert scores.confidence == pytest.approx([1, 1])


def test_the_shares_of_sampled_answers_are_the_scores():
    engine = ScriptedEngine(answers=["good", "bad", "good", "what?"])
    prompt = Prompt(scoring="generated", samples=4, label_words=("bad", "good"))

    scores = Prompted(prompt, engine, ["neg", "pos"]).predict(["fun"])

    # Two of the three readable answers.
    assert scores.confidence == pytest.approx([2 / 3])


def test_a_prompted_model_is_used_like_any_other_scorer():
    engine = ScriptedEngine(score_by_length)
    chooser = Prompted(Prompt(), engine)
    assert isinstance(chooser, Scorer)
    assert not chooser.joint
    assert Prompted(Prompt(style="letters"), engine).joint
    assert choose(chooser, ["p"], [["a", "bb"]], ids=["i"]).ids == ("i",)

    classifier = Prompted(Prompt(), engine, ["no", "yes"])
    assert predict(classifier, ["p"], labels=[1]).label_names == ("no", "yes")

    with pytest.raises(ValueError, match="asked for choices: use `choose`"):
        predict(chooser, ["p"])
    with pytest.raises(TypeError, match="but got int"):
        predict(3, ["p"])
    with pytest.raises(TypeError, match="but got int"):
        choose(3, ["p"], [["a", "b"]])


def test_a_failed_item_is_excluded_with_its_reason():
    engine = ScriptedEngine(score_by_length)
    prompted = Prompted(Prompt(template="{{ text }}"), engine, ["no", "yes"])

    scores = prompted.predict(["fine", "broken"], ids=["a", "b"], labels=[0, 1])

    assert scores.ids == ("a",)
    assert scores.labels.tolist() == [0]
    assert scores.failures == {"b": "it broke"}


def test_the_description_has_the_prompt_of_the_first_item():
    engine = ScriptedEngine(score_by_length, has_template=True)
    examples = Examples.from_columns(["t"], [0], text=["dull"])
    prompt = Prompt(system="Be brief.", shots=1)
    prompted = Prompted(prompt, engine, ["no", "yes"], examples=examples)
    assert "(text)" in prompted.describe()["example"]

    prompted.predict(["great fun"])

    description = prompted.describe()
    assert description["example"] == (
        "<system>Be brief.<user>dull\n\nWhich label fits: no, yes?<assistant>no<user>great fun\n\n"
        "Which label fits: no, yes?"
    )
    assert description["chat"] is True
    assert description["scoring"] == "sum"
    assert description["answers"] == ["no", "yes"]


def test_the_fingerprint_depends_on_prompt_names_examples_and_seed():
    engine = ScriptedEngine(score_by_length)
    examples = Examples.from_columns(["t", "u"], [0, 1], text=["dull", "fine"])

    fingerprints = set()
    for options, names, seed in (
        ({}, ["no", "yes"], 0),
        ({}, ["yes", "no"], 0),
        ({}, None, 0),
        ({"shots": 1}, ["no", "yes"], 0),
        ({"shots": 1}, ["no", "yes"], 1),
        ({"style": "letters"}, None, 0),
    ):
        prompted = Prompted(Prompt(**options), engine, names, examples=examples, seed=seed)
        fingerprints.add(prompted.fingerprint)

    assert len(fingerprints) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chat": "on"}, "where `chat`"),
        ({"shots": 2}, "few-shot examples"),
        ({"scoring": "generated"}, r"\(mean, sum, unconditional\)"),
    ],
)
def test_options_that_the_engine_does_not_support_are_refused(options, message):
    engine = ScriptedEngine(score_by_length, abilities=("likelihoods",))

    with pytest.raises(ValueError, match=message):
        Prompted(Prompt(**options), engine)
