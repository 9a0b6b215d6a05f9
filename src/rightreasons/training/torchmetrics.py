"""The figures of `compute_metrics` as a metric of torchmetrics, for loops such as Lightning's."""

from __future__ import annotations

from typing import Any

import torch
from torchmetrics import Metric
from torchmetrics.utilities import dim_zero_cat

from rightreasons.training.metrics import compute_metrics

__all__ = ["Figures"]


class Figures(Metric):  # type: ignore[misc]
    """The figures of `rightreasons.training.compute_metrics` over all batches and processes.

    All logits are stored until `compute`, because most figures are not means over items.

    Args:
        *names: Names of figures, such as "ece", "brier" or "auroc".
        **options: Options of these figures, such as n_bins=10.

    Raises:
        ValueError: If a name or an option is unknown, or there is no name.

    Example:
        >>> figures = Figures("accuracy", "ece")
        >>> figures.update(torch.tensor([[0.0, 100.0]]), torch.tensor([1]))
        >>> figures.update(torch.tensor([[100.0, 0.0]]), torch.tensor([1]))
        >>> figures.compute()
        {'accuracy': tensor(0.5000), 'ece': tensor(0.5000)}
    """

    logits: list[torch.Tensor]
    labels: list[torch.Tensor]
    full_state_update = False
    is_differentiable = False

    def __init__(self, *names: str, **options: Any) -> None:
        super().__init__()
        self._compute_figures = compute_metrics(*names, **options)
        # "cat" joins the lists of all processes before `compute`.
        self.add_state("logits", default=[], dist_reduce_fx="cat")
        self.add_state("labels", default=[], dist_reduce_fx="cat")

    def update(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        """Store the logits and labels of a batch until `compute`.

        Args:
            logits: (B, K) logits.
            labels: (B,) labels; items with the label -100 are ignored.

        Raises:
            ValueError: If other batches have another number of classes or choices.
        """
        n_columns = logits.shape[-1]
        if len(self.logits):
            n_columns = self.logits[0].shape[-1]
        if logits.shape[-1] != n_columns:
            raise ValueError(
                f"Expected logits of {n_columns} columns, as in the previous batches, but got "
                f"{logits.shape[-1]} columns. If an item has fewer choices, fill its row with a logit far "
                "below all other logits."
            )
        # Convert bfloat16, a type that numpy does not have.
        self.logits.append(logits.detach().float())
        self.labels.append(labels)

    def compute(self) -> dict[str, torch.Tensor]:
        """Return name -> figure, as a tensor without dimensions; NaN if it is undefined."""
        logits = dim_zero_cat(self.logits).cpu().numpy()
        labels = dim_zero_cat(self.labels).cpu().numpy()
        figures = {}
        for name, value in self._compute_figures((logits, labels)).items():
            # Loops log tensors, in which an undefined figure is NaN.
            if value is None:
                value = float("nan")
            figures[name] = torch.tensor(value)
        return figures
