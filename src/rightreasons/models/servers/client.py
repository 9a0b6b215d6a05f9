"""Requests to one server: repeated with growing pauses where that helps, counted, and never with the key in a text."""

from __future__ import annotations

import dataclasses
import email.utils
import os
import random
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import openai

from rightreasons.foundations.sentences import escaped
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.replies import BadReplyError
from rightreasons.models.servers.usage import Usage, characters_of

T = TypeVar("T")

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 120.0
"""Seconds before a failed request is sent again: doubled each time, and never more than a server may ask for."""

_STEEPEST_PAUSE = 8.0
_REFUSED = (400, 404, 405, 413, 415, 422)
_ENDED = (401, 403)


class RequestError(ValueError):
    """Why a request has no answer, as the rest of a sentence.

    Attributes:
        status: The HTTP status; None where there was no reply.
        ends: Whether no other request can be answered either.
    """

    def __init__(self, reason: str, *, status: int | None = None, ends: bool = False) -> None:
        super().__init__(reason)
        self.status = status
        self.ends = ends

    @property
    def gone(self) -> bool:
        """Whether the server failed, rather than this request."""
        return self.status is None or self.status in (*_ENDED, 429) or self.status >= 500


@dataclasses.dataclass
class Item:
    """What was asked for one item.

    Attributes:
        usage: Its requests and tokens.
        served: The model's name and `system_fingerprint`, from the last reply.
    """

    usage: Usage = dataclasses.field(default_factory=Usage)
    served: str = ""


class _Here(threading.local):
    """The item of each thread."""

    def __init__(self) -> None:
        self.item = Item()


NOT_ASKED = "not asked, as the server had failed before: "
"""What is said of a request that is not sent, before the reason."""


class Client:
    """One server, asked from several threads.

    Args:
        url: The address of the server's API, such as http://127.0.0.1:8000/v1.
        options: How it is asked.

    Attributes:
        usage: What was asked so far.
        retries: How often a request that fails is repeated.
        ended: Why no more requests are sent; "" while they are.

    Raises:
        ValueError: If the address is none, or holds a secret.
    """

    def __init__(self, url: str, options: ServerOptions) -> None:
        self.url = check_url(url)
        self.options = options
        self.usage = Usage()
        self.retries = options.retries
        self.ended = ""
        self._key = os.environ.get(options.key_variable, "")
        # The client's own environment variables of organizations and projects belong to one hosted service.
        self._openai = openai.OpenAI(
            base_url=self.url, api_key=self._key or "none", timeout=options.timeout, max_retries=0
        )
        self._lock = threading.Lock()
        self._here = _Here()
        self._next_turn = 0.0
        self._stop = threading.Event()

    def models(self) -> list[str]:
        """Return the names of the server's models.

        Raises:
            RequestError: If the server does not list them.
        """

        def names(reply: Any) -> list[str]:
            data = reply.get("data") if isinstance(reply, dict) else None
            if not isinstance(data, list):
                raise BadReplyError("a list of models without `data`")
            return [str(entry["id"]) for entry in data if isinstance(entry, dict) and "id" in entry]

        return self._repeat(lambda: self._openai.get("/models", cast_to=object), names)

    def ask(self, path: str, body: dict[str, Any], read: Callable[[Any], T]) -> T:
        """Send a request and read its reply, again where that may help.

        Args:
            path: "/completions" or "/chat/completions".
            body: The request.
            read: Reads the reply; where it raises `BadReplyError`, the request is sent again.

        Raises:
            RequestError: If there is no answer.
        """
        prompt = body["prompt"] if "prompt" in body else body["messages"]

        def counted(reply: Any) -> T:
            value = read(reply)
            with self._lock:
                self.usage.add(reply, characters_of(prompt))
            self._here.item.usage.add(reply, characters_of(prompt))
            names = (reply.get("model"), reply.get("system_fingerprint"))
            self._here.item.served = " ".join(self._say(name) for name in names if name)
            return value

        return self._repeat(lambda: self._openai.post(path, body=body, cast_to=object), counted)

    def item(self) -> Item:
        """Begin to count what this thread asks for an item, and return the count."""
        self._here.item = Item()
        return self._here.item

    @contextmanager
    def retrying(self, most: int) -> Iterator[None]:
        """Repeat requests less often than the options say."""
        self.retries = min(most, self.options.retries)
        try:
            yield
        finally:
            self.retries = self.options.retries

    def begin(self) -> None:
        """Send requests again, also after the server had failed."""
        self.ended = ""
        self._stop.clear()

    def end(self, reason: str) -> None:
        """Send no more requests; each further one fails at once for this reason."""
        self.ended = self.ended or f"{NOT_ASKED}{reason}"
        self._stop.set()

    def _repeat(self, send: Callable[[], Any], read: Callable[[Any], T]) -> T:
        pause = FIRST_PAUSE
        failure = RequestError("it was not sent")
        for attempt in range(self.retries + 1):
            self._wait_for_turn()
            try:
                return read(send())
            except (openai.OpenAIError, ValueError, OSError) as error:
                failure, wait = self._failure(error, attempt + 1)
            if failure.status in _REFUSED or failure.ends or self.ended:
                break
            if attempt < self.retries:
                with self._lock:
                    self.usage.repeated += 1
                self._stop.wait(wait if wait is not None else pause * random.uniform(0.75, 1.25))  # noqa: S311
                pause = min(2 * pause, _STEEPEST_PAUSE)
        if failure.ends:
            self.end(str(failure))
        raise failure

    def _wait_for_turn(self) -> None:
        """Wait until another request may be sent, by the rate that the user set and the pause that the server asks."""
        with self._lock:
            turn = max(time.monotonic(), self._next_turn)
            if self.options.requests_per_minute:
                self._next_turn = turn + 60 / self.options.requests_per_minute
        self._stop.wait(max(0.0, turn - time.monotonic()))
        if self.ended:
            raise RequestError(self.ended)

    def _failure(self, error: Exception, attempts: int) -> tuple[RequestError, float | None]:
        """Return why a request failed, and the seconds after which the server lets it be sent again."""
        tried = f" ({attempts} attempts)" if attempts > 1 else ""
        if isinstance(error, openai.APIStatusError):
            return self._status(error, tried)
        if isinstance(error, openai.APITimeoutError):
            return RequestError(f"no reply within {self.options.timeout} s{tried}"), None
        if isinstance(error, openai.APIConnectionError):
            cause = error.__cause__ or error
            if type(cause).__name__ != "ConnectError":
                return RequestError(f"the connection ended: {self._say(cause)}{tried}"), None
            last = attempts > self.retries
            return RequestError(f"the server cannot be reached: {self._say(cause)}{tried}", ends=last), None
        return RequestError(f"the server sent {self._say(error)}{tried}"), None

    def _status(self, error: openai.APIStatusError, tried: str) -> tuple[RequestError, float | None]:
        status, message = error.status_code, self._say(_message(error))
        if status in _ENDED:
            variable = self.options.key_variable
            known = f"refuses the key in {variable}" if self._key else f"asks for a key, and {variable} holds none"
            return RequestError(f"the server {known} ({status}: {message})", status=status, ends=True), None
        if status in _REFUSED:
            return RequestError(f"the server refuses the request ({status}: {message})", status=status), None
        if error.code == "insufficient_quota":
            return RequestError(f"the quota of the key is used up ({message})", status=status, ends=True), None
        wait = _retry_after(error)
        if wait is not None and wait > LONGEST_PAUSE:
            reason = f"the server asks to be left alone for {wait:,.0f} s ({status}: {message})"
            return RequestError(reason, status=status, ends=True), None
        if wait is not None:
            with self._lock:
                self._next_turn = max(self._next_turn, time.monotonic() + wait)
        return RequestError(f"the server answers {status}: {message}{tried}", status=status), wait

    def _say(self, value: object) -> str:
        """Return what somebody else says, in one line and without the key."""
        text = " ".join(str(value).split()).rstrip(".") or type(value).__name__
        return escaped(text.replace(self._key, "…") if self._key else text, longest=200)


def check_url(url: str) -> str:
    """Check the address of a server.

    Raises:
        ValueError: If it is none of http or https, or holds a password or a query, which would be written into reports.

    Example:
        >>> check_url("http://127.0.0.1:8000/v1/")
        'http://127.0.0.1:8000/v1'
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(
            f"Expected the address of a server, such as http://127.0.0.1:8000/v1, but got {escaped(url)!r}."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError(
            f"Expected the bare address of a server, but that of {parts.hostname} holds more, which a report would "
            "show: give a key by an environment variable."
        )
    return url.rstrip("/")


def _message(error: openai.APIStatusError) -> str:
    """Return what a server says of an error."""
    body: Any = error.body
    for _ in range(2):  # {"error": {"message": …}}, {"message": …}, {"detail": …}, or text
        if isinstance(body, dict):
            body = next((body[name] for name in ("error", "message", "detail") if body.get(name)), body)
    return str(body) if body else error.message


def _retry_after(error: openai.APIStatusError) -> float | None:
    """Return the seconds of a `Retry-After` header; None where there is none that can be read."""
    header = error.response.headers.get("retry-after")
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
