"""Real short Trainer runs that are watched."""

import json

import accelerate
import numpy as np
import pytest
import torch
import transformers

from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import softmax
from rightreasons.models.classes import predict
from rightreasons.models.loading import load_classifier
from rightreasons.shortcuts.measure import measure_shortcuts
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.protocols import get_protocol
from rightreasons.training.callbacks import DataMapCallback, ShortcutCallback
from rightreasons.training.finetune import fine_tune
from rightreasons.training.trackers import DataMapTracker, ShortcutTracker, make_classifier
from tiny_models import save_tiny_classifier, tiny_texts, tiny_tokenizer

NAMES = ["negative", "positive"]
TEXTS, LABELS = tiny_texts(48)
WATCHED, WATCHED_LABELS = tiny_texts(24)
HEADS = lmi(TEXTS, LABELS, head_size=4)
PROTOCOL = get_protocol(method="gauss_legendre", steps=4)
TOLD = ["good", "bad", "great", "dull"]
QUICK = {
    "epochs": 6,
    "batch_size": 8,
    "learning_rate": 3e-3,
    "device": "cpu",
    "progress": False,
    "label_names": NAMES,
}


def table(texts, labels):
    return {"text": texts, "label": [NAMES[label] for label in labels]}


TRAIN, VALIDATION = table(TEXTS, LABELS), table(WATCHED, WATCHED_LABELS)


def shortcut_callback(**options):
    return ShortcutCallback(
        WATCHED,
        WATCHED_LABELS,
        HEADS,
        protocol=PROTOCOL,
        resampling=Resampling(resamples=50),
        **options,
    )


def test_shortcuts_before_and_at_each_evaluation(encoder_folder, tmp_path):
    callback = shortcut_callback()
    run = fine_tune(
        encoder_folder,
        TRAIN,
        validation=VALIDATION,
        out=tmp_path / "run",
        callbacks=[callback],
        **QUICK,
    )
    assert [record["step"] for record in callback.records] == [0, 6, 12, 18, 24, 30, 36]
    assert [record["epoch"] for record in callback.records] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    # The last record is what the finished model gives, asked from outside.
    outside = measure_shortcuts(
        load_classifier(run.folder),
        WATCHED,
        WATCHED_LABELS,
        HEADS,
        resampling=Resampling(resamples=50),
        protocol=PROTOCOL,
        progress=False,
    )
    last = callback.records[-1]
    assert last["shortcut_rate"] == outside.reliance.shortcut_reliance
    assert last["accuracy"] == pytest.approx(run.metrics["accuracy"])
    assert last["ece"] == pytest.approx(outside.calibration.ece, abs=1e-4)
    assert last["shortcut_tradeoff"] == pytest.approx(last["f1"] / last["shortcut_rate"])
    assert last["accuracy"] > callback.records[0]["accuracy"]
    for record in callback.records:
        assert record["excess"] == pytest.approx(record["shortcut_rate"] - record["null_rate"])
        assert record["lexicon_cued"] + record["grammar_cued"] == pytest.approx(
            record["shortcut_rate"]
        )
        assert (
            record["shortcut_rate_interval"][0]
            <= record["shortcut_rate"]
            <= record["shortcut_rate_interval"][1]
        )
        assert json.loads(json.dumps(record)) == record


def test_records_come_back_when_a_run_is_resumed(encoder_folder, tmp_path):
    whole = shortcut_callback()
    options = {**QUICK, "epochs": 3, "checkpoint_steps": 6}
    fine_tune(
        encoder_folder,
        TRAIN,
        validation=VALIDATION,
        out=tmp_path / "whole",
        callbacks=[whole],
        **options,
    )

    class Watch(ShortcutCallback):
        """A kill that leaves the list of callbacks, and so the run, the same."""

        kill = True

        def on_step_end(self, args, state, control, **given):
            if self.kill and state.global_step == 14:
                raise KeyboardInterrupt

    made = []
    for _ in range(2):
        callback = Watch(
            WATCHED,
            WATCHED_LABELS,
            HEADS,
            protocol=PROTOCOL,
            resampling=Resampling(resamples=50),
            out=tmp_path / "records.json",
        )
        made.append(callback)
        call = {
            "validation": VALIDATION,
            "out": tmp_path / "killed",
            "callbacks": [callback],
            **options,
        }
        if callback is made[0]:
            with pytest.raises(KeyboardInterrupt):
                fine_tune(encoder_folder, TRAIN, **call)
            Watch.kill = False
        else:
            assert fine_tune(encoder_folder, TRAIN, **call).resumed_from_step == 12
    assert [record["step"] for record in made[0].records] == [0, 6, 12]
    assert [record["step"] for record in made[1].records] == [0, 6, 12, 18]
    assert made[1].records[:3] == made[0].records
    assert made[1].records[-1]["shortcut_rate"] == pytest.approx(
        whole.records[-1]["shortcut_rate"], abs=0.1
    )


def test_data_map_follows_every_example(encoder_folder, tmp_path):
    seen = []

    class Watch(DataMapCallback):
        def on_epoch_end(self, args, state, control, **given):
            super().on_epoch_end(args, state, control, **given)
            classifier = make_classifier(given["model"], given["processing_class"])
            seen.append(predict(classifier, TEXTS, progress=False).logits)

    callback = Watch(TEXTS, LABELS)
    fine_tune(
        encoder_folder, TRAIN, out=tmp_path / "run", callbacks=[callback], **{**QUICK, "epochs": 2}
    )
    found = callback.result()
    gold = np.stack([softmax(logits)[np.arange(len(LABELS)), LABELS] for logits in seen])
    right = np.stack([logits.argmax(axis=1) == LABELS for logits in seen])
    assert found.n_epochs == 2
    np.testing.assert_allclose(found.confidence, gold.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.variability, gold.std(axis=0), atol=1e-6)
    np.testing.assert_allclose(found.correctness, right.mean(axis=0))


def test_mistakes_have_their_sentences(encoder_folder):
    with pytest.raises(ValueError, match="`texts` and `labels`"):
        ShortcutCallback(WATCHED, [0, 1], HEADS)
    with pytest.raises(ValueError, match="epoch of training"):
        DataMapCallback(TEXTS, LABELS).result()


# ---------------------------------------------------------------- Without a Trainer, and without attach


def test_a_callback_without_its_trainer_says_how_to_get_it(tmp_path):
    folder = save_tiny_classifier(tmp_path / "model")
    tokenizer = tiny_tokenizer()
    rows = [{"labels": label, **tokenizer(text)} for text, label in zip(TEXTS, LABELS, strict=True)]
    for callback in (shortcut_callback(), DataMapCallback(TEXTS, LABELS)):
        trainer = transformers.Trainer(
            transformers.AutoModelForSequenceClassification.from_pretrained(folder),
            transformers.TrainingArguments(
                str(tmp_path / "run"),
                use_cpu=True,
                report_to="none",
                disable_tqdm=True,
                max_steps=1,
            ),
            train_dataset=rows,
            data_collator=transformers.DataCollatorWithPadding(tokenizer),
            processing_class=tokenizer,
            callbacks=[callback],
        )
        with pytest.raises(ValueError, match="Call `attach"):
            trainer.train()


def make_model(folder):
    return transformers.AutoModelForSequenceClassification.from_pretrained(folder)


def test_trackers_follow_a_loop_of_accelerate(tmp_path):
    folder = save_tiny_classifier(tmp_path / "model")
    tokenizer = tiny_tokenizer()
    accelerator = accelerate.Accelerator(cpu=True)
    model = make_model(folder)
    model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=3e-3))
    shortcuts = ShortcutTracker(
        WATCHED, WATCHED_LABELS, HEADS, protocol=PROTOCOL, resampling=Resampling(resamples=10)
    )
    examples = DataMapTracker(TEXTS, LABELS)
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")

    logged = []
    for epoch in range(1, 3):
        model.train()
        loss = model(**batch, labels=torch.tensor(LABELS)).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        logged.append(shortcuts.on_epoch(model, tokenizer, epoch=epoch, step=epoch))
        # The model stays as it was: in training mode, with parameters that are trained.
        assert all(module.training for module in model.modules())
        assert all(parameter.requires_grad for parameter in model.parameters())
        # A second call measures nothing anew.
        assert shortcuts.on_epoch(model, tokenizer, epoch=epoch, step=epoch) == logged[-1]
        figures = examples.on_epoch(model, tokenizer)

    assert [record["step"] for record in shortcuts.records] == [1, 2]
    assert [row["shortcut_rate"] for row in logged] == [
        record["shortcut_rate"] for record in shortcuts.records
    ]
    assert examples.result().n_epochs == 2
    assert figures["data_map_confidence"] == examples.result().confidence.mean()


@pytest.mark.parametrize("state", ["checkpointing", "input gradients", "training mode"])
def test_models_in_the_states_of_a_training_are_measured_alike(tmp_path, state):
    folder = save_tiny_classifier(tmp_path / "model")
    expected = shortcut_callback().tracker.measure(
        make_model(folder), tiny_tokenizer(), step=0, epoch=0.0
    )
    model = make_model(folder)
    if state == "checkpointing":
        model.gradient_checkpointing_enable()
        model.enable_input_require_grads()
    elif state == "input gradients":
        model.enable_input_require_grads()
    model.train()

    record = shortcut_callback().tracker.measure(model, tiny_tokenizer(), step=0, epoch=0.0)

    assert record == expected
    assert all(module.training for module in model.modules())


def test_a_training_with_gradient_checkpointing_is_watched(encoder_folder, tmp_path):
    callback = shortcut_callback()
    fine_tune(
        encoder_folder,
        TRAIN,
        validation=VALIDATION,
        out=tmp_path / "run",
        callbacks=[callback, DataMapCallback(TEXTS, LABELS)],
        training_arguments={"gradient_checkpointing": True},
        **{**QUICK, "epochs": 1},
    )

    assert [record["step"] for record in callback.records] == [0, 6]
