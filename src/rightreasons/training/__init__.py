"""Trainer hooks, callbacks and fine-tuning: where data, models and analysis meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightreasons.training.metrics import compute_metrics as compute_metrics

__all__ = ["compute_metrics"]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in __all__:
        raise AttributeError(f"module 'rightreasons.training' has no attribute {name!r}")
    from rightreasons.training.metrics import compute_metrics

    return compute_metrics
