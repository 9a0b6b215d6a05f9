"""Numeric helpers that several floors share."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

_SOFTMAX_ROWS = 8192


_FEW_CLASSES = 32


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take the softmax over the last axis without overflow; (…, K) to (…, K)."""
    if logits.shape[-1] > _FEW_CLASSES:
        shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True), dtype=np.float64)
    rows = logits.reshape(-1, logits.shape[-1])
    result = np.empty(rows.shape)
    for start in range(0, len(rows), _SOFTMAX_ROWS):
        # numpy reduces slowly along a short axis; a loop over the classes, on blocks that fit the cache, is quicker.
        block = np.array(rows[start : start + _SOFTMAX_ROWS].T, dtype=np.float64)
        top = functools.reduce(np.maximum, block)
        block -= top
        np.exp(block, out=block)
        block /= functools.reduce(np.add, block)
        result[start : start + _SOFTMAX_ROWS] = block.T
    return result.reshape(logits.shape)
