"""The figures of accuracy and confidence as headlines, for the section on calibration and the comparison of reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from rightreasons.auditing.page.parts import Headline
from rightreasons.measuring.calibration import FIGURES, Figure
from rightreasons.measuring.estimates import Estimate


def figure_text(key: str, n_bins: int, kind: str = "top_label") -> Figure:
    """Return the text of a figure that is computed in a number of bins, of class scores or of given answers."""
    figure = FIGURES[key]
    definition = figure.of_answers if kind == "confidence" and figure.of_answers else figure.definition
    return dataclasses.replace(figure, definition=definition.format(n_bins=n_bins))


def headlines(
    figures: Mapping[str, Estimate], *, split: str, n: int, n_bins: int, kind: str = "top_label"
) -> dict[str, Headline]:
    """Join estimates with the texts of their figures."""
    return {
        key: Headline.of(key, figure_text(key, n_bins, kind), estimate, split=split, n=n)
        for key, estimate in figures.items()
    }
