"""What can be set about an audit as a whole; options of single questions are in `measuring.options`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rightreasons.data.opening.stored_options import PredictionOptions
from rightreasons.foundations.choices import SCORING_METHODS, TASKS
from rightreasons.foundations.options import Options, listed, one_or_more, option
from rightreasons.measuring.options import QUESTIONS

if TYPE_CHECKING:
    import datasets


@dataclasses.dataclass(frozen=True)
class AuditOptions(Options):
    """What is audited, and how."""

    split: str | None = option(
        None,
        "Comma-separated splits to audit, the headlines being about the first; by default the first of test, "
        "validation and dev that has labels, with its variants.",
    )
    config: str | None = option(None, "Configuration of the dataset.")
    limit: int | None = option(None, "Maximum number of items per split, chosen by seed and id.", minimum=1)
    task: str | None = option(
        None, "classification or multiple_choice; by default what the model is built for.", choices=TASKS
    )
    text_column: str | None = option(None, "Column of the texts.")
    text_pair_column: str | None = option(None, "Column of the second texts.")
    label_column: str | None = option(None, "Column of the labels, or of the right choice.")
    label_names: str | None = option(
        None, "Comma-separated names of the labels in the order of their numbers; by default those of the data."
    )
    first_label: int | None = option(
        None, "Number of the first label, 0 or 1; by default it follows from the labels.", minimum=0, maximum=1
    )
    prompt_column: str | None = option(None, "Comma-separated columns of the prompts of multiple-choice items.")
    choices_column: str | None = option(
        None, "Column that lists the choices, or one column per choice, comma-separated."
    )
    groups_column: str | None = option(
        None,
        "Column that names the contrast set or pair that an item belongs to; by default pair_id or source_id where "
        "there is one.",
    )
    data_dir: str | None = option(None, "Folder of local copies of known datasets.")
    revision: str | None = option(None, "Revision of the model on the hub.")
    method: str | None = option(
        None,
        "How a causal language model scores choices: mean, sum, unconditional, or letters (all choices together).",
        choices=SCORING_METHODS,
    )
    device: str | None = option(None, "Device of the model, such as cpu or cuda:0; by default a GPU if there is one.")
    dtype: str | None = option(None, "Type of the weights, such as bfloat16; by default that of the checkpoint.")
    batch_size: int = option(32, "Items per batch.", minimum=1)
    n_resamples: int = option(1000, "Resamples of each bootstrap.", minimum=1)
    confidence_level: float = option(0.95, "Confidence level of the intervals.")
    seed: int = option(0, "Seed of every random choice.", minimum=0)

    def __post_init__(self) -> None:
        from rightreasons.foundations.validation import check_fraction

        super().__post_init__()
        check_fraction(self.confidence_level, "confidence_level", open_ends=True)


@dataclasses.dataclass(frozen=True)
class StoredOptions(PredictionOptions):
    """Stored predictions to audit instead of a model."""

    predictions: str | None = option(
        None,
        "File of predictions to audit instead of a model: csv, tsv, jsonl, json, npz, parquet, or a log of a harness.",
    )
    fit_temperature_on: str | None = option(
        None, "Another file of predictions, with the same columns, on which a temperature is fitted."
    )


def question_options(asked: Iterable[str], given: Mapping[str, Any] | None) -> dict[str, Options]:
    """Make the options of the questions that are asked; what nobody reads is refused.

    Args:
        asked: Names of questions.
        given: Question -> its options, by name or as an instance of its class.

    Returns:
        Question -> its options, for each question that is asked.

    Raises:
        ValueError: If a question or an option is unknown, or options are given for a question that is not asked.

    Example:
        >>> question_options(["calibration"], {"calibration": {"n_bins": 10}})["calibration"].n_bins
        10
        >>> question_options(["probes"], {"probes": {"k": [1]}})
        Traceback (most recent call last):
        ...
        ValueError: Expected an option of the question 'probes', but got 'k'. Did you mean 'ks'? Known: ks.
    """
    from rightreasons.foundations.validation import unknown_name

    names, settings = list(asked), dict(given or {})
    for question in settings:
        if question not in QUESTIONS:
            raise unknown_name("question", question, QUESTIONS)
        if question not in names:
            raise ValueError(
                f"Expected options of the questions asked ({', '.join(names)}), but got options of {question!r}."
            )
    return {name: QUESTIONS[name].read(settings.get(name), f"the question {name!r}") for name in names}


def open_items(
    dataset: Any, task: str, given: AuditOptions, *, require_labels: bool = True
) -> dict[str, datasets.Dataset]:
    """Open every split of the data in the common schema of a task, by the columns that the settings name.

    Raises:
        ValueError: As `open_splits`, or if a setting is about the other task.
    """
    from rightreasons.data.opening.datasets import open_splits

    source: dict[str, Any] = {
        "config": given.config,
        "task": task,
        "data_dir": given.data_dir,
        "label_column": given.label_column,
        "first_label": given.first_label,
        "require_labels": require_labels,
    }
    if task == "multiple_choice":
        _refuse(given, task, "text_pair_column", "label_names")
        prompts = listed(given.prompt_column) or given.text_column
        return open_splits(dataset, prompt_column=prompts, choices_column=one_or_more(given.choices_column), **source)
    _refuse(given, task, "prompt_column", "choices_column")
    source |= {"text_column": given.text_column, "text_pair_column": given.text_pair_column}
    return open_splits(dataset, label_names=listed(given.label_names), **source)


def _refuse(given: AuditOptions, task: str, *names: str) -> None:
    for name in names:
        if getattr(given, name) is not None:
            raise ValueError(f"Expected no `{name}` for {task}, but got {getattr(given, name)!r}.")
