"""From an audit that names words to a model that no longer reads them, on planted reviews."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import yaml

import rightreasons
from command_line import run
from repairs.reviews import BAD, GOOD, NAMES, WORDS, fit
from rightreasons.core.errors import OptionError
from rightreasons.repairs.findings import (
    Findings,
    NamedFeature,
    _find_pair_shares,
    list_features,
    read_findings,
)
from rightreasons.repairs.plan import PLAN_FILE, explain_unjudged, make_plan, read_plan
from rightreasons.repairs.run import TRAIN_FILE
from rightreasons.repairs.training_set import open_training_set
from rightreasons.report.schema import add_digest

pytest.importorskip("sklearn")


MOODS = rightreasons.models.as_scorer(
    lambda texts: np.full((len(texts), 2), 0.5), label_names=["sad", "glad"]
)


def repair(audited, out, **options):
    model, train, report = audited
    options = {"not_reasons": WORDS, "budget": 3000, **options}
    return rightreasons.repair(report, train, model, out=out, **options)


def test_swapped_copies_repair_the_model(audited, tmp_path):
    result = repair(audited, tmp_path / "out")
    before, after = result.before, result.after
    assert before.decided.value > 0.5
    assert before.swapped.value < 0.4
    # The words no longer matter: the three versions of the items are classified alike.
    assert after.decided.value <= 0.05
    assert after.unchanged.value == pytest.approx(after.removed.value, abs=0.02)
    assert result.repaired is True
    assert result.edited.method == "swap"
    assert len(result.train) == 3000
    assert result.train.column_names == ["text", "label", "source_id", "edit"]

    # The model that was given is not changed.
    flipped = audited[0].predict(["copper bright"])
    assert flipped.tolist() == ["negative"]
    assert result.model.predict(["copper bright"]).tolist() == ["positive"]


def test_the_folder_has_the_texts_the_plan_the_page_and_the_gate(audited, tmp_path):
    result = repair(audited, tmp_path / "out")
    lines = (tmp_path / "out" / TRAIN_FILE).read_text("utf-8").splitlines()
    assert lines[0] == "text,label,source_id,edit"
    assert len(lines) == 3001
    plan = read_plan(tmp_path / "out" / PLAN_FILE)
    assert {word: plan[word] for word in WORDS} == {"copper": "no", "marble": "no"}
    page = result.page.read_text("utf-8")
    assert "is repaired: swapping" in page
    assert "With the words swapped, after the repair." in page
    # A success leads on, although its verdict is green.
    assert "Use the repaired model" in page
    assert f"--after {audited[2]}" in page
    assert rightreasons.gate(tmp_path / "out", ["repair.repaired < 1"]).passed
    assert not rightreasons.gate(tmp_path / "out", ["repair.decided_before > 0.5"]).passed


def test_weights_do_not_pass_as_a_repair(audited, tmp_path):
    result = repair(audited, tmp_path / "out", method="weights")
    assert result.repaired is False
    assert len(result.train) == 1500
    assert "is not repaired: swapping" in result.page.read_text("utf-8")


def test_a_model_that_was_trained_elsewhere_is_verified(audited, tmp_path):
    repaired = repair(audited, tmp_path / "first")
    clean = fit({"text": repaired.train["text"], "label": repaired.train["label"]})
    assert repair(audited, tmp_path / "second", after=clean).repaired is True
    # The model of the report again is no repair.
    assert repair(audited, tmp_path / "third", after=audited[0]).repaired is False


def test_a_scorer_alone_gets_its_texts_and_no_verdict(audited, tmp_path):
    model, train, report = audited

    def answer(texts):
        return model.predict_proba(texts)

    scorer = rightreasons.models.as_scorer(answer, label_names=NAMES)
    result = rightreasons.repair(report, train, scorer, not_reasons=WORDS, out=tmp_path / "out")
    assert (result.repaired, result.page, result.model) == (None, None, None)
    assert (tmp_path / "out" / TRAIN_FILE).is_file()
    # A function of the table trains what only its owner can train.
    again = rightreasons.repair(
        report, train, scorer, not_reasons=WORDS, retrain=fit, budget=3000, out=tmp_path / "again"
    )
    assert again.repaired is True


def test_a_report_of_an_object_is_repaired_and_verified_by_what_it_says(audited, tmp_path, capsys):
    _, train, report = audited
    file = tmp_path / "train.csv"
    rows = zip(train["text"], train["label"], strict=True)
    file.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows), "utf-8")
    words = ["--not-reasons", ",".join(WORDS), "--train", file, "--out", tmp_path / "out"]
    code, out, err = run(capsys, "repair", report, *words)
    assert code == 0, err
    assert "was an object in memory" in out
    assert "--after NEW_MODEL" in out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [PLAN_FILE, TRAIN_FILE]

    # Without the first model the report says what it decided and predicted.
    clean = fit({"text": GOOD + BAD, "label": ["positive"] * len(GOOD) + ["negative"] * len(BAD)})
    result = rightreasons.repair(report, train, after=clean, not_reasons=WORDS, out=tmp_path / "b")
    assert result.repaired is True
    assert result.before.decided.value == pytest.approx(0.69, abs=0.01)
    assert result.before.swapped.value is None
    assert list(result.verification.tests) == ["unchanged"]
    assert "object in memory" in result.page.read_text("utf-8")
    # A model that follows the words is no repair, whatever the report cannot say.
    again = rightreasons.repair(
        report, train, after=audited[0], not_reasons=WORDS, out=tmp_path / "c"
    )
    assert again.repaired is False


def test_words_that_nobody_judged_are_listed_and_then_read_from_the_plan(audited, tmp_path):
    with pytest.raises(OptionError, match="judgment of the words") as raised:
        repair(audited, tmp_path / "out", not_reasons=())
    assert raised.value.option == ("not_reasons",)
    file = tmp_path / "out" / PLAN_FILE
    assert [path.name for path in (tmp_path / "out").iterdir()] == [PLAN_FILE]

    plan = yaml.safe_load(file.read_text("utf-8"))
    rows = {row["word"]: row for row in plan["words"]}
    assert rows["copper"]["predicts"] == "negative"
    assert rows["copper"]["reason"] == "?"
    assert len(rows["marble"]["examples"]) == 3
    for word in WORDS:
        rows[word]["reason"] = False
    file.write_text(yaml.safe_dump(plan), "utf-8")
    assert repair(audited, tmp_path / "out", not_reasons=()).repaired is True


@pytest.mark.parametrize(
    "words",
    [
        "",
        "words: copper",
        "words: [copper]",
        "words: [{reason: no}]",
        "words: [{word: a, reason: 2}]",
    ],
)
def test_a_plan_that_was_edited_wrongly_is_refused(tmp_path, words):
    file = tmp_path / PLAN_FILE
    file.write_text(words, "utf-8")
    with pytest.raises(ValueError, match="^Expected "):
        read_plan(file)


def test_a_judge_is_asked_in_rounds(audited, tmp_path):
    asked = []

    def judge(word):
        asked.append(word)
        return word in WORDS

    result = repair(audited, tmp_path / "out", not_reasons=judge)
    assert result.repaired is True
    assert set(result.words.labels) == set(WORDS)
    # The second list is of the retrained model: the words of meaning that now decide.
    assert set(asked) & set(GOOD + BAD)
    assert result.rounds[0].words
    assert len(result.rounds) == 1


@pytest.mark.parametrize(
    ("options", "match", "option"),
    [
        ({"not_reasons": ["velvet"]}, "no training text", "not_reasons"),
        ({"not_reasons": ["copper pot"]}, "single words", "not_reasons"),
        ({"not_reasons": ["no"]}, "nothing to repair", "not_reasons"),
        ({"retrain": "train it"}, "fine-tune", "retrain"),
        ({"retrain": "fine-tune 'demo"}, "fine-tune", "retrain"),
        ({"after": MOODS}, "with the classes", "model"),
        ({"method": "shuffle"}, "one of", "method"),
    ],
)
def test_refusals_name_the_option_and_write_nothing(audited, tmp_path, options, match, option):
    with pytest.raises(OptionError, match=match) as raised:
        repair(audited, tmp_path / "out", **options)
    assert raised.value.option == (option,)
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_training_texts_of_other_classes_are_refused(audited, tmp_path):
    model, train, report = audited
    moods = {"text": train["text"], "label": ["sad" if row % 2 else "glad" for row in range(1500)]}
    with pytest.raises(ValueError, match="negative"):
        rightreasons.repair(report, moods, model, not_reasons=WORDS, out=tmp_path / "out")
    assert not (tmp_path / "out" / TRAIN_FILE).exists()


@pytest.mark.parametrize(
    ("questions", "words"),
    [(["calibration"], "--questions shortcuts"), (None, "query the model again")],
)
def test_a_report_of_stored_predictions_has_no_words_to_repair(tmp_path, questions, words):
    rng = np.random.default_rng(0)
    shares = rng.uniform(size=60).tolist()
    rows = [{"p_no": share, "p_yes": 1 - share, "label": "yes"} for share in shares]
    options = {"questions": questions, "n_resamples": 20, "progress": False}
    rightreasons.audit(predictions=rows, out=tmp_path / "report", **options)
    with pytest.raises(OptionError, match=words) as raised:
        rightreasons.repair(
            tmp_path / "report", {"text": ["a"], "label": ["yes"]}, out=tmp_path / "out"
        )
    assert raised.value.option == ("report",)
    assert not (tmp_path / "out").exists()


def test_items_that_an_edit_made_are_not_verified(audited, tmp_path):
    model, train, report = audited
    whole = repair(audited, tmp_path / "whole")
    # The swapped copies of half of the audited items are training texts of the repaired model.
    findings = read_findings(report)
    turned = [whole.words.exchange(item, goal=0)[0] for item in findings.items[:150]]
    more = {
        "text": [*train["text"], *turned],
        "label": [*train["label"], *(NAMES[label] for label in findings.labels[:150].tolist())],
    }
    result = rightreasons.repair(
        report, more, model, not_reasons=WORDS, budget=3000, out=tmp_path / "out"
    )
    assert result.verification.n_items == 150


def test_nothing_is_edited_if_nothing_else_predicts_the_label(audited, tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=800)
    texts = [f"a {WORDS[label]} thing {rng.integers(9)}" for label in labels.tolist()]
    train = {"text": texts, "label": [NAMES[label] for label in labels.tolist()]}
    with pytest.raises(OptionError, match="no other signal remains"):
        rightreasons.repair(audited[2], train, audited[0], not_reasons=WORDS, out=tmp_path / "out")
    assert not (tmp_path / "out" / TRAIN_FILE).exists()


def test_audited_items_that_are_training_texts_do_not_count(audited, tmp_path):
    model, _, report = audited
    items = read_findings(report)
    copies = {
        "text": [item[0].upper() for item in items.items],
        "label": [NAMES[label] for label in items.labels.tolist()],
    }
    with pytest.raises(OptionError, match="audited items"):
        rightreasons.repair(report, copies, model, not_reasons=WORDS, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def write_table(file, texts, labels):
    lines = [f"{text},{label}" for text, label in zip(texts, labels, strict=True)]
    file.write_text("\n".join(["text,label", *lines]), "utf-8")
    return file


@pytest.mark.parametrize(
    ("change", "words", "message"),
    [
        ({}, ["--not-reasons", "velvet"], "no training text"),
        ({}, ["--not-reasons", "copper pot"], "single words"),
        ({}, ["--not-reasons", "copper", "--method", "shuffle"], "one of"),
        ({}, ["--not-reasons", "copper", "--retrain", "make model"], "fine-tune"),
        ({"label": ["sad", "glad"] * 750}, ["--not-reasons", "copper"], "negative"),
        ({"text": ["copper", "marble"] * 750}, ["--not-reasons", "copper,marble"], "no other signal remains"),
    ],
)  # fmt: skip
def test_the_command_refuses_in_one_sentence_and_writes_nothing(
    audited, tmp_path, capsys, change, words, message
):
    _, train, report = audited
    table = {**train, **change}
    file = write_table(tmp_path / "train.csv", table["text"], table["label"])

    code, printed, error = run(
        capsys, "repair", report, "--train", file, "--out", tmp_path / "out", *words
    )

    assert (code, printed, error.count("\n")) == (2, "", 1)
    assert error.startswith("Error: Expected ")
    assert message in error
    assert not (tmp_path / "out").exists()


def change_report(report, folder, **model):
    """Copy a report, with another description of its model."""
    shutil.copytree(report, folder)
    audit = json.loads((folder / "audit.json").read_text("utf-8"))
    audit["model"].update(model)
    (folder / "audit.json").write_text(json.dumps(add_digest(audit)), "utf-8")
    return folder


def test_a_language_model_is_not_asked_again(audited, tmp_path, capsys):
    _, train, report = audited
    address = "http://127.0.0.1:9/v1"
    server = change_report(
        report, tmp_path / "report", path=address, server={"address": address}, prompt={}
    )
    file = write_table(tmp_path / "train.csv", train["text"], train["label"])
    words = ("--not-reasons", ",".join(WORDS), "--out", tmp_path / "out")

    code, printed, error = run(capsys, "repair", server, "--train", file, *words)

    # Nobody answers at the address: a request would fail.
    assert code == 0, error
    assert "a language model that answers prompts" in printed
    assert "--after NEW_MODEL" in printed
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [PLAN_FILE, TRAIN_FILE]


def test_other_training_texts_than_those_of_the_report_are_told(audited, tmp_path):
    model, train, report = audited
    repaired = repair(audited, tmp_path / "first")
    rows = slice(0, 1200)
    others = {"text": train["text"][rows], "label": train["label"][rows]}
    second = rightreasons.repair(
        report, others, model, not_reasons=WORDS, budget=3000, out=tmp_path / "second"
    )

    assert (repaired.has_other_training, second.has_other_training) == (False, True)
    assert "differ from those of the earlier report" in second.page.read_text("utf-8")


def test_features_are_read_once_and_only_if_they_decide():
    def row(test, name, level, share=0.4):
        return {
            "test": test,
            "name": name,
            "words": [],
            "decision": {"level": level},
            "effect": {"deciding_share": share},
        }

    swaps = {
        "tests": [row("words", "a / b", "large"), row("form", "form", "small")],
        "pairs": [row("words", "a / b", "large"), row("words", "c / d", "some")],
        "judged": {"a / b": "spurious"},
    }
    found = list(list_features(swaps))
    assert [(feature.name, feature.is_spurious) for feature in found] == [
        ("a / b", True),
        ("c / d", False),
    ]


def test_the_record_is_an_audit(audited, tmp_path):
    repair(audited, tmp_path / "out")
    record = json.loads((tmp_path / "out" / "audit.json").read_text("utf-8"))
    assert [question["question"] for question in record["questions"]] == ["repair"]
    assert record["settings"]["words"] == WORDS


def test_the_page_of_other_texts_is_no_proof_of_these(audited, tmp_path):
    model, train, report = audited
    out = tmp_path / "out"
    repair(audited, out)

    def answer(texts):
        return model.predict_proba(texts)

    scorer = rightreasons.models.as_scorer(answer, label_names=NAMES)
    rightreasons.repair(report, train, scorer, not_reasons=WORDS, out=out)
    # The same texts again: what is proven stays proven.
    assert (out / "audit.json").is_file()
    rightreasons.repair(report, train, scorer, not_reasons=WORDS, method="remove", out=out)
    assert not (out / "audit.json").exists()


def test_a_word_has_the_share_of_its_pair_and_that_of_its_list():
    features = (
        NamedFeature(
            "words", "all listed words", ("good", "copper", "bad", "marble"), 1.0, is_spurious=False
        ),
        NamedFeature("a", "words", ("copper", "marble"), 0.4, is_spurious=False),
    )
    findings = Findings(
        folder=Path("report"), audit={}, features=features, items=(), ids=(),
        labels=np.array([]), predicted=np.array([]),
        # "bad" stands in two pairs, neither of which decides enough to be a feature; "good" in none.
        pair_shares=_find_pair_shares([
            {"words": ["copper", "marble"], "effect": {"deciding_share": 0.4}},
            {"words": ["bad", "copper"], "effect": {"deciding_share": 0.04}},
            {"words": ["bad"], "effect": {"deciding_share": -0.01}},
        ]),
    )  # fmt: skip
    texts = ["a bad copper pot", "a good marble pot"]
    training = open_training_set({"text": texts, "label": NAMES}, NAMES)

    rows = make_plan(findings, training, {"pot": "yes"})

    assert [(row.word, row.decides, row.decides_together) for row in rows] == [
        ("copper", 0.4, None), ("marble", 0.4, None), ("bad", 0.04, 1.0), ("good", None, 1.0), ("pot", None, None),
    ]  # fmt: skip
    # The line names the words of the pair alone, and those of the list where no pair decides.
    assert "copper,marble" in explain_unjudged(rows, Path("repair.yaml"))
    assert "bad,good" in explain_unjudged(rows[2:], Path("repair.yaml"))


RULE = """
import numpy as np

WORDS = {words}


def predict(texts):
    counts = [sum(sign * (word in text.split()) for word, sign in WORDS.items()) for text in texts]
    shares = 1 / (1 + np.exp(-np.array(counts, dtype=float)))
    return np.column_stack((1 - shares, shares))
"""


def test_functions_of_files_have_the_classes_of_the_report(audited, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, train, report = audited
    reading = {**dict.fromkeys(BAD, -1), **dict.fromkeys(GOOD, 1)}
    following = {**reading, "copper": -9, "marble": 9}
    Path("old_model.py").write_text(RULE.format(words=following), "utf-8")
    Path("new_model.py").write_text(RULE.format(words=reading), "utf-8")
    change_report(report, tmp_path / "report", path="old_model.py:predict")
    write_table(tmp_path / "train.csv", train["text"], train["label"])
    words = ("--train", "train.csv", "--not-reasons", ",".join(WORDS), "--budget", 3000)

    code, printed, error = run(
        capsys, "repair", "report", *words, "--after", "new_model.py:predict"
    )

    assert code == 0, error
    assert "Repaired." in printed
    assert run(capsys, "gate", "repair", "--fail-if", "repair.repaired < 1").code == 0
