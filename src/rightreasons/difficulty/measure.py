"""Measurements of difficulty: Fisher eigenvalues of items, and the single words that flip their predictions.

`measure_difficulty` computes the eigenvalues. `measure_flips` replaces words in the most difficult, the easiest,
and the middle items.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
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
from rightreasons.datasets.perturbing.edits import list_lookups
from rightreasons.difficulty.by_difficulty import FlipRates, flip_rates, split_by_value
from rightreasons.difficulty.substitutions import (
    Attempt,
    SubstitutionOptions,
    SubstitutionTests,
    substitution_tests,
)
from rightreasons.models.classes import Classifier
from rightreasons.models.protocol import Scorer

if TYPE_CHECKING:
    from rightreasons.models.gradients.eigenvalues import FisherInformation

MAX_GROUPS = 10
"""Maximum number of groups of rising difficulty."""

MIN_GROUP_SIZE = 10
"""Smallest number of labeled items in a group."""

KINDS = ("synonym", "name", "similar", "antonym")
"""Kinds of replacements, the mildest first: a flip by a synonym says more than one by an antonym."""

KEPT = ("synonym", "name")
"""Replacements that keep the meaning."""

NEAR = ("similar",)
"""Replacements by adjectives of similar meaning, which may be weaker or stronger."""

REVERSED = ("antonym",)
"""Replacements that reverse the meaning of a word: a prediction that stays may miss it."""

N_TESTED_ITEMS = 8
"""Number of items at each level of difficulty in which words are replaced."""

LEVELS = ("easiest", "middle", "hardest")
"""Levels of difficulty of the items in which words are replaced, in rising order."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class DifficultyMeasurement:
    """The n of N items with a known eigenvalue, and their predictions.

    Attributes:
        fisher: Fisher information of all N items.
        rows: (n,) rows of the items with a known eigenvalue. All other attributes are about these items.
        values: (n,) largest eigenvalues, at least 0; larger is more fragile.
        predicted: (n,) predicted classes, or choices.
        confidence: (n,) probabilities of the predicted classes.
        labels: (n,) gold labels, -1 for unlabeled items.
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
    def from_fisher(
        cls, fisher: FisherInformation, labels: NDArray[np.int64] | None = None
    ) -> DifficultyMeasurement:
        """Join Fisher information with the probabilities that it was computed from.

        Args:
            fisher: Fisher information of N items.
            labels: (N,) gold labels, -1 for unlabeled items; None if no item has a label.
        """
        # An item without tokens, or with logits that are not finite, has no eigenvalue.
        rows = np.flatnonzero(np.isfinite(fisher.eigenvalues))
        probabilities = softmax(fisher.logits[rows])
        # A choice that an item lacks has minus infinity as its score, and so probability 0.
        if labels is None:
            labels = np.full(len(fisher), -1)
        return cls(
            fisher=fisher,
            rows=rows,
            values=fisher.eigenvalues[rows],
            labels=labels[rows],
            predicted=probabilities.argmax(axis=1),
            confidence=probabilities.max(axis=1),
        )

    @property
    def ids(self) -> list[str]:
        """Ids of the n items."""
        return [self.fisher.ids[row] for row in self.rows]

    @property
    def correct(self) -> NDArray[np.bool_]:
        """(n,) whether each prediction is the label."""
        return np.asarray(self.predicted == self.labels)

    @functools.cached_property
    def order(self) -> list[int]:
        """Indices of the n items, the most difficult first. Ties are in the order of their ids."""
        return [int(index) for index in argsort_descending(self.values, self.ids)]

    def words(self, index: int, count: int = 3) -> list[str]:
        """Return the words of an item that its eigenvector moves most, the largest move first.

        The list is empty if eigenvectors were not computed.

        Args:
            index: Index of the item among the n measured ones.
            count: Maximum number of words.
        """
        tokens = self.fisher.tokens
        norms = self.fisher.token_norms
        row = int(self.rows[index])
        if tokens is None or norms is None:
            return []
        # A stable sort keeps words with equal moves in the order of the text.
        positions = np.argsort(-norms[row], kind="stable")[:count]
        return [tokens[row][position] for position in positions]

    def median(self, resampling: Resampling) -> Estimate:
        """Return the median difficulty with its bootstrap interval."""
        interval = bootstrap.bootstrap(np.median, self.values, resampling=resampling)
        return make_estimate(float(np.median(self.values)), interval)

    @functools.cached_property
    def groups(self) -> list[NDArray[np.intp]]:
        """Groups of labeled items by rising difficulty, each as indices among the n measured items.

        [] if there are too few labels for two groups.
        """
        labeled = np.flatnonzero(self.labels >= 0)
        # With fewer items than this in a group, its interval would span most accuracies.
        n_groups = min(MAX_GROUPS, len(labeled) // MIN_GROUP_SIZE)
        if n_groups < 2:
            return []
        groups = []
        for group in split_by_value(self.values[labeled], n_groups):
            groups.append(labeled[group])
        return groups

    def accuracies(self, resampling: Resampling) -> list[Estimate]:
        """Return the accuracy on each of the `groups` with its Wilson interval.

        Args:
            resampling: Level of the intervals.
        """
        estimates = []
        for group in self.groups:
            # A group at either end is often all correct or all wrong: Wilson's interval keeps a width.
            is_correct = self.correct[group]
            interval = wilson(int(is_correct.sum()), len(group), confidence_level=resampling.level)
            estimates.append(make_estimate(float(is_correct.mean()), interval))
        return estimates

    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain values, for users of the evaluate module.

        Returns:
            Columns of N values, with None for items that failed; summary figures such as "mean"; and
            "failures", whose items are named by their rows.
        """
        fisher = self.fisher
        failures = []
        for name, reason in fisher.failures:
            failures.append({"row": fisher.ids.index(name), "reason": reason})
        result = {
            "fim_difficulty": self._fill_column(self.values),
            **self._summarize(),
            "scale_free": self._fill_column(fisher.scale_free[self.rows]),
            "predictions": self._fill_column(self.predicted),
            "confidences": self._fill_column(self.confidence),
            "error": self._fill_column(fisher.error[self.rows]),
            "failures": failures,
            "n_truncated": int(fisher.truncated.sum()),
            "label_names": list(fisher.label_names or ()),
            "definition": fisher.definition,
        }
        if fisher.spectrum is not None:
            # A row per item, with one eigenvalue less than it has classes or choices.
            spectra = [row.tolist() for row in fisher.spectrum]
            failed_rows = np.setdiff1d(np.arange(len(fisher)), self.rows)
            for row in failed_rows.tolist():
                spectra[row] = None
            result["spectrum"] = spectra
        return result

    def _summarize(self) -> dict[str, float | None]:
        """Return mean, std, median, min and max of the eigenvalues; each is None if all items failed."""
        if not len(self):
            return dict.fromkeys(("mean", "std", "median", "min", "max"))
        return {
            "mean": float(np.mean(self.values)),
            "std": float(np.std(self.values)),
            "median": float(np.median(self.values)),
            "min": float(np.min(self.values)),
            "max": float(np.max(self.values)),
        }

    def _fill_column(self, values: NDArray[Any]) -> list[Any]:
        """Return a column with a cell for each of all N items, None for those without an eigenvalue.

        Args:
            values: (n,) values of the measured items.
        """
        # Only an array of objects holds both None and numbers.
        cells = np.full(len(self.fisher), None, dtype=object)
        cells[self.rows] = values.tolist()
        return list(cells)


def measure_difficulty(
    classifier: Scorer,
    texts: Sequence[str],
    *,
    labels: NDArray[np.int64] | None = None,
    **options: Any,
) -> DifficultyMeasurement:
    """Compute how fragile the prediction of each item is.

    Args:
        classifier: A classifier, or a model that chooses; see `fisher_information`.
        texts: N texts, or prompts.
        labels: (N,) gold labels, -1 for unlabeled items; None if no item has a label.
        **options: Options of `fisher_information`, such as `text_pairs`, `choices`, `ids`, `spectrum`,
            `eigenvector`, `unit`, `batch_size` and `out`.

    Returns:
        The items with a known eigenvalue, and their predictions.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If lengths differ or an option is invalid.

    References:
        Datta et al. (2020), "Geometry matters: Exploring language examples at the decision boundary".
    """
    require_package("torch")
    from rightreasons.models.gradients.fisher import fisher_information

    fisher = fisher_information(classifier, texts, **options)
    return DifficultyMeasurement.from_fisher(fisher, labels)


@dataclasses.dataclass(frozen=True, eq=False)
class WordFlips:
    """Effect of single replaced words on items of different difficulty.

    Attributes:
        indices: Indices of the tested items among the measured ones.
        levels: Level of each of them: "easiest", "middle" or "hardest".
        values: Their difficulties.
        tests: The substitution tests.
    """

    indices: list[int]
    levels: list[str]
    values: Floats
    tests: SubstitutionTests

    def select_attempts(self, level: str, kinds: Sequence[str]) -> list[Attempt]:
        """Return the attempts of some kinds on the items of one level.

        Args:
            level: "easiest", "middle" or "hardest".
            kinds: Kinds of replacements, such as ("synonym", "name").
        """
        attempts = []
        for attempt in self.tests.attempts:
            if self.levels[attempt.item] == level and attempt.kind in kinds:
                attempts.append(attempt)
        return attempts

    def count_items(self, level: str) -> int:
        """Return the number of tested items of a level."""
        return self.levels.count(level)

    def count_flipped(self, level: str, kinds: Sequence[str]) -> tuple[int, int]:
        """Count the items of one level whose prediction a replaced word flips.

        Args:
            level: "easiest", "middle" or "hardest".
            kinds: Kinds of replacements, such as ("synonym", "name").

        Returns:
            Number of items that at least one replacement flips, and number of items that have one.
        """
        flipped_items = set()
        tested_items = set()
        for attempt in self.select_attempts(level, kinds):
            # An item counts once, however many of its replacements flip it.
            tested_items.add(attempt.item)
            if attempt.flipped:
                flipped_items.add(attempt.item)
        return len(flipped_items), len(tested_items)

    def measure_rates(self, kinds: Sequence[str], resampling: Resampling) -> FlipRates | None:
        """Measure the share of attempts that flip a prediction, in thirds of the items by difficulty.

        Args:
            kinds: Kinds of replacements, such as ("synonym", "name").
            resampling: Level of the intervals.

        Returns:
            The rates; None if there is no attempt of these kinds.
        """
        flipped = []
        items = []
        for attempt in self.tests.attempts:
            if attempt.kind in kinds:
                flipped.append(attempt.flipped)
                items.append(attempt.item)
        if not flipped:
            return None
        # The groups are thirds of the tested items only; they correspond about to the three levels.
        return flip_rates(
            flipped,
            items,
            self.values,
            n_groups=len(LEVELS),
            confidence_level=resampling.level,
        )

    def list_attempts(self, index: int) -> list[Attempt] | None:
        """Return the attempts on an item, the most informative first; None if it was not tested.

        Flips come first, those by the mildest replacement before others. Attempts without a flip follow, by
        rising confidence in the old prediction.

        Args:
            index: Index of the item among the measured ones.
        """
        if index not in self.indices:
            return None
        item = self.indices.index(index)
        attempts = [attempt for attempt in self.tests.attempts if attempt.item == item]
        return sorted(attempts, key=_rank_attempt)


def _rank_attempt(attempt: Attempt) -> tuple[bool, int, float]:
    # Of the attempts without a flip, only the confidence decides.
    mildness = KINDS.index(attempt.kind) if attempt.flipped else 0
    return not attempt.flipped, mildness, attempt.confidence_after


def select_tested_items(n_items: int) -> Mapping[str, slice]:
    """Select the items in which words are replaced: the hardest, the easiest, and the middle ones.

    Args:
        n_items: Number of items with a known difficulty.

    Returns:
        Level -> slice of the ranks of its items. Rank 0 is the most difficult item.

    Example:
        >>> select_tested_items(100)["middle"]
        slice(46, 54, None)
    """
    # With few items, the two ends are filled first, and the middle has fewer items or none.
    n_ends = min(N_TESTED_ITEMS, n_items // 2)
    n_middle = min(N_TESTED_ITEMS, n_items - 2 * n_ends)
    start = (n_items - n_middle) // 2
    return {
        "hardest": slice(0, n_ends),
        "easiest": slice(n_items - n_ends, n_items),
        "middle": slice(start, start + n_middle),
    }


def measure_flips(
    classifier: Classifier,
    texts: Sequence[str],
    measured: DifficultyMeasurement,
    options: SubstitutionOptions,
) -> WordFlips:
    """Replace the most attributed words of the hardest, middle and easiest items, one at a time.

    Args:
        classifier: A sequence classifier.
        texts: The N texts whose difficulty was measured.
        measured: The difficulty of the texts with an eigenvalue; `order` begins with the hardest one,
            and `rows` are their rows in `texts`.
        options: The number of words to replace, and how their replacements are sampled.

    Returns:
        The tested items with their levels, and the predictions of the changed texts.

    References:
        Datta et al. (2020), "Geometry matters", section 4.2.1.
    """
    all_ids = measured.ids
    indices: list[int] = []
    levels: list[str] = []
    selected_texts = []
    selected_ids = []
    for level, ranks in select_tested_items(len(measured)).items():
        for index in measured.order[ranks]:
            indices.append(index)
            levels.append(level)
            selected_texts.append(texts[measured.rows[index]])
            selected_ids.append(all_ids[index])
    # Each attempt refers to its item by its index in these lists.
    tests = substitution_tests(
        classifier, selected_texts, list_lookups(), options, ids=selected_ids
    )
    return WordFlips(indices=indices, levels=levels, values=measured.values[indices], tests=tests)
