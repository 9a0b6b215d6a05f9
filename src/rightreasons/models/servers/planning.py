"""Which requests are sent to a server for others, and what they will cost.

`list_echoes` turns requests about likelihoods into those that are sent, `has_single_tokens` finds
those that need one request alone, `make_keys` recognizes equal requests, `select_samples` chooses
those that are sent first, and `estimate_cost` counts tokens before the others are sent.
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
"""Kind of requests whose continuations are single tokens, of which the next one is chosen."""

N_SAMPLED_PROMPTS = 3
"""Prompts of the data that are sent first, to learn how many tokens they and their answers have."""

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
    """Return a short, a usual and a long one of some requests; fewer if there are no more."""
    ordered = sorted(requests, key=lambda request: measure_prompt(request.prompt).tokens)
    samples = {}
    for number in range(N_SAMPLED_PROMPTS):
        request = ordered[len(ordered) * (2 * number + 1) // (2 * N_SAMPLED_PROMPTS)]
        samples[request.name] = request
    return list(samples.values())


def has_single_tokens(request: Request) -> bool:
    """Return whether the continuations of a request are letters or digits, and so single tokens.

    One request for the next token has the likelihoods of all of them.

    Example:
        >>> has_single_tokens(Request("a", "Which?", (" A", " B")))
        True
        >>> has_single_tokens(Request("a", "Which?", (" A", " Paris")))
        False
    """
    # Words may be several tokens, which depends on the tokenizer.
    return all(_MARK.fullmatch(text) for text in request.continuations)


def list_echoes(
    requests: Sequence[Request], known: Mapping[str, Sequence[float | None]] | None = None
) -> list[Request]:
    """Return a request per continuation of a text, as an echo holds one.

    Equal echoes of two requests are sent once. The continuations of a conversation stay together,
    as they are compared with the echo of the conversation.

    Args:
        requests: N requests.
        known: Name -> likelihood of each continuation, None for those that are not known. None if
            no likelihood is known.
    """
    echoes = []
    for request in requests:
        values = (known or {}).get(request.name, [None] * len(request.continuations))
        # Its likelihoods are differences from one echo of the conversation.
        if not isinstance(request.prompt, str):
            if None in values:
                name = f"{request.name}{PART}0"
                echoes.append(Request(name, request.prompt, request.continuations))
            continue
        for index, (text, value) in enumerate(zip(request.continuations, values, strict=True)):
            if value is None:
                echoes.append(Request(f"{request.name}{PART}{index}", request.prompt, (text,)))
    return echoes


def make_keys(run: Mapping[str, Any], requests: Sequence[Request]) -> list[str]:
    """Return a digest of what each request of a run asks: equal ones have one answer.

    With `drawn` in the run, a request of another name is another draw.
    """
    base = hashlib.blake2b(json.dumps(run, sort_keys=True).encode(), digest_size=16)
    keys = []
    for request in requests:
        prompt: Any = request.prompt
        if not isinstance(prompt, str):
            prompt = [dict(turn) for turn in prompt]
        # The seed of a draw depends on the name.
        name = request.name if run.get("drawn") else ""
        digest = base.copy()
        digest.update(json.dumps([name, prompt, request.continuations], sort_keys=True).encode())
        keys.append(digest.hexdigest())
    return keys


def measure_requests(
    requests: Sequence[Request], settings: Mapping[str, Any], *, is_echoed: bool
) -> tuple[int, PromptLength]:
    """Return how many requests are sent for some requests, and the length of their prompts.

    Args:
        requests: The requests.
        settings: Those of `Generation` for generated answers.
        is_echoed: Whether each continuation is echoed by a request.
    """
    n_sent = 0
    length = PromptLength()
    for request in requests:
        # Several answers are drawn one at a time.
        n_times = settings.get("n", 1)
        if is_echoed:
            # The echo of a conversation is compared with that of the conversation alone.
            n_times = len(request.continuations) + (not isinstance(request.prompt, str))
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
    """Return what a run will cost: requests, about how many prompt tokens, and generated tokens at most.

    Args:
        tokens: Estimate of the prompt tokens of a server. None for a local model.
        requests: The requests.
        kind: `ECHOES`, `SINGLE_TOKENS`, "next words" or "replies".
        settings: Those of `Generation` for generated answers.
    """
    # A local model needs no echo: it computes the likelihoods of all continuations at once.
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
    """Return what requests will cost, given their highest cost.

    Args:
        at_most: The result of `estimate_cost`.
        lengths: Tokens of the answers so far. None for a local model.
        settings: Those of `Generation` for generated answers.
    """
    # Every other request generates a single token.
    if lengths is None or "max_new_tokens" not in settings:
        return Forecast(at_most, at_most.answer_tokens)
    return Forecast(at_most, round(at_most.requests * lengths.estimate(settings)))
