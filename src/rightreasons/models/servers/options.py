"""Options of servers; read by commands before anything is imported that asks."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from rightreasons.core.errors import OptionError
from rightreasons.core.hub import find_hub_id
from rightreasons.core.options import Options, option
from rightreasons.core.sentences import format_value

INSPECT = "inspect:"
"""Beginning of a model of a provider of inspect_ai, such as inspect:anthropic/claude-sonnet-4-5."""

OWN_FIELDS = ("model", "messages", "prompt", "stream")
"""Fields of a request that only the client sets."""

_VALUE = re.compile(r"[ -~]*[!-~][ -~]*")
_HEADER = re.compile(rf"[A-Za-z0-9!#$%&'*+.^_`|~-]+:{_VALUE.pattern}")
_SECRET = re.compile(r"auth|key|token|secret|cookie|password", re.IGNORECASE)


class ServerOptions(Options):
    """How an OpenAI-compatible server is asked."""

    server_model: str | None = option(
        None, "Name of the model on the server; by default the only model that the server lists."
    )
    key_variable: str = option(
        "OPENAI_API_KEY",
        "Environment variable with the server's key; the key itself is never stored.",
    )
    in_flight: int = option(8, "Number of simultaneous requests.", minimum=1)
    timeout: int = option(
        120, "Seconds to wait for a reply before the request is repeated.", minimum=1
    )
    retries: int = option(
        5, "How often a failed request is repeated, with increasing pauses.", minimum=0
    )
    prompt_price: float | None = option(
        None, "Price of a million prompt tokens, to compute the cost of a run.", minimum=0.0
    )
    answer_price: float | None = option(None, "Price of a million generated tokens.", minimum=0.0)
    max_requests: int | None = option(
        None,
        "Maximum number of requests, including those of the trial; a later run resumes.",
        minimum=1,
    )
    max_price: float | None = option(
        None,
        "Maximum price of all requests; pending requests are completed.",
        minimum=0.0,
    )
    header: tuple[str, ...] = option(
        (),
        "Comma-separated headers of every request, such as 'X-Team: red'; a value '$NAME' is "
        "read from an environment variable and never stored.",
    )
    reasoning_effort: str | None = option(
        None, "How much a model thinks, in the terms of the server, such as low or high."
    )
    extra_body: str | None = option(
        None,
        "Further fields of every request, as JSON, such as "
        '{"chat_template_kwargs": {"enable_thinking": false}}.',
    )

    def _check(self) -> None:
        """Check the options before the first request is sent.

        Raises:
            OptionError: If `extra_body` or a header is malformed, or there are no prices for
                `max_price`.
        """
        # This raises an error if `extra_body` is malformed.
        self.get_extra_fields()
        for header in self.header:
            _check_header(header)
        # A limit on the price needs a price of prompts or of answers.
        has_price = self.prompt_price is not None or self.answer_price is not None
        if self.max_price is not None and not has_price:
            raise OptionError(
                "Expected `prompt_price` or `answer_price` for `max_price`, but there is none.",
                option=("prompt_price", "answer_price", "max_price"),
            )

    def get_headers(self) -> tuple[dict[str, str], list[str]]:
        """Return the headers of every request, and those of their values that are secrets.

        The value of "NAME: $VARIABLE" is that of an environment variable, which must not be shown.

        Raises:
            ValueError: If an environment variable is missing.
        """
        headers = {}
        secrets = []
        for header in self.header:
            name, value = re.split(r"\s*:\s*", header.strip(), maxsplit=1)
            # "$" marks an environment variable, and its value as a secret.
            if value.startswith("$"):
                value = _get_variable(value[1:], f"the header {name}", "header")
                secrets.append(value)
            headers[name] = value
        return headers, secrets

    def get_key(self) -> str:
        """Return the server's key; "" for none."""
        return _get_variable(self.key_variable, "the key", "key_variable", is_required=False)

    def get_extra_fields(self) -> dict[str, Any]:
        """Return the fields of every request in addition to those of the question.

        Raises:
            OptionError: If `extra_body` is no JSON object, or sets a field of `OWN_FIELDS`.
        """
        fields = {}
        # `extra_body` comes later, and may replace it.
        if self.reasoning_effort is not None:
            fields["reasoning_effort"] = self.reasoning_effort
        try:
            body = json.loads(self.extra_body or "{}")
        except ValueError:
            body = None
        if not isinstance(body, dict) or set(OWN_FIELDS) & body.keys():
            raise OptionError(
                "Expected a JSON object without model, messages, prompt and stream in `extra_body`, "
                f"but got {format_value(self.extra_body)}.",
                option="extra_body",
            )
        return {**fields, **body}


def _check_header(header: str) -> None:
    """Check that a header is "NAME: VALUE", and that its value is no secret.

    Raises:
        OptionError: If not. A secret has to be named by an environment variable, "NAME: $VARIABLE".
    """
    if not _HEADER.fullmatch(header):
        raise OptionError(
            f"Expected a name, a colon and a value in `header`, but got {format_value(header)}.",
            option="header",
        )
    name, _, value = header.partition(":")
    # Reports have the command as it was typed.
    if _SECRET.search(name) and not value.strip().startswith("$"):
        raise OptionError(
            f"Expected '{name}: $NAME' in `header`, an environment variable with the value, since "
            "reports show what is typed, but got the value itself.",
            option="header",
        )


def _get_variable(variable: str, content: str, option: str, *, is_required: bool = True) -> str:
    """Return the value of an environment variable, without the white space around it.

    Args:
        variable: Name of the variable.
        content: What it is for, in words.
        option: Option that names it, for errors.
        is_required: Whether it has to be set; if not, "" is returned without it.
    """
    # A key from a file often ends in a line break.
    value = os.environ.get(variable, "").strip()
    if not value and not is_required:
        return ""
    if not _VALUE.fullmatch(value):
        problem = "it holds something else" if value else "there is none"
        raise OptionError(
            f"Expected one line of ASCII in the environment variable {variable} for {content}, but "
            f"{problem}.",
            option=option,
        )
    return value


def is_address(model: object) -> bool:
    """Return whether a model is the address of a server, or one of a provider of inspect_ai."""
    if not isinstance(model, str) or not model.startswith(("http://", "https://", INSPECT)):
        return False
    # People copy the address of a model from the hub, which is a page and no server.
    return not find_hub_id(model)
