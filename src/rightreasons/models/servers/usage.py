"""What a run on a server costs: requests, tokens, and their price."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rightreasons.models.protocol import Request
from rightreasons.models.servers.options import ServerOptions

if TYPE_CHECKING:
    from rightreasons.models.servers.client import Client

MILLION = 1_000_000

CHARACTERS_PER_TOKEN = 4.0
"""What a token of English has, for an estimate of a server that reported no tokens in its trial."""


@dataclasses.dataclass
class Usage:
    """What was asked of a server so far.

    Attributes:
        requests: Requests that were answered.
        repeated: Requests that were sent again after a failure.
        prompt_tokens: Tokens of the prompts, as the server counts them.
        answer_tokens: Generated tokens.
        unreported: Answers for which the server reported no tokens.
        characters: Characters of the prompts whose tokens were reported.
    """

    requests: int = 0
    repeated: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    unreported: int = 0
    characters: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Return what was asked together."""
        mine, also = dataclasses.asdict(self), dataclasses.asdict(other)
        return Usage(**{name: value + also[name] for name, value in mine.items()})

    def __sub__(self, other: Usage) -> Usage:
        """Return what was asked since."""
        mine, before = dataclasses.asdict(self), dataclasses.asdict(other)
        return Usage(**{name: value - before[name] for name, value in mine.items()})

    def add(self, reply: dict[str, Any], characters: int) -> None:
        """Count a reply to a prompt of so many characters."""
        self.requests += 1
        counts = reply.get("usage")
        if not isinstance(counts, dict) or not isinstance(counts.get("prompt_tokens"), int):
            self.unreported += 1
            return
        self.characters += characters
        self.prompt_tokens += counts["prompt_tokens"]
        answer = counts.get("completion_tokens")
        self.answer_tokens += answer if isinstance(answer, int) else 0

    def to_dict(self, options: ServerOptions) -> dict[str, Any]:
        """Return the counts, and their price where prices are given."""
        counts = {name: value for name, value in dataclasses.asdict(self).items() if name != "characters"}
        return {**counts, "price": price(options, self.prompt_tokens, self.answer_tokens)}

    def sentence(self, options: ServerOptions) -> str:
        """Say what was asked, in one sentence."""
        repeated = f" ({self.repeated:,} repeated)" if self.repeated else ""
        unreported = f"; the server reported no tokens for {self.unreported:,} of them" if self.unreported else ""
        cost = priced(options, self.prompt_tokens, self.answer_tokens)
        return (
            f"{self.requests:,} requests{repeated}, {self.prompt_tokens:,} prompt tokens and "
            f"{self.answer_tokens:,} generated tokens{cost}{unreported}."
        )


def price(options: ServerOptions, prompt_tokens: float, answer_tokens: float) -> float | None:
    """Return the price of some tokens; None where no price is given.

    Example:
        >>> price(ServerOptions(prompt_price=0.5, answer_price=2.0), 1_000_000, 250_000)
        1.0
    """
    if options.prompt_price is None and options.answer_price is None:
        return None
    prompts = (options.prompt_price or 0.0) * prompt_tokens
    return (prompts + (options.answer_price or 0.0) * answer_tokens) / MILLION


def priced(options: ServerOptions, prompt_tokens: float, answer_tokens: float) -> str:
    """Return the price of some tokens as the end of a sentence; "" where no price is given."""
    cost = price(options, prompt_tokens, answer_tokens)
    return "" if cost is None else f", at a price of {cost:,.4f}"


def estimate(client: Client, requests: Sequence[Request], kind: str, new_tokens: int, repeats: int) -> str:
    """Say what a run will about cost, by the characters of its prompts and the tokens per character so far.

    Args:
        client: The server, with what it counted so far.
        requests: What is asked.
        kind: "likelihoods", where each continuation is echoed with its prompt, or another.
        new_tokens: Maximum generated tokens each time.
        repeats: How often a request of another kind is sent.
    """
    usage, options = client.usage, client.options
    # An echo holds the prompt and one continuation; that of a conversation is compared with the conversation alone.
    times = [
        len(request.continuations) + (not isinstance(request.prompt, str)) if kind == "likelihoods" else repeats
        for request in requests
    ]
    calls = sum(times)
    characters = sum(characters_of(request.prompt) * n for request, n in zip(requests, times, strict=True))
    characters += sum(len(text) for request in requests for text in request.continuations if kind == "likelihoods")
    per_token = usage.characters / usage.prompt_tokens if usage.prompt_tokens else CHARACTERS_PER_TOKEN
    prompts, answers = round(characters / per_token), calls * new_tokens
    return (
        f"{calls:,} requests, about {prompts:,} prompt tokens and at most {answers:,} generated tokens"
        f"{priced(options, prompts, answers)}."
    )


def characters_of(prompt: Any) -> int:
    """Return how many characters a prompt has."""
    return len(prompt) if isinstance(prompt, str) else sum(len(turn["content"]) for turn in prompt)
