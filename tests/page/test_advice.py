"""The commands that advice ends in."""

import shlex
from types import SimpleNamespace

import pytest

from rightreasons.io.options import AuditOptions
from rightreasons.page.advice import ask, debias, mirror, repair
from rightreasons.page.prose import action

COMMAND = (
    "rightreasons audit my-model 'my items.jsonl' --limit 50 --after old-report --style letters"
)


def make_context(command=COMMAND, stored=None):
    return SimpleNamespace(command=command, repair_command="", stored=stored)


def parse(item):
    """The words of the command in an item of advice, as the page takes it apart."""
    return shlex.split(action(item).command)


def test_a_correction_takes_the_model_the_data_and_the_options_of_the_audit():
    words = parse(debias(make_context(), "Correct the prior."))
    assert words == [
        "rightreasons", "debias", "my-model", "my items.jsonl", "--limit", "50", "--style", "letters",
    ]  # fmt: skip


def test_a_worksheet_is_of_the_audited_items():
    settings = AuditOptions(data_dir="my data", choices_column="a,b", n_resamples=50)
    context = make_context()
    context.settings = settings
    context.dataset_name = "my items.jsonl"
    assert parse(mirror(context, "Balance the cues."))[4:] == [
        "my items.jsonl", "--choices-column", "a,b", "--data-dir", "my data", "--out", "to-mirror.csv",
    ]  # fmt: skip
    assert parse(mirror(make_context(command=""), "Balance the cues."))[4] == "DATA"


def test_all_items_are_asked_without_the_limit():
    words = shlex.split(ask(make_context(), "cues", all_items=True))
    assert "--limit" not in words
    assert words[-2:] == ["--questions", "cues"]


@pytest.mark.parametrize(("train", "file"), [("reviews.csv", "reviews.csv"), (None, "train.csv")])
def test_a_repair_edits_the_training_texts_of_the_audit(train, file):
    context = make_context()
    context.settings = AuditOptions(train=train)

    words = parse(repair(context, "my report", ["copper", "marble"], "Repair it."))

    assert words == [
        "rightreasons", "repair", "my report", "--train", file, "--not-reasons", "copper,marble",
    ]  # fmt: skip


def test_a_model_that_a_command_can_make_again_is_repaired_by_a_command():
    context = make_context(command="")
    call = action(repair(context, "my report", ["copper"], "Repair it.")).command
    context.repair_command = "rightreasons demo --repair"

    assert call.startswith("rightreasons.repair('my report'")
    assert (
        action(repair(context, "my report", ["copper"], "Repair it.")).command
        == context.repair_command
    )
