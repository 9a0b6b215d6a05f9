"""An engine returns what a server reports, unchanged, in the order of the requests, and stores it."""

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
def honest_server():
    with serving() as server:
        yield server


@pytest.fixture(scope="module")
def engine(honest_server):
    return open_engine(honest_server)


def open_engine(server, **options):
    """Open a server as an engine without a chat template."""
    return open_server(server.url, chat="off", progress=False, **options)


def compute_likelihoods(server, request):
    """Return the log-likelihoods that the model of a server assigns to the continuations."""
    return [server.model.likelihood(request.prompt, text) for text in request.continuations]


def add_system_prompt(request):
    """Return the request as a conversation."""
    turns = (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": request.prompt},
    )
    return Request(request.name, turns, request.continuations)


# Two continuations for even numbers, and three for odd ones.
REQUESTS = [
    Request(
        f"item {n}",
        f"Review number {n}: it was",
        (" positive", " negative.", " the B. C")[: 2 + n % 2],
    )
    for n in range(11)
]
CHATS = [add_system_prompt(request) for request in REQUESTS]


def test_an_opened_server_is_an_engine(engine):
    assert isinstance(engine, Engine)
    assert engine.render("a") == "a"
    assert engine.render(CHATS[0].prompt) == "system: Be brief.\nuser: Review number 0: it was"


def test_echoed_likelihoods_are_those_of_the_model(engine, honest_server):
    likelihoods = engine.likelihoods(REQUESTS, progress=False)

    for request, values, lengths in zip(
        REQUESTS, likelihoods.values, likelihoods.lengths, strict=True
    ):
        expected = compute_likelihoods(honest_server, request)
        np.testing.assert_allclose(values, expected, atol=1e-12)
        # " positive"; " negative", "."; " the", " B", ".", " C"
        assert lengths.tolist() == [1, 2, 4][: len(values)]
    assert not likelihoods.failures
    assert likelihoods.way == "log-probabilities of given texts, reported by the server"


def test_likelihoods_of_conversations_are_those_of_the_model(honest_server):
    engine = open_server(honest_server.url, progress=False)
    turns = (*CHATS[1].prompt, {"role": "assistant", "content": "It is"})
    prefilled = Request("begun", turns, (" positive", " A"))

    rows = [*engine.likelihoods(CHATS, progress=False).values]
    rows += [*engine.likelihoods([prefilled], progress=False).values]

    for request, row in zip([*CHATS, prefilled], rows, strict=True):
        # The template of the server.
        text = "".join(f"<{turn['role']}>{turn['content']}\n" for turn in request.prompt)
        if request is prefilled:
            # Its last turn is continued.
            text = text.removesuffix("\n")
        else:
            text += "<assistant>"
        expected = [
            honest_server.model.likelihood(text, answer) for answer in request.continuations
        ]
        np.testing.assert_allclose(row, expected, atol=1e-12)


def test_next_words_have_the_reported_log_probability_or_minus_infinity(engine, honest_server):
    requests = [
        Request("a", "Is it", (" A", " B", " zebra")),
        Request("b", "Is it", (" zebra", " yak")),
    ]

    likelihoods = engine.next_words(requests, progress=False)

    options = honest_server.model.distribution(["Is", " it"])
    np.testing.assert_allclose(likelihoods.values[0], [options[" A"], options[" B"], -math.inf])
    assert np.isnan(likelihoods.values[1]).all()
    assert likelihoods.failures["b"].startswith(
        "the server sent likeliest tokens that begin no answer: ' "
    )
    assert (
        likelihoods.way
        == "the 12 likeliest next tokens of the server; 1 continuations are not among them"
    )


def test_as_many_answers_are_generated_as_requested(engine, honest_server):
    answers = engine.generate(
        REQUESTS[:3], n=3, temperature=1.0, max_new_tokens=4, stop=["!"], seed=5, progress=False
    )

    for request, texts in zip(REQUESTS[:3], answers.texts, strict=True):
        # The seed of a request depends on its name, and each further answer has the next seed.
        first_seed = int(item_rng(5, request.name).integers(2**31 - 3))
        context = cut(request.prompt)
        expected = []
        for number in range(3):
            tokens = honest_server.model.generate(context, 4, 1.0, first_seed + number)
            expected.append("".join(tokens))
        assert texts == expected
    # The toy model always reaches the limit.
    assert all(reply.finish == "length" for row in answers.replies for reply in row)
    assert len(engine.generate(REQUESTS[:1], progress=False).texts[0]) == 1


def test_a_token_of_both_prompt_and_continuation_counts(engine):
    request = Request("a", "It was posi", ("tive the",))

    likelihoods = engine.likelihoods([request], progress=False)

    # " positive", " the"
    assert likelihoods.lengths[0].tolist() == [2]


def make_completion(tokens, *logprobs):
    """Return an echo, whose first token has no log-probability."""
    return Completion(Reply(), tuple(tokens), (None, *logprobs))


def test_tokens_that_do_not_spell_the_text_are_counted():
    # A letter of three bytes is three tokens, each of which an echo shows as a replacement mark.
    echo_by_text = {
        "a": make_completion(["<s>", "a", "x"], -1.0, -9.0),
        "a語": make_completion(["<s>", "a", "�", "�", "�", "x"], -1.0, -2.0, -3.0, -4.0, -9.0),
    }
    continuation = request_continuation(echo_by_text.__getitem__, "a", "語")
    assert continuation.logprobs == (-2.0, -3.0, -4.0)

    # A start token that the echo spells is no part of the text.
    echo_by_text = {"a b": make_completion(["<s>", "a", " b", "x"], -1.0, -2.0, -9.0)}
    continuation = request_continuation(echo_by_text.__getitem__, "a", " b")
    assert continuation.logprobs == (-2.0,)

    prompt = make_completion(["z", "b"], -1.0)
    other_text = make_completion(["a", "b", "c"], -1.0, -1.0)
    with pytest.raises(ValueError, match="does not hold the text"):
        select_added_tokens(prompt, other_text)


def damage_answers(file):
    """Change one digit of the first answer of a file, and truncate the last; return their number."""
    lines = []
    for line in file.read_bytes().splitlines(keepends=True):
        # A checksum of 16 characters precedes each record.
        if json.loads(line[16:])[1] is not None:
            lines.append(line)
    changed = lines[0].replace(b"-", b"", 1)
    truncated = lines[-1][:-9]
    file.write_bytes(b"".join([changed, *lines[1:-1], truncated]))
    return len(lines)


def test_a_resumed_run_only_sends_requests_without_an_answer(tmp_path):
    out = tmp_path / "run"
    options = {"retries": 0, "prompt_price": 1.0}
    with serving() as server:
        engine = open_engine(server, **options)
        server.faults = lambda number, body: (
            (500, {}, "{}") if "number 3" in body["prompt"] else None
        )
        incomplete = engine.likelihoods(REQUESTS, progress=False, out=out)
        assert list(incomplete.failures) == ["item 3"]
        assert np.isnan(incomplete.values[3]).all()

        server.faults = lambda number, body: None
        resuming = open_engine(server, **options)
        # Forget the trial of the server.
        server.reset()
        complete = resuming.likelihoods(REQUESTS, progress=False, out=out)
        assert {body["prompt"][:15] for body in server.bodies} == {"Review number 3"}
        assert not complete.failures

        expected = engine.likelihoods(REQUESTS, progress=False).values.values
        np.testing.assert_array_equal(complete.values.values, expected)
        usage = resuming.describe()["usage"]["run"]
        # 1.0 per million tokens.
        assert usage["price"] == pytest.approx(usage["prompt_tokens"] / 1e6)

        # A line that was truncated or changed is no answer. There is a line per echo.
        n_lines = damage_answers(out / "answers.jsonl")
        assert n_lines == 27
        repairing = open_engine(server, retries=0)
        server.reset()
        repaired = repairing.likelihoods(REQUESTS, progress=False, out=out)
        np.testing.assert_array_equal(repaired.values.values, expected)
        assert len({body["prompt"][:16] for body in server.bodies}) == 2


def test_an_echo_that_two_requests_need_is_sent_once():
    words = (" positive", " negative", " neutral")
    two_words = Request("a", "Is it", words[:2])
    three_words = Request("b", "Is it", words)
    with serving() as server:
        engine = open_engine(server)
        server.reset()

        likelihoods = engine.likelihoods([two_words, three_words], progress=False)

        assert len(server.bodies) == 3
        expected = compute_likelihoods(server, two_words)
        expected += compute_likelihoods(server, three_words)
        np.testing.assert_allclose(likelihoods.values.values, expected)
        assert list(likelihoods.values.lengths) == [2, 3]


def test_an_empty_prompt_is_a_line_break():
    letters = [Request(f"item {n}", "", (" A",)) for n in range(3)]
    word = Request("word", "", (" six",))
    with serving() as server:
        engine = open_engine(server, in_flight=1)
        server.reset()

        # The first token of an echo has no log-probability.
        letter_values = engine.likelihoods(letters, progress=False).values
        word_values = engine.likelihoods([word], progress=False).values

        # A letter is the next token, and a word is echoed.
        assert [body["prompt"] for body in server.bodies] == ["\n", "\n six"]
        likelihood = server.model.likelihood
        assert letter_values[2].tolist() == pytest.approx([likelihood("\n", " A")])
        assert word_values[0].tolist() == pytest.approx([likelihood("\n", " six")])


def test_one_request_gives_the_likelihoods_of_all_letters():
    requests = [Request(f"item {n}", f"Which is it, {n}?", (" A", " B", " C")) for n in range(8)]
    with serving() as server:
        engine = open_engine(server)
        server.reset()

        likelihoods = engine.likelihoods(requests, progress=False)

        assert len(server.bodies) == len(requests)
        planned = engine.plan_requests(requests, "likelihoods")[0]
        assert planned.kind == "single tokens"
        assert planned.requests == requests
        for request, values in zip(requests, likelihoods.values, strict=True):
            expected = compute_likelihoods(server, request)
            np.testing.assert_allclose(values, expected, atol=1e-12)
        assert set(likelihoods.lengths.values) == {1.0}


def test_a_letter_that_is_not_among_the_likeliest_tokens_is_echoed():
    # No token of the server is " Q".
    requests = [Request(f"item {n}", f"Which is it, {n}?", (" A", " Q")) for n in range(3)]
    with serving() as server:
        engine = open_engine(server)
        server.reset()

        likelihoods = engine.likelihoods(requests, progress=False)

        ends = sorted(body["prompt"][-2:] for body in server.bodies)
        assert ends == [" Q", " Q", " Q", "0?", "1?", "2?"]
        for request, values in zip(requests, likelihoods.values, strict=True):
            expected = compute_likelihoods(server, request)
            np.testing.assert_allclose(values, expected, atol=1e-12)


def test_a_plan_echoes_only_the_letters_that_are_not_among_the_likeliest_tokens(tmp_path):
    with serving() as server:
        # No token of the server is " Q".
        requests = [Request(f"item {n}", f"Which is it, {n}?", (" A", " Q")) for n in range(8)]
        engine = open_engine(server)

        unknown = engine.plan_requests(requests, "likelihoods")
        engine.likelihoods(requests[:3], progress=False, out=tmp_path)
        partly_known = engine.plan_requests(requests, "likelihoods")
        resumed = open_engine(server)
        from_folder = resumed.plan_requests(requests, "likelihoods", out=tmp_path)

    assert [len(plan.requests) for plan in unknown] == [8, 0]
    for plans in (partly_known, from_folder):
        single_tokens, echoes = plans
        assert single_tokens.requests == requests
        assert [echo.name for echo in echoes.requests] == [f"item {n}\n1" for n in range(8)]
        assert {echo.continuations for echo in echoes.requests} == {(" Q",)}


def test_an_equal_request_is_sent_once_unless_it_is_another_draw(tmp_path):
    # Another question asks about the same items, twice with names of its own, and about one more.
    probes = []
    for request in REQUESTS:
        for name in "xy":
            probe = Request(f"{name} of {request.name}", request.prompt, request.continuations)
            probes.append(probe)
    probes += [Request("new", "Is it new?", (" A",)), Request("again", "Is it new?", (" A",))]

    with serving() as server:
        engine = open_engine(server)
        items = engine.generate(REQUESTS, progress=False, max_new_tokens=3, out=tmp_path / "items")
        usage = engine.client.usage
        n_requests = len(server.bodies)

        answers = engine.generate(probes, progress=False, max_new_tokens=3, out=tmp_path / "probes")
        assert answers.texts[:-2:2] == answers.texts[1:-2:2] == items.texts
        assert answers.texts[-1] == answers.texts[-2]
        assert len(server.bodies) == n_requests + 1
        assert (engine.client.usage - usage).requests == 1
        assert not engine.describe_changes()

        # Other settings, and draws that depend on the names, are other requests.
        engine.generate(REQUESTS, progress=False, max_new_tokens=4)
        engine.generate(REQUESTS, progress=False, max_new_tokens=3, temperature=1.0)
        engine.generate(probes[:11], progress=False, max_new_tokens=3, temperature=1.0)
        assert len(server.bodies) == n_requests + 1 + 3 * 11

        second_engine = open_engine(server)
        n_requests = len(server.bodies)
        for folder, requests in (("probes", probes), ("items", REQUESTS)):
            second_engine.generate(
                requests, progress=False, max_new_tokens=3, out=tmp_path / folder
            )
        assert len(server.bodies) == n_requests


def test_all_answers_of_a_report_are_in_one_file(tmp_path):
    work = tmp_path / "report" / ".work"
    options = {"progress": False, "max_new_tokens": 3}
    with serving() as server:
        open_engine(server).generate(REQUESTS, out=work / "items" / "answers", **options)
        engine = open_engine(server)
        n_requests = len(server.bodies)

        engine.generate(REQUESTS[3:], out=work / "probes", **options)
        assert len(server.bodies) == n_requests
        engine.generate([Request("new", "Is it new?"), *REQUESTS], out=work / "ways", **options)
        assert len(server.bodies) == n_requests + 1
        engine.generate(REQUESTS, out=tmp_path / "elsewhere", **options)
        assert len(server.bodies) == n_requests + 1

    lines = (work / "answers.jsonl").read_bytes().splitlines()
    # A checksum of 16 characters precedes each record.
    assert sum(json.loads(line[16:])[1] is not None for line in lines) == 12
    assert [path.name for path in work.iterdir()] == ["answers.jsonl"]


def test_a_model_that_changes_during_a_run_is_reported(tmp_path):
    with serving() as server:
        engine = open_engine(server)
        n_requests = len(server.bodies)

        def change_model(number, body):
            server.fingerprint = "fp_1" if number < n_requests + 6 else "fp_2"

        server.faults = change_model
        likelihoods = engine.next_words(REQUESTS, progress=False, out=tmp_path / "run")

        assert "The model changed between the answers: " in likelihoods.way
        assert "by toy fp_1" in likelihoods.way
        assert "by toy fp_2" in likelihoods.way
        assert engine.describe()["changes"] in likelihoods.way


def test_the_cost_of_a_run_is_reported_before_and_after(capsys, honest_server):
    engine = open_server(honest_server.url, chat="off", prompt_price=2.0, answer_price=8.0)
    assert "generation agree" in capsys.readouterr().err

    engine.generate(REQUESTS, max_new_tokens=5)

    lines = capsys.readouterr().err.splitlines()
    estimate, bill = [line for line in lines if " requests" in line]
    assert "11 requests, about " in estimate
    assert "55 generated" in estimate
    # Seven tokens a prompt: "Review", " number", " ", a digit, ":", " it", " was"; the last has two digits.
    assert "requests, 78" in bill


def test_the_next_request_is_sent_as_soon_as_one_is_answered():
    n_requests = 16
    n_single = 3
    arrivals = threading.Condition()
    counts = {"arrived": 0, "in flight": 0}
    was_joined = []

    def is_released():
        # The first requests may be sent alone, to learn their cost, and the last one has no others
        # to wait for.
        if counts["arrived"] <= n_single or counts["arrived"] == n_requests:
            return True
        return counts["in flight"] == 4

    def wait_for_others(body, reply):
        """Hold a request until four are in flight: requests in waves would wait in vain."""
        with arrivals:
            counts["arrived"] += 1
            counts["in flight"] += 1
            arrivals.notify_all()
            was_joined.append(arrivals.wait_for(is_released, timeout=60))
            counts["in flight"] -= 1

    with serving() as server:
        engine = open_engine(server, in_flight=4)
        server.change = wait_for_others
        server.reset()
        requests = [Request(str(n), f"Text {n}", (" A",)) for n in range(n_requests)]

        engine.next_words(requests, progress=False)

        assert server.most == 4
        assert was_joined == [True] * n_requests
        assert set(server.answered.values()) == {1}


def test_an_ability_that_fails_the_trial_is_not_used():
    with serving() as server:
        server.lacks = {"echo"}
        engine = open_engine(server)

        with pytest.raises(ValueError, match="failed: .*not"):
            engine.likelihoods(REQUESTS, progress=False)


def test_the_cost_is_estimated_from_the_bill_of_the_first_prompts(capsys):
    def bill(body, reply):
        # A tokenizer that makes four tokens of a word, in a language that it does not know.
        n_tokens = 4 * len(body["prompt"].split())
        reply["usage"] = {"prompt_tokens": n_tokens, "completion_tokens": 7}

    with serving() as server:
        engine = open_engine(server)
        requests = [Request(str(n), f"{n} " + "wort " * (5 + n % 9)) for n in range(40)]
        server.change = bill
        server.reset()

        engine.generate(requests, max_new_tokens=100)

        # The first prompts are requests of the run, each of which is sent once.
        assert len(server.bodies) == 40

    err = capsys.readouterr().err
    estimate = re.search(r"Asking toy: 40 requests, about ([\d,]+) prompt tokens and (\d+) ", err)
    # The number, and 5 to 13 words: 9.9 words on average.
    n_billed = sum(4 * (6 + n % 9) for n in range(40))
    assert int(estimate[1].replace(",", "")) == pytest.approx(n_billed, rel=0.1)
    assert int(estimate[2]) == 40 * 7
    assert f"Asked toy: 40 requests, {n_billed:,} prompt tokens and 280 generated tokens." in err
