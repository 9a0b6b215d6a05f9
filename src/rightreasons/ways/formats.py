"""Prompt formats that ask the same: separators, instruction, answer style, order, and examples.

`draw_ways` draws formats for a model, and `Way.scorer` returns the model asked in one of them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

from rightreasons.core.resampling import item_rng
from rightreasons.core.results import Result
from rightreasons.core.sentences import pluralize
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import ORDERS, PREFIX, get_default_form, write_instruction
from rightreasons.models.wording import LIKELIHOODS

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

_CHOICE_ITEM = "{{ prompt }}"
_TEXT_ITEM = "{{ text }}{% if text_pair %}\n{{ text_pair }}{% endif %}"
_WORDS_OF_LABELS: Mapping[str, str] = {
    "Question": "Text",
    "QUESTION": "TEXT",
    "question": "text",
    "Options": "Labels",
    "OPTIONS": "LABELS",
    "<options>": "<labels>",
    "</options>": "</labels>",
}
"""Words around a text with labels, in place of those around a question with options."""


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

    @property
    def title(self) -> str:
        """The format in words, such as "lines, no instruction, letters, given order, 2 examples"."""
        wording = self.instruction
        if wording == "none":
            wording = "no instruction"
        parts = [self.separators, wording, self.style, f"{self.order} order"]
        if self.shots:
            parts.append(pluralize(self.shots, "example"))
        return ", ".join(parts)

    def scorer(self, prompted: Prompted, scoring: str | None = None) -> Prompted:
        """Return the model with prompts in this format.

        Scores of options are returned in the order of the data, even if the prompt shows the options
        in another order.

        Args:
            prompted: The model with its own prompt, whose other settings are kept.
            scoring: How answers are scored, such as "generated". If None, as in the model's own prompt.
        """
        chat = prompted.rendering.chat
        form = prompted.prompt.form
        # "auto" is resolved as for the model's own prompt, so that all formats have the same form.
        if form == "auto":
            is_constrained = "constrained_text" in prompted.engine.abilities
            form = get_default_form(chat=chat, constrains=is_constrained)
        template = self._make_template(is_choice=prompted.label_names is None)
        template += write_instruction(
            self.style, scoring=scoring or prompted.rendering.scoring, form=form, chat=chat
        )
        # In a chat, the answer is a separate turn. Otherwise it follows words such as "Answer:".
        _, prefix = SEPARATORS[self.separators]
        prompt = prompted.prompt.replace(
            template=template,
            style=self.style,
            shots=self.shots,
            form=form,
            answer_prefix=None if chat else prefix,
            scoring=scoring or prompted.prompt.scoring,
            chat="on" if chat else "off",
        )
        scorer = Prompted(
            prompt,
            prompted.engine,
            prompted.label_names,
            examples=prompted.examples,
            seed=prompted.seed,
        )
        # The order of the options belongs to the rendering, not to the prompt.
        scorer.rendering = dataclasses.replace(scorer.rendering, order=self.order)
        # All formats share the model that reads unclear replies, because its error rates are measured
        # only once.
        if scorer.second_reader is not None and prompted.second_reader is not None:
            scorer.second_reader = prompted.second_reader
        return scorer

    def _make_template(self, *, is_choice: bool) -> str:
        """Return the Jinja template of a prompt: the item, its options, and the instruction.

        Args:
            is_choice: Whether items are questions with choices. If False, they are texts with labels,
                and the template says "Labels" instead of "Options", for example.
        """
        body, _ = SEPARATORS[self.separators]
        item = _CHOICE_ITEM
        wording, wording_of_labels = INSTRUCTIONS[self.instruction]
        if not is_choice:
            item = _TEXT_ITEM
            wording = wording_of_labels
            for word, replacement in _WORDS_OF_LABELS.items():
                body = body.replace(word, replacement)
        template = body.replace("{item}", item).replace("{options}", "{{ options }}")
        if wording:
            template += f"\n{wording}"
        return template


def draw_ways(prompted: Prompted, count: int, *, seed: int = 0) -> list[Way]:
    """Sample prompt formats for a model; they depend only on the seed.

    Args:
        prompted: The model. If its prompt has few-shot examples, some formats have none.
        count: Number of formats.
        seed: Seed of the sample.

    Returns:
        The formats. The first one is the simplest format with the answer style and the examples of the
        model's own prompt; the others are random combinations.
    """
    own_shots = prompted.prompt.shots
    shots_options: Sequence[int] = sorted({0, own_shots})
    styles = list(STYLES)
    scores_whole_answers = prompted.rendering.scoring in LIKELIHOODS
    is_generated = prompted.rendering.scoring == "generated"
    scores_first_tokens = not (scores_whole_answers or is_generated)
    if prompted.label_names is None and scores_first_tokens:
        # Words cannot be scored by their first token, because several choices may begin with the same
        # token. Letters and numbers differ in it.
        styles.remove("words")
    first_way = Way("lines", "none", prompted.rendering.style, "given", own_shots)
    ways = []
    # All combinations of the five parts of a format.
    for separators, wording, style, order, shots in itertools.product(
        SEPARATORS, INSTRUCTIONS, styles, ORDERS, shots_options
    ):
        way = Way(separators, wording, style, order, shots)
        if way != first_way:
            ways.append(way)
    permutation = item_rng(seed, "ways to ask").permutation(len(ways))
    return [first_way, *(ways[index] for index in permutation[: count - 1])]
