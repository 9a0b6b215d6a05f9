"""Log-probabilities of single tokens, and logits of a model without virtual tokens."""

from __future__ import annotations

import types

import numpy as np
import pytest
import torch

from rightreasons.models.language import likelihoods
from rightreasons.models.language.likelihoods import _select_likelihoods, compute_logits
from rightreasons.models.trial import RefusalError


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6), (torch.float16, 2e-3)]
)
def test_a_log_probability_has_the_digits_of_its_logits(monkeypatch, dtype, tolerance):
    # Two blocks of two tokens and one.
    monkeypatch.setattr(likelihoods, "_N_TARGETS", 2)
    logits = torch.randn((2, 3, 50), generator=torch.Generator().manual_seed(0)).double()
    rows, columns, targets = np.array([0, 1, 1]), np.array([2, 0, 1]), np.array([7, 0, 49])

    values = _select_likelihoods(logits.to(dtype), rows, columns, targets)

    expected = logits.log_softmax(-1)[rows, columns, targets]
    assert values.dtype == torch.float64
    np.testing.assert_allclose(values, expected, rtol=tolerance)


def test_logits_of_virtual_tokens_are_left_out():
    logits = torch.arange(24.0).view(1, 4, 6)
    inputs = {"input_ids": torch.zeros((1, 3))}

    table = compute_logits(lambda **_: types.SimpleNamespace(logits=logits), inputs)

    assert table.tolist() == logits[:, 1:].tolist()
    for outputs in (types.SimpleNamespace(logits=None), types.SimpleNamespace(logits=logits[0])):
        with pytest.raises(RefusalError, match="every token"):
            compute_logits(lambda outputs=outputs, **_: outputs, inputs)
