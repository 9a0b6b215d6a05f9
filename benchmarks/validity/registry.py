"""All scenarios."""

from __future__ import annotations

from benchmarks.validity import general, measured, questions

SCENARIOS = (*general.SCENARIOS, *questions.SCENARIOS, *measured.SCENARIOS)
