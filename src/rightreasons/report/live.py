"""A report with the model behind it: a reader edits a text, and sees the prediction change.

`serve` shows the page of a report on this machine only. Its address contains a token that other
programs do not know, and only the files that the report lists are sent. The model is loaded once,
and answers one request at a time.
"""

from __future__ import annotations

import functools
import hmac
import html
import json
import os
import secrets
import threading
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rightreasons.audited.predictions_file import Predictions, read_predictions
from rightreasons.core.errors import OptionError
from rightreasons.core.json_files import parse_json
from rightreasons.core.sentences import format_value
from rightreasons.core.validation import softmax
from rightreasons.models.scorers import as_named_scorer
from rightreasons.page.formats import short_name
from rightreasons.report.pairing import get_report_folder
from rightreasons.report.render import PAGE
from rightreasons.report.schema import AUDIT_FILE, list_class_names, read_audit

if TYPE_CHECKING:
    from rightreasons.models.protocol import Scorer

HOST = "127.0.0.1"
"""Address of this machine, which no other machine reaches."""

MAX_REQUEST_BYTES = 100_000
"""Size of the longest text that is accepted, with what is around it."""

POLICY = "default-src 'none';"
"""Beginning of the policy in a page, which forbids it to ask for anything."""

LIVE_POLICY = "default-src 'none'; connect-src 'self';"
"""Beginning of the policy of a page that may ask its own server."""

CONTENT_TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/json",
    ".png": "image/png",
    ".yaml": "text/plain; charset=utf-8",
}
"""Suffix of a file -> its type for browsers; others are downloaded."""


class LiveReport:
    """A report and the models that answer on its page.

    Args:
        report: Folder of a report on a classifier of texts.
        models: Models, as `as_scorer` accepts them; empty for the audited one, if the report has its
            path.

    Raises:
        FileNotFoundError: If there is no report.
        OptionError: If it is not about a classifier, its model is not known or unlike another one,
            or its page was made by an earlier version.

    Example:
        >>> live = LiveReport("report", [model])  # doctest: +SKIP
        >>> live.predict({"text": "a dull film"})  # doctest: +SKIP
        [{'name': 'bag-of-words', 'probabilities': [0.98, 0.02]}]
    """

    def __init__(self, report: str | os.PathLike[str], models: Sequence[Any] = ()) -> None:
        """Read a report, open its models, and prepare its page."""
        self.audit = read_audit(report)
        self.folder = get_report_folder(report)
        if self.audit["model"]["task"] != "classification":
            raise OptionError(
                f"Expected a report on a classifier of texts, but {self.folder} is about "
                f"{self.audit['model']['task'].replace('_', ' ')}.",
                option="report",
            )
        self.scorers = _open_models(models, self.audit, self.folder)
        # Requests are answered one after another, because few models allow concurrent calls.
        self.lock = threading.Lock()
        self._predictions: dict[str, Predictions] = {}
        # The live page is the stored one with another security policy, and with the models' names.
        page = (self.folder / PAGE).read_text("utf-8")
        if 'id="try"' not in page:
            raise OptionError(
                f"Expected a page of this version in {self.folder}, but the page is older. Repeat "
                "the audit.",
                option="report",
            )
        self.page = _add_settings(page, self._describe())

    def _describe(self) -> dict[str, Any]:
        """Return the settings of the page's script.

        Returns:
            `{"models": [{"name": ..., "labels": [...]}], "has_pairs": ...}`: the models in the
            order of their predictions, and whether a request has two texts.
        """
        models = []
        for scorer in self.scorers:
            labels = list(scorer.label_names or ())
            # If the audited model only numbers its classes, the names of the data are shown.
            if labels == self.audit["model"]["label_names"]:
                labels = list_class_names(self.audit)
            models.append({"name": short_name(scorer.name), "labels": labels})
        return {"models": models, "has_pairs": self.has_pairs}

    @functools.cached_property
    def has_pairs(self) -> bool:
        """Whether the items of the report are pairs of texts."""
        return has_pairs(self.audit, self.folder)

    def predict(self, request: Any) -> list[dict[str, Any]]:
        """Return the probabilities that each model predicts for a text.

        Args:
            request: `{"text": …}`; for reports on pairs of texts, also with `"text_pair"`.

        Returns:
            `{"name": …, "probabilities": […]}` for each model.

        Raises:
            ValueError: If the request has another form, or the text is empty.
        """
        with self.lock:
            return predict_request(self.scorers, request, is_pair=self.has_pairs)

    def find_item(self, request: Any) -> dict[str, str]:
        """Return the complete texts of an item, which the page may show in a shortened form.

        Args:
            request: `{"split": …, "id": …}`, the name of the split and the id of the item.

        Returns:
            `{"text": …}`; for pairs of texts, also with `"text_pair"`. Empty for an unknown item.
        """
        predictions = self._read_split(_get_text(request, "split"))
        item_id = _get_text(request, "id")
        if predictions is None or item_id not in predictions.ids:
            return {}
        row = predictions.ids.index(item_id)
        texts = {"text": predictions.texts[row]}
        if predictions.text_pairs is not None:
            texts["text_pair"] = predictions.text_pairs[row]
        return texts

    def _read_split(self, name: str) -> Predictions | None:
        """Return the predictions of a split, with the texts of its items; None if there are none."""
        for split in self.audit["dataset"]["splits"]:
            file = split["predictions"]
            if split["name"] != name or not file:
                continue
            # The file is kept in memory, because a reader opens many items of the same split.
            if file not in self._predictions:
                self._predictions[file] = read_predictions(self.folder / file)
            return self._predictions[file]
        return None

    def get_file(self, name: str) -> Path | None:
        """Return a file of the report; None if the report does not list it."""
        if name == AUDIT_FILE or name in self.audit["files"]:
            return self.folder / name
        return None


def predict_request(
    scorers: Sequence[Scorer], request: Any, *, is_pair: bool
) -> list[dict[str, Any]]:
    """Return the probabilities that models predict for the text of a request.

    Args:
        scorers: The models.
        request: `{"text": …}`; for pairs of texts, also with `"text_pair"`.
        is_pair: Whether items are pairs of texts.

    Returns:
        `{"name": …, "probabilities": […]}` for each model.

    Raises:
        ValueError: If the request has another form, or the text is empty.
    """
    text = _get_text(request, "text")
    pairs: list[str] | None = None
    if is_pair:
        pairs = [_get_text(request, "text_pair")]
    answers = []
    for scorer in scorers:
        scores = scorer.predict([text], text_pairs=pairs, progress=False)
        probabilities = softmax(np.asarray(scores.logits))[0].tolist()
        answers.append({"name": short_name(scorer.name), "probabilities": probabilities})
    return answers


def has_pairs(audit: Mapping[str, Any], folder: Path) -> bool:
    """Return whether the items of a report are pairs of texts.

    Args:
        audit: Content of audit.json.
        folder: Folder of the report.
    """
    for split in audit["dataset"]["splits"]:
        # All splits have the same columns, so that the first one with predictions is enough.
        if split["predictions"]:
            return read_predictions(folder / split["predictions"]).text_pairs is not None
    return False


def _get_text(request: Any, name: str) -> str:
    """Return a field of a request, or raise a ValueError unless it is a string that is not blank."""
    text = request.get(name) if isinstance(request, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"Expected a text in `{name}`, but got {format_value(text)}.")
    return text


def _open_models(models: Sequence[Any], audit: Mapping[str, Any], folder: Path) -> list[Scorer]:
    """Open models as scorers.

    Args:
        models: Models, as `as_scorer` accepts them; empty for the audited one.
        audit: Content of audit.json.
        folder: Folder of the report, for error messages.

    Raises:
        OptionError: If the audited model was an object in memory, or a model has no classes.
    """
    if not models:
        path = audit["model"]["path"]
        if path is None:
            raise OptionError(
                f"Expected a `model`, because the report of {folder} is about an object in "
                "memory. Pass the object with `rightreasons.serve(report, model)`.",
                option="model",
            )
        models = [path]
    # Models may have different classes: their predictions are shown side by side, not compared.
    scorers = [as_named_scorer(model, audit["model"]["label_names"]) for model in models]
    for scorer in scorers:
        if not scorer.label_names:
            raise OptionError(
                f"Expected a classifier, but {scorer.name} has no classes.", option="model"
            )
    return scorers


def _add_settings(page: str, settings: Mapping[str, Any]) -> str:
    """Return the HTML of a page whose script may query this server.

    Args:
        page: HTML of a stored page, whose security policy forbids all requests.
        settings: What the script reads from `<meta name="live">`: the models and the kind of items.
    """
    # Names of models and labels come from users, and could end the attribute.
    content = html.escape(json.dumps(settings), quote=True)
    meta = f'<meta name="live" content="{content}">'
    allowed = page.replace(POLICY, LIVE_POLICY, 1)
    return allowed.replace("<meta charset", f"{meta}\n<meta charset", 1)


# -------------------------------------------------------------------------------- the server


class LiveServer(ThreadingHTTPServer):
    """Server of one live report on this machine.

    Args:
        live: The report.
        port: Port; 0 for a free one.
        token: Secret part of the address; None for a new one.
    """

    daemon_threads = True

    def __init__(self, live: LiveReport, *, port: int = 0, token: str | None = None) -> None:
        self.live = live
        # A report does not depend on the token, which must not be guessed.
        self.token = token or secrets.token_urlsafe(16)
        super().__init__((HOST, port), _Handler)

    @property
    def address(self) -> str:
        """Address of the page."""
        return f"http://{HOST}:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of the page."""

    server: LiveServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send the page, or a file of the report."""
        name = self._find_name()
        if name is None:
            self._refuse(HTTPStatus.NOT_FOUND)
        elif name in ("", PAGE):
            self._send(self.server.live.page.encode(), CONTENT_TYPES[".html"])
        else:
            file = self.server.live.get_file(name)
            if file is None or not file.is_file():
                self._refuse(HTTPStatus.NOT_FOUND)
                return
            content_type = CONTENT_TYPES.get(file.suffix, "application/octet-stream")
            self._send(file.read_bytes(), content_type)

    def do_POST(self) -> None:
        """Send the predictions of a text, or the texts of an item, as JSON."""
        length = self.headers.get("Content-Length", "")
        name = self._find_name()
        if name not in ("predict", "item"):
            self._refuse(HTTPStatus.NOT_FOUND)
        elif not length.isdecimal() or int(length) > MAX_REQUEST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            body = self.rfile.read(int(length))
            try:
                request = parse_json(body.decode(), "the request")
                answer = self._answer(name, request)
            # An error of the model or in the request is shown on the page, which remains usable.
            except Exception as error:
                answer = {"error": str(error) or type(error).__name__}
            self._send(json.dumps(answer).encode(), CONTENT_TYPES[".json"])

    def _answer(self, name: str, request: Any) -> dict[str, Any]:
        """Return what a request of the page asks for."""
        live = self.server.live
        if name == "item":
            return live.find_item(request)
        return {"models": live.predict(request)}

    def _find_name(self) -> str | None:
        """Return the requested name, such as "predict" or "audit.json"; "" for the page.

        Returns:
            The path of the address after the token; None if the request may not be answered,
            because its host or its token is another one.
        """
        # Another site can make a browser send requests here, but not with this host and token. It
        # gets no answer, not even whether the name exists.
        host = self.headers.get("Host", "")
        port = self.server.server_port
        if host not in (f"{HOST}:{port}", f"localhost:{port}"):
            return None
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        token, _, name = path.removeprefix("/").partition("/")
        # A plain comparison would reveal by its time how much of a guessed token is correct.
        if not hmac.compare_digest(token.encode(), self.server.token.encode()):
            return None
        return name

    def _refuse(self, status: HTTPStatus) -> None:
        # The rest of the request is not read, so that the connection has to be closed.
        self.close_connection = True
        self._send(status.phrase.encode(), "text/plain; charset=utf-8", status)

    def _send(self, content: bytes, content_type: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        """Send a response, with headers that keep it and its address out of caches and logs.

        Args:
            content: Body of the response.
            content_type: Media type of the body, such as "text/html; charset=utf-8".
            status: Status code.
        """
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        # The address contains a secret token, so that it is neither stored nor sent to other sites.
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *message: Any) -> None:
        """Print nothing: requests contain the token."""


def serve(
    report: str | os.PathLike[str],
    *models: Any,
    port: int = 0,
    tell: Callable[[str], object] = print,
) -> None:
    """Show a report with live predictions in a browser, until it is interrupted.

    Args:
        report: Folder of a report on a classifier of texts.
        *models: Models, as `as_scorer` accepts them, whose predictions are shown side by side. By
            default, the audited model, if the report has its folder or hub id.
        port: Port on this machine; 0 selects a free port.
        tell: Called with the address of the page.

    Raises:
        FileNotFoundError: If there is no report.
        OptionError: As `LiveReport`, or if the port is taken.

    Example:
        >>> rightreasons.serve("report", pipeline)  # doctest: +SKIP
        Live report: http://127.0.0.1:40129/gZ4…/ (Ctrl-C ends it)
    """
    live = LiveReport(report, models)
    try:
        server = LiveServer(live, port=port)
    except OSError as error:
        raise OptionError(
            f"Expected a free port of this machine, but got {port}: {error.strerror}.",
            option="port",
        ) from None
    with server:
        tell(f"Live report: {server.address} (Ctrl-C ends it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            tell("Stopped.")
