"""Where a model is fragile: the Fisher information of its prediction with respect to the input embeddings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from rightreasons.core.arrays import Ragged
from rightreasons.core.choices import UNITS
from rightreasons.core.options import Options, accept_options_as_keywords, option
from rightreasons.models.batching import later
from rightreasons.models.gradients.inputs import (
    EmbeddingInput,
    classifier_with_gradients,
    merge_pieces,
)
from rightreasons.models.items import Items
from rightreasons.models.protocol import Scorer
from rightreasons.models.running import Column, Columns, Later


@dataclass(frozen=True, eq=False)
class FisherEigen:
    """The leading eigenvalue of G for each of b items; NaN where logits or gradients were not finite.

    Attributes:
        eigenvalues: (b,) float64, the largest eigenvalue, at least 0.
        gradient_norms: (b,) float64, norm of the gradient of log p of the predicted class.
        error: (b,) float64, bound on the distance of `eigenvalues` from an eigenvalue of G; 0 for the Gram matrix.
        eigenvector: The unit eigenvector, in the shape of the inputs; None unless asked for. Its sign means nothing.
    """

    eigenvalues: Tensor
    gradient_norms: Tensor
    error: Tensor
    eigenvector: Tensor | None


def _gram(logits: Tensor, inputs: Tensor, *, wants_eigenvector: bool) -> FisherEigen:
    n_items, n_classes = logits.shape
    # Only differences of logits matter, so K - 1 backward passes are enough.
    differences = logits[:, 1:] - logits[:, :1]
    last = n_classes - 2
    gradients = torch.stack(
        [
            torch.autograd.grad(differences[:, k].sum(), inputs, retain_graph=k < last)[0].flatten(
                1
            )
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
    values, vectors = torch.linalg.eigh(
        torch.where(finite[:, None, None], gram, torch.zeros_like(gram))
    )
    values = torch.where(finite[:, None], values.clamp_min(0), torch.full_like(values, torch.nan))
    row = center[torch.arange(n_items, device=p.device), _predicted(p)]
    squared = torch.einsum("bi,bij,bj->b", row, inner, row)
    eigenvector = None
    if wants_eigenvector:
        weights = torch.einsum("by,byk->bk", vectors[:, :, -1], scaled)[:, 1:]
        weights = weights / values[:, -1:].sqrt().clamp_min(1e-300)
        eigenvector = torch.einsum("bk,bkd->bd", weights.to(gradients.dtype), gradients).view_as(
            inputs
        )
    return FisherEigen(
        values[:, -1],
        squared.clamp_min(0).sqrt(),
        torch.zeros(n_items, dtype=torch.float64, device=logits.device),
        eigenvector,
    )


def _power(logits: Tensor, inputs: Tensor, options: FisherOptions) -> FisherEigen:
    """Iterate exact products G v = J^T (diag p - p p^T) J v.

    J v, for the Jacobian J of the logits, is the derivative of u -> J^T u, which is linear, in the direction v.
    """
    p = logits.detach().softmax(dim=-1)
    u = torch.zeros_like(logits, requires_grad=True)
    (pulled,) = torch.autograd.grad(logits, inputs, u, create_graph=True)
    shape = (-1,) + (1,) * (inputs.dim() - 1)

    top = torch.zeros_like(logits).scatter_(1, _predicted(p)[:, None], 1.0)
    (start,) = torch.autograd.grad(logits, inputs, top - p, retain_graph=True)
    gradient_norms = _norm(start)
    v = start / gradient_norms.clamp_min(1e-300).view(shape).to(start.dtype)
    values = torch.zeros(len(logits), dtype=torch.float64, device=logits.device)
    error = torch.full_like(values, torch.inf)
    for _ in range(options.max_iterations):
        (pushed,) = torch.autograd.grad(pulled, u, v, retain_graph=True)
        s = p * pushed - p * (p * pushed).sum(dim=1, keepdim=True)
        (moved,) = torch.autograd.grad(logits, inputs, s, retain_graph=True)
        values = (v * moved).flatten(1).double().sum(dim=1)
        error = _norm(moved - values.view(shape).to(v.dtype) * v)
        if bool((error.nan_to_num(0) <= options.tolerance * values.abs().nan_to_num(0)).all()):
            break
        v = moved / _norm(moved).clamp_min(1e-300).view(shape).to(v.dtype)
    return FisherEigen(values, gradient_norms, error, v if options.eigenvector else None)


def _predicted(p: Tensor) -> Tensor:
    return p.nan_to_num(-1).argmax(dim=1)


def _norm(v: Tensor) -> Tensor:
    norms: Tensor = v.flatten(1).double().norm(dim=1)
    return norms


METHODS = ("auto", "gram", "power")

GRAM_CLASSES = 24
"""Maximum classes for which method="auto" takes the Gram matrix; with more, its backward passes cost more than
iteration."""

DEFINITION = (
    "Largest eigenvalue of the Fisher information G = sum_y p(y|x) grad log p(y|x) grad log p(y|x)^T with respect to "
    "the word embeddings of the item (Datta et al.): KL(p(.|x) || p(.|x + e v)) is about e^2 / 2 times it along its "
    "eigenvector v."
)


@dataclass(frozen=True, eq=False)
class FisherInformation:
    """The fragility of each prediction, in the order of the items.

    The numbers of an item that could not be computed are NaN, and `failures` has the reason.

    Attributes:
        ids: N item ids.
        eigenvalues: (N,) the largest eigenvalue, at least 0; larger is more fragile.
        scale_free: (N,) the same times the squared mean norm of the item's word embeddings, which makes models with
            embeddings of different sizes comparable.
        gradient_norms: (N,) norm of the gradient of log p of the predicted class.
        logits: (N, K) float64.
        error: (N,) bound on the distance of `eigenvalues` from an eigenvalue of G: 0 for the Gram matrix, the residual
            of the iteration for method="power".
        tokens: N tuples of tokens; None unless the eigenvector was asked for.
        token_norms: N rows: how far the unit eigenvector moves each token (squares sum to 1 less what falls on special
            tokens); None unless asked for.
        starts: (total,) first character of each token in its text; None unless asked for.
        ends: (total,) one past its last character; None unless asked for.
        truncated: (N,) whether a text of the item was cut.
        failures: (id, sentence) of the items that could not be computed.
        label_names: K names of the classes.
        definition: The measure in words.
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

    def __len__(self) -> int:
        return len(self.ids)


class FisherOptions(Options):
    """The settings of `fisher_information` that change its result."""

    method: str = option("auto", "How the eigenvalue is computed.", choices=METHODS)
    eigenvector: bool = option(False, "Return how far the leading eigenvector moves each token.")
    unit: str = option("wordpiece", "Tokens that the eigenvector is reduced to.", choices=UNITS)
    tolerance: float = option(
        1e-4, "Relative residual at which power iteration stops.", minimum=0.0
    )
    max_iterations: int = option(100, "Maximum rounds of power iteration.", minimum=1)

    def iterates(self, n_classes: int) -> bool:
        """Return whether the eigenvalue is that of power iteration, for a number of classes."""
        return self.method == "power" or (self.method == "auto" and n_classes > GRAM_CLASSES)


@accept_options_as_keywords(FisherOptions)
def leading_eigenvalues(logits: Tensor, inputs: Tensor, *, options: FisherOptions) -> FisherEigen:
    r"""Find the leading eigenvalue of G = sum_y p_y grad log p_y grad log p_y^T for every item.

    Args:
        logits: (b, K), K >= 2, with the graph that leads back to `inputs`. Item i may depend only on inputs[i].
        inputs: (b, ...) that require gradients.
        options: The method, and whether to return the eigenvector; or fields of `FisherOptions` by keyword.

    Returns:
        A `FisherEigen`.

    References:
        Datta et al. (2020), "Geometry matters", algorithm 1.

    Example:
        One linear logit z = 3 x_0 + 4 x_1 against 0, at z = 0: p(1-p) |w|^2 = 25 / 4.

        >>> x = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
        >>> z = x @ torch.tensor([[0.0, 3.0], [0.0, 4.0]], dtype=torch.float64)
        >>> round(leading_eigenvalues(z, x).eigenvalues.item(), 6)
        6.25
    """
    if options.iterates(logits.shape[1]):
        return _power(logits, inputs, options)
    return _gram(logits, inputs, wants_eigenvector=options.eigenvector)


@accept_options_as_keywords(FisherOptions)
def fisher_information(
    classifier: Scorer,
    texts: Sequence[str],
    *,
    text_pairs: Sequence[str] | None = None,
    ids: Iterable[object] | None = None,
    options: FisherOptions,
    batch_size: int = 32,
    max_tokens: int | None = 4096,
    max_length: int | None = None,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    fail_fast: bool = False,
) -> FisherInformation:
    r"""Compute the largest eigenvalue of the input-embedding Fisher information of every item.

    For class probabilities p of an item with word embeddings x in R^D, D = tokens x dimensions,

        G = sum_y p_y g_y g_y^T,   g_y = grad_x log p_y,   A = diag(sqrt p) (g_1, ..., g_K)^T,   G = A^T A

    G is never built: its non-zero eigenvalues are those of the K x K Gram matrix A A^T, and its eigenvectors are
    A^T u / sqrt(lambda). Only differences of logits matter, so K - 1 backward passes are enough: one for two classes.
    With many classes (method="power") each product G v takes one backward and one double-backward pass, whatever K is.

    Args:
        classifier: From `load_classifier`.
        texts: N texts.
        text_pairs: N second texts for a task of pairs.
        ids: N unique ids; by default "0", "1", …
        options: A `FisherOptions`, in place of the following keywords.
        method: "gram" (exact), "power" (power iteration, with its error) or "auto" (default): gram up to
            `GRAM_CLASSES` classes.
        eigenvector: Whether to return how far the leading eigenvector moves each token; default False.
        unit: "wordpiece" (default) or "word" for those tokens.
        tolerance: Relative residual at which power iteration stops; default 1e-4.
        max_iterations: Maximum rounds of power iteration; default 100.
        batch_size: Maximum items per batch.
        max_tokens: Maximum tokens per padded batch; None for no bound.
        max_length: Maximum tokens per sequence; None takes what the model allows.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed; a killed run resumes.
        fail_fast: Whether an item that cannot be computed is an error; default False.

    Returns:
        A `FisherInformation`. An item whose text has no tokens, whose logits are not finite, or that the model cannot
        read, is in `failures` and does not affect the others.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an option is wrong, or the model has no word embeddings through which
            gradients flow, or no item can be read.

    References:
        Datta, Kumar, Barnes & Fletcher (2020), "Geometry matters: Exploring language examples at the decision
        boundary", algorithm 1; Zhao, Fletcher, Yu, Peng, Zhang & Shen (2019), "The Adversarial Attack and Detection
        under the Fisher Information Metric", AAAI.

    Example:
        >>> from rightreasons.models.loading import load_classifier
        >>> classifier = load_classifier(folder)  # doctest: +SKIP
        >>> fisher_information(classifier, ["a good film"]).eigenvalues  # doctest: +SKIP
        array([0.0213])
    """
    model = classifier_with_gradients(classifier)
    items = Items.of(
        model, texts, text_pairs=text_pairs, ids=ids, max_length=max_length, allow_empty=True
    )
    embedding_input = EmbeddingInput(model.model)

    def compute(inputs: dict[str, Tensor], batch: NDArray[np.int64]) -> Later:
        embeddings = embedding_input.look_up(inputs["input_ids"]).requires_grad_()
        with torch.enable_grad():
            logits = embedding_input.logits(embeddings, inputs)
            leading = leading_eigenvalues(logits, embeddings, options=options)
        return _columns(leading, logits, embeddings, inputs["attention_mask"])

    # Only plain attention can be differentiated twice; the faster kernels have no second derivative.
    with (
        sdpa_kernel(SDPBackend.MATH)
        if options.iterates(len(model.label_names or ()))
        else nullcontext()
    ):
        columns = items.run(
            "Fisher information",
            compute,
            depends={"options": options.model_dump(exclude={"unit"})},
            batch_size=batch_size,
            max_tokens=max_tokens,
            progress=progress,
            out=out,
            fail_fast=fail_fast,
        )
    return _fisher_information(items, columns, options, fail_fast)


def _columns(leading: FisherEigen, logits: Tensor, embeddings: Tensor, mask: Tensor) -> Later:
    """Return the results of one batch; an item that comes out as NaN stays NaN and does not affect the others."""
    real = mask.unsqueeze(-1).to(embeddings.dtype)
    norms = (embeddings.detach() * real).norm(dim=-1).double().sum(dim=1)
    mean_norm = norms / mask.double().sum(dim=1)
    tensors = {
        "logits": logits.double(),
        "eigenvalues": leading.eigenvalues,
        "gradient_norms": leading.gradient_norms,
        "scale": mean_norm**2,
        "error": leading.error,
    }
    if leading.eigenvector is not None:
        tensors["token_norms"] = (leading.eigenvector * real).norm(dim=-1).double()

    def columns(real: NDArray[np.bool_], *arrays: NDArray[np.float64]) -> dict[str, Column]:
        found: dict[str, Column] = dict(zip(tensors, arrays, strict=True))
        if "token_norms" in found:
            found["token_norms"] = Ragged.of(
                np.asarray(found["token_norms"])[real], real.sum(axis=1)
            )
        return found

    return later(columns, mask.bool(), *tensors.values())


def _fisher_information(
    items: Items, columns: Columns, options: FisherOptions, fail_fast: bool
) -> FisherInformation:
    reasons = columns.failures
    columns = columns.filled({"token_norms": items.encoded.lengths})
    logits = columns.array("logits")
    n_tokens = np.add.reduceat(~items.places.special, items.encoded.offsets[:-1])
    bad = (
        ~np.isfinite(logits).all(axis=1)
        | ~np.isfinite(columns.array("eigenvalues"))
        | (n_tokens == 0)
    )

    failures = tuple(
        (items.ids[item], reasons.get(item) or _why(items, item, int(n_tokens[item])))
        for item in np.flatnonzero(bad).tolist()
    )
    if failures and fail_fast:
        raise ValueError(failures[0][1])

    def column(name: str) -> NDArray[np.float64]:
        return np.where(bad, np.nan, columns.array(name))

    words: dict[str, Any] = {}
    if options.eigenvector:  # squares of norms add up
        moved = merge_pieces(
            items, columns.ragged("token_norms").values ** 2, unit=options.unit, merge="sum"
        )
        norms = Ragged(np.sqrt(moved.scores.values), moved.scores.offsets)
        words = {
            "tokens": moved.tokens,
            "token_norms": norms,
            "starts": moved.starts,
            "ends": moved.ends,
        }
    return FisherInformation(
        ids=items.ids,
        eigenvalues=column("eigenvalues"),
        gradient_norms=column("gradient_norms"),
        error=column("error"),
        scale_free=column("eigenvalues") * column("scale"),
        logits=logits,
        truncated=items.encoded.truncated,
        failures=failures,
        label_names=items.classifier.label_names,
        **words,
    )


def _why(items: Items, item: int, n_tokens: int) -> str:
    if n_tokens == 0:
        return f"Expected a text with tokens, but item {items.ids[item]!r} has none."
    return (
        f"Expected finite logits and gradients, but {items.classifier.name} gave NaN or infinity for item "
        f"{items.ids[item]!r}."
    )
