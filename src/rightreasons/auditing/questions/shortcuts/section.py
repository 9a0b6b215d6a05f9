"""Does it decide by shortcuts?"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis.shortcuts.detection import DetectionQuality
from rightreasons.analysis.shortcuts.groups import WorstGroup
from rightreasons.analysis.shortcuts.lmi import LmiResult
from rightreasons.auditing.context import AuditContext, AuditSplit
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.plots import bounds, column
from rightreasons.auditing.page.plots_curves import Curve, curves
from rightreasons.auditing.page.words import first_of, level_percent, p_equals, percent
from rightreasons.auditing.predictions import safe_name
from rightreasons.auditing.questions.shortcuts import causal, plots
from rightreasons.auditing.questions.shortcuts.finding import finding
from rightreasons.foundations.bounds import read_json
from rightreasons.foundations.resampling import Resampling
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.causal_shortcuts import CausalMeasurement, cue_groups, measure_causal_shortcuts, named_cues
from rightreasons.measuring.estimates import Estimate, estimate_of
from rightreasons.measuring.options import ShortcutsOptions
from rightreasons.measuring.protocols import Protocol
from rightreasons.measuring.shortcuts import (
    N_CUES,
    Cue,
    ShortcutMeasurement,
    ShortcutRecord,
    WithheldError,
    measure_shortcuts,
    suspected_words,
    training_heads,
)
from rightreasons.models.running.bars import bars_about

if TYPE_CHECKING:
    from rightreasons.models.loading import Classifier
    from rightreasons.models.protocol import Scorer

MAX_ITEMS, COMPARED_ITEMS = 300, 150
"""Attributed items of the primary split and of each other one; the option `items` changes both."""

MIN_ITEMS = 20
N_EXAMPLES = 5

PARADOX = "Bihani & Rayz 2025"
RECORDS = "shortcuts.json"
"""What `ShortcutCallback(out=...)` writes; the audit finds it in the folder of the model."""


@dataclasses.dataclass(frozen=True, eq=False)
class SplitShortcuts:
    """What was measured on some items of a split.

    Attributes:
        split: The items.
        n_labeled: How many labeled items the split has.
        measured: Their shortcuts.
    """

    split: AuditSplit
    n_labeled: int
    measured: ShortcutMeasurement


class Shortcuts:
    """Which predictions rest on words that the training data gives the label away by, of what kind, how surely."""

    question = "shortcuts"
    title = "Does it decide by shortcuts?"
    order = 2
    needs_labels = True
    without_model = "Attributions take gradients of the model, which stored predictions do not have."
    reads: p.Reads = "primary"

    def applies(self, context: AuditContext, options: ShortcutsOptions) -> p.Applicability:
        """Ask for a classifier, its training data with all labels, and some labeled items."""
        if context.task != "classification":
            return p.applies_not("Only classifiers of texts are asked about shortcuts in their words.")
        if int(context.primary.labeled.sum()) < MIN_ITEMS:
            return p.applies_not(f"It needs at least {MIN_ITEMS} items with a label.")
        if context.train is None or "label" not in context.train.column_names:
            return p.applies_not("There is no training split to find shortcuts in.")
        known = set(_train_labels(context).tolist())
        absent = [name for k, name in enumerate(context.label_names or ()) if k not in known]
        if absent:
            return p.applies_not(f"The training split has no text of the class {absent[0]!r}.")
        reason = context.why_no_gradients()
        if reason and options.needs_gradients():
            return p.applies_not(reason)
        if not reason and options.importance != "occlusion":
            return p.APPLIES
        prompted = context.prompted
        if prompted is not None and prompted.rendering.scoring == "generated":
            return p.applies_not(
                "A generated answer has no score that could fall by a word: `--scoring next_words` asks for the first "
                "token of each label alone."
            )
        return p.APPLIES

    def run(self, context: AuditContext, options: ShortcutsOptions) -> p.SectionResult:
        """Answer the question."""
        heads = _heads(context, options)
        suspected_words(heads, options.words)  # refused before the attributions, which take long
        asked = [split for split in context.splits if split.labeled.sum() >= MIN_ITEMS]
        try:
            splits = [_measure(context, options, asked[0], heads)]
        except WithheldError as error:
            return _withheld(context, options, str(error))
        withheld = []
        for split in asked[1:]:
            try:
                splits.append(_measure(context, options, split, heads))
            except WithheldError as error:
                withheld.append(f"Nothing is said of “{split.name}”: {error}")
        first, measured, planted = splits[0], splits[0].measured, splits[0].split.planted
        headlines = _headlines(first, context.resampling)
        protocol = measured.protocol
        named = named_cues(measured.cues(heads, N_CUES, planted))
        suspected = measured.suspected_cues(heads, options.words, planted, without=named)
        cues = [*named, *suspected]
        # A piece of a word cannot be taken out of a text.
        tested = _tested(context, options, first, heads, cues) if protocol.unit == "word" else None
        figures = None if tested is None else tested.shortcuts
        groups = _cue_groups(context, cues if tested is not None else [])
        quality = measured.detection(planted, context.resampling)
        records = _records(context)
        verdict = causal.verdict(context, measured, cues, tested, groups)
        decided = [] if tested is None else [causal.part(context, first.split, measured, cues, tested, groups)]
        shown = [example for part in decided for each in part.examples for example in each.examples]
        return p.SectionResult(
            verdict=verdict,
            headlines=(
                *filter(None, [None if tested is None else causal.headline(tested, first.split)]),
                *(headlines[key] for key in ("shortcut_rate", "shortcut_excess", "shortcut_tradeoff")),
            ),
            parts=(
                *decided,
                _overview(splits, headlines, level_percent(context.confidence_level)),
                _by_confidence(measured, context.resampling),
                _cue_part(context, measured, named, suspected, quality),
                *([_training_part(records)] if records else []),
                _example_part(context, first),
            ),
            limits=(*withheld, *_limits(first, tested)),
            finding=finding(context, verdict, measured, cues, tested, shown),
            by_item=_by_item(first, tested),
            data={
                "splits": {
                    row.split.name: row.measured.record(
                        causal=tested.shortcuts if tested is not None and row is first else None
                    ).to_dict()
                    for row in splits
                },
                "null": {name: null.to_dict() for name, null in measured.reliance.null.items()},
                "bins": [row.to_dict() for row in measured.reliance.bins],
                "cues": [cue.to_dict() for cue in named],
                "suspected": [cue.to_dict() for cue in suspected],
                "causal": None if figures is None else figures.to_dict(),
                "groups": groups.to_dict(),
                "detection": None if quality is None else quality.to_dict(),
                "over_training": [record.to_dict() for record in records],
                "attribution": measured.attributions.definition,
                "protocol": protocol.to_dict(),
                "overridden": protocol.overridden(),
            },
        )


SECTION = Shortcuts()


def _protocol(context: AuditContext, options: ShortcutsOptions) -> Protocol:
    """Return the settings; where a model has no gradients, and none are asked for, words are left out."""
    settings = options.settings()
    if settings.importance == "gradients" and not options.needs_gradients() and context.why_no_gradients():
        return dataclasses.replace(options, importance="occlusion").settings()
    return settings


def _asked_of(context: AuditContext, options: ShortcutsOptions) -> Classifier | Scorer:
    """Return what is asked: where words are left out, the model as it is."""
    by_occlusion = _protocol(context, options).importance == "occlusion"
    return cast("Scorer", context.scorer) if by_occlusion else context.classifier


def _by_item(first: SplitShortcuts, tested: CausalMeasurement | None) -> tuple[p.ItemFigure, ...]:
    """Return which predictions are cued, and how often those with a named cue change without it, over all removals."""
    ids, measured = first.split.ids, first.measured
    figures = [p.ItemFigure.of("shortcut_rate", "Shortcut rate", "lower", ids, measured.cued)]
    if tested is not None and tested.items:
        rows = [item.row for item in tested.items]
        before = measured.probabilities[rows].argmax(axis=1)
        changed = np.mean([table.argmax(axis=1) != before for table in tested.without_cue.values()], axis=0)
        name = "Causal shortcut rate"
        figures.append(p.ItemFigure.of("causal_shortcut_rate", name, "lower", [ids[row] for row in rows], changed))
    return tuple(figures)


def _train_labels(context: AuditContext) -> NDArray[np.int64]:
    """The labels of the training split in the model's numbering, -1 for none."""
    train, class_of = context.train, context.primary.class_of
    if train is None or class_of is None:
        return np.empty(0, np.int64)
    return class_of[np.array(train["label"][:], dtype=np.int64)]


def _heads(context: AuditContext, options: ShortcutsOptions) -> LmiResult:
    train = context.train
    if train is None:
        raise ValueError("Expected a training split, but there is none.")
    pairs = train["text_pair"][:] if "text_pair" in train.column_names else None
    return training_heads(
        train["text"][:],
        _train_labels(context),
        text_pairs=pairs,
        protocol=(settings := _protocol(context, options)),
        classifier=context.classifier if settings.unit != "word" else None,
    )


def _measure(context: AuditContext, options: ShortcutsOptions, split: AuditSplit, heads: LmiResult) -> SplitShortcuts:
    from rightreasons.data.opening.splits import chosen_rows

    labeled = np.flatnonzero(split.labeled)
    limit = _limit(context, options, split)
    if _protocol(context, options).importance == "occlusion":
        items, occlusion = context.occluded(split, limit)
    else:
        # Of splits that hold forms of the same items, the same items are measured.
        names = split.pair_ids or list(split.ids)
        items = split.take(labeled[chosen_rows([names[row] for row in labeled], limit, seed=context.seed)])
        occlusion = None
    with bars_about(split.name):
        measured = measure_shortcuts(
            _asked_of(context, options),
            items.texts,
            items.labels,
            heads,
            text_pairs=items.text_pairs,
            ids=items.ids,
            resampling=context.resampling,
            protocol=_protocol(context, options),
            occlusion=occlusion,
            progress=context.progress,
            out=context.folder(f"shortcuts-{safe_name(split.name)}", *_depends(context, options, split)),
            fail_fast=context.fail_fast,
        )
    return SplitShortcuts(items.take(measured.rows), len(labeled), measured)


def _limit(context: AuditContext, options: ShortcutsOptions, split: AuditSplit) -> int:
    limit = options.items or (MAX_ITEMS if split is context.primary else COMPARED_ITEMS)
    if options.items is None and _protocol(context, options).importance == "occlusion":
        limit //= 3
    return min(limit, int(split.labeled.sum()))


def _depends(context: AuditContext, options: ShortcutsOptions, split: AuditSplit) -> tuple[str, ...]:
    """Return what the attributions of a split depend on, beside the model."""
    protocol = json.dumps(_protocol(context, options).to_dict(), sort_keys=True)
    return split.fingerprint, str(_limit(context, options, split)), str(context.seed), protocol


def _tested(
    context: AuditContext, options: ShortcutsOptions, items: SplitShortcuts, heads: LmiResult, cues: list[Cue]
) -> CausalMeasurement:
    from rightreasons.models.running.fingerprint import fingerprint_texts

    split = items.split
    # Control words and replacements are drawn from the words of the training data by their frequency.
    vocabulary = [json.dumps([heads.frequencies(), heads.heads])]
    with bars_about(split.name, "without cues"):
        return measure_causal_shortcuts(
            _asked_of(context, options),
            split.texts,
            items.measured,
            heads,
            cues,
            text_pairs=split.text_pairs,
            resampling=context.resampling,
            progress=context.progress,
            out=context.folder(
                f"shortcuts-causal-{safe_name(split.name)}",
                # The fingerprint of a split stays when some of its rows are taken.
                *_depends(context, options, context.split(split.name)),
                fingerprint_texts(vocabulary),
                json.dumps([[cue.label, cue.token] for cue in cues]),
            ),
            fail_fast=context.fail_fast,
        )


def _cue_groups(context: AuditContext, cues: list[Cue]) -> WorstGroup:
    """Compare all labeled items of the primary split, whose predictions are there already."""
    rows = np.flatnonzero(context.primary.labeled)
    split = context.primary.take(rows)
    predicted = np.asarray(context.scores().logits).argmax(axis=1)[rows]
    return cue_groups(
        split.texts,
        predicted,
        split.labels,
        cues,
        text_pairs=split.text_pairs,
        cue_labels=split.cue_labels,
        resampling=context.resampling,
    )


def _records(context: AuditContext) -> list[ShortcutRecord]:
    """What a callback has recorded over training, if that is in the folder of the model."""
    file = Path(context.scorer.name) / RECORDS
    if not file.is_file():
        return []
    return [ShortcutRecord.of(row) for row in read_json(file)]


def _withheld(context: AuditContext, options: ShortcutsOptions, reason: str) -> p.SectionResult:
    """Say that too few attributions are valid for any figure."""
    protocol = _protocol(context, options)
    headlines = tuple(
        p.Headline.of(
            key,
            p.FigureText(name, "Withheld, because the attributions of too few items are valid.", PARADOX),
            Estimate(None),
            split=context.primary.name,
            no_interval="withheld",
        )
        for key, name in (("shortcut_rate", "Shortcut rate"), ("shortcut_excess", "Beyond blind picks"))
    )
    return p.SectionResult(
        verdict=p.Verdict("neutral", "Cannot tell", reason),
        headlines=headlines,
        parts=(
            p.Part(
                title="What its predictions rest on is unknown",
                text=f"{reason}\n\nThe attributions of a text must add up to the change of the score from the baseline "
                "to the text. Where they do not, their order means nothing. Another baseline (`--baseline pad` or "
                "`mean`), more `--steps`, or the model in float32 may help.",
            ),
        ),
        limits=("Nothing follows about shortcuts, in either direction.",),
        data={"withheld": reason, "protocol": protocol.to_dict(), "overridden": protocol.overridden()},
    )


# --------------------------------------------------------------------------------------------------------------- parts


def _tokens(protocol: Protocol) -> str:
    return "words" if protocol.unit == "word" else "word pieces"


def _told(protocol: Protocol) -> str:
    """Name the protocol where it is not this package's."""
    overridden = ", ".join(f"{name} {value}" for name, value in protocol.overridden().items())
    if protocol.name == "rightreasons":
        return ""
    return f"Protocol {protocol.name}{f', but {overridden}' if overridden else ''}. "


def _headlines(items: SplitShortcuts, resampling: Resampling) -> dict[str, p.Headline]:
    reliance, tradeoff, protocol = items.measured.reliance, items.measured.tradeoff, items.measured.protocol
    words = f"{protocol.top_n} {_tokens(protocol)}" if protocol.top_n > 1 else _tokens(protocol)
    size = f"top {100 * protocol.head_fraction:g}%"
    null, types = reliance.null["frequency"], items.measured.types(resampling)
    figures = {
        "shortcut_rate": (
            estimate_of(reliance.shortcut_reliance, reliance.interval),
            p.FigureText(
                "Shortcut rate",
                f"Share of predictions where one of the {words} of largest attribution is in the head "
                f"({size} by LMI in the training data) of the {protocol.label} label.",
                f"{PARADOX}; Du et al. 2021",
            ),
        ),
        "shortcut_excess": (
            estimate_of(null.excess, null.interval),
            p.FigureText(
                "Beyond blind picks",
                f"Shortcut rate minus what {words} of like frequency, picked blindly from the same text, give "
                f"({percent(null.rate)}).",
                f"{PARADOX}; null model of this package",
                better="lower",
            ),
        ),
        "lexicon_cued": (
            types["lexicon_cued"],
            p.FigureText(
                "Lexicon-cued",
                "Share of predictions with at least one shortcut that is a word of the lexicon.",
                PARADOX,
            ),
        ),
        "grammar_cued": (
            types["grammar_cued"],
            p.FigureText(
                "Grammar-cued",
                "Share of predictions whose shortcuts are function words and punctuation alone.",
                PARADOX,
            ),
        ),
        "shortcut_tradeoff": (
            estimate_of(tradeoff.shortcut_tradeoff, tradeoff.interval),
            p.FigureText("F1 per shortcut", "Macro F1 over shortcut rate.", PARADOX, "ratio"),
        ),
    }
    why_none = "" if tradeoff.interval else "Too few predictions are shortcut-cued."
    return {
        key: p.Headline.of(
            key,
            text,
            estimate,
            split=items.split.name,
            n=reliance.n_items,
            no_interval=why_none if key == "shortcut_tradeoff" else "",
        )
        for key, (estimate, text) in figures.items()
    }


def _overview(splits: list[SplitShortcuts], headlines: dict[str, p.Headline], level: str) -> p.Part:
    reliance = splits[0].measured.reliance
    null = reliance.null["frequency"]
    text = _told(splits[0].measured.protocol) + (
        "A prediction is shortcut-cued when it rests on a word that gives its label away in the training data. "
        f"Of {counted(reliance.n_items, 'prediction')} on “{splits[0].split.name}”, "
        f"{counted(reliance.n_cued, 'is', 'are')}: a rate of {percent(reliance.shortcut_reliance)}, where blind picks "
        f"of words of like frequency give {percent(null.rate)} (p {p_equals(null.p_value)} for no difference). "
        f"{splits[0].measured.left_out}\n\n"
        "The words that point at a label are often the words that mean it. A shortcut rate alone says that a model "
        "uses single words; whether those words have anything to do with the meaning is for the list of cues below "
        "to show, and what happens without them, for the splits."
    )
    bars = [
        plots.TypeBar(
            row.split.name, one.lexicon_cued, one.grammar_cued, one.interval.low, one.interval.high,
            one.null["frequency"].rate,
        )
        for row in splits
        for one in [row.measured.reliance]
    ]  # fmt: skip
    words = "; ".join(
        f"{bar.name}: lexicon-cued {percent(bar.lexicon)}, grammar-cued {percent(bar.grammar)}, "
        f"blind picks {percent(bar.null)}"
        for bar in bars
    )
    table = p.Table(
        key="shortcuts_by_outcome",
        title="Among right and among wrong predictions",
        columns=(
            p.Column("outcome", "Predictions that are", "text"),
            p.Column("n", "Predictions", "count"),
            p.Column("rate", f"Shortcut rate [{level}]", "share", "Share of these that is shortcut-cued."),
            p.Column("joint", "Of all", "share", "Share of all predictions with this outcome and a shortcut."),
        ),
        rows=tuple(
            (
                name,
                outcome.n_items,
                estimate_of(outcome.rate, outcome.interval),
                outcome.joint,
            )
            for name, outcome in (("right", reliance.correct), ("wrong", reliance.wrong))
            if outcome is not None and outcome.interval is not None
        ),
        source=PARADOX,
    )
    return p.Part(
        title="How many predictions are shortcut-cued, and by what",
        text=text,
        headlines=tuple(headlines[key] for key in ("shortcut_rate", "shortcut_excess", "lexicon_cued", "grammar_cued")),
        plots=(
            plots.type_bars("shortcut_types", rows=bars).plot(
                title="Types of shortcuts",
                caption="Lexicon-cued: a word of the lexicon is among the shortcuts. Grammar-cued: function words and "
                f"punctuation alone. The whisker is the {level} Wilson interval of the two together; the dashed line, "
                "what blind picks of words of like frequency give.",
                alt=f"{words}.",
                source=f"{PARADOX}, figure 1",
            ),
        ),
        tables=(table,),
    )


def _by_confidence(measured: ShortcutMeasurement, resampling: Resampling) -> p.Part:
    reliance, rows = measured.reliance, measured.reliance.bins
    low, high = bounds(measured.bin_accuracies(resampling))
    drawing = plots.shortcut_bins(
        "shortcuts_by_confidence",
        edges=column([*(row.lower for row in rows), rows[-1].upper]),
        counts=column([row.n_items for row in rows]).astype(int),
        confidence=column([row.confidence for row in rows]),
        accuracy=column([row.accuracy for row in rows]),
        accuracy_low=low,
        accuracy_high=high,
        lexicon=column([row.lexicon for row in rows]),
        grammar=column([row.grammar for row in rows]),
        null=reliance.null["frequency"].rate,
    )
    words = "; ".join(
        f"confidence {percent(row.confidence or 0.0)}: {counted(row.n_items, 'prediction')}, accuracy "
        f"{percent(row.accuracy or 0.0)}, lexicon-cued {percent(row.lexicon or 0.0)}, grammar-cued "
        f"{percent(row.grammar or 0.0)}"
        for row in rows
        if row.n_items
    )
    numbers = plots.shortcut_numbers(
        "shortcut_numbers",
        edges=column([*(row.lower for row in rows), rows[-1].upper]),
        counts=column([row.n_items for row in rows]).astype(int),
        shares=[row.counts for row in rows],
    )
    numbers_in_words = "; ".join(
        f"confidence {percent(row.confidence or 0.0)}: {counted(row.n_items, 'prediction')}, "
        + ", ".join(f"{percent(part)} with {name}" for part, name in zip(row.counts, plots.NUMBERS, strict=True))
        for row in rows
        if row.counts is not None
    )
    return p.Part(
        title="Is it sure where it leans on shortcuts?",
        text="Calibration compares confidence with accuracy and asks for no reasons: a bin may be well calibrated and "
        f"shortcut-cued throughout. In {measured.protocol.n_bins} bins of confidence, the calibration error of these "
        f"{counted(reliance.n_items, 'item')} is {percent(measured.calibration.ece)}.",
        plots=(
            drawing.plot(
                title="Reliability, and the share of shortcuts by confidence",
                caption=f"Above: accuracy of each bin of confidence with its {level_percent(resampling.level)} Wilson "
                "interval. Below: the share of its predictions that is lexicon-cued, grammar-cued and neither; the "
                "dashed line is what blind picks give over all items; at the top the predictions of each bin.",
                alt=f"{words}.",
                source=f"{PARADOX}, figure 3",
            ),
            numbers.plot(
                title="Numbers of shortcuts by confidence",
                caption="The share of each bin of confidence whose predictions have 0, 1, 2, and 3 or more shortcuts "
                f"among their {measured.protocol.top_n} {_tokens(measured.protocol)} of largest attribution, stacked; "
                "at the top the predictions of each bin.",
                alt=f"{numbers_in_words}.",
                source=f"{PARADOX}, figure 3, as its released notebook draws it",
            ),
        ),
    )


def _cue_part(
    context: AuditContext,
    measured: ShortcutMeasurement,
    named: list[Cue],
    suspected: list[Cue],
    quality: DetectionQuality | None,
) -> p.Part:
    text = (
        "For each label, the words that cue most of its predictions beyond what blind picks would. Judge by reading: "
        "“terrible” in a bad review is a reason, the name of a place is not."
    )
    if quality is not None and quality.precision is not None and quality.recall is not None:
        text += (
            f"\n\nThis data says which words are planted: {percent(quality.precision)} of "
            f"{counted(quality.n_found, 'shortcut')} found are, and {percent(quality.recall)} of "
            f"{counted(quality.n_planted, 'planted word')} are found. The others are words of the texts themselves."
        )
    columns = (
        p.Column("label", "Predicted", "text"),
        p.Column("cue", "Cue", "text"),
        p.Column("found", "Predictions cued", "count"),
        p.Column(
            "expected",
            "By blind picks",
            "number",
            f"Expected if {measured.protocol.top_n} {_tokens(measured.protocol)} were picked blindly.",
        ),
        p.Column("texts", "Texts with it", "count", "Texts with this prediction that contain the word."),
        p.Column("p_label", "p(label | word)", "share", "In the training data."),
        p.Column("lmi", "LMI", "number", "Local mutual information with the label in the training data."),
        p.Column("planted", "Planted", "text"),
    )
    rows: list[tuple[p.Cell, ...]] = [
        (
            context.label_name(cue.label),
            cue.token,
            cue.found,
            cue.expected,
            cue.texts,
            cue.p_label,
            cue.lmi,
            "yes" if cue.planted else "no",
        )
        for cue in [*named, *suspected]
    ]
    n_columns = len(columns) if quality is not None else len(columns) - 1
    table = p.Table(
        key="top_cues",
        title="Cues of each label",
        columns=columns[:n_columns],
        rows=tuple(row[:n_columns] for row in rows),
        note=f"Of the first {N_CUES} words of each label, by predictions cued minus those by blind picks, those that "
        f"cue more than blind picks at p < 0.05 each{_asked(suspected)}.",
        source=f"{PARADOX}; LMI: Schuster et al. 2019",
    )
    return p.Part(title="By which words", text=text, tables=(table,))


def _asked(suspected: list[Cue]) -> str:
    words = ", ".join(f"“{word}”" for word in dict.fromkeys(cue.token for cue in suspected))
    return f"; and the suspected {words}" if words else ""


def _training_part(records: list[ShortcutRecord]) -> p.Part:
    lines = [
        Curve("shortcut rate", [row.shortcut_rate for row in records], [row.shortcut_rate_interval for row in records]),
        Curve("F1", [row.f1 for row in records]),
        Curve("ECE", [row.ece for row in records], [row.ece_interval for row in records]),
        Curve("blind picks", [row.null_rate for row in records], dashed=True),
    ]
    if any(row.causal_shortcut_rate is not None for row in records):
        lines += [
            Curve(
                "causal shortcut rate",
                [row.causal_shortcut_rate for row in records],
                [row.causal_interval for row in records],
            ),
            Curve("of control words", [row.causal_control_rate for row in records], dashed=True),
        ]
    words = "; ".join(
        f"step {row.step}: shortcut rate {percent(row.shortcut_rate)}, F1 {percent(row.f1 or 0.0)}, ECE "
        f"{percent(row.ece)}"
        for row in records
    )
    before, after = records[0], records[-1]
    return p.Part(
        title="Over fine-tuning",
        text=f"From step {before.step:,} to step {after.step:,}, the shortcut rate goes from "
        f"{percent(before.shortcut_rate)} to {percent(after.shortcut_rate)} and the calibration error, in "
        f"{counted(after.n_bins, 'bin')}, from {percent(before.ece)} to {percent(after.ece)}.",
        plots=(
            curves(
                "shortcuts_over_training",
                [row.step for row in records],
                lines,
                xlabel="optimizer steps (0: before fine-tuning)",
                ylabel="share",
            ).plot(
                title="Shortcuts, F1 and calibration over training",
                caption="Recorded on held-out items before fine-tuning and at each evaluation. Bands are 95% "
                "intervals (Wilson for the rates, bootstrap for ECE).",
                alt=f"{words}.",
                source=f"{PARADOX}, figure 2",
            ),
        ),
    )


def _example_part(context: AuditContext, items: SplitShortcuts) -> p.Part:
    measured, record = items.measured, items.measured.record()
    left_out = f" ({measured.left_out.rstrip('.')})" if measured.left_out else ""
    cued, right = measured.cued, measured.predictions == measured.labels
    order = np.argsort(-measured.probabilities.max(axis=1), kind="stable")
    lists = [
        p.ExampleList(
            key=key,
            title=title,
            note=f"{first_of(min(N_EXAMPLES, len(rows)), len(rows), 'such prediction', 'surest')}. Shortcuts are "
            "marked; the shade of the other words is their share of the attribution.",
            examples=tuple(_example(context, items, int(row)) for row in rows[:N_EXAMPLES]),
        )
        for key, title, mask in (
            ("cued_and_wrong", "Shortcut-cued and wrong", cued & ~right),
            ("cued_and_right", "Shortcut-cued and right", cued & right),
            ("not_cued", "Not cued", ~cued),
        )
        if len(rows := order[mask[order]])
    ]
    if record.largest_gap is None:
        checked = f" {measured.left_out}".rstrip()
    else:
        checked = (
            f" The largest completeness gap of any prediction is {percent(record.largest_gap)}{left_out}; on average "
            f"{percent(record.special_share)} of the attribution falls on special tokens."
        )
    return p.Part(
        title="What its predictions rest on",
        text=f"{measured.attributions.definition}{checked}",
        examples=tuple(lists),
    )


def _example(context: AuditContext, items: SplitShortcuts, row: int) -> p.Example:
    measured = items.measured
    marks = tuple(
        p.Mark(
            word.start,
            word.end,
            "cue" if word.shortcut else "weight",
            word.weight,
            f"{'shortcut, ' if word.shortcut else ''}{100 * word.share:.0f}% of the attribution",
        )
        for word in measured.words(row)
    )
    confidence = float(measured.probabilities[row].max())
    return example_of(context, items.split, row, int(measured.predictions[row]), confidence, marks)


def _limits(items: SplitShortcuts, tested: CausalMeasurement | None) -> tuple[str, ...]:
    n_given, n_cut = items.measured.n_given, items.measured.attributions.n_truncated
    limits = [
        "A word that points at a label may mean it; only reading the cues, or a split without them, can tell.",
        "A text without a word, or with another in its place, may be one that nobody would write."
        if tested is not None
        else f"The protocol {items.measured.protocol.name} ranks pieces of words, which cannot be taken out of a text: "
        "whether they decide is not tested.",
        "Only single words are considered; word order, length and combinations are not.",
        *(
            ["Words that stand for one another hide each other where they are left out one at a time."]
            if items.measured.protocol.importance == "occlusion"
            else []
        ),
    ]
    if n_cut:
        limits.append(f"Cut, as longer than the model takes: {counted(n_cut, 'text')}.")
    if items.measured.left_out:
        limits.append(f"{items.measured.left_out} The figures are about the others.")
    if n_given < items.n_labeled:
        limits.append(f"{n_given:,} of the {items.n_labeled:,} labeled items were measured, chosen by seed and id.")
    return tuple(limits)
