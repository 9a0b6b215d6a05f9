"""Measures for the tasks of lm-evaluation-harness: closed forms, and inside the harness where it is installed."""

import json
import math
from importlib.metadata import entry_points

import pytest

from rightreasons.calibration.smooth import smooth_ece
from rightreasons.integrations.lm_eval import MEASURES, aggregation, choice_results
from rightreasons.probes.bias import prior_bias

# Softmax of (log 3, 0) is (3/4, 1/4); of (0, log 3, 0) it is (1/5, 3/5, 1/5).
ITEMS = [((math.log(3), 0.0), 0), ((0.0, math.log(3), 0.0), 2), ((0.0, math.log(3)), 1)]


def test_figures_are_those_of_the_kernels():
    rows, labels = [list(row) for row, _ in ITEMS], [label for _, label in ITEMS]
    # Confidences of 3/4, 3/5 and 3/4, right, wrong, right: (2 * |3/4 - 1| + |3/5 - 0|) / 3.
    assert aggregation("ece")(ITEMS) == pytest.approx((0.5 + 0.6) / 3)
    assert aggregation("ece", n_bins=1)(ITEMS) == pytest.approx(
        abs((0.75 + 0.6 + 0.75) / 3 - 2 / 3)
    )
    assert aggregation("smooth_ece")(ITEMS) == smooth_ece(rows, labels, scores="logits").smooth_ece
    # ((1/4)^2 + (3/5)^2 + (1/4)^2) / 3
    assert aggregation("brier")(ITEMS) == pytest.approx((0.0625 + 0.36 + 0.0625) / 3)
    # Two confidences of 3/4, one right: (3/4 - 1/2)^2, nothing between bins, and 1/2 * 1/2; the sum is the score.
    same = [((0.0, math.log(3)), 1), ((math.log(3), 0.0), 1)]
    parts = [
        aggregation(f"brier_{part}")(same) for part in ("reliability", "resolution", "uncertainty")
    ]
    assert parts == pytest.approx([0.0625, 0, 0.25])
    assert aggregation("brier")(same) == pytest.approx(0.3125)
    # Both right answers are surer than the wrong one.
    assert aggregation("auroc")(ITEMS) == 1
    assert aggregation("prior_bias")(ITEMS) == prior_bias(rows, scores="logits").prior_bias
    assert aggregation("auroc")(ITEMS[:1]) is None


def test_what_a_task_hands_over():
    results = [(-2.0, False), (-1.0, True), (-3.0, False)]
    assert choice_results(results, 0, ("ece", "brier")) == {
        "acc": 0.0,
        "ece": ((-2.0, -1.0, -3.0), 0),
        "brier": ((-2.0, -1.0, -3.0), 0),
    }
    assert choice_results(results, 1)["acc"] == 1.0


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: aggregation("mce"), "Expected `measure` to be one of"),
        (lambda: choice_results([(-1.0, True), (-2.0, False)], 2), "`label`"),
        (
            lambda: choice_results([(-1.0, True), (-2.0, False)], 0, ("ece", "x")),
            "Expected `measures` to be one of",
        ),
    ],
)
def test_what_cannot_be_handed_over(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.parametrize("plugin", [False, True], ids=["in a task", "as plugins"])
def test_inside_the_harness(tmp_path, plugin):
    lm_eval = pytest.importorskip("lm_eval", reason="lm-evaluation-harness is not installed")
    from lm_eval.api.model import LM
    from lm_eval.tasks import TaskManager

    rows = [
        {"text": f"Item {k}", "options": ["yes", "no", "so"][: 2 + k % 2], "label": k % 2}
        for k in range(7)
    ]
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    names = tuple(f"rightreasons_{name}" if plugin else name for name in MEASURES)
    if plugin:  # what a harness does that finds them: it loads the entry points
        found = {
            each.name: each.load()
            for each in entry_points(group="lm_eval.metrics")
            if each.name in names
        }
        assert {name: f"rightreasons_{each.__name__}" for name, each in found.items()} == {
            name: name for name in names
        }
    (tmp_path / "utils.py").write_text(
        "from rightreasons.integrations.lm_eval import aggregation, choice_results\n"
        f"MEASURES = {names}\n"
        + ("" if plugin else "for name in MEASURES:\n    globals()[name] = aggregation(name)\n")
        + "def process_results(doc, results):\n    return choice_results(results, doc['label'], MEASURES)\n",
        encoding="utf-8",
    )
    how = "" if plugin else "    aggregation: !function utils.{0}\n    higher_is_better: false\n"
    figures = "".join(f"  - metric: {name}\n{how.format(name)}" for name in names)
    (tmp_path / "own.yaml").write_text(
        f"task: own\ndataset_path: json\ndataset_kwargs:\n  data_files:\n    test: {tmp_path / 'items.jsonl'}\n"
        "test_split: test\noutput_type: multiple_choice\ndoc_to_text: text\ndoc_to_choice: options\n"
        "doc_to_target: label\nprocess_results: !function utils.process_results\nmetric_list:\n"
        "  - metric: acc\n    aggregation: mean\n    higher_is_better: true\n" + figures,
        encoding="utf-8",
    )

    class Fixed(LM):
        def loglikelihood(self, requests):
            return [
                (-1.0 - len(request.args[0] + request.args[1]) % 5, False) for request in requests
            ]

        def loglikelihood_rolling(self, requests):
            raise NotImplementedError

        def generate_until(self, requests):
            raise NotImplementedError

    manager = TaskManager(include_path=str(tmp_path), include_defaults=False)
    found = lm_eval.simple_evaluate(
        model=Fixed(), tasks=["own"], task_manager=manager, bootstrap_iters=0
    )
    scores = [
        [-1.0 - len(f"{row['text']} {option}") % 5 for option in row["options"]] for row in rows
    ]
    items = [(tuple(own), row["label"]) for own, row in zip(scores, rows, strict=True)]
    for name, measure in zip(names, MEASURES, strict=True):
        assert found["results"]["own"][f"{name},none"] == pytest.approx(
            aggregation(measure)(items)
        ), name
    if plugin:
        assert found["higher_is_better"]["own"]["rightreasons_auroc"]
        assert not found["higher_is_better"]["own"]["rightreasons_ece"]
