"""`rightreasons learn` from a plan to its scores."""

import dataclasses
import json

import pytest

from command_line import run
from rightreasons.behavior.learning.plan import open_task
from tiny_models import save_tiny_classifier
from tiny_suites import behavior_suite


def test_plan_run_collect(world, tmp_path, capsys):
    folder = tmp_path / "plan"
    words = ("--model", world / "model", "--suite", world / "suite.jsonl", "--data", world / "data")
    words += (
        "--test-split",
        "test",
        "--configurations",
        "IID,IID->T",
        "--methods",
        "lp",
        "--partitions",
        "seen,type",
    )
    said = run(capsys, "learn", "plan", folder, *words, "--iid-epochs", "1")
    assert said.code == 0, said.err
    assert "5 runs" in said.out
    said = run(capsys, "learn", "run", folder)
    assert said.code == 0, said.err
    assert "5 of 5 are finished" in said.out
    said = run(capsys, "learn", "collect", folder)
    assert said.code == 0, said.err
    rows = json.loads((folder / "collected.json").read_text())["rows"]
    assert [row["configuration"] for row in rows] == ["IID", "IID->T"]
    assert list(rows[1]["scores"]) == ["seen", "type"]
    assert list(rows[1]["p_values"]) == ["iid", "seen", "type"]
    # Without runs that hold out functionalities nothing can judge.
    said = run(capsys, "learn", "collect", folder, "--page", tmp_path / "proof")
    assert (said.code, "hold out" in said.err) == (2, True)
    assert not (tmp_path / "proof").exists()


def test_a_grid_is_kept_with_the_plan(world, tmp_path, capsys):
    folder = tmp_path / "plan"
    words = ("--model", world / "model", "--suite", world / "suite.jsonl", "--data", world / "data")
    words += (
        "--test-split",
        "test",
        "--configurations",
        "IID->T",
        "--methods",
        "lp",
        "--partitions",
        "seen",
    )
    words += (
        "--grid",
        '{"head_learning_rate": [1e-3, 0.1], "epochs": [1, 2]}',
        "--iid-epochs",
        "1",
    )
    said = run(capsys, "learn", "plan", folder, *words)
    assert said.code == 0, said.err
    assert "1 run, each the best of 4 settings" in said.out
    said = run(capsys, "learn", "run", folder)
    assert said.code == 0, said.err
    planned = json.loads((folder / "plan.json").read_text())["value"]
    assert planned["settings"]["grid"][1] == {"head_learning_rate": 1e-3, "epochs": 2.0}
    (result,) = (
        json.loads(file.read_text())["value"] for file in (folder / "results").glob("*.json")
    )
    chosen = {name: result["options"][name] for name in ("head_learning_rate", "epochs")}
    assert chosen in planned["settings"]["grid"]
    said = run(capsys, "learn", "plan", tmp_path / "other", *words[:-4], "--grid", '{"epoch": [1]}')
    assert said.code == 2
    assert "Did you mean 'epochs'" in said.err


def test_labels_of_data_and_model_go_by_the_names_of_the_suite(world, tmp_path, capsys):
    named = behavior_suite()
    suite = named.write(tmp_path / "named.jsonl")
    source = {"model": "m", "suite": str(suite), "test_split": "test"}

    def labels(*names):
        folder = tmp_path / "-".join(names)
        folder.mkdir()
        for part in ("train", "test"):
            rows = [
                f"film {word},{names[number % 2]}"
                for number, word in enumerate(("bad", "good") * 4)
            ]
            (folder / f"{part}.csv").write_text("\n".join(["text,label", *rows]))
        return open_task({**source, "data": str(folder)}).train.labels

    # Sorted by name, "Good" would be class 0: both orders of the names give negative 0 and positive 1.
    assert list(labels("Negative", "Positive")) == [0, 1] * 4
    assert list(labels("0", "1")) == [0, 1] * 4
    with pytest.raises(ValueError, match=r"'tiny' \(negative, positive\)"):
        labels("bad", "good")
    binary = dataclasses.replace(
        named,
        functionalities=tuple(f for f in named.functionalities if f.name == "actors"),
        label_names=("yes", "no"),
    )
    source["suite"] = str(binary.write(tmp_path / "binary.jsonl"))
    assert list(labels("yes", "no")) == [0, 1] * 4  # in the order of the suite, not of the alphabet
    # A model whose classes are in another order would learn the suite the wrong way round.
    save_tiny_classifier(tmp_path / "turned", label_names=("positive", "negative"))
    words = (
        "--model",
        tmp_path / "turned",
        "--suite",
        suite,
        "--data",
        world / "data",
        "--test-split",
        "test",
    )
    words += ("--configurations", "IID->T", "--methods", "lp", "--partitions", "seen")
    assert run(capsys, "learn", "plan", tmp_path / "plan", *words).code == 0
    said = run(capsys, "learn", "run", tmp_path / "plan")
    assert said.code == 2
    assert "positive, negative" in said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--max-length", "0"), "--max-length to be at least 4"),
        (("--epochs", "0"), "--epochs to be above 0"),
        (("--iid-epochs", "nan"), "(in `iid_options`)"),
        (("--activation", "relu"), "'softmax' or 'sigmoid'"),
        (("--grid", '{"precision": ["foo"]}'), "'float32' or 'bfloat16'"),
        (("--seeds", "1,²"), "--seeds to be comma-separated whole numbers"),
        (("--seeds", "4294967296"), "`seed` to be at most 4294967295"),
    ],
)
def test_a_plan_that_cannot_run_is_not_written(world, tmp_path, capsys, words, said):
    folder = tmp_path / "plan"
    given = ("--model", world / "model", "--suite", world / "suite.jsonl", "--data", world / "data")
    told = run(capsys, "learn", "plan", folder, *given, "--test-split", "test", *words)
    assert told.code == 2
    assert said in told.err
    assert not folder.exists()


def test_a_plan_runs_from_another_folder(world, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(world)
    words = ("--model", "model", "--suite", "suite.jsonl", "--data", "data", "--test-split", "test")
    said = run(
        capsys,
        "learn",
        "plan",
        tmp_path / "plan",
        *words,
        "--configurations",
        "IID",
        "--iid-epochs",
        "1",
    )
    assert said.code == 0, said.err
    monkeypatch.chdir(tmp_path)
    said = run(capsys, "learn", "run", tmp_path / "plan")
    assert said.code == 0, said.err
    assert "1 of 1 are finished" in said.out


def test_a_data_yaml_says_which_columns(world, tmp_path, capsys):
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("train", "test"):
        rows = (world / "data" / f"{name}.csv").read_text().replace("text", "review", 1)
        (folder / f"{name}.csv").write_text(rows)
    (tmp_path / "data.yaml").write_text("data: data\ntext_column: review\n")
    words = (
        "--model",
        world / "model",
        "--suite",
        world / "suite.jsonl",
        "--data",
        tmp_path / "data.yaml",
    )
    said = run(
        capsys,
        "learn",
        "plan",
        tmp_path / "plan",
        *words,
        "--test-split",
        "test",
        "--configurations",
        "IID",
    )
    assert said.code == 0, said.err


def test_one_table_is_not_enough_for_a_plan(world, tmp_path, capsys):
    words = (
        "--model",
        world / "model",
        "--suite",
        world / "suite.jsonl",
        "--data",
        world / "data" / "train.csv",
    )
    said = run(capsys, "learn", "plan", tmp_path / "plan", *words)
    assert said.code == 2
    assert "one table. Pass" in said.err


def test_a_plan_of_reading(reading, tmp_path, capsys):
    folder = tmp_path / "plan"
    words = (
        "--model",
        reading / "model",
        "--suite",
        reading / "suite.jsonl",
        "--data",
        reading / "data",
    )
    words += (
        "--test-split",
        "test",
        "--configurations",
        "IID,IID->T",
        "--methods",
        "lp",
        "--partitions",
        "seen",
    )
    said = run(capsys, "learn", "plan", folder, *words, "--iid-epochs", "1")
    assert said.code == 0, said.err
    said = run(capsys, "learn", "run", folder)
    assert said.code == 0, said.err
    said = run(capsys, "learn", "collect", folder)
    assert said.code == 0, said.err
    heading, *rows = (
        line for line in said.out.splitlines() if line.startswith(("  configuration", "  IID"))
    )
    assert heading.endswith("i.i.d. F1")
    assert len(rows) == 2
    assert all(row.endswith("%") for row in rows)


def test_errors_are_one_sentence(tmp_path, capsys):
    said = run(capsys, "learn", "run", tmp_path)
    assert said.code == 2
    assert "has no plan.json" in said.err
    said = run(capsys, "learn", "colect", tmp_path)
    assert said.code == 2
    assert "collect, plan" in said.err
