"""The items of a report as a table: `AuditResult.items`."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import rightreasons

N_ITEMS = 120


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Audit a model that copies a planted word, with three labels missing and one of them wrong."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, N_ITEMS)
    fillers = rng.choice(["the soup", "a long walk", "my room"], N_ITEMS)
    texts = [f"{filler} by the {['copper', 'marble'][label]} gate {number}"
             for number, (filler, label) in enumerate(zip(fillers, labels, strict=True))]  # fmt: skip
    model = make_pipeline(CountVectorizer(), LogisticRegression(C=100)).fit(texts, labels)
    rows = pd.DataFrame({"text": texts, "label": labels.astype(object)})
    rows.loc[[3, 50], "label"] = None
    # Of the other label, the model is more confident than on average, so that the given one is disputed.
    rows.loc[7, "label"] = 1 - labels[7]
    rows.loc[7, "text"] += f" {['copper', 'marble'][labels[7]]}"
    return rightreasons.audit(
        model, rows, train=pd.DataFrame({"text": texts, "label": labels}),
        questions=["shortcuts", "calibration"], out=tmp_path_factory.mktemp("report"),
        n_resamples=20, progress=False,
    )  # fmt: skip


def test_a_row_per_item_says_what_the_model_does(result):
    items = result.items()
    assert items.index.names == ["split", "id"]
    assert len(items) == N_ITEMS
    assert items["label"].isna().sum() == items["correct"].isna().sum() == 2
    assert items["confidence"].between(0.5, 1).all()
    wrong = items[items["correct"] == False]  # noqa: E712 - a missing label is neither
    assert wrong.index.get_level_values("id").tolist() == ["7"]
    assert items.index[items["disputed"]].tolist() == wrong.index.tolist()


def test_items_say_what_decides_them(result):
    items = result.items()
    columns = [column for column in items.columns if column.startswith("shortcuts.")]
    assert columns == ["shortcuts.deciding_share.copper/marble"]
    # The planted words are all that the labels can be told by.
    assert items[columns[0]].mean() > 0.9
    flipped = items[items[columns[0]] > 0]
    assert flipped["findings"].str.contains("copper").all()
    assert (items.loc[items[columns[0]] <= 0, "findings"] == "").all()
