"""`rightreasons fine-tune`: from a table to a model, and the command that audits it."""

import json
import shlex

import pytest

from rightreasons.cli import main
from rightreasons.training.finetune import _StopAtStep
from tiny_models import tiny_texts

QUICK = ("--cpu", "--batch-size", "8", "--learning-rate", "3e-3")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    file = tmp_path_factory.mktemp("table") / "reviews.csv"
    texts, labels = tiny_texts(60)
    rows = [f"{text},{('no', 'yes')[label]}" for text, label in zip(texts, labels, strict=True)]
    file.write_text("\n".join(["review,good", *rows]), "utf-8")
    return file


def run(*words):
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    return stop.value.code or 0


def test_a_table_becomes_a_model_whose_audit_sees_what_was_held_out(
    encoder_folder, table, tmp_path, capfd
):
    columns = ("--text-column", "review", "--label-column", "good")
    assert (
        run(
            "fine-tune",
            encoder_folder,
            table,
            *columns,
            *QUICK,
            "--epochs",
            "8",
            "--out",
            tmp_path / "m",
        )
        == 0
    )
    said = capfd.readouterr()
    assert "reviews.csv, data." in said.err
    assert "of held_out: accuracy" in said.out
    assert "{" not in said.out
    held_out = [
        json.loads(line)
        for line in (tmp_path / "m" / "data" / "test.jsonl").read_text("utf-8").splitlines()
    ]
    assert {row["label"] for row in held_out} == {"no", "yes"}
    command = shlex.split(said.out.split("Next: ")[1])
    assert command == ["rightreasons", "audit", str(tmp_path / "m"), str(tmp_path / "m" / "data")]
    audited = (
        *command[1:],
        "--questions",
        "calibration",
        "--n-resamples",
        "30",
        "--out",
        tmp_path / "report",
    )
    assert run(*audited) == 0
    record = json.loads((tmp_path / "report" / "audit.json").read_text("utf-8"))
    assert record["dataset"]["splits"][0]["n_items"] == len(held_out)


def test_the_audit_is_told_where_the_data_has_a_split_for_it(
    encoder_folder, world, tmp_path, capfd
):
    assert run("fine-tune", encoder_folder, world / "data", *QUICK, "--epochs", "1", "--text-column", "text",
               "--validation-split", "test", "--label-names", "0,1", "--out", tmp_path / "m") == 0  # fmt: skip
    command = (
        f"rightreasons audit {tmp_path / 'm'} {world / 'data'} --split test --text-column text"
    )
    said = capfd.readouterr().out
    assert f"Next: {command}\n" in said


def test_a_run_that_is_stopped_goes_on(encoder_folder, table, tmp_path, capfd, monkeypatch):
    words = ("fine-tune", encoder_folder, table, "--label-column", "good", *QUICK, "--epochs", "2",
             "--checkpoint-steps", "4", "--out", tmp_path / "m")  # fmt: skip
    with monkeypatch.context() as patch:
        step = _StopAtStep.on_step_end

        def stop_at(self, args, state, control, **how):
            step(self, args, state, control, **how)
            if state.global_step == 6:
                raise KeyboardInterrupt

        patch.setattr(_StopAtStep, "on_step_end", stop_at)
        assert run(*words) == 130
    assert not (tmp_path / "m" / "result.json").exists()
    assert run(*words) == 0
    assert "resumed at step 4" in capfd.readouterr().out
    assert run(*words) == 0  # finished: told again, not done again
    assert "resumed at step 4" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--task", "reading"), "Expected --task to be one of"),
        (("--held-out", "2"), "Expected --held-out"),
        (("--label-column", "bad"), "'bad'"),
        (("--label-column", "good", "--train-split", "test"), "'test'"),
    ],
)
def test_mistakes_are_one_sentence(encoder_folder, table, tmp_path, capfd, words, told):
    assert run("fine-tune", encoder_folder, table, *words, "--out", tmp_path / "m") == 2
    said = capfd.readouterr().err.strip()
    assert told in said
    assert said.count("\n") == 0
    assert not (tmp_path / "m").exists()
