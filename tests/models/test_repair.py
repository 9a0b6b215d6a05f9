"""A second request reads answers that no form gives, only by a model that reads; two gates limit unread answers."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from rightreasons.core.errors import UnreadAnswersError
from rightreasons.core.replies import Reply
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Answers
from rightreasons.models.replies.gates import check_first_answers, compute_dependence
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.models.replies.repair import (
    N_CONTROLS,
    NONE,
    SecondReader,
    UnreadText,
    _make_controls,
)
from rightreasons.models.wording import Prompt
from second_reader import OPTION, choose, is_repair

OPTIONS = ("to run away", "to stay", "to eat", "to sleep")


class Engine:
    """Answers items by a function of their number, and repair requests by a function of the prompt."""

    name = "toy"
    fingerprint = "toy"
    thinks = False
    budget = 32
    has_template = True

    def __init__(self, reply, read=choose, abilities=("text",)):
        self.reply = reply
        self.read = read
        self.abilities = frozenset(abilities)
        self.repairs = []
        self.item_names = []

    def render(self, prompt):
        return prompt[-1]["content"]

    def generate(self, requests, *, options, progress=True, out=None):
        replies = []
        for request in requests:
            prompt = self.render(request.prompt)
            if is_repair(prompt):
                self.repairs.append(prompt)
                replies.append([Reply(self.read(prompt))])
            else:
                self.item_names.append(request.name)
                replies.append([self.reply(int(request.name))])
        return Answers(replies)


def choose_first_option(prompt):
    """Choose the option that is listed first, whatever the text says."""
    return OPTION.search(prompt)[1]


def choose_items(scorer, n_items):
    prompts = [f"Which, {n}?" for n in range(n_items)]
    labels = [n % 4 for n in range(n_items)]
    return scorer.choose(prompts, [OPTIONS] * n_items, labels=labels, progress=False)


def ask(engine, n_items=12, **prompt):
    """Return a scorer by generated answers, and its scores."""
    scorer = Prompted(Prompt(scoring="generated", form="line", **prompt), engine)
    return scorer, choose_items(scorer, n_items)


def say_in_words(number):
    """Answer the even items in the requested form, and the others in a free sentence."""
    letter = "ABCD"[number % 4]
    if number % 2:
        return Reply(f"Alles in allem nehme ich Option {letter}, weil das passt.")
    return Reply(f"ANSWER: {letter}")


def test_free_sentences_are_read_by_a_second_request():
    engine = Engine(say_in_words)

    scorer, scores = ask(engine)

    assert scores.predicted.tolist() == [n % 4 for n in range(12)]
    assert scorer.describe()["readings"] == {"line": 6, "repaired": 6}
    assert "6 by a second request" in scores.way
    # Two orders of each of twelve planted texts and of six unread ones.
    assert len(engine.repairs) == 2 * (N_CONTROLS + 6)


def test_a_second_request_shows_the_options_with_the_letters_of_the_answer():
    engine = Engine(say_in_words)

    ask(engine)

    forward, backward = engine.repairs[-2:]
    assert "D. to sleep\nC. to eat\nB. to stay\nA. to run away" in backward
    assert "A. to run away\nB. to stay" in forward
    assert "Option D" in forward


@pytest.mark.parametrize("read", [choose_first_option, lambda prompt: "A", lambda prompt: NONE])
def test_a_model_that_does_not_read_repairs_nothing(read):
    engine = Engine(say_in_words, read)

    scorer, scores = ask(engine)

    assert scores.ids == tuple(str(n) for n in range(0, 12, 2))
    assert scorer.describe()["readings"] == {"line": 6, "unread": 6}
    # Only the planted texts were sent.
    assert len(engine.repairs) == 2 * N_CONTROLS


def test_a_reading_that_depends_on_the_order_of_the_options_does_not_count():
    def read(prompt):
        text = prompt.partition("<<<")[2]
        return choose_first_option(prompt) if "unclear" in text else choose(prompt)

    reader = SecondReader(Engine(None, read))
    texts = [
        UnreadText("a", "Option C, surely.", tuple("ABCD"), OPTIONS),
        UnreadText("b", "This is unclear.", tuple("ABCD"), OPTIONS),
        UnreadText("c", "I do not know.", tuple("ABCD"), OPTIONS),
    ]

    assert reader.read(texts) == [2, NO_ANSWER, NO_ANSWER]
    assert reader.n_controls_read == N_CONTROLS


@pytest.mark.parametrize("finish", ["length", "refusal", "content_filter"])
def test_only_complete_texts_are_sent_in_a_second_request(finish):
    engine = Engine(lambda number: Reply("I take option B, as", finish=finish))

    _, scores = ask(engine)

    assert len(scores) == 0
    assert engine.repairs == []


def test_a_second_request_can_be_turned_off():
    engine = Engine(say_in_words)

    _, scores = ask(engine, repair="off")

    assert len(scores) == 6
    assert engine.repairs == []


def test_bounds_reuse_the_readings_of_second_requests():
    engine = Engine(say_in_words)
    scorer, scores = ask(engine)
    n_repairs = len(engine.repairs)

    bounded = choose_items(scorer.assuming("wrong"), 12)

    assert bounded.predicted.tolist() == scores.predicted.tolist()
    assert len(engine.repairs) == n_repairs


def test_a_run_of_unread_answers_ends_after_twenty():
    engine = Engine(lambda number: Reply(f"It depends on {number}."))

    with pytest.raises(UnreadAnswersError, match="20 of the first 20") as error:
        ask(engine, n_items=60)

    assert len(engine.item_names) == 20
    examples = re.findall(r"depends on \d", str(error.value))
    assert examples == ["depends on 0", "depends on 1", "depends on 2"]
    assert "form" in error.value.option


def test_refusals_are_outcomes_and_do_not_end_a_run():
    engine = Engine(lambda number: Reply(finish="refusal", refusal="I can't."))

    _, scores = ask(engine, n_items=30)

    assert len(scores) == 0
    assert len(engine.item_names) == 30


@pytest.mark.parametrize(("n_unread", "n_answers"), [(10, 20), (19, 19)])
def test_half_of_twenty_answers_may_be_unread(n_unread, n_answers):
    check_first_answers(["?"] * n_unread, n_answers, "toy")


def test_dependence_is_fishers_test_corrected_for_the_values():
    labels = np.repeat([0, 1, 2], 10)
    is_unread = (labels == 1) & (np.arange(30) % 2 == 0)

    # 5 unread answers of 30, all among the 10 with label 1: C(10, 5) / C(30, 5) = 252 / 142506,
    # one-sided; no table of the other side is as unlikely. Holm: times 3.
    assert compute_dependence(is_unread, labels) == pytest.approx(3 * 252 / 142506)
    assert compute_dependence(np.zeros(30, bool), labels) == 1.0
    assert compute_dependence(is_unread, np.zeros(30)) == 1.0


def test_planted_texts_have_all_wordings_and_a_third_chooses_nothing():
    texts = [
        UnreadText("a", "Hm.", tuple("ABCD"), OPTIONS),
        UnreadText("b", "Well.", tuple("AB"), OPTIONS[:2]),
    ]

    controls, truths = _make_controls(texts, seed=3)

    # Of twelve, numbers 2, 5, 8 and 11 choose nothing, and the others in three wordings by turns of
    # three.
    without_choice = [number for number in range(12) if truths[number] == NO_ANSWER]
    assert without_choice == [2, 5, 8, 11]
    beginnings = Counter(control.text.split()[0] for control in controls)
    assert beginnings == {"Having": 4, "Not": 2, "The": 2, "I": 4}
    for control, truth in zip(controls, truths, strict=True):
        if truth != NO_ANSWER:
            assert control.options[truth] in control.text
    # The texts take turns, too.
    names = [control.name for control in controls[:3]]
    assert names == ["a/control 0", "b/control 1", "a/control 2"]
