"""How often the interval of the calibration error holds the true error, by simulation.

    python benchmarks/interval_coverage.py [--repeats 300]

A model of two classes is right with chance p - over, for confidences p of two shapes: the gap of every bin is `over`,
and so is the true error by any norm.
"""

import argparse

import numpy as np

from rightreasons.calibration.errors import calibration_error
from rightreasons.core.resampling import Resampling

NORMS = ("l1", "l2")
SHAPES = {"spread over [0.5, 1]": (1.5, 1.5), "mostly near 1": (4.0, 0.7)}


def coverage(shape: str, over: float, n_items: int, repeats: int) -> dict[str, float]:
    covered = dict.fromkeys(NORMS, 0)
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, n_items, 11])
        p = 0.5 + 0.5 * rng.beta(*SHAPES[shape], n_items)
        labels = (rng.random(n_items) >= p - over).astype(int)  # class 0 is predicted
        rows = np.column_stack((p, 1 - p))
        for norm in NORMS:
            found = calibration_error(
                rows, labels, norm=norm, resampling=Resampling(seed=repeat)
            ).interval
            covered[norm] += found.low <= over <= found.high
    return {norm: count / repeats for norm, count in covered.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=300)
    repeats = parser.parse_args().repeats
    print("| confidences | true error | items | l1 | l2 |\n|---|---:|---:|---:|---:|")
    for shape in SHAPES:
        for over in (0.0, 0.02, 0.05, 0.1):
            for n_items in (200, 1000):
                found = coverage(shape, over, n_items, repeats)
                cells = " | ".join(f"{found[norm]:.2f}" for norm in NORMS)
                print(f"| {shape} | {over:g} | {n_items:,} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
