"""Ways to ask the same: separators, an instruction, words or letters, the order of the options, few-shot examples."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

from rightreasons.core.resampling import item_rng
from rightreasons.core.results import Result
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import ORDERS, PREFIX, instruction, usual_form

SEPARATORS: Mapping[str, tuple[str, str]] = {
    "lines": ("{item}\n{options}", PREFIX),
    "named": ("Question: {item}\nOptions:\n{options}", PREFIX),
    "capitals": ("QUESTION: {item}\nOPTIONS:\n{options}", "ANSWER:"),
    "dashes": ("Question - {item}\n\nOptions -\n{options}", "Answer -"),
    "colons": ("Question:: {item}\nOptions:: {options}", "Answer::"),
    "tags": ("<question>\n{item}\n</question>\n<options>\n{options}\n</options>", PREFIX),
}
"""What is around an item and its options, and what the answer follows outside a chat; after Sclar et al. (2024)."""

INSTRUCTIONS: Mapping[str, tuple[str, str]] = {
    "none": ("", ""),
    "choose": ("Choose the best answer.", "Choose the best label."),
    "which": ("Which of the options is right?", "Which of the labels fits?"),
    "select": ("Select the correct option.", "Select the correct label."),
}
"""What is said after the options of a question, and after labels."""

STYLES = ("words", "letters", "numbers")

_ITEMS = ("{{ prompt }}", "{{ text }}{% if text_pair %}\n{{ text_pair }}{% endif %}")


@dataclasses.dataclass(frozen=True)
class Way(Result):
    """A way to ask.

    Attributes:
        separators: A name of `SEPARATORS`.
        instruction: A name of `INSTRUCTIONS`.
        style: What an answer is, one of `STYLES`.
        order: The order of the options, one of `ORDERS`.
        shots: Few-shot examples.
    """

    separators: str
    instruction: str
    style: str
    order: str = "given"
    shots: int = 0

    @property
    def name(self) -> str:
        """Its parts in one word."""
        return "/".join(map(str, dataclasses.astuple(self)))

    def scorer(self, prompted: Prompted, scoring: str | None = None) -> Prompted:
        """Return a model that is asked in this way, and whose scores are in the options' own order.

        Args:
            prompted: The model as it is asked by its own prompt, of which the rest is taken.
            scoring: How answers are scored; None for the prompt's own.
        """
        names, chat, given = prompted.label_names, prompted.rendering.chat, prompted.prompt
        body, prefix = SEPARATORS[self.separators]
        if names is not None:
            body = (
                body.replace("Question", "Text")
                .replace("QUESTION", "TEXT")
                .replace("question", "text")
            )
            body = (
                body.replace("Options", "Labels")
                .replace("OPTIONS", "LABELS")
                .replace("<options>", "<labels>")
            )
            body = body.replace("</options>", "</labels>")
        wording = INSTRUCTIONS[self.instruction][names is not None]
        template = body.replace("{item}", _ITEMS[names is not None]).replace(
            "{options}", "{{ options }}"
        )
        template += f"\n{wording}" if wording else ""
        form, how = given.form, scoring or prompted.rendering.scoring
        if form == "auto":
            form = usual_form(chat=chat, constrains="constrained_text" in prompted.engine.abilities)
        template += instruction(self.style, scoring=how, form=form, chat=chat)
        prompt = given.replace(
            template=template, style=self.style, shots=self.shots, form=form,
            answer_prefix=None if chat else prefix, scoring=scoring or given.scoring,
            chat="on" if chat else "off",
        )  # fmt: skip
        scorer = Prompted(
            prompt, prompted.engine, names, examples=prompted.examples, seed=prompted.seed
        )
        scorer.rendering = dataclasses.replace(scorer.rendering, order=self.order)
        return scorer


def ways_of(prompted: Prompted, count: int, *, seed: int = 0) -> list[Way]:
    """Return ways to ask a model: first the plainest in its own style and order, then others, drawn by the seed.

    Args:
        prompted: The model; where its prompt has few-shot examples, some ways have none.
        count: How many.
        seed: Decides which.
    """
    shots: Sequence[int] = sorted({0, prompted.prompt.shots})
    # The first tokens of several choices may be the same; letters and numbers are told apart by theirs.
    whole = prompted.rendering.scoring == "generated" or "likelihoods" in prompted.engine.abilities
    styles = [
        style for style in STYLES if whole or prompted.label_names is not None or style != "words"
    ]
    grid = [
        Way(*parts) for parts in itertools.product(SEPARATORS, INSTRUCTIONS, styles, ORDERS, shots)
    ]
    first = Way("lines", "none", prompted.rendering.style, "given", prompted.prompt.shots)
    others = [way for way in grid if way != first]
    drawn = item_rng(seed, "ways to ask").permutation(len(others))
    return [first, *(others[place] for place in drawn[: count - 1])]
