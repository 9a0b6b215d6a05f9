"""A page about behavior alone: what one model or several pass of a suite, without a dataset to audit them on."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import rightreasons
from rightreasons.behavior.measure import SuiteAnswers
from rightreasons.behavior.options import BehaviorOptions
from rightreasons.behavior.plots import HOW_TO_READ, SOURCE, behavior_heat_map, columns_of
from rightreasons.behavior.question import BEHAVIOR, RIBEIRO, BehaviorMeasurement, behavior_result
from rightreasons.core.errors import counted
from rightreasons.core.intervals import FigureText, estimate_of
from rightreasons.core.resampling import Resampling
from rightreasons.core.store import check_folder
from rightreasons.page import parts as p
from rightreasons.page.prose import level_percent, short_name, written
from rightreasons.report.render import PAGE, Asked, Outcome, Page, write_page
from rightreasons.report.schema import AUDIT_FILE

RATES = "pass_rates.json"


def check_report_folder(out: str | os.PathLike[str]) -> Path:
    """Check that a folder can take this report, before anything long begins.

    Raises:
        ValueError: If it cannot be written, holds other files, or holds an audit, whose page would be lost.
    """
    folder = check_folder(out, own=(RATES, PAGE, "figures", "predictions"))
    if (folder / AUDIT_FILE).exists():
        raise ValueError(f"Expected a folder without an audit for this report, but {folder} holds {AUDIT_FILE}.")
    return folder


def write_behavior_report(
    tested: Sequence[SuiteAnswers],
    out: str | os.PathLike[str],
    *,
    resampling: Resampling = Resampling(),
    examples: int = BehaviorOptions().examples,
    command: str = "",
) -> Path:
    """Write what models pass of one suite: index.html, pass_rates.json and figures/.

    `pass_rates.json` holds, for one model, its name, the suite's, how their labels were matched, the prompt and the
    server of a language model, and the fields of `BehavioralPassRate`; for several, the suite's name and a list
    `models` of the same.

    Args:
        tested: Answers of each model to the same suite.
        out: The folder; an earlier report of this kind in it is replaced.
        resampling: How the intervals were made; its seed decides which failing cases are shown.
        examples: Failing cases shown per functionality; 0 for none.
        command: The command that makes the report again; "" where there is none.

    Returns:
        The page.

    Raises:
        ValueError: If there is no model, the suites differ, or the folder holds an audit.
    """
    if not len(tested):
        raise ValueError("Expected at least one tested model, but got none.")
    suite = tested[0].suite
    if any(each.table.case_ids != tested[0].table.case_ids for each in tested):
        raise ValueError("Expected all models to be tested on one suite, but their cases differ.")
    folder = check_report_folder(out)
    models = dict(zip(_names(tested), tested, strict=True))
    if len(tested) == 1:
        result = behavior_result(BehaviorMeasurement(tested[0], resampling, examples))
        outcomes = [Outcome(BEHAVIOR.name, BEHAVIOR.title, "answered", "", result)]
    else:
        outcomes = [Outcome("models", "Which passes what?", "answered", "", _compared(models, resampling.level))]
        for number, (name, each) in enumerate(models.items(), start=1):
            result = behavior_result(BehaviorMeasurement(each, resampling, examples, f"behavior_{number}"))
            outcomes.append(Outcome(f"model_{number}", name, "answered", "", result))
    created = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    page = Page(
        title=f"Behavior on {suite.name}",
        heading=f"{counted(len(tested), 'model') if len(tested) > 1 else next(iter(models))} on {suite.name}",
        facts=[
            ("functionalities", str(len(suite.functionalities))),
            ("cases", f"{suite.n_cases:,}"),
            ("examples", f"{suite.n_examples:,}"),
            ("made", created[:10]),
        ],
        outcomes=outcomes,
        asked=[
            Asked(each.prompt, server=each.server, name=name if len(tested) > 1 else "")
            for name, each in models.items()
            if each.prompt is not None
        ],
        made=[
            *(("Model", each.name) for each in tested),
            *(("Labels", f"{each.name}: {each.matched}") for each in tested if each.matched),
            ("Suite", suite.name),
            ("Intervals", level_percent(resampling.level)),
            ("Seed", str(resampling.seed)),
            ("Software", f"rightreasons {rightreasons.__version__}"),
            ("Made", created),
            ("Beside this page", f"{RATES} (all pass rates, and which cases pass), figures/ (PNG)"),
        ],
        command=command,
    )
    rates = [
        {
            "model": each.name,
            "suite": suite.name,
            "labels": each.matched,
            **({} if each.prompt is None else {"prompt": dict(each.prompt)}),
            **({} if each.server is None else {"server": dict(each.server)}),
            **each.result.to_dict(),
        }
        for each in tested
    ]
    results = {"suite": suite.name, "models": rates} if len(tested) > 1 else rates[0]
    write_page(folder, page, {RATES: results})
    return folder / PAGE


def _names(tested: Sequence[SuiteAnswers]) -> list[str]:
    """Short names where they tell the models apart, else numbered full ones."""
    names = [short_name(each.name) for each in tested]
    if len(set(names)) < len(names):
        names = [each.name for each in tested]
    return [f"{name} ({number})" if names.count(name) > 1 else name for number, name in enumerate(names, start=1)]


def _compared(models: Mapping[str, SuiteAnswers], level: float) -> p.SectionResult:
    """Show which model passes what, side by side."""
    results = {name: each.result for name, each in models.items()}
    suite = next(iter(models.values())).suite
    columns = columns_of(next(iter(results.values())))
    means = {name: estimate_of(each.behavioral_pass_rate, each.interval) for name, each in results.items()}
    summary = f"Mean pass rates: {'; '.join(f'{name} {written(mean)}' for name, mean in means.items())}."
    say = BEHAVIOR.prose.of()
    definition = say("figure.pass_rate")
    plot = behavior_heat_map("behavior_models", rows=results, functionalities=columns).plot(
        title=say.title("plot.heat_map"),
        caption=f"One row per model. {HOW_TO_READ}",
        alt=summary,
        source=SOURCE,
        wide=True,
    )
    table = p.Table(
        key="models",
        title=f"Pass rates by functionality and model [{level_percent(level)}]",
        columns=(
            p.Column("functionality", "Functionality", "text"),
            p.Column("functionality_class", "Class", "text"),
            p.Column("test_type", "Type", "text"),
            *(p.Column(f"model_{number}", name, "share") for number, name in enumerate(models, start=1)),
        ),
        rows=tuple(
            (
                f"{place + 1}. {name}",
                group,
                kind,
                *(
                    estimate_of(each.pass_rate, each.interval)
                    for each in (result.functionalities[place] for result in results.values())
                ),
            )
            for place, (name, group, kind) in enumerate(columns)
        ),
        note="Wilson intervals. To see whether two models differ, use a paired test of their cases, which are in "
        "pass_rates.json: rightreasons.behavior.generalization.compare_generalization.",
        source=RIBEIRO,
        folded=True,
    )
    return p.SectionResult(
        p.Verdict("neutral", counted(len(models), "model"), summary),
        tuple(
            p.Headline.of(
                f"pass_rate_{number}",
                FigureText(name, definition, RIBEIRO, better="higher"),
                mean,
                split=suite.name,
                n=suite.n_examples,
            )
            for number, (name, mean) in enumerate(means.items(), start=1)
        ),
        (p.Part("Side by side", plots=(plot,), tables=(table,)),),
    )
