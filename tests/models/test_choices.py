"""Multiple-choice heads and causal language models have one interface."""

import json

import numpy as np
import pytest

from rightreasons.models.choices import find_model_kind, load_causal, load_chooser
from rightreasons.models.classes import choose
from rightreasons.models.loading import load_classifier, load_multiple_choice
from tiny_causal import chosen, save_tiny_causal

PROMPTS = ["the rain fell", "the rain fell", "", "what cause"]
CHOICES = [
    ["the glass broke", "sun"],
    ["sun", "the man fell wet", "the glass broke"],
    ["dry", "wet floor"],
    ["rain", "rain"],
]


@pytest.fixture(scope="module")
def causal_folder(tmp_path_factory):
    return save_tiny_causal(tmp_path_factory.mktemp("causal"))


def list_rows(scores):
    return [list(row) for row in scores.logits]


def test_heads_and_language_models_are_opened_by_one_function(choice_folder, causal_folder):
    head = load_chooser(choice_folder)
    causal = load_chooser(causal_folder, method="letters")

    assert head.label_names is None
    assert causal.label_names is None
    assert head.joint is False
    assert causal.joint is True


def test_a_head_has_the_scores_of_its_own_function(choice_folder):
    scores = choose(
        load_chooser(choice_folder), PROMPTS, CHOICES, labels=[0, 2, -1, 1], progress=False
    )

    assert scores.labels.tolist() == [0, 2, -1, 1]
    expected = load_multiple_choice(choice_folder).choose(PROMPTS, CHOICES, progress=False)
    for row, expected_row in zip(list_rows(scores), list_rows(expected), strict=True):
        assert row == pytest.approx(expected_row, abs=1e-5)


@pytest.mark.parametrize("method", ["mean", "sum", "unconditional", "letters"])
def test_a_causal_model_has_the_scores_of_its_own_function(causal_folder, method):
    chooser = load_chooser(causal_folder, method=method)

    scores = choose(chooser, PROMPTS, CHOICES, progress=False)

    expected = chosen(load_causal(causal_folder), PROMPTS, CHOICES, method=method, progress=False)
    for row, expected_row in zip(list_rows(scores), list_rows(expected), strict=True):
        assert row == pytest.approx(expected_row, abs=1e-4)


def test_stored_scores_are_read_again(choice_folder, tmp_path):
    head = load_chooser(choice_folder)

    computed = choose(head, PROMPTS, CHOICES, out=tmp_path / "out", progress=False)
    stored = choose(head, PROMPTS, CHOICES, out=tmp_path / "out", progress=False)

    assert np.array_equal(computed.logits.values, stored.logits.values)


def test_invalid_models_methods_and_choices_are_refused(
    choice_folder, causal_folder, classifier_folder, encoder_folder, tmp_path
):
    with pytest.raises(ValueError, match="no `method` of the multiple-choice model"):
        load_chooser(choice_folder, method="mean")
    with pytest.raises(ValueError, match="`method` to be one of"):
        load_chooser(causal_folder, method="mea")
    with pytest.raises(ValueError, match="is a classifier: use `predict`"):
        choose(load_classifier(classifier_folder), PROMPTS, CHOICES)
    with pytest.raises(TypeError, match="scorer from `load_chooser`"):
        choose("gpt2", PROMPTS, CHOICES)
    with pytest.raises(ValueError, match="language model"):
        load_chooser(classifier_folder)
    with pytest.raises(ValueError, match="but it is BertModel: fine-tune it"):
        load_chooser(encoder_folder)
    with pytest.raises(ValueError, match="the folder './nowhere' does not exist"):
        load_chooser("./nowhere")

    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="its configuration cannot be read"):
        load_chooser(tmp_path)

    head = load_chooser(choice_folder)
    with pytest.raises(ValueError, match="of `choices`"):
        choose(head, ["a", "b"], [["x", "y"], ["x"]])
    with pytest.raises(ValueError, match="one length"):
        choose(head, ["a"], CHOICES)


def test_a_configuration_may_name_one_architecture_without_a_list(classifier_folder, tmp_path):
    config = json.loads((classifier_folder / "config.json").read_text("utf-8"))

    for architecture, kind in (
        ("BertLMHeadModel", "causal"),
        ("BertForMultipleChoice", "choice"),
        ("BertModel", "BertModel"),
    ):
        content = config | {"architectures": architecture}
        (tmp_path / "config.json").write_text(json.dumps(content))
        assert find_model_kind(tmp_path) == kind
