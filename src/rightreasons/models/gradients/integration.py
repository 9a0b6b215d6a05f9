"""Gradients averaged over the paths of a batch: `integrate`.

A rule with a fixed number of nodes, as in captum, computes the same number of gradients for every
item, such as 50, although only a few items need so many. The adaptive rule begins with five
gradients, and computes more only for an item whose gap is too large.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.core.arrays import Floats, Ints
from rightreasons.models.gradients.options import FIRST_POSITIONS, AttributionOptions
from rightreasons.models.gradients.paths import (
    Path,
    make_factors,
    make_quadrature,
    project_gradients,
    select_explained_classes,
)
from rightreasons.models.runs.columns import Column


def integrate(
    path: Path, labels: Ints | None, options: AttributionOptions
) -> tuple[Tensor, dict[str, Column]]:
    """Average the gradients of the explained score over the paths of a batch of items.

    The adaptive method is Simpson's rule on intervals that are halved where necessary. The rule of
    the interval at the baseline has no node there, because the gradient of a normalization may
    explode at zero. As the integral of the slope over an interval is the change of the score, the
    error ("gap") of each interval is known exactly. An item is finished when the absolute gaps of
    its intervals sum to at most `tolerance`, and to at most `max_gap` of the change over its path.
    No gradient is computed twice or discarded.

    Args:
        path: The paths.
        labels: (b,) class whose score is explained. None for the predicted class.
        options: The method, its number of nodes (with "adaptive" the maximum per item), and the
            allowed gaps.

    Returns:
        (b, L, d) averaged gradients; and a dictionary of columns with one row per item:
        `explained`, the explained class; `logits`; `value` and `baseline_value`, the explained
        score at the input and at the baseline; `nodes`, the number of computed gradients; and
        `gap`, the integral of the slope over the path minus the change of the score, 0 if exact.
    """
    if options.method == "adaptive":
        return _integrate_adaptively(path, labels, options)
    return _integrate_by_rule(path, labels, options)


def _integrate_adaptively(
    path: Path, labels: Ints | None, options: AttributionOptions
) -> tuple[Tensor, dict[str, Column]]:
    """Average the gradients over the paths of a batch, with more nodes for difficult items.

    Args:
        path: The paths of b items.
        labels: (b,) explained classes. None for the predicted ones.
        options: The allowed gaps, and the maximum number of nodes per item.

    Returns:
        The averaged gradients, and the columns that `integrate` returns.
    """
    items = np.arange(len(path))
    ends = np.ones(len(items))
    # A pass at the input predicts the class, and also computes the gradients at the last node of
    # the rule. Each item is a separate group, so that gradients are not added up.
    gradients, value, logits = path.gradients(
        items=items, positions=ends, weights=np.ones(len(items)), groups=items, labels=labels
    )
    explained = select_explained_classes(logits, labels)
    baseline_value = _score_baseline(path, explained)
    slopes = project_gradients(gradients, path.difference)
    nodes = _Nodes(item=items, position=ends, value=value, slope=slopes, gradients=[gradients])
    averaged, n_nodes = _halve_until_exact(path, nodes, explained, baseline_value, options)
    columns = _make_columns(path, averaged, explained, logits, value, baseline_value)
    return averaged, {**columns, "nodes": n_nodes}


def _integrate_by_rule(
    path: Path, labels: Ints | None, options: AttributionOptions
) -> tuple[Tensor, dict[str, Column]]:
    """Average the gradients over the paths of a batch, with the same nodes for every item.

    Args:
        path: The paths of b items.
        labels: (b,) explained classes. None for the predicted ones.
        options: Name of the quadrature rule, and its number of nodes.

    Returns:
        The averaged gradients, and the columns that `integrate` returns.
    """
    items = np.arange(len(path))
    ends = np.ones(len(items))
    positions, weights = make_quadrature(options.method, options.steps)
    total: Tensor | None = None
    # A pass at the input predicts the class. If the rule has a node there ("riemann_right"), the
    # pass also computes its gradient.
    if positions[-1] == 1.0:
        total, _, logits = path.gradients(
            items=items,
            positions=ends,
            weights=np.full(len(items), weights[-1]),
            groups=items,
            labels=labels,
        )
        positions = positions[:-1]
        weights = weights[:-1]
    else:
        logits = path.logits(items, ends)
    explained = select_explained_classes(logits, labels)
    value = path.score(logits, explained)
    baseline_value = _score_baseline(path, explained)

    # A rule with one node at the input has no other nodes.
    if total is None or len(positions):
        # All positions of the first item, then those of the next.
        rows = np.repeat(items, len(positions))
        inner_total, _, _ = path.gradients(
            items=rows,
            positions=np.tile(positions, len(items)),
            weights=np.tile(weights, len(items)),
            groups=rows,
            labels=explained[rows],
        )
        total = inner_total if total is None else inner_total.add_(total)
    columns = _make_columns(path, total, explained, logits, value, baseline_value)
    n_nodes = np.full(len(items), options.steps, dtype=np.int64)
    return total, {**columns, "nodes": n_nodes}


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
    """Return the results of b items as columns, with the completeness gap of each.

    The gap is the integral of the slope over the path minus the change of the explained score.

    Args:
        path: The paths.
        gradients: (b, L, d) averaged gradients.
        explained: (b,) explained classes.
        logits: (b, K) logits of the inputs.
        value: (b,) explained score at the inputs.
        baseline_value: (b,) explained score at the baselines.
    """
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
    """The points on the paths of a batch at which gradients were computed.

    Attributes:
        item: (r,) item of each point.
        position: (r,) position of each point on the path of its item, from 0 to 1.
        value: (r,) explained score at each point.
        slope: (r,) derivative of the explained score along the path.
        gradients: Tables of gradients, with r rows in all.
    """

    item: Ints
    position: Floats
    value: Floats
    slope: Floats
    gradients: list[Tensor]

    def add(self, path: Path, labels: Ints, items: Ints, positions: Floats) -> Ints:
        """Compute the gradients at n more points, and return the indices of these points.

        Args:
            path: The paths of b items.
            labels: (b,) explained classes.
            items: (n,) item of each point.
            positions: (n,) position of each point on the path of its item.

        Returns:
            (n,) indices of the points in the attributes.
        """
        # Each point is a separate group, so that gradients are not added up.
        groups = np.arange(len(items))
        weights = np.ones(len(items))
        gradients, values, _ = path.gradients(
            items=items,
            positions=positions,
            weights=weights,
            groups=groups,
            labels=labels[items],
        )
        rows = len(self.item) + groups
        item_index = torch.from_numpy(items).to(gradients.device)
        slopes = project_gradients(gradients, path.difference[item_index])
        self.item = np.concatenate((self.item, items))
        self.position = np.concatenate((self.position, positions))
        self.value = np.concatenate((self.value, values))
        self.slope = np.concatenate((self.slope, slopes))
        self.gradients.append(gradients)
        return rows

    def sum_gradients(self, weights: Floats, n_items: int) -> Tensor:
        """Return the weighted sum of the gradients of each item, (b, L, d).

        Args:
            weights: (r,) weight of each point.
            n_items: Number of items, b.
        """
        gradients = torch.cat(self.gradients)
        total = torch.zeros(
            (n_items, *gradients.shape[1:]), dtype=gradients.dtype, device=gradients.device
        )
        item_index = torch.from_numpy(self.item).to(gradients.device)
        return total.index_add_(0, item_index, gradients * make_factors(weights, gradients))


@dataclass(eq=False)
class _Intervals:
    """Intervals of the paths of all items, each with a quadrature rule of three nodes.

    Attributes:
        nodes: (n, 3) indices of the three nodes of each interval.
        at_baseline: (n,) whether the interval begins at the baseline, where it has no node.
    """

    nodes: Ints
    at_baseline: NDArray[np.bool_]

    @classmethod
    def make_first(cls, grid: Ints) -> _Intervals:
        """Return the first two intervals of each of b items, which share the third of five nodes.

        Args:
            grid: (b, 5) indices of the first five nodes of each item, by increasing position.

        Returns:
            The b intervals at the baseline, and then the b intervals at the input.
        """
        baseline_halves = grid[:, :3]
        input_halves = grid[:, 2:]
        nodes = np.concatenate((baseline_halves, input_halves))
        indices = np.arange(len(nodes))
        at_baseline = indices < len(grid)
        return cls(nodes, at_baseline)

    def measure_gaps(self, points: _Nodes, baseline_value: Floats) -> Floats:
        """Measure the error of the quadrature rule on each interval.

        The integral of the slope over an interval is the change of the explained score from its
        start to its end, so that the error of the rule is known exactly.

        Args:
            points: The nodes of all items, with their scores and slopes.
            baseline_value: (b,) explained score at the baselines.

        Returns:
            (n,) absolute errors.
        """
        start, _, end = self.nodes.T
        slopes = points.slope[self.nodes]
        weights = self.compute_weights(points)
        estimates = (weights * slopes).sum(axis=1)
        items = points.item[start]
        # At the baseline there is no node, but the score is known.
        start_values = np.where(self.at_baseline, baseline_value[items], points.value[start])
        changes = points.value[end] - start_values
        gaps: Floats = np.abs(estimates - changes)
        return gaps

    def compute_weights(self, points: _Nodes) -> Floats:
        """Return the weights of the three nodes of every interval, (n, 3).

        Simpson's rule has nodes at the start, the middle and the end of the interval, with 1/6, 4/6
        and 1/6 of its length as weights. An interval at the baseline has its first node at a
        quarter of its length instead, because the gradient at the baseline may explode. Its weights
        4/9, 3/9 and 2/9 also integrate quadratic functions exactly.

        Args:
            points: The nodes of all items, with their positions.
        """
        positions = points.position[self.nodes]
        first_positions, _, last_positions = positions.T
        starts = np.where(self.at_baseline, 0.0, first_positions)
        lengths = last_positions - starts
        is_at_baseline = self.at_baseline[:, None]
        shares_at_baseline = (4 / 9, 3 / 9, 2 / 9)
        shares_elsewhere = (1 / 6, 4 / 6, 1 / 6)
        shares = np.where(is_at_baseline, shares_at_baseline, shares_elsewhere)
        return np.asarray(lengths[:, None] * shares)

    def halve(
        self, is_selected: NDArray[np.bool_], path: Path, labels: Ints, points: _Nodes
    ) -> Ints:
        """Replace m selected intervals by their halves, each of which needs one more node.

        The middle node of an interval becomes the end of the left half and the start of the right
        half, so that no gradient is discarded.

        Args:
            is_selected: (n,) whether to halve each interval; True m times.
            path: The paths of b items.
            labels: (b,) explained classes.
            points: The nodes of all items, to which the new ones are added.

        Returns:
            (m,) item of each halved interval.
        """
        start, middle, end = self.nodes[is_selected].T
        # The three nodes of an interval are on the path of the same item.
        items: Ints = points.item[middle]
        at_baseline = self.at_baseline[is_selected]
        position = points.position
        start_positions = position[start]
        middle_positions = position[middle]
        left_positions = (start_positions + middle_positions) / 2
        # The first node of an interval at the baseline is at a quarter of its length. The left half
        # also begins at the baseline, and its first node is half as far away.
        left_positions = np.where(at_baseline, start_positions / 2, left_positions)
        right_positions = (middle_positions + position[end]) / 2
        new_nodes = points.add(
            path=path,
            labels=labels,
            items=np.tile(items, 2),
            positions=np.concatenate((left_positions, right_positions)),
        )
        left_nodes = new_nodes[: len(items)]
        right_nodes = new_nodes[len(items) :]

        # At the baseline, the new node comes before the old first one, which becomes the middle.
        left_halves = np.where(
            at_baseline, (left_nodes, start, middle), (start, left_nodes, middle)
        ).T
        right_halves = np.column_stack((middle, right_nodes, end))
        is_right_at_baseline = np.zeros(len(items), dtype=np.bool_)
        is_kept = ~is_selected
        self.nodes = np.concatenate((self.nodes[is_kept], left_halves, right_halves))
        self.at_baseline = np.concatenate(
            (self.at_baseline[is_kept], at_baseline, is_right_at_baseline)
        )
        return items


def _halve_until_exact(
    path: Path, points: _Nodes, labels: Ints, baseline_value: Floats, options: AttributionOptions
) -> tuple[Tensor, Ints]:
    """Average the gradients of each item, and halve intervals until its gap is small enough.

    Every item begins with the five nodes `FIRST_POSITIONS`. Its worst intervals are halved until
    its gap is allowed, or the next round would exceed its maximum number of nodes.

    Args:
        path: The paths of b items.
        points: The node at the input of each item, at index i for item i. Other nodes are added.
        labels: (b,) explained classes.
        baseline_value: (b,) explained score at the baselines.
        options: The allowed gaps, and the maximum number of nodes per item.

    Returns:
        (b, L, d) averaged gradients, and (b,) number of nodes.
    """
    n_items = len(path)
    items = np.arange(n_items)
    # The last of the first positions is the input, whose node exists already.
    inner_positions = FIRST_POSITIONS[:-1]
    n_inner = len(inner_positions)
    inner_nodes = points.add(
        path, labels, np.repeat(items, n_inner), np.tile(inner_positions, n_items)
    )
    grid = np.column_stack((inner_nodes.reshape(n_items, n_inner), items))
    intervals = _Intervals.make_first(grid)
    n_nodes = np.full(n_items, len(FIRST_POSITIONS), dtype=np.int64)
    max_gaps = _get_allowed_gaps(points.value[:n_items], baseline_value, options)
    while True:
        is_selected = _select_intervals(path, points, intervals, baseline_value, max_gaps)
        item_by_interval = points.item[intervals.nodes[:, 0]]
        # Halving an interval takes two more nodes. If an item has not enough nodes left for all of
        # its selected intervals, none of them is halved.
        costs = 2 * np.bincount(item_by_interval[is_selected], minlength=n_items)
        is_affordable = n_nodes + costs <= options.steps
        is_selected &= is_affordable[item_by_interval]
        if not is_selected.any():
            break
        halved_items = intervals.halve(is_selected, path, labels, points)
        n_nodes += 2 * np.bincount(halved_items, minlength=n_items)

    # Adjacent intervals share a node, whose weight is the sum of two. `np.add.at` adds up values at
    # repeated indices, unlike an assignment.
    weights = np.zeros(len(points.item))
    np.add.at(weights, intervals.nodes, intervals.compute_weights(points))
    return points.sum_gradients(weights, n_items), n_nodes


def _get_allowed_gaps(value: Floats, baseline_value: Floats, options: AttributionOptions) -> Floats:
    """Return the largest sum of gaps over all intervals that each item may have, (b,).

    Args:
        value: (b,) explained score at the inputs.
        baseline_value: (b,) explained score at the baselines.
        options: The allowed gap as a number (`tolerance`), and as a share of the change of the
            score (`max_gap`), of which the smaller one counts.
    """
    allowed: Floats = np.full(len(value), options.tolerance)
    if options.max_gap is not None:
        changes = np.abs(value - baseline_value)
        allowed = np.minimum(allowed, options.max_gap * changes)
    return allowed


def _select_intervals(
    path: Path, points: _Nodes, intervals: _Intervals, baseline_value: Floats, max_gaps: Floats
) -> NDArray[np.bool_]:
    """Select the intervals to halve: the worst ones of each item whose sum of gaps is too large.

    Args:
        path: The paths of b items.
        points: The nodes of all items.
        intervals: The n intervals of all items.
        baseline_value: (b,) explained score at the baselines.
        max_gaps: (b,) largest sum of gaps that each item may have.

    Returns:
        (n,) whether to halve each interval.
    """
    gaps = intervals.measure_gaps(points, baseline_value)
    start, _, end = intervals.nodes.T
    items = points.item[start]
    total_gaps = np.bincount(items, gaps, minlength=len(max_gaps))
    worst_gaps = np.zeros(len(max_gaps))
    # Comparisons with a gap of NaN, below, are False, so that its item is not halved further.
    with np.errstate(invalid="ignore"):
        np.maximum.at(worst_gaps, items, gaps)
    needs_halving = total_gaps > max_gaps
    # One round halves all intervals that are at least half as bad as the worst one of their item.
    is_bad = gaps >= 0.5 * worst_gaps[items]
    # The ends of shorter intervals differ by rounding only.
    lengths = points.position[end] - points.position[start]
    is_long = lengths > path.shortest
    is_of_inexact_item = needs_halving[items]
    return np.asarray(is_of_inexact_item & is_bad & is_long)
