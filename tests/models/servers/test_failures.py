"""A server that fails: every item is answered once or told with its reason, and the key is written nowhere."""

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

REQUESTS = [
    Request(f"item {n}", f"Review {n:02d}: it was", (" positive", " negative")) for n in range(12)
]


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(client, "MAX_OWN_PAUSE", 0.002)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving() as fake:
        yield fake


def opened(fake, **options):
    return open_server(
        fake.url, **{"chat": "off", "retries": 3, "progress": False, "timeout": 5, **options}
    )


def trusted(fake, **options):
    """Open the server without the trial, which others try."""
    server = client.Client(fake.url, ServerOptions(**{"retries": 3, "timeout": 5, **options}))
    text = Endpoint(server, "toy", TEXT, works=True, top=12, echo=True)
    return ServerEngine(text)


def expected_rows(fake):
    return [
        [fake.model.likelihood(one.prompt, text) for text in one.continuations] for one in REQUESTS
    ]


def at(*numbers):
    """Return whether a request is about some of the items."""
    return lambda body: any(f"Review {n:02d}" in str(body) for n in numbers)


RATE_LIMIT = (429, {"Retry-After": "0.05"}, '{"error": {"message": "Slow down."}}')


@pytest.mark.parametrize(
    "fault",
    [
        (500, {}, "{}"),
        (503, {}, "<html>busy</html>"),
        RATE_LIMIT,
        (0, {}, ""),  # half an answer
        (200, {}, '{"choices": [{"te'),  # broken JSON
        (200, {}, '{"object": "error"}'),  # JSON of something else
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
def test_a_failure_that_passes_is_survived_and_every_item_is_answered_once(server, fault):
    engine = trusted(server)
    seen = set()

    def first_time(number, body):
        with server.lock:
            again = body["prompt"] in seen
            seen.add(body["prompt"])
        return None if again else fault

    server.faults = first_time
    told = engine.likelihoods(REQUESTS, progress=False)
    assert not told.failures
    np.testing.assert_allclose(np.array(list(told.values)), expected_rows(server), atol=1e-12)
    counts = {text: count for text, count in server.answered.items() if text.startswith("Review")}
    assert len(counts) == 24
    assert set(counts.values()) == {1}
    assert engine.client.usage.repeated == 24


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (
            (500, {}, '{"error": {"message": "CUDA out of memory"}}'),
            "the server answers 500: CUDA out of memory (4 attempts)",
        ),
        (
            (400, {}, '{"error": {"message": "too long"}}'),
            "the server refuses the request (400: too long)",
        ),
        ((200, {}, "{}"), "the server sent a reply without `choices`: {} (4 attempts)"),
        ((200, {}, '{"a'), "the server sent "),
        (RATE_LIMIT, "the server answers 429: Slow down (4 attempts)"),
        ((0, {}, ""), "the connection ended: IncompleteRead"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_an_item_that_fails_for_good_is_told_and_the_others_are_answered(server, fault, reason):
    engine = trusted(server, in_flight=4)
    wrong = at(3, 11)
    server.faults = lambda number, body: fault if wrong(body) else None
    told = engine.likelihoods(REQUESTS, progress=False)
    assert sorted(told.failures) == ["item 11", "item 3"]
    assert told.failures["item 3"].startswith(reason)
    rows = np.array(list(told.values))
    assert np.isnan(rows[[3, 11]]).all()
    keep = [n for n in range(12) if n not in (3, 11)]
    np.testing.assert_allclose(rows[keep], np.array(expected_rows(server))[keep], atol=1e-12)


def test_no_reply_in_time_is_told(server):
    engine = trusted(server, timeout=1, retries=0, in_flight=2)
    slow = at(5)

    def wait(number, body):
        if slow(body):
            time.sleep(1.5)

    server.faults = wait
    told = engine.next_words(REQUESTS[:8], progress=False)
    assert told.failures == {"item 5": "no reply within 1 s"}
    # A request that failed does not count as one with unlisted continuations.
    assert told.way == "the 12 likeliest next tokens of the server"


def test_a_server_that_ends_in_the_middle_keeps_what_was_answered(server, tmp_path):
    engine = trusted(server, in_flight=2)
    start = len(server.bodies)
    server.faults = lambda number, body: (503, {}, "gone") if number >= start + 3 else None
    with pytest.raises(
        ValueError,
        match=r"\(4 attempts\)",
    ):
        engine.next_words(REQUESTS, progress=False, out=tmp_path / "run")
    # Later, the rest alone is asked.
    server.faults = lambda number, body: None
    server.reset()
    told = engine.next_words(REQUESTS, progress=False, out=tmp_path / "run")
    assert not told.failures
    assert sum(server.answered.values()) == 9


KILLED = """
import sys
from rightreasons.models.protocol import Request
from rightreasons.models.servers.opening import open_server
engine = open_server(sys.argv[1], chat="off", in_flight=2, progress=False)
requests = [Request(f"i{n}", f"Review number {n}: a film.", (" A", " B")) for n in range(40)]
{"next_words": engine.next_words, "generate": engine.generate}[sys.argv[2]](requests, progress=False, out=sys.argv[3])
"""


@pytest.mark.parametrize("kind", ["next_words", "generate"])
def test_a_run_that_is_killed_repeats_what_was_in_flight_alone(server, tmp_path, kind):
    words = [sys.executable, "-c", KILLED, server.url, kind, str(tmp_path / "run")]
    asked, full = [], threading.Event()

    def wait(number, body):
        if "Review number" in body.get("prompt", ""):
            asked.append(number)
            if len(asked) > 20:  # twenty are answered, and their two threads are here
                if len(asked) == 22:
                    full.set()
                process.wait()

    server.faults = wait
    with subprocess.Popen(words) as process:
        assert full.wait(60)
        process.kill()
    server.faults = lambda number, body: None
    server.reset()
    subprocess.run(words, check=True)
    assert sum("Review number" in body.get("prompt", "") for body in server.bodies) == 40 - 20
    server.reset()
    subprocess.run(words, check=True)
    assert not any("Review number" in body.get("prompt", "") for body in server.bodies)


def test_a_server_that_is_gone_is_not_asked_again_and_again(server):
    engine = trusted(server)
    server.close()
    with pytest.raises(ValueError, match="answer everything"):
        engine.generate(REQUESTS, progress=False)
    with pytest.raises(
        ValueError,
        match="reached: .*refused",
    ):
        opened(server)


def test_a_pause_that_is_too_long_ends_the_run(server):
    engine = trusted(server)
    server.faults = lambda number, body: (
        429,
        {"Retry-After": "7200"},
        '{"error": {"message": "Daily limit"}}',
    )
    begin = time.monotonic()
    with pytest.raises(ValueError, match=r"\(429: Daily limit\)"):
        engine.next_words(REQUESTS, progress=False)
    assert time.monotonic() - begin < 5


def test_a_used_up_quota_ends_the_run(server):
    engine = trusted(server)
    body = json.dumps({"error": {"message": "No credit left", "code": "insufficient_quota"}})
    server.faults = lambda number, request: (429, {}, body)
    server.reset()
    with pytest.raises(ValueError, match=r"\(No credit left\)"):
        engine.next_words(REQUESTS, progress=False)
    assert len(server.bodies) <= 8


def test_the_key_is_sent_and_never_written(server, monkeypatch, tmp_path, capsys, caplog):
    caplog.set_level(logging.DEBUG)
    server.key = secret = "sk-very-secret-0123456789"
    with pytest.raises(ValueError, match="key, and OPENAI_API_KEY") as refused:
        opened(server)
    assert "asks for a key" in str(refused.value)
    monkeypatch.setenv("MY_KEY", "sk-wrong-key-42")
    with pytest.raises(ValueError, match="Incorrect API") as wrong:
        opened(server, key_variable="MY_KEY")
    assert "sk-wrong" not in str(wrong.value)

    monkeypatch.setenv("MY_KEY", secret)
    engine = opened(server, key_variable="MY_KEY", progress=True)
    # A server that tells the key in its replies and its errors.
    server.fingerprint = f"fp {secret}"
    wrong_item = at(2)
    told_key = json.dumps({"error": {"message": f"bad {secret}"}})
    server.faults = lambda number, body: (400, {}, told_key) if wrong_item(body) else None
    told = engine.next_words(REQUESTS, out=tmp_path / "run")
    assert told.failures == {"item 2": "the server refuses the request (400: bad …)"}
    output = capsys.readouterr()
    everything = [
        output.out,
        output.err,
        str(engine.describe()),
        engine.fingerprint,
        str(told),
        caplog.text,
    ]
    everything += [
        str({name: np.load(path)[name] for name in np.load(path).files})
        if path.suffix == ".npz"
        else path.read_text("utf-8")
        for path in tmp_path.rglob("*")
        if path.is_file()
    ]
    assert len(everything) > 6
    assert not any(secret in text for text in everything)
    assert not any(
        secret.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-ä"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_told(server, monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(OptionError, match="OPENAI_API_KEY for") as raised:
        opened(server)
    assert "sk-" not in str(raised.value)


def test_white_space_around_a_key_is_not_sent(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", " sk-a\n")
    server.key = "sk-a"
    assert opened(server).abilities


def test_a_key_that_is_refused_in_the_middle_is_told(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a")
    server.key = "sk-a"
    engine = opened(server)
    server.key = "sk-b"
    server.reset()
    with pytest.raises(ValueError, match="server refuses"):
        engine.next_words(REQUESTS, progress=False)
    assert len(server.bodies) <= 8


def test_a_key_that_may_not_ask_one_thing_is_used_for_the_rest(server):
    denied = (
        403,
        {},
        json.dumps(
            {"error": {"message": "You are not allowed to request logprobs from this model"}}
        ),
    )
    server.faults = lambda number, body: denied if "logprobs" in body else None
    engine = opened(server)
    assert engine.abilities == {"text"}
    assert engine.client.usage.repeated == 0
    assert not engine.generate(REQUESTS, progress=False, max_new_tokens=2).failures
    # One that may ask nothing is told as such.
    server.faults = lambda number, body: denied
    with pytest.raises(ValueError, match="asks for a key, and OPENAI_API_KEY holds none"):
        opened(server)


def test_each_line_of_a_journal_is_read_once_and_a_cut_one_takes_no_other_along(server, tmp_path):
    engine = trusted(server)
    engine.next_words(REQUESTS[:4], progress=False, out=tmp_path)
    file = tmp_path / "answers.jsonl"
    file.write_bytes(file.read_bytes()[:-9])
    again = trusted(server)
    server.reset()
    again.next_words(REQUESTS[:4], progress=False, out=tmp_path)
    assert sum(server.answered.values()) == 1
    (journal,) = again.client.journals.values()
    read = journal.end
    again.next_words(REQUESTS, progress=False, out=tmp_path)
    # Four requests had two lines each. The cut one has two new ones, after the end of its old line.
    written = file.read_bytes().splitlines(keepends=True)[8:10]
    assert journal.end - read == 1 + sum(map(len, written))
    third = trusted(server)
    server.reset()
    assert not third.next_words(REQUESTS, progress=False, out=tmp_path).failures
    assert not server.answered


def test_headers_are_sent_and_the_secret_of_one_is_never_told(server, monkeypatch):
    monkeypatch.setenv("TEAM_TOKEN", "very-secret-42")
    engine = opened(server, header=("X-Team: red", "api-key: $TEAM_TOKEN"))
    assert all(
        sent["x-team"] == "red" and sent["api-key"] == "very-secret-42" for sent in server.headers
    )
    server.faults = lambda number, body: (
        400,
        {},
        json.dumps({"error": {"message": "bad very-secret-42"}}),
    )
    told = engine.generate([Request("a", "Hello?")], progress=False)
    assert told.failures == {"a": "the server refuses the request (400: bad …)"}
    assert "very-secret-42" not in repr(engine.client.options)


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        ("X-Team", "Expected a name, a colon and a value in `header`, but got 'X-Team'."),
        ("X Team: red", "Expected a name, a colon and a value in `header`, but got 'X Team: red'."),
        ("X-Team: rød", "Expected a name, a colon and a value in `header`, but got 'X-Team: rød'."),
        (
            "api-key: 42",
            (
                "Expected 'api-key: $NAME' in `header`, an environment variable with the value, since reports show "
                "what is typed, but got the value itself."
            ),
        ),
        (
            "api-key: $NOWHERE",
            "Expected one line of ASCII in the environment variable NOWHERE for the header api-key, but there is none.",
        ),
    ],
)
def test_a_header_that_cannot_be_sent_or_would_be_written_is_refused(server, header, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        opened(server, header=(header,))


def test_a_proxy_of_the_environment_is_used_and_a_redirect_is_followed(server, monkeypatch):
    monkeypatch.setenv(
        "http_proxy", server.url.replace("http://", "http://me:secret@").removesuffix("/v1")
    )
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    away = client.Client("http://example.invalid/v1", ServerOptions(retries=0))
    answer = server.answer

    def proxied(path, body, headers):
        if path.startswith("/old/"):
            return 307, {"Location": "/v1/models"}, ""
        if path.startswith("http://example.invalid"):
            assert headers["Proxy-Authorization"] == "Basic bWU6c2VjcmV0"  # me:secret
        return answer(path.removeprefix("http://example.invalid"), body, headers)

    monkeypatch.setattr(server, "answer", proxied)
    assert away.list_models() == ["toy"]
    assert client.Client(server.url, ServerOptions(retries=0)).list_models() == ["toy"]
    assert client.Client(
        server.url.replace("/v1", "/old"), ServerOptions(retries=0)
    ).list_models() == ["toy"]


def test_a_redirect_to_another_host_is_refused_and_sends_nothing_there(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret")
    with serving() as other:
        other.asked = []
        received = other.answer

        def record(path, body, headers):
            other.asked.append(headers)
            return received(path, body, headers)

        other.answer = record
        server.answer = lambda path, body, headers: (307, {"Location": f"{other.url}/models"}, "")
        asking = client.Client(server.url, ServerOptions(retries=2, header=("api-key: $MY_KEY",)))
        with pytest.raises(RequestError, match="another host") as error:
            asking.list_models()
        assert error.value.ends
        assert other.asked == []


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
    engine = opened(server)
    assert engine.name == "Small-1B.gguf"
    assert engine.describe()["model"] == "/home/ann/models/Small-1B.gguf"
