"""Opening of a server: `open_server` finds its model and tries what it can be asked."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator

from rightreasons.core.errors import OptionError
from rightreasons.core.extras import require_package
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.sentences import escape_name
from rightreasons.core.validation import check_one_of
from rightreasons.models.servers.client import Client
from rightreasons.models.servers.engine import ServerEngine
from rightreasons.models.servers.ledger import TRIAL
from rightreasons.models.servers.options import INSPECT, ServerOptions
from rightreasons.models.servers.refusals import RequestError
from rightreasons.models.servers.trial import load_trial
from rightreasons.models.servers.usage import Usage
from rightreasons.models.wording import SWITCHED

MAX_LISTED_MODELS = 10
"""Models of a server that an error lists."""

_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)$")


@accept_options_as_keywords(ServerOptions)
def open_server(
    url: str,
    *,
    options: ServerOptions,
    chat: str = "auto",
    thinking: str = "auto",
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> ServerEngine:
    """Open a server, and try what it can be asked.

    Args:
        url: Address of the API, such as http://127.0.0.1:8000/v1.
        options: Options of the server; other arguments are those of `ServerOptions`, its fields.
        chat: "on" asks conversations, "off" texts, "auto" conversations if the server takes them.
        thinking: "on" or "off" turns thinking on or off, in the way that the trial finds; a number
            is the largest number of its tokens; "auto" leaves it to the server.
        progress: Whether to say on standard error what was found, and what runs cost.
        out: Folder of answers. What was spent there counts for `max_price`, and the cost of the
            trial is written there. None if it is not known yet.

    Returns:
        The engine; its abilities are those that passed the trial.

    Raises:
        ValueError: If the server cannot be reached, refuses the key, has no such model, or
            generates nothing.
    """
    check_one_of(chat, SWITCHED, "chat")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise OptionError(
            "Expected one process for a server, which answers several requests at once: use "
            "`in_flight`.",
            option="in_flight",
        )
    client = _make_client(url, options)
    # The trial takes some seconds, in which nothing else is shown.
    if progress:
        print(f"Trying {client.url} by at most some thirty short requests …", file=sys.stderr)
    try:
        model = _choose_model(client)
        with _record_trial(client, out):
            endpoint = load_trial(client, model, thinking, chat)
    except RequestError as failure:
        if client.bound:
            raise OptionError(
                f"Expected {client.url} to be tried, but {failure}: what was answered is kept, and the "
                "same command with a larger bound goes on from there.",
                option=("max_price", "max_requests"),
            ) from failure
        raise ValueError(
            f"Expected an answer from {client.url}, but {failure}.{_suggest_address(client)}"
        ) from failure
    # What each part of the trial found shows which address or model is meant.
    if not endpoint.works:
        words = " ".join(finding.words for finding in endpoint.findings)
        raise ValueError(
            f"Expected {client.url} to generate text with the model {model!r}, but it does not: "
            f"{words}{_suggest_address(client)}"
        )
    engine = ServerEngine(endpoint, is_trial_recorded=out is not None)
    if progress:
        print(engine.describe_trial(), file=sys.stderr)
    return engine


def _make_client(url: str, options: ServerOptions) -> Client:
    """Return the client of a server, or of a provider of inspect_ai."""
    if not url.startswith(INSPECT):
        return Client(url, options)
    # Providers of inspect_ai need packages that other servers do not.
    require_package("inspect_ai")
    from rightreasons.models.servers.providers import Provider

    return Provider(url, options)


@contextlib.contextmanager
def _record_trial(client: Client, out: str | os.PathLike[str] | None) -> Iterator[None]:
    """Write the cost of each request in the block into the journal of a folder.

    Args:
        client: The server.
        out: The folder. None for no record.
    """
    if out is None:
        yield
        return
    with client.open_journal(out).open() as journal:

        def write_cost(kind: str, usage: Usage) -> None:
            journal.write(TRIAL, None, kind, client.url, usage)

        client.write_trial_cost = write_cost
        client.begin()
        try:
            yield
        finally:
            client.write_trial_cost = None


def _choose_model(client: Client) -> str:
    """Return the model to ask: the one of the options, that of the address, or the only one.

    Raises:
        OptionError: If the server does not say which models it has, or if it has none or several.
    """
    if client.options.server_model is not None:
        return client.options.server_model
    # Azure lists its models elsewhere, and the address names the one that is deployed.
    deployment = _DEPLOYMENT.search(client.url)
    if deployment:
        return deployment.group(1)
    try:
        names = client.list_models()
    except RequestError as failure:
        # A server that is gone is no question of its models.
        if failure.ends or failure.status is None:
            raise
        reason = f"does not list its models: {failure}.{_suggest_address(client)}"
        raise OptionError(
            f"Expected `server_model`, as {client.url} {reason}", option="server_model"
        ) from failure
    if len(names) != 1:
        # A gateway may list hundreds.
        examples = escape_name(", ".join(sorted(names)[:MAX_LISTED_MODELS]), 400) or "none"
        raise OptionError(
            f"Expected `server_model`, as {client.url} has {len(names)} models: {examples}.",
            option="server_model",
        )
    return names[0]


def _suggest_address(client: Client) -> str:
    """Return a hint at the usual end of an address; "" if it ends so."""
    if client.url.endswith("/v1") or client.url.startswith(INSPECT):
        return ""
    return " Most addresses end in /v1."
