"""Costs of requests to a server: `Usage` counts requests and tokens, `compute_price` prices them.

`Forecast` is the estimated cost of requests before they are sent.

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
        """Return the cost of a reply.

        Args:
            reply: The reply of a server, as parsed JSON.
            estimated_tokens: Estimated number of prompt tokens, which is used if the reply has no
                counts.
        """
        counts = count_reply_tokens(reply)
        if "prompt_tokens" in counts:
            return cls(
                requests=1,
                prompt_tokens=counts["prompt_tokens"],
                answer_tokens=counts.get("answer_tokens", 0),
            )
        # An estimate is needed for the limit on the price.
        answer_tokens = 0
        if "choices" in reply:
            answer_tokens = estimate_tokens(json.dumps(reply["choices"], ensure_ascii=False))
        return cls(
            requests=1, prompt_tokens=estimated_tokens, answer_tokens=answer_tokens, unreported=1
        )

    def to_counts(self) -> dict[str, int]:
        """Return the counts by name, without those that are 0, which keeps stored lines short."""
        counts = {}
        # Most counts of a single request are 0.
        for name, count in dataclasses.asdict(self).items():
            if count:
                counts[name] = count
        return counts

    def to_dict(self, options: ServerOptions) -> dict[str, Any]:
        """Return the counts by name, and the `price`, None if the options have no prices."""
        price = compute_price(options, self.prompt_tokens, self.answer_tokens)
        return {**dataclasses.asdict(self), "price": price}

    def describe(self, options: ServerOptions) -> str:
        """Describe the counts in one sentence, with the price if the options have prices."""
        sentence = pluralize(self.requests, "request")
        if self.repeated:
            sentence += f" ({self.repeated:,} repeated)"
        prompt_tokens = pluralize(self.prompt_tokens, "prompt token")
        answer_tokens = pluralize(self.answer_tokens, "generated token")
        sentence += f", {prompt_tokens} and {answer_tokens}"
        # Without prices, the counts of tokens are all that is known.
        _, _, _, price = self.list_words(options)
        if price:
            sentence += f", at a price of {price}"
        if self.unreported:
            sentence += (
                f"; the tokens of {self.unreported:,} of them, which the server did not report, "
                "are estimated"
            )
        return f"{sentence}."

    def list_words(self, options: ServerOptions | None) -> tuple[str, str, str, str]:
        """Return the requests, prompt tokens, generated tokens and price as strings for a table.

        Args:
            options: Options with the prices. None for a local model.

        Returns:
            Four strings such as ("1,200", "90,000", "4,096", "0.1234"). The price is empty
            without prices.
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
        """The expected cost, with answers as long as earlier ones."""
        return dataclasses.replace(self.at_most, answer_tokens=self.answer_tokens)

    def describe(self, options: ServerOptions) -> str:
        """Describe the expected and the highest cost in one sentence, with prices if known."""
        sentence = (
            f"{pluralize(self.at_most.requests, 'request')}, "
            f"about {pluralize(self.at_most.prompt_tokens, 'prompt token')} and "
        )
        _, _, _, price = self.expected.list_words(options)
        _, _, _, highest_price = self.at_most.list_words(options)
        # Without earlier answers, only the highest cost is known.
        if self.answer_tokens == self.at_most.answer_tokens:
            sentence += f"at most {pluralize(self.answer_tokens, 'generated token')}"
            if price:
                sentence += f", at a price of at most about {price}"
            return f"{sentence}."
        sentence += (
            # A reader plans with the expected cost, and risks the highest one.
            f"{pluralize(self.answer_tokens, 'generated token')} "
            f"(at most {self.at_most.answer_tokens:,})"
        )
        if price:
            sentence += f", at a price of about {price} (at most {highest_price})"
        return f"{sentence}."


def compute_price(
    options: ServerOptions, prompt_tokens: float, answer_tokens: float
) -> float | None:
    """Return the price of tokens; None if the options have no prices.

    Args:
        options: Options with the prices of a million prompt tokens and generated tokens.
        prompt_tokens: Number of prompt tokens.
        answer_tokens: Number of generated tokens.

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
    """Return the numbers of tokens that a reply states, by the names of `Reply.usage`.

    Gemini and Grok count thinking only in the total. Tokens of the total that belong neither to the
    prompt nor to the answer are therefore counted as thinking.

    Args:
        reply: The reply of a server, as parsed JSON.

    Returns:
        `prompt_tokens`, `answer_tokens` (with thinking) and `thinking_tokens`, as far as they are
        known.

    Example:
        >>> count_reply_tokens(
        ...     {"usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 40}}
        ... )
        {'prompt_tokens': 9, 'answer_tokens': 31, 'thinking_tokens': 29}
    """
    counts = reply.get("usage")
    if not isinstance(counts, dict):
        return {}
    # Thinking is billed even if it is not shown.
    thinking = None
    details = counts.get("completion_tokens_details")
    if isinstance(details, dict):
        thinking = details.get("reasoning_tokens")
    prompt = counts.get("prompt_tokens")
    answer = counts.get("completion_tokens")
    total = counts.get("total_tokens")
    # Tokens that are in the total only are hidden thinking.
    if isinstance(prompt, int) and isinstance(total, int):
        n_hidden = total - prompt - (answer or 0)
        if n_hidden > 0:
            answer = total - prompt
            thinking = thinking or n_hidden

    token_counts = {}
    # A count may be missing, or null.
    reported = {"prompt_tokens": prompt, "answer_tokens": answer, "thinking_tokens": thinking}
    for name, count in reported.items():
        if isinstance(count, int):
            token_counts[name] = count
    return token_counts
