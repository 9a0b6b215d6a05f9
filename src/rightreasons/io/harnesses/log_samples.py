"""The samples of a log as columns: likelihoods of choices, picks of choices, or answers in words.

`LoggedSample` is what a format says of one sample, and `make_sample_columns` turns all of them into
columns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from rightreasons.core.choices import LETTERS
from rightreasons.core.replies import Reply
from rightreasons.core.validation import check_all
from rightreasons.io.logs import (
    PICKED,
    LogColumns,
    Row,
    find_correct,
    find_lacks,
    find_letter,
    list_unread_replies,
    make_answer_columns,
    normalize_scores,
)

MIN_RESOLVED_SHARE = 0.5
"""Share of the answers that must name a choice, for the answers to be picks of choices."""


@dataclasses.dataclass(frozen=True)
class LoggedSample:
    """What a log contains about a sample.

    Attributes:
        id: Id of the sample.
        prompt: Question.
        choices: Choices; [] without any.
        golds: Indices of the correct choices; [] if they are not known.
        scores: Scores of the choices; [] without any.
        reply: Reply of the model. None in a log without replies.
        letters: Letter -> text of the choice that was displayed under it; None for the usual order.
        target: Correct answers in words.
        metrics: Metrics by name.
    """

    id: Any
    prompt: str
    choices: list[str]
    golds: list[int]
    scores: list[float]
    reply: Reply | None
    letters: Any
    target: str
    metrics: Row


def make_sample_columns(samples: Sequence[LoggedSample], log_name: str) -> LogColumns:
    """Return the columns of samples, besides their ids.

    Args:
        samples: The samples.
        log_name: Name of the file, for errors.

    Raises:
        ValueError: If choices have scores, and an item has no correct choice, or several.
    """
    # One sample without scores has an answer that was generated.
    if all(map(_is_scored, samples)):
        return _make_scored_columns(samples, log_name)
    correct = find_correct([sample.metrics for sample in samples])
    replies = _list_replies(samples)
    # Metrics alone say how many answers are correct, and nothing else.
    if not replies:
        return correct
    picks = _find_picks(samples, replies)
    if picks is not None:
        return _make_pick_columns(samples, replies, picks, correct.get("correct"))
    lacks = find_lacks(replies, [False] * len(replies))
    columns = _make_text_columns(samples, replies, lacks)
    columns.update(correct)
    return columns


def _is_scored(sample: LoggedSample) -> bool:
    return len(sample.scores) == len(sample.choices) > 1


def _list_replies(samples: Sequence[LoggedSample]) -> list[Reply]:
    """Return the replies of a log, which has one for each sample, or none."""
    replies = []
    for sample in samples:
        if sample.reply is not None:
            replies.append(sample.reply)
    return replies


def _make_text_columns(
    samples: Sequence[LoggedSample], replies: Sequence[Reply], lacks: LogColumns
) -> LogColumns:
    """Return the columns of answers in words."""
    texts = []
    answers = []
    targets = []
    for sample, reply in zip(samples, replies, strict=True):
        texts.append(sample.prompt)
        answers.append(reply.text)
        targets.append(sample.target)
    return make_answer_columns(texts, answers, targets, lacks)


def _make_scored_columns(samples: Sequence[LoggedSample], log_name: str) -> LogColumns:
    """Return the columns of a log with a score for each choice."""
    expected = f"the number of one right choice of each item of {log_name}"
    golds = [sample.golds for sample in samples]
    names = [sample.id for sample in samples]
    check_all(golds, _is_single, expected, unit="item", names=names)
    columns = _make_item_columns(samples)
    columns["logits"] = []
    for sample in samples:
        columns["logits"].append(sample.scores)
    columns.update(normalize_scores(columns["logits"], columns["choices"]))
    return columns


def _is_single(golds: Sequence[int]) -> bool:
    return len(golds) == 1


def _make_item_columns(samples: Sequence[LoggedSample]) -> LogColumns:
    """Return the columns of items with one correct choice each."""
    columns: LogColumns = {"prompt": [], "choices": [], "label": []}
    for sample in samples:
        columns["prompt"].append(sample.prompt)
        columns["choices"].append(sample.choices)
        columns["label"].append(sample.golds[0])
    return columns


# ---------------------------------------------------------------------------------- picks


def _find_picks(samples: Sequence[LoggedSample], replies: Sequence[Reply]) -> list[int] | None:
    """Return the index of the choice of each answer, -1 for none; None if answers are no choices."""
    picks = []
    n_readable = 0
    n_resolved = 0
    for sample, reply in zip(samples, replies, strict=True):
        # Positions of picks mean something if each sample has one correct choice.
        if len(sample.choices) < 2 or len(sample.golds) != 1:
            return None
        pick = _find_pick(reply, sample.choices, sample.letters)
        picks.append(pick)
        n_readable += not reply.no_answer_reason
        n_resolved += pick >= 0
    # Answers in sentences are compared by the metric of the harness, and not by us.
    if n_resolved < max(1, MIN_RESOLVED_SHARE * n_readable):
        return None
    return picks


def _find_pick(reply: Reply, choices: Sequence[str], letters: Any) -> int:
    """Return the choice that an answer is, by its letter or its text; -1 for none."""
    if reply.no_answer_reason:
        return -1
    text = reply.text.strip().rstrip(".").strip("()")
    # The harness may have shown the choices in another order, and says so.
    if isinstance(letters, Mapping) and text in letters:
        text = str(letters[text])
    folded_text = text.casefold()
    folded_choices = [choice.strip().casefold() for choice in choices]
    # Of equal choices, the text names neither.
    if folded_choices.count(folded_text) == 1:
        return folded_choices.index(folded_text)
    position = find_letter(text, choices)
    if position is None:
        return -1
    return position


def _find_displayed_order(sample: LoggedSample) -> list[int] | None:
    """Return the choice behind each displayed letter; None if the letters name other texts."""
    choices = sample.choices
    letters = sample.letters
    # The choices are displayed in their order, unless the log has its own letters.
    if not isinstance(letters, Mapping):
        return list(range(len(choices)))
    order = []
    for mark in sorted(letters):
        text = letters[mark]
        if text not in choices:
            return None
        order.append(choices.index(text))
    return order


def _make_pick_columns(
    samples: Sequence[LoggedSample],
    replies: Sequence[Reply],
    picks: Sequence[int],
    outcomes: Sequence[int | None] | None,
) -> LogColumns:
    """Return the columns of a log of drawn answers to items with choices.

    Args:
        samples: The samples.
        replies: Their replies.
        picks: Index of the choice of each answer, -1 for none.
        outcomes: Whether the harness counts each answer as correct. None if it does not say.
    """
    columns = _make_item_columns(samples)
    columns.update({"answer": [], PICKED: [], "correct": []})
    if outcomes is None:
        outcomes = [None] * len(samples)
    for pick, label, outcome in zip(picks, columns["label"], outcomes, strict=True):
        # What the harness says decides, also of an answer that we cannot read.
        final_pick = label if pick < 0 and outcome else pick
        letter = ""
        if final_pick >= 0:
            letter = LETTERS[final_pick]
        if outcome is None:
            outcome = int(final_pick == label)
        columns["answer"].append(letter)
        columns[PICKED].append(final_pick)
        columns["correct"].append(outcome)
    is_unread = [pick < 0 for pick in columns[PICKED]]
    lacks = find_lacks(replies, is_unread, read_alone=True)
    orders = map(_find_displayed_order, samples)
    columns.update(lacks)
    columns.update(list_unread_replies(replies, lacks, orders))
    return columns
