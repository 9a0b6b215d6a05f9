"""A page about behavior alone: what one model or several pass of a suite, without a dataset to audit them on."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import rightreasons
from rightreasons.auditing.page.parts import Column, Headline, Part, SectionResult, Table, Verdict
from rightreasons.auditing.page.report import Outcome, render_page
from rightreasons.auditing.page.words import percent, with_interval
from rightreasons.auditing.questions.behavior.plots import behavior_heat_map, columns_of
from rightreasons.auditing.questions.behavior.section import EXAMPLES, RIBEIRO, SECTION, behavior_result, short_name
from rightreasons.auditing.schema import AUDIT_FILE
from rightreasons.foundations.atomic_write import write_bytes, write_json, write_text
from rightreasons.measuring.behavior_answers import SuiteAnswers
from rightreasons.measuring.estimates import estimate_of

PAGE = "index.html"
RATES = "pass_rates.json"


def check_report_folder(out: str | os.PathLike[str]) -> Path:
    """Check that a folder can take this report, before anything long begins.

    Raises:
        ValueError: If it is a file, or holds an audit, whose page would be lost.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"Expected a folder for the report, but {folder} is a file.")
    if (folder / AUDIT_FILE).exists():
        raise ValueError(f"Expected a folder without an audit for this report, but {folder} holds {AUDIT_FILE}.")
    return folder


def write_behavior_report(
    tested: Sequence[SuiteAnswers],
    out: str | os.PathLike[str],
    *,
    confidence_level: float = 0.95,
    seed: int = 0,
    examples: int = EXAMPLES,
    command: str = "",
) -> Path:
    """Write what models pass of one suite: index.html, pass_rates.json and figures/.

    `pass_rates.json` holds, for one model, its name, the suite's and the fields of `BehavioralPassRate`; for several,
    the suite's name and a list `models` of the same.

    Args:
        tested: What each model answered to the same suite.
        out: The folder; an earlier report of this kind in it is replaced.
        confidence_level: The level of the intervals.
        seed: Decides which failing cases are shown.
        examples: How many of each functionality; 0 for none.
        command: The command that makes it again; "" where there is none.

    Returns:
        The page.

    Raises:
        ValueError: If there is no model, the suites differ, or the folder holds an audit.
    """
    if not tested:
        raise ValueError("Expected at least one tested model, but got none.")
    suite = tested[0].suite
    if any(each.table.case_ids != tested[0].table.case_ids for each in tested):
        raise ValueError("Expected all models to be tested on one suite, but their cases differ.")
    folder = check_report_folder(out)
    names = _names(tested)
    several = len(tested) > 1
    outcomes = [
        Outcome(
            f"model_{number}" if several else SECTION.question,
            name if several else SECTION.title,
            "answered",
            "",
            behavior_result(
                each,
                confidence_level=confidence_level,
                seed=seed,
                examples=examples,
                key=f"behavior_{number}" if several else "behavior",
            ),
        )
        for number, (name, each) in enumerate(zip(names, tested, strict=True), start=1)
    ]
    if several:
        title = "Which passes what?"
        outcomes.insert(
            0,
            Outcome(
                "models", title, "answered", "", _compared(dict(zip(names, tested, strict=True)), confidence_level)
            ),
        )
    for plot in (plot for outcome in outcomes if outcome.result for plot in outcome.result.plots):
        write_bytes(folder / "figures" / f"{plot.key}.png", plot.png)
    created = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    page = write_text(
        folder / PAGE,
        render_page(
            title=f"Behavior on {suite.name}",
            heading=f"{f'{len(tested)} models' if several else names[0]} on {suite.name}",
            facts=[
                ("functionalities", str(len(suite.functionalities))),
                ("cases", f"{suite.n_cases:,}"),
                ("examples", f"{suite.n_examples:,}"),
                ("made", created[:10]),
            ],
            outcomes=outcomes,
            made=[
                *(("Model", each.name) for each in tested),
                ("Suite", suite.name),
                ("Intervals", percent(confidence_level)),
                ("Seed", str(seed)),
                ("Software", f"rightreasons {rightreasons.__version__}"),
                ("Made", created),
                ("Beside this page", f"{RATES} (all pass rates, and which cases pass), figures/ (PNG)"),
            ],
            command=command,
        ),
    )
    told = [{"model": each.name, "suite": suite.name, **each.result.to_dict()} for each in tested]
    write_json(folder / RATES, {"suite": suite.name, "models": told} if several else told[0])
    return page


# ------------------------------------------------------------------------------------------------------------- private


def _names(tested: Sequence[SuiteAnswers]) -> list[str]:
    """Short names where they tell the models apart, numbered full ones elsewhere."""
    names = [short_name(each.name) for each in tested]
    if len(set(names)) < len(names):
        names = [each.name for each in tested]
    return [f"{name} ({number})" if names.count(name) > 1 else name for number, name in enumerate(names, start=1)]


def _compared(models: Mapping[str, SuiteAnswers], level: float) -> SectionResult:
    """Tell which model passes what, side by side."""
    first = next(iter(models.values()))
    columns = columns_of(first.result)
    means = {name: estimate_of(each.result.behavioral_pass_rate, each.result.interval) for name, each in models.items()}
    told = "; ".join(f"{name} {with_interval(mean)}" for name, mean in means.items())
    drawing = behavior_heat_map(
        "behavior_models", rows={name: each.result for name, each in models.items()}, functionalities=columns
    )
    picture = drawing.plot(
        key="behavior_models",
        title="Pass rate of each functionality, in percent",
        caption="A row a model. Dark cells fail; rules part the classes; the color of a label and the letter above it "
        "tell the test type; the last column is the mean. Intervals are in the table below.",
        alt=f"Mean pass rates: {told}.",
        source=f"{RIBEIRO}; drawn as Luz de Araujo & Roth 2023, figure 1",
        wide=True,
    )
    rates: list[tuple[Any, ...]] = [
        (
            f"{number + 1}. {name}",
            group,
            kind,
            *(
                estimate_of(each.result.functionalities[number].pass_rate, each.result.functionalities[number].interval)
                for each in models.values()
            ),
        )
        for number, (name, group, kind) in enumerate(columns)
    ]
    table = Table(
        key="models",
        title=f"Pass rates by functionality and model [{percent(level)}]",
        columns=(
            Column("functionality", "Functionality", "text"),
            Column("functionality_class", "Class", "text"),
            Column("test_type", "Type", "text"),
            *(Column(f"model_{number}", name) for number, name in enumerate(models, start=1)),
        ),
        rows=tuple(rates),
        note="Wilson intervals. Whether two models differ is for a paired test of their "
        "cases (pass_rates.json has them): rightreasons.analysis.behavior.generalization.compare_generalization.",
        source=RIBEIRO,
        folded=True,
    )
    headlines = tuple(
        Headline(
            key=f"pass_rate_{number}",
            name=name,
            estimate=mean,
            definition="Unweighted mean over functionalities of the share of their cases that pass.",
            source=RIBEIRO,
            better="higher",
            split=first.suite.name,
            n=first.suite.n_examples,
            no_interval="" if mean.has_interval else "undefined: to no case does the expectation apply",
        )
        for number, (name, mean) in enumerate(means.items(), start=1)
    )
    return SectionResult(
        Verdict("neutral", f"{len(models)} models", f"Mean pass rates: {told}."),
        headlines,
        (Part("Side by side", plots=(picture,), tables=(table,)),),
    )
