"""How many answers are right by any column of the data."""

import numpy as np
import pandas
import pytest
from scipy import stats

from rightreasons.report.runner import audit


def table(n=300):
    """Right in half of the answers about food, 9 of 10 of the others; columns that say the label and what is right."""
    rng = np.random.default_rng(4)
    labels, topics = (
        rng.integers(0, 2, n),
        rng.choice(["film", "book", "food"], n, p=[0.5, 0.2, 0.3]),
    )
    right = rng.random(n) < np.where(topics == "food", 0.5, 0.9)
    said = np.where(right, labels, 1 - labels)
    return (
        {
            "id": [f"i{row}" for row in range(n)],
            "p_no": np.where(said == 0, 0.8, 0.2).tolist(),
            "p_yes": np.where(said == 1, 0.8, 0.2).tolist(),
            "label": np.where(labels == 1, "yes", "no").tolist(),
            "topic": topics.tolist(),
            "says_the_label": np.where(labels == 1, "y", "n").tolist(),
            "is_long": [None if row % 3 == 0 else row % 3 == 1 for row in range(n)],
            "number": list(range(n)),
            "acc": right.astype(int).tolist(),
        },
        right,
        topics,
    )


def test_the_worst_slice_is_first_and_corrected_for_all(tmp_path):
    columns, right, topics = table()
    path = tmp_path / "rows.jsonl"

    pandas.DataFrame(columns).to_json(path, orient="records", lines=True)
    told = []
    result = audit(
        predictions=path, out=tmp_path / "report", questions=["calibration"], tell=told.append
    )
    groups = result.audit["answers"]["groups"]
    assert {group["kind"] for group in groups} == {"topic", "is_long"}
    worst = groups[0]
    inside = topics == "food"
    assert (worst["kind"], worst["name"], worst["n_items"]) == ("topic", "food", inside.sum())
    assert worst["accuracy"]["value"] == pytest.approx(right[inside].mean())
    counts = [[int(side.sum()), int((~side).sum())] for side in (right[inside], right[~inside])]
    # Six slices: the smallest p-value counts six times.
    assert worst["p_value"] == pytest.approx(6 * stats.fisher_exact(counts).pvalue)
    assert all(group["p_value"] == 1.0 for group in groups if group["kind"] == "is_long")
    said = f"{100 * right[inside].mean():.1f}% where topic is “food”"
    assert any(said in line for line in told)
    assert said in (tmp_path / "report" / "index.html").read_text("utf-8")


def test_answers_are_no_slice_and_their_texts_are_grouped_by_length_whatever_they_are_called(
    tmp_path,
):
    rng = np.random.default_rng(5)
    n_items = 120
    labels = rng.choice(["pro", "contra", "neither"], n_items)
    answers = np.where(rng.random(n_items) < 0.7, labels, "pro")
    lengths = rng.integers(3, 30, n_items)
    columns = {
        "id": [f"i{row}" for row in range(n_items)],
        "label": labels.tolist(),
        "応答": answers.tolist(),
        "出力": [" ".join(["word"] * length) for length in lengths],
        "topic": rng.choice(["film", "book"], n_items).tolist(),
    }
    path = tmp_path / "rows.jsonl"
    pandas.DataFrame(columns).to_json(path, orient="records", lines=True)

    with pytest.warns(UserWarning, match="`correct_column`"):
        result = audit(predictions=path, out=tmp_path / "report", progress=False)

    kinds = {group["kind"] for group in result.audit["answers"]["groups"]}
    assert kinds == {"topic", "length of the answer"}
