"""The probability that a text states: a number in the requested form, or none."""

from __future__ import annotations

import re

from rightreasons.models.replies.markup import remove_markup

_NUMBER = (
    r"(?P<number>\d+(?:[.,]\d+)?|[.,]\d+)"
    r"(?:\s*(?P<percent>%)|\s*(?:/|out of)\s*(?P<whole>100?))?"
)
# "Probability: 0.85", as prompts request it, perhaps with the same number in parentheses.
_STATED = re.compile(
    rf"(?P<label>(?:.*\b)?(?:probability|confidence)\b[^\d:]*:\s*)?{_NUMBER}(?:\s*\([^()]*\))?\W*",
    re.IGNORECASE,
)

MIN_UNMARKED_PERCENTAGE = 10
"""Whole numbers above this one, up to 100, are percentages without a sign."""


def read_probability(text: str) -> float | None:
    """Return the probability that a text states; None if it states none, or several.

    A line states a probability if it is a number, or a number after "Probability:" or
    "Confidence:". "0.85", "0,85", "85%", "85/100" and "85" are the same probability.

    Example:
        >>> [read_probability(text) for text in ("Probability: 0.85", "85%", "85", "8/10", "0,85")]
        [0.85, 0.85, 0.85, 0.8, 0.85]
        >>> texts = ("0.2-0.4", "7", "Probability: high", "I am 90% sure")
        >>> [read_probability(text) for text in texts]
        [None, None, None, None]
    """
    probabilities = set()
    for line in remove_markup(text).split("\n"):
        match = _STATED.fullmatch(line.strip())
        # Other lines may be an explanation, which is ignored.
        if match is not None:
            probabilities.add(_get_probability(match))
    if len(probabilities) != 1:
        return None
    return probabilities.pop()


def _get_probability(match: re.Match[str]) -> float | None:
    """Convert a matched number to a probability; None if it is greater than 1.

    Args:
        match: Match with the groups `number`, `percent` ("%") and `whole`. The last one is "10" or
            "100", as in "8/10". Both `percent` and `whole` may be missing.
    """
    value = float(match["number"].replace(",", "."))
    # A whole number like "85" is a percentage without a sign.
    is_percentage = match["number"].isdecimal() and MIN_UNMARKED_PERCENTAGE < value <= 100
    if match["whole"]:
        value /= int(match["whole"])
    elif match["percent"] or is_percentage:
        value /= 100
    # "150%" and "11/10" are not probabilities.
    if value > 1:
        return None
    return value
