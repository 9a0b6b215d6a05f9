"""`--page` of the commands that correct, as a user types it."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import rightreasons
from command_line import run
from rightreasons.behavior.learning.plan import Plan

sys.path.insert(0, str(Path(__file__).parents[1] / "behavior" / "learning"))

from test_collecting import complete_plan


def write_scores(file, n_items, first, sharpness=3.0):
    """Predictions of two classes whose log odds are `sharpness` times the true ones."""
    rng = np.random.default_rng(first)
    odds = rng.normal(scale=2, size=n_items)
    labels = rng.random(n_items) < 1 / (1 + np.exp(-odds))
    shares = 1 / (1 + np.exp(-sharpness * odds))
    lines = ["id,p_bad,p_good,label"]
    for row, (share, label) in enumerate(zip(shares.tolist(), labels, strict=True)):
        lines.append(f"x{first + row},{1 - share!r},{share!r},{['bad', 'good'][int(label)]}")
    file.write_text("\n".join(lines), "utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_scores(tmp_path / "fit.csv", 300, 0)
    write_scores(tmp_path / "test.csv", 400, 1000)
    return tmp_path


def test_a_recalibration_is_gated(folder, capsys):
    code, printed, _ = run(capsys, "recalibrate", "fit.csv", "test.csv", "--page", "page")

    assert code == 0
    assert "Corrected." in printed
    assert run(capsys, "gate", "page", "--fail-if", "recalibration.accepted < 1").code == 0
    audit = json.loads((folder / "page" / "audit.json").read_text("utf-8"))
    assert audit["settings"]["file"] == "test.csv"


@pytest.mark.parametrize(
    ("file", "words"),
    [("fit.csv", "300 of 300 items are the same"), ("few.csv", "at least 100 items")],
)
def test_a_recalibration_is_not_judged_by_its_own_or_few_items(folder, capsys, file, words):
    write_scores(folder / "few.csv", 99, 2000)

    code, _, error = run(capsys, "recalibrate", "fit.csv", file, "--page", "page")

    assert (code, words in error) == (2, True)
    assert not (folder / "page").exists()
    assert not (folder / "recalibrated.csv").exists()


def test_numbers_of_rows_are_no_ids(folder, capsys):
    # Two reports number their items alike, and a model of few words gives some of them the same scores.
    for name in ("fit.csv", "test.csv"):
        lines = (folder / name).read_text("utf-8").splitlines()
        rows = [f"{row},{line.split(',', 1)[1]}" for row, line in enumerate(lines[1:])]
        rows[0] = "0,0.25,0.75,good"
        (folder / name).write_text("\n".join([lines[0], *rows]), "utf-8")

    assert run(capsys, "recalibrate", "fit.csv", "test.csv", "--page", "page").code == 0
    code, _, error = run(capsys, "recalibrate", "fit.csv", "fit.csv", "--page", "page")
    assert (code, "300 of 300" in error) == (2, True)


def test_reviewed_labels_are_gated(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    n_items = 150
    rows = {"id": [f"r{row}" for row in range(n_items)], "text": [], "label": []}
    for row in range(n_items):
        is_good = row % 2
        rows["text"].append(f"a {['bad', 'good'][is_good]} film {row}")
        # Every tenth label is incorrect.
        rows["label"].append(["bad", "good"][is_good ^ (row % 10 == 3)])

    def score(texts):
        shares = np.array([0.9 if "good" in text else 0.2 for text in texts])
        return np.column_stack((1 - shares, shares))

    rightreasons.audit(
        score, rows, label_names=["bad", "good"], out="report", questions=["calibration"],
        progress=False, n_resamples=50,
    )  # fmt: skip
    assert run(capsys, "data", "labels", "write", "report", "--controls", 60).code == 0
    with open("labels.csv", encoding="utf-8-sig", newline="") as file:
        sheet = list(csv.DictReader(file))
    for row in sheet:
        row["decision"] = row["suggested label"] or "keep"
    with open("labels.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(sheet[0]))
        writer.writeheader()
        writer.writerows(sheet)

    code, printed, _ = run(capsys, "data", "labels", "read", "report", "labels.csv", "--page", "page")  # fmt: skip

    # 15 disputed labels are corrected, and none of 60 controls is incorrect.
    assert (len(sheet), code) == (75, 0)
    assert "Corrected. According to the random controls" in " ".join(printed.split())
    assert run(capsys, "gate", "page", "--fail-if", "labels.accepted < 1").code == 0


def test_learning_is_gated(tmp_path, capsys, monkeypatch):
    fake_plan = complete_plan(seeds=(1,))
    fake_plan.folder = tmp_path / "plan"
    fake_plan.folder.mkdir()
    (fake_plan.folder / "plan.json").write_text("{}")
    monkeypatch.setattr(Plan, "open", lambda folder: fake_plan)
    proof = tmp_path / "proof"

    code, printed, error = run(capsys, "learn", "collect", fake_plan.folder, "--page", proof)

    # IID->T passes 17 of 20 cases that it did not see, IID 10.
    assert code == 0, error
    assert "held out of training, G is 91.9%" in printed
    assert run(capsys, "gate", proof, "--fail-if", "learning.accepted < 1").code == 0
