"""Sheets of doubtful labels: a person reviews what a model contradicts, and the next audit uses the answers.

`write_label_sheet` writes the items of a report whose labels are disputed (confident learning), and as many random
ones whose labels are not. `read_label_sheet` checks the filled file, and `measure_review` compares the model with the
labels before and after. A review of the disputed labels alone would be biased: the model errs on all of them, so that
corrections can only raise its accuracy.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from rightreasons.audited.predictions_file import Predictions, read_predictions
from rightreasons.core.arrays import Floats
from rightreasons.core.classification import find_disputed_labels
from rightreasons.core.errors import OptionError
from rightreasons.core.estimates import Estimate, estimate_share, make_estimate
from rightreasons.core.intervals import bounded_mean_interval
from rightreasons.core.resampling import Resampling, item_rng
from rightreasons.core.results import Result
from rightreasons.core.sentences import format_value
from rightreasons.core.store import check_file, write_text
from rightreasons.core.validation import softmax
from rightreasons.io.sheets import FIRST_LINE, ITEM_COLUMN, read_sheet, write_sheet
from rightreasons.io.tables import ONLY_SPLIT
from rightreasons.report.pairing import get_prediction_files, get_report_folder
from rightreasons.report.schema import check_files, list_class_names, read_audit

SHEET_COLUMNS = (
    ITEM_COLUMN,
    "text",
    "given label",
    "suggested label",
    "why doubtful",
    "decision",
)

NOT_REVIEWED = ("", "?")
"""Decisions that nobody has made yet."""

KEEP = "keep"
"""Decision that the given label is correct."""

DROP = "drop"
"""Decision that no label is correct: the item is left out of later audits."""

CONTROL_REASON = "chosen at random, as a control"


@dataclasses.dataclass(frozen=True, eq=False)
class LabeledReport:
    """The labeled items of a report, and which of their labels the model contradicts.

    Attributes:
        audit: The audit.json of the report.
        ids: N ids.
        texts: N texts; those of a pair are joined.
        labels: (N,) given labels, in the model's numbering.
        probabilities: (N, K) probabilities of the classes.
        disputed: Rows of the disputed labels, the least probable label first.
    """

    audit: Mapping[str, Any]
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    labels: NDArray[np.int64]
    probabilities: Floats
    disputed: NDArray[np.int64]

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the classes: the data's, if the model only numbers them."""
        return tuple(list_class_names(self.audit))

    @property
    def predictions(self) -> NDArray[np.int64]:
        """(N,) predicted classes."""
        return np.asarray(self.probabilities.argmax(axis=1), dtype=np.int64)


@dataclasses.dataclass(frozen=True)
class LabelReview(Result):
    """Accuracy of a model, and share of incorrect labels, before and after labels were reviewed.

    Figures over all items weight disputed labels and controls by their shares of the items. They
    are None if no disputed label or no control was reviewed.

    Attributes:
        n_items: Number of labeled items of the report.
        n_disputed: Number of disputed labels.
        n_reviewed: Number of reviewed labels, including controls.
        wrong_disputed: Share of incorrect labels among the reviewed disputed ones; None if no
            disputed label was reviewed.
        wrong_controls: Share of incorrect labels among the reviewed controls; None if no control
            was reviewed.
        accuracy: Accuracy of the model with the given labels.
        accuracy_change: Accuracy with the reviewed labels minus accuracy with the given ones, over
            all items.
        incorrect: Share of incorrect labels among all items, before the review.
        remaining: Share of incorrect labels among all items, after the review: disputed labels that
            were not reviewed, and undisputed ones.
    """

    n_items: int
    n_disputed: int
    n_reviewed: int
    wrong_disputed: Estimate | None
    wrong_controls: Estimate | None
    accuracy: Estimate
    accuracy_change: Estimate | None
    incorrect: Estimate | None
    remaining: Estimate | None

    @property
    def verdict(self) -> str:
        """Conclusion about the reported accuracy, in one sentence."""
        if self.accuracy_change is None or self.accuracy_change.low is None:
            return "Inconclusive: review disputed labels and controls alike."
        if self.accuracy_change.low > 0:
            return "The given labels made the model look worse than it is."
        if (self.accuracy_change.high or 0.0) < 0:
            return "The given labels made the model look better than it is."
        return "Inconclusive: the reviewed labels do not significantly change the accuracy."


def read_labeled_report(report: str | os.PathLike[str]) -> LabeledReport:
    """Read the labeled items of a report on a classifier, with their predictions.

    Args:
        report: Folder of a report, or its audit.json.

    Raises:
        FileNotFoundError: If there is no report.
        ValueError: If the report is about multiple choice, has no predictions, or has no labels.
    """
    audit = read_audit(report)
    folder = get_report_folder(report)
    if audit["model"]["task"] != "classification":
        raise OptionError(
            f"Expected a report on a classifier, but the report of {folder} is about "
            f"{audit['model']['task']}. Disputed labels are listed by class.",
            option="report",
        )
    # The labels are read from the predictions of the report, because the data may have changed.
    # Not every split of a report has a file of predictions.
    file = get_prediction_files(audit).get(audit["dataset"]["primary"])
    if file is None:
        raise OptionError(
            f"Expected a report with predictions, but the report of {folder} has none.",
            option="report",
        )
    check_files(folder, audit, [file])
    predictions = read_predictions(folder / file)
    rows = np.flatnonzero(predictions.labels >= 0)
    if not rows.size:
        raise OptionError(
            f"Expected labels in the report of {folder}, but it has none.", option="report"
        )
    return _select_labeled(audit, predictions, rows)


def _select_labeled(
    audit: Mapping[str, Any], predictions: Predictions, rows: NDArray[np.intp]
) -> LabeledReport:
    """Return the labeled items of a report, with the labels that the model contradicts.

    Args:
        audit: Content of audit.json.
        predictions: The items with their scores.
        rows: Rows of the labeled items.
    """
    items = predictions.items
    labels = predictions.labels[rows]
    logits = np.asarray(predictions.logits, dtype=np.float64)
    probabilities = softmax(logits[rows])
    return LabeledReport(
        audit=audit,
        ids=tuple(predictions.ids[row] for row in rows),
        texts=tuple(" / ".join(items[row]) for row in rows),
        labels=labels,
        probabilities=probabilities,
        # The report itself disputes labels by the same rule.
        disputed=find_disputed_labels(probabilities, labels),
    )


def select_controls(
    labeled: LabeledReport, seed: int = 0, *, n_controls: int | None = None
) -> NDArray[np.int64]:
    """Sample rows of undisputed labels, by the seed and the ids.

    Args:
        labeled: The labeled items of a report.
        seed: Seed.
        n_controls: Number of rows. None (default) for as many as there are disputed labels.
    """
    is_disputed = np.zeros(len(labeled.ids), dtype=np.bool_)
    is_disputed[labeled.disputed] = True
    # With as many controls as disputed labels, both shares have intervals of similar width.
    if n_controls is None:
        n_controls = len(labeled.disputed)
    undisputed = np.flatnonzero(~is_disputed).tolist()
    undisputed.sort(key=lambda row: item_rng(seed, f"label {labeled.ids[row]}").random())
    return np.array(undisputed[:n_controls], dtype=np.int64)


def write_label_sheet(
    report: str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    seed: int = 0,
    n_controls: int | None = None,
) -> Path:
    """Write the disputed labels of a report, and undisputed ones as controls, for a person to review.

    Args:
        report: Folder of a report on a classifier.
        file: The csv file. In its column `decision`, a person replaces "?" by the correct label,
            "keep" or "drop".
        seed: Seed of the controls.
        n_controls: Number of controls. None (default) for as many as there are disputed labels.

    Returns:
        Path of the file.

    Raises:
        FileNotFoundError: If there is no report.
        ValueError: If the report is about multiple choice, has no labels, or the model contradicts
            none of them.

    References:
        Northcutt, Jiang, Chuang (2021), "Confident learning". The controls are this package's.
    """
    labeled = read_labeled_report(report)
    if not labeled.disputed.size:
        raise OptionError(
            "Expected labels that the model contradicts, but there are none, so there is nothing "
            "to review.",
            option="report",
        )
    # The disputed labels come first, the least probable one at the top.
    rows: list[Sequence[str]] = []
    for row in labeled.disputed:
        rows.append(_make_disputed_row(labeled, int(row)))
    for row in select_controls(labeled, seed, n_controls=n_controls):
        given_label = labeled.label_names[labeled.labels[row]]
        rows.append((labeled.ids[row], labeled.texts[row], given_label, "", CONTROL_REASON, "?"))
    return write_sheet(check_file(file), SHEET_COLUMNS, rows)


def _make_disputed_row(labeled: LabeledReport, row: int) -> tuple[str, ...]:
    """Return the row of a disputed label in the sheet.

    Args:
        labeled: The labeled items of a report, with names of labels and probabilities.
        row: Row of the item among them.

    Returns:
        Cells in the order of `SHEET_COLUMNS`: id, text, given label, suggested label, reason, "?".
    """
    names = labeled.label_names
    given_label = int(labeled.labels[row])
    suggested_label = int(labeled.predictions[row])
    given_probability = labeled.probabilities[row, given_label]
    suggested_probability = labeled.probabilities[row, suggested_label]
    reason = (
        f"the model gives {names[suggested_label]} {suggested_probability:.1%} and "
        f"{names[given_label]} {given_probability:.1%}"
    )
    return (
        labeled.ids[row],
        labeled.texts[row],
        names[given_label],
        names[suggested_label],
        reason,
        "?",
    )


def read_label_sheet(
    report: str | os.PathLike[str], file: str | os.PathLike[str]
) -> dict[str, int | None]:
    """Read the decisions of a reviewed sheet.

    Args:
        report: Folder of the report that the sheet was written from.
        file: The csv file; rows may be in any order or missing.

    Returns:
        Id of a reviewed item -> its correct label in the model's numbering, or None for an item to
        drop.

    Raises:
        ValueError: If a column is missing, an item is unknown or repeated, a given label was
            changed, a decision is not a label, or nothing is decided. The message names the line.
    """
    labeled = read_labeled_report(report)
    path = Path(file)
    sheet = read_sheet(path, (ITEM_COLUMN, "given label", "decision"))
    label_by_id = dict(zip(labeled.ids, labeled.labels.tolist(), strict=True))
    decisions: dict[str, int | None] = {}
    for line_number, cells in enumerate(sheet, FIRST_LINE):
        line = f"line {line_number} of {path.name}"
        item_id = cells[ITEM_COLUMN]
        given_label = cells["given label"]
        # Rows without a decision are checked, too. A mismatch shows that the sheet was written from
        # another report, which may have other items with the same ids.
        label = label_by_id.get(item_id)
        if label is None or labeled.label_names[label] != given_label:
            raise ValueError(
                f"Expected an item of the report with its given label in {line}, but got "
                f"{format_value(item_id)} with {format_value(given_label)}."
            )
        decision = cells["decision"]
        if decision not in NOT_REVIEWED:
            decisions[item_id] = _parse_decision(decision, label, labeled.label_names, line)
    if not decisions:
        raise ValueError(
            f"Expected decisions in {path.name}, but every decision is open. Replace “?”."
        )
    return decisions


def _parse_decision(
    text: str, given_label: int, label_names: Sequence[str], line: str
) -> int | None:
    """Return the label of a decision, or None for an item to drop.

    Args:
        text: The decision: the name of a label, "keep" or "drop".
        given_label: Label before the review.
        label_names: Names of the labels, by their numbers.
        line: Description of the line, such as "line 2 of labels.csv", for the error message.

    Raises:
        ValueError: If the decision is neither a label nor "keep" or "drop".
    """
    # A class may itself be called "keep" or "drop".
    if text in label_names:
        return label_names.index(text)
    if text.lower() == KEEP:
        return given_label
    if text.lower() == DROP:
        return None
    raise ValueError(
        f"Expected {', '.join(label_names)}, {KEEP} or {DROP} as the decision in {line}, but got "
        f"{format_value(text)}."
    )


# -------------------------------------------------------------------------------- before and after


def measure_review(
    report: str | os.PathLike[str],
    decisions: Mapping[str, int | None],
    resampling: Resampling = Resampling(),
) -> LabelReview:
    r"""Compare the accuracy of an audited model with the given and with the reviewed labels.

    With \(w\) the shares of disputed and of undisputed labels among all items, and \(\bar\delta\)
    the mean change of the reviewed items of either kind (+1 if only the reviewed label is the
    prediction, -1 if only the given one is), the change of the accuracy is
    \(\sum w \bar\delta\). Its interval combines those of the two means (`bounded_mean_interval`) by
    the squares of the distances \(w (\bar\delta - l)\) and \(w (h - \bar\delta)\). An item to drop
    changes nothing.

    Args:
        report: Folder of the report.
        decisions: From `read_label_sheet`.
        resampling: Confidence level of the intervals.

    Returns:
        The review.

    References:
        Zou, Donner (2008), "Construction of confidence limits about effect measures", Statistics in Medicine.
    """
    labeled = read_labeled_report(report)
    row_by_id = {item_id: row for row, item_id in enumerate(labeled.ids)}
    disputed_rows = set(labeled.disputed.tolist())
    # Disputed labels and controls are counted separately, because disputed ones are reviewed far
    # more often. The key of both mappings is whether a label is disputed.
    changes: dict[bool, list[float]] = {True: [], False: []}
    n_incorrect = {True: 0, False: 0}
    for item_id, reviewed_label in decisions.items():
        row = row_by_id[item_id]
        is_disputed = row in disputed_rows
        given_label = int(labeled.labels[row])
        prediction = int(labeled.predictions[row])
        n_incorrect[is_disputed] += reviewed_label != given_label
        change = 0.0
        if reviewed_label is not None:
            change = float(prediction == reviewed_label) - float(prediction == given_label)
        changes[is_disputed].append(change)

    n_items = len(labeled.ids)
    n_disputed = len(disputed_rows)
    n_correct = int((labeled.predictions == labeled.labels).sum())
    accuracy = estimate_share(n_correct, n_items, resampling)
    disputed_share = n_disputed / n_items
    # The controls represent all labels that are not disputed, whether they were reviewed or not.
    control_share = 1 - disputed_share
    # Reviewed labels are corrected, so that only disputed ones without a review remain incorrect.
    open_share = (n_disputed - len(changes[True])) / n_items
    wrong_disputed = estimate_share(n_incorrect[True], len(changes[True]), resampling)
    wrong_controls = estimate_share(n_incorrect[False], len(changes[False]), resampling)
    disputed_change = _estimate_change(changes[True], resampling)
    control_change = _estimate_change(changes[False], resampling)
    return LabelReview(
        n_items=n_items,
        n_disputed=n_disputed,
        n_reviewed=len(decisions),
        wrong_disputed=wrong_disputed,
        wrong_controls=wrong_controls,
        accuracy=accuracy or Estimate(None),
        accuracy_change=_add_estimates(
            (disputed_share, disputed_change), (control_share, control_change)
        ),
        incorrect=_add_estimates((disputed_share, wrong_disputed), (control_share, wrong_controls)),
        remaining=_add_estimates((open_share, wrong_disputed), (control_share, wrong_controls)),
    )


def _estimate_change(values: Sequence[float], resampling: Resampling) -> Estimate | None:
    """Return the mean of values from -1 to 1, with its interval; None without values."""
    if not values:
        return None
    interval = bounded_mean_interval(values, low=-1.0, high=1.0, confidence_level=resampling.level)
    return make_estimate(float(np.mean(values)), interval)


def _add_estimates(*terms: tuple[float, Estimate | None]) -> Estimate | None:
    """Return the weighted sum of independent estimates, with an interval.

    The distances of the ends of the interval from the sum are those of the terms, added as squares
    (Zou and Donner 2008).

    Args:
        *terms: (weight, estimate) of each term.

    Returns:
        The sum; None if a term has no value or no interval.
    """
    value = 0.0
    low_squares = 0.0
    high_squares = 0.0
    level = 0.95
    for weight, estimate in terms:
        if estimate is None or estimate.value is None:
            return None
        # An estimate without an interval is not exact, so that the sum would have none either.
        if estimate.low is None or estimate.high is None:
            return None
        value += weight * estimate.value
        level = estimate.level
        low_squares += (weight * (estimate.value - estimate.low)) ** 2
        high_squares += (weight * (estimate.high - estimate.value)) ** 2
    return Estimate(
        value=value,
        low=value - float(np.sqrt(low_squares)),
        high=value + float(np.sqrt(high_squares)),
        level=level,
        method="intervals of two means, joined by the squares of their distances",
    )


def write_label_issues(
    report: str | os.PathLike[str],
    decisions: Mapping[str, int | None],
    file: str | os.PathLike[str],
) -> Path:
    """Write reviewed labels as a file of known issues, by which later audits correct the data.

    Args:
        report: Folder of the report.
        decisions: Id of an item -> its correct label, or None to drop the item; from
            `read_label_sheet`.
        file: The .yaml file, for the option `--known-issues`.

    Raises:
        ValueError: If no decision changes a label, or the data has no label for a class.
    """
    labeled = read_labeled_report(report)
    label_by_id = dict(zip(labeled.ids, labeled.labels.tolist(), strict=True))
    # Labels that are kept need no correction.
    ids_by_label: dict[int | None, list[str]] = {}
    for item_id, label in decisions.items():
        if label != label_by_id[item_id]:
            ids_by_label.setdefault(label, []).append(item_id)
    if not ids_by_label:
        raise ValueError(
            f"Expected a decision that changes a label, but all {len(decisions):,} decisions keep "
            "the label, so there is nothing to correct."
        )
    # An entry of the table has one label for all of its items.
    dataset = labeled.audit["dataset"]
    issues = []
    for label, ids in ids_by_label.items():
        issue: dict[str, Any] = {
            "kind": "reviewed_label",
            "ids": ids,
            "action": "drop",
            "why": "A person reviewed the label and found none that is correct.",
        }
        if label is not None:
            issue["action"] = "relabel"
            class_name = labeled.audit["model"]["label_names"][label]
            issue["to"] = _find_data_label(dataset, class_name)
            issue["why"] = "A person reviewed the label."
        # Ids may repeat in other splits, so that the split is named, unless the data has only one.
        if dataset["primary"] != ONLY_SPLIT:
            issue["split"] = dataset["primary"]
        issues.append(issue)
    text = yaml.safe_dump(issues, sort_keys=False, allow_unicode=True)
    return write_text(check_file(file), text)


def _find_data_label(dataset: Mapping[str, Any], class_name: str) -> int:
    """Return the number that the data uses for a class of the model.

    Data and model may number and name the classes differently.

    Args:
        dataset: Description of the data in audit.json, which maps its labels to classes.
        class_name: Name of the class in the model.

    Raises:
        ValueError: If no label of the data is this class.
    """
    for number, label_name in enumerate(dataset["label_names"]):
        if dataset["label_classes"].get(label_name) == class_name:
            return number
    raise ValueError(
        f"Expected a label of the data for the class {class_name!r}, but the data has "
        f"{', '.join(dataset['label_names'])}."
    )
