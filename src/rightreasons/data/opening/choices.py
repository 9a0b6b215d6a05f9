"""The usual formats of multiple-choice data, and how each becomes prompt, choices and label."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Sequence
from typing import Any

import datasets

from rightreasons.data.opening import columns
from rightreasons.data.opening.nested import nested_names, with_nested
from rightreasons.foundations.label_names import first_number, folded, listed, number_doubt


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


# The first format whose columns are all present is used; narrow ones come before wide ones.
KNOWN_FORMS = (
    ChoiceForm(("prompt",), ("choices",), "label"),
    ChoiceForm(("ctx",), ("endings",), "label"),  # HellaSwag
    ChoiceForm(("goal",), ("sol1", "sol2"), "label"),  # PIQA
    ChoiceForm(("context", "question"), ("answerA", "answerB", "answerC"), "label", 1),  # SocialIQA
    ChoiceForm(("context", "question"), ("answerA", "answerB", "answerC"), "correct", 1),  # SocialIQA with letters
    ChoiceForm(("context", "question"), ("answer0", "answer1", "answer2", "answer3"), "label"),  # CosmosQA
    ChoiceForm(("context", "question"), ("answers",), "label"),  # ReClor
    ChoiceForm(("context", "query"), ("options",), "correct_option"),  # LogiQA
    ChoiceForm(("passage", "question"), ("options",), "label"),  # AGIEval
    ChoiceForm(("premise", "question"), ("choice1", "choice2"), "label"),  # COPA
    ChoiceForm(("observation_1", "observation_2"), ("hypothesis_1", "hypothesis_2"), "label", 1),  # aNLI
    ChoiceForm(("obs1", "obs2"), ("hyp1", "hyp2"), "label", 1),  # aNLI as released
    ChoiceForm(("startphrase",), ("ending0", "ending1", "ending2", "ending3"), "label"),  # SWAG
    ChoiceForm(("sentence",), ("option1", "option2"), "answer", 1),  # Winogrande
    ChoiceForm(("question_stem",), ("choices",), "answerKey"),  # OpenBookQA
    ChoiceForm(("question",), ("choices",), "answerKey"),  # ARC, CommonsenseQA
    ChoiceForm(("context", "question.stem"), ("question.choices",), "answerKey"),  # aNLI in the form of CommonsenseQA
    ChoiceForm(("question.stem",), ("question.choices",), "answerKey"),  # ARC, CommonsenseQA, OpenBookQA as released
    ChoiceForm(("question",), ("A", "B", "C", "D"), "answer"),
    ChoiceForm(("question",), ("choices",), "answer"),  # MMLU
    ChoiceForm(("question",), ("choices",), "label"),
    ChoiceForm(("query",), ("choices",), "gold"),
    ChoiceForm(("question",), ("options",), "answer_idx"),  # MedQA
    ChoiceForm(("question",), ("options",), "answer"),
    ChoiceForm(("question",), ("options",), "correct"),  # AQuA-RAT
    ChoiceForm(("question",), ("opa", "opb", "opc", "opd"), "cop"),  # MedMCQA
    ChoiceForm(("article", "question"), ("options",), "answer"),  # RACE
)

# Where no known format fits: a column per choice, counted from 0 or 1 (choice_0, Option 1) or lettered (answer_a).
_COUNTED = re.compile(r"(choice|option|answer|candidate|ending|hypothesis)[ _-]?([0-9]{1,2}|[a-z])", re.IGNORECASE)
_PASSAGES = ("context", "passage", "article", "premise")
_QUESTIONS = ("prompt", "question", "query", "question_stem", "stem", "goal", "sentence", "text", "input")
_RIGHT = ("label", "answer", "answerkey", "answer_key", "gold", "target", "correct", "correct_answer", "correct_option")

# COPA's own wording of its questions; the column says "cause" or "effect".
_COPA_QUESTIONS = {"cause": "What was the cause?", "effect": "What happened as a result?"}


def known_form(present: set[str], label_column: str | None) -> ChoiceForm | None:
    """Return the known format that columns have, if any; one whose label is the column named, where one is named."""
    return next((form for form in _forms(present, ()) if label_column in (None, form.label)), None)


def _forms(present: Collection[str], prompt: tuple[str, ...]) -> list[ChoiceForm]:
    """Return the known formats that columns have; `prompt` names the columns of the prompt where it is not empty."""
    known = [form for form in KNOWN_FORMS if {*present}.issuperset((*form.prompt, *form.choices))]
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
    by_lower = {column.lower(): column for column in sorted(present)}
    if not prompt:
        asked = (next((by_lower[name] for name in names if name in by_lower), "") for names in (_PASSAGES, _QUESTIONS))
        prompt = tuple(filter(None, asked))
    for (_, number), places in series.items():
        first = min(places)
        if prompt and len(places) > 1 and first <= number and {*places} == {*range(first, first + len(places))}:
            label = next((by_lower[name] for name in _RIGHT if name in by_lower), None)
            counts = number and first == 0  # so do labels; where choices count from 1, labels may count from 0
            choices = tuple(places[place] for place in sorted(places))
            return ChoiceForm(prompt, choices, label, seen=None if counts else frozenset())
    return None


def choice_form(
    data: datasets.Dataset,
    prompt_column: str | Sequence[str] | None,
    choices_column: str | Sequence[str] | None,
    label_column: str | None,
    first_label: int | None,
    require_labels: bool,
    name: str,
) -> tuple[datasets.Dataset, ChoiceForm]:
    """Find the format of a data set: the columns that the user named, and otherwise a known format.

    Returns:
        The data set, with the nested columns of the format as columns of their own, and the format.
    """
    nested = nested_names(data)
    present = {*data.column_names, *nested}
    if prompt_column is not None and choices_column is not None:
        form = ChoiceForm(_tuple(prompt_column), _tuple(choices_column), None)
        usual = columns.usual_column(data, ("label", "answer", "answerkey", "gold", "target"))
        form = dataclasses.replace(form, label=usual, seen=frozenset())
    else:
        known = _forms(present, () if prompt_column is None else _tuple(prompt_column))
        by_label = sorted(known, key=lambda f: f.label not in present)
        if not by_label:
            raise ValueError(
                f"Expected prompts and choices in {name} in a known format, but its columns are "
                f"{listed((*data.column_names, *nested))}; name them with prompt_column= and choices_column=."
            )
        form = by_label[0]
        form = dataclasses.replace(
            form,
            prompt=form.prompt if prompt_column is None else _tuple(prompt_column),
            choices=form.choices if choices_column is None else _tuple(choices_column),
            label=form.label if form.label in present else None,
        )
    if label_column is not None:
        form = dataclasses.replace(form, label=label_column)
    data = with_nested(data, (*form.prompt, *form.choices, form.label))
    for option, named in (
        ("prompt_column", form.prompt),
        ("choices_column", form.choices),
        ("label_column", () if form.label is None else (form.label,)),
    ):
        for column in named:
            columns.named_column(data, column, option, name)
    if form.label is None and require_labels:
        raise columns.no_column(data, "right choices", ("label", "answer", "answerKey"), "label_column", name)
    if first_label is not None:
        if first_label not in (0, 1):
            raise ValueError(f"Expected `first_label` to be 0 or 1, but got {first_label!r}.")
        form = dataclasses.replace(form, first_label=int(first_label), counted=True)
    return data, form


def read_choices(data: datasets.Dataset, form: ChoiceForm, name: str) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the prompts, the choices and the labels of every row."""
    names = [*dict.fromkeys((*form.prompt, *form.choices))]
    table = data.select_columns(names).with_format("arrow")[:]
    prompts, choices, marks = [], [], []
    for row, cells in enumerate(zip(*(table.column(each).to_pylist() for each in names), strict=True)):
        item = dict(zip(names, cells, strict=True))
        prompts.append(_prompt(item, form, row, name))
        choices.append(_choices(item, form, row, name))
        marks.append(_marks(item, form))
    if form.label is None:
        return prompts, choices, [-1] * len(prompts)
    return prompts, choices, _labels(data, choices, marks, form, name)


def _tuple(named: str | Sequence[str]) -> tuple[str, ...]:
    return (named,) if isinstance(named, str) else tuple(named)


def _prompt(item: dict[str, Any], form: ChoiceForm, row: int, name: str) -> str:
    parts = []
    for column in form.prompt:
        part = item[column]
        if not isinstance(part, str):
            raise TypeError(f"Expected texts in the column {column!r} of {name}, but row {row} holds {part!r}.")
        parts.append(part.strip())
    if form.prompt == ("premise", "question"):
        parts[1] = _COPA_QUESTIONS.get(parts[1], parts[1])
    prompt = " ".join(part for part in parts if part)
    if not prompt:
        raise ValueError(f"Expected a prompt in each row of {name}, but row {row} has none.")
    return prompt


def _choices(item: dict[str, Any], form: ChoiceForm, row: int, name: str) -> list[str]:
    content = item[form.choices[0]]
    if len(form.choices) > 1:
        content = [item[column] for column in form.choices]
        while content and content[-1] in (None, ""):  # this item has fewer choices than others
            content.pop()
    if isinstance(content, list) and len(content) > 1 and set(map(type, content)) == {str}:  # the usual case
        return [choice.strip() for choice in content]
    lettered = _lettered(content)
    if lettered:  # {"A": …, "B": …}
        content = list(lettered.values())
    elif isinstance(content, dict):  # {"text": […], "label": ["A", "B", …]}
        content = content.get("text")
    if isinstance(content, list) and all(isinstance(choice, (dict, type(None))) for choice in content):
        # [{"text": …, "label": …}, …]
        content = [None if choice is None else choice.get("text") for choice in content]
    if not isinstance(content, list) or not all(isinstance(choice, str) for choice in content):
        raise TypeError(f"Expected the choices in {name} to be a list of texts, but row {row} holds {content!r}.")
    if len(content) < 2:
        raise ValueError(f"Expected at least two choices in each row of {name}, but row {row} has {len(content)}.")
    return [choice.strip() for choice in content]


def _lettered(content: Any) -> dict[str, Any]:
    """Return the choices of an object whose keys are letters, in the order of these; a letter may lack its choice."""
    if not isinstance(content, dict) or not all(len(key) == 1 and key.isascii() and key.isalpha() for key in content):
        return {}
    return {key: content[key] for key in sorted(content) if content[key] is not None}


def _marks(item: dict[str, Any], form: ChoiceForm) -> list[str]:
    """Return the names of the choices ("A", "1", …), where the data has them."""
    content = item[form.choices[0]]
    if len(form.choices) > 1:
        return []
    if isinstance(content, dict):
        return list(_lettered(content)) or [str(mark) for mark in content.get("label") or []]
    if isinstance(content, list) and content and isinstance(content[0], dict):
        return [str(choice.get("label")) for choice in content]
    return []


# ------------------------------------------------------------------------------------------------------- right choices


def numbers_in(data: datasets.Dataset, form: ChoiceForm) -> set[int]:
    """Return the whole numbers in the column of right choices, or among the names of its ClassLabel."""
    feature = None if form.label is None else data.features[form.label]
    values = feature.names if isinstance(feature, datasets.ClassLabel) else data[form.label][:] if form.label else []
    return {number for value in set(filter(_is_plain, values)) if (number := _whole(value)) is not None}


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
    values, feature = data[form.label][:], data.features[form.label]
    if not isinstance(feature, datasets.ClassLabel):
        return _read(values, choices, marks, form, name)
    known = range(feature.num_classes)
    named = [feature.names[value] if value in known else value for value in values]
    try:
        return _read(named, choices, marks, dataclasses.replace(form, seen=frozenset(numbers_in(data, form))), name)
    except ValueError:
        if set(map(len, choices)) != {len(known)} or not {-1, None, *known}.issuperset(values):
            raise
        return [-1 if value is None else value for value in values]


def _read(
    values: Sequence[Any], choices: Sequence[Sequence[str]], marks: Sequence[Sequence[str]], form: ChoiceForm, name: str
) -> list[int]:
    labels = [-1] * len(values)
    counted = set(map(type, values)) <= {int} and not any(marks)  # the usual case, with one reading
    rows = [
        row
        for row, value in enumerate(values)
        if (value != -1 if counted else not _is_no_label(value, (*choices[row], *marks[row])))
    ]
    start = _start(values, rows, choices, form)
    readings: dict[str, list[int | None]] = {
        "number": [_number(values[row], len(choices[row]), start or 0) for row in rows]
    }
    if not counted:
        readings = {
            "mark": [_position(str(_plain(values[row])), marks[row]) for row in rows],
            **readings,
            "letter": [_letter(values[row], len(choices[row])) for row in rows],
            "text": [_text(values[row], choices[row]) for row in rows],
        }
    complete = {way: reading for way, reading in readings.items() if None not in reading}
    if not complete:
        raise _unreadable(values, rows, readings, choices, dataclasses.replace(form, first_label=start or 0), name)
    if form.counted and "number" in complete:
        complete = {"number": complete["number"]}
    way, reading = next(iter(complete.items()))
    if way == "number" and start is None and rows:
        used = {number for row in rows if (number := _whole(values[row])) is not None} | (form.seen or set())
        doubt = number_doubt(used, max(map(len, choices)), "first_label says it")
        raise ValueError(
            f"Expected numbers of choices in the column {form.label!r} of {name}, but they are {listed(sorted(used))}"
            f"{doubt}."
        )
    if way != "mark":  # a mark is the choice's own name
        for other, otherwise in complete.items():
            for row, first, second in zip(rows, reading, otherwise, strict=True):
                if first != second:
                    raise ValueError(
                        f"Expected one meaning for the column {form.label!r} of {name}, but row {row} holds "
                        f"{values[row]!r}, which is choice {first} by {way} and choice {second} by {other}; with "
                        "first_label it is a number."
                    )
    for row, label in zip(rows, reading, strict=True):
        labels[row] = -1 if label is None else label
    return labels


def _start(
    values: Sequence[Any], rows: Sequence[int], choices: Sequence[Sequence[str]], form: ChoiceForm
) -> int | None:
    """Return the number of the first choice; None where it is in doubt."""
    if form.seen is None or form.counted:
        return form.first_label
    used = form.seen | {number for row in rows if (number := _whole(values[row])) is not None}
    most = max(map(len, choices))
    # A number that no choice has is refused where it is read.
    return 0 if max(used, default=0) > most else first_number(used, most, None)


def _is_no_label(value: Any, names: Sequence[str]) -> bool:
    """Tell whether a value marks an item without a right choice; -1 and a hyphen may be the names of choices."""
    if isinstance(value, str):
        text = value.strip()
        return not text or (text in ("-1", "-1.0", "-") and text not in names)
    return value is None or value == -1 or value != value


def _is_plain(value: Any) -> bool:
    return isinstance(value, (int, float, str))


def _whole(value: Any) -> int | None:
    """Return the whole number that a value is or writes; None for another value."""
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
    number = _whole(value)
    return number - first if number is not None and 0 <= number - first < n_choices else None


def _letter(value: Any, n_choices: int) -> int | None:
    if not isinstance(value, str) or len(value) != 1 or not "A" <= value.upper() <= "Z":
        return None
    position = ord(value.upper()) - ord("A")
    return position if position < n_choices else None


def _text(value: Any, choices: Sequence[str]) -> int | None:
    return _position(value.strip(), choices) if isinstance(value, str) else None


def _unreadable(
    values: Sequence[Any],
    rows: Sequence[int],
    readings: dict[str, list[int | None]],
    choices: Sequence[Sequence[str]],
    form: ChoiceForm,
    name: str,
) -> ValueError:
    where = f"in the column {form.label!r} of {name}"
    index = next((n for n in range(len(rows)) if all(reading[n] is None for reading in readings.values())), None)
    if index is None:
        return ValueError(
            f"Expected the right choices {where} all as numbers, all as letters or all as texts, but they are mixed."
        )
    row, value = rows[index], _plain(values[rows[index]])
    digits = str(value)
    if isinstance(value, bool) or not (digits.lstrip("-").isdigit() and digits.isascii()):
        return ValueError(
            f"Expected the number, the letter or the text of a choice {where}, but row {row} holds {values[row]!r}."
        )
    other = dataclasses.replace(form, first_label=1 - form.first_label)
    shifted = all(_number(values[row], len(choices[row]), other.first_label) is not None for row in rows)
    hint = f"; where they count from {other.first_label}, say first_label={other.first_label}" if shifted else ""
    shown = digits if len(digits) <= 30 else f"a number of {len(digits)} digits"
    return ValueError(
        f"Expected labels from {form.first_label} to {form.first_label + len(choices[row]) - 1} {where}, but row {row} "
        f"holds {shown}{hint}."
    )
