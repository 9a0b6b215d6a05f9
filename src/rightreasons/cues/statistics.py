"""Statistics of superficial cues in multiple-choice data: applicability, productivity and coverage.

`cue_statistics` counts, for each cue that `extract_cues` finds, in how many items it points to an
answer and how often that answer is correct. Both are tested against chance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rightreasons.core.errors import make_unknown_name_error
from rightreasons.core.results import Result
from rightreasons.core.significance import (
    compute_chances_p_value,
    holm,
    poisson_binomial_p_values,
)
from rightreasons.core.validation import check_count, check_fraction
from rightreasons.cues.extraction import CueTable, find_cues, parse_answered_choices
from rightreasons.cues.labels import number_groups

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]

MIN_MISSES = 1e-9
"""Numbers of misses below this are rounding errors of products with an effective number of items."""


@dataclasses.dataclass(frozen=True)
class Cue(Result):
    """Statistics of one cue.

    Attributes:
        cue: The word, the words joined by a space, or the name of a shape cue in angle brackets.
        applicability: Number of items in which exactly one choice has the cue.
        productivity: Share of those items in which the choice that has the cue is correct, in [0,
            1]. A value near `chance` is harmless.
        coverage: applicability / number of items, in [0, 1].
        n_correct: applicability × productivity, as a count.
        chance: Productivity expected of an uninformative cue: the mean of 1/m over its items.
        p_value: Exact two-sided binomial test of productivity = chance; `chances_p_value` if there
            are groups of items.
        p_holm: p_value, corrected by Holm's method over all cues of the table.
        low: Lower end of the exact (Clopper-Pearson) interval of productivity.
        high: Upper end of that interval.
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
        cues: The cues in descending order of applicability, then by name.
        n_items: Number of items.
        n_cues: Number of cues that reach `min_applicability`. Holm's correction is for all of them,
            whether they are displayed or not.
        n_significant: Number of those with `p_holm` below 1 - confidence_level.
        min_applicability: Minimum applicability of a cue in the table.
        confidence_level: Confidence level of the intervals.
    """

    cues: tuple[Cue, ...]
    n_items: int
    n_cues: int
    n_significant: int
    min_applicability: int
    confidence_level: float

    def find(self, cue: str) -> Cue:
        """Return the row of one cue.

        Raises:
            ValueError: If the table does not have the cue.
        """
        for row in self.cues:
            if row.cue == cue:
                return row
        frequent_cues = [row.cue for row in self.cues[:20]]
        raise make_unknown_name_error("cue of this table", cue, frequent_cues)


def cue_statistics(  # noqa: PLR0913
    data: Sequence[Sequence[str]],
    labels: object,
    *,
    prompts: Sequence[str] | None = None,
    features: Sequence[str] = ("unigram",),
    groups: Sequence[Hashable] | None = None,
    min_applicability: int = 1,
    top: int | None = None,
    confidence_level: float = 0.95,
) -> CueStatistics:
    r"""Count how often each superficial cue is applicable, and how often it points to the correct choice.

    For an item i with m_i choices, token sets T_1..T_m and correct choice y_i, cue k is applicable
    if it is in exactly one T_j; with two choices this is Niven and Kao's definition:

        \alpha_k = \sum_i 1[\exists! j: k \in T_{ij}]
        \pi_k    = \frac{1}{\alpha_k} \sum_i 1[\exists! j: k \in T_{ij} \wedge j = y_i]
        \xi_k    = \alpha_k / n

    Tokens are lower-cased words and punctuation marks, which reproduces the published tables; by
    white space "in" would have an applicability of 46 on COPA instead of 47, because "in." is
    another word.

    α is the applicability, π the productivity and ξ the coverage. A cue is worth exploiting if π_k
    differs from chance 1/m in either direction. If items form groups, the tests are those of
    `chances_p_value`, and the intervals have the effective number of items (Korn and Graubard
    1998).

    Args:
        data: N items, each a list of at least two choices; the number of choices may differ.
        labels: (N,) position of the correct choice, from 0.
        prompts: N prompts; needed by the feature "overlap" only.
        features: Families of cues: "unigram", "bigram", "trigram"; "length" (`<longest>`,
            `<shortest>`, in tokens, ties do not count); "overlap" (`<most overlap>`, `<least
            overlap>`: share of the choice's token types that are in the prompt); "negation"
            (`<negation>`: a word such as "not", "never" or "didn't").
        groups: N names of groups of items that belong together, such as the `source_id` of a
            mirrored pair. If None (default), the items are independent.
        min_applicability: Minimum applicability; rarer cues are left out of the table and of Holm's
            correction.
        top: Number of cues in the table; the correction still runs over all.
        confidence_level: Confidence level of the intervals.

    Returns:
        `CueStatistics`: `cues` by falling applicability and how many there are.

    Raises:
        TypeError: If a choice is not a text.
        ValueError: If an item has fewer than two choices, a label is out of range or lengths
            differ.

    References:
        Niven and Kao (2019), Probing Neural Network Comprehension of Natural Language Arguments,
        §3. Kavumba et al. (2019), When Choosing Plausible Alternatives, Clever Hans can be Clever,
        §2 and Table 2. Holm (1979).

    Example:
        >>> table = cue_statistics([["It was red.", "It is blue."], ["He was in.", "He ran."]], [0, 0], top=2)
        >>> [(row.cue, row.applicability, row.productivity, row.coverage) for row in table.cues]
        [('was', 2, 1.0, 1.0), ('blue', 1, 0.0, 0.5)]
    """
    minimum = check_count(min_applicability, "min_applicability")
    level = check_fraction(confidence_level, "confidence_level", open_ends=True)
    if top is not None:
        check_count(top, "top")

    texts, correct = parse_answered_choices(data, labels, prompts, features)
    group = number_groups(groups, len(correct))
    table = find_cues(texts)
    counts = _count_cues(table, correct, minimum)
    # Independent items are counted; groups also need to know which items have a cue.
    entries = []
    n_effective = counts.applicability.astype(np.float64)
    if int(group.max()) + 1 < len(group):
        entries = _split_entries(table, counts, group)
        n_effective = np.array([_estimate_effective_size(cue) for cue in entries])
    low, high = _compute_intervals(counts, n_effective, level)
    p_values = _compute_p_values(counts, entries)
    p_holm = holm(p_values)

    # The rarest cues are many, so that only the rows to return become objects.
    columns = (
        counts.cue,
        counts.applicability,
        counts.n_correct / counts.applicability,
        counts.applicability / len(correct),
        counts.n_correct,
        counts.chance,
        p_values,
        p_holm,
        low,
        high,
    )
    returned_columns = [column[:top].tolist() for column in columns]
    rows = []
    for cue, *figures in zip(*returned_columns, strict=True):
        rows.append(Cue(table.names[cue], *figures))
    return CueStatistics(
        cues=tuple(rows),
        n_items=len(correct),
        n_cues=len(counts.cue),
        n_significant=int(np.count_nonzero(p_holm < 1 - level)),
        min_applicability=minimum,
        confidence_level=level,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class _CueCounts:
    """Counts of the V cues that reach the minimum applicability, most applicable first.

    Attributes:
        cue: (V,) position of each cue in the table of cues.
        n_correct: (V,) number of items in which the choice that has the cue is correct.
        by_size: (V, S) number of applicable items with each number of choices.
        sizes: (S,) the distinct numbers of choices.
        is_correct: (E,) whether the choice of each entry of the table is correct.
    """

    cue: Counts
    n_correct: Counts
    by_size: Counts
    sizes: Counts
    is_correct: NDArray[np.bool_]

    @property
    def applicability(self) -> Counts:
        """(V,) number of items in which exactly one choice has the cue."""
        return np.asarray(self.by_size.sum(axis=1))

    @property
    def chance(self) -> Floats:
        """(V,) mean of 1 / number of choices over the items of each cue."""
        return np.asarray((self.by_size / self.sizes).sum(axis=1) / self.applicability)


@dataclasses.dataclass(frozen=True, eq=False)
class _CueEntries:
    """The n items to which one cue is applicable.

    Attributes:
        hits: (n,) whether the choice that has the cue is correct.
        chances: (n,) 1 / number of choices.
        units: (n,) number of the group of each item, without gaps.
    """

    hits: NDArray[np.bool_]
    chances: Floats
    units: Counts


def _count_cues(table: CueTable, correct: Counts, minimum: int) -> _CueCounts:
    """Count, for each cue, its applicable items, and how often the choice that has it is correct.

    Args:
        table: The applicable cues of N items.
        correct: (N,) position of the correct choice of each item.
        minimum: Minimum number of applicable items; rarer cues are left out.
    """
    # (E,) whether each entry of the table points to the correct choice of its item.
    is_correct = table.choice == correct.astype(np.int32)[table.item]
    # Items with equally many choices have the same chance, and are counted together.
    n_cues = len(table.names)
    sizes = np.unique(table.n_choices)
    by_size = np.zeros((n_cues, len(sizes)), dtype=np.int64)
    for position, size in enumerate(sizes.tolist()):
        has_size = table.n_choices == size
        cues = table.cue[has_size[table.item]]
        by_size[:, position] = np.bincount(cues, minlength=n_cues)

    # A stable sort leaves equally applicable cues in the order of their names.
    applicability = by_size.sum(axis=1)
    order = np.argsort(-applicability, kind="stable")
    n_selected = np.count_nonzero(applicability >= minimum)
    selected = order[:n_selected]
    n_correct = np.bincount(table.cue[is_correct], minlength=n_cues)
    return _CueCounts(
        cue=selected,
        n_correct=n_correct[selected],
        by_size=by_size[selected],
        sizes=sizes,
        is_correct=is_correct,
    )


def _split_entries(table: CueTable, counts: _CueCounts, group: Counts) -> list[_CueEntries]:
    """Collect, for each counted cue, the items to which it is applicable.

    Args:
        table: The applicable cues of N items.
        counts: The V counted cues.
        group: (N,) number of the group of each item.

    Returns:
        V collections, in the order of `counts.cue`.
    """
    # Sort the entries of the table by cue, and divide them where the next cue begins.
    order = np.argsort(table.cue, kind="stable")
    borders = np.searchsorted(table.cue[order], np.arange(1, len(table.names)))
    positions_by_cue = np.split(order, borders)

    entries = []
    for cue in counts.cue.tolist():
        positions = positions_by_cue[cue]
        item = table.item[positions]
        # Number the groups of these items without gaps.
        _, units = np.unique(group[item], return_inverse=True)
        entries.append(
            _CueEntries(
                hits=counts.is_correct[positions],
                chances=1 / table.n_choices[item],
                units=units,
            )
        )
    return entries


def _estimate_effective_size(entries: _CueEntries) -> float:
    """Estimate the effective number of items of a cue whose items form groups.

    It is the number of independent items that would have the same variance of productivity (Korn
    and Graubard 1998).

    Args:
        entries: The n items to which the cue is applicable: whether the choice with the cue is
            correct, and the group of each.

    Returns:
        A number between that of fully dependent groups, n² / Σ (group size)², and n.
    """
    n_items = len(entries.hits)
    rate = entries.hits.sum() / n_items
    sizes = np.bincount(entries.units)
    minimum = n_items**2 / float((sizes**2).sum())
    n_groups = len(sizes)
    if n_groups == 1 or not 0 < rate < 1:
        # With a single group, or if all items agree, it is unknown how dependent the items of a
        # group are.
        return minimum

    # How far the hits of each group deviate from the expected number.
    deviations = np.bincount(entries.units, entries.hits) - rate * sizes
    squares = float((deviations**2).sum())
    if squares == 0:
        return n_items
    # p (1 - p) divided by the variance of the rate between groups, G / (G - 1) squares / n².
    variance = rate * (1 - rate) * n_items**2
    effective = variance * (n_groups - 1) / (n_groups * squares)
    return float(np.clip(effective, minimum, n_items))


def _compute_p_values(counts: _CueCounts, entries: list[_CueEntries]) -> Floats:
    """Test for each cue whether its productivity differs from chance.

    Args:
        counts: The V counted cues.
        entries: For each cue, the items to which it is applicable, with their groups. Empty for
            independent items.

    Returns:
        (V,) p-values.
    """
    if entries:
        tests = [
            compute_chances_p_value(cue.hits, cue.chances, cue.units.astype(np.intp))
            for cue in entries
        ]
        return np.array(tests, dtype=np.float64)

    # The number of correct items is a sum of binomials under the null hypothesis, one for each
    # number of choices. Many rare cues have the same counts, so that each distinct row of counts is
    # tested once.
    rows = np.column_stack((counts.by_size, counts.n_correct))
    distinct, row_of_cue = np.unique(rows, axis=0, return_inverse=True)
    p_values = poisson_binomial_p_values(distinct[:, -1], 1 / counts.sizes, distinct[:, :-1])
    return p_values[row_of_cue.reshape(-1)]


def _compute_intervals(
    counts: _CueCounts,
    n_effective: Floats,
    level: float,
) -> tuple[Floats, Floats]:
    """Compute the Clopper-Pearson interval of the productivity of each cue.

    Args:
        counts: The V counted cues.
        n_effective: (V,) effective number of items of each cue, which replaces the number of items.
        level: Confidence level.

    Returns:
        (V,) lower and (V,) upper ends.
    """
    tail = (1 - level) / 2
    hits = counts.n_correct * (n_effective / counts.applicability)
    misses = n_effective - hits

    # The ends are quantiles of beta distributions. Without hits the low end is 0, and without
    # misses the high end is 1; the 1 in `np.where` avoids an invalid parameter.
    has_hits = hits > 0
    has_misses = misses > MIN_MISSES
    low = special.betaincinv(np.where(has_hits, hits, 1), misses + 1, tail)
    high = special.betaincinv(hits + 1, np.where(has_misses, misses, 1), 1 - tail)
    return np.where(has_hits, low, 0.0), np.where(has_misses, high, 1.0)
