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
        row: The answer, as a dictionary of JSON values.
        usage: Cost of the answer.
    """

    row: Row
    usage: Usage


class Journal:
    """The file of answers and costs in a folder, which is read line by line.

    A line is a digest of the rest, and a JSON list of the key of a request, its answer or None, the
    kind of the line, the name of the account, and the cost.

    Args:
        file: Path of the file.

    Attributes:
        answers: Key -> answer. Lines that were truncated or changed are left out.
        end: Number of bytes that have been read.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.answers: dict[str, Answer] = {}
        self.end = 0
        self._spent_by_account: dict[str, Usage] = {}
        self._pending_by_key: dict[str, list[tuple[str, Usage]]] = {}

    def read(self) -> None:
        """Read the lines that were added since the last call, by this process or another one."""
        if not self.file.is_file():
            return
        with self.file.open("rb") as opened:
            opened.seek(self.end)
            text = opened.read()
            self.end = opened.tell()
        for line in text.splitlines():
            content = line[DIGEST_LENGTH:]
            # If a process was killed while it wrote a line, or somebody changed it, the line does
            # not match its digest, and is skipped.
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
        """Add the content of a line to the answers and to the costs.

        Args:
            key: Key of the request.
            row: The answer. None for a line without an answer.
            kind: `SENT`, `ANSWERED`, `FAILED`, `COPIED` or `TRIAL`.
            account: Address of the server that bills the request. Empty in lines of earlier
                versions.
            counts: Cost of the request, as counts of `Usage` by name. None in lines of earlier
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
        # A copied answer was paid for in another folder.
        if kind == COPIED:
            return
        # The line ends one of the requests that were sent with this key. If an earlier run was
        # killed after it had sent the same request, that one remains pending.
        if pending:
            pending.pop()
        self._spent_by_account[account] = self.get_recorded(account) + usage

    def get_recorded(self, account: str) -> Usage:
        """Return the cost of the finished requests of an account, whether answered or failed."""
        return self._spent_by_account.get(account, Usage())

    def compute_spent(self, account: str) -> Usage:
        """Return the cost of all requests of an account, including those that may be unfinished.

        If a run was killed, the file has requests that were sent, but no line on their end. The
        server may bill them, so that their highest possible cost counts.

        Args:
            account: Address of the server.
        """
        total = self.get_recorded(account)
        for pending in self._pending_by_key.values():
            for name, usage in pending:
                if name == account:
                    total += usage
        # Lines of earlier versions have no account, and count for every account.
        if account:
            total += self.get_recorded("")
        return total

    @contextmanager
    def open(self) -> Iterator[JournalWriter]:
        """Read the lines that were added meanwhile, and yield a writer for more lines."""
        self.read()
        writer = JournalWriter(self.file)
        try:
            yield writer
        finally:
            writer.close()


class JournalWriter:
    """Appends lines to a file of answers, from several threads. The first line creates the file.

    Args:
        file: Path of the file.
    """

    def __init__(self, file: Path) -> None:
        self._path = file
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()

    def write(self, key: str, row: Row | None, kind: str, account: str, usage: Usage) -> None:
        """Append a line, which is in the file when the call returns.

        Args:
            key: Key of the request.
            row: The answer. None for a line without an answer.
            kind: `SENT`, `ANSWERED`, `FAILED`, `COPIED` or `TRIAL`.
            account: Address of the server.
            usage: Cost of the request.
        """
        content = json.dumps([key, row, kind, account, usage.to_counts()]).encode()
        with self._lock:
            # The file is opened late, so that a run without requests does not change it.
            if self._file is None:
                self._file = self._open()
            self._file.write(_digest(content) + content + b"\n")

    def _open(self) -> BinaryIO:
        """Open the file to append lines, and end a last line that is incomplete."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Without a buffer, each line is written to the file at once.
        file: BinaryIO = self._path.open("a+b", buffering=0)
        size = file.seek(0, os.SEEK_END)
        if size:
            file.seek(size - 1)
            # A process that was killed may have left a line without its end.
            if file.read(1) != b"\n":
                file.write(b"\n")
        return file

    def close(self) -> None:
        """Make sure that all lines are on the disk, and close the file."""
        with self._lock:
            if self._file is not None:
                os.fsync(self._file.fileno())
                self._file.close()
                self._file = None


def _digest(content: bytes) -> bytes:
    """Return the digest of a line."""
    return hashlib.blake2b(content, digest_size=DIGEST_LENGTH // 2).hexdigest().encode()


def find_journal(out: str | os.PathLike[str]) -> Path:
    """Return the path of the file of answers for a results folder.

    All results folders of a report have one file, in the work folder of the report.

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
    """Costs of a run on a server, and the limits on them.

    Args:
        options: Limits and prices.

    Attributes:
        usage: Costs of this run.
        earlier: Costs of earlier runs with the same folders.
        n_sent: Number of requests that this run sent.
    """

    def __init__(self, options: ServerOptions) -> None:
        """Begin without any costs."""
        self._options = options
        self.usage = Usage()
        self.earlier = Usage()
        self.n_sent = 0
        # Highest possible cost of the requests without a reply so far, and their number.
        self._reserved = Usage()
        self._n_in_flight = 0
        self._condition = threading.Condition()
        # Costs of each thread since its last call of `start_meter`.
        self._meter = threading.local()

    def add(self, usage: Usage) -> None:
        """Add the cost of a request to the costs of the run, and to those of this thread."""
        with self._condition:
            self.usage += usage
        self._meter.usage = self.read_meter() + usage

    def start_meter(self) -> None:
        """Set the costs of this thread to zero; a thread sends one request at a time."""
        self._meter.usage = Usage()

    def read_meter(self) -> Usage:
        """Return the costs of this thread since `start_meter`."""
        usage: Usage = getattr(self._meter, "usage", Usage())
        return usage

    def reserve(self, highest_cost: Usage) -> str:
        """Reserve the highest possible cost of a request, unless a limit forbids the request.

        The costs that other requests have reserved may be larger than their actual costs. If a
        limit is reached only with these, the call waits until they are known. `release` ends the
        reservation.

        Args:
            highest_cost: Highest possible cost of the request.

        Returns:
            "" if the request may be sent; otherwise the reached limit, such as "max_requests=100".
        """
        with self._condition:
            reached = self.find_reached_bound(highest_cost)
            while reached and self._n_in_flight:
                # Another thread notifies this one when it releases its reservation.
                self._condition.wait()
                reached = self.find_reached_bound(highest_cost)
            if not reached:
                self.n_sent += 1
                self._n_in_flight += 1
                self._reserved += highest_cost
        return reached

    def release(self, highest_cost: Usage) -> None:
        """End the reservation of a request, after its actual cost has been added."""
        with self._condition:
            self._n_in_flight -= 1
            self._reserved -= highest_cost
            self._condition.notify_all()

    def find_reached_bound(self, highest_cost: Usage | None = None) -> str:
        """Return the limit that forbids a request, such as "max_price=5", or "".

        Args:
            highest_cost: Highest possible cost of the request. None for a request without costs.
        """
        options = self._options
        if options.max_requests is not None and self.n_sent >= options.max_requests:
            return f"max_requests={options.max_requests}"
        if options.max_price is None:
            return ""
        # Requests without a reply so far count with their highest possible cost.
        spent = self.earlier + self.usage + self._reserved
        spent_price = compute_price(options, spent.prompt_tokens, spent.answer_tokens) or 0.0
        total = spent + (highest_cost or Usage())
        total_price = compute_price(options, total.prompt_tokens, total.answer_tokens) or 0.0
        if spent_price >= options.max_price or total_price > options.max_price:
            return f"max_price={options.max_price:g}"
        return ""
