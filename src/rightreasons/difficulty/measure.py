"""Which examples a model is fragile on: Fisher eigenvalues, and which single words flip the predictions."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core import bootstrap
from rightreasons.core.arrays import Floats
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.core.extras import require_package
from rightreasons.core.intervals import wilson
from rightreasons.core.ordering import argsort_descending
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import softmax
from rightreasons.datasets.perturbing.edits import substitution_lookups
from rightreasons.difficulty.ranking import tied_groups
from rightreasons.difficulty.substitutions import (
    Attempt,
    SubstitutionOptions,
    SubstitutionTests,
    substitution_tests,
)
from rightreasons.models.classes import Classifier
from rightreasons.models.protocol import Scorer

if TYPE_CHECKING:
    from rightreasons.models.gradients.fisher import FisherInformation


N_GROUPS = 10
"""Maximum number of groups of rising difficulty; a group holds at least `GROUP_SIZE` items."""

GROUP_SIZE = 10

KINDS = ("synonym", "name", "antonym")
"""Replacements, the mildest first: a synonym that flips a prediction says more than an antonym."""

KEPT = ("synonym", "name")
REVERSED = ("antonym",)
"""Replacements that reverse the meaning of a word: a prediction that stays may miss it."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class DifficultyMeasurement:
    """The n items whose eigenvalue is known, out of N, with what the model says of them.

    Attributes:
        fisher: The Fisher information of all N items.
        rows: (n,) rows of the items whose eigenvalue is known; what follows is about these.
        values: (n,) their largest eigenvalues, at least 0; larger is more fragile.
        predicted: (n,) predicted classes, or choices.
        confidence: (n,) their probabilities.
        labels: (n,) gold labels, -1 for none.
    """

    fisher: FisherInformation
    rows: NDArray[np.int64]
    values: Floats
    predicted: NDArray[np.int64]
    confidence: Floats
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(
        cls, fisher: FisherInformation, labels: NDArray[np.int64] | None = None
    ) -> DifficultyMeasurement:
        """Join Fisher information with the probabilities that it was computed from.

        Args:
            fisher: The Fisher information of N items.
            labels: (N,) gold labels, -1 for none; None where there are none at all.
        """
        rows = np.flatnonzero(np.isfinite(fisher.eigenvalues))
        known = softmax(fisher.logits[rows])
        return cls(
            fisher=fisher,
            rows=rows,
            values=fisher.eigenvalues[rows],
            labels=np.full(len(rows), -1) if labels is None else labels[rows],
            predicted=known.argmax(axis=1),
            confidence=known.max(axis=1),
        )

    @property
    def ids(self) -> list[str]:
        """The ids of the n items."""
        return [self.fisher.ids[row] for row in self.rows]

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
        return [int(place) for place in argsort_descending(self.values, self.ids)]

    def words(self, place: int, count: int = 3) -> list[str]:
        """Return the words of an item that the eigenvector moves most; [] where it was not computed."""
        tokens, norms, row = self.fisher.tokens, self.fisher.token_norms, int(self.rows[place])
        if tokens is None or norms is None:
            return []
        return [tokens[row][word] for word in np.argsort(-norms[row], kind="stable")[:count]]

    def median(self, resampling: Resampling) -> Estimate:
        """Return the median difficulty with its bootstrap interval."""
        interval = bootstrap.bootstrap(np.median, self.values, resampling=resampling)
        return make_estimate(float(np.median(self.values)), interval)

    @functools.cached_property
    def groups(self) -> list[NDArray[np.intp]]:
        """Places of the labeled items by groups of rising difficulty; [] where labels are too few for two groups."""
        known = np.flatnonzero(self.labeled)
        n_groups = min(N_GROUPS, len(known) // GROUP_SIZE)
        return (
            [known[group] for group in tied_groups(self.values[known], n_groups)]
            if n_groups > 1
            else []
        )

    def accuracies(self, resampling: Resampling) -> list[Estimate]:
        """Return the accuracies of `groups` with their Wilson intervals; [] where there are no groups."""
        right = [self.correct[group] for group in self.groups]
        return [
            make_estimate(
                float(each.mean()),
                wilson(int(each.sum()), len(each), confidence_level=resampling.level),
            )
            for each in right
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values: columns of N, None where an item could not be computed."""
        fisher, values = self.fisher, self.values
        figures: dict[str, Callable[[Floats], Any]] = {
            "mean": np.mean, "std": np.std, "median": np.median, "min": np.min, "max": np.max
        }  # fmt: skip

        def column(known: NDArray[Any]) -> list[Any]:
            cells = np.full(len(fisher), None, dtype=object)
            cells[self.rows] = known.tolist()
            return list(cells)

        return {
            "fim_difficulty": column(values),
            **{
                name: float(figure(values)) if len(self) else None
                for name, figure in figures.items()
            },
            "scale_free": column(fisher.scale_free[self.rows]),
            "predictions": column(self.predicted),
            "confidences": column(self.confidence),
            "error": column(self.fisher.error[self.rows]),
            "failures": [
                {"row": fisher.ids.index(name), "reason": reason}
                for name, reason in fisher.failures
            ],
            "n_truncated": int(fisher.truncated.sum()),
            "label_names": list(fisher.label_names or ()),
            "definition": fisher.definition,
        }


def measure_difficulty(
    classifier: Scorer,
    texts: Sequence[str],
    *,
    labels: NDArray[np.int64] | None = None,
    **options: Any,
) -> DifficultyMeasurement:
    """Compute how fragile the prediction of each item is.

    Args:
        classifier: From `load_classifier`.
        texts: N texts.
        labels: (N,) gold labels, -1 for none; None where there are none at all.
        **options: Options of `fisher_information`, such as `text_pairs`, `ids`, `eigenvector`, `unit`,
            `batch_size` and `out`.

    Returns:
        The items whose eigenvalue is known, with what the model says of them.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If lengths differ or an option is wrong.

    References:
        Datta et al. (2020), "Geometry matters: Exploring language examples at the decision boundary".
    """
    require_package("torch")
    from rightreasons.models.gradients.fisher import fisher_information

    return DifficultyMeasurement.of(fisher_information(classifier, texts, **options), labels)


@dataclasses.dataclass(frozen=True, eq=False)
class ExtremeFlips:
    """What single replaced words do to the most and the least difficult items.

    Attributes:
        places: Places of the tested items among the measured ones: the hardest first, then the easiest.
        n_hard: How many of them are the hardest; as many are the easiest.
        tests: The substitution tests.
        has_wordnet: Whether synonyms and antonyms were tried.
    """

    places: list[int]
    n_hard: int
    tests: SubstitutionTests
    has_wordnet: bool

    def n_flipped(self, hard: bool, kinds: Sequence[str]) -> tuple[int, int]:
        """Count the items that one replacement of some kinds flips, and those that have such a replacement."""
        attempts = self.attempts(hard, kinds)
        return len({each.item for each in attempts if each.flipped}), len(
            {each.item for each in attempts}
        )

    def attempts(self, hard: bool, kinds: Sequence[str]) -> list[Attempt]:
        """Return the replacements of some kinds in the hardest, or the easiest, items."""
        return [
            each
            for each in self.tests.attempts
            if (each.item < self.n_hard) == hard and each.kind in kinds
        ]

    def of_place(self, place: int) -> list[Attempt] | None:
        """Return the attempts on an item, the most informative first: flips, the mildest first, then by confidence.

        Args:
            place: The place of the item among the measured ones.

        Returns:
            The attempts; None for an item that was not tested.
        """
        if place not in self.places:
            return None
        attempts = [
            attempt for attempt in self.tests.attempts if attempt.item == self.places.index(place)
        ]
        return sorted(
            attempts,
            key=lambda each: (
                not each.flipped,
                each.flipped and KINDS.index(each.kind),
                each.confidence_after,
            ),
        )


N_TESTED = 8
"""Items at each end whose words are replaced."""


def measure_flips(
    classifier: Classifier,
    texts: Sequence[str],
    measured: DifficultyMeasurement,
    options: SubstitutionOptions,
) -> ExtremeFlips:
    """Replace the most attributed words of the hardest and the easiest items, one at a time.

    Args:
        classifier: A sequence classifier.
        texts: The N texts that were measured.
        measured: Their difficulty.
        options: How words are chosen and replaced.

    Returns:
        What became of the predictions.

    References:
        Datta et al. (2020), "Geometry matters", section 4.2.1.
    """
    lookups = substitution_lookups()
    n_hard = min(N_TESTED, len(measured) // 2)
    places = [*measured.order[:n_hard], *measured.order[::-1][:n_hard]]
    chosen = [texts[measured.rows[place]] for place in places]
    ids = [measured.ids[place] for place in places]
    tests = substitution_tests(classifier, chosen, lookups, options, ids=ids)
    return ExtremeFlips(places, n_hard, tests, bool(lookups))
