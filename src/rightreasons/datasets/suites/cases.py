"""The parts of a behavioral suite: functionalities and their cases, as a file has them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, Field, Strict


def _make_texts(value: Any) -> Any:
    # In a file, an example with a single text is a string, and not a list. Other values are checked by the
    # type of the field.
    if isinstance(value, str):
        return (value,)
    return value


Text = Annotated[str, Field(pattern=r"\S")]
Id = Annotated[str, Field(coerce_numbers_to_str=True)]
Label = Annotated[int, Strict()] | str | None
Replacement = tuple[str, str] | None
Texts = Annotated[tuple[str, ...], BeforeValidator(_make_texts)]
"""Texts of an example. A file may have a single one without a list."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One test case, whose examples pass or fail together.

    Attributes:
        id: Id, unique in its functionality.
        examples: One tuple of texts per example.
        labels: One expected answer per example, None for an example without an answer; None instead of
            the tuple for cases without labels.
        meta: One pair of replaced words (old, new) per example, None for an example without a
            replacement; None instead of the tuple if nothing was replaced.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    id: Id
    examples: tuple[Texts, ...]
    labels: tuple[Label, ...] | None = None
    meta: tuple[Replacement, ...] | None = None


@dataclasses.dataclass(frozen=True)
class Functionality:
    """One functionality with its cases.

    Attributes:
        name: Name, unique in the suite.
        functionality_class: The capability that it tests.
        test_type: "MFT", "INV" or "DIR".
        expectation: `name` and parameters. See `rightreasons.core.suites`.
        cases: The cases of the functionality.
        excluded: Positions of the released cases that known issues left out, in ascending order.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    name: Text
    functionality_class: Text
    test_type: Text
    expectation: Mapping[str, Any]
    cases: tuple[Case, ...]
    excluded: tuple[int, ...] = ()

    @property
    def n_examples(self) -> int:
        """Number of examples of its cases."""
        return sum(len(case.examples) for case in self.cases)

    @property
    def released_positions(self) -> NDArray[np.int64]:
        """(C,) position of each of the C cases among the released ones, of which some may be excluded."""
        # The remaining cases are in the order of the released ones.
        n_released = len(self.cases) + len(self.excluded)
        positions = np.arange(n_released)
        excluded = np.array(self.excluded, dtype=np.int64)
        return np.setdiff1d(positions, excluded)
