"""The page of a repair: before and after side by side, what it costs, and what still decides."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

import rightreasons
from rightreasons.core.estimates import Estimate
from rightreasons.core.resampling import Resampling
from rightreasons.core.sentences import pluralize
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
    "decided": "share of predictions that flip when the words are swapped, at most",
    "decided_high": "upper bound of this share, at most",
    "gap": "difference between the accuracies with swapped and without words, at most",
    "removed": "accuracy without the words, at least",
    "unchanged": "accuracy on unchanged items, at least",
}
"""Condition -> its name on the page."""


def verified(result: RepairResult) -> Verification:
    """Return the verification of a repair, for the type checker: only a verified repair has a page."""
    return cast("Verification", result.verification)


def name_words(result: RepairResult) -> str:
    """Return the repaired words in quotation marks; of many words, the first `N_WORDS`."""
    words = list(result.words.labels)
    if len(words) <= N_WORDS:
        return quote_words(words)
    # A sentence with dozens of words could not be read.
    first_words = ", ".join(f"“{word}”" for word in words[:N_WORDS])
    return f"{first_words} and {pluralize(len(words) - N_WORDS, 'more word')}"


def get_accuracy_gain(result: RepairResult) -> float:
    """Return by how much the words raised the accuracy of the first model on the audited items.

    It is negative if the words mislead more often than they help.
    """
    reading = verified(result).before
    return (reading.unchanged.value or 0.0) - (reading.removed.value or 0.0)


def list_accuracies(result: RepairResult) -> Iterator[tuple[Cell, ...]]:
    """Yield a row for each version of the items: its name, the accuracies before and after, a p-value.

    Without the first model, the report has its accuracy on the unchanged items only.
    """
    verification = verified(result)
    for version in VERSIONS:
        old_accuracy = getattr(verification.before, version)
        new_accuracy = getattr(verification.after, version)
        p_value = None
        if version in verification.tests:
            p_value = verification.tests[version].p_value
        elif version == "removed":
            # Without the first model, this accuracy was estimated on other items.
            old_accuracy = Estimate(None)
        name = "unchanged"
        if version != "unchanged":
            name = f"words {version}"
        yield name, old_accuracy, new_accuracy, p_value


def list_shares(result: RepairResult) -> Iterator[tuple[Cell, ...]]:
    """Yield two rows of name, figure before and figure after the repair.

    They are the share of predictions that flip when the words are swapped, and the calibration error. The
    association of the words in the training texts is not shown, because the edit removes it
    whatever the model learns.
    """
    old_reading, new_reading = verified(result).readings
    yield (
        "predictions that flip when the words are swapped",
        old_reading.decided,
        new_reading.decided,
    )
    # The error is None, and shown as a dash, if the first model cannot be queried again.
    yield (
        "calibration error without the words",
        Estimate(old_reading.calibration_error),
        Estimate(new_reading.calibration_error),
    )


def list_remaining(result: RepairResult) -> Iterator[tuple[Cell, ...]]:
    """Yield test, words and effect of each other feature that decides in the retrained model."""
    # Of a long list, only the first words are shown, which contribute most.
    for row in result.remaining:
        words = ", ".join(row.words[:N_WORDS])
        yield row.test, words or row.name, row.estimate


def list_edited_texts(result: RepairResult) -> Iterator[tuple[Cell, ...]]:
    """Yield the first edited training texts: name of the edit, label, text before and after."""
    edited = result.edited
    # An edited text has the label of the text that it was made from.
    labels = result.training.name_labels()
    is_edited = np.array(edited.edits) != UNCHANGED
    for row in np.flatnonzero(is_edited)[:N_TEXTS].tolist():
        source_row = int(edited.sources[row])
        original_text = " / ".join(result.originals[source_row])
        edited_text = " / ".join(edited.items[row])
        yield edited.edits[row], labels[row], original_text, edited_text


def list_swaps(result: RepairResult) -> Iterator[tuple[Cell, ...]]:
    """Yield audited items with the words swapped, and how the predictions of both models change.

    They are items whose prediction by the first model changes with the swap. If this model cannot be
    queried again, they are any items with the words, and its prediction after the swap is "?".

    Args:
        result: A verified repair: the `findings` of the audit with its N items, and the
            verification, in which M of them were swapped and predicted by both models.

    Yields:
        The item, the swapped item, the label, and a change such as "negative → positive" for the
        first and for the repaired model.
    """
    verification = verified(result)
    names = result.findings.label_names
    # Items whose prediction flipped show best what the repair changed.
    if verification.has_first_model:
        original, swapped = verification.predictions[0]
        indices = np.flatnonzero(original != swapped)
    else:
        indices = verification.list_swapped(result.findings.items)
    for index in indices[:N_TEXTS].tolist():
        row = int(verification.rows[index])
        changes = []
        # (2, 2) labels before and after the swap, of the first and of the repaired model.
        for label, swapped_label in verification.predictions[:, :, index].tolist():
            swapped_name = "?" if swapped_label < 0 else names[swapped_label]
            changes.append(f"{names[label]} → {swapped_name}")
        item = " / ".join(result.findings.items[row])
        swapped_item = " / ".join(verification.swapped[index])
        yield item, swapped_item, names[result.findings.labels[row]], *changes


def show_pair(result: RepairResult) -> tuple[Example, ...]:
    """Return an example of a swapped item, with the prediction before and after the repair.

    It is the first item that only the repaired model classifies correctly when the words are
    swapped.

    Args:
        result: A verified repair: the `findings` of the audit with its items, and the verification,
            in which some of them were swapped and predicted by both models.

    Returns:
        The swapped item twice, with the prediction of each model; empty if there is no such item, or
        if the first model cannot be queried.
    """
    verification = verified(result)
    if not verification.has_first_model:
        return ()
    # (M,) labels of the verified items, and predictions of both models for their swapped texts.
    labels = result.findings.labels[verification.rows]
    old_predictions, new_predictions = verification.predictions[:, 1, :]
    is_corrected = (old_predictions != labels) & (new_predictions == labels)
    if not is_corrected.any():
        return ()
    # The verified items are some of the audited ones, so that their rows differ.
    index = int(np.flatnonzero(is_corrected)[0])
    row = int(verification.rows[index])
    names = result.findings.label_names
    text, *second_texts = verification.swapped[index]
    example = Example(
        id=str(result.findings.ids[row]),
        text=text,
        text_pair=" ".join(second_texts),
        label=names[labels[index]],
        prediction=names[int(old_predictions[index])],
        confidence=None,
        note="With the words swapped, before the repair.",
        marks=_mark_swapped_words(text, result.findings.items[row][0]),
    )
    repaired_example = dataclasses.replace(
        example,
        prediction=names[int(new_predictions[index])],
        note="With the words swapped, after the repair.",
    )
    return example, repaired_example


def _mark_swapped_words(text: str, original: str) -> tuple[Mark, ...]:
    """Mark the words of a swapped text that its original does not have."""
    marks = []
    for start, end, word in list_edits(text, original):
        # A removed word leaves nothing to mark.
        if end > start:
            marks.append(Mark(start, end, kind="cue", note=f"was “{word}”"))
    return tuple(marks)


def contrast_shares(result: RepairResult) -> tuple[Estimate, Estimate]:
    """Return the shares of predictions that flip when the words are swapped, before and after."""
    return verified(result).before.decided, verified(result).after.decided


REPAIR = Question(
    name="repair",
    title="Is it repaired?",
    prose=prose(
        __file__,
        name_words=name_words,
        get_accuracy_gain=get_accuracy_gain,
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
"""The section of the page, and its record in audit.json."""


def write_repair_page(result: RepairResult, resampling: Resampling) -> None:
    """Write index.html and audit.json into the folder of a repair; `gate` reads the latter.

    Args:
        result: A repair with a verified model.
        resampling: Confidence level of the intervals.
    """
    primary = result.findings.audit["dataset"]["primary"]
    answer = REPAIR.answer(result, resampling.level, split=primary)
    outcome = Outcome(REPAIR.name, REPAIR.title, "answered", "", answer)
    created = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    prose = REPAIR.prose.of(m=result, created=created, version=rightreasons.__version__)
    # The sentence of the finding begins with the name of the model.
    model_name = short_name(result.findings.model_name)
    heading = f"{model_name}, not repaired"
    if result.repaired:
        heading = f"{model_name}, repaired"
    page = Page(
        title=f"Repair of {model_name}",
        heading=heading,
        facts=prose.pairs("facts"),
        outcomes=[outcome],
        made=prose.pairs("made"),
        subject=model_name,
        is_correction=True,
    )
    write_proof(result.out, page, make_record(result, outcome, created))


def make_record(result: RepairResult, outcome: Outcome, created: str) -> dict[str, Any]:
    """Return the content of audit.json: the earlier audit, with the repair as its only question.

    Args:
        result: A verified repair, with the audit.json of the earlier report.
        outcome: The answer to the question whether the model is repaired.
        created: Time of the repair.
    """
    audit = dict(result.findings.audit)
    data = dict(audit["dataset"])
    # The files of predictions stay in the folder of the earlier report.
    data["splits"] = [{**split, "predictions": None} for split in data["splits"]]
    settings = {
        "report": str(result.findings.folder),
        "method": result.edited.method,
        "words": list(result.words.labels),
    }
    return {
        **audit,
        "rightreasons": rightreasons.__version__,
        "created": created,
        "dataset": data,
        "settings": settings,
        "answers": None,
        "questions": [outcome.to_dict()],
    }
