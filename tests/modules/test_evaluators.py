"""Pipelines of one's own in the evaluator, as evaluate's guide to custom pipelines makes them."""

import datasets
import evaluate
import pytest

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


def test_a_bootstrap_is_refused():
    with pytest.raises(ValueError, match="Expected `strategy` to be 'simple', but got 'bootstrap'"):
        compute(every_score, rightreasons.load("ece"), label_mapping=MAPPING, strategy="bootstrap")


def test_figures_of_one_name_are_those_of_their_metrics():
    both = evaluate.combine({"few": rightreasons.load("ece", n_bins=2), "many": rightreasons.load("ece", n_bins=15)})
    results = compute(every_score, both, label_mapping=MAPPING)
    for name, n_bins in (("few", 2), ("many", 15)):
        assert (
            results[f"{name}_ece"]
            == compute(every_score, rightreasons.load("ece", n_bins=n_bins), label_mapping=MAPPING)["ece"]
        )
