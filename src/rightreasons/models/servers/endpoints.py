"""How one path of a server is asked, in the words that it knows: `Endpoint`.

The trial of a server finds which parameters a path refuses or calls by another name, and what it
can be asked. Each request is then written accordingly.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

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
    """Return the `response_format` of a JSON object {"answer": X}, with X one of some answers."""
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
    """Return the grammar, as llama.cpp writes it, of a text that is one of some answers."""
    texts = [json.dumps(answer, ensure_ascii=False) for answer in answers]
    return f"root ::= {' | '.join(texts)}"


CONSTRAINTS: Mapping[str, Callable[[Sequence[str]], Any]] = {
    "structured_outputs": lambda answers: {"choice": answers},
    "guided_choice": lambda answers: answers,
    "grammar": _make_grammar,
    "response_format": _make_schema,
}
"""Parameters that hold an answer to given ones: of vLLM today and earlier, of llama.cpp, and of
OpenAI, which writes JSON."""


def unwrap_answer(reply: Reply) -> Reply:
    """Return a reply with the answer in place of the JSON object that contains it, if there is one.

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
    """How one path of a server is asked.

    Attributes:
        client: The server.
        model: The model's name on it.
        path: The path, `CHAT` or `TEXT`.
        works: Whether it generates text.
        draws: Whether answers at a temperature above 0 differ.
        drawing: Fields that it needs besides a temperature above 0 before it draws.
        refused: Parameters that it refuses.
        renamed: Parameters that it knows by another name.
        top: Number of the likeliest tokens that it reports; 0 if there are none that can be relied
            upon.
        echo: Whether its log-probabilities of given texts can be relied upon.
        thinks: Whether it thinks before it answers.
        budget: Tokens that an answer needs, including those of its thinking.
        extra: Fields of each request, such as to think or not.
        tags: (open, close) of reasoning that is not usual.
        constraint: Name of the one of `CONSTRAINTS` that holds answers to given ones; "" for none.
        findings: What each part of its trial found.
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
        """What this path can be asked."""
        can_by_ability = {
            "text": self.works,
            "next_words": self.top,
            "likelihoods": self.echo,
            "constrained_text": self.constraint,
        }
        names = [ability for ability, can in can_by_ability.items() if can]
        return frozenset(cast("list[Ability]", names))

    def ask(self, prompt: Any, **parameters: Any) -> Completion:
        """Send a request, with the parameters as this path accepts them, and return the reply.

        Args:
            prompt: A text, or the turns of a conversation.
            **parameters: Parameters of the request, such as `max_tokens`, by their usual names.

        Raises:
            RequestError: If there is no answer.
        """
        body = self._make_body(prompt, parameters)
        try:
            return self.client.ask(self.path, body, lambda reply: read_completion(reply, self.tags))
        except RequestError as failure:
            # Some servers report the end of an answer, such as that of a filter, as an error.
            for words, finish in DIALECTS["ends"].items():
                if words in str(failure):
                    return Completion(Reply(finish=finish))
            raise

    def constrain(self, answers: Sequence[str]) -> dict[str, Any]:
        """Return the parameter that restricts an answer, such as {"guided_choice": ["A", "B"]}.

        {} if the server has no such parameter, or there are no texts.
        """
        # Servers refuse a list that names an answer twice.
        distinct = list(dict.fromkeys(answer.strip() for answer in answers))
        if not self.constraint or not distinct:
            return {}
        return {self.constraint: CONSTRAINTS[self.constraint](distinct)}

    def request_next_tokens(self, prompt: Any, top: int) -> Completion:
        """Ask for the likeliest next tokens."""
        reported: dict[str, Any] = {"logprobs": top}
        if self.is_chat:
            reported = {"logprobs": True, "top_logprobs": top}
        # At temperature 1 the distribution is the model's own, also on a server that applies the
        # temperature to it.
        return self.ask(prompt, max_tokens=1, temperature=1.0, **reported)

    def request_continuations(self, prompt: Any, texts: Sequence[str]) -> list[Completion]:
        """Ask for the log-probabilities of the tokens of texts that follow a prompt.

        The path of texts echoes the prompt with each text. The path of conversations reports the
        log-probabilities of a whole conversation, from which those without the text are removed.

        Args:
            prompt: A text, or the turns of a conversation, of which the last may begin the answer.
            texts: The texts.

        Returns:
            The tokens of each text.

        Raises:
            BadReplyError: If what is echoed does not contain a text.
            RequestError: If there is no answer.
        """
        if not self.is_chat:
            # The first token of an echo has no log-probability, so that an empty prompt is replaced
            # by a line break.
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

        Fields of the trial, then those of the user, then the parameters of the request replace
        earlier ones of the same name. Parameters that the path refuses are left out.

        Args:
            prompt: A text, or the turns of a conversation.
            parameters: Parameters of the request by their usual names.
        """
        body: dict[str, Any] = {"model": self.model}
        if self.path == TEXT:
            body["prompt"] = prompt
        else:
            body["messages"] = [dict(turn) for turn in prompt]
            # The model continues a turn of the assistant, in place of a new one.
            if prompt[-1]["role"] == "assistant":
                body["continue_final_message"] = True
                body["add_generation_prompt"] = False
        body |= self.extra
        body |= self.client.extra
        # Some servers sample only with another field besides the temperature.
        if parameters.get("temperature") and "temperature" not in self.refused:
            body |= self.drawing
        for name, value in parameters.items():
            if name not in self.refused:
                body[self.renamed.get(name, name)] = value
        return body
