"""What requests to a server cost: `Usage` counts requests and tokens, and `compute_price` prices them.

`Forecast` is what requests will cost, before they are sent.

It needs no package of a server, as requests to local models are counted, too.
"""

from __future__ import annotations

import dataclasses
import json
import operator
from collections.abc import Mapping
from typing import Any

from rightreasons.core.sentences import pluralize
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.tokens import estimate_tokens


@dataclasses.dataclass(frozen=True)
class Usage:
    """Counts of requests and tokens.

    Attributes:
        requests: Requests that were answered.
        repeated: Requests that were sent again after a failure.
        prompt_tokens: Tokens of the prompts, as the server counts them.
        answer_tokens: Generated tokens.
        unreported: Answers for which the server reported no tokens.
        unanswered: Requests that were sent and may be billed, but whose reply was not received.
            Their tokens are estimates, and upper bounds for generated ones.
    """

    requests: int = 0
    repeated: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    unreported: int = 0
    unanswered: int = 0

    def __add__(self, usage: Usage) -> Usage:
        """Return the sums of two counts."""
        return Usage(*map(operator.add, vars(self).values(), vars(usage).values()))

    def __sub__(self, usage: Usage) -> Usage:
        """Return the counts since an earlier state."""
        return Usage(*map(operator.sub, vars(self).values(), vars(usage).values()))

    @classmethod
    def from_reply(cls, reply: Mapping[str, Any], estimated_tokens: int) -> Usage:
        """Count a reply.

        Args:
            reply: The reply of a server.
            estimated_tokens: Tokens of its prompt, which count if the server reports none.
        """
        counts = count_reply_tokens(reply)
        if "prompt_tokens" in counts:
            return cls(
                requests=1,
                prompt_tokens=counts["prompt_tokens"],
                answer_tokens=counts.get("answer_tokens", 0),
            )
        # A run with a bound of its price has to know it all the same.
        answer_tokens = 0
        if "choices" in reply:
            answer_tokens = estimate_tokens(json.dumps(reply["choices"], ensure_ascii=False))
        return cls(
            requests=1, prompt_tokens=estimated_tokens, answer_tokens=answer_tokens, unreported=1
        )

    def to_counts(self) -> dict[str, int]:
        """Return the counts that are not 0, by their names."""
        counts = {}
        for name, count in dataclasses.asdict(self).items():
            # A journal has a line per request: what is 0 would be most of it.
            if count:
                counts[name] = count
        return counts

    def to_dict(self, options: ServerOptions) -> dict[str, Any]:
        """Return the counts, and their price: None if there are no prices."""
        price = compute_price(options, self.prompt_tokens, self.answer_tokens)
        return {**dataclasses.asdict(self), "price": price}

    def describe(self, options: ServerOptions) -> str:
        """Return the counts in one sentence."""
        sentence = pluralize(self.requests, "request")
        if self.repeated:
            sentence += f" ({self.repeated:,} repeated)"
        # Tokens are told also if there is no price.
        prompt_tokens = pluralize(self.prompt_tokens, "prompt token")
        answer_tokens = pluralize(self.answer_tokens, "generated token")
        sentence += f", {prompt_tokens} and {answer_tokens}"
        # No price is given if there is none.
        price = self.list_words(options)[-1]
        if price:
            sentence += f", at a price of {price}"
        if self.unreported:
            sentence += (
                f"; the tokens of {self.unreported:,} of them, which the server did not report, "
                "are estimated"
            )
        return f"{sentence}."

    def list_words(self, options: ServerOptions | None) -> tuple[str, str, str, str]:
        """Return requests, prompt tokens, generated tokens and the price in words.

        Args:
            options: The prices. None for a local model, which has none.
        """
        price = None
        if options is not None:
            price = compute_price(options, self.prompt_tokens, self.answer_tokens)
        return (
            f"{self.requests:,}",
            f"{self.prompt_tokens:,}",
            f"{self.answer_tokens:,}",
            "" if price is None else f"{price:,.4f}",
        )


@dataclasses.dataclass(frozen=True)
class Forecast:
    """What requests will cost.

    Attributes:
        at_most: Number of requests, about how many prompt tokens they have, and the most tokens
            that may be generated.
        answer_tokens: About how many tokens will be generated, thinking included, according to
            earlier answers; the most if there are none.

    Example:
        >>> forecast = Forecast(Usage(requests=2, prompt_tokens=90, answer_tokens=4096), 300)
        >>> forecast.describe(ServerOptions())
        '2 requests, about 90 prompt tokens and 300 generated tokens (at most 4,096).'
    """

    at_most: Usage = Usage()
    answer_tokens: int = 0

    def __add__(self, forecast: Forecast) -> Forecast:
        """Return the sums of two forecasts."""
        return Forecast(
            self.at_most + forecast.at_most, self.answer_tokens + forecast.answer_tokens
        )

    @property
    def expected(self) -> Usage:
        """The cost with as many generated tokens as earlier answers had."""
        return dataclasses.replace(self.at_most, answer_tokens=self.answer_tokens)

    def describe(self, options: ServerOptions) -> str:
        """Return the expected and the highest cost in one sentence."""
        sentence = (
            f"{pluralize(self.at_most.requests, 'request')}, "
            f"about {pluralize(self.at_most.prompt_tokens, 'prompt token')} and "
        )
        price = self.expected.list_words(options)[-1]
        highest_price = self.at_most.list_words(options)[-1]
        # Without earlier answers, nothing but the bound is known.
        if self.answer_tokens == self.at_most.answer_tokens:
            sentence += f"at most {pluralize(self.answer_tokens, 'generated token')}"
            if price:
                sentence += f", at a price of at most about {price}"
            return f"{sentence}."
        # Readers plan with the expected cost, and the bound is what they risk.
        sentence += (
            f"{pluralize(self.answer_tokens, 'generated token')} "
            f"(at most {self.at_most.answer_tokens:,})"
        )
        if price:
            sentence += f", at a price of about {price} (at most {highest_price})"
        return f"{sentence}."


def compute_price(
    options: ServerOptions, prompt_tokens: float, answer_tokens: float
) -> float | None:
    """Return the price of some tokens, or None if there are no prices.

    Example:
        >>> compute_price(ServerOptions(prompt_price=0.5, answer_price=2.0), 1_000_000, 250_000)
        1.0
    """
    if options.prompt_price is None and options.answer_price is None:
        return None
    prompt_price = options.prompt_price or 0.0
    answer_price = options.answer_price or 0.0
    return (prompt_price * prompt_tokens + answer_price * answer_tokens) / 1_000_000


def count_reply_tokens(reply: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens that a server counts, by the names of `Reply.usage`.

    Tokens that are neither of the prompt nor of the answer, as those of Gemini's and Grok's total,
    are of thinking.

    Example:
        >>> count_reply_tokens(
        ...     {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 40}}
        ... )
        {'prompt_tokens': 9, 'answer_tokens': 31, 'thinking_tokens': 29}
    """
    counts = reply.get("usage")
    if not isinstance(counts, dict):
        return {}
    # Thinking that is not shown is billed, too.
    thinking = None
    details = counts.get("completion_tokens_details")
    if isinstance(details, dict):
        thinking = details.get("reasoning_tokens")
    prompt = counts.get("prompt_tokens")
    answer = counts.get("completion_tokens")
    total = counts.get("total_tokens")
    # Some servers count thinking only in the total: Gemini's and Grok's.
    if isinstance(prompt, int) and isinstance(total, int):
        n_hidden = total - prompt - (answer or 0)
        if n_hidden > 0:
            answer = total - prompt
            thinking = thinking or n_hidden

    token_counts = {}
    reported = {"prompt_tokens": prompt, "answer_tokens": answer, "thinking_tokens": thinking}
    for name, count in reported.items():
        if isinstance(count, int):
            token_counts[name] = count
    return token_counts
