"""Adapters on their bases, and quantized weights: LoRAs as peft writes them, and folders as bitsandbytes does."""

import json
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

from rightreasons.models.choices import find_model_kind, load_causal, load_chooser
from rightreasons.models.classes import choose, predict
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.gradients.inputs import explain_missing_gradients
from rightreasons.models.heads import read_class_names
from rightreasons.models.loading import load_classifier, load_multiple_choice
from rightreasons.models.scorers import as_scorer
from rightreasons.models.weights import unwrap_model
from rightreasons.report import audit
from rightreasons.training import fine_tune
from tiny_causal import chosen, save_tiny_causal, tiny_causal_tokenizer
from tiny_models import (
    save_tiny_classifier,
    save_tiny_encoder,
    save_tiny_multiple_choice,
    tiny_texts,
    tiny_tokenizer,
)

TEXTS = [
    "the film was good",
    "a bad dull plot and a poor actor",
    "the actor",
    "a lovely scene but the story was awful",
]
PROMPTS = ["the film was", "a plot and"]
CHOICES = [["good", "bad film"], ["dull", "a fine actor", "lovely"]]

ATTENTION = {"target_modules": ["query", "value"]}
KINDS = {
    "DoRA": ("LoraConfig", ATTENTION | {"use_dora": True}),
    "biases": ("LoraConfig", ATTENTION | {"bias": "all"}),
    "words": ("LoraConfig", {"target_modules": ["query", "word_embeddings"]}),
    "some words": (
        "LoraConfig",
        ATTENTION | {"trainable_token_indices": {"word_embeddings": [7, 8]}},
    ),
    "IA3": ("IA3Config", {"target_modules": ["key"], "feedforward_modules": []}),
    "AdaLoRA": ("AdaLoraConfig", ATTENTION | {"total_step": 9}),
    "VeRA": ("VeraConfig", ATTENTION | {"r": 4}),
    "prompt": ("PromptTuningConfig", {"num_virtual_tokens": 3}),
    "prefix": ("PrefixTuningConfig", {"num_virtual_tokens": 3}),
}
"""Kind of adapter -> its class in peft, and its settings."""


def adapt(model, config, *, mean=0.0, seed):
    """Return the model with an adapter whose trainable weights are drawn far from zero."""
    peft = pytest.importorskip("peft", reason="the extra [adapters] is not installed")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        adapted = peft.get_peft_model(model, config)
        for weight in adapted.parameters():
            if weight.requires_grad:
                weight.data.normal_(mean, 0.3)
    return adapted


def save_adapter_and_merged(model, folder, words, **settings):
    """Save a LoRA on a model in a folder, and the merged model in FOLDER_merged."""
    peft = pytest.importorskip("peft", reason="the extra [adapters] is not installed")
    adapted = adapt(model, peft.LoraConfig(r=4, **settings), seed=3)
    adapted.save_pretrained(folder)
    merged_folder = folder.with_name(f"{folder.name}_merged")
    adapted.merge_and_unload().save_pretrained(merged_folder)
    words.save_pretrained(merged_folder)


def copy_adapter(folder, target, base):
    """Copy an adapter, and let it name another base; return the folder of the copy."""
    shutil.copytree(folder, target)
    settings_file = target / "adapter_config.json"
    settings = json.loads(settings_file.read_text())
    settings_file.write_text(json.dumps(settings | {"base_model_name_or_path": base}))
    return target


def compute_logits(classifier):
    return predict(classifier, TEXTS, progress=False).logits


def score_choices(chooser):
    return choose(chooser, PROMPTS, CHOICES, progress=False).logits.values


def write_rows(path, label_names=(0, 1)):
    """Write 40 labeled texts as JSON lines."""
    texts, labels = tiny_texts(40)
    rows = []
    for text, label in zip(texts, labels, strict=True):
        rows.append({"text": text, "label": label_names[label]})
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return path


"""Kinds of adapters, their class in peft, and their settings."""


class TestAdapters:
    @pytest.fixture(scope="class")
    def folders(self, tmp_path_factory):
        """Bases and LoRAs on them: of two classifiers, a language model and a multiple-choice model."""
        pytest.importorskip("peft", reason="the extra [adapters] is not installed")
        folder = tmp_path_factory.mktemp("adapters")
        save_tiny_classifier(folder / "base")
        save_tiny_encoder(folder / "encoder")
        save_tiny_causal(folder / "causal_base")
        save_tiny_multiple_choice(folder / "choice_base")
        words = tiny_tokenizer()

        classifier = transformers.AutoModelForSequenceClassification.from_pretrained
        save_adapter_and_merged(
            classifier(folder / "base"),
            folder / "classifier",
            words,
            task_type="SEQ_CLS",
            **ATTENTION,
        )
        # The head of three classes is part of the adapter, since an encoder has none.
        save_adapter_and_merged(
            classifier(folder / "encoder", num_labels=3),
            folder / "three",
            words,
            task_type="SEQ_CLS",
            **ATTENTION,
        )
        save_adapter_and_merged(
            transformers.AutoModelForCausalLM.from_pretrained(folder / "causal_base"),
            folder / "causal",
            tiny_causal_tokenizer(),
            task_type="CAUSAL_LM",
            target_modules=["q_proj", "v_proj"],
        )
        save_adapter_and_merged(
            transformers.AutoModelForMultipleChoice.from_pretrained(folder / "choice_base"),
            folder / "choice",
            words,
            modules_to_save=["classifier"],
            **ATTENTION,
        )
        return folder

    @pytest.mark.parametrize("name", ["classifier", "three"])
    def test_logits_and_gradients_are_those_of_the_merged_classifier(self, folders, name):
        adapted = load_classifier(folders / name)
        merged = load_classifier(folders / f"{name}_merged")
        n_classes = 3 if name == "three" else 2
        assert len(adapted.label_names) == len(merged.label_names) == n_classes

        logits = compute_logits(adapted)
        np.testing.assert_allclose(logits, compute_logits(merged), atol=2e-6)
        if name == "classifier":
            # The adapter changes what the base predicts.
            base = load_classifier(folders / "base")
            assert np.abs(compute_logits(base) - logits).max() > 0.1

        def compute_eigenvalues(classifier):
            return fisher_information(classifier, TEXTS, progress=False).eigenvalues

        np.testing.assert_allclose(
            compute_eigenvalues(adapted), compute_eigenvalues(merged), rtol=1e-4
        )

        def attribute(classifier):
            return integrated_gradients(classifier, TEXTS, progress=False).scores.values

        expected = attribute(merged)
        np.testing.assert_allclose(attribute(adapted), expected, atol=1e-4 * np.abs(expected).max())

    @pytest.mark.parametrize(("name", "n_classes"), [("classifier", 2), ("three", 3)])
    def test_an_adapter_is_exactly_what_peft_opens(self, folders, name, n_classes):
        peft = pytest.importorskip("peft")
        # peft does not read the number of classes from the adapter's head.
        reference = peft.AutoPeftModelForSequenceClassification.from_pretrained(
            folders / name, num_labels=n_classes
        ).eval()

        classifier = load_classifier(folders / name, device="cpu")

        for text in TEXTS:
            inputs = tiny_tokenizer()(text, return_tensors="pt")
            with torch.no_grad():
                assert torch.equal(classifier.model(**inputs).logits, reference(**inputs).logits)

    # The last three hold a head or word embeddings of another size than the base's.
    @pytest.mark.parametrize(
        "kind", [*KINDS, "three classes", "more words", "more words that are trained"]
    )
    def test_every_kind_gives_the_logits_of_peft(self, folders, tmp_path, kind):
        peft = pytest.importorskip("peft")
        options = {}
        if kind == "three classes":
            options = {"num_labels": 3, "ignore_mismatched_sizes": True}
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            folders / "base", **options
        )
        class_name, settings = KINDS.get(kind, ("LoraConfig", {"target_modules": ["query"]}))
        if "words" in kind:
            model.resize_token_embeddings(60)
        if "trained" in kind:
            settings = settings | {"modules_to_save": ["word_embeddings"]}
        config = getattr(peft, class_name)(task_type="SEQ_CLS", **settings)
        adapted = adapt(model, config, mean=0.2, seed=5).eval()
        adapted.save_pretrained(tmp_path)

        classifier = load_classifier(tmp_path)

        # The second text exceeds the maximum length.
        texts = ["the film was good", " ".join(["a bad dull plot"] * 20)]
        words = transformers.AutoTokenizer.from_pretrained(folders / "base")
        expected = []
        for text in texts:
            inputs = words(
                text, truncation=True, max_length=classifier.max_length, return_tensors="pt"
            )
            with torch.no_grad():
                expected.append(adapted(**inputs).logits[0].numpy())
        logits = predict(classifier, texts, progress=False).logits
        np.testing.assert_allclose(logits, expected, atol=2e-6)
        # Virtual tokens need positions, too.
        assert classifier.max_length == 32 - settings.get("num_virtual_tokens", 0)
        assert (fisher_information(classifier, texts, progress=False).eigenvalues > 0).all()

    def test_attributions_use_the_word_embeddings_of_the_adapter(self, folders, tmp_path):
        peft = pytest.importorskip("peft")
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folders / "base")
        lora = peft.LoraConfig(target_modules=["word_embeddings", "query"], init_lora_weights=False)
        adapted = peft.get_peft_model(model, lora)
        adapted.save_pretrained(tmp_path / "adapter")
        adapted.merge_and_unload().save_pretrained(tmp_path / "merged")
        tiny_tokenizer().save_pretrained(tmp_path / "merged")

        def attribute(name):
            classifier = load_classifier(tmp_path / name)
            result = integrated_gradients(classifier, TEXTS, baseline="mean", progress=False)
            return result.scores.values

        np.testing.assert_allclose(attribute("adapter"), attribute("merged"), rtol=1e-3, atol=1e-6)

    def test_virtual_tokens_are_not_scored_as_those_of_the_text(self, folders, tmp_path):
        peft = pytest.importorskip("peft")
        n_virtual = 3
        model = transformers.AutoModelForCausalLM.from_pretrained(folders / "causal_base")
        config = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=n_virtual)
        with torch.random.fork_rng():
            torch.manual_seed(5)
            adapted = peft.get_peft_model(model, config).eval()
        adapted.save_pretrained(tmp_path)

        chooser = load_chooser(tmp_path, method="sum")

        words = chooser.engine.tokenizer
        expected = []
        for prompt, choices in zip(PROMPTS, CHOICES, strict=True):
            start = len(words(prompt).input_ids)
            for choice in choices:
                ids = words(f"{prompt} {choice}", return_tensors="pt").input_ids
                with torch.no_grad():
                    logits = adapted(input_ids=ids).logits[0]
                # The logits of the virtual tokens come first. Those at each position are of the
                # next token, and so the last ones of none.
                log_probabilities = logits[n_virtual - 1 : -1].log_softmax(-1)
                values = log_probabilities.gather(1, ids[0][:, None])
                expected.append(float(values[start:].sum()))
        np.testing.assert_allclose(score_choices(chooser), expected, atol=2e-5)

    def test_names_of_classes_are_those_of_the_base_or_numbers(self, folders):
        assert read_class_names(str(folders / "classifier")) == ("negative", "positive")
        assert read_class_names(str(folders / "three")) == ("LABEL_0", "LABEL_1", "LABEL_2")

    def test_choices_are_those_of_the_merged_model(self, folders):
        kinds = [find_model_kind(folders / name) for name in ("causal", "choice")]
        assert kinds == ["causal", "choice"]

        for name in ("causal", "choice"):
            scores = score_choices(load_chooser(folders / name))
            expected = score_choices(load_chooser(folders / f"{name}_merged"))
            np.testing.assert_allclose(scores, expected, atol=1e-5)

    @staticmethod
    def double_strength(model):
        for module in model.modules():
            if isinstance(getattr(module, "scaling", None), dict):
                module.scaling["default"] *= 2

    def test_a_loaded_adapter_has_the_fingerprint_of_its_folder(self, folders):
        peft = pytest.importorskip("peft")
        for name, base, auto_class in (
            ("classifier", "base", transformers.AutoModelForSequenceClassification),
            ("causal", "causal_base", transformers.AutoModelForCausalLM),
        ):
            words = transformers.AutoTokenizer.from_pretrained(folders / base)
            base_model = auto_class.from_pretrained(folders / base)
            loaded = peft.PeftModel.from_pretrained(base_model, folders / name)
            expected = as_scorer(folders / name).fingerprint
            assert as_scorer(loaded, tokenizer=words).fingerprint == expected

            # Another strength is another model, though its weights are the same.
            self.double_strength(loaded)
            assert as_scorer(loaded, tokenizer=words).fingerprint != expected

    def test_the_fingerprint_depends_on_base_and_adapter(self, folders, tmp_path):
        fingerprint = load_classifier(folders / "three").fingerprint
        # No weight is random.
        assert fingerprint == load_classifier(folders / "three").fingerprint
        assert fingerprint != load_classifier(folders / "three_merged").fingerprint

        copied = shutil.copytree(folders / "classifier", tmp_path / "copy")
        settings_file = copied / "adapter_config.json"
        settings = json.loads(settings_file.read_text())
        settings_file.write_text(json.dumps(settings | {"lora_alpha": 99}))
        original = load_classifier(folders / "classifier")
        assert load_classifier(copied).fingerprint != original.fingerprint

    def test_a_report_names_adapter_and_base(self, folders, tmp_path):
        rows_file = write_rows(tmp_path / "rows.jsonl")
        for name, base, options in (
            ("classifier", "base", {}),
            ("causal", "causal_base", {"label_words": ["bad", "good"]}),
        ):
            result = audit(
                str(folders / name),
                str(rows_file),
                out=tmp_path / name,
                questions=["calibration"],
                n_resamples=20,
                progress=False,
                raise_errors=True,
                **options,
            )

            weights = f"LORA adapter on {folders / base}"
            assert result.audit["model"]["name"] == str(folders / name)
            assert result.audit["model"]["weights"] == weights
            assert weights in (tmp_path / name / "index.html").read_text("utf-8")

    def test_a_tokenizer_of_the_adapter_precedes_that_of_the_base(self, folders, tmp_path):
        copied = shutil.copytree(folders / "classifier", tmp_path / "copy")
        tiny_tokenizer(max_length=9).save_pretrained(copied)

        assert load_classifier(copied).max_length == 9
        assert load_classifier(folders / "classifier").max_length == 32

    def test_a_base_in_the_folder_of_the_adapter_is_found(self, folders, tmp_path):
        moved = copy_adapter(folders / "classifier", tmp_path / "moved", "its_base")
        shutil.copytree(folders / "base", moved / "its_base")

        assert load_classifier(moved).describe()["weights"] == "LORA adapter on its_base"

    @pytest.mark.parametrize(
        ("base", "message"),
        [("/nowhere/at/all", "sequence classifier"), (None, "`base_model_name_or_path` .*")],
    )
    def test_a_missing_base_is_an_error(self, folders, tmp_path, base, message):
        moved = copy_adapter(folders / "classifier", tmp_path / "moved", base)

        with pytest.raises(ValueError, match=message):
            load_classifier(moved)

    def test_an_adapter_that_does_not_fit_the_task_or_the_base_is_refused(self, folders, tmp_path):
        with pytest.raises(ValueError, match="adapter for ForCausalLM"):
            load_classifier(folders / "causal")
        with pytest.raises(ValueError, match="for ForSequenceClassification"):
            load_causal(folders / "classifier")

        narrow_base = save_tiny_classifier(tmp_path / "narrow", hidden_size=16)
        on_narrow = copy_adapter(folders / "choice", tmp_path / "on_narrow", str(narrow_base))
        message = "to be a multiple-choice model|cannot be applied to the base"
        with pytest.raises(ValueError, match=message):
            load_multiple_choice(on_narrow)

        # The adapter has two layers.
        flat_base = save_tiny_classifier(tmp_path / "flat", num_hidden_layers=1)
        on_flat = copy_adapter(folders / "classifier", tmp_path / "on_flat", str(flat_base))
        with pytest.raises(ValueError, match=r"weights .*layer\.1\..*"):
            load_classifier(on_flat)
        deep_base = save_tiny_classifier(tmp_path / "deep", num_hidden_layers=3)
        on_deep = copy_adapter(folders / "classifier", tmp_path / "on_deep", str(deep_base))
        with pytest.raises(ValueError, match=r"it lacks the weights .*layer\.2\."):
            load_classifier(on_deep)

    def test_a_model_and_an_adapter_in_one_folder_are_refused(self, folders, tmp_path):
        folder = shutil.copytree(folders / "base", tmp_path / "both")
        for file in (folders / "classifier").glob("adapter_*"):
            shutil.copy(file, folder)

        with pytest.raises(ValueError, match="both, model.safetensors"):
            load_classifier(folder)

    def test_invalid_settings_of_an_adapter_are_refused(self, tmp_path):
        pytest.importorskip("peft")
        for text in ('{"peft_type": "LOR"}', "[]", "{ not json"):
            (tmp_path / "adapter_config.json").write_text(text)
            with pytest.raises(ValueError, match=r"adapter_config\.json cannot"):
                load_classifier(tmp_path)

    def test_weights_are_never_executed(self, folders, tmp_path):
        executed_file = tmp_path / "ran"

        class Hostile:
            def __reduce__(self):
                return open, (str(executed_file), "w")

        copied = shutil.copytree(folders / "classifier", tmp_path / "copy")
        (copied / "adapter_model.safetensors").unlink()
        torch.save({"weights": Hostile()}, copied / "adapter_model.bin")

        with pytest.raises(ValueError, match="they cannot be read"):
            load_classifier(copied)
        assert not executed_file.exists()

    def test_an_adapter_is_not_fine_tuned(self, folders, tmp_path):
        data = {"text": ["good"] * 4, "label": [0, 1] * 2}

        with pytest.raises(ValueError, match="Merge the adapter"):
            fine_tune(str(folders / "classifier"), data, out=tmp_path / "out")


def test_without_peft_the_error_names_its_extra(tmp_path, monkeypatch):
    (tmp_path / "adapter_config.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "peft", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    for load in (load_classifier, load_causal, load_multiple_choice, load_chooser):
        with pytest.raises(ImportError, match=r"\[adapters\]"):
            load(tmp_path)


class TestQuantized:
    @pytest.fixture(scope="class")
    def folders(self, tmp_path_factory):
        """A Llama, and the same in 4 and in 8 bits."""
        pytest.importorskip("bitsandbytes", reason="bitsandbytes, of 130 MB, is in no extra")
        folder = tmp_path_factory.mktemp("quantized")
        words = tiny_causal_tokenizer()
        config = transformers.LlamaConfig(
            vocab_size=len(words),
            hidden_size=64,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
            initializer_range=0.2,
        )
        with torch.random.fork_rng():
            torch.manual_seed(0)
            transformers.LlamaForCausalLM(config).save_pretrained(folder / "unquantized")
        for name, settings in (
            ("load_in_4bit", {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}),
            ("load_in_8bit", {"load_in_8bit": True}),
        ):
            model = transformers.AutoModelForCausalLM.from_pretrained(
                folder / "unquantized",
                quantization_config=transformers.BitsAndBytesConfig(**settings),
                device_map="cpu",
            )
            model.save_pretrained(folder / name)
            words.save_pretrained(folder / name)
        return folder

    @pytest.mark.parametrize(("bits", "tolerance"), [("load_in_4bit", 2e-5), ("load_in_8bit", 0.2)])
    def test_choices_are_scored_as_one_by_one(self, folders, bits, tolerance):
        scorer = load_causal(folders / bits, device="cpu")
        model = transformers.AutoModelForCausalLM.from_pretrained(folders / bits, device_map="cpu")

        scores = chosen(scorer, PROMPTS, CHOICES, method="sum", progress=False).logits.values

        assert scorer.describe()["weights"] == "quantized (bitsandbytes)"
        expected = []
        for prompt, choices in zip(PROMPTS, CHOICES, strict=True):
            prompt_ids = scorer.tokenizer(prompt)["input_ids"]
            for choice in choices:
                choice_ids = scorer.tokenizer(choice)["input_ids"]
                with torch.no_grad():
                    logits = model(input_ids=torch.tensor([prompt_ids + choice_ids])).logits[0]
                # The logits at a position are those of the next token.
                rows = logits.log_softmax(-1)[len(prompt_ids) - 1 : -1]
                values = rows.gather(1, torch.tensor(choice_ids)[:, None])
                expected.append(float(values.sum()))
        np.testing.assert_allclose(scores, expected, atol=tolerance)

    @pytest.mark.parametrize("bits", ["load_in_4bit", "load_in_8bit"])
    def test_no_gradients_are_promised(self, folders, bits):
        scorer = as_scorer(folders / bits)

        assert "gradients" not in scorer.abilities
        assert "likelihoods" in scorer.abilities
        assert "needs gradients, which" in explain_missing_gradients(scorer)

    def test_a_model_of_four_bits_is_audited(self, folders, tmp_path):
        rows_file = write_rows(tmp_path / "rows.jsonl", label_names=("bad", "good"))

        result = audit(
            str(folders / "load_in_4bit"),
            str(rows_file),
            out=tmp_path / "report",
            questions=["calibration", "difficulty"],
            n_resamples=20,
            progress=False,
            raise_errors=True,
        )

        # Difficulty has figures that need no gradients.
        statuses = [row["status"] for row in result.audit["questions"]]
        assert statuses == ["answered", "answered"]
        assert result.audit["model"]["weights"] == "quantized (bitsandbytes)"


# Method of quantization -> its settings, and the message without its package.
METHODS = {
    "gptq": ({"bits": 4}, "cannot be opened as one: .*GPTQ.* requires optimum"),
    "awq": ({"bits": 4}, "cannot be opened as one: .*AWQ.* requires gptqmodel"),
    "compressed-tensors": (
        {"config_groups": {}},
        "cannot be opened as one: .*pip install compressed-tensors",
    ),
    "bitsandbytes": ({"load_in_4bit": True}, "cannot be opened as one: .*bitsandbytes"),
    "of tomorrow": (
        {},
        r"are quantized by a method that it does not know: \{'quant_method': 'of tomorrow'\}",
    ),
    None: ({"load_in_4bit": None}, "has no `quant_method`"),
}


@pytest.mark.parametrize("method", METHODS)
def test_quantized_weights_that_cannot_be_opened_are_explained(tmp_path, monkeypatch, method):
    monkeypatch.setattr(
        "transformers.quantizers.quantizer_bnb_4bit.is_bitsandbytes_available", lambda: False
    )
    settings, message = METHODS[method]
    if method is not None:
        settings = settings | {"quant_method": method}

    for load, save in ((load_causal, save_tiny_causal), (load_classifier, save_tiny_classifier)):
        folder = save(tmp_path / load.__name__)
        config_file = folder / "config.json"
        config = json.loads(config_file.read_text())
        config_file.write_text(json.dumps(config | {"quantization_config": settings}))
        with pytest.raises(ValueError, match=message):
            load(folder)


def test_layers_that_torch_quantized_have_no_gradients(classifier_folder):
    classifier = load_classifier(classifier_folder, device="cpu")
    assert "gradients" in classifier.abilities
    assert classifier.describe()["weights"] == ""

    with pytest.warns(DeprecationWarning, match="quantiz"):
        classifier.model.bert = torch.ao.quantization.quantize_dynamic(
            classifier.model.bert, {torch.nn.Linear}
        )

    scorer = as_scorer(classifier.model, tokenizer=classifier.tokenizer)
    assert "gradients" not in scorer.abilities
    assert "has the quantized layer " in explain_missing_gradients(classifier)


class Wrapper:
    """The part of a model of peft that `unwrap_model` uses."""

    def __init__(self, **settings):
        self.base = object()
        if settings:
            self.active_peft_config = SimpleNamespace(**settings)

    def get_base_model(self):
        return self.base


def test_a_wrapper_that_may_add_a_learned_prompt_is_not_unwrapped():
    adapter = Wrapper(is_prompt_learning=False)
    assert unwrap_model(adapter) is adapter.base

    # Without settings it is not known that the wrapper does nothing itself.
    for wrapper in (Wrapper(is_prompt_learning=True), Wrapper()):
        assert unwrap_model(wrapper) is wrapper


def test_a_data_parallel_model_is_unwrapped():
    model = torch.nn.Linear(2, 2)
    assert unwrap_model(torch.nn.DataParallel(model)) is model
    assert unwrap_model(model) is model
