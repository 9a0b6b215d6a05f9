"""Models in the states in which people have them, before each question: exact, or refused with a remedy."""

import functools
import itertools

import datasets
import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from safetensors.torch import load_file, save_file
from transformers import BertForSequenceClassification, Trainer, TrainingArguments

import rightreasons
from rightreasons.behavior.learning.items import iid_items
from rightreasons.behavior.learning.options import METHODS
from rightreasons.behavior.learning.trainer import train_on_behavior
from rightreasons.core.resampling import Resampling
from rightreasons.models import as_scorer, load_classifier
from rightreasons.models.batching import encode
from rightreasons.models.classes import predict
from rightreasons.models.fingerprints import fingerprint_model
from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.shortcuts.protocols import get_protocol
from rightreasons.training.callbacks import DataMapCallback, ShortcutCallback
from rightreasons.training.trackers import DataMapTracker, ShortcutTracker
from tiny_models import save_tiny_classifier, tiny_texts, tiny_tokenizer

pytestmark = pytest.mark.usefixtures("unrendered")

TEXTS, LABELS = tiny_texts(40)
HEADS = {0: ["bad", "awful", "dull"], 1: ["good", "great", "lovely"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_classifier(tmp_path_factory.mktemp("states") / "model")


def load(folder):
    return BertForSequenceClassification.from_pretrained(folder).eval()


def load_with_checkpointing(folder):
    model = load(folder)
    model.gradient_checkpointing_enable()
    return model.train()


def load_with_input_gradients(folder):
    model = load(folder)
    model.enable_input_require_grads()
    return model


def load_with_hook(folder):
    model = load(folder)
    model.bert.register_forward_hook(lambda *_: None)
    return model


def add_adapter(model):
    config = LoraConfig(task_type="SEQ_CLS", target_modules=["query", "value"], r=2)
    return get_peft_model(model, config)


def load_with_adapter(folder):
    model = add_adapter(load(folder))
    generator = torch.Generator().manual_seed(3)
    for name, weight in model.named_parameters():
        if "lora_" in name:
            # An adapter begins as zero, which would change nothing.
            weight.data.normal_(std=0.3, generator=generator)
    return model.eval()


def load_with_int8(folder):
    return torch.ao.quantization.quantize_dynamic(
        load(folder), {torch.nn.Linear}, dtype=torch.qint8
    )


def load_with_torchao(folder):
    quantization = pytest.importorskip("torchao.quantization")
    model = load(folder)
    quantization.quantize_(model, quantization.Int8WeightOnlyConfig())
    return model


STATES = {
    "training mode": lambda folder: load(folder).train(),
    "gradient checkpointing": load_with_checkpointing,
    "enable_input_require_grads": load_with_input_gradients,
    "k-bit preparation": lambda folder: prepare_model_for_kbit_training(load(folder)),
    "a hook": load_with_hook,
    "an adapter": load_with_adapter,
    "a merged adapter": lambda folder: load_with_adapter(folder).merge_and_unload(),
    "compiled": lambda folder: torch.compile(load(folder), backend="eager"),
    "DataParallel": lambda folder: torch.nn.DataParallel(load(folder)),
    "DataParallel of an adapter": lambda folder: torch.nn.DataParallel(load_with_adapter(folder)),
    "int8 of torch": load_with_int8,
    "int8 of torchao": load_with_torchao,
}
QUANTIZED = ("int8 of torch", "int8 of torchao")
ATTACHED = ("an adapter", "DataParallel of an adapter")


def get_reference(state):
    """Return the name of the state with the weights of a state, but without what wraps them."""
    if "adapter" in state:
        return "a merged adapter"
    # A quantized model is defined by its own integers.
    return state if state in QUANTIZED else "plain"


def make_reference(reference, folder):
    return load(folder) if reference == "plain" else STATES[reference](folder)


# Many states share a reference, which is computed once.
@functools.cache
@torch.no_grad()
def compute_logits(reference, folder):
    """Return the logits of a reference, one text at a time."""
    model = make_reference(reference, folder)
    words = tiny_tokenizer()
    rows = [model(**words(text, return_tensors="pt")).logits[0] for text in TEXTS]
    return torch.stack(rows).numpy()


@functools.cache
def compute_gradient_figures(measure, reference, folder):
    return list_figures(measure, make_reference(reference, folder))


@functools.cache
def compute_callback_figures(reference, folder):
    """Return the confidence and the shortcuts that callbacks measure on a reference."""
    model = make_reference(reference, folder)
    examples = DataMapTracker(TEXTS, LABELS)
    examples.on_epoch(model, tiny_tokenizer())
    return examples.result().confidence, track_shortcuts(model)


@functools.cache
def compute_median_difficulty(reference, folder):
    report = audit_model(make_reference(reference, folder), folder / f"report of {reference}")
    return report["difficulty.median_difficulty"].estimate.value


@functools.cache
def compute_learned_logits(reference, method, folder):
    model = make_reference(reference, folder)
    learn(model, method)
    return compute_batched_logits(model)


def compute_batched_logits(model):
    scorer = as_scorer(model, tokenizer=tiny_tokenizer())
    return predict(scorer, TEXTS, progress=False).logits


def list_layers(model):
    """Return the mode and the number of hooks of each layer."""
    return [(layer.training, len(layer._forward_hooks)) for layer in model.modules()]


def list_figures(measure, model):
    """Return the attributions or the eigenvalues of four texts."""
    result = measure(as_scorer(model, tokenizer=tiny_tokenizer()), TEXTS[:4], progress=False)
    if measure is integrated_gradients:
        return np.asarray(result.scores.values)
    return np.asarray(result.eigenvalues)


@pytest.mark.parametrize("state", STATES)
class TestStates:
    def test_predictions_are_those_of_one_text_at_a_time(self, state, folder):
        logits = compute_batched_logits(STATES[state](folder))

        assert logits == pytest.approx(compute_logits(get_reference(state), folder), abs=1e-5)

    @pytest.mark.parametrize("measure", [integrated_gradients, fisher_information])
    def test_gradients_are_those_of_a_plain_model(self, state, folder, measure):
        model = STATES[state](folder)
        if state == "int8 of torch":
            with pytest.raises(ValueError, match="float32 or bfloat16"):
                list_figures(measure, model)
            return

        figures = list_figures(measure, model)

        expected = compute_gradient_figures(measure, get_reference(state), folder)
        assert figures == pytest.approx(expected, rel=1e-4, abs=1e-6)

    def test_it_is_audited_and_unchanged(self, state, folder, tmp_path):
        model = STATES[state](folder)
        layers = list_layers(model)

        report = audit_model(model, tmp_path / "report")

        assert report["calibration.accuracy"].n == len(TEXTS)
        assert list_layers(model) == layers
        reasons = {outcome.question: outcome.reason for outcome in report.outcomes}
        if state == "int8 of torch":
            # The questions that need no gradients are answered, and the other one names the remedy.
            assert "float32 or bfloat16" in reasons["difficulty"]
            return
        assert reasons == {"calibration": "", "difficulty": ""}
        median = report["difficulty.median_difficulty"].estimate.value
        expected = compute_median_difficulty(get_reference(state), folder)
        assert median == pytest.approx(expected, rel=1e-4)

    def test_callbacks_measure_it_as_a_plain_model(self, state, folder):
        model = STATES[state](folder)
        modes = [layer.training for layer in model.modules()]

        examples = DataMapTracker(TEXTS, LABELS)
        examples.on_epoch(model, tiny_tokenizer())
        if state == "int8 of torch":
            # A model that cannot be trained has no gradients either.
            with pytest.raises(ValueError, match="float32"):
                track_shortcuts(model)
            return
        shortcuts = track_shortcuts(model)

        assert [layer.training for layer in model.modules()] == modes
        confidence, expected = compute_callback_figures(get_reference(state), folder)
        assert examples.result().confidence == pytest.approx(confidence, abs=1e-6)
        assert shortcuts == pytest.approx(expected)


# A wrapper that traces takes seconds for each method.
LEARNED = [state for state in STATES if state not in (*QUANTIZED, *ATTACHED, "compiled")]
LEARNING_RUNS = [
    *itertools.product(LEARNED, METHODS),
    ("compiled", "vanilla"),
    ("compiled", "lp"),
]


@pytest.mark.parametrize(("state", "method"), LEARNING_RUNS)
def test_a_model_learns_as_a_plain_model_does(state, method, folder):
    model = STATES[state](folder)

    learn(model, method)

    expected = compute_learned_logits(get_reference(state), method, folder)
    assert compute_batched_logits(model) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("state", [*QUANTIZED, *ATTACHED])
def test_a_model_that_cannot_learn_is_refused_with_a_remedy(state, folder):
    model = STATES[state](folder)

    with pytest.raises(ValueError, match="merge_and_unload|float32"):
        learn(model, "vanilla")


# To a Trainer, other states are a plain model.
TRAINED_STATES = (
    "gradient checkpointing",
    "enable_input_require_grads",
    "an adapter",
    "compiled",
    "DataParallel",
)
TRAINED = {
    **{name: STATES[name] for name in TRAINED_STATES},
    # The prepared model itself is frozen: Trainer trains an adapter of it.
    "an adapter after k-bit preparation": lambda folder: add_adapter(
        prepare_model_for_kbit_training(load(folder))
    ),
}


def attach_shortcuts(trainer):
    """Watch the shortcuts of eight texts during training."""
    callback = ShortcutCallback(
        TEXTS[:8],
        LABELS[:8],
        HEADS,
        protocol=get_protocol(method="gauss_legendre", steps=2),
        resampling=Resampling(resamples=5),
    )
    return callback.attach(trainer)


@pytest.mark.filterwarnings("ignore:No shortcuts are recorded")
@pytest.mark.parametrize("state", TRAINED)
def test_watching_a_trainer_does_not_change_the_training(state, folder, tmp_path):
    unwatched = TRAINED[state](folder)
    make_trainer(unwatched, tmp_path).train()
    watched = TRAINED[state](folder)
    trainer = make_trainer(watched, tmp_path)
    shortcuts = attach_shortcuts(trainer)
    examples = DataMapCallback(TEXTS[:8], LABELS[:8]).attach(trainer)

    trainer.train()

    weights = watched.state_dict()
    for name, weight in unwatched.state_dict().items():
        assert torch.equal(weights[name], weight), name
    assert examples.result().n_epochs == 1
    # A random adapter is too crooked for the few steps of this test, which is warned of and not
    # recorded.
    if "adapter" not in state or "preparation" in state:
        assert [record["step"] for record in shortcuts.records] == [0, 2]


def make_trainer(model, folder, **arguments):
    """Return a Trainer of two steps on the processor."""
    options = {
        "max_steps": 2,
        "per_device_train_batch_size": 8,
        "learning_rate": 1e-2,
        "use_cpu": True,
        "report_to": [],
        "save_strategy": "no",
        "disable_tqdm": True,
        # A wrapper hides which columns its model reads.
        "remove_unused_columns": False,
        "seed": 3,
    }
    encoded = tiny_tokenizer()(TEXTS[:16], padding=True)
    data = datasets.Dataset.from_dict({**encoded, "labels": LABELS[:16]})
    return Trainer(
        model,
        TrainingArguments(str(folder), **(options | arguments)),
        train_dataset=data,
        processing_class=tiny_tokenizer(),
    )


def test_a_trainer_that_compiles_its_model_is_watched(folder, tmp_path):
    model = load(folder)
    trainer = make_trainer(model, tmp_path, torch_compile=True, torch_compile_backend="eager")
    examples = DataMapCallback(TEXTS[:8], LABELS[:8]).attach(trainer)
    trainer.train()

    expected = DataMapTracker(TEXTS[:8], LABELS[:8])
    expected.on_epoch(model, tiny_tokenizer())
    assert examples.result().confidence == pytest.approx(expected.result().confidence, abs=1e-6)


def test_an_int8_model_cannot_be_watched_but_its_float_model_can(folder, tmp_path):
    def watch(model):
        trainer = make_trainer(model, tmp_path)
        callback = attach_shortcuts(trainer)
        trainer.train()
        return callback.records

    with pytest.raises(ValueError, match="float32 or bfloat16"):
        watch(load_with_int8(folder))

    # The remedy that the message names.
    assert len(watch(load(folder))) == 2


def audit_model(model, out):
    """Audit a model by a question about its predictions and one about its gradients."""
    data = datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS}).cast_column(
        "label", datasets.ClassLabel(names=["negative", "positive"])
    )
    return rightreasons.audit(
        (model, tiny_tokenizer()),
        data,
        questions=["calibration", "difficulty"],
        out=out,
        n_resamples=20,
        progress=False,
    )


def track_shortcuts(model):
    """Return the figures that a callback logs."""
    tracker = ShortcutTracker(TEXTS, LABELS, HEADS, resampling=Resampling(resamples=10))
    return tracker.on_epoch(model, tiny_tokenizer(), epoch=1)


def learn(model, method):
    """Train a model on behavior in place; a large rate shows which weights move."""
    items = iid_items(TEXTS[:16], LABELS[:16])
    encoded = encode(tiny_tokenizer(), items.texts, max_length=32)
    options = {"learning_rate": 1e-3, "head_learning_rate": 1e-2, "epochs": 2.0}
    train_on_behavior(model, encoded, items, method=method, **options)


def test_an_adapter_learns_once_it_is_merged(folder):
    model = load_with_adapter(folder)
    with pytest.raises(ValueError, match="merge_and_unload"):
        learn(model, "vanilla")

    learn(model.merge_and_unload(), "vanilla")


@pytest.mark.parametrize("state", QUANTIZED)
def test_the_fingerprint_of_a_quantized_model_depends_on_its_weights(state, folder, tmp_path):
    other_folder = save_tiny_classifier(tmp_path / "other", seed=1)

    fingerprint = fingerprint_model(STATES[state](folder))

    assert fingerprint == fingerprint_model(STATES[state](folder))
    assert fingerprint != fingerprint_model(STATES[state](other_folder))


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "_orig_mod.module."])
def test_weights_that_a_wrapper_named_are_refused_with_a_remedy(folder, tmp_path, prefix):
    model = load(folder)
    model.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    path = tmp_path / "model.safetensors"
    wrapped = {prefix + key: weight for key, weight in load_file(path).items()}
    save_file(wrapped, path, metadata={"format": "pt"})

    with pytest.raises(ValueError, match=f"begin with '{prefix}'"):
        load_classifier(tmp_path)

    # The remedy that the message names.
    unwrapped = {key.removeprefix(prefix): weight for key, weight in load_file(path).items()}
    save_file(unwrapped, path, metadata={"format": "pt"})
    expected = predict(as_scorer(model, tokenizer=tiny_tokenizer()), TEXTS, progress=False).logits
    logits = predict(load_classifier(tmp_path), TEXTS, progress=False).logits
    assert logits == pytest.approx(expected, abs=1e-6)
