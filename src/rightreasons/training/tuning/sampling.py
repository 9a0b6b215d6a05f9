"""The order of the examples in training."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

_MEGABATCHES = 50


class LengthGroupedSampler(torch.utils.data.Sampler[int]):
    """Shuffled batches of examples of similar length, in an order that depends only on (seed, epoch).

    The sampler of transformers draws from the global random state, so a run that resumes within an epoch sees another
    order than the killed run: some examples twice and some never. This one repeats its order.

    Each epoch shuffles the examples, sorts every 50 batches of them by length, and shuffles these batches. The batch
    with the longest example comes first, so that a batch too large for memory fails at once.

    Args:
        lengths: (N,) tokens of each example.
        batch_size: Examples per batch, over all processes.
        seed: Seed of the order.
    """

    def __init__(self, lengths: NDArray[np.int64], batch_size: int, seed: int) -> None:
        self.lengths = lengths
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the next epoch, at the start of each and when a run resumes."""
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
            # An incomplete batch stays at the end of its stretch, and so of the epoch: only the last can be incomplete.
            full = len(cut) - (len(cut[-1]) < self.batch_size)
            batches.extend(cut[i] for i in [*rng.permutation(full), *range(full, len(cut))])
        longest = max(
            (i for i, batch in enumerate(batches) if len(batch) == self.batch_size),
            key=lambda i: int(self.lengths[batches[i]].max()),
            default=0,
        )
        batches[0], batches[longest] = batches[longest], batches[0]
        return iter(np.concatenate(batches).tolist())
