"""The commands that measure sources of confidence, judges and cues, and print the figures.

Unlike `audit`, they need no model: each reads one table, and prints what it finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rightreasons.calibration.options import ConfidenceOptions
from rightreasons.cli import hand_over, make_command_lines
from rightreasons.cli.declared import Dataset, declared_command
from rightreasons.cli.show import print_rows, say, show_section, show_table
from rightreasons.core.errors import OptionError
from rightreasons.core.sentences import pluralize
from rightreasons.cues.options import CuesOptions
from rightreasons.io.options import RESAMPLED, AuditOptions, ItemOptions
from rightreasons.probes.options import JudgmentOptions

if TYPE_CHECKING:
    import datasets

    from rightreasons.shortcuts.word_cues import WordCues

COMMANDS = make_command_lines("measure")


@declared_command(
    COMMANDS["confidence"],
    "confidence",
    {"options": ConfidenceOptions, "settings": (AuditOptions, RESAMPLED)},
)
def confidence(
    file: Annotated[
        str,
        typer.Argument(
            help=(
                "Table with a column per source (confidence_NAME), and a column that states "
                "whether the answer was correct."
            ),
            metavar="FILE",
        ),
    ],
    **declared: Any,
) -> None:
    """Compare sources of confidence on the same items: calibration, ranking of answers, and tests."""
    from rightreasons.calibration.confidence_table import read_confidence
    from rightreasons.calibration.measure_sources import measure_confidence
    from rightreasons.calibration.sources import SOURCES

    settings: AuditOptions = declared["settings"]
    table = read_confidence(file, options=declared["options"])
    measured = measure_confidence(table, resampling=settings.resampling)
    answer = SOURCES.answer(measured, settings.confidence_level)
    show_section(f"{file} ({table.used})", answer)
    hand_over(measured)


@declared_command(
    COMMANDS["judges"],
    "judges",
    {"options": JudgmentOptions, "settings": (AuditOptions, RESAMPLED)},
)
def judges(
    file: Annotated[
        Path,
        typer.Argument(
            help=(
                "File of judgments with columns for the item, the judge, the candidates shown "
                "first and second, and the verdict; swapped orders are further rows. With "
                "--human-column, each row is a verdict on one answer."
            ),
            metavar="FILE",
        ),
    ],
    **declared: Any,
) -> None:
    """Measure the biases of judges that compare pairs, or correct the accuracy that a judge reports."""
    from rightreasons.probes.judges import measure_judges
    from rightreasons.probes.judgments import read_judgments
    from rightreasons.probes.question import JUDGES

    settings = declared["settings"]
    # With human labels, the command is about the accuracy of answers, and not about preferences.
    if declared["options"].human_column is not None:
        show_judged_accuracy(file, declared["options"], settings)
        return
    # A row is one judgment. The same pair in both orders shows a preference for a position.
    judgments = read_judgments(file, options=declared["options"])
    measured = measure_judges(judgments, resampling=settings.resampling)
    show_section(str(file), JUDGES.answer(measured, settings.confidence_level))
    hand_over(measured)


def show_judged_accuracy(file: Path, options: JudgmentOptions, settings: AuditOptions) -> None:
    """Print the accuracy that a judge reports, corrected by human labels of some answers.

    Args:
        file: Table of answers with the verdict of the judge on each, and that of a person on some.
        options: Names of its columns.
        settings: Level, number of resamples and seed of the intervals.
    """
    from rightreasons.probes.judged_accuracy import measure_judged_accuracy, read_graded_answers
    from rightreasons.probes.question import JUDGED

    # Answers without a human label are used, too: the judge has graded all answers.
    graded = read_graded_answers(file, options=options)
    measured = measure_judged_accuracy(graded, resampling=settings.resampling)
    show_section(str(file), JUDGED.answer(measured, settings.confidence_level))
    hand_over(measured)


@declared_command(
    COMMANDS["cues"],
    "cues",
    {
        "source": ItemOptions,
        "options": CuesOptions,
        "settings": (AuditOptions, ("limit", "confidence_level", "seed")),
    },
)
def cues(
    dataset: Dataset,
    split: Annotated[
        str | None,
        typer.Option(help="Split to use; by default train, or the first split with labels."),
    ] = None,
    top: Annotated[int, typer.Option(help="Number of cues to print.", min=0)] = 20,
    **declared: Any,
) -> None:
    """Count superficial cues in the choices, or the words of labeled texts that give their label away.

    For choices, it also scores a classifier that sees only the choices.
    """
    from rightreasons.cli.data_group import open_items
    from rightreasons.cues.measure import ChoiceItems, measure_cues
    from rightreasons.cues.question import CUE_TABLE, CUES
    from rightreasons.io.samples import sort_by_id
    from rightreasons.page.formats import level_percent

    source, options, settings = declared["source"], declared["options"], declared["settings"]
    if find_task(dataset, source) == "classification":
        show_word_cues(dataset, split, top, declared)
        return
    # The training split is preferred, because a model may learn its cues.
    data, split_name = open_items(
        dataset, source, split, train_first=True, limit=settings.limit, seed=settings.seed
    )
    # The folds of the classifier follow the order of the items.
    items = ChoiceItems.from_table(sort_by_id(data), options.groups_column)
    figures = measure_cues(items, options=options, resampling=settings.resampling)

    config = f" ({source.config})" if source.config else ""
    typer.secho(f"{dataset}{config}, {split_name}: {pluralize(len(items), 'item')}", bold=True)
    # The templates of the question read the attributes of a measurement of an audit.
    measurement = SimpleNamespace(cues=figures, shown=top)
    level = level_percent(figures.statistics.confidence_level)
    show_table(CUE_TABLE.fill(measurement, CUES.prose.of(m=measurement, level=level)))
    n_cues = pluralize(figures.statistics.n_cues, "cue")
    # Holm's correction takes into account that, of many cues, some would differ by chance.
    typer.echo(
        f"\n{len(figures.significant):,} of {n_cues} differ from chance after Holm's correction."
    )
    say(CUES.prose.of(m=measurement)("part.alone"))
    if figures.classifier is not None:
        say(f"{figures.classifier.n_folds} folds.")
    hand_over({"cue_statistics": figures.statistics, "cue_classifier": figures.classifier})


def find_task(dataset: str, source: ItemOptions) -> str:
    """Return whether data has choices ("multiple_choice") or labeled texts ("classification").

    Args:
        dataset: Name, hub id or path of the data.
        source: Names of its columns.

    Raises:
        OptionError: If the data has neither. The error is about choices, the main use of the command.
    """
    from rightreasons.io.tables import open_splits

    if source.text_column is not None and source.choices_column is None:
        return "classification"
    try:
        # The data is opened with one item, which is enough to recognize its columns.
        open_splits(dataset, **source.source("multiple_choice"), limit=1)
    except OptionError as error:
        # Only if no column of choices was found or named may the data be texts with labels.
        has_no_choices = "choices_column" in error.option
        if not has_no_choices or source.choices_column or source.prompt_column:
            raise
        try:
            open_splits(dataset, **source.source("classification"), limit=1)
        except (TypeError, ValueError):
            raise error from None
        return "classification"
    return "multiple_choice"


def show_word_cues(dataset: str, split: str | None, top: int, declared: Mapping[str, Any]) -> None:
    """Print the words that predict the labels of texts, for one split or for each labeled one.

    Args:
        dataset: Name, hub id or path of the data.
        split: Name of a split; None for all splits.
        top: Number of words to print for each split.
        declared: Groups of options of the command: "source" with the names of columns, "options" of
            the question, and "settings" with the limit, the level and the seed.
    """
    from rightreasons.io.samples import choose_split, select_labeled_items, sort_by_id
    from rightreasons.io.tables import open_splits
    from rightreasons.shortcuts.word_cues import measure_word_cues

    source = declared["source"]
    options = declared["options"]
    settings = declared["settings"]
    splits = open_splits(
        dataset, **source.source("classification"), limit=settings.limit, seed=settings.seed
    )
    # Without a named split, all splits are examined, because any of them may have such words.
    names = list(splits)
    if split is not None:
        names = [choose_split(splits, split, source_name=dataset, preferred=(), takes_any=True)]

    results = {}
    # Each split may have different cues, such as hashtags that another one lacks.
    for name in names:
        items = sort_by_id(select_labeled_items(splits[name]))
        labels = items["label"][:]
        # The test split of a competition may have no labels.
        if len(set(labels)) < 2:
            continue
        results[name] = measure_word_cues(
            join_columns(items),
            labels,
            items.features["label"].names,
            min_texts=options.min_applicability,
            resampling=settings.resampling,
        )
        typer.secho(f"{dataset}, {name}: {pluralize(len(items), 'item')}", bold=True)
        print_word_cues(results[name], top)
    if not results:
        raise OptionError(
            f"Expected texts with two labels or more in {dataset}, but no split has such texts.",
            option="label_column",
        )
    hand_over(results)


def join_columns(items: datasets.Dataset) -> list[str]:
    """Return the text of each item, followed by its second text if there is one."""
    texts: list[str] = items["text"][:]
    if "text_pair" not in items.column_names:
        return texts
    return [" ".join(pair) for pair in zip(texts, items["text_pair"][:], strict=True)]


def print_word_cues(word_cues: WordCues, top: int) -> None:
    """Print a table of the words that significantly predict a label in a split, and their number.

    Args:
        word_cues: The words (`cues`), the most significant first, and the number of tested words.
        top: Number of words in the table.
    """
    rows = [["word", "label", "texts", "with the label", "all texts", "p"]]
    for cue in word_cues.cues[:top]:
        rows.append(
            [
                cue.word,
                cue.label,
                f"{cue.n_texts:,}",
                f"{100 * cue.share:.1f}%",
                f"{100 * cue.prior:.1f}%",
                f"{cue.p_value:.2g}",
            ]
        )
    if word_cues.cues:
        print_rows(rows, texts=(0, 1))
    n_words = pluralize(word_cues.n_words, "word")
    say(f"{len(word_cues.cues):,} of {n_words} differ from chance after Holm's correction.")
