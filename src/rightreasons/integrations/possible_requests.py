"""The requests that any answer of a model could lead to, for a harness that sends all at once.

`ExploringEngine` answers the questions of an audit by one position, and keeps what they ask. Runs of
all positions give all requests but those that depend on the words of an answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from rightreasons.audited.recorded import (
    NEXT_WORDS,
    make_reply_keys,
    make_value_keys,
    render_turns,
)
from rightreasons.core.arrays import Ragged
from rightreasons.core.choices import LETTERS
from rightreasons.core.replies import Reply
from rightreasons.models.protocol import (
    BRIEF,
    Ability,
    Answers,
    Generation,
    Likelihoods,
    Message,
    Request,
)


@dataclasses.dataclass(frozen=True)
class PossibleRequest:
    """A request that a model may be sent.

    Attributes:
        prompt: What is asked.
        continuation: Continuation whose log-probability is asked. "" if an answer is generated.
        options: How an answer is generated. None for a log-probability.
    """

    prompt: str | tuple[Message, ...]
    continuation: str = ""
    options: Generation | None = None


class ExploringEngine:
    """An engine that sends nothing: it keeps the requests, and answers each by one position.

    Args:
        position: Position of the option that it takes, or of the last one if there are fewer.
        has_template: Whether conversations are asked.

    Attributes:
        requests: Key -> the request.
    """

    name = "any model"
    fingerprint = ""
    abilities: frozenset[Ability] = frozenset({"next_words", "text"})
    thinks = False
    budget = BRIEF
    is_single_pass = True

    def __init__(self, position: int, *, has_template: bool) -> None:
        self.has_template = has_template
        self.requests: dict[str, PossibleRequest] = {}
        self._position = position

    def render(self, prompt: str | Sequence[Message]) -> str:
        """Return the turns of a conversation as a text."""
        return render_turns(prompt)

    def likelihoods(self, requests: Sequence[Request], **_: Any) -> Likelihoods:
        """Raise, as a harness tells no number of tokens."""
        raise ValueError(
            "Expected requests for next words or texts, but got those for likelihoods."
        )

    def next_words(self, requests: Sequence[Request], **_: Any) -> Likelihoods:
        """Keep requests, and return scores by which one position is the likeliest.

        Args:
            requests: Requests with two or more continuations, such as letters.

        Returns:
            1 for the continuation at the position of this engine, or for the last one if there are
            fewer, and 0 for the others.
        """
        rows = []
        for request in requests:
            keys = make_value_keys(NEXT_WORDS, request)
            # Each continuation is a separate request to a harness.
            for key, text in zip(keys, request.continuations, strict=True):
                self.requests[key] = PossibleRequest(request.prompt, text)
            scores = np.zeros(len(keys))
            # Some requests have fewer options than the item.
            scores[min(self._position, len(scores) - 1)] = 1.0
            rows.append(scores)
        counts = [len(scores) for scores in rows]
        # The empty array lets a list without rows be joined.
        values = np.concatenate([np.empty(0), *rows])
        lengths = np.ones(len(values))
        return Likelihoods(Ragged.of(values, counts), Ragged.of(lengths, counts))

    def generate(self, requests: Sequence[Request], *, options: Generation, **_: Any) -> Answers:
        """Keep requests, and reply to each with the letter of one position.

        The replies have no reasoning, about which further questions would be asked.

        Args:
            requests: Requests for generated answers.
            options: How they are generated, among them the number of replies to each.
        """
        # Equal requests of several arms are one.
        for key, request in zip(make_reply_keys(requests, options), requests, strict=True):
            self.requests[key] = PossibleRequest(request.prompt, options=options)
        # Of several letters, another run of the questions takes the others.
        reply = Reply(f"Answer: {LETTERS[self._position]}")
        return Answers([[reply] * options.n for _ in requests])
