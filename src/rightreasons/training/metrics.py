"""Metrics for Trainer: from logits and labels to plain floats.

`compute_metrics` makes the function that Trainer calls. Its figures belong to families, which share
work and options; see `rightreasons.training.figures`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.options import check_options
from rightreasons.core.sentences import format_value
from rightreasons.core.validation import check_kind
from rightreasons.training.evaluations import (
    Batch,
    ProbeSets,
    join_batches,
    parse_evaluation,
    read_arrays,
)
from rightreasons.training.figures import FAMILIES, Family, Figures

COMMON_OPTIONS = ("n_choices", "probes")
"""Options of the evaluation set itself, which all figures accept."""

# Longer values, such as columns, would hide the names of the metrics.
_MAX_SHOWN_LENGTH = 60


class ComputeMetrics:
    """A function that computes figures from an evaluation of Trainer; `compute_metrics` makes it.

    Args:
        names: Names of the figures, in the order of the result.
        options: Options of their families, and those of `COMMON_OPTIONS`.
    """

    def __init__(self, names: Sequence[str], options: Mapping[str, Any]) -> None:
        """Make the families of the requested figures, which check their options."""
        self.names = tuple(names)
        self.options = dict(options)
        self._batches: list[Batch] = []
        self._families: list[Family] = []
        for family in FAMILIES:
            is_requested = not set(family.figure_names).isdisjoint(names)
            if is_requested:
                family_options = {}
                for name in family.option_names:
                    if name in options:
                        family_options[name] = options[name]
                self._families.append(family(family_options))

    def __call__(self, prediction: Any, compute_result: bool = True) -> Figures:
        """Compute the figures of Trainer's `EvalPrediction`, or of a pair of logits and labels.

        Args:
            prediction: Logits and labels of all items, or of a batch of them.
            compute_result: Whether the evaluation is complete. With `batch_eval_metrics=True`, Trainer
                passes False for all batches but the last one; such a batch is only stored.

        Returns:
            The figures by name; empty for a batch that is only stored.
        """
        try:
            self._batches.append(read_arrays(prediction))
        except (TypeError, ValueError):
            # Drop the earlier batches, so that they are not part of the next evaluation.
            self._batches.clear()
            raise
        if not compute_result:
            return {}

        logits, labels = join_batches(self._batches)
        self._batches.clear()
        evaluation = parse_evaluation(
            logits,
            labels,
            n_choices=self.options.get("n_choices"),
            probes=self.options.get("probes"),
        )
        computed: Figures = {}
        keys_by_name: dict[str, list[str]] = {}
        for family in self._families:
            computed.update(family.compute(evaluation, self.names))
            for name in family.figure_names:
                keys_by_name[name] = family.list_keys(name)

        # Return the requested figures only, in the requested order.
        figures: Figures = {}
        for name in self.names:
            for key in keys_by_name[name]:
                figures[key] = computed[key]
        return figures

    def __repr__(self) -> str:
        """Return a call of `compute_metrics` with the names and options; long values become "..."."""
        arguments = [repr(name) for name in self.names]
        for name, value in sorted(self.options.items()):
            text = format_value(value)
            if len(text) > _MAX_SHOWN_LENGTH:
                text = "..."
            arguments.append(f"{name}={text}")
        return f"compute_metrics({', '.join(arguments)})"


def compute_metrics(*names: str, **options: Any) -> ComputeMetrics:
    """Make a `compute_metrics` for Trainer from the names of metrics.

    The logits (the first output, if a model returns several) go through one softmax in float64 and
    then to the kernels that the whole library uses. Both `AutoModelForSequenceClassification` and
    `AutoModelForMultipleChoice` are supported; items with the label -100 are ignored, except by
    `prior_bias` and `behavioral_pass_rate`, which need no labels. With several processes, Trainer
    passes the gathered items to each, so every process has the figures of all items.

    | name | range | better | |
    |---|---|---|---|
    | accuracy | [0, 1] | higher | share of correct predictions |
    | f1 | [0, 1] | higher | `average`: "macro" (default), "binary" (class 1), "micro", "weighted" |
    | ece | [0, 1] | lower | options of `calibration_error`, without `scores` |
    | mce | [0, 1] | lower | the largest gap of a bin; options as for ece |
    | smooth_ece | [0, 1] | lower | kernel-smoothed ECE |
    | ece_sweep | [0, 1] | lower | ECE with as many bins as keep the accuracies monotonic |
    | macro_ce | [0, 1] | lower | calibration of correct and of incorrect predictions, averaged |
    | brier | [0, 2] | lower | squared distance of the probabilities from the label, over all classes |
    | nll | [0, ∞) | lower | mean negative log-likelihood of the label, in nats |
    | loss | [0, ∞) | lower | the same under the name of Trainer's own loss, which it replaces |
    | aurc | [0, 1] | lower | area under the risk-coverage curve |
    | auroc | [0, 1] | higher | how well confidence separates correct from incorrect predictions |

    `macro_ce` and `auroc` are None unless there are correct and incorrect predictions.

    Figures of the evaluate modules need more than logits and labels. Pass it by name, in the order
    of the evaluation set (Trainer keeps that order in evaluation):

    | names | option | |
    |---|---|---|
    | dist_ce, ent_ce, rank_cs | `human_votes` | (N, K) votes; also `votes` and `ties` |
    | easy_hard_gap, easy_accuracy, hard_accuracy | `easy` | (N,) flags |
    | shortcut_tradeoff, shortcut_rate | `cued` | (N,) flags; also `average` |
    | contrast_consistency, original_accuracy, contrast_accuracy | `groups` | (N,) names of sets; \
also `is_original` |
    | behavioral_pass_rate | `suite` | a `Suite`, whose examples are the evaluation set; also \
`outputs`: "logits" (default), "labels", "binary_sentiment" |
    | prior_bias, normalized_prior_bias, mean_top_confidence | | of all items, or of each probe of \
`probes`: no_question_prior_bias, ... |
    | choice_paralysis, restricted_drop, perturbed_accuracy | `probes` | from `join_probes` |

    With `probes`, all other figures, and the other options, are about the original items only.

    Trainer prefixes each name, so `ece` is logged as `eval_ece`. It assumes that higher is better
    for every metric whose name does not end in "loss". To choose a checkpoint by calibration, set
    `greater_is_better=False`:

        TrainingArguments(
            ...,
            load_best_model_at_end=True,
            metric_for_best_model="eval_ece",
            greater_is_better=False,
        )

    Items may have different numbers of choices: `n_choices`, an (N,) array, has the number of logits
    of each row that are choices. Logits with which Trainer pads shorter rows are always left out.

    Args:
        *names: Names of metrics; repetitions are ignored.
        **options: Options of these metrics, as in the tables, `n_choices`, and `probes`.

    Returns:
        A callable that takes an `EvalPrediction` and returns `{name: float}`. A figure that is
        undefined is None.

    Raises:
        TypeError: If a name is not a string, or an option has the wrong type.
        ValueError: If a name or an option is unknown, there is no name, or an option that a metric
            needs is missing.

    Example:
        >>> metrics = compute_metrics("accuracy", "ece", n_bins=10)
        >>> logits, labels = [[2.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [0, 1, 1]
        >>> {name: round(value, 4) for name, value in metrics((logits, labels)).items()}
        {'accuracy': 0.6667, 'ece': 0.296}
        >>> compute_metrics("easy_hard_gap", easy=[True, False, False])((logits, labels))
        {'easy_hard_gap': 0.5}
    """
    if not names:
        figure_names = ", ".join(sorted(_list_options()))
        raise ValueError(f"Expected at least one name of a metric. Known: {figure_names}.")
    options_by_name = _list_options()
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"Expected the names of metrics, but got {name!r} ({type(name).__name__})."
            )
        if name not in options_by_name:
            raise make_unknown_name_error("metric", name, options_by_name)
    # A repeated name is computed once.
    unique_names = tuple(dict.fromkeys(names))
    allowed = list(COMMON_OPTIONS)
    for name in unique_names:
        allowed.extend(options_by_name[name])
    # A misspelled option is reported now, and not at the end of the first epoch.
    check_options(options, allowed, f"compute_metrics({', '.join(map(repr, unique_names))})")
    if options.get("probes") is not None:
        check_kind(options["probes"], "probes", ProbeSets)
    return ComputeMetrics(unique_names, options)


def _list_options() -> dict[str, tuple[str, ...]]:
    """Return name of a figure -> names of its options."""
    options: dict[str, tuple[str, ...]] = {}
    for family in FAMILIES:
        options.update(dict.fromkeys(family.figure_names, family.option_names))
    return options
