"""What commands find in folders: plans of behavioral learning, and two reports to compare."""

import copy
import functools
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import datasets
from hypothesis import strategies as st

from fuzzing.damage import altered, damaged, values
from fuzzing.judging import Target
from rightreasons.behavior.learning.collect import collect_scores
from rightreasons.behavior.learning.plan import Plan, plan_runs
from rightreasons.report.comparison import compare
from rightreasons.report.runner import audit
from rightreasons.report.schema import read_audit
from tiny_models import save_tiny_classifier, tiny_texts
from tiny_suites import behavior_suite


@functools.cache
def plan_file():
    """The record of a plan."""
    with TemporaryDirectory() as folder:
        runs = plan_runs(
            behavior_suite(), configurations=("IID", "IID+T"), methods=("vanilla",), seeds=(0,)
        )
        Plan.create(folder, runs, {"labels": "sentiment"})
        return json.loads((Path(folder) / "plan.json").read_text("utf-8"))


@functools.cache
def report():
    """The audit.json and the predictions of a tiny report."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        texts, labels = tiny_texts(12)
        data = datasets.Dataset.from_dict(
            {"text": texts, "label": [("negative", "positive")[label] for label in labels]}
        )
        audit(save_tiny_classifier(folder / "model"), data, out=folder / "report", questions=["calibration"],
              n_resamples=10, progress=False)  # fmt: skip
        said = json.loads((folder / "report" / "audit.json").read_text("utf-8"))
        file = said["dataset"]["splits"][0]["predictions"]
        return said, file, (folder / "report" / file).read_bytes()


@st.composite
def plans(draw):
    """A plan and results of its runs, some of it damaged."""
    content = json.dumps(draw(altered([plan_file()])), default=str).encode()
    if draw(st.booleans()):
        content = draw(damaged([content]))
    results = draw(
        st.lists(values | altered([{"key": "x", "code": "x", "scores": {}}]), max_size=2)
    )
    return content, results


def check_plan(value, folder):
    content, results = value
    (folder / "plan.json").write_bytes(content)
    (folder / "results").mkdir()
    runs = plan_runs(
        behavior_suite(), configurations=("IID", "IID+T"), methods=("vanilla",), seeds=(0,)
    )
    for run, result in zip(runs, results, strict=False):
        (folder / "results" / f"{run.key}.json").write_text(
            json.dumps(result, default=str), "utf-8", "replace"
        )
    plan = Plan.open(folder)
    assert {run.key for run in plan.pending()} | plan.list_finished_keys() == {
        run.key for run in plan.runs
    }
    plan.check_code()
    collect_scores(plan)


@st.composite
def reports(draw):
    """The audit.json and the predictions of a report, some of it damaged."""
    said, _, predictions = report()
    said = copy.deepcopy(said)
    if draw(st.booleans()):
        # Most of an audit is figures; what a comparison reads stands before them.
        for name in draw(
            st.lists(
                st.sampled_from(["model", "dataset", "settings", "schema_version"]), max_size=2
            )
        ):
            said[name] = draw(altered([said[name]]) | values)
    content = json.dumps(said, default=str).encode("utf-8", "replace")
    if draw(st.booleans()):
        content = draw(damaged([content]))
    return content, draw(st.just(predictions) | damaged([predictions]))


def check_comparison(value, folder):
    content, predictions = value
    said, file, whole = report()
    for name, audit_file, its_predictions in (
        ("first", json.dumps(said).encode(), whole),
        ("second", content, predictions),
    ):
        path = folder / name / file
        path.parent.mkdir(parents=True)
        path.write_bytes(its_predictions)
        (folder / name / "audit.json").write_bytes(audit_file)
    compared = compare(folder / "first", folder / "second", n_resamples=5, out=folder / "out")
    assert (folder / "out" / "index.html").is_file()
    for split in compared.splits:
        judged = split.both_right + split.first_right + split.second_right + split.both_wrong
        assert judged == split.n_items <= 12
    read_audit(folder / "second")
    shutil.rmtree(folder / "out")


TARGETS = [
    Target("plans", st.deferred(plans), check_plan, 6),
    Target("comparisons", st.deferred(reports), check_comparison, 3),
]
