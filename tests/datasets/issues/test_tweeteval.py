"""TweetEval's irony set: its page has the counts of the files, and an audit finds the cue by itself."""

import importlib.util
import json
import re

import datasets
import pytest

import rightreasons
from command_line import run
from rightreasons.models.scorers import as_scorer

HASHTAG = re.compile(r"#(irony|ironic|sarcasm|not)\b", re.IGNORECASE)


def predict_by_hashtag(texts):
    return [[0.1, 0.9] if HASHTAG.search(text) else [0.9, 0.1] for text in texts]


def audit_shortcuts(data, tmp_path, **options):
    scorer = as_scorer(predict_by_hashtag, label_names=("non_irony", "irony"))
    result = rightreasons.audit(
        scorer, data, out=tmp_path / "report", questions=["shortcuts"], split="test", **options
    )
    return result.audit


@pytest.mark.real_data
def test_the_page_has_the_counts_of_the_files(real_data, root):
    script = root / "datasets_scripts" / "tweeteval_facts.py"
    spec = importlib.util.spec_from_file_location("tweeteval_facts", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    page = module.write_page(real_data / "tweeteval")

    assert module.PAGE.read_text("utf-8") == page
    assert "| test | 784 | 311 | 311 | 120 |" in page


@pytest.mark.real_data
def test_an_audit_names_the_hashtags_of_irony_without_being_told(real_data, tmp_path):
    audit = audit_shortcuts("tweeteval_irony", tmp_path, data_dir=real_data)

    (question,) = audit["questions"]
    for word in ("irony", "sarcasm", "not"):
        assert f"“{word}”" in question["result"]["verdict"]["summary"]
    assert question["result"]["verdict"]["tone"] != "good"
    (note,) = audit["dataset"]["known_issues"]
    assert "431 of 784 items noted (431 label leak)" in note


@pytest.mark.real_data
def test_cues_list_the_hashtags_of_irony_without_a_model(real_data, capsys):
    done = json.loads(run(capsys, "cues", "tweeteval_irony", "--data-dir", real_data, "--json").out)

    words = {}
    for split, found in done["result"].items():
        words[split] = {cue["word"] for cue in found["cues"]}
    assert words["test"] == {"irony", "sarcasm", "#", "not"}
    # The training split has no hashtag that names its label.
    assert not words["train"] & words["test"]


WORDS = "the a my this morning train again coffee rain meeting late great love work bus office"


def test_an_audit_names_a_hashtag_that_gives_the_label_away(tmp_path):
    # A stand-in with made-up tweets: half of them ironic, each of these with the hashtag.
    words = WORDS.split()
    rows = []
    for number in range(400):
        label = number % 2
        tweet = " ".join(words[(number * step) % len(words)] for step in (3, 5, 7, 11, 13))
        rows.append({"text": f"{tweet} #sarcasm" if label else f"{tweet} #monday", "label": label})
    feature = datasets.ClassLabel(names=["non_irony", "irony"])
    features = datasets.Features({"text": datasets.Value("string"), "label": feature})
    data = datasets.DatasetDict({"test": datasets.Dataset.from_list(rows, features=features)})

    audit = audit_shortcuts(data, tmp_path)

    assert "sarcasm" in str(audit["questions"][0]["result"])
