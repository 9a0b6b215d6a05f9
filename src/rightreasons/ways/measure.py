"""How much the accuracy of a language model depends on the prompt format, and on being doubted.

`measure_ways` asks the items of a split in several formats, compares those in which nearly all
answers can be read, and then asks the first format again with and without a doubt.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.splits import AuditSplit
from rightreasons.core.clusters import select_clusters
from rightreasons.core.estimates import Estimate, estimate_rate
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import NOT_SERIALIZED, Result
from rightreasons.core.scores import Scores
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import Item
from rightreasons.models.replies.gates import (
    MAX_DEPENDENCE_P,
    MAX_UNREAD_FOR_VERDICT,
    compute_dependence,
)
from rightreasons.models.replies.options import NO_ANSWER
from rightreasons.page.formats import percent
from rightreasons.ways.asking import Asking, DoubtResult
from rightreasons.ways.formats import Way, draw_ways
from rightreasons.ways.options import WaysOptions
from rightreasons.ways.spread import POWER, Flips, FormatSpread, format_spread

Judge = Callable[[Prompted, Scores], Mapping[str, tuple[str, str]]]
"""Returns question -> the label of its verdict, and the reason if it has none."""


@dataclasses.dataclass(frozen=True)
class AskedWay(Result):
    """Answers to one prompt format.

    Attributes:
        way: The format.
        accuracy: Share of correct answers; an unread answer is incorrect.
        n_unread: Number of answers that cannot be read.
        verdicts: Question -> the label of its verdict; "" for a question without one.
        excluded: Reason why the format is not compared, "" if it is.
    """

    way: Way
    accuracy: Estimate
    n_unread: int
    verdicts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    excluded: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class WaysAnswers:
    """Answers to N labeled items in each prompt format, and after a doubt.

    Attributes:
        split: The items.
        options: N lists of the answers in words.
        scores: Scores of the items in each of W formats.
        doubted: Scores after a doubt of the answers in the first format. None without a doubt.
        repeated: Scores after a neutral second request, its control. None without a doubt.
        has_confidence: Whether the scores are confidences, and not a single generated answer.
    """

    split: AuditSplit
    options: Sequence[Sequence[str]]
    scores: Sequence[Scores]
    doubted: Scores | None
    repeated: Scores | None
    has_confidence: bool = True


@dataclasses.dataclass(frozen=True)
class WaysFigures(Result):
    r"""Accuracy over prompt formats; see `measure_ways`.

    Attributes:
        n_items: Number of labeled items.
        ways: Answers to each format, the model's own first.
        spread: How far the accuracies lie apart. None if fewer than two formats are compared.
        no_spread: Reason why there is no spread, or "".
        posix: POSIX, in nats per token, at least 0. None if there is none.
        no_posix: Reason why there is none, or "".
        flips: Changes of correct and of incorrect answers after a doubt; () if there are none.
        no_flips: Reason why there are none, or "".
        n_unread_again: Number of items with an unread second answer; they are in no flip.
        same_verdict: Question with a verdict in any format -> share of the other formats with the
            verdict of the first. They are drawn at random, so that the interval is about all
            formats.
        no_verdict: Question without a verdict in any format -> the reason.
        answers: The answers to each item, which are not stored. None if they are not known.
    """

    n_items: int
    ways: tuple[AskedWay, ...]
    spread: FormatSpread | None
    no_spread: str
    posix: Estimate | None
    no_posix: str
    flips: tuple[Flips, ...]
    no_flips: str
    n_unread_again: int = 0
    same_verdict: Mapping[str, Estimate] = dataclasses.field(default_factory=dict)
    no_verdict: Mapping[str, str] = dataclasses.field(default_factory=dict)
    answers: WaysAnswers | None = dataclasses.field(
        default=None, repr=False, compare=False, metadata=NOT_SERIALIZED
    )

    @property
    def given_up(self) -> Flips | None:
        """The flips of correct answers; None if there are none."""
        for flips in self.flips:
            if flips.turn == "right to wrong":
                return flips
        return None

    @property
    def is_doubt_unread(self) -> bool:
        """Whether so many second answers are unread that there are no flips."""
        return self.n_unread_again > 0 and not self.flips

    @property
    def n_needed(self) -> int | None:
        """Planned number of items; None if there are as many."""
        return POWER.find_needed_items(self.n_items)

    @property
    def n_compared(self) -> int:
        """The number of formats that are compared."""
        return sum(not row.excluded for row in self.ways)


def measure_ways(
    prompted: Prompted,
    split: AuditSplit,
    *,
    options: WaysOptions | None = None,
    resampling: Resampling = Resampling(),
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    judge: Judge = lambda scorer, scores: {},
) -> WaysFigures:
    """Measure how the answers of a language model change with the prompt format, and after a doubt.

    A format is compared with others if at most a tenth of its answers cannot be read, and if whether
    they can be read does not depend on the correct answer. The spread of the accuracies is about the
    items whose answers can be read in all compared formats.

    Args:
        prompted: The model with its own prompt.
        split: The items, of which only labeled ones are used.
        options: Number of formats, and whether to ask again after a doubt. If None, the defaults.
        resampling: Level of the intervals; number and seed of shuffles and random signs. The seed also
            determines the formats.
        out: Folder that stores the answers, so that an interrupted run can resume.
        progress: Whether to show progress bars.
        judge: Function of the model in a format and its scores. It returns, for each other question of
            an audit, the label of its verdict and the reason if there is no verdict.

    Returns:
        Accuracy by format, the spread of the accuracies, POSIX, flips, and agreement of verdicts.

    Raises:
        UnreadAnswersError: If most of the first answers to the first format cannot be read.
        ValueError: If no item has a label, or the model fails.
    """
    options = options or WaysOptions()
    split = split.take(np.flatnonzero(split.labeled))
    if not len(split):
        raise ValueError(f"Expected labeled items in “{split.name}”, but there are none.")
    folder = None if out is None else Path(out)
    asking = Asking(prompted, split, folder, progress)
    ways = draw_ways(prompted, options.n_ways, seed=resampling.seed)

    asked_ways = []
    answers_by_way = []
    scores_by_way = []
    reason_by_question: dict[str, str] = {}
    for number, way in enumerate(ways):
        scorer = way.scorer(prompted)
        # All formats are compared with the first one, so its answers must be readable.
        scores = asking.score_readable(way, scorer, raises=number == 0)
        answers = scores.answers(split.ids)
        verdicts = judge(scorer, scores)
        asked_ways.append(_describe_way(way, scorer, answers, verdicts, asking, resampling))
        answers_by_way.append(answers)
        scores_by_way.append(scores)
        # The reason for a missing verdict, such as a missing column, is the same for all formats.
        if number == 0:
            for question, (_, reason) in verdicts.items():
                reason_by_question[question] = reason
    reason_by_question = _select_unjudged(reason_by_question, asked_ways)

    spread, no_spread = _measure_spread(asked_ways, np.array(answers_by_way), split, resampling)
    # POSIX needs likelihoods, and flips need a chat model. If one is missing, there is a reason.
    posix, no_posix = asking.measure_posix(ways, resampling)
    doubt = DoubtResult((), "it is left out")
    if options.doubt:
        doubt = asking.measure_flips(ways[0], answers_by_way[0], resampling)
    return WaysFigures(
        n_items=len(split),
        ways=tuple(asked_ways),
        spread=spread,
        no_spread=no_spread,
        posix=posix,
        no_posix=no_posix,
        flips=doubt.flips,
        no_flips=doubt.no_flips,
        n_unread_again=doubt.n_unread,
        same_verdict=_compare_verdicts(asked_ways, reason_by_question, resampling),
        no_verdict=reason_by_question,
        # The page shows single items, whose answers audit.json does not store.
        answers=WaysAnswers(
            split=split,
            options=[prompted.rendering.texts(item) for item in asking.items],
            scores=scores_by_way,
            doubted=doubt.doubted,
            repeated=doubt.repeated,
            has_confidence=not prompted.answers_once,
        ),
    )


def _describe_way(
    way: Way,
    scorer: Prompted,
    answers: NDArray[np.int64],
    verdicts: Mapping[str, tuple[str, str]],
    asking: Asking,
    resampling: Resampling,
) -> AskedWay:
    """Return the accuracy of a prompt format, its verdicts, and the reason if it is not compared.

    Args:
        way: The prompt format.
        scorer: The model with prompts in this format.
        answers: (N,) answers to the items; -1 for an answer that cannot be read.
        verdicts: Question -> the label of its verdict, and the reason if it has none.
        asking: The N labeled items.
        resampling: Level of the interval.
    """
    # Reasons are reported once for all formats, so only the labels are needed here.
    labels = {question: label for question, (label, _) in verdicts.items()}
    return AskedWay(
        way=way,
        accuracy=asking.estimate_accuracy(answers, resampling),
        n_unread=int((answers == NO_ANSWER).sum()),
        verdicts=labels,
        excluded=_explain_exclusion(scorer, answers, asking.items),
    )


def _select_unjudged(reasons: Mapping[str, str], asked_ways: Sequence[AskedWay]) -> dict[str, str]:
    """Select the questions that have no verdict in any prompt format, with their reasons.

    Args:
        reasons: Question -> reason why it has no verdict in the first format, or "".
        asked_ways: All formats; `verdicts` maps each question to its verdict, or to "".

    Returns:
        Question -> reason.
    """
    unjudged = {}
    for question, reason in reasons.items():
        # A question may have a verdict in only some formats.
        verdicts = [row.verdicts.get(question) for row in asked_ways]
        if not any(verdicts):
            unjudged[question] = reason
    return unjudged


def _explain_exclusion(scorer: Prompted, answers: NDArray[np.int64], items: Sequence[Item]) -> str:
    """Return the reason why a prompt format is not compared with others; "" if it is.

    Args:
        scorer: The model with prompts in this format.
        answers: (N,) answers to the items; -1 for an answer that cannot be read.
        items: N labeled items.
    """
    is_unread = answers == NO_ANSWER
    unread_share = float(is_unread.mean())
    # An audit has no verdicts if a larger share of its answers cannot be read.
    if unread_share > MAX_UNREAD_FOR_VERDICT:
        return f"{percent(unread_share)} of its answers cannot be read"
    # Whether an answer can be read may depend on the correct answer, or on its displayed position.
    labels = []
    displayed_positions = []
    for item in items:
        n_options = len(scorer.rendering.texts(item))
        displayed_order = scorer.rendering.get_displayed_order(n_options)
        labels.append(item.label)
        displayed_positions.append(displayed_order.index(item.label))
    label_p_value = compute_dependence(is_unread, labels)
    position_p_value = compute_dependence(is_unread, displayed_positions)
    if min(label_p_value, position_p_value) < MAX_DEPENDENCE_P:
        return "whether its answers can be read depends on the correct answer"
    return ""


def _measure_spread(
    asked_ways: Sequence[AskedWay],
    answers_by_way: NDArray[np.int64],
    split: AuditSplit,
    resampling: Resampling,
) -> tuple[FormatSpread | None, str]:
    """Measure the spread of the accuracies of the compared prompt formats.

    Only items whose answers can be read in all compared formats count.

    Args:
        asked_ways: W formats. Those with a reason in `excluded` are not compared.
        answers_by_way: (W, N) answers; -1 for an answer that cannot be read.
        split: The N items, with labels and clusters.
        resampling: Level of the interval; number and seed of the shuffles.

    Returns:
        The spread and ""; or None and the reason why there is none.
    """
    compared = [number for number, row in enumerate(asked_ways) if not row.excluded]
    if len(compared) < 2:
        return None, f"the answers of {len(compared)} of {len(asked_ways)} can be read"
    answers = answers_by_way[compared]
    # An item with an unread answer would add to the spread, although the answer is unknown.
    is_read = (answers != NO_ANSWER).all(axis=0)
    if not is_read.any():
        return None, "no item is read in each of them"
    is_correct = answers[:, is_read] == split.labels[is_read]
    # The answers to all items of a cluster are shuffled together.
    clusters = select_clusters(split.clusters, is_read)
    return format_spread(is_correct, clusters=clusters, resampling=resampling), ""


def _compare_verdicts(
    asked_ways: Sequence[AskedWay], reasons: Mapping[str, str], resampling: Resampling
) -> dict[str, Estimate]:
    """Estimate the share of prompt formats in which a question has the same verdict as in the first.

    Args:
        asked_ways: Formats with their verdicts; the first one is the model's own.
        reasons: Questions without a verdict in any format; these are excluded.
        resampling: Level of the intervals.

    Returns:
        Question -> the share of the other compared formats. Empty if there are no other formats.
    """
    shares = {}
    for name, verdict in asked_ways[0].verdicts.items():
        if name in reasons:
            continue
        is_same = []
        # Formats whose answers cannot be read are excluded, because their verdicts mean nothing.
        for row in asked_ways[1:]:
            if not row.excluded:
                is_same.append(row.verdicts[name] == verdict)
        share = estimate_rate(is_same, resampling)
        if share is not None:
            shares[name] = share
    return shares
