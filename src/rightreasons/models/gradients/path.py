"""Gradients along the straight path from a baseline to the input embeddings of some items, many points in one pass."""

from __future__ import annotations

import itertools

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.models.gradients.embedding_input import EmbeddingInput

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


SHORTEST = 2.0**-16


class Path:
    """The paths of a batch of items, and the model whose gradients are taken along them.

    Only the embeddings of real tokens change, those of padding stay. Points of different items and places on the path
    share a forward and backward pass.

    Args:
        embedding_input: A frozen classifier or multiple-choice model, fed by embeddings.
        inputs: `input_ids`, `attention_mask`, …: (b, L) for a classifier, (b, C, L) for a multiple-choice model.
        baseline: The embeddings at which the paths of the real tokens begin, in the shape of those of the items, or
            (d,), the same for all; None for zeros.
        target: "probability" or "logit".
        max_tokens: Maximum tokens per pass, padding included; a single item may exceed it.
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
        self._embedding_input, self._inputs = embedding_input, inputs
        self._target = target
        self._end = embedding_input.embed(inputs)
        # In half precision, points near the baseline would be differences of large rounded numbers.
        self._exact = torch.promote_types(self._end.dtype, torch.float32)
        end = self._end.to(self._exact)
        self._difference = (end if baseline is None else end - baseline) * inputs["attention_mask"].unsqueeze(-1)
        self._rows = max(1, max_tokens // inputs["input_ids"][0].numel())

    def __len__(self) -> int:
        return len(self._end)

    @property
    def end(self) -> Tensor:
        """(b, …, L, d) the embeddings of the items."""
        return self._end

    @property
    def shortest(self) -> float:
        """The length of the shortest part of the path whose points differ by more than rounding."""
        return max(SHORTEST, torch.finfo(self._end.dtype).eps / 8)

    @property
    def difference(self) -> Tensor:
        """(b, …, L, d) the embeddings minus their baselines, 0 at padding; in single precision at least."""
        return self._difference

    @torch.no_grad()
    def logits(self, items: Ints, places: Floats) -> Floats:
        """Return the logits at some points, (r, K).

        Args:
            items: (r,) which items.
            places: (r,) where on their paths: 0 at the baseline, 1 at the input.
        """
        parts = [
            self._forward(items[rows], self._points(items[rows], places[rows])).double().cpu()
            for rows in self._passes(len(items))
        ]
        return np.asarray(torch.cat(parts).numpy())

    def gradients(
        self, items: Ints, places: Floats, weights: Floats, groups: Ints, labels: Ints | None
    ) -> tuple[Tensor, Floats, Floats]:
        """Sum weighted gradients of the target at some points.

        Args:
            items: (r,) which items.
            places: (r,) where on their paths.
            weights: (r,) the weight of each point.
            groups: (r,) into which sum each point goes: 0..g-1.
            labels: (r,) the class (or choice) whose score is explained; None for the predicted one of each point.

        Returns:
            (g, …, L, d) the sums, in single precision at least; (r,) the target at the points; and (r, K) the logits.
        """
        exact = self._exact
        size = int(groups.max()) + 1 if len(groups) else 0
        total = torch.zeros((size, *self._end.shape[1:]), dtype=exact, device=self._end.device)
        shape = (-1,) + (1,) * (self._end.dim() - 1)
        values, logits = np.empty(len(items)), []
        for rows in self._passes(len(items)):
            points = self._points(items[rows], places[rows]).requires_grad_()
            with torch.enable_grad():
                answers = self._forward(items[rows], points)
                logits.append(answers.detach().double().cpu().numpy())
                explained = logits[-1].argmax(axis=1) if labels is None else labels[rows]
                scores = self._target_of(answers, self._indices(explained))
                (gradient,) = torch.autograd.grad(scores.sum(), points)
            weight = torch.as_tensor(weights[rows], dtype=exact, device=total.device).view(shape)
            total.index_add_(0, self._indices(groups[rows]), gradient.to(exact) * weight)
            values[rows] = scores.detach().double().cpu().numpy()
        return total, values, np.concatenate(logits)

    def score(self, logits: Floats, labels: Ints) -> Floats:
        """Return the target, (r,), from logits (r, K) and the explained classes (r,)."""
        return np.asarray(self._target_of(torch.from_numpy(logits), torch.from_numpy(labels)).numpy())

    def _target_of(self, logits: Tensor, labels: Tensor) -> Tensor:
        exact = logits if logits.dtype == torch.float64 else logits.float()
        rows = exact if self._target == "logit" else exact.softmax(dim=-1)
        return rows.gather(1, labels.unsqueeze(1)).squeeze(1)

    def _passes(self, n_rows: int) -> list[slice]:
        # Passes of equal size: a last one of a few rows would cost nearly as much.
        n_passes = -(-n_rows // self._rows)
        edges = np.linspace(0, n_rows, n_passes + 1).round().astype(int)
        return [slice(a, b) for a, b in itertools.pairwise(edges.tolist())]

    def _indices(self, values: Ints) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._end.device)

    def _points(self, items: Ints, places: Floats) -> Tensor:
        chosen = self._indices(items)
        back = torch.as_tensor(places - 1.0, dtype=self._exact, device=self._end.device)
        back = back.view((-1,) + (1,) * (self._end.dim() - 1))
        points = torch.addcmul(self._end[chosen].to(self._exact), self._difference[chosen], back)
        return points.to(self._end.dtype)

    def _forward(self, items: Ints, points: Tensor) -> Tensor:
        chosen = self._indices(items)
        return self._embedding_input.logits(points, {name: tensor[chosen] for name, tensor in self._inputs.items()})
