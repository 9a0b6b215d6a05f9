"""Speed of the calibration error beside its peers, in one process: `python benchmarks/calibration.py`.

Every time is the best of several runs that take turns, so that a busy moment of the machine hits all alike. Ratios are
what counts; the exit status is 1 when one misses its target.
"""

import argparse
import sys
import time
from collections.abc import Callable

import datasets
import evaluate
import numpy as np
import torch
from netcal.metrics import ECE
from torchmetrics.functional.classification import multiclass_calibration_error

import rightreasons
from rightreasons.calibration.errors import calibration_error
from rightreasons.core.resampling import Resampling

N_BINS = 15


class ArrowEce(evaluate.Metric):
    """The same kernel behind evaluate's usual path: every row is written to and read from an Arrow table."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description="Calibration error through Arrow.",
            citation="",
            inputs_description="",
            features=datasets.Features(
                {
                    "predictions": datasets.List(datasets.Value("float64")),
                    "references": datasets.Value("int64"),
                }
            ),
        )

    def _compute(self, predictions: list, references: list) -> dict:
        return calibration_error(predictions, references, n_bins=N_BINS).to_dict()


def predictions(n_items: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    rows = np.exp(rng.normal(size=(n_items, n_classes)) * 2)
    rows /= rows.sum(axis=1, keepdims=True)
    labels = np.where(
        rng.random(n_items) < 0.7, rows.argmax(axis=1), rng.integers(0, n_classes, n_items)
    )
    return rows, labels


def best_times(calls: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the shortest time of each call in seconds, after one run that warms it up."""
    for call in calls.values():
        call()
    times = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name] = min(times[name], time.process_time() - start)
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    rows, labels = predictions(options.items, options.classes)
    single = rows.astype(np.float32)
    tensors = torch.tensor(rows), torch.tensor(single), torch.tensor(labels)
    confidence, correct = rows.max(axis=1), (rows.argmax(axis=1) == labels).astype(int)
    metric = rightreasons.load("ece", n_bins=N_BINS)
    netcal = ECE(N_BINS)

    def peer(scores: torch.Tensor) -> torch.Tensor:
        return multiclass_calibration_error(
            scores, tensors[2], num_classes=options.classes, n_bins=N_BINS
        )

    times = best_times(
        {
            "one pass over the scores (np.sum)": rows.sum,
            "kernel": lambda: calibration_error(rows, labels, n_bins=N_BINS),
            "kernel, float32": lambda: calibration_error(single, labels, n_bins=N_BINS),
            "kernel, quantile bins": lambda: calibration_error(
                rows, labels, n_bins=N_BINS, strategy="quantile"
            ),
            "kernel, classwise": lambda: calibration_error(
                rows, labels, n_bins=N_BINS, kind="classwise"
            ),
            "kernel with 1,000 resamples": lambda: calibration_error(
                rows, labels, n_bins=N_BINS, resampling=Resampling()
            ),
            "metric.compute": lambda: metric.compute(predictions=rows, references=labels),
            "torchmetrics": lambda: peer(tensors[0]),
            "torchmetrics, float32": lambda: peer(tensors[1]),
        },
        options.repeats,
    )
    # The slow ones once or twice: their times dwarf the noise.
    times |= best_times(
        {
            "kernel, classwise, 1,000 resamples": lambda: calibration_error(
                rows, labels, n_bins=N_BINS, kind="classwise", resampling=Resampling()
            ),
            "netcal": lambda: netcal.measure(rows, labels),
            "netcal, handed confidence and correctness": lambda: netcal.measure(
                confidence, correct
            ),
        },
        2,
    )
    start = time.process_time()
    through_arrow = ArrowEce(keep_in_memory=True).compute(predictions=rows, references=labels)[
        "ece"
    ]
    times["evaluate Metric through Arrow"] = time.process_time() - start
    assert abs(through_arrow - calibration_error(rows, labels, n_bins=N_BINS).ece) < 1e-12
    assert abs(float(peer(tensors[0])) - through_arrow) < 1e-6

    kernel, computed = times["kernel"], times["metric.compute"]
    print(
        f"{options.items:,} items, {options.classes} classes, {N_BINS} bins, best of {options.repeats}\n"
    )
    print("| what | ms | of the kernel |\n|---|---:|---:|")
    for name, seconds in times.items():
        print(f"| {name} | {1000 * seconds:,.1f} | {seconds / kernel:.2f} |")
    targets = [
        ("torchmetrics / kernel", times["torchmetrics"] / kernel, ">=", 1.0),
        (
            "torchmetrics / kernel, float32",
            times["torchmetrics, float32"] / times["kernel, float32"],
            ">=",
            1.0,
        ),
        ("netcal / kernel", times["netcal"] / kernel, ">=", 5.0),
        ("metric.compute / kernel", computed / kernel, "<=", 1.5),
        (
            "evaluate Metric through Arrow / metric.compute",
            times["evaluate Metric through Arrow"] / computed,
            ">=",
            50.0,
        ),
        (
            "kernel with 1,000 resamples / kernel",
            times["kernel with 1,000 resamples"] / kernel,
            "<=",
            20.0,
        ),
    ]
    print("\n| ratio | measured | target | met |\n|---|---:|---:|---|")
    missed = 0
    for name, ratio, sign, target in targets:
        met = ratio >= target if sign == ">=" else ratio <= target
        missed += not met
        print(f"| {name} | {ratio:.2f} | {sign} {target:g} | {'yes' if met else 'NO'} |")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
