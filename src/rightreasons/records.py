"""What crosses the walls: results, ragged rows, model scores, and the declared schemas of examples."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

CLASSIFICATION: Mapping[str, str] = {"id": "string", "text": "string", "label": "class_label"}
"""One text (optionally `text_pair`) and its class. `label` is -1 where it is unknown."""

MULTIPLE_CHOICE: Mapping[str, str] = {"id": "string", "prompt": "string", "choices": "list[string]", "label": "int64"}
"""One prompt and its choices. `label` is the index of the right choice, -1 where a perturbation leaves none."""

EXTRACTIVE_ANSWERS: Mapping[str, str] = {
    "id": "string",
    "question": "string",
    "context": "string",
    "answers": "{text: list[string], answer_start: list[int32]}",
}
"""One question on a context, and the spans that answer it: their texts and first characters."""


class Result:
    """Base of every frozen result: `to_dict` gives plain Python values, ready for JSON.

    Example:
        >>> import dataclasses, numpy as np
        >>> @dataclasses.dataclass(frozen=True)
        ... class Mean(Result):
        ...     mean: float
        ...     counts: object
        >>> Mean(np.float32(0.5), np.array([1, 2])).to_dict()
        {'mean': 0.5, 'counts': [1, 2]}
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the fields in their order as float, int, str, bool, list, dict and None."""
        return {field.name: plain(getattr(self, field.name)) for field in dataclasses.fields(self)}  # type: ignore[arg-type]


def plain(value: Any) -> Any:
    """Turn a value into plain Python; NaN and infinities, which must never leave the library, are an error."""
    if isinstance(value, Result):
        return value.to_dict()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        if not np.isfinite(value):
            raise ValueError(f"Expected a finite figure in a result, but got {value}.")
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    raise TypeError(f"Expected a plain value in a result, but got {type(value).__name__}.")


@dataclasses.dataclass(frozen=True, eq=False)
class Ragged:
    """Rows of different lengths in one flat array: row i is `values[offsets[i]:offsets[i + 1]]`.

    Attributes:
        values: (total,) all rows, one after another.
        offsets: (N + 1,) where each row begins; the last entry is the total.
    """

    values: NDArray[np.float64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return (self.values[a:b] for a, b in zip(self.offsets[:-1], self.offsets[1:], strict=True))

    def __getitem__(self, row: int) -> NDArray[np.float64]:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    @property
    def starts(self) -> NDArray[np.int64]:
        """(N,) the first index of each row."""
        return self.offsets[:-1]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(N,) how many values each row has."""
        return np.diff(self.offsets)

    def reduce(self, ufunc: np.ufunc) -> NDArray[np.float64]:
        """Reduce each (non-empty) row by a ufunc, such as `np.add` or `np.maximum`; (N,)."""
        return np.asarray(ufunc.reduceat(self.values, self.starts), dtype=np.float64)

    def argmax(self) -> NDArray[np.int64]:
        """(N,) the index inside each row of its first largest value."""
        top = np.repeat(self.reduce(np.maximum), self.lengths)
        position = np.where(self.values == top, np.arange(len(self.values)), len(self.values))
        first = np.minimum.reduceat(position, self.starts)
        return np.asarray(first - self.starts, dtype=np.int64)

    def at(self, index: NDArray[np.int64]) -> NDArray[np.float64]:
        """(N,) the value at `index[i]` of each row."""
        return np.asarray(self.values[self.starts + index], dtype=np.float64)

    def row_of(self, position: int) -> int:
        """Tell which row a position of the flat array belongs to."""
        return int(np.searchsorted(self.offsets, position, side="right") - 1)


@dataclasses.dataclass(frozen=True, eq=False)
class Scores:
    """What a model said about the items of a dataset, in the dataset's order.

    Attributes:
        ids: N item ids, unique.
        logits: (N, K) array, or `Ragged` where the number of choices differs.
        labels: (N,) gold labels, -1 where there is none; None when the data has no labels.
        label_names: K names of the classes; None for multiple choice.
        truncated: How many texts were longer than the model takes and were cut.
    """

    ids: tuple[str, ...]
    logits: NDArray[np.float64] | Ragged
    labels: NDArray[np.int64] | None = None
    label_names: tuple[str, ...] | None = None
    truncated: int = 0

    def __len__(self) -> int:
        return len(self.ids)


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

    def __len__(self) -> int:
        return int(self.case_offsets[-1])
