"""The part of the report on left-out words: which answers does one word carry?"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rightreasons.audited.context import AuditContext
from rightreasons.difficulty import plots, ranked
from rightreasons.difficulty.options import LEFT_OUT_ITEMS, DifficultyOptions
from rightreasons.difficulty.ranking import MIN_ITEMS
from rightreasons.difficulty.usable_information import WordShifts, measure_word_shifts
from rightreasons.page.parts import Mark
from rightreasons.page.prose import prose
from rightreasons.page.question import Examples, Figure, Lead, Need, Part, Plot, Question, Rule, Table
from rightreasons.page.words import percent

SOURCE = "Erasure: Li, Monroe & Jurafsky 2016; its largest shift: this package"
DEFINITION = (
    "Largest change of the probabilities of the labels (total variation, 0 to 1) when one word is left out of the text."
)
FIGURES = ("flipped_by_one_word", "median_shift", "hardest_accuracy", "easiest_accuracy")


@dataclasses.dataclass(frozen=True, eq=False)
class LeftOutAnswers(ranked.RankedAnswers):
    """The items ranked by what one left-out word moves.

    Attributes:
        measured: The shifts.
    """

    measured: WordShifts

    def marks(self, place: int) -> tuple[Mark, ...]:
        """Mark the words of the text by their shifts."""
        occlusion, row = self.measured.occlusion, int(self.measured.rows[place])
        words = slice(*occlusion.offsets[row : row + 2])
        columns = (occlusion.starts[words], occlusion.ends[words], occlusion.parts[words], self.measured.shifts(place))
        return tuple(
            Mark(start, end, "weight", shift, f"without it, {percent(shift)} of the probability moves")
            for start, end, part, shift in zip(*(column.tolist() for column in columns), strict=True)
            if part == 0 and not np.isnan(shift)
        )

    def note(self, place: int) -> str:
        """Say what the word that moves most does."""
        occlusion, row, shifts = self.measured.occlusion, int(self.measured.rows[place]), self.measured.shifts(place)
        largest = int(np.nanargmax(shifts))
        word = occlusion.offsets[row] + largest
        text = self.split.texts[row] if occlusion.parts[word] == 0 else (self.split.text_pairs or [""])[row]
        left_out, after = text[occlusion.starts[word] : occlusion.ends[word]], int(occlusion.predicted_without[word])
        note = f"Without “{left_out}”, {percent(float(shifts[largest]))} of the probability moves"
        is_flip = after != self.measured.predicted[place]
        return f"{note}, and the answer is {self.context.label_name(after)}." if is_flip else f"{note}."


def measure(context: AuditContext, options: DifficultyOptions) -> LeftOutAnswers:
    """Leave words of the items of the primary split out, and rank the items."""
    items, occlusion = context.occluded(context.primary, options.items or LEFT_OUT_ITEMS)
    return LeftOutAnswers(context, items, measure_word_shifts(occlusion))


def data(m: LeftOutAnswers) -> dict[str, Any]:
    """Return what audit.json has beside the figures."""
    measured, occlusion = m.measured, m.measured.occlusion
    return {
        "left_out_words": {
            "definition": DEFINITION,
            "n_asked": len(occlusion.starts) + len(occlusion),
            "n_unanswered": occlusion.n_unanswered,
            "ranking": [
                {
                    "id": m.split.ids[int(measured.rows[place])],
                    "shift": float(measured.values[place]),
                    "mean_shift": float(measured.mean[place]),
                    "words_that_flip": int(measured.flips[place]),
                    **measured.row(place, m.context.label_name),
                }
                for place in measured.order
            ],
        }
    }


LEFT_OUT = Question(
    name="left_out_words",
    order=2,
    title="Which answers does one word carry?",
    prose=prose(__file__, MIN_ITEMS=MIN_ITEMS, DEFINITION=DEFINITION),
    needs=(Need("model", lambda context, options: context.stored is None), ranked.ENOUGH),
    measure=measure,
    figures=(
        Figure("flipped_by_one_word", lambda m: m.measured.flipped(m.context.resampling), SOURCE),
        Figure("median_shift", lambda m: m.measured.median(m.context.resampling), SOURCE),
        *ranked.ACCURACIES,
    ),
    headlines=FIGURES,
    verdict=(Rule("neutral", "ranked"),),
    parts=(
        Part(
            "shifts",
            (
                Plot(
                    "left_out_histogram",
                    lambda key, m: plots.difficulty_histogram(
                        key,
                        difficulty=m.measured.values,
                        correct=m.correct,
                        xlabel="largest shift by one left-out word",
                        log=False,
                    ),
                    SOURCE,
                ),
                Plot("left_out_accuracy", ranked.draw_accuracy("shift"), "Counted", when=lambda m: m.accuracies),
                Table("left_out_correlations", ranked.CORRELATIONS, ranked.correlation_rows, "Spearman 1904"),
                Examples("left_out_most", lambda m: m.examples("hardest")),
                Examples("left_out_least", lambda m: m.examples("easiest")),
            ),
            figures=FIGURES,
        ),
    ),
    leads=(Lead("flipped", figure="flipped_by_one_word"),),
    data=data,
)
