"""What a server tells is handed on as it is, in the order of the requests, and stored."""

from __future__ import annotations

import json
import math
import re
import threading

import numpy as np
import pytest

from fake_server import cut, serving
from rightreasons.core.replies import Reply
from rightreasons.core.resampling import item_rng
from rightreasons.models.protocol import Engine, Request
from rightreasons.models.servers.completions import (
    Completion,
    request_continuation,
    select_added_tokens,
)
from rightreasons.models.servers.opening import open_server


@pytest.fixture(scope="module")
def honest():
    with serving() as fake:
        yield fake


@pytest.fixture(scope="module")
def engine(honest):
    return open_server(honest.url, chat="off", progress=False)


REQUESTS = [
    Request(
        f"item {n}",
        f"Review number {n}: it was",
        (" positive", " negative.", " the B. C")[: 2 + n % 2],
    )
    for n in range(11)
]
CHATS = [
    Request(
        one.name,
        ({"role": "system", "content": "Be brief."}, {"role": "user", "content": one.prompt}),
        one.continuations,
    )
    for one in REQUESTS
]


def test_it_is_an_engine(engine):
    assert isinstance(engine, Engine)
    assert engine.render("a") == "a"
    assert engine.render(CHATS[0].prompt) == "system: Be brief.\nuser: Review number 0: it was"


def test_echoed_likelihoods_are_those_of_the_model(engine, honest):
    told = engine.likelihoods(REQUESTS, progress=False)
    for request, row, lengths in zip(REQUESTS, told.values, told.lengths, strict=True):
        expected = [honest.model.likelihood(request.prompt, text) for text in request.continuations]
        np.testing.assert_allclose(row, expected, atol=1e-12)
        assert (
            lengths.tolist() == [1, 2, 4][: len(row)]
        )  # " positive"; " negative", "."; " the", " B", ".", " C"
    assert not told.failures
    assert told.way == "log-probabilities of given texts, reported by the server"


def test_likelihoods_of_conversations_are_those_of_the_model(honest):
    engine = open_server(honest.url, progress=False)
    told = engine.likelihoods(CHATS, progress=False)
    begun = Request(
        "begun", (*CHATS[1].prompt, {"role": "assistant", "content": "It is"}), (" positive", " A")
    )
    told_begun = engine.likelihoods([begun], progress=False)
    for request, row in zip([*CHATS, begun], [*told.values, *told_begun.values], strict=True):
        turns = "".join(f"<{turn['role']}>{turn['content']}\n" for turn in request.prompt)
        text = turns.removesuffix("\n") if request is begun else f"{turns}<assistant>"
        expected = [honest.model.likelihood(text, answer) for answer in request.continuations]
        np.testing.assert_allclose(row, expected, atol=1e-12)


def test_first_words_are_told_or_minus_infinity(engine, honest):
    requests = [
        Request("a", "Is it", (" A", " B", " zebra")),
        Request("b", "Is it", (" zebra", " yak")),
    ]
    told = engine.next_words(requests, progress=False)
    options = honest.model.distribution(["Is", " it"])
    np.testing.assert_allclose(told.values[0], [options[" A"], options[" B"], -math.inf])
    assert np.isnan(told.values[1]).all()
    assert told.failures["b"].startswith(
        "the server sent likeliest tokens that begin no answer: ' "
    )
    assert (
        told.way == "the 12 likeliest next tokens of the server; 1 continuations are not among them"
    )


def test_answers_are_as_many_as_asked_for(engine, honest):
    told = engine.generate(
        REQUESTS[:3], n=3, temperature=1.0, max_new_tokens=4, stop=["!"], seed=5, progress=False
    )
    for request, texts in zip(REQUESTS[:3], told.texts, strict=True):
        given = cut(request.prompt)
        first = int(item_rng(5, request.name).integers(2**31 - 3))
        assert texts == [
            "".join(honest.model.generate(given, 4, 1.0, first + number)) for number in range(3)
        ]
    assert all(
        reply.finish == "length" for row in told.replies for reply in row
    )  # the toy always reaches the bound
    assert len(engine.generate(REQUESTS[:1], progress=False).texts[0]) == 1


def test_a_token_in_which_prompt_and_continuation_meet_counts(engine):
    told = engine.likelihoods([Request("a", "It was posi", ("tive the",))], progress=False)
    assert told.lengths[0].tolist() == [2]  # " positive", " the"


def test_tokens_that_do_not_spell_the_text_are_counted():
    # A letter of three bytes is three tokens, which an echo shows as marks of their own.
    echoes = {
        "a": Completion(Reply(), ("<s>", "a", "x"), (None, -1.0, -9.0)),
        "a語": Completion(
            Reply(), ("<s>", "a", "�", "�", "�", "x"), (None, -1.0, -2.0, -3.0, -4.0, -9.0)
        ),
    }
    assert request_continuation(echoes.__getitem__, "a", "語").logprobs == (-2.0, -3.0, -4.0)
    # A start token that the echo spells is no part of the text.
    spelled = Completion(Reply(), ("<s>", "a", " b", "x"), (None, -1.0, -2.0, -9.0))
    assert request_continuation({"a b": spelled}.__getitem__, "a", " b").logprobs == (-2.0,)
    with pytest.raises(ValueError, match="does not hold the text"):
        select_added_tokens(
            Completion(Reply(), ("z", "b"), (None, -1.0)),
            Completion(Reply(), ("a", "b", "c"), (None, -1.0, -1.0)),
        )


def test_a_run_resumes_and_asks_only_what_has_no_answer(tmp_path):
    with serving() as fake:
        engine = open_server(fake.url, chat="off", retries=0, progress=False, prompt_price=1.0)
        fake.faults = lambda number, body: (500, {}, "{}") if "number 3" in body["prompt"] else None
        first = engine.likelihoods(REQUESTS, progress=False, out=tmp_path / "run")
        assert list(first.failures) == ["item 3"]
        assert np.isnan(first.values[3]).all()
        fake.faults = lambda number, body: None
        fake.reset()
        again = open_server(fake.url, chat="off", retries=0, progress=False, prompt_price=1.0)
        fake.reset()
        second = again.likelihoods(REQUESTS, progress=False, out=tmp_path / "run")
        assert {body["prompt"][:15] for body in fake.bodies} == {"Review number 3"}
        assert not second.failures
        whole = engine.likelihoods(REQUESTS, progress=False)
        np.testing.assert_array_equal(second.values.values, whole.values.values)
        usage = again.describe()["usage"]["run"]
        assert usage["price"] == pytest.approx(usage["prompt_tokens"] / 1e6)
        # A line that was cut or changed is no answer.
        file = tmp_path / "run" / "answers.jsonl"
        lines = [
            line
            for line in file.read_bytes().splitlines(keepends=True)
            if json.loads(line[16:])[1] is not None
        ]
        assert len(lines) == 27  # a line per echo
        file.write_bytes(b"".join([lines[0].replace(b"-", b"", 1), *lines[1:-1], lines[-1][:-9]]))
        fake.reset()
        third = open_server(fake.url, chat="off", retries=0, progress=False)
        fake.reset()
        told = third.likelihoods(REQUESTS, progress=False, out=tmp_path / "run")
        np.testing.assert_array_equal(told.values.values, whole.values.values)
        assert len({body["prompt"][:16] for body in fake.bodies}) == 2


def test_an_echo_that_two_requests_need_is_asked_once():
    with serving() as fake:
        engine = open_server(fake.url, chat="off", progress=False)
        fake.reset()
        words = (" positive", " negative", " neutral")
        two, three = Request("a", "Is it", words[:2]), Request("b", "Is it", words)
        found = engine.likelihoods([two, three], progress=False)
        assert len(fake.bodies) == 3
        texts = [*two.continuations, *three.continuations]
        np.testing.assert_allclose(
            found.values.values, [fake.model.likelihood("Is it", text) for text in texts]
        )
        assert list(found.values.lengths) == [2, 3]


def test_nothing_before_an_answer_is_a_line_break():
    with serving() as fake:
        engine = open_server(fake.url, chat="off", progress=False, in_flight=1)
        fake.reset()
        # The first token of an echo has no log-probability.
        found = engine.likelihoods(
            [Request(f"item {n}", "", (" A",)) for n in range(3)], progress=False
        )
        words = engine.likelihoods([Request("word", "", (" six",))], progress=False)
        # A letter is the next token, and a word is echoed.
        assert [body["prompt"] for body in fake.bodies] == ["\n", "\n six"]
        assert found.values[2].tolist() == pytest.approx([fake.model.likelihood("\n", " A")])
        assert words.values[0].tolist() == pytest.approx([fake.model.likelihood("\n", " six")])


def test_letters_are_single_tokens_and_one_request_has_all_of_them():
    with serving() as fake:
        engine = open_server(fake.url, chat="off", progress=False)
        requests = [
            Request(f"item {n}", f"Which is it, {n}?", (" A", " B", " C")) for n in range(8)
        ]
        fake.reset()
        found = engine.likelihoods(requests, progress=False)
        assert len(fake.bodies) == len(requests)
        planned = engine.plan_requests(requests, "likelihoods")[0]
        assert (planned.kind, planned.requests) == ("single tokens", requests)
        for request, values in zip(requests, found.values, strict=True):
            expected = [
                fake.model.likelihood(request.prompt, text) for text in request.continuations
            ]
            np.testing.assert_allclose(values, expected, atol=1e-12)
        assert set(found.lengths.values) == {1.0}


def test_a_letter_that_is_not_among_the_likeliest_tokens_is_echoed():
    with serving() as fake:
        engine = open_server(fake.url, chat="off", progress=False)
        # No token of the server is " Q".
        requests = [Request(f"item {n}", f"Which is it, {n}?", (" A", " Q")) for n in range(3)]
        fake.reset()
        found = engine.likelihoods(requests, progress=False)
        ends = sorted(body["prompt"][-2:] for body in fake.bodies)
        assert ends == [" Q", " Q", " Q", "0?", "1?", "2?"]
        for request, values in zip(requests, found.values, strict=True):
            expected = [
                fake.model.likelihood(request.prompt, text) for text in request.continuations
            ]
            np.testing.assert_allclose(values, expected, atol=1e-12)


def test_an_equal_request_is_asked_once_unless_another_draw_is_meant(tmp_path):
    with serving() as fake:
        engine = open_server(fake.url, chat="off", progress=False)
        first = engine.generate(REQUESTS, progress=False, max_new_tokens=3, out=tmp_path / "items")
        before, asked = engine.client.usage, len(fake.bodies)
        # Another question asks about the same items, in its own names, and about one more, twice.
        more = [
            Request(f"{name} of {one.name}", one.prompt, one.continuations)
            for one in REQUESTS
            for name in "xy"
        ]
        more += [Request("new", "Is it new?", (" A",)), Request("again", "Is it new?", (" A",))]
        second = engine.generate(more, progress=False, max_new_tokens=3, out=tmp_path / "probes")
        assert second.texts[:-2:2] == second.texts[1:-2:2] == first.texts
        assert second.texts[-1] == second.texts[-2]
        assert len(fake.bodies) == asked + 1
        assert (engine.client.usage - before).requests == 1
        assert not engine.describe_changes()
        # Other settings, and draws that go by the names, are other requests.
        engine.generate(REQUESTS, progress=False, max_new_tokens=4)
        engine.generate(REQUESTS, progress=False, max_new_tokens=3, temperature=1.0)
        engine.generate(more[:11], progress=False, max_new_tokens=3, temperature=1.0)
        assert len(fake.bodies) == asked + 1 + 3 * 11
        later, asked = open_server(fake.url, chat="off", progress=False), len(fake.bodies)
        for folder, requests in (("probes", more), ("items", REQUESTS)):
            later.generate(requests, progress=False, max_new_tokens=3, out=tmp_path / folder)
        assert len(fake.bodies) == asked


def test_all_that_is_asked_for_a_report_has_one_file_of_answers(tmp_path):
    work = tmp_path / "report" / ".work"
    with serving() as fake:
        first = open_server(fake.url, chat="off", progress=False)
        first.generate(REQUESTS, progress=False, max_new_tokens=3, out=work / "items" / "answers")
        later = open_server(fake.url, chat="off", progress=False)
        tried = len(fake.bodies)
        later.generate(REQUESTS[3:], progress=False, max_new_tokens=3, out=work / "probes")
        assert len(fake.bodies) == tried
        later.generate(
            [Request("new", "Is it new?"), *REQUESTS],
            progress=False,
            max_new_tokens=3,
            out=work / "ways",
        )
        assert len(fake.bodies) == tried + 1
        later.generate(REQUESTS, progress=False, max_new_tokens=3, out=tmp_path / "elsewhere")
        assert len(fake.bodies) == tried + 1
    lines = (work / "answers.jsonl").read_bytes().splitlines()
    assert sum(json.loads(line[16:])[1] is not None for line in lines) == 12
    assert [path.name for path in work.iterdir()] == ["answers.jsonl"]


def test_a_changed_model_in_the_middle_is_told(tmp_path):
    with serving() as fake:
        engine = open_server(fake.url, chat="off", progress=False)
        start = len(fake.bodies)

        def swap(number, body):
            fake.fingerprint = "fp_1" if number < start + 6 else "fp_2"

        fake.faults = swap
        told = engine.next_words(REQUESTS, progress=False, out=tmp_path / "run")
        assert "The model changed between the answers: " in told.way
        assert "by toy fp_1" in told.way
        assert "by toy fp_2" in told.way
        assert engine.describe()["changes"] in told.way


def test_what_a_run_costs_is_told_before_and_after(capsys, honest):
    engine = open_server(honest.url, chat="off", prompt_price=2.0, answer_price=8.0)
    found = capsys.readouterr().err
    assert "generation agree" in found
    engine.generate(REQUESTS, max_new_tokens=5)
    before, after = [line for line in capsys.readouterr().err.splitlines() if " requests" in line]
    assert "11 requests, about " in before
    assert "55 generated" in before
    # Seven tokens a prompt: "Review", " number", " ", a digit, ":", " it", " was"; the last has two digits.
    assert "requests, 78" in after


def test_the_next_request_is_sent_as_soon_as_one_is_answered():
    n_requests = 16
    n_first = 3
    arrivals = threading.Condition()
    counts = {"arrived": 0, "inside": 0}
    was_joined = []

    def wait_for_others(body, reply):
        """Hold a request until four are in flight: requests in waves would wait in vain."""
        with arrivals:
            counts["arrived"] += 1
            counts["inside"] += 1
            arrivals.notify_all()
            # The first requests may be sent alone, to learn their cost, and the last ones have no
            # others to wait for.
            is_joined = arrivals.wait_for(
                lambda: (
                    counts["inside"] == 4
                    or counts["arrived"] <= n_first
                    or counts["arrived"] == n_requests
                ),
                timeout=60,
            )
            was_joined.append(is_joined)
            counts["inside"] -= 1

    with serving() as fake:
        engine = open_server(fake.url, chat="off", in_flight=4, progress=False)
        fake.change = wait_for_others
        fake.reset()
        requests = [Request(str(n), f"Text {n}", (" A",)) for n in range(n_requests)]

        engine.next_words(requests, progress=False)

        assert fake.most == 4
        assert was_joined == [True] * n_requests
        assert set(fake.answered.values()) == {1}


def test_what_did_not_pass_the_trial_is_not_asked():
    with serving() as fake:
        fake.lacks = {"echo"}
        engine = open_server(fake.url, chat="off", progress=False)
        with pytest.raises(ValueError, match="failed: .*not"):
            engine.likelihoods(REQUESTS, progress=False)


def test_the_cost_is_told_by_the_bill_of_the_first_prompts(capsys):
    def bill(body, reply):
        # A tokenizer that makes four tokens of a word, in a language that it does not know.
        n_tokens = 4 * len(body["prompt"].split())
        reply["usage"] = {"prompt_tokens": n_tokens, "completion_tokens": 7}

    with serving() as fake:
        engine = open_server(fake.url, chat="off", progress=False)
        requests = [Request(str(n), f"{n} " + "wort " * (5 + n % 9)) for n in range(40)]
        fake.change = bill
        fake.reset()

        engine.generate(requests, max_new_tokens=100)

        # The first prompts are requests of the run, each of which is sent once.
        assert len(fake.bodies) == 40
    err = capsys.readouterr().err
    told = re.search(r"Asking toy: 40 requests, about ([\d,]+) prompt tokens and (\d+) ", err)
    # The number, and 5 to 13 words: 9.9 words on average.
    n_billed = sum(4 * (6 + n % 9) for n in range(40))
    assert int(told[1].replace(",", "")) == pytest.approx(n_billed, rel=0.1)
    assert int(told[2]) == 40 * 7
    assert f"Asked toy: 40 requests, {n_billed:,} prompt tokens and 280 generated tokens." in err
