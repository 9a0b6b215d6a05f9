"""The probes inside lm-evaluation-harness: inside the harness, by its log, and by a direct audit alike."""

import json

import datasets
import numpy as np
import pytest

from command_line import run
from harness_logs import ask_lm_eval
from rightreasons.cli.probed_tasks import write_probed_tasks
from rightreasons.report.runner import audit
from scripted_choices import SINGLE_MODELS, Scripted, always_first, make_items, score_choices

lm_eval = pytest.importorskip("lm_eval", reason="lm_eval is not installed")
pytestmark = pytest.mark.usefixtures("unrendered")

SHARED = {
    "kept_without_question": "probes.kept_without_question",
    "kept_with_another_question": "probes.kept_with_another_question",
    "lost_without_question": "probes.lost_without_question",
    "prior_bias_no_question": "probes.prior_bias_no_question",
    "choice_paralysis": "probes.choice_paralysis_2",
}
"""Metric of the task -> figure of the report."""


def make_model(score):
    """Return a scripted model of the harness: `score(question, choice)` is a log-likelihood."""
    from lm_eval.api.model import LM

    class ScriptedLM(LM):
        def loglikelihood(self, requests):
            answers = []
            for request in requests:
                context, continuation = request.args
                question = context.rpartition("Question: ")[2].removesuffix("\nAnswer:")
                answers.append((score(question, continuation.strip()), False))
            return answers

        def loglikelihood_rolling(self, requests):
            raise NotImplementedError

        def generate_until(self, requests):
            raise NotImplementedError

    return ScriptedLM()


def ask(model, declared, folder, **options):
    """Ask a task from its folder; return the metrics and the file of its samples."""
    results, samples = ask_lm_eval(model, declared, folder, **options)
    metrics = {}
    for name, value in results.items():
        metrics[name.removesuffix(",none")] = value
    return metrics, samples


@pytest.mark.parametrize("model", SINGLE_MODELS, ids=lambda model: model.__name__)
def test_figures_are_equal_inside_the_harness_by_its_log_and_by_a_direct_audit(model, tmp_path):
    items = make_items()
    (declared,) = write_probed_tasks({"days.jsonl": items}, tmp_path / "task")
    metrics, log = ask(make_model(model), declared, tmp_path)
    settings = {"questions": ["probes"], "progress": False}
    by_log = audit(predictions=log, out=tmp_path / "log", **settings)
    direct = audit(
        Scripted(score_choices(model), joint=False),
        datasets.Dataset.from_list(items),
        out=tmp_path / "direct",
        options={"probes": {"ks": [2]}},
        **settings,
    )

    picks = [int(np.argmax(score_choices(model)(i["prompt"], i["choices"]))) for i in items]
    right = [pick == item["label"] for pick, item in zip(picks, items, strict=True)]
    assert metrics["acc"] == pytest.approx(np.mean(right))
    # Requests of the arms are no choices of the item.
    assert by_log.audit["answers"]["low"] == pytest.approx(np.mean(right))
    for metric, figure in SHARED.items():
        expected = direct[figure].estimate
        ends = [metrics[f"{metric}{end}"] for end in ("", "_low", "_high")]
        assert ends == [expected.value, expected.low, expected.high], metric
        found = by_log[figure].estimate
        assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)
    assert by_log["probes"].result.verdict.label == direct["probes"].result.verdict.label


def test_a_task_has_the_metrics_of_its_arms_with_standard_errors(tmp_path):
    (declared,) = write_probed_tasks({"days.jsonl": make_items()}, tmp_path / "task")

    metrics, _ = ask(make_model(SINGLE_MODELS[0]), declared, tmp_path)

    # Choices that are scored one by one have no order.
    assert "order_consistency" not in metrics
    for metric in SHARED:
        value, low, high = (metrics[f"{metric}{end}"] for end in ("", "_low", "_high"))
        assert low <= value <= high
        # A normal interval of 95 % is 2 * 1.95996 standard errors wide.
        assert metrics[f"{metric}_stderr"] == pytest.approx((high - low) / 3.91993, rel=1e-4)


JOINT_TASK = """
task: listed
class: !function utils.Probed
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "Question: {{prompt}}{% for choice in choices %}|{{choice}}{% endfor %}\\nAnswer:"
doc_to_choice: ["A", "B", "C"]
doc_to_target: label
metric_list: [{metric: acc}]
metadata: {question: prompt, choices: choices, version: 1}
"""


def write_listed_task(folder, items, text=JOINT_TASK):
    from rightreasons.cli.probed_tasks import UTILS_TEXT

    folder.mkdir()
    lines = [json.dumps(item) + "\n" for item in items]
    (folder / "rows.jsonl").write_text("".join(lines), "utf-8")
    (folder / "utils.py").write_text(UTILS_TEXT, "utf-8")
    path = folder / "listed.yaml"
    path.write_text(text, "utf-8")
    return path


def test_listed_choices_are_also_asked_in_other_orders(tmp_path):
    def score(question, letter):
        text, *choices = question.split("|")
        return always_first(text, choices)["ABC".index(letter)]

    items = make_items()
    metrics, log = ask(make_model(score), write_listed_task(tmp_path / "t", items), tmp_path)
    by_log = audit(predictions=log, out=tmp_path / "log", questions=["probes"], progress=False)
    direct = audit(
        Scripted(always_first),
        datasets.Dataset.from_list(items),
        out=tmp_path / "direct",
        questions=["probes"],
        progress=False,
    )

    # No choices are added, and each answer is known without the question.
    assert not any(name.startswith(("choice_paralysis", "prior_bias")) for name in metrics)
    # Always the first choice: another one in each order, and the same without the question.
    assert metrics["order_consistency"] == 0.0
    assert metrics["kept_without_question"] == 1.0
    for figure in ("probes.order_consistency", "probes.kept_without_question"):
        expected = direct[figure].estimate
        found = by_log[figure].estimate
        assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("question: prompt, ", "", "field of the question"),
        ("choices: choices, ", "arms: orders, ", "other orders"),
        ("choices: choices, ", "choices: choices, arms: extra_choices_2, ", "added choices"),
    ],
)
def test_a_task_that_cannot_be_asked_is_refused(old, new, words, tmp_path):
    path = write_listed_task(tmp_path / "t", make_items(4), JOINT_TASK.replace(old, new))

    with pytest.raises(ValueError, match=words):
        ask(make_model(lambda *_: 0.0), path, tmp_path)


def test_a_limit_cuts_documents_and_no_arms(tmp_path):
    (declared,) = write_probed_tasks({"days.jsonl": make_items()}, tmp_path / "task")
    _, log = ask(make_model(SINGLE_MODELS[0]), declared, tmp_path, limit=12)

    result = audit(predictions=log, out=tmp_path / "log", questions=["probes"], progress=False)

    assert result["probes.kept_without_question"].n == 12


def test_one_command_writes_a_task_per_dataset(tmp_path, capsys):
    path = tmp_path / "days.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in make_items(6)), "utf-8")
    other = tmp_path / "nights.jsonl"
    other.write_text(path.read_text("utf-8"), "utf-8")

    out = tmp_path / "t"
    done = run(capsys, "data", "export", f"{path},{other}", "--to", "lm-eval", "--out", out)

    assert done.code == 0, done.err
    names = sorted(file.name for file in (tmp_path / "t").iterdir())
    assert names == [
        "rightreasons_days_probed.jsonl",
        "rightreasons_days_probed.yaml",
        "rightreasons_nights_probed.jsonl",
        "rightreasons_nights_probed.yaml",
        "utils.py",
    ]


LOCAL = """\
include: rightreasons_arc_easy_probed.yaml
task: local
dataset_path: json
dataset_name: null
dataset_kwargs: {data_files: {test: local.jsonl}}
training_split: null
validation_split: null
"""
"""A task of the harness that asks the rows of a file instead of those of the Hub."""


def test_a_task_of_the_harness_is_exported_by_its_name(tmp_path, capsys):
    done = run(capsys, "data", "export", "arc_easy", "--to", "lm-eval", "--out", tmp_path / "task")
    assert done.code == 0, done.err
    items = make_items()
    lines = []
    for item in items:
        letters = list("ABCD")[: len(item["choices"])]
        choices = {"text": item["choices"], "label": letters}
        row = {"id": item["id"], "question": item["prompt"], "choices": choices}
        lines.append(json.dumps({**row, "answerKey": letters[item["label"]]}) + "\n")
    tmp_path.joinpath("task", "local.jsonl").write_text("".join(lines), "utf-8")
    local = tmp_path / "task" / "local.yaml"
    local.write_text(LOCAL, "utf-8")
    (declared,) = write_probed_tasks({"days.jsonl": items}, tmp_path / "days")

    metrics, _ = ask(make_model(SINGLE_MODELS[-1]), local, tmp_path / "local")
    expected, _ = ask(make_model(SINGLE_MODELS[-1]), declared, tmp_path / "items")

    # Both have the prompt "Question: …\nAnswer:".
    for name in ("acc", *SHARED):
        assert metrics[name] == expected[name], name


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [("gsm8k", (), "multiple-choice task"), ("arc_easy", ("--limit", 5), "Expected no --limit")],
)
def test_a_task_that_cannot_have_arms_is_refused(name, options, words, tmp_path, capsys):
    done = run(
        capsys, "data", "export", name, "--to", "lm-eval", *options, "--out", tmp_path / "task"
    )

    assert done.code == 2
    assert words in done.err
