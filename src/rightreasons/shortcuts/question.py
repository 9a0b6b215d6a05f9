"""Does it decide by shortcuts? What decides, by swaps; then the figures of the paper about words that it rests on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rightreasons.audited.context import changes as differences
from rightreasons.audited.context import example_of
from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.decisions import Power
from rightreasons.core.estimates import Estimate, estimate_share, make_estimate
from rightreasons.core.tokens import is_punctuation
from rightreasons.page.parts import Cell, Change, Example, ItemFigure, Mark
from rightreasons.page.plots import (
    DASHES,
    PALETTE,
    PANEL,
    Curve,
    Drawing,
    accuracy_layers,
    axis,
    count_layer,
    curves,
    dot_rows,
    layer,
    series_of,
)
from rightreasons.page.prose import prose
from rightreasons.page.question import (
    Examples,
    Figure,
    Lead,
    Need,
    Part,
    Plot,
    Question,
    Rule,
    Table,
)
from rightreasons.shortcuts.families.training import Token, tokens_of
from rightreasons.shortcuts.judging import TONES
from rightreasons.shortcuts.measure_deciding import FamilyEffect
from rightreasons.shortcuts.measurement import (
    MIN_HALVED,
    ShortcutAnswers,
    has_training,
    measure,
    missing_class,
)
from rightreasons.shortcuts.reliance import ConfidenceBin

KINDS = {"lexicon-cued": "orange", "grammar-cued": "violet", "not cued": "grid"}
"""The types of shortcuts and their colors: cued by a word of the lexicon, by function words and marks alone."""


def shortcut_bins(
    key: str,
    bins: Sequence[ConfidenceBin],
    *,
    intervals: Sequence[Estimate | None],
    null: float,
    title: str = "",
) -> Drawing:
    """Draw the reliability diagram and, under it, what share of each bin is shortcut-cued, stacked by type.

    Args:
        key: The key of the picture.
        bins: M bins of confidence; empty ones are left blank.
        intervals: M accuracies with their intervals; None for empty bins.
        null: The shortcut rate of blind picks over all items.
        title: The title of the picture; "" for none.

    Returns:
        The drawing.
    """
    full = [row for row in bins if row.n_items]
    known = [interval for row, interval in zip(bins, intervals, strict=True) if row.n_items]
    colors = {"accuracy": "blue-soft", **KINDS, "blind picks": "ink"}
    top = {
        "layer": accuracy_layers(full, known, colors, "accuracy"),
        "width": PANEL,
        "height": 220,
        "title": title,
    }
    x = axis("left", "confidence", percent=True, domain=(0, 1), grid=False)
    y = axis("low", "share of the bin", domain=(0, 1.1), values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    stacks, bars = [], {"type": "bar", "stroke": PALETTE["paper"]}
    low = np.zeros(len(full))
    lexicon, grammar = (
        np.array([getattr(row, name) or 0.0 for row in full]) for name in ("lexicon", "grammar")
    )
    for name, share_of_bin in zip(KINDS, (lexicon, grammar, 1 - lexicon - grammar), strict=True):
        high = low + share_of_bin
        rows = [
            {"left": row.lower, "right": row.upper, "low": below, "high": above}
            for row, below, above in zip(full, low.tolist(), high.tolist(), strict=True)
        ]
        color = series_of(name, colors)
        stacks.append(
            layer(bars, rows, x=x, x2={"field": "right"}, y=y, y2={"field": "high"}, color=color)
        )
        low = high
    counts = count_layer(full, [row.n_items for row in full], [1.0] * len(full))
    blind = layer(
        {"type": "rule", "strokeDash": DASHES},
        [{"y": null}],
        y="y",
        color=series_of("blind picks", colors),
    )
    bottom = {"layer": [*stacks, counts, blind], "width": PANEL, "height": 190}
    return Drawing(key, {"vconcat": [top, bottom], "spacing": 12})


N_EXAMPLES = 5

MAX_WORDS = 2
"""Words whose swap is told one by one; of more, the whole text is shown as it becomes."""

PARADOX = "Bihani & Rayz 2025"
SWAPS = "This package; Wang & Culotta 2021; Joshi et al. 2022"

DECIDED = {
    "large": "over a quarter",
    "some": "over a tenth",
    "small": "under a tenth",
    "unknown": "open",
}
TYPES = ("shortcut-cued", "lexicon-cued", "grammar-cued", "blind picks")


def subject(row: FamilyEffect) -> str:
    """Name what decides, as the subject of a sentence in the plural or of one thing."""
    if row.family == "words":
        quoted = [f"“{word}”" for word in row.words]
        marks = [is_punctuation(word) for word in row.words]
        kind = "mark" if all(marks) else "words and mark" if any(marks) else "word"
        kind += "s" if len(quoted) > 1 else ""
        return (
            f"the {kind} {', '.join(quoted[:-1])}{' and ' if len(quoted) > 1 else ''}{quoted[-1]}"
        )
    if row.family == "bigrams":
        return f"the bigrams {row.name}"
    return row.name if row.name.startswith(("the ", "how ")) else f"the {row.name}"


def is_plural(row: FamilyEffect) -> bool:
    """Return whether the verb of what decides is in the plural."""
    if row.family == "words":
        return len(row.words) > 1
    return row.family == "bigrams" or any(word.endswith("s") for word in row.name.split()[:2])


def family_name(row: FamilyEffect) -> str:
    """Return what a row of the strongest features of each family is called."""
    return row.family if row.n_pairs == 1 else f"{row.n_pairs} pairs of words"


def family_cells(row: FamilyEffect) -> tuple[Cell, ...]:
    """Return the cells of a feature from its name on."""
    effect = row.effect
    return (
        row.name,
        row.estimate,
        effect.coverage,
        effect.rate,
        effect.control_rate,
        row.follow_rate,
    )


def family_rows(m: ShortcutAnswers) -> Iterator[tuple[Cell, ...]]:
    """Return what the strongest feature of each family decides."""
    for row in m.swaps.rows:
        adds_little = (
            row.n_pairs > 1 and row.decision.level == "small"
        )  # several pairs are judged beside single ones
        decided = "little beyond each pair" if adds_little else DECIDED[row.decision.level]
        yield family_name(row), *family_cells(row), row.association, decided


def draw_families(key: str, m: ShortcutAnswers) -> Drawing:
    """Draw what each family decides."""
    rows = [(family_name(row), [row.estimate]) for row in m.swaps.rows]
    return dot_rows(key, rows=rows, series=("decides",), xlabel="share of all predictions")


def swapped(m: ShortcutAnswers) -> Iterator[Example]:
    """Show right predictions that the feature that decides most decides, surest first: before and after its swap."""
    split, scores = m.context.primary, m.context.scores()
    is_right = (scores.predicted == split.labels) & ~split.mislabeled
    names = [name for _, name, _, _ in m.swaps.asked]
    # Several pairs of words are shown by the one that changes most.
    feature = (
        m.strongest.name if m.strongest and m.strongest.name in names else names[0] if names else ""
    )
    stays = m.strongest is not None and m.strongest.family == "one text alone"
    right = [
        (row, text, label)
        for row, name, text, label in m.swaps.asked
        if name == feature and is_right[row] and (label == scores.predicted[row]) == stays
    ]
    right.sort(key=lambda each: (-float(scores.confidence[each[0]]), split.ids[each[0]]))
    for row, after, label in right[:N_EXAMPLES]:
        before = (
            (split.texts[row], split.text_pairs[row]) if split.text_pairs else (split.texts[row],)
        )
        marks, becomes = _becomes(before, after)
        example = example_of(m.context, split, row, marks=() if stays else marks)
        note = f"Where {' and '.join(becomes)}: {'still ' if stays else ''}{m.context.label_name(label)}."
        yield dataclasses.replace(example, note=note)


def _becomes(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[Mark, ...], list[str]]:
    """Mark what a swap changes in the first text, and say what becomes of it: a word or two, or the whole text."""
    words = _replaced(before[0], after[0]) if before[1:] == after[1:] else []
    marks = [
        Mark(old.start, old.end, "cue", note=f"becomes “{after[0][new.start : new.end]}”")
        for old, new in words
    ]
    becomes = list(dict.fromkeys(f"it {mark.note}" for mark in marks))
    if 1 <= len(becomes) <= MAX_WORDS:
        return tuple(marks), becomes
    places = ("the first text", "the second text") if before[1:] else ("it",)
    shown = [f"“{new}”".replace("  ", "␣␣").replace("\n", "⏎") for new in after]
    named = zip(places, shown, before, after, strict=True)
    becomes = [f"{place} becomes {new}" for place, new, was, now in named if was != now]
    return tuple(
        dataclasses.replace(mark, kind="cue", note="") for mark in differences(after[0], before[0])
    ), becomes


def _replaced(before: str, after: str) -> list[tuple[Token, Token]]:
    """Return the words that are replaced, and by what; none where the texts differ in the number of words."""
    old, new = tokens_of(before), tokens_of(after)
    return (
        [pair for pair in zip(old, new, strict=True) if pair[0].word != pair[1].word]
        if len(old) == len(new)
        else []
    )


def changes(m: ShortcutAnswers) -> Iterator[tuple[str, Change]]:
    """Return the swaps of words in single texts, which the model was asked about."""
    pairs = {row.name for row in m.swaps.pairs}
    for row, name, text, label in m.swaps.asked:
        if name not in pairs or len(text) > 1:
            continue
        before = m.context.primary.texts[row]
        words = dict.fromkeys((old.word, new.word) for old, new in _replaced(before, text[0]))
        if words:
            name = ", ".join(f"“{old}” → “{new}”" for old, new in words)
            yield before, Change(name, text[0], m.context.label_name(label))


def draw_types(key: str, m: Any) -> Drawing:
    """Draw the types of shortcuts."""
    found = m.measured.reliance
    row = [
        make_estimate(found.shortcut_reliance, found.interval),
        *map(Estimate, (found.lexicon_cued, found.grammar_cued, m.null.rate)),
    ]
    return dot_rows(key, rows=[(m.items.name, row)], series=TYPES, xlabel="share of predictions")


def draw_bins(key: str, m: Any) -> Drawing:
    """Draw reliability and shortcuts by confidence."""
    bins, resampling = m.measured.reliance.bins, m.context.resampling
    intervals = [
        estimate_share(round((row.accuracy or 0.0) * row.n_items), row.n_items, resampling)
        for row in bins
    ]
    return shortcut_bins(key, bins, intervals=intervals, null=m.null.rate)


def draw_training(key: str, m: ShortcutAnswers) -> Drawing:
    """Draw the figures over training."""
    lines = [
        Curve(
            "shortcut rate",
            [Estimate(row["shortcut_rate"], *row["shortcut_rate_interval"]) for row in m.records],
        ),
        Curve("F1", [Estimate(row["f1"]) for row in m.records]),
        Curve("ECE", [Estimate(row["ece"], *row["ece_interval"] or ()) for row in m.records]),
        Curve("blind picks", [Estimate(row["null_rate"]) for row in m.records], dashed=True),
    ]
    steps = [row["step"] for row in m.records]
    return curves(
        key, steps, lines, xlabel="optimizer steps (0: before fine-tuning)", ylabel="share"
    )


def by_item(m: ShortcutAnswers) -> Iterator[ItemFigure]:
    """Say which predictions are cued, and how often those with a named cue change without it, over all removals."""
    if m.items is not None and m.measured is not None:
        yield ItemFigure.of("shortcut_rate", "Shortcut rate", "lower", m.items.ids, m.measured.cued)
    decided, ids = m.swaps.decided, m.context.primary.ids
    name = "Changed by the feature that decides most"
    yield ItemFigure.of(
        "deciding_share",
        name,
        "lower",
        [ids[row] for row in decided],
        np.array(list(decided.values())),
    )


def data(m: Any) -> dict[str, Any]:
    """Return what audit.json has beside the figures."""
    swaps = {
        "conclusion": m.conclusion,
        "families": [row.to_dict() for row in m.swaps.rows],
        "pairs": [row.to_dict() for row in m.swaps.pairs],
        "absent": list(m.swaps.absent),
        "n_near_duplicates": int(m.remembered.sum()),
        "untested": dict(m.swaps.untested),
        "judged": {row.name: m.judge.judge(row) for row in m.deciding},
        "n_items": m.swaps.n_items,
        "n_passes": m.swaps.n_passes,
    }
    protocol = {"protocol": m.protocol.to_dict()}
    if m.measured is None:
        return {"swaps": swaps, "withheld": m.withheld, **protocol}
    reliance = m.measured.reliance
    return {
        "swaps": swaps,
        "splits": {m.items.name: m.measured.record()},
        "null": {name: null.to_dict() for name, null in reliance.null.items()},
        "bins": [row.to_dict() for row in reliance.bins],
        "over_training": list(m.records),
        "attribution": m.measured.attributions.definition,
        **protocol,
    }


SHORTCUTS = Question(
    name="shortcuts",
    title="Does it decide by shortcuts?",
    prose=prose(
        __file__,
        MIN_HALVED=MIN_HALVED,
        MIN_ITEMS=MIN_ITEMS,
        estimate_of=make_estimate,
        is_plural=is_plural,
        subject=subject,
        missing_class=missing_class,
    ),
    without_model="Words are swapped and the model asked again, which stored predictions cannot answer.",
    needs=(
        Need("task", lambda context, options: context.task == "classification"),
        Need("labels", lambda context, options: context.primary.labeled.sum() >= MIN_ITEMS),
        Need("training", lambda context, options: has_training(context)),
        Need("classes", lambda context, options: missing_class(context) is None),
        Need(
            "scores",
            lambda context, options: (
                context.prompted is None
                or context.prompted.rendering.scoring != "generated"
                or not context.why_no_gradients()
            ),
        ),
    ),
    measure=measure,
    power=Power("decides", n_tests=8, item_fraction=0.5),
    figures=(
        *(
            Figure(key, of, SWAPS, better="lower", n=lambda m: m.swaps.n_items)
            for key, of in (
                ("deciding_share", lambda m: m.strongest and m.strongest.estimate),
                ("follow_rate", lambda m: m.strongest and m.strongest.follow_rate),
            )
        ),
        Figure(
            "accuracy_without_cues",
            lambda m: m.swaps.accuracy_without,
            SWAPS,
            better="higher",
            n=lambda m: m.swaps.n_items,
        ),
        Figure(
            "shortcut_rate",
            lambda m: (
                make_estimate(m.measured.reliance.shortcut_reliance, m.measured.reliance.interval)
                if m.measured
                else Estimate(None)
            ),
            f"{PARADOX}; Du et al. 2021",
            no_interval="withheld",
        ),
        Figure(
            "shortcut_excess",
            lambda m: (
                make_estimate(m.null.excess, m.null.interval) if m.measured else Estimate(None)
            ),
            f"{PARADOX}; null model of this package",
            better="lower",
            no_interval="withheld",
        ),
        Figure("lexicon_cued", lambda m: m.measured and m.types["lexicon_cued"], PARADOX),
        Figure("grammar_cued", lambda m: m.measured and m.types["grammar_cued"], PARADOX),
        Figure(
            "shortcut_tradeoff",
            lambda m: (
                m.measured
                and make_estimate(
                    m.measured.tradeoff.shortcut_tradeoff, m.measured.tradeoff.interval
                )
            ),
            PARADOX,
            "ratio",
            no_interval="Too few predictions are shortcut-cued.",
        ),
    ),
    headlines=("deciding_share", "follow_rate", "accuracy_without_cues"),
    verdict=tuple(
        Rule(TONES[key], key, (lambda m, key=key: m.conclusion == key) if key != "open" else None)  # type: ignore[misc]
        for key in sorted(TONES, key=lambda key: key == "open")
    ),
    parts=(
        Part(
            "swaps",
            (
                Plot("families", draw_families, SWAPS, when=lambda m: m.swaps.rows),
                Table("families", family_rows, SWAPS, when=lambda m: m.swaps.rows),
                Table(
                    "pairs",
                    lambda m: map(family_cells, m.swaps.pairs),
                    SWAPS,
                    when=lambda m: m.swaps.pairs,
                ),
                Table(
                    "by_memory", lambda m: m.by_memory, "Broder 1997", when=lambda m: m.by_memory
                ),
                Examples("swapped", swapped),
            ),
            figures=("deciding_share", "follow_rate", "accuracy_without_cues"),
        ),
        Part("withheld", when=lambda m: m.withheld),
        Part(
            "overview",
            (Plot("shortcut_types", draw_types, f"{PARADOX}, figure 1"),),
            figures=("shortcut_rate", "shortcut_excess", "lexicon_cued", "grammar_cued"),
            when=lambda m: m.measured,
        ),
        Part(
            "confidence",
            (Plot("shortcuts_by_confidence", draw_bins, f"{PARADOX}, figure 3"),),
            when=lambda m: m.measured,
        ),
        Part(
            "training",
            (Plot("shortcuts_over_training", draw_training, f"{PARADOX}, figure 2"),),
            when=lambda m: m.records,
        ),
    ),
    leads=(
        Lead(
            "decides",
            figure="deciding_share",
            plot="families",
            size=lambda m: max(m.strongest.effect.deciding_share, 0.0),
            pair=lambda m: tuple(swapped(m))[:1],
            contrast=lambda m: (m.strongest.effect.rate, m.strongest.effect.control_rate),
            when=lambda m: m.deciding,
        ),
        # The swaps of a rare feature may change all of its few predictions: of one that decides little, shares of all.
        Lead("spreads", figure="deciding_share", plot="families", when=lambda m: m.swaps.rows),
    ),
    data=data,
    by_item=by_item,
    changes=changes,
)
