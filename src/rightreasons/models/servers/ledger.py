"""The ledger of a server: the cost of each answer, stored with it, and the bounds on a run.

`Journal` is the file of a folder with the answers and their costs, so that an interrupted run
resumes and its price stays known. `Account` counts what a run spends, and allows a request only if
its highest possible cost fits into the bounds.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from rightreasons.core.store import WORK
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.usage import Usage, compute_price

JOURNAL = "answers.jsonl"
"""Name of the file of answers. A report has one, so that no command sends a request twice."""

Row = Mapping[str, Any]
"""Answer to a request, of values that JSON has."""

DIGEST_LENGTH = 16
"""Characters of the digest at the beginning of a line."""

SENT = "sent"
"""Kind of a line before a request: its highest possible cost, which counts until a line ends it."""

ANSWERED = "answered"
"""Kind of a line with an answer and its cost."""

FAILED = "failed"
"""Kind of a line with the cost of a request without an answer."""

COPIED = "copied"
"""Kind of a line with an answer that was paid in another folder."""

TRIAL = "trial"
"""Kind of a line with the cost of a trial."""


UNKNOWN_COST = Usage(requests=1, unreported=1)
"""Cost of an answer in a journal of an earlier version, which has no costs."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """A stored answer.

    Attributes:
        row: The answer.
        usage: Its cost.
    """

    row: Row
    usage: Usage


class Journal:
    """The file of answers of a folder, of which each line is read once.

    A line is a digest of the rest, and a JSON list of a key, an answer or None, the kind, the name
    of the account, and the cost.

    Args:
        file: The file.

    Attributes:
        answers: The answers by their keys, without lines that were truncated or changed.
        end: Number of bytes that were read.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.answers: dict[str, Answer] = {}
        self.end = 0
        self._spent_by_account: dict[str, Usage] = {}
        self._pending_by_key: dict[str, list[tuple[str, Usage]]] = {}

    def read(self) -> None:
        """Read the lines that were written since the last time, by this process or by others."""
        if not self.file.is_file():
            return
        with self.file.open("rb") as opened:
            opened.seek(self.end)
            text = opened.read()
            self.end = opened.tell()
        for line in text.splitlines():
            content = line[DIGEST_LENGTH:]
            # A line that was truncated by a kill, or changed, does not match its digest, and is
            # skipped.
            if _digest(content) == line[:DIGEST_LENGTH]:
                self._add(*json.loads(content))

    def _add(
        self,
        key: str,
        row: Row | None,
        kind: str = ANSWERED,
        account: str = "",
        counts: Mapping[str, int] | None = None,
    ) -> None:
        """Add the content of a line to the answers and the sums.

        Args:
            key: Key of the request.
            row: The answer. None for a line without one.
            kind: `SENT`, `ANSWERED`, `FAILED`, `COPIED` or `TRIAL`.
            account: The server that bills the request. "" in lines of earlier versions.
            counts: Its cost, as counts of `Usage` by their names. None in lines of earlier
                versions.
        """
        usage = UNKNOWN_COST
        if counts is not None:
            usage = Usage(**counts)
        pending = self._pending_by_key.setdefault(key, [])
        if kind == SENT:
            pending.append((account, usage))
            return
        if row is not None:
            self.answers[key] = Answer(row, usage)
        # Another folder has paid for it.
        if kind == COPIED:
            return
        # This line ends one request of the key. If an earlier run was killed after it had sent the
        # same request, that one stays pending.
        if pending:
            pending.pop()
        self._spent_by_account[account] = self.get_recorded(account) + usage

    def get_recorded(self, account: str) -> Usage:
        """Return what lines about answered and failed requests of an account cost."""
        return self._spent_by_account.get(account, Usage())

    def compute_spent(self, account: str) -> Usage:
        """Return what an account has spent, including requests whose end is unknown.

        A run that was killed leaves requests that were sent, but have no further line. The server
        may bill them, so that their highest possible cost counts.

        Args:
            account: Address of the server.
        """
        total = self.get_recorded(account)
        for pending in self._pending_by_key.values():
            for name, usage in pending:
                if name == account:
                    total += usage
        # Lines of earlier versions name no account, and count for each.
        if account:
            total += self.get_recorded("")
        return total

    @contextmanager
    def open(self) -> Iterator[JournalWriter]:
        """Read what was written meanwhile, and return what writes further lines."""
        self.read()
        writer = JournalWriter(self.file)
        try:
            yield writer
        finally:
            writer.close()


class JournalWriter:
    """Writes lines of a journal, from several threads. The first line makes the file.

    Args:
        file: The file.
    """

    def __init__(self, file: Path) -> None:
        self._path = file
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()

    def write(self, key: str, row: Row | None, kind: str, account: str, usage: Usage) -> None:
        """Write a line, which is in the file when this returns.

        Args:
            key: Key of the request.
            row: The answer. None for a line without one.
            kind: `SENT`, `ANSWERED`, `FAILED`, `COPIED` or `TRIAL`.
            account: Address of the server.
            usage: The cost.
        """
        content = json.dumps([key, row, kind, account, usage.to_counts()]).encode()
        with self._lock:
            # A run that needs no request leaves the file as it is.
            if self._file is None:
                self._file = self._open()
            self._file.write(_digest(content) + content + b"\n")

    def _open(self) -> BinaryIO:
        """Open the file to append lines; a line that was truncated by a kill is ended first."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Without a buffer, a line is in the file when its request is answered.
        file: BinaryIO = self._path.open("a+b", buffering=0)
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                file.write(b"\n")
        return file

    def close(self) -> None:
        """Close the file after its lines are on the disk."""
        with self._lock:
            if self._file is not None:
                os.fsync(self._file.fileno())
                self._file.close()
                self._file = None


def _digest(content: bytes) -> bytes:
    """Return the digest of a line."""
    return hashlib.blake2b(content, digest_size=DIGEST_LENGTH // 2).hexdigest().encode()


def find_journal(out: str | os.PathLike[str]) -> Path:
    """Return the journal of a folder for results: that of its report, if it is within one.

    Example:
        >>> find_journal("/report/.work/probes/order").as_posix()
        '/report/.work/answers.jsonl'
    """
    folder = Path(out).resolve()
    for parent in (folder, *folder.parents):
        if parent.name == WORK:
            return parent / JOURNAL
    return folder / JOURNAL


class Account:
    """What a run spends on a server, and the bounds on it.

    Args:
        options: The bounds and the prices.

    Attributes:
        usage: What this run spent.
        earlier: What earlier runs spent in the folders of this one.
        n_sent: Number of requests that this run sent.
    """

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self.usage = Usage()
        self.earlier = Usage()
        self.n_sent = 0
        self._reserved = Usage()
        self._n_in_flight = 0
        self._condition = threading.Condition()
        self._meter = threading.local()

    def add(self, usage: Usage) -> None:
        """Add the cost of a request to what the run, and this thread, have spent."""
        with self._condition:
            self.usage += usage
        # `read_meter` returns the sum of this thread, which asks one request at a time.
        self._meter.usage = self.read_meter() + usage

    def start_meter(self) -> None:
        """Count what this thread spends from now on."""
        self._meter.usage = Usage()

    def read_meter(self) -> Usage:
        """Return what this thread spent since `start_meter`."""
        usage: Usage = getattr(self._meter, "usage", Usage())
        return usage

    def reserve(self, highest_cost: Usage) -> str:
        """Reserve the highest possible cost of a request, or return the limit that forbids it.

        If only the reserved costs of requests in flight forbid it, the call waits for the costs
        that they really have. `release` ends the reservation.

        Args:
            highest_cost: The highest possible cost of the request.

        Returns:
            "" if the request may be sent; otherwise the reached limit, such as "max_requests=100 is
            reached".
        """
        with self._condition:
            reached = self.find_reached_bound(highest_cost)
            while reached and self._n_in_flight:
                # Another thread notifies when it releases its reservation.
                self._condition.wait()
                reached = self.find_reached_bound(highest_cost)
            if not reached:
                self.n_sent += 1
                self._n_in_flight += 1
                self._reserved += highest_cost
        return reached

    def release(self, highest_cost: Usage) -> None:
        """End the reservation of a request, whose cost has been counted."""
        with self._condition:
            self._n_in_flight -= 1
            self._reserved -= highest_cost
            self._condition.notify_all()

    def find_reached_bound(self, highest_cost: Usage | None = None) -> str:
        """Return the limit that forbids a request, such as "max_price=5 is reached"; "" for none.

        Args:
            highest_cost: Its highest possible cost. None for a request that costs nothing.
        """
        options = self._options
        if options.max_requests is not None and self.n_sent >= options.max_requests:
            return f"max_requests={options.max_requests} is reached"
        if options.max_price is None:
            return ""
        # The cost of requests in flight is not known yet, so that the highest possible one counts.
        spent = self.earlier + self.usage + self._reserved
        spent_price = compute_price(options, spent.prompt_tokens, spent.answer_tokens) or 0.0
        total = spent + (highest_cost or Usage())
        total_price = compute_price(options, total.prompt_tokens, total.answer_tokens) or 0.0
        if spent_price >= options.max_price or total_price > options.max_price:
            return f"max_price={options.max_price:g} is reached"
        return ""
