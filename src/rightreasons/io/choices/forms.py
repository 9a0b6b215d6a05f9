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
from typing import Any

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


def find_choice_form(
    data: datasets.Dataset, options: ChoiceOptions, source_name: str
) -> tuple[datasets.Dataset, ChoiceForm]:
    """Find the format of a data set: the columns that the user named, and else those of a known one.

    Returns:
        The data set, with the nested columns of the format as separate columns, and the format.

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
        # What the user named replaces the columns of the format.
        form = dataclasses.replace(
            form, prompt=prompt or form.prompt, choices=choices or form.choices
        )
    # A label that the user named is read in any format.
    form = dataclasses.replace(form, label=options.label_column or form.label)
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
    """Return the columns that an option names; a text may list several with commas.

    Args:
        option: The value of the option; None for no columns.
        column_names: The columns of the table, whose names may hold commas themselves.
    """
    if option is None:
        return ()
    if not isinstance(option, str):
        return tuple(option)
    names = tuple(parse_names(option) or ())
    # A column may have commas in its own name, and so may an expression.
    if option not in column_names and set(names) <= set(column_names):
        return names
    return (option,)


def _list_names(data: datasets.Dataset) -> list[str]:
    """Return the names of the columns of a data set, and of the fields in them."""
    return [*data.column_names, *get_nested_features(data.features)]


def _check_columns(data: datasets.Dataset, form: ChoiceForm, source_name: str) -> None:
    """Check that each column of a format exists, and only once."""
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
    """Return the known format of a table; None if it has none.

    Args:
        data: The table.
        label_column: The column that the label of the format has to be; None for any.
    """
    names = _list_names(data) if isinstance(data, datasets.Dataset) else list(data)
    for form in _list_forms(names, prompt=()):
        is_required = label_column is None or form.label == label_column
        if is_required and not _has_classes(data, form):
            return form
    return None


def _has_classes(data: datasets.Dataset | columns.Columns, form: ChoiceForm) -> bool:
    """Return whether all rows have the same choices and the label names none: these are classes of a tool's form."""
    contents = describe_contents(data)
    # Choices in fields of objects, or in a column each, are none of a form.
    is_plain = len(form.choices) == 1 and form.choices[0] in contents
    if not is_plain or form.label not in contents:
        return False
    label = contents[str(form.label)]
    # Items without a label name no choice either.
    has_words = label.kind == "text" and label.has_classes
    if not has_words or not contents[form.choices[0]].is_constant:
        return False
    options = parse_value(contents.get_cells(form.choices[0])[0])
    letters = LETTERS[: len(options)].lower()
    words = {*letters, *map(make_key, _list_texts(options))}
    return words.isdisjoint(list_keys(contents.get_cells(str(form.label))))


def _list_texts(value: Any) -> Iterator[str]:
    """Yield the texts in nested lists and objects."""
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
    """Return the format of a data set: a known one, or one that the cells propose.

    Raises:
        OptionError: If there is none.
    """
    names = _list_names(data)
    forms = _list_forms(names, prompt)
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
    # Of several formats with the same prompts, the one whose label is there.
    for form in forms:
        if _has_columns(names, form.label):
            return form
    return dataclasses.replace(forms[0], label=None)


def _has_columns(names: Collection[str], label: str | None) -> bool:
    """Return whether a table has all columns of a label, which may be an expression."""
    return columns.list_read_names(str(label)) <= set(names)


def _list_forms(names: Collection[str], prompt: tuple[str, ...]) -> list[ChoiceForm]:
    """Return the formats that a table with some columns has, the likeliest first.

    Args:
        names: The columns.
        prompt: The columns of the prompt that the user named; () for none.
    """
    name_by_lower = {name.lower(): name for name in sorted(names)}
    forms = []
    for required, form in _read_known_forms(os.environ.get(FORMS_VARIABLE)):
        if required <= set(names):
            forms.append(form)
        elif {name.lower() for name in required} <= name_by_lower.keys():
            # An expression spells its columns itself.
            is_renamable = not any(map(columns.is_expression, (*form.prompt, *form.choices)))
            if is_renamable:
                forms.append(_rename_columns(form, name_by_lower))
    if forms:
        return forms
    numbered_form = _find_numbered_form(sorted(names), prompt)
    return [] if numbered_form is None else [numbered_form]


def _rename_columns(form: ChoiceForm, name_by_lower: Mapping[str, str]) -> ChoiceForm:
    """Return a format with the names that a table gives its columns, whatever their letter case."""
    prompt = [name_by_lower.get(name.lower(), name) for name in form.prompt]
    choices = [name_by_lower.get(name.lower(), name) for name in form.choices]
    label = name_by_lower.get(str(form.label).lower(), form.label)
    return dataclasses.replace(form, prompt=tuple(prompt), choices=tuple(choices), label=label)


@functools.cache
def _read_known_forms(user_file: str | None) -> tuple[tuple[frozenset[str], ChoiceForm], ...]:
    """Return the known formats, each with the columns it requires: those of a user's file come first."""
    files = [_FORMS_FILE]
    if user_file:
        files.insert(0, Path(user_file))
    forms = []
    for row in itertools.chain.from_iterable(map(read_yaml, files)):
        # Its label may be missing: there are items without.
        required = set()
        for name in (*row["prompt"], *row["choices"]):
            required |= columns.list_read_names(name)
        # A format may be released with labels of several names.
        for label in row["label"]:
            form = ChoiceForm(
                prompt=tuple(row["prompt"]),
                choices=tuple(row["choices"]),
                label=label,
                first_label=row.get("first_label", 0),
            )
            forms.append((frozenset(required), form))
    return tuple(forms)


# ------------------------------------------------------------------------------- headings


def _find_numbered_form(names: Sequence[str], prompt: tuple[str, ...]) -> ChoiceForm | None:
    """Return the format of columns with usual headings, or with one per choice; None if there is none."""
    if not prompt:
        passage = find_usual_column(names, CHOICE_HEADINGS["passage"])
        question = find_usual_column(names, CHOICE_HEADINGS["question"])
        prompt = tuple(filter(None, (passage, question)))
    if not prompt:
        return None
    label = find_usual_column(names, CHOICE_HEADINGS["label"])
    choices = find_usual_column(names, CHOICE_HEADINGS["choices"])
    if choices:
        return ChoiceForm(prompt, (choices,), label, numbers=frozenset())
    for first_position, is_number, series in _list_series(names):
        # If columns are counted from 0, so are labels; labels of other columns may be either.
        if is_number and first_position == 0:
            return ChoiceForm(prompt, series, label)
        return ChoiceForm(prompt, series, label, numbers=frozenset())
    return None


def _list_series(names: Sequence[str]) -> Iterator[tuple[int, bool, tuple[str, ...]]]:
    """Yield each series of headings such as choice_0, choice_1 or answer_a, answer_b.

    Yields:
        The position of the first one, whether positions are numbers, and the headings in their order.
    """
    series: dict[tuple[str, bool], dict[int, str]] = {}
    for match in filter(None, map(_NUMBERED_HEADING.fullmatch, names)):
        stem, mark = match.groups()
        is_number = mark.isdigit()
        position = int(mark) if is_number else ord(mark.lower()) - ord("a")
        series.setdefault((stem.lower(), is_number), {})[position] = match[0]
    for (_, is_number), name_by_position in series.items():
        positions = sorted(name_by_position)
        start = positions[0]
        # Numbers begin with 0 or 1, letters with a.
        is_begun = start == 0 or (is_number and start == 1)
        is_complete = positions == list(range(start, start + len(positions)))
        if len(positions) > 1 and is_begun and is_complete:
            headings = [name_by_position[position] for position in positions]
            yield start, is_number, tuple(headings)


# ------------------------------------------------------------------------------- proposals


def propose_choice_form(data: datasets.Dataset) -> ChoiceProposal | None:
    """Propose the columns of items with choices by their cells; None if a heading says that there are texts."""
    has_texts = list_usual_columns(data.column_names, FIRST_TEXT_HEADINGS)
    # The first row of a table without a heading proposes nothing.
    if has_texts or is_first_row(data.column_names):
        return None
    return propose_choices(describe_columns_and_fields(data))


def _read_choice_lists(data: datasets.Dataset, form: ChoiceForm) -> ChoiceForm:
    """Return a format with the expression of its choices, if no list of texts or usual objects hold them."""
    column = form.choices[0]
    # An expression makes lists itself.
    has_column = len(form.choices) == 1 and column in data.column_names
    if not has_column or data.features[column] == datasets.List(datasets.Value("string")):
        return form
    contents = describe_columns_and_fields(data)
    label = form.label or ""
    if label and label not in contents:
        return form
    lists = find_choice_lists(contents, column, label)
    if lists is None or lists.expression == column:
        return form
    doubt = (
        f"The cells of {column!r} are no lists of texts, so that the choices are "
        f"{lists.expression!r}: `choices_column` names another column or expression."
    )
    warn_of_doubts([doubt])
    if label:
        label = name_right_choice(contents, label, lists)
    return dataclasses.replace(
        form, choices=(lists.expression,), label=label or lists.label or None
    )


def _propose_right_choice(data: datasets.Dataset, form: ChoiceForm) -> ChoiceForm:
    """Return a format with the only column whose values point into the choices as that of the right ones."""
    label = propose_right_choice(describe_columns_and_fields(data), form.choices)
    if not label:
        return form
    reason = "each of its values is a choice of its row"
    role = Role("label", (label,), "content", reason)
    warn_of_doubts([describe_proposal("right choices", role, "label_column")])
    return dataclasses.replace(form, label=label, first_label=0, numbers=frozenset())
