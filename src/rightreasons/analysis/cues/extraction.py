"""Which cues point at which choice: each word, run of words or shape that exactly one choice of an item has."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, compress

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.scanning import is_plain, key_bytes, key_words, scan
from rightreasons.analysis.tokens import words
from rightreasons.foundations import validation
from rightreasons.foundations.arrays import kind_of
from rightreasons.foundations.choices import FEATURES

Tokenizer = Callable[[str], Sequence[str]]

LONGEST, SHORTEST = "<longest>", "<shortest>"
MOST_OVERLAP, LEAST_OVERLAP = "<most overlap>", "<least overlap>"
NEGATION = "<negation>"

BATCH = 10_000
"""Items that are read at once, so that what is sorted stays in the processor's cache."""

_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nobody|nothing|nowhere|neither|nor|without|cannot|\w+n['’]t)\b", re.IGNORECASE
)
_NGRAM_SIZE = {"bigram": 2, "trigram": 3}
_FEWEST_BITS, _MOST_BITS = 12, 20
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, made odd: its products spread keys over all slots (Knuth, TAOCP 3, 6.4)."""


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
    tokenizer: Tokenizer | None = None,
) -> CueTable:
    """Find each cue that exactly one choice of an item has; the arguments are those of `cue_statistics`."""
    reader = CueReader(data, prompts, features, tokenizer)
    item, choice, cue = np.concatenate(list(reader), axis=1)
    names = reader.names()
    in_order = sorted(np.flatnonzero(np.bincount(cue)).tolist(), key=names.__getitem__)
    rank = np.zeros(len(names), dtype=np.int64)
    rank[in_order] = np.arange(len(in_order))
    return CueTable(
        names=tuple(names[index] for index in in_order),
        item=item,
        choice=choice,
        cue=rank[cue],
        n_choices=reader.n_choices,
    )


class CueReader:
    """The entries of a `CueTable` batch by batch, each (3, E): items, choices and cues, numbered as they come."""

    def __init__(
        self, data: object, prompts: object, features: Sequence[str], tokenizer: Tokenizer | None = None
    ) -> None:
        self._families = check_features(features)
        self._items = validation.check_choice_lists(data, "data")
        if prompts is None and "overlap" in self._families:
            raise ValueError("Expected `prompts` for the feature 'overlap', but got None.")
        self._prompts: list[str] = []
        if prompts is not None:
            self._prompts = validation.check_texts(prompts, "prompts", allow_empty=True)
            validation.check_same_length(data=self._items, prompts=self._prompts)
        self.n_choices = np.fromiter(map(len, self._items), dtype=np.int64, count=len(self._items))
        self._vocabulary = _Vocabulary(tokenizer, int(self.n_choices.sum()))

    def __iter__(self) -> Iterator[NDArray[np.int64]]:
        for start in range(0, len(self._items), BATCH):
            batch = slice(start, start + BATCH)
            found = _pointings(
                self._items[batch], self.n_choices[batch], self._prompts[batch], self._families, self._vocabulary
            )
            found[0] += start
            yield found

    @property
    def n_names(self) -> int:
        """How many cues and tokens have a number so far."""
        return len(self._vocabulary)

    def names(self) -> list[str]:
        """Return what each number stands for; some are tokens that are no cue."""
        return self._vocabulary.names()


def check_features(features: object) -> tuple[str, ...]:
    """Check names of cue families; a single name is accepted."""
    names = (features,) if isinstance(features, str) else features
    if not isinstance(names, Iterable) or getattr(names, "ndim", 1) == 0:
        raise TypeError(f"Expected `features` to be names of cue families, but got {kind_of(features)}.")
    checked = tuple(validation.check_one_of(name, FEATURES, "features") for name in names)
    if not checked:
        raise ValueError("Expected at least one name in `features`, but it is empty.")
    return tuple(name for name in FEATURES if name in checked)


# ------------------------------------------------------------------------------------------------------------- private


class _Vocabulary:
    """Gives each token and each cue a number, in the order in which they come."""

    def __init__(self, tokenizer: Tokenizer | None, n_texts: int) -> None:
        self._tokenizer = None if tokenizer is words else tokenizer
        self._numbers: defaultdict[str, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__
        # The numbers of keys, of one or two numbers, that were read before; a word displaces another of the same slot.
        self._bits = min(max((2 * n_texts).bit_length(), _FEWEST_BITS), _MOST_BITS)
        self._slot_keys = [np.zeros((width, 1 << self._bits), dtype=np.uint64) for width in (1, 2)]
        self._slot_numbers = [np.zeros(1 << self._bits, dtype=np.int64) for _ in (1, 2)]

    def __len__(self) -> int:
        return len(self._numbers)

    def names(self) -> list[str]:
        """Return each name at its number."""
        return list(self._numbers)

    def number(self, names: Iterable[str]) -> NDArray[np.int64]:
        """Return the numbers of names."""
        return np.fromiter(map(self._numbers.__getitem__, names), dtype=np.int64)

    def read(self, texts: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the tokens of all texts in their order, and which text each is of."""
        if self._tokenizer is None and is_plain("".join(texts)):
            plain = np.ones(len(texts), dtype=np.bool_)
        else:
            plain = np.array([self._tokenizer is None and is_plain(text) for text in texts], dtype=np.bool_)
        found = scan(list(compress(texts, plain)))
        numbers = np.empty(len(found.starts), dtype=np.int64)
        numbers[found.is_short] = self._number_keys(found.keys.reshape(-1, 1))
        numbers[found.is_wide] = self._number_keys(found.wide_keys)
        numbers[~(found.is_short | found.is_wide)] = self.number(found.long)
        lengths = np.diff(np.searchsorted(found.starts, found.ends), prepend=0)
        owner = np.repeat(np.flatnonzero(plain), lengths)
        if plain.all():
            return numbers, owner
        split = self._tokenizer or words
        tokens = [list(split(text)) for text in compress(texts, ~plain)]
        lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
        owner = np.concatenate((owner, np.repeat(np.flatnonzero(~plain), lengths)))
        order = np.argsort(owner, kind="stable")
        return np.concatenate((numbers, self.number(chain.from_iterable(tokens))))[order], owner[order]

    def _number_keys(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the numbers of (T, W) keys."""
        columns = keys.T
        slot_keys, slot_numbers = self._slot_keys[len(columns) - 1], self._slot_numbers[len(columns) - 1]
        mixed = columns[0] * _GOLDEN
        for column in columns[1:]:
            mixed = (mixed ^ column) * _GOLDEN
        slots = (mixed >> np.uint64(64 - self._bits)).view(np.int64)
        numbers: NDArray[np.int64] = slot_numbers.take(slots)
        differs = slot_keys[0].take(slots) != columns[0]
        for known, column in zip(slot_keys[1:], columns[1:], strict=True):
            differs |= known.take(slots) != column
        new = np.flatnonzero(differs)
        if len(new):
            unknown = keys[new, 0] if len(columns) == 1 else key_bytes(keys[new])
            _, first, inverse = np.unique(unknown, return_index=True, return_inverse=True)
            of_distinct = self.number(key_words(key_bytes(keys[new[first]])))
            numbers[new] = of_distinct[inverse]
            slot_keys[:, slots[new[first]]] = columns[:, new[first]]
            slot_numbers[slots[new[first]]] = of_distinct
        return numbers


def _pointings(
    items: Sequence[Sequence[str]],
    n_choices: NDArray[np.int64],
    prompts: Sequence[str],
    families: tuple[str, ...],
    vocabulary: _Vocabulary,
) -> NDArray[np.int64]:
    """Return (3, E): the item, the choice and the cue of each entry of a batch."""
    starts = np.cumsum(n_choices) - n_choices
    item_of = np.repeat(np.arange(len(items)), n_choices)
    texts = list(chain.from_iterable(items))
    tokens, owner = vocabulary.read(texts)
    cues: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def mark_extremes(values: NDArray[np.float64], largest: str, smallest: str) -> None:
        # A tie marks several choices, which makes the cue inapplicable, as it should be.
        for ufunc, name in ((np.maximum, largest), (np.minimum, smallest)):
            extreme = np.flatnonzero(values == ufunc.reduceat(values, starts)[item_of])
            cues.append((extreme, vocabulary.number([name] * len(extreme))))

    for family in families:
        if family == "unigram":
            cues.append((owner, tokens))
        elif family in _NGRAM_SIZE:
            cues.append(_ngrams(tokens, owner, _NGRAM_SIZE[family], vocabulary))
        elif family == "length":
            mark_extremes(np.bincount(owner, minlength=len(texts)).astype(np.float64), LONGEST, SHORTEST)
        elif family == "overlap":
            mark_extremes(_overlaps(tokens, owner, item_of, prompts, vocabulary), MOST_OVERLAP, LEAST_OVERLAP)
        else:
            negated = np.array([row for row, text in enumerate(texts) if _NEGATION.search(text)], dtype=np.int64)
            cues.append((negated, vocabulary.number([NEGATION] * len(negated))))
    owner, cue = (np.concatenate(columns) for columns in zip(*cues, strict=True)) if len(cues) > 1 else cues[0]
    # Sorted by item, cue and choice, a cue of one choice alone is a run of equal keys.
    for_choice, for_cue = int(n_choices.max() - 1).bit_length(), len(vocabulary).bit_length()
    place = (item_of << (for_cue + for_choice)) | (np.arange(len(texts)) - np.repeat(starts, n_choices))
    keys = np.sort(place.take(owner) | (cue << for_choice))
    pair = keys >> for_choice
    edge = pair[:1] == pair[:1]  # True, or nothing where there is no cue
    differs = pair[1:] != pair[:-1]
    first, last = (np.flatnonzero(np.concatenate(edges)) for edges in ((edge, differs), (differs, edge)))
    alone = keys.take(first)
    alone = alone[alone == keys.take(last)]
    found = np.empty((3, len(alone)), dtype=np.int64)
    np.right_shift(alone, for_cue + for_choice, out=found[0])
    np.bitwise_and(alone, (1 << for_choice) - 1, out=found[1])
    np.bitwise_and(alone >> for_choice, (1 << for_cue) - 1, out=found[2])
    return found


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct keys in order, faster than `np.unique`, which hashes them first."""
    keys = np.sort(keys)
    distinct: NDArray[np.int64] = keys[np.concatenate((keys[:1] == keys[:1], keys[1:] != keys[:-1]))]
    return distinct


def _ngrams(
    tokens: NDArray[np.int64], owner: NDArray[np.int64], size: int, vocabulary: _Vocabulary
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the choice and the cue of each run of tokens."""
    last = max(len(tokens) - size + 1, 0)
    whole = np.flatnonzero(owner[:last] == owner[size - 1 :][:last])
    runs, inverse = np.unique(tokens[whole[:, None] + np.arange(size)], axis=0, return_inverse=True)
    names = vocabulary.names()
    numbers = vocabulary.number([" ".join([names[token] for token in run]) for run in runs.tolist()])
    return owner[whole], numbers[inverse.reshape(-1)]


def _overlaps(
    tokens: NDArray[np.int64],
    owner: NDArray[np.int64],
    item_of: NDArray[np.int64],
    prompts: Sequence[str],
    vocabulary: _Vocabulary,
) -> NDArray[np.float64]:
    """Return the share of each choice's distinct words that are in its prompt; 0 where it has no words."""
    prompt_tokens, prompt_owner = vocabulary.read(prompts)
    size = len(vocabulary)
    is_word = np.array([name[:1].isalnum() for name in vocabulary.names()], dtype=np.bool_)[tokens]
    choice, word = np.divmod(_distinct(owner[is_word] * size + tokens[is_word]), max(size, 1))
    shared = np.isin(item_of[choice] * size + word, prompt_owner * size + prompt_tokens)
    count = np.bincount(choice, minlength=len(item_of))
    return np.bincount(choice, weights=shared, minlength=len(item_of)) / np.maximum(count, 1)
