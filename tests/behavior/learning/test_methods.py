"""Each method against a derivation by hand in numpy."""

import numpy as np
import pytest
import torch

from rightreasons.behavior.learning.methods import GroupWeights, irm_loss, irm_weight, set_dropout
from rightreasons.behavior.learning.trainer import Fish


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def irm_by_hand(z, y, environments, weight):
    """L_e = mean CE; dL_e/du_c = mean_i (p_ic - y_ic) z_ic, as the scaled logits are u_c z_ic."""
    terms = []
    for rows in environments:
        p = softmax(z[rows])
        loss = -(y[rows] * np.log(p)).sum(1).mean()
        slope = ((p - y[rows]) * z[rows]).mean(0)
        terms.append(loss + weight * (slope**2).sum())
    return np.mean(terms) / max(1.0, weight)


@pytest.mark.parametrize("weight", [1.0, 1e4])
def test_irm_value_and_gradient(weight):
    rng = np.random.default_rng(0)
    x, matrix = rng.normal(size=(8, 3)), rng.normal(size=(3, 2))
    y = np.eye(2)[rng.integers(2, size=8)]
    environments = [np.arange(3), np.arange(3, 8)]
    theta, target = torch.from_numpy(matrix.copy()).requires_grad_(), torch.from_numpy(y)
    logits = torch.from_numpy(x) @ theta

    def loss_of(rows):
        return lambda z: -(target[rows] * z[rows].log_softmax(-1)).sum(-1).mean()

    loss = irm_loss(logits, [loss_of(rows) for rows in environments], weight)
    loss.backward()
    assert loss.item() == pytest.approx(irm_by_hand(x @ matrix, y, environments, weight))
    numeric = np.zeros_like(matrix)
    for place in np.ndindex(*matrix.shape):
        step = np.zeros_like(matrix)
        step[place] = 1e-6
        up, down = (irm_by_hand(x @ (matrix + s), y, environments, weight) for s in (step, -step))
        numeric[place] = (up - down) / 2e-6
    np.testing.assert_allclose(theta.grad.numpy(), numeric, rtol=1e-5, atol=1e-7)


def test_irm_weight_grows_after_a_fifth():
    assert [irm_weight(t) for t in (0.0, 0.19, 0.2, 1.0)] == [1.0, 1.0, 1e4, 1e4]


def test_group_weights():
    groups = GroupWeights(4)
    loss = groups.scale(1, torch.tensor(2.0, dtype=torch.float64))
    # .25 e^.02 = .255050; the sum is 1.005050, so q_1 = .253769 and the others .248744; 2 q_1 = .507537
    np.testing.assert_allclose(groups.weights, [0.248744, 0.253769, 0.248744, 0.248744], atol=1e-6)
    assert loss.item() == pytest.approx(0.507537, abs=1e-6)
    groups.scale(0, torch.tensor(5.0))
    assert groups.weights.sum() == pytest.approx(1.0)


def test_fish_goes_a_share_of_the_way_after_five_steps():
    layer = torch.nn.Linear(2, 1, bias=False).double()
    start = layer.weight.detach().numpy().copy()
    fish = Fish(layer.parameters(), 0.05)
    x, rate, inner = torch.tensor([[1.0, 2.0]], dtype=torch.float64), 0.1, start.copy()
    for step in range(5):
        layer.zero_grad()
        (layer(x) - step).square().sum().backward()
        with torch.no_grad():
            layer.weight -= rate * layer.weight.grad
        inner = inner - rate * 2 * (inner @ x.numpy().T - step) * x.numpy()
        if step < 4:
            fish.after_step()
            np.testing.assert_allclose(layer.weight.detach().numpy(), inner)
    fish.after_step()
    np.testing.assert_allclose(layer.weight.detach().numpy(), start + 0.05 * (inner - start))


def test_dropout_reaches_every_layer():
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 2), torch.nn.Dropout(0.1), torch.nn.Sequential(torch.nn.Dropout(0.2))
    )
    assert set_dropout(model, 0.3) == 2
    assert {m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)} == {0.3}
