"""Measure how many predictions rely on shortcuts, of which type, and how many would by chance.

`detector` finds the shortcuts of each prediction. `shortcut_reliance` is the entry point: it
summarizes them, compares their rate with that of the null models, and splits it by outcome and by
confidence.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.binning import assign_bins, make_uniform_edges
from rightreasons.core.bootstrap import bootstrap_mean
from rightreasons.core.intervals import Interval, wilson
from rightreasons.core.options import accept_options_as_keywords, option
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.tokens import CATEGORIES
from rightreasons.core.validation import (
    MAX_BINS,
    check_count,
    check_labels,
    check_same_length,
    check_vector,
)
from rightreasons.shortcuts.detector import (
    TYPES,
    DetectorOptions,
    Heads,
    Shortcuts,
    find_shortcuts,
)
from rightreasons.shortcuts.null_models import compute_permutation_p_value


class RelianceOptions(DetectorOptions):
    """Definition of a shortcut, and the bins of a summary; see `shortcut_reliance`."""

    n_bins: int = option(
        10, "Number of confidence bins of equal width.", minimum=1, maximum=MAX_BINS
    )


@dataclasses.dataclass(frozen=True)
class ShortcutExample(Result):
    """The shortcuts of one prediction.

    Attributes:
        cued: Whether the prediction has a shortcut.
        type: "none", "grammar" or "lexicon".
        tokens: The shortcuts, in the order of the text.
        positions: Positions of the shortcuts among the tokens of the text.
        categories: Categories of the shortcuts, each one of `tokens.CATEGORIES`.
    """

    cued: bool
    type: str
    tokens: tuple[str, ...]
    positions: tuple[int, ...]
    categories: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class NullModel(Result):
    """The shortcut rate of blind picks of tokens, and the model's excess over it.

    Attributes:
        rate: The shortcut rate of blind picks, in [0, 1]: the mean chance over the predictions.
        excess: Shortcut rate minus this rate; 0 if the model relies on head tokens no more than
            chance does.
        interval: Interval of the excess over the predictions (`bootstrap_mean` in [-1, 1]).
        p_value: One-sided permutation p-value of "the excess is 0".
    """

    rate: float
    excess: float
    interval: Interval
    p_value: float


@dataclasses.dataclass(frozen=True)
class OutcomeShare(Result):
    """Shortcut-cued predictions among the correct ones, or among the incorrect ones.

    Attributes:
        n_items: Number of predictions with this outcome.
        rate: Share of these that is shortcut-cued; None if there are none.
        interval: Wilson interval of the rate; None if there are no such predictions.
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
        rate: Share that is shortcut-cued; None if the bin is empty.
        lexicon: Share that is lexicon-cued; None if the bin is empty.
        grammar: Share that is grammar-cued; None if the bin is empty.
        confidence: Mean confidence; None if the bin is empty.
        accuracy: Share that is correct; None if the bin is empty or there are no references.
    """

    lower: float
    upper: float
    n_items: int
    rate: float | None = None
    lexicon: float | None = None
    grammar: float | None = None
    confidence: float | None = None
    accuracy: float | None = None


@dataclasses.dataclass(frozen=True)
class ShortcutReliance(Result):
    """How far predictions rely on shortcuts. All shares are in [0, 1].

    Attributes:
        shortcut_reliance: The shortcut rate P_sc: share of the predictions that are shortcut-cued.
        interval: Wilson interval of the shortcut rate.
        n_items: Number of predictions.
        n_cued: Number of shortcut-cued predictions.
        lexicon_cued: Share of predictions with at least one lexical shortcut (numbers are lexical).
        grammar_cued: Share of predictions whose shortcuts are function words, punctuation and
            pieces of words only.
        null: The null models "random" and "frequency", each a `NullModel`.
        correct: Shortcuts among correct predictions; None without references.
        wrong: Shortcuts among incorrect predictions; None without references.
        bins: Types of shortcuts by confidence; empty without confidences.
        examples: The shortcuts of each prediction.
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


@accept_options_as_keywords(RelianceOptions)
def shortcut_reliance(  # noqa: PLR0913
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
    r"""Measure how far predictions rely on shortcuts.

    \[ P_{sc} = \frac1n \sum_i sc_i, \quad excess = P_{sc} - P_{sc}^{null} \]

    with sc_i as in `find_shortcuts`. P_sc lies in [0, 1]; lower means fewer predictions whose most
    important tokens give the predicted label away. Even a shortcut-free model scores above 0,
    because head tokens are frequent: report the excess over the null models, in which the positions
    of the top N tokens are shuffled within the text ("random"), or among the tokens of the text
    that have a similar frequency in the training data ("frequency").

    Args:
        tokens: N lists of tokens, without special tokens; the same kind of tokens as in the heads.
        attributions: N lists of attributions, one per token.
        predictions: (N,) predicted labels.
        heads: label -> the tokens of its head, or an `LmiResult`.
        references: (N,) labels, to separate correct and incorrect predictions; default None.
        confidences: (N,) probabilities of the predicted labels, for the bins; default None.
        options: A `RelianceOptions`, in place of the following keywords.
        top_n: N; default 3.
        rank_by: "value" (default) or "magnitude".
        piece_style: One of `tokens.PIECE_STYLES`; default "word".
        kinds: Rules of the categories, "rightreasons" (default) or "bihani2025"; see
            `tokens.assign_categories`.
        stop_words: List of English stop words: "rightreasons" (default), or "nltk" for the list
            that the paper uses.
        n_frequency_bins: Number of bins of similar frequency; default 5.
        n_bins: Number of confidence bins of equal width; default 10.
        resampling: Level of the intervals, number of resamples and of the permutation test's
            shuffles, and their seed.

    Returns:
        `ShortcutReliance`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If lengths differ, a label has no head, a value is out of range, or an option is
            unknown.
        ModuleNotFoundError: If NLTK's stop words are requested without nltk.
        FileNotFoundError: If NLTK's stop words are requested and were not downloaded.

    References:
        Bihani and Rayz 2025, "The Reliability Paradox", section 2.2 and eq. 7; Du et al. 2021,
        section 2.3. The null models, the intervals and the excess are this package's.

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
    # The options of the detector are a part of those of the summary.
    detector = {name: getattr(options, name) for name in DetectorOptions.list_names()}
    shortcuts = find_shortcuts(tokens, attributions, predictions, heads, **detector)
    return summarize_shortcuts(
        shortcuts,
        references=references,
        confidences=confidences,
        n_bins=options.n_bins,
        resampling=resampling,
        definition=f"Share of predictions with one of their {options.top_n} most attributed tokens "
        "in the head of the LMI ranking of the predicted label.",
    )


def summarize_shortcuts(
    shortcuts: Shortcuts,
    *,
    predictions: Any = None,
    references: Any = None,
    confidences: Any = None,
    n_bins: int = 10,
    resampling: Resampling = Resampling(),
    definition: str = "Share of predictions with a shortcut among their most attributed tokens.",
) -> ShortcutReliance:
    """Summarize the shortcuts of predictions; see `shortcut_reliance`.

    Args:
        shortcuts: The shortcuts of N predictions.
        predictions: (N,) predicted labels, if the shortcuts are those of other labels, such as the
            gold ones. If None (default), they are the labels of the shortcuts.
        references: (N,) labels, to separate correct and incorrect predictions; default None.
        confidences: (N,) probabilities of the predicted labels, for the bins; default None.
        n_bins: Number of confidence bins of equal width; default 10.
        resampling: Level of the intervals, number of resamples and shuffles, and their seed.
        definition: The definition of a shortcut, in words.

    Returns:
        `ShortcutReliance`.
    """
    check_count(n_bins, "n_bins", maximum=MAX_BINS)
    is_correct = None
    if references is not None:
        is_correct = _compare_labels(shortcuts, predictions, references)
    confidence = None
    if confidences is not None:
        confidence = check_vector(confidences, "confidences", minimum=0.0, maximum=1.0)
        check_same_length(predictions=shortcuts.predictions, confidences=confidence)

    # Both null models see the same predictions, so that their excesses are comparable.
    cued = shortcuts.cued
    types = shortcuts.types
    n_items = len(shortcuts)
    n_cued = int(cued.sum())
    # Random tokens of the text are the simple null model, those of similar frequency the fair one.
    null_models = {}
    for name, chances in (
        ("random", shortcuts.chance_random),
        ("frequency", shortcuts.chance_frequency),
    ):
        null_models[name] = _compare_with_null(cued, chances, resampling)
    correct = None
    incorrect = None
    if is_correct is not None:
        correct = _measure_outcome(cued, is_correct, resampling.level)
        incorrect = _measure_outcome(cued, ~is_correct, resampling.level)
    # Figure 3 of the paper needs confidences, which attributions alone do not give.
    bins: tuple[ConfidenceBin, ...] = ()
    if confidence is not None:
        bins = _bin_by_confidence(confidence, types, is_correct, n_bins)
    return ShortcutReliance(
        shortcut_reliance=n_cued / n_items,
        interval=wilson(n_cued, n_items, confidence_level=resampling.level),
        n_items=n_items,
        n_cued=n_cued,
        lexicon_cued=_compute_type_share(types, "lexicon"),
        grammar_cued=_compute_type_share(types, "grammar"),
        null=null_models,
        correct=correct,
        wrong=incorrect,
        bins=bins,
        examples=_list_examples(shortcuts, types),
        definition=definition,
    )


def _compare_labels(shortcuts: Shortcuts, predictions: Any, references: Any) -> NDArray[np.bool_]:
    """Return (N,) whether each prediction is correct.

    Args:
        shortcuts: Shortcuts of N labels, which are the predicted ones unless `predictions` is
            given.
        predictions: (N,) predicted labels if the shortcuts are those of other labels, such as the
            gold labels in Du et al.; otherwise None.
        references: (N,) gold labels.
    """
    labels = check_labels(references)
    predicted = shortcuts.predictions
    if predictions is not None:
        predicted = check_labels(predictions, name="predictions")
    check_same_length(predictions=predicted, references=labels)
    return np.asarray(labels == predicted)


def _compare_with_null(
    cued: NDArray[np.bool_], chances: NDArray[np.float64], resampling: Resampling
) -> NullModel:
    """Compare the shortcut rate with the rate that random tokens would have.

    Args:
        cued: (N,) whether each prediction is shortcut-cued.
        chances: (N,) chance that at least one of as many random tokens of the text is a shortcut.
        resampling: Confidence level, numbers of resamples and permutations, and seed.
    """
    n_cued = int(cued.sum())
    rate = chances.mean()
    return NullModel(
        rate=float(rate),
        excess=float(n_cued / len(cued) - rate),
        # The chances are known exactly, so that only the predictions vary.
        interval=bootstrap_mean(cued - chances, bounds=(-1.0, 1.0), resampling=resampling),
        p_value=compute_permutation_p_value(n_cued, chances, resampling),
    )


def _measure_outcome(
    cued: NDArray[np.bool_], mask: NDArray[np.bool_], confidence_level: float
) -> OutcomeShare:
    """Return the share of shortcut-cued predictions among the correct, or the incorrect, ones.

    Args:
        cued: (N,) whether each prediction is shortcut-cued.
        mask: (N,) whether it is correct, or whether it is incorrect.
        confidence_level: Level of the interval.
    """
    # A model without errors has no incorrect predictions, and a share of none is undefined.
    n_items = int(mask.sum())
    n_cued = int((cued & mask).sum())
    rate = None
    interval = None
    if n_items:
        rate = n_cued / n_items
        interval = wilson(n_cued, n_items, confidence_level=confidence_level)
    return OutcomeShare(n_items=n_items, rate=rate, interval=interval, joint=n_cued / len(cued))


def _compute_type_share(types: NDArray[np.int8], name: str) -> float:
    """Return the share of predictions of a type of `TYPES`."""
    return float((types == TYPES.index(name)).mean())


def _bin_by_confidence(
    confidences: NDArray[np.float64],
    types: NDArray[np.int8],
    is_correct: NDArray[np.bool_] | None,
    n_bins: int,
) -> tuple[ConfidenceBin, ...]:
    """Return the shares of lexicon- and grammar-cued predictions in each bin of confidence.

    Figure 3 of the paper shows these shares.

    Args:
        confidences: (N,) probabilities of the predicted labels.
        types: (N,) type of each prediction, an index into `TYPES`.
        is_correct: (N,) whether each prediction is correct; None without references.
        n_bins: Number of bins of equal width.

    Returns:
        All bins. The shares of a bin without predictions are None.
    """
    # The edges are those of `calibration_error`, so that both read the same bins.
    edges = make_uniform_edges(n_bins)
    bin_indices = assign_bins(confidences, edges, is_uniform=True)
    bins = []
    for number, (lower, upper) in enumerate(itertools.pairwise(edges.tolist())):
        rows = np.flatnonzero(bin_indices == number)
        # Empty bins are listed, so that tables of two models have the same rows.
        if not len(rows):
            bins.append(ConfidenceBin(lower, upper, n_items=0))
            continue
        accuracy = None
        if is_correct is not None:
            accuracy = float(is_correct[rows].mean())
        # The rate is the sum of both types, as a prediction has one type.
        row = ConfidenceBin(
            lower=lower,
            upper=upper,
            n_items=len(rows),
            rate=float((types[rows] > 0).mean()),
            lexicon=_compute_type_share(types[rows], "lexicon"),
            grammar=_compute_type_share(types[rows], "grammar"),
            confidence=float(confidences[rows].mean()),
            accuracy=accuracy,
        )
        bins.append(row)
    return tuple(bins)


def _list_examples(shortcuts: Shortcuts, types: NDArray[np.int8]) -> tuple[ShortcutExample, ...]:
    """Return the shortcuts of each prediction: tokens, their positions in the text, and categories.

    Args:
        shortcuts: The shortcuts of N predictions, in flat arrays.
        types: (N,) type of each prediction, an index into `TYPES`.
    """
    # The flags are computed once, as every access to the property combines all tokens.
    is_shortcut = shortcuts.is_shortcut
    examples = []
    # The tokens of text i are those from offsets[i] to offsets[i + 1]. Positions count from the
    # first token of their text.
    spans = itertools.pairwise(shortcuts.offsets.tolist())
    for (start, stop), type_code in zip(spans, types.tolist(), strict=True):
        positions = np.flatnonzero(is_shortcut[start:stop])
        codes = shortcuts.category[start:stop]
        example = ShortcutExample(
            cued=len(positions) > 0,
            type=TYPES[type_code],
            tokens=tuple(shortcuts.tokens[start:stop][positions]),
            positions=tuple(positions.tolist()),
            categories=tuple(CATEGORIES[code] for code in codes[positions]),
        )
        examples.append(example)
    return tuple(examples)
