"""A behavioral suite without its texts, as kernels read it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.expectation_specs import every_part


@dataclasses.dataclass(frozen=True, eq=False)
class SuiteTable:
    """A behavioral suite without its texts: what predictions in the suite's order are scored against.

    The examples of a case stand together, and so do the cases of a functionality.

    Attributes:
        functionalities: F names.
        classes: F functionality classes (capabilities).
        test_types: F test types: "MFT", "INV" or "DIR".
        expectations: F expectations: `name` and its parameters.
        case_ids: C ids.
        case_functionality: (C,) which functionality each case belongs to, not decreasing.
        case_offsets: (C + 1,) where each case begins among the n examples.
        labels: n expected answers (labels or texts), None where an example has none.
        meta: n replaced pairs (old, new) or None; None where no example has one.
        label_names: The names of the labels 0, 1, …; None where they have none, or are texts.
        texts: n tuples of texts where an expectation is a Python function, which may read them; None elsewhere.
    """

    functionalities: tuple[str, ...]
    classes: tuple[str, ...]
    test_types: tuple[str, ...]
    expectations: tuple[Mapping[str, Any], ...]
    case_ids: tuple[str, ...]
    case_functionality: NDArray[np.int64]
    case_offsets: NDArray[np.int64]
    labels: tuple[Any, ...]
    meta: tuple[Any, ...] | None = None
    label_names: tuple[str, ...] | None = None
    texts: tuple[tuple[str, ...], ...] | None = None

    def __len__(self) -> int:
        return int(self.case_offsets[-1])

    @property
    def asks_for_texts(self) -> bool:
        """Whether the answers are texts rather than labels."""
        values = (part.get("value") for spec in self.expectations for part in every_part(spec))
        return any(isinstance(answer, str) for answer in (*self.labels, *values))
