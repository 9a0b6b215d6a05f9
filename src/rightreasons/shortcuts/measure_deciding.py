"""Which features decide a model's predictions: every family that the training texts offer, until each is decided."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.core.clusters import count_units, select_clusters
from rightreasons.core.decisions import MARGINS, Decision, Margin, decide, decide_above
from rightreasons.core.estimates import Estimate, estimate_share
from rightreasons.core.intervals import bounded_mean_interval
from rightreasons.core.resampling import Resampling, item_rng
from rightreasons.core.results import Result
from rightreasons.core.store import digest_value
from rightreasons.models.classes import predict
from rightreasons.shortcuts.families import FAMILIES, candidates
from rightreasons.shortcuts.families.training import (
    Candidate,
    Edits,
    Text,
    Training,
)
from rightreasons.shortcuts.families.words import (
    WORST_MATCH,
    Pair,
    apply,
    swap,
    without_words,
    word_pairs,
)
from rightreasons.shortcuts.swaps import DecidingShare, deciding_share, fixed_share

Labels = NDArray[np.int64]

FIRST_LOOK = 100
"""Items before the first look at the figures; each further look is at twice as many."""

SCREENED = 200
"""Items that are asked about every candidate, so that the strongest can be chosen; further ones only about those."""

JOINT = {2: 6, 3: 5}
"""How many of the strongest pairs of words are swapped two and three at a time."""

REDUNDANT = Margin(0.25, 0.25)
"""What several pairs of words decide beyond the sum of each by itself: words that stand for one another."""

SEVERAL = Margin(0.5, 0.5)
"""What two or three pairs of words decide of the predictions of the labels that they point at: where half of these hang
on a handful, each may decide less than a quarter of all."""


@dataclasses.dataclass(frozen=True)
class FamilyEffect(Result):
    """What the strongest candidate of a family decides.

    Attributes:
        family: The family; "words" has a row for each number of pairs that are swapped at once.
        name: The candidate, in words.
        words: The words that it is about.
        association: How well the feature tells a label in the training texts.
        match: The largest ratio of training frequencies of words and their controls; None where a control is missing.
        effect: What it decides; its intervals are those of one family at one look.
        decision: The same beside the margin; for several pairs of words, whether they decide half of all predictions,
            or else what they decide beyond the sum of each.
        level: The level of the intervals of all families and looks together.
        n_pairs: How many pairs of words are swapped at once; 1 elsewhere.
    """

    family: str
    name: str
    words: tuple[str, ...]
    association: float
    match: float | None
    effect: DecidingShare
    decision: Decision
    level: float = 0.95
    n_pairs: int = 1

    @property
    def estimate(self) -> Estimate:
        """The share that it decides, with the interval that holds for all families together."""
        return dataclasses.replace(
            self.effect.estimate, level=self.level, method=self.effect.interval.method
        )

    @property
    def follow_rate(self) -> Estimate | None:
        """How often a prediction becomes the label of what is put in; None where nothing points at one."""
        low_high = self.effect.follow_interval
        if low_high is None:
            return None
        return Estimate(
            self.effect.follow_rate, low_high.low, low_high.high, self.level, low_high.method
        )


@dataclasses.dataclass(frozen=True, eq=False)
class SwapMeasurement:
    """What decides the predictions of a model.

    Attributes:
        rows: The families that were tested, those that decide most first.
        untested: Family -> why it could not be tested, although the training texts offer it.
        absent: Families that the training texts do not offer.
        pairs: What each pair of words decides by itself, on the items that were asked about all.
        accuracy: Accuracy of the labeled items that were measured; None where none has a label.
        most_frequent: The share of their most frequent label.
        accuracy_without: The same where every word that points at a label gives way to a neutral one.
        n_items: Items that were measured.
        n_available: Items that there are.
        n_passes: Texts that the model was asked about.
        asked: (row, feature, changed item, its label) of items with a feature swapped: each pair of words, the one that
            changes most first, and the strongest feature of every other family.
        decided: Row of an item -> whether the strongest feature changes its prediction.
    """

    rows: tuple[FamilyEffect, ...]
    untested: Mapping[str, str]
    absent: tuple[str, ...]
    pairs: tuple[FamilyEffect, ...]
    accuracy: Estimate | None
    most_frequent: float
    accuracy_without: Estimate | None
    n_items: int
    n_available: int
    n_passes: int
    asked: tuple[tuple[int, str, Text, int], ...] = ()
    decided: Mapping[int, bool] = dataclasses.field(default_factory=dict)


def measure_swaps(
    source: Any,
    columns: Sequence[Sequence[str]],
    predictions: Labels,
    training: Training,
    *,
    ids: Sequence[str],
    labels: Labels | None = None,
    clusters: Sequence[Any] | None = None,
    resampling: Resampling = Resampling(),
    seconds: float = 120.0,
    limit: int | None = None,
    out: str | os.PathLike[str] | None = None,
    **options: Any,
) -> SwapMeasurement:
    r"""Measure what decides a model's predictions, family by family, until each is decided or the time is up.

    The figures are looked at after 100, 200, 400, … items. The error of a look is what \(\alpha t^2\) grows by
    from the look before, at the share t of the items. It is divided among the families, so that all verdicts together
    keep the level.

    Args:
        source: A classifier or a scorer of classes.
        columns: One list of N texts, or two.
        predictions: (N,) what the model predicts for them.
        training: The training texts.
        ids: N unique ids, which decide the random choices with the seed.
        labels: (N,) gold labels, -1 for none, for accuracies; None for none.
        clusters: (N,) what each item belongs to; None where each stands for itself.
        resampling: Level and seed.
        seconds: After about this time no further look is begun, where there is no limit.
        limit: The most items that are asked about, however long that takes; None for all that the time allows.
        out: A folder that keeps what the model says, so that a killed run goes on.
        **options: Further options of `predict`.

    Returns:
        `SwapMeasurement`.
    """
    shuffled = np.argsort(
        [item_rng(resampling.seed, f"swaps {name}").random() for name in ids], kind="stable"
    )
    order = shuffled[:limit]

    def predicted(texts: Sequence[Text]) -> list[int]:
        """Return what the model says of changed items; -1 where it says nothing."""
        names = [f"{place}" for place in range(len(texts))]
        folder = None if out is None else Path(out) / digest_value([list(text) for text in texts])
        pairs = [text[1] for text in texts] if len(texts[0]) > 1 else None
        scores = predict(
            source, [text[0] for text in texts], text_pairs=pairs, ids=names, out=folder, **options
        )
        return list(scores.answers(names).tolist())

    trial = _Trial(
        predicted,
        training,
        resampling.seed,
        order=order,
        items=[tuple(str(column[row]) for column in columns) for row in order.tolist()],
        predictions=np.asarray(predictions, dtype=np.int64)[order],
        ids=[str(ids[row]) for row in order.tolist()],
        clusters=None if clusters is None else np.array(clusters, dtype=str)[order],
    )
    spent, began, n_done = 0.0, time.perf_counter(), 0
    rows: tuple[FamilyEffect, ...] = ()
    while n_done < len(order):
        n_items = min(2 * n_done or FIRST_LOOK, len(order))
        took = time.perf_counter() - began
        if limit is None and n_done and took * n_items / n_done > seconds:
            break
        spending = (n_items / len(order)) ** 2
        error, spent = (1 - resampling.level) * (spending - spent), spending
        trial.ask(n_items)
        n_tests = len(trial.offered) + (2 if "words" in trial.offered else 0)
        level = dataclasses.replace(resampling, level=1 - error / max(n_tests, 1))
        found = [
            trial.row(*group, chosen, level) for group, chosen in trial.chosen(n_items).items()
        ]
        rows = tuple(
            dataclasses.replace(row, level=resampling.level) for row in found if row is not None
        )
        n_done = n_items
        # What surely decides settles the verdict; so does that nothing decides.
        levels = {row.decision.level for row in rows}
        if "large" in levels or levels <= {"small"}:
            break
    gold = np.full(n_done, -1) if labels is None else np.asarray(labels)[order[:n_done]]
    right, without = trial.right(gold)
    return SwapMeasurement(
        rows=tuple(sorted(rows, key=lambda row: -row.effect.deciding_share)),
        untested=trial.untested(n_done),
        absent=tuple(family for family in FAMILIES if family not in trial.offered),
        pairs=tuple(trial.single_pairs(n_done, resampling)),
        accuracy=estimate_share(int(right.sum()), len(right), resampling),
        most_frequent=float(np.bincount(gold[gold >= 0]).max() / len(right)) if len(right) else 0.0,
        accuracy_without=estimate_share(int(without.sum()), len(without), resampling),
        n_items=n_done,
        n_available=len(shuffled),
        n_passes=len(trial.known),
        asked=tuple(trial.asked(n_done)),
        decided=trial.decided(n_done),
    )


@dataclasses.dataclass(eq=False)
class _Trial:
    """The edits of all candidates, and what the model says of them; items are in the order in which they are asked."""

    predicted: Callable[[Sequence[Text]], list[int]]
    training: Training
    seed: int
    _: dataclasses.KW_ONLY
    order: NDArray[np.intp]
    items: Sequence[Text]
    predictions: Labels
    ids: Sequence[str]
    clusters: NDArray[np.str_] | None

    def __post_init__(self) -> None:
        # Kept as long as the trial: a cache of the class would keep every trial of the process.
        self.joint = functools.cache(functools.partial(swap, self.training))
        self.edits, self.chosen = functools.cache(self._edits), functools.cache(self._chosen)
        self.word_pairs: list[Pair] = word_pairs(self.training)
        found = {family: candidates(self.training, family) for family in FAMILIES}
        # Each pair of words is one candidate, alone or among several.
        found["words"] = [self.joint((pair,)) for pair in self.word_pairs]
        self.offered = {family: listed for family, listed in found.items() if listed}
        self.known: dict[Text, int] = {}
        self.n_screened = 0

    # ------------------------------------------------------------------ candidates and their edits

    def _edits(self, candidate: Candidate, row: int) -> Edits:
        rng = item_rng(self.seed, f"{candidate.name} {self.ids[row]}")
        return candidate.edit(self.items[row], int(self.predictions[row]), rng)

    def label(self, text: Text | None) -> int:
        """Return what the model says of a text that it was asked about; -1 for none."""
        return -1 if text is None else self.known.get(text, -1)

    def groups(self) -> dict[tuple[str, int], list[Candidate]]:
        """Return the candidates of each family, and of each number of pairs of words, among which one is chosen."""
        groups = {
            (family, 1): listed
            for family, listed in self.offered.items()
            if family != "one text alone"
        }
        # Each text alone is a question of its own.
        for place, candidate in enumerate(self.offered.get("one text alone", ())):
            groups["one text alone", -place] = [candidate]
        for n_pairs, most in JOINT.items():
            strong = sorted(self.word_pairs[:most], key=lambda pair: (pair.column, pair.words))
            joined = [self.joint(pairs) for pairs in itertools.combinations(strong, n_pairs)]
            if joined and len(self.word_pairs) >= n_pairs:
                groups["words", n_pairs] = joined
        return groups

    # ------------------------------------------------------------------ asking

    def ask(self, n_items: int) -> None:
        """Ask about every candidate for the items that choose, then about the chosen ones and their controls."""
        self.n_screened = min(n_items, SCREENED)
        every = [candidate for listed in self.groups().values() for candidate in listed]
        self._ask(
            self.edits(candidate, row).treated
            for candidate in every
            for row in range(self.n_screened)
        )
        wanted: list[Text | None] = []
        for chosen in self.chosen(n_items).values():
            for row, candidate in enumerate(chosen):
                edits = self.edits(candidate, row)
                wanted += [edits.treated, edits.control]
                # Beside several pairs at once, each by itself.
                wanted += [
                    self.edits(self.joint((pair,)), row).treated
                    for pair in candidate.pairs[1:] and candidate.pairs
                ]
        self._ask(wanted)

    def _ask(self, texts: Iterable[Text | None]) -> None:
        new = [text for text in dict.fromkeys(texts) if text is not None and text not in self.known]
        # A text that is left without words is none.
        new = [text for text in new if all(column.strip() for column in text)]
        if new:
            self.known.update(zip(new, self.predicted(new), strict=True))

    # ------------------------------------------------------------------ choosing and measuring

    def _chosen(self, n_items: int) -> dict[tuple[str, int], list[Candidate]]:
        """Return the candidates of each group that items are measured by, once those that choose were asked about."""
        return {group: self.choice(listed, n_items) for group, listed in self.groups().items()}

    def choice(self, listed: Sequence[Candidate], n_items: int) -> list[Candidate]:
        """Return the candidate that each item is measured by: the strongest of the other half of those that choose."""
        if len(listed) == 1:
            return [listed[0]] * n_items
        changes = np.array(
            [
                [self.changes(candidate, row) for row in range(self.n_screened)]
                for candidate in listed
            ]
        )
        even, odd = (listed[int(changes[:, start::2].mean(axis=1).argmax())] for start in (0, 1))
        best = listed[int(changes.mean(axis=1).argmax())]
        chosen = [odd if row % 2 == 0 else even for row in range(self.n_screened)]
        return [*chosen, *[best] * (n_items - self.n_screened)]

    def changes(self, candidate: Candidate, row: int) -> bool:
        """Return whether a prediction changes by the swap."""
        after = self.label(self.edits(candidate, row).treated)
        return after >= 0 and after != int(self.predictions[row])

    def row(
        self, family: str, n_pairs: int, chosen: Sequence[Candidate], resampling: Resampling
    ) -> FamilyEffect | None:
        """Return what the chosen candidates decide; None where no item has anything to change."""
        n_items, edits = (
            len(chosen),
            [self.edits(candidate, row) for row, candidate in enumerate(chosen)],
        )
        swapped = np.array([self.label(each.treated) for each in edits], dtype=np.int64)
        if (swapped >= 0).sum() == 0:
            return None
        before = self.predictions[:n_items]
        named = max(
            chosen,
            key=lambda candidate: (sum(candidate is other for other in chosen), candidate.name),
        )
        clusters = select_clusters(self.clusters, slice(n_items))
        n_units = count_units(clusters, n_items)
        control = np.array([self.label(each.control) for each in edits], dtype=np.int64)
        how: dict[str, Any] = {"clusters": clusters, "resampling": resampling}
        if named.fixes:
            effect = fixed_share(before, swapped, **how)
        else:
            effect = deciding_share(
                before, swapped, control, goals=np.array([each.goal for each in edits]), **how
            )
        if named.pairs[1:]:
            decision = self.of_several(chosen, swapped, control, resampling)
            if decision.level != "large":
                decision = decide_above(
                    self.beyond_singles(chosen, resampling), REDUNDANT, n_items, n_units
                )
        else:
            decision = decide(effect.estimate, MARGINS["decides"], n_items, n_units)
        has_control = named.match is not None and named.match <= WORST_MATCH
        # Where the control changes surely more than the swap, it is none.
        if (decision.level != "small" and effect.interval.high < 0) or (
            decision.level == "small" and not has_control
        ):
            decision = dataclasses.replace(decision, level="unknown")
        about = named.name, named.words, named.association, named.match
        return FamilyEffect(family, *about, effect, decision, n_pairs=max(n_pairs, 1))

    def of_several(
        self,
        chosen: Sequence[Candidate],
        swapped: Labels,
        control: Labels,
        resampling: Resampling,
    ) -> Decision:
        """Decide about several pairs of words, among the predictions of the labels that they point at."""
        before = self.predictions[: len(chosen)]
        able = np.array(
            [label in each.labels for label, each in zip(before.tolist(), chosen, strict=True)]
        )
        if not able.any():
            return Decision("small", 0)
        among = select_clusters(self.clusters, np.flatnonzero(able))
        effect = deciding_share(
            before[able], swapped[able], control[able], clusters=among, resampling=resampling
        )
        return decide_above(
            effect.estimate, SEVERAL, effect.n_items, count_units(among, effect.n_items)
        )

    def beyond_singles(self, chosen: Sequence[Candidate], resampling: Resampling) -> Estimate:
        """Return how many predictions pairs of words change together, minus those that each changes by itself."""
        values = []
        for row, candidate in enumerate(chosen):
            together = self.changes(candidate, row)
            values.append(
                float(together)
                - sum(self.changes(self.joint((pair,)), row) for pair in candidate.pairs)
            )
        low = -float(max(len(candidate.pairs) for candidate in chosen))
        interval = bounded_mean_interval(
            values, low=low, high=1.0, confidence_level=resampling.level
        )
        return Estimate(float(np.mean(values)), interval.low, interval.high)

    def single_pairs(self, n_items: int, resampling: Resampling) -> Iterable[FamilyEffect]:
        """Return what each pair of words decides by itself, on the items that were asked about all; by size."""
        n = min(n_items, self.n_screened)
        listed = self.offered.get("words", [])
        self._ask(self.edits(candidate, row).control for candidate in listed for row in range(n))
        found = [self.row("words", 1, [candidate] * n, resampling) for candidate in listed]
        return sorted(
            (row for row in found if row is not None), key=lambda row: -row.effect.deciding_share
        )

    def untested(self, n_items: int) -> dict[str, str]:
        """Say which families the training texts offer and no item has."""
        return {
            family: "no item has anything to change"
            for family, listed in self.offered.items()
            if not any(
                self.edits(candidate, row).treated for candidate in listed for row in range(n_items)
            )
        }

    def right(self, gold: Labels) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Say which labeled items are right, and which are with neutral words for all that point at a label."""
        rows = np.flatnonzero(gold >= 0)
        mappings = without_words(self.training, self.word_pairs)
        neutral = {row: apply(self.items[row], mappings) for row in rows.tolist()}
        self._ask(neutral.values())
        before = self.predictions[rows]
        after = [
            before[place] if text is None else self.label(text)
            for place, text in enumerate(neutral.values())
        ]
        return before == gold[rows], np.array(after, dtype=np.int64) == gold[rows]

    def asked(self, n_items: int) -> Iterable[tuple[int, str, Text, int]]:
        """Return what the model says of items with a feature swapped: pairs of words first, as they change most."""
        rows = range(min(n_items, self.n_screened))
        most = sorted(
            self.offered.get("words", []),
            key=lambda each: -sum(self.changes(each, row) for row in rows),
        )
        others = [
            chosen for (family, _), chosen in self.chosen(n_items).items() if family != "words"
        ]
        for candidates_of_rows in [*([each] * len(rows) for each in most), *others]:
            for row, candidate in enumerate(candidates_of_rows):
                text = self.edits(candidate, row).treated
                if text is not None and self.label(text) >= 0:
                    yield int(self.order[row]), candidate.name, text, self.label(text)

    def decided(self, n_items: int) -> dict[int, bool]:
        """Return which predictions the feature that changes most of them changes."""
        flags = [
            [self.changes(candidate, row) for row, candidate in enumerate(chosen)]
            for (_, n_pairs), chosen in self.chosen(n_items).items()
            if n_pairs == 1
        ]
        most = max(flags, key=sum, default=[])
        return dict(zip(self.order[: len(most)].tolist(), most, strict=True))
