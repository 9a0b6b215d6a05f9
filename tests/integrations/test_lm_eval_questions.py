"""Probes, reasons and ways inside lm-evaluation-harness: by its log and by a direct audit alike."""

import json

import datasets
import pytest

from command_line import run
from harness_logs import ask_lm_eval
from rightreasons.models.prompted import Prompted
from rightreasons.models.wording import Prompt
from rightreasons.report.runner import audit
from scripted_choices import make_items
from scripted_texts import ScriptedEngine, compute_log_probabilities, join_turns, write_answer

lm_eval = pytest.importorskip("lm_eval", reason="lm_eval is not installed")
pytestmark = pytest.mark.usefixtures("unrendered")


def score_continuation(context, continuation):
    """Return the log-probability of a continuation; the harness moves white space to its beginning."""
    text = context.rstrip()
    continuation = f"{context[len(text) :]}{continuation}"
    letter = continuation.lstrip()
    # White space that begins a line has a probability that depends on the prompt.
    value = -len(text) / 1000 if continuation.startswith("\n") else 0.0
    # The choices of the task itself are no letters.
    if len(letter) > 1:
        return -1.0
    if letter:
        value += compute_log_probabilities(text, [letter])[0]
    return value


def make_model():
    """Return the scripted model as one of the harness."""
    from lm_eval.api.model import LM

    class ScriptedLM(LM):
        tokenizer_name = "scripted"

        def chat_template(self, chat_template=False):
            return "turns"

        def apply_chat_template(self, chat_history, add_generation_prompt=True):
            return f"{join_turns(chat_history)}\n"

        def loglikelihood(self, requests):
            answers = []
            for request in requests:
                answers.append((score_continuation(*request.args), False))
            return answers

        def generate_until(self, requests):
            return [write_answer(request.args[0].rstrip()) for request in requests]

        def loglikelihood_rolling(self, requests):
            raise NotImplementedError

    return ScriptedLM()


def ask(folder, n_items, questions, capsys, **options):
    """Ask items inside the harness, by an exported task; return them, the samples and the metrics."""
    # Related items are one unit of an interval.
    items = []
    for number, item in enumerate(make_items(n_items)):
        items.append({**item, "pair_id": f"pair {number // 2}"})
    path = folder / "days.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    out = folder / "task"
    done = run(
        capsys, "data", "export", path, "--to", "lm-eval", "--questions", questions, "--out", out
    )
    assert done.code == 0, done.err
    task = out / "rightreasons_days_questioned.yaml"
    metrics, samples = ask_lm_eval(make_model(), task, folder, **options)
    return items, samples, metrics


def assert_equal(estimate, direct, path):
    """Check that an estimate is that of a direct audit, up to the rounding of a difference for POSIX."""
    if path != "ways.posix":
        assert estimate == direct, path
        return
    assert estimate.value == pytest.approx(direct.value, rel=1e-12)
    assert estimate.low == pytest.approx(direct.low, rel=1e-12)
    assert estimate.high == pytest.approx(direct.high, rel=1e-12)


@pytest.mark.parametrize("is_chat", [True, False])
def test_a_log_answers_questions_as_a_direct_audit_does(is_chat, tmp_path, capsys):
    asked = "probes,reasons,ways" if is_chat else "probes,ways"
    items, log, _ = ask(tmp_path, 20 if is_chat else 10, asked, capsys, apply_chat_template=is_chat)

    by_log = audit(log, out=tmp_path / "log", progress=False)
    engine = ScriptedEngine(is_scored=True, has_template=is_chat, is_single_pass=True)
    direct = audit(
        Prompted(Prompt(style="letters", scoring="next_words"), engine),
        datasets.Dataset.from_list(items),
        out=tmp_path / "direct",
        questions=["calibration", "cues", *asked.split(",")],
        progress=False,
    )

    assert set(by_log.figures) == set(direct.figures)
    for path, figure in direct.figures.items():
        assert_equal(by_log.figures[path].estimate, figure.estimate, path)
    for name in asked.split(","):
        assert by_log[name].result.verdict.label == direct[name].result.verdict.label
        assert f"{name}." in " ".join(by_log.figures)


def test_a_task_has_no_metrics_of_arms_that_it_does_not_ask(tmp_path, capsys):
    # The questions are asked by the prompts of an audit, so that its log has their figures.
    _, _, metrics = ask(tmp_path, 6, "probes", capsys)
    assert {name.split(",")[0] for name in metrics} >= {"acc", "acc_norm"}
    assert not any(value != value for value in metrics.values())
    assert not any(name.startswith("kept_") for name in metrics)
