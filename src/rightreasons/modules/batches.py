"""The batches that a module holds until it computes: columns of one length, with their classes in one order."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.foundations.label_names import match_columns
from rightreasons.modules.forms import form_name, form_of


@dataclasses.dataclass
class Batch:
    """The inputs of one batch.

    Attributes:
        columns: The column of each input, None for an input that was omitted.
        classes: The names of the classes of each group of inputs where any of them names its classes.
        named: The inputs that do; their numbers of classes are places in these names.
    """

    columns: dict[str, Any]
    classes: dict[tuple[str, ...], tuple[str, ...]] = dataclasses.field(default_factory=dict)
    named: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(next(column for column in self.columns.values() if column is not None))

    def copy(self) -> Batch:
        """Return the batch with columns of its own, as a caller may use arrays and lists again for the next one."""
        return dataclasses.replace(self, columns={name: _copied(column) for name, column in self.columns.items()})

    def in_order(self, group: tuple[str, ...], classes: tuple[str, ...], whose: str = "the batches before") -> Batch:
        """Return the batch with the classes of a group in another order."""
        own = self.classes.get(group, classes)
        if own == classes:
            return self
        order = match_columns(own, classes, where="the classes of a batch", classes_of=whose)
        columns = dict(self.columns)
        for name in self.named.intersection(group):
            column = columns[name]
            columns[name] = column[:, order] if np.ndim(column) > 1 else _mapped(column, np.argsort(order))
        return dataclasses.replace(self, columns=columns)


@dataclasses.dataclass
class Added:
    """The batches that a module holds for its next compute.

    Attributes:
        batches: The batches.
        refused: Whether a compute has refused them. It may be tried again, but the next batch begins anew.
    """

    batches: list[Batch] = dataclasses.field(default_factory=list)
    refused: bool = False

    def __len__(self) -> int:
        return sum(map(len, self.batches))

    def batches_with(self, batch: Batch, module: str) -> list[Batch]:
        """Return the batches and another one, after a check that it has the inputs of those before in the same form."""
        for name, before in self.batches[0].columns.items() if self.batches else ():
            now = batch.columns[name]
            expected, got = (form_name(None if column is None else form_of(column)) for column in (before, now))
            if expected != got:
                raise ValueError(
                    f"Expected {expected} in `{name}`, the form of those added before to {module}, but got {got}: "
                    "call compute first."
                )
        return [*self.batches, batch]


def _mapped(labels: NDArray[Any], class_of: NDArray[np.int64]) -> NDArray[Any]:
    """Map the numbers of classes; other numbers stay, and are refused where labels are checked."""
    known = (labels >= 0) & (labels < len(class_of))
    return np.where(known, class_of[np.where(known, labels, 0)], labels)


def _copied(column: Any) -> Any:
    if isinstance(column, list):
        return [list(row) if isinstance(row, list) else row for row in column]
    return None if column is None else column.copy()


def concatenated(parts: list[Any]) -> Any:
    """Join the columns of batches: an array if all are arrays of the same width, else a list of rows."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts) and len({part.shape[1:] for part in parts}) == 1:
        return np.concatenate(parts)
    return [row for part in parts for row in (part.tolist() if isinstance(part, np.ndarray) else part)]
