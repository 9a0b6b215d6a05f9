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
    """Return the items of the primary split whose eigenvalues are computed.

    Args:
        context: The audit. If the primary split has more items than the limit, they are sampled with
            its seed.
        options: Options of the question; `items` is the limit.
    """
    split = context.primary
    limit = options.items
    # Without gradients for a text, the model is asked about each choice of an item separately, which
    # takes long with a large model.
    is_scorer_of_choices = context.why_no_gradients() != ""
    if is_scorer_of_choices:
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
    """Compute the Fisher eigenvalue of each item, and store it so that an audit can be resumed.

    For a classifier, the eigenvector of each item is computed too; the report marks the words that it
    moves most.

    Args:
        context: The audit, with the model.
        split: The items to measure: the primary split, or a sample of it.

    Returns:
        The items with an eigenvalue, and their predictions.

    Raises:
        ValueError: If fewer than `MIN_ITEMS` items have an eigenvalue.
    """
    # Results are stored in a folder for these items and their number, so that the results of another
    # limit are not mixed up with them.
    folder = context.folder(
        f"difficulty-{safe_name(split.name)}", split.fingerprint, str(len(split))
    )
    # The folder, the batch size, the progress bar, and whether the first failure stops the run.
    run_options = context.get_run_arguments(folder)

    is_scorer_of_choices = context.why_no_gradients() != ""
    if is_scorer_of_choices:
        # The choices were scored for the predictions. Only their gradients are new.
        model_options: dict[str, Any] = {"scores": select_scores(context.scores(), split.ids)}
    else:
        model_options = {"eigenvector": True, "unit": "word"}
    measured = measure_difficulty(
        context.scorer,
        split.texts,
        labels=split.labels,
        text_pairs=split.text_pairs,
        choices=split.choices,
        ids=split.ids,
        max_tokens=TOKENS_PER_ITEM * run_options["batch_size"],
        **model_options,
        **run_options,
    )
    if len(measured) < MIN_ITEMS:
        _, reason = measured.fisher.failures[0]
        raise ValueError(
            f"Expected the eigenvalue of at least {MIN_ITEMS} items, but got only {len(measured)} "
            f"eigenvalues: {reason}"
        )
    return measured
