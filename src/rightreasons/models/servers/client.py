"""A client of one server, which repeats failed requests, counts costs, and observes limits.

`Client.ask` sends a request, and repeats it with growing pauses if it fails and that may help. Each
request is counted before the next one is allowed. Error messages never contain the key or another
secret.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import re
import threading
import time
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import certifi
import urllib3
from urllib3 import exceptions

from rightreasons.core.sentences import escape_name, format_value
from rightreasons.models.servers.answer_lengths import AnswerLengths
from rightreasons.models.servers.completions import MAX_QUOTED, BadReplyError, raise_bad_reply
from rightreasons.models.servers.ledger import (
    SENT,
    TRIAL,
    Account,
    Answer,
    Journal,
    find_journal,
)
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.pace import Pace
from rightreasons.models.servers.redirects import ForeignRedirectError, SameHostRetry
from rightreasons.models.servers.refusals import (
    KEY_STATUSES,
    REFUSED_STATUSES,
    RequestError,
    get_error_status,
    parse_error,
    parse_retry_after,
)
from rightreasons.models.servers.tokens import (
    PromptLength,
    TokenEstimate,
    measure_prompt,
)
from rightreasons.models.servers.usage import Usage, count_reply_tokens

CHAT = "/chat/completions"
"""Path that takes conversations."""

TEXT = "/completions"
"""Path that takes texts."""

T = TypeVar("T")

MAX_ESTIMATE_ERROR = 1.3
"""Billed tokens per estimated one that are reserved for a prompt before its reply counts them."""

TRIAL_RETRIES = 2
"""Repetitions of a request of a trial; an unsupported request fails however often it is sent."""

FIRST_PAUSE = 0.5
"""Seconds before the first repetition; doubled each time up to `MAX_OWN_PAUSE`."""

MAX_OWN_PAUSE = 8.0
"""Longest pause in seconds that the client chooses, without a request of the server."""

MAX_REQUESTED_PAUSE = 120.0
"""Longest pause in seconds that a server may ask for; a longer one ends the run."""

_HEADERS = {"Content-Type": "application/json", "User-Agent": "rightreasons"}
_API_VERSION = re.compile(r"api-version=[\w.-]+")
_FREE = Usage()

# Failures other than redirects are repeated by the client, which counts them.
_REDIRECTS = SameHostRetry(
    None, connect=0, read=0, status=0, other=0, redirect=3, respect_retry_after_header=False
)

_UNREACHABLE = (exceptions.NewConnectionError, exceptions.SSLError, exceptions.ProxyError)


class Client:
    """Sends requests to one server from several threads, and counts their costs.

    Args:
        url: Address of the server's API, such as http://127.0.0.1:8000/v1.
        options: Key, limits and other options of the server.

    Attributes:
        account: Costs so far, and the limits on them.
        tokens: Estimate of prompt tokens, which learns from what the server billed.
        answer_lengths: Numbers of tokens of the answers so far, by the settings of generation.
        pace: Seconds that the server took for its replies.
        is_trial: Whether the trial of the server is running.
        served: Model name and `system_fingerprint` in a reply -> number of such replies.
        extra: Additional fields of every request.
        max_retries: Maximum number of repetitions of a request that fails.
        ended: Why no more requests are sent; "" while they are.
        bound: The limit that was reached, such as "max_price=5"; otherwise "".
        latest_failure: Why the latest request failed that will be sent again; "" after an answer.
        answers: Key of a request, from `make_keys` -> its answer, for all answers so far.
        journals: Path -> file of answers that was opened.
        write_trial_cost: Called with the kind of a line and the cost of a request during the trial;
            None after it.

    Raises:
        ValueError: If the address is malformed, or contains a secret.
    """

    failing: tuple[type[Exception], ...] = (exceptions.HTTPError, ValueError, OSError)
    """Errors of a request."""

    def __init__(self, url: str, options: ServerOptions) -> None:
        """Read the key and the headers, and open a pool of connections. No request is sent yet.

        Raises:
            ValueError: If the address is malformed, or an environment variable is missing.
        """
        self.options = options
        self.account = Account(options)
        self.tokens = TokenEstimate()
        self.answer_lengths = AnswerLengths()
        self.pace = Pace()
        self.is_trial = True
        self.served: Counter[str] = Counter()
        self.extra = options.get_extra_fields()
        self.max_retries = min(TRIAL_RETRIES, options.retries)
        self.ended = ""
        self.bound = ""
        self.latest_failure = ""
        self.answers: dict[str, Answer] = {}
        self.journals: dict[Path, Journal] = {}
        self.write_trial_cost: Callable[[str, Usage], None] | None = None
        self._key = options.get_key()
        headers, secrets = options.get_headers()
        self._secrets = [secret for secret in (self._key, *secrets) if secret]
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._next_turn = 0.0
        self.url = self._connect(url, headers)

    def _connect(self, url: str, headers: Mapping[str, str]) -> str:
        """Connect to a server, and return its address."""
        url, self._query = split_address(url)
        self._headers = urllib3.HTTPHeaderDict(_HEADERS)
        if self._key:
            self._headers["Authorization"] = f"Bearer {self._key}"
        self._headers.update(headers)
        self._pool = _open_pool(url, self.options)
        return url

    def _send(self, path: str, body: Mapping[str, Any] | None) -> Any:
        """Send a request once, and return the reply as parsed JSON.

        Args:
            path: Path after the address, such as "/completions".
            body: The fields of the request. None for a GET request.

        Raises:
            RequestError: If the server refuses the request, or redirects it to another host.
            BadReplyError: If the reply is not JSON.
            urllib3.exceptions.HTTPError: If the server cannot be reached, or does not reply.
        """
        data = None
        method = "GET"
        if body is not None:
            data = json.dumps(body).encode()
            method = "POST"
        try:
            reply = self._pool.request(
                method, self.url + path + self._query, body=data, headers=self._headers
            )
        except ForeignRedirectError as error:
            # Every other request would be redirected as well.
            raise RequestError(str(error), ends=True) from None
        status = reply.status
        try:
            content = json.loads(reply.data)
        except ValueError:
            # Proxies in front of a server report errors as pages of HTML.
            content = reply.data.decode("utf-8", "replace")
            if status < 300:
                quoted = format_value(content, MAX_QUOTED)
                raise BadReplyError(f"what is no JSON: {quoted}") from None
        # Some servers send errors with status 200.
        if status < 300:
            status = get_error_status(content)
        if status >= 300:
            raise self._explain_refusal(status, content, reply.headers)
        return content

    def list_models(self) -> list[str]:
        """Return the names of the models that the server lists.

        Raises:
            RequestError: If the server does not list them.
        """
        names = self._repeat(lambda: self._send("/models", None), _read_model_names)
        # This request does not count towards the maximum number of requests.
        self.account.n_sent = 0
        return names

    def ask(self, path: str, body: dict[str, Any], read: Callable[[Any], T]) -> T:
        """Send a request and read its reply, and repeat this if it fails and that may help.

        Args:
            path: `CHAT` or `TEXT`.
            body: The fields of the request.
            read: Reads the reply. If it raises `BadReplyError`, the request is sent again.

        Raises:
            RequestError: If there is no answer.
        """
        prompt = body["prompt"] if "prompt" in body else body["messages"]
        length = measure_prompt(prompt)
        estimated_tokens = self.tokens.correct(length)
        max_answer_tokens = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        highest_cost = Usage(
            prompt_tokens=round(MAX_ESTIMATE_ERROR * estimated_tokens),
            answer_tokens=max_answer_tokens,
            unanswered=1,
        )

        def send() -> Any:
            start = time.monotonic()
            reply = self._send(path, body)
            counts = count_reply_tokens(reply) if isinstance(reply, dict) else {}
            self.pace.add(time.monotonic() - start, counts.get("answer_tokens", 1))
            return reply

        def read_and_count(reply: Any) -> T:
            return self._count_reply(reply, read, length, estimated_tokens)

        if self.write_trial_cost is None:
            return self._repeat(send, read_and_count, highest_cost)
        # Requests of a trial have no stored answers, so that their costs are written separately.
        self.account.start_meter()
        self.write_trial_cost(SENT, highest_cost)
        try:
            return self._repeat(send, read_and_count, highest_cost)
        finally:
            self.write_trial_cost(TRIAL, self.account.read_meter())

    def _count_reply(
        self, reply: Any, read: Callable[[Any], T], length: PromptLength, estimated_tokens: int
    ) -> T:
        """Read a reply, and add its cost to the account.

        Args:
            reply: The reply, as parsed JSON.
            read: Reads the reply, and returns the answer.
            length: Length of the prompt.
            estimated_tokens: Estimated number of prompt tokens, which is used if the reply states
                none.
        """
        try:
            value = read(reply)
        except BadReplyError:
            # A reply that cannot be read is billed, too.
            if isinstance(reply, dict) and "usage" in reply:
                usage = Usage.from_reply(reply, estimated_tokens)
                self.account.add(dataclasses.replace(usage, requests=0))
            raise
        usage = Usage.from_reply(reply, estimated_tokens)
        self.account.add(usage)
        self.latest_failure = ""
        with self._lock:
            if not usage.unreported:
                add = self.tokens.add_short_prompt if self.is_trial else self.tokens.add_prompt
                add(length, usage.prompt_tokens)
            self.served[self._describe_model(reply)] += 1
        return value

    def _describe_model(self, reply: Mapping[str, Any]) -> str:
        """Return the model name and the `system_fingerprint` of a reply, if it states them."""
        names = []
        for field in ("model", "system_fingerprint"):
            if reply.get(field):
                names.append(self._escape(reply[field]))
        return " ".join(names)

    # --- Costs and bounds

    @property
    def usage(self) -> Usage:
        """Costs of this run so far."""
        return self.account.usage

    def begin(self) -> None:
        """Allow requests again, even if the server has failed before; unless a limit is reached."""
        self.ended = ""
        self.bound = self.account.find_reached_bound()
        if self.bound:
            self.end(f"{self.bound} is reached")
        else:
            self._stop.clear()

    def end(self, reason: str) -> None:
        """Stop sending requests. All further requests fail at once, for the given reason."""
        self.ended = self.ended or reason
        self._stop.set()

    def open_journal(self, out: str | os.PathLike[str]) -> Journal:
        """Return the file of answers of a folder; earlier costs in it count towards the limits."""
        file = find_journal(out)
        if file not in self.journals:
            journal = Journal(file)
            journal.read()
            self.journals[file] = journal
            self.account.earlier += journal.compute_spent(self.url)
        return self.journals[file]

    # --- Repetitions

    def _repeat(
        self, send: Callable[[], Any], read: Callable[[Any], T], highest_cost: Usage = _FREE
    ) -> T:
        """Send a request, and repeat it with growing pauses until it is answered or cannot be.

        Args:
            send: Sends the request, and returns the reply.
            read: Reads the reply, and returns the answer.
            highest_cost: Highest possible cost of the request, which is reserved until its reply
                arrives.

        Raises:
            RequestError: If there is no answer after `max_retries` repetitions, the server refuses
                the request, or no more requests may be sent.
        """
        pause = FIRST_PAUSE
        for attempt in range(self.max_retries + 1):
            is_last = attempt == self.max_retries
            self._wait_for_turn(highest_cost)
            try:
                return read(send())
            except RequestError as error:
                failure = error
            except self.failing as error:
                failure = self._explain_failure(error, is_last=is_last)
                # Without a reply, the cost is unknown, so that the highest possible one counts.
                if failure.is_billed:
                    self.account.add(highest_cost)
            finally:
                self.account.release(highest_cost)
            # A refused request would be refused again.
            is_refused = failure.status in REFUSED_STATUSES
            if is_refused or failure.ends or self.ended or is_last:
                break
            self.account.add(Usage(repeated=1))
            self.latest_failure = str(failure)
            seconds = failure.wait
            # Random pauses keep requests that failed together from being sent again together.
            if seconds is None:
                seconds = pause * random.uniform(0.75, 1.25)  # noqa: S311
            self._stop.wait(seconds)
            pause = min(2 * pause, MAX_OWN_PAUSE)
        if attempt and failure.status not in REFUSED_STATUSES:
            failure.args = (f"{failure} ({attempt + 1} attempts)",)
        if failure.ends:
            self.end(str(failure))
        raise failure

    def _wait_for_turn(self, highest_cost: Usage) -> None:
        """Wait until a request may be sent, and reserve its cost.

        The server may have asked for a pause, and other requests may have reserved the remaining
        budget.

        Args:
            highest_cost: Highest possible cost of the request.

        Raises:
            RequestError: If no more requests may be sent.
        """
        self._stop.wait(max(0.0, self._next_turn - time.monotonic()))
        if not self.ended:
            reached = self.account.reserve(highest_cost)
            if not reached:
                return
            self.bound = reached
            self.end(f"{reached} is reached")
        raise RequestError(self.ended)

    # --- Reasons

    def _explain_failure(self, error: Exception, *, is_last: bool) -> RequestError:
        """Convert an error of the connection, or of an unreadable reply, to a `RequestError`.

        Args:
            error: An error of urllib3 or of the operating system, or a `BadReplyError`.
            is_last: Whether the request will not be repeated. If the server cannot be reached then,
                no other request is sent either.
        """
        # urllib3 wraps the error that ended its attempts.
        if isinstance(error, exceptions.MaxRetryError):
            error = error.reason or error
        # The arguments of an error of urllib3 are the connection and the original error.
        origin = error.__cause__
        if origin is None:
            origin = error.args[-1] if error.args else error
        cause = self._escape(origin)
        if isinstance(error, _UNREACHABLE):
            return RequestError(f"the server cannot be reached: {cause}", ends=is_last)
        if isinstance(error, exceptions.TimeoutError):
            return RequestError(f"no reply within {self.options.timeout} s", is_billed=True)
        if isinstance(error, (exceptions.HTTPError, OSError)):
            return RequestError(f"the connection ended: {cause}", is_billed=True)
        return RequestError(f"the server sent {self._escape(error)}")

    def _explain_refusal(self, status: int, body: Any, headers: Mapping[str, str]) -> RequestError:
        """Convert an error that a server sent to a `RequestError`.

        If the server asks for a pause, other requests wait as well.

        Args:
            status: HTTP status.
            body: What the server sent: text, or parsed JSON.
            headers: Headers of the reply.
        """
        message, code = parse_error(body)
        message = self._escape(message or f"status {status}")
        # If the key was accepted before, status 403 is about this request, and not about the key.
        is_about_request = status in REFUSED_STATUSES and self.usage.requests > 0
        if status in KEY_STATUSES and not is_about_request:
            reason = f"the server {self._describe_key_problem()} ({status}: {message})"
            return RequestError(reason, status=status, ends=True)
        if status in REFUSED_STATUSES:
            reason = f"the server refuses the request ({status}: {message})"
            return RequestError(reason, status=status)
        if code == "insufficient_quota":
            reason = f"the quota of the key is used up ({message})"
            return RequestError(reason, status=status, ends=True)
        wait = parse_retry_after(headers)
        if wait is not None and wait > MAX_REQUESTED_PAUSE:
            reason = f"the server asks to be left alone for {wait:,.0f} s ({status}: {message})"
            return RequestError(reason, status=status, ends=True)
        if wait is not None:
            # Other requests would be refused in the meantime.
            with self._lock:
                self._next_turn = max(self._next_turn, time.monotonic() + wait)
        return RequestError(f"the server answers {status}: {message}", status=status, wait=wait)

    def _describe_key_problem(self) -> str:
        """Return the end of a sentence that begins with "the server", on its refusal of the key."""
        variable = self.options.key_variable
        if self._key:
            return f"refuses the key in {variable}"
        return f"requires a key, and {variable} is empty or not set"

    def _escape(self, value: object) -> str:
        """Return a text of the server as one line, without the key and other secrets."""
        text = " ".join(str(value).split()).rstrip(".") or type(value).__name__
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return escape_name(text, max_chars=200)


def _open_pool(url: str, options: ServerOptions) -> urllib3.PoolManager:
    """Open a pool of connections to a server, through a proxy if the environment names one.

    Args:
        url: Address of the server.
        options: `timeout`, and `in_flight`, the number of connections.
    """
    settings: dict[str, Any] = {
        "timeout": options.timeout,
        "maxsize": options.in_flight,
        "retries": _REDIRECTS,
        "ca_certs": os.environ.get("SSL_CERT_FILE") or certifi.where(),
    }
    parts = urllib.parse.urlsplit(url)
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme, proxies.get("all"))
    if not proxy or urllib.request.proxy_bypass(str(parts.hostname)):
        return urllib3.PoolManager(**settings)
    # The address of a proxy may contain a user name and a password.
    account = urllib3.make_headers(proxy_basic_auth=urllib3.util.parse_url(proxy).auth)
    return urllib3.ProxyManager(proxy, proxy_headers=account, **settings)


def _read_model_names(reply: Any) -> list[str]:
    """Return the model names in a reply to "/models".

    Raises:
        BadReplyError: If the reply is not a list of models.
    """
    names = []
    with raise_bad_reply("a list of models without `data`", reply):
        for entry in reply["data"]:
            if "id" in entry:
                names.append(str(entry["id"]))
    return names


def split_address(url: str) -> tuple[str, str]:
    """Check the address of a server, and split it into the address of its API and the query.

    The only allowed query is the version of the API, which Azure needs. Another query may contain a
    secret, which reports would show.

    Returns:
        The address without the path of a single function such as "/models"; and the query with its
        question mark, or "".

    Raises:
        ValueError: If it is not an address of http or https, or contains a password or another
            query.

    Example:
        >>> split_address("http://127.0.0.1:8000/v1/models")
        ('http://127.0.0.1:8000/v1', '')
        >>> split_address("https://my.openai.azure.com/openai?api-version=2024-10-21")
        ('https://my.openai.azure.com/openai', '?api-version=2024-10-21')
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            "Expected the address of a server, such as http://127.0.0.1:8000/v1, but got "
            f"{escape_name(url)!r}."
        )
    query = ""
    if _API_VERSION.fullmatch(parts.query):
        query = f"?{parts.query}"
    is_query_secret = bool(parts.query) and not query
    if parts.username or parts.password or parts.fragment or is_query_secret:
        raise ValueError(
            f"Expected the bare address of a server, but that of {parts.hostname} holds more, which "
            "a report would show: give a key by an environment variable."
        )
    # Users may paste the address of a single function.
    path = re.sub("/(?:(?:chat/)?completions|models)$", "", parts.path.rstrip("/"))
    return f"{parts.scheme}://{parts.netloc}{path}", query
