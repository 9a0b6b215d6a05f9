"""Pass rates and types of tests as the page writes them."""

from __future__ import annotations

import html
from typing import Any

from rightreasons.behavior.plots import rate_colors, whole_percent
from rightreasons.behavior.words import TYPES
from rightreasons.core.intervals import Interval
from rightreasons.core.sentences import pluralize
from rightreasons.page.formats import NONE
from rightreasons.widget.pages import between


def write_number(rate: float | None) -> str:
    """Write a pass rate in percent without the sign; a dash for an undefined one."""
    # A functionality without defined cases has no rate.
    if rate is None:
        return NONE
    return whole_percent(rate)


def write_percent(rate: float | None) -> str:
    """Write a pass rate in percent; a dash for an undefined one."""
    if rate is None:
        return NONE
    return f"{whole_percent(rate)}%"


def write_colors(rate: float | None) -> str:
    """Write the colors of a cell of the heat map as CSS; "" for an undefined rate."""
    if rate is None:
        return ""
    # The ink contrasts with the ground, whatever the rate.
    ground, ink = rate_colors(rate)
    return f"background:{ground};color:{ink}"


def write_ends(interval: Interval | None) -> str:
    """Write the ends of an interval in percent; "" for none."""
    if interval is None:
        return ""
    return f"{100 * interval.low:.0f} to {100 * interval.high:.0f}"


def write_interval(interval: Interval | None) -> str:
    """Write an interval with its level; "" for none."""
    if interval is None:
        return ""
    return between(interval)


def describe_rate(functionality: Any) -> str:
    """Return how many cases of a functionality pass.

    Args:
        functionality: Its pass rate with its counts.
    """
    if functionality.pass_rate is None:
        return "no case is asked"
    cases = pluralize(functionality.n_cases, "case")
    verb = "pass"
    if functionality.n_passed == 1:
        verb = "passes"
    percent = write_percent(functionality.pass_rate)
    return f"{functionality.n_passed:,} of {cases} {verb} ({percent})"


def explain_type(test_type: str) -> str:
    """Return what a type of tests is, such as MFT; "" for an unknown one."""
    if test_type not in TYPES:
        return ""
    name, meaning = TYPES[test_type]
    return f"{name}: {meaning}"


def write_chip(test_type: str) -> str:
    """Write a type of tests, with its explanation while the pointer rests on it."""
    # An uploaded suite may define further types.
    name = html.escape(test_type)
    css_class = html.escape(test_type.lower())
    return f'<span class="br-type br-{css_class}" title="{explain_type(test_type)}">{name}</span>'
