"""A page about behavior alone: what one model or several pass of a suite, without a dataset to audit them on."""

from __future__ import annotations

import dataclasses
import datetime
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import rightreasons
from rightreasons.behavior.measure import SuiteAnswers
from rightreasons.behavior.options import BehaviorOptions
from rightreasons.behavior.plots import HOW_TO_READ, SOURCE, behavior_heat_map, columns_of
from rightreasons.behavior.question import BEHAVIOR, RIBEIRO, BehaviorMeasurement
from rightreasons.core.errors import counted
from rightreasons.core.intervals import Estimate, FigureText, estimate_of
from rightreasons.core.resampling import Resampling
from rightreasons.page import parts as p
from rightreasons.page.prose import short_name
from rightreasons.page.question import Part, Plot, Question, Rule, Table
from rightreasons.report.render import PAGE, Asked, Outcome, Page, sentences, write_page
from rightreasons.report.schema import page_folder

RATES = "pass_rates.json"

Models = Mapping[str, SuiteAnswers]
"""The answers of each model to one suite, by their names."""


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
    folder = page_folder(out, RATES, "predictions")
    models = named(tested)
    shown = sections(models, resampling, examples)
    created = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    say = MODELS.prose.of(suite=suite, tested=tested, how=resampling, created=created)
    page = Page(
        title=f"Behavior on {suite.name}",
        heading=f"{counted(len(tested), 'model') if len(tested) > 1 else next(iter(models))} on {suite.name}",
        facts=say.pairs("facts"),
        outcomes=[Outcome(key, title, "answered", "", answer) for key, title, answer in shown],
        asked=[
            Asked(each.prompt, server=each.server, name=name if len(tested) > 1 else "")
            for name, each in models.items()
            if each.prompt is not None
        ],
        made=say.pairs("made"),
        command=command,
        subject="" if len(tested) > 1 else next(iter(models)),
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


def named(tested: Sequence[SuiteAnswers]) -> Models:
    """Return the answers by short names where these tell the models apart, else by numbered full ones."""
    names = [short_name(each.name) for each in tested]
    if len(set(names)) < len(names):
        names = [each.name for each in tested]
    numbered = (f"{name} ({number})" if names.count(name) > 1 else name for number, name in enumerate(names, start=1))
    return dict(zip(numbered, tested, strict=True))


def sections(
    models: Models, resampling: Resampling, examples: int = 0, *, drawn: bool = True
) -> Iterator[tuple[str, str, p.SectionResult]]:
    """Yield the sections about models on one suite: the name of each, its title, and what it says.

    Args:
        models: The answers of each.
        resampling: How the intervals were made.
        examples: Failing cases shown per functionality.
        drawn: Whether there are pictures and examples, which a console does not show.
    """
    alone, level = len(models) == 1, resampling.level
    if not alone:
        yield "models", "Which passes what?", _compared(models, level, drawn)
    for number, (name, each) in enumerate(models.items(), start=1):
        m = BehaviorMeasurement(each, resampling, examples, BEHAVIOR.name if alone else f"behavior_{number}")
        answer = BEHAVIOR.answer(m, level, drawn=drawn)
        yield (BEHAVIOR.name, BEHAVIOR.title, answer) if alone else (f"model_{number}", name, answer)


def _mean(answers: SuiteAnswers) -> Estimate:
    return estimate_of(answers.result.behavioral_pass_rate, answers.result.interval)


def _functionalities(m: Models) -> Iterator[tuple[p.Cell, ...]]:
    """Return a row per functionality, with the pass rate of each model."""
    results = [each.result for each in m.values()]
    for place, (name, group, kind) in enumerate(columns_of(results[0])):
        rates = (result.functionalities[place] for result in results)
        yield f"{place + 1}. {name}", group, kind, *(estimate_of(each.pass_rate, each.interval) for each in rates)


MODELS = Question(
    name="models",
    prose=sentences("behavior", mean=_mean, HOW_TO_READ=HOW_TO_READ, RATES=RATES, version=rightreasons.__version__),
    verdict=(Rule("neutral", "told"),),
    parts=(
        Part(
            "models",
            (
                Plot(
                    "behavior_models",
                    lambda key, m: behavior_heat_map(
                        key,
                        rows={name: each.result for name, each in m.items()},
                        functionalities=columns_of(next(iter(m.values())).result),
                    ),
                    SOURCE,
                    wide=True,
                ),
                Table("models", _functionalities, RIBEIRO, folded=True),
            ),
        ),
    ),
)
"""Which model passes what, side by side."""


def _compared(models: Models, level: float, drawn: bool) -> p.SectionResult:
    suite, definition = next(iter(models.values())).suite, BEHAVIOR.prose.of()("figure.pass_rate")
    headlines = (
        p.Headline.of(
            f"pass_rate_{number}",
            FigureText(name, definition, RIBEIRO, better="higher"),
            _mean(each),
            split=suite.name,
            n=suite.n_examples,
        )
        for number, (name, each) in enumerate(models.items(), start=1)
    )
    return dataclasses.replace(MODELS.answer(models, level, drawn=drawn), headlines=tuple(headlines))
