"""The starts of paths and the validity of attributions, for deep decoders and encoders that normalize only words."""

import numpy as np
import pytest
import torch
import transformers as tf

from rightreasons.models.gradients.attribution import integrated_gradients
from rightreasons.models.gradients.integration import _Intervals, _Nodes
from rightreasons.models.gradients.paths import Path
from rightreasons.models.loading import Classifier
from tiny_encoders import tiny_encoder
from tiny_models import tiny_tokenizer

TEXTS = [
    "the film was good",
    "a dull plot and a very bad actor",
    "the man fell because of the rain but not the woman",
]
SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 24,
    "num_attention_heads": 4,
}
DECODER = {**SIZES, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64}
RELATIVE = {
    "relative_attention": True,
    "position_biased_input": False,
    "pos_att_type": ["p2c", "c2p"],
    "type_vocab_size": 0,
    "pooler_hidden_size": 32,
    "position_buckets": 8,
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
}
# Families whose normalization divides by the size of the words: their gradients at zero explode.
SINGULAR = {
    "llama": (tf.LlamaConfig, DECODER),
    "gemma": (tf.GemmaConfig, DECODER),
    "qwen3": (tf.Qwen3Config, DECODER),
    "deberta_v3": (tf.DebertaV2Config, {**SIZES, **RELATIVE, "max_position_embeddings": 64}),
    "modernbert": (
        tf.ModernBertConfig,
        {**SIZES, "max_position_embeddings": 64, "attn_implementation": "sdpa"},
    ),
}
REGULAR = {
    "bert": (tf.BertConfig, {**SIZES, "max_position_embeddings": 64}),
    "gpt2": (tf.GPT2Config, {"n_embd": 32, "n_layer": 4, "n_head": 4, "n_positions": 64}),
}


def build_deep(family, dtype=torch.float32):
    """Return a tiny classifier of a family with many layers."""
    words = tiny_tokenizer()
    config_class, sizes = (SINGULAR | REGULAR)[family]
    tokens = {
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "cls_token_id": 2,
        "sep_token_id": 3,
    }
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = config_class(vocab_size=len(words), num_labels=3, **tokens, **sizes)
        model = tf.AutoModelForSequenceClassification.from_config(config).to(dtype).eval()
    return Classifier(model, words, ("a", "b", "c"), family)


def compute_gap_shares(attributions):
    """Return the gap of each item, relative to the change that is explained."""
    return np.abs(attributions.gap) / np.abs(attributions.value - attributions.baseline_value)


@pytest.mark.parametrize("family", SINGULAR)
def test_if_zero_is_singular_paths_begin_at_the_mean_and_add_up(family):
    classifier = build_deep(family)

    attributions = integrated_gradients(classifier, TEXTS[:2], progress=False)

    assert attributions.baseline == "mean"
    assert "word embedding" in attributions.definition
    assert attributions.valid.all()
    assert (compute_gap_shares(attributions) <= 0.05).all()
    assert np.isfinite(attributions.scores.values).all()
    # A small multiple of the change: at a zero baseline numbers grew by 1 / sqrt(eps) for each layer.
    changes = np.abs(attributions.value - attributions.baseline_value)
    assert attributions.scores.values.max() < 10 * changes.max()
    if family in ("llama", "deberta_v3"):
        from_zeros = integrated_gradients(
            classifier, TEXTS[:2], baseline="zeros", steps=15, progress=False
        )
        assert not from_zeros.valid.all()
        assert np.isfinite(from_zeros.scores.values).all()


@pytest.mark.parametrize("family", REGULAR)
def test_if_zero_is_regular_paths_begin_at_zeros(family):
    attributions = integrated_gradients(build_deep(family), TEXTS[:2], progress=False)

    assert attributions.baseline == "zeros"
    assert attributions.valid.all()


def test_in_bfloat16_an_item_is_within_the_gap_or_not_valid():
    classifier = build_deep("llama", torch.bfloat16)

    attributions = integrated_gradients(classifier, TEXTS[:2], progress=False)

    assert attributions.baseline == "mean"
    assert (attributions.valid == (compute_gap_shares(attributions) <= 0.05)).all()
    # Of a probability. With zeros it would be 1.2e6.
    assert np.abs(attributions.gap).max() < 0.05


def test_the_mean_is_that_of_the_tokens_that_the_tokenizer_knows():
    bert = tiny_encoder("bert", double=True)
    table = bert.model.get_input_embeddings().weight.detach()
    ids = bert.tokenizer(TEXTS[0], return_tensors="pt")["input_ids"]

    def compute_probabilities(embeddings):
        output = bert.model(inputs_embeds=embeddings, attention_mask=torch.ones_like(ids))
        return output.logits.softmax(-1)[0].detach()

    means = table[: len(bert.tokenizer)].mean(dim=0).expand(1, ids.shape[1], -1)
    attributions = integrated_gradients(bert, TEXTS[:1], baseline="mean", progress=False)
    expected = compute_probabilities(means)[attributions.explained[0]]
    assert attributions.baseline_value[0] == pytest.approx(float(expected))

    # Special tokens keep their own embeddings: 2 is [CLS], 3 is [SEP].
    is_special = torch.isin(ids, torch.tensor([2, 3]))[..., None]
    mixed = torch.where(is_special, table[ids], means)
    attributions = integrated_gradients(
        bert, TEXTS[:1], baseline="mean", keep_special=True, progress=False
    )
    expected = compute_probabilities(mixed)[attributions.explained[0]]
    assert attributions.baseline_value[0] == pytest.approx(float(expected))


def test_no_gradient_is_computed_at_the_baseline(monkeypatch):
    recorded_positions = []
    compute_gradients = Path.gradients

    def record(self, items, positions, weights, groups, labels):
        recorded_positions.extend(positions.tolist())
        return compute_gradients(self, items, positions, weights, groups, labels)

    monkeypatch.setattr(Path, "gradients", record)
    for method in ("adaptive", "gauss_legendre", "riemann_right"):
        integrated_gradients(tiny_encoder("bert"), TEXTS, method=method, steps=15, progress=False)

    assert min(recorded_positions) > 0


def test_the_rule_at_the_baseline_is_exact_for_quadratic_slopes():
    # Of slopes a + b x + c x^2 over [0, h], from nodes at h/4, h/2 and h: the integral is a h + b h^2/2 + c h^3/3.
    positions = np.array([0.1, 0.2, 0.4])
    slopes = 3 + 5 * positions - 7 * positions**2
    nodes = _Nodes(np.zeros(3, np.int64), positions, np.zeros(3), slopes, [])

    weights = _Intervals(np.array([[0, 1, 2]]), np.array([True])).compute_weights(nodes)

    integral = 3 * 0.4 + 5 * 0.4**2 / 2 - 7 * 0.4**3 / 3
    assert (weights @ slopes).item() == pytest.approx(integral)


def test_items_that_do_not_add_up_are_not_valid_and_can_be_excluded():
    bert = tiny_encoder("bert")
    coarse = {"method": "riemann_right", "steps": 3, "progress": False}

    attributions = integrated_gradients(bert, TEXTS, max_gap=0.05, **coarse)

    assert (attributions.valid == (compute_gap_shares(attributions) <= 0.05)).all()
    assert not attributions.valid.all()
    assert integrated_gradients(bert, TEXTS, max_gap=None, **coarse).valid.all()

    rows = np.array([2, 0])
    subset = attributions.take(rows)
    assert subset.ids == ("2", "0")
    assert subset.tokens == (attributions.tokens[2], attributions.tokens[0])
    np.testing.assert_array_equal(subset.scores[0], attributions.scores[2])
    np.testing.assert_array_equal(subset.gap, attributions.gap[rows])
    np.testing.assert_array_equal(subset.logits, attributions.logits[rows])
    assert len(subset.starts) == len(subset.scores.values)


def test_gradients_that_are_not_finite_make_only_their_item_invalid(monkeypatch):
    bert = tiny_encoder("bert")
    expected = integrated_gradients(bert, TEXTS, progress=False)
    compute_gradients = Path.gradients

    def break_longest(self, items, positions, weights, groups, labels):
        sums, values, logits = compute_gradients(self, items, positions, weights, groups, labels)
        lengths = self._inputs["attention_mask"].sum(dim=1)
        is_longest = lengths[items].numpy() == 13
        sums[torch.from_numpy(groups[is_longest])] = torch.inf
        return sums, values, logits

    monkeypatch.setattr(Path, "gradients", break_longest)
    attributions = integrated_gradients(bert, TEXTS, progress=False)

    assert attributions.valid.tolist() == [True, True, False]
    assert attributions.gap[2] == np.inf
    assert not attributions.scores[2].any()
    np.testing.assert_allclose(attributions.scores[0], expected.scores[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("method", "n_passes"), [("riemann_right", 5), ("gauss_legendre", 6), ("adaptive", 6)]
)
def test_the_pass_that_predicts_the_class_is_that_of_the_node_at_the_input(method, n_passes):
    # One item per pass: its nodes and the baseline. The input is no node of Gauss and Legendre, so
    # it has its own pass.
    bert = tiny_encoder("bert")
    steps = 5 if method == "adaptive" else 4
    options = {
        "method": method,
        "steps": steps,
        "max_tokens": 1,
        "baseline": "pad",
        "progress": False,
    }
    # The first call makes the trial of the model.
    integrated_gradients(bert, TEXTS[:1], **options)

    passes = []
    hook = bert.model.register_forward_hook(lambda *_: passes.append(1))
    attributions = integrated_gradients(bert, TEXTS[:1], **options)
    hook.remove()

    assert len(passes) == n_passes
    assert attributions.nodes.tolist() == [steps]
