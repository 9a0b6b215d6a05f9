"""What answers alone show: preferred positions of the choices, and agreement across epochs.

`measure_positions` compares the positions that a model picks with those of the correct choices.
`measure_epochs` measures how the answers to one item agree. Neither needs scores, so that both can
be measured on a log of generated answers.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.given_answers import GivenAnswers
from rightreasons.core.choices import LETTERS
from rightreasons.core.clusters import select_clusters
from rightreasons.core.estimates import Estimate, estimate_mean, estimate_rate
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.page.parts import Column, Table

MAX_POSITIONS = 12
"""Largest number of choices for which the positions are compared."""

MAX_POWER = 8
"""Largest number of answers that pass^k counts."""


@dataclasses.dataclass(frozen=True)
class AnswerPosition(Result):
    """How often the choice at a position is picked, and how often it is correct.

    Attributes:
        letter: Letter of the position, in the order of the data.
        n_correct: Number of items whose correct choice is there.
        gold: Share of the items whose correct choice is there.
        picked: Share of the items whose answer is there.
        excess: `picked` minus `gold`, over the items with an answer.
        accuracy: Share of correct answers among the items whose correct choice is there; None
            without such items.
    """

    letter: str
    n_correct: int
    gold: float
    picked: float
    excess: Estimate
    accuracy: Estimate | None


@dataclasses.dataclass(frozen=True)
class PassRate(Result):
    """How often several answers to one item are all correct (pass^k).

    Attributes:
        k: Number of answers.
        rate: Probability that k answers to an item, drawn without replacement, are all correct,
            averaged over the items.
    """

    k: int
    rate: Estimate


@dataclasses.dataclass(frozen=True)
class AnswerEpochs(Result):
    """How several answers to one item agree.

    Attributes:
        n_items: Number of items with several answers.
        n_epochs: Smallest number of answers to one of them.
        agreement: Share of pairs of answers to an item that are both correct or both incorrect.
        majority: Share of the items whose most frequent answer is correct, as by the reducer "mode"
            of inspect_ai.
        pass_rates: pass^k for each k from 1.
    """

    n_items: int
    n_epochs: int
    agreement: Estimate
    majority: Estimate
    pass_rates: tuple[PassRate, ...]


def measure_positions(answers: GivenAnswers, resampling: Resampling) -> tuple[AnswerPosition, ...]:
    """Compare the positions of the picked choices with those of the correct ones.

    Args:
        answers: The answers.
        resampling: Level, number of resamples and seed of the intervals.

    Returns:
        A row per position; empty if the items have no choices, an item has more than
        `MAX_POSITIONS` of them, or no answer can be read.
    """
    if not answers.is_multiple_choice or not answers.is_read.any():
        return ()
    n_positions = max(len(choices) for choices in answers.column("choices") or [[]])
    if n_positions > MAX_POSITIONS:
        return ()
    # An answer that cannot be read picks no position, and would lower the share of each.
    is_read = answers.is_read
    labels = answers.labels[is_read]
    picks = answers.picks[is_read]
    clusters = select_clusters(answers.clusters, is_read)
    positions = []
    for index in range(n_positions):
        is_gold = labels == index
        is_picked = picks == index
        differences = is_picked.astype(np.float64) - is_gold
        excess = estimate_mean(differences, resampling, bounds=(-1.0, 1.0), clusters=clusters)
        if excess is None:
            continue
        # The accuracy also counts unreadable answers, as incorrect ones.
        is_inside = answers.labels == index
        accuracy = estimate_rate(
            answers.is_correct[is_inside],
            resampling,
            select_clusters(answers.clusters, is_inside),
        )
        position = AnswerPosition(
            letter=LETTERS[index],
            n_correct=int(is_inside.sum()),
            gold=float(is_gold.mean()),
            picked=float(is_picked.mean()),
            excess=excess,
            accuracy=accuracy,
        )
        positions.append(position)
    return tuple(positions)


def measure_epochs(answers: GivenAnswers, resampling: Resampling) -> AnswerEpochs | None:
    r"""Measure how the answers to one item agree, and whether all of them are correct.

    With c of the n answers to an item correct, \(\text{pass}^k = \binom{c}{k} / \binom{n}{k}\).

    Args:
        answers: The answers. Answers to the same item have the same cluster.
        resampling: Level, number of resamples and seed of the intervals.

    Returns:
        The figures; None if no item has several answers.

    References:
        Yao et al. (2024), "τ-bench: A Benchmark for Tool-Agent-User Interaction in Real-World
        Domains", section 3 (pass^k).
    """
    if not answers.has_epochs:
        return None
    # The answers to one item are a cluster. All arrays below have an entry per item.
    _, item_numbers = np.unique(np.asarray(answers.clusters), return_inverse=True)
    n_answers_of_all = np.bincount(item_numbers)
    # An item has a single answer if its samples ended in an error in all other epochs.
    is_repeated = n_answers_of_all > 1
    if not is_repeated.any():
        return None
    n_answers = n_answers_of_all[is_repeated]
    n_correct_of_all = np.bincount(item_numbers, answers.is_correct).astype(np.int64)
    n_correct = n_correct_of_all[is_repeated]
    n_incorrect = n_answers - n_correct

    # Ordered pairs of answers to an item, and of those that are both correct or both incorrect.
    n_pairs = n_answers * (n_answers - 1)
    n_equal_pairs = n_correct * (n_correct - 1) + n_incorrect * (n_incorrect - 1)
    agreement = estimate_mean(n_equal_pairs / n_pairs, resampling, bounds=(0.0, 1.0))
    is_majority_correct = _is_majority_correct(answers.is_correct, item_numbers)
    majority = estimate_rate(is_majority_correct[is_repeated], resampling)
    if agreement is None or majority is None:
        return None
    n_epochs = int(n_answers.min())
    pass_rates = []
    # pass^k needs k answers to every item.
    for k in range(1, min(n_epochs, MAX_POWER) + 1):
        estimate = _estimate_pass_hat(n_correct, n_answers, k, resampling)
        if estimate is not None:
            pass_rates.append(PassRate(k, estimate))
    return AnswerEpochs(
        n_items=int(is_repeated.sum()),
        n_epochs=n_epochs,
        agreement=agreement,
        majority=majority,
        pass_rates=tuple(pass_rates),
    )


def _is_majority_correct(
    is_correct: NDArray[np.bool_], item_numbers: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether most answers to each item are correct; in a tie, the first answer decides.

    Args:
        is_correct: (N,) whether each answer is correct.
        item_numbers: (N,) item of each answer, numbered from 0 to M - 1.

    Returns:
        (M,) whether most answers to the item are correct.
    """
    n_items = int(item_numbers.max()) + 1
    counts: list[Counter[bool]] = [Counter() for _ in range(n_items)]
    for item, is_answer_correct in zip(item_numbers.tolist(), is_correct.tolist(), strict=True):
        counts[item][is_answer_correct] += 1
    majority = []
    for counter in counts:
        # In a tie, `most_common` returns the first value that was counted, as the reducer of
        # inspect_ai does.
        most_frequent, _ = counter.most_common(1)[0]
        majority.append(most_frequent)
    return np.array(majority, dtype=np.bool_)


def _estimate_pass_hat(
    n_correct: NDArray[np.int64], sizes: NDArray[np.int64], k: int, resampling: Resampling
) -> Estimate | None:
    """Return pass^k, the mean probability that k of the answers to an item are all correct.

    Args:
        n_correct: (N,) number of correct answers to each item.
        sizes: (N,) number of answers to each item, at least k.
        k: Number of answers that are drawn without replacement.
        resampling: Level, number of resamples and seed of the interval.
    """
    shares = []
    for count, size in zip(n_correct.tolist(), sizes.tolist(), strict=True):
        shares.append(math.comb(count, k) / math.comb(size, k))
    return estimate_mean(np.array(shares), resampling, bounds=(0.0, 1.0))


# ---------------------------------------------------------------------------------- tables


def make_position_table(positions: tuple[AnswerPosition, ...]) -> Table:
    """Return a table of the page with the picked and the correct positions of choices."""
    rows = []
    for position in positions:
        rows.append(
            (
                position.letter,
                position.gold,
                position.picked,
                position.excess,
                position.n_correct,
                position.accuracy,
            )
        )
    return Table(
        key="positions",
        title="Picks and correct choices by position",
        columns=(
            Column("letter", "Position", "text"),
            Column("gold", "Correct choices", "share"),
            Column("picked", "Picks", "share"),
            Column(
                "excess", "Difference", "share", "Share of picks minus share of correct choices."
            ),
            Column("n", "Items", "count", "Items whose correct choice is at this position."),
            Column("accuracy", "Accuracy", "share", "On these items."),
        ),
        rows=tuple(rows),
        note="Items without a readable answer only count for the accuracy.",
        source="Zheng et al. 2024",
    )


def make_epoch_table(epochs: AnswerEpochs) -> Table:
    """Return a table of the page on how several answers to one item agree.

    Args:
        epochs: The agreement of the answers, the share of items whose most frequent answer is
            correct, and pass^k for each k from 1.
    """
    # The table names the reducers of inspect_ai, "mean" and "mode", with the same figures.
    rows: list[tuple[str, Estimate]] = [
        ("Pairs of answers that agree", epochs.agreement),
        ("Most frequent answer correct (mode)", epochs.majority),
    ]
    for pass_rate in epochs.pass_rates:
        name = "One answer correct (mean)"
        if pass_rate.k > 1:
            name = f"{pass_rate.k} of {pass_rate.k} answers correct (pass^{pass_rate.k})"
        rows.append((name, pass_rate.rate))
    return Table(
        key="epochs",
        title=f"Agreement across epochs: {epochs.n_items:,} items, {epochs.n_epochs} or more answers each",
        columns=(Column("figure", "Figure", "text"), Column("value", "Share of items", "share")),
        rows=tuple(rows),
        source="pass^k: Yao et al. 2024",
    )


def make_reason_table(n_by_reason: dict[str, int], n_items: int) -> Table:
    """Return a table of the page with the reasons why answers cannot be read.

    Args:
        n_by_reason: Reason -> number of answers.
        n_items: Number of all answers.
    """
    rows = []
    for reason, count in n_by_reason.items():
        rows.append((reason, count, count / n_items))
    return Table(
        key="unread",
        title="Unreadable answers, by reason",
        columns=(
            Column("reason", "Reason", "text"),
            Column("n", "Answers", "count"),
            Column("share", "Share", "share"),
        ),
        rows=tuple(rows),
    )
