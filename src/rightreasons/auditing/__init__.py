"""Runs the questions over one model and tells the story: audit, plots, report.

Example:
    >>> from rightreasons.auditing import available_questions
    >>> "calibration" in available_questions()
    True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightreasons.auditing.compare import compare_reports as compare_reports
    from rightreasons.auditing.questions import available_questions as available_questions
    from rightreasons.auditing.runner import AuditResult as AuditResult
    from rightreasons.auditing.runner import audit as audit
    from rightreasons.auditing.schema import read_audit as read_audit

__all__ = ["AuditResult", "audit", "available_questions", "compare_reports", "read_audit"]

# Where each public name lives; it is imported at its first use, so that the command line starts quickly.
_HOMES = {
    "AuditResult": "rightreasons.auditing.runner",
    "audit": "rightreasons.auditing.runner",
    "available_questions": "rightreasons.auditing.questions",
    "compare_reports": "rightreasons.auditing.compare",
    "read_audit": "rightreasons.auditing.schema",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rightreasons.auditing' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
