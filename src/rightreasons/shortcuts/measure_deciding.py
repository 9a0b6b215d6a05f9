"""Measure what decides a model's predictions: words, lists of words, and everything besides words.

Two sources offer words: the labels of the training texts, and the model itself, which loses
confidence when a word that it relies on is left out. Single pairs of words are swapped one at a
time. Residual tests then ask whether anything else decides: all listed words at once, the words of
a single label if a few of them are in most texts, the strongest word of each text, in a list or not,
the form, the length, a third of the text, rare words. Each effect is the share of predictions that change, minus
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
from rightreasons.core.results import NOT_SERIALIZED, Result
from rightreasons.core.store import digest_value
from rightreasons.models.classes import predict
from rightreasons.shortcuts.experiment import (
    MAX_LEARNING_ITEMS,
    ONE_TEXT,
    THIRDS,
    Experiment,
    Outcome,
    SwapCounts,
    encode_clusters,
)
from rightreasons.shortcuts.swapping import forms
from rightreasons.shortcuts.swapping.duplicates import cluster_duplicates
from rightreasons.shortcuts.swapping.edits import Pair
from rightreasons.shortcuts.swapping.exclusive import list_exclusive_words
from rightreasons.shortcuts.swapping.naming import name_form_parts
from rightreasons.shortcuts.swapping.own_list import (
    MAX_LEFT_OUT,
    find_strongest_drops,
    learn_own_list,
    measure_drops,
)
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
"""Number of passes that replace a second of the former option `seconds`."""

N_PLANNING_ITEMS = 200
"""Number of items by whose length the passes per item are estimated."""

MIN_BUDGET_ITEMS = 100
"""Number of items that are measured even if the budget is smaller."""

NO_RECORD = FeatureRecord()
"""The record of no earlier audit."""

N_REPEATED = 50
"""Number of unchanged items that the model reads twice, to see whether its predictions are equal."""

STRONGEST_TEST = "strongest word per text"
"""Test of the word of each text whose removal lowers the confidence most, in a list or not."""

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
    # A reader's words decide up to .55 if each is the strongest of its text.
    STRONGEST_TEST: Margin(small=0.7, large=0.7),
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

Those that are not in `MARGINS` were chosen on models whose features are known; docs/shortcuts.md has
the table.
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
        "strongest word per text",
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
"""Test of a list -> test of the words that an earlier audit had in this list."""

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
        label: Label to which an inserted word flips predictions; -1 for other tests.
        counts: Numbers of items from which the effect is computed.
        runner_up: For the test "place", the effect of the second most effective third, which is
            subtracted from that of the first; None for other tests. audit.json does not store it.
    """

    test: str
    name: str
    words: tuple[str, ...]
    effect: DecidingShare
    decision: Decision
    level: float = 0.95
    label: int = -1
    counts: SwapCounts | None = None
    runner_up: FeatureEffect | None = dataclasses.field(default=None, metadata=NOT_SERIALIZED)

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


class _Insertion(NamedTuple):
    """The predictions after a word was inserted into items.

    Attributes:
        label: Label that the word is expected to make the model predict.
        outcome: Predictions after the insertion and after that of a control word.
    """

    label: int
    outcome: Outcome


class PairChanges(NamedTuple):
    """The predictions that the swap of a pair of words changes.

    Attributes:
        pair: The pair.
        effect: Its effect.
        rows: (M,) rows of the items on which the pair was tested, with or without its words.
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
        insertions: For each label, the effect of inserting the word that flips most predictions to
            it.
        strongest_pair: Effect of the strongest pair, selected and measured on different halves of
            the items; None without pairs.
        accuracy: Accuracy on the `n_labeled` items; None if there are none.
        most_frequent: Share of the most frequent gold label among them.
        accuracy_without: Accuracy with every word that predicts a label replaced by a neutral one.
        n_items: Number of items measured.
        n_available: Number of items in the data.
        n_labeled: Number of the measured items with a label.
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
    n_labeled: int
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
    item_clusters: list[Any] | None = None
    n_duplicates = 0
    if clusters is not None:
        item_clusters = [str(clusters[row]) for row in order.tolist()]
    else:
        # Items that repeat each other are one cluster: ten copies show no more than one.
        codes = cluster_duplicates([" ".join(item) for item in items])
        # A cluster has the number of its earliest item, so that all other items have another one.
        n_duplicates = int((codes != np.arange(len(items))).sum())
        if n_duplicates:
            item_clusters = codes.tolist()

    experiment = Experiment(
        _CachedScorer(source, out, options),
        training,
        items=items,
        predictions=np.asarray(predictions, dtype=np.int64)[order],
        ids=[str(ids[row]) for row in order.tolist()],
        clusters=encode_clusters(item_clusters, len(items)),
        seed=resampling.seed,
    )
    gold = np.full(len(items), -1)
    if labels is not None:
        gold = np.asarray(labels)[order]
    suite = _TestSuite(
        experiment,
        resampling,
        declared=[word.lower() for word in declared],
        # A word that the user calls a reason may decide, even if an earlier audit named it.
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
        "`seconds` is deprecated. Use `budget`, a number of passes, to make results independent "
        f"of the clock. Got {seconds:g} seconds, which are converted to budget={budget}.",
        FutureWarning,
        stacklevel=3,
    )
    return budget


def plan_items(columns: Sequence[Sequence[str]], training: TrainingTexts, budget: int) -> int:
    """Return the number of items that a budget of passes allows.

    All edits of an item take `PASSES_PER_ITEM` passes. On half of the items, but on at most
    `MAX_LEARNING_ITEMS`, each token is also left out once, up to `MAX_LEFT_OUT` tokens.

    Args:
        columns: One or two lists of N texts, of which the first ones are measured.
        training: Labeled texts, whose segmenter splits the items.
        budget: Number of passes of one item through the model.
    """
    lengths = []
    for row in range(min(len(columns[0]), N_PLANNING_ITEMS)):
        tokens = training.segmenter.split(get_item(columns, row))
        lengths.append(min(len(tokens), MAX_LEFT_OUT))
    mean_length = 0.0
    if lengths:
        mean_length = float(np.mean(lengths))
    n_items = budget / (PASSES_PER_ITEM + mean_length / 2)
    # If half of the items are more than the limit, the passes that leave out a token are constant.
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
    """Asks the model about items, and stores its answers in a folder.

    Attributes:
        source: A classifier or a class scorer.
        out: Folder of the answers; None to store none.
        options: Further options of `predict`.
    """

    source: Any
    out: str | os.PathLike[str] | None
    options: Mapping[str, Any]

    def __call__(self, texts: Sequence[Text]) -> NDArray[np.float64]:
        """Return the (M, K) scores of K labels; NaN for items that the model could not score.

        Args:
            texts: M items, each a tuple of one text, or of two texts for a task of pairs.
        """
        item_ids = [str(index) for index in range(len(texts))]
        folder = None
        if self.out is not None:
            # The folder is named by the content of the batch, so that a run that resumes finds it.
            folder = Path(self.out) / digest_value([list(text) for text in texts])
        second_texts = None
        if len(texts[0]) > 1:
            second_texts = [text[1] for text in texts]
        scores = predict(
            self.source,
            [text[0] for text in texts],
            text_pairs=second_texts,
            ids=item_ids,
            out=folder,
            **self.options,
        )
        logits = np.asarray(scores.logits, dtype=np.float64)
        values = np.full((len(texts), logits.shape[1]), np.nan)
        # Items that the model could not score are missing from `scores`, and keep their NaN.
        rows = [int(item_id) for item_id in scores.ids]
        # The margin between two scores of minus infinity, the logarithm of 0, would be undefined.
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
        """Run all tests, store their predictions, and correct the level for their number.

        Attributes:
            label_list: Words that predict a label in the training texts.
            drops: Tokens of the learning items, with the effect of leaving each out.
            own_list: Words whose removal lowers the model's confidence.
            pairs: Pair of words -> predictions after the swap of its words.
            thirds: Name of a third, such as "first third" -> predictions after its exchange.
            inserted: (column, word) -> predictions after the insertion of the word.
            outcomes: Any other test -> predictions after its edits.
            names: Test -> words by which the report names its feature.
            untested: Test -> reason why it could not be made.
            lists: Test -> list of words, for tests that a later audit repeats.
            corrected: The resampling at the level of a single test.
        """
        experiment = self.experiment
        self.label_list = experiment.training.list_by_labels()
        self.drops = measure_drops(experiment)
        self.own_list = learn_own_list(experiment, self.drops)
        self.pairs: dict[Pair, Outcome] = {}
        self.thirds: dict[str, Outcome] = {}
        self.inserted: dict[Key, _Insertion] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.names: dict[str, tuple[str, ...]] = {}
        self.untested: dict[str, str] = {}
        self.lists: dict[str, WordList] = {}
        self._swap_pairs()
        self._swap_lists()
        self._exchange_strongest_words()
        self._swap_earlier_lists()
        self._exchange_forms()
        self._exchange_texts()
        self._insert_words()

        # The error is split evenly among the tests, pairs and insertions (Bonferroni), so that the
        # verdict as a whole keeps the level.
        n_tests = len(self.outcomes) + len(self.pairs) + len(self.inserted)
        # The thirds are one test.
        if self.thirds:
            n_tests += 1
        self.corrected = self.resampling.correct_for_tests(max(n_tests, 1))

    # ------------------------------------------------------------------ tests

    def _swap_pairs(self) -> None:
        """Swap pairs of words one at a time, and store their outcomes in `pairs`.

        The pairs come from three sources: an earlier audit; words that predict a label in the
        training texts; and words whose removal lowers the model's confidence. The last were
        learned on the learning items, so that their pairs are only measured on the testing items.

        `previous` is the record of the earlier audit, `label_list` has the words that predict a
        label, and `own_list` those that matter to the model. `pairs` maps a pair to its outcome.
        """
        experiment = self.experiment
        training = experiment.training
        # Pairs of the earlier audit come first, so that a list cannot pair their words otherwise.
        label_pairs = pair_words(training, self.label_list, experiment.seed)
        for pair in dict.fromkeys([*self.previous.pairs, *label_pairs]):
            self.pairs[pair] = experiment.swap_pair(pair, experiment.all_rows)
        # Sets, because a pair is the same in either order of its words.
        tested_words = {frozenset(pair.predictive_words) for pair in self.pairs}
        for pair in pair_words(training, self.own_list, experiment.seed):
            # A pair of both lists is measured once, on all items.
            if frozenset(pair.predictive_words) not in tested_words:
                self.pairs[pair] = experiment.swap_pair(pair, experiment.testing_rows)

    def _swap_lists(self) -> None:
        """Test up to four lists of words, and store the outcomes or why a list has no test.

        1. All words that predict a label in the training texts.
        2. The model's own list: words whose removal lowers its confidence.
        3. Exclusive words: words whose texts have one label, if a few of them cover most texts.
        4. Declared words, which the user calls no reasons, if they predict a label.
        """
        self._swap_list("all listed words", self.label_list)
        if len(self.own_list):
            self._swap_list(OWN_LIST_TEST, self.own_list)
        else:
            self.untested[OWN_LIST_TEST] = "no removed word lowers the model's confidence"
        exclusive_words = list_exclusive_words(self.experiment.training)
        if exclusive_words is not None:
            self._swap_list("exclusive words", exclusive_words)
        else:
            self.untested["exclusive words"] = (
                "no short list of single-label words covers most of the training texts"
            )
        declared_keys = []
        for column, word in self.label_list.labels:
            if word in self.declared:
                declared_keys.append((column, word))
        if declared_keys:
            self._swap_list("declared words", self.label_list.restrict(declared_keys))

    def _exchange_strongest_words(self) -> None:
        """Exchange the strongest word of each learning item, and store the outcome.

        No list is needed: hundreds of words that occur in a few texts each may decide together.
        """
        experiment = self.experiment
        strongest = find_strongest_drops(self.drops, experiment.training.reasons)
        outcome = experiment.exchange_strongest(strongest)
        strengths = {drop.token.key: drop.size for drop in strongest.values()}
        names = experiment.name_words(outcome, strengths)
        self._store_outcome(STRONGEST_TEST, outcome, names)

    def _swap_earlier_lists(self) -> None:
        """Repeat the tests of an earlier audit: its decisive words together, and its word lists.

        The record of that audit has, for each test of a list, the label of each (column, word). A
        list with the same words as the current list of the test is not tested twice.
        """
        experiment = self.experiment
        if self.previous.decisive:
            # The words of all decisive pairs are swapped at once, by the swaps of each pair.
            outcome = experiment.swap_pairs(
                self.previous.decisive, experiment.all_rows, "words named before"
            )
            self._store_outcome("words named before", outcome, self.previous.decisive_words)
        for test, label_by_key in self.previous.lists.items():
            current_list = self.lists.get(test)
            is_tested = (
                current_list is not None and label_by_key.keys() == current_list.labels.keys()
            )
            if not label_by_key or is_tested:
                continue
            # Strengths are recorded for the model's own list only, whose strongest word of each
            # text is swapped. Other lists are swapped as a whole.
            strengths: Mapping[Key, float] = {}
            if test == OWN_LIST_TEST:
                strengths = self.previous.strengths
            frequencies = experiment.training.frequencies
            words = make_recorded_list(label_by_key, strengths, frequencies)
            # The name of the test seeds the swap. With the name of the earlier test, the same
            # replacements are drawn as in the earlier audit.
            outcome = self._exchange_words(test, words)
            names = experiment.name_words(outcome, words.strengths)
            self._store_outcome(EARLIER_TESTS[test], outcome, names)

    def _swap_list(self, test: str, words: WordList) -> None:
        """Run the test of a list of words, and store its outcome.

        Args:
            test: Name of the test.
            words: The list. If it is empty, the reason is noted in `untested`.
        """
        if not len(words):
            self.untested[test] = "the labeled texts offer no word that predicts a label"
            return
        # Lists that a later audit tests again are recorded.
        if test in EARLIER_TESTS:
            self.lists[test] = words
        outcome = self._exchange_words(test, words)
        names = self.experiment.name_words(outcome, words.strengths)
        self._store_outcome(test, outcome, names)

    def _exchange_words(self, test: str, words: WordList) -> Outcome:
        """Exchange the words of a list in all items, and return the predictions.

        Of the model's own list, only the strongest word of each text is exchanged, and only in the
        items on which the list was not learned.
        """
        experiment = self.experiment
        if test == OWN_LIST_TEST:
            return experiment.swap_strongest(words, experiment.testing_rows)
        return experiment.swap_list(words, experiment.all_rows, test)

    def _store_outcome(
        self,
        test: str,
        outcome: Outcome,
        words: tuple[str, ...] = (),
    ) -> None:
        """Store the outcome of a test; if no item could be edited, note that it is untested.

        The outcome goes to `outcomes`, and the words to `names`; an untested feature goes to
        `untested`, with the reason. The key is the name of the test.

        Args:
            test: Name of the test.
            outcome: Predictions after the edits. `is_edited` is whether each item was edited.
            words: Words by which the report names the feature; () if it does not consist of words.
        """
        # Texts of the same length, for instance, cannot take each other's length.
        if outcome.is_edited.any():
            self.outcomes[test] = outcome
            self.names[test] = words
        else:
            self.untested[test] = "no item has anything to swap"

    def _exchange_forms(self) -> None:
        """Exchange features of whole texts: form, length, rare words, any word, and thirds.

        "form" is how a text is written, such as its capitals and marks. "any word" replaces a
        neutral word by another one. The outcomes of the thirds are stored in `thirds`, those of
        the other tests in `outcomes`.
        """
        experiment = self.experiment
        self._store_outcome("form", experiment.exchange_form())
        self._store_outcome("length", experiment.exchange("length", forms.take_length))
        self._store_outcome("rare words", experiment.swap_rare_words())
        self._store_outcome("any word", experiment.replace_neutral_words())
        # The thirds are one test, "place": their effects are compared with each other.
        for third, name in enumerate(THIRDS):
            outcome = experiment.exchange_third(third)
            if outcome.is_edited.any():
                self.thirds[name] = outcome
        if len(self.thirds) < len(THIRDS):
            self.untested["place"] = "no item has at least three words"

    def _exchange_texts(self) -> None:
        """Test the words that the two texts of an item share, and whether one text is enough.

        Items of one text have neither test.
        """
        experiment = self.experiment
        n_texts = len(experiment.items[0])
        if n_texts < 2:
            return
        self._store_outcome("overlap", experiment.exchange_overlap())
        # Whether the first text alone decides is seen if the second one is exchanged, and vice
        # versa.
        for name, exchanged_column in zip(ONE_TEXT, (1, 0), strict=True):
            self._store_outcome(name, experiment.exchange_text(exchanged_column))

    def _insert_words(self) -> None:
        """Insert into the items, for each label, the word that flips most predictions to it.

        Words that an earlier audit recorded are inserted again. The outcomes are stored in
        `inserted`, by (column, word).
        """
        experiment = self.experiment
        for label in range(experiment.training.n_classes):
            strongest = experiment.insert_strongest(label, (self.own_list, self.label_list))
            # None of the lists may have a word of the label.
            if strongest is not None:
                key, outcome = strongest
                self.inserted[key] = _Insertion(label, outcome)
        for key, label in self.previous.inserted.items():
            repeated_outcome = experiment.insert_word(key, label)
            if repeated_outcome is not None:
                self.inserted[key] = _Insertion(label, repeated_outcome)

    # ------------------------------------------------------------------ effects

    def list_effects(self) -> list[FeatureEffect]:
        """Return the effects of all tests except pairs and insertions."""
        effects = [self._measure_test(test) for test in self.outcomes]
        if len(self.thirds) == len(THIRDS):
            effects.append(self._measure_place())
        return effects

    def _measure_test(self, test: str) -> FeatureEffect:
        """Return the share of predictions that the feature of a test decides, with its verdict.

        Args:
            test: Name of the test, a key of `outcomes`. A decisive "form" is described by its most
                effective part, such as "capitals and accents".
        """
        outcome = self.outcomes[test]
        if test in ONE_TEXT:
            # The evidence is the predictions that stay the same without the other text.
            fixed_effect = self.experiment.measure_fixed(outcome, self.corrected)
            return self._decide_effect("one text alone", test, (), fixed_effect, outcome)
        effect = self.experiment.measure(outcome, self.corrected)
        row = self._decide_effect(test, test, self.names[test], effect, outcome)
        # To find the most effective part takes further passes, so that it is only done if the form
        # is decisive.
        if test == "form" and row.is_decisive:
            part_name, marks = name_form_parts(self.experiment)
            row = dataclasses.replace(row, name=part_name, words=marks)
        return row

    def _measure_place(self) -> FeatureEffect:
        """Return the effect of the most effective third of a text, minus that of the second one.

        Every third of a text carries meaning, so that exchanging it changes predictions. A model
        that relies on one place of a text depends on one third much more than on the other two.
        """
        experiment = self.experiment
        # Name of a third -> for each item, whether its exchange changes the prediction, minus
        # whether the control does.
        differences_by_third = {}
        for name, outcome in self.thirds.items():
            differences_by_third[name] = experiment.compute_differences(outcome)
        thirds_by_effect = sorted(
            differences_by_third, key=lambda name: -differences_by_third[name].mean()
        )
        strongest, second = thirds_by_effect[:2]
        outcome = self.thirds[strongest]
        excess = differences_by_third[strongest] - differences_by_third[second]
        # Each difference of an item is -1, 0 or 1, so that their excess is between -2 and 2.
        interval = bounded_mean_interval(
            excess,
            low=-2.0,
            high=2.0,
            clusters=experiment.get_clusters(outcome.rows),
            confidence_level=self.corrected.level,
        )
        # No place decides more than all predictions. Beyond 1 lie only controls that by accident flip
        # more predictions than the second third does.
        effect = dataclasses.replace(
            experiment.measure(outcome, self.corrected),
            deciding_share=min(1.0, float(excess.mean())),
            interval=dataclasses.replace(interval, high=min(1.0, interval.high)),
        )
        row = self._decide_effect("place", strongest, (), effect, outcome)
        second_outcome = self.thirds[second]
        second_effect = experiment.measure(second_outcome, self.corrected)
        runner_up = self._decide_effect("place", second, (), second_effect, second_outcome)
        return dataclasses.replace(row, runner_up=runner_up)

    def list_pairs(self, order: NDArray[np.intp]) -> list[PairChanges]:
        """Return the predictions that each pair of words changes, the most effective pair first.

        A pair whose words are in no item is left out.

        Args:
            order: (N,) row of each measured item in the data.
        """
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
        return self._decide_effect("words", name, pair.predictive_words, effect, outcome)

    def measure_strongest_pair(self) -> FeatureEffect | None:
        """Return the effect of the strongest pair without selection bias; None without pairs.

        The largest of many measured effects is too large by chance. Therefore even items are
        measured with the pair that changes most predictions of odd items, and vice versa. If both
        halves select the same pair, the result is its effect on all items.
        """
        testing_rows = self.experiment.testing_rows
        n_testing = len(testing_rows)
        if not self.pairs or n_testing < 2:
            return None
        pairs = list(self.pairs)
        # (pairs, testing items) whether the swap changes the prediction and its control does not.
        differences = np.empty((len(pairs), n_testing))
        for index, outcome in enumerate(self.pairs.values()):
            # Pairs of the model's own list were measured on the testing items only, which come last.
            differences[index] = self.experiment.compute_differences(outcome)[-n_testing:]
        best_of_even = int(differences[:, 0::2].mean(axis=1).argmax())
        best_of_odd = int(differences[:, 1::2].mean(axis=1).argmax())
        if best_of_even == best_of_odd:
            pair = pairs[best_of_even]
            return self._measure_pair(pair, self.pairs[pair])

        is_odd = np.arange(n_testing) % 2 == 1
        outcome = self._mix_outcomes(pairs[best_of_odd], pairs[best_of_even], is_odd)
        # The effect is named after the pair that is strongest on all items.
        strongest = int(differences.mean(axis=1).argmax())
        return self._measure_pair(pairs[strongest], outcome)

    def _mix_outcomes(self, pair: Pair, partner: Pair, mask: NDArray[np.bool_]) -> Outcome:
        """Return predictions on the testing items, some after one swap and some after another.

        Args:
            pair: Pair that is swapped in items outside the mask.
            partner: Pair that is swapped in items of the mask.
            mask: (M,) mask of the testing items.
        """
        # The testing items are the last ones of each outcome.
        indices = np.arange(-len(mask), 0)
        outcome = self.pairs[pair].take(indices)
        alternative = self.pairs[partner].take(indices)
        return dataclasses.replace(
            outcome,
            treated=np.where(mask, alternative.treated, outcome.treated),
            control=np.where(mask, alternative.control, outcome.control),
            goals=np.where(mask, alternative.goals, outcome.goals),
            # The items were not edited by the swap of the same words.
            has_words=None,
        )

    def list_insertions(self) -> list[FeatureEffect]:
        """Return, for each inserted word, the share of items whose prediction flips to its label.

        Words that every item contains already have no effect to measure, and are left out.
        """
        effects = []
        for (_, word), (label, outcome) in self.inserted.items():
            # Items that contain the word already are not edited.
            edited = outcome.take(np.flatnonzero(outcome.is_edited))
            if not len(edited.rows):
                continue
            # Only a change to the label of the word counts: any other prediction is replaced by the
            # original one, as if nothing had changed.
            predictions = self.experiment.predictions[edited.rows]
            edited = dataclasses.replace(
                edited,
                treated=np.where(edited.treated == label, label, predictions),
                control=np.where(edited.control == label, label, predictions),
            )
            effect = self.experiment.measure(edited, self.corrected)
            row = self._decide_effect("insertion", word, (word,), effect, edited)
            effects.append(dataclasses.replace(row, label=label))
        return effects

    def _decide_effect(
        self,
        test: str,
        name: str,
        words: tuple[str, ...],
        effect: DecidingShare,
        outcome: Outcome,
    ) -> FeatureEffect:
        """Decide whether the effect of a feature exceeds the margin of its test, and return both.

        Args:
            test: Name of the test, which has the margin.
            name: Description of the feature.
            words: Words that the feature consists of; () if it does not consist of words.
            effect: Share of predictions that the feature decides.
            outcome: Predictions from which the effect was measured.
        """
        margin = TEST_MARGINS[test]
        n_items = len(outcome.rows)
        # Items of one cluster count as one unit.
        n_units = count_units(self.experiment.get_clusters(outcome.rows), n_items)
        decision = decide_above(effect.estimate, margin, n_items, n_units)
        return FeatureEffect(
            test,
            name,
            words,
            effect,
            decision,
            level=self.resampling.level,
            counts=self.experiment.count(outcome),
        )

    # ------------------------------------------------------------------ summary

    def summarize(
        self,
        order: NDArray[np.intp],
        gold: Labels,
        *,
        n_available: int,
        n_duplicates: int,
    ) -> SwapMeasurement:
        """Return the effects of all tests, the accuracies, and the record for a later audit.

        Args:
            order: (N,) row of each measured item in the data.
            gold: (N,) labels of the measured items, -1 for unlabeled items.
            n_available: Number of items in the data.
            n_duplicates: Number of measured items that nearly repeat an earlier one.
        """
        experiment = self.experiment
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
            n_labeled=len(labeled),
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
        """Return the words of this audit, merged with those that an earlier audit recorded.

        A later audit tests all of them again, even if its training texts no longer offer them.

        Args:
            effects: Effects of the tests and of the pairs of words, which show which pairs are
                decisive.
            insertions: Effects of inserted single words, which show which of them flip most
                predictions to their label.

        Returns:
            The record that a later audit reads as its `previous`.
        """
        # Name of a test -> the words that it swaps together: (column, word) -> predicted label.
        word_lists: dict[str, dict[Key, int]] = {}
        for test, earlier_labels in self.previous.lists.items():
            word_lists[test] = dict(earlier_labels)
        for test, word_list in self.lists.items():
            # A word that both audits list gets the label of this one.
            labels = word_lists.setdefault(test, {})
            labels.update(word_list.labels)

        return FeatureRecord(
            # The pairs of the earlier audit were tested again, so that they are among these.
            pairs=tuple(self.pairs),
            lists=word_lists,
            strengths={**self.previous.strengths, **self.own_list.strengths},
            decisive=self._select_decisive_pairs(effects),
            inserted=self._select_decisive_insertions(insertions),
        )

    def _select_decisive_pairs(self, effects: Sequence[FeatureEffect]) -> tuple[Pair, ...]:
        """Return the distinct pairs with a decisive word, those of the earlier audit first.

        Args:
            effects: Effects of the tests and of the pairs of words.
        """
        decisive_words: set[str] = set()
        for effect in effects:
            # The decisive words of other tests are recorded as lists.
            if effect.is_decisive and effect.test in NAMING_TESTS:
                decisive_words.update(effect.words)
        pairs = list(self.previous.decisive)
        for pair in self.pairs:
            if decisive_words.intersection(pair.predictive_words):
                pairs.append(pair)
        # The keys of a dictionary are distinct, and keep their order.
        return tuple(dict.fromkeys(pairs))

    def _select_decisive_insertions(self, effects: Sequence[FeatureEffect]) -> dict[Key, int]:
        """Return the inserted words with a large effect, and those that an earlier audit recorded.

        Args:
            effects: Effects of the inserted words, one word each.

        Returns:
            (column, word) -> label to which the inserted word flips predictions.
        """
        decisive_words: set[str] = set()
        for effect in effects:
            if effect.decision.level == "large":
                decisive_words.update(effect.words)
        label_by_key = dict(self.previous.inserted)
        for key, insertion in self.inserted.items():
            _, word = key
            if word in decisive_words:
                label_by_key[key] = insertion.label
        return label_by_key

    def _predict_neutral(self, rows: NDArray[np.intp]) -> Labels:
        """Return the predictions with every listed word replaced by a neutral one."""
        outcome = self.experiment.neutralize(self.label_list, rows)
        # An item without listed words keeps its prediction.
        return np.where(outcome.treated >= 0, outcome.treated, self.experiment.predictions[rows])

    def _count_unstable(self) -> int:
        """Count the unchanged items that get another label when the model reads them again.

        The model read these items a second time to learn its own list of words, so that no further
        pass is needed.
        """
        experiment = self.experiment
        n_unstable = 0
        for row in experiment.learning_rows[:N_REPEATED].tolist():
            label = experiment.get_label(experiment.items[row])
            # The label is -1 if the model could not score the item the second time.
            is_scored = label >= 0
            if is_scored and label != experiment.predictions[row]:
                n_unstable += 1
        return n_unstable

    def _list_swapped_items(self, order: NDArray[np.intp]) -> Iterator[SwappedItem]:
        """Yield the edited items of each pair of words, and then of the other tests.

        The pairs that change most predictions come first.

        Args:
            order: (N,) row of each measured item in the data.
        """

        def count_changes(pair: Pair) -> int:
            return int(self.experiment.is_changed(self.pairs[pair]).sum())

        named_outcomes: list[tuple[str, Outcome]] = []
        for pair in sorted(self.pairs, key=count_changes, reverse=True):
            pair_name = " / ".join(pair.words)
            named_outcomes.append((pair_name, self.pairs[pair]))
        named_outcomes.extend(self.outcomes.items())
        named_outcomes.extend(self.thirds.items())
        for name, outcome in named_outcomes:
            yield from self._list_edited_items(name, outcome, order)

    def _list_edited_items(
        self, feature: str, outcome: Outcome, order: NDArray[np.intp]
    ) -> Iterator[SwappedItem]:
        """Yield the edited text of each item that has a feature, with its new prediction.

        Args:
            feature: Name of the feature, such as "copper / marble".
            outcome: M edits of measured items. `texts` has the edited text, or None for an item
                without the feature, and `treated` the label that the model predicts for it, or -1.
            order: (N,) row of each measured item in the data of the user.
        """
        for index, text in enumerate(outcome.texts):
            if text is None:
                continue
            label = int(outcome.treated[index])
            # The model could not score the edited text.
            if label < 0:
                continue
            # The experiment shuffles the data, so that its rows are not those of the user.
            measured_row = outcome.rows[index]
            yield SwappedItem(
                row=int(order[measured_row]),
                feature=feature,
                text=text,
                label=label,
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
