"""Answers to the requests of an audit, recorded inside a harness and given again from its log.

A `RecordingEngine` stands between the questions and the model of a harness, and `make_record` is what
the log of a sample gets. A `RecordedEngine` with these answers takes the place of the model, so that
an audit of the log asks the same requests and computes the same figures.
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

MISSING = "The log contains no answer to it."
"""Reason why a request has no answer."""

LIKELIHOODS = "likelihoods"
NEXT_WORDS = "next words"
REPLIES = "replies"
"""Kinds of requests."""

REPLY_FIELDS = ("text", "thinking", "refusal", "finish")
"""Fields of a reply that a log keeps."""


def make_reply_keys(requests: Sequence[Request], options: Generation) -> list[str]:
    """Return a digest of each request for generated answers."""
    # An answer that is drawn belongs to the name of its request, and any other to its words.
    run = {"kind": REPLIES, **options.to_dict(), "drawn": options.temperature > 0}
    return make_keys(run, requests)


def make_value_keys(kind: str, request: Request) -> list[str]:
    """Return a digest of each continuation of a request, by which its values are found in a log.

    Requests of several items with one prompt may be joined, so that each continuation has its own
    key. It depends on the words of the prompt and the continuation, not on the name of the request.

    Args:
        kind: `LIKELIHOODS` or `NEXT_WORDS`.
        request: The request.
    """
    single_requests = []
    for text in request.continuations:
        single_requests.append(dataclasses.replace(request, continuations=(text,)))
    return make_keys({"kind": kind}, single_requests)


class RecordingEngine:
    """An engine that asks another one, and records its answers.

    Args:
        engine: The engine that is asked.

    Attributes:
        answers: Key of a request -> its replies, or of a continuation -> its log-probability and its
            number of tokens.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.answers: dict[str, list[Any]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

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
        """Return and record generated answers."""
        answers = self._engine.generate(requests, options=options, **kwargs)
        keys = make_reply_keys(requests, options)
        for key, replies in zip(keys, answers.replies, strict=True):
            # Failures are asked again by a later run.
            if replies:
                self.answers[key] = [write_reply(reply) for reply in replies]
        return answers

    def _record_values(
        self, kind: str, requests: Sequence[Request], likelihoods: Likelihoods
    ) -> Likelihoods:
        """Record the log-probability and the number of tokens of each continuation.

        Args:
            kind: `LIKELIHOODS` or `NEXT_WORDS`.
            requests: N requests.
            likelihoods: Their values, which are returned as they are.
        """
        for index, request in enumerate(requests):
            # A request that failed has no values, and is asked again by a later run.
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
        # Logs have thousands of replies, most of which have only a text.
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
        self.name = name
        self.abilities = frozenset(settings.abilities)
        self.has_template = settings.has_template
        self.is_single_pass = settings.is_single_pass
        self._answers = answers
        # Logs of one model may have other answers, which are other models for stored results.
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
            requests: The requests. One that the log does not contain is a failure, as a request that
                a model cannot answer.
            options: How the answers were generated, which is part of the key of a request.
        """
        replies: list[list[Reply]] = []
        failures = {}
        for request, key in zip(requests, make_reply_keys(requests, options), strict=True):
            rows = self._answers.get(key, ())
            replies.append([Reply(**row) for row in rows])
            # As with a model, a request without an answer is a failure, and no error.
            if not rows:
                failures[request.name] = MISSING
        return Answers(replies, failures)

    def _find_values(self, kind: str, requests: Sequence[Request]) -> Likelihoods:
        """Return the recorded values of the continuations of some requests.

        Args:
            kind: `LIKELIHOODS` or `NEXT_WORDS`.
            requests: The requests. One of which a value is missing is among the failures.
        """
        log_probabilities: list[float] = []
        token_counts: list[float] = []
        failures = {}
        for request in requests:
            for key in make_value_keys(kind, request):
                # NaN keeps the place of a missing value, which is never read.
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
    """Return what the log of a sample gets, as plain values.

    Args:
        item: The item {id, prompt, choices, label}.
        number: Its number in the task, from 0.
        settings: The settings of the task.
        answers: From `RecordingEngine.answers`.
        arms: Answers to its changed versions, from `write_arms`. None if the probes are not asked.
    """
    return {
        "item": dict(item),
        "number": number,
        "settings": dataclasses.asdict(settings),
        "answers": dict(answers),
        "arms": arms,
    }
