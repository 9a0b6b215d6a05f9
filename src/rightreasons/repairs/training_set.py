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
from rightreasons.core.labels.matching import match_labels
from rightreasons.core.sentences import format_value
from rightreasons.core.store import format_csv, write_text
from rightreasons.repairs.edits import EditedItems
from rightreasons.repairs.own_table import OwnTable, open_own_table, select_rows
from rightreasons.repairs.words import SpuriousWords
from rightreasons.shortcuts.swapping.segments import Segmenter, Text
from rightreasons.shortcuts.swapping.training import TrainingTexts

Labels = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class TrainingSet:
    """Labeled training texts.

    Attributes:
        table: All columns of the user's table, under their original names.
        ids: N ids.
        items: N texts, or pairs of texts.
        labels: (N,) labels in the model's numbering.
        label_names: Names of the model's classes.
        segmenter: Splits texts into tokens, as learned from these texts.
        digest: Digest of the unedited texts, by which a report identifies its training texts.
    """

    table: OwnTable
    ids: list[str]
    items: list[Text]
    labels: Labels
    label_names: tuple[str, ...]
    segmenter: Segmenter
    digest: str = ""

    @property
    def n_columns(self) -> int:
        """Number of texts of an item: 1, or 2 for pairs."""
        return len(self.items[0])

    def name_labels(self) -> list[str]:
        """Return the name of each text's label."""
        return select_rows(self.label_names, self.labels)

    @functools.cached_property
    def word_counts(self) -> TrainingTexts:
        """Counts of all words of the texts by label, which are only computed once."""
        columns = list_columns(self.items)
        return TrainingTexts(columns, self.labels, len(self.label_names), segmenter=self.segmenter)

    def label_words(self, words: Sequence[str]) -> SpuriousWords:
        """Return words with the label that each predicts: the one with the largest share of texts.

        Args:
            words: Spurious words: they predict a label, but are no reasons for it.

        Raises:
            ValueError: If a word is not a single token, or is in no text.
        """
        training = self.word_counts
        n_classes = len(self.label_names)
        # At least 1, so that a label without texts causes no division by zero.
        n_texts = np.maximum(np.bincount(self.labels, minlength=n_classes), 1)
        label_by_word: dict[str, int] = {}
        for name in words:
            word = self._check_word(name)
            # (K,) number of texts of each label with the word, in either text of a pair.
            counts = np.zeros(n_classes, dtype=np.int64)
            for column in range(self.n_columns):
                index = training.index.get((column, word))
                if index is not None:
                    counts += training.counts[index]
            if not counts.any():
                raise OptionError(
                    f"Expected words of the training texts in `not_reasons`, but no training text "
                    f"contains {format_value(name)}.",
                    option="not_reasons",
                )
            # Shares are compared, so that a frequent label has no advantage.
            label_by_word[word] = int((counts / n_texts).argmax())
        return SpuriousWords(label_by_word, n_classes, self.segmenter, training.forms)

    def _check_word(self, name: str) -> str:
        """Return a word in lower case, after a check that it is a single token.

        Args:
            name: Word as the user wrote it, such as " Copper".

        Raises:
            OptionError: If it is several tokens, or none.
        """
        word = name.strip().lower()
        tokens = [token.word for token in self.segmenter.split((word,))]
        # Only a single token can be swapped for another word.
        if tokens != [word]:
            pieces = " and ".join(map(format_value, tokens))
            raise OptionError(
                f"Expected single words in `not_reasons`, but got {format_value(name)}, which is "
                f"split into {pieces or 'nothing'}.",
                option="not_reasons",
            )
        return word

    def edit(self, edited: EditedItems) -> TrainingSet:
        """Return the training set with edited texts, whose table shows the source and edit of each.

        Args:
            edited: M edited texts, with the row of the original text and the name of the edit of
                each.
        """
        # The table names the original of each text by its id.
        table = self.table.edit(
            list_columns(edited.items),
            ids=self.ids,
            sources=edited.sources,
            edits=edited.edits,
        )
        return dataclasses.replace(
            self,
            table=table,
            ids=select_rows(self.ids, edited.sources),
            items=edited.items,
            labels=self.labels[edited.sources],
        )

    def write(self, file: Path) -> Path:
        """Write the table as a csv file."""
        return write_text(file, self.format())

    def format(self) -> str:
        """Return the table as text in csv format, with the names of the columns in the first row."""
        columns = self.table.columns
        # The table stores columns, and a csv file has rows.
        rows = zip(*columns.values(), strict=True)
        return format_csv([columns, *rows])


def open_training_set(train: Any, label_names: Sequence[str], **source: Any) -> TrainingSet:
    """Open labeled training texts.

    Args:
        train: A file, a folder, a data set of the hub, or a table in memory; see `load_data`.
        label_names: Names of the model's classes, to which the labels are matched.
        **source: Further options of `load_data`, such as `text_column`.

    Returns:
        The texts that have a label.

    Raises:
        ValueError: If there are several splits, none of which is named "train", or if the labels
            are not classes of the model.
    """
    table = open_training_split(train, **source)
    data_label_names = table.features["label"].names
    class_of_label = match_labels(data_label_names, label_names).class_of
    data_labels = np.array(table["label"][:], dtype=np.int64)
    labeled_rows = np.flatnonzero(data_labels >= 0)

    ids = select_rows(table["id"][:], labeled_rows)
    # One column of texts, or two for pairs.
    columns = []
    for name in TEXT_COLUMNS:
        if name in table.column_names:
            columns.append(select_rows(table[name][:], labeled_rows))
    items: list[Text] = list(zip(*columns, strict=True))
    return TrainingSet(
        table=open_own_table(train, ids, n_texts=len(columns), **source),
        ids=ids,
        items=items,
        labels=class_of_label[data_labels[labeled_rows]],
        label_names=tuple(label_names),
        segmenter=Segmenter(itertools.chain.from_iterable(items)),
        digest=digest_texts(table),
    )


def list_columns(items: Sequence[Text]) -> list[list[str]]:
    """Return the columns of items: one list of texts, or two."""
    return list(map(list, zip(*items, strict=True)))
