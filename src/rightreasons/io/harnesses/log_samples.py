"""The samples of a log as columns: scores of choices, selected choices, or answers in words.

`LoggedSample` has the fields of one sample, whatever the format of the log. `make_sample_columns` makes
the columns of all samples.
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
    find_letter,
    find_missing_answers,
    list_unread_replies,
    make_answer_columns,
    normalize_scores,
)

MIN_RESOLVED_SHARE = 0.5
"""Minimum share of the readable replies that name a choice, for the answers to count as choices."""


@dataclasses.dataclass(frozen=True)
class LoggedSample:
    """The fields of a sample in a log.

    Attributes:
        id: Id of the sample.
        prompt: Question.
        choices: Texts of the choices; an empty list if the sample has none.
        golds: Positions of the correct choices from 0; an empty list if they are not known.
        scores: Scores of the choices; an empty list if the log has none.
        reply: Reply of the model; None in a log without replies.
        letters: Letter -> text of the choice that was displayed with it; None if the log does not record the letters,
            so that choices were displayed in their order.
        target: Correct answers in words.
        metrics: Metrics by their names, such as {"acc": 1.0}.
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
        log_name: Name of the file, for error messages.

    Returns:
        If all samples have scores of choices, the columns of these. Otherwise the columns of the answers:
        positions of choices, or texts. For a log without replies, only the column `correct`.

    Raises:
        ValueError: If choices have scores, but an item has no correct choice, or several.
    """
    # If a sample has no scores, the answers were generated.
    if all(map(_is_scored, samples)):
        return _make_scored_columns(samples, log_name)
    correct = find_correct([sample.metrics for sample in samples])
    replies = []
    for sample in samples:
        if sample.reply is not None:
            replies.append(sample.reply)
    # Some logs have only metrics.
    if not replies:
        return correct
    picks = _find_picks(samples, replies)
    if picks is not None:
        return _make_pick_columns(samples, replies, picks, correct.get("correct"))
    missing_answers = find_missing_answers(replies, [False] * len(replies))
    columns = _make_text_columns(samples, replies, missing_answers)
    columns.update(correct)
    return columns


def _is_scored(sample: LoggedSample) -> bool:
    return len(sample.scores) == len(sample.choices) > 1


def _make_text_columns(
    samples: Sequence[LoggedSample], replies: Sequence[Reply], missing_answers: LogColumns
) -> LogColumns:
    """Return the columns `text` (the prompt), `answer` and `target` of answers in words.

    Args:
        samples: (N,) samples.
        replies: (N,) replies, whose texts are the answers.
        missing_answers: Columns that `find_missing_answers` made, which are added.
    """
    prompts = []
    answers = []
    targets = []
    for sample, reply in zip(samples, replies, strict=True):
        prompts.append(sample.prompt)
        answers.append(reply.text)
        targets.append(sample.target)
    return make_answer_columns(prompts, answers, targets, missing_answers)


def _make_scored_columns(samples: Sequence[LoggedSample], log_name: str) -> LogColumns:
    """Return the columns of samples with a score for each choice: items, logits and normalized scores.

    Args:
        samples: The samples, with their choices, scores and correct choices.
        log_name: Name of the file, for error messages.

    Raises:
        ValueError: If a sample has no correct choice, or several.
    """
    check_all(
        [sample.golds for sample in samples],
        _is_single,
        f"the number of the correct choice of each item of {log_name}",
        unit="item",
        names=[sample.id for sample in samples],
    )
    columns = _make_item_columns(samples)
    columns["logits"] = []
    for sample in samples:
        columns["logits"].append(sample.scores)
    # Longer choices have lower log-likelihoods, so they are also divided by lengths.
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
    """Return the position of the choice that each reply names, if the answers are choices.

    Answers are not choices if a sample has fewer than two choices or not exactly one correct choice, or
    if most replies name no choice. The harness then evaluated them as texts.

    Args:
        samples: (N,) samples.
        replies: (N,) replies.

    Returns:
        (N,) positions from 0, -1 for a reply that names no choice; None if the answers are not choices.
    """
    picks = []
    n_readable = 0
    n_resolved = 0
    for sample, reply in zip(samples, replies, strict=True):
        if len(sample.choices) < 2 or len(sample.golds) != 1:
            return None
        pick = _find_pick(reply, sample.choices, sample.letters)
        picks.append(pick)
        # Truncated and refused replies do not show whether answers are choices.
        n_readable += not reply.no_answer_reason
        n_resolved += pick >= 0
    if n_resolved < max(1, MIN_RESOLVED_SHARE * n_readable):
        return None
    return picks


def _find_pick(reply: Reply, choices: Sequence[str], letters: Any) -> int:
    """Return the position of the choice that a reply names by its letter or its text; -1 if it names none.

    Args:
        reply: The reply, such as "(B)." or the text of a choice.
        choices: The choices.
        letters: Letter -> text of the choice that was displayed with it, if the harness may have shuffled
            the choices. Any other value if they were displayed in their order.
    """
    if reply.no_answer_reason:
        return -1
    text = reply.text.strip().rstrip(".").strip("()")
    # A letter refers to the choice that was displayed with it.
    if isinstance(letters, Mapping) and text in letters:
        text = str(letters[text])
    folded_text = text.casefold()
    folded_choices = [choice.strip().casefold() for choice in choices]
    # If two choices have the same text, it identifies neither.
    if folded_choices.count(folded_text) == 1:
        return folded_choices.index(folded_text)
    position = find_letter(text, choices)
    if position is None:
        return -1
    return position


def _find_displayed_order(sample: LoggedSample) -> list[int] | None:
    """Return the positions of the choices in the order in which the prompt displayed them.

    Args:
        sample: The sample, with its choices, and perhaps `letters`: the choice that was displayed with each
            letter. Without letters, the choices were displayed in their order.

    Returns:
        The positions in the order of the letters; None if a letter refers to a text that is not a choice.
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
        samples: (N,) samples.
        replies: (N,) replies.
        picks: (N,) position of the choice that each reply names, -1 if it names none.
        outcomes: (N,) 1 or 0, whether the harness counts the answer as correct, or None if it is unknown;
            None if the harness reports no outcomes.
    """
    columns = _make_item_columns(samples)
    columns.update({"answer": [], PICKED: [], "correct": []})
    if outcomes is None:
        outcomes = [None] * len(samples)
    for pick, label, outcome in zip(picks, columns["label"], outcomes, strict=True):
        # The harness may accept an answer as the correct choice that could not be read here.
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
    missing_answers = find_missing_answers(replies, is_unread, accepts_incomplete=True)
    orders = map(_find_displayed_order, samples)
    columns.update(missing_answers)
    columns.update(list_unread_replies(replies, missing_answers, orders))
    return columns
