"""Requests to one path of a server, with the parameters that it accepts: `Endpoint`.

The trial of a server finds which parameters a path refuses, which have another name there, and what
the path can do. Requests are written accordingly.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rightreasons.core.replies import Reply
from rightreasons.models.protocol import BRIEF, Ability, Message
from rightreasons.models.servers.client import CHAT, TEXT, Client
from rightreasons.models.servers.completions import (
    DIALECTS,
    Completion,
    read_completion,
    read_prompt,
    request_continuation,
    select_added_tokens,
)
from rightreasons.models.servers.refusals import RequestError


def _make_schema(answers: Sequence[str]) -> dict[str, Any]:
    """Return the `response_format` that allows only JSON like {"answer": "B"}.

    Args:
        answers: The allowed answers.
    """
    schema = {
        "type": "object",
        "required": ["answer"],
        "additionalProperties": False,
        "properties": {"answer": {"type": "string", "enum": list(answers)}},
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": schema},
    }


def _make_grammar(answers: Sequence[str]) -> str:
    """Return a grammar of llama.cpp that allows only the given answers."""
    texts = [json.dumps(answer, ensure_ascii=False) for answer in answers]
    return f"root ::= {' | '.join(texts)}"


CONSTRAINTS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "structured_outputs": lambda answers: {"choice": answers},
    "guided_choice": lambda answers: answers,
    "grammar": _make_grammar,
    "response_format": _make_schema,
}
"""Name of a parameter that restricts answers to given ones -> a function that makes its value.

The parameters are those of current and of earlier vLLM, of llama.cpp, and of OpenAI, where an
answer is JSON."""


def unwrap_answer(reply: Reply) -> Reply:
    """Replace the text of a reply like {"answer": "B"} by the answer in it.

    A reply that is not such a JSON object is returned unchanged.

    Example:
        >>> unwrap_answer(Reply('{"answer": "B"}')).text, unwrap_answer(Reply("B")).text
        ('B', 'B')
    """
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return dataclasses.replace(reply, text=str(json.loads(reply.text)["answer"]))
    return reply


class Finding(NamedTuple):
    """What one part of the trial of a server found.

    Attributes:
        part: What was tried.
        passed: Whether it may be relied upon.
        words: What was found, in one sentence.
    """

    part: str
    passed: bool
    words: str


@dataclasses.dataclass
class Endpoint:
    """One path of a server, with what its trial found out.

    Attributes:
        client: The server.
        model: Name of the model on the server.
        path: The path, `CHAT` or `TEXT`.
        works: Whether the path generates text.
        draws: Whether answers at a temperature above 0 differ.
        drawing: Additional fields that the server needs to sample at a temperature above 0.
        refused: Names of parameters that the server refuses.
        renamed: Usual name of a parameter -> its name on the server.
        top: Number of likeliest tokens that the server reports; 0 if they are not reliable.
        echo: Whether log-probabilities of given texts are reliable.
        thinks: Whether the model thinks before it answers.
        budget: Number of tokens that an answer needs, including those of thinking.
        extra: Additional fields of each request, such as the one that turns thinking off.
        tags: (opening, closing) tags of thinking, in addition to the usual ones.
        constraint: Key of `CONSTRAINTS` by which answers can be restricted. Empty if there is none.
        findings: The finding of each part of the trial.
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
    thinks: bool = False
    budget: int = BRIEF
    extra: dict[str, Any] = dataclasses.field(default_factory=dict)
    tags: tuple[tuple[str, str], ...] = ()
    constraint: str = ""
    findings: list[Finding] = dataclasses.field(default_factory=list)

    @property
    def is_chat(self) -> bool:
        """Whether it takes conversations."""
        return self.path == CHAT

    @property
    def abilities(self) -> frozenset[Ability]:
        """Abilities of the path that passed the trial."""
        passed_by_ability: dict[Ability, object] = {
            "text": self.works,
            "next_words": self.top,
            "likelihoods": self.echo,
            "constrained_text": self.constraint,
        }
        return frozenset(ability for ability, passed in passed_by_ability.items() if passed)

    def ask(self, prompt: Any, **parameters: Any) -> Completion:
        """Send a request, and return the reply.

        Parameters that the server refuses are left out, and others are renamed.

        Args:
            prompt: A text, or the turns of a conversation.
            **parameters: Parameters of the request by their usual names, such as `max_tokens`.

        Raises:
            RequestError: If there is no answer.
        """
        body = self._make_body(prompt, parameters)
        try:
            return self.client.ask(self.path, body, lambda reply: read_completion(reply, self.tags))
        except RequestError as failure:
            # Some servers report as an error that an answer ended, for example by a filter.
            for words, finish in DIALECTS["ends"].items():
                if words in str(failure):
                    return Completion(Reply(finish=finish))
            raise

    def constrain(self, answers: Sequence[str]) -> dict[str, Any]:
        """Return the parameter that restricts a reply to given answers.

        Args:
            answers: The allowed answers.

        Returns:
            A parameter such as {"guided_choice": ["A", "B"]}; empty if the server has none, or
            there are no answers.
        """
        # Servers refuse a list with a repeated answer.
        distinct = list(dict.fromkeys(answer.strip() for answer in answers))
        if not self.constraint or not distinct:
            return {}
        return {self.constraint: CONSTRAINTS[self.constraint](distinct)}

    def request_next_tokens(self, prompt: Any, top: int) -> Completion:
        """Request the likeliest next tokens after a prompt.

        Args:
            prompt: A text, or the turns of a conversation.
            top: Number of tokens.
        """
        reported: dict[str, Any] = {"logprobs": top}
        if self.is_chat:
            reported = {"logprobs": True, "top_logprobs": top}
        # Some servers apply the temperature to the reported probabilities, which 1 leaves
        # unchanged.
        return self.ask(prompt, max_tokens=1, temperature=1.0, **reported)

    def request_continuations(self, prompt: Any, texts: Sequence[str]) -> list[Completion]:
        """Request the log-probabilities of the tokens of texts after a prompt.

        The path for texts echoes the prompt with each text. The path for conversations reports the
        log-probabilities of a whole conversation, from which those of the prompt are removed.

        Args:
            prompt: A text; or the turns of a conversation, whose last one may be the beginning of
                the answer.
            texts: The texts.

        Returns:
            The tokens of each text.

        Raises:
            BadReplyError: If an echo does not contain its text.
            RequestError: If there is no answer.
        """
        if not self.is_chat:
            # A line break replaces an empty prompt, because the first token of an echo has no
            # log-probability.
            return [request_continuation(self._echo, prompt or "\n", text) for text in texts]
        turns = list(prompt)
        beginning = ""
        if turns[-1]["role"] == "assistant":
            beginning = turns.pop()["content"]
        prompt_echo = self._request_prompt(prompt)
        completions = []
        for text in texts:
            answer = {"role": "assistant", "content": beginning + text}
            echo = self._request_prompt([*turns, answer])
            completions.append(select_added_tokens(echo, prompt_echo))
        return completions

    def _echo(self, text: str) -> Completion:
        # One new token, as some servers take 0 for no bound.
        return self.ask(text, max_tokens=1, temperature=0.0, logprobs=1, echo=True)

    def _request_prompt(self, prompt: Sequence[Message]) -> Completion:
        """Ask for the log-probabilities of the tokens of a conversation."""
        parameters = {"max_tokens": 1, "temperature": 0.0, "prompt_logprobs": 0}
        return self.client.ask(self.path, self._make_body(prompt, parameters), read_prompt)

    def _make_body(self, prompt: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a request.

        If a field is given several times, the parameters of the request take precedence over fields
        of the user, and these over fields from the trial. Parameters that the server refuses are
        left out.

        Args:
            prompt: A text, or the turns of a conversation.
            parameters: Parameters of the request by their usual names.
        """
        body: dict[str, Any] = {"model": self.model}
        if self.path == TEXT:
            body["prompt"] = prompt
        else:
            body["messages"] = [dict(turn) for turn in prompt]
            # The model continues a last turn of the assistant, and does not begin a new one.
            if prompt[-1]["role"] == "assistant":
                body["continue_final_message"] = True
                body["add_generation_prompt"] = False
        body |= self.extra
        body |= self.client.extra
        # Some servers sample only with another field in addition to the temperature.
        if parameters.get("temperature") and "temperature" not in self.refused:
            body |= self.drawing
        for name, value in parameters.items():
            if name not in self.refused:
                body[self.renamed.get(name, name)] = value
        return body
