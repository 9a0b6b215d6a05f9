"""A prompted language model as a classifier: what it scores, what explains it, and where its words are."""

import copy
import dataclasses

import numpy as np
import pytest

from rightreasons.models.choices import load_causal
from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.gradients.inputs import label_word_classifier, why_no_gradients
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Examples
from rightreasons.models.wording import Prompt
from tiny_causal import save_tiny_causal

TEXTS = ["the film was good", "a bad plot and dull", "rain", "the actor was very very lovely but the story fell"]
NAMES = ["bad", "good"]


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    scorer = load_causal(save_tiny_causal(tmp_path_factory.mktemp("causal")))
    scorer.tokenizer.chat_template = "{% for turn in messages %}{{ turn.role }} {{ turn.content }} {% endfor %}so "
    return LocalEngine(scorer)


def shares(logits):
    logits = np.asarray(logits) - np.max(logits, axis=1, keepdims=True)
    return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "options",
    [
        {"chat": "off"},
        {"label_words": ("very bad", "not so good")},
        {"label_words": ("very bad", "good"), "scoring": "mean"},
        {"scoring": "next_words", "chat": "off"},
        {"scoring": "unconditional"},
        {"scoring": "calibrated", "template": "the film {{ text }} was"},
        {"shots": 2, "draw": "run", "style": "letters", "chat": "off"},
    ],
    ids=lambda options: " ".join(f"{key}={value}" for key, value in options.items()),
)
def test_its_probabilities_are_those_of_the_prompted_model(engine, options):
    examples = Examples.of(["t", "u", "v"], [1, 0, 1], text=["fine", "awful", "great"])
    prompted = Prompted(Prompt(**options), engine, NAMES, examples=examples)
    ours = predict(label_word_classifier(prompted), TEXTS, progress=False)
    assert shares(ours.logits) == pytest.approx(shares(prompted.predict(TEXTS, progress=False).logits), abs=2e-5)


def test_the_words_of_the_text_alone_are_scored(engine):
    prompted = Prompted(Prompt(template="what was {{ text }} so"), engine, NAMES)
    found = integrated_gradients(prompted, TEXTS, unit="word", target="logit", progress=False)
    assert found.tokens == tuple(tuple(text.split()) for text in TEXTS)
    whole = [text for text, tokens in zip(TEXTS, found.tokens, strict=True) for _ in tokens]
    spans = zip(whole, found.starts, found.ends, strict=True)
    assert [text[start:end] for text, start, end in spans] == [word for tokens in found.tokens for word in tokens]
    # Completeness: the scores of a text sum to what the text adds to the template.
    summed = integrated_gradients(prompted, TEXTS, reduce="sum", target="logit", progress=False)
    rise = np.array([row.sum() for row in summed.scores])
    assert rise == pytest.approx(summed.value - summed.baseline_value, abs=0.05 * np.abs(summed.value).max())
    assert summed.special_share == pytest.approx(np.zeros(4), abs=1e-6)


def test_a_chat_template_may_trim_what_is_asked(engine):
    scorer = dataclasses.replace(engine.scorer, tokenizer=copy.deepcopy(engine.tokenizer))
    scorer.tokenizer.chat_template = "{% for turn in messages %}{{ turn.content | trim }} {% endfor %}so "
    prompted = Prompted(Prompt(template="{{ text }}"), LocalEngine(scorer), NAMES)
    texts = ["the film was good", "  a bad plot and dull \n"]
    found = integrated_gradients(prompted, texts, unit="word", target="logit", progress=False)
    assert found.tokens == tuple(tuple(text.split()) for text in texts)
    first, last = int(found.starts[4]), int(found.ends[-1])
    assert texts[1][first:last] == "a bad plot and dull"  # in the text as it was given
    assert np.isfinite(fisher_information(prompted, texts, progress=False).eigenvalues).all()


def test_fisher_information_of_label_words_is_that_of_the_answers(engine):
    prompted = Prompted(Prompt(template="what was {{ text }} so", chat="off"), engine, NAMES)
    words = fisher_information(prompted, TEXTS, progress=False, eigenvector=True, unit="word")
    choices = Prompted(Prompt(template="what was {{ prompt }} so", scoring="sum", chat="off"), engine)
    answers = fisher_information(
        choices, TEXTS, choices=[NAMES] * 4, progress=False, eigenvector=True, unit="word"
    )  # fmt: skip
    assert words.eigenvalues == pytest.approx(answers.eigenvalues, rel=1e-3)
    assert answers.tokens == words.tokens == tuple(tuple(text.split()) for text in TEXTS)
    assert "choices by sum" in answers.definition


@pytest.mark.parametrize("options", [{"style": "letters"}, {"scoring": "unconditional"}, {"chat": "off"}])
def test_fisher_information_scores_choices_as_the_prompted_model_does(engine, options):
    scorer = Prompted(Prompt(**options), engine)
    choices = [["good", "very bad"], ["rain", "so"], ["the film", "sun"], ["dull", "not good"]]
    found = fisher_information(scorer, TEXTS, choices=choices, progress=False)
    plain = scorer.choose(TEXTS, choices, progress=False)
    assert shares(found.logits) == pytest.approx(shares(plain.logits), abs=2e-5)


def test_where_words_have_no_gradients(engine):
    def reason(**options):
        examples = Examples.of(["t"], [1], text=["fine"])
        return why_no_gradients(Prompted(Prompt(**options), engine, NAMES, examples=examples))

    assert reason() == ""
    assert "needs gradients" in reason(scoring="generated")
    assert "`--draw run` gives all items the same" in reason(shots=1)
    assert "holds the text once, as it is" in reason(template="{{ text }} so {{ text }}")
    assert "holds the text once, as it is" in reason(template="{{ text | upper }}")
    far = Prompted(Prompt(), engine, NAMES)
    far.engine = dataclasses.make_dataclass("Far", ["name", "abilities"])("far", frozenset(["likelihoods"]))
    assert "needs gradients, which" in why_no_gradients(far)
