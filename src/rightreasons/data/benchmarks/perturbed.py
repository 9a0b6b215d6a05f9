"""The four commonsense benchmarks under the confusion probes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import datasets

from rightreasons.data.benchmarks.commonsense import Anli, HellaSwag, Piqa, SocialIqa
from rightreasons.data.builders.builder import Builder, Config
from rightreasons.data.perturbing.probes import DOUBLE, FEATURES, PROBES, Perturber, Pool, Row
from rightreasons.foundations.validation import check_count, check_seed


@dataclasses.dataclass
class ProbeConfig(Config):
    """A probe, with its seed and the number of added choices."""

    seed: int = 0
    k: int | str = DOUBLE


class PerturbedBuilder(Builder):
    """A data set with the four probes as configurations; items with equal choices are left out."""

    BUILDER_CONFIG_CLASS = ProbeConfig
    BUILDER_CONFIGS: ClassVar[list[Config]] = [ProbeConfig(name=probe) for probe in PROBES]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        # The hub has the unperturbed items, for every probe.
        super().__init_subclass__(**kwargs)
        if cls.HUB is not None:
            files = cls.HUB.files["default"]
            cls.HUB = dataclasses.replace(cls.HUB, files=dict.fromkeys(PROBES, files))

    def features(self) -> datasets.Features:
        return FEATURES

    def check_options(self) -> None:
        check_seed(self.config.seed)
        if self.config.k != DOUBLE:
            check_count(self.config.k, "k")

    def _raw_examples(self, split: str, files: Mapping[str, str]) -> Iterator[Row]:
        rows = list(super()._raw_examples(split, files))
        perturber = Perturber(
            self.config.name, k=self.config.k, pool=Pool(rows), seed=self.config.seed, duplicates="drop"
        )
        for row in rows:
            yield from perturber.rows(row["id"], row["prompt"], row["choices"], row["label"])


class PerturbedAnli(PerturbedBuilder, Anli):
    """aNLI under the four probes."""

    NAME = "perturbed_anli"
    DESCRIPTION = f"{Anli.DESCRIPTION} Under the four confusion probes."


class PerturbedHellaSwag(PerturbedBuilder, HellaSwag):
    """HellaSwag under the four probes."""

    NAME = "perturbed_hellaswag"
    DESCRIPTION = f"{HellaSwag.DESCRIPTION} Under the four confusion probes."


class PerturbedPiqa(PerturbedBuilder, Piqa):
    """PIQA under the four probes; its test split, which has no labels, can only lose or change its question."""

    NAME = "perturbed_piqa"
    DESCRIPTION = f"{Piqa.DESCRIPTION} Under the four confusion probes."

    def splits(self) -> Mapping[str, Sequence[str]]:
        splits = super().splits()
        if self.config.name in ("no_right_answer", "extra_choices"):
            return {"validation": splits["validation"]}
        return splits


class PerturbedSocialIqa(PerturbedBuilder, SocialIqa):
    """SocialIQA under the four probes."""

    NAME = "perturbed_socialiqa"
    DESCRIPTION = f"{SocialIqa.DESCRIPTION} Under the four confusion probes."
