"""Gradients along the straight path from a baseline to the input embeddings of some items, many points in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.models.gradients.embedding_input import EmbeddingInput

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


SHORTEST = 2.0**-16

_WORTH_A_PASS = 256
"""Tokens of padding that cost about as much as one more pass."""


@dataclass(frozen=True, eq=False)
class _Pass:
    """Some of the points that are asked for, and the columns that hold their real tokens."""

    rows: Ints
    columns: slice


class Path:
    """The paths of a batch of items, and the model whose gradients are taken along them.

    Only the embeddings of real tokens change, those of padding stay. Points of different items and places on the path
    share a forward and backward pass, if the items are of like length: a pass is no longer than its longest item.

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
        self._max_tokens = max_tokens
        real = inputs["attention_mask"].bool().reshape(len(self._end), -1, self._end.shape[-2])
        self._sequences = real.shape[1]
        places = real.any(dim=1).cpu().numpy()
        self._first = places.argmax(axis=1)
        self._stop = places.shape[1] - places[:, ::-1].argmax(axis=1)

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
        passes, parts = self._passes(items), []
        for each in passes:
            points = self._points(items[each.rows], places[each.rows], each.columns)
            parts.append(self._forward(items[each.rows], points, each.columns).double().cpu().numpy())
        return _in_order(passes, parts)

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
        passes, values, logits = self._passes(items), np.empty(len(items)), []
        for each in passes:
            rows = each.rows
            points = self._points(items[rows], places[rows], each.columns).requires_grad_()
            with torch.enable_grad():
                answers = self._forward(items[rows], points, each.columns)
                logits.append(answers.detach().double().cpu().numpy())
                explained = logits[-1].argmax(axis=1) if labels is None else labels[rows]
                scores = self._target_of(answers, self._indices(explained))
                (gradient,) = torch.autograd.grad(scores.sum(), points)
            weight = torch.as_tensor(weights[rows], dtype=exact, device=total.device).view(shape)
            total[..., each.columns, :].index_add_(0, self._indices(groups[rows]), gradient.to(exact) * weight)
            values[rows] = scores.detach().double().cpu().numpy()
        return total, values, _in_order(passes, logits)

    def score(self, logits: Floats, labels: Ints) -> Floats:
        """Return the target, (r,), from logits (r, K) and the explained classes (r,)."""
        return np.asarray(self._target_of(torch.from_numpy(logits), torch.from_numpy(labels)).numpy())

    def _target_of(self, logits: Tensor, labels: Tensor) -> Tensor:
        exact = logits if logits.dtype == torch.float64 else logits.float()
        rows = exact if self._target == "logit" else exact.softmax(dim=-1)
        return rows.gather(1, labels.unsqueeze(1)).squeeze(1)

    def _passes(self, items: Ints) -> list[_Pass]:
        """Cut points into passes, those of the longest items first.

        A pass ends where it is full, and where its padding would cost the rest of it more than another pass does.
        """
        width = self._stop[items] - self._first[items]
        order = np.argsort(-width, kind="stable").astype(np.int64)
        passes, begin = [], 0
        while begin < len(order):
            longest = width[order[begin]]
            room = max(1, self._max_tokens // (self._sequences * int(longest)))
            filled = order[begin : begin + room]
            spared = (longest - width[filled]) * self._sequences * np.arange(len(filled), 0, -1)
            worth = np.flatnonzero(spared > _WORTH_A_PASS)
            rows = filled[: worth[0]] if worth.size else filled
            chosen = items[rows]
            passes.append(_Pass(rows, slice(int(self._first[chosen].min()), int(self._stop[chosen].max()))))
            begin += len(rows)
        return passes

    def _indices(self, values: Ints) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._end.device)

    def _points(self, items: Ints, places: Floats, columns: slice) -> Tensor:
        chosen = self._indices(items)
        back = torch.as_tensor(places - 1.0, dtype=self._exact, device=self._end.device)
        back = back.view((-1,) + (1,) * (self._end.dim() - 1))
        end, difference = (each[..., columns, :][chosen] for each in (self._end, self._difference))
        points = torch.addcmul(end.to(self._exact), difference, back)
        return points.to(self._end.dtype)

    def _forward(self, items: Ints, points: Tensor, columns: slice) -> Tensor:
        chosen = self._indices(items)
        inputs = {name: tensor[..., columns][chosen] for name, tensor in self._inputs.items()}
        return self._embedding_input.logits(points, inputs)


def _in_order(passes: list[_Pass], parts: list[Floats]) -> Floats:
    """Return what some passes found for their rows, in the order in which these were asked for."""
    found = np.concatenate(parts)
    ordered = np.empty_like(found)
    ordered[np.concatenate([each.rows for each in passes])] = found
    return ordered
