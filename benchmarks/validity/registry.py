"""All scenarios."""

from __future__ import annotations

from benchmarks.validity import answered, general, language, measured, questions

SCENARIOS = (
    *general.SCENARIOS,
    *questions.SCENARIOS,
    *language.SCENARIOS,
    *answered.SCENARIOS,
    *measured.SCENARIOS,
)
