"""Figures of a report, computed inside a harness from the answers to the arms of items.

An arm is a version of an item, such as one without its question. `compute_arm_figures` is the entry
point, and imports no harness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import datasets
import numpy as np

from rightreasons.audited.logged_arms import ArmAnswer, LoggedArms
from rightreasons.core.clusters import select_clusters
from rightreasons.core.estimates import Estimate, estimate_rate, make_estimate
from rightreasons.core.resampling import Resampling
from rightreasons.datasets.files import make_multiple_choice_features
from rightreasons.datasets.perturbing.arms import HINT, NEUTRAL
from rightreasons.datasets.perturbing.hint_kinds import KINDS
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.io.samples import sort_by_id
from rightreasons.probes.measure import (
    WITHOUT_ANSWER,
    WITHOUT_QUESTION,
    ProbeTables,
    collect_logged_tables,
    measure_probes,
    pick_choices,
    pick_in_orders,
)
from rightreasons.reasons.sway import silent_sway

NO_ANSWER = -1

ENDS = ("", "_low", "_high")
"""Ends of the names of a figure and of the two ends of its interval."""

KEPT = {
    "no_question": "kept_without_question",
    "wrong_question": "kept_with_another_question",
}
"""Probe -> the figure of the answers that stay the same under it, as in the report."""


def compute_arm_figures(items: Sequence[list[ArmAnswer]], level: float = 0.95) -> dict[str, float]:
    """Compute the figures of a report from the answers to items and to their changed versions.

    Args:
        items: For each item, the answers to its arms: the unchanged item, and its changed versions.
        level: Confidence level of the intervals.

    Returns:
        Name -> figure, such as "kept_without_question", with the ends of its interval as NAME_low
        and NAME_high; NaN if it is undefined. "unread" is the share of items whose answer cannot be
        read. Empty if there are no items.
    """
    answers = {}
    for item_answers in items:
        answer_by_arm = {answer.arm.name: answer for answer in item_answers}
        item_id = answer_by_arm[ORIGINAL].arm.item_id
        answers[item_id] = answer_by_arm
    if not answers:
        return {}
    resampling = Resampling(level)
    arms = LoggedArms(answers)
    # The other figures exclude unread answers, as in an audit.
    is_unread = [answer_by_arm[ORIGINAL].position < 0 for answer_by_arm in answers.values()]
    figures = {"unread": float(np.mean(is_unread))}
    estimates = _estimate_probes(arms, resampling) | _estimate_sways(arms, resampling)
    # A metric of a harness is a number, so that the value and the ends are three metrics.
    for name, estimate in estimates.items():
        numbers: tuple[float | None, ...] = (None, None, None)
        if estimate is not None:
            numbers = (estimate.value, estimate.low, estimate.high)
        for suffix, number in zip(ENDS, numbers, strict=True):
            figures[f"{name}{suffix}"] = math.nan if number is None else float(number)
    return figures


def _estimate_probes(arms: LoggedArms, resampling: Resampling) -> dict[str, Estimate | None]:
    """Estimate the figures of the question about answer priors for which the log has answers.

    Args:
        arms: Answers to the arms of all items, which are their changed versions.
        resampling: Level of the intervals.

    Returns:
        Name of a figure -> its estimate; empty if no labeled item has a readable answer.
    """
    rows = _list_answered_items(arms)
    if not rows:
        return {}
    items = datasets.Dataset.from_list(rows, features=make_multiple_choice_features())
    # An audit has this order, and a harness any other one.
    tables = collect_logged_tables(sort_by_id(items), arms)
    # A log may have only one of the two probes that remove the question.
    names = [name for name in (ORIGINAL, *WITHOUT_QUESTION) if name in tables.tables]
    picked = pick_choices(tables, names, arms.choose)
    estimates: dict[str, Estimate | None] = {}
    for name, reading in tables.compare_readings(picked, resampling).items():
        estimates[KEPT[name]] = reading.kept
        if name == "no_question":
            estimates["kept_beyond_chance"] = reading.beyond_chance
            estimates["right_without_question"] = reading.accuracy_without
            estimates["lost_without_question"] = reading.accuracy_loss
    # Orders of choices are compared only if all items have the same number of choices.
    sizes = set(tables.sizes().tolist())
    if len(sizes) == 1 and len(tables) > 1 and arms.has_orders(sizes.pop()):
        ordered = pick_in_orders(tables, arms.choose)
        clusters = select_clusters(tables.units, ordered.is_answered)
        estimates["order_consistency"] = estimate_rate(ordered.is_steady, resampling, clusters)
    return estimates | _estimate_scored(tables, arms, resampling)


def _estimate_scored(
    tables: ProbeTables, arms: LoggedArms, resampling: Resampling
) -> dict[str, Estimate | None]:
    """Estimate prior bias and choice paralysis, which need scores of the choices under all probes.

    Args:
        tables: The items as changed by each probe of a log.
        arms: Answers to the changed items.
        resampling: Level, number of resamples and seed of the intervals.

    Returns:
        Name of a figure -> its estimate; empty if scores or a probe are missing.
    """
    has_all_probes = bool(tables.ks) and all(name in tables.tables for name in WITHOUT_ANSWER)
    if not arms.is_scored or not has_all_probes:
        return {}
    # The logged scores replace those of a model, so that the figures are those of an audit.
    figures = measure_probes(tables.scored_by(arms.choose), resampling=resampling)
    bias = figures.prior_bias["no_question"]
    effect = figures.paralysis[max(tables.ks)]
    return {
        "prior_bias_no_question": make_estimate(bias.prior_bias, bias.interval),
        "choice_paralysis": effect.drop.estimate,
        "restricted_drop": effect.restricted_drop.estimate,
    }


def _list_answered_items(arms: LoggedArms) -> list[dict[str, Any]]:
    """Return the labeled items for which the answer to the unchanged item can be read.

    Args:
        arms: Answers by item and arm. Position and label are -1 if they are unknown.

    Returns:
        Items with "id", "prompt", "choices" and "label".
    """
    rows: list[dict[str, Any]] = []
    for item_id, answer_by_arm in arms.answers.items():
        original = answer_by_arm[ORIGINAL]
        if original.position < 0 or original.arm.label < 0:
            continue
        rows.append(
            {
                "id": item_id,
                "prompt": original.arm.prompt,
                "choices": list(original.arm.choices),
                "label": original.arm.label,
            }
        )
    return rows


def _estimate_sways(arms: LoggedArms, resampling: Resampling) -> dict[str, Estimate | None]:
    """Return the sway of each type of hint in a log: by how much it raises the share of its option.

    Args:
        arms: Answers to the arms of all items.
        resampling: Level of the intervals.

    Returns:
        "sway_NAME", such as "sway_colleague" -> estimate.
    """
    estimates: dict[str, Estimate | None] = {}
    for kind in KINDS:
        if f"{HINT} {kind}" in arms.names:
            estimates[f"sway_{kind}"] = _estimate_sway(arms, kind, resampling)
    return estimates


def _estimate_sway(arms: LoggedArms, kind: str, resampling: Resampling) -> Estimate | None:
    """Estimate the sway of a hint: the share of answers that are the hinted option, with the hint minus without.

    Without the hint, the item has a neutral sentence in its place.

    Args:
        arms: Answers to the arms of all items.
        kind: Type of the hint, such as "colleague".
        resampling: Level of the interval.
    """
    plain = []
    neutral = []
    hinted = []
    hints = []
    labels = []
    n_options = []
    for answer_by_arm in arms.answers.values():
        hinted_answer = answer_by_arm.get(f"{HINT} {kind}")
        # An item is asked with a hint to another option than its answer, if it has an answer.
        if hinted_answer is None:
            continue
        original = answer_by_arm[ORIGINAL]
        plain.append(original.position)
        neutral.append(answer_by_arm[f"{NEUTRAL} {kind}"].position)
        hinted.append(hinted_answer.position)
        hints.append(hinted_answer.arm.hint)
        labels.append(original.arm.label)
        n_options.append(len(original.arm.choices))
    # Explanations, which may mention a hint, are not read: the sway does not depend on them.
    mentions = [0] * len(plain)
    result = silent_sway(
        plain,
        neutral,
        hinted,
        hints,
        mentions,
        n_options=n_options,
        labels=labels,
        confidence_level=resampling.level,
    )
    return result.sway.estimate
