"""Items as a model reads them: their sequences, labels and batches, and the frame that computes over them."""

import numpy as np
import pytest
import torch

from rightreasons.core.errors import SetAsideWarning
from rightreasons.models.classes import predict
from rightreasons.models.gradients.inputs import merge_pieces
from rightreasons.models.items import Items
from rightreasons.models.running import Store
from tiny_encoders import TEXTS, tiny_encoder

TEXTS = list(TEXTS)
PROMPTS = ["the glass broke", "what", "the rain", ""]
CHOICES = [["the man fell", "fine"], ["a", "the film", "good story"], ["was wet", "was dry"], ["so", "bad", "poor"]]


@pytest.fixture(scope="module")
def bert():
    return tiny_encoder("bert")


@pytest.fixture(scope="module")
def chooser():
    return tiny_encoder("bert", n_labels=None)


def input_norms(items, **options):
    """A whole gradient-free method in the frame: the summed squares of the ids that the model receives."""

    def compute(inputs, batch):
        real = inputs["input_ids"] * inputs["attention_mask"]
        return {"sum": (real.flatten(1) ** 2).sum(dim=1).numpy(), "shape": np.full(len(batch), real.dim())}

    return items.run("norms", compute, progress=False, **options)


def test_an_item_gets_its_own_row_whatever_its_batch(chooser):
    items = Items.of(chooser, PROMPTS, choices=CHOICES)
    expected = [
        sum(token**2 for choice in row for token in chooser.tokenizer(prompt, choice)["input_ids"])
        for prompt, row in zip(PROMPTS, CHOICES, strict=True)
    ]
    for batch_size in (1, 2, 9):
        columns = input_norms(items, batch_size=batch_size)
        assert columns.array("sum").tolist() == expected
        assert columns.array("shape").tolist() == [3] * 4  # (n, C, T): the choices of an item are read together


def test_sequences_are_items_of_their_own(chooser, bert):
    items = Items.of(chooser, PROMPTS, choices=CHOICES, ids="abcd")
    pairs = items.sequences()
    assert pairs.ids[:3] == ("a (choice 0)", "a (choice 1)", "b (choice 0)")
    assert len(pairs) == len(set(pairs.ids)) == 10
    sums = input_norms(pairs).array("sum")
    np.testing.assert_array_equal(np.add.reduceat(sums, items.offsets[:-1]), input_norms(items).array("sum"))
    texts = Items.of(bert, TEXTS)
    assert texts.sequences().ids == texts.ids


def test_batches_hold_one_number_of_sequences(chooser):
    items = Items.of(chooser, PROMPTS, choices=CHOICES)
    assert sorted(map(sorted, (batch.tolist() for batch in items.batches(2)))) == [[0, 2], [1, 3]]
    # Padded, items 0 and 2 have 2 items x 2 choices x 9 tokens = 36, items 1 and 3 have 2 x 3 x 6 = 36.
    assert [len(batch) for batch in items.batches(9, 36)] == [2, 2]
    assert [len(batch) for batch in items.batches(9, 35)] == [1, 1, 1, 1]


def test_what_a_run_depends_on_is_in_its_folder(bert, tmp_path):
    items = Items.of(bert, TEXTS)
    options = {"out": tmp_path / "run", "depends": {"options": {"power": 2}}}
    first = input_norms(items, notes={"about.json": ["x"]}, **options)
    assert Store.open(tmp_path / "run").read_json("about.json") == ["x"]
    np.testing.assert_array_equal(input_norms(items, **options)["sum"], first["sum"])
    for change, what in (
        (lambda: input_norms(items, out=tmp_path / "run", depends={"options": {"power": 3}}), "options"),
        (lambda: input_norms(Items.of(bert, TEXTS, ids="abcdef"), **options), "ids"),
        (lambda: input_norms(Items.of(bert, TEXTS, max_length=5), **options), "texts"),
        (lambda: input_norms(Items.of(tiny_encoder("bert", seed=1), TEXTS), **options), "model"),
        (lambda: predict(bert, TEXTS, out=tmp_path / "run", progress=False), "kind"),
    ):
        with pytest.warns(SetAsideWarning, match=f"differs in .*{what}"):
            change()


def test_choices_that_are_grouped_otherwise_are_other_items(chooser, tmp_path):
    input_norms(Items.of(chooser, ["a", "a"], choices=[["x", "y"], ["x", "y", "x"]]), out=tmp_path)
    with pytest.warns(SetAsideWarning, match="differs in texts"):
        input_norms(Items.of(chooser, ["a", "a"], choices=[["x", "y", "x"], ["y", "x"]]), out=tmp_path)


def test_the_first_item_that_is_not_finite_is_named(bert):
    items = Items.of(bert, TEXTS, ids="abcdef")
    items.check_finite(np.array([True, True]), np.array([4, 1]))
    with pytest.raises(ValueError, match="Expected finite norms, but bert gave NaN or infinity for item 'b'"):
        items.check_finite(np.array([False, True, False]), np.array([4, 2, 1]), "norms")


def test_labels_are_classes_or_choices(bert, chooser):
    assert Items.of(bert, TEXTS).check_labels(None) is None
    items = Items.of(chooser, PROMPTS, choices=CHOICES)
    assert items.check_labels([1, 2, -1, 0]).tolist() == [1, 2, -1, 0]
    with pytest.raises(ValueError, match="between -1 and 1, but item 2 is 2"):
        items.check_labels([1, 2, 2, 0])
    with pytest.raises(ValueError, match="between 0 and 1, but item 2 is -1"):
        items.check_labels([1, 2, -1, 0], minimum=0)


def test_the_places_of_tokens(bert):
    items = Items.of(bert, ["the film", "was good!"], text_pairs=["a plot", ""])
    rows = zip(items.encoded.row, items.places.part, items.places.start, items.places.end, strict=True)
    words = [(row, (items.first, items.second)[part][row][start:end]) for row, part, start, end in rows if start < end]
    assert words == [(0, "the"), (0, "film"), (0, "a"), (0, "plot"), (1, "was"), (1, "good"), (1, "!")]


def test_tokens_know_their_item_choice_and_part(chooser):
    items = Items.of(chooser, PROMPTS[1:], choices=CHOICES[1:])
    scores = np.arange(items.encoded.offsets[-1], dtype=np.float64)
    for unit in ("wordpiece", "word"):
        tokens = merge_pieces(items, scores, unit=unit, merge="sum")
        assert tokens.tokens[2] == ("so", "bad", "poor")
        assert tokens.choices.tolist() == [0, 0, 1, 1, 1, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 2]
        assert tokens.parts.tolist() == [0, 1, 0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1]
        # "what a" is [CLS] what [SEP] a [SEP]: tokens 1 and 3; then 5 tokens before "what the film".
        assert tokens.scores[0].tolist() == [1, 3, 6, 8, 9, 12, 14, 15]


def test_an_item_is_truncated_where_one_of_its_choices_is(chooser):
    items = Items.of(chooser, PROMPTS[:3], choices=CHOICES[:3], max_length=8)
    # [CLS], [SEP] and [SEP] leave room for five tokens; "the glass broke" with "the man fell" has six.
    assert items.encoded.truncated.tolist() == [True, False, False, False, False, False, False]
    assert items.truncated.tolist() == [True, False, False]


def test_a_model_is_frozen_during_a_run(bert):
    def compute(inputs, batch):
        assert not bert.model.training
        return {"gradients": np.array([parameter.requires_grad for parameter in bert.model.parameters()])[: len(batch)]}

    bert.model.train()
    columns = Items.of(bert, TEXTS).run("frozen", compute, batch_size=2, progress=False)
    assert not columns.array("gradients").any()
    assert bert.model.training
    bert.model.eval()
    with pytest.raises(TypeError, match="'gradients' to have rows of their own lengths"):
        columns.ragged("gradients")
    assert torch.is_grad_enabled()
