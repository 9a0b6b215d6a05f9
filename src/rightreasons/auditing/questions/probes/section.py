"""Does it prefer choices where nothing makes one right, and does it lose its head among many?"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from rightreasons.analysis.probes.choice_paralysis import ChoiceParalysis, Drop
from rightreasons.analysis.probes.prior_bias import PriorBias
from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page.parts import (
    APPLIES,
    Applicability,
    Column,
    Estimate,
    Headline,
    Part,
    SectionResult,
    Table,
    Verdict,
    applies_not,
)
from rightreasons.auditing.page.words import fraction, p_equals, percent, with_interval
from rightreasons.auditing.questions.probes import plots as plots_probes
from rightreasons.auditing.questions.probes.examples import example_part
from rightreasons.measuring.estimates import estimate_of
from rightreasons.measuring.option_order import OrderFigures, cyclic_orders
from rightreasons.measuring.options import ProbesOptions
from rightreasons.measuring.probes import ORIGINAL, WITHOUT_ANSWER, Probed, ProbeFigures, extra, measure, probe

SHEN = "Shen & Kejriwal 2022"
MIN_ITEMS = 10
"""With fewer labelled items than this nothing can be said about a preference."""

NAMES = {
    ORIGINAL: "As it was",
    "no_question": "No question",
    "wrong_question": "Wrong question",
    "no_right_answer": "No right answer",
}
DONE = {
    "no_question": "the prompt is removed",
    "wrong_question": "the prompt of another item is put in",
    "no_right_answer": "the right choice is replaced by one of another item",
}


@dataclasses.dataclass(frozen=True, eq=False)
class _Found:
    """What the section has computed.

    Attributes:
        probed: The items under every probe, with the scores.
        figures: What they say.
        orders: What the order of the choices does; None for a scorer that sees one choice at a time.
        joint: Whether the scorer sees the choices together.
        left_out: Numbers of added choices for which the data has too few.
    """

    probed: Probed
    figures: ProbeFigures
    orders: OrderFigures | None
    joint: bool
    left_out: tuple[int, ...]

    @property
    def largest(self) -> int:
        """The largest number of added choices."""
        return max(self.figures.paralysis)


class Probes:
    """Prior bias by three probes, choice paralysis by the fourth, and the order of the choices.

    The option `ks` of this question says how many choices are added; default 1, 2, 4 and 8.
    """

    question = "probes"
    title = "Does it choose without a reason to?"
    order = 4
    needs_labels = True

    def applies(self, context: AuditContext, options: ProbesOptions) -> Applicability:
        """Ask for a multiple-choice task with enough labelled items that texts can be borrowed from."""
        split = context.primary
        if split.choices is None:
            return applies_not("Confusion probes are a question about multiple-choice data.")
        labelled = int(split.labelled.sum())
        if labelled < MIN_ITEMS:
            return applies_not(f"It takes at least {MIN_ITEMS} items with a label, but there are {labelled}.")
        if len({text.strip().casefold() for text in split.texts}) < 2:
            return applies_not("All items have one prompt, so that no other can be put in its place.")
        if _spare_choices(split.choices) < 1:
            return applies_not("All items have the same choices, so that none can be borrowed from another.")
        return APPLIES

    def run(self, context: AuditContext, options: ProbesOptions) -> SectionResult:
        """Answer the question."""
        found = _find(context, options)
        headlines = _headlines(context, found)
        parts = [_bias_part(context, found, headlines), _paralysis_part(context, found, headlines)]
        parts += [_order_part(context, found), example_part(found.probed)]
        return SectionResult(
            verdict=_verdict(context, found),
            headlines=headlines,
            parts=tuple(parts),
            limits=_limits(found),
            data={
                "figures": found.figures.to_dict(),
                "orders": None if found.orders is None else found.orders.to_dict(),
                "n_left_out": found.probed.n_dropped,
                "sees_choices_together": found.joint,
            },
        )


SECTION = Probes()


# ------------------------------------------------------------------------------------------------------------- figures


def _find(context: AuditContext, options: ProbesOptions) -> _Found:
    from rightreasons.models.scoring.choices import choose, is_joint

    split, scorer = context.primary, context.classifier
    wanted = tuple(dict.fromkeys(options.ks))
    spare = _spare_choices(split.choices or [])
    ks = tuple(k for k in wanted if k <= spare) or (1,)

    def score(part: str, *depends: str) -> Any:
        def scored(prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Any:
            return choose(
                scorer,
                prompts,
                choices,
                ids=ids,
                batch_size=context.batch_size,
                progress=context.progress,
                out=context.folder(part, split.fingerprint, str(context.seed), *depends),
            ).logits

        return scored

    method = str(getattr(scorer, "method", ""))
    probed = probe(split.data, score("probes", method, str(ks)), ks=ks, seed=context.seed)
    figures = measure(probed, resampling=context.resampling)
    orders = None
    kept = probed.tables[ORIGINAL]
    joint = is_joint(scorer)
    if joint and len({len(row) for row in kept["choices"]}) == 1:
        orders = cyclic_orders(
            kept["prompt"][:], kept["choices"][:], kept["label"][:], kept["id"][:], score("orders", method)
        )
    return _Found(probed, figures, orders, joint, tuple(k for k in wanted if k not in ks))


def _spare_choices(choices: Sequence[Sequence[str]]) -> int:
    """How many different choices every item could at least borrow from the others."""
    different = {text.strip().casefold() for row in choices for text in row}
    return len(different) - max(len(row) for row in choices)


def _headlines(context: AuditContext, found: _Found) -> tuple[Headline, ...]:
    figures, split = found.figures, context.primary.name
    k = found.largest
    paralysis = figures.paralysis[k]
    shared: dict[str, Any] = {"source": SHEN, "split": split, "n": figures.n_items}
    bias = figures.prior_bias["no_question"]
    made = [
        Headline(
            key="prior_bias_no_question",
            name="Prior bias without the question",
            estimate=_of_interval(bias.prior_bias, bias.interval),
            definition="Population variance of the confidences over the choices of an item whose prompt was removed, "
            f"averaged over items; with the prompt it is {fraction(figures.original.prior_bias)}.",
            better="lower",
            **shared,
        )
    ]
    pseudo = bias.pseudo_correct
    if pseudo is not None:
        made.append(
            Headline(
                key="pseudo_correct_no_question",
                name="Old answer picked without the question",
                estimate=_of_interval(pseudo.rate, figures.pseudo_correct_intervals["no_question"]),
                definition="Share of items whose once right choice is still picked when the prompt is removed; picking "
                f"at random gets {fraction(pseudo.chance)}.",
                better="lower",
                **shared,
            )
        )
    for key, name, value, drop, words in (
        ("choice_paralysis", f"Drop with {k} more choices", paralysis.choice_paralysis, paralysis.drop, ""),
        (
            "restricted_drop",
            "Of it, beyond dilution",
            paralysis.restricted_drop.mean,
            paralysis.restricted_drop,
            ", both taken among the item's own choices alone",
        ),
    ):
        made.append(
            Headline(
                key=f"{key}_{k}",
                name=name,
                estimate=_of_interval(value, drop.interval),
                definition="Confidence in the right choice before minus after "
                f"{k} {'choice' if k == 1 else 'choices'} of other items {'was' if k == 1 else 'were'} added{words}; "
                "mean over items.",
                better="lower",
                **shared,
            )
        )
    return tuple(made)


def _of_interval(value: float, interval: Any) -> Estimate:
    # A restricted drop of a scorer of single pairs is 0 to the last bits, and is to read as 0.
    found, low, high = (round(number, 12) + 0.0 for number in (value, interval.low, interval.high))
    return dataclasses.replace(estimate_of(value, interval), value=found, low=low, high=high)


# --------------------------------------------------------------------------------------------------------------- parts


def _bias_part(context: AuditContext, found: _Found, headlines: Sequence[Headline]) -> Part:
    figures, level = found.figures, percent(context.confidence_level)
    told = []
    for name in WITHOUT_ANSWER:
        pseudo = figures.prior_bias[name].pseudo_correct
        if pseudo is not None:
            told.append(
                f"{NAMES[name].lower()}: the old answer in {fraction(pseudo.rate)} of the items "
                f"(chance {fraction(pseudo.chance)}, p {p_equals(pseudo.p_value)})"
            )
    text = (
        "Three probes leave an item without a right choice: "
        + "; ".join(f"{NAMES[name].lower()} ({DONE[name]})" for name in WITHOUT_ANSWER)
        + ". A scorer without preferences would spread its confidence evenly. A variance is never negative, so "
        "what counts is its size beside that of the items as they were, the null in which scores are shuffled between "
        "items, and whether the choice that was right is still picked.\n\n" + "; ".join(told).capitalize() + "."
    )
    table = Table(
        key="prior_bias",
        title="Prior bias",
        columns=(
            Column("probe", "Probe", "text"),
            Column("prior_bias", f"Prior bias [{level}]", "number", "Mean within-item variance of the confidences."),
            Column("normalized", "Normalized", "number", "The same divided by its largest value, in [0, 1]."),
            Column("divergence", "KL to uniform", "number", "Divided by the log of the number of choices, in [0, 1]."),
            Column("top", "Top confidence", "number", "Mean confidence in the picked choice."),
            Column("null", "Shuffled", "number", "Prior bias when scores are shuffled between items."),
            Column("null_p", "p", "p_value", "How often shuffled scores show as much bias."),
            Column("pseudo", f"Old answer picked [{level}]", "number", "Share; where the once right choice is there."),
            Column("chance", "Chance", "number", "What picking at random would give."),
            Column("pseudo_p", "p", "p_value", "Two-sided exact test of that share against chance."),
        ),
        rows=(
            _bias_row(figures.original, NAMES[ORIGINAL], None),
            *(
                _bias_row(figures.prior_bias[name], NAMES[name], figures.pseudo_correct_intervals.get(name))
                for name in WITHOUT_ANSWER
            ),
        ),
        note="In the first row the items are as they were, and “old answer picked” is the accuracy.",
        source=SHEN,
    )
    probed = found.probed
    top = {name: rows.reduce(np.maximum) for name, rows in probed.confidences.items()}
    lengths = probed.confidences[ORIGINAL].lengths
    even = 1 / float(lengths[0]) if (lengths == lengths[0]).all() else None
    k = found.largest
    right = probed.confidences[ORIGINAL].at(probed.labels())
    after = probed.confidences[extra(k)].at(probed.labels(extra(k)))
    picture = plots_probes.confidence_panels(
        "probe_confidence",
        panels=[
            *(plots_probes.Before(NAMES[name], top[ORIGINAL], top[name], even) for name in WITHOUT_ANSWER),
            plots_probes.Before(f"{k} added: right choice", right, after, None),
        ],
        xlabel="confidence",
    )
    means = "; ".join(f"{NAMES[name].lower()} {fraction(float(top[name].mean()))}" for name in top if name in NAMES)
    return Part(
        title="Prior bias: preferring where nothing is right",
        text=text,
        headlines=tuple(h for h in headlines if h.key.endswith("no_question")),
        plots=(
            picture.plot(
                key="probe_confidence",
                title="Confidence before and after each probe",
                caption="Gray: the items as they were; orange: under the probe. The first three panels show the "
                "confidence in the picked choice (the dashed line is an even spread), the last that in the right "
                "choice. Shares of the items; no interval is drawn.",
                alt=f"Mean confidence in the picked choice: {means}. In the right choice: "
                f"{fraction(float(right.mean()))} before and {fraction(float(after.mean()))} after {k} were added.",
                source=SHEN,
                wide=True,
            ),
        ),
        tables=(table,),
    )


def _bias_row(bias: PriorBias, name: str, interval: Any) -> tuple[Any, ...]:
    pseudo = bias.pseudo_correct
    rate: Any = None
    if pseudo is not None:
        rate = Estimate(pseudo.rate) if interval is None else _of_interval(pseudo.rate, interval)
    return (
        name,
        _of_interval(bias.prior_bias, bias.interval),
        bias.normalized_prior_bias,
        bias.normalized_divergence,
        bias.mean_top_confidence,
        None if bias.null is None else bias.null.mean,
        None if bias.null is None else bias.null.p_value,
        rate,
        None if pseudo is None else pseudo.chance,
        None if pseudo is None else pseudo.p_value,
    )


def _paralysis_part(context: AuditContext, found: _Found, headlines: Sequence[Headline]) -> Part:
    level = percent(context.confidence_level)
    paralysis = found.figures.paralysis
    kind = (
        "This scorer sees all choices together, so that added ones can change what it thinks of the others."
        if found.joint
        else "This scorer looks at one choice at a time: the scores of an item's own choices cannot change, and the "
        "whole drop is dilution by the softmax."
    )
    text = (
        "The fourth probe adds choices of other items, which are wrong, and leaves the right one. Whatever is added "
        f"takes its share of a softmax, so a drop by itself says little. {kind} The restricted drop shares the "
        "confidence among the item's own choices alone: only it can show paralysis. The null gives each added choice "
        f"the mean exponentiated score of the item's own choices.\n\n{paralysis[found.largest].reading}"
    )
    ks = sorted(paralysis)
    curves = [
        _curve("drop", "blue", [paralysis[k].drop for k in ks]),
        plots_probes.Curve(
            "null: added choices as good as the own ones",
            "muted",
            [paralysis[k].null_drop for k in ks],
            dashed=True,
        ),
        _curve("among the own choices (free of dilution)", "orange", [paralysis[k].restricted_drop for k in ks]),
    ]
    picture = plots_probes.paralysis_curve("choice_paralysis", ks=ks, curves=curves)
    said = "; ".join(
        f"{k} added: drop {fraction(paralysis[k].choice_paralysis)}, null {fraction(paralysis[k].null_drop)}, "
        f"restricted {fraction(round(paralysis[k].restricted_drop.mean, 12) + 0.0)}"
        for k in ks
    )
    return Part(
        title="Choice paralysis: the right choice among more",
        text=text,
        headlines=tuple(h for h in headlines if not h.key.endswith("no_question")),
        plots=(
            picture.plot(
                key="choice_paralysis",
                title="Drop of confidence against added choices",
                caption=f"Mean over items of the confidence in the right choice before minus after; the bands are "
                f"{level} bootstrap intervals over items.",
                alt=said + ".",
                source=SHEN,
            ),
        ),
        tables=(
            Table(
                key="choice_paralysis",
                title="Choice paralysis",
                columns=(
                    Column("added", "Added choices", "count"),
                    Column("drop", f"Drop [{level}]", "number", "Of the confidence in the right choice."),
                    Column("drop_p", "p", "p_value", "Paired t-test of the drop; “–” where all drops are equal."),
                    Column("null", "Null", "number", "The drop if added choices scored as the own ones do."),
                    Column("mechanical", "Dilution", "number", "The part that added choices take by being there."),
                    Column("restricted", f"Beyond dilution [{level}]", "number", "The drop among the own choices."),
                    Column("restricted_p", "p", "p_value", "Paired t-test of that."),
                    Column("before", "Accuracy before", "number"),
                    Column("after", "after", "number"),
                    Column("own", "after, own choices", "number", "Accuracy after, among the item's own choices."),
                ),
                rows=tuple(_paralysis_row(k, paralysis[k]) for k in ks),
                source=SHEN,
            ),
        ),
    )


def _curve(name: str, color: str, drops: Sequence[Drop]) -> plots_probes.Curve:
    ends = [drop.interval for drop in drops if drop.interval is not None]
    return plots_probes.Curve(
        name, color, [drop.mean for drop in drops], [end.low for end in ends], [end.high for end in ends]
    )


def _paralysis_row(k: int, found: ChoiceParalysis) -> tuple[Any, ...]:
    return (
        k,
        _of_interval(found.choice_paralysis, found.drop.interval),
        found.drop.t_p_value,
        found.null_drop,
        found.mechanical_drop,
        _of_interval(found.restricted_drop.mean, found.restricted_drop.interval),
        found.restricted_drop.t_p_value,
        found.accuracy,
        found.perturbed_accuracy,
        found.restricted_accuracy,
    )


def _order_part(context: AuditContext, found: _Found) -> Part:
    figures, tables = found.figures, []
    only = figures.choices_only
    text = (
        f"With the choices alone, without the prompt, {fraction(only.accuracy)} of the items come out right; always "
        f"taking the commonest position gets {fraction(only.majority)} (p {p_equals(only.p_value)}, one-sided)."
    )
    spread = figures.position_bias
    if spread is not None:
        text += (
            f"\n\nRecall over the position of the right choice spreads by {fraction(spread.rstd)} (RStd; 0 is no "
            "preference)."
        )
        tables.append(
            Table(
                key="positions",
                title="Recall by the position of the right choice",
                columns=(
                    Column("position", "Position", "count"),
                    Column("gold", "Right choice there", "count"),
                    Column("picked", "Picked", "count"),
                    Column("recall", "Recall", "number"),
                ),
                rows=tuple(
                    (place + 1, gold, picked, recall)
                    for place, (gold, picked, recall) in enumerate(
                        zip(spread.counts, spread.picked, spread.recalls, strict=True)
                    )
                ),
                source="Zheng et al. 2024, RStd",
            )
        )
    if found.orders is not None:
        orders = found.orders
        text += (
            f"\n\nUnder all {orders.n_choices} cyclic orders of the choices the same content is picked in "
            f"{fraction(orders.consistency)} of the items. Its prior over positions is "
            f"{', '.join(fraction(p) for p in orders.prior)} (PriDe, from {orders.n_estimation} items), and for "
            f"inputs without content {', '.join(fraction(p) for p in orders.content_free)}."
        )
        tables.append(
            Table(
                key="corrections",
                title=f"With the preference for positions taken out ({orders.n_items - orders.n_estimation} items)",
                columns=(
                    Column("how", "Correction", "text"),
                    Column("accuracy", "Accuracy", "number"),
                    Column("rstd", "RStd", "number"),
                ),
                rows=(
                    ("none", orders.as_it_is.accuracy, orders.as_it_is.rstd),
                    ("PriDe", orders.pride.accuracy, orders.pride.rstd),
                    ("contextual calibration", orders.calibrated.accuracy, orders.calibrated.rstd),
                ),
                source="Zheng et al. 2024; Zhao et al. 2021",
            )
        )
    elif not found.joint:
        text += (
            "\n\nAs it looks at one choice at a time, this scorer gives the same scores in every order: a spread of "
            "the recalls comes from the items."
        )
    return Part(title="The order of the choices, and the choices alone", text=text, tables=tuple(tables))


def _verdict(context: AuditContext, found: _Found) -> Verdict:
    figures, alpha = found.figures, 1 - context.confidence_level
    leaning = []
    for name in ("no_question", "wrong_question"):
        pseudo = figures.prior_bias[name].pseudo_correct
        # Two tests are looked at: Bonferroni.
        if pseudo is not None and pseudo.rate > pseudo.chance and pseudo.p_value < alpha / 2:
            leaning.append(name)
    last = figures.paralysis[found.largest]
    restricted = last.restricted_drop
    paralyzed = restricted.mean > 1e-6 and restricted.t_p_value is not None and restricted.t_p_value < alpha
    bias = figures.prior_bias["no_question"]
    pseudo = bias.pseudo_correct
    told = (
        f"Without the question its prior bias is {with_interval(_of_interval(bias.prior_bias, bias.interval))} (with "
        f"it {fraction(figures.original.prior_bias)})"
    )
    if pseudo is not None:
        told += f" and it picks the old answer in {fraction(pseudo.rate)} (chance {fraction(pseudo.chance)})"
    told += (
        f". {found.largest} added choices lower the confidence in the right one by {fraction(last.choice_paralysis)}, "
        f"and by {fraction(round(restricted.mean, 12) + 0.0)} among the own choices, free of dilution."
    )
    tone: Literal["good", "warn", "bad"] = (
        "bad" if leaning and paralyzed else "warn" if leaning or paralyzed else "good"
    )
    label = {
        (True, True): "Prior bias and paralysis",
        (True, False): "Knows the answer unasked",
        (False, True): "Paralyzed by choice",
        (False, False): "No sign of confusion",
    }[bool(leaning), bool(paralyzed)]
    return Verdict(tone, label, told)


def _limits(found: _Found) -> tuple[str, ...]:
    limits = [
        "Choices of other items are wrong as a rule, not by proof: a borrowed choice may fit by chance.",
        "That a variance differs from zero says nothing by itself; softmax confidences are never quite even.",
    ]
    if not found.joint:
        limits.append("A scorer that looks at one choice at a time cannot show paralysis beyond dilution.")
    if found.left_out:
        named = ", ".join(map(str, found.left_out))
        limits.append(f"The data has too few different choices to add {named} to each item.")
    if found.probed.n_dropped:
        limits.append(f"{found.probed.n_dropped:,} items without a label or with equal choices are left out.")
    return tuple(limits)
