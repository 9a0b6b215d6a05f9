"""Which tokens a prediction rests on: integrated gradients over the input embeddings."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.options import takes
from rightreasons.core.store import digest_of_arrays
from rightreasons.core.validation import check_count
from rightreasons.models.batching import check_fast
from rightreasons.models.classes import Classifier, leave_out_empty
from rightreasons.models.gradients.inputs import EmbeddingInput, merge_pieces
from rightreasons.models.gradients.integration import Baseline, Integral, Path, integrate
from rightreasons.models.gradients.label_words import PromptTokenizer, with_gradients
from rightreasons.models.gradients.options import MAX_TOKENS, AttributionOptions, Attributions
from rightreasons.models.items import Items
from rightreasons.models.protocol import Scorer
from rightreasons.models.running import Column, Columns
from rightreasons.models.trial import ONE_BY_ONE

ROUNDING = 1e-6
"""A gap this small is none, however little the score changes."""

ITEMS_IN_FLIGHT = 16
"""Items that are integrated together, padded to the longest: enough to fill a pass of `MAX_TOKENS`, few enough to be of
like length; more where a pass takes more."""


@takes(AttributionOptions)
def integrated_gradients(
    classifier: Scorer,
    texts: Sequence[str],
    *,
    text_pairs: Sequence[str] | None = None,
    choices: Sequence[Sequence[str]] | None = None,
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
       \bar\nabla_t = \int_0^1 \frac{\partial f_y(e' + \alpha (e - e'))}{\partial e_t} d\alpha, \qquad
       a_t = \lVert g_t \rVert_2 \]

    for word embeddings e_t of the real tokens, baselines e'_t and the explained score f_y; position and type
    embeddings stay. The g of all tokens sum to f_y(e) - f_y(e'); the amount by which a quadrature misses that is the
    completeness gap, which is returned. BART's decoder, which reads the text too, follows the same path.
    With layer="embeddings" the e are the output of the module of embeddings, after positions, types and normalization.

    Padding never counts: the result of an item does not depend on the others in its batch. The model is frozen
    meanwhile and afterwards as it was.

    Args:
        classifier: From `load_classifier` or `load_multiple_choice`, or a `Prompted` scorer of classes by likelihood:
            then the baseline keeps the template, and the words of the text alone are scored.
        texts: N texts; for a multiple-choice model N prompts.
        text_pairs: N second texts for a task of pairs.
        choices: N lists of at least two texts, for a multiple-choice model and only there.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) gold labels, -1 where there is none (not with label="gold").
        options: An `AttributionOptions`, in place of the following keywords.
        target: "probability" (default) or "logit" of the explained label.
        label: "predicted" (default) or "gold".
        layer: "word_embeddings" (default), or "embeddings": the output of the module of embeddings, at which a baseline
            of tokens is what the module makes of the text with these tokens. BART has no such module: there the word
            embeddings of the encoder follow the path, while the decoder reads the text as it is.
        baseline: Embedding in place of that of every real token: "zeros"; "mean", the mean word embedding of the
            vocabulary; the "pad" or the "mask" token; or "auto" (default): zeros, unless zero is singular for the
            model, as it is where word embeddings are normalized without positions (Llama, Qwen, Gemma, DeBERTa-v3,
            ModernBERT): then the mean. The result says which was taken.
        keep_special: Whether the baseline keeps the special tokens of the text ([CLS], [SEP], …); default False.
        token_type: Type id of every token where attributions are taken, for a model with types; None (default) leaves
            what the tokenizer gives. The predicted label is that of the tokenizer's types.
        method: "adaptive" (default; halves intervals of the path until the gap of the item is at most `tolerance`),
            "gauss_legendre" (with steps=50 captum's default) or "riemann_right" (with steps=50 that of Du et al.).
        steps: Nodes on the path; with "adaptive" the maximum per item. Default 50.
        tolerance: The gap that "adaptive" allows, in the unit of the target; default 0.02. It is not content with more
            than `max_gap` either.
        max_gap: The gap, as a share of the change of the score from baseline to input, up to which the attributions of
            an item are `valid`; default 0.05, as Sundararajan et al. recommend. None takes all of them.
        reduce: "l2" (default; the sign is lost), "sum" (sums to `value - baseline_value`), or "dot": e_t times the mean
            gradient, without the baseline.
        normalize: Whether the numbers of an item are divided by their 2-norm over all its tokens; default False.
        unit: "wordpiece" (default) or "word": a run of letters and digits, or one punctuation mark, in lower case,
            whatever the tokenizer's pieces.
        merge: How pieces become a word: "absmax" (default; the largest in magnitude), "sum" or "mean".
        rank_special: Whether special tokens are among the tokens; default False; with unit="wordpiece" only.
        max_length: Maximum tokens per text; None takes what the model allows. Longer texts are cut, and counted.
        max_tokens: Maximum tokens per pass; default 2048. It changes speed and memory, not the result.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed: a killed run resumes. Its contents serve every
            `unit`, `merge` and `rank_special`.
        fail_fast: Whether an item that the model cannot read is an error (default). If not, it is left out, and
            `failures` has its id and the reason.

    Returns:
        `Attributions`.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an option or label is unknown, the model has no table of word
            embeddings, or no module of embeddings where one is asked for, the tokenizer is slow or lacks the token of
            the baseline, a logit is not finite (the item is named), or `out` holds other files. An item whose
            gradients are not finite has numbers of 0, a gap of infinity, and is not valid.

    References:
        Sundararajan, Taly & Yan (2017), "Axiomatic Attribution for Deep Networks"; Du et al. (2021), "Towards
        Interpreting and Mitigating Shortcut Learning Behavior of NLU Models", eq. 2; Bihani & Rayz (2025), "The
        Reliability Paradox", eq. 1-2.

    Example:
        >>> from rightreasons.models.loading import load_classifier
        >>> classifier = load_classifier(folder)  # doctest: +SKIP
        >>> integrated_gradients(classifier, ["a good film"]).tokens  # doctest: +SKIP
        (('a', 'good', 'film'),)
    """
    check_count(max_tokens, "max_tokens")
    model = with_gradients(classifier)
    failures: dict[str, str] = {}
    if not fail_fast and text_pairs is None and choices is None:
        texts, ids, labels, failures = leave_out_empty(texts, ids, labels)
    check_fast(model.tokenizer)
    items = Items.of(model, texts, text_pairs=text_pairs, choices=choices, ids=ids, max_length=max_length)
    if labels is None and options.label == "gold":
        raise ValueError("Expected `labels` with label='gold', but got None.")
    gold = items.check_labels(labels, minimum=0 if options.label == "gold" else -1)
    explained = gold if options.label == "gold" else None
    embedding_input = EmbeddingInput(model.model, layer=options.layer)
    baseline = Baseline.of(model, embedding_input, options)
    keep = options.keep_special or isinstance(model.tokenizer, PromptTokenizer)
    typed = options.token_type is not None and _has_types(model, options.token_type)

    def compute(inputs: dict[str, torch.Tensor], batch: NDArray[np.int64]) -> dict[str, Column]:
        labels_of_batch, logits = None if explained is None else explained[batch], None
        if typed:
            with torch.no_grad():
                logits = model.model(**inputs).logits.double().cpu().numpy()
            labels_of_batch = logits.argmax(axis=1) if labels_of_batch is None else labels_of_batch
            inputs = {**inputs, "token_type_ids": torch.full_like(inputs["input_ids"], options.token_type or 0)}
        special = _special(items, inputs, batch)
        path = Path(
            embedding_input,
            inputs,
            baseline=baseline.embeddings(embedding_input, inputs, special & keep),
            target=options.target,
            # Where rows of one pass affect one another, each has a pass of its own.
            max_tokens=1 if items.way.name == ONE_BY_ONE else max_tokens,
        )
        integral = integrate(path, labels_of_batch, options)
        if logits is not None:
            integral = dataclasses.replace(integral, logits=logits)
        items.check_finite(np.asarray(np.isfinite(integral.logits).all(axis=1)), batch)
        return _columns(path, integral, inputs["attention_mask"], options)

    columns = items.run(
        "integrated gradients",
        compute,
        depends={
            "labels": None if explained is None else digest_of_arrays({"labels": explained}),
            "options": {**options.of_pieces(), "baseline": baseline.name, "baseline_token": baseline.token},
        },
        batch_size=ITEMS_IN_FLIGHT * max(1, max_tokens // MAX_TOKENS),
        progress=progress,
        out=out,
        fail_fast=fail_fast,
    )
    failures |= {items.ids[item]: reason for item, reason in columns.failures.items()}
    n_scores = items.counts if items.joint else np.full(len(items), len(model.label_names or ()))
    whole = columns.filled({"scores": items.lengths, "logits": n_scores})
    attributions = _attributions(items, gold, whole, options, baseline.name)
    if columns.failures:
        attributions = attributions.take(columns.positions)
    return dataclasses.replace(attributions, failures=failures)


def _has_types(classifier: Classifier, token_type: int) -> bool:
    """Tell whether a model embeds types; one that does must know this one."""
    known = int(getattr(classifier.model.config, "type_vocab_size", 0) or 0)
    if known > 1 and token_type >= known:
        raise ValueError(
            f"Expected `token_type` to be below {known}, the types of {classifier.name}, but got {token_type}."
        )
    return known > 1


def _special(items: Items, inputs: dict[str, torch.Tensor], batch: NDArray[np.int64]) -> torch.Tensor:
    """Return which places of a padded batch hold special tokens, in the shape of its ids."""
    mask = inputs["attention_mask"]
    encoded, special = items.encoded, torch.zeros_like(mask, dtype=torch.bool)
    flags = [
        items.places.special[encoded.offsets[items.offsets[item]] : encoded.offsets[items.offsets[item + 1]]]
        for item in batch.tolist()
    ]
    special[mask.bool()] = torch.from_numpy(np.concatenate(flags)).to(mask.device)
    return special


def _columns(path: Path, integral: Integral, mask: torch.Tensor, options: AttributionOptions) -> dict[str, Column]:
    finite = np.isfinite(integral.gap)
    keep = torch.from_numpy(finite).to(integral.gradients.device).view((-1,) + (1,) * (integral.gradients.dim() - 1))
    gradients = torch.where(keep, integral.gradients, 0.0)
    if options.reduce == "l2":
        scores = (path.difference * gradients).norm(dim=-1)
    else:
        scores = ((path.end if options.reduce == "dot" else path.difference) * gradients).sum(dim=-1)
    scores = scores * mask
    if options.normalize:
        norm = scores.flatten(1).norm(dim=1).clamp_min(torch.finfo(scores.dtype).tiny)
        scores = scores / norm.view((-1,) + (1,) * (scores.dim() - 1))
    real = mask.bool().flatten(1).cpu().numpy()
    flat = scores.flatten(1).double().cpu().numpy()[real]
    return {
        "scores": Ragged.of(flat, real.sum(axis=1)),
        "logits": Ragged.of_table(integral.logits),
        "explained": integral.labels,
        "value": integral.value,
        "baseline_value": integral.baseline_value,
        "gap": np.where(finite, integral.gap, np.inf),
        "nodes": integral.nodes,
    }


def _valid(columns: Columns, max_gap: float | None) -> NDArray[np.bool_]:
    gap, change = columns.array("gap"), columns.array("value") - columns.array("baseline_value")
    if max_gap is None:
        return np.asarray(np.isfinite(gap))
    return np.asarray(np.abs(gap) <= max_gap * np.abs(change) + ROUNDING, dtype=np.bool_)


def _attributions(
    items: Items, gold: NDArray[np.int64] | None, columns: Columns, options: AttributionOptions, baseline: str
) -> Attributions:
    scores = columns.ragged("scores")
    magnitude, row = np.abs(scores.values), np.repeat(np.arange(len(items)), scores.lengths)
    total = np.bincount(row, magnitude, minlength=len(items))
    special = np.bincount(row, magnitude * items.places.special, minlength=len(items))
    return Attributions(
        ids=items.ids,
        **vars(
            merge_pieces(items, scores.values, unit=options.unit, merge=options.merge, special=options.rank_special)
        ),
        explained=columns.array("explained"),
        logits=columns.ragged("logits").table(),
        labels=gold,
        value=columns.array("value"),
        baseline_value=columns.array("baseline_value"),
        gap=columns.array("gap"),
        special_share=np.divide(special, total, out=np.zeros(len(items)), where=total > 0),
        nodes=columns.array("nodes"),
        truncated=items.truncated,
        label_names=items.classifier.label_names,
        baseline=baseline,
        valid=_valid(columns, options.max_gap),
        definition=options.describe(baseline),
    )
