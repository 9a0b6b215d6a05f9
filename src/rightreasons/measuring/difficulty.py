"""Which examples a model is fragile on: Fisher eigenvalues, what they go with, and which single words flip them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis import intervals
from rightreasons.analysis.difficulty.ranking import (
    AccuracyByDifficulty,
    RankCorrelation,
    accuracy_by_difficulty,
    entropy,
    margin,
    rank_correlation,
    spearman,
)
from rightreasons.foundations.numeric import softmax
from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import plain
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.estimates import Estimate, estimate_of, share
from rightreasons.measuring.substitution_sources import replacement_sources
from rightreasons.measuring.substitutions import Attempt, SubstitutionTests, substitution_tests
from rightreasons.models.gradients.fisher import FisherInformation, fisher_information
from rightreasons.models.loading import Classifier
from rightreasons.models.prompting.prompted import Prompted
from rightreasons.models.scoring.causal import CausalLM

Floats = NDArray[np.float64]

N_GROUPS = 10
"""Maximum number of groups of rising difficulty; a group holds at least `GROUP_SIZE` items."""

GROUP_SIZE = 10

CORRELATION_RESAMPLES = 300
"""Maximum resamples of a rank correlation, which is computed anew on each."""

KINDS = ("synonym", "name", "neighbor", "antonym")
"""Replacements, the mildest first: a synonym that flips a prediction says more than an antonym."""

REVERSED = ("antonym",)
"""Replacements that reverse the meaning of a word: a prediction that stays may miss it."""


@dataclasses.dataclass(frozen=True, eq=False)
class Correlation:
    """The rank correlation of the eigenvalue with another measure of the same items.

    Attributes:
        test: Spearman's correlation and its p-value.
        rho: The correlation with its bootstrap interval; None where one side is constant, or there are fewer than three
            items.
    """

    test: RankCorrelation
    rho: Estimate | None


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingDynamics:
    """How some of the measured items fared in training.

    Attributes:
        places: (m,) which of the measured items these are.
        variability: (m,) standard deviation over the epochs of the probability of the label.
        confidence: (m,) its mean.
        n_epochs: Number of epochs.
    """

    places: NDArray[np.int64]
    variability: Floats
    confidence: Floats
    n_epochs: int

    def to_dict(self, measured: DifficultyMeasurement) -> dict[str, Any]:
        """Return it as plain values, with the rank correlations with the eigenvalues of the same items."""
        values = measured.values[self.places]
        return {
            "n_epochs": self.n_epochs,
            "ids": [measured.fisher.ids[row] for row in measured.rows[self.places]],
            "variability": self.variability.tolist(),
            "confidence": self.confidence.tolist(),
            "correlation_with_variability": rank_correlation(values, self.variability).to_dict(),
            "correlation_with_confidence": rank_correlation(values, self.confidence).to_dict(),
        }


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class RankedItems:
    """The n items whose difficulty is known, out of N, with what the model says of them.

    Attributes:
        rows: (n,) rows of the items whose difficulty is known; what follows is about these.
        values: (n,) their difficulties, at least 0; larger is more fragile.
        predicted: (n,) predicted classes, or choices.
        confidence: (n,) their probabilities.
        margin: (n,) gap between the two largest probabilities.
        entropy: (n,) entropy of the probabilities, in nats.
        labels: (n,) gold labels, -1 for none.
    """

    rows: NDArray[np.int64]
    values: Floats
    predicted: NDArray[np.int64]
    confidence: Floats
    margin: Floats
    entropy: Floats
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    @staticmethod
    def said(logits: Floats | Ragged, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return predictions, confidence, margin and entropy of some rows of scores, as fields."""
        lengths = logits.lengths[rows] if isinstance(logits, Ragged) else np.zeros(len(rows), dtype=np.int64)
        predicted = np.zeros(len(rows), dtype=np.int64)
        confidence, gaps, entropies = np.zeros((3, len(rows)))
        for length in np.unique(lengths):
            same = np.flatnonzero(lengths == length)
            probabilities = softmax(np.array([logits[int(row)] for row in rows[same]]))
            predicted[same], confidence[same] = probabilities.argmax(axis=1), probabilities.max(axis=1)
            gaps[same], entropies[same] = margin(probabilities), entropy(probabilities)
        return {"predicted": predicted, "confidence": confidence, "margin": gaps, "entropy": entropies}

    @property
    def others(self) -> Mapping[str, Floats]:
        """Further measures of the items, (n,) each, to correlate the difficulty with."""
        return {}

    @property
    def labeled(self) -> NDArray[np.bool_]:
        """(n,) which items have a label."""
        return np.asarray(self.labels >= 0)

    @property
    def correct(self) -> NDArray[np.bool_]:
        """(n,) which predictions are the label."""
        return np.asarray(self.predicted == self.labels)

    @functools.cached_property
    def order(self) -> list[int]:
        """Places of the n items, the most difficult first."""
        places: list[int] = np.argsort(-self.values, kind="stable").tolist()
        return places

    def median(self, resampling: Resampling) -> Estimate:
        """Return the median difficulty with its bootstrap interval."""

        def median(values: Floats) -> float:
            return float(np.median(values))

        return estimate_of(median(self.values), intervals.bootstrap(median, self.values, resampling=resampling))

    def share_of_hardest_tenth(self) -> float:
        """Return the share of the sum of all difficulties that the most difficult tenth of the items holds."""
        hardest = np.sort(self.values)[-max(1, len(self) // 10) :]
        return float(hardest.sum() / max(float(self.values.sum()), 1e-300))

    def groups(self) -> AccuracyByDifficulty | None:
        """Return the accuracy of groups of rising difficulty; None where labels are too few for two groups."""
        known = self.labeled
        n_groups = min(N_GROUPS, int(known.sum()) // GROUP_SIZE)
        if n_groups < 2:
            return None
        return accuracy_by_difficulty(self.values[known], self.predicted[known], self.labels[known], n_groups=n_groups)

    def accuracies(self, resampling: Resampling) -> list[Estimate]:
        """Return the accuracies of `groups` with their Wilson intervals; [] where there are no groups."""
        groups = self.groups()
        if groups is None:
            return []
        shares = zip(groups.accuracies, groups.counts, strict=True)
        estimates = [share(round(accuracy * count), count, resampling) for accuracy, count in shares]
        return [estimate for estimate in estimates if estimate is not None]

    def correlations(self, resampling: Resampling, dynamics: TrainingDynamics | None = None) -> dict[str, Correlation]:
        """Return the rank correlations of the difficulty with other measures of the same items.

        Args:
            resampling: Level, resamples (at most 300 are taken) and seed of the intervals.
            dynamics: How some of the items fared in training; None where that is unknown.

        Returns:
            Name of the measure -> its correlation: "confidence", "small_margin" (minus the margin), "entropy",
            "gradient_norm" of eigenvalues, "words" where the words are known, "variability" and "low_confidence" where
            there are training dynamics, and "wrong" (1 for a wrong prediction) among items with a label.
        """
        everything = np.arange(len(self))
        others: dict[str, tuple[NDArray[np.int64], Floats]] = {
            "confidence": (everything, self.confidence),
            "small_margin": (everything, -self.margin),
            "entropy": (everything, self.entropy),
            **{name: (everything, values) for name, values in self.others.items()},
        }
        if dynamics is not None:
            others["variability"] = (dynamics.places, dynamics.variability)
            others["low_confidence"] = (dynamics.places, -dynamics.confidence)
        known = np.flatnonzero(self.labeled)
        others["wrong"] = (known, (~self.correct[known]).astype(np.float64))
        fewer = resampling.at_most(CORRELATION_RESAMPLES)
        return {
            name: _correlation(self.values[places], values, fewer)
            for name, (places, values) in others.items()
            if len(places)
        }


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class DifficultyMeasurement(RankedItems):
    """The n items whose eigenvalue is known, out of N: their `values` are largest eigenvalues.

    Attributes:
        fisher: The Fisher information of all N items.
    """

    fisher: FisherInformation

    @classmethod
    def of(cls, fisher: FisherInformation, labels: NDArray[np.int64] | None = None) -> DifficultyMeasurement:
        """Join Fisher information with the probabilities that it was computed from.

        Args:
            fisher: The Fisher information of N items.
            labels: (N,) gold labels, -1 for none; None where there are none at all.
        """
        rows = np.flatnonzero(np.isfinite(fisher.eigenvalues))
        return cls(
            fisher=fisher,
            rows=rows,
            values=fisher.eigenvalues[rows],
            labels=np.full(len(rows), -1) if labels is None else labels[rows],
            **cls.said(fisher.logits, rows),
        )

    @property
    def others(self) -> Mapping[str, Floats]:
        """The gradient norm, and the number of words where the eigenvector was computed."""
        others = {"gradient_norm": self.fisher.gradient_norms[self.rows]}
        if self.fisher.tokens is not None:
            others["words"] = np.array([len(self.fisher.tokens[row]) for row in self.rows], dtype=np.float64)
        return others

    def words(self, place: int, count: int = 3) -> list[str]:
        """Return the words of an item that the eigenvector moves most; [] where it was not computed."""
        tokens, norms, row = self.fisher.tokens, self.fisher.token_norms, int(self.rows[place])
        if tokens is None or norms is None:
            return []
        return [tokens[row][word] for word in np.argsort(-norms[row], kind="stable")[:count]]

    def to_dict(self, *, tokens: bool = False, spectrum: bool = False) -> dict[str, Any]:
        """Return everything as plain values: columns of N, None where an item could not be computed.

        Args:
            tokens: Whether to add the tokens and how far the eigenvector moves each.
            spectrum: Whether to add all non-zero eigenvalues.
        """
        fisher = self.fisher
        failed = dict(fisher.failures)

        def column(values: Any) -> list[Any]:
            whole: list[Any] = [None] * len(fisher)
            for row, value in zip(self.rows.tolist(), np.asarray(values).tolist(), strict=True):
                whole[row] = value
            return whole

        def lists(rows: Ragged | None) -> list[Any]:
            return (
                []
                if rows is None
                else [None if name in failed else plain(row) for name, row in zip(fisher.ids, rows, strict=True)]
            )

        ranks = np.empty(len(self), dtype=np.int64)
        ranks[self.order] = np.arange(1, len(self) + 1)
        figures: dict[str, Callable[[Floats], Any]] = {
            "mean": np.mean, "std": np.std, "median": np.median, "min": np.min, "max": np.max
        }  # fmt: skip
        result = {
            "fim_difficulty": column(self.values),
            **{name: float(figure(self.values)) if len(self) else None for name, figure in figures.items()},
            "scale_free": column(fisher.scale_free[self.rows]),
            "gradient_norms": column(fisher.gradient_norms[self.rows]),
            "predictions": column(self.predicted),
            "confidences": column(self.confidence),
            "error": column(fisher.error[self.rows]),
            "ranks": column(ranks),
            "failures": [{"row": fisher.ids.index(name), "reason": reason} for name, reason in failed.items()],
            "n_truncated": int(fisher.truncated.sum()),
            "label_names": list(fisher.label_names or ()),
            "definition": fisher.definition,
        }
        if tokens:
            result["tokens"] = [list(row) for row in fisher.tokens or ()]
            result["token_norms"] = lists(fisher.token_norms)
        if spectrum:
            result["spectrum"] = lists(fisher.spectrum)
        return result


@checks_kinds
def measure_difficulty(
    classifier: Classifier | CausalLM | Prompted,
    texts: Sequence[str],
    *,
    labels: NDArray[np.int64] | None = None,
    **options: Any,
) -> DifficultyMeasurement:
    """Compute how fragile the prediction of each item is.

    Args:
        classifier: From `load_classifier`, `load_multiple_choice`, `load_causal` or `load_chooser`, or a
            `Prompted`.
        texts: N texts, or prompts.
        labels: (N,) gold labels, -1 for none; None where there are none at all.
        **options: Options of `fisher_information`, such as `text_pairs`, `choices`, `ids`, `eigenvector`, `unit`,
            `batch_size` and `out`.

    Returns:
        The items whose eigenvalue is known, with what the model says of them.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If lengths differ or an option is wrong.

    References:
        Datta et al. (2020), "Geometry matters: Exploring language examples at the decision boundary".
    """
    return DifficultyMeasurement.of(fisher_information(classifier, texts, **options), labels)


@dataclasses.dataclass(frozen=True, eq=False)
class ExtremeFlips:
    """What single replaced words do to the most and the least difficult items.

    Attributes:
        places: Places of the tested items among the measured ones: the hardest first, then the easiest.
        n_hard: How many of them are the hardest; as many are the easiest.
        tests: The substitution tests.
        sources: Where the replacements come from.
        kept: Kinds of replacements that keep the meaning of a word: synonyms, names, and neighbors of the same class.
    """

    places: list[int]
    n_hard: int
    tests: SubstitutionTests
    sources: str
    kept: tuple[str, ...]

    def items(self, hard: bool, kinds: Sequence[str], resampling: Resampling) -> Estimate | None:
        """Return the share of the hardest, or the easiest, items that one replacement of some kinds flips.

        Args:
            hard: Whether the hardest or the easiest items are meant.
            kinds: Kinds of replacements: `kept`, where a flip is a fault, or `REVERSED`, where it is right as a rule.
            resampling: Level of the interval.

        Returns:
            The share of the items with such a replacement; None without any.
        """
        flipped, tested = self.n_flipped(hard, kinds)
        return share(flipped, tested, resampling)

    def n_flipped(self, hard: bool, kinds: Sequence[str]) -> tuple[int, int]:
        """Count the items that one replacement of some kinds flips, and those that have such a replacement."""
        attempts = self.attempts(hard, kinds)
        return len({one.item for one in attempts if one.flipped}), len({one.item for one in attempts})

    def attempts(self, hard: bool, kinds: Sequence[str]) -> list[Attempt]:
        """Return the replacements of some kinds in the hardest, or the easiest, items."""
        return [one for one in self.tests.attempts if (one.item < self.n_hard) == hard and one.kind in kinds]

    def of_place(self, place: int) -> tuple[list[Attempt], Attempt | None] | None:
        """Return the attempts on an item, and the most informative one.

        Args:
            place: The place of the item among the measured ones.

        Returns:
            The attempts, and of those that flip the mildest, or else the closest to a flip, None without attempts;
            None for an item that was not tested.
        """
        if place not in self.places:
            return None
        attempts = [attempt for attempt in self.tests.attempts if attempt.item == self.places.index(place)]
        flips = [attempt for attempt in attempts if attempt.flipped]
        best = min(
            flips or attempts,
            key=lambda attempt: (KINDS.index(attempt.kind) if flips else 0, attempt.confidence_after),
            default=None,
        )
        return attempts, best


@checks_kinds
def measure_flips(
    classifier: Classifier,
    texts: Sequence[str],
    measured: DifficultyMeasurement,
    *,
    n_tested: int = 8,
    top_k: int = 6,
    neighbors: str = "same_class",
    batch_size: int = 32,
    seed: int = 0,
    progress: bool = True,
    fail_fast: bool = True,
) -> ExtremeFlips:
    """Replace the most attributed words of the hardest and the easiest items, one at a time.

    Args:
        classifier: A sequence classifier.
        texts: The N texts that were measured.
        measured: Their difficulty.
        n_tested: Maximum number of items at each end; default 8.
        top_k: Words of each that are replaced, those of largest attribution; default 6.
        neighbors: "same_class" (default) or "any"; see `replacement_sources`.
        batch_size: Texts per batch.
        seed: Seed of the candidates.
        progress: Whether to show progress bars.
        fail_fast: Whether a changed text that the model cannot score is an error (default); if not, it is left out.

    Returns:
        What became of the predictions.

    References:
        Datta et al. (2020), "Geometry matters", section 4.2.1.
    """
    # The class of a word is that of the labels, or of the predictions where there are none.
    classes = np.where(measured.labeled, measured.labels, measured.predicted).tolist()
    known = [texts[row] for row in measured.rows]
    sources = replacement_sources(classifier, known, classes, neighbors=neighbors)
    n_hard = min(n_tested, len(measured) // 2)
    places = [*measured.order[:n_hard], *measured.order[::-1][:n_hard]]
    tests = substitution_tests(
        classifier,
        [known[place] for place in places],
        sources.lookups,
        ids=[measured.fisher.ids[measured.rows[place]] for place in places],
        top_k=top_k,
        n_candidates=2,
        batch_size=batch_size,
        seed=seed,
        progress=progress,
        fail_fast=fail_fast,
    )
    kept = tuple(kind for kind in KINDS if kind not in REVERSED and (kind != "neighbor" or neighbors == "same_class"))
    return ExtremeFlips(places, n_hard, tests, sources.described, kept)


def _correlation(first: Floats, second: Floats, resampling: Resampling) -> Correlation:
    test = rank_correlation(first, second)
    if test.rho is None:
        return Correlation(test, None)
    interval = intervals.bootstrap(spearman, first, second, resampling=resampling)
    return Correlation(test, estimate_of(test.rho, interval))
