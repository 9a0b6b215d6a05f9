"""Counts of requests and tokens, their estimates, and the time that they take."""

from __future__ import annotations

import json

import pytest

from rightreasons.models.protocol import Request
from rightreasons.models.servers.answer_lengths import AnswerLengths
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.pace import Pace, WaitNotice, describe_seconds
from rightreasons.models.servers.planning import (
    ECHOES,
    SINGLE_TOKENS,
    estimate_cost,
    forecast_cost,
    has_single_tokens,
    list_echoes,
    make_keys,
    measure_requests,
    select_samples,
)
from rightreasons.models.servers.tokens import PromptLength, TokenEstimate, estimate_tokens
from rightreasons.models.servers.usage import (
    Forecast,
    Usage,
    compute_price,
    count_reply_tokens,
)

CHAT = ({"role": "user", "content": "Which one?"},)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 s"),
        (119.5, "120 s"),
        (120, "3 min"),
        (7199, "120 min"),
        (7200, "2.0 h"),
        (9000, "2.5 h"),
    ],
)
def test_times_are_rounded_up_to_seconds_and_minutes(seconds, text):
    assert describe_seconds(seconds) == text


def test_the_pace_of_a_server_is_that_of_replies_or_of_tokens():
    pace = Pace()
    assert pace.estimate_seconds(Usage(requests=1), in_flight=1) is None
    pace.add(2.0, 0)
    pace.add(4.0, 20)

    # 3 s per reply and 0.3 s per token.
    assert pace.estimate_seconds(Usage(requests=4), in_flight=1) == 12.0
    assert pace.estimate_seconds(Usage(requests=4, answer_tokens=100), in_flight=1) == 30.0
    assert pace.estimate_seconds(Usage(requests=4), in_flight=2) == 6.0
    # No more requests can be in flight than there are.
    assert pace.estimate_seconds(Usage(requests=4), in_flight=8) == 3.0
    assert pace.estimate_seconds(Usage(), in_flight=8) == 0.0


def test_replies_without_tokens_count_as_one_token():
    pace = Pace()
    pace.add(2.0, 0)

    assert pace.estimate_seconds(Usage(requests=1, answer_tokens=3), in_flight=1) == 6.0


def test_a_person_is_told_of_a_wait_after_5_10_and_20_seconds(capsys):
    notice = WaitNotice("model-x", lambda: "")

    def is_told(seconds):
        notice.update(seconds)
        return bool(capsys.readouterr().err.strip())

    told = [is_told(seconds) for seconds in (4.9, 5.0, 5.1, 9.9, 10.0, 19.9, 20.0)]

    assert told == [False, True, False, False, True, False, True]
    notice.reset()
    assert is_told(5.5)


def test_a_wait_names_its_failure(capsys):
    WaitNotice("model-x", lambda: "it is busy").update(7.9)

    line = capsys.readouterr().err
    assert "no answer for 7 s; it is busy" in line


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_new_tokens": 100}, 30.0),
        # Settings without answers use those of the next larger maximum, or of the largest.
        ({"max_new_tokens": 50}, 30.0),
        ({"max_new_tokens": 20}, 20.0),
        ({"max_new_tokens": 101}, 90.0),
        ({"max_new_tokens": 300}, 90.0),
        ({"max_new_tokens": 100, "temperature": 0.5}, 80.0),
        ({"max_new_tokens": 100, "constrained": ["A"]}, 2.0),
        ({"max_new_tokens": 100, "temperature": 0}, 30.0),
    ],
)
def test_answers_are_as_long_as_earlier_ones(settings, expected):
    lengths = AnswerLengths()
    lengths.add({"max_new_tokens": 100}, n_answers=2, n_tokens=40)
    lengths.add({"max_new_tokens": 100}, n_answers=2, n_tokens=80)
    lengths.add({"max_new_tokens": 100, "temperature": 1.0}, n_answers=1, n_tokens=80)
    lengths.add({"max_new_tokens": 100, "constrained": ["A"]}, n_answers=1, n_tokens=2)
    lengths.add({"max_new_tokens": 200}, n_answers=1, n_tokens=90)

    assert lengths.estimate(settings) == expected


def test_before_any_answer_the_maximum_is_the_estimate():
    lengths = AnswerLengths()

    assert lengths.estimate({"max_new_tokens": 7}) == 7.0
    assert lengths.estimate({}) == 1.0
    assert not lengths.has({"max_new_tokens": 7})


@pytest.mark.parametrize(
    ("text", "n_tokens"),
    [
        ("abcdefg", 1),
        # One piece, and 1/5 for each letter beyond seven: 1.2 and 2 tokens, rounded up.
        ("abcdefgh", 2),
        ("abcdefghijkl", 2),
        ("abcdefghijklm", 3),
        ("123", 1),
        ("1234", 2),
        ("a, b", 3),
        ("TweetTEXT", 2),
        # 0.6 tokens per character.
        ("é", 1),
        ("éé", 2),
        ("ééééé", 3),
        ("", 0),
    ],
)
def test_tokens_of_a_text(text, n_tokens):
    assert estimate_tokens(text) == n_tokens


def test_lengths_of_prompts_are_added():
    total = PromptLength(2.0, 3).add(PromptLength(1.5, 2), 4)

    assert total == PromptLength(8.0, 11)


def test_billed_tokens_are_within_a_tenth_and_ten_times_of_the_estimate():
    def correct(n_billed):
        estimate = TokenEstimate()
        for _ in range(1000):
            estimate.add_prompt(PromptLength(100), n_billed)
        return estimate.correct(PromptLength(50))

    assert correct(0) == 5
    assert correct(100_000) == 500
    assert correct(200) == pytest.approx(100, abs=1)


def test_a_template_adds_tokens_to_each_prompt():
    estimate = TokenEstimate()
    assert not estimate.has_prompts
    assert estimate.correct(PromptLength(10), n_prompts=3) == 10
    estimate.add_short_prompt(PromptLength(10), 20)
    estimate.add_short_prompt(PromptLength(10), 26)

    assert estimate.template_tokens == 13
    assert estimate.correct(PromptLength(10), n_prompts=3) == 10 + 3 * 13
    estimate.add_short_prompt(PromptLength(100), 0)
    assert estimate.template_tokens == 0


@pytest.mark.parametrize(
    ("options", "price"),
    [
        ({}, None),
        ({"prompt_price": 2.0}, 0.5),
        ({"answer_price": 4.0}, 2.0),
        ({"prompt_price": 2.0, "answer_price": 4.0}, 2.5),
        ({"prompt_price": 0.0}, 0.0),
    ],
)
def test_prices_are_those_of_a_million_tokens(options, price):
    assert compute_price(ServerOptions(**options), 250_000, 500_000) == price


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (None, {}),
        ({"prompt_tokens": 9}, {"prompt_tokens": 9}),
        ({"prompt_tokens": 9, "completion_tokens": None}, {"prompt_tokens": 9}),
        (
            {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
            {"prompt_tokens": 9, "answer_tokens": 3},
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 13},
            {"prompt_tokens": 9, "answer_tokens": 4, "thinking_tokens": 1},
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 3,
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            {"prompt_tokens": 9, "answer_tokens": 3, "thinking_tokens": 2},
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 3,
                "total_tokens": 20,
                "completion_tokens_details": {"reasoning_tokens": 7},
            },
            {"prompt_tokens": 9, "answer_tokens": 11, "thinking_tokens": 7},
        ),
    ],
)
def test_hidden_thinking_is_counted(usage, counts):
    assert count_reply_tokens({"usage": usage}) == counts


def test_a_reply_without_counts_is_estimated():
    choices = [{"text": "so it is"}]

    usage = Usage.from_reply({"choices": choices}, 12)

    assert usage == Usage(
        requests=1,
        prompt_tokens=12,
        answer_tokens=estimate_tokens(json.dumps(choices)),
        unreported=1,
    )
    assert Usage.from_reply({}, 12).answer_tokens == 0
    counted = Usage.from_reply({"usage": {"prompt_tokens": 9, "completion_tokens": 2}}, 12)
    assert counted == Usage(requests=1, prompt_tokens=9, answer_tokens=2)
    assert Usage.from_reply({"usage": {"prompt_tokens": 9}}, 12).answer_tokens == 0


def test_usages_are_added_and_subtracted():
    total = Usage(1, 2, 3, 4, 5, 6) + Usage(6, 5, 4, 3, 2, 1)

    assert total == Usage(7, 7, 7, 7, 7, 7)
    assert total - Usage(1, 2, 3, 4, 5, 6) == Usage(6, 5, 4, 3, 2, 1)
    assert Usage(requests=2, answer_tokens=3).to_counts() == {"requests": 2, "answer_tokens": 3}
    assert Usage(requests=2).to_dict(ServerOptions())["price"] is None
    assert Usage(prompt_tokens=500_000).to_dict(ServerOptions(prompt_price=2.0))["price"] == 1.0


@pytest.mark.parametrize(
    ("usage", "options", "sentence"),
    [
        (
            Usage(requests=1, prompt_tokens=2, answer_tokens=1),
            {},
            "1 request, 2 prompt tokens and 1 generated token.",
        ),
        (
            Usage(requests=1200, repeated=3, prompt_tokens=500_000),
            {"prompt_price": 2.0},
            "1,200 requests (3 repeated), 500,000 prompt tokens and 0 generated tokens, at a price of 1.0000.",
        ),
    ],
)
def test_a_usage_is_one_sentence(usage, options, sentence):
    assert usage.describe(ServerOptions(**options)) == sentence


def test_estimated_tokens_are_mentioned():
    assert "the tokens of 2 of them" in Usage(requests=3, unreported=2).describe(ServerOptions())
    assert Usage(requests=3).list_words(None) == ("3", "0", "0", "")


@pytest.mark.parametrize(
    ("forecast", "options", "ending"),
    [
        (Forecast(Usage(requests=2, answer_tokens=30), 30), {}, "at most 30 generated tokens."),
        (
            Forecast(Usage(requests=2, answer_tokens=500_000), 500_000),
            {"answer_price": 2.0},
            "at a price of at most about 1.0000.",
        ),
        (
            Forecast(Usage(requests=2, answer_tokens=30), 10),
            {},
            "10 generated tokens (at most 30).",
        ),
        (
            Forecast(Usage(requests=2, answer_tokens=500_000), 250_000),
            {"answer_price": 2.0},
            "at a price of about 0.5000 (at most 1.0000).",
        ),
    ],
)
def test_a_forecast_has_an_expected_and_a_highest_cost(forecast, options, ending):
    assert forecast.describe(ServerOptions(**options)).endswith(ending)


def test_forecasts_are_added():
    total = Forecast(Usage(requests=1), 3) + Forecast(Usage(requests=2), 4)

    assert total == Forecast(Usage(requests=3), 7)
    assert total.expected == Usage(requests=3, answer_tokens=7)


@pytest.mark.parametrize(
    ("n_requests", "names"),
    [
        (1, ["0"]),
        (2, ["0", "1"]),
        (3, ["0", "1", "2"]),
        (6, ["1", "3", "5"]),
        (12, ["2", "6", "10"]),
    ],
)
def test_samples_have_a_short_a_medium_and_a_long_prompt(n_requests, names):
    requests = [Request(str(index), "word " * (index + 1)) for index in range(n_requests)]

    samples = select_samples(requests[::-1])

    assert [request.name for request in samples] == names


@pytest.mark.parametrize(
    ("texts", "expected"), [((" A", "b", "7"), True), ((" AB",), False), (("  A",), False)]
)
def test_letters_and_digits_are_single_tokens(texts, expected):
    assert has_single_tokens(Request("a", "Which?", texts)) is expected


def test_each_continuation_of_a_text_is_echoed_and_a_conversation_once():
    text = Request("t", "Which?", (" A", " B"))
    chat = Request("c", CHAT, (" A", " B"))

    assert list_echoes([text, chat]) == [
        Request("t\n0", "Which?", (" A",)),
        Request("t\n1", "Which?", (" B",)),
        Request("c\n0", CHAT, (" A", " B")),
    ]
    known = {"t": [-1.0, None], "c": [-1.0, -2.0]}
    assert list_echoes([text, chat], known) == [Request("t\n1", "Which?", (" B",))]


def test_equal_requests_have_equal_keys_unless_they_are_sampled():
    requests = [Request("a", CHAT, (" A",)), Request("b", CHAT, (" A",)), Request("c", CHAT)]

    keys = make_keys({"model": "x"}, requests)
    drawn = make_keys({"model": "x", "drawn": True}, requests)

    assert keys[0] == keys[1] != keys[2]
    assert len(set(drawn)) == 3
    assert keys != make_keys({"model": "y"}, requests)
    # 16 bytes in hexadecimal digits.
    assert len(keys[0]) == 32


def test_prompts_of_echoes_include_the_continuations():
    text = Request("t", "one two", (" A", " B"))
    chat = Request("c", CHAT, (" A", " B"))

    # Two pieces per prompt, and one per continuation; a conversation is echoed once more.
    assert measure_requests([text], {}, is_echoed=True) == (2, PromptLength(6.0))
    # "Which one?" has three pieces.
    assert measure_requests([chat], {}, is_echoed=True) == (3, PromptLength(11.0))
    assert measure_requests([text], {}, is_echoed=False) == (1, PromptLength(2.0))
    assert measure_requests([text], {"n": 3}, is_echoed=False) == (3, PromptLength(6.0))


def test_the_highest_cost_counts_the_maximum_of_tokens():
    text = Request("t", "one two", (" A", " B"))

    assert estimate_cost(TokenEstimate(), [text], ECHOES, {}) == Usage(2, 0, 6, 2)
    assert estimate_cost(TokenEstimate(), [text], SINGLE_TOKENS, {}) == Usage(1, 0, 2, 1)
    # A local model does not echo.
    assert estimate_cost(None, [text], ECHOES, {}) == Usage(1, 0, 2, 1)
    settings = {"n": 2, "max_new_tokens": 5}
    assert estimate_cost(None, [text], "replies", settings) == Usage(2, 0, 4, 10)


def test_the_expected_cost_uses_earlier_answers():
    lengths = AnswerLengths()
    lengths.add({"max_new_tokens": 50}, n_answers=2, n_tokens=25)
    at_most = Usage(requests=3, answer_tokens=150)

    # Three answers of 12.5 tokens.
    assert forecast_cost(at_most, lengths, {"max_new_tokens": 50}) == Forecast(at_most, 38)
    assert forecast_cost(at_most, None, {"max_new_tokens": 50}) == Forecast(at_most, 150)
    assert forecast_cost(at_most, lengths, {}) == Forecast(at_most, 150)
