r"""Corrections of answer priors: what a model answers without the question is divided out of its answers.

A model may prefer a choice whatever the question is. `fit_prior_correction` fits how much of this
preference to remove, on held-out items with labels; `fit_position_prior` and `fit_content_free_prior`
fit the corrections of two papers, which depend on positions and not on texts. Each returns a
`PriorCorrection`, a function of scores that is saved as a small JSON file. `load_prior_correction`
reads it with NumPy alone, and `corrected.CorrectedScorer` applies it to the scores of a model.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from rightreasons.core.arrays import Floats, Ragged
from rightreasons.core.json_files import read_tagged_json
from rightreasons.core.results import Result
from rightreasons.core.store import write_json
from rightreasons.core.validation import (
    check_fraction,
    check_labels,
    check_logits,
    check_number,
    check_one_of,
    check_same_length,
    check_scores,
    check_vector,
)
from rightreasons.probes.option_order import pride_prior

METHODS = ("per_item", "positions", "content_free")

FORMAT = "rightreasons prior correction 1"
"""First entry of a saved correction."""

MIN_RELATIVE_PROBABILITY = 1e-12
"""Smallest probability without the question, as a share of the largest of its item.

A prior of 0 would make its choice infinitely likely.
"""

MAX_WEIGHT = 100.0
"""Largest weight of the fit. Without this bound, it would be infinite if all answers are correct."""

MIN_WEIGHT = 0.01
"""Smallest inverse temperature, which would be 0 for scores that are unrelated to the labels."""


@dataclasses.dataclass(frozen=True)
class PriorCorrection(Result):
    r"""A fitted correction of answer priors, a function from scores to probabilities.

    With \(z\) the scores of the choices of an item and \(z_0\) the logarithm of their prior, it is

    \[ \mathrm{softmax}\left(\frac{z - \lambda z_0}{T}\right). \]

    Attributes:
        method: "per_item" (the prior of an item is the answer to its choices without the question),
            "positions" (PriDe) or "content_free" (contextual calibration).
        strength: Strength \(\lambda\) from 0 (no correction) to 1 (the whole prior is divided out).
        temperature: Temperature T > 0.
        n_fit: Number of items that it was fitted on.
        prior: (n,) prior over the positions of the choices. None for "per_item".

    Example:
        The first choice has the probability 3/4 even without the question, so that the question adds
    nothing to it.

        >>> correction = PriorCorrection("per_item", strength=1.0, temperature=1.0, n_fit=0)
        >>> correction([[0.75, 0.25]], [[0.75, 0.25]], scores="probabilities").round(6)
        array([[0.5, 0.5]])
    """

    method: str
    strength: float
    temperature: float
    n_fit: int
    prior: list[float] | None = None

    @property
    def needs_second_request(self) -> bool:
        """Whether the correction needs scores without the question."""
        return self.method == "per_item" and self.strength > 0

    def __call__(
        self, predictions: Any, no_question: Any = None, *, scores: str = "logits"
    ) -> Floats | list[Floats]:
        """Return the corrected probabilities of scores.

        Args:
            predictions: (N, K) scores of choices, or N rows of different lengths.
            no_question: Scores of the same choices without the question, in the same shape. Needed for
                "per_item", and ignored otherwise.
            scores: "logits" (default; log-likelihoods are logits), "log_probabilities" or
                "probabilities", of both.

        Returns:
            (N, K) probabilities; a list of N rows if their lengths differ.

        Raises:
            TypeError: If the scores have the wrong type.
            ValueError: If shapes differ, or scores without the question are missing.
        """
        rows = parse_choice_scores(predictions, scores, "predictions")
        no_question_rows = None
        if self.needs_second_request:
            if no_question is None:
                raise ValueError(
                    "Expected scores without the question in `no_question`, but got None. Such a "
                    "correction needs these scores for each item."
                )
            no_question_rows = parse_choice_scores(no_question, scores, "no_question")
            check_same_choices(rows, no_question_rows)
        probabilities = self.correct_rows(rows, no_question_rows).softmax()
        # Rows of equal length are returned as an array, others as a list.
        table = probabilities.table()
        if isinstance(table, Ragged):
            return list(table)
        return table

    def correct_rows(self, rows: Ragged, no_question: Ragged | None) -> Ragged:
        """Return the corrected logits of N items, (z - strength * z_0) / temperature.

        Args:
            rows: N rows of logits z of the choices.
            no_question: N rows of logits z_0 of the same choices without the question. None if the
                correction has a prior over positions, or removes nothing.
        """
        corrected = rows.values
        if self.prior is not None:
            # The prior over positions is the same for all items.
            corrected = corrected - self.strength * self._repeat_prior(rows)
        elif no_question is not None and self.strength > 0:
            corrected = corrected - self.strength * make_finite(no_question).values
        return Ragged(corrected / self.temperature, rows.offsets)

    def _repeat_prior(self, rows: Ragged) -> Floats:
        """Return the log prior of the position of each choice, in the flat layout of the rows.

        Args:
            rows: N rows of logits, all with as many choices as the prior has positions.

        Raises:
            ValueError: If an item has another number of choices.
        """
        log_prior = np.log(np.array(self.prior))
        n_positions = len(log_prior)
        if (rows.lengths != n_positions).any():
            raise ValueError(
                f"Expected items with {n_positions} choices, as in the items that the correction "
                f"was fitted on, but got {', '.join(map(str, np.unique(rows.lengths)))}."
            )
        return np.tile(log_prior, len(rows))

    def save(self, file: str | os.PathLike[str]) -> Path:
        """Write the correction as a JSON file; `load_prior_correction` reads it."""
        return write_json(Path(file), {"format": FORMAT, **self.to_dict()})


def load_prior_correction(file: str | os.PathLike[str]) -> PriorCorrection:
    """Load a correction that `PriorCorrection.save` or `rightreasons debias` wrote.

    Args:
        file: The JSON file.

    Returns:
        The correction, a function of scores. `rightreasons.probes.CorrectedScorer(model,
        correction)` is a model with corrected scores.

    Raises:
        FileNotFoundError: If there is no file.
        ValueError: If the file has other content, or a value is out of range.
    """
    content = read_tagged_json(file, FORMAT, "a prior correction")
    # The values are checked, because the file may have been edited.
    method = str(check_one_of(str(content.get("method")), METHODS, "method"))
    temperature = check_number(content.get("temperature"), "temperature")
    if temperature <= 0:
        raise ValueError(f"Expected `temperature` above 0 in {file}, but got {temperature:g}.")
    prior = None
    if method != "per_item":
        prior = check_scores([content.get("prior")], name="prior")[0].tolist()
    return PriorCorrection(
        method=method,
        strength=check_fraction(content.get("strength"), "strength"),
        temperature=temperature,
        n_fit=int(content.get("n_fit") or 0),
        prior=prior,
    )


# -------------------------------------------------------------------------------------------- fits


def fit_prior_correction(
    predictions: Any, no_question: Any, references: Any, *, scores: str = "logits"
) -> PriorCorrection:
    r"""Fit how much of the prior of each item to remove, and a temperature, on held-out items.

    The strength \(\lambda \in [0, 1]\) and the temperature T minimize the log loss of

    \[ \mathrm{softmax}\left(\frac{\log p(c \mid q) - \lambda \log p(c \mid \text{no question})}{T}\right), \]

    which with \(u = \lambda / T\) and \(v = (1 - \lambda) / T\) is convex in \(u, v \ge 0\): u weighs what
    the question adds to the score of a choice, and v the score itself. \(\lambda = 1\) and T = 1 is
    the pointwise mutual information of question and choice (PMI_DC of Holtzman et al.). A prior that
    carries accuracy gets a small \(\lambda\).

    Args:
        predictions: N rows of scores of choices, of equal or different lengths.
        no_question: N rows of the scores of the same choices without the question.
        references: (N,) labels of items that are separate from training and from the evaluation.
        scores: "logits" (default; log-likelihoods are logits), "log_probabilities" or
            "probabilities", of both.

    Returns:
        A `PriorCorrection` with method "per_item".

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a value, a shape or a length is wrong.

    References:
        Holtzman, West, Shwartz, Choi, Zettlemoyer (2021), "Surface Form Competition: Why the Highest
        Probability Answer Isn't Always Right", EMNLP. The fitted strength and temperature are ours.

    Example:
        The model prefers the first choice by log 9, whatever the question is. The question adds
        log 3 to one choice, which is correct in three of four items. As log 3 is the log odds of
        3/4, the scores without the prior are calibrated.

        >>> prior = np.array([[np.log(9), 0.0]] * 8)
        >>> added = np.log(3) * np.eye(2)[[0, 0, 0, 0, 1, 1, 1, 1]]
        >>> correction = fit_prior_correction(prior + added, prior, [0, 0, 0, 1, 1, 1, 1, 0])
        >>> round(correction.strength, 3), round(correction.temperature, 3)
        (1.0, 1.0)
    """
    rows = make_finite(parse_choice_scores(predictions, scores, "predictions"))
    no_question_rows = make_finite(parse_choice_scores(no_question, scores, "no_question"))
    check_same_choices(rows, no_question_rows)
    labels = check_labels(references, rows.lengths, name="references")
    check_same_length(predictions=rows, references=labels)

    # What the question adds to the score of each choice.
    added = Ragged(rows.values - no_question_rows.values, rows.offsets)
    added_weight, score_weight = _fit_weights(added, rows, labels)
    total = added_weight + score_weight
    # Scores without any relation to the labels have no best strength, so that the answers are not
    # changed.
    if total < MIN_WEIGHT:
        return PriorCorrection("per_item", 0.0, 1 / MIN_WEIGHT, len(labels))
    return PriorCorrection("per_item", added_weight / total, 1 / total, len(labels))


def _fit_weights(
    added_scores: Ragged, scores: Ragged, labels: NDArray[np.int64]
) -> tuple[float, float]:
    """Fit a softmax regression of the correct choice on two scores of each choice.

    Args:
        added_scores: N rows of the score of each choice with the question minus that without it.
        scores: N rows of the score of each choice with the question.
        labels: (N,) correct choice of each item.

    Returns:
        The weights of both scores, from 0 to `MAX_WEIGHT`, that minimize the mean log loss.
    """
    n_items = len(labels)
    features = np.array([added_scores.values, scores.values])
    features_of_labels = np.array([added_scores.at(labels), scores.at(labels)])

    def compute_loss(weights: Floats) -> tuple[float, Floats]:
        """Return the mean log loss and its gradient by the two weights."""
        logits = Ragged(weights @ features, scores.offsets)
        loss = _compute_log_sums(logits) - weights @ features_of_labels
        # The derivative by a weight is the expected score minus the score of the label.
        expected_features = features @ logits.softmax().values
        gradient = (expected_features - features_of_labels.sum(axis=1)) / n_items
        return float(loss.mean()), gradient

    bounds = [(0.0, MAX_WEIGHT)] * 2
    # The loss is convex, so that any start leads to the same weights.
    start = np.array([0.5, 0.5])
    fit = optimize.minimize(
        compute_loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 1000, "gtol": 1e-9, "ftol": 1e-14},
    )
    return float(fit.x[0]), float(fit.x[1])


def _compute_log_sums(logits: Ragged) -> Floats:
    """Return log(sum of exp(logit)) over the choices of each item.

    Args:
        logits: N rows of logits.

    Returns:
        (N,) logarithms.
    """
    largest = logits.reduce(np.maximum)
    # The largest power of each item becomes 1, so that none overflows.
    powers = np.exp(logits.values - np.repeat(largest, logits.lengths))
    return largest + np.log(np.add.reduceat(powers, logits.starts))


def fit_position_prior(observed: Any) -> PriorCorrection:
    """Fit the correction of PriDe: a prior over positions, from the cyclic orders of some items.

    Args:
        observed: (N, R, n) probabilities of the n positions of N items under R cyclic orders.

    Returns:
        A `PriorCorrection` with method "positions", to be applied to items in their own order.

    References:
        Zheng et al. (2024), "Large Language Models Are Not Robust Multiple Choice Selectors", ICLR,
        equations 6 and 7. Their code answers the items of the estimate by the mean over the orders;
        here these items are only fitted on.

    Example:
        >>> rows = [[.4, .3, .2, .1], [.5, .2, .2, .1], [.3, .4, .2, .1], [.45, .25, .15, .15]]
        >>> correction = fit_position_prior([rows])
        >>> correction([[.4, .35, .15, .1]], scores="probabilities").round(4).tolist()
        [[0.2496, 0.3181, 0.2038, 0.2285]]
    """
    # The whole prior is divided out, without a temperature, as in the paper.
    prior = pride_prior(observed)
    return PriorCorrection("positions", 1.0, 1.0, len(observed), prior.tolist())


def fit_content_free_prior(content_free: Sequence[Any]) -> PriorCorrection:
    """Fit contextual calibration: a prior over positions, from questions without content.

    The paper has the same classes for every input. Choices differ between items, so the prior of a
    position is averaged over the choices of some items.

    Args:
        content_free: For each question without content, such as "N/A", "" and "[MASK]", (N, n)
            probabilities of the n positions of N items.

    Returns:
        A `PriorCorrection` with method "content_free".

    References:
        Zhao et al. (2021), "Calibrate Before Use", ICML, section 5. Their code averages the
        probabilities of the labels over these three inputs and normalizes the mean; here each is
        normalized first.

    Example:
        >>> correction = fit_content_free_prior([[[0.7, 0.3]], [[0.8, 0.2]]])
        >>> correction([[0.6, 0.4]], scores="probabilities").round(4)
        array([[0.3333, 0.6667]])
    """
    tables = [check_scores(table, name="content_free") for table in content_free]
    prior = check_vector(np.mean(tables, axis=(0, 1)), "content_free")
    return PriorCorrection("content_free", 1.0, 1.0, len(tables[0]), prior.tolist())


# ------------------------------------------------------------------------------------------ checks


def parse_choice_scores(values: Any, scores: str, name: str) -> Ragged:
    """Check scores of choices, and convert them to rows of logits.

    Args:
        values: (N, K) scores, or N rows of different lengths.
        scores: "logits", "log_probabilities" or "probabilities".
        name: Name of the argument, for error messages.
    """
    logits = check_logits(values, scores=scores, name=name)
    if isinstance(logits, Ragged):
        return logits
    return Ragged.of_table(logits)


def check_same_choices(rows: Ragged, no_question: Ragged) -> None:
    """Check that each item has as many scores without the question as with it.

    Args:
        rows: N rows of scores with the question.
        no_question: N rows of scores without the question.

    Raises:
        ValueError: If the numbers of items, or of choices of an item, differ.
    """
    check_same_length(predictions=rows, no_question=no_question)
    different = np.flatnonzero(rows.lengths != no_question.lengths)
    if different.size:
        row = int(different[0])
        raise ValueError(
            f"Expected as many choices in `no_question` as in `predictions`, but item {row} has "
            f"{no_question.lengths[row]} and {rows.lengths[row]}."
        )


def make_finite(rows: Ragged) -> Ragged:
    """Return logits, of which none is lower than `MIN_RELATIVE_PROBABILITY` allows for its item."""
    lowest = rows.reduce(np.maximum) + np.log(MIN_RELATIVE_PROBABILITY)
    return Ragged(np.maximum(rows.values, np.repeat(lowest, rows.lengths)), rows.offsets)
