"""A real server of others: `transformers serve` with a tiny model, which generates and reports no log-probabilities."""

from __future__ import annotations

import socket

import pytest
import transformers

from rightreasons.models.protocol import Request
from rightreasons.models.servers.opening import open_server
from tiny_causal import save_tiny_causal, tiny_causal_tokenizer

TEMPLATE = "{% for message in messages %}{{ message['content'] }} {% endfor %}Answer:"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    serve = pytest.importorskip("transformers.cli.serve")
    folder = save_tiny_causal(tmp_path_factory.mktemp("model"))
    words = tiny_causal_tokenizer()
    words.chat_template = TEMPLATE
    words.save_pretrained(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
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


def test_it_is_asked_for_generated_answers_alone(served):
    url, model = served
    engine = open_server(url, server_model=model, progress=False)
    assert engine.abilities == {"text"}
    parts = {one.part: one.passed for one in engine.endpoint.findings}
    assert parts["answers"]
    assert parts["answers"]
    assert not parts["log-probabilities of given texts"]
    requests = [
        Request(name, ({"role": "user", "content": text},))
        for name, text in (("a", "a film"), ("b", "B. A."))
    ]
    told = engine.generate(requests, max_new_tokens=6, progress=False)
    assert not told.failures
    assert [len(texts) for texts in told.texts] == [1, 1]
    again = engine.generate(requests[::-1], max_new_tokens=6, progress=False)
    assert again.texts == told.texts[::-1]
    with pytest.raises(
        ValueError,
        match="gives likelihoods",
    ):
        engine.likelihoods([Request("a", requests[0].prompt, (" A",))], progress=False)
