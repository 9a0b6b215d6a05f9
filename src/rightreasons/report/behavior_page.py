"""A page about behavior alone: what a model passes of a suite, without a dataset to audit it on."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import rightreasons
from rightreasons.behavior.measure import SuiteAnswers
from rightreasons.behavior.options import LearningSource
from rightreasons.behavior.question import BEHAVIOR, BehaviorMeasurement
from rightreasons.core.resampling import Resampling
from rightreasons.page.formats import short_name
from rightreasons.report.outcomes import Outcome
from rightreasons.report.render import PAGE, Page, sentences, write_page
from rightreasons.report.schema import prepare_page_folder

RATES = "pass_rates.json"

PROSE = sentences(BEHAVIOR.name, RATES=RATES, version=rightreasons.__version__)
"""Sentences of the page around the answer to the question."""


def write_behavior_report(
    answers: SuiteAnswers,
    out: str | os.PathLike[str],
    *,
    resampling: Resampling = Resampling(),
    command: str = "",
    learning: LearningSource | None = None,
) -> Path:
    """Write the pass rates of a model on a suite: index.html, pass_rates.json and figures/.

    `pass_rates.json` contains the names of the model and the suite, how their labels were matched,
    the prompt and the server of a language model, and the fields of `BehavioralPassRate`.

    Args:
        answers: The model's answers to the suite.
        out: The folder. An earlier report on behavior in it is replaced.
        resampling: Level, resamples and seed of the intervals. The seed also selects the failures
            that are shown.
        command: The command that writes the report again; "" to show none.
        learning: The source of a plan of behavioral learning, for the advice of the page; None to
            give no such advice.

    Returns:
        The page.

    Raises:
        ValueError: If the folder contains an audit.
    """
    # An unusable folder is refused before any picture is drawn.
    folder = prepare_page_folder(out, RATES, "predictions")
    suite = answers.suite
    model_name = short_name(answers.name)
    created = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    corrections = suite.describe_corrections()
    prose = PROSE.of(
        suite=suite, tested=answers, how=resampling, created=created, corrections=corrections
    )
    # The section is the same as in an audit.
    measurement = BehaviorMeasurement(answers, resampling, learning=learning)
    result = BEHAVIOR.answer(measurement, resampling.level)
    outcome = Outcome(BEHAVIOR.name, BEHAVIOR.title, "answered", "", result)
    # Only language models have a prompt. The pass rates say how many answers are correct.
    prompt = None
    if answers.prompt is not None:
        prompt = {"told": answers.prompt, "right": "", "server": answers.server}
    page = Page(
        title=f"Behavior on {suite.name}",
        heading=f"{model_name} on {suite.name}",
        facts=prose.pairs("facts"),
        outcomes=[outcome],
        prompt=prompt,
        made=prose.pairs("made"),
        command=command,
        subject=model_name,
    )
    write_page(folder, page, {RATES: _make_rates(answers, corrections)})
    return folder / PAGE


def _make_rates(answers: SuiteAnswers, corrections: str) -> dict[str, Any]:
    """Return the content of pass_rates.json; fields without a value are absent.

    Args:
        answers: The model's answers to the suite, with the pass rates.
        corrections: Known issues of the suite that were corrected; "" for none.
    """
    # Names first, so that a person sees what the file is about.
    rates: dict[str, Any] = {
        "model": answers.name,
        "suite": answers.suite.name,
        "labels": answers.matched,
    }
    if answers.prompt is not None:
        rates["prompt"] = dict(answers.prompt)
    if answers.server is not None:
        rates["server"] = dict(answers.server)
    if corrections:
        rates["known_issues"] = corrections
    return rates | answers.result.to_dict()
