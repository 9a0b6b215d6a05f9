"""Redirects of a model server: those to another host are refused.

A request carries a key and texts of the user, which belong to the server that the user named.
"""

from __future__ import annotations

import urllib.parse
from typing import Any

import urllib3

DEFAULT_PORTS = {"http": 80, "https": 443}
"""Scheme -> its usual port."""


class ForeignRedirectError(ValueError):
    """A server that sends its requests to another host."""


def check_redirect(url: str, location: str) -> None:
    """Check that a redirect stays on the host of a request, and does not give up its encryption.

    Args:
        url: Address of the request.
        location: Address of the redirect, absolute or relative to `url`.

    Raises:
        ForeignRedirectError: If the host is another one; or the scheme or the port, except for a
            change from http to https.

    Example:
        >>> check_redirect("http://api.test/v1/models", "/v2/models")
        >>> check_redirect("http://api.test/v1/models", "https://api.test/v1/models")
        >>> check_redirect("https://api.test/v1/models", "https://evil.test/v1/models")
        Traceback (most recent call last):
        ...
        rightreasons.models.servers.redirects.ForeignRedirectError: the server redirects to another \
host, evil.test, which would get the key and the texts: name its address instead
    """
    source = urllib.parse.urlsplit(url)
    target = urllib.parse.urlsplit(urllib.parse.urljoin(url, location))
    # A redirect to https also changes the port.
    is_upgrade = (source.scheme, target.scheme) == ("http", "https")
    is_same_server = (source.scheme, _get_port(source)) == (target.scheme, _get_port(target))
    if source.hostname != target.hostname or not (is_upgrade or is_same_server):
        raise ForeignRedirectError(
            f"the server redirects to another host, {target.netloc}, which would get the key and the "
            "texts: name its address instead"
        )


def _get_port(address: urllib.parse.SplitResult) -> int | None:
    """Return the port of an address, or the default port of its scheme."""
    return address.port or DEFAULT_PORTS.get(address.scheme)


class SameHostRetry(urllib3.Retry):
    """A policy of urllib3 whose redirects stay on their host."""

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: Any = None,
        *arguments: Any,
        **options: Any,
    ) -> SameHostRetry:
        """Count a redirect, unless it leads to another host; see `urllib3.Retry.increment`.

        urllib3 calls this before it follows the redirect, so that nothing has been sent there yet.

        Raises:
            ForeignRedirectError: If the redirect leads to another host.
        """
        # Failures without a redirect are not repeated by urllib3.
        if response is not None and response.get_redirect_location():
            check_redirect(str(url), str(response.get_redirect_location()))
        return super().increment(method, url, response, *arguments, **options)
