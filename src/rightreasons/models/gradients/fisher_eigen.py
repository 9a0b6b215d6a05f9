"""The leading eigenvalue and eigenvector of an input's Fisher information, from logits and the graph that made them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class FisherEigen:
    """The leading eigenvalue of G for each of b items; NaN where logits or gradients were not finite.

    Attributes:
        eigenvalues: (b,) float64, the largest eigenvalue, at least 0.
        gradient_norms: (b,) float64, norm of the gradient of log p of the predicted class.
        error: (b,) float64, bound on the distance of `eigenvalues` from an eigenvalue of G; 0 for the Gram matrix.
        spectrum: (b, K - 1) float64, all eigenvalues that may differ from 0, the largest first; None unless asked for.
        eigenvector: The unit eigenvector, in the shape of the inputs; None unless asked for. Its sign means nothing.
    """

    eigenvalues: Tensor
    gradient_norms: Tensor
    error: Tensor
    spectrum: Tensor | None
    eigenvector: Tensor | None


@dataclass(frozen=True)
class Solver:
    """What is computed of G, and how.

    Attributes:
        power: Whether by power iteration, whose cost does not grow with the number of classes, or by the Gram matrix.
        spectrum: Whether to return all eigenvalues (Gram matrix only).
        eigenvector: Whether to return the leading eigenvector.
        tolerance: Relative residual at which power iteration stops.
        max_iterations: Maximum rounds of power iteration.
    """

    power: bool = False
    spectrum: bool = False
    eigenvector: bool = False
    tolerance: float = 1e-4
    max_iterations: int = 100

    def __call__(self, logits: Tensor, inputs: Tensor) -> FisherEigen:
        r"""Find the leading eigenvalue of G = sum_y p_y grad log p_y grad log p_y^T for every item.

        Args:
            logits: (b, K), K >= 2, with the graph that leads back to `inputs`. Item i may depend only on inputs[i].
            inputs: (b, ...) that require gradients.

        Returns:
            A `FisherEigen`.

        References:
            Datta et al. (2020), "Geometry matters", algorithm 1.

        Example:
            One linear logit z = 3 x_0 + 4 x_1 against 0, at z = 0: p(1-p) |w|^2 = 25 / 4.

            >>> x = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
            >>> z = x @ torch.tensor([[0.0, 3.0], [0.0, 4.0]], dtype=torch.float64)
            >>> round(Solver()(z, x).eigenvalues.item(), 6)
            6.25
        """
        return self._power(logits, inputs) if self.power else self._gram(logits, inputs)

    def _gram(self, logits: Tensor, inputs: Tensor) -> FisherEigen:
        n_items, n_classes = logits.shape
        # Only differences of logits matter, so K - 1 backward passes are enough.
        differences = logits[:, 1:] - logits[:, :1]
        last = n_classes - 2
        gradients = torch.stack(
            [
                torch.autograd.grad(differences[:, k].sum(), inputs, retain_graph=k < last)[0].flatten(1)
                for k in range(n_classes - 1)
            ],
            dim=1,
        )  # (b, K - 1, D)
        inner = torch.zeros(n_items, n_classes, n_classes, dtype=torch.float64, device=logits.device)
        inner[:, 1:, 1:] = torch.bmm(gradients, gradients.transpose(1, 2)).double()
        p = logits.detach().double().softmax(dim=-1)
        # grad log p_y = h_y - sum_k p_k h_k, with h the gradients of the differences and h_0 = 0.
        center = torch.eye(n_classes, dtype=torch.float64, device=logits.device) - p[:, None, :]
        scaled = p.sqrt()[:, :, None] * center
        gram = scaled @ inner @ scaled.transpose(1, 2)
        finite = torch.isfinite(gram).flatten(1).all(dim=1)
        values, vectors = torch.linalg.eigh(torch.where(finite[:, None, None], gram, torch.zeros_like(gram)))
        values = torch.where(finite[:, None], values.clamp_min(0), torch.full_like(values, torch.nan))
        row = center[torch.arange(n_items, device=p.device), _predicted(p)]
        squared = torch.einsum("bi,bij,bj->b", row, inner, row)
        eigenvector = None
        if self.eigenvector:
            weights = torch.einsum("by,byk->bk", vectors[:, :, -1], scaled)[:, 1:]
            weights = weights / values[:, -1:].sqrt().clamp_min(1e-300)
            eigenvector = torch.einsum("bk,bkd->bd", weights.to(gradients.dtype), gradients).view_as(inputs)
        return FisherEigen(
            values[:, -1],
            squared.clamp_min(0).sqrt(),
            torch.zeros(n_items, dtype=torch.float64, device=logits.device),
            values[:, 1:].flip(1) if self.spectrum else None,
            eigenvector,
        )

    def _power(self, logits: Tensor, inputs: Tensor) -> FisherEigen:
        """Iterate exact products G v = J^T (diag p - p p^T) J v.

        J v, for the Jacobian J of the logits, is the derivative of u -> J^T u, which is linear, in the direction v.
        """
        p = logits.detach().softmax(dim=-1)
        u = torch.zeros_like(logits, requires_grad=True)
        (pulled,) = torch.autograd.grad(logits, inputs, u, create_graph=True)
        shape = (-1,) + (1,) * (inputs.dim() - 1)

        def product(v: Tensor) -> Tensor:
            (pushed,) = torch.autograd.grad(pulled, u, v, retain_graph=True)
            s = p * pushed - p * (p * pushed).sum(dim=1, keepdim=True)
            moved: Tensor = torch.autograd.grad(logits, inputs, s, retain_graph=True)[0]
            return moved

        top = torch.zeros_like(logits).scatter_(1, _predicted(p)[:, None], 1.0)
        (start,) = torch.autograd.grad(logits, inputs, top - p, retain_graph=True)
        gradient_norms = _norm(start)
        v = start / gradient_norms.clamp_min(1e-300).view(shape).to(start.dtype)
        values = torch.zeros(len(logits), dtype=torch.float64, device=logits.device)
        error = torch.full_like(values, torch.inf)
        for _ in range(self.max_iterations):
            moved = product(v)
            values = (v * moved).flatten(1).double().sum(dim=1)
            error = _norm(moved - values.view(shape).to(v.dtype) * v)
            if bool((error.nan_to_num(0) <= self.tolerance * values.abs().nan_to_num(0)).all()):
                break
            v = moved / _norm(moved).clamp_min(1e-300).view(shape).to(v.dtype)
        return FisherEigen(values, gradient_norms, error, None, v if self.eigenvector else None)


def _predicted(p: Tensor) -> Tensor:
    return p.nan_to_num(-1).argmax(dim=1)


def _norm(v: Tensor) -> Tensor:
    norms: Tensor = v.flatten(1).double().norm(dim=1)
    return norms
