"""Find superficial cues in multiple-choice items.

A cue is a property of a choice that is visible without understanding the item: a word, a run of
words, being the longest choice. It is *applicable* to an item if exactly one choice has it, because
only then can it point to an answer. `extract_cues` finds all applicable cues, which
`cue_statistics` counts and `cue_classifier` learns from.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import describe_kind
from rightreasons.core.choices import FEATURES
from rightreasons.core.errors import OptionError, OptionTypeError
from rightreasons.core.interning import InternedTexts, intern_texts, sort_tokens
from rightreasons.core.validation import (
    check_choice_lists,
    check_labels,
    check_one_of,
    check_same_length,
    check_texts,
)

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int32]
Positions = NDArray[np.int64]

LONGEST = "<longest>"
SHORTEST = "<shortest>"
MOST_OVERLAP = "<most overlap>"
LEAST_OVERLAP = "<least overlap>"
NEGATION = "<negation>"

_NEGATION_PATTERN = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|\w+n['’]t)\b",
    re.IGNORECASE,
)
_NGRAM_SIZE_BY_FEATURE = {"unigram": 1, "bigram": 2, "trigram": 3}


@dataclasses.dataclass(frozen=True, eq=False)
class CueTable:
    """The applicable cues of N items: E entries, one for each (item, cue).

    Nothing here depends on which choices are correct.

    Attributes:
        names: V cues, sorted.
        item: (E,) item of each entry.
        choice: (E,) the one choice of that item that has the cue.
        cue: (E,) position of the cue in `names`.
        n_choices: (N,) number of choices of each item.
    """

    names: tuple[str, ...]
    item: Numbers
    choice: Numbers
    cue: Numbers
    n_choices: Positions


@dataclasses.dataclass(frozen=True, eq=False)
class ChoiceTexts:
    """The texts of N items, all choices of the first item before those of the second.

    Attributes:
        choices: C texts.
        offsets: (N + 1,) position in `choices` at which each item begins; the last entry is C.
        prompts: N prompts, or none if no feature needs them.
        features: Names of the features to find, in the order of `FEATURES`.
    """

    choices: list[str]
    offsets: Positions
    prompts: list[str]
    features: tuple[str, ...]

    @property
    def n_choices(self) -> Positions:
        """(N,) number of choices of each item."""
        return np.diff(self.offsets)

    @property
    def item_of_choice(self) -> Positions:
        """(C,) item of each choice."""
        return np.repeat(np.arange(len(self.n_choices)), self.n_choices)


@dataclasses.dataclass(frozen=True, eq=False)
class _Entries:
    """The applicable cues of one feature.

    Attributes:
        names: The cues.
        item: (E,) item of each entry, in ascending order for each cue.
        choice: (E,) the choice that has the cue.
        cue: (E,) position of the cue in `names`.
    """

    names: list[str]
    item: Numbers
    choice: Numbers
    cue: Numbers


def extract_cues(
    data: Sequence[Sequence[str]],
    *,
    prompts: Sequence[str] | None = None,
    features: Sequence[str] = ("unigram",),
) -> CueTable:
    """Find all cues that exactly one choice of an item has.

    Args:
        data: N items, each a list of at least two choices.
        prompts: N prompts; needed by the feature "overlap" only.
        features: Families of cues, as in `cue_statistics`.
    """
    return find_cues(parse_choice_texts(data, prompts, features))


def find_cues(texts: ChoiceTexts) -> CueTable:
    """Find all cues that exactly one choice of an item has.

    Args:
        texts: Choices and prompts of N items, with the families of cues to find.
    """
    # Choices and prompts are split together, so that a word has the same id in both.
    n_choices = len(texts.choices)
    tokens = intern_texts(texts.choices + texts.prompts)
    choices = tokens.select_range(0, n_choices)
    prompt_tokens = tokens.select_range(n_choices, len(tokens))
    entries = []
    for name in texts.features:
        # Cues of different families have different names: no word has angle brackets.
        if name in _NGRAM_SIZE_BY_FEATURE:
            ngrams = choices.make_ngrams(_NGRAM_SIZE_BY_FEATURE[name])
            entries.append(_find_exclusive_tokens(ngrams, texts))
        elif name == "length":
            entries += _find_extremes(choices.lengths, texts, (LONGEST, SHORTEST))
        elif name == "overlap":
            overlaps = _measure_overlaps(choices, prompt_tokens, texts)
            entries += _find_extremes(overlaps, texts, (MOST_OVERLAP, LEAST_OVERLAP))
        else:
            entries.append(_find_exclusive_flags(_flag_negations(texts), texts, NEGATION))
    return _merge_entries(entries, texts.n_choices)


def check_features(features: object) -> tuple[str, ...]:
    """Check names of families of cues, and sort them.

    Args:
        features: Names from `FEATURES`, or a single name.

    Returns:
        The distinct names, in the order of `FEATURES`.

    Raises:
        OptionTypeError: If the value is not a collection of names.
        OptionError: If a name is unknown, or there are no names.
    """
    names = (features,) if isinstance(features, str) else features
    if not isinstance(names, Iterable) or getattr(names, "ndim", 1) == 0:
        raise OptionTypeError(
            f"Expected `features` to be names of cue families, but got {describe_kind(features)}.",
            option="features",
        )
    checked = [check_one_of(name, FEATURES, "features") for name in names]
    if not checked:
        raise OptionError(
            "Expected at least one name in `features`, but it is empty.", option="features"
        )
    return tuple(name for name in FEATURES if name in checked)


def parse_choice_texts(
    data: Sequence[Sequence[str]],
    prompts: Sequence[str] | None,
    features: Sequence[str],
) -> ChoiceTexts:
    """Check the choices and prompts of items, and concatenate the choices of all items.

    Args:
        data: N items, each a list of at least two choices.
        prompts: N prompts; None if no feature needs them.
        features: Families of cues, as in `cue_statistics`.

    Raises:
        TypeError: If a choice is not a string.
        ValueError: If an item has fewer than two choices, lengths differ, or prompts are missing.
    """
    names = check_features(features)
    items = data
    if not _are_plain_choices(data):
        items = check_choice_lists(data, "data")
    checked_prompts: list[str] = []
    if prompts is not None:
        checked_prompts = check_texts(prompts, "prompts", allow_empty=True)
        check_same_length(data=items, prompts=checked_prompts)
    elif "overlap" in names:
        raise ValueError("Expected `prompts` for the feature 'overlap', but got None.")

    # Prompts are dropped unless a feature needs them, because splitting them into words is slow.
    if "overlap" not in names:
        checked_prompts = []
    n_choices = np.array(list(map(len, items)), dtype=np.int64)
    return ChoiceTexts(
        choices=list(chain.from_iterable(items)),
        offsets=np.append(0, np.cumsum(n_choices)),
        prompts=checked_prompts,
        features=names,
    )


def parse_answered_choices(
    data: Sequence[Sequence[str]],
    labels: object,
    prompts: Sequence[str] | None,
    features: Sequence[str],
) -> tuple[ChoiceTexts, Positions]:
    """Check multiple-choice items and their labels.

    Args:
        data: N items, each a list of at least two choices.
        labels: (N,) position of the correct choice, from 0.
        prompts: N prompts; None if no feature needs them.
        features: Families of cues, as in `cue_statistics`.

    Returns:
        The texts, and (N,) the position of the correct choice of each item.
    """
    texts = parse_choice_texts(data, prompts, features)
    # The largest label depends on the item, so that it can only be checked after the lengths.
    correct = check_labels(labels, name="labels")
    check_same_length(data=texts.n_choices, labels=correct)
    correct = check_labels(correct, texts.n_choices, name="labels")
    return texts, correct


def _are_plain_choices(data: object) -> bool:
    """Return whether items are plain lists of at least two strings, which need no further check.

    Comparing the sets of all types is ten times as fast as checking each item.
    """
    if type(data) is not list or not set(map(type, data)) <= {list, tuple}:
        return False
    texts = chain.from_iterable(data)
    return set(map(type, texts)) == {str} and min(map(len, data)) >= 2


def _find_exclusive_tokens(tokens: InternedTexts, texts: ChoiceTexts) -> _Entries:
    """Find the tokens that exactly one choice of an item has.

    Args:
        tokens: The tokens of all choices.
        texts: The choices.
    """
    exclusive = tokens.find_exclusive(texts.offsets)
    # Only tokens that are exclusive in some item are cues. They are numbered without gaps.
    is_cue = np.zeros(len(tokens.vocabulary), dtype=np.bool_)
    is_cue[exclusive.ids] = True
    cue_by_token = np.cumsum(is_cue, dtype=np.int32) - 1
    return _Entries(
        names=[tokens.vocabulary[token_id] for token_id in np.flatnonzero(is_cue).tolist()],
        item=exclusive.groups,
        choice=exclusive.members,
        cue=cue_by_token[exclusive.ids],
    )


def _find_exclusive_flags(has_cue: Flags, texts: ChoiceTexts, name: str) -> _Entries:
    """Find the items of which exactly one choice has a cue.

    Args:
        has_cue: (C,) whether each choice has the cue.
        texts: The C choices of N items, with the range of choices of each item.
        name: Name of the cue, such as "<negation>".
    """
    # (N,) number of choices of each item that have the cue. Items are never empty, so that
    # `reduceat` gives each its own sum.
    counts = np.add.reduceat(has_cue, texts.offsets[:-1], dtype=np.int64)
    is_applicable = counts == 1
    rows = np.flatnonzero(has_cue & is_applicable[texts.item_of_choice])
    item = texts.item_of_choice[rows]
    return _Entries(
        names=[name] if len(rows) else [],
        item=item.astype(np.int32),
        choice=(rows - texts.offsets[item]).astype(np.int32),
        cue=np.zeros(len(rows), dtype=np.int32),
    )


def _find_extremes(
    values: NDArray[Any],
    texts: ChoiceTexts,
    names: tuple[str, str],
) -> list[_Entries]:
    """Find the choices with the largest and with the smallest value of their item.

    In a tie, no choice has the cue exclusively, so that the item is left out.

    Args:
        values: (C,) value of each choice, such as its length.
        texts: The choices.
        names: Cue of the largest value, and cue of the smallest.

    Returns:
        The entries of both cues.
    """
    entries = []
    for name, ufunc in zip(names, (np.maximum, np.minimum), strict=True):
        # (N,) extreme value of each item; all choices with this value are flagged.
        extremes = ufunc.reduceat(values, texts.offsets[:-1])
        is_extreme = values == extremes[texts.item_of_choice]
        entries.append(_find_exclusive_flags(is_extreme, texts, name))
    return entries


def _flag_negations(texts: ChoiceTexts) -> Flags:
    """Return (C,) whether each choice has a word of negation."""
    # The texts are searched and not their tokens, because "didn't" would be three tokens.
    has_negation = [_NEGATION_PATTERN.search(text) is not None for text in texts.choices]
    return np.array(has_negation, dtype=np.bool_)


def _measure_overlaps(
    choices: InternedTexts,
    prompts: InternedTexts,
    texts: ChoiceTexts,
) -> NDArray[np.float64]:
    """Compute the share of each choice's distinct words that are in the prompt of its item.

    Punctuation marks are not words.

    Args:
        choices: Tokens of the C choices.
        prompts: Tokens of the N prompts, with the same vocabulary.
        texts: The choices, for the item of each.

    Returns:
        (C,) shares; 0 for a choice without words.
    """
    is_word = np.array([token[:1].isalnum() for token in choices.vocabulary], dtype=np.bool_)
    distinct = choices.select_distinct()
    is_counted = is_word[distinct.ids]
    rows = distinct.rows[is_counted]
    ids = distinct.ids[is_counted]

    # Item and word are packed into one integer, the item in the upper bits, to look up pairs.
    id_bits = len(choices.vocabulary).bit_length()
    prompt_keys = prompts.rows << id_bits | prompts.ids
    word_keys = texts.item_of_choice[rows] << id_bits | ids
    is_shared = np.isin(word_keys, prompt_keys)
    n_words = np.bincount(rows, minlength=len(choices))
    n_shared = np.bincount(rows, weights=is_shared, minlength=len(choices))
    return np.asarray(n_shared / np.maximum(n_words, 1))


def _merge_entries(parts: Sequence[_Entries], n_choices: Positions) -> CueTable:
    """Join the cues of all features in one table, whose cues are sorted by name.

    Args:
        parts: Entries of each feature. No cue is in two of them.
        n_choices: (N,) number of choices of each item.
    """
    if len(parts) == 1:
        # The cues of one feature are sorted already, and large columns need not be copied.
        (entries,) = parts
        return CueTable(
            names=tuple(entries.names),
            item=entries.item,
            choice=entries.choice,
            cue=entries.cue,
            n_choices=n_choices,
        )

    names: list[str] = []
    items = []
    choices = []
    cues = []
    for entries in parts:
        items.append(entries.item)
        choices.append(entries.choice)
        # The cues of this feature are numbered after those of the features before it.
        cues.append(entries.cue + len(names))
        names += entries.names

    # Renumber the cues by their ranks in the sorted order.
    sorted_names, ranks = sort_tokens(names)
    return CueTable(
        names=tuple(sorted_names),
        item=np.concatenate(items),
        choice=np.concatenate(choices),
        cue=ranks[np.concatenate(cues)],
        n_choices=n_choices,
    )
