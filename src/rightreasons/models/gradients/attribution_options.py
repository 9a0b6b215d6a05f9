"""The settings of integrated gradients, which a command line reads without loading a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rightreasons.foundations.choices import (
    BASELINES,
    EXPLAINED_LABELS,
    INTEGRATION_METHODS,
    LAYERS,
    MERGES,
    REDUCTIONS,
    TARGETS,
    UNITS,
)
from rightreasons.foundations.options import Options, option

STEPS = 50
"""Du et al. (2021) and captum take 50 nodes."""

TOLERANCE = 0.02

MAX_GAP = 0.05
"""Sundararajan et al. (2017, section 5) take enough nodes for the attributions to add up to the score within 5 %."""

FIRST_PLACES = (0.125, 0.25, 0.5, 0.75, 1.0)
"""Nodes that the adaptive rule begins with: none at the baseline, where the gradient of a normalization may explode."""


@dataclass(frozen=True)
class AttributionOptions(Options):
    """The settings of `integrated_gradients` that change its result."""

    target: str = option("probability", "Score that is explained.", choices=TARGETS)
    label: str = option("predicted", "Label whose score is explained.", choices=EXPLAINED_LABELS)
    layer: str = option("word_embeddings", "Embeddings that follow the path.", choices=LAYERS)
    baseline: str = option("auto", "Embedding at which the path of every token begins.", choices=BASELINES)
    keep_special: bool = option(False, "The baseline keeps the special tokens of the text.")
    token_type: int | None = option(None, "Type id of every token, where a model has types.", minimum=0)
    method: str = option("adaptive", "Integration rule.", choices=INTEGRATION_METHODS)
    steps: int = option(STEPS, "Gradients per item; the maximum with the adaptive rule.")
    tolerance: float = option(TOLERANCE, "Completeness gap that the adaptive rule allows.")
    max_gap: float | None = option(
        MAX_GAP,
        "Completeness gap, as a share of the change of the score, up to which the attributions of an item are valid.",
    )
    reduce: str = option("l2", "How the dimensions of a token become one number.", choices=REDUCTIONS)
    normalize: bool = option(False, "The numbers of an item are divided by their 2-norm.")
    unit: str = option("wordpiece", "What is scored.", choices=UNITS)
    merge: str = option("absmax", "How the pieces of a word become one number.", choices=MERGES)
    rank_special: bool = option(False, "Special tokens are scored too.")

    def __post_init__(self) -> None:
        from rightreasons.foundations.validation import check_count, check_number

        super().__post_init__()
        check_count(self.steps, "steps", minimum=len(FIRST_PLACES) if self.method == "adaptive" else 1)
        check_number(self.tolerance, "tolerance", minimum=0.0)
        if self.max_gap is not None:
            check_number(self.max_gap, "max_gap", minimum=0.0)
        without = self.baseline in ("auto", "zeros")
        if self.baseline == "mean" and self.layer != "word_embeddings":
            raise ValueError(
                "Expected layer='word_embeddings' with baseline='mean', the mean of the table of words, but got "
                f"{self.layer!r}."
            )
        if self.reduce == "dot" and (not without or self.keep_special):
            beside = repr(self.baseline) if not without else "keep_special=True"
            raise ValueError(
                "Expected baseline='zeros' with reduce='dot', which has no baseline, but got "
                f"{beside}: use reduce='sum'."
            )
        if self.rank_special and self.unit == "word":
            raise ValueError(
                "Expected unit='wordpiece' with rank_special=True, as special tokens are no words, but got 'word'."
            )

    def of_pieces(self) -> dict[str, Any]:
        """Return what decides the scores of the pieces; the rest applies afterwards."""
        return {
            name: getattr(self, name)
            for name in AttributionOptions.names()
            if name not in ("unit", "merge", "rank_special")
        }

    def describe(self, baseline: str) -> str:
        """Describe what is computed, from the baseline that was taken."""
        rule = {
            "adaptive": f"adaptive Simpson's rule, gap at most {self.tolerance:g}, at most {self.steps} nodes",
            "gauss_legendre": f"Gauss-Legendre rule, {self.steps} nodes",
            "riemann_right": f"right Riemann sum, {self.steps} nodes",
        }[self.method]
        layer = {"word_embeddings": "word embeddings", "embeddings": "output of the embeddings"}[self.layer]
        start = {"zeros": "zero embeddings", "mean": "the mean word embedding of the vocabulary"}.get(
            baseline, f"the embedding of the {baseline} token"
        )
        kept = " between the special tokens" if self.keep_special else ""
        reduced = {"l2": "L2 norm", "sum": "sum", "dot": "dot product of embedding and mean gradient"}[self.reduce]
        norm = ", divided by the 2-norm of the item" if self.normalize else ""
        types = "" if self.token_type is None else f" Every token has the type {self.token_type}."
        return (
            f"Integrated gradients of the {self.target} of the {self.label} label over the {layer}, from "
            f"{start}{kept} ({rule}), reduced to one number per token by {reduced}{norm}.{types} {self._units()}"
        )

    def _units(self) -> str:
        special = "special tokens included" if self.rank_special else "without special tokens"
        if self.unit == "wordpiece":
            return f"One number per word piece, {special}."
        how = {"absmax": "the largest in magnitude", "sum": "the sum", "mean": "the mean"}[self.merge]
        return f"One number per word, {how} of its pieces, {special}."
