"""Superficial cues of multiple-choice data: applicability, productivity and coverage.

A cue is anything that can be read off a choice without understanding the item: a word, a run of words, being the
longest choice. It is *applicable* to an item when exactly one of the choices has it, for only then can it point at an
answer. Everything here counts such pointings and asks how often they point at the right choice.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.analysis.cues.extraction import CueReader, Tokenizer, check_features
from rightreasons.analysis.intervals import holm, poisson_binomial_p_value
from rightreasons.analysis.tokens import words
from rightreasons.foundations import validation
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds


@dataclasses.dataclass(frozen=True)
class Cue(Result):
    """What one cue gives away.

    Attributes:
        cue: The word, the words joined by a space, or the name of a shape cue in angle brackets.
        applicability: In how many items exactly one choice has the cue.
        productivity: In which share of those items the choice that has it is right, in [0, 1]. `chance` is harmless.
        coverage: applicability / number of items, in [0, 1].
        n_correct: applicability × productivity, as a count.
        chance: The productivity expected of a cue that says nothing: the mean of 1/m over its items.
        p_value: Exact two-sided binomial test of productivity = chance.
        p_holm: The same, corrected by Holm's method over all cues of the table.
        low: Lower end of the exact (Clopper-Pearson) interval of productivity.
        high: Upper end of it.
    """

    cue: str
    applicability: int
    productivity: float
    coverage: float
    n_correct: int
    chance: float
    p_value: float
    p_holm: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class CueStatistics(Result):
    """The cue table of a data set.

    Attributes:
        cues: The cues by falling applicability, then by name.
        n_items: How many items were counted.
        n_cues: How many cues reach `min_applicability`; Holm's correction runs over all of them, shown or not.
        n_significant: How many of those have `p_holm` below 1 - confidence_level.
        min_applicability: Minimum applicability of a cue in the table.
        confidence_level: The level of the intervals.
    """

    cues: tuple[Cue, ...]
    n_items: int
    n_cues: int
    n_significant: int
    min_applicability: int
    confidence_level: float

    def find(self, cue: str) -> Cue:
        """Return the row of one cue."""
        for row in self.cues:
            if row.cue == cue:
                return row
        raise validation.unknown_name("cue of this table", cue, [row.cue for row in self.cues[:20]])


class CueCounts:
    r"""Mergeable counts behind the cue table.

    For an item i with m_i choices, token sets T_1..T_m and right choice y_i, cue k is applicable when it is in exactly
    one T_j; with two choices this is Niven and Kao's definition:

        \alpha_k = \sum_i 1[\exists! j: k \in T_{ij}]
        \pi_k    = \frac{1}{\alpha_k} \sum_i 1[\exists! j: k \in T_{ij} \wedge j = y_i]
        \xi_k    = \alpha_k / n

    `update` and `merge` are associative: shards counted apart and merged give the counts of the whole.

    Args:
        features: Families of cues, of `FEATURES`.
        tokenizer: How to split a text into tokens; `tokens.words` by default. It splits off
            punctuation, which reproduces the published tables: by white space alone, "in" has applicability 46 on COPA
            instead of 47, because "in." is another word.

    References:
        Niven and Kao (2019), Probing Neural Network Comprehension of Natural Language Arguments, §3.
        Kavumba et al. (2019), When Choosing Plausible Alternatives, Clever Hans can be Clever, §2.

    Example:
        >>> counts = CueCounts()
        >>> counts = counts.update([["the cat", "a dog"], ["a cat", "the dog"]], [0, 1])
        >>> [(row.cue, row.applicability, row.productivity) for row in counts.result().cues]
        [('a', 2, 0.0), ('cat', 2, 0.5), ('dog', 2, 0.5), ('the', 2, 1.0)]
    """

    def __init__(self, features: Sequence[str] = ("unigram",), tokenizer: Tokenizer | None = None) -> None:
        self.features = check_features(features)
        self.tokenizer = tokenizer or words
        self.n_items = 0
        # By number of choices, because that sets what chance is: {m: {cue: count}}.
        self.applicable: dict[int, Counter[str]] = {}
        self.correct: dict[int, Counter[str]] = {}

    def update(self, data: Sequence[Sequence[str]], labels: object, prompts: Sequence[str] | None = None) -> CueCounts:
        """Count further items; the arguments are those of `cue_statistics`. Returns itself."""
        reader = CueReader(data, prompts, self.features, self.tokenizer)
        right = check_answers(labels, reader.n_choices)
        sizes = np.flatnonzero(np.bincount(reader.n_choices)).tolist()
        row_of = np.searchsorted(sizes, reader.n_choices)
        counts = np.zeros((len(sizes), 2, 0), dtype=np.int64)
        for item, choice, cue in reader:
            n_names = reader.n_names
            counts = np.pad(counts, ((0, 0), (0, 0), (0, n_names - counts.shape[2])))
            cell = (2 * row_of[item] + (choice == right[item])) * n_names + cue
            counts += np.bincount(cell, minlength=counts.size).reshape(counts.shape)
        names = reader.names()
        for size, (wrong, correct) in zip(sizes, counts, strict=True):
            applicable = wrong + correct
            seen = np.flatnonzero(applicable)
            found = [names[index] for index in seen.tolist()]
            self.applicable.setdefault(size, Counter()).update(dict(zip(found, applicable[seen].tolist(), strict=True)))
            self.correct.setdefault(size, Counter()).update(dict(zip(found, correct[seen].tolist(), strict=True)))
        self.n_items += len(right)
        return self

    def merge(self, other: CueCounts) -> CueCounts:
        """Return the counts of both, as a new object."""
        if not isinstance(other, CueCounts):
            raise TypeError(f"Expected CueCounts to merge with, but got {type(other).__name__}.")
        if self.features != other.features:
            raise ValueError(
                f"Expected counts of the same features to merge, but got {self.features} and {other.features}."
            )
        if self.tokenizer is not other.tokenizer:
            raise ValueError("Expected counts made with one tokenizer to merge, but the tokenizers differ.")
        merged = CueCounts(self.features, self.tokenizer)
        merged.n_items = self.n_items + other.n_items
        for part in (self, other):
            for m, counts in part.applicable.items():
                merged.applicable.setdefault(m, Counter()).update(counts)
                merged.correct.setdefault(m, Counter()).update(part.correct[m])
        return merged

    def result(
        self,
        *,
        min_applicability: int = 1,
        top: int | None = None,
        confidence_level: float = 0.95,
    ) -> CueStatistics:
        """Turn the counts into the cue table; the arguments are those of `cue_statistics`."""
        minimum = validation.check_count(min_applicability, "min_applicability")
        level = validation.check_fraction(confidence_level, "confidence_level", open_ends=True)
        if top is not None:
            validation.check_count(top, "top")
        if self.n_items == 0:
            raise ValueError("Expected at least one counted item, but these cue counts are empty.")
        sizes = sorted(self.applicable)
        totals: Counter[str] = Counter()
        for m in sizes:
            totals.update(self.applicable[m])
        names = sorted((cue for cue, count in totals.items() if count >= minimum), key=lambda k: (-totals[k], k))
        by_size = np.array([[self.applicable[m][cue] for m in sizes] for cue in names], dtype=np.int64)
        by_size = by_size.reshape(len(names), len(sizes))
        hits = np.array([sum(self.correct[m][cue] for m in sizes) for cue in names], dtype=np.int64)
        alpha = by_size.sum(axis=1)
        chance = (by_size / np.array(sizes, dtype=np.float64)).sum(axis=1) / np.maximum(alpha, 1)
        p_values = _p_values(by_size, hits, sizes)
        p_holm = holm(p_values)
        low, high = _clopper_pearson(hits, alpha, level)
        rows = tuple(
            Cue(
                cue=cue,
                applicability=int(alpha[i]),
                productivity=float(hits[i] / alpha[i]),
                coverage=float(alpha[i] / self.n_items),
                n_correct=int(hits[i]),
                chance=float(chance[i]),
                p_value=float(p_values[i]),
                p_holm=float(p_holm[i]),
                low=float(low[i]),
                high=float(high[i]),
            )
            for i, cue in enumerate(names[:top])
        )
        return CueStatistics(
            cues=rows,
            n_items=self.n_items,
            n_cues=len(names),
            n_significant=int(np.count_nonzero(p_holm < 1 - level)),
            min_applicability=minimum,
            confidence_level=level,
        )


@checks_kinds
def cue_statistics(
    data: Sequence[Sequence[str]],
    labels: object,
    *,
    prompts: Sequence[str] | None = None,
    features: Sequence[str] = ("unigram",),
    tokenizer: Tokenizer | None = None,
    min_applicability: int = 1,
    top: int | None = None,
    confidence_level: float = 0.95,
) -> CueStatistics:
    r"""Count how often each superficial cue is applicable, and how often it points at the right choice.

    applicability α_k = number of items where exactly one choice has cue k; productivity π_k = share of those where that
    choice is right; coverage ξ_k = α_k / n. A cue is worth exploiting when π_k differs from chance 1/m in either
    direction. Items are taken as independent in the tests and intervals.

    Args:
        data: N items, each a list of at least two choices; the number of choices may differ.
        labels: (N,) the index of the right choice, from 0.
        prompts: N prompts; needed by the feature "overlap" alone.
        features: Families of cues: "unigram", "bigram", "trigram"; "length" (`<longest>`, `<shortest>`, in tokens, ties
            do not count); "overlap" (`<most overlap>`, `<least overlap>`: share of the choice's token types that are in
            the prompt); "negation" (`<negation>`: a word such as "not", "never" or "didn't").
        tokenizer: A function from a text to its tokens; lower-cased words and punctuation marks by default.
        min_applicability: Minimum applicability; rarer cues are left out of the table and of Holm's correction.
        top: Number of cues in the table; the correction still runs over all.
        confidence_level: Of the intervals.

    Returns:
        `CueStatistics`: `cues` by falling applicability and how many there are.

    Raises:
        TypeError: If a choice is not a text.
        ValueError: If an item has fewer than two choices, a label is out of range or lengths differ.

    References:
        Niven and Kao (2019), §3; Kavumba et al. (2019), Table 2; Holm (1979).

    Example:
        >>> table = cue_statistics([["It was red.", "It is blue."], ["He was in.", "He ran."]], [0, 0], top=2)
        >>> [(row.cue, row.applicability, row.productivity, row.coverage) for row in table.cues]
        [('was', 2, 1.0, 1.0), ('blue', 1, 0.0, 0.5)]
    """
    counts = CueCounts(features, tokenizer).update(data, labels, prompts)
    return counts.result(min_applicability=min_applicability, top=top, confidence_level=confidence_level)


def check_answers(labels: object, n_choices: NDArray[np.int64], name: str = "labels") -> NDArray[np.int64]:
    """Check the index of the right choice of each item."""
    right = validation.check_labels(labels, name=name)
    validation.check_same_length(data=n_choices, **{name: right})
    return validation.check_labels(right, n_choices, name=name)


# ------------------------------------------------------------------------------------------------------------- private


def _p_values(by_size: NDArray[np.int64], hits: NDArray[np.int64], sizes: list[int]) -> NDArray[np.float64]:
    """Exact two-sided p-values: the null is a sum of binomials, one for each number of choices."""
    if not len(hits):
        return np.zeros(0)
    distinct, inverse = np.unique(np.column_stack((by_size, hits)), axis=0, return_inverse=True)
    chances = 1.0 / np.array(sizes, dtype=np.float64)
    p_values = [poisson_binomial_p_value(row[-1], chances, row[:-1]) for row in distinct]
    return np.array(p_values)[inverse.reshape(-1)]


def _clopper_pearson(
    hits: NDArray[np.int64], trials: NDArray[np.int64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    tail = (1 - level) / 2
    low = np.where(hits == 0, 0.0, stats.beta.ppf(tail, np.maximum(hits, 1), trials - hits + 1))
    high = np.where(hits == trials, 1.0, stats.beta.ppf(1 - tail, hits + 1, np.maximum(trials - hits, 1)))
    return low, high
