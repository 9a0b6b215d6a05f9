"""A language model behind an OpenAI-compatible server: `ServerEngine`, made by `open_server`.

Servers are vLLM, SGLang, llama.cpp, TGI, `transformers serve`, hosted APIs, and providers of
inspect_ai. Each public method turns requests into those that are sent, and returns the answers by
request. `_collect` sends the requests that no journal has, and stores each answer with its cost.
The total cost is estimated from the first prompts of the data.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import OptionError
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.replies import Reply
from rightreasons.core.resampling import item_rng
from rightreasons.core.sentences import escape_name
from rightreasons.core.store import digest_value
from rightreasons.models.protocol import Ability, Answers, Generation, Likelihoods, Message, Request
from rightreasons.models.runs.progress import make_request_counter, progress_bar
from rightreasons.models.servers.completions import BadReplyError, find_first_tokens
from rightreasons.models.servers.endpoints import Endpoint, unwrap_answer
from rightreasons.models.servers.flights import send_all
from rightreasons.models.servers.ledger import (
    ANSWERED,
    COPIED,
    FAILED,
    SENT,
    TRIAL,
    Answer,
    JournalWriter,
    Row,
    find_journal,
)
from rightreasons.models.servers.pace import WaitNotice, describe_seconds
from rightreasons.models.servers.planning import (
    ECHOES,
    N_SAMPLED_PROMPTS,
    PART,
    SINGLE_TOKENS,
    PlannedRequests,
    estimate_cost,
    forecast_cost,
    has_single_tokens,
    list_echoes,
    make_keys,
    measure_requests,
    select_samples,
)
from rightreasons.models.servers.refusals import RequestError
from rightreasons.models.servers.usage import Forecast, Usage

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.protocol import HowToKeep

NEXT_WORDS = "next words"
"""Kind of requests for the first token of each continuation."""

REPLIES = "replies"
"""Kind of requests for generated answers."""

ABILITY_BY_KIND: Mapping[str, Ability] = {
    ECHOES: "likelihoods",
    SINGLE_TOKENS: "next_words",
    NEXT_WORDS: "next_words",
    REPLIES: "text",
}
"""Kind of requests -> the ability that they need."""

Collected = tuple[dict[int, Row], dict[str, str]]
"""Index of each answered request -> its row; and name of each other one -> why it has no answer."""


class ServerEngine:
    """A language model behind a server; made by `open_server`.

    Args:
        endpoint: How the server is asked, according to its trial.
        is_trial_recorded: Whether the cost of the trial is in a journal; if not, the first journal
            gets it.

    Attributes:
        name: Name of the model, without the folders of a path.
        abilities: What passed the trial.
        fingerprint: Digest of the address, the model's name, the path and the parameters that it
            refuses.
        has_template: Whether conversations are asked, rather than texts; the server puts them into
            the template of its model.
        thinks: Whether it thinks before it answers a conversation.
        budget: Tokens that an answer to a conversation needs, according to the trial.
        n_sampled: Number of prompts that plans sent to learn what others cost.
        sent_keys: Keys of the requests that this run has sent, and that were answered.
    """

    def __init__(self, endpoint: Endpoint, *, is_trial_recorded: bool = False) -> None:
        """Copy the results of the trial. Further requests use the retries of the options.

        Args:
            endpoint: The tested endpoint: address, client, abilities and refused parameters.
            is_trial_recorded: Whether the costs of the trial are already in a journal.
        """
        self.endpoint = endpoint
        self.client = endpoint.client
        self.model_name = endpoint.model
        self.name = _get_base_name(self.model_name)
        # The trial is over: it repeats a failing request less often, to end soon.
        self.client.max_retries = self.client.options.retries
        self.client.is_trial = False
        self.has_template = endpoint.is_chat
        self.abilities = endpoint.abilities
        self.thinks = endpoint.thinks
        self.budget = endpoint.budget
        path = [endpoint.path, sorted(endpoint.refused), endpoint.extra, self.client.extra]
        self.fingerprint = digest_value([self.client.url, self.model_name, *path])
        self._is_trial_recorded = is_trial_recorded
        # Letters that were not among the likeliest tokens of some prompt.
        self._missed_tokens: set[str] = set()
        self.n_sampled = 0
        self.sent_keys: set[str] = set()
        # Journal -> the answers of this run by their keys, with their costs.
        self._used: dict[Path | None, dict[str, Usage]] = {}

    # --- Descriptions

    def render(self, prompt: str | Sequence[Message]) -> str:
        """Return a prompt as one string: a text unchanged, or the turns of a conversation as lines.

        The server has the chat template, which is not known here.
        """
        if isinstance(prompt, str):
            return prompt
        lines = []
        for turn in prompt:
            lines.append(f"{turn['role']}: {turn['content']}")
        return "\n".join(lines)

    def describe(self, out: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Describe the server, its trial and its costs, for a report.

        Args:
            out: Folder of answers whose costs are described. None for all answers of this run.

        Returns:
            `server`, `model`, `chat`, `abilities` and `thinks`; `trial`, a list with the finding of
            each part of the trial; `changes`, a sentence if the model changed during the run; and
            `usage`, the costs.
        """
        return {
            "server": self.client.url,
            "model": self.model_name,
            "chat": self.has_template,
            "abilities": sorted(self.abilities),
            "thinks": self.thinks,
            "trial": [finding._asdict() for finding in self.endpoint.findings],
            "changes": self.describe_changes(),
            "usage": self._describe_usage(out),
        }

    def _describe_usage(self, out: str | os.PathLike[str] | None) -> dict[str, Any]:
        """Return the costs of answers, as counts of requests and tokens with their price.

        Args:
            out: Folder of answers. None for all answers of this run.

        Returns:
            `report`, the costs of the answers that this run uses, including those that an earlier
            run paid for; `folder`, all costs that are recorded in the folder; and `run`, the costs
            of this run.
        """
        run = self.client.usage
        # Without a folder, only this run is known.
        folder = run
        costs: dict[str, Usage] = {}
        if out is None:
            for used in self._used.values():
                costs |= used
        else:
            costs = self._used.get(find_journal(out), {})
            journal = self.client.open_journal(out)
            journal.read()
            folder = journal.compute_spent(self.client.url)
        options = self.client.options
        return {
            "report": sum(costs.values(), Usage()).to_dict(options),
            "folder": folder.to_dict(options),
            "run": run.to_dict(options),
        }

    def describe_trial(self) -> str:
        """Return a text on the trial of the server, with one line for each part."""
        abilities = ", ".join(sorted(self.abilities)).replace("_", " ")
        form = "conversations" if self.has_template else "texts"
        lines = [f"{self.name} at {self.client.url} takes {form}, and returns {abilities}."]
        for finding in self.endpoint.findings:
            mark = "yes" if finding.passed else "no "
            lines.append(f"  {mark}  {finding.part}: {finding.words}")
        return "\n".join(lines)

    def describe_changes(self) -> str:
        """Return a sentence if replies came from several models or versions; otherwise "".

        Replies state the name of the model, and some servers a fingerprint of its version.
        """
        if len(self.client.served) < 2:
            return ""
        parts = []
        # The name of a model, perhaps with its fingerprint -> number of its replies.
        for model, count in self.client.served.most_common():
            parts.append(f"{count:,} by {model}")
        models = ", ".join(parts)
        return f"The model changed between the answers: {models}."

    def _describe_way(self, *parts: str) -> str:
        """Join descriptions of the computation of answers, and a sentence on changes of the model."""
        return "; ".join(filter(None, [*parts, self.describe_changes()]))

    # --- Log-probabilities

    def likelihoods(self, requests: Sequence[Request], **storage: Unpack[HowToKeep]) -> Likelihoods:
        """Return the log-likelihoods of the continuations of each request.

        Continuations that are letters or digits are single tokens. Their likelihoods are among
        those of the likeliest next tokens, which one request returns. The likelihoods of other
        continuations are from echoes.

        Args:
            requests: N requests.
            **storage: Options of `HowToKeep`; with progress, the costs of the run are shown, too.

        Raises:
            ValueError: If echoes of the server did not pass its trial.
        """
        self._check(ECHOES, requests)
        single_tokens = self._find_single_tokens(requests, **storage)
        # A letter that is not among the likeliest tokens is echoed.
        parts = list_echoes(requests, single_tokens)
        rows, part_failures = self._collect(ECHOES, parts, self._ask_echo, **storage)

        # Name of a request -> a value for each continuation. Those of single tokens, which have a
        # length of 1, are known. The others are filled in from their echoes.
        values: dict[str, list[float]] = {}
        lengths: dict[str, list[float]] = {}
        for request in requests:
            likelihoods = single_tokens.get(request.name, [None] * len(request.continuations))
            values[request.name] = []
            for value in likelihoods:
                values[request.name].append(np.nan if value is None else value)
            lengths[request.name] = [1.0] * len(likelihoods)
        for index, row in rows.items():
            # The name of a part is that of its request, and the index of its first continuation.
            name, _, number = parts[index].name.rpartition(PART)
            start = int(number)
            positions = slice(start, start + len(row["values"]))
            values[name][positions] = row["values"]
            lengths[name][positions] = row["lengths"]
        failures = {}
        for part_name, reason in part_failures.items():
            name, _, _ = part_name.rpartition(PART)
            # If one continuation fails, the whole request does.
            failures[name] = reason
            values[name] = [np.nan] * len(values[name])
            lengths[name] = [np.nan] * len(values[name])
        way = self._describe_way("log-probabilities of given texts, reported by the server")
        return Likelihoods(
            _join_rows(values.values()), _join_rows(lengths.values()), failures, 0, way
        )

    def _ask_echo(self, request: Request) -> Row:
        """Request echoes of the continuations of a request, and return their log-likelihoods.

        An echo is the reply of a server that repeats a prompt with its continuation, and states the
        log-probability of each token of the continuation.

        Args:
            request: A prompt, and the n continuations to score.

        Returns:
            `values`, the log-likelihood of each continuation; and `lengths`, its number of tokens.

        Raises:
            BadReplyError: If a token has no log-probability.
        """
        completions = self.endpoint.request_continuations(request.prompt, request.continuations)
        values = []
        lengths = []
        for text, completion in zip(request.continuations, completions, strict=True):
            logprobs = completion.logprobs
            if any(value is None or not np.isfinite(value) for value in logprobs):
                name = escape_name(repr(text))
                raise BadReplyError(f"no log-probability of the first token of {name}")
            # The logarithm of a product of probabilities is the sum of their logarithms.
            total = np.sum(np.array(logprobs, dtype=np.float64))
            values.append(float(total))
            lengths.append(float(len(completion.tokens)))
        return {"values": values, "lengths": lengths}

    def _find_single_tokens(
        self, requests: Sequence[Request], **storage: Unpack[HowToKeep]
    ) -> dict[str, list[float | None]]:
        """Return the log-probabilities of continuations that are letters or digits.

        Args:
            requests: Requests. Those with other continuations are skipped.
            **storage: Options of `HowToKeep`.

        Returns:
            Name of a request -> log-probability of each continuation, or None if it is not among
            the likeliest next tokens.
        """
        top = self.endpoint.top

        def ask(request: Request) -> Row:
            likeliest = self._request_likeliest(request)
            return {"values": [likeliest.get(text) for text in request.continuations]}

        selected = [request for request in requests if self._is_asked_by_single_tokens(request)]
        rows, _ = self._collect(SINGLE_TOKENS, selected, ask, settings={"top": top}, **storage)
        values = {}
        for index, row in rows.items():
            values[selected[index].name] = list(row["values"])
            self._note_missed_tokens(selected[index], row["values"])
        return values

    def _note_missed_tokens(self, request: Request, values: Sequence[float | None]) -> None:
        """Remember the continuations without a value, which a plan of costs then expects to echo."""
        for text, value in zip(request.continuations, values, strict=True):
            if value is None:
                self._missed_tokens.add(text)

    def _request_likeliest(self, request: Request) -> Mapping[str, float]:
        """Request the likeliest next tokens of a request.

        Returns:
            Token -> log-probability; empty if the model ends its answer at once.
        """
        # As in an echo, an empty prompt is replaced by a line break.
        completion = self.endpoint.request_next_tokens(request.prompt or "\n", self.endpoint.top)
        return completion.tops[0] if completion.tops else {}

    def _is_asked_by_single_tokens(self, request: Request) -> bool:
        return "next_words" in self.abilities and has_single_tokens(request)

    def next_words(self, requests: Sequence[Request], **storage: Unpack[HowToKeep]) -> Likelihoods:
        """Return the log-probability of the first token of each continuation.

        Args:
            requests: N requests.
            **storage: Options of `HowToKeep`; with progress, the costs of the run are shown, too.

        Raises:
            ValueError: If the likeliest tokens of the server did not pass its trial, or two
                continuations of a request begin with the same token.
        """
        top = self.endpoint.top
        rows, failures = self._collect(
            NEXT_WORDS, requests, self._ask_next_words, settings={"top": top}, **storage
        )
        values = []
        lengths = []
        n_missing = 0
        for index, request in enumerate(requests):
            # A request that failed has NaN for each continuation.
            failed_row = [np.nan] * len(request.continuations)
            row = rows.get(index, {"values": failed_row, "lengths": failed_row})
            values.append(row["values"])
            lengths.append(row["lengths"])
            n_missing += row.get("missing", 0)
        note = f"{n_missing:,} continuations are not among them" if n_missing else ""
        way = self._describe_way(f"the {top} likeliest next tokens of the server", note)
        return Likelihoods(_join_rows(values), _join_rows(lengths), failures, 0, way)

    def _ask_next_words(self, request: Request) -> Row:
        """Request the log-probability of the first token of each continuation.

        Args:
            request: A prompt, and the n continuations to score. One request asks for the likeliest
                next tokens after the prompt, among which the continuations are looked up.

        Returns:
            `values`, a log-probability for each continuation, which is minus infinity if the token
            is not among the likeliest ones; `lengths`, ones; and `missing`, the number of infinite
            values.

        Raises:
            BadReplyError: If all values are infinite.
        """
        completion = self.endpoint.request_next_tokens(request.prompt, self.endpoint.top)
        likeliest = completion.tops[0] if completion.tops else {}
        values = find_first_tokens(likeliest, request.continuations)
        if not likeliest:
            raise BadReplyError("no likeliest tokens, as the model ends its answer at once")
        if not np.isfinite(values).any():
            tokens = escape_name(", ".join(map(repr, likeliest)))
            raise BadReplyError(f"likeliest tokens that begin no answer: {tokens}")
        n_missing = values.count(-np.inf)
        return {"values": values, "lengths": [1.0] * len(values), "missing": n_missing}

    # --- Generated answers

    @accept_options_as_keywords(Generation)
    def generate(
        self,
        requests: Sequence[Request],
        *,
        options: Generation,
        progress: bool = True,
        out: str | os.PathLike[str] | None = None,
    ) -> Answers:
        """Return `options.n` generated answers to each request.

        Args:
            requests: N requests.
            options: Options of the generation. Its fields can be given as keywords instead.
            progress: Whether to show a progress bar, and the costs of the run.
            out: Folder for the answers. A later run requests only missing ones.

        Raises:
            ValueError: If several answers are sampled from a server that does not sample.
        """
        if options.n > 1 and options.temperature > 0 and not self.endpoint.draws:
            raise ValueError(
                f"Expected a server that draws answers for `n` of {options.n}, but {self.name} "
                "repeats one."
            )
        self.endpoint.tags = options.tags

        def ask(request: Request) -> Row:
            replies = self._ask_replies(request, options)
            return {"replies": json.dumps([reply.to_dict() for reply in replies])}

        settings = {**options.to_dict(), "drawn": options.temperature > 0}
        rows, failures = self._collect(
            REPLIES, requests, ask, settings=settings, progress=progress, out=out
        )
        # A request without an answer has no replies.
        replies: list[list[Reply]] = [[] for _ in requests]
        for index, row in rows.items():
            for values in json.loads(row["replies"]):
                replies[index].append(Reply.from_dict(values))
        return Answers(replies, failures, 0, self._describe_way("answers generated by the server"))

    def _ask_replies(self, request: Request, options: Generation) -> list[Reply]:
        """Request the answers to a request, one after another.

        Args:
            request: The request.
            options: Number of answers, and how they are generated.

        Returns:
            `options.n` replies.
        """
        seed = options.seed
        # As in a local engine, each item has its own seed, so that samples of different items are
        # independent. The number of the answer is added to it.
        if options.temperature > 0:
            rng = item_rng(options.seed, request.name)
            # The largest seed, too, is below 2^31 after the number of the answer is added.
            seed = int(rng.integers(2**31 - options.n))
        parameters: dict[str, Any] = {
            "temperature": options.temperature,
            "max_tokens": options.max_new_tokens,
        }
        if options.stop:
            parameters["stop"] = list(options.stop)
        if options.top_p < 1:
            parameters["top_p"] = options.top_p
        if options.constrained:
            parameters |= self.endpoint.constrain(request.continuations)
        replies = []
        for number in range(options.n):
            completion = self.endpoint.ask(request.prompt, **parameters, seed=seed + number)
            reply = completion.reply
            if options.constrained:
                reply = unwrap_answer(reply)
            replies.append(reply)
        return replies

    # --- Plans

    def plan_requests(
        self,
        requests: Sequence[Request],
        kind: str,
        settings: Mapping[str, Any] | None = None,
        out: str | os.PathLike[str] | None = None,
    ) -> list[PlannedRequests]:
        """Return the requests that are sent to the server, grouped by their kinds.

        Requests for likelihoods become requests for single tokens, and echoes of continuations.

        Args:
            requests: The requests.
            kind: A key of `ABILITY_BY_KIND`.
            settings: Options of `Generation` as a dictionary, for generated replies.
            out: Folder whose answers are loaded. None for the answers of this run only.
        """
        top_settings = {"top": self.endpoint.top}
        if kind == NEXT_WORDS:
            return [PlannedRequests(kind, top_settings, requests)]
        if kind != ECHOES:
            return [PlannedRequests(kind, settings or {}, requests)]
        by_single_tokens = [
            request for request in requests if self._is_asked_by_single_tokens(request)
        ]
        single_tokens = PlannedRequests(SINGLE_TOKENS, top_settings, by_single_tokens)
        values = self._find_stored_single_tokens(single_tokens, out)
        for request in by_single_tokens:
            # A letter that is not among the likeliest tokens is echoed in addition. Before the
            # answer, these are expected to be the letters that were missed after other prompts.
            if request.name not in values:
                values[request.name] = [
                    None if text in self._missed_tokens else np.nan
                    for text in request.continuations
                ]
        return [single_tokens, PlannedRequests(ECHOES, {}, list_echoes(requests, values))]

    def _find_stored_single_tokens(
        self, plan: PlannedRequests, out: str | os.PathLike[str] | None
    ) -> dict[str, list[float | None]]:
        """Return the log-probabilities of single tokens whose requests are already answered.

        Args:
            plan: Requests for single tokens.
            out: Folder whose answers are loaded. None for the answers of this run only.

        Returns:
            Name of a request -> log-probability of each continuation, or None if it is not among
            the likeliest next tokens.
        """
        self.take_stored(plan, out)
        values = {}
        for key, request in zip(self.make_keys(plan), plan.requests, strict=True):
            answer = self.client.answers.get(key)
            if answer is not None:
                values[request.name] = list(answer.row["values"])
                self._note_missed_tokens(request, answer.row["values"])
        return values

    def make_keys(self, plan: PlannedRequests) -> list[str]:
        """Return the keys under which the answers to planned requests are stored."""
        run = {"kind": plan.kind, "model": self.fingerprint, **plan.settings}
        return make_keys(run, plan.requests)

    def take_stored(self, plan: PlannedRequests, out: str | os.PathLike[str] | None) -> set[str]:
        """Load the stored answers to planned requests, and return the keys of those that are known.

        Estimates of costs are updated by the costs of the loaded answers.

        Args:
            plan: The requests.
            out: Folder whose answers are loaded. None for the answers of this run only.
        """
        keys = self.make_keys(plan)
        if out is not None:
            stored = self.client.open_journal(out).answers
            for key, request in zip(keys, plan.requests, strict=True):
                if key not in stored or key in self.client.answers:
                    continue
                answer = stored[key]
                self.client.answers[key] = answer
                self._learn_cost(request, plan.kind, plan.settings, answer.usage)
        return set(keys) & self.client.answers.keys()

    def needs_samples(self, kind: str, settings: Mapping[str, Any]) -> bool:
        """Return whether an estimate of the costs of requests needs answers to a few of them."""
        if not self.client.tokens.has_prompts:
            return True
        return kind == REPLIES and not self.client.answer_lengths.has(settings)

    def sample(
        self, requests: Sequence[Request], ask: Callable[[Sequence[Request]], object]
    ) -> set[str]:
        """Send a short, a medium and a long request, to estimate the costs of all of them.

        Args:
            requests: Requests of a plan.
            ask: Sends requests, and stores their answers for the run.

        Returns:
            The keys of the requests that were sent. One sample may need several of them.
        """
        samples = select_samples(requests)
        self.n_sampled += len(samples)
        earlier_keys = set(self.sent_keys)
        # An error is ignored, because the same request fails again in the run, which reports it.
        with contextlib.suppress(ValueError):
            ask(samples)
        return self.sent_keys - earlier_keys

    def cost(self, requests: Sequence[Request], kind: str, settings: Mapping[str, Any]) -> Usage:
        """Estimate the highest cost of requests.

        Args:
            requests: The requests.
            kind: A key of `ABILITY_BY_KIND`.
            settings: Options of `Generation` as a dictionary, for generated replies. Each of the
                `n` answers is a request.
        """
        return estimate_cost(self.client.tokens, requests, kind, settings)

    def forecast(
        self, requests: Sequence[Request], kind: str, settings: Mapping[str, Any]
    ) -> Forecast:
        """Estimate the highest and the expected cost of requests, from the arguments of `cost`.

        The expected cost uses the lengths of earlier answers.
        """
        at_most = self.cost(requests, kind, settings)
        return forecast_cost(at_most, self.client.answer_lengths, settings)

    # --- Requests and journals

    def _check(self, kind: str, requests: Sequence[Request]) -> None:
        """Check that the server can answer requests of a kind.

        Args:
            kind: A key of `ABILITY_BY_KIND`, such as "replies".
            requests: The requests.

        Raises:
            ValueError: If the requests are texts, but the server was opened for conversations, or
                vice versa; or if the server lacks the ability that they need.
        """
        form = "conversations" if self.has_template else "texts"
        # A text in a conversation would be put into a chat template.
        if any(isinstance(request.prompt, str) == self.has_template for request in requests):
            raise ValueError(
                f"Expected {form}, as {self.name} was opened for, but got the other: see `chat`."
            )
        ability = ABILITY_BY_KIND[kind]
        if ability in self.abilities:
            return
        # The error quotes the findings of the trial.
        problems = []
        for finding in self.endpoint.findings:
            if not finding.passed:
                problems.append(f"{finding.part}: {finding.words}")
        raise ValueError(
            f"Expected a server that gives {ability.replace('_', ' ')} of {form}, but the trial of "
            f"{self.name} failed: {' '.join(problems)}"
        )

    def _collect(
        self,
        kind: str,
        requests: Sequence[Request],
        ask: Callable[[Request], Row],
        *,
        settings: Mapping[str, Any] | None = None,
        progress: bool = True,
        out: str | os.PathLike[str] | None = None,
    ) -> Collected:
        """Return the answers to requests, and send those requests whose answer is not stored.

        An answer is stored if this run, or another one with the same folder, has requested it.
        Equal requests have one answer. Sampled answers are an exception, because their seed depends
        on the name of the request. With `out`, each answer is written as soon as it arrives.
        Failures are not stored.

        Args:
            kind: A key of `ABILITY_BY_KIND`, such as "replies".
            requests: N requests with unique names.
            ask: Sends a request, and returns its answer as a dictionary of JSON values.
            settings: Values that the answers depend on besides the requests, such as options of
                `Generation`. If "drawn" is among them and true, they also depend on the names.
            progress: Whether to show a progress bar, and the costs of the run.
            out: Folder for the answers. All folders inside the work of one report share a file.

        Raises:
            ValueError: If the server no longer responds, or a limit is reached, before all requests
                are answered.
        """
        self._check(kind, requests)
        if not requests:
            return {}, {}
        settings = settings or {}
        keys = self.make_keys(PlannedRequests(kind, settings, requests))
        request_by_key = dict(zip(keys, requests, strict=True))
        failures: dict[str, str] = {}
        with self._open_journal(out) as journal:
            stored = self._take_stored(keys, out, journal)
            for key in stored:
                self._learn_cost(request_by_key[key], kind, settings, stored[key].usage)
            waiting = {}
            for key, request in request_by_key.items():
                if key not in self.client.answers:
                    waiting[key] = request
            if waiting:
                self.client.begin()
                flight = _Flight(self, kind, ask, settings, journal)
                failures = flight.send(waiting, progress=progress)
        if waiting and self.client.ended:
            # Either a limit was reached, or the server no longer responds.
            larger = " with a larger bound" if self.client.bound else ""
            raise OptionError(
                f"Expected {self.name} to answer everything, but {self.client.ended}. "
                f"Stored answers are kept: repeat the command{larger} to resume.",
                option=("max_price", "max_requests"),
            )
        return self._select_answers(keys, requests, failures, out)

    def _select_answers(
        self,
        keys: Sequence[str],
        requests: Sequence[Request],
        failures: Mapping[str, str],
        out: str | os.PathLike[str] | None,
    ) -> Collected:
        """Return the answers to requests, and record that this run has used them.

        Args:
            keys: N keys of the requests. Equal requests have the same key.
            requests: N requests.
            failures: Key -> reason of requests that failed.
            out: Folder of the answers. The report in it states the costs of the used answers.

        Returns:
            Index of each answered request -> its answer; and name of each other request -> the
            reason.
        """
        journal_file = None
        if out is not None:
            journal_file = find_journal(out)
        used = self._used.setdefault(journal_file, {})
        rows = {}
        reason_by_name = {}
        for index, (key, request) in enumerate(zip(keys, requests, strict=True)):
            if key in failures:
                reason_by_name[request.name] = failures[key]
            answer = self.client.answers.get(key)
            if answer is not None:
                rows[index] = answer.row
                used[key] = answer.usage
        return rows, reason_by_name

    @contextlib.contextmanager
    def _open_journal(self, out: str | os.PathLike[str] | None) -> Iterator[JournalWriter | None]:
        """Open the file of answers in a folder, and yield its writer; None without a folder.

        The costs of the trial are written first, unless they are in a file already.

        Args:
            out: Folder of the journal, a file with all answers and their costs. If None, answers are
                not stored.
        """
        if out is None:
            yield None
            return
        with self.client.open_journal(out).open() as journal:
            if not self._is_trial_recorded and self.client.usage != Usage():
                journal.write(TRIAL, None, TRIAL, self.client.url, self.client.usage)
            self._is_trial_recorded = True
            yield journal

    def _take_stored(
        self,
        keys: Iterable[str],
        out: str | os.PathLike[str] | None,
        journal: JournalWriter | None,
    ) -> dict[str, Answer]:
        """Load the answers that are stored in a folder, and write known answers that it lacks.

        Args:
            keys: Keys of requests.
            out: Folder of the answers. None for no folder.
            journal: Writer of the file of answers in the folder. None for no folder.

        Returns:
            Key -> answer of the requests whose answer was loaded, and was not known before.
        """
        if out is None or journal is None:
            return {}
        answers = self.client.answers
        stored = self.client.open_journal(out).answers
        new_answers = {}
        # Equal requests have the same key, which is processed once.
        for key in dict.fromkeys(keys):
            if key in answers and key not in stored:
                answer = answers[key]
                journal.write(key, answer.row, COPIED, self.client.url, answer.usage)
            elif key in stored and key not in answers:
                new_answers[key] = stored[key]
        answers.update(new_answers)
        return new_answers

    def _learn_cost(
        self, request: Request, kind: str, settings: Mapping[str, Any], usage: Usage
    ) -> None:
        """Update the estimates of tokens by the cost of an answer of an earlier run.

        Args:
            request: The request.
            kind: A key of `ABILITY_BY_KIND`.
            settings: Options of `Generation` as a dictionary, for generated replies.
            usage: Cost of the answer.
        """
        if usage.unreported:
            return
        n_sent, length = measure_requests([request], settings, is_echoed=kind == ECHOES)
        # If several requests were sent, the number of tokens of one prompt is not known.
        if usage.requests == 1 and n_sent == 1:
            self.client.tokens.add_prompt(length, usage.prompt_tokens)
        self.learn_length(kind, settings, usage)

    def learn_length(self, kind: str, settings: Mapping[str, Any], usage: Usage) -> None:
        """Update the estimated length of generated answers by the tokens of some answers."""
        if kind == REPLIES and usage.requests:
            self.client.answer_lengths.add(
                settings, n_answers=usage.requests, n_tokens=usage.answer_tokens
            )


@dataclasses.dataclass(frozen=True)
class _Flight:
    """Sends requests of one kind, and records each step in the file of answers.

    Attributes:
        engine: The engine.
        kind: A key of `ABILITY_BY_KIND`, such as "replies".
        ask: Sends a request, and returns its answer as a dictionary of JSON values.
        settings: Values that the answers depend on besides the requests.
        journal: Writer of the file of answers; None without a folder.
    """

    engine: ServerEngine
    kind: str
    ask: Callable[[Request], Row]
    settings: Mapping[str, Any]
    journal: JournalWriter | None

    def send(self, requests: Mapping[str, Request], *, progress: bool) -> dict[str, str]:
        """Send requests, and store their answers.

        Args:
            requests: Key -> request.
            progress: Whether to show a progress bar, and to print estimated and actual costs.

        Returns:
            Key -> reason of the requests that failed.
        """
        client = self.engine.client
        usage_before = client.usage
        failures: dict[str, str] = {}
        remaining = dict(requests)
        if progress:
            # The estimated price is printed before more than a few requests are sent.
            if len(requests) > N_SAMPLED_PROMPTS and self.engine.needs_samples(
                self.kind, self.settings
            ):
                samples = self._pop_samples(remaining)
                failures |= self._send_all(samples, progress=progress)
            self._announce(list(requests.values()))
        failures |= self._send_all(remaining, progress=progress)
        used = client.usage - usage_before
        if progress and used.requests:
            sentence = used.describe(client.options)
            print(f"Asked {self.engine.name}: {sentence}", file=sys.stderr)
        return failures

    def _pop_samples(self, requests: dict[str, Request]) -> dict[str, Request]:
        """Remove a short, a medium and a long request from a dictionary, and return them.

        The costs of these requests predict those of the remaining ones.

        Args:
            requests: Key -> request, from which the samples are removed.

        Returns:
            Key -> request of the samples. There are more than three if several keys have a request
            of the same name.
        """
        names = {request.name for request in select_samples(list(requests.values()))}
        samples = {}
        for key, request in list(requests.items()):
            if request.name in names:
                samples[key] = requests.pop(key)
        return samples

    def _send_all(self, requests: Mapping[str, Request], *, progress: bool) -> dict[str, str]:
        """Send requests in several threads.

        Args:
            requests: Key -> request.
            progress: Whether to show a progress bar.

        Returns:
            Key -> reason of the requests that failed.
        """
        failures = {}
        client = self.engine.client
        notice = WaitNotice(self.engine.name, lambda: client.latest_failure)
        wait = notice.update if progress else lambda seconds: None
        with (
            contextlib.closing(send_all(client, requests, self._answer, wait)) as outcomes,
            progress_bar(len(requests), self.kind, shown=progress) as bar,
        ):
            advance = make_request_counter(bar)
            for key, failure in outcomes:
                advance(1)
                notice.reset()
                if failure is not None:
                    failures[key] = str(failure)
        return failures

    def _announce(self, requests: Sequence[Request]) -> None:
        """Print what requests will cost, and how long they will take."""
        client = self.engine.client
        forecast = self.engine.forecast(requests, self.kind, self.settings)
        line = f"Asking {self.engine.name}: {forecast.describe(client.options)}"
        seconds = client.pace.estimate_seconds(forecast.expected, client.options.in_flight)
        if seconds is not None:
            line += f" About {describe_seconds(seconds)} at the pace so far."
        print(line, file=sys.stderr)

    def _answer(self, key: str, request: Request) -> None:
        """Send a request, and store its answer with its cost.

        Args:
            key: Key of the request.
            request: The request.

        Raises:
            RequestError: If no more requests may be sent.
        """
        client = self.engine.client
        # Another thread may have reached a limit meanwhile.
        if client.ended:
            raise RequestError(client.ended)
        highest_cost = self.engine.cost([request], self.kind, self.settings)
        client.account.start_meter()
        # If the run is killed now, this line makes sure that the cost is counted.
        self._write(key, None, SENT, dataclasses.replace(highest_cost, requests=0, unanswered=1))
        try:
            row = self.ask(request)
        except Exception:
            self._write(key, None, FAILED, client.account.read_meter())
            raise
        usage = client.account.read_meter()
        if not usage.unreported:
            self.engine.learn_length(self.kind, self.settings, usage)
        client.answers[key] = Answer(row, usage)
        self.engine.sent_keys.add(key)
        self._write(key, row, ANSWERED, usage)

    def _write(self, key: str, row: Row | None, kind: str, usage: Usage) -> None:
        if self.journal is not None:
            self.journal.write(key, row, kind, self.engine.client.url, usage)


def _join_rows(rows: Iterable[Sequence[float]]) -> Ragged:
    """Return rows of numbers, which may differ in length, as one `Ragged` array."""
    values: list[float] = []
    counts = []
    for row in rows:
        values += row
        counts.append(len(row))
    return Ragged.of(np.array(values, dtype=np.float64), counts)


def _get_base_name(model_name: str) -> str:
    """Return the last part of the name of a model if it is an absolute path, as in llama.cpp.

    Example:
        >>> _get_base_name("/models/small/Small-1B.gguf"), _get_base_name("org/small-1b")
        ('Small-1B.gguf', 'org/small-1b')
    """
    if model_name.startswith("/"):
        return PurePosixPath(model_name).name
    if PureWindowsPath(model_name).is_absolute():
        return PureWindowsPath(model_name).name
    return model_name
