"""The items of an audit whose Fisher information is computed.

`select_items` draws them from the primary split, and `measure_split` computes their eigenvalues.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rightreasons.audited.context import AuditContext
from rightreasons.audited.splits import AuditSplit, safe_name
from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.scores import Scores
from rightreasons.difficulty.measure import DifficultyMeasurement, measure_difficulty
from rightreasons.difficulty.options import MAX_CHOICE_ITEMS, DifficultyOptions
from rightreasons.io.samples import choose_rows
from rightreasons.models.runs.processes import TOKENS_PER_ITEM


def select_items(context: AuditContext, options: DifficultyOptions) -> AuditSplit:
    """Return the items of the primary split that are measured.

    Args:
        context: The audit. Its seed draws the items if there are more than the limit.
        options: Options of the question, with the limit.
    """
    split = context.primary
    limit = options.items
    if context.why_no_gradients():
        # Each choice of an item is read separately, which takes long with a large model.
        limit = min(limit, MAX_CHOICE_ITEMS)
    if limit >= len(split):
        return split
    rows = choose_rows(split.ids, limit, seed=context.seed)
    return split.take(np.sort(np.array(rows)))


def select_scores(scores: Scores, ids: Sequence[str]) -> Scores:
    """Return the scores of the items with these ids, in their order."""
    row_by_id = {name: row for row, name in enumerate(scores.ids)}
    return scores.take(np.array([row_by_id[name] for name in ids]))


def measure_split(context: AuditContext, split: AuditSplit) -> DifficultyMeasurement:
    """Compute the Fisher information of items of the primary split.

    Args:
        context: The audit, with the model.
        split: The items.

    Raises:
        ValueError: If fewer than `MIN_ITEMS` items have an eigenvalue.
    """
    # The folder of the stored results is named after the items and their number, so that the results
    # of another limit are not mixed up with these.
    folder = context.folder(
        f"difficulty-{safe_name(split.name)}", split.fingerprint, str(len(split))
    )
    running = context.running(folder)
    arguments: dict[str, Any] = {"text_pairs": split.text_pairs, "choices": split.choices}
    if context.why_no_gradients():
        # The choices were scored for the predictions. Only their gradients are new.
        arguments["scores"] = select_scores(context.scores(), split.ids)
    else:
        # The words of a text are marked by how far the eigenvector moves them.
        arguments["eigenvector"] = True
        arguments["unit"] = "word"
    measured = measure_difficulty(
        context.scorer,
        split.texts,
        labels=split.labels,
        ids=split.ids,
        max_tokens=TOKENS_PER_ITEM * running["batch_size"],
        **arguments,
        **running,
    )
    if len(measured) < MIN_ITEMS:
        _, reason = measured.fisher.failures[0]
        raise ValueError(
            f"Expected the eigenvalue of at least {MIN_ITEMS} items, but got only {len(measured)} "
            f"eigenvalues: {reason}"
        )
    return measured
