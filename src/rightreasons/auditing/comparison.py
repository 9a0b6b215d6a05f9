"""Two audited models on the same items: is one really better, or better calibrated?"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rightreasons
from rightreasons.analysis.intervals import holm
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page import plots
from rightreasons.auditing.page.report import Outcome, render_page
from rightreasons.auditing.page.words import p_equals, percent, short_name, written
from rightreasons.auditing.predictions import Predictions, read_predictions
from rightreasons.auditing.reading.paired import ComparedAnswer, Winner, compared_answers, winner_of
from rightreasons.auditing.reports import PAGE
from rightreasons.auditing.schema import AUDIT_FILE, check_files, read_audit
from rightreasons.foundations.atomic_write import check_folder, write_bytes, write_json, write_text
from rightreasons.foundations.label_names import match_labels
from rightreasons.foundations.ragged import take_rows
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.results import Result
from rightreasons.foundations.sentences import checks_kinds, counted
from rightreasons.foundations.storing.swap import swapped_in
from rightreasons.measuring.calibration import (
    FIGURES,
    TESTED,
    JudgedItems,
    measure_figures,
    paired_outcomes,
    paired_test,
)
from rightreasons.measuring.estimates import Estimate, estimate_of
from rightreasons.measuring.options import CalibrationOptions

COMPARISON_FILE = "comparison.json"

N_EXAMPLES = 5
"""Items shown for each model."""


@dataclasses.dataclass(frozen=True)
class ComparedFigure(Result):
    """One figure of two models on the same items.

    Attributes:
        key: The figure, as in the audit.
        name: Its name.
        first: The first model's.
        second: The second model's.
        difference: First minus second, with its interval.
        p_value: Two-sided p-value of "no difference".
        test: The test, in words.
        better: "higher", "lower" or None.
        holm_p_value: The p-value after Holm's correction for all tests of the comparison.
        winner: The model that is better by the corrected p-value; "" where that is open.
    """

    key: str
    name: str
    first: Estimate
    second: Estimate
    difference: Estimate
    p_value: float
    test: str
    better: str | None
    holm_p_value: float = 1.0
    winner: Winner = ""


@dataclasses.dataclass(frozen=True)
class ComparedSplit(Result):
    """Two models on the items that both were audited on.

    Attributes:
        split: The name of the split.
        n_items: Items that both reports hold, with the same text and a label.
        n_only_first: Items that only the first report holds.
        n_only_second: Items that only the second report holds.
        both_right: Items that both get right.
        first_right: Items that only the first gets right.
        second_right: Items that only the second gets right.
        both_wrong: Items that neither gets right.
        figures: The figures with their tests.
    """

    split: str
    n_items: int
    n_only_first: int
    n_only_second: int
    both_right: int
    first_right: int
    second_right: int
    both_wrong: int
    figures: tuple[ComparedFigure, ...]


@dataclasses.dataclass(frozen=True)
class Comparison(Result):
    """What comparing two reports found.

    Attributes:
        first: The first model.
        second: The second model.
        splits: The splits that both reports hold.
        answers: The figures of the questions that both reports answer, item by item.
        n_resamples: The resamples of every bootstrap and permutation test.
        seed: Their seed.
        rightreasons: The version.
    """

    first: str
    second: str
    splits: tuple[ComparedSplit, ...]
    answers: tuple[ComparedAnswer, ...]
    n_resamples: int
    seed: int
    rightreasons: str = rightreasons.__version__

    def better_at(self, winner: Winner) -> list[str]:
        """Name what a model is better at; with "", what is open."""
        at = [
            f"{_within(figure.name)} on {split.split}"
            for split in self.splits
            for figure in split.figures
            if figure.better is not None and figure.winner == winner
        ]
        names = [one.group or _within(one.name) for one in self.answers if one.winner == winner]
        return [*at, *names]


def _within(name: str) -> str:
    """Write the name of a figure within a sentence."""
    return name[:1].lower() + name[1:]


@dataclasses.dataclass(frozen=True, eq=False)
class _Pair:
    """The items that two reports share, judged by both models in the first's numbering of classes."""

    first: JudgedItems
    second: JudgedItems
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    n_only: tuple[int, int]


@checks_kinds
def compare(
    first: str | os.PathLike[str],
    second: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
) -> Comparison:
    """Compare two audited models on the items that both reports hold, by paired tests.

    Accuracy is compared by the exact McNemar test, figures that are means over items (mean confidence, confidence gap,
    Brier score, log loss) by a paired bootstrap, and calibration errors by swapping the two models at random in each
    item. So are the figures of all other questions that are means over items (or cases of a suite), by `paired_means`.
    Items are joined by id, and only where both reports have the same text. Which model is better at what follows from
    p-values that are corrected by Holm's method for all tests of the comparison; else it is open.

    Args:
        first: The folder of a report.
        second: The folder of another.
        out: A folder for a page and comparison.json; None to write nothing.
        confidence_level: The level of every interval.
        n_resamples: Resamples of every bootstrap and permutation test.
        seed: Their seed.

    Returns:
        A `Comparison`: the models, for each shared split its counts and figures, and the figures of the questions.

    Raises:
        FileNotFoundError: If one is not a report, or has no predictions.
        ValueError: If the reports share no item, the models' classes have other names, or an item has one label in one
            report and another in the other.
    """
    how = Resampling(confidence_level, n_resamples, seed)
    target = None if out is None else _check_out(out)
    folders = tuple(_folder(path) for path in (first, second))
    audits = tuple(read_audit(folder) for folder in folders)
    for folder, one in zip(folders, audits, strict=True):
        if one["model"]["task"] == "confidence":
            raise ValueError(
                f"Expected two reports with class scores, but {folder} has the confidence in given answers, which "
                "are not those of another model."
            )
    names = _names(audits, folders)
    mapping = _classes(audits)
    files = [_prediction_files(audit) for audit in audits]
    splits = [split for split in files[0] if split in files[1]]
    if not splits:
        raise ValueError(
            f"Expected two reports of the same splits, but {folders[0]} holds {', '.join(files[0])} "
            f"and {folders[1]} holds {', '.join(files[1])}."
        )
    pairs: dict[str, _Pair] = {}
    for folder, audit, of in zip(folders, audits, files, strict=True):
        check_files(folder, audit, (of[split] for split in splits))
    for split in splits:
        said = [read_predictions(folder / file[split]) for folder, file in zip(folders, files, strict=True)]
        pair = _join(split, said[0], said[1], mapping, audits)
        if pair is not None:
            pairs[split] = pair
    if not pairs:
        raise ValueError(
            f"Expected two reports of the same items, but {folders[0]} and {folders[1]} share no labeled item with "
            "the same id and text."
        )
    compared = tuple(_compare(split, pair, how) for split, pair in pairs.items())
    primary = pairs.get(audits[0]["dataset"]["primary"])
    answers = compared_answers(audits, folders, set() if primary is None else set(primary.ids), how)
    comparison = Comparison(*names, *_corrected(compared, answers, how.level), how.resamples, how.seed)
    if target is not None:
        _write(target, comparison, pairs, audits, folders)
    return comparison


# ------------------------------------------------------------------------------------------------------------- private


def _check_out(out: str | os.PathLike[str]) -> Path:
    folder = check_folder(out, own=(COMPARISON_FILE, PAGE, "figures"))
    if (folder / AUDIT_FILE).exists():
        raise ValueError(f"Expected a folder without an audit for the comparison, but {folder} holds {AUDIT_FILE}.")
    return folder


def _folder(report: str | os.PathLike[str]) -> Path:
    if not isinstance(report, (str, os.PathLike)):
        raise TypeError(f"Expected the folder of a report, but got {report!r} ({type(report).__name__}).")
    path = Path(report)
    return path.parent if path.name == AUDIT_FILE else path


def _names(audits: Sequence[dict[str, Any]], folders: Sequence[Path]) -> tuple[str, str]:
    first, second = (short_name(audit["model"]["name"]) for audit in audits)
    return (first, second) if first != second else (f"{first} ({folders[0]})", f"{second} ({folders[1]})")


def _classes(audits: Sequence[dict[str, Any]]) -> NDArray[np.int64] | None:
    """Return the first model's class of each of the second's classes; None for multiple choice."""
    one, two = (audit["model"] for audit in audits)
    if one["task"] != two["task"]:
        raise ValueError(
            f"Expected two models of one task, but {one['name']} is for {one['task']} and {two['name']} is not."
        )
    if one["task"] == "multiple_choice":
        return None
    if len(one["label_names"]) != len(two["label_names"]):
        raise ValueError(
            f"Expected two models of the same classes, but {one['name']} has {', '.join(one['label_names'])} "
            f"and {two['name']} has {', '.join(two['label_names'])}."
        )
    return match_labels(two["label_names"], one["label_names"], where=two["name"], classes_of=one["name"]).class_of


def _prediction_files(audit: dict[str, Any]) -> dict[str, str]:
    return {
        split["name"]: split["predictions"]
        for split in audit["dataset"]["splits"]
        if split["predictions"] and split["role"] in ("primary", "comparison")
    }


def _join(
    split: str,
    first: Predictions,
    second: Predictions,
    mapping: NDArray[np.int64] | None,
    audits: Sequence[dict[str, Any]],
) -> _Pair | None:
    """Join the labeled items that both reports hold with the same text; None where there are none."""
    place = {name: row for row, name in enumerate(second.ids)}
    rows = [
        (row, place[name])
        for row, name in enumerate(first.ids)
        if name in place and first.labels[row] >= 0 and first.texts[row] == second.texts[place[name]]
    ]
    if not rows:
        return None
    one, two = np.array(rows).T
    labels, others = first.labels[one], second.labels[two]
    logits = take_rows(second.logits, two)
    mapped = others
    if mapping is not None:
        mapped = mapping[others]
        logits = np.asarray(logits)[:, np.argsort(mapping)]
    # Reports that give an item different labels: one of them took its labels for other classes.
    odd = np.flatnonzero((others >= 0) & (labels != mapped))
    if odd.size:
        shown = [
            audit["model"]["label_names"][label] if audit["model"]["label_names"] else f"choice {label + 1}"
            for audit, label in zip(audits, (labels[odd[0]], others[odd[0]]), strict=True)
        ]
        raise ValueError(
            f"Expected two reports that give each item the same label, but item {first.ids[one[odd[0]]]!r} of the "
            f"split {split!r} is {shown[0]!r} in the first and {shown[1]!r} in the second."
        )
    return _Pair(
        first=JudgedItems.of(take_rows(first.logits, one), labels),
        second=JudgedItems.of(logits, labels),
        ids=tuple(first.ids[row] for row in one),
        texts=tuple(first.texts[row] for row in one),
        n_only=(len(first) - len(rows), len(second) - len(rows)),
    )


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


def _compare(split: str, pair: _Pair, how: Resampling) -> ComparedSplit:
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


# ---------------------------------------------------------------------------------------------------------------- page


def _write(
    out: Path,
    comparison: Comparison,
    pairs: Mapping[str, _Pair],
    audits: Sequence[dict[str, Any]],
    folders: Sequence[Path],
) -> None:
    outcomes = [
        Outcome("answers", "Which is better at what?", "answered", "", _answers_section(comparison)),
        *_split_outcomes(comparison, pairs, audits),
    ]
    _write_page(out, comparison, audits, folders, outcomes)


def _split_outcomes(
    comparison: Comparison, pairs: Mapping[str, _Pair], audits: Sequence[dict[str, Any]]
) -> list[Outcome]:
    return [
        Outcome(
            question=f"split-{number}",
            title=f"On “{compared.split}”",
            status="answered",
            result=_section(number, comparison, compared, pairs[compared.split], audits),
        )
        for number, compared in enumerate(comparison.splits)
    ]


def _write_page(
    out: Path,
    comparison: Comparison,
    audits: Sequence[dict[str, Any]],
    folders: Sequence[Path],
    outcomes: Sequence[Outcome],
) -> None:
    page = render_page(
        title=f"{comparison.first} and {comparison.second}",
        heading=f"{comparison.first} or {comparison.second}?",
        facts=[("compared on", audits[0]["dataset"]["name"]), ("splits", str(len(comparison.splits)))],
        outcomes=outcomes,
        made=[
            ("First model", f"{audits[0]['model']['name']} (report {folders[0]})"),
            ("Second model", f"{audits[1]['model']['name']} (report {folders[1]})"),
            ("Differences", "first minus second, on the items that both reports hold with the same text"),
            ("Resamples", f"{comparison.n_resamples:,}, seed {comparison.seed}"),
            ("Beside this page", f"{COMPARISON_FILE}, figures/ (PNG)"),
        ],
    )
    with swapped_in(out) as new:
        for outcome in outcomes:
            for plot in outcome.result.plots if outcome.result else ():
                write_bytes(new / "figures" / f"{plot.key}.png", plot.png)
        write_text(new / PAGE, page)
        write_json(new / COMPARISON_FILE, comparison.to_dict())


def _answers_section(comparison: Comparison) -> p.SectionResult:
    """Say which model is better at what, over all questions."""
    sides = {"first": comparison.first, "second": comparison.second, "": "cannot tell"}
    better = {side: comparison.better_at(side) for side in ("first", "second", "")}
    told = [f"{sides[side]} is better at {', '.join(better[side])}." for side in ("first", "second") if better[side]]
    open_figures = len(better[""])
    summary = " ".join(
        [*told, f"{open_figures} {'figure is' if open_figures == 1 else 'figures are'} open."] if open_figures else told
    )
    wins = [side for side in ("first", "second") if better[side]]
    label = "Cannot tell them apart" if not wins else "Each is better at something"
    if len(wins) == 1:
        label = f"{sides[wins[0]]} is better"
    rows = [
        (
            one.question,
            f"Pass rate: {one.group}" if one.group else one.name,
            p.Amount(one.first, one.unit),
            p.Amount(one.second, one.unit),
            p.Amount(one.difference, one.unit),
            one.n_items,
            one.p_value,
            one.holm_p_value,
            sides[one.winner],
        )
        for one in comparison.answers
    ]
    tables: tuple[p.Table, ...] = ()
    if rows:
        tables = (
            p.Table(
                key="answers",
                title="Question by question, item by item",
                columns=(
                    p.Column("question", "Question", "text"),
                    p.Column("name", "Figure", "text"),
                    p.Column("first", comparison.first),
                    p.Column("second", comparison.second),
                    p.Column("difference", "First − second"),
                    p.Column("n", "Items", "count"),
                    p.Column("p", "p", "p_value"),
                    p.Column("holm", "p (Holm)", "p_value"),
                    p.Column("winner", "Better", "text"),
                ),
                rows=tuple(rows),
                note="Each figure is a mean over the items that both reports hold, and may differ from that of the "
                "reports. Flags are tested by McNemar's exact test, others by flipping signs.",
                source="McNemar 1947; Fisher 1935; Agresti & Min 2005; Holm 1979",
            ),
        )
    text = "" if rows else "The reports answer no other question in common whose figures are means over items."
    return p.SectionResult(
        verdict=p.Verdict("neutral" if not wins else "good", label, summary),
        headlines=(),
        parts=(p.Part(title="Answers side by side", text=text, tables=tables),),
        limits=("The tests are about the choice of items; another seed of the same training may differ by more.",),
    )


def _section(
    number: int, comparison: Comparison, compared: ComparedSplit, pair: _Pair, audits: Sequence[dict[str, Any]]
) -> p.SectionResult:
    figures = {figure.key: figure for figure in compared.figures}
    drawing = plots.dot_rows(
        f"models_{number}",
        rows=[
            plots.Bar.of(f.name, f.first, f.second)
            for f in compared.figures
            if FIGURES[f.key].unit == "fraction" and f.key != "confidence_gap"
        ],
        series=(comparison.first, comparison.second),
        xlabel="fraction",
    )
    values = "; ".join(
        f"{f.name}: {written(f.first, FIGURES[f.key].unit)} and {written(f.second, FIGURES[f.key].unit)}"
        for f in compared.figures
    )
    return p.SectionResult(
        verdict=_verdict(comparison, compared, figures["accuracy"]),
        headlines=tuple(_headline(figures[key], compared) for key in ("accuracy", "ece", "confidence_gap", "nll")),
        parts=(
            p.Part(
                title="Figure by figure",
                plots=(
                    drawing.plot(
                        title="The two models",
                        caption="Whiskers are the interval of each model by itself; whether the two differ is in the "
                        "table, which compares them item by item.",
                        alt=f"Figures of the two models. {values}.",
                        source="Definitions as in the audits",
                    ),
                ),
                tables=(_figure_table(comparison, compared), _count_table(comparison, compared)),
            ),
            p.Part(title="Where they differ", examples=_examples(comparison, pair, audits)),
        ),
        limits=(
            "A model is called better only where the p-value, corrected by Holm's method for all tests, is low enough.",
            "The tests are about the choice of items; another seed of the same training may differ by more.",
        ),
    )


def _verdict(comparison: Comparison, compared: ComparedSplit, accuracy: ComparedFigure) -> p.Verdict:
    first, second = percent(accuracy.first.value or 0.0), percent(accuracy.second.value or 0.0)
    summary = (
        f"On {compared.n_items:,} shared items {comparison.first} is right in {first} of the cases and "
        f"{comparison.second} in {second}; {counted(compared.first_right, 'item')} only the first gets right, "
        f"{compared.second_right:,} only the second (exact McNemar p {p_equals(accuracy.p_value)})."
    )
    if not accuracy.winner:
        return p.Verdict("neutral", "No difference in accuracy shown", summary)
    return p.Verdict("good", f"{_winner(comparison, accuracy)} is more often right", summary)


def _headline(figure: ComparedFigure, compared: ComparedSplit) -> p.Headline:
    about = FIGURES[figure.key].defined(CalibrationOptions().n_bins)
    text = p.FigureText(
        f"{about.name}: first − second",
        f"{about.definition} The difference of the two, p {p_equals(figure.p_value)} ({figure.test}).",
        about.source,
        about.unit,
    )
    reason = "" if figure.difference.has_interval else "The test gives no interval."
    key = f"{figure.key}_difference"
    return p.Headline.of(key, text, figure.difference, split=compared.split, n=compared.n_items, no_interval=reason)


def _figure_table(comparison: Comparison, compared: ComparedSplit) -> p.Table:
    return p.Table(
        key="figures",
        title="Figures and tests",
        columns=(
            p.Column("name", "Figure", "text"),
            p.Column("first", comparison.first),
            p.Column("second", comparison.second),
            p.Column("difference", "First − second"),
            p.Column("p", "p", "p_value"),
            p.Column("holm", "p (Holm)", "p_value"),
            p.Column("test", "Test", "text"),
            p.Column("better", "Better", "text"),
        ),
        rows=tuple(
            (f.name, *_amounts(f), f.p_value, f.holm_p_value, f.test, _winner(comparison, f)) for f in compared.figures
        ),
        note=f"On {counted(compared.n_items, 'item')} that both reports hold ({compared.n_only_first:,} are in "
        "the first alone, "
        f"{compared.n_only_second:,} in the second alone).",
        source="McNemar 1947; Efron & Tibshirani 1993; Fisher 1935; definitions as in the audits",
    )


def _winner(comparison: Comparison, figure: ComparedFigure) -> str:
    if figure.better is None:
        return ""
    return {"first": comparison.first, "second": comparison.second, "": "cannot tell"}[figure.winner]


def _amounts(figure: ComparedFigure) -> tuple[p.Amount, ...]:
    unit = FIGURES[figure.key].unit
    return tuple(p.Amount(each, unit) for each in (figure.first, figure.second, figure.difference))


def _count_table(comparison: Comparison, compared: ComparedSplit) -> p.Table:
    return p.Table(
        key="counts",
        title="Right and wrong, item by item",
        columns=(
            p.Column("first", comparison.first, "text"),
            p.Column("right", f"{comparison.second} right", "count"),
            p.Column("wrong", f"{comparison.second} wrong", "count"),
        ),
        rows=(
            ("right", compared.both_right, compared.first_right),
            ("wrong", compared.second_right, compared.both_wrong),
        ),
        source="Counted",
    )


def _examples(comparison: Comparison, pair: _Pair, audits: Sequence[dict[str, Any]]) -> tuple[p.ExampleList, ...]:
    names = audits[0]["model"]["label_names"]

    def name(label: int) -> str:
        return names[label] if names else f"choice {label + 1}"

    lists = []
    for key, better, worse, title in (
        ("first_right", pair.first, pair.second, comparison.first),
        ("second_right", pair.second, pair.first, comparison.second),
    ):
        rows = np.flatnonzero(better.top.correct & ~worse.top.correct)
        rows = rows[np.argsort(-worse.top.confidence[rows], kind="stable")][:N_EXAMPLES]
        if not len(rows):
            continue
        lists.append(
            p.ExampleList(
                key=key,
                title=f"Only {title} is right",
                note="Prediction and confidence are those of the model that is wrong, the most confident first.",
                examples=tuple(
                    p.Example(
                        id=pair.ids[row],
                        text=pair.texts[row],
                        label=name(int(worse.top.labels[row])),
                        prediction=name(int(worse.top.predicted[row])),
                        confidence=min(float(worse.top.confidence[row]), 1.0),
                        note=f"the other: {percent(float(better.top.confidence[row]))}",
                    )
                    for row in rows
                ),
            )
        )
    return tuple(lists)
