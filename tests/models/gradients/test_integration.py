"""Where paths begin, and which attributions are valid: deep decoders and encoders that normalize words alone."""

import numpy as np
import pytest
import torch
import transformers as tf

from rightreasons.models.gradients.attribution import integrated_gradients
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
    "relative_attention": True, "position_biased_input": False, "pos_att_type": ["p2c", "c2p"], "type_vocab_size": 0,
    "pooler_hidden_size": 32, "position_buckets": 8, "share_att_key": True, "norm_rel_ebd": "layer_norm",
}  # fmt: skip
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


def deep(family, dtype=torch.float32):
    words = tiny_tokenizer()
    config, sizes = (SINGULAR | REGULAR)[family]
    tokens = {
        "pad_token_id": 0,
        "bos_token_id": 2,
        "eos_token_id": 3,
        "cls_token_id": 2,
        "sep_token_id": 3,
    }
    with torch.random.fork_rng():
        torch.manual_seed(0)
        built = config(vocab_size=len(words), num_labels=3, **tokens, **sizes)
        model = tf.AutoModelForSequenceClassification.from_config(built).to(dtype).eval()
    return Classifier(model, words, ("a", "b", "c"), family)


@pytest.mark.parametrize("family", SINGULAR)
def test_where_zero_is_singular_paths_begin_at_the_mean_and_add_up(family):
    classifier = deep(family)
    found = integrated_gradients(classifier, TEXTS[:2], progress=False)
    assert found.baseline == "mean"
    assert "word embedding" in found.definition
    assert found.valid.all()
    assert (np.abs(found.gap) <= 0.05 * np.abs(found.value - found.baseline_value)).all()
    assert np.isfinite(found.scores.values).all()
    # A small multiple of the change: at a zero baseline numbers grew by 1 / sqrt(eps) for each layer.
    assert found.scores.values.max() < 10 * np.abs(found.value - found.baseline_value).max()
    if family in ("llama", "deberta_v3"):
        zeros = integrated_gradients(
            classifier, TEXTS[:2], baseline="zeros", steps=15, progress=False
        )
        assert not zeros.valid.all()
        assert np.isfinite(zeros.scores.values).all()


@pytest.mark.parametrize("family", REGULAR)
def test_elsewhere_they_begin_at_zeros(family):
    found = integrated_gradients(deep(family), TEXTS[:2], progress=False)
    assert found.baseline == "zeros"
    assert found.valid.all()


def test_in_bfloat16_an_item_is_within_the_gap_or_not_valid():
    found = integrated_gradients(deep("llama", torch.bfloat16), TEXTS[:2], progress=False)
    assert found.baseline == "mean"
    share = np.abs(found.gap) / np.abs(found.value - found.baseline_value)
    assert (found.valid == (share <= 0.05)).all()
    assert np.abs(found.gap).max() < 0.05  # it was 1.2e6 on a probability


def test_the_mean_is_that_of_the_tokens_that_the_tokenizer_knows():
    bert = tiny_encoder("bert", double=True)
    table = bert.model.get_input_embeddings().weight.detach()
    found = integrated_gradients(bert, TEXTS[:1], baseline="mean", progress=False)
    ids = bert.tokenizer(TEXTS[0], return_tensors="pt")["input_ids"]
    start = table[: len(bert.tokenizer)].mean(dim=0).expand(1, ids.shape[1], -1)
    expected = (
        bert.model(inputs_embeds=start, attention_mask=torch.ones_like(ids))
        .logits.softmax(-1)[0]
        .detach()
    )
    assert found.baseline_value[0] == pytest.approx(float(expected[found.explained[0]]))
    kept = integrated_gradients(bert, TEXTS[:1], baseline="mean", keep_special=True, progress=False)
    between = torch.where(torch.isin(ids, torch.tensor([2, 3]))[..., None], table[ids], start)
    expected = (
        bert.model(inputs_embeds=between, attention_mask=torch.ones_like(ids))
        .logits.softmax(-1)[0]
        .detach()
    )
    assert kept.baseline_value[0] == pytest.approx(float(expected[kept.explained[0]]))


def test_no_gradient_is_taken_at_the_baseline(monkeypatch):
    from rightreasons.models.gradients.paths import Path

    asked, gradients = [], Path.gradients

    def watched(self, items, positions, weights, groups, labels):
        asked.extend(positions.tolist())
        return gradients(self, items, positions, weights, groups, labels)

    monkeypatch.setattr(Path, "gradients", watched)
    for method in ("adaptive", "gauss_legendre", "riemann_right"):
        integrated_gradients(tiny_encoder("bert"), TEXTS, method=method, steps=15, progress=False)
    assert min(asked) > 0


def test_the_rule_at_the_baseline_is_exact_for_quadratic_slopes():
    # Of slopes a + b x + c x^2 over [0, h], from nodes at h/4, h/2 and h: the integral is a h + b h^2/2 + c h^3/3.
    from rightreasons.models.gradients.integration import _Intervals, _Nodes

    place, slope = np.array([0.1, 0.2, 0.4]), lambda x: 3 + 5 * x - 7 * x**2
    nodes = _Nodes(np.zeros(3, np.int64), place, np.zeros(3), slope(place), [])
    weights = _Intervals(np.array([[0, 1, 2]]), np.array([True])).compute_weights(nodes)
    assert (weights @ slope(place)).item() == pytest.approx(
        3 * 0.4 + 5 * 0.4**2 / 2 - 7 * 0.4**3 / 3
    )


def test_items_that_do_not_add_up_are_not_valid_and_can_be_left_out():
    bert = tiny_encoder("bert")
    coarse = {"method": "riemann_right", "steps": 3, "progress": False}
    found = integrated_gradients(bert, TEXTS, max_gap=0.05, **coarse)
    share = np.abs(found.gap) / np.abs(found.value - found.baseline_value)
    assert (found.valid == (share <= 0.05)).all()
    assert not found.valid.all()
    assert integrated_gradients(bert, TEXTS, max_gap=None, **coarse).valid.all()
    rows = np.array([2, 0])
    part = found.take(rows)
    assert part.ids == ("2", "0")
    assert part.tokens == (found.tokens[2], found.tokens[0])
    np.testing.assert_array_equal(part.scores[0], found.scores[2])
    np.testing.assert_array_equal(part.gap, found.gap[rows])
    np.testing.assert_array_equal(part.logits, found.logits[rows])
    assert len(part.starts) == len(part.scores.values)


def test_gradients_that_are_not_finite_make_an_item_invalid_and_leave_the_others(monkeypatch):
    from rightreasons.models.gradients.paths import Path

    bert, gradients = tiny_encoder("bert"), Path.gradients
    whole = integrated_gradients(bert, TEXTS, progress=False)

    def broken(self, items, positions, weights, groups, labels):
        sums, values, logits = gradients(self, items, positions, weights, groups, labels)
        lengths = self._inputs["attention_mask"].sum(dim=1)
        longest = torch.from_numpy(groups[lengths[items].numpy() == 13])
        sums[longest] = torch.inf
        return sums, values, logits

    monkeypatch.setattr(Path, "gradients", broken)
    found = integrated_gradients(bert, TEXTS, progress=False)
    assert found.valid.tolist() == [True, True, False]
    assert found.gap[2] == np.inf
    assert not found.scores[2].any()
    np.testing.assert_allclose(found.scores[0], whole.scores[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("method", "n_passes"), [("riemann_right", 5), ("gauss_legendre", 6), ("adaptive", 6)]
)
def test_the_pass_that_predicts_the_class_is_that_of_the_node_at_the_input(method, n_passes):
    # One item per pass: its nodes and the baseline; the input is no node of Gauss and Legendre, so it has its own pass.
    bert, rows = tiny_encoder("bert"), []
    options = {
        "method": method,
        "steps": 5 if method == "adaptive" else 4,
        "max_tokens": 1,
        "baseline": "pad",
        "progress": False,
    }
    integrated_gradients(bert, TEXTS[:1], **options)  # the trial of the model
    hook = bert.model.register_forward_hook(lambda *_: rows.append(1))
    found = integrated_gradients(bert, TEXTS[:1], **options)
    hook.remove()
    assert len(rows) == n_passes
    assert found.nodes.tolist() == [options["steps"]]
