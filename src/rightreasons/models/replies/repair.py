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
        """Return the index of the option that each text chose, or `NO_ANSWER`.

        Args:
            texts: The texts.
            out: Folder that stores the replies, so that an interrupted run can resume.
        """
        if not texts:
            return []
        folder = None if out is None else Path(out)
        # One test per model is enough: its reading does not depend on the items.
        if self.n_controls_read is None:
            controls, truths = _make_controls(texts, self.seed)
            readings = self._read_twice(controls, get_results_subfolder(folder, "controls"))
            self.n_controls_read = int((np.array(readings) == truths).sum())
        # A model that does not read would choose for the text.
        if not self.is_reliable:
            return [NO_ANSWER] * len(texts)
        return self._read_twice(texts, get_results_subfolder(folder, "texts"))

    def _read_twice(self, texts: Sequence[UnreadText], out: Path | None) -> list[int]:
        """Return the readings that do not depend on the order in which the options are listed."""
        requests = []
        for text in texts:
            requests.append(self._make_request(text, is_reversed=False))
            requests.append(self._make_request(text, is_reversed=True))
        replies = self._ask(requests, out)
        readings = []
        for number, text in enumerate(texts):
            options = [*text.marks, NONE]
            forward = read_answer(replies[2 * number], options)
            backward = read_answer(replies[2 * number + 1], options)
            # The last option is NONE.
            is_option = forward < len(text.marks)
            if forward != backward or not is_option:
                forward = NO_ANSWER
            readings.append(forward)
        return readings

    def _make_request(self, text: UnreadText, *, is_reversed: bool) -> Request:
        """Return the request that asks which option a text chose."""
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
        """Return the reply to each request, held to a letter or NONE where the model can be."""
        if scores_next_words(self.engine) and _differ_at_first(requests):
            return self._choose_likeliest(requests, out)
        # A model that reasons before it replies needs room for that.
        options = Generation(
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
        """Return the continuation of each request with the likeliest first token."""
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
    """Return planted texts about the options of real ones, and the option that each chose."""
    # Planted texts are about real options, whose words may be harder to tell apart than others.
    controls = []
    truths = []
    for number in range(N_CONTROLS):
        source = texts[number % len(texts)]
        order = item_rng(seed, f"{source.name}/control {number}").permutation(len(source.options))
        # A third of the planted texts chooses nothing.
        is_none = number % 3 == 2
        form = _NONE_CONTROL
        truth = NO_ANSWER
        if not is_none:
            form = _CHOICE_CONTROLS[number // 3 % len(_CHOICE_CONTROLS)]
            truth = int(order[0])
        text = form.format(text=source.options[order[0]], other=source.options[order[1]])
        controls.append(
            dataclasses.replace(source, name=f"{source.name}/control {number}", text=text)
        )
        truths.append(truth)
    return controls, np.array(truths, dtype=np.int64)
