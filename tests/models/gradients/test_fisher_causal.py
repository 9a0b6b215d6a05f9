"""Fisher information of a causal language model's answers, against one choice at a time read from `inputs_embeds`."""

import dataclasses

import numpy as np
import pytest
import torch

from rightreasons.models.choices import load_causal
from rightreasons.models.gradients.fisher import fisher_information
from rightreasons.models.local import LocalEngine
from rightreasons.models.prompted import Prompted
from rightreasons.models.wording import Prompt
from tiny_causal import save_tiny_causal

PROMPTS = ["the man fell because", "the glass", "what", "the story was dull and the woman was", "the rain"]
CHOICES = [
    ["of the rain", "the floor was dry"],
    ["broke", "fell", "was wet and dry"],
    ["film", "plot"],  # label words of one token
    ["lovely", "not good but fine", "sun"],
    ["broke the glass", "broke"],  # one is the beginning of the other
]


@pytest.fixture(scope="module")
def scorer(tmp_path_factory):
    scorer = load_causal(save_tiny_causal(tmp_path_factory.mktemp("causal")))
    return dataclasses.replace(scorer, model=scorer.model.double())


def literal(scorer, prompt, row, divide):
    """The largest eigenvalue of G, and the norm by which its eigenvector moves each token of the prompt."""
    model, tokenizer = scorer.model, scorer.tokenizer
    ids = tokenizer(prompt, return_tensors="pt")["input_ids"].to(model.device)
    x = model.get_input_embeddings()(ids).detach().requires_grad_()
    choices = [tokenizer(choice, add_special_tokens=False)["input_ids"] for choice in row]
    scores = []
    for choice in choices:
        read = model.get_input_embeddings()(torch.tensor([choice], dtype=torch.long, device=model.device)).detach()
        log = model(inputs_embeds=torch.cat((x, read), dim=1)).logits[0].log_softmax(-1)
        picked = sum(log[x.shape[1] - 1 + place, token] for place, token in enumerate(choice))
        scores.append(picked / (len(choice) if divide else 1))
    log_p = torch.stack(scores).log_softmax(0)
    rows = torch.stack([torch.autograd.grad(value, x, retain_graph=True)[0].flatten() for value in log_p])
    values, vectors = torch.linalg.eigh(rows.T @ torch.diag(log_p.detach().exp()) @ rows)
    return (
        float(values[-1]),
        vectors[:, -1].view(x.shape[1], -1).norm(dim=1).cpu().numpy(),
        log_p.detach().cpu().numpy(),
    )


@pytest.mark.parametrize("method", ["sum", "mean"])
def test_equal_to_one_choice_at_a_time(scorer, method):
    found = fisher_information(
        dataclasses.replace(scorer, method=method), PROMPTS, choices=CHOICES, eigenvector=True, progress=False
    )
    for item, (prompt, row) in enumerate(zip(PROMPTS, CHOICES, strict=True)):
        value, norms, log_p = literal(scorer, prompt, row, method == "mean")
        assert found.eigenvalues[item] == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(found.token_norms[item], norms, rtol=1e-5, atol=1e-9)
        assert found.tokens[item] == tuple(prompt.split())
        scores = torch.tensor(np.asarray(found.logits[item]))
        np.testing.assert_allclose(scores.log_softmax(0), log_p, atol=1e-6)
    assert f"of the prompt (choices by {method};" in found.definition


def test_one_pair_per_pass_gives_the_same(scorer):
    together = fisher_information(scorer, PROMPTS, choices=CHOICES, progress=False)
    alone = fisher_information(scorer, PROMPTS, choices=CHOICES, batch_size=1, max_tokens=1, progress=False)
    np.testing.assert_allclose(together.eigenvalues, alone.eigenvalues, rtol=1e-9)
    power = fisher_information(scorer, PROMPTS, choices=CHOICES, method="power", tolerance=1e-8, progress=False)
    np.testing.assert_allclose(together.eigenvalues, power.eigenvalues, rtol=1e-4)


@pytest.mark.parametrize("method", ["letters", "unconditional"])
def test_scores_are_those_of_the_choices(scorer, method):
    scorer = dataclasses.replace(scorer, method=method)
    found = fisher_information(scorer, PROMPTS, choices=CHOICES, eigenvector=True, unit="word", progress=False)
    scores = scorer.choose(PROMPTS, CHOICES, method=method, progress=False).logits
    for item, prompt in enumerate(PROMPTS):
        np.testing.assert_allclose(found.logits[item], scores[item], atol=1e-5)
        # The tokens are those of the user's prompt, though the model reads the choices before its answer too.
        assert found.tokens[item] == tuple(prompt.split())
        assert 0 < (np.asarray(found.token_norms[item]) ** 2).sum() <= 1 + 1e-9
    if method == "letters":
        heads = [f"{prompt}\n" + "\n".join(f"{letter}. {text}" for letter, text in zip("ABC", row, strict=False))
                 for prompt, row in zip(PROMPTS, CHOICES, strict=True)]  # fmt: skip
        for item, (head, row) in enumerate(zip(heads, CHOICES, strict=True)):
            value, _, _ = literal(scorer, f"{head}\nAnswer:", list("ABC"[: len(row)]), False)
            assert found.eigenvalues[item] == pytest.approx(value, rel=1e-6)


def test_an_empty_prompt_is_named_and_the_others_stay(scorer, tmp_path):
    found = fisher_information(
        scorer, ["the man", "", "what"], choices=[["fell", "broke"]] * 3, progress=False, out=tmp_path / "run"
    )
    assert found.failures == (("1", "Expected a text with tokens, but item '1' has none."),)
    assert np.isfinite(found.eigenvalues).tolist() == [True, False, True]
    again = fisher_information(
        scorer, ["the man", "", "what"], choices=[["fell", "broke"]] * 3, progress=False, out=tmp_path / "run"
    )
    np.testing.assert_array_equal(again.eigenvalues, found.eigenvalues)


def test_what_a_causal_model_cannot_read_is_said(scorer):
    with pytest.raises(ValueError, match="Expected `choices` alone for the causal language model .*, but got none"):
        fisher_information(scorer, PROMPTS, progress=False)
    with pytest.raises(ValueError, match="but got `text_pairs`"):
        fisher_information(scorer, PROMPTS, choices=CHOICES, text_pairs=PROMPTS, progress=False)


@pytest.mark.parametrize("prompted", [False, True])
@pytest.mark.parametrize("method", ["mean", "unconditional"])
def test_choices_that_cannot_be_read_are_named_and_the_others_stay(scorer, method, prompted):
    model = dataclasses.replace(scorer, method=method)
    if prompted:
        model = Prompted(Prompt(scoring=method), LocalEngine(scorer))
    choices = [CHOICES[0], ["", "fell"], ["film " * 300, "plot"], *CHOICES[3:]]
    found = fisher_information(model, PROMPTS, choices=choices, progress=False)
    assert [name for name, _ in found.failures] == ["1", "2"]
    assert "but choice 0 of item '1'" in found.failures[0][1]
    assert found.failures[1][1].startswith("Expected choices that ")
    assert np.isnan(found.eigenvalues[1:3]).all()
    able = [0, 3, 4]
    rest = fisher_information(model, [PROMPTS[n] for n in able], choices=[choices[n] for n in able], progress=False)
    np.testing.assert_allclose(found.eigenvalues[able], rest.eigenvalues, rtol=1e-6)
    with pytest.raises(ValueError, match="item '1'|item '2'"):
        fisher_information(model, PROMPTS, choices=choices, progress=False, fail_fast=True)
    with pytest.raises(ValueError, match="choice 0 of item '0'"):
        fisher_information(model, ["what"], choices=[["", "fell"]], progress=False)
