"""The eigenvalues of Fisher information from logits and their gradients, for a batch of items.

`solve_gram` finds all of them from the gradients, and `compute_leading_eigenvalues` the largest one
by the method of the options. `FisherInformation` is the result for a dataset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.core.arrays import Ragged
from rightreasons.core.choices import UNITS
from rightreasons.core.errors import OptionError
from rightreasons.core.options import Options, accept_options_as_keywords, option

SMALLEST = 1e-300
"""Smallest norm by which vectors are divided."""


@dataclass(frozen=True, eq=False)
class FisherEigen:
    """The largest eigenvalue of the Fisher information G for each of b items.

    All numbers of an item are NaN if its logits or gradients are not finite.

    Attributes:
        eigenvalues: (b,) float64, the largest eigenvalue, at least 0.
        gradient_norms: (b,) float64, norm of the gradient of log p of the predicted class.
        error: (b,) float64, bound on the distance of `eigenvalues` from an eigenvalue of G; 0 for
            the method "gram".
        eigenvector: The unit eigenvector, in the shape of the inputs; its sign is arbitrary. None
            if it was not requested.
        spectrum: (b, K - 1) float64, all eigenvalues that may differ from 0, the largest first.
            None if they were not requested.
    """

    eigenvalues: Tensor
    gradient_norms: Tensor
    error: Tensor
    eigenvector: Tensor | None
    spectrum: Tensor | None = None


def _solve_by_gram(logits: Tensor, inputs: Tensor, options: FisherOptions) -> FisherEigen:
    """Find the eigenvalues of the Fisher information by K - 1 backward passes.

    Args:
        logits: (b, K), with the graph that leads back to `inputs`.
        inputs: (b, ...) that require gradients. Item i of the logits depends on inputs[i] only.
        options: Whether to return the eigenvector and all eigenvalues.
    """
    n_classes = logits.shape[1]
    # A softmax depends on differences of logits only, so that K - 1 backward passes are enough.
    first_logit = logits[:, :1]
    differences = logits[:, 1:] - first_logit
    gradients = []
    for k in range(n_classes - 1):
        # The last pass frees the graph.
        is_needed_again = k < n_classes - 2
        # The gradient of the sum over items consists of the gradients of all items.
        total = differences[:, k].sum()
        (gradient,) = torch.autograd.grad(total, inputs, retain_graph=is_needed_again)
        gradients.append(gradient)
    return solve_gram(
        logits=logits.detach(),
        gradients=torch.stack(gradients, dim=1),
        options=options,
    )


def solve_gram(logits: Tensor, gradients: Tensor, options: FisherOptions) -> FisherEigen:
    """Find the eigenvalues of the Fisher information from the gradients of the logits.

    With p the class probabilities and g_y the gradient of log p_y, the Fisher information is
    G = sum_y p_y g_y g_y^T = A^T A, where A has the rows sqrt(p_y) g_y. G has as many rows as the
    input has numbers, but the (K, K) Gram matrix A A^T has the same eigenvalues, except for zeros.

    Args:
        logits: (b, K), or any scores whose softmax is p.
        gradients: (b, K - 1, ...) gradients of logit k minus logit 0, for k = 1, …, K - 1.
        options: Whether to return the eigenvector and all eigenvalues.

    Returns:
        A `FisherEigen` of b items, with NaN for items whose numbers are not all finite.
    """
    n_items = len(logits)
    input_shape = gradients.shape[2:]
    gradients = gradients.flatten(2)  # (b, K - 1, D)
    p = logits.double().softmax(dim=-1)
    products = _multiply_gradients(gradients)

    # g_y = h_y - sum_k p_k h_k, with h_k the gradient of logit k minus logit 0. Row y of `center`
    # has the coefficients of g_y, and row y of `scaled` those of sqrt(p_y) g_y: (b, K, K) each.
    identity = torch.eye(p.shape[1], dtype=torch.float64, device=p.device)
    center = identity - p[:, None, :]
    roots = p.sqrt()
    scaled = roots[:, :, None] * center
    transposed = scaled.transpose(1, 2)
    gram = scaled @ products @ transposed

    # An item with NaN or infinity would stop the solver for all items, and is replaced by zeros.
    is_finite_entry = torch.isfinite(gram)
    is_finite = is_finite_entry.flatten(1).all(dim=1)
    zeros = torch.zeros_like(gram)
    finite_gram = torch.where(is_finite[:, None, None], gram, zeros)
    values, vectors = torch.linalg.eigh(finite_gram)  # (b, K), the smallest first
    undefined = torch.full_like(values, torch.nan)
    # Rounding may turn an eigenvalue of 0 into a negative number.
    values = values.clamp_min(0)
    values = torch.where(is_finite[:, None], values, undefined)

    items = torch.arange(n_items, device=p.device)
    predicted_row = center[items, _find_predicted(p)]
    squared_norms = torch.einsum("bi,bij,bj->b", predicted_row, products, predicted_row)
    gradient_norms = squared_norms.clamp_min(0).sqrt()
    eigenvector = None
    if options.eigenvector:
        # An eigenvector u of the Gram matrix gives that of G: A^T u / sqrt(lambda). Column 0 is
        # dropped, because logit 0 minus itself has no gradient.
        leading_vector = vectors[:, :, -1]
        weights = torch.einsum("by,byk->bk", leading_vector, scaled)
        weights = weights[:, 1:]
        # A leading eigenvalue of 0 must not divide by 0.
        root = values[:, -1:].sqrt()
        weights = weights / root.clamp_min(SMALLEST)
        flat = torch.einsum("bk,bkd->bd", weights.to(gradients.dtype), gradients)
        eigenvector = flat.view(n_items, *input_shape)
    spectrum = None
    if options.spectrum:
        # The K gradients of log p are linearly dependent, so that the smallest eigenvalue is 0.
        spectrum = values[:, 1:].flip(1)
    return FisherEigen(
        eigenvalues=values[:, -1],
        gradient_norms=gradient_norms,
        error=torch.zeros(n_items, dtype=torch.float64, device=logits.device),
        eigenvector=eigenvector,
        spectrum=spectrum,
    )


def _multiply_gradients(gradients: Tensor) -> Tensor:
    """Return the inner products of the gradients of all K logits, relative to that of logit 0.

    Args:
        gradients: (b, K - 1, D) gradients of logit k minus logit 0, for k = 1, …, K - 1.

    Returns:
        (b, K, K) float64. Row and column 0 are zero, because logit 0 minus itself has no gradient.
    """
    n_items = len(gradients)
    n_classes = gradients.shape[1] + 1
    products = torch.zeros(
        (n_items, n_classes, n_classes), dtype=torch.float64, device=gradients.device
    )
    transposed = gradients.transpose(1, 2)
    inner_products = torch.bmm(gradients, transposed)
    products[:, 1:, 1:] = inner_products.double()
    return products


def _iterate(logits: Tensor, inputs: Tensor, options: FisherOptions) -> FisherEigen:
    """Find the largest eigenvalue of the Fisher information G by power iteration.

    With J the Jacobian of the logits and p their softmax, G v = J^T (diag p - p p^T) J v. The
    product takes two steps, J v and the backward pass J^T s, so that neither J nor G is stored.

    Args:
        logits: (b, K), with the graph that leads back to `inputs`.
        inputs: (b, ...) that require gradients. Item i of the logits depends on inputs[i] only.
        options: The tolerance and the maximum number of rounds.
    """
    p = logits.detach().softmax(dim=-1)
    # J v is a forward derivative, which two backward passes can compute: J^T u is linear in u, and
    # the derivative of <J^T u, v> with respect to u is J v, whatever the value of u.
    u = torch.zeros_like(logits, requires_grad=True)
    (backward_of_u,) = torch.autograd.grad(logits, inputs, u, create_graph=True)

    # The iteration begins with the gradient of log p of the predicted class.
    predicted = _find_predicted(p)
    is_predicted = torch.zeros_like(logits)
    is_predicted.scatter_(1, predicted[:, None], 1.0)
    # The derivative of log p_y with respect to the logits.
    log_p_slope = is_predicted - p
    (direction,) = torch.autograd.grad(logits, inputs, log_p_slope, retain_graph=True)
    gradient_norms = _measure_norms(direction)
    v = _normalize(direction, gradient_norms)

    values = torch.zeros(len(logits), dtype=torch.float64, device=logits.device)
    error = torch.full_like(values, torch.inf)
    for _ in range(options.max_iterations):
        (jacobian_v,) = torch.autograd.grad(backward_of_u, u, v, retain_graph=True)
        # (diag p - p p^T) J v
        weighted = p * jacobian_v
        mean = weighted.sum(dim=1, keepdim=True)
        s = weighted - p * mean
        (product,) = torch.autograd.grad(logits, inputs, s, retain_graph=True)
        # The Rayleigh quotient v^T G v, and the norm of the residual G v - lambda v.
        quotients = v * product
        values = quotients.flatten(1).double().sum(dim=1)
        residual = product - _expand(values, v) * v
        error = _measure_norms(residual)
        # An item with NaN counts as converged, because more rounds cannot help it.
        max_error = options.tolerance * values.abs().nan_to_num(0)
        has_converged = error.nan_to_num(0) <= max_error
        if bool(has_converged.all()):
            break
        norms = _measure_norms(product)
        v = _normalize(product, norms)
    eigenvector = v if options.eigenvector else None
    return FisherEigen(
        eigenvalues=values,
        gradient_norms=gradient_norms,
        error=error,
        eigenvector=eigenvector,
    )


def _find_predicted(p: Tensor) -> Tensor:
    # NaN would count as the largest number.
    comparable = p.nan_to_num(-1)
    return comparable.argmax(dim=1)


def _measure_norms(v: Tensor) -> Tensor:
    rows = v.flatten(1)
    norms: Tensor = rows.double().norm(dim=1)
    return norms


def _expand(values: Tensor, v: Tensor) -> Tensor:
    """Return one number per item, (b,), as a tensor that can be multiplied by v, (b, ...)."""
    # The shape of v, with size 1 in all dimensions but the first.
    n_inner = v.dim() - 1
    shape = (-1,) + (1,) * n_inner
    return values.view(shape).to(v.dtype)


def _normalize(v: Tensor, norms: Tensor) -> Tensor:
    # `SMALLEST` is 0 in single precision, and the norm of a zero gradient must not divide by 0.
    smallest = max(SMALLEST, torch.finfo(v.dtype).tiny)
    divisors = norms.clamp_min(smallest)
    return v / _expand(divisors, v)


METHODS = ("auto", "gram", "power")

GRAM_CLASSES = 24
"""Maximum classes for which method="auto" takes the Gram matrix; with more, its backward passes
cost more than iteration."""

DEFINITION = (
    "Largest eigenvalue of the Fisher information G = sum_y p(y|x) grad log p(y|x) grad log "
    "p(y|x)^T with respect to the word embeddings of the item (Datta et al.): KL(p(.|x) || p(.|x + "
    "e v)) is about e^2 / 2 times it along its eigenvector v."
)


@dataclass(frozen=True, eq=False)
class FisherInformation:
    """The fragility of each prediction, in the order of the items.

    The numbers of an item that could not be computed are NaN, and `failures` has the reason.

    Attributes:
        ids: N item ids.
        eigenvalues: (N,) the largest eigenvalue, at least 0; larger is more fragile.
        scale_free: (N,) the same times the squared mean norm of the item's word embeddings, which
            makes models with embeddings of different sizes comparable.
        gradient_norms: (N,) norm of the gradient of log p of the predicted class.
        logits: (N, K) float64; K is the largest number of choices where this differs, and -inf
            fills the rows.
        error: (N,) bound on the distance of `eigenvalues` from an eigenvalue of G: 0 for the Gram
            matrix, the residual of the iteration for method="power".
        tokens: N tuples of tokens. None unless the eigenvector was requested.
        token_norms: N rows: how far the unit eigenvector moves each token (squares sum to 1 less
            the share of special tokens). None unless requested.
        starts: (total,) first character of each token in its text. None unless requested.
        ends: (total,) index after its last character. None unless requested.
        truncated: (N,) whether a text of the item was truncated.
        failures: (id, sentence) of the items that could not be computed.
        label_names: K names of the classes; None for choices.
        definition: The measure in words.
        spectrum: N rows of the K - 1 eigenvalues that may differ from 0, the largest first; an item
            that could not be computed has a row of NaN. None unless requested.
    """

    ids: tuple[str, ...]
    eigenvalues: NDArray[np.float64]
    scale_free: NDArray[np.float64]
    gradient_norms: NDArray[np.float64]
    logits: NDArray[np.float64]
    error: NDArray[np.float64]
    truncated: NDArray[np.bool_]
    failures: tuple[tuple[str, str], ...]
    label_names: tuple[str, ...] | None
    tokens: tuple[tuple[str, ...], ...] | None = None
    token_norms: Ragged | None = None
    starts: NDArray[np.int64] | None = None
    ends: NDArray[np.int64] | None = None
    definition: str = DEFINITION
    spectrum: Ragged | None = None

    def __len__(self) -> int:
        return len(self.ids)


class FisherOptions(Options):
    """The settings of `fisher_information` that change its result."""

    method: str = option("auto", "How the eigenvalue is computed.", choices=METHODS)
    eigenvector: bool = option(False, "Return how far the leading eigenvector moves each token.")
    unit: str = option("wordpiece", "Tokens that the eigenvector is reduced to.", choices=UNITS)
    spectrum: bool = option(False, "Return all eigenvalues that may differ from 0, by method gram.")
    tolerance: float = option(
        1e-4, "Relative residual at which power iteration stops.", minimum=0.0
    )
    max_iterations: int = option(100, "Maximum number of rounds of power iteration.", minimum=1)

    def _check(self) -> None:
        """Check that the method can compute what is requested.

        Raises:
            OptionError: If all eigenvalues are requested from power iteration.
        """
        if self.spectrum and self.method == "power":
            raise OptionError(
                "Expected `method` 'gram' or 'auto' with spectrum=True, but got 'power', which finds "
                "the largest eigenvalue alone.",
                option="method",
            )

    def uses_iteration(self, n_classes: int) -> bool:
        """Return whether the eigenvalue is computed by power iteration, for a number of classes."""
        if self.method == "auto":
            return n_classes > GRAM_CLASSES and not self.spectrum
        return self.method == "power"


@accept_options_as_keywords(FisherOptions)
def compute_leading_eigenvalues(
    logits: Tensor, inputs: Tensor, *, options: FisherOptions
) -> FisherEigen:
    r"""Compute the largest eigenvalue of G = sum_y p_y grad log p_y grad log p_y^T for every item.

    Args:
        logits: (b, K), K >= 2, with the graph that leads back to `inputs`. Item i of the logits may
            depend on inputs[i] only.
        inputs: (b, ...) that require gradients.
        options: The method, and whether to return the eigenvector. Its fields can be given as
            keywords instead.

    Returns:
        A `FisherEigen`.

    References:
        Datta et al. (2020), "Geometry matters", algorithm 1.

    Example:
        One linear logit z = 3 x_0 + 4 x_1 against 0, at z = 0: p(1-p) |w|^2 = 25 / 4.

        >>> x = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
        >>> z = x @ torch.tensor([[0.0, 3.0], [0.0, 4.0]], dtype=torch.float64)
        >>> round(compute_leading_eigenvalues(z, x).eigenvalues.item(), 6)
        6.25
    """
    if options.uses_iteration(logits.shape[1]):
        return _iterate(logits, inputs, options)
    return _solve_by_gram(logits, inputs, options)
