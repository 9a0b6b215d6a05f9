"""netcal: ECE, MCE and ACE in bins of equal width and of equal mass."""

import itertools
from collections.abc import Iterator

import numpy as np
from netcal.metrics import ACE, ECE, MCE
from scenario import Case, softmax_rows

from rightreasons.calibration.errors import calibration_error

CUTS = (
    "netcal splits the sorted scores by count, and rightreasons at quantiles, keeping ties together"
)


def cases() -> Iterator[Case]:
    for n_classes, seed, n_bins in itertools.product((2, 4), range(30), (5, 10, 15)):
        rows, labels = softmax_rows(300, n_classes, seed)
        confidence, right = rows.max(axis=1), (rows.argmax(axis=1) == labels).astype(int)
        ours = calibration_error(rows, labels, n_bins=n_bins)
        gaps = [abs(row.accuracy - row.confidence) for row in ours.bins if row.count]
        peer = [measure(n_bins).measure(confidence, right) for measure in (ECE, MCE, ACE)]
        yield Case(
            "ECE, MCE and ACE, equal width",
            f"{n_classes} {seed} {n_bins}",
            [ours.ece, ours.mce, np.mean(gaps)],
            peer,
        )
    for n_items, scenario, reason in (
        (300, "ECE, equal mass, items divisible by bins", ""),
        (307, "ECE, equal mass, not divisible", CUTS),
    ):
        for seed, n_bins in itertools.product(range(30), (5, 10, 15)):
            rows, labels = softmax_rows(n_items, 4, seed)
            confidence, right = rows.max(axis=1), (rows.argmax(axis=1) == labels).astype(int)
            ours = calibration_error(rows, labels, n_bins=n_bins, strategy="quantile").ece
            peer = ECE(n_bins, equal_intervals=False).measure(confidence, right)
            yield Case(scenario, f"{seed} {n_bins}", ours, peer, reason=reason)
