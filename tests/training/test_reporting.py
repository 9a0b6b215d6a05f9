"""Where the figures of callbacks go: wherever Trainer's own do, whatever the order of the callbacks."""

import json

import pytest
import transformers

from rightreasons.core.resampling import Resampling
from rightreasons.shortcuts.mutual_information import lmi
from rightreasons.shortcuts.protocols import get_protocol
from rightreasons.training.callbacks import DataMapCallback, ShortcutCallback
from rightreasons.training.trackers import ShortcutTracker
from tiny_models import save_tiny_classifier, tiny_texts, tiny_tokenizer

TEXTS, LABELS = tiny_texts(29)  # eight batches of four, the last of one
WATCHED, WATCHED_LABELS = tiny_texts(14)
HEADS = lmi(TEXTS, LABELS, head_size=4)
RATE = "shortcut_rate"


class Reporter(transformers.TrainerCallback):
    """What a reporter such as that of W&B does: it takes the numbers of each log as they are when it is called."""

    def __init__(self):
        self.logged = []

    def on_log(self, args, state, control, logs, **parts):
        self.logged.append({**logs, "step": state.global_step})


class EarlyStopping(transformers.EarlyStoppingCallback):
    """Says what it read."""

    def __init__(self):
        super().__init__(early_stopping_patience=1)
        self.read = []

    def check_metric_value(self, args, state, control, metric_value):
        self.read.append(metric_value)
        super().check_metric_value(args, state, control, metric_value)


def rows(texts, labels):
    tokenizer = tiny_tokenizer()
    return [{"labels": label, **tokenizer(text)} for text, label in zip(texts, labels, strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_classifier(tmp_path_factory.mktemp("classifier"))


def trainer(folder, out, callbacks, *, evaluated=None, **options):
    usual = {
        "per_device_train_batch_size": 4,
        "learning_rate": 3e-3,
        "logging_steps": 3,
        "report_to": "none",
    }
    arguments = transformers.TrainingArguments(
        str(out),
        use_cpu=True,
        disable_tqdm=True,
        seed=3,
        **{"save_strategy": "no", **usual, **options},
    )
    made = transformers.Trainer(
        transformers.AutoModelForSequenceClassification.from_pretrained(folder),
        arguments,
        train_dataset=rows(TEXTS, LABELS),
        eval_dataset=evaluated or rows(WATCHED, WATCHED_LABELS),
        data_collator=transformers.DataCollatorWithPadding(tiny_tokenizer()),
        processing_class=tiny_tokenizer(),
        callbacks=[callback for callback in callbacks if not hasattr(callback, "attach")],
    )
    for callback in callbacks:
        if hasattr(callback, "attach"):
            callback.attach(made)
    return made


PROTOCOL = get_protocol(method="gauss_legendre", steps=2)


def shortcuts(**options):
    return ShortcutCallback(
        WATCHED,
        WATCHED_LABELS,
        HEADS,
        protocol=PROTOCOL,
        resampling=Resampling(resamples=10),
        **options,
    )


@pytest.fixture(scope="module", params=[False, True], ids=["ours first", "ours last"])
def run(request, folder, tmp_path_factory):
    """A run of two epochs with an evaluation after each, chosen by a figure of ours."""
    out = tmp_path_factory.mktemp("run")
    callbacks = {"ours": shortcuts(), "reporter": Reporter(), "stopping": EarlyStopping()}
    given = list(callbacks.values())[:: -1 if request.param else 1]
    best = {
        "load_best_model_at_end": True,
        "metric_for_best_model": RATE,
        "greater_is_better": True,
    }
    made = trainer(
        folder,
        out,
        given,
        num_train_epochs=2,
        eval_strategy="epoch",
        **{**best, "save_strategy": "epoch"},
    )
    made.train()
    return made, callbacks, out


def test_an_evaluation_has_the_figures_wherever_it_goes(run):
    made, callbacks, out = run
    records = {record["step"]: record for record in callbacks["ours"].records}
    assert list(records) == [0, 8, 16]
    state = json.loads((out / "checkpoint-16" / "trainer_state.json").read_text("utf-8"))
    for logs in (state["log_history"], callbacks["reporter"].logged):
        evaluations = [entry for entry in logs if "eval_loss" in entry]
        assert [entry["step"] for entry in evaluations] == [8, 16]
        assert [entry["eval_shortcut_excess"] for entry in evaluations] == [
            records[8]["excess"],
            records[16]["excess"],
        ]
        # Nothing twice.
        assert [entry["step"] for entry in logs if f"eval_{RATE}" in entry] == [8, 16]
    assert [entry["step"] for entry in state["log_history"] if "shortcuts" in entry] == [0, 8, 16]
    rates = [records[step]["shortcut_rate"] for step in (8, 16)]
    assert callbacks["stopping"].read == rates
    assert made.state.best_metric == max(rates)


def test_the_best_checkpoint_is_measured_when_it_is_evaluated(run):
    made, callbacks, _ = run
    best = {record["step"]: record for record in callbacks["ours"].records}[
        made.state.best_global_step
    ]
    metrics = made.evaluate()
    assert metrics[f"eval_{RATE}"] == best["shortcut_rate"]
    assert metrics["eval_shortcut_excess"] == best["excess"]
    assert len(callbacks["ours"].records) == 3


def test_each_of_several_evaluation_sets_has_them_under_its_own_prefix(folder, tmp_path):
    class Counted(ShortcutTracker):
        n_measured = 0

        def measure(self, model, tokenizer, **arguments):
            self.n_measured += 1
            return super().measure(model, tokenizer, **arguments)

    ours = shortcuts()
    ours.tracker = Counted(
        WATCHED, WATCHED_LABELS, HEADS, protocol=PROTOCOL, resampling=Resampling(resamples=10)
    )
    reporter = Reporter()
    sets = {"id": rows(WATCHED, WATCHED_LABELS), "ood": rows(WATCHED[:5], WATCHED_LABELS[:5])}
    made = trainer(folder, tmp_path, [reporter, ours], evaluated=sets)
    metrics = made.evaluate()
    assert ours.tracker.n_measured == 1
    rate = ours.records[0]["shortcut_rate"]
    assert (metrics[f"eval_id_{RATE}"], metrics[f"eval_ood_{RATE}"]) == (rate, rate)
    assert [sorted(key for key in logs if key.endswith(RATE)) for logs in reporter.logged] == [
        [f"eval_id_{RATE}"],
        [f"eval_ood_{RATE}"],
    ]
    assert made.evaluate(sets["id"], metric_key_prefix="final")[f"final_{RATE}"] == rate
    assert ours.tracker.n_measured == 1


def test_tensorboard_has_the_figures_with_and_without_evaluations(folder, tmp_path, monkeypatch):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "events"))
    callbacks = [shortcuts(), DataMapCallback(TEXTS, LABELS)]
    before = trainer(folder, tmp_path, callbacks, max_steps=3, report_to=["tensorboard"])
    weights = {name: parameter.clone() for name, parameter in before.model.named_parameters()}
    before.evaluate()
    assert all(
        (parameter == weights[name]).all() for name, parameter in before.model.named_parameters()
    )
    before.train()
    scalars = {}
    for file in (tmp_path / "events").iterdir():
        log = events.EventAccumulator(str(file))
        log.Reload()
        for tag in log.Tags()["scalars"]:
            scalars.setdefault(tag, []).extend(
                (event.step, event.value) for event in log.Scalars(tag)
            )
    records = callbacks[0].records
    assert [record["step"] for record in records] == [0, 3]
    assert scalars[f"eval/{RATE}"] == [(0, pytest.approx(records[0]["shortcut_rate"], abs=1e-6))]
    ((step, confidence),) = scalars["train/data_map_confidence"]
    assert (step, confidence) == (
        3,
        pytest.approx(callbacks[1].result().confidence.mean(), abs=1e-6),
    )


# --------------------------------------------------------------------------------------------------------- data maps


@pytest.mark.parametrize(
    ("options", "ends"),
    [
        ({"max_steps": 11}, [(8, 1.0), (11, 1.375)]),
        ({"num_train_epochs": 2.5}, [(8, 1.0), (16, 2.0), (20, 2.5)]),
        # Eight batches in steps of three: two whole steps and one of two batches, three steps per epoch.
        ({"num_train_epochs": 2, "gradient_accumulation_steps": 3}, [(3, 1.0), (6, 2.0)]),
        ({"max_steps": 8, "eval_strategy": "steps", "eval_steps": 5}, [(8, 1.0)]),
    ],
)
def test_a_data_map_has_every_end_of_an_epoch(folder, tmp_path, options, ends):
    class Watch(DataMapCallback):
        ends = ()

        def on_epoch_end(self, args, state, control, **parts):
            super().on_epoch_end(args, state, control, **parts)
            self.ends = (*self.ends, (state.global_step, state.epoch))

    callback = Watch(TEXTS, LABELS)
    made = trainer(folder, tmp_path / "run", [callback], **options)
    made.train()
    assert list(callback.ends) == ends
    assert callback.result().n_epochs == len(ends)
    assert [
        entry["step"] for entry in made.state.log_history if "data_map_confidence" in entry
    ] == [step for step, _ in ends]


def test_the_map_of_a_resumed_run_begins_where_it_goes_on(folder, tmp_path):
    trainer(folder, tmp_path, [], max_steps=8, save_strategy="steps", save_steps=8).train()
    callback = DataMapCallback(TEXTS, LABELS)
    made = trainer(folder, tmp_path / "again", [callback], num_train_epochs=3)
    with pytest.warns(UserWarning, match="map begins at step 8"):
        made.train(resume_from_checkpoint=str(tmp_path / "checkpoint-8"))
    assert callback.result().n_epochs == 2
