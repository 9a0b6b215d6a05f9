"""The page of a repair: before and after side by side, what it costs, and what still decides."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

import rightreasons
from rightreasons.core.estimates import Estimate
from rightreasons.core.resampling import Resampling
from rightreasons.page.formats import short_name
from rightreasons.page.parts import Cell, Example, Mark
from rightreasons.page.prose import prose
from rightreasons.page.question import Figure, Lead, Part, Question, Rule, Table
from rightreasons.repairs.acceptance import (
    MIN_ITEMS,
    make_condition_part,
    make_decision_figure,
    write_proof,
)
from rightreasons.repairs.edits import UNCHANGED
from rightreasons.repairs.result import RepairResult
from rightreasons.repairs.verification import Verification
from rightreasons.report.items.changes import list_edits
from rightreasons.report.outcomes import Outcome
from rightreasons.report.render import Page
from rightreasons.shortcuts.wording import quote_words

SOURCE = "This package; McNemar 1947"

VERSIONS = ("unchanged", "removed", "swapped")
"""The versions of the items, in the order of the page."""

N_TEXTS = 10
"""Number of edited texts and of swapped items that the page shows."""

N_WORDS = 6
"""Number of words that a sentence names."""


CRITERION_NAMES = {
    "decided": "share that the words decide, at most",
    "decided_high": "high end of its interval, at most",
    "gap": "accuracy swapped and without words, apart by at most",
    "removed": "accuracy without the words, at least",
    "unchanged": "accuracy as they are, at least",
}
"""Condition -> its name on the page."""


def verified(m: RepairResult) -> Verification:
    """Return the verification, without which there is no page."""
    return cast("Verification", m.verification)


def name_words(m: RepairResult) -> str:
    """Return the words in quotation marks, the first of many."""
    words = list(m.words.labels)
    if len(words) <= N_WORDS:
        return quote_words(words)
    # Dozens of words would hide the sentence that names them.
    first_words = ", ".join(f"“{word}”" for word in words[:N_WORDS])
    return f"{first_words} and {len(words) - N_WORDS} more words"


def lend(m: RepairResult) -> float:
    """Return the accuracy that the words lent the first model, on texts like the audited ones."""
    # Negative if the words mislead more often than they help.
    reading = verified(m).before
    return (reading.unchanged.value or 0.0) - (reading.removed.value or 0.0)


def cost(m: RepairResult) -> float:
    """Return the accuracy that the repair costs on texts like the audited ones."""
    # Negative if the repaired model is better, as after a shortcut that mostly misled.
    verification = verified(m)
    return (verification.before.unchanged.value or 0.0) - (
        verification.after.unchanged.value or 0.0
    )


def list_accuracies(m: RepairResult) -> Iterator[tuple[Cell, ...]]:
    """Yield the accuracy on each version of the items, before and after."""
    verification = verified(m)
    for name in VERSIONS:
        accuracy = getattr(verification.before, name)
        # Of a first model that is not at hand, only the accuracy on the items as they are is paired.
        p_value = None
        if name in verification.tests:
            p_value = verification.tests[name].p_value
        elif name == "removed":
            accuracy = Estimate(None)
        label = "unchanged" if name == "unchanged" else f"words {name}"
        yield label, accuracy, getattr(verification.after, name), p_value


def list_shares(m: RepairResult) -> Iterator[tuple[Cell, ...]]:
    """Yield what the words decide, and the calibration error without them, before and after."""
    verification = verified(m)
    # A row that falls to zero by the edit itself, the association in the training texts, is not among them.
    yield (
        "predictions that the words decide",
        verification.before.decided,
        verification.after.decided,
    )
    # Unknown if the first model is not at hand.
    errors = (
        Estimate(verification.before.calibration_error),
        Estimate(verification.after.calibration_error),
    )
    yield "calibration error without the words", *errors


def list_remaining(m: RepairResult) -> Iterator[tuple[Cell, ...]]:
    """Yield what else decides in the retrained model."""
    # Lists of forty words are told by their first ones, which contribute most.
    for row in m.remaining:
        words = ", ".join(row.words[:N_WORDS])
        yield row.test, words or row.name, row.estimate


def list_edited_texts(m: RepairResult) -> Iterator[tuple[Cell, ...]]:
    """Yield training texts before and after the edit."""
    edited = m.edited
    labels = m.training.name_labels()
    is_edited = np.array(edited.edits) != UNCHANGED
    for row in np.flatnonzero(is_edited)[:N_TEXTS].tolist():
        original = m.originals[int(edited.sources[row])]
        yield edited.edits[row], labels[row], " / ".join(original), " / ".join(edited.items[row])


def list_swaps(m: RepairResult) -> Iterator[tuple[Cell, ...]]:
    """Yield audited items with the words swapped, and what both models predict."""
    verification = verified(m)
    names = m.findings.label_names
    original, swapped = verification.predictions[0]
    # The items whose prediction the words decided are those that the repair is about.
    decided = np.flatnonzero(original != swapped)
    if not verification.has_first_model:
        decided = verification.list_swapped(m.findings.items)
    for index in decided[:N_TEXTS].tolist():
        row = int(verification.rows[index])
        changes = []
        for label, swapped_label in verification.predictions[:, :, index].tolist():
            # Nobody knows what a first model that is not at hand would have made of the swap.
            swapped_name = "?" if swapped_label < 0 else names[swapped_label]
            changes.append(f"{names[label]} → {swapped_name}")
        item = " / ".join(m.findings.items[row])
        text = " / ".join(verification.swapped[index])
        yield item, text, names[m.findings.labels[row]], *changes


def show_pair(m: RepairResult) -> tuple[Example, ...]:
    """Return an item with the words swapped as both models read it: one that the repair corrects, if there is one."""
    verification = verified(m)
    if not verification.has_first_model:
        return ()
    labels = m.findings.labels[verification.rows]
    old_labels, new_labels = verification.predictions[:, 1, :]
    corrected = np.flatnonzero((old_labels != labels) & (new_labels == labels))
    # A repair that failed corrects no item, and the page shows none.
    if not len(corrected):
        return ()
    index = int(corrected[0])
    names = m.findings.label_names
    row = int(verification.rows[index])
    text = verification.swapped[index][0]
    marks = _mark_swapped_words(text, m.findings.items[row][0])
    examples = []
    for predicted, note in (
        (old_labels, "With the words swapped, before the repair."),
        (new_labels, "With the words swapped, after the repair."),
    ):
        examples.append(
            Example(
                id=str(m.findings.ids[row]),
                text=text,
                text_pair=" ".join(verification.swapped[index][1:]),
                label=names[labels[index]],
                prediction=names[int(predicted[index])],
                confidence=None,
                note=note,
                marks=marks,
            )
        )
    return tuple(examples)


def _mark_swapped_words(text: str, original: str) -> tuple[Mark, ...]:
    """Mark the words of a swapped text that its original does not have."""
    marks = []
    for start, end, word in list_edits(text, original):
        # A removed word leaves nothing to mark.
        if end > start:
            marks.append(Mark(start, end, kind="cue", note=f"was “{word}”"))
    return tuple(marks)


def contrast_shares(m: RepairResult) -> tuple[Estimate, Estimate]:
    """Return what the words decide before and after."""
    return verified(m).before.decided, verified(m).after.decided


REPAIR = Question(
    name="repair",
    title="Is it repaired?",
    prose=prose(
        __file__,
        name_words=name_words,
        lend=lend,
        cost=cost,
        verified=verified,
        MIN_ITEMS=MIN_ITEMS,
    ),
    figures=(
        make_decision_figure("repaired", lambda m: m.repaired, SOURCE),
        Figure("decided", lambda m: verified(m).after.decided, SOURCE, better="lower"),
        Figure("decided_before", lambda m: verified(m).before.decided, SOURCE, better="lower"),
        Figure("accuracy", lambda m: verified(m).after.unchanged, SOURCE, better="higher"),
        Figure("accuracy_without", lambda m: verified(m).after.removed, SOURCE, better="higher"),
        Figure("accuracy_swapped", lambda m: verified(m).after.swapped, SOURCE, better="higher"),
    ),
    headlines=("decided", "decided_before", "accuracy_without", "accuracy_swapped"),
    verdict=(
        Rule("good", "repaired", lambda m: m.repaired),
        Rule("bad", "not_repaired"),
    ),
    parts=(
        Part(
            "compared",
            (Table("accuracies", list_accuracies, SOURCE), Table("shares", list_shares, SOURCE)),
        ),
        make_condition_part(
            "criteria",
            lambda m: verified(m).criteria,
            CRITERION_NAMES,
            figures=("repaired", "accuracy"),
        ),
        Part("items", (Table("swaps", list_swaps, ""),)),
        Part("texts", (Table("edits", list_edited_texts, ""),)),
        Part(
            "remaining",
            (Table("remaining", list_remaining, SOURCE, condition=lambda m: m.remaining),),
        ),
    ),
    leads=(
        Lead(
            "repaired",
            figure="decided",
            contrast=contrast_shares,
            pair=show_pair,
            condition=lambda m: m.repaired,
        ),
        Lead(
            "not_repaired",
            figure="decided",
            contrast=contrast_shares,
        ),
    ),
)
"""The section of the page, and what audit.json holds of it."""


def write_repair_page(m: RepairResult, resampling: Resampling) -> None:
    """Write index.html and audit.json into the folder of a repair; `gate` reads the latter.

    Args:
        m: A repair with a verified model.
        resampling: Level of the intervals.
    """
    primary = m.findings.audit["dataset"]["primary"]
    answer = REPAIR.answer(m, resampling.level, split=primary)
    outcome = Outcome(REPAIR.name, REPAIR.title, "answered", "", answer)
    created = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    say = REPAIR.prose.of(m=m, created=created, version=rightreasons.__version__)
    name = short_name(m.findings.model_name)
    # The page begins with the name of the model that was repaired, as its earlier report does.
    page = Page(
        title=f"Repair of {name}",
        heading=f"{name}, repaired" if m.repaired else f"{name}, not repaired",
        facts=say.pairs("facts"),
        outcomes=[outcome],
        made=say.pairs("made"),
        subject=name,
        is_correction=True,
    )
    write_proof(m.out, page, make_record(m, outcome, created))


def make_record(m: RepairResult, outcome: Outcome, created: str) -> dict[str, Any]:
    """Return what audit.json holds: the audit that was repaired, with the repair as its only question."""
    # Model and data are those of the earlier audit, so that a reader finds it.
    audit = dict(m.findings.audit)
    data = dict(audit["dataset"])
    # The predictions stay in the earlier report.
    data["splits"] = [{**split, "predictions": None} for split in data["splits"]]
    settings = {"report": str(m.findings.folder), "method": m.edited.method}
    return {
        **audit,
        "rightreasons": rightreasons.__version__,
        "created": created,
        "dataset": data,
        "settings": {**settings, "words": list(m.words.labels)},
        "answers": None,
        "questions": [outcome.to_dict()],
    }
