"""Which calibration error is meant: the options of every binned error, declared once."""

from __future__ import annotations

import dataclasses

from rightreasons.foundations.options import Options, option
from rightreasons.foundations.validation import MOST_BINS, SCORE_KINDS, check_bool, check_count, check_fraction

TABLE_KINDS = ("top_label", "positive", "classwise")
"""Kinds that need class scores and labels."""

KINDS = (*TABLE_KINDS, "confidence")
STRATEGIES = ("uniform", "quantile")
NORMS = ("l1", "l2", "max")


@dataclasses.dataclass(frozen=True)
class CalibrationErrorOptions(Options):
    """The options of `calibration_error`, checked."""

    n_bins: int = option(15, "Number of bins.", minimum=1)
    strategy: str = option("uniform", "Bins of equal width (uniform) or of equal mass (quantile).", choices=STRATEGIES)
    kind: str = option("top_label", "What is compared: top_label, positive, classwise or confidence.", choices=KINDS)
    norm: str = option("l1", "How gaps are summed: l1, l2 or max.", choices=NORMS)
    scores: str = option("probabilities", "What the predictions are.", choices=SCORE_KINDS)
    debias: bool = option(False, "Remove the noise of the accuracies from l1 or l2.")
    threshold: float = option(0.0, "Compare only scores above it, unless it is 0.")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool(self.debias, "debias")
        check_count(self.n_bins, "n_bins", maximum=MOST_BINS)
        object.__setattr__(self, "threshold", check_fraction(self.threshold, "threshold"))
        if self.debias and self.norm == "max":
            raise ValueError("Expected norm='l1' or norm='l2' with debias=True, but got norm='max'.")

    def words(self) -> str:
        """Say in words what is computed."""
        what = {
            "top_label": "Top-label ECE",
            "positive": "ECE of P(class 1)",
            "classwise": "Classwise ECE",
            "confidence": "ECE of the given confidences",
        }[self.kind]
        rate, mean = {
            "top_label": ("accuracy", "mean confidence"),
            "positive": ("frequency of class 1", "mean P(class 1)"),
            "classwise": ("frequency of the class", "its mean probability"),
            "confidence": ("accuracy", "mean confidence"),
        }[self.kind]
        gap = f"|{rate} - {mean}|"
        over = "items" if self.kind != "classwise" else "items and the classes"
        how = {
            "l1": f"mean over the {over} of {gap} of their bin",
            "l2": f"root mean square over the {over} of {gap} of their bin",
            "max": f"largest {gap} of a bin",
        }[self.norm]
        bins = "1 bin" if self.n_bins == 1 else f"{self.n_bins} bins"
        width = "width" if self.strategy == "uniform" else "mass"
        tail = f"; {bins} of equal {width}" + (" a class" if self.kind == "classwise" else "")
        if self.threshold > 0:
            tail += f"; scores above {self.threshold:g} only"
        if self.debias:
            tail += "; debiased (Kumar et al. 2019)"
        return f"{what}: {how}{tail}."
