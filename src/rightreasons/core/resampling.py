"""How intervals and tests resample: one declaration and one set of defaults for the whole package."""

from __future__ import annotations

import dataclasses
import hashlib

import numpy as np

from rightreasons.core.validation import MAX_DRAWS, check_count, check_fraction, check_seed


def item_rng(seed: int, item_id: object) -> np.random.Generator:
    """Return the random generator of one item: it depends on (seed, item id) and on nothing else.

    Example:
        >>> int(item_rng(0, "a").integers(1000)) == int(item_rng(0, "a").integers(1000))
        True
    """
    digest = hashlib.blake2b(str(item_id).encode(), digest_size=8).digest()
    return np.random.default_rng([check_seed(seed), int.from_bytes(digest, "little")])


@dataclasses.dataclass(frozen=True)
class Resampling:
    """The level, the number of resamples and the seed of a bootstrap or a randomization test.

    Attributes:
        level: Confidence level of intervals, in (0, 1).
        resamples: Number of resamples, at least 1.
        seed: Seed of the draws, a whole number from 0.

    Raises:
        TypeError: If a value is of the wrong kind.
        ValueError: If a value is out of its range.

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
        object.__setattr__(
            self, "level", check_fraction(self.level, "confidence_level", open_ends=True)
        )
        check_count(self.resamples, "n_resamples", maximum=MAX_DRAWS)
        check_seed(self.seed)

    @classmethod
    def of(
        cls, confidence_level: float | None, n_resamples: int = 1000, seed: int = 0
    ) -> Resampling | None:
        """Return the resampling that flat options ask for; None where `confidence_level` is None: no interval.

        The other two options are checked even where no interval is asked for.
        """
        resampling = cls(0.5 if confidence_level is None else confidence_level, n_resamples, seed)
        return None if confidence_level is None else resampling

    def parts(self, width: int, at_once: int = 4_000_000) -> list[int]:
        """Divide the resamples into parts whose rows of a width fit into memory together.

        Example:
            >>> Resampling(resamples=10).parts(1000, at_once=4000)
            [4, 4, 2]
        """
        step = max(1, at_once // max(width, 1))
        return [min(step, self.resamples - start) for start in range(0, self.resamples, step)]

    def at_most(self, resamples: int) -> Resampling:
        """Return the same with no more resamples than a number, for figures that are slow to compute."""
        return dataclasses.replace(self, resamples=min(self.resamples, resamples))

    def of_family(self, n_tests: int) -> Resampling:
        """Return the same with the level at which each of several tests is made (Bonferroni).

        Example:
            >>> round(Resampling(level=0.95).of_family(5).level, 4)
            0.99
        """
        return dataclasses.replace(self, level=1 - (1 - self.level) / max(n_tests, 1))
