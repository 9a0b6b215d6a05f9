"""What `rightreasons judges` prints of judges of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightreasons.core.intervals import estimate_of
from rightreasons.page.parts import Cell
from rightreasons.page.prose import prose
from rightreasons.page.question import Part, Question, Rule, Table

PREFERENCES = {
    "consistency": "Same winner in both orders",
    "position": "First place over second",
    "length": "Longer over shorter",
    "length_beyond": "Longer, beyond the reference",
    "own": "Its own over the other",
    "own_beyond": "Its own, beyond the reference",
}
"""What a judge may prefer, of a `JudgeBias` -> its name."""


def preference_rows(m: Any) -> Iterator[tuple[Cell, ...]]:
    """Return what each judge prefers, as far as the data tell it."""
    for name, bias in m.judges.items():
        for key, words in PREFERENCES.items():
            if (found := getattr(bias, key)) is not None:
                value = estimate_of(found.value, found.interval)
                yield name, words, value, found.p_value, found.n_pairs, found.n_items


JUDGES = Question(
    name="judges",
    prose=prose(__file__, PREFERENCES=PREFERENCES),
    verdict=(Rule("neutral", "told"),),
    parts=(Part("judges", (Table("judges", preference_rows),)),),
)
