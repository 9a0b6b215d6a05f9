"""Formats of multiple choice: the columns of the prompts, the choices and the correct choice.

`find_choice_form` returns the columns that the user named, or those of a known format of
`choice_forms.yaml`, or else columns that are chosen by their cells.
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
    find_unlabeled_choices,
    name_right_choice,
    propose_choices,
    propose_right_choice,
)
from rightreasons.io.proposals.pointed_columns import propose_pointed_columns
from rightreasons.io.proposals.relations import list_keys
from rightreasons.io.roles import (
    FIRST_TEXT_HEADINGS,
    Role,
    describe_columns_and_fields,
    describe_proposal,
    warn_of_doubts,
)

CHOICE_HEADINGS: Mapping[str, Sequence[str]] = USUAL_HEADINGS["choices"]
"""Usual headings of a passage, a question, the choices and the correct choice."""

FORMS_VARIABLE = "RIGHTREASONS_CHOICE_FORMS"
"""The environment variable with the path of a file like choice_forms.yaml, whose formats come first."""

_FORMS_FILE = Path(__file__).parents[1] / "choice_forms.yaml"

# A column per choice, counted from 0 or 1 (choice_0, Option 1) or lettered (answer_a).
_NUMBERED_HEADING = re.compile(
    r"(choice|option|answer|candidate|ending|hypothesis)[ _-]?([0-9]{1,2}|[a-z])", re.IGNORECASE
)


@dataclasses.dataclass(frozen=True)
class ChoiceForm:
    """The columns of a multiple-choice format. A name may also be an expression over columns.

    Attributes:
        prompt: Columns of the prompt, joined by spaces.
        choices: One column with all choices (a list of texts, a list of objects {text, label}, or an object
            {"A": …, "B": …}), or one column per choice.
        label: Column of the correct choice; None if there is none.
        first_label: Number of the first choice if labels are numbers.
        is_numbered: Whether the user set `first_label`, so that labels are numbers.
        numbers: Numbers among the labels of all splits, which show whether they begin at 0 or 1; None if `first_label`
            is known from the format.
    """

    prompt: tuple[str, ...]
    choices: tuple[str, ...]
    label: str | None
    first_label: int = 0
    is_numbered: bool = False
    numbers: frozenset[int] | None = None


UNKNOWN_START: frozenset[int] = frozenset()
"""Value of `ChoiceForm.numbers` before labels are read: they may show whether choices count from 0 or from 1."""


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
    """Find the columns of the prompts, the choices and the correct choice of a table.

    Columns that the user names are preferred to those of a known format, and these to columns that are
    chosen by their cells.

    Args:
        data: The table.
        options: Options, of which `prompt_column`, `choices_column`, `label_column` and `first_label` are
            used.
        source_name: Name of the table, for error messages.

    Returns:
        The table, with the fields and expressions of the format added as columns, and the format.

    Raises:
        OptionError: If no columns of prompts and choices are found, or a named column is missing.
    """
    names = _list_names(data)
    prompt = list_columns(options.prompt_column, names)
    choices = list_columns(options.choices_column, names)
    if prompt and choices:
        label = find_usual_column(data.column_names, CHOICE_HEADINGS["label"])
        form = ChoiceForm(prompt, choices, label, numbers=UNKNOWN_START)
    else:
        form = _select_form(data, options, prompt, source_name)
        # A column that the user names replaces the one of the format.
        form = dataclasses.replace(
            form, prompt=prompt or form.prompt, choices=choices or form.choices
        )
    if options.label_column:
        form = dataclasses.replace(form, label=options.label_column)
    # Choices may need an expression, and the correct choice may be chosen by its cells.
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
    """Return the columns that an option names, such as ("a", "b") for "a,b".

    Args:
        option: The value of the option: a string, a list of names, or None for no columns.
        column_names: The columns of the table. A string is only split at its commas if all parts are
            columns, because the name of a column, or an expression, may contain a comma.
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
    """Return the columns of a table, and the dotted names of the fields of objects in them."""
    return [*data.column_names, *get_nested_features(data.features)]


def _check_columns(data: datasets.Dataset, form: ChoiceForm, source_name: str) -> None:
    """Check that each column of a format exists in a table, and that its heading occurs once.

    Args:
        data: The table.
        form: The format, with the columns of the prompts, of the choices and of the label.
        source_name: Name of the table, for error messages.

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
        label_column: The column of labels that the user named, which has to be that of the format; None
            if the user named no labels.
    """
    names = _list_names(data) if isinstance(data, datasets.Dataset) else list(data)
    for form in _list_forms(names, prompt=()):
        has_label = label_column is None or form.label == label_column
        if has_label and not _has_class_names(data, form):
            return form
    return None


def _has_class_names(data: datasets.Dataset | columns.Columns, form: ChoiceForm) -> bool:
    """Return whether the "choices" of a table are the class names of a tool for classification.

    This is so if the choices are the same in all rows, and the labels are words that are neither letters
    nor texts of the choices.

    Args:
        data: The table.
        form: A format whose columns the table has, with the columns of the choices and the label.
    """
    contents = describe_contents(data)
    choices_column = form.choices[0]
    label_column = str(form.label)
    # Such tools write all class names into a single column.
    if len(form.choices) > 1 or choices_column not in contents or form.label not in contents:
        return False
    label = contents[label_column]
    has_words = label.kind == "text" and label.has_classes
    if not has_words or not contents[choices_column].is_constant:
        return False
    choices = parse_value(contents.get_cells(choices_column)[0])
    letters = LETTERS[: len(choices)].lower()
    choice_keys = {*letters, *map(make_key, _iterate_texts(choices))}
    return choice_keys.isdisjoint(list_keys(contents.get_cells(label_column)))


def _iterate_texts(value: Any) -> Iterator[str]:
    """Yield all strings in nested lists and objects, such as "a" and "b" in [{"text": "a"}, "b"]."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _iterate_texts(list(value.values()))
    elif isinstance(value, list):
        for member in value:
            yield from _iterate_texts(member)


def _select_form(
    data: datasets.Dataset, options: ChoiceOptions, prompt: tuple[str, ...], source_name: str
) -> ChoiceForm:
    """Return the format of a table: a known one, or else one that is chosen by the cells.

    Args:
        data: The table.
        options: Options; if `choices_column` is set, no format is chosen by the cells.
        prompt: The columns of the prompt that the user named; empty if there are none.
        source_name: Name of the table, for error messages.

    Raises:
        OptionError: If there is no such format.
    """
    names = _list_names(data)
    forms = _list_forms(names, prompt)
    if not forms and options.choices_column is None:
        proposal = propose_choice_form(data)
        if proposal is not None:
            warn_of_doubts([proposal.in_words])
            label = proposal.label
            forms = [ChoiceForm(proposal.prompt, proposal.choices, label, numbers=UNKNOWN_START)]
    if not forms:
        raise OptionError(
            f"Expected prompts and choices in {source_name} in a known format, but its columns are "
            f"{format_list(names)}; name them with prompt_column= and choices_column="
            f"{columns.describe_missing_heading(data)}.",
            option=("prompt_column", "choices_column"),
        )
    # Several formats may have the same prompts and choices, and differ in the label.
    for form in forms:
        label_columns = columns.list_read_names(str(form.label))
        if label_columns <= set(names):
            return form
    return dataclasses.replace(forms[0], label=None)


def _list_forms(names: Collection[str], prompt: tuple[str, ...]) -> list[ChoiceForm]:
    """Return the formats whose columns a table has, the likeliest first.

    Args:
        names: The columns of the table, and the dotted names of fields in them.
        prompt: The columns of the prompt that the user named; empty if there are none.

    Returns:
        Known formats, with the letter case of the table, or else the format of usual headings. The list is
        empty if the table has neither.
    """
    name_by_lower = {name.lower(): name for name in sorted(names)}
    forms = []
    for required_names, form in _read_known_forms(os.environ.get(FORMS_VARIABLE)):
        lower_names = {name.lower() for name in required_names}
        if required_names <= set(names):
            forms.append(form)
        elif lower_names <= name_by_lower.keys():
            # The letter case of columns inside an expression cannot be changed.
            has_expressions = any(map(columns.is_expression, (*form.prompt, *form.choices)))
            if not has_expressions:
                forms.append(_rename_columns(form, name_by_lower))
    if forms:
        return forms
    usual_form = _find_usual_form(sorted(names), prompt)
    return [] if usual_form is None else [usual_form]


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
    """Read the known formats, each with the columns that a table of this format has.

    Args:
        user_file: A file like `choice_forms.yaml`, whose formats come first; None if the user has no file.

    Returns:
        Pairs of the required columns, which are those of prompts and choices (the label may be missing),
        and the format.
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
        # Releases of a format may differ in the name of the label.
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


def _find_usual_form(names: Sequence[str], prompt: tuple[str, ...]) -> ChoiceForm | None:
    """Return the format of usual headings: "question" and "choices", or one column per choice ("choice_0").

    Args:
        names: The columns, sorted.
        prompt: The columns of the prompt that the user named; empty if there are none.

    Returns:
        The format; None if there is no usual heading of a prompt, or no usual heading of choices.
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
        return ChoiceForm(prompt, (choices,), label, numbers=UNKNOWN_START)
    series = next(_list_series(names), None)
    if series is None:
        return None
    # If columns are counted from 0, labels are as well.
    if series.is_counted_from_zero:
        return ChoiceForm(prompt, series.headings, label, first_label=0)
    # Otherwise the numbers of the labels have to show where they begin.
    return ChoiceForm(prompt, series.headings, label, numbers=UNKNOWN_START)


def _list_series(names: Sequence[str]) -> Iterator[HeadingSeries]:
    """Yield each series of headings such as choice_0, choice_1 or answer_a, answer_b.

    A series has at least two headings without a gap, and begins with 0, 1 or a.

    Args:
        names: The columns, sorted.
    """
    # (Word such as "choice", whether it is followed by a number) -> number -> heading. The number of
    # the letter a is 0.
    series: dict[tuple[str, bool], dict[int, str]] = {}
    for name in names:
        match = _NUMBERED_HEADING.fullmatch(name)
        if match is None:
            continue
        word, suffix = match.groups()
        is_numbered = suffix.isdigit()
        number = int(suffix) if is_numbered else ord(suffix.lower()) - ord("a")
        heading_by_number = series.setdefault((word.lower(), is_numbered), {})
        heading_by_number[number] = name
    for (_, is_numbered), heading_by_number in series.items():
        numbers = sorted(heading_by_number)
        start = numbers[0]
        has_start = start == 0 or (is_numbered and start == 1)
        is_complete = numbers == list(range(start, start + len(numbers)))
        if len(numbers) > 1 and has_start and is_complete:
            headings = [heading_by_number[number] for number in numbers]
            yield HeadingSeries(tuple(headings), is_counted_from_zero=is_numbered and start == 0)


# ------------------------------------------------------------------------------- proposals


def propose_choice_form(data: datasets.Dataset) -> ChoiceProposal | None:
    """Choose the columns of questions, choices and correct choices by their cells.

    Args:
        data: The table.

    Returns:
        The columns; None if no cells look like choices, if a heading shows that there are texts to
        classify, or if the file has no headings, so that its first row was read as such. Labels that name
        the columns of choices, or repeat their texts, are stronger evidence than a heading.
    """
    if is_first_row(data.column_names):
        return None
    contents = describe_columns_and_fields(data)
    proposal = propose_pointed_columns(contents)
    if proposal is not None:
        return proposal
    if list_usual_columns(data.column_names, FIRST_TEXT_HEADINGS):
        return None
    return propose_choices(contents)


def describe_unread_choices(data: datasets.Dataset, *, has_label: bool) -> list[str]:
    """Return a sentence on columns that look like choices next to a heading of texts to classify.

    Args:
        data: A table that is read as texts to classify.
        has_label: Whether a column is read as the label of the texts.

    Returns:
        The sentence; an empty list if no columns look like choices.
    """
    if is_first_row(data.column_names):
        return []
    contents = describe_columns_and_fields(data)
    # The headings of texts, which usually take precedence, are ignored here.
    proposal = propose_choices(contents)
    if proposal is not None:
        choices = format_list([repr(name) for name in proposal.choices])
        sentence = (
            f"The texts of {choices} may be choices, and {proposal.label!r} the correct one "
            f"({proposal.reason}). To read them as such, name them with `choices_column`, and the question "
            "with `prompt_column`."
        )
        return [sentence]
    names = find_unlabeled_choices(contents)
    if has_label or not names:
        return []
    choices = format_list([repr(name) for name in names])
    # Sorted, the correct choice is not always the first one.
    terms = ", ".join(columns.quote_column(name) for name in names)
    expression = columns.write_expression(f"[{terms}] | sort")
    sentence = (
        f"The texts of {choices} may be choices. If one column is always the correct one, set "
        f"`choices_column` to '{expression}', `prompt_column` to the question, and `label_column` to that column."
    )
    return [sentence]


def _read_choice_lists(data: datasets.Dataset, form: ChoiceForm) -> ChoiceForm:
    """Replace a column of choices that are not lists of texts by an expression that makes such lists.

    For example, choices may be one text with separators, or objects with unusual keys. A warning reports
    the expression.

    Args:
        data: The table.
        form: The format, with the column of the choices and the label.

    Returns:
        The changed format. It is unchanged if the choices are in one column each, if they can be read
        without an expression, or if no expression is found.
    """
    column = form.choices[0]
    # A name that is not a column is an expression of the user, which makes lists of texts already.
    has_single_column = len(form.choices) == 1 and column in data.column_names
    if not has_single_column or data.features[column] == datasets.List(datasets.Value("string")):
        return form
    contents = describe_columns_and_fields(data)
    label = form.label or ""
    # The values of a label that is an expression are not known here.
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
        # The objects of choices may mark the correct one.
        label = lists.label
    return dataclasses.replace(form, choices=(lists.expression,), label=label or None)


def _propose_right_choice(data: datasets.Dataset, form: ChoiceForm) -> ChoiceForm:
    """Add a label to a format: the only column in which each value is a choice of its row.

    A warning reports the column.

    Args:
        data: The table.
        form: A format without a label, with the columns of the choices.

    Returns:
        The changed format. It is unchanged if no column fits, or if several do.
    """
    label = propose_right_choice(describe_columns_and_fields(data), form.choices)
    if not label:
        return form
    reason = "each of its values is a choice of its row"
    role = Role("label", (label,), "content", reason)
    warn_of_doubts([describe_proposal("right choices", role, "label_column")])
    return dataclasses.replace(form, label=label, first_label=0, numbers=UNKNOWN_START)
