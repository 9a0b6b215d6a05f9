"""Usable information of a prompted model, from an engine that says what it is told."""

import numpy as np
import pytest

from rightreasons.core.arrays import Ragged
from rightreasons.core.resampling import Resampling
from rightreasons.difficulty.usable_information import measure_information
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Likelihoods
from rightreasons.models.wording import Prompt


class Told:
    name, fingerprint, has_template, thinks, budget = "told", "f", False, False, 32
    abilities = frozenset({"likelihoods", "next_words", "text"})

    def __init__(self, shares):
        self.shares, self.asked = shares, []

    def render(self, prompt):
        return prompt

    def likelihoods(self, requests, *, progress=True, out=None):
        self.asked += [request.prompt for request in requests]
        rows = []
        for request in requests:
            text = request.prompt.removeprefix("Text:").strip()
            own = dict(self.shares.get(text, {}))
            with np.errstate(divide="ignore"):
                rows.append(np.log([own[answer.strip()] for answer in request.continuations]))
        counts = [len(row) for row in rows]
        failures = {request.name: "broken" for request in requests if "broken" in request.prompt}
        return Likelihoods(Ragged.of(np.concatenate(rows), counts), Ragged.of(np.ones(sum(counts)), counts), failures)

    next_words = likelihoods


SHARES = {
    "fun": {"no": 0.2, "yes": 0.6}, "dull": {"no": 0.3, "yes": 0.1}, "odd": {"no": 0.8, "yes": 0.2},
    "broken": {"no": 0.5, "yes": 0.5}, "": {"no": 0.1, "yes": 0.1}, "sure": {"no": 0.0, "yes": 0.7},
}  # fmt: skip


def scorer(**options):
    return Prompted(Prompt(template="Text: {{ text }}", **options), Told(SHARES), ["no", "yes"])


def measured(prompted, texts, labels, resampling=Resampling(resamples=50)):
    return measure_information(prompted, prompted.predict(texts), labels, resampling=resampling)


def test_bits_of_each_label_beyond_an_empty_text():
    prompted = scorer()
    found = measured(prompted, ["fun", "dull", "odd", "broken", "fun"], [1, 0, 1, 0, -1])
    # Without a text both labels have 1/2; with it 3/4, 3/4 and 1/5.
    assert found.ids == ("0", "1", "2")
    assert found.figures.pointwise == pytest.approx(np.log2([1.5, 1.5, 0.4]))
    assert found.figures.information == pytest.approx(np.log2(1.5 * 1.5 * 0.4) / 3)
    assert found.figures.entropy == pytest.approx(1.0)
    assert (found.figures.n_misled, found.n_left_out) == (1, 1)
    assert found.misled(Resampling()).value == pytest.approx(1 / 3)
    assert found.without_input == pytest.approx([0.5] * 3)
    # The empty text is asked once, whatever the number of items.
    assert [text for text in prompted.engine.asked if text.strip() == "Text:"] == ["Text:"]


def test_labels_without_a_probability_are_a_sentence():
    with pytest.raises(ValueError, match="told tells none of those of 1 of 2 items, whose information is infinite"):
        measured(scorer(scoring="next_words"), ["fun", "sure"], [1, 0])
    with pytest.raises(ValueError, match="those of told are generated"):
        measure_information(scorer(scoring="generated"), scorer().predict(["fun"]), [1])
    with pytest.raises(ValueError, match="but got none of 1"):
        measured(scorer(), ["fun"], [-1])


def test_the_choices_stay_where_the_prompt_is_left_out():
    shares = {"Why?": {"x": 0.6, "y": 0.2, "z": 0.2}, "": {"x": 0.25, "y": 0.25, "z": 0.5}}
    prompted = Prompted(Prompt(template="Text: {{ prompt }}", scoring="sum"), Told(shares))
    choices = [["x", "y"], ["x", "y", "z"]]
    scores = prompted.choose(["Why?", "Why?"], choices)
    found = measure_information(prompted, scores, [0, 1], choices=choices, resampling=Resampling(resamples=9))
    # 0.75 against 0.5; 0.2 against 0.25.
    assert found.figures.pointwise == pytest.approx(np.log2([1.5, 0.8]))
