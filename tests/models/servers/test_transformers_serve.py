"""A server of another project: `transformers serve` with a tiny model, which reports no log-probabilities."""

from __future__ import annotations

import socket

import pytest
import transformers

from rightreasons.models.protocol import Request
from rightreasons.models.servers.opening import open_server
from tiny_causal import save_tiny_causal, tiny_causal_tokenizer

TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}Answer:"


def find_free_port():
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))
        return bound_socket.getsockname()[1]


@pytest.fixture(scope="module")
def served_model(tmp_path_factory):
    """The address of the server, and the name of its model."""
    serve = pytest.importorskip("transformers.cli.serve")
    folder = save_tiny_causal(tmp_path_factory.mktemp("model"))
    words = tiny_causal_tokenizer()
    words.chat_template = TEMPLATE
    words.save_pretrained(folder)
    port = find_free_port()
    level = transformers.logging.get_verbosity()
    # A thread of this process: another one would import everything again.
    server = serve.Serve(
        str(folder), host="127.0.0.1", port=port, device="cpu", log_level="error", non_blocking=True
    )
    try:
        yield f"http://127.0.0.1:{port}/v1", str(folder)
    finally:
        server.kill_server()
        transformers.logging.set_verbosity(level)


def test_transformers_serve_is_only_asked_for_generated_answers(served_model):
    url, model = served_model
    engine = open_server(url, server_model=model, progress=False)
    assert engine.abilities == {"text"}
    is_passed = {finding.part: finding.passed for finding in engine.endpoint.findings}
    assert is_passed["answers"]
    assert not is_passed["log-probabilities of given texts"]

    film = Request("a", ({"role": "user", "content": "a film"},))
    letters = Request("b", ({"role": "user", "content": "B. A."},))
    answers = engine.generate([film, letters], max_new_tokens=6, progress=False)
    assert not answers.failures
    assert [len(texts) for texts in answers.texts] == [1, 1]
    reversed_answers = engine.generate([letters, film], max_new_tokens=6, progress=False)
    assert reversed_answers.texts == answers.texts[::-1]

    with pytest.raises(ValueError, match="gives likelihoods"):
        engine.likelihoods([Request("a", film.prompt, (" A",))], progress=False)
