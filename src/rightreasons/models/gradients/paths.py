"""Paths through the space of embeddings, from a baseline to a text, and quadrature rules on them.

A `Path` computes logits and gradients at points of the paths of a batch of items; `quadrature`
returns the points and weights of a rule.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from rightreasons.core.arrays import Floats, Ints
from rightreasons.models.batching import length_batches, send_array
from rightreasons.models.gradients.inputs import EmbeddingInput

Pass = tuple[Ints, slice]
"""Points that share a pass of the model, and the columns of their tokens."""

SHORTEST = 2.0**-16
"""Length of the shortest part of a path whose two ends differ in single precision."""


def quadrature(name: str, steps: int) -> tuple[Floats, Floats]:
    r"""Return a rule on [0, 1] with `steps` nodes.

    "riemann_right" has the nodes k/m with weights 1/m, k = 1..m, as in Du et al.; its error falls
    with 1/m. "gauss_legendre", captum's default and so that of the Reliability Paradox, is exact
    for polynomials up to degree 2m - 1 and has no node at the ends.

    Args:
        name: "riemann_right" or "gauss_legendre".
        steps: Number of nodes, m >= 1.

    Returns:
        (m,) nodes, 0 at the baseline and 1 at the input, and their weights, which sum to 1.

    References:
        Sundararajan, Taly & Yan (2017), "Axiomatic Attribution for Deep Networks", eq. 3; Du et al.
        (2021), "Towards Interpreting and Mitigating Shortcut Learning Behavior of NLU Models",
        eq. 2.

    Example:
        >>> quadrature("riemann_right", 4)[0]
        array([0.25, 0.5 , 0.75, 1.  ])
        >>> nodes, weights = quadrature("gauss_legendre", 2)  # the integral of x^3 is 1/4
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
    """The paths of a batch of items, and the model whose gradients are taken along them.

    Only the embeddings of real tokens change; those of padding stay. Points of different items and
    positions on the path share a forward and backward pass, if the items have similar lengths: a
    pass is no longer than its longest item.

    Args:
        embedding_input: A frozen classifier, fed by embeddings.
        inputs: `input_ids`, `attention_mask`, …: (b, L).
        baseline: The embeddings at which the paths of the real tokens begin, in the shape of those
            of the items. None for zeros.
        target: "probability" or "logit".
        max_tokens: Maximum tokens per pass, padding included; a single item may exceed it.

    Attributes:
        end: (b, L, d) the embeddings of the items.
        difference: (b, L, d) the same minus their baselines, 0 at padding; in single precision at
            least.
        shortest: Length of the shortest part of a path whose points differ by more than rounding.
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
        self.difference = difference * inputs["attention_mask"].unsqueeze(-1)
        self.shortest = max(SHORTEST, torch.finfo(self.end.dtype).eps / 8)
        # The tokens of item i are in the columns `_starts[i]:_stops[i]`. The other columns are
        # padding, before or after them. `argmax` finds the first True of a row.
        mask = inputs["attention_mask"]
        is_real = mask.bool().cpu().numpy()
        n_columns = is_real.shape[1]
        n_padding_after = is_real[:, ::-1].argmax(axis=1)
        self._starts = is_real.argmax(axis=1)
        self._stops = n_columns - n_padding_after

    def __len__(self) -> int:
        return len(self.end)

    @torch.no_grad()
    def logits(self, items: Ints, positions: Floats) -> Floats:
        """Compute the logits of the model at r points.

        Args:
            items: (r,) item of each point.
            positions: (r,) position on its path: 0 at the baseline, 1 at the input.

        Returns:
            (r, K) logits.
        """
        passes = self._plan_passes(items)
        tables = []
        for rows, columns in passes:
            _, logits = self._ask(items[rows], positions[rows], columns)
            tables.append(_to_numpy(logits))
        return _restore_order(passes, tables)

    def gradients(
        self, items: Ints, positions: Floats, weights: Floats, groups: Ints, labels: Ints | None
    ) -> tuple[Tensor, Floats, Floats]:
        """Compute the gradients of the target at r points, and add them up in weighted sums.

        Args:
            items: (r,) item of each point.
            positions: (r,) position on its path.
            weights: (r,) weight of each point.
            groups: (r,) number of the sum to which each point is added: 0..g-1.
            labels: (r,) the class whose score is explained. None for the predicted one of each
                point.

        Returns:
            (g, L, d) the sums, in single precision at least; (r,) the target at the points; and
            (r, K) the logits.
        """
        n_groups = 0
        if len(groups):
            n_groups = int(groups.max()) + 1
        sums = torch.zeros(
            (n_groups, *self.end.shape[1:]), dtype=self._exact_type, device=self.end.device
        )
        passes = self._plan_passes(items)
        values = np.empty(len(items))
        logits_of_passes = []
        for rows, columns in passes:
            explained = None if labels is None else labels[rows]
            gradient, values[rows], logits = self._differentiate(
                items[rows], positions[rows], columns, explained
            )
            logits_of_passes.append(logits)
            weighted = gradient * make_factors(weights[rows], gradient)
            # A pass has only the columns that are not padding for all of its points.
            sums[:, columns].index_add_(0, self._to_device(groups[rows]), weighted)
        return sums, values, _restore_order(passes, logits_of_passes)

    def _differentiate(
        self, items: Ints, positions: Floats, columns: slice, labels: Ints | None
    ) -> tuple[Tensor, Floats, Floats]:
        """Compute the gradients of the target at the r points of one pass.

        Args:
            items: (r,) item of each point.
            positions: (r,) position on its path.
            columns: The columns of tokens that the pass reads, c in number.
            labels: (r,) explained classes. None for the predicted ones.

        Returns:
            (r, c, d) gradients, in single precision at least; (r,) the target; and (r, K) the
            logits.
        """
        with torch.enable_grad():
            points, logits = self._ask(items, positions, columns)
            logits_array = _to_numpy(logits)
            explained = get_explained(logits_array, labels)
            scores = self._select_target(logits, self._to_device(explained))
            # A point does not depend on the others, so that the gradient of the sum has those of
            # all.
            (gradient,) = torch.autograd.grad(scores.sum(), points)
        return gradient.to(self._exact_type), _to_numpy(scores), logits_array

    def score(self, logits: Floats, labels: Ints) -> Floats:
        """Return the target, (r,), from logits (r, K) and the explained classes (r,)."""
        scores = self._select_target(torch.from_numpy(logits), torch.from_numpy(labels))
        return np.asarray(scores.numpy())

    def _select_target(self, logits: Tensor, labels: Tensor) -> Tensor:
        scores = logits if logits.dtype == torch.float64 else logits.float()
        if self._target != "logit":
            scores = scores.softmax(dim=-1)
        return scores.gather(1, labels.unsqueeze(1)).squeeze(1)

    def _plan_passes(self, items: Ints) -> list[Pass]:
        """Divide points into passes of the model, each with items of similar lengths.

        Args:
            items: (r,) item of each point.

        Returns:
            For each pass, the rows of its points and the columns that are not padding for all of
            them.
        """
        # Columns that are padding for all points of a pass are left out.
        widths = (self._stops - self._starts)[items]
        batches = length_batches(widths, batch_size=max(1, len(items)), max_tokens=self._max_tokens)
        passes = []
        for rows in batches:
            start = self._starts[items[rows]].min()
            stop = self._stops[items[rows]].max()
            passes.append((rows, slice(start, stop)))
        return passes

    def _to_device(self, values: Ints) -> Tensor:
        return send_array(np.ascontiguousarray(values), self.end.device)

    def _ask(self, items: Ints, positions: Floats, columns: slice) -> tuple[Tensor, Tensor]:
        """Run the model at r points.

        Args:
            items: (r,) item of each point.
            positions: (r,) position on its path.
            columns: The columns of tokens that are read, c in number.

        Returns:
            (r, c, d) the embeddings at the points, which require gradients, and (r, K) the logits.
        """
        rows = self._to_device(items)
        # Columns first: slicing them makes a view, but the selection of rows copies.
        end = self.end[:, columns][rows].to(self._exact_type)
        difference = self.difference[:, columns][rows]
        # A point is the end plus (position - 1) times the path, which is exact at the input.
        remaining = make_factors(positions - 1.0, end)
        exact_points = torch.addcmul(end, difference, remaining)
        # The model reads embeddings in its own precision.
        points = exact_points.to(self.end.dtype).requires_grad_()
        inputs = {}
        for name, tensor in self._inputs.items():
            inputs[name] = tensor[:, columns][rows]
        logits = self._embedding_input.logits(points, inputs)
        return points, logits


def get_explained(logits: Floats, labels: Ints | None) -> Ints:
    """Return the explained classes: the given ones, or the predicted ones."""
    if labels is not None:
        return labels
    predicted: Ints = logits.argmax(axis=1).astype(np.int64)
    return predicted


def make_factors(numbers: Floats, tables: Tensor) -> Tensor:
    """Return numbers, (r,), as factors of tables, (r, L, d): in their type, and on their device."""
    factors = torch.as_tensor(numbers, dtype=tables.dtype, device=tables.device)
    return factors.view(-1, 1, 1)


def _to_numpy(tensor: Tensor) -> Floats:
    return np.asarray(tensor.detach().double().cpu().numpy())


def _restore_order(passes: list[Pass], tables: list[Floats]) -> Floats:
    """Join the arrays of several passes into one, in the order of the points.

    Args:
        passes: The passes, with the rows of their points.
        tables: An array of each pass, with one row per point.
    """
    rows = np.concatenate([rows for rows, _ in passes])
    order = np.argsort(rows)
    table: Floats = np.concatenate(tables)
    return table[order]


def project_gradients(gradients: Tensor, difference: Tensor) -> Floats:
    """Return the gradients in the direction of their paths, (r,)."""
    products = (gradients * difference).flatten(1)
    slopes = products.double().sum(dim=1)
    return np.asarray(slopes.cpu().numpy())
