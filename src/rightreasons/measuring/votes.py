"""Does its confidence match the votes of people: every figure of the comparison with its interval."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.calibration.human import HumanCalibration, HumanGaps, check_votes, human_gaps, human_of
from rightreasons.foundations.resampling import Resampling
from rightreasons.measuring.estimates import Estimate, FigureText, estimate_of

Floats = NDArray[np.float64]

SOURCE = "Baan et al. 2022"

VOTE_FIGURES: Mapping[str, FigureText] = {
    "dist_ce": FigureText(
        "DistCE",
        "Mean over the items of the total variation distance of the probabilities from the shares of the votes.",
        SOURCE,
        better="lower",
    ),
    "ent_ce": FigureText(
        "EntCE",
        "Mean over the items of |entropy of the probabilities − entropy of the shares of the votes|.",
        SOURCE,
        unit="nats",
        better="lower",
    ),
    "entropy_gap": FigureText(
        "Entropy gap",
        "Mean over the items of the entropy of the probabilities minus that of the shares: below 0 it is surer than "
        "people are.",
        SOURCE,
        unit="nats",
    ),
    "rank_cs": FigureText(
        "RankCS",
        "Share of items whose classes the probabilities and the votes rank alike; ties are broken at random.",
        SOURCE,
        better="higher",
    ),
}
"""The figures against the votes of people, by their names in `HumanCalibration`."""


@dataclasses.dataclass(frozen=True, eq=False)
class VotesMeasurement:
    """How far the probabilities of a model are from the votes of people.

    Attributes:
        figures: The figures of `VOTE_FIGURES` with their intervals.
        result: The same and more, as the kernel gives it.
        gaps: The comparison item by item.
        shares: (K,) share of all votes that each class has; of distributions, their mean.
        majority: Share of labeled items whose label has the most votes, equal ones included; None without labels.
    """

    figures: Mapping[str, Estimate]
    result: HumanCalibration
    gaps: HumanGaps
    shares: Floats
    majority: float | None


def measure_votes(
    probabilities: Any,
    votes: Any,
    labels: NDArray[np.int64],
    *,
    kind: str = "counts",
    resampling: Resampling = Resampling(),
) -> VotesMeasurement:
    """Measure how far probabilities are from the votes of people.

    Args:
        probabilities: (N, K).
        votes: (N, K), in the order of the classes.
        labels: (N,) labels, -1 for none.
        kind: "counts" or "distributions".
        resampling: Level, resamples and seed of the intervals.

    Example:
        >>> measured = measure_votes([[0.7, 0.3], [0.5, 0.5]], [[8, 2], [1, 4]], np.array([0, 0]))
        >>> round(measured.figures["dist_ce"].value, 6), measured.majority
        (0.2, 0.5)
    """
    gaps = human_gaps(probabilities, votes, votes=kind)
    result = human_of(gaps, resampling)
    table = check_votes(votes, kind)
    intervals = {
        "dist_ce": result.interval,
        "ent_ce": result.ent_ce_interval,
        "entropy_gap": result.entropy_gap_interval,
        "rank_cs": result.rank_cs_interval,
    }
    rows = np.flatnonzero(labels >= 0)
    most = table[rows, labels[rows]] == table[rows].max(axis=1)
    return VotesMeasurement(
        figures={key: estimate_of(getattr(result, key), interval) for key, interval in intervals.items()},
        result=result,
        gaps=gaps,
        shares=np.asarray(table.sum(axis=0) / table.sum()),
        majority=float(most.mean()) if len(rows) else None,
    )
