"""Checks of the rows of a table, before any figure is computed from them.

`check_rows` runs the checks of `CHECKS` on a `RowTable`: the rows of one split, the roles of its
columns, and the answers of a model, if they are known. Each check returns None or a `RowDoubt`: a
sentence, a count, a few examples, and the options that settle it. An open doubt withholds good and
bad verdicts until the user settles it; the others only inform.

The checks do not question the roles of the columns, which headings or the user determined.
"""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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
from rightreasons.io.logs import UNIT_LINKS
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

CHOICES = "choices"
"""Column of the choices of multiple-choice items."""

MAX_ARMS = 20
"""Maximum number of values of a column that may name the system, seed or rater of a row."""

MIN_AFFECTED = 0.05
"""Share of rows from which a conflict or a leak of texts becomes a doubt."""

MIN_SELECTED = 20
"""Minimum number of rows for a doubt if all answers are correct or all incorrect, or all labels one class."""

MAX_NEAR_DUPLICATE_TEXTS = 200_000
"""Maximum number of rows of a table that is searched for near-duplicates: 500,000 rows take a second."""

MAX_UNUSED_COLUMNS = 8
"""Maximum number of unused columns that are printed with their counts."""

N_EXAMPLES = 3

EXACT_CHECKS = ("long_format", "answer_copies", "repeated_ids", "repeated_rows")
"""Checks that also apply to tables of fewer than `MIN_ROWS` rows: what they find does not repeat by accident."""


@dataclasses.dataclass(frozen=True)
class RowDoubt(Result):
    """A possible fault of the rows of a table, such as repeated ids.

    Attributes:
        check: Name of the check, a key of `CHECKS`.
        sentence: The fault, with the number of rows.
        count: Number of rows concerned.
        examples: Descriptions of up to three of these rows.
        remedy: Advice that names options of the command line; "" if there is none.
        is_open: Whether the doubt withholds good and bad verdicts until the user settles it.
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
    """The columns of a table by their roles.

    Attributes:
        text: Columns of the input of a model: text and second text, or prompt and choices.
        label: Column of the gold labels; "" if there is none.
        answer: Column of the model's answers; "" if there is none.
        id: Column of the ids; "" if there is none.
        copied_row: Column with the number of the first row that equals each row; "" if there is no such column.
        further: Other columns that are used, such as scores.
        has_known_copies: Whether copies were searched for when the rows were read. If so, an empty `copied_row` means
            that there are none.
        item_id: Column of the ids by which examples are named; "" for the numbers of their rows.
        has_positions: Whether the labels are positions of the correct choices in the column "choices", from 0. The
            cells of a file may count from 1, or contain letters or the choices themselves.
    """

    text: tuple[str, ...] = ()
    label: str = ""
    answer: str = ""
    id: str = ""
    copied_row: str = ""
    further: tuple[str, ...] = ()
    has_known_copies: bool = False
    item_id: str = ""
    has_positions: bool = False

    @property
    def used(self) -> set[str]:
        """All columns that have a role."""
        return {*self.text, self.label, self.answer, self.id, self.copied_row, *self.further} - {""}


@dataclasses.dataclass(frozen=True, eq=False)
class Outcomes:
    """The answers of a model to the M labeled rows of a table, and whether they are correct.

    Attributes:
        is_correct: (M,) whether the answer to each labeled row is correct.
        rows: (M,) indices of the labeled rows; None if all rows are labeled.
        labels: (M,) gold labels as codes; None if only correctness is known.
        answers: (M,) answers as codes of `labels`, -1 for an answer that is not a label; None if only correctness is
            known.
        gold: (M,) gold classes; None if the classes are unknown.
        n_classes: Number of classes; 0 if it is unknown or differs between items.
        order_doubt: The sentence of `suggest_class_order`; "" if no other order of the classes fits better.
        is_stored: Whether the answers come from a file, which may have been filtered.
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
        data: The N rows.
        roles: The roles of the columns.
        outcomes: The answers of a model, and whether they are correct; None if they are unknown.
        train: The training rows, whose columns of text have the same names; None if there are none.
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
        """(N,) codes of the inputs of the rows, equal for equal inputs; None if the table has no texts."""
        if not self.roles.text:
            return None
        codes = encode_rows(self.data, self.roles.text)
        # Predictions without texts are stored with empty texts, which are all equal.
        has_one_text = codes.max(initial=0) == 0
        example = self.data[0]
        is_empty = not any(example[name] for name in self.roles.text)
        return None if is_empty and has_one_text else codes

    @functools.cached_property
    def unused(self) -> dict[str, Counter[str]]:
        """Column without a role and with few distinct values -> the count of each value."""
        counts_by_column = {}
        for name in self.data.column_names:
            if name not in self.roles.used:
                counts = count_few_values(self.data, name)
                if counts:
                    counts_by_column[name] = counts
        return counts_by_column

    def encode(self, name: str) -> Codes:
        """Return (N,) codes of the values of a column: equal values have equal codes."""
        if name not in self._codes:
            self._codes[name] = encode_rows(self.data, (name,))
        return self._codes[name]

    def show_rows(self, rows: Sequence[int] | NDArray[np.intp]) -> tuple[str, ...]:
        """Describe the first `N_EXAMPLES` of some rows, such as "row 7 (A fine film.)".

        Args:
            rows: Indices of the rows. Each is described by its text, or else by its id.
        """
        column = self.roles.text[0] if self.roles.text else self.roles.id
        examples = []
        for row in list(rows)[:N_EXAMPLES]:
            example = f"row {row}"
            # The rows of an audit are not in the order of the file.
            if self.roles.item_id:
                example = f"item {self.data[int(row)][self.roles.item_id]}"
            if column:
                value = str(self.data[int(row)][column])
                example += f" ({shorten(value)})"
            examples.append(example)
        return tuple(examples)


def check_rows(table: RowTable, settled: Sequence[str] = ()) -> list[RowDoubt]:
    """Run all checks on the rows of a table, before any figure is computed from them.

    Args:
        table: The rows, the roles of their columns, and the answers of a model.
        settled: Names of checks whose doubts the user settled; see `settle_doubts`.

    Returns:
        The doubts that were found, in the order of `settle_doubts`.

    Example:
        >>> rows = datasets.Dataset.from_dict({"id": [*"abcdef"] * 2, "text": [*"ghijkl"] * 2})
        >>> [doubt.check for doubt in check_rows(RowTable(rows, RowRoles(("text",), id="id")))]
        ['repeated_ids', 'repeated_rows']
    """
    doubts = []
    for name, check in CHECKS.items():
        # In a small table, values repeat by accident.
        if len(table) < MIN_ROWS and name not in EXACT_CHECKS:
            continue
        doubt = check(table)
        if doubt is not None:
            doubts.append(doubt)
    return settle_doubts(doubts, settled)


def settle_doubts(doubts: Iterable[RowDoubt], settled: Sequence[str] = ()) -> list[RowDoubt]:
    """Close the doubts that a user settled, and sort all doubts as a report lists them.

    Args:
        doubts: Doubts of one or several tables.
        settled: Names of checks whose doubts withhold no verdicts; "all" for every check.

    Returns:
        The doubts: open ones first, otherwise in the order of `CHECKS`.
    """
    settled_doubts = []
    for doubt in doubts:
        if doubt.check in settled or "all" in settled:
            doubt = dataclasses.replace(doubt, is_open=False)
        settled_doubts.append(doubt)
    check_order = list(CHECKS)
    return sorted(
        settled_doubts,
        key=lambda doubt: (not doubt.is_open, check_order.index(doubt.check)),
    )


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
    id_phrase, item_codes = _identify_items(table)
    n_items = count_codes(item_codes)
    # A few repeats are faults of a file, and not its structure.
    if len(table) < 1.5 * n_items:
        return None
    for column, values in _list_arm_columns(table).items():
        arm_codes = table.encode(column)
        # The rows are distinct pairs of an item and a value of the column.
        is_unique = count_codes(combine_codes(item_codes, arm_codes)) == len(table)
        # Otherwise, items have to repeat equally often for each value. A single item always does.
        if not is_unique and (n_items < 2 or not are_crossed(item_codes, arm_codes)):
            continue
        share = "one for each of" if is_unique else "each with all"
        return RowDoubt(
            check="long_format",
            sentence=f"{pluralize(n_items, 'item')} ({id_phrase}) fill {len(table):,} rows, {share} "
            f"{len(values)} values of {column!r} ({format_list(values[:4])}): are these several "
            "systems, seeds or raters in one table?",
            count=len(table),
            remedy=f'--where "{format_condition(table.data, column, values[0])}" keeps one, '
            f"--by {column} audits each.",
        )
    return None


def check_choice_rows(table: RowTable) -> RowDoubt | None:
    """Check whether each row is one choice of a multiple-choice item, instead of a whole item.

    In such a table, a column of two values marks exactly one row of each item as the correct choice.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which names the column; None if rows are separate items.
    """
    id_phrase, item_codes = _identify_items(table)
    n_items = count_codes(item_codes)
    # With two rows per item, a column of two values often has one of each by chance.
    if len(table) <= 2 * n_items:
        return None
    for name in (table.roles.label, *table.roles.further):
        if name not in table.data.column_names:
            continue
        flags = table.encode(name)
        if count_codes(flags) != 2:
            continue
        # Either of the two values may be the mark of the correct choice.
        for flag in (0, 1):
            n_marked_by_item = np.bincount(item_codes[flags == flag], minlength=n_items)
            if not (n_marked_by_item == 1).all():
                continue
            return RowDoubt(
                check="choice_rows",
                sentence=f"{pluralize(n_items, 'item')} ({id_phrase}) fill {len(table):,} rows, of which {name!r} "
                "marks one each: are these the choices of items, a row each?",
                count=len(table),
                remedy="Choices are read from one row per item, with a list of its choices.",
            )
    return None


def check_repeated_ids(table: RowTable) -> RowDoubt | None:
    """Count the rows that repeat an id; confidence intervals treat the rows of one id as one unit.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which does not withhold verdicts; None if all ids are distinct.
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
    """Count the rows that are copies of an earlier row; confidence intervals treat copies as one unit.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which does not withhold verdicts; None if there are few copies.
    """
    copied_row = table.roles.copied_row
    # The items of an audit have distinct ids, so their copies were searched for when they were read.
    if table.roles.has_known_copies and not copied_row:
        return None
    if not table.roles.has_known_copies and not _can_have_copies(table):
        return None
    compared_columns = (copied_row,) if copied_row else None
    is_copy = find_copies(table.data, compared_columns)
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
    """Return whether a table may have copied rows.

    With texts, a text has to repeat. Without texts, rows may be equal by accident: see `are_copies`.
    """
    if table.text_codes is None:
        return are_copies(table.data)
    return count_codes(table.text_codes) < len(table)


def check_repeated_texts(table: RowTable) -> RowDoubt | None:
    """Check whether texts occur twice or more on average, in rows that differ otherwise.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which does not withhold verdicts; None if texts hardly repeat, if another check explains it, or if
        the rows of a text are one unit already.
    """
    if table.text_codes is None:
        return None
    n_texts = count_codes(table.text_codes)
    if 2 * n_texts > len(table):
        return None
    # Other checks report several systems, repeated ids, copies and a constant text.
    for check in (check_long_format, check_repeated_ids, check_repeated_rows, check_constant_text):
        if check(table) is not None:
            return None
    # Rows of one unit are resampled together, so that their texts may repeat.
    for link in UNIT_LINKS:
        if link in table.data.column_names:
            pairs = combine_codes(table.text_codes, table.encode(link))
            if count_codes(pairs) == n_texts:
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
        The doubt, which does not withhold verdicts; None if there are few such texts, or the table is very large.
    """
    if table.text_codes is None or len(table) > MAX_NEAR_DUPLICATE_TEXTS:
        return None
    # Another check counts equal texts, so only the first row of each text is compared.
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
    """Check whether all rows have the same text, or fewer texts than labels.

    The model can hardly predict labels from such a column, so another one may contain its input.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt; None if there are enough texts, or if the table has no texts.
    """
    if table.text_codes is None:
        return None
    n_texts = count_codes(table.text_codes)
    # Texts can only determine the labels if there are at least as many texts as labels.
    n_labels = 1
    if table.roles.label:
        n_labels = count_codes(table.encode(table.roles.label))
    # The labels of a regression are nearly as many as the rows, so their number is limited.
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
        The doubt, which withholds verdicts if it affects a share of `MIN_AFFECTED` of the rows or more;
        None if there are few such rows.
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
    # Each distinct pair of a text and a label is counted once, so a text counts its distinct labels.
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


def check_answer_copies(table: RowTable) -> RowDoubt | None:
    """Count the multiple-choice items whose correct choice occurs again among the other choices.

    An answer that picks the copy is as correct as the label, but counts as incorrect.

    Args:
        table: The items of a split. Tables whose labels are not positions are not checked.

    Returns:
        The doubt, which withholds verdicts if it affects a share of `MIN_AFFECTED` of the rows or more;
        None if there are few such rows.
    """
    label = table.roles.label
    if not table.roles.has_positions or CHOICES not in table.roles.text:
        return None
    rows = []
    for row, (choices, position) in enumerate(
        zip(table.data[CHOICES], table.data[label], strict=True)
    ):
        # A negative position is a missing label.
        if not isinstance(position, int) or not 0 <= position < len(choices):
            continue
        if choices.count(choices[position]) > 1:
            rows.append(row)
    if len(rows) < max(3, MIN_COPIES * len(table)):
        return None
    return RowDoubt(
        check="answer_copies",
        sentence=f"{len(rows):,} of {len(table):,} items contain their correct choice twice, so that an "
        "answer that picks the copy counts as incorrect.",
        count=len(rows),
        examples=table.show_rows(rows),
        remedy="--known-issues FILE leaves them out, by the rule equal_choices: {with_answer: true}.",
        is_open=len(rows) >= MIN_AFFECTED * len(table),
    )


def check_train_leak(table: RowTable) -> RowDoubt | None:
    """Count the test texts that are training texts as well, up to letter case, spaces and punctuation.

    Args:
        table: The rows of a split, and the training rows.

    Returns:
        The doubt, which withholds verdicts if it affects a share of `MIN_AFFECTED` of the texts or more;
        None if there are few such texts.
    """
    names = table.roles.text
    if table.train is None or table.text_codes is None:
        return None
    # A training split without these columns cannot be compared.
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
    # Only lists and objects can contain several labels here: the reader refuses strings such as "joy, fear".
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

    Only the statuses of known tools, such as "reject", are recognized. `check_failing_group` may find
    rejected rows of other tools, in any language, by their labels.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        The doubt, which asks whether the labels of these rows count; None if there is no such column.
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


# ------------------------------------------------------------------- answers of a model


def check_class_order(table: RowTable) -> RowDoubt | None:
    """Report that predictions fit the labels far better in another order of the classes.

    Args:
        table: The rows of a split, and `outcomes`: the answers of a model, and whether each is correct.

    Returns:
        The doubt; None if no other order fits better, or if the file contains only errors of a model.
    """
    outcomes = table.outcomes
    if outcomes is None or not outcomes.order_doubt:
        return None
    # Without gold classes, answers are words, which have no order to confuse. If all are incorrect,
    # somebody selected the errors of a model, which any other order fits better.
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
    """Check for a group of rows in which answers agree with labels no more often than by chance.

    A group is the rows with one value in an unused column. Rows that annotators rejected are such a
    group, whatever the language of their status. Hard items are not: a model that is worse on them is
    still better than chance.

    Args:
        table: The rows of a split, and `outcomes`: the answers of a model, and whether each is correct.

    Returns:
        The doubt about the first such group; None if there is none.
    """
    outcomes = table.outcomes
    if outcomes is None or outcomes.labels is None or outcomes.answers is None:
        return None
    # In a table of several systems, the rows of a poor one would be such a group.
    if check_long_format(table) is not None:
        return None
    n_groups = sum(map(len, table.unused.values()))
    for column, value, in_group in _iterate_groups(table):
        # The mask selects from the labeled rows, because only they have outcomes.
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
    """Check whether a file contains only incorrect answers, or only correct ones.

    Args:
        table: The rows of a split, and `outcomes`: the answers of a model, and whether each is correct.

    Returns:
        The doubt; None if some answers are correct and some are not, if there are fewer than
        `MIN_SELECTED` answers, or if the answers do not come from a file.
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
        table: The rows of a split, and `outcomes`: the answers of a model, and whether each is correct.

    Returns:
        The doubt; None if the labels have several classes, or if there are fewer than `MIN_SELECTED`
        rows.
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
    "answer_copies": check_answer_copies,
    "train_leak": check_train_leak,
    "repeated_ids": check_repeated_ids,
    "repeated_rows": check_repeated_rows,
    "repeated_texts": check_repeated_texts,
    "near_duplicates": check_near_duplicates,
}
"""Name of a check -> the check; the order is that of the report."""


# ----------------------------------------------------------------------------- sentences


def describe_unused_columns(table: RowTable) -> str:
    """Return a sentence with the unused columns that have few values, and the counts of these values.

    A user may recognize a column that shows which rows to leave out. The sentence is "" if there is no
    such column.

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
    """Return the expression of `--where` that keeps the rows of one value, such as `year == 2020`."""
    return f"{quote_column(column)} == {_format_literal(data, column, value)}"


def format_exclusion(
    data: datasets.Dataset, column: str, rejected: Sequence[str], remaining: Sequence[str]
) -> str:
    """Return the shortest expression of `--where` that leaves out some values, such as `year != 2020`.

    Args:
        data: The rows.
        column: The column with these values.
        rejected: The values to leave out.
        remaining: All other values of the column.
    """
    # It is shorter to keep a single value than to leave out several.
    if len(remaining) == 1:
        return format_condition(data, column, remaining[0])
    literals = [_format_literal(data, column, value) for value in rejected]
    if len(literals) == 1:
        return f"{quote_column(column)} != {literals[0]}"
    return f"{quote_column(column)} not in [{', '.join(literals)}]"


def _format_literal(data: datasets.Dataset, column: str, value: str) -> str:
    """Return a value as a literal of an expression: in quotes if its column contains strings."""
    is_text = pa.types.is_string(get_arrow_column(data, column).type)
    return repr(value) if is_text else value


def shorten(text: str, length: int = 60) -> str:
    """Return a text on one line, truncated to a length."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[:length]}…"


# ------------------------------------------------------------------------------- private


def _iterate_groups(table: RowTable) -> Iterator[tuple[str, str, NDArray[np.bool_]]]:
    """Yield the groups of rows that share a value of an unused column.

    A column that determines which answers are correct was derived from them, and is skipped.

    Args:
        table: The rows of a split, and `outcomes`: the answers of a model, and whether each is correct.

    Yields:
        The column, its value as a string ("" for a missing value), and (N,) whether each row has it.
    """
    outcomes = table.outcomes
    if outcomes is None:
        return
    correctness_codes = outcomes.is_correct.astype(np.int64)
    for column in table.unused:
        codes = table.encode(column)
        labeled_codes = codes if outcomes.rows is None else codes[outcomes.rows]
        pairs = combine_codes(labeled_codes, correctness_codes)
        # With as many pairs as values, the answers of a value are all correct or all incorrect.
        if count_codes(pairs) == count_codes(labeled_codes):
            continue
        for row in find_first_rows(codes):
            value = table.data[int(row)][column]
            name = "" if value is None else str(value)
            yield column, name, codes == codes[row]


def _identify_items(table: RowTable) -> tuple[str, Codes]:
    """Return which rows belong to the same item, and a phrase on how items were identified.

    Items are identified by their id, or else by their text, or else by an unused column whose values
    all occur equally often. Without such a column, each row is an item.

    Args:
        table: The N rows of a split, with the roles of their columns.

    Returns:
        A phrase such as "by 'id'", and (N,) codes that are equal for rows of the same item.
    """
    if table.roles.id:
        return f"by {table.roles.id!r}", table.encode(table.roles.id)
    if table.text_codes is not None:
        return "by their text", table.text_codes
    name = _find_balanced_column(table)
    if name:
        return f"by {name!r}", table.encode(name)
    return "", np.arange(len(table), dtype=np.int64)


def _find_balanced_column(table: RowTable) -> str:
    """Return an unused column with many values that all occur equally often; "" if there is none.

    Such a column may identify items that several systems answered. Other categories rarely occur
    equally often.

    Args:
        table: The rows of a split, with the roles of their columns.
    """
    for name in table.data.column_names:
        column = get_arrow_column(table.data, name)
        can_be_id = pa.types.is_string(column.type) or pa.types.is_integer(column.type)
        if name in table.roles.used or column.null_count or not can_be_id:
            continue
        counts = np.bincount(table.encode(name))
        has_many_values = len(counts) >= MIN_ROWS
        if has_many_values and counts.min() == counts.max() > 1:
            return str(name)
    return ""


def _list_arm_columns(table: RowTable) -> dict[str, list[str]]:
    """Return the unused columns that may name the system, seed or rater of a row.

    Args:
        table: The rows of a split, with the roles of their columns.

    Returns:
        Column of 2 to `MAX_ARMS` distinct values -> these values as strings. Columns of strings come before
        columns of numbers.
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
        # One value more than allowed is enough to see that there are too many.
        distinct_values = column.unique()[: MAX_ARMS + 1].to_pylist()
        if not 1 < len(distinct_values) <= MAX_ARMS:
            continue
        values = list(map(str, distinct_values))
        if is_text:
            text_columns[name] = values
        else:
            number_columns[name] = values
    return {**text_columns, **number_columns}
