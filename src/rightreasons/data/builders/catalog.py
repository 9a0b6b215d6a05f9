"""The catalog: every data set by its name, and the function that loads them.

To add a data set, write its builder (see the docstring of `builder.py`) and add one line here.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
from typing import TYPE_CHECKING, Any

from rightreasons.foundations.sentences import checks_kinds
from rightreasons.foundations.validation import check_options, unknown_name

if TYPE_CHECKING:
    import datasets

    from rightreasons.data.builders.builder import Builder

CATALOG: dict[str, str] = {
    "planted_shortcuts": "planted:PlantedShortcuts",
    "sst2": "sst2:SST2",
    "cola": "cola:CoLA",
    "trec": "trec:TREC",
    "ag_news": "ag_news:AGNews",
    "tweeteval_emotion": "tweeteval:TweetEvalEmotion",
    "tweeteval_hate": "tweeteval:TweetEvalHate",
    "tweeteval_irony": "tweeteval:TweetEvalIrony",
    "tweeteval_sentiment": "tweeteval:TweetEvalSentiment",
    "qqp": "qqp:QQP",
    "squad": "squad:SQuAD",
    "imdb_contrast": "imdb:ImdbContrast",
    "imdb_counterfactual": "imdb:ImdbCounterfactual",
    "checklist_sentiment": "checklist:CheckListSentiment",
    "checklist_paraphrase": "checklist:CheckListParaphrase",
    "checklist_reading": "checklist:CheckListReading",
    "anli": "commonsense:Anli",
    "hellaswag": "commonsense:HellaSwag",
    "piqa": "commonsense:Piqa",
    "socialiqa": "commonsense:SocialIqa",
    "perturbed_anli": "perturbed:PerturbedAnli",
    "perturbed_hellaswag": "perturbed:PerturbedHellaSwag",
    "perturbed_piqa": "perturbed:PerturbedPiqa",
    "perturbed_socialiqa": "perturbed:PerturbedSocialIqa",
    "balanced_copa": "copa:BalancedCopa",
    "copa_easy_hard": "copa:CopaEasyHard",
    "bcopa_ce": "copa:BcopaCe",
}
"""Name -> "module:class" in `rightreasons.data.benchmarks`, imported on demand."""

_SOURCE_OPTIONS = ("origin", "repo_id", "other_versions", "cache_dir")


def available_datasets() -> list[str]:
    """Return the names that `load_dataset` accepts, sorted."""
    return sorted(CATALOG)


def builder_class(name: str) -> type[Builder]:
    """Return the builder class of a data set.

    Raises:
        ValueError: If the name is unknown; the message suggests the nearest names.
    """
    if name not in CATALOG:
        raise unknown_name("data set", name, CATALOG)
    module, _, attribute = CATALOG[name].partition(":")
    builder: type[Builder] = getattr(importlib.import_module(f"rightreasons.data.benchmarks.{module}"), attribute)
    return builder


@checks_kinds
def load_builder(
    name: str,
    config: str | None = None,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    revision: str | None = None,
    **options: Any,
) -> Builder:
    """Return the builder of a data set, ready to prepare it; the arguments are those of `load_dataset`."""
    import datasets

    builder = builder_class(name)
    inherited = {field.name for field in dataclasses.fields(datasets.BuilderConfig)}
    own = [f.name for f in dataclasses.fields(builder.BUILDER_CONFIG_CLASS) if f.name not in inherited]
    check_options(options, (*own, *_SOURCE_OPTIONS), f"the data set {name!r}")
    return builder(config_name=config, data_dir=data_dir, revision=revision, **options)


@checks_kinds
def load_dataset(
    name: str,
    config: str | None = None,
    *,
    split: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    streaming: bool = False,
    revision: str | None = None,
    **options: Any,
) -> datasets.Dataset | datasets.DatasetDict | datasets.IterableDataset | datasets.IterableDatasetDict:
    """Load a data set of this package, as `datasets.load_dataset` loads one from the hub.

    Args:
        name: One of `available_datasets()`.
        config: A configuration; None for the first one.
        split: A split, with slices and sums as in datasets ("train[:10%]", "train+test"); None for all of them.
        data_dir: A folder of local copies, with one folder per data set, or the data set's own folder. None for the
            environment variable `RIGHTREASONS_DATA_DIR`, and for the hub where there is no copy.
        streaming: Whether to return an iterable dataset that writes nothing to disk.
        revision: A revision of the hub repository instead of the pinned one, read from the hub even where there is a
            local copy.
        **options: `origin` ("auto", "local", "hub" or "url": the publisher's own files), `repo_id` (another repository,
            or a local mirror of the declared one), `other_versions` (True reads local files that differ from the
            published ones), `cache_dir`, and the options of the data set itself.

    Returns:
        A Dataset, or a DatasetDict when `split` is None; their iterable forms when streaming.

    Raises:
        ValueError: If a name or an option is unknown, or a file is not the published one.
        FileNotFoundError: If a local file is missing.
        ConnectionError: If the data would have to be downloaded and cannot be.

    Example:
        >>> data = load_dataset("planted_shortcuts", "function", split="test_flipped", streaming=True)
        >>> data.features["label"].names
        ['negative', 'positive']
    """
    from datasets.exceptions import DatasetGenerationError

    builder = load_builder(name, config, data_dir=data_dir, revision=revision, **options)
    if streaming:
        return builder.as_streaming_dataset(split=split)
    try:
        builder.download_and_prepare()
    except DatasetGenerationError as error:
        # The user needs the sentence of the builder itself; datasets hides it behind a general one.
        if isinstance(error.__cause__, ValueError):
            raise error.__cause__ from None
        raise
    return builder.as_dataset(split=split)
