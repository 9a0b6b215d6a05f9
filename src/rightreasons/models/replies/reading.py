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
        """Find the answer in each reply to each item, by its form or else by a second request.

        The readings are also added to `readings`, because reports count those of all items.

        Args:
            items: N items.
            replies: N lists of replies.
            out: Folder that stores the replies to the second requests.

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
        # Second requests take time, so that they are sent only for replies that cannot be read.
        if self.second is not None:
            self._repair(self.second, items, replies, readings, out)
        for item, item_readings in zip(items, readings, strict=True):
            self.readings[item.id] = item_readings
        return readings

    def find(self, item: Item, reply: Reply) -> Reading:
        """Find the answer in a reply to an item by its form, without a second request.

        Args:
            item: The item, whose order of the answers the reading uses.
            reply: The reply. A refused or filtered one gives no answer.
        """
        is_truncated = reply.finish == "length"
        if reply.no_answer_reason and not is_truncated:
            return Reading()
        rendering = self.rendering
        answers = rendering.answers(item)
        texts = rendering.texts(item)
        # If a constrained reply was truncated, it may not be one of the answers.
        if rendering.form == "constrained" and reply.text.strip() in answers:
            return Reading(answers.index(reply.text.strip()), "constrained")

        # The reply may repeat the options, in the order in which they were displayed.
        order = rendering.get_displayed_order(len(texts))
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
        # Convert the displayed position to the index in the order of the item.
        return Reading(order[reading.answer], reading.form)

    def _repair(
        self,
        second: SecondReader,
        items: Sequence[Item],
        replies: Sequence[Sequence[Reply]],
        readings: list[list[Reading]],
        out: str | os.PathLike[str] | None,
    ) -> None:
        """Ask a second model about the replies that cannot be read, and replace their readings.

        Args:
            second: Asks the second model which option a text chose.
            items: N items.
            replies: N lists of replies.
            readings: N lists with the reading of each reply, which are changed in place.
            out: Folder that stores the replies of the second model.
        """
        texts = []
        # Index of the item, and index of the reply to it, for each of the texts.
        positions = []
        for row, item in enumerate(items):
            # The second model names options by letters, of which there may be too few.
            n_options = len(self.rendering.texts(item))
            if item.id in self.known_readings or n_options > len(LETTERS):
                continue
            for number, reply in enumerate(replies[row]):
                if readings[row][number].answer == NO_ANSWER and _is_repairable(reply):
                    texts.append(self._make_unread(item, reply, number))
                    positions.append((row, number))
        displayed_positions = second.read(texts, out=out)
        for (row, number), displayed_position in zip(positions, displayed_positions, strict=True):
            if displayed_position != NO_ANSWER:
                n_options = len(self.rendering.texts(items[row]))
                order = self.rendering.get_displayed_order(n_options)
                readings[row][number] = Reading(order[displayed_position], "repaired")

    def _make_unread(self, item: Item, reply: Reply, number: int) -> UnreadText:
        """Return a reply that cannot be read with the displayed options, for the second model.

        Args:
            item: The item.
            reply: The reply.
            number: Index of the reply among the replies to the item.
        """
        texts = self.rendering.texts(item)
        order = self.rendering.get_displayed_order(len(texts))
        marks: Sequence[str] = LETTERS[: len(texts)]
        # If the options were displayed with letters or numbers, the reply may mention these.
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
    """Return whether a reply is a complete text, so that it may have chosen an option."""
    return bool(reply.text.strip()) and reply.finish == "stop"


def count_layers(readings: Mapping[Any, Sequence[Reading]]) -> dict[str, int]:
    """Count how many replies each layer of the reader read, such as {"line": 38, "unread": 2}.

    Args:
        readings: Id of an item -> the reading of each reply.

    Returns:
        Form of a reading, such as "line" -> number of replies, in the order of `LAYERS`, without
        zeros. "unread" counts replies without an answer.
    """
    counts: Counter[str] = Counter()
    for item_readings in readings.values():
        for reading in item_readings:
            counts[reading.form or "unread"] += 1
    return {form: counts[form] for form in (*LAYERS, "unread") if counts[form]}


def describe_layers(counts: Mapping[str, int]) -> str:
    """Describe how many replies each layer of the reader read. Empty if none was read.

    Args:
        counts: Counts from `count_layers`.

    Example:
        >>> describe_layers({"line": 38, "repaired": 1, "unread": 1})
        '38 by a last line “ANSWER: X”, 1 by a second request, which asks what the text chose'
    """
    parts = []
    for form, words in LAYERS.items():
        if counts.get(form):
            parts.append(f"{counts[form]} {words}")
    return ", ".join(parts)
