"""Errors of servers, redirects, and options of requests."""

from __future__ import annotations

import pytest

from rightreasons.core.errors import OptionError
from rightreasons.models.servers.options import ServerOptions, is_address
from rightreasons.models.servers.redirects import ForeignRedirectError, check_redirect
from rightreasons.models.servers.refusals import (
    RequestError,
    get_error_status,
    parse_error,
    parse_retry_after,
)


@pytest.mark.parametrize(
    ("status", "expected"),
    [(None, True), (500, True), (499, False), (401, True), (403, True), (429, True), (404, False)],
)
def test_some_errors_concern_the_server(status, expected):
    assert RequestError("no", status=status).is_of_server is expected


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ("busy", "busy", ""),
        (None, "", ""),
        ({"error": "busy"}, "busy", ""),
        ({"error": {"message": "busy", "code": "c"}}, "busy", "c"),
        # The inner code is more specific.
        ({"code": 1, "error": {"code": 2, "detail": "busy"}}, "busy", "2"),
        ({"code": 1, "error": {"detail": "busy"}}, "busy", "1"),
        ({"error": {"error": {"message": "busy"}}}, "busy", ""),
        # Without a message, the error itself is shown.
        ({"x": 1}, "{'x': 1}", ""),
        ([{"error": "busy"}], "busy", ""),
        ([{"error": "busy"}] * 2, "[{'error': 'busy'}, {'error': 'busy'}]", ""),
    ],
)
def test_the_message_of_an_error_may_be_nested(body, message, code):
    assert parse_error(body) == (message, code)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("text", 200),
        ({"choices": [], "error": "busy"}, 200),
        ({"data": [], "error": "busy"}, 200),
        ({"error": None}, 200),
        ({"error": "no such address"}, 404),
        ({"error": {"code": 400}}, 400),
        ({"error": {"code": 599}}, 599),
        ({"error": {"code": 399}}, 500),
        ({"error": {"code": 600}}, 500),
        ({"error": {"code": "400"}}, 500),
        ({"error": {"message": "busy"}}, 500),
    ],
)
def test_an_error_with_status_200_has_another_status(reply, status):
    assert get_error_status(reply) == status


@pytest.mark.parametrize(
    ("text", "seconds"), [("1.5", 1.5), ("-3", 0.0), ("soon", None), ("", None), (None, None)]
)
def test_a_server_asks_for_a_pause(text, seconds):
    headers = {} if text is None else {"retry-after": text}

    assert parse_retry_after(headers) == seconds


@pytest.mark.parametrize(
    "location",
    [
        "/v2",
        "v2",
        "http://a.test/v2",
        "http://a.test:80/v2",
        "https://a.test/v2",
        "https://a.test:8443/v2",
    ],
)
def test_redirects_on_the_same_host_are_followed(location):
    check_redirect("http://a.test/v1", location)


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("http://a.test/v1", "http://b.test/v1"),
        ("http://a.test/v1", "//b.test/v1"),
        ("http://a.test/v1", "http://a.test:81/v1"),
        # Encryption is kept.
        ("https://a.test/v1", "http://a.test/v1"),
        ("https://a.test/v1", "https://a.test:8443/v1"),
    ],
)
def test_redirects_to_another_host_or_port_are_refused(url, location):
    with pytest.raises(ForeignRedirectError, match="another host"):
        check_redirect(url, location)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("http://localhost:8000/v1", True),
        ("https://a.test", True),
        ("inspect:anthropic/x", True),
        ("org/model", False),
        ("https://huggingface.co/org/model", False),
        (None, False),
    ],
)
def test_an_address_is_not_a_page_of_the_hub(model, expected):
    assert is_address(model) is expected


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"in_flight": 0}, ("in_flight",)),
        ({"timeout": 0}, ("timeout",)),
        ({"retries": -1}, ("retries",)),
        ({"prompt_price": -0.5}, ("prompt_price",)),
        ({"answer_price": -0.5}, ("answer_price",)),
        ({"max_requests": 0}, ("max_requests",)),
        ({"max_price": -1.0, "answer_price": 1.0}, ("max_price",)),
        ({"max_price": 1.0}, ("prompt_price", "answer_price", "max_price")),
        ({"header": ("X-Team",)}, ("header",)),
        ({"header": ("X-Api-Key: 123",)}, ("header",)),
        ({"extra_body": "[1]"}, ("extra_body",)),
        ({"extra_body": "{"}, ("extra_body",)),
        ({"extra_body": '{"stream": true}'}, ("extra_body",)),
    ],
)
def test_options_of_servers_are_checked(options, names):
    with pytest.raises(OptionError) as error:
        ServerOptions(**options)
    assert error.value.option == names


def test_the_smallest_options_are_accepted():
    options = ServerOptions(
        in_flight=1,
        timeout=1,
        retries=0,
        prompt_price=0.0,
        answer_price=0.0,
        max_requests=1,
        max_price=0.0,
    )

    assert (options.retries, options.max_price) == (0, 0.0)
    defaults = ServerOptions()
    assert (defaults.in_flight, defaults.timeout, defaults.retries) == (8, 120, 5)
    # Either price is enough for a limit.
    assert ServerOptions(max_price=1.0, answer_price=1.0).max_price == 1.0


def test_headers_may_be_read_from_variables(monkeypatch):
    monkeypatch.setenv("TEAM_KEY", " secret\n")
    options = ServerOptions(header=("X-Team: red", "X-Api-Key: $TEAM_KEY"))

    headers, secrets = options.get_headers()

    assert headers == {"X-Team": "red", "X-Api-Key": "secret"}
    assert secrets == ["secret"]
    monkeypatch.delenv("TEAM_KEY")
    with pytest.raises(OptionError, match="TEAM_KEY"):
        options.get_headers()


def test_a_key_is_optional_but_one_line(monkeypatch):
    options = ServerOptions(key_variable="OUR_KEY")
    monkeypatch.delenv("OUR_KEY", raising=False)
    assert options.get_key() == ""
    monkeypatch.setenv("OUR_KEY", "abc ")
    assert options.get_key() == "abc"
    monkeypatch.setenv("OUR_KEY", "a\nb")
    with pytest.raises(OptionError) as error:
        options.get_key()
    assert error.value.option == ("key_variable",)


def test_extra_fields_precede_the_effort():
    options = ServerOptions(reasoning_effort="low", extra_body='{"x": 1}')

    assert options.get_extra_fields() == {"reasoning_effort": "low", "x": 1}
    body = '{"reasoning_effort": "high"}'
    assert ServerOptions(reasoning_effort="low", extra_body=body).get_extra_fields() == {
        "reasoning_effort": "high"
    }
    assert ServerOptions().get_extra_fields() == {}
