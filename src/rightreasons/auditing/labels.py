"""Which of the data's labels is which of the model's classes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# A checkpoint trained without names calls its classes LABEL_0, LABEL_1, …; a file may just number them.
_NUMBERED = re.compile(r"(?i)(?:(?:label|class)[\s_-]*)?(\d+)")


@dataclasses.dataclass(frozen=True, eq=False)
class AlignedLabels:
    """The model's class of each of the data's labels.

    Attributes:
        class_of: (L,) the class of each label; -1 for a label that does not occur and that the model lacks.
        how: How the two were matched, in words, for the report.
    """

    class_of: NDArray[np.int64]
    how: str


def align_labels(
    labels: NDArray[np.int64], *, data_names: Sequence[str], model_names: Sequence[str], where: str
) -> AlignedLabels:
    """Match a dataset's labels with a model's classes: by name where both have names, by number where one has none.

    Case, spaces, underscores and hyphens are ignored.

    Args:
        labels: (N,) labels in the data's numbering; -1 where there is none.
        data_names: The names of the data's labels; "0", "1", … where it has none.
        model_names: The names of the model's K classes; "LABEL_0", "LABEL_1", … where it has none.
        where: Name of the data, for the error.

    Returns:
        The aligned labels.

    Raises:
        ValueError: If a label that occurs is not one of the model's; both sets are named.

    Example:
        >>> given = {"labels": np.array([1, 0]), "where": "x.csv"}
        >>> align_labels(**given, data_names=["Good", "bad"], model_names=["bad", "good"]).class_of
        array([1, 0])
        >>> align_labels(**given, data_names=["joy", "anger"], model_names=["bad", "good"])
        Traceback (most recent call last):
        ...
        ValueError: Expected the labels of x.csv to be among the model's (bad, good), but they are joy, anger.
    """
    used = np.unique(labels[labels >= 0])
    index = {_folded(name): number for number, name in enumerate(model_names)}
    table = np.array([index.get(_folded(name), -1) for name in data_names], dtype=np.int64)
    if len(index) == len(model_names) and len(table) and (table[used] >= 0).all():
        if tuple(data_names) == tuple(model_names):
            how = "by name, as the data and the model name the same labels"
        else:
            pairs = [f"{data_names[label]} is {model_names[table[label]]}" for label in used]
            how = f"by name: {', '.join(pairs[:10])}{', …' if len(pairs) > 10 else ''}"
        return AlignedLabels(table, how)
    for side, names in (("the data", data_names), ("the model", model_names)):
        numbers = [_NUMBERED.fullmatch(name.strip()) for name in names]
        in_order = all(match and int(match[1]) == number for number, match in enumerate(numbers))
        if in_order and (not len(used) or used[-1] < len(model_names)):
            same = np.arange(len(data_names), dtype=np.int64)
            return AlignedLabels(
                np.where(same < len(model_names), same, -1), f"by number, as {side} numbers its labels"
            )
    raise ValueError(
        f"Expected the labels of {where} to be among the model's ({_listed(model_names)}), "
        f"but they are {_listed(data_names)}."
    )


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name).strip().casefold()


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:12])}, … {len(names)} in all" if len(names) > 12 else ", ".join(names)
