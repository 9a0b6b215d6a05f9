"""How many answers are correct, as harnesses count: one that cannot be read counts as incorrect.

`measure_answers` gives this share, its upper bound if all unread answers were correct, and the
accuracy by group, position and epoch.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.audited.answer_groups import MAX_GROUPS, AnswerGroup, measure_groups
from rightreasons.audited.answer_tables import (
    AnswerEpochs,
    AnswerPosition,
    make_epoch_table,
    make_position_table,
    make_reason_table,
    measure_epochs,
    measure_positions,
)
from rightreasons.audited.given_answers import GivenAnswers, collect_answers
from rightreasons.core.clusters import count_units, select_clusters
from rightreasons.core.estimates import Estimate, estimate_rate
from rightreasons.core.results import Result
from rightreasons.core.sentences import pluralize
from rightreasons.models.replies.gates import MAX_DEPENDENCE_P, compute_dependence
from rightreasons.page.formats import p_equals, percent
from rightreasons.page.parts import Column, Table

if TYPE_CHECKING:
    from rightreasons.audited.context import AuditContext

MAX_P_OF_WORST_GROUP = 0.05
"""Largest p-value at which the group with the lowest accuracy is named."""


@dataclasses.dataclass(frozen=True)
class AnswerFigures(Result):
    """Accuracy of the answers to a split; see `measure_answers`.

    Attributes:
        split: Name of the split.
        n_items: Number of labeled items, those without a readable answer included.
        n_units: Number of independent units: the samples of several epochs, or groups.
        accuracy: Share of correct answers; one that cannot be read counts as incorrect.
        standard_error: Standard error of the accuracy over units:
            sqrt(U / (U - 1) sum_u (sum of deviations in u)^2) / N. If every sample has the same
            number of epochs, it is that of inspect_ai. None for one unit.
        low: Accuracy if none of the unread answers is correct; equal to `accuracy`.
        high: Accuracy if all of the unread answers are correct.
        of_read: Share of correct answers among the read ones. None if no answer can be read.
        lacks: Reason -> number of answers that cannot be read for it; empty if all can be read.
        agreement: Share of pairs of answers to one sample that are both correct or both incorrect.
            None if each sample has one answer.
        groups: Accuracy by each further column of the data with at most twelve values, by position
            of the correct choice, and by length of the answer, the lowest first. Empty if it
            depends on the correct answer whether an answer can be read.
        unread_p: p-value of unread answers that do not depend on the correct answer
            (`compute_dependence`).
        positions: Picked and correct positions of the choices; empty without choices.
        epochs: Agreement of several answers to one item. None if each item has one.
        unserved: Reason -> number of further items whose request failed, was filtered, or was
            refused. No figure counts them.
    """

    split: str
    n_items: int
    n_units: int
    accuracy: Estimate
    standard_error: float | None
    low: float
    high: float
    of_read: Estimate | None
    lacks: Mapping[str, int]
    agreement: Estimate | None
    groups: tuple[AnswerGroup, ...]
    unread_p: float = 1.0
    positions: tuple[AnswerPosition, ...] = ()
    epochs: AnswerEpochs | None = None
    unserved: Mapping[str, int] = dataclasses.field(default_factory=dict)

    @property
    def is_unread_by_answer(self) -> bool:
        """Whether reading depends on the correct answer, so that the read ones are no sample."""
        return self.unread_p < MAX_DEPENDENCE_P

    @property
    def n_unread(self) -> int:
        """Number of answers that cannot be read."""
        return sum(self.lacks.values())

    @property
    def worst(self) -> str:
        """The group with significantly lower accuracy than the others, "" if there is none.

        Of several such groups, it is the one with the lowest accuracy. Example: "41.0% where
        subject is “algebra”".
        """
        accuracy_of_all = self.low
        # The groups are sorted by accuracy, the lowest first.
        for group in self.groups:
            if group.p_value is None or group.p_value >= MAX_P_OF_WORST_GROUP:
                continue
            accuracy = group.accuracy.value or 0.0
            # The test is two-sided: a significant group may also be better than the others.
            if accuracy < accuracy_of_all:
                return f"{percent(accuracy)} where {group.kind} is “{group.name}”"
        return ""

    @property
    def sentence(self) -> str:
        """The accuracy, and how many answers cannot be read, in one paragraph."""
        sentences = [f"{self._describe_accuracy()}{self._describe_unserved()}."]
        if self.n_unread:
            # An upper bound: the accuracy if each unread answer were correct.
            upper_bound = percent(self.high)
            sentences.append(
                f"{self.n_unread:,} cannot be read ({self.describe_unread()}) and count as incorrect; "
                f"if all of these were correct, the accuracy would be {upper_bound}."
            )
            if self.is_unread_by_answer:
                sentences.append(f"{self.describe_dependence()}.")
        return " ".join(sentences)

    def describe_unread(self) -> str:
        """Return why answers cannot be read, and how many for each reason."""
        return format_counts(self.lacks)

    def describe_dependence(self) -> str:
        """Return that reading depends on the correct answer, with the p-value; without a period."""
        p_value = p_equals(self.unread_p)
        return f"Whether an answer can be read depends on the correct answer (p {p_value})"

    def _describe_accuracy(self) -> str:
        """Return the accuracy with its interval, without a period.

        Example: "61.2% of 500 answers are correct [57.0%, 65.4%], over 100 samples".
        """
        accuracy = percent(self.low)
        ends = []
        for end in (self.accuracy.low, self.accuracy.high):
            # An interval may be undefined, for example for a single cluster.
            if end is not None:
                ends.append(percent(end))
        text = f"{accuracy} of {self.n_items:,} answers are correct [{', '.join(ends)}]"
        # Several answers to one sample are not independent.
        if self.n_units < self.n_items:
            text += f", over {self.n_units:,} samples"
        if self.worst:
            text += f"; {self.worst}"
        return text

    def _describe_unserved(self) -> str:
        """Return how many further items have no answer; "" if there are none.

        The text ends the sentence of `_describe_accuracy` and begins the next one, whose period is
        added by the caller.
        """
        if not self.unserved:
            return ""
        # A server refused them, so they show nothing about the answers of the model.
        items = pluralize(sum(self.unserved.values()), "further item")
        return f". Excluded: {items} without an answer ({format_counts(self.unserved)})"

    def list_tables(self) -> list[Table]:
        """Return the tables of the page: groups, positions, epochs, and unread answers."""
        tables = [self.table()]
        if self.positions:
            tables.append(make_position_table(self.positions))
        if self.epochs is not None:
            tables.append(make_epoch_table(self.epochs))
        if self.lacks:
            tables.append(make_reason_table(dict(self.lacks), self.n_items))
        return tables

    def table(self) -> Table:
        """Return a table of the page with the accuracy of all answers, then of each group."""
        all_answers = AnswerGroup("all", "", self.n_items, self.accuracy)
        rows = []
        for group in (all_answers, *self.groups):
            row = (
                group.kind,
                group.name,
                group.n_items,
                group.accuracy,
                group.p_value,
            )
            rows.append(row)
        return Table(
            key="answers",
            title="Accuracy by group",
            columns=(
                Column("kind", "Grouped by", "text"),
                Column("name", "Group", "text"),
                Column("n", "Answers", "count"),
                Column("right", "Accuracy", "share"),
                Column(
                    "p",
                    "p",
                    "p_value",
                    "Test of whether the other answers are correct as often, corrected for all "
                    "groups by Holm's method.",
                ),
            ),
            rows=tuple(rows),
            note="An unreadable answer counts as incorrect." if self.lacks else "",
        )


def format_counts(counts: Mapping[str, int]) -> str:
    """Return counts with their names as one string, in their order.

    Example:
        >>> format_counts({"refused": 2, "empty": 1})
        '2 refused, 1 empty'
    """
    return ", ".join(f"{count:,} {reason}" for reason, count in counts.items())


def measure_answers(context: AuditContext) -> AnswerFigures | None:
    """Measure the accuracy of the answers of a log or a prompted model to the primary split.

    An answer that cannot be read counts as incorrect, as evaluation harnesses count it.

    Args:
        context: The audit, scored.

    Returns:
        The figures; None if the model gives no answers, or no label is known.
    """
    answers = collect_answers(context)
    if answers is None:
        return None
    resampling = context.resampling
    accuracy = estimate_rate(answers.is_correct, resampling, answers.clusters)
    if accuracy is None:
        return None
    n_items = len(answers)
    is_read = answers.is_read
    read_clusters = select_clusters(answers.clusters, is_read)
    n_by_reason = Counter(reason for reason in answers.reasons if reason)
    n_unread = sum(n_by_reason.values())
    # Bounds: none, and all, of the unread answers are correct.
    lowest = float(answers.is_correct.mean())
    highest = lowest + n_unread / n_items
    epochs = measure_epochs(answers, resampling)
    agreement = None
    if epochs is not None:
        agreement = epochs.agreement
    unread_p = compute_dependence((~is_read).tolist(), _list_labels(answers))
    # If reading depends on the correct answer, different parts of each group are read, and groups
    # cannot be compared.
    groups: list[AnswerGroup] = []
    if unread_p >= MAX_DEPENDENCE_P:
        groups = measure_groups(answers, resampling)
    return AnswerFigures(
        split=context.primary.name,
        n_items=n_items,
        n_units=count_units(answers.clusters, n_items),
        accuracy=accuracy,
        standard_error=_compute_standard_error(answers),
        low=lowest,
        high=highest,
        of_read=estimate_rate(answers.is_correct[is_read], resampling, read_clusters),
        lacks=dict(n_by_reason.most_common()),
        agreement=agreement,
        groups=tuple(groups),
        unread_p=unread_p,
        positions=measure_positions(answers, resampling),
        epochs=epochs,
        unserved=answers.unserved,
    )


def _list_labels(answers: GivenAnswers) -> list[Any]:
    """Return (N,) the correct answer of each item, to test whether unread answers depend on it.

    If the correct answers are unknown or form no groups, each item has the value 0, so that the
    test finds no dependence.

    Args:
        answers: The answers to N items. In the task "confidence", their labels are 1 for a correct
            answer and 0 for an incorrect one; in other tasks, the correct choices or classes.
    """
    if answers.task != "confidence":
        return list(answers.labels.tolist())
    # The labels depend on whether an answer can be read: an unread one is incorrect. The correct
    # answers themselves are in the column "target", if the file has one.
    targets = answers.column("target")
    if targets is None:
        return [0] * len(answers)
    target_texts = [str(target) for target in targets]
    # Targets of open questions rarely repeat, and are no groups.
    if len(set(target_texts)) > MAX_GROUPS:
        return [0] * len(answers)
    return target_texts


def _compute_standard_error(answers: GivenAnswers) -> float | None:
    """Return the cluster-robust standard error of the accuracy; None for one cluster.

    With the deviations d_i of the N outcomes from their mean, it is
    sqrt(U / (U - 1) sum_u (sum of d_i in cluster u)^2) / N for U clusters.

    Args:
        answers: N answers, each with whether it is correct and its cluster. If there are no
            clusters, each item is a cluster.
    """
    n_items = len(answers)
    cluster_numbers = np.arange(n_items)
    if answers.clusters is not None:
        _, cluster_numbers = np.unique(answers.clusters, return_inverse=True)
    n_clusters = int(cluster_numbers.max()) + 1
    if n_clusters < 2:
        return None
    deviations = answers.is_correct - answers.is_correct.mean()
    # Items of a cluster may depend on each other, so that only their sum is one observation.
    cluster_sums = np.bincount(cluster_numbers, deviations)
    squares = (cluster_sums**2).sum()
    # As for a sample variance, this factor removes the bias of a small number of clusters.
    correction = n_clusters / (n_clusters - 1)
    return float(np.sqrt(correction * squares) / n_items)
