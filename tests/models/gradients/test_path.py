"""Points of paths share passes with those of similar length, and each pass is as wide as its longest item."""

import numpy as np
import pytest
import torch

from rightreasons.models.gradients.paths import Path


class SumModel:
    """A model of three classes whose logits are sums over the tokens; it records the shapes of its passes."""

    def __init__(self):
        self.shapes = []

    def embed(self, inputs):
        return torch.stack((inputs["input_ids"], inputs["input_ids"] ** 2), dim=-1).double()

    def logits(self, embeddings, inputs):
        assert embeddings.shape[:-1] == inputs["input_ids"].shape == inputs["attention_mask"].shape
        self.shapes.append(tuple(embeddings.shape[:-1]))
        masked = embeddings * inputs["attention_mask"].unsqueeze(-1)
        sums = masked.flatten(1, -2).sum(1)
        return torch.column_stack((sums, sums[:, 0] * sums[:, 1]))


def make_inputs(lengths, side="right"):
    """Return items with the tokens 1, 2, …, L, padded on one side."""
    width = max(lengths)
    ids = torch.zeros(len(lengths), width, dtype=torch.long)
    mask = torch.zeros(len(lengths), width, dtype=torch.long)
    for row, length in enumerate(lengths):
        columns = slice(length) if side == "right" else slice(width - length, None)
        ids[row, columns] = torch.arange(1, length + 1)
        mask[row, columns] = 1
    return {"input_ids": ids, "attention_mask": mask}


def make_path(model, lengths, *, side="right", max_tokens):
    inputs = make_inputs(lengths, side)
    return Path(model, inputs, baseline=None, target="logit", max_tokens=max_tokens)


def spread_positions(n):
    return np.linspace(0.2, 0.9, n)


def compute_gradients(path, items):
    """Return the gradients of the third logit at one point of the path of each item, none of them summed."""
    n = len(items)
    groups = np.arange(n)
    return path.gradients(np.array(items), spread_positions(n), np.ones(n), groups, np.full(n, 2))


@pytest.mark.parametrize("side", ["right", "left"])
def test_short_items_are_not_padded_to_the_longest(side):
    lengths = [50, 4, 3, 49]
    model = SumModel()
    path = make_path(model, lengths, side=side, max_tokens=100)
    items = [1, 0, 3, 2] + [1] * 5

    gradients, values, logits = compute_gradients(path, items)

    # One padding for the second of the two long items; the short ones would be padded by 46.
    assert model.shapes == [(2, 50), (7, 4)]
    # The third logit of an item at the position a is a^2 S1 S2, where S1 and S2 are the sums of the
    # tokens 1, 2, …, L and of their squares; its gradients at a token are a S2 and a S1.
    positions = spread_positions(len(items))
    for row, (item, a) in enumerate(zip(items, positions, strict=True)):
        n = lengths[item]
        s1 = n * (n + 1) / 2
        s2 = n * (n + 1) * (2 * n + 1) / 6
        assert values[row] == pytest.approx(a**2 * s1 * s2)
        assert logits[row] == pytest.approx([a * s1, a * s2, a**2 * s1 * s2])
        is_token = path._inputs["attention_mask"][item].bool()
        assert (gradients[row, ~is_token] == 0).all()
        expected = np.tile([a * s2, a * s1], (n, 1))
        assert gradients[row, is_token].numpy() == pytest.approx(expected)

    model.shapes.clear()
    assert path.logits(np.array(items), positions) == pytest.approx(logits)
    assert model.shapes == [(2, 50), (7, 4)]


def test_a_pass_ends_when_it_is_full():
    model = SumModel()
    # Four times 10 tokens fit in 45.
    compute_gradients(make_path(model, [10, 9], max_tokens=45), [1, 0, 0, 0, 1, 0, 1])
    assert model.shapes == [(4, 10), (3, 9)]

    model.shapes.clear()
    compute_gradients(make_path(model, [10, 9], max_tokens=1), [1, 0])
    assert model.shapes == [(1, 10), (1, 9)]
