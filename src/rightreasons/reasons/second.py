"""Ask a model about reasoning that is already written, to judge or to edit it.

The judge and the editor of reasoning use `TextReader.ask`, which starts a new conversation for each
text. `TextReader.choose` asks for one of several letters.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.core.errors import OptionError
from rightreasons.models.protocol import Generation, Request, can_score_next_words

if TYPE_CHECKING:
    from rightreasons.models.protocol import Engine
    from rightreasons.reasons.trace import Trace

QUOTED = "\n\n<<<\n{}\n>>>\n\n"
"""Template of a text within a prompt, separated from the words around it."""

GREEDY = Generation(temperature=0.0)
"""Options by which the most probable tokens are generated, so that a text is always read the same."""

PLANNED_REPLY = "What a plan, which sends nothing, counts as the reply."


@dataclasses.dataclass(frozen=True)
class TextReader:
    """A model that is asked about texts.

    Attributes:
        engine: The model.
        choose_folder: Maps the name of a kind of requests to keywords of `Engine.generate`, such
            as the folder of the replies.
        options: How replies are generated, except for their length: by the most probable tokens.
    """

    engine: Engine
    choose_folder: Callable[[str], Mapping[str, Any]]
    options: Generation = GREEDY

    def ask(
        self, kind: str, names: Sequence[str], prompts: Sequence[str], *, max_new_tokens: int
    ) -> list[str]:
        """Return the reply to each prompt; "" for a request without an answer.

        Args:
            kind: Name of the kind of requests.
            names: N unique names of the requests.
            prompts: N prompts.
            max_new_tokens: Length limit of a reply. A model that thinks has more.
        """
        if not prompts:
            return []
        requests = []
        for name, prompt in zip(names, prompts, strict=True):
            requests.append(self._make_request(name, prompt, (PLANNED_REPLY,)))
        # The budget of a model that thinks includes its thinking, which precedes the reply.
        limit = max(max_new_tokens, self.engine.budget)
        options = self.options.replace(temperature=0.0, max_new_tokens=limit)
        answers = self.engine.generate(requests, options=options, **self.choose_folder(kind))

        texts = []
        for replies in answers.replies:
            # A request that failed, or was refused, leaves its text unread.
            if replies and not replies[0].no_answer_reason:
                texts.append(replies[0].text)
            else:
                texts.append("")
        return texts

    @property
    def can_choose(self) -> bool:
        """Whether the model scores letters, so that no reply is unreadable."""
        # Servers report the likeliest tokens alone, among which a letter may be missing.
        return "likelihoods" in self.engine.abilities and can_score_next_words(self.engine)

    def choose(
        self, kind: str, names: Sequence[str], prompts: Sequence[str], letters: Sequence[str]
    ) -> list[str]:
        """Return the likeliest letter after each prompt; "" for a request without an answer.

        Args:
            kind: Name of the kind of requests.
            names: N unique names of the requests.
            prompts: N prompts.
            letters: The letters that each prompt offers, such as ["A", "B", "C"].
        """
        if not prompts:
            return []
        requests = []
        for name, prompt in zip(names, prompts, strict=True):
            requests.append(self._make_request(name, prompt, letters))
        likelihoods = self.engine.next_words(requests, **self.choose_folder(kind))
        chosen_letters = []
        for row, name in enumerate(names):
            if name in likelihoods.failures:
                chosen_letters.append("")
            else:
                likeliest = int(np.argmax(likelihoods.values[row]))
                chosen_letters.append(letters[likeliest])
        return chosen_letters

    def _make_request(self, name: str, prompt: str, replies: Sequence[str]) -> Request:
        """Make a request about one text, in a conversation of its own.

        Args:
            name: Unique name of the request.
            prompt: The prompt.
            replies: Possible replies, such as letters.
        """
        if self.engine.has_template:
            turn = {"role": "user", "content": prompt}
            return Request(name, (turn,), tuple(replies))
        # A model without turns continues the text, which therefore ends where the letter follows.
        if self.can_choose:
            continuations = tuple(f" {reply}" for reply in replies)
            return Request(name, f"{prompt}\n\nReply:", continuations)
        return Request(name, prompt, tuple(replies))


def check_second_model(engine: Engine, audited: Engine) -> None:
    """Check that a second model is not the audited one.

    Args:
        engine: The second model.
        audited: The audited model.

    Raises:
        OptionError: If both have the same weights or the same name.
    """
    if engine.fingerprint == audited.fingerprint or engine.name == audited.name:
        raise OptionError(
            f"Expected a judge other than the audited model, but both are {engine.name}. Omit "
            "`--judge` to let the audited model judge its reasoning in a fresh conversation.",
            option="judge",
        )


def join_texts(trace: Trace) -> str:
    """Return all that a model wrote about an item: its thinking, and its answer."""
    return "\n".join(filter(None, (trace.thinking, trace.text)))


def normalize_words(text: str) -> str:
    """Return the words of a text in lower case, without marks, joined by spaces.

    Example:
        >>> normalize_words("Well, Tamsin  says “B”.")
        'well tamsin says b'
    """
    return " ".join(re.findall(r"\w+", text.casefold()))
