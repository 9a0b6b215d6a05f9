"""The same model on several splits: what changes when, for example, a planted cue is removed or flipped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rightreasons.auditing.context import AuditContext, AuditSplit
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page import plots
from rightreasons.auditing.page.examples import example_of
from rightreasons.auditing.page.words import first_of, level_percent, percent, written
from rightreasons.foundations.resampling import Resampling
from rightreasons.measuring.calibration import FIGURES, measure_cue, paired_accuracy
from rightreasons.measuring.estimates import estimate_of

COMPARED = ("accuracy", "mean_confidence", "confidence_gap", "ece", "nll")
"""The figures that are computed for every split."""

N_EXAMPLES = 5

Compared = Mapping[str, Mapping[str, p.Estimate]]
"""Split -> the figures of `COMPARED`."""


def labeled_splits(context: AuditContext) -> list[AuditSplit]:
    """Return the splits that have labels."""
    return [split for split in context.splits if split.labeled.any()]


def splits_part(context: AuditContext, compared: Compared, resampling: Resampling) -> p.Part:
    """Compare the audited splits, paired with the primary one where their items belong together."""
    primary, level = context.primary, level_percent(resampling.level)
    drawing = plots.dot_rows(
        "splits",
        rows=[
            plots.Bar.of(name, figures["accuracy"], figures["mean_confidence"]) for name, figures in compared.items()
        ],
        series=("accuracy", "mean confidence"),
        xlabel="share of items, probability",
    )
    words = "; ".join(
        f"{name}: accuracy {_value(figures['accuracy'])}, mean confidence {_value(figures['mean_confidence'])}"
        for name, figures in compared.items()
    )
    cues = _cue_table(context, resampling)
    return p.Part(
        title="What happens on the other splits",
        text=_text(primary.name, compared, bool(cues)),
        plots=(
            drawing.plot(
                title="Accuracy and mean confidence by split",
                caption="Where the gray bar is long, confidence and accuracy are far apart. Whiskers are "
                f"{level} intervals (Wilson for accuracy, bootstrap for confidence).",
                alt=f"Accuracy and mean confidence by split. {words}.",
                source="Counted",
            ),
        ),
        tables=(
            p.Table(
                key="splits",
                title="Splits side by side",
                columns=(
                    p.Column("split", "Split", "text"),
                    p.Column("n", "Items", "count"),
                    *(p.Column(key, FIGURES[key].name, "share") for key in COMPARED[:4]),
                    p.Column(
                        "change",
                        f"Change from {primary.name}",
                        "share",
                        "Of accuracy on the items that the splits share: mean difference, bootstrapped.",
                    ),
                    p.Column("p", "p", "p_value", "Of no change: exact McNemar test on the shared items."),
                ),
                rows=tuple(
                    (
                        name,
                        int(context.split(name).labeled.sum()),
                        *(figures[key] for key in COMPARED[:4]),
                        *_change(context, context.split(name), resampling),
                    )
                    for name, figures in compared.items()
                ),
                note=f"In brackets: {level} intervals.",
                source="Counted; ECE as above; McNemar 1947; Efron & Tibshirani 1993",
            ),
            *cues,
        ),
        examples=_flipped_examples(context),
    )


def _value(estimate: p.Estimate) -> str:
    return percent(estimate.value or 0.0)


def _text(primary: str, compared: Compared, planted: bool) -> str:
    text, first = "", compared[primary]
    if planted:
        text = (
            "This data carries a planted cue: a token that mostly agrees with the label in training and has nothing to "
            "do with what the text says. The splits hold the same items with the cue as in training, without it, or "
            "turned against the label. A model that reads the text gives the same answers on all of them.\n\n"
        )
    for name, figures in compared.items():
        if name != primary:
            text += (
                f"From “{primary}” to “{name}”, accuracy goes from {_value(first['accuracy'])} to "
                f"{written(figures['accuracy'])} and mean confidence from {_value(first['mean_confidence'])} to "
                f"{written(figures['mean_confidence'])}. "
            )
    return text


def _shared_rows(first: AuditSplit, second: AuditSplit) -> list[tuple[int, int]]:
    """Return the rows of the labeled items that are forms of one item in both splits."""
    if first.pair_ids is None or second.pair_ids is None:
        return []
    row_of = {name: row for row, name in enumerate(second.pair_ids)}
    pairs = [(row, row_of[name]) for row, name in enumerate(first.pair_ids) if name in row_of]
    return [(one, two) for one, two in pairs if first.labels[one] >= 0 and second.labels[two] >= 0]


def _change(context: AuditContext, split: AuditSplit, resampling: Resampling) -> tuple[p.Estimate | None, float | None]:
    """Test the change of accuracy from the primary split on the items that the two share."""
    rows = _shared_rows(split, context.primary) if split is not context.primary else []
    if not rows:
        return None, None
    correct = [
        (context.scores(one).predicted == one.labels)[list(side)]
        for one, side in zip((split, context.primary), zip(*rows, strict=True), strict=True)
    ]
    change = paired_accuracy(correct[0], correct[1], resampling)
    return estimate_of(change.difference, change.interval), change.p_value


def _cue_table(context: AuditContext, resampling: Resampling) -> tuple[p.Table, ...]:
    """Say how often the prediction follows a planted cue, where the data says which class each cue stands for."""
    rows: list[tuple[Any, ...]] = []
    for split in labeled_splits(context):
        if split.cue_labels is None:
            return ()
        figures = measure_cue(context.scores(split).predicted, split.labels, split.cue_labels, resampling)
        rows += [(split.name, row.cue, row.n_items, row.accuracy, row.follows) for row in figures]
    return (
        p.Table(
            key="cues",
            title="The planted cue and the prediction",
            columns=(
                p.Column("split", "Split", "text"),
                p.Column("cue", "The cue", "text"),
                p.Column("n", "Items", "count"),
                p.Column("accuracy", "Accuracy", "share"),
                p.Column("follows", "Follows the cue", "share", "Share of predictions that are the cue's class."),
            ),
            rows=tuple(rows),
            note="The data says which token is the cue and which class it stands for; it has nothing to do with what "
            f"the text says. In brackets: {level_percent(resampling.level)} Wilson intervals.",
            source="Counted",
        ),
    )


def _flipped_rows(context: AuditContext) -> tuple[AuditSplit, list[tuple[int, int]]] | None:
    """Find the items that are right until their cue is flipped, the surest first; None without flipped cues."""
    primary = context.primary
    flipped = next((s for s in context.comparisons if s.cue_labels is not None and (s.cue_labels >= 0).any()), None)
    if flipped is None or not isinstance(context.scores(flipped).logits, np.ndarray):
        return None
    after, before = context.scores(flipped), context.scores(primary)
    rows = [
        (row, first)
        for row, first in _shared_rows(flipped, primary)
        if before.predicted[first] == primary.labels[first] and after.predicted[row] != flipped.labels[row]
    ]
    return flipped, sorted(rows, key=lambda pair: -after.confidence[pair[0]])


def _shown(context: AuditContext, split: AuditSplit, row: int) -> p.Example:
    scores = context.scores(split)
    return example_of(context, split, row, int(scores.predicted[row]), float(scores.confidence[row]))


def flipped_pair(context: AuditContext) -> tuple[p.Example, ...]:
    """Show one item before and after its planted cue is flipped: the shortest of those that the model is surest of."""
    found = _flipped_rows(context)
    if found is None or not found[1]:
        return ()
    flipped, rows = found
    row, first = min(rows[:N_EXAMPLES], key=lambda pair: len(flipped.texts[pair[0]]))
    return _shown(context, context.primary, first), _shown(context, flipped, row)


def _flipped_examples(context: AuditContext) -> tuple[p.ExampleList, ...]:
    """Show items that are right until their cue is flipped."""
    found = _flipped_rows(context)
    if found is None or not found[1]:
        return ()
    flipped, rows = found
    return (
        p.ExampleList(
            key="flipped",
            title=f"Right on “{context.primary.name}”, wrong on “{flipped.name}”",
            note=f"{first_of(len(rows[:N_EXAMPLES]), len(rows), 'such item', 'surest')}. Only the planted cue "
            "(marked) is changed; the rest of the text is the same.",
            examples=tuple(_shown(context, flipped, row) for row, _ in rows[:N_EXAMPLES]),
        ),
    )
