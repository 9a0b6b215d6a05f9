"""Verify a repair: measure two models on the same items, as they are, without the words, and with the words swapped.

The words are those that the earlier report named. The repaired training texts would suggest none, because in them these
words are no longer associated with a label. `verify` is the entry point.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.errors import OptionError
from rightreasons.core.estimates import Estimate, estimate_share
from rightreasons.core.resampling import Resampling, item_rng
from rightreasons.core.results import Result
from rightreasons.core.significance import PairedTest, mcnemar
from rightreasons.models.classes import predict
from rightreasons.repairs.acceptance import (
    MIN_ITEMS,
    Criterion,
    require_at_least,
    require_at_most,
)
from rightreasons.repairs.own_table import select_rows
from rightreasons.repairs.training_set import list_columns
from rightreasons.repairs.words import NO_LABEL, SpuriousWords
from rightreasons.shortcuts.swapping.segments import Text

Labels = NDArray[np.int64]

MIN_DECIDED = 0.10
"""The words must decide at least this share before the repair, at the low end of its interval."""

MAX_DECIDED = 0.05
"""The words may decide at most this share afterwards."""

MAX_DECIDED_HIGH = 0.10
"""The high end of the interval of that share."""

MAX_GAP = 0.03
"""How far the accuracies with swapped words and without words may be apart afterwards."""

MAX_LOSS_WITHOUT = 0.02
"""How much accuracy on texts without the words may be lost."""

MAX_LOSS = 0.03
"""How much lower the accuracy on the unchanged texts may be than it was without the words.

The accuracy that the words added is no loss, because the repaired model no longer uses them.
"""

N_BINS = 10
"""Bins of the calibration error."""


@dataclasses.dataclass(frozen=True)
class Reading(Result):
    """Figures of a model on the audited items, with and without the spurious words.

    Attributes:
        unchanged: Accuracy on the items.
        removed: Accuracy on the items without the words.
        swapped: Accuracy on the items with the words swapped.
        decided: Share of predictions that change when the words are swapped.
        calibration_error: Top-label calibration error on the items without the words, in ten bins;
            None if unknown.
    """

    unchanged: Estimate
    removed: Estimate
    swapped: Estimate
    decided: Estimate
    calibration_error: float | None


@dataclasses.dataclass(frozen=True, eq=False)
class Verification:
    """Two models on the same items, before and after a repair.

    Attributes:
        readings: Figures of the first and of the repaired model.
        tests: "unchanged", "removed", "swapped" -> paired test of the accuracy, after minus before;
            only "unchanged" if the first model could not be queried.
        criteria: The conditions of the acceptance rule.
        rows: (N,) rows of the verified items among the audited ones.
        swapped: N items with the words swapped.
        predictions: (2, 2, N) predicted labels, by model (first, repaired), version of the items
            (unchanged, swapped) and item; -1 if the first model could not be queried.
    """

    readings: tuple[Reading, Reading]
    tests: dict[str, PairedTest]
    criteria: tuple[Criterion, ...]
    rows: NDArray[np.int64]
    swapped: Sequence[Text]
    predictions: NDArray[np.int64]

    @property
    def before(self) -> Reading:
        """The reading of the model before the repair."""
        return self.readings[0]

    @property
    def after(self) -> Reading:
        """The reading of the repaired model."""
        return self.readings[1]

    @property
    def has_first_model(self) -> bool:
        """Whether the first model was queried again, and not only read from its report."""
        # A report has no predictions for swapped items.
        return "swapped" in self.tests

    def list_swapped(self, items: Sequence[Text]) -> NDArray[np.intp]:
        """Return the indices of the verified items that the swap changes.

        Args:
            items: All audited items, of which the verified ones are some.
        """
        is_changed = []
        for row, swapped_item in zip(self.rows.tolist(), self.swapped, strict=True):
            is_changed.append(items[row] != swapped_item)
        return np.flatnonzero(is_changed)

    @property
    def repaired(self) -> bool:
        """Whether every condition of the acceptance rule holds."""
        return all(criterion.is_met for criterion in self.criteria)

    @property
    def n_items(self) -> int:
        """Number of verified items."""
        return len(self.rows)


@dataclasses.dataclass(frozen=True, eq=False)
class Versions:
    """The verified items in three versions.

    Attributes:
        rows: (N,) rows among the audited items.
        labels: (N,) gold labels.
        label_names: Names of the classes, in the order of the labels.
        original: N items.
        removed: N items without the words.
        swapped: N items with the words swapped.
    """

    rows: NDArray[np.int64]
    labels: Labels
    label_names: tuple[str, ...]
    original: list[Text]
    removed: list[Text]
    swapped: list[Text]

    def take(self, indices: NDArray[np.intp]) -> Versions:
        """Return the three versions of some of the items, given their indices."""
        return Versions(
            rows=self.rows[indices],
            labels=self.labels[indices],
            label_names=self.label_names,
            original=select_rows(self.original, indices),
            removed=select_rows(self.removed, indices),
            swapped=select_rows(self.swapped, indices),
        )

    def find_unseen(self, texts: Sequence[Text]) -> NDArray[np.intp]:
        """Return the indices of the items that are not among some texts.

        Raises:
            ValueError: If fewer than 100 items remain.
        """
        # Texts that differ only in spaces or letter case count as the same.
        seen_texts = set(map(_normalize, texts))
        is_unseen = [_normalize(item) not in seen_texts for item in self.original]
        indices = np.flatnonzero(is_unseen)
        _check_enough_items(len(indices), len(self.original))
        return indices


def write_versions(
    items: Sequence[Text],
    labels: Labels,
    words: SpuriousWords,
    *,
    ids: Sequence[str],
    label_names: tuple[str, ...],
    training: Sequence[Text],
    seed: int = 0,
) -> Versions:
    """Write two edited versions of the audited items: without the words, and with the words swapped.

    Items without a label are left out, as are items that are training texts or consist only of the
    words.

    Args:
        items: N audited items.
        labels: (N,) gold labels, -1 for unlabeled items.
        words: The words of the earlier report.
        ids: N ids, which with the seed determine the random swaps.
        label_names: Names of the classes, in the order of the labels.
        training: Training texts of both models.
        seed: Seed of the random swaps.

    Returns:
        The items in three versions: unchanged, without the words, and with the words swapped.

    Raises:
        ValueError: If fewer than 100 items remain.
    """
    seen_texts = {_normalize(text) for text in training}
    rows = []
    # The three versions stay aligned: an item that lacks one version is left out of all.
    removed = []
    swapped = []
    for row, item in enumerate(items):
        if labels[row] < 0 or _normalize(item) in seen_texts:
            continue
        stripped = words.remove(item)
        # A text of nothing but the words would be empty without them.
        if not all(column.strip() for column in stripped):
            continue
        rows.append(row)
        removed.append(stripped)
        swapped.append(words.swap(item, item_rng(seed, f"verify {ids[row]}")))
    _check_enough_items(len(rows), len(items))
    selected = np.array(rows, dtype=np.int64)
    original = [items[row] for row in rows]
    return Versions(selected, labels[selected], label_names, original, removed, swapped)


def _check_enough_items(n_unseen: int, n_items: int) -> None:
    """Check that enough items remain for a verification.

    Args:
        n_unseen: Number of items that are not training texts.
        n_items: Number of audited items.

    Raises:
        OptionError: If fewer than `MIN_ITEMS` remain.
    """
    if n_unseen < MIN_ITEMS:
        raise OptionError(
            f"Expected at least {MIN_ITEMS} labeled audited items that are not training texts, "
            f"but {n_unseen} of {n_items} remain. A repair cannot be verified on training texts.",
            option="report",
        )


def _normalize(item: Text) -> str:
    """Return the text of an item in lower case with single spaces, to recognize near copies."""
    words = [" ".join(column.lower().split()) for column in item]
    # No text contains this character, so that a pair never equals a single text.
    return "\0".join(words)


def verify(
    versions: Versions,
    before: Answers | ReportedAnswers,
    after: Answers,
    resampling: Resampling = Resampling(),
) -> Verification:
    """Compare two models on the same items, and apply the acceptance rule.

    Args:
        versions: The items in three versions: unchanged, without the words, with the words swapped.
        before: Predictions of the first model, or only those that its report has.
        after: Predictions of the repaired model.
        resampling: Confidence level of the intervals.

    Returns:
        Figures of both models, paired tests of their accuracies, and the conditions of acceptance.
    """
    # A report only has the first model's predictions for unchanged items.
    tests = {}
    for version, was_correct in before.correct.items():
        tests[version] = mcnemar(after.correct[version], was_correct)
    old_reading = before.summarize(resampling)
    new_reading = after.summarize(resampling)
    # (2, 2, N) of both models, for the unchanged and for the swapped items.
    predictions = np.array([[before.original, before.swapped], [after.original, after.swapped]])
    return Verification(
        readings=(old_reading, new_reading),
        tests=tests,
        criteria=list_criteria(old_reading, new_reading),
        rows=versions.rows,
        swapped=versions.swapped,
        predictions=predictions,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class Answers:
    """Predictions of a model for the three versions of the items.

    Attributes:
        labels: (N,) gold labels.
        original: (N,) label predicted for each item.
        swapped: (N,) label predicted with the words swapped.
        logits: (N, K) logits of the items without the words.
    """

    labels: Labels
    original: Labels
    swapped: Labels
    logits: NDArray[np.float64]

    @property
    def correct(self) -> dict[str, NDArray[np.bool_]]:
        """Version -> (N,) whether the prediction is correct."""
        return {
            "unchanged": self.original == self.labels,
            "removed": self.logits.argmax(axis=1) == self.labels,
            "swapped": self.swapped == self.labels,
        }

    def measure_decided(self, resampling: Resampling) -> Estimate:
        """Return the share of predictions that change when the words are swapped."""
        return _estimate(self.original != self.swapped, resampling)

    def take(self, indices: NDArray[np.intp]) -> Answers:
        """Return the answers to some of the items."""
        return Answers(
            labels=self.labels[indices],
            original=self.original[indices],
            swapped=self.swapped[indices],
            logits=self.logits[indices],
        )

    def summarize(self, resampling: Resampling) -> Reading:
        """Return the accuracy on each version, the share that the words decide, and a calibration error.

        The calibration error is that on the items without the words. With them, a model that
        follows a shortcut is both confident and correct, which would hide the error.

        Args:
            resampling: Confidence level of the intervals.
        """
        is_correct = self.correct
        error = calibration_error(self.logits, self.labels, n_bins=N_BINS, scores="logits")
        return Reading(
            unchanged=_estimate(is_correct["unchanged"], resampling),
            removed=_estimate(is_correct["removed"], resampling),
            swapped=_estimate(is_correct["swapped"], resampling),
            decided=self.measure_decided(resampling),
            calibration_error=float(error.ece),
        )


@dataclasses.dataclass(frozen=True, eq=False)
class ReportedAnswers:
    """Predictions in the report of a model that cannot be queried again.

    It may have been an object in the memory of another process, for example.

    Attributes:
        labels: (N,) gold labels.
        original: (N,) label predicted for each item.
        has_words: (N,) whether an item has any of the words.
        decided: Share of the predictions that the words decide, according to the report.
    """

    labels: Labels
    original: Labels
    has_words: NDArray[np.bool_]
    decided: float

    @property
    def swapped(self) -> Labels:
        """(N,) -1, because the report has no predictions for swapped items."""
        return np.full(len(self.labels), NO_LABEL)

    @property
    def correct(self) -> dict[str, NDArray[np.bool_]]:
        """Version -> (N,) whether the prediction is correct; only for the version "unchanged"."""
        return {"unchanged": self.original == self.labels}

    def take(self, indices: NDArray[np.intp]) -> ReportedAnswers:
        """Return the answers to some of the items."""
        return ReportedAnswers(
            labels=self.labels[indices],
            original=self.original[indices],
            has_words=self.has_words[indices],
            decided=self.decided,
        )

    def summarize(self, resampling: Resampling) -> Reading:
        """Return the figures of the first model that follow from its report.

        Its accuracy without the words is estimated from the items that have none of them. If there
        are fewer than `MIN_ITEMS` of these, the share of the most frequent label replaces it, which
        the repaired model has to exceed.

        Args:
            resampling: Confidence level of the intervals.
        """
        is_correct = self.original == self.labels
        # These items are the same with and without the words.
        is_correct_without_words = is_correct[~self.has_words]
        if len(is_correct_without_words) >= MIN_ITEMS:
            removed = _estimate(is_correct_without_words, resampling)
        else:
            most_frequent_share = np.bincount(self.labels).max() / len(self.labels)
            removed = Estimate(float(most_frequent_share))
        return Reading(
            unchanged=_estimate(is_correct, resampling),
            removed=removed,
            swapped=Estimate(None),
            decided=Estimate(self.decided),
            calibration_error=None,
        )


def read_versions(model: Any, versions: Versions) -> Answers:
    """Return a model's predictions for the unchanged items, without the words, and with swapped words.

    Args:
        model: A classifier with the classes of the report.
        versions: N items in the three versions, and the names of the classes.
    """
    # One call for all versions scores equal items once. Most items have none of the words.
    items = [*versions.original, *versions.swapped, *versions.removed]
    logits = score_items(model, items, versions.label_names)
    n_items = len(versions.original)
    original, swapped, removed = np.split(logits, [n_items, 2 * n_items])
    return Answers(
        labels=versions.labels,
        original=original.argmax(axis=1),
        swapped=swapped.argmax(axis=1),
        logits=removed,
    )


def check_classes(model: Any, label_names: Sequence[str]) -> None:
    """Check that a model has the classes of the audited one, in any order.

    Args:
        model: The model.
        label_names: Names of the audited model's classes.

    Raises:
        ValueError: If the names differ.
    """
    names = list(model.label_names or ())
    if sorted(names) != sorted(label_names):
        raise OptionError(
            f"Expected a model with the classes {', '.join(label_names)}, but {model.name} has "
            f"{', '.join(names) or 'none'}.",
            option="model",
        )


def score_items(
    model: Any, items: Sequence[Text], label_names: Sequence[str]
) -> NDArray[np.float64]:
    """Return the (N, K) logits of a model for items, with the classes in the given order.

    Equal items are scored once.

    Args:
        model: A classifier.
        items: N items, each a tuple of one or two texts.
        label_names: K names of the classes.

    Raises:
        ValueError: If the model has other classes.
    """
    check_classes(model, label_names)
    index_by_item: dict[Text, int] = {}
    for item in items:
        index_by_item.setdefault(item, len(index_by_item))
    columns = list_columns(list(index_by_item))
    second_texts = None
    if len(columns) > 1:
        second_texts = columns[1]
    scores = predict(model, columns[0], text_pairs=second_texts, progress=False)
    distinct_logits = np.asarray(scores.logits)

    rows = [index_by_item[item] for item in items]
    # The model may have its classes in another order.
    model_names = list(model.label_names)
    classes = [model_names.index(name) for name in label_names]
    logits = distinct_logits[rows][:, classes]
    return np.asarray(logits, dtype=np.float64)


def _estimate(flags: NDArray[np.bool_], resampling: Resampling) -> Estimate:
    # Never None: `write_versions` refuses to go on without items.
    return cast("Estimate", estimate_share(int(flags.sum()), len(flags), resampling))


def list_criteria(before: Reading, after: Reading) -> tuple[Criterion, ...]:
    """Return the conditions under which a repair is accepted, and whether each is met.

    The association of the words with labels in the repaired training texts is no condition, because
    the edit removes it by construction.

    Args:
        before: Figures of the first model on the audited items.
        after: Figures of the repaired model on the same items.

    Example:
        >>> def read(*values):
        ...     shares = [Estimate(value, value - 0.02, value + 0.02) for value in values]
        ...     return Reading(*shares, calibration_error=0.1)
        >>> before = read(0.95, 0.61, 0.06, 0.99)
        >>> [all(row.is_met for row in list_criteria(before, after)) for after in (
        ...     read(0.83, 0.83, 0.83, 0.00), read(0.85, 0.59, 0.30, 0.60))]
        [True, False]
    """
    # The repaired model is compared with the first one without the words: the accuracy that the
    # words added to it is no loss.
    old_accuracy = before.removed.value or 0.0
    accuracy = after.unchanged.value or 0.0
    accuracy_without_words = after.removed.value or 0.0
    accuracy_swapped = after.swapped.value or 0.0
    gap = abs(accuracy_swapped - accuracy_without_words)
    decided = after.decided.value or 0.0
    # The interval has a limit, too: by the estimate alone, a few items could pass by
    # chance.
    decided_high = decided
    if after.decided.high is not None:
        decided_high = after.decided.high
    return (
        require_at_most("decided", decided, MAX_DECIDED),
        require_at_most("decided_high", decided_high, MAX_DECIDED_HIGH),
        require_at_most("gap", gap, MAX_GAP),
        require_at_least("removed", accuracy_without_words, old_accuracy - MAX_LOSS_WITHOUT),
        require_at_least("unchanged", accuracy, old_accuracy - MAX_LOSS),
    )
