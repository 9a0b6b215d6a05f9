"""How intervals and tests resample: one declaration and one set of defaults for the whole package.

`Resampling` holds the confidence level, the number of resamples, and the seed. `item_rng` is for
random choices about a single item, which must not depend on the other items.
"""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any

import numpy as np

from rightreasons.core.public_api import warn_of_new_name
from rightreasons.core.validation import MAX_DRAWS, check_count, check_fraction, check_seed

MAX_NUMBERS_PER_BLOCK = 4_000_000
"""Largest number of drawn numbers that are held in memory at a time."""


def item_rng(seed: int, item_id: object) -> np.random.Generator:
    """Return a random generator that depends only on a seed and the id of an item.

    So the random choices about an item do not depend on the other items.

    Args:
        seed: Seed, a whole number from 0.
        item_id: Id of the item; its text counts.

    Example:
        >>> int(item_rng(0, "a").integers(1000)) == int(item_rng(0, "a").integers(1000))
        True
    """
    # `hash` of a text differs from process to process; a digest does not.
    digest = hashlib.blake2b(str(item_id).encode(), digest_size=8).digest()
    id_number = int.from_bytes(digest, "little")
    return np.random.default_rng([check_seed(seed), id_number])


@dataclasses.dataclass(frozen=True)
class Resampling:
    """Confidence level, number of resamples, and seed of a bootstrap or a randomization test.

    Attributes:
        level: Confidence level of intervals, strictly between 0 and 1.
        resamples: Number of resamples, at least 1.
        seed: Seed of the draws, a whole number from 0.

    Raises:
        TypeError: If a value has the wrong type.
        ValueError: If a value is out of range.

    Example:
        >>> Resampling(level=0.9).resamples
        1000
        >>> Resampling(level=2)
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected `confidence_level` to be strictly between 0 and 1, but got 2.0.
    """

    level: float = 0.95
    resamples: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        level = check_fraction(self.level, "confidence_level", open_ends=True)
        check_count(self.resamples, "n_resamples", maximum=MAX_DRAWS)
        check_seed(self.seed)
        # A level that came as another kind of number becomes a float; the class is frozen.
        object.__setattr__(self, "level", level)

    @classmethod
    def from_options(
        cls,
        confidence_level: float | None,
        n_resamples: int = 1000,
        seed: int = 0,
    ) -> Resampling | None:
        """Return the resampling for the options of a function or a command.

        Args:
            confidence_level: Confidence level. If None, no interval is requested.
            n_resamples: Number of resamples. Checked even if no interval is requested.
            seed: Seed. Checked even if no interval is requested.

        Returns:
            The resampling, or None if no interval is requested.
        """
        if confidence_level is None:
            # Any valid level will do to check the other two options.
            cls(0.5, n_resamples, seed)
            return None
        return cls(confidence_level, n_resamples, seed)

    def split_into_blocks(self, width: int, max_numbers: int = MAX_NUMBERS_PER_BLOCK) -> list[int]:
        """Divide the resamples into blocks that fit into memory.

        Args:
            width: How many numbers each resample consists of.
            max_numbers: Largest number of numbers in a block, unless one resample has more.

        Returns:
            Number of resamples in each block.

        Example:
            >>> Resampling(resamples=10).split_into_blocks(1000, max_numbers=4000)
            [4, 4, 2]
        """
        block_size = max(1, max_numbers // max(width, 1))
        n_full_blocks, remainder = divmod(self.resamples, block_size)
        blocks = [block_size] * n_full_blocks
        if remainder:
            blocks.append(remainder)
        return blocks

    def limit_resamples(self, resamples: int) -> Resampling:
        """Return a copy with a limited number of resamples, for figures that are slow to compute."""
        return dataclasses.replace(self, resamples=min(self.resamples, resamples))

    def correct_for_tests(self, n_tests: int) -> Resampling:
        """Return a copy with the level of each of several tests, by Bonferroni's correction.

        Example:
            >>> round(Resampling(level=0.95).correct_for_tests(5).level, 4)
            0.99
        """
        error = 1 - self.level
        return dataclasses.replace(self, level=1 - error / max(n_tests, 1))

    # The names of the methods before 0.2, for one release.

    @classmethod
    def of(cls, *options: Any) -> Resampling | None:
        """Call `from_options`, by its earlier name."""
        warn_of_new_name("Resampling.of", "Resampling.from_options")
        return cls.from_options(*options)

    def parts(self, width: int, at_once: int = MAX_NUMBERS_PER_BLOCK) -> list[int]:
        """Call `split_into_blocks`, by its earlier name."""
        warn_of_new_name("Resampling.parts", "Resampling.split_into_blocks")
        return self.split_into_blocks(width, at_once)

    def at_most(self, resamples: int) -> Resampling:
        """Call `limit_resamples`, by its earlier name."""
        warn_of_new_name("Resampling.at_most", "Resampling.limit_resamples")
        return self.limit_resamples(resamples)

    def of_family(self, n_tests: int) -> Resampling:
        """Call `correct_for_tests`, by its earlier name."""
        warn_of_new_name("Resampling.of_family", "Resampling.correct_for_tests")
        return self.correct_for_tests(n_tests)
