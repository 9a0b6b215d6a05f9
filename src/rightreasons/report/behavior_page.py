"""A page about behavior alone: what a model passes of a suite, without a dataset to audit it on."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

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

WORDS = sentences(BEHAVIOR.name, RATES=RATES, version=rightreasons.__version__)
"""What the page says beside the answer."""


def write_behavior_report(
    tested: SuiteAnswers,
    out: str | os.PathLike[str],
    *,
    resampling: Resampling = Resampling(),
    command: str = "",
    learning: LearningSource | None = None,
) -> Path:
    """Write what a model passes of a suite: index.html, pass_rates.json and figures/.

    `pass_rates.json` holds its name, the suite's, how their labels were matched, the prompt and the server of a
    language model, and the fields of `BehavioralPassRate`.

    Args:
        tested: Its answers to the suite.
        out: The folder; an earlier report of this kind in it is replaced.
        resampling: How the intervals were made; its seed decides which failing cases are shown.
        command: The command that makes the report again; "" where there is none.
        learning: What a plan of behavioral learning is made from, for the advice of the page. None for no such advice.

    Returns:
        The page.

    Raises:
        ValueError: If the folder holds an audit.
    """
    folder = prepare_page_folder(out, RATES, "predictions")
    suite, name = tested.suite, short_name(tested.name)
    created = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    corrections = suite.describe_corrections()
    say = WORDS.of(
        suite=suite, tested=tested, how=resampling, created=created, corrections=corrections
    )
    measured = BehaviorMeasurement(tested, resampling, learning=learning)
    answer = BEHAVIOR.answer(measured, resampling.level)
    page = Page(
        title=f"Behavior on {suite.name}",
        heading=f"{name} on {suite.name}",
        facts=say.pairs("facts"),
        outcomes=[Outcome(BEHAVIOR.name, BEHAVIOR.title, "answered", "", answer)],
        prompt=None
        if tested.prompt is None
        else {"told": tested.prompt, "right": "", "server": tested.server},
        made=say.pairs("made"),
        command=command,
        subject=name,
    )
    rates = {
        "model": tested.name,
        "suite": suite.name,
        "labels": tested.matched,
        **({} if tested.prompt is None else {"prompt": dict(tested.prompt)}),
        **({} if tested.server is None else {"server": dict(tested.server)}),
        **({"known_issues": corrections} if corrections else {}),
        **tested.result.to_dict(),
    }
    write_page(folder, page, {RATES: rates})
    return folder / PAGE
