"""Engines that answer some requests without asking a model again.

`DistinctRequests` asks equal requests once. `ReplayedEngine` gives the replies that an engine gave
before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.replies import Reply
from rightreasons.models.prompts import group_distinct_texts
from rightreasons.models.protocol import Answers, Request
from rightreasons.models.wrapped_engine import WrappedEngine

if TYPE_CHECKING:
    from rightreasons.models.protocol import Engine


class DistinctRequests:
    """Requests with equal prompts, merged into one request with all of their continuations.

    Probes of an item then cost only the requests in which they differ, and an answer has exactly
    the same score in all of them.

    Args:
        requests: N requests.

    Attributes:
        requests: G merged requests, one per distinct prompt.
    """

    def __init__(self, requests: Sequence[Request]) -> None:
        """Group requests by their prompts, and merge the continuations of each group."""
        self._all_requests = requests
        # Requests with equal prompts form a group. For each request: the index of its group, and
        # the indices of its continuations among the distinct continuations of the group.
        continuations_by_group, self._groups = group_distinct_texts(
            [str(request.prompt) for request in requests],
            [request.continuations for request in requests],
        )
        first_request_by_group: dict[int, Request] = {}
        for request, (group, _) in zip(requests, self._groups, strict=True):
            first_request_by_group.setdefault(group, request)
        # The merged request has the name and the prompt of the first one.
        self.requests = []
        for group, continuations in enumerate(continuations_by_group):
            first_request = first_request_by_group[group]
            merged = dataclasses.replace(first_request, continuations=tuple(continuations))
            self.requests.append(merged)

    def select_rows(self, values: Ragged) -> list[NDArray[np.float64]]:
        """Return the values of the N requests, from the values of the merged ones.

        Args:
            values: G rows, one per merged request, with a value per continuation.

        Returns:
            N arrays with a value per continuation of the request.
        """
        rows = []
        for group, continuation_indices in self._groups:
            row = np.asarray(values[group], dtype=np.float64)
            rows.append(row[continuation_indices])
        return rows

    def select_failures(self, failures: Mapping[str, str]) -> dict[str, str]:
        """Return the failures among the N requests, from the failures of the merged ones.

        Args:
            failures: Name of a merged request that failed -> the reason.

        Returns:
            Name of a request whose merged request failed -> the reason.
        """
        reasons = {}
        for request, (group, _) in zip(self._all_requests, self._groups, strict=True):
            sent_name = self.requests[group].name
            if sent_name in failures:
                reasons[request.name] = failures[sent_name]
        return reasons


class ReplayedEngine(WrappedEngine):
    """An engine that repeats earlier replies, and never asks its model.

    Args:
        engine: The engine, whose other members are available unchanged.
        replies: Name of a request -> its replies.
    """

    def __init__(self, engine: Engine, replies: Mapping[str, list[Reply]]) -> None:
        super().__init__(engine)
        self._replies = replies

    def generate(self, requests: Sequence[Request], **options: Any) -> Answers:
        """Return the earlier replies to requests; a request without any is a failure."""
        replies = []
        failures = {}
        for request in requests:
            earlier_replies = self._replies.get(request.name, [])
            replies.append(earlier_replies)
            if not earlier_replies:
                failures[request.name] = "not asked"
        return Answers(replies, failures)

    def likelihoods(self, requests: Sequence[Request], **options: Any) -> NoReturn:
        """Raise an error: likelihoods are not stored, and the model must not be asked."""
        raise ValueError(f"Expected no further requests to {self._engine.name}.")

    def next_words(self, requests: Sequence[Request], **options: Any) -> NoReturn:
        """Raise an error, as `likelihoods` does."""
        self.likelihoods(requests)
