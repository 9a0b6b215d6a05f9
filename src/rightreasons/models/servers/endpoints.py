"""The two paths of an OpenAI-compatible server, and how each is asked: chats, and texts that are continued."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from rightreasons.models.protocol import Ability, Message
from rightreasons.models.servers.client import Client
from rightreasons.models.servers.replies import (
    Completion,
    Continued,
    added,
    continuation,
    read_choices,
    read_prompt,
)

CHAT, TEXT = "/chat/completions", "/completions"


@dataclasses.dataclass
class Endpoint:
    """How one path of a server is asked.

    Attributes:
        client: The server.
        model: The model's name on it.
        path: The path, `CHAT` or `TEXT`.
        works: Whether it generates text.
        draws: Whether answers at a temperature above 0 differ.
        drawing: What it wants beside a temperature above 0 before it draws.
        refused: Parameters that it refuses.
        renamed: Parameters that it knows by another name.
        top: How many of the likeliest tokens it reports; 0 for none, or none that can be relied upon.
        echo: Whether its log-probabilities of given texts can be relied upon.
    """

    client: Client
    model: str
    path: str
    works: bool = False
    draws: bool = False
    drawing: dict[str, Any] = dataclasses.field(default_factory=dict)
    refused: set[str] = dataclasses.field(default_factory=set)
    renamed: dict[str, str] = dataclasses.field(default_factory=dict)
    top: int = 0
    echo: bool = False

    @property
    def abilities(self) -> frozenset[Ability]:
        """What this path can be asked."""
        able: dict[Ability, bool] = {"text": self.works, "next_words": self.top > 0, "likelihoods": self.echo}
        return frozenset(ability for ability, can in able.items() if can)

    def ask(self, prompt: str | Sequence[Message], **parameters: Any) -> list[Completion]:
        """Send a request in the words that this path knows, and return the choices of the reply.

        Raises:
            RequestError: If there is no answer.
        """
        return self.client.ask(self.path, self._body(prompt, parameters), read_choices)

    def next_tokens(self, prompt: str | Sequence[Message], top: int) -> Completion:
        """Ask for the likeliest next tokens.

        At temperature 1 the distribution is the model's own, also on a server that applies the temperature to it.
        """
        named = {"logprobs": True, "top_logprobs": top} if self.path == CHAT else {"logprobs": top}
        return self.ask(prompt, max_tokens=1, temperature=1.0, **named)[0]

    def continued(self, prompt: str | Sequence[Message], texts: Sequence[str]) -> list[Continued]:
        """Ask for the log-probabilities of the tokens of texts that follow a prompt.

        Raises:
            BadReplyError: If what is echoed does not hold a text.
            RequestError: If there is no answer.
        """
        if self.path == TEXT:
            asked = as_text(prompt)
            return [continuation(self._echo, asked, text) for text in texts]
        turns = _turns(prompt)
        begun = turns.pop()["content"] if turns[-1]["role"] == "assistant" else ""
        alone = self._prompt_of(_turns(prompt))
        answers = [{"role": "assistant", "content": begun + text} for text in texts]
        return [added(self._prompt_of([*turns, answer]), alone) for answer in answers]

    def _echo(self, text: str) -> Completion:
        # One new token, as some servers take 0 for no bound.
        return self.ask(text, max_tokens=1, temperature=0.0, logprobs=1, echo=True)[0]

    def _prompt_of(self, prompt: Sequence[Message]) -> Completion:
        body = self._body(prompt, {"max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0})
        return self.client.ask(self.path, body, read_prompt)

    def _body(self, prompt: str | Sequence[Message], parameters: dict[str, Any]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model}
        if self.path == TEXT:
            body["prompt"] = prompt if isinstance(prompt, str) else as_text(prompt)
        else:
            turns = (
                [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(turn) for turn in prompt]
            )
            body["messages"] = turns
            if turns[-1]["role"] == "assistant":
                body |= {"continue_final_message": True, "add_generation_prompt": False}
        known = {name: value for name, value in parameters.items() if name not in self.refused}
        drawing = self.drawing if known.get("temperature") else {}
        return {**body, **drawing, **{self.renamed.get(name, name): value for name, value in known.items()}}


def as_text(prompt: str | Sequence[Message]) -> str:
    """Return what is asked as text: a text unchanged, a conversation turn by turn.

    Example:
        >>> as_text([{"role": "user", "content": "Hello?"}])
        'user: Hello?'
    """
    return prompt if isinstance(prompt, str) else "\n".join(f"{turn['role']}: {turn['content']}" for turn in prompt)


def _turns(prompt: str | Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [dict(turn) for turn in prompt]
