"""The requests that any answer of a model could lead to, for a harness that sends all at once.

`ExploringEngine` answers all requests of the questions with the option at one position, and collects
the requests. Runs with each position give all requests except those that depend on the words of an
answer.
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
    """An engine that collects requests, and answers each with the option at one position.

    Args:
        position: Position of the option. If a request has fewer options, the last one is the answer.
        has_template: Whether prompts are conversations, for a model with a chat template.

    Attributes:
        requests: Key -> collected request.
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
        """Raise a ValueError: a harness does not return the numbers of tokens, which are needed."""
        raise ValueError(
            "Expected requests for next words or texts, but got those for likelihoods."
        )

    def next_words(self, requests: Sequence[Request], **_: Any) -> Likelihoods:
        """Collect requests, and return scores by which one continuation of each is the most likely.

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
            # A request may have fewer options than the item.
            scores[min(self._position, len(scores) - 1)] = 1.0
            rows.append(scores)
        counts = [len(scores) for scores in rows]
        # The empty array is needed if there are no rows, which `concatenate` refuses.
        values = np.concatenate([np.empty(0), *rows])
        lengths = np.ones(len(values))
        return Likelihoods(Ragged.of(values, counts), Ragged.of(lengths, counts))

    def generate(self, requests: Sequence[Request], *, options: Generation, **_: Any) -> Answers:
        """Collect requests, and reply to each with the letter of one position.

        The replies have no reasoning, which would lead to further requests.

        Args:
            requests: Requests for generated answers.
            options: How they are generated, among them the number of replies to each.
        """
        # Equal requests have the same key, and are collected once.
        for key, request in zip(make_reply_keys(requests, options), requests, strict=True):
            self.requests[key] = PossibleRequest(request.prompt, options=options)
        reply = Reply(f"Answer: {LETTERS[self._position]}")
        return Answers([[reply] * options.n for _ in requests])
