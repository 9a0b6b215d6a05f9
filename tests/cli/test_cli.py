"""The command line as a person meets it: what it prints, how it fails, how fast its help comes."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
import transformers

from command_line import run
from rightreasons.cli import COMMANDS, main
from rightreasons.cli.commands import MAX_SHOWN_OPTIONS
from tiny_causal import tiny_causal_tokenizer
from tiny_models import save_tiny_classifier, save_tiny_encoder, tiny_texts

pytestmark = pytest.mark.usefixtures("unrendered")

NAMES = {0: "negative", 1: "positive"}
QUICK = ("--n-resamples", "20", "--questions", "calibration")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_tiny_classifier(tmp_path_factory.mktemp("cli") / "tiny")


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    texts, labels = tiny_texts(30)
    file = tmp_path_factory.mktemp("cli-data") / "reviews.csv"
    rows = [
        f"{text},{('negative', 'positive')[label]}"
        for text, label in zip(texts, labels, strict=True)
    ]
    file.write_text("\n".join(["review,verdict", *rows]))
    return file


def test_a_decoder_without_a_padding_token_is_padded_with_its_end(capsys, reviews, tmp_path):
    words = tiny_causal_tokenizer()
    words.eos_token = words.bos_token
    sizes = {"n_embd": 8, "n_layer": 1, "n_head": 1, "n_positions": 32, "vocab_size": len(words)}
    model = transformers.GPT2ForSequenceClassification(
        transformers.GPT2Config(**sizes, id2label=NAMES)
    )
    for part in (model, words):
        part.save_pretrained(tmp_path / "model")
    columns = ("--text-column", "review", "--label-column", "verdict")
    code, _, told = run(
        capsys, "audit", tmp_path / "model", reviews, "--out", tmp_path / "report", *columns, *QUICK
    )
    assert code == 0, told


def test_a_model_without_gradients_has_no_ranking(capsys, reviews, tmp_path, monkeypatch):
    save_tiny_classifier(tmp_path / "model")
    (tmp_path / "data").mkdir()
    for name in ("train", "test"):
        shutil.copy(reviews, tmp_path / "data" / f"{name}.csv")

    def refuse(*_):
        raise ValueError("Expected a model that this can follow.")

    # In the class: whoever imports it for the first time meanwhile keeps the class.
    monkeypatch.setattr("rightreasons.models.gradients.inputs.EmbeddingInput.__init__", refuse)
    columns = ("--text-column", "review", "--label-column", "verdict", "--n-resamples", "20")
    asked = ("--questions", "calibration,shortcuts,difficulty")
    code, _, _ = run(
        capsys,
        "audit",
        tmp_path / "model",
        tmp_path / "data",
        "--out",
        tmp_path / "report",
        *columns,
        *asked,
    )
    assert code == 0
    record = json.loads((tmp_path / "report" / "audit.json").read_text("utf-8"))
    statuses = {
        each["question"]: (each["status"], each.get("reason")) for each in record["questions"]
    }
    assert statuses["shortcuts"] == ("answered", "")
    assert statuses["difficulty"][0] == "skipped"


def test_help_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom rightreasons.cli import main\n"
        "for words in ([], ['audit'], ['ways'], ['reasons'], ['data', 'export'], ['learn', 'plan'], ['confidence']):\n"
        "    try:\n        main([*words, '--help'])\n    except SystemExit:\n        pass\n"
        "heavy = {'torch', 'transformers', 'datasets', 'evaluate', 'vl_convert', 'numpy', 'scipy'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))\n"
        # Processor time: the clock on the wall also counts what else the machine does.
        "import time; assert time.process_time() < 3.0, time.process_time()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "HEAVY []" in done.stdout
    for command in ("audit", "compare", "data", "demo", "doctor"):
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["audit", "my-model", "my-data"], "Auditing my-model on my-data … []"),
        (["behavior", "my-model", "mine"], "Testing my-model on mine … []"),
    ],
)
def test_what_is_audited_is_printed_before_anything_slow_is_imported(words, line):
    code = (
        "import sys\n"
        "from rightreasons.cli import ask, main\n"
        "def stop(line):\n"
        "    slow = {'torch', 'transformers', 'datasets', 'pandas', 'scipy'} & set(sys.modules)\n"
        "    raise SystemExit(f'{line} {sorted(slow)}')\n"
        "ask.tell = stop\n"
        f"main({words})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert line in done.stderr + done.stdout


def test_every_command_has_help(capsys):
    code, out, _ = run(capsys, "--help")
    assert code == 0
    told = out.split("Audit a model:")[1]
    commands = [
        line.split()[0] for line in told.splitlines() if line[:3] == "  " + line[2:3].strip()
    ]
    assert {"audit", "compare", "data", "demo", "doctor"} <= set(commands)
    for command in commands:
        code, out, _ = run(capsys, command, "--help")
        assert code == 0
        assert out.startswith(f"Usage: rightreasons {command}")
        assert f"Examples:\n    rightreasons {command}" in out


@pytest.mark.parametrize("command", [name for names in COMMANDS.values() for name in names])
def test_the_help_of_a_command_is_one_screen(capsys, command):
    _, out, _ = run(capsys, command, "--help")
    flags = [line.split()[0].rstrip(",") for line in out.splitlines() if line.startswith("  -")]
    assert len(flags) <= MAX_SHOWN_OPTIONS
    assert len(set(flags)) == len(flags)
    assert "--server-model" not in flags
    if "--help-all" in flags:
        _, every, _ = run(capsys, command, "--help-all")
        all_flags = [
            line.split()[0].rstrip(",") for line in every.splitlines() if line.startswith("  -")
        ]
        (said,) = re.findall(r"Show all options \((\d+) more\)", out)
        assert set(all_flags) >= set(flags) - {"--help-all"}
        assert len(all_flags) == len(flags) - 1 + int(said)


@pytest.mark.parametrize(("typed", "meant"), [("adit", "audit"), ("calibrate", "calibration")])
def test_a_misspelt_command_is_answered_with_the_nearest(capsys, typed, meant):
    code, _, err = run(capsys, typed, "model", "data")
    assert code == 2
    assert "Did you mean" in err
    assert f"'{meant}'" in err.split("Known:")[0]


def test_a_group_of_commands_names_those_it_has(capsys):
    code, _, err = run(capsys, "suite", "checklist_sentiment")
    assert (code, err) == (
        2,
        "Error: Expected the name of a command, but got 'checklist_sentiment'. Known: convert.\n",
    )


def test_the_first_options_of_an_audit_come_first(capsys):
    _, out, _ = run(capsys, "audit", "--help")
    flags = [line.split()[0] for line in out.splitlines() if line.startswith("  --")]
    assert flags[:3] == ["--text-column", "--label-column", "--open"]
    assert out.count("\n") <= 55


def test_examples_of_a_group_are_with_its_commands(capsys):
    _, out, _ = run(capsys, "data", "split", "--help")
    (example,) = out.split("Examples:\n")[1].splitlines()
    assert example == "    rightreasons data split socialiqa --n-runs 3 --limit 1000 --out split"


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("rec", ["recalibrate"]), ("audit --open", ["--open"]), ("shortcuts --shortcuts", [])],
)
def test_completion(typed, completed):
    words = f"rightreasons {typed}"
    environment = {"_RIGHTREASONS_COMPLETE": "complete_bash", "COMP_WORDS": words}
    environment["COMP_CWORD"] = str(len(words.split()) - 1)
    code = "import os, sys\nfrom rightreasons.cli import main\nmain([])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=True,
    )
    assert done.stdout.split() == completed


@pytest.mark.parametrize(
    ("wish", "shown"),
    [
        ({}, False),
        ({"HF_DATASETS_DISABLE_PROGRESS_BARS": "0", "TQDM_DISABLE": ""}, True),
    ],  # where no terminal is
)
def test_bars_of_datasets_do_not_bury_the_lines_that_matter(wish, shown):
    code = """
import contextlib
from rightreasons.cli import main
with contextlib.suppress(SystemExit):
    main(["data", "list"])
import datasets
datasets.Dataset.from_list([{"a": 1}]).map(lambda row: row, desc="no_question")
"""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name != "HF_DATASETS_DISABLE_PROGRESS_BARS"
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**environment, **wish},
        check=True,
    )
    assert ("no_question" in done.stderr) == shown
    assert "planted_shortcuts" in done.stdout


def test_no_words_are_answered_with_help(capsys):
    _, out, told = run(capsys, "audit")
    assert "Usage: rightreasons" in out + told


def test_the_report_opens_in_a_browser(capsys, tiny, reviews, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)  # returns None, as where there is none
    columns = ("--text-column", "review", "--label-column", "verdict", "--open")
    code, _, told = run(
        capsys, "audit", tiny, reviews, "--out", tmp_path / "report", *columns, *QUICK
    )
    assert (code, opened) == (0, [(tmp_path / "report" / "index.html").as_uri()])
    assert "No browser could be started" in told


def test_device_and_type_of_the_weights(capsys, tiny, reviews, tmp_path):
    columns = (
        "--text-column",
        "review",
        "--label-column",
        "verdict",
        "--device",
        "cpu",
        "--dtype",
        "float64",
    )
    code, _, _ = run(capsys, "audit", tiny, reviews, "--out", tmp_path / "report", *columns, *QUICK)
    settings = json.loads((tmp_path / "report" / "audit.json").read_text("utf-8"))["settings"]
    assert (code, settings["device"], settings["dtype"]) == (0, "cpu", "float64")
    code, _, told = run(
        capsys,
        "audit",
        tiny,
        reviews,
        "--out",
        tmp_path / "r",
        *columns,
        "--device",
        "moon",
        *QUICK,
    )
    assert code == 2
    assert "Expected `device` to be one of this machine" in told.replace("--device", "`device`")


def test_audit_of_a_local_file(capsys, tiny, reviews, tmp_path):
    columns = ("--text-column", "review", "--label-column", "verdict")
    code, out, told = run(
        capsys, "audit", tiny, reviews, "--out", tmp_path / "report", *columns, *QUICK
    )
    assert code == 0
    assert f"Labels of {reviews} matched with the classes by name: negative, positive." in told
    assert "Does its confidence match its accuracy?" in out
    assert f"Report: {tmp_path / 'report' / 'index.html'}" in out
    said = json.loads((tmp_path / "report" / "audit.json").read_text("utf-8"))
    assert said["dataset"]["splits"][0]["n_items"] == 30
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert f"rightreasons audit {tiny} {reviews}" in page
    assert "--text-column review" in page
    assert "--label-column verdict" in page


def test_compare(capsys, tiny, reviews, tmp_path):
    other = save_tiny_classifier(tmp_path / "other", seed=1)
    for model in (tiny, other):
        run(capsys, "audit", model, reviews, "--out", tmp_path / f"report-{model.name}", "--text-column", "review",
            "--label-column", "verdict", *QUICK)  # fmt: skip
    folders = tmp_path / "report-tiny", tmp_path / "report-other"
    code, out, _ = run(
        capsys, "compare", *folders, "--out", tmp_path / "both", "--n-resamples", "50"
    )
    assert code == 0
    assert "no significant difference between tiny and other" in " ".join(out.split())
    assert "Accuracy" in out
    assert (tmp_path / "both" / "index.html").is_file()


def test_a_process_alone_prints_whatever_its_rank_is(capsys, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.strip()


def test_version(capsys):
    code, out, _ = run(capsys, "--version")
    assert (code, out.strip()[0].isdigit()) == (0, True)


def test_data(capsys):
    code, out, _ = run(capsys, "data", "list")
    assert code == 0
    assert "planted_shortcuts" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("audit", "no/such/model/here", "planted_shortcuts"),
            "folder 'no/such/model/here'",
        ),
        (
            (
                "audit",
                "{encoder}",
                "{reviews}",
                "--text-column",
                "review",
                "--label-column",
                "verdict",
            ),
            "lacks the weights",
        ),
        (
            ("audit", "{tiny}", "nowhere.csv"),
            "set at nowhere.csv",
        ),
        (
            ("audit", "{tiny}", "{reviews}", "--text-column", "text", "--label-column", "verdict"),
            "--text-column names",
        ),
        (
            ("audit", "{tiny}", "{reviews}", "--questions", "calibratio"),
            "Did you mean 'calibration'?",
        ),
        (
            ("audit", "{tiny}", "trec"),
            "(negative, positive)",
        ),
        (
            (
                "audit",
                "{tiny}",
                "{reviews}",
                "--text-column",
                "review",
                "--label-column",
                "verdict",
                "--questions",
                "reasons,shortcuts",
            ),
            "shortcuts: There",
        ),
        (
            (
                "shortcuts",
                "{tiny}",
                "{reviews}",
                "--text-column",
                "review",
                "--label-column",
                "verdict",
            ),
            "to answer all that apply.",
        ),
        (("compare", "{reviews}", "{reviews}"), "Expected a column with the labels in"),
        (("audt",), "mean 'audit'"),
        (
            ("audit", "{tiny}", "{reviews}", "--limt", "3"),
            "option: --limt",
        ),
        (
            ("audit", "{tiny}", "{reviews}", "--limit", "ten"),
            "`rightreasons audit -h` lists",
        ),
        (
            ("audit", "{tiny}", "{reviews}", "--confidence-level", "x"),
            "invalid value for '--confidence-level'",
        ),
        (
            ("audit", "{tiny}", "{reviews}", "--limit"),
            "'--limit' requires",
        ),
        (
            ("audit", "{tiny}", "{reviews}", "--plan=no"),
            "option '--plan'",
        ),
        (
            ("audit", "{tiny}", "{reviews}", "more", "yet"),
            "argument(s) (more yet)",
        ),
        (
            ("data", "ratings", "read", "{reviews}"),
            "Expected SHEETS after",
        ),
        (
            ("split", "{reviews}"),
            "'data split'",
        ),
        (
            ("ratings", "read"),
            "'data ratings'",
        ),
        (
            ("audit", "{tiny}", "{reviews}", "--difficulty-items", "10"),
            "--difficulty-items to",
        ),
        (("audit", "--predictions", "{tiny}"), "is a folder: name one of its files"),
        (("audit", "--predictions", "missing.csv"), "but there is no such file"),
    ],
)
def test_a_users_mistake_is_one_sentence(
    capsys, tiny, reviews, tmp_path, monkeypatch, words, message, root
):
    monkeypatch.chdir(tmp_path)
    if "trec" in words:
        folder = root.parent / "shared" / "data"
        if not folder.is_dir():
            pytest.skip("the real benchmark files are absent")
        monkeypatch.setenv("RIGHTREASONS_DATA_DIR", str(folder))
    encoder = save_tiny_encoder(tmp_path / "encoder")
    given = [word.format(tiny=tiny, reviews=reviews, encoder=encoder) for word in words]
    code, out, err = run(capsys, *given)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert out == ""
    assert len([line for line in err.splitlines() if line.startswith("Error: ")]) == 1
    assert not (tmp_path / "report").exists()


def test_developers_get_the_traceback(tiny, capsys):
    with pytest.raises(FileNotFoundError, match="no such file"):
        main(["audit", str(tiny), "nowhere.csv", "--traceback"])


def test_the_module_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "rightreasons", "audit", "x/y/z", "planted_shortcuts"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    error = done.stderr.splitlines()[-1]
    assert error.startswith("Error: Expected the model as a folder or a hub id")
