"""Judge whether what decides is a reason for a label, and draw the conclusion of the question.

Only evidence about this model and these data makes a feature spurious: the data declares its words
as planted, the user calls them no reasons, or they do not predict their label in another split.
Everything else that decides is open: only a person can tell whether it is a reason. `conclude` is
the entry point.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.core import tokens
from rightreasons.core.decisions import MARGINS
from rightreasons.core.intervals import wilson
from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.measure_deciding import FeatureEffect, SwapMeasurement

Judgment = Literal["reason", "spurious", "open"]

REQUIRED_TESTS = frozenset({"all listed words", "a word per text"})
"""Tests that a green verdict requires. Others may be impossible, such as that of lengths if all are equal."""


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
        """Return whether a feature is a "reason" for a label, "spurious", or not known ("open").

        Args:
            row: Effect of the feature, with its name, its test and its words.
        """
        # A feature with evidence that it is no reason is spurious.
        if self.find_source(row):
            return "spurious"
        if row.test == "words":
            # All words of a pair must be reasons: otherwise, the other word may decide.
            is_reason = set(row.words) <= self.reasons
        else:
            is_reason = not self.reasons.isdisjoint((row.name, row.test))
        return "reason" if is_reason else "open"

    def find_source(self, row: FeatureEffect) -> Literal["", "planted", "vanishing", "named"]:
        """Return the evidence that a feature is no reason for a label; "" if there is none.

        Single words and pairs are spurious only if all of their words are: otherwise, the other
        words may be what decides.

        Args:
            row: Effect of the feature, with its name, its test and its words.

        Returns:
            "planted" if the data declares the words, "vanishing" if they predict no label in
            another split, and "named" if the user calls the feature no reason.
        """
        is_of_words = row.test in ("words", "declared words", "words named before")
        if is_of_words:
            names = set(row.words)
            is_spurious = bool(names) and names <= self.declared
        else:
            # A user may name the feature itself, or all features of its test.
            names = {row.name, row.test}
            is_spurious = bool(names & self.not_reasons)
        if not is_spurious:
            return ""
        # What the data says is stronger evidence than what the user says.
        if names & self.planted:
            return "planted"
        if names & self.vanishing:
            return "vanishing"
        return "named"


def find_vanishing_words(
    words: Sequence[str],
    train: tuple[Sequence[str], NDArray[np.int64]],
    split: tuple[Sequence[str], NDArray[np.int64]],
    resampling: Resampling,
) -> frozenset[str]:
    """Return the words whose association with a label vanishes in another split.

    Args:
        words: Words to compare.
        train: Training texts, and their labels; -1 for unlabeled texts.
        split: Texts of another split, and their labels; -1 for unlabeled texts.
        resampling: Level of the intervals, corrected for the number of words.

    Returns:
        Words whose share of their label, beyond that of all texts, is significantly less than half
        as large in the other split.
    """
    level = resampling.correct_for_tests(max(len(words), 1)).level
    train_words, train_labels = _split_labeled(*train)
    split_words, split_labels = _split_labeled(*split)
    train_priors = np.bincount(train_labels) / len(train_labels)
    vanishing = set()
    for word in words:
        is_in_train = _flag_texts(train_words, word)
        is_in_split = _flag_texts(split_words, word)
        if not is_in_train.any() or not is_in_split.any():
            continue
        # The word is associated with the label whose share rises most with it.
        label_counts = np.bincount(train_labels[is_in_train], minlength=len(train_priors))
        train_excess = label_counts / is_in_train.sum() - train_priors
        label = int(train_excess.argmax())

        # The upper end of the interval is compared, so that a word with few texts does not vanish.
        n_hits = int((split_labels[is_in_split] == label).sum())
        interval = wilson(n_hits, int(is_in_split.sum()), confidence_level=level)
        split_prior = float((split_labels == label).mean())
        largest_split_excess = interval.high - split_prior
        if largest_split_excess < train_excess[label] / 2:
            vanishing.add(word)
    return frozenset(vanishing)


def _flag_texts(texts: Sequence[set[str]], word: str) -> NDArray[np.bool_]:
    """Return (N,) which texts have a word."""
    flags = np.zeros(len(texts), dtype=np.bool_)
    for row, words in enumerate(texts):
        flags[row] = word in words
    return flags


def _split_labeled(
    texts: Sequence[str], labels: NDArray[np.int64]
) -> tuple[list[set[str]], NDArray[np.int64]]:
    """Return the set of words of each labeled text, and the labels of these texts."""
    rows = np.flatnonzero(labels >= 0)
    words = []
    for row in rows.tolist():
        words.append(set(tokens.split_words(texts[row])))
    return words, labels[rows]


def list_effects(swaps: SwapMeasurement, judge: Judge) -> list[FeatureEffect]:
    """Return the effects on which a conclusion rests: all tests and pairs except reasons."""
    # The strongest pair is in both lists, and counts once.
    rows = list(dict.fromkeys([*swaps.rows, *swaps.pairs]))
    return [row for row in rows if judge.judge(row) != "reason"]


def conclude(swaps: SwapMeasurement, judge: Judge, *, has_training: bool = True) -> str:
    """Return the conclusion, which names the verdict of the question.

    Args:
        swaps: Effects of all features.
        judge: Evidence on which features are reasons for a label, and which are spurious.
        has_training: Whether the training texts of the model are known.

    Returns:
        "followed" if a spurious feature decides more than a quarter of all predictions; "named" if
        a feature decides more than its margin; "inserted" if the insertion of a word changes most
        predictions to its label; "rare" if nearly all items have the most frequent label;
        "no_skill" if the model may be no better than always predicting that label; "untrained"
        without training texts; "open" if a test is undecided or could not be made; "reasons" if
        only what the user calls reasons decides; "spread" if no single feature decides.
    """
    rows = list_effects(swaps, judge)
    decisive = [row for row in rows if row.is_decisive]
    for row in decisive:
        # A spurious feature that decides less than that is "named", like any other feature.
        if row.decision.level == "large" and judge.judge(row) == "spurious":
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
    # A green verdict needs all required tests, and a small effect in every test.
    levels = {row.decision.level for row in rows}
    if levels != {"small"} or REQUIRED_TESTS & swaps.untested.keys():
        return "open"
    return "reasons" if judge.reasons else "spread"


def list_followed_insertions(swaps: SwapMeasurement, judge: Judge) -> list[FeatureEffect]:
    """Return the words whose insertion changes most predictions to their label, except reasons."""
    rows = []
    for row in swaps.insertions:
        is_reason = set(row.words) <= judge.reasons
        if row.decision.level == "large" and not is_reason:
            rows.append(row)
    return rows


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
