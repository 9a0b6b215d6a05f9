"""Whatever people have as a scorer, and audits of what is no model of transformers."""

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
    """The least that is a scorer: a rule over words."""

    name, label_names, abilities, fingerprint, joint = "rule", NAMES, frozenset(), "rule 1", False

    def describe(self):
        return {}

    def predict(self, texts, *, text_pairs=None, ids=None, labels=None, progress=True, out=None):
        logits = np.array(
            [[0.0, 2.0 if {"good", "great"} & set(text.split()) else -1.5] for text in texts]
        )
        return Scores(tuple(ids), logits, None if labels is None else np.array(labels), NAMES)

    def choose(self, prompts, choices, **how):
        raise ValueError("It has classes.")


def fitted(n_texts=60):
    words = make_pipeline(TfidfVectorizer(), LogisticRegression())
    return words.fit(TEXTS[:n_texts], [NAMES[label] for label in LABELS[:n_texts]])


@pytest.fixture(scope="module")
def data():
    features = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=list(NAMES))}
    )
    parts = {"train": slice(0, 60), "test": slice(60, 90)}
    rows = {name: {"text": TEXTS[part], "label": LABELS[part]} for name, part in parts.items()}
    return datasets.DatasetDict(
        {name: datasets.Dataset.from_dict(part, features=features) for name, part in rows.items()}
    )


@pytest.mark.parametrize("model", [fitted(), Rule()], ids=["pipeline", "own scorer"])
def test_what_is_no_model_of_transformers_is_audited_whole(model, data, tmp_path, unrendered):
    result = rightreasons.audit(
        model, data, out=tmp_path / "report", n_resamples=20, progress=False, raise_errors=True
    )
    answered = {outcome.question for outcome in result.outcomes if outcome.status == "answered"}
    assert answered == {"calibration", "shortcuts"}
    said = as_scorer(model).predict(data["test"]["text"], ids=range(30))
    right = float(np.mean(said.predicted == np.array(data["test"]["label"])))
    accuracy = result["calibration"].result.data["figures"]["accuracy"]["estimate"]["value"]
    assert accuracy == right
    assert result.audit["model"]["fingerprint"] == as_scorer(model).fingerprint
    assert result.audit["model"]["n_parameters"] is None


def test_a_function_is_audited_with_the_names_of_its_classes(tmp_path, unrendered):
    class Rule:
        def __call__(self, texts):
            return [[0.2, 0.8] if "good" in text else [0.7, 0.3] for text in texts]

    rows = {
        "text": ["good", "bad", "a good one", "none"] * 5,
        "label": ["yes", "no", "no", "no"] * 5,
    }
    how = {
        "out": tmp_path / "report",
        "questions": ["calibration"],
        "n_resamples": 20,
        "progress": False,
    }
    with pytest.raises(ValueError, match="`label_names`, the classes"):
        as_scorer(Rule())
    # Without names, the classes are those of the data in its order.
    for names in (None, ["no", "yes"], "no,yes"):
        assert (
            rightreasons.audit(Rule(), rows, label_names=names, **how)[
                "calibration.accuracy"
            ].estimate.value
            == 0.75
        )


def test_an_estimator_is_a_function_of_texts():
    pipeline = fitted()
    scorer = as_scorer(pipeline)
    assert isinstance(scorer, Scorer)
    assert (scorer.name, scorer.label_names, scorer.abilities) == (
        "TfidfVectorizer + LogisticRegression",
        NAMES,
        frozenset(),
    )
    scores = scorer.predict(TEXTS[60:63], ids="abc", labels=[1, -1, 0], progress=False)
    assert np.exp(scores.logits) == pytest.approx(pipeline.predict_proba(TEXTS[60:63]))
    assert (scores.ids, scores.labels.tolist()) == (("a", "b", "c"), [1, -1, 0])
    with pytest.raises(ValueError, match="is a classifier: use `predict`"):
        scorer.choose(["a"], [["b", "c"]])
    with pytest.raises(
        ValueError,
        match="parameters `texts`",
    ):
        scorer.predict(["a"], text_pairs=["b"])


def test_a_function_with_such_a_parameter_takes_pairs(tmp_path, unrendered):
    """An estimator of two columns, whose order a function tells: "no" in the second text is a contradiction."""
    firsts = [f"a film {n % 7}" for n in range(80)]
    seconds = [f"{'no' if n % 3 else 'a'} film {n % 5}" for n in range(80)]
    frame = pd.DataFrame({"hypothesis": seconds, "premise": firsts})
    columns = ColumnTransformer(
        [(name, CountVectorizer(token_pattern=r"\w+"), name) for name in frame]
    )
    model = make_pipeline(columns, LogisticRegression(C=9)).fit(
        frame, [int(n % 3 > 0) for n in range(80)]
    )

    def judge(texts, text_pairs):
        return model.predict_proba(pd.DataFrame({"hypothesis": text_pairs, "premise": texts}))

    scorer = as_scorer(judge, label_names=NAMES, fingerprint="v1")
    for pairs in (seconds, seconds[::-1]):  # other pairs are not those that are kept
        scores = scorer.predict(firsts, text_pairs=pairs, out=tmp_path / "kept", progress=False)
        assert np.exp(scores.logits) == pytest.approx(judge(firsts, pairs))
    with pytest.raises(ValueError, match="fails: TypeError"):
        scorer.predict(firsts, progress=False)
    frame.assign(label=[NAMES[int(n % 3 > 0)] for n in range(80)]).to_csv(
        tmp_path / "pairs.csv", index=False
    )
    how = {
        "questions": ["calibration", "shortcuts"],
        "n_resamples": 20,
        "text_column": "premise",
        "progress": False,
    }
    made = rightreasons.audit(
        judge,
        str(tmp_path / "pairs.csv"),
        label_names=NAMES,
        text_pair_column="hypothesis",
        out=tmp_path / "out",
        **how,
    )
    assert made["calibration.accuracy"].estimate.value == 1.0


def test_a_pipeline_cuts_texts_where_it_says_and_has_exclusive_classes(classifier_folder):
    opened, text = load_classifier(classifier_folder), "a good film and a very dull plot"
    pipe = transformers.pipeline(
        "text-classification",
        model=opened.model,
        tokenizer=opened.tokenizer,
        top_k=None,
        truncation=True,
        max_length=5,
    )
    told = {each["label"]: each["score"] for each in pipe([text])[0]}
    got = as_scorer(pipe).predict([text], progress=False)
    assert softmax(got.logits[0]) == pytest.approx(
        [told[name] for name in got.label_names], abs=1e-6
    )
    assert np.abs(got.logits - opened.predict([text], progress=False).logits).max() > 1e-3
    assert (got.truncated, opened.max_length) == (1, 32)
    each = transformers.pipeline(
        "text-classification",
        model=opened.model,
        tokenizer=opened.tokenizer,
        function_to_apply="sigmoid",
    )
    with pytest.raises(ValueError, match="exclusive classes"):
        as_scorer(each)


def test_a_loaded_language_model_is_tried_as_one_that_is_opened(tmp_path):
    words = load_chooser(save_tiny_causal(tmp_path / "causal")).engine.tokenizer
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "causal")
    model.lm_head.weight.data[3, 2] = torch.nan
    with pytest.raises(ValueError, match="finite weights"):
        as_scorer(model, tokenizer=words)


def test_scorers_are_taken_as_they_are_and_models_in_every_form(tmp_path):
    rule = Rule()
    assert as_scorer(rule) is rule
    folder = save_tiny_classifier(tmp_path / "head")
    classifier = load_classifier(folder)
    assert as_scorer(classifier) is classifier
    want = classifier.predict(["a good film"], progress=False).logits
    pipe = transformers.pipeline(
        "text-classification", model=classifier.model, tokenizer=classifier.tokenizer
    )
    trainer = SimpleNamespace(model=classifier.model, processing_class=classifier.tokenizer)
    reloaded = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    for form in (
        as_scorer(folder),
        as_scorer(pipe),
        as_scorer(classifier.model, tokenizer=classifier.tokenizer),
        as_scorer((classifier.model, classifier.tokenizer)),
        as_scorer(trainer),
        as_scorer(reloaded),  # with the tokenizer of its folder
    ):
        assert isinstance(form, Scorer)
        assert (form.label_names, form.fingerprint) == (NAMES, classifier.fingerprint)
        assert form.predict(["a good film"], progress=False).logits == pytest.approx(want)
    reloaded.config._name_or_path = str(tmp_path / "elsewhere")
    with pytest.raises(TypeError, match="Expected `tokenizer` with a loaded model"):
        as_scorer(reloaded)
    assert as_scorer(save_tiny_multiple_choice(tmp_path / "choices")).label_names is None
    causal = save_tiny_causal(tmp_path / "causal")
    for model in (as_scorer(causal, label_names=NAMES), as_scorer(str(causal))):
        assert isinstance(model, Prompted)
        assert as_scorer(model.engine).fingerprint == as_scorer(causal).fingerprint
    loaded = model.engine.model
    again = as_scorer(loaded, tokenizer=model.engine.tokenizer, label_names=NAMES)
    assert (again.label_names, again.engine.model) == (NAMES, loaded)
    bare = load_chooser(causal, method="letters")
    assert as_scorer(bare) is bare
    assert (bare.joint, "gradients" in bare.abilities) == (True, False)


def test_a_session_outside_torch_is_asked_as_its_model_is(classifier_folder, tmp_path):
    """A stand-in: models of optimum have a configuration, take tensors, return logits, and are no modules of torch."""
    plain = load_classifier(classifier_folder, device="cpu")
    members = {
        "config": plain.model.config,
        "__call__": lambda self, **inputs: plain.model(**inputs),
    }
    session = type("ORTModelForSequenceClassification", (), members)()
    scorer = as_scorer(session, tokenizer=plain.tokenizer)
    texts = ["the film was good", "bad", "good " * 50]
    scores, want = (each.predict(texts, progress=False) for each in (scorer, plain))
    assert np.exp(scores.logits).sum(axis=1) == pytest.approx(1)
    assert np.diff(scores.logits) == pytest.approx(np.diff(want.logits), abs=1e-5)
    scores, want = (
        each.predict(texts, text_pairs=texts[::-1], progress=False) for each in (scorer, plain)
    )
    assert np.diff(scores.logits) == pytest.approx(np.diff(want.logits), abs=1e-5)
    assert (scorer.label_names, "gradients" in scorer.abilities) == (plain.label_names, False)
    plain.model.config._name_or_path = ""  # where a tokenizer would be found
    with pytest.raises(TypeError, match="`tokenizer` with"):
        as_scorer(session)


def test_a_model_of_setfit_is_known_by_its_labels():
    """A stand-in: `SetFitModel` has `labels`, and `predict_proba` returns a tensor."""
    members = {
        "labels": ["dull", "fine"],
        "predict_proba": lambda self, texts: torch.tensor([[0.25, 0.75]] * len(texts)),
    }
    scores = as_scorer(type("SetFitModel", (), members)()).predict(["a", ""], progress=False)
    assert (scores.label_names, scores.predicted.tolist()) == (("dull", "fine"), [1, 1])


def test_an_estimator_of_frames_is_handed_a_frame():
    def fitted_on(frame, *columns):
        parts = [(column, CountVectorizer(), column) for column in columns]
        return make_pipeline(ColumnTransformer(parts), LogisticRegression()).fit(frame, LABELS)

    frame = pd.DataFrame({"review": TEXTS, "title": TEXTS})
    pipeline = fitted_on(frame[["review"]], "review")
    said = as_scorer(pipeline).predict(TEXTS[:5], progress=False)
    assert np.exp(said.logits) == pytest.approx(pipeline.predict_proba(frame[["review"]][:5]))
    with pytest.raises(ValueError, match="review, title"):
        as_scorer(fitted_on(frame, "review", "title"))


@pytest.mark.parametrize(
    ("model", "options", "error", "words"),
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
        (
            len,
            {"label_names": ["a", "a"]},
            ValueError,
            "`label_names`, but 'a' comes again",
        ),
        (
            LogisticRegression(),
            {},
            ValueError,
            "fitted estimator",
        ),
        (
            type("Half", (), {"label_names": NAMES, "predict": len, "name": "h"})(),
            {},
            TypeError,
            "Half has no abilities",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(model, options, error, words):
    with pytest.raises(error, match=words):
        as_scorer(model, **options)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (
            lambda texts: [[0.5, 0.5, 0.0]] * len(texts),
            r"shape \(1, 3\)",
        ),
        (lambda texts: [[0.5, 0.6]] * len(texts), "sum to 1"),
        (lambda texts: [[np.nan, 0.6]] * len(texts), "NaN"),
        (lambda texts: texts[0].no_such_name, "the call fails: AttributeError: 'str' object"),
        (
            lambda texts: [{"b": 0.6, "a": 0.4}] * len(texts),
            "scores of b, a",
        ),
        (
            lambda texts: pd.DataFrame([{"b": 0.6, "a": 0.4}] * len(texts)),
            "scores of b, a",
        ),
        (lambda texts: ["positive"] * len(texts), "names of classes"),
        (lambda texts: None, "it returns None"),
        (
            lambda texts: [{"label": "neutral", "score": 0.7}] * len(texts),
            "scores of neutral",
        ),
    ],
)
def test_what_a_function_says_is_checked(function, words):
    with pytest.raises(ValueError, match=words):
        as_scorer(function, label_names=NAMES, name="f").predict(["a", "b", "c"], progress=False)


def test_a_function_of_one_text_is_told_how_it_is_asked():
    def rate(text):
        return [0.25, 0.75] if "good" in text.split() else [0.75, 0.25]

    with pytest.raises(ValueError, match="for text in texts"):
        as_scorer(rate, label_names=NAMES).predict(["a good film"], progress=False)

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


def test_a_wrapper_with_other_arguments_is_told_which_pair_works(tmp_path):
    path = save_tiny_classifier(tmp_path, label_names=["LABEL_0"])
    wrapper = Wrapper(AutoModelForSequenceClassification.from_pretrained(path))
    before = wrapper.config.to_dict()

    with pytest.raises(TypeError, match="needs 'features'"):
        as_scorer(wrapper, tokenizer=tiny_tokenizer())

    assert wrapper.config.to_dict() == before
    scorer = as_scorer((wrapper.model, tiny_tokenizer()))
    assert scorer.label_names == ("LABEL_0", "LABEL_1")


def test_a_traced_module_is_used_by_a_function():
    traced = torch.jit.trace(torch.nn.Linear(2, 2), torch.zeros(1, 2))
    with pytest.raises(ValueError, match="a list of texts"):
        as_scorer((traced, tiny_tokenizer()))


def test_a_zero_shot_pipeline_is_used_by_a_function(tmp_path):
    path = save_tiny_classifier(tmp_path, label_names=["contradiction", "entailment"])
    pipeline = transformers.pipeline(
        "zero-shot-classification", model=str(path), tokenizer=tiny_tokenizer()
    )
    with pytest.raises(TypeError, match="candidate_labels"):
        as_scorer(pipeline)

    # The way that the sentence names.
    names = ["bad", "good"]
    scorer = as_scorer(lambda texts: pipeline(texts, candidate_labels=names), label_names=names)
    scores = scorer.predict(TEXTS[:3], progress=False)

    for text, row in zip(TEXTS[:3], np.exp(scores.logits), strict=True):
        answer = pipeline(text, candidate_labels=names)
        assert row[names.index(answer["labels"][0])] == pytest.approx(answer["scores"][0])
        assert row.sum() == pytest.approx(1)
        assert row[0] != row[1]


def test_a_text_at_which_a_function_fails_is_left_out():
    def fails_at_b(texts):
        if any("b" in text for text in texts):
            raise RuntimeError("no b")
        return [[0.25, 0.75]] * len(texts)

    scores = as_scorer(fails_at_b, label_names=NAMES).predict(
        ["a", "b", "c"], labels=[0, 1, 1], progress=False
    )
    assert (scores.ids, scores.labels.tolist()) == (("0", "2"), [0, 1])
    assert scores.failures["1"].endswith("the call fails: RuntimeError: no b.")
    assert np.exp(scores.logits) == pytest.approx(np.array([[0.25, 0.75]] * 2))


def test_answers_are_kept_under_a_fingerprint_alone(tmp_path):
    calls = []

    def counting(texts):
        calls.append(len(texts))
        return [[0.3, 0.7]] * len(texts)

    for name, n_calls in (("v1", 1), ("v1", 1), ("v2", 2)):
        scorer = as_scorer(counting, label_names=NAMES, fingerprint=name)
        scorer.predict(["a", "b"], out=tmp_path / "kept", progress=False)
        assert len(calls) == n_calls
    first, second = (as_scorer(counting, label_names=NAMES) for _ in range(2))
    assert first.fingerprint != second.fingerprint == second.fingerprint
    assert not first.describe()["kept"]
    for n_calls in (3, 4):
        first.predict(["a", "b"], out=tmp_path / "never", progress=False)
        assert len(calls) == n_calls
    assert not (tmp_path / "never").exists()


def test_an_estimator_is_known_by_what_it_learned():
    pipeline = fitted()
    before = as_scorer(pipeline).fingerprint
    pipeline.predict_proba(["a film"])  # notes an address in the vectorizer
    assert as_scorer(pipeline).fingerprint == before
    assert as_scorer(fitted(58)).fingerprint != before
    pipeline[0]._stop_words_id = 12345  # as in another process
    assert as_scorer(pipeline).fingerprint == before
    assert pipeline[0]._stop_words_id == 12345
    assert as_scorer(pipeline).describe()["kept"]
    pipeline[0].tokenizer = str.split
    assert as_scorer(pipeline).describe()["kept"]
    pipeline[0].tokenizer = lambda text: text.split()  # pickled by its name alone
    assert not as_scorer(pipeline).describe()["kept"]


def test_a_scorer_without_gradients_is_refused_where_they_are_needed():
    for ask in (integrated_gradients, fisher_information):
        with pytest.raises(ValueError, match="needs gradients, which rule cannot give"):
            ask(Rule(), ["a good film"])


def test_names_do_not_hide_an_error_on_another_option():
    scorer = as_scorer(lambda texts: np.ones((len(texts), 2)) / 2, label_names=NAMES)

    # A scorer has names and a kind of scores: neither option applies.
    with pytest.raises(OptionError) as error:
        as_named_scorer(scorer, NAMES, scores="logits")

    assert error.value.option == ("scores",)
