"""The probes over a real run: a model that learns to choose what is good without its question."""

import json
import pickle

import pytest
import transformers

from choice_items import good_items
from rightreasons.core.resampling import Resampling
from rightreasons.models.choices import choose, load_chooser
from rightreasons.probes.measure import measure_probes, probe_tables
from rightreasons.training.callbacks import ProbeCallback
from rightreasons.training.examples import Encoder, as_dataset
from rightreasons.training.finetune import fine_tune
from tiny_models import save_tiny_encoder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("probed")
    encoder = save_tiny_encoder(folder / "encoder")
    callback = ProbeCallback(good_items(30, 200), k=2, out=folder / "records.json")
    done = fine_tune(
        encoder,
        good_items(150),
        out=folder / "model",
        validation=good_items(30, 200),
        task="multiple_choice",
        epochs=4,
        learning_rate=5e-3,
        max_length=24,
        checkpoint_steps=0,
        metrics=("accuracy",),
        callbacks=[callback],
        progress=False,
    )
    return callback, done, folder


def test_the_bias_is_seen_to_grow(run):
    callback, _, folder = run
    assert len(callback) == 30
    records = callback.records
    assert [record.epoch for record in records] == [0, 1, 2, 3, 4]
    assert records[0].step == 0
    assert records[-1].pseudo_correct > 0.9
    assert records[-1].pseudo_correct_p_value < 1e-4
    assert records[-1].no_question > records[0].no_question + 0.05
    assert records[-1].choice_paralysis > 0.05
    for record in records:
        assert record.restricted_drop == pytest.approx(0, abs=1e-9)
        assert record.chance == 0.5
    assert json.loads((folder / "records.json").read_text("utf-8")) == [record.to_dict() for record in records]


def test_the_last_record_is_that_of_the_saved_model(run):
    callback, done, folder = run
    model = load_chooser(done.folder)

    def score(prompts, choices, ids):
        return choose(model, prompts, choices, ids=ids, progress=False).logits

    items = as_dataset(good_items(30, 200), "multiple_choice", "items")
    figures = measure_probes(probe_tables(items, ks=(2,)).scored_by(score), resampling=Resampling(resamples=10))
    last = callback.records[-1]
    assert figures.prior_bias["no_question"].prior_bias == pytest.approx(last.no_question, abs=1e-5)
    assert figures.paralysis[2].choice_paralysis == pytest.approx(last.choice_paralysis, abs=1e-5)
    trainer = transformers.Trainer(
        model.model,
        transformers.TrainingArguments(output_dir=str(folder / "evaluated"), report_to="none", use_cpu=True),
        eval_dataset=Encoder(model.tokenizer, 24).multiple_choice(items, "items").dataset,
        data_collator=transformers.DataCollatorForMultipleChoice(model.tokenizer),
        processing_class=model.tokenizer,
        callbacks=[ProbeCallback(good_items(30, 200), k=2)],
    )
    metrics = trainer.evaluate()
    assert metrics["eval_prior_bias"] == pytest.approx(last.no_question, abs=1e-5)
    assert metrics["eval_restricted_drop"] == pytest.approx(0, abs=1e-9)


def test_bad_input():
    with pytest.raises(TypeError, match="`items` to be a Dataset"):
        ProbeCallback("items")
    with pytest.raises(ValueError, match="column"):
        ProbeCallback([{"text": "a", "label": 0}])
    with pytest.raises(ValueError, match="borrow for item"):
        ProbeCallback(good_items(2), k=20)
    with pytest.raises(ValueError, match="`k`"):
        ProbeCallback(good_items(3), k=0)


def test_without_evaluations_the_finished_model_is_recorded_and_the_callback_pickles(tmp_path):
    callback = ProbeCallback(good_items(12, 200), k=1, out=tmp_path / "records.json")
    fine_tune(
        save_tiny_encoder(tmp_path / "encoder"),
        good_items(16),
        out=tmp_path / "model",
        task="multiple_choice",
        epochs=1,
        batch_size=8,
        max_length=24,
        checkpoint_steps=0,
        callbacks=[callback],
        progress=False,
    )
    assert [record.step for record in callback.records] == [0, 2]
    assert [row["step"] for row in json.loads((tmp_path / "records.json").read_text("utf-8"))] == [0, 2]
    assert pickle.loads(pickle.dumps(callback)).records == callback.records
