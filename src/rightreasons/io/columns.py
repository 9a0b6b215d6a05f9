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
    ", but its columns are:? .*?(?=; name (?:it|them) with )|[.] If the first row .* column_names=(?=[.])"
)
# An expression in braces alone keeps its value, such as a list.
_SINGLE_EXPRESSION = re.compile(r"\s*\{\{((?:(?!\}\}).)*)\}\}\s*", re.DOTALL)


# ------------------------------------------------------------------------------ names of columns


def check_column_name(
    table: datasets.Dataset | Columns, column: str, option: str, source_name: str
) -> str:
    """Check that a column which an option names exists, and return its name.

    Args:
        table: The table; the message also suggests names of fields in the columns of a Dataset.
        column: The name.
        option: The option that gives it.
        source_name: What the table is called, for errors.

    Raises:
        OptionError: If it is missing; the message suggests the most similar names.
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
    """Check that the headings of the columns to read occur once; other headings may repeat.

    Args:
        table: The table.
        names: The columns to read; None is skipped.
        source_name: What the table is called, for errors.

    Raises:
        ValueError: If such a heading occurs twice.
    """
    column_names = _list_names(table)
    for name in names:
        # The reader of files marks the second of two equal headings with this prefix.
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
        column: The name that the option gives; None to go by the heading.
        headings: The usual headings, in lower case, the likeliest first.
        option: The option.
        source_name: What the table is called, for errors.
        subject: What the column holds, for the error if it is missing; "" if it may be missing.

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
    """Return the only candidate for a column, and raise an error for none or several.

    Args:
        candidates: The columns that may be meant.
        table: The table.
        subject: What the column holds, for errors.
        headings: Its usual headings, of which the error names three.
        option: The option that names it; "" if only its heading can.
        source_name: What the table is called, for errors.

    Raises:
        OptionError: If there is no candidate, or several.

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
    """Call several functions, and report the errors of all of them at once.

    A user who has to name two columns learns about both from one message.

    Args:
        *finders: Functions without arguments, each of which may raise an OptionError.

    Returns:
        The result of each function.

    Raises:
        OptionError: With the sentences and the options of all that were raised.
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
    first_sentence, *other_sentences = dict.fromkeys(map(str, errors))
    # All sentences list the columns of the table, which is enough once.
    shortened = [_REPEATED_PHRASE.sub("", sentence) for sentence in other_sentences]
    raise OptionError(" ".join([first_sentence, *shortened]), option=tuple(options))


def describe_missing_heading(table: datasets.Dataset | Columns) -> str:
    """Describe, for errors, that a table may have its first row for headings.

    This is assumed if a heading is also a value of its column.

    Args:
        table: The table.

    Returns:
        The end of a message with the option that gives headings; "" if no heading is a value.

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
        # Values of Arrow equal no text before they are converted.
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
        Dotted name -> feature; a field of objects in lists is a list.

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

    A field of a list of objects becomes a list; a missing object has missing fields. An expression is
    a template of jinja over the columns, which are also the items of `row`. It keeps the type of its
    value, such as a list, if the template is one pair of braces.

    Args:
        data: The table.
        names: Fields and expressions; names of columns, and other names, change nothing.

    Example:
        >>> rows = datasets.Dataset.from_list([{"q": {"stem": "Why?", "choices": [{"text": "So."}, {"text": "No."}]}}])
        >>> data = add_nested_columns(rows, ["q.stem", "q.choices.text"])
        >>> data["q.stem"][:], data["q.choices.text"][:]
        (['Why?'], [['So.', 'No.']])
        >>> add_nested_columns(rows, ["{{ q.choices | length }}"])["{{ q.choices | length }}"][:]
        [2]
    """
    fields = get_nested_features(data.features)
    # Expressions come first: they may contain a dot as well.
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
            # Objects that are stored as JSON have no known fields: they lack it if no cell has it.
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
    """Return a field of nested objects, as the stem of {"question": {"stem": "Why?"}}.

    Args:
        value: An object, a list of objects, or a text of JSON that is one.
        keys: The key on each level, as ["question", "stem"].

    Returns:
        The field; a list of fields for a list of objects; None if it is missing.
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
    """Return the term by which an expression reads a column.

    Args:
        column: The name of a column, or of a field with dots.

    Example:
        >>> quote_column("label"), quote_column("gold label")
        ('label', 'row["gold label"]')
    """
    if column.replace(".", "_").isidentifier():
        return column
    quoted = json.dumps(column, ensure_ascii=False)
    return f"row[{quoted}]"


def write_expression(term: str) -> str:
    """Return a term of jinja in double braces, as "{{ label | int }}", which makes it an expression."""
    return f"{{{{ {term} }}}}"


def quote_field(name: str, columns: Columns) -> str:
    """Return the term by which an expression reads a column, or a field of objects.

    Lists of one, which the first row shows, are unwrapped by the index 0.

    Args:
        name: The column, or the dotted name of the field.
        columns: Column by name.

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
    """Return the indices by which an expression takes a value out of lists of one: "[0][0]" for [["a"]]."""
    term = ""
    while is_list_of_one(value):
        value = value[0]
        term += "[0]"
    return term


def _write_key(key: str) -> str:
    """Return how an expression takes a field of an object: ".stem", or `["items"]` if it needs quotes."""
    # jinja reads ".items" as the method of this name.
    is_method = hasattr(dict, key)
    if key.isidentifier() and not is_method:
        return f".{key}"
    quoted = json.dumps(key, ensure_ascii=False)
    return f"[{quoted}]"


def is_expression(name: Any) -> bool:
    """Return whether the name of a column is a template over other columns."""
    return isinstance(name, str) and "{{" in name


def list_read_names(name: str) -> set[str]:
    """Return the columns that an expression reads; a plain name reads itself.

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
    """Evaluate an expression for every row of a table.

    Args:
        expression: A template of jinja over the columns, such as "{{ title }}: {{ body }}".
        data: The table.

    Returns:
        (N,) values.

    Raises:
        ValueError: If the expression is no template, reads what a row does not have, or fails.
    """
    from jinja2 import TemplateError

    from rightreasons.io.bounds import limit_memory

    # Filters may raise nearly any error for cells that they do not expect.
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
        # Compiling computes constants, which may be as large as results.
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
    """Return the cells of some columns, row by row; an empty row for each row without columns."""
    if not names:
        return [()] * len(data)
    columns = [get_values(data, name) for name in names]
    return zip(*columns, strict=True)


def _check_defined(value: Any) -> None:
    """Check that the value of an expression contains no undefined names, also in lists and objects.

    Raises:
        jinja2.UndefinedError: If it does.
    """
    from jinja2 import Undefined

    if isinstance(value, Undefined):
        # A strict undefined raises its error when it is converted to a text.
        str(value)
    elif isinstance(value, (list, tuple)):
        for member in value:
            _check_defined(member)
    elif isinstance(value, dict):
        for member in value.values():
            _check_defined(member)


def _list_read_columns(expression: str, data: datasets.Dataset) -> list[str]:
    """Return the columns of a table that an expression reads.

    These are all columns if it reads `row`, as in `row["gold label"]`, whose keys are not parsed.
    """
    names = list_read_names(expression)
    if "row" in names and "row" not in data.column_names:
        return list(data.column_names)
    return [name for name in data.column_names if name in names]


def _compile(expression: str) -> Callable[..., Any]:
    """Compile an expression to a function of the cells of a row, which are keyword arguments.

    The function returns a text, or a value of any type if the expression is one pair of braces.
    """
    environment = _make_environment()
    single = _SINGLE_EXPRESSION.fullmatch(expression)
    if single is None:
        render: Callable[..., Any] = environment.from_string(expression).render
        return render
    compute: Callable[..., Any] = environment.compile_expression(single[1], undefined_to_none=False)
    return compute


@functools.cache
def _make_environment() -> Any:
    """Make the jinja environment of all expressions, in which cells of JSON have fields as objects do."""
    from jinja2 import StrictUndefined

    from rightreasons.io.bounds import BoundedEnvironment

    class CellEnvironment(BoundedEnvironment):
        """Looks up fields in cells that are texts of JSON as well."""

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
    """Return a column of texts as a column of Arrow, with nulls for missing texts.

    Args:
        data: The table.
        column: The name of the column.
        source_name: What the table is called, for errors.

    Raises:
        TypeError: If a cell is no text.
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
    # JSON can hold one half of a surrogate pair.
    except UnicodeEncodeError:
        raise ValueError(
            f"Expected Unicode text in {location}, but a text contains half of a surrogate pair."
        ) from None


def read_names(values: Iterable[Any]) -> LazyArrowColumn:
    """Return ids or names of groups as texts, "" for missing ones.

    If all are whole numbers, 7.0 becomes "7": a column with missing numbers is read as fractions.

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
    """Return the cells of a column as texts, "" for None and NaN."""
    # Arrow converts its own columns without a loop.
    if isinstance(values, LazyArrowColumn):
        kind = values.arrow.type
        if pa.types.is_string(kind) or pa.types.is_integer(kind):
            return pc.fill_null(values.arrow.cast(pa.string()), "")
    names = []
    for value in values:
        # NaN differs from itself.
        is_missing = value is None or value != value
        names.append("" if is_missing else str(value))
    return pa.array(names, pa.string())
