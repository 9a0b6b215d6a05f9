"""What lighteval gets of us, with classes in the place of its own: it was run by hand, at version 0.13."""

import dataclasses
import importlib.util
import math
import pickle
import sys
from types import ModuleType, SimpleNamespace

import pytest


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
