"""Options are declared once: what a report prints makes the same report, and every option can be typed."""

import html
import json
import re
import shlex
import typing

import pytest

from command_line import run as typed
from rightreasons.cli import main
from rightreasons.io.options import AuditOptions, StoredOptions
from rightreasons.report import labels
from rightreasons.report.questions import QUESTIONS, available_questions, read_reproduction
from rightreasons.report.reproduction import list_arguments, make_audit_command
from rightreasons.report.runner import audit
from tiny_models import save_tiny_classifier, save_tiny_multiple_choice, tiny_texts
from tiny_suites import behavior_suite

pytestmark = pytest.mark.usefixtures("unrendered")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A classifier with train and test texts, a multiple-choice model with items, and a suite."""
    folder = tmp_path_factory.mktemp("declared")
    save_tiny_classifier(folder / "classifier")
    save_tiny_multiple_choice(folder / "chooser")
    behavior_suite().write(folder / "suite.jsonl")
    texts, labels = tiny_texts(60)
    rows = [
        {"id": f"t{i}", "review": text, "verdict": ("negative", "positive")[label]}
        for i, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    (folder / "texts").mkdir()
    for split, part in (("train", rows[:35]), ("test", rows[35:])):
        (folder / "texts" / f"{split}.jsonl").write_text("\n".join(map(json.dumps, part)), "utf-8")
    scored = [
        {**row, "p_negative": 0.1 + i % 8 / 10, "p_positive": 0.9 - i % 8 / 10}
        for i, row in enumerate(rows)
    ]
    (folder / "again.jsonl").write_text("\n".join(map(json.dumps, scored[::-1])), "utf-8")
    (folder / "scored.jsonl").write_text("\n".join(map(json.dumps, scored)), "utf-8")
    sure = [{"sure": i % 9 / 9, "ok": i % 3 > 0, "votes": [i % 4, 3]} for i in range(40)]
    (folder / "sure.json").write_text(json.dumps(sure), "utf-8")
    items = [
        {
            "id": f"c{i}",
            "stem": f"rain fell {i % 7}",
            "one": f"it was {i}",
            "two": f"dry {i * 3}",
            "gold": i % 2,
        }
        for i in range(24)
    ]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, items)), "utf-8")
    return folder


def run(*words):
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    assert (stop.value.code or 0) == 0


TEXTS = (
    "classifier",
    "texts",
    "--text-column",
    "review",
    "--label-column",
    "verdict",
    "--n-resamples",
    "30",
)
SCORED = ("--label-column", "verdict", "--text-column", "review", "--n-resamples", "30")
ITEMS = ("chooser", "items.jsonl", "--prompt-column", "stem", "--choices-column", "one,two", "--label-column", "gold",
         "--n-resamples", "30")  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        ("audit", *TEXTS, "--questions", "calibration,behavior", "--behavior-suite", "suite.jsonl",
         "--behavior-max-cases", "3", "--limit", "21", "--seed", "4"),
        ("audit", *ITEMS, "--questions", "cues,calibration", "--cues-n-folds", "3", "--cues-features", "length"),
        ("calibration", *TEXTS, "--n-bins", "4", "--confidence-level", "0.8", "--split", "test,train"),
        ("shortcuts", *TEXTS, "--items", "20", "--protocol", "bihani2025"),
        ("shortcuts", *TEXTS, "--items", "20", "--words", "good,film"),
        ("difficulty", *TEXTS, "--items", "22", "--confidence-level", "0.8"),
        ("probes", *ITEMS, "--ks", "2,1", "--batch-size", "7"),
        ("calibration", "scored.jsonl", *SCORED, "--n-bins", "4"),
        ("audit", "--predictions", "scored.jsonl", *SCORED, "--questions", "calibration"),
        ("calibration", "texts", *TEXTS[2:], "--predictions", "scored.jsonl", "--split", "test"),
        ("calibration", "sure.json", "--confidence-column", "sure", "--correct-column", "ok", "--n-resamples", "30"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_the_printed_command_makes_the_same_report(files, tmp_path, monkeypatch, words):
    monkeypatch.chdir(files)
    run(*words, "--out", tmp_path / "first")
    page = html.unescape((tmp_path / "first" / "index.html").read_text("utf-8"))
    printed = re.findall(r"rightreasons audit [^<\n]*", page)[-1]  # others are what to do next
    run(*shlex.split(printed)[1:], "--out", tmp_path / "second")
    # Advice names the report, whose name is all that may differ.
    first, second = (
        json.loads(
            re.sub(r"\bsecond\b", "first", (tmp_path / name / "audit.json").read_text("utf-8"))
        )
        for name in ("first", "second")
    )
    assert all(answer["status"] == "answered" for answer in first["questions"])
    made = (tmp_path / "first" / "audit.yaml").read_text("utf-8")
    assert read_reproduction(tmp_path / "first" / "audit.yaml") == shlex.split(printed)[2:]
    assert (tmp_path / "second" / "audit.yaml").read_text("utf-8") == made
    for record in (first, second):  # the page names the time too
        assert record.pop("created")
        assert record.pop("digest")
        assert record["files"].pop("index.html")
    assert first == second


def test_a_file_of_options_is_an_audit(files, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(files)
    file = tmp_path / "audit.yaml"
    file.write_text("model: classifier\ndataset: texts\ntext_column: review\nlabel-column: verdict\nn_resamples: 20\n"
                    "questions: [calibration]\nlimit: 20\ncalibration_n_bins: 4\nfail_fast: true\n")  # fmt: skip
    run("audit", file, "--limit", "15", "--out", tmp_path / "out")
    settings = json.loads((tmp_path / "out" / "audit.json").read_text("utf-8"))["settings"]
    assert (settings["limit"], settings["fail_fast"], settings["questions"]) == (
        15,
        True,
        ["calibration"],
    )
    assert settings["options"]["calibration"]["n_bins"] == 4
    for content, said in (
        ("limit", "Expected a value per option of an audit in"),
        ("a: [", "but it is not YAML"),
        ("lmit: 5", "no such option: --lmit (Possible options: --items, --limit"),
        ("limit: {a: 1}", "Expected a value per option of an audit in"),
    ):
        file.write_text(content)
        code, _, err = typed(capsys, "audit", file)
        assert code == 2
        assert said in err
    assert "access to 'gone.yaml'" in typed(capsys, "audit", "gone.yaml").err


def another(name, field, kind):
    """Return a value of an option that is not its default, nor that of another option."""
    if "choices" in field.json_schema_extra:
        value = next(
            choice for choice in field.json_schema_extra["choices"] if choice != field.default
        )
        return (value,) if typing.get_origin(kind) is tuple else value
    if typing.get_origin(kind) is tuple:
        return (f"other {name}", f"more {name}") if typing.get_args(kind)[0] is str else (3, 5)
    if isinstance(field.default, bool):
        return not field.default
    if isinstance(field.default, float):
        return 0.8
    if "maximum" in field.json_schema_extra:
        return field.json_schema_extra["maximum"]
    if "minimum" in field.json_schema_extra:
        return (field.default or field.json_schema_extra["minimum"] + 4) + 1
    return "other words"


def changed(options):
    hints = typing.get_type_hints(options)
    return {name: another(name, field, hints[name]) for name, field in options.model_fields.items()}


def test_every_option_of_every_question_can_be_typed(monkeypatch, tmp_path):
    settings, stored = (
        AuditOptions(**changed(AuditOptions)),
        StoredOptions(**changed(StoredOptions)),
    )
    options = {name: its.options(**changed(its.options)) for name, its in QUESTIONS.items()}
    came = {}

    def stand_in(model, dataset, **arguments):
        came.update(arguments, model=model, dataset=dataset)
        raise ValueError("enough")

    monkeypatch.setattr(labels, "audit_labels", stand_in)  # as a label is named
    words = shlex.split(
        make_audit_command(list_arguments(("model", "data"), (settings, stored), (), options))
    )
    with pytest.raises(SystemExit):
        main(words[1:])
    assert came["options"] == options
    assert {name: came[name] for name in AuditOptions.list_names()} == changed(AuditOptions)
    assert {name: came[name] for name in StoredOptions.list_names()} == changed(StoredOptions)


def test_the_options_of_a_class_come_before_those_that_it_shares():
    names = AuditOptions.list_names()
    assert max(map(names.index, ("split", "limit", "text_column"))) < min(
        map(names.index, ("config", "label_column"))
    )
    assert StoredOptions.list_names()[0] == "predictions"
    words = AuditOptions(config="main", limit=5).to_flags()
    assert words == ["--limit", "5", "--config", "main"]
    assert list(AuditOptions(config="main", limit=5).to_dict()) == list(names)


@pytest.mark.parametrize(
    ("task", "other"),
    [
        ("classification", {"prompt_column": "stem"}),
        ("classification", {"choices_column": "a,b"}),
        ("multiple_choice", {"text_pair_column": "b"}),
        ("multiple_choice", {"label_names": "a,b"}),
    ],
)
def test_columns_of_the_other_task_are_refused(task, other):
    (name,) = other
    with pytest.raises(
        ValueError, match=f"Expected no `{name}` for {task}, but got '{other[name]}'"
    ):
        AuditOptions(**other).source(task)


def test_the_questions_of_the_report_and_of_the_options_are_the_same():
    assert sorted(QUESTIONS) == available_questions()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"shortcuts": {"itmes": 5}},
            "question 'shortcuts'",
        ),
        (
            {"shortcts": {"items": 5}},
            "Expected a question, but got 'shortcts'|Did you mean 'shortcuts'",
        ),
        (
            {"difficulty": {"items": 5}},
            r"\(shortcuts, cues\)",
        ),
        ({"cues": {"features": ["colour"]}}, "colour"),
        ({"shortcuts": {"items": 0}}, "Expected `items` to be at least 1, but got 0"),
        ({"shortcuts": {"words": "copper"}}, "Expected `words`"),
        ({"shortcuts": {"words": [5]}}, "`words` to be"),
    ],
)
def test_options_that_nobody_reads_are_refused_before_anything_is_opened(
    tmp_path, options, message
):
    with pytest.raises((TypeError, ValueError), match=message):
        audit(
            "no/model",
            "no/data",
            out=tmp_path / "report",
            questions=["shortcuts", "cues"],
            options=options,
        )
    assert not (tmp_path / "report").exists()


def test_settings_that_nobody_reads_are_refused(tmp_path):
    with pytest.raises(ValueError, match="'n_resample'. Did"):
        audit("no/model", "no/data", out=tmp_path / "report", n_resample=3)
