"""Order of repair and recalibration: a shortcut that decides is repaired first.

A model that is confidently correct by a shortcut looks calibrated on texts that have it. A
recalibration on such texts keeps this confidence for texts without the shortcut, where the model
errs. `explain_order` returns a warning about it.
"""

from __future__ import annotations

import os
from pathlib import Path

from rightreasons.audited.predictions_file import FOLDER
from rightreasons.repairs.findings import QUESTION, list_features
from rightreasons.report.schema import AUDIT_FILE, read_audit
from rightreasons.shortcuts.wording import quote_words

N_WORDS = 6
"""Number of words that the sentence names."""


def find_report(file: str | os.PathLike[str]) -> Path | None:
    """Return the folder of the report that contains a file of predictions; None if there is none."""
    # The predictions of a report are in a folder next to its audit.json.
    folder = Path(file).resolve().parent
    if folder.name == FOLDER and (folder.parent / AUDIT_FILE).is_file():
        return folder.parent
    return None


def explain_order(report: str | os.PathLike[str]) -> str:
    """Return a warning that a model should be repaired before recalibration; "" if no shortcut decides.

    Args:
        report: Folder of a report, or its audit.json.

    Raises:
        FileNotFoundError: If there is no report.
    """
    audit = read_audit(report)
    for outcome in audit["questions"]:
        # Without an answer to the question about shortcuts, no shortcut is known.
        if outcome["question"] != QUESTION or outcome["result"] is None:
            continue
        features = list(list_features(outcome["result"]["data"]["swaps"]))
        if not features:
            return ""
        strongest = max(features, key=lambda feature: feature.deciding_share)
        words = list(strongest.words)[:N_WORDS]
        subject = strongest.name
        is_reason = "that is a reason"
        repaired = "it"
        # A feature without words, such as the length, has a name in the report.
        if words:
            subject = quote_words(words)
        if len(words) > 1:
            is_reason = "these are reasons"
            repaired = "them"
        share = f"{strongest.deciding_share:.1%} of the predictions in {os.fspath(report)}"
        return (
            f"{share} are decided by {subject}: unless {is_reason}, repair the model first, "
            f"and recalibrate it on texts without {repaired}. On texts like these, a shortcut hides "
            "how far off the confidence is elsewhere."
        )
    return ""
