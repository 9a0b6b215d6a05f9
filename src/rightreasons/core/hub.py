"""Whether the hub answers: who has no network is told at once, and uses what was downloaded before."""

from __future__ import annotations

import queue
import socket
import threading
import time
import urllib.request
import warnings
from urllib.parse import urlsplit

SECONDS = 3.0
"""How long the hub, or the proxy before it, is waited for."""

KEPT = 60.0
"""Seconds for which its answer holds."""

_known = {"until": 0.0, "offline": False}


def why_unreached() -> str:
    """Return why the hub, or the proxy before it, cannot be connected to; "" if it can."""
    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    proxies = {} if urllib.request.proxy_bypass(address.hostname or "") else urllib.request.getproxies()
    address = urlsplit(proxies.get(address.scheme) or proxies.get("all") or constants.ENDPOINT)
    port = address.port or (443 if address.scheme == "https" else 80)
    answers: queue.Queue[str] = queue.Queue()

    def connect() -> None:
        try:
            with socket.create_connection((address.hostname or "", port), timeout=SECONDS):
                answers.put("")
        except OSError as error:
            answers.put(error.strerror or str(error))

    # Looking a name up has no time limit of its own.
    threading.Thread(target=connect, daemon=True).start()
    try:
        return answers.get(timeout=SECONDS)
    except queue.Empty:
        return f"no answer in {SECONDS:g} seconds"


def use_hub_or_cache() -> None:
    """Take `huggingface_hub` offline while the hub cannot be reached: it would try each file for half a minute.

    Whoever set HF_HUB_OFFLINE stays offline.
    """
    from huggingface_hub import constants

    if (constants.HF_HUB_OFFLINE and not _known["offline"]) or time.monotonic() < _known["until"]:
        return
    why = why_unreached()
    constants.HF_HUB_OFFLINE = bool(why)
    _known.update(until=time.monotonic() + KEPT, offline=bool(why))
    if why:
        sentence = f"{constants.ENDPOINT} cannot be reached ({why}): what was downloaded before is used."
        warnings.warn(sentence, stacklevel=2)
