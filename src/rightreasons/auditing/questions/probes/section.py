"""Does it prefer choices where nothing makes one right, and does it lose its head among many?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from rightreasons.analysis.intervals import Interval
from rightreasons.analysis.probes.choice_paralysis import Drop
from rightreasons.analysis.probes.prior_bias import PriorBias
from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.words import (
    capitalized,
    decimal,
    level_percent,
    not_scored_told,
    p_equals,
    percent,
    written,
)
from rightreasons.auditing.questions.probes import distractors, picks, plots, templates
from rightreasons.auditing.questions.probes.examples import NAMES, SHEN, example_part
from rightreasons.auditing.questions.probes.finding import STEADY, WITHOUT, finding, order_verdict
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.asking.distractors import DistractorFigures, measure_distractors
from rightreasons.measuring.asking.templates import TemplateFigures
from rightreasons.measuring.estimates import Estimate, estimate_of
from rightreasons.measuring.option_order import OrderFigures, measure_option_order, stored_orders
from rightreasons.measuring.options import ProbesOptions
from rightreasons.measuring.probes import (
    ORIGINAL,
    WITHOUT_ANSWER,
    ProbeFigures,
    ProbeScores,
    Score,
    extra_choices_name,
    measure_probes,
    probe_tables,
    spare_choices,
)

MIN_ITEMS = 10
"""With fewer labeled items than this, nothing can be said about a preference."""

MARGIN = 0.1
"""A rate of old answers this far above chance is worth ruling out before nothing is said to be found."""

LOSS = 0.02
"""A drop of confidence beyond dilution that is worth a verdict, and worth ruling out."""

DONE = {
    "no_question": "the prompt is removed",
    "wrong_question": "the prompt is replaced by that of another item",
    "no_right_answer": "the right choice is replaced by one of another item",
}


@dataclasses.dataclass(frozen=True, eq=False)
class ProbeAnswers:
    """The probed items of an audit, and what they say.

    Attributes:
        scores: The items under every probe, with the scores.
        figures: Prior bias and choice paralysis.
        distractors: Near choices and “None of the above”; None where they were not asked.
        orders: The effect of the order of the choices; None for a scorer that sees one choice at a time.
        templates: The effect of the chat template; None where there is none.
        joint: Whether the scorer sees the choices together.
        left_out: Numbers of added choices for which the data has too few.
    """

    scores: ProbeScores
    figures: ProbeFigures
    distractors: DistractorFigures | None
    orders: OrderFigures | None
    templates: TemplateFigures | None
    joint: bool
    left_out: tuple[int, ...]


class Probes:
    """Prior bias by three probes, choice paralysis by the fourth, and the order of the choices."""

    question = "probes"
    title = "Does it pick an answer before reading the question?"
    order = 4
    needs_labels = True
    without_model = ""  # the log of a harness may have the changed items
    reads: p.Reads = "primary"

    def applies(self, context: AuditContext, options: ProbesOptions) -> p.Applicability:
        """Ask for a multiple-choice task with enough labeled items that texts can be borrowed from."""
        split = context.primary
        choices, texts = split.choices, split.texts
        if context.stored is not None and context.stored.items is not None:
            choices, texts = (context.stored.items[name][:] for name in ("choices", "prompt"))
        if choices is None:
            return p.applies_not("Confusion probes are a question about multiple-choice data.")
        if context.stored is not None and context.stored.answers is None:
            return p.applies_not(
                "Confusion probes change the items and ask the model again, which stored predictions cannot answer; "
                "`rightreasons data export` writes what to ask."
            )
        labeled = int(split.labeled.sum())
        if labeled < MIN_ITEMS:
            return p.applies_not(f"It takes at least {MIN_ITEMS} items with a label, but there are {labeled}.")
        if len({text.strip().casefold() for text in texts}) < 2:
            return p.applies_not("All items have one prompt, so no other can replace it.")
        if spare_choices(choices) < 1:
            return p.applies_not("All items have the same choices, so none can be borrowed from another.")
        return p.APPLIES

    def run(self, context: AuditContext, options: ProbesOptions) -> p.SectionResult:
        """Answer the question."""
        generated = context.prompted is not None and context.prompted.rendering.scoring == "generated"
        if generated or (context.stored is not None and context.stored.items is not None):
            return picks.result(context, options)
        answers = _answers(context, options)
        headlines, of_orders = _headlines(context, answers), _order_headlines(context, answers.orders)
        level = level_percent(context.resampling.level)
        verdict = _verdict(answers, 1 - context.resampling.level)
        return p.SectionResult(
            verdict=verdict,
            headlines=(*headlines, *of_orders),
            parts=(
                _bias_part(answers, headlines[:-2], level),
                _paralysis_part(answers, headlines[-2:], level),
                *([] if answers.distractors is None else [distractors.part(answers.distractors, answers.joint, level)]),
                _order_part(answers, of_orders, level),
                *([] if answers.templates is None else [templates.part(answers.templates, level)]),
                example_part(answers.scores),
            ),
            limits=_limits(answers),
            data={
                "figures": answers.figures.to_dict(),
                "distractors": None if answers.distractors is None else answers.distractors.to_dict(),
                "orders": None if answers.orders is None else answers.orders.to_dict(),
                "templates": None if answers.templates is None else answers.templates.to_dict(),
                "n_left_out": answers.scores.n_dropped,
                "not_scored": [{"id": name, "reason": reason} for name, reason in answers.scores.left_out],
                "sees_choices_together": answers.joint,
            },
            finding=finding(context, answers.figures, answers.orders, verdict),
            by_item=_by_item(answers),
        )


SECTION = Probes()


def _by_item(answers: ProbeAnswers) -> tuple[p.ItemFigure, ...]:
    """Return what is picked and preferred without the question, and what added choices cost, item by item."""
    scores, k = answers.scores, answers.figures.largest_k
    ids = scores.column(ORIGINAL, "id")
    figures = []
    for name in WITHOUT:
        if answers.figures.prior_bias[name].pseudo_correct is not None:
            picked = [int(np.argmax(row)) for row in scores.logits[name]]
            old = np.asarray(scores.column(name, "pseudo_label"))
            title = f"Old answer picked {WITHOUT[name]}"
            figures.append(p.ItemFigure.of(f"pseudo_correct_{name}", title, "lower", ids, np.asarray(picked) == old))
    bias = [float(np.var(row)) for row in scores.confidences["no_question"]]
    title = "Prior bias without the question"
    figures.append(p.ItemFigure.of("prior_bias_no_question", title, "lower", ids, bias, high=0.25, unit="ratio"))
    drop = scores.right() - scores.right(extra_choices_name(k))
    figures.append(
        p.ItemFigure.of(f"choice_paralysis_{k}", f"Drop with {k} more choices", "lower", ids, drop, low=-1.0)
    )
    return tuple(figures)


def _answers(context: AuditContext, options: ProbesOptions) -> ProbeAnswers:
    split = context.primary
    wanted = tuple(dict.fromkeys(options.ks))
    ks, near, none = distractors.asked(context, options, split.choices or [])
    stored = None if context.stored is None else context.stored.answers
    score, joint = _model(context) if stored is None else (lambda *_: stored, stored.joint)
    tables = probe_tables(split.data, ks=ks, near=near, none=none, seed=context.seed)
    scores = tables.scored_by(score("probes", f"{ks} {near} {none}"))
    orders = None
    prompts, choices, labels, ids = (scores.column(ORIGINAL, name) for name in ("prompt", "choices", "label", "id"))
    which = options.orders if stored is None else stored_orders(stored, ids[0], len(choices[0]), options.orders)
    if joint and which is not None and scores.uniform is not None:
        how: dict[str, Any] = {"orders": which, "seed": context.seed, "resampling": context.resampling}
        orders = measure_option_order(prompts, choices, labels, ids, _whole(score("orders", which)), **how)
    figures = measure_probes(scores, joint=joint, resampling=context.resampling)
    added = None if near is None else measure_distractors(scores, near, resampling=context.resampling)
    picked = {name: logits.argmax() for name, logits in scores.logits.items()}
    ways = templates.compare(context, options, scores, picked)
    return ProbeAnswers(scores, figures, added, orders, ways, joint, tuple(k for k in wanted if k not in ks))


def _model(context: AuditContext) -> tuple[Callable[..., Score], bool]:
    """Return (what is asked, what it depends on) -> a scorer that stores its answers, and whether it is a joint one."""
    from rightreasons.models.scoring.choices import choose, is_joint

    scorer, fingerprint = context.scorer, context.primary.fingerprint
    method = str(getattr(scorer, "method", ""))
    settings: dict[str, Any] = {
        "batch_size": context.batch_size,
        "progress": context.progress,
        "fail_fast": context.fail_fast,
    }

    def score(part: str, *depends: str) -> Score:
        folder = context.folder(part, fingerprint, str(context.seed), method, *depends)
        return lambda prompts, choices, ids: choose(scorer, prompts, choices, ids=ids, out=folder, **settings)

    return score, is_joint(scorer)


def _whole(score: Score) -> Score:
    """Return the logits alone, of a scorer that must not fail: each of its items was scored in another order."""

    def logits(*items: Any) -> Any:
        scores = score(*items)
        for reason in getattr(scores, "failures", {}).values():
            raise ValueError(reason)
        return getattr(scores, "logits", scores)

    return logits


# ------------------------------------------------------------------------------------------------------------- telling


def _headlines(context: AuditContext, answers: ProbeAnswers) -> tuple[p.Headline, ...]:
    figures = answers.figures
    bias, k = figures.prior_bias["no_question"], figures.largest_k
    probe = figures.telling_probe or "no_question"
    pseudo, paralysis = figures.prior_bias[probe].pseudo_correct, figures.paralysis[k]
    added = f"{counted(k, 'choice of another item was', 'choices of other items were')} added"
    drop = f"Confidence in the right choice before minus after {added}"
    rows = [
        (
            "prior_bias_no_question",
            "Prior bias without the question",
            (
                "Population variance of the confidences over the choices of an item whose prompt was removed, averaged "
                f"over items; with the prompt it is {decimal(figures.original.prior_bias)}."
            ),
            estimate_of(bias.prior_bias, bias.interval),
        ),
        (
            f"choice_paralysis_{k}",
            f"Drop with {counted(k, 'more choice')}",
            f"{drop}; mean over items.",
            estimate_of(paralysis.choice_paralysis, paralysis.drop.interval),
        ),
        (
            f"restricted_drop_{k}",
            "Of this drop, beyond dilution",
            f"{drop}, both taken among the item's own choices alone; mean over items.",
            estimate_of(paralysis.restricted_drop.mean, paralysis.restricted_drop.interval),
        ),
    ]
    if pseudo is not None:
        row = (
            f"pseudo_correct_{probe}",
            f"Old answer picked {WITHOUT[probe]}",
            (
                f"Share of items whose once right choice is still picked when {DONE[probe]}; picking at random gets "
                f"{percent(pseudo.chance)}."
            ),
            estimate_of(pseudo.rate, figures.pseudo_correct_intervals[probe]),
        )
        rows.insert(1, row)
    return tuple(
        p.Headline.of(
            key,
            p.FigureText(name, definition, SHEN, "ratio" if key.startswith("prior_bias") else "fraction", "lower"),
            estimate,
            split=context.primary.name,
            n=figures.n_items,
        )
        for key, name, definition, estimate in rows
    )


def _order_headlines(context: AuditContext, orders: OrderFigures | None) -> tuple[p.Headline, ...]:
    if orders is None:
        return ()
    return (
        p.Headline.of(
            "order_consistency",
            p.FigureText(
                "Same answer in every order",
                f"Share of items whose picked choice is the same under {orders.in_words} of the choices.",
                picks.ZHENG,
                better="higher",
            ),
            estimate_of(orders.consistency, orders.consistency_interval),
            split=context.primary.name,
            n=orders.n_items,
        ),
    )


def _bias_part(answers: ProbeAnswers, headlines: tuple[p.Headline, ...], level: str) -> p.Part:
    figures, scores = answers.figures, answers.scores
    k = figures.largest_k
    tests = ((name, figures.prior_bias[name].pseudo_correct) for name in WITHOUT_ANSWER)
    picked = "; ".join(
        f"{NAMES[name].lower()}: the old answer in {percent(test.rate)} of the items "
        f"(chance {percent(test.chance)}, p {p_equals(test.p_value)})"
        for name, test in tests
        if test is not None
    )
    has_null = any(one.null is not None for one in figures.prior_bias.values())
    shuffled = ", the null in which scores are shuffled between items" if has_null else ""
    right, after = scores.right(), scores.right(extra_choices_name(k))
    means = "; ".join(f"{name.lower()} {percent(float(scores.top(key).mean()))}" for key, name in NAMES.items())
    panels = [
        plots.Before(NAMES[name], scores.top(ORIGINAL), scores.top(name), scores.uniform) for name in WITHOUT_ANSWER
    ]
    panels.append(plots.Before(f"{k} added: right choice", right, after, None))
    return p.Part(
        title="Prior bias: preferring where nothing is right",
        text="Three probes leave an item without a right choice: "
        + "; ".join(f"{NAMES[name].lower()} ({DONE[name]})" for name in WITHOUT_ANSWER)
        + ". A scorer without preferences would spread its confidence evenly. A variance is never negative, so what "
        f"counts is its size compared with that of the unchanged items{shuffled}, and whether the choice that was "
        f"right is still picked.{f'{chr(10)}{chr(10)}{capitalized(picked)}.' if picked else ''}",
        headlines=headlines,
        plots=(
            plots.confidence_panels("probe_confidence", panels=panels, xlabel="confidence").plot(
                title="Confidence before and after each probe",
                caption="Gray: the unchanged items; orange: under the probe. The first three panels show the "
                "confidence in the picked choice (the dashed line is an even spread), the last that in the right "
                "choice. Shares of the items; no interval is drawn.",
                alt=f"Mean confidence in the picked choice: {means}. In the right choice: "
                f"{percent(float(right.mean()))} before and {percent(float(after.mean()))} after {k} were added.",
                source=SHEN,
                wide=True,
            ),
        ),
        tables=(
            p.Table(
                key="prior_bias",
                title="Prior bias",
                columns=(
                    p.Column("probe", "Probe", "text"),
                    p.Column("prior_bias", f"Prior bias [{level}]", "number", "Mean within-item variance."),
                    p.Column("normalized", "Normalized", "share", "The same divided by its maximum, in [0, 1]."),
                    p.Column("divergence", "KL to uniform", "number", "Divided by the log of the number of choices."),
                    p.Column("top", "Top confidence", "share", "Mean confidence in the picked choice."),
                    *(_SHUFFLED if has_null else ()),
                    p.Column("pseudo", f"Old answer picked [{level}]", "share", "Share of the items that have it."),
                    p.Column("chance", "Chance", "share", "Share when picking at random."),
                    p.Column("pseudo_p", "p", "p_value", "Two-sided exact test of that share against chance."),
                ),
                rows=(
                    _bias_row(NAMES[ORIGINAL], figures.original, None, has_null),
                    *(
                        _bias_row(
                            NAMES[name], figures.prior_bias[name], figures.pseudo_correct_intervals.get(name), has_null
                        )
                        for name in WITHOUT_ANSWER
                    ),
                ),
                note="In the first row the items are unchanged, and “old answer picked” is the accuracy.",
                source=SHEN,
            ),
        ),
    )


_SHUFFLED = (
    p.Column("null", "Shuffled", "number", "Prior bias when scores are shuffled between items."),
    p.Column("null_p", "p", "p_value", "How often shuffled scores show as much bias."),
)


def _bias_row(name: str, bias: PriorBias, interval: Interval | None, has_null: bool) -> tuple[Any, ...]:
    null, pseudo = bias.null, bias.pseudo_correct
    return (
        name,
        estimate_of(bias.prior_bias, bias.interval),
        bias.normalized_prior_bias,
        bias.normalized_divergence,
        bias.mean_top_confidence,
        *(() if not has_null else (None, None) if null is None else (null.mean, null.p_value)),
        *((None,) * 3 if pseudo is None else (estimate_of(pseudo.rate, interval), pseudo.chance, pseudo.p_value)),
    )


def _paralysis_part(answers: ProbeAnswers, headlines: tuple[p.Headline, ...], level: str) -> p.Part:
    paralysis = answers.figures.paralysis
    kind = (
        "This scorer sees all choices together, so added ones can change its scores of the others."
        if answers.joint
        else "This scorer looks at one choice at a time: the scores of an item's own choices cannot change, and the "
        "whole drop is dilution by the softmax."
    )
    ks = sorted(paralysis)
    curves = [
        _curve("drop", "blue", [paralysis[k].drop for k in ks]),
        plots.Curve(
            "null: added choices as good as the item's own", "muted", [paralysis[k].null_drop for k in ks], dashed=True
        ),
        _curve("among the item's own choices (free of dilution)", "orange", [paralysis[k].restricted_drop for k in ks]),
    ]
    drops = "; ".join(
        f"{k} added: drop {percent(paralysis[k].choice_paralysis)}, null {percent(paralysis[k].null_drop)}, "
        f"restricted {percent(paralysis[k].restricted_drop.mean)}"
        for k in ks
    )
    return p.Part(
        title="Choice paralysis: the right choice among more",
        text="The fourth probe adds choices of other items, which are wrong, and keeps the right one. Every added "
        f"choice takes its share of a softmax, so a drop by itself says little. {kind} The restricted drop shares the "
        "confidence among the item's own choices alone: only it can show paralysis. The null gives each added choice "
        f"the mean exponentiated score of the item's own choices.\n\n{paralysis[ks[-1]].reading}",
        headlines=headlines,
        plots=(
            plots.paralysis_curve("choice_paralysis", ks=ks, curves=curves).plot(
                title="Drop of confidence against added choices",
                caption="Mean over items of the confidence in the right choice before minus after; the bands are "
                f"{level} bootstrap intervals over items.",
                alt=f"{drops}.",
                source=SHEN,
            ),
        ),
        tables=(
            p.Table(
                key="choice_paralysis",
                title="Choice paralysis",
                columns=(
                    p.Column("added", "Added choices", "count"),
                    p.Column("drop", f"Drop [{level}]", "share", "Of the confidence in the right choice."),
                    p.Column("drop_p", "p", "p_value", "Paired t-test of the drop; “–” where all drops are equal."),
                    p.Column("null", "Null", "share", "The drop if added choices scored like the item's own."),
                    p.Column("mechanical", "Dilution", "share", "The share that added choices take by their presence."),
                    p.Column("restricted", f"Beyond dilution [{level}]", "share", "The drop among the own choices."),
                    p.Column("restricted_p", "p", "p_value", "Paired t-test of that."),
                    p.Column("before", "Accuracy before", "share"),
                    p.Column("after", "after", "share"),
                    p.Column("own", "after, own choices", "share", "Accuracy after, among the item's own choices."),
                ),
                rows=tuple(
                    (
                        k,
                        estimate_of(effect.choice_paralysis, effect.drop.interval),
                        effect.drop.t_p_value,
                        effect.null_drop,
                        effect.mechanical_drop,
                        estimate_of(effect.restricted_drop.mean, effect.restricted_drop.interval),
                        effect.restricted_drop.t_p_value,
                        effect.accuracy,
                        effect.perturbed_accuracy,
                        effect.restricted_accuracy,
                    )
                    for k, effect in sorted(paralysis.items())
                ),
                source=SHEN,
            ),
        ),
    )


def _curve(name: str, color: str, drops: list[Drop]) -> plots.Curve:
    ends = [drop.interval for drop in drops if drop.interval is not None]
    return plots.Curve(
        name, color, [drop.mean for drop in drops], [end.low for end in ends], [end.high for end in ends]
    )


def _order_part(answers: ProbeAnswers, headlines: tuple[p.Headline, ...], level: str) -> p.Part:
    figures, orders, tables, drawn = answers.figures, answers.orders, [], []
    only, spread = figures.choices_only, figures.position_bias
    text = (
        f"With the choices alone, without the prompt, {percent(only.accuracy)} of the items come out right; always "
        f"picking the commonest position gets {percent(only.majority)} (p {p_equals(only.p_value)}, one-sided)."
    )
    if spread is not None:
        text += (
            "\n\nRecall over the position of the right choice spreads by "
            f"{written(estimate_of(spread.rstd, spread.interval))} (RStd; 0 is no preference)."
        )
        counts = zip(spread.counts, spread.picked, spread.recalls, strict=True)
        tables.append(
            p.Table(
                key="positions",
                title="Recall by the position of the right choice",
                columns=(
                    p.Column("position", "Position", "count"),
                    p.Column("gold", "Right choice there", "count"),
                    p.Column("picked", "Picked", "count"),
                    p.Column("recall", "Recall", "share"),
                ),
                rows=tuple((place, *row) for place, row in enumerate(counts, start=1)),
                source="Zheng et al. 2024, RStd",
            )
        )
    if orders is not None:
        same = estimate_of(orders.consistency, orders.consistency_interval)
        prior = map(estimate_of, orders.prior, orders.prior_intervals)
        text += (
            f"\n\nUnder {orders.in_words} of the choices the same content is picked in "
            f"{written(same)} of the items. Whatever text is there, it gives the positions "
            f"{', '.join(written(one) for one in prior)} (PriDe, from {counted(orders.n_estimation, 'item')}), and "
            f"where nothing does, {', '.join(map(percent, orders.content_free))}; without a preference each has "
            f"{percent(1 / len(orders.prior))}."
        )
        drawn.append(
            plots.position_prior(
                "position_prior",
                prior=orders.prior,
                lows=[one.low for one in orders.prior_intervals],
                highs=[one.high for one in orders.prior_intervals],
            ).plot(
                title="Preference for positions",
                caption="What a position adds to the score of any choice that is there (PriDe, from "
                f"{orders.n_estimation} items in {orders.in_words}), with {level} intervals; the dashed line is no "
                "preference.",
                alt="; ".join(f"position {place} {percent(one)}" for place, one in enumerate(orders.prior, start=1))
                + ".",
                source=picks.ZHENG,
            )
        )
        corrections = (
            ("none", orders.uncorrected),
            ("PriDe", orders.pride),
            ("contextual calibration", orders.calibrated),
        )
        tables.append(
            p.Table(
                key="corrections",
                title=f"Without the preference for positions ({counted(orders.n_held_out, 'item')})",
                columns=(
                    p.Column("how", "Correction", "text"),
                    p.Column("accuracy", f"Accuracy [{level}]", "share"),
                    p.Column("gain", f"Change of the accuracy [{level}]", "share"),
                    p.Column("rstd", f"RStd [{level}]", "share"),
                ),
                rows=tuple(
                    (
                        name,
                        estimate_of(one.accuracy, one.interval),
                        None if one.gain_interval is None else estimate_of(one.gain, one.gain_interval),
                        estimate_of(one.rstd, one.rstd_interval),
                    )
                    for name, one in corrections
                ),
                source="Zheng et al. 2024; Zhao et al. 2021",
            )
        )
    elif not answers.joint:
        text += (
            "\n\nBecause it looks at one choice at a time, this scorer gives the same scores in every order: a spread "
            "of the recalls comes from the items."
        )
    title = "The order of the choices, and the choices alone"
    return p.Part(title=title, text=text, headlines=headlines, plots=tuple(drawn), tables=tuple(tables))


def _verdict(answers: ProbeAnswers, alpha: float) -> p.Verdict:
    """Judge by the tests of the old answer without its question, of the restricted drop, and by the orders.

    Red takes an answer that the order of the choices decides in most items, or both effects, each larger than its
    margin: an intervention in each case.
    """
    figures, orders = answers.figures, answers.orders
    sentences, probe, large = [], figures.telling_probe, False
    knows = figures.knows_unasked(alpha)
    if probe is not None and (test := figures.prior_bias[probe].pseudo_correct) is not None:
        interval = figures.pseudo_correct_intervals[probe]
        large = knows and interval.low > test.chance + MARGIN
        sentences.append(
            f"{capitalized(WITHOUT[probe])} it picks the old answer in {written(estimate_of(test.rate, interval))} of "
            f"the items, where chance gives {percent(test.chance)} (exact test, p {p_equals(test.p_value)}; the "
            "clearer of two probes)."
        )
    drop = figures.paralysis[figures.largest_k].restricted_drop
    low, high = (0.0, 0.0) if drop.interval is None else (drop.interval.low, drop.interval.high)
    paralyzed = answers.joint and figures.is_paralyzed(alpha) and low > LOSS
    if answers.joint:
        sentences.append(
            f"{counted(figures.largest_k, 'added choice lowers', 'added choices lower')} the confidence in the right "
            "one, among the item's own, by "
            f"{written(estimate_of(drop.mean, drop.interval))}"
            f"{'' if drop.t_p_value is None else f' (paired t-test, p {p_equals(drop.t_p_value)})'}."
        )
    consistency = Estimate(None)
    if orders is not None:
        consistency = estimate_of(orders.consistency, orders.consistency_interval)
        sentences.append(
            f"Under {orders.in_words} of the choices, {written(consistency)} of the items keep their answer."
        )
    bias = figures.prior_bias["no_question"].normalized_prior_bias
    sentences.append(f"Its preference without the question is {bias:.1%} of the largest possible.")
    summary = " ".join(sentences)
    if (of_order := order_verdict(consistency, summary)) is not None:
        return of_order
    if knows or paralyzed:
        label = {
            (True, True): "Prior bias and paralysis",
            (True, False): "Picks the answer unasked",
            (False, True): "Paralyzed by choice",
        }[knows, paralyzed]
        return p.Verdict("bad" if large and paralyzed else "warn", label, summary)
    open_questions = [
        told
        for may_be, told in (
            (figures.may_know_unasked(MARGIN), f"a rate {100 * MARGIN:.0f} points above chance"),
            (answers.joint and high > LOSS, f"a drop of {100 * LOSS:.0f} points beyond dilution"),
            (
                consistency.low is not None and consistency.low < STEADY,
                f"that the order decides more than {1 - STEADY:.0%} of the answers",
            ),
        )
        if may_be
    ]
    if open_questions:
        ruled_out = f"{counted(figures.n_items, 'item does', 'items do')} not rule out {' or '.join(open_questions)}."
        return p.Verdict("neutral", "Cannot tell", f"{summary} {ruled_out}")
    return p.Verdict("good", "No sign of confusion", summary)


def _limits(answers: ProbeAnswers) -> tuple[str, ...]:
    limits = [
        (
            "Choices of other items are wrong as a rule, not by proof: a borrowed choice may fit by chance, and a near "
            "one more easily."
        ),
        "That a variance differs from zero says nothing by itself; softmax confidences are never quite even.",
    ]
    if not answers.joint:
        limits.append("A scorer that looks at one choice at a time cannot show paralysis beyond dilution.")
    if answers.left_out:
        ks = ", ".join(map(str, answers.left_out))
        limits.append(f"The data has too few different choices to add {ks} to each item.")
    if answers.scores.n_dropped:
        limits.append(f"Left out: {counted(answers.scores.n_dropped, 'item')} without a label or with equal choices.")
    return (*limits, *not_scored_told("item", len(answers.scores), answers.scores.left_out))
