"""The kinds of behavioral learning by name."""

from __future__ import annotations

from collections.abc import Mapping

from rightreasons.analysis.behavior.pass_rates import asks_for_neutral
from rightreasons.data.suites.suite import Suite
from rightreasons.measuring.behavior_spans import is_reading
from rightreasons.training.behavior.classes import Classes
from rightreasons.training.behavior.kind import Kind
from rightreasons.training.behavior.spans import Spans

KINDS: Mapping[str, Kind] = {"sentiment": Classes("sentiment"), "classes": Classes("classes"), "answers": Spans()}
"""The kinds by `options.LABELS`."""


def kind_of(suite: Suite) -> str:
    """Return the name of the kind that a suite asks for."""
    if is_reading(suite):
        return "answers"
    return "sentiment" if asks_for_neutral(suite.table()) else "classes"
