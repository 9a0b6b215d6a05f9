"""Figures of a report in other collections: Every Eval Ever's records, and results of hub benchmarks."""

import json

import pytest
import yaml
from huggingface_hub import EvalResultEntry

from command_line import run
from rightreasons.report.runner import audit


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Four answers, of which the two surest are wrong: accuracy 1/2, mean confidence .75, gap +25 points."""
    folder = tmp_path_factory.mktemp("exchange")
    rows = [(0.9, "no", "yes"), (0.9, "yes", "yes"), (0.6, "no", "no"), (0.6, "yes", "no")] * 5
    lines = [
        {
            "p_yes": p if said == "yes" else 1 - p,
            "p_no": 1 - p if said == "yes" else p,
            "label": label,
        }
        for p, said, label in rows
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    audit(
        predictions=folder / "rows.jsonl",
        out=folder / "report",
        questions=["calibration"],
        n_resamples=20,
    )
    return folder / "report"


def test_a_record_of_every_eval_ever_has_every_figure_with_its_interval(report, capsys, tmp_path):
    done = run(capsys, "card", report, "--to", tmp_path / "record.json")
    assert done.code == 0, done.err
    record = json.loads((tmp_path / "record.json").read_text())
    assert {"schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info", "eval_library",
            "evaluation_results"} <= record.keys()  # fmt: skip
    results = {each["evaluation_name"]: each for each in record["evaluation_results"]}
    accuracy = results["calibration.accuracy"]
    assert accuracy["score_details"]["score"] == 0.5
    uncertainty = accuracy["score_details"]["uncertainty"]
    assert uncertainty["num_samples"] == 20
    # Wilson at 10 of 20: 0.5 -+ 1.96 sqrt(1/80 + 1.96^2 / 1600 / 4) / (1 + 1.96^2 / 20), by hand 0.2993 and 0.7007.
    assert uncertainty["confidence_interval"]["lower"] == pytest.approx(0.2993, abs=1e-4)
    assert uncertainty["confidence_interval"]["method"] == "Wilson score"
    assert not accuracy["metric_config"]["lower_is_better"]
    assert results["calibration.ece"]["metric_config"]["lower_is_better"]
    gap = results["calibration.confidence_gap"]
    assert gap["score_details"]["score"] == pytest.approx(0.25)
    below = gap["score_details"]["uncertainty"]["confidence_interval"]["lower"] < 0
    assert gap["metric_config"]["min_score"] == (-1.0 if below else 0.0)


def test_one_figure_is_the_result_of_a_benchmark(report, capsys, tmp_path):
    to = tmp_path / "model" / ".eval_results" / "own.yaml"
    done = run(
        capsys,
        "card",
        report,
        "--to",
        to,
        "--benchmark",
        "org/data:task",
        "--figure",
        "calibration.accuracy",
    )
    assert done.code == 0, done.err
    (entry,) = yaml.safe_load(to.read_text())
    assert entry["dataset"] == {"id": "org/data", "task_id": "task"}
    assert entry["value"] == 0.5
    assert "50.0% [29.9, 70.1] on 20 items" in entry["notes"]
    assert EvalResultEntry(
        dataset_id="org/data", task_id="task", value=entry["value"], notes=entry["notes"]
    )


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ((), "--figure with own.yaml"),
        (("--benchmark", "org/data:task"), "--figure with own.yaml"),
        (("--figure", "calibration.ece"), "--figure with own.yaml"),
        (("--benchmark", "org/data", "--figure", "calibration.ece"), "as org/data:task, but got 'org/data'."),
        (("--benchmark", "a/b:c", "--figure", "calibration.ec"), "Did you mean 'calibration.ece'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(report, capsys, tmp_path, how, sentence):
    done = run(capsys, "card", report, "--to", tmp_path / "own.yaml", *how)
    assert done.code != 0
    assert sentence in done.err
    assert not (tmp_path / "own.yaml").exists()
