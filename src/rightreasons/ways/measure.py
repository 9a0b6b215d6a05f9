"""How much the accuracy of a language model depends on the way it is asked, and whether its answers stand a doubt."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.audited.splits import AuditSplit
from rightreasons.core.clusters import number_clusters
from rightreasons.core.estimates import Estimate, estimate_mean, estimate_rate, make_estimate
from rightreasons.core.intervals import bounded_mean_interval
from rightreasons.core.resampling import Resampling
from rightreasons.core.results import Result
from rightreasons.core.scores import Scores
from rightreasons.core.significance import compare_paired_means
from rightreasons.core.store import get_results_subfolder
from rightreasons.models.prompted import Prompted
from rightreasons.models.prompts import instruction, items_of
from rightreasons.models.replies.answers import NO_ANSWER
from rightreasons.models.wording import AGAIN, DOUBT, NEUTRAL_TURN
from rightreasons.page.prose import prose
from rightreasons.page.question import Part, Question, Rule, Table
from rightreasons.ways import WaysOptions
from rightreasons.ways.formats import Way, ways_of

Picks = NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class AskedWay(Result):
    """What came of a way to ask.

    Attributes:
        way: The way.
        accuracy: Share of right answers; one that cannot be read is wrong.
        n_unread: How many cannot be read.
        verdicts: Question -> its verdict; "" for a question without an answer.
    """

    way: Way
    accuracy: Estimate
    n_unread: int
    verdicts: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class FormatSpread(Result):
    r"""How far accuracies by different ways lie apart.

    Attributes:
        spread: FormatSpread's figure, \(\max_w a_w - \min_w a_w\) over the ways, in [0, 1]. Chance alone makes it
            positive.
        by_chance: Its mean where the ways change nothing: the answers of each unit shuffled among the ways.
        p_value: Share of these that are at least as large, the observed one counted in.
        held_out: The difference of the best and the worst way, chosen on one half of the units and measured on the
            other, both ways round: 0 on average where the ways change nothing.
    """

    spread: float
    by_chance: float
    p_value: float
    held_out: Estimate


@dataclasses.dataclass(frozen=True)
class Flips(Result):
    """How many answers of one kind turn when they are doubted, beside a neutral second request.

    Attributes:
        turn: "right to wrong" or "wrong to right".
        n_items: Items whose first answer is of this kind, with both second answers read.
        doubted: Share that turns after the doubt.
        asked_again: Share that turns after the neutral request.
        difference: The first minus the second, on the same items.
        p_value: Of "no difference".
    """

    turn: str
    n_items: int
    doubted: Estimate
    asked_again: Estimate
    difference: Estimate
    p_value: float


@dataclasses.dataclass(frozen=True)
class WaysFigures(Result):
    r"""Accuracy over ways to ask; see `measure_ways`.

    Attributes:
        n_items: Labeled items.
        ways: What came of each way, the model's own first.
        spread: How far they lie apart.
        posix: POSIX, in nats per token, at least 0; None where there is none.
        no_posix: Why there is none.
        flips: Flips of right and of wrong answers when they are doubted; () where that was not asked.
        no_flips: Why not.
        n_unread_again: Items of which one of the second answers cannot be read; they are in no flip.
        same_verdict: Question with a verdict in any way -> the share of the other ways with that of the model's own.
            They are drawn at random, so that the interval is about all ways.
        no_verdict: Question without a verdict in any way -> why.
    """

    n_items: int
    ways: tuple[AskedWay, ...]
    spread: FormatSpread
    posix: Estimate | None
    no_posix: str
    flips: tuple[Flips, ...]
    no_flips: str
    n_unread_again: int = 0
    same_verdict: Mapping[str, Estimate] = dataclasses.field(default_factory=dict)
    no_verdict: Mapping[str, str] = dataclasses.field(default_factory=dict)


def format_spread(
    right: Any, *, clusters: Any = None, how: Resampling = Resampling()
) -> FormatSpread:
    """Measure how far the accuracies of several ways to ask lie apart.

    Args:
        right: (W, N) whether the answer to each item is right by each way.
        clusters: (N,) names of the units that items belong to; None for independent items.
        how: Level of the interval; number of shuffles and their seed, which also divides the units.

    References:
        Sclar, Choi, Tsvetkov, Suhr (2024), "Quantifying Language Models' Sensitivity to Spurious Features in Prompt
        Design", ICLR, section 3.2: the spread. Shuffles and held-out difference are ours.

    Example:
        The second way is right on 3 of 4, the first on 1 of 4.

        >>> found = format_spread([[1, 0, 0, 0], [1, 1, 1, 0]])
        >>> found.spread, 0 < found.by_chance < 0.5
        (0.5, True)
    """
    table = np.asarray(right, dtype=np.float64)
    n_ways, n_items = table.shape
    codes = number_clusters(clusters, n_items)
    codes = np.arange(n_items) if codes is None else codes
    n_units, rng = int(codes.max()) + 1, np.random.default_rng(how.seed)
    spread = float(np.ptp(table.mean(axis=1)))
    chance = np.empty(how.resamples)
    for place in range(how.resamples):
        order = rng.permuted(np.tile(np.arange(n_ways), (n_units, 1)), axis=1)
        chance[place] = np.ptp(table[order[codes].T, np.arange(n_items)].mean(axis=1))
    half = rng.permutation(np.arange(n_units) % 2 == 0)[codes]
    halves = []
    for part in (half, ~half) if half.any() and not half.all() else ():
        chosen = table[:, ~part].mean(axis=1)
        apart = table[chosen.argmax(), part] - table[chosen.argmin(), part]
        ends = bounded_mean_interval(
            apart, low=-1, high=1, confidence_level=how.level, clusters=codes[part]
        )
        halves.append((float(apart.mean()), ends.low, ends.high))
    # The two halves choose by each other, and so depend on each other: the mean of their ends holds however they do.
    value, low, high = np.mean(halves, axis=0).tolist() if halves else (None, None, None)
    held = Estimate(
        value, low, high, how.level, "Student's t, an item at each bound; the mean of two halves"
    )
    p_value = (1 + int((chance >= spread - 1e-12).sum())) / (1 + how.resamples)
    return FormatSpread(spread, float(chance.mean()), p_value, held)


def prompt_sensitivity(rows: Any) -> float:
    r"""Return POSIX's sensitivity of one item: how much the likelihood of a response changes with the prompt.

    \[ \psi = \frac{1}{N(N-1)} \sum_{i \ne j} \frac{1}{L_{y_j}} \left| \log \frac{P(y_j | x_i)}{P(y_j | x_j)} \right| \]

    with \(y_j\) the response to the prompt \(x_j\): here the likeliest answer, where the paper generates one. The
    authors' released code has \(P(y_i | x_j)\) in place of \(P(y_j | x_i)\), and a bound of tokens for \(L\).

    Args:
        rows: (N, C) log-probability per token of each answer after each of N >= 2 prompts.

    References:
        Chatterjee, Renduchintala, Bhatia, Chakraborty (2024), "POSIX: A Prompt Sensitivity Index For Large Language
        Models", Findings of EMNLP, equation 1.

    Example:
        The answers are 0 and 1: (|-2 - -1| + |-3 - -1|) / 2.

        >>> prompt_sensitivity([[-1.0, -3.0], [-2.0, -1.0]])
        1.5
    """
    values = np.asarray(rows, dtype=np.float64)
    answers = values.argmax(axis=1)
    apart = np.abs(values[:, answers] - values[np.arange(len(values)), answers])
    return float(apart.sum() / (len(values) * (len(values) - 1)))


def flips_of(
    turn: str, turned: Sequence[Any], *, clusters: Any = None, how: Resampling = Resampling()
) -> Flips | None:
    """Compare how many answers turn after a doubt and after a neutral request; None without answers.

    Args:
        turn: What kind of turn.
        turned: (N,) whether each turns after the doubt, and (N,) after the neutral request.
        clusters: (N,) names of the units that items belong to; None for independent items.
        how: Level of the intervals; random signs and their seed.
    """
    doubted, again = (estimate_rate(each, how, clusters) for each in turned)
    if doubted is None or again is None:
        return None
    test = compare_paired_means(
        *(np.asarray(each, dtype=float) for each in turned), clusters=clusters, resampling=how
    )
    difference = make_estimate(test.difference, test.interval)
    return Flips(turn, len(turned[0]), doubted, again, difference, test.p_value)


def measure_ways(
    prompted: Prompted,
    split: AuditSplit,
    *,
    options: WaysOptions | None = None,
    how: Resampling = Resampling(),
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
    judge: Callable[[Prompted, Scores], Mapping[str, tuple[str, str]]] = lambda scorer, scores: {},
) -> WaysFigures:
    """Ask a language model in several ways that mean the same, and then whether it is sure.

    Args:
        prompted: The model with its own prompt.
        split: The items; those with a label are asked.
        options: Which ways; None for the usual ones.
        how: Level of the intervals; shuffles and random signs; the seed also draws the ways.
        out: A folder for the answers; a killed run resumes.
        progress: Whether to show progress bars.
        judge: Returns, for the model as it is asked in a way and what it said, the verdict of each question, and why it
            has none.

    Returns:
        The figures.

    Raises:
        ValueError: If no item has a label, or the model fails.
    """
    options = options or WaysOptions()
    split = split.take(np.flatnonzero(split.labeled))
    if not len(split):
        raise ValueError(f"Expected labeled items in “{split.name}”, but there are none.")
    ways = ways_of(prompted, options.n_ways, seed=how.seed)
    asking = _Asking(prompted, split, None if out is None else Path(out), progress)
    scorers = [way.scorer(prompted) for way in ways]
    said = [asking.scores(*pair) for pair in zip(ways, scorers, strict=True)]
    picks = np.array([scores.answers(split.ids) for scores in said])
    right = picks == split.labels
    judged = [judge(scorer, scores) for scorer, scores in zip(scorers, said, strict=True)]
    by_way = tuple(
        AskedWay(
            way,
            accuracy,
            int((row == NO_ANSWER).sum()),
            {name: label for name, (label, _) in each.items()},
        )
        for way, each, row in zip(ways, judged, picks, strict=True)
        if (accuracy := estimate_rate(row == split.labels, how, split.clusters)) is not None
    )
    reasons = {
        name: why
        for name, (_, why) in judged[0].items()
        if not any(each[name][0] for each in judged)
    }
    same = {
        name: share
        for name, verdict in by_way[0].verdicts.items()
        if name not in reasons
        and (share := estimate_rate([each.verdicts[name] == verdict for each in by_way[1:]], how))
        is not None
    }
    posix, no_posix = asking.posix(ways, how)
    flips, no_flips, n_unread = (
        asking.flips(ways[0], picks[0], how) if options.doubt else ((), "it is left out", 0)
    )
    spread = format_spread(right, clusters=split.clusters, how=how)
    return WaysFigures(
        len(split), by_way, spread, posix, no_posix, flips, no_flips, n_unread, same, reasons
    )


# ------------------------------------------------------------------------------------------------------------- private


class _Asking:
    """Asks about the items of a split in several ways."""

    def __init__(
        self, prompted: Prompted, split: AuditSplit, out: Path | None, progress: bool
    ) -> None:
        self.asked, self.split, self.out, self.progress = prompted, split, out, progress
        self.items = items_of(split.ids, split.labels.tolist(), **split.fields)
        self.place_of = {item.id: place for place, item in enumerate(self.items)}

    def posix(self, ways: Sequence[Way], how: Resampling) -> tuple[Estimate | None, str]:
        """Return POSIX over the ways in the given order, by the style of their answers; or why there is none."""
        scoring = self.asked.rendering.scoring
        if scoring == "generated":
            return None, "generated answers have no likelihood"
        likely = "mean" if "likelihoods" in self.asked.engine.abilities else "next_words"
        by_style: dict[str, list[dict[int, NDArray[np.float64]]]] = {}
        for way in (each for each in ways if each.order == "given"):
            scores = self.scores(way, way.scorer(self.asked, likely))
            scored = zip(scores.ids, scores.logits, strict=True)
            by_style.setdefault(way.style, []).append(
                {self.place_of[name]: np.asarray(row) for name, row in scored}
            )
        values, units = [], []
        for place in range(len(self.items)):
            weighted = [
                (len(rows) * (len(rows) - 1), prompt_sensitivity(rows))
                for tables in by_style.values()
                if len(rows := [table[place] for table in tables if place in table]) > 1
                and np.isfinite(rows).all()
            ]
            if weighted:
                values.append(sum(n * psi for n, psi in weighted) / sum(n for n, _ in weighted))
                units.append(place)
        if not values:
            return (
                None,
                "no two ways share the style of the answers and the given order of the options",
            )
        clusters = None if self.split.clusters is None else self.split.clusters[units]
        return estimate_mean(np.array(values), how, clusters=clusters), ""

    def flips(self, way: Way, first: Picks, how: Resampling) -> tuple[tuple[Flips, ...], str, int]:
        """Return the flips of right and of wrong answers, or why there are none, and how many cannot be read."""
        if not self.asked.rendering.chat:
            return (), "the model is asked without turns of a conversation", 0
        scorer = way.scorer(self.asked)
        doubted, again = (
            self.scores(way, scorer, follow, first).answers(self.split.ids)
            for follow in (DOUBT, NEUTRAL_TURN)
        )
        read = (first >= 0) & (doubted >= 0) & (again >= 0)
        labels, found = self.split.labels, []
        for turn, of in (("right to wrong", first == labels), ("wrong to right", first != labels)):
            rows = read & of
            turned = [
                (answers == labels)[rows] != (first == labels)[rows] for answers in (doubted, again)
            ]
            clusters = None if self.split.clusters is None else self.split.clusters[rows]
            found.append(flips_of(turn, turned, clusters=clusters, how=how))
        return (
            tuple(flip for flip in found if flip is not None),
            "",
            int(((first >= 0) & ~read).sum()),
        )

    def scores(
        self, way: Way, scorer: Prompted, follow: str = "", said: Picks | None = None
    ) -> Scores:
        """Return the scores of the items.

        Args:
            way: The way.
            scorer: The model, asked in it.
            follow: What the user says after a first answer; "" for none.
            said: (N,) the first answers, -1 for items that are left out.
        """
        rendering, items = scorer.rendering, self.items
        if said is not None:
            form = instruction(
                way.style, scoring=rendering.scoring, form=rendering.form, chat=rendering.chat
            )
            user = {"role": "user", "content": f"{follow} {AGAIN}{form}"}
            items = [
                dataclasses.replace(
                    item,
                    follow=(
                        {
                            "role": "assistant",
                            "content": rendering.said(rendering.answers(item)[place]),
                        },
                        user,
                    ),
                )
                for item, place in zip(items, said.tolist(), strict=True)
                if place != NO_ANSWER
            ]
        name = (
            way.name.replace("/", "-") + {"": "", DOUBT: " doubted", NEUTRAL_TURN: " again"}[follow]
        )
        out = get_results_subfolder(self.out, name)
        labels = np.array([item.label for item in items], dtype=np.int64)
        return scorer.score_items(items, labels, progress=self.progress, out=out)


def verdicts(m: Any, question: str) -> str:
    """Name the verdicts on a question over the ways, with how many have each."""
    labels = Counter(way.verdicts[question] or "no answer" for way in m.ways)
    return ", ".join(f"{label} in {count}" for label, count in labels.most_common())


WAYS_ASKED = Question(
    name="ways",
    prose=prose(__file__, verdicts=verdicts),
    verdict=(Rule("neutral", "told"),),
    parts=(
        Part(
            "ways",
            (
                Table(
                    "ways", lambda m: ((row.way.name, row.accuracy, row.n_unread) for row in m.ways)
                ),
            ),
        ),
        Part("verdicts"),
        Part("doubt"),
    ),
)
