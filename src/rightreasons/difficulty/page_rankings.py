"""The part of the report that ranks items by the largest Fisher eigenvalue."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from rightreasons.audited.context import AuditContext, example_of
from rightreasons.audited.splits import AuditSplit, safe_name
from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.estimates import Estimate, estimate_share
from rightreasons.core.sentences import pluralize
from rightreasons.core.store import format_csv
from rightreasons.difficulty.measure import (
    KEPT,
    REVERSED,
    DifficultyMeasurement,
    ExtremeFlips,
    measure_difficulty,
    measure_flips,
)
from rightreasons.difficulty.options import DifficultyOptions
from rightreasons.difficulty.substitutions import Attempt, SubstitutionOptions
from rightreasons.io.tables import chosen_rows
from rightreasons.models.running import TOKENS_PER_ITEM, bars_about
from rightreasons.page.parts import Change, Example, Mark
from rightreasons.page.plots import Curve, Drawing, curves
from rightreasons.page.prose import Prose, decimal, percent
from rightreasons.page.question import Examples, Figure, Lead, Need, Part, Plot, Question, Rule

if TYPE_CHECKING:
    from rightreasons.models.classes import Classifier

N_EXAMPLES = 6

TOP_K = 6
"""Words of each tested item that are replaced, those of largest attribution."""

MARKED = 0.2
"""Words are marked if they move at least this share as far as the most moved one."""

ENDS = {"hardest": -1, "easiest": 0}
"""Name of each end of a ranking -> the place of its group."""

DATTA = "Datta et al. 2020, arXiv:2010.07212"
REPLACED = {"meaning kept": KEPT, "meaning reversed": REVERSED}
"""What a replacement does to the meaning, as far as its source tells -> its kinds."""


@dataclasses.dataclass(frozen=True, eq=False)
class EigenvalueAnswers:
    """The items of the primary split, ranked by their eigenvalue.

    Attributes:
        context: The audit.
        split: The items that were asked about.
        measured: The eigenvalues.
        flips: What single replaced words do; None for tasks where words are not replaced.
    """

    context: AuditContext
    split: AuditSplit
    measured: DifficultyMeasurement
    flips: ExtremeFlips | None = None

    @property
    def n_items(self) -> int:
        """The number of ranked items."""
        return len(self.measured)

    @functools.cached_property
    def accuracies(self) -> list[Estimate]:
        """The accuracy of the groups, the easiest first; [] where labels are too few."""
        return self.measured.accuracies(self.context.resampling)

    def n_in_group(self, place: int) -> int:
        """Return the size of a group."""
        return len(self.measured.groups[place]) if self.measured.groups else 0

    def examples(self, end: str) -> Iterator[Example]:
        """Show the hardest items, or the easiest."""
        for place in self.measured.order[:: 1 if end == "hardest" else -1][:N_EXAMPLES]:
            row, predicted = int(self.measured.rows[place]), int(self.measured.predicted[place])
            confidence, marks = float(self.measured.confidence[place]), self.marks(place)
            yield example_of(
                self.context, self.split, row, predicted, confidence, marks, self.note(place)
            )

    def flipped(self, end: str, *, keeps: bool = True) -> tuple[int, int]:
        """Count the items at an end that a word of like (or reverse) meaning flips, and those where one was tried."""
        if self.flips is None:
            return 0, 0
        return self.flips.n_flipped(end == "hardest", KEPT if keeps else REVERSED)

    def flip_rate(self, end: str, *, keeps: bool) -> Estimate | None:
        """Return the share of these items that such a word flips."""
        n_flipped, n_tried = self.flipped(end, keeps=keeps)
        return estimate_share(n_flipped, n_tried, self.context.resampling)

    def note(self, place: int) -> str:
        """Say how fragile an item is, and what flips it."""
        note = f"λ = {decimal(float(self.measured.values[place]))}"
        attempts = None if self.flips is None else self.flips.of_place(place)
        return note if attempts is None else f"{note}. {self._attempted(attempts)}"

    def changes(self) -> Iterator[tuple[str, Change]]:
        """Return the replacements that the model was asked about."""
        if self.flips is None:
            return
        for each in self.flips.tests.attempts:
            text = self.split.texts[int(self.measured.rows[self.flips.places[each.item]])]
            name = ", ".join(
                f"“{change.original}” → “{change.replacement}”" for change in each.changes
            )
            yield text, Change(name, each.text, self.context.label_name(each.after))

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
        row, fisher = int(self.measured.rows[place]), self.measured.fisher
        if fisher.token_norms is None:
            return ()
        words, norms = slice(*fisher.token_norms.offsets[row : row + 2]), fisher.token_norms[row]
        starts, ends = (
            np.asarray(column)[words].tolist() for column in (fisher.starts, fisher.ends)
        )
        largest, reached, marks = float(norms.max(initial=0.0)), 0, []
        for norm, start, end in zip(norms.tolist(), starts, ends, strict=True):
            if start < reached or end > len(self.split.texts[row]):
                break  # the second text of a pair begins
            reached = end
            if largest > 0 and norm >= MARKED * largest and end > start:
                marks.append(
                    Mark(start, end, "weight", norm / largest, f"moves by {decimal(norm)}")
                )
        return tuple(marks)


def draw_accuracy(key: str, m: EigenvalueAnswers) -> Drawing:
    """Draw the accuracy of groups of equal size, by rising eigenvalue."""
    accuracy = Curve("accuracy", m.accuracies)
    xlabel = f"group of rising eigenvalue ({pluralize(m.n_in_group(0), 'item')} each)"
    return curves(
        key, range(1, len(m.accuracies) + 1), [accuracy], xlabel=xlabel, ylabel="accuracy"
    )


def measure_eigenvalues(context: AuditContext, options: DifficultyOptions) -> EigenvalueAnswers:
    """Rank the items of the primary split, and replace words of the first and the last."""
    split, limit = context.primary, options.items
    if limit < len(split):
        split = split.take(np.sort(np.array(chosen_rows(split.ids, limit, seed=context.seed))))
    how = context.running(
        context.folder(f"difficulty-{safe_name(split.name)}", split.fingerprint, str(limit))
    )
    measured = measure_difficulty(
        context.scorer,
        split.texts,
        labels=split.labels,
        text_pairs=split.text_pairs,
        ids=split.ids,
        eigenvector=True,
        unit="word",
        max_tokens=TOKENS_PER_ITEM * how["batch_size"],
        **how,
    )
    if len(measured) < MIN_ITEMS:
        sentence = f"Expected the eigenvalue of at least {MIN_ITEMS} items, but it is known of {len(measured)}"
        raise ValueError(f"{sentence}: {measured.fisher.failures[0][1]}")
    flips = None
    if split.text_pairs is None:
        running = {
            "batch_size": how["batch_size"],
            "seed": context.seed,
            "progress": context.progress,
        }
        with bars_about("words replaced"):
            replacing = SubstitutionOptions(
                top_k=TOP_K, n_candidates=2, fail_fast=context.settings.fail_fast, **running
            )
            flips = measure_flips(
                cast("Classifier", context.scorer), split.texts, measured, replacing
            )
    return EigenvalueAnswers(context, split, measured, flips)


def eigenvalue_data(m: EigenvalueAnswers) -> dict[str, Any]:
    """Return what audit.json has beside the figures."""
    measured, fisher = m.measured, m.measured.fisher
    return {
        "ranking": [
            {
                "id": measured.ids[place],
                "eigenvalue": float(measured.values[place]),
                "scale_free": float(fisher.scale_free[measured.rows[place]]),
                "prediction": m.context.label_name(int(measured.predicted[place])),
                "confidence": float(min(measured.confidence[place], 1.0)),
                "label": m.context.label_name(int(measured.labels[place])),
                "words": measured.words(place),
            }
            for place in measured.order
        ],
        "failures": [{"id": name, "reason": reason} for name, reason in fisher.failures],
        "accuracy_by_difficulty": {
            "accuracies": [each.value for each in m.accuracies],
            "counts": [len(group) for group in measured.groups],
        }
        if measured.groups
        else None,
        "substitutions": m.flips and m.flips.tests.to_dict(),
    }


def ranking_file(m: EigenvalueAnswers) -> Mapping[str, str]:
    """Return the ranking for a spreadsheet."""
    rows = eigenvalue_data(m)["ranking"]
    lines = ({**row, "words": " ".join(row["words"])}.values() for row in rows)
    return {"ranking.csv": format_csv([rows[0], *lines])}


EIGENVALUE_FIGURES = (
    "hardest_accuracy",
    "easiest_accuracy",
    "hardest_flipped",
    "median_difficulty",
    "easiest_flipped",
    "hardest_reversed",
    "easiest_reversed",
)

EIGENVALUE = Question(
    name="eigenvalue",
    title="How far is each prediction from changing?",
    prose=Prose(
        Path(__file__).with_name("eigenvalue.md.j2"),
        MIN_ITEMS=MIN_ITEMS,
        TOP_K=TOP_K,
        REPLACED=REPLACED,
    ),
    needs=(
        Need("model", lambda context, options: context.stored is None),
        Need("items", lambda context, options: len(context.primary) >= MIN_ITEMS),
        Need("gradients", lambda context, options: not context.why_no_gradients()),
    ),
    measure=measure_eigenvalues,
    figures=(
        *(
            Figure(
                f"{end}_accuracy",
                lambda m, place=place: m.accuracies[place] if m.accuracies else None,  # type: ignore[misc]
                "Counted",
                better="higher",
                n=lambda m, place=place: m.n_in_group(place),  # type: ignore[misc]
            )
            for end, place in ENDS.items()
        ),
        *(
            Figure(
                f"{end}_{key}",
                lambda m, end=end, keeps=keeps: m.flip_rate(end, keeps=keeps),  # type: ignore[misc]
                f"{DATTA}, section 4.2.1",
                better="lower" if keeps else "higher",
                n=lambda m, end=end, keeps=keeps: m.flipped(end, keeps=keeps)[1],  # type: ignore[misc]
            )
            for end in ENDS
            for key, keeps in (("flipped", True), ("reversed", False))
        ),
        Figure(
            "median_difficulty",
            lambda m: m.measured.median(m.context.resampling),
            DATTA,
            "ratio",
            "lower",
        ),
    ),
    headlines=EIGENVALUE_FIGURES,
    verdict=(Rule("neutral", "ranked"),),
    parts=(
        Part("spread", figures=EIGENVALUE_FIGURES),
        Part(
            "agreement",
            (Plot("difficulty_accuracy", draw_accuracy, DATTA),),
            when=lambda m: m.accuracies,
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
            size=lambda m: None,
            pair=lambda m: tuple(each for each in m.examples("hardest") if "flips it" in each.note)[
                :1
            ],
            contrast=lambda m: [m.flip_rate(end, keeps=True) for end in ENDS],
            when=lambda m: m.flipped("hardest")[1],
        ),
        Lead(
            "right",
            figure="hardest_accuracy",
            plot="difficulty_accuracy",
            size=lambda m: None,
            contrast=lambda m: [m.accuracies[place] for place in ENDS.values()],
            when=lambda m: m.accuracies,
        ),
        Lead("ranked", size=lambda m: None),
    ),
    data=eigenvalue_data,
    files=ranking_file,
    changes=lambda m: m.changes(),
)
