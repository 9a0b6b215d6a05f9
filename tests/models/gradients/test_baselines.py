"""Where the paths of attributions begin, by hand."""

from types import SimpleNamespace

import torch

from rightreasons.models.gradients.baselines import Baseline

# Three tokens of two numbers each; 9 is the pad token.
TABLE = {1: [1.0, 2.0], 2: [3.0, 5.0], 9: [0.5, 0.25]}
INPUTS = {"input_ids": torch.tensor([[1, 2, 9]]), "attention_mask": torch.tensor([[1, 1, 0]])}
KEPT = torch.tensor([[True, False, False]])


def embed(inputs):
    return torch.tensor([[TABLE[int(token)] for token in row] for row in inputs["input_ids"]])


MODEL = SimpleNamespace(embed=embed)


def test_zeros_keep_the_embeddings_of_kept_tokens():
    start = Baseline("zeros").make_embeddings(MODEL, INPUTS, KEPT)

    assert start.tolist() == [[[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]]]


def test_zeros_alone_need_no_embeddings():
    assert Baseline("zeros").make_embeddings(MODEL, INPUTS, torch.zeros_like(KEPT)) is None


def test_the_mean_stands_for_all_but_the_kept_tokens():
    mean = Baseline("mean", vector=torch.tensor([7.0, 8.0]))

    start = mean.make_embeddings(MODEL, INPUTS, KEPT)

    assert start.tolist() == [[[1.0, 2.0], [7.0, 8.0], [7.0, 8.0]]]


def test_a_token_replaces_the_tokens_of_the_text_that_are_not_kept():
    pad = Baseline("pad", 1)

    start = pad.make_embeddings(MODEL, INPUTS, torch.zeros_like(KEPT))

    # Padding stays what it is, as the model does not attend to it.
    assert start.tolist() == [[[1.0, 2.0], [1.0, 2.0], [0.5, 0.25]]]
