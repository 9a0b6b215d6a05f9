"""An engine behind an OpenAI-compatible server: vLLM, SGLang, llama.cpp, TGI, `transformers serve`, hosted APIs."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import OptionError
from rightreasons.core.extras import require_package
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.replies import Reply
from rightreasons.core.resampling import item_rng
from rightreasons.core.sentences import escape_name
from rightreasons.core.store import digest_value
from rightreasons.core.validation import check_one_of
from rightreasons.models.protocol import Ability, Answers, Generation, Likelihoods, Message, Request
from rightreasons.models.running import progress_bar
from rightreasons.models.servers.client import (
    CHAT,
    BadReplyError,
    Client,
    Endpoint,
    RequestError,
    first_words,
    flown,
    unwrapped,
)
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
from rightreasons.models.servers.options import INSPECT, ServerOptions
from rightreasons.models.servers.planning import (
    ECHOES,
    N_SAMPLED_PROMPTS,
    PART,
    SINGLE_TOKENS,
    estimate_cost,
    has_single_tokens,
    list_echoes,
    make_keys,
)
from rightreasons.models.servers.tokens import estimate_prompt_tokens
from rightreasons.models.servers.trial import kept_trial
from rightreasons.models.servers.usage import Usage
from rightreasons.models.wording import SWITCHED

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.protocol import HowToKeep

Answered = tuple[dict[int, Row], dict[str, str]]
"""The row of each request that has an answer, by its place; and why the others have none, by their names."""


@accept_options_as_keywords(ServerOptions)
def open_server(
    url: str,
    *,
    options: ServerOptions,
    chat: str = "auto",
    thinking: str = "auto",
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> ServerEngine:
    """Open a server, and try what it can be asked.

    Args:
        url: The address of the API, such as http://127.0.0.1:8000/v1.
        options: How it is asked; other arguments are those of `ServerOptions`, in its place.
        chat: "on" asks conversations, "off" texts; "auto" (default) conversations where the server takes them.
        thinking: "on" or "off" turns thinking on or off, as the trial finds out how; a number is the most tokens of it;
            "auto" (default) leaves it to the server.
        progress: Whether to say on standard error what was found, and what runs cost.
        out: A folder of answers. What was spent there counts for `max_price`, and the cost of the trial is written
            there. None if it is not known yet.

    Returns:
        The engine; its abilities are those that passed the trial.

    Raises:
        ValueError: If the server cannot be reached, refuses the key, has no such model, or generates nothing.
    """
    check_one_of(chat, SWITCHED, "chat")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise OptionError(
            "Expected one process for a server, which answers several requests at once: use `in_flight`.",
            option="in_flight",
        )
    client_class: type[Client] = Client
    if url.startswith(INSPECT):
        require_package("inspect_ai")
        from rightreasons.models.servers.providers import Provider

        client_class = Provider
    client = client_class(url, options)
    if progress:
        print(f"Trying {client.url} by at most some thirty short requests …", file=sys.stderr)
    try:
        model = _model(client)
        with _record_trial(client, out):
            endpoint = kept_trial(client, model, thinking, chat)
    except RequestError as failure:
        raise ValueError(
            f"Expected an answer from {client.url}, but {failure}.{_hint(client)}"
        ) from failure
    if not endpoint.works:
        words = " ".join(finding.words for finding in endpoint.findings)
        raise ValueError(
            f"Expected {client.url} to generate text with the model {model!r}, but it does not: {words}{_hint(client)}"
        )
    engine = ServerEngine(endpoint, is_trial_recorded=out is not None)
    if progress:
        print(engine.findings(), file=sys.stderr)
    return engine


@contextlib.contextmanager
def _record_trial(client: Client, out: str | os.PathLike[str] | None) -> Iterator[None]:
    """Write what a trial costs into the journal of a folder, request by request."""
    if out is None:
        yield
        return
    with client.open_journal(out).open() as journal:
        client.write_trial_cost = lambda kind, usage: journal.write(
            TRIAL, None, kind, client.url, usage
        )
        client.begin()
        try:
            yield
        finally:
            client.write_trial_cost = None


class ServerEngine:
    """A language model behind a server; made by `open_server`.

    Args:
        endpoint: How the server is asked, as its trial found.
        is_trial_recorded: Whether the cost of the trial is in a journal; the first journal gets it otherwise.

    Attributes:
        name: The name of the model, without the folders of a path.
        abilities: What passed the trial.
        fingerprint: A digest of the address, the model's name, the path and the parameters that it refuses.
        has_template: Whether conversations are asked, rather than texts; the server puts them into the template of its
            model.
        thinks: Whether it thinks before it answers a conversation.
        budget: Tokens that an answer to a conversation needs, as its trial found.
    """

    def __init__(self, endpoint: Endpoint, *, is_trial_recorded: bool = False) -> None:
        self.endpoint, self.client, self.model_name = endpoint, endpoint.client, endpoint.model
        self.name = _get_base_name(self.model_name)
        self.client.retries = self.client.options.retries
        self.client.is_trial = False
        self.has_template = endpoint.path == CHAT
        self.abilities, self.thinks, self.budget = (
            endpoint.abilities,
            endpoint.thinks,
            endpoint.budget,
        )
        way = [endpoint.path, sorted(endpoint.refused), endpoint.extra, self.client.more]
        self.fingerprint = digest_value([self.client.url, self.model_name, *way])
        self._is_trial_recorded = is_trial_recorded
        self._used: dict[Path | None, dict[str, Usage]] = {}

    def render(self, prompt: str | Sequence[Message]) -> str:
        """Return a text unchanged, or a conversation turn by turn: its template is the server's."""
        return (
            prompt
            if isinstance(prompt, str)
            else "\n".join(f"{turn['role']}: {turn['content']}" for turn in prompt)
        )

    def describe(self, out: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """Return the server, its model, what was tried and found, what changed meanwhile, and what it cost.

        Args:
            out: A folder of answers that the costs are about; None for this run as a whole.
        """
        return {
            "server": self.client.url,
            "model": self.model_name,
            "chat": self.has_template,
            "abilities": sorted(self.abilities),
            "thinks": self.thinks,
            "trial": [finding._asdict() for finding in self.endpoint.findings],
            "changes": self.changes(),
            "usage": self._describe_usage(out),
        }

    def _describe_usage(self, out: str | os.PathLike[str] | None) -> dict[str, Any]:
        """Return the cost of the answers that were used, what was spent in a folder, and what this run spent."""
        run = self.client.usage
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

    def findings(self) -> str:
        """Return what the trial found, a line each."""
        able = ", ".join(sorted(self.abilities)).replace("_", " ")
        found = (
            f"  {'yes' if each.passed else 'no '}  {each.part}: {each.words}"
            for each in self.endpoint.findings
        )
        way = "conversations" if self.has_template else "texts"
        return "\n".join(
            [f"{self.name} at {self.client.url} is asked by {way}, for {able}.", *found]
        )

    def changes(self) -> str:
        """Say that the model changed while it was asked; "" where nothing shows it."""
        if len(self.client.served) < 2:
            return ""
        forms = ", ".join(
            f"{count:,} by {form}" for form, count in self.client.served.most_common()
        )
        return f"The model changed between the answers: {forms}."

    def likelihoods(self, requests: Sequence[Request], **how: Unpack[HowToKeep]) -> Likelihoods:
        """Return the log-likelihoods of the continuations of each request.

        The likelihoods of letters and digits, which are single tokens, are among those of the likeliest next tokens,
        so that one request has all. Others are those of an echo of the server.

        Args:
            requests: N requests.
            **how: As `HowToKeep` says; progress also tells what the run costs.

        Raises:
            ValueError: If the server's echo did not pass the trial.
        """

        def ask(request: Request) -> Row:
            rows = self.endpoint.continued(request.prompt, request.continuations)
            for text, row in zip(request.continuations, rows, strict=True):
                if any(value is None or not np.isfinite(value) for value in row.logprobs):
                    raise BadReplyError(
                        f"no log-probability of the first token of {escape_name(repr(text))}"
                    )
            return {
                "values": [float(np.sum(np.array(row.logprobs, dtype=np.float64))) for row in rows],
                "lengths": [float(len(row.tokens)) for row in rows],
            }

        self._check(_NEEDED[ECHOES], requests)
        single_tokens = self._find_single_tokens(requests, **how)
        # A letter that is not among the likeliest tokens is echoed.
        parts = list_echoes(requests, single_tokens)
        rows, part_failures = self._fly(ECHOES, parts, ask, **how)

        values: dict[str, list[float]] = {}
        lengths: dict[str, list[float]] = {}
        for request in requests:
            known = single_tokens.get(request.name, [None] * len(request.continuations))
            values[request.name] = [np.nan if value is None else value for value in known]
            lengths[request.name] = [1.0] * len(known)
        for index, row in rows.items():
            name, _, first = parts[index].name.rpartition(PART)
            indices = slice(int(first), int(first) + len(row["values"]))
            values[name][indices] = row["values"]
            lengths[name][indices] = row["lengths"]
        failures = {part.rpartition(PART)[0]: reason for part, reason in part_failures.items()}
        for name in failures:
            # A request of which one continuation failed has no answer.
            values[name] = [np.nan] * len(values[name])
            lengths[name] = [np.nan] * len(values[name])
        counts = [len(request.continuations) for request in requests]
        return Likelihoods(
            Ragged.of(np.array([value for row in values.values() for value in row]), counts),
            Ragged.of(np.array([length for row in lengths.values() for length in row]), counts),
            failures,
            0,
            self._way("log-probabilities of given texts, reported by the server", ""),
        )

    def _find_single_tokens(
        self, requests: Sequence[Request], **how: Unpack[HowToKeep]
    ) -> dict[str, list[float | None]]:
        """Return the log-probabilities of letters and digits by the names of their requests.

        Those that are not among the likeliest next tokens are None.
        """
        top = self.endpoint.top

        def ask(request: Request) -> Row:
            # As in an echo, a line break stands for no prompt.
            completion = self.endpoint.next_tokens(request.prompt or "\n", top)
            likeliest = completion.tops[0] if completion.tops else {}
            return {"values": [likeliest.get(text) for text in request.continuations]}

        marked = [request for request in requests if self._is_asked_by_single_tokens(request)]
        rows, _ = self._fly(SINGLE_TOKENS, marked, ask, settings={"top": top}, **how)
        return {marked[index].name: list(row["values"]) for index, row in rows.items()}

    def _is_asked_by_single_tokens(self, request: Request) -> bool:
        return "next_words" in self.abilities and has_single_tokens(request)

    def plan_requests(
        self, requests: Sequence[Request], kind: str
    ) -> list[tuple[str, Sequence[Request]]]:
        """Return the requests that are sent for others, by their kinds."""
        if kind != ECHOES:
            return [(kind, requests)]
        marked = [request for request in requests if self._is_asked_by_single_tokens(request)]
        others = [request for request in requests if not self._is_asked_by_single_tokens(request)]
        return [(SINGLE_TOKENS, marked), (ECHOES, list_echoes(others))]

    def sample_prompts(self, requests: Sequence[Request]) -> None:
        """Send a few prompts for a single token each, to learn how many tokens the server bills."""
        ordered = sorted(requests, key=lambda request: estimate_prompt_tokens(request.prompt))
        for number in range(N_SAMPLED_PROMPTS):
            prompt = ordered[len(ordered) * (2 * number + 1) // (2 * N_SAMPLED_PROMPTS)].prompt
            # What fails here would fail in the run, which says so.
            with contextlib.suppress(RequestError, BadReplyError):
                self.endpoint.ask(prompt, max_tokens=1, temperature=0.0)

    def next_words(self, requests: Sequence[Request], **how: Unpack[HowToKeep]) -> Likelihoods:
        """Return the log-probability of the first token of each continuation, from the likeliest next tokens.

        Args:
            requests: N requests.
            **how: As `HowToKeep` says; progress also tells what the run costs.

        Raises:
            ValueError: If the server's likeliest tokens did not pass the trial, or two continuations of a request
                begin with the same token.
        """
        top = self.endpoint.top

        def ask(request: Request) -> Row:
            completion = self.endpoint.next_tokens(request.prompt, top)
            likeliest = completion.tops[0] if completion.tops else {}
            values = first_words(likeliest, request.continuations)
            if not likeliest:
                raise BadReplyError("no likeliest tokens, as the model ends its answer at once")
            if not np.isfinite(values).any():
                raise BadReplyError(
                    f"likeliest tokens that begin no answer: {escape_name(', '.join(map(repr, likeliest)))}"
                )
            return {
                "values": values,
                "lengths": [1.0] * len(values),
                "missing": values.count(-np.inf),
            }

        flown = self._fly("next words", requests, ask, settings={"top": top}, **how)
        return self._likelihoods(
            requests, requests, flown, f"the {top} likeliest next tokens of the server"
        )

    @accept_options_as_keywords(Generation)
    def generate(
        self,
        requests: Sequence[Request],
        *,
        options: Generation,
        progress: bool = True,
        out: str | os.PathLike[str] | None = None,
    ) -> Answers:
        """Return `n` generated answers to each request.

        Args:
            requests: N requests.
            options: How they are generated, or the fields of `Generation` by keyword.
            progress: Whether to show a progress bar, and what the run costs.
            out: A folder for the answers; a later run asks only what has none.

        Raises:
            ValueError: If several answers are drawn from a server that draws only one.
        """
        n = options.n
        if n > 1 and options.temperature > 0 and not self.endpoint.draws:
            raise ValueError(
                f"Expected a server that draws answers for `n` of {n}, but {self.name} repeats one."
            )
        settings: dict[str, Any] = {
            "temperature": options.temperature,
            "max_tokens": options.max_new_tokens,
        }
        settings |= {"stop": list(options.stop)} if options.stop else {}
        settings |= {"top_p": options.top_p} if options.top_p < 1 else {}
        self.endpoint.tags = options.tags

        def ask(request: Request) -> Row:
            # Drawn answers of different items are independent, as those of an engine here are.
            first = options.seed
            if options.temperature > 0:
                first = int(item_rng(options.seed, request.name).integers(2**31 - n))
            held = self.endpoint.constrained(request.continuations) if options.constrained else {}
            how = {**settings, **held}
            replies = [
                self.endpoint.ask(request.prompt, **how, seed=first + number).reply
                for number in range(n)
            ]
            replies = [*map(unwrapped, replies)] if options.constrained else replies
            return {"replies": json.dumps([reply.to_dict() for reply in replies])}

        drawn = {**options.to_dict(), "drawn": options.temperature > 0}
        rows, failures = self._fly(
            "replies", requests, ask, settings=drawn, progress=progress, out=out
        )
        replies: list[list[Reply]] = [[] for _ in requests]
        for item, row in rows.items():
            replies[item] = [Reply.from_dict(each) for each in json.loads(row["replies"])]
        return Answers(replies, failures, 0, self._way("answers generated by the server", ""))

    def cost(self, requests: Sequence[Request], kind: str, settings: Mapping[str, Any]) -> Usage:
        """Return what requests will about cost.

        Args:
            requests: The requests.
            kind: `ECHOES`, `SINGLE_TOKENS`, "next words" or "replies".
            settings: Those of `Generation` for replies; each of its `n` answers is a request.
        """
        return estimate_cost(self.client.tokens, requests, kind, settings)

    def _fly(
        self,
        kind: str,
        requests: Sequence[Request],
        ask: Callable[[Request], Row],
        *,
        settings: Mapping[str, Any] | None = None,
        progress: bool = True,
        out: str | os.PathLike[str] | None = None,
    ) -> Answered:
        """Ask every request once, and return the rows and failures.

        What was asked before, by this run or another one of the same client, is not asked again: equal requests have
        one answer, but for drawn ones, whose seed goes by their names. With `out`, each answer is written when it
        comes; a later run asks only what has no answer yet. A request that fails is not stored.

        Args:
            kind: As of `cost`.
            requests: N requests with unique names.
            ask: Asks a request, and returns its row, of values that JSON has.
            settings: What the answers depend on beside the requests, as of `Generation`; with "drawn", also on their
                names.
            progress: Whether to show a progress bar, and what the run costs.
            out: A folder for the answers, of which all within the work of one report have one file.
        """
        self._check(_NEEDED[kind], requests)
        if not requests:
            return {}, {}
        client = self.client
        settings = settings or {}
        keys = make_keys({"kind": kind, "model": self.fingerprint, **settings}, requests)
        request_by_key = dict(zip(keys, requests, strict=True))
        failures: dict[str, str] = {}
        with self._open_journal(out) as journal:
            self._take_stored(request_by_key, out, journal)
            waiting = {
                key: request for key, request in request_by_key.items() if key not in client.answers
            }
            if waiting:
                client.begin()
                failures = self._send(waiting, kind, ask, settings, journal, progress=progress)
        if waiting and client.ended:
            larger = " with a larger bound" if client.bound else ""
            raise ValueError(
                f"Expected {self.name} to answer everything, but {client.ended}: what was answered is kept, and "
                f"the same command{larger} goes on from there."
            )

        file = None if out is None else find_journal(out)
        used = self._used.setdefault(file, {})
        rows = {}
        for index, key in enumerate(keys):
            if key in client.answers:
                rows[index] = client.answers[key].row
                used[key] = client.answers[key].usage
        failures_by_name = {}
        for request, key in zip(requests, keys, strict=True):
            if key in failures:
                failures_by_name[request.name] = failures[key]
        return rows, failures_by_name

    @contextlib.contextmanager
    def _open_journal(self, out: str | os.PathLike[str] | None) -> Iterator[JournalWriter | None]:
        """Open the journal of a folder, which gets the cost of the trial first; None without a folder."""
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
    ) -> None:
        """Take the answers that a folder has, and copy those that this run knows from another one."""
        if out is None or journal is None:
            return
        answers = self.client.answers
        stored = self.client.open_journal(out).answers
        for key in keys:
            if key in stored:
                answers.setdefault(key, stored[key])
            elif key in answers:
                journal.write(key, answers[key].row, COPIED, self.client.url, answers[key].usage)

    def _send(
        self,
        requests: Mapping[str, Request],
        kind: str,
        ask: Callable[[Request], Row],
        settings: Mapping[str, Any],
        journal: JournalWriter | None,
        *,
        progress: bool,
    ) -> dict[str, str]:
        """Send requests by their keys, keep the answers, and return why the others have none."""
        client = self.client
        before = client.usage

        def write(key: str, row: Row | None, kind: str, usage: Usage) -> None:
            if journal is not None:
                journal.write(key, row, kind, client.url, usage)

        def answer(key: str, request: Request) -> None:
            if client.ended:
                raise RequestError(client.ended)
            highest_cost = self.cost([request], kind, settings)
            client.account.start_meter()
            # A run that is killed leaves this line, so that its cost cannot be forgotten.
            write(key, None, SENT, dataclasses.replace(highest_cost, requests=0, unanswered=1))
            try:
                row = ask(request)
            except Exception:
                write(key, None, FAILED, client.account.read_meter())
                raise
            usage = client.account.read_meter()
            client.answers[key] = Answer(row, usage)
            write(key, row, ANSWERED, usage)

        if progress:
            cost = self.cost([*requests.values()], kind, settings)
            sentence = cost.describe(client.options, is_estimate=True)
            print(f"Asking {self.name}: {sentence}", file=sys.stderr)
        failures = {}
        with (
            contextlib.closing(flown(client, requests, answer)) as flight,
            progress_bar(len(requests), kind, shown=progress) as bar,
        ):
            for key, failure in flight:
                bar.update(1)
                if failure is not None:
                    failures[key] = str(failure)
        used = client.usage - before
        if progress and used.requests:
            print(f"Asked {self.name}: {used.describe(client.options)}", file=sys.stderr)
        return failures

    def _check(self, ability: Ability, requests: Sequence[Request]) -> None:
        way = "conversations" if self.has_template else "texts"
        if any(isinstance(request.prompt, str) == self.has_template for request in requests):
            raise ValueError(
                f"Expected {way}, as {self.name} was opened for, but got the other: see `chat`."
            )
        if ability not in self.abilities:
            failed = [finding for finding in self.endpoint.findings if not finding.passed]
            trouble = " ".join(f"{finding.part}: {finding.words}" for finding in failed)
            raise ValueError(
                f"Expected a server that gives {ability.replace('_', ' ')} of {way}, but the trial of {self.name} "
                f"failed: {trouble}"
            )

    def _likelihoods(
        self, requests: Sequence[Request], parts: Sequence[Request], flown: Answered, way: str
    ) -> Likelihoods:
        """Lay the rows of the parts of all requests out; those that failed have NaN."""
        rows, failures = flown
        missing = sum(row.get("missing", 0) for row in rows.values())
        counts = [len(request.continuations) for request in requests]
        nothing = (dict.fromkeys(_RAGGED, [np.nan] * len(part.continuations)) for part in parts)
        reported = [rows.get(place, empty) for place, empty in enumerate(nothing)]
        values, lengths = (
            Ragged.of(np.concatenate([np.empty(0), *(row[name] for row in reported)]), counts)
            for name in _RAGGED
        )
        note = f"{missing:,} continuations are not among them" if missing else ""
        return Likelihoods(values, lengths, failures, 0, self._way(way, note))

    def _way(self, way: str, note: str) -> str:
        return "; ".join(filter(None, (way, note, self.changes())))


_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)$")
_RAGGED = ("values", "lengths")
_NEEDED: Mapping[str, Ability] = {
    ECHOES: "likelihoods",
    SINGLE_TOKENS: "next_words",
    "next words": "next_words",
    "replies": "text",
}


def _hint(client: Client) -> str:
    return (
        ""
        if client.url.endswith("/v1") or client.url.startswith(INSPECT)
        else " Most addresses end in /v1."
    )


def _get_base_name(model_name: str) -> str:
    """Return the name of a model without the folders of a path, which llama.cpp tells.

    Example:
        >>> _get_base_name("/models/small/Small-1B.gguf"), _get_base_name("org/small-1b")
        ('Small-1B.gguf', 'org/small-1b')
    """
    if model_name.startswith("/"):
        return PurePosixPath(model_name).name
    if PureWindowsPath(model_name).is_absolute():
        return PureWindowsPath(model_name).name
    return model_name


def _model(client: Client) -> str:
    """Return the name of the model to ask: the given one, that of the address, or the only one of the server."""
    if client.options.server_model is not None:
        return client.options.server_model
    # Azure lists its models elsewhere, and the address names the one that is deployed.
    deployment = _DEPLOYMENT.search(client.url)
    if deployment:
        return deployment.group(1)
    try:
        known = client.models()
    except RequestError as failure:
        if failure.ends or failure.status is None:
            raise
        why = f"does not list its models: {failure}.{_hint(client)}"
        raise OptionError(
            f"Expected `server_model`, as {client.url} {why}", option="server_model"
        ) from failure
    if len(known) != 1:
        why = (
            f"has {len(known)} models: {escape_name(', '.join(sorted(known)[:10]), 400) or 'none'}."
        )
        raise OptionError(f"Expected `server_model`, as {client.url} {why}", option="server_model")
    return known[0]
