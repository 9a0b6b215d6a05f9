"""Why requests have no answer: errors of servers, as the rest of a sentence.

`parse_error` finds the message and the code in what a server sent, `get_error_status` the status of
an error that comes with status 200, and `parse_retry_after` the pause that a server asks for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import urllib3
from urllib3 import exceptions

KEY_STATUSES = (401, 403)
"""Statuses of a missing or wrong key."""

REFUSED_STATUSES = (400, 403, 404, 405, 413, 415, 422)
"""Statuses of a request that would be refused again."""

MESSAGE_FIELDS = ("error", "message", "detail")
"""Where errors have their message, which may be nested."""

_RETRY = urllib3.Retry()


class RequestError(ValueError):
    """A request without an answer. The message is the end of a sentence, without a period.

    Args:
        reason: The message, such as "the server cannot be reached".
        status: HTTP status; None without a reply.
        ends: Whether no other request can be answered either.
        wait: Seconds after which the request may be sent again; None if the server does not say.
        is_billed: Whether the server may bill the request, although no reply was received.
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
        self.status = status
        self.ends = ends
        self.wait = wait
        self.is_billed = is_billed

    @property
    def is_of_server(self) -> bool:
        """Whether the error concerns the server, the key or the quota, and not this request."""
        if self.status is None or self.status >= 500:
            return True
        return self.status in (*KEY_STATUSES, 429)


def parse_error(body: Any) -> tuple[str, str]:
    """Return the message and the code of an error; each is empty if it is missing.

    Args:
        body: What the server sent: text, or parsed JSON in which the message may be nested.

    Example:
        >>> parse_error([{"error": {"message": "too long", "code": "context"}}])
        ('too long', 'context')
        >>> parse_error({"detail": "no such model"})
        ('no such model', '')
    """
    code = ""
    # Known servers nest a message in at most three levels.
    for _ in range(3):
        if isinstance(body, list) and len(body) == 1 and "error" in body[0]:
            body = body[0]
        if isinstance(body, dict):
            # An inner code is more specific than an outer one.
            code = str(body.get("code") or code)
            body = _get_message_field(body)
    return str(body or ""), code


def _get_message_field(body: dict[str, Any]) -> Any:
    """Return the field of an error that contains its message; without such a field, the error."""
    for name in MESSAGE_FIELDS:
        if body.get(name):
            return body[name]
    return body


def get_error_status(reply: Any) -> int:
    """Return the status of an error that was sent with status 200; 200 if the reply is no error.

    OpenRouter and LM Studio send such errors.

    Args:
        reply: The reply, as parsed JSON.
    """
    if not isinstance(reply, dict) or {"choices", "data"} & reply.keys():
        return 200
    error = reply.get("error")
    if not error:
        return 200
    # An error without a code is about the address, which the server does not know.
    if not isinstance(error, dict):
        return 404
    code = error.get("code")
    if isinstance(code, int) and 400 <= code < 600:
        return code
    # Without a valid code, it is treated as a failure of the server.
    return 500


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in a `Retry-After` header; None if it is missing or malformed."""
    text = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, float(text))
    # The header may also be a date.
    with contextlib.suppress(exceptions.InvalidHeader):
        return _RETRY.parse_retry_after(text)
    return None
