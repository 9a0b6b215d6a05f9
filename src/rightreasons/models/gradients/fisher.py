"""Fragile predictions: the Fisher information of a prediction with respect to the input embeddings.

`fisher_information` is the entry point. The eigenvalues are computed in `eigenvalues`, and those of
the prompts of choices in `choice_fisher`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import OptionError
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.scores import Scores
from rightreasons.core.validation import check_ids
from rightreasons.models.batching import read_later
from rightreasons.models.gradients.choice_fisher import (
    ChoiceTexts,
    is_scorer_of_choices,
    measure_choice_fisher,
)
from rightreasons.models.gradients.eigenvalues import (
    FisherEigen,
    FisherInformation,
    FisherOptions,
    compute_leading_eigenvalues,
)
from rightreasons.models.gradients.inputs import EmbeddingInput, check_gradients
from rightreasons.models.gradients.words import merge_pieces
from rightreasons.models.items import Items
from rightreasons.models.protocol import Scorer
from rightreasons.models.running import Later
from rightreasons.models.runs.columns import Column, Columns


@accept_options_as_keywords(FisherOptions)
def fisher_information(
    classifier: Scorer,
    texts: Sequence[str],
    *,
    text_pairs: Sequence[str] | None = None,
    choices: Sequence[Sequence[str]] | None = None,
    ids: Iterable[object] | None = None,
    scores: Scores | None = None,
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

        G = sum_y p_y g_y g_y^T,   g_y = grad_x log p_y,   A = diag(sqrt p) (g_1, ..., g_K)^T,   G =
        A^T A

    G is never built: its non-zero eigenvalues are those of the K x K Gram matrix A A^T, and its
    eigenvectors are A^T u / sqrt(lambda). Only differences of logits matter, so K - 1 backward
    passes are enough: one for two classes. With many classes (method="power") each product G v
    takes one backward and one double-backward pass, whatever K is.

    Of a model that chooses, the classes are the choices of an item, or the label words of a
    prompted language model, p is the softmax of its scores, and x are the embeddings of the tokens
    before the choices: the prompt, which all choices share. Each item takes a pass per choice, or
    one pass if the choices are single tokens.

    Args:
        classifier: From `load_classifier`; or, with `choices`, from `load_multiple_choice`,
            `load_causal` or `load_chooser`; or a `Prompted` causal language model that is scored by
            likelihood or next words.
        texts: N texts, or the prompts of the choices.
        text_pairs: N second texts for a task of pairs.
        choices: N lists of at least two texts; None for classes and label words.
        ids: N unique ids; by default "0", "1", …
        scores: Scores of these items by the same model that chooses, such as from `choose`. If None
            (default), the model is asked for them. A classifier has them from the same pass as its
            gradients.
        options: A `FisherOptions`, in place of the following keywords.
        method: "gram" (exact), "power" (power iteration, with its error) or "auto" (default): gram
            up to `GRAM_CLASSES` classes.
        eigenvector: Whether to return how far the leading eigenvector moves each token; default
            False.
        unit: "wordpiece" (default) or "word" for those tokens.
        spectrum: Whether to return all eigenvalues that may differ from 0, by method gram; default
            False.
        tolerance: Relative residual at which power iteration stops; default 1e-4.
        max_iterations: Maximum rounds of power iteration; default 100.
        batch_size: Maximum items per batch.
        max_tokens: Maximum tokens per padded batch; None for no maximum.
        max_length: Maximum tokens per sequence; None for the maximum of the model.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed; an interrupted run resumes.
        fail_fast: Whether an item that cannot be computed is an error; default False.

    Returns:
        A `FisherInformation`. An item whose text has no tokens, whose logits are not finite, or
        that the model cannot read, is in `failures` and does not affect the others.

    Raises:
        TypeError: If a column has the wrong type.
        ValueError: If columns differ in length, an option is wrong, or the model has no word
            embeddings through which gradients flow, or no item can be read.

    References:
        Datta, Kumar, Barnes & Fletcher (2020), "Geometry matters: Exploring language examples at
        the decision boundary", algorithm 1; Zhao, Fletcher, Yu, Peng, Zhang & Shen (2019), "The
        Adversarial Attack and Detection under the Fisher Information Metric", AAAI. Liu, Du, Sachan
        & Cotterell (2024), "Efficiently Computing Susceptibility to Context in Language Models",
        Findings of EMNLP, use Fisher information of contexts, too; the eigenvalue here is not their
        measure.

    Example:
        >>> from rightreasons.models.loading import load_classifier
        >>> classifier = load_classifier(folder)  # doctest: +SKIP
        >>> fisher_information(classifier, ["a good film"]).eigenvalues  # doctest: +SKIP
        array([0.0213])
    """
    if choices is not None or is_scorer_of_choices(classifier):
        names = check_ids(range(len(texts)) if ids is None else ids, "ids")
        requests = ChoiceTexts(texts, text_pairs, choices, names, max_length, scores)
        return measure_choice_fisher(
            classifier, requests, options, progress=progress, out=out, fail_fast=fail_fast
        )
    model = check_gradients(classifier)
    # Scores given here would save no pass, and could contradict the gradients.
    if scores is not None:
        raise OptionError(
            f"Expected no `scores` for the classifier {model.name}. The scores of a classifier "
            "are computed in the same pass as the gradients.",
            option="scores",
        )
    # An empty text is a separate failure, not an error of the call.
    items = Items.of(
        model, texts, text_pairs=text_pairs, ids=ids, max_length=max_length, allow_empty=True
    )
    embedding_input = EmbeddingInput(model.model)

    def compute(inputs: dict[str, Tensor], batch: NDArray[np.int64]) -> Later:
        # A leaf of the graph, so that gradients stop at the words.
        embeddings = embedding_input.look_up(inputs["input_ids"]).requires_grad_()
        with torch.enable_grad():
            logits = embedding_input.logits(embeddings, inputs)
            leading = compute_leading_eigenvalues(logits, embeddings, options=options)
        return _read_columns(leading, logits, embeddings, inputs["attention_mask"])

    # Only plain attention can be differentiated twice; faster kernels have no second derivative.
    kernels: AbstractContextManager[Any] = nullcontext()
    if options.uses_iteration(len(model.label_names or ())):
        kernels = sdpa_kernel(SDPBackend.MATH)
    with kernels:
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
    return _make_result(items, columns, options, fail_fast)


def _read_columns(leading: FisherEigen, logits: Tensor, embeddings: Tensor, mask: Tensor) -> Later:
    """Return a function that waits for the results of one batch, with one row per item.

    Args:
        leading: The eigenvalues of the batch.
        logits: (b, K) logits.
        embeddings: (b, L, d) word embeddings.
        mask: (b, L) 1 for tokens, 0 for padding.

    Returns:
        A function without arguments. It returns the columns `logits`, `eigenvalues`,
        `gradient_norms`, `error`, `scale` (the squared mean norm of the embeddings of an item) and,
        if they were computed, `spectrum` and `token_norms` (the norm of the eigenvector at each
        token).
    """
    is_real = mask.unsqueeze(-1).to(embeddings.dtype)
    norms = (embeddings.detach() * is_real).norm(dim=-1).double().sum(dim=1)
    # Eigenvalues are proportional to the inverse square of the size of the embeddings, which
    # `scale` makes up for.
    mean_norms = norms / mask.double().sum(dim=1)
    tensors = {
        "logits": logits.double(),
        "eigenvalues": leading.eigenvalues,
        "gradient_norms": leading.gradient_norms,
        "scale": mean_norms**2,
        "error": leading.error,
    }
    if leading.spectrum is not None:
        tensors["spectrum"] = leading.spectrum
    if leading.eigenvector is not None:
        tensors["token_norms"] = (leading.eigenvector * is_real).norm(dim=-1).double()

    def make_columns(
        is_token: NDArray[np.bool_], *arrays: NDArray[np.float64]
    ) -> dict[str, Column]:
        columns: dict[str, Column] = dict(zip(tensors, arrays, strict=True))
        if "token_norms" in columns:
            # Without padding, the rows have different lengths.
            values = np.asarray(columns["token_norms"])[is_token]
            columns["token_norms"] = Ragged.of(values, is_token.sum(axis=1))
        return columns

    # The arrays are read while the device computes the next batch.
    return read_later(make_columns, mask.bool(), *tensors.values())


def _make_result(
    items: Items, columns: Columns, options: FisherOptions, fail_fast: bool
) -> FisherInformation:
    """Return the result of a run for all N items; failed items have NaN, and a reason.

    An item also fails if its text has no tokens, or its logits or eigenvalue are not finite.

    Args:
        items: N items.
        columns: The columns of `_read_columns`, and the failures of the run.
        options: Whether the spectrum and the eigenvector are returned.
        fail_fast: Whether a failed item is an error.

    Raises:
        ValueError: If `fail_fast` is set and an item failed.
    """
    reasons = columns.failures
    columns = columns.fill_failed({"token_norms": items.encoded.lengths})
    logits = columns.array("logits")
    is_finite = np.isfinite(logits).all(axis=1) & np.isfinite(columns.array("eigenvalues"))
    # Special tokens are not part of a text. Even without them, some tokenizers give an empty text
    # a sequence.
    item_of_tokens = items.encoded.row[~items.token_positions.special]
    n_tokens = np.bincount(item_of_tokens, minlength=len(items))
    has_failed = ~is_finite | (n_tokens == 0)

    failures = []
    for item in np.flatnonzero(has_failed).tolist():
        if n_tokens[item] == 0:
            # This reason comes first, because it depends on the batch whether the model fails at an
            # empty text, too.
            reason = f"Expected a text with tokens, but item {items.ids[item]!r} has none."
        elif item in reasons:
            reason = reasons[item]
        else:
            reason = (
                f"Expected finite logits and gradients, but {items.classifier.name} gave NaN or "
                f"infinity for item {items.ids[item]!r}."
            )
        failures.append((items.ids[item], reason))
    if failures and fail_fast:
        _, first_reason = failures[0]
        raise ValueError(first_reason)

    def get_column(name: str) -> NDArray[np.float64]:
        return np.where(has_failed, np.nan, columns.array(name))

    spectrum = None
    if options.spectrum:
        spectrum = Ragged.of_table(columns.array("spectrum"))
    token_fields: dict[str, Any] = {}
    if options.eigenvector:
        token_fields = _measure_tokens(items, columns, options.unit)
    return FisherInformation(
        ids=items.ids,
        eigenvalues=get_column("eigenvalues"),
        gradient_norms=get_column("gradient_norms"),
        error=get_column("error"),
        scale_free=get_column("eigenvalues") * get_column("scale"),
        logits=logits,
        truncated=items.encoded.truncated,
        failures=tuple(failures),
        label_names=items.classifier.label_names,
        spectrum=spectrum,
        **token_fields,
    )


def _measure_tokens(items: Items, columns: Columns, unit: str) -> dict[str, Any]:
    """Measure the norm of the leading eigenvector at each word piece, or at each word.

    Args:
        items: The items.
        columns: The results, with `token_norms`, the norm of the eigenvector at each token.
        unit: "wordpiece" or "word".

    Returns:
        `tokens`, `token_norms`, `starts` and `ends` of a `FisherInformation`.
    """
    # The squared norm of a word is the sum of the squared norms of its pieces.
    squares = columns.ragged("token_norms").values ** 2
    tokens = merge_pieces(items, squares, unit=unit, merge="sum")
    norms = Ragged(np.sqrt(tokens.scores.values), tokens.scores.offsets)
    return {
        "tokens": tokens.tokens,
        "token_norms": norms,
        "starts": tokens.starts,
        "ends": tokens.ends,
    }
