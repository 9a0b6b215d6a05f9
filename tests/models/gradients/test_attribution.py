"""Integrated gradients: against captum on the same nodes, against one example at a time, and on five architectures."""

import numpy as np
import pytest
import torch
from captum.attr import IntegratedGradients, LayerIntegratedGradients

from rightreasons.models.gradients.attribution import integrated_gradients
from tiny_encoders import ARCHITECTURES, TEXTS, tiny_encoder

TEXTS = list(TEXTS)
CHOICES = [
    ["the rain", "a very good film"],
    ["it was dull", "the man fell because of the sun"],
    ["fine", "not"],
]
PROMPTS = ["the glass broke", "what", "the woman was lovely"]


@pytest.fixture(scope="module")
def encoders():
    made = {}

    def get(architecture, **options):
        key = (architecture, *sorted(options.items()))
        if key not in made:
            made[key] = tiny_encoder(architecture, **options)
        return made[key]

    return get


def _captum(
    classifier,
    texts,
    labels,
    *,
    baseline_id=None,
    n_steps=20,
    method="riemann_right",
    probability=True,
):
    """captum's integrated gradients over the padded batch, (N, L, d), and its convergence delta."""
    model, tokenizer = classifier.model, classifier.tokenizer
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    table = model.get_input_embeddings()

    def forward(ids, mask, *more):
        logits = model(input_ids=ids, attention_mask=mask).logits
        return logits.softmax(-1) if probability else logits

    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    base = torch.full_like(ids, tokenizer.pad_token_id if baseline_id is None else baseline_id)
    base = torch.where(mask.bool(), base, ids)
    method_of = LayerIntegratedGradients(forward, table)
    return method_of.attribute(
        ids,
        baselines=base,
        additional_forward_args=(mask,),
        target=torch.tensor(labels),
        n_steps=n_steps,
        method=method,
        return_convergence_delta=True,
    ), mask.bool().numpy()


@pytest.mark.parametrize("architecture", [a for a in ARCHITECTURES if a != "bart"])
@pytest.mark.parametrize("rule", ["riemann_right", "gauss_legendre"])
def test_equal_to_captum_on_the_same_nodes_of_a_padded_batch(encoders, architecture, rule):
    classifier = encoders(architecture, double=True)
    ours = integrated_gradients(
        classifier, TEXTS, baseline="pad", method=rule, steps=20, reduce="sum", progress=False
    )
    (theirs, delta), mask = _captum(
        classifier, TEXTS, ours.explained, method=rule.replace("gauss_legendre", "gausslegendre")
    )
    for row in range(len(TEXTS)):
        expected = theirs[row].sum(-1).detach().numpy()[mask[row]][1:-1]  # without <s> and </s>
        np.testing.assert_allclose(ours.scores[row], expected, rtol=1e-4, atol=1e-6)
    # RoBERTa numbers its positions by what is no padding, so captum's delta, for which it runs the model on a text of
    # padding tokens, is that of other positions; ours is not.
    if architecture != "roberta":
        np.testing.assert_allclose(ours.gap, delta.numpy(), atol=1e-4)


def test_zero_baseline_and_logit_equal_to_captum_over_embeddings(encoders):
    classifier = encoders("roberta", double=True)
    ours = integrated_gradients(
        classifier,
        TEXTS,
        target="logit",
        method="gauss_legendre",
        steps=12,
        reduce="l2",
        baseline="zeros",
        progress=False,
    )
    model = classifier.model
    inputs = classifier.tokenizer(TEXTS, padding=True, return_tensors="pt")
    mask = inputs["attention_mask"].bool()
    embeddings = model.get_input_embeddings()(inputs["input_ids"]).detach()

    def forward(embedded, mask):
        return model(inputs_embeds=embedded, attention_mask=mask.long()).logits

    baselines = torch.where(mask.unsqueeze(-1), 0.0, embeddings)
    theirs = IntegratedGradients(forward).attribute(
        embeddings,
        baselines=baselines,
        additional_forward_args=(mask,),
        target=torch.tensor(ours.explained),
        n_steps=12,
        method="gausslegendre",
    )
    for row in range(len(TEXTS)):
        expected = theirs[row].norm(dim=-1).numpy()[mask[row].numpy()][1:-1]
        np.testing.assert_allclose(ours.scores[row], expected, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("label", ["predicted", "gold"])
def test_bart_equal_to_captum_over_both_its_readers(encoders, label):
    classifier = encoders("bart", double=True)
    gold = [0, 1, 2, 0, 1, 2]
    ours = integrated_gradients(
        classifier,
        TEXTS,
        labels=gold,
        label=label,
        method="gauss_legendre",
        steps=12,
        reduce="sum",
        progress=False,
    )
    assert label == "predicted" or ours.explained.tolist() == gold
    model, core = classifier.model, classifier.model.model
    inputs = classifier.tokenizer(TEXTS, padding=True, return_tensors="pt")
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    # The classifier itself refuses inputs_embeds, so its parts are run one after another here.
    eos = (ids == model.config.eos_token_id).long().argmax(dim=1)
    start = core.decoder.embed_tokens(
        torch.full((len(ids), 1), model.config.decoder_start_token_id)
    ).detach()

    def forward(embedded, mask, eos, start):
        decoded = torch.cat((start, embedded[:, :-1]), dim=1)
        hidden = core(
            inputs_embeds=embedded, attention_mask=mask, decoder_inputs_embeds=decoded
        ).last_hidden_state
        return model.classification_head(hidden[torch.arange(len(eos)), eos]).softmax(-1)

    embeddings = core.encoder.embed_tokens(ids).detach()
    expected_logits = model(**inputs).logits.softmax(-1).detach()
    torch.testing.assert_close(forward(embeddings, mask, eos, start), expected_logits)
    baselines = torch.where(mask.bool().unsqueeze(-1), 0.0, embeddings)
    theirs, delta = IntegratedGradients(forward).attribute(
        embeddings,
        baselines=baselines,
        additional_forward_args=(mask, eos, start),
        target=torch.tensor(ours.explained),
        n_steps=12,
        method="gausslegendre",
        return_convergence_delta=True,
    )
    for row in range(len(TEXTS)):
        expected = theirs[row].sum(-1).detach().numpy()[mask[row].bool().numpy()][1:-1]
        np.testing.assert_allclose(ours.scores[row], expected, rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(ours.gap, delta.numpy(), atol=1e-4)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("method", ["riemann_right", "adaptive"])
def test_a_padded_batch_equals_one_example_at_a_time(encoders, architecture, method):
    classifier = encoders(architecture)
    options = {"method": method, "steps": 30, "tolerance": 0.01, "progress": False}
    together = integrated_gradients(classifier, TEXTS, **options)
    for row, text in enumerate(TEXTS):
        alone = integrated_gradients(classifier, [text], **options)
        assert together.tokens[row] == alone.tokens[0]
        np.testing.assert_allclose(together.scores[row], alone.scores[0], rtol=2e-3, atol=2e-5)
        assert together.nodes[row] == alone.nodes[0]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_adaptive_keeps_its_word_where_the_steps_allow(encoders, architecture):
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
