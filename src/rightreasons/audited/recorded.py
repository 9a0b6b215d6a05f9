"""Answers to the requests of an audit, recorded inside a harness and read again from its log.

A `RecordingEngine` passes the requests of questions to the model of a harness and records the
answers, and `make_record` returns what is written into the log of a sample. A `RecordedEngine` with
these answers replaces the model, so that an audit of the log makes the same requests and computes
the same figures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rightreasons.core.arrays import Ragged
from rightreasons.core.replies import Reply
from rightreasons.core.store import digest_value
from rightreasons.models.protocol import (
    BRIEF,
    Ability,
    Answers,
    Engine,
    Generation,
    Likelihoods,
    Message,
    Request,
)
from rightreasons.models.servers.planning import make_keys
from rightreasons.models.wrapped_engine import WrappedEngine

MISSING = "The log contains no answer to it."
"""Reason why a request has no answer."""

LIKELIHOODS = "likelihoods"
NEXT_WORDS = "next words"
REPLIES = "replies"
"""Kinds of requests."""

REPLY_FIELDS = ("text", "thinking", "refusal", "finish")
"""Fields of a reply that a log keeps."""


def make_reply_keys(requests: Sequence[Request], options: Generation) -> list[str]:
    """Return a digest of each request for generated answers.

    Args:
        requests: The requests.
        options: How the answers are generated, which is part of the digest.
    """
    # With a temperature, equal prompts get different answers, and `make_keys` includes the name of
    # the request ("drawn").
    run = {"kind": REPLIES, **options.to_dict(), "drawn": options.temperature > 0}
    return make_keys(run, requests)


def make_value_keys(kind: str, request: Request) -> list[str]:
    """Return a digest of each continuation of a request, by which its likelihood is found in a log.

    A digest depends on the prompt and one continuation, but not on the name of the request: requests
    with the same prompt may be sent as one, with the continuations of all.

    Args:
        kind: `LIKELIHOODS` or `NEXT_WORDS`.
        request: The request: a prompt with continuations.
    """
    single_requests = []
    for text in request.continuations:
        single_requests.append(dataclasses.replace(request, continuations=(text,)))
    return make_keys({"kind": kind}, single_requests)


class RecordingEngine(WrappedEngine):
    """An engine that asks another one, and records its answers.

    Args:
        engine: The engine that is asked.

    Attributes:
        answers: Key of a request -> its replies, or of a continuation -> its log-probability and its
            number of tokens.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.answers: dict[str, list[Any]] = {}

    def likelihoods(self, requests: Sequence[Request], **kwargs: Any) -> Likelihoods:
        """Return and record log-likelihoods."""
        return self._record_values(
            LIKELIHOODS, requests, self._engine.likelihoods(requests, **kwargs)
        )

    def next_words(self, requests: Sequence[Request], **kwargs: Any) -> Likelihoods:
        """Return and record log-probabilities of next words."""
        return self._record_values(
            NEXT_WORDS, requests, self._engine.next_words(requests, **kwargs)
        )

    def generate(
        self, requests: Sequence[Request], *, options: Generation, **kwargs: Any
    ) -> Answers:
        """Return the generated answers of the engine, and record them.

        Args:
            requests: The requests.
            options: How the answers are generated.
            **kwargs: Further arguments of the engine.
        """
        answers = self._engine.generate(requests, options=options, **kwargs)
        keys = make_reply_keys(requests, options)
        for key, replies in zip(keys, answers.replies, strict=True):
            # A failed request has no replies, and is not recorded: a later run may send it again.
            if replies:
                self.answers[key] = [write_reply(reply) for reply in replies]
        return answers

    def _record_values(
        self, kind: str, requests: Sequence[Request], likelihoods: Likelihoods
    ) -> Likelihoods:
        """Record the log-probability and the number of tokens of each continuation.

        Args:
            kind: `LIKELIHOODS` or `NEXT_WORDS`.
            requests: N requests, each a prompt with continuations.
            likelihoods: The values of the N requests, which are also returned.
        """
        for index, request in enumerate(requests):
            # A failed request has no values, and is not recorded: a later run may send it again.
            if request.name in likelihoods.failures:
                continue
            keys = make_value_keys(kind, request)
            # Logs contain plain numbers.
            log_probabilities = np.asarray(likelihoods.values[index]).tolist()
            token_counts = np.asarray(likelihoods.lengths[index]).tolist()
            for key, log_probability, n_tokens in zip(
                keys, log_probabilities, token_counts, strict=True
            ):
                self.answers[key] = [log_probability, n_tokens]
        return likelihoods


def write_reply(reply: Reply) -> dict[str, str]:
    """Return the fields of a reply that are not empty."""
    fields = {}
    for name in REPLY_FIELDS:
        value = getattr(reply, name)
        # Empty fields are omitted, because logs have thousands of replies with only a text.
        if value:
            fields[name] = value
    return fields


class RecordedEngine:
    """An engine that gives recorded answers.

    Args:
        name: Name of the model.
        settings: The settings of the task.
        answers: From `RecordingEngine.answers`.

    Attributes:
        abilities: What the model was asked for.
        fingerprint: Digest of the answers.
        has_template: Whether conversations were asked.
        is_single_pass: Whether no request depends on an answer.
    """

    thinks = False
    budget = BRIEF

    def __init__(
        self,
        name: str,
        settings: RecordSettings,
        answers: Mapping[str, Sequence[Any]],
    ) -> None:
        """Make an engine that looks up recorded answers."""
        self.name = name
        self.abilities = frozenset(settings.abilities)
        self.has_template = settings.has_template
        self.is_single_pass = settings.is_single_pass
        self._answers = answers
        # Two logs of one model may have different answers, so that the name does not identify them.
        self.fingerprint = digest_value([name, sorted(self.abilities), sorted(answers.items())])

    def render(self, prompt: str | Sequence[Message]) -> str:
        """Return a text unchanged, or the turns of a conversation as a text."""
        return render_turns(prompt)

    def likelihoods(self, requests: Sequence[Request], **_: Any) -> Likelihoods:
        """Return the recorded log-likelihoods of the continuations of each request."""
        return self._find_values(LIKELIHOODS, requests)

    def next_words(self, requests: Sequence[Request], **_: Any) -> Likelihoods:
        """Return the recorded log-probabilities of next words."""
        return self._find_values(NEXT_WORDS, requests)

    def generate(self, requests: Sequence[Request], *, options: Generation, **_: Any) -> Answers:
        """Return the recorded answers to each request.

        Args:
            requests: The requests. One that the log does not contain is among the failures.
            options: How the answers were generated, which is part of the key of a request.
        """
        replies: list[list[Reply]] = []
        failures = {}
        for request, key in zip(requests, make_reply_keys(requests, options), strict=True):
            rows = self._answers.get(key, ())
            replies.append([Reply(**row) for row in rows])
            if not rows:
                failures[request.name] = MISSING
        return Answers(replies, failures)

    def _find_values(self, kind: str, requests: Sequence[Request]) -> Likelihoods:
        """Return the recorded log-probabilities and numbers of tokens of continuations.

        Args:
            kind: `LIKELIHOODS` or `NEXT_WORDS`.
            requests: The requests, each a prompt with continuations. A request is among the failures
                if the log lacks one of its continuations.
        """
        log_probabilities: list[float] = []
        token_counts: list[float] = []
        failures = {}
        for request in requests:
            for key in make_value_keys(kind, request):
                # A missing value is NaN, and never read, because its request is a failure.
                log_probability, n_tokens = self._answers.get(key, (np.nan, np.nan))
                log_probabilities.append(log_probability)
                token_counts.append(n_tokens)
                if key not in self._answers:
                    failures[request.name] = MISSING
        counts = [len(request.continuations) for request in requests]
        return Likelihoods(
            values=Ragged.of(np.array(log_probabilities), counts),
            lengths=Ragged.of(np.array(token_counts), counts),
            failures=failures,
        )


def render_turns(prompt: str | Sequence[Message]) -> str:
    """Return a text unchanged, or the turns of a conversation as a text, if its template is hidden."""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(f"{turn['role']}: {turn['content']}" for turn in prompt)


# ---------------------------------------------------------------------------------- records


@dataclasses.dataclass(frozen=True)
class RecordSettings:
    """What all samples of a log with recorded answers share.

    Attributes:
        questions: Question -> its options that are not the default ones.
        prompt: Options of the prompt that are not the default ones.
        abilities: What the model was asked for.
        has_template: Whether conversations were asked.
        is_single_pass: Whether all requests were sent at once, so that none depends on an answer.
        seed: Seed of the items and of all draws.
    """

    questions: Mapping[str, Mapping[str, Any]]
    prompt: Mapping[str, Any]
    abilities: Sequence[Ability]
    has_template: bool
    is_single_pass: bool
    seed: int


def make_record(
    item: Mapping[str, Any],
    number: int,
    settings: RecordSettings,
    answers: Mapping[str, Sequence[Any]],
    arms: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the recorded answers about one item as plain values for the log of its sample.

    Args:
        item: The item, with "id", "prompt", "choices" and "label".
        number: Its number in the task, from 0.
        settings: The settings of the task.
        answers: Key of a request -> its answers, from `RecordingEngine.answers`.
        arms: Answers to changed versions of the item, from `write_arms`. None if the question
            "probes" is not asked.
    """
    return {
        "item": dict(item),
        "number": number,
        "settings": dataclasses.asdict(settings),
        "answers": dict(answers),
        "arms": arms,
    }
