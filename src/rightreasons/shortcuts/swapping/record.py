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
        inserted: Words that made their label nearly wherever they were inserted: (column, word) ->
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
        """Return the record without some words, such as those that a user calls reasons."""
        lists = {}
        for test, labels in self.lists.items():
            lists[test] = _exclude_words(labels, words)
        return FeatureRecord(
            pairs=_exclude_pairs(self.pairs, words),
            lists=lists,
            strengths=_exclude_words(self.strengths, words),
            decisive=_exclude_pairs(self.decisive, words),
            inserted=_exclude_words(self.inserted, words),
        )

    def to_plain(self, label_names: Sequence[str]) -> dict[str, Any]:
        """Return plain values for audit.json, with labels by name.

        A later model may have its classes in another order, so that numbers would not do.
        """
        lists = {}
        for test, words in self.lists.items():
            lists[test] = _group_words(words, label_names)
        pairs = _describe_pairs(self.pairs, label_names)
        strengths = []
        for (column, word), strength in self.strengths.items():
            strengths.append({"column": column, "word": word, "strength": strength})
        decisive_pairs = _describe_pairs(self.decisive, label_names)
        inserted_words = _group_words(self.inserted, label_names)
        return {
            "pairs": pairs,
            "lists": lists,
            "strengths": strengths,
            "decisive": decisive_pairs,
            "inserted": inserted_words,
        }


def read_record(
    values: Mapping[str, Any], label_names: Sequence[str], n_columns: int
) -> FeatureRecord:
    """Read a record of audit.json for a model.

    Args:
        values: What `FeatureRecord.to_plain` returned.
        label_names: Classes of the model that is audited now.
        n_columns: Number of texts of an item: one, or two for pairs.

    Returns:
        The record, in the numbering of the model's classes.

    Raises:
        ValueError: If the record has other classes, or is about pairs of texts and there is one.

    Example:
        >>> pair = {"column": 0, "words": ["copper", "marble"], "labels": ["no", "yes"]}
        >>> values = {"pairs": [pair], "lists": {}, "decisive": [], "inserted": []}
        >>> read_record(values, ["yes", "no"], n_columns=1).pairs
        (Pair(column=0, words=('copper', 'marble'), labels=(1, 0)),)
    """
    # A neutral word has no label.
    numbers: dict[str | None, int] = {None: NEUTRAL}
    numbers.update(zip(label_names, range(len(label_names)), strict=True))

    def get_label(name: str | None) -> int:
        """Return the number of a class in the numbering of the model."""
        # A word of a class that the model lacks could not be swapped for that of another one.
        if name not in numbers:
            raise OptionError(
                f"Expected a report about the classes {', '.join(label_names)} in `after`, but it "
                f"names words of the class {format_value(name)}.",
                option="after",
            )
        return numbers[name]

    def read_words(rows: Sequence[Mapping[str, Any]]) -> dict[Key, int]:
        labels = {}
        for row in rows:
            for word in row["words"]:
                labels[_check_column(row["column"], n_columns), word] = get_label(row["label"])
        return labels

    def read_pairs(rows: Sequence[Mapping[str, Any]]) -> tuple[Pair, ...]:
        """Return recorded pairs of words."""
        pairs = []
        for row in rows:
            word, partner = row["words"]
            label, partner_label = map(get_label, row["labels"])
            column = _check_column(row["column"], n_columns)
            pair = Pair(column, (word, partner), (label, partner_label))
            pairs.append(pair)
        return tuple(pairs)

    lists = {}
    for test, rows in values["lists"].items():
        lists[test] = read_words(rows)
    strengths = {}
    # Reports of earlier versions have none.
    for row in values.get("strengths", ()):
        strengths[row["column"], row["word"]] = row["strength"]
    return FeatureRecord(
        pairs=read_pairs(values["pairs"]),
        lists=lists,
        strengths=strengths,
        decisive=read_pairs(values["decisive"]),
        inserted=read_words(values["inserted"]),
    )


def make_recorded_list(
    labels: Mapping[Key, int],
    strengths: Mapping[Key, float],
    frequencies: Mapping[Key, int],
) -> WordList:
    """Return a list of recorded words, as strong as they were, drawn by their present frequency."""
    weights = {}
    strength_by_key = {}
    for key in labels:
        # Edited training texts may no longer have a word, which is then drawn as a rare one.
        weights[key] = float(frequencies.get(key, 1))
        # Words without a recorded strength are equally strong.
        strength_by_key[key] = strengths.get(key, 1.0)
    return WordList(labels=labels, strengths=strength_by_key, weights=weights)


def _exclude_words(values: Mapping[Key, Value], words: Collection[str]) -> dict[Key, Value]:
    return {key: value for key, value in values.items() if key[1] not in words}


def _exclude_pairs(pairs: Sequence[Pair], words: Collection[str]) -> tuple[Pair, ...]:
    """Return the pairs without those that have one of the words."""
    selected = []
    for pair in pairs:
        # Of a pair with one of the words, that word might decide.
        if not set(pair.predictive_words) & set(words):
            selected.append(pair)
    return tuple(selected)


def _describe_pairs(pairs: Sequence[Pair], label_names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each pair, with the names of its labels; None for a neutral word."""
    names: dict[int, str | None] = dict(enumerate(label_names))
    names[NEUTRAL] = None
    rows = []
    for pair in pairs:
        labels = list(map(names.get, pair.labels))
        row = {"column": pair.column, "words": list(pair.words), "labels": labels}
        rows.append(row)
    return rows


def _group_words(labels: Mapping[Key, int], label_names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each column and label, with its words in order."""
    # One row per word would fill pages of audit.json and of audit.yaml.
    groups: dict[tuple[int, int], list[str]] = {}
    for (column, word), label in labels.items():
        groups.setdefault((column, label), []).append(word)
    rows = []
    for (column, label), words in groups.items():
        rows.append({"column": column, "label": label_names[label], "words": words})
    return rows


def _check_column(column: int, n_columns: int) -> int:
    """Return the column of a recorded word, which the audited items must have."""
    if column >= n_columns:
        raise OptionError(
            "Expected a report about single texts in `after`, but it names words of the second "
            "texts of pairs.",
            option="after",
        )
    return column
