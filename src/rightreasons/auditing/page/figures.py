"""The figures of accuracy and confidence as headlines, for the section on calibration and the comparison of reports."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from rightreasons.auditing.page.parts import Headline
from rightreasons.measuring.calibration import FIGURES, Figure
from rightreasons.measuring.estimates import Estimate


def figure_text(key: str, n_bins: int) -> Figure:
    """Return the text of a figure that is computed in a number of bins."""
    figure = FIGURES[key]
    return dataclasses.replace(figure, definition=figure.definition.format(n_bins=n_bins))


def headlines(figures: Mapping[str, Estimate], *, split: str, n: int, n_bins: int) -> dict[str, Headline]:
    """Join estimates with the texts of their figures."""
    return {
        key: Headline.of(key, figure_text(key, n_bins), estimate, split=split, n=n) for key, estimate in figures.items()
    }
