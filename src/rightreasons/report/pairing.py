"""Join two reports item by item, and test each figure that both have.

`open_pair` checks that two reports can be compared. `compare_splits` compares their predictions,
and `compare_questions` the figures of their questions that are means over items. A figure is only
ever paired with itself: what one report alone has is named, not compared.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.predictions_file import Predictions, read_predictions
from rightreasons.calibration.figures import FIGURES
from rightreasons.calibration.judged import JudgedItems
from rightreasons.calibration.measure import measure_figures
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.calibration.paired import COMPARED_FIGURES, count_paired_outcomes, paired_test
from rightreasons.core.arrays import take_rows
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.core.intervals import bounded_mean_interval
from rightreasons.core.labels.matching import MatchTerms, match_labels
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.significance import PairedTest, compare_paired_means
from rightreasons.page.parts import ItemFigure
from rightreasons.report.items.values import get_items_path, read_item_values
from rightreasons.report.questions import get_question_name
from rightreasons.report.schema import AUDIT_FILE, check_files, read_audit

Audit = Mapping[str, Any]
"""Content of audit.json."""

Winner = Literal["first", "second", ""]

MIN_ITEMS = 10
"""Number of shared items below which a figure is not compared."""

UNNAMED_FEATURE = "deciding_share"
"""Key under which earlier versions stored what "the strongest pair of words" flips, without saying which."""


@dataclasses.dataclass(frozen=True)
class ComparedFigure(Result):
    """One figure of a question, of two models on the same items.

    Attributes:
        question: The question.
        key: The figure, as in the audit.
        name: Its name for readers.
        split: The split of figures of calibration; "" for those of other questions.
        unit: As of a headline.
        better: "higher", "lower" or None.
        n_items: Number of items that both reports contain.
        first: Estimate of the first model.
        second: Estimate of the second model.
        difference: First minus second, with its interval.
        p_value: Two-sided p-value of "no difference".
        test: The test, in words.
        holm_p_value: The p-value after Holm's correction for all tests of the comparison.
        winner: The model that is better by the corrected p-value; "" if that is open.
    """

    question: str
    key: str
    name: str
    split: str
    unit: str
    better: str | None
    n_items: int
    first: Estimate
    second: Estimate
    difference: Estimate
    p_value: float
    test: str
    holm_p_value: float = 1.0
    winner: Winner = ""


MAX_NAMED_IDS = 5
"""Number of ids that name the items without a partner."""


@dataclasses.dataclass(frozen=True)
class ComparedSplit(Result):
    """Two models on the items that both were audited on.

    Attributes:
        split: The name of the split.
        n_items: Number of items that both reports contain, with the same text and a label.
        n_only_first: Number of items that only the first report contains.
        n_only_second: Number of items that only the second report contains.
        both_right: Number of items that both models classify correctly.
        first_right: Number of items that only the first model classifies correctly.
        second_right: Number of items that only the second model classifies correctly.
        both_wrong: Number of items that neither classifies correctly.
        same_answers: Number of items to which both give the same answer, correct or not.
        ids_only_first: Ids of items that only the first report contains, `MAX_NAMED_IDS` at most.
        ids_only_second: Ids of items that only the second report contains, `MAX_NAMED_IDS` at most.
    """

    split: str
    n_items: int
    n_only_first: int
    n_only_second: int
    both_right: int
    first_right: int
    second_right: int
    both_wrong: int
    same_answers: int
    ids_only_first: tuple[str, ...] = ()
    ids_only_second: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class ReportPair:
    """Two reports of the same task and split.

    Attributes:
        folders: Their folders.
        audits: Their audit.json.
    """

    folders: tuple[Path, Path]
    audits: tuple[Audit, Audit]

    @property
    def primary(self) -> str:
        """The split that both reports are about."""
        return str(self.audits[0]["dataset"]["primary"])


@dataclasses.dataclass(frozen=True, eq=False)
class SplitComparison:
    """The predictions of two reports, compared.

    Attributes:
        splits: Counts of each split that both reports contain.
        figures: Figures of calibration of each split.
        ids: Split -> ids of its shared items.
    """

    splits: tuple[ComparedSplit, ...]
    figures: tuple[ComparedFigure, ...]
    ids: Mapping[str, frozenset[str]]


@dataclasses.dataclass(frozen=True, eq=False)
class QuestionComparison:
    """The questions of two reports, compared.

    Attributes:
        figures: Figures that both reports have.
        unpaired: Names of figures that one report is about, and that the other one has not measured.
    """

    figures: tuple[ComparedFigure, ...]
    unpaired: tuple[str, ...]


# ------------------------------------------------------------------------------------ opening


def get_report_folder(report: str | os.PathLike[str]) -> Path:
    """Return the folder of a report, which may be named by its audit.json."""
    path = Path(report)
    return path.parent if path.name == AUDIT_FILE else path


def get_prediction_files(audit: Audit) -> dict[str, str]:
    """Return split -> file of its predictions, without training splits.

    Args:
        audit: Content of audit.json, whose splits name their files relative to the report.
    """
    files = {}
    # Models are not compared on training texts.
    for split in audit["dataset"]["splits"]:
        if split["predictions"] and split["role"] in ("primary", "comparison"):
            files[split["name"]] = split["predictions"]
    return files


def open_pair(reports: Sequence[str | os.PathLike[str]]) -> ReportPair:
    """Read two reports, and check that they can be compared item by item.

    Args:
        reports: Folders of reports, or their audit.json.

    Raises:
        FileNotFoundError: If one is not a report.
        ValueError: If there are not two, or they are of other tasks, splits or kinds of answers.
    """
    if len(reports) != 2:
        raise ValueError(f"Expected two reports, but got {len(reports)}.")
    first_audit, second_audit = [read_audit(report) for report in reports]
    first_folder, second_folder = [get_report_folder(report) for report in reports]
    pair = ReportPair((first_folder, second_folder), (first_audit, second_audit))
    for folder, audit in zip(pair.folders, pair.audits, strict=True):
        if audit["model"]["task"] == "confidence":
            raise ValueError(
                f"Expected two reports with class scores, but {folder} contains only the "
                "confidence in each answer, and two models give different answers."
            )
    splits = (first_audit["dataset"]["primary"], second_audit["dataset"]["primary"])
    tasks = (first_audit["model"]["task"], second_audit["model"]["task"])
    for property_name, (first_value, second_value) in (("split", splits), ("task", tasks)):
        if first_value != second_value:
            raise ValueError(
                f"Expected reports of the same {property_name}, {first_value}, but the "
                f"{property_name} of {second_folder} is {second_value}."
            )
    return pair


def find_shared_rows(first: Sequence[Hashable], second: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the positions of the names that two lists share, in the order of the first list.

    Returns:
        (2, M) positions of the M shared names in the first list, and in the second one.

    Example:
        >>> find_shared_rows(["a", "b", "c"], ["c", "a"]).tolist()
        [[0, 2], [1, 0]]
    """
    row_in_second = {name: row for row, name in enumerate(second)}
    row_pairs = []
    for row, name in enumerate(first):
        if name in row_in_second:
            row_pairs.append((row, row_in_second[name]))
    # Without any pairs, the array would have only one dimension.
    return np.array(row_pairs, dtype=np.intp).reshape(-1, 2).T


def have_same_items(audits: Sequence[Audit]) -> bool:
    """Return whether two reports can be compared on all items, without a file of predictions.

    Their primary splits must have the same fingerprint, and at least one question must have values
    by item in both reports.

    Args:
        audits: Contents of audit.json of the two reports.
    """
    fingerprints = set()
    question_sets = []
    for audit in audits:
        for split in audit["dataset"]["splits"]:
            if split["name"] == audit["dataset"]["primary"]:
                fingerprints.add(split["fingerprint"])
        questions = set()
        for answer in audit["questions"]:
            if answer["result"] and answer["result"].get("by_item"):
                questions.add(answer["question"])
        question_sets.append(questions)
    shared_questions = question_sets[0] & question_sets[1]
    return len(fingerprints) == 1 and bool(shared_questions)


# ------------------------------------------------------------------------------------ predictions


def compare_splits(pair: ReportPair, resampling: Resampling) -> SplitComparison:
    """Compare the predictions of each split that two reports have in common.

    Args:
        pair: The reports.
        resampling: Level of the intervals, number of resamples and seed.

    Raises:
        ValueError: If their classes differ, an item has different labels, or no labeled item is in
            both reports.
    """
    # The classes and the files of all splits are checked before anything is computed.
    class_of = match_classes(pair.audits)
    first_folder, second_folder = pair.folders
    first_audit, second_audit = pair.audits
    first_files = get_prediction_files(first_audit)
    second_files = get_prediction_files(second_audit)
    names = [name for name in first_files if name in second_files]
    check_files(first_folder, first_audit, [first_files[name] for name in names])
    check_files(second_folder, second_audit, [second_files[name] for name in names])

    splits = []
    figures: list[ComparedFigure] = []
    ids_by_split = {}
    for name in names:
        first_predictions = read_predictions(first_folder / first_files[name])
        second_predictions = read_predictions(second_folder / second_files[name])
        items = _join_items(pair, name, first_predictions, second_predictions, class_of)
        if items is None:
            continue
        splits.append(items.count_outcomes())
        figures += items.compare_figures(resampling)
        ids_by_split[name] = items.ids
    # Reports that store no predictions may still have questions to compare.
    has_only_questions = not names and have_same_items(pair.audits)
    if not splits and not has_only_questions:
        raise ValueError(
            f"Expected two reports of the same items, but {first_folder} and {second_folder} share no labeled "
            "item with the same id and text."
        )
    return SplitComparison(tuple(splits), tuple(figures), ids_by_split)


def match_classes(audits: Sequence[Audit]) -> NDArray[np.int64] | None:
    """Match the classes of the second model with those of the first, by their names.

    Args:
        audits: Contents of audit.json of the two reports.

    Returns:
        (K,) number of the first model's class for each class of the second; None for a task
        without classes, such as multiple choice, where both models have the same choices.

    Raises:
        ValueError: If the models have different classes.
    """
    model = audits[0]["model"]
    partner = audits[1]["model"]
    if model["task"] != "classification":
        return None
    if len(model["label_names"]) != len(partner["label_names"]):
        raise ValueError(
            f"Expected two models of the same classes, but {model['name']} has {', '.join(model['label_names'])} "
            f"and {partner['name']} has {', '.join(partner['label_names'])}."
        )
    # The names may be in another order, or be spelled differently.
    terms = MatchTerms(partner["name"], model["name"])
    return match_labels(partner["label_names"], model["label_names"], terms=terms).class_of


@dataclasses.dataclass(frozen=True, eq=False)
class _JoinedItems:
    """The labeled items of a split that two reports share.

    Attributes:
        split: The split.
        ids: Their ids.
        only_first: Ids of the items that only the first report contains.
        only_second: Ids of the items that only the second report contains.
        judged: The items with the scores of the first and of the second model.
    """

    split: str
    ids: frozenset[str]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    judged: tuple[JudgedItems, JudgedItems]

    def count_outcomes(self) -> ComparedSplit:
        """Count the items by which of the two models is correct, and those with the same answer."""
        first_items, second_items = self.judged
        is_same = first_items.top.predicted == second_items.top.predicted
        return ComparedSplit(
            split=self.split,
            n_items=len(self.ids),
            n_only_first=len(self.only_first),
            n_only_second=len(self.only_second),
            ids_only_first=self.only_first[:MAX_NAMED_IDS],
            ids_only_second=self.only_second[:MAX_NAMED_IDS],
            same_answers=int(np.count_nonzero(is_same)),
            **count_paired_outcomes(first_items, second_items),
        )

    def compare_figures(self, resampling: Resampling) -> Iterator[ComparedFigure]:
        """Yield each figure of calibration that both models have, with the test of its difference.

        Args:
            resampling: Level of the intervals, number of resamples and seed.
        """
        first_items, second_items = self.judged
        first_figures = measure_figures(first_items, COMPARED_FIGURES, resampling=resampling)
        second_figures = measure_figures(second_items, COMPARED_FIGURES, resampling=resampling)
        for key, first_estimate in first_figures.items():
            second_estimate = second_figures[key]
            # The log loss has no value if a label has probability 0.
            if first_estimate.value is None or second_estimate.value is None:
                continue
            test = paired_test(key, first_items, second_items, resampling=resampling)
            yield make_figure(
                key=key,
                question=get_question_name(CalibrationOptions),
                description=FIGURES[key],
                split=self.split,
                estimates=(first_estimate, second_estimate),
                test=dataclasses.replace(test, n_items=len(self.ids)),
            )


def _list_other_ids(predictions: Predictions, rows: NDArray[np.intp]) -> tuple[str, ...]:
    """Return the ids of all items of a report except for some rows.

    Args:
        predictions: The items with their predictions.
        rows: Rows of the excluded items.
    """
    is_other = np.ones(len(predictions), dtype=bool)
    is_other[rows] = False
    ids = []
    # Only the few items that the other report lacks are visited in Python.
    for row in np.flatnonzero(is_other).tolist():
        ids.append(str(predictions.ids[row]))
    return tuple(ids)


def _join_items(
    pair: ReportPair,
    split: str,
    first: Predictions,
    second: Predictions,
    class_of: NDArray[np.int64] | None,
) -> _JoinedItems | None:
    """Join the labeled items of a split by id and text.

    Args:
        pair: The reports, for messages.
        split: Name of the split.
        first: Predictions of the first model.
        second: Predictions of the second model.
        class_of: (K,) number of the first model's class for each class of the second; None for
            multiple choice, where both models have the same choices.

    Returns:
        The items with the scores of both models in the order of the first model's classes; None if
        no labeled item is in both reports.

    Raises:
        ValueError: If an item has different labels in the two reports.
    """
    rows = find_shared_rows(_identify_items(first), _identify_items(second))
    is_labeled = first.labels[rows[0]] >= 0
    first_rows, second_rows = rows[:, is_labeled]
    if not len(first_rows):
        return None
    labels = first.labels[first_rows]
    original_labels = second.labels[second_rows]
    second_labels = original_labels
    second_logits = take_rows(second.logits, second_rows)
    if class_of is not None:
        second_labels = class_of[original_labels]
        # `argsort` inverts the mapping: column k of the result is the second model's class for the
        # first model's class k.
        second_logits = np.asarray(second_logits)[:, np.argsort(class_of)]

    # If two reports give an item different labels, one of them confused its classes. An item may
    # also have a label in the first report only.
    is_conflict = (original_labels >= 0) & (labels != second_labels)
    if is_conflict.any():
        index = int(np.flatnonzero(is_conflict)[0])
        first_name = _name_label(pair.audits[0], int(labels[index]))
        second_name = _name_label(pair.audits[1], int(original_labels[index]))
        raise ValueError(
            "Expected two reports that give each item the same label, but item "
            f"{first.ids[first_rows[index]]!r} of the split {split!r} has the label "
            f"{first_name!r} in the first and {second_name!r} in the second."
        )
    return _JoinedItems(
        split=split,
        ids=frozenset(first.ids[row] for row in first_rows),
        only_first=_list_other_ids(first, first_rows),
        only_second=_list_other_ids(second, second_rows),
        judged=(
            JudgedItems.of(take_rows(first.logits, first_rows), labels),
            JudgedItems.of(second_logits, labels),
        ),
    )


def _identify_items(predictions: Predictions) -> list[Hashable]:
    # The same id with another text is another item.
    return list(zip(predictions.ids, predictions.texts, strict=True))


def _name_label(audit: Audit, label: int) -> str:
    names = audit["model"]["label_names"]
    return names[label] if names else f"choice {label + 1}"


# ------------------------------------------------------------------------------------ questions


def compare_questions(
    pair: ReportPair, shared_ids: Collection[str] | None, resampling: Resampling
) -> QuestionComparison:
    """Compare the figures that are means over items, of all questions that both reports answer.

    Args:
        pair: The reports.
        shared_ids: Ids of the items that have the same text in both reports; None if all items do.
            Cases of a behavioral suite are joined by id only, because both reports must be about
            the same suite.
        resampling: Level of the intervals, number of resamples and seed.

    Returns:
        The figures that both reports have, with their tests, and the names of those that only one
        report has.
    """
    first_results = _get_results(pair.audits[0])
    second_results = _get_results(pair.audits[1])
    compared_figures = []
    # A dictionary keeps the order of the names, and each of them once.
    unpaired: dict[str, None] = {}
    for question, first_result in first_results.items():
        second_result = second_results.get(question)
        # Two suites have different cases under the same ids.
        if second_result is None or not _have_same_suite(first_result, second_result):
            continue
        for folder, audit in zip(pair.folders, pair.audits, strict=True):
            check_files(folder, audit, [get_items_path(question)])
        first_figures = read_item_values(pair.folders[0], question, first_result)
        second_figures = read_item_values(pair.folders[1], question, second_result)
        for key in dict.fromkeys([*first_figures, *second_figures]):
            figure = first_figures.get(key)
            partner = second_figures.get(key)
            # In old reports, this key is about the strongest pair of words, which may be another
            # pair in each report.
            if figure is None or partner is None or key == UNNAMED_FEATURE:
                unpaired.update(dict.fromkeys(_list_findings(figure, partner)))
                continue
            # Only figures that a finding is about are compared. There are dozens of others, and
            # the correction for the number of tests would be stricter with them.
            if not figure.is_finding and not partner.is_finding:
                continue
            # Only cases of a suite have groups, and are joined by id alone.
            ids = shared_ids
            if figure.groups:
                ids = None
            compared_figure = _compare_items(question, figure, partner, ids, resampling)
            if compared_figure is not None:
                compared_figures.append(compared_figure)
    return QuestionComparison(tuple(compared_figures), tuple(unpaired))


def _have_same_suite(result: Mapping[str, Any], partner: Mapping[str, Any]) -> bool:
    """Return whether two results are about the same behavioral suite, or both about none."""
    return bool(result["data"].get("suite") == partner["data"].get("suite"))


def _list_findings(*figures: ItemFigure | None) -> list[str]:
    """Return the names of figures that are findings; a figure that a report lacks is None."""
    return [figure.name for figure in figures if figure is not None and figure.is_finding]


def _get_results(audit: Audit) -> dict[str, Any]:
    """Return question -> its result, for the answered questions of an audit."""
    results = {}
    for answer in audit["questions"]:
        # A question that was skipped or failed has none.
        if answer["result"]:
            results[answer["question"]] = answer["result"]
    return results


def _compare_items(
    question: str,
    first: ItemFigure,
    second: ItemFigure,
    shared_ids: Collection[str] | None,
    resampling: Resampling,
) -> ComparedFigure | None:
    """Compare the means of one figure over the items that both reports have measured.

    Args:
        question: Name of the question.
        first: Values by item of the first model. If its items have groups, such as the tests of a
            behavioral suite, the mean over groups is compared. If they have clusters, items of a
            cluster count as one unit of the test.
        second: Values by item of the second model.
        shared_ids: Ids of the items with the same text in both reports; None to trust all ids.
        resampling: Level of the intervals, number of resamples and seed.

    Returns:
        Both means and the test of their difference; None if fewer than `MIN_ITEMS` items have a
        value in both reports.
    """
    rows = find_shared_rows(first.ids, second.ids)
    if shared_ids is not None:
        is_shared = [first.ids[row] in shared_ids for row in rows[0]]
        rows = rows[:, is_shared]
    first_rows, second_rows = rows
    if len(first_rows) < MIN_ITEMS:
        return None
    # Both columns are in the order of the first report.
    first_values = np.array(first.values)[first_rows]
    second_values = np.array(second.values)[second_rows]
    options: dict[str, Any] = {"low": first.low, "high": first.high}
    if first.groups:
        weights = _weigh_groups(np.array(first.groups)[first_rows])
        first_values = first_values * weights
        second_values = second_values * weights
        # A value times the largest weight may exceed the bounds of the values themselves.
        options = {"low": 0.0, "high": first.high * float(weights.max())}
    # Cases with the same text form a cluster, because a model answers them in the same way.
    if first.clusters:
        options["clusters"] = np.array(first.clusters)[first_rows]

    test = compare_paired_means(first_values, second_values, **options, resampling=resampling)
    estimates = []
    for values in (first_values, second_values):
        interval = bounded_mean_interval(values, **options, confidence_level=resampling.level)
        estimates.append(make_estimate(float(values.mean()), interval))
    return make_figure(
        key=first.key,
        question=question,
        description=first,
        split="",
        estimates=(estimates[0], estimates[1]),
        test=test,
    )


def _weigh_groups(groups: NDArray[Any]) -> NDArray[np.float64]:
    """Return weights of cases by which their weighted mean is the mean of the group means.

    Args:
        groups: (N,) group of each case.

    Returns:
        (N,) weights with the mean 1. Those of each group have the same sum.
    """
    names, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    weight_by_group = len(codes) / (len(names) * counts)
    return np.asarray(weight_by_group[codes], dtype=np.float64)


def make_figure(
    *,
    key: str,
    question: str,
    description: Any,
    split: str,
    estimates: tuple[Estimate, Estimate],
    test: PairedTest,
) -> ComparedFigure:
    """Combine the estimates of both models with the test of their difference.

    Args:
        key: Key of the figure in audit.json.
        question: Name of the question.
        description: An object with the `name`, the `unit` and the `better` direction of the figure.
        split: Name of the split; "" for figures that are not measured by split.
        estimates: The figure of the first and of the second model.
        test: The test.
    """
    return ComparedFigure(
        question=question,
        key=key,
        name=description.name,
        split=split,
        unit=description.unit,
        better=description.better,
        n_items=test.n_items,
        first=estimates[0],
        second=estimates[1],
        difference=make_estimate(test.difference, test.interval),
        p_value=test.p_value,
        test=test.method,
    )
