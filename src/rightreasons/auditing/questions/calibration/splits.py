"""The same model on several splits: what changes when, for example, a planted cue is taken away or flipped."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rightreasons.analysis import intervals
from rightreasons.auditing.context import AuditContext, AuditSplit
from rightreasons.auditing.page import plots
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.figures import ABOUT, Judged
from rightreasons.auditing.page.parts import Column, ExampleList, Headline, Part, Table
from rightreasons.auditing.page.words import fraction, percent, with_interval
from rightreasons.foundations.resampling import Resampling
from rightreasons.measuring.estimates import estimate_of

COMPARED = ("accuracy", "mean_confidence", "confidence_gap", "ece", "nll")
"""The figures that are computed for every split."""

N_EXAMPLES = 5
"""Items that are shown."""


def judge(context: AuditContext, split: AuditSplit) -> Judged:
    """Compare what the model said about a split with its labels."""
    return Judged.of(context.scores(split).logits, split.labels, split.name)


def labelled_splits(context: AuditContext) -> list[AuditSplit]:
    """Return the splits that have labels."""
    return [split for split in context.splits if split.labelled.any()]


def splits_part(context: AuditContext, compared: Mapping[str, Mapping[str, Headline]], how: Resampling) -> Part:
    """Compare the audited splits, paired with the primary one where their items belong together."""
    primary = context.primary
    rows: list[tuple[Any, ...]] = []
    for name, figures in compared.items():
        split = context.split(name)
        change = _change(context, split, how) if split is not primary else None
        rows.append(
            (
                name,
                int(split.labelled.sum()),
                *(figures[key].estimate for key in COMPARED[:4]),
                None if change is None or change.interval is None else estimate_of(change.difference, change.interval),
                None if change is None else change.p_value,
            )
        )
    drawing = plots.dot_rows(
        "splits",
        rows=[
            plots.Bar(
                name,
                *(
                    tuple(getattr(figures[key].estimate, end) for key in ("accuracy", "mean_confidence"))
                    for end in ("value", "low", "high")
                ),
            )
            for name, figures in compared.items()
        ],
        series=("accuracy", "mean confidence"),
        xlabel="share of items, probability",
    )
    words = "; ".join(
        f"{name}: accuracy {fraction(f['accuracy'].estimate.value or 0.0)}, mean confidence "
        f"{fraction(f['mean_confidence'].estimate.value or 0.0)}"
        for name, f in compared.items()
    )
    cues = _cue_table(context)
    level = percent(how.level)
    return Part(
        title="What happens on the other splits",
        text=_text(context, compared, bool(cues)),
        plots=(
            drawing.plot(
                key="splits",
                title="Accuracy and mean confidence by split",
                caption="Where the gray bar is long, confidence and accuracy are far apart. Whiskers are "
                f"{level} intervals (Wilson for accuracy, bootstrap for confidence).",
                alt=f"Accuracy and mean confidence by split. {words}.",
                source="Counted",
            ),
        ),
        tables=(
            Table(
                key="splits",
                title="Splits side by side",
                columns=(
                    Column("split", "Split", "text"),
                    Column("n", "Items", "count"),
                    *(Column(key, ABOUT[key].name) for key in COMPARED[:4]),
                    Column(
                        "change",
                        f"Change from {primary.name}",
                        definition="Of accuracy, on the items that the splits share: mean difference, bootstrapped "
                        "over the items.",
                    ),
                    Column("p", "p", "p_value", "Of no change: exact McNemar test on the shared items."),
                ),
                rows=tuple(rows),
                note=f"In brackets: {level} intervals.",
                source="Counted; ECE as above; McNemar 1947; Efron & Tibshirani 1993",
            ),
            *cues,
        ),
        examples=_flipped_examples(context),
    )


def worst_split(context: AuditContext, compared: Mapping[str, Mapping[str, Headline]]) -> str | None:
    """Name the comparison split with the largest gap, where it is clearly larger than that of the primary split."""
    gaps = {name: figures["confidence_gap"].estimate for name, figures in compared.items()}
    base = gaps.pop(context.primary.name)
    if not gaps:
        return None
    worst = max(gaps, key=lambda name: abs(gaps[name].value or 0.0))
    low = min(abs(gaps[worst].low or 0.0), abs(gaps[worst].high or 0.0))
    return worst if low > max(0.05, abs(base.low or 0.0), abs(base.high or 0.0)) else None


def _text(context: AuditContext, compared: Mapping[str, Mapping[str, Headline]], planted: bool) -> str:
    primary = context.primary.name
    first = compared[primary]
    text = ""
    if planted:
        text = (
            "This data carries a planted cue: a token that mostly agrees with the label in training and has nothing to "
            "do with what the text says. The splits hold the same items with the cue as in training, without it, or "
            "turned against the label. A model that reads the text answers alike on all of them.\n\n"
        )
    for name, figures in compared.items():
        if name != primary:
            text += (
                f"From “{primary}” to “{name}”, accuracy goes from "
                f"{fraction(first['accuracy'].estimate.value or 0.0)} to "
                f"{with_interval(figures['accuracy'].estimate)} and mean confidence from "
                f"{fraction(first['mean_confidence'].estimate.value or 0.0)} to "
                f"{with_interval(figures['mean_confidence'].estimate)}. "
            )
    return text


def _change(context: AuditContext, split: AuditSplit, how: Resampling) -> intervals.PairedTest | None:
    """Test the change of accuracy from the primary split on the items that the two share."""
    primary = context.primary
    names = [s.pair_ids for s in (split, primary)]
    if names[0] is None or names[1] is None:
        return None
    place = {name: row for row, name in enumerate(names[1])}
    pairs = [(row, place[name]) for row, name in enumerate(names[0]) if name in place]
    pairs = [(a, b) for a, b in pairs if split.labels[a] >= 0 and primary.labels[b] >= 0]
    if not pairs:
        return None
    rows = np.array(pairs)
    right = [(predicted_classes(context, s) == s.labels)[rows[:, side]] for side, s in enumerate((split, primary))]
    # McNemar's test is exact and has no interval; the bootstrap of the same difference has one.
    resampled = intervals.paired_bootstrap(*right, resampling=how)
    return dataclasses.replace(intervals.mcnemar(*right), interval=resampled.interval)


def predicted_classes(context: AuditContext, split: AuditSplit) -> NDArray[np.int64]:
    """Return the predicted class of each item; (N,)."""
    logits = context.scores(split).logits
    return logits.argmax() if not isinstance(logits, np.ndarray) else np.asarray(logits.argmax(axis=1), dtype=np.int64)


def _cue_table(context: AuditContext) -> tuple[Table, ...]:
    """Tell how often the prediction goes with a planted cue, where the data says which class each cue stands for."""
    rows: list[tuple[Any, ...]] = []
    for split in labelled_splits(context):
        cues = split.cue_labels
        if cues is None:
            return ()
        predicted = predicted_classes(context, split)
        for name, group in (
            ("agrees with the label", (cues == split.labels) & (cues >= 0)),
            ("contradicts the label", (cues != split.labels) & (cues >= 0)),
            ("absent", cues < 0),
        ):
            group = group & split.labelled
            n = int(group.sum())
            if not n:
                continue
            right, follows = int((predicted == split.labels)[group].sum()), int((predicted == cues)[group].sum())
            level = context.confidence_level
            rows.append(
                (
                    split.name,
                    name,
                    n,
                    estimate_of(right / n, intervals.wilson(right, n, confidence_level=level)),
                    None
                    if name == "absent"
                    else estimate_of(follows / n, intervals.wilson(follows, n, confidence_level=level)),
                )
            )
    return (
        Table(
            key="cues",
            title="The planted cue and the prediction",
            columns=(
                Column("split", "Split", "text"),
                Column("cue", "The cue", "text"),
                Column("n", "Items", "count"),
                Column("accuracy", "Accuracy"),
                Column("follows", "Goes with the cue", definition="Share of predictions that are the cue's class."),
            ),
            rows=tuple(rows),
            note="The data tells which token is the cue and which class it stands for; it has nothing to do with what "
            f"the text says. In brackets: {percent(context.confidence_level)} Wilson intervals.",
            source="Counted",
        ),
    )


def _flipped_examples(context: AuditContext) -> tuple[ExampleList, ...]:
    """Show items that are right as they are and wrong once their cue is flipped."""
    primary = context.primary
    flipped = next((s for s in context.comparisons if s.cue_labels is not None and (s.cue_labels >= 0).any()), None)
    if flipped is None or primary.pair_ids is None or flipped.pair_ids is None:
        return ()
    place = {name: row for row, name in enumerate(primary.pair_ids)}
    scores = context.scores(flipped).logits
    if not isinstance(scores, np.ndarray):
        return ()
    judged = Judged.of(scores, np.maximum(flipped.labels, 0), flipped.name).top
    was_right = predicted_classes(context, primary) == primary.labels
    fell = [
        row
        for row, name in enumerate(flipped.pair_ids)
        if name in place and was_right[place[name]] and flipped.labels[row] >= 0 and not judged.correct[row]
    ]
    fell.sort(key=lambda row: -judged.confidence[row])
    if not fell:
        return ()
    chosen = fell[:N_EXAMPLES]
    return (
        ExampleList(
            key="flipped",
            title=f"Right on “{primary.name}”, wrong on “{flipped.name}”",
            note=f"The {len(chosen)} most confident of {len(fell):,} items that the model answers rightly until their "
            "planted cue (marked) is changed; the rest of the text is the same.",
            examples=tuple(
                example_of(context, flipped, row, int(judged.predicted[row]), float(judged.confidence[row]))
                for row in chosen
            ),
        ),
    )
