"""The modules of the shortcut question: every way in gives one answer, and bad input one sentence."""

import datasets
import evaluate
import numpy as np
import pytest

import rightreasons
from rightreasons.shortcuts.swaps import deciding_share

TEXTS = ["good movie", "good good plot", "bad movie", "bad plot"]
LABELS = [0, 0, 1, 1]
TOKENS = [["the", "good", "film"], ["a", "bad", "film"], ["the", "film", "fails"]]
ATTRIBUTIONS = [[0.1, 0.7, 0.2], [0.1, 0.6, 0.3], [0.5, 0.2, 0.9]]
HEADS = {0: ["bad", "the"], 1: ["good"]}


@pytest.fixture(scope="module")
def lmi():
    return rightreasons.load("lmi", keep_in_memory=True)


@pytest.fixture(scope="module")
def expected(lmi):
    return lmi.compute(data=TEXTS, labels=LABELS)


@pytest.fixture(scope="module")
def dataset():
    features = datasets.Features(
        {
            "text": datasets.Value("string"),
            "label": datasets.ClassLabel(names=["positive", "negative"]),
        }
    )
    return datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS}, features=features)


class TestLmi:
    def test_worked_figures(self, expected):
        assert [round(row["lmi"], 6) for row in expected["lmi"]["0"]] == [
            0.195929,
            -0.011707,
            -0.011707,
        ]
        assert expected["labels"][1]["prior"] == pytest.approx(4 / 9)

    def test_batches_give_what_one_call_gives(self, lmi, expected):
        for start in (0, 2):
            lmi.add_batch(data=TEXTS[start : start + 2], labels=LABELS[start : start + 2])
        assert lmi.compute() == expected

    def test_lists_of_tokens_at_once_and_one_by_one(self, expected):
        lmi = rightreasons.load("lmi", tokenizer="none", keep_in_memory=True)
        rows = [text.split() for text in TEXTS]
        assert lmi.compute(data=rows, labels=LABELS) == expected
        for row, label in zip(rows, LABELS, strict=True):
            lmi.add(data=row, labels=label)
        assert lmi.compute() == expected

    def test_columns_of_data_sets_and_generators(self, lmi, expected, dataset):
        assert lmi.compute(data=dataset["text"], labels=dataset["label"]) == expected
        assert lmi.compute(data=iter(TEXTS), labels=np.array(LABELS)) == expected

    def test_word_pieces_of_a_hugging_face_tokenizer(self, lmi):
        transformers = pytest.importorskip("transformers")
        vocabulary = [
            "[PAD]",
            "[UNK]",
            "[CLS]",
            "[SEP]",
            "[MASK]",
            "good",
            "bad",
            "movie",
            "plo",
            "##t",
        ]
        tokenizer = transformers.BertTokenizerFast(
            vocab={token: i for i, token in enumerate(vocabulary)}
        )
        found = lmi.compute(data=TEXTS, labels=LABELS, tokenizer=tokenizer)
        assert {row["token"] for row in found["lmi"]["1"]} == {"bad", "movie", "plo", "##t"}

    def test_top_k_shortens_the_table_and_not_the_head(self, lmi):
        found = lmi.compute(data=TEXTS, labels=LABELS, top_k=1, head_fraction=1.0)
        assert len(found["lmi"]["0"]) == 1
        assert len(found["heads"]["0"]) == 3
        assert len(lmi.compute(data=TEXTS, labels=LABELS, top_k=None)["lmi"]["0"]) == 3

    @pytest.mark.parametrize(
        ("inputs", "error", "sentence"),
        [
            ({"data": TEXTS}, ValueError, "Expected `labels` in lmi, but got `data`."),
            ({"labels": LABELS}, ValueError, "Expected `data` in lmi, but got `labels`."),
            (
                {"data": "text", "labels": LABELS},
                TypeError,
                "Expected `data` to be a sequence of texts",
            ),
            (
                {"data": [], "labels": []},
                ValueError,
                "Expected at least one item in `data`, but it is empty.",
            ),
            (
                {"data": TEXTS, "labels": LABELS, "top_k": 0},
                ValueError,
                "Expected `top_k` to be at least 1, but got 0.",
            ),
            (
                {"data": TEXTS, "labels": LABELS, "label_names": ["a"]},
                ValueError,
                "there are 1 names and a label 1.",
            ),
            (
                {"data": TEXTS, "labels": LABELS, "label_names": ["x", "x"]},
                ValueError,
                "Expected distinct names in `label_names`, but 'x' comes again at position 1.",
            ),
        ],
    )
    def test_bad_input(self, lmi, inputs, error, sentence):
        with pytest.raises(error) as caught:
            lmi.compute(**inputs)
        assert sentence in str(caught.value)


class TestShortcutReliance:
    @pytest.fixture(scope="class")
    def reliance(self):
        return rightreasons.load(
            "shortcut_reliance", heads=HEADS, top_n=1, n_resamples=50, keep_in_memory=True
        )

    def test_every_way_in(self, reliance):
        inputs = {"tokens": TOKENS, "attributions": ATTRIBUTIONS, "predictions": [1, 0, 0]}
        expected = reliance.compute(**inputs)
        assert expected["shortcut_reliance"] == 2 / 3
        assert expected["correct"] is None
        for i in range(3):
            reliance.add(**{name: column[i] for name, column in inputs.items()})
        assert reliance.compute() == expected
        reliance.add_batch(**inputs)
        assert reliance.compute() == expected

    def test_optional_inputs(self, reliance):
        inputs = {
            "tokens": TOKENS,
            "attributions": [np.array(row) for row in ATTRIBUTIONS],
            "predictions": np.array([1, 0, 0]),
            "references": [1, 0, 1],
            "confidences": [0.9, 0.8, 0.7],
        }
        found = reliance.compute(**inputs, n_bins=5)
        assert (found["correct"]["rate"], found["wrong"]["rate"]) == (1.0, 0.0)
        assert sum(row["n_items"] for row in found["bins"]) == 3
        reliance.add_batch(**inputs)
        assert reliance.compute(n_bins=5) == found

    def test_examples_can_be_left_out(self, reliance):
        found = reliance.compute(
            tokens=TOKENS,
            attributions=ATTRIBUTIONS,
            predictions=[1, 0, 0],
            per_example=False,
            top_n=2,
        )
        assert "examples" not in found

    def test_heads_of_lmi_fit(self, expected):
        reliance = rightreasons.load("shortcut_reliance")
        found = reliance.compute(
            tokens=[["good", "plot"]],
            attributions=[[1.0, 0.0]],
            predictions=[0],
            heads=expected["heads"],
            top_n=1,
        )
        assert found["shortcut_reliance"] == 1.0

    def test_bad_input(self, reliance):
        with pytest.raises(
            ValueError, match="Expected `heads` in shortcut_reliance, at load or at compute"
        ):
            rightreasons.load("shortcut_reliance").compute(
                tokens=TOKENS, attributions=ATTRIBUTIONS, predictions=[1, 0, 0]
            )
        with pytest.raises(ValueError, match="item 2 has 3 tokens and 1 attributions"):
            reliance.compute(
                tokens=TOKENS, attributions=[*ATTRIBUTIONS[:2], [0.5]], predictions=[1, 0, 0]
            )
        with pytest.raises(ValueError, match="a label never seen; known: 0, 1"):
            reliance.compute(tokens=TOKENS, attributions=ATTRIBUTIONS, predictions=[1, 0, 4])


class TestDecidingShare:
    """Six texts of three classes in three clusters: of five with the feature three change, by the control one."""

    INPUTS = {
        "predictions": [0, 1, 2, 0, 1, 2],
        "swapped": [1, 1, 0, 2, 1, -1],
        "control": [0, 1, 2, 0, 2, -1],
        "goals": [1, 2, 1, 2, 1, -1],
        "clusters": ["x", "x", "y", "y", "z", "z"],
    }

    @pytest.fixture(scope="class")
    def share(self):
        return rightreasons.load("deciding_share", keep_in_memory=True)

    def test_every_way_in(self, share):
        expected = share.compute(**self.INPUTS)
        assert expected["deciding_share"] == pytest.approx(3 / 6 - 1 / 6)
        assert (expected["coverage"], expected["rate"], expected["control_rate"]) == (
            5 / 6,
            3 / 5,
            1 / 5,
        )
        # Four swaps point at another label than the predicted one; two predictions become it.
        assert expected["follow_rate"] == 2 / 4
        assert deciding_share(**self.INPUTS).to_dict() == expected
        for row in range(6):
            share.add(**{name: column[row] for name, column in self.INPUTS.items()})
        assert share.compute() == expected

    def test_without_goals_there_is_no_follow_rate(self, share):
        found = share.compute(
            **{name: self.INPUTS[name] for name in ("predictions", "swapped", "control")}
        )
        assert found["follow_rate"] is None
        assert found["interval"]["low"] < found["deciding_share"] < found["interval"]["high"]

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"swapped": [1, 0]}, "Expected .*6"),
            ({"control": [0, 1, 2, 0, 2, -2]}, "control"),
            ({"predictions": [-1, 1, 2, 0, 1, 2]}, "predictions"),
        ],
    )
    def test_bad_input(self, share, change, sentence):
        with pytest.raises(ValueError, match=sentence):
            share.compute(**{**self.INPUTS, **change})


class TestShortcutTradeoff:
    def test_every_way_in(self):
        metric = rightreasons.load(
            "shortcut_tradeoff", average="micro", n_resamples=50, keep_in_memory=True
        )
        inputs = {
            "predictions": [1, 1, 0, 0],
            "references": [1, 0, 0, 0],
            "cued": [True, False, True, False],
        }
        expected = metric.compute(**inputs)
        assert expected["shortcut_tradeoff"] == 1.5
        metric.add_batch(**inputs)
        assert metric.compute() == expected
        metric.add(prediction=1, reference=1, cued=True)
        metric.add_batch(**{name: column[1:] for name, column in inputs.items()})
        assert metric.compute() == expected

    def test_flags_are_checked_before_they_are_written(self):
        metric = rightreasons.load("shortcut_tradeoff", keep_in_memory=True)
        with pytest.raises(
            TypeError, match=r"Expected True or False in `cued`, but item 1 is 0\.7"
        ):
            metric.add_batch(predictions=[1, 0], references=[1, 0], cued=[1, 0.7])

    def test_combines_with_other_metrics(self):
        both = evaluate.combine(
            [rightreasons.load("shortcut_tradeoff", average="micro", n_resamples=50)]
        )
        found = both.compute(predictions=[1, 0], references=[1, 0], cued=[True, False])
        assert found["shortcut_tradeoff"] == 2.0
