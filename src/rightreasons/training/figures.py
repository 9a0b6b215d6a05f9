"""Figures of an evaluation of Trainer, in families that share work and options.

`FAMILIES` lists them. A family is a class with the names of its figures and of its options, which
are checked before the training begins. To add figures, add a family.

Options named in `column_names` are side columns: one value per item of the evaluation set, in its
order, because Trainer passes only logits and labels.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from rightreasons.behavior.predictions import OUTPUTS
from rightreasons.behavior.rates import pass_rates
from rightreasons.calibration.errors import CalibrationErrorOptions, compute_calibration
from rightreasons.calibration.figures import STATISTICS
from rightreasons.calibration.human import human_calibration
from rightreasons.calibration.proper_scores import brier_score, negative_log_likelihood
from rightreasons.core.classification import AVERAGES, classification_scores
from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import check_one_of, softmax
from rightreasons.cues.easy_hard import easy_hard_gap
from rightreasons.difficulty.contrast import contrast_consistency
from rightreasons.probes.bias import prior_bias
from rightreasons.probes.paralysis import choice_paralysis
from rightreasons.shortcuts.tradeoff import shortcut_tradeoff
from rightreasons.training.evaluations import ADDED_CHOICES, Evaluation, ProbeSets

Figures: TypeAlias = "dict[str, float | None]"

NO_INTERVAL = Resampling(resamples=1)
"""Figures of a Trainer have no intervals, so that kernels which always draw some draw one."""


class Family(abc.ABC):
    """Figures that are computed together.

    Args:
        options: Options of the family by name. They are checked here, before any training.

    Raises:
        OptionError: If a required option is missing.
    """

    figure_names: ClassVar[tuple[str, ...]]
    """Names of the figures."""

    option_names: ClassVar[tuple[str, ...]] = ()
    """Names of the options."""

    required_names: ClassVar[tuple[str, ...]] = ()
    """Names of the options without which the figures cannot be computed."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Store the options, and check that the required ones are present.

        Raises:
            OptionError: If a required option is missing.
        """
        self.options = dict(options)
        for name in self.required_names:
            if options.get(name) is None:
                raise OptionError(
                    f"Expected `{name}` in compute_metrics for {self.figure_names[0]}, "
                    "but there is none.",
                    option=name,
                )

    def list_keys(self, name: str) -> list[str]:
        """Return the keys of a figure in the result; more than one if there is one figure per probe."""
        return [name]

    @abc.abstractmethod
    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute at least the figures of the family that are among `names`."""


class Classification(Family):
    """Accuracy and F1."""

    figure_names = ("accuracy", "f1")
    option_names = ("average",)

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._average = check_one_of(options.get("average", "macro"), AVERAGES, "average")

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute accuracy and F1 of the labeled items.

        Args:
            evaluation: Logits and labels.
            names: Not used, because the figures are computed together.

        Returns:
            {"accuracy": ..., "f1": ...}.
        """
        top = evaluation.top
        _check_average(self._average, evaluation)
        # The number of classes is not passed: only classes that occur in the evaluation count.
        result = classification_scores(top.predicted, top.labels, average=self._average)
        return {"accuracy": result.accuracy, "f1": result.f1}


def _check_average(average: str, evaluation: Evaluation) -> None:
    """Check that binary F1 has two classes, also if a third one does not occur in an evaluation.

    Raises:
        OptionError: If it has not.
    """
    n_classes = evaluation.logits.shape[1]
    if average == "binary" and n_classes != 2:
        raise OptionError(
            f"Expected two classes for average='binary', but got {n_classes}.", option="average"
        )


class CalibrationErrors(Family):
    """Binned calibration errors: their mean and their largest gap."""

    figure_names = ("ece", "mce")
    # The scores of an evaluation are always logits.
    option_names = tuple(name for name in CalibrationErrorOptions.list_names() if name != "scores")

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._options = CalibrationErrorOptions.read(options, "compute_metrics")

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute both figures, from the same bins."""
        errors = compute_calibration(evaluation.top, self._options)
        return {"ece": errors.ece, "mce": errors.mce}


class ProperScores(Family):
    """The Brier score and the log loss."""

    figure_names = ("brier", "nll", "loss")

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute the Brier score and the log loss of the labeled items.

        Args:
            evaluation: Logits and labels.
            names: Names of the figures to compute.

        Returns:
            {"brier": ..., "nll": ..., "loss": ...}, without figures that are not among `names`.
        """
        figures: Figures = {}
        if "brier" in names:
            figures["brier"] = brier_score(evaluation.top).brier
        if "nll" in names or "loss" in names:
            # Use logits, because the probability of a label may be rounded to 0.
            labels = evaluation.top.labels
            result = negative_log_likelihood(evaluation.labeled_logits, labels, scores="logits")
            figures["nll"] = result.nll
            # This replaces Trainer's own loss, which is undefined if a batch has no label.
            figures["loss"] = result.nll
        return figures


class TopLabelStatistics(Family):
    """Figures that are functions of the top labels, such as AUROC."""

    figure_names = tuple(STATISTICS)

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute figures of the confidence and the correctness of the labeled items.

        Args:
            evaluation: Logits and labels.
            names: Names of the figures to compute. Names of other families are ignored.

        Returns:
            Name of a figure -> its value, such as {"auroc": ...}.
        """
        figures: Figures = {}
        for name in self.figure_names:
            if name in names:
                figures[name] = STATISTICS[name](evaluation.top)
        return figures


class HumanCalibration(Family):
    """How far the probabilities are from the votes of people."""

    figure_names = ("dist_ce", "ent_ce", "rank_cs")
    # `votes` says whether the votes are counts or shares, so that they have another name.
    option_names = ("human_votes", "votes", "ties")
    required_names = ("human_votes",)

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(options)
        self._kernel_options = dict(options)
        self._votes = self._kernel_options.pop("human_votes")

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compare the probabilities of the labeled items with the votes of people.

        Args:
            evaluation: Logits and labels.
            names: Not used, because the figures are computed together.

        Returns:
            {"dist_ce": ..., "ent_ce": ..., "rank_cs": ...}.
        """
        result = human_calibration(
            evaluation.labeled_logits,
            evaluation.take_labeled(self._votes, "human_votes"),
            scores="logits",
            resampling=NO_INTERVAL,
            **self._kernel_options,
        )
        return {"dist_ce": result.dist_ce, "ent_ce": result.ent_ce, "rank_cs": result.rank_cs}


class PriorBias(Family):
    """Preferences among the choices of items that have no correct one."""

    figure_names = ("prior_bias", "normalized_prior_bias", "mean_top_confidence")
    option_names = ("probes",)

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Select the probes after which no choice of an item is correct.

        Args:
            options: `probes`, if the evaluation has parts.
        """
        super().__init__(options)
        probes: ProbeSets | None = options.get("probes")
        self._probe_names: list[str] | None = None
        if probes is not None:
            # After the probe that adds choices, there is a correct choice, which a model should prefer.
            self._probe_names = [name for name in probes.probe_names if name != ADDED_CHOICES]

    def list_keys(self, name: str) -> list[str]:
        """Return a key per probe, such as "no_question_prior_bias"; without probes, the name itself."""
        if self._probe_names is None:
            return [name]
        return [f"{probe_name}_{name}" for probe_name in self._probe_names]

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute the prior bias of the items of each probe; of all items if there are no probes.

        Args:
            evaluation: Logits of the items, with the evaluation of each probe.
            names: Not used, because the figures are computed together.
        """
        if self._probe_names is None:
            return self._compute_items(evaluation, "")
        # Figures are not averaged over probes, because each probe changes an item differently.
        figures: Figures = {}
        for probe_name in self._probe_names:
            figures.update(self._compute_items(evaluation.probes[probe_name], f"{probe_name}_"))
        return figures

    def _compute_items(self, evaluation: Evaluation, prefix: str) -> Figures:
        """Compute the figures of some items, whose labels do not matter."""
        result = prior_bias(evaluation.choice_logits, scores="logits")
        return {f"{prefix}{name}": getattr(result, name) for name in self.figure_names}


class ChoiceParalysis(Family):
    """Drop of the confidence in the correct choice when choices are added."""

    figure_names = ("choice_paralysis", "restricted_drop", "perturbed_accuracy")
    option_names = ("probes",)
    required_names = ("probes",)

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Check that the probes include the one that adds choices.

        Args:
            options: `probes`, the parts of the evaluation.

        Raises:
            OptionError: If the probe is missing.
        """
        super().__init__(options)
        self._sets: ProbeSets = options["probes"]
        if ADDED_CHOICES not in self._sets.sources:
            raise OptionError(
                f"Expected the probe {ADDED_CHOICES} in `probes` for choice_paralysis, but it has "
                f"{', '.join(self._sets.probe_names)}.",
                option="probes",
            )

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compare each item with its perturbed version, which has additional choices.

        Args:
            evaluation: The original items, with the evaluation of each probe.
            names: Not used, because the figures are computed together.

        Returns:
            {"choice_paralysis": ..., "restricted_drop": ..., "perturbed_accuracy": ...}.
        """
        # The probe leaves out some items. Select the originals of the others.
        original = evaluation.select(self._sets.sources[ADDED_CHOICES])
        perturbed = evaluation.probes[ADDED_CHOICES]
        result = choice_paralysis(
            original.choice_logits,
            perturbed.choice_logits,
            original.labels,
            perturbed.labels,
            self._sets.original_positions,
            scores="logits",
        )
        return {
            "choice_paralysis": result.choice_paralysis,
            "restricted_drop": result.restricted_drop.mean,
            "perturbed_accuracy": result.perturbed_accuracy,
        }


class EasyHardGap(Family):
    """Accuracy on items that cues solve, minus accuracy on the others."""

    figure_names = ("easy_hard_gap", "easy_accuracy", "hard_accuracy")
    option_names = ("easy",)
    required_names = ("easy",)

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute the accuracy on Easy and on Hard items, and their difference.

        Args:
            evaluation: Logits and labels.
            names: Not used, because the figures are computed together.

        Returns:
            {"easy_hard_gap": ..., "easy_accuracy": ..., "hard_accuracy": ...}.
        """
        # The p-value is not logged, so that the smallest number of permutations suffices.
        result = easy_hard_gap(
            evaluation.top.predicted,
            evaluation.top.labels,
            evaluation.take_labeled(self.options["easy"], "easy"),
            n_permutations=1,
            resampling=NO_INTERVAL,
        )
        return {name: getattr(result, name) for name in self.figure_names}


class ShortcutTradeoff(Family):
    """Score per share of predictions that rely on shortcuts."""

    figure_names = ("shortcut_tradeoff", "shortcut_rate")
    option_names = ("cued", "average")
    required_names = ("cued",)

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute the share of predictions that rely on shortcuts, and the score divided by this share.

        Args:
            evaluation: Logits and labels.
            names: Not used, because the figures are computed together.

        Returns:
            {"shortcut_tradeoff": ..., "shortcut_rate": ...} of the labeled items.
        """
        average = self.options.get("average", "macro")
        _check_average(average, evaluation)
        result = shortcut_tradeoff(
            evaluation.top.predicted,
            evaluation.top.labels,
            evaluation.take_labeled(self.options["cued"], "cued"),
            average=average,
            # The number of classes is not passed: only classes that occur in the evaluation count.
            resampling=NO_INTERVAL,
        )
        return {name: getattr(result, name) for name in self.figure_names}


class ContrastConsistency(Family):
    """Share of contrast sets whose items are all predicted correctly."""

    figure_names = ("contrast_consistency", "original_accuracy", "contrast_accuracy")
    option_names = ("groups", "is_original")
    required_names = ("groups",)

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute the share of contrast sets whose items are all predicted correctly.

        Args:
            evaluation: Logits and labels.
            names: Not used, because the figures are computed together.

        Returns:
            {"contrast_consistency": ..., "original_accuracy": ..., "contrast_accuracy": ...}.
        """
        # If the option is missing, the first item of each set is the original.
        is_original = self.options.get("is_original")
        if is_original is not None:
            is_original = evaluation.take_labeled(is_original, "is_original")
        result = contrast_consistency(
            evaluation.top.predicted,
            evaluation.top.labels,
            evaluation.take_labeled(self.options["groups"], "groups"),
            is_original,
        )
        return {name: getattr(result, name) for name in self.figure_names}


class BehavioralPassRate(Family):
    """Share of the test cases of a suite that the model passes."""

    figure_names = ("behavioral_pass_rate",)
    option_names = ("suite", "outputs")
    required_names = ("suite",)

    def __init__(self, options: Mapping[str, Any]) -> None:
        """Check the suite, and the kind of outputs by which it is scored.

        Args:
            options: `suite`, a `Suite`; and optionally `outputs`: "logits", "labels" or
                "binary_sentiment".

        Raises:
            OptionError: If an option is missing or invalid.
        """
        super().__init__(options)
        suite = options["suite"]
        if not hasattr(suite, "table"):
            raise OptionTypeError(
                "Expected `suite` to be a Suite, which `rightreasons.datasets.open_suite` opens, "
                f"but got {type(suite).__name__}.",
                option="suite",
            )
        # An evaluation of Trainer has logits, from which these outputs can be computed.
        allowed = [name for name in OUTPUTS if name in ("logits", "labels", "binary_sentiment")]
        self._outputs = check_one_of(options.get("outputs", "logits"), allowed, "outputs")
        self._table = suite.table()

    def compute(self, evaluation: Evaluation, names: Sequence[str]) -> Figures:
        """Compute the share of the suite's cases that the model passes.

        The evaluation set must be the examples of the suite, in its order. The labels of the evaluation
        are not used, because the suite contains the expected answers.

        Args:
            evaluation: Logits of the examples.
            names: Not used.

        Returns:
            {"behavioral_pass_rate": ...}.
        """
        predictions: Any = evaluation.choice_logits.table()
        if self._outputs == "labels":
            predictions = predictions.argmax(axis=1)
        elif self._outputs == "binary_sentiment":
            predictions = softmax(predictions)
        result = pass_rates(predictions, self._table, outputs=self._outputs)
        return {"behavioral_pass_rate": result.behavioral_pass_rate}


FAMILIES: tuple[type[Family], ...] = (
    Classification,
    CalibrationErrors,
    ProperScores,
    TopLabelStatistics,
    HumanCalibration,
    PriorBias,
    ChoiceParalysis,
    EasyHardGap,
    ShortcutTradeoff,
    ContrastConsistency,
    BehavioralPassRate,
)
"""All families that `compute_metrics` knows."""
