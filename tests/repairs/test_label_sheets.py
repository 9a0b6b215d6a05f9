"""Doubtful labels: a sheet for a person, the decisions, and the audit after them."""

import csv

import numpy as np
import pytest
import yaml

import rightreasons
from rightreasons.core.errors import OptionError
from rightreasons.core.intervals import bounded_mean_interval
from rightreasons.repairs.label_sheets import (
    measure_review,
    read_label_sheet,
    read_labeled_report,
    select_controls,
    write_label_issues,
    write_label_sheet,
)
from small_audits import small_audit

N_ITEMS = 60
MISLABELED = (7, 20, 33, 41)


def make_data():
    """Texts that say their label, four of which carry another one."""
    rng = np.random.default_rng(4)
    texts = []
    labels = []
    for row in range(N_ITEMS):
        is_good = bool(rng.integers(2))
        texts.append(f"a {'good' if is_good else 'bad'} film {row}")
        labels.append(["bad", "good"][is_good ^ (row in MISLABELED)])
    return {"id": [f"r{row}" for row in range(N_ITEMS)], "text": texts, "label": labels}


def score(texts):
    """P(good): sure of the word, and wrong about one item."""
    shares = np.array([0.9 if "good" in text else 0.2 for text in texts])
    shares[[text.endswith("film 12") for text in texts]] = 0.5
    return np.column_stack((1 - shares, shares))


def audit(out, **settings):
    return rightreasons.audit(
        score, make_data(), label_names=["bad", "good"], out=out, questions=["calibration"],
        progress=False, n_resamples=50, **settings,
    )  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return audit(tmp_path_factory.mktemp("labels") / "report").out


def read_rows(file):
    with file.open(encoding="utf-8-sig", newline="") as opened:
        return list(csv.DictReader(opened))


def write_rows(file, rows):
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_disputed_labels_and_as_many_others_are_written(report, tmp_path):
    rows = read_rows(write_label_sheet(report, tmp_path / "labels.csv"))

    assert list(rows[0]) == [
        "item", "text", "given label", "suggested label", "why doubtful", "decision"
    ]  # fmt: skip
    assert {row["item"] for row in rows[:4]} == {f"r{row}" for row in MISLABELED}
    assert all(row["given label"] != row["suggested label"] for row in rows[:4])
    assert all("control" in row["why doubtful"] for row in rows[4:])
    assert len(rows) == 8
    assert {row["decision"] for row in rows} == {"?"}


def test_classes_that_the_model_only_numbers_have_the_names_of_the_data(tmp_path):
    columns = make_data()
    scorer = rightreasons.models.as_scorer(score, label_names=["0", "1"])
    result = rightreasons.audit(
        scorer, columns, label_names=["bad", "good"], out=tmp_path / "report",
        questions=["calibration"], progress=False, n_resamples=50,
    )  # fmt: skip
    file = write_label_sheet(result.out, tmp_path / "labels.csv")
    rows = read_rows(file)
    assert {row["given label"] for row in rows} == {"bad", "good"}
    rows[0]["decision"] = rows[0]["suggested label"]
    write_rows(file, rows)

    decisions = read_label_sheet(result.out, file)
    issues = yaml.safe_load(
        write_label_issues(result.out, decisions, tmp_path / "labels.yaml").read_text("utf-8")
    )

    # Issues number the labels of the data.
    assert issues[0]["to"] == ["bad", "good"].index(rows[0]["suggested label"])


def test_the_controls_depend_on_the_seed_alone(report):
    labeled = read_labeled_report(report)

    first = select_controls(labeled, seed=1)

    assert first.tolist() == select_controls(labeled, seed=1).tolist()
    assert first.tolist() != select_controls(labeled, seed=2).tolist()
    assert not set(first) & set(labeled.disputed)


@pytest.fixture
def reviewed(report, tmp_path):
    """A sheet with three labels corrected, one dropped, and all controls kept."""
    file = write_label_sheet(report, tmp_path / "labels.csv")
    rows = read_rows(file)
    for row in rows[:3]:
        row["decision"] = row["suggested label"]
    rows[3]["decision"] = "drop"
    for row in rows[4:]:
        row["decision"] = "Keep"
    write_rows(file, rows)
    return file


def test_the_change_counts_disputed_labels_by_their_share(report, reviewed):
    review = measure_review(report, read_label_sheet(report, reviewed))

    # Three of four disputed labels become the prediction, and no control changes: 4/60 * 3/4.
    assert review.accuracy_change.value == pytest.approx(4 / 60 * 3 / 4)
    assert review.wrong_disputed.value == 1
    assert review.wrong_controls.value == 0
    assert review.n_reviewed == 8
    # The item 12 is a tie, which argmax gives to "bad".
    assert review.accuracy.value in (56 / 60, 55 / 60)
    # The distances of the two means to the ends of their intervals add up as squares.
    disputed = bounded_mean_interval([1, 1, 1, 0], low=-1, high=1)
    controls = bounded_mean_interval([0, 0, 0, 0], low=-1, high=1)
    below = np.hypot(4 / 60 * (3 / 4 - disputed.low), 56 / 60 * (0 - controls.low))
    above = np.hypot(4 / 60 * (disputed.high - 3 / 4), 56 / 60 * controls.high)
    change = review.accuracy_change
    assert change.low == pytest.approx(change.value - below)
    assert change.high == pytest.approx(change.value + above)


def test_the_next_audit_reads_the_reviewed_labels(report, reviewed, tmp_path):
    decisions = read_label_sheet(report, reviewed)

    file = write_label_issues(report, decisions, tmp_path / "labels.yaml")
    result = audit(tmp_path / "second", known_issues=str(file))

    issues = yaml.safe_load(file.read_text("utf-8"))
    assert sorted(issue["action"] for issue in issues) in (
        ["drop", "relabel"], ["drop", "relabel", "relabel"],
    )  # fmt: skip
    labeled = read_labeled_report(result.out)
    assert len(labeled.ids) == N_ITEMS - 1
    assert not labeled.disputed.size


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"decision": "great"}, "as the decision"),
        ({"item": "r99"}, "item of the report"),
        ({"given label": "fair"}, "given label"),
    ],
)
def test_a_row_that_does_not_fit_is_named(report, reviewed, changes, match):
    rows = read_rows(reviewed)
    rows[1].update(changes)
    write_rows(reviewed, rows)

    with pytest.raises(ValueError, match=match) as error:
        read_label_sheet(report, reviewed)

    assert "line 3 of labels.csv" in str(error.value)


def test_an_open_sheet_is_refused(report, tmp_path):
    file = write_label_sheet(report, tmp_path / "labels.csv")

    with pytest.raises(ValueError, match="every decision is open"):
        read_label_sheet(report, file)


def test_decisions_that_keep_all_labels_correct_nothing(report, tmp_path):
    labeled = read_labeled_report(report)
    decisions = {labeled.ids[0]: int(labeled.labels[0])}

    with pytest.raises(ValueError, match="nothing to correct"):
        write_label_issues(report, decisions, tmp_path / "labels.yaml")
    assert measure_review(report, decisions).accuracy_change is None


def test_a_report_without_predictions_is_refused_in_one_sentence(tmp_path):
    folder = small_audit(tmp_path / "report")

    with pytest.raises(OptionError, match="with predictions") as error:
        read_labeled_report(folder)

    assert error.value.option == ("report",)
