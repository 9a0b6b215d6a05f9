"""Record which words an audit tested, so that a later audit can test them again.

Training texts that were edited or balanced offer other words than before, or none. A second audit
with these texts would not test what the first one found, and be green for that reason alone. So
an audit writes a `FeatureRecord` into audit.json, and a later one reads it with `read_record`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

from rightreasons.core.errors import OptionError
from rightreasons.core.sentences import format_value
from rightreasons.shortcuts.swapping.edits import Pair
from rightreasons.shortcuts.swapping.word_lists import Key, WordList

Value = TypeVar("Value")

NEUTRAL = -1
"""Label of a word that predicts none."""


@dataclasses.dataclass(frozen=True)
class FeatureRecord:
    """Words that an audit tested, with the label that each predicts.

    Attributes:
        pairs: Pairs of words that were swapped for each other.
        lists: Test -> words that were swapped together: (column, word) -> label.
        strengths: Strength of each word of the model's own list, by which the strongest word of a
            text is found.
        decisive: Pairs that decided, in this audit or an earlier one, and pairs of declared words.
        inserted: Words whose insertion flipped most predictions to their label: (column, word) ->
            label.
    """

    pairs: tuple[Pair, ...] = ()
    lists: Mapping[str, Mapping[Key, int]] = dataclasses.field(default_factory=dict)
    strengths: Mapping[Key, float] = dataclasses.field(default_factory=dict)
    decisive: tuple[Pair, ...] = ()
    inserted: Mapping[Key, int] = dataclasses.field(default_factory=dict)

    @property
    def decisive_words(self) -> tuple[str, ...]:
        """The distinct words of the pairs that decided."""
        words: list[str] = []
        for pair in self.decisive:
            for word in pair.predictive_words:
                # A word may be in several pairs.
                if word not in words:
                    words.append(word)
        return tuple(words)

    def exclude(self, words: Collection[str]) -> FeatureRecord:
        """Return a copy of the record without some words.

        Args:
            words: Words to exclude, such as those that a user accepts as reasons for a label. A
                pair is excluded if one of them is a predictive word of it.
        """
        labels_by_test = {}
        for test, label_by_key in self.lists.items():
            labels_by_test[test] = _exclude_words(label_by_key, words)
        return FeatureRecord(
            pairs=_exclude_pairs(self.pairs, words),
            lists=labels_by_test,
            strengths=_exclude_words(self.strengths, words),
            decisive=_exclude_pairs(self.decisive, words),
            inserted=_exclude_words(self.inserted, words),
        )

    def to_plain(self, label_names: Sequence[str]) -> dict[str, Any]:
        """Return the record as JSON values for audit.json, which `read_record` reads.

        Labels are stored by name, because a later model may have its classes in another order.

        Args:
            label_names: Names of the classes, by their numbers.

        Returns:
            A dictionary such as::

                {
                    "pairs": [{"column": 0, "words": ["copper", "marble"], "labels": ["no", "yes"]}],
                    "lists": {"all listed words": [{"column": 0, "label": "no", "words": ["slate"]}]},
                    "strengths": [{"column": 0, "word": "copper", "strength": 0.4}],
                    "decisive": [],  # rows like those of "pairs"
                    "inserted": [{"column": 0, "label": "yes", "words": ["marble"]}],
                }
        """
        words_by_test = {}
        for test, label_by_key in self.lists.items():
            words_by_test[test] = _group_words(label_by_key, label_names)
        # JSON has no tuples as keys, so that each (column, word) becomes a row.
        strength_rows = []
        for (column, word), strength in self.strengths.items():
            strength_rows.append({"column": column, "word": word, "strength": strength})
        return {
            "pairs": _describe_pairs(self.pairs, label_names),
            "lists": words_by_test,
            "strengths": strength_rows,
            "decisive": _describe_pairs(self.decisive, label_names),
            "inserted": _group_words(self.inserted, label_names),
        }


def read_record(
    values: Mapping[str, Any], label_names: Sequence[str], n_columns: int
) -> FeatureRecord:
    """Read the words that an earlier audit tested, with their labels as class numbers.

    Args:
        values: Result of `FeatureRecord.to_plain`, from the audit.json of the earlier audit.
        label_names: Names of the classes of the model that is audited now, by their numbers.
        n_columns: Number of texts of an item: one, or two for pairs of texts.

    Returns:
        The record. Its labels are the numbers of the classes in `label_names`.

    Raises:
        OptionError: If `label_names` lacks a class of the record, or if the record has words of
            second texts but the items have only one text.

    Example:
        >>> pair = {"column": 0, "words": ["copper", "marble"], "labels": ["no", "yes"]}
        >>> values = {"pairs": [pair], "lists": {}, "decisive": [], "inserted": []}
        >>> read_record(values, ["yes", "no"], n_columns=1).pairs
        (Pair(column=0, words=('copper', 'marble'), labels=(1, 0)),)
    """
    labels_by_test = {}
    for test, rows in values["lists"].items():
        labels_by_test[test] = _read_words(rows, label_names, n_columns)
    strength_by_key = {}
    # Reports of earlier versions have no strengths.
    for row in values.get("strengths", ()):
        strength_by_key[row["column"], row["word"]] = row["strength"]
    return FeatureRecord(
        pairs=_read_pairs(values["pairs"], label_names, n_columns),
        lists=labels_by_test,
        strengths=strength_by_key,
        decisive=_read_pairs(values["decisive"], label_names, n_columns),
        inserted=_read_words(values["inserted"], label_names, n_columns),
    )


def _read_words(
    rows: Sequence[Mapping[str, Any]], label_names: Sequence[str], n_columns: int
) -> dict[Key, int]:
    """Return the label that each recorded word predicts, as a class number.

    Args:
        rows: Rows such as `{"column": 0, "label": "no", "words": ["copper", "slate"]}`.
        label_names: Names of the classes, by their numbers.
        n_columns: Number of texts of an item.

    Returns:
        (column, word) -> label, such as `{(0, "copper"): 1, (0, "slate"): 1}`.
    """
    label_by_key = {}
    # The words of a column with the same label share a row.
    for row in rows:
        for word in row["words"]:
            label = _find_label(row["label"], label_names)
            column = _check_column(row["column"], n_columns)
            label_by_key[column, word] = label
    return label_by_key


def _read_pairs(
    rows: Sequence[Mapping[str, Any]], label_names: Sequence[str], n_columns: int
) -> tuple[Pair, ...]:
    """Return recorded pairs of words, with their labels as class numbers.

    Args:
        rows: Rows such as `{"column": 0, "words": ["copper", "marble"], "labels": ["no", "yes"]}`.
            The label of a neutral word is None.
        label_names: Names of the classes, by their numbers.
        n_columns: Number of texts of an item.
    """
    pairs = []
    for row in rows:
        word, partner_word = row["words"]
        name, partner_name = row["labels"]
        label = _find_label(name, label_names)
        partner_label = _find_label(partner_name, label_names)
        column = _check_column(row["column"], n_columns)
        pairs.append(Pair(column, (word, partner_word), (label, partner_label)))
    return tuple(pairs)


def _find_label(name: str | None, label_names: Sequence[str]) -> int:
    """Return the number of a class, found by its name.

    Args:
        name: Name of the class; None for a neutral word, whose label is `NEUTRAL`.
        label_names: Names of the classes, by their numbers.

    Raises:
        OptionError: If the model has no such class.
    """
    if name is None:
        return NEUTRAL
    # A word of a class that the model lacks could not be swapped for that of another one.
    if name not in label_names:
        raise OptionError(
            f"Expected a report about the classes {', '.join(label_names)} in `after`, but got a "
            f"report with words of the class {format_value(name)}.",
            option="after",
        )
    return list(label_names).index(name)


def make_recorded_list(
    labels: Mapping[Key, int],
    strengths: Mapping[Key, float],
    frequencies: Mapping[Key, int],
) -> WordList:
    """Return the words that an earlier audit tested as a list, with present frequencies.

    Args:
        labels: (column, word) -> label that the word predicts.
        strengths: (column, word) -> recorded strength. A word without one has strength 1.
        frequencies: (column, word) -> number of present training texts with the word. The list
            samples words in proportion to it.
    """
    strength_by_key = {}
    weight_by_key = {}
    for key in labels:
        strength_by_key[key] = strengths.get(key, 1.0)
        # Edited training texts may no longer have a word, which is then sampled as a rare one.
        weight_by_key[key] = float(frequencies.get(key, 1))
    return WordList(labels=labels, strengths=strength_by_key, weights=weight_by_key)


def _exclude_words(values: Mapping[Key, Value], words: Collection[str]) -> dict[Key, Value]:
    """Return a mapping from (column, word) to any values, without some words in any column."""
    selected = {}
    for key, value in values.items():
        _, word = key
        if word not in words:
            selected[key] = value
    return selected


def _exclude_pairs(pairs: Sequence[Pair], words: Collection[str]) -> tuple[Pair, ...]:
    """Return the pairs without those in which an excluded word predicts a label."""
    excluded_words = set(words)
    selected = []
    for pair in pairs:
        if excluded_words.isdisjoint(pair.predictive_words):
            selected.append(pair)
    return tuple(selected)


def _describe_pairs(pairs: Sequence[Pair], label_names: Sequence[str]) -> list[dict[str, Any]]:
    """Return pairs of words as plain values, with the names of their labels.

    Args:
        pairs: Pairs of words.
        label_names: Names of the classes, by their numbers.

    Returns:
        Rows such as `{"column": 0, "words": ["copper", "marble"], "labels": ["no", "yes"]}`. The
        label of a neutral word is None.
    """
    name_by_label: dict[int, str | None] = dict(enumerate(label_names))
    # JSON has null for a label without a name.
    name_by_label[NEUTRAL] = None
    rows = []
    for pair in pairs:
        names = [name_by_label.get(label) for label in pair.labels]
        rows.append({"column": pair.column, "words": list(pair.words), "labels": names})
    return rows


def _group_words(labels: Mapping[Key, int], label_names: Sequence[str]) -> list[dict[str, Any]]:
    """Return words as plain values, grouped by column and label.

    One row per word would fill pages of audit.json and of audit.yaml.

    Args:
        labels: (column, word) -> label.
        label_names: Names of the classes, by their numbers.

    Returns:
        Rows such as `{"column": 0, "label": "no", "words": ["copper", "slate"]}`.
    """
    # (column, label) -> words.
    words_by_group: dict[tuple[int, int], list[str]] = {}
    for (column, word), label in labels.items():
        words_by_group.setdefault((column, label), []).append(word)
    rows = []
    for (column, label), words in words_by_group.items():
        rows.append({"column": column, "label": label_names[label], "words": words})
    return rows


def _check_column(column: int, n_columns: int) -> int:
    """Check that the audited items have the column of a recorded word, and return the column.

    Args:
        column: 0 for a word of the first texts, 1 for one of the second texts.
        n_columns: Number of texts of an audited item.

    Raises:
        OptionError: If the word is in a second text, and the items have only one.
    """
    if column >= n_columns:
        raise OptionError(
            "Expected a report about single texts in `after`, but got a report with words of the "
            "second texts of pairs.",
            option="after",
        )
    return column
