"""Functions may return answers in the usual forms, and a file may name one."""

import json
import pickle
from fractions import Fraction

import datasets
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.svm import LinearSVC
from transformers import ViTConfig, ViTForImageClassification

import rightreasons
from command_line import run
from rightreasons.core.errors import ScoreKindError
from rightreasons.models import as_scorer
from rightreasons.models.unreadable import describe_file, describe_folder

NAMES = ("negative", "positive")
TEXTS = ["a good film", "a dull one", "good"]
# P(positive) of the three texts.
POSITIVE = [0.875, 0.25, 0.875]


def rate(text):
    """Return P(positive) of a text."""
    return 0.875 if "good" in text else 0.25


def rate_classes(text):
    """Return the probability of each class, in another order than `NAMES`."""
    return {"positive": rate(text), "negative": 1 - rate(text)}


def list_entries(text):
    return [{"label": name, "score": score} for name, score in rate_classes(text).items()]


def find_likeliest(text):
    return max(list_entries(text), key=lambda entry: entry["score"])


def rank_classes(text):
    """Return the output of a zero-shot pipeline, which begins with the likeliest class."""
    scores = rate_classes(text)
    labels = sorted(scores, key=scores.get, reverse=True)
    return {"sequence": text, "labels": labels, "scores": [scores[label] for label in labels]}


def generate(texts):
    for text in texts:
        yield [1 - rate(text), rate(text)]


async def answer_later(texts):
    return list(generate(texts))


FORMS = {
    "rows": lambda texts: list(generate(texts)),
    "P(second class)": lambda texts: [rate(text) for text in texts],
    "a column": lambda texts: [[rate(text)] for text in texts],
    "by name": lambda texts: list(map(rate_classes, texts)),
    "a frame": lambda texts: pd.DataFrame(list(map(rate_classes, texts))),
    "a pipeline with top_k=None": lambda texts: list(map(list_entries, texts)),
    "a pipeline": lambda texts: list(map(find_likeliest, texts)),
    "a zero-shot pipeline": lambda texts: list(map(rank_classes, texts)),
    "a tensor with gradients": lambda texts: torch.tensor(
        list(generate(texts)), requires_grad=True
    ),
    "bfloat16": lambda texts: torch.tensor(list(generate(texts))).bfloat16(),
    "a list of tensors": lambda texts: list(map(torch.tensor, generate(texts))),
    "a generator": generate,
    "a coroutine": answer_later,
}


@pytest.mark.parametrize("form", FORMS)
def test_answers_are_accepted_in_every_form(form):
    scores = as_scorer(FORMS[form], label_names=NAMES).predict(TEXTS, progress=False)

    assert scores.failures == {}
    assert np.exp(scores.logits[:, 1]) == pytest.approx(POSITIVE)
    assert np.exp(scores.logits).sum(axis=1) == pytest.approx([1, 1, 1])


@pytest.mark.parametrize(
    "function",
    [
        lambda texts: [[1.0, 3.0] if "good" in text else [0.5, 0.0] for text in texts],
        # A single logit is that of the second class.
        lambda texts: [2.0 if "good" in text else -0.5 for text in texts],
    ],
)
def test_logits_are_accepted_if_the_option_says_so(function):
    scorer = as_scorer(function, label_names=NAMES, scores="logits")

    logits = scorer.predict(TEXTS, progress=False).logits

    assert logits[:, 1] - logits[:, 0] == pytest.approx([2.0, -0.5, 2.0])


def test_a_model_with_a_head_has_no_option_for_the_kind_of_scores(classifier_folder):
    with pytest.raises(ValueError, match="`scores`") as error:
        as_scorer(classifier_folder, scores="logits")

    assert error.value.option == ("scores",)


MODULE = """
from neighbor import probability

def predict(texts):
    return [[1 - probability(text), probability(text)] for text in texts]

def logits(texts):
    return [4 * probability(text) - 2 for text in texts]
"""
NEIGHBOR = "def probability(text):\n    return 0.875 if 'good' in text else 0.25\n"


@pytest.fixture
def module(tmp_path):
    """A file with two functions, next to a module that it imports and a table."""
    (tmp_path / "neighbor.py").write_text(NEIGHBOR)
    path = tmp_path / "my_model.py"
    path.write_text(MODULE)
    lines = ["text,label"]
    for i in range(40):
        lines.append(f"{'good' if i % 2 else 'dull'} film {i},{NAMES[i % 2]}")
    (tmp_path / "data.csv").write_text("\n".join(lines))
    return path


def read_label_names(report):
    audit = json.loads((report / "audit.json").read_text())
    return audit["model"]["label_names"]


@pytest.mark.parametrize("options", [["predict"], ["logits", "--scores", "logits"]])
def test_a_function_of_a_file_is_audited(module, tmp_path, capsys, options):
    function, *words = options
    out = tmp_path / "report"
    words += ["--label-names", ",".join(NAMES), "--n-resamples", "20", "--out", out]

    finished = run(capsys, "calibration", f"{module}:{function}", tmp_path / "data.csv", *words)

    assert finished.code == 0, finished.err
    assert read_label_names(out) == list(NAMES)


def test_a_function_without_names_has_the_classes_of_the_data(module, tmp_path, capsys):
    out = tmp_path / "report"
    words = ["--n-resamples", "20", "--out", out]

    finished = run(capsys, "calibration", f"{module}:predict", tmp_path / "data.csv", *words)

    assert finished.code == 0, finished.err
    assert "by number: 0 is negative, 1 is positive" in finished.err
    assert read_label_names(out) == list(NAMES)


def test_a_function_with_another_order_of_classes_is_doubted(tmp_path):
    texts = [f"{'good' if i % 2 else 'dull'} film {i}" for i in range(60)]
    data = datasets.Dataset.from_dict({"text": texts, "label": [i % 2 for i in range(60)]})
    data = data.cast_column("label", datasets.ClassLabel(names=list(NAMES)))
    messages = []

    rightreasons.audit(
        lambda texts: [[rate(text), 1 - rate(text)] for text in texts],
        data,
        questions=["calibration"],
        n_resamples=10,
        out=tmp_path / "report",
        progress=False,
        tell=messages.append,
    )

    doubts = [message for message in messages if "in the other order" in message]
    assert any("--label-names" in doubt for doubt in doubts)


def test_a_function_of_one_text_is_not_taken_for_one_of_two():
    scorer = as_scorer(lambda text: [0.75, 0.25], label_names=NAMES)
    with pytest.raises(TypeError, match="for text in texts"):
        scorer.predict([f"film {i}" for i in range(5)], progress=False)

    scorer = as_scorer(lambda texts: [[0.75, 0.25] for text in texts], label_names=NAMES)
    assert scorer.predict(["film", "book"], progress=False).predicted.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("name", "message"),
    [("my_model.py:predikt", "Did you mean 'predict'"), ("gone.py:predict", "is not there")],
)
def test_a_missing_function_is_named(module, name, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        as_scorer(str(module.parent / name), label_names=NAMES)


def test_logits_that_lie_between_0_and_1_by_accident_are_no_probabilities():
    # A logit of the second class per text. Those of 40 of 300 texts are valid probabilities.
    logits = np.linspace(-3, 4.5, 300)
    scorer = as_scorer(lambda texts: [logits[int(text)] for text in texts], label_names=NAMES)

    with pytest.raises(ScoreKindError, match="set `scores` to logits") as error:
        scorer.predict([str(row) for row in range(300)])

    assert error.value.option == ("scores",)


def test_a_text_without_a_score_is_a_failure_of_its_own():
    positive = [0.25, np.nan, 0.75]
    scorer = as_scorer(lambda texts: [positive[int(text)] for text in texts], label_names=NAMES)

    scores = scorer.predict(["0", "1", "2"])

    assert scores.ids == ("0", "2")
    assert list(scores.failures) == ["1"]


def test_the_error_of_a_file_is_named(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("import no_such_package\n")

    with pytest.raises(ValueError, match="ModuleNotFoundError"):
        as_scorer(f"{path}:predict", label_names=NAMES)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("model.bin", pickle.dumps({"weights": [1.5]}), "a pickle"),
        ("model.joblib", b"\0\1", "a pickle"),
        ("model.pt", b"PK\x03\x04" + bytes(8), "an archive"),
        ("model.bin", b"\xba\x16\x4f\x2f" + bytes(8), "a model of fastText"),
        ("model.safetensors", bytes(8) + b'{"__metadata__"', "a file of weights"),
        ("my_model.py", b"def predict(texts): ...", "a Python file"),
        ("data.csv", b"text,label\na,b\n", "a text file"),
        ("model.onnx", bytes(64), "an unknown type"),
    ],
)
def test_a_file_is_described_by_its_content(tmp_path, name, content, kind):
    path = tmp_path / name
    path.write_bytes(content)
    assert kind in describe_file(path)


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ((), "nothing"),
        (("model.joblib",), "a pickle, which is never opened"),
        (("config.cfg", "meta.json"), "doc.cats"),
        (("modules.json",), "sentence-transformers"),
        (("model_index.json",), "diffusers"),
        (("pytorch_model.bin", "tokenizer.json"), "`load_state_dict`"),
        (("snapshots/abc/config.json", "refs/main"), "abc: name that one"),
        (("MLmodel",), "MLmodel: load it in a Python file"),
        (("checkpoint-9/config.json", "checkpoint-10/config.json"), "checkpoint-10"),
    ],
)
def test_a_folder_is_described_by_its_files(tmp_path, files, kind):
    for name in files:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("{}")
    assert kind in describe_folder(tmp_path)


def make_object_of_a_package(package):
    # Neither package is installed everywhere: the package of the type is all that is looked at.
    kind = type("Model", (), {"__module__": f"{package}.language", "__call__": lambda *_: None})
    return kind()


@pytest.mark.parametrize(
    ("package", "message"), [("spacy", "doc.cats"), ("fasttext", "removeprefix")]
)
def test_the_error_of_a_librarys_object_shows_a_function(package, message):
    with pytest.raises(TypeError, match=message):
        as_scorer(make_object_of_a_package(package), label_names=NAMES)


def test_a_class_is_not_a_model():
    with pytest.raises(TypeError, match="the class Fraction"):
        as_scorer(Fraction, label_names=NAMES)


@pytest.mark.parametrize("n_texts", [3, 150])
def test_the_error_of_raw_outputs_names_the_option(n_texts):
    scorer = as_scorer(lambda texts: [[3.0, -2.0] for text in texts], label_names=NAMES)

    # Few texts, of which all fail, and more than a run tries.
    with pytest.raises(ValueError, match="raw model outputs") as error:
        scorer.predict([f"film {i}" for i in range(n_texts)], progress=False)

    assert error.value.option == ("scores",)


def test_the_error_of_unknown_class_names_names_the_option():
    scorer = as_scorer(lambda texts: [{"LABEL_1": 0.7} for text in texts], label_names=NAMES)

    with pytest.raises(ValueError, match="LABEL_1") as error:
        scorer.predict(TEXTS, progress=False)

    assert error.value.option == ("label_names",)


@pytest.mark.parametrize("options", [[], ["--style", "letters"]])
@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("missing.gguf", "no such file"),
        ("./missing", "does not exist"),
        ("https://huggingface.co/org/name/tree/main", "Pass the hub id org/name."),
        ("hf://org/name", "Pass the hub id org/name."),
    ],
)
def test_a_missing_model_is_the_mistake_and_not_an_option(module, capsys, model, message, options):
    finished = run(capsys, "audit", model, module.parent / "data.csv", *options)

    assert finished.code == 2
    assert message in finished.err


def test_a_loaded_model_of_images_is_refused():
    config = ViTConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=16)
    model = ViTForImageClassification(config)

    with pytest.raises(TypeError, match="reads pixel_values") as error:
        as_scorer(model)

    assert error.value.option == ("predictions",)


def test_a_model_of_images_and_texts_is_named_by_its_architecture(tmp_path):
    config = {"model_type": "clip", "architectures": ["CLIPModel"]}
    (tmp_path / "config.json").write_text(json.dumps(config))

    with pytest.raises(ValueError, match="it is CLIPModel") as error:
        as_scorer(tmp_path)

    assert "my_model.py:function" in str(error.value)


def test_the_error_of_weights_in_another_format_names_the_remedy(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "model.onnx").write_bytes(bytes(8))

    with pytest.raises(ValueError, match="my_model.py:function"):
        as_scorer(tmp_path)


def test_a_damaged_gguf_file_is_named(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF cut")

    with pytest.raises(ValueError, match="interrupted download") as error:
        as_scorer(path)

    assert str(path) in str(error.value)


def test_a_model_of_images_in_a_folder_is_refused(tmp_path):
    config = {"model_type": "vit", "architectures": ["ViTForImageClassification"]}
    (tmp_path / "config.json").write_text(json.dumps(config))

    with pytest.raises(ValueError, match="reads pixel_values") as error:
        as_scorer(tmp_path)

    assert error.value.option == ("predictions",)


def test_an_object_that_can_be_called_is_a_function_even_if_it_can_be_fitted():
    class Rule:
        def fit(self, texts):
            return self

        def __call__(self, texts):
            return [[0.25, 0.75] for _ in texts]

    scorer = as_scorer(Rule(), label_names=["no", "yes"])

    assert scorer.label_names == ("no", "yes")
    with pytest.raises(TypeError, match="predict_proba"):
        as_scorer(LinearSVC(), label_names=["no", "yes"])


def test_only_a_function_with_a_second_parameter_reads_pairs():
    def score(texts):
        return [[0.25, 0.75] for _ in texts]

    def score_pairs(texts, text_pairs):
        return [[0.25, 0.75] if pair else [0.75, 0.25] for pair in text_pairs]

    single = as_scorer(score, label_names=["no", "yes"])
    double = as_scorer(score_pairs, label_names=["no", "yes"])

    with pytest.raises(ValueError, match="single texts"):
        single.predict(["a"], text_pairs=["b"], progress=False)
    assert double.predict(["a"], text_pairs=["b"], progress=False).predicted.tolist() == [1]
