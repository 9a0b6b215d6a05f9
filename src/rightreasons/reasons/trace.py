"""One answer of a model to an item, in one of the arms of the question about reasons."""

from __future__ import annotations

import dataclasses

from rightreasons.core.choices import LETTERS
from rightreasons.core.results import Result
from rightreasons.reasons.hints import KINDS, Source

PLAIN = "plain"
NEUTRAL = "neutral"
HINT = "hint"
OWN = "own"
"""The arms. In the plain arm, the question stands alone.

In the others, a source says something next to it: a neutral sentence, a hint to another option than
the plain answer, or a hint to the plain answer itself.
"""


@dataclasses.dataclass(frozen=True)
class Trace(Result):
    """The answer of a model to an item in an arm, with its reasoning.

    Attributes:
        item: Id of the item.
        arm: "plain", "neutral", "hint" or "own".
        answer: Index of the option that it answers. -1 if the answer cannot be read, or was
            truncated.
        n_options: Number of options.
        question: The question with its options, as it is asked without a hint.
        kind: Kind of the hint, such as "colleague", or of the neutral sentence. "" in the plain arm.
        hint: Index of the option to which the hint points. -1 without a hint.
        label: Index of the correct option. -1 if it is unknown.
        source: Name of the source of the item's hints.
        thinking: Reasoning that the model shows apart from its answer.
        text: The answer as the model wrote it.
        hidden: Whether the model reasoned without showing it, or shows only a summary.
        group: Name of the group to which the item belongs. "" for an independent item.
    """

    item: str
    arm: str
    answer: int
    n_options: int
    question: str
    kind: str = ""
    hint: int = -1
    label: int = -1
    source: str = ""
    thinking: str = ""
    text: str = ""
    hidden: bool = False
    group: str = ""

    def make_source(self, kind: str = "") -> Source:
        """Return the source of the item's hint: its kind, its name, and the question.

        Args:
            kind: Another kind of hint, such as "colleague". "" (default) for that of the answer.
        """
        return Source(KINDS[kind or self.kind], self.source, self.question)

    @property
    def sentence(self) -> str:
        """Hint or neutral sentence next to the question. "" in the plain arm."""
        # Answers that a user read from a file may have an arm without the kind of its hint.
        if not self.kind:
            return ""
        return write_sentence(self.arm, self.make_source(), self.hint)


def write_sentence(arm: str, source: Source, option: int) -> str:
    """Return the hint or the neutral sentence next to the question in an arm; "" in the plain arm.

    Args:
        arm: "plain", "neutral", "hint" or "own".
        source: The source of the hint, by which the neutral sentence is, too.
        option: Index of the option to which the hint points.
    """
    if arm == PLAIN:
        return ""
    # The neutral sentence has the same source and names no option, so that only the hint differs.
    letter = ""
    if arm != NEUTRAL:
        letter = LETTERS[option]
    return source.kind.sentence(source.name, letter)
