"""The trial that chooses how a model's inputs are batched: by numbers alone, whatever the architecture."""

import copy
import dataclasses
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

from rightreasons.models.batching import get_padding_values
from rightreasons.models.classes import predict
from rightreasons.models.loading import Classifier
from rightreasons.models.scorers import as_scorer
from rightreasons.models.trial import (
    TRIALS,
    BatchingStrategy,
    Trials,
    find_fastest_strategy,
    set_padding_token,
)
from tiny_models import SPECIAL, WORDS, tiny_config, tiny_texts, tiny_tokenizer

SIZE = len(SPECIAL) + len(WORDS)
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
FAMILIES = {
    "bert": {},
    "fnet": {"max_position_embeddings": 32},
    "xlnet": {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32},
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32},
}
WAYS = {
    "bert": "right padding",
    "fnet": "equal lengths",
    "xlnet": "equal lengths",
    "gpt2": "right padding",
}
TEXTS = tiny_texts(12)[0]


def build(family, head="SequenceClassification", **options):
    if family == "bert":
        config = tiny_config(num_labels=3, **options)
    else:
        general = SIZES if family == "fnet" else {}
        tokens = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, **options}
        config = transformers.AutoConfig.for_model(
            family,
            vocab_size=SIZE,
            num_labels=3,
            initializer_range=0.3,
            **general,
            **FAMILIES[family],
            **tokens,
        )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return getattr(transformers, f"AutoModelFor{head}").from_config(config).eval()


def classifier(family, tokenizer=None, **options):
    words = tokenizer or tiny_tokenizer()
    if family == "gpt2":
        words.model_input_names = ["input_ids", "attention_mask"]
    return Classifier(build(family, **options), words, ("a", "b", "c"), family)


def alone(scorer, texts):
    """One text at a time, as one writes it."""
    rows = []
    for text in texts:
        inputs = scorer.tokenizer(text, return_tensors="pt", truncation=True, max_length=32)
        with torch.no_grad():
            rows.append(scorer.model(**inputs).logits[0].double().numpy())
    return np.array(rows)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_batches_are_exact_whatever_the_family_and_the_padding_side(family, side):
    words = tiny_tokenizer()
    words.padding_side = side
    scorer = classifier(family, words)
    scores = predict(scorer, TEXTS, batch_size=5, progress=False)
    want = alone(scorer, TEXTS)
    np.testing.assert_allclose(scores.logits, want, atol=1e-5 * np.abs(want).max())
    assert scores.way.startswith(WAYS[family])
    assert ("right padding is off by" in scores.way) == (WAYS[family] != "right padding")


def test_a_model_that_changes_itself_is_as_it_was_and_reads_each_text_as_the_first():
    """BigBird replaces its sparse attention for good at the first short text."""
    config = transformers.BigBirdConfig(
        vocab_size=SIZE, block_size=4, num_random_blocks=1, max_position_embeddings=128, num_labels=3, pad_token_id=0,
        bos_token_id=2, eos_token_id=3, sep_token_id=3, initializer_range=0.6, **SIZES,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.BigBirdForSequenceClassification(config).eval()
    fresh = copy.deepcopy(model)
    texts = [" ".join((WORDS * 2)[: n + 3]) for n in (5, 70, 2, 61, 40)]
    scorer = as_scorer(model, tokenizer=tiny_tokenizer(128), name="bird")
    assert model.bert.attention_type == "block_sparse"
    scores = predict(scorer, texts, batch_size=3, progress=False)
    assert model.bert.attention_type == "block_sparse"
    want = []
    for text in texts:  # each by a model that has read nothing
        inputs = scorer.tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            want.append(copy.deepcopy(fresh)(**inputs).logits[0].double().numpy())
    np.testing.assert_allclose(scores.logits, want, atol=1e-5 * np.abs(want).max())
    # Full attention would give other numbers.
    fresh.bert.set_attention_type("original_full")
    with torch.no_grad():
        full = fresh(**scorer.tokenizer(texts[1], return_tensors="pt")).logits[0].double().numpy()
    assert np.abs(full - want[1]).max() > 0.01


@pytest.mark.parametrize("own", [None, 7])
def test_a_decoder_finds_the_last_word_whatever_its_padding_token_is(own):
    """The model's padding token is none, or a word of the texts, and the tokenizer's is another."""
    scorer = classifier("gpt2", pad_token_id=own)
    scores = predict(scorer, TEXTS, batch_size=5, progress=False)
    want = alone(scorer, TEXTS)
    np.testing.assert_allclose(scores.logits, want, atol=1e-5 * np.abs(want).max())
    assert scorer.model.config.pad_token_id is own  # as the user left it


def test_padding_without_a_token_for_it_takes_one_that_no_text_holds():
    model, words = build("gpt2", pad_token_id=None), tiny_tokenizer()
    assert get_padding_values(words, model)["input_ids"] == 0
    words.pad_token, words.eos_token = None, "film"
    film = words.convert_tokens_to_ids("film")
    assert get_padding_values(words, model, np.array([1, 2], np.int32))["input_ids"] == film
    assert get_padding_values(words, model, np.array([0, film], np.int32))["input_ids"] == 1
    with set_padding_token(model, 5):
        assert model.config.pad_token_id == 5
    assert model.config.pad_token_id is None


def test_choices_without_a_mask_are_read_by_length():
    model = build("fnet", "MultipleChoice")
    scorer = Classifier(model, tiny_tokenizer(), None, "fnet")
    prompts, choices = (
        ["the film was", "what fell"],
        [["good", "very very bad"], ["rain", "the glass", "it"]],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = scorer.choose(prompts, choices, progress=False)
    for prompt, row, got in zip(prompts, choices, scores.logits, strict=True):
        for choice, score in zip(row, got, strict=True):
            inputs = {
                k: t[None] for k, t in scorer.tokenizer(prompt, choice, return_tensors="pt").items()
            }
            with torch.no_grad():
                assert model(**inputs).logits.item() == pytest.approx(score, abs=1e-5)


class Odd(torch.nn.Module):
    """A classifier of two classes; `says` turns the ids and the mask of a batch into its logits."""

    def __init__(self, says):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.config, self.device, self.says = (
            SimpleNamespace(pad_token_id=0),
            torch.device("cpu"),
            says,
        )

    def get_input_embeddings(self):
        return torch.nn.Embedding(SIZE, 1)

    def forward(self, input_ids, attention_mask, **others):
        return SimpleNamespace(logits=self.says(input_ids.double(), attention_mask.double()))


def means(ids, mask):
    score = (ids * mask).sum(1) / mask.sum(1) / SIZE
    return torch.stack([score, -score], 1)


def ask(says):
    return predict(
        Classifier(Odd(says), tiny_tokenizer(), ("a", "b"), "odd"), TEXTS, progress=False
    )


def test_a_model_whose_rows_know_of_each_other_is_read_one_by_one():
    with pytest.warns(
        UserWarning,
        match="equal lengths",
    ):
        scores = ask(lambda ids, mask: means(ids, mask) + 0.1 * ids.std(0, unbiased=False).sum())
    assert scores.way.startswith("one by one (right padding is off by")
    np.testing.assert_allclose(scores.logits, ask(means).logits)


def test_models_that_no_way_makes_right_are_refused_by_name():
    draw = np.random.default_rng(0)
    with pytest.raises(
        ValueError,
        match="odd differ by",
    ):
        ask(lambda ids, mask: means(ids, mask) + draw.normal())
    with pytest.raises(ValueError, match="classes from odd"):
        ask(lambda ids, mask: means(ids, mask)[:, :1])
    with pytest.raises(ValueError, match="ordinary words"):
        ask(lambda ids, mask: means(ids, mask) * torch.nan)

    def fails(ids, mask):
        raise RuntimeError("no such kernel\nsecond line")

    with pytest.raises(ValueError, match="such kernel$"):
        ask(fails)


def test_few_long_texts_are_tried_too():
    """Hashed attention, as that of Reformer, draws at random in long texts alone, which no single answer shows."""
    draw = np.random.default_rng(0)

    def hashed(ids, mask):
        return means(ids, mask) + draw.normal() * (ids.shape[1] > 16)

    scorer = Classifier(Odd(hashed), tiny_tokenizer(), ("a", "b"), "odd")
    predict(scorer, ["the film was good"], progress=False)
    with pytest.raises(ValueError, match="same question"):
        predict(scorer, [" ".join(WORDS[:20])], progress=False)


def test_weights_that_are_not_finite_are_named():
    scorer = classifier("bert")
    with torch.no_grad():
        scorer.model.bert.encoder.layer[1].output.dense.bias[3] = torch.inf
    named = r"Expected finite weights, but bert\.encoder\.layer\.1\.output\.dense\.bias of bert holds NaN or infinity"
    with pytest.raises(ValueError, match=named):
        predict(scorer, TEXTS, progress=False)


def test_a_masked_language_model_is_no_classifier():
    scorer = Classifier(
        transformers.BertForMaskedLM(tiny_config()).eval(), tiny_tokenizer(), ("a", "b"), "masked"
    )
    with pytest.raises(
        ValueError,
        match="classes from masked",
    ):
        predict(scorer, TEXTS, progress=False)


def test_narrow_weights_are_tried_wide_and_come_back():
    scorer = classifier("xlnet")
    scorer.model.bfloat16()
    before = [weight.clone() for weight in scorer.model.parameters()]
    scores = predict(scorer, TEXTS, batch_size=5, progress=False)
    assert scores.way.startswith("equal lengths (right padding is off by")
    for old, weight in zip(before, scorer.model.parameters(), strict=True):
        assert weight.dtype is torch.bfloat16
        assert torch.equal(old, weight)


def test_a_trial_is_made_once_and_again_when_the_model_changes():
    model, trials, asked = torch.nn.Linear(2, 1), Trials(), []

    def find(longest):
        asked.append(longest)
        return BatchingStrategy("right padding", longest)

    for longest in (5, 16, 30, 30, 20):
        trials.get_strategy(model, "texts", longest, find)
    assert asked == [16, 30]
    with torch.no_grad():
        model.weight += 1
    trials.get_strategy(model, "texts", 20, find)
    model.half()
    trials.get_strategy(model, "texts", 20, find)
    assert asked == [16, 30, 20, 20]
    with pytest.raises(ValueError, match="no"):
        trials.get_strategy(
            model, "choices", 20, lambda longest: (_ for _ in ()).throw(ValueError("no"))
        )


def test_the_way_is_kept_in_this_process():
    scorer = classifier("bert")
    predict(scorer, TEXTS, progress=False)
    calls = []
    hook = scorer.model.register_forward_hook(lambda *_: calls.append(1))
    predict(scorer, TEXTS, batch_size=len(TEXTS), progress=False)
    hook.remove()
    assert calls == [1]
    assert (
        TRIALS.get_strategy(
            scorer.model, "texts", 3, lambda longest: pytest.fail("tried again")
        ).name
        == "right padding"
    )


def test_the_way_is_kept_for_later_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("RIGHTREASONS_CACHE_DIR", str(tmp_path))

    def way(scorer):
        """In a process of its own, as it were, and how many calls it took."""
        calls, trials = [], Trials()
        monkeypatch.setattr("rightreasons.models.trial.TRIALS", trials)
        hook = scorer.model.register_forward_hook(lambda *_: calls.append(1))
        scores = predict(scorer, TEXTS, batch_size=len(TEXTS), progress=False)
        hook.remove()
        return scores.way, len(calls)

    found, n_calls = way(classifier("bert"))
    assert n_calls > 10
    assert way(classifier("bert"))[0] == found
    assert way(classifier("bert"))[1] == 1
    # Another configuration, another type, and code of one's own are tried.
    assert way(classifier("bert", hidden_dropout_prob=0.2))[1] > 10
    assert (
        way(dataclasses.replace(scorer := classifier("bert"), model=scorer.model.double()))[1] > 10
    )
    for path in tmp_path.rglob("*.json"):
        path.write_text("{")
    assert way(classifier("bert"))[1] > 10
    own = classifier("bert")
    own.model.__class__ = type("Own", (type(own.model),), {})
    n_kept = len(list(tmp_path.rglob("*.json")))
    way(own)
    assert len(list(tmp_path.rglob("*.json"))) == n_kept


def test_the_fastest_exact_way_wins():
    model = torch.nn.Linear(1, 1)
    rows = [np.array([1.0, -3.0]), np.array([2.0])]
    ways = {
        "wide": lambda: [row + 1e-3 for row in rows],
        "broken": lambda: [np.array([np.nan, 0.0]), rows[1]],
        "shaped": lambda: [rows[0][:1], rows[1]],
        "exact": lambda: [row * (1 + 1e-6) for row in rows],
        "never": lambda: pytest.fail("asked"),
    }
    way = find_fastest_strategy(model, "m", lambda: rows, ways, longest=9, repeat=lambda: rows)
    assert (way.name, way.longest) == ("exact", 9)
    assert way.reason == "wide is off by 0.001; broken is off by inf; shaped is off by inf"
