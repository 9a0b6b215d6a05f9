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
"""What audit.json holds."""

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
        n_items: Number of items that both reports hold.
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
        n_items: Number of items that both reports hold, with the same text and a label.
        n_only_first: Number of items that only the first report holds.
        n_only_second: Number of items that only the second report holds.
        both_right: Number of items that both models classify correctly.
        first_right: Number of items that only the first model classifies correctly.
        second_right: Number of items that only the second model classifies correctly.
        both_wrong: Number of items that neither classifies correctly.
        same_answers: Number of items to which both give the same answer, correct or not.
        ids_only_first: Ids of items that only the first report holds, `MAX_NAMED_IDS` at most.
        ids_only_second: Ids of items that only the second report holds, `MAX_NAMED_IDS` at most.
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
        splits: Counts of each split that both reports hold.
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


def report_folder(report: str | os.PathLike[str]) -> Path:
    """Return the folder of a report, which may be named by its audit.json."""
    path = Path(report)
    return path.parent if path.name == AUDIT_FILE else path


def prediction_files(audit: Audit) -> dict[str, str]:
    """Return the file of the predictions of each split that is compared."""
    files = {}
    # Training texts are no items to compare on.
    for split in audit["dataset"]["splits"]:
        if split["predictions"] and split["role"] in ("primary", "comparison"):
            files[split["name"]] = split["predictions"]
    return files


def open_pair(reports: Sequence[str | os.PathLike[str]]) -> ReportPair:
    """Read two reports, and check that they can be compared item by item.

    Raises:
        FileNotFoundError: If one is not a report.
        ValueError: If there are not two, or they are of other tasks, splits or kinds of answers.
    """
    if len(reports) != 2:
        raise ValueError(f"Expected two reports, but got {len(reports)}.")
    audits = list(map(read_audit, reports))
    folders = list(map(report_folder, reports))
    pair = ReportPair((folders[0], folders[1]), (audits[0], audits[1]))
    for folder, audit in zip(pair.folders, pair.audits, strict=True):
        if audit["model"]["task"] == "confidence":
            raise ValueError(
                f"Expected two reports with class scores, but {folder} has the confidence in given answers, which "
                "are not those of another model."
            )
    splits = [audit["dataset"]["primary"] for audit in audits]
    tasks = [audit["model"]["task"] for audit in audits]
    for name, values in (("split", splits), ("task", tasks)):
        if values[0] != values[1]:
            raise ValueError(
                f"Expected reports of the same {name}, {values[0]}, but {folders[1]} is of {values[1]}."
            )
    return pair


def shared_rows(first: Sequence[Hashable], second: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the (2, M) rows of the names that two lists share, in the order of the first.

    Example:
        >>> shared_rows(["a", "b", "c"], ["c", "a"]).tolist()
        [[0, 2], [1, 0]]
    """
    row_by_name = {name: row for row, name in enumerate(second)}
    pairs = []
    for row, name in enumerate(first):
        if name in row_by_name:
            pairs.append((row, row_by_name[name]))
    return np.array(pairs, dtype=np.intp).reshape(-1, 2).T


def same_items(audits: Sequence[Audit]) -> bool:
    """Return whether two reports answer a question item by item for the same items.

    Their predictions may be gone: the fingerprints of the items are compared.
    """
    questions = []
    fingerprints = set()
    for audit in audits:
        names = set()
        for answer in audit["questions"]:
            if answer["result"] and answer["result"].get("by_item"):
                names.add(answer["question"])
        questions.append(names)
        for split in audit["dataset"]["splits"]:
            if split["name"] == audit["dataset"]["primary"]:
                fingerprints.add(split["fingerprint"])
    common_questions = questions[0] & questions[1]
    return len(fingerprints) == 1 and bool(common_questions)


# ------------------------------------------------------------------------------------ predictions


def compare_splits(pair: ReportPair, resampling: Resampling) -> SplitComparison:
    """Compare the predictions of each split that two reports hold.

    Args:
        pair: The reports.
        resampling: Level, resamples and seed.

    Raises:
        ValueError: If their classes differ, they give an item two labels, or share no labeled item.
    """
    # Everything that two reports may differ in is checked before anything is computed.
    mapping = _match_classes(pair.audits)
    first_files, second_files = map(prediction_files, pair.audits)
    names = [name for name in first_files if name in second_files]
    for folder, audit, files in zip(
        pair.folders, pair.audits, (first_files, second_files), strict=True
    ):
        check_files(folder, audit, [files[name] for name in names])

    splits = []
    figures: list[ComparedFigure] = []
    ids = {}
    for name in names:
        predictions = (
            read_predictions(pair.folders[0] / first_files[name]),
            read_predictions(pair.folders[1] / second_files[name]),
        )
        items = _join_items(pair, name, *predictions, mapping)
        if items is None:
            continue
        splits.append(items.count_outcomes())
        figures += items.compare_figures(resampling)
        ids[name] = items.ids
    # Reports of questions that keep no predictions are compared by their questions alone.
    if not splits and (names or not same_items(pair.audits)):
        raise ValueError(
            f"Expected two reports of the same items, but {pair.folders[0]} and {pair.folders[1]} share no labeled "
            "item with the same id and text."
        )
    return SplitComparison(tuple(splits), tuple(figures), ids)


def _match_classes(audits: Sequence[Audit]) -> NDArray[np.int64] | None:
    """Return the first model's class of each of the second's classes; None for multiple choice."""
    model, partner = (audit["model"] for audit in audits)
    if model["task"] == "multiple_choice":
        return None
    if len(model["label_names"]) != len(partner["label_names"]):
        raise ValueError(
            f"Expected two models of the same classes, but {model['name']} has {', '.join(model['label_names'])} "
            f"and {partner['name']} has {', '.join(partner['label_names'])}."
        )
    # The classes of both may be the same in another order, or spelled differently.
    terms = MatchTerms(partner["name"], model["name"])
    return match_labels(partner["label_names"], model["label_names"], terms=terms).class_of


@dataclasses.dataclass(frozen=True, eq=False)
class _JoinedItems:
    """The labeled items of a split that two reports share.

    Attributes:
        split: The split.
        ids: Their ids.
        only_first: Ids of the items that only the first report holds.
        only_second: Ids of the items that only the second report holds.
        judged: The items with the scores of the first and of the second model.
    """

    split: str
    ids: frozenset[str]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    judged: tuple[JudgedItems, JudgedItems]

    def count_outcomes(self) -> ComparedSplit:
        """Return the counts of the items by which model is correct."""
        items, other_items = self.judged
        is_same = items.top.predicted == other_items.top.predicted
        return ComparedSplit(
            split=self.split,
            n_items=len(self.ids),
            n_only_first=len(self.only_first),
            n_only_second=len(self.only_second),
            ids_only_first=self.only_first[:MAX_NAMED_IDS],
            ids_only_second=self.only_second[:MAX_NAMED_IDS],
            same_answers=int(np.count_nonzero(is_same)),
            **count_paired_outcomes(items, other_items),
        )

    def compare_figures(self, resampling: Resampling) -> Iterator[ComparedFigure]:
        """Yield the figures of calibration of both models with their tests."""
        first_figures, second_figures = [
            measure_figures(items, COMPARED_FIGURES, resampling=resampling) for items in self.judged
        ]
        for key, estimate in first_figures.items():
            # The log loss has no value if a label has probability 0.
            if estimate.value is None or second_figures[key].value is None:
                continue
            test = paired_test(key, *self.judged, resampling=resampling)
            yield _make_figure(
                key=key,
                question=get_question_name(CalibrationOptions),
                texts=FIGURES[key],
                split=self.split,
                estimates=(estimate, second_figures[key]),
                test=dataclasses.replace(test, n_items=len(self.ids)),
            )


def _list_other_ids(predictions: Predictions, rows: NDArray[np.intp]) -> tuple[str, ...]:
    """Return the ids of the items of a report that are not among some rows."""
    # A report of a million items has few that the other lacks.
    is_other = np.ones(len(predictions), dtype=bool)
    is_other[rows] = False
    ids = []
    for row in np.flatnonzero(is_other).tolist():
        ids.append(str(predictions.ids[row]))
    return tuple(ids)


def _join_items(
    pair: ReportPair,
    split: str,
    first: Predictions,
    second: Predictions,
    mapping: NDArray[np.int64] | None,
) -> _JoinedItems | None:
    """Join the labeled items of a split by id and text; None if no item is in both reports."""
    rows = shared_rows(_identify_items(first), _identify_items(second))
    first_rows, second_rows = rows[:, first.labels[rows[0]] >= 0]
    if not len(first_rows):
        return None
    labels = first.labels[first_rows]
    second_labels = second.labels[second_rows]
    second_logits = take_rows(second.logits, second_rows)
    # Labels and scores of the second model in the numbering of the first one's classes.
    if mapping is not None:
        second_labels = mapping[second_labels]
        second_logits = np.asarray(second_logits)[:, np.argsort(mapping)]
    unmapped_labels = second.labels[second_rows]

    # Of two reports that give an item different labels, one took its labels for other classes.
    conflicts = np.flatnonzero((unmapped_labels >= 0) & (labels != second_labels))
    if conflicts.size:
        index = int(conflicts[0])
        first_name = _name_label(pair.audits[0], int(labels[index]))
        second_name = _name_label(pair.audits[1], int(unmapped_labels[index]))
        raise ValueError(
            f"Expected two reports that give each item the same label, but item {first.ids[first_rows[index]]!r} of "
            f"the split {split!r} is {first_name!r} in the first and {second_name!r} in the second."
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
        shared_ids: Ids of the items that both reports hold with the same text; None if that is all of them. Cases of
            a behavioral suite are joined by id alone, as both reports must be about the same suite.
        resampling: Level, resamples and seed.
    """
    first_results, second_results = map(_get_results, pair.audits)
    compared = []
    unpaired: dict[str, None] = {}
    for question, result in first_results.items():
        partner_result = second_results.get(question)
        # Two suites have different cases under the same ids.
        if partner_result is None or not _have_same_suite(result, partner_result):
            continue
        for folder, audit in zip(pair.folders, pair.audits, strict=True):
            check_files(folder, audit, [get_items_path(question)])
        first_figures = read_item_values(pair.folders[0], question, result)
        second_figures = read_item_values(pair.folders[1], question, partner_result)
        for key in dict.fromkeys([*first_figures, *second_figures]):
            figure = first_figures.get(key)
            partner = second_figures.get(key)
            # Two reports may name different features as the strongest: these are not one figure.
            if figure is None or partner is None or key == UNNAMED_FEATURE:
                unpaired.update(dict.fromkeys(_list_findings(figure, partner)))
            # Of dozens of figures that neither report is about, the tests would only cost power.
            elif figure.is_finding or partner.is_finding:
                ids = None if figure.groups else shared_ids
                compared.append(_compare_items(question, figure, partner, ids, resampling))
    figures_of_both = [figure for figure in compared if figure is not None]
    return QuestionComparison(tuple(figures_of_both), tuple(unpaired))


def _have_same_suite(result: Mapping[str, Any], partner: Mapping[str, Any]) -> bool:
    """Return whether two results are about the same suite, or both about none."""
    # Only the question about behavior has one.
    return bool(result["data"].get("suite") == partner["data"].get("suite"))


def _list_findings(*figures: ItemFigure | None) -> list[str]:
    """Return the names of the figures that a report is about."""
    return [figure.name for figure in figures if figure is not None and figure.is_finding]


def _get_results(audit: Audit) -> dict[str, Any]:
    """Return the result of each question that was answered."""
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
    """Compare one figure; None if too few items are shared."""
    rows = shared_rows(first.ids, second.ids)
    if shared_ids is not None:
        is_shared = [first.ids[row] in shared_ids for row in rows[0]]
        rows = rows[:, is_shared]
    first_rows, second_rows = rows
    if len(first_rows) < MIN_ITEMS:
        return None
    # Both columns in the order of the first report.
    values = [np.array(first.values)[first_rows], np.array(second.values)[second_rows]]
    bounds: dict[str, Any] = {"low": first.low, "high": first.high}
    if first.groups:
        weights = _weigh_groups(np.array(first.groups)[first_rows])
        values = [column * weights for column in values]
        bounds = {"low": 0.0, "high": first.high * float(weights.max())}
    # Cases with the same text get the same answer from each model: they are one unit of the test.
    if first.clusters:
        bounds["clusters"] = np.array(first.clusters)[first_rows]

    test = compare_paired_means(*values, **bounds, resampling=resampling)
    estimates = []
    for column in values:
        interval = bounded_mean_interval(column, **bounds, confidence_level=resampling.level)
        estimates.append(make_estimate(float(column.mean()), interval))
    return _make_figure(
        key=first.key,
        question=question,
        texts=first,
        split="",
        estimates=(estimates[0], estimates[1]),
        test=test,
    )


def _weigh_groups(groups: NDArray[Any]) -> NDArray[np.float64]:
    """Return weights by which the mean over cases is the mean over groups of their means."""
    names, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    # The weights of all cases have the mean 1, and those of each group the same sum.
    weights = len(codes) / (len(names) * counts)
    return np.asarray(weights[codes], dtype=np.float64)


def _make_figure(
    *,
    key: str,
    question: str,
    texts: Any,
    split: str,
    estimates: tuple[Estimate, Estimate],
    test: PairedTest,
) -> ComparedFigure:
    """Join a test with the estimates of both models; `texts` has the name, the unit, and which is better."""
    # One constructor for figures of calibration and of items, so that both have the same columns.
    return ComparedFigure(
        question=question,
        key=key,
        name=texts.name,
        split=split,
        unit=texts.unit,
        better=texts.better,
        n_items=test.n_items,
        first=estimates[0],
        second=estimates[1],
        difference=make_estimate(test.difference, test.interval),
        p_value=test.p_value,
        test=test.method,
    )
