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
    """Return the columns of the samples of a log, apart from their ids.

    Args:
        samples: The samples.
        log_name: Name of the file, for errors.

    Returns:
        Scores of choices if all samples have them; else answers, as positions of choices or as texts;
        only `correct` for a log without replies.

    Raises:
        ValueError: If choices have scores, and an item has no correct choice, or several.
    """
    # A sample without scores has a generated answer.
    if all(map(_is_scored, samples)):
        return _make_scored_columns(samples, log_name)
    correct = find_correct([sample.metrics for sample in samples])
    replies = _list_replies(samples)
    # A log may have metrics alone.
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
    """Return the columns `text`, `answer` and `target` of answers in words.

    Args:
        samples: The samples.
        replies: The reply to each sample.
        lacks: Columns with the reasons for missing answers, from `find_lacks`.
    """
    texts = []
    answers = []
    targets = []
    for sample, reply in zip(samples, replies, strict=True):
        texts.append(sample.prompt)
        answers.append(reply.text)
        targets.append(sample.target)
    return make_answer_columns(texts, answers, targets, lacks)


def _make_scored_columns(samples: Sequence[LoggedSample], log_name: str) -> LogColumns:
    """Return the columns of samples with a score for each choice: items, logits and normalized scores.

    Args:
        samples: The samples.
        log_name: Name of the file, for errors.

    Raises:
        ValueError: If a sample has no correct choice, or several.
    """
    expected = f"the number of the correct choice of each item of {log_name}"
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
    """Return the columns `prompt`, `choices` and `label` of items with one correct choice each."""
    columns: LogColumns = {"prompt": [], "choices": [], "label": []}
    for sample in samples:
        columns["prompt"].append(sample.prompt)
        columns["choices"].append(sample.choices)
        columns["label"].append(sample.golds[0])
    return columns


# ---------------------------------------------------------------------------------- picks


def _find_picks(samples: Sequence[LoggedSample], replies: Sequence[Reply]) -> list[int] | None:
    """Return the position of the choice that each reply names, -1 for none.

    Args:
        samples: The samples.
        replies: The reply to each sample.

    Returns:
        The positions; None if a sample has no choices or not one correct choice, or if most replies
        name no choice: the harness compares such answers in words by its own metric.
    """
    picks = []
    n_readable = 0
    n_resolved = 0
    for sample, reply in zip(samples, replies, strict=True):
        # Accuracy by position needs one correct choice.
        if len(sample.choices) < 2 or len(sample.golds) != 1:
            return None
        pick = _find_pick(reply, sample.choices, sample.letters)
        picks.append(pick)
        # A truncated or refused reply says nothing about the form of answers.
        n_readable += not reply.no_answer_reason
        n_resolved += pick >= 0
    if n_resolved < max(1, MIN_RESOLVED_SHARE * n_readable):
        return None
    return picks


def _find_pick(reply: Reply, choices: Sequence[str], letters: Any) -> int:
    """Return the position of the choice that a reply names by its letter or its text; -1 for none.

    Args:
        reply: The reply.
        choices: The choices.
        letters: Letter -> text of the choice that was displayed under it, if the harness may have
            shuffled the choices; anything else for the usual order.
    """
    if reply.no_answer_reason:
        return -1
    text = reply.text.strip().rstrip(".").strip("()")
    # A displayed letter is replaced by the text of its choice.
    if isinstance(letters, Mapping) and text in letters:
        text = str(letters[text])
    folded_text = text.casefold()
    folded_choices = [choice.strip().casefold() for choice in choices]
    # The text of two equal choices names neither.
    if folded_choices.count(folded_text) == 1:
        return folded_choices.index(folded_text)
    position = find_letter(text, choices)
    if position is None:
        return -1
    return position


def _find_displayed_order(sample: LoggedSample) -> list[int] | None:
    """Return the position of the choice that was displayed under each letter.

    Args:
        sample: The sample. Without recorded letters, its choices were displayed in their order.

    Returns:
        The positions in the order of the letters; None if a letter names a text that is no choice.
    """
    choices = sample.choices
    text_by_letter = sample.letters
    if not isinstance(text_by_letter, Mapping):
        return list(range(len(choices)))
    order = []
    for letter in sorted(text_by_letter):
        text = text_by_letter[letter]
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
    """Return the columns of answers that are choices: items, answers, their positions and correctness.

    Args:
        samples: The samples.
        replies: The reply to each sample.
        picks: The position of the choice of each answer, -1 for none.
        outcomes: Whether the harness counts each answer as correct; None if it does not say.
    """
    columns = _make_item_columns(samples)
    columns.update({"answer": [], PICKED: [], "correct": []})
    if outcomes is None:
        outcomes = [None] * len(samples)
    for pick, label, outcome in zip(picks, columns["label"], outcomes, strict=True):
        # An answer that the harness accepts is the correct choice, even if we cannot read it.
        final_pick = label if pick < 0 and outcome else pick
        letter = ""
        if final_pick >= 0:
            letter = LETTERS[final_pick]
        # Without an outcome, the answer is compared with the correct choice.
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
