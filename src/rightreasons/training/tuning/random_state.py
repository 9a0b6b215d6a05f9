"""The random state of a training: seeded, and restored for the caller."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
import transformers


@contextmanager
def kept_random_state() -> Iterator[None]:
    """Restore the global random states afterwards, whatever is drawn from them meanwhile."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()  # noqa: NPY002
    of_gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        torch.set_rng_state(states[2])
        if of_gpus:
            torch.cuda.set_rng_state_all(of_gpus)


@contextmanager
def own_random_state(seed: int) -> Iterator[None]:
    """Seed the global random states, which transformers draws from, and restore them afterwards."""
    with kept_random_state():
        transformers.set_seed(seed)
        yield
