"""Whether the hub can be reached."""

from __future__ import annotations

import socket
import time
import warnings

HUB_TIMEOUT_SECONDS = 3.0
"""How long the hub, or the proxy before it, is waited for."""

HUB_STATUS_TTL_SECONDS = 60.0
"""Seconds for which its answer holds."""

_hub_status = {"until": 0.0, "offline": False}


def explain_unreachable_hub() -> str:
    """Return why the hub, or the proxy before it, cannot be connected to; "" if it can."""
    import urllib.request  # not where the package is imported
    from urllib.parse import urlsplit

    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    proxies = (
        {} if urllib.request.proxy_bypass(address.hostname or "") else urllib.request.getproxies()
    )
    address = urlsplit(proxies.get(address.scheme) or proxies.get("all") or constants.ENDPOINT)
    port = address.port or (443 if address.scheme == "https" else 80)
    try:
        with socket.create_connection((address.hostname or "", port), timeout=HUB_TIMEOUT_SECONDS):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def use_hub_or_cache() -> None:
    """Take `huggingface_hub` offline while the hub cannot be reached: it would try each file for half a minute.

    Whoever set HF_HUB_OFFLINE stays offline.
    """
    from huggingface_hub import constants

    if (constants.HF_HUB_OFFLINE and not _hub_status["offline"]) or time.monotonic() < _hub_status[
        "until"
    ]:
        return
    why = explain_unreachable_hub()
    constants.HF_HUB_OFFLINE = bool(why)
    _hub_status.update(until=time.monotonic() + HUB_STATUS_TTL_SECONDS, offline=bool(why))
    if why:
        sentence = (
            f"{constants.ENDPOINT} cannot be reached ({why}): what was downloaded before is used."
        )
        warnings.warn(sentence, stacklevel=2)
