"""Random generators that depend on a seed and an item, and on nothing else."""

from __future__ import annotations

import hashlib

import numpy as np

from rightreasons.foundations.validation import check_seed


def item_rng(seed: int, item_id: object) -> np.random.Generator:
    """Return the random generator of one item: it depends on (seed, item id) and on nothing else.

    Example:
        >>> int(item_rng(0, "a").integers(1000)) == int(item_rng(0, "a").integers(1000))
        True
    """
    digest = hashlib.blake2b(str(item_id).encode(), digest_size=8).digest()
    return np.random.default_rng([check_seed(seed), int.from_bytes(digest, "little")])
