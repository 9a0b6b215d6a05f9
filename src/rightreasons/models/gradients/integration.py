"""Integrated gradients: their settings, the paths and where these begin, and the integral, by a rule or adaptively."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rightreasons.core.validation import check_count, check_one_of
from rightreasons.models.batching import sent, vocabulary_size
from rightreasons.models.classes import Classifier
from rightreasons.models.gradients.inputs import EmbeddingInput
from rightreasons.models.gradients.options import FIRST_PLACES, AttributionOptions
from rightreasons.models.items import Items
from rightreasons.models.running import Column

RULES = ("riemann_right", "gauss_legendre")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


SHORTEST = 2.0**-16

_WORTH_A_PASS = 256
"""Tokens of padding that cost about as much as one more pass."""

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
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Rule:
    """A quadrature rule on [0, 1].

    Attributes:
        nodes: (m,) positions on the path: 0 is the baseline, 1 the input.
        weights: (m,) weight of each node; they sum to 1.
    """

    nodes: NDArray[np.float64]
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.nodes)


def quadrature(name: str, steps: int) -> Rule:
    r"""Return a rule on [0, 1] with `steps` nodes.

    "riemann_right" has the nodes k/m with weights 1/m, k = 1..m, as in Du et al.; its error falls with 1/m.
    "gauss_legendre", captum's default and so that of the Reliability Paradox, is exact for polynomials up to degree
    2m - 1 and has no node at the ends.

    Args:
        name: "riemann_right" or "gauss_legendre".
        steps: Number of nodes, m >= 1.

    Returns:
        The rule.

    References:
        Sundararajan, Taly & Yan (2017), "Axiomatic Attribution for Deep Networks", eq. 3; Du et al. (2021), "Towards
        Interpreting and Mitigating Shortcut Learning Behavior of NLU Models", eq. 2.

    Example:
        >>> quadrature("riemann_right", 4).nodes
        array([0.25, 0.5 , 0.75, 1.  ])
        >>> rule = quadrature("gauss_legendre", 2)  # the integral of x^3 over [0, 1] is 1/4
        >>> round(float(rule.weights @ rule.nodes**3), 12)
        0.25
    """
    check_one_of(name, RULES, "rule")
    check_count(steps, "steps")
    if name == "riemann_right":
        return Rule(np.arange(1, steps + 1) / steps, np.full(steps, 1.0 / steps))
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    return Rule((nodes + 1.0) / 2.0, weights / 2.0)


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
        return sent(np.ascontiguousarray(values), self._end.device)

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


@dataclass(frozen=True, eq=False)
class Baseline:
    """The embedding with which the path of every token begins.

    Attributes:
        name: "zeros", "mean", "pad" or "mask".
        token: The token whose embedding it is; None for the others.
        vector: (d,) the mean of the word embeddings; None for the others.
    """

    name: str
    token: int | None = None
    vector: Tensor | None = None

    @classmethod
    def of(cls, classifier: Classifier, embedding_input: EmbeddingInput, options: AttributionOptions) -> Baseline:
        """Choose the baseline that the options name.

        "auto" is "zeros", unless zero is singular for the model: then it is "mean".

        Raises:
            ValueError: If the tokenizer lacks the token.
        """
        name = options.baseline
        if name == "auto":
            able = options.layer == "word_embeddings" and options.reduce != "dot"
            name = "mean" if able and zero_is_singular(classifier, embedding_input) else "zeros"
        if name == "zeros":
            return cls(name)
        if name == "mean":
            return cls(name, vector=_mean(classifier, embedding_input))
        token: int | None = getattr(classifier.tokenizer, f"{name}_token_id")
        if token is None:
            raise ValueError(
                f"Expected the tokenizer of {classifier.name} to have a {name} token for baseline={name!r}, "
                "but it has none."
            )
        return cls(name, token)

    def embeddings(self, embedding_input: EmbeddingInput, inputs: dict[str, Tensor], kept: Tensor) -> Tensor | None:
        """Return the embeddings at which the paths of a batch begin, in the shape of its embeddings; None for zeros.

        Args:
            embedding_input: The model.
            inputs: Its inputs.
            kept: Places whose tokens stay, in the shape of the ids.
        """
        if self.token is not None:
            changed = inputs["attention_mask"].bool() & ~kept
            return embedding_input.embed({**inputs, "input_ids": inputs["input_ids"].masked_fill(changed, self.token)})
        if self.vector is None and not kept.any():
            return None
        own = embedding_input.embed(inputs)
        start = torch.zeros_like(own) if self.vector is None else self.vector.to(own.dtype).expand_as(own)
        return torch.where(kept.unsqueeze(-1), own, start)


def zero_is_singular(classifier: Classifier, embedding_input: EmbeddingInput) -> bool:
    """Tell whether a model changes at once where the embeddings of its words leave zero.

    A model that normalizes word embeddings without positions (RMSNorm of Llama, Qwen and Gemma, LayerNorm of DeBERTa-v3
    and ModernBERT) sees their direction alone, however small they are: at zero its gradient is a multiple of
    1 / sqrt(eps) for each layer, and almost all of the change from zero to the text happens next to zero, where no
    quadrature finds it. A few fixed texts are asked, one at a time.
    """
    count = len(_TEXTS)
    choices = None if classifier.label_names is not None else [["it is so", "it is not"]] * count
    items = Items.of(classifier, _TEXTS, choices=choices)

    def compute(inputs: dict[str, Tensor], batch: NDArray[np.int64]) -> dict[str, Column]:
        path = Path(embedding_input, inputs, baseline=None, target="logit", max_tokens=1)
        zero, near, end = path.logits(np.repeat(np.arange(1), 3), np.array([0.0, NEAR, 1.0]))
        whole = float(np.linalg.norm(end - zero))
        return {"share": np.array([float(np.linalg.norm(near - zero)) / whole if whole > 0 else 0.0])}

    shares = items.run("baseline", compute, batch_size=1, progress=False).array("share")
    return bool(np.median(shares) > SINGULAR)


def _mean(classifier: Classifier, embedding_input: EmbeddingInput) -> Tensor:
    """Return the mean word embedding of the tokens that the tokenizer knows."""
    rows = min(len(classifier.tokenizer), vocabulary_size(classifier.model) or 0)
    total = torch.zeros((), dtype=torch.float64, device=classifier.device)
    for start in range(0, rows, _BLOCK):
        block = torch.arange(start, min(start + _BLOCK, rows), device=classifier.device)
        total = total + embedding_input.look_up(block).double().sum(dim=0)
    return total / rows


@dataclass(frozen=True, eq=False)
class Integral:
    """Path integrals of b items.

    Attributes:
        gradients: (b, …, L, d) the gradients of the target, averaged over the path.
        labels: (b,) the explained class or choice.
        logits: (b, K) the model's logits of the items.
        value: (b,) the target at the input.
        baseline_value: (b,) the target at the baseline.
        gap: (b,) the integral of the gradients in the path's direction minus `value - baseline_value`: 0 where the
            integral is exact.
        nodes: (b,) number of gradients taken.
    """

    gradients: Tensor
    labels: Ints
    logits: Floats
    value: Floats
    baseline_value: Floats
    gap: Floats
    nodes: Ints


def integrate(path: Path, labels: Ints | None, options: AttributionOptions) -> Integral:
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
        The integrals.
    """
    items = np.arange(len(path))
    rule = None if options.method == "adaptive" else quadrature(options.method, options.steps)
    if rule is None or rule.nodes[-1] == 1.0:
        # The pass that predicts the class is that of the node at the input.
        weight = np.full(len(items), 1.0 if rule is None else rule.weights[-1])
        gradients, value, logits = path.gradients(items, np.ones(len(items)), weight, items, labels)
    else:
        logits = path.logits(items, np.ones(len(items)))
    explained = logits.argmax(axis=1).astype(np.int64) if labels is None else labels
    baseline_value = path.score(path.logits(items, np.zeros(len(items))), explained)
    if rule is None:
        at_input = _Nodes(items, np.ones(len(items)), value, _slopes(gradients, path.difference), [gradients])
        return _adaptive(path, at_input, explained, logits, baseline_value, options)
    value = path.score(logits, explained)
    n_other = len(rule) - (rule.nodes[-1] == 1.0)
    if n_other:
        rows = np.repeat(items, n_other)
        places, weights = (np.tile(each[:n_other], len(items)) for each in (rule.nodes, rule.weights))
        others, *_ = path.gradients(rows, places, weights, rows, explained[rows])
        gradients = others if n_other == len(rule) else others.add_(gradients)
    gap = _slopes(gradients, path.difference) - (value - baseline_value)
    return Integral(
        gradients, explained, logits, value, baseline_value, gap, np.full(len(items), options.steps, np.int64)
    )


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
    path: Path, nodes: _Nodes, labels: Ints, logits: Floats, baseline_value: Floats, options: AttributionOptions
) -> Integral:
    """Integrate as accurately as each item needs; `nodes` has the one at the input of each."""
    items = np.arange(len(path))
    inner = FIRST_PLACES[:-1]
    first = nodes.add(path, labels, np.repeat(items, len(inner)), np.tile(inner, len(items)))
    grid = np.column_stack((first.reshape(len(items), len(inner)), items))
    value = nodes.value[items]
    allowed = np.full(len(items), options.tolerance)
    if options.max_gap is not None:
        allowed = np.minimum(allowed, options.max_gap * np.abs(value - baseline_value))
    # Each row is an interval of an item, by the positions of its three nodes.
    intervals = np.concatenate((grid[:, :3], grid[:, 2:]))
    at_baseline = np.arange(len(intervals)) < len(items)
    taken = np.full(len(items), len(FIRST_PLACES), dtype=np.int64)
    while True:
        item = nodes.item[intervals[:, 0]]
        gap = np.abs(_gaps(nodes, intervals, at_baseline, baseline_value))
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
        new = nodes.add(path, labels, np.tile(owner, 2), np.concatenate((left, (places[middle] + places[end]) / 2)))
        left, right = new[: len(owner)], new[len(owner) :]
        halves = (
            np.where(
                first_of_path[:, None], np.stack((left, start, middle), axis=1), np.stack((start, left, middle), axis=1)
            ),
            np.stack((middle, right, end), axis=1),
        )
        intervals = np.concatenate((intervals[~wanted], *halves))
        at_baseline = np.concatenate((at_baseline[~wanted], first_of_path, np.zeros(len(owner), dtype=np.bool_)))
        taken += 2 * np.bincount(owner, minlength=len(items))

    weights = np.zeros(len(nodes.item))
    np.add.at(weights, intervals, _weights(nodes, intervals, at_baseline))
    gradients = torch.cat(nodes.gradients)
    weight = torch.as_tensor(weights, dtype=gradients.dtype, device=gradients.device)
    integral = torch.zeros((len(items), *gradients.shape[1:]), dtype=gradients.dtype, device=gradients.device)
    integral.index_add_(
        0,
        torch.from_numpy(nodes.item).to(gradients.device),
        gradients * weight.view((-1,) + (1,) * (gradients.dim() - 1)),
    )
    gap = _slopes(integral, path.difference) - (value - baseline_value)
    return Integral(integral, labels, logits, value, baseline_value, gap, taken)


def _weights(nodes: _Nodes, intervals: Ints, at_baseline: NDArray[np.bool_]) -> Floats:
    """Return the weights of the three nodes of every interval.

    Simpson's rule has its nodes at the start, the middle and the end. The interval that begins at the baseline has none
    there, but at a quarter of its length; the weights are those that integrate quadratic functions exactly.
    """
    start = np.where(at_baseline, 0.0, nodes.place[intervals[:, 0]])
    shares = np.where(at_baseline[:, None], (4 / 9, 3 / 9, 2 / 9), (1 / 6, 4 / 6, 1 / 6))
    return np.asarray((nodes.place[intervals[:, 2]] - start)[:, None] * shares)


def _gaps(nodes: _Nodes, intervals: Ints, at_baseline: NDArray[np.bool_], baseline_value: Floats) -> Floats:
    """Return the gap of every interval: the rule on the slopes, minus the exact change of the target."""
    estimate = (_weights(nodes, intervals, at_baseline) * nodes.slope[intervals]).sum(axis=1)
    item, start, _, end = nodes.item[intervals[:, 0]], *intervals.T
    before = np.where(at_baseline, baseline_value[item], nodes.value[start])
    return np.asarray(estimate - (nodes.value[end] - before))


def _slopes(gradients: Tensor, difference: Tensor) -> Floats:
    """Return the gradients in the direction of their paths, (r,)."""
    rows = (gradients * difference).flatten(1).double().sum(dim=1)
    return np.asarray(rows.cpu().numpy())
