"""Options of servers. Commands read them before they import a client."""

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
    """Requests to an OpenAI-compatible server."""

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
        """Check the options before any request is sent.

        Raises:
            OptionError: If `extra_body` or a header is malformed, or `max_price` is given without
                any price.
        """
        # Raises an error if `extra_body` is malformed.
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
        """Return the headers of every request by name, and a list of those values that are secrets.

        The value of a header "NAME: $VARIABLE" is read from an environment variable, and is a
        secret.

        Raises:
            OptionError: If the environment variable is not set.
        """
        headers = {}
        secrets = []
        for header in self.header:
            name, value = re.split(r"\s*:\s*", header.strip(), maxsplit=1)
            # "$" marks an environment variable, whose value must not be shown.
            if value.startswith("$"):
                value = _get_variable(value[1:], f"the header {name}", "header")
                secrets.append(value)
            headers[name] = value
        return headers, secrets

    def get_key(self) -> str:
        """Return the key of the server from its environment variable; "" if there is none."""
        return _get_variable(self.key_variable, "the key", "key_variable", is_required=False)

    def get_extra_fields(self) -> dict[str, Any]:
        """Return the additional fields of every request, from `extra_body` and `reasoning_effort`.

        Raises:
            OptionError: If `extra_body` is not a JSON object, or sets a field of `OWN_FIELDS`.
        """
        fields = {}
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
        # Fields of `extra_body` take precedence.
        return {**fields, **body}


def _check_header(header: str) -> None:
    """Check that a header is "NAME: VALUE", and does not contain a secret.

    Raises:
        OptionError: If the header is malformed, or its name is that of a secret, like
            "Authorization", and its value is not an environment variable, "$VARIABLE".
    """
    if not _HEADER.fullmatch(header):
        raise OptionError(
            f"Expected a name, a colon and a value in `header`, but got {format_value(header)}.",
            option="header",
        )
    name, _, value = header.partition(":")
    # Reports show the command with all options.
    if _SECRET.search(name) and not value.strip().startswith("$"):
        raise OptionError(
            f"Expected '{name}: $NAME' in `header`, an environment variable with the value, since "
            "reports show what is typed, but got the value itself.",
            option="header",
        )


def _get_variable(variable: str, content: str, option: str, *, is_required: bool = True) -> str:
    """Return the value of an environment variable, without white space around it.

    Args:
        variable: Name of the variable.
        content: Description of its value, for errors, such as "the key".
        option: Option that names the variable, for errors.
        is_required: Whether the variable has to be set. If not, "" is returned for one that is not.

    Raises:
        OptionError: If the variable is required but not set, or its value is not one line of ASCII.
    """
    # A key that was read from a file often ends with a line break.
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
    """Return whether a model is the address of a server, or "inspect:PROVIDER/MODEL"."""
    if not isinstance(model, str) or not model.startswith(("http://", "https://", INSPECT)):
        return False
    # The address of a model's page on the hub is not a server.
    return not find_hub_id(model)
