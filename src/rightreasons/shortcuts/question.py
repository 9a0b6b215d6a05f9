"""Does it decide by shortcuts? What decides, by swaps; then the figures of the paper about words that it rests on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rightreasons.audited.context import changes as differences
from rightreasons.audited.context import example_of
from rightreasons.audited.splits import AuditSplit
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
from rightreasons.shortcuts.judging import TONES
from rightreasons.shortcuts.measure_deciding import TEST_MARGINS, FeatureEffect
from rightreasons.shortcuts.measurement import (
    MIN_HALVED,
    ShortcutAnswers,
    has_training,
    measure,
    missing_class,
)
from rightreasons.shortcuts.reliance import ConfidenceBin
from rightreasons.shortcuts.swapping.segments import Segmenter, Token
from rightreasons.shortcuts.swapping.training import get_item

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
    # A bin without items has no accuracy and no shares.
    filled_bins = []
    filled_intervals = []
    for row, interval in zip(bins, intervals, strict=True):
        if row.n_items:
            filled_bins.append(row)
            filled_intervals.append(interval)
    colors = {"accuracy": "blue-soft", **KINDS, "blind picks": "ink"}
    top = {
        "layer": accuracy_layers(filled_bins, filled_intervals, colors, "accuracy"),
        "width": PANEL,
        "height": 220,
        "title": title,
    }
    x = axis("left", "confidence", percent=True, domain=(0, 1), grid=False)
    y = axis("low", "share of the bin", domain=(0, 1.1), values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    stacks = []
    bars = {"type": "bar", "stroke": PALETTE["paper"]}
    low = np.zeros(len(filled_bins))
    lexicon = np.array([row.lexicon or 0.0 for row in filled_bins])
    grammar = np.array([row.grammar or 0.0 for row in filled_bins])
    # Each kind is stacked on the ones before it.
    for name, share_of_bin in zip(KINDS, (lexicon, grammar, 1 - lexicon - grammar), strict=True):
        high = low + share_of_bin
        rows = []
        for row, start, stop in zip(filled_bins, low.tolist(), high.tolist(), strict=True):
            rows.append({"left": row.lower, "right": row.upper, "low": start, "high": stop})
        color = series_of(name, colors)
        stacks.append(
            layer(bars, rows, x=x, x2={"field": "right"}, y=y, y2={"field": "high"}, color=color)
        )
        low = high
    sizes = [row.n_items for row in filled_bins]
    counts = count_layer(filled_bins, sizes, [1.0] * len(filled_bins))
    blind = layer(
        {"type": "rule", "strokeDash": DASHES},
        [{"y": null}],
        y="y",
        color=series_of("blind picks", colors),
    )
    bottom = {"layer": [*stacks, counts, blind], "width": PANEL, "height": 190}
    return Drawing(key, {"vconcat": [top, bottom], "spacing": 12})


N_EXAMPLES = 5
"""Number of examples before and after a swap."""

MAX_WORDS = 2
"""Number of replaced words that an example names; of more, it shows the whole text."""

MAX_SUBJECT_WORDS = 4
"""Number of words by which a sentence names a list."""

PARADOX = "Bihani & Rayz 2025"
SWAPS = "This package; Wang & Culotta 2021; Joshi et al. 2022; Tango 1998"

TYPES = ("shortcut-cued", "lexicon-cued", "grammar-cued", "blind picks")

ALL_WORDS_NAMED = ("words", "declared words", "insertion")
"""Tests of words that are all named, rather than by examples."""

GROUPS = {
    "declared words": "the words",
    "all listed words": "words",
    "a word per text": "a single word of each text",
    "rare words": "rare words",
}
"""Test of a list -> what its words are called."""

PLURAL_TESTS = ("declared words", "all listed words", "rare words", "form")


def subject(row: FeatureEffect) -> str:
    """Return a name of what decides that can be the subject of a sentence.

    A list is named by its most effective words, and the form by its marks, so that a reader sees the thing.
    """
    words = row.words[:MAX_SUBJECT_WORDS]
    if row.test in ("words", "insertion"):
        return f"the {_name_kind(row.words)} {_quote(row.words)}"
    if row.test in GROUPS:
        group = GROUPS[row.test]
        if not words:
            return group
        relation = " " if row.test == "declared words" else ", such as "
        return f"{group}{relation}{_quote(words)}"
    if row.test == "form" and words:
        return f"{row.name}, such as {_quote(words)}"
    if row.test == "any word":
        return "the exact wording"
    if row.test == "place":
        return f"the {row.name} of the text"
    if row.test == "overlap":
        return "the words that both texts share"
    return row.name if row.name.startswith("the ") else f"the {row.name}"


def _name_kind(words: Sequence[str]) -> str:
    """Return what words and marks are called together."""
    n_marks = sum(is_punctuation(word) for word in words)
    kind = "word"
    if n_marks == len(words):
        kind = "mark"
    elif n_marks:
        kind = "words and mark"
    return kind if len(words) == 1 else f"{kind}s"


def _quote(words: Sequence[str]) -> str:
    """Return words in quotation marks as an enumeration."""
    quoted = [f"“{word}”" for word in words]
    if len(quoted) == 1:
        return quoted[0]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def is_plural(row: FeatureEffect) -> bool:
    """Return whether the subject of a sentence about a feature is in the plural."""
    if row.test in ("words", "insertion"):
        return len(row.words) > 1
    return row.test in PLURAL_TESTS or row.test == "overlap"


def describe_decision(row: FeatureEffect) -> str:
    """Return a decision beside its margin, such as "less than 50%"."""
    margin = TEST_MARGINS[row.test]
    texts = {
        "large": f"more than {margin.large:.0%}",
        "some": f"more than {margin.small:.0%}",
        "small": f"less than {margin.small:.0%}",
        "unknown": "open",
    }
    return texts[row.decision.level]


def list_cells(row: FeatureEffect) -> tuple[Cell, ...]:
    """Return the cells of a feature from its name on."""
    effect = row.effect
    return (
        name_feature(row),
        row.estimate,
        effect.coverage,
        effect.rate,
        effect.control_rate,
        row.follow_rate,
    )


def name_feature(row: FeatureEffect) -> str:
    """Return the words of a feature, or its name."""
    if row.test == "words" or not row.words:
        return row.name
    return ", ".join(row.words[: 2 * MAX_SUBJECT_WORDS])


def list_test_rows(m: ShortcutAnswers) -> Iterator[tuple[Cell, ...]]:
    """Yield the effect of each test."""
    for row in m.swaps.rows:
        yield row.test, *list_cells(row), describe_decision(row)


def list_insertion_rows(m: ShortcutAnswers) -> Iterator[tuple[Cell, ...]]:
    """Yield, for each label, the word that makes it most often when it is put in."""
    for row in m.swaps.insertions:
        yield row.words[0], m.context.label_name(row.label), row.estimate, row.effect.control_rate


def draw_tests(key: str, m: ShortcutAnswers) -> Drawing:
    """Draw the effect of each test."""
    rows = [(row.test, [row.estimate]) for row in m.swaps.rows]
    return dot_rows(key, rows=rows, series=("decides",), xlabel="share of all predictions")


def swapped(m: ShortcutAnswers) -> Iterator[Example]:
    """Yield correct predictions before and after the swap of the strongest feature, most confident first."""
    if m.strongest is None:
        return
    split, scores = m.context.primary, m.context.scores()
    is_correct = (scores.predicted == split.labels) & ~split.mislabeled
    # Of one text alone, the predictions that stay the same are the evidence.
    stays = m.strongest.test == "one text alone"
    items = []
    for item in m.swaps.swapped_items:
        is_same = item.label == scores.predicted[item.row]
        if item.feature == m.strongest.key and is_correct[item.row] and is_same == stays:
            items.append(item)
    items.sort(key=lambda item: (-float(scores.confidence[item.row]), split.ids[item.row]))
    for item in items[:N_EXAMPLES]:
        original = get_item([split.texts, *_list_pairs(split)], item.row)
        marks, changes_in_words = describe_swap(original, item.text)
        example = example_of(m.context, split, item.row, marks=() if stays else marks)
        label = m.context.label_name(item.label)
        if stays:
            label = f"still {label}"
        note = f"Where {' and '.join(changes_in_words)}: {label}."
        yield dataclasses.replace(example, note=note)


def _list_pairs(split: AuditSplit) -> list[Sequence[str]]:
    """Return the column of second texts, if there is one."""
    return [] if split.text_pairs is None else [split.text_pairs]


def describe_swap(
    original: Sequence[str], edited: Sequence[str]
) -> tuple[tuple[Mark, ...], list[str]]:
    """Mark what a swap changes in the first text, and say what becomes of a word or two, or of the whole text."""
    words = _align_words(original[0], edited[0]) if original[1:] == edited[1:] else []
    marks = []
    for token, replacement in words:
        note = f"becomes “{edited[0][replacement.start : replacement.end]}”"
        marks.append(Mark(token.start, token.end, "cue", note=note))
    sentences = list(dict.fromkeys(f"it {mark.note}" for mark in marks))
    if 1 <= len(sentences) <= MAX_WORDS:
        return tuple(marks), sentences

    columns = ("the first text", "the second text") if original[1:] else ("it",)
    sentences = []
    for column, old_text, new_text in zip(columns, original, edited, strict=True):
        if old_text != new_text:
            # Spaces and line breaks are shown, as a page shows neither.
            visible = new_text.replace("  ", "␣␣").replace("\n", "⏎")
            sentences.append(f"{column} becomes “{visible}”")
    differing = differences(edited[0], original[0])
    return tuple(dataclasses.replace(mark, kind="cue", note="") for mark in differing), sentences


def _align_words(original: str, edited: str) -> list[tuple[Token, Token]]:
    """Return the words that are replaced, with their replacements; [] if the numbers of words differ."""
    segmenter = Segmenter()
    tokens = segmenter.split((original,))
    replacements = segmenter.split((edited,))
    if len(tokens) != len(replacements):
        return []
    pairs = []
    for token, replacement in zip(tokens, replacements, strict=True):
        if token.word != replacement.word:
            pairs.append((token, replacement))
    return pairs


def changes(m: ShortcutAnswers) -> Iterator[tuple[str, Change]]:
    """Yield the swaps of word pairs in single texts, with what the model predicts."""
    pairs = {row.name for row in m.swaps.pairs}
    for item in m.swaps.swapped_items:
        if item.feature not in pairs or len(item.text) > 1:
            continue
        original = m.context.primary.texts[item.row]
        # A word that occurs twice is swapped twice, and named once.
        swaps = {}
        for token, replacement in _align_words(original, item.text[0]):
            swaps[f"“{token.word}” → “{replacement.word}”"] = True
        if swaps:
            name = ", ".join(swaps)
            yield original, Change(name, item.text[0], m.context.label_name(item.label))


def draw_types(key: str, m: Any) -> Drawing:
    """Draw the types of shortcuts."""
    reliance = m.measured.reliance
    row = [
        make_estimate(reliance.shortcut_reliance, reliance.interval),
        Estimate(reliance.lexicon_cued),
        Estimate(reliance.grammar_cued),
        Estimate(m.null.rate),
    ]
    return dot_rows(key, rows=[(m.items.name, row)], series=TYPES, xlabel="share of predictions")


def draw_bins(key: str, m: Any) -> Drawing:
    """Draw reliability and shortcuts by confidence."""
    bins = m.measured.reliance.bins
    intervals = []
    for row in bins:
        n_correct = round((row.accuracy or 0.0) * row.n_items)
        intervals.append(estimate_share(n_correct, row.n_items, m.context.resampling))
    return shortcut_bins(key, bins, intervals=intervals, null=m.null.rate)


def draw_training(key: str, m: ShortcutAnswers) -> Drawing:
    """Draw the figures over training."""
    steps = []
    rates = []
    f1_scores = []
    errors = []
    blind_rates = []
    for row in m.records:
        steps.append(row["step"])
        rates.append(Estimate(row["shortcut_rate"], *row["shortcut_rate_interval"]))
        f1_scores.append(Estimate(row["f1"]))
        # Few items have no interval of the calibration error.
        errors.append(Estimate(row["ece"], *row["ece_interval"] or ()))
        blind_rates.append(Estimate(row["null_rate"]))
    lines = [
        Curve("shortcut rate", rates),
        Curve("F1", f1_scores),
        Curve("ECE", errors),
        Curve("blind picks", blind_rates, dashed=True),
    ]
    return curves(
        key, steps, lines, xlabel="optimizer steps (0: before fine-tuning)", ylabel="share"
    )


def by_item(m: ShortcutAnswers) -> Iterator[ItemFigure]:
    """Say which predictions are cued, and how often those with a named cue change without it, over all removals."""
    if m.items is not None and m.measured is not None:
        yield ItemFigure.of("shortcut_rate", "Shortcut rate", "lower", m.items.ids, m.measured.cued)
    ids = []
    changes_by_pair = []
    for row, is_changed in m.swaps.prediction_changes.items():
        ids.append(m.context.primary.ids[row])
        changes_by_pair.append(is_changed)
    name = "Changed by the strongest pair of words"
    yield ItemFigure.of("deciding_share", name, "lower", ids, np.array(changes_by_pair))


def data(m: Any) -> dict[str, Any]:
    """Return what audit.json has beside the figures."""
    swaps = {
        "conclusion": m.conclusion,
        "tests": [row.to_dict() for row in m.swaps.rows],
        "insertions": [row.to_dict() for row in m.swaps.insertions],
        "pairs": [row.to_dict() for row in m.swaps.pairs],
        "n_near_duplicates": int(m.remembered.sum()),
        "untested": dict(m.swaps.untested),
        "judged": {row.name: m.judge.judge(row) for row in m.deciding},
        "n_items": m.swaps.n_items,
        "n_passes": m.swaps.n_passes,
        "n_duplicates": m.swaps.n_duplicates,
        "n_unstable": m.swaps.n_unstable,
        "has_training": not m.is_halved,
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
                ("deciding_share", lambda m: m.deciding_estimate),
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
                Plot("tests", draw_tests, SWAPS, when=lambda m: m.swaps.rows),
                Table("tests", list_test_rows, SWAPS, when=lambda m: m.swaps.rows),
                Table(
                    "pairs",
                    lambda m: map(list_cells, m.swaps.pairs),
                    SWAPS,
                    when=lambda m: m.swaps.pairs,
                ),
                Table(
                    "insertions",
                    list_insertion_rows,
                    SWAPS,
                    when=lambda m: m.swaps.insertions,
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
            plot="tests",
            size=lambda m: max(m.strongest.effect.deciding_share, 0.0),
            pair=lambda m: tuple(swapped(m))[:1],
            contrast=lambda m: (m.strongest.effect.rate, m.strongest.effect.control_rate),
            when=lambda m: m.deciding,
        ),
        # The swaps of a rare feature may change all of its few predictions: of one that decides little, shares of all.
        Lead("spreads", figure="deciding_share", plot="tests", when=lambda m: m.swaps.rows),
    ),
    data=data,
    by_item=by_item,
    changes=changes,
)
