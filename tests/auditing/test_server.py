"""An audit of a model behind a server: one command, and a report that says what was asked and found."""

import json

import pytest

from command_line import run
from fake_server import serving

SECRET = "sk-secret-of-this-test"


@pytest.fixture
def reviews(tmp_path):
    rows = [
        f"Review {n} of a {word} day,{label}"
        for n in range(10)
        for word, label in (("fine", "positive"), ("sad", "negative"))
    ]
    path = tmp_path / "reviews.csv"
    path.write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    return path


def audited(capsys, fake, data, out, *flags):
    done = run(capsys, "audit", fake.url, data, "--questions", "calibration", "--out", out, *flags)
    return done, json.loads((out / "audit.json").read_text("utf-8")) if (out / "audit.json").is_file() else None


def test_one_command_audits_a_server(reviews, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SERVER_KEY", SECRET)
    with serving() as fake:
        fake.key = SECRET
        fake.lacks = {"echo"}
        flags = ["--key-variable", "SERVER_KEY", "--prompt-price", "2", "--in-flight", "4"]
        done, record = audited(capsys, fake, reviews, tmp_path / "report", *flags)
        assert done.code == 0, done.err
    server = record["model"]["server"]
    assert server["model"] == "toy"
    assert server["abilities"] == ["next_words", "text"]
    assert server["usage"]["requests"] > 20
    assert server["usage"]["price"] == pytest.approx(2 * server["usage"]["prompt_tokens"] / 1e6)
    assert record["model"]["prompt"]["scoring"] == "next_words"
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "<h3>The server</h3>" in page
    assert "No: texts: log-probabilities of given texts. Given texts are not echoed" in page
    written = [path.read_bytes() for path in (tmp_path / "report").rglob("*") if path.is_file()]
    assert not any(SECRET.encode() in content for content in [*written, (done.out + done.err).encode()])


def test_a_server_that_is_not_there_is_one_sentence(reviews, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("rightreasons.models.servers.client.FIRST_PAUSE", 0.001)
    with serving() as fake:
        fake.close()
        done, record = audited(capsys, fake, reviews, tmp_path / "report")
    assert done.code == 2
    assert "but the server cannot be reached: [Errno 111] Connection refused (2 attempts)." in " ".join(
        done.err.split()
    )
    assert record is None
