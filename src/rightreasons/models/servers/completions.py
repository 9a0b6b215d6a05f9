"""Replies of servers as completions: texts, and the log-probabilities of their tokens.

`read_completion` reads a reply to `/chat/completions` or `/completions`, `read_prompt` the
log-probabilities of a prompt. `request_continuation` and `select_added_tokens` find the tokens of a
continuation in an echo, `find_first_tokens` the continuations among the likeliest next tokens.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rightreasons.core.replies import Reply, extract_text
from rightreasons.core.sentences import format_value
from rightreasons.core.yaml_files import read_yaml
from rightreasons.models.servers.usage import count_reply_tokens

DIALECTS: Mapping[str, Any] = read_yaml(Path(__file__).with_name("dialects.yaml"))
"""What servers say and need in addition to the protocol that they share."""

MAX_QUOTED = 120
"""Characters of a reply that an error quotes."""

Token = tuple[str, float | None, Mapping[str, float]]
"""A token, its log-probability, and the likeliest tokens at its place."""


class BadReplyError(ValueError):
    """A reply that is not what an OpenAI-compatible server sends."""


@dataclasses.dataclass(frozen=True)
class Completion:
    """The text of a reply, and its tokens with their log-probabilities.

    Attributes:
        reply: Text, thinking, and reason of the end.
        tokens: The tokens; empty if the server does not report them.
        logprobs: Log-probability of each token; None if it has none, like the first one of an echo.
        tops: Log-probabilities of the likeliest tokens at each position, as token ->
            log-probability.
    """

    reply: Reply
    tokens: tuple[str, ...] = ()
    logprobs: tuple[float | None, ...] = ()
    tops: tuple[Mapping[str, float], ...] = ()


@contextmanager
def raise_bad_reply(description: str, value: Any) -> Iterator[None]:
    """Convert errors inside the block to a `BadReplyError` that quotes a value.

    Args:
        description: What the server sent in place of the expected form, such as "a choice without
            text".
        value: The value that the block reads.

    Raises:
        BadReplyError: If the block raises an error, as it does for a value of another form.
    """
    try:
        yield
    except BadReplyError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        raise BadReplyError(f"{description}: {format_value(value, MAX_QUOTED)}") from error


def read_completion(reply: Any, tags: Sequence[tuple[str, str]] = ()) -> Completion:
    """Read the first choice of a reply to `/chat/completions` or `/completions`.

    Args:
        reply: The reply, as parsed JSON.
        tags: (opening, closing) tags of thinking, in addition to the usual ones.

    Raises:
        BadReplyError: If it is not such a reply.
    """
    with raise_bad_reply("a reply without `choices`", reply):
        # Azure and Gemini reply without a choice, but with a cost, if a filter stops the question.
        # The reply does not name this reason, so that another one is possible.
        has_no_choice = reply["choices"] == [] and reply.get("usage")
        if has_no_choice:
            usage = count_reply_tokens(reply)
            return Completion(Reply(finish="no_choice", usage=usage))
        choice = reply["choices"][0]
    with raise_bad_reply("a choice without text", choice):
        message = _get_message(choice)
        finish = choice.get("finish_reason")
        if finish in DIALECTS["broken"]:
            raise BadReplyError(f"an answer that ended by {finish!r}")
    reported = choice.get("logprobs")
    with raise_bad_reply("log-probabilities that cannot be read", reported):
        tokens = _read_tokens(reported)

    answer = Reply.parse(
        extract_text(message.get("content")),
        thinking=_find_thinking(message),
        refusal=extract_text(message.get("refusal")),
        finish=finish,
        usage=count_reply_tokens(reply),
        tags=tags,
    )
    if not tokens:
        return Completion(answer)
    texts, logprobs, tops = zip(*tokens, strict=True)
    return Completion(answer, texts, logprobs, tops)


def _get_message(choice: Any) -> Mapping[str, Any]:
    """Return the message of a choice in a conversation, or {"content": text} for a text.

    Raises:
        TypeError: If the text is not a string.
        KeyError: If there is neither a message nor a text.
    """
    message = choice.get("message")
    if isinstance(message, dict):
        return message
    text = choice["text"]
    if not isinstance(text, str):
        raise TypeError("a text")
    return {"content": text}


def _find_thinking(message: Mapping[str, Any]) -> str:
    """Return the thinking in a message; an empty string if there is none.

    Servers have several names for its field, and some put it among the parts of the content.
    """
    for name in DIALECTS["thinking"]:
        text = extract_text(message.get(name))
        if text:
            return text
    return extract_text(message.get("content"), "thinking")


def _read_tokens(reported: Any) -> list[Token]:
    """Return the tokens of a choice with their log-probabilities; empty if none are reported.

    Args:
        reported: The field `logprobs` of the choice. In a conversation, its `content` is a list of
            tokens. For a text, `tokens`, `token_logprobs` and `top_logprobs` are lists of equal
            lengths.
    """
    if not reported:
        return []
    if reported.get("content") is not None:
        return [_read_chat_token(entry) for entry in reported["content"]]
    return _read_text_tokens(reported)


def _read_text_tokens(reported: Any) -> list[Token]:
    """Return the tokens of a text with their log-probabilities.

    Args:
        reported: The field `logprobs` of a choice: `tokens`, `token_logprobs` and `top_logprobs`
            are lists of equal lengths, of which the last may be missing or shorter.
    """
    tokens = reported.get("tokens") or []
    values = reported.get("token_logprobs") or []
    tops = list(reported.get("top_logprobs") or [])
    tops += [None] * (len(tokens) - len(tops))
    rows: list[Token] = []
    for token, value, top in zip(tokens, values, tops, strict=True):
        rows.append((str(token), _to_float(value), _to_floats(top)))
    return rows


def _read_chat_token(entry: Any) -> Token:
    """Return a token of a conversation, its log-probability, and the likeliest tokens there.

    Args:
        entry: A dictionary with `token`, `logprob`, and perhaps `top_logprobs`, a list of such
            dictionaries.
    """
    top = {}
    for likely in entry.get("top_logprobs") or ():
        token = str(likely["token"])
        top[token] = float(likely["logprob"])
    logprob = _to_float(entry["logprob"])
    return str(entry["token"]), logprob, top


def _to_float(value: Any) -> float | None:
    # The first token of an echo has no log-probability.
    if value is None:
        return None
    return float(value)


def _to_floats(values: Any) -> dict[str, float]:
    floats = {}
    for token, value in (values or {}).items():
        floats[str(token)] = float(value)
    return floats


def read_prompt(reply: Any) -> Completion:
    """Read the tokens of a prompt and their log-probabilities, `prompt_logprobs`, from a reply.

    Args:
        reply: The reply, as parsed JSON.

    Returns:
        The tokens of the prompt. If the server has ignored the request for them, the generated
        completion.

    Raises:
        BadReplyError: If the reply cannot be read.
    """
    entries = None
    if isinstance(reply, dict):
        entries = reply.get("prompt_logprobs")
    if not isinstance(entries, list):
        return read_completion(reply)
    tokens = []
    values: list[float | None] = []
    with raise_bad_reply("log-probabilities that cannot be read", entries):
        for entry in entries:
            # The first token has no log-probability.
            if not entry:
                tokens.append("")
                values.append(None)
                continue
            # The first value of an entry is the token of the prompt, and likelier ones follow.
            token = next(iter(entry.values()))
            text = str(token["decoded_token"])
            value = float(token["logprob"])
            tokens.append(text)
            values.append(value)
    return Completion(Reply(), tuple(tokens), tuple(values))


# --- Tokens of a continuation


def request_continuation(echo: Callable[[str], Completion], prompt: str, text: str) -> Completion:
    """Request the echo of a prompt with a text after it, and return the tokens of the text.

    A token with characters of both counts as a token of the text. If the tokens of the echo cannot
    be joined to the text, because some are parts of a character, the prompt is echoed separately.
    The tokens of the text are then those that the longer echo has in addition.

    Args:
        echo: Requests the echo of a text. The echo may end with generated tokens, which are
            ignored.
        prompt: The prompt.
        text: The text.

    Raises:
        BadReplyError: If the echo does not contain the text.

    Example:
        >>> tokens = ("a", " b", "ad", " c")
        >>> def echo(text):
        ...     return Completion(Reply("a bad c"), tokens, (None, -1.0, -0.5, -3.0))
        >>> request_continuation(echo, "a", " bad").logprobs
        (-1.0, -0.5)
        >>> request_continuation(echo, "a b", "ad").logprobs
        (-0.5,)
        >>> request_continuation(echo, "a ", "bad").tokens
        (' b', 'ad')
    """
    completion = echo(prompt + text)
    n_skipped = _count_start_tokens(completion, prompt + text)
    if n_skipped is None:
        # An empty prompt has no tokens.
        prompt_echo = Completion(Reply())
        if prompt:
            prompt_echo = echo(prompt)
        return select_added_tokens(completion, prompt_echo, n_generated=1)
    # Number of characters up to the end of each token.
    lengths = map(len, completion.tokens[n_skipped:])
    ends = list(itertools.accumulate(lengths))
    n_characters = len(prompt) + len(text)
    start = _find_index_above(ends, len(prompt))
    end = _find_index_above(ends, n_characters - 1) + 1
    return _slice_tokens(completion, n_skipped + start, n_skipped + end)


def _slice_tokens(completion: Completion, start: int, end: int) -> Completion:
    """Return a range of the tokens, with their log-probabilities."""
    return Completion(Reply(), completion.tokens[start:end], completion.logprobs[start:end])


def _count_start_tokens(completion: Completion, text: str) -> int | None:
    """Return the number of start tokens before a text in its echo.

    None if the tokens of the echo cannot be joined to the text.
    """
    # Some echoes begin with a start token, written out.
    for n_skipped in (0, 1):
        if "".join(completion.tokens[n_skipped:]).startswith(text):
            return n_skipped
    return None


def _find_index_above(ends: Sequence[int], position: int) -> int:
    """Return the index of the first number that is greater than a position.

    Args:
        ends: Increasing numbers.
        position: The position.

    Raises:
        ValueError: If no number is greater.
    """
    for index, end in enumerate(ends):
        if end > position:
            return index
    raise ValueError(f"Expected an end after {position}, but got {ends}.")


def select_added_tokens(
    completion: Completion, bare: Completion, *, n_generated: int = 0
) -> Completion:
    """Return the tokens that the echo of a longer text has in addition to the echo of its prompt.

    Args:
        completion: Echo of the prompt with the text after it.
        bare: Echo of the prompt only.
        n_generated: Number of generated tokens at the end of each echo, which are ignored.

    Raises:
        BadReplyError: If the longer echo does not begin with the tokens of the prompt.
    """
    start = max(len(bare.tokens) - n_generated, 0)
    end = len(completion.tokens) - n_generated
    # The last token of the prompt is not compared, because it may merge with the text.
    # Of an empty prompt, none is.
    n_compared = max(start - 1, 0)
    is_continued = completion.tokens[:n_compared] == bare.tokens[:n_compared]
    if end <= start or not is_continued:
        text = "".join(completion.tokens) or completion.reply.text
        quoted = format_value(text, MAX_QUOTED)
        raise BadReplyError(f"an echo that does not hold the text: {quoted}")
    return _slice_tokens(completion, start, end)


def find_first_tokens(top: Mapping[str, float], continuations: Sequence[str]) -> list[float]:
    """Look up the log-probability of the first token of each continuation.

    The first token is the longest of the likeliest tokens that the continuation begins with. If
    there is none, white space at the beginning of both is ignored.

    Args:
        top: The likeliest next tokens, as token -> log-probability.
        continuations: The continuations.

    Returns:
        One log-probability per continuation; minus infinity if no token begins it.

    Raises:
        ValueError: If two continuations begin with the same token.

    Example:
        >>> find_first_tokens({" A": -0.1, "B": -3.0, " ": -5.0}, [" A", " B", " C"])
        [-0.1, -3.0, -inf]
        >>> find_first_tokens({" pos": -0.1}, [" positive", " posh"])
        Traceback (most recent call last):
        ...
        ValueError: Expected answers that begin with different tokens, but ' positive' and ' posh' \
begin with ' pos'.
    """
    text_by_token: dict[str, str] = {}
    values = []
    for text in continuations:
        token = _find_first_token(top, text)
        if not token:
            values.append(-math.inf)
            continue
        earlier_text = text_by_token.setdefault(token, text)
        if earlier_text != text:
            raise ValueError(
                f"Expected answers that begin with different tokens, but {earlier_text!r} and {text!r} begin with "
                f"{token!r}."
            )
        values.append(top[token])
    return values


def _find_first_token(top: Mapping[str, float], text: str) -> str:
    """Return the one of the likeliest tokens with which a text begins; "" if there is none.

    White space before the token and the text is ignored. If there are several such tokens, one with
    the same white space is preferred, then the longest, then the likeliest.

    Args:
        top: The likeliest next tokens, as token -> log-probability.
        text: The text.
    """
    stripped_text = text.strip()
    candidates = []
    for token in top:
        word = token.strip()
        if word and stripped_text.startswith(word):
            candidates.append(token)

    def rank(token: str) -> tuple[bool, int, float]:
        has_same_space = text.startswith(token)
        return has_same_space, len(token.strip()), top[token]

    # `max` returns the first of equal candidates, in the order of the server.
    return max(candidates, key=rank, default="")
