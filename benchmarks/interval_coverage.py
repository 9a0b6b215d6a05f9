"""How often the interval of the calibration error contains the true error, by simulation.

    python benchmarks/interval_coverage.py [--repeats 300] [--items 200 1000] [--cluster-size 4]

A model of two classes is correct with probability p - over, for confidences p of two shapes: the gap
of every bin is `over`, and so is the true error by any norm. The items of a cluster are correct
together: one uniform number decides all of them.
"""

import argparse

import numpy as np

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.resampling import Resampling

NORMS = ("l1", "l2")
SHAPES = {"spread over [0.5, 1]": (1.5, 1.5), "mostly near 1": (4.0, 0.7)}
TRUE_ERRORS = (0.0, 0.02, 0.05, 0.1)


def measure_coverage(
    shape: str, over: float, n_items: int, cluster_size: int, repeats: int
) -> dict[str, float]:
    """Return the share of samples whose interval contains the true error, by norm."""
    n_covered = dict.fromkeys(NORMS, 0)
    clusters = None
    if cluster_size > 1:
        clusters = np.arange(n_items) // cluster_size
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, n_items, 11])
        p = 0.5 + 0.5 * rng.beta(*SHAPES[shape], n_items)
        uniform = rng.random(n_items)
        if clusters is not None:
            uniform = uniform[clusters]
        # Class 0 is predicted, and label 0 is correct.
        labels = (uniform >= p - over).astype(int)
        rows = np.column_stack((p, 1 - p))
        resampling = Resampling(seed=repeat)
        for norm in NORMS:
            result = calibration_error(
                rows, labels, norm=norm, resampling=resampling, clusters=clusters
            )
            n_covered[norm] += result.interval.low <= over <= result.interval.high
    return {norm: count / repeats for norm, count in n_covered.items()}


def main() -> None:
    """Print the coverage of 95 % intervals as a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--items", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--cluster-size", type=int, default=1)
    options = parser.parse_args()
    print("| confidences | true error | items | l1 | l2 |\n|---|---:|---:|---:|---:|")
    for shape in SHAPES:
        for over in TRUE_ERRORS:
            for n_items in options.items:
                coverage = measure_coverage(
                    shape, over, n_items, options.cluster_size, options.repeats
                )
                cells = " | ".join(f"{coverage[norm]:.2f}" for norm in NORMS)
                print(f"| {shape} | {over:g} | {n_items:,} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
