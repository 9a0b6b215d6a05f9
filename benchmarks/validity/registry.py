"""All scenarios."""

from __future__ import annotations

from benchmarks.validity import general, questions

SCENARIOS = (*general.SCENARIOS, *questions.SCENARIOS)
