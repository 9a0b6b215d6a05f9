"""`rightreasons behavior` from a suite and a model to a table."""

import json

import pytest

from rightreasons.cli import main
from tiny_models import save_tiny_classifier, save_tiny_reader, tiny_questions, tiny_texts
from tiny_suites import behavior_suite, reading_suite


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("behavior-cli")
    save_tiny_classifier(folder / "model")
    behavior_suite().write(folder / "suite.jsonl")
    texts, labels = tiny_texts(24)
    (folder / "data").mkdir()
    for name, part in (("train", slice(0, 16)), ("test", slice(16, 24))):
        rows = [f"{text},{label}" for text, label in zip(texts[part], labels[part], strict=True)]
        (folder / "data" / f"{name}.csv").write_text("\n".join(["text,label", *rows]))
    return folder


def run(capsys, *words):
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in ("behavior", *words)])
    return stopped.value.code, capsys.readouterr()


def test_a_model_is_tested_on_a_suite(world, tmp_path, capsys):
    code, said = run(capsys, "test", world / "model", world / "suite.jsonl", "--out", tmp_path / "out")
    assert code == 0, said.err
    written = json.loads((tmp_path / "out" / "pass_rates.json").read_text())
    assert len(written["functionalities"]) == 5
    assert f"Mean over functionalities: {written['behavioral_pass_rate']:.1%}" in said.out
    assert "I: intensifiers" in said.out


def test_plan_run_collect(world, tmp_path, capsys):
    folder = tmp_path / "plan"
    words = ("--model", world / "model", "--suite", world / "suite.jsonl", "--data", world / "data")
    words += ("--test-split", "test", "--configurations", "IID,IID->T", "--methods", "lp", "--partitions", "seen,type")
    code, said = run(capsys, "plan", folder, *words, "--iid-epochs", "1")
    assert code == 0, said.err
    assert "5 runs" in said.out
    for shard in ("1/2", "2/2"):
        code, said = run(capsys, "run", folder, "--shard", shard)
        assert code == 0, said.err
    assert "5 of 5 are finished" in said.out
    code, said = run(capsys, "collect", folder)
    assert code == 0, said.err
    rows = json.loads((folder / "collected.json").read_text())["rows"]
    assert [row["configuration"] for row in rows] == ["IID", "IID->T"]
    assert list(rows[1]["scores"]) == ["seen", "type"]


def test_a_grid_is_kept_with_the_plan(world, tmp_path, capsys):
    folder = tmp_path / "plan"
    words = ("--model", world / "model", "--suite", world / "suite.jsonl", "--data", world / "data")
    words += ("--test-split", "test", "--configurations", "IID->T", "--methods", "lp", "--partitions", "seen")
    words += ("--grid", "head_learning_rate=1e-3,0.1 epochs=1,2", "--iid-epochs", "1")
    code, said = run(capsys, "plan", folder, *words)
    assert code == 0, said.err
    assert "1 runs, each the best of 4 settings" in said.out
    code, said = run(capsys, "run", folder)
    assert code == 0, said.err
    header, _ = (json.loads(line) for line in (folder / "plan.jsonl").read_text().splitlines())
    assert header["settings"]["grid"][1] == {"head_learning_rate": 1e-3, "epochs": 2.0}
    (result,) = (json.loads(file.read_text()) for file in (folder / "results").glob("*.json"))
    chosen = {name: result["options"][name] for name in ("head_learning_rate", "epochs")}
    assert chosen in header["settings"]["grid"]
    code, said = run(capsys, "plan", tmp_path / "other", *words[:-4], "--grid", "epoch=1")
    assert code == 2
    assert "Did you mean 'epochs'" in said.err


@pytest.fixture(scope="module")
def reading(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reading-cli")
    save_tiny_reader(folder / "model")
    reading_suite().write(folder / "suite.jsonl")
    rows = tiny_questions(24)
    lines = [json.dumps(dict(zip(rows, row, strict=True))) + "\n" for row in zip(*rows.values(), strict=True)]
    (folder / "data").mkdir()
    for name, part in (("train", slice(0, 16)), ("test", slice(16, 24))):
        (folder / "data" / f"{name}.jsonl").write_text("".join(lines[part]))
    return folder


def test_a_reader_is_tested_on_a_suite(reading, tmp_path, capsys):
    code, said = run(capsys, "test", reading / "model", reading / "suite.jsonl", "--out", tmp_path / "out")
    assert code == 0, said.err
    assert "W: which is good" in said.out
    code, said = run(capsys, "test", reading / "suite.jsonl", reading / "suite.jsonl", "--out", tmp_path / "two")
    assert code == 2


def test_a_plan_of_reading(reading, tmp_path, capsys):
    folder = tmp_path / "plan"
    words = ("--model", reading / "model", "--suite", reading / "suite.jsonl", "--data", reading / "data")
    words += ("--test-split", "test", "--configurations", "IID,IID->T", "--methods", "lp", "--partitions", "seen")
    code, said = run(capsys, "plan", folder, *words, "--iid-epochs", "1")
    assert code == 0, said.err
    code, said = run(capsys, "run", folder)
    assert code == 0, said.err
    code, said = run(capsys, "collect", folder)
    assert code == 0, said.err
    assert said.out.count("i.i.d. F1") == 2
    code, said = run(capsys, "plan", tmp_path / "other", *words, "--text-column", "question")
    assert code == 2
    assert "Expected no --text-column for a suite of reading" in said.err


def test_errors_are_one_sentence(world, tmp_path, capsys):
    code, said = run(capsys, "run", tmp_path)
    assert code == 2
    assert "has no plan.jsonl" in said.err
    code, said = run(capsys, "test", world / "model", "checklist_sentimant")
    assert code == 2
    assert "Did you mean 'checklist_sentiment'" in said.err
