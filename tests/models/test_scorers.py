"""Anything that users have becomes a scorer, and is audited without being a model of transformers."""

from types import SimpleNamespace

import datasets
import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from scipy.special import softmax
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from transformers import AutoModelForSequenceClassification

import rightreasons
from rightreasons.core.errors import OptionError
from rightreasons.core.scores import Scores
from rightreasons.models import as_scorer
from rightreasons.models.choices import load_chooser
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import load_classifier
from rightreasons.models.prompted import Prompted
from rightreasons.models.protocol import Scorer
from rightreasons.models.scorers import as_named_scorer
from tiny_causal import save_tiny_causal
from tiny_models import (
    save_tiny_classifier,
    save_tiny_multiple_choice,
    tiny_texts,
    tiny_tokenizer,
)

NAMES = ("negative", "positive")
TEXTS, LABELS = tiny_texts(90)


class Rule:
    """The smallest scorer: a rule over words."""

    name = "rule"
    label_names = NAMES
    abilities = frozenset()
    fingerprint = "rule 1"
    joint = False

    def describe(self):
        return {}

    def predict(self, texts, *, text_pairs=None, ids=None, labels=None, progress=True, out=None):
        logits = []
        for text in texts:
            is_positive = not {"good", "great"}.isdisjoint(text.split())
            logits.append([0.0, 2.0 if is_positive else -1.5])
        label_array = None if labels is None else np.array(labels)
        return Scores(tuple(ids), np.array(logits), label_array, NAMES)

    def choose(self, prompts, choices, **options):
        raise ValueError("It has classes.")


def fit_pipeline(n_texts=60):
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression())
    return pipeline.fit(TEXTS[:n_texts], [NAMES[label] for label in LABELS[:n_texts]])


@pytest.fixture(scope="module")
def data():
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=list(NAMES))}
    )
    splits = datasets.DatasetDict()
    for name, rows in (("train", slice(0, 60)), ("test", slice(60, 90))):
        columns = {"text": TEXTS[rows], "label": LABELS[rows]}
        splits[name] = datasets.Dataset.from_dict(columns, features=features)
    return splits


@pytest.mark.parametrize("model", [fit_pipeline(), Rule()], ids=["pipeline", "own scorer"])
def test_a_scorer_without_transformers_is_audited(model, data, tmp_path, unrendered):
    result = rightreasons.audit(
        model, data, out=tmp_path / "report", n_resamples=20, progress=False, raise_errors=True
    )

    answered = {outcome.question for outcome in result.outcomes if outcome.status == "answered"}
    assert answered == {"calibration", "shortcuts"}
    scores = as_scorer(model).predict(data["test"]["text"], ids=range(30))
    expected = float(np.mean(scores.predicted == np.array(data["test"]["label"])))
    accuracy = result["calibration"].result.data["figures"]["accuracy"]["estimate"]["value"]
    assert accuracy == expected
    assert result.audit["model"]["fingerprint"] == as_scorer(model).fingerprint
    assert result.audit["model"]["n_parameters"] is None


class FunctionObject:
    """An object that is called like a function."""

    def __call__(self, texts):
        return [[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts]


def test_a_function_is_audited_with_the_names_of_its_classes(tmp_path, unrendered):
    # Of four texts, the third one is predicted incorrectly.
    rows = {
        "text": ["good", "bad", "a good one", "none"] * 5,
        "label": ["yes", "no", "no", "no"] * 5,
    }
    options = {
        "out": tmp_path / "report",
        "questions": ["calibration"],
        "n_resamples": 20,
        "progress": False,
    }
    with pytest.raises(ValueError, match="`label_names`, the classes"):
        as_scorer(FunctionObject())

    # Without names, the classes are those of the data in its order.
    for names in (None, ["no", "yes"], "no,yes"):
        result = rightreasons.audit(FunctionObject(), rows, label_names=names, **options)
        assert result["calibration.accuracy"].estimate.value == 0.75


def test_an_estimator_is_a_function_of_texts():
    pipeline = fit_pipeline()
    scorer = as_scorer(pipeline)
    assert isinstance(scorer, Scorer)
    assert scorer.name == "TfidfVectorizer + LogisticRegression"
    assert scorer.label_names == NAMES
    assert scorer.abilities == frozenset()

    scores = scorer.predict(TEXTS[60:63], ids="abc", labels=[1, -1, 0], progress=False)
    assert np.exp(scores.logits) == pytest.approx(pipeline.predict_proba(TEXTS[60:63]))
    assert scores.ids == ("a", "b", "c")
    assert scores.labels.tolist() == [1, -1, 0]

    with pytest.raises(ValueError, match="is a classifier: use `predict`"):
        scorer.choose(["a"], [["b", "c"]])
    with pytest.raises(ValueError, match="parameters `texts`"):
        scorer.predict(["a"], text_pairs=["b"])


def test_a_function_with_a_parameter_text_pairs_accepts_pairs(tmp_path, unrendered):
    """An estimator of two columns: "no" in the second text is a contradiction."""
    premises = [f"a film {n % 7}" for n in range(80)]
    hypotheses = [f"{'no' if n % 3 else 'a'} film {n % 5}" for n in range(80)]
    labels = [int(n % 3 > 0) for n in range(80)]
    frame = pd.DataFrame({"hypothesis": hypotheses, "premise": premises})
    vectorizers = ColumnTransformer(
        [(name, CountVectorizer(token_pattern=r"\w+"), name) for name in frame]
    )
    model = make_pipeline(vectorizers, LogisticRegression(C=9)).fit(frame, labels)

    def judge(texts, text_pairs):
        return model.predict_proba(pd.DataFrame({"hypothesis": text_pairs, "premise": texts}))

    scorer = as_scorer(judge, label_names=NAMES, fingerprint="v1")
    # The stored answers to other pairs are not used.
    for pairs in (hypotheses, hypotheses[::-1]):
        scores = scorer.predict(premises, text_pairs=pairs, out=tmp_path / "out", progress=False)
        assert np.exp(scores.logits) == pytest.approx(judge(premises, pairs))
    with pytest.raises(ValueError, match="fails: TypeError"):
        scorer.predict(premises, progress=False)

    table = tmp_path / "pairs.csv"
    frame.assign(label=[NAMES[label] for label in labels]).to_csv(table, index=False)
    result = rightreasons.audit(
        judge,
        str(table),
        label_names=NAMES,
        text_column="premise",
        text_pair_column="hypothesis",
        out=tmp_path / "report",
        questions=["calibration", "shortcuts"],
        n_resamples=20,
        progress=False,
    )
    assert result["calibration.accuracy"].estimate.value == 1.0


def test_a_pipeline_truncates_texts_by_its_own_options(classifier_folder):
    classifier = load_classifier(classifier_folder)
    text = "a good film and a very dull plot"
    pipeline = transformers.pipeline(
        "text-classification",
        model=classifier.model,
        tokenizer=classifier.tokenizer,
        top_k=None,
        truncation=True,
        max_length=5,
    )
    score_by_label = {entry["label"]: entry["score"] for entry in pipeline([text])[0]}

    scores = as_scorer(pipeline).predict([text], progress=False)

    expected = [score_by_label[name] for name in scores.label_names]
    assert softmax(scores.logits[0]) == pytest.approx(expected, abs=1e-6)
    # The whole text has other scores.
    complete = classifier.predict([text], progress=False)
    assert np.abs(scores.logits - complete.logits).max() > 1e-3
    assert scores.truncated == 1
    assert classifier.max_length == 32

    # A sigmoid for each class means that classes do not exclude each other.
    independent = transformers.pipeline(
        "text-classification",
        model=classifier.model,
        tokenizer=classifier.tokenizer,
        function_to_apply="sigmoid",
    )
    with pytest.raises(ValueError, match="exclusive classes"):
        as_scorer(independent)


def test_a_loaded_language_model_is_tried_like_one_in_a_folder(tmp_path):
    folder = save_tiny_causal(tmp_path / "causal")
    words = load_chooser(folder).engine.tokenizer
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    model.lm_head.weight.data[3, 2] = torch.nan

    with pytest.raises(ValueError, match="finite weights"):
        as_scorer(model, tokenizer=words)


def test_scorers_are_returned_as_they_are_and_models_accepted_in_every_form(tmp_path):
    rule = Rule()
    assert as_scorer(rule) is rule
    folder = save_tiny_classifier(tmp_path / "head")
    classifier = load_classifier(folder)
    assert as_scorer(classifier) is classifier

    expected = classifier.predict(["a good film"], progress=False).logits
    pipeline = transformers.pipeline(
        "text-classification", model=classifier.model, tokenizer=classifier.tokenizer
    )
    trainer = SimpleNamespace(model=classifier.model, processing_class=classifier.tokenizer)
    reloaded = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    for scorer in (
        as_scorer(folder),
        as_scorer(pipeline),
        as_scorer(classifier.model, tokenizer=classifier.tokenizer),
        as_scorer((classifier.model, classifier.tokenizer)),
        as_scorer(trainer),
        # With the tokenizer of its folder.
        as_scorer(reloaded),
    ):
        assert isinstance(scorer, Scorer)
        assert scorer.label_names == NAMES
        assert scorer.fingerprint == classifier.fingerprint
        assert scorer.predict(["a good film"], progress=False).logits == pytest.approx(expected)

    reloaded.config._name_or_path = str(tmp_path / "elsewhere")
    with pytest.raises(TypeError, match="Expected `tokenizer` with a loaded model"):
        as_scorer(reloaded)

    choice_folder = save_tiny_multiple_choice(tmp_path / "choices")
    assert as_scorer(choice_folder).label_names is None

    causal_folder = save_tiny_causal(tmp_path / "causal")
    for scorer in (as_scorer(causal_folder, label_names=NAMES), as_scorer(str(causal_folder))):
        assert isinstance(scorer, Prompted)
        assert as_scorer(scorer.engine).fingerprint == as_scorer(causal_folder).fingerprint

    engine = scorer.engine
    from_loaded = as_scorer(engine.model, tokenizer=engine.tokenizer, label_names=NAMES)
    assert from_loaded.label_names == NAMES
    assert from_loaded.engine.model == engine.model

    chooser = load_chooser(causal_folder, method="letters")
    assert as_scorer(chooser) is chooser
    assert chooser.joint is True
    assert "gradients" not in chooser.abilities


def test_a_session_outside_torch_has_the_scores_of_its_model(classifier_folder, tmp_path):
    """A stand-in: models of optimum have a configuration and return logits, but are no modules of torch."""
    classifier = load_classifier(classifier_folder, device="cpu")
    attributes = {
        "config": classifier.model.config,
        "__call__": lambda self, **inputs: classifier.model(**inputs),
    }
    session = type("ORTModelForSequenceClassification", (), attributes)()
    scorer = as_scorer(session, tokenizer=classifier.tokenizer)
    texts = ["the film was good", "bad", "good " * 50]

    def compute_differences(model, **options):
        """Return the difference of the two logits, as the scorer's are normalized."""
        return np.diff(model.predict(texts, progress=False, **options).logits)

    scores = scorer.predict(texts, progress=False)
    assert np.exp(scores.logits).sum(axis=1) == pytest.approx(1)
    for options in ({}, {"text_pairs": texts[::-1]}):
        expected = compute_differences(classifier, **options)
        assert compute_differences(scorer, **options) == pytest.approx(expected, abs=1e-5)
    assert scorer.label_names == classifier.label_names
    assert "gradients" not in scorer.abilities

    # Without the name of its folder, no tokenizer is found.
    classifier.model.config._name_or_path = ""
    with pytest.raises(TypeError, match="`tokenizer` with"):
        as_scorer(session)


def test_a_model_of_setfit_is_recognized_by_its_labels():
    """A stand-in: `SetFitModel` has `labels`, and `predict_proba` returns a tensor."""
    attributes = {
        "labels": ["dull", "fine"],
        "predict_proba": lambda self, texts: torch.tensor([[0.25, 0.75]] * len(texts)),
    }
    model = type("SetFitModel", (), attributes)()

    scores = as_scorer(model).predict(["a", ""], progress=False)

    assert scores.label_names == ("dull", "fine")
    assert scores.predicted.tolist() == [1, 1]


def test_an_estimator_of_frames_is_called_with_a_frame():
    frame = pd.DataFrame({"review": TEXTS, "title": TEXTS})

    def fit_columns(*columns):
        vectorizers = ColumnTransformer([(name, CountVectorizer(), name) for name in columns])
        pipeline = make_pipeline(vectorizers, LogisticRegression())
        return pipeline.fit(frame[list(columns)], LABELS)

    pipeline = fit_columns("review")
    scores = as_scorer(pipeline).predict(TEXTS[:5], progress=False)
    expected = pipeline.predict_proba(frame[["review"]][:5])
    assert np.exp(scores.logits) == pytest.approx(expected)

    with pytest.raises(ValueError, match="review, title"):
        as_scorer(fit_columns("review", "title"))


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (3, {}, TypeError, "function from"),
        (len, {}, ValueError, "`label_names`, the classes"),
        (len, {"label_names": ["one"]}, ValueError, "Expected at least two classes, but len has 1"),
        (
            LinearSVC(),
            {},
            TypeError,
            "LinearSVC has none. Wrap the estimator in CalibratedClassifierCV",
        ),
        (len, {"label_names": ["a", "a"]}, ValueError, "`label_names`, but 'a' comes again"),
        (LogisticRegression(), {}, ValueError, "fitted estimator"),
        (
            type("Half", (), {"label_names": NAMES, "predict": len, "name": "h"})(),
            {},
            TypeError,
            "Half has no abilities",
        ),
    ],
)
def test_objects_that_cannot_be_scorers_are_refused(model, options, error, message):
    with pytest.raises(error, match=message):
        as_scorer(model, **options)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda texts: [[0.5, 0.5, 0.0]] * len(texts), r"shape \(1, 3\)"),
        (lambda texts: [[0.5, 0.6]] * len(texts), "sum to 1"),
        (lambda texts: [[np.nan, 0.6]] * len(texts), "NaN"),
        (lambda texts: texts[0].no_such_name, "the call fails: AttributeError: 'str' object"),
        (lambda texts: [{"b": 0.6, "a": 0.4}] * len(texts), "scores of b, a"),
        (lambda texts: pd.DataFrame([{"b": 0.6, "a": 0.4}] * len(texts)), "scores of b, a"),
        (lambda texts: ["positive"] * len(texts), "names of classes"),
        (lambda texts: None, "it returns None"),
        (lambda texts: [{"label": "neutral", "score": 0.7}] * len(texts), "scores of neutral"),
    ],
)
def test_the_output_of_a_function_is_checked(function, message):
    scorer = as_scorer(function, label_names=NAMES, name="f")

    with pytest.raises(ValueError, match=message):
        scorer.predict(["a", "b", "c"], progress=False)


def test_the_error_of_a_function_of_one_text_shows_a_function_of_a_list():
    def rate(text):
        return [0.25, 0.75] if "good" in text.split() else [0.75, 0.25]

    with pytest.raises(ValueError, match="for text in texts"):
        as_scorer(rate, label_names=NAMES).predict(["a good film"], progress=False)

    # The remedy that the message shows.
    scorer = as_scorer(lambda texts: [rate(text) for text in texts], label_names=NAMES)
    assert scorer.predict(["a good film"], progress=False).predicted.tolist() == [1]


class Embedder(torch.nn.Module):
    """Has a tokenizer and no head, as models of sentence-transformers."""

    def forward(self, features):
        return features


@pytest.mark.parametrize("tokenizer", [None, "its own"])
def test_a_module_without_a_head_is_used_by_a_function(tokenizer):
    model = Embedder()
    if tokenizer is not None:
        model.tokenizer = tiny_tokenizer()

    with pytest.raises(TypeError, match="function of a list"):
        as_scorer(model, label_names=NAMES)

    def classify(texts):
        lengths = model(torch.tensor([float(len(text)) for text in texts]))
        return torch.sigmoid(lengths - 9.5)

    scorer = as_scorer(classify, label_names=NAMES)
    assert scorer.predict(["short", "a longer text"], progress=False).predicted.tolist() == [0, 1]


class Wrapper(torch.nn.Module):
    """A model of transformers that takes its inputs in one argument, as cross-encoders do."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    @property
    def config(self):
        return self.model.config

    def forward(self, features, **options):
        return self.model(**features, **options)


def test_the_error_of_a_wrapper_with_other_arguments_names_the_pair_that_works(tmp_path):
    path = save_tiny_classifier(tmp_path, label_names=["LABEL_0"])
    wrapper = Wrapper(AutoModelForSequenceClassification.from_pretrained(path))
    config = wrapper.config.to_dict()

    with pytest.raises(TypeError, match="needs 'features'"):
        as_scorer(wrapper, tokenizer=tiny_tokenizer())

    assert wrapper.config.to_dict() == config
    scorer = as_scorer((wrapper.model, tiny_tokenizer()))
    assert scorer.label_names == ("LABEL_0", "LABEL_1")


def test_a_traced_module_needs_a_function():
    traced = torch.jit.trace(torch.nn.Linear(2, 2), torch.zeros(1, 2))

    with pytest.raises(ValueError, match="a list of texts"):
        as_scorer((traced, tiny_tokenizer()))


def test_a_zero_shot_pipeline_needs_a_function(tmp_path):
    path = save_tiny_classifier(tmp_path, label_names=["contradiction", "entailment"])
    pipeline = transformers.pipeline(
        "zero-shot-classification", model=str(path), tokenizer=tiny_tokenizer()
    )
    with pytest.raises(TypeError, match="candidate_labels"):
        as_scorer(pipeline)

    # The remedy that the message names.
    names = ["bad", "good"]
    scorer = as_scorer(lambda texts: pipeline(texts, candidate_labels=names), label_names=names)
    scores = scorer.predict(TEXTS[:3], progress=False)

    for text, row in zip(TEXTS[:3], np.exp(scores.logits), strict=True):
        answer = pipeline(text, candidate_labels=names)
        assert row[names.index(answer["labels"][0])] == pytest.approx(answer["scores"][0])
        assert row.sum() == pytest.approx(1)
        assert row[0] != row[1]


def test_a_text_at_which_a_function_fails_is_excluded():
    def fail_at_b(texts):
        if any("b" in text for text in texts):
            raise RuntimeError("no b")
        return [[0.25, 0.75]] * len(texts)

    scorer = as_scorer(fail_at_b, label_names=NAMES)
    scores = scorer.predict(["a", "b", "c"], labels=[0, 1, 1], progress=False)

    assert scores.ids == ("0", "2")
    assert scores.labels.tolist() == [0, 1]
    assert scores.failures["1"].endswith("the call fails: RuntimeError: no b.")
    assert np.exp(scores.logits) == pytest.approx(np.array([[0.25, 0.75]] * 2))


def test_answers_are_stored_only_under_a_fingerprint(tmp_path):
    calls = []

    def classify(texts):
        calls.append(len(texts))
        return [[0.3, 0.7]] * len(texts)

    for fingerprint, n_calls in (("v1", 1), ("v1", 1), ("v2", 2)):
        scorer = as_scorer(classify, label_names=NAMES, fingerprint=fingerprint)
        scorer.predict(["a", "b"], out=tmp_path / "out", progress=False)
        assert len(calls) == n_calls

    # Without a given one, each scorer of a function has its own fingerprint.
    scorer = as_scorer(classify, label_names=NAMES)
    other_scorer = as_scorer(classify, label_names=NAMES)
    assert scorer.fingerprint != other_scorer.fingerprint == other_scorer.fingerprint
    assert not scorer.describe()["kept"]
    for n_calls in (3, 4):
        scorer.predict(["a", "b"], out=tmp_path / "never", progress=False)
        assert len(calls) == n_calls
    assert not (tmp_path / "never").exists()


def test_the_fingerprint_of_an_estimator_depends_on_its_learned_parameters():
    pipeline = fit_pipeline()
    vectorizer = pipeline[0]
    fingerprint = as_scorer(pipeline).fingerprint

    # A prediction stores an address in the vectorizer.
    pipeline.predict_proba(["a film"])
    assert as_scorer(pipeline).fingerprint == fingerprint
    assert as_scorer(fit_pipeline(58)).fingerprint != fingerprint
    # It is another one in another process.
    vectorizer._stop_words_id = 12345
    assert as_scorer(pipeline).fingerprint == fingerprint
    assert vectorizer._stop_words_id == 12345

    assert as_scorer(pipeline).describe()["kept"]
    vectorizer.tokenizer = str.split
    assert as_scorer(pipeline).describe()["kept"]
    # A lambda is pickled by its name alone.
    vectorizer.tokenizer = lambda text: text.split()
    assert not as_scorer(pipeline).describe()["kept"]


def test_a_scorer_without_gradients_is_refused_if_they_are_needed():
    for function in (integrated_gradients, fisher_information):
        with pytest.raises(ValueError, match="needs gradients, which rule cannot give"):
            function(Rule(), ["a good film"])


def test_names_do_not_hide_an_error_on_another_option():
    scorer = as_scorer(lambda texts: np.ones((len(texts), 2)) / 2, label_names=NAMES)

    # A scorer has names and a kind of scores: neither option applies.
    with pytest.raises(OptionError) as error:
        as_named_scorer(scorer, NAMES, scores="logits")

    assert error.value.option == ("scores",)
