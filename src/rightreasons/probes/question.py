"""Do its answers stay without the question, is it lost among many choices, and does their order decide?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rightreasons.core.decisions import MARGINS, Power
from rightreasons.core.estimates import Estimate, make_estimate
from rightreasons.datasets.perturbing.probes import ORIGINAL
from rightreasons.page.parts import Cell, Example, ItemFigure
from rightreasons.page.plots import Curve, Drawing, curves
from rightreasons.page.prose import Prose, prose
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
from rightreasons.probes.bias import PriorBias
from rightreasons.probes.measure import WITHOUT_ANSWER, extra_choices_name, spare_choices
from rightreasons.probes.measurement import NAMES, ProbesMeasurement, measure


def paralysis_curve(key: str, m: Any) -> Drawing:
    """Draw the drop of the confidence in the right choice against the number of added choices, with its null."""
    effects = dict(sorted(m.scored.paralysis.items()))
    lines = [
        Curve("drop", [effect.drop.estimate for effect in effects.values()]),
        Curve(
            "among its own choices",
            [effect.restricted_drop.estimate for effect in effects.values()],
        ),
        Curve("null", [Estimate(effect.null_drop) for effect in effects.values()], dashed=True),
    ]
    return curves(
        key,
        list(effects),
        lines,
        xlabel="added choices",
        ylabel="drop of the confidence",
        zero=True,
    )


MIN_ITEMS = 10
"""With fewer labeled items than this, nothing can be said about a preference."""

N_EXAMPLES = 3

LONGEST_CHOICE = 160

SHEN, ZHENG = "Shen & Kejriwal 2022", "Zheng et al. 2024"
BALEPUR = "Balepur et al. 2024; comparison of this package"

WITHOUT = {
    "no_question": "without the question",
    "wrong_question": "with the question of another item",
}
DONE = {
    "no_question": "the prompt is removed",
    "wrong_question": "the prompt is replaced by that of another item",
    "no_right_answer": "the right choice is replaced by one of another item",
}
KEPT = {"no_question": "kept_without_question", "wrong_question": "kept_with_another_question"}
"""Probe -> the figure of the answers that stay under it."""

DROPS = {
    "choice_paralysis": lambda effect: effect.drop.estimate,
    "restricted_drop": lambda effect: effect.restricted_drop.estimate,
}


def reading_rows(m: Any) -> Iterator[tuple[Cell, ...]]:
    """Return what becomes of the answers without the question, and with another one."""
    for name, read in m.reading.items():
        kept = (read.kept, read.by_chance, read.beyond_chance)
        yield NAMES[name], *kept, read.accuracy_without, read.guessing, read.lost


def kept_items(m: Any) -> Iterator[Example]:
    """Show items whose answer stays without their question, those with the right one first."""
    before, after = m.picked[ORIGINAL], m.picked[m.probe]
    stays = np.flatnonzero((before == after) & (before >= 0))
    wrong = m.tables.labels()[stays] != before[stays]
    for row in stays[np.argsort(wrong, kind="stable")][:N_EXAMPLES].tolist():
        item, other = m.tables.tables[ORIGINAL][row], m.tables.tables[m.probe][row]["prompt"]
        right, answer = (
            shortened(item["choices"][place]) for place in (item["label"], before[row])
        )
        confidence = (
            float(m.tables.confidences[ORIGINAL][row][before[row]]) if is_scored(m) else None
        )
        question = (
            f"With “{shortened(other)}” in the place of its question"
            if other
            else "Without its question"
        )
        note = f"{question}, the answer is the same."
        yield Example(str(item["id"]), item["prompt"], right, answer, confidence, note=note)


def mean_bias(bias: PriorBias) -> Estimate:
    """Return a prior bias with its interval."""
    return make_estimate(bias.prior_bias, bias.interval)


def bias_rows(m: Any) -> Iterator[tuple[Cell, ...]]:
    """Return the prior bias of the unchanged items, and under each probe without an answer."""
    intervals = m.scored.pseudo_correct_intervals
    for name, bias in {ORIGINAL: m.scored.original, **m.scored.prior_bias}.items():
        old = bias.pseudo_correct
        yield (
            NAMES[name],
            mean_bias(bias),
            bias.normalized_prior_bias,
            bias.normalized_divergence,
            bias.mean_top_confidence,
            *(
                (None,) * 3
                if old is None
                else (make_estimate(old.rate, intervals.get(name)), old.chance, old.p_value)
            ),
        )


def paralysis_rows(m: Any) -> Iterator[tuple[Cell, ...]]:
    """Return the effect of each number of added choices."""
    for k, effect in sorted(m.scored.paralysis.items()):
        drop, restricted = effect.drop, effect.restricted_drop
        drops = (drop.estimate, drop.t_p_value, effect.null_drop, effect.mechanical_drop)
        accuracies = (effect.accuracy, effect.perturbed_accuracy, effect.restricted_accuracy)
        yield k, *drops, restricted.estimate, restricted.t_p_value, *accuracies


def shortened(text: str) -> str:
    """Cut a long text."""
    return text if len(text) <= LONGEST_CHOICE else f"{text[: LONGEST_CHOICE - 1].rstrip()}…"


def data(m: ProbesMeasurement) -> dict[str, Any]:
    """Return what audit.json has beside the figures."""
    shared = {
        "decided": {name: each.to_dict() for name, each in m.decided.items()},
        "n_left_out": m.tables.n_dropped,
    }
    if m.scored is None:
        return {"reading": {name: read.to_dict() for name, read in m.reading.items()}, **shared}
    orders = None if m.orders is None else m.orders.to_dict()
    if orders is not None:
        del orders["steady"]
    return {
        "figures": m.scored.to_dict(),
        "orders": orders,
        **shared,
        "not_scored": [{"id": name, "reason": reason} for name, reason in m.tables.left_out],
        "sees_choices_together": m.joint,
    }


def by_item(m: ProbesMeasurement) -> Iterator[ItemFigure]:
    """Return what is picked and preferred without the question, and what added choices cost."""
    if m.scored is None:
        return
    scores, ids = m.tables, m.tables.column(ORIGINAL, "id")
    kept = m.picked[ORIGINAL] == m.picked["no_question"]
    yield ItemFigure.of(
        "kept_without_question", "Answer stays without the question", "lower", ids, kept
    )
    for name, words in WITHOUT.items():
        if m.scored.prior_bias[name].pseudo_correct is not None:
            old = m.picked[name] == scores.labels(name, "pseudo_label")
            yield ItemFigure.of(
                f"pseudo_correct_{name}", f"Old answer picked {words}", "lower", ids, old
            )
    bias, title = (
        [float(np.var(row)) for row in scores.confidences["no_question"]],
        "Prior bias without the question",
    )
    yield ItemFigure.of(
        "prior_bias_no_question", title, "lower", ids, bias, high=0.25, unit="ratio"
    )
    drop = scores.right() - scores.right(extra_choices_name(m.k))
    yield ItemFigure.of(
        f"choice_paralysis_{m.k}", f"Drop with {m.k} more choices", "lower", ids, drop, low=-1.0
    )


def is_scored(m: Any) -> bool:
    """Return whether choices are scored, so that there are confidences."""
    return m.scored is not None


PROBES = Question(
    name="probes",
    title="Does it pick an answer before reading the question?",
    prose=prose(
        __file__,
        MIN_ITEMS=MIN_ITEMS,
        MARGINS=MARGINS,
        WITHOUT=WITHOUT,
        DONE=DONE,
        NAMES=NAMES,
        WITHOUT_ANSWER=WITHOUT_ANSWER,
    ),
    needs=(
        Need(
            "choices",
            lambda context, options: context.unscored or context.primary.choices is not None,
        ),
        Need("asked", lambda context, options: context.stored is None),
        Need("labels", lambda context, options: context.primary.labeled.sum() >= MIN_ITEMS),
        Need(
            "prompts",
            lambda context, options: (
                len({text.strip().casefold() for text in context.primary.texts}) > 1
            ),
        ),
        Need("spare", lambda context, options: spare_choices(context.primary.choices) > 0),
    ),
    measure=measure,
    power=Power("kept", n_tests=5),
    figures=(
        *(
            Figure(
                key,
                lambda m, name=name: m.reading.get(name) and m.reading[name].kept,  # type: ignore[misc]
                BALEPUR,
                better="lower",
            )
            for name, key in KEPT.items()
        ),
        Figure("lost_without_question", lambda m: m.read and m.read.lost, BALEPUR, better="higher"),
        Figure(
            "prior_bias_no_question",
            lambda m: m.scored and mean_bias(m.scored.prior_bias["no_question"]),
            SHEN,
            unit="ratio",
            better="lower",
        ),
        Figure(
            "pseudo_correct",
            lambda m: m.read and m.read.accuracy_without,
            SHEN,
            better="lower",
            n=lambda m: m.read.n_items,
            suffix=lambda m: m.probe,
        ),
        *(
            Figure(
                key,
                lambda m, of=of: m.scored and of(m.effect),  # type: ignore[misc]
                SHEN,
                better="lower",
                suffix=lambda m: m.k,
            )
            for key, of in DROPS.items()
        ),
        Figure(
            "order_consistency",
            lambda m: m.consistency,
            ZHENG,
            better="higher",
            n=lambda m: m.n_ordered,
        ),
    ),
    headlines=(
        *KEPT.values(),
        "lost_without_question",
        "pseudo_correct",
        "choice_paralysis",
        "restricted_drop",
        "order_consistency",
    ),
    most=7,
    verdict=(
        Rule("bad", "order", lambda m: m.says("order", "large")),
        Rule("bad", "kept", lambda m: m.says("kept", "large")),
        Rule("bad", "as_good", lambda m: m.is_as_good_without),
        Rule("warn", "order_some", lambda m: m.says("order", "some")),
        Rule("warn", "kept_some", lambda m: m.says("kept", "some")),
        Rule("warn", "unasked", lambda m: m.says("unasked", "large")),
        Rule("warn", "paralyzed", lambda m: m.says("paralysis", "large")),
        Rule("neutral", "open", lambda m: m.open_questions),
        Rule("good", "no_sign"),
    ),
    parts=(
        Part(
            "reading",
            (
                Table("reading", reading_rows, f"{BALEPUR}; Cohen 1960"),
                Examples("kept", kept_items),
            ),
            figures=(*KEPT.values(), "lost_without_question", "pseudo_correct"),
            when=lambda m: m.reading,
        ),
        Part(
            "bias",
            (Table("prior_bias", bias_rows, SHEN),),
            figures=("prior_bias_no_question",),
            when=is_scored,
        ),
        Part(
            "paralysis",
            (
                Plot("choice_paralysis", paralysis_curve, SHEN),
                Table("choice_paralysis", paralysis_rows, SHEN),
            ),
            figures=("choice_paralysis", "restricted_drop"),
            when=is_scored,
        ),
        Part(
            "order",
            figures=("order_consistency",),
            when=is_scored,
        ),
        Part("picks", when=lambda m: not is_scored(m)),
    ),
    leads=(
        Lead(
            "order",
            figure="order_consistency",
            size=lambda m: 1 - m.consistency.value,
            when=lambda m: m.moves,
        ),
        Lead(
            "paralysis",
            figure="restricted_drop",
            plot="choice_paralysis",
            size=lambda m: max(m.drop.mean, 0.0),
            when=lambda m: (
                m.says("paralysis", "large")
                and not (m.says("kept", "large", "some") or m.is_as_good_without)
            ),
        ),
        Lead(
            "kept",
            figure="kept_without_question",
            pair=lambda m: tuple(kept_items(m))[:1],
            contrast=lambda m: (m.read.kept, m.read.by_chance),
            size=lambda m: max(m.read.beyond_chance.value or 0.0, 0.0),
            when=lambda m: m.read,
        ),
        Lead("nothing"),
    ),
    data=data,
    by_item=by_item,
)


PREFERENCES = {
    "consistency": "Same winner in both orders",
    "position": "First place over second",
    "length": "Longer over shorter",
    "length_beyond": "Longer, beyond the reference",
    "own": "Its own over the other",
    "own_beyond": "Its own, beyond the reference",
}
"""What a judge may prefer, of a `JudgeBias` -> its name."""


def preference_rows(m: Any) -> Iterator[tuple[Cell, ...]]:
    """Return what each judge prefers, as far as the data tell it."""
    for name, bias in m.judges.items():
        for key, words in PREFERENCES.items():
            if (found := getattr(bias, key)) is not None:
                value = make_estimate(found.value, found.interval)
                yield name, words, value, found.p_value, found.n_pairs, found.n_items


JUDGES = Question(
    name="judges",
    prose=Prose(Path(__file__).with_name("preferences.md.j2"), PREFERENCES=PREFERENCES),
    verdict=(Rule("neutral", "told"),),
    parts=(Part("judges", (Table("judges", preference_rows),)),),
)
"""What `rightreasons judges` prints of judges of pairs."""
