"""Requests to one server: repeated with growing pauses where that helps, counted, and never with the key in a text."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import math
import os
import queue
import random
import re
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import certifi
import urllib3
from urllib3 import exceptions

from rightreasons.core.replies import Reply, extract_text
from rightreasons.core.sentences import escape_name, format_value
from rightreasons.core.signals import allow_immediate_interrupt
from rightreasons.core.yaml_files import read_yaml
from rightreasons.models.protocol import BRIEF, Ability, Message, Request
from rightreasons.models.servers.ledger import (
    SENT,
    TRIAL,
    Account,
    Answer,
    Journal,
    find_journal,
)
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.redirects import ForeignRedirectError, SameHostRetry
from rightreasons.models.servers.tokens import TokenEstimate, estimate_prompt_tokens
from rightreasons.models.servers.usage import Usage, count_reply_tokens

DIALECTS: Mapping[str, Any] = read_yaml(Path(__file__).with_name("dialects.yaml"))
"""What servers say and want beside the protocol that they share."""

CHAT, TEXT = "/chat/completions", "/completions"

SWITCH_SECONDS = 0.0005
"""How long a thread waits for another one while requests are in flight: a reply that has come is soon followed by the
next request, also while other threads read theirs."""

T = TypeVar("T")

MAX_ESTIMATE_ERROR = 1.3
"""Billed tokens per estimated one that are reserved for a prompt before its reply counts them."""

TRIED_AGAIN = 2

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 120.0
"""Seconds before a failed request is sent again: doubled each time, and never more than a server may ask for."""

_STEEPEST_PAUSE = 8.0
_HEADERS = {"Content-Type": "application/json", "User-Agent": "rightreasons"}
_REDIRECTS = SameHostRetry(
    None, connect=0, read=0, status=0, other=0, redirect=3, respect_retry_after_header=False
)
_REFUSED = (400, 403, 404, 405, 413, 415, 422)
_KEYS = (401, 403)
_API_VERSION = re.compile(r"api-version=[\w.-]+")
_FREE = Usage()


class BadReplyError(ValueError):
    """A reply that is not what an OpenAI-compatible server sends."""


@dataclasses.dataclass(frozen=True)
class Completion:
    """One choice of a reply.

    Attributes:
        reply: What it says.
        tokens: Its tokens, where the server reports them.
        logprobs: The log-probability of each token; None for a token that has none, as the first of an echo.
        tops: The likeliest tokens at each place, token -> log-probability.
    """

    reply: Reply
    tokens: tuple[str, ...] = ()
    logprobs: tuple[float | None, ...] = ()
    tops: tuple[Mapping[str, float], ...] = ()


@contextmanager
def _reading(what: str, value: Any) -> Iterator[None]:
    """Let what cannot be read be a `BadReplyError`."""
    try:
        yield
    except BadReplyError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
        raise BadReplyError(f"{what}: {format_value(value, 120)}") from error


def read_completion(reply: Any, tags: Sequence[tuple[str, str]] = ()) -> Completion:
    """Read the choice of a reply of `/chat/completions` or `/completions`.

    Args:
        reply: The reply.
        tags: (open, close) of thinking that is not usual.

    Raises:
        BadReplyError: If it is no such reply.
    """
    with _reading("a reply without `choices`", reply):
        if reply["choices"] == [] and reply.get(
            "usage"
        ):  # as of Azure and Gemini, where a filter stops the question
            return Completion(Reply(finish="content_filter", usage=count_reply_tokens(reply)))
        choice = reply["choices"][0]
    with _reading("a choice without text", choice):
        message = choice.get("message")
        said = message if isinstance(message, dict) else {"content": choice["text"] + ""}
        if choice.get("finish_reason") in DIALECTS["broken"]:
            raise BadReplyError(f"an answer that ended by {choice['finish_reason']!r}")
    with _reading("log-probabilities that cannot be read", choice.get("logprobs")):
        reported = _read_logprobs(choice.get("logprobs"))
    content = said.get("content")
    thinking = [
        *(extract_text(said.get(name)) for name in DIALECTS["thinking"]),
        extract_text(content, "thinking"),
    ]
    answer = Reply.parse(
        extract_text(content),
        thinking=next(filter(None, thinking), ""),
        refusal=extract_text(said.get("refusal")),
        finish=choice.get("finish_reason"),
        usage=count_reply_tokens(reply),
        tags=tags,
    )
    return Completion(answer, *zip(*reported, strict=True))


def _read_logprobs(reported: Any) -> list[tuple[str, float | None, Mapping[str, float]]]:
    """Read tokens, their log-probabilities and the likeliest: a list, as of chats, or lists by name."""
    if not reported:
        return []
    if reported.get("content") is not None:
        rows = [
            (
                entry["token"],
                entry["logprob"],
                {top["token"]: top["logprob"] for top in entry.get("top_logprobs") or ()},
            )
            for entry in reported["content"]
        ]
    else:
        tokens, values, tops = (
            reported.get(name) or [] for name in ("tokens", "token_logprobs", "top_logprobs")
        )
        rows = [*zip(tokens, values, [*tops, *[None] * (len(tokens) - len(tops))], strict=True)]
    return [
        (
            str(token),
            None if value is None else float(value),
            {str(each): float(top[each]) for each in top or {}},
        )
        for token, value, top in rows
    ]


def continuation(echo: Callable[[str], Completion], prompt: str, text: str) -> Completion:
    """Ask for the echo of a prompt and the text that follows it, and return the tokens of the text.

    A token in which the two meet counts for the text. Where the tokens do not spell the text, as those of a part of a
    letter, the prompt is echoed alone, and the tokens of the text are those that the longer echo has more.

    Args:
        echo: Returns the echo of a text; tokens generated after it do not count.
        prompt: The prompt.
        text: The continuation.

    Raises:
        BadReplyError: If the echo does not hold the text.

    Example:
        >>> def echo(text):
        ...     return Completion(Reply("a bad c"), ("a", " b", "ad", " c"), (None, -1.0, -0.5, -3.0))
        >>> continuation(echo, "a", " bad").logprobs, continuation(echo, "a b", "ad").logprobs
        ((-1.0, -0.5), (-0.5,))
        >>> continuation(echo, "a ", "bad").tokens
        (' b', 'ad')
    """
    completion = echo(prompt + text)
    # A start token is spelled in some echoes, before the text.
    skipped = next(
        (skip for skip in (0, 1) if "".join(completion.tokens[skip:]).startswith(prompt + text)),
        None,
    )
    if skipped is None:
        return added(completion, echo(prompt) if prompt else Completion(Reply()), generated=1)
    ends = list(itertools.accumulate(map(len, completion.tokens[skipped:])))
    first = next(place for place, end in enumerate(ends) if end > len(prompt))
    last = next(place for place, end in enumerate(ends) if end >= len(prompt) + len(text))
    rows = slice(skipped + first, skipped + last + 1)
    return Completion(Reply(), completion.tokens[rows], completion.logprobs[rows])


def added(completion: Completion, alone: Completion, *, generated: int = 0) -> Completion:
    """Return the tokens that an echo has more than that of its prompt alone.

    Args:
        completion: The echo of the prompt and the text that follows it.
        alone: The echo of the prompt.
        generated: How many generated tokens each ends with.

    Raises:
        BadReplyError: If one is not the beginning of the other.
    """
    start, end = max(len(alone.tokens) - generated, 0), len(completion.tokens) - generated
    if end <= start or completion.tokens[: start - 1] != alone.tokens[: start - 1]:
        raise BadReplyError(
            f"an echo that does not hold the text: {format_value(''.join(completion.tokens) or completion.reply.text, 120)}"
        )
    return Completion(Reply(), completion.tokens[start:end], completion.logprobs[start:end])


def read_prompt(reply: Any) -> Completion:
    """Read the `prompt_logprobs` of a reply: each token of the prompt with its log-probability.

    Returns:
        The tokens; none of a server that ignores that they are asked for.

    Raises:
        BadReplyError: If they cannot be read.
    """
    entries = reply.get("prompt_logprobs") if isinstance(reply, dict) else None
    if not isinstance(entries, list):
        return read_completion(reply)
    with _reading("log-probabilities that cannot be read", entries):
        # The first token has no log-probability.
        reported = [next(iter(entry.values())) if entry else None for entry in entries]
        tokens = tuple("" if token is None else str(token["decoded_token"]) for token in reported)
        return Completion(
            Reply(),
            tokens,
            tuple(None if token is None else float(token["logprob"]) for token in reported),
        )


def first_words(top: Mapping[str, float], continuations: Sequence[str]) -> list[float]:
    """Return the log-probability of the first token of each continuation, from the likeliest next tokens.

    The first token of a continuation is the longest one that it begins with; where there is none, spaces at the
    beginning are no matter.

    Args:
        top: Token -> log-probability.
        continuations: Texts.

    Returns:
        One value per continuation; minus infinity where no token begins it.

    Raises:
        ValueError: If two continuations begin with the same token.

    Example:
        >>> first_words({" A": -0.1, "B": -3.0, " ": -5.0}, [" A", " B", " C"])
        [-0.1, -3.0, -inf]
        >>> first_words({" pos": -0.1}, [" positive", " posh"])
        Traceback (most recent call last):
        ...
        ValueError: Expected answers that begin with different tokens, but ' positive' and ' posh' begin with ' pos'.
    """
    taken: dict[str, str] = {}
    values = []
    for text in continuations:
        begun = [token for token in top if token.strip() and text.strip().startswith(token.strip())]
        token = max(
            begun,
            key=lambda token: (text.startswith(token), len(token.strip()), top[token]),
            default="",
        )
        if token and taken.setdefault(token, text) != text:
            raise ValueError(
                f"Expected answers that begin with different tokens, but {taken[token]!r} and {text!r} begin with "
                f"{token!r}."
            )
        values.append(top[token] if token else -math.inf)
    return values


class RequestError(ValueError):
    """Why a request has no answer, as the rest of a sentence.

    Attributes:
        status: The HTTP status; None where there was no reply.
        ends: Whether no other request can be answered either.
        wait: Seconds after which the server lets it be sent again; None where it does not say.
        is_billed: Whether the server may bill it, as it was sent and no reply came.
    """

    def __init__(
        self,
        reason: str,
        *,
        status: int | None = None,
        ends: bool = False,
        wait: float | None = None,
        is_billed: bool = False,
    ) -> None:
        super().__init__(reason)
        self.status, self.ends, self.wait = status, ends, wait
        self.is_billed = is_billed

    @property
    def gone(self) -> bool:
        """Whether the server failed, rather than this request."""
        return self.status is None or self.status in (*_KEYS, 429) or self.status >= 500


class Client:
    """One server, asked from several threads.

    Args:
        url: The address of the server's API, such as http://127.0.0.1:8000/v1.
        options: How it is asked.

    Attributes:
        account: What was spent so far, and the bounds on it.
        tokens: Estimate of prompt tokens, corrected by what the server billed.
        is_trial: Whether requests are those of a trial.
        served: The model's name and `system_fingerprint`, as replies tell them -> how many replies did.
        more: What every request holds beside what is asked.
        retries: How often a request that fails is repeated: in a trial less often than the options say, as what a
            server does not support is an error of its own on some, however often it is asked.
        ended: Why no more requests are sent; "" while they are.
        bound: The bound that was reached; "" for none.
        answers: The answers so far, by what was asked (`make_keys`).
        journals: The files of answers that were read, by their paths.
        write_trial_cost: Called with the kind and the cost of each request of a trial; None after it.

    Raises:
        ValueError: If the address is none, or holds a secret.
    """

    failing: tuple[type[Exception], ...] = (exceptions.HTTPError, ValueError, OSError)
    """Errors of a request."""

    def __init__(self, url: str, options: ServerOptions) -> None:
        self.options = options
        self.account = Account(options)
        self.served: Counter[str] = Counter()
        self.tokens, self.is_trial = TokenEstimate(), True
        self.ended, self.bound = "", ""
        self.more, self.retries = options.more(), min(TRIED_AGAIN, options.retries)
        self._key = options.key()
        headers, secrets = options.headers()
        self._secrets = [secret for secret in (self._key, *secrets) if secret]
        self.url = self._connect(url, headers)
        self._lock = threading.Lock()
        self._next_turn = 0.0
        self.answers: dict[str, Answer] = {}
        self.journals: dict[Path, Journal] = {}
        self.write_trial_cost: Callable[[str, Usage], None] | None = None
        self._stop = threading.Event()

    def _connect(self, url: str, headers: Mapping[str, str]) -> str:
        """Connect to a server, and return its address."""
        url, self._query = split_address(url)
        self._headers = urllib3.HTTPHeaderDict(_HEADERS)
        self._headers.update({"Authorization": f"Bearer {self._key}"} if self._key else {})
        self._headers.update(headers)
        how: dict[str, Any] = {"timeout": self.options.timeout, "maxsize": self.options.in_flight}
        how |= {
            "retries": _REDIRECTS,
            "ca_certs": os.environ.get("SSL_CERT_FILE") or certifi.where(),
        }
        parts, proxies = urllib.parse.urlsplit(url), urllib.request.getproxies()
        proxy = proxies.get(parts.scheme, proxies.get("all"))
        if proxy and not urllib.request.proxy_bypass(str(parts.hostname)):
            account = urllib3.make_headers(proxy_basic_auth=urllib3.util.parse_url(proxy).auth)
            self._pool: urllib3.PoolManager = urllib3.ProxyManager(
                proxy, proxy_headers=account, **how
            )
        else:
            self._pool = urllib3.PoolManager(**how)
        return url

    def _send(self, path: str, body: Mapping[str, Any] | None) -> Any:
        """Send a request once, and return the reply."""
        data = None if body is None else json.dumps(body).encode()
        method = "GET" if body is None else "POST"
        try:
            reply = self._pool.request(
                method, self.url + path + self._query, body=data, headers=self._headers
            )
        except ForeignRedirectError as error:
            # The server would send every other request there, too.
            raise RequestError(str(error), ends=True) from None
        try:
            answer = json.loads(reply.data)
        except ValueError:
            answer = reply.data.decode("utf-8", "replace")
            if reply.status < 300:
                raise BadReplyError(f"what is no JSON: {format_value(answer, 120)}") from None
        status = reply.status if reply.status >= 300 else _told_status(answer)
        if status >= 300:
            raise self._refusal(status, answer, reply.headers)
        return answer

    def models(self) -> list[str]:
        """Return the names of the server's models.

        Raises:
            RequestError: If the server does not list them.
        """

        def names(reply: Any) -> list[str]:
            with _reading("a list of models without `data`", reply):
                return [str(entry["id"]) for entry in reply["data"] if "id" in entry]

        known = self._repeat(lambda: self._send("/models", None), names)
        self.account.n_sent = 0  # a list of models is free
        return known

    def ask(self, path: str, body: dict[str, Any], read: Callable[[Any], T]) -> T:
        """Send a request and read its reply, again where that may help.

        Args:
            path: "/completions" or "/chat/completions".
            body: The request.
            read: Reads the reply; where it raises `BadReplyError`, the request is sent again.

        Raises:
            RequestError: If there is no answer.
        """
        estimated = estimate_prompt_tokens(body["prompt"] if "prompt" in body else body["messages"])
        corrected = self.tokens.correct(estimated)

        def count(reply: Any) -> T:
            try:
                value = read(reply)
            except BadReplyError:
                # Tokens of a reply that cannot be read are billed, too.
                if isinstance(reply, dict) and "usage" in reply:
                    self.account.add(
                        dataclasses.replace(Usage.from_reply(reply, corrected), requests=0)
                    )
                raise
            used = Usage.from_reply(reply, corrected)
            self.account.add(used)
            names = (reply.get("model"), reply.get("system_fingerprint"))
            with self._lock:
                if not used.unreported:
                    add = self.tokens.add_short_prompt if self.is_trial else self.tokens.add_prompt
                    add(estimated, used.prompt_tokens)
                self.served[" ".join(self._say(name) for name in names if name)] += 1
            return value

        n_tokens = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        highest_cost = Usage(
            prompt_tokens=round(MAX_ESTIMATE_ERROR * corrected),
            answer_tokens=n_tokens,
            unanswered=1,
        )
        if self.write_trial_cost is None:
            return self._repeat(lambda: self._send(path, body), count, highest_cost)
        # A trial has no answers in whose lines its costs could be.
        self.account.start_meter()
        self.write_trial_cost(SENT, highest_cost)
        try:
            return self._repeat(lambda: self._send(path, body), count, highest_cost)
        finally:
            self.write_trial_cost(TRIAL, self.account.read_meter())

    @property
    def usage(self) -> Usage:
        """What this run asked so far."""
        return self.account.usage

    def begin(self) -> None:
        """Send requests again, also after the server had failed."""
        self.ended = self.bound = self.account.find_reached_bound()
        if not self.ended:
            self._stop.clear()

    def open_journal(self, out: str | os.PathLike[str]) -> Journal:
        """Return the journal of a folder; what earlier runs spent there counts for the bounds."""
        file = find_journal(out)
        if file not in self.journals:
            journal = self.journals[file] = Journal(file)
            journal.read()
            self.account.earlier += journal.compute_spent(self.url)
        return self.journals[file]

    def end(self, reason: str) -> None:
        """Send no more requests; each further one fails at once for this reason."""
        self.ended = self.ended or reason
        self._stop.set()

    def _repeat(
        self, send: Callable[[], Any], read: Callable[[Any], T], highest_cost: Usage = _FREE
    ) -> T:
        """Send a request until it is answered; its highest possible cost is reserved meanwhile."""
        pause = FIRST_PAUSE
        for attempt in range(self.retries + 1):
            self._wait_for_turn(highest_cost)
            try:
                return read(send())
            except RequestError as error:  # it says itself what it is
                failure = error
            except self.failing as error:
                failure = self._failure(error, last=attempt == self.retries)
                if failure.is_billed:
                    self.account.add(highest_cost)
            finally:
                self.account.release(highest_cost)
            if failure.status in _REFUSED or failure.ends or self.ended or attempt == self.retries:
                break
            self.account.add(Usage(repeated=1))
            seconds = failure.wait
            if seconds is None:
                seconds = pause * random.uniform(0.75, 1.25)  # noqa: S311
            self._stop.wait(seconds)
            pause = min(2 * pause, _STEEPEST_PAUSE)
        if attempt and failure.status not in _REFUSED:
            failure.args = (f"{failure} ({attempt + 1} attempts)",)
        if failure.ends:
            self.end(str(failure))
        raise failure

    def _wait_for_turn(self, highest_cost: Usage) -> None:
        """Wait until another request may be sent, after the pause that the server asks for."""
        self._stop.wait(max(0.0, self._next_turn - time.monotonic()))
        if not self.ended:
            reached = self.account.reserve(highest_cost)
            if not reached:
                return
            self.bound = reached
            self.end(reached)
        raise RequestError(self.ended)

    def _failure(self, error: Exception, *, last: bool) -> RequestError:
        """Return why a request failed that has no reply, or one that cannot be read."""
        if isinstance(error, exceptions.MaxRetryError):
            error = error.reason or error
        cause = self._say(error.__cause__ or next(reversed(error.args), error))
        if isinstance(
            error, (exceptions.NewConnectionError, exceptions.SSLError, exceptions.ProxyError)
        ):
            return RequestError(f"the server cannot be reached: {cause}", ends=last)
        if isinstance(error, exceptions.TimeoutError):
            return RequestError(f"no reply within {self.options.timeout} s", is_billed=True)
        if isinstance(error, (exceptions.HTTPError, OSError)):
            return RequestError(f"the connection ended: {cause}", is_billed=True)
        return RequestError(f"the server sent {self._say(error)}")

    def _refusal(self, status: int, body: Any, headers: Mapping[str, str]) -> RequestError:
        """Return why a request failed, as its status and what the server says tell."""
        message, code = _message(body)
        message = self._say(message or f"status {status}")
        # Of a key that was good for other requests, 403 is about this one.
        if status in _KEYS and not (status in _REFUSED and self.usage.requests):
            variable = self.options.key_variable
            known = (
                f"refuses the key in {variable}"
                if self._key
                else f"asks for a key, and {variable} holds none"
            )
            return RequestError(
                f"the server {known} ({status}: {message})", status=status, ends=True
            )
        if status in _REFUSED:
            return RequestError(
                f"the server refuses the request ({status}: {message})", status=status
            )
        if code == "insufficient_quota":
            return RequestError(
                f"the quota of the key is used up ({message})", status=status, ends=True
            )
        wait = _retry_after(headers)
        if wait is not None and wait > LONGEST_PAUSE:
            reason = f"the server asks to be left alone for {wait:,.0f} s ({status}: {message})"
            return RequestError(reason, status=status, ends=True)
        with self._lock:
            self._next_turn = (
                max(self._next_turn, time.monotonic() + wait)
                if wait is not None
                else self._next_turn
            )
        return RequestError(f"the server answers {status}: {message}", status=status, wait=wait)

    def _say(self, value: object) -> str:
        """Return what somebody else says, in one line and without the key and other secrets."""
        text = " ".join(str(value).split()).rstrip(".") or type(value).__name__
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return escape_name(text, max_chars=200)


def split_address(url: str) -> tuple[str, str]:
    """Return the address of a server without its query, and the query.

    A query may only be the version of the API, as of Azure: others may hold secrets.

    Raises:
        ValueError: If it is no address of http or https, or holds a password or another query, which reports would show.

    Example:
        >>> split_address("http://127.0.0.1:8000/v1/")
        ('http://127.0.0.1:8000/v1', '')
        >>> split_address("https://my.openai.azure.com/openai/deployments/small?api-version=2024-10-21")
        ('https://my.openai.azure.com/openai/deployments/small', '?api-version=2024-10-21')
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            f"Expected the address of a server, such as http://127.0.0.1:8000/v1, but got {escape_name(url)!r}."
        )
    query = ""
    if _API_VERSION.fullmatch(parts.query):
        query = f"?{parts.query}"
    if parts.username or parts.password or parts.fragment or (parts.query and not query):
        raise ValueError(
            f"Expected the bare address of a server, but that of {parts.hostname} holds more, which a report would "
            "show: give a key by an environment variable."
        )
    path = re.sub("/(?:(?:chat/)?completions|models)$", "", parts.path.rstrip("/"))
    return f"{parts.scheme}://{parts.netloc}{path}", query


def _message(body: Any) -> tuple[str, str]:
    """Return what a server says of an error, and its code for it."""
    code = ""
    for _ in range(3):  # [{"error": {"message": …}}], {"message": …}, {"detail": …}, or text
        if isinstance(body, list) and len(body) == 1 and "error" in body[0]:
            body = body[0]
        if isinstance(body, dict):
            code = str(body.get("code") or code)
            body = next(
                (body[name] for name in ("error", "message", "detail") if body.get(name)), body
            )
    return str(body or ""), code


def _told_status(reply: Any) -> int:
    """Return the status that an error has which comes with status 200, as of OpenRouter and LM Studio."""
    error = (
        reply.get("error")
        if isinstance(reply, dict) and not {"choices", "data"} & reply.keys()
        else None
    )
    code = error.get("code") if isinstance(error, dict) else 404
    return 200 if not error else code if isinstance(code, int) and 400 <= code < 600 else 500


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a `Retry-After` header; None where there is none that can be read."""
    after = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(after))
    with contextlib.suppress(exceptions.InvalidHeader):
        return _REDIRECTS.parse_retry_after(after)
    return None


CONSTRAINTS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "structured_outputs": lambda answers: {"choice": answers},
    "guided_choice": lambda answers: answers,
    "grammar": lambda answers: (
        "root ::= " + " | ".join(json.dumps(answer, ensure_ascii=False) for answer in answers)
    ),
    "response_format": lambda answers: {"type": "json_schema", "json_schema": _schema(answers)},
}
"""How servers are told to hold an answer to some: vLLM today and before, llama.cpp, and OpenAI, which writes JSON."""


def _schema(answers: Sequence[str]) -> Mapping[str, Any]:
    fields = {"type": "object", "required": ["answer"], "additionalProperties": False}
    fields_here = {**fields, "properties": {"answer": {"type": "string", "enum": list(answers)}}}
    return {"name": "answer", "strict": True, "schema": fields_here}


def unwrapped(reply: Reply) -> Reply:
    """Return a reply with the answer in place of the JSON object that holds it; as it is where it is none.

    Example:
        >>> unwrapped(Reply('{"answer": "B"}')).text, unwrapped(Reply("B")).text
        ('B', 'B')
    """
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return dataclasses.replace(reply, text=str(json.loads(reply.text)["answer"]))
    return reply


class Finding(NamedTuple):
    """What one part of the trial of a server found.

    Attributes:
        part: What was tried.
        passed: Whether it may be relied upon.
        words: What was found, in one sentence.
    """

    part: str
    passed: bool
    words: str


@dataclasses.dataclass
class Endpoint:
    """How one path of a server is asked.

    Attributes:
        client: The server.
        model: The model's name on it.
        path: The path, `CHAT` or `TEXT`.
        works: Whether it generates text.
        draws: Whether answers at a temperature above 0 differ.
        drawing: What it wants beside a temperature above 0 before it draws.
        refused: Parameters that it refuses.
        renamed: Parameters that it knows by another name.
        top: How many of the likeliest tokens it reports; 0 for none, or none that can be relied upon.
        echo: Whether its log-probabilities of given texts can be relied upon.
        thinks: Whether it thinks before it answers.
        budget: Tokens that an answer needs, thinking among them.
        extra: What it wants beside, such as to think or not.
        tags: (open, close) of thinking that is not usual.
        constraint: The one of `CONSTRAINTS` that holds answers to given ones; "" for none.
        findings: What each part of its trial found.
    """

    client: Client
    model: str
    path: str
    works: bool = False
    draws: bool = False
    drawing: dict[str, Any] = dataclasses.field(default_factory=dict)
    refused: set[str] = dataclasses.field(default_factory=set)
    renamed: dict[str, str] = dataclasses.field(default_factory=dict)
    top: int = 0
    echo: bool = False
    thinks: bool = False
    budget: int = BRIEF
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)
    tags: tuple[tuple[str, str], ...] = ()
    constraint: str = ""
    findings: list[Finding] = dataclasses.field(default_factory=list)

    @property
    def abilities(self) -> frozenset[Ability]:
        """What this path can be asked."""
        able = {
            "text": self.works,
            "next_words": self.top,
            "likelihoods": self.echo,
            "constrained_text": self.constraint,
        }
        return frozenset(cast("Ability", ability) for ability, can in able.items() if can)

    def ask(self, prompt: Any, **parameters: Any) -> Completion:
        """Send a request in the words that this path knows, and return the reply.

        A refusal that tells how an answer ended is a reply: see dialects.yaml.

        Raises:
            RequestError: If there is no answer.
        """
        body = self._body(prompt, parameters)
        try:
            return self.client.ask(self.path, body, lambda reply: read_completion(reply, self.tags))
        except RequestError as failure:
            finish = next(
                (finish for words, finish in DIALECTS["ends"].items() if words in str(failure)),
                None,
            )
            if finish is None:
                raise
            return Completion(Reply(finish=finish))

    def constrained(self, answers: Sequence[str]) -> dict[str, Any]:
        """Return the parameter that holds an answer to some."""
        wanted = list(dict.fromkeys(answer.strip() for answer in answers))
        return (
            {self.constraint: CONSTRAINTS[self.constraint](wanted)}
            if self.constraint and wanted
            else {}
        )

    def next_tokens(self, prompt: Any, top: int) -> Completion:
        """Ask for the likeliest next tokens.

        At temperature 1 the distribution is the model's own, also on a server that applies the temperature to it.
        """
        named = {"logprobs": True, "top_logprobs": top} if self.path == CHAT else {"logprobs": top}
        return self.ask(prompt, max_tokens=1, temperature=1.0, **named)

    def continued(self, prompt: Any, texts: Sequence[str]) -> list[Completion]:
        """Ask for the log-probabilities of the tokens of texts that follow a prompt.

        Raises:
            BadReplyError: If what is echoed does not hold a text.
            RequestError: If there is no answer.
        """
        if (
            self.path == TEXT
        ):  # the first token of an echo has no log-probability: a line break stands for nothing
            return [continuation(self._echo, prompt or "\n", text) for text in texts]
        turns = list(prompt)
        begun = turns.pop()["content"] if turns[-1]["role"] == "assistant" else ""
        alone = self._prompt_of(prompt)
        answers = [{"role": "assistant", "content": begun + text} for text in texts]
        return [added(self._prompt_of([*turns, answer]), alone) for answer in answers]

    def _echo(self, text: str) -> Completion:
        # One new token, as some servers take 0 for no bound.
        return self.ask(text, max_tokens=1, temperature=0.0, logprobs=1, echo=True)

    def _prompt_of(self, prompt: Sequence[Message]) -> Completion:
        body = self._body(prompt, {"max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0})
        return self.client.ask(self.path, body, read_prompt)

    def _body(self, prompt: Any, parameters: dict[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model}
        if self.path == TEXT:
            body["prompt"] = prompt
        else:
            turns = body["messages"] = [dict(turn) for turn in prompt]
            if turns[-1]["role"] == "assistant":
                body |= {"continue_final_message": True, "add_generation_prompt": False}
        known = {name: value for name, value in parameters.items() if name not in self.refused}
        drawing = self.drawing if known.get("temperature") else {}
        body |= {**self.extra, **self.client.more}
        return {
            **body,
            **drawing,
            **{self.renamed.get(name, name): value for name, value in known.items()},
        }


def flown(
    client: Client,
    requests: Mapping[str, Request],
    ask: Callable[[str, Request], object],
) -> Generator[tuple[str, RequestError | None]]:
    """Ask requests in `in_flight` threads, which take them in turn; yield the key of each, and why it has no answer.

    Once the server is gone or refuses the key, or a bound is reached, the others are not sent; `client.ended` says why.

    Args:
        client: The server.
        requests: The requests by their keys.
        ask: Asks a request by its key and keeps the answer; called by several threads.
    """
    answers: queue.SimpleQueue[tuple[str, Exception | None, bool]] = queue.SimpleQueue()
    left, stopped = iter(requests.items()), threading.Event()

    def work() -> None:
        for key, request in left:
            if stopped.is_set():
                return
            failure: Exception | None = None
            before = client.usage.requests
            try:
                ask(key, request)
            except BadReplyError as error:
                failure = RequestError(f"the server sent {error}", status=200)
            except Exception as error:
                failure = error
            answers.put((key, failure, client.usage.requests > before))

    # Threads of their own: those of a pool are waited for when Python ends, also after Ctrl-C.
    for _ in range(min(client.options.in_flight, len(requests))):
        threading.Thread(target=work, daemon=True).start()
    in_a_row, interval = 0, sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        for _ in requests:
            with allow_immediate_interrupt():
                key, failure, answered = answers.get()
            if failure is not None and not isinstance(failure, RequestError):
                raise failure
            # A server that fails again and again is gone, whatever it answers, unless it answers others meanwhile.
            in_a_row = in_a_row + 1 if failure is not None and failure.gone and not answered else 0
            if in_a_row >= max(client.options.in_flight, 3):
                client.end(str(failure))
            yield key, failure
    finally:
        stopped.set()
        sys.setswitchinterval(interval)
