"""An audit of a model behind a server: one command, and a report that says what was asked and found."""

import json

import pytest

from command_line import run
from fake_server import serving

pytestmark = pytest.mark.usefixtures("unrendered")

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
    return done, json.loads((out / "audit.json").read_text("utf-8")) if (
        out / "audit.json"
    ).is_file() else None


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
    usage = server["usage"]
    # The trial is no part of the report, but of its folder.
    assert (usage["report"]["requests"], usage["folder"]) == (20, usage["run"])
    assert usage["run"]["requests"] > 30
    for counts in usage.values():
        assert counts["price"] == pytest.approx(2 * counts["prompt_tokens"] / 1e6)
    assert record["model"]["prompt"]["scoring"] == "next_words"
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "<h3>The server</h3>" in page
    assert "No: log-probabilities" in page
    written = [path.read_bytes() for path in (tmp_path / "report").rglob("*") if path.is_file()]
    assert not any(
        SECRET.encode() in content for content in [*written, (done.out + done.err).encode()]
    )


def test_a_server_that_is_not_there_is_one_sentence(reviews, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("rightreasons.models.servers.client.FIRST_PAUSE", 0.001)
    with serving() as fake:
        fake.close()
        done, record = audited(capsys, fake, reviews, tmp_path / "report")
    assert done.code == 2
    assert "(3 attempts)" in " ".join(done.err.split())
    assert record is None


@pytest.fixture
def files(tmp_path):
    """Texts with a training split, and questions with two choices."""
    words = [("fine", "warm", "positive"), ("sad", "cold", "negative")]
    rows = [
        {"id": f"{split}{n}{word}", "text": f"Review {n} of a {word} {other} day", "label": label}
        for split in ("train", "test")
        for n in range(11)
        for word, other, label in words
    ]
    (tmp_path / "texts").mkdir()
    for split in ("train", "test"):
        own = [json.dumps(row) for row in rows if row["id"].startswith(split)]
        (tmp_path / "texts" / f"{split}.jsonl").write_text("\n".join(own), "utf-8")
    things = [
        "to eat warm soup",
        "to sleep",
        "to cross a river",
        "to harvest",
        "to eat cold soup",
        "to be merry",
    ]
    items = [
        {"id": f"q{n}", "prompt": f"Why do {n} of it?", "choices": [things[n % 6], things[(n + 1 + n % 3) % 6]],
         "label": n % 2} for n in range(12)
    ]  # fmt: skip
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    return tmp_path


def test_shortcuts_without_gradients(files, capsys):
    with serving() as fake:
        fake.lacks = {"echo"}
        flags = ["--questions", "shortcuts", "--n-resamples", "30", "--out", files / "report"]
        done = run(capsys, "audit", fake.url, files / "texts", *flags)
        assert done.code == 0, done.err
    record = json.loads((files / "report" / "audit.json").read_text("utf-8"))
    shortcuts = record["questions"][0]["result"]["data"]
    assert shortcuts["swaps"]["n_items"] == 22
    assert "gradients" in shortcuts["withheld"]


def test_probes_of_generated_answers(files, capsys):
    with serving() as fake:
        fake.lacks = {"echo", "logprobs"}
        fake.longest, fake.model.seed = 1, 8  # it always answers " A"
        flags = [
            "--questions",
            "probes,calibration",
            "--n-resamples",
            "30",
            "--out",
            files / "report",
            "--probes-ks",
            "1",
        ]
        done = run(
            capsys,
            "audit",
            fake.url,
            files / "items.jsonl",
            "--calibration-elicit",
            "verbalized",
            *flags,
        )
        assert done.code == 0, done.err
    record = json.loads((files / "report" / "audit.json").read_text("utf-8"))
    found = next(
        each["result"]["data"] for each in record["questions"] if each["question"] == "probes"
    )
    assert set(found["reading"]) <= {"no_question", "wrong_question"}
    assert "kept_no_question" in found["decided"]
    page = (files / "report" / "index.html").read_text("utf-8")
    assert "Sources of confidence" in page
    # One generated answer has no confidence, and this server no next tokens to ask for.
    assert 'id="item-outcome"' in page
    assert 'data-key="confidence"' not in page
    assert "--scoring next_words" not in page


def test_no_command_of_a_report_asks_again_what_another_asked(files, capsys):
    report = files / "report"
    commands = [
        ("audit", "--questions", "calibration", "--out", report),
        ("ways", "--n-ways", "2", "--questions", "calibration", "--no-doubt", "--out", report),
    ]
    asked = []
    with serving() as fake:
        fake.lacks, fake.longest, fake.model.seed = {"echo", "logprobs"}, 1, 8
        for name, *flags in commands:
            fake.reset()
            done = run(capsys, name, fake.url, files / "items.jsonl", "--n-resamples", "30", *flags)
            assert done.code == 0, done.err
            asked.append([json.dumps(body) for body in fake.bodies if "Why do" in str(body)])
    told = [text for texts in asked for text in texts]
    assert all(asked)
    assert len(told) == len(set(told))
    assert len([*(report / ".work").rglob("answers.jsonl")]) == 1


def test_what_a_server_refuses_or_filters_is_no_incorrect_answer(files, monkeypatch, capsys):
    monkeypatch.setattr("rightreasons.models.servers.client.FIRST_PAUSE", 0.001)
    too_long = "This model's maximum context length is 512 tokens."
    filtered = "The prompt triggered Azure OpenAI's content management policy."

    def fail(number, body):
        for word, message in (("birds 3 ", too_long), ("birds 5 ", filtered)):
            if word in str(body.get("messages")):
                return 400, {}, json.dumps({"error": {"message": message}})
        return None

    def answer(body, reply):
        if "birds 9 " in str(body["messages"]):
            message = {"content": None, "refusal": "I cannot help with that."}
        else:
            message = {"content": "ANSWER: A"}
        reply["choices"][0] = {"message": message, "finish_reason": "stop"}

    rows = []
    for number in range(24):
        question = f"Why do the birds {number} sing?"
        rows.append(
            {
                "id": f"i{number}",
                "prompt": question,
                "choices": ["joy", "food"],
                "label": number % 2,
            }
        )
    data = files / "birds.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with serving() as fake:
        fake.lacks, fake.faults, fake.change = {"echo", "logprobs", "text"}, fail, answer
        done, record = audited(capsys, fake, data, files / "report")
        assert done.code == 0, done.err

    answers = record["answers"]
    # Three of 24 items have no answer, all with the label B: 12 of the others are correct.
    assert (answers["n_items"], answers["lacks"]) == (21, {})
    assert answers["low"] == answers["high"] == pytest.approx(12 / 21)
    assert sorted(answers["unserved"].values()) == [1, 1, 1]
    assert "Excluded: 3 further items" in (files / "report" / "index.html").read_text("utf-8")
