"""The answers of several reports to the same items, as the accuracy of each report counts them.

`read_answers` reads those of one report, `match_answers` gives two reports the same classes, and
`align_answers` selects the items that all reports share.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.predictions_file import Predictions, read_predictions
from rightreasons.core.scores import Scores
from rightreasons.models.running import NO_WORDS
from rightreasons.report.pairing import get_prediction_files, match_classes
from rightreasons.report.schema import check_files, get_names, list_class_names

MIN_ITEMS = 10
"""Number of shared items with which a report is compared with others, if it has that many."""


@dataclasses.dataclass(frozen=True, eq=False)
class AnsweredItems:
    """Answers of a model to the labeled items of a report.

    Attributes:
        ids: N ids.
        texts: N texts. None for an answer that cannot be read, as reports do not store its text.
        labels: (N,) labels in the model's numbering, -1 if the report does not store them.
        predicted: (N,) predictions in the same numbering, -1 if they are unread or not stored.
        class_names: K names of the classes; empty for a task without classes.
        confidences: (N,) confidence in each prediction, NaN if there is none.
        is_correct: (N,) whether each answer is correct; one that cannot be read is not.
        clusters: N names of samples that were answered several times; None for independent items.
    """

    ids: tuple[str, ...]
    texts: tuple[str | None, ...]
    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    class_names: tuple[str, ...]
    confidences: NDArray[np.float64]
    is_correct: NDArray[np.bool_]
    clusters: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: NDArray[np.intp]) -> AnsweredItems:
        """Return the answers to some of the items, in the order of their rows."""
        clusters = None
        if self.clusters is not None:
            clusters = _take(self.clusters, rows)
        return dataclasses.replace(
            self,
            ids=_take(self.ids, rows),
            texts=_take(self.texts, rows),
            labels=self.labels[rows],
            predicted=self.predicted[rows],
            confidences=self.confidences[rows],
            is_correct=self.is_correct[rows],
            clusters=clusters,
        )

    def name_class(self, number: int) -> str:
        """Return the name of a class or a choice; "" for -1."""
        if number < 0:
            return ""
        if self.class_names:
            return self.class_names[number]
        return f"choice {number + 1}"

    def rename_classes(
        self, class_of: NDArray[np.int64], class_names: Sequence[str]
    ) -> AnsweredItems:
        """Return the answers with the numbers and the names that another model gives the classes.

        Args:
            class_of: (K,) number of the other model's class for each class.
            class_names: K names of the other model's classes.
        """
        # The last entry is the number of an unknown class, -1.
        numbers = np.append(class_of, -1)
        return dataclasses.replace(
            self,
            labels=numbers[self.labels],
            predicted=numbers[self.predicted],
            class_names=tuple(class_names),
        )

    def find_rows(self, ids: Sequence[str]) -> NDArray[np.intp]:
        """Return the rows of some items.

        Args:
            ids: Ids of items that are all among those of the report.
        """
        row_by_id = {item_id: row for row, item_id in enumerate(self.ids)}
        return np.array([row_by_id[item_id] for item_id in ids], dtype=np.intp)


NO_ANSWERS = AnsweredItems(
    ids=(),
    texts=(),
    labels=np.zeros(0, dtype=np.int64),
    predicted=np.zeros(0, dtype=np.int64),
    class_names=(),
    confidences=np.zeros(0),
    is_correct=np.zeros(0, dtype=np.bool_),
)
"""The answers of a report that does not store them."""


def _take(values: Sequence[Any], rows: NDArray[np.intp]) -> tuple[Any, ...]:
    return tuple(values[row] for row in rows.tolist())


def read_answers(folder: Path, audit: Mapping[str, Any]) -> AnsweredItems:
    """Read the answers of a report to the labeled items of its primary split.

    Args:
        folder: The folder of the report.
        audit: Content of its audit.json.

    Returns:
        The answers. They are empty if the report does not store the answers that its accuracy
        counts, so that they cannot be paired with those of another report.

    Raises:
        ValueError: If the file of predictions has changed.
    """
    primary = audit["dataset"]["primary"]
    file = get_prediction_files(audit).get(primary)
    # A folder may hold nothing but audit.json.
    if file is None or not (folder / file).is_file():
        return NO_ANSWERS
    check_files(folder, audit, [file])
    answers = _make_answers(audit, read_predictions(folder / file))
    answers = _add_unread(answers, _list_unread_ids(audit))

    # A harness may count an answer as correct for reasons that its log does not contain. The
    # paired tests must be about the accuracy of the report.
    counted = audit["answers"]
    n_correct = round(counted["accuracy"]["value"] * counted["n_items"])
    if len(answers) != counted["n_items"] or int(answers.is_correct.sum()) != n_correct:
        return NO_ANSWERS
    if counted["n_units"] == counted["n_items"]:
        return answers
    clusters = _find_samples(answers.ids)
    # Items that depend on each other in an unknown way cannot be tested.
    if len(set(clusters)) != counted["n_units"]:
        return NO_ANSWERS
    return dataclasses.replace(answers, clusters=clusters)


def _make_answers(audit: Mapping[str, Any], predictions: Predictions) -> AnsweredItems:
    """Return the answers to the labeled items of a file of predictions.

    Args:
        audit: Content of audit.json.
        predictions: The predictions.
    """
    is_labeled = predictions.labels >= 0
    # In this task, the label is 1 if the given answer is correct, and the answers are not stored.
    if audit["model"]["task"] == "confidence":
        labels = np.full(len(predictions), -1)
        predicted = labels
        is_correct = predictions.labels == 1
        # Scores are the logarithms of the probabilities of an incorrect and of a correct answer.
        confidences = np.exp(np.asarray(predictions.logits)[:, 1])
    else:
        scores = Scores(predictions.ids, predictions.logits)
        labels = predictions.labels
        predicted = scores.predicted
        is_correct = predicted == labels
        confidences = scores.confidence
    # Reports of earlier versions lack the field, and had a confidence.
    if audit["model"].get("has_confidence") is False:
        confidences = np.full(len(predictions), np.nan)
    answers = AnsweredItems(
        ids=tuple(predictions.ids),
        texts=tuple(map(" / ".join, predictions.items)),
        labels=labels,
        predicted=predicted,
        class_names=tuple(list_class_names(audit)),
        confidences=confidences,
        is_correct=is_correct,
    )
    return answers.take(np.flatnonzero(is_labeled))


def _list_unread_ids(audit: Mapping[str, Any]) -> list[str]:
    """Return the ids of the items whose answer cannot be read, which count as incorrect.

    Args:
        audit: Content of audit.json. Its items without a score also include those without words
            and those whose request was not served, which do not count.
    """
    unserved = audit["answers"].get("unserved", {})
    ids = []
    for split in audit["dataset"]["splits"]:
        # The accuracy is about the primary split.
        if split["name"] != audit["dataset"]["primary"]:
            continue
        for item in split.get("left_out", ()):
            reason = item["reason"]
            is_asked = reason != NO_WORDS and reason not in unserved
            if is_asked:
                ids.append(item["id"])
    return ids


def _add_unread(answers: AnsweredItems, ids: Sequence[str]) -> AnsweredItems:
    """Return answers with those that cannot be read at the end.

    Args:
        answers: The answers that can be read.
        ids: Ids of the items whose answer cannot be read.
    """
    n_unread = len(ids)
    unknown = np.full(n_unread, -1)
    return dataclasses.replace(
        answers,
        ids=(*answers.ids, *ids),
        texts=(*answers.texts, *[None] * n_unread),
        labels=np.append(answers.labels, unknown),
        predicted=np.append(answers.predicted, unknown),
        confidences=np.append(answers.confidences, np.full(n_unread, np.nan)),
        is_correct=np.append(answers.is_correct, np.zeros(n_unread, dtype=np.bool_)),
    )


def _find_samples(ids: Sequence[str]) -> tuple[str, ...]:
    """Return the sample of each answer, if the ids are those of a log with several epochs.

    Example:
        >>> _find_samples(["7/1", "8/1", "7/2"])
        ('7', '8', '7')
    """
    samples = []
    for item_id in ids:
        sample, _, _ = item_id.rpartition("/")
        samples.append(sample)
    return tuple(samples)


def match_answers(
    audits: tuple[Mapping[str, Any], Mapping[str, Any]],
    answers: tuple[AnsweredItems, AnsweredItems],
) -> AnsweredItems:
    """Return the answers of a second report with the classes of a first one, after a check.

    Args:
        audits: Contents of audit.json of two reports of the same kind of task.
        answers: Their answers.

    Raises:
        ValueError: If items with the same id are not the same in both reports.
    """
    reference, matched = answers
    # Without texts and labels, nothing but the name of the data shows what the ids are about.
    is_anonymous = not any(reference.texts) and not (reference.labels >= 0).any()
    if is_anonymous and get_names(audits[0])[1] != get_names(audits[1])[1]:
        raise ValueError("Expected texts or labels in reports of data with different names.")
    class_of = match_classes(audits)
    if class_of is not None:
        matched = matched.rename_classes(class_of, reference.class_names)
    ids = find_shared_ids((reference, matched))
    labels = reference.labels[reference.find_rows(ids)]
    matched_labels = matched.labels[matched.find_rows(ids)]
    is_known = (labels >= 0) & (matched_labels >= 0)
    if (is_known & (labels != matched_labels)).any():
        raise ValueError("Expected reports that give each item the same label.")
    return matched


def find_shared_ids(answers: Sequence[AnsweredItems]) -> list[str]:
    """Return the ids of the items that all reports contain with the same text.

    Args:
        answers: Answers of at least one report.

    Returns:
        The ids in the order of the first report. An unread answer has no text, and is joined by its
        id alone.
    """
    n_reports: Counter[str] = Counter()
    texts_by_id: dict[str, set[str]] = {}
    for answers_of_report in answers:
        n_reports.update(answers_of_report.ids)
        for item_id, text in zip(answers_of_report.ids, answers_of_report.texts, strict=True):
            if text is not None:
                texts_by_id.setdefault(item_id, set()).add(text)
    shared_ids = []
    for item_id in answers[0].ids:
        is_everywhere = n_reports[item_id] == len(answers)
        # The same id with another text is another item.
        if is_everywhere and len(texts_by_id.get(item_id, ())) < 2:
            shared_ids.append(item_id)
    return shared_ids


def has_enough_items(answers: Sequence[AnsweredItems]) -> bool:
    """Return whether reports share enough items: `MIN_ITEMS`, or all items of the smallest one."""
    n_needed = min(MIN_ITEMS, *map(len, answers))
    return n_needed > 0 and len(find_shared_ids(answers)) >= n_needed


def align_answers(answers: Sequence[AnsweredItems]) -> list[AnsweredItems]:
    """Return the answers to the items that all reports share, in the same order."""
    ids = find_shared_ids(answers)
    aligned = []
    for report_answers in answers:
        aligned.append(report_answers.take(report_answers.find_rows(ids)))
    return aligned
