"""Probes, reasons and ways inside inspect_ai: by its log and by a direct audit alike."""

import json
import warnings

import datasets
import pytest

from command_line import run
from rightreasons.core.errors import OptionError
from rightreasons.models.prompted import Prompted
from rightreasons.models.wording import Prompt
from rightreasons.report.runner import audit
from scripted_choices import make_items
from scripted_texts import ScriptedEngine, compute_log_probabilities, join_turns, write_answer

inspect_ai = pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
pytestmark = pytest.mark.usefixtures("unrendered")

QUESTIONS = "probes,reasons,ways"
OPTIONS = {"ways": {"n_ways": 3}, "probes": {"ks": [1]}}


def make_mock(*, is_scored=False):
    """Return the scripted model behind mockllm."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.model._model_output import Logprobs

    def answer(messages, tools, tool_choice, config):
        text = join_turns([{"role": m.role, "content": m.text} for m in messages])
        output = ModelOutput.from_content("mockllm/model", write_answer(text))
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        if is_scored and config.logprobs:
            marks = list("ABCD1234")
            values = compute_log_probabilities(text, marks)
            top = [{"token": m, "logprob": v} for m, v in zip(marks, values, strict=True)]
            top.sort(key=lambda token: -token["logprob"])
            token = {**top[0], "top_logprobs": top}
            output.choices[0].logprobs = Logprobs.model_validate({"content": [token]})
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def ask(folder, n_items, *, ask="text", questions=QUESTIONS, **options):
    """Ask items inside the harness; return them and the log."""
    from rightreasons.integrations.inspect_tasks import audit as make_task

    # Related items are one unit of an interval.
    items = []
    for number, item in enumerate(make_items(n_items)):
        items.append({**item, "pair_id": f"pair {number // 2}"})
    path = folder / "days.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    asked = {name: values for name, values in OPTIONS.items() if name in questions}
    task = make_task(data=str(path), questions=questions, options=asked, ask=ask)
    model = make_mock(is_scored=ask == "letters")
    (log,) = inspect_ai.eval(
        task, model=model, display="none", log_dir=str(folder / "logs"), **options
    )
    assert log.status == "success", log.error
    return items, log.location.removeprefix("file://"), log


def make_direct(*, is_scored=False):
    scoring = "next_words" if is_scored else "generated"
    engine = ScriptedEngine(is_scored=is_scored)
    return Prompted(Prompt(style="letters", scoring=scoring), engine)


@pytest.mark.parametrize(
    ("mode", "n_items", "asked"),
    [("text", 20, ["probes", "reasons", "ways"]), ("letters", 12, ["probes", "ways"])],
)
def test_a_log_answers_questions_as_a_direct_audit_does(mode, n_items, asked, tmp_path):
    items, log, _ = ask(tmp_path, n_items, ask=mode, questions=asked)

    by_log = audit(log, out=tmp_path / "log", progress=False)
    direct = audit(
        make_direct(is_scored=mode == "letters"),
        datasets.Dataset.from_list(items),
        out=tmp_path / "direct",
        questions=["calibration", "cues", *asked],
        options={name: values for name, values in OPTIONS.items() if name in asked},
        progress=False,
    )

    assert set(by_log.figures) == set(direct.figures)
    for path, figure in direct.figures.items():
        assert by_log.figures[path].estimate == figure.estimate, path
        assert by_log.figures[path].n == figure.n, path
    for name in asked:
        assert by_log[name].result.verdict.label == direct[name].result.verdict.label
        assert f"{name}." in " ".join(by_log.figures)
    assert f"rightreasons audit {log}" in by_log.page.read_text("utf-8")


def test_a_limit_cuts_samples_and_of_epochs_the_first_counts(tmp_path):
    _, log, result = ask(tmp_path, 12, questions="probes", limit=10, epochs=2)

    by_log = audit(log, out=tmp_path / "log", progress=False)

    assert result.eval.dataset.samples == 12
    assert by_log["probes.kept_without_question"].n <= 10
    # Another question may be that of an item beyond the limit, which the log keeps.
    assert "probes.kept_with_another_question" in by_log.figures


def test_a_question_that_was_not_asked_is_refused(tmp_path):
    _, log, _ = ask(tmp_path, 4, questions="probes")

    with pytest.raises(OptionError, match="questions that") as error:
        audit(log, out=tmp_path / "log", questions=["reasons"], progress=False)
    assert error.value.option == ("questions",)


def test_one_question_of_a_log_with_several_is_answered(tmp_path):
    _, log, _ = ask(tmp_path, 10, questions="probes,ways")

    by_log = audit(log, out=tmp_path / "log", questions=["cues", "ways"], progress=False)

    assert [outcome.question for outcome in by_log.outcomes] == ["cues", "ways"]


def test_a_question_has_its_own_command_for_a_log(tmp_path, capsys):
    _, log, _ = ask(tmp_path, 10, questions="ways")

    done = run(capsys, "ways", log, "--out", tmp_path / "ways")

    assert done.code == 0, done.err
    audited = json.loads((tmp_path / "ways" / "audit.json").read_text("utf-8"))
    (question,) = audited["questions"]
    # The options are those of the log, unless the command says otherwise.
    assert question["question"] == "ways"
    assert audited["settings"]["options"]["ways"]["n_ways"] == 3


def test_an_unknown_question_of_a_harness_is_refused(tmp_path):
    with warnings.catch_warnings(), pytest.raises(ValueError, match="question of a harness"):
        ask(tmp_path, 4, questions="behavior")


def test_a_run_that_broke_off_is_retried_and_audited_like_a_whole_one(tmp_path):
    from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

    from rightreasons.integrations.inspect_tasks import audit as make_task

    calls = {"n_answered": 0, "max_answered": 40}

    @modelapi(name="breaking")
    class BreakingModel(ModelAPI):
        """The scripted model, whose connection breaks after some answers."""

        async def generate(self, input, tools, tool_choice, config):  # noqa: A002
            if calls["n_answered"] == calls["max_answered"]:
                raise ConnectionError("the connection broke")
            calls["n_answered"] += 1
            turns = [{"role": message.role, "content": message.text} for message in input]
            output = ModelOutput.from_content("breaking/model", write_answer(join_turns(turns)))
            output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
            return output

    path = tmp_path / "days.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in make_items(12)), "utf-8")
    task = make_task(data=str(path), questions="probes", options={"probes": {"ks": [1]}})
    settings = {"display": "none", "log_dir": str(tmp_path / "logs")}

    (broken,) = inspect_ai.eval(task, model="breaking/model", max_samples=1, **settings)
    calls["max_answered"] = None
    (whole,) = inspect_ai.eval_retry(broken.location, **settings)

    assert (broken.status, whole.status, len(whole.samples)) == ("error", "success", 12)
    by_log = audit(whole.location.removeprefix("file://"), out=tmp_path / "log", progress=False)
    direct = audit(
        make_direct(),
        datasets.Dataset.from_list(make_items(12)),
        out=tmp_path / "direct",
        questions=["calibration", "cues", "probes"],
        options={"probes": {"ks": [1]}},
        progress=False,
    )
    assert set(by_log.figures) == set(direct.figures)
    for figure_path, figure in direct.figures.items():
        assert by_log.figures[figure_path].estimate == figure.estimate, figure_path
    # Samples that were complete are not asked again.
    complete = {sample.uuid for sample in broken.samples if sample.error is None}
    assert complete
    assert complete <= {sample.uuid for sample in whole.samples}
