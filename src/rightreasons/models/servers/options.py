"""How a server is asked; read by commands before anything is imported that asks."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, option
from rightreasons.core.sentences import format_value

INSPECT = "inspect:"
"""What a model of a provider of inspect_ai begins with, such as inspect:anthropic/claude-sonnet-4-5."""

_VALUE = re.compile(r"[ -~]*[!-~][ -~]*")
_HEADER = re.compile(rf"[A-Za-z0-9!#$%&'*+.^_`|~-]+:{_VALUE.pattern}")
_SECRET = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)


class ServerOptions(Options):
    """How an OpenAI-compatible server is asked."""

    server_model: str | None = option(
        None, "Name of the model on the server; by default the only one that the server lists."
    )
    key_variable: str = option(
        "OPENAI_API_KEY",
        "Environment variable that holds the server's key; the key itself is written nowhere.",
    )
    in_flight: int = option(8, "Requests in flight at the same time.", minimum=1)
    timeout: int = option(
        120, "Seconds to wait for a reply before the request is repeated.", minimum=1
    )
    retries: int = option(
        5, "How often a request that fails is repeated, with growing pauses.", minimum=0
    )
    prompt_price: float | None = option(
        None, "Price of a million prompt tokens, for the count of what a run costs.", minimum=0.0
    )
    answer_price: float | None = option(None, "Price of a million generated tokens.", minimum=0.0)
    max_requests: int | None = option(
        None,
        "Requests after which no more are sent, those of the trial included; a later run goes on.",
        minimum=1,
    )
    max_price: float | None = option(
        None,
        "Price after which no more requests are sent; those in flight are waited for.",
        minimum=0.0,
    )
    header: tuple[str, ...] = option(
        (),
        "Comma-separated headers of every request, such as 'X-Team: red'; '$NAME' as the value is that of an "
        "environment variable, which is written nowhere.",
    )
    reasoning_effort: str | None = option(
        None, "How much a model thinks, in the server's words, such as low or high."
    )
    extra_body: str | None = option(
        None,
        'More of what every request holds, as JSON, such as {"chat_template_kwargs": {"enable_thinking": false}}.',
    )

    def _check(self) -> None:
        self.more()
        for header in self.header:
            name, _, value = header.partition(":")
            if not _HEADER.fullmatch(header):
                raise OptionError(
                    f"Expected a name, a colon and a value in `header`, but got {format_value(header)}.",
                    option="header",
                )
            if _SECRET.search(name) and not value.strip().startswith("$"):
                raise OptionError(
                    f"Expected '{name}: $NAME' in `header`, an environment variable with the value, since reports show "
                    "what is typed, but got the value itself.",
                    option="header",
                )
        if self.max_price is not None and self.prompt_price is None and self.answer_price is None:
            raise OptionError(
                "Expected `prompt_price` or `answer_price` where `max_price` is given, but there is none.",
                option=("prompt_price", "answer_price", "max_price"),
            )

    def headers(self) -> tuple[dict[str, str], list[str]]:
        """Return the headers of every request, and those of their values that are secrets.

        Raises:
            ValueError: If there is no environment variable of a name.
        """
        given = dict(re.split(r"\s*:\s*", header.strip(), maxsplit=1) for header in self.header)
        held = {name: value[1:] for name, value in given.items() if value.startswith("$")}
        secrets = {
            name: _held_in(variable, f"the header {name}", "header")
            for name, variable in held.items()
        }
        return {**given, **secrets}, [*secrets.values()]

    def key(self) -> str:
        """Return the server's key; "" for none."""
        return _held_in(self.key_variable, "the key", "key_variable", needed=False)

    def more(self) -> dict[str, Any]:
        """Return what every request holds beside what is asked."""
        effort = (
            {} if self.reasoning_effort is None else {"reasoning_effort": self.reasoning_effort}
        )
        try:
            body = json.loads(self.extra_body or "{}")
        except ValueError:
            body = None
        if not isinstance(body, dict) or {"model", "messages", "prompt", "stream"} & set(body):
            raise OptionError(
                "Expected a JSON object without model, messages, prompt and stream in `extra_body`, but got "
                f"{format_value(self.extra_body)}.",
                option="extra_body",
            )
        return {**effort, **body}


def _held_in(variable: str, what: str, option: str, *, needed: bool = True) -> str:
    """Return what an environment variable holds, without the white space around it; "" where there is none."""
    held = os.environ.get(variable, "").strip()
    if (held or needed) and not _VALUE.fullmatch(held):
        raise OptionError(
            f"Expected one line of ASCII in the environment variable {variable} for {what}, but "
            f"{'it holds something else' if held else 'there is none'}.",
            option=option,
        )
    return held


def is_address(model: object) -> bool:
    """Return whether a model is the address of a server, or one of a provider of inspect_ai."""
    return isinstance(model, str) and model.startswith(("http://", "https://", INSPECT))
