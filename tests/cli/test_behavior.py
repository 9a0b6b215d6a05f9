"""`rightreasons behavior` from a suite and a model, or stored answers, to a page."""

import json

from command_line import run
from rightreasons.datasets.suites.suite import Case, Functionality, Suite
from tiny_suites import behavior_suite


def test_a_model_is_tested_on_a_suite(world, tmp_path, capsys):
    said = run(
        capsys, "behavior", world / "model", world / "suite.jsonl", "--out", tmp_path / "out"
    )
    assert said.code == 0, said.err
    written = json.loads((tmp_path / "out" / "pass_rates.json").read_text())
    assert len(written["functionalities"]) == 5
    assert f"On average over functionalities, {written['behavioral_pass_rate']:.1%} [" in " ".join(
        said.out.split()
    )
    assert "None are shown" not in said.out  # of failing cases, which only the page has
    assert ". intensifiers " in said.out


def test_options_come_before_or_after_the_arguments(world, tmp_path, capsys):
    said = run(
        capsys,
        "behavior",
        "--max-cases",
        "3",
        world / "model",
        world / "suite.jsonl",
        "--out",
        tmp_path,
    )
    assert said.code == 0, said.err
    assert "classes: 15 cases" in " ".join(said.out.split())
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "/model falls short in 1 of 5 tests: " in page.partition("</h1>")[0]
    assert "rightreasons gate" not in page
    assert "Cases that fail" in page
    assert (tmp_path / "figures" / "behavior_heat_map.png").is_file()
    assert json.loads((tmp_path / "pass_rates.json").read_text())["model"] == str(world / "model")


def test_stored_predictions_are_scored_without_a_model(world, tmp_path, capsys):
    rows = ["p_0,p_1", *["0.9,0.1"] * behavior_suite().n_examples]
    (tmp_path / "surely.csv").write_text("\n".join(rows))
    words = (
        world / "suite.jsonl",
        "--predictions",
        tmp_path / "surely.csv",
        "--out",
        tmp_path / "out",
    )
    said = run(capsys, "behavior", *words)
    assert said.code == 0, said.err
    written = json.loads((tmp_path / "out" / "pass_rates.json").read_text())
    # One answer to everything: it is right of four negative words in ten, never "not negative", and never changes.
    rates = [each["pass_rate"] for each in written["functionalities"]]
    assert rates == [0.4, 0.0, 1.0, 1.0, 1.0]
    assert written["model"] == "surely"
    (tmp_path / "short.csv").write_text("\n".join(rows[:-1]))
    said = run(capsys, "behavior", *words, "--predictions", tmp_path / "short.csv")
    assert said.code == 2
    assert "suite 'tiny'" in said.err


def test_labels_alone_have_no_directional_tests(world, tmp_path, capsys):
    (tmp_path / "labels.jsonl").write_text('{"prediction": 1}\n' * behavior_suite().n_examples)
    words = (world / "suite.jsonl", "--predictions", tmp_path / "labels.jsonl")
    said = run(capsys, "behavior", *words, "--out", tmp_path / "out")
    # Labels have no confidence, which directional tests ask for.
    assert said.code == 2
    assert "Expected class probabilities" in said.err
    said = run(capsys, "behavior", world / "model", *words, "--out", tmp_path / "out")
    assert (said.code, "a suite and --predictions, but got more" in said.err) == (2, True)


def test_answers_in_words_and_columns_by_name(tmp_path, capsys):
    cases = Case("1", (("you are awful",),), (1,)), Case("2", (("you are nice",),), (0,))
    slur = Functionality("slur", "slur", "MFT", {"name": "equal"}, cases)
    Suite("s", ("text",), (slur,), ("non-hateful", "hateful")).write(tmp_path / "s.jsonl")
    files = {
        "words.csv": "prediction\nhateful\nnon-hateful\n",
        "turned.csv": "p_hateful,p_non-hateful\n0.9,0.1\n0.2,0.8\n",
        "ordered.csv": "p_non-hateful,p_hateful\n0.1,0.9\n0.8,0.2\n",
        "numbers.csv": "prediction\n1\n0\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_text(content)
        said = run(
            capsys,
            "behavior",
            tmp_path / "s.jsonl",
            "--predictions",
            tmp_path / name,
            "--out",
            tmp_path / "out",
        )
        assert said.code == 0, said.err
        written = json.loads((tmp_path / "out" / "pass_rates.json").read_text())
        assert written["behavioral_pass_rate"] == 1, name
        assert f"labels of the suite were matched {written['labels']}." in " ".join(
            said.out.split()
        )
        assert written["labels"] in (tmp_path / "out" / "index.html").read_text("utf-8")
    (tmp_path / "odd.csv").write_text("prediction\nmaybe\nhateful\n")
    said = run(
        capsys,
        "behavior",
        tmp_path / "s.jsonl",
        "--predictions",
        tmp_path / "odd.csv",
        "--out",
        tmp_path / "odd",
    )
    assert said.code == 2
    assert "non-hateful, hateful" in said.err


def test_one_argument_is_not_enough(world, capsys):
    said = run(capsys, "behavior", world / "suite.jsonl")
    assert (said.code, "only one argument" in said.err) == (
        2,
        True,
    )


def test_an_audit_with_a_suite(world, tmp_path, capsys):
    words = [
        "audit",
        world / "model",
        world / "data" / "test.csv",
        "--questions",
        "behavior",
        "--out",
        tmp_path,
    ]
    said = run(
        capsys, *words, "--behavior-suite", world / "suite.jsonl", "--behavior-max-cases", "2"
    )
    assert said.code == 0, said.err
    assert "pass (5 functionalities of tiny)" in " ".join(said.out.split())
    page = (tmp_path / "index.html").read_text("utf-8")
    assert f"--behavior-suite {world / 'suite.jsonl'} --behavior-max-cases 2" in page
    said = run(capsys, *words, "--behavior-max-cases", "2")
    assert (
        said.code,
        "--behavior-suite if" in said.err,
    ) == (2, True)


def test_a_reader_is_tested_on_a_suite(reading, tmp_path, capsys):
    said = run(
        capsys, "behavior", reading / "model", reading / "suite.jsonl", "--out", tmp_path / "out"
    )
    assert said.code == 0, said.err
    assert ". which is good " in said.out
    said = run(
        capsys,
        "behavior",
        reading / "suite.jsonl",
        reading / "suite.jsonl",
        "--out",
        tmp_path / "two",
    )
    assert said.code == 2


def test_errors_are_one_sentence(world, tmp_path, capsys):
    said = run(capsys, "behavior", world / "model", "checklist_sentimant")
    assert said.code == 2
    assert "Did you mean 'checklist_sentiment'" in said.err
