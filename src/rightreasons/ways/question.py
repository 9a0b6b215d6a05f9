"""The question about prompt formats, as data: its verdict and its section."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rightreasons.page.prose import prose
from rightreasons.page.question import Part, Question, Rule, Table
from rightreasons.ways.measure import WaysFigures


def describe_verdicts(m: WaysFigures, question: str) -> str:
    """Return the verdicts on a question over the formats, with how many have each."""
    counts: Counter[str] = Counter()
    for row in m.ways:
        counts[row.verdicts[question] or "no answer"] += 1
    # The most frequent verdict comes first.
    parts = [f"{label} in {count}" for label, count in counts.most_common()]
    return ", ".join(parts)


def _list_rows(m: WaysFigures) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for row in m.ways:
        rows.append((row.way.name, row.accuracy, row.n_unread, row.excluded))
    return rows


WAYS_ASKED = Question(
    name="ways",
    prose=prose(__file__, verdicts=describe_verdicts),
    # A spread has no margin beyond which it is a fault: the verdict names it alone.
    verdict=(
        Rule("neutral", "unread", condition=lambda m: m.spread is None),
        Rule("neutral", "told"),
    ),
    parts=(
        Part("ways", (Table("ways", _list_rows),)),
        Part("verdicts"),
        Part("doubt"),
    ),
)
