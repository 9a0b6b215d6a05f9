"""Straight paths through the space of embeddings, from a baseline to a text, and quadrature rules.

A `Path` computes logits and gradients at points of the paths of a batch of items. `make_quadrature`
returns the points and weights of a rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from rightreasons.core.arrays import Floats, Ints
from rightreasons.models.batching import make_length_batches, send_array
from rightreasons.models.gradients.inputs import EmbeddingInput

SHORTEST = 2.0**-16
"""Length of the shortest part of a path whose two ends differ in single precision."""


class _Pass(NamedTuple):
    """Points that share a pass of the model.

    Attributes:
        rows: Indices of the points.
        columns: The columns of tokens that are not padding for all of these points.
    """

    rows: Ints
    columns: slice


def make_quadrature(name: str, steps: int) -> tuple[Floats, Floats]:
    r"""Return the nodes and the weights of a quadrature rule on [0, 1].

    "riemann_right" has the nodes k/m with weights 1/m, k = 1..m, as in Du et al.; its error falls
    with 1/m. "gauss_legendre", the default of captum and thus of the Reliability Paradox, is exact
    for polynomials up to degree 2m - 1 and has no node at the ends.

    Args:
        name: "riemann_right" or "gauss_legendre".
        steps: Number of nodes, m >= 1.

    Returns:
        (m,) nodes, 0 at the baseline and 1 at the input; and (m,) weights, which sum to 1.

    References:
        Sundararajan, Taly & Yan (2017), "Axiomatic Attribution for Deep Networks", eq. 3; Du et al.
        (2021), "Towards Interpreting and Mitigating Shortcut Learning Behavior of NLU Models",
        eq. 2.

    Example:
        >>> make_quadrature("riemann_right", 4)[0]
        array([0.25, 0.5 , 0.75, 1.  ])
        >>> nodes, weights = make_quadrature("gauss_legendre", 2)  # the integral of x^3 is 1/4
        >>> round(float(weights @ nodes**3), 12)
        0.25
    """
    if name == "riemann_right":
        nodes = np.arange(1, steps + 1) / steps
        weights = np.full(steps, 1.0 / steps)
        return nodes, weights
    # The rule of numpy is on [-1, 1].
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    return (nodes + 1.0) / 2.0, weights / 2.0


class Path:
    """The straight paths from baselines to the embeddings of a batch of items, and the model.

    The model computes logits and gradients at points of the paths. Only the embeddings of tokens
    change along a path, and those of padding do not. Points of different items share a forward and
    backward pass if the items have similar lengths.

    Args:
        embedding_input: A frozen classifier, fed by embeddings.
        inputs: The padded inputs of the model, such as `input_ids`: (b, L) each.
        baseline: (b, L, d) embeddings at which the paths begin. None for zeros.
        target: Explained score of a class: "probability" or "logit".
        max_tokens: Maximum number of tokens per pass, padding included. A single item may exceed
            it.

    Attributes:
        end: (b, L, d) embeddings of the items.
        difference: (b, L, d) embeddings of the items minus their baselines, 0 at padding; in single
            precision at least.
        shortest: Length of the shortest part of a path whose two ends differ by more than rounding.
    """

    def __init__(
        self,
        embedding_input: EmbeddingInput,
        inputs: dict[str, Tensor],
        *,
        baseline: Tensor | None,
        target: str,
        max_tokens: int,
    ) -> None:
        """Compute the embeddings at both ends of the paths, and find the padding of each item."""
        self._embedding_input = embedding_input
        self._inputs = inputs
        self._target = target
        self._max_tokens = max_tokens
        self.end = embedding_input.embed(inputs)
        # In half precision, points near the baseline would be differences of large rounded numbers.
        self._exact_type = torch.promote_types(self.end.dtype, torch.float32)
        difference = self.end.to(self._exact_type)
        if baseline is not None:
            difference = difference - baseline
        # Padding has the same embedding at both ends.
        mask = inputs["attention_mask"]
        self.difference = difference * mask.unsqueeze(-1)
        precision = torch.finfo(self.end.dtype).eps
        self.shortest = max(SHORTEST, precision / 8)

        # The tokens of item i are in the columns `_starts[i]:_stops[i]`. The other columns are
        # padding, before or after them. `argmax` finds the first True of a row.
        is_real = mask.bool().cpu().numpy()
        n_columns = is_real.shape[1]
        is_real_from_end = is_real[:, ::-1]
        n_padding_after = is_real_from_end.argmax(axis=1)
        self._starts = is_real.argmax(axis=1)
        self._stops = n_columns - n_padding_after

    def __len__(self) -> int:
        return len(self.end)

    @torch.no_grad()
    def logits(self, items: Ints, positions: Floats) -> Floats:
        """Compute the logits of the model at r points of the paths.

        Args:
            items: (r,) item of each point.
            positions: (r,) position of each point on the path of its item: 0 at the baseline, 1 at
                the input.

        Returns:
            (r, K) logits.
        """
        passes = self._plan_passes(items)
        tables = []
        for rows, columns in passes:
            _, logits = self._run_model(
                items=items[rows],
                positions=positions[rows],
                columns=columns,
            )
            tables.append(_to_numpy(logits))
        return _restore_order(passes, tables)

    def gradients(
        self, items: Ints, positions: Floats, weights: Floats, groups: Ints, labels: Ints | None
    ) -> tuple[Tensor, Floats, Floats]:
        """Compute gradients of the explained score at r points of the paths, and sum groups of them.

        The explained score is the logit or the probability of one class.

        Args:
            items: (r,) item of each point.
            positions: (r,) position of each point on the path of its item: 0 at the baseline, 1 at
                the input.
            weights: (r,) weight of the gradient at each point.
            groups: (r,) number of the sum to which each gradient is added: 0..g-1.
            labels: (r,) explained class of each point. None for the class that the model predicts
                at the point.

        Returns:
            (g, L, d) the weighted sums, in single precision at least; (r,) the explained score at
            the points; and (r, K) the logits.
        """
        n_groups = 0
        if len(groups):
            n_groups = int(groups.max()) + 1
        sums = torch.zeros(
            (n_groups, *self.end.shape[1:]), dtype=self._exact_type, device=self.end.device
        )
        passes = self._plan_passes(items)
        scores = np.empty(len(items))
        logits_of_passes = []
        for rows, columns in passes:
            # Without labels, the class that the model predicts at each point is explained.
            pass_labels = None
            if labels is not None:
                pass_labels = labels[rows]
            gradient, scores[rows], logits = self._differentiate(
                items=items[rows],
                positions=positions[rows],
                columns=columns,
                labels=pass_labels,
            )
            logits_of_passes.append(logits)
            factors = make_factors(weights[rows], gradient)
            weighted = gradient * factors
            # The pass has read only those columns that are not padding for all of its points.
            read_sums = sums[:, columns]
            group_indices = self._to_device(groups[rows])
            read_sums.index_add_(0, group_indices, weighted)
        return sums, scores, _restore_order(passes, logits_of_passes)

    def _differentiate(
        self, items: Ints, positions: Floats, columns: slice, labels: Ints | None
    ) -> tuple[Tensor, Floats, Floats]:
        """Compute gradients of the explained score at the r points of one pass of the model.

        Args:
            items: (r,) item of each point.
            positions: (r,) position of each point on the path of its item.
            columns: The c columns of tokens that the pass reads.
            labels: (r,) explained classes. None for the predicted ones.

        Returns:
            (r, c, d) gradients, in single precision at least; (r,) the explained score; and (r, K)
            the logits.
        """
        with torch.enable_grad():
            points, logits = self._run_model(items, positions, columns)
            logits_array = _to_numpy(logits)
            explained = select_explained_classes(logits_array, labels)
            explained_tensor = self._to_device(explained)
            scores = self._select_scores(logits, explained_tensor)
            # The score at a point does not depend on the other points, so that the gradient of the
            # sum consists of the gradients of all scores.
            total = scores.sum()
            (gradient,) = torch.autograd.grad(total, points)
        return gradient.to(self._exact_type), _to_numpy(scores), logits_array

    def score(self, logits: Floats, labels: Ints) -> Floats:
        """Return the explained score, (r,), from logits (r, K) and explained classes (r,)."""
        logits_tensor = torch.from_numpy(logits)
        labels_tensor = torch.from_numpy(labels)
        scores = self._select_scores(logits_tensor, labels_tensor)
        return np.asarray(scores.numpy())

    def _select_scores(self, logits: Tensor, labels: Tensor) -> Tensor:
        scores = logits
        # In half precision, a softmax would lose digits.
        if scores.dtype != torch.float64:
            scores = scores.float()
        if self._target != "logit":
            scores = scores.softmax(dim=-1)
        return scores.gather(1, labels.unsqueeze(1)).squeeze(1)

    def _plan_passes(self, items: Ints) -> list[_Pass]:
        """Divide points into passes of the model, each with items of similar lengths.

        Args:
            items: (r,) item of each point.

        Returns:
            For each pass, the indices of its points, and the columns of tokens that it reads: those
            that are not padding for all of its points.
        """
        n_tokens = self._stops - self._starts
        widths = n_tokens[items]
        batches = make_length_batches(
            widths, batch_size=max(1, len(items)), max_tokens=self._max_tokens
        )
        passes = []
        for rows in batches:
            pass_items = items[rows]
            start = self._starts[pass_items].min()
            stop = self._stops[pass_items].max()
            columns = slice(start, stop)
            passes.append(_Pass(rows, columns))
        return passes

    def _to_device(self, values: Ints) -> Tensor:
        # torch does not read arrays with negative strides.
        contiguous = np.ascontiguousarray(values)
        return send_array(contiguous, self.end.device)

    def _run_model(self, items: Ints, positions: Floats, columns: slice) -> tuple[Tensor, Tensor]:
        """Run the model on the embeddings at r points of the paths.

        Args:
            items: (r,) item of each point.
            positions: (r,) position of each point on the path of its item.
            columns: The c columns of tokens that the model reads.

        Returns:
            (r, c, d) the embeddings at the points, which require gradients; and (r, K) the logits.
        """
        rows = self._to_device(items)
        # Columns are selected first, which makes a view. The selection of rows makes a copy.
        model_end = self.end[:, columns][rows]
        end = model_end.to(self._exact_type)
        difference = self.difference[:, columns][rows]
        # The point at a position is end + (position - 1) * difference, which is exact at the input.
        remaining = make_factors(positions - 1.0, end)
        exact_points = torch.addcmul(end, difference, remaining)
        # The model reads embeddings in its own number type.
        points = exact_points.to(self.end.dtype).requires_grad_()
        inputs = {}
        for name, tensor in self._inputs.items():
            inputs[name] = tensor[:, columns][rows]
        logits = self._embedding_input.logits(points, inputs)
        return points, logits


def select_explained_classes(logits: Floats, labels: Ints | None) -> Ints:
    """Return the explained classes, (r,): the labels, or the predicted classes without labels.

    Args:
        logits: (r, K) logits.
        labels: (r,) classes, or None.
    """
    if labels is not None:
        return labels
    predicted: Ints = logits.argmax(axis=1).astype(np.int64)
    return predicted


def make_factors(numbers: Floats, tables: Tensor) -> Tensor:
    """Return numbers, (r,), as a tensor that can be multiplied by tables, (r, L, d)."""
    factors = torch.as_tensor(numbers, dtype=tables.dtype, device=tables.device)
    return factors.view(-1, 1, 1)


def _to_numpy(tensor: Tensor) -> Floats:
    values = tensor.detach().double()
    return np.asarray(values.cpu().numpy())


def _restore_order(passes: list[_Pass], tables: list[Floats]) -> Floats:
    """Join the arrays of several passes into one, in the order of the points.

    Args:
        passes: The passes, with the indices of their points.
        tables: One array for each pass, with one row per point.
    """
    rows = np.concatenate([pass_rows for pass_rows, _ in passes])
    order = np.argsort(rows)
    table: Floats = np.concatenate(tables)
    return table[order]


def project_gradients(gradients: Tensor, difference: Tensor) -> Floats:
    """Return the slope of the explained score along each path: its gradient times the direction.

    Args:
        gradients: (r, L, d) gradients.
        difference: (r, L, d) embeddings of the input minus those of the baseline.

    Returns:
        (r,) derivatives with respect to the position on the path.
    """
    products = (gradients * difference).flatten(1)
    slopes = products.double().sum(dim=1)
    return np.asarray(slopes.cpu().numpy())
