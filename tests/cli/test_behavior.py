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


def test_model_and_suite_alone_are_the_same_command(world, tmp_path, capsys):
    code, said = run(capsys, "--max-cases", "3", world / "model", world / "suite.jsonl", "--out", tmp_path)
    assert code == 0, said.err
    assert "tiny: 15 cases" in said.out
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "model on tiny" in page
    assert "Cases that fail" in page
    assert (tmp_path / "figures" / "behavior_heat_map.png").is_file()
    assert json.loads((tmp_path / "pass_rates.json").read_text())["model"] == str(world / "model")


def test_stored_predictions_are_scored_without_a_model(world, tmp_path, capsys):
    rows = ["p_negative,p_positive", *["0.9,0.1"] * behavior_suite().n_examples]
    (tmp_path / "surely.csv").write_text("\n".join(rows))
    words = (world / "suite.jsonl", "--predictions", tmp_path / "surely.csv", "--out", tmp_path / "out")
    code, said = run(capsys, *words)
    assert code == 0, said.err
    written = json.loads((tmp_path / "out" / "pass_rates.json").read_text())
    # One answer to everything: it is right of four negative words in ten, never "not negative", and never changes.
    rates = [each["pass_rate"] for each in written["functionalities"]]
    assert rates == [0.4, 0.0, 1.0, 1.0, 1.0]
    assert written["model"] == "surely"
    (tmp_path / "short.csv").write_text("\n".join(rows[:-1]))
    code, said = run(capsys, *words, "--predictions", tmp_path / "short.csv")
    assert code == 2
    assert "each of the 84 examples of the suite 'tiny', in its order, but got 83" in said.err


def test_several_models_stand_on_one_page(world, tmp_path, capsys):
    (tmp_path / "labels.jsonl").write_text('{"prediction": 1}\n' * behavior_suite().n_examples)
    words = (world / "model", world / "suite.jsonl", "--predictions", tmp_path / "labels.jsonl", "--examples", "0")
    code, said = run(capsys, *words, "--out", tmp_path / "out")
    # Labels have no confidence, which directional tests ask for.
    assert code == 2
    assert "Expected class probabilities" in said.err
    rows = ["p_negative,p_positive", *["0.9,0.1"] * behavior_suite().n_examples]
    (tmp_path / "surely.csv").write_text("\n".join(rows))
    code, said = run(capsys, *words[:3], tmp_path / "surely.csv", "--out", tmp_path / "out", "--examples", "0")
    assert code == 0, said.err
    told = json.loads((tmp_path / "out" / "pass_rates.json").read_text())
    assert [each["model"] for each in told["models"]] == ["surely", str(world / "model")]
    assert "Which passes what?" in (tmp_path / "out" / "index.html").read_text("utf-8")


def test_a_word_of_two_readings(world, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "collect").mkdir()
    (tmp_path / "collect" / "config.json").write_text("{}")
    code, said = run(capsys, "collect", world / "suite.jsonl")
    assert code == 2
    assert "write ./collect for the model" in said.err
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "plan.jsonl").write_text("")
    code, said = run(capsys, "collect", tmp_path / "plan")  # a plan follows, so the command is meant
    assert "./collect" not in said.err
    code, said = run(capsys, "colect", "somewhere")
    assert (code, "Did you mean 'collect'" in said.err) == (2, True)
    code, said = run(capsys, world / "suite.jsonl")
    assert (code, "a suite and --predictions" in said.err) == (2, True)


def test_an_audit_with_a_suite(world, tmp_path, capsys):
    words = ["audit", world / "model", world / "data" / "test.csv", "--questions", "behavior", "--out", tmp_path]
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in (*words, "--suite", world / "suite.jsonl", "--max-cases", "2")])
    said = capsys.readouterr()
    assert stopped.value.code == 0, said.err
    assert "of the cases of a functionality pass (5 functionalities of tiny)" in " ".join(said.out.split())
    assert f"--suite {world / 'suite.jsonl'} --max-cases 2" in (tmp_path / "index.html").read_text("utf-8")
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in (*words, "--max-cases", "2")])
    assert stopped.value.code == 2
    assert "Expected --suite" in capsys.readouterr().err


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--max-length", "0"), "`max_length` to be at least 4"),
        (("--epochs", "0"), "`epochs of options` to be above 0"),
        (("--iid-epochs", "nan"), "`epochs of iid_options` to be a finite number"),
        (("--activation", "relu"), "'softmax' or 'sigmoid'"),
        (("--grid", "precision=foo"), "`precision of grid[0]` to be one of 'float32' or 'bfloat16'"),
        (("--seeds", "1,²"), "--seeds to be whole numbers"),
        (("--seeds", "4294967296"), "`seed` to be below 2**32"),
    ],
)
def test_a_plan_that_cannot_run_is_not_written(world, tmp_path, capsys, words, said):
    folder = tmp_path / "plan"
    given = ("--model", world / "model", "--suite", world / "suite.jsonl", "--data", world / "data")
    code, told = run(capsys, "plan", folder, *given, "--test-split", "test", *words)
    assert code == 2
    assert said in told.err
    assert not folder.exists()


def test_a_plan_runs_from_another_folder(world, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(world)
    words = ("--model", "model", "--suite", "suite.jsonl", "--data", "data", "--test-split", "test")
    code, said = run(capsys, "plan", tmp_path / "plan", *words, "--configurations", "IID", "--iid-epochs", "1")
    assert code == 0, said.err
    monkeypatch.chdir(tmp_path)
    code, said = run(capsys, "run", tmp_path / "plan")
    assert code == 0, said.err
    assert "1 of 1 are finished" in said.out


def test_one_table_is_not_enough_for_a_plan(world, tmp_path, capsys):
    words = ("--model", world / "model", "--suite", world / "suite.jsonl", "--data", world / "data" / "train.csv")
    code, said = run(capsys, "plan", tmp_path / "plan", *words)
    assert code == 2
    assert "train.csv is one table: give a folder with one file a split" in said.err


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
