"""Superficial cues of multiple-choice data: applicability, productivity and coverage.

A cue is anything that can be read off a choice without understanding the item: a word, a run of words, being the
longest choice. It is *applicable* to an item when exactly one of the choices has it, for only then can it point at an
answer. Everything here counts such pointings and asks how often they point at the right choice.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from rightreasons.core import validation
from rightreasons.core.arrays import describe_kind
from rightreasons.core.choices import FEATURES
from rightreasons.core.errors import OptionError, OptionTypeError, make_unknown_name_error
from rightreasons.core.results import Result
from rightreasons.core.significance import chances_p_value, holm, poisson_binomial_p_value
from rightreasons.core.tokens import split_words

EXTREMES = {"length": ("<longest>", "<shortest>"), "overlap": ("<most overlap>", "<least overlap>")}
NEGATION = "<negation>"

_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|\w+n['’]t)\b",
    re.IGNORECASE,
)
_NGRAM_SIZE = {"unigram": 1, "bigram": 2, "trigram": 3}


@dataclasses.dataclass(frozen=True, eq=False)
class CueTable:
    """Where cues point, before anything is known about the right answers: one entry for each applicable (item, cue).

    Attributes:
        names: V cues, sorted.
        item: (E,) the item of each entry.
        choice: (E,) the one choice of that item that has the cue.
        cue: (E,) the index of the cue in `names`.
        n_choices: (N,) how many choices each item has.
    """

    names: tuple[str, ...]
    item: NDArray[np.int64]
    choice: NDArray[np.int64]
    cue: NDArray[np.int64]
    n_choices: NDArray[np.int64]


def extract_cues(
    data: Sequence[Sequence[str]],
    *,
    prompts: Sequence[str] | None = None,
    features: Sequence[str] = ("unigram",),
) -> CueTable:
    """Find each cue that exactly one choice of an item has; the arguments are those of `cue_statistics`."""
    families = check_features(features)
    items = validation.check_choice_lists(data, "data")
    if prompts is None and "overlap" in families:
        raise ValueError("Expected `prompts` for the feature 'overlap', but got None.")
    read = (
        [""] * len(items)
        if prompts is None
        else validation.check_texts(prompts, "prompts", allow_empty=True)
    )
    validation.check_same_length(data=items, prompts=read)
    entries = []
    for row, (choices, prompt) in enumerate(zip(items, read, strict=True)):
        held = _cues_of(choices, prompt, families)
        times = Counter(chain.from_iterable(held))
        entries += [
            (row, choice, cue)
            for choice, cues in enumerate(held)
            for cue in cues
            if times[cue] == 1
        ]
    names = sorted({cue for *_, cue in entries})
    index = {name: place for place, name in enumerate(names)}
    table = (
        np.array([(row, choice, index[cue]) for row, choice, cue in entries], dtype=np.int64)
        .reshape(-1, 3)
        .T
    )
    return CueTable(
        tuple(names), table[0], table[1], table[2], np.array([*map(len, items)], dtype=np.int64)
    )


def check_features(features: object) -> tuple[str, ...]:
    """Check names of cue families; a single name is accepted."""
    names = (features,) if isinstance(features, str) else features
    if not isinstance(names, Iterable) or getattr(names, "ndim", 1) == 0:
        raise OptionTypeError(
            f"Expected `features` to be names of cue families, but got {describe_kind(features)}.",
            option="features",
        )
    checked = tuple(validation.check_one_of(name, FEATURES, "features") for name in names)
    if not checked:
        raise OptionError(
            "Expected at least one name in `features`, but it is empty.", option="features"
        )
    return tuple(name for name in FEATURES if name in checked)


# ------------------------------------------------------------------------------------------------------------- private


def _cues_of(choices: Sequence[str], prompt: str, families: Sequence[str]) -> list[dict[str, None]]:
    """Return the cues of each choice of an item, each once; of extremes that tie, all choices have one."""
    tokens = [split_words(choice) for choice in choices]
    held: list[dict[str, None]] = [{} for _ in choices]
    for family in families:
        if family in _NGRAM_SIZE:
            for cues, row in zip(held, tokens, strict=True):
                runs = zip(*(row[start:] for start in range(_NGRAM_SIZE[family])), strict=False)
                cues.update(dict.fromkeys(map(" ".join, runs)))
        elif family == "negation":
            for cues, choice in zip(held, choices, strict=True):
                cues.update({NEGATION: None} if _NEGATION.search(choice) else {})
        else:
            values = [len(row) if family == "length" else _overlap(row, prompt) for row in tokens]
            for name, extreme in zip(EXTREMES[family], (max(values), min(values)), strict=True):
                for cues, value in zip(held, values, strict=True):
                    cues.update({name: None} if value == extreme else {})
    return held


def _overlap(tokens: Sequence[str], prompt: str) -> float:
    """Return the share of a choice's distinct words that are in the prompt; 0 where it has no words."""
    distinct = {token for token in tokens if token[:1].isalnum()}
    return len(distinct.intersection(split_words(prompt))) / max(len(distinct), 1)


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
        p_value: Exact two-sided binomial test of productivity = chance; over groups of items `chances_p_value`.
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
        raise make_unknown_name_error("cue of this table", cue, [row.cue for row in self.cues[:20]])


def cue_statistics(
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
    r"""Count how often each superficial cue is applicable, and how often it points at the right choice.

    For an item i with m_i choices, token sets T_1..T_m and right choice y_i, cue k is applicable when it is in exactly
    one T_j; with two choices this is Niven and Kao's definition:

        \alpha_k = \sum_i 1[\exists! j: k \in T_{ij}]
        \pi_k    = \frac{1}{\alpha_k} \sum_i 1[\exists! j: k \in T_{ij} \wedge j = y_i]
        \xi_k    = \alpha_k / n

    Tokens are lower-cased words and punctuation marks, which reproduces the published tables; by white space "in" would
    have an applicability of 46 on COPA instead of 47, because "in." is another word.

    α is the applicability, π the productivity and ξ the coverage. A cue is worth exploiting when π_k differs from
    chance 1/m in either direction. Of groups of items that belong together, the tests are those of `chances_p_value`,
    and the intervals have the effective number of items (Korn and Graubard 1998).

    Args:
        data: N items, each a list of at least two choices; the number of choices may differ.
        labels: (N,) the index of the right choice, from 0.
        prompts: N prompts; needed by the feature "overlap" alone.
        features: Families of cues: "unigram", "bigram", "trigram"; "length" (`<longest>`, `<shortest>`, in tokens, ties
            do not count); "overlap" (`<most overlap>`, `<least overlap>`: share of the choice's token types that are in
            the prompt); "negation" (`<negation>`: a word such as "not", "never" or "didn't").
        groups: N keys of what belongs together, such as the `source_id` of a mirrored pair; None (default) where each
            item is on its own.
        min_applicability: Minimum applicability; rarer cues are left out of the table and of Holm's correction.
        top: Number of cues in the table; the correction still runs over all.
        confidence_level: Of the intervals.

    Returns:
        `CueStatistics`: `cues` by falling applicability and how many there are.

    Raises:
        TypeError: If a choice is not a text.
        ValueError: If an item has fewer than two choices, a label is out of range or lengths differ.

    References:
        Niven and Kao (2019), Probing Neural Network Comprehension of Natural Language Arguments, §3.
        Kavumba et al. (2019), When Choosing Plausible Alternatives, Clever Hans can be Clever, §2 and Table 2.
        Holm (1979).

    Example:
        >>> table = cue_statistics([["It was red.", "It is blue."], ["He was in.", "He ran."]], [0, 0], top=2)
        >>> [(row.cue, row.applicability, row.productivity, row.coverage) for row in table.cues]
        [('was', 2, 1.0, 1.0), ('blue', 1, 0.0, 0.5)]
    """
    minimum = validation.check_count(min_applicability, "min_applicability")
    level = validation.check_fraction(confidence_level, "confidence_level", open_ends=True)
    if top is not None:
        validation.check_count(top, "top")
    table = extract_cues(data, prompts=prompts, features=features)
    right = check_answers(labels, table.n_choices)
    group, hit = group_index(groups, len(right)), table.choice == right[table.item]
    # By number of choices, because that sets what chance is.
    sizes, row_of = np.unique(table.n_choices, return_inverse=True)
    shape = len(table.names), len(sizes)
    cell = table.cue * len(sizes) + row_of[table.item]
    by_size = np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape)
    alpha = by_size.sum(axis=1)
    kept = np.argsort(-alpha, kind="stable")[: np.count_nonzero(alpha >= minimum)]
    by_size, alpha = by_size[kept], alpha[kept]
    hits = np.bincount(table.cue[hit], minlength=len(table.names))[kept]
    if int(group.max()) + 1 == len(right):
        # The null is a sum of binomials, one for each number of choices.
        distinct, inverse = np.unique(np.column_stack((by_size, hits)), axis=0, return_inverse=True)
        tested = [poisson_binomial_p_value(row[-1], 1 / sizes, row[:-1]) for row in distinct]
        p_values, effective = np.array(tested, dtype=np.float64)[inverse.reshape(-1)], alpha
    else:
        p_values, effective = _of_groups(table, hit, group, kept)
    p_holm = holm(p_values)
    # Clopper and Pearson, of the effective number of items.
    tail, found, misses = (
        (1 - level) / 2,
        hits * (effective / alpha),
        effective - hits * (effective / alpha),
    )
    low = np.where(found > 0, stats.beta.ppf(tail, np.where(found > 0, found, 1), misses + 1), 0.0)
    high = np.where(
        misses > 1e-9, stats.beta.ppf(1 - tail, found + 1, np.where(misses > 1e-9, misses, 1)), 1.0
    )
    chance = (by_size / sizes).sum(axis=1) / alpha
    columns = (
        kept,
        alpha,
        hits / alpha,
        alpha / len(right),
        hits,
        chance,
        p_values,
        p_holm,
        low,
        high,
    )
    rows = zip(*(column[:top].tolist() for column in columns), strict=True)
    return CueStatistics(
        cues=tuple(Cue(table.names[cue], *row) for cue, *row in rows),
        n_items=len(right),
        n_cues=len(kept),
        n_significant=int(np.count_nonzero(p_holm < 1 - level)),
        min_applicability=minimum,
        confidence_level=level,
    )


def check_answers(labels: object, n_choices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Check the index of the right choice of each item."""
    right = validation.check_labels(labels, name="labels")
    validation.check_same_length(data=n_choices, labels=right)
    return validation.check_labels(right, n_choices, name="labels")


def group_index(groups: Sequence[Hashable] | None, n_items: int) -> NDArray[np.int64]:
    """Number the groups of N items in the order in which they come, (N,); without groups each item is one."""
    if groups is None:
        return np.arange(n_items, dtype=np.int64)
    validation.check_same_length(data=range(n_items), groups=groups)
    missing = next((item for item, key in enumerate(groups) if key is None or key != key), None)
    if missing is not None:
        raise ValueError(f"Expected a name in each item of `groups`, but item {missing} has none.")
    ids: dict[Hashable, int] = {}
    return np.array([ids.setdefault(key, len(ids)) for key in groups], dtype=np.int64)


# ------------------------------------------------------------------------------------------------------------- private


def _of_groups(
    table: CueTable, hit: NDArray[np.bool_], group: NDArray[np.int64], cues: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the p-value and the effective number of items of each cue over groups, of which each counts once."""
    order = np.argsort(table.cue, kind="stable")
    parts = np.split(order, np.searchsorted(table.cue[order], np.arange(1, len(table.names))))
    p_values, effective = np.zeros(len(cues)), np.zeros(len(cues))
    for n, cue in enumerate(cues):
        item, hits = table.item[parts[cue]], hit[parts[cue]]
        unit = np.unique(group[item], return_inverse=True)[1]
        p_values[n] = chances_p_value(hits, 1 / table.n_choices[item], clusters=unit)
        sizes, rate, alpha = np.bincount(unit), hits.sum() / len(hits), len(hits)
        spread = float(((np.bincount(unit, hits) - rate * sizes) ** 2).sum()) * len(sizes)
        independent = rate * (1 - rate) * alpha**2 * (len(sizes) - 1) / spread if spread else np.inf
        least = alpha**2 / float((sizes**2).sum())
        effective[n] = max(least, min(alpha, independent if 0 < rate < 1 else least))
    return p_values, effective
