"""Words and marks: each is replaced by the one of another label that is most like it, both ways at once.

Two words that stand for each other show nothing one at a time, so that pairs are swapped together as well.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from rightreasons.shortcuts.families.training import (
    NEGATIONS,
    Candidate,
    Edits,
    Labels,
    Rng,
    Text,
    Training,
    kind_of,
    names_of,
    replaced,
    tokens_of,
    with_column,
)

MOST_PAIRS = 10
"""Pairs of words that are swapped one at a time, those of strongest association first."""

LEAST_Z = 3.0
"""A word points at a label if its share of the label is this many standard errors above that of all texts."""

WORST_MATCH = 2.0
"""A control whose training frequency differs by more than this factor is no control."""


ENDINGS = ("ing", "ed", "ly", "s")


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two words that point at different labels, swapped for each other; the second may be a neutral word.

    Attributes:
        column: The column that they are looked for in.
        words: The two words.
        labels: The label that each points at; -1 for a neutral word, which is left alone where it stands.
        texts: In how many training texts they are, both together.
        lmi: The larger of their values of local mutual information.
    """

    column: int
    words: tuple[str, str]
    labels: tuple[int, int]
    texts: int
    lmi: float

    @property
    def mapping(self) -> dict[str, str]:
        """What each word becomes."""
        first, second = self.words
        return {first: second} if self.labels[1] < 0 else {first: second, second: first}

    @property
    def pointing(self) -> tuple[str, ...]:
        """The words that point at a label."""
        return self.words if self.labels[1] >= 0 else self.words[:1]


def find(training: Training, column: int) -> list[Candidate]:
    """Return the pairs of words that the labels go with, each as a candidate, strongest first."""
    return [swap(training, (pair,)) for pair in word_pairs(training) if pair.column == column]


def word_pairs(training: Training) -> list[Pair]:
    """Return the words that point at a label, each with the word of another label that is most like it.

    Words are compared by the texts that hold them. Like is of the same kind and ending, in at most twice or half as
    many texts, and of similar local mutual information; a word without such a partner is replaced by a neutral one.
    """
    pairs = []
    for column, table in enumerate(training.texts_with):
        pointing = _pointing(training, table)
        free = dict.fromkeys(pointing)
        for word in pointing:
            if word not in free:
                continue
            del free[word]
            label, lmi, texts = pointing[word]
            # What a word that is a reason decides would be laid to the other one of its pair, too.
            alike = [
                other for other in free if (other in training.reasons) == (word in training.reasons)
            ]
            others = [
                other for other in alike if _like(word, pointing[word], other, pointing[other])
            ]
            if others:
                partner = min(
                    others,
                    key=lambda other: _distance(word, pointing[word], other, pointing[other]),
                )
                del free[partner]
                to_label, to_lmi, to_texts = pointing[partner]
                pairs.append(
                    Pair(
                        column,
                        (word, partner),
                        (label, to_label),
                        texts + to_texts,
                        max(lmi, to_lmi),
                    )
                )
                continue
            neutral = _neutral_like(training, column, word, texts)
            if neutral is not None:
                pairs.append(Pair(column, (word, neutral), (label, -1), texts, lmi))
    pairs.sort(
        key=lambda pair: (not any(word in training.suspected for word in pair.words), -pair.lmi)
    )
    return pairs[:MOST_PAIRS]


def swap(training: Training, pairs: Sequence[Pair]) -> Candidate:
    """Return the candidate that swaps several pairs at once, with neutral words of like frequency as its control."""
    controls, match = _controls(training, pairs)
    by_column: dict[int, dict[str, str]] = {}
    goals: dict[tuple[int, str], int] = {}
    for pair in pairs:
        by_column.setdefault(pair.column, {}).update(pair.mapping)
        for word, label in zip(pair.words, reversed(pair.labels), strict=True):
            goals[pair.column, word] = label

    def edit(item: Text, predicted: int, rng: Rng) -> Edits:
        present = [
            (column, token.word)
            for column, mapping in by_column.items()
            for token in tokens_of(item[column])
            if token.word in mapping
        ]
        put_in = {goals[place] for place in present} - {-1}
        return Edits(
            treated=apply(item, by_column),
            control=apply(item, controls),
            goal=put_in.pop() if len(put_in) == 1 else -1,
        )

    names = [
        " ↔ ".join(f"“{word}”" for word in pair.words) + names_of(training, pair.column)
        for pair in pairs
    ]
    return Candidate(
        name=", ".join(names),
        association=max(pair.lmi for pair in pairs),
        edit=edit,
        words=tuple(dict.fromkeys(word for pair in pairs for word in pair.pointing)),
        match=match,
        pairs=tuple(pairs),
    )


def without_words(training: Training, pairs: Sequence[Pair]) -> dict[int, dict[str, str]]:
    """Return, per column, the neutral word of similar frequency that replaces each word pointing at a label."""
    mappings: dict[int, dict[str, str]] = {}
    for pair in pairs:
        for word in pair.pointing:
            table = training.texts_with[pair.column]
            neutral = _neutral_like(training, pair.column, word, int(table[word].sum()))
            if neutral is not None:
                mappings.setdefault(pair.column, {})[word] = neutral
    return mappings


def apply(item: Text, mappings: Mapping[int, Mapping[str, str]]) -> Text | None:
    """Replace words of an item; None where it has none of them."""
    changed = item
    for column, mapping in mappings.items():
        changed = with_column(changed, column, replaced(changed[column], mapping))
    return None if changed == item else changed


# ------------------------------------------------------------------------------------------------------------- private


def _pointing(training: Training, table: Mapping[str, Labels]) -> dict[str, tuple[int, float, int]]:
    """Return word -> (label, LMI, texts) of the words that point at a label, strongest first."""
    n, priors = len(training), training.priors
    found: list[tuple[float, str, int, int]] = []
    for word, counts in table.items():
        texts = int(counts.sum())
        suspected = word in training.suspected
        if texts < training.least and not suspected:
            continue
        shares = counts / texts
        with np.errstate(divide="ignore", invalid="ignore"):
            lmi = np.where(counts > 0, counts / n * np.log(shares / priors), 0.0)
        label = int(lmi.argmax())
        error = math.sqrt(max(priors[label] * (1 - priors[label]) / texts, 1e-12))
        if suspected or (lmi[label] > 0 and (shares[label] - priors[label]) / error > LEAST_Z):
            found.append((float(lmi[label]), word, label, texts))
    found.sort(reverse=True)
    most = max(3, 2 * MOST_PAIRS // training.n_classes)
    taken, kept = [0] * training.n_classes, {}
    for lmi_of, word, label, texts in found:
        if taken[label] < most or word in training.suspected:
            taken[label] += 1
            kept[word] = label, lmi_of, texts
    return kept


def _like(
    word: str, its: tuple[int, float, int], other: str, theirs: tuple[int, float, int]
) -> bool:
    if (
        its[0] == theirs[0]
        or kind_of(word) != kind_of(other)
        or (word in NEGATIONS) != (other in NEGATIONS)
    ):
        return False
    return abs(math.log(its[2] / theirs[2])) <= math.log(2) and theirs[1] > its[1] / 4


def _distance(
    word: str, its: tuple[int, float, int], other: str, theirs: tuple[int, float, int]
) -> float:
    endings = {
        next((ending for ending in ENDINGS if each.endswith(ending)), "") for each in (word, other)
    }
    by_counts = abs(math.log(its[2] / theirs[2])) + abs(
        math.log(max(its[1], 1e-9) / max(theirs[1], 1e-9))
    )
    return by_counts + 0.1 * (len(endings) > 1) + 0.02 * abs(len(word) - len(other))


def _neutral_like(training: Training, column: int, word: str, texts: int) -> str | None:
    """Return the neutral word of the same kind that is nearest in frequency and length; a word for a lonely mark."""
    neutral, kind = training.neutral[column], kind_of(word)
    same = [other for other in neutral if kind_of(other) == kind and other != word]
    if not same:
        same = [other for other in neutral if kind_of(other) == "word"]
    return min(
        same,
        key=lambda other: (
            abs(math.log(neutral[other] / texts)) + 0.05 * abs(len(other) - len(word)),
            other,
        ),
        default=None,
    )


def _controls(
    training: Training, pairs: Sequence[Pair]
) -> tuple[dict[int, dict[str, str]], float | None]:
    """Choose neutral words to swap among themselves that are in as many training texts as the pairs.

    Where single words are too rare, several pairs of them stand for one pair of words.
    """
    mappings: dict[int, dict[str, str]] = {}
    worst = 1.0
    for pair in pairs:
        taken = mappings.setdefault(pair.column, {})
        neutral = {
            word: n
            for word, n in training.neutral[pair.column].items()
            if kind_of(word) == "word" and word not in taken and word not in pair.words
        }
        wanted, reached = float(pair.texts), 0.0
        while neutral and reached < wanted / 1.4:
            goal = (wanted - reached) / 2
            first = min(neutral, key=lambda word: (abs(math.log(neutral[word] / goal)), word))
            n_first = neutral.pop(first)
            if not neutral:
                break
            second = min(neutral, key=lambda word: (abs(math.log(neutral[word] / n_first)), word))
            reached += n_first + neutral.pop(second)
            taken.update({first: second, second: first})
        ratio = max(wanted / reached, reached / wanted) if reached else math.inf
        worst = max(worst, ratio)
    return mappings, worst if math.isfinite(worst) else None
