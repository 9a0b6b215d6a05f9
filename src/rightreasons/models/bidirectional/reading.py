"""What encoder-decoders and masked language models have in common, which no causal language model has."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rightreasons.models.causal import CausalLM
from rightreasons.models.protocol import Ability
from rightreasons.models.trial import EQUAL_LENGTHS, ONE_BY_ONE, Answers

if TYPE_CHECKING:
    from rightreasons.models.likelihoods import Asked


@dataclass(frozen=True, eq=False)
class Bidirectional(CausalLM):
    """A language model that reads a prompt from both sides; the attributes are those of `CausalLM`."""

    WAYS: ClassVar[Sequence[str]] = (EQUAL_LENGTHS, ONE_BY_ONE)

    @property
    def abilities(self) -> frozenset[Ability]:
        """Likelihoods of choices, and items shared by processes."""
        return frozenset(("likelihoods", "processes"))

    def answers(self, items: Sequence[Asked], way: str, name: str | None = None) -> Answers:
        """Answer the items of a trial in a way: a number for each of their choices."""
        if way != ONE_BY_ONE:
            return [*np.concatenate(self.score(items, way)())[:, None]]
        alone = [dataclasses.replace(asked, choices=[choice]) for asked in items for choice in asked.choices]
        return [self.score([asked], way)()[0] for asked in alone]
