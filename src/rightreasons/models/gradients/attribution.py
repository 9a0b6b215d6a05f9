"""Which tokens a prediction rests on: integrated gradients over the input embeddings.

The paths and where these begin, and the integral, by a rule or adaptively, come first; then the attributions.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.core.arrays import Floats, Ragged
from rightreasons.core.options import accept_options_as_keywords
from rightreasons.core.store import digest_arrays
from rightreasons.core.validation import check_count
from rightreasons.models.batching import length_batches, send_array, vocabulary_size
from rightreasons.models.classes import Classifier, leave_out_empty
from rightreasons.models.gradients.inputs import (
    EmbeddingInput,
    classifier_with_gradients,
)
from rightreasons.models.gradients.options import (
    FIRST_PLACES,
    MAX_TOKENS,
    AttributionOptions,
    Attributions,
)
from rightreasons.models.gradients.words import merge_pieces
from rightreasons.models.items import Items
from rightreasons.models.protocol import Scorer
from rightreasons.models.running import Column, Columns
from rightreasons.models.trial import ONE_BY_ONE

Ints = NDArray[np.int64]


SHORTEST = 2.0**-16

NEAR = 1 / 64
"""Where on the path from zeros the model is asked whether it has already changed."""

SINGULAR = 0.25
"""Zero is singular where more than this share of the change of the logits happens in the first `NEAR` of the path.
Models with positions in their embeddings change there by 0.03 or less, models that normalize words alone by 0.55 or
more."""

_TEXTS = (
    "The film was good, and the story is as fine as the actors are.",
    "Why did the rain stop? Nobody knows what it was.",
    "a long and dull day",
    "She said that there were three of them, not two.",
)


def quadrature(name: str, steps: int) -> tuple[Floats, Floats]:
    r"""Return a rule on [0, 1] with `steps` nodes.

    "riemann_right" has the nodes k/m with weights 1/m, k = 1..m, as in Du et al.; its error falls with 1/m.
    "gauss_legendre", captum's default and so that of the Reliability Paradox, is exact for polynomials up to degree
    2m - 1 and has no node at the ends.

    Args:
        name: "riemann_right" or "gauss_legendre".
        steps: Number of nodes, m >= 1.

    Returns:
        (m,) nodes, 0 at the baseline and 1 at the input, and their weights, which sum to 1.

    References:
        Sundararajan, Taly & Yan (2017), "Axiomatic Attribution for Deep Networks", eq. 3; Du et al. (2021), "Towards
        Interpreting and Mitigating Shortcut Learning Behavior of NLU Models", eq. 2.

    Example:
        >>> quadrature("riemann_right", 4)[0]
        array([0.25, 0.5 , 0.75, 1.  ])
        >>> nodes, weights = quadrature("gauss_legendre", 2)  # the integral of x^3 over [0, 1] is 1/4
        >>> round(float(weights @ nodes**3), 12)
        0.25
    """
    if name == "riemann_right":
        return np.arange(1, steps + 1) / steps, np.full(steps, 1.0 / steps)
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    return (nodes + 1.0) / 2.0, weights / 2.0


class Path:
    """The paths of a batch of items, and the model whose gradients are taken along them.

    Only the embeddings of real tokens change, those of padding stay. Points of different items and places on the path
    share a forward and backward pass, if the items are of like length: a pass is no longer than its longest item.

    Args:
        embedding_input: A frozen classifier, fed by embeddings.
        inputs: `input_ids`, `attention_mask`, …: (b, L).
        baseline: The embeddings at which the paths of the real tokens begin, in the shape of those of the items; None
            for zeros.
        target: "probability" or "logit".
        max_tokens: Maximum tokens per pass, padding included; a single item may exceed it.

    Attributes:
        end: (b, L, d) the embeddings of the items.
        difference: (b, L, d) the same minus their baselines, 0 at padding; in single precision at least.
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
        self.end = embedding_input.embed(inputs)
        # In half precision, points near the baseline would be differences of large rounded numbers.
        self._exact = torch.promote_types(self.end.dtype, torch.float32)
        end = self.end.to(self._exact)
        self.difference = (end if baseline is None else end - baseline) * inputs[
            "attention_mask"
        ].unsqueeze(-1)
        # The length of the shortest part of the path whose points differ by more than rounding.
        self.shortest = max(SHORTEST, torch.finfo(self.end.dtype).eps / 8)
        self._max_tokens = max_tokens
        places = inputs["attention_mask"].bool().cpu().numpy()
        self._first = places.argmax(axis=1)
        self._stop = places.shape[1] - places[:, ::-1].argmax(axis=1)

    def __len__(self) -> int:
        return len(self.end)

    @torch.no_grad()
    def logits(self, items: Ints, places: Floats) -> Floats:
        """Return the logits at some points, (r, K).

        Args:
            items: (r,) which items.
            places: (r,) where on their paths: 0 at the baseline, 1 at the input.
        """
        passes, parts = self._passes(items), []
        for rows, columns in passes:
            parts.append(self._ask(items[rows], places[rows], columns)[1].double().cpu().numpy())
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
            labels: (r,) the class whose score is explained; None for the predicted one of each point.

        Returns:
            (g, L, d) the sums, in single precision at least; (r,) the target at the points; and (r, K) the logits.
        """
        exact = self._exact
        size = int(groups.max()) + 1 if len(groups) else 0
        total = torch.zeros((size, *self.end.shape[1:]), dtype=exact, device=self.end.device)
        passes, values, logits = self._passes(items), np.empty(len(items)), []
        for rows, columns in passes:
            with torch.enable_grad():
                points, answers = self._ask(items[rows], places[rows], columns)
                logits.append(answers.detach().double().cpu().numpy())
                explained = logits[-1].argmax(axis=1) if labels is None else labels[rows]
                scores = self._target_of(answers, self._indices(explained))
                (gradient,) = torch.autograd.grad(scores.sum(), points)
            weight = torch.as_tensor(weights[rows], dtype=exact, device=total.device).view(-1, 1, 1)
            total[:, columns].index_add_(
                0, self._indices(groups[rows]), gradient.to(exact) * weight
            )
            values[rows] = scores.detach().double().cpu().numpy()
        return total, values, _in_order(passes, logits)

    def score(self, logits: Floats, labels: Ints) -> Floats:
        """Return the target, (r,), from logits (r, K) and the explained classes (r,)."""
        return np.asarray(
            self._target_of(torch.from_numpy(logits), torch.from_numpy(labels)).numpy()
        )

    def _target_of(self, logits: Tensor, labels: Tensor) -> Tensor:
        exact = logits if logits.dtype == torch.float64 else logits.float()
        rows = exact if self._target == "logit" else exact.softmax(dim=-1)
        return rows.gather(1, labels.unsqueeze(1)).squeeze(1)

    def _passes(self, items: Ints) -> list[tuple[Ints, slice]]:
        """Cut points into passes of like length: which points, and the columns of their tokens."""
        widths = (self._stop - self._first)[items]
        batches = length_batches(widths, batch_size=max(1, len(items)), max_tokens=self._max_tokens)
        return [
            (rows, slice(self._first[items[rows]].min(), self._stop[items[rows]].max()))
            for rows in batches
        ]

    def _indices(self, values: Ints) -> Tensor:
        return send_array(np.ascontiguousarray(values), self.end.device)

    def _ask(self, items: Ints, places: Floats, columns: slice) -> tuple[Tensor, Tensor]:
        """Return points on the paths, some columns of them, and the logits there."""
        chosen = self._indices(items)
        end, difference = (each[:, columns][chosen] for each in (self.end, self.difference))
        back = torch.as_tensor(places - 1.0, dtype=self._exact, device=end.device).view(-1, 1, 1)
        points = torch.addcmul(end.to(self._exact), difference, back).to(end.dtype).requires_grad_()
        inputs = {name: tensor[:, columns][chosen] for name, tensor in self._inputs.items()}
        return points, self._embedding_input.logits(points, inputs)


def _in_order(passes: list[tuple[Ints, slice]], parts: list[Floats]) -> Floats:
    """Return what some passes found for their rows, in the order in which these were asked for."""
    return np.concatenate(parts)[np.argsort(np.concatenate([rows for rows, _ in passes]))]


@dataclass(frozen=True, eq=False)
class Baseline:
    """The embedding with which the path of every token begins.

    Attributes:
        name: "zeros", "mean" or "pad".
        token: The token whose embedding it is; None for the others.
        vector: (d,) the mean of the word embeddings; None for the others.
    """

    name: str
    token: int | None = None
    vector: Tensor | None = None

    @classmethod
    def of(
        cls, classifier: Classifier, embedding_input: EmbeddingInput, options: AttributionOptions
    ) -> Baseline:
        """Choose the baseline that the options name.

        "auto" is "zeros", unless zero is singular for the model: then it is "mean".

        Raises:
            ValueError: If the tokenizer lacks the token.
        """
        name = options.baseline
        if name == "auto":
            able = options.layer == "word_embeddings"
            name = "mean" if able and zero_is_singular(classifier, embedding_input) else "zeros"
        vector = None
        if name == "mean":  # of the tokens that the tokenizer knows
            rows = min(len(classifier.tokenizer), vocabulary_size(classifier.model) or 0)
            words = embedding_input.look_up(torch.arange(rows, device=classifier.device))
            vector = words.mean(dim=0, dtype=torch.float64)
        token: int | None = classifier.tokenizer.pad_token_id if name == "pad" else None
        if name == "pad" and token is None:
            raise ValueError(
                f"Expected the tokenizer of {classifier.name} to have a pad token for baseline='pad', but it has none."
            )
        return cls(name, token, vector)

    def embeddings(
        self, embedding_input: EmbeddingInput, inputs: dict[str, Tensor], kept: Tensor
    ) -> Tensor | None:
        """Return the embeddings at which the paths of a batch begin, in the shape of its embeddings; None for zeros.

        Args:
            embedding_input: The model.
            inputs: Its inputs.
            kept: Places whose tokens stay, in the shape of the ids.
        """
        if self.token is not None:
            changed = inputs["attention_mask"].bool() & ~kept
            return embedding_input.embed(
                {**inputs, "input_ids": inputs["input_ids"].masked_fill(changed, self.token)}
            )
        if self.vector is None and not kept.any():
            return None
        embedded = embedding_input.embed(inputs)
        start = 0.0 if self.vector is None else self.vector.to(embedded.dtype)
        return torch.where(kept.unsqueeze(-1), embedded, start)


def zero_is_singular(classifier: Classifier, embedding_input: EmbeddingInput) -> bool:
    """Tell whether a model changes at once where the embeddings of its words leave zero.

    A model that normalizes word embeddings without positions (RMSNorm of Llama, Qwen and Gemma, LayerNorm of DeBERTa-v3
    and ModernBERT) sees their direction alone, however small they are: at zero its gradient is a multiple of
    1 / sqrt(eps) for each layer, and almost all of the change from zero to the text happens next to zero, where no
    quadrature finds it. A few fixed texts are asked, one at a time.
    """
    items = Items.of(classifier, _TEXTS)

    def compute(inputs: dict[str, Tensor], batch: NDArray[np.int64]) -> dict[str, Column]:
        path = Path(embedding_input, inputs, baseline=None, target="logit", max_tokens=1)
        zero, near, end = path.logits(np.repeat(np.arange(1), 3), np.array([0.0, NEAR, 1.0]))
        whole = float(np.linalg.norm(end - zero))
        return {
            "share": np.array([float(np.linalg.norm(near - zero)) / whole if whole > 0 else 0.0])
        }

    shares = items.run("baseline", compute, batch_size=1, progress=False).array("share")
    return bool(np.median(shares) > SINGULAR)


def integrate(
    path: Path, labels: Ints | None, options: AttributionOptions
) -> tuple[Tensor, dict[str, Column]]:
    """Average the gradients over the paths of a batch.

    The adaptive mode is Simpson's rule on intervals that are halved where necessary, but for the interval at the
    baseline, whose rule has no node there: the gradient of a normalization may explode at zero. The integral over an
    interval is known exactly (the target at its end minus the target at its start), so every interval has its own gap;
    an item is done when the absolute gaps of its intervals sum to at most `tolerance` and to at most `max_gap` of the
    change over its path. No gradient is computed twice or discarded.

    Args:
        path: The paths.
        labels: (b,) the class whose score is explained; None for the predicted one.
        options: The rule, its nodes (with "adaptive" the maximum per item) and the gaps that it allows.

    Returns:
        (b, L, d) the gradients of the target, averaged over the path; and by item `explained`, `logits`, the target at
        the input (`value`) and at the baseline (`baseline_value`), the number of gradients taken (`nodes`), and the
        `gap`: their integral in the path's direction minus the change of the target, 0 where it is exact.
    """
    items = np.arange(len(path))
    ones, taken = np.ones(len(items)), np.full(len(items), options.steps, np.int64)
    adaptive = options.method == "adaptive"
    nodes, weights = (
        (np.ones(1), np.ones(1)) if adaptive else quadrature(options.method, options.steps)
    )
    at_end = nodes[-1] == 1.0
    if at_end:
        # The pass that predicts the class is that of the node at the input.
        gradients, value, logits = path.gradients(items, ones, ones * weights[-1], items, labels)
    else:
        logits = path.logits(items, ones)
    explained = logits.argmax(axis=1).astype(np.int64) if labels is None else labels
    baseline_value = path.score(path.logits(items, 0 * ones), explained)
    if adaptive:
        at_input = _Nodes(items, ones, value, _slopes(gradients, path.difference), [gradients])
        gradients, taken = _adaptive(path, at_input, explained, baseline_value, options)
    else:
        value = path.score(logits, explained)
        if others := len(nodes) - at_end:
            rows = np.repeat(items, others)
            places, weights = (np.tile(each[:others], len(items)) for each in (nodes, weights))
            total, *_ = path.gradients(rows, places, weights, rows, explained[rows])
            gradients = total.add_(gradients) if at_end else total
    return gradients, {
        "explained": explained,
        "logits": logits,
        "value": value,
        "baseline_value": baseline_value,
        "gap": _slopes(gradients, path.difference) - (value - baseline_value),
        "nodes": taken,
    }


@dataclass(eq=False)
class _Nodes:
    """The points of all items of a batch where gradients were computed."""

    item: Ints
    place: Floats
    value: Floats
    slope: Floats
    gradients: list[Tensor]

    def add(self, path: Path, labels: Ints, item: Ints, place: Floats) -> Ints:
        """Compute gradients at more points and return their positions."""
        alone = np.arange(len(item))
        gradients, value, _ = path.gradients(item, place, np.ones(len(item)), alone, labels[item])
        new = len(self.item) + alone
        chosen = torch.from_numpy(item).to(gradients.device)
        self.item = np.concatenate((self.item, item))
        self.place = np.concatenate((self.place, place))
        self.value = np.concatenate((self.value, value))
        self.slope = np.concatenate((self.slope, _slopes(gradients, path.difference[chosen])))
        self.gradients.append(gradients)
        return new


def _adaptive(
    path: Path, nodes: _Nodes, labels: Ints, baseline_value: Floats, options: AttributionOptions
) -> tuple[Tensor, Ints]:
    """Integrate as accurately as each item needs; `nodes` has the one at the input of each. Returns how many, too."""
    items = np.arange(len(path))
    inner = FIRST_PLACES[:-1]
    first = nodes.add(path, labels, np.repeat(items, len(inner)), np.tile(inner, len(items)))
    grid = np.column_stack((first.reshape(len(items), len(inner)), items))
    allowed = np.full(len(items), options.tolerance)
    if options.max_gap is not None:
        allowed = np.minimum(allowed, options.max_gap * np.abs(nodes.value[items] - baseline_value))
    # Each row is an interval of an item, by the positions of its three nodes.
    intervals = np.concatenate((grid[:, :3], grid[:, 2:]))
    at_baseline = np.arange(len(intervals)) < len(items)
    taken = np.full(len(items), len(FIRST_PLACES), dtype=np.int64)
    while True:
        item, first, _, last = nodes.item[intervals[:, 0]], *intervals.T
        estimate = (_weights(nodes, intervals, at_baseline) * nodes.slope[intervals]).sum(axis=1)
        before = np.where(at_baseline, baseline_value[item], nodes.value[first])
        gap = np.abs(estimate - (nodes.value[last] - before))
        total = np.bincount(item, gap, minlength=len(items))
        worst = np.zeros(len(items))
        with np.errstate(invalid="ignore"):  # an item without finite gradients is halved no further
            np.maximum.at(worst, item, gap)
        # The worst interval of an item and those that are nearly as bad are halved in one round.
        wanted = (total > allowed)[item] & (gap >= 0.5 * worst[item])
        wanted &= nodes.place[intervals[:, 2]] - nodes.place[intervals[:, 1]] > path.shortest
        cost = 2 * np.bincount(item[wanted], minlength=len(items))
        wanted &= (taken + cost <= options.steps)[item]
        if not wanted.any():
            break
        start, middle, end = intervals[wanted].T
        owner, first_of_path = nodes.item[middle], at_baseline[wanted]
        places = nodes.place
        left = np.where(first_of_path, places[start] / 2, (places[start] + places[middle]) / 2)
        new = nodes.add(
            path,
            labels,
            np.tile(owner, 2),
            np.concatenate((left, (places[middle] + places[end]) / 2)),
        )
        left, right = new[: len(owner)], new[len(owner) :]
        halves = np.where(first_of_path, (left, start, middle), (start, left, middle)).T
        intervals = np.concatenate(
            (intervals[~wanted], halves, np.column_stack((middle, right, end)))
        )
        at_baseline = np.concatenate(
            (at_baseline[~wanted], first_of_path, np.zeros(len(owner), dtype=np.bool_))
        )
        taken += 2 * np.bincount(owner, minlength=len(items))

    weights = np.zeros(len(nodes.item))
    np.add.at(weights, intervals, _weights(nodes, intervals, at_baseline))
    gradients = torch.cat(nodes.gradients)
    weight = torch.as_tensor(weights, dtype=gradients.dtype, device=gradients.device)
    integral = torch.zeros(
        (len(items), *gradients.shape[1:]), dtype=gradients.dtype, device=gradients.device
    )
    owners = torch.from_numpy(nodes.item).to(gradients.device)
    return integral.index_add_(0, owners, gradients * weight.view(-1, 1, 1)), taken


def _weights(nodes: _Nodes, intervals: Ints, at_baseline: NDArray[np.bool_]) -> Floats:
    """Return the weights of the three nodes of every interval.

    Simpson's rule has its nodes at the start, the middle and the end. The interval that begins at the baseline has none
    there, but at a quarter of its length; the weights are those that integrate quadratic functions exactly.
    """
    start = np.where(at_baseline, 0.0, nodes.place[intervals[:, 0]])
    shares = np.where(at_baseline[:, None], (4 / 9, 3 / 9, 2 / 9), (1 / 6, 4 / 6, 1 / 6))
    return np.asarray((nodes.place[intervals[:, 2]] - start)[:, None] * shares)


def _slopes(gradients: Tensor, difference: Tensor) -> Floats:
    """Return the gradients in the direction of their paths, (r,)."""
    rows = (gradients * difference).flatten(1).double().sum(dim=1)
    return np.asarray(rows.cpu().numpy())


ROUNDING = 1e-6
"""A gap this small is none, however little the score changes."""

ITEMS_IN_FLIGHT = 16
"""Items that are integrated together, padded to the longest: enough to fill a pass of `MAX_TOKENS`, few enough to be of
like length; more where a pass takes more."""


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
       \bar\nabla_t = \int_0^1 \frac{\partial f_y(e' + \alpha (e - e'))}{\partial e_t} d\alpha, \qquad
       a_t = \lVert g_t \rVert_2 \]

    for word embeddings e_t of the real tokens, baselines e'_t and the explained score f_y; position and type
    embeddings stay. The g of all tokens sum to f_y(e) - f_y(e'); the amount by which a quadrature misses that is the
    completeness gap, which is returned. BART's decoder, which reads the text too, follows the same path.
    With layer="embeddings" the e are the output of the module of embeddings, after positions, types and normalization.

    Padding never counts: the result of an item does not depend on the others in its batch. The model is frozen
    meanwhile and afterwards as it was.

    Args:
        classifier: From `load_classifier`.
        texts: N texts.
        text_pairs: N second texts for a task of pairs.
        ids: N unique ids; by default "0", "1", …
        labels: (N,) gold labels, -1 where there is none (not with label="gold").
        options: An `AttributionOptions`, in place of the following keywords.
        target: "probability" (default) or "logit" of the explained label.
        label: "predicted" (default) or "gold".
        layer: "word_embeddings" (default), or "embeddings": the output of the module of embeddings, at which a baseline
            of tokens is what the module makes of the text with these tokens. BART has no such module: there the word
            embeddings of the encoder follow the path, while the decoder reads the text as it is.
        baseline: Embedding in place of that of every real token: "zeros"; "mean", the mean word embedding of the
            vocabulary; the "pad" token; or "auto" (default): zeros, unless zero is singular for the
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
        reduce: "l2" (default; the sign is lost) or "sum" (sums to `value - baseline_value`).
        normalize: Whether the numbers of an item are divided by their 2-norm over all its tokens; default False.
        unit: "wordpiece" (default) or "word": a run of letters and digits, or one punctuation mark, in lower case,
            whatever the tokenizer's pieces; its number is the largest of theirs in magnitude.
        rank_special: Whether special tokens are among the tokens; default False; with unit="wordpiece" only.
        max_length: Maximum tokens per text; None takes what the model allows. Longer texts are cut, and counted.
        max_tokens: Maximum tokens per pass; default 2048. It changes speed and memory, not the result.
        progress: Whether to show a progress bar.
        out: A folder for the results, written as they are computed: a killed run resumes. Its contents serve every
            `unit` and `rank_special`.
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
    model = classifier_with_gradients(classifier)
    failures: dict[str, str] = {}
    if not fail_fast and text_pairs is None:
        texts, ids, labels, failures = leave_out_empty(texts, ids, labels)
    items = Items.of(model, texts, text_pairs=text_pairs, ids=ids, max_length=max_length)
    if labels is None and options.label == "gold":
        raise ValueError("Expected `labels` with label='gold', but got None.")
    gold = items.check_labels(labels, minimum=0 if options.label == "gold" else -1)
    explained = gold if options.label == "gold" else None
    embedding_input = EmbeddingInput(model.model, layer=options.layer)
    baseline = Baseline.of(model, embedding_input, options)
    typed = options.token_type is not None and _has_types(model, options.token_type)

    def compute(inputs: dict[str, torch.Tensor], batch: NDArray[np.int64]) -> dict[str, Column]:
        labels_of_batch, logits = None if explained is None else explained[batch], None
        if typed:
            with torch.no_grad():
                logits = model.model(**inputs).logits.double().cpu().numpy()
            labels_of_batch = logits.argmax(axis=1) if labels_of_batch is None else labels_of_batch
            inputs = {
                **inputs,
                "token_type_ids": torch.full_like(inputs["input_ids"], options.token_type or 0),
            }
        special = _special(items, inputs, batch)
        path = Path(
            embedding_input,
            inputs,
            baseline=baseline.embeddings(embedding_input, inputs, special & options.keep_special),
            target=options.target,
            # Where rows of one pass affect one another, each has a pass of its own.
            max_tokens=1 if items.way.name == ONE_BY_ONE else max_tokens,
        )
        gradients, columns = integrate(path, labels_of_batch, options)
        if logits is not None:
            columns["logits"] = logits
        items.check_finite(np.isfinite(np.asarray(columns["logits"])).all(axis=1), batch)
        gap = np.asarray(columns["gap"])
        finite = np.isfinite(gap)
        columns["gap"] = np.where(finite, gap, np.inf)
        columns["scores"] = _scores(
            path.difference, gradients, finite, inputs["attention_mask"], options
        )
        return columns

    columns = items.run(
        "integrated gradients",
        compute,
        depends={
            "labels": None if explained is None else digest_arrays({"labels": explained}),
            "options": {
                **options.of_pieces(),
                "baseline": baseline.name,
                "baseline_token": baseline.token,
            },
        },
        batch_size=ITEMS_IN_FLIGHT * max(1, max_tokens // MAX_TOKENS),
        progress=progress,
        out=out,
        fail_fast=fail_fast,
    )
    failures |= {items.ids[item]: reason for item, reason in columns.failures.items()}
    whole = columns.filled({"scores": items.encoded.lengths})
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


def _special(
    items: Items, inputs: dict[str, torch.Tensor], batch: NDArray[np.int64]
) -> torch.Tensor:
    """Return which places of a padded batch hold special tokens, in the shape of its ids."""
    mask = inputs["attention_mask"]
    encoded, special = items.encoded, torch.zeros_like(mask, dtype=torch.bool)
    flags = [
        items.places.special[encoded.offsets[item] : encoded.offsets[item + 1]]
        for item in batch.tolist()
    ]
    special[mask.bool()] = torch.from_numpy(np.concatenate(flags)).to(mask.device)
    return special


def _scores(
    difference: Tensor,
    gradients: Tensor,
    finite: NDArray[np.bool_],
    mask: Tensor,
    options: AttributionOptions,
) -> Ragged:
    """Return one number per real token; 0 for those of items whose gradients are not finite."""
    keep = torch.from_numpy(finite).to(gradients.device)
    parts = difference * torch.where(keep[:, None, None], gradients, 0.0)
    scores = (parts.norm(dim=-1) if options.reduce == "l2" else parts.sum(dim=-1)) * mask
    if options.normalize:
        scores = scores / scores.norm(dim=1, keepdim=True).clamp_min(torch.finfo(scores.dtype).tiny)
    real = mask.bool().cpu().numpy()
    return Ragged.of(scores.double().cpu().numpy()[real], real.sum(axis=1))


def _attributions(
    items: Items,
    gold: NDArray[np.int64] | None,
    columns: Columns,
    options: AttributionOptions,
    baseline: str,
) -> Attributions:
    scores = columns.ragged("scores")
    gap = columns.array("gap")
    valid = np.isfinite(gap)
    if options.max_gap is not None:
        change = columns.array("value") - columns.array("baseline_value")
        valid = np.abs(gap) <= options.max_gap * np.abs(change) + ROUNDING
    return Attributions(
        ids=items.ids,
        **vars(
            merge_pieces(
                items,
                scores.values,
                unit=options.unit,
                merge="absmax",
                special=options.rank_special,
            )
        ),
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
        valid=valid,
        definition=options.describe(baseline),
    )
