"""Labeled training texts, as a repair reads and writes them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.splits import TEXT_COLUMNS, digest_texts
from rightreasons.audited.task_data import open_training_split
from rightreasons.core.errors import OptionError
from rightreasons.core.label_names import match_labels
from rightreasons.core.sentences import format_value
from rightreasons.core.store import format_csv, write_text
from rightreasons.repairs.edits import EditedItems
from rightreasons.repairs.words import SpuriousWords
from rightreasons.shortcuts.swapping.segments import Segmenter, Text
from rightreasons.shortcuts.swapping.training import TrainingTexts

Labels = NDArray[np.int64]

SOURCE_COLUMN = "source_id"
EDIT_COLUMN = "edit"
"""Columns that a repaired set has besides: the id of the text that each was made of, and what was done."""


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingSet:
    """Labeled training texts.

    Attributes:
        columns: Column name -> N values: the texts, their labels by name, their ids, and whatever else was there.
        items: N texts, or pairs of texts.
        labels: (N,) labels in the model's numbering.
        label_names: Names of the model's classes.
        segmenter: Splits texts into tokens; it has learned from these texts.
        digest: Digest of the texts as they were opened, by which a report names its training texts.
    """

    columns: dict[str, list[Any]]
    items: list[Text]
    labels: Labels
    label_names: tuple[str, ...]
    segmenter: Segmenter
    digest: str = ""

    @property
    def text_columns(self) -> list[str]:
        """The columns of the texts: one, or two for pairs."""
        return [name for name in TEXT_COLUMNS if name in self.columns]

    @functools.cached_property
    def word_counts(self) -> TrainingTexts:
        """The words of the texts, counted by label once for all words that are asked about."""
        columns = list_columns(self.items)
        return TrainingTexts(columns, self.labels, len(self.label_names), segmenter=self.segmenter)

    def label_words(self, words: Sequence[str]) -> SpuriousWords:
        """Return words with the label that each predicts: the one whose texts have it most often for their number.

        Raises:
            ValueError: If a word is no single token, or is in no text.
        """
        training = self.word_counts
        n_texts = np.maximum(np.bincount(self.labels, minlength=len(self.label_names)), 1)
        labels: dict[str, int] = {}
        for name in words:
            word = self._check_word(name)
            # A word of either text of a pair counts for both.
            counts = np.zeros(len(self.label_names), dtype=np.int64)
            for column in range(len(self.text_columns)):
                index = training.index.get((column, word))
                if index is not None:
                    counts += training.counts[index]
            if not counts.any():
                raise OptionError(
                    f"Expected words of the training texts in `not_reasons`, but none of them has "
                    f"{format_value(name)}.",
                    option="not_reasons",
                )
            # By the share of each label's texts, so that a frequent label has no advantage.
            labels[word] = int((counts / n_texts).argmax())
        return SpuriousWords(labels, len(self.label_names), self.segmenter)

    def _check_word(self, name: str) -> str:
        """Return a word in lower case; refuse what is several tokens, which no swap could exchange for one."""
        word = name.strip().lower()
        tokens = [token.word for token in self.segmenter.split((word,))]
        if tokens != [word]:
            pieces = " and ".join(map(format_value, tokens))
            raise OptionError(
                f"Expected single words in `not_reasons`, but got {format_value(name)}, which is read as "
                f"{pieces or 'nothing'}.",
                option="not_reasons",
            )
        return word

    def edit(self, edited: EditedItems) -> TrainingSet:
        """Return the set with edited texts, with the columns `source_id` and `edit`."""
        columns = {}
        for name, values in self.columns.items():
            columns[name] = select_rows(values, edited.sources)
        texts = list_columns(edited.items)
        columns.update(zip(self.text_columns, texts, strict=True))
        # A set that is repaired again keeps the ids of the texts that it began with.
        ids = columns.pop("id")
        columns.setdefault(SOURCE_COLUMN, ids)
        columns["id"] = [f"{source}-{number}" for number, source in enumerate(ids)]
        columns[EDIT_COLUMN] = edited.edits
        return dataclasses.replace(
            self, columns=columns, items=edited.items, labels=self.labels[edited.sources]
        )

    def write(self, file: Path) -> Path:
        """Write the set as a csv file, labels by name."""
        return write_text(file, self.format())

    def format(self) -> str:
        """Return the text of this file."""
        columns = dict(self.columns)
        # The ids number the rows of this file, which has `source_id` for those of the original.
        del columns["id"]
        rows = zip(*columns.values(), strict=True)
        return format_csv([columns, *rows])


def open_training_set(train: Any, label_names: Sequence[str], **source: Any) -> TrainingSet:
    """Open labeled training texts.

    Args:
        train: A file, a folder, a data set of the hub, or a table in memory, as `load_data` takes it.
        label_names: Names of the model's classes, which the labels are matched to.
        **source: Further options of `load_data`, such as `text_column`.

    Returns:
        The texts with a label.

    Raises:
        ValueError: If there are several splits and none named train, or the labels are not the model's.
    """
    table = open_training_split(train, **source)
    names = table.features["label"].names
    class_of = match_labels(names, label_names).class_of
    numbers = np.array(table["label"][:], dtype=np.int64)
    rows = np.flatnonzero(numbers >= 0)

    # Whatever else is in the table stays: sources, dates, the ids of annotators.
    columns = {}
    for name in table.column_names:
        columns[name] = select_rows(table[name][:], rows)
    # Labels by name, as a person and most trainers read them.
    columns["label"] = select_rows(names, numbers[rows])
    row_names = list(map(str, rows.tolist()))
    columns.setdefault("id", row_names)
    # One text, or two for pairs.
    texts = []
    for name in TEXT_COLUMNS:
        if name in columns:
            texts.append(columns[name])
    items: list[Text] = list(zip(*texts, strict=True))
    return TrainingSet(
        columns=columns,
        items=items,
        labels=class_of[numbers[rows]],
        label_names=tuple(label_names),
        segmenter=Segmenter(itertools.chain.from_iterable(items)),
        digest=digest_texts(table),
    )


def list_columns(items: Sequence[Text]) -> list[list[str]]:
    """Return the columns of items: one list of texts, or two."""
    return list(map(list, zip(*items, strict=True)))


def select_rows(values: Sequence[Any], rows: NDArray[np.int64]) -> list[Any]:
    """Return the values of some rows."""
    return [values[row] for row in rows.tolist()]
