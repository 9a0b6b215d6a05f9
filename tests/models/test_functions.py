"""Functions whose answers come in the forms in which people have them, and files that name one."""

import json
import pickle
from fractions import Fraction

import datasets
import numpy as np
import pandas as pd
import pytest
import torch
from transformers import ViTConfig, ViTForImageClassification

import rightreasons
from command_line import run
from rightreasons.models import as_scorer
from rightreasons.models.unreadable import describe_file, describe_folder

NAMES = ("negative", "positive")
TEXTS = ["a good film", "a dull one", "good"]
# P(positive) of the three texts.
POSITIVE = [0.875, 0.25, 0.875]


def probability(text):
    return 0.875 if "good" in text else 0.25


def by_name(text):
    # In another order than `NAMES`.
    return {"positive": probability(text), "negative": 1 - probability(text)}


def as_members(text):
    return [{"label": name, "score": score} for name, score in by_name(text).items()]


def generate(texts):
    for text in texts:
        yield [1 - probability(text), probability(text)]


async def answer_later(texts):
    return list(generate(texts))


FORMS = {
    "rows": lambda texts: list(generate(texts)),
    "P(second class)": lambda texts: [probability(text) for text in texts],
    "a column": lambda texts: [[probability(text)] for text in texts],
    "by name": lambda texts: [by_name(text) for text in texts],
    "a frame": lambda texts: pd.DataFrame([by_name(text) for text in texts]),
    "a pipeline with top_k=None": lambda texts: [as_members(text) for text in texts],
    "a pipeline": lambda texts: [
        max(as_members(text), key=lambda member: member["score"]) for text in texts
    ],
    "a zero-shot pipeline": lambda texts: [
        # The likeliest class comes first.
        {
            "sequence": text,
            "labels": sorted(by_name(text), key=by_name(text).get, reverse=True),
            "scores": sorted(by_name(text).values(), reverse=True),
        }
        for text in texts
    ],
    "a tensor with gradients": lambda texts: torch.tensor(
        list(generate(texts)), requires_grad=True
    ),
    "bfloat16": lambda texts: torch.tensor(list(generate(texts))).bfloat16(),
    "a list of tensors": lambda texts: [torch.tensor(row) for row in generate(texts)],
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


def test_a_model_with_a_head_takes_no_kind_of_scores(classifier_folder):
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
    (tmp_path / "neighbor.py").write_text(NEIGHBOR)
    path = tmp_path / "my_model.py"
    path.write_text(MODULE)
    rows = [f"{'good' if i % 2 else 'dull'} film {i},{NAMES[i % 2]}" for i in range(40)]
    (tmp_path / "data.csv").write_text("\n".join(["text,label", *rows]))
    return path


@pytest.mark.parametrize("options", [["predict"], ["logits", "--scores", "logits"]])
def test_a_function_of_a_file_is_audited(module, tmp_path, capsys, options):
    function, *words = options
    words += ["--label-names", ",".join(NAMES), "--n-resamples", "20", "--out", tmp_path / "report"]

    done = run(capsys, "calibration", f"{module}:{function}", tmp_path / "data.csv", *words)

    assert done.code == 0, done.err
    audit = json.loads((tmp_path / "report" / "audit.json").read_text())
    assert audit["model"]["label_names"] == list(NAMES)


def test_a_function_without_names_has_the_classes_of_the_data(module, tmp_path, capsys):
    words = ["--n-resamples", "20", "--out", tmp_path / "report"]

    done = run(capsys, "calibration", f"{module}:predict", tmp_path / "data.csv", *words)

    assert done.code == 0, done.err
    assert "by number: 0 is negative, 1 is positive" in done.err
    audit = json.loads((tmp_path / "report" / "audit.json").read_text())
    assert audit["model"]["label_names"] == list(NAMES)


def test_a_function_whose_numbers_have_another_order_is_doubted(tmp_path):
    texts = [f"{'good' if i % 2 else 'dull'} film {i}" for i in range(60)]
    data = datasets.Dataset.from_dict({"text": texts, "label": [i % 2 for i in range(60)]})
    data = data.cast_column("label", datasets.ClassLabel(names=list(NAMES)))
    said = []

    rightreasons.audit(
        lambda texts: [[probability(text), 1 - probability(text)] for text in texts],
        data,
        questions=["calibration"],
        n_resamples=10,
        out=tmp_path / "report",
        progress=False,
        tell=said.append,
    )

    assert any("in the other order" in line and "--label-names" in line for line in said)


def test_a_function_of_one_text_is_not_taken_for_one_of_two():
    scorer = as_scorer(lambda text: [0.75, 0.25], label_names=NAMES)
    with pytest.raises(TypeError, match="for text in texts"):
        scorer.predict([f"film {i}" for i in range(5)], progress=False)

    scorer = as_scorer(lambda texts: [[0.75, 0.25] for text in texts], label_names=NAMES)
    assert scorer.predict(["film", "book"], progress=False).predicted.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("name", "words"),
    [("my_model.py:predikt", "Did you mean 'predict'"), ("gone.py:predict", "is not there")],
)
def test_a_function_that_is_not_there_is_named(module, name, words):
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        as_scorer(str(module.parent / name), label_names=NAMES)


def test_a_file_that_fails_is_named(tmp_path):
    (tmp_path / "broken.py").write_text("import no_such_package\n")
    with pytest.raises(ValueError, match="ModuleNotFoundError"):
        as_scorer(f"{tmp_path / 'broken.py'}:predict", label_names=NAMES)


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
    ("package", "words"), [("spacy", "doc.cats"), ("fasttext", "removeprefix")]
)
def test_an_object_of_a_library_is_told_by_which_function_it_is_asked(package, words):
    with pytest.raises(TypeError, match=words):
        as_scorer(make_object_of_a_package(package), label_names=NAMES)


def test_a_class_is_no_model():
    with pytest.raises(TypeError, match="the class Fraction"):
        as_scorer(Fraction, label_names=NAMES)


@pytest.mark.parametrize("n_texts", [3, 150])
def test_raw_outputs_are_told_which_option_says_so(n_texts):
    scorer = as_scorer(lambda texts: [[3.0, -2.0] for text in texts], label_names=NAMES)

    # Few texts, of which all fail, and more than a run tries.
    with pytest.raises(ValueError, match="raw model outputs") as error:
        scorer.predict([f"film {i}" for i in range(n_texts)], progress=False)
    assert error.value.option == ("scores",)


def test_other_names_of_classes_are_told_which_option_renames_them():
    scorer = as_scorer(lambda texts: [{"LABEL_1": 0.7} for text in texts], label_names=NAMES)

    with pytest.raises(ValueError, match="LABEL_1") as error:
        scorer.predict(TEXTS, progress=False)
    assert error.value.option == ("label_names",)


@pytest.mark.parametrize("options", [[], ["--style", "letters"]])
@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("missing.gguf", "no such file"),
        ("./missing", "does not exist"),
        ("https://huggingface.co/org/name/tree/main", "Pass the hub id org/name."),
        ("hf://org/name", "Pass the hub id org/name."),
    ],
)
def test_a_missing_model_is_the_mistake_and_not_an_option(module, capsys, model, words, options):
    done = run(capsys, "audit", model, module.parent / "data.csv", *options)

    assert done.code == 2
    assert words in done.err


def test_a_loaded_model_of_pictures_is_told_by_its_input():
    config = ViTConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, image_size=16)
    with pytest.raises(TypeError, match="reads pixel_values") as error:
        as_scorer(ViTForImageClassification(config))
    assert error.value.option == ("predictions",)


def test_a_model_of_pictures_and_texts_is_named_by_its_architecture(tmp_path):
    config = {"model_type": "clip", "architectures": ["CLIPModel"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="it is CLIPModel") as error:
        as_scorer(tmp_path)
    assert "my_model.py:function" in str(error.value)


def test_a_folder_with_weights_in_another_format_is_told_which_way_works(tmp_path):
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


def test_a_model_of_pictures_is_told_by_its_input(tmp_path):
    config = {"model_type": "vit", "architectures": ["ViTForImageClassification"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match="reads pixel_values") as error:
        as_scorer(tmp_path)
    assert error.value.option == ("predictions",)
