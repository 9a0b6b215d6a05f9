"""A hub that cannot be reached is left alone, until it can."""

import socket

import pytest
from huggingface_hub import constants

from rightreasons.core import hub

REFUSED = "http://127.0.0.1:9"  # the port of "discard", where nothing listens


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture(autouse=True)
def online(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", REFUSED)
    monkeypatch.setattr(hub, "_hub_status", {"until": 0.0, "offline": False})


def test_it_is_offline_while_it_is_not_reached(monkeypatch, listening):
    with pytest.warns(
        UserWarning,
        match=r"127.0.0.1:9 cannot be reached \(Connection refused\): what was downloaded",
    ):
        hub.use_hub_or_cache()
    assert constants.HF_HUB_OFFLINE
    monkeypatch.setattr(constants, "ENDPOINT", listening)
    hub.use_hub_or_cache()
    assert constants.HF_HUB_OFFLINE  # the answer of a moment ago
    hub._hub_status["until"] = 0.0
    hub.use_hub_or_cache()
    assert not constants.HF_HUB_OFFLINE


def test_who_is_offline_by_choice_stays_so(monkeypatch, listening):
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
