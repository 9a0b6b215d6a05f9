"""Replies of servers: texts, tokens with their log-probabilities, and tokens of a continuation."""

from __future__ import annotations

import pytest

from rightreasons.core.replies import Reply
from rightreasons.models.servers.completions import (
    BadReplyError,
    Completion,
    read_completion,
    read_prompt,
    request_continuation,
    select_added_tokens,
)


def test_the_text_of_a_conversation_or_of_a_completion():
    chat = read_completion({"choices": [{"message": {"content": "so"}, "finish_reason": "stop"}]})
    text = read_completion({"choices": [{"text": "so"}]})

    assert (chat.reply.text, text.reply.text) == ("so", "so")
    assert chat.tokens == ()
    filtered = read_completion({"choices": [], "usage": {"prompt_tokens": 3}})
    assert filtered.reply.finish == "no_choice"
    assert filtered.reply.usage == {"prompt_tokens": 3}


@pytest.mark.parametrize(
    ("reply", "word"),
    [
        ({}, "without `choices`"),
        ({"choices": []}, "without `choices`"),
        (None, "without `choices`"),
        ({"choices": [{}]}, "without text"),
        ({"choices": [{"text": 3}]}, "without text"),
        ({"choices": [{"text": "a", "logprobs": {"content": [{"token": "a"}]}}]}, "log-prob"),
        (
            {"choices": [{"text": "a", "logprobs": {"tokens": ["a"], "token_logprobs": []}}]},
            "log-prob",
        ),
    ],
)
def test_a_reply_of_another_form_is_refused(reply, word):
    with pytest.raises(BadReplyError, match=word):
        read_completion(reply)


def test_tokens_have_their_log_probabilities():
    likely = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1}]
    content = [{"token": "a", "logprob": -0.5, "top_logprobs": likely}]
    chat = read_completion(
        {"choices": [{"message": {"content": "a"}, "logprobs": {"content": content}}]}
    )
    reported = {
        "tokens": ["a", "b"],
        "token_logprobs": [None, -1],
        "top_logprobs": [{"a": -2}],
    }
    text = read_completion({"choices": [{"text": "ab", "logprobs": reported}]})

    assert (chat.tokens, chat.logprobs) == (("a",), (-0.5,))
    assert chat.tops == ({"a": -0.5, "b": -1.0},)
    assert (text.tokens, text.logprobs) == (("a", "b"), (None, -1.0))
    assert text.tops == ({"a": -2.0}, {})


def test_log_probabilities_of_a_prompt():
    entries = [None, {"7": {"decoded_token": " b", "logprob": -1.5}, "8": {}}]

    completion = read_prompt({"prompt_logprobs": entries})

    assert (completion.tokens, completion.logprobs) == (("", " b"), (None, -1.5))
    # A server that ignores the request has generated a completion.
    assert read_prompt({"choices": [{"text": "so"}]}).reply.text == "so"
    with pytest.raises(BadReplyError, match="log-prob"):
        read_prompt({"prompt_logprobs": [{"7": {"logprob": -1.5}}]})


def make_echo(*tokens):
    """Return an echo whose tokens have the log-probabilities 0, -1, -2, …."""
    return Completion(Reply("".join(tokens)), tokens, tuple(-float(k) for k in range(len(tokens))))


@pytest.mark.parametrize(
    ("tokens", "prompt", "text", "logprobs"),
    [
        (("a", " b", "c", " d"), "a", " bc", (-1.0, -2.0)),
        (("a", " b", "c", " d"), "a b", "c", (-2.0,)),
        # A token of both is one of the text, and so is the end of a token that goes on.
        (("a", " b", "c"), "a ", "b", (-1.0,)),
        (("a", " bc"), "a", " b", (-1.0,)),
        # A start token is skipped.
        (("<s>", "a", " b"), "a", " b", (-2.0,)),
        (("a", " b"), "", "a", (0.0,)),
    ],
)
def test_tokens_of_a_continuation_are_those_of_its_characters(tokens, prompt, text, logprobs):
    completion = request_continuation(lambda _: make_echo(*tokens), prompt, text)

    assert completion.logprobs == logprobs


def test_an_echo_without_the_text_is_compared_with_that_of_the_prompt():
    # The tokens are parts of characters, so that the last one of each echo is generated.
    echoes = {"é": make_echo("?", "x"), "éa": make_echo("?", "!", "y")}

    assert request_continuation(echoes.__getitem__, "é", "a").logprobs == (-1.0,)
    # An empty prompt is not echoed.
    empty = request_continuation({"é": make_echo("?", "!", "x")}.__getitem__, "", "é")
    assert empty.logprobs == (0.0, -1.0)


@pytest.mark.parametrize(
    ("tokens", "bare", "n_generated", "expected"),
    [
        (("a", "b", "c"), ("a",), 0, ("b", "c")),
        (("a", "b", "c"), ("a", "x"), 1, ("b",)),
        (("a", "b"), ("a", "b"), 0, None),
        # The last token of the prompt may merge with the text; earlier ones may not.
        (("x", "b"), ("a",), 0, ("b",)),
        (("x", "b", "c"), ("a", "b"), 0, None),
        (("a", "b"), (), 0, ("a", "b")),
    ],
)
def test_added_tokens_follow_those_of_the_prompt(tokens, bare, n_generated, expected):
    def select():
        return select_added_tokens(make_echo(*tokens), make_echo(*bare), n_generated=n_generated)

    if expected is not None:
        assert select().tokens == expected
        return
    with pytest.raises(BadReplyError):
        select()
