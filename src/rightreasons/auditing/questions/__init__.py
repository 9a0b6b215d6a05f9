"""The questions that an audit can answer: one folder per question, found by listing this folder.

To add a question, write `questions/NAME/section.py` with a class that satisfies
`rightreasons.auditing.page.parts.Section` and its instance `SECTION`, and declare its options in
`rightreasons.measuring.options`. Its pictures go into `questions/NAME/plots.py`, its arithmetic into
`measuring/NAME.py`. CONTRIBUTING.md has an example.

A `Headline` (a figure) is refused without interval (or the reason why it has none), definition and source, and a `Plot`
without caption, alternative text and source. `page.plots` has the style (`canvas`, `drawn`) and the pictures that more
than one question draws, `page.words` writes figures, `page.examples` shows items.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable
from importlib import import_module

from rightreasons.auditing.page.parts import Section
from rightreasons.foundations.validation import unknown_name


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
        TypeError: If the names are not a list.
        ValueError: If there is no name, or one is unknown; the error gives the nearest known ones.
    """
    known = available_questions()
    if isinstance(questions, str) or not isinstance(questions, (Iterable, type(None))):
        raise TypeError(f"Expected `questions` to be a list of names, but got {questions!r}.")
    names = known if questions is None else list(questions)
    if not names:
        raise ValueError(f"Expected at least one question, but there is none. Known: {', '.join(known)}.")
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise unknown_name("question", name, known)
    sections: list[Section] = [import_module(f"{__name__}.{name}.section").SECTION for name in dict.fromkeys(names)]
    return sorted(sections, key=lambda section: section.order)
