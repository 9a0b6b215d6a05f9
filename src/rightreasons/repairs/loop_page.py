"""The page of a loop: before and after side by side, and whether the correction is accepted.

`write_loop_page` is the entry point. It also writes audit.json, which `gate` reads.
"""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import rightreasons
from rightreasons.core.estimates import Estimate
from rightreasons.core.store import check_folder, digest_value
from rightreasons.page.parts import Cell
from rightreasons.page.prose import prose
from rightreasons.page.question import Figure, Lead, Part, Question, Rule, Table
from rightreasons.repairs.acceptance import (
    describe_failed_condition,
    make_condition_part,
    make_decision_figure,
    write_proof,
)
from rightreasons.repairs.loops import Loop, LoopKind
from rightreasons.report.outcomes import Outcome
from rightreasons.report.render import PAGE, Page
from rightreasons.report.schema import AUDIT_FILE, SCHEMA_VERSION

OWN = (AUDIT_FILE, PAGE, "figures")
"""Files and folders that a page writes into its folder."""

SOURCE = "This package"

TITLES: Mapping[LoopKind, str] = {
    "recalibration": "Is it calibrated now?",
    "balancing": "Does it rely less on cues?",
    "learning": "Does it pass tests on which it was not trained?",
    "labels": "Are the labels corrected?",
}
"""Kind -> the question that the page answers."""

# In the order of the kinds; a kind needs a part of them.
CONDITION_NAMES = {
    "error": "lower bound of the calibration error before, at least",
    "error_change": "upper bound of the change of the calibration error, below",
    "accuracy": "change of the accuracy, at least",
    "auroc": "change of the AUROC of the confidence, at least",
    "gap": "lower bound of the Easy/Hard gap before, above",
    "gap_change": "lower bound of the reduction of the gap, above",
    "hard": "change of the accuracy on Hard items, at least",
    "failed": "distance of G from 100% before, at least",
    "gain": "significant change of G with held-out functionalities, above",
    "worse": "functionalities that became significantly worse, at most",
    "incorrect": "lower bound of the incorrect labels before, at least",
    "remaining": "remaining incorrect labels, at most",
    "remaining_high": "upper bound of this share, at most",
}
"""Condition -> its name on the page."""


def list_changes(loop: Loop) -> Iterator[tuple[Cell, ...]]:
    """Yield the figures before and after."""
    # The first is what the page is about; the others show what it costs.
    for change in loop.changes:
        yield change.name, change.original, change.corrected, change.p_value


def describe_failed(loop: Loop) -> str:
    """Return the first condition that is not met."""
    return describe_failed_condition(loop.criteria, CONDITION_NAMES)


def contrast_shares(loop: Loop) -> tuple[Estimate | None, Estimate | None]:
    """Return the main figure before and after the correction, for the bars of the first screen.

    A figure is None if its interval begins below 0, which a bar cannot show.
    """
    shares: list[Estimate | None] = []
    for estimate in (loop.main.original, loop.main.corrected):
        # Without an interval, the value itself is the lowest point.
        low = estimate.low
        if low is None:
            low = estimate.value
        if low is not None and low >= 0:
            shares.append(estimate)
        else:
            shares.append(None)
    return shares[0], shares[1]


def make_question(kind: LoopKind) -> Question:
    """Declare the page of a kind of correction: its figures, rules of the verdict, and parts.

    All kinds share them, and differ only in their title and in the sentences of the template.

    Args:
        kind: "recalibration", "balancing", "learning" or "labels".
    """
    return Question(
        name=kind,
        title=TITLES[kind],
        prose=prose(__file__, describe_failed=describe_failed),
        figures=(
            make_decision_figure("accepted", lambda m: m.accepted, SOURCE),
            Figure("corrected", lambda m: m.main.corrected, SOURCE),
            Figure("original", lambda m: m.main.original, SOURCE),
        ),
        headlines=("corrected", "original"),
        # If there is nothing to correct, the correction is neither a success nor a failure.
        verdict=(
            Rule("good", "accepted", lambda m: m.accepted),
            Rule("neutral", "nothing", lambda m: m.accepted is None),
            Rule("bad", "not_accepted"),
        ),
        parts=(
            Part("changes", (Table("changes", list_changes, SOURCE),)),
            make_condition_part(
                "conditions", lambda m: m.criteria, CONDITION_NAMES, figures=("accepted",)
            ),
        ),
        leads=(
            Lead(
                "accepted",
                figure="corrected",
                contrast=contrast_shares,
                condition=lambda m: m.accepted,
            ),
            Lead("nothing", figure="original", condition=lambda m: m.accepted is None),
            Lead("not_accepted", figure="corrected", contrast=contrast_shares),
        ),
    )


def check_page_folder(out: str | os.PathLike[str]) -> Path:
    """Return the folder of a page, after a check that it has no other files."""
    return check_folder(out, own=OWN)


def write_loop_page(
    loop: Loop,
    out: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any] = {},
    level: float = 0.95,
) -> Path:
    """Write index.html and audit.json of a correction into a folder, and return the page.

    Args:
        loop: The correction, with its figures before and after and the conditions of acceptance.
        out: The folder: new, empty, or with an earlier page of a correction.
        settings: Plain values that audit.json stores as the settings, such as the names of files.
        level: Confidence level of the intervals.
    """
    # A folder with other files is refused before anything is written.
    folder = check_page_folder(out)
    question = make_question(loop.kind)
    answer = question.answer(loop, level, split=loop.data, report=str(out))
    outcome = Outcome(question.name, question.title, "answered", "", answer)
    created = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    rendered = question.prose.of(m=loop, created=created, version=rightreasons.__version__)
    page = Page(
        title=question.title,
        heading=question.title,
        facts=rendered.pairs("facts"),
        outcomes=[outcome],
        made=rendered.pairs("made"),
        # The sentence of the finding begins with this name.
        subject=loop.subject,
        is_correction=True,
    )
    return write_proof(folder, page, make_record(loop, outcome, settings, created))


def make_record(
    loop: Loop, outcome: Outcome, settings: Mapping[str, Any], created: str
) -> dict[str, Any]:
    """Return the content of audit.json for a correction, which is its only question.

    Fields about the model and the data that are unknown are None or empty.

    Args:
        loop: The correction, with its figures before and after and the conditions of acceptance.
        outcome: The answer to its question.
        settings: Plain values, such as the files.
        created: Time of the page.
    """
    # Equal corrections have equal digests, whenever they were made.
    subject = digest_value([loop.to_dict(), dict(settings)])
    split = {
        "name": loop.data,
        "role": "primary",
        "n_items": loop.n_items,
        "n_available": loop.n_items,
        "n_truncated": None,
        "fingerprint": subject,
        # The predictions are in files of the user.
        "predictions": None,
        "left_out": [],
    }
    # The predictions may come from a file, whose model is only known by its name.
    return {
        "schema_version": SCHEMA_VERSION,
        "rightreasons": rightreasons.__version__,
        "created": created,
        "model": {
            "name": loop.subject,
            "task": loop.task,
            "label_names": [],
            "fingerprint": subject,
            "n_parameters": None,
            "batching": None,
            "prompt": None,
            "server": None,
        },
        "dataset": {
            "name": loop.data,
            "label_names": [],
            "label_mapping": "",
            "label_classes": {},
            "primary": loop.data,
            "splits": [split],
        },
        "settings": {"correction": loop.correction, **settings},
        "environment": {"python": platform.python_version()},
        "subject": subject,
        "questions": [outcome.to_dict()],
    }
