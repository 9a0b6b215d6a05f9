"""What lighteval gets of us, with classes in the place of its own: it was run by hand, at version 0.13."""

import dataclasses
import importlib.util
import json
import math
import pickle
import sys
from types import ModuleType, SimpleNamespace

import datasets
import pytest

from command_line import run
from rightreasons.report.runner import audit
from scripted_choices import Scripted, make_items, score_choices, score_half


@dataclasses.dataclass
class Made:
    """Any of its dataclasses: what it was made with."""

    values: dict

    def __init__(self, **values):
        self.values = values


@pytest.fixture
def tasks(monkeypatch):
    class Known(dict):
        def __getattr__(self, name):
            return self[name]

    known = Known(loglikelihood_acc="acc")
    stubs = {
        "aenum": {"extend_enum": lambda of, name, value: of.__setitem__(name, value)},
        "lighteval": {},
        "lighteval.metrics": {},
        "lighteval.metrics.metrics": {"Metrics": known},
        "lighteval.metrics.sample_preparator": {"Preparator": object},
        "lighteval.metrics.utils": {},
        "lighteval.metrics.utils.metric_utils": {"CorpusLevelMetric": Made},
        "lighteval.tasks": {},
        "lighteval.tasks.lighteval_task": {"LightevalTaskConfig": Made},
        "lighteval.tasks.requests": {
            "Doc": Made,
            "SamplingMethod": SimpleNamespace(LOGPROBS="logprobs"),
        },
    }
    for name, members in stubs.items():
        module = ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    # As lighteval opens the file of --custom-tasks: it is not entered into sys.modules.
    spec = importlib.util.find_spec("rightreasons.integrations.lighteval_tasks")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, known


@pytest.fixture
def arms(tasks):
    """The file of the probes, opened with the same stand-ins."""
    spec = importlib.util.find_spec("rightreasons.integrations.lighteval_arms")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_details_of_an_exported_task_have_the_probes_of_a_direct_audit(arms, tmp_path, capsys):
    items = make_items(20)
    path = tmp_path / "days.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items), "utf-8")
    done = run(capsys, "data", "export", path, "--to", "lighteval", "--out", tmp_path / "task")
    assert done.code == 0, done.err
    rows = tmp_path / "task" / "rightreasons_days_probed_rows" / "test.jsonl"

    details = []
    hits = []
    for number, line in enumerate(rows.read_text("utf-8").splitlines()):
        doc = arms.make_document(json.loads(line), "days").values
        question = doc["query"].removeprefix("Question: ").removesuffix("\nAnswer:")
        scores = [float(score_half(question, choice.strip())) for choice in doc["choices"]]
        response = SimpleNamespace(logprobs=scores)
        hits.append(arms.OriginalHit.prepare(SimpleNamespace(**doc), response))
        answer = {"logprobs": scores, "text": [], "text_post_processed": []}
        row = {"doc": {**doc, "id": str(number)}, "metric": {"acc": hits[-1]}}
        details.append({**row, "model_response": answer})
    # lighteval sorts documents by their length.
    details.sort(key=lambda row: row["doc"]["query"])
    log = tmp_path / "details" / "m" / "date" / "details_days|0_2026-11-29T14-21-12.9.parquet"
    log.parent.mkdir(parents=True)
    datasets.Dataset.from_list(details).to_parquet(str(log))

    settings = {"questions": ["probes", "calibration"], "progress": False}
    by_log = audit(predictions=str(log), out=tmp_path / "log", **settings)
    scripted = Scripted(score_choices(score_half), joint=False)
    direct = audit(
        scripted,
        datasets.Dataset.from_list(items),
        out=tmp_path / "direct",
        options={"probes": {"ks": [2]}},
        **settings,
    )

    assert {name.partition(".")[0] for name in direct.figures} == {"calibration", "probes"}
    for name, figure in direct.figures.items():
        assert by_log.figures[name].estimate == figure.estimate, name
    assert arms.compute_accuracy(hits) == direct["calibration.accuracy"].estimate.value
    assert math.isnan(arms.compute_accuracy([math.nan]))
    (task,) = [arms.make_task("days", rows.parent)]
    assert task.values["hf_repo"] == str(rows.parent)


@pytest.mark.parametrize("option", ["--reasons", "--questions=ways"])
def test_lighteval_is_asked_the_probes_alone(option, tmp_path, capsys):
    done = run(capsys, "data", "export", "x.csv", "--to", "lighteval", option, "--out", tmp_path)

    assert done.code != 0
    assert "lighteval" in done.err


def test_figures_of_log_probabilities(tasks):
    _, known = tasks
    metric = known["rightreasons_ece"].values
    assert not metric["higher_is_better"]
    assert known["rightreasons_auroc"].values["higher_is_better"]
    # Softmax of (log 3, 0) is (3/4, 1/4), of (0, log 3, 0) (1/5, 3/5, 1/5): right, wrong.
    given = [((math.log(3), 0.0), 0), ((0.0, math.log(3), 0.0), [2, 0])]
    items = [
        metric["sample_level_fn"].prepare(
            SimpleNamespace(gold_index=gold), SimpleNamespace(logprobs=list(scores))
        )
        for scores, gold in given
    ]
    assert items[1] == [2.0, 0.0, math.log(3), 0.0]
    assert metric["corpus_level_fn"](items) == pytest.approx((0.25 + 0.6) / 2)
    # Its processes for the bootstrap get the function as a pickle, and its log the name.
    assert metric["corpus_level_fn"].__name__
    auroc = pickle.loads(pickle.dumps(known["rightreasons_auroc"].values["corpus_level_fn"]))
    assert math.isnan(auroc(items[:1]))


def test_copa_is_asked_by_its_continuations(tasks):
    (task,) = tasks[0].TASKS_TABLE
    line = {
        "premise": "The man fell. ",
        "question": "cause",
        "choice1": "It rained.",
        "choice2": "He sang.",
        "label": 0,
    }
    asked = task.values["prompt_function"](line, "x").values
    assert (asked["query"], asked["choices"]) == (
        "The man fell because",
        [" it rained.", " he sang."],
    )
    assert (
        task.values["prompt_function"]({**line, "question": "effect"}).values["query"]
        == "The man fell so"
    )
