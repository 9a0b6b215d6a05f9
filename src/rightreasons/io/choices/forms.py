"""Formats of multiple choice: which columns hold the prompts, the choices and the right choice.

`find_choice_form` returns the columns that the user named, or those of a known format, which
`choice_forms.yaml` lists.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import datasets

from rightreasons.core.choices import LETTERS
from rightreasons.core.errors import OptionError
from rightreasons.core.options import parse_names
from rightreasons.core.sentences import format_list
from rightreasons.core.yaml_files import read_yaml
from rightreasons.io import columns
from rightreasons.io.columns import get_nested_features
from rightreasons.io.contents import describe_contents, make_key, parse_value
from rightreasons.io.headings import (
    USUAL_HEADINGS,
    find_usual_column,
    is_first_row,
    list_usual_columns,
)
from rightreasons.io.options import ChoiceOptions
from rightreasons.io.proposals.choices import (
    ChoiceProposal,
    find_choice_lists,
    name_right_choice,
    propose_choices,
    propose_right_choice,
)
from rightreasons.io.proposals.relations import list_keys
from rightreasons.io.roles import (
    FIRST_TEXT_HEADINGS,
    Role,
    describe_columns_and_fields,
    describe_proposal,
    warn_of_doubts,
)

CHOICE_HEADINGS: Mapping[str, Sequence[str]] = USUAL_HEADINGS["choices"]
"""Usual headings of a passage, a question, the choices and the right choice."""

FORMS_VARIABLE = "RIGHTREASONS_CHOICE_FORMS"
"""The environment variable that names a file like choice_forms.yaml, whose formats come first."""

_FORMS_FILE = Path(__file__).parents[1] / "choice_forms.yaml"

# A column per choice, counted from 0 or 1 (choice_0, Option 1) or lettered (answer_a).
_NUMBERED_HEADING = re.compile(
    r"(choice|option|answer|candidate|ending|hypothesis)[ _-]?([0-9]{1,2}|[a-z])", re.IGNORECASE
)


@dataclasses.dataclass(frozen=True)
class ChoiceForm:
    """The columns of a format.

    Attributes:
        prompt: Columns of the prompt, joined by spaces.
        choices: One column with the list of choices (or of objects {text, label}, or an object {"A": …, "B": …}), or
            one column per choice.
        label: Column of the right choice; None if there is none.
        first_label: Number of the first choice if labels are numbers.
        is_numbered: Whether the user says that labels are numbers.
        numbers: Numbers among the labels of all splits, which tell whether they begin at 0 or 1; None if the format
            itself says it.
    """

    prompt: tuple[str, ...]
    choices: tuple[str, ...]
    label: str | None
    first_label: int = 0
    is_numbered: bool = False
    numbers: frozenset[int] | None = None


class HeadingSeries(NamedTuple):
    """Headings of columns with one choice each, such as choice_0, choice_1.

    Attributes:
        headings: The headings in the order of the choices.
        is_counted_from_zero: Whether they are numbered from 0.
    """

    headings: tuple[str, ...]
    is_counted_from_zero: bool


def find_choice_form(
    data: datasets.Dataset, options: ChoiceOptions, source_name: str
) -> tuple[datasets.Dataset, ChoiceForm]:
    """Find the columns of the prompts, the choices and the right choice of a table.

    Columns that the user names come first, then those of a known format, then proposals by the cells.

    Args:
        data: The table.
        options: Options that name columns.
        source_name: What the table is called, for errors.

    Returns:
        The table, with fields and expressions of the format as columns, and the format.

    Raises:
        OptionError: If there is no known format, or a named column is missing.
    """
    names = _list_names(data)
    prompt = list_columns(options.prompt_column, names)
    choices = list_columns(options.choices_column, names)
    if prompt and choices:
        label = find_usual_column(data.column_names, CHOICE_HEADINGS["label"])
        form = ChoiceForm(prompt, choices, label, numbers=frozenset())
    else:
        form = _select_form(data, options, prompt, source_name)
        # A column that the user names replaces that of the format.
        form = dataclasses.replace(
            form, prompt=prompt or form.prompt, choices=choices or form.choices
        )
    if options.label_column:
        form = dataclasses.replace(form, label=options.label_column)
    form = _read_choice_lists(data, form)
    if form.label is None:
        form = _propose_right_choice(data, form)
    if options.first_label is not None:
        form = dataclasses.replace(form, first_label=options.first_label, is_numbered=True)
    data = columns.add_nested_columns(data, (*form.prompt, *form.choices, form.label))
    _check_columns(data, form, source_name)
    return data, form


def list_columns(
    option: str | Sequence[str] | None, column_names: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the columns that an option names, as ("a", "b") for "a,b".

    Args:
        option: The value of the option; None for no columns.
        column_names: The columns of the table. A text is only split at its commas if all parts are
            columns: a column may have a comma in its name, and so may an expression.
    """
    if option is None:
        return ()
    if not isinstance(option, str):
        return tuple(option)
    names = tuple(parse_names(option) or ())
    if option not in column_names and set(names) <= set(column_names):
        return names
    return (option,)


def _list_names(data: datasets.Dataset) -> list[str]:
    """Return the names of the columns of a data set, and of the fields in them."""
    return [*data.column_names, *get_nested_features(data.features)]


def _check_columns(data: datasets.Dataset, form: ChoiceForm, source_name: str) -> None:
    """Check that each column of a format exists in a table, and that its heading occurs once.

    Raises:
        OptionError: If a column is missing.
        ValueError: If a heading repeats.
    """
    columns_by_option = {
        "prompt_column": form.prompt,
        "choices_column": form.choices,
        "label_column": list_columns(form.label),
    }
    for option, names in columns_by_option.items():
        for name in names:
            columns.check_column_name(data, name, option, source_name)
        columns.check_unique_columns(data, names, source_name)


# ------------------------------------------------------------------------------- known formats


def find_known_form(
    data: datasets.Dataset | columns.Columns, label_column: str | None
) -> ChoiceForm | None:
    """Return the known multiple-choice format whose columns a table has; None if there is none.

    Args:
        data: The table.
        label_column: The column that the label of the format has to be; None for any.
    """
    names = _list_names(data) if isinstance(data, datasets.Dataset) else list(data)
    for form in _list_forms(names, prompt=()):
        has_label = label_column is None or form.label == label_column
        if has_label and not _has_classes(data, form):
            return form
    return None


def _has_classes(data: datasets.Dataset | columns.Columns, form: ChoiceForm) -> bool:
    """Return whether the "choices" of a table are the class names of a classification tool.

    They are the same in all rows, and the labels are words that name none of them.

    Args:
        data: The table.
        form: The format whose columns it has.
    """
    contents = describe_contents(data)
    # Such tools write the class names into a single column.
    has_single_column = len(form.choices) == 1 and form.choices[0] in contents
    if not has_single_column or form.label not in contents:
        return False
    label_column = str(form.label)
    label = contents[label_column]
    has_words = label.kind == "text" and label.has_classes
    if not has_words or not contents[form.choices[0]].is_constant:
        return False
    # The labels may be letters or texts of the choices.
    choices = parse_value(contents.get_cells(form.choices[0])[0])
    letters = LETTERS[: len(choices)].lower()
    choice_keys = {*letters, *map(make_key, _list_texts(choices))}
    return choice_keys.isdisjoint(list_keys(contents.get_cells(label_column)))


def _list_texts(value: Any) -> Iterator[str]:
    """Yield the texts in nested lists and objects, as "a" and "b" of [{"text": "a"}, "b"]."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _list_texts(list(value.values()))
    elif isinstance(value, list):
        for member in value:
            yield from _list_texts(member)


def _select_form(
    data: datasets.Dataset, options: ChoiceOptions, prompt: tuple[str, ...], source_name: str
) -> ChoiceForm:
    """Return the format of a table: a known one, or one that its cells suggest.

    Args:
        data: The table.
        options: Options that name columns.
        prompt: The columns of the prompt that the user named; () for none.
        source_name: What the table is called, for errors.

    Raises:
        OptionError: If there is none.
    """
    names = _list_names(data)
    forms = _list_forms(names, prompt)
    # The cells suggest nothing next to choices that the user names.
    if not forms and options.choices_column is None:
        proposal = propose_choice_form(data)
        if proposal is not None:
            warn_of_doubts([proposal.in_words])
            label = proposal.label
            forms = [ChoiceForm(proposal.prompt, proposal.choices, label, numbers=frozenset())]
    if not forms:
        raise OptionError(
            f"Expected prompts and choices in {source_name} in a known format, but its columns are "
            f"{format_list(names)}; name them with prompt_column= and choices_column="
            f"{columns.describe_missing_heading(data)}.",
            option=("prompt_column", "choices_column"),
        )
    # Several formats may have the same prompts and choices, and differ in the label.
    for form in forms:
        if _has_columns(names, form.label):
            return form
    return dataclasses.replace(forms[0], label=None)


def _has_columns(names: Collection[str], label: str | None) -> bool:
    """Return whether a table has all columns of a label, which may be an expression."""
    return columns.list_read_names(str(label)) <= set(names)


def _list_forms(names: Collection[str], prompt: tuple[str, ...]) -> list[ChoiceForm]:
    """Return the formats whose columns a table has, the likeliest first.

    Args:
        names: The columns, and the fields in them.
        prompt: The columns of the prompt that the user named; () for none.

    Returns:
        Known formats, with the letter case of the table; else the format of usual headings; [] for none.
    """
    name_by_lower = {name.lower(): name for name in sorted(names)}
    forms = []
    for required_names, form in _read_known_forms(os.environ.get(FORMS_VARIABLE)):
        lower_names = {name.lower() for name in required_names}
        if required_names <= set(names):
            forms.append(form)
        elif lower_names <= name_by_lower.keys():
            # An expression contains names of columns, which cannot be replaced.
            has_expressions = any(map(columns.is_expression, (*form.prompt, *form.choices)))
            if not has_expressions:
                forms.append(_rename_columns(form, name_by_lower))
    if forms:
        return forms
    numbered_form = _find_numbered_form(sorted(names), prompt)
    return [] if numbered_form is None else [numbered_form]


def _rename_columns(form: ChoiceForm, name_by_lower: Mapping[str, str]) -> ChoiceForm:
    """Return a format with the columns in the letter case of a table.

    Args:
        form: The format.
        name_by_lower: Name in lower case -> name in the table.
    """
    prompt = [name_by_lower.get(name.lower(), name) for name in form.prompt]
    choices = [name_by_lower.get(name.lower(), name) for name in form.choices]
    label = name_by_lower.get(str(form.label).lower(), form.label)
    return dataclasses.replace(form, prompt=tuple(prompt), choices=tuple(choices), label=label)


@functools.cache
def _read_known_forms(user_file: str | None) -> tuple[tuple[frozenset[str], ChoiceForm], ...]:
    """Read the known formats, each with the columns that a table needs for it.

    Args:
        user_file: A file like `choice_forms.yaml`, whose formats come first; None for none.

    Returns:
        The names of the columns of prompts and choices, and the format; the label may be missing.
    """
    files = [_FORMS_FILE]
    if user_file:
        files.insert(0, Path(user_file))
    entries = itertools.chain.from_iterable(map(read_yaml, files))
    forms = []
    for entry in entries:
        required_names = set()
        for name in (*entry["prompt"], *entry["choices"]):
            required_names |= columns.list_read_names(name)
        # A format may be released with several names of the label.
        for label in entry["label"]:
            form = ChoiceForm(
                prompt=tuple(entry["prompt"]),
                choices=tuple(entry["choices"]),
                label=label,
                first_label=entry.get("first_label", 0),
            )
            forms.append((frozenset(required_names), form))
    return tuple(forms)


# ------------------------------------------------------------------------------- headings


def _find_numbered_form(names: Sequence[str], prompt: tuple[str, ...]) -> ChoiceForm | None:
    """Return the format of usual headings ("question", "choices"), or of one column per choice.

    Args:
        names: The columns, sorted.
        prompt: The columns of the prompt that the user named; () for none.

    Returns:
        The format; None if no heading is that of a prompt, or none is that of choices.
    """
    if not prompt:
        passage = find_usual_column(names, CHOICE_HEADINGS["passage"])
        question = find_usual_column(names, CHOICE_HEADINGS["question"])
        prompt = tuple(name for name in (passage, question) if name)
    if not prompt:
        return None
    label = find_usual_column(names, CHOICE_HEADINGS["label"])
    choices = find_usual_column(names, CHOICE_HEADINGS["choices"])
    if choices:
        return ChoiceForm(prompt, (choices,), label, numbers=frozenset())
    series = next(_list_series(names), None)
    if series is None:
        return None
    # Columns that are counted from 0 show that labels are as well.
    if series.is_counted_from_zero:
        return ChoiceForm(prompt, series.headings, label)
    # Otherwise the numbers among the labels have to show it.
    return ChoiceForm(prompt, series.headings, label, numbers=frozenset())


def _list_series(names: Sequence[str]) -> Iterator[HeadingSeries]:
    """Yield each series of headings such as choice_0, choice_1 or answer_a, answer_b.

    A series has at least two headings without a gap, and begins with 0, 1 or a.

    Args:
        names: The columns, sorted.
    """
    # (Stem such as "choice", whether marks are numbers) -> position -> heading.
    series: dict[tuple[str, bool], dict[int, str]] = {}
    for name in names:
        match = _NUMBERED_HEADING.fullmatch(name)
        if match is None:
            continue
        stem, mark = match.groups()
        is_number = mark.isdigit()
        position = int(mark) if is_number else ord(mark.lower()) - ord("a")
        headings = series.setdefault((stem.lower(), is_number), {})
        headings[position] = name
    for (_, is_number), heading_by_position in series.items():
        positions = sorted(heading_by_position)
        start = positions[0]
        has_start = start == 0 or (is_number and start == 1)
        is_complete = positions == list(range(start, start + len(positions)))
        if len(positions) > 1 and has_start and is_complete:
            headings_in_order = [heading_by_position[position] for position in positions]
            yield HeadingSeries(tuple(headings_in_order), is_number and start == 0)


# ------------------------------------------------------------------------------- proposals


def propose_choice_form(data: datasets.Dataset) -> ChoiceProposal | None:
    """Propose the columns of questions, choices and right choices by their cells.

    Args:
        data: The table.

    Returns:
        The proposal; None if no cells suggest it, if a heading says that there are texts to classify,
        or if the headings are a first row of cells.
    """
    has_texts = list_usual_columns(data.column_names, FIRST_TEXT_HEADINGS)
    if has_texts or is_first_row(data.column_names):
        return None
    return propose_choices(describe_columns_and_fields(data))


def _read_choice_lists(data: datasets.Dataset, form: ChoiceForm) -> ChoiceForm:
    """Return a format with an expression that makes lists of texts, if its column has another form.

    For example, choices that are one text with separators, or objects with unusual keys.

    Args:
        data: The table.
        form: The format.

    Returns:
        The format, with a warning about a change; unchanged if the reader knows the form, or nobody does.
    """
    column = form.choices[0]
    # An expression makes lists of texts already.
    has_single_column = len(form.choices) == 1 and column in data.column_names
    if not has_single_column or data.features[column] == datasets.List(datasets.Value("string")):
        return form
    contents = describe_columns_and_fields(data)
    label = form.label or ""
    # The label may be an expression, whose values are not known here.
    if label and label not in contents:
        return form
    lists = find_choice_lists(contents, column, label)
    if lists is None or lists.expression == column:
        return form
    doubt = (
        f"The cells of {column!r} are not lists of texts, so the choices are read by "
        f"{lists.expression!r}. Name another column or expression with `choices_column`."
    )
    warn_of_doubts([doubt])
    if label:
        label = name_right_choice(contents, label, lists)
    else:
        # The choices may mark the right one themselves.
        label = lists.label
    return dataclasses.replace(form, choices=(lists.expression,), label=label or None)


def _propose_right_choice(data: datasets.Dataset, form: ChoiceForm) -> ChoiceForm:
    """Return a format with the only column whose values name choices of their rows as the label.

    Args:
        data: The table.
        form: A format without a label.

    Returns:
        The format, with a warning about the column; unchanged if no column fits, or several.
    """
    label = propose_right_choice(describe_columns_and_fields(data), form.choices)
    if not label:
        return form
    reason = "each of its values is a choice of its row"
    role = Role("label", (label,), "content", reason)
    warn_of_doubts([describe_proposal("right choices", role, "label_column")])
    return dataclasses.replace(form, label=label, first_label=0, numbers=frozenset())
