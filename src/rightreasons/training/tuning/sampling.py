"""The order in which training goes through its examples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

_MEGABATCHES = 50


class LengthGroupedSampler(torch.utils.data.Sampler[int]):
    """Shuffled examples whose batches hold examples of like length, in an order told by (seed, epoch) alone.

    The sampler of transformers draws from the global random state, so that a run that resumes within an epoch sees
    another order than the run that was killed: some examples twice and some not at all. This one repeats its order.

    Each epoch shuffles the examples, sorts stretches of 50 batches by length, and shuffles the batches of a stretch.
    The batch with the longest example comes first, so that one that does not fit in memory says so at once.

    Args:
        lengths: (N,) tokens of each example.
        batch_size: Examples of a batch, over all processes.
        seed: Seed of the order.
    """

    def __init__(self, lengths: NDArray[np.int64], batch_size: int, seed: int) -> None:
        self.lengths = lengths
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes next; Trainer does, at the start of each and when it resumes."""
        self.epoch = int(epoch)

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng([self.seed, self.epoch])
        order = rng.permutation(len(self.lengths))
        stretch = _MEGABATCHES * self.batch_size
        batches: list[NDArray[np.int64]] = []
        for start in range(0, len(order), stretch):
            part = order[start : start + stretch]
            part = part[np.argsort(-self.lengths[part], kind="stable")]
            cut = [part[i : i + self.batch_size] for i in range(0, len(part), self.batch_size)]
            # A batch that is not full stays at the end of its stretch, and so of the epoch: only the last can be one.
            full = len(cut) - (len(cut[-1]) < self.batch_size)
            batches.extend(cut[i] for i in [*rng.permutation(full), *range(full, len(cut))])
        longest = max(
            (i for i, batch in enumerate(batches) if len(batch) == self.batch_size),
            key=lambda i: int(self.lengths[batches[i]].max()),
            default=0,
        )
        batches[0], batches[longest] = batches[longest], batches[0]
        return iter(np.concatenate(batches).tolist())
