"""A server that fails: every item is answered once or has its reason, and the key is written nowhere."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from fake_server import serving
from rightreasons.core.errors import OptionError
from rightreasons.models.protocol import Request
from rightreasons.models.servers import client
from rightreasons.models.servers.client import TEXT
from rightreasons.models.servers.endpoints import Endpoint
from rightreasons.models.servers.engine import ServerEngine
from rightreasons.models.servers.opening import open_server
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.redirects import ForeignRedirectError, check_redirect
from rightreasons.models.servers.refusals import RequestError
from rightreasons.models.servers.usage import Usage

REQUESTS = [
    Request(f"item {n}", f"Review {n:02d}: it was", (" positive", " negative")) for n in range(12)
]


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(client, "MAX_OWN_PAUSE", 0.002)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving() as fake_server:
        yield fake_server


def open_engine(server, **options):
    """Open the server after its trial."""
    defaults = {"chat": "off", "retries": 3, "progress": False, "timeout": 5}
    return open_server(server.url, **{**defaults, **options})


def make_engine(server, **options):
    """Return an engine of the server without a trial, which other tests try."""
    server_options = ServerOptions(**{"retries": 3, "timeout": 5, **options})
    endpoint = Endpoint(
        client.Client(server.url, server_options), "toy", TEXT, works=True, top=12, echo=True
    )
    return ServerEngine(endpoint)


def compute_expected(server):
    """Return the log-likelihoods of the model behind a server."""
    rows = []
    for request in REQUESTS:
        row = [server.model.likelihood(request.prompt, text) for text in request.continuations]
        rows.append(row)
    return np.array(rows)


def is_about(body, *numbers):
    """Return whether a request is about an item with one of these numbers."""
    return any(f"Review {n:02d}" in str(body) for n in numbers)


def make_error(message, **fields):
    """Return the reply of a server to a request that it refuses."""
    return json.dumps({"error": {"message": message, **fields}})


def ignore_faults(number, body):
    return None


RATE_LIMIT = (429, {"Retry-After": "0.05"}, make_error("Slow down."))


@pytest.mark.parametrize(
    "fault",
    [
        (500, {}, "{}"),
        (503, {}, "<html>busy</html>"),
        RATE_LIMIT,
        # Half an answer.
        (0, {}, ""),
        # Broken JSON, and JSON of something else.
        (200, {}, '{"choices": [{"te'),
        (200, {}, '{"object": "error"}'),
        (200, {}, '{"choices": []}'),
        (200, {}, '{"error": {"code": 502, "message": "Provider returned error"}}'),
        (200, {}, '{"choices": [{"text": "a", "finish_reason": "error"}]}'),
        (200, {}, '{"choices": [{"text": "a", "finish_reason": "abort"}]}'),
        (200, {"Content-Type": "text/html"}, "<html>welcome</html>"),
        (
            200,
            {},
            '{"choices": [{"text": "a", "logprobs": {"tokens": ["a"], "token_logprobs": []}}]}',
        ),
    ],
    ids=lambda fault: f"{fault[0]} {fault[2][:24]}",
)
def test_after_a_passing_failure_every_item_is_answered_once(server, fault):
    engine = make_engine(server)
    failed = set()

    def fail_once(number, body):
        """Fail at the first request with each prompt."""
        with server.lock:
            if body["prompt"] in failed:
                return None
            failed.add(body["prompt"])
        return fault

    server.faults = fail_once
    likelihoods = engine.likelihoods(REQUESTS, progress=False)

    assert not likelihoods.failures
    rows = np.array(list(likelihoods.values))
    np.testing.assert_allclose(rows, compute_expected(server), atol=1e-12)
    # An echo of each of two continuations.
    counts = {text: count for text, count in server.answered.items() if text.startswith("Review")}
    assert len(counts) == 24
    assert set(counts.values()) == {1}
    assert engine.client.usage.repeated == 24


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (
            (500, {}, make_error("CUDA out of memory")),
            "the server answers 500: CUDA out of memory (4 attempts)",
        ),
        ((400, {}, make_error("too long")), "the server refuses the request (400: too long)"),
        ((200, {}, "{}"), "the server sent a reply without `choices`: {} (4 attempts)"),
        ((200, {}, '{"a'), "the server sent "),
        (RATE_LIMIT, "the server answers 429: Slow down (4 attempts)"),
        ((0, {}, ""), "the connection ended: IncompleteRead"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_an_item_that_always_fails_has_a_reason_and_the_others_are_answered(server, fault, reason):
    engine = make_engine(server, in_flight=4)
    server.faults = lambda number, body: fault if is_about(body, 3, 11) else None

    likelihoods = engine.likelihoods(REQUESTS, progress=False)

    assert sorted(likelihoods.failures) == ["item 11", "item 3"]
    assert likelihoods.failures["item 3"].startswith(reason)
    rows = np.array(list(likelihoods.values))
    assert np.isnan(rows[[3, 11]]).all()
    answered = [n for n in range(12) if n not in (3, 11)]
    np.testing.assert_allclose(rows[answered], compute_expected(server)[answered], atol=1e-12)


def test_a_reply_that_takes_too_long_is_a_failure(server):
    engine = make_engine(server, timeout=1, retries=0, in_flight=2)

    def wait(number, body):
        if is_about(body, 5):
            time.sleep(1.5)

    server.faults = wait
    likelihoods = engine.next_words(REQUESTS[:8], progress=False)

    assert likelihoods.failures == {"item 5": "no reply within 1 s"}
    # A request that failed does not count as one with unlisted continuations.
    assert likelihoods.way == "the 12 likeliest next tokens of the server"


def test_a_server_that_fails_for_long_is_reported_while_its_requests_are_repeated(
    server, capsys, monkeypatch
):
    # Every request fails for 2.2 s, and the first notice comes after one second.
    monkeypatch.setattr("rightreasons.models.servers.pace.FIRST_NOTICE_SECONDS", 0.9)
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.3)
    monkeypatch.setattr(client, "MAX_OWN_PAUSE", 0.3)
    engine = make_engine(server, retries=50, in_flight=2)
    start = time.monotonic()

    def fail(number, body):
        if time.monotonic() - start < 2.2:
            return 500, {}, '{"error": {"message": "CUDA out of memory"}}'
        return None

    server.faults = fail
    likelihoods = engine.next_words(REQUESTS[:6], progress=True)

    assert not likelihoods.failures
    notices = re.findall("Waiting for .*", capsys.readouterr().err)
    assert re.fullmatch(
        r"Waiting for toy: no answer for \d s; the server answers 500: CUDA out of memory, and the "
        r"request is sent again\.",
        notices[0],
    )
    # The second notice comes after twice the time.
    assert len(notices) <= 2


def test_answers_before_the_end_of_a_server_are_stored(server, tmp_path):
    engine = make_engine(server, in_flight=2)
    n_requests = len(server.bodies)
    server.faults = lambda number, body: (503, {}, "gone") if number >= n_requests + 3 else None
    with pytest.raises(ValueError, match=r"\(4 attempts\)"):
        engine.next_words(REQUESTS, progress=False, out=tmp_path / "run")

    server.faults = ignore_faults
    server.reset()
    likelihoods = engine.next_words(REQUESTS, progress=False, out=tmp_path / "run")

    assert not likelihoods.failures
    # Three of twelve were answered before.
    assert sum(server.answered.values()) == 9


# A run of 40 requests, of which two are in flight.
PROGRAM = """
import sys
from rightreasons.models.protocol import Request
from rightreasons.models.servers.opening import open_server
engine = open_server(sys.argv[1], chat="off", in_flight=2, progress=False)
requests = [Request(f"i{n}", f"Review number {n}: a film.", (" A", " B")) for n in range(40)]
{"next_words": engine.next_words, "generate": engine.generate}[sys.argv[2]](requests, progress=False, out=sys.argv[3])
"""


@pytest.mark.parametrize("kind", ["next_words", "generate"])
def test_a_killed_run_only_repeats_the_requests_in_flight(server, tmp_path, kind):
    command = [sys.executable, "-c", PROGRAM, server.url, kind, str(tmp_path / "run")]
    numbers = []
    is_waiting = threading.Event()

    def is_of_run(body):
        return "Review number" in body.get("prompt", "")

    def hold_after_twenty(number, body):
        """Answer twenty requests, and hold the next two until the process is dead."""
        if not is_of_run(body):
            return
        numbers.append(number)
        if len(numbers) == 22:
            is_waiting.set()
        if len(numbers) > 20:
            process.wait()

    server.faults = hold_after_twenty
    with subprocess.Popen(command) as process:
        assert is_waiting.wait(60)
        process.kill()

    server.faults = ignore_faults
    server.reset()
    subprocess.run(command, check=True)
    assert sum(map(is_of_run, server.bodies)) == 40 - 20

    server.reset()
    subprocess.run(command, check=True)
    assert not any(map(is_of_run, server.bodies))


def test_a_closed_server_ends_the_run(server):
    engine = make_engine(server)
    server.close()

    with pytest.raises(ValueError, match="answer everything"):
        engine.generate(REQUESTS, progress=False)
    with pytest.raises(ValueError, match="reached: .*refused"):
        open_engine(server)


def test_a_pause_that_is_too_long_ends_the_run(server):
    engine = make_engine(server)
    fault = (429, {"Retry-After": "7200"}, make_error("Daily limit"))
    server.faults = lambda number, body: fault

    start = time.monotonic()
    with pytest.raises(ValueError, match=r"\(429: Daily limit\)"):
        engine.next_words(REQUESTS, progress=False)
    assert time.monotonic() - start < 5


def test_an_exhausted_quota_ends_the_run(server):
    engine = make_engine(server)
    fault = (429, {}, make_error("No credit left", code="insufficient_quota"))
    server.faults = lambda number, body: fault
    server.reset()

    with pytest.raises(ValueError, match=r"\(No credit left\)"):
        engine.next_words(REQUESTS, progress=False)
    assert len(server.bodies) <= 8


def read_texts(folder):
    """Return the content of all files in a folder; arrays as they are printed."""
    texts = []
    for path in folder.rglob("*"):
        if path.suffix == ".npz":
            arrays = np.load(path)
            texts.append(str({name: arrays[name] for name in arrays.files}))
        elif path.is_file():
            texts.append(path.read_text("utf-8"))
    return texts


def test_the_key_is_sent_and_never_written(server, monkeypatch, tmp_path, capsys, caplog):
    caplog.set_level(logging.DEBUG)
    secret = "sk-very-secret-0123456789"
    server.key = secret
    with pytest.raises(ValueError, match="key, and OPENAI_API_KEY") as error:
        open_engine(server)
    assert "requires a key" in str(error.value)

    monkeypatch.setenv("MY_KEY", "sk-wrong-key-42")
    with pytest.raises(ValueError, match="Incorrect API") as error:
        open_engine(server, key_variable="MY_KEY")
    assert "sk-wrong" not in str(error.value)

    monkeypatch.setenv("MY_KEY", secret)
    engine = open_engine(server, key_variable="MY_KEY", progress=True)
    # A server that repeats the key in its replies and its errors.
    server.fingerprint = f"fp {secret}"
    fault = (400, {}, make_error(f"bad {secret}"))
    server.faults = lambda number, body: fault if is_about(body, 2) else None
    likelihoods = engine.next_words(REQUESTS, out=tmp_path / "run")
    assert likelihoods.failures == {"item 2": "the server refuses the request (400: bad …)"}

    output = capsys.readouterr()
    texts = [output.out, output.err, str(engine.describe()), engine.fingerprint, str(likelihoods)]
    texts += [caplog.text, *read_texts(tmp_path)]
    assert len(texts) > 6
    assert not any(secret in text for text in texts)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(secret.encode() in path.read_bytes() for path in files)


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-ä"])
def test_the_error_of_an_invalid_key_does_not_repeat_it(server, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)

    with pytest.raises(OptionError, match="OPENAI_API_KEY for") as error:
        open_engine(server)

    assert "sk-" not in str(error.value)


def test_white_space_around_a_key_is_not_sent(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", " sk-a\n")
    server.key = "sk-a"

    assert open_engine(server).abilities


def test_a_key_that_is_refused_during_a_run_ends_it(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a")
    server.key = "sk-a"
    engine = open_engine(server)
    server.key = "sk-b"
    server.reset()

    with pytest.raises(ValueError, match="server refuses"):
        engine.next_words(REQUESTS, progress=False)
    assert len(server.bodies) <= 8


def test_a_key_without_permission_for_one_ability_is_used_for_the_others(server):
    message = "You are not allowed to request logprobs from this model"
    denial = (403, {}, make_error(message))
    server.faults = lambda number, body: denial if "logprobs" in body else None
    engine = open_engine(server)
    assert engine.abilities == {"text"}
    assert engine.client.usage.repeated == 0
    assert not engine.generate(REQUESTS, progress=False, max_new_tokens=2).failures

    # A key without any permission is refused.
    server.faults = lambda number, body: denial
    with pytest.raises(ValueError, match="OPENAI_API_KEY is empty"):
        open_engine(server)


def test_each_line_of_a_journal_is_read_once_and_a_truncated_one_loses_no_other(server, tmp_path):
    make_engine(server).next_words(REQUESTS[:4], progress=False, out=tmp_path)
    file = tmp_path / "answers.jsonl"
    file.write_bytes(file.read_bytes()[:-9])

    engine = make_engine(server)
    server.reset()
    engine.next_words(REQUESTS[:4], progress=False, out=tmp_path)
    assert sum(server.answered.values()) == 1

    (journal,) = engine.client.journals.values()
    n_read = journal.end
    engine.next_words(REQUESTS, progress=False, out=tmp_path)
    # Four requests had two lines each. The truncated one has two new ones, after the end of its
    # old line.
    new_lines = file.read_bytes().splitlines(keepends=True)[8:10]
    assert journal.end - n_read == 1 + sum(map(len, new_lines))

    later_engine = make_engine(server)
    server.reset()
    assert not later_engine.next_words(REQUESTS, progress=False, out=tmp_path).failures
    assert not server.answered


def test_headers_are_sent_and_the_secret_of_one_is_never_shown(server, monkeypatch):
    monkeypatch.setenv("TEAM_TOKEN", "very-secret-42")
    engine = open_engine(server, header=("X-Team: red", "api-key: $TEAM_TOKEN"))
    pairs = [(headers["x-team"], headers["api-key"]) for headers in server.headers]
    assert set(pairs) == {("red", "very-secret-42")}

    fault = (400, {}, make_error("bad very-secret-42"))
    server.faults = lambda number, body: fault
    answers = engine.generate([Request("a", "Hello?")], progress=False)
    assert answers.failures == {"a": "the server refuses the request (400: bad …)"}
    assert "very-secret-42" not in repr(engine.client.options)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("X-Team", "Expected a name, a colon and a value in `header`, but got 'X-Team'."),
        ("X Team: red", "Expected a name, a colon and a value in `header`, but got 'X Team: red'."),
        ("X-Team: rød", "Expected a name, a colon and a value in `header`, but got 'X-Team: rød'."),
        (
            "api-key: 42",
            (
                "Expected 'api-key: $NAME' in `header`, an environment variable with the value, "
                "since reports show what is typed, but got the value itself."
            ),
        ),
        (
            "api-key: $NOWHERE",
            (
                "Expected one line of ASCII in the environment variable NOWHERE for the header "
                "api-key, but there is none."
            ),
        ),
    ],
)
def test_a_header_that_cannot_be_sent_or_would_be_stored_is_refused(server, header, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        open_engine(server, header=(header,))


def test_a_proxy_of_the_environment_is_used_and_a_redirect_is_followed(server, monkeypatch):
    proxy = server.url.replace("http://", "http://me:secret@").removesuffix("/v1")
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    answer = server.answer

    def answer_as_proxy(path, body, headers):
        if path.startswith("/old/"):
            return 307, {"Location": "/v1/models"}, ""
        if path.startswith("http://example.invalid"):
            # "me:secret" in Base64.
            assert headers["Proxy-Authorization"] == "Basic bWU6c2VjcmV0"
        return answer(path.removeprefix("http://example.invalid"), body, headers)

    monkeypatch.setattr(server, "answer", answer_as_proxy)

    def list_models(url):
        return client.Client(url, ServerOptions(retries=0)).list_models()

    assert list_models("http://example.invalid/v1") == ["toy"]
    assert list_models(server.url) == ["toy"]
    assert list_models(server.url.replace("/v1", "/old")) == ["toy"]


def test_a_redirect_to_another_host_is_refused_and_sends_nothing_there(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    received = []
    with serving() as foreign:
        answer = foreign.answer

        def record(path, body, headers):
            received.append(headers)
            return answer(path, body, headers)

        foreign.answer = record
        location = f"{foreign.url}/models"
        server.answer = lambda path, body, headers: (307, {"Location": location}, "")
        options = ServerOptions(retries=2, header=("api-key: $MY_KEY",))

        with pytest.raises(RequestError, match="another host") as error:
            client.Client(server.url, options).list_models()

        assert error.value.ends
        assert received == []


@pytest.mark.parametrize(
    ("url", "location", "is_refused"),
    [
        ("http://a.test/v1", "/v2", False),
        ("http://a.test/v1", "http://a.test:80/v2", False),
        ("http://a.test:8000/v1", "http://a.test:8000/v2", False),
        ("http://a.test:8000/v1", "http://a.test:9000/v2", True),
        ("http://a.test/v1", "https://a.test/v1", False),
        ("https://a.test/v1", "http://a.test/v1", True),
        ("https://a.test/v1", "//b.test/v1", True),
        ("https://a.test/v1", "https://a.test.b/v1", True),
    ],
)
def test_redirects_stay_on_their_host(url, location, is_refused):
    if is_refused:
        with pytest.raises(ForeignRedirectError, match="another host"):
            check_redirect(url, location)
    else:
        check_redirect(url, location)


def test_a_deployment_of_azure_is_asked_with_the_version_of_its_api(server):
    paths = []
    answer = server.answer

    def answer_deployment(path, body, headers):
        paths.append(path)
        path = path.replace("/openai/deployments/small", "/v1").partition("?")[0]
        return answer(path, body, headers)

    server.answer = answer_deployment
    server.lacks = {"models"}
    url = server.url.replace("/v1", "/openai/deployments/small")
    engine = open_server(f"{url}/?api-version=2024-10-21", progress=False)

    assert engine.name == "small"
    assert engine.describe()["server"] == url
    assert all(path.endswith("/completions?api-version=2024-10-21") for path in paths)
    # Another query may be a secret, which reports would show.
    with pytest.raises(ValueError, match="bare address"):
        open_server(f"{url}?api-version=2024-10-21&key=secret", progress=False)


def test_a_model_is_called_by_the_last_part_of_its_path(server):
    server.names = ["/home/ann/models/Small-1B.gguf"]

    engine = open_engine(server)

    assert engine.name == "Small-1B.gguf"
    assert engine.describe()["model"] == "/home/ann/models/Small-1B.gguf"


def test_other_requests_wait_as_long_as_the_server_asks(server, monkeypatch):
    engine = make_engine(server)
    pauses = []
    monkeypatch.setattr(engine.client._stop, "wait", pauses.append)

    engine.client._explain_refusal(429, "{}", {"retry-after": "50"})
    # A later refusal with a shorter pause does not end the longer one.
    engine.client._explain_refusal(429, "{}", {"retry-after": "1"})
    engine.next_words(REQUESTS[:1], progress=False)

    assert 30 < max(pauses) <= 50


def test_the_pace_is_that_of_the_replies(server):
    engine = make_engine(server, in_flight=1)
    begin = time.monotonic()
    engine.next_words(REQUESTS[:2], progress=False)
    elapsed = time.monotonic() - begin

    # Two requests take as long as the two so far, which took no longer than the call.
    seconds = engine.client.pace.estimate_seconds(Usage(requests=2), in_flight=1)
    assert 0 < seconds <= elapsed
