"""Does it decide by shortcuts?"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis import intervals
from rightreasons.analysis.shortcuts.detection import DetectionQuality, detection_quality
from rightreasons.analysis.shortcuts.lmi import LmiResult, lmi
from rightreasons.analysis.shortcuts.null_model import chance_of_hit
from rightreasons.analysis.shortcuts.reliance import TOP_N
from rightreasons.auditing.context import AuditContext, AuditSplit
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.parts import (
    APPLIES,
    Applicability,
    Column,
    Estimate,
    Example,
    ExampleList,
    Headline,
    Mark,
    Part,
    SectionResult,
    Table,
    Verdict,
    applies_not,
)
from rightreasons.auditing.page.words import fraction, p_equals, percent, with_interval
from rightreasons.auditing.predictions import safe_name
from rightreasons.auditing.questions.shortcuts import plots as plots_shortcuts
from rightreasons.measuring.estimates import estimate_of
from rightreasons.measuring.shortcuts import ShortcutMeasurement, ShortcutRecord, measure_shortcuts

MAX_ITEMS = 300
"""Items of the primary split whose predictions are attributed; the question's option `items` says otherwise."""

COMPARED_ITEMS = 150
"""The same of each split beside it."""

MIN_ITEMS = 20
N_CUES = 8
"""Cues a label that are shown."""

N_EXAMPLES = 5
LARGE_EXCESS = 0.1

PARADOX = "Bihani & Rayz 2025"
RECORDS = "shortcuts.json"
"""What `ShortcutCallback(out=...)` writes; beside the model it is found by the audit."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Looked:
    """What was measured on some items of a split.

    Attributes:
        split: The split.
        items: (n,) the rows that were looked at.
        measured: The measurement.
    """

    split: AuditSplit
    items: NDArray[np.intp]
    measured: ShortcutMeasurement


@dataclasses.dataclass(frozen=True)
class _CueRow:
    """A cue of a label.

    Attributes:
        label: The label.
        token: The word.
        found: Predictions of the label that it cues.
        expected: How many blind picks would.
        texts: Texts predicted so that hold the word.
        p_label: Share of its occurrences in the training data that are in texts of the label.
        lmi: Its LMI.
        planted: Whether it is known to be planted; None where nothing is known.
    """

    label: int
    token: str
    found: int
    expected: float
    texts: int
    p_label: float
    lmi: float
    planted: bool | None


class Shortcuts:
    """Which predictions rest on words that the training data gives the label away by, of what kind, how surely."""

    question = "shortcuts"
    title = "Does it decide by shortcuts?"
    order = 2
    needs_labels = True

    def applies(self, context: AuditContext) -> Applicability:
        """Ask for a classifier, its training data with two labels, and some labelled items."""
        if context.task != "classification":
            return applies_not("Shortcuts by the words of a text are a question about classifiers of texts.")
        if int(context.primary.labelled.sum()) < MIN_ITEMS:
            return applies_not(f"It takes at least {MIN_ITEMS} items with a label.")
        if context.train is None or "label" not in context.train.column_names:
            return applies_not("There is no training split, and shortcuts are what that gives away.")
        seen = set(_train_labels(context).tolist()) - {-1}
        absent = [name for k, name in enumerate(context.label_names or ()) if k not in seen]
        if absent:
            return applies_not(f"The training split has no text of the class {absent[0]!r}.")
        if not getattr(context.classifier.tokenizer, "is_fast", False):
            return applies_not("The tokenizer does not tell where its tokens stand in the text.")
        return APPLIES

    def run(self, context: AuditContext) -> SectionResult:
        """Answer the question."""
        heads = _heads(context)
        looked = [_look(context, split, heads) for split in context.splits if split.labelled.sum() >= MIN_ITEMS]
        first = looked[0]
        headlines = _headlines(context, first)
        cues = _cues(first, heads)
        quality = _quality(context, first)
        records = _records(context)
        parts = [
            _overview(context, looked, headlines),
            _by_confidence(context, first),
            _cue_part(context, first, cues, quality),
            *([_training_part(records)] if records else []),
            _example_part(context, first),
        ]
        measured = first.measured
        return SectionResult(
            verdict=_verdict(context, first, cues),
            headlines=tuple(headlines[key] for key in ("shortcut_rate", "shortcut_excess", "shortcut_tradeoff")),
            parts=tuple(parts),
            limits=_limits(first),
            data={
                "splits": {row.split.name: row.measured.record().to_dict() for row in looked},
                "null": {name: null.to_dict() for name, null in measured.reliance.null.items()},
                "bins": [row.to_dict() for row in measured.reliance.bins],
                "cues": [dataclasses.asdict(row) for row in cues],
                "detection": None if quality is None else quality.to_dict(),
                "over_training": [record.to_dict() for record in records],
                "attribution": measured.attributions.definition,
            },
        )


SECTION = Shortcuts()


# ------------------------------------------------------------------------------------------------------------- figures


def _train_labels(context: AuditContext) -> NDArray[np.int64]:
    """The labels of the training split in the model's numbering, -1 for none."""
    train, class_of = context.train, context.primary.class_of
    if train is None or class_of is None:
        return np.empty(0, np.int64)
    return class_of[np.array(train["label"][:], dtype=np.int64)]


def _heads(context: AuditContext) -> LmiResult:
    train = context.train
    if train is None:
        raise ValueError("Expected a training split, but there is none.")
    labels = _train_labels(context)
    texts = train["text"][:]
    if "text_pair" in train.column_names:
        texts = [f"{one}\n{two}" for one, two in zip(texts, train["text_pair"][:], strict=True)]
    kept = [row for row in np.flatnonzero(labels >= 0) if texts[row].strip()]
    return lmi([texts[row] for row in kept], labels[kept])


def _look(context: AuditContext, split: AuditSplit, heads: LmiResult) -> _Looked:
    from rightreasons.data.opening.datasets import chosen_rows

    options = context.options.get("shortcuts") or {}
    labelled = np.flatnonzero(split.labelled)
    usual = MAX_ITEMS if split is context.primary else COMPARED_ITEMS
    limit = min(int(options.get("items", usual)), len(labelled))
    # Splits that hold forms of the same items are looked at on the same items.
    names = split.pair_ids or list(split.ids)
    items = labelled[chosen_rows([names[row] for row in labelled], limit, seed=context.seed)]
    pairs = split.text_pairs
    measured = measure_shortcuts(
        context.classifier,
        [split.texts[row] for row in items],
        split.labels[items],
        heads,
        text_pairs=None if pairs is None else [pairs[row] for row in items],
        ids=[split.ids[row] for row in items],
        resampling=context.resampling,
        attribution=options.get("attribution"),
        progress=context.progress,
        out=context.folder(
            f"shortcuts-{safe_name(split.name)}",
            split.fingerprint,
            str(limit),
            str(context.seed),
            json.dumps(options.get("attribution"), sort_keys=True),
        ),
    )
    return _Looked(split, items, measured)


def _headlines(context: AuditContext, looked: _Looked) -> dict[str, Headline]:
    reliance, tradeoff = looked.measured.reliance, looked.measured.tradeoff
    null = reliance.null["frequency"]
    shared: dict[str, Any] = {"split": looked.split.name, "n": reliance.n_items}
    return {
        "shortcut_rate": Headline(
            key="shortcut_rate",
            name="Shortcut rate",
            estimate=estimate_of(reliance.shortcut_reliance, reliance.interval),
            definition=f"Share of predictions where one of the {TOP_N} words of largest attribution is in the head "
            "(top 5 % by LMI in the training data) of the predicted label.",
            source=f"{PARADOX}; Du et al. 2021",
            **shared,
        ),
        "shortcut_excess": Headline(
            key="shortcut_excess",
            name="Beyond blind picks",
            estimate=estimate_of(null.excess, null.interval),
            definition=f"Shortcut rate minus what {TOP_N} words of like frequency, picked blindly from the same text, "
            f"give ({fraction(null.rate)}).",
            source=f"{PARADOX}; null model of this package",
            better="lower",
            **shared,
        ),
        "lexicon_cued": Headline(
            key="lexicon_cued",
            name="Lexicon-cued",
            estimate=_share(reliance.lexicon_cued, reliance.n_items, context.confidence_level),
            definition="Share of predictions with at least one shortcut that is a word of the lexicon.",
            source=PARADOX,
            **shared,
        ),
        "grammar_cued": Headline(
            key="grammar_cued",
            name="Grammar-cued",
            estimate=_share(reliance.grammar_cued, reliance.n_items, context.confidence_level),
            definition="Share of predictions whose shortcuts are function words and punctuation alone.",
            source=PARADOX,
            **shared,
        ),
        "shortcut_tradeoff": Headline(
            key="shortcut_tradeoff",
            name="F1 per shortcut",
            estimate=estimate_of(tradeoff.shortcut_tradeoff, tradeoff.interval),
            definition="Macro F1 over shortcut rate.",
            source=PARADOX,
            unit="ratio",
            no_interval="" if tradeoff.interval else "No prediction, or hardly one, is shortcut-cued.",
            **shared,
        ),
    }


def _cues(looked: _Looked, heads: LmiResult) -> list[_CueRow]:
    """The words that cue most predictions of each label, beyond what blind picks would."""
    found = looked.measured.attributions
    predicted, examples = looked.measured.predictions, looked.measured.reliance.examples
    planted = _planted_words(looked)
    rows: list[_CueRow] = []
    for label in range(looked.measured.probabilities.shape[1]):
        head, table = set(heads[label].head), heads[label]
        place = {token: index for index, token in enumerate(table.tokens)}
        hits: Counter[str] = Counter()
        texts: Counter[str] = Counter()
        expected: dict[str, float] = {}
        for item in np.flatnonzero(predicted == label):
            tokens = found.tokens[item]
            hits.update(set(examples[item].tokens))
            for token, times in Counter(tokens).items():
                if token in head:
                    texts[token] += 1
                    expected[token] = expected.get(token, 0.0) + _chance(len(tokens), times)
        beyond = [token for token in hits if hits[token] > expected[token]]
        best = sorted(beyond, key=lambda token: (expected[token] - hits[token], token))[:N_CUES]
        rows += [
            _CueRow(
                label,
                token,
                hits[token],
                expected[token],
                texts[token],
                float(table.p_label[place[token]]),
                float(table.lmi[place[token]]),
                None if planted is None else token in planted,
            )
            for token in best
        ]
    return rows


def _chance(n_tokens: int, times: int) -> float:
    """The chance that one of so many occurrences is among the top tokens, were these picked blindly."""
    row = np.zeros(n_tokens, dtype=np.int64)
    flags = np.arange(n_tokens)
    return float(chance_of_hit(row, 1, flags < TOP_N, flags < times)[0])


def _planted_words(looked: _Looked) -> set[str] | None:
    planted = looked.split.planted
    if planted is None:
        return None
    return {token["token"].lower() for item in looked.items for token in planted[item]}


def _quality(context: AuditContext, looked: _Looked) -> DetectionQuality | None:
    """How well the detector finds the planted words, where the data tells them."""
    planted = looked.split.planted
    if planted is None:
        return None
    attributions, examples = looked.measured.attributions, looked.measured.reliance.examples
    found, truth = [], []
    for row, item in enumerate(looked.items):
        cut = slice(*attributions.scores.offsets[row : row + 2])
        starts, ends = attributions.starts[cut], attributions.ends[cut]
        found.append(np.isin(np.arange(len(starts)), examples[row].positions))
        mask = np.zeros(len(starts), dtype=np.bool_)
        for token in planted[item]:
            mask |= (starts < token["end"]) & (ends > token["start"])
        truth.append(mask)
    if not any(mask.any() for mask in truth):
        return None
    return detection_quality(
        found,
        truth,
        resampling=context.resampling,
    )


def _records(context: AuditContext) -> list[ShortcutRecord]:
    """What a callback has recorded over training, where it lies beside the model."""
    file = Path(context.classifier.name) / RECORDS
    if not file.is_file():
        return []
    return [ShortcutRecord.of(row) for row in json.loads(file.read_text("utf-8"))]


# --------------------------------------------------------------------------------------------------------------- parts


def _overview(context: AuditContext, looked: list[_Looked], headlines: dict[str, Headline]) -> Part:
    first = looked[0]
    reliance = first.measured.reliance
    null, level = reliance.null["frequency"], percent(context.confidence_level)
    text = (
        "A prediction is shortcut-cued when a word it rests on is one that the training data gives its label away by. "
        f"Of {reliance.n_items:,} predictions on “{first.split.name}”, {reliance.n_cued:,} are: a rate of "
        f"{fraction(reliance.shortcut_reliance)}, where blind picks of words of like frequency give "
        f"{fraction(null.rate)} (p {p_equals(null.p_value)} for no difference).\n\n"
        "The words that point at a label are often the words that mean it. A shortcut rate alone says that a model "
        "uses single words; whether those words have anything to do with the meaning, the list of cues below tells, "
        "and what happens without them, the splits."
    )
    outcome = [
        (name, share.n_items, Estimate(share.rate, share.interval.low, share.interval.high), share.joint)
        for name, share in (("right", reliance.correct), ("wrong", reliance.wrong))
        if share is not None and share.interval is not None
    ]
    bars = [
        plots_shortcuts.TypeBar(
            row.split.name,
            row.measured.reliance.lexicon_cued,
            row.measured.reliance.grammar_cued,
            row.measured.reliance.interval.low,
            row.measured.reliance.interval.high,
            row.measured.reliance.null["frequency"].rate,
        )
        for row in looked
    ]
    return Part(
        title="How many predictions are shortcut-cued, and by what",
        text=text,
        headlines=tuple(headlines[key] for key in ("shortcut_rate", "shortcut_excess", "lexicon_cued", "grammar_cued")),
        plots=(
            plots_shortcuts.type_bars("shortcut_types", rows=bars).plot(
                key="shortcut_types",
                title="Types of shortcuts",
                caption="Lexicon-cued: a word of the lexicon is among the shortcuts. Grammar-cued: function words and "
                f"punctuation alone. The whisker is the {level} Wilson interval of the two together; the dashed line, "
                "what blind picks of words of like frequency give.",
                alt="; ".join(
                    f"{bar.name}: lexicon-cued {fraction(bar.lexicon)}, grammar-cued {fraction(bar.grammar)}, "
                    f"blind picks {fraction(bar.null)}"
                    for bar in bars
                )
                + ".",
                source=f"{PARADOX}, figure 1",
            ),
        ),
        tables=(
            Table(
                key="shortcuts_by_outcome",
                title="Among right and among wrong predictions",
                columns=(
                    Column("outcome", "Predictions that are", "text"),
                    Column("n", "Predictions", "count"),
                    Column("rate", f"Shortcut rate [{level}]", "number", "Share of these that is shortcut-cued."),
                    Column("joint", "Of all", "number", "Share of all predictions with this outcome and a shortcut."),
                ),
                rows=tuple(outcome),
                source=PARADOX,
            ),
        ),
    )


def _by_confidence(context: AuditContext, looked: _Looked) -> Part:
    rows, null = looked.measured.reliance.bins, looked.measured.reliance.null["frequency"].rate
    counts = np.array([row.n_items for row in rows])
    ends = [
        intervals.wilson(
            round((row.accuracy or 0.0) * row.n_items), row.n_items, confidence_level=context.confidence_level
        )
        if row.n_items
        else None
        for row in rows
    ]

    def column(values: list[float | None]) -> NDArray[np.float64]:
        return np.array([0.0 if value is None else value for value in values])

    drawing = plots_shortcuts.shortcut_bins(
        "shortcuts_by_confidence",
        edges=np.array([row.lower for row in rows] + [rows[-1].upper]),
        counts=counts,
        confidence=column([row.confidence for row in rows]),
        accuracy=column([row.accuracy for row in rows]),
        accuracy_low=column([end.low if end else None for end in ends]),
        accuracy_high=column([end.high if end else None for end in ends]),
        lexicon=column([row.lexicon for row in rows]),
        grammar=column([row.grammar for row in rows]),
        null=null,
    )
    full = [row for row in rows if row.n_items]
    calibration, level = looked.measured.calibration, percent(context.confidence_level)
    return Part(
        title="Is it sure where it leans on shortcuts?",
        text="Calibration compares confidence with accuracy and asks for no reasons: a bin may be well calibrated and "
        f"shortcut-cued throughout. The calibration error of these items is {fraction(calibration.ece)}.",
        plots=(
            drawing.plot(
                key="shortcuts_by_confidence",
                title="Reliability, and the share of shortcuts by confidence",
                caption=f"Above: accuracy of each bin of confidence with its {level} Wilson interval. Below: the "
                "share of its predictions that is lexicon-cued, grammar-cued and neither; the dashed line is what "
                "blind picks give over all items; at the top the predictions of each bin.",
                alt="; ".join(
                    f"confidence {fraction(row.confidence or 0.0)}: {row.n_items:,} predictions, accuracy "
                    f"{fraction(row.accuracy or 0.0)}, lexicon-cued {fraction(row.lexicon or 0.0)}, grammar-cued "
                    f"{fraction(row.grammar or 0.0)}"
                    for row in full
                )
                + ".",
                source=f"{PARADOX}, figure 3",
            ),
        ),
    )


def _cue_part(context: AuditContext, looked: _Looked, cues: list[_CueRow], quality: DetectionQuality | None) -> Part:
    known = quality is not None
    text = (
        "For each label, the words that cue most of its predictions beyond what blind picks would. Judge by reading: "
        "“terrible” in a bad review is a reason, the name of a place is not."
    )
    if quality is not None and quality.precision is not None and quality.recall is not None:
        text += (
            f"\n\nThis data tells which words are planted. Of the {quality.n_found:,} shortcuts found, a share of "
            f"{fraction(quality.precision)} is planted; of the {quality.n_planted:,} planted words, a share of "
            f"{fraction(quality.recall)} is found. The others are words of the texts themselves."
        )
    return Part(
        title="By which words",
        text=text,
        tables=(
            Table(
                key="top_cues",
                title="Cues of each label",
                columns=(
                    Column("label", "Predicted", "text"),
                    Column("cue", "Cue", "text"),
                    Column("found", "Predictions cued", "count"),
                    Column("expected", "By blind picks", "number", f"Expected if {TOP_N} words were picked blindly."),
                    Column("texts", "Texts with it", "count", "Texts predicted so in which the word stands."),
                    Column("p_label", "p(label | word)", "number", "In the training data."),
                    Column("lmi", "LMI", "number", "Local mutual information with the label in the training data."),
                    *([Column("planted", "Planted", "text")] if known else []),
                ),
                rows=tuple(
                    (
                        context.label_name(row.label),
                        row.token,
                        row.found,
                        row.expected,
                        row.texts,
                        row.p_label,
                        row.lmi,
                        *([("yes" if row.planted else "no")] if known else []),
                    )
                    for row in cues
                ),
                note=f"At most {N_CUES} a label, by predictions cued minus those by blind picks.",
                source=f"{PARADOX}; LMI: Schuster et al. 2019",
            ),
        ),
    )


def _training_part(records: list[ShortcutRecord]) -> Part:
    def triple(value: float | None, interval: tuple[float, float] | None) -> tuple[float, float, float] | None:
        return None if value is None else (value, *(interval or (value, value)))

    series = [
        ("shortcut rate", [triple(row.shortcut_rate, row.shortcut_rate_interval) for row in records]),
        ("F1", [triple(row.f1, None) for row in records]),
        ("ECE", [triple(row.ece, row.ece_interval) for row in records]),
        ("blind picks", [triple(row.null_rate, None) for row in records]),
    ]
    before, after = records[0], records[-1]
    return Part(
        title="Before and after fine-tuning",
        text=f"From before fine-tuning to its end, the shortcut rate goes from {fraction(before.shortcut_rate)} to "
        f"{fraction(after.shortcut_rate)} and the calibration error from {fraction(before.ece)} to "
        f"{fraction(after.ece)}.",
        plots=(
            plots_shortcuts.over_training(
                "shortcuts_over_training", steps=np.array([float(row.step) for row in records]), series=series
            ).plot(
                key="shortcuts_over_training",
                title="Shortcuts, F1 and calibration over training",
                caption="Recorded on held-out items before fine-tuning and at each evaluation. Bands are 95 % "
                "intervals (Wilson for the rate, bootstrap for ECE).",
                alt="; ".join(
                    f"step {row.step}: shortcut rate {fraction(row.shortcut_rate)}, F1 {fraction(row.f1 or 0.0)}, ECE "
                    f"{fraction(row.ece)}"
                    for row in records
                )
                + ".",
                source=f"{PARADOX}, figure 2",
            ),
        ),
    )


def _example_part(context: AuditContext, looked: _Looked) -> Part:
    measured = looked.measured
    cued = np.array([example.cued for example in measured.reliance.examples])
    right = measured.predictions == measured.labels
    order = np.argsort(-measured.probabilities.max(axis=1), kind="stable")
    lists = [
        ExampleList(
            key=key,
            title=title,
            note=f"Of {int(mask.sum()):,} such predictions, the surest {min(N_EXAMPLES, int(mask.sum()))}. "
            "Shortcuts are marked; the shade of the other words is their share of the attribution.",
            examples=tuple(_example(context, looked, int(row)) for row in order[mask[order]][:N_EXAMPLES]),
        )
        for key, title, mask in (
            ("cued_and_wrong", "Shortcut-cued and wrong", cued & ~right),
            ("cued_and_right", "Shortcut-cued and right", cued & right),
            ("not_cued", "Not cued", ~cued),
        )
        if mask.any()
    ]
    return Part(
        title="What its predictions rest on",
        text=f"{measured.attributions.definition} The largest completeness gap of any prediction is "
        f"{fraction(float(np.abs(measured.attributions.gap).max()))}; on average "
        f"{fraction(float(measured.attributions.special_share.mean()))} of the attribution falls on special tokens.",
        examples=tuple(lists),
    )


def _example(context: AuditContext, looked: _Looked, row: int) -> Example:
    found = looked.measured.attributions
    cut = slice(*found.scores.offsets[row : row + 2])
    scores, starts, ends, parts = found.scores[row], found.starts[cut], found.ends[cut], found.parts[cut]
    largest = float(np.abs(scores).max(initial=0.0)) or 1.0
    shortcuts = set(looked.measured.reliance.examples[row].positions)
    total = float(np.abs(scores).sum()) or 1.0
    marks = tuple(
        Mark(
            int(starts[place]),
            int(ends[place]),
            "cue" if place in shortcuts else "weight",
            float(scores[place] / largest),
            f"{'shortcut, ' if place in shortcuts else ''}{100 * abs(scores[place]) / total:.0f} % of the attribution",
        )
        for place in range(len(scores))
        if parts[place] == 0
    )
    item = int(looked.items[row])
    confidence = float(looked.measured.probabilities[row].max())
    return example_of(context, looked.split, item, int(looked.measured.predictions[row]), confidence, marks)


# --------------------------------------------------------------------------------------------------------------- words


def _verdict(context: AuditContext, looked: _Looked, cues: list[_CueRow]) -> Verdict:
    reliance = looked.measured.reliance
    null = reliance.null["frequency"]
    excess = Estimate(null.excess, null.interval.low, null.interval.high)
    named = ", ".join(f"“{row.token}”" for row in sorted(cues, key=lambda row: row.expected - row.found)[:4])
    told = (
        f"{fraction(reliance.shortcut_reliance)} of its predictions are shortcut-cued, {with_interval(excess)} beyond "
        f"blind picks of words of like frequency."
    )
    tone: Literal["good", "warn", "bad"]
    if null.interval.low <= 0:
        tone, label = "good", "No more than chance"
    elif null.excess < LARGE_EXCESS:
        tone, label = "warn", "Some shortcuts"
    else:
        tone, label = "bad", "Leans on single words"
    return Verdict(tone, label, f"{told} Most of all by {named}." if named and tone != "good" else told)


def _limits(looked: _Looked) -> tuple[str, ...]:
    limits = [
        "A word that points at a label may mean it; only reading the cues, or a split without them, tells.",
        "Attributions say what moved the score from an empty input, not what the model would do without the word.",
        "Only single words are looked for; word order, length and combinations are not.",
    ]
    cut = looked.measured.attributions.n_truncated
    if cut:
        limits.append(f"{cut:,} texts were longer than the model takes and were cut.")
    if len(looked.items) < int(looked.split.labelled.sum()):
        limits.append(
            f"{len(looked.items):,} of the {int(looked.split.labelled.sum()):,} labelled items were looked at, chosen "
            "by seed and id."
        )
    return tuple(limits)


def _share(value: float, n_items: int, level: float) -> Estimate:
    return estimate_of(value, intervals.wilson(round(value * n_items), n_items, confidence_level=level))
