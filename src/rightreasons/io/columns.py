"""Columns of tables: which of them an option or a heading names, their cells, and what expressions make of them.

A name may be that of a column, of a field in the objects of one (`question.stem`), or an expression of jinja over the
columns of a row. `find_column` finds one; `add_nested_columns` adds fields and expressions as separate columns.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import datasets
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rightreasons.core.arrays import describe_kind
from rightreasons.core.errors import OptionError
from rightreasons.core.ordering import LazyArrowColumn
from rightreasons.core.sentences import format_list, suggest_similar_names
from rightreasons.io.arrow_tables import AGAIN, make_column, make_dataset, read_values, short_reason
from rightreasons.io.cells import (
    describe_membership,
    is_list_of_one,
    parse_cell,
    unwrap_value,
)
from rightreasons.io.headings import find_usual_column

Column: TypeAlias = "Sequence[Any] | NDArray[Any]"
Columns: TypeAlias = "Mapping[str, Column]"

# What sentences about several columns repeat.
_REPEATED_PHRASE = re.compile(
    ", but its columns are:? .*?(?=; name (?:it|them) with )|, or, as .* column_names=(?=[.])"
)
# An expression in braces alone keeps its value, such as a list.
_SINGLE_EXPRESSION = re.compile(r"\s*\{\{((?:(?!\}\}).)*)\}\}\s*", re.DOTALL)


# ------------------------------------------------------------------------------ names of columns


def check_column_name(
    table: datasets.Dataset | Columns, column: str, option: str, source_name: str
) -> str:
    """Check that a column named by the user exists; a Dataset also has dotted names of fields within its columns.

    Raises:
        OptionError: If it is missing; the nearest name is given.
    """
    names = _list_names(table)
    if column in names:
        return column
    fields = get_nested_features(getattr(table, "features", {}))
    hint = suggest_similar_names(column, [*names, *fields])
    raise OptionError(
        f"Expected the column {column!r} that `{option}` names in {source_name}, but its columns are "
        f"{format_list(names)}.{hint}",
        option=option,
    )


def check_unique_columns(
    table: datasets.Dataset | Columns, names: Iterable[str | None], source_name: str
) -> None:
    """Refuse to read a column whose heading comes twice; others may come as often as they like.

    Raises:
        ValueError: If there is such a column.
    """
    column_names = _list_names(table)
    for name in names:
        # The reader marks the second of two equal headings.
        if name is not None and AGAIN + name in column_names:
            raise ValueError(
                f"Expected distinct columns in {source_name}, but {name!r}, which is used, comes "
                "twice."
            )


def find_column(
    table: datasets.Dataset | Columns,
    column: str | None,
    headings: Sequence[str],
    option: str,
    source_name: str,
    subject: str = "",
) -> str | None:
    """Return the column that an option names, or else the first of a usual name.

    Args:
        table: The table.
        column: The name that the option gives; None for a usual one.
        headings: The usual names, in lower case.
        option: The option.
        source_name: What the table is called, for errors.
        subject: What the column holds, where there has to be one; "" where there may be none.
    """
    if column is not None:
        return check_column_name(table, column, option, source_name)
    usual_column = find_usual_column(_list_names(table), headings)
    if usual_column is not None or not subject:
        return usual_column
    return require_column((), table, subject, headings, option, source_name)


def require_column(
    candidates: Sequence[str],
    table: datasets.Dataset | Columns,
    subject: str,
    headings: Sequence[str],
    option: str,
    source_name: str,
) -> str:
    """Return the only candidate for a column.

    Args:
        candidates: The columns that may be meant.
        table: The table.
        subject: What the column holds, for errors.
        headings: Its usual names.
        option: The option that names it; "" where none does.
        source_name: What the table is called, for errors.

    Raises:
        OptionError: If there is none, or several.

    Example:
        >>> require_column([], {"a": [1]}, "labels", ("label", "gold"), "label_column", "x.csv")
        Traceback (most recent call last):
        ...
        rightreasons.core.errors.OptionError: Expected a column with the labels in x.csv, such as label, gold, but its \
columns are a; name it with label_column=.
    """
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        sentence = (
            f"Expected one column with the {subject} in {source_name}, but got "
            f"{' and '.join(candidates)}"
        )
        remedy = f"; name it with {option}="
    else:
        sentence = (
            f"Expected a column with the {subject} in {source_name}, such as "
            f"{', '.join(headings[:3])}, but its columns are {format_list(_list_names(table))}"
        )
        remedy = f"; name it with {option}={describe_missing_heading(table)}"
    # Some columns are found by their names alone.
    if not option:
        remedy = ""
    raise OptionError(f"{sentence}{remedy}.", option=option or ())


def collect_results(*finders: Callable[[], Any]) -> list[Any]:
    """Return what each function finds; what several of them miss is said at once.

    Raises:
        OptionError: Of those that raise one, with the sentences of all.
    """
    results = []
    errors: list[OptionError] = []
    for find in finders:
        try:
            results.append(find())
        except OptionError as error:
            errors.append(error)
    if not errors:
        return results
    options: dict[str, None] = {}
    for missing in errors:
        options |= dict.fromkeys(missing.option)
    # Two columns may be missing in the same words.
    sentences = list(dict.fromkeys(map(str, errors)))
    shortened = [_REPEATED_PHRASE.sub("", sentence) for sentence in sentences[1:]]
    raise OptionError(" ".join([sentences[0], *shortened]), option=tuple(options))


def describe_missing_heading(table: datasets.Dataset | Columns) -> str:
    """Say, for errors, that the headings of a table may be its first row, where one is also a value of its column.

    Example:
        >>> describe_missing_heading({"15923": ["27014", "30681"], "OFF": ["NOT", "OFF"]})
        ", or, as 'OFF' is a heading and a value of its column, those of a file without a heading with column_names="
        >>> describe_missing_heading({"id": ["27014"], "label": ["NOT"]})
        ''
    """
    cells = table.with_format("arrow")[:] if isinstance(table, datasets.Dataset) else table
    for name in _list_names(table):
        column = cells[name]
        # Values of Arrow are no texts.
        values = map(str, column) if hasattr(column, "type") else column
        if name in values:
            return (
                f", or, as {name[:60]!r} is a heading and a value of its column, those of a file "
                "without a heading with column_names="
            )
    return ""


def _list_names(table: datasets.Dataset | Columns) -> list[str]:
    """Return the names of the columns of a table."""
    if isinstance(table, datasets.Dataset):
        return list(table.column_names)
    return list(table)


# -------------------------------------------------------------------------- fields of objects


def get_nested_features(features: Mapping[str, Any]) -> dict[str, Any]:
    """Return the features of all fields within the columns by their dotted names, as lists where they are in lists.

    Example:
        >>> row = {"id": 1, "question": {"stem": "Why?", "choices": [{"text": "So.", "label": "A"}]}}
        >>> list(get_nested_features(datasets.Dataset.from_list([row]).features))
        ['question.stem', 'question.choices', 'question.choices.text', 'question.choices.label']
    """
    fields: dict[str, Any] = {}
    for name, feature in features.items():
        if isinstance(feature, (datasets.List, datasets.LargeList)):
            inner_fields = get_nested_features({name: feature.feature})
            for inner_name, field in inner_fields.items():
                fields[inner_name] = datasets.List(field)
        elif isinstance(feature, dict):
            for key, field in feature.items():
                inner_name = f"{name}.{key}"
                fields[inner_name] = field
                fields |= get_nested_features({inner_name: field})
    return fields


def add_nested_columns(data: datasets.Dataset, names: Iterable[Any]) -> datasets.Dataset:
    """Add the columns that have these dotted names, with their features, or are expressions; others change nothing.

    A field of a list of objects becomes a list; where an object is missing, so is its field. An expression is a
    template of jinja over the columns, which `row` holds by name too; one in braces alone keeps its value, such as a
    list.

    Example:
        >>> rows = datasets.Dataset.from_list([{"q": {"stem": "Why?", "choices": [{"text": "So."}, {"text": "No."}]}}])
        >>> data = add_nested_columns(rows, ["q.stem", "q.choices.text"])
        >>> data["q.stem"][:], data["q.choices.text"][:]
        (['Why?'], [['So.', 'No.']])
        >>> add_nested_columns(rows, ["{{ q.choices | length }}"])["{{ q.choices | length }}"][:]
        [2]
    """
    fields = get_nested_features(data.features)
    # Expressions come first: they may hold a dot themselves.
    ordered_names = sorted(dict.fromkeys(names), key=is_expression, reverse=True)
    for name in ordered_names:
        if name in data.column_names:
            continue
        if is_expression(name):
            values = evaluate_expression(name, data)
        else:
            root = _find_root(name, data.column_names)
            if not root:
                continue
            steps = name.removeprefix(f"{root}.").split(".")
            values = [_get_field(value, steps) for value in get_values(data, root)]
            # Cells of JSON have no such field either.
            if name not in fields and all(value is None for value in values):
                continue
        column = _make_column(name, values, fields.get(name))
        data = datasets.concatenate_datasets([data, column], split=data.split, axis=1)
    return data


def _find_root(name: Any, column_names: Sequence[str]) -> str:
    """Return the column with the longest name that the dotted name of a field begins with; "" for none."""
    roots = [column for column in column_names if str(name).startswith(f"{column}.")]
    return max(roots, key=len, default="")


def _make_column(name: str, values: list[Any], feature: Any) -> datasets.Dataset:
    """Return a table of one column, of a known feature or of the type that its values have."""
    if feature is not None:
        features = datasets.Features({name: feature})
        return datasets.Dataset.from_dict({name: values}, features=features)
    table = pa.table({name: make_column(values, name, "the data")})
    return make_dataset(table, "the data")


def _get_field(value: Any, steps: Sequence[str]) -> Any:
    """Return a field of nested objects; of lists of objects, the list of the fields; None if it is missing."""
    if not steps:
        return value
    value = parse_cell(value)
    if isinstance(value, list):
        return [_get_field(item, steps) for item in value]
    if isinstance(value, dict):
        return _get_field(value.get(steps[0]), steps[1:])
    return None


# -------------------------------------------------------------------------------- expressions


def quote_column(column: str) -> str:
    """Return how an expression names a column.

    Example:
        >>> quote_column("label"), quote_column("gold label")
        ('label', 'row["gold label"]')
    """
    if column.replace(".", "_").isidentifier():
        return column
    quoted = json.dumps(column, ensure_ascii=False)
    return f"row[{quoted}]"


def quote_field(name: str, columns: Columns) -> str:
    """Return how an expression names a column, or a field of objects that may be in lists of one.

    Example:
        >>> quote_field("predictions.choices", {"predictions": [[{"choices": ["joy"]}]]})
        'predictions[0].choices[0]'
        >>> quote_field("gold label", {"gold label": ["joy"]})
        'row["gold label"]'
    """
    root = _find_root(name, list(columns))
    if not root:
        return quote_column(name)
    term = quote_column(root)
    value = parse_cell(columns[root][0])
    for step in name.removeprefix(f"{root}.").split("."):
        term += _write_first(value) + _write_step(step)
        fields = unwrap_value(value)
        value = fields.get(step) if isinstance(fields, dict) else None
    return term + _write_first(value)


def _write_first(value: Any) -> str:
    """Return how an expression takes the value out of lists of one."""
    term = ""
    while is_list_of_one(value):
        (value,) = value
        term += "[0]"
    return term


def _write_step(step: str) -> str:
    """Return how an expression takes a field of an object."""
    # jinja would take the method of this name.
    is_method = hasattr(dict, step)
    if step.isidentifier() and not is_method:
        return f".{step}"
    quoted = json.dumps(step, ensure_ascii=False)
    return f"[{quoted}]"


def is_expression(name: Any) -> bool:
    """Return whether the name of a column is a template over other columns."""
    return isinstance(name, str) and "{{" in name


def list_read_names(name: str) -> set[str]:
    """Return the columns that an expression reads; of another name, itself.

    Example:
        >>> sorted(list_read_names("{{ premise }} {{ question.stem }}")), list_read_names("label")
        (['premise', 'question'], {'label'})
    """
    if not is_expression(name):
        return {name}
    # Few tables have expressions, and jinja2 takes long to load.
    from jinja2 import meta

    template = _make_environment().parse(name)
    return set(meta.find_undeclared_variables(template))


def evaluate_expression(expression: str, data: datasets.Dataset) -> list[Any]:
    """Evaluate an expression for every row.

    Raises:
        ValueError: If it is no template, or reads what a row does not have.
    """
    from jinja2 import TemplateError

    from rightreasons.io.bounds import limit_memory

    location = ""
    try:
        # Constants are computed when an expression is compiled.
        with limit_memory():
            compute = _compile(expression)
            names = _list_read_columns(expression, data)
            columns = [get_values(data, name) for name in names]
            # An expression of no column has a value in each row all the same.
            rows: Iterable[Sequence[Any]] = [()] * len(data)
            if columns:
                rows = zip(*columns, strict=True)
            values: list[Any] = []
            for row, cells in enumerate(rows):
                location = f" in row {row}"
                cell_by_name = dict(zip(names, cells, strict=True))
                value = compute(**{"row": cell_by_name, **cell_by_name})
                _check_defined(value)
                values.append(value)
        return values
    except (
        TemplateError,
        MemoryError,
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        AttributeError,
    ) as error:
        raise ValueError(
            f"Expected an expression over the columns {format_list(data.column_names)}, but "
            f"{expression!r} fails{location}: {short_reason(error)}."
        ) from None


def _check_defined(value: Any) -> None:
    """Raise jinja's error for a name that no column has, also within a list or an object."""
    from jinja2 import Undefined

    if isinstance(value, Undefined):
        # The text of an undefined name is the error.
        str(value)
    elif isinstance(value, (list, tuple)):
        for member in value:
            _check_defined(member)
    elif isinstance(value, dict):
        for member in value.values():
            _check_defined(member)


def _list_read_columns(expression: str, data: datasets.Dataset) -> list[str]:
    """Return the columns that an expression reads: all if it says `row["a name of several words"]`."""
    names = list_read_names(expression)
    if "row" in names.difference(data.column_names):
        return list(data.column_names)
    return [name for name in data.column_names if name in names]


def _compile(expression: str) -> Callable[..., Any]:
    """Return the function of the cells of a row that an expression is."""
    environment = _make_environment()
    single = _SINGLE_EXPRESSION.fullmatch(expression)
    if single is None:
        render: Callable[..., Any] = environment.from_string(expression).render
        return render
    compiled: Callable[..., Any] = environment.compile_expression(
        single[1], undefined_to_none=False
    )
    return compiled


@functools.cache
def _make_environment() -> Any:
    """Make the environment of all expressions, which reads fields of cells of JSON as well."""
    from jinja2 import StrictUndefined

    from rightreasons.io.bounds import BoundedEnvironment

    class CellEnvironment(BoundedEnvironment):
        """Looks for a field also in a cell of JSON."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            if not hasattr(obj, attribute):
                obj = parse_cell(obj)
            return super().getattr(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            return super().getitem(parse_cell(obj), argument)

    environment = CellEnvironment(undefined=StrictUndefined)
    environment.filters["whether"] = describe_membership
    return environment


# -------------------------------------------------------------------------------------- cells


def get_arrow_column(data: datasets.Dataset, column: str) -> pa.ChunkedArray:
    """Return a column as Arrow has it."""
    # Other columns are not read.
    table = data.select_columns([column]).with_format("arrow")[:]
    return table.column(column)


def get_values(data: datasets.Dataset, column: str) -> list[Any]:
    """Return the values of a column as they were read."""
    # Nested values become lists and objects.
    return read_values(get_arrow_column(data, column))


def get_cells(column: pa.ChunkedArray) -> Sequence[Any]:
    """Return the values of a column as they were read; plain ones are made when they are needed."""
    is_json = isinstance(column.type, pa.JsonType)
    if is_json or pa.types.is_nested(column.type):
        return read_values(column)
    return LazyArrowColumn(column)


def get_texts(data: datasets.Dataset, column: str, source_name: str) -> pa.ChunkedArray | pa.Array:
    """Return a column of texts, None where there is none.

    Raises:
        TypeError: If a cell is no text.
        ValueError: If a text is no Unicode.
    """
    values = get_arrow_column(data, column)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return values
    texts = get_values(data, column)
    location = f"the column {column!r} of {source_name}"
    for row, text in enumerate(texts):
        if text is None or isinstance(text, str):
            continue
        remedy = ""
        if isinstance(text, list):
            joined = f'{{{{ {quote_column(column)} | join(" ") }}}}'
            remedy = f"; an expression joins lists: '{joined}'"
        raise TypeError(
            f"Expected texts in {location}, but row {row} holds {describe_kind(text)}{remedy}."
        )
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        raise ValueError(
            f"Expected Unicode text in {location}, but it has half a character."
        ) from None


def read_names(values: Iterable[Any]) -> LazyArrowColumn:
    """Return what ids or groups are called, "" where one is missing; 7.0 is 7 where all are such numbers.

    Example:
        >>> list(read_names([7.0, None, 12.0])), list(read_names(["7.0", "7.1"]))
        (['7', '', '12'], ['7.0', '7.1'])
    """
    names = pc.utf8_trim_whitespace(_write_names(values))
    # Numbers with missing ones among them are read as fractions.
    is_whole = pc.match_substring_regex(names, r"^([0-9]+\.0)?$")
    if pc.all(is_whole).as_py():
        names = pc.replace_substring_regex(names, r"\.0$", "")
    return LazyArrowColumn(names)


def _write_names(values: Iterable[Any]) -> pa.Array | pa.ChunkedArray:
    """Return values as texts, "" for missing ones."""
    if isinstance(values, LazyArrowColumn):
        kind = values.arrow.type
        if pa.types.is_string(kind) or pa.types.is_integer(kind):
            return pc.fill_null(values.arrow.cast(pa.string()), "")
    names = []
    for value in values:
        # NaN is not itself.
        is_missing = value is None or value != value
        names.append("" if is_missing else str(value))
    return pa.array(names, pa.string())
