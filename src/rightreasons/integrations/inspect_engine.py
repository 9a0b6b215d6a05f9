"""The model of an evaluation of inspect_ai as an engine for the questions of an audit.

Questions are not coroutines, and run in a thread for each sample. `InspectEngine` passes their
requests to the event loop of inspect_ai, so that its limits, cache, retries and transcript apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio.from_thread
import numpy as np
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
)
from inspect_ai.util import collect

from rightreasons.audited.recorded import render_turns
from rightreasons.core.arrays import Ragged
from rightreasons.core.replies import Reply
from rightreasons.core.resampling import item_rng
from rightreasons.core.store import digest_value
from rightreasons.io.harnesses.inspect_logs import inspect_reply
from rightreasons.models.protocol import (
    BRIEF,
    Ability,
    Answers,
    Generation,
    Likelihoods,
    Message,
    Request,
)
from rightreasons.models.servers.completions import find_first_tokens

N_LIKELIEST = 20
"""Number of likeliest tokens that are asked for."""

MESSAGES = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
"""Role of a turn -> the class of its message."""

NO_LETTER = "the likeliest tokens begin no answer"


def make_messages(turns: str | Sequence[Message]) -> list[Any]:
    """Return the turns of a conversation as messages of inspect_ai."""
    # A prompt that is a string is a single message of the user.
    if isinstance(turns, str):
        return [ChatMessageUser(content=turns)]
    return [MESSAGES[turn["role"]](content=turn["content"]) for turn in turns]


class InspectEngine:
    """A model of inspect_ai, for code that runs in a worker thread of its event loop.

    Args:
        model: The model.
        is_scored: Whether it is asked for the log-probabilities of letters, in addition to texts.

    Attributes:
        name: Its name, with the provider.
        abilities: What it is asked for.
        fingerprint: Digest of both.
    """

    has_template = True
    thinks = False
    budget = BRIEF

    def __init__(self, model: Model, *, is_scored: bool) -> None:
        """Make an engine of a model of inspect_ai."""
        self._model = model
        self.name = str(model)
        names: list[Ability] = ["text"]
        if is_scored:
            names.append("next_words")
        self.abilities: frozenset[Ability] = frozenset(names)
        self.fingerprint = digest_value([self.name, names])

    def render(self, prompt: str | Sequence[Message]) -> str:
        """Return the turns of a conversation as a text: its template is the provider's."""
        return render_turns(prompt)

    def likelihoods(self, requests: Sequence[Request], **_: Any) -> Likelihoods:
        """Raise, as providers have no likelihoods of given texts."""
        raise ValueError(f"Expected a model with likelihoods, but {self.name} has none.")

    def next_words(self, requests: Sequence[Request], **_: Any) -> Likelihoods:
        """Return the log-probability of the first token of each continuation.

        Args:
            requests: N requests, each with continuations such as letters.

        Returns:
            The log-probabilities, -inf for a continuation whose first token is not among the
            likeliest ones. A request is among the failures if this is so for all its continuations.
        """
        config = GenerateConfig(max_tokens=1, logprobs=True, top_logprobs=N_LIKELIEST)
        outputs = self._send(requests, [self._drop_temperature(config)] * len(requests))
        rows = []
        failures = {}
        for request, output in zip(requests, outputs, strict=True):
            values = find_first_tokens(_read_likeliest(output), request.continuations)
            if not np.isfinite(values).any():
                failures[request.name] = NO_LETTER
                values = [np.nan] * len(values)
            rows.append(np.array(values))
        counts = [len(row) for row in rows]
        return Likelihoods(
            values=Ragged.of(np.concatenate([np.empty(0), *rows]), counts),
            lengths=Ragged.of(np.ones(sum(counts)), counts),
            failures=failures,
        )

    def generate(self, requests: Sequence[Request], *, options: Generation, **_: Any) -> Answers:
        """Return generated answers to each request.

        Args:
            requests: N requests.
            options: How answers are generated, among them their number n for each request.

        Returns:
            N lists of n replies.
        """
        # Each of the n answers to a request is a separate call, so that all can run concurrently.
        repeated_requests = []
        configs = []
        for request in requests:
            for number in range(options.n):
                repeated_requests.append(request)
                configs.append(self._make_config(request, options, number))
        outputs = self._send(repeated_requests, configs)
        replies: list[list[Reply]] = [[] for _ in requests]
        for index, output in enumerate(outputs):
            # There are `options.n` outputs for the first request, then for the second one, and so on.
            request_index = index // options.n
            replies[request_index].append(inspect_reply(output.model_dump(mode="json")))
        return Answers(replies)

    def _make_config(self, request: Request, options: Generation, number: int) -> GenerateConfig:
        """Return the options of a generated answer as a configuration of inspect_ai.

        Args:
            request: The request, whose name decides the seed of a sampled answer.
            options: How answers are generated.
            number: Number of the answer among those to the request.
        """
        config = GenerateConfig(max_tokens=options.max_new_tokens, temperature=options.temperature)
        # Options without an effect are not sent, because some providers refuse them.
        if options.stop:
            config.stop_seqs = list(options.stop)
        if options.top_p < 1:
            config.top_p = options.top_p
        if options.temperature > 0:
            # With a seed for each request and answer, a provider that supports seeds gives the same
            # answers again.
            rng = item_rng(options.seed, f"{request.name}#{number}")
            config.seed = int(rng.integers(2**31))
        return self._drop_temperature(config)

    def _drop_temperature(self, config: GenerateConfig) -> GenerateConfig:
        """Remove the temperature from a configuration if the model always takes the likeliest tokens."""
        # This is so for a local model with `-M do_sample=false`. transformers refuses a temperature
        # of 0.
        if getattr(self._model.api, "do_sample", None) is False:
            config.temperature = None
            config.top_p = None
        return config

    def _send(
        self, requests: Sequence[Request], configs: Sequence[GenerateConfig]
    ) -> list[ModelOutput]:
        """Return the output to each request, in the order of the requests."""
        # The loop waits for the thread of the sample, which waits here.
        outputs: list[ModelOutput] = anyio.from_thread.run(self._generate_all, requests, configs)
        return outputs

    async def _generate_all(
        self, requests: Sequence[Request], configs: Sequence[GenerateConfig]
    ) -> list[ModelOutput]:
        """Send all requests concurrently, and return their outputs in the order of the requests."""
        # inspect_ai limits the number of concurrent requests to a provider.
        outputs = []
        for request, config in zip(requests, configs, strict=True):
            outputs.append(self._model.generate(make_messages(request.prompt), config=config))
        collected: list[ModelOutput] = await collect(*outputs)
        return collected


def _read_likeliest(output: ModelOutput) -> dict[str, float]:
    """Return token -> log-probability for the likeliest first tokens; empty if there are none."""
    logprobs = output.choices[0].logprobs if output.choices else None
    if logprobs is None or not logprobs.content:
        return {}
    likeliest: dict[str, float] = {}
    for token in logprobs.content[0].top_logprobs or ():
        # The same text may occur twice; the tokens are sorted, the likeliest first.
        likeliest.setdefault(token.token, token.logprob)
    return likeliest
