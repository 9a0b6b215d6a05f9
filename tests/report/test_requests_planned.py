"""A plan counts what a run then sends, request by request; bounds stop a run, which goes on later."""

from __future__ import annotations

import json
import re

import pytest

from command_line import run
from fake_server import body_text, serving
from rightreasons.cli import main
from rightreasons.models.servers.planning import N_SAMPLED_PROMPTS
from thinking_server import thinking
from tiny_suites import behavior_suite

pytestmark = pytest.mark.usefixtures("unrendered")


@pytest.fixture
def items(tmp_path):
    rows = [
        {
            "id": f"i{n}",
            "prompt": f"Which is it, {n}?",
            "choices": ["no " + "x" * (n % 3), "surely", "so"],
            "label": 1,
        }
        for n in range(12)
    ]
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def counts(err, name):
    """Return the requests of a line of a plan."""
    line = next(line for line in err.splitlines() if line.startswith(name))
    return int(line.removeprefix(name).split()[0].replace(",", ""))


@pytest.mark.parametrize("lacks", [set(), {"echo", "logprobs"}])
def test_a_plan_counts_what_a_run_sends(items, tmp_path, capsys, lacks):
    with serving() as fake:
        fake.lacks, fake.longest, fake.model.seed = lacks, 1, 8
        how = (
            "--questions",
            "probes,calibration",
            "--n-resamples",
            "20",
            "--prompt-price",
            "1",
            "--probes-ks",
            "1",
        )
        planned = run(
            capsys, "audit", fake.url, items, "--plan", "--out", tmp_path / "planned", *how
        )
        assert planned.code == 0, planned.err
        assert (
            not (tmp_path / "planned").exists()
            or not (tmp_path / "planned" / "audit.json").exists()
        )
        trial = len([body for body in fake.bodies if body["path"] != "/v1/models"])
        trial -= N_SAMPLED_PROMPTS
        told = json.loads(run(capsys, "audit", fake.url, items, "--plan", "--json", *how).out)[
            "result"
        ]
        fake.reset()
        done = run(capsys, "audit", fake.url, items, "--out", tmp_path / "report", *how)
        assert done.code == 0, done.err
        sent = len([body for body in fake.bodies if body["path"] != "/v1/models"]) - trial
    assert counts(planned.err, "together") == told["together"]["requests"] == sent
    usage = json.loads((tmp_path / "report" / "audit.json").read_text("utf-8"))
    report = usage["model"]["server"]["usage"]["report"]
    assert told["together"]["requests"] == report["requests"]
    assert told["together"]["prompt_tokens"] == pytest.approx(report["prompt_tokens"], rel=0.1)
    assert told["together"]["price"] == pytest.approx(told["together"]["prompt_tokens"] / 1e6)
    assert counts(planned.err, "the items") + counts(planned.err, "probes") == sent
    assert "Sent so far, for the trial and 3 prompts: " in planned.err


@pytest.mark.parametrize(
    ("command", "words", "expected"),
    [
        ("behavior", ("suite.jsonl",), 84),  # the examples of the suite
    ],
)
def test_every_command_that_asks_a_server_has_a_plan_of_what_it_sends(
    items, tmp_path, capsys, monkeypatch, command, words, expected
):
    texts = [
        {"id": str(n), "text": f"film{n} good", "label": ("negative", "positive")[n % 2]}
        for n in range(30)
    ]
    (tmp_path / "texts.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in texts), encoding="utf-8"
    )
    behavior_suite().write(tmp_path / "suite.jsonl")
    monkeypatch.chdir(tmp_path)
    with serving() as fake:
        fake.lacks, fake.longest = {"echo", "logprobs", "text"}, 1
        fake.change = lambda body, reply: reply["choices"][0]["message"].update(
            content=answer(body)
        )
        typed = [command, fake.url, *words]

        def answer(body):
            return "ANSWER: positive"

        def sent():
            return sum(body["path"] != "/v1/models" for body in fake.bodies)

        planned = run(capsys, *typed, "--plan")
        assert planned.code == 0, planned.err
        trial = sent() - N_SAMPLED_PROMPTS
        in_json = json.loads(run(capsys, *typed, "--plan", "--json").out)["result"]
        fake.reset()
        done = run(capsys, *typed)
        assert done.code == 0, done.err
        assert sent() - trial == expected
    told, name = (
        planned.out + planned.err,
        {"behavior": fake.url, "difficulty": "together"}.get(command, command),
    )
    assert counts(told, name) == in_json[name]["requests"] == expected
    assert "Sent so far, for the trial and 3 prompts: " in told


def test_a_bound_of_requests_stops_a_run_and_a_larger_one_goes_on(items, tmp_path, capsys):
    with thinking("vllm", thinks=False) as fake:
        how = (
            "--questions",
            "probes",
            "--out",
            tmp_path / "report",
            "--n-resamples",
            "20",
        )
        before = run(capsys, "audit", fake.url, items, "--plan", *how)
        trial = len([body for body in fake.bodies if body["path"] != "/v1/models"])
        trial -= N_SAMPLED_PROMPTS
        together = counts(before.err, "together")
        fake.reset()
        done = run(capsys, "audit", fake.url, items, "--max-requests", str(trial + 5), *how)
        assert (
            len([body for body in fake.bodies if "messages" in body or "prompt" in body])
            == trial + 5
        )
        assert done.code == 2
        sentence = " ".join(done.err.split())
        assert f"but --max-requests={trial + 5} is reached. Stored answers are kept" in sentence
        fake.reset()
        done = run(capsys, "audit", fake.url, items, *how)
        assert done.code == 0, done.err
        assert (
            len([body for body in fake.bodies if body["path"] != "/v1/models"]) - trial
            == together - 5
        )


def test_a_price_stops_a_run_also_where_the_server_counts_no_tokens(items, tmp_path, capsys):
    with thinking("vllm", thinks=False) as fake:
        fake.change = lambda body, reply: reply.pop("usage")
        how = ("--questions", "probes", "--prompt-price", "1000", "--in-flight", "1")
        done = run(
            capsys,
            "audit",
            fake.url,
            items,
            "--max-price",
            "0.7",
            "--out",
            tmp_path / "report",
            *how,
        )
        assert done.code == 2
        assert "--max-price=0.7 is reached" in " ".join(done.err.split())
        assert "did not report" in " ".join(done.err.split())
    with pytest.raises(SystemExit):
        main(["audit", "http://127.0.0.1:1/v1", str(items), "--max-price", "1"])
    assert "--answer-price for --max-price" in capsys.readouterr().err


def test_requests_of_a_question_that_fail_are_named(items, tmp_path, capsys):
    with serving() as fake:
        fake.lacks, fake.longest, fake.model.seed = {"echo", "logprobs"}, 1, 8

        def refuses(number, body):
            asked = str(body.get("messages", body.get("prompt")))
            bad = "surely" in asked and "Which is it" not in asked
            return (
                (400, {}, json.dumps({"error": {"message": "content policy violation"}}))
                if bad
                else None
            )

        fake.faults = refuses
        how = (
            "--questions",
            "probes",
            "--n-resamples",
            "20",
            "--probes-ks",
            "1",
            "--out",
            tmp_path / "report",
        )
        done = run(capsys, "audit", fake.url, items, *how)
        assert done.code == 0, done.err
    line = next(line for line in done.err.splitlines() if line.startswith("Failed: "))
    assert re.match("Failed: 12 requests, such as i\\d+/no_question", line)
    assert line.endswith("the server refuses the request (400: content policy violation)")
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "Failed requests" in page
    (failed,) = json.loads((tmp_path / "report" / "audit.json").read_text("utf-8"))["model"][
        "prompt"
    ]["failed"]
    assert failed["reason"] == "the server refuses the request (400: content policy violation)"
    assert (failed["n"], failed["first"].partition("/")[2]) == (
        12,
        line.partition("/")[2].partition(":")[0],
    )
    written = (
        (tmp_path / "report" / "predictions" / "replies.jsonl").read_text("utf-8").splitlines()
    )
    kept = {row["id"]: row["replies"] for row in map(json.loads, written)}
    assert kept["i0"][0]["text"] == " A"
    assert kept["i0"][0]["finish"] == "stop"
    assert kept["i0/no_question"] == []


def test_an_unread_answer_is_kept_whole_and_read_again_without_asking(items, tmp_path, capsys):
    def answers(body, reply):
        number = re.search(r"Which is it, (\d+)", body_text(body))
        said = (
            "ANSWER: B" if number is None or int(number[1]) % 4 else f"{'I weigh it. ' * 20}Mine=B"
        )
        reply["choices"][0]["message"]["content"] = said

    with serving() as fake:
        fake.lacks, fake.longest, fake.change = {"echo", "logprobs", "text"}, 1, answers
        how = (
            "--questions",
            "calibration",
            "--n-resamples",
            "20",
            "--form",
            "line",
            "--out",
            tmp_path / "report",
        )
        done = run(capsys, "audit", fake.url, items, *how)
        assert done.code == 0, done.err
        record = json.loads((tmp_path / "report" / "audit.json").read_text("utf-8"))
        assert record["model"]["batching"] is None  # a server batches by itself
        assert record["model"]["prompt"]["finish"] == {"stop": 12}
        assert sum(record["answers"]["lacks"].values()) == 3  # of i0, i4 and i8
        written = (
            (tmp_path / "report" / "predictions" / "replies.jsonl").read_text("utf-8").splitlines()
        )
        kept = {row["id"]: row["replies"] for row in map(json.loads, written)}
        assert kept["i4"][0]["text"] == f"{'I weigh it. ' * 20}Mine=B"
        assert len(kept["i4"][0]["text"]) > 80
        fake.reset()
        done = run(
            capsys, "audit", fake.url, items, "--pattern", r"(?i)(?:answer: |mine=)(\w)", *how
        )
        assert done.code == 0, done.err
        assert not [body for body in fake.bodies if "Which is it" in str(body)]
    record = json.loads((tmp_path / "report" / "audit.json").read_text("utf-8"))
    assert record["answers"]["lacks"] == {}


def read_costs(err):
    """Return the requests, prompt tokens and expected generated tokens that a run told before."""
    told = re.search(
        r"Total cost: ([\d,]+) requests, about ([\d,]+) prompt tokens and ([\d,]+) generated", err
    )
    return [int(number.replace(",", "")) for number in told.groups()]


@pytest.mark.parametrize("dialect", ["vllm", "openai", "gemini"])
def test_a_run_tells_its_cost_before_with_thinking_that_is_hidden(items, tmp_path, capsys, dialect):
    with thinking(dialect, tokens=90, form="ANSWER: {}") as fake:
        how = ("--questions", "probes", "--n-resamples", "20", "--out", tmp_path / "report")
        done = run(capsys, "audit", fake.url, items, *how)
        assert done.code == 0, done.err
        usage = json.loads((tmp_path / "report" / "audit.json").read_text("utf-8"))
        report = usage["model"]["server"]["usage"]["report"]
        fake.reset()
        repeated = run(capsys, "audit", fake.url, items, *how)
        assert repeated.code == 0, repeated.err
        asked = [body for body in fake.bodies if "Which is it" in str(body)]

    told = read_costs(done.err)
    # The server of this test bills 20 tokens for each prompt, whatever its length.
    assert told == pytest.approx(
        [report["requests"], report["prompt_tokens"], report["answer_tokens"]], rel=0.1
    )
    assert told[0] == report["requests"]
    # A finished report sends nothing, and says so by no cost.
    assert not asked
    assert "Total cost" not in repeated.err


def test_a_run_that_its_bound_will_stop_says_so_before(items, tmp_path, capsys):
    with thinking("vllm", thinks=False, form="ANSWER: {}") as fake:
        how = ("--questions", "probes", "--prompt-price", "1000", "--out", tmp_path / "report")
        # 20 tokens a prompt at 0.001 each: the trial takes some 0.3, and 84 requests take 1.68.
        done = run(capsys, "audit", fake.url, items, "--max-price", "1", *how)
        assert done.code == 2
        larger = run(capsys, "audit", fake.url, items, "--max-price", "9", *how)
        assert larger.code == 0, larger.err
        repeated = run(capsys, "audit", fake.url, items, "--in-flight", "3", *how)
    assert "This run will stop early, at max_price=1." in done.err
    assert "stop early" not in larger.err
    # Another bound makes no other report.
    assert "set aside" not in repeated.err


def test_a_line_break_ends_answers_if_it_is_written_as_an_escape(items, tmp_path, capsys):
    def sent_stops(fake):
        return {tuple(body["stop"]) for body in fake.bodies if "stop" in body}

    with thinking("vllm", thinks=False, form="ANSWER: {}") as fake:
        how = ("--questions", "probes", "--n-resamples", "20")
        first = run(
            capsys, "audit", fake.url, items, "--stop", r"\n,Q:", "--out", tmp_path / "first", *how
        )
        assert first.code == 0, first.err
        assert sent_stops(fake) == {("\n", "Q:")}
        fake.reset()
        # The options that the report stores make the same requests.
        again = run(capsys, "audit", tmp_path / "first" / "audit.yaml", "--out", tmp_path / "again")
        assert again.code == 0, again.err
        assert sent_stops(fake) == {("\n", "Q:")}
        refused = run(capsys, "audit", fake.url, items, "--stop", r"\q")
    assert refused.code == 2
    assert "--stop one of the escapes" in refused.err
