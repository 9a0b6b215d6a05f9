"""The integral of the gradients along the paths of some items, by a fixed rule or as accurately as each item needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.models.gradients.attribution_options import FIRST_PLACES
from rightreasons.models.gradients.path import Path
from rightreasons.models.gradients.quadrature import quadrature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Integral:
    """Path integrals of b items.

    Attributes:
        gradients: (b, …, L, d) the gradients of the target, averaged over the path.
        labels: (b,) the explained class or choice.
        logits: (b, K) the model's logits of the items.
        value: (b,) the target at the input.
        baseline_value: (b,) the target at the baseline.
        gap: (b,) the integral of the gradients in the path's direction minus `value - baseline_value`: 0 where the
            integral is exact.
        nodes: (b,) number of gradients taken.
    """

    gradients: Tensor
    labels: Ints
    logits: Floats
    value: Floats
    baseline_value: Floats
    gap: Floats
    nodes: Ints


def integrate(
    path: Path, labels: Ints | None, *, method: str, steps: int, tolerance: float, max_gap: float | None = None
) -> Integral:
    """Average the gradients over the paths of a batch.

    The adaptive mode is Simpson's rule on intervals that are halved where necessary, but for the interval at the
    baseline, whose rule has no node there: the gradient of a normalization may explode at zero. The integral over an
    interval is known exactly (the target at its end minus the target at its start), so every interval has its own gap;
    an item is done when the absolute gaps of its intervals sum to at most `tolerance` and to at most `max_gap` of the
    change over its path. No gradient is computed twice or discarded.

    Args:
        path: The paths.
        labels: (b,) the class whose score is explained; None for the predicted one.
        method: "riemann_right", "gauss_legendre" or "adaptive".
        steps: Number of nodes; with "adaptive" the maximum per item.
        tolerance: The gap that "adaptive" allows.
        max_gap: The gap that it allows as a share of the change of the target over the path; None for any.

    Returns:
        The integrals.
    """
    items = np.arange(len(path))
    rule = None if method == "adaptive" else quadrature(method, steps)
    if rule is None or rule.nodes[-1] == 1.0:
        # The pass that predicts the class is that of the node at the input.
        weight = np.full(len(items), 1.0 if rule is None else rule.weights[-1])
        gradients, value, logits = path.gradients(items, np.ones(len(items)), weight, items, labels)
    else:
        logits = path.logits(items, np.ones(len(items)))
    explained = logits.argmax(axis=1).astype(np.int64) if labels is None else labels
    baseline_value = path.score(path.logits(items, np.zeros(len(items))), explained)
    if rule is None:
        at_input = _Nodes(items, np.ones(len(items)), value, _slopes(gradients, path.difference), [gradients])
        return _adaptive(path, at_input, explained, logits, baseline_value, steps, tolerance, max_gap)
    value = path.score(logits, explained)
    n_other = len(rule) - (rule.nodes[-1] == 1.0)
    if n_other:
        rows = np.repeat(items, n_other)
        places, weights = (np.tile(each[:n_other], len(items)) for each in (rule.nodes, rule.weights))
        others, *_ = path.gradients(rows, places, weights, rows, explained[rows])
        gradients = others if n_other == len(rule) else others.add_(gradients)
    gap = _slopes(gradients, path.difference) - (value - baseline_value)
    return Integral(gradients, explained, logits, value, baseline_value, gap, np.full(len(items), steps, np.int64))


@dataclass(eq=False)
class _Nodes:
    """The points of all items of a batch where gradients were computed."""

    item: Ints
    place: Floats
    value: Floats
    slope: Floats
    gradients: list[Tensor]

    def add(self, path: Path, labels: Ints, item: Ints, place: Floats) -> Ints:
        """Compute gradients at more points and return their positions."""
        alone = np.arange(len(item))
        gradients, value, _ = path.gradients(item, place, np.ones(len(item)), alone, labels[item])
        new = len(self.item) + alone
        chosen = torch.from_numpy(item).to(gradients.device)
        self.item = np.concatenate((self.item, item))
        self.place = np.concatenate((self.place, place))
        self.value = np.concatenate((self.value, value))
        self.slope = np.concatenate((self.slope, _slopes(gradients, path.difference[chosen])))
        self.gradients.append(gradients)
        return new


def _adaptive(
    path: Path,
    nodes: _Nodes,
    labels: Ints,
    logits: Floats,
    baseline_value: Floats,
    steps: int,
    tolerance: float,
    max_gap: float | None,
) -> Integral:
    """Integrate as accurately as each item needs; `nodes` has the one at the input of each."""
    items = np.arange(len(path))
    inner = FIRST_PLACES[:-1]
    first = nodes.add(path, labels, np.repeat(items, len(inner)), np.tile(inner, len(items)))
    grid = np.column_stack((first.reshape(len(items), len(inner)), items))
    value = nodes.value[items]
    allowed = np.full(len(items), tolerance)
    if max_gap is not None:
        allowed = np.minimum(allowed, max_gap * np.abs(value - baseline_value))
    # Each row is an interval of an item, by the positions of its three nodes.
    intervals = np.concatenate((grid[:, :3], grid[:, 2:]))
    at_baseline = np.arange(len(intervals)) < len(items)
    taken = np.full(len(items), len(FIRST_PLACES), dtype=np.int64)
    while True:
        item = nodes.item[intervals[:, 0]]
        gap = np.abs(_gaps(nodes, intervals, at_baseline, baseline_value))
        total = np.bincount(item, gap, minlength=len(items))
        worst = np.zeros(len(items))
        with np.errstate(invalid="ignore"):  # an item without finite gradients is halved no further
            np.maximum.at(worst, item, gap)
        # The worst interval of an item and those that are nearly as bad are halved in one round.
        wanted = (total > allowed)[item] & (gap >= 0.5 * worst[item])
        wanted &= nodes.place[intervals[:, 2]] - nodes.place[intervals[:, 1]] > path.shortest
        cost = 2 * np.bincount(item[wanted], minlength=len(items))
        wanted &= (taken + cost <= steps)[item]
        if not wanted.any():
            break
        start, middle, end = intervals[wanted].T
        owner, first_of_path = nodes.item[middle], at_baseline[wanted]
        places = nodes.place
        left = np.where(first_of_path, places[start] / 2, (places[start] + places[middle]) / 2)
        new = nodes.add(path, labels, np.tile(owner, 2), np.concatenate((left, (places[middle] + places[end]) / 2)))
        left, right = new[: len(owner)], new[len(owner) :]
        halves = (
            np.where(
                first_of_path[:, None], np.stack((left, start, middle), axis=1), np.stack((start, left, middle), axis=1)
            ),
            np.stack((middle, right, end), axis=1),
        )
        intervals = np.concatenate((intervals[~wanted], *halves))
        at_baseline = np.concatenate((at_baseline[~wanted], first_of_path, np.zeros(len(owner), dtype=np.bool_)))
        taken += 2 * np.bincount(owner, minlength=len(items))

    weights = np.zeros(len(nodes.item))
    np.add.at(weights, intervals, _weights(nodes, intervals, at_baseline))
    gradients = torch.cat(nodes.gradients)
    weight = torch.as_tensor(weights, dtype=gradients.dtype, device=gradients.device)
    integral = torch.zeros((len(items), *gradients.shape[1:]), dtype=gradients.dtype, device=gradients.device)
    integral.index_add_(
        0,
        torch.from_numpy(nodes.item).to(gradients.device),
        gradients * weight.view((-1,) + (1,) * (gradients.dim() - 1)),
    )
    gap = _slopes(integral, path.difference) - (value - baseline_value)
    return Integral(integral, labels, logits, value, baseline_value, gap, taken)


def _weights(nodes: _Nodes, intervals: Ints, at_baseline: NDArray[np.bool_]) -> Floats:
    """Return the weights of the three nodes of every interval.

    Simpson's rule has its nodes at the start, the middle and the end. The interval that begins at the baseline has none
    there, but at a quarter of its length; the weights are those that integrate quadratic functions exactly.
    """
    start = np.where(at_baseline, 0.0, nodes.place[intervals[:, 0]])
    shares = np.where(at_baseline[:, None], (4 / 9, 3 / 9, 2 / 9), (1 / 6, 4 / 6, 1 / 6))
    return np.asarray((nodes.place[intervals[:, 2]] - start)[:, None] * shares)


def _gaps(nodes: _Nodes, intervals: Ints, at_baseline: NDArray[np.bool_], baseline_value: Floats) -> Floats:
    """Return the gap of every interval: the rule on the slopes, minus the exact change of the target."""
    estimate = (_weights(nodes, intervals, at_baseline) * nodes.slope[intervals]).sum(axis=1)
    item, start, _, end = nodes.item[intervals[:, 0]], *intervals.T
    before = np.where(at_baseline, baseline_value[item], nodes.value[start])
    return np.asarray(estimate - (nodes.value[end] - before))


def _slopes(gradients: Tensor, difference: Tensor) -> Floats:
    """Return the gradients in the direction of their paths, (r,)."""
    rows = (gradients * difference).flatten(1).double().sum(dim=1)
    return np.asarray(rows.cpu().numpy())
