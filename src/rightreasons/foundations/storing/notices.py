"""What is said, in one line, about stored results."""

from __future__ import annotations

import warnings


class SetAsideWarning(UserWarning):
    """Stored results were damaged or stale; they are set aside and computed again."""


def tell(sentence: str) -> None:
    """Say one line about stored results: a warning, which the command line prints as it is."""
    warnings.warn(sentence, SetAsideWarning, stacklevel=3)
