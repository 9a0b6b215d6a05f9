import pickle
import subprocess
import sys

import numpy as np
import pytest
import torch
from transformers import (
    AutoModelForMultipleChoice,
    AutoModelForSequenceClassification,
    DataCollatorForMultipleChoice,
    DataCollatorWithPadding,
    EvalPrediction,
    Trainer,
    TrainingArguments,
)

import rightreasons.training
from rightreasons.calibration.errors import calibration_error
from rightreasons.core.errors import OptionError
from rightreasons.core.validation import softmax
from rightreasons.training.metrics import compute_metrics
from tiny_models import save_tiny_classifier, save_tiny_multiple_choice, tiny_texts, tiny_tokenizer

EVERY = ("accuracy", "f1", "ece", "mce", "brier", "nll", "smooth_ece", "aurc", "auroc", "macro_ce")


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 3)).astype(np.float32)
    return logits, (logits + rng.normal(size=(200, 3))).argmax(axis=1)


def evaluation(logits, labels, **options):
    return EvalPrediction(predictions=logits, label_ids=labels, **options)


def test_a_case_by_hand():
    # Softmax of (ln 3, 0) is (3/4, 1/4), of (0, ln 4) is (1/5, 4/5), of (ln 9, 0) is (9/10, 1/10).
    logits = np.log([[3.0, 1.0], [1.0, 4.0], [9.0, 1.0]])
    figures = compute_metrics(
        "accuracy", "f1", "ece", "brier", "nll", "macro_ce", average="binary", n_bins=10
    )(evaluation(logits, np.array([0, 1, 1])))
    assert figures["accuracy"] == pytest.approx(2 / 3)
    assert figures["f1"] == pytest.approx(
        2 / 3
    )  # class 1: one hit, no false alarm, one miss: 2 / (2 + 0 + 1)
    # Bins (0.7, 0.8] twice, both right, mean confidence 0.775; (0.8, 0.9] once, wrong: (2 * 0.225 + 0.9) / 3.
    assert figures["ece"] == pytest.approx((2 * 0.225 + 0.9) / 3)
    assert figures["brier"] == pytest.approx((2 * 0.25**2 + 2 * 0.2**2 + 2 * 0.9**2) / 3)
    assert figures["nll"] == pytest.approx(-(np.log(0.75) + np.log(0.8) + np.log(0.1)) / 3)
    assert figures["macro_ce"] == pytest.approx((0.225 + 0.9) / 2)


def test_the_tradeoff_divides_the_f1_that_is_logged():
    # Class 2 does not occur, so that F1 is the mean of classes 0 and 1: 1, over a shortcut rate of 1/2.
    logits = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0]])

    compute = compute_metrics("f1", "shortcut_tradeoff", cued=[True, False])
    figures = compute(evaluation(logits, np.array([0, 1])))

    assert figures["f1"] == 1.0
    assert figures["shortcut_tradeoff"] == figures["f1"] / 0.5


@pytest.mark.parametrize(("name", "options"), [("f1", {}), ("shortcut_tradeoff", {"cued": [1, 0]})])
def test_binary_f1_of_a_model_with_three_classes_is_refused_also_if_one_does_not_occur(
    name, options
):
    logits = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0]])

    compute = compute_metrics(name, average="binary", **options)
    with pytest.raises(OptionError, match="two classes") as error:
        compute(evaluation(logits, np.array([0, 1])))

    assert error.value.option == ("average",)


def test_figures_are_plain_and_in_the_order_of_the_names(scored):
    figures = compute_metrics(*EVERY)(evaluation(*scored))
    assert tuple(figures) == EVERY
    assert {type(value) for value in figures.values()} == {float}
    assert not any(name.startswith(("eval_", "test_", "predict_")) for name in figures)


def test_ece_is_that_of_the_kernel(scored):
    logits, labels = scored
    expected = calibration_error(
        softmax(logits.astype(np.float64)), labels, strategy="quantile", n_bins=7, norm="l2"
    )
    figures = compute_metrics("ece", "mce", strategy="quantile", n_bins=7, norm="l2")(
        evaluation(logits, labels)
    )
    assert figures == {"ece": expected.ece, "mce": expected.mce}


def test_what_trainer_may_hand_over(scored):
    logits, labels = scored
    metrics = compute_metrics("accuracy", "ece", "nll")
    expected = metrics(evaluation(logits, labels))
    assert metrics((logits, labels)) == expected
    assert (
        metrics(evaluation((logits, np.zeros((200, 5, 16))), labels)) == expected
    )  # more outputs than the logits
    assert metrics(evaluation(torch.tensor(logits), torch.tensor(labels))) == expected
    bfloat = metrics(
        evaluation(
            torch.tensor(logits, dtype=torch.bfloat16, requires_grad=True), torch.tensor(labels)
        )
    )
    assert bfloat["nll"] == pytest.approx(expected["nll"], abs=0.02)


def test_items_without_a_label_are_passed_over(scored):
    logits, labels = scored
    metrics = compute_metrics("accuracy", "ece")
    some = labels.copy()
    some[::2] = -100
    assert metrics(evaluation(logits, some)) == metrics(evaluation(logits[1::2], labels[1::2]))
    with pytest.raises(ValueError, match="at least one"):
        metrics(evaluation(logits, np.full(200, -100)))


def test_an_undefined_figure_is_none():
    figures = compute_metrics("macro_ce", "auroc", "accuracy")(
        evaluation(np.eye(3) * 5, np.arange(3))
    )
    assert figures == {"macro_ce": None, "auroc": None, "accuracy": 1.0}


@pytest.mark.parametrize(
    ("names", "options", "kind", "option"),
    [
        ((), {}, ValueError, None),
        (("acuracy",), {}, ValueError, None),
        ((3,), {}, TypeError, None),
        (("ece",), {"nbins": 3}, ValueError, None),
        (("accuracy",), {"n_bins": 3}, ValueError, None),
        (("ece",), {"n_bins": 0}, ValueError, ("n_bins",)),
        (("ece",), {"strategy": "equal"}, ValueError, ("strategy",)),
        (("f1",), {"average": "makro"}, ValueError, ("average",)),
    ],
)
def test_invalid_names_and_options_are_refused_before_the_training(names, options, kind, option):
    with pytest.raises(kind) as error:
        compute_metrics(*names, **options)
    assert getattr(error.value, "option", None) == option


@pytest.mark.parametrize(
    ("logits", "labels", "kind", "word"),
    [
        (np.zeros((4, 2)), None, TypeError, "labels"),
        (np.zeros((4, 7, 30)), np.zeros((4, 7)), ValueError, "logits of shape"),
        (np.zeros((4, 2)), np.zeros(3, int), ValueError, "one length"),
        (np.zeros((4, 2)), np.array([0, 1, 2, 0]), ValueError, "item 2"),
        (np.array([[0.0, np.nan]]), np.array([0]), ValueError, "row 0"),
        (np.zeros((4, 1)), np.zeros(4, int), ValueError, "at least two"),
    ],
)
def test_invalid_evaluations_are_refused(logits, labels, kind, word):
    with pytest.raises(kind, match=word):
        compute_metrics("accuracy", "ece")(evaluation(logits, labels))


def test_it_says_what_it_is_and_travels(scored):
    metrics = compute_metrics("accuracy", "ece", n_bins=10)
    assert repr(metrics) == "compute_metrics('accuracy', 'ece', n_bins=10)"
    assert pickle.loads(pickle.dumps(metrics))(evaluation(*scored)) == metrics(evaluation(*scored))
    with pytest.raises(AttributeError, match="compute_metricks"):
        _ = rightreasons.training.compute_metricks


def test_it_needs_no_torch():
    code = (
        "import sys; from rightreasons.training import compute_metrics; compute_metrics('ece');"
        "print('torch' in sys.modules)"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "False\n"
    )


# ------------------------------------------------------------------------------------------------------------- training


def arguments(folder, **options):
    return TrainingArguments(
        output_dir=folder,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        per_device_eval_batch_size=8,
        per_device_train_batch_size=8,
        logging_strategy="no",
        **options,
    )


@pytest.fixture(scope="module")
def classification(tmp_path_factory):
    folder = save_tiny_classifier(tmp_path_factory.mktemp("classifier"))
    tokenizer = tiny_tokenizer()
    texts, labels = tiny_texts(44)
    rows = [{**tokenizer(text), "labels": label} for text, label in zip(texts, labels, strict=True)]
    return {
        "model_init": lambda: AutoModelForSequenceClassification.from_pretrained(folder),
        "train_dataset": rows,
        "eval_dataset": rows[:29],
        "data_collator": DataCollatorWithPadding(tokenizer),
    }


def test_a_short_training_run_chooses_the_best_calibrated_checkpoint(classification, tmp_path):
    options = {
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "num_train_epochs": 3,
        "learning_rate": 3e-3,
    }
    best = {
        "load_best_model_at_end": True,
        "metric_for_best_model": "eval_ece",
        "greater_is_better": False,
    }
    trainer = Trainer(
        args=arguments(tmp_path, **options, **best),
        compute_metrics=compute_metrics(*EVERY),
        **classification,
    )
    trainer.train()
    logged = [entry["eval_ece"] for entry in trainer.state.log_history if "eval_ece" in entry]
    assert len(logged) == 3
    assert trainer.state.best_metric == min(logged)
    found = trainer.evaluate()
    assert found["eval_ece"] == pytest.approx(min(logged))
    assert {f"eval_{name}" for name in EVERY} <= set(found)
    assert "test_ece" in trainer.predict(classification["eval_dataset"]).metrics


@pytest.mark.parametrize("option", ["eval_accumulation_steps", "hidden"])
def test_every_way_of_evaluating_gives_the_same_figures(classification, tmp_path, option):
    def run(model_options=(), **options):
        trainer = Trainer(
            args=arguments(tmp_path, **options),
            compute_metrics=compute_metrics(*EVERY),
            **{key: value for key, value in classification.items() if key != "model_init"},
            model=classification["model_init"](),
        )
        for key, value in dict(model_options).items():
            setattr(trainer.model.config, key, value)
        found = [trainer.evaluate() for _ in range(2)][1]
        return {key: found[f"eval_{key}"] for key in EVERY}

    values = {"eval_accumulation_steps": 2}
    changed = (
        run({"output_hidden_states": True})
        if option == "hidden"
        else run(**{option: values[option]})
    )
    assert changed == pytest.approx(run(), abs=1e-7)


def test_multiple_choice_is_evaluated_alike(tmp_path):
    tokenizer = tiny_tokenizer()
    rows = []
    for index in range(20):
        choices = [
            ["the floor was wet", "the sun was fine", "a story"],
            ["rain fell", "a plot", "the man"],
        ][index % 2]
        rows.append({**tokenizer(["the man fell"] * 3, choices), "label": index % 3})
    model = AutoModelForMultipleChoice.from_pretrained(
        save_tiny_multiple_choice(tmp_path / "model")
    )
    trainer = Trainer(
        model=model,
        args=arguments(tmp_path / "run", max_steps=2),
        train_dataset=[dict(row) for row in rows],
        eval_dataset=[dict(row) for row in rows],
        data_collator=DataCollatorForMultipleChoice(tokenizer=tokenizer),
        compute_metrics=compute_metrics(*EVERY),
    )
    trainer.train()
    found = trainer.evaluate()
    assert {f"eval_{key}" for key in EVERY} <= set(found)
    logits = trainer.predict([dict(row) for row in rows]).predictions
    assert logits.shape == (20, 3)
    assert found["eval_accuracy"] == np.mean(logits.argmax(axis=1) == np.arange(20) % 3)
