"""Unread answers of a log, which cannot be asked again, read by a judge.

`judge_unread` asks another model which choice each of them gave, as the repair turn asks a model
about its own texts. Without a judge they stay unread.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.core.choices import LETTERS
from rightreasons.core.sentences import pluralize
from rightreasons.io.logs import LACK, PICKED, UNREAD
from rightreasons.io.options import AuditOptions, StoredOptions
from rightreasons.models.judges import open_judge
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.models.replies.repair import N_CONTROLS, SecondReader, UnreadText


def judge_unread(
    columns: Mapping[str, Any],
    replies: Any,
    stored: StoredOptions,
    settings: AuditOptions,
) -> tuple[Mapping[str, Any], str]:
    """Return a log in which a judge, another model, has read the answers that its harness could not.

    Args:
        columns: Columns of a log of answers to items with choices.
        replies: (N,) column `UNREAD_REPLY`: for an unread answer, its text and the order of its
            choices as JSON, otherwise "". None if the log has no unread answer.
        stored: Options that name the judge.
        settings: Seed of the texts that test whether the judge reads correctly. A plan of an audit
            (`plan`) sends no requests to a judge.

    Returns:
        The columns, with the choices that the judge read; and a description of their number, "" if
        there is no judge.
    """
    if stored.judge is None or replies is None or settings.plan:
        return columns, ""
    unread_rows = []
    texts = []
    orders = []
    for row, reply in enumerate(replies):
        # The column is empty for answers that the harness has read.
        if not reply:
            continue
        text, order = _make_unread_text(row, reply, columns["choices"][row])
        unread_rows.append(row)
        texts.append(text)
        orders.append(order)
    engine = open_judge(stored.judge, stored.judge_model)
    judge = SecondReader(engine, seed=settings.seed, progress=True)
    displayed_positions = judge.read(texts)

    changed = {name: list(columns[name]) for name in (PICKED, "answer", "correct", UNREAD, LACK)}
    n_read = 0
    for row, displayed_position, order in zip(
        unread_rows, displayed_positions, orders, strict=True
    ):
        # An answer that the judge cannot read, either, remains unread.
        if displayed_position == NO_ANSWER:
            continue
        n_read += 1
        pick = order[displayed_position]
        changed[PICKED][row] = pick
        changed["answer"][row] = LETTERS[pick]
        # Harnesses count unread answers as incorrect, which is now decided by the picked choice.
        changed["correct"][row] = int(pick == columns["label"][row])
        changed[UNREAD][row] = False
        changed[LACK][row] = ""
    return {**columns, **changed}, _describe_readings(judge, n_read, len(texts))


def _make_unread_text(
    row: int, reply: str, choices: Sequence[str]
) -> tuple[UnreadText, Sequence[int]]:
    """Return an unread answer for a judge, with the choices as the model saw them.

    Args:
        row: Row of the answer.
        reply: JSON with the "text" of the answer and the "order" of the choices.
        choices: Choices in the order of the data.

    Returns:
        The text, and the order: for each displayed position, the position in the data.
    """
    values = json.loads(reply)
    order = values["order"]
    # The letters in the text are those of the displayed order.
    text = UnreadText(
        name=f"row {row}",
        text=values["text"],
        marks=tuple(LETTERS[: len(order)]),
        options=tuple(choices[position] for position in order),
    )
    return text, order


def _describe_readings(judge: SecondReader, n_read: int, n_texts: int) -> str:
    """Return a description of how many unread answers a judge read, or why its readings do not count.

    Args:
        judge: The judge, which is reliable if it reads planted texts correctly.
        n_read: Number of answers that it read.
        n_texts: Number of unread answers that it was given.
    """
    answers = pluralize(n_texts, "unread answer")
    if judge.is_reliable:
        return f"{n_read:,} of {answers} read by {judge.engine.name}"
    return (
        f"none of {answers} read by {judge.engine.name}, which reads "
        f"{judge.n_controls_read} of {N_CONTROLS} planted texts correctly"
    )
