"""Classifiers and multiple-choice models score batches as single items, and store their scores."""

import numpy as np
import pytest
import torch

from launching import launch_two
from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import SetAsideWarning
from rightreasons.models.classes import load_scores, predict
from rightreasons.models.fingerprints import fingerprint_model, fingerprint_tokenizer
from rightreasons.models.loading import load_classifier, load_multiple_choice
from tiny_models import save_tiny_classifier, tiny_texts

PROMPTS = ["the man fell what", "the glass broke because", "rain fell so"]
CHOICES = [
    ["the floor was wet", "the sun was fine"],
    ["the man fell", "rain", "the floor was dry and dull"],
    ["wet", "dry"],
]


@pytest.fixture(scope="module")
def classifier(classifier_folder):
    return load_classifier(classifier_folder, device="cpu")


@pytest.fixture(scope="module")
def chooser(choice_folder):
    return load_multiple_choice(choice_folder, device="cpu")


@torch.no_grad()
def predict_singly(classifier, texts, pairs=None):
    """Return the logits of each text, one text at a time."""
    rows = []
    for index, text in enumerate(texts):
        pair = None if pairs is None else pairs[index]
        inputs = classifier.tokenizer(text, pair, return_tensors="pt", truncation=True)
        rows.append(classifier.model(**inputs).logits[0].double().numpy())
    return np.array(rows)


@torch.no_grad()
def break_word(scorer, word):
    """Give a word an embedding that is not a number."""
    token = scorer.tokenizer.convert_tokens_to_ids(word)
    scorer.model.bert.embeddings.word_embeddings.weight[token] = float("nan")


@pytest.mark.parametrize("options", [{}, {"batch_size": 5}, {"batch_size": 64, "max_tokens": 40}])
def test_batches_have_the_logits_of_single_texts(classifier, options):
    texts, labels = tiny_texts(50)

    scores = predict(classifier, texts, labels=labels, progress=False, **options)

    assert scores.logits.dtype == np.float64
    assert scores.logits.shape == (50, 2)
    np.testing.assert_allclose(scores.logits, predict_singly(classifier, texts), atol=1e-5)
    assert scores.ids == tuple(map(str, range(50)))
    assert scores.labels.tolist() == labels
    assert scores.label_names == ("negative", "positive")
    assert scores.truncated == 0


def test_pairs_of_texts_have_the_logits_of_single_pairs(classifier):
    texts = ["the film was good", "a"]
    pairs = ["what a plot", "the woman and the man"]

    scores = predict(classifier, texts, text_pairs=pairs, ids=["x", "y"], progress=False)

    np.testing.assert_allclose(scores.logits, predict_singly(classifier, texts, pairs), atol=1e-5)
    assert scores.ids == ("x", "y")
    assert scores.labels is None


def test_truncated_texts_are_counted(classifier):
    # Of 32 tokens, two are special.
    texts = ["good " * 40, "good film", "bad " * 31]

    assert predict(classifier, texts, progress=False).truncated == 2
    assert predict(classifier, texts, max_length=4, progress=False).truncated == 2
    assert predict(classifier, ["good film plot"], max_length=4, progress=False).truncated == 1


def test_a_gpu_has_its_next_batch_before_the_previous_one_is_read(classifier, chooser, monkeypatch):
    """A stand-in for a GPU: the CPU, taken for a device with a queue. No real one was seen by this test."""
    texts, _ = tiny_texts(40)
    steps = []
    pinned_shapes = []

    class Event:
        def record(self, stream):
            steps.append("copy")

        def synchronize(self):
            steps.append("wait")

    def compute_logits():
        logits = predict(classifier, texts, batch_size=8, progress=False).logits
        choice_logits = chooser.choose(PROMPTS, CHOICES, batch_size=2).logits.values
        return np.concatenate([logits.ravel(), choice_logits])

    def pin(tensor):
        pinned_shapes.append(tensor.shape)
        return tensor

    def record_model(*_):
        steps.append("model")

    expected = compute_logits()
    hooks = [scorer.model.register_forward_hook(record_model) for scorer in (classifier, chooser)]
    monkeypatch.setattr("rightreasons.models.batching.QUEUES", "cpu")
    monkeypatch.setattr("torch.cuda.Event", Event)
    monkeypatch.setattr("torch.cuda.current_stream", lambda device: None)
    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)

    logits = compute_logits()

    for hook in hooks:
        hook.remove()
    np.testing.assert_array_equal(logits, expected)
    # 5 batches of texts, 4 of choices: each result is queued behind its own batch, and awaited
    # after the next one.
    queued = ["model", "copy"]
    awaited = ["model", "copy", "wait"]
    assert steps == queued + awaited * 4 + ["wait"] + queued + awaited * 3 + ["wait"]
    # Ids, types and mask of each batch.
    assert len(pinned_shapes) == 3 * (5 + 4)


def test_the_model_is_unchanged(classifier_folder):
    classifier = load_classifier(classifier_folder, device="cpu")
    classifier.model.train()
    model_fingerprint = fingerprint_model(classifier.model)
    tokenizer_fingerprint = fingerprint_tokenizer(classifier.tokenizer)

    predict(classifier, ["good film"], progress=False)

    assert classifier.model.training
    assert all(parameter.requires_grad for parameter in classifier.model.parameters())
    assert fingerprint_model(classifier.model) == model_fingerprint
    # A fast tokenizer remembers how the last call truncated its texts; its tokens are the same.
    assert fingerprint_tokenizer(classifier.tokenizer) == tokenizer_fingerprint


def test_items_may_have_different_numbers_of_choices(chooser):
    scores = chooser.choose(PROMPTS, CHOICES, labels=[0, 2, -1], batch_size=3, progress=False)

    assert isinstance(scores.logits, Ragged)
    assert scores.logits.lengths.tolist() == [2, 3, 2]
    for row, prompt, choices in zip(scores.logits, PROMPTS, CHOICES, strict=True):
        prompts = [prompt] * len(choices)
        inputs = chooser.tokenizer(prompts, choices, padding=True, return_tensors="pt")
        # The model's own form: (1, choices, tokens)
        inputs = {name: tensor[None] for name, tensor in inputs.items()}
        with torch.no_grad():
            expected = chooser.model(**inputs).logits[0].numpy()
        np.testing.assert_allclose(row, expected, atol=1e-5)
    assert scores.labels.tolist() == [0, 2, -1]
    assert scores.label_names is None


def test_equal_numbers_of_choices_give_a_table(chooser):
    scores = chooser.choose(PROMPTS, [row[:2] for row in CHOICES], progress=False)

    assert scores.logits.shape == (3, 2)


def test_stored_predictions_are_read_again(classifier, tmp_path, monkeypatch):
    texts, labels = tiny_texts(20)
    ids = [f"item-{index}" for index in range(20)]
    options = {"ids": ids, "labels": labels, "out": tmp_path / "out", "progress": False}

    scores = predict(classifier, texts, **options)

    stored = load_scores(tmp_path / "out")
    assert stored.ids == scores.ids
    assert stored.label_names == scores.label_names
    np.testing.assert_array_equal(stored.labels, scores.labels)
    np.testing.assert_array_equal(stored.logits, scores.logits)

    # A second run does not call the model.
    monkeypatch.setattr(classifier.model, "forward", None)
    repeated = predict(classifier, texts, **options)
    np.testing.assert_array_equal(repeated.logits, scores.logits)


def test_stored_scores_of_choices_are_read_again(chooser, tmp_path):
    scores = chooser.choose(PROMPTS, CHOICES, out=tmp_path, progress=False)

    stored = load_scores(tmp_path)

    np.testing.assert_array_equal(stored.logits.values, scores.logits.values)
    np.testing.assert_array_equal(stored.logits.offsets, scores.logits.offsets)


def test_predictions_of_other_items_or_models_are_set_aside(classifier, tmp_path):
    texts, _ = tiny_texts(6)
    scores = predict(classifier, texts, out=tmp_path, progress=False)

    with pytest.warns(SetAsideWarning, match="differs in texts"):
        changed = predict(classifier, [*texts[:-1], "the sun"], out=tmp_path, progress=False)
    assert changed.logits[5].tolist() != scores.logits[5].tolist()

    with pytest.warns(SetAsideWarning, match="differs in ids and texts"):
        predict(classifier, texts, ids="abcdef", out=tmp_path, progress=False)

    other_folder = save_tiny_classifier(tmp_path / ".other", seed=1)
    other_classifier = load_classifier(other_folder, device="cpu")
    with pytest.warns(SetAsideWarning, match="differs in ids and model"):
        other_scores = predict(other_classifier, texts, out=tmp_path, progress=False)
    assert other_scores.logits.tolist() != scores.logits.tolist()

    with pytest.warns(SetAsideWarning, match="differs in model"):
        repeated = predict(classifier, texts, out=tmp_path, progress=False)
    assert repeated.logits.tolist() == scores.logits.tolist()


def test_failed_items_are_excluded(classifier_folder, tmp_path):
    classifier = load_classifier(classifier_folder, device="cpu")
    break_word(classifier, "and")
    # The second text is empty, and the third and the last have the broken word.
    texts = ["the film", "", "a good plot and more", "bad", "and"]

    scores = predict(
        classifier,
        texts,
        ids="abcde",
        labels=[0, 1, 1, 0, 1],
        batch_size=3,
        progress=False,
        out=tmp_path,
        fail_fast=False,
    )

    name = classifier.name
    reasons = {
        "b": "Its text has no words.",
        "c": f"Expected finite logits, but {name} gave NaN or infinity for item 'c'.",
        "e": f"Expected finite logits, but {name} gave NaN or infinity for item 'e'.",
    }
    assert scores.ids == ("a", "d")
    assert scores.labels.tolist() == [0, 0]
    assert scores.failures == reasons
    expected = predict(classifier, ["the film", "bad"], progress=False).logits
    np.testing.assert_allclose(scores.logits, expected, atol=1e-6)
    stored = load_scores(tmp_path)
    assert stored.ids == scores.ids
    assert stored.failures == reasons
    assert stored.logits.tolist() == scores.logits.tolist()


def test_an_item_with_a_failed_choice_is_excluded(choice_folder):
    chooser = load_multiple_choice(choice_folder, device="cpu")
    break_word(chooser, "and")
    choices = [["good", "bad", "it"], ["and", "but"], ["film", "plot"]]

    scores = chooser.choose(
        ["one", "two", "three"], choices, labels=[2, 0, 1], progress=False, fail_fast=False
    )

    assert scores.ids == ("0", "2")
    assert scores.labels.tolist() == [2, 1]
    assert [len(row) for row in scores.logits] == [3, 2]
    assert list(scores.failures) == ["1"]
    assert "for item '1 (choice 0)'" in scores.failures["1"]


def test_an_incomplete_run_is_not_opened(classifier, tmp_path):
    texts, _ = tiny_texts(6)
    predict(classifier, texts, out=tmp_path, progress=False)
    (chunk,) = tmp_path.glob("chunk-*.npz")
    chunk.unlink()
    with pytest.raises(ValueError, match="to contain 6 predictions, but got 0"):
        load_scores(tmp_path)

    (tmp_path / "items.json").write_text("")
    with (
        pytest.warns(SetAsideWarning, match=r"items\.json is computed again"),
        pytest.raises(ValueError, match=r"items\.json"),
    ):
        load_scores(tmp_path)

    assert len(predict(classifier, texts, out=tmp_path, progress=False)) == 6
    assert len(load_scores(tmp_path)) == 6


@pytest.mark.filterwarnings("ignore::rightreasons.core.errors.SetAsideWarning")
def test_no_flipped_bit_of_the_items_is_used(classifier, tmp_path):
    texts, labels = tiny_texts(6)
    predict(classifier, texts, labels=labels, ids="abcdef", out=tmp_path, progress=False)
    file = tmp_path / "items.json"
    content = file.read_bytes()
    expected = load_scores(tmp_path)

    n_refused = 0
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 4
        file.write_bytes(damaged)
        try:
            scores = load_scores(tmp_path)
        except ValueError:
            n_refused += 1
            continue
        assert scores.ids == expected.ids
        assert scores.labels.tolist() == labels
        assert scores.label_names == expected.label_names
    assert n_refused > 0.8 * len(content)


def test_the_error_of_a_logit_that_is_not_a_number_names_its_item(classifier_folder):
    classifier = load_classifier(classifier_folder, device="cpu")
    break_word(classifier, "rain")
    texts = ["good film", "the rain fell", "the sun"]

    with pytest.raises(ValueError, match="gave NaN or infinity for item 'b'"):
        predict(classifier, texts, ids=["a", "b", "c"], progress=False)


@pytest.mark.parametrize(
    ("texts", "options", "error", "message"),
    [
        ([], {}, ValueError, "at least one text in `texts`"),
        (["good", " "], {}, ValueError, "item 1 is empty"),
        (["good", 3], {}, TypeError, "item 1 is 3"),
        ("good", {}, TypeError, "a sequence of texts"),
        (
            ["good"],
            {"text_pairs": ["a", "b"]},
            ValueError,
            "`texts`, `text_pairs` and `ids` of one length",
        ),
        (["good", "bad"], {"ids": ["a", "a"]}, ValueError, "'a' is repeated at item 1"),
        (["good", "bad"], {"ids": ["a"]}, ValueError, "`texts` and `ids` of one length"),
        (["good", "bad"], {"labels": [0]}, ValueError, "`texts` and `labels` of one length"),
        (["good"], {"labels": [2]}, ValueError, "between -1 and 1, but item 0 is 2"),
        (["good"], {"max_length": 33}, ValueError, "`max_length` to be at most 32"),
        (["good"], {"max_length": 1}, ValueError, "`max_length` to be at least 4"),
        (["good"], {"batch_size": 0}, ValueError, "`batch_size` to be at least 1"),
    ],
)
def test_invalid_texts_and_options_are_explained(classifier, texts, options, error, message):
    with pytest.raises(error, match=message):
        predict(classifier, texts, progress=False, **options)


def test_invalid_choices_are_explained(classifier, chooser):
    with pytest.raises(ValueError, match="of `choices`"):
        chooser.choose(["a", "b"], [["x", "y"], ["z"]], progress=False)
    with pytest.raises(ValueError, match="between -1 and 2, but item 1 is 3"):
        chooser.choose(PROMPTS, CHOICES, labels=[0, 3, 0], progress=False)
    with pytest.raises(ValueError, match="use `choose`"):
        predict(chooser, ["a"])
    with pytest.raises(ValueError, match="use `predict`"):
        classifier.choose(["a"], [["x", "y"]])


def test_a_tokenizer_of_another_model_is_an_error(classifier_folder):
    classifier = load_classifier(classifier_folder, device="cpu")
    classifier.tokenizer.add_tokens(["unheard"])

    with pytest.raises(ValueError, match="tokenizer and model do not belong together"):
        predict(classifier, ["the unheard film"], progress=False)


# A process of two: it predicts, repeats the run from its store, scores choices, and predicts five
# texts without and with the folder of the whole run.
WORKER = """
import sys
import numpy as np
import torch
from tiny_models import tiny_texts
from rightreasons.models.loading import load_classifier, load_multiple_choice
from rightreasons.models.classes import predict
from rightreasons.models.runs.processes import processes

classifier_folder, choice_folder, out, broken_folder = sys.argv[1:]
rank = processes().rank
assert processes().count == 2
torch.set_num_threads(1)
classifier = load_classifier(classifier_folder)
texts, labels = tiny_texts(50)
# The trial of padding, which every process makes.
predict(classifier, texts, progress=False)

sizes = []
forward = classifier.model.forward

def count_and_forward(**inputs):
    sizes.append(len(inputs["input_ids"]))
    return forward(**inputs)

classifier.model.forward = count_and_forward
options = {"labels": labels, "batch_size": 7, "out": out + "/scores", "progress": False}
scores = predict(classifier, texts, **options)
assert 0 < sum(sizes) < 50, sizes
stored = predict(classifier, texts, **options)

chooser = load_multiple_choice(choice_folder)
choices = chooser.choose(["the man", "rain"], [["fell", "broke"], ["wet", "dry", "so"]], progress=False)
fresh_five = predict(classifier, texts[:5], out=out + "/other", progress=False)
five = predict(classifier, texts[:5], out=out + "/scores", progress=False)
np.savez(
    f"{out}/rank{rank}.npz",
    scores=scores.logits,
    stored=stored.logits,
    choices=choices.logits.values,
    fresh_five=fresh_five.logits,
    five=five.logits,
)

try:
    predict(load_classifier(broken_folder), texts, batch_size=7, progress=False)
except ValueError as error:
    print(f"rank {rank}: {error}")
torch.distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_give_the_scores_of_one(classifier_folder, choice_folder, tmp_path):
    classifier = load_classifier(classifier_folder, device="cpu")
    # Only the longest text has this word, so that a single process fails.
    broken_classifier = load_classifier(classifier_folder, device="cpu")
    break_word(broken_classifier, "and")
    broken_folder = tmp_path / "broken"
    broken_classifier.model.save_pretrained(broken_folder)
    broken_classifier.tokenizer.save_pretrained(broken_folder)

    printed = launch_two(
        WORKER, tmp_path, classifier_folder, choice_folder, tmp_path, broken_folder
    )

    texts, labels = tiny_texts(50)
    expected = predict(classifier, texts, labels=labels, batch_size=7, progress=False)
    for rank in (0, 1):
        arrays = np.load(tmp_path / f"rank{rank}.npz")
        np.testing.assert_allclose(arrays["scores"], expected.logits, atol=1e-6)
        np.testing.assert_array_equal(arrays["stored"], arrays["scores"])
        assert len(arrays["choices"]) == 5
        assert f"rank {rank}: Expected finite logits" in printed
        np.testing.assert_allclose(arrays["five"], arrays["fresh_five"], atol=1e-6)
    # The run of five texts replaced the one of all.
    assert len(load_scores(tmp_path / "scores")) == 5


def test_an_unknown_argument_is_an_error(classifier):
    with pytest.raises(TypeError, match="unexpected keyword argument 'batchsize'"):
        predict(classifier, ["a good film"], batchsize=2, progress=False)
