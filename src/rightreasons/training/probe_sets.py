"""Multiple-choice items and their probes as one evaluation set, for Trainer.

Trainer calls `compute_metrics` once for each evaluation set, without its name, and choice paralysis
compares two sets. Therefore `join_probes` makes one set of all parts, and lists the rows of each part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import numpy as np

from rightreasons.core.errors import OptionError
from rightreasons.core.validation import check_columns
from rightreasons.datasets.perturbing.probes import PROBES, perturb
from rightreasons.training.evaluations import ADDED_CHOICES, IGNORED_LABEL, ORIGINAL, ProbeSets

_COLUMNS = ("id", "prompt", "choices", "label")


def join_probes(
    items: datasets.Dataset,
    probes: Mapping[str, datasets.Dataset] | Sequence[str] = PROBES,
    *,
    seed: int = 0,
) -> ProbeSets:
    """Join multiple-choice items with their perturbed versions, as one evaluation set of Trainer.

    Args:
        items: Original items with `id`, `prompt`, `choices` and `label`.
        probes: Names of probes (default: all four), which are applied here; or perturbed data sets
            by the names of their probes, as `perturb` or `load_dataset("perturbed_...")` gives them.
        seed: Seed of the probes that are applied here.

    Returns:
        `ProbeSets`: its `dataset` is the evaluation set, and the object itself is passed to
        `compute_metrics(..., probes=...)`.

    Raises:
        ValueError: If a column is missing, a probe is unknown, or a perturbed item is not a version of
            one of the items.

    Example:
        >>> items = datasets.Dataset.from_list([
        ...     {"id": "a", "prompt": "Why cook?", "choices": ["To eat.", "To fly."], "label": 0},
        ...     {"id": "b", "prompt": "Why run?", "choices": ["To hurry.", "To sleep."], "label": 0},
        ... ])
        >>> sets = join_probes(items, ("no_question",))
        >>> sets.dataset["label"][:], sets.rows["no_question"].tolist()
        ([0, 0, -100, -100], [2, 3])
    """
    check_columns(items.column_names, _COLUMNS, "`items`")
    if not isinstance(probes, Mapping):
        probes = {name: perturb(items, name, seed=seed) for name in probes}
    if not probes:
        raise OptionError("Expected at least one probe, but there is none.", option="probes")

    # A probe leaves out items that it cannot perturb, so that items are matched by their ids.
    position_by_id = {}
    for position, item_id in enumerate(items["id"]):
        position_by_id[str(item_id)] = position
    columns: dict[str, list[Any]] = {name: items[name][:] for name in _COLUMNS}
    rows = {ORIGINAL: np.arange(len(items))}
    sources = {}
    original_positions: list[list[int]] = []
    for name, perturbed in probes.items():
        check_columns(perturbed.column_names, (*_COLUMNS, "source_id"), f"the probe {name!r}")
        start = len(columns["id"])
        rows[name] = np.arange(start, start + len(perturbed))
        sources[name] = _find_sources(perturbed["source_id"], position_by_id, name)
        for column in _COLUMNS:
            columns[column].extend(perturbed[column][:])
        # After this probe, the correct choice is still there. Its position is needed to compare its
        # confidence with that in the original item.
        if name == ADDED_CHOICES:
            original_positions = perturbed["original_positions"][:]

    # The losses of transformers ignore the label -100, and raise an error for -1.
    columns["label"] = list(map(_replace_missing_label, columns["label"]))
    n_choices = list(map(len, columns["choices"]))
    return ProbeSets(
        dataset=datasets.Dataset.from_dict(columns),
        rows=rows,
        sources=sources,
        n_choices=np.array(n_choices, dtype=np.int64),
        original_positions=original_positions,
    )


def _find_sources(
    source_ids: Sequence[str], position_by_id: Mapping[str, int], name: str
) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Return the position of the original item of each perturbed item.

    Args:
        source_ids: Id of the original item of each perturbed item.
        position_by_id: Id of an original item -> its position.
        name: Name of the probe, for error messages.

    Raises:
        ValueError: If an original item is missing, for example because the perturbed items were made
            from another split.
    """
    positions = []
    for source_id in source_ids:
        if source_id not in position_by_id:
            raise ValueError(
                f"Expected items of the probe {name!r} to be versions of `items`, but none of them "
                f"has the id {source_id!r}."
            )
        positions.append(position_by_id[source_id])
    return np.array(positions, dtype=np.intp)


def _replace_missing_label(label: int | None) -> int:
    """Return a label, or -100 if no choice is correct."""
    if label is None or label < 0:
        return IGNORED_LABEL
    return label
