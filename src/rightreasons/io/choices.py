"""The usual formats of multiple-choice data, and how each becomes prompt, choices and label."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import re
import string
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets

from rightreasons.core.errors import OptionError
from rightreasons.core.label_names import first_number, folded, listing, number_doubt
from rightreasons.core.options import listed
from rightreasons.core.validation import check_each
from rightreasons.io import columns
from rightreasons.io.columns import nested_fields, with_nested
from rightreasons.io.options import ChoiceOptions


@dataclasses.dataclass(frozen=True)
class ChoiceForm:
    """The columns of a format.

    Attributes:
        prompt: The columns of the prompt, joined by spaces.
        choices: One column with the list of choices (or of objects {text, label}, or an object {"A": …, "B": …}), or
            one column per choice.
        label: The column of the right choice; None where there is none.
        first_label: The number of the first choice where labels are numbers.
        counted: Whether the user says that labels are numbers.
        seen: Where no known format says whether numbers begin at 0 or 1, those of all splits; None where one does.
    """

    prompt: tuple[str, ...]
    choices: tuple[str, ...]
    label: str | None
    first_label: int = 0
    counted: bool = False
    seen: frozenset[int] | None = None


_USUAL: Mapping[str, Sequence[str]] = columns.USUAL_COLUMNS["choices"]

FORMS_VARIABLE = "RIGHTREASONS_CHOICE_FORMS"
"""The environment variable that names a file like choice_forms.yaml, whose formats come first."""

# Where no known format fits: a column per choice, counted from 0 or 1 (choice_0, Option 1) or lettered (answer_a).
_COUNTED = re.compile(r"(choice|option|answer|candidate|ending|hypothesis)[ _-]?([0-9]{1,2}|[a-z])", re.IGNORECASE)
# A choice that begins with its letter: "(A) yes", "A) yes", "A. yes".
_MARKED = re.compile(r"\s*\(?([A-Z])[).:]\s*(.*\S)\s*", re.DOTALL)


@functools.cache
def _known_forms(extra: str | None) -> tuple[tuple[frozenset[str], ChoiceForm], ...]:
    """Return the formats with the columns that each needs: those of a user's file, then ours."""
    import yaml

    forms = []
    files = [Path(extra)] if extra else []
    for file in (*files, Path(__file__).with_name("choice_forms.yaml")):
        for row in yaml.safe_load(file.read_text("utf-8")):
            needed = {name for each in (*row["prompt"], *row["choices"]) for name in columns.read_by(each)}
            for label in row["label"]:
                form = ChoiceForm(tuple(row["prompt"]), tuple(row["choices"]), label, row.get("first_label", 0))
                forms.append((frozenset(needed), form))
    return tuple(forms)


def known_form(data: datasets.Dataset | columns.Columns, label_column: str | None) -> ChoiceForm | None:
    """Return the known format that a table has, if any; one whose label is the column named, where one is named."""
    present = {*data.column_names, *nested_fields(data.features)} if isinstance(data, datasets.Dataset) else {*data}
    return next((form for form in _forms(present, ()) if label_column in (None, form.label)), None)


def _forms(present: Collection[str], prompt: tuple[str, ...]) -> list[ChoiceForm]:
    """Return the known formats that columns have, letter case aside; `prompt` names those of the prompt, if any."""
    by_lower = {name.lower(): name for name in sorted(present)}
    known = []
    for needed, form in _known_forms(os.environ.get(FORMS_VARIABLE)):
        if needed <= {*present}:
            known.append(form)
        elif {name.lower() for name in needed} <= by_lower.keys():
            parts = [[by_lower.get(name.lower(), name) for name in part] for part in (form.prompt, form.choices)]
            if not any(map(columns.is_expression, itertools.chain(*parts))):  # which spells its columns itself
                label = by_lower.get(str(form.label).lower(), form.label)
                known.append(dataclasses.replace(form, prompt=tuple(parts[0]), choices=tuple(parts[1]), label=label))
    return known or [*filter(None, [_counted_form(present, prompt)])]


def _counted_form(present: Collection[str], prompt: tuple[str, ...]) -> ChoiceForm | None:
    """Return the format of columns that are named like choices and counted."""
    series: dict[tuple[str, bool], dict[int, str]] = {}
    for column in sorted(present):
        match = _COUNTED.fullmatch(column)
        if match:
            number = match[2].isdigit()
            place = int(match[2]) if number else ord(match[2].lower()) - ord("a")
            series.setdefault((match[1].lower(), number), {})[place] = column
    usual = {what: columns.usual_column(dict.fromkeys(sorted(present), ()), each) for what, each in _USUAL.items()}
    prompt = prompt or tuple(name for what in ("passage", "question") if (name := usual[what]))
    if prompt and usual["choices"]:
        return ChoiceForm(prompt, (usual["choices"],), usual["label"], seen=frozenset())
    for (_, number), places in series.items():
        first = min(places)
        if prompt and len(places) > 1 and first <= number and {*places} == {*range(first, first + len(places))}:
            counts = number and first == 0  # so do labels; where choices count from 1, labels may count from 0
            choices = tuple(places[place] for place in sorted(places))
            return ChoiceForm(prompt, choices, usual["label"], seen=None if counts else frozenset())
    return None


def choice_form(data: datasets.Dataset, options: ChoiceOptions, name: str) -> tuple[datasets.Dataset, ChoiceForm]:
    """Find the format of a data set: the columns that the user named, and otherwise a known format.

    Returns:
        The data set, with the nested columns of the format as columns of their own, and the format.
    """
    nested = nested_fields(data.features)
    present = {*data.column_names, *nested}
    prompt, choices = (_names(named, present) for named in (options.prompt_column, options.choices_column))
    if prompt and choices:
        label = columns.usual_column(data, _USUAL["label"])
        form = ChoiceForm(prompt, choices, label, seen=frozenset())
    else:
        known = _forms(present, prompt)
        if not known:
            columns.of_another_tool(data, name)
            raise OptionError(
                f"Expected prompts and choices in {name} in a known format, but its columns are "
                f"{listing((*data.column_names, *nested))}; name them with prompt_column= and choices_column="
                f"{columns.no_heading(data)}.",
                option=("prompt_column", "choices_column"),
            )
        known.sort(key=lambda each: not columns.read_by(str(each.label)) <= present)
        form = known[0]
        label = form.label if columns.read_by(str(form.label)) <= present else None
        form = dataclasses.replace(form, prompt=prompt or form.prompt, choices=choices or form.choices, label=label)
    if options.label_column is not None:
        form = dataclasses.replace(form, label=options.label_column)
    if options.first_label is not None:
        form = dataclasses.replace(form, first_label=options.first_label, counted=True)
    data = with_nested(data, (*form.prompt, *form.choices, form.label))
    for option, named in (
        ("prompt_column", form.prompt),
        ("choices_column", form.choices),
        ("label_column", _names(form.label)),
    ):
        for column in named:
            columns.named_column(data, column, option, name)
        columns.check_once(data, named, name)
    return data, form


def read_choices(
    data: datasets.Dataset, form: ChoiceForm, name: str, *, require_labels: bool
) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the prompts, the choices and the labels of every row, which there have to be, or not."""
    if form.label is None and require_labels:
        columns.one_column((), data, "right choices", _USUAL["label"], "label_column", name)
    parts = zip(*(columns.texts_of(data, each, name).to_pylist() for each in form.prompt), strict=True)
    # A passage that an item does not have is left out.
    prompts = [" ".join(filter(None, (part.strip() for part in row if part))) for row in parts]
    check_each(prompts, bool, f"a prompt in each row of {name}")
    choices, marks = [], []
    for row, cells in enumerate(zip(*(columns.values_of(data, each) for each in form.choices), strict=True)):
        texts, mark = _choices(cells, row, name)
        choices.append(texts)
        marks.append(mark)
    if form.label is None:
        return prompts, choices, [-1] * len(prompts)
    return prompts, choices, _labels(data, choices, marks, form, name)


def _names(named: str | Sequence[str] | None, present: Collection[str] = ()) -> tuple[str, ...]:
    """Return the names of columns, which a text may list with commas where it is none itself."""
    if not isinstance(named, str):
        return tuple(named or ())
    parts = tuple(listed(named) or ())
    return parts if named not in present and {*parts} <= {*present} else (named,)


def _choices(cells: Sequence[Any], row: int, name: str) -> tuple[list[str], list[str]]:
    """Return the texts of the choices, and their names ("A", "1", …) where the data has them."""
    content: Any = cells[0]
    marks: list[Any] = []
    if len(cells) > 1:
        content = list(cells)
        while content and content[-1] in (None, ""):  # this item has fewer choices than others
            content.pop()
    elif isinstance(content, dict):
        lettered = {key: content[key] for key in sorted(content) if content[key] is not None}
        if lettered and all(len(key) == 1 and key.isascii() and key.isalpha() for key in content):  # {"A": …, "B": …}
            content, marks = list(lettered.values()), list(lettered)
        else:  # {"text": […], "label": ["A", "B", …]}
            content, marks = content.get("text"), content.get("label") or []
    elif isinstance(content, list) and all(isinstance(choice, (dict, type(None))) for choice in content):
        # [{"text": …, "label": …}, …]
        marks = [choice.get("label") for choice in content if choice]
        content = [None if choice is None else choice.get("text") for choice in content]
    if not isinstance(content, list) or set(map(type, content)) - {str}:
        raise TypeError(f"Expected the choices in {name} to be a list of texts, but row {row} holds {content!r}.")
    if len(content) < 2:
        raise ValueError(f"Expected at least two choices in each row of {name}, but row {row} has {len(content)}.")
    return _without_letters(content), list(map(str, marks))


def _without_letters(choices: Sequence[str]) -> list[str]:
    """Return choices without their letters, as in "(A) yes", "(B) no", where each has its own."""
    marked = [_MARKED.fullmatch(choice) for choice in choices]
    if all(mark and mark[1] == letter for mark, letter in zip(marked, string.ascii_uppercase, strict=False)):
        return [mark[2] for mark in marked if mark]
    return [choice.strip() for choice in choices]


# ------------------------------------------------------------------------------------------------------- right choices


def numbers_in(data: datasets.Dataset, form: ChoiceForm) -> set[int]:
    """Return the whole numbers in the column of right choices, or among the names of its ClassLabel."""
    if form.label is None:
        return set()
    feature = data.features[form.label]
    values = feature.names if isinstance(feature, datasets.ClassLabel) else columns.values_of(data, form.label)
    plain = {value for value in values if isinstance(value, (int, float, str))}
    return {number for value in plain if (number := whole_number(value)) is not None}


def _labels(
    data: datasets.Dataset,
    choices: Sequence[Sequence[str]],
    marks: Sequence[Sequence[str]],
    form: ChoiceForm,
    name: str,
) -> list[int]:
    """Read the column of right choices, in the one way that all of its values can be read.

    The names in a ClassLabel are read like texts; where they name no choices, its numbers are those of the choices.
    """
    values = columns.labels_of(data, str(form.label), name)
    if not isinstance(values, columns.NamedLabels):
        return _read(values, choices, marks, form, name)
    try:
        return _read(values, choices, marks, dataclasses.replace(form, seen=frozenset(numbers_in(data, form))), name)
    except ValueError:
        if set(map(len, choices)) != {len(values.names)}:
            raise
        return [-1 if value is None else value for value in values.numbers]


def _read(
    values: columns.Column,
    choices: Sequence[Sequence[str]],
    marks: Sequence[Sequence[str]],
    form: ChoiceForm,
    name: str,
) -> list[int]:
    counted = set(map(type, values)) <= {int} and not any(marks)  # the usual case, with one reading
    rows = [
        row
        for row, value in enumerate(values)
        if (value != -1 if counted else not _is_no_label(value, (*choices[row], *marks[row])))
    ]
    numbers = {number for row in rows if (number := whole_number(values[row])) is not None} | (form.seen or set())
    start = _start(numbers, max(map(len, choices)), form)
    letters = [*string.ascii_uppercase]
    ways: dict[str, Callable[[Any, int], int | None]] = {
        "mark": lambda value, row: _position(str(_plain(value)), marks[row]),
        "number": lambda value, row: _number(value, len(choices[row]), start or 0),
        "letter": lambda value, row: _position(str(value).strip("() ."), letters[: len(choices[row])]),  # also "(B)"
        "text": lambda value, row: _position(value.strip(), choices[row]) if isinstance(value, str) else None,
    }
    readings = {
        way: [read(values[row], row) for row in rows] for way, read in ways.items() if way == "number" or not counted
    }
    complete = {way: reading for way, reading in readings.items() if None not in reading}
    if form.counted and "number" in complete:
        complete = {"number": complete["number"]}
    where = f"the column {form.label!r} of {name}"
    if not complete:
        unread = next((row for row, *places in zip(rows, *readings.values(), strict=True) if {*places} == {None}), None)
        raise _unreadable({row: values[row] for row in rows}, unread, choices, start or 0, where)
    way, reading = next(iter(complete.items()))
    if way == "number" and start is None and rows:
        doubt = number_doubt(numbers, max(map(len, choices)), "first_label says it")
        raise ValueError(f"Expected numbers of choices in {where}, but they are {listing(sorted(numbers))}{doubt}.")
    for other, otherwise in complete.items() if way != "mark" else ():  # a mark is the choice's own name
        for row, first, second in zip(rows, reading, otherwise, strict=True):
            if first != second:
                raise ValueError(
                    f"Expected one meaning for {where}, but row {row} holds {values[row]!r}, which is choice {first} "
                    f"by {way} and choice {second} by {other}; with first_label it is a number."
                )
    labels = dict(zip(rows, reading, strict=True))
    return [-1 if (label := labels.get(row)) is None else label for row in range(len(values))]


def _start(numbers: set[int], most: int, form: ChoiceForm) -> int | None:
    """Return the number of the first choice; None where it is in doubt."""
    if form.seen is None or form.counted:
        return form.first_label
    # A number that no choice has is refused where it is read.
    return 0 if max(numbers, default=0) > most else first_number(numbers, most, None)


def _is_no_label(value: Any, names: Sequence[str]) -> bool:
    """Tell whether a value marks an item without a right choice; -1 and a hyphen may be the names of choices."""
    if isinstance(value, str):
        text = value.strip()
        return not text or (text in ("-1", "-1.0", "-") and text not in names)
    return value is None or value == -1 or value != value


def whole_number(value: Any) -> int | None:
    """Return the whole number from 0 that a value is or writes; None for another value.

    Example:
        >>> whole_number("2.0"), whole_number(1.0), whole_number("-1"), whole_number("B")
        (2, 1, None, None)
    """
    value = _plain(value)
    match = re.fullmatch(r"\s*([0-9]{1,18})(?:\.0+)?\s*", value) if isinstance(value, str) else None
    value = int(match[1]) if match else value
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _plain(value: Any) -> Any:
    """Return a whole float, as a column with a missing number has them, as the number that it was."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _position(value: str, names: Sequence[str]) -> int | None:
    """Return the place of a name; letter case, spaces and hyphens aside where no two names become one by that."""
    if value in names:
        return names.index(value)
    keys = [folded(name) for name in names]
    return keys.index(folded(value)) if keys.count(folded(value)) == 1 else None


def _number(value: Any, n_choices: int, first: int) -> int | None:
    number = whole_number(value)
    return number - first if number is not None and 0 <= number - first < n_choices else None


def _unreadable(
    values: Mapping[int, Any], row: int | None, choices: Sequence[Sequence[str]], first: int, where: str
) -> ValueError:
    if row is None:
        return ValueError(
            f"Expected the right choices in {where} all as numbers, all as letters or all as texts, but they are mixed."
        )
    value = _plain(values[row])
    digits = str(value)
    if not (digits.lstrip("-").isdigit() and digits.isascii()):
        return ValueError(
            f"Expected the number, the letter or the text of a choice in {where}, but row {row} holds {values[row]!r}."
        )
    other = 1 - first
    shifted = all(_number(each, len(choices[place]), other) is not None for place, each in values.items())
    hint = f"; where they count from {other}, say first_label={other}" if shifted else ""
    shown = digits if len(digits) <= 30 else f"a number of {len(digits)} digits"
    last = first + len(choices[row]) - 1
    return ValueError(f"Expected labels from {first} to {last} in {where}, but row {row} holds {shown}{hint}.")
