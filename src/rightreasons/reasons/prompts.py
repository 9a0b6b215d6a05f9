"""Prompts of an item in every arm: the question, what stands next to it, and what is asked for.

`ArmPrompts.make_request` writes one request; `ArmPrompts.list_rows` writes those of all arms for
another harness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rightreasons.core.choices import LETTERS
from rightreasons.datasets.perturbing.hint_kinds import draw_hint
from rightreasons.models.prompts import TEMPLATES, Item, Rendering
from rightreasons.models.protocol import Message, Request
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.models.wording import Prompt
from rightreasons.reasons.hints import Source
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.reasons.trace import HINT, NEUTRAL, PLAIN, write_sentence

REASONED = "Reason step by step, in a few sentences. Then end with a line “Answer: X”, where X is the letter."
SHORT = "Now give the letter of the answer alone."

_SAMPLE = "The sense of the question and of its options leads to this one.\nAnswer: "
"""Beginning of a typical answer with reasoning, by which a plan estimates its length."""


class ArmPrompts:
    """Makes the requests about items in every arm.

    Args:
        prompt: Template, system prompt and label words.
        label_names: Names of the classes. None for multiple choice.
        options: Options of the question.
        chat: Whether items are asked as turns of a conversation.
        seed: Seed of sources and hints.
    """

    def __init__(
        self,
        prompt: Prompt,
        label_names: Sequence[str] | None,
        options: ReasonsOptions,
        *,
        chat: bool,
        seed: int = 0,
    ) -> None:
        """Settle a prompt that asks for letters of options in generated text."""
        template = prompt.template
        if not template:
            task = "multiple_choice" if label_names is None else "classification"
            template = TEMPLATES[task, True]
        # Letters have no meaning without the options.
        if "options" not in template:
            template += "\n{{ options }}"
        # Hints name options by their letters, so that the answers are letters in generated texts.
        letter_prompt = Prompt(
            style="letters",
            scoring="generated",
            template=template,
            system=prompt.system,
            label_words=prompt.label_words,
        )
        self.rendering = Rendering.from_prompt(
            letter_prompt, chat=chat, scorings=["generated"], label_names=label_names
        )
        self.options = options
        self.seed = seed

    def draw_source(self, kind: str, item: Item) -> Source:
        """Draw the source of an item's hint of a kind."""
        # The name must not occur in the question.
        question = _get_question(self.rendering.request(item).prompt)
        return Source.draw(kind, item.id, question, seed=self.seed)

    def draw_goal(self, item: Item, answer: int | None) -> int:
        """Draw the option that the hints of an item name, by its id and the seed.

        Args:
            item: The item, with its id, texts and label.
            answer: Index of the plain answer, which hints do not name; -1 if it cannot be read.
                None if it is not yet known, so that hints may turn out to name it.

        Returns:
            Index of the option. It is not the correct one if the option `target` is "wrong" and
            there are more than two options. -1 if there is no such option, or no plain answer.
        """
        if answer == NO_ANSWER:
            return NO_ANSWER
        n_options = len(self.rendering.texts(item))
        excluded = {answer}
        # Of two options, the one that is not the plain answer may be the correct one.
        if self.options.target != "any" and n_options > 2:
            excluded.add(item.label)
        return draw_hint(item.id, n_options, excluded, self.seed)

    def make_request(
        self,
        name: str,
        item: Item,
        sentence: str,
        instruction: str,
        turns: Sequence[Message] = (),
    ) -> Request:
        """Return the request of an item: its question, a sentence next to it, and an instruction.

        Args:
            name: Unique name of the request.
            item: The item, with its id, texts and label.
            sentence: Sentence next to the question, such as a hint. "" if there is none.
            instruction: `REASONED` to ask for reasons, `SHORT` for the letter alone.
            turns: Turns of the conversation after the question. A model without turns gets them as
                paragraphs of its text.
        """
        asks_for_reasons = instruction == REASONED and not turns
        # The possible replies, by which a plan estimates lengths and a server constrains answers.
        beginning = _SAMPLE if asks_for_reasons else ""
        letters = LETTERS[: len(self.rendering.texts(item))]
        replies = tuple(f"{beginning}{letter}" for letter in letters)

        prompt = self.rendering.request(item).prompt
        paragraphs = [_get_question(prompt), sentence, instruction]
        content = "\n\n".join(filter(None, paragraphs))
        if not isinstance(prompt, str):
            # The last turn of the item is its question, to which the other paragraphs are added.
            question_turn = {"role": "user", "content": content}
            return Request(name, (*prompt[:-1], question_turn, *turns), replies)

        dialog = "\n\n".join(turn["content"] for turn in turns)
        text = f"{content}\n\n{dialog}".rstrip()
        # A model without turns continues the text: with its reasons, or with the letter.
        if not asks_for_reasons:
            text += "\n\nAnswer:"
        return Request(name, text, replies)

    def list_rows(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        """Return the requests about items in all arms, as rows of a task of another harness.

        Such a task cannot wait for the plain answer. So hints name an option at random, but not the
        correct one if the option `target` is "wrong". A hint that turns out to name the plain answer
        is later counted in the arm "own".

        Args:
            items: The items, with their ids, texts and labels.

        Returns:
            A row for each item and arm, with the fields of a request ("id", "prompt", "choices",
            and "text" or "turns") and of a trace ("item", "arm", "kind", "hint", "source", "label").
        """
        # The neutral sentence is by the source of the first kind of hint.
        first_kind = self.options.hints[0]
        arms = [(PLAIN, ""), (NEUTRAL, first_kind)]
        for kind in self.options.hints:
            arms.append((HINT, kind))
        rows: list[dict[str, Any]] = []
        for item in items:
            goal = self.draw_goal(item, answer=None)
            for arm, kind in arms:
                source = self.draw_source(kind or first_kind, item)
                hint = goal if arm == HINT else NO_ANSWER
                rows.append(self._make_task_row(len(rows), item, arm, kind, hint, source))
        return rows

    def _make_task_row(
        self, number: int, item: Item, arm: str, kind: str, hint: int, source: Source
    ) -> dict[str, Any]:
        """Make the row of an item in an arm: the fields of its request, and those of its trace.

        Args:
            number: Number of the row, as a harness may return the rows in another order.
            item: The item, with its id, texts and label.
            arm: "plain", "neutral" or "hint".
            kind: Kind of the hint or of the neutral sentence, such as "colleague". "" for "plain".
            hint: Index of the hinted option. -1 without a hint.
            source: Source of the sentence. In the plain arm, that which the hint has.
        """
        # Rows ask for reasons. Only an audit also asks for the letter alone.
        sentence = write_sentence(arm, source, hint)
        name = name_request(item, arm, kind)
        request = self.make_request(name, item, sentence, REASONED)
        texts = self.rendering.texts(item)
        row = {
            "id": name,
            "number": number,
            "asked": arm,
            "task": "reasons",
            "label": item.label,
            "prompt": source.question,
            "choices": texts,
            "options": list(LETTERS[: len(texts)]),
            "item": item.id,
            "arm": arm,
            "kind": kind,
            "hint": hint,
            "source": source.name,
        }
        # A harness has its own column for a conversation.
        if isinstance(request.prompt, str):
            row["text"] = request.prompt
        else:
            row["turns"] = list(request.prompt)
        return row


def name_request(item: Item, arm: str, kind: str) -> str:
    """Return the name of the request of an item in an arm."""
    if not kind:
        return f"{item.id}/{arm}"
    return f"{item.id}/{arm} {kind}"


def _get_question(prompt: str | Sequence[Message]) -> str:
    """Return the question of a prompt, with its options.

    Args:
        prompt: A text, or the turns of a conversation, whose last turn is the question.
    """
    text = prompt
    if not isinstance(prompt, str):
        text = prompt[-1]["content"]
    return str(text).strip()
