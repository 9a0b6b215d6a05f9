"""The options of the question about the probes."""

from __future__ import annotations

from typing import Any

from rightreasons.core.options import QuestionOptions, option


class ProbesOptions(QuestionOptions):
    """Does it pick an answer before reading the question?"""

    ks: tuple[int, ...] = option(
        (1, 2, 4, 8),
        "How many wrong choices of other items are added to each; comma-separated, each number in turn.",
        minimum=1,
    )

    def passes(self, context: Any) -> float:
        """Return about how many passes of one item the question needs of an audit."""
        return float(len(context.primary) * (3 + len(self.ks)))
