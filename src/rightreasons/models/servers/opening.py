"""Opening of a server: `open_server` finds its model, and what it can do."""

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
from rightreasons.models.runs.elapsed import show_elapsed
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
    """Open a language model behind a server, and find by a trial what it can do.

    Args:
        url: Address of the API, such as http://127.0.0.1:8000/v1.
        options: Options of the server. Further keyword arguments are those of `ServerOptions`.
        chat: "on" to send conversations, "off" to send texts, "auto" (default) for conversations if
            the server accepts them.
        thinking: "on" or "off" to turn thinking on or off; a maximum number of tokens of thinking,
            such as "2048"; or "auto" (default) for the default of the server.
        progress: Whether to print the results of the trial, and the costs of runs, on stderr.
        out: Folder of answers. Earlier costs in it count towards `max_price`, and the costs of the
            trial are written to it. None if it is not known yet.

    Returns:
        The engine, whose abilities are those that passed the trial.

    Raises:
        ValueError: If the server cannot be reached, refuses the key, does not have the model, or
            does not generate text.
    """
    check_one_of(chat, SWITCHED, "chat")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise OptionError(
            "Expected one process for a server, which answers several requests at once: use "
            "`in_flight`.",
            option="in_flight",
        )
    client = _make_client(url, options)
    # The trial of a slow server takes minutes, in which nothing else is shown.
    message = f"Testing {client.url} with about thirty short requests"
    wait: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if progress:
        print(f"{message} …", file=sys.stderr)
        wait = show_elapsed(message)
    try:
        with wait:
            model = _choose_model(client)
            with _record_trial(client, out):
                endpoint = load_trial(client, model, thinking, chat)
    except RequestError as failure:
        if client.bound:
            raise OptionError(
                f"Expected a test of {client.url}, but {failure}. Stored answers are "
                "kept: repeat the command with a larger bound to resume.",
                option=("max_price", "max_requests"),
            ) from failure
        raise ValueError(
            f"Expected an answer from {client.url}, but {failure}.{_suggest_address(client)}"
        ) from failure
    # The findings of the trial help the user to correct the address or the model.
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
    """Return the client of a server, or of a provider ("inspect:anthropic/claude-sonnet-4-5")."""
    if not url.startswith(INSPECT):
        return Client(url, options)
    # Only providers of inspect_ai need this package.
    require_package("inspect_ai")
    from rightreasons.models.servers.providers import Provider

    return Provider(url, options)


@contextlib.contextmanager
def _record_trial(client: Client, out: str | os.PathLike[str] | None) -> Iterator[None]:
    """Write the cost of each request in the block to the file of answers of a folder.

    Args:
        client: The client that sends the requests.
        out: The folder. If None, nothing is written.
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
    """Return the name of the model to use on a server.

    It is the name in the options, or the one in an address of Azure, or the only model of the
    server.

    Raises:
        OptionError: If the server does not list its models, or does not list exactly one.
    """
    if client.options.server_model is not None:
        return client.options.server_model
    # An address of Azure contains the name of the deployed model.
    deployment = _DEPLOYMENT.search(client.url)
    if deployment:
        return deployment.group(1)
    try:
        names = client.list_models()
    except RequestError as failure:
        # If the server cannot be reached at all, the name of a model would not help.
        if failure.ends or failure.status is None:
            raise
        reason = f"does not list its models: {failure}.{_suggest_address(client)}"
        raise OptionError(
            f"Expected `server_model`, as {client.url} {reason}", option="server_model"
        ) from failure
    if len(names) != 1:
        # A gateway may have hundreds of models.
        examples = escape_name(", ".join(sorted(names)[:MAX_LISTED_MODELS]), 400) or "none"
        raise OptionError(
            f"Expected `server_model`, as {client.url} has {len(names)} models: {examples}.",
            option="server_model",
        )
    return names[0]


def _suggest_address(client: Client) -> str:
    """Return a hint that most addresses end in /v1; "" if the address of the server does."""
    if client.url.endswith("/v1") or client.url.startswith(INSPECT):
        return ""
    return " Most addresses end in /v1."
