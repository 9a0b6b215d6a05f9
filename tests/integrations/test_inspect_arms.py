"""The questions of an audit inside inspect_ai: inside the harness, by its log, and by a direct audit alike."""

import json
import math
import re

import datasets
import pytest

from rightreasons.report.runner import audit
from scripted_choices import (
    LETTERS,
    MODELS,
    Scripted,
    always_first,
    follow_hint,
    make_items,
    prefer_longest,
    read,
)

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
inspect_tasks = pytest.importorskip("rightreasons.integrations.inspect_tasks")
pytestmark = pytest.mark.usefixtures("unrendered")


def parse_request(text):
    """Return the question and the choices of a request of `multiple_choice` or of `letters`."""
    choices = re.findall(r"^[A-Z][).] (.*)$", text, re.MULTILINE)
    before = re.split(r"^A[).] ", text, flags=re.MULTILINE)[0]
    # The instruction of `multiple_choice` is a paragraph of its own before the question.
    if "ANSWER: $LETTER" in before:
        before = before.partition("\n\n")[2]
    return before.strip(), choices


def make_mock(model, *, with_letters=False):
    """Return the model behind mockllm, which writes a line or only the likeliest letter."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.model._model_output import Logprobs

    def answer(messages, *_):
        scores = model(*parse_request(messages[-1].text))
        letter = LETTERS[scores.index(max(scores))]
        content = letter if with_letters else f"ANSWER: {letter}"
        output = ModelOutput.from_content("mockllm/model", content)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        if with_letters:
            total = math.log(sum(math.exp(score) for score in scores))
            top = [
                {"token": mark, "logprob": score - total}
                for mark, score in zip(LETTERS, scores, strict=False)
            ]
            token = {"token": letter, "logprob": max(scores) - total, "top_logprobs": top}
            output.choices[0].logprobs = Logprobs.model_validate({"content": [token]})
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def make_task(items, solver=None):
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    samples = []
    for item in items:
        target = LETTERS[item["label"]]
        samples.append(
            Sample(id=item["id"], input=item["prompt"], choices=item["choices"], target=target)
        )
    return inspect_ai.Task(
        dataset=MemoryDataset(samples), solver=solver or multiple_choice(), scorer=choice()
    )


def run(task, model, folder, **options):
    (log,) = inspect_ai.eval(
        task, model=model, display="none", log_dir=str(folder / "logs"), **options
    )
    assert log.status == "success", log.error
    figures = {}
    for score in log.results.scores:
        figures[score.name] = {name: metric.value for name, metric in score.metrics.items()}
    return log.location.removeprefix("file://"), figures


SHARED = {
    "kept_without_question": "probes.kept_without_question",
    "kept_with_another_question": "probes.kept_with_another_question",
    "lost_without_question": "probes.lost_without_question",
    "order_consistency": "probes.order_consistency",
}
"""Metric of the scorer -> figure of the report."""


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_figures_are_equal_inside_the_harness_by_its_log_and_by_a_direct_audit(model, tmp_path):
    from rightreasons.integrations.inspect_arms import audited

    items = make_items()
    log, inside = run(audited(make_task(items)), make_mock(model), tmp_path)
    settings = {"questions": ["probes"], "progress": False}
    by_log = audit(predictions=log, out=tmp_path / "log", **settings)
    rows = datasets.Dataset.from_list(items)
    direct = audit(Scripted(model), rows, out=tmp_path / "direct", **settings)

    right = [
        max(range(3), key=model(i["prompt"], i["choices"]).__getitem__) == i["label"] for i in items
    ]
    assert inside["choice"]["accuracy"] == pytest.approx(sum(right) / len(items))
    for metric, figure in SHARED.items():
        expected = direct[figure].estimate
        ends = [inside["arms"][f"{metric}{end}"] for end in ("", "_low", "_high")]
        assert ends == [expected.value, expected.low, expected.high]
        found = by_log[figure].estimate
        assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)


def test_letters_are_scored_as_by_a_direct_audit(tmp_path):
    from rightreasons.integrations.inspect_arms import audited

    items = make_items()
    arms = ("no_question", "wrong_question", "no_right_answer", "extra_choices_1", "orders")
    model = make_mock(prefer_longest, with_letters=True)
    log, inside = run(audited(make_task(items), arms, ask="letters"), model, tmp_path)
    settings = {"questions": ["probes", "calibration"], "progress": False}
    options = {"probes": {"ks": [1]}}
    by_log = audit(predictions=log, out=tmp_path / "log", **settings)
    rows = datasets.Dataset.from_list(items)
    direct = audit(Scripted(prefer_longest), rows, out=tmp_path / "d", options=options, **settings)

    # The log has log-probabilities, and the scripted model scores that differ from them by rounding.
    figures = ("probes.prior_bias_no_question", "probes.restricted_drop_1", "calibration.ece")
    for figure in (*SHARED.values(), *figures):
        expected = direct[figure].estimate
        assert by_log[figure].estimate.value == pytest.approx(expected.value, abs=1e-12)
        assert by_log[figure].estimate.high == pytest.approx(expected.high, abs=1e-9)
    assert inside["arms"]["restricted_drop"] == pytest.approx(
        direct["probes.restricted_drop_1"].estimate.value
    )


def test_the_solver_alone_borrows_nothing_and_the_log_says_what_it_lacks(tmp_path):
    from rightreasons.integrations.inspect_arms import probed

    task = make_task(make_items(), probed("orders,wrong_question"))
    log, inside = run(task, make_mock(always_first), tmp_path)
    result = audit(predictions=log, out=tmp_path / "log", questions=["probes"], progress=False)

    assert set(inside) == {"choice"}
    # A model that always takes the first choice keeps its answer in no item.
    assert result["probes.order_consistency"].estimate.value == 0.0
    assert result["probes"].result.verdict.tone == "bad"
    assert "probes.kept_without_question" not in result.figures


def test_a_hint_sways_a_model_that_follows_it(tmp_path):
    from rightreasons.integrations.inspect_arms import audited

    for model, expected in ((follow_hint, 1.0), (read, 0.0)):
        task = audited(make_task(make_items()), ["colleague"])
        _, inside = run(task, make_mock(model), tmp_path / model.__name__)

        assert inside["arms"]["sway_colleague"] == expected
        assert inside["arms"]["unread"] == 0.0


def test_epochs_and_answers_that_cannot_be_read(tmp_path):
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from rightreasons.integrations.inspect_arms import audited

    def answer(messages, *_):
        question, choices = parse_request(messages[-1].text)
        scores = read(question, choices)
        content = f"I take {LETTERS[scores.index(max(scores))]}."
        if "day 3?" in question:
            content = "It is hard to say."
        elif "day 4?" in question:
            content = LETTERS[scores.index(max(scores))]
        output = ModelOutput.from_content("mockllm/model", content)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    items = make_items(8)
    task = audited(make_task(items), ["no_question"])
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    log, inside = run(task, model, tmp_path, epochs=2)

    # inspect_ai reads "ANSWER: A" alone; a bare letter is read by our reader.
    assert inside["choice"]["accuracy"] == 0.0
    assert inside["arms"]["unread"] < 1.0
    result = audit(predictions=log, out=tmp_path / "log", progress=False)
    assert result.audit["answers"]["n_units"] == 8


def test_the_task_about_reasons_samples_each_item_with_each_hint_at_temperature_1(tmp_path):
    rows = []
    for number in range(5):
        row = {"id": f"q{number}", "prompt": f"Why {number}?", "choices": ["a", "b"], "label": 0}
        rows.append(json.dumps(row))
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")

    # inspect_ai makes a list of a value with commas.
    task = inspect_tasks.reasons(str(path), hints=["colleague", " metadata"], limit=3)

    assert task.config.temperature == 1.0
    assert len({sample.metadata["item"] for sample in task.dataset}) == 3
    arms = {sample.id.partition("/")[2] for sample in task.dataset}
    assert arms == {"plain", "neutral colleague", "hint colleague", "hint metadata"}
