"""Judge whether what decides is a reason for a label, and draw the conclusion of the question.

Only evidence about this model and these data makes a feature spurious: the data declares its words as planted, the user
calls them no reasons, or they do not predict their label in another split. Everything else that decides is open: only a
person can tell whether it is a reason. `conclude` is the entry point.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.decisions import MARGINS
from rightreasons.core.intervals import wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.tokens import split_words
from rightreasons.shortcuts.measure_deciding import FeatureEffect, SwapMeasurement

Judgment = Literal["reason", "spurious", "open"]

REQUIRED_TESTS = frozenset({"all listed words", "a word per text"})
"""Tests without which no verdict is green. Others may lack anything to exchange, which is harmless."""


@dataclasses.dataclass(frozen=True)
class Judge:
    """Evidence on the words and features that may decide.

    Attributes:
        reasons: Words and features that the user calls reasons.
        not_reasons: Words and features that the user calls no reasons.
        planted: Words that the data declares as planted.
        vanishing: Words that do not predict their label in a split that the user names.
    """

    reasons: frozenset[str] = frozenset()
    not_reasons: frozenset[str] = frozenset()
    planted: frozenset[str] = frozenset()
    vanishing: frozenset[str] = frozenset()

    @property
    def declared(self) -> frozenset[str]:
        """Words that are known to be no reasons."""
        return self.planted | self.vanishing | self.not_reasons

    def judge(self, row: FeatureEffect) -> Judgment:
        """Return whether a feature is a reason, spurious, or open."""
        if self.find_source(row):
            return "spurious"
        names = set(row.words) if row.test == "words" else {row.name, row.test}
        is_reason = names <= self.reasons if row.test == "words" else bool(names & self.reasons)
        return "reason" if is_reason else "open"

    def find_source(self, row: FeatureEffect) -> Literal["", "planted", "vanishing", "named"]:
        """Return what shows that a feature is no reason; "" if nothing does."""
        if row.test in ("words", "declared words"):
            names = set(row.words)
            # Of a pair with one word that is no reason, the other word may decide.
            is_spurious = bool(names) and names <= self.declared
        else:
            names = {row.name, row.test}
            is_spurious = bool(names & self.not_reasons)
        if not is_spurious:
            return ""
        if names & self.planted:
            return "planted"
        return "vanishing" if names & self.vanishing else "named"


def find_vanishing_words(
    words: Sequence[str],
    train: tuple[Sequence[str], NDArray[np.int64]],
    other: tuple[Sequence[str], NDArray[np.int64]],
    resampling: Resampling,
) -> frozenset[str]:
    """Return the words whose association with a label in the training texts vanishes in other texts.

    Args:
        words: Words to compare.
        train: Training texts, and their labels.
        other: Other texts, and their labels; -1 for unlabeled texts.
        resampling: Level of the intervals, which is divided among the words.

    Returns:
        Words whose share of their label, beyond that of all texts, is significantly less than half as large in the
        other texts.
    """
    level = resampling.correct_for_tests(max(len(words), 1)).level
    train_words, train_labels = _split_labeled(*train)
    other_words, other_labels = _split_labeled(*other)
    priors = np.bincount(train_labels) / len(train_labels)
    vanishing = set()
    for word in words:
        is_in_train = np.array([word in text for text in train_words], dtype=bool)
        is_in_other = np.array([word in text for text in other_words], dtype=bool)
        if not is_in_train.any() or not is_in_other.any():
            continue
        shares = np.bincount(train_labels[is_in_train], minlength=len(priors)) / is_in_train.sum()
        label = int((shares - priors).argmax())
        n_hits = int((other_labels[is_in_other] == label).sum())
        interval = wilson(n_hits, int(is_in_other.sum()), confidence_level=level)
        prior = float((other_labels == label).mean())
        if interval.high - prior < (shares - priors)[label] / 2:
            vanishing.add(word)
    return frozenset(vanishing)


def _split_labeled(
    texts: Sequence[str], labels: NDArray[np.int64]
) -> tuple[list[set[str]], NDArray[np.int64]]:
    """Return the words of each labeled text, and its label."""
    rows = np.flatnonzero(labels >= 0)
    return [set(split_words(texts[row])) for row in rows.tolist()], labels[rows]


def list_effects(swaps: SwapMeasurement, judge: Judge) -> list[FeatureEffect]:
    """Return the effects on which a conclusion rests: all tests and all pairs, but those that are reasons."""
    rows = list(dict.fromkeys([*swaps.rows, *swaps.pairs]))
    return [row for row in rows if judge.judge(row) != "reason"]


def conclude(swaps: SwapMeasurement, judge: Judge, *, has_training: bool = True) -> str:
    """Return the conclusion, which names the verdict of the question.

    Args:
        swaps: Effects of all features.
        judge: Evidence on what is no reason.
        has_training: Whether the training texts of the model are known.

    Returns:
        "followed" if a spurious feature decides more than a quarter of all predictions; "named" if a feature decides
        more than its margin; "inserted" if a word makes its label wherever it is put in; "rare" if all labels but the
        most frequent one are too few; "no_skill" if the model may be no better than that label; "untrained" without
        training texts; "open" if a test is undecided or could not be made; "reasons" if nothing decides besides what
        the user calls reasons; "spread" if nothing decides.
    """
    rows = list_effects(swaps, judge)
    decisive = [row for row in rows if row.is_decisive]
    if any(row.decision.level == "large" and judge.judge(row) == "spurious" for row in decisive):
        return "followed"
    if decisive:
        return "named"
    if list_followed_insertions(swaps, judge):
        return "inserted"
    if 1 - swaps.most_frequent < MARGINS["decides"].small:
        return "rare"
    accuracy = swaps.accuracy
    if accuracy is not None and accuracy.low is not None and accuracy.low <= swaps.most_frequent:
        return "no_skill"
    if not has_training:
        return "untrained"
    is_open = any(row.decision.level != "small" for row in rows)
    if is_open or not rows or REQUIRED_TESTS & swaps.untested.keys():
        return "open"
    return "reasons" if judge.reasons else "spread"


def list_followed_insertions(swaps: SwapMeasurement, judge: Judge) -> list[FeatureEffect]:
    """Return the words that make their label nearly wherever they are put in."""
    rows = [row for row in swaps.insertions if row.decision.level == "large"]
    return [row for row in rows if not set(row.words) <= judge.reasons]


TONES: Mapping[str, Literal["good", "warn", "bad", "neutral"]] = {
    "followed": "bad",
    "named": "warn",
    "inserted": "warn",
    "rare": "neutral",
    "no_skill": "neutral",
    "untrained": "neutral",
    "open": "neutral",
    "reasons": "good",
    "spread": "good",
}
"""Conclusion -> the tone of the verdict."""
