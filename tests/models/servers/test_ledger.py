"""The cost of requests is known to the token, also after interrupted runs."""

from __future__ import annotations

import contextlib
import hashlib
import json

import pytest

from fake_server import serving
from rightreasons.core.errors import OptionError
from rightreasons.models.protocol import Request
from rightreasons.models.servers.client import TEXT, Client
from rightreasons.models.servers.endpoints import Endpoint
from rightreasons.models.servers.engine import ServerEngine
from rightreasons.models.servers.ledger import Account, Journal
from rightreasons.models.servers.opening import open_server
from rightreasons.models.servers.options import ServerOptions
from rightreasons.models.servers.usage import Usage

# Each prompt has seven tokens of the server: "Review", " number", " ", a digit, ":", " it", " was".
REQUESTS = [Request(f"item {n}", f"Review number {n}: it was", (" A", " B")) for n in range(10)]
N_PROMPT_TOKENS = 7


@pytest.fixture
def server():
    with serving() as fake_server:
        yield fake_server


def open_untried(server, **options):
    """Open the server without a trial."""
    options = {"retries": 0, "timeout": 5, "in_flight": 1, **options}
    client = Client(server.url, ServerOptions(**options))
    return ServerEngine(Endpoint(client, "toy", TEXT, works=True, top=12, echo=True))


def count_billed_tokens(server):
    """Return the prompt tokens of all requests that the server answered."""
    return N_PROMPT_TOKENS * sum("prompt" in body for body in server.bodies)


def read_journal(folder):
    journal = Journal(folder / "answers.jsonl")
    journal.read()
    return journal


def test_usage_has_the_cost_of_the_report_of_the_folder_and_of_this_run(server, tmp_path):
    engine = open_untried(server, prompt_price=1000.0)
    engine.next_words(REQUESTS, progress=False, out=tmp_path)
    usages = engine.describe(tmp_path)["usage"]

    repeated = open_untried(server, prompt_price=1000.0)
    repeated.next_words(REQUESTS[:4], progress=False, out=tmp_path)
    repeated_usages = repeated.describe(tmp_path)["usage"]

    for usage in usages.values():
        assert usage["requests"] == 10
        assert usage["prompt_tokens"] == 70
        assert usage["answer_tokens"] == 10
        # 1,000 per million tokens.
        assert usage["price"] == pytest.approx(0.07)
    assert repeated_usages["folder"] == usages["folder"]
    # Four answers were used, and none of them was paid by this run.
    assert repeated_usages["report"]["requests"] == 4
    assert repeated_usages["report"]["price"] == pytest.approx(0.028)
    assert repeated_usages["run"]["requests"] == 0
    assert repeated_usages["run"]["price"] == 0.0


def test_an_answer_of_another_folder_is_a_cost_of_the_report_but_not_of_the_folder(
    server, tmp_path
):
    engine = open_untried(server)
    engine.next_words(REQUESTS[:3], progress=False, out=tmp_path / "one")
    engine.next_words(REQUESTS[:4], progress=False, out=tmp_path / "two")

    usage = engine.describe(tmp_path / "two")["usage"]

    assert usage["report"]["requests"] == 4
    assert usage["folder"]["requests"] == 1
    assert usage["run"]["requests"] == 4


@pytest.mark.parametrize("share", [0.0, 0.13, 0.37, 0.5, 0.71, 0.99])
def test_a_journal_of_a_killed_run_never_counts_less_than_the_server_billed(
    server, tmp_path, share
):
    # A killed run leaves a beginning of the file: with one request in flight, the server has billed
    # at most the requests whose first line is there.
    engine = open_untried(server)
    engine.next_words(REQUESTS, progress=False, out=tmp_path)
    file = tmp_path / "answers.jsonl"
    content = file.read_bytes()[: int(share * file.stat().st_size)]
    n_sent = content.count(b'"sent"')
    file.write_bytes(content)

    journal = read_journal(tmp_path)
    usage = journal.compute_spent(engine.client.url)

    # A last line without its end does not count.
    assert n_sent - 1 <= usage.requests + usage.unanswered <= n_sent
    assert usage.requests == len(journal.answers)
    assert usage.prompt_tokens >= N_PROMPT_TOKENS * usage.requests


def test_no_loop_of_interrupted_runs_spends_more_than_the_limit(server, tmp_path):
    limit = 0.04
    for start in range(10):
        engine = open_untried(server, prompt_price=1000.0, max_price=limit)
        # Each run is interrupted after two requests, of which the second has no line.
        with contextlib.suppress(ValueError):
            engine.next_words(REQUESTS[start : start + 2], progress=False, out=tmp_path)
        file = tmp_path / "answers.jsonl"
        lines = file.read_bytes().splitlines(keepends=True)
        if b'"answered"' in lines[-1]:
            file.write_bytes(b"".join(lines[:-1]))

    # Five requests cost 0.035, and a sixth would cost more than the limit.
    assert 0.02 < 1000 * count_billed_tokens(server) / 1e6 <= limit


def test_a_finished_run_needs_no_further_request_whatever_the_limit(server, tmp_path, monkeypatch):
    monkeypatch.setenv("RIGHTREASONS_CACHE_DIR", str(tmp_path / "cache"))
    options = {"chat": "off", "progress": False, "prompt_price": 1.0, "out": tmp_path}
    open_server(server.url, **options).next_words(REQUESTS, progress=False, out=tmp_path)
    server.reset()

    limited = open_server(server.url, max_price=1e-9, **options)
    limited.next_words(REQUESTS, progress=False, out=tmp_path)

    assert [body["path"] for body in server.bodies] == ["/v1/models"]
    assert limited.describe(tmp_path)["usage"]["report"]["requests"] == 10
    with pytest.raises(ValueError, match="max_price=1e-09 is reached"):
        limited.next_words([Request("new", "Is it?", (" A",))], progress=False, out=tmp_path)


def test_the_trial_is_a_cost_of_the_folder(server, tmp_path):
    engine = open_server(server.url, chat="off", progress=False, out=tmp_path)
    n_trial = engine.client.usage.requests
    assert n_trial > 10
    journal = read_journal(tmp_path)
    assert journal.compute_spent(engine.client.url) == engine.client.usage

    engine.next_words(REQUESTS, progress=False, out=tmp_path)
    usage = engine.describe(tmp_path)["usage"]
    assert usage["report"]["requests"] == 10
    assert usage["folder"]["requests"] == n_trial + 10


def test_a_request_without_a_reply_is_counted_at_its_highest_cost(server, tmp_path):
    server.faults = lambda number, body: (0, {}, "")
    engine = open_untried(server)

    failures = engine.next_words(REQUESTS[:2], progress=False, out=tmp_path).failures

    usage = engine.describe(tmp_path)["usage"]["folder"]
    assert len(failures) == 2
    assert usage["requests"] == 0
    assert usage["unanswered"] == 2
    assert usage["prompt_tokens"] >= 2 * N_PROMPT_TOKENS


def test_a_request_waits_for_the_actual_costs_of_those_in_flight():
    account = Account(ServerOptions(prompt_price=1e6, max_price=10.0))
    highest = Usage(prompt_tokens=6)

    assert account.reserve(highest) == ""
    # 6 are reserved: another 6 would exceed 10, but fit once the first has cost 3.
    assert account.find_reached_bound(highest)
    account.add(Usage(requests=1, prompt_tokens=3))
    account.release(highest)
    assert account.reserve(highest) == ""
    account.add(Usage(requests=1, prompt_tokens=6))
    account.release(highest)
    assert account.reserve(highest) == "max_price=10"


def write_earlier_format(folder):
    """Rewrite the answers of a folder as earlier versions stored them: a checksum, the key and the answer."""
    lines = []
    for key, answer in read_journal(folder).answers.items():
        content = json.dumps([key, answer.row]).encode()
        digest = hashlib.blake2b(content, digest_size=8).hexdigest().encode()
        lines.append(digest + content)
    (folder / "answers.jsonl").write_bytes(b"\n".join(lines))


def test_answers_of_earlier_versions_are_used_and_count_as_one_request_each(server, tmp_path):
    open_untried(server).next_words(REQUESTS, progress=False, out=tmp_path)
    write_earlier_format(tmp_path)
    server.reset()

    engine = open_untried(server)
    engine.next_words(REQUESTS, progress=False, out=tmp_path)

    assert not server.bodies
    usage = engine.describe(tmp_path)["usage"]["folder"]
    assert usage["requests"] == 10
    assert usage["unreported"] == 10
    assert usage["prompt_tokens"] == 0


def test_a_resumed_run_knows_how_many_tokens_the_server_bills(server, tmp_path):
    open_untried(server).next_words(REQUESTS[:5], progress=False, out=tmp_path)

    resumed = open_untried(server)
    estimate = resumed.cost(REQUESTS[5:], "next words", {}).prompt_tokens
    assert estimate != N_PROMPT_TOKENS * 5

    resumed.next_words(REQUESTS[:5], progress=False, out=tmp_path)
    assert resumed.cost(REQUESTS[5:], "next words", {}).prompt_tokens == N_PROMPT_TOKENS * 5


def test_an_error_at_a_bound_names_its_option(server, tmp_path):
    engine = open_untried(server, max_requests=2)

    with pytest.raises(OptionError, match="max_requests=2") as error:
        engine.next_words(REQUESTS, progress=False, out=tmp_path)

    assert "max_requests" in error.value.option
