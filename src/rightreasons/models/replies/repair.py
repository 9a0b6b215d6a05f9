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
from rightreasons.models.protocol import BRIEF, Generation, Request, can_score_next_words
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
    """A generated text whose answer could not be read.

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
    """Asks a language model which option a text chose, if the text cannot be read by its form.

    Args:
        engine: The model: the audited one, or a judge.
        seed: Seed of the control texts.
        progress: Whether to show a progress bar, and the costs of the requests.

    Attributes:
        n_controls_read: Number of the `N_CONTROLS` control texts, whose choice is known, that the
            model read correctly. None before any text was read.
    """

    def __init__(self, engine: Engine, *, seed: int = 0, progress: bool = False) -> None:
        self.engine = engine
        self.seed = seed
        self.progress = progress
        self.n_controls_read: int | None = None

    @property
    def is_reliable(self) -> bool:
        """Whether the model read enough control texts correctly."""
        return self.n_controls_read is not None and self.n_controls_read >= MIN_CONTROLS_READ

    def read(
        self, texts: Sequence[UnreadText], *, out: str | os.PathLike[str] | None = None
    ) -> list[int]:
        """Ask the model which option each text chose.

        At the first call, the model also reads control texts, whose choice is known. A model that
        reads these incorrectly would guess, and is not asked about the texts.

        Args:
            texts: The texts.
            out: Folder that stores the replies, so that an interrupted run can resume.

        Returns:
            The index of the option that each text chose, or `NO_ANSWER`.
        """
        if not texts:
            return []
        folder = None if out is None else Path(out)
        # One test is enough, because the ability of the model does not depend on the items.
        if self.n_controls_read is None:
            controls, truths = _make_controls(texts, self.seed)
            readings = self._read_twice(controls, get_results_subfolder(folder, "controls"))
            self.n_controls_read = int((np.array(readings) == truths).sum())
        if not self.is_reliable:
            return [NO_ANSWER] * len(texts)
        return self._read_twice(texts, get_results_subfolder(folder, "texts"))

    def _read_twice(self, texts: Sequence[UnreadText], out: Path | None) -> list[int]:
        """Ask about each text twice, with the options in both orders.

        Args:
            texts: The texts.
            out: Folder that stores the replies.

        Returns:
            The index of the option that each text chose. `NO_ANSWER` if the model replies NONE, or
            if its reply depends on the order of the options.
        """
        requests = []
        for text in texts:
            requests.append(self._make_request(text, is_reversed=False))
            requests.append(self._make_request(text, is_reversed=True))
        replies = self._send(requests, out)
        # The replies alternate between the two orders.
        readings = []
        for text, reply, reversed_reply in zip(texts, replies[::2], replies[1::2], strict=True):
            marks = [*text.marks, NONE]
            answer = read_answer(reply, marks)
            reversed_answer = read_answer(reversed_reply, marks)
            # NONE is the last mark, after those of the options.
            is_option = answer < len(text.marks)
            if answer != reversed_answer or not is_option:
                answer = NO_ANSWER
            readings.append(answer)
        return readings

    def _make_request(self, text: UnreadText, *, is_reversed: bool) -> Request:
        """Return the request that asks which option a text chose.

        Args:
            text: The text, with its options and their letters or numbers.
            is_reversed: Whether the options are listed from the last to the first. Each option
                keeps its letter.
        """
        lines = [f"{mark}. {option}" for mark, option in zip(text.marks, text.options, strict=True)]
        if is_reversed:
            lines.reverse()
        kind = "letter"
        if text.marks[0].isdecimal():
            kind = "number"
        question = _QUESTION.format(
            options="\n".join(lines),
            # The conclusion is at the end of a long text.
            text=text.text.strip()[-MAX_CHARACTERS:],
            kind=kind,
            none=NONE,
        )
        name = f"{text.name}/repair {int(is_reversed)}"
        replies = (*text.marks, NONE)
        if self.engine.has_template:
            return Request(name, ({"role": "user", "content": question},), replies)
        # A model without a chat template continues the text, which has to end where the reply
        # begins.
        return Request(name, f"{question}\n\nReply:", tuple(f" {reply}" for reply in replies))

    def _send(self, requests: Sequence[Request], out: Path | None) -> list[str]:
        """Send requests, and return the text of each reply, empty for a request without a reply.

        If the engine can score next words, the reply is the likeliest continuation of the request.
        Otherwise it is generated.

        Args:
            requests: The requests, with the possible replies as continuations.
            out: Folder that stores the replies.
        """
        if can_score_next_words(self.engine) and _differ_at_first(requests):
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
        """Return the continuation of each request with the likeliest first token.

        Args:
            requests: The requests.
            out: Folder that stores the probabilities.

        Returns:
            The continuations without white space around them. Empty for a request that failed.
        """
        likelihoods = self.engine.next_words(requests, progress=self.progress, out=out)
        texts = []
        for index, request in enumerate(requests):
            if request.name in likelihoods.failures:
                texts.append("")
                continue
            row = np.asarray(likelihoods.values[index])
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
    """Make control texts whose choice is known, to test how well a model reads texts.

    The control texts have options of real texts, because the options of some datasets are hard to
    distinguish. Two of three texts choose an option, by one of several sentences, such as "Not
    Lyon, but Paris."; the third chooses none.

    Args:
        texts: Real texts, with their options.
        seed: Seed that decides which option a control text chooses.

    Returns:
        `N_CONTROLS` control texts; and the index of the option that each chose, or `NO_ANSWER`.
    """
    controls = []
    truths = []
    for number in range(N_CONTROLS):
        source = texts[number % len(texts)]
        name = f"{source.name}/control {number}"
        order = item_rng(seed, name).permutation(len(source.options))
        choice, alternative = order[:2]
        if number % 3 == 2:
            sentence = _NONE_CONTROL
            truth = NO_ANSWER
        else:
            # Each sentence is used for two texts in turn.
            sentence = _CHOICE_CONTROLS[number // 3 % len(_CHOICE_CONTROLS)]
            truth = int(choice)
        text = sentence.format(text=source.options[choice], other=source.options[alternative])
        controls.append(dataclasses.replace(source, name=name, text=text))
        truths.append(truth)
    return controls, np.array(truths, dtype=np.int64)
