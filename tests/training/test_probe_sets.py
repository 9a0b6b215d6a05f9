"""Perturbed multiple-choice items in a Trainer: as they are, alone or joined, ragged or not."""

import json
from pathlib import Path

import datasets
import numpy as np
import pytest
import torch
import transformers

import rightreasons
from choice_items import good_items
from launching import launch_two
from rightreasons.core.errors import OptionError
from rightreasons.datasets.perturbing.probes import PROBES, perturb
from rightreasons.training import MultipleChoiceCollator, compute_metrics, join_probes
from tiny_models import save_tiny_multiple_choice, tiny_tokenizer

ITEMS = datasets.Dataset.from_list(good_items(9))
# Items with two, three and four choices.
RAGGED = datasets.Dataset.from_list(
    [
        {**item, "choices": item["choices"] + ["so dry", "very wet"][: index % 3]}
        for index, item in enumerate(good_items(9))
    ]
)
WITHOUT_CORRECT = ("no_question", "wrong_question", "no_right_answer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_multiple_choice(tmp_path_factory.mktemp("model"))


def make_trainer(folder, dataset, metrics=None, **options):
    return transformers.Trainer(
        transformers.AutoModelForMultipleChoice.from_pretrained(folder),
        transformers.TrainingArguments(
            str(folder / "out"),
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
            remove_unused_columns=False,
            per_device_eval_batch_size=4,
            **options,
        ),
        eval_dataset=dataset,
        data_collator=MultipleChoiceCollator(tiny_tokenizer()),
        compute_metrics=metrics,
    )


def read_alone(folder, items):
    """Return the logits of each item, which the model reads without any other item."""
    model = transformers.AutoModelForMultipleChoice.from_pretrained(folder).eval()
    collator = MultipleChoiceCollator(tiny_tokenizer())
    rows = []
    for item in items:
        batch = collator([item])
        del batch["labels"]
        with torch.no_grad():
            rows.append(model(**batch).logits[0].numpy())
    return rows


@pytest.mark.parametrize("is_batched", [False, True])
@pytest.mark.parametrize("items", [ITEMS, RAGGED], ids=["two choices", "ragged"])
def test_joined_probes_give_the_figures_of_the_modules(folder, items, is_batched):
    sets = join_probes(items)
    names = ("accuracy", "ece", "loss", "prior_bias", "choice_paralysis", "easy_hard_gap")
    easy = np.arange(len(items)) % 2 == 0
    metrics = compute_metrics(*names, probes=sets, easy=easy)
    figures = make_trainer(folder, sets.dataset, metrics, batch_eval_metrics=is_batched).evaluate()

    rows = {"original": read_alone(folder, items)}
    perturbed = {name: perturb(items, name) for name in PROBES}
    for name in PROBES:
        rows[name] = read_alone(folder, perturbed[name])
    labels = items["label"][:]
    for name in WITHOUT_CORRECT:
        bias = rightreasons.load("prior_bias").compute(predictions=rows[name], scores="logits")
        assert figures[f"eval_{name}_prior_bias"] == pytest.approx(bias["prior_bias"], abs=1e-6)
    paralysis = rightreasons.load("choice_paralysis").compute(
        predictions=rows["original"],
        perturbed_predictions=rows["extra_choices"],
        references=labels,
        perturbed_references=perturbed["extra_choices"]["label"][:],
        original_positions=perturbed["extra_choices"]["original_positions"][:],
        scores="logits",
    )
    assert figures["eval_choice_paralysis"] == pytest.approx(
        paralysis["choice_paralysis"], abs=1e-6
    )
    ece = rightreasons.load("ece").compute(
        predictions=rows["original"], references=labels, scores="logits"
    )
    assert figures["eval_ece"] == pytest.approx(ece["ece"], abs=1e-6)
    correct = [np.argmax(row) == label for row, label in zip(rows["original"], labels, strict=True)]
    assert figures["eval_accuracy"] == np.mean(correct)
    gap = np.mean(np.array(correct)[easy]) - np.mean(np.array(correct)[~easy])
    assert figures["eval_easy_hard_gap"] == pytest.approx(gap)
    # The loss of labeled items takes the place of Trainer's, which is NaN in batches without any.
    log_shares = [
        row[label] - np.log(np.exp(row).sum())
        for row, label in zip(rows["original"], labels, strict=True)
    ]
    assert figures["eval_loss"] == pytest.approx(-np.mean(log_shares), abs=1e-5)


@pytest.mark.parametrize("probe", WITHOUT_CORRECT)
def test_a_perturbed_set_goes_through_a_trainer_as_it_is(folder, probe):
    perturbed = perturb(ITEMS, probe)
    assert set(perturbed["label"]) == {-1}

    figures = make_trainer(folder, perturbed, compute_metrics("prior_bias")).evaluate()

    logits = read_alone(folder, perturbed)
    expected = rightreasons.load("prior_bias").compute(predictions=logits, scores="logits")
    assert figures["eval_prior_bias"] == pytest.approx(expected["prior_bias"], abs=1e-6)


def test_ragged_items_need_the_numbers_of_their_choices(folder):
    counts = [len(choices) for choices in RAGGED["choices"]]
    names = ("accuracy", "nll", "prior_bias")
    metrics = compute_metrics(*names, n_choices=counts)
    figures = make_trainer(folder, RAGGED, metrics).evaluate()

    logits = read_alone(folder, RAGGED)
    alone = compute_metrics(*names, n_choices=counts)
    padded = np.full((len(logits), 4), 7.0)
    for row, values in enumerate(logits):
        padded[row, : len(values)] = values
    expected = alone((padded, np.array(RAGGED["label"][:])))
    for name in names:
        assert figures[f"eval_{name}"] == pytest.approx(expected[name], abs=1e-6)


def test_the_collator_fills_up_with_the_first_choice():
    collator = MultipleChoiceCollator(tiny_tokenizer())

    batch = collator([RAGGED[2], {**ITEMS[1], "label": None}])

    assert batch["input_ids"].shape[:2] == (2, 4)
    assert batch["labels"].tolist() == [RAGGED[2]["label"], -100]
    rows = batch["input_ids"][1]
    assert (rows[2] == rows[0]).all()
    assert (rows[3] == rows[0]).all()
    assert not (rows[1] == rows[0]).all()


def test_tokenized_rows_are_accepted():
    tokenizer = tiny_tokenizer()
    item = ITEMS[0]
    tokenized = {**tokenizer([item["prompt"]] * 2, item["choices"]), "labels": item["label"]}

    batch = MultipleChoiceCollator(tokenizer)([tokenized])

    expected = MultipleChoiceCollator(tokenizer)([item])
    assert set(batch) == set(expected)
    for name, table in expected.items():
        assert (batch[name] == table).all()


@pytest.mark.parametrize("unlabeled_row", [0, 1])
def test_a_batch_with_only_some_labels_is_an_error(unlabeled_row):
    items = [dict(ITEMS[0]), dict(ITEMS[1])]
    del items[unlabeled_row]["label"]

    with pytest.raises(ValueError, match="or in none") as error:
        MultipleChoiceCollator(tiny_tokenizer())(items)

    assert repr(items[unlabeled_row]["id"]) in str(error.value)


def test_removed_columns_are_an_error_that_names_the_remedy():
    with pytest.raises(OptionError, match="Pass remove_unused_columns=False") as error:
        MultipleChoiceCollator(tiny_tokenizer())([{"label": 0}])

    assert error.value.option == ("remove_unused_columns",)


@pytest.mark.parametrize(
    ("names", "options", "option"),
    [
        (("choice_paralysis",), {}, "probes"),
        (("choice_paralysis",), {"probes": join_probes(ITEMS, ("no_question",))}, "probes"),
        (("easy_hard_gap",), {}, "easy"),
        (("shortcut_tradeoff",), {}, "cued"),
        (("dist_ce",), {}, "human_votes"),
        (("contrast_consistency",), {}, "groups"),
        (("behavioral_pass_rate",), {}, "suite"),
        (("behavioral_pass_rate",), {"suite": "checklist_sentiment"}, "suite"),
    ],
)
def test_missing_side_columns_are_refused_before_the_training(names, options, option):
    with pytest.raises((OptionError, TypeError)) as error:
        compute_metrics(*names, **options)

    assert error.value.option == (option,)


@pytest.mark.parametrize(
    ("names", "options", "option"),
    [
        (("easy_hard_gap",), {"easy": [True, False]}, "easy"),
        (("accuracy",), {"n_choices": [2, 2]}, "n_choices"),
        (("accuracy",), {"probes": join_probes(ITEMS, ("no_question",))}, "probes"),
    ],
)
def test_columns_of_another_evaluation_set_are_refused(names, options, option):
    metrics = compute_metrics(*names, **options)

    with pytest.raises(OptionError) as error:
        metrics((np.eye(3), np.arange(3)))

    assert error.value.option == (option,)


def test_a_label_that_is_no_choice_is_refused():
    with pytest.raises(ValueError, match="below 2"):
        compute_metrics("accuracy", n_choices=[2, 3])((np.eye(3)[:2], np.array([2, 1])))


def test_logits_that_a_trainer_filled_up_are_no_choices():
    # Trainer joins a batch of two choices with one of three by -100.
    logits = np.array([[1.0, 0.0, -100.0], [-300.0, -301.0, -302.0]])

    figures = compute_metrics("prior_bias")((logits, np.array([-100, -100])))

    rows = [[1.0, 0.0], [-300.0, -301.0, -302.0]]
    expected = rightreasons.load("prior_bias").compute(predictions=rows, scores="logits")
    assert figures == {"prior_bias": expected["prior_bias"]}


def test_a_failed_batch_leaves_nothing_behind():
    metrics = compute_metrics("accuracy")
    metrics((np.eye(2), np.array([1, 0])), compute_result=False)
    with pytest.raises(ValueError, match="one length"):
        metrics((np.eye(2), np.array([1])), compute_result=False)

    assert metrics((np.eye(2), np.arange(2))) == {"accuracy": 1.0}


def test_perturbed_items_of_other_items_are_refused():
    perturbed = perturb(datasets.Dataset.from_list(good_items(4, start=50)), "no_question")

    with pytest.raises(ValueError, match="none of them"):
        join_probes(ITEMS, {"no_question": perturbed})


# ---------------------------------------------------------------- Two processes

WORKER = """
import json, sys
from pathlib import Path
import transformers
from rightreasons.training import compute_metrics, join_probes
import test_probe_sets as tests

folder, out, is_batched = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "True"
sets = join_probes(tests.RAGGED)
metrics = compute_metrics("accuracy", "ece", "prior_bias", "choice_paralysis", probes=sets)
trainer = tests.make_trainer(folder, sets.dataset, metrics, batch_eval_metrics=is_batched)
assert trainer.args.world_size == 2
figures = {name: value for name, value in trainer.evaluate().items() if "_per_second" not in name}
(out / f"rank{trainer.args.process_index}.json").write_text(json.dumps(figures))
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_batched", [False, True])
def test_two_processes_have_the_figures_of_one(folder, tmp_path, is_batched):
    sys_path = str(Path(__file__).parent)
    launch_two(
        f"import sys; sys.path.insert(0, {sys_path!r})" + WORKER,
        tmp_path,
        folder,
        tmp_path,
        is_batched,
    )
    # 45 rows, in batches of four, are no multiple of two processes.
    sets = join_probes(RAGGED)
    metrics = compute_metrics("accuracy", "ece", "prior_bias", "choice_paralysis", probes=sets)
    figures = make_trainer(folder, sets.dataset, metrics).evaluate()

    names = [name for name in figures if name.endswith(("accuracy", "ece", "bias", "paralysis"))]
    assert len(names) == 6
    for rank in (0, 1):
        of_rank = json.loads((tmp_path / f"rank{rank}.json").read_text())
        for name in names:
            assert of_rank[name] == pytest.approx(figures[name], abs=1e-6)
