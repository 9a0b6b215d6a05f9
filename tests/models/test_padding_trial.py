"""The trial chooses how a model's inputs are batched: by numbers alone, whatever the architecture."""

import copy
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers

from rightreasons.models.batching import get_padding_values
from rightreasons.models.classes import predict
from rightreasons.models.loading import Classifier
from rightreasons.models.padding_trial import set_padding_token
from rightreasons.models.scorers import as_scorer
from rightreasons.models.trial import TRIALS, BatchingStrategy, Trials, find_fastest_strategy
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
STRATEGIES = {
    "bert": "right padding",
    "fnet": "equal lengths",
    "xlnet": "equal lengths",
    "gpt2": "right padding",
}
TEXTS = tiny_texts(12)[0]


def build_model(family, head="SequenceClassification", **options):
    """Return a tiny model of a family with three classes."""
    if family == "bert":
        config = tiny_config(num_labels=3, **options)
    else:
        sizes = SIZES if family == "fnet" else {}
        tokens = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, **options}
        config = transformers.AutoConfig.for_model(
            family,
            vocab_size=SIZE,
            num_labels=3,
            initializer_range=0.3,
            **sizes,
            **FAMILIES[family],
            **tokens,
        )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return getattr(transformers, f"AutoModelFor{head}").from_config(config).eval()


def make_classifier(family, tokenizer=None, **options):
    words = tokenizer or tiny_tokenizer()
    if family == "gpt2":
        words.model_input_names = ["input_ids", "attention_mask"]
    return Classifier(build_model(family, **options), words, ("a", "b", "c"), family)


@torch.no_grad()
def compute_logits(model, tokenizer, text):
    """Return the logits of a text by a plain forward pass."""
    inputs = tokenizer(text, return_tensors="pt", truncation=True)
    return model(**inputs).logits[0].double().numpy()


def check_logits(logits, expected):
    """Check logits up to 1e-5 of the largest one."""
    np.testing.assert_allclose(logits, expected, atol=1e-5 * np.abs(expected).max())


def predict_singly(scorer, texts):
    return np.array([compute_logits(scorer.model, scorer.tokenizer, text) for text in texts])


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_batches_are_exact_for_every_family_and_padding_side(family, side):
    words = tiny_tokenizer()
    words.padding_side = side
    scorer = make_classifier(family, words)

    scores = predict(scorer, TEXTS, batch_size=5, progress=False)

    check_logits(scores.logits, predict_singly(scorer, TEXTS))
    assert scores.way.startswith(STRATEGIES[family])
    is_padded = STRATEGIES[family] == "right padding"
    assert ("right padding is off by" in scores.way) == (not is_padded)


def test_a_model_that_changes_itself_is_restored_for_each_text():
    """BigBird replaces its sparse attention for good at the first short text."""
    config = transformers.BigBirdConfig(
        vocab_size=SIZE,
        block_size=4,
        num_random_blocks=1,
        max_position_embeddings=128,
        num_labels=3,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        sep_token_id=3,
        initializer_range=0.6,
        **SIZES,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.BigBirdForSequenceClassification(config).eval()
    unused_model = copy.deepcopy(model)
    texts = [" ".join((WORDS * 2)[: n + 3]) for n in (5, 70, 2, 61, 40)]
    scorer = as_scorer(model, tokenizer=tiny_tokenizer(128), name="bird")
    assert model.bert.attention_type == "block_sparse"

    scores = predict(scorer, texts, batch_size=3, progress=False)

    assert model.bert.attention_type == "block_sparse"
    expected = []
    for text in texts:
        # Each text by a model that has read nothing.
        fresh_model = copy.deepcopy(unused_model)
        expected.append(compute_logits(fresh_model, scorer.tokenizer, text))
    check_logits(scores.logits, expected)

    # Full attention would give other numbers.
    unused_model.bert.set_attention_type("original_full")
    full = compute_logits(unused_model, scorer.tokenizer, texts[1])
    assert np.abs(full - expected[1]).max() > 0.01


@pytest.mark.parametrize("padding_id", [None, 7])
def test_a_decoder_finds_the_last_word_whatever_its_padding_token_is(padding_id):
    """The model's padding token is none, or a word of the texts, and the tokenizer's is another."""
    scorer = make_classifier("gpt2", pad_token_id=padding_id)

    scores = predict(scorer, TEXTS, batch_size=5, progress=False)

    check_logits(scores.logits, predict_singly(scorer, TEXTS))
    # As the user left it.
    assert scorer.model.config.pad_token_id is padding_id


def test_without_a_padding_token_padding_is_a_token_that_is_in_no_text():
    model = build_model("gpt2", pad_token_id=None)
    words = tiny_tokenizer()
    assert get_padding_values(words, model)["input_ids"] == 0

    words.pad_token = None
    words.eos_token = "film"
    film = words.convert_tokens_to_ids("film")
    assert get_padding_values(words, model, np.array([1, 2], np.int32))["input_ids"] == film
    assert get_padding_values(words, model, np.array([0, film], np.int32))["input_ids"] == 1

    with set_padding_token(model, 5):
        assert model.config.pad_token_id == 5
    assert model.config.pad_token_id is None


def test_choices_without_a_mask_are_read_by_length():
    model = build_model("fnet", "MultipleChoice")
    scorer = Classifier(model, tiny_tokenizer(), None, "fnet")
    prompts = ["the film was", "what fell"]
    choices = [["good", "very very bad"], ["rain", "the glass", "it"]]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = scorer.choose(prompts, choices, progress=False)

    for prompt, row, logits in zip(prompts, choices, scores.logits, strict=True):
        for choice, logit in zip(row, logits, strict=True):
            inputs = scorer.tokenizer(prompt, choice, return_tensors="pt")
            # The model's own form: (1, choices, tokens)
            inputs = {name: tensor[None] for name, tensor in inputs.items()}
            with torch.no_grad():
                assert model(**inputs).logits.item() == pytest.approx(logit, abs=1e-5)


class FunctionModel(torch.nn.Module):
    """A classifier of two classes, whose logits are a function of the ids and the mask of a batch."""

    def __init__(self, function):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.config = SimpleNamespace(pad_token_id=0)
        self.device = torch.device("cpu")
        self.function = function

    def get_input_embeddings(self):
        return torch.nn.Embedding(SIZE, 1)

    def forward(self, input_ids, attention_mask, **options):
        logits = self.function(input_ids.double(), attention_mask.double())
        return SimpleNamespace(logits=logits)


def compute_means(ids, mask):
    """Return the mean id of each row, relative to the vocabulary, as the logits of two classes."""
    score = (ids * mask).sum(1) / mask.sum(1) / SIZE
    return torch.stack([score, -score], 1)


def make_function_classifier(function):
    return Classifier(FunctionModel(function), tiny_tokenizer(), ("a", "b"), "odd")


def predict_texts(function):
    return predict(make_function_classifier(function), TEXTS, progress=False)


def test_a_model_whose_rows_depend_on_each_other_is_read_one_by_one():
    def mix_rows(ids, mask):
        return compute_means(ids, mask) + 0.1 * ids.std(0, unbiased=False).sum()

    with pytest.warns(UserWarning, match="equal lengths"):
        scores = predict_texts(mix_rows)

    assert scores.way.startswith("one by one (right padding is off by")
    np.testing.assert_allclose(scores.logits, predict_texts(compute_means).logits)


def test_models_that_no_strategy_makes_exact_are_refused():
    rng = np.random.default_rng(0)

    def fail(ids, mask):
        raise RuntimeError("no such kernel\nsecond line")

    with pytest.raises(ValueError, match="odd differ by"):
        predict_texts(lambda ids, mask: compute_means(ids, mask) + rng.normal())
    with pytest.raises(ValueError, match="classes from odd"):
        predict_texts(lambda ids, mask: compute_means(ids, mask)[:, :1])
    with pytest.raises(ValueError, match="ordinary words"):
        predict_texts(lambda ids, mask: compute_means(ids, mask) * torch.nan)
    with pytest.raises(ValueError, match="such kernel$"):
        predict_texts(fail)


def test_long_texts_are_tried_too():
    """Hashed attention, as that of Reformer, is random in long texts alone, which no single answer shows."""
    rng = np.random.default_rng(0)

    def add_noise_to_long_texts(ids, mask):
        return compute_means(ids, mask) + rng.normal() * (ids.shape[1] > 16)

    scorer = make_function_classifier(add_noise_to_long_texts)
    predict(scorer, ["the film was good"], progress=False)
    with pytest.raises(ValueError, match="same question"):
        predict(scorer, [" ".join(WORDS[:20])], progress=False)


def test_weights_that_are_not_finite_are_named():
    scorer = make_classifier("bert")
    with torch.no_grad():
        scorer.model.bert.encoder.layer[1].output.dense.bias[3] = torch.inf
    message = (
        r"Expected finite weights, but bert\.encoder\.layer\.1\.output\.dense\.bias of bert "
        "holds NaN or infinity"
    )

    with pytest.raises(ValueError, match=message):
        predict(scorer, TEXTS, progress=False)


def test_a_masked_language_model_is_not_a_classifier():
    model = transformers.BertForMaskedLM(tiny_config()).eval()
    scorer = Classifier(model, tiny_tokenizer(), ("a", "b"), "masked")

    with pytest.raises(ValueError, match="classes from masked"):
        predict(scorer, TEXTS, progress=False)


def test_bfloat16_weights_are_tried_in_float32_and_restored():
    scorer = make_classifier("xlnet")
    scorer.model.bfloat16()
    weights = [weight.clone() for weight in scorer.model.parameters()]

    scores = predict(scorer, TEXTS, batch_size=5, progress=False)

    assert scores.way.startswith("equal lengths (right padding is off by")
    for original, weight in zip(weights, scorer.model.parameters(), strict=True):
        assert weight.dtype is torch.bfloat16
        assert torch.equal(original, weight)


def test_a_trial_is_made_once_and_again_when_the_model_changes():
    model = torch.nn.Linear(2, 1)
    trials = Trials()
    tried_lengths = []

    def find(longest):
        tried_lengths.append(longest)
        return BatchingStrategy("right padding", longest)

    def fail(longest):
        raise ValueError("no")

    # At least 16 tokens are tried.
    for longest in (5, 16, 30, 30, 20):
        trials.get_strategy(model, "texts", longest, find)
    assert tried_lengths == [16, 30]

    with torch.no_grad():
        model.weight += 1
    trials.get_strategy(model, "texts", 20, find)
    model.half()
    trials.get_strategy(model, "texts", 20, find)
    assert tried_lengths == [16, 30, 20, 20]
    with pytest.raises(ValueError, match="no"):
        trials.get_strategy(model, "choices", 20, fail)


def test_the_strategy_is_stored_for_this_process():
    scorer = make_classifier("bert")
    predict(scorer, TEXTS, progress=False)

    calls = []
    hook = scorer.model.register_forward_hook(lambda *_: calls.append(1))
    predict(scorer, TEXTS, batch_size=len(TEXTS), progress=False)
    hook.remove()

    assert calls == [1]
    strategy = TRIALS.get_strategy(
        scorer.model, "texts", 3, lambda longest: pytest.fail("tried again")
    )
    assert strategy.name == "right padding"


def test_the_strategy_is_stored_for_later_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("RIGHTREASONS_CACHE_DIR", str(tmp_path))

    def find_strategy(scorer):
        """Return the strategy as in a new process, and the number of calls of the model."""
        calls = []
        monkeypatch.setattr("rightreasons.models.padding_trial.TRIALS", Trials())
        hook = scorer.model.register_forward_hook(lambda *_: calls.append(1))
        scores = predict(scorer, TEXTS, batch_size=len(TEXTS), progress=False)
        hook.remove()
        return scores.way, len(calls)

    def count_calls(scorer):
        _, n_calls = find_strategy(scorer)
        return n_calls

    strategy, n_calls = find_strategy(make_classifier("bert"))
    assert n_calls > 10
    assert find_strategy(make_classifier("bert"))[0] == strategy
    assert count_calls(make_classifier("bert")) == 1

    # Another configuration and another type are tried.
    assert count_calls(make_classifier("bert", hidden_dropout_prob=0.2)) > 10
    double = make_classifier("bert")
    double.model.double()
    assert count_calls(double) > 10

    # So is a model whose stored strategy cannot be read.
    for path in tmp_path.rglob("*.json"):
        path.write_text("{")
    assert count_calls(make_classifier("bert")) > 10

    # The strategy of a class of the user's own is not stored.
    custom = make_classifier("bert")
    custom.model.__class__ = type("Own", (type(custom.model),), {})
    n_stored = len(list(tmp_path.rglob("*.json")))
    find_strategy(custom)
    assert len(list(tmp_path.rglob("*.json"))) == n_stored


def test_the_fastest_exact_strategy_is_chosen():
    model = torch.nn.Linear(1, 1)
    rows = [np.array([1.0, -3.0]), np.array([2.0])]
    # From the fastest to the slowest.
    strategies = {
        "wide": lambda: [row + 1e-3 for row in rows],
        "broken": lambda: [np.array([np.nan, 0.0]), rows[1]],
        "shaped": lambda: [rows[0][:1], rows[1]],
        "exact": lambda: [row * (1 + 1e-6) for row in rows],
        "never": lambda: pytest.fail("asked"),
    }

    strategy = find_fastest_strategy(
        model, "m", lambda: rows, strategies, longest=9, repeat=lambda: rows
    )

    assert strategy.name == "exact"
    assert strategy.longest == 9
    assert strategy.reason == "wide is off by 0.001; broken is off by inf; shaped is off by inf"


def test_a_padding_token_is_set_during_a_block():
    model = SimpleNamespace(config=SimpleNamespace(vocab_size=5, pad_token_id=None))

    with set_padding_token(model, 3):
        assert model.config.pad_token_id == 3
        model.config.added = True
    assert vars(model.config) == {"vocab_size": 5, "pad_token_id": None}
    model.config.pad_token_id = 1
    with set_padding_token(model, 3):
        assert model.config.pad_token_id == 1
