"""torchmetrics: its calibration errors on the kinds of input that its tests use."""

import itertools
from collections.abc import Iterator

import numpy as np
import torch
from scenario import Case, softmax_rows
from torchmetrics.classification import MulticlassCalibrationError
from torchmetrics.functional.classification import (
    binary_calibration_error,
    multiclass_calibration_error,
)

from rightreasons.calibration.errors import calibration_error

NORMS, BINS = ("l1", "l2", "max"), (1, 10, 15, 99)


def cases() -> Iterator[Case]:
    for seed, norm, n_bins in itertools.product(range(10), NORMS, BINS):
        rows, labels = softmax_rows(320, 2, seed)
        ours = calibration_error(rows[:, 1], labels, kind="positive", norm=norm, n_bins=n_bins).ece
        peer = binary_calibration_error(
            torch.tensor(rows[:, 1]), torch.tensor(labels), n_bins=n_bins, norm=norm
        )
        yield Case("binary", f"{seed} {norm} {n_bins}", ours, float(peer))
    for seed, norm, n_bins, n_classes in itertools.product(range(10), NORMS, BINS, (3, 5)):
        rows, labels = softmax_rows(320, n_classes, seed)
        ours = calibration_error(rows, labels, norm=norm, n_bins=n_bins).ece
        peer = multiclass_calibration_error(
            torch.tensor(rows),
            torch.tensor(labels),
            num_classes=n_classes,
            n_bins=n_bins,
            norm=norm,
        )
        yield Case("multiclass", f"{seed} {norm} {n_bins} {n_classes}", ours, float(peer))
    for seed, norm, n_bins in itertools.product(range(10), NORMS, BINS):
        rows, labels = softmax_rows(320, 5, seed)
        logits = np.log(rows) + 3 * np.random.default_rng(seed).normal(size=(320, 1))
        ours = calibration_error(logits, labels, scores="logits", norm=norm, n_bins=n_bins).ece
        peer = multiclass_calibration_error(
            torch.tensor(logits), torch.tensor(labels), num_classes=5, n_bins=n_bins, norm=norm
        )
        yield Case("multiclass, logits", f"{seed} {norm} {n_bins}", ours, float(peer))
    for seed, norm in itertools.product(range(10), NORMS):
        rows, labels = softmax_rows(320, 5, seed)
        metric = MulticlassCalibrationError(num_classes=5, n_bins=15, norm=norm)
        for batch in range(10):
            part = slice(32 * batch, 32 * batch + 32)
            metric.update(torch.tensor(rows[part]), torch.tensor(labels[part]))
        ours = calibration_error(rows, labels, norm=norm).ece
        yield Case("theirs batch by batch", f"{seed} {norm}", ours, float(metric.compute()))
    for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        rows, labels = softmax_rows(320, 5, 7)
        tensor = torch.tensor(rows).to(kind)
        peer = multiclass_calibration_error(tensor.double(), torch.tensor(labels), num_classes=5)
        yield Case(
            "types of tensors", str(kind), calibration_error(tensor, labels).ece, float(peer)
        )
