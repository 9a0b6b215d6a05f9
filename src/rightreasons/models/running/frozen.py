"""A frozen model: code that only reads a model leaves it unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def frozen(model: torch.nn.Module, *, device: str | torch.device | None = None) -> Iterator[torch.nn.Module]:
    """Put a model in evaluation mode with frozen parameters, and restore it afterwards.

    Gradients with respect to inputs still flow; parameters collect none. On exit, also after an error, every
    submodule's training mode, every parameter's `requires_grad` and the device are restored.

    Args:
        model: The model.
        device: Device to run it on; None leaves it on its own. A model on several devices is not moved.

    Yields:
        The same model.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Dropout()).train()
        >>> with frozen(model):
        ...     model.training, model[0].weight.requires_grad
        (False, False)
        >>> model.training, model[0].weight.requires_grad
        (True, True)
    """
    training = [(module, module.training) for module in model.modules()]
    trainable = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    devices = {tensor.device for tensor in (*model.parameters(), *model.buffers())}
    home = next(iter(devices)) if len(devices) == 1 else None
    try:
        if device is not None and home is not None:
            model.to(device)
        model.eval()
        model.requires_grad_(False)
        yield model
    finally:
        for module, mode in training:
            module.training = mode
        for parameter, flag in trainable:
            parameter.requires_grad_(flag)
        if device is not None and home is not None:
            model.to(home)
