"""Pipelines of one's own in the evaluator, as evaluate's guide to custom pipelines makes them."""

import datasets
import evaluate
import numpy as np
import pytest
from scipy import stats

import rightreasons
from rightreasons.evaluators import evaluator

DATA = datasets.Dataset.from_dict({"text": ["good", "bad", "so so"], "label": [1, 0, 0]})
MAPPING = {"NEG": 0, "POS": 1}
POSITIVE = {"good": 0.75, "bad": 0.25, "so so": 0.625}


class Pipeline:
    task = "text-classification"

    def __init__(self, answer):
        self.answer = answer

    def __call__(self, texts, **options):
        return [self.answer(text) for text in texts]


def every_score(text):
    return [{"label": "POS", "score": POSITIVE[text]}, {"label": "NEG", "score": 1 - POSITIVE[text]}]


class Accuracy(evaluate.Metric):
    """A metric of the top label, as the host's own; those need the network."""

    def _info(self):
        features = datasets.Features({"predictions": datasets.Value("int32"), "references": datasets.Value("int32")})
        return evaluate.MetricInfo(description="", citation="", features=features)

    def _compute(self, predictions, references):
        return {"accuracy": sum(p == r for p, r in zip(predictions, references, strict=True)) / len(references)}


def compute(answer, metric, **options):
    return evaluator().compute(model_or_pipeline=Pipeline(answer), data=DATA, metric=metric, **options)


def test_all_scores_make_probabilities_and_top_labels():
    rows = [[1 - POSITIVE[text], POSITIVE[text]] for text in DATA["text"]]
    want = rightreasons.load("ece").compute(predictions=rows, references=DATA["label"])
    assert compute(every_score, rightreasons.load("ece"), label_mapping=MAPPING)["ece"] == want["ece"]
    both = evaluate.combine([rightreasons.load("ece", n_bins=15), Accuracy()])
    results = compute(every_score, both, label_mapping=MAPPING)
    # "so so" is called positive: 2 of 3. Two modules give an accuracy, which `combine` tells apart by their names.
    assert results["ece"] == want["ece"]
    assert results["accuracy_accuracy"] == pytest.approx(2 / 3)
    assert results["ece_accuracy"] == want["accuracy"]


@pytest.mark.parametrize(
    ("answer", "options"),
    [
        (lambda text: {"label": int(POSITIVE[text] > 0.5)}, {}),
        (lambda text: {"label": "POS" if POSITIVE[text] > 0.5 else "NEG"}, {"label_mapping": MAPPING}),
        (lambda text: {"label": int(POSITIVE[text] > 0.5), "score": 0.75}, {}),
    ],
)
def test_labels_alone_serve_metrics_of_the_top_label(answer, options):
    assert compute(answer, Accuracy(), **options)["accuracy"] == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match=r"every class \(top_k=None\) for this metric, but item 0 has [01] of"):
        compute(answer, rightreasons.load("ece"), **options)


@pytest.mark.parametrize(
    ("answer", "options", "message"),
    [
        (every_score, {}, "Expected `label_mapping` for a pipeline without a model's own, as it says 'POS'"),
        (every_score, {"label_mapping": {"POS": 1}}, r"'NEG' is not in \['POS'\]"),
        (lambda text: "POS", {}, r"for each item, but item 0 has 'POS' \(str\)"),
        (lambda text: [], {}, "at least one label for each item, but item 0 has none"),
        (lambda text: {"score": 0.5}, {}, "labels and their scores for each item, but item 0 has"),
    ],
)
def test_what_a_pipeline_cannot_say_is_one_sentence(answer, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        compute(answer, rightreasons.load("ece"), **options)


def test_a_pipeline_of_another_task():
    pipeline = Pipeline(every_score)
    pipeline.task = "summarization"
    with pytest.raises(ValueError, match="the task 'text-classification', but got one of 'summarization'"):
        evaluator().compute(model_or_pipeline=pipeline, data=DATA, metric=rightreasons.load("ece"))


class TestBootstrap:
    TEXTS = [*POSITIVE, "good", "good", "bad", "bad", "so so"]
    DATA = datasets.Dataset.from_dict({"text": TEXTS, "label": [1, 0, 0, 1, 0, 1, 0, 1]})

    def compute(self, metric, **options):
        options = {"strategy": "bootstrap", "n_resamples": 60, "random_state": 0, "label_mapping": MAPPING, **options}
        return evaluator().compute(model_or_pipeline=Pipeline(every_score), data=self.DATA, metric=metric, **options)

    def test_intervals_of_whole_items(self):
        # The figure of each item is its own: the bootstrap of their mean is that of numbers.
        results = self.compute(evaluate.combine([Accuracy(), rightreasons.load("ece")]))
        correct = np.array([1, 1, 0, 1, 0, 0, 1, 1])
        peer = stats.bootstrap((correct,), np.mean, vectorized=False, n_resamples=60, random_state=0)
        for accuracy in (results["accuracy_accuracy"], results["ece_accuracy"]):
            assert accuracy["score"] == correct.mean()
            assert accuracy["confidence_interval"] == pytest.approx(tuple(peer.confidence_interval))
            assert accuracy["standard_error"] == pytest.approx(peer.standard_error)
        simple = self.compute(rightreasons.load("ece"), strategy="simple")
        low, high = results["ece"]["confidence_interval"]
        assert results["ece"]["score"] == simple["ece"]
        assert 0 <= low < high <= 1
        # Counts and lists are figures without an interval.
        assert results["n_items"] == {"score": 8}

    def test_what_is_undefined_or_constant_has_no_interval(self):
        class Recall(Accuracy):
            def _compute(self, predictions, references):
                if predictions[0] == 0:
                    raise ValueError("Expected another item.")
                return {"recall": sum(references) / len(references), "missing": None}

        results = self.compute(Recall(), n_resamples=9)
        assert results["recall"]["confidence_interval"] is None
        assert results["missing"] == {"score": None}

        class Constant(Accuracy):
            def _compute(self, predictions, references):
                return {"constant": 0.5}

        results = self.compute(Constant(), n_resamples=9)
        assert results["constant"] == {"confidence_interval": None, "standard_error": 0.0, "score": 0.5}

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"strategy": "both"}, "Expected `strategy` to be .*simple.*bootstrap.*, but got 'both'"),
            ({"n_resamples": 0}, "`n_resamples`"),
            ({"confidence_level": 95}, "`confidence_level`"),
        ],
    )
    def test_mistakes(self, options, message):
        with pytest.raises(ValueError, match=message):
            self.compute(Accuracy(), **options)
        with pytest.raises(ValueError, match="at least 2 items for strategy 'bootstrap', but got 1"):
            evaluator("sentiment-analysis").compute(
                model_or_pipeline=Pipeline(every_score),
                data=self.DATA.select([0]),
                metric=rightreasons.load("ece"),
                strategy="bootstrap",
                label_mapping=MAPPING,
            )


def test_figures_of_one_name_are_those_of_their_metrics():
    both = evaluate.combine({"few": rightreasons.load("ece", n_bins=2), "many": rightreasons.load("ece", n_bins=15)})
    results = compute(every_score, both, label_mapping=MAPPING)
    for name, n_bins in (("few", 2), ("many", 15)):
        assert (
            results[f"{name}_ece"]
            == compute(every_score, rightreasons.load("ece", n_bins=n_bins), label_mapping=MAPPING)["ece"]
        )
