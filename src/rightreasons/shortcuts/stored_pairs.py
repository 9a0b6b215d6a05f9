"""What the swap of a pair of words decides, and which pair a finding is about, as a report stores them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rightreasons.core.estimates import Estimate
from rightreasons.shortcuts.measure_deciding import NAMING_TESTS

SECOND_TEXT = ".text_pair"
"""End of the key of a pair of words in second texts, as in `name_pair_key`."""


def find_named_pair(result: Mapping[str, Any]) -> str:
    """Return the key of the figure of the pair of words that the finding names; "" if it names none.

    Args:
        result: Result of the question on shortcuts in audit.json.
    """
    # Reports of earlier versions do not store what the finding names.
    feature = result["data"].get("tested", {})
    if feature.get("test") not in NAMING_TESTS:
        return ""
    feature_key = _make_key(feature.get("words", ()))
    keys = []
    for figure in result.get("by_item", ()):
        key = figure["key"]
        if key.removesuffix(SECOND_TEXT) == feature_key:
            keys.append(key)
    # The finding does not say in which text of a pair the words stand.
    if len(keys) != 1:
        return ""
    return str(keys[0])


def _make_key(words: Iterable[str]) -> str:
    """Return the key of the figure of some words, in any order, in single or first texts."""
    return f"deciding_share.{'/'.join(sorted(words))}"


def find_pair_share(result: Mapping[str, Any], key: str) -> Estimate | None:
    """Return the share of all predictions that a pair of words decides, as the report shows it.

    Args:
        result: Result of the question on shortcuts in audit.json.
        key: Key of the figure of the pair, such as "deciding_share.copper/marble".

    Returns:
        The share with its interval; None if the report has no such pair, or one in each text.
    """
    # Reports of earlier versions lack the swaps, or the level of their intervals.
    swaps = result["data"].get("swaps", {})
    rows = []
    names = []
    for row in swaps.get("pairs", ()):
        if key.removesuffix(SECOND_TEXT) == _make_key(row["words"]):
            rows.append(row)
            names.append(row["name"])
    # A row does not say in which text of a pair the words stand.
    if not rows or names.count(names[0]) > 1:
        return None
    # Of a word that is paired with several neutral ones, the strongest pair comes first.
    strongest = rows[0]
    effect = strongest["effect"]
    interval = effect["interval"]
    return Estimate(
        value=effect["deciding_share"],
        low=interval["low"],
        high=interval["high"],
        level=strongest.get("level", 0.95),
        method=interval["method"],
    )
