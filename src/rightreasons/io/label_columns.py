"""Columns of labels: single labels, lists, shares or votes of classes, or one column for each of several labels.

`read_labels` reads the labels of all splits of a data set. `write_label_expressions` returns an expression for each of
several labels per row, so that an audit can read one label at a time.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rightreasons.core.errors import OptionError, attach_options
from rightreasons.core.labels.ids import LabelColumn, resolve_label_columns, resolve_labels
from rightreasons.core.labels.names import check_label_names, fold_name
from rightreasons.core.labels.values import MULTI_LABEL_HINT, MULTI_LABEL_OPTIONS, NO_GOLD_LABEL
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.sentences import format_list, format_value
from rightreasons.io.cells import (
    are_numeric,
    drop_missing,
    is_list_of_one,
    list_labels,
    parse_cell,
    unwrap_value,
)
from rightreasons.io.columns import (
    Column,
    find_column,
    get_arrow_column,
    get_cells,
    get_values,
    quote_column,
    write_expression,
)
from rightreasons.io.headings import LABEL_HEADINGS, USUAL_HEADINGS

REMEDY = (
    "Name the classes with label_names=, or rename labels as in label_names='old=new,…', set "
    "first_label= to the first number, or choose another column with label_column="
)

MAX_SHARE_ERROR = 0.01
"""Maximum difference of the sum of shares from 1, as an effect of rounding."""

_MISSING_LABELS = ("", "-1", NO_GOLD_LABEL)


class NamedLabels(LazyArrowColumn):
    """The names of labels that are stored as numbers, with class names as a ClassLabel of `datasets`.

    Attributes:
        names: The names of the K classes.
        numbers: (N,) numbers of the labels; None or -1 for a row without a label.
    """

    def __init__(
        self, numbers: Column, names: Sequence[str], column: str, source_name: object
    ) -> None:
        """Look up the name of each label.

        Args:
            numbers: (N,) numbers of the labels; None or -1 for a row without a label.
            names: The names of the K classes.
            column: Name of the column, for error messages.
            source_name: Name of the file, for error messages.

        Raises:
            ValueError: If a number is not that of a class.
        """
        self.names = tuple(names)
        self.numbers = numbers
        filled_numbers = pc.fill_null(pa.array(numbers, pa.int64()), -1)
        ids = np.asarray(filled_numbers.to_numpy(zero_copy_only=False))
        is_unknown = (ids < -1) | (ids >= len(names))
        if is_unknown.any():
            row = int(is_unknown.argmax())
            raise ValueError(
                f"Expected labels from 0 to {len(names) - 1} ({format_list(names)}) in the column "
                f"{column!r} of {source_name}, but row {row} holds {ids[row]}."
            )
        # Masked positions become nulls, for rows without a label.
        positions = pa.array(ids, mask=ids < 0)
        super().__init__(pa.array(self.names, pa.string()).take(positions))


# ------------------------------------------------------------------------- the labels of splits


@attach_options("label_names", "first_label", "label_column")
def read_labels(
    parts: Mapping[str, tuple[datasets.Dataset, str]],
    label_names: Sequence[str] | None,
    first_label: int | None,
    source_name: str,
    *,
    remedy: str = REMEDY,
) -> dict[str, LabelColumn]:
    """Read the labels of all splits as numbers of the same classes; see `core.labels` for the rules.

    The classes are those that the user names, or else the names of a ClassLabel, or else the distinct
    labels. A ClassLabel with other names, or with the same names in another order, is matched by name.

    Args:
        parts: Name of a split -> its table and the column of its labels.
        label_names: The names of the classes in the order of their numbers, or a new name for each
            label, such as "true=POSITIVE"; None to derive them from the data.
        first_label: The number of the first class if labels are numbers, 0 or 1; None to derive it.
        source_name: Name of the data set, for error messages.
        remedy: Advice on labels that are in doubt, for error messages.

    Returns:
        Name of a split -> its labels. All splits have the same classes.
    """
    location_by_split: dict[str, str] = {}
    values_by_location: dict[str, Column] = {}
    known_names: Sequence[str] | None = None
    for split, (data, column) in parts.items():
        location = f"the column {column!r} of {source_name}"
        if len(parts) > 1:
            location += f" (split {split})"
        labels = select_single_labels(get_labels(data, column, source_name), location)
        if known_names is None and isinstance(labels, NamedLabels):
            known_names = labels.names
        location_by_split[split] = location
        values_by_location[location] = labels

    # Labels are renamed before they become numbers of classes.
    new_names = parse_renamed_labels(label_names)
    if new_names:
        for location, values in values_by_location.items():
            values_by_location[location] = rename_values(values, new_names, location)
        known_names = tuple(dict.fromkeys(new_names.values()))
    elif label_names is not None:
        known_names = check_label_names(label_names)

    label_column_by_location: dict[str, LabelColumn] = {}
    for columns in _group_splits(values_by_location):
        label_column_by_location |= resolve_label_columns(
            columns, known_names, first=first_label, remedy=remedy
        )
    labels_by_split = {}
    for split, location in location_by_split.items():
        labels_by_split[split] = label_column_by_location[location]
    return labels_by_split


def _group_splits(values: Mapping[str, Column]) -> list[dict[str, Column]]:
    """Group the label columns of splits that are matched with the classes together.

    Plain labels form one group, because only all splits together may show whether numbers begin at 0 or
    1. Each column with class names is a separate group, because splits may differ in the spelling.

    Args:
        values: Location of a column, such as "the column 'label' of x.csv (split test)" -> its labels.

    Returns:
        Groups of columns by their locations.
    """
    plain_columns: dict[str, Column] = {}
    groups: list[dict[str, Column]] = []
    for location, column in values.items():
        if isinstance(column, NamedLabels):
            groups.append({location: column})
        else:
            plain_columns[location] = column
    if plain_columns:
        groups.insert(0, plain_columns)
    return groups


def get_labels(data: datasets.Dataset, column: str, source_name: str) -> Column:
    """Return the labels in a column, with their names if the column is a ClassLabel of `datasets`.

    Args:
        data: The table.
        column: The column of labels, or of lists of labels.
        source_name: Name of the table, for error messages.

    Returns:
        (N,) labels. Lists of numbers of a ClassLabel become lists of names, or single labels if each list
        has at most one.
    """
    values = get_cells(get_arrow_column(data, column))
    feature = data.features[column]
    # The feature of a list column has the feature of its members as an attribute.
    inner_feature = getattr(feature, "feature", None)
    if isinstance(inner_feature, datasets.ClassLabel):
        # A missing list is None, and has no labels.
        rows = [row or () for row in values]
        max_labels = max(map(len, rows), default=0)
        if max_labels > 1:
            return [_name_labels(row, inner_feature.names) for row in rows]
        values = [row[0] if row else None for row in rows]
        feature = inner_feature
    if isinstance(feature, datasets.ClassLabel):
        return NamedLabels(values, feature.names, column, source_name)
    return values


def _name_labels(row: Sequence[int], names: Sequence[str]) -> list[str]:
    return [names[number] for number in row]


# ---------------------------------------------------------------------------- one label per row


@dataclasses.dataclass(frozen=True)
class ListForm:
    """The meaning of the lists in a column of labels. Lists may also be shares, or several labels.

    Attributes:
        has_one_length: Whether all lists have the same length.
        are_counts: Whether they contain the number of votes for each class, such as [3, 0, 2].
        are_votes: Whether they contain the label of each vote, such as ["up", "down", "up"].
    """

    has_one_length: bool
    are_counts: bool
    are_votes: bool


def select_single_labels(labels: Column, location: str) -> Column:
    """Reduce shares or votes of classes to the likeliest class of each row; plain labels are not changed.

    A cell may contain:

    - shares: a list of numbers in the order of the classes that add up to 1, or an object by class;
    - votes: an object by class, a list with the number of votes for each class, whose sum is the same
      in all rows, or a list of labels, some of which repeat in a row;
    - a list of one label.

    Args:
        labels: (N,) cells of a column.
        location: The column and the table, for error messages.

    Returns:
        (N,) labels; None for a row in which two classes are equally likely.

    Raises:
        OptionError: If a row has several labels.

    Example:
        >>> select_single_labels([[0, 1], {"up": 0.75, "down": 0.25}, [0.5, 0.5], "down"], "the labels")
        [1, 'up', None, 'down']
        >>> select_single_labels([[2, 0, 2], [1, 1]], "votes of three and of two")
        [2, 1]
        >>> select_single_labels([[2, 3], [4, 1]], "counts")
        [1, 0]
    """
    if isinstance(labels, NamedLabels):
        return labels
    # The first cell shows whether the column contains lists or objects.
    if not _may_hold_several(next(iter(labels), None)):
        return labels
    cells = []
    lists = []
    for cell in labels:
        value = parse_cell(cell)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, list):
            value = _unwrap_members(value)
            lists.append(value)
        cells.append(value)
    _refuse_several_marks(cells, location)
    form = _describe_lists(lists)
    selected: list[Any] = []
    for row, cell in enumerate(cells):
        shares = _get_shares(cell, form)
        if shares is not None:
            selected.append(_select_likeliest(shares))
            continue
        label = unwrap_value(cell)
        if isinstance(label, (dict, list)):
            raise OptionError(
                f"Expected one label per row in {location}, or shares of classes that add up to "
                f"1, but row {row} holds {format_value(cell, 40)}. {MULTI_LABEL_HINT}.",
                option=MULTI_LABEL_OPTIONS,
            )
        selected.append(label)
    return selected


def _unwrap_members(values: list[Any]) -> list[Any]:
    """Return votes without the list that annotation tools put around each vote: ["up"] for [["up"], []].

    An empty list is that of an annotator who did not vote, and is dropped. Other lists are not changed.
    """
    has_inner_lists = any(isinstance(value, list) for value in values)
    if not has_inner_lists:
        return values
    votes = map(unwrap_value, values)
    return [vote for vote in votes if vote != []]


def _may_hold_several(cell: Any) -> bool:
    """Return whether a cell is a list or an object, or a string of JSON that may be one."""
    if isinstance(cell, (list, dict, np.ndarray)):
        return True
    return str(cell).lstrip()[:1] in ("[", "{")


def _describe_lists(lists: Sequence[list[Any]]) -> ListForm:
    """Return what the lists in a column of labels mean: numbers of votes, single votes, or neither.

    Args:
        lists: The lists of all rows, such as [[3, 0], [1, 2]] or [["up", "up"], ["down", "up"]].
    """
    values = list(itertools.chain.from_iterable(lists))
    value_types = set(map(type, values))
    has_one_length = len(set(map(len, lists))) == 1
    # Integers 0 and 1 may be marks of labels as well, so numbers of votes need a larger one.
    has_counts = value_types == {int} and max(values) > 1
    are_counts = False
    if has_counts and has_one_length and len(lists) > 1:
        # The number of votes has to be the same for all items.
        are_counts = len(set(map(sum, lists))) == 1
    are_votes = False
    # The labels of an item are distinct, but votes for a label repeat.
    if not are_counts and any(map(_has_repeats, lists)):
        has_unequal_lengths = value_types == {int} and not has_one_length
        are_votes = has_counts or has_unequal_lengths or value_types == {str}
    return ListForm(has_one_length, are_counts, are_votes)


def _has_repeats(cell: Sequence[Any]) -> bool:
    """Return whether a list contains a value twice."""
    names = set(map(str, cell))
    return len(names) < len(cell)


def _get_shares(cell: Any, form: ListForm) -> Mapping[Any, float] | None:
    """Return the share, or the number of votes, of each class in a cell.

    Args:
        cell: A list, an object by class, or a label.
        form: The meaning of the lists in the column: numbers of votes, single votes, or neither.

    Returns:
        Class, or position of the class in the list -> its share. It is empty for a list without values, and
        None for a cell that is a single label, or several labels.
    """
    if isinstance(cell, dict):
        share_by_class = drop_missing(cell)
        return share_by_class if _are_shares(share_by_class) else None
    if not isinstance(cell, list) or is_list_of_one(cell):
        return None
    if form.are_votes:
        return Counter(cell)
    share_by_position = {}
    for position, share in enumerate(cell):
        if share is not None:
            share_by_position[position] = share
    # An empty list is a row without a label.
    if not share_by_position:
        return {}
    if not _are_shares(share_by_position):
        return None
    sum_error = abs(sum(share_by_position.values()) - 1)
    adds_up = form.has_one_length and sum_error <= MAX_SHARE_ERROR
    return share_by_position if form.are_counts or adds_up else None


def _are_shares(shares: Mapping[Any, Any]) -> bool:
    # True and False are numbers in Python, and count as shares of 1 and 0.
    return are_numeric(shares.values()) and min(shares.values(), default=0) >= 0


def _select_likeliest(shares: Mapping[Any, float]) -> Any:
    """Return the class with the largest share; None for a tie, or if there are no shares.

    Args:
        shares: Class -> its share, or its number of votes.
    """
    largest = max(shares.values(), default=0)
    likeliest = [name for name, share in shares.items() if share == largest]
    if len(likeliest) != 1:
        return None
    return likeliest[0]


def _refuse_several_marks(cells: Sequence[Any], location: str) -> None:
    """Check that objects of 0 and 1 by class mark at most one class with 1, such as {"up": 1, "down": 0}.

    Args:
        cells: The cells of a column; lists and labels are skipped.
        location: The column and the table, for error messages.

    Raises:
        OptionError: If an object marks several classes, so that the row has several labels.
    """
    n_several = 0
    for cell in cells:
        if not isinstance(cell, dict):
            continue
        marks = [mark for mark in cell.values() if mark is not None]
        # A number other than 0 and 1 shows that the objects contain shares or votes.
        if not set(marks) <= {0, 1}:
            return
        if sum(marks) > 1:
            n_several += 1
    if n_several:
        raise OptionError(
            f"Expected one label per row in {location}, but {n_several:,} of {len(cells):,} rows "
            f"have several labels. {MULTI_LABEL_HINT}.",
            option=MULTI_LABEL_OPTIONS,
        )


# ------------------------------------------------------------------------ several labels per row


def write_label_expressions(
    parts: Sequence[datasets.Dataset],
    names: Sequence[str],
    label_column: str | None,
    source_name: str,
    *,
    first: int | None = None,
    headings: bool = False,
) -> dict[str, str]:
    """Return an expression for each of several labels whose value shows whether a row has the label.

    Each label may have a column of 0 and 1. Otherwise one column has lists of 0 and 1, or the numbers or
    names of the labels of a row (see `list_labels`), which `resolve_labels` matches with `names`.

    Args:
        parts: The tables of the splits.
        names: The labels.
        label_column: The column of the labels; None for a column per label, or else a column with a usual
            heading of labels.
        source_name: Name of the table, for error messages.
        first: The number of the first label, if labels are numbers; None to derive it.
        headings: Whether `names` are headings of columns, so that their order has no meaning.

    Returns:
        Label -> the column or expression.

    Example:
        >>> rows = datasets.Dataset.from_dict({"labels": ["0", "1,0"]})
        >>> write_label_expressions([rows], ["joy", "fear"], None, "the data")
        {'joy': '{{ labels | whether("joy", "0") }}', 'fear': '{{ labels | whether("fear", "1") }}'}
    """
    table = parts[0]
    column_by_name = _match_label_columns(table, names)
    if label_column is None and column_by_name is not None:
        return column_by_name
    usual_headings = (*LABEL_HEADINGS, *USUAL_HEADINGS["predictions"]["label"])
    # With a subject, the column cannot be None: a missing one raises an error.
    column = str(
        find_column(table, label_column, usual_headings, "label_column", source_name, "labels")
    )
    cells: list[Any] = []
    for part in parts:
        cells += map(parse_cell, get_values(part, column))
    is_one_hot = _are_one_hot(cells, len(names))
    # The labels as the cells spell them: positions in lists of 0 and 1, or numbers or names.
    if is_one_hot:
        spellings = list(map(str, range(len(names))))
    else:
        # A dictionary drops repeated labels, and keeps the order of the rows.
        labels_of_cells = map(list_labels, cells)
        spellings = list(dict.fromkeys(itertools.chain.from_iterable(labels_of_cells)))

    with attach_options("label_names", "first_label", "label_column"):
        resolved = resolve_labels(
            _name_numbers(table, column, spellings),
            names,
            first=first,
            source=f"the column {column!r} of {source_name}",
            headings=headings,
        )
    spelling_by_name = {}
    for label, spelling in zip(resolved.ids, spellings, strict=True):
        # A value such as "" means that a row has no label, and has a negative id.
        if label >= 0:
            spelling_by_name[names[label]] = spelling
    term = quote_column(column)
    expression_by_name = {}
    for name in names:
        if is_one_hot:
            expression_by_name[name] = write_expression(f"{term}[{spelling_by_name[name]}]")
        else:
            # A label that no row has is searched for by its name.
            spelling = spelling_by_name.get(name, name)
            expression_by_name[name] = _write_membership(term, name, spelling)
    return expression_by_name


def _match_label_columns(table: datasets.Dataset, names: Sequence[str]) -> dict[str, str] | None:
    """Return the column that is named after each label, in any letter case.

    Args:
        table: The table.
        names: The labels.

    Returns:
        Label -> column; None if a label has no column.
    """
    # Of two columns with the same folded name, the later one is used.
    column_by_key = {fold_name(column): column for column in table.column_names}
    column_by_name = {}
    for name in names:
        key = fold_name(name)
        if key not in column_by_key:
            return None
        column_by_name[name] = column_by_key[key]
    return column_by_name


def _are_one_hot(cells: Sequence[Any], n_labels: int) -> bool:
    """Return whether all cells are lists of 0 and 1, with a number for each label."""
    for cell in cells:
        if not isinstance(cell, list) or len(cell) != n_labels:
            return False
        if not set(cell) <= {0, 1}:
            return False
    return True


def _name_numbers(table: datasets.Dataset, column: str, spellings: Sequence[str]) -> Sequence[str]:
    """Return the class names of labels, if their column has lists of numbers of a ClassLabel.

    Args:
        table: The table.
        column: The column of labels.
        spellings: The labels as the cells spell them, such as "0" and "1".

    Returns:
        The class names, or for another column the unchanged spellings.
    """
    inner_feature = getattr(table.features[column], "feature", None)
    if not isinstance(inner_feature, datasets.ClassLabel):
        return spellings
    return _name_labels(list(map(int, spellings)), inner_feature.names)


def _write_membership(expression: str, name: str, spelling: str) -> str:
    """Return the expression on whether a cell contains a label, such as `{{ labels | whether("joy") }}`.

    Args:
        expression: The term for the column in an expression.
        name: The label.
        spelling: The label as the cells spell it. If it differs from the name, the expression searches for
            both, as in `{{ labels | whether("joy", "0") }}`.
    """
    words = list(dict.fromkeys((name, spelling)))
    # A list in JSON without its brackets is a list of quoted arguments.
    arguments = json.dumps(words, ensure_ascii=False)[1:-1]
    return write_expression(f"{expression} | whether({arguments})")


# ---------------------------------------------------------------------------- new names of labels


def parse_renamed_labels(label_names: Sequence[str] | None) -> dict[str, str]:
    """Parse entries such as "old=new" into the new name of each label.

    Args:
        label_names: The entries; None if there are none.

    Returns:
        Old name -> new name. If an entry has no old or no new name, an empty mapping: all entries are then
        names of classes, some of which may contain "=".
    """
    if not label_names or isinstance(label_names, str):
        return {}
    entries: Sequence[Any] = label_names
    names = {}
    old_names = []
    for entry in entries:
        # The check of class names refuses entries that are not strings.
        if not isinstance(entry, str):
            return {}
        old_name, _, new_name = map(str.strip, entry.partition("="))
        if not old_name or not new_name:
            return {}
        old_names.append(old_name)
        names[old_name] = new_name
    if old_names:
        check_label_names(old_names, "label_names")
    return names


def rename_values(
    values: Iterable[Any], new_names: Mapping[str, str], location: str
) -> list[str | None]:
    """Replace labels by their new names; a label that is a new name already is not changed.

    Args:
        values: (N,) labels of a column.
        new_names: Old name -> new name.
        location: The column and the table, for error messages.

    Returns:
        (N,) new names; None for a row without a label.

    Raises:
        OptionError: If a label has no new name.
    """
    name_by_key = {fold_name(name): name for name in new_names.values()}
    for old_name, name in new_names.items():
        name_by_key[fold_name(old_name)] = name
    # Exact spellings replace folded ones, because -1 and 1 have the same folded form.
    name_by_key |= new_names
    renamed: list[str | None] = []
    for value in values:
        text = _write_label(value)
        key = text
        if text not in name_by_key:
            key = fold_name(text).removeprefix("+")
        if text not in name_by_key and text in _MISSING_LABELS:
            renamed.append(None)
        elif key in name_by_key:
            renamed.append(name_by_key[key])
        else:
            raise OptionError(
                f"Expected a new name for each label in `label_names`, but {text[:60]!r} of {location} is "
                f"not among {format_list(list(new_names))}.",
                option="label_names",
            )
    return renamed


def _write_label(value: Any) -> str:
    """Return a label as a string: "" for None and NaN, and "1" for 1.0."""
    # NaN is the only value that differs from itself.
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()
