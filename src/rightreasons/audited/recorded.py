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
    """Return a digest of each continuation of a request.

    Requests of several items with one prompt are joined, so that each continuation has its own key.
    """
    parts = []
    # The words decide, and not the name of the request.
    for text in request.continuations:
        parts.append(dataclasses.replace(request, continuations=(text,)))
    return make_keys({"kind": kind}, parts)


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
        for index, request in enumerate(requests):
            # A request that failed is no answer, and would be asked again.
            if request.name in likelihoods.failures:
                continue
            keys = make_value_keys(kind, request)
            values = np.asarray(likelihoods.values[index]).tolist()
            lengths = np.asarray(likelihoods.lengths[index]).tolist()
            for key, value, length in zip(keys, values, lengths, strict=True):
                self.answers[key] = [value, length]
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
        """Return the recorded answers to each request."""
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
        values: list[float] = []
        lengths: list[float] = []
        failures = {}
        for request in requests:
            for key in make_value_keys(kind, request):
                # The values of a request that failed are never read.
                value, length = self._answers.get(key, (np.nan, np.nan))
                values.append(value)
                lengths.append(length)
                if key not in self._answers:
                    failures[request.name] = MISSING
        counts = [len(request.continuations) for request in requests]
        return Likelihoods(
            values=Ragged.of(np.array(values), counts),
            lengths=Ragged.of(np.array(lengths), counts),
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
