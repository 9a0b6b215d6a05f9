"""Is what decides a reason? What the data says, what the user says, and a list for the tasks that it is written for."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.decisions import MARGINS
from rightreasons.core.intervals import wilson
from rightreasons.core.resampling import Resampling
from rightreasons.core.tokens import split_words as tokenize
from rightreasons.shortcuts.families.training import kind_of
from rightreasons.shortcuts.measure_deciding import FamilyEffect, SwapMeasurement

Judgment = Literal["reason", "spurious", "open"]


@functools.cache
def no_reasons() -> Mapping[str, Any]:
    """Return `not_reasons.json`: what is no reason for a label in which tasks."""
    listed: Mapping[str, Any] = json.loads(
        resources.files(__package__).joinpath("not_reasons.json").read_text("utf-8")
    )
    return listed


@dataclasses.dataclass(frozen=True)
class Judge:
    """What is known about the words and features that may decide.

    Attributes:
        label_names: The names of the classes, which may tell the task.
        reasons: Words and families that the user calls reasons.
        not_reasons: Words and families that the user calls none.
        planted: Words that the data calls planted.
        vanishing: Words that do not go with their label in a split that the user names.
    """

    label_names: Sequence[str] = ()
    reasons: frozenset[str] = frozenset()
    not_reasons: frozenset[str] = frozenset()
    planted: frozenset[str] = frozenset()
    vanishing: frozenset[str] = frozenset()

    @functools.cached_property
    def task(self) -> str:
        """The task that the labels belong to; "" where they do not tell."""
        names = {name.strip().lower() for name in self.label_names}
        known = no_reasons()
        tasks = {task: set(known["tasks"][task]) for task in known["tasks_of_words"]}
        return next((task for task, labels in tasks.items() if names and names <= labels), "")

    def judge(self, row: FamilyEffect) -> Judgment:
        """Say whether what decides is a reason: spurious if the data, the user or the list says so of it."""
        if self.source(row):
            return "spurious"
        words = set(row.words) or {row.family}
        return "reason" if words <= self.reasons or row.family in self.reasons else "open"

    def source(self, row: FamilyEffect) -> Literal["", "planted", "vanishing", "named", "listed"]:
        """Say who calls what decides no reason; "" where nobody does."""
        names = {*row.words, row.family} if row.family != "words" else set(row.words)
        none = self.planted | self.vanishing | self.not_reasons
        # Of a pair of words of which one alone is no reason, the other one may decide.
        if names <= none if row.family == "words" else names & none:
            return (
                "planted"
                if names & self.planted
                else "vanishing"
                if names & self.vanishing
                else "named"
            )
        if not self.task or names & self.reasons:
            return ""
        known, is_listed = no_reasons(), row.family in no_reasons()["families"]
        if row.family == "words":
            is_listed = all(
                kind_of(word) == "mark" or word in known["words"].split() for word in row.words
            )
        return "listed" if is_listed else ""


def vanishing_words(
    words: Sequence[str],
    train: tuple[Sequence[str], NDArray[np.int64]],
    other: tuple[Sequence[str], NDArray[np.int64]],
    resampling: Resampling,
) -> frozenset[str]:
    """Return the words that go with a label in the training texts, and surely less than half as far in other texts.

    Args:
        words: The words.
        train: Training texts, and their labels.
        other: Other texts, and theirs; -1 for none.
        resampling: Level of the intervals, divided among the words.

    Returns:
        Those whose share of their label, beyond that of all texts, is surely below half of what it is in training.
    """
    level = resampling.correct_for_tests(len(words)).level
    (here, labels), (there, others) = (_words_and_labels(*part) for part in (train, other))
    priors = np.bincount(labels) / len(labels)
    found = set()
    for word in words:
        inside, elsewhere = ([word in held for held in texts] for texts in (here, there))
        if any(inside) and any(elsewhere):
            rises = np.bincount(labels[inside], minlength=len(priors)) / sum(inside) - priors
            label = int(rises.argmax())
            hits, prior = int((others[elsewhere] == label).sum()), float((others == label).mean())
            if wilson(hits, sum(elsewhere), confidence_level=level).high - prior < rises[label] / 2:
                found.add(word)
    return frozenset(found)


def considered(swaps: SwapMeasurement, judge: Judge) -> list[FamilyEffect]:
    """Return what a conclusion is about: beside pairs of words that are reasons, pairs count one by one.

    Words that are reasons decide as members of several pairs, too, and hide there what else decides.
    """
    known = {word for row in swaps.rows if _is_reason(row, judge) for word in row.words}
    if not known:
        return list(swaps.rows)
    rows = [
        row
        for row in (*swaps.rows, *swaps.pairs)
        if _is_reason(row, judge) or not known & set(row.words)
    ]
    return list(dict.fromkeys(rows))


def _is_reason(row: FamilyEffect, judge: Judge) -> bool:
    return row.decision.level == "large" and judge.judge(row) == "reason"


def conclude(swaps: SwapMeasurement, judge: Judge) -> str:
    """Conclude from what decides, as the verdict of the question names it.

    Returns:
        "followed" if a feature that is no reason surely decides more than a quarter of all predictions; "named" if one
        does of which that is not known; "rare" if other labels than the most frequent one are fewer than what a small
        share allows; "no_skill" if the model may be no better than that label; "open" if some family is not decided,
        or there is none; "reasons" if what decides is called a reason, and nothing else decides; "spread" if no family
        decides a tenth.
    """
    rows = considered(swaps, judge)
    reasons = [row for row in rows if _is_reason(row, judge)]
    judged = [judge.judge(row) for row in rows if row.decision.level == "large"]
    if "spurious" in judged:
        return "followed"
    if "open" in judged:
        return "named"
    if 1 - swaps.most_frequent < MARGINS["decides"].small:
        return "rare"
    accuracy = swaps.accuracy
    if accuracy is not None and accuracy.low is not None and accuracy.low <= swaps.most_frequent:
        return "no_skill"
    if (
        any(row.decision.level != "small" for row in rows if row not in reasons)
        or swaps.untested
        or not rows
    ):
        return "open"
    return "reasons" if reasons else "spread"


TONES: Mapping[str, Literal["good", "warn", "bad", "neutral"]] = {
    "followed": "bad",
    "named": "warn",
    "rare": "neutral",
    "no_skill": "neutral",
    "open": "neutral",
    "reasons": "good",
    "spread": "good",
}
"""Conclusion -> the tone of the verdict."""


def _words_and_labels(
    texts: Sequence[str], labels: NDArray[np.int64]
) -> tuple[list[set[str]], NDArray[np.int64]]:
    """Return the words of each text with a label, and its label."""
    rows = np.flatnonzero(labels >= 0)
    return [set(tokenize(texts[row])) for row in rows.tolist()], labels[rows]
