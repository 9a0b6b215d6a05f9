"""Which tokens a prediction rests on: integrated gradients over the input embeddings."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from rightreasons.foundations.ragged import Ragged
from rightreasons.foundations.validation import (
    check_count,
    check_ids,
    check_labels,
    check_number,
    check_one_of,
    check_same_length,
)
from rightreasons.models.gradients.embedding_input import EmbeddingInput
from rightreasons.models.gradients.integration import FIRST_INTERVALS, Integral, integrate
from rightreasons.models.gradients.merge_pieces import MERGES, UNITS, Units, merge_pieces
from rightreasons.models.gradients.path import Path
from rightreasons.models.gradients.token_table import TokenTable, token_table
from rightreasons.models.items import check_max_length, item_batches, item_inputs, item_sequences
from rightreasons.models.loading import Classifier
from rightreasons.models.running.fingerprint import fingerprint_arrays, fingerprint_model, fingerprint_texts
from rightreasons.models.running.frozen import frozen
from rightreasons.models.running.run import open_store, run_batches
from rightreasons.models.running.store import Column

Target = Literal["probability", "logit"]
Label = Literal["predicted", "gold"]
Baseline = Literal["zeros", "pad", "mask"]
Method = Literal["adaptive", "gauss_legendre", "riemann_right"]
Reduce = Literal["l2", "sum", "dot"]

TARGETS = ("probability", "logit")
LABELS = ("predicted", "gold")
BASELINES = ("zeros", "pad", "mask")
METHODS = ("adaptive", "gauss_legendre", "riemann_right")
REDUCTIONS = ("l2", "sum", "dot")

STEPS = 50
"""Du et al. (2021) take 50 nodes."""

TOLERANCE = 0.02

MAX_TOKENS = 2048
"""Tokens of a pass; on two cores more brings nothing, and on a GPU more may."""

ITEMS_IN_FLIGHT = 16
"""Items that are followed together, padded to the longest: enough to fill a pass, few enough to be of like length."""


@dataclass(frozen=True, eq=False)
class Attributions:
    """What each prediction rests on, token by token, in the order of the items.

    The tokens of all items stand in flat arrays, one item after another; those of item i are
    `scores.offsets[i]:scores.offsets[i + 1]`. Special tokens and padding are not among them. The tokens of a
    multiple-choice item are those of its choices, one choice after another, each with the prompt before it.

    Attributes:
        ids: N item ids.
        tokens: N tuples of tokens: word pieces as the tokenizer writes them, or lower-case words.
        scores: N rows of attributions, one a token.
        starts: (total,) first character of each token in its text.
        ends: (total,) one past its last character.
        parts: (total,) 0 for a token of the text (or prompt), 1 for one of the second text (or choice).
        choices: (total,) the choice in whose pair the token stands; 0 for classifiers.
        explained: (N,) the class, or choice, whose score is explained.
        logits: (N, K) float64, or `Ragged` where the number of choices differs.
        labels: (N,) gold labels, -1 where there is none; None when the data has no labels.
        value: (N,) the explained score of the input.
        baseline_value: (N,) the same of the baseline.
        gap: (N,) completeness gap: what the attributions of all tokens sum to (with reduce="sum", special tokens
            included), minus `value - baseline_value`. 0 is exact.
        special_share: (N,) share of the absolute attribution that falls on special tokens, in [0, 1].
        nodes: (N,) how many gradients were taken.
        truncated: (N,) whether a text of the item was cut.
        label_names: K names of the classes; None for multiple choice.
        definition: What the scores are, in words.
    """

    ids: tuple[str, ...]
    tokens: tuple[tuple[str, ...], ...]
    scores: Ragged
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    parts: NDArray[np.int64]
    choices: NDArray[np.int64]
    explained: NDArray[np.int64]
    logits: NDArray[np.float64] | Ragged
    labels: NDArray[np.int64] | None
    value: NDArray[np.float64]
    baseline_value: NDArray[np.float64]
    gap: NDArray[np.float64]
    special_share: NDArray[np.float64]
    nodes: NDArray[np.int64]
    truncated: NDArray[np.bool_]
    label_names: tuple[str, ...] | None
    definition: str

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_truncated(self) -> int:
        """How many items were longer than the model takes and were cut."""
        return int(self.truncated.sum())


@dataclass(frozen=True)
class _Options:
    """What decides the attributions of the pieces; what is made of them afterwards is not here."""

    target: str
    label: str
    baseline: str
    method: str
    steps: int
    tolerance: float
    reduce: str

    def __post_init__(self) -> None:
        check_one_of(self.target, TARGETS, "target")
        check_one_of(self.label, LABELS, "label")
        check_one_of(self.baseline, BASELINES, "baseline")
        check_one_of(self.method, METHODS, "method")
        check_one_of(self.reduce, REDUCTIONS, "reduce")
        check_count(self.steps, "steps", minimum=2 * FIRST_INTERVALS + 1 if self.method == "adaptive" else 1)
        check_number(self.tolerance, "tolerance", minimum=0.0)

    def describe(self) -> str:
        """Say in words what is computed."""
        rule = {
            "adaptive": f"adaptive Simpson's rule, gap at most {self.tolerance:g}, at most {self.steps} nodes",
            "gauss_legendre": f"Gauss-Legendre rule, {self.steps} nodes",
            "riemann_right": f"right Riemann sum, {self.steps} nodes",
        }[self.method]
        baseline = "zero embeddings" if self.baseline == "zeros" else f"the embedding of the {self.baseline} token"
        reduced = {"l2": "L2 norm", "sum": "sum", "dot": "dot product of embedding and mean gradient"}[self.reduce]
        return (
            f"Integrated gradients of the {self.target} of the {self.label} label over the word embeddings, from "
            f"{baseline} ({rule}), reduced to one number a token by {reduced}."
        )


def integrated_gradients(
    classifier: Classifier,
    texts: Sequence[str],
    *,
    text_pairs: Sequence[str] | None = None,
    choices: Sequence[Sequence[str]] | None = None,
    ids: Iterable[object] | None = None,
    labels: Sequence[int] | NDArray[Any] | None = None,
    target: Target = "probability",
    label: Label = "predicted",
    baseline: Baseline = "zeros",
    method: Method = "adaptive",
    steps: int = STEPS,
    tolerance: float = TOLERANCE,
    reduce: Reduce = "l2",
    unit: str = "wordpiece",
    merge: str = "absmax",
    max_length: int | None = None,
    max_tokens: int = MAX_TOKENS,
    progress: bool = True,
    out: str | os.PathLike[str] | None = None,
) -> Attributions:
    r"""Attribute each prediction to its tokens by integrated gradients.

    \[ g_t = (e_t - e'_t) \odot \bar\nabla_t, \qquad
       \bar\nabla_t = \int_0^1 \frac{\partial f_y(e' + \alpha (e - e'))}{\partial e_t} d\alpha, \qquad
       a_t = \lVert g_t \rVert_2 \]

    for word embeddings e_t of the real tokens, baselines e'_t and the explained score f_y; position and type
    embeddings stay. The sum of all g is f_y(e) - f_y(e'): how far a quadrature misses that is the completeness gap,
    which is returned. BART's decoder reads the text too, and is fed the same path.

    Padding never counts: the result of an item does not depend on the items beside it. The model is held frozen and is
    afterwards as it was.

    Args:
        classifier: From `load_classifier` or `load_multiple_choice`.
        texts: N texts; for a multiple-choice model N prompts.
        text_pairs: N second texts for a task of pairs.
        choices: N lists of at least two texts, for a multiple-choice model and only there.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) gold labels, -1 where there is none (not with label="gold").
        target: "probability" (default) or "logit" of the explained label.
        label: "predicted" (default) or "gold".
        baseline: "zeros" (default), or the embedding of the "pad" or "mask" token, in the place of every real token.
        method: "adaptive" (default; halves intervals of the path until the gap of the item is at most `tolerance`),
            "gauss_legendre" or "riemann_right" (with steps=50 the mode of the papers).
        steps: Nodes on the path; with "adaptive" the most that an item may take. Default 50.
        tolerance: The gap that "adaptive" allows, in the unit of the target; default 0.02.
        reduce: "l2" (default; the sign is lost), "sum" (sums to `value - baseline_value`), or "dot": e_t times the mean
            gradient, without the baseline.
        unit: "wordpiece" (default) or "word": letters and digits, or one mark of punctuation, lower case, wherever the
            tokenizer cuts.
        merge: How pieces become a word: "absmax" (default; the largest in magnitude), "sum" or "mean".
        max_length: The most tokens of a text; None takes what the model allows. What is longer is cut, and counted.
        max_tokens: The most tokens of one pass; default 2048. It changes speed and memory, not the result.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed: a killed run goes on where it stopped. What it
            holds serves every `unit` and `merge`.

    Returns:
        `Attributions`.

    Raises:
        TypeError: If a column is of the wrong kind.
        ValueError: If columns differ in length, an option or label is unknown, the model has no table of word
            embeddings, the tokenizer is slow or lacks the token of the baseline, a gradient is not finite (the item is
            named), or `out` belongs to another run.

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
    options = _Options(target, label, baseline, method, steps, tolerance, reduce)
    units = Units(check_one_of(unit, UNITS, "unit"), check_one_of(merge, MERGES, "merge"))
    check_count(max_tokens, "max_tokens")
    first, second, counts = item_sequences(classifier, texts, text_pairs, choices)
    names = tuple(check_ids(range(len(counts)) if ids is None else ids, "ids"))
    check_same_length(texts=counts, ids=names)
    gold = _gold(classifier, labels, counts, label)
    if reduce == "dot" and baseline != "zeros":
        raise ValueError(
            f"Expected baseline='zeros' with reduce='dot', which knows no baseline, but got {baseline!r}: use 'sum'."
        )
    length = check_max_length(classifier, max_length)
    table = token_table(classifier.tokenizer, first, second, max_length=length)
    columns = _integrate(classifier, table, counts, names, gold, options, max_tokens, progress, out)
    return _assemble(classifier, table, counts, names, gold, options, units, columns, first, second)


def _gold(
    classifier: Classifier, labels: Sequence[int] | NDArray[Any] | None, counts: NDArray[np.int64], label: str
) -> NDArray[np.int64] | None:
    if labels is None:
        if label == "gold":
            raise ValueError("Expected `labels` with label='gold', but got None.")
        return None
    check_same_length(texts=counts, labels=labels)
    classes = counts if classifier.label_names is None else len(classifier.label_names)
    return check_labels(labels, classes, name="labels", minimum=0 if label == "gold" else -1)


def _integrate(
    classifier: Classifier,
    table: TokenTable,
    counts: NDArray[np.int64],
    names: Sequence[str],
    gold: NDArray[np.int64] | None,
    options: _Options,
    max_tokens: int,
    progress: bool,
    out: str | os.PathLike[str] | None,
) -> dict[str, Column]:
    """Compute the columns of every item: the reduced attribution of every piece, and what is known of the path."""
    model, encoded = classifier.model, table.encoded
    embedding_input, inputs_of = EmbeddingInput(model), item_inputs(classifier, encoded, counts)
    explained = gold if options.label == "gold" else None
    store = open_store(
        out,
        lambda: {
            "kind": "integrated gradients",
            "model": fingerprint_model(model),
            "ids": fingerprint_texts(names),
            "texts": fingerprint_arrays({**encoded.columns, "offsets": encoded.offsets, "choices": counts}),
            "labels": None if explained is None else fingerprint_arrays({"labels": explained}),
            "options": vars(options),
        },
    )

    def compute(batch: NDArray[np.int64]) -> dict[str, Column]:
        inputs = inputs_of(batch)
        path = Path(
            model,
            embedding_input,
            inputs,
            baseline=_baseline(classifier, embedding_input, options.baseline),
            target=options.target,
            max_tokens=max_tokens,
        )
        integral = integrate(
            path,
            None if explained is None else explained[batch],
            method=options.method,
            steps=options.steps,
            tolerance=options.tolerance,
        )
        _check_finite(integral, classifier, [names[item] for item in batch])
        return _columns(path, integral, inputs["attention_mask"], options.reduce)

    with frozen(model):
        batches = item_batches(encoded.lengths, counts, batch_size=ITEMS_IN_FLIGHT)
        return run_batches(compute, batches, store=store, progress=progress, description="attributing")


def _baseline(classifier: Classifier, embedding_input: EmbeddingInput, name: str) -> torch.Tensor | None:
    if name == "zeros":
        return None
    token = getattr(classifier.tokenizer, f"{name}_token_id")
    if token is None:
        raise ValueError(
            f"Expected the tokenizer of {classifier.name} to have a {name} token for baseline={name!r}, "
            "but it has none."
        )
    return embedding_input.look_up(torch.tensor([token], device=classifier.device))[0]


def _check_finite(integral: Integral, classifier: Classifier, names: Sequence[str]) -> None:
    bad = ~np.isfinite(integral.gap)
    if bad.any():
        raise ValueError(
            f"Expected finite gradients, but {classifier.name} gave NaN or infinity for item "
            f"{names[int(np.flatnonzero(bad)[0])]!r}."
        )


def _columns(path: Path, integral: Integral, mask: torch.Tensor, reduce: str) -> dict[str, Column]:
    gradients = integral.gradients
    if reduce == "l2":
        scores = (path.difference * gradients).norm(dim=-1)
    else:
        scores = ((path.end if reduce == "dot" else path.difference) * gradients).sum(dim=-1)
    real = mask.bool().flatten(1).cpu().numpy()
    flat = scores.flatten(1).double().cpu().numpy()[real]
    width = integral.logits.shape[1]
    return {
        "scores": Ragged(flat, np.concatenate(([0], np.cumsum(real.sum(axis=1)))).astype(np.int64)),
        "logits": Ragged(integral.logits.reshape(-1), np.arange(len(real) + 1, dtype=np.int64) * width),
        "explained": integral.labels,
        "value": integral.value,
        "baseline_value": integral.baseline_value,
        "gap": integral.gap,
        "nodes": integral.nodes,
    }


def _assemble(
    classifier: Classifier,
    table: TokenTable,
    counts: NDArray[np.int64],
    names: tuple[str, ...],
    gold: NDArray[np.int64] | None,
    options: _Options,
    units: Units,
    columns: dict[str, Column],
    first: Sequence[str],
    second: Sequence[str] | None,
) -> Attributions:
    scores, logits = columns["scores"], columns["logits"]
    assert isinstance(scores, Ragged)  # noqa: S101 - the columns are this module's own
    assert isinstance(logits, Ragged)  # noqa: S101
    magnitude = np.abs(scores.values)
    row = np.repeat(np.arange(len(counts)), scores.lengths)
    everything = np.bincount(row, magnitude, minlength=len(counts))
    special = np.bincount(row, magnitude * table.special, minlength=len(counts))
    merged = merge_pieces(classifier.tokenizer, table, scores.values, units, first, second)
    # From sequences to items: the sequences of an item stand one after another.
    ends = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    offsets = merged.offsets[ends]
    cuts = offsets.tolist()
    first_sequence = np.repeat(ends[:-1], counts)
    choice = np.arange(len(first_sequence)) - first_sequence
    widths = logits.lengths
    same = bool((widths == widths[0]).all())
    return Attributions(
        ids=names,
        tokens=tuple(tuple(merged.tokens[a:b]) for a, b in itertools.pairwise(cuts)),
        scores=Ragged(merged.scores, offsets),
        starts=merged.starts,
        ends=merged.ends,
        parts=merged.parts,
        choices=np.repeat(choice, np.diff(merged.offsets)),
        explained=np.asarray(columns["explained"], dtype=np.int64),
        logits=logits.values.reshape(len(counts), -1) if same else logits,
        labels=gold,
        value=np.asarray(columns["value"]),
        baseline_value=np.asarray(columns["baseline_value"]),
        gap=np.asarray(columns["gap"]),
        special_share=np.divide(special, everything, out=np.zeros(len(counts)), where=everything > 0),
        nodes=np.asarray(columns["nodes"], dtype=np.int64),
        truncated=np.logical_or.reduceat(table.encoded.truncated, ends[:-1]),
        label_names=classifier.label_names,
        definition=f"{options.describe()} {units.describe()}",
    )
