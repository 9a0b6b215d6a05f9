"""The items that show what a ranking found: those at which the models differ.

`list_disagreements` lists the items that some models answer correctly and others do not,
`list_evidence` the items at which the figure of a claim differs, and `make_example` makes one of
them an example of a page.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.ordering import to_sortable
from rightreasons.core.results import Result
from rightreasons.core.sentences import join_parts
from rightreasons.page.formats import percent
from rightreasons.page.parts import Example, Mark
from rightreasons.report.items.frame import average_by_id
from rightreasons.report.items.listing import MAX_CHARACTERS, shorten
from rightreasons.report.items.values import read_item_values
from rightreasons.report.ranking.answered_items import AnsweredItems
from rightreasons.report.ranking.findings import ReasonsFinding
from rightreasons.report.ranking.groups import ReportGroup
from rightreasons.report.ranking.models import Ranking
from rightreasons.report.ranking.verdicts import get_result

MAX_ITEMS = 24
"""Largest number of items in a table."""

MAX_PATTERNS = 12
"""Largest number of disagreements in the table of correct and incorrect models."""


@dataclasses.dataclass(frozen=True)
class ModelAnswer(Result):
    """Answer of a model to an item.

    Attributes:
        model: Name of the model.
        prediction: Name of the prediction; "" if it is unread or not stored.
        is_correct: Whether it is correct.
        confidence: Confidence in it; None if there is none.
        value: Value of the item at the figure of a claim; None if it has none.
    """

    model: str
    prediction: str
    is_correct: bool
    confidence: float | None
    value: float | None = None

    @property
    def outcome(self) -> str:
        """The prediction, or whether the answer is correct if its prediction is not stored."""
        if self.prediction:
            return self.prediction
        return "correct" if self.is_correct else "incorrect"


@dataclasses.dataclass(frozen=True)
class RankedItem(Result):
    """An item with the answers of all compared models.

    Attributes:
        id: Its id.
        text: Its text, cut to `MAX_CHARACTERS`; "" if the reports do not store it.
        label: Name of its label; "" if the reports do not store it.
        answers: Answer of each model, in the order of the ranking.
    """

    id: str
    text: str
    label: str
    answers: tuple[ModelAnswer, ...]


@dataclasses.dataclass(frozen=True)
class OutcomePattern(Result):
    """The items that the same models answer correctly.

    Attributes:
        correct: Names of the models whose answer is correct.
        incorrect: Names of the models whose answer is not.
        n_items: Number of items.
        item: Id of one of them, the first in the table of items; "" if the table has none.
    """

    correct: tuple[str, ...]
    incorrect: tuple[str, ...]
    n_items: int
    item: str = ""


@dataclasses.dataclass(frozen=True)
class ItemTable(Result):
    """Items at which models differ.

    Attributes:
        n_items: Number of all such items.
        items: `MAX_ITEMS` of them, or all.
    """

    n_items: int = 0
    items: tuple[RankedItem, ...] = ()


class GroupItems:
    """The items that all compared models answered, by rows.

    Args:
        group: The reports, with at least one of them compared.

    Attributes:
        names: Names of the M models.
        answers: Answers of each model to the N items.
        ids: N ids.
        is_correct: (N, M) whether the answer of each model is correct.
    """

    def __init__(self, group: ReportGroup) -> None:
        """Collect the items of a group."""
        self.names = [report.name for report in group.compared]
        self.answers = group.answers
        self.ids = self.answers[0].ids
        flags = [answers.is_correct for answers in self.answers]
        self.is_correct: NDArray[np.bool_] = np.stack(flags, axis=1)

    def make(self, row: int, values: Mapping[str, NDArray[np.float64]] | None = None) -> RankedItem:
        """Return an item with the answers of all models.

        Args:
            row: Row of the item.
            values: Name of a model -> (N,) its values at a figure. None for no figure.
        """
        model_answers = []
        for index, name in enumerate(self.names):
            value = None
            if values is not None:
                value = _drop_nan(values[name][row])
            answer = _make_answer(name, self.answers[index], row)
            model_answers.append(dataclasses.replace(answer, value=value))
        # An answer that one model lacks has no text and no label in its report.
        text = ""
        label = -1
        for answers in self.answers:
            text = text or answers.texts[row] or ""
            label = max(label, int(answers.labels[row]))
        return RankedItem(
            id=self.ids[row],
            text=shorten(" ".join(text.split()), MAX_CHARACTERS),
            label=self.answers[0].name_class(label),
            answers=tuple(model_answers),
        )

    def sort_by_id(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Sort items by their ids, so that the order of the file does not matter."""
        ids = [self.ids[row] for row in rows.tolist()]
        return rows[np.argsort(to_sortable(ids), kind="stable")]

    def sort_by_error(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Sort items by the mean confidence of their incorrect answers, the largest first."""
        rows = self.sort_by_id(rows)
        sums = np.zeros(len(rows))
        n_errors = np.zeros(len(rows))
        for answers in self.answers:
            confidences = answers.confidences[rows]
            # Answers without a confidence do not count.
            is_error = ~answers.is_correct[rows] & np.isfinite(confidences)
            sums[is_error] += confidences[is_error]
            n_errors += is_error
        means = sums / np.maximum(n_errors, 1)
        # Equal confidences may differ by rounding. They keep the order of the ids.
        return rows[np.argsort(-np.round(means, 9), kind="stable")]


def _make_answer(model: str, answers: AnsweredItems, row: int) -> ModelAnswer:
    """Return the answer of a model to an item.

    Args:
        model: Name of the model.
        answers: Its answers.
        row: Row of the item.
    """
    predicted = int(answers.predicted[row])
    return ModelAnswer(
        model=model,
        prediction=answers.name_class(predicted),
        is_correct=bool(answers.is_correct[row]),
        confidence=_drop_nan(answers.confidences[row]),
    )


def _drop_nan(value: float) -> float | None:
    """Return a number, or None for NaN."""
    return None if math.isnan(value) else float(value)


# ------------------------------------------------------------------------------- disagreements


def list_disagreements(group: ReportGroup) -> tuple[tuple[OutcomePattern, ...], ItemTable]:
    """List the items that some models answer correctly and others incorrectly.

    Args:
        group: The reports. Only those with the same items are compared.

    Returns:
        The number of items for each set of correct models: the `MAX_PATTERNS` most frequent
        disagreements, then the items on which all models are correct or none is; and the items,
        of which each of these disagreements has some.
    """
    if len(group.compared) < 2:
        return (), ItemTable()
    items = GroupItems(group)
    outcomes, codes = np.unique(items.is_correct, axis=0, return_inverse=True)
    # Some versions of numpy return the codes as a column.
    codes = codes.reshape(-1)
    counts = np.bincount(codes, minlength=len(outcomes))
    n_correct = outcomes.sum(axis=1)
    is_split = (n_correct > 0) & (n_correct < len(items.names))
    # The most frequent disagreement comes first; of equals, that with the better models correct.
    is_missed_by_model = (~outcomes).T
    # `lexsort` sorts by its last key first.
    keys = (*is_missed_by_model[::-1], -counts)
    ranked_codes = np.lexsort(keys)
    has_disagreement = is_split[ranked_codes]
    split_codes = ranked_codes[has_disagreement][:MAX_PATTERNS]

    patterns = []
    displayed: list[RankedItem] = []
    # Each disagreement has some items, also a rare one.
    n_per_pattern = math.ceil(MAX_ITEMS / max(len(split_codes), 1))
    for code in split_codes.tolist():
        rows = items.sort_by_error(np.flatnonzero(codes == code))
        n_rows = min(n_per_pattern, MAX_ITEMS - len(displayed))
        selected = list(map(items.make, rows[:n_rows].tolist()))
        displayed += selected
        item = selected[0].id if selected else ""
        pattern = _make_pattern(items.names, outcomes[code], len(rows), item)
        patterns.append(pattern)
    for code in ranked_codes[~has_disagreement].tolist():
        n_items = int(counts[code])
        patterns.append(_make_pattern(items.names, outcomes[code], n_items))
    n_split = int(counts[is_split].sum())
    return tuple(patterns), ItemTable(n_split, tuple(displayed))


def _make_pattern(
    names: Sequence[str], is_correct: NDArray[np.bool_], n_items: int, item: str = ""
) -> OutcomePattern:
    """Return the number of items that some models answer correctly, and the others do not.

    Args:
        names: Names of M models.
        is_correct: (M,) whether each of them is correct.
        n_items: Number of items.
        item: Id of one of the items.
    """
    correct = []
    incorrect = []
    for name, is_model_correct in zip(names, is_correct.tolist(), strict=True):
        if is_model_correct:
            correct.append(name)
        else:
            incorrect.append(name)
    return OutcomePattern(tuple(correct), tuple(incorrect), n_items, item)


# ----------------------------------------------------------------------------------- evidence


def list_evidence(ranking: Ranking, finding: ReasonsFinding) -> ItemTable:
    """List the items at which the model of a claim is worse than all significantly better models.

    Args:
        ranking: The ranking.
        finding: Its finding about reasons.

    Returns:
        The items, the largest difference first; of equals, those that all models answer correctly,
        and that the report shows as examples. None if no tested figure shows the finding.
    """
    if not finding.figure.better:
        return ItemTable()
    items = GroupItems(ranking.group)
    values = _read_values(ranking.group, items, finding)
    differences = []
    for model in finding.figure.better:
        difference = values[finding.model] - values[model.name]
        # Of an accuracy, less is worse.
        if finding.figure.direction == "less":
            difference = -difference
        differences.append(difference)
    # An item without a value of one of the models shows nothing.
    smallest_differences = np.min(differences, axis=0)
    smallest_differences[np.isnan(smallest_differences)] = -1.0
    rows = items.sort_by_id(np.flatnonzero(smallest_differences > 0))

    examples = list_report_examples(ranking, finding)
    is_unmarked = []
    for row in rows.tolist():
        is_unmarked.append(items.ids[row] not in examples)
    # An answer that is correct without being right for the right reasons shows the finding best.
    is_missed = ~items.is_correct[rows].all(axis=1)
    keys = (np.array(is_unmarked), is_missed, -smallest_differences[rows])
    order = np.lexsort(keys)
    selected = []
    for row in rows[order][:MAX_ITEMS].tolist():
        selected.append(items.make(row, values))
    return ItemTable(len(rows), tuple(selected))


def _read_values(
    group: ReportGroup, items: GroupItems, finding: ReasonsFinding
) -> dict[str, NDArray[np.float64]]:
    """Return name of a model -> (N,) its values at the figure of a claim, NaN for missing ones."""
    values = {}
    for report in group.compared:
        value_by_id: dict[str, float] = {}
        # A report without the question has no such figure.
        if report.name not in finding.missing:
            result = get_result(report.audit, finding.question)
            figures = read_item_values(report.folder, finding.question, result)
            if finding.figure.key in figures:
                figure = figures[finding.figure.key]
                value_by_id = average_by_id(figure.ids, figure.values)
        item_values = [value_by_id.get(item_id, math.nan) for item_id in items.ids]
        values[report.name] = np.array(item_values)
    return values


# ------------------------------------------------------------------------------------ example


def make_example(item: RankedItem, note: str = "", marked: Example | None = None) -> Example:
    """Return an item as an example of a page.

    Args:
        item: The item.
        note: Remark.
        marked: The same item in a report, whose text has marks; None for none.
    """
    names_by_outcome: dict[str, list[str]] = {}
    for answer in item.answers:
        names_by_outcome.setdefault(answer.outcome, []).append(answer.model)
    outcomes = []
    for outcome, names in names_by_outcome.items():
        outcomes.append(f"{outcome} ({join_parts(names)})")
    prediction = "; ".join(outcomes)
    # The page compares the names of prediction and label to see whether the example is correct.
    if item.label and list(names_by_outcome) == [item.label]:
        prediction = item.label
    text = item.text
    marks: tuple[Mark, ...] = ()
    if marked is not None:
        text = marked.text
        marks = marked.marks
    return Example(
        id=item.id,
        text=text,
        label=item.label,
        prediction=prediction,
        confidence=None,
        marks=marks,
        note=note,
    )


def list_report_examples(ranking: Ranking, finding: ReasonsFinding) -> dict[str, Example]:
    """Return id -> example, for the examples by which a report shows a finding, the best one first.

    Args:
        ranking: The ranking.
        finding: Its finding about reasons; without a model, there are no examples.
    """
    examples: dict[str, Example] = {}
    for report in ranking.group.reports:
        if report.name != finding.model:
            continue
        result = get_result(report.audit, finding.question)
        # The first screen of the report has an example, and a list has further ones of its kind.
        finding_record = result["finding"] or {}
        records = list(finding_record.get("pair", ()))
        for section_part in result["parts"]:
            for example_list in section_part["examples"]:
                if records and records[0] in example_list["examples"]:
                    records += example_list["examples"]
        for record in records:
            marks = tuple(Mark(**mark) for mark in record["marks"])
            example = Example(**{**record, "marks": marks})
            examples.setdefault(example.id, example)
    return examples


def describe_confidences(item: RankedItem) -> str:
    """Return the confidences of the models in their answers to an item; "" if they have none."""
    texts = []
    for answer in item.answers:
        if answer.confidence is not None:
            texts.append(f"{answer.model} {percent(answer.confidence)}")
    if not texts:
        return ""
    return f"Confidence: {', '.join(texts)}."
