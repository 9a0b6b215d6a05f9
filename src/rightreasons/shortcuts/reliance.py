"""Does a model decide by shortcuts? What it attends to, compared with what its training data gives away.

A token is a shortcut of a prediction when it is among the tokens that the prediction rests on most (the top N by
attribution) and in the head of the LMI ranking of the predicted label.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Floats, Ragged, describe_kind
from rightreasons.core.binning import assign_bins, make_uniform_edges
from rightreasons.core.bootstrap import bootstrap_mean
from rightreasons.core.choices import RANKINGS, TOKEN_KINDS
from rightreasons.core.classification import AVERAGES, MAX_CLASSES
from rightreasons.core.intervals import Interval, wilson
from rightreasons.core.options import Options, accept_options_as_keywords, option
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import compute_log_binomial
from rightreasons.core.tokens import CATEGORIES, GRAMMAR_CATEGORIES, PIECE_STYLES, assign_categories
from rightreasons.core.validation import (
    MAX_BINS,
    as_ragged,
    check_count,
    check_flags,
    check_kind,
    check_labels,
    check_one_of,
    check_same_length,
    check_token_lists,
    check_vector,
)
from rightreasons.shortcuts.mutual_information import LmiResult

TYPES = ("none", "grammar", "lexicon")
"""What cues a prediction: nothing, function words and marks and pieces alone, or a word of the lexicon too."""


class DetectorOptions(Options):
    """How shortcuts are found; see `find_shortcuts`."""

    top_n: int = option(
        3, "Number of tokens that a prediction rests on (Bihani and Rayz 2025).", minimum=1
    )
    rank_by: str = option("value", "How tokens are ranked by their attributions.", choices=RANKINGS)
    piece_style: str = option("word", "How tokens show where a word begins.", choices=PIECE_STYLES)
    kinds: str = option("rightreasons", "Rules of the categories.", choices=TOKEN_KINDS)
    n_frequency_bins: int = option(5, "Bins of like frequency.", minimum=1, maximum=MAX_BINS)


class RelianceOptions(DetectorOptions):
    """How they are summarized; see `shortcut_reliance`."""

    n_bins: int = option(10, "Bins of confidence, of equal width.", minimum=1, maximum=MAX_BINS)


def chance_of_hit(
    rows: NDArray[np.int64],
    n_rows: int,
    in_top: NDArray[np.bool_],
    in_head: NDArray[np.bool_],
    strata: NDArray[np.int64] | None = None,
) -> Floats:
    r"""Compute the chance that shuffled top tokens hit the head at least once, for each text.

    The places of the top tokens are shuffled among the tokens of the same text and the same stratum:

    \[ P_i = 1 - \prod_b \binom{L_{ib} - h_{ib}}{m_{ib}} \Big/ \binom{L_{ib}}{m_{ib}} \]

    for \(L_{ib}\) tokens of text i in stratum b, of which \(h_{ib}\) lie in the head and \(m_{ib}\) among the top.

    Args:
        rows: (total,) the text of each token.
        n_rows: Number of texts N.
        in_top: (total,) whether the token is among the top tokens of its text.
        in_head: (total,) whether the token lies in the head of the predicted label.
        strata: (total,) the stratum of each token, from 0; None for one stratum: any token of the text.

    Returns:
        (N,) chances in [0, 1].

    Example:
        One of four tokens is in the head and two are picked: 1 - C(3, 2) / C(4, 2) = 1/2.

        >>> rows = np.zeros(4, dtype=np.int64)
        >>> chance_of_hit(rows, 1, np.array([1, 1, 0, 0], bool), np.array([0, 0, 0, 1], bool)).round(6).tolist()
        [0.5]
    """
    n_strata = 1 if strata is None else int(strata.max(initial=0)) + 1
    cells = rows * n_strata + (0 if strata is None else strata)
    length, in_both, picked = (
        np.bincount(cells, weights, minlength=n_rows * n_strata)
        .astype(np.float64)
        .reshape(n_rows, n_strata)
        for weights in (None, in_head.astype(np.float64), in_top.astype(np.float64))
    )
    outside = length - in_both
    possible = outside >= picked
    miss = np.where(
        possible,
        compute_log_binomial(np.maximum(outside, picked), picked)
        - compute_log_binomial(length, picked),
        0,
    )
    # A chance of exactly 0 must not come out as a rounding error below it.
    return np.where(possible.all(axis=1), 0.0 - np.expm1(np.minimum(miss.sum(axis=1), 0.0)), 1.0)


def frequency_bins(
    vocabulary: Sequence[str], frequencies: Mapping[str, int], n_bins: int
) -> NDArray[np.int64]:
    """Put tokens into bins of similar frequency, each of which holds about the same share of the running text.

    Args:
        vocabulary: The tokens.
        frequencies: How often tokens occur in the corpus; tokens that it lacks count as never seen.
        n_bins: Number of bins.

    Returns:
        (V,) bins from 0 (rare) to n_bins - 1 (frequent). Tokens of one frequency share a bin.

    Example:
        >>> frequency_bins(["the", "of", "film", "new"], {"the": 50, "of": 40, "film": 10}, 2).tolist()
        [1, 0, 0, 0]
    """
    counts = np.fromiter(frequencies.values(), dtype=np.int64, count=len(frequencies))
    distinct, types = np.unique(counts[counts > 0], return_counts=True)
    mass = distinct * types
    middle = (np.cumsum(mass) - mass / 2) / max(int(mass.sum()), 1)
    bin_of_count = np.minimum((middle * n_bins).astype(np.int64), n_bins - 1)
    frequency = np.fromiter(
        (frequencies.get(token, 0) for token in vocabulary), dtype=np.int64, count=len(vocabulary)
    )
    place = np.searchsorted(distinct, frequency)
    known = (place < len(distinct)) & (frequency > 0)
    bins = np.zeros(len(vocabulary), dtype=np.int64)
    bins[known] = bin_of_count[place[known]]
    return bins


def permutation_p_value(n_hits: int, chances: Floats, resampling: Resampling) -> float:
    """Return how often shuffled top tokens hit in at least as many texts as the observed ones did.

    Whether a shuffled text hits is a coin of known chance, so the shuffles are drawn as coins: the same distribution,
    at no cost. The observed assignment is counted as one of the shuffles, so the p-value is never 0.

    Args:
        n_hits: Number of texts with a hit.
        chances: (N,) chance of a hit in each text.
        resampling: Number of shuffles of all texts, and their seed.

    Returns:
        One-sided p-value in (0, 1].
    """
    rng = np.random.default_rng(resampling.seed)
    hits = (
        (rng.random((part, len(chances))) < chances).sum(axis=1)
        for part in resampling.split_into_blocks(len(chances))
    )
    return (sum(int(np.count_nonzero(each >= n_hits)) for each in hits) + 1) / (
        resampling.resamples + 1
    )


Heads = Mapping[int, Collection[str]] | LmiResult


@dataclasses.dataclass(frozen=True, eq=False)
class Shortcuts:
    """The shortcuts of N predictions, and the chance that blind picks would have found some.

    The tokens of all texts are in flat arrays, one text after another; text i is `offsets[i]:offsets[i + 1]`.

    Attributes:
        tokens: (total,) the tokens.
        offsets: (N + 1,) where each text begins.
        in_top: (total,) whether the token is among the top N of its text.
        in_head: (total,) whether it lies in the head of the predicted label.
        category: (total,) its category, a position in `tokens.CATEGORIES`.
        predictions: (N,) the predicted labels.
        chance_random: (N,) chance of a hit for random tokens of the same text.
        chance_frequency: (N,) chance of a hit for tokens of the same text and of like frequency.
    """

    tokens: NDArray[np.object_]
    offsets: NDArray[np.int64]
    in_top: NDArray[np.bool_]
    in_head: NDArray[np.bool_]
    category: NDArray[np.int8]
    predictions: NDArray[np.int64]
    chance_random: NDArray[np.float64]
    chance_frequency: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.predictions)

    @property
    def found(self) -> NDArray[np.bool_]:
        """(total,) whether the token is a shortcut."""
        return self.in_top & self.in_head

    @property
    def cued(self) -> NDArray[np.bool_]:
        """(N,) whether the prediction is shortcut-cued."""
        return self.counts > 0

    @property
    def counts(self) -> NDArray[np.int64]:
        """(N,) how many of the top N tokens are shortcuts."""
        return self._count(self.found)

    @property
    def types(self) -> NDArray[np.int8]:
        """(N,) what cues the prediction, a position in `TYPES`."""
        grammar = [CATEGORIES.index(name) for name in GRAMMAR_CATEGORIES]
        lexical = self._count(self.found & ~np.isin(self.category, grammar)) > 0
        return np.where(lexical, 2, np.where(self.cued, 1, 0)).astype(np.int8)

    def _count(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        rows = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return np.bincount(rows[flags], minlength=len(self))


@dataclasses.dataclass(frozen=True)
class ShortcutExample(Result):
    """The shortcuts of one prediction.

    Attributes:
        cued: Whether there is one.
        type: "none", "grammar" or "lexicon".
        tokens: The shortcuts, in the order of the text.
        positions: Where they stand among the tokens of the text.
    """

    cued: bool
    type: str
    tokens: tuple[str, ...]
    positions: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class NullModel(Result):
    """The shortcut rate of blind picks of tokens, and the model's excess over it.

    Attributes:
        rate: The shortcut rate of blind picks, in [0, 1]: the mean chance over the predictions.
        excess: Shortcut rate minus this rate. 0: the model looks at cues no more than chance does.
        interval: Interval of the excess over the predictions (`bootstrap_mean` in [-1, 1]).
        p_value: One-sided permutation p-value of "the excess is 0".
    """

    rate: float
    excess: float
    interval: Interval
    p_value: float


@dataclasses.dataclass(frozen=True)
class OutcomeShare(Result):
    """Shortcut-cued predictions among those that are right, or among those that are wrong.

    Attributes:
        n_items: How many predictions there are of this outcome.
        rate: Share of them that is shortcut-cued; None where there are none.
        interval: Wilson interval of the rate; None where there are none.
        joint: Share of all predictions that have this outcome and are shortcut-cued.
    """

    n_items: int
    rate: float | None
    interval: Interval | None
    joint: float


@dataclasses.dataclass(frozen=True)
class ConfidenceBin(Result):
    """The predictions of one bin (lower, upper] of confidence.

    Attributes:
        lower: Lower edge.
        upper: Upper edge.
        n_items: Number of predictions.
        rate: Share that is shortcut-cued; None where the bin is empty.
        lexicon: Share that is lexicon-cued; None where empty.
        grammar: Share that is grammar-cued; None where empty.
        confidence: Mean confidence; None where empty.
        accuracy: Share that is right; None where empty or where there are no references.
    """

    lower: float
    upper: float
    n_items: int
    rate: float | None
    lexicon: float | None
    grammar: float | None
    confidence: float | None
    accuracy: float | None


@dataclasses.dataclass(frozen=True)
class ShortcutReliance(Result):
    """How far predictions rest on shortcuts. All shares in [0, 1].

    Attributes:
        shortcut_reliance: The shortcut rate P_sc: share of the predictions that are shortcut-cued.
        interval: Wilson interval of it.
        n_items: Number of predictions.
        n_cued: Number of shortcut-cued ones.
        lexicon_cued: Share with at least one lexical shortcut (numbers are lexical).
        grammar_cued: Share whose shortcuts are function words, punctuation and pieces of words alone.
        null: The null models "random" and "frequency", each a `NullModel`.
        correct: Shortcuts among right predictions; None without references.
        wrong: Shortcuts among wrong predictions; None without references.
        bins: Types of shortcuts by confidence; empty without confidences.
        examples: What was found in each prediction.
        definition: The definition used, in words.
    """

    shortcut_reliance: float
    interval: Interval
    n_items: int
    n_cued: int
    lexicon_cued: float
    grammar_cued: float
    null: Mapping[str, NullModel]
    correct: OutcomeShare | None
    wrong: OutcomeShare | None
    bins: tuple[ConfidenceBin, ...]
    examples: tuple[ShortcutExample, ...]
    definition: str


@accept_options_as_keywords(DetectorOptions)
def find_shortcuts(
    tokens: Any,
    attributions: Any,
    predictions: Any,
    heads: Heads,
    *,
    options: DetectorOptions,
) -> Shortcuts:
    r"""Find the shortcut tokens of predictions.

    \[ S_i = Top_N(a_i) \cap Head(\hat y_i), \quad sc_i = 1[S_i \ne \emptyset] \]

    Args:
        tokens: N lists of tokens, without special tokens; the same kind of tokens as in the heads.
        attributions: N lists of attributions, one per token; larger means that the prediction rests on it more.
        predictions: (N,) predicted labels.
        heads: label -> the tokens of its head, or an `LmiResult`.
        options: A `DetectorOptions`, in place of the following keywords.
        top_n: N; default 3. Of equal attributions the first in the text comes first.
        rank_by: "value" (default) or "magnitude": |a|, where both signs of a signed attribution should count.
        piece_style: How the tokens show where a word begins, one of `tokens.PIECE_STYLES`; default "word".
        kinds: Rules of the categories, "rightreasons" (default) or "bihani2025"; see `tokens.category_codes`.
        n_frequency_bins: Bins of like frequency; default 5.

    Returns:
        `Shortcuts`: flags of all tokens and chances of all predictions.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If lengths differ, a label has no head, an attribution is not finite, or an option is unknown.

    References:
        Du et al. 2021, section 2.3; Bihani and Rayz 2025, section 2.2 and eq. 7.

    Example:
        >>> heads = {0: ["bad", "the"], 1: ["good"]}
        >>> found = find_shortcuts([["the", "good", "film"]], [[0.1, 0.7, 0.2]], [1], heads, top_n=1)
        >>> found.cued.tolist(), found.tokens[found.found].tolist()
        ([True], ['good'])
    """
    rows = check_token_lists(tokens)
    values = _check_attributions(attributions, rows)
    predicted = check_labels(predictions, name="predictions")
    check_same_length(tokens=rows, predictions=predicted)
    members = _check_heads(heads, predicted)

    offsets = values.offsets
    flat = [token for row in rows for token in row]
    index: dict[str, int] = {}
    ids = np.fromiter(
        (index.setdefault(token, len(index)) for token in flat), dtype=np.int64, count=len(flat)
    )
    vocabulary = list(index)
    row_of = np.repeat(np.arange(len(rows)), values.lengths)

    in_head = np.zeros(len(flat), dtype=np.bool_)
    for label in np.unique(predicted).tolist():
        of_label = (predicted == label)[row_of]
        listed = np.array([token in members[label] for token in vocabulary], dtype=np.bool_)
        in_head[of_label] = listed[ids[of_label]]

    scores = np.abs(values.values) if options.rank_by == "magnitude" else values.values
    order = np.lexsort((-scores, row_of))
    in_top = np.zeros(len(flat), dtype=np.bool_)
    in_top[order] = np.arange(len(flat)) - np.repeat(values.starts, values.lengths) < options.top_n

    # How frequent a token is, training data tell, where they are at hand.
    counts = heads.frequencies() if isinstance(heads, LmiResult) else Counter(flat)
    strata = frequency_bins(vocabulary, counts, options.n_frequency_bins)[ids]
    categories = assign_categories(
        ids, offsets, vocabulary, style=options.piece_style, kinds=options.kinds
    )
    return Shortcuts(
        tokens=np.array(flat, dtype=object),
        offsets=offsets,
        in_top=in_top,
        in_head=in_head,
        category=categories,
        predictions=predicted,
        chance_random=chance_of_hit(row_of, len(rows), in_top, in_head),
        chance_frequency=chance_of_hit(row_of, len(rows), in_top, in_head, strata),
    )


@accept_options_as_keywords(RelianceOptions)
def shortcut_reliance(
    tokens: Any,
    attributions: Any,
    predictions: Any,
    heads: Heads,
    *,
    references: Any = None,
    confidences: Any = None,
    options: RelianceOptions,
    resampling: Resampling = Resampling(),
) -> ShortcutReliance:
    r"""Measure how far predictions rest on shortcuts.

    \[ P_{sc} = \frac1n \sum_i sc_i, \quad excess = P_{sc} - P_{sc}^{null} \]

    with sc_i as in `find_shortcuts`. P_sc lies in [0, 1]; lower means fewer predictions whose most important tokens are
    giveaways of the predicted label. Even a shortcut-free model scores above 0, because head tokens are frequent:
    report the excess over the null models, in which the positions of the top N tokens are shuffled within the text
    ("random"), or among the tokens of the text that are about as frequent in the training data ("frequency").

    Args:
        tokens: As in `find_shortcuts`, as are `attributions`, `predictions` and `heads`.
        attributions: N lists of attributions.
        predictions: (N,) predicted labels.
        heads: label -> the tokens of its head, or an `LmiResult`.
        references: (N,) labels, to split by right and wrong; default None.
        confidences: (N,) probabilities of the predicted labels, for the bins; default None.
        options: A `RelianceOptions`, in place of the following keywords.
        top_n: N; default 3.
        rank_by: "value" (default) or "magnitude".
        piece_style: One of `tokens.PIECE_STYLES`; default "word".
        kinds: Rules of the categories, "rightreasons" (default) or "bihani2025"; see `tokens.category_codes`.
        n_frequency_bins: Bins of like frequency; default 5.
        n_bins: Bins of confidence, of equal width; default 10.
        resampling: Level of the intervals, number of resamples and of the permutation test's shuffles, and their seed.

    Returns:
        `ShortcutReliance`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If lengths differ, a label has no head, a value is out of range, or an option is unknown.

    References:
        Bihani and Rayz 2025, "The Reliability Paradox", section 2.2 and eq. 7; Du et al. 2021, section 2.3. The null
        models, the intervals and the excess are this package's.

    Example:
        >>> heads = {0: ["bad", "the"], 1: ["good"]}
        >>> result = shortcut_reliance(
        ...     [["the", "good", "film"], ["the", "film", "fails"]],
        ...     [[0.1, 0.7, 0.2], [0.5, 0.2, 0.9]],
        ...     [1, 0],
        ...     heads,
        ...     top_n=1,
        ... )
        >>> result.shortcut_reliance, result.lexicon_cued, result.grammar_cued
        (0.5, 0.5, 0.0)
        >>> round(result.null["random"].rate, 6)
        0.333333
    """
    shortcuts = find_shortcuts(
        tokens,
        attributions,
        predictions,
        heads,
        **{name: getattr(options, name) for name in DetectorOptions.list_names()},
    )
    return summarize(
        shortcuts,
        references=references,
        confidences=confidences,
        n_bins=options.n_bins,
        resampling=resampling,
        definition=f"Share of predictions with one of their {options.top_n} most attributed tokens in the head of the "
        "LMI ranking of the predicted label.",
    )


def summarize(
    shortcuts: Shortcuts,
    *,
    predictions: Any = None,
    references: Any = None,
    confidences: Any = None,
    n_bins: int = 10,
    resampling: Resampling = Resampling(),
    definition: str = "Share of predictions with a shortcut among their most attributed tokens.",
) -> ShortcutReliance:
    """Summarize the shortcuts of predictions, of one batch or merged; see `shortcut_reliance`.

    `predictions` are the predicted labels where the shortcuts are those of other labels, such as the gold ones; what is
    right and wrong follows from them.
    """
    check_count(n_bins, "n_bins", maximum=MAX_BINS)
    correct = None
    if references is not None:
        labels = check_labels(references)
        predicted = (
            shortcuts.predictions
            if predictions is None
            else check_labels(predictions, name="predictions")
        )
        check_same_length(predictions=predicted, references=labels)
        correct = labels == predicted
    trust = None
    if confidences is not None:
        trust = check_vector(confidences, "confidences", minimum=0.0, maximum=1.0)
        check_same_length(predictions=shortcuts.predictions, confidences=trust)

    cued, types = shortcuts.cued, shortcuts.types
    n_items, n_cued = len(shortcuts), int(cued.sum())
    chances = {"random": shortcuts.chance_random, "frequency": shortcuts.chance_frequency}
    null = {
        name: NullModel(
            rate=float(chance.mean()),
            excess=float(n_cued / n_items - chance.mean()),
            interval=bootstrap_mean(cued - chance, bounds=(-1.0, 1.0), resampling=resampling),
            p_value=permutation_p_value(n_cued, chance, resampling),
        )
        for name, chance in chances.items()
    }
    return ShortcutReliance(
        shortcut_reliance=n_cued / n_items,
        interval=wilson(n_cued, n_items, confidence_level=resampling.level),
        n_items=n_items,
        n_cued=n_cued,
        lexicon_cued=float((types == TYPES.index("lexicon")).mean()),
        grammar_cued=float((types == TYPES.index("grammar")).mean()),
        null=null,
        correct=None if correct is None else _outcome(cued, correct, resampling.level),
        wrong=None if correct is None else _outcome(cued, ~correct, resampling.level),
        bins=() if trust is None else _bins(trust, types, correct, n_bins),
        examples=_examples(shortcuts, types),
        definition=definition,
    )


def _check_attributions(attributions: Any, rows: Sequence[Sequence[str]]) -> Ragged:
    values = as_ragged(attributions, "attributions")
    check_same_length(tokens=rows, attributions=values)
    lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    differ = np.flatnonzero(lengths != values.lengths)
    if differ.size:
        item = int(differ[0])
        raise ValueError(
            "Expected one attribution per token in each item, but item "
            f"{item} has {lengths[item]} tokens and {values.lengths[item]} attributions."
        )
    bad = np.flatnonzero(~np.isfinite(values.values))
    if bad.size:
        raise ValueError(
            f"Expected finite numbers in `attributions`, but item {values.find_row(int(bad[0]))} holds "
            f"{values.values[bad[0]]}."
        )
    return values


def _check_heads(heads: Heads, predicted: NDArray[np.int64]) -> dict[int, frozenset[str]]:
    by_label: Any = heads.heads if isinstance(heads, LmiResult) else heads
    check_kind(by_label, "heads", Mapping)
    members: dict[int, frozenset[str]] = {}
    for label, head in by_label.items():
        # The keys of a table that went through JSON are strings.
        if not str(label).isdecimal():
            raise TypeError(
                f"Expected labels, whole numbers from 0, as keys of `heads`, but got {describe_kind(label)}."
            )
        listed = isinstance(head, Collection) and not isinstance(head, str)
        if not listed or not all(isinstance(token, str) for token in head):
            raise TypeError(
                f"Expected `heads` to hold tokens for label {label}, but got {describe_kind(head)}."
            )
        members[int(label)] = frozenset(head)
    for item, label in enumerate(predicted.tolist()):
        if label not in members:
            raise ValueError(
                f"Expected a head for each predicted label, but item {item} is predicted {label}, a label never seen; "
                f"known: {', '.join(map(str, sorted(members))) or 'none'}."
            )
    return members


def _outcome(
    cued: NDArray[np.bool_], outcome: NDArray[np.bool_], confidence_level: float
) -> OutcomeShare:
    n_items, n_both = int(outcome.sum()), int((cued & outcome).sum())
    return OutcomeShare(
        n_items=n_items,
        rate=n_both / n_items if n_items else None,
        interval=wilson(n_both, n_items, confidence_level=confidence_level) if n_items else None,
        joint=n_both / len(cued),
    )


def _bins(
    confidences: NDArray[np.float64],
    types: NDArray[np.int8],
    correct: NDArray[np.bool_] | None,
    n_bins: int,
) -> tuple[ConfidenceBin, ...]:
    edges, bins = make_uniform_edges(n_bins), []
    place = assign_bins(confidences, edges, is_uniform=True)
    for number, (lower, upper) in enumerate(itertools.pairwise(edges.tolist())):
        rows = np.flatnonzero(place == number)
        if not len(rows):
            bins.append(ConfidenceBin(lower, upper, 0, *[None] * 5))
            continue
        cued, accuracy = types[rows], None if correct is None else float(correct[rows].mean())
        grammar, lexicon = (
            float((cued == TYPES.index(name)).mean()) for name in ("grammar", "lexicon")
        )
        shares = (
            float((cued > 0).mean()),
            lexicon,
            grammar,
            float(confidences[rows].mean()),
            accuracy,
        )
        bins.append(ConfidenceBin(lower, upper, len(rows), *shares))
    return tuple(bins)


def _examples(shortcuts: Shortcuts, types: NDArray[np.int8]) -> tuple[ShortcutExample, ...]:
    examples = []
    for (first, last), kind in zip(
        itertools.pairwise(shortcuts.offsets.tolist()), types.tolist(), strict=True
    ):
        places = np.flatnonzero(shortcuts.found[first:last])
        tokens = tuple(shortcuts.tokens[first:last][places])
        examples.append(
            ShortcutExample(len(places) > 0, TYPES[kind], tokens, tuple(places.tolist()))
        )
    return tuple(examples)


# ------------------------------------------------------------------------------------ what a score costs in shortcuts

_CELLS_AT_ONCE = 2**22


@dataclasses.dataclass(frozen=True)
class ShortcutTradeoff(Result):
    """A score over the shortcut rate, with its parts.

    Attributes:
        shortcut_tradeoff: T_sc, score / shortcut rate, from 0 up; higher means more score for fewer shortcuts. None
            where no prediction is shortcut-cued (division by zero) or the score is undefined.
        score: The score, in [0, 1]; None where it is undefined (binary F1 without class 1).
        shortcut_rate: P_sc, the share of predictions that are shortcut-cued, in [0, 1].
        interval: Percentile bootstrap interval of T_sc over items; None where T_sc is None, or where resamples without
            any shortcut are so common that its upper end is infinite.
        n_items: Number of predictions.
        n_cued: Number of shortcut-cued ones.
        definition: The definition used, in words.
    """

    shortcut_tradeoff: float | None
    score: float | None
    shortcut_rate: float
    interval: Interval | None
    n_items: int
    n_cued: int
    definition: str


def shortcut_tradeoff(
    predictions: Any,
    references: Any,
    cued: Any,
    *,
    average: str = "macro",
    n_classes: int | None = None,
    resampling: Resampling = Resampling(),
) -> ShortcutTradeoff:
    r"""Divide a model's score by the share of its predictions that rest on shortcuts.

    \[ T_{sc} = \frac{F1}{P_{sc}} \]

    From 0 up, higher is better: 1.02 is an F1 of 0.9395 at a shortcut rate of 0.9211. Read it with its parts: it
    rewards a low rate without limit.

    Args:
        predictions: (N,) predicted labels.
        references: (N,) labels.
        cued: (N,) whether each prediction is shortcut-cued, such as the `cued` of `shortcut_reliance`'s examples.
        average: Average of F1: "macro" (default), "binary" (F1 of class 1), "micro" (accuracy) or "weighted". The paper
            does not say which; its CoLA figures fit the binary one, its TweetEval figures the macro one.
        n_classes: Number of classes; default: the largest label there is, plus one, and at least two.
        resampling: How the interval is resampled.

    Returns:
        `ShortcutTradeoff`.

    Raises:
        TypeError: If something is of the wrong kind.
        ValueError: If lengths differ, a label is out of range, or an option is unknown.

    References:
        Bihani and Rayz 2025, "The Reliability Paradox", section 2.2 and Table 3.

    Example:
        >>> result = shortcut_tradeoff([1, 1, 0, 0], [1, 0, 0, 0], [True, False, True, False], average="micro")
        >>> result.shortcut_tradeoff, result.score, result.shortcut_rate
        (1.5, 0.75, 0.5)
    """
    check_one_of(average, AVERAGES, "average")
    flags = check_flags(cued, "cued")
    most = (
        MAX_CLASSES
        if n_classes is None
        else check_count(n_classes, "n_classes", minimum=2, maximum=MAX_CLASSES)
    )
    predicted = check_labels(predictions, most, name="predictions")
    labels = check_labels(references, most, name="references")
    check_same_length(predictions=predicted, references=labels, cued=flags)
    size = n_classes or max(int(predicted.max()), int(labels.max()), 1) + 1
    if average == "binary" and size != 2:
        raise ValueError(f"Expected two classes for average='binary', but got {size}.")
    counts = np.bincount((labels * size + predicted) * 2 + flags, minlength=2 * size**2).reshape(
        size, size, 2
    )
    present = counts.sum(axis=(1, 2)) + counts.sum(axis=(0, 2)) > 0
    value, rate = _parts(counts, average, present)
    ratio = _ratio(value, rate)
    # A bootstrap over items draws the counts of the cells from a multinomial law. Its shares are those observed, with
    # half an item per class spread evenly over the predictions, so that a rare class without errors may err; where one
    # class alone is there, over all that there may be.
    likely = present if present.sum() > 1 else np.ones_like(present)
    smoothed = (
        counts
        + 0.5 / likely.sum() * np.array([1 - rate, rate]) * (likely[:, None] & likely)[..., None]
    )
    rng, shares = np.random.default_rng(resampling.seed), smoothed.reshape(-1) / smoothed.sum()
    ratios = []
    for n_draws in resampling.split_into_blocks(counts.size, max_numbers=_CELLS_AT_ONCE):
        tables = rng.multinomial(len(labels), shares, size=n_draws).reshape(-1, *counts.shape)
        ratios.append(_ratio(*_parts(tables, average, present)))
    return ShortcutTradeoff(
        shortcut_tradeoff=float(ratio) if np.isfinite(ratio) else None,
        score=float(value) if np.isfinite(value) else None,
        shortcut_rate=float(rate),
        interval=_interval(np.concatenate(ratios), resampling.level)
        if np.isfinite(ratio)
        else None,
        n_items=len(labels),
        n_cued=int(flags.sum()),
        definition=f"{average} F1 divided by the share of shortcut-cued predictions, both as fractions.",
    )


def _parts(
    counts: NDArray[np.int64], average: str, present: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the score and the shortcut rate of (..., K, K, 2) counts; NaN where a score is undefined.

    The mean of macro F1 is over the classes `present` in the data, also where a resample lacks one: its F1 is 0.
    """
    size = counts.sum(axis=(-3, -2, -1))
    rate = counts[..., 1].sum(axis=(-2, -1)) / size
    confusion = counts.sum(axis=-1)
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    if average == "micro":
        return np.asarray(hits.sum(axis=-1) / size), rate
    support, predicted = confusion.sum(axis=-1), confusion.sum(axis=-2)
    either = support + predicted
    f1 = 2 * hits / np.maximum(either, 1)
    if average == "binary":
        return np.where(either[..., 1] > 0, f1[..., 1], np.nan), rate
    if average == "weighted":
        return np.asarray((f1 * support).sum(axis=-1) / size), rate
    return np.asarray(f1.sum(axis=-1) / present.sum()), rate


def _ratio(value: NDArray[np.float64], rate: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide; infinite where nothing is cued, so that it sorts above every figure."""
    return np.where(
        rate > 0, value / np.where(rate > 0, rate, 1.0), np.where(np.isnan(value), np.nan, np.inf)
    )


def _interval(ratios: NDArray[np.float64], confidence_level: float) -> Interval | None:
    defined = ratios[~np.isnan(ratios)]
    tail = (1.0 - confidence_level) / 2.0
    if not defined.size:
        return None
    # The nearest order statistics: an interpolation with an infinite one would be no number.
    low, high = np.quantile(defined, (tail, 1.0 - tail), method="closest_observation")
    if not np.isfinite(high):
        return None
    return Interval(
        float(low), float(high), confidence_level, "percentile bootstrap", int(defined.size)
    )
