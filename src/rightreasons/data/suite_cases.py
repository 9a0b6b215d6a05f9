"""What a behavioral suite is made of: cases, and functionalities that hold them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

TEST_TYPES = ("MFT", "INV", "DIR")
"""Minimum functionality, invariance and directional expectation tests (Ribeiro et al. 2020)."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One test case: its examples stand or fall together.

    Attributes:
        id: Unique in its functionality.
        examples: One tuple of texts an example.
        labels: One expected answer an example, None where there is none; None for cases without labels.
        meta: One replaced pair (old, new) or None an example; None where nothing was replaced.
    """

    id: str
    examples: tuple[tuple[str, ...], ...]
    labels: tuple[Any, ...] | None = None
    meta: tuple[Any, ...] | None = None


@dataclasses.dataclass(frozen=True)
class Functionality:
    """One functionality with its cases.

    Attributes:
        name: Unique in the suite.
        functionality_class: The capability that it belongs to.
        test_type: "MFT", "INV" or "DIR".
        expectation: `name` and parameters; see `analysis.expectations`.
        cases: Its cases.
    """

    name: str
    functionality_class: str
    test_type: str
    expectation: Mapping[str, Any]
    cases: tuple[Case, ...]

    @property
    def n_examples(self) -> int:
        """How many examples its cases have."""
        return sum(len(case.examples) for case in self.cases)
