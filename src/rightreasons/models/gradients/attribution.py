"""Tokens on which predictions rest: integrated gradients over the input embeddings.

`integrated_gradients` is the entry point. Paths are in `paths`, their first points in `baselines`,
and the integral over them in `integration`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.core.arrays import Floats, Ints, Ragged
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.store import digest_arrays
from rightreasons.core.validation import check_count
from rightreasons.models.classes import Classifier, drop_wordless_texts
from rightreasons.models.gradients.baselines import Baseline
from rightreasons.models.gradients.inputs import EmbeddingInput, check_gradients
from rightreasons.models.gradients.integration import integrate
from rightreasons.models.gradients.options import MAX_TOKENS, AttributionOptions, Attributions
from rightreasons.models.gradients.paths import Path
from rightreasons.models.gradients.words import merge_pieces
from rightreasons.models.items import Items
from rightreasons.models.protocol import Scorer
from rightreasons.models.runs.columns import Column, Columns
from rightreasons.models.trial import ONE_BY_ONE

ROUNDING = 1e-6
"""Completeness gap that is always allowed, even if the score does not change."""

ITEMS_IN_FLIGHT = 16
"""Number of items per batch, padded to the longest. They fill a pass of `MAX_TOKENS` tokens, but are
few enough to have similar lengths. The number is larger if `max_tokens` is."""


@accept_options_as_keywords(AttributionOptions)
def integrated_gradients(
    classifier: Scorer,
    texts: Sequence[str],
    *,
    text_pairs: Sequence[str] | None = None,
    ids: Iterable[object] | None = None,
    labels: Sequence[int] | NDArray[Any] | None = None,
    options: AttributionOptions,
    max_length: int | None = None,
    max_tokens: int = MAX_TOKENS,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
    fail_fast: bool = True,
) -> Attributions:
    r"""Attribute each prediction to its tokens by integrated gradients.

    \[ g_t = (e_t - e'_t) \odot \bar\nabla_t, \qquad
       \bar\nabla_t = \int_0^1 \frac{\partial f_y(e' + \alpha (e - e'))}{\partial e_t} d\alpha,
       \qquad a_t = \lVert g_t \rVert_2 \]

    for word embeddings e_t of the real tokens, baselines e'_t and the explained score f_y; position
    and type embeddings stay. The g of all tokens sum to f_y(e) - f_y(e'); the amount by which a
    quadrature misses that is the completeness gap, which is returned. BART's decoder, which reads
    the text too, follows the same path. With layer="embeddings" the e are the output of the module
    of embeddings, after positions, types and normalization.

    Padding never counts: the result of an item does not depend on the others in its batch. The
    model is frozen meanwhile and afterwards as it was.

    Args:
        classifier: From `load_classifier`.
        texts: N texts.
        text_pairs: N second texts for a task of pairs.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) gold labels, -1 for unlabeled items (not with label="gold").
        options: An `AttributionOptions`, in place of the following keywords.
        target: "probability" (default) or "logit" of the explained label.
        label: "predicted" (default) or "gold".
        layer: "word_embeddings" (default), or "embeddings": the output of the module of embeddings,
            at which a baseline of tokens is the output of the module for the text with these
            tokens. BART has no such module: there the word embeddings of the encoder follow the
            path, while the decoder reads the unchanged text.
        baseline: Embedding in place of that of every real token: "zeros"; "mean", the mean word
            embedding of the vocabulary; the "pad" token; or "auto" (default): zeros, unless zero is
            singular for the model, as it is where word embeddings are normalized without positions
            (Llama, Qwen, Gemma, DeBERTa-v3, ModernBERT): then the mean. The result says which was
            taken.
        keep_special: Whether the baseline keeps the special tokens of the text ([CLS], [SEP], …);
            default False.
        token_type: Type id of every token on the path, for a model with types. None (default)
            keeps those of the tokenizer. The predicted label is that of the
            tokenizer's types.
        method: "adaptive" (default; halves intervals of the path until the gap of the item is at
            most `tolerance`), "gauss_legendre" (with steps=50 captum's default) or "riemann_right"
            (with steps=50 that of Du et al.).
        steps: Nodes on the path; with "adaptive" the maximum per item. Default 50.
        tolerance: The gap that "adaptive" allows, in the unit of the target; default 0.02. It is
            not content with more than `max_gap` either.
        max_gap: The gap, as a share of the change of the score from baseline to input, up to which
            the attributions of an item are `valid`; default 0.05, as Sundararajan et al. recommend.
            None takes all of them.
        reduce: "l2" (default; the sign is lost) or "sum" (sums to `value - baseline_value`).
        normalize: Whether the numbers of an item are divided by their 2-norm over all its tokens;
            default False.
        unit: "wordpiece" (default) or "word": a run of letters and digits, one punctuation mark,
            one emoji, or one letter of a script without spaces, in lower case. Its number is the
            largest in magnitude of those of its pieces.
        rank_special: Whether special tokens are among the tokens; default False; with
            unit="wordpiece" only.
        max_length: Maximum tokens per text; None for the maximum of the model. Longer texts are
            truncated, and counted.
        max_tokens: Maximum tokens per pass; default 2048. It changes speed and memory, not the
            result.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed: an interrupted run resumes. Its
            contents serve every `unit` and `rank_special`.
        fail_fast: Whether an item that the model cannot read is an error (default). If not, it is
            left out, and `failures` has its id and the reason.

    Returns:
        `Attributions`.

    Raises:
        TypeError: If a column has the wrong type.
        ValueError: If columns differ in length, an option or label is unknown, the model has no
            table of word embeddings, or with layer="embeddings" no module of embeddings, the
            tokenizer is slow or lacks the token of the baseline, a logit is not finite (the item
            is named), or `out` contains other files. An item whose gradients are not finite has
            numbers of 0, a gap of infinity, and is not valid.

    References:
        Sundararajan, Taly & Yan (2017), "Axiomatic Attribution for Deep Networks"; Du et al.
        (2021), "Towards Interpreting and Mitigating Shortcut Learning Behavior of NLU Models", eq.
        2; Bihani & Rayz (2025), "The Reliability Paradox", eq. 1-2.

    Example:
        >>> from rightreasons.models.loading import load_classifier
        >>> classifier = load_classifier(folder)  # doctest: +SKIP
        >>> integrated_gradients(classifier, ["a good film"]).tokens  # doctest: +SKIP
        (('a', 'good', 'film'),)
    """
    check_count(max_tokens, "max_tokens")
    model = check_gradients(classifier)
    failures: dict[str, str] = {}
    # An empty text has nothing to attribute; the second text of a pair may be all there is.
    if not fail_fast and text_pairs is None:
        texts, ids, labels, failures = drop_wordless_texts(texts, ids, labels)
    items = Items.of(model, texts, text_pairs=text_pairs, ids=ids, max_length=max_length)
    if labels is None and options.label == "gold":
        raise ValueError("Expected `labels` with label='gold', but got None.")
    # An item without a label has no gold score to explain.
    minimum = 0 if options.label == "gold" else -1
    gold = items.check_labels(labels, minimum=minimum)
    embedding_input = EmbeddingInput(model.model, layer=options.layer)
    baseline = Baseline.choose(model, embedding_input, options)
    kernel = _Kernel(
        classifier=model,
        items=items,
        embedding_input=embedding_input,
        baseline=baseline,
        options=options,
        explained=gold if options.label == "gold" else None,
        token_type=_check_token_type(model, options.token_type),
        max_tokens=max_tokens,
    )
    columns = items.run(
        "integrated gradients",
        kernel.compute,
        depends=kernel.list_dependencies(),
        batch_size=ITEMS_IN_FLIGHT * max(1, max_tokens // MAX_TOKENS),
        progress=progress,
        out=out,
        fail_fast=fail_fast,
    )
    for item, reason in columns.failures.items():
        failures[items.ids[item]] = reason
    # Failed items get rows of the right lengths, which are removed below.
    complete_columns = columns.fill_failed({"scores": items.encoded.lengths})
    attributions = _make_attributions(items, gold, complete_columns, options, baseline.name)
    if columns.failures:
        attributions = attributions.take(columns.positions)
    return dataclasses.replace(attributions, failures=failures)


@dataclasses.dataclass(frozen=True, eq=False)
class _Kernel:
    """The computation of integrated gradients for one batch after another.

    Attributes:
        classifier: The model.
        items: N items.
        embedding_input: The model, fed by embeddings.
        baseline: The embedding at which paths begin.
        options: The options.
        explained: (N,) classes whose scores are explained. None for the predicted ones.
        token_type: Type id of every token on the path. None to use the types of the tokenizer.
        max_tokens: Maximum number of tokens per pass.
    """

    classifier: Classifier
    items: Items
    embedding_input: EmbeddingInput
    baseline: Baseline
    options: AttributionOptions
    explained: Ints | None
    token_type: int | None
    max_tokens: int

    def list_dependencies(self) -> dict[str, Any]:
        """Return everything that identifies stored results, besides the model and the items.

        Returns:
            `labels`, a digest of the explained gold labels (None for the predicted ones), and
            `options`, the options by name with the baseline that was chosen.
        """
        labels = None
        if self.explained is not None:
            labels = digest_arrays({"labels": self.explained})
        # The baseline "auto" may be another one after the model has changed.
        options = {
            **self.options.get_piece_options(),
            "baseline": self.baseline.name,
            "baseline_token": self.baseline.token,
        }
        return {"labels": labels, "options": options}

    def compute(self, inputs: dict[str, Tensor], batch: NDArray[np.int64]) -> dict[str, Column]:
        """Integrate the gradients of a batch of items, and reduce them to one score per token.

        Args:
            inputs: The padded inputs of the model, (b, L) each: `input_ids`, `attention_mask`, and
                `token_type_ids` if the model has types.
            batch: (b,) indices of the items in `self.items`.

        Returns:
            Columns with one row per item: `scores` (a row of one number per token, special tokens
            included); `explained`, the explained class; `logits`; `value` and `baseline_value`, the
            explained score of the input and of the baseline; `nodes`, the number of gradients; and
            `gap`, the error of the integral, which is infinite if the gradients are not finite.

        Raises:
            ValueError: If the logits of an item are not finite.
        """
        labels = None
        if self.explained is not None:
            labels = self.explained[batch]
        original_logits = None
        if self.token_type is not None:
            # The predicted label is that of the text with its original types, before all types are
            # replaced by one.
            original_logits = self._predict(inputs)
            if labels is None:
                labels = original_logits.argmax(axis=1)
            token_types = torch.full_like(inputs["input_ids"], self.token_type)
            inputs = {**inputs, "token_type_ids": token_types}

        path = self._make_path(inputs, batch)
        gradients, columns = integrate(path, labels, self.options)
        if original_logits is not None:
            columns["logits"] = original_logits

        # Predicted labels come from these logits, so that an item without finite logits has no
        # result.
        is_finite_logit = np.isfinite(np.asarray(columns["logits"]))
        self.items.check_finite(is_finite_logit.all(axis=1), batch)
        # If only gradients overflow, the item gets an infinite gap, and the others are not
        # affected.
        gap = np.asarray(columns["gap"])
        is_finite_gap = np.isfinite(gap)
        columns["gap"] = np.where(is_finite_gap, gap, np.inf)
        columns["scores"] = _reduce_gradients(
            path.difference, gradients, is_finite_gap, inputs["attention_mask"], self.options
        )
        return columns

    @torch.no_grad()
    def _predict(self, inputs: dict[str, Tensor]) -> Floats:
        logits: Tensor = self.classifier.model(**inputs).logits
        return np.asarray(logits.double().cpu().numpy())

    def _make_path(self, inputs: dict[str, Tensor], batch: NDArray[np.int64]) -> Path:
        """Return the paths of a batch of items from their baselines to their embeddings.

        Args:
            inputs: The padded inputs of the model, (b, L) each.
            batch: (b,) indices of the items in `self.items`.
        """
        is_kept = torch.zeros_like(inputs["attention_mask"], dtype=torch.bool)
        if self.options.keep_special:
            is_kept = _find_special_tokens(self.items, inputs, batch)
        baseline = self.baseline.make_embeddings(self.embedding_input, inputs, is_kept)
        max_tokens = self.max_tokens
        # In some models the rows of a batch affect each other. With a limit of one token, which
        # every row exceeds, each row gets its own pass.
        if self.items.strategy.name == ONE_BY_ONE:
            max_tokens = 1
        return Path(
            self.embedding_input,
            inputs,
            baseline=baseline,
            target=self.options.target,
            max_tokens=max_tokens,
        )


def _check_token_type(classifier: Classifier, token_type: int | None) -> int | None:
    """Return the type id for every token on the path, after a check.

    Args:
        classifier: The model.
        token_type: The requested type id. None to use the types of the tokenizer.

    Returns:
        The type id. None if none is requested, or the model has at most one type.

    Raises:
        ValueError: If the model has several types, but not this one.
    """
    if token_type is None:
        return None
    n_types = int(getattr(classifier.model.config, "type_vocab_size", 0) or 0)
    if n_types <= 1:
        return None
    if token_type >= n_types:
        raise ValueError(
            f"Expected `token_type` to be below {n_types}, the number of token types of "
            f"{classifier.name}, but got {token_type}."
        )
    return token_type


def _find_special_tokens(
    items: Items, inputs: dict[str, Tensor], batch: NDArray[np.int64]
) -> Tensor:
    """Find the special tokens ([CLS], [SEP], …) in a padded batch.

    Args:
        items: All items, with the positions of their tokens.
        inputs: The padded inputs of the batch, of which `attention_mask` (b, L) is used.
        batch: (b,) indices of the items of the batch in `items`.

    Returns:
        (b, L) bool, True for special tokens, False for words and padding.
    """
    mask = inputs["attention_mask"]
    # The tokens of all items are stored in one flat array, without padding.
    offsets = items.encoded.offsets
    is_special_by_item = []
    for item in batch.tolist():
        is_special_by_item.append(items.token_positions.special[offsets[item] : offsets[item + 1]])
    flat = torch.from_numpy(np.concatenate(is_special_by_item))
    is_special = torch.zeros_like(mask, dtype=torch.bool)
    # Assignment by a mask fills its positions row by row, which is the order of `flat`.
    is_special[mask.bool()] = flat.to(mask.device)
    return is_special


def _reduce_gradients(
    difference: Tensor,
    gradients: Tensor,
    is_finite: NDArray[np.bool_],
    mask: Tensor,
    options: AttributionOptions,
) -> Ragged:
    """Reduce the integrated gradients of each token to one number.

    Args:
        difference: (b, L, d) embeddings minus their baselines.
        gradients: (b, L, d) gradients averaged over the path.
        is_finite: (b,) whether the gradients of an item are finite. If not, its tokens get 0.
        mask: (b, L) 1 for tokens, 0 for padding.
        options: `reduce` is "l2" for the norm of the d products of difference and gradient, or
            "sum" for their sum. `normalize` divides the numbers of an item by their 2-norm.

    Returns:
        One row of numbers per item, without padding.
    """
    keep = torch.from_numpy(is_finite).to(gradients.device)
    finite_gradients = torch.where(keep[:, None, None], gradients, 0.0)
    products = difference * finite_gradients
    if options.reduce == "l2":
        scores = products.norm(dim=-1) * mask
    else:
        scores = products.sum(dim=-1) * mask
    if options.normalize:
        # Division by at least the smallest positive number leaves a row of zeros unchanged.
        smallest = torch.finfo(scores.dtype).tiny
        norms = scores.norm(dim=1, keepdim=True)
        scores = scores / norms.clamp_min(smallest)
    is_real = mask.bool().cpu().numpy()
    table = scores.double().cpu().numpy()
    return Ragged.of(table[is_real], is_real.sum(axis=1))


def _make_attributions(
    items: Items,
    gold: NDArray[np.int64] | None,
    columns: Columns,
    options: AttributionOptions,
    baseline: str,
) -> Attributions:
    """Make the result of `integrated_gradients` from the columns of its run.

    Args:
        items: N items.
        gold: (N,) gold labels, -1 for unlabeled items. None for data without labels.
        columns: The columns of `_Kernel.compute`, with one row for each of the N items.
        options: The options of the run. `max_gap` decides which items are valid, and `unit` and
            `rank_special` which tokens are returned.
        baseline: Name of the baseline that was used: "zeros", "mean" or "pad".
    """
    gap = columns.array("gap")
    is_valid = np.isfinite(gap)
    if options.max_gap is not None:
        change = columns.array("value") - columns.array("baseline_value")
        # If the score hardly changes, its gap is due to rounding, which is always allowed.
        is_valid = np.abs(gap) <= options.max_gap * np.abs(change) + ROUNDING
    tokens = merge_pieces(
        items,
        columns.ragged("scores").values,
        unit=options.unit,
        merge="absmax",
        special=options.rank_special,
    )
    return Attributions(
        ids=items.ids,
        **vars(tokens),
        explained=columns.array("explained"),
        logits=columns.array("logits"),
        labels=gold,
        value=columns.array("value"),
        baseline_value=columns.array("baseline_value"),
        gap=gap,
        nodes=columns.array("nodes"),
        truncated=items.encoded.truncated,
        label_names=items.classifier.label_names,
        baseline=baseline,
        valid=is_valid,
        definition=options.describe(baseline),
    )
