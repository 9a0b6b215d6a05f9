"""A hub that cannot be reached is left alone until it can."""

import socket

import pytest
from huggingface_hub import constants

from rightreasons.core import hub

REFUSED = "http://127.0.0.1:9"  # the port of "discard", where nothing listens


class Clock:
    """A clock that tests set."""

    def __init__(self):
        self.seconds = 1000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture(autouse=True)
def online(monkeypatch):
    """Start without proxies, online, and with a hub that refuses connections."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", REFUSED)
    monkeypatch.setattr(hub, "_status", hub._HubStatus())


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(hub.time, "monotonic", clock)
    return clock


def test_the_cache_is_used_until_the_hub_is_reached(monkeypatch, listening, clock):
    with pytest.warns(UserWarning, match=r"127.0.0.1:9 cannot be reached") as caught:
        hub.use_hub_or_cache()
    assert constants.HF_HUB_OFFLINE
    assert caught[0].filename == __file__

    # The result of a connection is remembered for a minute.
    monkeypatch.setattr(constants, "ENDPOINT", listening)
    clock.seconds += 59.5
    hub.use_hub_or_cache()
    assert constants.HF_HUB_OFFLINE

    clock.seconds += 1.0
    hub.use_hub_or_cache()
    assert not constants.HF_HUB_OFFLINE


def test_a_hub_that_was_reached_is_not_tried_again_within_a_minute(monkeypatch, listening, clock):
    monkeypatch.setattr(constants, "ENDPOINT", listening)
    hub.use_hub_or_cache()

    monkeypatch.setattr(constants, "ENDPOINT", REFUSED)
    clock.seconds += 59.5
    hub.use_hub_or_cache()

    assert not constants.HF_HUB_OFFLINE


def test_a_user_who_is_offline_stays_offline(monkeypatch, listening):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "ENDPOINT", listening)

    hub.use_hub_or_cache()

    assert constants.HF_HUB_OFFLINE


def test_behind_a_proxy_the_proxy_has_to_answer(monkeypatch, listening):
    monkeypatch.setattr(constants, "ENDPOINT", "http://hub.invalid")

    monkeypatch.setenv("http_proxy", listening)
    assert hub.explain_unreachable_hub() == ""
    monkeypatch.setenv("http_proxy", REFUSED)
    assert hub.explain_unreachable_hub() == "Connection refused"
    monkeypatch.delenv("http_proxy")
    monkeypatch.setenv("all_proxy", listening)
    assert hub.explain_unreachable_hub() == ""


def test_a_hub_that_needs_no_proxy_is_asked_itself(monkeypatch, listening):
    monkeypatch.setattr(constants, "ENDPOINT", listening)
    monkeypatch.setenv("http_proxy", REFUSED)
    monkeypatch.setenv("no_proxy", "127.0.0.1")

    assert hub.explain_unreachable_hub() == ""


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [
        ("https://hub.invalid", ("hub.invalid", 443)),
        ("http://hub.invalid", ("hub.invalid", 80)),
        ("https://hub.invalid:8443", ("hub.invalid", 8443)),
    ],
)
def test_the_port_is_that_of_the_address_or_of_its_scheme(monkeypatch, endpoint, address):
    calls = []

    def refuse(*arguments, **options):
        calls.append((*arguments, options))
        raise OSError("nobody")

    monkeypatch.setattr(hub.socket, "create_connection", refuse)
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)

    assert hub.explain_unreachable_hub() == "nobody"
    # Three seconds are enough for any network, and short enough for a person who waits.
    assert calls == [(address, {"timeout": 3.0})]
