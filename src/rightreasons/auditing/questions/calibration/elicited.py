"""Where a language model's confidence comes from: sources of it that the model is asked for, on the same answers."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.words import level_percent, percent, written
from rightreasons.auditing.predictions import safe_name
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.calibration import FIGURES
from rightreasons.measuring.options import CalibrationOptions

if TYPE_CHECKING:
    from rightreasons.measuring.confidence.elicitors import Elicited
    from rightreasons.measuring.confidence.sources import ConfidenceMeasurement

MIN_CONFIDENT = 10
"""A source that gives fewer answers a confidence than this is named, and compared with none."""

SOURCE = "Kadavath et al. 2022; Tian et al. 2023; Wang et al. 2023"
NAMES = {
    "probability": "Probability of the answer",
    "p_true": "P(True)",
    "verbalized": "Verbalized",
    "samples": "Agreement of drawn answers",
}
ASKED = {
    "p_true": "the probability of (A) where it is asked whether its answer is (A) true or (B) false",
    "verbalized": "the number that it says",
    "samples": "the share of several answers, drawn at random, that agree with it",
}
COLUMNS = ("mean_confidence", "ece", "brier_of_answers", "auroc", "aurc")


@dataclasses.dataclass(frozen=True, eq=False)
class ElicitedItems:
    """What the model said of its confidence, and the comparison of the sources.

    Attributes:
        elicited: What was asked and said.
        measured: The sources with enough confidences, compared; None where there is none.
        rare: Source -> how many answers have a confidence, of those that have too few.
        lacking: Source -> why the model cannot be asked for it.
        n_items: How many items were asked about.
    """

    elicited: Elicited
    measured: ConfidenceMeasurement | None
    rare: dict[str, int]
    lacking: dict[str, str]
    n_items: int


def elicited_items(context: AuditContext, options: CalibrationOptions) -> ElicitedItems | None:
    """Ask the model for the sources of confidence that the options name; None where they name none.

    Raises:
        ValueError: If the model is no prompted language model, or cannot be asked for any source.
    """
    if not options.elicit:
        return None
    if context.prompted is None:
        raise ValueError(f"Expected a language model to ask how sure it is, but {context.model_name} is none.")
    from rightreasons.measuring.confidence.elicitors import elicit_confidence, lacking_sources
    from rightreasons.measuring.confidence.options import ElicitOptions
    from rightreasons.measuring.confidence.sources import measure_confidence

    split = context.primary
    items = split.take(np.flatnonzero(split.labeled))
    columns = {"prompt": items.texts, "choices": items.choices} if items.choices is not None else {"text": items.texts}
    if items.text_pairs is not None:
        columns["text_pair"] = items.text_pairs
    first = () if context.prompted.answers_once else ("probability",)
    sources = (*first, *(name for name in dict.fromkeys(options.elicit) if name not in first))
    asked = ElicitOptions(sources, seed=context.seed)
    lacking = lacking_sources(context.prompted, asked)
    if len(lacking) == len(sources):
        raise ValueError(" ".join(lacking.values()))
    elicited = elicit_confidence(
        context.prompted,
        {"id": items.ids, "label": items.labels.tolist(), **columns},
        options=dataclasses.replace(asked, sources=tuple(name for name in sources if name not in lacking)),
        progress=context.progress,
        out=context.folder(f"confidence-{safe_name(split.name)}", split.fingerprint, str(context.seed)),
    )
    table = elicited.table
    counts = {
        name: int((np.isfinite(values) & (table.correct[name] >= 0)).sum()) for name, values in table.confidence.items()
    }
    known = [name for name, count in counts.items() if count >= MIN_CONFIDENT]
    enough = dataclasses.replace(
        table,
        confidence={name: table.confidence[name] for name in known},
        correct={name: table.correct[name] for name in known},
    )
    return ElicitedItems(
        elicited=elicited,
        measured=measure_confidence(enough, options=options, resampling=context.resampling) if known else None,
        rare={name: count for name, count in counts.items() if name not in known},
        lacking=lacking,
        n_items=len(items),
    )


def elicited_part(context: AuditContext, items: ElicitedItems) -> p.Part:
    """Show the sources side by side."""
    measured, level = items.measured, level_percent(context.resampling.level)
    asked = [f"{NAMES[name]} is {ASKED[name]}." for name in items.elicited.table.confidence if name in ASKED]
    text = (
        "A language model has several confidences in one answer, which differ by more than most calibration figures "
        f"are apart. All are about the same answers. {' '.join(asked)} The questions are quoted below."
    )
    for name, reason in items.lacking.items():
        text += f"\n\n{NAMES[name]}: {reason}"
    for name, count in items.rare.items():
        text += (
            f"\n\n{NAMES[name]}: it can be read in {count:,} of {counted(items.n_items, 'answer')}, which is too few."
        )
    tables: tuple[p.Table, ...] = ()
    if measured is not None:
        shared = counted(measured.n_shared, "item")
        text += f"\n\nThe figures are about {shared} with a confidence from each source below."
        tables = (
            p.Table(
                key="confidence_sources",
                title="Sources of confidence",
                columns=(
                    p.Column("source", "Source", "text"),
                    p.Column("confident", f"Answers with it [{level}]", "share", "Share that have this confidence."),
                    *(_column(key, measured.n_bins, level) for key in COLUMNS),
                ),
                rows=tuple(
                    (NAMES[one.name], one.confident, *(one.figures.get(key) for key in COLUMNS))
                    for one in measured.sources
                ),
                note="The command “confidence” prints paired tests of each two; they are in audit.json too.",
                source=SOURCE,
            ),
        )
    return p.Part(title="Where its confidence comes from", text=text, tables=tables, examples=_asked(context, items))


def _asked(context: AuditContext, items: ElicitedItems) -> tuple[p.ExampleList, ...]:
    """Quote what was asked about the first item that has an answer."""
    elicited, names = items.elicited, [name for name in items.elicited.prompts if name != "probability"]
    answered = np.flatnonzero(elicited.answers >= 0)
    if not names or not len(answered):
        return ()
    place = int(answered[0])
    examples = []
    for name in names:
        confidence = elicited.table.confidence[name][place] if name in elicited.table.confidence else np.nan
        examples.append(
            p.Example(
                id=elicited.table.items[place],
                text=elicited.prompts[name],
                label="",
                prediction=context.label_name(int(elicited.answers[place])),
                confidence=float(confidence) if np.isfinite(confidence) else None,
                note=NAMES[name],
            )
        )
    note = "Verbatim, with its answer, and with the confidence in it, where one can be read."
    return (p.ExampleList("confidence_prompts", "What was asked about one item", note, tuple(examples)),)


def result(context: AuditContext, items: ElicitedItems) -> p.SectionResult:
    """Answer the question for generated answers, whose confidence is that of the sources alone."""
    measured, split = items.measured, context.primary.name
    part = elicited_part(context, items)
    if measured is None:
        rates = ", ".join(f"{NAMES[name]} for {count:,} of {items.n_items:,}" for name, count in items.rare.items())
        return p.SectionResult(
            verdict=p.Verdict("neutral", "Cannot tell", f"Too few answers have a confidence: {rates}."),
            headlines=(),
            parts=(part,),
            data={"sources": None, "rare": items.rare},
        )
    first = measured.sources[0]
    keys = ("accuracy", "mean_confidence", "confidence_gap")
    headlines = tuple(
        p.Headline.of(key, FIGURES[key], first.figures[key], split=split, n=measured.n_shared)
        for key in keys
        if key in first.figures
    )
    accuracy, confidence = (first.figures[key] for key in keys[:2])
    return p.SectionResult(
        verdict=p.Verdict(
            "neutral",
            "Asked for its confidence",
            f"{NAMES[first.name]}: {written(confidence)} on average, where {written(accuracy)} of the answers are "
            f"right. Of all answers {percent((first.confident and first.confident.value) or 0.0)} have a confidence.",
        ),
        headlines=headlines,
        parts=(part,),
        limits=("The confidence is what the model was asked for, of the answers that have one.",),
        data=data(items),
    )


def data(items: ElicitedItems) -> dict[str, object]:
    """Return the comparison as plain values."""
    return {"sources": None if items.measured is None else items.measured.to_dict(), "rare": items.rare}


def _column(key: str, n_bins: int, level: str) -> p.Column:
    text = FIGURES[key].defined(n_bins, "confidence")
    return p.Column(key, f"{text.name} [{level}]", "share" if text.unit == "fraction" else "number", text.definition)
