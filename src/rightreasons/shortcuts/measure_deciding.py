"""Measure what decides a model's predictions: words, lists of words, and everything besides words.

Two sources offer words: the labels of the training texts, and the model itself, which loses
confidence when a word that it relies on is left out. Single pairs of words are swapped one at a
time. Residual tests then ask whether anything else decides: all listed words at once, the words of
a single label if a few of them are in most texts, the strongest word of each text, the form, the
length, a third of the text, rare words. Each effect is the share of predictions that change, minus
the share that change under a matched control.

`measure_swaps` is the entry point. The number of items follows from the data and the budget in
passes alone, so that the same audit gives the same result on any machine.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.clusters import count_units
from rightreasons.core.decisions import MARGINS, Decision, Margin, decide_above
from rightreasons.core.estimates import Estimate, estimate_share
from rightreasons.core.intervals import bounded_mean_interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.store import digest_value
from rightreasons.models.classes import predict
from rightreasons.shortcuts.experiment import (
    MAX_LEARNING_ITEMS,
    ONE_TEXT,
    THIRDS,
    Experiment,
    Outcome,
    encode_clusters,
)
from rightreasons.shortcuts.swapping import forms
from rightreasons.shortcuts.swapping.duplicates import cluster_duplicates
from rightreasons.shortcuts.swapping.edits import Pair
from rightreasons.shortcuts.swapping.exclusive import list_exclusive_words
from rightreasons.shortcuts.swapping.naming import name_form_parts
from rightreasons.shortcuts.swapping.own_list import MAX_LEFT_OUT, learn_own_list
from rightreasons.shortcuts.swapping.pairing import pair_words
from rightreasons.shortcuts.swapping.record import FeatureRecord, make_recorded_list
from rightreasons.shortcuts.swapping.segments import Text
from rightreasons.shortcuts.swapping.training import TrainingTexts, get_item
from rightreasons.shortcuts.swapping.word_lists import Key, WordList
from rightreasons.shortcuts.swaps import DecidingShare

Labels = NDArray[np.int64]

BUDGET = 30_000
"""Budget in passes of one item through the model."""

PASSES_PER_ITEM = 24
"""Number of edited items that an item needs, apart from those that leave out one token."""

PASSES_PER_SECOND = 100
"""What a second of the former option `seconds` is worth."""

N_PLANNING_ITEMS = 200
"""Number of items from whose length the budget is planned."""

MIN_BUDGET_ITEMS = 100
"""Number of items that are measured even if the budget is smaller."""

NO_RECORD = FeatureRecord()
"""The record of no earlier audit."""

N_REPEATED = 50
"""Number of unchanged items that the model reads twice, to see whether its predictions are equal."""

OWN_LIST_TEST = "a word per text"
"""Test of the words whose removal lowers the model's confidence."""

TEST_MARGINS: Mapping[str, Margin] = {
    "words": MARGINS["decides"],
    "declared words": MARGINS["decides"],
    "words named before": MARGINS["decides"],
    "one text alone": MARGINS["decides"],
    # A reader loses up to .08 of its predictions with one neutral word; exact repetitions and
    # hashes lose more.
    "any word": Margin(small=0.25, large=0.15),
    # A reader's words decide up to .48 together, and up to .32 one per text; followers of a cue
    # that decides .6 are above .55 and .44. In between, "half" is neither shown nor ruled out.
    "all listed words": Margin(small=0.5, large=0.45),
    "words listed before": Margin(small=0.5, large=0.45),
    "a word per text": Margin(small=0.4, large=0.4),
    "a word per text before": Margin(small=0.4, large=0.4),
    # A few dozen words that are in most texts and nearly determine their label are one feature.
    "exclusive words": MARGINS["decides"],
    "exclusive words before": MARGINS["decides"],
    # Rare words carry meaning: readers reach .31.
    "rare words": Margin(small=0.5, large=0.5),
    # Readers are below .05, apart from questions, whose first word is meaning.
    "form": Margin(small=0.25, large=0.25),
    "place": Margin(small=0.25, large=0.25),
    "length": Margin(small=0.25, large=0.25),
    "overlap": Margin(small=0.25, large=0.25),
    "insertion": Margin(small=0.75, large=0.75),
}
"""Test -> margins of the share that it measures.

All but those of `MARGINS` are chosen on models of known truth; docs/shortcuts.md has the table.
"""

WORD_TESTS = frozenset(
    {
        "words",
        "declared words",
        "words named before",
        "all listed words",
        "words listed before",
        "exclusive words",
        "exclusive words before",
        "a word per text",
        "a word per text before",
        "rare words",
        "insertion",
    }
)
"""Tests whose features are words, which a person can accept or reject."""


EARLIER_TESTS = {
    "all listed words": "words listed before",
    "exclusive words": "exclusive words before",
    OWN_LIST_TEST: "a word per text before",
}
"""Test of a list -> the test of the list that an earlier audit had."""

NAMING_TESTS = frozenset({"words", "declared words", "words named before"})
"""Tests whose decisive words a later audit tests together. Lists are tested again as they were."""


@dataclasses.dataclass(frozen=True)
class FeatureEffect(Result):
    """The effect of a feature.

    Attributes:
        test: Name of the test, a key of `TEST_MARGINS`.
        name: Description of the feature.
        words: Words that the feature consists of, the most effective first; () if it does not
            consist of words.
        effect: Share of predictions that the feature decides. Its intervals hold for all tests
            simultaneously.
        decision: Verdict on the share.
        level: Confidence level of the intervals over all tests.
        label: Label that an inserted word makes; -1 for other tests.
    """

    test: str
    name: str
    words: tuple[str, ...]
    effect: DecidingShare
    decision: Decision
    level: float = 0.95
    label: int = -1

    @property
    def key(self) -> str:
        """Name under which the edited items of the feature are listed."""
        return self.name if self.test in ("words", "place", "one text alone") else self.test

    @property
    def is_decisive(self) -> bool:
        """Whether the feature decides significantly more than its margin allows."""
        return self.decision.level in ("large", "some")

    @property
    def estimate(self) -> Estimate:
        """The deciding share, with an interval that holds for all tests simultaneously."""
        method = self.effect.interval.method
        return dataclasses.replace(self.effect.estimate, level=self.level, method=method)

    @property
    def follow_rate(self) -> Estimate | None:
        """The share of swaps whose prediction becomes the label of the new feature, or None."""
        interval = self.effect.follow_interval
        if interval is None:
            return None
        rate = self.effect.follow_rate
        return Estimate(rate, interval.low, interval.high, self.level, interval.method)


class SwappedItem(NamedTuple):
    """An edited item and the label that the model predicts for it.

    Attributes:
        row: Row of the original item.
        feature: Name of the feature that was swapped.
        text: The edited item.
        label: Predicted label of the edited item.
        confidence: Confidence in this label.
    """

    row: int
    feature: str
    text: Text
    label: int
    confidence: float


class PairChanges(NamedTuple):
    """The predictions that the swap of a pair of words changes.

    Attributes:
        pair: The pair.
        effect: Its effect.
        rows: (M,) rows of the items that were swapped or have nothing to swap.
        is_changed: (M,) whether the prediction changes.
    """

    pair: Pair
    effect: FeatureEffect
    rows: NDArray[np.intp]
    is_changed: NDArray[np.bool_]


@dataclasses.dataclass(frozen=True, eq=False)
class SwapMeasurement:
    """The features that decide a model's predictions.

    Attributes:
        rows: Effects of all tests, largest first; of the pairs of words, the strongest.
        untested: Test -> reason why it could not be made.
        pairs: Effect of each pair of words, largest first.
        insertions: For each label, the effect of inserting the word that makes it most often.
        strongest_pair: Effect of the strongest pair, selected and measured on different halves of
            the items; None without pairs.
        accuracy: Accuracy on the labeled items that were measured; None if there are none.
        most_frequent: Share of the most frequent gold label among them.
        accuracy_without: Accuracy with every word that predicts a label replaced by a neutral one.
        n_items: Number of items measured.
        n_available: Number of items in the data.
        n_passes: Number of edited items that the model was asked about.
        n_duplicates: Number of measured items that nearly repeat an earlier one.
        n_unstable: Number of unchanged items, of `N_REPEATED`, that the model answered differently.
        swapped_items: Edited items of each pair of words, strongest first, and of the other tests.
        pair_changes: Predictions that each pair of words changes, in the order of `pairs`.
        record: Words that were tested, for a later audit.
    """

    rows: tuple[FeatureEffect, ...]
    untested: Mapping[str, str]
    pairs: tuple[FeatureEffect, ...]
    insertions: tuple[FeatureEffect, ...]
    strongest_pair: FeatureEffect | None
    accuracy: Estimate | None
    most_frequent: float
    accuracy_without: Estimate | None
    n_items: int
    n_available: int
    n_passes: int
    n_duplicates: int = 0
    n_unstable: int = 0
    swapped_items: tuple[SwappedItem, ...] = ()
    pair_changes: tuple[PairChanges, ...] = ()
    record: FeatureRecord = NO_RECORD


def measure_swaps(  # noqa: PLR0913
    source: Any,
    columns: Sequence[Sequence[str]],
    predictions: Labels,
    training: TrainingTexts,
    *,
    ids: Sequence[str],
    labels: Labels | None = None,
    clusters: Sequence[Any] | None = None,
    resampling: Resampling = Resampling(),
    budget: int = BUDGET,
    limit: int | None = None,
    seconds: float | None = None,
    declared: Sequence[str] = (),
    previous: FeatureRecord = NO_RECORD,
    out: str | os.PathLike[str] | None = None,
    **options: Any,
) -> SwapMeasurement:
    """Measure which features decide a model's predictions.

    All effects are measured on the same items. Their intervals hold simultaneously at the level of
    `resampling`.

    Args:
        source: A classifier or a class scorer.
        columns: One or two lists of N texts.
        predictions: (N,) labels that the model predicts for the unchanged items.
        training: Labeled texts that offer words.
        ids: N unique ids. With the seed, they determine all random choices.
        labels: (N,) gold labels for the accuracies, -1 for unlabeled items; None for no labels.
        clusters: (N,) cluster of each item; None for clusters of near duplicates.
        resampling: Confidence level and seed.
        budget: Budget in passes of one item through the model, which determines the number of
            items.
        limit: Number of items, whatever the budget; None (default) for as many as the budget
            allows.
        seconds: Deprecated: a budget in seconds, now read as 100 passes each.
        declared: Words that are known to be no reasons for a label; they are also swapped together.
        previous: Words that an earlier audit tested. They are tested again by the same swaps,
            whatever the training texts offer, and those that decided are also swapped together.
        out: Folder that caches the model's answers, so that an interrupted run can resume.
        **options: Further options of `predict`.

    Returns:
        A `SwapMeasurement`.
    """
    if seconds is not None:
        budget = convert_seconds(seconds)
    n_items = limit or plan_items(columns, training, budget)
    order = _shuffle_items(ids, resampling.seed)[:n_items]
    items = [get_item(columns, row) for row in order.tolist()]
    # Items that repeat each other are one unit: ten copies show no more than one.
    n_duplicates = 0
    if clusters is None:
        codes = cluster_duplicates([" ".join(item) for item in items])
        n_duplicates = int((codes != np.arange(len(items))).sum())
        clusters = codes.tolist() if n_duplicates else None
    else:
        clusters = [str(clusters[row]) for row in order.tolist()]

    experiment = Experiment(
        _CachedScorer(source, out, options),
        training,
        items=items,
        predictions=np.asarray(predictions, dtype=np.int64)[order],
        ids=[str(ids[row]) for row in order.tolist()],
        clusters=encode_clusters(clusters, len(items)),
        seed=resampling.seed,
    )
    gold = np.full(len(items), -1)
    if labels is not None:
        gold = np.asarray(labels)[order]
    suite = _TestSuite(
        experiment,
        resampling,
        declared=[word.lower() for word in declared],
        # What a user calls a reason may decide, whatever an earlier audit said of it.
        previous=previous.exclude(training.reasons),
    )
    return suite.summarize(
        order,
        gold,
        n_available=len(ids),
        n_duplicates=n_duplicates,
    )


def convert_seconds(seconds: float) -> int:
    """Return the budget in passes for the former budget in seconds, and warn."""
    budget = round(seconds * PASSES_PER_SECOND)
    warnings.warn(
        f"`seconds` is deprecated: `budget` is a number of passes, so that results do not depend "
        f"on the clock. Got {seconds:g} seconds, which are read as budget={budget}.",
        FutureWarning,
        stacklevel=3,
    )
    return budget


def plan_items(columns: Sequence[Sequence[str]], training: TrainingTexts, budget: int) -> int:
    """Return the number of items that a budget allows, given the length of the first ones."""
    # The first items are enough for a plan, and the same on any machine.
    lengths = []
    for row in range(min(len(columns[0]), N_PLANNING_ITEMS)):
        tokens = training.segmenter.split(get_item(columns, row))
        lengths.append(min(len(tokens), MAX_LEFT_OUT))
    mean_length = float(np.mean(lengths)) if lengths else 0.0
    # Tokens are left out one at a time on half of the items, up to a number of them.
    n_items = budget / (PASSES_PER_ITEM + mean_length / 2)
    if n_items > 2 * MAX_LEARNING_ITEMS:
        n_items = (budget - MAX_LEARNING_ITEMS * mean_length) / PASSES_PER_ITEM
    return max(MIN_BUDGET_ITEMS, int(n_items))


def _shuffle_items(ids: Sequence[str], seed: int) -> NDArray[np.intp]:
    """Return a random order of the items that depends on their ids and the seed alone."""
    # A digest is as random as a generator, and a thousand times as fast to set up.
    keys = []
    for item_id in ids:
        digest = hashlib.blake2b(f"{seed} swaps {item_id}".encode(), digest_size=8).digest()
        keys.append(int.from_bytes(digest, "little"))
    return np.argsort(np.array(keys, dtype=np.uint64), kind="stable")


@dataclasses.dataclass(frozen=True)
class _CachedScorer:
    """Asks the model about items, and keeps its answers in a folder.

    Attributes:
        source: A classifier or a class scorer.
        out: Folder of the answers; None to keep none.
        options: Further options of `predict`.
    """

    source: Any
    out: str | os.PathLike[str] | None
    options: Mapping[str, Any]

    def __call__(self, texts: Sequence[Text]) -> NDArray[np.float64]:
        """Return (M, K) scores; a row of NaN for an item that the model could not score."""
        names = [str(index) for index in range(len(texts))]
        # The name of a batch is its content: an interrupted audit asks nothing again.
        folder = None
        if self.out is not None:
            folder = Path(self.out) / digest_value([list(text) for text in texts])
        pairs = [text[1] for text in texts] if len(texts[0]) > 1 else None
        scores = predict(
            self.source,
            [text[0] for text in texts],
            text_pairs=pairs,
            ids=names,
            out=folder,
            **self.options,
        )
        logits = np.asarray(scores.logits, dtype=np.float64)
        values = np.full((len(texts), logits.shape[1]), np.nan)
        rows = [int(name) for name in scores.ids]
        # A score of minus infinity, the logarithm of 0, would make margins undefined.
        values[rows] = np.clip(logits, -1e6, 1e6)
        return values


@dataclasses.dataclass(eq=False)
class _TestSuite:
    """Runs all tests of an experiment, and decides about their effects."""

    experiment: Experiment
    resampling: Resampling
    declared: Sequence[str]
    previous: FeatureRecord

    def __post_init__(self) -> None:
        experiment = self.experiment
        self.label_list = experiment.training.list_by_labels()
        self.own_list = learn_own_list(experiment)
        self.outcomes: dict[str, Outcome] = {}
        self.names: dict[str, tuple[str, ...]] = {}
        self.untested: dict[str, str] = {}
        self.lists: dict[str, WordList] = {}
        self._swap_pairs()
        self._swap_lists()
        self._swap_earlier_lists()
        self._exchange_forms()
        self._exchange_texts()
        self._insert_words()

    # ------------------------------------------------------------------ tests

    def _swap_pairs(self) -> None:
        """Swap the pairs of both lists one at a time.

        The model's own list was learned on some items, and so its pairs are measured on the others.
        """
        experiment = self.experiment
        self.pairs: dict[Pair, Outcome] = {}
        training = experiment.training
        # Pairs of an earlier audit come first: none is left out because a list has it too.
        label_pairs = pair_words(training, self.label_list, experiment.seed)
        for pair in dict.fromkeys([*self.previous.pairs, *label_pairs]):
            self.pairs[pair] = experiment.swap_pair(pair, experiment.all_rows)
        tested = {frozenset(pair.predictive_words) for pair in self.pairs}
        for pair in pair_words(training, self.own_list, experiment.seed):
            # A pair of both lists is measured once, on all items.
            if frozenset(pair.predictive_words) not in tested:
                self.pairs[pair] = experiment.swap_pair(pair, experiment.testing_rows)

    def _swap_lists(self) -> None:
        """Swap all listed words, the strongest word of each text, and the declared words."""
        experiment = self.experiment
        self._swap_list("all listed words", self.label_list)
        if len(self.own_list):
            self._swap_list(OWN_LIST_TEST, self.own_list)
        else:
            self.untested[OWN_LIST_TEST] = "the model loses no confidence with any word"
        exclusive_words = list_exclusive_words(experiment.training)
        if exclusive_words is None:
            self.untested["exclusive words"] = "no few words of a single label are in most texts"
        else:
            self._swap_list("exclusive words", exclusive_words)
        keys = [key for key in self.label_list.labels if key[1] in self.declared]
        if keys:
            self._swap_list("declared words", self.label_list.restrict(keys))

    def _swap_earlier_lists(self) -> None:
        """Swap the words that decided in an earlier audit, and the lists that it had."""
        experiment = self.experiment
        if self.previous.decisive:
            # By the same swaps as each pair alone, so that the joint effect can be compared.
            outcome = experiment.swap_pairs(
                self.previous.decisive, experiment.all_rows, "words named before"
            )
            self._record("words named before", outcome, self.previous.decisive_words)
        frequencies = experiment.training.frequencies
        for test, recorded in self.previous.lists.items():
            # The same training texts give the same list, which is tested already.
            is_tested = test in self.lists and recorded.keys() == self.lists[test].labels.keys()
            if not recorded or is_tested:
                continue
            # The other lists have strengths of another kind, which are not recorded.
            strengths = self.previous.strengths if test == OWN_LIST_TEST else {}
            words = make_recorded_list(recorded, strengths, frequencies)
            # In the way of the first test, so that the same words are drawn as then.
            outcome = self._exchange_words(test, words)
            names = experiment.name_words(outcome, words)
            self._record(EARLIER_TESTS[test], outcome, names)

    def _swap_list(self, test: str, words: WordList) -> None:
        """Swap all words of a list at once."""
        experiment = self.experiment
        if not len(words):
            self.untested[test] = "the labeled texts offer no word that predicts a label"
            return
        if test in EARLIER_TESTS:
            self.lists[test] = words
        outcome = self._exchange_words(test, words)
        self._record(test, outcome, experiment.name_words(outcome, words))

    def _exchange_words(self, test: str, words: WordList) -> Outcome:
        """Exchange all words of a list at once, or of the model's own list the strongest one of each text."""
        experiment = self.experiment
        if test == OWN_LIST_TEST:
            # The model's own list was learned on the other items.
            return experiment.swap_strongest(words, experiment.testing_rows)
        return experiment.swap_list(words, experiment.all_rows, test)

    def _record(
        self,
        test: str,
        outcome: Outcome,
        words: tuple[str, ...] = (),
    ) -> None:
        """Note the outcome of a test, or that no item could be edited."""
        # Texts that are all of one length offer no other length, for instance.
        if outcome.is_edited.any():
            self.outcomes[test] = outcome
            self.names[test] = words
        else:
            self.untested[test] = "no item has anything to exchange"

    def _exchange_forms(self) -> None:
        """Exchange everything besides listed words: the form, the length, thirds, rare words."""
        experiment = self.experiment
        self._record("form", experiment.exchange_form())
        self._record("length", experiment.exchange("length", forms.take_length))
        self._record("rare words", experiment.swap_rare_words())
        self._record("any word", experiment.replace_neutral_words())
        self.thirds: dict[str, Outcome] = {}
        for third, name in enumerate(THIRDS):
            outcome = experiment.exchange_third(third)
            if outcome.is_edited.any():
                self.thirds[name] = outcome
        if len(self.thirds) < len(THIRDS):
            self.untested["place"] = "no item has three words"

    def _exchange_texts(self) -> None:
        """Exchange one text of a pair, and what its two texts share."""
        experiment = self.experiment
        if len(experiment.items[0]) < 2:
            return
        self._record("overlap", experiment.exchange_overlap())
        # What is exchanged is the other text.
        for name, column in zip(ONE_TEXT, (1, 0), strict=True):
            self._record(name, experiment.exchange_text(column))

    def _insert_words(self) -> None:
        """Insert, for each label, the word that makes it most often, and those that once did."""
        self.inserted: dict[Key, tuple[int, Outcome]] = {}
        for label in range(self.experiment.training.n_classes):
            inserted = self.experiment.insert_strongest(label, (self.own_list, self.label_list))
            if inserted is not None:
                key, outcome = inserted
                self.inserted[key] = label, outcome
        for key, label in self.previous.inserted.items():
            repeated = self.experiment.insert_word(key, label)
            if repeated is not None:
                self.inserted[key] = label, repeated

    # ------------------------------------------------------------------ effects

    def list_effects(self) -> list[FeatureEffect]:
        """Return the effects of all tests, with the error split evenly among them."""
        # Bonferroni over all tests of the question, so that its verdict as a whole keeps the level.
        n_tests = len(self.outcomes) + len(self.pairs) + len(self.inserted) + bool(self.thirds)
        self.corrected = self.resampling.correct_for_tests(max(n_tests, 1))
        effects = [self._measure_test(test) for test in self.outcomes]
        if len(self.thirds) == len(THIRDS):
            effects.append(self._measure_place())
        return effects

    def _measure_test(self, test: str) -> FeatureEffect:
        """Return the effect of a test, and for a decisive form its most effective part."""
        outcome = self.outcomes[test]
        words = self.names[test]
        if test in ONE_TEXT:
            effect = self.experiment.measure_fixed(outcome, self.corrected)
            return self._decide("one text alone", test, (), effect, outcome)
        effect = self.experiment.measure(outcome, self.corrected)
        row = self._decide(test, test, words, effect, outcome)
        if test == "form" and row.is_decisive:
            # Only a form that decides is worth the passes that find out which part of it does.
            name, marks = name_form_parts(self.experiment)
            row = dataclasses.replace(row, name=name, words=marks)
        return row

    def _measure_place(self) -> FeatureEffect:
        """Return the effect of the most effective third beyond that of the second one.

        Every third of a text carries meaning, so that exchanging it changes predictions. A model
        that relies on what stands in one place depends on one third much more than on the others.
        """
        experiment = self.experiment
        differences = {}
        for name, outcome in self.thirds.items():
            differences[name] = experiment.compute_differences(outcome)
        ordered = sorted(differences, key=lambda name: -differences[name].mean())
        largest, second = ordered[:2]
        outcome = self.thirds[largest]
        excess = differences[largest] - differences[second]
        # The excess of an item is the difference of two differences, and so between -2 and 2.
        interval = bounded_mean_interval(
            excess,
            low=-2.0,
            high=2.0,
            clusters=experiment.get_clusters(outcome.rows),
            confidence_level=self.corrected.level,
        )
        effect = dataclasses.replace(
            experiment.measure(outcome, self.corrected),
            deciding_share=float(excess.mean()),
            interval=interval,
        )
        return self._decide("place", largest, (), effect, outcome)

    def list_pairs(self, order: NDArray[np.intp]) -> list[PairChanges]:
        """Return the effect of each pair of words that any item has, largest first."""
        changes = []
        for pair, outcome in self.pairs.items():
            if outcome.is_edited.any():
                effect = self._measure_pair(pair, outcome)
                is_changed = self.experiment.is_changed(outcome)
                changes.append(PairChanges(pair, effect, order[outcome.rows], is_changed))
        return sorted(changes, key=lambda change: -change.effect.effect.deciding_share)

    def _measure_pair(self, pair: Pair, outcome: Outcome) -> FeatureEffect:
        effect = self.experiment.measure(outcome, self.corrected)
        name = " / ".join(pair.words)
        return self._decide("words", name, pair.predictive_words, effect, outcome)

    def measure_strongest_pair(self) -> FeatureEffect | None:
        """Return the effect of the strongest pair without selection bias.

        Even items are measured by the pair that changes most predictions of odd ones, and vice
        versa. If both halves agree, this is the effect of the pair on all items.
        """
        testing = self.experiment.testing_rows
        if not self.pairs or len(testing) < 2:
            return None
        pairs = list(self.pairs)
        table = np.empty((len(pairs), len(testing)))
        for index, outcome in enumerate(self.pairs.values()):
            # Pairs of the own list were measured on the last rows only.
            table[index] = self.experiment.compute_differences(outcome)[-len(testing) :]
        even_best = int(table[:, 0::2].mean(axis=1).argmax())
        odd_best = int(table[:, 1::2].mean(axis=1).argmax())
        if even_best == odd_best:
            outcome = self.pairs[pairs[even_best]]
            return self._measure_pair(pairs[even_best], outcome)

        # Each half is measured by the pair that the other half selected.
        is_odd = np.arange(len(testing)) % 2 == 1
        outcome = self._mix_outcomes(pairs[odd_best], pairs[even_best], is_odd)
        strongest = int(table.mean(axis=1).argmax())
        return self._measure_pair(pairs[strongest], outcome)

    def _mix_outcomes(self, pair: Pair, partner: Pair, mask: NDArray[np.bool_]) -> Outcome:
        """Return the outcome of a pair on the testing items, or of its partner if a mask is set."""
        rows = np.arange(-len(mask), 0)
        outcome = self.pairs[pair].take(rows)
        alternative = self.pairs[partner].take(rows)
        return dataclasses.replace(
            outcome,
            treated=np.where(mask, alternative.treated, outcome.treated),
            control=np.where(mask, alternative.control, outcome.control),
            goals=np.where(mask, alternative.goals, outcome.goals),
        )

    def list_insertions(self) -> list[FeatureEffect]:
        """Return how often the inserted word of each label makes it."""
        effects = []
        for key, (label, outcome) in self.inserted.items():
            # An item that has the word already cannot show what it makes.
            edited = outcome.take(np.flatnonzero(outcome.is_edited))
            if not len(edited.rows):
                continue
            # A change to any other label than that of the word is not what the test asks for.
            predictions = self.experiment.predictions[edited.rows]
            edited = dataclasses.replace(
                edited,
                treated=np.where(edited.treated == label, label, predictions),
                control=np.where(edited.control == label, label, predictions),
            )
            effect = self.experiment.measure(edited, self.corrected)
            row = self._decide("insertion", key[1], key[1:], effect, edited)
            effects.append(dataclasses.replace(row, label=label))
        return effects

    def _decide(
        self,
        test: str,
        name: str,
        words: tuple[str, ...],
        effect: DecidingShare,
        outcome: Outcome,
    ) -> FeatureEffect:
        """Return an effect with the decision whether it is above the margin of its test."""
        margin = TEST_MARGINS[test]
        n_items = len(outcome.rows)
        # Items of one cluster are one unit, of which a decision needs enough.
        n_units = count_units(self.experiment.get_clusters(outcome.rows), n_items)
        decision = decide_above(effect.estimate, margin, n_items, n_units)
        return FeatureEffect(test, name, words, effect, decision, level=self.resampling.level)

    # ------------------------------------------------------------------ summary

    def summarize(
        self,
        order: NDArray[np.intp],
        gold: Labels,
        *,
        n_available: int,
        n_duplicates: int,
    ) -> SwapMeasurement:
        """Return the measurement of all tests.

        Args:
            order: (N,) row of each measured item in the data.
            gold: (N,) labels, -1 for unlabeled items.
            n_available: Number of items in the data.
            n_duplicates: Number of measured items that nearly repeat an earlier one.
        """
        experiment = self.experiment
        # The effects of the tests come first: they set the corrected level.
        effects = self.list_effects()
        pair_changes = self.list_pairs(order)
        pairs = [change.effect for change in pair_changes]
        insertions = _sort_by_effect(self.list_insertions())
        if not pairs:
            self.untested["words"] = "no item has a word that predicts a label"
        # Only labeled items have an accuracy, but all items were tested.
        labeled = np.flatnonzero(gold >= 0)
        labels = gold[labeled]
        predictions = experiment.predictions[labeled]
        neutral_predictions = self._predict_neutral(labeled)
        return SwapMeasurement(
            rows=tuple(_sort_by_effect([*effects, *pairs[:1]])),
            untested=self.untested,
            pairs=tuple(pairs),
            insertions=tuple(insertions),
            strongest_pair=self.measure_strongest_pair(),
            accuracy=self._estimate_accuracy(predictions, labels),
            most_frequent=_compute_majority_rate(labels),
            accuracy_without=self._estimate_accuracy(neutral_predictions, labels),
            n_items=len(order),
            n_available=n_available,
            n_passes=experiment.n_asked,
            n_duplicates=n_duplicates,
            n_unstable=self._count_unstable(),
            swapped_items=tuple(self._list_swapped_items(order)),
            pair_changes=tuple(pair_changes),
            record=self._make_record([*effects, *pairs], insertions),
        )

    def _estimate_accuracy(self, predictions: Labels, labels: Labels) -> Estimate | None:
        """Return the share of predictions that are the label; None without labels."""
        n_correct = int(np.count_nonzero(predictions == labels))
        return estimate_share(n_correct, len(labels), self.resampling)

    def _make_record(
        self, effects: Sequence[FeatureEffect], insertions: Sequence[FeatureEffect]
    ) -> FeatureRecord:
        """Return the words that were tested, and those that decide, for a later audit."""
        decisive_words: set[str] = set()
        for effect in effects:
            if effect.is_decisive and effect.test in NAMING_TESTS:
                decisive_words.update(effect.words)
        # What one audit named is tested by every later one.
        pairs = dict.fromkeys(self.previous.decisive)
        for pair in self.pairs:
            if decisive_words & set(pair.predictive_words):
                pairs[pair] = None

        followed_words = {effect.words for effect in insertions if effect.decision.level == "large"}
        inserted = dict(self.previous.inserted)
        for key, (label, _) in self.inserted.items():
            if key[1:] in followed_words:
                inserted[key] = label
        lists = {test: dict(labels) for test, labels in self.previous.lists.items()}
        for test, words in self.lists.items():
            lists.setdefault(test, {}).update(words.labels)
        return FeatureRecord(
            pairs=tuple(self.pairs),
            lists=lists,
            strengths={**self.previous.strengths, **self.own_list.strengths},
            decisive=tuple(pairs),
            inserted=inserted,
        )

    def _predict_neutral(self, rows: NDArray[np.intp]) -> Labels:
        """Return the predictions with every listed word replaced by a neutral one."""
        outcome = self.experiment.neutralize(self.label_list, rows)
        # An item without listed words keeps its prediction.
        return np.where(outcome.treated >= 0, outcome.treated, self.experiment.predictions[rows])

    def _count_unstable(self) -> int:
        """Return how many unchanged items get another label when they are read again."""
        rows = self.experiment.learning_rows[:N_REPEATED]
        # The unchanged items were asked about again to learn the model's own list.
        n_unstable = 0
        for row in rows.tolist():
            label = self.experiment.get_label(self.experiment.items[row])
            # An item that the model could not score the second time has the label -1.
            is_scored = label >= 0
            if is_scored and label != self.experiment.predictions[row]:
                n_unstable += 1
        return n_unstable

    def _list_swapped_items(self, order: NDArray[np.intp]) -> Iterator[SwappedItem]:
        """Yield the edited items with their predictions, those of the strongest pairs first."""

        def count_changes(pair: Pair) -> int:
            return int(self.experiment.is_changed(self.pairs[pair]).sum())

        named_outcomes = []
        for pair in sorted(self.pairs, key=count_changes, reverse=True):
            name = " / ".join(pair.words)
            named_outcomes.append((name, self.pairs[pair]))
        named_outcomes += self.outcomes.items()
        named_outcomes += self.thirds.items()
        for name, outcome in named_outcomes:
            yield from self._list_edited_items(name, outcome, order)

    def _list_edited_items(
        self, name: str, outcome: Outcome, order: NDArray[np.intp]
    ) -> Iterator[SwappedItem]:
        """Yield the items that the edit of a feature changed."""
        # Most words are in few items, so that only the edited ones are visited.
        for index in np.flatnonzero(outcome.is_edited).tolist():
            text = outcome.texts[index]
            if text is None:
                continue
            yield SwappedItem(
                row=int(order[outcome.rows[index]]),
                feature=name,
                text=text,
                label=int(outcome.treated[index]),
                confidence=self.experiment.compute_confidence(text),
            )


def _compute_majority_rate(labels: Labels) -> float:
    """Return the share of the most frequent label; 0 without labels."""
    if not len(labels):
        return 0.0
    largest = np.bincount(labels).max()
    return float(largest / len(labels))


def _sort_by_effect(effects: Sequence[FeatureEffect]) -> list[FeatureEffect]:
    return sorted(effects, key=lambda row: -row.effect.deciding_share)
