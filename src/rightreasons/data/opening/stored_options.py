"""Which columns of a file of predictions are meant, where their names leave it open: declared once."""

from __future__ import annotations

import dataclasses

from rightreasons.foundations.options import Options, option


@dataclasses.dataclass(frozen=True)
class PredictionOptions(Options):
    """The columns of a file of predictions; None where their names say it."""

    score_columns: str | None = option(
        None, "Comma-separated columns of the scores, one per class in their order, or one column that holds lists."
    )
    confidence_column: str | None = option(None, "Column of the confidence in the given answer, instead of scores.")
    correct_column: str | None = option(None, "Column that says whether the given answer was right: 1 or 0.")
    scores: str | None = option(
        None,
        "What the scores are: probabilities, logits or log_probabilities; by default what their names say, or else "
        "probabilities.",
        choices=("probabilities", "logits", "log_probabilities"),
    )
    log_filter: str | None = option(
        None,
        "Filter of a samples file of lm-evaluation-harness, or scorer of a log of inspect_ai, where there are several.",
    )
