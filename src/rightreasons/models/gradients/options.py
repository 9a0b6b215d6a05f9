"""Options of integrated gradients and their results; nothing here needs torch."""

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

FIRST_POSITIONS = (0.125, 0.25, 0.5, 0.75, 1.0)
"""Nodes that the adaptive rule begins with.

None is at the baseline, where the gradient of a normalization may explode.
"""

TOLERANCE = 0.02

MAX_GAP = 0.05
"""Share of the change of the score that the gap may have.

Sundararajan et al. (2017, section 5) take enough nodes for the attributions to add up to the score
within 5 %.
"""


_DESCRIBED_BASELINES = {
    "zeros": "zero embeddings",
    "mean": "the mean word embedding of the vocabulary",
}


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
        None, "Type id of every token, if the model has types.", minimum=0
    )
    method: str = option("adaptive", "Integration rule.", choices=INTEGRATION_METHODS)
    steps: int = option(STEPS, "Gradients per item; the maximum with the adaptive rule.")
    tolerance: float = option(
        TOLERANCE, "Completeness gap that the adaptive rule allows.", minimum=0.0
    )
    max_gap: float | None = option(
        MAX_GAP,
        "Completeness gap, as a share of the change of the score, up to which the attributions of "
        "an item are valid.",
        minimum=0.0,
    )
    reduce: str = option(
        "l2", "How the dimensions of a token become one number.", choices=REDUCTIONS
    )
    normalize: bool = option(False, "The numbers of an item are divided by their 2-norm.")
    unit: str = option("wordpiece", "What is scored.", choices=UNITS)
    rank_special: bool = option(False, "Special tokens are scored too.")

    def _check(self) -> None:
        """Check that the options do not contradict each other.

        Raises:
            ValueError: If there are too few nodes, baseline="mean" is not for word embeddings, or
                special tokens are to be ranked among words.
        """
        # The adaptive rule begins with five nodes.
        minimum = len(FIRST_POSITIONS) if self.method == "adaptive" else 1
        check_count(self.steps, "steps", minimum=minimum)
        if self.baseline == "mean" and self.layer != "word_embeddings":
            raise ValueError(
                "Expected layer='word_embeddings' with baseline='mean', the mean of all word "
                f"embeddings, but got {self.layer!r}."
            )
        # Words have positions in the text, which special tokens do not have.
        if self.rank_special and self.unit == "word":
            raise ValueError(
                "Expected unit='wordpiece' with rank_special=True, because special tokens are "
                "not words, but got 'word'."
            )

    def get_piece_options(self) -> dict[str, Any]:
        """Return the options on which the scores of the pieces depend."""
        # Stored results serve every unit.
        return self.model_dump(exclude={"unit", "rank_special"})

    def describe(self, baseline: str) -> str:
        """Describe in a few sentences how attributions are computed, for reports.

        Args:
            baseline: The baseline that was used, "zeros", "mean" or "pad". The option may be
                "auto".
        """
        # "word_embeddings" becomes two words.
        layer = self.layer.replace("_", " ")
        if self.layer == "embeddings":
            layer = "output of the embeddings"
        start = _DESCRIBED_BASELINES.get(baseline, "the embedding of the pad token")
        if self.keep_special:
            start += " between the special tokens"
        rule = f"{self.method.replace('_', ' ')}, {self.steps} nodes"
        if self.method == "adaptive":
            rule = f"adaptive, gap at most {self.tolerance:g}, at most {self.steps} nodes"
        reduction = self.reduce
        if self.normalize:
            reduction += ", divided by the 2-norm of the item"
        types = ""
        if self.token_type is not None:
            types = f" Every token has the type {self.token_type}."
        unit = "word piece"
        if self.unit == "word":
            unit = "word, the largest in magnitude of its pieces"
        # Shortcut rates depend on whether special tokens are ranked.
        special = "special tokens included" if self.rank_special else "without special tokens"
        return (
            f"Integrated gradients of the {self.target} of the {self.label} label over the {layer}, "
            f"from {start} ({rule}), reduced to one number per token by {reduction}.{types} One "
            f"number per {unit}, {special}."
        )


@dataclass(frozen=True, eq=False)
class Attributions:
    """What each prediction rests on, token by token, in the order of the items.

    The tokens of all items are in flat arrays, one item after another; those of item i are
    `scores.offsets[i]:scores.offsets[i + 1]`. Padding is left out, and so are special tokens,
    unless they are ranked too (`rank_special`): then their `starts` and `ends` are 0.

    Attributes:
        ids: N item ids.
        tokens: N tuples of tokens: word pieces as the tokenizer writes them, or lower-case words.
        scores: N rows of attributions, one per token.
        starts: (total,) first character of each token in its text.
        ends: (total,) index after its last character.
        parts: (total,) 0 for a token of the text, 1 for one of the second text.
        explained: (N,) the class whose score is explained.
        logits: (N, K) float64.
        labels: (N,) gold labels, -1 for an item without one. None if the data has no labels.
        value: (N,) the explained score of the input.
        baseline_value: (N,) the explained score of the baseline.
        gap: (N,) completeness gap: the sum of the attributions of all tokens (with reduce="sum",
            special tokens included) minus `value - baseline_value`; 0 is exact.
        nodes: (N,) number of gradients taken.
        truncated: (N,) whether a text of the item was truncated.
        label_names: K names of the classes.
        baseline: The baseline that was used: "zeros", "mean" or "pad".
        valid: (N,) whether the gap is at most `max_gap` of the change of the score, `value -
            baseline_value`; all of them where `max_gap` is None. The numbers of the others should
            not be read.
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
        """Number of items that were truncated, because they were longer than the model allows."""
        return int(self.truncated.sum())

    def take(self, rows: NDArray[np.int64]) -> Attributions:
        """Select the attributions of some items.

        Args:
            rows: (n,) indices of the items, in the order of the result.
        """
        # The tokens of item i are offsets[i]:offsets[i + 1] in arrays with one value per token.
        offsets = self.scores.offsets
        token_ranges = [np.arange(offsets[row], offsets[row + 1]) for row in rows.tolist()]
        token_indices = np.concatenate(token_ranges)
        columns: dict[str, Any] = {}
        for name in ("starts", "ends", "parts"):
            columns[name] = getattr(self, name)[token_indices]
        for name in _COLUMNS_BY_ITEM:
            columns[name] = getattr(self, name)[rows]
        # Data without labels has no such column.
        if self.labels is not None:
            columns["labels"] = self.labels[rows]
        return dataclasses.replace(
            self,
            ids=tuple(self.ids[row] for row in rows.tolist()),
            tokens=tuple(self.tokens[row] for row in rows.tolist()),
            scores=self.scores.take(rows),
            **columns,
        )


# Arrays with one row per item.
_COLUMNS_BY_ITEM = (
    "explained",
    "logits",
    "value",
    "baseline_value",
    "gap",
    "nodes",
    "truncated",
    "valid",
)
