"""What is asked of a server, counted and priced; it needs no package of a server, as models here are counted, too."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.core.sentences import pluralize
from rightreasons.models.protocol import Request
from rightreasons.models.servers.options import ServerOptions

PART = "\n"
"""What comes between the name of a request and the number of one of its continuations."""

_PIECE = re.compile(r"[A-Za-z]{1,4}|[!-~\n]")


@dataclasses.dataclass(frozen=True)
class Usage:
    """What was asked of a server so far.

    Attributes:
        requests: Requests that were answered.
        repeated: Requests that were sent again after a failure.
        prompt_tokens: Tokens of the prompts, as the server counts them.
        answer_tokens: Generated tokens.
        unreported: Answers for which the server reported no tokens.
        unanswered: Requests that were sent and may be billed, but whose reply was not received. Their tokens are
            estimates, and upper bounds for generated ones.
    """

    requests: int = 0
    repeated: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    unreported: int = 0
    unanswered: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Return what was asked together."""
        return Usage(*map(operator.add, vars(self).values(), vars(other).values()))

    def __sub__(self, other: Usage) -> Usage:
        """Return what was asked since."""
        return Usage(*map(operator.sub, vars(self).values(), vars(other).values()))

    @classmethod
    def of(cls, reply: Mapping[str, Any], estimated: int) -> Usage:
        """Count a reply to a prompt of about so many tokens, by which it counts where the server reports none."""
        counts = tokens_used(reply)
        if "prompt_tokens" in counts:
            return cls(1, 0, counts["prompt_tokens"], counts.get("answer_tokens", 0))
        said = (
            tokens_in(json.dumps(reply["choices"], ensure_ascii=False)) if "choices" in reply else 0
        )
        return cls(1, 0, estimated, said, unreported=1)

    def to_counts(self) -> dict[str, int]:
        """Return the counts that are not 0, by their names."""
        counts = {}
        for name, count in dataclasses.asdict(self).items():
            # A journal has a line per request: what is 0 would be most of it.
            if count:
                counts[name] = count
        return counts

    def to_dict(self, options: ServerOptions) -> dict[str, Any]:
        """Return the counts, and their price where prices are given."""
        return {
            **dataclasses.asdict(self),
            "price": price(options, self.prompt_tokens, self.answer_tokens),
        }

    def sentence(self, options: ServerOptions, about: str = "", most: str = "") -> str:
        """Say what was asked, in one sentence; `about` and `most` are before the tokens of an estimate."""
        repeated = f" ({self.repeated:,} repeated)" if self.repeated else ""
        estimated = f"; the tokens of {self.unreported:,} of them, which the server did not report, are estimated"
        unreported = estimated if self.unreported else ""
        # No price is given where there is none.
        cost = self.words(options)[-1]
        priced = f", at a price of {cost}" if cost else ""
        prompts, answers = (
            pluralize(self.prompt_tokens, "prompt token"),
            pluralize(self.answer_tokens, "generated token"),
        )
        tokens = f"{about}{prompts} and {most}{answers}"
        return f"{pluralize(self.requests, 'request')}{repeated}, {tokens}{priced}{unreported}."

    def words(self, options: ServerOptions | None) -> tuple[str, str, str, str]:
        """Return requests, tokens and the price, "" where no price is given, as words."""
        cost = None if options is None else price(options, self.prompt_tokens, self.answer_tokens)
        counts = self.requests, self.prompt_tokens, self.answer_tokens
        return (*(f"{count:,}" for count in counts), "" if cost is None else f"{cost:,.4f}")  # type: ignore[return-value]


def price(options: ServerOptions, prompt_tokens: float, answer_tokens: float) -> float | None:
    """Return the price of some tokens; None where no price is given.

    Example:
        >>> price(ServerOptions(prompt_price=0.5, answer_price=2.0), 1_000_000, 250_000)
        1.0
    """
    if options.prompt_price is None and options.answer_price is None:
        return None
    prompts = (options.prompt_price or 0.0) * prompt_tokens
    return (prompts + (options.answer_price or 0.0) * answer_tokens) / 1_000_000


def cost_of(
    template: int | None, requests: Sequence[Request], kind: str, settings: Mapping[str, Any]
) -> Usage:
    """Return what a run will cost: requests and generated tokens at most, and tokens of prompts by `tokens_in`.

    Args:
        template: The most tokens that the server counted beside those of a prompt, as its template has some; None for a
            model here.
        requests: What is asked.
        kind: "likelihoods", where each continuation is echoed with its prompt, or another.
        settings: Those of `Generation` for generated answers.
    """
    # An echo holds the prompt and one continuation; that of a conversation is compared with the conversation alone.
    echoes = kind == "likelihoods" and template is not None
    times = [
        len(request.continuations) + (not isinstance(request.prompt, str))
        if echoes
        else settings.get("n", 1)
        for request in requests
    ]
    tokens = sum(
        tokens_asked(request.prompt) * n for request, n in zip(requests, times, strict=True)
    )
    tokens += sum(
        tokens_in(text) for request in requests for text in request.continuations if echoes
    )
    sent = sum(times)
    tokens += sent * (template or 0)
    return Usage(sent, prompt_tokens=tokens, answer_tokens=sent * settings.get("max_new_tokens", 1))


def tokens_asked(prompt: Any) -> int:
    """Return about how many tokens a prompt has."""
    return (
        tokens_in(prompt)
        if isinstance(prompt, str)
        else sum(tokens_in(turn["content"]) for turn in prompt)
    )


def tokens_in(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few: tokenizers differ.

    Four letters, a digit, a sign and a new line are one each, and so are one and a half bytes of other scripts.

    Example:
        >>> tokens_in("Is it 12:30?"), tokens_in("答案")
        (8, 4)
    """
    others = len(text.encode("utf-8", "surrogatepass")) - len(text.encode("ascii", "ignore"))
    return len(_PIECE.findall(text)) + math.ceil(others / 1.5)


def tokens_used(reply: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens that a server counts, by the names of `Reply.usage`.

    Tokens that are neither of the prompt nor of the answer, as those of Gemini's and Grok's total, are of thinking.

    Example:
        >>> tokens_used({"usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 40}})
        {'prompt_tokens': 9, 'answer_tokens': 31, 'thinking_tokens': 29}
    """
    counts = reply.get("usage")
    counts = counts if isinstance(counts, dict) else {}
    details = counts.get("completion_tokens_details")
    thinking = details.get("reasoning_tokens") if isinstance(details, dict) else None
    prompt, answer, total = (
        counts.get(f"{name}_tokens") for name in ("prompt", "completion", "total")
    )
    if isinstance(prompt, int) and isinstance(total, int):
        hidden = total - prompt - (answer or 0)
        answer, thinking = (
            (total - prompt, thinking or hidden) if hidden > 0 else (answer, thinking)
        )
    used = {"prompt_tokens": prompt, "answer_tokens": answer, "thinking_tokens": thinking}
    return {name: count for name, count in used.items() if isinstance(count, int)}


def echoes_of(requests: Sequence[Request]) -> list[Request]:
    """Return a request per continuation of a text, as an echo holds one: equal ones of two requests are asked once."""
    return [
        Request(f"{request.name}{PART}{place}", request.prompt, texts)
        for request in requests
        for place, texts in enumerate(
            zip(request.continuations, strict=True)
            if isinstance(request.prompt, str)
            else [request.continuations]
        )
    ]


def keys_of(run: Mapping[str, Any], requests: Sequence[Request]) -> list[str]:
    """Return what is asked by each request of a run, as digests: equal ones have one answer.

    With `drawn` in the run, a request of another name is another draw.
    """
    base = hashlib.blake2b(json.dumps(run, sort_keys=True).encode(), digest_size=16)
    keys = []
    for request in requests:
        prompt = (
            request.prompt
            if isinstance(request.prompt, str)
            else [dict(turn) for turn in request.prompt]
        )
        digest, name = base.copy(), request.name if run.get("drawn") else ""
        digest.update(json.dumps([name, prompt, request.continuations], sort_keys=True).encode())
        keys.append(digest.hexdigest())
    return keys
