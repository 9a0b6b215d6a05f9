"""Keep several requests to a server in flight, and store their answers as they come."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rightreasons.foundations.storing.lease import leased
from rightreasons.models.protocol import Request
from rightreasons.models.running.bars import progress_bar
from rightreasons.models.running.store import Chunk, Column, Store, join
from rightreasons.models.servers.client import Client, RequestError
from rightreasons.models.servers.replies import BadReplyError
from rightreasons.models.servers.usage import Usage

FLUSH_SECONDS = 5.0
"""Maximum seconds of answers that are not yet written."""

COUNTED = ("requests", "prompt_tokens", "answer_tokens")
"""What is stored of the cost of each item."""

Row = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Flown:
    """The answers of a run.

    Attributes:
        chunk: The rows that there are.
        failures: The name of each other request -> why it has none.
        earlier: What an earlier run had asked for the rows that it left.
    """

    chunk: Chunk
    failures: Mapping[str, str]
    earlier: Usage


def fly(
    client: Client,
    requests: Sequence[Request],
    ask: Callable[[Request], Row],
    pack: Callable[[Sequence[Row]], dict[str, Column]],
    *,
    run: Mapping[str, Any],
    begin: Callable[[Sequence[Request]], None],
    progress: bool,
    out: str | os.PathLike[str] | None,
) -> Flown:
    """Ask every request once, `in_flight` of them at a time.

    With `out`, answers are written every few seconds and at the end, also when Ctrl-C ends the run; a later run asks
    only what has no answer yet. A request that fails is not stored. Once the server is gone or refuses the key, the
    other requests are not sent.

    Args:
        client: The server.
        requests: N requests with unique names.
        ask: Asks a request, and returns its row.
        pack: Makes columns of rows.
        run: What the answers depend on beside the requests.
        begin: Told the requests that are still to be asked.
        progress: Whether to show a progress bar.
        out: A folder for the answers; None keeps them in memory.

    Returns:
        The rows that there are, and why the others have none.
    """
    store, held = None, contextlib.ExitStack()
    if out is not None:
        store = Store(out, {**run, "requests": digest(requests)})
        held.enter_context(leased(store.folder))
    before = store.read() if store else Chunk(np.empty(0, np.int64), {})
    waiting = sorted(set(range(len(requests))) - set(before.items.tolist()))
    failures: dict[str, str] = {}
    computed: list[Chunk] = []
    client.begin()
    begin([requests[item] for item in waiting])

    def one(item: int) -> Row:
        counted = client.item()
        row = ask(requests[item])
        return {**row, "served": counted.served, **{name: getattr(counted.usage, name) for name in COUNTED}}

    flight = _Flight(client, waiting, one)
    written, last = 0, time.monotonic()
    try:
        with progress_bar(len(waiting), str(run["kind"]), shown=progress and bool(waiting)) as bar:
            for item, row in flight:
                bar.update(1)
                if isinstance(row, RequestError):
                    failures[requests[item].name] = str(row)
                    continue
                computed.append(Chunk(np.array([item]), pack([row])))
                if store and time.monotonic() - last >= FLUSH_SECONDS:
                    store.write(join(computed[written:]))
                    written, last = len(computed), time.monotonic()
    finally:
        flight.stop()
        if store:
            store.write(join(computed[written:]))
        held.close()
    earlier = Usage(**{name: int(np.sum(np.asarray(before.columns[name]))) for name in COUNTED if len(before)})
    return Flown(join([before, *computed]), failures, earlier)


class _Flight:
    """Threads that take the items in turn; iterated over, it gives each item with its row or why it has none."""

    def __init__(self, client: Client, items: Sequence[int], ask: Callable[[int], Row]) -> None:
        self._client = client
        self._ask = ask
        self._count = len(items)
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[int, Row | Exception]] = queue.SimpleQueue()
        for item in items:
            self._waiting.put(item)
        self._stopped = False
        # Threads of their own: those of a pool are waited for when Python ends, also after Ctrl-C.
        for _ in range(min(client.options.in_flight, len(items))):
            threading.Thread(target=self._work, daemon=True).start()

    def __iter__(self) -> Any:
        in_a_row = 0
        for _ in range(self._count):
            item, row = self._answers.get()
            if isinstance(row, Exception) and not isinstance(row, RequestError):
                raise row
            # A server that fails again and again is gone, whatever it answers.
            in_a_row = in_a_row + 1 if isinstance(row, RequestError) and row.gone else 0
            if isinstance(row, RequestError) and in_a_row >= max(self._client.options.in_flight, 3):
                self._client.end(str(row))
            yield item, row

    def stop(self) -> None:
        """Let the threads end after the request that each has sent."""
        self._stopped = True

    def _work(self) -> None:
        while not self._stopped:
            try:
                item = self._waiting.get_nowait()
            except queue.Empty:
                return
            try:
                row: Row | Exception = self._ask(item)
            except BadReplyError as error:
                row = RequestError(f"the server sent {error}", status=200)
            except Exception as error:
                row = error
            self._answers.put((item, row))


def digest(requests: Sequence[Request]) -> str:
    """Digest requests: names, prompts and continuations."""
    whole = hashlib.blake2b(digest_size=16)
    for request in requests:
        prompt = request.prompt if isinstance(request.prompt, str) else [dict(turn) for turn in request.prompt]
        whole.update(json.dumps([request.name, prompt, list(request.continuations)], sort_keys=True).encode() + b"\n")
    return whole.hexdigest()
