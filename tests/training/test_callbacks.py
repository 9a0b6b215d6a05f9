"""Real short Trainer runs that are watched."""

import json

import numpy as np
import pytest

from rightreasons.core.resampling import Resampling
from rightreasons.core.validation import softmax
from rightreasons.models.classes import predict
from rightreasons.models.loading import load_classifier
from rightreasons.shortcuts.measure import measure_shortcuts
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.protocols import protocol_of
from rightreasons.training.callbacks import DataMapCallback, ShortcutCallback, classifier_of
from rightreasons.training.finetune import fine_tune
from tiny_models import tiny_texts

NAMES = ["negative", "positive"]
TEXTS, LABELS = tiny_texts(48)
WATCHED, WATCHED_LABELS = tiny_texts(24)
HEADS = lmi(TEXTS, LABELS, head_size=4)
PROTOCOL = protocol_of(method="gauss_legendre", steps=4)
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
            seen.append(predict(classifier_of(given), TEXTS, progress=False).logits)

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
