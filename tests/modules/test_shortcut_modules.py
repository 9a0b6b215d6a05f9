"""Worked figures of the modules about shortcuts, and how they fit together."""

import datasets
import pytest

import rightreasons
from rightreasons.shortcuts.swaps import deciding_share

TEXTS = ["good movie", "good good plot", "bad movie", "bad plot"]
LABELS = [0, 0, 1, 1]


@pytest.fixture(scope="module")
def lmi():
    return rightreasons.load("lmi")


@pytest.fixture(scope="module")
def expected(lmi):
    return lmi.compute(data=TEXTS, labels=LABELS)


class TestLmi:
    def test_worked_figures(self, expected):
        assert [round(row["lmi"], 6) for row in expected["lmi"]["0"]] == [
            0.195929,
            -0.011707,
            -0.011707,
        ]
        assert expected["labels"][1]["prior"] == pytest.approx(4 / 9)

    def test_a_data_set_with_class_labels(self, lmi, expected):
        label = datasets.ClassLabel(names=["positive", "negative"])
        features = datasets.Features({"text": datasets.Value("string"), "label": label})
        columns = {"text": TEXTS, "label": LABELS}
        dataset = datasets.Dataset.from_dict(columns, features=features)
        assert lmi.compute(data=dataset["text"], labels=dataset["label"]) == expected

    def test_labels_in_words_are_numbered_by_their_names(self, lmi):
        names = ["positive", "negative"]
        words = [names[label] for label in LABELS]

        results = lmi.compute(data=TEXTS, labels=words, label_names=names)

        assert results == lmi.compute(data=TEXTS, labels=LABELS, label_names=names)
        with pytest.raises(TypeError, match="label_names"):
            lmi.compute(data=TEXTS, labels=words)

    def test_word_pieces_of_a_hugging_face_tokenizer(self, lmi):
        transformers = pytest.importorskip("transformers")
        words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "movie", "plo", "##t"]
        vocabulary = {word: number for number, word in enumerate(words)}
        tokenizer = transformers.BertTokenizerFast(vocab=vocabulary)
        results = lmi.compute(data=TEXTS, labels=LABELS, tokenizer=tokenizer)
        assert {row["token"] for row in results["lmi"]["1"]} == {"bad", "movie", "plo", "##t"}

    def test_top_k_shortens_the_table_and_not_the_head(self, lmi):
        results = lmi.compute(data=TEXTS, labels=LABELS, top_k=1, head_fraction=1.0)
        assert len(results["lmi"]["0"]) == 1
        assert len(results["heads"]["0"]) == 3
        assert len(lmi.compute(data=TEXTS, labels=LABELS, top_k=None)["lmi"]["0"]) == 3


class TestShortcutReliance:
    INPUTS = {
        "tokens": [["the", "good", "film"], ["a", "bad", "film"], ["the", "film", "fails"]],
        "attributions": [[0.1, 0.7, 0.2], [0.1, 0.6, 0.3], [0.5, 0.2, 0.9]],
        "predictions": [1, 0, 0],
    }

    @pytest.fixture(scope="class")
    def reliance(self):
        heads = {0: ["bad", "the"], 1: ["good"]}
        return rightreasons.load("shortcut_reliance", heads=heads, top_n=1, n_resamples=50)

    def test_worked_figures(self, reliance):
        results = reliance.compute(**self.INPUTS)
        # "good" and "bad" are the top tokens of the first two texts, and "fails" is in no head.
        assert results["shortcut_reliance"] == 2 / 3
        assert results["correct"] is None

    def test_references_and_confidences_split_the_rate(self, reliance):
        results = reliance.compute(
            **self.INPUTS, references=[1, 0, 1], confidences=[0.9, 0.8, 0.7], n_bins=5
        )
        assert (results["correct"]["rate"], results["wrong"]["rate"]) == (1.0, 0.0)
        assert sum(row["n_items"] for row in results["bins"]) == 3

    def test_examples_can_be_left_out(self, reliance):
        assert "examples" not in reliance.compute(**self.INPUTS, per_example=False)

    def test_heads_of_lmi_fit(self, expected):
        reliance = rightreasons.load("shortcut_reliance", heads=expected["heads"], top_n=1)
        results = reliance.compute(
            tokens=[["good", "plot"]], attributions=[[1.0, 0.0]], predictions=[0]
        )
        assert results["shortcut_reliance"] == 1.0


class TestDecidingShare:
    # Six texts of three classes in three clusters. Five have the feature: three of them change by
    # its swap, and one by the control.
    INPUTS = {
        "predictions": [0, 1, 2, 0, 1, 2],
        "swapped": [1, 1, 0, 2, 1, -1],
        "control": [0, 1, 2, 0, 2, -1],
        "goals": [1, 2, 1, 2, 1, -1],
        "clusters": ["x", "x", "y", "y", "z", "z"],
    }

    def test_worked_figures(self):
        results = rightreasons.load("deciding_share").compute(**self.INPUTS)
        assert results["deciding_share"] == pytest.approx(3 / 6 - 1 / 6)
        assert results["coverage"] == 5 / 6
        assert (results["rate"], results["control_rate"]) == (3 / 5, 1 / 5)
        # Four swaps name another label than the predicted one; two predictions change to it.
        assert results["follow_rate"] == 2 / 4
        assert deciding_share(**self.INPUTS).to_dict() == results

    def test_without_goals_there_is_no_follow_rate(self):
        inputs = {name: self.INPUTS[name] for name in ("predictions", "swapped", "control")}
        results = rightreasons.load("deciding_share").compute(**inputs)
        assert results["follow_rate"] is None
        assert results["interval"]["low"] < results["deciding_share"]
        assert results["deciding_share"] < results["interval"]["high"]


def test_shortcut_tradeoff_is_the_score_over_the_rate():
    metric = rightreasons.load("shortcut_tradeoff", average="micro", n_resamples=50)
    inputs = {"predictions": [1, 1, 0, 0], "references": [1, 0, 0, 0]}
    results = metric.compute(**inputs, cued=[True, False, True, False])
    # 3 of 4 are correct, and 2 of 4 are cued.
    assert results["shortcut_tradeoff"] == 0.75 / 0.5
