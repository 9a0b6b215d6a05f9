"""How many tokens answers have: `AnswerLengths` remembers those that a server generated.

Hidden thinking is billed as generated tokens, so that it is included.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, TypeAlias

SettingsKey: TypeAlias = tuple[int, bool, bool]
"""The settings on which the length of an answer depends: the number of allowed tokens, whether it
is drawn, and whether it is constrained."""


class AnswerLengths:
    """Tokens of the answers so far, by the settings of their generation.

    Example:
        >>> lengths = AnswerLengths()
        >>> lengths.add({"max_new_tokens": 2048}, n_answers=2, n_tokens=300)
        >>> lengths.estimate({"max_new_tokens": 2048}), lengths.estimate({"max_new_tokens": 40})
        (150.0, 40.0)
    """

    def __init__(self) -> None:
        # Settings -> number of answers and of their tokens.
        self._counts: dict[SettingsKey, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def add(self, settings: Mapping[str, Any], *, n_answers: int, n_tokens: int) -> None:
        """Count the tokens of some answers."""
        key = _select_settings_of_length(settings)
        earlier_answers = 0
        earlier_tokens = 0
        # Several threads add at the same time.
        with self._lock:
            if key in self._counts:
                earlier_answers, earlier_tokens = self._counts[key]
            n_answers += earlier_answers
            n_tokens += earlier_tokens
            self._counts[key] = (n_answers, n_tokens)

    def has(self, settings: Mapping[str, Any]) -> bool:
        """Return whether an answer with these settings was counted."""
        return _select_settings_of_length(settings) in self._counts

    def estimate(self, settings: Mapping[str, Any]) -> float:
        """Return about how many tokens an answer has.

        Args:
            settings: Those of `Generation`. Before an answer with such settings, answers with as
                many or the next larger number of allowed tokens count; before any answer, the most
                tokens that are allowed.
        """
        key = _select_settings_of_length(settings)
        max_tokens = float(key[0])
        if not self._counts:
            return max_tokens
        if key not in self._counts:
            key = self._find_similar_key(max_tokens)
        n_answers, n_tokens = self._counts[key]
        mean = n_tokens / n_answers
        return min(mean, max_tokens)

    def _find_similar_key(self, max_tokens: float) -> SettingsKey:
        """Return the settings with the next larger number of allowed tokens, or with the largest."""
        keys = sorted(self._counts)
        for key in keys:
            # An answer that may be longer usually is.
            if key[0] >= max_tokens:
                return key
        return keys[-1]


def _select_settings_of_length(settings: Mapping[str, Any]) -> SettingsKey:
    """Return the settings of `Generation` on which the length of an answer depends."""
    max_tokens = settings.get("max_new_tokens", 1)
    is_drawn = settings.get("temperature", 0) > 0
    is_constrained = bool(settings.get("constrained"))
    return max_tokens, is_drawn, is_constrained
