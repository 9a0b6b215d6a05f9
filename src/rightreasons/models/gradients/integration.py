"""Gradients averaged over the paths of a batch: `integrate`.

A rule of a fixed number of nodes, as in captum, computes as many gradients for every item: 50, so
that the few difficult ones are accurate. The adaptive rule begins with five, and computes further
ones only for an item whose gap shows that it needs them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.core.arrays import Floats, Ints
from rightreasons.models.gradients.options import FIRST_PLACES, AttributionOptions
from rightreasons.models.gradients.paths import (
    Path,
    get_explained,
    make_factors,
    project_gradients,
    quadrature,
)
from rightreasons.models.runs.columns import Column


def integrate(
    path: Path, labels: Ints | None, options: AttributionOptions
) -> tuple[Tensor, dict[str, Column]]:
    """Average the gradients over the paths of a batch.

    The adaptive mode is Simpson's rule on intervals that are halved where necessary. The rule of
    the interval at the baseline has no node there: the gradient of a normalization may explode at
    zero. The integral over an interval is known exactly (the target at its end minus the target at
    its start), so that every interval has a gap. An item is done when the absolute gaps of its
    intervals sum to at most `tolerance` and to at most `max_gap` of the change over its path. No
    gradient is computed twice or discarded.

    Args:
        path: The paths.
        labels: (b,) the class whose score is explained. None for the predicted one.
        options: The rule, its nodes (with "adaptive" the maximum per item) and the allowed gaps.

    Returns:
        (b, L, d) the gradients of the target, averaged over the path; and by item `explained`,
        `logits`, the target at the input (`value`) and at the baseline (`baseline_value`), the
        number of computed gradients (`nodes`), and the `gap`: their integral in the path's
        direction minus the change of the target, 0 if it is exact.
    """
    if options.method == "adaptive":
        return _integrate_adaptively(path, labels, options)
    return _integrate_by_rule(path, labels, options)


def _integrate_adaptively(
    path: Path, labels: Ints | None, options: AttributionOptions
) -> tuple[Tensor, dict[str, Column]]:
    items = np.arange(len(path))
    ones = np.ones(len(items))
    # The pass that predicts the class is also that of the node at the input.
    gradients, value, logits = path.gradients(items, ones, ones, items, labels)
    explained = get_explained(logits, labels)
    baseline_value = _score_baseline(path, explained)
    slopes = project_gradients(gradients, path.difference)
    nodes = _Nodes(items, ones, value, slopes, [gradients])
    gradients, n_nodes = _refine(path, nodes, explained, baseline_value, options)
    columns = _make_columns(path, gradients, explained, logits, value, baseline_value)
    return gradients, {**columns, "nodes": n_nodes}


def _integrate_by_rule(
    path: Path, labels: Ints | None, options: AttributionOptions
) -> tuple[Tensor, dict[str, Column]]:
    items = np.arange(len(path))
    ones = np.ones(len(items))
    positions, weights = quadrature(options.method, options.steps)
    total: Tensor | None = None
    # The pass that predicts the class may also be that of the last node.
    has_end = positions[-1] == 1.0
    if has_end:
        total, value, logits = path.gradients(items, ones, ones * weights[-1], items, labels)
        positions, weights = positions[:-1], weights[:-1]
    else:
        logits = path.logits(items, ones)
    explained = get_explained(logits, labels)
    baseline_value = _score_baseline(path, explained)
    value = path.score(logits, explained)

    if total is None or len(positions):
        rows = np.repeat(items, len(positions))
        inner_total, _, _ = path.gradients(
            rows,
            np.tile(positions, len(items)),
            np.tile(weights, len(items)),
            rows,
            explained[rows],
        )
        total = inner_total if total is None else inner_total.add_(total)
    columns = _make_columns(path, total, explained, logits, value, baseline_value)
    return total, {**columns, "nodes": np.full(len(items), options.steps, np.int64)}


def _score_baseline(path: Path, explained: Ints) -> Floats:
    items = np.arange(len(path))
    positions = np.zeros(len(items))
    logits = path.logits(items, positions)
    return path.score(logits, explained)


def _make_columns(
    path: Path,
    gradients: Tensor,
    explained: Ints,
    logits: Floats,
    value: Floats,
    baseline_value: Floats,
) -> dict[str, Column]:
    """Return the results by item, but for the number of nodes."""
    integral = project_gradients(gradients, path.difference)
    return {
        "explained": explained,
        "logits": logits,
        "value": value,
        "baseline_value": baseline_value,
        "gap": integral - (value - baseline_value),
    }


@dataclass(eq=False)
class _Nodes:
    """The points of all items of a batch at which gradients were computed.

    Attributes:
        item: (r,) item of each point.
        position: (r,) position on its path.
        value: (r,) the target.
        slope: (r,) the gradient in the direction of the path.
        gradients: Tables of gradients, which have r rows together.
    """

    item: Ints
    position: Floats
    value: Floats
    slope: Floats
    gradients: list[Tensor]

    def add(self, path: Path, labels: Ints, items: Ints, positions: Floats) -> Ints:
        """Compute gradients at further points, and return the numbers of these."""
        groups = np.arange(len(items))
        weights = np.ones(len(items))
        gradients, values, _ = path.gradients(items, positions, weights, groups, labels[items])
        numbers = len(self.item) + groups
        rows = torch.from_numpy(items).to(gradients.device)
        slopes = project_gradients(gradients, path.difference[rows])
        self.item = np.concatenate((self.item, items))
        self.position = np.concatenate((self.position, positions))
        self.value = np.concatenate((self.value, values))
        self.slope = np.concatenate((self.slope, slopes))
        self.gradients.append(gradients)
        return numbers

    def sum_gradients(self, weights: Floats, n_items: int) -> Tensor:
        """Return the weighted sum of the gradients of each item."""
        gradients = torch.cat(self.gradients)
        total = torch.zeros(
            (n_items, *gradients.shape[1:]), dtype=gradients.dtype, device=gradients.device
        )
        owners = torch.from_numpy(self.item).to(gradients.device)
        return total.index_add_(0, owners, gradients * make_factors(weights, gradients))


@dataclass(eq=False)
class _Intervals:
    """Parts of the paths of all items.

    Attributes:
        nodes: (n, 3) numbers of the three nodes of each interval.
        at_baseline: (n,) whether the interval begins at the baseline, where it has no node.
    """

    nodes: Ints
    at_baseline: NDArray[np.bool_]

    @classmethod
    def make_first(cls, grid: Ints) -> _Intervals:
        """Return two intervals per item, from the numbers of its first five nodes, (b, 5)."""
        first_nodes = grid[:, :3]
        last_nodes = grid[:, 2:]
        nodes = np.concatenate((first_nodes, last_nodes))
        at_baseline = np.arange(len(nodes)) < len(grid)
        return cls(nodes, at_baseline)

    def measure_gaps(self, points: _Nodes, baseline_value: Floats) -> Floats:
        """Return the difference of each interval's estimate from its exact integral, (n,)."""
        start, _, end = self.nodes.T
        slopes = points.slope[self.nodes]
        estimates = (self.compute_weights(points) * slopes).sum(axis=1)
        items = points.item[start]
        # The integral of the slope is the change of the target.
        start_values = np.where(self.at_baseline, baseline_value[items], points.value[start])
        changes = points.value[end] - start_values
        gaps: Floats = np.abs(estimates - changes)
        return gaps

    def compute_weights(self, points: _Nodes) -> Floats:
        """Return the weights of the three nodes of every interval, (n, 3).

        Simpson's rule has its nodes at the start, the middle and the end. The interval that begins
        at the baseline has none there, but at a quarter of its length; the weights are those that
        integrate quadratic functions exactly.
        """
        positions = points.position[self.nodes]
        starts = np.where(self.at_baseline, 0.0, positions[:, 0])
        lengths = positions[:, 2] - starts
        is_first = self.at_baseline[:, None]
        shares = np.where(is_first, (4 / 9, 3 / 9, 2 / 9), (1 / 6, 4 / 6, 1 / 6))
        return np.asarray(lengths[:, None] * shares)

    def halve(
        self, is_selected: NDArray[np.bool_], path: Path, labels: Ints, points: _Nodes
    ) -> Ints:
        """Halve some intervals, each by two further nodes, and return the items of these."""
        start, middle, end = self.nodes[is_selected].T
        # Every node of an interval is one of the same item.
        items: Ints = points.item[middle]
        at_baseline = self.at_baseline[is_selected]
        position = points.position
        # The first node of the interval at the baseline stands at a quarter of its length.
        left_middles = (position[start] + position[middle]) / 2
        left_positions = np.where(at_baseline, position[start] / 2, left_middles)
        right_positions = (position[middle] + position[end]) / 2
        numbers = points.add(
            path, labels, np.tile(items, 2), np.concatenate((left_positions, right_positions))
        )
        left_nodes = numbers[: len(items)]
        right_nodes = numbers[len(items) :]
        left_halves = np.where(
            at_baseline, (left_nodes, start, middle), (start, left_nodes, middle)
        ).T
        right_halves = np.column_stack((middle, right_nodes, end))
        is_inner = np.zeros(len(items), dtype=np.bool_)
        # The halves of an interval take its place.
        is_kept = ~is_selected
        self.nodes = np.concatenate((self.nodes[is_kept], left_halves, right_halves))
        self.at_baseline = np.concatenate((self.at_baseline[is_kept], at_baseline, is_inner))
        return items


def _refine(
    path: Path, points: _Nodes, labels: Ints, baseline_value: Floats, options: AttributionOptions
) -> tuple[Tensor, Ints]:
    """Integrate as accurately as each item needs, from the node at the input of each.

    Returns:
        (b, L, d) averaged gradients, and (b,) number of nodes.
    """
    n_items = len(path)
    inner = FIRST_PLACES[:-1]
    items = np.arange(n_items)
    owners = np.repeat(items, len(inner))
    positions = np.tile(inner, n_items)
    numbers = points.add(path, labels, owners, positions)
    # The node at the input, the last of each row, is that of the item's number.
    inner_numbers = numbers.reshape(n_items, len(inner))
    grid = np.column_stack((inner_numbers, items))
    intervals = _Intervals.make_first(grid)
    n_nodes = np.full(n_items, len(FIRST_PLACES), dtype=np.int64)
    allowed = _get_allowed_gaps(points.value[:n_items], baseline_value, options)
    while True:
        is_selected = _select_intervals(path, points, intervals, baseline_value, allowed)
        owners = points.item[intervals.nodes[:, 0]]
        # An item that would exceed its number of nodes keeps the intervals that it has.
        costs = 2 * np.bincount(owners[is_selected], minlength=n_items)
        is_affordable = n_nodes + costs <= options.steps
        is_selected &= is_affordable[owners]
        if not is_selected.any():
            break
        halved = intervals.halve(is_selected, path, labels, points)
        n_nodes += 2 * np.bincount(halved, minlength=n_items)

    # A node that two intervals share has the weights of both.
    weights = np.zeros(len(points.item))
    np.add.at(weights, intervals.nodes, intervals.compute_weights(points))
    return points.sum_gradients(weights, n_items), n_nodes


def _get_allowed_gaps(value: Floats, baseline_value: Floats, options: AttributionOptions) -> Floats:
    """Return the sum of gaps that each item may have, (b,)."""
    allowed: Floats = np.full(len(value), options.tolerance)
    if options.max_gap is not None:
        allowed = np.minimum(allowed, options.max_gap * np.abs(value - baseline_value))
    return allowed


def _select_intervals(
    path: Path, points: _Nodes, intervals: _Intervals, baseline_value: Floats, allowed: Floats
) -> NDArray[np.bool_]:
    """Return which intervals to halve: the worst ones of items whose gap is too large, (n,)."""
    gaps = intervals.measure_gaps(points, baseline_value)
    start, _, end = intervals.nodes.T
    items = points.item[start]
    totals = np.bincount(items, gaps, minlength=len(allowed))
    worst = np.zeros(len(allowed))
    # An item without finite gradients is halved no further.
    with np.errstate(invalid="ignore"):
        np.maximum.at(worst, items, gaps)
    # Intervals that are nearly as bad as the worst are halved in the same round.
    needs_more = totals > allowed
    is_bad = gaps >= 0.5 * worst[items]
    lengths = points.position[end] - points.position[start]
    # Points that are nearer differ by rounding alone.
    is_long = lengths > path.shortest
    return np.asarray(needs_more[items] & is_bad & is_long)
