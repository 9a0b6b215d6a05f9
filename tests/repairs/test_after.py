"""A second audit tests what the first one named, whatever its training texts offer."""

import json

import numpy as np
import pytest
import yaml

import rightreasons
from command_line import run
from repairs.reviews import NAMES, WORDS, audit_reviews, balance, fit, write_reviews
from rightreasons.core.errors import OptionError
from rightreasons.models import as_scorer
from rightreasons.report.earlier import read_earlier
from rightreasons.report.questions import read_reproduction
from shortcuts.planted_models import draw_texts, read_content
from shortcuts.test_measure_deciding import follow_noun, plant_noun

pytest.importorskip("sklearn")
# From the greenest to the reddest verdict.
TONES = ["good", "neutral", "warn", "bad"]


def audit(model, train, out, **options):
    result = audit_reviews(model, train, out, **options)
    return result.audit["questions"][0]["result"]


def find_row(result, test):
    rows = [row for row in result["data"]["swaps"]["tests"] if row["test"] == test]
    return rows[0]


@pytest.fixture(scope="module")
def balanced_audits(audited, tmp_path_factory):
    """A model of balanced texts, audited with the old texts, and with its own after the first report."""
    _, train, report = audited
    out = tmp_path_factory.mktemp("balanced")
    balanced = balance(train, seed=0)
    model = fit(balanced)
    old = audit(model, train, out / "old")
    return old, audit(model, balanced, out / "new", after=report)


def test_balanced_training_texts_hide_nothing(balanced_audits):
    old, new = balanced_audits

    row = find_row(new, "words named before")
    assert set(row["words"]) == set(WORDS)
    # The balanced model still follows the words, and the audit with balanced texts says so.
    assert row["decision"]["level"] in ("large", "some")
    assert TONES.index(new["verdict"]["tone"]) >= TONES.index(old["verdict"]["tone"])
    assert "“copper” and “marble” decide" in new["finding"]["claim"]
    assert "69.0% before" in new["finding"]["claim"]


def test_the_swaps_and_the_items_are_those_of_the_first_audit(audited, balanced_audits):
    old, new = balanced_audits
    first = json.loads((audited[2] / "audit.json").read_text("utf-8"))["questions"][0]["result"]
    assert new["data"]["swaps"]["n_items"] == first["data"]["swaps"]["n_items"]

    # Only controls are drawn from the training texts, so that the swap flips the same predictions.
    rates = []
    for result in (old, new):
        pairs = {row["name"]: row["effect"]["rate"] for row in result["data"]["swaps"]["pairs"]}
        rates.append(pairs["copper / marble"])
    assert rates[0] == rates[1]
    assert find_row(new, "words named before")["effect"]["rate"] == rates[0]


def test_a_third_audit_still_tests_what_the_first_one_named(audited, tmp_path):
    model, train, report = audited
    repaired = rightreasons.repair(
        report, train, model, not_reasons=WORDS, budget=3000, out=tmp_path / "repair"
    )
    texts = {"text": repaired.train["text"][:], "label": repaired.train["label"][:]}
    second = audit(repaired.model, texts, tmp_path / "second", after=report)
    third = audit(repaired.model, texts, tmp_path / "third", after=tmp_path / "second")

    assert find_row(second, "words named before")["effect"]["deciding_share"] < 0.05
    assert "decide 0.0% of its predictions (69.0% before)" in second["finding"]["claim"]
    # A control that flips more than the swap does not make the share negative in words.
    assert "decide −" not in json.dumps(second["verdict"], ensure_ascii=False)
    named = third["data"]["tested"]["decisive"]
    assert ["copper", "marble"] in [sorted(pair["words"]) for pair in named]


def test_audit_yaml_carries_what_was_tested(audited, tmp_path):
    _, _, report = audited
    table = write_reviews(300, 1)
    rows = zip(table["text"], table["label"], strict=True)
    file = tmp_path / "test.csv"
    file.write_text("text,label\n" + "\n".join(",".join(row) for row in rows), "utf-8")
    words = read_earlier(report)
    again = {"model": "model", "dataset": str(file), "after": words.to_plain()}
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(again), "utf-8")

    line = read_reproduction(tmp_path / "audit.yaml")
    assert read_earlier(line[line.index("--after") + 1]) == words


def test_only_a_report_that_recorded_its_tests_is_taken(audited, tmp_path, capsys):
    model, train, report = audited
    with pytest.raises(FileNotFoundError, match="audit.json"):
        audit(model, train, tmp_path / "out", after=tmp_path)
    with pytest.raises(OptionError, match="audit.yaml") as raised:
        audit(model, train, tmp_path / "out", after="{copper}")
    assert raised.value.option == ("after",)
    record = json.loads((report / "audit.json").read_text("utf-8"))
    del record["questions"][0]["result"]["data"]["tested"], record["digest"]
    (tmp_path / "audit.json").write_text(json.dumps(record), "utf-8")
    with pytest.raises(OptionError, match="records which words") as raised:
        audit(model, train, tmp_path / "out", after=tmp_path)
    assert raised.value.option == ("after",)
    with pytest.raises(OptionError, match="tests .* recorded") as raised:
        rightreasons.audit(
            model, train, out=tmp_path / "out", questions=["calibration"], after=report
        )
    assert raised.value.option == ("after",)
    assert not (tmp_path / "out").exists()

    code, _, err = run(capsys, "calibration", "model", "test.csv", "--after", report)
    assert code == 2
    assert "--after" in err


def audit_nouns(rule, report, *, plant=plant_noun, **options):
    """Audit a rule on texts with one of 24 nouns each, which say the label in 95 % of them."""
    train, train_labels = draw_texts(800, 103, plant)
    texts, labels = draw_texts(300, 3, plant_noun)

    def predict(texts):
        odds = np.array([rule(text) for text in texts])
        shares = 1 / (1 + np.exp(-odds))
        return np.column_stack((1 - shares, shares))

    result = rightreasons.audit(
        as_scorer(predict, label_names=NAMES),
        {"text": texts, "label": [NAMES[label] for label in labels]},
        train={"text": train, "label": [NAMES[label] for label in train_labels]},
        questions=["shortcuts"],
        options={"shortcuts": {"budget": 6000}},
        out=report,
        progress=False,
        **options,
    )
    return result.audit["questions"][0]["result"]


def test_a_list_that_decided_opens_the_next_report(tmp_path):
    first = audit_nouns(follow_noun, tmp_path / "first")
    # No pair of the nouns decides a tenth; all of them decide nearly everything.
    assert first["data"]["tested"]["test"] == "all listed words"
    assert first["data"]["tested"]["decisive"] == []

    # The new training texts have none of the nouns.
    second = audit_nouns(read_content, tmp_path / "second", plant=None, after=tmp_path / "first")
    assert abs(find_row(second, "words listed before")["effect"]["deciding_share"]) < 0.1
    claim = second["finding"]["claim"]
    assert claim.startswith("lets words such as")
    before = first["data"]["tested"]["decisive_share"]
    assert f"({before:.1%} before)" in claim

    # A third audit tests the list as well, and compares with what the second one found.
    third = audit_nouns(read_content, tmp_path / "third", plant=None, after=tmp_path / "second")
    assert third["data"]["tested"]["test"] == "words listed before"
    assert third["finding"]["claim"].startswith("lets words such as")
