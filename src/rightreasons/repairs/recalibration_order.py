"""Order of repair and recalibration: a shortcut that decides is repaired first.

A model that is confidently correct by a shortcut looks calibrated on texts that have it. A
recalibration on such texts keeps this confidence for texts without the shortcut, where the model
errs. `explain_order` says so.
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
    """Return the report that a file of predictions belongs to, None if it belongs to none."""
    # A report keeps its predictions in a folder beside its audit.json.
    folder = Path(file).resolve().parent
    if folder.name == FOLDER and (folder.parent / AUDIT_FILE).is_file():
        return folder.parent
    return None


def explain_order(report: str | os.PathLike[str]) -> str:
    """Return why a model is repaired before it is recalibrated; "" if no shortcut decides.

    Args:
        report: Folder of a report, or its audit.json.

    Raises:
        FileNotFoundError: If there is no report.
    """
    audit = read_audit(report)
    for outcome in audit["questions"]:
        # A report need not have asked about shortcuts, and then shows none.
        if outcome["question"] != QUESTION or outcome["result"] is None:
            continue
        features = list(list_features(outcome["result"]["data"]["swaps"]))
        if not features:
            return ""
        strongest = max(features, key=lambda feature: feature.deciding_share)
        subject = strongest.name
        # Words are named as the texts have them; other features by their name in the report.
        if strongest.words:
            subject = quote_words(list(strongest.words)[:N_WORDS])
        share = f"{strongest.deciding_share:.1%} of the predictions in {os.fspath(report)}"
        return (
            f"{share} are decided by {subject}: unless that is a reason, repair the model first, "
            "and recalibrate it on texts without it. On texts like these, a shortcut hides how "
            "far off the confidence is elsewhere."
        )
    return ""
