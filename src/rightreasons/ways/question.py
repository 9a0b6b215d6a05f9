"""What the ways to ask say, as a section: accuracy by way, how far they lie apart, answers that turn."""

from __future__ import annotations

from collections import Counter
from typing import Any

from rightreasons.page.prose import prose
from rightreasons.page.question import Part, Question, Rule, Table


def verdicts(m: Any, question: str) -> str:
    """Name the verdicts on a question over the ways, with how many have each."""
    labels = Counter(one.verdicts[question] or "no answer" for one in m.ways)
    return ", ".join(f"{label} in {count}" for label, count in labels.most_common())


WAYS_ASKED = Question(
    name="ways",
    prose=prose(__file__, verdicts=verdicts),
    verdict=(Rule("neutral", "told"),),
    parts=(
        Part(
            "ways",
            (
                Table(
                    "ways",
                    lambda m: ((one.way.name, one.accuracy, one.n_unread) for one in m.ways),
                ),
                Table(
                    "levels",
                    lambda m: (
                        (part, value, share)
                        for part, levels in m.levels.items()
                        if len(levels) > 1
                        for value, share in levels.items()
                    ),
                ),
            ),
        ),
        Part("verdicts"),
        Part("doubt"),
    ),
)
