"""What can be set about asking a model how sure it is: light, so that a command line lists it at once."""

from __future__ import annotations

import dataclasses

from rightreasons.foundations.options import Options, option

SOURCES = ("probability", "p_true", "verbalized", "samples", "meaning")


@dataclasses.dataclass(frozen=True)
class ElicitOptions(Options):
    """How sure is a language model of its answers?"""

    sources: tuple[str, ...] = option(
        ("probability", "p_true", "verbalized"),
        "Comma-separated: probability (of the answer), p_true (that it calls its answer true), verbalized (what it "
        "says), samples (how often it gives the answer again), meaning (how often it gives one that means the same).",
        choices=SOURCES,
    )
    n_samples: int = option(10, "Drawn answers per item, for samples and meaning.", minimum=1)
    temperature: float = option(1.0, "Temperature of drawn answers.")
    max_new_tokens: int = option(32, "Maximum tokens of a drawn answer, or of a verbalized confidence.", minimum=1)
    seed: int = option(0, "Seed of drawn answers.", minimum=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sources:
            raise ValueError(f"Expected at least one of {', '.join(SOURCES)} in `sources`, but there is none.")
        if not 0 < self.temperature <= 10:
            raise ValueError(f"Expected `temperature` above 0 and at most 10, but got {self.temperature:g}.")
