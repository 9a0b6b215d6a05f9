"""relplot: the smooth calibration error, and both beside its definition summed by brute force."""

import itertools
from collections.abc import Iterator

import numpy as np
import relplot
from scenario import Case

from rightreasons.calibration.smooth import _compute_smooth_error, _transform_residuals, smooth_ece

BOUNDARY = "relplot's reflection does not double the mass at exactly 0 and 1; rightreasons agrees with brute force"


def brute_force(
    scores: np.ndarray, events: np.ndarray, sigma: float, n_points: int = 4001
) -> float:
    r"""Sum \(\int |\frac1n \sum_i \tilde K(t, f_i)(y_i - f_i)| dt\) with the kernel reflected at 0 and 1."""
    centers = (np.arange(n_points) + 0.5) / n_points
    total = np.zeros(n_points)
    for image in range(-4, 5):
        for sign in (1, -1):
            distance = centers[:, None] - (2 * image + sign * scores)[None, :]
            total += (np.exp(-0.5 * (distance / sigma) ** 2) * (events - scores)).sum(axis=1)
    return float(np.abs(total).mean() / (sigma * np.sqrt(2 * np.pi) * len(scores)))


def data(seed: int, *, at_the_ends: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    scores = rng.beta(2, 2, size=120)
    if at_the_ends:
        scores[:20], scores[20:40] = 0.0, 1.0
    return scores, (rng.random(120) < scores**2).astype(float)


def cases() -> Iterator[Case]:
    for seed, sigma in itertools.product(range(10), (0.02, 0.05, 0.1)):
        scores, events = data(seed, at_the_ends=False)
        ours = _compute_smooth_error(sigma, _transform_residuals(scores, events))
        yield Case(
            "brute force, fixed bandwidth",
            f"{seed} {sigma}",
            ours,
            brute_force(scores, events, sigma),
            2e-5,
        )
        peer = relplot.smECE_sigma(scores, events, sigma)
        yield Case("fixed bandwidth, inside (0, 1)", f"{seed} {sigma}", ours, peer, 0.002)
    for seed, sigma in itertools.product(range(10), (0.02, 0.05, 0.1)):
        scores, events = data(seed, at_the_ends=True)
        ours = _compute_smooth_error(sigma, _transform_residuals(scores, events))
        yield Case(
            "brute force, scores of 0 and 1",
            f"{seed} {sigma}",
            ours,
            brute_force(scores, events, sigma),
            2e-5,
        )
        peer = relplot.smECE_sigma(scores, events, sigma)
        yield Case(
            "fixed bandwidth, scores of 0 and 1", f"{seed} {sigma}", ours, peer, 0.002, BOUNDARY
        )
    for seed in range(20):
        scores, events = data(seed, at_the_ends=False)
        ours = smooth_ece(scores, events.astype(int), kind="confidence").smooth_ece
        yield Case("automatic bandwidth", str(seed), ours, relplot.smECE(scores, events), 0.002)
