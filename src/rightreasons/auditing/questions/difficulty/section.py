"""Which examples is it fragile on?

The section has four measures: the eigenvalue, which needs gradients; left-out words, which any model can be asked;
usable information, of prompted models; and contrast sets, which need data that has them.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.questions.difficulty import contrast_sets, eigenvalue, information, left_out
from rightreasons.measuring.options import MEASURES, DifficultyOptions

if TYPE_CHECKING:
    from rightreasons.measuring.contrast_sets import ContrastItems

TONES = ("bad", "warn", "good", "neutral")
"""Tones of a verdict, the one that leads first."""

RANKING = "ranking.csv"
"""The file of a report with the items, the hardest first."""


class Difficulty:
    """How fragile each prediction is, in which words, and what flips the most fragile ones."""

    question = "difficulty"
    title = "Which examples is it fragile on?"
    order = 5
    needs_labels = False
    without_model = ""  # contrast sets need none
    reads: p.Reads = "audited"

    def applies(self, context: AuditContext, options: DifficultyOptions) -> p.Applicability:
        """Ask for contrast sets, or for some items and a model that can be asked or whose embeddings can be moved."""
        if _measures(context, options):
            return p.APPLIES
        if not options.measures or "eigenvalue" in options.measures:
            return eigenvalue.applies(context)
        if "left_out_words" in options.measures:
            return left_out.applies(context)
        if "information" in options.measures:
            return p.applies_not("Usable information is about a prompted language model whose answers are scored.")
        return p.applies_not(
            f"“{context.primary.name}” has no contrast sets: name the column of the sets with `--groups-column`."
        )

    def run(self, context: AuditContext, options: DifficultyOptions) -> p.SectionResult:
        """Answer the question."""
        measures = _measures(context, options)
        results = []
        if "eigenvalue" in measures:
            results.append(eigenvalue.result(context, options))
        if "left_out_words" in measures:
            results.append(left_out.result(context, options.items))
        if "information" in measures:
            results.append(information.result(context))
        sets = _contrast_items(context, options) if "contrast" in measures else None
        if sets is not None:
            measured = contrast_sets.measured_splits(context, sets, options.original_column)
            results.append(contrast_sets.result(context, sets, measured))
        if not results:  # items without an answer were left out since it was asked whether the question applies
            raise ValueError(self.applies(context, options).reason)
        return _with_ranking(_joined(results))


SECTION = Difficulty()


def _measures(context: AuditContext, options: DifficultyOptions) -> set[str]:
    """Return the measures that are asked for and apply."""
    wanted = set(options.measures or MEASURES)
    by_gradients = "eigenvalue" in wanted and bool(eigenvalue.applies(context))
    # Words are left out where there are no gradients, or where it is asked for.
    by_words = "left_out_words" in wanted and bool(left_out.applies(context))
    by_words &= "left_out_words" in options.measures or not by_gradients
    applies = {
        "eigenvalue": by_gradients,
        "left_out_words": by_words,
        "information": "information" in wanted and information.applies(context),
        "contrast": "contrast" in wanted and _contrast_items(context, options) is not None,
    }
    return {name for name, able in applies.items() if able}


def _contrast_items(context: AuditContext, options: DifficultyOptions) -> ContrastItems | None:
    if context.task == "confidence" and not context.answers_once:  # a sure answer may be the less likely one
        return None
    return contrast_sets.contrast_items(context.primary, options.original_column)


def _with_ranking(result: p.SectionResult) -> p.SectionResult:
    """Add the ranking of the question, that of its first measure with one, and its file for a spreadsheet."""
    rows = result.data.get("ranking") or result.data.get("left_out_words", {}).get("ranking")
    if not rows:
        return result
    return dataclasses.replace(result, data={**result.data, "ranking": rows}, files={RANKING: _csv(rows)})


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows({**row, "words": " ".join(row["words"])} for row in rows)
    return stream.getvalue()


def _joined(results: Sequence[p.SectionResult]) -> p.SectionResult:
    """Join what the measures say; the worst verdict leads, and two figures of the first with one of each other."""
    if len(results) == 1:
        return results[0]
    ordered = sorted(results, key=lambda each: TONES.index(each.verdict.tone))
    return p.SectionResult(
        verdict=dataclasses.replace(
            ordered[0].verdict, summary=" ".join(filter(None, (each.verdict.summary for each in ordered)))
        ),
        headlines=(
            *results[0].headlines[:2],
            *(headline for each in results[1:] for headline in _main_headlines(each)[: 2 if len(results) == 2 else 1]),
        )[:4],
        parts=tuple(part for each in results for part in each.parts),
        limits=tuple(dict.fromkeys(limit for each in results for limit in each.limits)),
        data={key: value for each in results for key, value in each.data.items()},
        finding=ordered[0].finding,
        files={name: content for each in results for name, content in each.files.items()},
        by_item=tuple(figure for each in results for figure in each.by_item),
    )


def _main_headlines(result: p.SectionResult) -> tuple[p.Headline, ...]:
    """Return the headlines of a further measure; of contrast sets the consistency and the accuracy of revisions."""
    return result.headlines[2:0:-1] if "contrast_sets" in result.data else result.headlines
