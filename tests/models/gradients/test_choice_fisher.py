"""The Fisher information of choices equals that of the whole matrix G over the embeddings of the prompt."""

import dataclasses

import numpy as np
import pytest
import torch

from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import SetAsideWarning
from rightreasons.models.choices import bare, load_causal
from rightreasons.models.gradients.choice_fisher import explain_missing_choice_gradients
from rightreasons.models.gradients.eigenvalues import FisherOptions
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.loading import load_multiple_choice
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Item
from rightreasons.models.wording import Prompt
from tiny_causal import save_tiny_causal
from tiny_models import save_tiny_multiple_choice

PROMPTS = ["the man fell because", "the glass", "what", "the story was dull and the woman was"]
CHOICES = [
    ["of the rain", "the floor was dry"],
    ["broke", "fell", "was wet and dry"],
    # Single tokens, which one pass scores.
    ["film", "plot"],
    # One is the beginning of the others.
    ["broke the glass", "broke", "broke the floor"],
]


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    scorer = load_causal(save_tiny_causal(tmp_path_factory.mktemp("causal")))
    return dataclasses.replace(scorer, model=scorer.model.double())


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    model = load_multiple_choice(save_tiny_multiple_choice(tmp_path_factory.mktemp("head")))
    model.model.double()
    return model


def decompose(log_p, x):
    """Return all eigenvalues of G = J^T diag(p) J, with J the Jacobian of log p with respect to x."""
    rows = []
    for value in log_p.unbind():
        (gradient,) = torch.autograd.grad(value, x, retain_graph=True)
        rows.append(gradient.flatten())
    jacobian = torch.stack(rows)
    matrix = jacobian.T @ torch.diag(log_p.detach().exp()) @ jacobian
    return torch.linalg.eigvalsh(matrix).flip(0).numpy()


def decompose_causal(scorer, prompt, continuations, *, is_mean):
    """Return the eigenvalues for a causal model, which reads `inputs_embeds` once per choice."""
    model = scorer.model
    tokenizer = scorer.tokenizer
    look_up = model.get_input_embeddings()
    prompt_ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    x = look_up(prompt_ids).detach().requires_grad_()
    scores = []
    for text in continuations:
        choice_ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        choice = look_up(torch.tensor([choice_ids])).detach()
        logits = model(inputs_embeds=torch.cat((x, choice), dim=1)).logits[0]
        # The logits at a position are those of the next token.
        log_probabilities = logits.log_softmax(-1)[x.shape[1] - 1 :]
        score = sum(log_probabilities[index, token] for index, token in enumerate(choice_ids))
        scores.append(score / len(choice_ids) if is_mean else score)
    return decompose(torch.stack(scores).log_softmax(0), x)


@pytest.mark.parametrize("method", ["sum", "mean"])
def test_causal_choices_equal_the_whole_matrix(causal, method):
    information = fisher_information(
        bare(causal, method), PROMPTS, choices=CHOICES, spectrum=True, progress=False
    )

    assert not information.failures
    for row, (prompt, choices) in enumerate(zip(PROMPTS, CHOICES, strict=True)):
        expected = decompose_causal(causal, prompt, choices, is_mean=method == "mean")
        n_values = len(choices) - 1
        assert information.eigenvalues[row] == pytest.approx(expected[0], rel=1e-6)
        np.testing.assert_allclose(
            information.spectrum[row], expected[:n_values], rtol=1e-5, atol=1e-10
        )
        # Of two choices there is one eigenvalue; the others of the matrix are 0.
        assert np.abs(expected[n_values:]).max() < 1e-9 * max(expected[0], 1)


def test_a_causal_model_is_scored_by_the_mean(causal):
    information = fisher_information(causal, PROMPTS, choices=CHOICES, progress=False)

    expected = []
    for prompt, choices in zip(PROMPTS, CHOICES, strict=True):
        expected.append(decompose_causal(causal, prompt, choices, is_mean=True)[0])
    assert information.eigenvalues == pytest.approx(expected, rel=1e-6)
    assert "of the prompt" in information.definition


def test_a_constant_of_the_score_changes_probabilities_and_no_gradients(causal):
    prompts, choices = PROMPTS[:1], CHOICES[:1]
    unconditional = bare(causal, "unconditional")

    def compute_squared_difference(information):
        """Return |difference of gradients|^2 of two choices, lambda / (p (1 - p))."""
        log_odds = information.logits[0, 1] - information.logits[0, 0]
        p = 1 / (1 + np.exp(-log_odds))
        return information.eigenvalues[0] / (p * (1 - p))

    shifted = fisher_information(unconditional, prompts, choices=choices, progress=False)
    summed = fisher_information(bare(causal, "sum"), prompts, choices=choices, progress=False)

    expected = compute_squared_difference(summed)
    assert compute_squared_difference(shifted) == pytest.approx(expected, rel=1e-6)
    scores = unconditional.choose(prompts, choices, progress=False)
    assert shifted.logits[0] == pytest.approx(np.asarray(scores.logits[0]))


@pytest.mark.parametrize("scoring", ["sum", "next_words"])
def test_label_words_equal_the_whole_matrix(causal, scoring):
    prompt = Prompt(template="{{ text }} was", scoring=scoring, label_words=("dull", "lovely"))
    scorer = Prompted(prompt, LocalEngine(causal), ("negative", "positive"))
    texts = ["the film", "the woman and the plot"]

    information = fisher_information(scorer, texts, progress=False)

    for row, text in enumerate(texts):
        request = scorer.rendering.request(Item("", {"text": text, "text_pair": None}))
        expected = decompose_causal(causal, request.prompt, request.continuations, is_mean=False)
        assert information.eigenvalues[row] == pytest.approx(expected[0], rel=1e-6)
    assert information.label_names == ("negative", "positive")


def decompose_head(classifier, prompt, choices):
    """Return the eigenvalues for a head: the tokens of [CLS] prompt [SEP] change in all sequences at once."""
    model = classifier.model
    tokenizer = classifier.tokenizer
    look_up = model.get_input_embeddings()
    prompt_ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    n_prompt = prompt_ids.shape[1]
    x = look_up(prompt_ids).detach().requires_grad_()
    logits = []
    for choice in choices:
        inputs = tokenizer(prompt, choice, return_tensors="pt")
        choice_embeddings = look_up(inputs.pop("input_ids")[:, n_prompt:]).detach()
        embeddings = torch.cat((x, choice_embeddings), dim=1)[None]
        # An item with a single choice.
        other_inputs = {name: value[None] for name, value in inputs.items()}
        logits.append(model(inputs_embeds=embeddings, **other_inputs).logits[0, 0])
    return decompose(torch.stack(logits).log_softmax(0), x)


def test_choices_of_a_head_equal_the_whole_matrix(head):
    prompts = PROMPTS[:3]
    all_choices = CHOICES[:3]

    information = fisher_information(
        head, prompts, choices=all_choices, spectrum=True, progress=False
    )

    assert not information.failures
    for row, (prompt, choices) in enumerate(zip(prompts, all_choices, strict=True)):
        expected = decompose_head(head, prompt, choices)
        assert information.eigenvalues[row] == pytest.approx(expected[0], rel=1e-6)
        np.testing.assert_allclose(
            information.spectrum[row], expected[: len(choices) - 1], rtol=1e-5, atol=1e-12
        )
    assert information.logits.shape == (3, 3)
    # The first item has two choices.
    assert information.logits[0, 2] == -np.inf


def test_failed_items_are_named_and_the_others_have_results(causal, tmp_path):
    choices = [CHOICES[0], ["", "fell"], ["film " * 300, "plot"], CHOICES[3]]
    options = {"choices": choices, "progress": False, "out": tmp_path / "run", "spectrum": True}

    information = fisher_information(causal, PROMPTS, **options)

    assert [name for name, _ in information.failures] == ["1", "2"]
    assert np.isnan(information.eigenvalues).tolist() == [False, True, True, False]
    assert [len(row) for row in information.spectrum] == [1, 1, 1, 2]
    # A second run reads the stored results.
    stored = fisher_information(causal, PROMPTS, **options)
    np.testing.assert_array_equal(stored.eigenvalues, information.eigenvalues)
    with pytest.raises(ValueError, match="item '1'"):
        fisher_information(causal, PROMPTS, choices=choices, progress=False, fail_fast=True)


def test_known_scores_are_not_computed_again(causal, monkeypatch):
    scorer = bare(causal)
    expected = fisher_information(scorer, PROMPTS, choices=CHOICES, progress=False)
    scores = scorer.choose(PROMPTS, CHOICES, progress=False)
    # Scores are matched by id, so that their order does not matter.
    reversed_scores = scores.take(np.arange(4)[::-1])
    monkeypatch.delattr(Prompted, "score_items")

    information = fisher_information(
        scorer, PROMPTS, choices=CHOICES, scores=reversed_scores, progress=False
    )

    np.testing.assert_array_equal(information.eigenvalues, expected.eigenvalues)
    np.testing.assert_array_equal(information.logits, expected.logits)


def test_stored_results_of_other_scores_are_not_reused(causal, tmp_path):
    options = {"choices": CHOICES, "progress": False}
    scores = bare(causal).choose(PROMPTS, CHOICES, progress=False)
    fisher_information(causal, PROMPTS, scores=scores, out=tmp_path, **options)
    rows = scores.logits
    doubled = dataclasses.replace(scores, logits=Ragged(2 * rows.values, rows.offsets))

    with pytest.warns(SetAsideWarning, match="differs in scores"):
        information = fisher_information(causal, PROMPTS, scores=doubled, out=tmp_path, **options)

    expected = fisher_information(causal, PROMPTS, scores=doubled, **options)
    np.testing.assert_array_equal(information.eigenvalues, expected.eigenvalues)


def test_options_that_do_not_apply_are_refused(causal):
    three_of_four = bare(causal).choose(PROMPTS[:3], CHOICES[:3], progress=False)
    for option, arguments in (
        ("eigenvector", {"choices": CHOICES, "eigenvector": True}),
        ("method", {"choices": CHOICES, "method": "power"}),
        ("choices", {}),
        ("max_length", {"choices": CHOICES, "max_length": 8}),
        ("scores", {"choices": CHOICES, "scores": three_of_four}),
    ):
        with pytest.raises(ValueError, match="Expected") as error:
            fisher_information(causal, PROMPTS, progress=False, **arguments)
        assert error.value.option == (option,)

    with pytest.raises(ValueError, match="largest eigenvalue alone") as error:
        FisherOptions(spectrum=True, method="power")
    assert error.value.option == ("method",)


def test_generated_answers_have_no_gradients(causal):
    scorer = Prompted(Prompt(scoring="generated"), LocalEngine(causal))

    assert "needs likelihoods" in explain_missing_choice_gradients(scorer)
    assert explain_missing_choice_gradients(causal) == ""
