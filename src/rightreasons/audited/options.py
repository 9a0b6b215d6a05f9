"""What can be set about an audit as a whole; those of a single question are in its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rightreasons.core.choices import TASKS
from rightreasons.core.options import option
from rightreasons.io.options import ItemOptions, ScoreOptions

if TYPE_CHECKING:
    from rightreasons.core.resampling import Resampling


RESAMPLED = ("n_resamples", "confidence_level", "seed")
"""Options of an audit about its intervals."""


class AuditOptions(ItemOptions):
    """What is audited, and how."""

    split: str | None = option(
        None,
        "Comma-separated splits to audit, the headlines being about the first; by default the first of test, "
        "validation and dev that has labels, with its variants.",
    )
    train: str | None = option(
        None,
        "File or data set of the training texts, where they are no split of the data; shortcuts are found in them.",
    )
    limit: int | None = option(None, "Maximum number of items per split, chosen by seed and id.", minimum=1)
    task: str | None = option(
        None,
        "classification or multiple_choice; by default what the model is built for, or the data of a causal model.",
        choices=TASKS,
    )
    label_names: str | None = option(
        None,
        "Comma-separated names of the labels in the order of their numbers, or new names of labels, such as "
        "false=NEGATIVE,true=POSITIVE; by default those of the data.",
    )
    groups_column: str | None = option(
        None,
        "Column that names the contrast set or pair that an item belongs to; by default pair_id or source_id where "
        "there is one.",
    )
    revision: str | None = option(None, "Revision of the model on the hub.")
    device: str | None = option(
        None, "Device of the model, such as cpu or cuda:0, or auto for all GPUs; by default a GPU if there is one."
    )
    dtype: str | None = option(None, "Type of the weights, such as bfloat16; by default that of the checkpoint.")
    target: str | None = option(
        None,
        "Label of a multi-label classifier, which is asked whether a text has it; several, comma-separated, or all: "
        "an audit of each.",
    )
    batch_size: int | None = option(None, "Items per batch; by default 32, on a GPU up to 256.", minimum=1)
    n_resamples: int = option(1000, "Resamples of each bootstrap.", minimum=1)
    confidence_level: float = option(0.95, "Confidence level of the intervals.")
    seed: int = option(0, "Seed of every random choice.", minimum=0)
    plan: bool = option(
        False,
        "Say what each question would send to a language model, in requests, tokens and price, and send none of it.",
    )
    fail_fast: bool = option(
        False, "Stop at the first item that the model cannot score; by default such items are left out and named."
    )

    def _check(self) -> None:
        from rightreasons.core.validation import check_fraction

        super()._check()
        check_fraction(self.confidence_level, "confidence_level", open_ends=True)

    @property
    def resampling(self) -> Resampling:
        """How intervals and tests are resampled."""
        from rightreasons.core.resampling import Resampling

        return Resampling(self.confidence_level, self.n_resamples, self.seed)


class StoredOptions(ScoreOptions):
    """Stored predictions to audit instead of a model."""

    predictions: str | None = option(
        None,
        "File of predictions to audit instead of a model: csv, tsv, jsonl, json, npz, parquet, or a log of a harness.",
    )
    fit_temperature_on: str | None = option(
        None, "Another file of predictions, with the same columns, on which a temperature is fitted."
    )
