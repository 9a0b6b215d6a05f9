"""Tasks with all arms for lm-evaluation-harness and inspect_ai, run by these, and their logs read back."""

import json
from pathlib import Path

import pytest

from command_line import run
from harness_logs import ask_inspect, ask_lm_eval, task_in
from reasons.scripted import Script, ScriptedJudge, make_items
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
    lines = []
    for item in make_items(60):
        row = {"id": item.id, **item.fields, "label": item.label}
        lines.append(json.dumps(row) + "\n")
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(lines), "utf-8")
    return path


def make_inspect_model():
    """Return the scripted model as one of inspect_ai."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages, tools, tool_choice, config):
        turns = [{"role": message.role, "content": message.text} for message in messages]
        text = SCRIPT.reply(turns, turns[-1]["content"]).text
        output = ModelOutput.from_content("mockllm/model", text)
        # Without a usage, inspect_ai counts tokens by a table that it downloads.
        output.usage = ModelUsage()
        return output

    return get_model("mockllm/model", custom_outputs=answer)


def read_log(log):
    """Return the traces of a log, read with a judge."""
    rows = only_part(as_table(log), log)
    return read_traces(rows, judge=SecondReader(ScriptedJudge()))


def check_measurement(log):
    """Check that a log gives the figures of the script, which follows hints and never says so."""
    traces = read_log(log)
    lead = measure_reasons(traces).lead

    assert len(traces.arm(PLAIN).traces) == 60
    # Too few answers at the hint to show that hardly any of them mentions it.
    assert lead.sway.n_moved < 43
    assert lead.evidence.acknowledged.value == 0.0
    assert lead.evidence.weigh(0.05) == "unclear"
    # A random hint may name the plain answer if that is incorrect; its arm is then the model's own.
    n_own = sum(trace.arm == OWN for trace in traces.traces)
    assert 0 < n_own == 60 - lead.sway.n_items < 30
    # Churn alone leads there in 0.1 / 4 of the cases: 0.7 * (1 - 0.025).
    assert lead.sway.sway.value == pytest.approx(0.7 * 0.975, abs=0.15)
    assert lead.sway.n_unread == (0, 0)


def test_a_task_of_inspect_has_all_arms(questions, tmp_path, capsys):
    pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    folder = tmp_path / "task"
    flags = ("--reasons", "--hints", "colleague", "--to", "inspect", "--out", folder)

    exported = run(capsys, "data", "export", questions, *flags)
    assert exported.code == 0, exported.err
    assert "180 requests about 60 items" in exported.out

    log = ask_inspect(make_inspect_model(), task_in(folder), tmp_path)
    check_measurement(log)

    finished = run(capsys, "reasons", log)
    assert finished.code == 0, finished.err
    # A log has no model that could judge its answers.
    assert "Choose a judge that reads the answers" in " ".join(finished.out.split())


def test_a_task_of_lm_eval_has_all_arms(questions, tmp_path, capsys):
    pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed")
    from lm_eval.api.model import LM

    class ScriptedLM(LM):
        def generate_until(self, requests, disable_tqdm=False):
            prompts = [request.args[0] for request in requests]
            return [SCRIPT.reply(prompt, prompt).text for prompt in prompts]

        loglikelihood = loglikelihood_rolling = None

    folder = tmp_path / "task"
    flags = ("--reasons", "--hints", "colleague", "--out", folder)

    exported = run(capsys, "data", "export", questions, *flags)
    assert exported.code == 0, exported.err

    _, samples = ask_lm_eval(ScriptedLM(), task_in(folder), tmp_path)
    check_measurement(samples)


def install_entry_point(folder):
    """Write a package that declares the entry point of inspect_ai as pyproject.toml has it."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    section = project.partition("[project.entry-points.inspect_ai]\n")[2]
    entry_point = section.partition("\n")[0].replace('"', "")
    package = folder / "points-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: points\nVersion: 1\n", "utf-8")
    (package / "entry_points.txt").write_text(f"[inspect_ai]\n{entry_point}\n", "utf-8")


def test_inspect_finds_the_task_by_its_entry_point(questions, tmp_path, monkeypatch):
    """As `inspect eval rightreasons/reasons -T data=… -T limit=20` does."""
    inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    install_entry_point(tmp_path / "points")
    monkeypatch.syspath_prepend(tmp_path / "points")
    # inspect_ai searches for entry points once a process.
    monkeypatch.setattr("inspect_ai._util.entrypoints._inspect_ai_eps_loaded_all", False)

    (log,) = inspect_ai.eval(
        "rightreasons/reasons",
        task_args={"data": str(questions), "limit": 20, "hints": "colleague,metadata"},
        model=make_inspect_model(),
        log_dir=str(tmp_path / "logs"),
        display="none",
    )

    assert log.status == "success", log.error
    # Plain, neutral, and two hints.
    assert len(log.samples) == 20 * 4
    rows = only_part(as_table(log.location.removeprefix("file://")), "log")
    measurement = measure_reasons(read_traces(rows))
    assert tuple(measurement.hints) == ("colleague", "metadata")


@pytest.mark.parametrize("k", [2, 4])
def test_hints_of_a_task_avoid_the_label_unless_two_options_leave_none(k):
    options = ReasonsOptions(hints=("colleague", "earlier"))
    prompts = ArmPrompts(Prompt(), None, options, chat=True)

    rows = prompts.list_rows(make_items(90, k))

    hinted = [row for row in rows if row["arm"] == HINT]
    # Plain, neutral, and two hints.
    assert len(rows) == 90 * 4
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(0 <= row["hint"] < k for row in hinted)
    assert any(row["hint"] == row["label"] for row in hinted) == (k == 2)

    # Both kinds name the same option, and have the same source.
    contents = [(row["hint"], row["source"]) for row in hinted]
    assert contents[::2] == contents[1::2]
