"""The usual formats of multiple-choice data, and how each becomes prompt, choices and label."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import datasets

from rightreasons.data.opening import columns


@dataclasses.dataclass(frozen=True)
class ChoiceForm:
    """The columns of a format.

    Attributes:
        prompt: The columns of the prompt, joined by spaces.
        choices: One column with the list of choices (or a table {text, label}), or one column per choice.
        label: The column of the right choice; None where there is none.
        first_label: The number of the first choice where labels are numbers.
    """

    prompt: tuple[str, ...]
    choices: tuple[str, ...]
    label: str | None
    first_label: int = 0


# The first format whose columns are all present is used; narrow ones come before wide ones.
KNOWN_FORMS = (
    ChoiceForm(("prompt",), ("choices",), "label"),
    ChoiceForm(("ctx",), ("endings",), "label"),  # HellaSwag
    ChoiceForm(("goal",), ("sol1", "sol2"), "label"),  # PIQA
    ChoiceForm(("context", "question"), ("answerA", "answerB", "answerC"), "label", 1),  # SocialIQA
    ChoiceForm(("premise", "question"), ("choice1", "choice2"), "label"),  # COPA
    ChoiceForm(("observation_1", "observation_2"), ("hypothesis_1", "hypothesis_2"), "label", 1),  # aNLI
    ChoiceForm(("obs1", "obs2"), ("hyp1", "hyp2"), "label", 1),  # aNLI as released
    ChoiceForm(("startphrase",), ("ending0", "ending1", "ending2", "ending3"), "label"),  # SWAG
    ChoiceForm(("sentence",), ("option1", "option2"), "answer", 1),  # Winogrande
    ChoiceForm(("question_stem",), ("choices",), "answerKey"),  # OpenBookQA
    ChoiceForm(("question",), ("choices",), "answerKey"),  # ARC, CommonsenseQA
    ChoiceForm(("question",), ("A", "B", "C", "D"), "answer"),
    ChoiceForm(("question",), ("choices",), "answer"),  # MMLU
    ChoiceForm(("question",), ("choices",), "label"),
    ChoiceForm(("question",), ("options",), "answer"),
    ChoiceForm(("article", "question"), ("options",), "answer"),  # RACE
)

# COPA's own wording of its questions; the column says "cause" or "effect".
_COPA_QUESTIONS = {"cause": "What was the cause?", "effect": "What happened as a result?"}


def choice_form(
    data: datasets.Dataset,
    prompt_column: str | Sequence[str] | None,
    choices_column: str | Sequence[str] | None,
    label_column: str | None,
    first_label: int | None,
    require_labels: bool,
    name: str,
) -> ChoiceForm:
    """Find the format of a data set: the columns that the user named, and otherwise a known format."""
    present = set(data.column_names)
    if prompt_column is not None and choices_column is not None:
        form = ChoiceForm(_tuple(prompt_column), _tuple(choices_column), None)
        usual = columns.usual_column(data, ("label", "answer", "answerkey", "gold", "target"))
        form = dataclasses.replace(form, label=usual)
    else:
        known = (f for f in KNOWN_FORMS if present.issuperset((*f.prompt, *f.choices)))
        by_label = sorted(known, key=lambda f: f.label not in present)
        if not by_label:
            raise ValueError(
                f"Expected prompts and choices in {name} in a known format, but its columns are "
                f"{', '.join(data.column_names)}; name them with prompt_column= and choices_column=."
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
        form = dataclasses.replace(form, first_label=int(first_label))
    return form


def read_choices(data: datasets.Dataset, form: ChoiceForm, name: str) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the prompts, the choices and the labels of every row."""
    prompts, choices, labels = [], [], []
    for row, item in enumerate(data.select_columns([*dict.fromkeys((*form.prompt, *form.choices))])):
        prompts.append(_prompt(item, form, row, name))
        choices.append(_choices(item, form, row, name))
    if form.label is None:
        return prompts, choices, [-1] * len(prompts)
    marks = [_marks(item, form) for item in data.select_columns([form.choices[0]])]
    for row, (value, offered, marked) in enumerate(zip(data[form.label][:], choices, marks, strict=True)):
        labels.append(_label(value, offered, marked, form, row, name))
    return prompts, choices, labels


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
    content = [item[column] for column in form.choices] if len(form.choices) > 1 else item[form.choices[0]]
    if isinstance(content, dict):  # {"text": […], "label": ["A", "B", …]}
        content = content.get("text")
    if isinstance(content, list) and content and isinstance(content[0], dict):  # [{"text": …, "label": …}, …]
        content = [choice.get("text") for choice in content]
    if not isinstance(content, list) or not all(isinstance(choice, str) for choice in content):
        raise TypeError(f"Expected the choices in {name} to be a list of texts, but row {row} holds {content!r}.")
    if len(content) < 2:
        raise ValueError(f"Expected at least two choices in each row of {name}, but row {row} has {len(content)}.")
    return [choice.strip() for choice in content]


def _marks(item: dict[str, Any], form: ChoiceForm) -> list[str]:
    """Return the names of the choices ("A", "1", …), where the data has them."""
    content = item[form.choices[0]]
    if isinstance(content, dict):
        return [str(mark) for mark in content.get("label", [])]
    if isinstance(content, list) and content and isinstance(content[0], dict):
        return [str(choice.get("label")) for choice in content]
    return []


def _label(value: Any, choices: list[str], marks: list[str], form: ChoiceForm, row: int, name: str) -> int:
    if value is None or value == "" or value == -1:
        return -1
    if isinstance(value, str):
        if value in marks:
            return marks.index(value)
        if value.isascii() and value.isdigit():
            value = int(value)
        elif len(value) == 1 and "A" <= value.upper() <= "Z":
            value = ord(value.upper()) - ord("A") + form.first_label
        elif value.strip() in choices:
            return choices.index(value.strip())
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(
            f"Expected the number, the letter or the text of a choice in the column {form.label!r} of {name}, but row "
            f"{row} holds {value!r}."
        )
    if not 0 <= value - form.first_label < len(choices):
        raise ValueError(
            f"Expected labels from {form.first_label} to {form.first_label + len(choices) - 1} in the column "
            f"{form.label!r} of {name}, but row {row} holds {value}."
        )
    return value - form.first_label
