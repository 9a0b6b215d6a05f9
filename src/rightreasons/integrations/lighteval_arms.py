"""The probes inside lighteval: a task whose documents are items and their changed versions.

`rightreasons data export DATA --to lighteval` writes the rows and a file for `--custom-tasks`, which
calls `make_task`. A document of lighteval has one request for each choice, so that each arm of an
item is a separate document. lighteval shows the accuracy on the items themselves, and resamples
documents one by one; `rightreasons audit details_*.parquet` joins the arms of each item.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from lighteval.metrics.sample_preparator import Preparator
from lighteval.metrics.utils.metric_utils import CorpusLevelMetric
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod

from rightreasons.datasets.perturbing.arms import read_arm
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.io.logs import ARMS_KEY, ITEM_KEY


def make_document(line: dict[str, Any], task_name: str = "") -> Doc:
    """Return a row of an exported file as a document of lighteval.

    Args:
        line: The row. "arm" is an item or a changed version of it, from `write_arm`.
        task_name: Name of the task.
    """
    arm = read_arm(line["arm"])
    return Doc(
        task_name=task_name,
        query=f"Question: {arm.prompt}\nAnswer:",
        choices=[f" {choice}" for choice in arm.choices],
        # lighteval requires an index, also for an arm without a correct choice. It is never used,
        # because the accuracy is that of unchanged items.
        gold_index=max(arm.label, 0),
        specific={ARMS_KEY: line["arm"], ITEM_KEY: arm.item_id},
    )


class OriginalHit(Preparator):  # type: ignore[misc, unused-ignore]
    """Whether the likeliest choice of an item is correct."""

    @staticmethod
    def prepare(doc: Any, model_response: Any, **_: Any) -> float:
        """Return 1 or 0 for an item itself, and NaN for one of its changed versions."""
        arm = read_arm(doc.specific[ARMS_KEY])
        # lighteval requires a number for each document. `compute_accuracy` excludes NaN.
        if arm.name != ORIGINAL:
            return math.nan
        return float(int(np.argmax(model_response.logprobs)) == arm.label)


def compute_accuracy(hits: Iterable[float]) -> float:
    """Return the share of items that are answered correctly; NaN without any.

    Example:
        >>> compute_accuracy([1.0, float("nan"), 0.0])
        0.5
    """
    known = [hit for hit in hits if not math.isnan(hit)]
    # A bootstrap sample of lighteval may contain only changed versions of items.
    if not known:
        return math.nan
    return sum(known) / len(known)


def make_task(name: str, folder: str | os.PathLike[str]) -> LightevalTaskConfig:
    """Return a task of lighteval for the rows that `rightreasons data export` wrote.

    Args:
        name: Name of the task.
        folder: Folder of its rows.

    Returns:
        The task, with the accuracy on the unchanged items as its metric.
    """
    accuracy = CorpusLevelMetric(
        metric_name="acc",
        higher_is_better=True,
        category=SamplingMethod.LOGPROBS,
        sample_level_fn=OriginalHit(),
        corpus_level_fn=compute_accuracy,
    )
    return LightevalTaskConfig(
        name=name,
        prompt_function=make_document,
        hf_repo=os.fspath(folder),
        hf_subset="default",
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        metrics=[accuracy],
    )
