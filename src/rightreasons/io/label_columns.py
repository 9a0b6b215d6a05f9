"""Columns of labels: one label per row, of lists, shares or votes, or one column for each of several labels.

`read_labels` reads the labels of all splits of a data set. `write_label_expressions` says for each of several labels
how an expression reads it, for audits of one label at a time.
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
)
from rightreasons.io.headings import LABEL_HEADINGS, USUAL_HEADINGS

REMEDY = (
    "label_names= names the classes, or renames labels as in label_names='old=new,…', first_label= "
    "says where numbers begin, label_column= names another column"
)

MAX_SHARE_ERROR = 0.01
"""Difference from 1 that the rounding of shares explains."""

_MISSING_LABELS = ("", "-1", NO_GOLD_LABEL)


class NamedLabels(LazyArrowColumn):
    """The names of labels whose file stores numbers and, as a ClassLabel of `datasets`, their names.

    Args:
        numbers: The numbers; None and -1 are no label.
        names: The names of the classes.
        column: The name of the column, for errors.
        source_name: The file, for errors.
    """

    def __init__(
        self, numbers: Column, names: Sequence[str], column: str, source_name: object
    ) -> None:
        self.names = tuple(names)
        self.numbers = numbers
        arrow_ids = pc.fill_null(pa.array(numbers, pa.int64()), -1)
        ids = np.asarray(arrow_ids.to_numpy(zero_copy_only=False))
        is_unknown = (ids < -1) | (ids >= len(names))
        if is_unknown.any():
            row = int(is_unknown.argmax())
            raise ValueError(
                f"Expected labels from 0 to {len(names) - 1} ({format_list(names)}) in the column "
                f"{column!r} of {source_name}, but row {row} holds {ids[row]}."
            )
        # A masked position becomes a missing name.
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
    """Read the labels of all splits; see `core.labels` for the rules.

    The classes are those that the user names, or else those of a ClassLabel, or else those that the labels give. A
    ClassLabel of other names, or of the same names in another order, is matched by name.

    Args:
        parts: Each split with its label column.
        label_names: The names that the user gives, or a new name for each label, as "true=POSITIVE"; None to derive
            them.
        first_label: The number of the first class where labels are numbers, 0 or 1; None to find out.
        source_name: The name of the data set, for errors.
        remedy: What a person can do about doubt, for errors.

    Returns:
        The labels of each split, with the same names.
    """
    places: dict[str, str] = {}
    values: dict[str, Column] = {}
    known_names: Sequence[str] | None = None
    for split, (data, column) in parts.items():
        location = f"the column {column!r} of {source_name}"
        if len(parts) > 1:
            location += f" (split {split})"
        labels = select_single_labels(get_labels(data, column, source_name), location)
        if known_names is None and isinstance(labels, NamedLabels):
            known_names = labels.names
        places[split] = location
        values[location] = labels

    new_names = parse_renamed_labels(label_names)
    if new_names:
        for location, column_values in values.items():
            values[location] = rename_values(column_values, new_names, location)
        known_names = tuple(dict.fromkeys(new_names.values()))
    elif label_names is not None:
        known_names = check_label_names(label_names)

    resolved: dict[str, LabelColumn] = {}
    for group in _group_splits(values):
        resolved |= resolve_label_columns(group, known_names, first=first_label, remedy=remedy)
    labels_by_split = {}
    for split, location in places.items():
        labels_by_split[split] = resolved[location]
    return labels_by_split


def _group_splits(values: Mapping[str, Column]) -> list[dict[str, Column]]:
    """Return the columns that are resolved together: all of plain labels, and each of named ones by itself.

    The numbers of all splits tell together where they begin; names may be spelled otherwise in each.
    """
    plain: dict[str, Column] = {}
    groups: list[dict[str, Column]] = []
    for location, column in values.items():
        if isinstance(column, NamedLabels):
            groups.append({location: column})
        else:
            plain[location] = column
    return [plain, *groups] if plain else groups


def get_labels(data: datasets.Dataset, column: str, source_name: str) -> Column:
    """Return the values of a column of labels; those of a ClassLabel, or of lists of one, with their names."""
    values = get_cells(get_arrow_column(data, column))
    feature = data.features[column]
    inner = getattr(feature, "feature", None)
    if isinstance(inner, datasets.ClassLabel):
        rows = [row or () for row in values]
        n_labels = max(map(len, rows), default=0)
        # Several labels per row are read by the expressions of each.
        if n_labels > 1:
            return [_name_labels(row, inner.names) for row in rows]
        values = list(map(_get_single, rows))
        feature = inner
    if isinstance(feature, datasets.ClassLabel):
        return NamedLabels(values, feature.names, column, source_name)
    return values


def _name_labels(row: Sequence[int], names: Sequence[str]) -> list[str]:
    return [names[number] for number in row]


def _get_single(row: Sequence[int]) -> int | None:
    """Return the value of a list of at most one; None for an empty list."""
    return row[0] if row else None


# ---------------------------------------------------------------------------- one label per row


@dataclasses.dataclass(frozen=True)
class ListForm:
    """What the lists in a column of labels mean.

    Attributes:
        has_one_length: Whether all lists have as many values.
        are_counts: Whether they say how many votes each class has.
        are_votes: Whether they hold a label per vote.
    """

    has_one_length: bool
    are_counts: bool
    are_votes: bool


def select_single_labels(labels: Column, location: str) -> Column:
    """Return the likeliest class where labels are shares or votes of classes; None where two are likeliest.

    Shares are a list in the order of the numbers of the classes, one-hot ones among them, or an object by class. Votes
    are such an object, a list of how many each class has, which add up to the same in all rows, or a list of labels
    some of which repeat. A list of one label is that label.

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
    if isinstance(labels, NamedLabels) or not _may_hold_several(next(iter(labels), None)):
        return labels
    cells = []
    lists = []
    for cell in map(parse_cell, labels):
        value = cell.tolist() if isinstance(cell, np.ndarray) else cell
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
        # A label as it is, perhaps in a list.
        label = unwrap_value(cell)
        if isinstance(label, (dict, list)):
            raise OptionError(
                f"Expected one label per row in {location}, or shares of classes that add up to 1, but "
                f"row {row} holds {format_value(cell, 40)}: {MULTI_LABEL_HINT}.",
                option=MULTI_LABEL_OPTIONS,
            )
        selected.append(label)
    return selected


def _unwrap_members(values: list[Any]) -> list[Any]:
    """Return the labels of several people, each of which annotation tools put into a list that may be empty."""
    if list not in set(map(type, values)):
        return values
    labels = map(unwrap_value, values)
    return [label for label in labels if label != []]


def _may_hold_several(cell: Any) -> bool:
    """Return whether a cell is a list or an object, or a text that writes one."""
    if isinstance(cell, (list, dict, np.ndarray)):
        return True
    return str(cell).lstrip()[:1] in ("[", "{")


def _describe_lists(lists: Sequence[list[Any]]) -> ListForm:
    """Describe the lists of a column: counts of votes, votes, or shares."""
    values = list(itertools.chain.from_iterable(lists))
    kinds = set(map(type, values))
    lengths = set(map(len, lists))
    has_one_length = len(lengths) == 1
    # Of 0 and 1 alone nobody knows whether they are votes, shares or several labels.
    are_numbers = kinds == {int} and max(values) > 1
    are_counts = False
    if are_numbers and has_one_length and len(lists) > 1:
        are_counts = len(set(map(sum, lists))) == 1
    # Several labels of one item do not repeat.
    are_votes = False
    if any(map(_has_repeats, lists)) and not are_counts:
        has_unequal_counts = kinds == {int} and not has_one_length
        are_votes = are_numbers or has_unequal_counts or kinds == {str}
    return ListForm(has_one_length, are_counts, are_votes)


def _has_repeats(cell: Sequence[Any]) -> bool:
    """Return whether a value of a list comes twice."""
    names = set(map(str, cell))
    return len(names) < len(cell)


def _get_shares(cell: Any, form: ListForm) -> Mapping[Any, float] | None:
    """Return the share, or the votes, of each class; None for a cell that is a label, or holds several."""
    if isinstance(cell, dict):
        shares_by_name = drop_missing(cell)
        return shares_by_name if _are_shares(shares_by_name) else None
    if not isinstance(cell, list) or is_list_of_one(cell):
        return None
    if form.are_votes:
        return Counter(cell)
    shares = {number: share for number, share in enumerate(cell) if share is not None}
    # An empty list is a row without a label.
    if not shares:
        return shares
    if not _are_shares(shares):
        return None
    is_sum = form.has_one_length and abs(sum(shares.values()) - 1) <= MAX_SHARE_ERROR
    return shares if form.are_counts or is_sum else None


def _are_shares(shares: Mapping[Any, Any]) -> bool:
    # Flags are numbers in Python.
    return are_numeric(shares.values()) and min(shares.values(), default=0) >= 0


def _select_likeliest(shares: Mapping[Any, float]) -> Any:
    """Return the class of the largest share; None if there are several, or none."""
    largest = max(shares.values(), default=0)
    likeliest = [name for name, share in shares.items() if share == largest]
    # A tie decides nothing.
    if len(likeliest) != 1:
        return None
    return likeliest[0]


def _refuse_several_marks(cells: Sequence[Any], location: str) -> None:
    """Refuse objects of 0 and 1 if some hold several ones: these are labels that hold at once, not shares."""
    n_several = 0
    for cell in cells:
        # Lists are votes or shares.
        if not isinstance(cell, dict):
            continue
        marks = [mark for mark in cell.values() if mark is not None]
        # One share that is neither 0 nor 1 makes all of them shares.
        if not set(marks) <= {0, 1}:
            return
        n_several += sum(map(bool, marks)) > 1
    if n_several:
        raise OptionError(
            f"Expected one label per row in {location}, but {n_several:,} of {len(cells):,} rows have "
            f"several: {MULTI_LABEL_HINT}.",
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
    """Return the column, or the expression, that says of every row whether it has a label, for each of several labels.

    There is a column of 0 and 1 for each label, or one column of labels: numbers or names (see `list_labels`), matched
    by `resolve_labels`, or lists of 0 and 1.

    Args:
        parts: The tables of the splits.
        names: The labels.
        label_column: The column of the labels; None for a column per label, or else one of a usual name.
        source_name: What the table is called, for errors.
        first: The number of the first label, where labels are numbers.
        headings: Whether the names are those of columns, so that their order means nothing.

    Example:
        >>> rows = datasets.Dataset.from_dict({"labels": ["0", "1,0"]})
        >>> write_label_expressions([rows], ["joy", "fear"], None, "the data")
        {'joy': '{{ labels | whether("joy", "0") }}', 'fear': '{{ labels | whether("fear", "1") }}'}
    """
    table = parts[0]
    keys = list(map(fold_name, names))
    # Of two spellings, the later column counts.
    column_keys = map(fold_name, table.column_names)
    column_by_key = dict(zip(column_keys, table.column_names, strict=True))
    if label_column is None and column_by_key.keys() >= {*keys}:
        return {name: column_by_key[key] for name, key in zip(names, keys, strict=True)}

    usual = (*LABEL_HEADINGS, *USUAL_HEADINGS["predictions"]["label"])
    column = str(find_column(table, label_column, usual, "label_column", source_name, "labels"))
    cells: list[Any] = []
    for part in parts:
        cells += map(parse_cell, get_values(part, column))
    is_one_hot = _are_one_hot(cells, len(names))
    spellings = list(map(str, range(len(names))))
    if not is_one_hot:
        spellings = list(dict.fromkeys(itertools.chain.from_iterable(map(list_labels, cells))))

    known_names = _name_numbers(table, column, spellings)
    location = f"the column {column!r} of {source_name}"
    with attach_options("label_names", "first_label", "label_column"):
        resolved = resolve_labels(
            known_names, names, first=first, source=location, headings=headings
        )
    spelling_by_name = {}
    for label, spelling in zip(resolved.ids, spellings, strict=True):
        if label >= 0:
            spelling_by_name[names[label]] = spelling
    expression = quote_column(column)
    if is_one_hot:
        return {name: f"{{{{ {expression}[{spelling_by_name[name]}] }}}}" for name in names}
    return {
        name: _write_membership(expression, name, spelling_by_name.get(name, name))
        for name in names
    }


def _are_one_hot(cells: Sequence[Any], n_labels: int) -> bool:
    """Return whether cells are lists of 0 and 1, one for each label."""
    for cell in cells:
        if not isinstance(cell, list) or len(cell) != n_labels:
            return False
        if not {*cell} <= {0, 1}:
            return False
    return True


def _name_numbers(table: datasets.Dataset, column: str, spellings: Sequence[str]) -> Sequence[str]:
    """Return the names of numbers in lists of a ClassLabel; of other columns, the labels as they are written."""
    inner = getattr(table.features[column], "feature", None)
    if not isinstance(inner, datasets.ClassLabel):
        return spellings
    # Lists of a ClassLabel hold its numbers.
    return _name_labels(list(map(int, spellings)), inner.names)


def _write_membership(expression: str, name: str, spelling: str) -> str:
    """Return the expression that says whether a cell holds a label."""
    words = list(dict.fromkeys((name, spelling)))
    # The brackets of the list are those of the call.
    arguments = json.dumps(words, ensure_ascii=False)[1:-1]
    return f"{{{{ {expression} | whether({arguments}) }}}}"


# ---------------------------------------------------------------------------- new names of labels


def parse_renamed_labels(label_names: Sequence[str] | None) -> dict[str, str]:
    """Return the new name of each label where every entry is "old=new"; none where they are plain names."""
    entries: Sequence[Any] = () if isinstance(label_names, str) else label_names or ()
    names = {}
    old_names = []
    for entry in entries:
        # Other types are refused as names.
        if not isinstance(entry, str):
            return {}
        old_name, _, new_name = map(str.strip, entry.partition("="))
        # One plain name makes all of them plain: it may hold the sign itself.
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
    """Give labels their new names; what has its new name already keeps it.

    Raises:
        OptionError: If a label that occurs has no new name.
    """
    name_by_key = {fold_name(name): name for name in new_names.values()}
    for old_name, name in new_names.items():
        name_by_key[fold_name(old_name)] = name
    # -1 is not 1.
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
                f"Expected a new name for each label in `label_names`, but {key[:60]!r} of {location} is "
                f"not among {format_list(list(new_names))}.",
                option="label_names",
            )
    return renamed


def _write_label(value: Any) -> str:
    """Return a label as a text, "" for a missing one; 1.0 is 1."""
    # NaN is not itself.
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()
