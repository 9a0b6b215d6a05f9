"""Principal components of vectors, for looking at them in the plane."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from rightreasons.core import validation
from rightreasons.core.results import Result


@dataclasses.dataclass(frozen=True, eq=False)
class Projection(Result):
    """Vectors in the plane of their largest variance.

    Attributes:
        points: (N, n) coordinates.
        explained: (n,) share of the variance that each axis holds, in [0, 1], falling.
        axes: (n, d) the axes, of length 1; the largest entry of each is positive.
        center: (d,) what was subtracted.
    """

    points: NDArray[np.float64]
    explained: NDArray[np.float64]
    axes: NDArray[np.float64]
    center: NDArray[np.float64]

    def apply(self, vectors: NDArray[np.float64], *, normalize: bool = True) -> NDArray[np.float64]:
        """Put other vectors into the same plane; (M, d) to (M, n)."""
        rows = unit_rows(vectors) if normalize else vectors
        return np.asarray((rows - self.center) @ self.axes.T, dtype=np.float64)


def principal_components(vectors: object, *, n: int = 2, normalize: bool = True) -> Projection:
    r"""Project vectors onto their first principal components, by a singular value decomposition.

    Args:
        vectors: (N, d) with N >= 2.
        n: How many components, at most min(N, d).
        normalize: Whether each vector is first divided by its length, so that directions (cosines) are compared and all
            points lie near the unit disc; a vector of length 0 stays 0.

    Returns:
        `Projection`: points, the share of the variance that each axis explains, axes and center.

    Raises:
        ValueError: If there are fewer than two vectors, a number is not finite, or all vectors are the same.

    References:
        Pearson (1901), On Lines and Planes of Closest Fit to Systems of Points in Space.

    Example:
        >>> found = principal_components([[3.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]], n=1, normalize=False)
        >>> found.axes.round(6).tolist(), round(float(found.explained[0]), 4)
        ([[1.0, 0.0]], 0.8644)
    """
    rows = np.array(vectors, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < 2:
        raise ValueError(
            f"Expected `vectors` of shape (N, d) with N of at least 2, but got shape {rows.shape}."
        )
    if not np.isfinite(rows).all():
        row = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise ValueError(f"Expected finite numbers in `vectors`, but row {row} holds others.")
    validation.check_count(n, "n")
    if n > min(rows.shape):
        raise ValueError(
            f"Expected `n` to be at most {min(rows.shape)} for {rows.shape} vectors, but got {n}."
        )
    if normalize:
        rows = unit_rows(rows)
    center = rows.mean(axis=0)
    _, values, axes = np.linalg.svd(rows - center, full_matrices=False)
    total = float((values**2).sum())
    if total <= 1e-24 * len(rows):
        raise ValueError("Expected vectors that differ, but all of `vectors` are the same.")
    # A decomposition leaves the sign of an axis open; this one does not depend on the library.
    signs = np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])
    axes = (axes * signs[:, None])[:n]
    return Projection((rows - center) @ axes.T, values[:n] ** 2 / total, axes, center)


def unit_rows(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide each row by its length; a row of zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)
