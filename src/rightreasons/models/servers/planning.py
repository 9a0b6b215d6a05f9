"""The requests that are sent to a server in place of those of a run, and their estimated cost.

`list_echoes` turns requests about likelihoods into those that are sent, `has_single_tokens` finds
those for which one sent request is enough, `make_keys` recognizes equal requests, `select_samples`
chooses those that are sent first, and `estimate_cost` counts tokens before the others are sent.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rightreasons.models.protocol import Request
from rightreasons.models.servers.answer_lengths import AnswerLengths
from rightreasons.models.servers.tokens import (
    PromptLength,
    TokenEstimate,
    measure_prompt,
)
from rightreasons.models.servers.usage import Forecast, Usage

PART = "\n"
"""Separator of the name of a request and the index of the first of its continuations in a part."""

ECHOES = "likelihoods"
"""Kind of requests that are echoed with each of their continuations."""

SINGLE_TOKENS = "single tokens"
"""Kind of requests whose continuations are single tokens, so that one next token is requested."""

N_SAMPLED_PROMPTS = 3
"""Prompts of the data that are sent first, for an estimate of the tokens of prompts and answers."""

_MARK = re.compile(r" ?[A-Za-z0-9]")


class PlannedRequests(NamedTuple):
    """Requests of one kind that will be sent.

    Attributes:
        kind: `ECHOES`, `SINGLE_TOKENS`, "next words" or "replies".
        settings: What the answers depend on in addition to the requests.
        requests: The requests.
    """

    kind: str
    settings: Mapping[str, Any]
    requests: Sequence[Request]


def select_samples(requests: Sequence[Request]) -> list[Request]:
    """Select a request with a short, a medium and a long prompt, or fewer of a few requests."""
    ordered = sorted(requests, key=lambda request: measure_prompt(request.prompt).tokens)
    samples = {}
    for number in range(N_SAMPLED_PROMPTS):
        # With three samples, these are at 1/6, 3/6 and 5/6 of the sorted requests.
        index = len(ordered) * (2 * number + 1) // (2 * N_SAMPLED_PROMPTS)
        request = ordered[index]
        samples[request.name] = request
    return list(samples.values())


def has_single_tokens(request: Request) -> bool:
    """Return whether all continuations of a request are letters or digits, and thus single tokens.

    One request for the next token then returns the likelihoods of all of them.

    Example:
        >>> has_single_tokens(Request("a", "Which?", (" A", " B")))
        True
        >>> has_single_tokens(Request("a", "Which?", (" A", " Paris")))
        False
    """
    # For longer words, the number of tokens depends on the tokenizer.
    return all(_MARK.fullmatch(text) for text in request.continuations)


def list_echoes(
    requests: Sequence[Request], known: Mapping[str, Sequence[float | None]] | None = None
) -> list[Request]:
    """Return the requests for echoes of continuations whose likelihoods are not known.

    After a text, there is one request per continuation. After a conversation, there is one request
    for all continuations, because each is compared with one echo of the conversation. The name of
    such a request consists of the original name, `PART` and the index of its first continuation.

    Args:
        requests: N requests.
        known: Name of a request -> likelihood of each continuation, None if it is not known. If
            None, no likelihood is known.
    """
    echoes = []
    for request in requests:
        values = (known or {}).get(request.name, [None] * len(request.continuations))
        is_conversation = not isinstance(request.prompt, str)
        if is_conversation:
            if None in values:
                name = f"{request.name}{PART}0"
                echoes.append(Request(name, request.prompt, request.continuations))
            continue
        for index, (text, value) in enumerate(zip(request.continuations, values, strict=True)):
            if value is None:
                echoes.append(Request(f"{request.name}{PART}{index}", request.prompt, (text,)))
    return echoes


def make_keys(run: Mapping[str, Any], requests: Sequence[Request]) -> list[str]:
    """Return a key for each request, under which its answer is stored.

    Requests with equal prompts and continuations have the same key. If answers are sampled
    ("drawn" in `run`), their names have to be equal, too.

    Args:
        run: Model, kind of requests and settings of the run, as JSON values.
        requests: The requests.
    """
    base = hashlib.blake2b(json.dumps(run, sort_keys=True).encode(), digest_size=16)
    keys = []
    for request in requests:
        prompt: Any = request.prompt
        if not isinstance(prompt, str):
            prompt = [dict(turn) for turn in prompt]
        # The seed of a sampled answer depends on the name of its request.
        name = request.name if run.get("drawn") else ""
        digest = base.copy()
        digest.update(json.dumps([name, prompt, request.continuations], sort_keys=True).encode())
        keys.append(digest.hexdigest())
    return keys


def measure_requests(
    requests: Sequence[Request], settings: Mapping[str, Any], *, is_echoed: bool
) -> tuple[int, PromptLength]:
    """Count the requests that are sent to a server, and measure the length of their prompts.

    Args:
        requests: The requests.
        settings: Options of `Generation` as a dictionary, of which `n` is used; empty for
            likelihoods.
        is_echoed: Whether a request is sent for the echo of each continuation.

    Returns:
        The number of requests, and the length of all prompts together.
    """
    n_sent = 0
    length = PromptLength()
    for request in requests:
        # Several answers are requested one at a time.
        n_times = settings.get("n", 1)
        if is_echoed:
            # The echoes after a conversation are compared with an echo of the conversation itself.
            is_conversation = not isinstance(request.prompt, str)
            n_times = len(request.continuations) + int(is_conversation)
            for text in request.continuations:
                length = length.add(PromptLength.measure(text))
        n_sent += n_times
        length = length.add(measure_prompt(request.prompt), n_times)
    return n_sent, length


def estimate_cost(
    tokens: TokenEstimate | None,
    requests: Sequence[Request],
    kind: str,
    settings: Mapping[str, Any],
) -> Usage:
    """Estimate the highest cost of requests.

    Args:
        tokens: Estimate of the prompt tokens of a server. None for a local model.
        requests: The requests.
        kind: `ECHOES`, `SINGLE_TOKENS`, "next words" or "replies".
        settings: Options of `Generation` as a dictionary, for generated replies.

    Returns:
        The number of requests, the estimated number of prompt tokens, and the maximum number of
        generated tokens.
    """
    # A local model computes the likelihoods of all continuations at once, without echoes.
    is_echoed = kind == ECHOES and tokens is not None
    n_sent, length = measure_requests(requests, settings, is_echoed=is_echoed)
    tokens = tokens or TokenEstimate()
    return Usage(
        requests=n_sent,
        prompt_tokens=tokens.correct(length, n_sent),
        answer_tokens=n_sent * settings.get("max_new_tokens", 1),
    )


def forecast_cost(
    at_most: Usage, lengths: AnswerLengths | None, settings: Mapping[str, Any]
) -> Forecast:
    """Estimate the expected cost of requests from their highest cost.

    Args:
        at_most: Highest cost, from `estimate_cost`.
        lengths: Numbers of tokens of earlier answers. None for a local model.
        settings: Options of `Generation` as a dictionary, for generated replies.
    """
    # A request without this setting generates a single token.
    if lengths is None or "max_new_tokens" not in settings:
        return Forecast(at_most, at_most.answer_tokens)
    return Forecast(at_most, round(at_most.requests * lengths.estimate(settings)))
