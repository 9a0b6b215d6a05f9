"""Points of paths share passes with those of like length, and each pass is as wide as its longest item."""

import numpy as np
import pytest
import torch

from rightreasons.models.gradients.paths import Path


class Sums:
    """A model of three classes whose logits are sums over the real tokens; it keeps the shapes that it was given."""

    def __init__(self):
        self.shapes = []

    def embed(self, inputs):
        return torch.stack((inputs["input_ids"], inputs["input_ids"] ** 2), dim=-1).double()

    def logits(self, embeddings, inputs):
        assert embeddings.shape[:-1] == inputs["input_ids"].shape == inputs["attention_mask"].shape
        self.shapes.append(tuple(embeddings.shape[:-1]))
        summed = (embeddings * inputs["attention_mask"].unsqueeze(-1)).flatten(1, -2).sum(1)
        return torch.column_stack((summed, summed[:, 0] * summed[:, 1]))


def inputs_of(lengths, side="right"):
    width = max(lengths)
    ids, mask = (
        torch.zeros(len(lengths), width, dtype=torch.long),
        torch.zeros(len(lengths), width, dtype=torch.long),
    )
    for row, length in enumerate(lengths):
        columns = slice(length) if side == "right" else slice(width - length, None)
        ids[row, columns] = torch.arange(1, length + 1)
        mask[row, columns] = 1
    return {"input_ids": ids, "attention_mask": mask}


def gradients_at(path, items):
    items = np.array(items)
    places = np.linspace(0.2, 0.9, len(items))
    alone = np.arange(len(items))
    return path.gradients(items, places, np.ones(len(items)), alone, np.full(len(items), 2))


@pytest.mark.parametrize("side", ["right", "left"])
def test_short_items_are_not_padded_to_the_longest(side):
    model = Sums()
    path = Path(
        model, inputs_of([50, 4, 3, 49], side), baseline=None, target="logit", max_tokens=100
    )
    items = [1, 0, 3, 2] + [1] * 5
    total, values, logits = gradients_at(path, items)
    # A place of padding for each of the second and two of the long items; the short ones would be padded by 46.
    assert model.shapes == [(2, 50), (7, 4)]
    # The third logit of item n with tokens 1, 2, …, L, at the place a: a^2 S1 S2, where S1 and S2 are the sums of the
    # tokens and of their squares; its gradients at a token are a S2 and a S1.
    places = np.linspace(0.2, 0.9, len(items))
    for row, (item, place) in enumerate(zip(items, places, strict=True)):
        length = [50, 4, 3, 49][item]
        first, second = length * (length + 1) / 2, length * (length + 1) * (2 * length + 1) / 6
        assert values[row] == pytest.approx(place**2 * first * second)
        assert logits[row] == pytest.approx(
            [place * first, place * second, place**2 * first * second]
        )
        real = path._inputs["attention_mask"][item].bool()
        assert (total[row, ~real] == 0).all()
        assert total[row, real].numpy() == pytest.approx(
            np.tile([place * second, place * first], (length, 1))
        )
    model.shapes.clear()
    assert path.logits(np.array(items), places) == pytest.approx(logits)
    assert model.shapes == [(2, 50), (7, 4)]


def test_a_pass_ends_where_it_is_full():
    model = Sums()
    path = Path(model, inputs_of([10, 9]), baseline=None, target="logit", max_tokens=45)
    gradients_at(path, [1, 0, 0, 0, 1, 0, 1])
    assert model.shapes == [(4, 10), (3, 9)]
    alone = Path(model, inputs_of([10, 9]), baseline=None, target="logit", max_tokens=1)
    model.shapes.clear()
    gradients_at(alone, [1, 0])
    assert model.shapes == [(1, 10), (1, 9)]
