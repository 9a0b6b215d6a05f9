"""The questions that an audit can answer: one file a question, found by listing this folder."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module

from rightreasons.audit.section import Section
from rightreasons.validation import unknown_name


def available_questions() -> list[str]:
    """Return the names of the questions, without importing them.

    Example:
        >>> "calibration" in available_questions()
        True
    """
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def load_sections(questions: Iterable[str] | None = None) -> list[Section]:
    """Import the sections of the named questions, or of all, in the order of the report.

    Args:
        questions: Names from `available_questions()`; None for all.

    Returns:
        The sections.

    Raises:
        ValueError: If a name is not known; the nearest known names are told.
    """
    known = available_questions()
    names = known if questions is None else list(dict.fromkeys(questions))
    for name in names:
        if name not in known:
            raise unknown_name("question", name, known)
    sections: list[Section] = [import_module(f"{__name__}.{name}").SECTION for name in names]
    return sorted(sections, key=lambda section: section.order)
