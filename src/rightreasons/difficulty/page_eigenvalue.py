"""The part of the report on the largest Fisher eigenvalue: how fragile each prediction is, in which words."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rightreasons.audited.context import AuditContext
from rightreasons.audited.predictions import safe_name
from rightreasons.core.intervals import Estimate
from rightreasons.difficulty import plots, ranked
from rightreasons.difficulty.data_maps import TrainingDynamics
from rightreasons.difficulty.measure import (
    REVERSED,
    DifficultyMeasurement,
    ExtremeFlips,
    measure_difficulty,
    measure_flips,
)
from rightreasons.difficulty.options import RANKED_ITEMS, DifficultyOptions
from rightreasons.difficulty.ranking import MIN_ITEMS
from rightreasons.difficulty.substitutions import Attempt, SubstitutionOptions
from rightreasons.io.splits import chosen_rows
from rightreasons.models.running import bars_about
from rightreasons.page.parts import Mark
from rightreasons.page.prose import prose
from rightreasons.page.question import Examples, Figure, Lead, Need, Part, Plot, Question, Rule, Table
from rightreasons.page.words import decimal, percent

TOP_K = 6
"""Words of each tested item that are replaced, those of largest attribution."""

FRAGILE = 0.1
"""Single words flip items where the interval of the share that a word with the same meaning flips begins above this."""

MARKED = 0.2
"""Words are marked if they move at least this share as far as the most moved one."""

DATTA = "Datta et al. 2020, arXiv:2010.07212"

FIGURES = (
    "hardest_accuracy",
    "easiest_accuracy",
    "hardest_flipped",
    "median_difficulty",
    "easiest_flipped",
    "hardest_reversed",
    "easiest_reversed",
)


@dataclasses.dataclass(frozen=True, eq=False)
class EigenvalueAnswers(ranked.RankedAnswers):
    """The items ranked by their eigenvalue.

    Attributes:
        measured: The eigenvalues.
        flips: What single replaced words do; None for tasks where words are not replaced.
    """

    measured: DifficultyMeasurement
    flips: ExtremeFlips | None = None

    def flipped(self, end: str) -> tuple[int, int]:
        """Count the items at an end that a word of like meaning flips, and those where one was tried."""
        return self.flips.n_flipped(end == "hardest", self.flips.kept) if self.flips else (0, 0)

    def flip_rate(self, end: str, *, keeps: bool = True) -> Estimate | None:
        """Return the share of the items at an end that a word flips which keeps the meaning, or reverses it."""
        if self.flips is None:
            return None
        return self.flips.items(end == "hardest", self.flips.kept if keeps else REVERSED, self.context.resampling)

    def is_fragile(self, end: str) -> bool:
        """Return whether words of like meaning surely flip items at an end."""
        rate = self.flip_rate(end)
        return rate is not None and (rate.low or 0.0) > FRAGILE

    @property
    def errs_where_fragile(self) -> bool:
        """Whether the hardest group is surely less often right than the easiest."""
        return bool(self.accuracies) and (self.accuracies[-1].high or 0.0) < (self.accuracies[0].low or 0.0)

    def note(self, place: int) -> str:
        """Say how fragile an item is, and what flips it."""
        note = f"λ = {decimal(float(self.measured.values[place]))}"
        attempts = None if self.flips is None else self.flips.of_place(place)
        return note if attempts is None else f"{note}. {self._attempted(attempts)}"

    def _attempted(self, attempts: list[Attempt]) -> str:
        if not attempts:
            return "No word of it could be replaced."
        best, n_flips = attempts[0], sum(attempt.flipped for attempt in attempts)
        change = best.changes[0]
        words = f"“{change.original}” → “{change.replacement}” ({best.kind})"
        if best.flipped:
            after = self.context.label_name(best.after)
            return f"{words} flips it to {after} ({n_flips} of {len(attempts)} replacements do)."
        return (
            f"None of {len(attempts)} replacements flips it; {words} comes closest "
            f"(confidence {percent(best.confidence_before)} to {percent(best.confidence_after)})."
        )

    def marks(self, place: int) -> tuple[Mark, ...]:
        """Mark the words that the fragile direction moves."""
        row = int(self.measured.rows[place])
        fisher = self.measured.fisher
        if self.context.task != "classification" or fisher.token_norms is None:
            return ()
        first, last = fisher.token_norms.offsets[row : row + 2]
        norms = fisher.token_norms[row]
        starts, ends = (np.asarray(column)[first:last].tolist() for column in (fisher.starts, fisher.ends))
        largest, reached, marks = float(norms.max(initial=0.0)), 0, []
        for norm, start, end in zip(norms.tolist(), starts, ends, strict=True):
            if start < reached or end > len(self.split.texts[row]):
                break  # the second text of a pair begins
            reached = end
            if largest > 0 and norm >= MARKED * largest and end > start:
                marks.append(Mark(start, end, "weight", norm / largest, f"moves by {decimal(norm)}"))
        return tuple(marks)


def measure(context: AuditContext, options: DifficultyOptions) -> EigenvalueAnswers:
    """Rank the items of the primary split, and replace words of the first and the last."""
    split, limit = context.primary, options.items or RANKED_ITEMS
    if limit < len(split):
        split = split.take(np.sort(np.array(chosen_rows(split.ids, limit, seed=context.seed))))
    method = str(getattr(context.classifier, "method", ""))
    measured = measure_difficulty(
        context.classifier,
        split.texts,
        labels=split.labels,
        text_pairs=split.text_pairs,
        choices=split.choices,
        ids=split.ids,
        eigenvector=True,
        unit="word",
        batch_size=context.batch_size,
        progress=context.progress,
        out=context.folder(f"difficulty-{safe_name(split.name)}", split.fingerprint, str(limit), method),
        fail_fast=context.fail_fast,
    )
    if len(measured) < MIN_ITEMS:
        why = measured.fisher.failures[0][1] if measured.fisher.failures else "`items` asks for no more."
        raise ValueError(
            f"Expected the eigenvalue of at least {MIN_ITEMS} items, but it is known of {len(measured)}: {why}"
        )
    flips = dynamics = None
    if context.task == "classification" and split.text_pairs is None:
        running = {name: getattr(context, name) for name in ("batch_size", "seed", "progress", "fail_fast")}
        with bars_about("words replaced"):
            replacing = SubstitutionOptions(top_k=TOP_K, n_candidates=2, **running)
            flips = measure_flips(context.classifier, split.texts, measured, replacing, neighbors=options.neighbors)
    if options.data_map is not None:
        ids = [split.ids[row] for row in measured.rows]
        dynamics = TrainingDynamics.of_items(options.data_map, ids, context.primary.ids, split.name)
    return EigenvalueAnswers(context, split, measured, dynamics, flips)


def data(m: EigenvalueAnswers) -> dict[str, Any]:
    """Return what audit.json has beside the figures."""
    measured, label_name = m.measured, m.context.label_name
    return {
        "ranking": [
            {
                "id": m.split.ids[measured.rows[place]],
                "eigenvalue": float(measured.values[place]),
                "scale_free": float(measured.fisher.scale_free[measured.rows[place]]),
                **measured.row(place, label_name),
            }
            for place in measured.order
        ],
        "failures": [{"id": name, "reason": reason} for name, reason in measured.fisher.failures],
        "data_map": m.dynamics
        and m.dynamics.to_dict([measured.fisher.ids[row] for row in measured.rows], measured.values),
        "accuracy_by_difficulty": measured.groups and measured.groups.to_dict(),
        "substitutions": m.flips and m.flips.tests.to_dict(),
    }


EIGENVALUE = Question(
    name="eigenvalue",
    order=1,
    title="How far is each prediction from changing?",
    prose=prose(__file__, MIN_ITEMS=MIN_ITEMS, TOP_K=TOP_K, REVERSED=REVERSED),
    needs=(
        Need("model", lambda context, options: context.stored is None),
        ranked.ENOUGH,
        Need("gradients", lambda context, options: not context.why_no_gradients()),
    ),
    measure=measure,
    figures=(
        *ranked.ACCURACIES,
        *(
            Figure(
                f"{end}_{key}",
                lambda m, end=end, keeps=keeps: m.flip_rate(end, keeps=keeps),  # type: ignore[misc]
                f"{DATTA}, section 4.2.1",
                better="lower" if keeps else "higher",
                n=lambda m, end=end, keeps=keeps: m.flips.n_flipped(  # type: ignore[misc]
                    end == "hardest", m.flips.kept if keeps else REVERSED
                )[1],
            )
            for end in ranked.ENDS
            for key, keeps in (("flipped", True), ("reversed", False))
        ),
        Figure("median_difficulty", lambda m: m.measured.median(m.context.resampling), DATTA, "ratio", "lower"),
    ),
    headlines=FIGURES,
    verdict=(
        # A red verdict would need a person who has read that the replacements keep the meaning.
        Rule("warn", "easy_flip", lambda m: m.is_fragile("easiest")),
        # Near its boundary any model errs and is easily moved.
        Rule("neutral", "errs", lambda m: m.errs_where_fragile),
        Rule("neutral", "hard_flip", lambda m: m.is_fragile("hardest")),
        Rule("neutral", "ranked"),
    ),
    parts=(
        Part(
            "spread",
            (
                Plot(
                    "difficulty_histogram",
                    lambda key, m: plots.difficulty_histogram(key, difficulty=m.measured.values, correct=m.correct),
                    DATTA,
                ),
                Plot(
                    "difficulty_confidence",
                    lambda key, m: plots.difficulty_scatter(
                        key, difficulty=m.measured.values, confidence=m.measured.confidence, correct=m.correct
                    ),
                    DATTA,
                ),
            ),
            figures=FIGURES,
        ),
        Part(
            "agreement",
            (
                Plot("difficulty_accuracy", ranked.draw_accuracy("eigenvalue"), DATTA, when=lambda m: m.accuracies),
                Table(
                    "difficulty_correlations",
                    ranked.CORRELATIONS,
                    ranked.correlation_rows,
                    "Spearman 1904{% if m.dynamics %}; data map: Swayamdipta et al. 2020{% endif %}",
                ),
            ),
        ),
        Part(
            "ends",
            (
                Examples("hardest_examples", lambda m: m.examples("hardest")),
                Examples("easiest_examples", lambda m: m.examples("easiest")),
            ),
        ),
    ),
    leads=(
        Lead(
            "flipped",
            figure="hardest_flipped",
            plot="difficulty_accuracy",
            size=lambda m: m.flipped("hardest")[0] / m.n_items,  # the tested items are the extremes
            pair=lambda m: tuple(each for each in m.examples("hardest") if "flips it" in each.note)[:1],
            when=lambda m: m.flipped("hardest")[1],
        ),
        Lead("right", figure="hardest_accuracy", plot="difficulty_accuracy", when=lambda m: m.accuracies),
        Lead("ranked"),
    ),
    data=data,
)
