"""All scenarios."""

from __future__ import annotations

from benchmarks.validity import general, language, measured, questions

SCENARIOS = (*general.SCENARIOS, *questions.SCENARIOS, *language.SCENARIOS, *measured.SCENARIOS)
