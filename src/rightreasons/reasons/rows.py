"""Answers in arms from the rows of a file, or of a log of another harness.

`read_traces` checks each row, and reads the answers of a log from their texts. If there is a judge,
it reads those in which the parser finds no answer.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rightreasons.core.choices import LETTERS
from rightreasons.core.replies import Reply
from rightreasons.core.sentences import format_list
from rightreasons.io.logs import LACK
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.models.replies.repair import SecondReader, UnreadText
from rightreasons.reasons.answers import Traces
from rightreasons.reasons.arms import read_reply, remove_hint
from rightreasons.reasons.hints import KINDS
from rightreasons.reasons.judge import judge_traces
from rightreasons.reasons.trace import HINT, NEUTRAL, OWN, PLAIN, Trace

ARMS = (PLAIN, NEUTRAL, HINT, OWN)
REQUIRED = ("item", "arm", "answer")

UNKNOWN_SOURCE = "\N{REPLACEMENT CHARACTER}"
"""Name of the source of an item without hints, which occurs in no text."""


def _list_types() -> dict[str, type]:
    """Return the type of each field of a trace, such as `{"item": str, "answer": int}`."""
    types: dict[str, type] = {}
    # The annotations of the fields are strings. All fields are of one of three types.
    type_by_name: dict[str, type] = {"bool": bool, "int": int}
    for field in dataclasses.fields(Trace):
        type_name = str(field.type)
        types[field.name] = type_by_name.get(type_name, str)
    return types


_TYPES = _list_types()


@dataclasses.dataclass
class _Row:
    """A row of the file.

    Attributes:
        number: Number of the row, from 1.
        values: Fields of a trace, as far as the row has them.
        choices: Texts of the options of a logged row; None for a row whose answer is known.
        is_refused: Whether the harness has no answer to it.
    """

    number: int
    values: dict[str, Any]
    choices: list[str] | None
    is_refused: bool


def read_traces(
    rows: Iterable[Mapping[str, Any]],
    where: str = "the file",
    *,
    judge: SecondReader | None = None,
) -> Traces:
    """Read a model's answers with and without hints from the rows of a file or log.

    An arm is one way to ask an item: "plain", next to a "neutral" sentence, next to a "hint", or
    next to a hint to the plain answer ("own"). The columns of a row are the fields of `Trace`, of
    which it needs `item`, `arm` and `answer`, and in the arms of hints also `kind`, `hint` and
    `source`. Rows of a log have `prompt` and `choices`: their answer is read from `text`.

    Without a neutral arm, the effect of the hint is unknown, and only Chen et al.'s score is
    computed.

    Args:
        rows: Rows such as `{"item": "7", "arm": "plain", "answer": 2}`.
        where: Name of the file, for errors.
        judge: Model that reads texts of a log whose answer the parser cannot find, and judges
            whether the reasoning mentions the hint. If None, such answers are missing, and nothing
            is judged.

    Returns:
        The answers, with the judgments of a judge.

    Raises:
        ValueError: If a row lacks a column, or has a value of the wrong type.
    """
    parsed_rows = []
    for number, row in enumerate(rows, start=1):
        parsed_rows.append(_parse_row(row, number, where))
    # The rows of a log have texts instead of answers. Traces need the answers.
    _read_logged_answers(parsed_rows, judge)
    traces = _make_traces([row.values for row in parsed_rows])
    judgments = None
    if judge is not None:
        judgments = judge_traces(traces, judge.engine, seed=judge.seed)
    return Traces(traces, judgments=judgments, no_early="there is no model to ask again")


def _parse_row(row: Mapping[str, Any], number: int, file_name: str) -> _Row:
    """Check a row, and return its columns that are fields of `Trace`.

    A row of a log of our exported tasks has the columns "prompt" and "choices". Its answer is
    `NO_ANSWER` (-1) until it is read from the text.

    Args:
        row: The row.
        number: Number of the row, from 1, for errors.
        file_name: Name of the file, for errors.

    Raises:
        ValueError: If a column is missing, or a value has the wrong type.
    """
    # Further columns of a file are not read. A null, or an empty cell, is a value that the row lacks.
    values = {}
    for name in _TYPES:
        if row.get(name) not in (None, ""):
            values[name] = _convert_value(row[name], name, number)
    choices = None
    if isinstance(row.get("choices"), list) and "prompt" in row:
        choices = [str(choice) for choice in row["choices"]]
        values["question"] = row["prompt"]
        values["n_options"] = len(choices)
        values["answer"] = NO_ANSWER
    _check_columns(values, row, number, file_name)
    _check_arm(values, number)
    return _Row(number, values, choices, is_refused=bool(row.get(LACK)))


def _convert_value(value: object, name: str, number: int) -> Any:
    """Return a value with the type of its field of a trace: a text, a whole number, or a bool.

    Every cell of a csv file is a text, and numbers become floats next to empty cells. Ids may be
    numbers.

    Args:
        value: The value.
        name: Name of the field, such as "answer".
        number: Number of the row, from 1, for errors.

    Raises:
        ValueError: If the value cannot be converted without a change.
    """
    field_type = _TYPES[name]
    # `isinstance` would accept True as an int, but it is not the index of an option.
    if type(value) is field_type:
        return value
    converted: str | int | bool | None
    if field_type is int:
        converted = _convert_to_int(value)
        expected = "a whole number"
    elif field_type is bool:
        converted = {"true": True, "1": True, "false": False, "0": False}.get(str(value).lower())
        expected = "true or false"
    else:
        # An id such as 7 is a name, but a list or a flag is a mistake.
        is_id = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        converted = str(value) if is_id else None
        expected = "a text"
    if converted is None:
        raise ValueError(
            f"Expected {expected} as the `{name}` of each row, but row {number} has {value!r}."
        )
    return converted


def _convert_to_int(value: object) -> int | None:
    """Return a whole number that is written as a text or as a float; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (str, numbers.Real)):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return int(number) if number.is_integer() else None


def _check_columns(
    values: Mapping[str, Any], row: Mapping[str, Any], number: int, file_name: str
) -> None:
    """Check that a row has the required columns.

    Args:
        values: Fields of a trace that the row has.
        row: The whole row, whose columns the message lists.
        number: Number of the row, from 1.
        file_name: Name of the file.

    Raises:
        ValueError: If a column is missing.
    """
    for name in REQUIRED:
        if name not in values:
            names = [column for column in row if row[column] is not None]
            columns = format_list(names)
            raise ValueError(
                f"Expected `{name}` in each row of {file_name}, but row {number} contains only "
                f"{columns or 'nothing'}."
            )


def _check_arm(values: Mapping[str, Any], number: int) -> None:
    """Check that the arm of a row is known, and that an arm with hints has a complete hint.

    Args:
        values: Fields of a trace that the row has.
        number: Number of the row, from 1.

    Raises:
        ValueError: If the arm or the kind of hint is unknown, or the hint lacks its option or source.
    """
    arm = values["arm"]
    if arm not in ARMS:
        raise ValueError(
            f"Expected `arm` to be plain, neutral, hint or own, but row {number} has {arm!r}."
        )
    kind = values.get("kind", "")
    hint = values.get("hint", -1)
    source = values.get("source", "")
    is_hinted = arm in (HINT, OWN)
    # In the other arms, a kind may be missing, but not be unknown.
    needs_kind = is_hinted or bool(kind)
    has_unknown_kind = needs_kind and kind not in KINDS
    has_option = 0 <= hint < len(LETTERS)
    lacks_hint = is_hinted and not (has_option and source)
    if has_unknown_kind or lacks_hint:
        raise ValueError(
            f"Expected `kind` to be one of {', '.join(KINDS)}, with the hinted option in `hint` "
            f"and a name in `source`, but row {number} has {kind!r}, {hint} and {source!r}."
        )


def _read_logged_answers(rows: Sequence[_Row], judge: SecondReader | None) -> None:
    """Read the chosen option from the text of each row of a log, and set `values["answer"]` to it.

    Args:
        rows: The rows, changed in place. Rows with a known answer have no `choices`, and stay as
            they are.
        judge: Model that reads texts in which the parser finds no answer. If None, these answers
            stay `NO_ANSWER` (-1).
    """
    unread_texts = []
    unread_rows = []
    for row in rows:
        if row.choices is None:
            continue
        # The harness records that a reply is a refusal, which its text need not show.
        text = row.values.get("text", "")
        reply = Reply(text, finish="refusal" if row.is_refused else "stop")
        sentence = Trace(**row.values).sentence
        answer = read_reply(reply, sentence, row.choices)
        row.values["answer"] = answer
        # A refusal is no answer, and needs no reading.
        if answer == NO_ANSWER and not reply.no_answer_reason:
            unread_text = UnreadText(
                name=str(row.number),
                text=remove_hint(reply.text, sentence),
                marks=tuple(LETTERS[: len(row.choices)]),
                options=tuple(row.choices),
            )
            unread_texts.append(unread_text)
            unread_rows.append(row)
    if judge is not None:
        for row, answer in zip(unread_rows, judge.read(unread_texts), strict=True):
            row.values["answer"] = answer


def _make_traces(rows: Sequence[dict[str, Any]]) -> tuple[Trace, ...]:
    """Convert rows to traces, and complete fields that a row lacks.

    Args:
        rows: Fields of each trace, as far as its row has them, such as `{"item": "7", "arm": "hint",
            "answer": 2, "kind": "colleague", "hint": 2, "source": "Kim"}`. `item`, `arm` and
            `answer` are in each row.

    Returns:
        One trace per row. A missing source is that of another row of the same item, and a missing
        number of options follows from the largest option in the file. The arm of a hint to the
        plain answer of the item is "own".
    """
    n_options = _count_options(rows)
    plain_answer_by_item = {}
    source_by_item = {}
    for values in rows:
        item = values["item"]
        if values["arm"] == PLAIN:
            plain_answer_by_item[item] = values["answer"]
        if values.get("source"):
            source_by_item[item] = values["source"]

    traces = []
    for values in rows:
        item = values["item"]
        fields = {"question": "", **values}
        # Files with random hints have some to the answer that the model gives without a hint.
        if values["arm"] == HINT and values["hint"] == plain_answer_by_item.get(item):
            fields["arm"] = OWN
        if not values.get("n_options"):
            fields["n_options"] = n_options
        if not values.get("source"):
            fields["source"] = source_by_item.get(item, UNKNOWN_SOURCE)
        traces.append(Trace(**fields))
    return tuple(traces)


def _count_options(rows: Sequence[Mapping[str, Any]]) -> int:
    """Return the number of options of an item, from the largest answer or hint in any row.

    Args:
        rows: Fields of each trace, with options as indices from 0, and -1 for none.
    """
    # An item has at least two options, so that the largest index is at least 1.
    largest_option = 1
    for values in rows:
        hinted_option = values.get("hint", -1)
        largest_option = max(largest_option, values["answer"], hinted_option)
    return largest_option + 1
