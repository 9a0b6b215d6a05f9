"""Which examples a model is fragile on: Fisher eigenvalues, what they go with, and which single words flip them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.core import intervals
from rightreasons.core.arrays import Ragged, falling, plain
from rightreasons.core.errors import needs
from rightreasons.core.intervals import Estimate, estimate_of, share, wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import softmax
from rightreasons.difficulty.ranking import (
    AccuracyByDifficulty,
    RankCorrelation,
    accuracy_by_difficulty,
    entropy,
    margin,
    rank_correlation,
    spearman,
)
from rightreasons.difficulty.substitutions import (
    Attempt,
    SubstitutionOptions,
    SubstitutionTests,
    replacement_sources,
    substitution_tests,
)
from rightreasons.models.classes import Classifier
from rightreasons.models.occlusion import Occlusion
from rightreasons.models.protocol import Scorer

if TYPE_CHECKING:
    from rightreasons.models.gradients.fisher import FisherInformation

Floats = NDArray[np.float64]

N_GROUPS = 10
"""Maximum number of groups of rising difficulty; a group holds at least `GROUP_SIZE` items."""

GROUP_SIZE = 10

CORRELATION_RESAMPLES = 300
"""Maximum resamples of a rank correlation, which is computed anew on each."""

KINDS = ("synonym", "name", "neighbor", "antonym")
"""Replacements, the mildest first: a synonym that flips a prediction says more than an antonym."""

KEPT = ("synonym", "name")
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

    @classmethod
    def of(cls, first: Floats, second: Floats, resampling: Resampling) -> Correlation:
        """Correlate two measures of the same items."""
        test = rank_correlation(first, second)
        if test.rho is None:
            return cls(test, None)
        return cls(test, estimate_of(test.rho, intervals.bootstrap(spearman, first, second, resampling=resampling)))


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
    def answers(logits: Floats | Ragged, rows: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
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
    def ids(self) -> list[str]:
        """The ids of the n items."""
        raise NotImplementedError

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
        return [int(place) for place in falling(self.values, self.ids)]

    def words(self, place: int, count: int = 3) -> list[str]:
        """Return the words of an item that its difficulty rests on; [] where they are not known."""
        raise NotImplementedError

    def row(self, place: int, label_name: Callable[[int], str]) -> dict[str, Any]:
        """Return what a table of items has of one, in any ranking."""
        return {
            "prediction": label_name(int(self.predicted[place])),
            "confidence": float(min(self.confidence[place], 1.0)),
            "label": label_name(int(self.labels[place])),
            "words": self.words(place),
        }

    def median(self, resampling: Resampling) -> Estimate:
        """Return the median difficulty with its bootstrap interval."""
        interval = intervals.bootstrap(np.median, self.values, resampling=resampling)
        return estimate_of(float(np.median(self.values)), interval)

    def share_of_hardest_tenth(self) -> float:
        """Return the share of the sum of all difficulties that the most difficult tenth of the items holds."""
        hardest = np.sort(self.values)[-max(1, len(self) // 10) :]
        return float(hardest.sum() / max(float(self.values.sum()), 1e-300))

    @functools.cached_property
    def groups(self) -> AccuracyByDifficulty | None:
        """The accuracy of groups of rising difficulty; None where labels are too few for two groups."""
        known = self.labeled
        n_groups = min(N_GROUPS, int(known.sum()) // GROUP_SIZE)
        if n_groups < 2:
            return None
        return accuracy_by_difficulty(self.values[known], self.predicted[known], self.labels[known], n_groups=n_groups)

    def accuracies(self, resampling: Resampling) -> list[Estimate]:
        """Return the accuracies of `groups` with their Wilson intervals; [] where there are no groups."""
        shares = zip(self.groups.accuracies, self.groups.counts, strict=True) if self.groups else ()
        return [
            estimate_of(accuracy, wilson(round(accuracy * count), count, confidence_level=resampling.level))
            for accuracy, count in shares
        ]

    def correlations(self, resampling: Resampling) -> dict[str, Correlation]:
        """Return the rank correlations of the difficulty with other measures of the same items.

        Args:
            resampling: Level, resamples (at most 300 are taken) and seed of the intervals.

        Returns:
            Name of the measure -> its correlation: "confidence", "small_margin" (minus the margin), "entropy",
            "gradient_norm" of eigenvalues, "words" where the words are known, and "wrong" (1 for a wrong prediction)
            among items with a label.
        """
        fewer = resampling.at_most(CORRELATION_RESAMPLES)
        others = {"confidence": self.confidence, "small_margin": -self.margin, "entropy": self.entropy, **self.others}
        found = {name: Correlation.of(self.values, values, fewer) for name, values in others.items()}
        if (known := self.labeled).any():
            wrong = (~self.correct[known]).astype(np.float64)
            found["wrong"] = Correlation.of(self.values[known], wrong, fewer)
        return found


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
            **cls.answers(fisher.logits, rows),
        )

    @property
    def ids(self) -> list[str]:
        """The ids of the n items."""
        return [self.fisher.ids[row] for row in self.rows]

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

    def to_dict(self, *, tokens: bool = False) -> dict[str, Any]:
        """Return everything as plain values: columns of N, None where an item could not be computed.

        Args:
            tokens: Whether to add the tokens and how far the eigenvector moves each.
        """
        fisher, values = self.fisher, self.values
        failed = dict(fisher.failures)
        figures: dict[str, Callable[[Floats], Any]] = {
            "mean": np.mean, "std": np.std, "median": np.median, "min": np.min, "max": np.max
        }  # fmt: skip

        def column(known: NDArray[Any]) -> list[Any]:
            cells = np.full(len(fisher), None, dtype=object)
            cells[self.rows] = known.tolist()
            return list(cells)

        def lists(rows: Ragged | None) -> list[Any]:
            named = () if rows is None else zip(fisher.ids, rows, strict=True)
            return [None if name in failed else plain(row) for name, row in named]

        result = {
            "fim_difficulty": column(values),
            **{name: float(figure(values)) if len(self) else None for name, figure in figures.items()},
            "scale_free": column(fisher.scale_free[self.rows]),
            "gradient_norms": column(fisher.gradient_norms[self.rows]),
            "predictions": column(self.predicted),
            "confidences": column(self.confidence),
            "error": column(fisher.error[self.rows]),
            "ranks": column(stats.rankdata(-values, "min").astype(np.int64)),
            "failures": [{"row": fisher.ids.index(name), "reason": reason} for name, reason in failed.items()],
            "n_truncated": int(fisher.truncated.sum()),
            "label_names": list(fisher.label_names or ()),
            "definition": fisher.definition,
        }
        if tokens:
            result["tokens"] = [list(row) for row in fisher.tokens or ()]
            result["token_norms"] = lists(fisher.token_norms)
        return result


def measure_difficulty(
    classifier: Scorer, texts: Sequence[str], *, labels: NDArray[np.int64] | None = None, **options: Any
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
    needs("torch")
    from rightreasons.models.gradients.fisher import fisher_information

    return DifficultyMeasurement.of(fisher_information(classifier, texts, **options), labels)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class WordShifts(RankedItems):
    r"""The n items with words and answers, out of N: their `values` are their largest shifts, in [0, 1].

    \[ D(x) = \max_j TV(x, j), \quad TV(x, j) = \frac12 \sum_k |p_k(x) - p_k(x_{-j})| \]

    for the probabilities p of the labels, or choices, of the text x, and of the text without its word j: the most
    probability that one left-out word moves to other labels. It is no Fisher information: it is about whole words, not
    about small steps, and a word may be left out for a good reason to decide otherwise ("not"). Of generated answers,
    whose distribution is one answer, it is 1 where a word exists without which the answer is another, else 0.

    Attributes:
        occlusion: What was asked about all N items.
        mean: (n,) the mean of TV over the words of each item.
        flips: (n,) how many words of each item change its prediction when one is left out.
        n_words: (n,) how many of its words have an answer without them.
    """

    occlusion: Occlusion
    mean: NDArray[np.float64]
    flips: NDArray[np.int64]
    n_words: NDArray[np.int64]

    @property
    def ids(self) -> list[str]:
        """The ids of the n items."""
        return [self.occlusion.ids[row] for row in self.rows]

    @property
    def others(self) -> Mapping[str, NDArray[np.float64]]:
        """The number of words, and the mean shift."""
        return {"words": self.n_words.astype(np.float64), "mean_shift": self.mean}

    def shifts(self, place: int) -> NDArray[np.float64]:
        """Return TV of each word of an item; NaN where there is no answer without it."""
        return self.occlusion.shifts[int(self.rows[place])]

    def words(self, place: int, count: int = 3) -> list[str]:
        """Return the words of an item that move most."""
        shifts, tokens = np.nan_to_num(self.shifts(place), nan=-1.0), self.occlusion.tokens[int(self.rows[place])]
        return [tokens[word] for word in np.argsort(-shifts, kind="stable")[:count]]

    def flipped(self, resampling: Resampling) -> Estimate:
        """Return the share of items whose prediction changes without one word or other, with its Wilson interval."""
        return share(int((self.flips > 0).sum()), len(self), resampling) or Estimate(None)


def measure_word_shifts(occlusion: Occlusion) -> WordShifts:
    """Rank items by the most that one left-out word moves their answer.

    Args:
        occlusion: From `occlude`.

    Returns:
        A `WordShifts`: of the items with an answer, and an answer without at least one of their words.

    Raises:
        ValueError: If there is no such item.

    References:
        Li, Monroe and Jurafsky (2016), Understanding Neural Networks through Representation Erasure, for leaving words
        out; the total variation and its maximum are this package's.
    """
    known = [~np.isnan(row) for row in occlusion.shifts]
    rows = np.array([row for row, words in enumerate(known) if words.any()], dtype=np.int64)
    if not len(rows):
        raise ValueError(f"Expected items with words and answers, but none of {len(occlusion)} is one.")
    before = np.repeat(occlusion.predicted, np.diff(occlusion.offsets))
    changed = (occlusion.predicted_without >= 0) & (occlusion.predicted_without != before)
    shifts = [occlusion.shifts[row] for row in rows.tolist()]
    spans = [slice(*occlusion.offsets[row : row + 2]) for row in rows.tolist()]
    return WordShifts(
        occlusion=occlusion,
        rows=rows,
        values=np.array([np.nanmax(row) for row in shifts]),
        mean=np.array([np.nanmean(row) for row in shifts]),
        flips=np.array([changed[span].sum() for span in spans], dtype=np.int64),
        n_words=np.array([known[row].sum() for row in rows.tolist()], dtype=np.int64),
        labels=np.full(len(rows), -1) if occlusion.labels is None else occlusion.labels[rows],
        **RankedItems.answers(occlusion.logits, rows),
    )


@dataclasses.dataclass(frozen=True, eq=False)
class ExtremeFlips:
    """What single replaced words do to the most and the least difficult items.

    Attributes:
        places: Places of the tested items among the measured ones: the hardest first, then the easiest.
        n_hard: How many of them are the hardest; as many are the easiest.
        tests: The substitution tests.
        sources: Where the replacements come from.
        has_wordnet: Whether synonyms and antonyms were tried.
    """

    places: list[int]
    n_hard: int
    tests: SubstitutionTests
    sources: str
    has_wordnet: bool

    def n_flipped(self, hard: bool, kinds: Sequence[str]) -> tuple[int, int]:
        """Count the items that one replacement of some kinds flips, and those that have such a replacement."""
        attempts = self.attempts(hard, kinds)
        return len({each.item for each in attempts if each.flipped}), len({each.item for each in attempts})

    def attempts(self, hard: bool, kinds: Sequence[str]) -> list[Attempt]:
        """Return the replacements of some kinds in the hardest, or the easiest, items."""
        return [each for each in self.tests.attempts if (each.item < self.n_hard) == hard and each.kind in kinds]

    def of_place(self, place: int) -> list[Attempt] | None:
        """Return the attempts on an item, the most informative first: flips, the mildest first, then by confidence.

        Args:
            place: The place of the item among the measured ones.

        Returns:
            The attempts; None for an item that was not tested.
        """
        if place not in self.places:
            return None
        attempts = [attempt for attempt in self.tests.attempts if attempt.item == self.places.index(place)]
        return sorted(
            attempts,
            key=lambda each: (not each.flipped, each.flipped and KINDS.index(each.kind), each.confidence_after),
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
    # The class of a word is that of the labels, or of the predictions where there are none.
    classes = np.where(measured.labeled, measured.labels, measured.predicted).tolist()
    known = [texts[row] for row in measured.rows]
    sources = replacement_sources(classifier, known, classes)
    n_hard = min(N_TESTED, len(measured) // 2)
    places = [*measured.order[:n_hard], *measured.order[::-1][:n_hard]]
    ids = [measured.ids[place] for place in places]
    tests = substitution_tests(classifier, [known[place] for place in places], sources.lookups, options, ids=ids)
    return ExtremeFlips(places, n_hard, tests, sources.described, sources.has_wordnet)
