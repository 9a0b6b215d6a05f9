"""How integrated gradients are asked, and what they answer: nothing here needs torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.arrays import Ragged
from rightreasons.core.choices import (
    BASELINES,
    EXPLAINED_LABELS,
    INTEGRATION_METHODS,
    LAYERS,
    REDUCTIONS,
    TARGETS,
    UNITS,
)
from rightreasons.core.options import Options, option
from rightreasons.core.validation import check_count

MAX_TOKENS = 2048
"""Tokens per pass; more is no faster on two cores, but may be on a GPU."""

STEPS = 50
"""Du et al. (2021) and captum take 50 nodes."""

FIRST_PLACES = (0.125, 0.25, 0.5, 0.75, 1.0)
"""Nodes that the adaptive rule begins with: none at the baseline, where the gradient of a normalization may explode."""

TOLERANCE = 0.02

MAX_GAP = 0.05
"""Sundararajan et al. (2017, section 5) take enough nodes for the attributions to add up to the score within 5 %."""


class AttributionOptions(Options):
    """The settings of `integrated_gradients` that change its result."""

    target: str = option("probability", "Score that is explained.", choices=TARGETS)
    label: str = option("predicted", "Label whose score is explained.", choices=EXPLAINED_LABELS)
    layer: str = option("word_embeddings", "Embeddings that follow the path.", choices=LAYERS)
    baseline: str = option(
        "auto", "Embedding at which the path of every token begins.", choices=BASELINES
    )
    keep_special: bool = option(False, "The baseline keeps the special tokens of the text.")
    token_type: int | None = option(
        None, "Type id of every token, where a model has types.", minimum=0
    )
    method: str = option("adaptive", "Integration rule.", choices=INTEGRATION_METHODS)
    steps: int = option(STEPS, "Gradients per item; the maximum with the adaptive rule.")
    tolerance: float = option(
        TOLERANCE, "Completeness gap that the adaptive rule allows.", minimum=0.0
    )
    max_gap: float | None = option(
        MAX_GAP,
        "Completeness gap, as a share of the change of the score, up to which the attributions of an item are valid.",
        minimum=0.0,
    )
    reduce: str = option(
        "l2", "How the dimensions of a token become one number.", choices=REDUCTIONS
    )
    normalize: bool = option(False, "The numbers of an item are divided by their 2-norm.")
    unit: str = option("wordpiece", "What is scored.", choices=UNITS)
    rank_special: bool = option(False, "Special tokens are scored too.")

    def _check(self) -> None:
        check_count(
            self.steps, "steps", minimum=len(FIRST_PLACES) if self.method == "adaptive" else 1
        )
        if self.baseline == "mean" and self.layer != "word_embeddings":
            raise ValueError(
                "Expected layer='word_embeddings' with baseline='mean', the mean of the table of words, but got "
                f"{self.layer!r}."
            )
        if self.rank_special and self.unit == "word":
            raise ValueError(
                "Expected unit='wordpiece' with rank_special=True, as special tokens are no words, but got 'word'."
            )

    def of_pieces(self) -> dict[str, Any]:
        """Return what decides the scores of the pieces; the rest applies afterwards."""
        return self.model_dump(exclude={"unit", "rank_special"})

    def describe(self, baseline: str) -> str:
        """Describe what is computed, from the baseline that was taken."""
        layer = {"word_embeddings": "word embeddings", "embeddings": "output of the embeddings"}[
            self.layer
        ]
        start = {"zeros": "zero embeddings", "mean": "the mean word embedding of the vocabulary"}
        kept = " between the special tokens" if self.keep_special else ""
        at_most = f"gap at most {self.tolerance:g}, at most " if self.method == "adaptive" else ""
        norm = ", divided by the 2-norm of the item" if self.normalize else ""
        types = "" if self.token_type is None else f" Every token has the type {self.token_type}."
        units = (
            "word piece"
            if self.unit == "wordpiece"
            else "word, the largest in magnitude of its pieces"
        )
        return (
            f"Integrated gradients of the {self.target} of the {self.label} label over the {layer}, from "
            f"{start.get(baseline, 'the embedding of the pad token')}{kept} ({self.method.replace('_', ' ')}, {at_most}"
            f"{self.steps} nodes), reduced to one number per token by {self.reduce}{norm}.{types} One number per "
            f"{units}, {'special tokens included' if self.rank_special else 'without special tokens'}."
        )


@dataclass(frozen=True, eq=False)
class Attributions:
    """What each prediction rests on, token by token, in the order of the items.

    The tokens of all items are in flat arrays, one item after another; those of item i are
    `scores.offsets[i]:scores.offsets[i + 1]`. Padding is left out, and so are special tokens, unless they are ranked
    too (`rank_special`): then their `starts` and `ends` are 0.

    Attributes:
        ids: N item ids.
        tokens: N tuples of tokens: word pieces as the tokenizer writes them, or lower-case words.
        scores: N rows of attributions, one per token.
        starts: (total,) first character of each token in its text.
        ends: (total,) one past its last character.
        parts: (total,) 0 for a token of the text, 1 for one of the second text.
        explained: (N,) the class whose score is explained.
        logits: (N, K) float64.
        labels: (N,) gold labels, -1 where there is none; None when the data has no labels.
        value: (N,) the explained score of the input.
        baseline_value: (N,) the explained score of the baseline.
        gap: (N,) completeness gap: the sum of the attributions of all tokens (with reduce="sum", special tokens
            included) minus `value - baseline_value`; 0 is exact.
        nodes: (N,) number of gradients taken.
        truncated: (N,) whether a text of the item was cut.
        label_names: K names of the classes.
        baseline: The baseline that was taken: "zeros", "mean" or "pad".
        valid: (N,) whether the gap is at most `max_gap` of the change of the score, `value - baseline_value`; all of
            them where `max_gap` is None. The numbers of the others should not be read.
        definition: What the scores are, in words.
        failures: Id of an item that the model could not read -> the reason; it is not among the N.
    """

    ids: tuple[str, ...]
    tokens: tuple[tuple[str, ...], ...]
    scores: Ragged
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    parts: NDArray[np.int64]
    explained: NDArray[np.int64]
    logits: NDArray[np.float64]
    labels: NDArray[np.int64] | None
    value: NDArray[np.float64]
    baseline_value: NDArray[np.float64]
    gap: NDArray[np.float64]
    nodes: NDArray[np.int64]
    truncated: NDArray[np.bool_]
    label_names: tuple[str, ...] | None
    baseline: str
    valid: NDArray[np.bool_]
    definition: str
    failures: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_truncated(self) -> int:
        """How many items were longer than the model takes and were cut."""
        return int(self.truncated.sum())

    def take(self, rows: NDArray[np.int64]) -> Attributions:
        """Return some items, in the order of `rows`."""
        tokens = np.concatenate(
            [np.arange(*self.scores.offsets[row : row + 2]) for row in rows.tolist()]
        )
        by_item = ("explained", "value", "baseline_value", "gap", "nodes", "truncated", "valid")
        return dataclasses.replace(
            self,
            ids=tuple(self.ids[row] for row in rows.tolist()),
            tokens=tuple(self.tokens[row] for row in rows.tolist()),
            scores=self.scores.take(rows),
            logits=self.logits[rows],
            labels=None if self.labels is None else self.labels[rows],
            **{name: getattr(self, name)[tokens] for name in ("starts", "ends", "parts")},
            **{name: getattr(self, name)[rows] for name in by_item},
        )
