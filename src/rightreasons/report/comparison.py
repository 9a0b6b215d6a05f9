"""Two audited models on the same items: is one really better, or better calibrated?"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.audited.predictions import read_predictions
from rightreasons.calibration.measure import FIGURES, TESTED, measure_figures, paired_outcomes, paired_test
from rightreasons.calibration.options import CalibrationOptions
from rightreasons.core.errors import counted
from rightreasons.core.intervals import FigureText, estimate_of, holm
from rightreasons.core.resampling import Resampling
from rightreasons.core.store import check_folder, swapped_in, write_bytes, write_json, write_text
from rightreasons.page import parts as p
from rightreasons.page import plots
from rightreasons.page.plots import Curve, curves
from rightreasons.page.words import p_equals, percent, written
from rightreasons.report.files import PAGE
from rightreasons.report.paired import (
    COMPARISON_FILE,
    ComparedAnswer,
    ComparedFigure,
    ComparedSplit,
    Comparison,
    FigureHistory,
    SharedItems,
    compared_answers,
    history_of,
    matched_classes,
    prediction_files,
    read_reports,
    report_folder,
    shared_items,
    winner_of,
)
from rightreasons.report.render import Outcome, Page, render_page
from rightreasons.report.schema import AUDIT_FILE, check_files

N_EXAMPLES = 5
"""Items shown for each model."""

N_LINES = 4
"""Figures of one question that are drawn over the reports."""


def write_page(
    out: Path,
    comparison: Comparison,
    pairs: Mapping[str, SharedItems],
    audits: Sequence[dict[str, Any]],
    folders: Sequence[Path],
) -> None:
    """Write the page, its pictures and comparison.json, in place of what the folder holds.

    Args:
        out: The folder.
        comparison: The comparison.
        pairs: The shared items of each split.
        audits: Those of the first and of the second model.
        folders: Their reports.
    """
    first, second, models = comparison.first, comparison.second, comparison.history.models
    outcomes = [
        *(
            []
            if comparison.not_paired
            else [Outcome("answers", "Which is better at what?", "answered", "", _answers_section(comparison))]
        ),
        *_history_outcome(comparison),
        *(
            Outcome(
                question=f"split-{number}",
                title=f"On “{compared.split}”",
                status="answered",
                result=_section(number, comparison, compared, pairs[compared.split], audits),
            )
            for number, compared in enumerate(comparison.splits)
        ),
    ]
    page = render_page(
        Page(
            title=f"{first} and {second}",
            heading=f"{first} or {second}?" if len(models) == 2 else f"From {first} to {second}",
            facts=[
                ("compared on", comparison.history.dataset),
                ("splits", str(len(comparison.splits))),
                *([("reports", str(len(models)))] if len(models) > 2 else []),
            ],
            outcomes=outcomes,
            made=[
                ("First model", f"{audits[0]['model']['name']} (report {folders[0]})"),
                ("Second model", f"{audits[1]['model']['name']} (report {folders[1]})"),
                ("Differences", "first minus second, on the items that both reports hold with the same text"),
                ("Resamples", f"{comparison.n_resamples:,}, seed {comparison.seed}"),
                ("Beside this page", f"{COMPARISON_FILE}, figures/ (PNG)"),
            ],
        )
    )
    with swapped_in(out) as new:
        for outcome in outcomes:
            for plot in outcome.result.plots if outcome.result else ():
                write_bytes(new / "figures" / f"{plot.key}.png", plot.png)
        write_text(new / PAGE, page)
        write_json(new / COMPARISON_FILE, comparison.to_dict())


def _history_outcome(comparison: Comparison) -> list[Outcome]:
    """Put the figures of the reports side by side, and draw the shares over more than two."""
    figures, models = comparison.side_by_side, comparison.history.models
    if not figures:
        return []
    many = len(models) > 2
    better = {side: sum(figure.better == side for figure in figures) for side in ("first", "last", "open")}
    summary = (
        f"{counted(better['last'], 'figure is', 'figures are')} better in {models[-1]} than in {models[0]}, beyond the "
        f"intervals; {better['first']:,} worse; {better['open']:,} open."
    )
    shown = _headlines(figures) if many else figures
    rest = [figure for figure in figures if figure not in shown]
    tables = [_history_table("history", "Report by report" if many else "Side by side", shown, models)]
    if rest:
        table = _history_table("history_rest", "The other figures", rest, models)
        tables.append(dataclasses.replace(table, folded=True))
    result = p.SectionResult(
        verdict=p.Verdict("neutral", "Followed over the reports" if many else "By the intervals of the two", summary),
        headlines=(),
        parts=(p.Part(title="Figure by figure", plots=_lines(shown) if many else (), tables=tuple(tables)),),
        limits=(
            "The intervals of the changes are not corrected for their number.",
            *(
                [f"The first and the last are not compared item by item. {comparison.not_paired}"]
                if comparison.not_paired
                else []
            ),
        ),
    )
    title = "How do the figures move?" if many else "What else differs?"
    return [Outcome("history", title, "answered", "", result)]


def _headlines(figures: Sequence[FigureHistory]) -> list[FigureHistory]:
    """Return the first shares of each question: those that the reports begin with."""
    shares = [figure for figure in figures if figure.unit == "fraction" and figure.better]
    by_question = {figure.question: [f for f in shares if f.question == figure.question] for figure in shares}
    return [figure for of in by_question.values() for figure in of[:N_LINES]]


def _history_table(key: str, title: str, figures: Sequence[FigureHistory], models: Sequence[str]) -> p.Table:
    return p.Table(
        key=key,
        title=title,
        columns=(
            p.Column("name", "Figure", "text"),
            p.Column("question", "Question", "text"),
            *(p.Column(f"report_{number}", name) for number, name in enumerate(models, 1)),
            p.Column("change", "Last − first"),
            p.Column("better", "Better", "text"),
        ),
        rows=tuple(
            (
                figure.name,
                figure.question,
                *(None if each is None else p.Amount(each, figure.unit) for each in figure.estimates),
                None if figure.change is None else p.Amount(figure.change, figure.unit),
                {"first": models[0], "last": models[-1], "open": "cannot tell", "": ""}[figure.better],
            )
            for figure in figures
        ),
        note="The change has its interval from those of the two reports, as if they were about other items: where they "
        "are about the same, it is too wide as a rule.",
        source="Zou & Donner 2008",
    )


def _lines(figures: Sequence[FigureHistory]) -> tuple[p.Plot, ...]:
    """Draw the shares of each question over the reports."""
    plots_of: list[p.Plot] = []
    for question in dict.fromkeys(figure.question for figure in figures):
        shares = [
            figure
            for figure in figures
            if figure.question == question
            and all(e is None or e.value is None or 0 <= e.value <= 1 for e in figure.estimates)
        ]
        if not shares:
            continue
        numbers = range(1, len(shares[0].estimates) + 1)
        values = "; ".join(
            f"{f.name}: {', '.join('none' if e is None else written(e, f.unit) for e in f.estimates)}" for f in shares
        )
        drawing = curves(
            f"history_{question}",
            list(numbers),
            [
                Curve(
                    f.name,
                    [None if e is None else e.value for e in f.estimates],
                    [None if e is None or e.low is None or e.high is None else (e.low, e.high) for e in f.estimates],
                )
                for f in shares
            ],
            xlabel="report",
            ylabel="share",
        )
        plots_of.append(
            drawing.plot(
                title=f"{question.capitalize()} over the reports",
                caption="In the order in which the reports were named; shaded: the interval of each.",
                alt=f"Lines over {len(numbers)} reports. {values}.",
                source="Definitions as in the audits",
            )
        )
    return tuple(plots_of)


def _answers_section(comparison: Comparison) -> p.SectionResult:
    """Say which model is better at what, over all questions."""
    sides = {"first": comparison.first, "second": comparison.second, "": "cannot tell"}
    better = {side: comparison.better_at(side) for side in ("first", "second", "")}
    told = [f"{sides[side]} is better at {', '.join(better[side])}." for side in ("first", "second") if better[side]]
    if better[""]:
        told.append(f"{counted(len(better['']), 'figure is', 'figures are')} open.")
    summary = " ".join(told)
    wins = [side for side in ("first", "second") if better[side]]
    label = "Cannot tell them apart" if not wins else "Each is better at something"
    if len(wins) == 1:
        n_figures = sum(map(len, better.values()))
        label = f"{sides[wins[0]]} is better at {len(better[wins[0]])} of {counted(n_figures, 'figure')}"
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
    number: int, comparison: Comparison, compared: ComparedSplit, pair: SharedItems, audits: Sequence[dict[str, Any]]
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
        f"On {counted(compared.n_items, 'shared item')} {comparison.first} is right in {first} of the cases and "
        f"{comparison.second} in {second}; {counted(compared.first_right, 'item is', 'items are')} right in the first "
        f"alone, {compared.second_right:,} in the second alone (exact McNemar test, p {p_equals(accuracy.p_value)})."
    )
    if not accuracy.winner:
        return p.Verdict("neutral", "No difference in accuracy shown", summary)
    return p.Verdict("good", f"{_winner(comparison, accuracy)} is more often right", summary)


def _headline(figure: ComparedFigure, compared: ComparedSplit) -> p.Headline:
    about = FIGURES[figure.key].defined(CalibrationOptions().n_bins)
    text = FigureText(
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


def _examples(comparison: Comparison, pair: SharedItems, audits: Sequence[dict[str, Any]]) -> tuple[p.ExampleList, ...]:
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
    first, second = (measure_figures(judged, TESTED, resampling=how) for judged in (pair.first, pair.second))
    figures = []
    for key in first:
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
