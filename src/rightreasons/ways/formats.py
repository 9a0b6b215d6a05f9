"""Ways to ask the same: separators, an instruction, words or letters, the order of the options, few-shot examples."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged, Result
from rightreasons.core.resampling import item_rng
from rightreasons.core.scores import Scores
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import PREFIX, Examples, Item, instruction, usual_form

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from rightreasons.models.protocol import HowToKeep

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

ORDERS = ("given", "reversed", "rotated")
"""The order of the options; rotated, the first is the last."""

STYLES = ("words", "letters", "numbers")

_ITEMS = ("{{ prompt }}", "{{ text }}{% if text_pair %}\n{{ text_pair }}{% endif %}")


@dataclasses.dataclass(frozen=True)
class Way(Result):
    """A way to ask.

    Attributes:
        separators: A name of `SEPARATORS`.
        instruction: A name of `INSTRUCTIONS`.
        style: What an answer is, one of `STYLES`.
        order: One of `ORDERS`.
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

    def places(self, count: int) -> list[int]:
        """Return which of the options is shown at each place.

        Example:
            >>> Way("lines", "none", "letters", "rotated").places(3)
            [1, 2, 0]
        """
        given = list(range(count))
        return {"given": given, "reversed": given[::-1], "rotated": [*given[1:], *given[:1]]}[self.order]

    def scorer(self, prompted: Prompted, scoring: str | None = None) -> Ordered:
        """Return a model that is asked in this way, and whose scores are in the options' own order.

        Args:
            prompted: The model as it is asked by its own prompt, of which the rest is taken.
            scoring: How answers are scored; None for the prompt's own.
        """
        names, chat, given = prompted.label_names, prompted.rendering.chat, prompted.prompt
        body, prefix = SEPARATORS[self.separators]
        if names is not None:
            body = body.replace("Question", "Text").replace("QUESTION", "TEXT").replace("question", "text")
            body = body.replace("Options", "Labels").replace("OPTIONS", "LABELS").replace("<options>", "<labels>")
            body = body.replace("</options>", "</labels>")
        wording = INSTRUCTIONS[self.instruction][names is not None]
        template = body.replace("{item}", _ITEMS[names is not None]).replace("{options}", "{{ options }}")
        template += f"\n{wording}" if wording else ""
        form, how = given.form, scoring or prompted.rendering.scoring
        if form == "auto":
            form = usual_form(chat=chat, constrains="constrained_text" in prompted.engine.abilities)
        template += instruction(self.style, scoring=how, form=form, chat=chat)
        words, examples, classes = given.label_words, prompted.examples, names
        if names is not None:
            shown = self.places(len(names))
            classes = tuple(names[place] for place in shown)
            words = tuple(prompted.rendering.label_words[place] for place in shown)
            if examples is not None:
                examples = Examples(
                    [dataclasses.replace(each, label=shown.index(each.label)) for each in examples.items]
                )
        prompt = given.replaced(
            template=template, style=self.style, shots=self.shots, form=form, label_words=words,
            answer_prefix=None if chat else prefix, scoring=scoring or given.scoring,
            chat="on" if chat else "off",
        )  # fmt: skip
        return Ordered(self, prompt, prompted.engine, classes, examples=examples, seed=prompted.seed)


class Ordered(Prompted):
    """A model that is shown the options of each item in the order of a way; its scores are in their own order.

    Args:
        way: The way.
        *asked: The arguments of `Prompted`, with the names of the classes as they are shown.
        **how: The same.
    """

    def __init__(self, way: Way, *arguments: Any, **how: Any) -> None:
        super().__init__(*arguments, **how)
        self.way = way
        if self.label_names is not None:
            self.label_names = tuple(self.label_names[place] for place in np.argsort(way.places(len(self.label_names))))

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of what the answers depend on, the way among it."""
        return f"{super().fingerprint}-{self.way.order}"

    def shown(self, item: Item) -> Item:
        """Return an item with its choices, if it has any, and its label in the order of the way."""
        choices = item.fields.get("choices")
        places = self.way.places(len(self.rendering.texts(item)))
        fields = item.fields if choices is None else {**item.fields, "choices": [choices[place] for place in places]}
        return dataclasses.replace(
            item, fields=fields, label=places.index(item.label) if item.label >= 0 else item.label
        )

    def answer(self, item: Item, place: int) -> str:
        """Return one of the options of an item as it is answered."""
        shown = self.shown(item)
        return self.rendering.said(
            self.rendering.answers(shown)[self.way.places(len(self.rendering.texts(item))).index(place)]
        )

    def score_items(self, items: Sequence[Item], gold: NDArray[np.int64] | None, **how: Unpack[HowToKeep]) -> Scores:
        """Score the answers of items as they are asked; `gold` are the right ones, None for those of the items."""
        labels = [item.label for item in items] if gold is None else gold.tolist()
        relabeled = [dataclasses.replace(item, label=label) for item, label in zip(items, labels, strict=True)]
        scores = super().score_items([self.shown(item) for item in relabeled], None, **how)
        rows = [np.asarray(row)[np.argsort(self.way.places(len(row)))] for row in scores.logits]
        logits = Ragged.of(np.concatenate(rows), [len(row) for row in rows]).table() if rows else scores.logits
        able = set(scores.ids)
        kept = None if gold is None else gold[[item.id in able for item in items]]
        return dataclasses.replace(scores, logits=logits, labels=kept)


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
    styles = [style for style in STYLES if whole or prompted.label_names is not None or style != "words"]
    grid = [Way(*parts) for parts in itertools.product(SEPARATORS, INSTRUCTIONS, styles, ORDERS, shots)]
    first = Way("lines", "none", prompted.rendering.style, "given", prompted.prompt.shots)
    others = [way for way in grid if way != first]
    drawn = item_rng(seed, "ways to ask").permutation(len(others))
    return [first, *(others[place] for place in drawn[: count - 1])]
