"""Ask a language model which option an unread text chose: the repair turn.

A text that is in no requested form is not interpreted by rules. `SecondReader.read` sends it back
with the options and one question, whose reply is a letter or NONE. A reading counts if it is the
same with the options listed in reverse, and if the model reads planted texts correctly.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rightreasons.core.resampling import item_rng
from rightreasons.core.store import get_results_subfolder
from rightreasons.models.protocol import BRIEF, Generation, Request, scores_next_words
from rightreasons.models.replies.answers import read_answer
from rightreasons.models.replies.options import NO_ANSWER

if TYPE_CHECKING:
    from rightreasons.models.protocol import Engine

NONE = "NONE"
"""Reply for a text that chose no option, or several."""

N_CONTROLS = 12
MIN_CONTROLS_READ = 10
"""Planted texts that a model has to read correctly before its readings count."""

MAX_CHARACTERS = 6000
"""Length of the end of a text that is sent back; a conclusion is at the end."""

_QUESTION = (
    "A question had these options:\n\n{options}\n\nThis is an answer to it:\n\n<<<\n{text}\n>>>\n\n"
    "Which option did this answer choose? Reply with its {kind} or {none}."
)
_CHOICE_CONTROLS = (
    "Having weighed them all, I would go for this one: {text}.",
    "Not {other}, but {text}.",
    "The one that says “{text}” fits best, I think.",
)
_NONE_CONTROL = "I do not know which of them is right. It could be {text}, or {other}."


@dataclasses.dataclass(frozen=True)
class UnreadText:
    """A text of which no answer could be read.

    Attributes:
        name: Unique name of the reply.
        text: The text, without reasoning between tags.
        marks: C letters or numbers of the options, as the model saw them.
        options: C texts of the options.
    """

    name: str
    text: str
    marks: tuple[str, ...]
    options: tuple[str, ...]


class SecondReader:
    """Reads texts by asking a language model which option each of them chose.

    Args:
        engine: The model: the audited one, or a judge.
        seed: Seed of the planted texts.
        progress: Whether to show a progress bar, and what the requests cost.

    Attributes:
        n_controls_read: Number of planted texts that the model read correctly, of `N_CONTROLS`.
            None before any text was read.
    """

    def __init__(self, engine: Engine, *, seed: int = 0, progress: bool = False) -> None:
        self.engine = engine
        self.seed = seed
        self.progress = progress
        self.n_controls_read: int | None = None

    @property
    def is_reliable(self) -> bool:
        """Whether the model reads planted texts correctly."""
        return self.n_controls_read is not None and self.n_controls_read >= MIN_CONTROLS_READ

    def read(
        self, texts: Sequence[UnreadText], *, out: str | os.PathLike[str] | None = None
    ) -> list[int]:
        """Ask the model which option each text chose.

        Before the first texts, the model reads planted ones. If it reads these incorrectly, it
        would choose in place of the texts, and nothing is asked.

        Args:
            texts: The texts.
            out: Folder that stores the replies, so that an interrupted run can resume.

        Returns:
            The index of the option that each text chose, or `NO_ANSWER`.
        """
        if not texts:
            return []
        # Stored replies of planted and real texts are in separate folders.
        folder = None if out is None else Path(out)
        # One test per model is enough, as its reading does not depend on the items.
        if self.n_controls_read is None:
            controls, truths = _make_controls(texts, self.seed)
            readings = self._read_twice(controls, get_results_subfolder(folder, "controls"))
            self.n_controls_read = int((np.array(readings) == truths).sum())
        if not self.is_reliable:
            return [NO_ANSWER] * len(texts)
        return self._read_twice(texts, get_results_subfolder(folder, "texts"))

    def _read_twice(self, texts: Sequence[UnreadText], out: Path | None) -> list[int]:
        """Ask for each text twice, with the options in both orders, and keep equal readings.

        Args:
            texts: The texts.
            out: Folder that stores the replies.

        Returns:
            The index of the option that each text chose. `NO_ANSWER` if the model replies NONE, or
            if its reply depends on the order.
        """
        requests = []
        for text in texts:
            requests.append(self._make_request(text, is_reversed=False))
            requests.append(self._make_request(text, is_reversed=True))
        replies = self._ask(requests, out)
        # Two replies to each text, one after the other.
        readings = []
        for text, reply, reversed_reply in zip(texts, replies[::2], replies[1::2], strict=True):
            marks = [*text.marks, NONE]
            answer = read_answer(reply, marks)
            reversed_answer = read_answer(reversed_reply, marks)
            # NONE comes after the options.
            is_option = answer < len(text.marks)
            if answer != reversed_answer or not is_option:
                answer = NO_ANSWER
            readings.append(answer)
        return readings

    def _make_request(self, text: UnreadText, *, is_reversed: bool) -> Request:
        """Return the request that asks which option a text chose.

        Args:
            text: The text, with its options.
            is_reversed: Whether the options are listed from the last to the first. Their letters
                stay.
        """
        lines = [f"{mark}. {option}" for mark, option in zip(text.marks, text.options, strict=True)]
        if is_reversed:
            lines.reverse()
        kind = "letter"
        if text.marks[0].isdecimal():
            kind = "number"
        question = _QUESTION.format(
            options="\n".join(lines),
            text=text.text.strip()[-MAX_CHARACTERS:],
            kind=kind,
            none=NONE,
        )
        name = f"{text.name}/repair {int(is_reversed)}"
        # A base model continues the text, so that the text has to begin its reply.
        replies = (*text.marks, NONE)
        if self.engine.has_template:
            return Request(name, ({"role": "user", "content": question},), replies)
        return Request(name, f"{question}\n\nReply:", tuple(f" {reply}" for reply in replies))

    def _ask(self, requests: Sequence[Request], out: Path | None) -> list[str]:
        """Return the reply to each request; "" for a request that failed or was refused.

        The reply is the likeliest continuation if the engine has the probabilities of next words,
        and otherwise generated.
        """
        if scores_next_words(self.engine) and _differ_at_first(requests):
            return self._choose_likeliest(requests, out)
        options = Generation(
            # A model that thinks before it replies needs tokens for that.
            max_new_tokens=max(BRIEF, self.engine.budget),
            constrained="constrained_text" in self.engine.abilities,
        )
        answers = self.engine.generate(requests, options=options, progress=self.progress, out=out)
        texts = []
        for replies in answers.replies:
            text = ""
            # A failed request has no reply.
            if replies and not replies[0].no_answer_reason:
                text = replies[0].text
            texts.append(text)
        return texts

    def _choose_likeliest(self, requests: Sequence[Request], out: Path | None) -> list[str]:
        """Return the likeliest continuation of each request by its first token; "" if it failed."""
        likelihoods = self.engine.next_words(requests, progress=self.progress, out=out)
        texts = []
        for number, request in enumerate(requests):
            if request.name in likelihoods.failures:
                texts.append("")
                continue
            row = np.asarray(likelihoods.values[number])
            likeliest = int(row.argmax())
            texts.append(request.continuations[likeliest].strip())
        return texts


def _differ_at_first(requests: Sequence[Request]) -> bool:
    """Return whether the continuations of each request differ in their first character."""
    for request in requests:
        initials = {reply.strip()[:1] for reply in request.continuations}
        if len(initials) < len(request.continuations):
            return False
    return True


def _make_controls(
    texts: Sequence[UnreadText], seed: int
) -> tuple[list[UnreadText], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Plant texts whose choice is known, to test how well a model reads.

    The planted texts are about the options of real ones, whose words may be harder to distinguish
    than others. Two of three choose an option, in one of several sentences; the third chooses none.

    Args:
        texts: Real texts.
        seed: Decides which options the planted texts are about.

    Returns:
        `N_CONTROLS` planted texts, and the index of the option that each chose, or `NO_ANSWER`.
    """
    controls = []
    truths = []
    for number in range(N_CONTROLS):
        source = texts[number % len(texts)]
        name = f"{source.name}/control {number}"
        order = item_rng(seed, name).permutation(len(source.options))
        # The other two thirds use each sentence in turn.
        if number % 3 == 2:
            form = _NONE_CONTROL
            truth = NO_ANSWER
        else:
            form = _CHOICE_CONTROLS[number // 3 % len(_CHOICE_CONTROLS)]
            truth = int(order[0])
        text = form.format(text=source.options[order[0]], other=source.options[order[1]])
        controls.append(dataclasses.replace(source, name=name, text=text))
        truths.append(truth)
    return controls, np.array(truths, dtype=np.int64)
