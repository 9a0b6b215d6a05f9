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
PROMPTS, CHOICES = (
    ["the film was", "a plot and"],
    [["good", "bad film"], ["dull", "a fine actor", "lovely"]],
)

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
"""Kinds of adapters, their class in peft, and their settings."""


class TestAdapters:
    @pytest.fixture(scope="class")
    def folders(self, tmp_path_factory):
        """Bases, and LoRAs on them far from zero: of a classifier, an encoder, a language model, a chooser."""
        peft = pytest.importorskip("peft", reason="the extra [adapters] is not installed")
        folder = tmp_path_factory.mktemp("adapters")
        save_tiny_classifier(folder / "base")
        save_tiny_encoder(folder / "encoder")
        save_tiny_causal(folder / "causal_base")
        save_tiny_multiple_choice(folder / "choice_base")
        attention, kinds = ["query", "value"], transformers
        for name, base, auto, options, classes in (
            (
                "classifier",
                "base",
                kinds.AutoModelForSequenceClassification,
                {"task_type": "SEQ_CLS"},
                {},
            ),
            (
                "three",
                "encoder",
                kinds.AutoModelForSequenceClassification,
                {"task_type": "SEQ_CLS"},
                {"num_labels": 3},
            ),
            ("causal", "causal_base", kinds.AutoModelForCausalLM, {"task_type": "CAUSAL_LM"}, {}),
            (
                "choice",
                "choice_base",
                kinds.AutoModelForMultipleChoice,
                {"modules_to_save": ["classifier"]},
                {},
            ),
        ):
            targets = ["q_proj", "v_proj"] if name == "causal" else attention
            with torch.random.fork_rng():
                torch.manual_seed(3)
                model = auto.from_pretrained(folder / base, **classes)
                adapted = peft.get_peft_model(
                    model, peft.LoraConfig(r=4, target_modules=targets, **options)
                )
                for weight in adapted.parameters():
                    if weight.requires_grad:
                        weight.data.normal_(0, 0.3)
            adapted.save_pretrained(folder / name)
            merged = adapted.merge_and_unload()
            merged.save_pretrained(folder / f"{name}_merged")
            words = tiny_causal_tokenizer() if name == "causal" else tiny_tokenizer()
            words.save_pretrained(folder / f"{name}_merged")
        return folder

    @pytest.mark.parametrize("name", ["classifier", "three"])
    def test_a_classifier_answers_and_has_gradients_as_the_merged_one(self, folders, name):
        opened, merged = (
            load_classifier(folders / name),
            load_classifier(folders / f"{name}_merged"),
        )
        assert len(opened.label_names) == len(merged.label_names) == (3 if name == "three" else 2)
        alone, whole = (predict(each, TEXTS, progress=False).logits for each in (opened, merged))
        np.testing.assert_allclose(alone, whole, atol=2e-6)
        base = load_classifier(folders / "base") if name == "classifier" else None
        assert (
            base is None or np.abs(predict(base, TEXTS, progress=False).logits - alone).max() > 0.1
        )
        eigen, its = (
            fisher_information(each, TEXTS, progress=False).eigenvalues for each in (opened, merged)
        )
        np.testing.assert_allclose(eigen, its, rtol=1e-4)
        scores, its = (
            integrated_gradients(each, TEXTS, progress=False).scores.values
            for each in (opened, merged)
        )
        np.testing.assert_allclose(scores, its, atol=1e-4 * np.abs(its).max())

    @pytest.mark.parametrize(("name", "n_classes"), [("classifier", 2), ("three", 3)])
    def test_an_adapter_is_exactly_what_peft_opens(self, folders, name, n_classes):
        peft = pytest.importorskip("peft")
        # peft does not read the number of classes from the adapter's head.
        reference = peft.AutoPeftModelForSequenceClassification.from_pretrained(
            folders / name, num_labels=n_classes
        ).eval()
        opened = load_classifier(folders / name, device="cpu")

        for text in TEXTS:
            inputs = tiny_tokenizer()(text, return_tensors="pt")
            with torch.no_grad():
                assert torch.equal(opened.model(**inputs).logits, reference(**inputs).logits)

    # What each needs beside LoRA of two matrices; the last three hold a head or words of another size than the base's.
    @pytest.mark.parametrize(
        "kind", [*KINDS, "three classes", "more words", "more words that are trained"]
    )
    def test_every_kind_is_what_peft_makes_of_it(self, folders, tmp_path, kind):
        peft = pytest.importorskip("peft")
        model_class, options = transformers.AutoModelForSequenceClassification, {}
        if kind == "three classes":
            options = {"num_labels": 3, "ignore_mismatched_sizes": True}
        model = model_class.from_pretrained(folders / "base", **options)
        name, own = KINDS.get(kind, ("LoraConfig", {"target_modules": ["query"]}))
        if "words" in kind:
            model.resize_token_embeddings(60)
            own = own | ({"modules_to_save": ["word_embeddings"]} if "trained" in kind else {})
        with torch.random.fork_rng():
            torch.manual_seed(5)
            adapted = peft.get_peft_model(model, getattr(peft, name)(task_type="SEQ_CLS", **own))
            for weight in adapted.parameters():
                if weight.requires_grad:
                    weight.data.normal_(0.2, 0.3)
        adapted.eval().save_pretrained(tmp_path)
        words = transformers.AutoTokenizer.from_pretrained(folders / "base")
        texts = ["the film was good", " ".join(["a bad dull plot"] * 20)]
        opened = load_classifier(tmp_path)
        with torch.no_grad():
            inputs = [
                words(t, truncation=True, max_length=opened.max_length, return_tensors="pt")
                for t in texts
            ]
            want = [adapted(**each).logits[0].numpy() for each in inputs]
        np.testing.assert_allclose(predict(opened, texts, progress=False).logits, want, atol=2e-6)
        assert opened.max_length == (32 - own.get("num_virtual_tokens", 0))
        assert (fisher_information(opened, texts, progress=False).eigenvalues > 0).all()

    def test_words_that_an_adapter_changes_are_explained(self, folders, tmp_path):
        peft = pytest.importorskip("peft")
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folders / "base")
        lora = peft.LoraConfig(target_modules=["word_embeddings", "query"], init_lora_weights=False)
        adapted = peft.get_peft_model(model, lora)
        adapted.save_pretrained(tmp_path / "own")
        adapted.merge_and_unload().save_pretrained(tmp_path / "whole")
        tiny_tokenizer().save_pretrained(tmp_path / "whole")
        own, whole = (
            integrated_gradients(
                load_classifier(tmp_path / name), TEXTS, baseline="mean", progress=False
            )
            for name in ("own", "whole")
        )
        np.testing.assert_allclose(own.scores.values, whole.scores.values, rtol=1e-3, atol=1e-6)

    def test_words_before_a_text_are_not_read_as_its_own(self, folders, tmp_path):
        peft = pytest.importorskip("peft")
        model = transformers.AutoModelForCausalLM.from_pretrained(folders / "causal_base")
        with torch.random.fork_rng():
            torch.manual_seed(5)
            adapted = peft.get_peft_model(
                model, peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)
            ).eval()
        adapted.save_pretrained(tmp_path)
        opened = load_chooser(tmp_path, method="sum")
        words, want = opened.engine.tokenizer, []
        for prompt, choices in zip(PROMPTS, CHOICES, strict=True):
            for choice in choices:
                ids, before = (
                    words(f"{prompt} {choice}", return_tensors="pt").input_ids,
                    len(words(prompt).input_ids),
                )
                with (
                    torch.no_grad()
                ):  # logits of 3 virtual tokens come first; the last token's are of nothing
                    log = adapted(input_ids=ids).logits[0, 3 - 1 : -1].log_softmax(-1)
                want.append(float(log.gather(1, ids[0][:, None])[before:].sum()))
        got = choose(opened, PROMPTS, CHOICES, progress=False).logits.values
        np.testing.assert_allclose(got, want, atol=2e-5)

    def test_names_of_classes_are_those_of_the_base_or_numbers(self, folders):
        assert read_class_names(str(folders / "classifier")) == ("negative", "positive")
        assert read_class_names(str(folders / "three")) == ("LABEL_0", "LABEL_1", "LABEL_2")

    def test_choices_are_those_of_the_merged_model(self, folders):
        assert [find_model_kind(folders / name) for name in ("causal", "choice")] == [
            "causal",
            "choice",
        ]
        for name in ("causal", "choice"):
            opened, merged = load_chooser(folders / name), load_chooser(folders / f"{name}_merged")
            scores, its = (
                choose(each, PROMPTS, CHOICES, progress=False).logits.values
                for each in (opened, merged)
            )
            np.testing.assert_allclose(scores, its, atol=1e-5)

    def test_a_loaded_one_is_what_its_folder_is(self, folders):
        peft = pytest.importorskip("peft")
        for name, base, auto in (
            ("classifier", "base", transformers.AutoModelForSequenceClassification),
            ("causal", "causal_base", transformers.AutoModelForCausalLM),
        ):
            words = transformers.AutoTokenizer.from_pretrained(folders / base)
            loaded = peft.PeftModel.from_pretrained(
                auto.from_pretrained(folders / base), folders / name
            )
            told, opened = as_scorer(loaded, tokenizer=words), as_scorer(folders / name)
            assert told.fingerprint == opened.fingerprint
            # Another strength is another model, though its weights are the same.
            for part in loaded.modules():
                if isinstance(getattr(part, "scaling", None), dict):
                    part.scaling["default"] *= 2
            assert as_scorer(loaded, tokenizer=words).fingerprint != opened.fingerprint

    def test_the_fingerprint_is_that_of_base_and_adapter(self, folders, tmp_path):
        first = load_classifier(folders / "three").fingerprint
        assert first == load_classifier(folders / "three").fingerprint  # no weight is drawn
        assert first != load_classifier(folders / "three_merged").fingerprint
        other = shutil.copytree(folders / "classifier", tmp_path / "other")
        settings = json.loads((other / "adapter_config.json").read_text())
        (other / "adapter_config.json").write_text(json.dumps(settings | {"lora_alpha": 99}))
        assert (
            load_classifier(other).fingerprint
            != load_classifier(folders / "classifier").fingerprint
        )

    def test_a_report_names_adapter_and_base(self, folders, tmp_path):
        texts, labels = tiny_texts(40)
        rows = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
        (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
        for name, base, options in (
            ("classifier", "base", {}),
            ("causal", "causal_base", {"label_words": ["bad", "good"]}),
        ):
            made = audit(
                str(folders / name),
                str(tmp_path / "rows.jsonl"),
                out=tmp_path / name,
                questions=["calibration"],
                n_resamples=20,
                progress=False,
                raise_errors=True,
                **options,
            )
            told = made.audit["model"]
            assert (told["name"], told["weights"]) == (
                str(folders / name),
                f"LORA adapter on {folders / base}",
            )
            assert f"LORA adapter on {folders / base}" in (
                tmp_path / name / "index.html"
            ).read_text("utf-8")

    def test_its_own_tokenizer_comes_first(self, folders, tmp_path):
        own = shutil.copytree(folders / "classifier", tmp_path / "own")
        tiny_tokenizer(max_length=9).save_pretrained(own)
        assert load_classifier(own).max_length == 9
        assert load_classifier(folders / "classifier").max_length == 32

    def test_a_base_beside_the_adapter_is_found(self, folders, tmp_path):
        moved = shutil.copytree(folders / "classifier", tmp_path / "moved")
        shutil.copytree(folders / "base", moved / "its_base")
        _name_base(moved, "its_base")
        assert load_classifier(moved).describe()["weights"] == "LORA adapter on its_base"

    @pytest.mark.parametrize(
        ("base", "match"),
        [
            (
                "/nowhere/at/all",
                "sequence classifier",
            ),
            (
                None,
                "`base_model_name_or_path` .*",
            ),
        ],
    )
    def test_a_base_that_is_not_there_is_said(self, folders, tmp_path, base, match):
        lost = shutil.copytree(folders / "classifier", tmp_path / "lost")
        _name_base(lost, base)
        with pytest.raises(ValueError, match=match):
            load_classifier(lost)

    def test_what_does_not_belong_together_is_said(self, folders, tmp_path):
        with pytest.raises(ValueError, match="adapter for ForCausalLM"):
            load_classifier(folders / "causal")
        with pytest.raises(ValueError, match="for ForSequenceClassification"):
            load_causal(folders / "classifier")
        wrong = shutil.copytree(folders / "choice", tmp_path / "wrong")
        _name_base(wrong, str(save_tiny_classifier(tmp_path / "small", hidden_size=16)))
        with pytest.raises(
            ValueError, match=r"to be a multiple-choice model|cannot be applied to the base"
        ):
            load_multiple_choice(wrong)
        more = shutil.copytree(folders / "classifier", tmp_path / "more")
        _name_base(more, str(save_tiny_classifier(tmp_path / "low", num_hidden_layers=1)))
        with pytest.raises(ValueError, match=r"weights .*layer\.1\..*"):
            load_classifier(more)
        less = shutil.copytree(folders / "classifier", tmp_path / "less")
        _name_base(less, str(save_tiny_classifier(tmp_path / "high", num_hidden_layers=3)))
        with pytest.raises(ValueError, match=r"it lacks the weights .*layer\.2\."):
            load_classifier(less)

    def test_a_model_and_an_adapter_in_one_folder_are_refused(self, folders, tmp_path):
        both = shutil.copytree(folders / "base", tmp_path / "both")
        for file in (folders / "classifier").glob("adapter_*"):
            shutil.copy(file, both)
        with pytest.raises(ValueError, match="both, model.safetensors"):
            load_classifier(both)

    def test_settings_that_are_none_are_said(self, tmp_path):
        pytest.importorskip("peft")
        for text in ('{"peft_type": "LOR"}', "[]", "{ not json"):
            (tmp_path / "adapter_config.json").write_text(text)
            with pytest.raises(ValueError, match=r"adapter_config\.json cannot"):
                load_classifier(tmp_path)

    def test_weights_are_never_executed(self, folders, tmp_path):
        class Hostile:
            def __reduce__(self):
                return open, (str(tmp_path / "ran"), "w")

        copy = shutil.copytree(folders / "classifier", tmp_path / "copy")
        (copy / "adapter_model.safetensors").unlink()
        torch.save({"weights": Hostile()}, copy / "adapter_model.bin")
        with pytest.raises(ValueError, match="they cannot be read"):
            load_classifier(copy)
        assert not (tmp_path / "ran").exists()

    def test_it_is_not_fine_tuned(self, folders, tmp_path):
        with pytest.raises(
            ValueError,
            match="Merge the adapter",
        ):
            fine_tune(
                str(folders / "classifier"),
                {"text": ["good"] * 4, "label": [0, 1] * 2},
                out=tmp_path / "out",
            )


def _name_base(folder, base):
    settings = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(
        json.dumps(settings | {"base_model_name_or_path": base})
    )


def test_without_peft_its_extra_is_named(tmp_path, monkeypatch):
    (tmp_path / "adapter_config.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "peft", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for load in (load_classifier, load_causal, load_multiple_choice, load_chooser):
        with pytest.raises(
            ImportError,
            match=r"\[adapters\]",
        ):
            load(tmp_path)


class TestQuantized:
    @pytest.fixture(scope="class")
    def folders(self, tmp_path_factory):
        """A Llama, and the same in 4 and in 8 bits."""
        pytest.importorskip("bitsandbytes", reason="bitsandbytes, of 130 MB, is in no extra")
        folder = tmp_path_factory.mktemp("quantized")
        words = tiny_causal_tokenizer()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            config = transformers.LlamaConfig(
                vocab_size=len(words), hidden_size=64, intermediate_size=64, num_hidden_layers=2,
                num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.2,
            )  # fmt: skip
            transformers.LlamaForCausalLM(config).save_pretrained(folder / "whole")
        for bits in ({"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, {"load_in_8bit": True}):
            model = transformers.AutoModelForCausalLM.from_pretrained(
                folder / "whole",
                quantization_config=transformers.BitsAndBytesConfig(**bits),
                device_map="cpu",
            )
            model.save_pretrained(folder / next(iter(bits)))
            words.save_pretrained(folder / next(iter(bits)))
        return folder

    @pytest.mark.parametrize(("bits", "tolerance"), [("load_in_4bit", 2e-5), ("load_in_8bit", 0.2)])
    def test_choices_are_scored_as_one_by_one(self, folders, bits, tolerance):
        opened = load_causal(folders / bits, device="cpu")
        scores = chosen(opened, PROMPTS, CHOICES, method="sum", progress=False).logits.values
        model = transformers.AutoModelForCausalLM.from_pretrained(folders / bits, device_map="cpu")
        assert opened.describe()["weights"] == "quantized (bitsandbytes)"
        want = []
        for prompt, choices in zip(PROMPTS, CHOICES, strict=True):
            for choice in choices:
                before, after = (opened.tokenizer(text)["input_ids"] for text in (prompt, choice))
                with torch.no_grad():
                    logits = (
                        model(input_ids=torch.tensor([before + after])).logits[0].log_softmax(-1)
                    )
                want.append(
                    sum(
                        float(logits[len(before) - 1 + place, token])
                        for place, token in enumerate(after)
                    )
                )
        np.testing.assert_allclose(scores, want, atol=tolerance)

    @pytest.mark.parametrize("bits", ["load_in_4bit", "load_in_8bit"])
    def test_no_gradients_are_promised(self, folders, bits):
        scorer = as_scorer(folders / bits)
        assert "gradients" not in scorer.abilities
        assert "likelihoods" in scorer.abilities
        assert "needs gradients, which" in explain_missing_gradients(scorer)

    def test_one_of_four_bits_is_audited(self, folders, tmp_path):
        texts, labels = tiny_texts(40)
        rows = [
            {"text": text, "label": ["bad", "good"][label]}
            for text, label in zip(texts, labels, strict=True)
        ]
        (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
        made = audit(
            str(folders / "load_in_4bit"),
            str(tmp_path / "rows.jsonl"),
            out=tmp_path / "report",
            questions=["calibration", "difficulty"],
            n_resamples=20,
            progress=False,
            raise_errors=True,
        )
        # What can be told without gradients is.
        assert [row["status"] for row in made.audit["questions"]] == ["answered", "answered"]
        assert made.audit["model"]["weights"] == "quantized (bitsandbytes)"


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
def test_what_cannot_be_opened_here_says_what_is_needed(tmp_path, monkeypatch, method):
    monkeypatch.setattr(
        "transformers.quantizers.quantizer_bnb_4bit.is_bitsandbytes_available", lambda: False
    )
    settings, match = METHODS[method]
    for load, save in ((load_causal, save_tiny_causal), (load_classifier, save_tiny_classifier)):
        folder = save(tmp_path / load.__name__)
        config = json.loads((folder / "config.json").read_text())
        config["quantization_config"] = settings | (
            {} if method is None else {"quant_method": method}
        )
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(ValueError, match=match):
            load(folder)


def test_layers_that_torch_quantized_have_no_gradients(classifier_folder):
    opened = load_classifier(classifier_folder, device="cpu")
    assert "gradients" in opened.abilities
    assert opened.describe()["weights"] == ""
    with pytest.warns(DeprecationWarning, match="quantiz"):
        opened.model.bert = torch.ao.quantization.quantize_dynamic(
            opened.model.bert, {torch.nn.Linear}
        )
    assert "gradients" not in as_scorer(opened.model, tokenizer=opened.tokenizer).abilities
    assert "has the quantized layer " in explain_missing_gradients(opened)


class Wrapper:
    """A model that peft wraps, as far as it is asked about."""

    def __init__(self, **settings):
        self.base = object()
        if settings:
            self.active_peft_config = SimpleNamespace(**settings)

    def get_base_model(self):
        return self.base


def test_a_wrapper_that_may_put_a_learned_prompt_before_the_text_stays():
    adapter = Wrapper(is_prompt_learning=False)
    assert unwrap_model(adapter) is adapter.base
    # Without settings it is not known that the wrapper does nothing itself.
    for wrapper in (Wrapper(is_prompt_learning=True), Wrapper()):
        assert unwrap_model(wrapper) is wrapper


def test_a_data_parallel_model_is_unwrapped():
    model = torch.nn.Linear(2, 2)
    assert unwrap_model(torch.nn.DataParallel(model)) is model
    assert unwrap_model(model) is model
