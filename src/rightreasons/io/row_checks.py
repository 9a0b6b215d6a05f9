"""Checks of the rows of a table, before any figure is computed from them.

`check_rows` runs the checks of `CHECKS` on a `RowTable`: the rows of one split, the roles of its
columns, and what a model answered, if that is known. Each check returns a `RowDoubt` or None: a
sentence, a count, a few examples, and the options that settle it. A doubt that is open withholds
good and bad verdicts; the others only inform.

The roles are taken as given: headings or the user settled them.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rightreasons.core.results import Result
from rightreasons.core.sentences import format_list, pluralize
from rightreasons.io.arrow_tables import read_values
from rightreasons.io.columns import get_arrow_column, quote_column
from rightreasons.io.group_tests import is_failing_group
from rightreasons.io.headings import find_statuses
from rightreasons.io.row_codes import (
    MIN_COPIES,
    MIN_ROWS,
    Codes,
    are_copies,
    are_crossed,
    combine_codes,
    count_codes,
    count_few_values,
    count_labels,
    encode_normalized_texts,
    encode_rows,
    find_copies,
    find_first_rows,
    find_labeled,
    mark_first,
    normalize_texts,
    to_plain_column,
)

MAX_ARMS = 20
"""A column of at most so many values may name the system, seed or rater of a row."""

MIN_AFFECTED = 0.05
"""Share of rows from which a conflict or a leak of texts becomes a doubt."""

MIN_SELECTED = 20
"""So many answers that are all correct or all incorrect, or labels of one class, are a selection."""

MAX_NEAR_DUPLICATE_TEXTS = 200_000
"""Tables of more rows are not searched for near-duplicates, which takes a second per 500,000."""

MAX_UNUSED_COLUMNS = 8
"""So many unused columns are printed with their counts."""

N_EXAMPLES = 3

EXACT_CHECKS = ("long_format", "repeated_ids", "repeated_rows")
"""Checks that also read tables of fewer than `MIN_ROWS` rows: whole rows and ids repeat by no accident."""


@dataclasses.dataclass(frozen=True)
class RowDoubt(Result):
    """What a check of the rows found.

    Attributes:
        check: Name of the check, a key of `CHECKS`.
        sentence: What was found, with its count.
        count: Number of rows concerned.
        examples: Up to three of them, in words.
        remedy: What to do about it, with the options of the command line; "" for nothing.
        is_open: Whether it withholds good and bad verdicts until it is settled.
    """

    check: str
    sentence: str
    count: int
    examples: tuple[str, ...] = ()
    remedy: str = ""
    is_open: bool = True

    @property
    def in_words(self) -> str:
        """The sentence with its examples and the remedy."""
        words = self.sentence
        if self.examples:
            words += f" Such as: {'; '.join(self.examples)}."
        return f"{words} {self.remedy}".rstrip()


@dataclasses.dataclass(frozen=True)
class RowRoles:
    """The columns of a table by what they mean.

    Attributes:
        text: Columns that make up the input of a model: text and second text, or prompt and choices.
        label: Column of the gold labels; "" for none.
        answer: Column of the model's answers; "" for none.
        id: Column of the ids; "" for none.
        copied_row: Column of the first of equal rows; "" to compare the rows in all columns.
        further: Further columns that are used, such as those of scores.
        has_known_copies: Whether copies were looked for when the rows were read; `copied_row` is "" if there are none.
    """

    text: tuple[str, ...] = ()
    label: str = ""
    answer: str = ""
    id: str = ""
    copied_row: str = ""
    further: tuple[str, ...] = ()
    has_known_copies: bool = False

    @property
    def used(self) -> set[str]:
        """All columns that have a role."""
        return {*self.text, self.label, self.answer, self.id, self.copied_row, *self.further} - {""}


@dataclasses.dataclass(frozen=True, eq=False)
class Outcomes:
    """What a model answered to the labeled rows, and how that fits their labels.

    Attributes:
        is_correct: (M,) whether the answer to each labeled row is correct.
        rows: (M,) numbers of the labeled rows; None if all rows are labeled.
        gold: (M,) gold classes of the labeled rows; None if only correctness is known.
        labels: (M,) gold labels as numbers that `answers` share; None if only correctness is known.
        answers: (M,) the answers to the labeled rows, as numbers of labels; None like `labels`.
        n_classes: Number of classes; 0 if it differs between items.
        order_doubt: The sentence of `suggest_class_order`, "" if no other order fits better.
        is_stored: Whether the answers come from a file, which somebody may have filtered.
    """

    is_correct: NDArray[np.bool_]
    rows: NDArray[np.int64] | None = None
    labels: NDArray[np.int64] | None = None
    answers: NDArray[np.int64] | None = None
    gold: NDArray[np.int64] | None = None
    n_classes: int = 0
    order_doubt: str = ""
    is_stored: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class RowTable:
    """The rows of a split, as the checks read them.

    Attributes:
        data: The rows.
        roles: What the columns mean.
        outcomes: What a model answered; None if that is not known.
        train: The training rows, with equally named columns of text; None if there are none.
    """

    data: datasets.Dataset
    roles: RowRoles
    outcomes: Outcomes | None = None
    train: datasets.Dataset | None = None
    _codes: dict[str, Codes] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.data)

    @functools.cached_property
    def text_codes(self) -> Codes | None:
        """(N,) number of the input of each row, equal for equal texts; None if the table has no texts."""
        if not self.roles.text:
            return None
        codes = encode_rows(self.data, self.roles.text)
        # Predictions without texts are stored with empty ones, which are all equal.
        has_one_text = codes.max(initial=0) == 0
        example = self.data[0]
        is_empty = not any(example[name] for name in self.roles.text)
        return None if is_empty and has_one_text else codes

    @functools.cached_property
    def unused(self) -> dict[str, Counter[str]]:
        """Columns without a role that have few values -> the count of each value."""
        counts_by_column = {}
        for name in self.data.column_names:
            if name not in self.roles.used:
                counts = count_few_values(self.data, name)
                if counts:
                    counts_by_column[name] = counts
        return counts_by_column

    def encode(self, name: str) -> Codes:
        """Return (N,) a number per row: equal values of a column have equal numbers."""
        if name not in self._codes:
            self._codes[name] = encode_rows(self.data, (name,))
        return self._codes[name]

    def show_rows(self, rows: Sequence[int] | NDArray[np.intp]) -> tuple[str, ...]:
        """Describe a few rows as examples, such as "row 7 (A fine film.)".

        Args:
            rows: Numbers of rows, of which the first `N_EXAMPLES` are described by their text, or else by
                their id.
        """
        names = self.roles.text[:1]
        if not names and self.roles.id:
            names = (self.roles.id,)
        examples = []
        for row in list(rows)[:N_EXAMPLES]:
            example = f"row {row}"
            for name in names:
                value = str(self.data[int(row)][name])
                example += f" ({shorten(value)})"
            examples.append(example)
        return tuple(examples)


def check_rows(table: RowTable, settled: Sequence[str] = ()) -> list[RowDoubt]:
    """Check the rows of a table before any figure is computed from them.

    Args:
        table: The rows, the roles of their columns, and what a model answered.
        settled: Names of checks whose doubts the user settled; "all" for every check.

    Returns:
        What was found: open doubts first, otherwise in the order of `CHECKS`.

    Example:
        >>> rows = datasets.Dataset.from_dict({"id": [*"abcdef"] * 2, "text": [*"ghijkl"] * 2})
        >>> [doubt.check for doubt in check_rows(RowTable(rows, RowRoles(("text",), id="id")))]
        ['repeated_ids', 'repeated_rows']
    """
    doubts = []
    for name, check in CHECKS.items():
        # Few rows repeat values by accident.
        if len(table) < MIN_ROWS and name not in EXACT_CHECKS:
            continue
        doubt = check(table)
        if doubt is None:
            continue
        if name in settled or "all" in settled:
            doubt = dataclasses.replace(doubt, is_open=False)
        doubts.append(doubt)
    # Sorting is stable: the order of the checks is that of the report.
    return sorted(doubts, key=lambda doubt: not doubt.is_open)


# ------------------------------------------------------------------------- repeated rows


def check_long_format(table: RowTable) -> RowDoubt | None:
    """Check whether rows are answers of several systems, seeds or raters to the same items.

    An unused column then distinguishes the rows of an item: each of its values occurs once, or equally
    often, for each item.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which names the column; None if rows are separate items.
    """
    unit, codes = _get_unit(table)
    n_units = count_codes(codes)
    # A few repeats are faults of a file, and not its form.
    if len(table) < 1.5 * n_units:
        return None
    for column, values in _list_arm_columns(table).items():
        arms = table.encode(column)
        # Whether no item repeats within one value of the column.
        is_unique = count_codes(combine_codes(codes, arms)) == len(table)
        # Otherwise, items have to repeat equally often for each value. A single item always does.
        if not is_unique and (n_units < 2 or not are_crossed(codes, arms)):
            continue
        share = "one for each of" if is_unique else "each with all"
        return RowDoubt(
            check="long_format",
            sentence=f"{pluralize(n_units, 'item')} ({unit}) fill {len(table):,} rows, {share} "
            f"{len(values)} values of {column!r} ({format_list(values[:4])}): are these several "
            "systems, seeds or raters in one table?",
            count=len(table),
            remedy=f'--where "{format_condition(table.data, column, values[0])}" keeps one, '
            f"--by {column} audits each.",
        )
    return None


def check_choice_rows(table: RowTable) -> RowDoubt | None:
    """Check whether each row is one choice of a multiple-choice item.

    A column of two values then marks exactly one of the rows of each item as the right choice.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which names the column; None if rows are separate items.
    """
    unit, codes = _get_unit(table)
    n_units = count_codes(codes)
    # With two rows per item, any column of two values may have one of each.
    if len(table) <= 2 * n_units:
        return None
    for name in (table.roles.label, *table.roles.further):
        if name not in table.data.column_names:
            continue
        flags = table.encode(name)
        if count_codes(flags) != 2:
            continue
        # Either of the two values may be the mark.
        for flag in (0, 1):
            # (n_units,) the number of marked rows of each item.
            n_marked = np.bincount(codes[flags == flag], minlength=n_units)
            if not (n_marked == 1).all():
                continue
            return RowDoubt(
                check="choice_rows",
                sentence=f"{pluralize(n_units, 'item')} ({unit}) fill {len(table):,} rows, of which {name!r} "
                "marks one each: are these the choices of items, a row each?",
                count=len(table),
                remedy="Choices are read from one row per item, with a list of its choices.",
            )
    return None


def check_repeated_ids(table: RowTable) -> RowDoubt | None:
    """Count the ids that repeat; the rows of one id count as one unit of the intervals.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which is not open; None if all ids are distinct.
    """
    if not table.roles.id:
        return None
    codes = table.encode(table.roles.id)
    if count_codes(codes) == len(table):
        return None
    counts = pc.value_counts(to_plain_column(get_arrow_column(table.data, table.roles.id)))
    # The most frequent ids show best what kind of column it is.
    order = pc.array_sort_indices(counts.field("counts"), "descending")[:N_EXAMPLES]
    frequent_ids = counts.field("values").take(order).to_pylist()
    return RowDoubt(
        check="repeated_ids",
        sentence=f"{len(table):,} rows have {pluralize(len(counts), 'id')}: rows of one id count as one "
        "unit, not as independent items.",
        count=len(table) - len(counts),
        examples=tuple(f"id {value!r}" for value in frequent_ids),
        remedy="If they are different items, --id-column names another column.",
        is_open=False,
    )


def check_repeated_rows(table: RowTable) -> RowDoubt | None:
    """Count the rows that are copies of an earlier row; copies count as one unit of the intervals.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which is not open; None if there are few copies.
    """
    # Items of an audit have an id each, so that their copies were found when they were read.
    copied_row = table.roles.copied_row
    if table.roles.has_known_copies and not copied_row:
        return None
    if not table.roles.has_known_copies and not _can_have_copies(table):
        return None
    is_copy = find_copies(table.data, (copied_row,) if copied_row else None)
    n_copies = int(is_copy.sum())
    if n_copies < max(1, MIN_COPIES * len(table)):
        return None
    return RowDoubt(
        check="repeated_rows",
        sentence=f"{n_copies:,} of {len(table):,} rows are copies of an earlier row: copies count as one "
        "unit, not as independent items.",
        count=n_copies,
        examples=table.show_rows(np.flatnonzero(is_copy)),
        is_open=False,
    )


def _can_have_copies(table: RowTable) -> bool:
    """Return whether rows may be copies: rows of distinct texts are not, and few rows without texts are."""
    if table.text_codes is None:
        return are_copies(table.data)
    return count_codes(table.text_codes) < len(table)


def check_repeated_texts(table: RowTable) -> RowDoubt | None:
    """Count rows if each text occurs twice or more on average, in rows that differ otherwise.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which is not open; None if texts hardly repeat, or another check explains it.
    """
    if table.text_codes is None:
        return None
    n_texts = count_codes(table.text_codes)
    if 2 * n_texts > len(table):
        return None
    # Several systems, repeated ids, copies and a constant text have their own checks.
    for check in (check_long_format, check_repeated_ids, check_repeated_rows, check_constant_text):
        if check(table) is not None:
            return None
    _, first_rows = np.unique(table.text_codes, return_index=True)
    return RowDoubt(
        check="repeated_texts",
        sentence=f"{len(table):,} rows have {pluralize(n_texts, 'text')}: answers to one text are not "
        "independent.",
        count=len(table) - n_texts,
        examples=table.show_rows(first_rows),
        remedy=f"--groups-column {table.roles.text[0]} counts the rows of one text as one unit.",
        is_open=False,
    )


def check_near_duplicates(table: RowTable) -> RowDoubt | None:
    """Count the texts that differ from an earlier one only in letter case, spaces or punctuation.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which is not open; None if there are few such texts, or the table is very large.
    """
    if table.text_codes is None or len(table) > MAX_NEAR_DUPLICATE_TEXTS:
        return None
    # Equal texts are counted by another check: only the first row of each text is looked at.
    is_first = mark_first(table.text_codes)
    normalized_codes = encode_normalized_texts(table.data, table.roles.text)[is_first]
    is_duplicate = ~mark_first(normalized_codes)
    rows = np.flatnonzero(is_first)[is_duplicate]
    n_texts = int(is_first.sum())
    if len(rows) < max(3, MIN_COPIES * n_texts):
        return None
    return RowDoubt(
        check="near_duplicates",
        sentence=f"{len(rows):,} of {n_texts:,} texts differ from an earlier one in case, spaces or "
        "punctuation alone.",
        count=len(rows),
        examples=table.show_rows(rows),
        is_open=False,
    )


# ------------------------------------------------------------------------ texts and labels


def check_constant_text(table: RowTable) -> RowDoubt | None:
    """Check whether all rows have one text, or fewer texts than there are labels.

    The column is then hardly what the model reads.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt; None if there are enough texts, or none at all.
    """
    if table.text_codes is None:
        return None
    n_texts = count_codes(table.text_codes)
    # Texts can only decide the labels if there are as many of them.
    n_labels = 1
    if table.roles.label:
        n_labels = count_codes(table.encode(table.roles.label))
    # Labels may be nearly as many as rows, as those of a regression are.
    min_texts = max(2, min(n_labels, len(table) // 10))
    if n_texts >= min_texts:
        return None
    names = format_list(list(map(repr, table.roles.text)))
    return RowDoubt(
        check="constant_text",
        sentence=f"All {len(table):,} rows share {pluralize(n_texts, 'text')} ({names}): is this what the "
        "model reads?",
        count=len(table),
        examples=table.show_rows([0]),
        remedy="--text-column names another column.",
    )


def check_conflicting_labels(table: RowTable) -> RowDoubt | None:
    """Count the rows whose text has another label in another row.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which is open from `MIN_AFFECTED` of the rows on; None for few such rows.
    """
    label = table.roles.label
    # Another check reports a constant text.
    if not label or table.text_codes is None or check_constant_text(table) is not None:
        return None
    # Only a text that repeats can have two labels.
    if count_codes(table.text_codes) == len(table):
        return None
    is_labeled = find_labeled(table.data, label)
    texts = table.text_codes[is_labeled]
    labels = table.encode(label)[is_labeled]
    # The first row of each distinct pair of a text and a label.
    is_new_pair = mark_first(combine_codes(texts, labels))
    n_labels_by_text = np.bincount(texts[is_new_pair], minlength=texts.max(initial=0) + 1)
    has_conflict = n_labels_by_text[texts] > 1
    n_conflicts = int(has_conflict.sum())
    if n_conflicts < max(3, MIN_COPIES * len(table)):
        return None
    return RowDoubt(
        check="conflicting_labels",
        sentence=f"{n_conflicts:,} of {len(table):,} rows have a text that has another label elsewhere.",
        count=n_conflicts,
        examples=table.show_rows(np.flatnonzero(is_labeled)[has_conflict]),
        remedy="--label-column names another column, --known-issues FILE leaves them out.",
        is_open=n_conflicts >= MIN_AFFECTED * len(table),
    )


def check_train_leak(table: RowTable) -> RowDoubt | None:
    """Count the test texts that are training texts as well, whatever their letter case and punctuation.

    Args:
        table: The rows of a split, and the training rows.

    Returns:
        The doubt, which is open from `MIN_AFFECTED` of the texts on; None for few such texts.
    """
    names = table.roles.text
    if table.train is None or table.text_codes is None:
        return None
    # A training split with other columns holds other texts.
    if not set(names) <= set(table.train.column_names):
        return None
    training_texts = normalize_texts(table.train, names).unique()
    is_known = pc.is_in(normalize_texts(table.data, names), value_set=training_texts)
    rows = np.flatnonzero(is_known.to_numpy(zero_copy_only=False))
    if len(rows) < max(3, MIN_COPIES * len(table)):
        return None
    return RowDoubt(
        check="train_leak",
        sentence=f"{len(rows):,} of {len(table):,} texts are in the training texts too.",
        count=len(rows),
        examples=table.show_rows(rows),
        remedy="--known-issues FILE leaves them out of one of the two.",
        is_open=len(rows) >= MIN_AFFECTED * len(table),
    )


def check_several_labels(table: RowTable) -> RowDoubt | None:
    """Count the rows with several labels at once.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt; None if each row has one label.
    """
    label = table.roles.label
    if not label:
        return None
    # Only lists and objects hold several labels. Texts that list labels are refused when they are read.
    column = get_arrow_column(table.data, label)
    if not pa.types.is_nested(column.type) and not isinstance(column.type, pa.JsonType):
        return None
    n_labels = count_labels(read_values(column))
    if n_labels is None:
        return None
    rows = np.flatnonzero(n_labels > 1)
    if not rows.size:
        return None
    return RowDoubt(
        check="several_labels",
        sentence=f"{len(rows):,} of {len(table):,} rows have several labels in {label!r}.",
        count=len(rows),
        examples=table.show_rows(rows),
        remedy="--target all audits each label, --target NAME one.",
    )


def check_rejected_rows(table: RowTable) -> RowDoubt | None:
    """Check for an unused column in which an annotation tool marks rows as rejected.

    Only the statuses of known tools are looked for. Those of other tools, in any language, are listed
    with their counts, and `check_failing_group` finds the ones whose labels do not fit.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, because a person has to say whether the labels of these rows count; None if there is
        no such column.
    """
    for column, counts in table.unused.items():
        rejected = find_statuses(column, counts)
        remaining = [value for value in counts if value not in rejected]
        if not rejected or not remaining:
            continue
        n_rejected = sum(counts[value] for value in rejected)
        condition = format_exclusion(table.data, column, rejected, remaining)
        return RowDoubt(
            check="rejected_rows",
            sentence=f"The column {column!r} is not used ({format_counts(counts)}): {n_rejected:,} of "
            f"{len(table):,} rows are {format_list(rejected)}. Do their labels count?",
            count=n_rejected,
            remedy=f'--where "{condition}" leaves them out.',
        )
    return None


# ------------------------------------------------------------------- what a model answered


def check_class_order(table: RowTable) -> RowDoubt | None:
    """Report that predictions fit the labels far better in another order of the classes.

    Args:
        table: The rows, and what a model answered.

    Returns:
        The doubt; None if no other order fits better, or if a file of errors explains it.
    """
    outcomes = table.outcomes
    if outcomes is None or not outcomes.order_doubt:
        return None
    # Without gold classes, answers are words, whose order is known. If all are incorrect, these are
    # errors that somebody selected, which any other order fits better.
    if outcomes.gold is None and not outcomes.is_correct.any():
        return None
    n_incorrect = int((~outcomes.is_correct).sum())
    return RowDoubt(
        check="class_order",
        sentence=outcomes.order_doubt,
        count=n_incorrect,
        remedy="--label-names gives the names of the classes in the order of the scores.",
    )


def check_failing_group(table: RowTable) -> RowDoubt | None:
    """Check for a value of an unused column whose rows have labels that fit the answers only by chance.

    Rows that annotators rejected form such a group, whatever the language of their status. A group of
    hard items does not: a model that is worse on it is still better than chance.

    Args:
        table: The rows, and what a model answered.

    Returns:
        The doubt about the first such value; None if there is none.
    """
    outcomes = table.outcomes
    if outcomes is None or outcomes.labels is None or outcomes.answers is None:
        return None
    # One of several systems in a table may be poor.
    if check_long_format(table) is not None:
        return None
    n_groups = sum(map(len, table.unused.values()))
    for column, value, in_group in _iterate_groups(table):
        # Only labeled rows have outcomes.
        mask = in_group if outcomes.rows is None else in_group[outcomes.rows]
        if not is_failing_group(outcomes.labels, outcomes.answers, mask, n_tests=n_groups):
            continue
        remaining = [other_value for other_value in table.unused[column] if other_value != value]
        condition = format_exclusion(table.data, column, [value], remaining)
        return RowDoubt(
            check="failing_group",
            sentence=f"The answers to {int(mask.sum()):,} rows in which {column!r} is {shorten(value, 30)!r} "
            f"are correct in {outcomes.is_correct[mask].mean():.0%}, no more often than by chance, "
            f"and in {outcomes.is_correct[~mask].mean():.0%} of the others. Do these labels count?",
            count=int(in_group.sum()),
            remedy=f'--where "{condition}" leaves them out.',
        )
    return None


def check_selected_outcomes(table: RowTable) -> RowDoubt | None:
    """Check whether a file holds only incorrect answers, or only correct ones.

    Args:
        table: The rows, and what a model answered.

    Returns:
        The doubt; None if there are both, only a few answers, or no file.
    """
    outcomes = table.outcomes
    # A model answers all items, but somebody may have selected the rows of a file.
    if outcomes is None or not outcomes.is_stored:
        return None
    n_answers = len(outcomes.is_correct)
    if n_answers < MIN_SELECTED:
        return None
    if not outcomes.is_correct.any():
        return RowDoubt(
            check="selected_outcomes",
            sentence=f"None of {n_answers:,} answers is correct: is this a list of errors?",
            count=n_answers,
            remedy="Audit the whole test set.",
        )
    if outcomes.is_correct.all():
        return RowDoubt(
            check="selected_outcomes",
            sentence=f"All {n_answers:,} answers are correct: are the labels the model's own answers, or "
            "were errors left out?",
            count=n_answers,
            remedy="--label-column names the gold labels.",
        )
    return None


def check_single_class(table: RowTable) -> RowDoubt | None:
    """Check whether all gold labels are one class, although the model knows several.

    Args:
        table: The rows, and what a model answered.

    Returns:
        The doubt; None if there are several classes, or only a few rows.
    """
    outcomes = table.outcomes
    if outcomes is None or outcomes.gold is None or outcomes.n_classes < 2:
        return None
    # With fewer rows this may be an accident: 20 rows have one of two equal classes with p = 2e-6.
    n_rows = len(outcomes.gold)
    if n_rows < MIN_SELECTED or count_codes(outcomes.gold) > 1:
        return None
    return RowDoubt(
        check="single_class",
        sentence=f"All {n_rows:,} gold labels are one of {outcomes.n_classes} classes: is this a part of a "
        "test set?",
        count=n_rows,
        remedy="--label-column names another column.",
    )


CHECKS: Mapping[str, Callable[[RowTable], RowDoubt | None]] = {
    "rejected_rows": check_rejected_rows,
    "long_format": check_long_format,
    "choice_rows": check_choice_rows,
    "failing_group": check_failing_group,
    "constant_text": check_constant_text,
    "several_labels": check_several_labels,
    "class_order": check_class_order,
    "selected_outcomes": check_selected_outcomes,
    "single_class": check_single_class,
    "conflicting_labels": check_conflicting_labels,
    "train_leak": check_train_leak,
    "repeated_ids": check_repeated_ids,
    "repeated_rows": check_repeated_rows,
    "repeated_texts": check_repeated_texts,
    "near_duplicates": check_near_duplicates,
}
"""Name of a check -> the check; the order is that of the report."""


# ----------------------------------------------------------------------------- sentences


def describe_unused_columns(table: RowTable) -> str:
    """Return a sentence with the unused columns of few values and their counts; "" for none.

    One of them may say which rows count.

    Args:
        table: The rows of a split, with the roles of their columns.

    Example:
        >>> rows = datasets.Dataset.from_dict({"text": ["a", "b", "c"], "answer": ["yes", "no", "no"]})
        >>> describe_unused_columns(RowTable(rows, RowRoles(("text",))))
        'Not used: answer (no 2, yes 1).'
    """
    names = [name for name, counts in table.unused.items() if len(counts) > 1]
    if not names:
        return ""
    columns = []
    for name in names[:MAX_UNUSED_COLUMNS]:
        columns.append(f"{name} ({format_counts(table.unused[name])})")
    listing = "; ".join(columns)
    remaining = names[MAX_UNUSED_COLUMNS:]
    if remaining:
        listing += f"; and {pluralize(len(remaining), 'more column')}: {format_list(remaining)}"
    return f"Not used: {listing}."


def format_counts(counts: Mapping[str, int]) -> str:
    """Return values with their counts, as in "reject 352, accept 90"."""
    phrases = []
    for value, count in counts.items():
        name = shorten(value, 30) or "(empty)"
        phrases.append(f"{name} {count:,}")
    return ", ".join(phrases)


def format_condition(data: datasets.Dataset, column: str, value: str) -> str:
    """Return the expression of `--where` that keeps the rows of one value."""
    return f"{quote_column(column)} == {_format_literal(data, column, value)}"


def format_exclusion(
    data: datasets.Dataset, column: str, rejected: Sequence[str], remaining: Sequence[str]
) -> str:
    """Return the shortest expression of `--where` that leaves out some values of a column.

    Args:
        data: The rows.
        column: The column.
        rejected: The values to leave out.
        remaining: All other values; a single one is easier to require.
    """
    if len(remaining) == 1:
        return format_condition(data, column, remaining[0])
    literals = [_format_literal(data, column, value) for value in rejected]
    if len(literals) == 1:
        return f"{quote_column(column)} != {literals[0]}"
    return f"{quote_column(column)} not in [{', '.join(literals)}]"


def _format_literal(data: datasets.Dataset, column: str, value: str) -> str:
    """Return a value of a column as an expression writes it: texts are quoted."""
    is_text = pa.types.is_string(get_arrow_column(data, column).type)
    return repr(value) if is_text else value


def shorten(text: str, length: int = 60) -> str:
    """Return a text on one line, truncated to a length."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[:length]}…"


# ------------------------------------------------------------------------------- private


def _iterate_groups(table: RowTable) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Yield the groups of rows that share a value of an unused column.

    A column whose value determines the correctness of answers was made from them, and is skipped.

    Args:
        table: The rows, and what a model answered.

    Yields:
        The column, the value ("" for a missing one), and (N,) whether a row has it.
    """
    outcomes = table.outcomes
    if outcomes is None:
        return
    correctness_codes = outcomes.is_correct.astype(np.int64)
    for column in table.unused:
        codes = table.encode(column)
        labeled_codes = codes if outcomes.rows is None else codes[outcomes.rows]
        pairs = combine_codes(labeled_codes, correctness_codes)
        # As many pairs as values: each value has one outcome.
        if count_codes(pairs) == count_codes(labeled_codes):
            continue
        for row in find_first_rows(codes):
            value = table.data[int(row)][column]
            name = "" if value is None else str(value)
            yield column, name, codes == codes[row]


def _get_unit(table: RowTable) -> tuple[str, Codes]:
    """Return what identifies the items of a table if rows are not separate items.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        A phrase such as "by 'id'" and (N,) the number of the item of each row: by the id, or else by
        the text, or else by an unused column whose values all occur equally often.
    """
    if table.roles.id:
        return f"by {table.roles.id!r}", table.encode(table.roles.id)
    if table.text_codes is not None:
        return "by their text", table.text_codes
    name = _find_crossed_column(table)
    if name:
        return f"by {name!r}", table.encode(name)
    # Each row is an item.
    return "", np.arange(len(table), dtype=np.int64)


def _find_crossed_column(table: RowTable) -> str:
    """Return an unused column with many values that all occur equally often; "" for none.

    Items that several systems answer occur equally often; other categories hardly do.

    Args:
        table: The rows of a split, with the roles of their columns.
    """
    for name in table.data.column_names:
        column = get_arrow_column(table.data, name)
        is_code = pa.types.is_string(column.type) or pa.types.is_integer(column.type)
        if name in table.roles.used or column.null_count or not is_code:
            continue
        sizes = np.bincount(table.encode(name))
        if len(sizes) >= MIN_ROWS and sizes.min() == sizes.max() > 1:
            return str(name)
    return ""


def _list_arm_columns(table: RowTable) -> dict[str, list[str]]:
    """Return the unused columns that may name the system, seed or rater of a row.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        Column of 2 to `MAX_ARMS` values -> its values, columns of texts before those of numbers.
    """
    text_columns = {}
    number_columns = {}
    for name in table.data.column_names:
        if name in table.roles.used:
            continue
        column = get_arrow_column(table.data, name)
        is_text = pa.types.is_string(column.type)
        if column.null_count or not (is_text or pa.types.is_integer(column.type)):
            continue
        # One value more than allowed shows that there are too many.
        distinct_values = column.unique()[: MAX_ARMS + 1].to_pylist()
        if not 1 < len(distinct_values) <= MAX_ARMS:
            continue
        values = list(map(str, distinct_values))
        if is_text:
            text_columns[name] = values
        else:
            number_columns[name] = values
    return {**text_columns, **number_columns}
