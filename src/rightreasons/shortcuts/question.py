"""The question of an audit: does the model rely on shortcuts?

The verdict rests on swaps, which measure what decides. The figures of the Reliability Paradox, about
the words that predictions rely on, supplement it. `SHORTCUTS` declares the figures, the rules of the
verdict, and the parts of the page; its sentences are in `question.md.j2`.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from rightreasons.audited.context import AuditContext
from rightreasons.audited.splits import digest_texts
from rightreasons.core.choices import MIN_ITEMS
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.page.parts import ItemFigure
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
from rightreasons.shortcuts.examples import (
    list_changes,
    list_misclassified_examples,
    list_swapped_examples,
)
from rightreasons.shortcuts.judging import TONES
from rightreasons.shortcuts.measure_deciding import NAMING_TESTS, WORD_TESTS, FeatureEffect
from rightreasons.shortcuts.measurement import (
    MIN_HALVED,
    POWER,
    ShortcutAnswers,
    find_missing_class,
    has_training,
    make_earlier_values,
    measure,
)
from rightreasons.shortcuts.options import ShortcutsOptions
from rightreasons.shortcuts.plots import draw_bins, draw_tests, draw_training, draw_types
from rightreasons.shortcuts.swapping.edits import Pair
from rightreasons.shortcuts.swapping.word_lists import MAX_WORDS
from rightreasons.shortcuts.wording import (
    describe_decision,
    describe_margin,
    is_plural,
    list_cells,
    list_insertion_rows,
    list_test_rows,
    name_pair_key,
    needs_agreement,
    quote_words,
    subject,
)

PARADOX = "Bihani & Rayz 2025"
SWAPS = "This package; Wang & Culotta 2021; Joshi et al. 2022; Tango 1998"


def get_deciding_share(measurement: ShortcutAnswers) -> Estimate | None:
    """Return the share of all predictions that the strongest feature decides."""
    return measurement.deciding_estimate


def count_tested(measurement: ShortcutAnswers) -> int:
    """Return the number of items from which the share of the strongest feature is computed."""
    # Items that selected the words of the feature are no part of its test.
    return 0 if measurement.reported is None else measurement.reported.effect.n_items


def count_followable(measurement: ShortcutAnswers) -> int:
    """Return the number of swaps of the strongest feature, of which the follow rate is a share."""
    strongest = measurement.strongest
    if strongest is None or strongest.counts is None:
        return 0
    return strongest.counts.n_towards_other


def compare_with_control(measurement: ShortcutAnswers) -> tuple[float | None, float | None]:
    """Return two shares whose difference is what the strongest feature decides.

    They are the shares of all tested predictions that flip with the swap and with the control. For
    a third of the text, they are the differences of these two, for the third and for the second
    most effective one. For one text of a pair, they are the share of predictions that stay the same
    without the other text, and that by chance.

    Args:
        measurement: Answers with a feature that decides.

    Returns:
        The two shares; None for a share that is not defined, such as without controls.
    """
    row = measurement.reported
    if row is None or row.counts is None:
        return None, None
    if row.test == "one text alone":
        return row.effect.rate, row.effect.control_rate
    if row.runner_up is not None:
        # The effect of the third itself is a difference from that of the second one.
        second_share = row.runner_up.effect.deciding_share
        # A negative share has no bar.
        if second_share < 0:
            return None, None
        return second_share + row.effect.deciding_share, second_share
    counts = row.counts
    control_share = None
    if counts.n_controls:
        control_share = counts.n_control_flipped / counts.n_items
    return counts.n_flipped / counts.n_items, control_share


def get_follow_rate(measurement: ShortcutAnswers) -> Estimate | None:
    """Return the follow rate of the strongest feature."""
    return None if measurement.strongest is None else measurement.strongest.follow_rate


def get_shortcut_rate(measurement: ShortcutAnswers) -> Estimate:
    """Return the share of predictions that are shortcut-cued."""
    # A withheld figure has a row without a value, so that its absence is seen.
    if measurement.measured is None:
        return Estimate(None)
    reliance = measurement.measured.reliance
    return make_estimate(reliance.shortcut_reliance, reliance.interval)


def get_excess(measurement: ShortcutAnswers) -> Estimate:
    """Return the shortcut rate minus that of the null model."""
    if measurement.null is None:
        return Estimate(None)
    return make_estimate(measurement.null.excess, measurement.null.interval)


def get_tradeoff(measurement: ShortcutAnswers) -> Estimate | None:
    """Return F1 divided by the shortcut rate; None if no attributions were measured."""
    # The page shows the quotient only together with its two parts.
    if measurement.measured is None:
        return None
    tradeoff = measurement.measured.tradeoff
    return make_estimate(tradeoff.shortcut_tradeoff, tradeoff.interval)


def has_scores(context: AuditContext, options: ShortcutsOptions) -> bool:
    """Return whether answers can be scored, which is fast enough for thousands of queries.

    A model that generates its answers needs one pass per token. If it runs locally, with gradients,
    its answers can be scored instead.

    Args:
        context: The audit; its `prompted` is None for a classifier.
        options: Options of the question, which do not matter.
    """
    if context.prompted is None or context.prompted.rendering.scoring != "generated":
        return True
    return not context.why_no_gradients()


def has_conclusion(measurement: ShortcutAnswers, *, key: str) -> bool:
    """Return whether the tests lead to a conclusion of `conclude`."""
    return measurement.conclusion == key


def make_rules() -> tuple[Rule, ...]:
    """Return the rules of the verdict: one for each conclusion, "open" last."""
    rules = []
    # "open" has no condition: it applies if no other rule does.
    for key, tone in TONES.items():
        if key != "open":
            rules.append(Rule(tone, key, condition=functools.partial(has_conclusion, key=key)))
    rules.append(Rule(TONES["open"], "open"))
    return tuple(rules)


def list_item_figures(measurement: ShortcutAnswers) -> Iterator[ItemFigure]:
    """Yield the figures with a value for each item, which `compare` uses to pair two audits.

    The first figure is whether each prediction is shortcut-cued. Each pair of words has another
    one: whether its swap flips the prediction. Only items that were tested have a value.

    Args:
        measurement: The answers, with the swaps and, if the model has gradients, the attributions.
    """
    # Models without gradients have no shortcut rate.
    if measurement.items is not None and measurement.measured is not None:
        yield ItemFigure.from_arrays(
            "shortcut_rate",
            "Shortcut-cued",
            "lower",
            measurement.items.ids,
            measurement.measured.cued,
        )
    # Two pairs may have the same predictive words, of which the stronger one comes first.
    figure_by_key: dict[str, ItemFigure] = {}
    for index, change in enumerate(measurement.swaps.pair_changes):
        key = _name_item_figure(change.pair)
        if key in figure_by_key:
            continue
        ids = [measurement.context.primary.ids[row] for row in change.rows.tolist()]
        is_strongest = index == 0
        figure_by_key[key] = ItemFigure.from_arrays(
            key,
            f"Flips with the swap of {quote_words(change.pair.predictive_words)}",
            "lower",
            ids,
            change.is_changed,
            is_finding=is_strongest or change.effect.is_decisive,
        )
    yield from figure_by_key.values()


def find_item_figure(measurement: ShortcutAnswers, feature: FeatureEffect) -> str:
    """Return the key of the figure by item of a feature; "" if the feature is no pair of words.

    Args:
        measurement: The answers, with the swaps.
        feature: The feature.
    """
    for change in measurement.swaps.pair_changes:
        # Another test, such as that of declared words, may swap the two words of a pair as well.
        has_same_words = set(change.pair.predictive_words) == set(feature.words)
        is_swapped_words = feature.test in NAMING_TESTS and has_same_words
        if change.effect.key == feature.key or is_swapped_words:
            return _name_item_figure(change.pair)
    return ""


def _name_item_figure(pair: Pair) -> str:
    """Return the key of the figure whether the swap of a pair of words flips each prediction."""
    # The key names the words, so that a comparison never pairs two different features.
    return f"deciding_share.{name_pair_key(pair)}"


def make_data(measurement: Any) -> dict[str, Any]:
    """Return the data that audit.json stores about the question, next to the figures.

    Args:
        measurement: `ShortcutAnswers`.

    Returns:
        `swaps`, the results of all tests; `protocol` and `tested`, the settings and the record for
        a later audit; and either `withheld`, the reason why there are no attributions, or the
        figures of the paper.
    """
    swaps = {
        "conclusion": measurement.conclusion,
        "tests": [row.to_dict() for row in measurement.swaps.rows],
        "insertions": [row.to_dict() for row in measurement.swaps.insertions],
        "pairs": [row.to_dict() for row in measurement.swaps.pairs],
        "n_near_duplicates": int(measurement.remembered.sum()),
        "untested": dict(measurement.swaps.untested),
        "judged": {row.name: measurement.judge.judge(row) for row in measurement.deciding},
        "n_items": measurement.swaps.n_items,
        "n_passes": measurement.swaps.n_passes,
        "n_duplicates": measurement.swaps.n_duplicates,
        "n_unstable": measurement.swaps.n_unstable,
        "has_training": not measurement.is_halved,
    }
    protocol = {
        "protocol": measurement.protocol.to_dict(),
        "tested": make_earlier_values(measurement),
    }
    # Audited items that replace training texts have no digest.
    if not measurement.is_halved:
        swaps["training_digest"] = digest_texts(measurement.context.train)
    if measurement.measured is None:
        return {"swaps": swaps, "withheld": measurement.withheld, **protocol}

    # The keys are those of `ShortcutCallback`, so that both are read by the same code.
    reliance = measurement.measured.reliance
    return {
        "swaps": swaps,
        "splits": {measurement.items.name: measurement.measured.record()},
        "null": {name: null.to_dict() for name, null in reliance.null.items()},
        "bins": [row.to_dict() for row in reliance.bins],
        "over_training": list(measurement.records),
        "attribution": measurement.measured.attributions.definition,
        **protocol,
    }


FIGURES = (
    Figure(
        "deciding_share",
        get_deciding_share,
        SWAPS,
        better="lower",
        n=count_tested,
    ),
    Figure(
        "follow_rate",
        get_follow_rate,
        SWAPS,
        better="lower",
        n=count_followable,
    ),
    Figure(
        "accuracy_without_cues",
        lambda m: m.swaps.accuracy_without,
        SWAPS,
        better="higher",
        n=lambda m: m.swaps.n_labeled,
    ),
    # A shortcut rate has no better direction: words that predict a label often mean it.
    Figure(
        "shortcut_rate",
        get_shortcut_rate,
        f"{PARADOX}; Du et al. 2021",
        no_interval="withheld",
    ),
    Figure(
        "shortcut_excess",
        get_excess,
        f"{PARADOX}; null model of this package",
        better="lower",
        no_interval="withheld",
    ),
    Figure("lexicon_cued", lambda m: m.types.get("lexicon_cued"), PARADOX),
    Figure("grammar_cued", lambda m: m.types.get("grammar_cued"), PARADOX),
    Figure(
        "shortcut_tradeoff",
        get_tradeoff,
        PARADOX,
        "ratio",
        no_interval="Too few predictions are shortcut-cued.",
    ),
)

NEEDS = (
    Need("task", lambda context, options: context.task == "classification"),
    Need("labels", lambda context, options: context.primary.labeled.sum() >= MIN_ITEMS),
    Need("training", lambda context, options: has_training(context)),
    Need("classes", lambda context, options: find_missing_class(context) is None),
    Need("scores", has_scores),
)

# What the swaps show comes first: it gives the verdict. The figures of the paper describe.
PARTS = (
    Part(
        "swaps",
        (
            Plot("tests", draw_tests, SWAPS, condition=lambda m: m.swaps.rows),
            Table("tests", list_test_rows, SWAPS, condition=lambda m: m.swaps.rows),
            Table(
                "pairs",
                lambda m: map(list_cells, m.swaps.pairs),
                SWAPS,
                condition=lambda m: m.swaps.pairs,
            ),
            Table(
                "insertions",
                list_insertion_rows,
                SWAPS,
                condition=lambda m: m.swaps.insertions,
            ),
            Table(
                "by_memory",
                lambda m: m.by_memory,
                "Broder 1997",
                condition=lambda m: m.by_memory,
            ),
            Examples("swapped", list_swapped_examples),
        ),
        figures=("deciding_share", "follow_rate", "accuracy_without_cues"),
    ),
    # Without gradients, or if attributions do not add up, there are no figures of the paper.
    Part("withheld", condition=lambda m: m.withheld),
    Part(
        "overview",
        (
            Plot("shortcut_types", draw_types, f"{PARADOX}, figure 1"),
            Examples("misclassified", list_misclassified_examples),
        ),
        figures=("shortcut_rate", "shortcut_excess", "lexicon_cued", "grammar_cued"),
        condition=lambda m: m.measured,
    ),
    Part(
        "confidence",
        (Plot("shortcuts_by_confidence", draw_bins, f"{PARADOX}, figure 3"),),
        condition=lambda m: m.measured,
    ),
    Part(
        "training",
        (Plot("shortcuts_over_training", draw_training, f"{PARADOX}, figure 2"),),
        condition=lambda m: m.records,
    ),
)

LEADS = (
    # A second audit begins with what the first one named, whatever else decides.
    Lead(
        "again",
        figure="deciding_share",
        plot="tests",
        size=lambda m: max((row.effect.deciding_share for row in m.deciding), default=0.0),
        pair=lambda m: tuple(list_swapped_examples(m, m.named_before))[:1],
        contrast=lambda m: (m.previous.decisive_share, m.named_before.estimate),
        item_figure=lambda m: find_item_figure(m, m.named_before),
        condition=lambda m: m.named_before,
    ),
    Lead(
        "decides",
        figure="deciding_share",
        plot="tests",
        # The size orders the answers of an audit; a share below the control is no finding.
        size=lambda m: max(m.reported.effect.deciding_share, 0.0),
        pair=lambda m: tuple(list_swapped_examples(m))[:1],
        contrast=compare_with_control,
        item_figure=lambda m: find_item_figure(m, m.strongest),
        condition=lambda m: m.deciding,
    ),
    # The swaps of a rare feature may change all of its few predictions: without a finding, the
    # first screen shows shares of all predictions.
    Lead("spreads", figure="deciding_share", plot="tests", condition=lambda m: m.swaps.rows),
)

SHORTCUTS = Question(
    name="shortcuts",
    title="Does it rely on shortcuts?",
    prose=prose(
        __file__,
        MIN_HALVED=MIN_HALVED,
        MIN_ITEMS=MIN_ITEMS,
        MAX_WORDS=MAX_WORDS,
        WORD_TESTS=WORD_TESTS,
        is_plural=is_plural,
        needs_agreement=needs_agreement,
        margin_of=describe_margin,
        describe_decision=describe_decision,
        subject=subject,
        find_missing_class=find_missing_class,
    ),
    without_model="The tests swap words and query the model again, "
    "which stored predictions do not allow.",
    needs=NEEDS,
    measure=measure,
    # About half of the items offer the candidates, and eight kinds of tests share the level.
    power=POWER,
    figures=FIGURES,
    headlines=("deciding_share", "follow_rate", "accuracy_without_cues"),
    verdict=make_rules(),
    parts=PARTS,
    leads=LEADS,
    data=make_data,
    by_item=list_item_figures,
    changes=list_changes,
)
