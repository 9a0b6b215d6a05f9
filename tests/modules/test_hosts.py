"""Every evaluate module in everything that hosts modules: batches, combinations, Trainer, evaluators.

The rows of each test are generated from `available_modules()`, so that a new module is tested, or
its reason not to be is written down here.
"""

import json

import datasets
import evaluate
import numpy as np
import pytest
import transformers
from evaluate import EvaluationSuite
from evaluate.evaluation_suite import SubTask

import rightreasons
from module_inputs import MODULES, loaded
from rightreasons.core.validation import softmax
from rightreasons.evaluate_module import available_modules
from rightreasons.evaluate_module.hosts import repair_host
from rightreasons.training import compute_metrics
from rightreasons.training.figures import FAMILIES
from tiny_models import save_tiny_classifier, tiny_texts, tiny_tokenizer

NAMES = sorted(available_modules())
N_ITEMS = 12
RNG = np.random.default_rng(5)
FLAGS = RNG.random(N_ITEMS) < 0.5
GROUPS = [f"set {item // 2}" for item in range(N_ITEMS)]
VOTES = RNG.integers(1, 5, size=(N_ITEMS, 2))
# A suite whose examples are the evaluation set.
TEXTS, LABELS = tiny_texts(N_ITEMS)

UNFED = {
    "cue_statistics": "it is about data alone",
    "lmi": "it is about data alone",
    "fim_difficulty": "it needs gradients of the model",
    "shortcut_reliance": "it needs attributions, which ShortcutCallback computes",
    "deciding_share": "it needs predictions for swapped texts",
    "silent_sway": "it needs generated answers",
    "generalization_score": "it needs the pass rates of several models",
    "choice_paralysis": "it needs two sets of rows; see test_probe_sets.py",
}
"""Modules that logits and labels of one evaluation set cannot feed, and why."""


def make_suite():
    from rightreasons.datasets.suites.suite import Case, Functionality, Suite

    cases = []
    for item, (text, label) in enumerate(zip(TEXTS, LABELS, strict=True)):
        cases.append(Case(str(item), ((text,),), (label,)))
    return Suite(
        "hosted", ("text",), (Functionality("words", "W", "MFT", {"name": "equal"}, tuple(cases)),)
    )


SIDE_COLUMNS = {
    "easy_hard_gap": {"easy": FLAGS},
    "shortcut_tradeoff": {"cued": FLAGS},
    "contrast_consistency": {"groups": GROUPS},
    "behavioral_pass_rate": {"suite": make_suite()},
    "dist_ce": {"human_votes": VOTES},
}
"""Options of `compute_metrics` for the modules that need them."""


def compute_directly(name, logits, labels):
    """Compute a module on what `Trainer.predict` gave, without anything in between."""
    predicted = logits.argmax(axis=1)
    columns = SIDE_COLUMNS.get(name, {})
    if name in ("ece", "prior_bias"):
        inputs = {"predictions": logits, "scores": "logits"}
        if name == "ece":
            inputs["references"] = labels
    elif name == "dist_ce":
        inputs = {"predictions": logits, "references": VOTES, "scores": "logits"}
    elif name == "behavioral_pass_rate":
        inputs = {"predictions": softmax(logits.astype(float)), **columns}
    else:
        inputs = {"predictions": predicted, "references": labels, **columns}
    return rightreasons.load(name).compute(**inputs)[name]


def test_each_module_is_fed_or_has_a_reason():
    fed = {name for family in FAMILIES for name in family.figure_names}

    assert set(NAMES) == (fed & set(NAMES)) | set(UNFED)
    assert fed & set(UNFED) == {"choice_paralysis"}


@pytest.fixture(scope="module")
def trainers(tmp_path_factory):
    folder = save_tiny_classifier(tmp_path_factory.mktemp("classifier"))
    tokenizer = tiny_tokenizer()
    rows = [{**tokenizer(text), "labels": label} for text, label in zip(TEXTS, LABELS, strict=True)]

    def make(metrics, **options):
        return transformers.Trainer(
            transformers.AutoModelForSequenceClassification.from_pretrained(folder),
            transformers.TrainingArguments(
                str(folder / "out"),
                report_to="none",
                use_cpu=True,
                disable_tqdm=True,
                per_device_eval_batch_size=5,
                **options,
            ),
            eval_dataset=rows,
            data_collator=transformers.DataCollatorWithPadding(tokenizer),
            compute_metrics=metrics,
        )

    return make


@pytest.mark.parametrize("is_batched", [False, True], ids=["at once", "batch_eval_metrics"])
@pytest.mark.parametrize("name", [name for name in NAMES if name not in UNFED])
def test_a_trainer_gives_the_figure_of_a_direct_call(trainers, name, is_batched):
    metrics = compute_metrics(name, **SIDE_COLUMNS.get(name, {}))
    trainer = trainers(metrics, batch_eval_metrics=is_batched)

    # The second evaluation sees nothing of the first one.
    trainer.evaluate()
    figures = trainer.evaluate()

    prediction = trainers(None).predict(trainer.eval_dataset)
    expected = compute_directly(name, prediction.predictions, prediction.label_ids)
    assert figures[f"eval_{name}"] == pytest.approx(expected, abs=1e-12)


# ---------------------------------------------------------------- Batches and combinations


def get_row(name):
    """Return the inputs, options and result key of a module."""
    if name == "dist_ce":
        return {"predictions": [[0.75, 0.25], [0.5, 0.5]], "references": [[3, 1], [1, 1]]}, {}
    return MODULES[name]


@pytest.mark.parametrize("name", NAMES)
def test_batches_give_the_result_of_one_call(name):
    inputs, options = get_row(name)
    module = loaded(name)
    expected = module.compute(**inputs, **options)

    for item in range(len(next(iter(inputs.values())))):
        module.add_batch(**{column: values[item : item + 1] for column, values in inputs.items()})

    assert module.compute(**options) == expected
    json.dumps(expected, allow_nan=False)


@pytest.mark.parametrize("name", NAMES)
def test_a_combination_with_a_module_of_other_inputs_gives_both_results(name):
    inputs, options = get_row(name)
    # A module that shares no input with this one.
    partner_name = "lmi" if "predictions" in inputs else "easy_hard_gap"
    partner_inputs, partner_options = get_row(partner_name)
    if partner_inputs.keys() & inputs.keys():
        partner_name = "shortcut_tradeoff"
        partner_inputs, partner_options = get_row(partner_name)
    modules = [loaded(name), loaded(partner_name)]
    arguments = {**partner_inputs, **inputs, **partner_options, **options}

    combined = evaluate.combine(modules, force_prefix=True)
    results = combined.compute(**arguments)

    expected = {}
    for module in modules:
        # A name such as `clusters` may be an input of one and an option of the other.
        names = {*module._feature_names(), *module.option_names()}
        own = {key: value for key, value in arguments.items() if key in names}
        for key, value in module.compute(**own).items():
            expected[f"{module.name}_{key}"] = value
    assert results == expected
    with pytest.raises(ValueError, match="an option of"):
        combined.compute(**arguments, no_such_option=1)


# ---------------------------------------------------------------- Evaluators


LABEL_NUMBERS = {"negative": 0, "positive": 1}
# What an evaluator passes besides predicted labels and references.
EVALUATED = {
    "easy_hard_gap": {"easy": FLAGS},
    "shortcut_tradeoff": {"cued": FLAGS},
    "contrast_consistency": {"groups": GROUPS},
}


@pytest.fixture(scope="module")
def hosted(tmp_path_factory):
    folder = save_tiny_classifier(tmp_path_factory.mktemp("classifier"))
    pipeline = transformers.pipeline("text-classification", model=str(folder), device=-1)
    data = datasets.Dataset.from_dict({"text": TEXTS, "label": LABELS})
    predicted = [LABEL_NUMBERS[row["label"]] for row in pipeline(TEXTS)]
    return str(folder), pipeline, data, predicted


@pytest.mark.parametrize("name", EVALUATED)
def test_an_evaluator_gives_the_result_of_a_direct_call(hosted, name):
    folder, pipeline, data, predicted = hosted
    module = rightreasons.load(name)
    expected = module.compute(predictions=predicted, references=LABELS, **EVALUATED[name])
    evaluator = evaluate.evaluator("text-classification")
    evaluator.METRIC_KWARGS = EVALUATED[name]
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)

    for source in (folder, model, pipeline):
        results = evaluator.compute(
            source,
            data,
            metric=module,
            tokenizer=tiny_tokenizer(),
            label_mapping=LABEL_NUMBERS,
            device=-1,
        )
        assert results[name] == expected[name]


def test_an_evaluator_passes_probabilities_if_its_processor_does(hosted):
    class Probabilities(evaluate.TextClassificationEvaluator):
        PIPELINE_KWARGS = {"truncation": True, "top_k": None}
        METRIC_KWARGS = {"confidence_level": 0.9}

        def predictions_processor(self, predictions, label_mapping):
            rows = []
            for scores in predictions:
                by_label = {row["label"]: row["score"] for row in scores}
                rows.append([by_label[label] for label in label_mapping])
            return {"predictions": rows}

    _, pipeline, data, _ = hosted
    results = Probabilities().compute(
        pipeline, data, metric=rightreasons.load("ece"), label_mapping=LABEL_NUMBERS
    )

    rows = pipeline(TEXTS, top_k=None)
    positive = [sum(s["score"] for s in row if s["label"] == "positive") for row in rows]
    table = np.column_stack((1 - np.array(positive), positive))
    expected = rightreasons.load("ece").compute(
        predictions=table, references=LABELS, confidence_level=0.9
    )
    # Ours instead of the evaluator's bootstrap, which takes one number per item.
    assert results["ece"] == pytest.approx(expected["ece"], abs=1e-6)
    for bound in ("low", "high"):
        assert results["interval"][bound] == pytest.approx(expected["interval"][bound], abs=1e-6)


def test_an_evaluation_suite_runs_our_modules_and_those_of_others(hosted, monkeypatch):
    folder, _, data, predicted = hosted
    module = rightreasons.load("easy_hard_gap")
    # A suite makes its own evaluators, so that side columns belong to their class.
    monkeypatch.setattr(evaluate.TextClassificationEvaluator, "METRIC_KWARGS", {"easy": FLAGS})

    class OneTask(EvaluationSuite):
        def __init__(self, metric):
            super().__init__("suite")
            arguments = {"metric": metric, "label_mapping": LABEL_NUMBERS}
            self.suite = [SubTask("text-classification", data, args_for_task=arguments)]

    (ours,) = OneTask(module).run(folder)
    monkeypatch.setattr(evaluate.TextClassificationEvaluator, "METRIC_KWARGS", {})
    (theirs,) = OneTask(Accuracy()).run(folder)

    expected = module.compute(predictions=predicted, references=LABELS, easy=FLAGS)
    assert ours["easy_hard_gap"] == expected["easy_hard_gap"]
    assert theirs["accuracy"] == np.mean(np.equal(predicted, LABELS))


class Accuracy(evaluate.Metric):
    """A metric of somebody else, without an option or an input beyond the usual ones."""

    def _info(self):
        features = datasets.Features(
            {"predictions": datasets.Value("int64"), "references": datasets.Value("int64")}
        )
        return evaluate.MetricInfo(
            description="", citation="", inputs_description="", features=features
        )

    def _compute(self, predictions, references):
        return {"accuracy": float(np.mean(np.equal(predictions, references)))}


def test_a_combination_passes_a_foreign_metric_only_what_it_takes():
    inputs, options = MODULES["easy_hard_gap"]

    both = evaluate.combine([Accuracy(), rightreasons.load("easy_hard_gap")], force_prefix=True)
    results = both.compute(**inputs, **options)

    # Two of the three predictions, 0, 0 and 1, are those of the labels 0, 1 and 1.
    assert results["accuracy_accuracy"] == pytest.approx(2 / 3)
    assert results["easy_hard_gap_accuracy"] == pytest.approx(2 / 3)


def test_the_host_is_repaired_without_a_change_of_transformers():
    repair_host()

    assert not hasattr(transformers, "TFPreTrainedModel")
