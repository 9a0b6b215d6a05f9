"""A user's mistakes, of every command: one sentence, exit code 2, no traceback, and an older result left as it was."""

import dataclasses
import json

import pytest

from command_line import run
from fuzzing.targets.commands import commands, tree
from rightreasons.audited import opening
from rightreasons.calibration.question import CALIBRATION
from rightreasons.report import opening as report_opening
from tiny_models import save_tiny_classifier, save_tiny_multiple_choice, tiny_texts
from tiny_suites import behavior_suite

GOOD = {
    "model": "classifier",
    "models": "classifier",
    "dataset": "data.csv",
    "suite": "suite.jsonl",
    "first": "report",
    "second": "report",
    "predictions": "answers.csv",
    "folder": "plan",
    "data": "texts",
    "file": "data.csv",
    "files": ["scores.csv"],
    "name": "planted_shortcuts",
    "out": "new.jsonl",
    "fit": "scores.csv",
    "reports": ["report", "report"],
    "report": "report",
    "to": "card.md",
    "sheet": "sheet0.csv",
    "sheets": ["sheet0.csv", "sheet1.csv"],
    "source": "data.csv",
    "train": "texts",
    "paper": "kavumba2019",
}
"""What each argument and required option is given where it is not the mistake."""

ITEMS = {
    ("cues",),
    ("debias",),
    ("probes",),
    ("data", "export"),
    ("data", "mirror", "read"),
    ("data", "mirror", "write"),
    ("data", "ratings", "read"),
    ("data", "ratings", "write"),
    ("data", "split"),
}
"""Commands about multiple-choice items."""

INPUTS = (
    *(
        "model",
        "models",
        "dataset",
        "suite",
        "first",
        "second",
        "predictions",
        "folder",
        "file",
        "data",
        "name",
    ),
    *("fit", "sheet", "sheets", "source"),
)
BAD_INPUTS = (
    "nope.csv",
    "nope.jsonl",
    "no/such/folder",
    "",
    "hollow",
    "folder.csv",
    "empty.csv",
    "empty.jsonl",
    "binary.csv",
    "binary.jsonl",
    "binary.parquet",
    "broken",
    "locked.csv",
    "data.csv/x",
    "a" * 300,
)
BAD_OUTPUTS = ("data.csv", "data.csv/x", "/proc/x", "", "classifier", "texts", "a" * 300)
TRAINING = {("demo",), ("data", "split"), ("learn", "run")}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Models, data, and things that are neither."""
    folder = tmp_path_factory.mktemp("mistakes")
    save_tiny_classifier(folder / "classifier")
    save_tiny_multiple_choice(folder / "chooser")
    behavior_suite().write(folder / "suite.jsonl")
    texts, labels = tiny_texts(12)
    rows = [
        f"{text},{('negative', 'positive')[label]}"
        for text, label in zip(texts, labels, strict=True)
    ]
    (folder / "data.csv").write_text("\n".join(["text,label", *rows]), "utf-8")
    (folder / "texts").mkdir()
    (folder / "texts" / "train.csv").write_text("\n".join(["text,label", *rows]), "utf-8")
    items = [
        {"id": f"i{n}", "prompt": f"rain {n}", "choices": [f"wet {n}", f"dry {n}"], "label": n % 2}
        for n in range(12)
    ]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    (folder / "scores.csv").write_text(
        "p_negative,p_positive,label\n.9,.1,negative\n.2,.8,negative\n", "utf-8"
    )
    for n in range(2):
        (folder / f"sheet{n}.csv").write_text("number,answer\n1,A\n", "utf-8")
    (folder / "answers.csv").write_text(
        "prediction\n" + "0\n" * behavior_suite().n_examples, "utf-8"
    )
    for name in ("hollow", "folder.csv", "broken", "old", "report", "plan"):
        (folder / name).mkdir()
    (folder / "broken" / "config.json").write_text("{", "utf-8")
    for suffix in (".csv", ".jsonl", ".parquet"):
        (folder / f"empty{suffix}").touch()
        (folder / f"binary{suffix}").write_bytes(bytes(range(256)) * 9)
    (folder / "locked.csv").symlink_to(
        "locked.csv"
    )  # nobody can open a link to itself, not even a superuser
    for name in ("index.html", "audit.json", "pass_rates.json", "comparison.json"):
        (folder / "old" / name).write_text("an older result", "utf-8")
    return folder


def words_of(path, changes=(), more=()):
    """The words of a command with good arguments, some of them changed."""
    good = {**GOOD, **({"model": "chooser", "dataset": "items.jsonl"} if path in ITEMS else {})}
    if path == ("learn", "plan"):
        good["suite"] = "suite.jsonl"
    values = {**good, **dict(changes)}
    words = list(path)
    for parameter in commands()[path]:
        if parameter.param_type_name == "argument":
            value = values[parameter.name]
            words += value if isinstance(value, list) else [value]
        elif parameter.required:
            words += [parameter.opts[0], values[parameter.name]]
    return [*words, *more]


def input_mistakes():
    for path, parameters in commands().items():
        for parameter in parameters:
            if parameter.name in INPUTS and (
                parameter.param_type_name == "argument" or parameter.required
            ):
                for bad in BAD_INPUTS:
                    yield path, parameter.name, bad


def options():
    for path, parameters in commands().items():
        for parameter in parameters:
            if parameter.param_type_name == "option" and parameter.name != "help":
                yield path, parameter


def check(capsys, files, words):
    before = tree(files)
    code, out, err = run(capsys, *words)
    assert code == 2, (words, out, err)
    assert "Traceback" not in err
    sentences = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert len(sentences) == 1, err
    assert "Expected" in sentences[0] or "Usage: " in err, err
    assert "Errno" not in sentences[0], err
    after = tree(files)
    assert {name: after.get(name) for name in before} == before
    assert all(name.startswith("split/runs/") for name in set(after) - set(before)), words


@pytest.mark.parametrize("path", sorted(commands()), ids=" ".join)
def test_what_cannot_be_read_is_one_sentence(capsys, files, monkeypatch, path):
    monkeypatch.chdir(files)
    for command, name, bad in input_mistakes():
        if command == path:
            if path == ("learn", "plan") and name == "folder":
                continue  # that is where a plan is written
            more = ("--out", "old") if path[-1] in ("audit", "behavior", "compare", "split") else ()
            check(capsys, files, words_of(path, {name: bad}, more))


@pytest.mark.parametrize(
    "path", sorted({path for path, option in options() if option.name == "out"}), ids=" ".join
)
def test_where_nothing_can_be_written_is_told_before_anything_is_computed(
    capsys, files, monkeypatch, path
):
    monkeypatch.chdir(files)
    monkeypatch.setattr(opening, "_load_head", lambda *_: pytest.fail("the model was opened"))
    for bad in BAD_OUTPUTS:
        if path in {("cues",), ("confidence",), ("judges",)} and bad == "data.csv":
            continue  # a file of figures may be replaced
        check(capsys, files, words_of(path, more=("--out", bad)))


@pytest.mark.parametrize(
    "path", sorted(path for path in commands() if path != ("data", "list")), ids=" ".join
)
def test_options_out_of_range_are_one_sentence(capsys, files, monkeypatch, path):
    monkeypatch.chdir(files)
    check(capsys, files, words_of(path, more=("--nope", "1")))
    for command, option in options():
        if command != path or option.is_flag:
            continue
        kind = str(option.type_descriptor.annotation)
        bad = ["x", "nan", "-1"] if "int" in kind else ["x", "nan"] if "float" in kind else [""]
        for value in bad:
            if (option.name, value) in {("seed", "nan")} and "int" not in kind:
                continue
            check(capsys, files, words_of(path, more=(option.opts[0], value)))


@pytest.mark.parametrize("questions", ["", ",", "nope", "calibration,nope"])
def test_questions_that_are_none(capsys, files, monkeypatch, questions):
    monkeypatch.chdir(files)
    check(capsys, files, words_of(("audit",), more=("--out", "old", "--questions", questions)))


def test_a_question_that_fails_is_a_sentence_in_its_place(capsys, files, monkeypatch, tmp_path):
    monkeypatch.chdir(files)
    failing = dataclasses.replace(CALIBRATION, measure=lambda *_: {}["figures"])
    monkeypatch.setattr("rightreasons.calibration.question.CALIBRATION", failing)
    words = words_of(
        ("audit",),
        more=(
            "--questions",
            "calibration,behavior",
            "--behavior-suite",
            "suite.jsonl",
            "--n-resamples",
            "20",
            "--out",
            tmp_path / "report",
        ),
    )
    code, out, err = run(capsys, *words)
    assert code == 1
    assert "rightreasons: KeyError" in out
    assert not {"Traceback", "Warning"} & set(err.split())
    with pytest.raises(KeyError):
        run(capsys, *words, "--traceback")


def test_a_mistake_of_ours_is_one_sentence_with_its_own_exit_code(capsys, files, monkeypatch):
    monkeypatch.chdir(files)
    monkeypatch.setattr(report_opening, "choose_splits", lambda *_, **__: {}["text"])
    code, _, err = run(capsys, *words_of(("audit",), more=("--out", "old")))
    assert code == 1
    # Before it, the command says what it audits.
    assert err.splitlines(keepends=True)[-1] == (
        "Error: An error inside rightreasons: KeyError: 'text'. Add --traceback to see where it arose, and please "
        "report it.\n"
    )
