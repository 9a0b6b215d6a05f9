"""What the commands print when they are done."""

from __future__ import annotations

import functools
import textwrap
import webbrowser
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from rightreasons.cli import hand_over
from rightreasons.core.errors import counted

if TYPE_CHECKING:
    from rightreasons.behavior.learning.collect import CollectedScores
    from rightreasons.behavior.measure import SuiteAnswers
    from rightreasons.core.intervals import Estimate
    from rightreasons.page.parts import Verdict
    from rightreasons.report.across import ModelsByTasks
    from rightreasons.report.labels import LabelAudits
    from rightreasons.report.paired import Comparison
    from rightreasons.report.plan import Plan
    from rightreasons.report.runner import AuditResult
    from rightreasons.ways.measure import WaysFigures


WIDTH = 100
COLORS = {"bad": "red", "warn": "yellow", "neutral": None, "good": "green"}


def show_audit(result: AuditResult, *, open_page: bool = False) -> None:
    """Print each answer in a few lines, the worst first, and where the report is; exit with 1 when one failed."""
    if not result.written:
        hand_over(result.audit.get("plan"))
        return
    from rightreasons.report.render import worst_first
    from rightreasons.report.schema import read_audit

    hand_over(functools.partial(read_audit, result.out))
    for outcome, answer in worst_first(result.outcomes):
        show_answer(outcome.title, answer.verdict)
    unanswered = [outcome for outcome in result.outcomes if outcome.result is None]
    if unanswered:
        typer.echo("")
    for outcome in unanswered:
        state = "Failed" if outcome.status == "failed" else "Not asked"
        _say(f"{state}: {outcome.title} {outcome.reason}")
    typer.echo(f"\nReport: {result.page}")
    _open(result.page, open_page)
    if result.failed:
        raise typer.Exit(1)


def _open(page: Path, asked: bool) -> None:
    if asked and not webbrowser.open(page.resolve().as_uri()):
        typer.echo("No browser could be started: open it by hand.", err=True)


def show_labels(found: LabelAudits, *, open_page: bool = False) -> None:
    """Print the figures and the verdicts of each label, and the means over labels."""
    from rightreasons.page.prose import written

    def cell(one: Estimate | None, unit: str) -> str:
        return "-" if one is None else written(one, unit)

    hand_over(found)
    rows = found.rows()
    for question in dict.fromkeys(figure.question for figure in found.shown):
        own = [(place, figure) for place, figure in enumerate(found.shown) if figure.question == question]
        table = [[name, *(cell(cells[place], figure.unit) for place, figure in own)] for name, cells, _ in rows]
        typer.echo("")
        print_rows([[question, *(figure.name for _, figure in own)], *table])
    typer.echo("")
    for name, _, verdicts in rows[1:]:
        _say(f"{name}: {'; '.join(verdicts.values()) or 'no verdict'}")
    for name, reason in found.failed.items():
        _say(f"Failed: {name}. {reason}")
    typer.echo(f"\nReport: {found.page}")
    _open(found.page, open_page)


def show_plan(plan: Plan) -> None:
    """Print what would be sent."""
    hand_over(plan.costs)
    typer.echo("\n".join(plan.lines))


def show_answer(title: str, verdict: Verdict) -> None:
    """Print the answer to a question in a few lines."""
    from rightreasons.report.render import LIGHTS

    typer.echo("")
    typer.secho(f"{LIGHTS[verdict.tone]}: ", bold=True, fg=COLORS[verdict.tone], nl=False)
    typer.secho(title, bold=True)
    typer.echo(textwrap.indent(textwrap.fill(f"{verdict.label}. {verdict.summary}", WIDTH - 2), "  "))


def print_rows(rows: Iterable[Sequence[str]], *, indent: str = "  ") -> None:
    """Print rows of texts in columns: the first to the left, the others to the right."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *others in table:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        typer.echo((indent + "  ".join(cells)).rstrip())


def write_figures(file: Path | None, figures: object) -> None:
    """Write a result to the file of all figures, where one is asked for, and say so."""
    from rightreasons.core.arrays import plain
    from rightreasons.core.store import write_json

    hand_over(figures)
    if file is not None:
        write_json(file, plain(figures))
        typer.echo(f"Figures: {file}")


def show_pass_rates(tested: Sequence[SuiteAnswers]) -> None:
    """Print the pass rate of each functionality, the means by class and type, and the mean, of each model."""
    suite = tested[0].suite
    typer.secho(f"{suite.name}: {counted(suite.n_cases, 'case')}, {counted(suite.n_examples, 'example')}", bold=True)
    for each in tested:
        if len(tested) > 1:
            typer.echo("")
            typer.secho(each.name, bold=True)
        if each.matched:
            typer.echo(f"Labels: {each.matched}")
        result = each.result
        for one in result.functionalities:
            said = "      -"
            if one.pass_rate is not None and one.interval is not None:
                said = f"{one.pass_rate:7.1%} [{one.interval.low:.1%}, {one.interval.high:.1%}]"
            typer.echo(f"  {one.test_type} {said:<26} {one.functionality_class}: {one.functionality}")
        for kind, groups in (("class", result.classes), ("type", result.test_types)):
            means = ", ".join(f"{name} {percent(group.pass_rate)}" for name, group in groups.items())
            typer.echo(f"By {kind}: {means}")
        typer.echo(f"Mean over functionalities: {percent(result.behavioral_pass_rate)}")
        if each.one_answer:
            typer.echo(f"But {each.one_answer}: invariance tests are passed without reading.")


def show_comparison(comparison: Comparison) -> None:
    """Print a table for each split and one for the questions, and which model is better at what."""
    from rightreasons.page.prose import number, p_equals, p_value, written

    def value(estimate: Estimate, unit: str) -> str:
        return "-" if estimate.value is None else number(estimate.value, unit)

    if comparison.not_paired:
        _say(f"Not compared item by item. {comparison.not_paired}")
        return
    typer.echo(f"first:  {comparison.first}\nsecond: {comparison.second}")
    for split in comparison.splits:
        typer.echo("")
        typer.secho(f"{split.split}: {counted(split.n_items, 'shared item')}", bold=True)
        rows = [
            (figure.name, value(figure.first, figure.unit), value(figure.second, figure.unit),
             figure_cell(figure.difference, figure.unit), p_value(figure.p_value), p_value(figure.holm_p_value),
             "" if figure.better is None else figure.winner or "cannot tell")
            for figure in split.figures
        ]  # fmt: skip
        print_rows([("", "first", "second", "first - second", "p", "p (Holm)", "better"), *rows])
        typer.echo(f"  only the first right: {split.first_right:,}, only the second: {split.second_right:,}")
    for question in dict.fromkeys(one.question for one in comparison.answers):
        typer.echo("")
        typer.secho(f"{question}, item by item", bold=True)
        for one in (each for each in comparison.answers if each.question == question):
            _say(
                f"  {f'Pass rate, {one.group}' if one.group else one.name}: {written(one.first, one.unit)} and "
                f"{written(one.second, one.unit)}; first - second {written(one.difference, one.unit)} on "
                f"{counted(one.n_items, 'item')} (p {p_equals(one.p_value)}, Holm {p_value(one.holm_p_value)}): "
                f"{one.winner or 'cannot tell'}"
            )
    typer.echo("")
    _say(f"{comparison.first} (first) is better at: {_listed(comparison.better_at('first'))}")
    _say(f"{comparison.second} (second) is better at: {_listed(comparison.better_at('second'))}")
    _say(f"Cannot tell: {', '.join(comparison.better_at('')) or 'nothing'}")


def show_tasks(table: ModelsByTasks) -> None:
    """Print how many answers are right, models by tasks, and each model beside the first of its task."""
    from rightreasons.page.prose import p_value

    for task in table.tasks:
        typer.secho(f"{task}: right answers", bold=True)
        rows = [cell for model in table.models if (cell := table.of(model, task)) is not None]
        print_rows(
            [
                ("", "answers", "unread", "right", "model - first", "shared", "p (Holm)"),
                *(
                    (
                        one.model, f"{one.n_items:,}", f"{one.n_unread:,}", figure_cell(one.accuracy),
                        "" if one.difference is None else figure_cell(one.difference),
                        f"{one.n_shared:,}" if one.n_shared else "",
                        "" if one.p_value is None else p_value(one.p_value),
                    )
                    for one in rows
                ),
            ]
        )  # fmt: skip


def show_ways(figures: WaysFigures) -> None:
    """Print accuracy by way, how far the ways lie apart, and which answers turn when they are doubted."""
    from rightreasons.page.prose import p_equals

    typer.secho(f"{counted(figures.n_items, 'item')}, {counted(len(figures.ways), 'way')} to ask", bold=True)
    print_rows(
        [
            ("separators/instruction/answers/order/examples", "right", "unread"),
            *((one.way.name, figure_cell(one.accuracy), f"{one.n_unread:,}") for one in figures.ways),
        ]
    )
    for part, levels in figures.levels.items():
        if len(levels) > 1:
            typer.echo(f"  by {part}: {', '.join(f'{value} {share:.1%}' for value, share in levels.items())}")
    apart = figures.spread
    _say(
        f"Spread (FormatSpread, Sclar et al. 2024), best minus worst: {apart.spread:.1%}; {apart.by_chance:.1%} where "
        f"the ways change nothing (p {p_equals(apart.p_value)}). Best minus worst of one half of the items, "
        f"measured on the other: {figure_cell(apart.held_out)}."
    )
    for question, reason in figures.no_verdict.items():
        _say(f"No verdict on {question}: {reason}")
    for question, same in figures.same_verdict.items():
        labels = Counter(one.verdicts[question] or "no answer" for one in figures.ways)
        own = figures.ways[0].verdicts[question] or "no answer"
        listed = ", ".join(f"{label} in {count}" for label, count in labels.most_common())
        _say(
            f"Verdict on {question}: {own} by the first way, and in {figure_cell(same)} of the others. Of all "
            f"{len(figures.ways)}: {listed}."
        )
    told = (
        "none, as " + figures.no_posix
        if figures.posix is None
        else f"{figure_cell(figures.posix, 'nats')} nats per token"
    )
    _say(f"POSIX (Chatterjee et al. 2024): {told}.")
    if figures.no_flips:
        _say(f"“Are you sure?” is not asked: {figures.no_flips}.")
        return
    for flips in figures.flips:
        before, after = flips.turn.split(" to ")
        _say(
            f"Of {counted(flips.n_items, f'{before} answer')}, “Are you sure?” turns {figure_cell(flips.doubted)} "
            f"{after}, and a neutral second request {figure_cell(flips.asked_again)}: a difference of "
            f"{figure_cell(flips.difference)} (p {p_equals(flips.p_value)})."
        )
    if figures.n_unread_again:
        _say(f"{counted(figures.n_unread_again, 'item')} without a second answer that can be read are in neither.")


def show_history(comparison: Comparison) -> None:
    """Print the figures of several reports side by side, and at what the first and the last are better."""
    from rightreasons.page.prose import number, written

    figures, history = comparison.side_by_side, comparison.history
    if not figures:
        return
    typer.echo("")
    alone = "" if comparison.many else " (not item by item: by the intervals of the two)"
    typer.secho(f"{history.dataset}: {', '.join(history.models)}{alone}", bold=True)
    width = max(len(figure.path) for figure in figures)
    marks = {"first": "worse", "last": "better", "open": "no difference shown", "": ""}
    for figure in figures:
        values = (
            "-" if one is None or one.value is None else number(one.value, figure.unit) for one in figure.estimates
        )
        change = "" if figure.change is None else f"  change {written(figure.change, figure.unit)}"
        typer.echo(f"  {figure.path:<{width}}  {' → '.join(values)}{change}  {marks[figure.better]}".rstrip())
    for which, model in comparison.sides.items():
        names = ", ".join(figure.path for figure in figures if figure.better == which)
        _say(f"{model} ({which}) is better at: {names or 'nothing beyond the intervals'}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing that the tests show"


def _say(text: str) -> None:
    """Print a paragraph; that of an indented text stays so."""
    indent = text[: len(text) - len(text.lstrip())]
    typer.echo(textwrap.fill(text, WIDTH, subsequent_indent=f"{indent}  "))


def show_scores(collected: CollectedScores) -> None:
    """Print the scores of each configuration and method, with the tests against IID."""
    from rightreasons.behavior.generalization import SETTINGS

    typer.secho(f"{collected.n_done:,} of {collected.n_runs:,} runs are finished.", bold=True)
    typer.echo(
        f"G over {len(collected.functionalities)} of {collected.n_functionalities} functionalities, those that are "
        "defined in every row. * differs from IID (p < 0.05)."
    )
    settings = ("iid", *SETTINGS, "average")
    rows = []
    for row in collected.rows:
        values = {"iid": row.iid_score, **row.scores, "average": row.average}
        cells = [percent(values.get(name)) + "*" * (row.p_values.get(name, 1.0) < 0.05) for name in settings]
        f1 = "" if row.iid_f1 is None else f"{row.iid_f1:.1%}"
        rows.append((row.configuration, row.method, str(row.seed), *cells, f1))
    print_rows([("configuration", "method", "seed", "i.i.d.", *settings[1:], "i.i.d. F1"), *rows])
    for row in collected.rows:
        if row.n_unchanged:
            typer.echo(
                f"  Changed nothing: {row.n_unchanged:,} of {counted(row.n_runs, 'run')} of {row.configuration} "
                f"{row.method} (seed {row.seed}), whose every outcome is that of IID."
            )
    if collected.degenerate:
        of_methods = Counter(f"{run.configuration} {run.method}" for run in collected.degenerate)
        named = ", ".join(f"{name} {count:,}" for name, count in of_methods.most_common())
        _say(f"  One answer to over 90% of the independent items: {len(collected.degenerate):,} runs ({named}).")


def percent(value: float | None) -> str:
    """Write a share; a dash where there is none."""
    return "-" if value is None else f"{value:.1%}"


def figure_cell(estimate: Estimate, unit: str = "fraction") -> str:
    """Write a figure with its interval; a dash where it is undefined."""
    from rightreasons.page.prose import written

    return "-" if estimate.value is None else written(estimate, unit)
