"""The probes of a model whose answers are generated: what is picked, without confidences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rightreasons.auditing.context import AuditContext
from rightreasons.auditing.page import parts as p
from rightreasons.auditing.page.words import capitalized, level_percent, p_equals, percent, written
from rightreasons.auditing.questions.probes import distractors, templates
from rightreasons.auditing.questions.probes.examples import NAMES, SHEN
from rightreasons.auditing.questions.probes.finding import STEADY, WITHOUT, is_of_order, order_verdict
from rightreasons.foundations.scores import Scores
from rightreasons.foundations.sentences import counted
from rightreasons.measuring.asking.picks import PickFigures, ask_for_orders, ask_for_picks, measure_picks
from rightreasons.measuring.estimates import Estimate
from rightreasons.measuring.option_order import stored_orders
from rightreasons.measuring.options import ProbesOptions
from rightreasons.measuring.probes import ORIGINAL, WITHOUT_QUESTION, probe_tables

_SCORED = "rightreasons audit MODEL DATASET --scoring next_words"

MARGIN = 0.1
"""A rate of old answers this far above chance is worth ruling out before nothing is said to be found."""

ZHENG = "Zheng et al. 2024"
ASKED = {
    ORIGINAL: "the right choice",
    "no_question": "the old answer",
    "wrong_question": "the old answer",
    "none_added": "none of the above",
    "none_right": "none of the above",
}


def result(context: AuditContext, options: ProbesOptions) -> p.SectionResult:
    """Ask for the picks, and report them."""
    from rightreasons.models.scoring.choices import choose

    logged = None if context.stored is None else context.stored.answers
    items = context.primary.data if context.stored is None else context.stored.items
    if items is None:
        raise ValueError("Expected items with choices, but there are none.")
    ks, near, none = distractors.asked(context, options, items["choices"][:])
    tables = probe_tables(items, ks=ks, near=near, none=none, seed=context.seed)

    def ask(part: str) -> Any:
        if logged is not None:
            return logged.picks
        folder = context.folder(part, context.primary.fingerprint, str(context.seed), f"{ks} {near} {none}")

        def answer(prompts: Sequence[str], choices: Sequence[Sequence[str]], ids: Sequence[str]) -> Scores:
            how: dict[str, Any] = {"progress": context.progress, "out": folder, "fail_fast": context.fail_fast}
            return choose(context.scorer, prompts, choices, ids=ids, **how)

        return answer

    picked = ask_for_picks(tables, ask("probes"))
    which: str | None = options.orders
    if logged is not None:
        which = stored_orders(logged, items["id"][0], len(items["choices"][0]), options.orders)
    orders = None if which is None else ask_for_orders(tables, ask("orders"), which, seed=context.seed)
    figures = measure_picks(tables, picked, orders=orders, resampling=context.resampling)
    ways = templates.compare(context, options, tables, picked)
    level, alpha = level_percent(context.resampling.level), 1 - context.resampling.level
    verdict = _verdict(figures, alpha)
    unanswered = [name for name, each in figures.probes.items() if each.n_unanswered]
    return p.SectionResult(
        verdict=verdict,
        headlines=_headlines(context, figures),
        parts=(_part(figures, level), *([] if ways is None else [templates.part(ways, level)])),
        limits=(
            (
                "Generated answers have no confidence: prior bias, which is a variance of confidences, and the drop of "
                "confidence among more choices are not known. The probability of each letter shows them, where the "
                "model gives it."
            ),
            "Choices of other items are wrong as a rule, not by proof: a borrowed choice may fit by chance.",
            *(
                [f"Items without an answer under a probe count for nothing there: {', '.join(map(_name, unanswered))}."]
                if unanswered
                else []
            ),
        ),
        data={
            "picks": figures.to_dict(),
            "templates": None if ways is None else ways.to_dict(),
            "n_left_out": tables.n_dropped,
        },
        finding=_finding(figures, verdict, logged=logged is not None),
    )


# ------------------------------------------------------------------------------------------------------------- private


def _finding(figures: PickFigures, verdict: p.Verdict, *, logged: bool) -> p.Finding:
    """Say that the order decides, where it does, else what is picked without the question."""
    telling, steady = _telling(figures), figures.consistency or Estimate(None)
    command = "inspect eval TASK.py --logprobs --top-logprobs 20" if logged else _SCORED
    actions = (
        p.Action("Read what it picks without the question, and under other orders.", link="#probes"),
        p.Action("Ask for the probability of each letter: it shows how sure each pick is.", command),
    )
    about = f"{counted(figures.n_items, 'item')}, generated answers"
    if steady.value is not None and (telling is None or is_of_order(verdict)):
        return p.Finding(
            claim=f"changes its answer with the order of the choices in {percent(1 - steady.value)} of the items",
            evidence=f"{about}.",
            figure="order_consistency",
            size=1 - steady.value,
            actions=actions,
        )
    if telling is None:
        return p.Finding(claim="was asked without its questions", evidence=f"{about}.", actions=actions)
    name, each = telling
    return p.Finding(
        claim=f"picks the right choice in {percent(each.rate.value or 0.0)} of the items {WITHOUT[name]}, where chance "
        f"gives {percent(each.reference or 0.0)}",
        evidence=f"Exact test, p {p_equals(each.p_value)}, {about}.",
        figure=f"pseudo_correct_{name}",
        actions=actions,
    )


def _name(probe: str) -> str:
    kind, _, count = probe.rpartition("_")
    which = {"extra_choices": "random", "near_choices": "near"}.get(kind)
    if which is not None:
        return f"{counted(int(count), f'{which} choice')} added"
    return {
        **NAMES,
        "none_added": "“None of the above” added",
        "none_right": "“None of the above” is right",
    }[probe]


def _telling(figures: PickFigures) -> tuple[str, Any] | None:
    """Return the probe without its question whose test is the clearest; None where neither has an answer to test."""
    tested = [(name, figures.probes[name]) for name in WITHOUT_QUESTION if figures.probes[name].p_value is not None]
    return min(tested, key=lambda pair: pair[1].p_value or 0.0, default=None)


def _headlines(context: AuditContext, figures: PickFigures) -> tuple[p.Headline, ...]:
    telling, split = _telling(figures), context.primary.name
    rows = []
    if telling is not None:
        rows.append(
            (
                f"pseudo_correct_{telling[0]}",
                p.FigureText(
                    f"Old answer picked {WITHOUT[telling[0]]}",
                    "Share of answered items whose right choice is still picked; picking at random gets "
                    f"{percent(telling[1].reference or 0.0)}.",
                    SHEN,
                    better="lower",
                ),
                telling[1].rate,
                telling[1].n_items,
            )
        )
    if figures.consistency is not None:
        rows.append(
            (
                "order_consistency",
                p.FigureText(
                    "Same answer in every order",
                    f"Share of items, answered under {figures.in_words} of the choices, whose picked "
                    "choice is always the same.",
                    ZHENG,
                    better="higher",
                ),
                figures.consistency,
                figures.n_ordered,
            )
        )
    return tuple(p.Headline.of(key, text, estimate, split=split, n=n) for key, text, estimate, n in rows)


def _part(figures: PickFigures, level: str) -> p.Part:
    text = (
        "The answers are generated, so that each item has a pick or none. Without the question, a pick of the old "
        "answer above chance says that the choices give it away, or that it is known; a model that reads the question "
        "should pick the right choice among more choices as well, and “none of the above” only where it is right."
    )
    if figures.consistency is not None:
        text += (
            f"\n\nUnder {figures.in_words} of the choices the same one is picked in {written(figures.consistency)} of "
            f"{counted(figures.n_ordered, 'item')} with an answer under each."
        )
    return p.Part(
        title="What it picks under the probes",
        text=text,
        tables=(
            p.Table(
                key="picks",
                title="Picks",
                columns=(
                    p.Column("probe", "Probe", "text"),
                    p.Column("n", "Answered", "count"),
                    p.Column("unanswered", "No answer", "count"),
                    p.Column("what", "What is picked", "text"),
                    p.Column("rate", f"Share [{level}]", "share"),
                    p.Column(
                        "reference",
                        "Compared with",
                        "share",
                        "Chance without the question; the share of right picks of the same items as they are; for "
                        "“none of the above” where it is right, its share where it is wrong.",
                    ),
                    p.Column("p", "p", "p_value", "Exact binomial test against chance, else McNemar's."),
                ),
                rows=tuple(
                    (
                        _name(name),
                        each.n_items,
                        each.n_unanswered,
                        ASKED.get(name, "" if each.rate is None else "the right choice"),
                        each.rate,
                        each.reference,
                        each.p_value,
                    )
                    for name, each in figures.probes.items()
                ),
                source=f"{SHEN}; {distractors.SOURCE}",
            ),
        ),
    )


def _verdict(figures: PickFigures, alpha: float) -> p.Verdict:
    sentences, knows, telling = [], False, _telling(figures)
    if telling is not None:
        name, each = telling
        # The clearer of two tests, by Bonferroni.
        knows = (each.rate.value or 0.0) > (each.reference or 0.0) and each.p_value < alpha / len(WITHOUT_QUESTION)
        sentences.append(
            f"{capitalized(WITHOUT[name])} it picks the choice that is right with it in {written(each.rate)} of the "
            f"items, where chance gives {percent(each.reference or 0.0)} (exact test, "
            f"p {p_equals(each.p_value)}; the clearer of two probes)."
        )
    consistency = figures.consistency or Estimate(None)
    if consistency.value is not None:
        sentences.append(
            f"Under {figures.in_words} of the choices, {written(consistency)} of the items keep their answer."
        )
    rates = [each.n_unanswered / figures.n_items for each in figures.probes.values()]
    if max(rates):
        sentences.append(f"On average {percent(float(np.mean(rates)))} of the items have no answer under a probe.")
    summary = " ".join(sentences)
    if (of_order := order_verdict(consistency, summary)) is not None:
        return of_order
    if knows:
        return p.Verdict("warn", "Picks the answer unasked", summary)
    # Green takes that each effect is ruled out.
    tested = [figures.probes[name] for name in WITHOUT_QUESTION]
    unasked = all(
        each.rate is not None and each.rate.high is not None and each.rate.high <= (each.reference or 0.0) + MARGIN
        for each in tested
    )
    if unasked and consistency.low is not None and consistency.low >= STEADY:
        return p.Verdict("good", "No sign of confusion", summary)
    return p.Verdict("neutral", "Cannot tell", summary)
