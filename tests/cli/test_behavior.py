"""`rightreasons behavior` from a suite and a model, or stored answers, to a page."""

import json

import pytest

from rightreasons.cli import main
from tiny_suites import behavior_suite


def run(capsys, *words):
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in ("behavior", *words)])
    return stopped.value.code, capsys.readouterr()


def test_a_model_is_tested_on_a_suite(world, tmp_path, capsys):
    code, said = run(capsys, world / "model", world / "suite.jsonl", "--out", tmp_path / "out")
    assert code == 0, said.err
    written = json.loads((tmp_path / "out" / "pass_rates.json").read_text())
    assert len(written["functionalities"]) == 5
    assert f"Mean over functionalities: {written['behavioral_pass_rate']:.1%}" in said.out
    assert "I: intensifiers" in said.out


def test_options_come_before_or_after_the_arguments(world, tmp_path, capsys):
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


def test_one_argument_is_not_enough(world, capsys):
    code, said = run(capsys, world / "suite.jsonl")
    assert (code, "a suite and --predictions, but got only one argument" in said.err) == (2, True)


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


def test_a_reader_is_tested_on_a_suite(reading, tmp_path, capsys):
    code, said = run(capsys, reading / "model", reading / "suite.jsonl", "--out", tmp_path / "out")
    assert code == 0, said.err
    assert "W: which is good" in said.out
    code, said = run(capsys, reading / "suite.jsonl", reading / "suite.jsonl", "--out", tmp_path / "two")
    assert code == 2


def test_errors_are_one_sentence(world, tmp_path, capsys):
    code, said = run(capsys, world / "model", "checklist_sentimant")
    assert code == 2
    assert "Did you mean 'checklist_sentiment'" in said.err
