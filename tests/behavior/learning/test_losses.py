"""Losses of behavioral learning against their arithmetic."""

import math

import pytest
import torch

from rightreasons.behavior.learning.items import label_targets
from rightreasons.behavior.learning.methods import dir_error, dir_loss, inv_loss, mft_loss


def logs(*rows):
    return torch.tensor(rows, dtype=torch.float64).log()


def test_soft_labels_under_softmax_and_sigmoid():
    logits, half = torch.tensor([[0.2, -0.1]], dtype=torch.float64), torch.tensor([[0.5, 0.5]])
    # softmax: (log(1 + e^-.3) + log(1 + e^.3)) / 2; sigmoid: mean of log(1 + e^z) - z/2 over z = .2, -.1
    assert mft_loss(logits, half).item() == pytest.approx(0.704355, abs=1e-6)
    assert mft_loss(logits, half, activation="sigmoid").item() == pytest.approx(0.696268, abs=1e-6)


def test_hard_labels_are_the_ordinary_cross_entropy():
    logits = torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    gold = [0, 1, 2, 2, 1, 0]
    ordinary = torch.nn.functional.cross_entropy(logits, torch.tensor(gold), reduction="none")
    torch.testing.assert_close(mft_loss(logits, torch.eye(3, dtype=torch.float64)[gold]), ordinary)


def test_invariance():
    # -(.8 ln .7 + .2 ln .3) = .285340 + .240795
    assert inv_loss(logs((0.8, 0.2)), logs((0.7, 0.3))).item() == pytest.approx(0.526135, abs=1e-6)


def test_gradients_reach_the_originals():
    original, changed = logs((0.8, 0.2)).requires_grad_(), logs((0.7, 0.3)).requires_grad_()
    inv_loss(original, changed).sum().backward()
    assert min(changed.grad.abs().sum(), original.grad.abs().sum()) > 0


@pytest.mark.parametrize(
    ("direction", "before", "after", "error"),
    [
        ("not_more_conf", (0.6, 0.4), (0.9, 0.1), 0.3),
        ("not_more_conf", (0.4, 0.6), (0.7, 0.3), 0.0),  # the first answer is positive, and it fell
        ("not_less_conf", (0.9, 0.1), (0.6, 0.4), 0.3),
        ("not_less_conf", (0.3, 0.7), (0.1, 0.9), 0.0),
        ("not_less_0", (0.9, 0.1), (0.6, 0.4), 0.3),
        ("not_less_0", (0.6, 0.4), (0.9, 0.1), 0.0),
        ("not_less_2", (0.1, 0.9), (0.4, 0.6), 0.3),
        ("not_less_2", (0.9, 0.1), (0.6, 0.4), 0.0),
    ],
)
def test_directions(direction, before, after, error):
    p, q = torch.tensor([before], dtype=torch.float64), torch.tensor([after], dtype=torch.float64)
    assert dir_error(p, q, direction).item() == pytest.approx(error)
    # -log(1 - .3) = .356675
    assert dir_loss(p.log(), q.log(), direction).item() == pytest.approx(
        -math.log(1 - error), abs=1e-9
    )


def test_a_complete_reversal_has_a_finite_loss():
    loss = dir_loss(torch.tensor([[1e4, -1e4]]), torch.tensor([[-1e4, 1e4]]), "not_less_conf")
    assert torch.isfinite(loss).all()


def test_losses_accept_further_leading_dimensions():
    logits = torch.randn(3, 5, 2, generator=torch.Generator().manual_seed(1))
    other = logits.flip(1)
    torch.testing.assert_close(inv_loss(logits, other)[1], inv_loss(logits[1], other[1]))
    torch.testing.assert_close(
        dir_loss(logits, other, "not_less_conf")[2], dir_loss(logits[2], other[2], "not_less_conf")
    )


def test_bad_input_is_told():
    with pytest.raises(ValueError, match="direction"):
        dir_error(torch.ones(1, 2), torch.ones(1, 2), "up")
    with pytest.raises(ValueError, match="sentiment"):
        label_targets([7], treatment="sentiment")
    with pytest.raises(ValueError, match="from 0 to 1"):
        label_targets([2])
