"""Where a model is fragile: the Fisher information of its prediction with respect to the input embeddings."""

from __future__ import annotations

import itertools
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

from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.validation import check_count, check_ids, check_number, check_one_of, check_same_length
from rightreasons.models.gradients.embedding_input import EmbeddingInput
from rightreasons.models.gradients.fisher_eigen import Solver
from rightreasons.models.gradients.merge_pieces import UNITS, Units, merge_pieces
from rightreasons.models.gradients.token_table import TokenTable, token_table
from rightreasons.models.items import check_max_length, item_batches, item_inputs, item_sequences
from rightreasons.models.loading import Classifier
from rightreasons.models.running.fingerprint import fingerprint_arrays, fingerprint_model, fingerprint_texts
from rightreasons.models.running.frozen import frozen
from rightreasons.models.running.run import open_store, run_batches
from rightreasons.models.running.store import Column

METHODS = ("auto", "gram", "power")

GRAM_CLASSES = 24
"""method="auto" takes the Gram matrix up to so many classes; beyond, its backward passes cost more than iteration."""

DEFINITION = (
    "Largest eigenvalue of the Fisher information G = sum_y p(y|x) grad log p(y|x) grad log p(y|x)^T with respect to "
    "the word embeddings of the item (Datta et al.): KL(p(.|x) || p(.|x + e v)) is about e^2 / 2 times it along its "
    "eigenvector v."
)


@dataclass(frozen=True, eq=False)
class FisherInformation:
    """The fragility of each prediction, in the order of the items.

    Where an item could not be computed, its numbers are NaN and `failures` says why.

    Attributes:
        ids: N item ids.
        eigenvalues: (N,) the largest eigenvalue, at least 0; larger is more fragile.
        scale_free: (N,) the same times the squared mean norm of the item's word embeddings, so that models whose
            embeddings have different sizes can be compared.
        spectrum: N rows of the non-zero eigenvalues (at most K - 1), the largest first; None unless asked for.
        gradient_norms: (N,) norm of the gradient of log p of the predicted class.
        logits: (N, K) float64, or `Ragged` where the number of choices differs.
        error: (N,) bound on the distance of `eigenvalues` from an eigenvalue of G: 0 for the Gram matrix, the residual
            of the iteration for method="power".
        tokens: N tuples of tokens; None unless the eigenvector was asked for.
        token_norms: N rows: how far the unit eigenvector moves each token (squares sum to 1 less what falls on special
            tokens); None unless asked for.
        starts: (total,) first character of each token in its text; None unless asked for.
        ends: (total,) one past its last character; None unless asked for.
        truncated: (N,) whether a text of the item was cut.
        failures: (id, sentence) of the items that could not be computed.
        label_names: K names of the classes; None for multiple choice.
        definition: The measure in words.
    """

    ids: tuple[str, ...]
    eigenvalues: NDArray[np.float64]
    scale_free: NDArray[np.float64]
    spectrum: Ragged | None
    gradient_norms: NDArray[np.float64]
    logits: NDArray[np.float64] | Ragged
    error: NDArray[np.float64]
    tokens: tuple[tuple[str, ...], ...] | None
    token_norms: Ragged | None
    starts: NDArray[np.int64] | None
    ends: NDArray[np.int64] | None
    truncated: NDArray[np.bool_]
    failures: tuple[tuple[str, str], ...]
    label_names: tuple[str, ...] | None
    definition: str = DEFINITION

    def __len__(self) -> int:
        return len(self.ids)


def fisher_information(
    classifier: Classifier,
    texts: Sequence[str],
    *,
    text_pairs: Sequence[str] | None = None,
    choices: Sequence[Sequence[str]] | None = None,
    ids: Iterable[object] | None = None,
    method: str = "auto",
    spectrum: bool = False,
    eigenvector: bool = False,
    unit: str = "wordpiece",
    tolerance: float = 1e-4,
    max_iterations: int = 100,
    batch_size: int = 32,
    max_tokens: int | None = 4096,
    max_length: int | None = None,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> FisherInformation:
    r"""Compute the largest eigenvalue of the input-embedding Fisher information of every item.

    For class probabilities p of an item with word embeddings x in R^D, D = tokens x dimensions,

        G = sum_y p_y g_y g_y^T,   g_y = grad_x log p_y,   A = diag(sqrt p) (g_1, ..., g_K)^T,   G = A^T A

    G is never built: its non-zero eigenvalues are those of the K x K Gram matrix A A^T, and its eigenvectors are
    A^T u / sqrt(lambda). Only differences of logits matter, so K - 1 backward passes are enough: one for two classes.
    With many classes (method="power") products G v come from one backward and one double-backward pass, whatever K is.

    Args:
        classifier: From `load_classifier` or `load_multiple_choice`.
        texts: N texts, or the prompts of a multiple-choice model.
        text_pairs: N second texts for a task of pairs.
        choices: N lists of choices, for a multiple-choice model; x is then all choices' embeddings together.
        ids: N unique ids; by default "0", "1", …
        method: "gram" (exact), "power" (power iteration, error stated) or "auto" (default): gram up to
            `GRAM_CLASSES` classes.
        spectrum: Whether to return all non-zero eigenvalues (method gram).
        eigenvector: Whether to return how far the leading eigenvector moves each token.
        unit: "wordpiece" (default) or "word" for those tokens.
        tolerance: Relative residual at which power iteration stops.
        max_iterations: Most rounds of power iteration.
        batch_size: The most items of a batch.
        max_tokens: The most tokens of a padded batch; None for no bound.
        max_length: The most tokens of a sequence; None takes what the model allows.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed; a killed run goes on where it stopped.

    Returns:
        A `FisherInformation`. An item whose text has no tokens, or whose logits are not finite, is in `failures` and
        costs no other item its result.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an option is wrong, or the model has no word embeddings through which
            gradients flow.

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
    check_one_of(method, METHODS, "method")
    check_number(tolerance, "tolerance", minimum=0)
    check_count(max_iterations, "max_iterations")
    units = Units(check_one_of(unit, UNITS, "unit"), "sum")  # of squares: norms add up so
    first, second, counts = item_sequences(classifier, texts, text_pairs, choices, allow_empty=True)
    names = tuple(check_ids(range(len(counts)) if ids is None else ids, "ids"))
    check_same_length(texts=counts, ids=names)
    table = token_table(classifier.tokenizer, first, second, max_length=check_max_length(classifier, max_length))
    many = max(int(counts.max()), len(classifier.label_names or ())) > GRAM_CLASSES
    power = method == "power" or (method == "auto" and many)
    if spectrum and power:
        raise ValueError(
            "Expected method='gram' with spectrum=True, but got power iteration, which finds one eigenvalue."
        )
    solve = Solver(power, spectrum, eigenvector, tolerance, max_iterations)
    columns = _compute(classifier, table, counts, names, solve, batch_size, max_tokens, progress, out)
    return _assemble(classifier, table, counts, names, solve, units, columns, first, second)


def _compute(
    classifier: Classifier,
    table: TokenTable,
    counts: NDArray[np.int64],
    names: Sequence[str],
    solve: Solver,
    batch_size: int,
    max_tokens: int | None,
    progress: bool,
    out: str | os.PathLike[str] | None,
) -> dict[str, Column]:
    model, encoded = classifier.model, table.encoded
    embedding_input, inputs_of = EmbeddingInput(model), item_inputs(classifier, encoded, counts)
    store = open_store(
        out,
        lambda: {
            "kind": "Fisher information",
            "model": fingerprint_model(model),
            "ids": fingerprint_texts(names),
            "texts": fingerprint_arrays({**encoded.columns, "offsets": encoded.offsets, "choices": counts}),
            "options": vars(solve),
        },
    )

    def compute(batch: NDArray[np.int64]) -> dict[str, Column]:
        return _columns(model, embedding_input, inputs_of(batch), solve)

    # Twice differentiable attention is the plain one; the quicker kernels have no second derivative.
    with frozen(model), sdpa_kernel(SDPBackend.MATH) if solve.power else nullcontext():
        batches = item_batches(encoded.lengths, counts, batch_size=batch_size, max_tokens=max_tokens)
        return run_batches(compute, batches, store=store, progress=progress, description="Fisher information")


def _columns(
    model: Any, embedding_input: EmbeddingInput, inputs: dict[str, Tensor], solve: Solver
) -> dict[str, Column]:
    """Compute one batch; what comes out as NaN stays NaN and harms no other item."""
    embeddings = embedding_input.look_up(inputs["input_ids"]).requires_grad_()
    real = inputs["attention_mask"].unsqueeze(-1).to(embeddings.dtype)
    with torch.enable_grad():
        rows = embeddings.flatten(0, -3) if embeddings.dim() > 3 else embeddings
        with embedding_input.feed(rows):
            logits = model(**inputs).logits
        if not logits.requires_grad:
            raise ValueError(
                f"Expected gradients to flow from the logits to the word embeddings, but {type(model).__name__} passes "
                "none on: a quantised or exported model has none. Load it in float32 or bfloat16."
            )
        leading = solve(logits, embeddings)
    real_rows = inputs["attention_mask"].bool().flatten(1).cpu().numpy()
    offsets = np.concatenate(([0], np.cumsum(real_rows.sum(axis=1)))).astype(np.int64)
    norms = (embeddings.detach() * real).norm(dim=-1).flatten(1).double().sum(dim=1)
    mean_norm = norms / real.flatten(1).double().sum(dim=1)
    found = logits.detach().double().cpu().numpy()
    width = found.shape[1]
    columns: dict[str, Column] = {
        "logits": Ragged(found.reshape(-1), np.arange(len(found) + 1, dtype=np.int64) * width),
        "eigenvalues": leading.eigenvalues.cpu().numpy(),
        "gradient_norms": leading.gradient_norms.cpu().numpy(),
        "scale": (mean_norm**2).cpu().numpy(),
        "error": leading.error.cpu().numpy(),
    }
    if leading.spectrum is not None:
        flat = leading.spectrum.cpu().numpy()
        columns["spectrum"] = Ragged(flat.reshape(-1), np.arange(len(flat) + 1, dtype=np.int64) * flat.shape[1])
    if leading.eigenvector is not None:
        token_norms = (leading.eigenvector * real).norm(dim=-1).flatten(1).double().cpu().numpy()
        columns["token_norms"] = Ragged(token_norms[real_rows], offsets)
    return columns


def _assemble(
    classifier: Classifier,
    table: TokenTable,
    counts: NDArray[np.int64],
    names: tuple[str, ...],
    solve: Solver,
    units: Units,
    columns: dict[str, Column],
    first: Sequence[str],
    second: Sequence[str] | None,
) -> FisherInformation:
    logits = columns["logits"]
    assert isinstance(logits, Ragged)  # noqa: S101 - the columns are this module's own
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    tokens = np.add.reduceat(~table.special, table.encoded.offsets[ends[:-1]])
    eigenvalues = np.asarray(columns["eigenvalues"], dtype=np.float64)
    finite = np.isfinite(logits.reduce(np.add)) & np.isfinite(eigenvalues)
    bad = ~finite | (tokens == 0)
    failures = [(names[item], _why(classifier.name, names[item], tokens[item])) for item in np.flatnonzero(bad)]

    def column(name: str) -> NDArray[np.float64]:
        return np.where(bad, np.nan, np.asarray(columns[name], dtype=np.float64))

    moved = norms = None
    if solve.eigenvector:
        norms = columns["token_norms"]
        assert isinstance(norms, Ragged)  # noqa: S101
        moved = merge_pieces(classifier.tokenizer, table, norms.values**2, units, first, second)
    spectrum = columns.get("spectrum")
    cuts = None if moved is None else moved.offsets[ends]
    same = bool((logits.lengths == logits.lengths[0]).all())
    return FisherInformation(
        ids=names,
        eigenvalues=column("eigenvalues"),
        scale_free=column("eigenvalues") * column("scale"),
        spectrum=spectrum if isinstance(spectrum, Ragged) else None,
        gradient_norms=column("gradient_norms"),
        logits=logits.values.reshape(len(counts), -1) if same else logits,
        error=column("error"),
        tokens=None
        if moved is None or cuts is None
        else tuple(tuple(moved.tokens[a:b]) for a, b in itertools.pairwise(cuts.tolist())),
        token_norms=None if moved is None or cuts is None else Ragged(np.sqrt(moved.scores), cuts),
        starts=None if moved is None else moved.starts,
        ends=None if moved is None else moved.ends,
        truncated=np.logical_or.reduceat(table.encoded.truncated, ends[:-1]),
        failures=tuple(failures),
        label_names=classifier.label_names,
    )


def _why(model: str, item: str, n_tokens: int) -> str:
    if n_tokens == 0:
        return f"Expected a text with tokens, but item {item!r} has none."
    return f"Expected finite logits and gradients, but {model} gave NaN or infinity for item {item!r}."
