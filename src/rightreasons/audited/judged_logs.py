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
    """Return the columns of a log with the answers that a judge read, and how many there are.

    Args:
        columns: Columns of a log of answers to items with choices.
        replies: The column `UNREAD_REPLY`; None if the log has no unread answer.
        stored: Options that name the judge.
        settings: Seed of the texts that show whether the judge reads correctly. A plan asks nothing.

    Returns:
        The columns; and what the judge read, in words, "" without a judge.
    """
    if stored.judge is None or replies is None or settings.plan:
        return columns, ""
    rows = []
    texts = []
    orders = []
    for row, reply in enumerate(replies):
        # Most answers have been read by the harness.
        if not reply:
            continue
        rows.append(row)
        text, order = _make_unread_text(row, reply, columns["choices"][row])
        texts.append(text)
        orders.append(order)
    # A text that can be read costs nothing: the judge is opened for the others alone.
    engine = open_judge(stored.judge, stored.judge_model)
    judge = SecondReader(engine, seed=settings.seed, progress=True)
    positions = judge.read(texts)

    changed = {}
    for name in (PICKED, "answer", "correct", UNREAD, LACK):
        changed[name] = list(columns[name])
    n_read = 0
    for row, position, order in zip(rows, positions, orders, strict=True):
        # What the judge leaves open stays unread.
        if position == NO_ANSWER:
            continue
        n_read += 1
        pick = order[position]
        changed[PICKED][row] = pick
        changed["answer"][row] = LETTERS[pick]
        # The harness counted what it could not read as incorrect.
        changed["correct"][row] = int(pick == columns["label"][row])
        changed[UNREAD][row] = False
        changed[LACK][row] = ""
    return {**columns, **changed}, _describe_readings(judge, n_read, len(texts))


def _make_unread_text(
    row: int, reply: str, choices: Sequence[str]
) -> tuple[UnreadText, Sequence[int]]:
    """Return a text with its choices as the model saw them, and their order."""
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
    """Return how many unread answers a judge read, or why its readings do not count."""
    answers = pluralize(n_texts, "unread answer")
    if judge.is_reliable:
        return f"{n_read:,} of {answers} read by {judge.engine.name}"
    return (
        f"none of {answers} read by {judge.engine.name}, which reads "
        f"{judge.n_controls_read} of {N_CONTROLS} planted texts correctly"
    )
