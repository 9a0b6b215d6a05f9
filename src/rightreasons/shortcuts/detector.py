"""Find the shortcuts of predictions: tokens that a prediction relies on and that give a label away.

A token is a shortcut of a prediction if it is among the tokens that the prediction relies on most
(the top N by attribution) and in the head of the LMI ranking of the predicted label.
`find_shortcuts` is the entry point; the tokens of all texts are in flat arrays, so that each
distinct token is looked up once.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, describe_kind
from rightreasons.core.choices import RANKINGS, TOKEN_KINDS
from rightreasons.core.options import Options, accept_options_as_keywords, option
from rightreasons.core.tokens import CATEGORIES, GRAMMAR_CATEGORIES, PIECE_STYLES, assign_categories
from rightreasons.core.validation import (
    MAX_BINS,
    as_ragged,
    check_kind,
    check_labels,
    check_same_length,
    check_token_lists,
)
from rightreasons.shortcuts.mutual_information import LmiResult
from rightreasons.shortcuts.null_models import assign_frequency_bins, compute_hit_chances
from rightreasons.shortcuts.options import STOP_WORD_LISTS
from rightreasons.shortcuts.stop_words import load_stop_words

TYPES = ("none", "grammar", "lexicon")
"""Types of predictions: not cued; cued by function words and marks only; cued by a lexical word."""

Heads = Mapping[int, Collection[str]] | LmiResult
"""Label -> the tokens of its head."""


class DetectorOptions(Options):
    """Definition of a shortcut; see `find_shortcuts`."""

    top_n: int = option(
        3, "Number of tokens that a prediction relies on (Bihani and Rayz 2025).", minimum=1
    )
    rank_by: str = option(
        "value", "Whether tokens are ranked by attribution or by its magnitude.", choices=RANKINGS
    )
    piece_style: str = option(
        "word", "How tokens mark the beginning of a word.", choices=PIECE_STYLES
    )
    kinds: str = option("rightreasons", "Rules of the token categories.", choices=TOKEN_KINDS)
    stop_words: str = option(
        "rightreasons",
        "List of English stop words: rightreasons for the list of this package, or nltk for "
        "the list of the paper.",
        choices=STOP_WORD_LISTS,
    )
    n_frequency_bins: int = option(
        5, "Number of bins of similar frequency.", minimum=1, maximum=MAX_BINS
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Shortcuts:
    """The shortcuts of N predictions, and the chance that blind picks hit a shortcut.

    The tokens of all texts are in flat arrays, one text after another; text i is
    `offsets[i]:offsets[i + 1]`.

    Attributes:
        tokens: (total,) the tokens.
        offsets: (N + 1,) index of the first token of each text, and the total.
        in_top: (total,) whether the token is among the top N of its text.
        in_head: (total,) whether the token is in the head of the predicted label.
        category: (total,) category of the token, an index into `tokens.CATEGORIES`.
        predictions: (N,) the predicted labels.
        chance_random: (N,) chance of a hit for random tokens of the text.
        chance_frequency: (N,) chance of a hit for tokens of the text of similar frequency.
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
    def is_shortcut(self) -> NDArray[np.bool_]:
        """(total,) whether the token is a shortcut."""
        return self.in_top & self.in_head

    @property
    def found(self) -> NDArray[np.bool_]:
        """(total,) the former name of `is_shortcut`."""
        warnings.warn("`found` is now called `is_shortcut`.", DeprecationWarning, stacklevel=2)
        return self.is_shortcut

    @property
    def cued(self) -> NDArray[np.bool_]:
        """(N,) whether the prediction is shortcut-cued."""
        return self.counts > 0

    @property
    def counts(self) -> NDArray[np.int64]:
        """(N,) number of shortcuts among the top N tokens."""
        return self._count_by_text(self.is_shortcut)

    @property
    def types(self) -> NDArray[np.int8]:
        """(N,) type of the prediction, an index into `TYPES`.

        A prediction with at least one lexical shortcut is lexicon-cued, whatever its others are.
        """
        grammar_codes = [CATEGORIES.index(name) for name in GRAMMAR_CATEGORIES]
        is_lexical = ~np.isin(self.category, grammar_codes)
        n_lexical = self._count_by_text(self.is_shortcut & is_lexical)
        # 0 is the index of "none", and 1 that of "grammar".
        types = self.cued.astype(np.int8)
        types[n_lexical > 0] = TYPES.index("lexicon")
        return types

    def _count_by_text(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return (N,) number of flagged tokens of each text."""
        rows = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return np.bincount(rows[flags], minlength=len(self))


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
        attributions: N lists of attributions, one per token; larger if the prediction relies on the
            token more.
        predictions: (N,) predicted labels.
        heads: label -> the tokens of its head, or an `LmiResult`.
        options: A `DetectorOptions`, in place of the following keywords.
        top_n: N; default 3. Of equal attributions the first in the text comes first.
        rank_by: "value" (default) or "magnitude": |a|, if both signs of a signed attribution should
            count.
        piece_style: How the tokens mark the beginning of a word, one of `tokens.PIECE_STYLES`;
            default "word".
        kinds: Rules of the categories, "rightreasons" (default) or "bihani2025"; see
            `tokens.assign_categories`.
        stop_words: List of English stop words: "rightreasons" (default), or "nltk" for the list
            that the paper uses, which has to be downloaded: `python -m nltk.downloader stopwords`.
        n_frequency_bins: Number of bins of similar frequency; default 5.

    Returns:
        `Shortcuts`: flags of all tokens and chances of all predictions.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If lengths differ, a label has no head, an attribution is not finite, or an
            option is unknown.
        ModuleNotFoundError: If NLTK's stop words are requested without nltk.
        FileNotFoundError: If NLTK's stop words are requested and were not downloaded.

    References:
        Du et al. 2021, section 2.3; Bihani and Rayz 2025, section 2.2 and eq. 7.

    Example:
        >>> heads = {0: ["bad", "the"], 1: ["good"]}
        >>> tokens = [["the", "good", "film"]]
        >>> shortcuts = find_shortcuts(tokens, [[0.1, 0.7, 0.2]], [1], heads, top_n=1)
        >>> shortcuts.cued.tolist(), shortcuts.tokens[shortcuts.is_shortcut].tolist()
        ([True], ['good'])
    """
    texts = check_token_lists(tokens)
    values = _check_attributions(attributions, texts)
    predicted = check_labels(predictions, name="predictions")
    check_same_length(tokens=texts, predictions=predicted)
    head_by_label = _check_heads(heads, predicted)
    # The list may be missing on this machine, which is said before the work begins.
    stop_words = load_stop_words(options.stop_words)

    # Each distinct token is looked up once, however often it occurs.
    flat = [token for text in texts for token in text]
    index: dict[str, int] = {}
    ids = np.zeros(len(flat), dtype=np.int64)
    for position, token in enumerate(flat):
        ids[position] = index.setdefault(token, len(index))
    vocabulary = list(index)
    rows = np.repeat(np.arange(len(texts)), values.lengths)
    in_head = _flag_head_tokens(ids, vocabulary, predicted[rows], head_by_label)
    in_top = _flag_top_tokens(values, rows, options)

    # The training data say how frequent a token is; without them, these texts do.
    if isinstance(heads, LmiResult):
        frequencies: Mapping[str, int] = heads.frequencies()
    else:
        frequencies = Counter(flat)
    strata = assign_frequency_bins(vocabulary, frequencies, options.n_frequency_bins)[ids]
    categories = assign_categories(
        ids,
        values.offsets,
        vocabulary,
        style=options.piece_style,
        kinds=options.kinds,
        stop_words=stop_words,
    )
    return Shortcuts(
        tokens=np.array(flat, dtype=object),
        offsets=values.offsets,
        in_top=in_top,
        in_head=in_head,
        category=categories,
        predictions=predicted,
        chance_random=compute_hit_chances(rows, len(texts), in_top, in_head),
        chance_frequency=compute_hit_chances(rows, len(texts), in_top, in_head, strata),
    )


def _flag_head_tokens(
    ids: NDArray[np.int64],
    vocabulary: Sequence[str],
    labels: NDArray[np.int64],
    head_by_label: Mapping[int, frozenset[str]],
) -> NDArray[np.bool_]:
    """Return (total,) whether each token is in the head of the label predicted for its text.

    Args:
        ids: (total,) index of each token in the vocabulary.
        vocabulary: V distinct tokens.
        labels: (total,) label predicted for the text of each token.
        head_by_label: Label -> the tokens of its head.
    """
    in_head = np.zeros(len(ids), dtype=np.bool_)
    for label in np.unique(labels).tolist():
        head = head_by_label[label]
        # Each distinct token is looked up once, however often it occurs.
        is_member = np.array([token in head for token in vocabulary], dtype=np.bool_)
        has_label = labels == label
        in_head[has_label] = is_member[ids[has_label]]
    return in_head


def _flag_top_tokens(
    values: Ragged, rows: NDArray[np.int64], options: DetectorOptions
) -> NDArray[np.bool_]:
    """Return (total,) whether each token is among the top N of its text.

    Args:
        values: Attributions of the tokens of N texts, in one flat array.
        rows: (total,) row of the text of each token.
        options: Number of top tokens N, and whether they are ranked by value or by magnitude.
    """
    scores = values.values
    if options.rank_by == "magnitude":
        scores = np.abs(scores)
    # Text by text, the largest score first. The sort is stable: of equal scores, the first token of
    # a text comes first.
    order = np.lexsort((-scores, rows))
    # Position of each sorted token within its text, from 0.
    ranks = np.arange(len(rows)) - np.repeat(values.starts, values.lengths)
    in_top = np.zeros(len(rows), dtype=np.bool_)
    in_top[order] = ranks < options.top_n
    return in_top


def _check_attributions(attributions: Any, texts: Sequence[Sequence[str]]) -> Ragged:
    """Parse attributions, and check that each token has a finite one.

    Args:
        attributions: N lists of numbers.
        texts: N lists of tokens.

    Raises:
        ValueError: If a text has more or fewer attributions than tokens, or an attribution is not
            finite.
    """
    values = as_ragged(attributions, "attributions")
    check_same_length(tokens=texts, attributions=values)
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    mismatches = np.flatnonzero(lengths != values.lengths)
    if mismatches.size:
        item = int(mismatches[0])
        raise ValueError(
            "Expected one attribution per token in each item, but item "
            f"{item} has {lengths[item]} tokens and {values.lengths[item]} attributions."
        )
    # NaN sorts last, so that a token without attribution would silently rank lowest.
    invalid = np.flatnonzero(~np.isfinite(values.values))
    if invalid.size:
        item = values.find_row(int(invalid[0]))
        raise ValueError(
            f"Expected finite numbers in `attributions`, but item {item} holds "
            f"{values.values[invalid[0]]}."
        )
    return values


def _check_heads(heads: Heads, predicted: NDArray[np.int64]) -> dict[int, frozenset[str]]:
    """Parse the heads of labels, and check that every predicted label has one.

    Args:
        heads: Label -> tokens of its head, or the result of `lmi`. Labels may be strings such as
            "1", because the keys of JSON are strings.
        predicted: (N,) predicted labels.

    Returns:
        Label -> tokens of its head.

    Raises:
        TypeError: If a label is not a whole number, or a head is not a collection of strings.
        ValueError: If a predicted label has no head.
    """
    by_label: Any = heads.heads if isinstance(heads, LmiResult) else heads
    check_kind(by_label, "heads", Mapping)
    members: dict[int, frozenset[str]] = {}
    for label, head in by_label.items():
        # The keys of a table that went through JSON are strings.
        if not str(label).isdecimal():
            raise TypeError(
                "Expected labels, whole numbers from 0, as keys of `heads`, but got "
                f"{describe_kind(label)}."
            )
        # A string is a collection of letters, which is surely a mistake.
        is_collection = isinstance(head, Collection) and not isinstance(head, str)
        if not is_collection or not all(isinstance(token, str) for token in head):
            raise TypeError(
                f"Expected a collection of tokens for label {label} in `heads`, but got "
                f"{describe_kind(head)}."
            )
        members[int(label)] = frozenset(head)

    # A label that is not in the training data has no head, and could have no shortcuts.
    for item, label in enumerate(predicted.tolist()):
        if label not in members:
            known_labels = ", ".join(map(str, sorted(members))) or "none"
            raise ValueError(
                f"Expected a head for each predicted label, but the prediction of item {item} is "
                f"{label}; labels with a head: {known_labels}."
            )
    return members
