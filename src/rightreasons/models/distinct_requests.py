"""Requests of a prompted model that need no answer of their own.

`DistinctRequests` asks equal requests once. `ReplayedEngine` gives the replies that an engine gave
before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.replies import Reply
from rightreasons.models.prompts import distinct_texts
from rightreasons.models.protocol import Answers, Request

if TYPE_CHECKING:
    from rightreasons.models.protocol import Engine


class DistinctRequests:
    """Requests that are asked once per prompt, with every continuation that one of them has.

    An item under several probes then costs only what differs, and an answer has exactly the same
    score everywhere.

    Args:
        requests: N requests.

    Attributes:
        requests: G requests, one per distinct prompt.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        self._all_requests = requests
        # Requests with equal prompts form a group. For each request: its group, and the positions
        # of its continuations among the distinct ones of the group.
        continuations_by_group, self._groups = distinct_texts(
            [str(request.prompt) for request in requests],
            [request.continuations for request in requests],
        )
        first_request: dict[int, Request] = {}
        for request, (group, _) in zip(requests, self._groups, strict=True):
            first_request.setdefault(group, request)
        # The first request of a group is sent, with the continuations of all.
        self.requests = []
        for group, continuations in enumerate(continuations_by_group):
            request = dataclasses.replace(first_request[group], continuations=tuple(continuations))
            self.requests.append(request)

    def select_rows(self, values: Ragged) -> list[NDArray[np.float64]]:
        """Return the values of the N requests, from those of the distinct ones.

        Args:
            values: G rows, one per distinct request, with a value per continuation.

        Returns:
            N arrays, each with a value per continuation of its request.
        """
        rows = []
        for group, positions in self._groups:
            row = np.asarray(values[group], dtype=np.float64)
            rows.append(row[positions])
        return rows

    def select_failures(self, failures: Mapping[str, str]) -> dict[str, str]:
        """Return the failures among the N requests, from those of the distinct ones.

        A request fails if the one that is sent for its prompt fails.

        Args:
            failures: Name of a distinct request -> the reason.

        Returns:
            Name of a request -> the reason.
        """
        reasons = {}
        for request, (group, _) in zip(self._all_requests, self._groups, strict=True):
            sent_name = self.requests[group].name
            if sent_name in failures:
                reasons[request.name] = failures[sent_name]
        return reasons


class ReplayedEngine:
    """An engine that is asked nothing more: it gives the replies that it gave before.

    Args:
        engine: The engine.
        replies: Name of a request -> its replies.
    """

    def __init__(self, engine: Engine, replies: Mapping[str, list[Reply]]) -> None:
        self._engine = engine
        self._replies = replies

    def generate(self, requests: Sequence[Request], **options: Any) -> Answers:
        """Return the earlier replies; a request without any fails."""
        replies = []
        failures = {}
        for request in requests:
            earlier_replies = self._replies.get(request.name, [])
            replies.append(earlier_replies)
            if not earlier_replies:
                failures[request.name] = "not asked"
        return Answers(replies, failures)

    def __getattr__(self, name: str) -> Any:
        # Everything else is that of the engine, but it must not be asked.
        if name in ("likelihoods", "next_words"):
            raise ValueError(f"Expected no further requests to {self._engine.name}.")
        return getattr(self._engine, name)
