"""One interface over multiple-choice heads and causal language models."""

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


def rows(scores):
    return [list(row) for row in scores.logits]


def test_opens_each_as_what_it_is(choice_folder, causal_folder):
    head, causal = load_chooser(choice_folder), load_chooser(causal_folder, method="letters")
    assert head.label_names is None
    assert causal.label_names is None
    assert (head.joint, causal.joint) == (False, True)


def test_a_head_scores_as_it_does_by_itself(choice_folder):
    head = load_chooser(choice_folder)
    want = rows(load_multiple_choice(choice_folder).choose(PROMPTS, CHOICES, progress=False))
    scores = choose(head, PROMPTS, CHOICES, labels=[0, 2, -1, 1], progress=False)
    assert scores.labels.tolist() == [0, 2, -1, 1]
    for row, expected in zip(rows(scores), want, strict=True):
        assert row == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("method", ["mean", "sum", "unconditional", "letters"])
def test_a_causal_model_scores_as_it_does_by_itself(causal_folder, method):
    model = load_causal(causal_folder)
    want = rows(chosen(model, PROMPTS, CHOICES, method=method, progress=False))
    scores = rows(
        choose(load_chooser(causal_folder, method=method), PROMPTS, CHOICES, progress=False)
    )
    for row, expected in zip(scores, want, strict=True):
        assert row == pytest.approx(expected, abs=1e-4)


def test_goes_on_from_its_folder(choice_folder, tmp_path):
    head = load_chooser(choice_folder)
    first = choose(head, PROMPTS, CHOICES, out=tmp_path / "out", progress=False)
    again = choose(head, PROMPTS, CHOICES, out=tmp_path / "out", progress=False)
    assert np.array_equal(first.logits.values, again.logits.values)


def test_bad_input(choice_folder, causal_folder, classifier_folder, encoder_folder, tmp_path):
    head = load_chooser(choice_folder)
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
    with pytest.raises(ValueError, match="of `choices`"):
        choose(head, ["a", "b"], [["x", "y"], ["x"]])
    with pytest.raises(ValueError, match="one length"):
        choose(head, ["a"], CHOICES)


def test_one_architecture_may_be_a_text(classifier_folder, tmp_path):
    config = json.loads((classifier_folder / "config.json").read_text("utf-8"))
    for built, kind in (
        ("BertLMHeadModel", "causal"),
        ("BertForMultipleChoice", "choice"),
        ("BertModel", "BertModel"),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config | {"architectures": built}))
        assert find_model_kind(tmp_path) == kind
