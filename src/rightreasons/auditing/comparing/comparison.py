"""Two audited models on the same items: is one really better, or better calibrated?"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.analysis.intervals import holm
from rightreasons.auditing.comparing.history import history_of, read_reports, report_folder
from rightreasons.auditing.comparing.items import SharedItems, matched_classes, prediction_files, shared_items
from rightreasons.auditing.comparing.page import write_page
from rightreasons.auditing.comparing.paired import ComparedAnswer, compared_answers, winner_of
from rightreasons.auditing.comparing.results import COMPARISON_FILE, ComparedFigure, ComparedSplit, Comparison
from rightreasons.auditing.predictions import read_predictions
from rightreasons.auditing.reports import PAGE
from rightreasons.auditing.schema import AUDIT_FILE, check_files
from rightreasons.foundations.atomic_write import check_folder
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.sentences import checks_kinds
from rightreasons.measuring.calibration import FIGURES, TESTED, measure_figures, paired_outcomes, paired_test
from rightreasons.measuring.estimates import estimate_of


@checks_kinds
def compare(
    *reports: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare two audited models on the items that both reports hold, by paired tests; follow more over their reports.

    Accuracy is compared by the exact McNemar test, figures that are means over items (mean confidence, confidence gap,
    Brier score, log loss) by a paired bootstrap, and calibration errors by a bootstrap of their debiased difference
    (`compare_confidence`). The figures of all other questions that are means over items (or cases of a suite) are
    compared by `paired_means`.
    Items are joined by id, and only where both reports have the same text. Which model is better at what follows from
    p-values that are corrected by Holm's method for all tests of the comparison; else it is open.

    Of more than two reports, such as those of checkpoints, the first and the last are the two models, and every figure
    is followed over all of them (`history`), also where the two cannot be compared item by item (`not_paired`).

    Args:
        reports: The folders of two reports or more.
        out: A folder for a page and comparison.json; None to write nothing.
        confidence_level: The level of every interval.
        n_resamples: Resamples of every bootstrap and permutation test.
        seed: Their seed.

    Returns:
        A `Comparison`: the models, for each shared split its counts and figures, the figures of the questions, and the
        figures of all reports side by side.

    Raises:
        FileNotFoundError: If one is not a report, or has no predictions.
        ValueError: If there are fewer than two reports, they share no item, the models' classes have other names, or an
            item has one label in one report and another in the other.
    """
    how = Resampling(confidence_level, n_resamples, seed)
    target = None if out is None else _check_out(out)
    every = read_reports(reports)
    followed = history_of(reports, every)
    folders, audits = tuple(map(report_folder, (reports[0], reports[-1]))), (every[0], every[-1])
    names = followed.models[0], followed.models[-1]
    not_paired = _not_paired(folders, audits)
    if not_paired and len(reports) == 2:
        raise ValueError(not_paired)
    pairs = {} if not_paired else _pairs(folders, audits)
    compared = tuple(_compare(split, pair, how) for split, pair in pairs.items())
    primary = pairs.get(audits[0]["dataset"]["primary"])
    shared = set() if primary is None else set(primary.ids)
    answers = () if not_paired else compared_answers(audits, folders, shared, how)
    tests = _corrected(compared, answers, how.level)
    comparison = Comparison(*names, *tests, followed, not_paired, how.resamples, how.seed)
    if target is not None:
        write_page(target, comparison, pairs, audits, folders)
    return comparison


# ------------------------------------------------------------------------------------------------------------- private


def _not_paired(folders: Sequence[Path], audits: Sequence[dict[str, Any]]) -> str:
    """Return why two reports cannot be compared item by item; "" where they can."""
    for folder, one in zip(folders, audits, strict=True):
        if one["model"]["task"] == "confidence":
            return (
                f"Expected two reports with class scores, but {folder} has the confidence in given answers, which "
                "are not those of another model."
            )
    files = [prediction_files(audit) for audit in audits]
    if not set(files[0]) & set(files[1]):
        return (
            f"Expected two reports of the same splits, but {folders[0]} holds the predictions of "
            f"{', '.join(files[0]) or 'none'} and {folders[1]} of {', '.join(files[1]) or 'none'}."
        )
    return ""


def _pairs(folders: Sequence[Path], audits: Sequence[dict[str, Any]]) -> dict[str, SharedItems]:
    """Join the items of each split that two reports hold the predictions of."""
    mapping = matched_classes(audits)
    files = [prediction_files(audit) for audit in audits]
    splits = [split for split in files[0] if split in files[1]]
    for folder, audit, of in zip(folders, audits, files, strict=True):
        check_files(folder, audit, (of[split] for split in splits))
    pairs: dict[str, SharedItems] = {}
    for split in splits:
        said = [read_predictions(folder / file[split]) for folder, file in zip(folders, files, strict=True)]
        pair = shared_items(split, said[0], said[1], mapping, audits)
        if pair is not None:
            pairs[split] = pair
    if not pairs:
        raise ValueError(
            f"Expected two reports of the same items, but {folders[0]} and {folders[1]} share no labeled item with "
            "the same id and text."
        )
    return pairs


def _check_out(out: str | os.PathLike[str]) -> Path:
    folder = check_folder(out, own=(COMPARISON_FILE, PAGE, "figures"))
    if (folder / AUDIT_FILE).exists():
        raise ValueError(f"Expected a folder without an audit for the comparison, but {folder} holds {AUDIT_FILE}.")
    return folder


def _corrected(
    splits: Sequence[ComparedSplit], answers: Sequence[ComparedAnswer], level: float
) -> tuple[tuple[ComparedSplit, ...], tuple[ComparedAnswer, ...]]:
    """Correct the p-values of all tests together, and say which model is better by them."""
    tests: list[ComparedFigure | ComparedAnswer] = [*(figure for split in splits for figure in split.figures), *answers]
    corrected = iter(holm(np.array([test.p_value for test in tests])).tolist())

    def decided(test: Any) -> Any:
        p_value = next(corrected)
        winner = winner_of(test.difference, test.better, p_value, level)
        return dataclasses.replace(test, holm_p_value=p_value, winner=winner)

    return (
        tuple(dataclasses.replace(split, figures=tuple(map(decided, split.figures))) for split in splits),
        tuple(map(decided, answers)),
    )


def _compare(split: str, pair: SharedItems, how: Resampling) -> ComparedSplit:
    keys = [key for key in TESTED if pair.first.by_class or not FIGURES[key].by_class]
    first, second = (measure_figures(judged, keys, resampling=how) for judged in (pair.first, pair.second))
    figures = []
    for key in keys:
        test = paired_test(key, pair.first, pair.second, resampling=how)
        figures.append(
            ComparedFigure(
                key=key,
                name=FIGURES[key].name,
                first=first[key],
                second=second[key],
                difference=estimate_of(test.difference, test.interval),
                p_value=test.p_value,
                test=test.method,
                better=FIGURES[key].better,
            )
        )
    return ComparedSplit(
        split=split,
        n_items=len(pair.ids),
        n_only_first=pair.n_only[0],
        n_only_second=pair.n_only[1],
        **paired_outcomes(pair.first, pair.second),
        figures=tuple(figures),
    )
