"""Replies to items, read by layers: constrained, last line, pattern, other forms, second request.

`ReplyReader.read` reads the replies to items of one prompt, sends back what is unread, and
remembers each reading. `describe_layers` says how many answers each layer read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.core.choices import LETTERS
from rightreasons.core.replies import Reply
from rightreasons.models.prompts import Item, Rendering
from rightreasons.models.replies.answers import Form, Reading, find_answer
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.models.replies.repair import SecondReader, UnreadText

UNREAD = "give no answer"

LAYERS: Mapping[Form, str] = {
    "constrained": "held to the options by the server",
    "line": "by a last line “ANSWER: X”",
    "pattern": "by the pattern",
    "requested": "by another requested form",
    "plain": "by a last line that is an answer",
    "repaired": "by a second request, which asks what the text chose",
}
"""Form of a reading -> the layer in words, in the order in which layers are tried."""


class ReplyReader:
    """Reads the replies to the items of one prompt.

    Args:
        rendering: How the items are asked.
        pattern: Regular expression of the user that finds answers, or None.
        second: Model that reads what is unread, or None to leave it unread.
        known_readings: Item id -> the readings of replies that are repeated; they are not read
            again.

    Attributes:
        readings: Item id -> the reading of each reply.
    """

    def __init__(
        self,
        rendering: Rendering,
        *,
        pattern: str | None,
        second: SecondReader | None = None,
        known_readings: Mapping[str, list[Reading]] | None = None,
    ) -> None:
        self.rendering = rendering
        self.pattern = pattern
        self.second = second
        self.known_readings = known_readings or {}
        self.readings: dict[str, list[Reading]] = {}

    def read(
        self,
        items: Sequence[Item],
        replies: Sequence[Sequence[Reply]],
        *,
        out: str | os.PathLike[str] | None = None,
    ) -> list[list[Reading]]:
        """Read each reply to each item, by its form or else by a second request.

        Args:
            items: N items.
            replies: N lists of replies.
            out: Folder that stores the replies of the second requests.

        Returns:
            N lists with the reading of each reply.
        """
        readings: list[list[Reading]] = []
        for item, item_replies in zip(items, replies, strict=True):
            known_readings = self.known_readings.get(item.id, [])
            if len(known_readings) == len(item_replies):
                readings.append(known_readings)
            else:
                item_readings = []
                for reply in item_replies:
                    item_readings.append(self.find(item, reply))
                readings.append(item_readings)
        # Second requests cost time, so that they are sent for unread replies only.
        if self.second is not None:
            self._repair(self.second, items, replies, readings, out)
        # Remembered, because reports count the readings of all items.
        for item, item_readings in zip(items, readings, strict=True):
            self.readings[item.id] = item_readings
        return readings

    def find(self, item: Item, reply: Reply) -> Reading:
        """Return the reading of a reply to an item by its form alone.

        Args:
            item: The item, in whose own order answers are numbered.
            reply: The reply. One that was refused or filtered gives no answer.
        """
        is_truncated = reply.finish == "length"
        if reply.no_answer_reason and not is_truncated:
            return Reading()
        rendering = self.rendering
        answers = rendering.answers(item)
        texts = rendering.texts(item)
        # A reply of a constrained request may still be none of the answers, if it was truncated.
        if rendering.form == "constrained" and reply.text.strip() in answers:
            return Reading(answers.index(reply.text.strip()), "constrained")

        # The reply is read in the order in which the model saw the options, which it may repeat.
        order = rendering.places(len(texts))
        displayed_texts: list[str] = []
        if rendering.style != "words":
            displayed_texts = _select(texts, order)
        reading = find_answer(
            reply.text,
            _select(answers, order),
            texts=displayed_texts,
            pattern=self.pattern,
            is_truncated=is_truncated,
            continues=bool(rendering.answer_prefix),
        )
        if reading.answer == NO_ANSWER:
            return reading
        # Back to the order of the item.
        return Reading(order[reading.answer], reading.form)

    def _repair(
        self,
        second: SecondReader,
        items: Sequence[Item],
        replies: Sequence[Sequence[Reply]],
        readings: list[list[Reading]],
        out: str | os.PathLike[str] | None,
    ) -> None:
        """Ask a second model for the readings of unread replies, and replace them in place.

        Args:
            second: The model.
            items: N items.
            replies: N lists of replies.
            readings: N lists of the reading of each reply, which are changed.
            out: Folder that stores the replies of the second model.
        """
        texts = []
        # Index of the item, and of the reply to it, for each of the texts.
        positions = []
        for row, item in enumerate(items):
            # The second model names options by letters, of which there may be too few.
            if item.id in self.known_readings or len(self.rendering.texts(item)) > len(LETTERS):
                continue
            for number, reply in enumerate(replies[row]):
                if readings[row][number].answer == NO_ANSWER and _is_repairable(reply):
                    texts.append(self._make_unread(item, reply, number))
                    positions.append((row, number))
        answers = second.read(texts, out=out)
        for (row, number), answer in zip(positions, answers, strict=True):
            if answer != NO_ANSWER:
                # The second model sees the options in the displayed order, too.
                order = self.rendering.places(len(self.rendering.texts(items[row])))
                readings[row][number] = Reading(order[answer], "repaired")

    def _make_unread(self, item: Item, reply: Reply, number: int) -> UnreadText:
        """Return an unread reply with its options as the model saw them, for the second reader.

        Args:
            item: The item.
            reply: The reply.
            number: Number of the reply among those to the item.
        """
        texts = self.rendering.texts(item)
        order = self.rendering.places(len(texts))
        marks: Sequence[str] = LETTERS[: len(texts)]
        # The text refers to the letters or numbers that the model saw.
        if self.rendering.style != "words":
            marks = _select(self.rendering.answers(item), order)
        return UnreadText(
            name=f"{item.id}#{number}",
            text=reply.text,
            marks=tuple(marks),
            options=tuple(_select(texts, order)),
        )


def _select(texts: Sequence[str], order: Sequence[int]) -> list[str]:
    """Return texts in another order."""
    return [texts[index] for index in order]


def _is_repairable(reply: Reply) -> bool:
    """Return whether a reply is a finished text, which may choose an option."""
    return bool(reply.text.strip()) and reply.finish == "stop"


def count_layers(readings: Mapping[Any, Sequence[Reading]]) -> dict[str, int]:
    """Count how many replies each layer read, such as {"line": 38, "unread": 2}.

    Args:
        readings: Id of an item -> the reading of each reply.

    Returns:
        Name of a layer -> its count, in the order of `LAYERS`, without zeros. "unread" counts
        replies without an answer.
    """
    counts: Counter[str] = Counter()
    for row in readings.values():
        for reading in row:
            counts[reading.form or "unread"] += 1
    # The layers have their order whatever was counted first.
    return {name: counts[name] for name in (*LAYERS, "unread") if counts[name]}


def describe_layers(counts: Mapping[str, int]) -> str:
    """Return in words how many answers each layer read, or "" if none was read.

    Example:
        >>> describe_layers({"line": 38, "repaired": 1, "unread": 1})
        '38 by a last line “ANSWER: X”, 1 by a second request, which asks what the text chose'
    """
    parts = []
    for form, words in LAYERS.items():
        if counts.get(form):
            parts.append(f"{counts[form]} {words}")
    return ", ".join(parts)
