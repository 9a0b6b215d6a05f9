"""Measures for the tasks of lm-evaluation-harness, to be named in the YAML of a task.

A task returns its answers from `process_results`, and names an aggregation per figure. In a `utils.py` next to
the YAML:

    from rightreasons.integrations.lm_eval import aggregation, choice_results

    ece = aggregation("ece")
    prior_bias = aggregation("prior_bias")

    def process_results(doc, results):
        return choice_results(results, doc["label"], ("ece", "prior_bias"))

and in the YAML, whose `output_type` is `multiple_choice`:

    process_results: !function utils.process_results
    metric_list:
      - metric: acc
        aggregation: mean
        higher_is_better: true
      - metric: ece
        aggregation: !function utils.ece
        higher_is_better: false
      - metric: prior_bias
        aggregation: !function utils.prior_bias
        higher_is_better: false

A harness that finds plugins (`lm_eval.metrics`, after 0.4.13) knows each by its name with "rightreasons_" before it:
`metric: rightreasons_ece` is then all that a list says, and `choice_results` takes that name, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rightreasons.calibration.errors import calibration_error
from rightreasons.calibration.proper_scores import brier_score, selective_scores
from rightreasons.calibration.smooth import smooth_ece
from rightreasons.core.validation import check_labels, check_one_of
from rightreasons.probes.bias import prior_bias

PREFIX = "rightreasons_"
"""Prefix of a measure that the harness knows as a plugin."""

Item = tuple[Any, int]
"""The log-likelihoods of the choices and the label."""

# Several figures are fields of one result, which each aggregation computes anew.
MEASURES: Mapping[str, tuple[Callable[..., Any], str]] = {
    "ece": (calibration_error, "ece"),
    "smooth_ece": (smooth_ece, "smooth_ece"),
    "brier": (brier_score, "brier"),
    "brier_reliability": (brier_score, "reliability"),
    "brier_resolution": (brier_score, "resolution"),
    "brier_uncertainty": (brier_score, "uncertainty"),
    "auroc": (selective_scores, "auroc"),
    "aurc": (selective_scores, "aurc"),
    "prior_bias": (prior_bias, "prior_bias"),
}
"""Figures that an aggregation can give: name -> the kernel, and the field of its result."""

HIGHER = ("auroc", "brier_resolution")
"""Figures for which a higher value is better."""


def choice_results(
    results: Iterable[Sequence[Any]], label: int, measures: Sequence[str] = ("ece",)
) -> dict[str, Any]:
    """Return the result of `process_results` of a task for one item.

    Args:
        results: (log-likelihood, is greedy) of each choice, from the harness.
        label: The index of the correct choice.
        measures: Names of the figures in the `metric_list` of the task.

    Returns:
        "acc", 1.0 if the most likely choice is correct and 0.0 otherwise; and for each measure
        (log-likelihoods of the choices, label), the input of its aggregation.

    Raises:
        ValueError: If the label is not the index of a choice, or a measure is unknown.

    Example:
        >>> choice_results([(-1.5, False), (-0.5, True)], 1)
        {'acc': 1.0, 'ece': ((-1.5, -0.5), 1)}
    """
    scores = tuple(float(result[0]) for result in results)
    label = int(check_labels([label], len(scores), name="label")[0])
    for name in measures:
        # The name may have the prefix of a plugin, such as "rightreasons_ece".
        check_one_of(name.removeprefix(PREFIX), tuple(MEASURES), "measures")
    item: Item = (scores, label)
    is_correct = int(np.argmax(scores)) == label
    return {"acc": float(is_correct), **dict.fromkeys(measures, item)}


def aggregation(measure: str, **options: Any) -> Callable[[Sequence[Item]], float | None]:
    """Make an aggregation of the harness: a function that computes a figure over the items of a task.

    Args:
        measure: A name of `MEASURES`.
        **options: Options of the function that computes the figure, such as n_bins=10 of `calibration_error`.

    Returns:
        A function of (log-likelihoods of the choices, label) of each item. Its result is None if the
        figure is undefined.

    Raises:
        ValueError: If the measure is unknown.

    Example:
        >>> aggregation("prior_bias")([((0.0, 0.0), 0)])
        0.0
    """
    check_one_of(measure, tuple(MEASURES), "measure")
    kernel, field = MEASURES[measure]
    settings: dict[str, Any] = {"scores": "logits"}
    # All other measures compare the confidence in the predicted choice with its correctness.
    if measure != "prior_bias":
        settings["kind"] = "top_label"
    settings.update(options)

    def aggregate(items: Sequence[Item]) -> float | None:
        """Return the figure over items, each (log-likelihoods of the choices, label)."""
        scores = []
        labels = []
        for log_likelihoods, label in items:
            scores.append(list(log_likelihoods))
            labels.append(label)
        value = getattr(kernel(scores, labels, **settings), field)
        if value is None:
            return None
        return float(value)

    # The harness writes the name of the function into its log.
    aggregate.__name__ = measure
    return aggregate


@dataclasses.dataclass(frozen=True)
class ListedFigure:
    """A figure of lists of the label and the log-likelihoods, as lighteval's details have them.

    lighteval sends its method to other processes by name, so that it cannot be a local function.

    Args:
        measure: A name of `MEASURES`.

    Example:
        >>> ListedFigure("auroc").of([[0, -0.5, -1.5]])
        nan
    """

    measure: str

    def of(self, items: Iterable[Sequence[float]]) -> float:
        """Return the figure over items; NaN if it is undefined.

        Args:
            items: For each item, a list of its label and the log-likelihoods of its choices.
        """
        scored_items = []
        for label, *log_likelihoods in items:
            scored_items.append((log_likelihoods, int(label)))
        value = aggregation(self.measure)(scored_items)
        # A metric of lighteval must be a number, and not None.
        return float("nan") if value is None else value
