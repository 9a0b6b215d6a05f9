"""Working without the Hugging Face hub while it cannot be reached.

`huggingface_hub` retries each file for half a minute if the hub is silent, so that a model of ten
files takes five minutes to load from the cache. `use_hub_or_cache` tries one connection instead,
and takes the library offline if that fails.
"""

from __future__ import annotations

import dataclasses
import socket
import time
import warnings

HUB_TIMEOUT_SECONDS = 3.0
"""Time to wait for a connection to the hub, or to the proxy in front of it."""

HUB_STATUS_TTL_SECONDS = 60.0
"""Time for which the result of a connection is remembered."""


@dataclasses.dataclass
class _HubStatus:
    """Result of the last connection.

    Attributes:
        expires: Time of `time.monotonic` from which on the hub is tried again.
        is_offline: Whether this module took `huggingface_hub` offline.
    """

    expires: float = 0.0
    is_offline: bool = False


_status = _HubStatus()


def find_hub_id(address: str) -> str:
    """Extract the id of a repository, "owner/name", from an address of the Hugging Face hub.

    Args:
        address: An address that begins with "https://huggingface.co/" or "hf://", or any other string.

    Returns:
        The id; "" if the string is not an address of the hub.

    Example:
        >>> find_hub_id("https://huggingface.co/org/name/tree/main"), find_hub_id("org/name")
        ('org/name', '')
    """
    # Imported late, so that importing this package stays quick.
    from huggingface_hub import constants

    for prefix in (f"{constants.ENDPOINT}/", "hf://"):
        if address.startswith(prefix):
            path = address.removeprefix(prefix)
            owner_and_name = path.split("/")[:2]
            return "/".join(owner_and_name)
    return ""


def explain_unreachable_hub() -> str:
    """Try a connection to the Hugging Face hub, or to its proxy, and explain a failure.

    Returns:
        Error message of the operating system, such as "Name or service not known"; "" if the
        connection succeeds.
    """
    # Imported here, so that importing this package stays quick.
    import urllib.request
    from urllib.parse import urlsplit

    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    proxies = {}
    if not urllib.request.proxy_bypass(address.hostname or ""):
        proxies = urllib.request.getproxies()
    # Behind a proxy, the name of the hub often cannot be resolved, so the proxy itself is tried.
    proxy = proxies.get(address.scheme) or proxies.get("all")
    if proxy:
        address = urlsplit(proxy)

    default_port = 443 if address.scheme == "https" else 80
    port = address.port or default_port
    try:
        connection = socket.create_connection(
            (address.hostname or "", port), timeout=HUB_TIMEOUT_SECONDS
        )
    except OSError as error:
        return error.strerror or str(error)
    connection.close()
    return ""


def use_hub_or_cache() -> None:
    """Take `huggingface_hub` offline while the hub cannot be reached, and online again afterwards.

    The connection is tried at most once in `HUB_STATUS_TTL_SECONDS`. A user who set HF_HUB_OFFLINE
    stays offline.
    """
    from huggingface_hub import constants

    is_offline_by_choice = constants.HF_HUB_OFFLINE and not _status.is_offline
    if is_offline_by_choice or time.monotonic() < _status.expires:
        return

    reason = explain_unreachable_hub()
    # The library reads this constant at each request, unlike the environment variable.
    constants.HF_HUB_OFFLINE = bool(reason)
    _status.is_offline = bool(reason)
    _status.expires = time.monotonic() + HUB_STATUS_TTL_SECONDS
    if reason:
        warnings.warn(
            f"{constants.ENDPOINT} cannot be reached ({reason}). Files that were downloaded "
            "earlier are used instead.",
            stacklevel=2,
        )
