"""Columns of tables: names in options and headings, fields of objects, expressions, and cells.

A name may be that of a column, of a field of the objects in a column (`question.stem`), or a jinja expression over the
columns of a row. `find_column` finds a column; `add_nested_columns` adds fields and expressions as separate columns.
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

# Phrases that errors about several columns of the same table repeat.
_REPEATED_PHRASE = re.compile(
    ", but its columns are:? .*?(?=; name (?:it|them) with )|[.] If the first row .* column_names=(?=[.])"
)
# A template that is a single expression in braces, whose value is not converted to a string.
_SINGLE_EXPRESSION = re.compile(r"\s*\{\{((?:(?!\}\}).)*)\}\}\s*", re.DOTALL)


# ------------------------------------------------------------------------------ names of columns


def check_column_name(
    table: datasets.Dataset | Columns, column: str, option: str, source_name: str
) -> str:
    """Check that a table has the column that an option names, and return its name.

    Args:
        table: The table, as a Dataset or as columns by their names.
        column: The value of the option.
        option: The name of the option, such as "text_column".
        source_name: Name of the table, for error messages.

    Raises:
        OptionError: If the column is missing. The message suggests the most similar columns and fields.
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
    """Check that the headings of the columns to read are unique; other headings may repeat.

    Args:
        table: The table.
        names: The columns to read; None is skipped.
        source_name: Name of the table, for error messages.

    Raises:
        ValueError: If the heading of a column to read occurs twice.
    """
    column_names = _list_names(table)
    for name in names:
        # The reader of files adds the prefix `AGAIN` to the second of two equal headings.
        if name is not None and AGAIN + name in column_names:
            raise ValueError(
                f"Expected distinct column names in {source_name}, but {name!r}, which is "
                "needed, occurs twice."
            )


def find_column(
    table: datasets.Dataset | Columns,
    column: str | None,
    headings: Sequence[str],
    option: str,
    source_name: str,
    subject: str = "",
) -> str | None:
    """Return the column that an option names, or else the one with the likeliest usual heading.

    Args:
        table: The table.
        column: The value of the option; None to use the usual headings.
        headings: The usual headings, in lower case, the likeliest first.
        option: The name of the option, such as "label_column".
        source_name: Name of the table, for error messages.
        subject: The content of the column, such as "labels", for the error if it is missing; "" if it may
            be missing.

    Returns:
        The column; None if there is no usual heading and `subject` is "".

    Raises:
        OptionError: If the column is missing.
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
    """Return the only candidate for a column, and raise an error if there is none or there are several.

    Args:
        candidates: The columns that may have the role.
        table: The table, whose columns the error lists.
        subject: The content of the column, such as "labels", for error messages.
        headings: Usual headings of the column, of which the error names the first three.
        option: The option by which the user can name the column; "" if there is no such option.
        source_name: Name of the table, for error messages.

    Raises:
        OptionError: If there is no candidate, or if there are several.

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
    if not option:
        remedy = ""
    raise OptionError(f"{sentence}{remedy}.", option=option or ())


def collect_results(*finders: Callable[[], Any]) -> list[Any]:
    """Call several functions, and raise one error with all errors that they raise.

    Thus a user who has to name two columns learns about both from one message.

    Args:
        *finders: Functions without arguments, each of which may raise an OptionError.

    Returns:
        The result of each function.

    Raises:
        OptionError: If a function raises one, with the sentences and the options of all of them.
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
    # A dictionary drops repeated options, and keeps their order.
    options: dict[str, None] = {}
    for missing in errors:
        options |= dict.fromkeys(missing.option)
    # Equal sentences, and the columns of the table, are only reported once.
    first_sentence, *other_sentences = dict.fromkeys(map(str, errors))
    shortened = [_REPEATED_PHRASE.sub("", sentence) for sentence in other_sentences]
    raise OptionError(" ".join([first_sentence, *shortened]), option=tuple(options))


def describe_missing_heading(table: datasets.Dataset | Columns) -> str:
    """Return a hint for error messages that a file may have no headings, so that its first row was used.

    A file is assumed to have no headings if a heading is also a value of its column.

    Args:
        table: The table.

    Returns:
        The end of a message, with the option that names the columns; "" if no heading is a value.

    Example:
        >>> describe_missing_heading({"15923": ["27014", "30681"], "OFF": ["NOT", "OFF"]})
        ". If the first row has values and no headings, as 'OFF' suggests, name all columns with column_names="
        >>> describe_missing_heading({"id": ["27014"], "label": ["NOT"]})
        ''
    """
    cells_by_name = table
    if isinstance(table, datasets.Dataset):
        cells_by_name = table.with_format("arrow")[:]
    for name in _list_names(table):
        column = cells_by_name[name]
        # Values of Arrow have to be converted before they can equal a string.
        values = map(str, column) if hasattr(column, "type") else column
        if name in values:
            return (
                f". If the first row has values and no headings, as {name[:60]!r} suggests, name all "
                "columns with column_names="
            )
    return ""


def _list_names(table: datasets.Dataset | Columns) -> list[str]:
    """Return the names of the columns of a table."""
    if isinstance(table, datasets.Dataset):
        return list(table.column_names)
    return list(table)


# -------------------------------------------------------------------------- fields of objects


def get_nested_features(features: Mapping[str, Any]) -> dict[str, Any]:
    """Return the features of all fields of objects by their dotted names, such as "question.stem".

    Args:
        features: Column -> its feature, as in `Dataset.features`.

    Returns:
        Dotted name -> feature. The feature of a field of objects in lists is a list.

    Example:
        >>> row = {"id": 1, "question": {"stem": "Why?", "choices": [{"text": "So.", "label": "A"}]}}
        >>> list(get_nested_features(datasets.Dataset.from_list([row]).features))
        ['question.stem', 'question.choices', 'question.choices.text', 'question.choices.label']
    """
    fields: dict[str, Any] = {}
    for name, feature in features.items():
        if isinstance(feature, (datasets.List, datasets.LargeList)):
            inner_fields = get_nested_features({name: feature.feature})
            for inner_name, inner_feature in inner_fields.items():
                fields[inner_name] = datasets.List(inner_feature)
        elif isinstance(feature, dict):
            for key, inner_feature in feature.items():
                inner_name = f"{name}.{key}"
                fields[inner_name] = inner_feature
                fields |= get_nested_features({inner_name: inner_feature})
    return fields


def add_nested_columns(data: datasets.Dataset, names: Iterable[Any]) -> datasets.Dataset:
    """Add columns for dotted names of fields ("q.stem") and for expressions ("{{ q.stem }}").

    The field of a list of objects is a list of values, and the field of a missing object is None. An
    expression is a jinja template over the columns, which are also the items of `row`. Its values are
    strings, or of any type, such as lists, if the template is a single pair of braces.

    Args:
        data: The table.
        names: Fields and expressions. Existing columns, unknown names and None are skipped.

    Example:
        >>> rows = datasets.Dataset.from_list([{"q": {"stem": "Why?", "choices": [{"text": "So."}, {"text": "No."}]}}])
        >>> data = add_nested_columns(rows, ["q.stem", "q.choices.text"])
        >>> data["q.stem"][:], data["q.choices.text"][:]
        (['Why?'], [['So.', 'No.']])
        >>> add_nested_columns(rows, ["{{ q.choices | length }}"])["{{ q.choices | length }}"][:]
        [2]
    """
    fields = get_nested_features(data.features)
    # Expressions are evaluated first, over the original columns.
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
            keys = name.removeprefix(f"{root}.").split(".")
            values = [_get_field(value, keys) for value in get_values(data, root)]
            # The fields of objects in JSON are unknown before they are read. A name without any value
            # is not that of a field.
            if name not in fields and all(value is None for value in values):
                continue
        column = _make_column(name, values, fields.get(name))
        data = datasets.concatenate_datasets([data, column], split=data.split, axis=1)
    return data


def _find_root(name: Any, column_names: Sequence[str]) -> str:
    """Return the column to which the dotted name of a field belongs, such as "q" for "q.stem"; "" if none.

    Of several columns with which the name begins, the one with the longest name is returned.
    """
    roots = [column for column in column_names if str(name).startswith(f"{column}.")]
    return max(roots, key=len, default="")


def _make_column(name: str, values: list[Any], feature: Any) -> datasets.Dataset:
    """Make a table of one column.

    Args:
        name: Its name.
        values: Its cells.
        feature: Its feature; None to derive the type from the values.
    """
    if feature is not None:
        features = datasets.Features({name: feature})
        return datasets.Dataset.from_dict({name: values}, features=features)
    table = pa.table({name: make_column(values, name, "the data")})
    return make_dataset(table, "the data")


def _get_field(value: Any, keys: Sequence[str]) -> Any:
    """Return a field of nested objects, such as "Why?" of {"question": {"stem": "Why?"}}.

    Args:
        value: An object, a list of objects, or a string of JSON that is one of these.
        keys: The key on each level, such as ["question", "stem"].

    Returns:
        The value of the field; a list of values for a list of objects; None if the field is missing.
    """
    if not keys:
        return value
    value = parse_cell(value)
    if isinstance(value, list):
        return [_get_field(member, keys) for member in value]
    if isinstance(value, dict):
        return _get_field(value.get(keys[0]), keys[1:])
    return None


# -------------------------------------------------------------------------------- expressions


def quote_column(column: str) -> str:
    """Return the term for a column in an expression.

    Args:
        column: The name of a column, or the dotted name of a field.

    Example:
        >>> quote_column("label"), quote_column("gold label")
        ('label', 'row["gold label"]')
    """
    if column.replace(".", "_").isidentifier():
        return column
    quoted = json.dumps(column, ensure_ascii=False)
    return f"row[{quoted}]"


def write_expression(term: str) -> str:
    """Return a jinja term in double braces, such as "{{ label | int }}", which makes it an expression."""
    return f"{{{{ {term} }}}}"


def quote_field(name: str, columns: Columns) -> str:
    """Return the term for a column, or for a field of objects, in an expression.

    If objects or values are in lists of one in the first row, the term selects them by the index 0.

    Args:
        name: The column, or the dotted name of the field.
        columns: Columns by their names.

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
    for key in name.removeprefix(f"{root}.").split("."):
        term += _write_unwrapping(value) + _write_key(key)
        fields = unwrap_value(value)
        value = fields.get(key) if isinstance(fields, dict) else None
    return term + _write_unwrapping(value)


def _write_unwrapping(value: Any) -> str:
    """Return the indices that select the value inside nested lists of one, such as "[0][0]" for [["a"]]."""
    term = ""
    while is_list_of_one(value):
        value = value[0]
        term += "[0]"
    return term


def _write_key(key: str) -> str:
    """Return the term for a field of an object in an expression: ".stem", or `["items"]` if it needs quotes."""
    # In jinja, ".items" is the method of this name.
    is_method = hasattr(dict, key)
    if key.isidentifier() and not is_method:
        return f".{key}"
    quoted = json.dumps(key, ensure_ascii=False)
    return f"[{quoted}]"


def is_expression(name: Any) -> bool:
    """Return whether a name is an expression over columns, such as "{{ title }} {{ body }}"."""
    return isinstance(name, str) and "{{" in name


def list_read_names(name: str) -> set[str]:
    """Return the columns that an expression reads; for the name of a column, only this name.

    Args:
        name: The expression, or the name of a column.

    Example:
        >>> sorted(list_read_names("{{ premise }} {{ question.stem }}")), list_read_names("label")
        (['premise', 'question'], {'label'})
    """
    if not is_expression(name):
        return {name}
    # Few tables need jinja2, which takes long to load.
    from jinja2 import meta

    template = _make_environment().parse(name)
    return set(meta.find_undeclared_variables(template))


def evaluate_expression(expression: str, data: datasets.Dataset) -> list[Any]:
    """Evaluate an expression for every row of a table.

    Args:
        expression: A jinja template over the columns, such as "{{ title }}: {{ body }}".
        data: The table of N rows.

    Returns:
        (N,) values.

    Raises:
        ValueError: If the expression is not a template, if it needs a name that a row does not have, or if
            its evaluation fails.
    """
    from jinja2 import TemplateError

    from rightreasons.io.bounds import limit_memory

    # Filters may raise many types of errors for unexpected cells.
    evaluation_errors = (
        TemplateError,
        MemoryError,
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        AttributeError,
    )
    location = ""
    values: list[Any] = []
    try:
        # Memory is also limited during compilation, which computes constants such as "a" * 10**9.
        with limit_memory():
            compute = _compile(expression)
            names = _list_read_columns(expression, data)
            for row, cells in enumerate(_iterate_cells(data, names)):
                location = f" in row {row}"
                cell_by_name = dict(zip(names, cells, strict=True))
                value = compute(**{"row": cell_by_name, **cell_by_name})
                _check_defined(value)
                values.append(value)
    except evaluation_errors as error:
        raise ValueError(
            f"Expected an expression over the columns {format_list(data.column_names)}, but "
            f"{expression!r} fails{location}: {short_reason(error)}."
        ) from None
    return values


def _iterate_cells(data: datasets.Dataset, names: Sequence[str]) -> Iterable[Sequence[Any]]:
    """Return the cells of some columns, row by row; an empty sequence per row if there are no columns."""
    if not names:
        return [()] * len(data)
    columns = [get_values(data, name) for name in names]
    return zip(*columns, strict=True)


def _check_defined(value: Any) -> None:
    """Check that the value of an expression is not undefined, and contains no undefined values.

    Args:
        value: The value, which may be a list or an object of values.

    Raises:
        jinja2.UndefinedError: If the expression uses a name that does not exist.
    """
    from jinja2 import Undefined

    if isinstance(value, Undefined):
        # A strict undefined value raises its error when it is converted to a string.
        str(value)
    elif isinstance(value, (list, tuple)):
        for member in value:
            _check_defined(member)
    elif isinstance(value, dict):
        for member in value.values():
            _check_defined(member)


def _list_read_columns(expression: str, data: datasets.Dataset) -> list[str]:
    """Return the columns of a table that an expression reads.

    An expression with `row`, as in `row["gold label"]`, may read any column, because keys are not parsed.
    """
    names = list_read_names(expression)
    if "row" in names and "row" not in data.column_names:
        return list(data.column_names)
    return [name for name in data.column_names if name in names]


def _compile(expression: str) -> Callable[..., Any]:
    """Compile an expression to a function of the cells of a row, which are its keyword arguments.

    The function returns a string, or a value of any type if the expression is a single pair of braces.
    """
    environment = _make_environment()
    match = _SINGLE_EXPRESSION.fullmatch(expression)
    if match is None:
        render: Callable[..., Any] = environment.from_string(expression).render
        return render
    # Undefined values are not replaced by None, so that they raise an error later.
    compute: Callable[..., Any] = environment.compile_expression(match[1], undefined_to_none=False)
    return compute


@functools.cache
def _make_environment() -> Any:
    """Make the jinja environment of all expressions, in which strings of JSON have fields like objects."""
    from jinja2 import StrictUndefined

    from rightreasons.io.bounds import BoundedEnvironment

    class CellEnvironment(BoundedEnvironment):
        """Looks up fields in objects and in cells that are strings of JSON."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            if not hasattr(obj, attribute):
                obj = parse_cell(obj)
            return super().getattr(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            return super().getitem(parse_cell(obj), argument)

    # A strict environment refuses unknown names, which would be empty strings otherwise.
    environment = CellEnvironment(undefined=StrictUndefined)
    environment.filters["whether"] = describe_membership
    return environment


# -------------------------------------------------------------------------------------- cells


def get_arrow_column(data: datasets.Dataset, column: str) -> pa.ChunkedArray:
    """Return a column of Arrow, without reading other columns."""
    table = data.select_columns([column]).with_format("arrow")[:]
    return table.column(column)


def get_values(data: datasets.Dataset, column: str) -> list[Any]:
    """Return the values of a column as objects of Python: nested values become lists and dictionaries."""
    return read_values(get_arrow_column(data, column))


def get_cells(column: pa.ChunkedArray) -> Sequence[Any]:
    """Return the values of a column of Arrow; values that are not nested are converted when they are used."""
    is_json = isinstance(column.type, pa.JsonType)
    if is_json or pa.types.is_nested(column.type):
        return read_values(column)
    return LazyArrowColumn(column)


def get_texts(data: datasets.Dataset, column: str, source_name: str) -> pa.ChunkedArray | pa.Array:
    """Return a column of strings as a column of Arrow, with nulls for missing values.

    Args:
        data: The table.
        column: The name of the column.
        source_name: Name of the table, for error messages.

    Raises:
        TypeError: If a cell is not a string.
        ValueError: If a text is not valid Unicode.
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
            joined = write_expression(f'{quote_column(column)} | join(" ")')
            remedy = f". Join each list with an expression: '{joined}'"
        raise TypeError(
            f"Expected texts in {location}, but row {row} holds {describe_kind(text)}{remedy}."
        )
    try:
        return pa.array(texts, pa.string())
    # A string of JSON may contain one half of a surrogate pair, which cannot be encoded.
    except UnicodeEncodeError:
        raise ValueError(
            f"Expected Unicode text in {location}, but a text contains half of a surrogate pair."
        ) from None


def read_names(values: Iterable[Any]) -> LazyArrowColumn:
    """Return ids or names of groups as strings, "" for missing ones.

    If all names are whole numbers, 7.0 becomes "7", because whole numbers become floats in a column with
    missing values.

    Args:
        values: The cells of a column.

    Example:
        >>> list(read_names([7.0, None, 12.0])), list(read_names(["7.0", "7.1"]))
        (['7', '', '12'], ['7.0', '7.1'])
    """
    names = pc.utf8_trim_whitespace(_write_names(values))
    is_whole = pc.match_substring_regex(names, r"^([0-9]+\.0)?$")
    if pc.all(is_whole).as_py():
        names = pc.replace_substring_regex(names, r"\.0$", "")
    return LazyArrowColumn(names)


def _write_names(values: Iterable[Any]) -> pa.Array | pa.ChunkedArray:
    """Return the cells of a column as strings, "" for None and NaN."""
    # Arrow converts its own columns of strings and integers without a loop.
    if isinstance(values, LazyArrowColumn):
        arrow_type = values.arrow.type
        if pa.types.is_string(arrow_type) or pa.types.is_integer(arrow_type):
            return pc.fill_null(values.arrow.cast(pa.string()), "")
    names = []
    for value in values:
        # NaN is the only value that differs from itself.
        is_missing = value is None or value != value
        names.append("" if is_missing else str(value))
    return pa.array(names, pa.string())
