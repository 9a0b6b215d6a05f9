"""Tokens of prompts are estimated by what a server billed for others."""

import pytest

from rightreasons.models.servers.answer_lengths import AnswerLengths
from rightreasons.models.servers.tokens import (
    PromptLength,
    TokenEstimate,
    estimate_tokens,
    measure_prompt,
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
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Is it 你?"},
    ]
    # Three and three pieces, and one character of another script.
    assert measure_prompt(turns) == PromptLength(6, 1)
    assert measure_prompt("Be brief.") == PromptLength(3, 0)


def test_before_a_prompt_of_the_data_only_the_template_is_known():
    tokens = TokenEstimate()
    assert tokens.correct(PromptLength(100)) == 100
    tokens.add_short_prompt(PromptLength(10), 27)
    tokens.add_short_prompt(PromptLength(5), 24)
    # (17 + 19) / 2 = 18 for each of two prompts.
    assert tokens.correct(PromptLength(100), 2) == 136
    assert not tokens.has_prompts


def test_prompts_of_the_data_tell_how_many_tokens_their_words_have():
    tokens = TokenEstimate()
    tokens.add_short_prompt(PromptLength(10), 30)
    tokens.add_prompt(PromptLength(100), 220)
    tokens.add_prompt(PromptLength(300), 620)
    # Without the template of 20, two tokens a piece were billed.
    assert tokens.has_prompts
    assert tokens.correct(PromptLength(50)) == pytest.approx(120, abs=2)


def test_english_words_in_prompts_of_another_script_are_no_more_tokens_than_elsewhere():
    tokens = TokenEstimate()
    # A tokenizer with two tokens for each character, and one for each piece of an English template.
    for n_characters in (50, 100, 200):
        tokens.add_prompt(PromptLength(30, n_characters), 30 + 2 * n_characters)
    # A prompt with as many characters, and a longer template.
    assert tokens.correct(PromptLength(130, 100)) == pytest.approx(330, rel=0.05)


def test_a_server_that_does_not_count_tokens_cannot_make_the_estimate_absurd():
    tokens = TokenEstimate()
    tokens.add_prompt(PromptLength(100), 1)
    assert tokens.correct(PromptLength(100)) == 10
    tokens.add_prompt(PromptLength(100), 10**9)
    assert tokens.correct(PromptLength(100)) <= 1000


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
