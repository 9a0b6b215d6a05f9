"""Items as a model reads them: their tokens, labels and batches, and the runs that compute over them."""

import numpy as np
import pytest
import torch

from rightreasons.core.errors import SetAsideWarning
from rightreasons.models.classes import predict
from rightreasons.models.gradients.words import merge_pieces
from rightreasons.models.items import Items
from rightreasons.models.prompts import ChoiceItems
from rightreasons.models.running import Store
from tiny_encoders import TEXTS, tiny_encoder

TEXTS = list(TEXTS)
PROMPTS = ["the glass broke", "what", "the rain", ""]
CHOICES = [
    ["the man fell", "fine"],
    ["a", "the film", "good story"],
    ["was wet", "was dry"],
    ["so", "bad", "poor"],
]


@pytest.fixture(scope="module")
def bert():
    return tiny_encoder("bert")


@pytest.fixture(scope="module")
def chooser():
    return tiny_encoder("bert", n_labels=None)


def run_norms(items, **options):
    """Run a whole method without gradients: the summed squares of the ids that the model receives."""

    def compute(inputs, batch):
        ids = inputs["input_ids"] * inputs["attention_mask"]
        norms = (ids.flatten(1) ** 2).sum(dim=1).numpy()
        return {"sum": norms, "shape": np.full(len(batch), ids.dim())}

    return items.run("norms", compute, progress=False, **options)


def sum_squares(tokenizer, *texts):
    return sum(token**2 for token in tokenizer(*texts)["input_ids"])


def test_an_item_gets_its_own_row_whatever_its_batch(bert):
    expected = [sum_squares(bert.tokenizer, text) for text in TEXTS]

    for batch_size in (1, 2, 9):
        columns = run_norms(Items.of(bert, TEXTS), batch_size=batch_size)
        assert columns.array("sum").tolist() == expected


def test_pairs_of_prompts_and_choices_are_items_of_their_own(chooser):
    pairs = Items.of_pairs(chooser, ChoiceItems.check(PROMPTS, CHOICES, ids="abcd"))
    assert pairs.ids[:3] == ("a (choice 0)", "a (choice 1)", "b (choice 0)")
    assert len(pairs) == len(set(pairs.ids)) == 10

    columns = run_norms(pairs)

    expected = []
    for prompt, choices in zip(PROMPTS, CHOICES, strict=True):
        expected += [sum_squares(chooser.tokenizer, prompt, choice) for choice in choices]
    assert columns.array("sum").tolist() == expected
    # (n, 1, T)
    assert columns.array("shape").tolist() == [3] * 10


def test_a_stored_run_is_only_used_for_equal_items_options_and_models(bert, tmp_path):
    out = tmp_path / "run"
    items = Items.of(bert, TEXTS)
    options = {"out": out, "depends": {"options": {"power": 2}}}
    computed = run_norms(items, notes={"about.json": ["x"]}, **options)
    assert Store.open(out).read_json("about.json") == ["x"]
    np.testing.assert_array_equal(run_norms(items, **options)["sum"], computed["sum"])

    other_options = {"out": out, "depends": {"options": {"power": 3}}}
    other_bert = tiny_encoder("bert", seed=1)
    for run, difference in (
        (lambda: run_norms(items, **other_options), "options"),
        (lambda: run_norms(Items.of(bert, TEXTS, ids="abcdef"), **options), "ids"),
        (lambda: run_norms(Items.of(bert, TEXTS, max_length=5), **options), "texts"),
        (lambda: run_norms(Items.of(other_bert, TEXTS), **options), "model"),
        (lambda: predict(bert, TEXTS, out=out, progress=False), "kind"),
    ):
        with pytest.warns(SetAsideWarning, match=f"differs in .*{difference}"):
            run()


def test_the_first_item_that_is_not_finite_is_named(bert):
    items = Items.of(bert, TEXTS, ids="abcdef")
    items.check_finite(np.array([True, True]), np.array([4, 1]))
    with pytest.raises(ValueError, match="bert gave NaN"):
        items.check_finite(np.array([False, True, False]), np.array([4, 2, 1]))


def test_labels_are_checked_against_the_classes(bert):
    items = Items.of(bert, TEXTS[:4])

    assert items.check_labels(None) is None
    assert items.check_labels([1, 2, -1, 0]).tolist() == [1, 2, -1, 0]
    with pytest.raises(ValueError, match="between -1 and 2, but item 2 is 3"):
        items.check_labels([1, 2, 3, 0])
    with pytest.raises(ValueError, match="between 0 and 2, but item 2 is -1"):
        items.check_labels([1, 2, -1, 0], minimum=0)


def test_tokens_have_the_positions_of_their_characters(bert):
    items = Items.of(bert, ["the film", "was good!"], text_pairs=["a plot", ""])
    positions = items.token_positions
    texts_of_sequence = (items.texts, items.text_pairs)

    words = []
    for row, sequence, start, end in zip(
        items.encoded.row, positions.sequence, positions.start, positions.end, strict=True
    ):
        # Special tokens have no characters.
        if start < end:
            words.append((row, texts_of_sequence[sequence][row][start:end]))

    assert words == [
        (0, "the"),
        (0, "film"),
        (0, "a"),
        (0, "plot"),
        (1, "was"),
        (1, "good"),
        (1, "!"),
    ]


def test_tokens_are_grouped_by_item_and_part(chooser):
    items = Items.of_pairs(chooser, ChoiceItems.check(PROMPTS[1:2], CHOICES[1:2]))
    scores = np.arange(items.encoded.offsets[-1], dtype=np.float64)

    for unit in ("wordpiece", "word"):
        tokens = merge_pieces(items, scores, unit=unit, merge="sum")
        assert tokens.tokens == (("what", "a"), ("what", "the", "film"), ("what", "good", "story"))
        assert tokens.parts.tolist() == [0, 1, 0, 1, 1, 0, 1, 1]
        # "what a" is [CLS] what [SEP] a [SEP]: tokens 1 and 3; then 5 tokens before "what the film".
        assert tokens.scores.values.tolist() == [1, 3, 6, 8, 9, 12, 14, 15]


def test_a_model_is_frozen_during_a_run(bert):
    def record_gradients(inputs, batch):
        assert not bert.model.training
        has_gradients = [parameter.requires_grad for parameter in bert.model.parameters()]
        return {"gradients": np.array(has_gradients)[: len(batch)]}

    bert.model.train()
    columns = Items.of(bert, TEXTS).run("frozen", record_gradients, batch_size=2, progress=False)

    assert not columns.array("gradients").any()
    assert bert.model.training
    bert.model.eval()
    with pytest.raises(TypeError, match="'gradients' to have rows of different lengths"):
        columns.ragged("gradients")
    assert torch.is_grad_enabled()
