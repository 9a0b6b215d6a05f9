"""Tokens of prompts are estimated by what a server billed for others."""

import pytest

from rightreasons.models.servers.tokens import (
    AnswerLengths,
    TokenEstimate,
    estimate_prompt_tokens,
    estimate_tokens,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0),
        # Five words, a comma and a question mark.
        ("Well, is it raining today?", 7),
        # 20 letters: one token, and the 13 beyond seven are 13 / 5 more.
        ("internationalization", 4),
        # Groups of up to three digits: 123, 456, 7.
        ("1234567", 3),
        # A capital begins a word.
        ("#ThatIsIrony", 4),
        # Four characters at 0.6 are 2.4.
        ("你好世界", 3),
    ],
)
def test_words_digits_and_marks_are_tokens(text, expected):
    assert estimate_tokens(text) == expected


def test_turns_of_a_conversation_are_added():
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it?"}]
    assert estimate_prompt_tokens(turns) == estimate_prompt_tokens("Be brief.") + 3


def test_before_a_prompt_of_the_data_only_the_template_is_known():
    tokens = TokenEstimate()
    assert tokens.correct(100) == 100
    tokens.add_short_prompt(10, 27)
    tokens.add_short_prompt(5, 24)
    # (17 + 19) / 2 = 18 for each of two prompts.
    assert tokens.correct(100, 2) == 136


def test_prompts_of_the_data_tell_how_many_tokens_their_words_have():
    tokens = TokenEstimate()
    tokens.add_short_prompt(10, 30)
    tokens.add_prompt(100, 220)
    tokens.add_prompt(300, 620)
    # Without the template of 20, 800 tokens were billed for an estimate of 400.
    assert tokens.ratio == 2.0
    assert tokens.correct(50) == 120


def test_a_server_that_does_not_count_tokens_cannot_make_the_estimate_absurd():
    tokens = TokenEstimate()
    tokens.add_prompt(100, 1)
    assert tokens.correct(100) == 10


def make_lengths():
    """Return lengths of short greedy answers, and of long ones that are drawn."""
    lengths = AnswerLengths()
    lengths.add({"max_new_tokens": 40}, n_answers=2, n_tokens=10)
    lengths.add({"max_new_tokens": 1024, "temperature": 1.0}, n_answers=2, n_tokens=400)
    return lengths


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_new_tokens": 40}, 5),
        ({"max_new_tokens": 1024, "temperature": 1.0}, 200),
        # Of other settings, those with the next larger number of allowed tokens count.
        ({"max_new_tokens": 32}, 5),
        ({"max_new_tokens": 256}, 200),
        # An answer has no more tokens than are allowed.
        ({"max_new_tokens": 128}, 128),
        ({"max_new_tokens": 4096}, 200),
    ],
)
def test_answers_are_as_long_as_earlier_ones_with_such_settings(settings, expected):
    assert make_lengths().estimate(settings) == expected


def test_without_answers_the_allowed_tokens_are_all_that_is_known():
    assert AnswerLengths().estimate({"max_new_tokens": 40}) == 40
    assert not AnswerLengths().has({"max_new_tokens": 40})
    assert make_lengths().has({"max_new_tokens": 40, "temperature": 0.0})
