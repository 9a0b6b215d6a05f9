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


def one_at_a_time(classifier, texts, pairs=None):
    rows = []
    with torch.no_grad():
        for index, text in enumerate(texts):
            inputs = classifier.tokenizer(
                text, None if pairs is None else pairs[index], return_tensors="pt", truncation=True
            )
            rows.append(classifier.model(**inputs).logits[0].double().numpy())
    return np.array(rows)


@pytest.mark.parametrize("options", [{}, {"batch_size": 5}, {"batch_size": 64, "max_tokens": 40}])
def test_batches_say_what_single_texts_say(classifier, options):
    texts, labels = tiny_texts(50)
    scores = predict(classifier, texts, labels=labels, progress=False, **options)
    assert scores.logits.dtype == np.float64
    assert scores.logits.shape == (50, 2)
    np.testing.assert_allclose(scores.logits, one_at_a_time(classifier, texts), atol=1e-5)
    assert scores.ids == tuple(map(str, range(50)))
    assert scores.labels.tolist() == labels
    assert scores.label_names == ("negative", "positive")
    assert scores.truncated == 0


def test_pairs_of_texts(classifier):
    texts, pairs = ["the film was good", "a"], ["what a plot", "the woman and the man"]
    scores = predict(classifier, texts, text_pairs=pairs, ids=["x", "y"], progress=False)
    np.testing.assert_allclose(scores.logits, one_at_a_time(classifier, texts, pairs), atol=1e-5)
    assert scores.ids == ("x", "y")
    assert scores.labels is None


def test_what_is_cut_is_counted(classifier):
    texts = ["good " * 40, "good film", "bad " * 31]
    assert predict(classifier, texts, progress=False).truncated == 2
    assert predict(classifier, texts, max_length=4, progress=False).truncated == 2
    assert predict(classifier, ["good film plot"], max_length=4, progress=False).truncated == 1


def test_a_gpu_has_its_next_batch_before_the_last_is_read(classifier, chooser, monkeypatch):
    """A stand-in for a GPU: the CPU, taken for a device with a queue. No real one was seen by this test."""

    def both():
        logits = predict(classifier, tiny_texts(40)[0], batch_size=8, progress=False).logits
        return np.concatenate(
            [logits.ravel(), chooser.choose(PROMPTS, CHOICES, batch_size=2).logits.values]
        )

    class Event:
        def record(self, stream):
            log.append("copy")

        def synchronize(self):
            log.append("wait")

    want, log = both(), []
    hooks = [
        each.model.register_forward_hook(lambda *_: log.append("model"))
        for each in (classifier, chooser)
    ]
    pinned = []
    monkeypatch.setattr("rightreasons.models.batching.QUEUES", "cpu")
    monkeypatch.setattr("torch.cuda.Event", Event)
    monkeypatch.setattr("torch.cuda.current_stream", lambda device: None)
    monkeypatch.setattr(
        torch.Tensor, "pin_memory", lambda tensor: pinned.append(tensor.shape) or tensor
    )
    np.testing.assert_array_equal(both(), want)
    for hook in hooks:
        hook.remove()
    # 5 batches of texts, 4 of choices: each result is queued behind its own batch, and awaited after the next one.
    assert "".join(each[0] for each in log) == "mc" + "mcw" * 4 + "w" + "mc" + "mcw" * 3 + "w"
    assert len(pinned) == 3 * (5 + 4)  # ids, types and mask of each batch


def test_the_model_is_as_it_was(classifier_folder):
    classifier = load_classifier(classifier_folder, device="cpu")
    classifier.model.train()
    before = fingerprint_model(classifier.model)
    tokenizer = fingerprint_tokenizer(classifier.tokenizer)
    predict(classifier, ["good film"], progress=False)
    assert classifier.model.training
    assert all(parameter.requires_grad for parameter in classifier.model.parameters())
    assert fingerprint_model(classifier.model) == before
    # A fast tokenizer remembers how the last call cut its texts; what it makes of texts is the same.
    assert fingerprint_tokenizer(classifier.tokenizer) == tokenizer


def test_choices_of_different_number(chooser):
    scores = chooser.choose(PROMPTS, CHOICES, labels=[0, 2, -1], batch_size=3, progress=False)
    assert isinstance(scores.logits, Ragged)
    assert scores.logits.lengths.tolist() == [2, 3, 2]
    for row, prompt, choices in zip(scores.logits, PROMPTS, CHOICES, strict=True):
        inputs = chooser.tokenizer(
            [prompt] * len(choices), choices, padding=True, return_tensors="pt"
        )
        with torch.no_grad():  # the model's own form: (1, choices, tokens)
            expected = (
                chooser.model(**{name: tensor[None] for name, tensor in inputs.items()})
                .logits[0]
                .numpy()
            )
        np.testing.assert_allclose(row, expected, atol=1e-5)
    assert scores.labels.tolist() == [0, 2, -1]
    assert scores.label_names is None


def test_choices_of_one_number_are_a_table(chooser):
    scores = chooser.choose(PROMPTS, [row[:2] for row in CHOICES], progress=False)
    assert scores.logits.shape == (3, 2)


def test_predictions_are_kept_and_opened_again(classifier, tmp_path, monkeypatch):
    texts, labels = tiny_texts(20)
    ids = [f"item-{index}" for index in range(20)]
    first = predict(classifier, texts, ids=ids, labels=labels, out=tmp_path / "out", progress=False)
    opened = load_scores(tmp_path / "out")
    assert opened.ids == first.ids
    assert opened.label_names == first.label_names
    np.testing.assert_array_equal(opened.labels, first.labels)
    np.testing.assert_array_equal(opened.logits, first.logits)
    monkeypatch.setattr(classifier.model, "forward", None)  # a second run asks the model nothing
    again = predict(classifier, texts, ids=ids, labels=labels, out=tmp_path / "out", progress=False)
    np.testing.assert_array_equal(again.logits, first.logits)


def test_choices_are_kept_and_opened_again(chooser, tmp_path):
    first = chooser.choose(PROMPTS, CHOICES, out=tmp_path, progress=False)
    opened = load_scores(tmp_path)
    np.testing.assert_array_equal(opened.logits.values, first.logits.values)
    np.testing.assert_array_equal(opened.logits.offsets, first.logits.offsets)


def test_predictions_of_something_else_are_set_aside(classifier, tmp_path):
    texts, _ = tiny_texts(6)
    first = predict(classifier, texts, out=tmp_path, progress=False)
    with pytest.warns(SetAsideWarning, match="differs in texts"):
        other = predict(classifier, [*texts[:-1], "the sun"], out=tmp_path, progress=False)
    assert other.logits[5].tolist() != first.logits[5].tolist()
    with pytest.warns(SetAsideWarning, match="differs in ids and texts"):
        predict(classifier, texts, ids="abcdef", out=tmp_path, progress=False)
    changed = load_classifier(save_tiny_classifier(tmp_path / ".other", seed=1), device="cpu")
    with pytest.warns(SetAsideWarning, match="differs in ids and model"):
        assert (
            predict(changed, texts, out=tmp_path, progress=False).logits.tolist()
            != first.logits.tolist()
        )
    with pytest.warns(SetAsideWarning, match="differs in model"):
        assert (
            predict(classifier, texts, out=tmp_path, progress=False).logits.tolist()
            == first.logits.tolist()
        )


def test_items_that_fail_are_left_out(classifier_folder, tmp_path):
    broken = load_classifier(classifier_folder, device="cpu")
    texts = ["the film", "", "a good plot and more", "bad", "and"]
    ids, labels = "abcde", [0, 1, 1, 0, 1]
    with torch.no_grad():
        word = broken.tokenizer.convert_tokens_to_ids("and")
        broken.model.bert.embeddings.word_embeddings.weight[word] = float("nan")
    reasons = {
        "b": "Its text has no words.",
        "c": f"Expected finite logits, but {broken.name} gave NaN or infinity for item 'c'.",
        "e": f"Expected finite logits, but {broken.name} gave NaN or infinity for item 'e'.",
    }
    scores = predict(
        broken,
        texts,
        ids=ids,
        labels=labels,
        batch_size=3,
        progress=False,
        out=tmp_path,
        fail_fast=False,
    )
    assert (scores.ids, scores.labels.tolist(), scores.failures) == (("a", "d"), [0, 0], reasons)
    alone = predict(broken, ["the film", "bad"], progress=False).logits
    np.testing.assert_allclose(scores.logits, alone, atol=1e-6)
    stored = load_scores(tmp_path)
    assert (stored.ids, stored.failures) == (scores.ids, reasons)
    assert stored.logits.tolist() == scores.logits.tolist()


def test_an_item_without_one_of_its_choices_is_left_out(choice_folder):
    broken = load_multiple_choice(choice_folder, device="cpu")
    with torch.no_grad():
        word = broken.tokenizer.convert_tokens_to_ids("and")
        broken.model.bert.embeddings.word_embeddings.weight[word] = float("nan")
    choices = [["good", "bad", "it"], ["and", "but"], ["film", "plot"]]
    scores = broken.choose(
        ["one", "two", "three"], choices, labels=[2, 0, 1], progress=False, fail_fast=False
    )
    assert (scores.ids, scores.labels.tolist(), [len(row) for row in scores.logits]) == (
        ("0", "2"),
        [2, 1],
        [3, 2],
    )
    assert list(scores.failures) == ["1"]
    assert "for item '1 (choice 0)'" in scores.failures["1"]


def test_an_unfinished_run_is_not_opened(classifier, tmp_path):
    texts, _ = tiny_texts(6)
    predict(classifier, texts, out=tmp_path, progress=False)
    next(tmp_path.glob("chunk-*.npz")).unlink()
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
def test_no_flipped_bit_of_the_items_is_served(classifier, tmp_path):
    texts, labels = tiny_texts(6)
    predict(classifier, texts, labels=labels, ids="abcdef", out=tmp_path, progress=False)
    whole, right = (tmp_path / "items.json").read_bytes(), load_scores(tmp_path)
    refused = 0
    for place in range(len(whole)):
        (tmp_path / "items.json").write_bytes(
            whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :]
        )
        try:
            read = load_scores(tmp_path)
        except ValueError:
            refused += 1
        else:
            assert (read.ids, read.labels.tolist(), read.label_names) == (
                right.ids,
                labels,
                right.label_names,
            )
    assert refused > 0.8 * len(whole)


def test_a_logit_that_is_no_number_names_its_item(classifier_folder):
    classifier = load_classifier(classifier_folder, device="cpu")
    with torch.no_grad():
        word = classifier.tokenizer.convert_tokens_to_ids("rain")
        classifier.model.bert.embeddings.word_embeddings.weight[word] = float("nan")
    texts = ["good film", "the rain fell", "the sun"]
    with pytest.raises(ValueError, match="gave NaN or infinity for item 'b'"):
        predict(classifier, texts, ids=["a", "b", "c"], progress=False)


@pytest.mark.parametrize(
    ("texts", "options", "error", "match"),
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
def test_bad_input_gets_its_sentence(classifier, texts, options, error, match):
    with pytest.raises(error, match=match):
        predict(classifier, texts, progress=False, **options)


def test_bad_choices_get_their_sentence(classifier, chooser):
    with pytest.raises(ValueError, match="of `choices`"):
        chooser.choose(["a", "b"], [["x", "y"], ["z"]], progress=False)
    with pytest.raises(ValueError, match="between -1 and 2, but item 1 is 3"):
        chooser.choose(PROMPTS, CHOICES, labels=[0, 3, 0], progress=False)
    with pytest.raises(ValueError, match="use `choose`"):
        predict(chooser, ["a"])
    with pytest.raises(ValueError, match="use `predict`"):
        classifier.choose(["a"], [["x", "y"]])


def test_a_tokenizer_of_another_model_is_said(classifier_folder):
    classifier = load_classifier(classifier_folder, device="cpu")
    classifier.tokenizer.add_tokens(["unheard"])
    with pytest.raises(ValueError, match="tokenizer and model do not belong together"):
        predict(classifier, ["the unheard film"], progress=False)


WORKER = """
import sys
import numpy as np
import torch
from tiny_models import tiny_texts
from rightreasons.models.loading import load_classifier, load_multiple_choice
from rightreasons.models.classes import predict
from rightreasons.models.runs.processes import processes

classifier_folder, choice_folder, out, broken = sys.argv[1:]
rank = processes().rank
assert processes().count == 2
torch.set_num_threads(1)
classifier = load_classifier(classifier_folder)
texts, labels = tiny_texts(50)
predict(classifier, texts, progress=False)  # with it comes the trial of padding, which every process makes
asked = []
forward = classifier.model.forward
classifier.model.forward = lambda **inputs: asked.append(len(inputs["input_ids"])) or forward(**inputs)
scores = predict(classifier, texts, labels=labels, batch_size=7, out=out + "/scores", progress=False)
assert 0 < sum(asked) < 50, asked
kept = predict(classifier, texts, labels=labels, batch_size=7, out=out + "/scores", progress=False)
chooser = load_multiple_choice(choice_folder)
choices = chooser.choose(["the man", "rain"], [["fell", "broke"], ["wet", "dry", "so"]], progress=False)
others = predict(classifier, texts[:5], out=out + "/other", progress=False).logits
few = predict(classifier, texts[:5], out=out + "/scores", progress=False).logits
arrays = {"few": few, "others": others, "scores": scores.logits, "kept": kept.logits}
np.savez(f"{out}/rank{rank}.npz", choices=choices.logits.values, **arrays)
try:
    predict(load_classifier(broken), texts, batch_size=7, progress=False)
except ValueError as error:
    print(f"rank {rank}: {error}")
torch.distributed.destroy_process_group()
"""


@pytest.mark.slow
def test_two_processes_give_the_answer_of_one(classifier_folder, choice_folder, tmp_path):
    broken = load_classifier(classifier_folder, device="cpu")
    with (
        torch.no_grad()
    ):  # one word is NaN, and only the longest text has it, so that one process alone meets it
        word = broken.tokenizer.convert_tokens_to_ids("and")
        broken.model.bert.embeddings.word_embeddings.weight[word] = float("nan")
    for part in (broken.model, broken.tokenizer):
        part.save_pretrained(tmp_path / "broken")
    printed = launch_two(
        WORKER, tmp_path, classifier_folder, choice_folder, tmp_path, tmp_path / "broken"
    )
    texts, labels = tiny_texts(50)
    one = predict(
        load_classifier(classifier_folder, device="cpu"),
        texts,
        labels=labels,
        batch_size=7,
        progress=False,
    )
    for rank in (0, 1):
        arrays = np.load(tmp_path / f"rank{rank}.npz")
        np.testing.assert_allclose(arrays["scores"], one.logits, atol=1e-6)
        np.testing.assert_array_equal(arrays["kept"], arrays["scores"])
        assert len(arrays["choices"]) == 5
        assert f"rank {rank}: Expected finite logits" in printed
        np.testing.assert_allclose(arrays["few"], arrays["others"], atol=1e-6)
    assert len(load_scores(tmp_path / "scores")) == 5


def test_an_unknown_keyword_is_an_error(classifier):
    with pytest.raises(TypeError, match="unexpected keyword argument 'batchsize'"):
        predict(classifier, ["a good film"], batchsize=2, progress=False)
