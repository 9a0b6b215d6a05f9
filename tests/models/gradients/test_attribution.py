"""Integrated gradients: against captum on the same nodes, against one example at a time, and on five architectures."""

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients, LayerIntegratedGradients

from rightreasons.models.gradients.attribution import integrated_gradients
from tiny_encoders import ARCHITECTURES, TEXTS, tiny_encoder

TEXTS = list(TEXTS)


@pytest.fixture(scope="module")
def encoders():
    cache = {}

    def get(architecture, **options):
        key = (architecture, *sorted(options.items()))
        if key not in cache:
            cache[key] = tiny_encoder(architecture, **options)
        return cache[key]

    return get


def attribute_with_captum(classifier, texts, labels, *, n_steps, method):
    """captum's integrated gradients over the padded batch, (N, L, d), its convergence delta, and the mask of tokens."""
    model, tokenizer = classifier.model, classifier.tokenizer
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    ids, mask = inputs["input_ids"], inputs["attention_mask"]

    def compute_probabilities(ids, mask):
        return model(input_ids=ids, attention_mask=mask).logits.softmax(-1)

    # The path begins at padding tokens; padding itself stays as it is.
    pad_ids = torch.full_like(ids, tokenizer.pad_token_id)
    attribution = LayerIntegratedGradients(compute_probabilities, model.get_input_embeddings())
    attributions, delta = attribution.attribute(
        ids,
        baselines=torch.where(mask.bool(), pad_ids, ids),
        additional_forward_args=(mask,),
        target=torch.tensor(labels),
        n_steps=n_steps,
        method=method,
        return_convergence_delta=True,
    )
    return attributions.detach(), delta, mask.bool().numpy()


def check_scores(scores, captum_scores, mask, **tolerances):
    """Compare the scores of each text with captum's, (N, L), at its tokens without <s> and </s>."""
    for row in range(len(TEXTS)):
        expected = captum_scores[row].numpy()[mask[row]][1:-1]
        np.testing.assert_allclose(scores[row], expected, **tolerances)


@pytest.mark.parametrize("architecture", [name for name in ARCHITECTURES if name != "bart"])
@pytest.mark.parametrize("rule", ["riemann_right", "gauss_legendre"])
def test_equal_to_captum_on_the_same_nodes_of_a_padded_batch(encoders, architecture, rule):
    classifier = encoders(architecture, double=True)

    attributions = integrated_gradients(
        classifier, TEXTS, baseline="pad", method=rule, steps=20, reduce="sum", progress=False
    )

    captum_attributions, delta, mask = attribute_with_captum(
        classifier,
        TEXTS,
        attributions.explained,
        n_steps=20,
        method=rule.replace("gauss_legendre", "gausslegendre"),
    )
    check_scores(attributions.scores, captum_attributions.sum(-1), mask, rtol=1e-4, atol=1e-6)
    # RoBERTa numbers its positions by what is no padding, so captum's delta, for which it runs the model on a text of
    # padding tokens, is that of other positions; ours is not.
    if architecture != "roberta":
        np.testing.assert_allclose(attributions.gap, delta.numpy(), atol=1e-4)


def test_zero_baseline_and_logit_equal_to_captum_over_embeddings(encoders):
    classifier = encoders("roberta", double=True)
    model = classifier.model

    attributions = integrated_gradients(
        classifier,
        TEXTS,
        target="logit",
        method="gauss_legendre",
        steps=12,
        reduce="l2",
        baseline="zeros",
        progress=False,
    )

    inputs = classifier.tokenizer(TEXTS, padding=True, return_tensors="pt")
    mask = inputs["attention_mask"].bool()
    embeddings = model.get_input_embeddings()(inputs["input_ids"]).detach()

    def compute_logits(embedded, mask):
        return model(inputs_embeds=embedded, attention_mask=mask.long()).logits

    captum_attributions = IntegratedGradients(compute_logits).attribute(
        embeddings,
        baselines=torch.where(mask.unsqueeze(-1), 0.0, embeddings),
        additional_forward_args=(mask,),
        target=torch.tensor(attributions.explained),
        n_steps=12,
        method="gausslegendre",
    )
    norms = captum_attributions.norm(dim=-1)
    check_scores(attributions.scores, norms, mask.numpy(), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("label", ["predicted", "gold"])
def test_bart_equal_to_captum_over_both_its_readers(encoders, label):
    classifier = encoders("bart", double=True)
    model, core = classifier.model, classifier.model.model
    gold = [0, 1, 2, 0, 1, 2]

    attributions = integrated_gradients(
        classifier,
        TEXTS,
        labels=gold,
        label=label,
        method="gauss_legendre",
        steps=12,
        reduce="sum",
        progress=False,
    )

    assert label == "predicted" or attributions.explained.tolist() == gold

    inputs = classifier.tokenizer(TEXTS, padding=True, return_tensors="pt")
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    end_positions = (ids == model.config.eos_token_id).long().argmax(dim=1)
    start_ids = torch.full((len(ids), 1), model.config.decoder_start_token_id)
    start_embeddings = core.decoder.embed_tokens(start_ids).detach()

    # The classifier itself refuses inputs_embeds, so its parts are run one after another here.
    def compute_probabilities(embedded, mask, end_positions, start_embeddings):
        # The decoder reads the text shifted by one place.
        decoded = torch.cat((start_embeddings, embedded[:, :-1]), dim=1)
        states = core(
            inputs_embeds=embedded, attention_mask=mask, decoder_inputs_embeds=decoded
        ).last_hidden_state
        sentence_states = states[torch.arange(len(end_positions)), end_positions]
        return model.classification_head(sentence_states).softmax(-1)

    embeddings = core.encoder.embed_tokens(ids).detach()
    probabilities = compute_probabilities(embeddings, mask, end_positions, start_embeddings)
    expected_probabilities = model(**inputs).logits.softmax(-1).detach()
    torch.testing.assert_close(probabilities, expected_probabilities)

    captum_attributions, delta = IntegratedGradients(compute_probabilities).attribute(
        embeddings,
        baselines=torch.where(mask.bool().unsqueeze(-1), 0.0, embeddings),
        additional_forward_args=(mask, end_positions, start_embeddings),
        target=torch.tensor(attributions.explained),
        n_steps=12,
        method="gausslegendre",
        return_convergence_delta=True,
    )
    captum_scores = captum_attributions.sum(-1).detach()
    check_scores(attributions.scores, captum_scores, mask.bool().numpy(), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(attributions.gap, delta.numpy(), atol=1e-4)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("method", ["riemann_right", "adaptive"])
def test_a_padded_batch_equals_one_example_at_a_time(encoders, architecture, method):
    classifier = encoders(architecture)
    options = {"method": method, "steps": 30, "tolerance": 0.01, "progress": False}

    batch = integrated_gradients(classifier, TEXTS, **options)

    for row, text in enumerate(TEXTS):
        separate = integrated_gradients(classifier, [text], **options)
        assert batch.tokens[row] == separate.tokens[0]
        np.testing.assert_allclose(batch.scores[row], separate.scores[0], rtol=2e-3, atol=2e-5)
        assert batch.nodes[row] == separate.nodes[0]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_adaptive_reaches_its_tolerance_unless_the_steps_end(encoders, architecture):
    attributions = integrated_gradients(
        encoders(architecture, double=True),
        TEXTS,
        tolerance=0.002,
        steps=200,
        reduce="sum",
        progress=False,
    )
    assert (np.abs(attributions.gap) <= 0.002).all()
    assert (attributions.nodes < 200).all()

    capped = integrated_gradients(
        encoders(architecture), TEXTS, tolerance=0.0, steps=9, progress=False
    )
    assert (capped.nodes <= 9).all()
