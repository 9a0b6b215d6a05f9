"""Tasks with all arms for lm-evaluation-harness and inspect_ai, run by these, and their logs read back."""

import json
from pathlib import Path

import pytest

from command_line import run
from harness_logs import ask_inspect, ask_lm_eval, task_in
from reasons.scripted import Script, ScriptedJudge, items
from rightreasons.io.arrow_tables import only_part
from rightreasons.io.reading import as_table
from rightreasons.models.replies.repair import SecondReader
from rightreasons.models.wording import Prompt
from rightreasons.reasons.measure import measure_reasons
from rightreasons.reasons.options import ReasonsOptions
from rightreasons.reasons.prompts import ArmPrompts
from rightreasons.reasons.rows import read_traces
from rightreasons.reasons.trace import HINT, OWN, PLAIN

ROOT = Path(__file__).parents[2]
SCRIPT = Script(sway=0.7, churn=0.1)


@pytest.fixture
def questions(tmp_path):
    rows = [{"id": one.id, **one.fields, "label": one.label} for one in items(60)]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def inspect_scripted():
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages, tools, tool_choice, config):
        turns = [{"role": message.role, "content": message.text} for message in messages]
        made = ModelOutput.from_content(
            "mockllm/model", SCRIPT.reply(turns, turns[-1]["content"]).text
        )
        made.usage = ModelUsage()  # without it, tokens are counted by a table from elsewhere
        return made

    return get_model("mockllm/model", custom_outputs=answer)


def silent(log):
    rows = only_part(as_table(log), log)
    m = measure_reasons(read_traces(rows, judge=SecondReader(ScriptedJudge())))
    assert len(m.asked.arm(PLAIN).traces) == 60
    # Too few answers at the hint to show that hardly any of them mentions it.
    assert m.lead.sway.n_moved < 43
    assert m.lead.evidence.acknowledged.value == 0.0
    assert m.lead.evidence.weigh(0.05) == "unclear"
    # a hint at random may name the plain answer where that is wrong: then it is the arm own
    n_own = sum(trace.arm == OWN for trace in m.asked.traces)
    assert 0 < n_own == 60 - m.lead.sway.n_items < 30
    assert m.lead.sway.sway.value == pytest.approx(0.7 * 0.975, abs=0.15)
    assert m.lead.sway.n_unread == (0, 0)


def test_a_task_of_inspect_has_all_arms(questions, tmp_path, capsys):
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    flags = ("--reasons", "--hints", "colleague", "--to", "inspect", "--out", tmp_path / "task")
    done = run(capsys, "data", "export", questions, *flags)
    assert done.code == 0, done.err
    assert "180 requests about 60 items" in done.out
    log = ask_inspect(inspect_scripted(), task_in(tmp_path / "task"), tmp_path)
    silent(log)
    read = run(capsys, "reasons", log)
    assert read.code == 0, read.err
    # A log has no model that could judge its answers.
    assert "Choose a judge that reads the answers" in " ".join(read.out.split())


def test_a_task_of_lm_eval_has_all_arms(questions, tmp_path, capsys):
    pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed")
    from lm_eval.api.model import LM

    class Scripted(LM):
        def generate_until(self, requests, disable_tqdm=False):
            return [SCRIPT.reply(request.args[0], request.args[0]).text for request in requests]

        loglikelihood = loglikelihood_rolling = None

    done = run(
        capsys,
        "data",
        "export",
        questions,
        "--reasons",
        "--hints",
        "colleague",
        "--out",
        tmp_path / "task",
    )
    assert done.code == 0, done.err
    _, samples = ask_lm_eval(Scripted(), task_in(tmp_path / "task"), tmp_path)
    silent(samples)


def test_inspect_finds_the_task_by_its_entry_point(questions, tmp_path, monkeypatch):
    """As `inspect eval rightreasons/reasons -T data=… -T limit=20` does; the point is declared as pyproject has it."""
    inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    declared = (ROOT / "pyproject.toml").read_text("utf-8")
    point = (
        declared.partition("[project.entry-points.inspect_ai]\n")[2]
        .partition("\n")[0]
        .replace('"', "")
    )
    folder = tmp_path / "points" / "points-1.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: points\nVersion: 1\n", "utf-8")
    (folder / "entry_points.txt").write_text(f"[inspect_ai]\n{point}\n", "utf-8")
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setattr(
        "inspect_ai._util.entrypoints._inspect_ai_eps_loaded_all", False
    )  # it looks once
    args = {"data": str(questions), "limit": 20, "hints": "colleague,metadata"}
    how = {"model": inspect_scripted(), "log_dir": str(tmp_path / "logs"), "display": "none"}
    (log,) = inspect_ai.eval("rightreasons/reasons", task_args=args, **how)
    assert log.status == "success", log.error
    assert len(log.samples) == 20 * 4
    m = measure_reasons(
        read_traces(only_part(as_table(log.location.removeprefix("file://")), "log"))
    )
    assert tuple(m.hints) == ("colleague", "metadata")


@pytest.mark.parametrize("k", [2, 4])
def test_hints_of_a_task_avoid_the_right_option_alone(k):
    rows = ArmPrompts(
        Prompt(), None, ReasonsOptions(hints=("colleague", "earlier")), chat=True
    ).list_rows(items(90, k))
    hinted = [row for row in rows if row["arm"] == HINT]
    assert len(rows) == 90 * 4
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(0 <= row["hint"] < k for row in hinted)
    assert any(row["hint"] == row["label"] for row in hinted) == (k == 2)
    # both kinds name the same option, by the same name
    assert all(
        one["hint"] == two["hint"] and one["source"] == two["source"]
        for one, two in zip(hinted[::2], hinted[1::2], strict=True)
    )
