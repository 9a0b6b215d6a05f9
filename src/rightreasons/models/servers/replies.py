"""What a server's replies hold: texts, tokens and their log-probabilities, in the forms that servers use."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class BadReplyError(ValueError):
    """A reply that is not what an OpenAI-compatible server sends."""


@dataclasses.dataclass(frozen=True)
class Completion:
    """One choice of a reply.

    Attributes:
        text: The text, of a completion or of a message.
        finished: Whether the text ended by itself; False where the bound of new tokens ended it.
        tokens: Its tokens, where the server reports them.
        logprobs: The log-probability of each token; None for a token that has none, as the first of an echo.
        tops: The likeliest tokens at each place, token -> log-probability.
    """

    text: str
    finished: bool
    tokens: tuple[str, ...] = ()
    logprobs: tuple[float | None, ...] = ()
    tops: tuple[Mapping[str, float], ...] = ()


def read_choices(reply: Any) -> list[Completion]:
    """Read the choices of a reply of `/chat/completions` or `/completions`.

    Raises:
        BadReplyError: If it is no such reply.
    """
    choices = reply.get("choices") if isinstance(reply, dict) else None
    if not isinstance(choices, list) or not choices:
        raise BadReplyError(f"a reply without `choices`: {_short(reply)}")
    return [_read_choice(choice) for choice in choices]


def _read_choice(choice: Any) -> Completion:
    if not isinstance(choice, dict):
        raise BadReplyError(f"a choice that is no object: {_short(choice)}")
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else choice.get("text")
    if text is None and isinstance(message, dict):
        text = ""  # a refusal, or an answer whose tokens all went into reasoning
    if not isinstance(text, str):
        raise BadReplyError(f"a choice without text: {_short(choice)}")
    try:
        tokens, logprobs, tops = _read_logprobs(choice.get("logprobs"))
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        raise BadReplyError(f"log-probabilities that cannot be read: {_short(choice.get('logprobs'))}") from error
    return Completion(text, choice.get("finish_reason") != "length", tokens, logprobs, tops)


def _read_logprobs(
    given: Any,
) -> tuple[tuple[str, ...], tuple[float | None, ...], tuple[Mapping[str, float], ...]]:
    """Read log-probabilities: lists by name, as of `/completions`, or a list of tokens, as of chats."""
    if not given:
        return (), (), ()
    if given.get("content") is not None:
        entries = given["content"]
        tokens, logprobs = (str(one["token"]) for one in entries), (float(one["logprob"]) for one in entries)
        tops = [
            [(str(one["token"]), float(one["logprob"])) for one in entry.get("top_logprobs") or ()] for entry in entries
        ]
        return tuple(tokens), tuple(logprobs), tuple(map(dict, tops))
    spelled = tuple(str(token) for token in given.get("tokens") or ())
    values = tuple(None if value is None else float(value) for value in given.get("token_logprobs") or ())
    if len(spelled) != len(values):
        raise ValueError("as many log-probabilities as tokens")
    likeliest = [(top or {}).items() for top in given.get("top_logprobs") or ()]
    return spelled, values, tuple({str(token): float(value) for token, value in top} for top in likeliest)


@dataclasses.dataclass(frozen=True)
class Continued:
    """The tokens of a text that follows a prompt in an echo.

    Attributes:
        tokens: The tokens.
        logprobs: The log-probability of each; None for one that has none.
        shared: Whether one of them begins in the prompt: a token in which the two meet counts for the text.
    """

    tokens: tuple[str, ...]
    logprobs: tuple[float | None, ...]
    shared: bool = False


def continuation(echo: Callable[[str], Completion], prompt: str, text: str) -> Continued:
    """Ask for the echo of a prompt and the text that follows it, and return the tokens of the text.

    Where the tokens do not spell the text, as those of a part of a letter, the prompt is echoed alone, and the tokens
    of the text are those that the longer echo has more.

    Args:
        echo: Returns the echo of a text; tokens generated after it do not count.
        prompt: The prompt.
        text: The continuation.

    Raises:
        BadReplyError: If the echo does not hold the text.

    Example:
        >>> def echo(text):
        ...     return Completion("a bad c", True, ("a", " b", "ad", " c"), (None, -1.0, -0.5, -3.0))
        >>> continuation(echo, "a", " bad").logprobs, continuation(echo, "a b", "ad").logprobs
        ((-1.0, -0.5), (-0.5,))
        >>> continuation(echo, "a ", "bad")
        Continued(tokens=(' b', 'ad'), logprobs=(-1.0, -0.5), shared=True)
    """
    completion = echo(prompt + text)
    # A start token is spelled in some echoes, before the text.
    skipped = next((skip for skip in (0, 1) if "".join(completion.tokens[skip:]).startswith(prompt + text)), None)
    if skipped is None:
        return added(completion, echo(prompt) if prompt else Completion("", True), generated=1)
    ends = list(itertools.accumulate(map(len, completion.tokens[skipped:])))
    first = next(place for place, end in enumerate(ends) if end > len(prompt))
    last = next(place for place, end in enumerate(ends) if end >= len(prompt) + len(text))
    rows = slice(skipped + first, skipped + last + 1)
    shared = ends[first] - len(completion.tokens[skipped + first]) < len(prompt)
    return Continued(completion.tokens[rows], completion.logprobs[rows], shared)


def added(completion: Completion, alone: Completion, *, generated: int = 0) -> Continued:
    """Return the tokens that an echo has more than that of its prompt alone.

    Args:
        completion: The echo of the prompt and the text that follows it.
        alone: The echo of the prompt.
        generated: How many generated tokens each ends with.

    Raises:
        BadReplyError: If one is not the beginning of the other.
    """
    start, end = max(len(alone.tokens) - generated, 0), len(completion.tokens) - generated
    if end <= start or completion.tokens[: start - 1] != alone.tokens[: start - 1]:
        raise BadReplyError(
            f"an echo that does not hold the text: {_short(''.join(completion.tokens) or completion.text)}"
        )
    return Continued(
        completion.tokens[start:end], completion.logprobs[start:end], completion.tokens[:start] != alone.tokens[:start]
    )


def read_prompt(reply: Any) -> Completion:
    """Read the `prompt_logprobs` of a reply: each token of the prompt with its log-probability.

    Returns:
        The tokens; none of a server that ignores that they are asked for.

    Raises:
        BadReplyError: If they cannot be read.
    """
    entries = reply.get("prompt_logprobs") if isinstance(reply, dict) else None
    if not isinstance(entries, list):
        return read_choices(reply)[0]
    tokens: list[str] = []
    logprobs: list[float | None] = []
    try:
        for entry in entries:
            one = next(iter(entry.values())) if entry else None  # the first token has no log-probability
            tokens.append("" if one is None else str(one["decoded_token"]))
            logprobs.append(None if one is None else float(one["logprob"]))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise BadReplyError(f"log-probabilities that cannot be read: {_short(entries)}") from error
    return Completion("", True, tuple(tokens), tuple(logprobs))


def first_words(top: Mapping[str, float], continuations: Sequence[str]) -> list[float]:
    """Return the log-probability of the first token of each continuation, from the likeliest next tokens.

    The first token of a continuation is the longest one that it begins with; where there is none, spaces at the
    beginning are no matter.

    Args:
        top: Token -> log-probability.
        continuations: Texts.

    Returns:
        One value per continuation; minus infinity where no token begins it.

    Raises:
        ValueError: If two continuations begin with the same token.

    Example:
        >>> first_words({" A": -0.1, "B": -3.0, " ": -5.0}, [" A", " B", " C"])
        [-0.1, -3.0, -inf]
        >>> first_words({" pos": -0.1}, [" positive", " posh"])
        Traceback (most recent call last):
        ...
        ValueError: Expected answers that begin with different tokens, but ' positive' and ' posh' begin with ' pos'.
    """
    taken: dict[str, str] = {}
    values = []
    for text in continuations:
        token = _first_token(top, text)
        if token is not None and token in taken and taken[token] != text:
            raise ValueError(
                f"Expected answers that begin with different tokens, but {taken[token]!r} and {text!r} begin with "
                f"{token!r}."
            )
        if token is not None:
            taken[token] = text
        values.append(-math.inf if token is None else top[token])
    return values


def _first_token(top: Mapping[str, float], text: str) -> str | None:
    exact = [token for token in top if token.strip() and text.startswith(token)]
    if exact:
        return max(exact, key=len)
    bare = text.strip()
    loose = [token for token in top if token.strip() and bare.startswith(token.strip())]
    return max(loose, key=lambda token: (len(token.strip()), top[token]), default=None)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 120 else f"{text[:119]}…"
