"""Scores of the splits of an audit, from the model or from stored predictions.

`score_audit` is the entry point: it returns the audit with its scores.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.context import AuditContext
from rightreasons.audited.splits import AuditSplit
from rightreasons.core.arrays import Ragged
from rightreasons.core.errors import UnreadAnswersError
from rightreasons.core.scores import Scores
from rightreasons.core.sentences import short_name
from rightreasons.core.validation import as_ragged
from rightreasons.page.parts import Reads

Score = Callable[[Sequence[str], Sequence[Sequence[str]], Sequence[str]], Scores]
"""(prompts, choices, ids) -> their scores."""


def score_audit(
    context: AuditContext,
    reads: Iterable[Reads],
    known_scores: Mapping[str, Scores] | None = None,
) -> AuditContext:
    """Return the audit with the scores of its splits, without items that cannot be scored.

    A split that cannot be scored at all keeps its items. A question that needs its scores raises
    the reason as an error.

    Args:
        context: The audit.
        reads: What each question reads: "audited" for all splits, "primary" for the primary one.
        known_scores: Split -> its scores, if they were computed before; None to run the model.

    Raises:
        UnreadAnswersError: If most of the first generated answers cannot be read.
        ValueError: If `fail_fast` is set and the model cannot score an item.
    """
    answers = _score_splits(context, set(reads), known_scores)
    splits = []
    for split in context.splits:
        answer = answers.get(split.name)
        if isinstance(answer, Scores):
            splits.append(split.exclude_items(answer.failures))
        else:
            splits.append(split)
    return dataclasses.replace(
        context, primary=splits[0], comparisons=tuple(splits[1:]), answers=answers
    )


def _score_splits(
    context: AuditContext, reads: set[Reads], known_scores: Mapping[str, Scores] | None
) -> dict[str, Scores | ValueError]:
    """Score the splits that questions read.

    Args:
        context: The audit.
        reads: What the questions read: "audited" for all splits, "primary" for the primary one.
        known_scores: Split -> its scores, if they were computed before; None to run the model.

    Returns:
        Split -> its scores, or the error that explains why there are none.

    Raises:
        UnreadAnswersError: If most of the first generated answers cannot be read.
        ValueError: If `fail_fast` is set and a split or an item cannot be scored.
    """
    answers: dict[str, Scores | ValueError] = {}
    for split in _select_splits(context, reads):
        try:
            if known_scores is None:
                scores = predict_split(context, split)
            else:
                scores = known_scores[split.name]
            _check_scores(context, split, scores)
        except UnreadAnswersError:
            # The error ends the audit, because further requests would be useless and cost money.
            raise
        except ValueError as error:
            if context.settings.fail_fast:
                raise
            # `AuditContext.scores` raises the error for each question that reads this split.
            answers[split.name] = error
        else:
            answers[split.name] = scores
    return answers


def _select_splits(context: AuditContext, reads: set[Reads]) -> tuple[AuditSplit, ...]:
    """Return the splits that questions read."""
    if "audited" in reads:
        return context.splits
    if "primary" in reads:
        return (context.primary,)
    return ()


def _check_scores(context: AuditContext, split: AuditSplit, scores: Scores) -> None:
    """Check that some items have scores, or all items with the option `fail_fast`.

    Args:
        context: The audit.
        split: The split, for the error message.
        scores: Its scores, with the reasons why items could not be scored.

    Raises:
        ValueError: If no item has a score, or an item has none and `fail_fast` is set.
    """
    # The message has only the first reason, because most often all failures have the same one.
    reason = next(iter(scores.failures.values()), "")
    if reason and context.settings.fail_fast:
        raise ValueError(reason)
    if not len(scores):
        raise ValueError(
            f"Expected answers of {short_name(context.source.name)} to the items of “{split.name}”, but none "
            f"of {len(split)} answers can be read: {reason}."
        )


def predict_split(context: AuditContext, split: AuditSplit) -> Scores:
    """Return the scores of a split, from stored predictions or from the model of an audit.

    The scores of a model are stored in the report folder, where an interrupted or repeated run finds
    them.

    Args:
        context: The audit.
        split: The split.
    """
    if context.stored is not None:
        return context.stored.get_scores(split)
    from rightreasons.models.classes import choose, predict
    from rightreasons.models.runs.progress import prefix_bar_titles

    # The folder of a prompted model depends only on its requests. How their answers are parsed may
    # change, because every run parses the stored answers again.
    rendering = ""
    if context.prompted is not None:
        rendering = context.prompted.request_fingerprint
    depends = [split.fingerprint]
    method = str(getattr(context.source, "method", ""))
    if method:
        depends.append(method)
    folder = context.folder(f"predictions-{split.name}", *depends, model=rendering)
    arguments = {"ids": split.ids, "labels": split.labels, **context.get_run_arguments(folder)}
    with prefix_bar_titles("predictions", split.name):
        if split.choices is not None:
            return choose(context.scorer, split.texts, split.choices, **arguments)
        return predict(context.scorer, split.texts, text_pairs=split.text_pairs, **arguments)


def reuse_scores(scores: Scores, items: AuditSplit, score: Score) -> Score:
    """Return a function that scores requests, and reuses the scores of unchanged items.

    Questions send items in changed and, for comparison, in unchanged form. Unchanged items are
    recognized by their prompt and choices.

    Args:
        scores: Scores of the items.
        items: Items with choices.
        score: Function of prompts, choices and ids that returns the scores of other requests.

    Returns:
        A function with the same arguments as `score`.
    """
    row_by_id = _map_rows(scores)
    # The key consists of the prompt and all choices.
    known_rows: dict[tuple[str, ...], NDArray[np.float64]] = {}
    for item in items.data.select_columns(["id", "prompt", "choices"]):
        # An item without a score is sent again.
        if item["id"] in row_by_id:
            content = (item["prompt"], *item["choices"])
            known_rows[content] = row_by_id[item["id"]]

    def score_requests(
        prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]
    ) -> Scores:
        """Return the scores of N requests, in their order, without those that failed."""
        rows: dict[str, NDArray[np.float64]] = {}
        unknown: list[int] = []
        for index, (prompt, texts) in enumerate(zip(prompts, choices, strict=True)):
            known_row = known_rows.get((prompt, *texts))
            if known_row is None:
                unknown.append(index)
            else:
                rows[ids[index]] = known_row
        # If all scores are known, there are no further answers, failures or truncated texts.
        answers = Scores(ids=(), logits=np.empty((0, 0)), way=scores.way)
        if unknown:
            answers = score(
                [prompts[index] for index in unknown],
                [choices[index] for index in unknown],
                [ids[index] for index in unknown],
            )
            rows |= _map_rows(answers)
        ordered_rows = {request_id: rows[request_id] for request_id in ids if request_id in rows}
        return _join_rows(ordered_rows, answers)

    return score_requests


def _map_rows(scores: Scores) -> dict[str, NDArray[np.float64]]:
    """Return the scores of each item by its id."""
    return dict(zip(scores.ids, as_ragged(scores.logits, "scores"), strict=True))


def _join_rows(rows: Mapping[str, NDArray[np.float64]], answers: Scores) -> Scores:
    """Return scores with certain logits, and with the other fields of the answers of a scorer.

    Args:
        rows: Id -> logits of the choices, in the order of the result.
        answers: Answers of the scorer, whose failures and number of truncated texts are kept.
    """
    values = np.concatenate([np.empty(0), *rows.values()])
    lengths = list(map(len, rows.values()))
    return Scores(
        ids=tuple(rows),
        logits=Ragged.of(values, lengths).table(),
        truncated=answers.truncated,
        way=answers.way,
        failures=answers.failures,
    )
