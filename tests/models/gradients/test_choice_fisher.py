"""Fisher information of choices, against the whole matrix G over the embeddings of the prompt."""

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
from rightreasons.models.wording import Prompt
from tiny_causal import save_tiny_causal
from tiny_models import save_tiny_multiple_choice

PROMPTS = ["the man fell because", "the glass", "what", "the story was dull and the woman was"]
CHOICES = [
    ["of the rain", "the floor was dry"],
    ["broke", "fell", "was wet and dry"],
    ["film", "plot"],  # single tokens, which one pass scores
    ["broke the glass", "broke", "broke the floor"],  # one is the beginning of the others
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
    """All eigenvalues of G = J^T diag(p) J, with J the Jacobian of log p with respect to x."""
    rows = [
        torch.autograd.grad(value, x, retain_graph=True)[0].flatten() for value in log_p.unbind()
    ]
    jacobian = torch.stack(rows)
    matrix = jacobian.T @ torch.diag(log_p.detach().exp()) @ jacobian
    return torch.linalg.eigvalsh(matrix).flip(0).numpy()


def decompose_causal(scorer, prompt, continuations, *, divide):
    """The eigenvalues for a causal model, which reads `inputs_embeds` once per choice."""
    model, tokenizer = scorer.model, scorer.tokenizer
    look_up = model.get_input_embeddings()
    ids = tokenizer(prompt, return_tensors="pt")["input_ids"]
    x = look_up(ids).detach().requires_grad_()
    scores = []
    for text in continuations:
        choice = tokenizer(text, add_special_tokens=False)["input_ids"]
        read = look_up(torch.tensor([choice])).detach()
        log = model(inputs_embeds=torch.cat((x, read), dim=1)).logits[0].log_softmax(-1)
        start = x.shape[1] - 1
        score = sum(log[start + place, token] for place, token in enumerate(choice))
        scores.append(score / (len(choice) if divide else 1))
    return decompose(torch.stack(scores).log_softmax(0), x)


@pytest.mark.parametrize("method", ["sum", "mean"])
def test_causal_choices_equal_the_whole_matrix(causal, method):
    found = fisher_information(
        bare(causal, method), PROMPTS, choices=CHOICES, spectrum=True, progress=False
    )

    assert not found.failures
    for row, (prompt, choices) in enumerate(zip(PROMPTS, CHOICES, strict=True)):
        expected = decompose_causal(causal, prompt, choices, divide=method == "mean")
        assert found.eigenvalues[row] == pytest.approx(expected[0], rel=1e-6)
        np.testing.assert_allclose(
            found.spectrum[row], expected[: len(choices) - 1], rtol=1e-5, atol=1e-10
        )
        # Of two choices there is one eigenvalue; the others of the matrix are 0.
        assert np.abs(expected[len(choices) - 1 :]).max() < 1e-9 * max(expected[0], 1)


def test_a_causal_model_is_scored_by_the_mean(causal):
    found = fisher_information(causal, PROMPTS, choices=CHOICES, progress=False)

    expected = [
        decompose_causal(causal, prompt, choices, divide=True)[0]
        for prompt, choices in zip(PROMPTS, CHOICES, strict=True)
    ]
    assert found.eigenvalues == pytest.approx(expected, rel=1e-6)
    assert "of the prompt" in found.definition


def test_a_constant_of_the_score_changes_probabilities_and_no_gradients(causal):
    scorer = bare(causal, "unconditional")
    found = fisher_information(scorer, PROMPTS[:1], choices=CHOICES[:1], progress=False)
    plain = fisher_information(
        bare(causal, "sum"), PROMPTS[:1], choices=CHOICES[:1], progress=False
    )

    # Of two choices lambda = p (1 - p) |difference of gradients|^2, and the norm is the same.
    def binary(information):
        odds = information.logits[0, 1] - information.logits[0, 0]
        p = 1 / (1 + np.exp(-odds))
        return information.eigenvalues[0] / (p * (1 - p))

    assert binary(found) == pytest.approx(binary(plain), rel=1e-6)
    assert found.logits[0] == pytest.approx(
        np.asarray(scorer.choose(PROMPTS[:1], CHOICES[:1], progress=False).logits[0])
    )


@pytest.mark.parametrize("scoring", ["sum", "next_words"])
def test_label_words_equal_the_whole_matrix(causal, scoring):
    prompt = Prompt(template="{{ text }} was", scoring=scoring, label_words=("dull", "lovely"))
    scorer = Prompted(prompt, LocalEngine(causal), ("negative", "positive"))
    texts = ["the film", "the woman and the plot"]

    found = fisher_information(scorer, texts, progress=False)

    for row, text in enumerate(texts):
        request = scorer.rendering.request(scorer_item(text))
        expected = decompose_causal(causal, request.prompt, request.continuations, divide=False)
        assert found.eigenvalues[row] == pytest.approx(expected[0], rel=1e-6)
    assert found.label_names == ("negative", "positive")


def scorer_item(text):
    from rightreasons.models.prompts import Item

    return Item("", {"text": text, "text_pair": None})


def decompose_head(classifier, prompt, choices):
    """The eigenvalues for a head: the tokens of [CLS] prompt [SEP] move in all sequences at once."""
    model, tokenizer = classifier.model, classifier.tokenizer
    look_up = model.get_input_embeddings()
    n_prompt = len(tokenizer(prompt)["input_ids"])
    x = look_up(tokenizer(prompt, return_tensors="pt")["input_ids"]).detach().requires_grad_()
    logits = []
    for choice in choices:
        inputs = tokenizer(prompt, choice, return_tensors="pt")
        tail = look_up(inputs.pop("input_ids")[:, n_prompt:]).detach()
        embeddings = torch.cat((x, tail), dim=1)[None]
        rest = {name: value[None] for name, value in inputs.items()}
        logits.append(model(inputs_embeds=embeddings, **rest).logits[0, 0])
    return decompose(torch.stack(logits).log_softmax(0), x)


def test_choices_of_a_head_equal_the_whole_matrix(head):
    prompts, choices = PROMPTS[:3], CHOICES[:3]
    found = fisher_information(head, prompts, choices=choices, spectrum=True, progress=False)

    assert not found.failures
    for row in range(3):
        expected = decompose_head(head, prompts[row], choices[row])
        assert found.eigenvalues[row] == pytest.approx(expected[0], rel=1e-6)
        np.testing.assert_allclose(
            found.spectrum[row], expected[: len(choices[row]) - 1], rtol=1e-5, atol=1e-12
        )
    assert found.logits.shape == (3, 3)
    assert found.logits[0, 2] == -np.inf


def test_items_that_cannot_be_read_are_named_and_the_others_stay(causal, tmp_path):
    choices = [CHOICES[0], ["", "fell"], ["film " * 300, "plot"], CHOICES[3]]
    options = {"choices": choices, "progress": False, "out": tmp_path / "run", "spectrum": True}

    found = fisher_information(causal, PROMPTS, **options)

    assert [name for name, _ in found.failures] == ["1", "2"]
    assert np.isnan(found.eigenvalues).tolist() == [False, True, True, False]
    assert [len(row) for row in found.spectrum] == [1, 1, 1, 2]
    # A second run reads the stored results.
    again = fisher_information(causal, PROMPTS, **options)
    np.testing.assert_array_equal(again.eigenvalues, found.eigenvalues)
    with pytest.raises(ValueError, match="item '1'"):
        fisher_information(causal, PROMPTS, choices=choices, progress=False, fail_fast=True)


def test_known_scores_are_not_computed_again(causal, monkeypatch):
    scorer = bare(causal)
    expected = fisher_information(scorer, PROMPTS, choices=CHOICES, progress=False)
    scores = scorer.choose(PROMPTS, CHOICES, progress=False)
    monkeypatch.delattr(Prompted, "score_items")

    found = fisher_information(
        scorer, PROMPTS, choices=CHOICES, scores=scores.take(np.arange(4)[::-1]), progress=False
    )

    # They go by id, so that their order does not matter.
    np.testing.assert_array_equal(found.eigenvalues, expected.eigenvalues)
    np.testing.assert_array_equal(found.logits, expected.logits)


def test_stored_results_of_other_scores_are_not_reused(causal, tmp_path):
    options = {"choices": CHOICES, "progress": False, "out": tmp_path}
    scores = bare(causal).choose(PROMPTS, CHOICES, progress=False)
    fisher_information(causal, PROMPTS, scores=scores, **options)
    rows = scores.logits
    doubled = dataclasses.replace(scores, logits=Ragged(2 * rows.values, rows.offsets))

    with pytest.warns(SetAsideWarning, match="differs in scores"):
        found = fisher_information(causal, PROMPTS, scores=doubled, **options)

    expected = fisher_information(causal, PROMPTS, choices=CHOICES, scores=doubled, progress=False)
    np.testing.assert_array_equal(found.eigenvalues, expected.eigenvalues)


def test_options_that_do_not_fit(causal):
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
